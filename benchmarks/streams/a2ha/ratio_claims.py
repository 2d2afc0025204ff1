"""Claims of section 4.1 of the A2HA paper on creationRatio and increaseRatio, judged by replays."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

from ...claims import (
    Case,
    Claim,
    above,
    all_hold,
    below,
    exactly,
    is_above,
    is_below,
    show,
    span,
    tally,
    verdict_in_words,
)
from .comparisons import SAID, TWO_JOBS, name_of, percent_of_runs, sd_less, value
from .printed import A2haFigures
from .runs import METRICS, WORDS, A2haCell, A2haRun, A2haRuns
from .settings import CONSERVATIVE, RATIOS, SHORT_JOBS, STYLES, Ratios

_DIGITS = {"wall_h": 2, "hosts": 1}
_UNITS = {"wall_h": " h", "hosts": " hosts"}
_NAMES = {"wall_h": "time", "hosts": "hosts"}


def ratio_claims(figures: A2haFigures, runs: A2haRuns) -> Iterator[Claim]:
    """Judge the statements of section 4.1, in their order."""
    yield _near_optimal(figures, runs, "image", 20)
    yield _near_optimal(figures, runs, "test-suite", 35)
    yield from _formula(figures)
    yield _lower_bound(figures, runs)
    yield from (_first_times(runs, quantity) for quantity in _NAMES)
    yield _above_the_budget(figures, runs)
    yield _too_low(runs)
    yield _no_difference(runs)
    yield from (_more_increase(runs, quantity) for quantity in _NAMES)
    yield from (_more_spread(runs, quantity) for quantity in _NAMES)
    yield _less_evident(runs)


def _near_optimal(figures: A2haFigures, runs: A2haRuns, job: str, percent: float) -> Claim:
    """The best of all ratios: the paper speaks of a suitable choice."""
    optimal = figures.job(job).optimal_hosts

    def off(run: A2haRun) -> float:
        return 100 * abs(run.hosts / optimal - 1)

    means = {ratios: cell.mean(off) for ratios, cell in _creating(runs, job).items()}
    best = min(means, key=lambda ratios: means[ratios].mean or 0.0)
    return SAID.judge(
        "near-optimal-hosts",
        below(name_of(best), means[best], 1, "%", limit=percent),
        percent=percent,
        optimal=optimal,
        job=job,
        best=name_of(best),
        styles="; ".join(f"{style} {show(means[ratios], 1)} %" for style, ratios in STYLES.items()),
        within=sum(is_below(mean, percent) == "holds" for mean in means.values()),
        n=len(means),
    )


def _creating(runs: A2haRuns, job: str) -> dict[Ratios, A2haCell]:
    """The sweep of a job, without the ratios that never create a host."""
    return {ratios: cell for ratios, cell in runs.sweep[job].items() if max(ratios) > 0}


def _formula(figures: A2haFigures) -> Iterator[Claim]:
    printed = [figures.job(job) for job in TWO_JOBS]
    yield SAID.judge(
        "formula",
        [
            exactly(
                of.job,
                of.formula_hosts == of.optimal_hosts,
                f"{of.optimal_hosts} printed, {of.formula_hosts} by the formula",
            )
            for of in printed
        ],
        " and ".join(f"{of.formula_hosts}" for of in printed),
        printed=" and ".join(f"{of.optimal_hosts}" for of in printed),
    )
    # The mean is printed as a minute: whether that is 60 s or what rounds to it, the text does not say.
    suite = figures.job("test-suite")
    low_s, high_s = suite.means_of_optimal_s
    as_printed = exactly("", suite.formula_hosts == suite.optimal_hosts, f"{suite.formula_hosts}")
    rounds = low_s < 1.5 * suite.mean_s and high_s > 0.5 * suite.mean_s
    verdict = "not decided" if as_printed.verdict != "holds" and rounds else as_printed.verdict
    yield SAID.decided("formula-of-the-suite", verdict, as_printed.ours, suite=suite, low_s=low_s, high_s=high_s)


def _lower_bound(figures: A2haFigures, runs: A2haRuns) -> Claim:
    found, fewest, later = [], [], []
    for job in SHORT_JOBS:
        optimal = figures.job(job).optimal_hosts
        all_runs = [run for cell in _creating(runs, job).values() for run in cell.runs]
        in_time, too_late = ([run.hosts for run in all_runs if (run.wall_h <= 1) == early] for early in (True, False))
        below_it = sum(hosts < optimal for hosts in in_time)
        found.append(exactly(f"{job}:", not below_it, f"{below_it} of {len(in_time)} orderings"))
        fewest.append(f"{job} {min(in_time) if in_time else '-'}")
        few = [hosts for hosts in too_late if hosts < optimal]
        later.append(f"{job} {len(few)} of {len(too_late)}" + (f", from {min(few)} hosts on" if few else ""))
    return SAID.judge("lower-bound", found, "; ".join(fewest), later="; ".join(later))


def _first_times(runs: A2haRuns, quantity: str) -> Claim:
    """With a creationRatio of 1 against both styles."""
    digits, found, ours = _DIGITS[quantity], [], []
    for job in TWO_JOBS:
        at_one = runs.sweep[job][1.0, 1.0]
        others = {style: runs.short(job, style) for style in STYLES}
        for style, cell in others.items():
            found.append(above(f"{job}: 1 - {style}", sd_less(at_one, cell, METRICS[quantity]), 3))
        sds = span([_sd(cell, quantity) for cell in others.values()], digits)
        ours.append(f"{_sd(at_one, quantity):.{digits}f} against {sds}")
    return SAID.judge(f"first-times-{_NAMES[quantity]}", found, "; ".join(ours) + _UNITS[quantity])


def _sd(cell: A2haCell, quantity: str) -> float:
    sd = cell.sd(METRICS[quantity])
    return 0.0 if sd is None else sd.value


def _above_the_budget(figures: A2haFigures, runs: A2haRuns) -> Claim:
    """Of the least budget: a larger one is exceeded less often, and none is printed."""
    found, elsewhere = [], []
    for job in TWO_JOBS:
        budget_h = figures.job(job).optimal_hosts
        shares = {
            ratios: percent_of_runs(cell, lambda run, budget_h=budget_h: run.paid_units > budget_h)  # type: ignore[misc]
            for ratios, cell in _creating(runs, job).items()
        }
        found.append(above(job, shares.pop((1.0, 1.0)), 0, "%", limit=50))
        elsewhere.append(f"{job} {span([share.mean for share in shares.values()], 0)} %")
    exceeded = all_hold(found)
    return SAID.decided(
        "above-the-budget",
        "does not hold" if exceeded == "does not hold" else "not decided",
        "; ".join(case.ours for case in found),
        exceeded=verdict_in_words(exceeded),
        elsewhere="; ".join(elsewhere),
    )


def _too_low(runs: A2haRuns) -> Claim:
    found, ours = [], []
    for job in SHORT_JOBS:
        low, base = runs.sweep[job][0.0, 0.25], runs.sweep[job][CONSERVATIVE]
        found.append(above(job, low.less(base, METRICS["wall_h"]), 2, "h"))
        ours.append(f"{100 * (value(low, 'wall_h') / value(base, 'wall_h') - 1):+.0f}")
    return SAID.judge("too-low", found, "; ".join(ours) + " %")


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
    cells = _creating(runs, "test-suite")
    distances = {job: {quantity: _apart(runs, job, quantity) for quantity in _NAMES} for job in SHORT_JOBS}
    found = [
        exactly(f"{WORDS[quantity]}, {names}:", times < 1, f"{times:.2f}")
        for quantity, apart in distances["test-suite"].items()
        for names, times in apart.items()
    ]
    largest = {job: max(max(apart.values()) for apart in of.values()) for job, of in distances.items()}
    others = [cell for ratios, cell in cells.items() if min(ratios) > 0 and ratios != CONSERVATIVE]
    more = [cell.less(cells[CONSERVATIVE], METRICS[quantity]) for quantity in _NAMES for cell in others]
    return SAID.judge(
        "no-difference",
        found,
        f"at most {largest['test-suite']:.2f} of both standard deviations",
        others=" and ".join(f"{job} has up to {largest[job]:.2f}" for job in TWO_JOBS),
        hosts=span([value(cell, "hosts") for cell in cells.values()], 1),
        times=span([value(cell, "wall_h") for cell in cells.values()], 2),
        differ=sum("holds" in (is_above(one), is_below(one)) for one in more),
        pairs=len(more),
    )


def _more_increase(runs: A2haRuns, quantity: str) -> Claim:
    """Neighbours of the sweep at a creationRatio of 0; with an increaseRatio of 0, none is ever created."""
    compare, digits = below if quantity == "wall_h" else above, _DIGITS[quantity]
    found, ours = [], []
    for job in SHORT_JOBS:
        cells = {increase: runs.sweep[job][0.0, increase] for increase in RATIOS[1:]}
        for low, high in pairwise(cells):
            found.append(compare(f"{job}, {high:g} - {low:g}", cells[high].less(cells[low], METRICS[quantity]), 3))
        ends = [value(cells[increase], quantity) for increase in (RATIOS[1], RATIOS[-1])]
        ours.append(f"{ends[0]:.{digits}f} to {ends[1]:.{digits}f}")
    return SAID.judge(f"more-increase-{_NAMES[quantity]}", found, "; ".join(ours) + _UNITS[quantity])


def _more_spread(runs: A2haRuns, quantity: str) -> Claim:
    digits, found, ours = _DIGITS[quantity], [], []
    for job in SHORT_JOBS:
        high, low = runs.sweep[job][0.0, 1.0], runs.sweep[job][0.0, 0.25]
        found.append(above(f"{job}, 1 - 0.25", sd_less(high, low, METRICS[quantity]), 3))
        ours.append(f"{_sd(low, quantity):.{digits}f} to {_sd(high, quantity):.{digits}f}")
    return SAID.judge(f"more-spread-{_NAMES[quantity]}", found, "; ".join(ours) + _UNITS[quantity])


def _less_evident(runs: A2haRuns) -> Claim:
    """From the least increaseRatio to 1, at all other creationRatios: still there, and less than at 0."""
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
    return SAID.judge("less-evident", [*present, *smaller], ours)
