"""Where tasks are stolen from and moved to, against asking every VM for every task, as the papers print it."""

from __future__ import annotations

import random
from typing import Any, get_args

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spotbag.core.errors import SpotbagError
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.durations import NEVER
from spotbag.instances.instance import Instance
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.plan import replay_plan
from spotbag.replay.bags.policies import find_policy
from spotbag.replay.bags.policies.migration import Places, SpareTime, Targets
from spotbag.replay.bags.policies.stealing import steal
from spotbag.replay.bags.policy import Policy
from spotbag.replay.bags.state import ReplayState
from spotbag.replay.bags.vm import Vm
from tests.helpers.random_days import random_day, random_plan
from tests.helpers.random_instances import instance_documents
from tests.helpers.soaks import soak, soak_of
from tests.helpers.tiny_days import bag, plan, vm_type


def takes(state: ReplayState, vm: Vm, task: int, saved: float, spare_time: SpareTime) -> bool:
    """Algorithm 7 of HADS, from the runs of the VM."""
    runtime_s = state.work.runtime_s(task, vm.offer_index)
    end_s = state.end_if_placed_s(vm, task, None, saved)
    if end_s is None:
        return False
    runs = [run for queue in ([run for run in vm.running if run is not None], *vm.waiting) for run in queue]
    end_s = max([end_s, *(vm.zero_s + run.end_s for run in runs)])
    if not vm.spot and spare_time == "spot":
        return end_s <= state.instance.deadline_s
    longest_s = max([runtime_s, *(state.work.runtime_s(run.task, vm.offer_index) for run in runs)])
    return state.instance.deadline_s - end_s > longest_s + state.start_overhead_s


def steal_naively(state: ReplayState, thief: Vm, spare_time: SpareTime) -> None:
    cycle_s, stolen = state.instance.allocation_cycle_s, 0
    victims = [vm for vm in state.vms if vm.executing and vm.burstable is None and vm is not thief]
    for victim in sorted(victims, key=lambda vm: (vm.spot, vm.offer.price_usd_per_hour, vm.index)):
        cycle_end_s = (victim.uptime_s(state.now_s) // cycle_s + 1) * cycle_s
        for run, _ in list(victim.waiting_runs()):
            may = run.start_s >= cycle_end_s and not (stolen and thief.burstable is not None)
            if may and takes(state, thief, run.task, state.saved.get(run.task, 0.0), spare_time):
                state.steal(run.task, victim, thief)
                stolen += 1
    state.report_attempt(thief, stolen)


def place_naively(state: ReplayState, source: Vm, tasks: list[int], burstable: bool, spare_time: SpareTime) -> None:
    for task in tasks:
        saved = state.saved_if_moved(source, task)
        able = [vm for vm in state.vms if (vm.idle and burstable) or (vm.burstable is None and (vm.idle or vm.busy))]
        able = [vm for vm in able if takes(state, vm, task, saved, spare_time)]
        if able:
            key = lambda vm: (vm.n_left > 0, not vm.spot, vm.offer.price_usd_per_hour, vm.index)  # noqa: E731
            state.migrate(task, source, min(able, key=key))


def first_end_naively(state: ReplayState, task: int, saved: float) -> int | None:
    ends = [
        state.end_if_placed_s(vm, task, None, saved) for vm in state.vms if vm.idle or (vm.alive and not vm.burstable)
    ]
    for offer in state.instance.offers:
        duration_s = state.duration_s(task, offer, None, saved)
        regular = offer.market == "on-demand" and not offer.burstable
        if regular and state.can_start(offer) and duration_s < NEVER:
            ends.append(state.now_s + state.start_overhead_s + duration_s)
    return min((end_s for end_s in ends if end_s is not None), default=None)


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
                steal(quick, quick.vms[vm.index], spare_time)
                steal_naively(naive, naive.vms[vm.index], spare_time)
                assert quick.records == naive.records
                compared += 1
            if vm.hibernated and vm.n_left:
                quick, naive, tasks, burstable = state.copy(), state.copy(), vm.tasks(), bool(seed % 2)
                source = quick.vms[vm.index]
                saved = [(task, quick.saved_if_moved(source, task)) for task in tasks]
                targets, places = Targets(quick, source, saved, burstable, spare_time), Places(quick)
                for task, fraction in saved:
                    best = places.best(task, fraction)
                    assert (None if best is None else best[0]) == first_end_naively(quick, task, fraction)
                for task, fraction in saved:
                    targets.place(task, fraction)
                place_naively(naive, naive.vms[vm.index], tasks, burstable, spare_time)
                assert quick.records == naive.records
                compared += 1
    return compared


DAYS = instance_documents(), st.integers(0, 2**32), st.sampled_from(["all", "spot"])


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(*DAYS)
def test_tasks_go_where_asking_every_vm_puts_them(document: dict[str, Any], seed: int, spare_time: SpareTime) -> None:
    compare(document, seed, spare_time)


@soak_of(instance_documents(max_tasks=40), *DAYS[1:], sample=200, whole=5000)
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
    replay.state.saved = {task: 0.5 + rng.random() / 2 for task in range(instance.n_tasks) if rng.random() < 0.4}
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
                    steal(quick, quick.vms[vm.index], spare_time)
                    steal_naively(naive, naive.vms[vm.index], spare_time)
                    assert quick.records == naive.records, seed
                    stolen += naive.counts["tasks_stolen"]
    return stolen


def test_idle_vms_steal_what_asking_every_vm_for_every_task_gives_them() -> None:
    assert compare_steals(range(15)) > 30


@soak(sample=200, whole=1000)
def test_idle_vms_of_a_thousand_days_steal_what_asking_every_vm_for_every_task_gives_them(how_many: int) -> None:
    assert compare_steals(range(15, 15 + how_many)) > 2 * how_many
