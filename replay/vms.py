"""VMs of all engines: their states, their bill, and the value that stands for none."""

from __future__ import annotations

from typing import Final, NamedTuple

NONE: Final = -1
"""In place of a time, an index or a number that there is not."""

LAUNCHING, RUNNING, HIBERNATED, STOPPED, TERMINATED = range(5)


class VmBill(NamedTuple):
    """A VM and what it cost.

    Attributes
    ----------
    name, type, market : str
        Which VM.
    ready_s, end_s : float
        From when to when it was rented.
    hibernated_s, stopped_s : int
        Seconds of that in hibernation, and stopped or booting again.
    cost_usd : float
        Its bill.
    """

    name: str
    type: str
    market: str
    ready_s: float
    end_s: float
    hibernated_s: int
    cost_usd: float
    stopped_s: int = 0
