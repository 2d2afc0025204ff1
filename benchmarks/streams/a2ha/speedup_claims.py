"""Claims of sections 4.2 and 6 of the A2HA paper on speedup, hosts and both styles, judged by replays."""

from __future__ import annotations

from collections.abc import Iterator

from ....core.quantities import SECONDS_PER_HOUR
from ....core.statistics import Estimate, mean_of, quotient
from ....core.wording import counted
from ...claims import Claim, Verdict, is_above, is_below, is_within, judged, show
from ...paper_result import NOTHING
from .comparisons import (
    BY_ARITHMETIC,
    TWO_JOBS,
    Found,
    judged_with,
    mean_span,
    percent_of_runs,
    same_hosts_difference,
    sd_less,
    span,
    speedup_elasticity,
)
from .printed import USABLE_S, A2haFigures
from .runs import METRICS, WORDS, A2haCell, A2haRuns
from .settings import STYLES, Ratios, Style

ABOUT_POINTS = 5.0
"""What a share of so many percent means: so many points up or down."""

_NEARLY_TWICE = (1.8, 2.2)
"""What 'close to twice' means."""

_VARIATION_PERCENT = (46, 61)

_THIRTEEN = 13

_FEW = 5
"""Of 200 orderings, a difference of so many can be chance: 5 to 0 has a probability of 1 in 16."""

_USER: tuple[Ratios, ...] = tuple((creation, increase) for creation in (0.5, 0.75) for increase in (0.5, 0.75))
"""Ratios between which a user may choose."""


def speedup_claims(figures: A2haFigures, runs: A2haRuns) -> Iterator[Claim]:
    """Judge the statements of section 4.2, in their order, and of section 6 on both styles."""
    yield _variations(runs)
    yield _thirteen_speedup(runs)
    yield _thirteen_efficiency(runs)
    yield _most_efficient()
    yield _better_for_the_same(runs)
    yield _narrower(runs)
    yield _more_hosts(runs)
    yield _twice(figures, runs)
    yield _fewest_alike(runs)
    yield _least_speedup_alike(runs)
    yield _in_par(runs)
    yield _always_half(runs)
    yield _pays_more_for_time(runs)
    yield _proportional(runs)


def _cells(runs: A2haRuns) -> Iterator[tuple[str, A2haCell]]:
    """Both jobs in both styles."""
    for job in TWO_JOBS:
        for style in STYLES:
            yield f"{job} {style}", runs.short(job, style)


def _variations(runs: A2haRuns) -> Claim:
    """Claim on the excess of hosts over the speedup; the paper leaves open what varies."""
    low, high = _VARIATION_PERCENT
    found: list[Found] = []
    by_hosts = []
    for name, cell in _cells(runs):
        share = percent_of_runs(cell, lambda run: low <= 100 * (run.hosts / run.speedup - 1) <= high)
        mean = cell.mean(lambda run: 100 * (run.hosts / run.speedup - 1))
        found.append((f"{name}: {show(share, 0)} % of orderings, {show(mean, 0)} % on average", is_above(share, 50)))
        by_hosts.append(cell.mean(lambda run: run.efficiency_percent))
    means = [cell.mean(lambda run: 100 * (run.hosts / run.speedup - 1)) for _, cell in _cells(runs)]
    return judged_with(
        "hosts and speedup are close: usually the one is 46 to 61 % above the other",
        found,
        f"{mean_span(means[:2], 0)}; {mean_span(means[2:], 0)} %",
        f'the paper says "variations" and not of what; as speedup by hosts it is {mean_span(by_hosts, 0)} % here, and '
        "cannot be 46 to 61 % where the paper has 70 % and more than 50 % next",
        source="section 4.2, Fig. 12",
        printed="46 to 61 %",
    )


def _thirteen(runs: A2haRuns, style: Style) -> list[float]:
    """Speedups of the synthetic job with 13 hosts; the image job needs 18."""
    return [run.speedup for run in runs.short("synthetic", style).by_hosts.get(_THIRTEEN, [])]


def _mean(values: list[float]) -> Estimate:
    return mean_of(values).estimate if values else NOTHING


def _thirteen_speedup(runs: A2haRuns) -> Claim:
    means = {style: _mean(_thirteen(runs, style)) for style in STYLES}
    found = [(f"{style} {show(mean, 2)}", is_within(mean, 9, 10)) for style, mean in means.items()]
    return judged_with(
        "13 hosts offer a speedup between 9 and 10 in both styles",
        found,
        " and ".join(show(mean, 2) for mean in means.values()),
        f"the synthetic job: image needs 18; {' and '.join(f'{mean.n}' for mean in means.values())} orderings have 13",
        source="section 4.2",
        printed="9 to 10",
    )


def _thirteen_efficiency(runs: A2haRuns) -> Claim:
    percents = {style: _mean([100 * one / _THIRTEEN for one in _thirteen(runs, style)]) for style in STYLES}
    low, high = 70 - ABOUT_POINTS, 70 + ABOUT_POINTS
    found = [(f"{style} {show(mean, 1)} %", is_within(mean, low, high)) for style, mean in percents.items()]
    return judged_with(
        "the efficiency with 13 hosts is about 70 %",
        found,
        " and ".join(show(mean, 1) for mean in percents.values()) + " %",
        f"about is within {ABOUT_POINTS:g} points; the paper takes a speedup of 9, the least that it says",
        source="section 4.2",
        printed="70 %",
    )


def _most_efficient() -> Claim:
    """By the set-up of all experiments."""
    percent, printed = 100 * USABLE_S / SECONDS_PER_HOUR, 90
    return Claim(
        f"the efficiency is at most {printed} %, as 5 minutes of each hour are lost",
        is_within(Estimate(1, percent, None), printed - ABOUT_POINTS, printed + ABOUT_POINTS),
        f"{percent:.1f} %",
        f"{BY_ARITHMETIC}: 55 of 60 minutes; judged within {ABOUT_POINTS:g} points",
        "section 4.2",
        f"{printed} %",
    )


def _better_for_the_same(runs: A2haRuns) -> Claim:
    found: list[Found] = []
    ours = []
    for job in TWO_JOBS:
        more = same_hosts_difference(runs.short(job, "aggressive"), runs.short(job, "conservative"))
        found.append((f"{job} {show(more, 2)}", is_above(more)))
        ours.append(f"+{show(more, 2)}")
    return judged(
        "for the same number of hosts the speedup of the aggressive style is better",
        found,
        "; ".join(ours),
        source="section 4.2, Fig. 12",
    )


def _narrower(runs: A2haRuns) -> Claim:
    found: list[Found] = []
    for job in TWO_JOBS:
        less = sd_less(runs.short(job, "aggressive"), runs.short(job, "conservative"), METRICS["hosts"])
        found.append((f"{job}: standard deviations, aggressive - conservative = {show(less, 2)}", is_above(less)))
    ranges = {name: span(cell.by_hosts, 0) for name, cell in _cells(runs)}
    return judged_with(
        "the conservative style's number of hosts lies in a narrower interval",
        found,
        "; ".join(f"{ranges[f'{job} conservative']} in {ranges[f'{job} aggressive']}" for job in TWO_JOBS),
        "judged by the standard deviation over orderings",
        source="section 4.2, Fig. 12",
    )


def _more_hosts(runs: A2haRuns) -> Claim:
    found: list[Found] = []
    ours = []
    for job in TWO_JOBS:
        more = runs.short(job, "aggressive").less(runs.short(job, "conservative"), METRICS["hosts"])
        found.append((f"{job}: aggressive - conservative = {show(more, 2)}", is_above(more)))
        ours.append(f"+{show(more, 2)}")
    return judged("the aggressive style creates more hosts", found, "; ".join(ours), source="section 4.2, Fig. 12")


def _twice(figures: A2haFigures, runs: A2haRuns) -> Claim:
    """In some cases: in any of them."""
    low, high = _NEARLY_TWICE
    near = {}
    most = {}
    for job in TWO_JOBS:
        cell, optimal = runs.short(job, "aggressive"), figures.job(job).optimal_hosts
        near[job] = sum(low <= run.hosts / optimal <= high for run in cell.runs)
        most[job] = max(cell.by_hosts) / optimal
    verdict: Verdict = "holds" if sum(near.values()) else "does not hold"
    return Claim(
        "in some cases the aggressive style has close to twice the optimal number of hosts",
        verdict,
        "; ".join(f"{number}" for number in near.values())
        + f" of {len(runs.short('image', 'aggressive').runs)} orderings",
        f"close to twice is {low:g} to {high:g} times; the most are "
        + " and ".join(f"{times:.2f} times ({job})" for job, times in most.items()),
        "section 4.2, Fig. 12",
        "2 times",
    )


def _fewest_alike(runs: A2haRuns) -> Claim:
    """The fewest of all orderings; where one style has fewer in few orderings only, that can be chance."""
    found: list[Found] = []
    ours = []
    for job in TWO_JOBS:
        fewest = {style: min(runs.short(job, style).by_hosts) for style in STYLES}
        limit = max(fewest.values())
        below = sum(run.hosts < limit for style in STYLES for run in runs.short(job, style).runs)
        verdict: Verdict = "holds" if not below else "not decided" if below <= _FEW else "does not hold"
        text = f"{job} {fewest['conservative']} and {fewest['aggressive']}, {counted(below, 'ordering')} below {limit}"
        found.append((text, verdict))
        ours.append(f"{fewest['conservative']} and {fewest['aggressive']}")
    return judged(
        "the least number of hosts is the same in both styles",
        found,
        "; ".join(ours),
        f"so few as {_FEW} orderings can be chance",
        source="section 4.2, Fig. 12",
        printed="the same",
    )


def _least_speedup_alike(runs: A2haRuns) -> Claim:
    found: list[Found] = []
    ours = []
    for job in TWO_JOBS:
        least = [min(run.speedup for run in runs.short(job, style).runs) for style in STYLES]
        off = 100 * abs(least[1] / least[0] - 1)
        found.append((f"{job} {off:.1f} % apart", is_below(Estimate(1, off, None), ABOUT_POINTS)))
        ours.append(f"{least[0]:.2f} and {least[1]:.2f}")
    return judged_with(
        "the least speedup is the same in both styles",
        found,
        "; ".join(ours),
        f"the same is less than {ABOUT_POINTS:g} % apart",
        source="section 4.2, Fig. 12",
        printed="the same",
    )


def _in_par(runs: A2haRuns) -> Claim:
    found: list[Found] = []
    slopes: dict[str, list[Estimate]] = {"hosts": [], "payment_h": []}
    for name, cell in _cells(runs):
        for quantity, others in slopes.items():
            slope = speedup_elasticity(cell, METRICS[quantity])
            others.append(slope)
            found.append((f"{name}, {WORDS[quantity]}: {show(slope, 2)} %", is_above(slope)))
    return judged_with(
        "in all cases more hosts and more payment come with more speedup",
        found,
        f"{mean_span(slopes['hosts'], 2)}; {mean_span(slopes['payment_h'], 2)} %",
        "by how many percent the speedup of an ordering is higher for each percent of hosts, and of payment; 1 % would "
        "be in proportion",
        source="section 4.2, Fig. 12",
        printed="in par",
    )


def _always_half(runs: A2haRuns) -> Claim:
    """With all four pairs of ratios between which the paper lets a user choose."""
    found: list[Found] = []
    least = []
    for job in TWO_JOBS:
        efficiencies = [run.efficiency_percent for ratios in _USER for run in runs.sweep[job][ratios].runs]
        low = sum(percent <= 50 for percent in efficiencies)
        least.append(f"{min(efficiencies):.1f}")
        text = f"{job}: {low} of {len(efficiencies)} orderings have 50 % or less"
        found.append((text, "does not hold" if low else "holds"))
    return judged(
        "with ratios from 0.5 to 0.75 the efficiency is always above 50 %",
        found,
        f"least {'; '.join(least)} %",
        "how many hosts an ordering has depends on its first tasks, whose distribution is not printed (note 1)",
        source="section 4.2, Fig. 12",
        printed="> 50 %",
    )


def _pays_more_for_time(runs: A2haRuns) -> Claim:
    found: list[Found] = []
    paid = []
    for job in TWO_JOBS:
        aggressive, conservative = (runs.short(job, style) for style in ("aggressive", "conservative"))
        for quantity in ("payment_h", "speedup"):
            more = aggressive.less(conservative, METRICS[quantity])
            found.append((f"{job}: {WORDS[quantity]} {show(more, 2)}", is_above(more)))
            if quantity == "payment_h":
                paid.append(f"+{show(more, 2)}")
    return judged(
        "the conservative style pays less, the aggressive one has the higher speedup",
        found,
        "; ".join(paid) + " h",
        source="section 6",
    )


def _proportional(runs: A2haRuns) -> Claim:
    found: list[Found] = []
    ours = []
    for job in TWO_JOBS:
        prices = []
        for style in ("aggressive", "conservative"):
            cell = runs.short(job, style)
            prices.append(quotient(cell.statistic(METRICS["payment_h"]), cell.statistic(METRICS["speedup"])))
        aggressive, conservative = prices
        assert aggressive is not None
        assert conservative is not None
        ratio = quotient(aggressive, conservative, 100.0)
        assert ratio is not None
        change = Estimate(ratio.estimate.n, ratio.value - 100, ratio.estimate.half_width)
        found.append((f"{job} {show(change, 1)} %", is_within(change, -ABOUT_POINTS, ABOUT_POINTS)))
        ours.append(f"{show(change, 1)}")
    return judged_with(
        "the aggressive style costs more in proportion to its speedup",
        found,
        "; ".join(ours) + " %",
        f"change of the paid hours per speedup, aggressive against conservative; in proportion is within "
        f"{ABOUT_POINTS:g} %",
        source="section 6",
        printed="proportional",
    )
