"""Findings of the replays of the A2HA paper beyond its sentences."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from spotbag.core.statistics import estimate

from ...claims import Claim, above, below, span, spread
from .comparisons import SAID, value
from .printed import a2ha_figures
from .runs import AT_THE_START, METRICS, WORDS, A2haRuns
from .settings import SHORT_JOBS, STYLES


def a2ha_findings(runs: A2haRuns) -> Iterator[Claim]:
    """Initial hosts, a larger budget, waiting for predictions, and what not knowing the run times costs."""
    yield from _initial_hosts(runs)
    base = {job: runs.short(job, "conservative") for job in SHORT_JOBS}
    earlier = [below(job, runs.twice[job].less(base[job], METRICS["wall_h"]), 2, "h") for job in base]
    hosts, paid, wall = (
        [value(runs.twice[job], name) / value(base[job], name) for job in base]
        for name in ("hosts", "payment_h", "wall_h")
    )
    sooner = span([100 * (1 - ratio) for ratio in wall])
    ours = f"{span(hosts, 1)} times the hosts, {span(paid, 1)} times the payment, {sooner} % earlier"
    yield SAID.judge("twice-the-budget", earlier, ours)
    if runs.not_knowing:
        # Of the first orderings, against the best plan that was found.
        for name, of in (("costs-time", "later_percent"), ("costs-payment", "dearer_percent")):
            more = [
                above(f"{job}, {style}:", estimate([getattr(pair, of) for pair in pairs]), 0, "%")
                for (job, style), pairs in runs.not_knowing.items()
            ]
            yield SAID.judge(name, more, spread)


def _initial_hosts(runs: A2haRuns) -> Iterator[Claim]:
    """Findings on the three lines of Table 2: their order, and hosts from the start on."""
    cases = {case.initial_hosts: case.case for case in a2ha_figures().heuristic_cases if case.initial_hosts is not None}
    found = []
    for style in STYLES:
        for more, fewer in pairwise(cases):
            for quantity, compare in (("wall_h", below), ("payment_h", above)):
                less = runs.long[style, more].less(runs.long[style, fewer], METRICS[quantity])
                found.append(compare(f"{style}, {more} - {fewer}: {WORDS[quantity]}", less, 2))
    one, many = runs.long[runs.style, 1], runs.long[runs.style, 100]
    times, paid = (
        f"{value(one, name):.{digits}f} to {value(many, name):.{digits}f}"
        for name, digits in (("wall_h", 2), ("payment_h", 0))
    )
    yield SAID.judge("initial-hosts", found, f"1 to 100: {times} h, {paid} h paid")
    waits = [
        above(
            f"{name}, {style}:",
            runs.long_at_once[style, initial].less(runs.long_at_once[AT_THE_START, initial], METRICS["wall_h"]),
            2,
            "h",
        )
        for initial, name in cases.items()
        for style in STYLES
    ]
    yield SAID.judge("waiting", waits, f"{span([case.mean for case in waits], 1)} h longer")
