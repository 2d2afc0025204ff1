"""The numbers that the A2HA paper prints, and what follows from them by its own formula."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from spotbag.core.records import INTEGRAL, Record

from ...data_files import read_figures
from ..unit_bounds import hosts_by_formula

LongQuantity: TypeAlias = Literal["hosts", "wall_h", "speedup", "payment_h"]
LONG_QUANTITIES: tuple[LongQuantity, ...] = ("hosts", "wall_h", "speedup", "payment_h")

USABLE_S = 3300
"""Usable seconds of a paid hour, as the paper's formula has it."""

_Count: TypeAlias = Annotated[int, Field(ge=1), INTEGRAL]
_Positive: TypeAlias = Annotated[float, Field(gt=0)]
_Spread: TypeAlias = Annotated[float, Field(ge=0)]


class PublishedA2haJob(Record):
    """A job of short tasks: section 4, and its row of Table 1."""

    job: str
    n_tasks: _Count
    mean_s: _Positive
    optimal_hosts: _Count
    charged_h: _Positive
    interrupted_tasks: _Count
    wasted_min: _Positive
    continued_hosts: _Count

    @property
    def formula_hosts(self) -> int:
        """Optimal number of hosts by the paper's formula from its own numbers."""
        return hosts_by_formula(self.n_tasks, self.mean_s)

    @property
    def means_of_optimal_s(self) -> tuple[float, float]:
        """Mean run times of which the formula makes the printed number: more than the one, up to the other."""
        return (self.optimal_hosts - 1) * USABLE_S / self.n_tasks, self.optimal_hosts * USABLE_S / self.n_tasks


class PublishedPrediction(Record):
    """Figs 4 and 6, as far as the text says: of one ordering of the image job.

    Attributes
    ----------
    tasks : int
        Tasks after which average and prediction are near their final values.
    first_hosts, final_hosts : int
        Predicted at first and in the end.
    creation_ratio : float
        Of Fig. 6b.
    created_hosts : int
        Hosts that are created at first with it.
    full_ratio_tasks : int
        Tasks after which it is 1, and the number of hosts near the final one.
    """

    tasks: _Count
    first_hosts: _Count
    final_hosts: _Count
    creation_ratio: Annotated[float, Field(ge=0, le=1)]
    created_hosts: _Count
    full_ratio_tasks: _Count


class PublishedLongCase(Record):
    """A row of Table 2: means and standard deviations; for the heuristic, how many hosts there are at first."""

    case: str
    hosts: _Positive
    wall_h: _Positive
    payment_h: _Positive
    wall_h_sd: _Spread
    payment_h_sd: _Spread
    hosts_sd: _Spread | None = None
    speedup: _Positive | None = None
    speedup_sd: _Spread | None = None
    initial_hosts: _Count | None = None

    def mean(self, quantity: LongQuantity) -> float | None:
        """A printed mean; None if there is none."""
        found: float | None = getattr(self, quantity)
        return found

    def sd(self, quantity: LongQuantity) -> float | None:
        """Printed standard deviation; None if there is none."""
        found: float | None = getattr(self, f"{quantity}_sd")
        return found


class A2haFigures(Record):
    """Printed figures of the A2HA paper.

    Attributes
    ----------
    source : str
        The paper.
    orderings : int
        Of which it shows means.
    prediction : PublishedPrediction
        Figs 4 and 6.
    jobs : tuple of PublishedA2haJob
        The jobs of short tasks.
    long : tuple of PublishedLongCase
        Table 2.
    """

    format: Literal["spotbag.published-figures/1"]
    source: str
    orderings: _Count
    prediction: PublishedPrediction
    jobs: Annotated[tuple[PublishedA2haJob, ...], Field(strict=False)]
    long: Annotated[tuple[PublishedLongCase, ...], Field(strict=False)]

    def job(self, name: str) -> PublishedA2haJob:
        """Return a job of short tasks."""
        return next(job for job in self.jobs if job.job == name)

    def case(self, name: str) -> PublishedLongCase:
        """Return a row of Table 2."""
        return next(case for case in self.long if case.case == name)

    @property
    def heuristic_cases(self) -> tuple[PublishedLongCase, ...]:
        """Rows of Table 2 that the heuristic makes."""
        return tuple(case for case in self.long if case.initial_hosts is not None)

    @property
    def long_cases(self) -> dict[int, int]:
        """Hosts in all by the number of initial hosts (Table 2)."""
        return {case.initial_hosts: round(case.hosts) for case in self.long if case.initial_hosts is not None}


def a2ha_figures() -> A2haFigures:
    """Read the printed figures of the A2HA paper."""
    return read_figures(A2haFigures, __package__, "a2ha.json")
