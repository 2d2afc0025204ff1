"""Common parts of reports of replays: cells with intervals, headings, and runs as they are printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from ..core.text_tables import Shown, number
from .answers import Part
from .arguments import warn
from .progress import counting

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from ..core.statistics import Estimate
    from ..replay.runs import Runs

    DataclassOutcome = TypeVar("DataclassOutcome", bound=DataclassInstance)
    Done = TypeVar("Done", bound=Runs[Any])

Out = TypeVar("Out")


class ReplayedRun(Part):
    """A run; ``policies`` has what became of it under each policy."""

    seed: int
    policies: Mapping[str, Mapping[str, Any]]


def mean_cell(estimate: Estimate | None, digits: int, *, signed: bool = False, unit: float = 1) -> str:
    """Mean and half width of the interval, in a unit of so many; a dash if there is nothing to average."""
    if estimate is None or estimate.mean is None:
        return "-"
    text = f"{estimate.mean / unit:{'+' if signed else ''},.{digits}f}"
    return text if estimate.half_width is None else f"{text} ± {estimate.half_width / unit:,.{digits}f}"


def mean(heading: str, of: str | Callable[[Any], Estimate], digits: int, **how: Any) -> Shown:
    """Return a column of means: of a metric of summaries, by its name, or of what a function gives."""
    take = of if callable(of) else lambda summary: summary.means[of]
    return number(heading, lambda summary: mean_cell(take(summary), digits, **how))


def print_heading(runs: Runs[Any], seed: int) -> None:
    """Print which runs the tables show."""
    if runs.n_runs == 1:
        print(f"the run of seed {seed}")
    else:
        print(f"{runs.n_runs:,} runs, seeds {seed} to {seed + runs.n_runs - 1}; mean ± half of the 95 % interval")
    print()


def replay_counted(message: str, wanted: int, replay: Callable[..., Done], noun: str = "runs") -> Done:
    """Replay runs, and show how many are done; warn if an interrupt has left out some."""
    with counting(message, wanted) as count:
        runs = replay(lambda more: count("", more))
    if runs.interrupted and not runs.n_runs:
        warn([f"interrupted before the first {noun.removesuffix('s')}"])
    elif runs.interrupted:
        warn([f"interrupted: {runs.n_runs} of {wanted} {noun} are here"])
    return runs


def worst_of_each(outcomes: Sequence[Sequence[Out]], rows_of: Callable[[Out], Sequence[Any]]) -> list[Any]:
    """Return the rows of the outcomes of a single run, with None between those of different policies."""
    rows: list[Any] = []
    for [outcome] in outcomes:
        found = rows_of(outcome)
        rows += [None, *found] if rows and found else found
    return rows


def by_policy(
    runs: Runs[Out], number: int, as_object: Callable[[int, Out], Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """Return a run as a JSON object by policy; ``as_object`` takes the position of a policy and its outcome."""
    return {name: as_object(index, runs.outcomes[index][number]) for index, name in enumerate(runs.policies)}


def fields_except(outcome: DataclassOutcome, *names: str) -> dict[str, Any]:
    """Return the fields of an outcome without some."""
    return {name: value for name, value in asdict(outcome).items() if name not in names}
