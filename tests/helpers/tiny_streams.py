"""Small streams, whose tasks run as long as a test says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from spotbag.instances.entries import Task
from spotbag.instances.instance import Instance
from spotbag.instances.streams.draws import SampledJobs
from spotbag.instances.streams.stream import Stream
from spotbag.replay.streams.engine import StreamReplay
from spotbag.replay.streams.state import StreamPolicy


def stream(
    jobs: Sequence[tuple[str, str, int, int, int]],
    applications: Mapping[str, Mapping[str, float]],
    prices: Mapping[str, float] | None = None,
    block_s: int = 100,
    creation_overhead_s: int = 10,
) -> Stream:
    """Make a stream of jobs (id, application, submission, deadline, tasks), with average run times by application."""
    costs = {"small": 1.0} if prices is None else prices
    return Stream(
        name="tiny",
        block_s=block_s,
        creation_overhead_s=creation_overhead_s,
        vm_types=[{"name": name, "price_usd_per_block": price} for name, price in costs.items()],
        applications=[
            {
                "name": name,
                "runtime_s": {kind: {"distribution": "constant", "value_s": s} for kind, s in by_type.items()},
            }
            for name, by_type in applications.items()
        ],
        jobs=[
            {"id": name, "application": app, "submitted_s": at, "deadline_s": due, "n_tasks": count}
            for name, app, at, due, count in jobs
        ],
    )


def sampled(jobs: Stream, actual_s: Mapping[str, Mapping[str, Sequence[int]]] | None = None) -> SampledJobs:
    """Let tasks run as long as their averages, or so long: job to VM type to the seconds of each task."""
    special = {} if actual_s is None else actual_s
    tasks: list[Task] = []
    for job in jobs.jobs_by_submission:
        for number in range(job.n_tasks):
            seconds = {
                name: special[job.id][name][number] if job.id in special else float(average)
                for name in jobs.type_names
                if (average := jobs.average_s(job.application, name)) is not None
            }
            tasks.append(Task(id=f"{job.id}#{number + 1}", memory_mb=1, runtime_s=seconds))
    deadline_s = max(10**6, *(job.deadline_s for job in jobs.jobs))
    vm_types: list[dict[str, Any]] = [
        {
            "name": vm_type.name,
            "vcpus": 1,
            "memory_mb": 1024,
            "offers": {
                "on-demand": {"price_usd_per_hour": vm_type.price_usd_per_block * 3600 / jobs.block_s, "limit": 1000}
            },
        }
        for vm_type in jobs.vm_types
    ]
    instance = Instance(
        name="tiny drawn",
        deadline_s=deadline_s,
        d_spot_s=deadline_s,
        boot_overhead_s=jobs.creation_overhead_s,
        allocation_cycle_s=jobs.block_s,
        markets=("on-demand",),
        vm_types=vm_types,
        tasks=tasks,
    )
    first = accumulate((job.n_tasks for job in jobs.jobs_by_submission[:-1]), initial=0)
    return SampledJobs(jobs, 0, instance, tuple(first))


def described(draw: SampledJobs, policy: StreamPolicy) -> tuple[StreamReplay, list[tuple[Any, ...]]]:
    """Replay, and tell it in short: time, event, VM, task or job."""
    replay = StreamReplay(draw, policy, record=True)
    replay.run()
    assert replay.records is not None
    return replay, [
        (entry["t"], entry["event"], *(entry[key] for key in ("vm", "task", "job") if key in entry))
        for entry in replay.records
    ]
