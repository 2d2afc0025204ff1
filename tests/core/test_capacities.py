"""Two quantities in one number fit where each of them does, in plain Python, in arrays and in compiled loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotbag.core.capacities import (
    UNLIMITED,
    fits,
    larger,
    largest_share,
    lower_of,
    packed,
    slots_in,
    slots_of,
    smaller,
    upper_of,
)
from spotbag.core.compiled import compiled

SLOTS, KB = st.integers(0, 4096), st.integers(0, 10**12)
PAIRS = st.tuples(SLOTS, KB)


@compiled
def compiled_fits(left: int) -> bool:
    return bool(fits(left))


@given(PAIRS, PAIRS, PAIRS)
def test_needs_fit_where_each_quantity_does(
    size: tuple[int, int], one: tuple[int, int], other: tuple[int, int]
) -> None:
    expected = all(first + second <= most for first, second, most in zip(one, other, size, strict=True))
    left = packed(*size) - packed(*one) - packed(*other)
    assert fits(left) == expected
    assert fits(np.array([left])).tolist() == [expected]
    assert compiled_fits(left) == expected


@given(KB, KB)
def test_one_quantity_fits_as_numbers_do(size: int, need: int) -> None:
    assert fits(size - need) == (need <= size)
    assert (lower_of(need), upper_of(need), slots_in(need)) == (need, 0, 1)
    assert fits(UNLIMITED - need)


@given(PAIRS, PAIRS)
def test_quantities_are_taken_apart(one: tuple[int, int], other: tuple[int, int]) -> None:
    pair = packed(*one), packed(*other)
    assert (upper_of(pair[0]), lower_of(pair[0])) == one
    assert larger(*pair) == packed(*map(max, one, other))
    assert smaller(*pair) == packed(*map(min, one, other))
    assert smaller(UNLIMITED, pair[0]) == pair[0]
    assert larger(0, pair[0]) == pair[0]
    assert fits(UNLIMITED - pair[0])


def test_a_share_is_that_of_the_larger_quantity() -> None:
    need = np.array([packed(1, 300), packed(2, 100)])
    assert largest_share(need, packed(4, 400)).tolist() == [0.75, 0.5]
    assert slots_of(need).tolist() == [1, 2]
    assert largest_share(np.array([300]), 400).tolist() == pytest.approx([0.75])
