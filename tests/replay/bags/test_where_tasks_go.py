"""Where tasks are stolen from and moved to, against asking every VM for every task, as the papers print it."""

from __future__ import annotations

import math
import random
from typing import Any, get_args

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spotbag.core.errors import SpotbagError
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.entries import FULL_SPEED, NEVER
from spotbag.instances.instance import Instance
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.plan import replay_plan
from spotbag.replay.bags.policies import find_policy
from spotbag.replay.bags.policies.hads import steal
from spotbag.replay.bags.policies.migration import SpareTime, best_place, list_places, migrate_tasks
from spotbag.replay.bags.rows import NONE
from spotbag.replay.bags.state import Policy, ReplayState, Vm
from tests.helpers.random_days import random_day, random_plan
from tests.helpers.random_instances import instance_documents
from tests.helpers.soaks import soak, soak_of
from tests.helpers.tiny_days import bag, day, plan, vm_type


def due_s(state: ReplayState, task: int) -> int:
    """By when a task is to end."""
    return int(state.instance.due_s[state.instance.task_group[task]])


def ready_s(state: ReplayState, task: int) -> int:
    """From when on a task may run."""
    return int(state.instance.release_s[state.instance.task_group[task]])


def takes(state: ReplayState, vm: Vm, task: int, saved: float, spare_time: SpareTime, mode: int | None = None) -> bool:
    """Algorithm 7 of HADS, from the runs of the VM."""
    runtime_s = state.runtime_s(task, vm.offer)
    end_s = state.end_if_placed_s(vm, task, mode, saved)
    if end_s is None or end_s > due_s(state, task):
        return False
    runs = [run for queue in ([run for run in vm.running if run is not None], *vm.waiting) for run in queue]
    end_s = max([end_s, *(vm.zero_s + run.end_s for run in runs)])
    if not vm.spot and spare_time == "spot":
        return end_s <= state.instance.deadline_s
    longest_s = max([runtime_s, *(state.runtime_s(run.task, vm.offer) for run in runs)])
    return state.instance.deadline_s - end_s > longest_s + state.start_overhead_s


def steal_naively(state: ReplayState, thief: Vm, spare_time: SpareTime) -> None:
    cycle_s, stolen = state.instance.allocation_cycle_s, 0
    victims = [vm for vm in state.vms if vm.executing and vm.burstable is None and vm is not thief]
    for victim in sorted(victims, key=lambda vm: (vm.spot, vm.offer.price_usd_per_hour, vm.index)):
        cycle_end_s = (victim.uptime_s(state.now_s) // cycle_s + 1) * cycle_s
        for run, _ in list(victim.waiting_runs()):
            may = run.start_s >= cycle_end_s and ready_s(state, run.task) <= state.now_s
            may &= not (stolen and thief.burstable is not None)
            if may and takes(state, thief, run.task, state.saved.get(run.task, 0.0), spare_time):
                state.steal(run.task, victim, thief)
                stolen += 1
    state.report_attempt(thief, stolen)


def migrate_naively(state: ReplayState, source: Vm, published: str, spare_time: SpareTime) -> None:
    """Algorithm 6 of HADS, or Algorithm 4 of Burst-HADS, for the tasks as they are listed."""
    left = []
    for task in source.tasks():
        saved = state.saved_if_moved(source, task)
        bursting = [vm for vm in state.vms if published == "burst-hads" and bursts_for(state, vm, task, saved)]
        if bursting:
            state.migrate(task, source, bursting[0], FULL_SPEED)
            continue
        able = [vm for vm in state.vms if vm.idle or vm.busy]
        able = [vm for vm in able if vm.burstable is None or (vm.idle and published == "hads")]
        able = [vm for vm in able if takes(state, vm, task, saved, spare_time)]
        if able:
            key = lambda vm: (vm.n_left > 0, not vm.spot, vm.offer.price_usd_per_hour, vm.index)  # noqa: E731
            state.migrate(task, source, min(able, key=key))
            continue
        longest_s = due_s(state, task) - max(state.now_s + state.start_overhead_s, ready_s(state, task))
        offers = [offer for index in state.regular if state.can_start(offer := state.instance.offers[index])]
        offers = [offer for offer in offers if state.duration_s(task, offer, None, saved) <= longest_s]
        if offers:
            state.migrate(task, source, state.start_vm(offers[0]))
        else:
            left.append(task)
    stranded = 0
    for task in left:
        best = first_end_naively(state, task, state.saved_if_moved(source, task))
        if best is None:
            stranded += 1
            continue
        end_s, _, index = best
        target = (
            state.vms[index]
            if index < len(state.vms)
            else state.start_vm(state.instance.offers[index - len(state.vms)])
        )
        state.migrate(task, source, target, late=end_s > due_s(state, task))
    if stranded:
        state.report_stranded(source, stranded)


def bursts_for(state: ReplayState, vm: Vm, task: int, saved: float) -> bool:
    """Whether an idle burstable VM takes a task at full speed: a credit lasts for a minute of a core."""
    duration_s = state.duration_s(task, vm.offer, FULL_SPEED, saved)
    if not vm.idle or vm.burstable is None or duration_s >= NEVER:
        return False
    credits = vm.credits(state.now_s)
    return credits > math.ceil(duration_s / 60) and takes(state, vm, task, saved, "spot", FULL_SPEED)


def first_end_naively(state: ReplayState, task: int, saved: float) -> tuple[int, bool, int] | None:
    """Where a task ends first, on demand if that makes no difference: when, whether on spot, and which VM.

    Behind all VMs stand offers of new ones.
    """
    ends = [
        (state.end_if_placed_s(vm, task, None, saved), vm.spot == 1, vm.index)
        for vm in state.vms
        if vm.idle or (vm.alive and not vm.burstable)
    ]
    for offer in map(state.instance.offers.__getitem__, state.regular):
        duration_s = state.duration_s(task, offer, None, saved)
        if state.can_start(offer) and duration_s < NEVER:
            start_s = max(state.now_s + state.start_overhead_s, ready_s(state, task))
            ends.append((start_s + duration_s, False, len(state.vms) + offer.index))
    return min(((end_s, *where) for end_s, *where in ends if end_s is not None), default=None)


def compare(document: dict[str, Any], seed: int, spare_time: SpareTime) -> int:
    """Decide both ways after each step of a random day; return how often."""
    rng = np.random.default_rng(seed)
    try:
        schedule = random_plan(
            with_d_spot(Instance.from_document(document | {"allocation_cycle_s": 10}, "random")), rng
        )
    except SpotbagError:
        return 0
    if schedule is None:
        return 0
    day = random_day(schedule.instance, rng)
    replay, compared = Replay(replay_plan(schedule), find_policy("hads"), day, record=True), 0
    while replay.step():
        state = replay.state
        for vm in state.vms:
            if vm.idle:
                quick, naive = state.copy(), state.copy()
                steal(quick, quick.vms[vm.index], int(spare_time == "all"))
                steal_naively(naive, naive.vms[vm.index], spare_time)
                assert quick.records == naive.records
                compared += 1
            if vm.hibernated and vm.n_left:
                published = ("hads", "burst-hads")[seed % 2]
                quick, naive, asked = state.copy(), state.copy(), state.copy()
                list_places(asked)
                for task in vm.tasks():
                    group, saved = asked.tasks[task].group, asked.saved_if_moved(asked.vms[vm.index], task)
                    expected = first_end_naively(state, task, saved)
                    assert best_place(asked, group, saved) == ((NEVER, NONE) if expected is None else expected[::2])
                quick.listed[: vm.n_left] = vm.tasks()
                first = int(published == "burst-hads")
                migrate_tasks(quick, quick.vms[vm.index], vm.n_left, 1 - first, int(spare_time == "all"), first)
                migrate_naively(naive, naive.vms[vm.index], published, spare_time)
                assert quick.records == naive.records
                compared += 1
    return compared


DAYS = instance_documents(dates=True), st.integers(0, 2**32), st.sampled_from(["all", "spot"])


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(*DAYS)
def test_tasks_go_where_asking_every_vm_puts_them(document: dict[str, Any], seed: int, spare_time: SpareTime) -> None:
    compare(document, seed, spare_time)


def test_of_vms_that_are_free_before_a_task_is_ready_the_first_takes_it() -> None:
    """One is free at 60 s, the next at 50 s; t is ready at 200 s, and ends at 250 s on both."""
    runtimes = {"t": {"a": 50, "b": 50}, "u": {"b": 60}, "w": {"b": 50}}
    instance = bag(runtimes, [vm_type("a"), vm_type("b", spot=0)], dates={"t": {"ready_s": 200}}, deadline_s=400)
    places = {"t": (0, 0, 200), "u": (1, 0, 0), "w": (2, 0, 0)}
    schedule = plan(instance, ["a spot", "b on-demand", "b on-demand"], places)
    replay = Replay(replay_plan(schedule), find_policy("static"), day(a=[30]))
    while replay.state.now_s < 30:
        assert replay.step()
    list_places(replay.state)
    assert best_place(replay.state, replay.state.tasks[0].group, 0.0) == (250, 1)
    assert first_end_naively(replay.state, 0, 0.0) == (250, False, 1)


@soak_of(instance_documents(max_tasks=40, dates=True), *DAYS[1:], sample=30, whole=5000)
def test_soak(document: dict[str, Any], seed: int, spare_time: SpareTime) -> None:
    compare(document, seed, spare_time)


class Onlooker(Policy):
    """Leaves idle VMs where they are."""

    name = "onlooker"


def crowded(seed: int) -> Replay:
    """VMs of three types, one burstable: some are idle soon, others have queues; the time that is left is scarce.

    Of some tasks a part is saved, and some VMs begin late.
    """
    rng = random.Random(f"crowded {seed}")
    burstable = {"baseline_fraction": 0.5, "credits_per_hour": 36}
    types = [
        vm_type("a", vcpus=rng.choice([1, 2]), on_demand_usd_per_s=rng.choice([0.0005, 0.003])),
        vm_type("b", vcpus=rng.choice([1, 2]), memory_mb=rng.choice([1024, 2048]), on_demand_usd_per_s=0.002),
        vm_type("t", spot=0, burstable=burstable, on_demand_usd_per_s=0.002),
    ]
    vms = ["a spot", "a on-demand", "b spot", "b on-demand", "t on-demand", *rng.sample(["a spot", "b on-demand"], 1)]
    rng.shuffle(vms)
    runtimes: dict[str, dict[str, float]] = {}
    places: dict[str, tuple[int, int, int]] = {}
    for vm, name in enumerate(vms):
        own = name.split()[0]
        start_s = rng.choice([0, 0, 12])
        for _ in range(rng.choice([0, 1, 1, 3, 5])):
            task, work_s = f"k{len(runtimes)}", rng.randint(5, 40)
            runtimes[task] = {kind: work_s + rng.randint(0, 8) for kind in "abt" if kind == own or rng.random() < 0.8}
            places[task] = vm, 0, start_s
            start_s += runtimes[task][own] * (2 if own == "t" else 1)
    if not runtimes:
        return crowded(seed + 1_000_000)
    deadline_s = rng.randint(60, 250)
    memory = {task: rng.choice([1, 1, 400, 700]) for task in runtimes}
    fields: dict[str, Any] = {"deadline_s": deadline_s, "d_spot_s": deadline_s, "memory_mb": memory}
    instance = bag(runtimes, types, allocation_cycle_s=rng.choice([5, 20]), **fields)
    replay = Replay(replay_plan(plan(instance, vms, places)), Onlooker(), record=True)
    for row in replay.state.tasks:
        if rng.random() < 0.4:
            row.saved = 0.5 + rng.random() / 2
    return replay


def compare_steals(seeds: range) -> int:
    """Let every idle VM of crowded days steal in both ways after each step; return how many tasks were taken."""
    stolen = 0
    for seed in seeds:
        replay = crowded(seed)
        while replay.step():
            for vm in replay.state.vms:
                for spare_time in get_args(SpareTime) if vm.idle else ():
                    quick, naive = replay.state.copy(), replay.state.copy()
                    steal(quick, quick.vms[vm.index], int(spare_time == "all"))
                    steal_naively(naive, naive.vms[vm.index], spare_time)
                    assert quick.records == naive.records, seed
                    stolen += naive.counts["tasks_stolen"]
    return stolen


def test_idle_vms_steal_what_asking_every_vm_for_every_task_gives_them() -> None:
    assert compare_steals(range(5)) > 10


@soak(sample=40, whole=1000)
def test_idle_vms_of_a_thousand_days_steal_what_asking_every_vm_for_every_task_gives_them(how_many: int) -> None:
    assert compare_steals(range(5, 5 + how_many)) > 2 * how_many
