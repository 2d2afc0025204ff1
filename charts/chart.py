"""What all charts share: frames, colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..core.quantities import FloatArray, IntArray

if TYPE_CHECKING:
    pass

CATEGORIES = {
    "spot": "#4C8EDA",
    "on-demand": "#E8A33D",
    "burstable, full speed": "#3FA66B",
    "burstable, baseline": "#9C6FC4",
}
"""Kinds of bars and their colours."""

BOOT_COLOUR = "#F4E7C5"
IDLE_COLOUR = "#D5DAE1"
D_SPOT_COLOUR = "#7A4FBF"
DEADLINE_COLOUR = "#C8372D"


@dataclass(frozen=True, slots=True)
class Frame:
    """What all Gantt charts have: one row for each core, grouped by VM, the first at the top.

    Attributes
    ----------
    title, subtitle : str
        Texts above the chart.
    vm_labels : list of str
        Label of each VM drawn, top to bottom.
    vm_first_row, vm_rows : array of int, shape (n_drawn,)
        First row and number of rows of each VM.
    deadline_s, d_spot_s, makespan_s : int
        Moments to mark, and the end; D_spot is None if there are no spot VMs.
    """

    title: str
    subtitle: str
    vm_labels: list[str]
    vm_first_row: IntArray
    vm_rows: IntArray
    deadline_s: int
    d_spot_s: int | None
    makespan_s: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.vm_rows.sum())

    @property
    def vm_centre(self) -> FloatArray:
        """Vertical centre of each VM's rows."""
        return self.vm_first_row + (self.vm_rows - 1) / 2


JOB_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#B8A800", "#7A5195", "#8C6D4F")
"""Colours of jobs, in turns; told apart also by people who see colours differently (after Okabe and Ito)."""
