"""What the time of a VM costs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from spotbag.core.bill import (
    Bill,
    billed_s,
    blocks_of,
    cost_usd,
    elapsed_usd,
    is_free,
    paid_until_s,
    session_usd,
    unpaid_usd,
)
from spotbag.core.compiled import compiled


@pytest.mark.parametrize(
    ("seconds", "block_s", "least_s", "blocks"),
    [
        (0, 3600, 0, 0),
        (-5, 3600, 0, 0),  # what is paid beyond the moment that is asked about
        (1, 3600, 0, 1),
        (3600, 3600, 0, 1),
        (3601, 3600, 0, 2),
        (0, 3600, 3600, 1),
        (45, 1, 60, 60),
        (61, 1, 60, 61),
        (61, 60, 90, 2),
        (Fraction(7201, 2), 3600, 3600, 2),  # 3,600.5 s
    ],
)
def test_blocks_are_billed_that_have_begun_and_at_least_the_least(
    seconds: int | Fraction, block_s: int, least_s: int, blocks: int
) -> None:
    assert blocks_of(seconds, block_s, least_s) == blocks
    assert billed_s(Bill(block_s=block_s, least_s=least_s), seconds) == blocks * block_s


MINUTES = Bill(0.25, block_s=60, least_s=90, fixed_usd=3.0, free_until_s=100)
"""Whole minutes at $ 0.25 a second, and $ 3 for each start; 90 s at least, which are two minutes."""
HOURS = Bill(7.0, unit_s=3600, block_s=3600, least_s=3600)
"""Whole hours at $ 7 an hour, and one at least."""


def test_a_session_costs_its_fixed_part_and_what_is_billed_of_its_time() -> None:
    assert session_usd(MINUTES, 1) == 3 + 120 * 0.25
    assert session_usd(MINUTES, 121) == 3 + 180 * 0.25
    assert cost_usd(MINUTES, 120 + 180, sessions=2) == 6 + 300 * 0.25
    assert [session_usd(HOURS, seconds) for seconds in (0, 3600, 3601)] == [7.0, 7.0, 14.0]
    assert session_usd(Bill(0.5), 20) == 10.0


def test_a_session_is_paid_until_its_last_block_ends() -> None:
    assert paid_until_s(MINUTES, 1000, 1001) == 1120
    assert paid_until_s(HOURS, 1000, 4601) == 8200
    assert paid_until_s(HOURS, Fraction(1, 2), 3600) == Fraction(7201, 2)


def test_a_session_is_free_that_is_interrupted_early() -> None:
    assert [is_free(MINUTES, seconds) for seconds in (99, 100)] == [True, False]
    assert not is_free(HOURS, 0)


def test_what_is_paid_already_is_not_paid_again() -> None:
    assert unpaid_usd(0.5, 30, 10) == 10.0  # 20 s
    assert elapsed_usd(Bill(0.5), 2.5) == 1.25
    assert elapsed_usd(Bill(0.5, least_s=60, fixed_usd=1.0, lead_s=10), 2.5) == 31.0  # the minimum
    assert elapsed_usd(Bill(0.5, least_s=60, lead_s=10), 60.5) == 35.25
    assert elapsed_usd(Bill(0.5, block_s=100, lead_s=10), 90.0000001) == 50.0  # of one block
    assert elapsed_usd(Bill(0.5, block_s=100, lead_s=10), 90.5) == 100.0
    assert unpaid_usd(0.5, 10, 30) == 0.0
    assert unpaid_usd(np.array([0.5, 2.0]), np.array([30, 10]), np.array([10, 30])).tolist() == [10.0, 0.0]


@compiled
def _of_session(usd: float, block_s: int, least_s: int, fixed_usd: float, begin_s: int, end_s: int) -> Any:
    bill = Bill(usd, 1, block_s, least_s, fixed_usd, 60, 7)
    return (
        billed_s(bill, end_s - begin_s),
        session_usd(bill, end_s - begin_s),
        paid_until_s(bill, begin_s, end_s),
        is_free(bill, end_s - begin_s),
        unpaid_usd(usd, end_s, begin_s + 50),
    )


@pytest.mark.slow  # it compiles
def test_compiled_loops_ask_the_same_bill() -> None:
    """To the last digit, and whole numbers stay whole."""
    random = np.random.default_rng(5)
    for block_s, least_s, begin_s, seconds in random.integers((1, 0, 0, 0), (200, 200, 100, 500), (200, 4)).tolist():
        given = (float(random.random()), block_s, least_s, float(random.random()), begin_s, begin_s + seconds)
        python, loop = _of_session.py_func(*given), _of_session(*given)  # type: ignore[attr-defined]
        assert loop == python
        assert list(map(type, loop)) == list(map(type, python))
