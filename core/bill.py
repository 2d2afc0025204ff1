"""What the time of a VM costs: the arithmetic of all bills, stated once.

The audits have a copy of their own. Functions are plain, so that compiled loops can be made of them as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .quantities import ExactSeconds


def blocks_of(seconds: ExactSeconds, block_s: int, least_s: int = 0) -> int:
    """Return how many blocks are billed for some time: those that have begun, of the least that is billed or more."""
    return -(-max(seconds, least_s) // block_s)


def unpaid_usd(usd_per_s: float, until_s: float, paid_until_s: float) -> float:
    """Return what a VM costs until a moment, beside what is paid already."""
    return usd_per_s * max(until_s - paid_until_s, 0)
