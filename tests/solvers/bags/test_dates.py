"""Tasks with dates: exact plans against all plans, and what does not know dates refuses them by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from spotbag.audits.auditor import audit
from spotbag.audits.bags.plan import check
from spotbag.bounds.bags.configuration_bound import configuration_bound
from spotbag.bounds.bags.divisible_bound import divisible_bound
from spotbag.bounds.bags.lower_bounds import lower_bounds
from spotbag.core.errors import InputError, ModelRefusal, SpotbagError
from spotbag.executors.orders import vm_orders
from spotbag.heuristics.bags.d_spot import estimate_d_spot
from spotbag.heuristics.bags.rescue import certify
from spotbag.instances.bags.hads_files import hads_files
from spotbag.instances.instance import Instance
from spotbag.models.bags.makespan_bounds import makespan_lower_bound_s
from spotbag.replay.bags.checked_plan import checked
from spotbag.schedules.method import Run
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.schedule_files import schedule_of_document
from spotbag.schedules.state import State
from spotbag.solvers.bags.methods import METHODS, find_method, make_options
from spotbag.solvers.bags.pareto import pareto_front
from spotbag.solvers.bags.replan import replan
from spotbag.solvers.bags.solve import solve
from tests.helpers.exhaustive import exhaustive_plan
from tests.helpers.hand_made_traces import recovered
from tests.helpers.soaks import soak
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
    least_s = makespan_lower_bound_s(instance)
    if best_plan is not None and best_plan.makespan_s is not None and least_s > best_plan.makespan_s:
        return f"bound of the makespan {least_s}, but a plan ends at {best_plan.makespan_s}"
    return ""


def disagreements(seeds: range) -> dict[int, str]:
    return {seed: said for seed in seeds if (said := wrong(seed))}


def test_plans_and_bounds_agree_with_all_plans() -> None:
    assert disagreements(range(60)) == {}


@soak(200, 2_000)
def test_plans_and_bounds_agree_with_all_plans_of_many(how_many: int) -> None:
    assert disagreements(range(60, 60 + how_many)) == {}


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
        ModelRefusal, match=r"knows no ready_s and no deadline_s of tasks; .* these plan: auto, interval"
    ):
        solve(bag(), name)


def audit_of_dates() -> None:
    """Audit a trace whose instance has dates: no replay writes one."""
    trace = recovered()
    tasks = [task | {"ready_s": 1} for task in trace.instance["tasks"]]
    audit(replace(trace, instance=trace.instance | {"tasks": tasks}))


REFUSALS: dict[str, Callable[[], object]] = {
    "replay": lambda: checked(the_plan()),
    "certificate": lambda: certify(the_plan(), "one-type"),
    "solve survive": lambda: solve(bag(), survive="one-type"),
    "instance survive": lambda: solve(bag(survive="blackout")),
    "replan survive": lambda: replan(bag(), State(instance="dated"), survive="each"),
    "front": lambda: pareto_front(bag()),
    "hads files": lambda: hads_files(bag()),
    "D_spot": lambda: estimate_d_spot(bag()),
    "audit": audit_of_dates,
    "orders": lambda: vm_orders(the_plan()),
    "orders of a document": lambda: vm_orders(the_plan().to_document()),
}


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
    found = solve(bag(tasks=tasks, machines=[machine]), "interval")
    assert found.status == "infeasible"
    assert "'early'" in found.message
