"""The bill for the time of a VM: its rule as data, and its arithmetic, stated once.

The audits have a copy of their own. Functions are plain, and compiled loops call them as they stand
(`core.compiled`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from .quantities import STATED

if TYPE_CHECKING:
    from .quantities import ExactSeconds, FloatArray, IntArray

_Usd = TypeVar("_Usd", float, "FloatArray")


class Bill(NamedTuple):
    """The rule by which a VM is billed: by sessions, each until the VM is interrupted or terminated.

    Attributes
    ----------
    usd : float
        Price of ``unit_s`` seconds.
    unit_s : int
        1 for a price by the second; for one by the block, its length.
    block_s : int
        Seconds of a block: sessions are billed in whole blocks.
    least_s : int
        What each session is billed at least.
    fixed_usd : float
        What each session costs whatever its length.
    free_until_s : int
        Seconds: the first session of a VM costs nothing if the cloud interrupts it in less.
    lead_s : int
        Seconds before each session that are billed with it.
    """

    usd: float = 0.0
    unit_s: int = 1
    block_s: int = 1
    least_s: int = 0
    fixed_usd: float = 0
    free_until_s: int = 0
    lead_s: int = 0


def blocks_of(seconds: ExactSeconds, block_s: int, least_s: int = 0) -> int:
    """Return the number of blocks that have begun in some time, or in the least time that is billed."""
    return -(-max(seconds, least_s) // block_s)


def billed_s(bill: Bill, seconds: ExactSeconds) -> int:
    """Return the seconds on the bill for a session."""
    return blocks_of(seconds + bill.lead_s, bill.block_s, bill.least_s) * bill.block_s


def cost_usd(bill: Bill, seconds: int, sessions: int = 1) -> float:
    """Return the cost of some sessions, from the seconds on the bill for all of them."""
    return bill.fixed_usd * sessions + bill.usd * (seconds // bill.unit_s)


def session_usd(bill: Bill, seconds: ExactSeconds) -> float:
    """Return the cost of a session that is not free."""
    return cost_usd(bill, billed_s(bill, seconds))


def elapsed_usd(bill: Bill, seconds: float) -> float:
    """Return the cost of a session that has gone on for some real time: by the part of a second, unless in blocks."""
    billed_s = max(seconds + bill.lead_s, bill.least_s)
    if bill.block_s > 1:
        # Clocks of others tell microseconds at best: a rounding must not begin another block.
        billed_s = math.ceil((billed_s - STATED) / bill.block_s) * bill.block_s
    return bill.fixed_usd + bill.usd * billed_s


def paid_until_s(bill: Bill, begin_s: ExactSeconds, now_s: ExactSeconds) -> ExactSeconds:
    """Return the moment until which a session is paid that has gone on until now: the end of its last block."""
    return begin_s - bill.lead_s + billed_s(bill, now_s - begin_s)


def is_free(bill: Bill, seconds: ExactSeconds) -> bool:
    """True if the first session of a VM is free when the cloud interrupts the VM after some seconds."""
    return seconds < bill.free_until_s


def unpaid_usd(usd_per_s: _Usd, until_s: Any, paid_until_s: Any) -> _Usd:
    """Return the cost of VMs until some moments, from those until which they are paid, by the second.

    Numbers or arrays.
    """
    # A product in place of an `if`: one line that is right for numbers, for arrays and in compiled loops.
    seconds = until_s - paid_until_s
    return usd_per_s * ((seconds > 0) * seconds)  # type: ignore[no-any-return]


class Rents(NamedTuple):
    """Bills of VMs that are used from when they are ready until some end, as arrays: what `session_usd` says of them.

    A VM costs an opening once it has a task, and its price for each block that begins after what the opening pays.

    Attributes
    ----------
    usd_per_s, opening_usd : array of float
        Price of a second, and the opening.
    paid_s : array of int
        Seconds from when a VM is ready that are paid by the opening.
    block_s : array of int
        Length of a block.
    """

    usd_per_s: FloatArray
    opening_usd: FloatArray
    paid_s: IntArray
    block_s: IntArray

    def cost_usd(self, k: int, until_s: Any, since_s: Any = 0) -> Any:
        """Return the additional cost of one of the VMs until some ends rather than others, from its readiness on.

        At $ 1 for a second, in blocks of 60 s after an opening of $ 5 that pays none, 50 s cost $ 65 more than 0 s, as
        the VM is not used then, and 90 s cost $ 60 more than 50 s.
        """
        before, after = (begun_s(self.block_s[k], end_s, self.paid_s[k]) for end_s in (since_s, until_s))
        return self.usd_per_s[k] * (after - before) + ((until_s > 0) & (since_s == 0)) * self.opening_usd[k]


def begun_s(block_s: Any, until_s: Any, paid_until_s: Any) -> Any:
    """Return the seconds of the blocks that have begun until some moments, after those until which VMs are paid.

    In blocks of 60 s, a VM that is paid until 30 s has begun none until then, 60 s until 31 s, and 120 s until 91 s.
    """
    # Whole numbers all the way: the quotient of two floats may be a little too large, and begin one block too many.
    blocks = -(-(until_s - paid_until_s) // block_s)
    return (blocks > 0) * blocks * block_s
