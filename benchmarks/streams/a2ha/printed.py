"""The numbers that the A2HA paper prints, and what follows from them by its own formula."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ...data_files import Figures, read_figures
from ..unit_bounds import hosts_by_formula

LongQuantity: TypeAlias = Literal["hosts", "wall_h", "speedup", "payment_h"]
LONG_QUANTITIES: tuple[LongQuantity, ...] = ("hosts", "wall_h", "speedup", "payment_h")

USABLE_S = 3300
"""Usable seconds of a paid hour, as the paper's formula has it."""


class A2haFigures(Figures):
    """Printed figures of the A2HA paper, which shows means of so many ``orderings``.

    ``jobs`` are those of short tasks (section 4, Table 1). ``long`` are the rows of Table 2, means and standard
    deviations; those of the heuristic have the number of hosts at first (``initial_hosts``).
    """

    @property
    def prediction(self) -> Figures:
        """Figs 4 and 6, as far as the text says: of one ordering of the image job.

        Average and prediction are near their final values after ``tasks``; ``first_hosts`` are predicted at first and
        ``final_hosts`` in the end. With the ``creation_ratio`` of Fig. 6b, ``created_hosts`` are created at first; it
        is 1 after ``full_ratio_tasks``, and the number of hosts near the final one.
        """
        found: Figures = self.predictions[0]
        return found

    def job(self, name: str) -> Figures:
        """Return a job of short tasks."""
        return self.row("jobs", job=name)

    def case(self, name: str) -> Figures:
        """Return a row of Table 2."""
        return self.row("long", case=name)

    def formula_hosts(self, job: str) -> int:
        """Optimal number of hosts by the paper's formula from its own numbers."""
        printed = self.job(job)
        return hosts_by_formula(printed.n_tasks, printed.mean_s)

    def means_of_optimal_s(self, job: str) -> tuple[float, float]:
        """Mean run times of which the formula makes the printed number: more than the one, up to the other."""
        printed = self.job(job)
        low, high = (hosts * USABLE_S / printed.n_tasks for hosts in (printed.optimal_hosts - 1, printed.optimal_hosts))
        return low, high

    @property
    def heuristic_cases(self) -> tuple[Figures, ...]:
        """Rows of Table 2 that the heuristic makes."""
        return tuple(case for case in self.long if case.initial_hosts is not None)

    @property
    def long_cases(self) -> dict[int, int]:
        """Hosts in all by the number of initial hosts (Table 2)."""
        return {case.initial_hosts: round(case.hosts) for case in self.heuristic_cases}


def a2ha_figures() -> A2haFigures:
    """Read the printed figures of the A2HA paper."""
    return read_figures(A2haFigures, __package__, "a2ha.json")
