"""What all engines know of a VM: its states, and how it is billed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from ..core.errors import InputError, Issue
from ..core.quantities import SECONDS_PER_HOUR

MB_PER_GB = 1024


@dataclass(frozen=True, slots=True)
class Billing:
    """How the provider bills, beyond the price of a running VM by the second.

    Attributes
    ----------
    first_hour_free : bool
        What a spot VM runs before its first hibernation is free, if that comes within its first hour: the terms of a
        well-known provider. Off by default: all runs of the papers are shorter than an hour.
    hibernated_usd_per_gb_hour : float
        For keeping the memory image of a hibernated VM. Both papers pay nothing for it (HADS, section 1).
    """

    first_hour_free: bool = False
    hibernated_usd_per_gb_hour: float = 0.0

    def __post_init__(self) -> None:
        rate = self.hibernated_usd_per_gb_hour
        if not 0 <= rate < math.inf:
            raise InputError("billing", [Issue("", "must be 0 or more", "hibernated_usd_per_gb_hour", rate)])

    def cost_usd(
        self,
        price_usd_per_s: float,
        running_s: int,
        hibernated_s: int,
        first_hibernation_s: int | None,
        memory_mb: float,
    ) -> float:
        """Return the bill of a VM.

        Parameters
        ----------
        price_usd_per_s : float
            Price of the VM for a second.
        running_s, hibernated_s : int
            Seconds from ready to termination, without and in hibernation.
        first_hibernation_s : int or None
            How long it had been running when it hibernated for the first time.
        memory_mb : float
            Memory of the VM.
        """
        billed_s = running_s
        if self.first_hour_free and first_hibernation_s is not None and first_hibernation_s < SECONDS_PER_HOUR:
            billed_s -= first_hibernation_s
        cost = price_usd_per_s * billed_s
        if self.hibernated_usd_per_gb_hour:
            gb_hours = memory_mb / MB_PER_GB * hibernated_s / SECONDS_PER_HOUR
            cost += self.hibernated_usd_per_gb_hour * gb_hours
        return cost


PAPERS_BILLING = Billing()
"""As both papers bill: by the second, nothing while hibernated."""


LAUNCHING: Final = 0
RUNNING: Final = 1
HIBERNATED: Final = 2
TERMINATED: Final = 3


@dataclass(frozen=True, slots=True)
class VmBill:
    """A VM and what it cost.

    Attributes
    ----------
    name, type, market : str
        Which VM.
    ready_s, end_s : int
        From when to when it was rented.
    hibernated_s : int
        Seconds of that in hibernation.
    cost_usd : float
        Its bill.
    """

    name: str
    type: str
    market: str
    ready_s: int
    end_s: int
    hibernated_s: int
    cost_usd: float
