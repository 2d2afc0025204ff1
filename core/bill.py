"""Arithmetic of all bills for the time of VMs, stated once.

The audits have a copy of their own. Functions are plain, so that compiled loops can be made of them as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .quantities import ExactSeconds


def blocks_of(seconds: ExactSeconds, block_s: int, least_s: int = 0) -> int:
    """Return the number of blocks that have begun in some time, or in the least time that is billed."""
    return -(-max(seconds, least_s) // block_s)


def unpaid_usd(usd_per_s: float, until_s: float, paid_until_s: float) -> float:
    """Return the cost of a VM until a moment, from the moment until which it is paid."""
    return usd_per_s * max(until_s - paid_until_s, 0)
