"""The baselines: longest task first on as few VMs as do, and first fit decreasing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.audits.bags.plan import check
from spotbag.core.limits import within
from spotbag.heuristics.bags.baselines import fewest_vms, first_fit
from spotbag.instances.instance import Instance
from spotbag.schedules.method import Run
from spotbag.solvers.bags.solve import solve
from tests.helpers.random_instances import random_instances


def _bag(runtimes_s: list[int], goal: str = "cheapest", **offers: tuple[float, int]) -> Instance:
    """Tasks on VMs of one core, which have to end within 10 s; offers are prices and limits."""
    vm_types: list[dict[str, Any]] = [
        {
            "name": name,
            "vcpus": 1,
            "memory_mb": 1024,
            "speed": 1.0,
            "offers": {"on-demand": {"price_usd_per_hour": price, "limit": limit}},
        }
        for name, (price, limit) in offers.items()
    ]
    tasks = [{"id": f"t{k}", "memory_mb": 1, "base_runtime_s": seconds} for k, seconds in enumerate(runtimes_s)]
    asked = {"deadline_s": 10, "objective": {"goal": goal}, "survive": "none"}
    document = {"format": "spotbag.instance/1", "name": "bag", "vm_types": vm_types, "tasks": tasks, **asked}
    return Instance.from_document(document, "bag")


def test_first_fit_fills_what_longest_first_spreads() -> None:
    """6 + 4 and 5 + 3 + 2 fill two cores; longest first on two has 6 + 3 and 5 + 4, and no place for 2."""
    bag = _bag([2, 3, 4, 5, 6], cheap=(3600.0, 9))
    plans = [first_fit(bag, Run()).schedule, fewest_vms(bag, Run()).schedule]
    assert [sorted(plan.vm_end_s.tolist()) for plan in plans if plan is not None] == [[10, 10], [6, 7, 7]]


@pytest.mark.parametrize("method", ["first-fit", "fewest-vms"])
def test_the_cheapest_offers_come_first(method: str) -> None:
    bag = _bag([9, 9, 9], dear=(7200.0, 9), cheap=(3600.0, 2))
    plan = solve(bag, method).schedule
    assert plan is not None
    assert plan.cost_usd == pytest.approx(9 + 9 + 2 * 9)


@pytest.mark.parametrize("method", ["first-fit", "fewest-vms"])
def test_where_the_end_counts_earlier_moments_are_tried(method: str) -> None:
    """Four tasks of 2 s by the deadline are one VM for 8 s; the least end is 2 s on four."""
    bag = _bag([2, 2, 2, 2], "fastest", cheap=(3600.0, 9))
    plan = solve(bag, method).schedule
    assert plan is not None
    assert (plan.makespan_s, len(plan.vm_ids)) == (2, 4)
    late = solve(_bag([8, 8, 8], "fastest", cheap=(3600.0, 2)), method)
    assert late.schedule is None
    assert "in this way" in late.message or late.status == "infeasible"


@pytest.mark.slow
@given(random_instances(12), st.sampled_from([first_fit, fewest_vms]))
@settings(max_examples=60, deadline=None)
def test_plans_break_no_rule(instance: Instance, method: Any) -> None:
    instance = instance if instance.d_spot_s is not None else instance.replace(d_spot_s=instance.deadline_s)
    plan = method(instance, Run()).schedule
    if plan is not None:
        assert check(instance, plan).violations == ()


@pytest.mark.parametrize("method", [first_fit, fewest_vms])
def test_time_ends_them(method: Any) -> None:
    bag = _bag([1] * 5000, cheap=(3600.0, 5000))
    with within(0.0):
        outcome = method(bag, Run())
    assert outcome.schedule is None
    assert "stopped" in outcome.explanation
