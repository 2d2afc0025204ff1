"""The numbers that Thai et al. print, and what follows from them by their own equations."""

from __future__ import annotations

from typing import Literal, TypeAlias

from spotbag.replay.streams.outcome import violation_cost_usd

from ...data_files import Figures, read_figures

Quantity: TypeAlias = Literal["cost_usd", "late_tasks", "violation_cost_usd"]
QUANTITIES: tuple[Quantity, ...] = ("cost_usd", "late_tasks", "violation_cost_usd")
RatioUnit: TypeAlias = Literal["percent_more", "times"]


class ThaiFigures(Figures):
    """Printed figures of Thai et al.

    ``runs`` are those of which Table 3 shows means, ``n_tasks`` those of all jobs of Table 2, and ``block_usd`` prices
    of VM types for a block (Table 1, see `implied_blocks`).

    ``approaches`` are the rows of Table 3, fixed settings with their VMs (section 6.2.2). ``ratios`` are those of two
    approaches that the text states: by how many percent the one is above the other, or how many times the other it is;
    ``relation`` is how the ratio is to the number.
    """

    @property
    def policies(self) -> tuple[str, ...]:
        """Approaches in the order of Table 3."""
        return tuple(approach.policy for approach in self.approaches)

    @property
    def fixed(self) -> tuple[str, ...]:
        """The fixed settings."""
        return tuple(approach.policy for approach in self.approaches if approach.vms is not None)

    def approach(self, policy: str) -> Figures:
        """Return a row of Table 3."""
        return self.row("approaches", policy=policy)

    def stated(self, policy: str, quantity: Quantity) -> float:
        """Return a ratio of the text."""
        return float(self.row("ratios", policy=policy, quantity=quantity).printed)

    def violation_cost_usd(self, policy: str) -> float:
        """Recompute the violation cost from Table 3 by eq. 7 and 8; Fig. 3 shows it in a picture only."""
        printed = self.approach(policy)
        found = violation_cost_usd(printed.cost_usd, printed.late_tasks, self.n_tasks)
        assert found is not None, "some tasks are in time"
        return found

    def implied_blocks(self, policy: str) -> float | None:
        """Blocks paid by the printed cost of a fixed setting; None for the others.

        The price that Table 1 gives for an hour is charged for a block: medium.10 and large.5 cost 4 blocks of all
        their VMs exactly.
        """
        printed = self.approach(policy)
        return None if printed.vm_type is None else float(printed.cost_usd / self.block_usd[printed.vm_type])

    def ratio(self, policy: str, against: str, quantity: Quantity, unit: RatioUnit) -> float:
        """Recompute a ratio from Table 3."""
        times = self._number(policy, quantity) / self._number(against, quantity)
        return times if unit == "times" else 100 * (times - 1)

    def _number(self, policy: str, quantity: Quantity) -> float:
        if quantity == "violation_cost_usd":
            return self.violation_cost_usd(policy)
        return float(getattr(self.approach(policy), quantity))


def thai_figures() -> ThaiFigures:
    """Read the printed figures of Thai et al."""
    return read_figures(ThaiFigures, __package__, "thai.json")
