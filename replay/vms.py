"""What all engines know of a VM: its states, and what its bill holds."""

from __future__ import annotations

from typing import Final, NamedTuple

LAUNCHING: Final = 0
RUNNING: Final = 1
HIBERNATED: Final = 2
STOPPED: Final = 3
TERMINATED: Final = 4


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
