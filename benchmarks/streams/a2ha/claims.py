"""Claims of the A2HA paper about its results, judged by replays, in the order of its sections, and findings besides."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
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
from ...statistics import Statistic, mean_of, quotient
from .printed import LONG_QUANTITIES, USABLE_S, LongQuantity, a2ha_figures
from .runs import (
    AT_THE_START,
    LINES,
    METRICS,
    TABLE_1,
    WORDS,
    A2haCell,
    A2haRun,
    A2haRuns,
    Metric,
)
from .settings import CONSERVATIVE, RATIOS, SHORT_JOBS, STYLES, Ratios

_SAID = Statements.read(__package__)
_FIGURES = a2ha_figures()

_TWO_JOBS = ("image", "synthetic")
"""The jobs of section 4.2, and of what is said of Figs 9 and 10."""


def name_of(ratios: Ratios) -> str:
    """Both ratios in a sentence."""
    return f"{ratios[0]:g}/{ratios[1]:g}"


def value(cell: A2haCell, quantity: str) -> float:
    """Mean of a quantity of Table 2."""
    return cell.statistic(METRICS[quantity]).value


def percent_of_runs(cell: A2haCell, is_so: Callable[[A2haRun], bool]) -> Estimate:
    """Percentage of the orderings of which something is so."""
    return cell.mean(lambda run: 100.0 * is_so(run))


def sd_less(one: A2haCell, other: A2haCell, metric: Metric) -> Estimate:
    """Standard deviation of the one less that of the other, over the same orderings."""
    mine, its = one.sd(metric), other.sd(metric)
    return estimate_of(None if mine is None or its is None else mine - its)


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
    yield from _faster(runs)
    yield from _created()
    yield from _early_hosts(runs)
    yield from _first_hosts(runs)
    yield _near_optimal(runs, "image")
    yield _near_optimal(runs, "test-suite")
    yield from _formula()
    yield _lower_bound(runs)
    yield from _first_times(runs)
    yield _above_the_budget(runs)
    yield _too_low(runs)
    yield _no_difference(runs)
    yield from _more_increase(runs)
    yield from _more_spread(runs)
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
    near = estimate([100.0 * (order.off_percent <= NEAR_PERCENT) for order in runs.orders])
    yield _rule("average-is-near", near, off=show(estimate([order.off_percent for order in runs.orders]), 1))
    worst = [order.most_off_percent for order in runs.orders]
    stable, half = (estimate([100.0 * (off <= NEAR_PERCENT / part) for off in worst]) for part in (1, 2))
    yield _rule("prediction-is-stable", stable, half=show(half, 0))
    hosts = math.floor(image.n_tasks * image.mean_s / SECONDS_PER_HOUR + 0.5)
    yield _SAID.judge("final-prediction", exactly("", hosts == printed.final_hosts, f"{hosts}"))
    # Without the creationRatio, of orderings whose first task is longer than the average.
    cell = runs.sweep["image"][1.0, 1.0]
    many: dict[bool, list[bool]] = {True: [], False: []}
    for run in cell.runs:
        many[run.first_task_s > image.mean_s].append(run.first_hosts > image.optimal_hosts)
    share = estimate([100.0 * too_many for too_many in many[True]])
    yield _rule("too-many-at-first", share, some=sum(many[False]), others=len(many[False]))


def _faster(runs: A2haRuns) -> Iterator[Claim]:
    """Neighbours at the creationRatio of Fig. 6a."""
    for name, quantity, unit in (("more-hosts-from-half", "hosts", ""), ("shorter-from-half", "wall_h", " h")):
        found = {
            f"{job}, {high:g} - {low:g}: {WORDS[quantity]}": runs.sweep[job][0.5, high].less(
                runs.sweep[job][0.5, low], METRICS[quantity]
            )
            for job in SHORT_JOBS
            for low, high in pairwise(RATIOS[1:])
        }
        ends = [value(runs.sweep["image"][0.5, increase], quantity) for increase in (RATIOS[1], RATIOS[-1])]
        of_image = f"steps; image {ends[0]:.2f} to {ends[1]:.2f}{unit}"
        yield _SAID.judge(name, found, tally(of_image))


def _created() -> Iterator[Claim]:
    """Fig. 6b; by line 16 of Fig. 5, each finished task leaves a part of what is missing to a ratio of 1."""
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
    optimal = _FIGURES.job("image").optimal_hosts
    cell = runs.short("image", runs.style)
    texts = {
        "early": show(cell.mean(lambda run: run.early_hosts), 1),
        "final": show(cell.mean(METRICS["hosts"]), 1),
    }
    near = NEAR_PERCENT / 100
    final = percent_of_runs(cell, lambda run: abs(run.early_hosts / run.hosts - 1) <= near)
    yield _rule("early-near-final", final, **texts)
    best = percent_of_runs(cell, lambda run: abs(run.early_hosts / optimal - 1) <= near)
    yield _rule("early-near-optimal", best, **texts)


def _first_hosts(runs: A2haRuns) -> Iterator[Claim]:
    found, numbers = [], []
    n_runs = len(runs.short("image", runs.style).runs)
    for job in SHORT_JOBS:
        optimal = _FIGURES.job(job).optimal_hosts
        more = sum(run.first_hosts > optimal for run in runs.short(job, runs.style).runs)
        found.append(exactly(job, not more, f"{more} of {n_runs} orderings have more than {optimal}"))
        numbers.append(f"{more}")
    yield _SAID.judge("first-are-necessary", found, f"{'; '.join(numbers)} of {n_runs} orderings")

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


_SWEPT = {"time": ("wall_h", 2, " h"), "hosts": ("hosts", 1, " hosts")}
"""Quantities of the sweeps by what statements call them: their names, digits and units."""


def _near_optimal(runs: A2haRuns, job: str) -> Claim:
    """The best of all ratios: the paper speaks of a suitable choice."""
    name, optimal = f"near-optimal-{job}", _FIGURES.job(job).optimal_hosts

    def off(run: A2haRun) -> float:
        return 100 * abs(run.hosts / float(optimal) - 1)

    means = {name_of(ratios): cell.mean(off) for ratios, cell in _creating(runs, job).items()}
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


def _formula() -> Iterator[Claim]:
    of = {job: (_FIGURES.formula_hosts(job), _FIGURES.job(job).optimal_hosts) for job in _TWO_JOBS}
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


def _lower_bound(runs: A2haRuns) -> Claim:
    found, fewest, later = [], [], []
    for job in SHORT_JOBS:
        optimal = _FIGURES.job(job).optimal_hosts
        all_runs = [run for cell in _creating(runs, job).values() for run in cell.runs]
        in_time, too_late = ([run.hosts for run in all_runs if (run.wall_h <= 1) == early] for early in (True, False))
        below_it = sum(hosts < optimal for hosts in in_time)
        found.append(exactly(f"{job}:", not below_it, f"{below_it} of {len(in_time)} orderings"))
        fewest.append(f"{job} {min(in_time) if in_time else '-'}")
        few = [hosts for hosts in too_late if hosts < optimal]
        later.append(f"{job} {len(few)} of {len(too_late)}" + (f", from {min(few)} hosts on" if few else ""))
    return _SAID.judge("lower-bound", found, "; ".join(fewest), later="; ".join(later))


def _first_times(runs: A2haRuns) -> Iterator[Claim]:
    """Claim on a creationRatio of 1 against both styles."""
    for name, (quantity, digits, unit) in _SWEPT.items():
        found, ours = {}, []
        for job in _TWO_JOBS:
            at_one, others = runs.sweep[job][1.0, 1.0], {style: runs.short(job, style) for style in STYLES}
            for style, cell in others.items():
                found[f"{job}: 1 - {style}"] = sd_less(at_one, cell, METRICS[quantity])
            sds = span([_sd(cell, quantity) for cell in others.values()], digits)
            ours.append(f"{_sd(at_one, quantity):.{digits}f} against {sds}")
        yield _SAID.judge(f"first-times-{name}", found, "; ".join(ours) + unit)


def _sd(cell: A2haCell, quantity: str) -> float:
    sd = cell.sd(METRICS[quantity])
    return 0.0 if sd is None else sd.value


def _above_the_budget(runs: A2haRuns) -> Claim:
    """Claim on the least budget: a larger one is exceeded less often, and none is printed."""
    at_one, elsewhere = {}, []
    for job in _TWO_JOBS:
        budget_h = _FIGURES.job(job).optimal_hosts
        shares = {
            ratios: percent_of_runs(cell, lambda run, budget_h=budget_h: run.paid_units > budget_h)  # type: ignore[misc]
            for ratios, cell in _creating(runs, job).items()
        }
        at_one[job] = shares.pop((1.0, 1.0))
        elsewhere.append(f"{job} {span([share.mean for share in shares.values()], 0)} %")
    found = _SAID.cases("above-the-budget", at_one)
    exceeded = all_hold(found)
    return _SAID.decided(
        "above-the-budget",
        "does not hold" if exceeded == "does not hold" else "not decided",
        with_intervals(found),
        exceeded=verdict_in_words(exceeded),
        elsewhere="; ".join(elsewhere),
    )


def _too_low(runs: A2haRuns) -> Claim:
    found, ours = {}, []
    for job in SHORT_JOBS:
        low, base = runs.sweep[job][0.0, 0.25], runs.sweep[job][CONSERVATIVE]
        found[job] = low.less(base, METRICS["wall_h"])
        ours.append(f"{100 * (value(low, 'wall_h') / value(base, 'wall_h') - 1):+.0f}")
    return _SAID.judge("too-low", found, "; ".join(ours) + " %")


def _apart(runs: A2haRuns, job: str, quantity: str) -> dict[str, float]:
    """Distances of the means of any two combinations of ratios, in sums of both standard deviations."""
    sizes = {
        name_of(ratios): (value(cell, quantity), _sd(cell, quantity)) for ratios, cell in _creating(runs, job).items()
    }
    found = {}
    for (one, (mean, sd)), (other, (its, its_sd)) in combinations(sizes.items(), 2):
        reach = sd + its_sd
        found[f"{one} and {other}"] = abs(mean - its) / reach if reach else float(mean != its)
    return found


def _no_difference(runs: A2haRuns) -> Claim:
    """Claim of no difference, judged as in a picture with bars of one standard deviation, not by ordering."""
    cells, quantities = _creating(runs, "test-suite"), [quantity for quantity, _, _ in _SWEPT.values()]
    distances = {job: {quantity: _apart(runs, job, quantity) for quantity in quantities} for job in SHORT_JOBS}
    found = [
        exactly(f"{WORDS[quantity]}, {names}:", times < 1, f"{times:.2f}")
        for quantity, apart in distances["test-suite"].items()
        for names, times in apart.items()
    ]
    largest = {job: max(max(apart.values()) for apart in of.values()) for job, of in distances.items()}
    others = [cell for ratios, cell in cells.items() if min(ratios) > 0 and ratios != CONSERVATIVE]
    more = [cell.less(cells[CONSERVATIVE], METRICS[quantity]) for quantity in quantities for cell in others]
    return _SAID.judge(
        "no-difference",
        found,
        f"at most {largest['test-suite']:.2f} of both standard deviations",
        others=" and ".join(f"{job} has up to {largest[job]:.2f}" for job in _TWO_JOBS),
        hosts=span([value(cell, "hosts") for cell in cells.values()], 1),
        times=span([value(cell, "wall_h") for cell in cells.values()], 2),
        differ=sum("holds" in (is_above(one), is_below(one)) for one in more),
        pairs=len(more),
    )


def _more_increase(runs: A2haRuns) -> Iterator[Claim]:
    """Neighbours of the sweep at a creationRatio of 0; with an increaseRatio of 0, none is ever created."""
    for name, (quantity, digits, unit) in _SWEPT.items():
        found, ours = {}, []
        for job in SHORT_JOBS:
            cells = {increase: runs.sweep[job][0.0, increase] for increase in RATIOS[1:]}
            for low, high in pairwise(cells):
                found[f"{job}, {high:g} - {low:g}"] = cells[high].less(cells[low], METRICS[quantity])
            ends = [value(cells[increase], quantity) for increase in (RATIOS[1], RATIOS[-1])]
            ours.append(f"{ends[0]:.{digits}f} to {ends[1]:.{digits}f}")
        yield _SAID.judge(f"more-increase-{name}", found, "; ".join(ours) + unit)


def _more_spread(runs: A2haRuns) -> Iterator[Claim]:
    for name, (quantity, digits, unit) in _SWEPT.items():
        found, ours = {}, []
        for job in SHORT_JOBS:
            high, low = runs.sweep[job][0.0, 1.0], runs.sweep[job][0.0, 0.25]
            found[f"{job}, 1 - 0.25"] = sd_less(high, low, METRICS[quantity])
            ours.append(f"{_sd(low, quantity):.{digits}f} to {_sd(high, quantity):.{digits}f}")
        yield _SAID.judge(f"more-spread-{name}", found, "; ".join(ours) + unit)


def _less_evident(runs: A2haRuns) -> Claim:
    """Claim on increaseRatios from the least to 1, at all other creationRatios: still there, and less than at 0."""
    present: list[Case] = []
    smaller: list[Case] = []
    for job in SHORT_JOBS:
        cells = runs.sweep[job]
        for quantity, compare, opposite in (("wall_h", below, above), ("hosts", above, below)):
            metric = METRICS[quantity]
            changes = {of: cells[of, 1.0].statistic(metric) - cells[of, 0.25].statistic(metric) for of in RATIOS[:-1]}
            for creation in RATIOS[1:-1]:
                text = f"{job}, creationRatio {creation:g}: {WORDS[quantity]}"
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
        f"{name}, of orderings:": percent_of_runs(cell, lambda run: low <= excess(run) <= high)
        for name, cell in cells.items()
    }
    means = [cell.mean(excess).mean for cell in cells.values()]
    by_hosts = span([cell.mean(lambda run: run.efficiency_percent).mean for cell in cells.values()], 0)
    return _SAID.judge("variations", shares, f"{span(means[:2], 0)}; {span(means[2:], 0)} %", by_hosts=by_hosts)


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
        f"{job}: standard deviations, aggressive - conservative": sd_less(*pair, METRICS["hosts"])
        for job, pair in pairs.items()
    }
    ranges = {job: [span(cell.by_hosts) for cell in pair] for job, pair in pairs.items()}
    yield _SAID.judge("narrower", wider, "; ".join(f"{inner} in {outer}" for outer, inner in ranges.values()))
    hosts = {
        f"{job}: aggressive - conservative": one.less(other, METRICS["hosts"]) for job, (one, other) in pairs.items()
    }
    yield _SAID.judge("more-hosts", hosts, _plus)
    # In some cases: in any of them.
    low, high = NEARLY_TWICE
    times = {job: [run.hosts / _FIGURES.job(job).optimal_hosts for run in pair[0].runs] for job, pair in pairs.items()}
    near = [sum(low <= one <= high for one in found) for found in times.values()]
    ours = f"{'; '.join(map(str, near))} of {len(times['image'])} orderings"
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
        found.append(Case(job, text, "not decided") if 0 < some <= _FEW else exactly(job, not some, text))
        ours.append(both)
        slow, fast = (min(cell.values(METRICS["speedup"])) for cell in cells)
        speedups[job] = 100 * abs(fast / slow - 1)
        least.append(f"{slow:.2f} and {fast:.2f}")
    yield _SAID.judge("fewest-alike", found, "; ".join(ours), few=_FEW)
    yield _SAID.judge("least-speedup-alike", speedups, "; ".join(least))


def _in_par(runs: A2haRuns) -> Iterator[Claim]:
    for name, quantity in (("in-par", "hosts"), ("in-par-payment", "payment_h")):
        found = {f"{of}:": speedup_elasticity(cell, METRICS[quantity]) for of, cell in _cells(runs).items()}
        yield _SAID.judge(name, found, spread)
    # With all four pairs of ratios between which the paper lets a user choose.
    always, least = [], []
    for job in _TWO_JOBS:
        efficiencies = [run.efficiency_percent for ratios in _USER for run in runs.sweep[job][ratios].runs]
        low = sum(percent <= 50 for percent in efficiencies)
        least.append(f"{min(efficiencies):.1f}")
        always.append(exactly(f"{job}:", not low, f"{low} of {len(efficiencies)} orderings have 50 % or less"))
    yield _SAID.judge("always-half", always, f"least {'; '.join(least)} %")


def _prices(runs: A2haRuns) -> Iterator[Claim]:
    found, changes = {}, {}
    for job in _TWO_JOBS:
        aggressive, conservative = (runs.short(job, style) for style in ("aggressive", "conservative"))
        for quantity in ("payment_h", "speedup"):
            found[f"{job}: {WORDS[quantity]}"] = aggressive.less(conservative, METRICS[quantity])
        high, low = (
            quotient(cell.statistic(METRICS["payment_h"]), cell.statistic(METRICS["speedup"]))
            for cell in (aggressive, conservative)
        )
        assert high is not None
        assert low is not None
        ratio = quotient(high, low, 100.0)
        assert ratio is not None
        changes[job] = Statistic(ratio.value - 100, ratio.influence)
    yield _SAID.judge("pays-more-for-time", found, lambda cases: f"{_plus(cases[::2])} h")
    yield _SAID.judge("proportional", changes, lambda cases: f"{with_intervals(cases)} %")


# ---------------------------------------------------------------------------- sections 4.3, 4.4 and the abstract


_DIGITS = {"hosts": 1, "wall_h": 2, "speedup": 1, "payment_h": 1}

_MEASURED: tuple[LongQuantity, ...] = tuple(quantity for quantity in LONG_QUANTITIES if quantity != "hosts")
"""Quantities of the lines of the heuristic in Table 2, whose numbers of hosts the rule for long tasks was fitted to."""

_Means = Callable[[LongQuantity], Estimate]


def _table_1(runs: A2haRuns) -> Iterator[Claim]:
    """The paper prints no spread: within one standard deviation of our orderings is near, or what rounds to it."""
    for name, metric in TABLE_1.items():
        unit = {"charged_h": " h", "wasted_min": " min"}.get(name, "")
        found = []
        for job in SHORT_JOBS:
            cell, number = runs.short(job, runs.style), getattr(_FIGURES.job(job), name)
            sd = cell.sd(metric)
            reach = max(0.5, 0.0 if sd is None else sd.value)
            near = f"{unit} (printed {number:g}, our standard deviation {reach:.1f})".strip()
            found.append(about(job, cell.mean(metric), 1, near, value=number, points=reach))
        ours = "; ".join(f"{case.mean:.1f}" for case in found)
        yield _SAID.judge(f"table-1-{name}", found, f"{ours}{unit}")


def _continued(runs: A2haRuns) -> Iterator[Claim]:
    cells = {job: runs.short(job, runs.style) for job in SHORT_JOBS}
    shares = {
        job: estimate_of(cell.share_percent(lambda run: run.continued_hosts, METRICS["payment_h"]))
        for job, cell in cells.items()
    }
    for job in ("image", "test-suite"):
        yield _SAID.judge(f"continued-{job}", shares[job])
    synthetic = shares.pop("synthetic")
    more = {}
    for job, share in shares.items():
        mean = None if share.mean is None or synthetic.mean is None else share.mean - synthetic.mean
        half_width = (share.half_width or 0.0) + (synthetic.half_width or 0.0)
        more[f"{job} less synthetic:"] = Estimate(share.n, mean, half_width)
    ours = "; ".join(f"{share.mean or 0.0:.1f}" for share in shares.values())
    yield _SAID.judge("significant", more, f"{ours} against {synthetic.mean or 0.0:.1f} %")
    wasted = {}
    for job in shares:
        busy = cells[job].share_percent(lambda run: run.later_busy_s, lambda run: run.later_paid_s)
        wasted[job] = busy and Statistic(100 - busy.value, busy.influence)
    yield _SAID.judge("mostly-wasted", wasted, with_intervals)


def _table_2(runs: A2haRuns) -> Iterator[Claim]:
    def means(name: str, at_once: bool) -> _Means:
        return lambda quantity: estimate(runs.line(name, quantity, at_once=at_once))

    def means_of(cell: A2haCell) -> _Means:
        return lambda quantity: cell.mean(METRICS[quantity])

    for name in LINES:
        yield _line(_FIGURES.case(name), LONG_QUANTITIES, means(name, False), means(name, True))
    hosts = []
    for case in _FIGURES.heuristic_cases:
        key = runs.style, case.initial_hosts
        of_heuristic, of_ready = (means_of(cells[key]) for cells in (runs.long, runs.long_at_once))
        yield _line(case, _MEASURED, of_heuristic, of_ready)
        reach = max(case.hosts_sd or 0.0, 0.5)
        hosts.append(about(case.case, of_heuristic("hosts"), 1, value=case.hosts, points=reach))
    yield _SAID.judge("hosts-of-table-2", hosts, "; ".join(f"{case.mean:.0f}" for case in hosts))


def _line(case: Figures, quantities: Sequence[LongQuantity], booting: _Means, at_once: _Means) -> Claim:
    """A row of Table 2, which is of hosts that are ready at once, and with the boot time of section 4 beside."""
    shown = [quantity for quantity in quantities if getattr(case, quantity) is not None and quantity != "speedup"]

    def numbers(values: _Means) -> str:
        return "; ".join(f"{values(quantity).mean or 0.0:.{_DIGITS[quantity]}f}" for quantity in shown)

    with_boot = claim(Statement(""), _near(case, quantities, booting)).verdict
    ours = f"{numbers(at_once)}; 5 min boot {numbers(booting)}"
    near = _near(case, quantities, at_once)
    return _SAID.judge(f"table-2, {case.case}", near, ours, without=verdict_in_words(with_boot))


def _near(case: Figures, quantities: Sequence[LongQuantity], values: _Means) -> list[Case]:
    """Tests of our means against the printed means and standard deviations."""
    found = []
    for quantity in quantities:
        printed, sd = getattr(case, quantity), getattr(case, f"{quantity}_sd")
        if printed is not None and sd is not None:
            # 256 and 154 hosts are printed with a deviation of 0: what rounds to it is the same.
            sd = max(sd, 0.5) if quantity == "hosts" else sd
            unit = f"(printed {printed:g}, deviation {sd:g})"
            found.append(about(WORDS[quantity], values(quantity), _DIGITS[quantity], unit, value=printed, points=sd))
    return found


def _optimal_is_least(runs: A2haRuns) -> Claim:
    """Claim on the first orderings: what a plan pays at least that ends with the longest task."""
    paid_h = runs.line("optimal", "payment_h")
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
    alone = {name: mean_of(runs.line("1 per task", name)) for name in ("speedup", "payment_h")}
    cells = {
        f"{case.case}, {style}": runs.long[style, case.initial_hosts]
        for case in _FIGURES.heuristic_cases
        for style in STYLES
    }
    found = {
        f"{WORDS[name]}, {of}:": line - cell.statistic(METRICS[name])
        for name, line in alone.items()
        for of, cell in cells.items()
    }
    shown = [show(line.estimate, 1) for line in alone.values()]
    yield _SAID.judge("best-and-dearest", found, f"{shown[0]}; {shown[1]} h")
    paid = alone["payment_h"]
    less = {f"{of}:": cell.statistic(METRICS["payment_h"]) - paid for of, cell in cells.items()}
    saved = span([-100 * one.value / paid.value for one in less.values()])
    yield _SAID.judge("cheaper-than-alone", less, f"{saved} % less")
    walls = {
        "5 min boot": runs.line("1 per task", "wall_h"),
        "no boot": runs.line("1 per task", "wall_h", at_once=True),
    }
    near = {
        f"{style}, longest task with {boot}:": runs.long[style, 100].statistic(METRICS["wall_h"]) - mean_of(hours)
        for style in STYLES
        for boot, hours in walls.items()
    }
    above_h = value(runs.long[runs.style, 100], "wall_h") - mean_of(walls["5 min boot"]).value
    yield _SAID.judge("near-optimal-time", near, f"{above_h:.2f} h")


def _within_the_budget(runs: A2haRuns) -> Claim:
    """Claim on the least budget: what is below it is below every other, and none is printed."""
    budgets = {job: _FIGURES.job(job).optimal_hosts for job in SHORT_JOBS}
    least, twice = (
        [
            below(job, cells[job].mean(METRICS["payment_h"]), 1, f"h of {factor * hours}", limit=factor * hours)
            for job, hours in budgets.items()
        ]
        for factor, cells in ((1, {job: runs.short(job, runs.style) for job in SHORT_JOBS}), (2, runs.twice))
    )
    verdict = all_hold(least)
    return _SAID.decided(
        "within-the-budget",
        "holds" if verdict == "holds" else "not decided",
        "; ".join(case.ours.partition(" h")[0] for case in least) + " h",
        below=verdict_in_words(verdict),
        below_twice=verdict_in_words(all_hold(twice)),
        least="; ".join(map(str, least)),
        twice="; ".join(map(str, twice)),
    )


# ---------------------------------------------------------------------------- what was found besides


def a2ha_findings(runs: A2haRuns) -> Iterator[Claim]:
    """Initial hosts, a larger budget, waiting for predictions, and what not knowing the run times costs."""
    yield from _initial_hosts(runs)
    base = {job: runs.short(job, "conservative") for job in SHORT_JOBS}
    earlier = {job: runs.twice[job].less(base[job], METRICS["wall_h"]) for job in base}
    hosts, paid, wall = (
        [value(runs.twice[job], name) / value(base[job], name) for job in base]
        for name in ("hosts", "payment_h", "wall_h")
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
            for quantity, compare in (("wall_h", below), ("payment_h", above)):
                less = runs.long[style, more].less(runs.long[style, fewer], METRICS[quantity])
                found.append(compare(f"{style}, {more} - {fewer}: {WORDS[quantity]}", less, 2))
    one, many = runs.long[runs.style, 1], runs.long[runs.style, 100]
    times, paid = (
        f"{value(one, name):.{digits}f} to {value(many, name):.{digits}f}"
        for name, digits in (("wall_h", 2), ("payment_h", 0))
    )
    yield _SAID.judge("initial-hosts", found, f"1 to 100: {times} h, {paid} h paid")
    waits = {
        f"{name}, {style}:": runs.long_at_once[style, initial].less(
            runs.long_at_once[AT_THE_START, initial], METRICS["wall_h"]
        )
        for initial, name in cases.items()
        for style in STYLES
    }
    yield _SAID.judge("waiting", waits, f"{span([wait.mean for wait in waits.values()], 1)} h longer")
