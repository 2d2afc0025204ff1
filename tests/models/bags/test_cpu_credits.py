"""CPU credits in integers: what rounding adds is less than the checker lets pass."""

from __future__ import annotations

from fractions import Fraction

import pytest

from spotbag.models.bags.cpu_credits import CreditRules, credit_rules, solver_credit_rules
from tests.helpers.tiny_core_instances import hand_instance


def given_in_favour(rules: CreditRules, exact: CreditRules, vcpus: int, horizon_s: int) -> Fraction:
    """Credits that rules have at most more than the exact ones, all cores at the baseline."""
    initial, earned, baseline = (
        (Fraction(getattr(rules, name), rules.scale) - Fraction(getattr(exact, name), exact.scale)) / 3600
        for name in ("initial", "earned", "baseline")
    )
    assert initial >= 0
    assert earned >= 0
    assert baseline <= 0
    return initial + horizon_s * (earned - vcpus * baseline)


@pytest.mark.parametrize(("vcpus", "horizon_s"), [(2, 2_700), (2, 100_000), (96, 40_000), (1, 1)])
@pytest.mark.parametrize("decimals", [23.9, 23.123456789012, 1 / 3])
def test_what_is_rounded_for_a_solver_is_less_than_the_checker_lets_pass(
    vcpus: int, horizon_s: int, decimals: float
) -> None:
    burstable = {"baseline_fraction": decimals / 100, "credits_per_hour": decimals, "initial_credits": decimals}
    offers = {"on-demand": {"price_usd_per_hour": 3.6, "limit": 1}}
    types = [{"name": "b", "vcpus": vcpus, "memory_mb": 1000, "offers": offers, "burstable": burstable}]
    tasks = [{"id": "t", "memory_mb": 1, "runtime_s": {"b": 1}}]
    [offer] = hand_instance([], vm_types=types, tasks=tasks).offers
    exact, rules = credit_rules(offer, horizon_s), solver_credit_rules(offer, horizon_s)
    assert given_in_favour(rules, exact, vcpus, horizon_s) < Fraction(1, 10**6)
    assert rules.most < 2**62
    assert exact.earned == Fraction(repr(decimals)) * exact.scale
