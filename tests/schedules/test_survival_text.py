"""Survival certificates in words."""

from __future__ import annotations

from typing import Any

import pytest

from spotbag.schedules.documents import Survival
from spotbag.schedules.plan_text import checked_lines, survival_text

WORST = {"worst_at_s": 1393, "worst_types": ("c5.xlarge",)}


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (
            {"verdict": "survives", "worst_cost_usd": 0.85, "blackout_cost_usd": 1.02, "cost_without_usd": 0.31}
            | WORST,
            "survives any one spot type down for good, worst case $ 0.8500 (c5.xlarge at 1,393 s); "
            "any at once $ 1.0200; not surviving would cost $ 0.3100",
        ),
        ({"level": "blackout", "verdict": "survives"}, "survives any spot types down for good at once"),
        (
            {"level": "blackout", "verdict": "survives", "worst_cost_usd": 1.02, "blackout_cost_usd": 1.02} | WORST,
            "survives any spot types down for good at once, worst case $ 1.0200 (c5.xlarge at 1,393 s)",
        ),
        ({"verdict": "survives", "worst_cost_usd": 0.5, "blackout_cost_usd": 0.5}, "survives: has no spot VM to lose"),
        (
            {
                "level": "blackout",
                "verdict": "survives",
                "worst_cost_usd": 2.2667,
                "cost_without_usd": 0.782,
                "spot_with": [
                    {"deadline_s": 5999, "cost_usd": 0.782},
                    {"checkpoint": {"overhead_fraction": 0.05, "dump_base_s": 10.0}, "cost_usd": 0.8},
                    {"level": "one-type", "cost_usd": 0.9},
                ],
            },
            "survives: has no spot VM to lose; spot VMs are left out so that it survives: $ 0.7820 if it need not "
            "(--survive none), $ 0.7820 with --deadline 5999s, $ 0.8000 with a checkpoint of 10 s after every 200 s of "
            "work, $ 0.9000 with --survive one-type",
        ),
        (
            {"level": "each", "verdict": "not-shown", "reason": "a VM has no twin"},
            "not shown to survive any spot VMs down for good, each at a moment of its own: a VM has no twin",
        ),
        (
            {"verdict": "does-not-survive", "reason": "30 tasks are left for 2 cores"} | WORST,
            "does not survive any one spot type down for good (c5.xlarge at 1,393 s): 30 tasks are left for 2 cores",
        ),
    ],
)
def test_a_certificate_in_words(parts: dict[str, Any], text: str) -> None:
    assert survival_text(Survival(**{"level": "one-type", **parts})) == text


def test_the_checker_shows_the_worst_case_of_the_plan_where_it_holds() -> None:
    any_type = "any one spot type down for good"
    loss = f"{any_type}, worst case"
    found = Survival(level="one-type", verdict="survives", worst_cost_usd=2.9545, worst_at_s=1268)
    claimed = found.model_copy(update={"worst_cost_usd": 2.9742, "blackout_cost_usd": 3.0, "cost_without_usd": 1.0})
    own = "; the checker's own rescues cost at most $ 2.9545"
    assert checked_lines(found) == [("survives", f"{any_type}{own} (at 1,268 s)")]
    assert checked_lines(found, claimed) == [("survives", f"{loss} $ 2.9742 (at 1,268 s) as the plan says{own}")]
    assert checked_lines(found, found) == [("survives", f"{loss} $ 2.9545 (at 1,268 s) as the plan says")]
