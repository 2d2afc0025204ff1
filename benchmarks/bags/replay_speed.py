"""How fast a day is replayed: ``python -m spotbag.benchmarks.bags.replay_speed``.

Days of a published instance, and one day of ever larger bags: 20 tasks to a VM of four types, hibernating and resuming
five times each before the deadline on average. An event is a task that finishes, or a VM that hibernates, resumes,
reaches its migration trigger or the end of its cycle. Times are those of a processor.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from ...instances.bags.scenarios import find_scenario
from ...instances.durations import FULL_SPEED
from ...instances.instance import Instance
from ...instances.library import library_instance
from ...replay.bags.engine import Replay
from ...replay.bags.plan import replay_plan
from ...replay.bags.policies import find_policy
from ...schedules.schedule import Schedule
from ...solvers.bags.solve import solve
from ..paper_tables import print_table

_TASKS_A_VM = 20
_SIZES = (10, 100, 300, 1000)
_POLICIES = ("static", "hads", "burst-hads", "rescue")
_DAYS = 200


def published_rows() -> Iterator[Sequence[str]]:
    """Replays of burst-hads/ED200 per second, on one core."""
    schedule = solve(library_instance("burst-hads/ED200"), "ils").schedule
    assert schedule is not None
    plain = schedule.instance.replace(checkpoint=None)
    bare = Schedule(
        plain,
        schedule.vm_offer,
        schedule.task_vm,
        schedule.task_core,
        schedule.task_start_s,
        schedule.task_baseline,
    )
    for name, plan, scenario in (
        ("static, no checkpoints, quiet", bare, "quiet"),
        ("static, sc4", schedule, "burst-hads/sc4"),
        ("hads, sc4", schedule, "burst-hads/sc4"),
        ("burst-hads, sc4", schedule, "burst-hads/sc4"),
    ):
        ready, policy, days = replay_plan(plan), find_policy(name.split(",")[0]), find_scenario(scenario)
        timelines = [days.day(plan.instance, 0, number) for number in range(_DAYS)]
        begin = time.process_time()
        events = sum(Replay(ready, policy, timeline).run().events for timeline in timelines)
        seconds = time.process_time() - begin
        yield name, f"{_DAYS / seconds:,.0f}", f"{events / _DAYS:,.0f}", f"{1e6 * seconds / events:.1f}"


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


def large_rows() -> Iterator[Sequence[str]]:
    """One day of ever larger bags."""
    scenario = find_scenario("hads/sc4")
    for n_vms in _SIZES:
        schedule = large_schedule(n_vms)
        plan, timeline = replay_plan(schedule), scenario.day(schedule.instance, 0, 0)
        for name in _POLICIES:
            begin = time.process_time()
            outcome = Replay(plan, find_policy(name), timeline).run()
            seconds = time.process_time() - begin
            moved = sum(outcome.migrations.values()) + outcome.tasks_stolen
            per_event = 1e6 * seconds / (outcome.events + moved)
            yield (
                f"{n_vms:,}",
                f"{schedule.instance.n_tasks:,}",
                name,
                f"{outcome.events:,}",
                f"{moved:,}",
                f"{seconds:.2f}",
                f"{per_event:.1f}",
            )


def main() -> None:
    """Print the tables."""
    columns = ("burst-hads/ED200", "replays per second", "events of a replay", "µs per event")
    print_table(f"{_DAYS} days, one core", columns, published_rows(), words=1)
    headings = ("VMs", "tasks", "policy", "events", "tasks moved", "time (s)", "µs per event or move")
    print_table("one day", headings, large_rows())


if __name__ == "__main__":
    main()
