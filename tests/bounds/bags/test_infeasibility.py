"""Why no plan exists."""

from __future__ import annotations

from spotbag.bounds.bags.infeasibility import explain_infeasibility
from spotbag.instances.library import library_instance


def test_without_spot_vms_and_d_spot_it_is_explained_why_no_plan_exists() -> None:
    instance = library_instance("hads/J60").replace(
        deadline_s=450, markets=["on-demand"], d_spot_s=None, d_spot_rule=None, limits={"max_on_demand": 6}
    )
    said = explain_infeasibility(instance)
    assert "rests on each of the markets (on-demand only), limits.max_on_demand (6); the least deadline" in said
