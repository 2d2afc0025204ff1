"""``spotbag experiment``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..core.errors import InputError, Issue
from ..core.processes import interruptible, usable_cores
from ..core.text_files import read_text, write_text
from ..core.text_tables import Shown, number, words
from .answers import Answer, Part, column, listing
from .console import INTERRUPTED, counting, print_rows, warn, wrote
from .options import adder, argument, json_option, names_of, option
from .runs import WorkerOptions

if TYPE_CHECKING:
    from ..core.statistics import Estimate
    from ..core.workers import Workers
    from ..experiments.bags.results import GroupGaps, JudgedCell, MethodChange, PolicyDifference, RunChange, RunResult
    from ..experiments.bags.run import Progress
    from ..experiments.bags.specification import Specification

app = typer.Typer(
    no_args_is_help=True, help="Experiments: instances, methods, seeds, scenarios and policies, cell by cell."
)

_command = adder(app, "experiment")

_MOST_CHANGES = 10
_READY = names_of("experiments.bags.specification", "ready_names")

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

    name: str = column(words("name"))
    cells: int = column(number("cells", form=","))
    time_limit_s: float = column(number("time limit (s)", "time_limit_s", "g"))
    description: str = column(words("what it is for", "description"))


class ExperimentList(Answer, kind="experiment-list"):
    """``spotbag experiment list``."""

    experiments: tuple[ReadyExperiment, ...] = listing(*ReadyExperiment.columns())


class ExperimentResults(Answer, kind="experiment-results"):
    """``spotbag experiment results``."""

    results: tuple[RunResult, ...] = listing(
        words("instance"),
        number("tasks", "n_tasks", ",.0f"),
        words("method"),
        number("plans", lambda entry: f"{entry.plans} of {entry.runs}"),
        words("status"),
        number("objective", form=",.6f"),
        number("gap (% of the plan)", "gap", ",.3f", 100),
        number("time (s)", "runtime_s", ",.3f", measured=True),
        number("ended by time", lambda entry: f"{entry.ended_by_time} of {entry.runs}", measured=True),
        number("memory (MB)", "peak_memory_mb", ",.0f", measured=True),
    )


class ExperimentJudge(Answer, kind="experiment-judge"):
    """``spotbag experiment judge``."""

    method: str
    cells: tuple[JudgedCell, ...]
    verdicts: dict[str, int]
    groups: tuple[GroupGaps, ...]

    def print_cells(self, every: bool) -> None:
        """Print the cells, all or those where something is wanting, and how far the gaps are by groups."""
        from ..experiments.bags.results import LEVELS

        # The worst first: of hundreds of cells, few are read.
        listed = sorted((cell for cell in self.cells if every or cell.wanting), key=lambda cell: cell.worst_first)
        if listed:
            axes = list(listed[0].drawn)
            print_rows(
                listed,
                words(f"cell: {' '.join(axes)}" if axes else "instance", "short_name"),
                words("verdict"),
                number("cost ($)", "cost_usd", ",.6f"),
                number("end (s)", "makespan_s", ",.0f"),
                number("gap (%)", "gap", ",.3f", 100),
                words("best other", lambda cell: cell.baseline.rpartition(":")[2] or None),
                number("better by (%)", "baseline_percent", ",.3f"),
                words("better bound", lambda cell: cell.better_bound.rpartition(":")[2] or None),
                number("time (s)", "runtime_s", ",.1f", measured=True),
            )
        counts = ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.items())
        print(f"{self.method}, {len(self.cells):,} cells: {counts}")

        def within(place: int, level: float) -> Shown:
            share = lambda entry: entry.within[place] / entry.cells if entry.cells else None  # noqa: E731
            return number(f"within {100 * level:g} %", share, ".0%")

        print_rows(
            self.groups,
            words("gaps", "group"),
            number("wanted (%)", "wanted", "g", 100),
            number("cells", form=","),
            number("plans", form=","),
            *map(within, range(len(LEVELS)), LEVELS),
            number("mean (%)", "mean", ",.3f", 100),
            number("worst (%)", "worst", ",.3f", 100),
        )


class ExperimentCompare(Answer, kind="experiment-compare"):
    """``spotbag experiment compare``."""

    settings: tuple[str, ...]
    only_before: int
    only_after: int
    methods: tuple[MethodChange, ...]
    policies: tuple[PolicyDifference, ...]
    changes: tuple[RunChange, ...]

    def print_text(self) -> None:
        """Print the methods, the runs that changed most, and the policies."""
        if self.settings:
            warn([f"the two ask for different things: {', '.join(self.settings)}"])
        if self.only_before or self.only_after:
            print(f"{self.only_before:,} rows are only in the old one, {self.only_after:,} only in the new one")
        if not self.methods and not self.policies:
            print("they have no cell in common")
        if self.methods:
            _print_methods(self.methods)
        if self.changes:
            print(f"Runs that changed most, of {len(self.changes):,}:")
            print_rows(
                self.changes[:_MOST_CHANGES],
                words("instance"),
                words("method"),
                number("seed"),
                number("before", form=".6f"),
                number("after", form=".6f"),
                number("change (%)", "percent", "+.3f"),
                words("ended by time", lambda entry: "yes" if entry.ended_by_time else "no"),
            )
        if self.policies:
            print("Policies: change of the cost of a day, on the same days; below 0 is better")
            print_rows(
                self.policies,
                words("replayed"),
                words("policy"),
                number("days", form=","),
                number("cost before ($)", lambda entry: _shown(entry.cost_before_usd, 6, sign="")),
                number("change ($)", lambda entry: _shown(entry.cost_usd, 6)),
                number("days too late", lambda entry: f"{entry.late_before:,} > {entry.late_after:,}"),
            )


@_command("run", "gaps --out gaps --workers 2")
def run_command(
    *,
    context: typer.Context,
    spec: str = argument("SPEC", "A file (.toml), or one that is ready.", completes=_READY),
    out: str = option("FOLDER", "Where the rows go.", ...),
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
    from ..experiments.bags.run import run_experiment
    from ..experiments.bags.specification import read_specification
    from .bench import papers_module

    # Files that a specification names lie beside it, not where the command is called.
    asked, files_from = read_specification(spec)
    asked = asked.drawn(seed, cells)
    executor = work.executor(context)
    warn(_oversubscribed(executor, asked.threads))
    for name in asked.papers:
        papers_module("papers").paper_of(asked, name, executor)  # faults are reported before anything is run
    with interruptible():  # from here on there is an answer, which a signal asks for
        with counting("running", None, left=True) as count:
            progress = run_experiment(
                asked,
                out,
                files_from=files_from,
                workers=executor,
                on_start=lambda cells, before: count("", before, total=cells),
                on_cell=lambda cell: count(cell.name),
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
    cores = usable_cores()
    # A cluster knows its cores itself.
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
    from ..core.limits import LimitReached
    from .bench import papers_module

    done: list[str] = []
    for name in asked.papers:
        path = Path(out) / f"{name}.json"
        papers = papers_module("papers")
        paper, options = papers.paper_of(asked, name, workers)
        # Papers take minutes each: what was replayed with the same settings is not replayed again.
        if not _has_replayed(path, options.about()):
            try:
                result = papers.replayed_paper(paper, options, name, left=True)
            except LimitReached:
                return done
            write_text(path, papers_module("paper_tables").format_result(result, ".json"))
            wrote(str(path))
        done.append(name)
    return done


def _has_replayed(path: Path, about: dict[str, Any]) -> bool:
    """Tell if a file has the comparison with a paper under the same settings, the number of runs included."""
    from ..core.json_documents import format_json, parse_json

    if not path.is_file():
        return False
    # By way of JSON, in which tuples are lists, so that equal settings are equal.
    there, wanted = parse_json(read_text(path), str(path)), parse_json(format_json(about), str(path))
    return all(there.get(key) == value for key, value in wanted.items())


@_command("list")
def list_command(*, as_json: bool = json_option()) -> None:
    """List the experiments that are ready to be run, and how many cells they have."""
    from ..experiments.bags.specification import read_specification, ready_names

    def ready(name: str) -> ReadyExperiment:
        asked, folder = read_specification(name)
        plans, days = asked.cells(folder)
        return ReadyExperiment.of(asked, name=name, cells=len(plans) + len(days))

    ExperimentList(experiments=tuple(map(ready, ready_names()))).show(as_json)


@_command("show", "gaps > mine.toml")
def show_command(*, name: str = argument("NAME", "Of one that is ready.", completes=_READY)) -> None:
    """Print the specification of an experiment that is ready, to be changed into one's own."""
    from ..experiments.bags.specification import ready_names, ready_text

    if name not in ready_names():
        raise InputError("experiment", [Issue("", f"is unknown (known: {', '.join(ready_names())})", value=name)])
    print(ready_text(name), end="")


@_command("results", "gaps")
def results_command(
    *, folder: str = argument("FOLDER", "Folder of an experiment."), as_json: bool = json_option()
) -> None:
    """Show the results of an experiment so far, by instance and method.

    Gaps are to the best bound of all runs on the instance. Runs that were ended by time, even in part, may have other
    results when they are made again. 'spotbag report' shows more, policies included.
    """
    from ..experiments.bags.results import experiment_results

    found = experiment_results(folder)
    if found or as_json:
        ExperimentResults(results=tuple(found)).show(as_json)
    else:
        print(f"{folder}: no run has ended yet")


@_command("judge", "user-map --method auto")
def judge_command(
    *,
    folder: str = argument("FOLDER", "Of an experiment."),
    method: str | None = option("NAME", "Which; the experiment's first if absent.", short="-m"),
    every: bool = option(None, "List all cells, not only those where something is wanting.", False, name="all"),
    as_json: bool = json_option(),
) -> None:
    """Judge a method by cells: how far it is from the best bound, and where another method has a better plan.

    Where plans must survive, those of other methods count if they do as well. Listed are the cells where another plan
    is better, where there is no plan, and where the gap is greater than it is to be: the worst first.
    """
    from ..experiments.bags.results import judge_experiment

    found = ExperimentJudge.of(judge_experiment(folder, method))
    if as_json:
        found.print_json()
    else:
        found.print_cells(every)


@_command("compare", "last-week today")
def compare_command(
    *,
    old: str = argument("OLD", "Folder of an experiment."),
    new: str = argument("NEW", "Of the same one, run later."),
    as_json: bool = json_option(),
) -> None:
    """Tell what got better or worse from one experiment to another, with 95 % confidence intervals.

    Compared are runs of the same instance, method and seed, and the same days under the same policy. Exit code 0:
    done, whatever is better; 2: bad input.
    """
    from ..experiments.bags.results import compare_experiments

    ExperimentCompare.of(compare_experiments(old, new)).show(as_json)


def _print_methods(methods: Sequence[MethodChange]) -> None:
    def change(entry: MethodChange) -> str:
        return ", ".join(f"{each.runs} {each.before} > {each.after}" for each in entry.statuses)

    print("Methods: change in percent, over instances; objective below 0 and bound above 0 are better")
    print_rows(
        methods,
        words("method"),
        number("runs", form=","),
        number("ended by time", "ended_by_time", ","),
        number("better", form=","),
        number("same", form=","),
        number("worse", form=","),
        number("objective (%)", lambda entry: _shown(entry.objective_percent, 3)),
        number("bound (%)", lambda entry: _shown(entry.bound_percent, 3)),
        number("time (%)", lambda entry: _shown(entry.time_percent, 1), measured=True),
        words("statuses that changed", change),
    )
    # A slower machine, and no change of the code, may be why.
    if any(entry.ended_by_time for entry in methods):
        print("Runs that time has ended, before or after, may differ though nothing else has changed.")


def _shown(found: Estimate, digits: int, sign: str = "+") -> str | None:
    """Return a mean with its interval, without marks of thousands."""
    if found.mean is None:
        return None
    mean = f"{found.mean:{sign}.{digits}f}"
    return mean if found.half_width is None else f"{mean} ± {found.half_width:.{digits}f}"
