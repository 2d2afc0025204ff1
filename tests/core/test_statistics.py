"""Means over days, and their intervals."""

from __future__ import annotations

import math

import pytest

from spotbag.core.statistics import Estimate, estimate


def test_an_interval_by_hand() -> None:
    # Four days of mean 4 and variance 8 / 3; Student's t with 3 degrees of freedom is 3.182446 at 97.5 %.
    found = estimate([2.0, 4.0, 6.0, 4.0])
    spread = math.sqrt((4 + 0 + 4 + 0) / 3)
    assert (found.n, found.mean) == (4, 4.0)
    assert found.half_width == pytest.approx(3.182446 * spread / 2, rel=1e-6)
    assert found.low is not None
    assert found.high is not None
    assert (found.low + found.high) / 2 == pytest.approx(4.0)
    assert found.to_dict() == {"n": 4, "mean": 4.0, "low": found.low, "high": found.high}


def test_no_day_has_no_mean_and_a_single_one_no_interval() -> None:
    assert estimate([]) == Estimate(0, None, None)
    assert estimate([3.0]) == Estimate(1, 3.0, None)
    assert estimate([3.0]).to_dict() == {"n": 1, "mean": 3.0, "low": None, "high": None}
