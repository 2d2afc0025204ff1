"""Two quantities that tasks share, in one whole number: whoever knows one of them knows both.

Where both the memory and the cores of VMs may bind, a number has the slots above `UPPER` bits and the memory below:
needs add up and are taken off as they are, and whether something fits is one look at what is left (`fits`). Where one
quantity binds, a number is that quantity. Functions are plain, and compiled loops call them as they stand
(`core.compiled`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from .quantities import FloatArray, IntArray

Number = TypeVar("Number", int, "IntArray")

UPPER = 44
"""Bits of the lower quantity with its sign: a VM has less than 2**40 KB (1e9 MB), so that no sum or difference that is
looked at leaves them; the slots, at most 4,096, have the bits above."""
_LOWER = (1 << UPPER) - 1
_SIGNS = -(1 << 63) | 1 << UPPER - 1
"""Signs of both: where the lower quantity is short, it borrows from the upper one."""
UNLIMITED = 1 << 61 | 1 << UPPER - 2
"""More than enough of both."""


def fits(left: Any) -> Any:
    """Return the answer whether needs fit, from what is left of a size without them."""
    return left & _SIGNS == 0


def packed(upper: Number, lower: Number) -> Number:
    """Return the number of two quantities."""
    return upper << UPPER | lower


def upper_of(number: Number) -> Number:
    """Return the slots that stand above the memory; 0 where the number is of one quantity."""
    return number >> UPPER


def lower_of(number: Number) -> Number:
    """Return the memory that stands below the slots; all of the number where it is of one quantity."""
    return number & _LOWER


def slots_in(need: int) -> int:
    """Return the slots that a task needs, 1 where its need is of one quantity."""
    return max(need >> UPPER, 1)


def slots_of(need: IntArray) -> IntArray:
    """Return the slots that tasks need, 1 where their needs are of one quantity."""
    return np.maximum(upper_of(need), 1)


def largest_share(need: IntArray, size: Any) -> FloatArray:
    """Return the share of a size that a need is, of the quantity of which it is the larger one."""
    # Of one quantity, a size has no slots above, and needs none: 0 of 1 is no share.
    shares: FloatArray = np.maximum(lower_of(need) / lower_of(size), upper_of(need) / np.maximum(upper_of(size), 1))
    return shares


def larger(one: int, other: int) -> int:
    """Return the larger of each quantity of two numbers."""
    return packed(max(upper_of(one), upper_of(other)), max(lower_of(one), lower_of(other)))


def smaller(one: int, other: int) -> int:
    """Return the smaller of each quantity of two numbers."""
    return packed(min(upper_of(one), upper_of(other)), min(lower_of(one), lower_of(other)))
