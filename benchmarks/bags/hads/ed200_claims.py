"""Claims of the HADS paper about ED200 (sections 5.3.3 to 5.3.5: Figs 11 to 13, Table 11), judged by replays."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ....core.statistics import Estimate, Statistic, estimate, quotient, ratio_of
from ...claims import Claim, Verdict, is_above, is_below, is_within, judged, show, tally
from ...paper_result import estimate_of
from ..paper_days import cost_usd
from ..printed import HadsFigures, hads_figures
from .runs import (
    BIG_JOB,
    SCENARIOS,
    SWEEP_K_H,
    SWEEP_K_R,
    HadsDays,
    hibernated_vms_percent,
    mean_over_k_h,
    migrations,
    planned_tasks,
    steal_success_percent,
)

_ABOUT_PERCENT = 10.0
"""What 'about' means for costs and ratios: so many percent."""

_ABOUT_POINTS = 5.0
"""What 'about' means for shares: so many points."""

_AT_ONCE_S = 60.0
"""What 'the first few seconds' means at most."""

_K_H = {"sc1": 1.0, "sc2": 5.0, "sc3": 1.0, "sc4": 5.0, "sc5": 3.0, "sc6": 2.0, "sc7": 2.0}
"""Rates of hibernation of Table 8."""


def ed200_claims(days: HadsDays) -> Iterator[Claim]:
    """Judge the statements of sections 5.3.3 to 5.3.5, in their order."""
    figures = hads_figures()
    yield from _rates(days)
    yield from _stealing(figures, days)
    yield from _fig_13(figures, days)
    yield from _checkpoints(figures, days)


# ---------------------------------------------------------------------------- section 5.3.3


def _rates(days: HadsDays) -> Iterator[Claim]:
    """Fig. 11."""
    source = "section 5.3.3, Fig. 11"
    costs = {key: cell.statistic(cost_usd) for key, cell in days.sweep.items()}
    price = days.on_demand_usd(BIG_JOB)
    more = costs[6, 0] - costs[1, 0]
    # "Nears" asks for two things: a cost that grows, and a distance from the price on demand that shrinks.
    nearer = _distance(costs[1, 0], price) - _distance(costs[6, 0], price)
    found: list[tuple[str, Verdict]] = [
        (f"cost $ {show(more.estimate, 3)} more", is_above(more.estimate)),
        (f"nearer by $ {show(nearer.estimate, 3)}", is_above(nearer.estimate)),
    ]
    yield judged(
        "k_r = 0: the cost nears that of on-demand VMs as k_h grows to 6",
        found,
        f"$ {costs[1, 0].value:.3f} to {costs[6, 0].value:.3f}",
        f"on-demand VMs cost $ {price:.3f}, and HADS more from k_h = "
        f"{next((k_h for k_h in SWEEP_K_H if costs[k_h, 0].value > price), '-')} on",
        source=source,
    )
    means = [mean_over_k_h(days, k_r, cost_usd) for k_r in SWEEP_K_R]
    found = []
    for (k_r, cost), (more_k_r, less_cost) in pairwise(zip(SWEEP_K_R, means, strict=True)):
        less = (less_cost - cost).estimate
        found.append((f"k_r = {more_k_r} - {k_r} = $ {show(less, 3)}", is_below(less)))
    yield judged(
        "the cost falls as k_r grows (means over k_h)",
        found,
        f"$ {', '.join(f'{mean.value:.3f}' for mean in means)}",
        source=source,
    )
    yield _all_same_at_six(days, source)
    found = []
    for k_r in SWEEP_K_R:
        share = estimate_of(hibernated_vms_percent(days.sweep[6, k_r]))
        found.append((f"k_r = {k_r} {show(share, 1)} %", is_above(share, 100 - _ABOUT_POINTS)))
    yield judged(
        f"k_h = 6: all spot VMs hibernate (more than {100 - _ABOUT_POINTS:g} %)",
        found,
        ", ".join(text.split()[3] for text, _ in found) + " %",
        "some end with their tasks before",
        source="section 5.3.3",
        printed="100 %",
    )
    first = estimate(days.first_hibernation_s)
    yield judged(
        f"k_h = 7: spot VMs hibernate in the first few seconds (within {_AT_ONCE_S:g} s)",
        [(f"{show(first, 0)} s", is_below(first, _AT_ONCE_S))],
        f"{show(first, 0)} s",
        "the first hibernation of a type comes after D/k_h = 300 s on average; three runs can have it so by chance",
        source="section 5.3.3",
    )
    found = []
    for k_r in SWEEP_K_R[1:]:
        less = days.sweep[7, k_r].less(days.sweep[6, k_r], cost_usd)
        found.append((f"k_r = {k_r} $ {show(less, 4)}", is_below(less)))
    yield judged(
        "k_r > 0: cheaper at k_h = 7 than at 6",
        found,
        "$ " + ", ".join(f"{(costs[7, k_r] - costs[6, k_r]).value:+.3f}" for k_r in SWEEP_K_R[1:]),
        "the paper explains it by how early VMs happened to hibernate in its runs",
        source=source,
    )
    above = days.sweep[7, 0].mean(lambda day: 100 * (day.cost_usd / price - 1))
    yield judged(
        "k_h = 7, k_r = 0: dearer than on-demand VMs",
        [(f"{show(above, 1)} %", is_above(above))],
        f"{above.mean or 0:+.1f} %",
        source=source,
        printed="> 0 %",
    )


def _distance(cost: Statistic, price: float) -> Statistic:
    """Distance of a cost from a price."""
    sign = 1 if cost.value > price else -1
    return Statistic(sign * (cost.value - price), tuple(sign * day for day in cost.influence))


def _all_same_at_six(days: HadsDays, source: str) -> Claim:
    costs = {k_r: days.sweep[6, k_r].statistic(cost_usd) for k_r in SWEEP_K_R}
    first, *others = SWEEP_K_R
    found: list[tuple[str, Verdict]] = []
    for k_r in others:
        more = percent_more(costs[k_r], costs[first])
        found.append(
            (f"k_r = {k_r} against {first}: {show(more, 1)} %", is_within(more, -_ABOUT_PERCENT, _ABOUT_PERCENT))
        )
    return judged(
        f"k_h = 6: about the same cost for all k_r (within {_ABOUT_PERCENT:g} %)",
        found,
        f"$ {', '.join(f'{cost.value:.3f}' for cost in costs.values())}",
        source=source,
    )


def percent_more(one: Statistic, other: Statistic) -> Estimate:
    """Percentage by which a mean is above another."""
    ratio = quotient(one, other, 100.0)
    return estimate_of(None if ratio is None else Statistic(ratio.value - 100, ratio.influence))


# ---------------------------------------------------------------------------- section 5.3.4


def _stealing(figures: HadsFigures, days: HadsDays) -> Iterator[Claim]:
    """Fig. 12."""
    source = "section 5.3.4, Fig. 12"
    rates = {scenario: steal_success_percent(days.cells[BIG_JOB, scenario]) for scenario in SCENARIOS}

    def orders(pairs: list[tuple[str, str]]) -> list[tuple[str, Verdict]]:
        found: list[tuple[str, Verdict]] = []
        for more, less in pairs:
            difference = less_of(rates[more], rates[less])
            found.append((f"{more} - {less} = {show(difference, 1)} points", is_above(difference)))
        return found

    stated = figures.steal_success_percent
    named = ("sc2", "sc5", "sc1")
    ours = ", ".join(f"{estimate_of(rates[name]).mean or 0:.1f}" for name in named) + " %"
    printed = ", ".join(f"{stated[name]:g}" for name in named) + " %"
    yield judged(
        "stealing succeeds most often in sc2, then sc5, then sc1",
        orders([("sc2", "sc5"), ("sc5", "sc1")]),
        ours,
        _NO_THIEVES,
        source=source,
        printed=printed,
    )
    found = []
    for name in named:
        rate, value = estimate_of(rates[name]), stated[name]
        found.append((f"{name} {show(rate, 1)} %", is_within(rate, value - _ABOUT_POINTS, value + _ABOUT_POINTS)))
    yield judged(
        f"stealing succeeds about as often as printed (±{_ABOUT_POINTS:g})",
        found,
        ours,
        _NO_THIEVES,
        source=source,
        printed=printed,
    )
    others = [name for name in SCENARIOS if name not in ("sc2", "sc5")]
    low = min(estimate_of(rates[name]).mean or 0.0 for name in ("sc2", "sc5"))
    high = max(estimate_of(rates[name]).mean or 0.0 for name in others)
    yield judged(
        "stealing succeeds more often in sc2 and sc5 than elsewhere",
        orders([(name, other) for name in ("sc2", "sc5") for other in others]),
        f"from {low:.1f} %; others to {high:.1f} %",
        _NO_THIEVES,
        source=source,
    )
    cells = {name: days.cells[BIG_JOB, name] for name in SCENARIOS}
    found = []
    for name in SCENARIOS:
        for other in SCENARIOS:
            if _K_H[name] > _K_H[other]:
                more = cells[name].less(cells[other], migrations)
                found.append((f"{name} - {other} = {show(more, 1)}", is_above(more)))
    yield judged(
        "the higher the rate of hibernation, the more migrations",
        found,
        tally(found, "pairs"),
        "where VMs resume in time, nothing is migrated; by Table 11, too, sc5 migrates less than sc1",
        source="section 5.3.4",
    )


_NO_THIEVES = (
    "spot VMs that do not hibernate are busy until about D_spot, too late for the spare time that Algorithm 7 asks of "
    "thieves; those that resume after their tasks have been migrated find tasks to steal, and in sc1 and sc2 none does"
)


def less_of(one: Statistic | None, other: Statistic | None) -> Estimate:
    """Return the mean of one less that of the other; of none if one is missing."""
    return Estimate(0, None, None) if one is None or other is None else (one - other).estimate


def _fig_13(figures: HadsFigures, days: HadsDays) -> Iterator[Claim]:
    """Two VMs of a run of sc2; the text and the captions name them differently."""
    found: list[tuple[str, Verdict]] = []
    ranges = []
    for stated in figures.steals:
        numbers = planned_tasks(days, stated.type)
        close = stated.planned in numbers
        ranges.append(f"{min(numbers)} to {max(numbers)}")
        found.append((f"{stated.type} {', '.join(map(str, sorted(numbers)))}", "holds" if close else "does not hold"))
    yield judged(
        "sc2: a c4.large begins with 8 tasks, a c3.large with 6",
        found,
        "; ".join(ranges),
        "our plan has fewer VMs, so each has more tasks; no VM of the type has so many",
        source="section 5.3.4, Fig. 13",
        printed="; ".join(str(stated.planned) for stated in figures.steals),
    )
    cycles = days.first_cycles
    yield _mostly(
        "sc2: spot VMs steal once, in their first 15 minutes (most)",
        [day.once_at_first for day in cycles],
        [day.vms.total() for day in cycles],
        f"{sum(day.thieves for day in cycles):,} steal at all; {_NO_THIEVES}",
    )
    yield _mostly(
        "sc2: spot VMs that finish their plan in the first cycle steal (most)",
        [day.done_thieves for day in cycles],
        [day.done for day in cycles],
        "" if any(day.done for day in cycles) else f"on {len(cycles)} days, all are busy for longer than a cycle",
    )


def _mostly(statement: str, parts: list[int], wholes: list[int], why_not: str) -> Claim:
    """Claim on most VMs of a kind."""
    share, n = estimate_of(ratio_of(parts, wholes, 100.0)), sum(wholes)
    return judged(
        statement,
        [(f"{show(share, 1)} % of {n:,} VMs", is_above(share, 50.0))],
        f"{sum(parts):,} of {n:,} VMs",
        why_not,
        source="section 5.3.4, Fig. 13",
    )


# ---------------------------------------------------------------------------- section 5.3.5


def _checkpoints(figures: HadsFigures, days: HadsDays) -> Iterator[Claim]:
    """Table 11."""
    source = "section 5.3.5, Table 11"
    cells = {name: days.cells[BIG_JOB, name] for name in SCENARIOS}
    counts = {name: cell.statistic(lambda day: day.checkpoints) for name, cell in cells.items()}
    printed = [row.checkpoints for row in figures.checkpoints]
    wide = 100 * (max(printed) / min(printed) - 1)
    few = min(counts, key=lambda name: counts[name].value)
    many = max(counts, key=lambda name: counts[name].value)
    # The paper's own extremes say how far apart "about as many" may be.
    more = percent_more(counts[many], counts[few])
    yield judged(
        f"about as many checkpoints in all scenarios (within {wide:.0f} %, as printed)",
        [(f"{many} {show(more, 1)} % above {few}", is_below(more, wide))],
        f"{counts[few].value:.0f} to {counts[many].value:.0f}",
        "tasks migrated to on-demand VMs write none, and in sc2 most are",
        source=source,
        printed=f"{min(printed):g} to {max(printed):g}",
    )
    times = estimate_of(quotient(cells["sc2"].statistic(migrations), cells["sc1"].statistic(migrations)))
    rows = {row.scenario: row for row in figures.checkpoints}
    hibernated = estimate_of(hibernated_vms_percent(cells["sc1"])).mean or 0.0
    yield judged(
        f"nine times the migrations in sc2 as in sc1 (within {_ABOUT_PERCENT:g} %)",
        [(show(times, 2), is_within(times, 9 * (1 - _ABOUT_PERCENT / 100), 9 * (1 + _ABOUT_PERCENT / 100)))],
        f"{times.mean or 0:.1f} times",
        "Table 11 has as many in sc1 as in sc3 to sc7; "
        f"{hibernated:.1f} % of our VMs hibernate in sc1 and never resume",
        source=source,
        printed=f"{rows['sc2'].migrations / rows['sc1'].migrations:.1f} times",
    )
    saved = {name: cell.statistic(lambda day: day.cpu_time_saved_s) for name, cell in cells.items()}
    in_sc2 = saved["sc2"].estimate
    yield judged(
        "sc2: checkpoints save more than 12 minutes of CPU time",
        [(f"{show(in_sc2, 0)} s", is_above(in_sc2, 720.0))],
        f"{in_sc2.mean or 0:,.0f} s",
        source=source,
        printed=f"{rows['sc2'].cpu_time_saved_s:g} s",
    )
    less, in_sc1 = (saved["sc2"] - saved["sc1"]).estimate, saved["sc1"].estimate
    stated_s, moved = rows["sc1"].cpu_time_saved_s, cells["sc1"].statistic(migrations).value
    near = is_within(in_sc1, stated_s * (1 - _ABOUT_PERCENT / 100), stated_s * (1 + _ABOUT_PERCENT / 100))
    yield judged(
        f"sc1: the CPU time that checkpoints save drops to {stated_s:g} s (within {_ABOUT_PERCENT:g} %)",
        [(f"sc2 - sc1 = {show(less, 0)} s", is_above(less)), (f"sc1 {show(in_sc1, 0)} s", near)],
        f"{saved['sc1'].value:,.0f} s",
        f"{moved / rows['sc1'].migrations:.1f} times as many tasks as printed are migrated in sc1",
        source=source,
        printed=f"{stated_s:g} s",
    )
    all_printed = [row.cpu_time_saved_s for row in figures.checkpoints]
    all_saved = [(f"{name} {show(value.estimate, 0)} s", is_above(value.estimate)) for name, value in saved.items()]
    yield judged(
        "checkpoints save CPU time in every scenario",
        all_saved,
        f"{min(value.value for value in saved.values()):,.0f} to {max(value.value for value in saved.values()):,.0f} s",
        source="section 1, Table 11",
        printed=f"{min(all_printed):g} to {max(all_printed):g} s",
    )
