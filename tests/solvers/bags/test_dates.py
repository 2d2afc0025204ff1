"""Tasks with dates: exact plans against all plans, and what does not know dates refuses them by name."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from spotbag.audits.bags.plan import check
from spotbag.bounds.bags.configuration_bound import configuration_bound
from spotbag.bounds.bags.divisible_bound import divisible_bound
from spotbag.bounds.bags.lower_bounds import lower_bounds
from spotbag.core.errors import InputError, ModelRefusal, SpotbagError
from spotbag.heuristics.bags.d_spot import estimate_d_spot
from spotbag.instances.bags.hads_files import hads_files
from spotbag.instances.instance import Instance
from spotbag.models.bags.makespan_bounds import makespan_lower_bound_s
from spotbag.schedules.method import Run
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.schedule_files import schedule_of_document
from spotbag.schedules.state import State
from spotbag.solvers.bags.methods import METHODS, find_method, make_options
from spotbag.solvers.bags.pareto import pareto_front
from spotbag.solvers.bags.replan import replan
from spotbag.solvers.bags.solve import solve
from tests.helpers.exhaustive import exhaustive_plan, front_in_time
from tests.helpers.soaks import soak, some
from tests.helpers.tiny_dates import dated_instance

TOLERANCE = 1e-7


def bag(**fields: Any) -> Instance:
    """Two tasks of 10 s: one from second 20 on, one by second 12."""
    offers = {market: {"price_usd_per_hour": 3.6, "limit": 2} for market in ("spot", "on-demand")}
    base: dict[str, Any] = {
        "name": "dated",
        "deadline_s": 60,
        "objective": {"goal": "cheapest"},
        "vm_types": [{"name": "a", "vcpus": 2, "memory_mb": 1024, "gflops": 1.0, "offers": offers}],
        "tasks": [
            {"id": "late", "memory_mb": 1, "runtime_s": {"a": 10}, "ready_s": 20},
            {"id": "early", "memory_mb": 1, "runtime_s": {"a": 10}, "deadline_s": 12},
        ],
    }
    return Instance(**(base | fields))


def the_plan() -> Schedule:
    found = solve(bag(), "interval")
    assert found.schedule is not None
    return found.schedule


def wrong(seed: int) -> str:
    """What is wrong with the answers for a tiny bag with dates; empty if nothing is."""
    instance = dated_instance(seed)
    best_plan = exhaustive_plan(instance)
    best = math.inf if best_plan is None else best_plan.objective
    assert best is not None
    if best_plan is not None and check(instance, best_plan).violations:
        return f"the best plan of all is refused: {check(instance, best_plan).violations[0]}"
    method = find_method("interval")
    outcome = method.run(instance, make_options(method, {}), Run())
    found = math.inf if outcome.schedule is None else outcome.schedule.objective
    if outcome.schedule is not None and check(instance, outcome.schedule).violations:
        return f"interval: {check(instance, outcome.schedule).violations[0]}"
    if found != best and abs(found - best) > TOLERANCE * max(best, 1e-9):
        return f"interval has {found}, but the optimum is {best}"
    bounds = [outcome.bound or 0.0, divisible_bound(instance).objective, configuration_bound(instance).objective]
    if max(bounds) > best * (1 + TOLERANCE) + 1e-15 or (math.isinf(best) and not math.isinf(bounds[0])):
        return f"bounds {bounds}, but the optimum is {best}"
    method = find_method("search")
    by_search = method.run(instance, make_options(method, {"moves": 20_000}), Run())
    if by_search.schedule is not None:
        broken = check(instance, by_search.schedule).violations
        if broken or by_search.schedule.objective < best * (1 - TOLERANCE) - 1e-12:
            return f"search has {by_search.schedule.objective}, but the optimum is {best}: {broken}"
    least_s = makespan_lower_bound_s(instance)
    if best_plan is not None and best_plan.makespan_s is not None and least_s > best_plan.makespan_s:
        return f"bound of the makespan {least_s}, but a plan ends at {best_plan.makespan_s}"
    return ""


def wrong_by_auto(seed: int) -> str:
    """What is wrong with the answer of auto, which proves tiny bags; empty if nothing is."""
    instance = dated_instance(seed)
    best = exhaustive_plan(instance)
    result = solve(instance, threads=1)
    if best is None:
        return "" if result.status == "infeasible" and "dates" in result.message else f"{result.status}: no plan exists"
    assert best.objective is not None
    good = result.objective is not None and abs(result.objective - best.objective) <= TOLERANCE * max(
        best.objective, 1e-9
    )
    return "" if good and result.status == "optimal" else f"{result.status} {result.objective} of {best.objective}"


def wrong_from_a_state(seed: int) -> str:
    """What is wrong with what is planned again while a plan of a dated bag is carried out; empty if nothing is."""
    rng = random.Random(f"state of dates {seed}")
    instance = dated_instance(seed).replace(objective={"goal": "cheapest"})
    document = None if instance.machines else exhaustive_plan(instance)
    if document is None:
        return ""
    plan = schedule_of_document(document, instance)
    state = State.planned(plan, rng.randint(0, max(plan.makespan_s - 1, 0)))
    if rng.random() < 0.3:  # all VMs are lost
        state = State(instance=instance.name, time_s=state.time_s, done=state.done)
    if len(state.done) == instance.n_tasks:
        return ""
    front = front_in_time(instance, state)
    best = front[-1][1] if front else math.inf
    left = exhaustive_plan(state.remaining(instance))
    if (left is None) != (not front) or (left is not None and left.cost_usd != pytest.approx(best, rel=TOLERANCE)):
        return f"what is left costs {None if left is None else left.cost_usd}, but {best} in time"
    result = replan(instance, state, start=plan if rng.random() < 0.7 else None)
    if result.bound is not None and result.bound > best * (1 + TOLERANCE) + 1e-12:
        return f"bound {result.bound}, but {best} can be had"
    if result.schedule is None:
        return "" if math.isinf(best) or result.status == "no-plan" else f"{result.status}, but {best} can be had"
    broken = check(instance, result.schedule, state=state).violations
    below = result.schedule.cost_usd < best * (1 - TOLERANCE) - 1e-12
    return f"{result.schedule.cost_usd} of {best}: {broken}" if broken or below else ""


def disagreements(judge: Callable[[int], str], seeds: range) -> dict[int, str]:
    return {seed: said for seed in seeds if (said := judge(seed))}


@pytest.mark.parametrize("first", some(range(0, 60, 6), fast=1))
def test_plans_and_bounds_agree_with_all_plans(first: int) -> None:
    assert disagreements(wrong, range(first, first + 6)) == {}


@pytest.mark.slow
def test_auto_proves_tiny_bags_with_dates() -> None:
    assert disagreements(wrong_by_auto, range(6)) == {}


def test_what_a_state_leaves_is_planned_with_its_dates() -> None:
    assert disagreements(wrong_from_a_state, range(20)) == {}


@soak(60, 2_000)
def test_plans_and_bounds_agree_with_all_plans_of_many(how_many: int) -> None:
    assert disagreements(wrong, range(60, 60 + how_many)) == {}


@soak(60, 600)
def test_auto_proves_many_tiny_bags_with_dates(how_many: int) -> None:
    assert disagreements(wrong_by_auto, range(6, 6 + how_many)) == {}


@soak(100, 2_000)
def test_what_many_states_leave_is_planned_with_its_dates(how_many: int) -> None:
    assert disagreements(wrong_from_a_state, range(20, 20 + how_many)) == {}


@pytest.mark.slow
def test_tiny_dated_bags_are_of_all_kinds() -> None:
    bags = [dated_instance(seed) for seed in range(60)]
    assert any(instance.machines for instance in bags)
    assert any(offer.burstable for instance in bags for offer in instance.offers)
    assert any(not instance.memory_never_binds.all() for instance in bags)
    assert any(instance.boot_overhead_s for instance in bags)
    assert any(instance.limits.max_spot is not None for instance in bags)
    feasible = [exhaustive_plan(instance) is not None for instance in bags]
    assert 20 < sum(feasible) < 60


def test_a_plan_waits_for_the_release_and_is_paid_for_it() -> None:
    plan = the_plan()
    starts = dict(zip(plan.instance.task_ids, plan.task_start_s.tolist(), strict=True))
    assert starts["late"] == 20
    assert starts["early"] <= 2
    assert plan.cost_usd == pytest.approx(30 * 3.6 / 3600)  # one VM, from the beginning


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if not method.dates])
def test_methods_that_know_no_dates_refuse(name: str) -> None:
    with pytest.raises(
        ModelRefusal, match=r"knows no ready_s and no deadline_s of tasks; .* these plan: auto, search, interval"
    ):
        solve(bag(), name)


REFUSALS: dict[str, Callable[[], object]] = {
    "front": lambda: pareto_front(bag()),
    "hads files": lambda: hads_files(bag()),
    "D_spot": lambda: estimate_d_spot(bag()),
}


@pytest.mark.slow
@pytest.mark.parametrize(("deadline_s", "counts"), [(39, {"a spot": 1, "a on-demand": 1}), (38, {"a on-demand": 1})])
@pytest.mark.parametrize("level", ["one-type", "blackout"])
def test_what_is_lost_is_done_again_by_its_own_deadline(deadline_s: int, counts: dict[str, int], level: Any) -> None:
    """Lost at 29 s, the late task ends at 39 s at the earliest; the early one, lost at 9 s, at 19 s: too late."""
    document = bag().to_document() | {"survive": level}
    document["vm_types"][0]["offers"]["spot"]["price_usd_per_hour"] = 1.2
    document["tasks"][0]["deadline_s"] = deadline_s
    problem = Instance.from_document(document, "dated")
    found = solve(problem)
    assert found.status == "optimal"
    assert found.schedule is not None
    assert found.schedule.vm_counts() == counts
    assert found.survival is not None
    report = check(problem, found.schedule.to_document("by hand", found.survival), survive=level)
    assert report.survival is not None
    assert (report.violations, report.notes, report.survival.verdict) == ((), (), "survives")
    again = replan(problem, State(instance="dated"), survive=level)
    assert again.survival is not None
    assert again.survival.verdict == "survives"


@pytest.mark.slow
def test_of_tasks_with_dates_plans_without_spot_vms_survive_each_and_no_others_are_looked_at() -> None:
    """Each D_spot was tried in vain, for half a minute, and the checker did not see that nothing can be lost."""
    document = bag().to_document() | {"survive": "each"}
    document["vm_types"][0]["offers"]["spot"]["price_usd_per_hour"] = 1.2
    problem = Instance.from_document(document, "dated")
    found = solve(problem, seed=1)
    assert found.schedule is not None
    assert found.schedule.vm_counts() == {"a on-demand": 1}
    looked_at = [step.d_spot_s for step in found.steps if step.name == "survival" and step.deadline_s == 60]
    assert set(looked_at) == {0, 60}
    report = check(problem, found.schedule, survive="each")
    assert report.survival is not None
    assert report.survival.verdict == "survives"


@pytest.mark.parametrize("what", REFUSALS)
def test_what_knows_no_dates_refuses_them(what: str) -> None:
    with pytest.raises(SpotbagError, match=r"ready_s"):
        REFUSALS[what]()


def test_a_plan_of_tasks_with_dates_says_so() -> None:
    document = the_plan().to_document()
    assert document.dates
    assert (
        the_plan()
        .instance.replace(tasks=[task.model_copy(update={"ready_s": None, "deadline_s": None}) for task in bag().tasks])
        .has_dates
        is False
    )
    assert schedule_of_document(document, bag()).task_start_s.tolist() == the_plan().task_start_s.tolist()


def test_bounds_without_dates_are_told() -> None:
    least = {bound.name: bound.value for bound in lower_bounds(solve(bag(), "interval").instance)}
    assert least["combinatorial makespan"] == 30  # the release is known there
    assert 0 < least["least cost"] <= 0.03


def test_too_late_a_running_task_is_named() -> None:
    machine = {"id": "m", "type": "a", "market": "spot", "running": [{"task": "early", "core": 0, "start_s": 0}]}
    tasks = [task.model_dump(exclude_unset=True) for task in bag().tasks]
    tasks[1]["deadline_s"] = 9
    with pytest.raises(InputError):
        bag(tasks=tasks)
    for method in ("interval", "auto"):
        found = solve(bag(tasks=tasks, machines=[machine]), method)
        assert found.status == "infeasible"
        assert "even alone, early cannot end in time" in found.message


def test_dates_of_what_is_left_count_from_now() -> None:
    left = State(instance="dated", time_s=15.5).remaining(bag())
    assert left.deadline_s == 44
    assert left.release_s.tolist() == [4, 0]
    assert left.due_s.tolist() == [44, -4]  # the deadline of the second has passed: that is for who asks to say
    assert [(task.ready_s, task.deadline_s) for task in left.tasks] == [(4, None), (None, -4)]
    assert replan(bag(), State(instance="dated", time_s=15.5)).status == "infeasible"
    later = State(instance="dated", time_s=25, done=("early",)).remaining(bag())
    assert not later.has_dates


def test_what_vms_cost_that_wait_for_releases_is_said() -> None:
    offers = {"on-demand": {"price_usd_per_hour": 3.6, "limit": 1}}
    tasks = [
        {"id": "now", "memory_mb": 1, "base_runtime_s": 100},
        {"id": "later", "memory_mb": 1, "base_runtime_s": 50},
    ]
    bag = Instance(
        name="bag", deadline_s=2000, survive="none", tasks=[tasks[0], tasks[1] | {"ready_s": 1000}],
        vm_types=[{"name": "a", "vcpus": 1, "memory_mb": 100, "offers": offers}],
    )  # fmt: skip
    assert any("$ 0.9000 of the cost is for VMs that wait" in warning for warning in solve(bag).warnings)
    together = bag.replace(tasks=[tasks[0], tasks[1] | {"ready_s": 100}])
    assert not solve(together).warnings
