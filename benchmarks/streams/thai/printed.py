"""The numbers that Thai et al. print, and what follows from them by their own equations."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from spotbag.core.records import INTEGRAL, Record
from spotbag.replay.streams.outcome import violation_cost_usd

from ...data_files import read_figures
from ...paper_result import Relation

Quantity: TypeAlias = Literal["cost_usd", "late_tasks", "violation_cost_usd"]
QUANTITIES: tuple[Quantity, ...] = ("cost_usd", "late_tasks", "violation_cost_usd")
RatioUnit: TypeAlias = Literal["percent_more", "times"]

_Count: TypeAlias = Annotated[int, Field(ge=1), INTEGRAL]
_Usd: TypeAlias = Annotated[float, Field(gt=0)]


class PublishedApproach(Record):
    """A row of Table 3: means of five runs; for a fixed setting, its VMs (section 6.2.2)."""

    policy: str
    cost_usd: _Usd
    late_tasks: Annotated[float, Field(ge=0)]
    vm_type: str | None = None
    vms: _Count | None = None


class PublishedRatio(Record):
    """Ratio of two approaches, as stated in the text.

    Attributes
    ----------
    policy, against : str
        The approaches.
    quantity : {"cost_usd", "late_tasks", "violation_cost_usd"}
        What is compared.
    unit : {"percent_more", "times"}
        Whether the number says by how many percent the one is above the other, or how many times the other it is.
    printed : float
        The number.
    relation : {"=", ">", "<"}
        How the ratio is to the number.
    """

    policy: str
    against: str
    quantity: Quantity
    unit: RatioUnit
    printed: float
    relation: Relation = "="


class ThaiFigures(Record):
    """Printed figures of Thai et al.

    Attributes
    ----------
    source : str
        The paper.
    runs : int
        Of which Table 3 shows means.
    n_tasks : int
        Of all jobs of Table 2.
    block_usd : dict of str to float
        VM type to its price for a block (Table 1, see `implied_blocks`).
    approaches, ratios
        See the records.
    """

    format: Literal["spotbag.published-figures/1"]
    source: str
    runs: _Count
    n_tasks: _Count
    block_usd: dict[str, _Usd]
    approaches: Annotated[tuple[PublishedApproach, ...], Field(strict=False)]
    ratios: Annotated[tuple[PublishedRatio, ...], Field(strict=False)]

    @property
    def policies(self) -> tuple[str, ...]:
        """Approaches in the order of Table 3."""
        return tuple(approach.policy for approach in self.approaches)

    @property
    def fixed(self) -> tuple[str, ...]:
        """The fixed settings."""
        return tuple(approach.policy for approach in self.approaches if approach.vms is not None)

    def approach(self, policy: str) -> PublishedApproach:
        """Return a row of Table 3."""
        return next(approach for approach in self.approaches if approach.policy == policy)

    def stated(self, policy: str, quantity: Quantity) -> float:
        """Return a ratio of the text."""
        return next(ratio.printed for ratio in self.ratios if (ratio.policy, ratio.quantity) == (policy, quantity))

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
        return None if printed.vm_type is None else printed.cost_usd / self.block_usd[printed.vm_type]

    def ratio(self, policy: str, against: str, quantity: Quantity, unit: RatioUnit) -> float:
        """Recompute a ratio from Table 3."""
        times = self._number(policy, quantity) / self._number(against, quantity)
        return times if unit == "times" else 100 * (times - 1)

    def _number(self, policy: str, quantity: Quantity) -> float:
        if quantity == "violation_cost_usd":
            return self.violation_cost_usd(policy)
        printed = self.approach(policy)
        return printed.cost_usd if quantity == "cost_usd" else printed.late_tasks


def thai_figures() -> ThaiFigures:
    """Read the printed figures of Thai et al."""
    return read_figures(ThaiFigures, __package__, "thai.json")
