"""What the A2HA paper says of its results, and whether it holds in our replays."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from ....core.statistics import Estimate, mean_of
from ...claims import Claim, Verdict, is_above, is_below, is_within, judged, show
from ...paper_result import NOTHING, exactly
from .long_claims import long_claims
from .printed import A2haFigures, a2ha_figures
from .runs import CONSERVATIVE, METRICS, RATIOS, SHORT_JOBS, STYLES, WORDS, A2haCell, A2haRun, A2haRuns, Metric, Ratios

ABOUT_POINTS = 5.0
"""What a share of so many percent means: so many points up or down."""

NEARLY_TWICE = 1.8
"""What 'close to twice' means: at least so many times."""

_Found = tuple[str, Verdict]

_TWO = ("image", "synthetic")
"""The jobs of section 4.2, and of what is said of Figs 9 and 10."""

_USER: tuple[Ratios, ...] = tuple((creation, increase) for creation in (0.5, 0.75) for increase in (0.5, 0.75))
"""Ratios that the paper recommends (section 4.2)."""


def a2ha_claims(runs: A2haRuns) -> Iterator[Claim]:
    """Judge the statements of section 4, in their order; Table 2 and long tasks are in `long_claims`."""
    figures = a2ha_figures()
    yield _formula(figures)
    yield _difference(figures, runs, "image", 20)
    yield _difference(figures, runs, "test-suite", 35)
    yield _first_times(runs)
    yield _more_increase(runs, "wall_h", "the shorter the time")
    yield _more_increase(runs, "hosts", "the more hosts")
    yield _more_spread(runs)
    yield _no_difference(runs)
    yield _efficiency_within(runs)
    yield _thirteen(runs)
    yield _better_for_the_same(runs)
    yield _narrower(runs)
    yield _more_hosts(runs)
    yield _twice(figures, runs)
    yield _fewest_alike(runs)
    yield _always_half(runs)
    yield _continued(figures, runs, "image", 15)
    yield _continued(figures, runs, "test-suite", 20)
    yield from long_claims(figures, runs)


def _name(ratios: Ratios) -> str:
    return f"{ratios[0]:g}/{ratios[1]:g}"


def _formula(figures: A2haFigures) -> Claim:
    found: list[_Found] = []
    for job in SHORT_JOBS:
        printed = figures.job(job)
        same = printed.formula_hosts == printed.optimal_hosts
        text = f"{job} {printed.optimal_hosts} printed, {printed.formula_hosts} by the formula"
        found.append((text, "holds" if same else "does not hold"))
    return judged(
        "the optimal numbers of hosts are 18, 12 and 29 (tasks x mean / 55 min, rounded up)",
        found,
        "; ".join(f"{job} {figures.job(job).formula_hosts}" for job in SHORT_JOBS),
        "29 needs a mean of more than 62.4 s; the printed one is a minute",
    )


def _difference(figures: A2haFigures, runs: A2haRuns, job: str, percent: float) -> Claim:
    """Hosts with each of the ratios that a user is told to take, against the printed optimum."""
    optimal = figures.job(job).optimal_hosts

    def off(run: A2haRun) -> float:
        return 100 * abs(run.hosts / optimal - 1)

    found = {ratios: runs.sweep[job][ratios].mean(off) for ratios in _USER}
    return judged(
        f"with ratios from 0.5 to 0.75, hosts are within {percent:g} % of the optimal {optimal} ({job})",
        [(f"{_name(ratios)}: {show(mean, 1)} %", is_below(mean, percent)) for ratios, mean in found.items()],
        "; ".join(f"{_name(ratios)} {show(mean, 1)} %" for ratios, mean in found.items()),
    )


def _sd_less(one: A2haCell, other: A2haCell, metric: Metric) -> Estimate:
    """Standard deviation of the one less that of the other, over the same orderings."""
    mine, its = one.sd(metric), other.sd(metric)
    return NOTHING if mine is None or its is None else (mine - its).estimate


def _sds(job: str, cell: A2haCell) -> str:
    values = {name: cell.sd(METRICS[name]) for name in ("wall_h", "hosts")}
    numbers = {name: "-" if sd is None else f"{sd.value:.2f}" for name, sd in values.items()}
    return f"{job} {numbers['wall_h']} h, {numbers['hosts']} hosts"


def _first_times(runs: A2haRuns) -> Claim:
    found: list[_Found] = []
    for job in _TWO:
        at_one = runs.sweep[job][1.0, 1.0]
        for style in STYLES:
            for quantity in ("wall_h", "hosts"):
                less = _sd_less(at_one, runs.short(job, style), METRICS[quantity])
                text = f"{job}, {WORDS[quantity]}: 1 - {style} = {show(less, 3)}"
                found.append((text, is_above(less)))
    ours = [f"1: {_sds(job, runs.sweep[job][1.0, 1.0])}" for job in _TWO]
    ours += [f"conservative: {_sds(job, runs.short(job, 'conservative'))}" for job in _TWO]
    return judged(
        "with a creationRatio of 1 the standard deviations of time and hosts are larger (image, synthetic)",
        found,
        "standard deviations: " + "; ".join(ours),
    )


def _steps(runs: A2haRuns, job: str) -> Iterator[tuple[str, A2haCell, A2haCell]]:
    """Neighbours of the sweep at a creationRatio of 0; with an increaseRatio of 0, none is ever created."""
    for low, high in pairwise(RATIOS[1:]):
        yield f"{job}, {high:g} - {low:g}", runs.sweep[job][0.0, high], runs.sweep[job][0.0, low]


def _more_increase(runs: A2haRuns, quantity: str, words: str) -> Claim:
    found: list[_Found] = []
    metric = METRICS[quantity]
    decide = is_below if quantity == "wall_h" else is_above
    for job in _TWO:
        for name, high, low in _steps(runs, job):
            less = high.less(low, metric)
            found.append((f"{name} = {show(less, 3)}", decide(less)))
    ours = [
        f"{job} " + ", ".join(show(runs.sweep[job][0.0, increase].mean(metric), 2) for increase in RATIOS[1:])
        for job in _TWO
    ]
    return judged(
        f"with a creationRatio of 0, the higher the increaseRatio, {words} (image, synthetic)",
        found,
        f"{WORDS[quantity]} at increaseRatio 0.25, 0.5, 0.75, 1: " + "; ".join(ours),
    )


def _more_spread(runs: A2haRuns) -> Claim:
    found: list[_Found] = []
    for job in _TWO:
        high, low = runs.sweep[job][0.0, 1.0], runs.sweep[job][0.0, 0.25]
        for quantity in ("wall_h", "hosts"):
            less = _sd_less(high, low, METRICS[quantity])
            found.append((f"{job}, {WORDS[quantity]}, 1 - 0.25 = {show(less, 3)}", is_above(less)))
    ours = [f"{increase:g}: {_sds(job, runs.sweep[job][0.0, increase])}" for job in _TWO for increase in (0.25, 1.0)]
    return judged(
        "... and the larger the standard deviations of both (increaseRatio 1 against 0.25)",
        found,
        "; ".join(ours),
    )


def _contains_0(difference: Estimate) -> Verdict:
    if difference.low is None or difference.high is None:
        return "not decided"
    return "holds" if difference.low <= 0 <= difference.high else "does not hold"


def _no_difference(runs: A2haRuns) -> Claim:
    """Each combination against 0.5/0.5, over the same orderings."""
    cells = {ratios: cell for ratios, cell in runs.sweep["test-suite"].items() if min(ratios) > 0}
    base = cells.pop(CONSERVATIVE)
    found: list[_Found] = []
    ours = []
    for quantity in ("wall_h", "hosts"):
        metric = METRICS[quantity]
        for ratios, cell in cells.items():
            more = cell.less(base, metric)
            found.append((f"{WORDS[quantity]}, {_name(ratios)}: {show(more, 2)}", _contains_0(more)))
        means = [cell.statistic(metric).value for cell in cells.values()]
        ours.append(f"{WORDS[quantity]}: from {min(means):.2f} to {max(means):.2f}, {base.statistic(metric).value:.2f}")
    return judged(
        "of the test suite, combinations of ratios (above 0) show no distinct difference (none from 0.5/0.5, over the "
        "same orderings, whose interval leaves 0 out)",
        found,
        "; ".join(ours) + " at 0.5/0.5",
        "single orderings differ by more: note 2",
    )


# ------------------------------------------------------------------------------------------------ speedup and hosts


def _efficiency_within(runs: A2haRuns) -> Claim:
    found: list[_Found] = []
    for job in _TWO:
        for style in STYLES:
            mean = runs.short(job, style).mean(lambda run: run.efficiency_percent)
            found.append((f"{job} {style} {show(mean, 1)} %", is_within(mean, 46, 61)))
    return judged(
        "speedup by hosts is from 46 to 61 %",
        found,
        "; ".join(text for text, _ in found),
        'the paper says "variations", and 70 % and "always above 50 %" two paragraphs later',
    )


def _thirteen(runs: A2haRuns) -> Claim:
    found: list[_Found] = []
    for style in STYLES:
        speedups = [run.speedup for run in runs.short("synthetic", style).by_hosts.get(13, [])]
        mean = mean_of(speedups).estimate if speedups else NOTHING
        found.append((f"{style} {show(mean, 2)} ({len(speedups)} orderings)", is_within(mean, 9, 10)))
    return judged(
        "13 hosts give a speedup from 9 to 10 in both styles (synthetic: image needs 18)",
        found,
        "; ".join(text for text, _ in found),
    )


def _better_for_the_same(runs: A2haRuns) -> Claim:
    found: list[_Found] = []
    for job in _TWO:
        more = same_hosts_difference(runs.short(job, "aggressive"), runs.short(job, "conservative"))
        found.append((f"{job}: aggressive - conservative = {show(more, 2)}", is_above(more)))
    return judged(
        "for the same number of hosts the speedup of the aggressive style is better",
        found,
        "; ".join(text for text, _ in found),
    )


def same_hosts_difference(one: A2haCell, other: A2haCell) -> Estimate:
    """Speedup of the one less that of the other, averaged over numbers of hosts that both have twice or more.

    Orderings with the same number of hosts are others in both, so they are not paired; a number of hosts counts as
    often as the one that has it less often. The interval is that of the normal distribution.
    """
    pairs = [
        ([run.speedup for run in mine], [run.speedup for run in other.by_hosts[hosts]])
        for hosts, mine in one.by_hosts.items()
        if min(len(mine), len(other.by_hosts.get(hosts, ()))) > 1
    ]
    if not pairs:
        return NOTHING
    weights = np.array([min(map(len, pair)) for pair in pairs], dtype=float)
    shares = weights / weights.sum()
    means = np.array([np.mean(mine) - np.mean(its) for mine, its in pairs])
    variances = np.array([sum(np.var(values, ddof=1) / len(values) for values in pair) for pair in pairs])
    half_width = 1.96 * math.sqrt(float(shares**2 @ variances))
    return Estimate(int(weights.sum()), float(shares @ means), half_width)


def _narrower(runs: A2haRuns) -> Claim:
    found: list[_Found] = []
    for job in _TWO:
        less = _sd_less(runs.short(job, "aggressive"), runs.short(job, "conservative"), METRICS["hosts"])
        found.append((f"{job}: standard deviations, aggressive - conservative = {show(less, 2)}", is_above(less)))
    return judged(
        "the conservative style's number of hosts lies in a narrower interval",
        found,
        "; ".join(_range(runs, job, style) for job in _TWO for style in STYLES),
    )


def _range(runs: A2haRuns, job: str, style: str) -> str:
    hosts = list(runs.short(job, style).by_hosts)
    return f"{job} {style} {min(hosts)} to {max(hosts)} hosts"


def _more_hosts(runs: A2haRuns) -> Claim:
    found: list[_Found] = []
    for job in _TWO:
        more = runs.short(job, "aggressive").less(runs.short(job, "conservative"), METRICS["hosts"])
        found.append((f"{job}: aggressive - conservative = {show(more, 2)}", is_above(more)))
    return judged("the aggressive style creates more hosts", found, "; ".join(text for text, _ in found))


def _twice(figures: A2haFigures, runs: A2haRuns) -> Claim:
    found: list[_Found] = []
    for job in _TWO:
        times = max(runs.short(job, "aggressive").by_hosts) / figures.job(job).optimal_hosts
        found.append((f"{job} {times:.2f} times", is_above(exactly(times), NEARLY_TWICE)))
    return judged(
        "in some orderings the aggressive style has close to twice the optimal number of hosts (at least "
        f"{NEARLY_TWICE:g} times)",
        found,
        "most hosts of any ordering: " + "; ".join(text for text, _ in found),
    )


def _fewest_alike(runs: A2haRuns) -> Claim:
    found: list[_Found] = []
    for job in _TWO:
        fewest = {style: min(runs.short(job, style).by_hosts) for style in STYLES}
        text = f"{job} {fewest['conservative']} and {fewest['aggressive']}"
        found.append((text, "holds" if len(set(fewest.values())) == 1 else "does not hold"))
    return judged(
        "the least number of hosts is the same in both styles",
        found,
        "conservative and aggressive: " + "; ".join(text for text, _ in found),
    )


def _always_half(runs: A2haRuns) -> Claim:
    found: list[_Found] = []
    for job in _TWO:
        for style in STYLES:
            cell = runs.short(job, style)
            low = sum(run.efficiency_percent <= 50 for run in cell.runs)
            least = min(run.efficiency_percent for run in cell.runs)
            text = f"{job} {style}: least {least:.1f} %, {low} of {len(cell.runs)} orderings at 50 % or less"
            found.append((text, "does not hold" if low else "holds"))
    return judged(
        "speedup by hosts is always more than 50 %",
        found,
        "; ".join(text for text, _ in found),
    )


def _continued(figures: A2haFigures, runs: A2haRuns, job: str, percent: float) -> Claim:
    found: list[_Found] = []
    for style in STYLES:
        cell = runs.short(job, style)
        share = cell.share_percent(lambda run: run.continued_hosts, METRICS["payment_h"])
        estimate = NOTHING if share is None else share.estimate
        verdict = is_within(estimate, percent - ABOUT_POINTS, percent + ABOUT_POINTS)
        found.append((f"{style} {show(estimate, 1)} %", verdict))
    printed = figures.job(job)
    return judged(
        f"continued hosts are {percent:g} % of the charged hours ({job}; within {ABOUT_POINTS:g} points)",
        found,
        "; ".join(text for text, _ in found) + f"; printed {printed.continued_hosts} of {printed.charged_h:g}",
        "how long tasks are that run at the end of the hour depends on the distribution, which is lost (note 1)",
    )
