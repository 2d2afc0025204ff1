"""``spotbag bench``: the papers' tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from .arguments import JsonOption, check_output, print_json
from .progress import counting

if TYPE_CHECKING:
    from ..benchmarks.bags.paper_days import DayOptions
    from ..benchmarks.paper import OnDays, PublishedComparisonResult
    from ..benchmarks.paper_pictures import Pictures

app = typer.Typer(no_args_is_help=True, help="The papers' tables: our replays beside the printed numbers.")


class DSpot(StrEnum):
    """Where D_spot comes from."""

    PRINTED = "printed"
    ESTIMATED = "estimated"


class Scales(StrEnum):
    """By what the iterated local search divides cost and makespan."""

    PAPER = "paper"
    INSTANCE = "instance"


RunsOption = Annotated[int, typer.Option("--runs", "-n", metavar="N", min=1, help="Days of each cell.")]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Seed of the days, and of plans that use one.")]
WorkersOption = Annotated[int, typer.Option("--workers", "-w", metavar="W", min=1, help="Processes.")]
RateScaleOption = Annotated[
    float, typer.Option("--rate-scale", metavar="R", min=0.01, help="Multiplies the rates of all scenarios.")
]
DSpotOption = Annotated[
    DSpot,
    typer.Option(
        "--d-spot",
        help="D_spot of jobs whose printed plan ends later than Algorithm 1 of HADS allows: the second after the "
        "printed makespan, or as estimated all the same.",
    ),
]
OutOption = Annotated[
    str | None, typer.Option("--out", metavar="FILE", help="Write all figures, with their intervals: .csv or .json.")
]


@app.command("hads", epilog="Example:  spotbag bench hads --runs 50 --workers 2 --out hads.csv")
def hads_command(
    runs: RunsOption = 200,
    seed: SeedOption = 0,
    workers: WorkersOption = 1,
    rate_scale: RateScaleOption = 1.0,
    d_spot: DSpotOption = DSpot.PRINTED,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tables 9 to 11 and Figs 8 to 12 of HADS, and what the paper says of them."""
    from ..benchmarks.bags.hads.rows import bench_hads, n_hads_days

    options = _options(runs, seed, workers, rate_scale, d_spot)
    _report(lambda on_days: bench_hads(options, on_days), n_hads_days(options), out, as_json)


@app.command("burst-hads", epilog="Example:  spotbag bench burst-hads --runs 50 --workers 2 --out burst-hads.csv")
def burst_hads_command(
    runs: RunsOption = 200,
    seed: SeedOption = 0,
    workers: WorkersOption = 1,
    rate_scale: RateScaleOption = 1.0,
    d_spot: DSpotOption = DSpot.PRINTED,
    scales: Annotated[
        Scales,
        typer.Option(
            "--scales",
            help="By what the iterated local search divides cost and makespan: its initial cost and D_spot, as in the "
            "paper, or the scales of the instance.",
        ),
    ] = Scales.PAPER,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tables IV and VI of Burst-HADS, and what the paper says of them."""
    from ..benchmarks.bags.burst_hads.rows import bench_burst_hads, n_burst_hads_days

    options = _options(runs, seed, workers, rate_scale, d_spot)
    _report(lambda on_days: bench_burst_hads(options, scales.value, on_days), n_burst_hads_days(options), out, as_json)


@app.command("thai", epilog="Example:  spotbag bench thai --runs 50 --workers 2 --plots pictures")
def thai_command(
    runs: Annotated[int, typer.Option("--runs", "-n", metavar="N", min=2, help="Draws of the run times.")] = 200,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the first draw.")] = 0,
    workers: WorkersOption = 1,
    plots: Annotated[
        str | None, typer.Option("--plots", metavar="FOLDER", help="Draw Figs 2 to 5 and the sampling sweep there.")
    ] = None,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Table 3 and Figs 2 to 5 of Thai et al., what the paper says of them, and how long to sample."""
    from ..benchmarks.streams.thai.pictures import PICTURES
    from ..benchmarks.streams.thai.rows import bench_thai
    from ..benchmarks.streams.thai.runs import ThaiOptions, n_thai_runs

    options = ThaiOptions(runs, seed, workers)
    _report(lambda on_runs: bench_thai(options, on_runs), n_thai_runs(options), out, as_json, plots, PICTURES)


@app.command("a2ha", epilog="Example:  spotbag bench a2ha --runs 50 --workers 2 --plots pictures")
def a2ha_command(
    runs: Annotated[int, typer.Option("--runs", "-n", metavar="N", min=1, help="Orderings of the tasks.")] = 200,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the first ordering.")] = 0,
    workers: WorkersOption = 1,
    optimum_time: Annotated[
        float,
        typer.Option(
            "--optimum-time", metavar="S", min=0.1, help="Seconds for the least wall time of an ordering, at most."
        ),
    ] = 20.0,
    plots: Annotated[
        str | None, typer.Option("--plots", metavar="FOLDER", help="Draw Figs 9 to 12, Table 2 and more there.")
    ] = None,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tables 1 and 2 and Figs 9 to 12 of A2HA, what the paper says, and what not knowing run times costs."""
    from ..benchmarks.streams.a2ha.pictures import PICTURES
    from ..benchmarks.streams.a2ha.rows import bench_a2ha
    from ..benchmarks.streams.a2ha.runs import A2haOptions, n_a2ha_runs

    options = A2haOptions(runs, seed, workers, optimum_time)
    _report(lambda on_runs: bench_a2ha(options, on_runs), n_a2ha_runs(options), out, as_json, plots, PICTURES)


@app.command("caron", epilog="Example:  spotbag bench caron --runs 5 --workers 2 --plots pictures")
def caron_command(
    runs: Annotated[int, typer.Option("--runs", "-n", metavar="N", min=2, help="Draws of each set of jobs.")] = 20,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the first draw.")] = 0,
    workers: WorkersOption = 1,
    numbers: Annotated[
        list[int] | None,
        typer.Option(
            "--number",
            metavar="M",
            min=1,
            max=10_000,
            help="Jobs in a set, in place of 25, 50, 100, 200 and 400; can be repeated.",
        ),
    ] = None,
    plots: Annotated[
        str | None, typer.Option("--plots", metavar="FOLDER", help="Draw Figs 2 to 7 and more there.")
    ] = None,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Figs 2 to 7 of Caron & de Assuncao, what the paper says, lower bounds, and what trees of agents cost."""
    from ..benchmarks.platforms.caron.pictures import PICTURES
    from ..benchmarks.platforms.caron.rows import bench_caron, n_caron_steps
    from ..benchmarks.platforms.caron.runs import NUMBERS, CaronOptions

    options = CaronOptions(runs, seed, workers, tuple(sorted(set(numbers))) if numbers else NUMBERS)
    _report(lambda on_runs: bench_caron(options, on_runs), n_caron_steps(options), out, as_json, plots, PICTURES)


def _options(runs: int, seed: int, workers: int, rate_scale: float, d_spot: DSpot) -> DayOptions:
    from ..benchmarks.bags.paper_days import DayOptions

    return DayOptions(runs, seed, workers, rate_scale, d_spot.value)


def _report(
    run: Callable[[OnDays], PublishedComparisonResult],
    days: int,
    out: str | None,
    as_json: bool,
    plots: str | None = None,
    pictures: Pictures | None = None,
) -> None:
    """Run a comparison with a bar, write it, draw its pictures into a folder, print it."""
    from ..benchmarks.paper import RESULT_ENDINGS, format_result
    from ..core.errors import SpotbagError
    from ..core.text_files import write_text
    from .bench_report import print_result

    ending = "" if out is None else os.path.splitext(out)[1]
    if out is not None and ending not in RESULT_ENDINGS:
        raise SpotbagError(f"{out}: the name of a file of figures must end in {' or '.join(RESULT_ENDINGS)}")
    check_output(out)
    if plots is not None:
        from ..benchmarks.paper_pictures import prepare_pictures

        prepare_pictures(plots)
    with counting("replaying", days) as count:

        def on_days(done: int, label: str) -> None:
            for _ in range(done):
                count(label)

        result = run(on_days)
    if out is not None:
        write_text(out, format_result(result, ending))
    if plots is not None and pictures is not None:
        _draw(result, pictures, plots)
    if as_json:
        print_json(result.to_dict())
    else:
        print_result(result)


def _draw(result: PublishedComparisonResult, pictures: Pictures, folder: str) -> None:
    from ..benchmarks.paper_pictures import write_pictures

    for path in write_pictures(pictures, result.rows, folder):
        print(f"wrote {path}", file=sys.stderr)
