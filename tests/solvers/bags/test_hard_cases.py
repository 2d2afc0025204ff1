"""Bags that a method failed on, took minutes for, or lost a plan of: each with the right value."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from spotbag.audits.bags.plan import check
from spotbag.core.errors import SpotbagError
from spotbag.heuristics.bags.greedy import greedy
from spotbag.instances.instance import Instance
from spotbag.schedules.documents import ScheduleDocument
from spotbag.schedules.method import Outcome, Run
from spotbag.solvers.bags.methods import METHODS
from spotbag.solvers.bags.route import auto
from spotbag.solvers.bags.solve import solve
from tests.helpers.soaks import some


def vm_type(
    name: str, vcpus: int, memory_mb: float, offers: dict[str, tuple[float, int]], **more: Any
) -> dict[str, Any]:
    """A VM type; offers by market as a price for an hour and a limit."""
    priced = {market: {"price_usd_per_hour": price, "limit": limit} for market, (price, limit) in offers.items()}
    return {"name": name, "vcpus": vcpus, "memory_mb": memory_mb, "offers": priced} | more


def bag(
    vm_types: list[dict[str, Any]], tasks: list[tuple[float, dict[str, float]]], deadline_s: int, **more: Any
) -> Instance:
    """A bag of tasks as MB and run times by type."""
    rows = [{"id": f"t{k}", "memory_mb": mb, "runtime_s": runtime_s} for k, (mb, runtime_s) in enumerate(tasks)]
    return Instance(**({"name": "by hand", "deadline_s": deadline_s, "vm_types": vm_types, "tasks": rows} | more))


def with_credits(**more: Any) -> Instance:
    """Five tasks of 100 to 104 s, on VMs with credits for two minutes at full speed, or on plain ones."""
    credits = {"baseline_fraction": 0.2, "credits_per_hour": 24.0, "initial_credits": 2.0, "max_credits": 200.0}
    types = [
        vm_type("b", 2, 8192, {"on-demand": (0.03, 3)}, burstable=credits),
        vm_type("s", 2, 8192, {"spot": (0.03, 3), "on-demand": (0.1, 6)}),
    ]
    return bag(types, [(10, {"s": s, "b": s}) for s in range(100, 105)], 3600, survive="none", **more)


@pytest.mark.slow
def test_five_tasks_on_both_markets_are_proved() -> None:
    # Two of 103 and 104 s on one core of a spot VM, the others on the second one: 100 + 101 + 102 = 303 s at $ 0.03/h.
    result = solve(with_credits(), "class-programme")
    assert result.status == "optimal"
    assert result.schedule is not None
    assert result.schedule.cost_usd == pytest.approx(303 * 0.03 / 3600)


@pytest.mark.slow
def test_five_tasks_on_demand_alone_are_proved() -> None:
    # Three VMs: pairs of 100 + 103 and 101 + 102 s need 203 s of credits, 120 + 0.4 t: until t = 207.5 s; and 104 s.
    result = solve(with_credits(markets=["on-demand"]), time_limit_s=60)
    assert result.status == "optimal"
    assert result.schedule is not None
    assert result.schedule.cost_usd == pytest.approx((208 + 208 + 104) * 0.03 / 3600, abs=0.03 / 3600 * 2)


@pytest.mark.parametrize("markets", some([["on-demand"], ["spot"], ["spot", "on-demand"]], fast=2))
def test_interval_knows_no_moments_of_markets_that_are_not_asked(markets: list[str]) -> None:
    result = solve(with_credits(markets=markets), "interval", time_limit_s=0.3)
    assert result.schedule is not None


@pytest.mark.parametrize("deadline_s", [4_608_000, 4_608_001, 40_000_000])
@pytest.mark.parametrize("method", ["interval", "auto"])
def test_a_late_deadline_is_no_overflow(method: str, deadline_s: int) -> None:
    # One second at $ 0.1/h. The objective at all upper ends of the columns overflowed from 4,608,001 s on.
    problem = bag([vm_type("a", 1, 1000, {"on-demand": (0.1, 1)})], [(1, {"a": 1})], deadline_s, survive="none")
    result = solve(problem, method)
    assert result.status == "optimal"
    assert result.schedule is not None
    assert (result.schedule.cost_usd, result.schedule.makespan_s) == (pytest.approx(0.1 / 3600), 1)


def test_a_step_that_fails_leaves_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> Outcome:
        raise SpotbagError("out of order")

    for step in ("class-programme", "patterns", "columns", "interval"):
        monkeypatch.setitem(METHODS, step, replace(METHODS[step], load=lambda: (object, fails)))
    problem = with_credits(d_spot_s=3600)
    outcome = auto(problem, Run(initial=greedy(problem).schedule))
    assert outcome.schedule is not None
    assert check(problem, outcome.schedule).feasible
    assert any("out of order" in warning for warning in outcome.warnings)


@pytest.mark.parametrize(
    ("overhead", "dump_s", "runtime_s", "interval_s"), [(10, 1e-6, 1, 1e-7), (0.3, 0.05, 10, 1 / 6)]
)
def test_a_checkpoint_interval_is_stated_as_it_is(
    overhead: float, dump_s: float, runtime_s: int, interval_s: float
) -> None:
    rules = {"overhead_fraction": overhead, "dump_base_s": dump_s}
    problem = bag(
        [vm_type("a", 1, 1000, {"spot": (1.0, 1)})], [(1, {"a": runtime_s})], 100, checkpoint=rules, survive="none"
    )
    result = solve(problem)
    assert result.schedule is not None
    document = result.schedule.to_document()
    assert document.tasks[0].checkpoint_interval_s == pytest.approx(interval_s, rel=1e-12)
    assert check(problem, ScheduleDocument.model_validate_json(document.model_dump_json())).feasible
