"""What the HADS paper says of its results, and whether it holds on our days."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ....core.statistics import Estimate, Statistic
from ....replay.bags.outcome import Outcome
from ...claims import Claim, Verdict, is_above, is_below, is_within, judged, show
from ..paper_days import cost_usd
from ..printed import HadsFigures, hads_figures
from .runs import BIG_JOB, SCENARIOS, SWEEP_K_R, HadsDays, hibernation_duration_s, share_percent, steal_success_percent

ABOUT_POINTS = 5.0
"""What 'about' means for a share in percent: so many points up or down."""

ABOUT_PERCENT = 10.0
"""What 'about the same' means for costs: so many percent of the first."""

_RELATIONS = {">": "more than", "<": "less than", "=": "about"}

_NO_THIEVES = (
    "in sc2 no spot VM resumes, so nearly all attempts are those of on-demand VMs, which seldom succeed "
    "anywhere; it is spot VMs that resume which find tasks to steal"
)

_OTHER_PLANS = "our jobs have generated run times and other plans (Table 9)"


def hads_claims(days: HadsDays) -> Iterator[Claim]:
    """Judge the statements of sections 5.2 and 5.3, in their order."""
    figures = hads_figures()
    yield _fewer_hibernations(days)
    yield _extreme(days, "sc2", "dearest")
    yield _extreme(days, "sc3", "cheapest")
    yield _resuming_saves(days)
    yield _always_cheaper(days)
    yield _no_miss(days)
    yield from _shares(figures, days)
    yield _order_of_steals(days)
    yield _above_baseline(days)
    yield _all_same_at_six(days)


def _costs(days: HadsDays, scenarios: Iterable[str]) -> str:
    """Mean costs of each job in some scenarios."""
    return "; ".join(
        f"{job} "
        + ", ".join(f"{scenario} $ {days.cells[job, scenario].mean(cost_usd).mean:.3f}" for scenario in scenarios)
        for job in days.jobs
    )


def _extreme(days: HadsDays, scenario: str, word: str) -> Claim:
    """One scenario is the dearest, or the cheapest, for every job."""
    decide = is_above if word == "dearest" else is_below
    found = []
    for job in days.jobs:
        for other in SCENARIOS:
            if other != scenario:
                less = days.cells[job, scenario].less(days.cells[job, other], cost_usd)
                found.append((f"{job} {scenario} - {other} = $ {show(less, 4)}", decide(less)))
    next_best = "sc4" if word == "dearest" else "sc1"
    return judged(
        f"{scenario} is the {word} scenario for every job (cost, each scenario against it day by day)",
        found,
        _costs(days, (scenario, next_best)),
        _OTHER_PLANS,
    )


def _resuming_saves(days: HadsDays) -> Claim:
    found, ours = [], []
    for job in days.jobs:
        more = (days.saving_percent(job, "sc4") - days.saving_percent(job, "sc2")).estimate
        found.append((f"{job} {show(more, 1)} points", is_above(more)))
        ours.append(f"{job} +{show(more, 1)}")
    return judged("the saving is larger in sc4 than in sc2, for every job", found, f"points: {'; '.join(ours)}")


def _hibernations(day: Outcome) -> float:
    return day.hibernations


def _fewer_hibernations(days: HadsDays) -> Claim:
    """Printed as numbers, not as a sentence; under the law of Table 8 it cannot be."""
    found, ours = [], []
    for job in days.jobs:
        mine, other = days.cells[job, "sc4"], days.cells[job, "sc2"]
        less = mine.less(other, _hibernations)
        found.append((f"{job} {show(less, 2)}", is_below(less)))
        means = [cell.statistic(_hibernations).value for cell in (mine, other)]
        ours.append(f"{job} {means[0]:.2f} against {means[1]:.2f}")
    return judged(
        "fewer hibernations in sc4 than in sc2, for every job (Table 10)",
        found,
        "; ".join(ours),
        "k_h is the same, and in sc4 VMs resume and hibernate again",
    )


def _always_cheaper(days: HadsDays) -> Claim:
    savings = {key: days.saving_percent(*key).estimate for key in days.cells}
    found = [(f"{job} {scenario} {show(saving, 1)} %", is_above(saving)) for (job, scenario), saving in savings.items()]
    means = [saving.mean for saving in savings.values() if saving.mean is not None]
    return judged(
        "HADS is cheaper than on-demand VMs for every job in every scenario (by 19.79 to 72.92 %)",
        found,
        f"savings {min(means):.1f} to {max(means):.1f} %",
        "our on-demand baseline has no idle time, and our rates give more hibernations (notes 1 and 3)",
    )


def _no_miss(days: HadsDays) -> Claim:
    misses = days.misses
    reason = f"{misses.why()}; the paper made three runs of each cell" if misses.late_s else ""
    return Claim("no run misses the deadline", misses.verdict, str(misses), reason)


def _shares(figures: HadsFigures, days: HadsDays) -> Iterator[Claim]:
    """Shares of the hibernations that the text states (Figs 9 and 10)."""
    words = {
        "new": "are followed by migrations to new on-demand VMs",
        "busy": "are followed by migrations to busy VMs",
        "idle": "are followed by migrations to idle VMs",
        "resumed": "end before the migration trigger",
    }
    groups: dict[tuple[str, str, str, float], list[str]] = {}
    for entry in figures.shares:
        groups.setdefault((entry.scenario, entry.share, entry.relation, entry.percent), []).append(entry.job)
    for (scenario, share, relation, percent), jobs in groups.items():
        found: list[tuple[str, Verdict]] = []
        for job in jobs:
            statistic = share_percent(days.cells[job, scenario], share)  # type: ignore[arg-type]
            estimate = Estimate(0, None, None) if statistic is None else statistic.estimate
            found.append((f"{job} {show(estimate, 1)}", _compare(estimate, relation, percent)))
        bound = f"{_RELATIONS[relation]} {percent:g} %"
        ours = "%: " + "; ".join(text for text, _ in found)
        why = _shorter_hibernations(figures, days, scenario) if share == "resumed" else ""
        statement = f"{scenario}: {bound} of the hibernations {words[share]}, {_listed(jobs)}"
        yield judged(statement, found, ours, why)


def _shorter_hibernations(figures: HadsFigures, days: HadsDays, scenario: str) -> str:
    """What the printed duration of hibernations has to do with the share that ends in time."""
    ours = hibernation_duration_s(days, scenario)
    printed = figures.hibernation_duration_s[scenario]
    return "" if ours is None else f"hibernations last {ours.value:.0f} s here, {printed:.0f} s in the paper (Fig. 8)"


def _listed(jobs: Sequence[str]) -> str:
    return "every job" if len(jobs) == 4 else ", ".join(jobs)


def _compare(estimate: Estimate, relation: str, percent: float) -> Verdict:
    if relation == "=":
        return is_within(estimate, percent - ABOUT_POINTS, percent + ABOUT_POINTS)
    return is_above(estimate, percent) if relation == ">" else is_below(estimate, percent)


def _order_of_steals(days: HadsDays) -> Claim:
    found: list[tuple[str, Verdict]] = []
    rates = {scenario: steal_success_percent(days.cells[BIG_JOB, scenario]) for scenario in ("sc2", "sc5", "sc1")}
    for more, less in (("sc2", "sc5"), ("sc5", "sc1")):
        difference = _difference(rates[more], rates[less])
        found.append((f"{more} - {less} = {show(difference, 1)} points", is_above(difference)))
    ours = "%: " + "; ".join(
        f"{scenario} {show(rate.estimate, 1)}" for scenario, rate in rates.items() if rate is not None
    )
    return judged(
        f"{BIG_JOB}: attempts to steal succeed most often in sc2, then sc5, then sc1", found, ours, _NO_THIEVES
    )


def _difference(one: Statistic | None, other: Statistic | None) -> Estimate:
    return Estimate(0, None, None) if one is None or other is None else (one - other).estimate


def _above_baseline(days: HadsDays) -> Claim:
    price = days.on_demand_usd(BIG_JOB)
    above = days.sweep[7, 0].mean(lambda day: 100 * (day.cost_usd / price - 1))
    return judged(
        f"{BIG_JOB}, k_h = 7, k_r = 0: dearer than on-demand VMs",
        [(f"{show(above, 1)} %", is_above(above))],
        f"{show(above, 1)} % above",
    )


def _all_same_at_six(days: HadsDays) -> Claim:
    costs = {k_r: days.sweep[6, k_r].statistic(cost_usd) for k_r in SWEEP_K_R}
    first, *others = SWEEP_K_R
    scale = 100 / costs[first].value
    found: list[tuple[str, Verdict]] = []
    for k_r in others:
        less = (costs[k_r] - costs[first]).estimate
        assert less.mean is not None
        relative = Estimate(less.n, scale * less.mean, None if less.half_width is None else scale * less.half_width)
        verdict = is_within(relative, -ABOUT_PERCENT, ABOUT_PERCENT)
        found.append((f"k_r = {k_r} against {first}: {show(relative, 1)} %", verdict))
    return judged(
        f"{BIG_JOB}, k_h = 6: about the same cost for k_r = 0, 3 and 7 (within {ABOUT_PERCENT:g} %)",
        found,
        "; ".join(f"k_r = {k_r} $ {show(cost.estimate, 3)}" for k_r, cost in costs.items()),
    )
