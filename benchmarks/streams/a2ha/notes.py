"""Reasons for the differences between our figures and those of the A2HA paper: the numbers of `notes.md`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from spotbag.core.quantities import SECONDS_PER_HOUR
from spotbag.instances.streams.draws import draw_jobs
from spotbag.instances.streams.stream_files import library_stream

from ...paper import read_notes
from .printed import A2haFigures, a2ha_figures
from .runs import AT_THE_START, METRICS, A2haCell, A2haRuns, run_times_s
from .settings import LONG_JOB, SHORT_JOBS

_QUARTER_S = 900


def a2ha_notes(runs: A2haRuns) -> Iterator[str]:
    """Reasons, each with the paper's own numbers where they contradict each other."""
    figures = a2ha_figures()
    values = _ratios(runs) | _ready_at_once(figures, runs) | _table_1(figures, runs) | _no_plan(figures, runs)
    return read_notes(__package__, values)


def _ratios(runs: A2haRuns) -> dict[str, Any]:
    seconds = run_times_s(draw_jobs(library_stream("a2ha/test-suite"), 0))
    sd = runs.short("test-suite", "conservative").sd(METRICS["hosts"])
    return {
        "n_long": sum(one > _QUARTER_S for one in seconds),
        "longest_min": max(seconds) / 60,
        "suite_sd": "-" if sd is None else f"{sd.value:.1f}",
        "conservative_h": runs.short("image", "conservative").statistic(METRICS["payment_h"]).value,
        "aggressive_h": runs.short("image", "aggressive").statistic(METRICS["payment_h"]).value,
    }


def _ready_at_once(figures: A2haFigures, runs: A2haRuns) -> dict[str, Any]:
    cases = sorted(figures.heuristic_cases, key=lambda case: case.initial_hosts or 0)
    initials = [case.initial_hosts or 0 for case in cases]
    start = [runs.long_at_once[AT_THE_START, initial] for initial in initials]
    ours = [runs.long["conservative", initial] for initial in initials]

    def means(cells: list[A2haCell], quantity: str, digits: int) -> str:
        return ", ".join(f"{cell.statistic(METRICS[quantity]).value:.{digits}f}" for cell in cells)

    return {
        "alone_h": sum(lines.alone.paid_units for lines in runs.lines) / len(runs.lines),
        "at_once_h": sum(lines.alone_at_once.paid_units for lines in runs.lines) / len(runs.lines),
        "printed_alone_h": figures.case("1 per task").payment_h,
        "initials": _listed([f"{initial}" for initial in initials]),
        "printed_walls": _listed([f"{case.wall_h:.2f}" for case in cases]),
        "printed_payments": _listed([f"{case.payment_h:g}" for case in cases]),
        "start_walls": means(start, "wall_h", 2),
        "start_payments": means(start, "payment_h", 0),
        "walls": means(ours, "wall_h", 2),
        "unused": ", ".join(f"{cell.statistic(lambda run: run.unused_hosts).value:.1f}" for cell in ours),
        "hosts": ", ".join(f"{case.hosts:.0f}" for case in cases),
        "created": ", ".join(f"{case.hosts - initial:.0f}" for case, initial in zip(cases, initials, strict=True)),
    }


def _table_1(figures: A2haFigures, runs: A2haRuns) -> dict[str, Any]:
    lost = []
    for job in SHORT_JOBS:
        cell, printed = runs.short(job, "conservative"), figures.job(job)
        ours = sum(run.wasted_s for run in cell.runs) / max(sum(run.interrupted_tasks for run in cell.runs), 1)
        theirs = 60 * printed.wasted_min / printed.interrupted_tasks
        lost.append(f"{job} {theirs:.0f} printed, {ours:.0f} ours, {printed.mean_s:.0f} the mean task")
    image, suite = figures.job("image"), figures.job("test-suite")
    usable_s = SECONDS_PER_HOUR - 300
    return {
        "lost": "; ".join(lost),
        "image_continued": 100 * image.continued_hosts / image.charged_h,
        "suite_continued": 100 * suite.continued_hosts / suite.charged_h,
        "suite_formula": suite.formula_hosts,
        "suite_optimal": suite.optimal_hosts,
        "suite_low_s": (suite.optimal_hosts - 1) * usable_s / suite.n_tasks,
        "suite_high_s": suite.optimal_hosts * usable_s / suite.n_tasks,
    }


def _no_plan(figures: A2haFigures, runs: A2haRuns) -> dict[str, Any]:
    optimal = figures.case("optimal")
    pairs = runs.not_knowing[LONG_JOB, "conservative"]
    gap = sum(pair.gap_percent for pair in pairs) / len(pairs)
    return {
        "optimal_hosts": optimal.hosts,
        "optimal_wall_h": optimal.wall_h,
        "optimal_payment_h": optimal.payment_h,
        "started_h": 3 * optimal.hosts,
        "paid_h": sum(pair.run.paid_units for pair in pairs) / len(pairs),
        "best_h": sum(pair.wall_s for pair in pairs) / len(pairs) / SECONDS_PER_HOUR,
        "better": f", at most {gap:.1f} % more than what any plan needs" if gap else "",
        "n_pairs": len(pairs),
    }


def _listed(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"
