"""``spotbag bench``: the papers' tables."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import typer

from spotbag.cli.answers import Answer, Part, beside, print_object
from spotbag.cli.bench import app
from spotbag.cli.console import INTERRUPTED, beside_the_answer, warn, wrote
from spotbag.cli.options import adder, check_output, duration_option, json_option, option
from spotbag.cli.runs import WorkerOptions
from spotbag.core.errors import SpotbagError
from spotbag.core.limits import LimitReached
from spotbag.core.processes import interruptible
from spotbag.core.text_files import write_text

if TYPE_CHECKING:
    from spotbag.experiments.bags.specification import PaperName

    from .claims import Verdict


class PublishedRow(Part):
    """A quantity of a table, as printed and as replayed."""

    table: str
    job: str
    scenario: str
    policy: str
    quantity: str
    relation: Literal["=", ">", "<"]
    printed: float | None
    n: int
    mean: float | None
    low: float | None
    high: float | None


class PublishedClaim(Part):
    """A statement of a paper, judged."""

    paper: str
    verdict: Verdict
    claim: dict[str, Any] = beside()


class PublishedComparison(Answer, kind="published-comparison"):
    """``spotbag bench``: beside these, the settings of the replays."""

    paper: str
    about: dict[str, Any] = beside()
    plans: tuple[dict[str, Any], ...]
    claims: tuple[PublishedClaim, ...]
    findings: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]
    rows: tuple[PublishedRow, ...]


# One run has no interval, by which statements are judged.
_runs_option = partial(option, "N", short="-n", min=2)
_seed_option = partial(option, "SEED", default=0, min=0)
_plots_option = partial(option, "FOLDER")


@dataclass(frozen=True, kw_only=True)
class _Runs:
    """Options of all papers: which runs are replayed."""

    runs: int = _runs_option("Days of each cell.", 200)
    seed: int = _seed_option("Seed of the days, and of plans that use one.")


@dataclass(frozen=True, kw_only=True)
class _Paper(WorkerOptions, _Runs):
    """Options of a paper; those that only some have are settings of the replays by the same names."""

    @property
    def folder(self) -> str | None:
        """Folder of the pictures, if the paper has some, and they are wanted."""
        folder: str | None = getattr(self, "plots", None)
        return folder


@dataclass(frozen=True, kw_only=True)
class _Output:
    """Output of a comparison: a file of figures, and how much is printed."""

    out: str | None = option("FILE", "Write all figures, with their intervals: .csv or .json.")
    full: bool = option(None, "Print all tables, all statements and the reasons, not one screen.", False)
    as_json: bool = json_option()


def _add(name: PaperName, example: str) -> Callable[[type[_Paper]], type[_Paper]]:
    """Add the command of a paper, which has its help from the options."""

    def add(kind: type[_Paper]) -> type[_Paper]:
        made = dataclass(frozen=True, kw_only=True)(kind)

        def command(context: typer.Context, options: _Paper, output: _Output) -> None:
            _report(name, context, options, output)

        command.__doc__ = kind.__doc__
        command.__annotations__["options"] = made
        adder(app, "bench")(name, example)(command)
        return made

    return add


@_add("hads", "--runs 50 --workers 2 --out hads.csv")
class _Hads(_Paper):
    """Tables 9 to 11 and Figs 8 to 13 of HADS, and what the paper says of them."""

    rate_scale: float = option("R", "Multiplies the rates of all scenarios.", 1.0, min=0.01)
    d_spot: Literal["printed", "estimated"] = option(
        None,
        "D_spot of jobs whose printed plan ends later than Algorithm 1 of HADS allows: the second after the printed "
        "makespan, or as estimated all the same.",
        "printed",
        name="d-spot-rule",
    )


@_add("burst-hads", "--runs 50 --workers 2 --out burst-hads.csv")
class _BurstHads(_Hads):
    """Tables IV and VI of Burst-HADS, and what the paper says of them."""

    scales: Literal["paper", "instance"] = option(
        None,
        "By what the iterated local search divides cost and makespan, which the paper only calls normalized: its "
        "initial cost and D_spot (paper), or the scales of the instance.",
        "paper",
    )


@_add("thai", "--runs 50 --workers 2 --plots pictures")
class _Thai(_Paper):
    """Table 3 and Figs 2 to 5 of Thai et al., what the paper says of them, and how long to sample."""

    runs: int = _runs_option("Draws of the run times.", 200)
    seed: int = _seed_option("Seed of the first draw.")
    plots: str | None = _plots_option("Draw Figs 2 to 5 and the sampling sweep there, as PNG.")


@_add("a2ha", "--runs 50 --workers 2 --plots pictures")
class _A2ha(_Paper):
    """Tables 1 and 2 and Figs 9 to 12 of A2HA, what the paper says, and what not knowing run times costs."""

    runs: int = _runs_option("Orderings of the tasks.", 200)
    seed: int = _seed_option("Seed of the first ordering.")
    optimum_s: float = duration_option(
        "Time to find the least wall time of an ordering.", 60.0, name="optimum-time", least=0.1
    )
    plots: str | None = _plots_option("Draw Figs 9 to 12, Table 2 and more there, as PNG.")


@_add("caron", "--runs 5 --workers 2 --plots pictures")
class _Caron(_Paper):
    """Figs 2 to 7 of Caron & de Assuncao, what the paper says, lower bounds, and what trees of agents cost."""

    runs: int = _runs_option("Draws of each set of jobs.", 20)
    seed: int = _seed_option("Seed of the first draw.")
    numbers: list[int] | None = option(
        "N",
        "Jobs in a set, in place of 25, 50, 100, 200 and 400; can be repeated.",
        name="number",
        min=1,
        max=10_000,
    )
    plots: str | None = _plots_option("Draw Figs 2 to 7 and more there, as PNG.")


@_add("uniform-progress", "--runs 10 --workers 2")
class _UniformProgress(_Paper):
    """Table 3 and Figs 8 and 11 to 13 of Uniform Progress (Wu et al., NSDI 2024), and what the paper says of them."""

    runs: int = _runs_option("Traces of each availability, or windows of each recorded trace.", 40)
    seed: int = _seed_option("Seed of the first trace that is drawn.")
    traces: str | None = option("FOLDER", "Recorded traces in place of drawn ones: JSON with gap_seconds and data.")
    one_means: Literal["available", "preempted"] | None = option(
        "STATE", "What 1 means in recorded traces, available or preempted; must be said of them."
    )


def _report(name: PaperName, context: typer.Context, options: _Paper, output: _Output) -> None:
    """Run the experiment of a single paper; write the result, draw its pictures into a folder, print it."""
    from spotbag.experiments.bags.specification import PaperSettings, Specification

    from .command_report import print_result, print_screen
    from .paper_pictures import prepare_pictures, write_pictures
    from .paper_tables import RESULT_ENDINGS, format_result
    from .papers import paper_of, replayed_paper

    # An option that can be repeated, and is not given, is an empty list: the paper has its own numbers then.
    given = {key: value for key, value in vars(options).items() if value != []}
    chosen = PaperSettings(**{key: value for key, value in given.items() if key in PaperSettings.model_fields})
    asked = Specification(papers=[name], paper_runs=options.runs, paper_options={name: chosen})
    paper, settings = paper_of(asked, name, options.executor(context))
    out, plots = output.out, options.folder
    ending = "" if out is None else os.path.splitext(out)[1]
    if out is not None and ending not in RESULT_ENDINGS:
        raise SpotbagError(f"{out}: the name of a file of figures must end in {' or '.join(RESULT_ENDINGS)}")
    # What cannot be written is reported now, not after replays of minutes.
    check_output(out)
    if plots is not None:
        prepare_pictures(plots)
    with interruptible():  # from here on there is an answer, which a signal asks for
        try:
            result = replayed_paper(paper, settings, "replaying")
        except LimitReached:
            warn(["interrupted: means of fewer runs would not be comparable"])
            raise typer.Exit(INTERRUPTED) from None
        if out is not None:
            write_text(out, format_result(result, ending))
            wrote(out)
        if plots is not None:
            with beside_the_answer():
                for path in write_pictures(paper.pictures, result.rows, plots):
                    wrote(str(path))
        if output.as_json:
            print_object(result.to_dict())
        else:
            (print_result if output.full else print_screen)(paper, result)
