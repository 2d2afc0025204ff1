"""Speed of replays of days: ``python -m spotbag_papers.bags.replay_speed``.

Days of published instances, under every policy: by the engine that keeps records and takes all policies, and in the
compiled loops that `replay_days` uses where it can. Then one day of ever larger bags: 20 tasks to a VM of four types,
hibernating and resuming five times each before the deadline on average. An event is a task that finishes, or a VM that
is interrupted, is back, reaches its migration trigger or the end of its cycle. Times are those of a processor.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence

import numpy as np

from spotbag.core.quantities import SECONDS_PER_HOUR
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.bags.timeline import Timeline
from spotbag.instances.clouds import PAPERS, Cloud
from spotbag.instances.entries import FULL_SPEED
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.replay.bags.compiled_engine import CompiledReplays
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.plan import replay_plan
from spotbag.replay.bags.policies import find_policy, named_policy
from spotbag.schedules.schedule import Schedule

from ..measuring import print_table
from .uniform_progress.job import Job, day_of, drawn_trace
from .user_bags import planned

_TASKS_A_VM = 20
_SIZES = (10, 100, 300, 1000)
_POLICIES = ("static", "hads", "burst-hads", "rescue", "on-time")
_DAYS = 200
_PUBLISHED = (("hads/J60", "greedy", "hads/sc4"), ("burst-hads/ED200", "ils", "burst-hads/sc4"))
_JOB = Job(48 * SECONDS_PER_HOUR, 70 * SECONDS_PER_HOUR, 180)


def published_rows() -> Iterator[Sequence[object]]:
    """Replays per second on one core: two published jobs, and a single long job under its policies."""
    for name, method, scenario in _PUBLISHED:
        schedule = planned(name, method, survive="none")
        days = [find_scenario(scenario).day(schedule.instance, 0, number).resolved(PAPERS) for number in range(_DAYS)]
        for policy in _POLICIES:
            yield name, policy, *_speeds(schedule, policy, days, PAPERS)
    traces = [drawn_trace(0.5, _JOB.ticks, number) for number in range(_DAYS)]
    days = [day_of(trace, _JOB.tick_s).resolved(_JOB.cloud) for trace in traces]
    for policy in ("uniform-progress", "greedy-spot"):
        yield "one job of 48 h", policy, *_speeds(_JOB.plan, policy, days, _JOB.cloud)


def _speeds(
    schedule: Schedule, policy: str, days: Sequence[Timeline], cloud: Cloud
) -> tuple[float, float | None, float]:
    """Replays per second by the engine and in compiled loops, and events of a replay."""
    plan = replay_plan(schedule)
    loops = CompiledReplays(plan)
    make = named_policy(policy)
    loops.outcome(make(), days[0], cloud)  # compiles, if that is still to be done
    gc.collect()
    gc.freeze()  # to look through all that is loaded takes as long as hundreds of replays
    begin = time.process_time()
    events = sum(Replay(plan, make(), day, cloud).run().events for day in days)
    middle = time.process_time()
    compiled = [loops.outcome(make(), day, cloud) for day in days]
    end = time.process_time()
    fast = None if None in compiled else len(days) / (end - middle)
    return len(days) / (middle - begin), fast, events / len(days)


def large_schedule(n_vms: int, seed: int = 0) -> Schedule:
    """Return a plan of 20 tasks to each of many spot VMs of four types, dealt out in turn."""
    rng = np.random.default_rng(seed)
    published = library_instance("hads/J60")
    types = []
    for vm_type in published.vm_types:
        offers = {market: offer.model_dump() | {"limit": n_vms} for market, offer in vm_type.offers.items()}
        types.append(vm_type.model_dump(exclude_none=True) | {"offers": offers})
    lengths = rng.integers(100, 330, size=50)
    count = n_vms * _TASKS_A_VM // len(lengths)
    tasks = [
        {"id": f"t{index}", "memory_mb": 5, "count": count, "base_runtime_s": int(length)}
        for index, length in enumerate(lengths)
    ]
    document = {"format": "spotbag.instance/1", "name": f"{n_vms} VMs", "deadline_s": 3_750, "d_spot_s": 3_000}
    document |= {"migration_overhead_s": 180, "checkpoint": {"overhead_fraction": 0.1, "dump_base_s": 13}}
    instance = Instance.from_document(document | {"vm_types": types, "tasks": tasks}, "large")
    spot = [offer for offer in instance.offers if offer.market == "spot"]
    vm_offer = np.array([spot[vm % len(spot)].index for vm in range(n_vms)])
    order = rng.permutation(instance.n_tasks)
    task_vm, task_core, start = (np.zeros(instance.n_tasks, dtype=np.int64) for _ in range(3))
    free = [[0] * instance.offers[index].vcpus for index in vm_offer]
    durations = instance.duration_s[:, :, FULL_SPEED]
    for position, task in enumerate(order.tolist()):
        vm = position % n_vms
        core = min(range(len(free[vm])), key=free[vm].__getitem__)
        task_vm[task], task_core[task], start[task] = vm, core, free[vm][core]
        free[vm][core] += int(durations[instance.task_group[task], vm_offer[vm]])
    return Schedule(instance, vm_offer, task_vm, task_core, start, np.zeros(instance.n_tasks, dtype=bool))


def large_rows() -> Iterator[Sequence[object]]:
    """Rows of one day of ever larger bags."""
    scenario = find_scenario("hads/sc4")
    for n_vms in _SIZES:
        schedule = large_schedule(n_vms)
        plan, day = replay_plan(schedule), scenario.day(schedule.instance, 0, 0)
        loops = CompiledReplays(plan)
        for name in _POLICIES:
            loops.outcome(find_policy(name), day, PAPERS)  # compiles, if that is still to be done
            begin = time.process_time()
            outcome = Replay(plan, find_policy(name), day).run()
            middle = time.process_time()
            loops.outcome(find_policy(name), day, PAPERS)
            compiled_s = time.process_time() - middle
            moved = sum(outcome.migrations.values()) + outcome.tasks_stolen
            times = middle - begin, compiled_s, 1e6 * compiled_s / (outcome.events + moved)
            yield n_vms, schedule.instance.n_tasks, name, outcome.events, moved, *times


def main() -> None:
    """Print the tables."""
    columns = {"bag": "", "policy": "", "replays per second": ",.0f", "compiled": ",.0f", "events of a replay": ",.0f"}
    print_table(f"{_DAYS} days, one core", columns, published_rows(), words=2)
    sizes = {"VMs": ",", "tasks": ",", "policy": "", "events": ",", "tasks moved": ","}
    times = {"time (s)": ".3f", "compiled (s)": ".4f", "µs per event or move": ".1f"}
    print_table("one day", sizes | times, large_rows())


if __name__ == "__main__":
    main()
