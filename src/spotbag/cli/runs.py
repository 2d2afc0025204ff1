"""Commands of replays: options of runs with their checks, and what their reports have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from ..core.errors import SpotbagError
from ..core.text_tables import Column, Shown, Table, number, table_of
from .answers import Part
from .console import counting, drawing, print_table, terminal_width, warn, wrote
from .options import json_option, option

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from ..core.statistics import Estimate
    from ..core.workers import Workers
    from ..replay.engines import Runs
    from ..traces.trace import Trace

    DataclassOutcome = TypeVar("DataclassOutcome", bound=DataclassInstance)
    Done = TypeVar("Done", bound=Runs[Any])

Out = TypeVar("Out")

DEFAULT_RUNS = 20

runs_option = partial(option, "N", short="-n", min=1, max=1_000_000)


def policies_option(absent: str, completes: Callable[[str], list[str]]) -> Any:
    """Return the option of the policies: what is replayed if it is absent, and what completes it."""
    several = "One of your own is module:attribute. May be given several times, or once with names separated by commas"
    return option("NAME", f"See above. {several}; {absent} if absent.", name="policy", short="-p", completes=completes)


@dataclass(frozen=True, kw_only=True)
class WorkerOptions:
    """Options of the workers: processes, or a Dask cluster."""

    workers: int = option("W", "Processes.", 1, short="-w", min=1)
    dask: str | None = option("ADDRESS", "In place of processes, the Dask cluster of this scheduler: tcp://host:8786.")

    def executor(self, context: typer.Context) -> Workers:
        """Return the workers; a Dask cluster is left when the command ends."""
        if self.dask is None:
            return self.workers
        import logging

        from ..core.cluster import connect

        if self.workers > 1:
            raise SpotbagError("--workers and --dask: use one or the other")
        client = connect(self.dask)
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # errors are told once, by the command
        context.call_on_close(client.close)
        return client


@dataclass(frozen=True, kw_only=True)
class RecordOptions(WorkerOptions):
    """Options of the workers, and of the files that are written of one run; each command has its own words for some.

    A command has them by a parameter of a type that inherits these (see `spread`).
    """

    runs: int | None = None
    seed: int = 0
    trace: str | None = None
    gantt: str | None = None
    as_json: bool = json_option()

    @property
    def recorded(self) -> bool:
        """True if a record of a run is wanted."""
        return self.trace is not None or self.gantt is not None

    def write_trace(self, traces: Sequence[Trace]) -> None:
        """Write the trace of a run under all policies, if that is wanted."""
        if self.trace is not None:
            from ..traces.files import write_traces

            write_traces(self.trace, traces)
            wrote(self.trace)

    def write_picture(self, traces: Sequence[Trace]) -> None:
        """Draw a run under all policies, if that is wanted."""
        if self.gantt is not None:
            from ..charts.replay import write_replay

            with drawing(self.gantt):
                write_replay(traces, self.gantt)


@dataclass(frozen=True, kw_only=True)
class RunOptions(RecordOptions):
    """Options of which runs are replayed, and what is told or written of them."""

    policy: list[str] | None = None
    once: bool = False
    seed: int = option("SEED", "Seed of the first run; the others count on.", 0, min=0)
    story: bool = option(
        None, "Instead of tables, describe what happens in one run (--once), policy by policy.", False, name="tell"
    )
    trace: str | None = option("FILE", "Write all events of one run (--once), for 'spotbag audit'.", file="written")
    gantt: str | None = option("FILE", "Draw the first run: .png, .svg, .pdf or .html.", file="drawn")
    write: str | None = None
    listed: bool = False

    @property
    def n_runs(self) -> int:
        """Number of runs to replay."""
        return 1 if self.once else self.runs or DEFAULT_RUNS

    def check_number(self) -> None:
        """Refuse a number of runs beside a single one."""
        if self.once and self.runs is not None:
            raise SpotbagError(
                "--once and --runs: use one or the other; a single run is described, several are averaged"
            )

    @property
    def recorded(self) -> bool:
        """True if a record of the first run is wanted."""
        return self.story or super().recorded

    def check_records(self) -> None:
        """Refuse, before any work is done, a record of more than one run."""
        # A record of many runs would be of gigabytes, and nobody would read it.
        for option_name, wanted in (("--trace", self.trace is not None), ("--tell", self.story)):
            if wanted and self.n_runs != 1:
                raise SpotbagError(f"{option_name}: is for a single run; add --once (the run of --seed)")


# ------------------------------------------------------------------------- reports


def stories_of(traces: Iterable[Trace]) -> list[list[str]]:
    """Return the events of replays, line by line."""
    from ..traces.stories import describe_trace

    return [list(describe_trace(trace)) for trace in traces]


def print_stories(stories: Iterable[Iterable[str]]) -> None:
    """Print the events of replays; on a terminal, a line goes on below the words of the first, not below the times."""
    from textwrap import fill

    width = terminal_width()
    for index, story in enumerate(stories):
        if index:
            print()
        for line in story:
            print(fill(line, width, subsequent_indent=" " * 13, break_on_hyphens=False) if width else line)


class ReplayedRun(Part):
    """A run; ``policies`` has what became of it under each policy."""

    seed: int
    policies: Mapping[str, Mapping[str, Any]]


def mean_cell(estimate: Estimate | None, digits: int, *, signed: bool = False, unit: float = 1) -> str:
    """Mean and half width of the interval, in a unit of so many; a dash if there is nothing to average."""
    # A mean of nothing is no zero.
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


def print_of_each(
    runs: Runs[Any], found_in: Callable[[Any], tuple[Sequence[Any], str]], *columns: Shown, tight: bool = False
) -> None:
    """Print a table of what is found in the outcomes of a single run, policy by policy, then the notes on it."""
    rows: list[Sequence[str]] = []
    notes = []
    for [outcome] in runs.outcomes:
        found, note = found_in(outcome)
        rows += [()] * bool(rows and found) + [(outcome.policy, *cells) for cells in table_of(found, *columns).rows]
        notes.append(note)
    if rows:
        print_table(Table([Column("policy"), *(shown.column for shown in columns)], rows), tight)
    for note in filter(None, notes):
        print(note)


def by_policy(
    runs: Runs[Out], number: int, as_object: Callable[[int, Out], Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """Return a run as a JSON object by policy; ``as_object`` takes the position of a policy and its outcome."""
    return {name: as_object(index, runs.outcomes[index][number]) for index, name in enumerate(runs.policies)}


def fields_except(outcome: DataclassOutcome, *names: str) -> dict[str, Any]:
    """Return the fields of an outcome without some."""
    return {name: value for name, value in asdict(outcome).items() if name not in names}
