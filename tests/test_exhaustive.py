"""The exhaustive oracle: against another oracle, the checker, and by hand; then the search and its bound against it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from spotbag.audits.bags.plan import check
from spotbag.instances.instance import Instance
from spotbag.schedules.documents import PlacedTask, RentedVm, ScheduleDocument
from spotbag.solvers.bags.solve import solve
from tests.helpers.exhaustive import (
    ends_by_events,
    ends_by_seconds,
    exhaustive_objective,
    exhaustive_plan,
    tiny_offers,
    tiny_optimum,
)
from tests.helpers.second_by_second import brute_force_objective
from tests.helpers.soaks import soak
from tests.helpers.tiny_instances import FAMILIES, tiny_instance

pytestmark = pytest.mark.xdist_group("tiny optimum")  # one process: they share optima that take long


def small_instances(family: str, how_many: int) -> list[Instance]:
    """The first instances of a family that brute force does in a moment."""

    def small() -> Iterator[Instance]:
        for seed in itertools.count():
            instance = tiny_instance(seed, **FAMILIES[family])
            choices = sum(min(offer.limit, instance.n_tasks) * (1 + offer.burstable) for offer in instance.offers)
            if choices**instance.n_tasks * math.factorial(instance.n_tasks) <= 5000:
                yield instance

    return list(itertools.islice(small(), how_many))


def burstable_vm(
    runtimes: list[int], vcpus: int, credits_per_hour: float, baseline_fraction: float, **burstable: float
) -> Instance:
    """Tasks on one burstable VM of 0.001 $/s, ready at 2 s; cost scale 0.01 $, makespan scale 10 s."""
    credits = {"baseline_fraction": baseline_fraction, "credits_per_hour": credits_per_hour} | burstable
    return Instance.from_document(
        {
            "format": "spotbag.instance/1",
            "name": "waiting",
            "deadline_s": 40,
            "boot_overhead_s": 2,
            "objective": {"cost_weight": 0.5, "cost_scale_usd": 0.01, "makespan_scale_s": 10},
            "vm_types": [
                {
                    "name": "b",
                    "vcpus": vcpus,
                    "memory_mb": 1024,
                    "offers": {"on-demand": {"price_usd_per_hour": 3.6, "limit": 1}},
                    "burstable": credits,
                }
            ],
            "tasks": [{"id": f"t{k}", "memory_mb": 100, "runtime_s": {"b": e}} for k, e in enumerate(runtimes)],
        },
        "by hand",
    )


def by_hand(instance: Instance, *placed: tuple[str, int, int, str]) -> ScheduleDocument:
    """Plan of one VM: start, end and mode of each task, each on a core of its own."""
    return ScheduleDocument(
        instance=instance.name,
        vms=(RentedVm(id="vm", type="b", market="on-demand"),),
        tasks=tuple(
            PlacedTask.model_validate(
                {"id": name, "vm": "vm", "core": core, "start_s": start, "end_s": end, "mode": mode}
            )
            for core, (name, start, end, mode) in enumerate(placed)
        ),
    )


def lacking(instance: Instance, plan: ScheduleDocument) -> float:
    """Credits that a plan lacks, which breaks no other rule."""
    (violation,) = check(instance, plan).violations
    assert violation.rule == "credits"
    return violation.amount


@pytest.mark.parametrize("family", ["cores", "memory"])
def test_without_credits_it_is_brute_force(family: str) -> None:
    for instance in small_instances(family, 40):
        expected = brute_force_objective(instance)
        found = exhaustive_objective(instance)
        assert (found is None) == (expected is None), instance.name
        assert expected is None or found == pytest.approx(expected, rel=1e-12), instance.name


@pytest.mark.parametrize("how_many", [10, pytest.param(60, marks=pytest.mark.slow)])
def test_with_credits_it_is_never_above_brute_force_and_equal_if_nothing_waits(how_many: int) -> None:
    seen: Counter[str] = Counter()
    for instance in small_instances("burstable", how_many):
        expected = brute_force_objective(instance)
        found = exhaustive_objective(instance)
        if found is None:
            assert expected is None, instance.name
            continue
        if expected is None or found < expected * (1 - 1e-12):
            assert _waits(instance), instance.name
            seen["waiting is better"] += 1
        else:
            assert found == pytest.approx(expected, rel=1e-12), instance.name
            seen["equal"] += 1
    assert seen["waiting is better"] >= how_many / 10
    assert seen["equal"] >= how_many / 2


def _waits(instance: Instance) -> bool:
    """Whether a task of the best plan starts later than the cores and the memory ask, given those that start first."""
    plan = exhaustive_plan(instance)
    assert plan is not None
    types = {vm.id: next(vm_type for vm_type in instance.vm_types if vm_type.name == vm.type) for vm in plan.vms}
    need_kb = {
        name: math.ceil(instance.tasks[group].memory_mb * 1024)
        for name, group in zip(instance.task_ids, instance.task_group, strict=True)
    }
    in_order = sorted(plan.tasks, key=lambda task: task.start_s)
    for position, task in enumerate(in_order):
        before = [other for other in in_order[:position] if other.vm == task.vm]

        def has_room(second: int, task: PlacedTask = task, before: list[PlacedTask] = before) -> bool:
            running = [other.id for other in before if other.start_s <= second < other.end_s]
            used_kb = sum(need_kb[name] for name in running) + need_kb[task.id]
            return len(running) < types[task.vm].vcpus and used_kb <= math.floor(types[task.vm].memory_mb * 1024)

        seconds = task.end_s - task.start_s
        for start in range(instance.boot_overhead_s, task.start_s):
            if all(has_room(second) for second in range(start, start + seconds)):
                return True
    return False


@pytest.mark.parametrize("how_many", [6, pytest.param(40, marks=pytest.mark.slow)])
def test_with_credits_for_all_tasks_it_is_brute_force(how_many: int) -> None:
    for instance in small_instances("burstable", how_many):
        document = instance.to_document()
        for vm_type in document["vm_types"]:
            if "burstable" in vm_type:
                vm_type["burstable"] |= {"initial_credits": 2, "max_credits": 2}  # 120 s at full speed
        rich = Instance.from_document(document, "rich")
        expected = brute_force_objective(rich)
        assert exhaustive_objective(rich) == (None if expected is None else pytest.approx(expected, rel=1e-12))


def test_waiting_for_credits_by_hand() -> None:
    # 36 credits an hour are 0.01 a second; 3 s at full speed spend 3/60 = 0.05 and earn 0.03 meanwhile. The VM is
    # ready at 2 s without credits: it waits 2 s for the other 0.02, and the task runs from 4 s to 7 s.
    # 5 s of the VM are 0.005 $: 0.5 * 0.005 / 0.01 + 0.5 * 7 / 10 = 0.6.
    instance = burstable_vm([3], vcpus=1, credits_per_hour=36, baseline_fraction=0.2)
    report = check(instance, by_hand(instance, ("t0", 4, 7, "burst")))
    assert report.feasible
    assert report.objective == pytest.approx(0.6)
    assert lacking(instance, by_hand(instance, ("t0", 3, 6, "burst"))) == pytest.approx(0.01)
    assert exhaustive_objective(instance) == pytest.approx(0.6)
    # Without waiting there is only the baseline: 3 / 0.2 = 15 s, until 17 s: 0.75 + 0.85.
    assert brute_force_objective(instance) == pytest.approx(1.6)


def test_earning_while_another_task_runs_at_the_baseline_by_hand() -> None:
    # Counted in seconds at full speed: 45 credits an hour earn 0.75 a second, a task at the baseline spends 0.25.
    # t0 takes 2 / 0.25 = 8 s at the baseline, from 2 s to 10 s. Beside it 0.5 a second are saved; after 4 s the 2 that
    # t1 lacks, who earns 0.75 - 0.25 a second while it spends 1: it runs 4 s, until 10 s as well.
    # Both tasks spend 6 seconds at full speed, in whatever mode, and 6 / 0.75 = 8: no plan ends before 10 s.
    # 8 s of the VM are 0.008 $: 0.5 * 0.8 + 0.5 * 1.0 = 0.9.
    instance = burstable_vm([2, 4], vcpus=2, credits_per_hour=45, baseline_fraction=0.25)
    report = check(instance, by_hand(instance, ("t0", 2, 10, "baseline"), ("t1", 6, 10, "burst")))
    assert report.feasible
    assert report.objective == pytest.approx(0.9)
    one_too_early = by_hand(instance, ("t0", 2, 10, "baseline"), ("t1", 5, 9, "burst"))
    assert lacking(instance, one_too_early) == pytest.approx(0.5 / 60)
    assert exhaustive_objective(instance) == pytest.approx(0.9)
    # Without waiting neither task can start at full speed; t1 takes 16 s at the baseline, until 18 s: 0.8 + 0.9.
    assert brute_force_objective(instance) == pytest.approx(1.7)


def test_no_credits_are_saved_above_the_most_a_vm_can_hold() -> None:
    # As in the first case, but a VM holds 0.015 credits and the task lacks 0.02: the baseline it is. With 0.02: 0.6.
    too_few = burstable_vm([3], vcpus=1, credits_per_hour=36, baseline_fraction=0.2, max_credits=0.015)
    assert exhaustive_objective(too_few) == pytest.approx(1.6)
    assert lacking(too_few, by_hand(too_few, ("t0", 20, 23, "burst"))) == pytest.approx(0.005)
    enough = burstable_vm([3], vcpus=1, credits_per_hour=36, baseline_fraction=0.2, max_credits=0.02)
    assert exhaustive_objective(enough) == pytest.approx(0.6)


@pytest.mark.parametrize(
    "seeds",
    [
        range(10),
        pytest.param(range(10, 50), marks=pytest.mark.slow),
        pytest.param(range(50, 160), marks=pytest.mark.soak),
    ],
    ids=len,
)
@pytest.mark.parametrize("family", FAMILIES)
def test_its_plans_pass_the_checker_and_come_to_what_they_claim(family: str, seeds: range) -> None:
    plans = 0
    for seed in seeds:
        instance = tiny_instance(seed, **FAMILIES[family])
        plan = tiny_optimum(family, seed)
        if plan is not None:
            assert plan.objective is not None
            assert check(instance, plan).violations == (), instance.name
            plans += 1
    assert plans > (1 / 2 if family in ("quotas", "everything") else 2 / 3) * len(seeds)  # quotas may forbid all VMs


@pytest.mark.parametrize("how_many", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_second_by_second_and_event_by_event_agree_without_credits(how_many: int) -> None:
    compared = 0
    for seed in range(how_many):
        instance = tiny_instance(seed, memory=True)
        bag = tuple(task.count for task in instance.tasks)
        for offer in tiny_offers(instance):
            by_events = {tasks: plan.end_s for tasks, plan in ends_by_events(offer, bag).items()}
            assert {tasks: plan.end_s for tasks, plan in ends_by_seconds(offer, bag).items()} == by_events
            compared += len(by_events)
    assert compared > 5 * how_many


def test_spot_vms_without_d_spot_are_refused() -> None:
    instance = next(found for found in small_instances("cores", 50) if found.d_spot_s is not None)
    document = instance.to_document()
    del document["d_spot_s"]
    document.pop("markets", None)
    with pytest.raises(ValueError, match="d_spot_s"):
        exhaustive_objective(Instance.from_document(document, "without"))


def compare_with_search(family: str, seeds: range) -> None:
    """The search is never better than the optimum, its bound never above it."""
    for seed in seeds:
        instance = tiny_instance(seed, **FAMILIES[family])
        plan = tiny_optimum(family, seed)
        result = solve(instance, "search", options={"moves": 200})
        if plan is None:
            assert result.objective is None, instance.name
            continue
        best = plan.objective
        assert best is not None
        assert result.status != "infeasible", instance.name
        assert result.objective is None or result.objective >= best * (1 - 1e-9), instance.name
        assert result.bound is None or result.bound <= best * (1 + 1e-9), instance.name


@pytest.mark.parametrize("family", FAMILIES)
def test_the_search_is_never_below_the_optimum_and_its_bound_never_above(family: str) -> None:
    compare_with_search(family, range(6))


@soak(40, 1440)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_search_is_never_below_the_optimum_and_its_bound_never_above_on_thousands(
    family: str, how_many: int
) -> None:
    compare_with_search(family, range(6, 6 + how_many))


@pytest.mark.slow
def test_tiny_instances_are_the_same_for_a_seed_and_others_for_others() -> None:
    for family in FAMILIES.values():
        documents = [tiny_instance(seed, **family).to_document() for seed in range(20)]
        assert documents == [tiny_instance(seed, **family).to_document() for seed in range(20)]
        tasks_and_types = [str((document["tasks"], document["vm_types"])) for document in documents]
        assert len(set(tasks_and_types)) == 20


@pytest.mark.slow
def test_tiny_instances_have_every_shape() -> None:
    seen: dict[str, Counter[str]] = {family: Counter() for family in FAMILIES}
    for family, seed in itertools.product(FAMILIES, range(100)):
        instance = tiny_instance(seed, **FAMILIES[family])
        assert 1 <= instance.n_tasks <= 5
        seen[family].update(_shapes(instance))
        seen[family]["infeasible"] += seed < 40 and tiny_optimum(family, seed) is None
    everywhere = set(_shapes(tiny_instance(0))) - {
        "burstable",
        "memory binds",
        "a market not for all",
        "several cores",
        "different numbers of cores",
    }
    for family, counts in seen.items():
        few = {"cores and memory": {"1 tasks", "2 tasks"}, "everything": {"1 tasks"}}.get(family, set())
        assert {shape for shape in everywhere if counts[shape] < 5} == few  # of one task, no two need other numbers
        assert 1 <= counts["infeasible"] <= (16 if family == "everything" else 10)  # of forty
    assert {family for family in FAMILIES if seen[family]["burstable"]} == {"burstable"}
    assert seen["burstable"]["burstable"] == 100
    assert seen["cores"]["memory binds"] == 0
    assert seen["memory"]["memory binds"] >= 30
    assert {family for family in FAMILIES if seen[family]["a market not for all"] > 40} == {"markets", "everything"}
    assert seen["several"]["several cores"] >= 70
    assert 20 <= seen["several"]["different numbers of cores"] <= 60
    assert seen["burstable"]["memory binds"] >= 10


def _shapes(instance: Instance) -> dict[str, bool]:
    offers: list[Any] = [(market, offer) for vm_type in instance.vm_types for market, offer in vm_type.offers.items()]
    caps = {"spot": instance.limits.max_spot, "on-demand": instance.limits.max_on_demand}
    return {
        "several cores": any(task.cores > 1 for task in instance.tasks),
        "different numbers of cores": len({task.cores for task in instance.tasks}) > 1,
        **{f"{n} tasks": instance.n_tasks == n for n in range(1, 6)},
        **{f"{n} types": len(instance.vm_types) == n for n in range(1, 4)},
        "a market not for all": any(task.markets and len(task.markets) == 1 for task in instance.tasks),
        "identical tasks": any(task.count > 1 for task in instance.tasks),
        "both markets": {market for market, _ in offers} == {"spot", "on-demand"},
        "one market allowed": len(instance.markets) == 1,
        "market's limit below its offers'": any(
            cap is not None and sum(offer.limit for name, offer in offers if name == market) > cap
            for market, cap in caps.items()
        ),
        "boot": instance.boot_overhead_s > 0,
        "checkpoints": instance.checkpoint is not None,
        "a type that cannot run a task": any(
            task.runtime_s is not None and len(task.runtime_s) < len(instance.vm_types) for task in instance.tasks
        ),
        "cost only": instance.objective.cost_weight == 1,
        "makespan only": instance.objective.cost_weight == 0,
        "burstable": any(vm_type.burstable is not None for vm_type in instance.vm_types),
        "memory binds": not instance.memory_never_binds.all(),
    }
