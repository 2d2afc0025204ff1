"""``spotbag compare``."""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...core.errors import SpotbagError
from ...core.processes import interruptible
from ...core.text_files import write_text
from ...core.text_tables import Column, Table, number, words
from ...core.wording import counted
from ..answers import Answer
from ..arguments import InstanceOptions, MethodOptions
from ..console import (
    NO_FEASIBLE_PLAN,
    VERDICTS,
    counting,
    least_width,
    print_rows,
    print_table,
    seconds,
    terminal_width,
    warn,
    wrote,
)
from ..options import INSTANCES, Only, argument, json_option, option
from ..runs import WorkerOptions

if TYPE_CHECKING:
    from ...core.workers import Workers
    from ...experiments.bags.cells import Finished, Source
    from ...experiments.bags.comparison import MethodTotal, Reference, Row, Summary
    from ...experiments.bags.specification import Specification
    from ...instances.instance import Instance

EXAMPLE = "Example:  spotbag compare hads/J60 memory/m10 --method auto,ils,lpt --seeds 3 --out rows.csv"

_METHODS = ("auto", "greedy", "lpt", "ils", "search")
_PLANNING = MethodOptions(time_limit=10.0)

_UNKNOWN = "-"
_PERCENT = "(% of the plan)"
_QUANTITIES = {"cheapest": "cost ($)", "fastest": "makespan (s)", "balanced": "objective"}
"""Columns of what each goal makes least."""


class Compare(Answer, kind="compare"):
    """``spotbag compare``."""

    interrupted: bool
    references: tuple[Reference, ...]
    summaries: tuple[Summary, ...]
    methods: tuple[MethodTotal, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True)
class _Workers(WorkerOptions):
    """Options of the workers, in the words of comparisons."""

    workers: int = option("W", "Runs at the same time; they share the machine.", 1, short="-w", min=1)


def compare_command(
    *,
    context: typer.Context,
    instances: list[str] = argument(
        "INSTANCE...", "JSON files or names of library instances.", completes=INSTANCES, file="read"
    ),
    changes: InstanceOptions,
    planning: Annotated[
        MethodOptions, Only("method", "pairs", "time_limit", "target_gap", "seed", "threads")
    ] = _PLANNING,
    seeds: int = option("N", "Runs of each method that uses random numbers.", 1, min=1),
    work: _Workers,
    out: str | None = option("FILE", "Write every single run: .csv or .json.", file="written"),
    spec: str | None = option("FILE", "Write the experiment that this is, to be grown: .toml.", file="written"),
    as_json: bool = json_option(),
) -> None:
    """Compare methods: how good their plans are, and how far from the optimum.

    Gaps are to the best bound of all runs, and of what is known of a library instance. A run without a plan is
    counted, never averaged. Methods are auto, greedy, lpt, ils and search if none is given. An option of a method goes
    to those methods that have it. Exit code 0: done; 1: no method found a plan for some instance; 2: bad input;
    130: interrupted, after showing the runs so far.
    """
    methods, time_limit = planning.methods(_METHODS), planning.time_limit
    assert time_limit is not None, "there is a limit if none is given"
    _check(out, spec, time_limit)
    problems = _load(instances, changes)
    executor = work.executor(context)
    planning.warn_of_idle(*methods)
    asked = _specification(list(problems), methods, planning, time_limit, seeds)
    if spec is not None:
        _write_specification(asked, problems, spec)
    with interruptible():  # from here on there is an answer, which a signal asks for
        found = _compared(problems, *_run(asked, problems, executor))
        if out is not None:
            _write(found.rows, out, time_limit=time_limit, seeds=seeds, workers=work.dask or work.workers)
            wrote(out)
        if as_json:
            found.print_json()
        else:
            runs = f"{counted(len(found.rows), 'run')} on {counted(len(problems), 'instance')}"
            several = f", {seeds} seeds of each method that uses random numbers" if seeds > 1 else ""
            print(f"{runs}, {time_limit:g} s each at most{several}")
            _print_tables(problems, found)
    if any(all(entry.plans == 0 for entry in found.summaries if entry.instance == label) for label in problems):
        raise typer.Exit(NO_FEASIBLE_PLAN)


def _run(asked: Specification, problems: Mapping[str, Instance], executor: Workers) -> tuple[list[Row], bool]:
    """Run the experiment; return its rows, by instance and method, and whether it was interrupted."""
    from ...experiments.bags.comparison import row_of
    from ...experiments.bags.run import run_experiment

    found: list[dict[str, Any]] = []

    def take(cell: Finished) -> None:
        found.append(cell.row)
        count(cell.name)

    with counting("comparing", None) as count:
        progress = run_experiment(
            asked,
            None,
            given=_sources(problems),
            workers=executor,
            on_start=lambda cells, before: count("", before, total=cells),
            on_cell=take,
        )
    # With several workers, runs end in any order; the same comparison shall print the same table.
    places = {pair: place for place, pair in enumerate(itertools.product(problems, asked.methods))}
    rows = sorted(map(row_of, found), key=lambda row: (places[row.instance, row.method], row.seed))
    if progress.interrupted:
        warn([f"interrupted: {len(rows)} of {progress.cells} runs are here, and one of them may have been cut short"])
    return rows, progress.interrupted


def _compared(problems: Mapping[str, Instance], rows: Sequence[Row], interrupted: bool) -> Compare:
    """Compare methods by their rows, and by what is known of library instances."""
    from ...experiments.bags.comparison import known_values, make_references, summarise, total_by_method
    from ...instances.bags.best_known import best_known

    references = make_references(rows, known_values(problems, best_known()))
    warn(dict.fromkeys(f"{row.instance} by {row.method}: {text}" for row in rows for text in row.warnings))
    warn(reference.contradiction for reference in references.values() if reference.contradiction)
    summaries = summarise(rows, references)
    return Compare(
        interrupted=interrupted,
        references=tuple(references.values()),
        summaries=tuple(summaries),
        methods=tuple(total_by_method(summaries)),
        rows=tuple(rows),
    )


# ---------------------------------------------------------------------------- input


def _check(out: str | None, spec: str | None, time_limit: float) -> None:
    """Refuse, before any work is done, what cannot be written or run."""
    from ...core.limits import refuse_no_time_limit
    from ...experiments.bags.comparison import ROW_FORMATS

    refuse_no_time_limit(time_limit)
    if spec is not None and not spec.endswith(".toml"):
        raise SpotbagError(f"{spec}: the name of a file of an experiment must end in .toml")
    if out is not None and os.path.splitext(out)[1] not in ROW_FORMATS:
        raise SpotbagError(f"{out}: the name of a file of rows must end in {' or '.join(ROW_FORMATS)}")


def _load(arguments: Sequence[str], changes: InstanceOptions) -> dict[str, Instance]:
    """Instances by what they are called in the table: by name, or by argument where two have the same."""
    loaded = {argument: changes.load(argument) for argument in dict.fromkeys(arguments)}
    # Two files may hold instances of one name, whose rows would be put together.
    names = [instance.name for instance in loaded.values()]
    return {
        argument if names.count(instance.name) > 1 else instance.name: instance for argument, instance in loaded.items()
    }


def _specification(
    labels: Sequence[str], methods: Sequence[str], planning: MethodOptions, time_limit: float, seeds: int
) -> Specification:
    """Return the experiment that a comparison is; instances are named by what they are called in the table."""
    from ...experiments.bags.specification import Specification, options_by_method

    return Specification(
        instances=list(labels),
        methods=list(methods),
        seeds=seeds,
        first_seed=planning.seed,
        time_limit_s=time_limit,
        target_gap=planning.target_gap,
        threads=planning.threads or 1,  # of methods that are compared, each has one
        options=options_by_method(methods, planning.options),
    )


def _in_library(label: str, instance: Instance) -> bool:
    """Tell if the library has an instance of this name that is equal."""
    from ...instances.library import library_instance, library_names

    return label in library_names() and library_instance(label) == instance


def _sources(problems: Mapping[str, Instance]) -> dict[str, Source]:
    """Return where the instances come from."""
    from ...experiments.bags.cells import Source

    return {
        label: Source(label) if _in_library(label, instance) else Source(label, text=instance.to_text())
        for label, instance in problems.items()
    }


def _write_specification(asked: Specification, problems: Mapping[str, Instance], spec: str) -> None:
    """Write the experiment, and beside it the instances that are not those of the library, as the options made them."""
    from ...experiments.bags.specification import format_specification

    folder = Path(spec.removesuffix(".toml") + "-instances")
    named = []
    for label, instance in problems.items():
        # Others are written out: options may have changed them, and the file may be gone tomorrow.
        if _in_library(label, instance):
            named.append(label)
            continue
        folder.mkdir(exist_ok=True)
        file = folder / f"{len(named) + 1}-{re.sub(r'[^A-Za-z0-9._-]+', '-', label)}.json"
        write_text(file, instance.to_text())
        wrote(str(file))
        named.append(f"{folder.name}/{file.name}")
    write_text(spec, format_specification(asked.model_copy(update={"instances": named})))
    wrote(spec)


# ---------------------------------------------------------------------------- output


def _write(rows: Sequence[Row], out: str, **about: Any) -> None:
    from ... import __version__
    from ...experiments.bags.comparison import ROW_FORMATS

    write_text(out, ROW_FORMATS[os.path.splitext(out)[1]](rows, version=__version__, **about))


def _print_tables(problems: Mapping[str, Instance], found: Compare) -> None:
    """Print a block for each instance, notes on runs without a plan, and the methods over all instances."""
    summaries = found.summaries
    texts = dict.fromkeys(_note(entry) for entry in summaries if entry.reason)
    notes = {text: place for place, text in enumerate(texts, start=1)}
    several = max((entry.runs for entry in summaries), default=1) > 1
    wanted = {_QUANTITIES[instance.goal] for instance in problems.values()}
    rows: list[Mapping[str, str]] = []
    for reference in found.references:
        label, goal = reference.instance, problems[reference.instance].goal
        mine = (entry for entry in summaries if entry.instance == label)
        rows += [{}, {"": label}, *(_cells(entry, goal, notes) for entry in mine), *_known_cells(reference, goal)]
    columns = [column for column in _COLUMNS if several or column.heading != "worst seed"]
    cells = ([row.get(column.heading, "") for column in columns] if row else [] for row in rows[1:])
    table = Table(columns, list(cells))
    # The gap to the bound is also one to the optimum, where that is proved.
    headings = [column.heading for column in table.columns]
    width = terminal_width()
    # Rather fewer columns than cells that are broken into pieces.
    narrow = width is not None and width < least_width(table)
    left_out = {heading for heading in _QUANTITIES.values() if narrow or heading == "objective"} - wanted
    left_out |= {heading for heading in headings if narrow and heading.startswith("gap to optimum")}
    left_out |= set() if any(entry.survives for entry in summaries) and not narrow else {"survives"}
    shown = table.with_columns(place for place, heading in enumerate(headings) if heading not in left_out)
    print_table(shown, tight=narrow)
    if narrow:
        more = [heading.partition(" (")[0].partition("\n")[0] for heading in headings if heading in left_out]
        print(f"A wider terminal shows {', '.join(name for name in more if name != 'objective')} as well.")
    if several:
        print("Quantities and gaps are means over the seeds that found a plan.")
    for text, place in notes.items():
        print(f"[{place}] {text}")
    if len(problems) > 1:
        print()
        _print_totals(found.methods)


_COLUMNS = (
    *(Column(""), *(Column(heading, True) for heading in ("objective", "worst seed", "cost ($)", "makespan (s)"))),
    *(Column(f"gap to {what}\n{_PERCENT}", True) for what in ("bound", "optimum")),
    *(Column("survives"), Column("status"), Column("time (s)", True, measured=True)),
)


def _cells(summary: Summary, goal: str, notes: Mapping[str, int]) -> Mapping[str, str]:
    """Return the cells of a method on an instance, by their columns; its status has the number of a note."""
    status = _alike(summary.statuses)
    note = notes.get(_note(summary))
    cells = (
        f"  {summary.method}",
        _number(summary.objective_mean, 6) if goal == "balanced" else "",
        _value(summary.objective_worst, goal),
        _number(summary.cost_usd_mean, 6),
        _value(summary.makespan_s_mean, "fastest"),
        _number(summary.bound_gap_mean, 3, 100),
        _number(summary.optimum_gap_mean, 3, 100),
        _alike({VERDICTS[verdict]: count for verdict, count in summary.survives.items()}) or _UNKNOWN,
        status if note is None else f"{status} [{note}]",
        _number(summary.runtime_s_mean, 3),
    )
    return {column.heading: cell for column, cell in zip(_COLUMNS, cells, strict=True)}


def _alike(counts: Mapping[Any, int]) -> str:
    """Return the one value that all runs have; a count before each value, if not all are alike."""
    return next(iter(counts)) if len(counts) == 1 else ", ".join(f"{count} {what}" for what, count in counts.items())


def _value(value: float | None, goal: str) -> str:
    """Return a value of the quantity that a goal makes least, as a cell."""
    if goal == "fastest" and value is not None:
        return seconds(int(value)) if value.is_integer() else _number(value, 1)
    return _number(value, 6)


def _known_cells(reference: Reference, goal: str) -> Iterator[Mapping[str, str]]:
    """Yield the cells of what is known of an instance, such as its optimum, where the goal makes that least."""

    def row(name: str, value: str, source: str) -> Mapping[str, str]:
        return {"": f"  = {name}", _QUANTITIES[goal]: value, "status": source}

    if reference.optimum is not None:
        yield row("optimum", _value(reference.optimum, goal), f"by {reference.best_by}")
    elif reference.bound is not None:
        bound = "no plan" if math.isinf(reference.bound) else _value(reference.bound, goal)
        yield row("best bound", bound, f"by {reference.bound_by}")
    if reference.best_by == "best known" and reference.best is not None and reference.optimum is None:
        yield row("best known", _value(reference.best, goal), "better than these")


def _note(summary: Summary) -> str:
    return f"{summary.method}: {summary.reason}" if summary.reason else ""


def _print_totals(totals: Sequence[MethodTotal]) -> None:
    print("All instances; gaps to the optimum, or to the bound where no optimum is proved, over the instances solved:")
    print_rows(
        totals,
        words("method"),
        number("solved", lambda total: f"{total.solved} of {total.instances}"),
        number("proved optimal", "optimal"),
        number(f"mean gap\n{_PERCENT}", "gap_mean", ",.3f", 100),
        number(f"worst gap\n{_PERCENT}", "gap_worst", ",.3f", 100),
        number("total time (s)", "runtime_s", ",.2f", measured=True),
    )


def _number(value: float | None, digits: int, times: float = 1) -> str:
    return _UNKNOWN if value is None else f"{times * value:,.{digits}f}"
