"""What the time of a VM costs."""

from __future__ import annotations

from fractions import Fraction

import pytest

from spotbag.core.bill import blocks_of, unpaid_usd


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


def test_what_is_paid_already_is_not_paid_again() -> None:
    assert unpaid_usd(0.5, 30, 10) == 10.0  # 20 s
    assert unpaid_usd(0.5, 10, 30) == 0.0
