"""Instances of clouds that bill otherwise than by the second: what plans do not know is refused, or said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from spotbag.bounds.bags.lower_bounds import lower_bounds
from spotbag.core.errors import InputError
from spotbag.heuristics.bags.rescue import certify
from spotbag.instances import clouds
from spotbag.instances.bags.timeline import QUIET
from spotbag.instances.clouds import CLOUDS, Billing
from spotbag.instances.instance import Instance
from spotbag.replay.bags.runs import replay_day
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.state import State
from spotbag.solvers.bags.pareto import pareto_front
from spotbag.solvers.bags.replan import replan
from spotbag.solvers.bags.solve import solve

OTHERWISE = Billing(minimum_s=1)


def bag(runtime_s: int, cloud: str | None) -> Instance:
    """One task; a spot VM costs $ 0.01 a second, one on demand $ 0.02."""
    offers = {"spot": {"price_usd_per_hour": 36, "limit": 3}, "on-demand": {"price_usd_per_hour": 72, "limit": 3}}
    document: dict[str, Any] = {
        "format": "spotbag.instance/1",
        "name": "one",
        "deadline_s": 1000,
        "d_spot_s": 500,
        "vm_types": [{"name": "a", "vcpus": 1, "memory_mb": 1000, "offers": offers}],
        "tasks": [{"id": "t", "memory_mb": 1, "runtime_s": {"a": runtime_s}}],
    }
    return Instance.from_document(document | ({} if cloud is None else {"cloud": cloud}), "one")


def plan_of(problem: Instance) -> Schedule:
    plan = solve(problem, "greedy").schedule
    assert plan is not None
    return plan


@pytest.mark.parametrize(
    "asked",
    [
        solve,
        pareto_front,
        lower_bounds,
        lambda problem: replan(problem, State(instance="one", time_s=0.0)),
        lambda problem: certify(replace(plan_of(bag(20, None)), instance=problem), "one-type"),
    ],
    ids=["solve", "front", "bounds", "replan", "certificate"],
)
@pytest.mark.parametrize(
    ("bills", "said"),
    [
        ({"block_s": 3600}, "in blocks of 3,600 s"),
        ({"fixed_usd": 0.5}, r"\$ 0\.5 for each start of a VM"),
    ],
    ids=["blocks", "fixed"],
)
def test_what_plans_do_not_know_of_the_bill_is_refused_by_name(
    asked: Callable[[Instance], object], bills: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bill = Billing.bill
    of_cloud = lambda self, offer: bill(self, offer)._replace(**bills if self is OTHERWISE else {})  # noqa: E731
    monkeypatch.setattr(Billing, "bill", of_cloud)
    monkeypatch.setattr(clouds, "CLOUDS", {**CLOUDS, "gcp": replace(CLOUDS["gcp"], billing=OTHERWISE)})
    with pytest.raises(InputError, match=f"one: is of the cloud gcp, which bills {said}.*leave cloud out.*--cloud gcp"):
        asked(bag(20, "gcp"))


def test_a_least_that_is_billed_is_said_where_a_vm_of_the_plan_ends_earlier() -> None:
    """20 s cost $ 0.20; gcp bills 60 s, $ 0.40 more."""
    for cloud, billed_usd in ((None, 0.20), ("gcp", 0.60), ("aws-terminate", 0.60)):
        problem = bag(20, cloud)
        found = solve(problem, "class-programme")
        plan = found.schedule
        assert plan is not None
        assert plan.cost_usd == pytest.approx(0.20)
        assert replay_day(plan, "static", QUIET, cloud=cloud).cost_usd == pytest.approx(billed_usd)
        assert found.status == ("optimal" if cloud is None else "feasible")  # with a bound of $ 0.20
        again = replan(problem, State(instance="one", time_s=0.0))
        front = pareto_front(problem)
        more = "bills each VM for 60 s at least, and the plan ends 1 VM earlier: the bill is $ 0.40 above its cost"
        for warnings in (found.warnings, again.warnings, front.warnings):
            assert sum(more in text for text in warnings) == (cloud is not None)


def test_plans_whose_vms_run_for_the_least_that_is_billed_cost_what_they_say() -> None:
    for runtime_s in (60, 61):
        found = solve(bag(runtime_s, "gcp"), "greedy")
        assert found.schedule is not None
        assert found.warnings == ()
        assert replay_day(found.schedule, "static", QUIET, cloud="gcp").cost_usd == found.schedule.cost_usd
