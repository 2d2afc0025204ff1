"""Means, ratios and differences over days, and their intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spotbag.core.statistics import Estimate, estimate
from spotbag_papers.statistics import average, mean_of, quotient, ratio_of, reduction_percent, sd_of


def test_a_single_day_has_a_mean_and_no_interval() -> None:
    assert mean_of([3.0]).estimate == Estimate(1, 3.0, None)


def test_a_mean_has_the_interval_of_its_days() -> None:
    values = [1.0, 4.0, 2.0, 2.0]
    assert mean_of(values).estimate == estimate(values)


def test_a_ratio_is_of_sums_and_its_interval_that_of_the_linearisation() -> None:
    ratio = ratio_of([1, 0, 2], [2, 1, 3], 100.0)
    assert ratio is not None
    assert ratio.value == pytest.approx(50.0)
    # influence 100 (part - 0.5 whole) / 2: 0, -25, 25
    assert ratio.influence == pytest.approx([0, -25, 25])
    assert ratio.estimate.half_width == pytest.approx(4.302653 * 25 / math.sqrt(3), rel=1e-6)
    assert ratio_of([0, 0], [0, 0]) is None


def test_a_reduction_is_of_the_other_and_a_constant_one_is_certain() -> None:
    cheaper = reduction_percent([8.0, 4.0], [10.0, 5.0])
    assert cheaper.value == pytest.approx(20.0)
    assert cheaper.estimate.half_width == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(ValueError, match="must not be 0"):
        reduction_percent([1.0], [0.0])


def test_cells_that_share_days_stay_paired() -> None:
    up, down = mean_of([0.0, 2.0]), mean_of([2.0, 0.0])
    assert average([up, down]).estimate == Estimate(2, 1.0, 0.0)
    assert (up - up).estimate == Estimate(2, 0.0, 0.0)


def test_a_standard_deviation_and_what_each_ordering_does_to_it() -> None:
    values = [1.0, 2.0, 4.0, 9.0]
    found = sd_of(values)
    assert found is not None
    assert found.value == pytest.approx(np.std(values, ddof=1))
    weights = np.full(4, 0.25)
    for number, influence in enumerate(found.influence):
        nudged = (1 - 1e-6) * weights
        nudged[number] += 1e-6
        mean = nudged @ np.array(values)
        sd = math.sqrt(nudged @ (np.array(values) - mean) ** 2 * 4 / 3)
        assert (sd - found.value) / 1e-6 == pytest.approx(influence * 4 / 3, rel=1e-3, abs=1e-3)
    same = sd_of([2.0, 2.0])
    assert same is not None
    assert (same.value, same.estimate.half_width) == (0.0, 0.0)
    assert sd_of([2.0]) is None


def test_a_quotient_of_means_is_paired() -> None:
    one, other = mean_of([2.0, 4.0]), mean_of([1.0, 2.0])
    found = quotient(one, other, 100.0)
    assert found is not None
    assert found.value == 200.0
    assert found.influence == (0.0, 0.0)  # always twice the other
    assert quotient(one, mean_of([1.0, -1.0])) is None
    unpaired = quotient(one, mean_of([2.0, 1.0]))
    assert unpaired is not None
    assert unpaired.influence == pytest.approx((-4 / 3, 4 / 3))  # (-1 - 2 * 0.5) / 1.5
