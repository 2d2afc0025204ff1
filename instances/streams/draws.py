"""Drawing the actual run times of the tasks of a stream of jobs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

import numpy as np

from ...core.errors import SpotbagError
from ...core.quantities import SECONDS_PER_HOUR, TICKS_PER_S, ExactSeconds, FloatArray, exact_seconds, plain
from ...core.record_lists import grouped_by
from ...core.records import FrozenDict, made_all
from ..entries import Offer, Task, VmType
from ..instance import Instance
from .entries import Job, StreamVmType
from .run_times import sampled_seconds
from .stream import Stream

_MOST_VMS = 10**6
"""Highest limit that an offer of an instance can have."""
_TASK_MB = 1.0
_DEFAULT_VM_MB = 1024


@dataclass(frozen=True)
class SampledJobs:
    """The tasks of a stream of jobs with their actual run times.

    Attributes
    ----------
    stream : Stream
        What they were drawn from.
    seed : int
        Same stream and seed, same run times.
    instance : Instance
        All tasks, job by job in the order of submission, on on-demand VMs of one core. Its deadline is the last of
        the stream's, or later if a task takes longer than that; as all times, it counts from the first arrival.
    first_task : tuple of int
        First task of each job, the jobs in the order of `Stream.jobs_by_submission`.
    """

    stream: Stream
    seed: int
    instance: Instance
    first_task: tuple[int, ...]

    def tasks(self, job_index: int) -> range:
        """Tasks of a job by its position in `Stream.jobs_by_submission`."""
        first = self.first_task[job_index]
        return range(first, first + self.stream.jobs_by_submission[job_index].n_tasks)

    @cached_property
    def job_of(self) -> list[int]:
        """Position of the job of each task in `Stream.jobs_by_submission`."""
        return [index for index, job in enumerate(self.stream.jobs_by_submission) for _ in range(job.n_tasks)]

    @cached_property
    def ticks_per_s(self) -> int:
        """The least number in whose parts of a second all run times are whole."""
        given = self.instance.given_runtime_s
        ticks = np.rint(given[np.isfinite(given)] * TICKS_PER_S).astype(np.int64)
        return TICKS_PER_S // math.gcd(int(np.gcd.reduce(ticks)), TICKS_PER_S)

    def runtime_s(self, task: int, type_index: int) -> float | None:
        """Run time of a task on a VM type; None if it cannot run there."""
        seconds = self.exact_runtime_s[task][type_index]
        return None if seconds is None else plain(seconds)

    @cached_property
    def exact_runtime_s(self) -> list[list[ExactSeconds | None]]:
        """Run time of each task on each VM type, without rounding; None where it cannot run."""
        rows: list[list[float]] = self.instance.given_runtime_s[self.instance.task_group].tolist()
        return [[None if seconds == math.inf else exact_seconds(seconds) for seconds in row] for row in rows]


def draw_jobs(stream: Stream, seed: int) -> SampledJobs:
    """Draw the actual run times of all tasks.

    One level in [0, 1) is drawn for each task. Its run time on every VM type is the quantile of that level of the
    type's distribution (see `sampled_seconds`): a task that is long on one type is long on all. The levels of a job
    depend on the seed and its id only: other jobs may come, go or move.

    Parameters
    ----------
    stream : Stream
        The jobs.
    seed : int
        From 0 to 2**64 - 1.

    Raises
    ------
    SpotbagError
        If the seed is out of range.
    """
    _demand_seed(seed)
    jobs = stream.jobs_by_submission
    tasks = _sampled_tasks(stream, seed)
    longest_s = max(min(task.runtime_s.values()) for task in tasks if task.runtime_s is not None)
    # An instance must be one that can be planned; deadlines of jobs are kept by the replay.
    deadline_s = max(max(job.deadline_s for job in jobs), stream.creation_overhead_s + math.ceil(longest_s))
    limit = most_vms_of_a_type(stream)
    instance = Instance(
        name=stream.name if stream.is_the_same_for_all_seeds else f"{stream.name} seed {seed}",
        deadline_s=deadline_s,
        d_spot_s=deadline_s,
        boot_overhead_s=stream.creation_overhead_s,
        allocation_cycle_s=stream.block_s,
        markets=("on-demand",),
        vm_types=tuple(_vm_type(vm_type, stream.block_s, limit) for vm_type in stream.vm_types),
        tasks=tuple(tasks),
    )
    first_task = accumulate((job.n_tasks for job in jobs[:-1]), initial=0)
    return SampledJobs(stream, seed, instance, tuple(first_task))


def most_vms_of_a_type(stream: Stream) -> int:
    """VMs of a type that can be rented at most: one for each task, and one more for each type that is tried."""
    return min(stream.n_tasks + len(stream.vm_types), _MOST_VMS)


def draws(stream: Stream, seeds: Iterable[int]) -> Iterator[SampledJobs]:
    """Draw for several seeds; where all have the same run times, they share one instance.

    Raises
    ------
    SpotbagError
        If a seed is out of range.
    """
    first: SampledJobs | None = None
    for seed in seeds:
        if first is None or not stream.is_the_same_for_all_seeds:
            first = draw_jobs(stream, seed)
        _demand_seed(seed)
        yield replace(first, seed=seed)


def _demand_seed(seed: int) -> None:
    if not 0 <= seed < 2**64:
        raise SpotbagError(f"seed {seed} must be from 0 to 2**64 - 1")


def _sampled_tasks(stream: Stream, seed: int) -> list[Task]:
    """Tasks of all jobs, in the order of the jobs; the run times of an application are drawn at once."""
    rows: dict[str, Iterator[FrozenDict[str, float]]] = {}
    for name, jobs in grouped_by(stream.jobs_by_submission, lambda job: job.application).items():
        run_times = stream.application(name).runtime_s
        levels = [_levels(job, seed) for job in jobs]
        columns = [sampled_seconds(of_type, levels) for of_type in run_times.values()]
        numbers = [map(float, column) for column in columns]
        rows[name] = iter([FrozenDict(zip(run_times, row, strict=True)) for row in zip(*numbers, strict=True)])
    given = ("id", "memory_mb", "runtime_s")
    unset = {name: field.default for name, field in Task.model_fields.items() if name not in given}
    fields = [
        {"id": f"{job.id}#{number}", "memory_mb": _TASK_MB, "runtime_s": next(rows[job.application]), **unset}
        for job in stream.jobs_by_submission
        for number in range(1, job.n_tasks + 1)
    ]
    return made_all(Task, fields, given)


def _levels(job: Job, seed: int) -> FloatArray:
    """Level of each task in [0, 1)."""
    # By the id of the job: whatever else is in the stream, its tasks are the same.
    sequence = np.random.SeedSequence(seed, spawn_key=tuple(job.id.encode("utf-8")))
    return np.random.Generator(np.random.PCG64(sequence)).random(job.n_tasks)


def _vm_type(vm_type: StreamVmType, block_s: int, limit: int) -> VmType:
    offer = Offer(price_usd_per_hour=vm_type.price_usd_per_block * SECONDS_PER_HOUR / block_s, limit=limit)
    memory_mb = _DEFAULT_VM_MB if vm_type.memory_mb is None else vm_type.memory_mb
    return VmType(name=vm_type.name, vcpus=1, memory_mb=memory_mb, offers={"on-demand": offer})
