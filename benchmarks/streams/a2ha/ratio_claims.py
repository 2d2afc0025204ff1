"""Claims of section 4.1 of the A2HA paper on creationRatio and increaseRatio, judged by replays."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

from ....core.statistics import Estimate
from ...claims import Claim, Verdict, all_hold, is_above, is_below, judged, show, tally, verdict_in_words
from .comparisons import (
    BY_ARITHMETIC,
    TWO_JOBS,
    Found,
    judged_with,
    mean_span,
    name_of,
    percent_of_runs,
    sd_less,
    span,
    value,
)
from .printed import A2haFigures
from .runs import METRICS, WORDS, A2haCell, A2haRun, A2haRuns
from .settings import CONSERVATIVE, RATIOS, SHORT_JOBS, STYLES, Ratios

_DIGITS = {"wall_h": 2, "hosts": 1}
_UNITS = {"wall_h": " h", "hosts": " hosts"}


def ratio_claims(figures: A2haFigures, runs: A2haRuns) -> Iterator[Claim]:
    """Judge the statements of section 4.1, in their order."""
    yield _difference(figures, runs, "image", 20)
    yield _difference(figures, runs, "test-suite", 35)
    yield _formula(figures)
    yield _formula_of_the_suite(figures)
    yield _lower_bound(figures, runs)
    yield _first_times(runs, "wall_h", "time")
    yield _first_times(runs, "hosts", "number of hosts")
    yield _dearer_than_the_budget(figures, runs)
    yield _too_low(runs)
    yield _no_difference(runs)
    yield _more_increase(runs, "wall_h", "the shorter the time")
    yield _more_increase(runs, "hosts", "the more hosts")
    yield _more_spread(runs, "wall_h", "time")
    yield _more_spread(runs, "hosts", "number of hosts")
    yield _less_evident(runs)


def _difference(figures: A2haFigures, runs: A2haRuns, job: str, percent: float) -> Claim:
    """The best of all ratios: the paper speaks of a suitable choice."""
    optimal = figures.job(job).optimal_hosts

    def off(run: A2haRun) -> float:
        return 100 * abs(run.hosts / optimal - 1)

    means = {ratios: cell.mean(off) for ratios, cell in runs.sweep[job].items() if max(ratios) > 0}
    best = min(means, key=lambda ratios: means[ratios].mean or 0.0)
    styles = {style: means[ratios] for style, ratios in STYLES.items()}
    return judged_with(
        f"with suitable ratios the number of hosts is within {percent:g} % of the optimal {optimal} ({job})",
        [(f"{name_of(best)}: {show(means[best], 1)} %", is_below(means[best], percent))],
        f"{show(means[best], 1)} %",
        f"with {name_of(best)}, on average over the orderings; "
        + "; ".join(f"{style} {show(mean, 1)} %" for style, mean in styles.items())
        + f"; within {percent:g} % by their intervals are {_within(means, percent)} of {len(means)} combinations",
        source="section 4.1, Figs 9 and 11",
        printed=f"{percent:g} %",
    )


def _within(means: dict[Ratios, Estimate], percent: float) -> int:
    return sum(is_below(mean, percent) == "holds" for mean in means.values())


def _formula(figures: A2haFigures) -> Claim:
    found: list[Found] = []
    for job in TWO_JOBS:
        printed = figures.job(job)
        same = printed.formula_hosts == printed.optimal_hosts
        text = f"{job} {printed.optimal_hosts} printed, {printed.formula_hosts} by the formula"
        found.append((text, "holds" if same else "does not hold"))
    return judged_with(
        "tasks x mean / 55 min, rounded up, are the optimal hosts of the image and the synthetic job",
        found,
        " and ".join(f"{figures.job(job).formula_hosts}" for job in TWO_JOBS),
        f"{BY_ARITHMETIC}: the formula with the printed means",
        source="section 4.1",
        printed=" and ".join(f"{figures.job(job).optimal_hosts}" for job in TWO_JOBS),
    )


def _formula_of_the_suite(figures: A2haFigures) -> Claim:
    """The mean is printed as a minute: whether that is 60 s or what rounds to it, the text does not say."""
    suite = figures.job("test-suite")
    low_s, high_s = suite.means_of_optimal_s
    verdict: Verdict = "does not hold"
    if suite.formula_hosts == suite.optimal_hosts:
        verdict = "holds"
    elif low_s < 1.5 * suite.mean_s and high_s > 0.5 * suite.mean_s:
        verdict = "not decided"
    return Claim(
        "tasks x mean / 55 min, rounded up, are the optimal hosts of the test suite",
        verdict,
        f"{suite.formula_hosts}",
        f"{BY_ARITHMETIC}: {suite.formula_hosts} with a mean of 60 s; {suite.optimal_hosts} needs one from "
        f"{low_s:.1f} to {high_s:.1f} s, which is a minute, too, if rounded to minutes",
        "section 4.1",
        f"{suite.optimal_hosts}",
    )


def _lower_bound(figures: A2haFigures, runs: A2haRuns) -> Claim:
    found: list[Found] = []
    fewest = []
    later = []
    for job in SHORT_JOBS:
        optimal = figures.job(job).optimal_hosts
        cells = [cell for ratios, cell in runs.sweep[job].items() if max(ratios) > 0]
        in_time = [run.hosts for cell in cells for run in cell.runs if run.wall_h <= 1]
        below = sum(hosts < optimal for hosts in in_time)
        found.append((f"{job}: {below} of {len(in_time)} orderings", "does not hold" if below else "holds"))
        fewest.append(f"{job} {min(in_time) if in_time else '-'}")
        too_late = [run.hosts for cell in cells for run in cell.runs if run.wall_h > 1]
        few = [hosts for hosts in too_late if hosts < optimal]
        later.append(f"{job} {len(few)} of {len(too_late)}" + (f", from {min(few)} hosts on" if few else ""))
    return judged_with(
        "the optimal numbers of hosts are lower bounds",
        found,
        "; ".join(fewest),
        "the fewest hosts of orderings, of all ratios that create hosts, that end within one paid hour; of those that "
        f"end later, fewer have: {'; '.join(later)}; one host alone takes longest and pays least. Of the image and the "
        "synthetic job the bound follows from the formula: within the hour a host works for 55 minutes",
        source="section 4.1",
        printed="18; 12; 29",
    )


def _first_times(runs: A2haRuns, quantity: str, words: str) -> Claim:
    """With a creationRatio of 1 against both styles."""
    metric, digits = METRICS[quantity], _DIGITS[quantity]
    found: list[Found] = []
    ours = []
    for job in TWO_JOBS:
        at_one = runs.sweep[job][1.0, 1.0]
        for style in STYLES:
            less = sd_less(at_one, runs.short(job, style), metric)
            found.append((f"{job}: 1 - {style} = {show(less, 3)}", is_above(less)))
        sds = [_sd(cell, quantity) for cell in (at_one, *(runs.short(job, style) for style in STYLES))]
        ours.append(f"{sds[0]:.{digits}f} against {span(sds[1:], digits)}")
    return judged(
        f"with a creationRatio of 1 the standard deviation of the {words} is larger",
        found,
        "; ".join(ours) + _UNITS[quantity],
        source="section 4.1, Figs 9 and 10",
    )


def _sd(cell: A2haCell, quantity: str) -> float:
    sd = cell.sd(METRICS[quantity])
    return 0.0 if sd is None else sd.value


def _dearer_than_the_budget(figures: A2haFigures, runs: A2haRuns) -> Claim:
    """Of the least budget: a larger one is exceeded less often, and none is printed."""
    found: list[Found] = []
    ours = []
    elsewhere = []
    for job in TWO_JOBS:
        budget_h = figures.job(job).optimal_hosts
        shares = {
            ratios: percent_of_runs(cell, lambda run, budget_h=budget_h: run.paid_units > budget_h)  # type: ignore[misc]
            for ratios, cell in runs.sweep[job].items()
            if max(ratios) > 0
        }
        share = shares.pop((1.0, 1.0))
        found.append((f"{job} {show(share, 0)} %", is_above(share, 50)))
        ours.append(f"{show(share, 0)} %")
        elsewhere.append(f"{job} {mean_span(shares.values(), 0)} %")
    exceeded = all_hold(verdict for _, verdict in found)
    return Claim(
        "with a creationRatio of 1 the payment is most likely above the budget",
        "does not hold" if exceeded == "does not hold" else "not decided",
        "; ".join(ours),
        "no budget is printed; with the least, the optimal number of hosts for an hour, it "
        f"{verdict_in_words(exceeded)}; with all other ratios {'; '.join(elsewhere)} of the orderings are above it. A "
        "larger budget is exceeded less often",
        "section 4.1",
        "highly probable",
    )


def _too_low(runs: A2haRuns) -> Claim:
    found: list[Found] = []
    ours = []
    for job in SHORT_JOBS:
        low, base = runs.sweep[job][0.0, 0.25], runs.sweep[job][CONSERVATIVE]
        more = low.less(base, METRICS["wall_h"])
        found.append((f"{job} {show(more, 2)} h", is_above(more)))
        ours.append(f"{100 * (value(low, 'wall_h') / value(base, 'wall_h') - 1):+.0f}")
    return judged(
        "with too low a creationRatio hosts come too late: the time is longer (0/0.25 against 0.5/0.5)",
        found,
        "; ".join(ours) + " %",
        source="section 4.1",
        printed="not good",
    )


def _apart(runs: A2haRuns, job: str, quantity: str) -> dict[str, float]:
    """Distances of the means of any two combinations of ratios, in sums of both standard deviations."""
    sizes = {
        name_of(ratios): (value(cell, quantity), _sd(cell, quantity))
        for ratios, cell in runs.sweep[job].items()
        if max(ratios) > 0
    }
    found = {}
    for (one, (mean, sd)), (other, (its, its_sd)) in combinations(sizes.items(), 2):
        reach = sd + its_sd
        found[f"{one} and {other}"] = abs(mean - its) / reach if reach else float(mean != its)
    return found


def _no_difference(runs: A2haRuns) -> Claim:
    """Claim of no difference, judged as in a picture with bars of one standard deviation, not by ordering."""
    cells = {ratios: cell for ratios, cell in runs.sweep["test-suite"].items() if max(ratios) > 0}
    found: list[Found] = []
    for quantity in ("wall_h", "hosts"):
        for names, times in _apart(runs, "test-suite", quantity).items():
            found.append((f"{WORDS[quantity]}, {names}: {times:.2f}", "holds" if times < 1 else "does not hold"))
    largest = {
        job: max(times for quantity in ("wall_h", "hosts") for times in _apart(runs, job, quantity).values())
        for job in SHORT_JOBS
    }
    differ = sum(
        is_above(more) == "holds" or is_below(more) == "holds"
        for quantity in ("wall_h", "hosts")
        for ratios, cell in cells.items()
        if min(ratios) > 0 and ratios != CONSERVATIVE
        for more in [cell.less(cells[CONSERVATIVE], METRICS[quantity])]
    )
    pairs = 2 * sum(min(ratios) > 0 for ratios in cells) - 2
    return judged_with(
        "of the test suite, combinations of both ratios show no distinct difference",
        found,
        f"at most {largest['test-suite']:.2f} of both standard deviations",
        "distinct is what a picture shows: bars of one standard deviation that do not overlap (1 and more; "
        f"{' and '.join(f'{job} has up to {largest[job]:.2f}' for job in TWO_JOBS)}); means are "
        f"{span((value(cell, 'hosts') for cell in cells.values()), 1)} hosts, "
        f"{span((value(cell, 'wall_h') for cell in cells.values()), 2)} h; over the same orderings, {differ} of "
        f"{pairs} differences from 0.5/0.5 are not 0 by their intervals (ratios above 0)",
        source="section 4.1, Fig. 11",
        printed="none",
    )


def _more_increase(runs: A2haRuns, quantity: str, words: str) -> Claim:
    """Neighbours of the sweep at a creationRatio of 0; with an increaseRatio of 0, none is ever created."""
    metric, digits = METRICS[quantity], _DIGITS[quantity]
    decide = is_below if quantity == "wall_h" else is_above
    found: list[Found] = []
    ours = []
    for job in SHORT_JOBS:
        for low, high in pairwise(RATIOS[1:]):
            less = runs.sweep[job][0.0, high].less(runs.sweep[job][0.0, low], metric)
            found.append((f"{job}, {high:g} - {low:g} = {show(less, 3)}", decide(less)))
        ends = [value(runs.sweep[job][0.0, increase], quantity) for increase in (RATIOS[1], RATIOS[-1])]
        ours.append(f"{ends[0]:.{digits}f} to {ends[1]:.{digits}f}")
    return judged(
        f"from a creationRatio of 0, the higher the increaseRatio, {words}",
        found,
        "; ".join(ours) + _UNITS[quantity],
        source="section 4.1, Figs 9 to 11",
    )


def _more_spread(runs: A2haRuns, quantity: str, words: str) -> Claim:
    digits = _DIGITS[quantity]
    found: list[Found] = []
    ours = []
    for job in SHORT_JOBS:
        high, low = runs.sweep[job][0.0, 1.0], runs.sweep[job][0.0, 0.25]
        less = sd_less(high, low, METRICS[quantity])
        found.append((f"{job}, 1 - 0.25 = {show(less, 3)}", is_above(less)))
        ours.append(f"{_sd(low, quantity):.{digits}f} to {_sd(high, quantity):.{digits}f}")
    return judged(
        f"from a creationRatio of 0, a higher increaseRatio has a larger standard deviation of the {words}",
        found,
        "; ".join(ours) + _UNITS[quantity],
        source="section 4.1, Figs 9 to 11",
    )


def _less_evident(runs: A2haRuns) -> Claim:
    """From the least increaseRatio to 1, at all other creationRatios: still there, and less than at 0."""
    present: list[Found] = []
    smaller: list[Found] = []
    for job in SHORT_JOBS:
        cells = runs.sweep[job]
        for quantity, decide, opposite in (("wall_h", is_below, is_above), ("hosts", is_above, is_below)):
            metric = METRICS[quantity]
            changes = {
                creation: cells[creation, 1.0].statistic(metric) - cells[creation, 0.25].statistic(metric)
                for creation in RATIOS[:-1]
            }
            for creation in RATIOS[1:-1]:
                change, more = changes[creation].estimate, (changes[creation] - changes[0.0]).estimate
                text = f"{job}, creationRatio {creation:g}: {WORDS[quantity]}"
                present.append((f"{text} {show(change, 3)}", decide(change)))
                smaller.append((f"{text} {show(more, 3)} against 0", opposite(more)))
    return judged(
        "with a higher creationRatio effects of the increaseRatio are less evident, but still there",
        [*present, *smaller],
        f"there {tally(present)}; less {tally(smaller)}",
        source="section 4.1, Figs 9 to 11",
    )
