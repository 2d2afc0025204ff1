"""The checker: every rule with its amount, and agreement with a look at every second."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spotbag.audits.bags.plan import _Checker, check
from spotbag.audits.bill import Rules, Session, bill_usd
from spotbag.core.errors import SpotbagError
from spotbag.instances.entries import Machine
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.schedules.documents import PlacedTask, RentedVm, ScheduleColumns, ScheduleDocument
from spotbag.schedules.state import State
from spotbag.solvers.bags.solve import solve
from tests.helpers.random_instances import random_instances
from tests.helpers.rescues import carried_on
from tests.helpers.second_by_second import broken_rules, feasible, one_vm_plan
from tests.helpers.soaks import soak_of


def two_core_instance(**fields: Any) -> Instance:
    """Tasks x (10 s, 600 MB), y (20 s, 600 MB), z (5 s, 100 MB) for spot VMs with two cores and 1024 MB."""
    offer = {"price_usd_per_hour": 3.6, "limit": 1}
    base: dict[str, Any] = {
        "name": "checked",
        "deadline_s": 50,
        "d_spot_s": 40,
        "vm_types": [{"name": "a", "vcpus": 2, "memory_mb": 1024, "offers": {"spot": offer}}],
        "tasks": [
            {"id": "x", "memory_mb": 600, "runtime_s": {"a": 10}},
            {"id": "y", "memory_mb": 600, "runtime_s": {"a": 20}},
            {"id": "z", "memory_mb": 100, "runtime_s": {"a": 5}},
        ],
    }
    return Instance(**(base | fields))


GOOD = [("x", 0, 0, 10), ("z", 1, 0, 5), ("y", 0, 10, 30)]


def test_a_good_plan_passes_and_is_priced() -> None:
    report = check(two_core_instance(), one_vm_plan(two_core_instance(), GOOD, cost_usd=0.03, makespan_s=30))
    assert report.feasible
    assert report.cost_usd == pytest.approx(0.03)
    assert report.makespan_s == 30


def test_a_plan_of_nothing_lacks_all_tasks() -> None:
    instance = two_core_instance()
    report = check(instance, ScheduleDocument(instance=instance.name, vms=(), tasks=()))
    assert [violation.rule for violation in report.violations] == ["task-once"] * 3
    assert (report.cost_usd, report.makespan_s) == (0.0, 0)


@pytest.mark.parametrize(
    ("placements", "broken"),
    [
        (GOOD[:2], {"task-once": 1}),
        ([*GOOD, ("w", 1, 30, 35)], {"task-once": 1}),
        ([*GOOD, ("z", 1, 30, 35)], {"task-once": 1}),
        ([("x", 0, 0, 10), ("z", 1, 0, 5), ("y", 2, 10, 30)], {"placement": 1}),
        ([("x", 0, 0, 10), ("z", 1, 0, 6), ("y", 0, 10, 30)], {"run-time": 1}),
        ([("x", 0, 0, 10), ("z", 0, 7, 12), ("y", 0, 12, 32)], {"core": 3}),
        ([("x", 0, 0, 10), ("z", 0, 10, 15), ("y", 1, 5, 25)], {"memory": 176}),
        ([("x", 0, 0, 10), ("z", 1, 0, 5), ("y", 0, 24, 44)], {"d-spot": 4}),
        ([("x", 0, 0, 10), ("z", 1, 0, 5), ("y", 0, 34, 54)], {"d-spot": 14, "deadline": 4}),
        ([("x", 0, -2, 8), ("z", 1, 0, 5), ("y", 0, 10, 30)], {"ready": 2}),
    ],
)
def test_each_broken_rule_is_found_with_its_amount(
    placements: list[tuple[str, int, int, int]], broken: dict[str, float]
) -> None:
    assert broken_rules(two_core_instance(), one_vm_plan(two_core_instance(), placements)) == broken


def test_the_boot_overhead_counts() -> None:
    instance = two_core_instance(boot_overhead_s=3)
    late = [(name, core, start + 3, end + 3) for name, core, start, end in GOOD]
    assert broken_rules(instance, one_vm_plan(instance, GOOD))["ready"] == 3
    report = check(instance, one_vm_plan(instance, late))
    assert report.feasible
    assert report.cost_usd == pytest.approx(0.03)  # billed from ready
    assert report.makespan_s == 33


def with_vms(*vms: tuple[str, str, str]) -> ScheduleDocument:
    plan = one_vm_plan(two_core_instance(), GOOD)
    rented = tuple(RentedVm(id=name, type=kind, market=market) for name, kind, market in vms)  # type: ignore[arg-type]
    return plan.model_copy(update={"vms": rented})


def test_vms_must_be_offered_named_once_and_within_the_limits() -> None:
    instance = two_core_instance()
    assert broken_rules(instance, with_vms(("vm", "a", "spot"), ("vm2", "a", "spot"))) == {"limit": 1}
    assert "vm" in broken_rules(instance, with_vms(("vm", "b", "spot")))
    assert "vm" in broken_rules(instance, with_vms(("vm", "a", "on-demand")))
    assert "vm" in broken_rules(instance, with_vms(("vm", "a", "spot"), ("vm", "a", "spot")))
    assert broken_rules(instance, with_vms(("other", "a", "spot"))) == {"placement": 1}


def test_market_limits_and_forbidden_markets_count_over_all_types() -> None:
    offers = {market: {"price_usd_per_hour": 3.6, "limit": 3} for market in ("spot", "on-demand")}
    types = [{"name": name, "vcpus": 2, "memory_mb": 1024, "offers": offers} for name in ("a", "b")]
    plan = with_vms(("vm", "a", "spot"), ("v2", "b", "spot"), ("v3", "a", "on-demand"))
    assert broken_rules(two_core_instance(vm_types=types, limits={"max_spot": 1}), plan) == {"limit": 1}
    assert broken_rules(two_core_instance(vm_types=types, limits={"max_on_demand": 0}), plan) == {"limit": 1}
    assert broken_rules(two_core_instance(vm_types=types, markets=["spot"]), plan) == {"limit": 1}


def test_claims_are_compared() -> None:
    instance = two_core_instance()
    plan = one_vm_plan(instance, GOOD, cost_usd=0.02, makespan_s=29, objective=0.1)
    messages = [violation.message for violation in check(instance, plan).violations]
    assert messages[0] == "the plan says cost_usd 0.02, it comes to 0.03"
    assert messages[1] == "the plan says makespan_s 29, it comes to 30"
    assert len(messages) == 3


@pytest.mark.parametrize("price_usd_per_hour", [3.6e-6, 3.6, 3.6e5])
def test_a_claim_may_be_off_by_a_millionth_of_what_the_plan_comes_to(price_usd_per_hour: float) -> None:
    """30 s at 3.6e-6 $/h come to 3e-8 $, at 3.6e5 $/h to 3,000 $; the objective is that cost on a scale of 1 $."""
    offer = {"price_usd_per_hour": price_usd_per_hour, "limit": 1}
    vm_types = [{"name": "a", "vcpus": 2, "memory_mb": 1024, "offers": {"spot": offer}}]
    instance = two_core_instance(vm_types=vm_types, objective={"cost_weight": 1.0, "cost_scale_usd": 1.0})
    usd = price_usd_per_hour / 3600 * 30
    for factor in (1 - 9e-7, 1 + 9e-7):
        assert broken_rules(instance, one_vm_plan(instance, GOOD, cost_usd=usd * factor, objective=usd * factor)) == {}
    for factor in (0.0, 0.9, 1 - 2e-6, 1 + 2e-6, 1.1):
        wrong = {"claim": pytest.approx(abs(factor - 1) * usd, rel=1e-6)}
        assert broken_rules(instance, one_vm_plan(instance, GOOD, cost_usd=usd * factor)) == wrong
        assert broken_rules(instance, one_vm_plan(instance, GOOD, objective=usd * factor)) == wrong


def test_a_claim_that_is_off_in_the_seventh_digit_is_written_with_it() -> None:
    instance = two_core_instance()
    [violation] = check(instance, one_vm_plan(instance, GOOD, cost_usd=0.03000004)).violations
    assert violation.message == "the plan says cost_usd 0.03000004, it comes to 0.03"


def test_a_makespan_is_claimed_to_the_second() -> None:
    """A second is less than a millionth of 2,000,000 s, and wrong all the same."""
    seconds = 2_000_000
    tasks = [{"id": "x", "memory_mb": 1, "runtime_s": {"a": seconds}}]
    instance = two_core_instance(deadline_s=seconds, d_spot_s=seconds, tasks=tasks)
    long = [("x", 0, 0, seconds)]
    assert broken_rules(instance, one_vm_plan(instance, long, makespan_s=seconds)) == {}
    assert broken_rules(instance, one_vm_plan(instance, long, makespan_s=seconds - 1)) == {"claim": 1}


def test_what_a_plan_was_made_for_is_noted() -> None:
    plan = one_vm_plan(two_core_instance(), GOOD, deadline_s=60, d_spot_s=45)
    notes = check(two_core_instance(name="another"), plan).notes
    assert len(notes) == 3
    assert "D_spot of 45 s; it is judged by 40 s" in notes[2]


def test_d_spot_must_be_known_where_it_is_to_be_estimated() -> None:
    instance = two_core_instance(d_spot_s=None, d_spot_rule="paper")
    with pytest.raises(SpotbagError, match="wants d_spot_s estimated"):
        check(instance, one_vm_plan(instance, GOOD))
    assert check(instance, one_vm_plan(instance, GOOD), d_spot_s=40).feasible
    assert check(two_core_instance(d_spot_s=None), one_vm_plan(instance, GOOD)).feasible


def burstable_instance(initial: float, runtime_s: int = 60, cap: float | None = None) -> Instance:
    """Two tasks for one burstable VM with two cores that earns 30 credits an hour, half a credit a minute."""
    return Instance(
        name="burst",
        deadline_s=1000,
        vm_types=[
            {
                "name": "b",
                "vcpus": 2,
                "memory_mb": 1024,
                "offers": {"on-demand": {"price_usd_per_hour": 1, "limit": 1}},
                "burstable": {"baseline_fraction": 0.25, "credits_per_hour": 30, "initial_credits": initial}
                | ({} if cap is None else {"max_credits": cap}),
            }
        ],
        tasks=[{"id": name, "memory_mb": 1, "runtime_s": {"b": runtime_s}} for name in ("x", "y")],
    )


def burst_plan(instance: Instance, *rows: tuple[str, int, int, int, str]) -> ScheduleDocument:
    return ScheduleDocument(
        instance=instance.name,
        vms=(RentedVm(id="vm", type="b", market="on-demand"),),
        tasks=tuple(
            PlacedTask(id=name, vm="vm", core=core, start_s=start, end_s=end, mode=mode)  # type: ignore[arg-type]
            for name, core, start, end, mode in rows
        ),
    )


def test_full_speed_needs_credits() -> None:
    both = (("x", 0, 0, 60, "burst"), ("y", 1, 0, 60, "burst"))
    # Two vCPUs spend 2 credits in the minute, 0.5 are earned: 1.5 are needed.
    enough, short = burstable_instance(1.5), burstable_instance(1.4)
    assert broken_rules(enough, burst_plan(enough, *both)) == {}
    assert broken_rules(short, burst_plan(short, *both)) == {"credits": pytest.approx(0.1)}


def test_credits_are_earned_while_waiting_and_no_one_lacks_any_at_the_baseline() -> None:
    instance = burstable_instance(0)
    # One minute at full speed needs 1 credit less the 0.5 earned meanwhile: 60 s of waiting earn the other half.
    waited = (("x", 0, 60, 120, "burst"), ("y", 1, 120, 360, "baseline"))
    hasty = (("x", 0, 50, 110, "burst"), ("y", 1, 120, 360, "baseline"))
    assert broken_rules(instance, burst_plan(instance, *waited)) == {}
    assert broken_rules(instance, burst_plan(instance, *hasty)) == {"credits": pytest.approx(10 / 120)}
    slow = (("x", 0, 0, 240, "baseline"), ("y", 1, 0, 240, "baseline"))
    assert broken_rules(instance, burst_plan(instance, *slow)) == {}


def test_credits_are_earned_up_to_the_cap() -> None:
    """In 400 s, 3 1/3 credits are earned, of which the cap leaves its own; both tasks need 1.5, as above."""
    late = (("x", 0, 400, 460, "burst"), ("y", 1, 400, 460, "burst"))
    capped, roomy = burstable_instance(0, cap=1.0), burstable_instance(0, cap=1.5)
    assert broken_rules(capped, burst_plan(capped, *late)) == {"credits": pytest.approx(0.5)}
    assert broken_rules(roomy, burst_plan(roomy, *late)) == {}


def test_a_mode_on_a_regular_vm_is_refused() -> None:
    plan = one_vm_plan(two_core_instance(), GOOD)
    faulty = plan.model_copy(update={"tasks": (plan.tasks[0].model_copy(update={"mode": "baseline"}), *plan.tasks[1:])})
    assert broken_rules(two_core_instance(), faulty) == {"placement": 1}


@st.composite
def plans(draw: st.DrawFn) -> tuple[Instance, ScheduleDocument, int]:
    """A plan of the greedy for a random instance, with up to three random changes, mostly small."""
    instance = draw(random_instances(5))
    result = solve(instance, "greedy")
    if result.schedule is None:
        vm = RentedVm(id="vm", type=instance.offers[0].vm_type.name, market=instance.offers[0].market)
        plan = ScheduleDocument(
            instance="random",
            vms=(vm,),
            tasks=tuple(PlacedTask(id=name, vm="vm", core=0, start_s=0, end_s=10) for name in instance.task_ids),
        )
    else:
        plan = result.schedule.to_document().model_copy(
            update={"cost_usd": None, "makespan_s": None, "objective": None}
        )
    d_spot = result.instance.d_spot_s
    return instance, draw(changed(plan)), instance.deadline_s if d_spot is None else d_spot


@st.composite
def rests(draw: st.DrawFn) -> tuple[Instance, ScheduleDocument, int]:
    """What is left of such a plan at some second, for what is left of its instance; with such changes."""
    result = solve(draw(random_instances(5)), "greedy")
    assume(result.schedule is not None)
    plan = result.schedule
    assert plan is not None
    state = State.planned(plan, draw(st.integers(0, plan.makespan_s - 1)))
    waiting = state.waiting_ids(plan.instance)
    state = state.replace(saved={name: draw(st.sampled_from([0, 0, 0.3, 0.9])) for name in waiting})
    rest = state.remaining(plan.instance)
    burstable = [vm_type.name for vm_type in rest.vm_types if vm_type.burstable is not None]
    machines = [
        machine.model_copy(
            update={
                "open": draw(st.sampled_from([True, True, False])),
                "paid_until_s": draw(st.sampled_from([0, 0, 10, 100])),
                "credits": None if machine.type not in burstable or draw(st.booleans()) else 1.0,
            }
        )
        for machine in rest.machines
    ]
    if draw(st.booleans()):
        offer = draw(st.sampled_from(rest.offers))
        machines.append(Machine(id="idle", type=offer.vm_type.name, market=offer.market))
    rest = rest.replace(machines=machines)
    document = carried_on(plan, state, rest).to_document()
    document = document.model_copy(update={"cost_usd": None, "makespan_s": None, "objective": None})
    return rest, draw(changed(document)), rest.deadline_s if rest.d_spot_s is None else rest.d_spot_s


@st.composite
def changed(draw: st.DrawFn, plan: ScheduleDocument) -> ScheduleDocument:
    """A plan with up to three random changes, mostly small."""
    tasks, vms = list(plan.tasks), list(plan.vms)
    for _ in range(draw(st.integers(0, 3))):
        index = draw(st.integers(0, len(tasks) - 1))
        task = tasks[index]
        change = draw(
            st.sampled_from(
                [
                    *("shift", "stretch", "core", "vm", "drop", "double", "mode", "market"),
                    *("name", "order", "interval", "type", "vm-double", "vm-name"),
                ]
            )
        )
        if change == "shift":
            by = draw(st.integers(-15, 15))
            tasks[index] = task.model_copy(update={"start_s": task.start_s + by, "end_s": task.end_s + by})
        elif change == "stretch":
            tasks[index] = task.model_copy(
                update={"end_s": max(task.end_s + draw(st.integers(-2, 2)), task.start_s + 1)}
            )
        elif change == "core":
            tasks[index] = task.model_copy(update={"core": draw(st.integers(0, 4))})
        elif change == "vm":
            tasks[index] = task.model_copy(update={"vm": draw(st.sampled_from([*(vm.id for vm in vms), "none"]))})
        elif change == "drop" and len(tasks) > 1:
            del tasks[index]
        elif change == "double":
            tasks.append(task)
        elif change == "mode":
            tasks[index] = task.model_copy(update={"mode": "baseline"})
        elif change == "market":
            vms[0] = vms[0].model_copy(update={"market": draw(st.sampled_from(["spot", "on-demand"]))})
        elif change == "name":
            tasks[index] = task.model_copy(update={"id": "nobody"})
        elif change == "order":
            tasks.reverse()
        elif change == "interval":
            interval = (task.checkpoint_interval_s or 10.0) * draw(st.sampled_from([1 - 2e-6, 1 + 9e-7, 2]))
            tasks[index] = task.model_copy(update={"checkpoint_interval_s": interval})
        elif change == "type":
            vms[-1] = vms[-1].model_copy(update={"type": draw(st.sampled_from(["type0", "type1", "none"]))})
        elif change == "vm-double":
            vms.append(vms[0].model_copy(update={"type": draw(st.sampled_from([vm.type for vm in vms]))}))
        elif change == "vm-name":
            before, name = draw(st.sampled_from(vms)).id, draw(st.sampled_from(["other", "idle"]))
            vms = [vm.model_copy(update={"id": name}) if vm.id == before else vm for vm in vms]
            tasks = [task.model_copy(update={"vm": name}) if task.vm == before else task for task in tasks]
    return plan.model_copy(update={"tasks": tuple(tasks), "vms": tuple(vms)})


@given(plans())
@settings(max_examples=8, deadline=None)
def test_the_checker_agrees_with_a_look_at_every_second(case: tuple[Instance, ScheduleDocument, int]) -> None:
    _look_at_every_second(case)


@soak_of(plans(), sample=100, whole=2000)
def test_the_checker_agrees_with_a_look_at_every_second_of_thousands(
    case: tuple[Instance, ScheduleDocument, int],
) -> None:
    _look_at_every_second(case)


@pytest.mark.slow
@given(rests())
@settings(max_examples=7, deadline=None)
def test_the_checker_agrees_with_a_look_at_every_second_from_a_state(
    case: tuple[Instance, ScheduleDocument, int],
) -> None:
    _look_at_every_second(case)
    _look_at_each(case)


@soak_of(rests(), sample=100, whole=5000)
def test_the_checker_agrees_with_a_look_at_every_second_from_thousands_of_states(
    case: tuple[Instance, ScheduleDocument, int],
) -> None:
    _look_at_every_second(case)
    _look_at_each(case)


def _look_at_every_second(case: tuple[Instance, ScheduleDocument, int]) -> None:
    instance, plan, d_spot = case
    found = check(instance, plan, d_spot_s=d_spot).violations
    violations = [entry for entry in found if entry.rule not in ("credits", "claim")]
    assert (not violations) == feasible(instance, plan, d_spot)


@given(plans())
@settings(max_examples=8, deadline=None)
def test_looking_at_each_task_and_vm_finds_no_more_than_the_arrays(
    case: tuple[Instance, ScheduleDocument, int],
) -> None:
    _look_at_each(case)


@soak_of(plans(), sample=40, whole=5000)
def test_looking_at_each_task_and_vm_of_thousands_of_plans_finds_no_more_than_the_arrays(
    case: tuple[Instance, ScheduleDocument, int],
) -> None:
    _look_at_each(case)


def _look_at_each(case: tuple[Instance, ScheduleDocument, int]) -> None:
    instance, plan, d_spot = case
    report = check(instance, plan, d_spot_s=d_spot)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Checker, "_doubtful_rows", lambda checker: np.ones(len(checker.plan.task_ids), dtype=bool))
        patch.setattr(_Checker, "_doubtful_vms", lambda checker, _: np.ones(len(checker.plan.vm_names), dtype=bool))
        assert report == check(instance, plan, d_spot_s=d_spot)
    assert report.makespan_s == max(placed.end_s for placed in plan.tasks)
    prices = {
        (vm_type.name, market): offer for vm_type in instance.vm_types for market, offer in vm_type.offers.items()
    }
    cost_usd = 0.0
    for vm in plan.vms:
        ends = [placed.end_s for placed in plan.tasks if placed.vm == vm.id and placed.id in instance.task_index]
        if ends and (vm.type, vm.market) in prices:
            since_s = [max(other.ready_s, other.paid_until_s) for other in instance.machines if other.id == vm.id]
            seconds = max(max(ends) - (since_s[0] if since_s else instance.boot_overhead_s), 0)
            cost_usd += prices[vm.type, vm.market].price_usd_per_hour / 3600 * seconds
    assert report.cost_usd == pytest.approx(cost_usd, rel=1e-12, abs=1e-12)
    if instance.goal == "balanced":
        weight = instance.cost_weight
        scale_s = instance.objective.makespan_scale_s or instance.deadline_s
        objective = weight * cost_usd / instance.cost_scale_usd + (1 - weight) * report.makespan_s / scale_s
    else:
        assert instance.goal == "cheapest"
        objective = cost_usd
    assert report.objective == pytest.approx(objective, rel=1e-12, abs=1e-12)


ALMOST_WHOLE = [
    *(whole * (1 + noise) for whole in (7, 1000, 123_457, 9_999_999) for noise in (0, 5e-13, 1e-12, 2e-12, -1e-12)),
    *(0.1 * 3, 0.1 * 3 * 10, 1000000.000001, 1000000.0000011, 2.5, 1e-6),
]


@pytest.mark.parametrize("dump_base_s", [3, 12.5, 0.1, 3.3])
@pytest.mark.parametrize("baseline_fraction", [None, 0.3, 1 / 3, 1e-6])
def test_durations_next_to_whole_seconds_are_exact(dump_base_s: float, baseline_fraction: float | None) -> None:
    """By fractions of the decimal numbers that the file says; less than 1e-12 of the value does not count."""

    def up(value: Fraction) -> int:
        return math.ceil(value * (1 - Fraction(1, 10**12)))

    burstable = {"baseline_fraction": baseline_fraction, "credits_per_hour": 1} if baseline_fraction else None
    offer = {"spot": {"price_usd_per_hour": 1, "limit": 1}}
    instance = Instance(
        name="almost",
        deadline_s=10**9,
        d_spot_s=10**9,
        checkpoint={"overhead_fraction": 0.1, "dump_base_s": dump_base_s},
        vm_types=[{"name": "a", "vcpus": 1, "memory_mb": 64, "offers": offer, "burstable": burstable}],
        tasks=[{"id": f"t{k}", "memory_mb": 1, "runtime_s": {"a": time}} for k, time in enumerate(ALMOST_WHOLE)],
    )
    placed, dump = [], Fraction(repr(float(dump_base_s)))
    for task in instance.tasks:
        assert task.runtime_s is not None
        work = up(Fraction(repr(task.runtime_s["a"])))
        total = work + (up(work / (dump * 10)) - 1) * dump
        seconds = up(total / Fraction(repr(baseline_fraction or 1.0)))
        mode = "baseline" if burstable else None
        placed.append(PlacedTask(id=task.id, vm="vm", core=0, start_s=0, end_s=seconds, mode=mode))
    vms = (RentedVm(id="vm", type="a", market="spot"),)
    plan = ScheduleDocument(instance="almost", vms=vms, tasks=tuple(placed))
    assert not [found for found in check(instance, plan).violations if found.rule == "run-time"]
    longer = tuple(task.model_copy(update={"end_s": task.end_s + 1}) for task in placed)
    found = check(instance, plan.model_copy(update={"tasks": longer})).violations
    assert [(entry.where, entry.amount) for entry in found if entry.rule == "run-time"] == [
        (task.id, 1) for task in placed
    ]


def test_a_plan_that_keeps_all_rules_is_checked_without_a_record_of_each_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million tasks took 56 s, three quarters of them for records and fractions."""
    made = []
    records = ScheduleColumns.records
    monkeypatch.setattr(ScheduleColumns, "records", lambda self, rows: made.extend(rows) or records(self, rows))
    for name in ("distinct/200", "memory/m30"):
        result = solve(library_instance(name), "lpt")
        assert result.schedule is not None
        assert check(result.instance, result.schedule).feasible
    assert made == []
    assert check(two_core_instance(), one_vm_plan(two_core_instance(), GOOD[:2])).violations
    assert made == []
    assert check(two_core_instance(), one_vm_plan(two_core_instance(), [*GOOD[:2], ("y", 0, 10, 31)])).violations
    assert made == [2]


def test_tasks_are_read_as_they_are_whatever_an_instance_says_of_where_they_come_from() -> None:
    """The tasks of a bag are read once for all that states leave of it: only where they are the very same."""
    bag = two_core_instance()
    rest = State(instance=bag.name, time_s=1, done=("z",)).remaining(bag)
    plan = one_vm_plan(rest, [("x", 0, 0, 10), ("y", 0, 10, 30)])
    assert rest.taken_from is not None
    assert check(rest, plan).feasible
    longer = rest.replace(tasks=[rest.tasks[0], rest.tasks[1].model_copy(update={"runtime_s": {"a": 21}})])
    longer.__dict__["taken_from"] = rest.taken_from
    assert [(found.rule, found.where) for found in check(longer, plan).violations] == [("run-time", "y")]
    more_types = rest.replace(vm_types=[rest.vm_types[0].model_copy(update={"name": "b"}), *rest.vm_types])
    more_types.__dict__["taken_from"] = rest.taken_from
    assert check(more_types, plan).feasible


def test_library_plans_pass() -> None:
    result = solve(library_instance("burst-hads/ED200"), "greedy")
    assert result.schedule is not None
    assert check(result.instance, result.schedule).feasible


def test_credits_lacking_add_up_wherever_other_tasks_start() -> None:
    instance = burstable_instance(0, runtime_s=600)
    together = broken_rules(instance, burst_plan(instance, ("x", 0, 0, 600, "burst"), ("y", 1, 0, 600, "burst")))
    apart = broken_rules(instance, burst_plan(instance, ("x", 0, 0, 600, "burst"), ("y", 1, 300, 900, "burst")))
    # Together: 20 spent, 5 earned in 600 s. Apart: 20 spent, 7.5 earned in 900 s.
    assert together == {"credits": pytest.approx(15)}
    assert apart == {"credits": pytest.approx(12.5)}


def test_the_objective_is_judged_by_the_weight_and_scales_that_the_plan_states() -> None:
    instance = two_core_instance(objective={"goal": "balanced"})
    plan = one_vm_plan(instance, GOOD, objective=30 / 50, cost_weight=0.0)
    report = check(instance, plan)
    assert report.feasible
    assert report.notes == ("the objective that the plan states has a cost_weight of 0; here it is 0.5",)
    assert broken_rules(instance, one_vm_plan(instance, GOOD, objective=30 / 50)) != {}


def test_checkpoint_intervals_are_claims() -> None:
    rules = {"overhead_fraction": 0.1, "dump_base_s": 3}
    instance = two_core_instance(checkpoint=rules)
    plan = one_vm_plan(instance, GOOD)

    def with_interval(interval: float) -> ScheduleDocument:
        first = plan.tasks[0].model_copy(update={"checkpoint_interval_s": interval})
        return plan.model_copy(update={"tasks": (first, *plan.tasks[1:])})

    assert broken_rules(instance, with_interval(30.0)) == {}
    assert broken_rules(instance, with_interval(31.0)) == {"claim": pytest.approx(1)}
    assert broken_rules(two_core_instance(), with_interval(30.0)) == {"claim": 30}
    for dump_s, interval_s in ((3, 30), (0.03, 0.3)):
        instance = two_core_instance(checkpoint=rules | {"dump_base_s": dump_s})
        assert "claim" not in broken_rules(instance, with_interval(interval_s * (1 + 9e-7)))
        assert broken_rules(instance, with_interval(interval_s * (1 + 2e-6)))["claim"] < 1e-4


def test_a_plan_above_the_budget_is_found() -> None:
    def broken(budget: float) -> dict[str, float]:
        instance = two_core_instance(objective={"goal": "fastest", "budget_usd": budget})
        return broken_rules(instance, one_vm_plan(instance, GOOD))

    cost = check(two_core_instance(), one_vm_plan(two_core_instance(), GOOD)).cost_usd
    assert broken(cost) == broken(1.01 * cost) == {}
    assert broken(0.9 * cost) == {"budget": pytest.approx(0.1 * cost)}


def with_machines(*machines: dict[str, Any], **fields: Any) -> Instance:
    """Three tasks of 10 s; types of a core: ``a``, of which two may be rented, and burstable ``b``."""
    offers = {"on-demand": {"price_usd_per_hour": 3600.0, "limit": 2}}
    burstable = {"baseline_fraction": 0.5, "credits_per_hour": 0, "initial_credits": 60, "max_credits": 60}
    document: dict[str, Any] = {
        "format": "spotbag.instance/1",
        "name": "checked",
        "deadline_s": 100,
        "boot_overhead_s": 5,
        "vm_types": [
            {"name": "a", "vcpus": 2, "memory_mb": 1000, "offers": offers},
            {"name": "b", "vcpus": 1, "memory_mb": 1000, "offers": offers, "burstable": burstable},
        ],
        "tasks": [{"id": name, "memory_mb": 400, "base_runtime_s": 10} for name in "xyz"],
        "machines": machines,
        "objective": {"cost_weight": 1.0, "cost_scale_usd": 1.0},
    }
    return Instance.from_document(document | fields, "checked")


RUNNING = {"id": "m", "type": "a", "market": "on-demand", "running": [{"task": "x", "core": 1, "start_s": -4}]}
BURSTS = {"task": "x", "core": 0, "start_s": -4, "mode": "burst"}


def rows(*rows: str) -> ScheduleDocument:
    """A plan of rows such as ``"x m 1 -4 6"``; VMs are named by their types, or are those of the plan ``m``."""
    words = [row.split() for row in rows]
    names = dict.fromkeys(row[1] for row in words)
    return ScheduleDocument(
        instance="checked",
        vms=tuple(RentedVm(id=name, type="b" if "b" in name else "a", market="on-demand") for name in names),
        tasks=tuple(
            PlacedTask(
                id=row[0],
                vm=row[1],
                core=int(row[2]),
                start_s=int(row[3]),
                end_s=int(row[4]),
                mode="burst" if "b" in row[1] else None,
            )
            for row in words
        ),
    )


WAITING = ("y m 0 0 10", "z m 1 6 16")
FROM_A_STATE: dict[str, tuple[Instance, ScheduleDocument, dict[str, float]]] = {
    "as it runs": (with_machines(RUNNING), rows("x m 1 -4 6", *WAITING), {}),
    "on another core": (with_machines(RUNNING), rows("x m 0 -4 6", "y m 0 6 16", "z m 1 6 16"), {"machine": 1}),
    "since another second": (with_machines(RUNNING), rows("x m 1 -3 7", "y m 0 0 10", "z m 1 7 17"), {"machine": 1}),
    "on another machine": (
        with_machines(RUNNING, RUNNING | {"id": "m2", "running": []}),
        rows("x m2 1 0 10", *WAITING),
        {"machine": 1},
    ),
    "on a new VM": (with_machines(RUNNING), rows("x a1 1 5 15", *WAITING), {"machine": 1}),
    "before now": (with_machines(RUNNING), rows("x m 1 -4 6", "y m 0 -1 9", "z m 1 6 16"), {"ready": 1}),
    "before the machine is ready": (
        with_machines({"id": "m", "type": "a", "market": "on-demand", "ready_s": 3}),
        rows("x m 0 3 13", "y m 1 1 11", "z m 1 11 21"),
        {"ready": 2},
    ),
    "before a new VM is ready": (with_machines(RUNNING), rows("x m 1 -4 6", "y a1 0 4 14", "z m 1 6 16"), {"ready": 1}),
    "while another runs": (
        with_machines(RUNNING),
        rows("x m 1 -4 6", "y m 0 0 10", "z m 1 5 15"),
        {"core": 1, "memory": 200},
    ),
    "in memory that is held": (
        with_machines(RUNNING, tasks=[{"id": name, "memory_mb": 600, "base_runtime_s": 10} for name in "xyz"]),
        rows("x m 1 -4 6", "y m 0 0 10", "z m 0 10 20"),
        {"memory": 200},
    ),
    "where no more tasks are taken": (
        with_machines(RUNNING | {"open": False}),
        rows("x m 1 -4 6", "y m 0 0 10", "z a1 1 5 15"),
        {"machine": 1},
    ),
    "one VM too many, with the machine": (
        with_machines(RUNNING),
        rows("x m 1 -4 6", "y a1 0 5 15", "z a2 0 5 15"),
        {"limit": 1},
    ),
    "one VM too many, with a machine that is not used": (
        with_machines(RUNNING, RUNNING | {"id": "m2", "running": []}),
        rows("x m 1 -4 6", "y a1 0 5 15", "z m 1 6 16"),
        {"limit": 1},
    ),
    "over the limit of the market": (
        with_machines(RUNNING, limits={"max_on_demand": 1}),
        rows("x m 1 -4 6", "y b1 0 5 15", "z m 1 6 16"),
        {"limit": 1},
    ),
    "two machines where one may be": (
        with_machines(RUNNING, RUNNING | {"id": "m2", "running": []}, limits={"max_on_demand": 1}),
        rows("x m 1 -4 6", "y m2 0 0 10", "z m 1 6 16"),
        {},
    ),
    "as another type": (
        with_machines(RUNNING, {"id": "b", "type": "a", "market": "on-demand"}),
        rows("x m 1 -4 6", "y b 0 0 10", "z m 1 6 16"),
        {"vm": 1},
    ),
    # Full speed spends a credit a minute: 20 s need a third of one.
    "with credits": (
        with_machines(RUNNING, {"id": "b", "type": "b", "market": "on-demand", "credits": 0.3334}),
        rows("x m 1 -4 6", "y b 0 0 10", "z b 0 10 20"),
        {},
    ),
    "without credits": (
        with_machines(RUNNING, {"id": "b", "type": "b", "market": "on-demand", "credits": 0.25}),
        rows("x m 1 -4 6", "y b 0 0 10", "z b 0 10 20"),
        {"credits": 1 / 12},
    ),
    # When what runs already ends is said: of credits, only others can lack any.
    "without credits for what runs already": (
        with_machines(RUNNING | {"id": "b", "type": "b", "running": [BURSTS], "credits": 0}),
        rows("x b 0 -4 6", "y a1 0 5 15", "z a1 1 5 15"),
        {},
    ),
    "without the credits that what runs already spends": (
        with_machines(RUNNING | {"id": "b", "type": "b", "running": [BURSTS], "credits": 0.25}),
        rows("x b 0 -4 6", "y b 0 6 16", "z a1 1 5 15"),
        {"credits": 1 / 60},
    ),
}


@pytest.mark.parametrize("name", FROM_A_STATE)
def test_each_broken_rule_of_a_plan_from_a_state_is_found_with_its_amount(name: str) -> None:
    instance, document, broken = FROM_A_STATE[name]
    assert broken_rules(instance, document) == pytest.approx(broken)


@pytest.mark.parametrize(("paid_until_s", "cost_usd"), [(0, 16), (6, 10), (16, 0), (90, 0)])
def test_a_machine_costs_what_is_not_paid_yet(paid_until_s: int, cost_usd: float) -> None:
    instance = with_machines(RUNNING | {"paid_until_s": paid_until_s})
    plan = rows("x m 1 -4 6", *WAITING)
    assert check(instance, plan).cost_usd == pytest.approx(cost_usd)
    false = plan.model_copy(update={"cost_usd": cost_usd + 1})
    assert broken_rules(instance, false) == pytest.approx({"claim": 1})


@given(
    st.lists(
        st.tuples(st.floats(0, 1e4, allow_subnormal=False), st.integers(0, 10**12)),
        max_size=6,
    )
)
def test_a_bill_is_the_exact_sum(billed: list[tuple[float, int]]) -> None:
    sessions = [(Session(Rules(), 0, Fraction(repr(price)) / 3600), seconds) for price, seconds in billed]
    exactly = sum((Fraction(repr(price)) * seconds / 3600 for price, seconds in billed), start=Fraction(0))
    assert bill_usd(sessions) == exactly


def test_a_session_is_billed_for_its_boot_its_minimum_and_whole_blocks_and_what_follows_for_blocks() -> None:
    session = Session(Rules(30, 120, 100, Fraction(1, 2)), 50, Fraction(1, 100))
    ends_s = [49, 50, 220, 221]
    assert [session.usd(end_s) for end_s in ends_s] == [0, 2.5, 2.5, 3.5]  # up for 170 s: 200 s with the boot
    assert bill_usd((session, end_s) for end_s in ends_s) == 8.5
    assert [session.after(60).usd(end_s) for end_s in (60, 220, 221, 321)] == [0, 0, 1, 2]
