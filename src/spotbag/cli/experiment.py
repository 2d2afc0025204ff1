"""``spotbag experiment``."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..core.errors import InputError, Issue
from ..core.processes import interruptible
from ..core.text_files import read_text, write_text
from .answers import Answer, Mean, Part
from .arguments import warn, wrote
from .completion import names_of
from .options import adder, argument, json_option, option
from .progress import INTERRUPTED, counting
from .run_options import WorkerOptions

if TYPE_CHECKING:
    from ..benchmarks.bags.experiments.differences import PolicyDifference
    from ..benchmarks.bags.experiments.judgement import GroupGaps, JudgedCell, Judgement
    from ..benchmarks.bags.experiments.results import RunResult
    from ..benchmarks.bags.experiments.run import Progress
    from ..benchmarks.bags.experiments.specification import Specification
    from ..core.text_tables import Column
    from ..core.workers import Workers

app = typer.Typer(
    no_args_is_help=True, help="Experiments: instances, methods, seeds, scenarios and policies, cell by cell."
)

_command = adder(app, "experiment")

_MOST_CHANGES = 10
_READY = names_of("benchmarks.bags.experiments.specification", "ready_names")

_cells_option = partial(option, "N", "Cells of each draw, instead of those it says.", min=1)
_seed_option = partial(option, "SEED", "Of each draw: other cells by the same rule.", min=0)


class ExperimentRun(Answer, kind="experiment-run"):
    """``spotbag experiment run``: how many cells there are, had a row before, and have been run now."""

    folder: str
    cells: int
    before: int
    run: int
    papers: tuple[str, ...]
    interrupted: bool


class ReadyExperiment(Part):
    """An experiment that is ready to be run."""

    name: str
    cells: int
    time_limit_s: float
    description: str


class ExperimentList(Answer, kind="experiment-list"):
    """``spotbag experiment list``."""

    experiments: tuple[ReadyExperiment, ...]


class ExperimentResults(Answer, kind="experiment-results"):
    """``spotbag experiment results``."""

    results: tuple[RunResult, ...]


class ExperimentJudge(Answer, kind="experiment-judge"):
    """``spotbag experiment judge``."""

    method: str
    cells: tuple[JudgedCell, ...]
    verdicts: dict[str, int]
    groups: tuple[GroupGaps, ...]


class StatusChange(Part):
    """A change of status, and the number of runs that have it."""

    before: str
    after: str
    runs: int


class MethodChange(Part):
    """A method in two experiments; objectives below 0, and bounds above 0, are better."""

    method: str
    runs: int
    ended_by_time: int
    better: int
    same: int
    worse: int
    objective_percent: Mean
    bound_percent: Mean
    time_percent: Mean
    statuses: tuple[StatusChange, ...]


class RunChange(Part):
    """A run whose objective has changed."""

    instance: str
    method: str
    seed: int
    before: float
    after: float
    ended_by_time: bool


class ExperimentCompare(Answer, kind="experiment-compare"):
    """``spotbag experiment compare``."""

    settings: tuple[str, ...]
    only_before: int
    only_after: int
    methods: tuple[MethodChange, ...]
    policies: tuple[PolicyDifference, ...]
    changes: tuple[RunChange, ...]


@_command("run", "gaps --out gaps --workers 2")
def run_command(
    *,
    context: typer.Context,
    spec: str = argument("SPEC", "A file (.toml), or one that is ready.", completes=_READY, show_default=False),
    out: str = option("FOLDER", "Where the rows go.", ..., show_default=False),
    cells: int | None = _cells_option(),
    seed: int | None = _seed_option(),
    work: WorkerOptions,
    as_json: bool = json_option(),
) -> None:
    """Run an experiment, or go on with it: each finished cell is a line of rows.jsonl in the folder.

    Whatever ends it, the same command goes on where it stopped. Cells that fail, and instances that no plan exists
    for, have rows as well. 'spotbag report FOLDER' makes a page of it at any time.

    Exit code 0: done; 2: bad input; 130: interrupted, all finished cells are kept.
    """
    from ..benchmarks.bags.experiments.run import run_experiment
    from ..benchmarks.bags.experiments.specification import read_specification
    from .papers import paper_of

    asked, files_from = read_specification(spec)
    asked = asked.drawn(seed, cells)
    executor = work.executor(context)
    warn(_oversubscribed(executor, asked.threads))
    for name in asked.papers:
        paper_of(asked, name, executor)  # what is wrong is said before anything is run
    with interruptible():  # from here on there is an answer, which a signal asks for
        with counting("running", None, left=True) as count:

            def start(cells: int, before: int) -> None:
                count("", before, total=cells)

            progress = run_experiment(
                asked, out, files_from=files_from, workers=executor, on_start=start, on_cell=lambda name: count(name)
            )
        if progress.other_versions:
            warn([f"{out} has rows of other versions: {', '.join(progress.other_versions)}; they are not run again"])
        papers = [] if progress.interrupted else _papers(asked, out, executor)
        interrupted = progress.interrupted or len(papers) < len(asked.papers)
        if as_json:
            answer = ExperimentRun.of(progress, folder=out, run=progress.done, papers=papers, interrupted=interrupted)
            answer.print_json()
        else:
            _print_progress(progress, papers, out, interrupted)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _oversubscribed(workers: Workers, threads: int) -> list[str]:
    """Warn of more threads than there are cores: times then say little."""
    from ..core.processes import usable_cores

    cores = usable_cores()
    if not isinstance(workers, int) or workers * threads <= cores:
        return []
    return [
        f"{workers} workers of {threads} thread{'s' * (threads > 1)} each share {cores} core{'s' * (cores > 1)}: "
        "times will be longer, and plans found in a time limit worse"
    ]


def _print_progress(progress: Progress, papers: list[str], out: str, interrupted: bool) -> None:
    left = progress.cells - progress.before - progress.done
    print(f"{out}: {progress.done:,} cells run, {progress.before:,} were there before, {left:,} are left")
    if papers:
        print(f"papers: {', '.join(papers)}")
    if interrupted:
        print("interrupted; the same command goes on from there")
    else:
        print(f"a page on it:  spotbag report {out} --out {os.path.basename(os.path.abspath(out))}.html")


def _papers(asked: Specification, out: str, workers: Workers) -> list[str]:
    """Replay the papers that are asked for, but for those that are there; return the names of all that are done."""
    from ..benchmarks.paper_result import format_result
    from ..core.limits import LimitReached
    from .papers import paper_of, replayed_paper

    done: list[str] = []
    for name in asked.papers:
        path = Path(out) / f"{name}.json"
        paper, options = paper_of(asked, name, workers)
        if not _has_replayed(path, options.about()):
            try:
                result = replayed_paper(paper, options, name, left=True)
            except LimitReached:
                return done
            write_text(path, format_result(result, ".json"))
            wrote(str(path))
        done.append(name)
    return done


def _has_replayed(path: Path, about: dict[str, Any]) -> bool:
    """Tell if a file has the comparison with a paper under the same settings, the number of runs included."""
    from ..core.json_documents import format_json, parse_json

    if not path.is_file():
        return False
    there, wanted = parse_json(read_text(path), str(path)), parse_json(format_json(about), str(path))
    return all(there.get(key) == value for key, value in wanted.items())


@_command("list")
def list_command(*, as_json: bool = json_option()) -> None:
    """List the experiments that are ready to be run, and how many cells they have."""
    from ..benchmarks.bags.experiments.specification import read_specification, ready_names
    from ..core.text_tables import Column, Table
    from .tables import print_table

    rows = []
    for name in ready_names():
        asked, folder = read_specification(name)
        plans, days = asked.cells(folder)
        rows.append(ReadyExperiment.of(asked, name=name, cells=len(plans) + len(days)))
    if as_json:
        ExperimentList(experiments=tuple(rows)).print_json()
        return
    columns = [Column("name"), Column("cells", True), Column("time limit (s)", True), Column("what it is for")]
    print_table(
        Table(columns, [[row.name, f"{row.cells:,}", f"{row.time_limit_s:g}", row.description] for row in rows])
    )


@_command("show", "gaps > mine.toml")
def show_command(*, name: str = argument("NAME", "Of one that is ready.", completes=_READY)) -> None:
    """Print the specification of an experiment that is ready, to be changed into one's own."""
    from ..benchmarks.bags.experiments.specification import ready_names, ready_text

    if name not in ready_names():
        raise InputError("experiment", [Issue("", f"is unknown (known: {', '.join(ready_names())})", value=name)])
    print(ready_text(name), end="")


@_command("results", "gaps")
def results_command(
    *, folder: str = argument("FOLDER", "Of an experiment.", show_default=False), as_json: bool = json_option()
) -> None:
    """Show what the runs of an experiment have come to so far, by instance and method.

    Gaps are to the best bound of all runs on the instance. Runs that time has ended, even in part, may come to
    something else when they are made again. 'spotbag report' shows more, policies included.
    """
    from ..benchmarks.bags.experiments.results import experiment_results
    from ..core.text_tables import Column, Table
    from .tables import print_table

    found = experiment_results(folder)
    if as_json:
        ExperimentResults(results=tuple(found)).print_json()
        return
    if not found:
        print(f"{folder}: no run has ended yet")
        return
    columns = [Column("instance"), Column("tasks", True), Column("method"), Column("plans", True), Column("status")]
    columns += [Column("objective", True), Column("gap (% of the plan)", True)]
    columns += [Column("time (s)", True, measured=True), Column("ended by time", True, measured=True)]
    columns += [Column("memory (MB)", True, measured=True)]
    rows = [
        [
            entry.instance,
            _or_dash(entry.n_tasks, 0),
            entry.method,
            f"{entry.plans} of {entry.runs}",
            entry.status,
            _or_dash(entry.objective, 6),
            _or_dash(None if entry.gap is None else 100 * entry.gap, 3),
            _or_dash(entry.runtime_s, 3),
            f"{entry.ended_by_time} of {entry.runs}",
            _or_dash(entry.peak_memory_mb, 0),
        ]
        for entry in found
    ]
    print_table(Table(columns, rows))


def _or_dash(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


@_command("judge", "user-map --method auto")
def judge_command(
    *,
    folder: str = argument("FOLDER", "Of an experiment.", show_default=False),
    method: str | None = option("NAME", "Which; the experiment's first if absent.", short="-m"),
    every: bool = option(None, "List all cells, not only those where something is wanting.", False, name="all"),
    as_json: bool = json_option(),
) -> None:
    """Judge a method by cells: how far it is from the best bound, and where another method has a better plan.

    Where plans must survive, those of other methods count if they do as well. Listed are the cells where another plan
    is better, where there is no plan, and where the gap is greater than it is to be: the worst first.
    """
    from ..benchmarks.bags.experiments.judgement import judge_experiment

    found = judge_experiment(folder, method)
    if as_json:
        ExperimentJudge.of(found).print_json()
    else:
        _print_judgement(found, every)


def _print_judgement(found: Judgement, every: bool) -> None:
    from ..benchmarks.bags.experiments.judgement import LEVELS
    from ..core.text_tables import Column, Table
    from .tables import print_table

    listed = sorted((cell for cell in found.cells if every or cell.wanting), key=lambda cell: cell.worst_first)
    if listed:
        axes = list(listed[0].drawn)
        columns = [Column(f"cell: {' '.join(axes)}" if axes else "instance"), Column("verdict")]
        columns += _numbers("cost ($)", "end (s)", "gap (%)")
        columns += [Column("best other"), *_numbers("better by (%)"), Column("better bound")]
        columns.append(Column("time (s)", True, measured=True))
        rows = [
            [
                cell.short_name,
                cell.verdict,
                _or_dash(cell.cost_usd, 6),
                _or_dash(cell.makespan_s, 0),
                _or_dash(None if cell.gap is None else 100 * cell.gap, 3),
                cell.baseline.rpartition(":")[2] or "-",
                _or_dash(cell.baseline_percent, 3),
                cell.better_bound.rpartition(":")[2] or "-",
                _or_dash(cell.runtime_s, 1),
            ]
            for cell in listed
        ]
        print_table(Table(columns, rows))
    counts = ", ".join(f"{count} {verdict}" for verdict, count in found.verdicts.items())
    print(f"{found.method}, {len(found.cells):,} cells: {counts}")
    columns = [
        Column("gaps"),
        *_numbers("wanted (%)", "cells", "plans", *(f"within {100 * level:g} %" for level in LEVELS)),
    ]
    columns += _numbers("mean (%)", "worst (%)")
    rows = [
        [
            entry.group,
            f"{100 * entry.wanted:g}",
            f"{entry.cells:,}",
            f"{entry.plans:,}",
            *(f"{count / entry.cells:.0%}" if entry.cells else "-" for count in entry.within),
            *(_or_dash(None if gap is None else 100 * gap, 3) for gap in (entry.mean, entry.worst)),
        ]
        for entry in found.groups
    ]
    print_table(Table(columns, rows))


@_command("compare", "last-week today")
def compare_command(
    *,
    old: str = argument("OLD", "Folder of an experiment.", show_default=False),
    new: str = argument("NEW", "Of the same one, run later.", show_default=False),
    as_json: bool = json_option(),
) -> None:
    """Tell what got better or worse from one experiment to another, with 95 % confidence intervals.

    Compared are runs of the same instance, method and seed, and the same days under the same policy. Exit code 0:
    done, whatever is better; 2: bad input.
    """
    from ..benchmarks.bags.experiments.differences import compare_experiments

    found = compare_experiments(old, new)
    if as_json:
        ExperimentCompare.of(
            found,
            methods=tuple(MethodChange.of(entry, statuses=_statuses(entry.statuses)) for entry in found.methods),
            changes=tuple(RunChange.of(change) for change in found.changes),
        ).print_json()
    else:
        _print_differences(found)


def _statuses(changes: Any) -> tuple[StatusChange, ...]:
    """Return the changes of status, each with its number of runs."""
    return tuple(StatusChange(before=before, after=after, runs=runs) for (before, after), runs in changes)


def _print_differences(found: Any) -> None:
    from ..core.text_tables import Column, Table
    from .tables import print_table

    if found.settings:
        warn([f"the two ask for different things: {', '.join(found.settings)}"])
    if found.only_before or found.only_after:
        print(f"{found.only_before:,} rows are only in the old one, {found.only_after:,} only in the new one")
    if not found.methods and not found.policies:
        print("they have no cell in common")
    if found.methods:
        print("Methods: change in percent, over instances; objective below 0 and bound above 0 are better")
        columns = [Column("method")]
        columns += _numbers("runs", "ended by time", "better", "same", "worse", "objective (%)", "bound (%)")
        columns += [Column("time (%)", True, measured=True), Column("statuses that changed")]
        rows = [
            [
                entry.method,
                f"{entry.runs:,}",
                f"{entry.ended_by_time:,}",
                *(f"{number:,}" for number in (entry.better, entry.same, entry.worse)),
                _shown(entry.objective_percent, 3),
                _shown(entry.bound_percent, 3),
                _shown(entry.time_percent, 1),
                ", ".join(f"{runs} {before} > {after}" for (before, after), runs in entry.statuses),
            ]
            for entry in found.methods
        ]
        print_table(Table(columns, rows))
        if any(entry.ended_by_time for entry in found.methods):
            print("Runs that time has ended, before or after, may differ though nothing else has changed.")
    if found.changes:
        _print_changes(found.changes)
    if found.policies:
        _print_policies(found.policies)


def _print_changes(changes: Any) -> None:
    from ..core.text_tables import Column, Table
    from .tables import print_table

    print(f"Runs that changed most, of {len(changes):,}:")
    columns = [Column("instance"), Column("method"), *_numbers("seed", "before", "after", "change (%)")]
    columns.append(Column("ended by time"))
    rows = [
        [
            entry.instance,
            entry.method,
            f"{entry.seed}",
            f"{entry.before:.6f}",
            f"{entry.after:.6f}",
            f"{entry.percent:+.3f}",
            "yes" if entry.ended_by_time else "no",
        ]
        for entry in changes[:_MOST_CHANGES]
    ]
    print_table(Table(columns, rows))


def _print_policies(policies: Any) -> None:
    from ..core.text_tables import Column, Table
    from .tables import print_table

    print("Policies: change of the cost of a day, on the same days; below 0 is better")
    columns = [Column("replayed"), Column("policy")]
    columns += _numbers("days", "cost before ($)", "change ($)", "days too late")
    rows = [
        [
            entry.replayed,
            entry.policy,
            f"{entry.days:,}",
            _shown(entry.cost_before_usd, 6, sign=False),
            _shown(entry.cost_usd, 6),
            f"{entry.late_before:,} > {entry.late_after:,}",
        ]
        for entry in policies
    ]
    print_table(Table(columns, rows))


def _numbers(*headings: str) -> list[Column]:
    """Return columns of numbers."""
    from ..core.text_tables import Column

    return [Column(heading, True) for heading in headings]


def _shown(found: Any, digits: int, sign: bool = True) -> str:
    """Return a mean with its interval."""
    if found.mean is None:
        return "-"
    mean = f"{found.mean:+.{digits}f}" if sign else f"{found.mean:.{digits}f}"
    return mean if found.half_width is None else f"{mean} ± {found.half_width:.{digits}f}"
