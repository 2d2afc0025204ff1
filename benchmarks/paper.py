"""A paper: how it is replayed, and what is made of the runs; the same parts for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from spotbag.core.limits import LimitReached, Stop, stop_point
from spotbag.core.processes import interruptible
from spotbag.core.statistics import Estimate
from spotbag.core.workers import Workers
from spotbag.replay.engines import replay_batches

from .claims import Claim, show
from .data_files import read_toml
from .paper_pictures import Picture
from .paper_tables import ComparisonRow, PaperTables, PlanUsed, PublishedComparisonResult

OnRuns: TypeAlias = Callable[[int, str], None]
"""Called with how many runs have just been done, and of what."""

Results: TypeAlias = Mapping[str, PublishedComparisonResult]
"""Results by the names of the settings; the first, without an assumption, is that of the page."""


_ENVIRONMENT = "environment: "


def by_environment(results: Results) -> Mapping[str, PublishedComparisonResult]:
    """Return the results of the environments, the printed one first."""
    others = {name: result for name, result in results.items() if name.startswith(_ENVIRONMENT)}
    printed = next(iter(results.values()))
    return {"printed": printed} | {name.removeprefix(_ENVIRONMENT): result for name, result in others.items()}


@dataclass(frozen=True, slots=True)
class PaperOptions:
    """Settings of the replays of a paper.

    Attributes
    ----------
    runs : int
        Days, draws or orderings of each cell, the same for all policies.
    seed : int
        Of the first run, and of methods that use random numbers.
    workers : int or distributed.Client
        Processes, or a Dask cluster, whose workers have spotbag installed.
    """

    runs: int = 200
    seed: int = 0
    workers: Workers = 1

    def about(self) -> dict[str, Any]:
        """Return the settings for a file of results, without the number of workers."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "workers"}


Row = TypeVar("Row")


def replayed(
    work: Callable[[range], Iterable[Row]],
    numbers: range,
    options: PaperOptions,
    on_runs: OnRuns,
    label: str,
    per_batch: int,
) -> list[Row]:
    """Replay runs in batches, and return a row for each.

    Raises
    ------
    LimitReached
        If it is asked to stop: means of fewer runs than asked for would not be comparable.
    """
    rows, interrupted = replay_batches(
        work, numbers, workers=options.workers, per_batch=per_batch, on_run=lambda done: on_runs(done, label)
    )
    if interrupted:
        raise LimitReached
    return rows


Options = TypeVar("Options", bound=PaperOptions)
Runs = TypeVar("Runs")


class Setting(NamedTuple, Generic[Options]):
    """Another value of an assumption.

    Attributes
    ----------
    assumption, value : str
        In words, e.g. ``boot of a VM`` and ``180 s``.
    options : PaperOptions
        How the paper is replayed then.
    environment : bool
        Whether it is one that the page has verdicts of beside its own.
    """

    assumption: str
    value: str
    options: Options
    environment: bool = False

    @property
    def name(self) -> str:
        """Name of the setting's result."""
        return f"{self.assumption}: {self.value}"


Change: TypeAlias = tuple[str, str, Mapping[str, Any]]
"""An assumption, its value in words, and the options that it changes."""


def changed(options: Options, runs: int, changes: Iterable[Change]) -> list[Setting[Options]]:
    """Make settings of changes, with a limit on the runs."""
    # More runs than the page has would have nothing to be compared with.
    few = replace(options, runs=min(runs, options.runs))
    return [Setting(assumption, value, replace(few, **given)) for assumption, value, given in changes]


Number: TypeAlias = Callable[[PublishedComparisonResult], str]
"""Number of a result as a short text."""


def column(
    table: str, quantity: str, digits: int, job: str, scenario: str = "", policy: str = "", *, interval: bool = False
) -> Number:
    """Make a column of a mean; places may name settings in braces."""

    def text(result: PublishedComparisonResult) -> str:
        found = result.row(table, quantity, job, scenario.format(**result.about), policy.format(**result.about)).ours
        return show(found if interval else Estimate(found.n, found.mean, None), digits)

    return text


def read_columns(package: str, **numbers: Callable[..., str]) -> Mapping[str, Number]:
    """Read the columns of the table of sensitivity: means, as of `column`, or numbers that code has by a name.

    What stands beside the name of a number is handed to its function.
    """

    def number(of: Any) -> Number:
        if isinstance(of, str):
            return numbers[of]
        return partial(numbers[of.pop("number")], **of) if "number" in of else column(**of)

    return {heading: number(of) for heading, of in read_toml(package, "settings.toml")["columns"].items()}


@dataclass(frozen=True, slots=True)
class Paper(Generic[Options, Runs]):
    """Comparison of replays with a paper: its options, runs, tables and claims.

    Attributes
    ----------
    key, name : str
        Which paper: in ``spotbag bench``, and in words.
    package : str
        Where its template, its statements and its notes lie.
    options : type of PaperOptions
        How it can be replayed.
    runs_are : str
        What the runs of its options are, in words.
    n_runs : callable
        From options to how many runs `replay` counts.
    replay : callable
        From options and `OnRuns` to all runs that the tables are made of; raises `LimitReached` if it is asked to
        stop, as means of fewer runs than asked for would not be comparable.
    rows, claims, notes, plans, findings : callable
        From the runs to printed and measured numbers, to judged sentences of the paper, to reasons why numbers differ,
        to the plans that were replayed, and to what was found besides, which the paper does not say.
    tables : PaperTables
        Which rows stand beside each other, and what one screen shows.
    columns : mapping of str to callable
        Numbers that other assumptions may change, by headings with units.
    settings : callable
        From the options of the page to what else is replayed, where the paper is silent. Settings may have fewer runs
        than the page; they are compared with as many runs of what the page assumes.
    facts : callable
        From the results of all settings to what the template of the page needs beside them, by name.
    pictures : mapping of str to callable
        What is drawn of the rows, by the name of the file without its ending.
    """

    key: str
    name: str
    package: str
    options: type[Options]
    runs_are: str
    n_runs: Callable[[Options], int]
    replay: Callable[[Options, OnRuns], Runs]
    rows: Callable[[Runs], Iterable[ComparisonRow]]
    claims: Callable[[Runs], Iterable[Claim]]
    notes: Callable[[Runs], Iterable[str]]
    tables: PaperTables
    columns: Mapping[str, Number] = field(default_factory=dict)
    settings: Callable[[Options], Sequence[Setting[Options]]] = lambda options: ()
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    plans: Callable[[Runs], Iterable[PlanUsed]] = lambda runs: ()
    findings: Callable[[Runs], Iterable[Claim]] = lambda runs: ()
    facts: Callable[[Results], Mapping[str, Any]] = lambda results: {}

    def replays(self, options: Options) -> list[Setting[Options]]:
        """Return the settings to replay for the table of sensitivity, the page's own assumptions first."""
        settings = list(self.settings(options))
        # With as few runs as a setting, chance leaves as much undecided: what differs then is the assumption's doing.
        runs = dict.fromkeys([options.runs, *(setting.options.runs for setting in settings)])
        return [Setting("", f"{n} runs", replace(options, runs=n)) for n in runs] + settings


def compare(
    paper: Paper[Options, Runs],
    options: Options,
    on_runs: OnRuns = lambda runs, label: None,
    stop: Stop | None = None,
) -> PublishedComparisonResult:
    """Replay a paper and set our numbers beside the printed ones.

    Parameters
    ----------
    paper : Paper
        Which paper.
    options : PaperOptions
        What is replayed.
    on_runs : callable, optional
        Called with how many runs have just been done, and of what. An exception in it ends the work and is raised here.
    stop : Stop, optional
        See `spotbag.solve`.

    Returns
    -------
    PublishedComparisonResult
        Rows, claims, notes.

    Raises
    ------
    LimitReached
        If it is asked to stop, also by Ctrl-C or SIGTERM: means of fewer runs would not be comparable.
    """
    with interruptible(stop) as limit:
        runs = paper.replay(options, on_runs)
        # Rows of an interrupted replay are not made: their means would be of fewer runs.
        stop_point()
        result = PublishedComparisonResult(
            paper=paper.name,
            about=options.about(),
            plans=tuple(paper.plans(runs)),
            rows=tuple(paper.rows(runs)),
            claims=tuple(paper.claims(runs)),
            notes=tuple(paper.notes(runs)),
            findings=tuple(paper.findings(runs)),
        )
    # Asked to stop while rows were made: an answer would hide that.
    if limit.stopped():
        raise LimitReached
    return result
