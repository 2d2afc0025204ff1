"""Why no plan exists."""

from __future__ import annotations

from spotbag.bounds.bags.infeasibility import explain_infeasibility
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.library import library_instance


def test_without_spot_vms_and_d_spot_it_is_explained_why_no_plan_exists() -> None:
    instance = library_instance("hads/J60").replace(
        deadline_s=450, markets=["on-demand"], d_spot_s=None, d_spot_rule=None, limits={"max_on_demand": 6}
    )
    said = explain_infeasibility(instance)
    assert "rests on each of the markets (on-demand only), limits.max_on_demand (6); the least deadline" in said


def test_a_budget_below_the_least_cost_is_the_reason() -> None:
    bag = library_instance("tiny/two-cores").with_goal("fastest", 0.0001)
    reason = explain_infeasibility(with_d_spot(bag))
    assert "each plan costs at least $" in reason
    assert "the budget is $ 0.0001" in reason
