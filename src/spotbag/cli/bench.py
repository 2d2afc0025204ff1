"""``spotbag bench``: the papers' tables."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from ..core.processes import interruptible
from .answers import Answer, Part, beside, print_object
from .arguments import JsonOption, check_output, duration_option, warn, wrote
from .progress import INTERRUPTED, beside_the_answer
from .run_options import DaskOption, WorkersOption, workers_of

if TYPE_CHECKING:
    from ..benchmarks.bags.experiments.specification import PaperName
    from ..benchmarks.claims import Verdict
    from ..core.workers import Workers

app = typer.Typer(no_args_is_help=True, help="The papers' tables: our replays beside the printed numbers.")


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


class DSpot(StrEnum):
    """Where D_spot comes from."""

    PRINTED = "printed"
    ESTIMATED = "estimated"


class Scales(StrEnum):
    """Sources of the scales by which the iterated local search divides cost and makespan."""

    PAPER = "paper"
    INSTANCE = "instance"


def _runs(help_text: str) -> Any:
    """Runs of each cell: one has no interval, by which statements are judged."""
    return typer.Option("--runs", "-n", metavar="N", min=2, help=help_text)


def _seed(help_text: str) -> Any:
    return typer.Option("--seed", metavar="SEED", min=0, help=help_text)


def _plots(help_text: str) -> Any:
    return typer.Option("--plots", metavar="FOLDER", help=help_text)


DaysOption = Annotated[int, _runs("Days of each cell.")]
DaysSeedOption = Annotated[int, _seed("Seed of the days, and of plans that use one.")]
DrawsOption = Annotated[int, _runs("Draws of the run times.")]
SetsOption = Annotated[int, _runs("Draws of each set of jobs.")]
DrawsSeedOption = Annotated[int, _seed("Seed of the first draw.")]
RateScaleOption = Annotated[
    float, typer.Option("--rate-scale", metavar="R", min=0.01, help="Multiplies the rates of all scenarios.")
]
DSpotOption = Annotated[
    DSpot,
    typer.Option(
        "--d-spot-rule",
        help="D_spot of jobs whose printed plan ends later than Algorithm 1 of HADS allows: the second after the "
        "printed makespan, or as estimated all the same.",
    ),
]
OutOption = Annotated[
    str | None, typer.Option("--out", metavar="FILE", help="Write all figures, with their intervals: .csv or .json.")
]
FullOption = Annotated[
    bool, typer.Option("--full", help="Print all tables, all statements and the reasons, not one screen.")
]


@app.command("hads", epilog="Example:  spotbag bench hads --runs 50 --workers 2 --out hads.csv")
def hads_command(
    context: typer.Context,
    runs: DaysOption = 200,
    seed: DaysSeedOption = 0,
    workers: WorkersOption = 1,
    dask: DaskOption = None,
    rate_scale: RateScaleOption = 1.0,
    d_spot: DSpotOption = DSpot.PRINTED,
    out: OutOption = None,
    full: FullOption = False,
    as_json: JsonOption = False,
) -> None:
    """Tables 9 to 11 and Figs 8 to 13 of HADS, and what the paper says of them."""
    settings = {"seed": seed, "rate_scale": rate_scale, "d_spot": d_spot.value}
    _report("hads", runs, settings, workers_of(context, workers, dask), Output(out, full, as_json))


@app.command("burst-hads", epilog="Example:  spotbag bench burst-hads --runs 50 --workers 2 --out burst-hads.csv")
def burst_hads_command(
    context: typer.Context,
    runs: DaysOption = 200,
    seed: DaysSeedOption = 0,
    workers: WorkersOption = 1,
    dask: DaskOption = None,
    rate_scale: RateScaleOption = 1.0,
    d_spot: DSpotOption = DSpot.PRINTED,
    scales: Annotated[
        Scales,
        typer.Option(
            "--scales",
            help="By what the iterated local search divides cost and makespan, which the paper only calls normalized: "
            "its initial cost and D_spot (paper), or the scales of the instance.",
        ),
    ] = Scales.PAPER,
    out: OutOption = None,
    full: FullOption = False,
    as_json: JsonOption = False,
) -> None:
    """Tables IV and VI of Burst-HADS, and what the paper says of them."""
    settings = {"seed": seed, "rate_scale": rate_scale, "d_spot": d_spot.value, "scales": scales.value}
    _report("burst-hads", runs, settings, workers_of(context, workers, dask), Output(out, full, as_json))


@app.command("thai", epilog="Example:  spotbag bench thai --runs 50 --workers 2 --plots pictures")
def thai_command(
    context: typer.Context,
    runs: DrawsOption = 200,
    seed: DrawsSeedOption = 0,
    workers: WorkersOption = 1,
    dask: DaskOption = None,
    plots: Annotated[str | None, _plots("Draw Figs 2 to 5 and the sampling sweep there, as PNG.")] = None,
    out: OutOption = None,
    full: FullOption = False,
    as_json: JsonOption = False,
) -> None:
    """Table 3 and Figs 2 to 5 of Thai et al., what the paper says of them, and how long to sample."""
    _report("thai", runs, {"seed": seed}, workers_of(context, workers, dask), Output(out, full, as_json, plots))


@app.command("a2ha", epilog="Example:  spotbag bench a2ha --runs 50 --workers 2 --plots pictures")
def a2ha_command(
    context: typer.Context,
    runs: Annotated[int, _runs("Orderings of the tasks.")] = 200,
    seed: Annotated[int, _seed("Seed of the first ordering.")] = 0,
    workers: WorkersOption = 1,
    dask: DaskOption = None,
    optimum_time: Annotated[
        float,
        duration_option("--optimum-time", "Time to find the least wall time of an ordering.", least_s=0.1, shown="60s"),
    ] = 60.0,
    plots: Annotated[str | None, _plots("Draw Figs 9 to 12, Table 2 and more there, as PNG.")] = None,
    out: OutOption = None,
    full: FullOption = False,
    as_json: JsonOption = False,
) -> None:
    """Tables 1 and 2 and Figs 9 to 12 of A2HA, what the paper says, and what not knowing run times costs."""
    settings = {"seed": seed, "optimum_s": optimum_time}
    _report("a2ha", runs, settings, workers_of(context, workers, dask), Output(out, full, as_json, plots))


@app.command("caron", epilog="Example:  spotbag bench caron --runs 5 --workers 2 --plots pictures")
def caron_command(
    context: typer.Context,
    runs: SetsOption = 20,
    seed: DrawsSeedOption = 0,
    workers: WorkersOption = 1,
    dask: DaskOption = None,
    numbers: Annotated[
        list[int] | None,
        typer.Option(
            "--number",
            metavar="N",
            min=1,
            max=10_000,
            help="Jobs in a set, in place of 25, 50, 100, 200 and 400; can be repeated.",
        ),
    ] = None,
    plots: Annotated[str | None, _plots("Draw Figs 2 to 7 and more there, as PNG.")] = None,
    out: OutOption = None,
    full: FullOption = False,
    as_json: JsonOption = False,
) -> None:
    """Figs 2 to 7 of Caron & de Assuncao, what the paper says, lower bounds, and what trees of agents cost."""
    settings = {"seed": seed, "numbers": numbers or None}
    _report("caron", runs, settings, workers_of(context, workers, dask), Output(out, full, as_json, plots))


class Output(NamedTuple):
    """Where a comparison goes: a file of figures, how much is printed, a folder for pictures."""

    out: str | None
    full: bool
    as_json: bool
    plots: str | None = None


def _report(name: PaperName, runs: int, settings: dict[str, Any], workers: Workers, output: Output) -> None:
    """Run the experiment of a single paper; write the result, draw its pictures into a folder, print it."""
    from ..benchmarks.bags.experiments.specification import PaperSettings, Specification
    from ..benchmarks.paper_pictures import prepare_pictures, write_pictures
    from ..benchmarks.paper_result import RESULT_ENDINGS, format_result
    from ..core.errors import SpotbagError
    from ..core.limits import LimitReached
    from ..core.text_files import write_text
    from .bench_report import print_result, print_screen
    from .papers import paper_of, replayed_paper

    asked = Specification(papers=[name], paper_runs=runs, paper_options={name: PaperSettings(**settings)})
    paper, options = paper_of(asked, name, workers)
    out, plots = output.out, output.plots
    ending = "" if out is None else os.path.splitext(out)[1]
    if out is not None and ending not in RESULT_ENDINGS:
        raise SpotbagError(f"{out}: the name of a file of figures must end in {' or '.join(RESULT_ENDINGS)}")
    check_output(out)
    if plots is not None:
        prepare_pictures(plots)
    with interruptible():  # from here on there is an answer, which a signal asks for
        try:
            result = replayed_paper(paper, options, "replaying")
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
