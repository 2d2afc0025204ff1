"""Common parts of reports of replays: cells with intervals, headings, and runs as they are printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from .answers import Part
from .arguments import warn

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from ..core.statistics import Estimate
    from ..replay.runs import Runs

    DataclassOutcome = TypeVar("DataclassOutcome", bound=DataclassInstance)

Out = TypeVar("Out")


class ReplayedRun(Part):
    """A run; ``policies`` has what became of it under each policy."""

    seed: int
    policies: Mapping[str, Mapping[str, Any]]


def mean_cell(estimate: Estimate, digits: int, *, signed: bool = False, unit: float = 1) -> str:
    """Mean and half width of the interval, in a unit of so many; a dash if there is nothing to average."""
    if estimate.mean is None:
        return "-"
    text = f"{estimate.mean / unit:{'+' if signed else ''},.{digits}f}"
    return text if estimate.half_width is None else f"{text} ± {estimate.half_width / unit:,.{digits}f}"


def print_heading(runs: Runs[Any], seed: int) -> None:
    """Print which runs the tables show."""
    if runs.n_runs == 1:
        print(f"the run of seed {seed}")
    else:
        print(f"{runs.n_runs:,} runs, seeds {seed} to {seed + runs.n_runs - 1}; mean ± half of the 95 % interval")
    print()


def warn_of_missing(runs: Runs[Any], wanted: int, noun: str = "runs") -> None:
    """Warn if an interrupt has left out runs."""
    if runs.interrupted and not runs.n_runs:
        warn([f"interrupted before the first {noun.removesuffix('s')}"])
    elif runs.interrupted:
        warn([f"interrupted: {runs.n_runs} of {wanted} {noun} are here"])


def by_policy(
    runs: Runs[Out], number: int, as_object: Callable[[int, Out], Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """Return a run as a JSON object by policy; ``as_object`` takes the position of a policy and its outcome."""
    return {name: as_object(index, runs.outcomes[index][number]) for index, name in enumerate(runs.policies)}


def fields_except(outcome: DataclassOutcome, *names: str) -> dict[str, Any]:
    """Return the fields of an outcome without some."""
    return {name: value for name, value in asdict(outcome).items() if name not in names}
