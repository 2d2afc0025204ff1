"""Findings of the replays of the A2HA paper beyond its sentences."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ....core.statistics import estimate
from ...claims import Claim, is_above, is_below, judged, show
from .comparisons import Found, mean_span, span, value
from .printed import A2haFigures, a2ha_figures
from .runs import AT_THE_START, METRICS, WORDS, A2haRuns
from .settings import SHORT_JOBS, STYLES


def a2ha_findings(runs: A2haRuns) -> Iterator[Claim]:
    """Initial hosts, a larger budget, waiting for predictions, and what not knowing the run times costs."""
    figures = a2ha_figures()
    yield _initial_hosts(figures, runs)
    yield _waiting(figures, runs)
    yield _twice_the_budget(runs)
    if runs.not_knowing:
        yield _not_knowing(runs, "time", "later")
        yield _not_knowing(runs, "payment", "dearer")


def _initial_hosts(figures: A2haFigures, runs: A2haRuns) -> Claim:
    """Finding on the order of the three lines of Table 2."""
    found: list[Found] = []
    for style in STYLES:
        for more, fewer in pairwise(figures.heuristic_cases):
            assert more.initial_hosts is not None
            assert fewer.initial_hosts is not None
            mine, its = (runs.long[style, initial] for initial in (more.initial_hosts, fewer.initial_hosts))
            for quantity in ("wall_h", "payment_h"):
                less = mine.less(its, METRICS[quantity])
                text = f"{style}, {more.initial_hosts} - {fewer.initial_hosts}: {WORDS[quantity]} {show(less, 2)}"
                found.append((text, is_below(less) if quantity == "wall_h" else is_above(less)))
    one, many = runs.long[runs.style, 1], runs.long[runs.style, 100]
    return judged(
        "for long tasks more initial hosts mean less time and more payment",
        found,
        f"1 to 100: {value(one, 'wall_h'):.2f} to {value(many, 'wall_h'):.2f} h, "
        f"{value(one, 'payment_h'):.0f} to {value(many, 'payment_h'):.0f} h paid",
    )


def _waiting(figures: A2haFigures, runs: A2haRuns) -> Claim:
    found: list[Found] = []
    waits = []
    for case in figures.heuristic_cases:
        assert case.initial_hosts is not None
        start = runs.long_at_once[AT_THE_START, case.initial_hosts]
        for style in STYLES:
            more = runs.long_at_once[style, case.initial_hosts].less(start, METRICS["wall_h"])
            found.append((f"{case.case}, {style}: {show(more, 2)} h", is_above(more)))
            waits.append(more)
    return judged(
        "for long tasks waiting for predictions takes longer than as many hosts from the start on",
        found,
        f"{mean_span(waits, 1)} h longer",
    )


def _twice_the_budget(runs: A2haRuns) -> Claim:
    found: list[Found] = []
    times: dict[str, list[float]] = {"hosts": [], "payment_h": [], "wall_h": []}
    for job in SHORT_JOBS:
        base, twice = runs.short(job, "conservative"), runs.twice[job]
        for quantity, values in times.items():
            values.append(value(twice, quantity) / value(base, quantity))
        less = twice.less(base, METRICS["wall_h"])
        found.append((f"{job} {show(less, 2)} h", is_below(less)))
    earlier = span((100 * (1 - ratio) for ratio in times["wall_h"]), 0)
    return judged(
        "twice the budget buys time",
        found,
        f"{span(times['hosts'], 1)} times the hosts, {span(times['payment_h'], 1)} times the payment, {earlier} % "
        "earlier",
    )


def _not_knowing(runs: A2haRuns, what: str, word: str) -> Claim:
    """Of the first orderings, against the best plan that was found."""
    found: list[Found] = []
    means = []
    for (job, style), pairs in runs.not_knowing.items():
        above = estimate(
            [
                100 * (pair.run.wall_s / pair.wall_s - 1)
                if what == "time"
                else 100 * (pair.run.paid_units / pair.least_units - 1)
                for pair in pairs
            ]
        )
        found.append((f"{job}, {style}: {show(above, 0)} %", is_above(above)))
        means.append(above)
    same = "payment" if what == "time" else "time"
    return judged(
        f"not knowing the run times costs {what}: {word} than with known ones for the same {same}",
        found,
        f"{mean_span(means, 0)} %",
    )
