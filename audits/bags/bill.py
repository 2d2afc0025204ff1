"""The auditor's bill of a VM of a bag: sessions with their minimum and blocks, prices that change, what is kept."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ...core.quantities import SECONDS_PER_HOUR
from ..facts import exact
from ..vm_books import VmBook
from .day import Day


def cost_usd(vm: VmBook, billing: Mapping[str, Any], day: Day) -> Fraction:
    """Cost of a VM that is terminated.

    Parameters
    ----------
    vm : VmBook
        Its sessions and how long it was hibernated and stopped.
    billing : mapping
        That of the run record.
    day : Day
        Knows the prices.
    """
    minimum_s, block_s = billing.get("minimum_s", 0), billing.get("block_s") or 1
    boot_s = billing.get("boot_s", 0)
    total = Fraction(0)
    for number, session in enumerate(vm.sessions):
        assert session.end_s is not None
        length_s = session.end_s - session.start_s
        free = billing.get("first_hour_free", False) and vm.market == "spot" and not number
        if free and session.cut and length_s < SECONDS_PER_HOUR:
            continue
        billed_s = -(-max(boot_s + length_s, minimum_s) // block_s) * block_s
        total += day.cost_usd(vm.type.name, vm.market, session.start_s, session.end_s)
        total += boot_s * day.cost_usd(vm.type.name, vm.market, session.start_s, session.start_s + 1)
        total += (billed_s - boot_s - length_s) * session.last_usd_per_s + exact(billing.get("fixed_usd", 0))
    kept = vm.hibernated_s * exact(billing.get("hibernated_usd_per_gb_hour", 0))
    kept += vm.stopped_s * exact(billing.get("stopped_usd_per_gb_hour", 0))
    return total + kept * vm.type.memory_gb / SECONDS_PER_HOUR
