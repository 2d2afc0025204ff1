"""Claims of the A2HA paper about its results, judged by replays, in the order of its sections, and findings besides."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from spotbag.core.quantities import SECONDS_PER_HOUR
from spotbag.core.statistics import Estimate, estimate
from spotbag.core.wording import counted

from ...claims import (
    Case,
    Claim,
    Found,
    Statement,
    about,
    above,
    all_hold,
    below,
    claim,
    estimate_of,
    exactly,
    is_above,
    is_below,
    show,
    span,
    spread,
    tally,
    verdict_in_words,
    with_intervals,
)
from ...data_files import Figures, Statements
from ...statistics import Quantity, Statistic, mean_of, percent_more, quotient
from .runs import (
    AT_THE_START,
    HOSTS,
    LINES,
    PAYMENT_H,
    QUANTITIES,
    SPEEDUP,
    TABLE_1,
    WALL_H,
    A2haCell,
    A2haRun,
    A2haRuns,
    Metric,
)
from .settings import CONSERVATIVE, RATIOS, SHORT_JOBS, STYLES, USABLE_S, Ratios, a2ha_figures

_SAID = Statements.read(__package__)
_FIGURES = a2ha_figures()

_OPTIMAL: Mapping[str, int] = {job: _FIGURES.job(job).optimal_hosts for job in SHORT_JOBS}
"""Optimal numbers of hosts, as printed."""

_TWO_JOBS = ("image", "synthetic")
"""The jobs of section 4.2, and of what is said of Figs 9 and 10."""


def name_of(ratios: Ratios) -> str:
    """Both ratios in a sentence."""
    return f"{ratios[0]:g}/{ratios[1]:g}"


def _share(are_so: Iterable[bool]) -> Estimate:
    """Percentage of orderings of which something is so."""
    return estimate([100.0 * is_so for is_so in are_so])


def _listed(values: Iterable[object], form: str = "") -> str:
    """Values in a list, one for each job."""
    return "; ".join(format(value, form) for value in values)


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
        return estimate_of(None)
    weights = np.array([min(map(len, pair)) for pair in pairs], dtype=float)
    shares = weights / weights.sum()
    means = np.array([np.mean(mine) - np.mean(its) for mine, its in pairs])
    variances = np.array([sum(np.var(values, ddof=1) / len(values) for values in pair) for pair in pairs])
    half_width = 1.96 * math.sqrt(float(shares**2 @ variances))
    return Estimate(int(weights.sum()), float(shares @ means), half_width)


def speedup_elasticity(cell: A2haCell, metric: Metric) -> Estimate:
    """Elasticity: percentage growth of an ordering's speedup for each percent of growth of a number.

    Least squares of the logarithms over the orderings; the interval is that of the normal distribution.
    """
    logs = np.log([[metric(run), run.speedup] for run in cell.runs])
    less = logs - logs.mean(axis=0)
    n, square = len(logs), float(less[:, 0] @ less[:, 0])
    if n <= 2 or square == 0:
        return estimate_of(None)
    slope = float(less[:, 0] @ less[:, 1]) / square
    rest = less[:, 1] - slope * less[:, 0]
    return Estimate(n, slope, 1.96 * math.sqrt(float(rest @ rest) / (n - 2) / square))


def a2ha_claims(runs: A2haRuns) -> Iterator[Claim]:
    """Judge the statements of sections 3 and 4 that a replay can judge, in their order."""
    yield from _first_tasks(runs)
    yield from _created(runs)
    yield from _early_hosts(runs)
    yield from _first_hosts(runs)
    yield from _optimal_hosts(runs)
    yield from _first_times(runs)
    yield _no_difference(runs)
    yield from _increase_ratio(runs)
    yield _less_evident(runs)
    yield _variations(runs)
    yield from _thirteen(runs)
    yield _SAID.judge("most-efficient", 100 * USABLE_S / SECONDS_PER_HOUR)
    yield from _styles(runs)
    yield from _alike(runs)
    yield from _in_par(runs)
    yield from _prices(runs)
    yield from _table_1(runs)
    yield from _continued(runs)
    yield from _table_2(runs)
    yield _optimal_is_least(runs)
    yield from _long_tasks(runs)
    yield _within_the_budget(runs)


# ---------------------------------------------------------------------------- section 3: predictions


NEAR_PERCENT = 20
"""Most percent that 'close' may be off: as section 4.1 has the number of hosts of this job."""

_FIG_6_INCREASES = (0.25, 0.5, 0.75)
"""The increaseRatios that Fig. 6b may be of, which does not say."""


def _rule(name: str, share: Estimate, **texts: Any) -> Claim:
    """Claim on most orderings."""
    return _SAID.judge(name, share, lambda cases: f"{cases[0].ours} of orderings", near=NEAR_PERCENT, **texts)


def _first_tasks(runs: A2haRuns) -> Iterator[Claim]:
    """Section 3.2, Fig. 4."""
    image, printed = _FIGURES.job("image"), _FIGURES.prediction
    off = [order.off_percent for order in runs.orders]
    yield _rule("average-is-near", _share(one <= NEAR_PERCENT for one in off), off=show(estimate(off), 1))
    worst = [order.most_off_percent for order in runs.orders]
    stable, half = (_share(one <= NEAR_PERCENT / part for one in worst) for part in (1, 2))
    yield _rule("prediction-is-stable", stable, half=show(half, 0))
    hosts = math.floor(image.n_tasks * image.mean_s / SECONDS_PER_HOUR + 0.5)
    yield _SAID.judge("final-prediction", exactly("", hosts == printed.final_hosts, f"{hosts}"))
    # Without the creationRatio, of orderings whose first task is longer than the average.
    many: dict[bool, list[bool]] = {True: [], False: []}
    for run in runs.sweep["image"][1.0, 1.0].runs:
        many[run.first_task_s > image.mean_s].append(run.first_hosts > image.optimal_hosts)
    yield _rule("too-many-at-first", _share(many[True]), some=sum(many[False]), others=len(many[False]))


def _steps(runs: A2haRuns, creation: float, quantity: Quantity[A2haRun], words: str = "") -> dict[str, Found]:
    """Neighbours of the sweeps at a creationRatio, ordering by ordering, from the least increaseRatio that is not 0."""
    return {
        f"{job}, {high:g} - {low:g}{words}": runs.sweep[job][creation, high].less(
            runs.sweep[job][creation, low], quantity
        )
        for job in SHORT_JOBS
        for low, high in pairwise(RATIOS[1:])
    }


def _created(runs: A2haRuns) -> Iterator[Claim]:
    """Fig. 6a; Fig. 6b, where by line 16 of Fig. 5 a finished task leaves a part of what is missing to a ratio of 1."""
    for name, quantity, unit in (("more-hosts-from-half", HOSTS, ""), ("shorter-from-half", WALL_H, " h")):
        # Two digits for hosts as well: the steps are smaller than a tenth.
        ends = (f"{runs.sweep['image'][0.5, RATIOS[place]].value(quantity):.2f}" for place in (1, -1))
        of_image = f"steps; image {' to '.join(ends)}{unit}"
        yield _SAID.judge(name, _steps(runs, 0.5, quantity, f": {quantity.words}"), tally(of_image))
    printed = _FIGURES.prediction
    hosts = math.ceil(printed.first_hosts * printed.creation_ratio)
    yield _SAID.judge("created-hosts", exactly("", hosts == printed.created_hosts, f"{hosts}"))
    left = 1 - printed.creation_ratio
    ratios = {of: 1 - left * (1 - of) ** printed.full_ratio_tasks for of in _FIG_6_INCREASES}
    near = all(ratio >= 1 - NEAR_PERCENT / 100 for ratio in ratios.values())
    ours = " to ".join(f"{ratios[of]:.2f}" for of in (_FIG_6_INCREASES[0], _FIG_6_INCREASES[-1]))
    by_increase = ", ".join(f"{ratio:.4f} with {of:g}" for of, ratio in ratios.items())
    yield _SAID.judge("full-ratio", exactly("", near, ours), ratios=by_increase)


def _early_hosts(runs: A2haRuns) -> Iterator[Claim]:
    cell, near = runs.short("image", runs.style), NEAR_PERCENT / 100
    texts = {"early": show(cell.mean(lambda run: run.early_hosts), 1), "final": show(cell.mean(HOSTS), 1)}
    yield _rule("early-near-final", cell.percent(lambda run: abs(run.early_hosts / run.hosts - 1) <= near), **texts)
    best = cell.percent(lambda run: abs(run.early_hosts / _OPTIMAL["image"] - 1) <= near)
    yield _rule("early-near-optimal", best, **texts)


def _first_hosts(runs: A2haRuns) -> Iterator[Claim]:
    found: dict[str, Case] = {}
    more: list[int] = []
    for job, optimal in _OPTIMAL.items():
        first = [run.first_hosts for run in runs.short(job, runs.style).runs]
        more.append(sum(hosts > optimal for hosts in first))
        found[job] = exactly(job, not more[-1], f"{more[-1]} of {len(first)} orderings have more than {optimal}")
    yield _SAID.judge("first-are-necessary", found.values(), f"{_listed(more)} of {len(first)} orderings")

    # Of the long job with one initial host; without any prediction, hosts come with the end.
    def first_h(cell: A2haCell) -> list[float]:
        seconds = [run.wall_s if run.first_created_s is None else run.first_created_s for run in cell.runs]
        return [one / SECONDS_PER_HOUR for one in seconds]

    assert runs.ends_only is not None
    without, with_ = first_h(runs.ends_only), first_h(runs.long[runs.style, 1])
    more_h = estimate([late - early for late, early in zip(without, with_, strict=True)])
    ours = f"{show(estimate(without), 0)} h; else {estimate(with_).mean:.1f} h"
    yield _SAID.judge("late-without-ticks", more_h, ours)


# ---------------------------------------------------------------------------- section 4.1: both ratios


_SWEPT = {"time": WALL_H, "hosts": HOSTS}
"""Quantities of the sweeps by what statements call them."""


def _near_optimal(runs: A2haRuns, job: str) -> Claim:
    """The best of all ratios: the paper speaks of a suitable choice."""
    name, optimal = f"near-optimal-{job}", float(_OPTIMAL[job])
    means = {
        name_of(ratios): cell.mean(lambda run: 100 * abs(run.hosts / optimal - 1))
        for ratios, cell in _creating(runs, job).items()
    }
    best = min(means, key=lambda ratios: means[ratios].mean or 0.0)
    return _SAID.judge(
        name,
        {best: means[best]},
        best=best,
        styles="; ".join(f"{style} {show(means[name_of(ratios)], 1)} %" for style, ratios in STYLES.items()),
        within=sum(case.verdict == "holds" for case in _SAID.cases(name, means)),
        n=len(means),
    )


def _creating(runs: A2haRuns, job: str) -> dict[Ratios, A2haCell]:
    """The sweep of a job, without the ratios that never create a host."""
    return {ratios: cell for ratios, cell in runs.sweep[job].items() if max(ratios) > 0}


def _optimal_hosts(runs: A2haRuns) -> Iterator[Claim]:
    """Sweeps against the optimal number of hosts, and its formula."""
    yield _near_optimal(runs, "image")
    yield _near_optimal(runs, "test-suite")
    of = {job: (_FIGURES.formula_hosts(job), _OPTIMAL[job]) for job in _TWO_JOBS}
    same = [
        exactly(job, ours == printed, f"{printed} printed, {ours} by the formula")
        for job, (ours, printed) in of.items()
    ]
    yield _SAID.judge("formula", same, " and ".join(f"{ours}" for ours, _ in of.values()))
    # The mean is printed as a minute: whether that is 60 s or what rounds to it, the text does not say.
    suite = _FIGURES.job("test-suite")
    low_s, high_s = _FIGURES.means_of_optimal_s(suite.job)
    formula = _FIGURES.formula_hosts(suite.job)
    as_printed = exactly("", formula == suite.optimal_hosts, f"{formula}")
    rounds = low_s < 1.5 * suite.mean_s and high_s > 0.5 * suite.mean_s
    verdict = "not decided" if as_printed.verdict != "holds" and rounds else as_printed.verdict
    yield _SAID.decided("formula-of-the-suite", verdict, as_printed.ours)
    found, fewest, later = [], [], []
    for job, optimal in _OPTIMAL.items():
        all_runs = [run for cell in _creating(runs, job).values() for run in cell.runs]
        in_time, too_late = ([run.hosts for run in all_runs if (run.wall_h <= 1) == early] for early in (True, False))
        below_it = sum(hosts < optimal for hosts in in_time)
        found.append(exactly(f"{job}:", not below_it, f"{below_it} of {len(in_time)} orderings"))
        fewest.append(f"{job} {min(in_time) if in_time else '-'}")
        few = [hosts for hosts in too_late if hosts < optimal]
        later.append(f"{job} {len(few)} of {len(too_late)}" + (f", from {min(few)} hosts on" if few else ""))
    yield _SAID.judge("lower-bound", found, _listed(fewest), later=_listed(later))


def _first_times(runs: A2haRuns) -> Iterator[Claim]:
    """Claims on the ends of the sweeps: a creationRatio of 1, against both styles, and the lowest ratios."""
    for name, quantity in _SWEPT.items():
        found: dict[str, Found] = {}
        ours = []
        for job in _TWO_JOBS:
            at_one, others = runs.sweep[job][1.0, 1.0], {style: runs.short(job, style) for style in STYLES}
            found |= {f"{job}: 1 - {style}": at_one.sd_less(cell, quantity) for style, cell in others.items()}
            sds = span([cell.sd_value(quantity) for cell in others.values()], quantity.digits)
            ours.append(f"{at_one.sd_value(quantity):.{quantity.digits}f} against {sds}")
        yield _SAID.judge(f"first-times-{name}", found, _listed(ours) + quantity.unit)
    # Of the least budget: a larger one is exceeded less often, and none is printed.
    exceeding = {
        job: {
            ratios: cell.percent(lambda run, budget_h=_OPTIMAL[job]: run.paid_units > budget_h)  # type: ignore[misc]
            for ratios, cell in _creating(runs, job).items()
        }
        for job in _TWO_JOBS
    }
    cases = _SAID.cases("above-the-budget", {job: shares.pop((1.0, 1.0)) for job, shares in exceeding.items()})
    exceeded = all_hold(cases)
    yield _SAID.decided(
        "above-the-budget",
        "does not hold" if exceeded == "does not hold" else "not decided",
        with_intervals(cases),
        exceeded=verdict_in_words(exceeded),
        elsewhere=_listed(f"{job} {span([of.mean for of in shares.values()])} %" for job, shares in exceeding.items()),
    )
    pairs = {job: (runs.sweep[job][0.0, 0.25], runs.sweep[job][CONSERVATIVE]) for job in SHORT_JOBS}
    longer = [100 * (low.value(WALL_H) / base.value(WALL_H) - 1) for low, base in pairs.values()]
    less = {job: low.less(base, WALL_H) for job, (low, base) in pairs.items()}
    yield _SAID.judge("too-low", less, f"{_listed(longer, '+.0f')} %")


def _apart(runs: A2haRuns, job: str, quantity: Quantity[A2haRun]) -> dict[str, float]:
    """Distances of the means of any two combinations of ratios, in sums of both standard deviations."""
    sizes = {
        name_of(ratios): (cell.value(quantity), cell.sd_value(quantity))
        for ratios, cell in _creating(runs, job).items()
    }
    found = {}
    for (one, (mean, sd)), (other, (its, its_sd)) in combinations(sizes.items(), 2):
        reach = sd + its_sd
        found[f"{one} and {other}"] = abs(mean - its) / reach if reach else float(mean != its)
    return found


def _no_difference(runs: A2haRuns) -> Claim:
    """Claim of no difference, judged as in a picture with bars of one standard deviation, not by ordering."""
    cells = _creating(runs, "test-suite")
    distances = {job: {of: _apart(runs, job, of) for of in _SWEPT.values()} for job in SHORT_JOBS}
    found = [
        exactly(f"{quantity.words}, {names}:", times < 1, f"{times:.2f}")
        for quantity, apart in distances["test-suite"].items()
        for names, times in apart.items()
    ]
    largest = {job: max(max(apart.values()) for apart in of.values()) for job, of in distances.items()}
    others = [cell for ratios, cell in cells.items() if min(ratios) > 0 and ratios != CONSERVATIVE]
    more = [cell.less(cells[CONSERVATIVE], quantity) for quantity in _SWEPT.values() for cell in others]
    return _SAID.judge(
        "no-difference",
        found,
        f"at most {largest['test-suite']:.2f} of both standard deviations",
        others=" and ".join(f"{job} has up to {largest[job]:.2f}" for job in _TWO_JOBS),
        hosts=span([cell.value(HOSTS) for cell in cells.values()], 1),
        times=span([cell.value(WALL_H) for cell in cells.values()], 2),
        differ=sum("holds" in (is_above(one), is_below(one)) for one in more),
        pairs=len(more),
    )


def _increase_ratio(runs: A2haRuns) -> Iterator[Claim]:
    """Sweeps at a creationRatio of 0; with an increaseRatio of 0, none is ever created."""
    ends = {job: (runs.sweep[job][0.0, RATIOS[1]], runs.sweep[job][0.0, RATIOS[-1]]) for job in SHORT_JOBS}
    for name, quantity in _SWEPT.items():
        ours = _listed(quantity.text(*pair) for pair in ends.values())
        yield _SAID.judge(f"more-increase-{name}", _steps(runs, 0.0, quantity), ours + quantity.unit)
    for name, quantity in _SWEPT.items():
        found = {f"{job}, 1 - 0.25": high.sd_less(low, quantity) for job, (low, high) in ends.items()}
        sds = (" to ".join(f"{of.sd_value(quantity):.{quantity.digits}f}" for of in pair) for pair in ends.values())
        yield _SAID.judge(f"more-spread-{name}", found, _listed(sds) + quantity.unit)


def _less_evident(runs: A2haRuns) -> Claim:
    """Claim on increaseRatios from the least to 1, at all other creationRatios: still there, and less than at 0."""
    present: list[Case] = []
    smaller: list[Case] = []
    for job in SHORT_JOBS:
        cells = runs.sweep[job]
        for of, compare, opposite in ((WALL_H, below, above), (HOSTS, above, below)):
            changes = {
                ratio: cells[ratio, 1.0].statistic(of) - cells[ratio, 0.25].statistic(of) for ratio in RATIOS[:-1]
            }
            for creation in RATIOS[1:-1]:
                text = f"{job}, creationRatio {creation:g}: {of.words}"
                present.append(compare(text, changes[creation], 3))
                smaller.append(opposite(f"{text}, against 0", changes[creation] - changes[0.0], 3))
    ours = f"there {tally()(present)}; less {tally()(smaller)}"
    return _SAID.judge("less-evident", [*present, *smaller], ours)


# ---------------------------------------------------------------------------- section 4.2, and 6 on both styles


NEARLY_TWICE = (1.8, 2.2)
"""Least and largest factor that 'close to twice' means."""

_VARIATION_PERCENT = (46, 61)
"""The "variations" of section 4.2, from and to."""

_THIRTEEN = 13
"""Hosts of the example of section 4.2."""

_FEW = 5
"""Orderings, of 200, by which a difference can be chance: 5 to 0 has a probability of 1 in 16."""

_USER: tuple[Ratios, ...] = tuple((creation, increase) for creation in (0.5, 0.75) for increase in (0.5, 0.75))
"""Ratios between which a user may choose."""


def _cells(runs: A2haRuns) -> dict[str, A2haCell]:
    """Both jobs in both styles."""
    return {f"{job} {style}": runs.short(job, style) for job in _TWO_JOBS for style in STYLES}


def _variations(runs: A2haRuns) -> Claim:
    """Claim on the excess of hosts over the speedup; the paper leaves open what varies."""
    low, high = _VARIATION_PERCENT

    def excess(run: A2haRun) -> float:
        return 100 * (run.hosts / run.speedup - 1)

    cells = _cells(runs)
    shares = {
        f"{name}, of orderings:": cell.percent(lambda run: low <= excess(run) <= high) for name, cell in cells.items()
    }
    means = [cell.value(excess) for cell in cells.values()]
    by_hosts = span([cell.value(lambda run: run.efficiency_percent) for cell in cells.values()])
    return _SAID.judge("variations", shares, f"{span(means[:2])}; {span(means[2:])} %", by_hosts=by_hosts)


def _thirteen(runs: A2haRuns) -> Iterator[Claim]:
    """The synthetic job; the image job needs 18 hosts."""
    cells = {style: runs.short("synthetic", style).by_hosts.get(_THIRTEEN, []) for style in STYLES}
    n = " and ".join(f"{len(found)}" for found in cells.values())
    means: dict[str, Statistic | None] = {
        style: mean_of([run.speedup for run in found]) if found else None for style, found in cells.items()
    }
    yield _SAID.judge("thirteen-speedup", means, _and, n=n)
    percents: dict[str, Found] = {style: mean and mean.scaled(100 / _THIRTEEN) for style, mean in means.items()}
    yield _SAID.judge("thirteen-efficiency", percents, lambda cases: f"{_and(cases)} %")


def _and(cases: Sequence[Case]) -> str:
    return " and ".join(case.ours for case in cases)


def _styles(runs: A2haRuns) -> Iterator[Claim]:
    pairs = {job: (runs.short(job, "aggressive"), runs.short(job, "conservative")) for job in _TWO_JOBS}
    yield _SAID.judge("better-for-the-same", {job: same_hosts_difference(*pair) for job, pair in pairs.items()}, _plus)
    wider = {
        f"{job}: standard deviations, aggressive - conservative": one.sd_less(other, HOSTS)
        for job, (one, other) in pairs.items()
    }
    ranges = {job: [span(cell.by_hosts) for cell in pair] for job, pair in pairs.items()}
    yield _SAID.judge("narrower", wider, _listed(f"{inner} in {outer}" for outer, inner in ranges.values()))
    hosts = {f"{job}: aggressive - conservative": one.less(other, HOSTS) for job, (one, other) in pairs.items()}
    yield _SAID.judge("more-hosts", hosts, _plus)
    # In some cases: in any of them.
    low, high = NEARLY_TWICE
    times = {job: [run.hosts / _OPTIMAL[job] for run in pair[0].runs] for job, pair in pairs.items()}
    near = [sum(low <= one <= high for one in found) for found in times.values()]
    ours = f"{_listed(near)} of {len(times['image'])} orderings"
    most = " and ".join(f"{max(found):.2f} times ({job})" for job, found in times.items())
    yield _SAID.judge("twice-optimal", exactly("", any(near), ours), most=most)


def _plus(cases: Sequence[Case]) -> str:
    return "; ".join(f"+{case.ours}" for case in cases)


def _alike(runs: A2haRuns) -> Iterator[Claim]:
    """The fewest of all orderings; where one style has fewer in few orderings only, that can be chance."""
    found, ours, speedups, least = [], [], {}, []
    for job in _TWO_JOBS:
        cells = [runs.short(job, style) for style in STYLES]
        fewest = [min(cell.by_hosts) for cell in cells]
        limit, both = max(fewest), " and ".join(map(str, fewest))
        some = sum(run.hosts < limit for cell in cells for run in cell.runs)
        text = f"{both}, {counted(some, 'ordering')} below {limit}"
        # A style that has fewer hosts in a few orderings only may have them by chance.
        found.append(Case(job, text, "not decided") if 0 < some <= _FEW else exactly(job, not some, text))
        ours.append(both)
        slow, fast = (min(cell.values(SPEEDUP)) for cell in cells)
        speedups[job] = 100 * abs(fast / slow - 1)
        least.append(f"{slow:.2f} and {fast:.2f}")
    yield _SAID.judge("fewest-alike", found, _listed(ours), few=_FEW)
    yield _SAID.judge("least-speedup-alike", speedups, _listed(least))


def _in_par(runs: A2haRuns) -> Iterator[Claim]:
    for name, quantity in (("in-par", HOSTS), ("in-par-payment", PAYMENT_H)):
        found = {f"{of}:": speedup_elasticity(cell, quantity) for of, cell in _cells(runs).items()}
        yield _SAID.judge(name, found, spread)
    # With all four pairs of ratios between which the paper lets a user choose.
    percents = {
        job: [run.efficiency_percent for ratios in _USER for run in runs.sweep[job][ratios].runs] for job in _TWO_JOBS
    }
    low = {job: sum(percent <= 50 for percent in found) for job, found in percents.items()}
    always = [
        exactly(f"{job}:", not low[job], f"{low[job]} of {len(found)} orderings have 50 % or less")
        for job, found in percents.items()
    ]
    yield _SAID.judge("always-half", always, f"least {_listed(map(min, percents.values()), '.1f')} %")


def _prices(runs: A2haRuns) -> Iterator[Claim]:
    found: dict[str, Found] = {}
    changes: dict[str, Found] = {}
    for job in _TWO_JOBS:
        styles = [runs.short(job, style) for style in ("aggressive", "conservative")]
        found |= {f"{job}: {of.words}": styles[0].less(styles[1], of) for of in (PAYMENT_H, SPEEDUP)}
        changes[job] = percent_more(*(quotient(of.statistic(PAYMENT_H), of.statistic(SPEEDUP)) for of in styles))
    yield _SAID.judge("pays-more-for-time", found, lambda cases: f"{_plus(cases[::2])} h")
    yield _SAID.judge("proportional", changes, lambda cases: f"{with_intervals(cases)} %")


# ---------------------------------------------------------------------------- sections 4.3, 4.4 and the abstract


_MEASURED = QUANTITIES[1:]
"""Quantities of the lines of the heuristic in Table 2, whose numbers of hosts the rule for long tasks was fitted to."""

_Means = Callable[[Quantity[A2haRun]], Estimate]


def _table_1(runs: A2haRuns) -> Iterator[Claim]:
    """The paper prints no spread: within one standard deviation of our orderings is near, or what rounds to it."""
    for quantity in TABLE_1:
        found = []
        for job in SHORT_JOBS:
            cell, number = runs.short(job, runs.style), getattr(_FIGURES.job(job), quantity.name)
            reach = max(0.5, cell.sd_value(quantity))
            near = f"{quantity.unit} (printed {number:g}, our standard deviation {reach:.1f})".strip()
            found.append(about(job, cell.mean(quantity), 1, near, value=number, points=reach))
        ours = _listed((case.mean for case in found), ".1f")
        yield _SAID.judge(f"table-1-{quantity.name}", found, f"{ours}{quantity.unit}")


def _continued(runs: A2haRuns) -> Iterator[Claim]:
    cells = {job: runs.short(job, runs.style) for job in SHORT_JOBS}
    shares = {
        job: estimate_of(cell.share_percent(lambda run: run.continued_hosts, PAYMENT_H)) for job, cell in cells.items()
    }
    for job in ("image", "test-suite"):
        yield _SAID.judge(f"continued-{job}", shares[job])
    synthetic = shares.pop("synthetic")
    more = {}
    for job, share in shares.items():
        mean = None if share.mean is None or synthetic.mean is None else share.mean - synthetic.mean
        # Jobs have no orderings in common: the sum is wider than the interval of the difference, on the safe side.
        half_width = (share.half_width or 0.0) + (synthetic.half_width or 0.0)
        more[f"{job} less synthetic:"] = Estimate(share.n, mean, half_width)
    ours = _listed((share.mean or 0.0 for share in shares.values()), ".1f")
    yield _SAID.judge("significant", more, f"{ours} against {synthetic.mean or 0.0:.1f} %")
    wasted = {}
    for job in shares:
        busy = cells[job].share_percent(lambda run: run.later_busy_s, lambda run: run.later_paid_s)
        wasted[job] = busy and Statistic(100 - busy.value, busy.influence)
    yield _SAID.judge("mostly-wasted", wasted, with_intervals)


def _table_2(runs: A2haRuns) -> Iterator[Claim]:
    def of_line(name: str, at_once: bool) -> _Means:
        return lambda quantity: estimate(runs.line(name, quantity.name, at_once=at_once))

    for name in LINES:
        yield _line(_FIGURES.case(name), QUANTITIES, of_line(name, False), of_line(name, True))
    hosts = []
    for case in _FIGURES.heuristic_cases:
        booting, ready = (cells[runs.style, case.initial_hosts] for cells in (runs.long, runs.long_at_once))
        yield _line(case, _MEASURED, booting.mean, ready.mean)
        reach = max(case.hosts_sd or 0.0, 0.5)
        hosts.append(about(case.case, booting.mean(HOSTS), 1, value=case.hosts, points=reach))
    yield _SAID.judge("hosts-of-table-2", hosts, _listed((case.mean for case in hosts), ".0f"))


def _line(case: Figures, quantities: Sequence[Quantity[A2haRun]], booting: _Means, at_once: _Means) -> Claim:
    """A row of Table 2, which is of hosts that are ready at once, and with the boot time of section 4 beside."""
    shown = [of for of in quantities if getattr(case, of.name) is not None and of is not SPEEDUP]

    def numbers(values: _Means) -> str:
        return "; ".join(f"{values(of).mean or 0.0:.{of.digits}f}" for of in shown)

    with_boot = claim(Statement(""), _near(case, quantities, booting)).verdict
    ours = f"{numbers(at_once)}; 5 min boot {numbers(booting)}"
    near = _near(case, quantities, at_once)
    return _SAID.judge(f"table-2, {case.case}", near, ours, without=verdict_in_words(with_boot))


def _near(case: Figures, quantities: Sequence[Quantity[A2haRun]], values: _Means) -> list[Case]:
    """Tests of our means against the printed means and standard deviations."""
    found = []
    for quantity in quantities:
        printed, sd = getattr(case, quantity.name), getattr(case, f"{quantity.name}_sd")
        if printed is not None and sd is not None:
            # 256 and 154 hosts are printed with a deviation of 0: what rounds to it is the same.
            sd = max(sd, 0.5) if quantity is HOSTS else sd
            unit = f"(printed {printed:g}, deviation {sd:g})"
            found.append(about(quantity.words, values(quantity), quantity.digits, unit, value=printed, points=sd))
    return found


def _optimal_is_least(runs: A2haRuns) -> Claim:
    """Claim on the first orderings: what a plan pays at least that ends with the longest task."""
    paid_h = runs.line("optimal", "payment_h")
    # Bounds are of the first orderings only.
    dearer = [bound > hours for (_, bound), hours in zip(runs.fastest, paid_h, strict=False)]
    known, least = (show(estimate([float(pair[side]) for pair in runs.fastest]), 0) for side in (0, 1))
    return _SAID.decided(
        "optimal-is-least",
        "does not hold" if any(dearer) else "holds",
        f"least payment {least} h",
        known=known,
        dearer=sum(dearer),
        n=len(dearer),
    )


def _long_tasks(runs: A2haRuns) -> Iterator[Claim]:
    alone = {of: mean_of(runs.line("1 per task", of.name)) for of in (SPEEDUP, PAYMENT_H)}
    cells = {
        f"{case.case}, {style}": runs.long[style, case.initial_hosts]
        for case in _FIGURES.heuristic_cases
        for style in STYLES
    }
    found = {
        f"{quantity.words}, {of}:": line - cell.statistic(quantity)
        for quantity, line in alone.items()
        for of, cell in cells.items()
    }
    yield _SAID.judge("best-and-dearest", found, f"{_listed(show(line.estimate, 1) for line in alone.values())} h")
    paid = alone[PAYMENT_H]
    less = {f"{of}:": cell.statistic(PAYMENT_H) - paid for of, cell in cells.items()}
    saved = span([-100 * one.value / paid.value for one in less.values()])
    yield _SAID.judge("cheaper-than-alone", less, f"{saved} % less")
    walls = {
        boot: mean_of(runs.line("1 per task", "wall_h", at_once=at_once))
        for boot, at_once in (("5 min boot", False), ("no boot", True))
    }
    near = {
        f"{style}, longest task with {boot}:": runs.long[style, 100].statistic(WALL_H) - longest
        for style in STYLES
        for boot, longest in walls.items()
    }
    above_h = runs.long[runs.style, 100].value(WALL_H) - walls["5 min boot"].value
    yield _SAID.judge("near-optimal-time", near, f"{above_h:.2f} h")


def _within_the_budget(runs: A2haRuns) -> Claim:
    """Claim on the least budget: what is below it is below every other, and none is printed."""
    cases = {job: runs.short(job, runs.style) for job in SHORT_JOBS}, runs.twice
    least, twice = (
        [
            below(job, cells[job].mean(PAYMENT_H), 1, f"h of {factor * hours}", limit=factor * hours)
            for job, hours in _OPTIMAL.items()
        ]
        for factor, cells in enumerate(cases, start=1)
    )
    verdict = all_hold(least)
    return _SAID.decided(
        "within-the-budget",
        "holds" if verdict == "holds" else "not decided",
        "; ".join(case.ours.partition(" h")[0] for case in least) + " h",
        below=verdict_in_words(verdict),
        below_twice=verdict_in_words(all_hold(twice)),
        least=_listed(map(str, least)),
        twice=_listed(map(str, twice)),
    )


# ---------------------------------------------------------------------------- what was found besides


def a2ha_findings(runs: A2haRuns) -> Iterator[Claim]:
    """Initial hosts, a larger budget, waiting for predictions, and what not knowing the run times costs."""
    yield from _initial_hosts(runs)
    base = {job: runs.short(job, "conservative") for job in SHORT_JOBS}
    earlier = {job: runs.twice[job].less(base[job], WALL_H) for job in base}
    hosts, paid, wall = (
        [runs.twice[job].value(quantity) / base[job].value(quantity) for job in base]
        for quantity in (HOSTS, PAYMENT_H, WALL_H)
    )
    sooner = span([100 * (1 - ratio) for ratio in wall])
    ours = f"{span(hosts, 1)} times the hosts, {span(paid, 1)} times the payment, {sooner} % earlier"
    yield _SAID.judge("twice-the-budget", earlier, ours)
    if runs.not_knowing:
        # Of the first orderings, against the best plan that was found.
        for name, of in (("costs-time", "later_percent"), ("costs-payment", "dearer_percent")):
            more = {
                f"{job}, {style}:": estimate([getattr(pair, of) for pair in pairs])
                for (job, style), pairs in runs.not_knowing.items()
            }
            yield _SAID.judge(name, more, spread)


def _initial_hosts(runs: A2haRuns) -> Iterator[Claim]:
    """Findings on the three lines of Table 2: their order, and hosts from the start on."""
    cases = {case.initial_hosts: case.case for case in _FIGURES.heuristic_cases}
    found = []
    for style in STYLES:
        for more, fewer in pairwise(cases):
            for quantity, compare in ((WALL_H, below), (PAYMENT_H, above)):
                less = runs.long[style, more].less(runs.long[style, fewer], quantity)
                found.append(compare(f"{style}, {more} - {fewer}: {quantity.words}", less, 2))
    one, many = runs.long[runs.style, 1], runs.long[runs.style, 100]
    paid = f"{one.value(PAYMENT_H):.0f} to {many.value(PAYMENT_H):.0f}"
    yield _SAID.judge("initial-hosts", found, f"1 to 100: {WALL_H.text(one, many)} h, {paid} h paid")
    waits = {
        f"{name}, {style}:": runs.long_at_once[style, initial].less(runs.long_at_once[AT_THE_START, initial], WALL_H)
        for initial, name in cases.items()
        for style in STYLES
    }
    yield _SAID.judge("waiting", waits, f"{span([wait.mean for wait in waits.values()], 1)} h longer")
