"""The choice of a plan that survives, on bags of a few tasks."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spotbag.audits.bags.plan import check
from spotbag.core.errors import InputError
from spotbag.heuristics.bags.rescue import certify
from spotbag.instances.bags.csv_tasks import read_tasks
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.instance import Instance
from spotbag.schedules.documents import LOSSES
from spotbag.schedules.queues import Queue, schedule_of_queues
from spotbag.solvers.bags import survival
from spotbag.solvers.bags.result import Result
from spotbag.solvers.bags.solve import solve
from tests.helpers.fake_time import fake_time
from tests.helpers.soaks import some
from tests.helpers.stops import StopAt


def bag(**fields: Any) -> Instance:
    """Two tasks of 100 s that cost 0.1 $ each on spot and 0.3 $ on demand, and 10 s to move one."""
    vm_type = {
        "name": "one",
        "vcpus": 1,
        "memory_mb": 1024,
        "offers": {
            "spot": {"price_usd_per_hour": 3.6, "limit": 5},
            "on-demand": {"price_usd_per_hour": 10.8, "limit": 5},
        },
    }
    document = {
        "format": "spotbag.instance/1",
        "name": "by hand",
        "deadline_s": 250,
        "migration_overhead_s": 10,
        "vm_types": [vm_type],
        "tasks": [{"id": "t", "memory_mb": 100, "base_runtime_s": 100, "count": 2}],
    }
    return Instance.from_document(document | fields, "by hand")


def quickly(instance: Instance, **given: Any) -> Result:
    """Plan by a short search."""
    return solve(instance, "search", options={"moves": 20_000}, **given)


def test_where_the_cheapest_plan_survives_it_is_the_answer() -> None:
    result = solve(bag())
    assert result.status == "optimal"
    assert result.survival is not None
    assert (result.survival.verdict, result.survival.cost_without_usd) == ("survives", None)
    # Both at once on VMs of their own: lost at 99 s, each costs 0.099 $, and 110 s on demand.
    assert result.survival.worst_cost_usd == pytest.approx(2 * (0.099 + 0.33))
    assert result.survival.worst_at_s == 99
    assert result.instance.d_spot_s == 141  # lost at 140 s, with 110 s to go


def test_a_dearer_plan_that_survives_is_preferred_to_one_that_does_not() -> None:
    # Of three VMs on demand at most: what three lose at 99 s can be done again, and a fourth task must not be on spot.
    instance = bag(limits={"max_on_demand": 3}, tasks=[{"id": "t", "memory_mb": 1, "base_runtime_s": 100, "count": 4}])
    free = quickly(instance, survive="none")
    assert free.schedule is not None
    assert free.schedule.cost_usd == pytest.approx(0.4)
    assert free.survival is None
    safe = quickly(instance)
    assert safe.schedule is not None
    assert safe.survival is not None
    assert safe.survival.verdict == "survives"
    assert safe.schedule.cost_usd == pytest.approx(0.6)
    assert safe.survival.cost_without_usd == pytest.approx(0.4)
    assert (safe.status, safe.bound) == ("feasible", pytest.approx(0.4))


def test_bound_and_gap_are_of_plans_that_survive_and_those_of_all_plans_stand_beside_them() -> None:
    # Lost after 99 s, a task cannot be done again by 190 s: two on demand cost 0.60 $, and on spot they would 0.20 $.
    result = solve(bag(deadline_s=190))
    assert (result.status, result.bound, result.gap) == ("optimal", pytest.approx(0.6), pytest.approx(0))
    assert (result.bound_without, result.gap_without) == (pytest.approx(0.2), pytest.approx(2 / 3))
    assert result.bound_of_all == result.bound_without
    printed = result.to_dict()
    assert (printed["bound_without"], printed["gap_without"]) == (result.bound_without, result.gap_without)
    every = solve(bag())
    assert (every.bound, every.bound_without, every.bound_of_all) == (pytest.approx(0.2), None, every.bound)


def test_a_plan_without_spot_vms_says_what_would_bring_some_in() -> None:
    # Lost in its last second, 99, a task ends at 209: 10 s to move it, 100 s to run. After a checkpoint at 60 s, 50 s
    # are left; before it, at 59 s, it ends at 169. With the checkpoint, two tasks take 110 s and cost 0.22 $.
    survival = solve(bag(deadline_s=190)).survival
    assert survival is not None
    assert survival.spot_with is not None
    deadline, checkpoint = survival.spot_with
    assert (deadline.deadline_s, deadline.cost_usd) == (209, pytest.approx(0.2))
    assert checkpoint.checkpoint is not None
    assert (checkpoint.checkpoint.dump_base_s, checkpoint.checkpoint.overhead_fraction) == (10, pytest.approx(0.2))
    assert checkpoint.cost_usd == pytest.approx(0.22)
    later, often = bag(deadline_s=209), bag(deadline_s=190, checkpoint=checkpoint.checkpoint.model_dump())
    for way, changed in ((deadline, later), (checkpoint, often)):
        plan = solve(changed).schedule
        assert plan is not None
        assert plan.cost_usd == pytest.approx(way.cost_usd)
    just_before = solve(bag(deadline_s=208)).schedule
    assert just_before is not None
    assert just_before.cost_usd == pytest.approx(0.6)
    unneeded = solve(bag()).survival
    assert unneeded is not None
    assert unneeded.spot_with is None


@pytest.mark.slow
def test_a_level_that_lets_spot_vms_in_is_named() -> None:
    # One VM on demand at a time: what one type loses at once can be done again there, but two spot VMs have no twins.
    one = bag().vm_types[0].model_dump(exclude_none=True)
    types = [one | {"name": name} for name in ("one", "two")]
    instance = bag(deadline_s=215, limits={"max_on_demand": 1}, vm_types=types)
    survival = solve(instance, survive="each").survival
    assert survival is not None
    assert survival.spot_with is not None
    assert [(way.level, way.cost_usd) for way in survival.spot_with] == [("blackout", pytest.approx(0.4))]
    below = solve(instance, survive="blackout").schedule
    assert below is not None
    assert below.cost_usd == pytest.approx(0.4)


def test_a_plan_to_start_from_that_survives_is_not_lost_to_a_better_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a short limit, no other was found: the answer was that none survives."""
    instance = bag(limits={"max_on_demand": 3}, tasks=[{"id": "t", "memory_mb": 1, "base_runtime_s": 100, "count": 4}])
    safe = quickly(instance).schedule
    assert safe is not None
    for name in ("look", "look_at_fewer"):
        monkeypatch.setattr(survival._Search, name, lambda search, *given: None)
    kept = quickly(instance, survive="one-type", initial=safe)
    assert kept.schedule is not None
    assert kept.schedule.cost_usd == pytest.approx(safe.cost_usd)
    without = quickly(instance, survive="one-type").schedule
    assert without is None or without.cost_usd > safe.cost_usd


@pytest.mark.slow
def test_where_many_spot_cores_end_at_once_a_plan_that_ends_earlier_is_chosen() -> None:
    """The first plan ends as late as tasks can be done again one by one, and does not survive: what came cost twice."""
    instance = generate_instance(1000, max_on_demand=20, tightness=0.3, seed=5, goal="cheapest")
    result = quickly(instance, survive="one-type")
    assert result.gap is not None
    assert result.gap <= 0.02


@pytest.mark.slow
def test_where_no_simple_plan_survives_though_it_leaves_time_earlier_ends_are_tried() -> None:
    """For 46 spot cores to the end, 60 on demand cannot take over; more cores cost the same, and end earlier."""
    examples = Path(__file__).parents[3] / "examples"
    one_type, blackout = (
        solve(read_tasks(examples / "tasks.csv", 5400), survive=level, iterations=100_000, seed=1)
        for level in ("one-type", "blackout")
    )
    assert blackout.survival is not None
    assert blackout.survival.verdict == "survives"
    assert one_type.objective is not None
    assert blackout.objective is not None
    assert blackout.objective < 1.05 * one_type.objective


@pytest.mark.slow
def test_a_large_bag_has_a_plan_by_prices_that_survives_before_its_time_is_over() -> None:
    """Of 100,000 tasks, the fastest plan in 5 s was one for the deadline, 2.7 times the bound, and took 10 s."""
    instance = generate_instance(4_000, catalogue="hads", distinct=True, limit=40, max_on_demand=10**6, goal="fastest")
    result = solve(instance, survive="one-type", time_limit_s=0.05, threads=1)
    assert result.survival is not None
    assert result.survival.verdict == "survives"
    assert result.schedule is not None
    assert result.schedule.makespan_s < 0.6 * instance.deadline_s


def test_a_plan_from_a_state_is_chosen_that_survives() -> None:
    # The same, 20 s after the first task has begun: it stays on its spot VM, and one of the others goes on demand.
    running = {"task": "t#1", "core": 0, "start_s": -20}
    machine = {"id": "m", "type": "one", "market": "spot", "running": [running]}
    task = {"id": "t", "memory_mb": 1, "base_runtime_s": 100, "count": 4}
    instance = bag(limits={"max_on_demand": 3}, tasks=[task], machines=[machine])
    safe = quickly(instance)
    assert safe.schedule is not None
    assert safe.survival is not None
    assert (safe.survival.verdict, safe.survival.cost_without_usd) == ("survives", pytest.approx(0.38))
    assert safe.schedule.cost_usd == pytest.approx(0.58)
    assert (safe.schedule.vm_ids[safe.schedule.task_vm[0]], safe.schedule.task_start_s[0]) == ("m", -20)
    report = check(safe.instance, safe.schedule, survive="one-type")
    assert report.feasible
    assert report.survival is not None
    assert report.survival.verdict == "survives"


def test_where_nothing_survives_the_plan_is_one_with_a_warning() -> None:
    instance = bag(deadline_s=150, limits={"max_on_demand": 0})
    result = quickly(instance)
    assert result.schedule is not None
    assert result.survival is not None
    assert result.survival.verdict == "does-not-survive"
    (warning,) = result.warnings
    assert warning.startswith(
        "no plan was found that survives any one spot type down for good: with spot VMs of one down"
    )
    assert "limits.max_on_demand" in warning


@pytest.mark.parametrize("level", ["one-type", "blackout", "each"])
def test_where_nothing_survives_though_it_was_asked_for_there_is_no_plan(level: Any) -> None:
    result = quickly(bag(deadline_s=150, limits={"max_on_demand": 0}), survive=level)
    assert (result.status, result.schedule, result.survival) == ("no-plan", None, None)
    assert result.message.startswith(f"no plan was found that survives {LOSSES[level]}")


def test_a_d_spot_that_is_given_stays_and_is_reported_on() -> None:
    instance = bag(d_spot_s=250, limits={"max_on_demand": 1})
    result = quickly(instance, survive="one-type")
    assert result.instance.d_spot_s == 250
    assert result.survival is not None
    assert result.survival.verdict == "does-not-survive"
    assert result.warnings[0].startswith("the plan does not survive any one spot type down for good")
    assert quickly(instance).warnings == ()


@pytest.mark.parametrize(("method", "rule"), [("greedy", None), ("ils", None), ("lpt", "paper")])
def test_published_methods_and_the_papers_rule_keep_algorithm_1(method: str, rule: str | None) -> None:
    result = solve(bag(deadline_s=400, d_spot_rule=rule), method)
    # Two tasks on five VMs: one of 100 s is to be done again, and 10 s to move it.
    assert result.instance.d_spot_s == 290
    assert result.survival is not None
    assert result.survival.verdict == "survives"


@pytest.mark.parametrize("goal", some(["fastest", "balanced", "cheapest"], fast=2))
def test_plans_of_all_goals_survive(goal: Any) -> None:
    instance = generate_instance(12, limit=3, max_on_demand=6, tightness=0.3, seed=5, goal=goal)
    result = quickly(instance, survive="blackout")
    assert result.schedule is not None
    assert result.survival is not None
    assert result.survival.verdict == "survives"
    stated = result.schedule.to_document("search", result.survival)
    assert check(result.instance, stated).violations == ()


@pytest.mark.parametrize(
    ("deadline_s", "limit"),
    [(190, 5), *(pytest.param(*case, marks=pytest.mark.slow) for case in ((230, 2), (260, 1), (300, 1)))],
)
def test_a_plan_is_hardly_dearer_than_the_best_that_survives_of_all_plans(deadline_s: int, limit: int) -> None:
    # Three tasks on up to three VMs: all plans, longest first on each core, are looked at.
    tasks = [{"id": f"t{s}", "memory_mb": 1, "base_runtime_s": s} for s in (60, 80, 100)]
    instance = bag(deadline_s=deadline_s, tasks=tasks, limits={"max_on_demand": limit})
    fixed = instance.replace(d_spot_s=deadline_s)
    best = np.inf
    for markets in product((0, 1), repeat=3):
        for places in product(range(3), repeat=3):
            queues = [Queue(fixed.offers[market], []) for market in markets]
            for task in (2, 1, 0):  # longest first is the best order
                queues[places[task]].tasks.append(task)
            plan = schedule_of_queues(fixed, queues)
            feasible = plan.cost_usd < best and check(fixed, plan).feasible
            if feasible and certify(plan, "blackout", cost=False).survives:
                best = plan.cost_usd
    result = quickly(instance, survive="blackout")
    assert (result.schedule is None) == (best == np.inf)
    if result.schedule is not None:
        assert best * (1 - 1e-9) <= result.schedule.cost_usd <= best * 1.11


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(InputError, match="survive"):
        solve(bag(), survive="two-types")  # type: ignore[arg-type]


def test_a_time_limit_that_is_no_number_is_refused() -> None:
    limit: Any = "8s"
    with pytest.raises(InputError, match="time limit: '8s' must be a positive number of seconds"):
        solve(bag(), "greedy", time_limit_s=limit)


def two_types(runtimes_s: list[tuple[int, int]], most: tuple[int, int], **fields: Any) -> Instance:
    """Tasks by their run times on two types of one core, and limits of each type on spot and on demand."""
    spot, on_demand = most
    vm_types = [
        {
            "name": name,
            "vcpus": 1,
            "memory_mb": 8192,
            "offers": {
                "spot": {"price_usd_per_hour": price, "limit": spot},
                "on-demand": {"price_usd_per_hour": dear, "limit": on_demand},
            },
        }
        for name, price, dear in (("a", 0.03, 0.1), ("b", 0.04, 0.13))
    ]
    tasks = [
        {"id": f"t{number}", "memory_mb": 100, "runtime_s": {"a": on_a, "b": on_b}}
        for number, (on_a, on_b) in enumerate(runtimes_s)
    ]
    return bag(vm_types=vm_types, tasks=tasks, boot_overhead_s=60, **fields)


@pytest.mark.parametrize("factor", some([1.2, 1.02, 1.5], fast=1))
def test_repairs_keep_the_budget(factor: float) -> None:
    runtimes = [(784, 535), (438, 441), (483, 405), (1101, 1050), (730, 575)]
    instance = two_types(runtimes, (2, 2), deadline_s=2500)
    cheapest = quickly(instance, survive="none").schedule
    assert cheapest is not None
    budget = factor * cheapest.cost_usd
    result = quickly(instance, goal="fastest", budget_usd=budget)
    assert result.schedule is not None
    assert result.schedule.cost_usd <= budget * (1 + 1e-9)


@pytest.mark.slow
def test_a_d_spot_that_survival_chose_proves_nothing_of_other_plans() -> None:
    runtimes = [(784, 535), (438, 441), (483, 405), (1101, 1150), (1130, 975)]
    instance = two_types(runtimes, (1, 2), deadline_s=1542, limits={"max_on_demand": 3})
    result = solve(instance, goal="fastest", method="interval", survive="each")
    assert result.schedule is not None
    assert result.instance.d_spot_s != instance.deadline_s
    assert (result.status, result.stages[1].bound, result.stages[1].proven) == ("feasible", None, False)
    # Plans that leave each task time are all that survive the loss of a type: of these, this is the best.
    assert solve(instance, goal="fastest", method="interval").status == "optimal"


def test_a_stop_leaves_the_best_plan_though_it_must_survive() -> None:
    # The bound is not met by 41 tasks, one of which is alone on its core: the search does not end by itself.
    instance = bag(deadline_s=3000, tasks=[{"id": "t", "memory_mb": 1, "base_runtime_s": 100, "count": 41}])
    for looks in (30, 300):
        result = solve(instance, "search", stop=StopAt(looks), survive="one-type")
        assert result.interrupted
        assert result.schedule is not None


def cut_short(result: Result, goal: str, survive: str, budget_usd: float | None) -> None:
    """Demand that what was found until the end came is a right answer; the checker has looked at the plan itself."""
    plan, survival = result.schedule, result.survival
    assert (result.status == "no-plan") == (plan is None)
    if plan is None:
        assert result.message
        return
    assert budget_usd is None or plan.cost_usd <= budget_usd * (1 + 1e-9)
    assert result.bound is not None
    assert result.bound <= plan.objective
    assert result.stages[0].quantity == ("cost_usd" if goal == "cheapest" else "makespan_s")
    assert survival is not None
    assert survival.level == survive
    # A plan that must survive and was not looked at is handed out after an interrupt only.
    assert result.interrupted or survival.verdict == "survives"
    if survival.verdict == "survives" and survival.worst_cost_usd is not None:
        assert survival.worst_cost_usd >= plan.cost_usd * (1 - 1e-9)


_FIVE = [(784, 535), (438, 441), (483, 405), (1101, 1050), (730, 575)]
_GOALS = [("cheapest", None), ("fastest", None), ("fastest", 0.1)]


@pytest.mark.parametrize(("goal", "budget_usd"), _GOALS)
def test_stops_with_survival_and_goals_leave_a_right_answer(goal: Any, budget_usd: float | None) -> None:
    instance = two_types(_FIVE, (2, 2), deadline_s=2500)
    for looks, survive in product((1, 10, 60, 200), ("one-type", "blackout")):
        given: Any = {"goal": goal, "budget_usd": budget_usd, "survive": survive}
        cut_short(quickly(instance, stop=StopAt(looks), **given), goal, survive, budget_usd)


@pytest.mark.parametrize(("goal", "budget_usd"), _GOALS)
def test_time_limits_with_survival_and_goals_leave_a_right_answer(
    goal: Any, budget_usd: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = two_types(_FIVE, (2, 2), deadline_s=2500)
    for looks, survive in product((0.01, 0.5, 3, 20), ("one-type", "blackout")):
        with monkeypatch.context() as patch:
            fake_time(patch, look_s=0.01)
            given: Any = {"goal": goal, "budget_usd": budget_usd, "survive": survive}
            result = quickly(instance, time_limit_s=looks, **given)
        assert not result.interrupted
        cut_short(result, goal, survive, budget_usd)


@pytest.mark.parametrize("method", ["auto", "interval"])
def test_a_task_that_is_on_spot_vms_alone_is_in_no_plan_that_survives(method: str) -> None:
    offer = {"price_usd_per_hour": 0.01, "limit": 1}
    bag = Instance(
        name="bag", deadline_s=127,
        vm_types=[
            {"name": "a", "vcpus": 1, "memory_mb": 1024, "offers": {"spot": offer}},
            {"name": "b", "vcpus": 1, "memory_mb": 1024, "offers": {"on-demand": offer}},
        ],
        tasks=[{"id": f"t{k}", "memory_mb": 1, "runtime_s": {name: 2}} for k, name in enumerate("ab")],
    )  # fmt: skip
    result = solve(bag, method)
    assert result.status == "optimal"
    assert "no plan exists that survives" in result.message
    assert solve(bag, method, survive="one-type").schedule is None
