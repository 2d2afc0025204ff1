"""Means over days, and their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from spotbag.core.limits import LimitReached
from spotbag.core.statistics import FIRST_SAMPLES, Estimate, estimate, race


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


_BASE = np.random.default_rng(5).normal(10, 4, size=1000)


def noisy(means: Sequence[float]):  # type: ignore[no-untyped-def]
    """Candidates that share most of what is random, and have some of their own."""
    own = np.random.default_rng(6).normal(0, 1, size=(len(means), 1000))

    def sample(candidates: Sequence[int], numbers: range) -> list[list[float]]:
        return [[means[one] + _BASE[k] + own[one, k] for k in numbers] for one in candidates]

    return sample


def test_bad_candidates_end_early_and_the_best_does_not() -> None:
    values = race(noisy([1.0, 0.0, 0.05, 9.0]), 4, 500)
    assert [len(row) for row in values][1] == 500
    assert len(values[3]) == FIRST_SAMPLES
    assert len(values[0]) < 500


def test_a_candidate_that_is_best_but_for_rare_days_of_the_other_is_not_left_out() -> None:
    """The first pays 1 more on all days but each hundredth, on which the second pays 200 more."""

    def sample(candidates: Sequence[int], numbers: range) -> list[list[float]]:
        rows = {0: [11.0 for _ in numbers], 1: [210.0 if k % 100 == 20 else 10.0 for k in numbers]}
        return [rows[one] for one in candidates]

    values = race(sample, 2, 800)
    assert len(values[0]) == 800
    assert values[0].mean() < values[1].mean()


def test_the_same_values_are_never_a_reason_to_leave_one_out() -> None:
    values = race(lambda candidates, numbers: [[3.0] * len(numbers) for _ in candidates], 3, 100)
    assert [len(row) for row in values] == [100] * 3


def test_a_race_ends_when_one_is_left() -> None:
    values = race(noisy([0.0, 50.0]), 2, 1000)
    assert [len(row) for row in values] == [FIRST_SAMPLES] * 2


def test_a_limit_leaves_what_was_sampled_before() -> None:
    steady = noisy([0.0, 0.1])

    def sample(candidates: Sequence[int], numbers: range) -> list[list[float]]:
        if numbers.stop > 20:
            raise LimitReached
        return steady(candidates, numbers)

    assert [len(row) for row in race(sample, 2, 100)] == [16, 16]


@pytest.mark.slow
def test_the_best_is_left_out_no_more_often_than_promised() -> None:
    lost = 0
    for seed in range(400):
        draws = np.random.default_rng(seed).exponential(size=(6, 256)) * 3
        draws += np.array([0.0, 0.2, 0.4, 0.8, 1.6, 3.2])[:, None]
        values = race(
            lambda who, numbers, draws=draws: [list(draws[one, numbers.start : numbers.stop]) for one in who], 6, 256
        )
        lost += len(values[0]) < max(map(len, values))
    assert lost <= 0.05 * 400
