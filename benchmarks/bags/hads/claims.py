"""Claims of the HADS paper (sections 5.2.2 to 5.3.5), judged by replays, and what was found besides."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

from spotbag.core.statistics import CONFIDENCE, Estimate, Statistic, average, estimate, quotient, ratio_of, sd_of
from spotbag.heuristics.bags.d_spot import estimate_d_spot
from spotbag.instances.library import library_instance

from ...claims import (
    ABOUT,
    Case,
    Claim,
    Compare,
    Ours,
    about,
    above,
    below,
    estimate_of,
    exactly,
    numbers,
    span,
    tally,
    together,
)
from ...data_files import Statements
from ...paper_tables import Quantity
from ..paper_days import FROM_PRINTED_MAKESPAN, Cell, cost_usd, makespan_s, none_late
from ..printed import PublishedHadsResult, PublishedShare, Share, hads_figures
from .runs import (
    BIG_JOB,
    FAMILY,
    SCENARIOS,
    SWEEP_K_H,
    SWEEP_K_R,
    HadsDays,
    hibernated_vms_percent,
    hibernation_duration_s,
    mean_over_k_h,
    migrations,
    planned_offers,
    planned_tasks,
    price_difference_percent,
    share_percent,
    spot_offers,
    steal_success_percent,
)
from .tables import CHECKPOINTS, TABLE_10, hibernations

ALWAYS_PERCENT = 99.0
"""What 'always' means at least, but for the deadline, which is to be met on all days."""

_RELATIONS = {">": "more than", "<": "less than", "=": "about"}
_SAID = Statements.read(__package__)

_Key: TypeAlias = tuple[str, str]
_Decide: TypeAlias = Callable[..., Case]
"""A comparison that knows its limits."""


def hads_claims(days: HadsDays) -> Iterator[Claim]:
    """Judge the statements of sections 5.2.2 to 5.3.5, in their order."""
    yield from _durations(days)
    yield from _without_hibernation(days)
    yield from _all_scenarios(days)
    yield from _sc2(days)
    yield from _sc1(days)
    yield from _sc3(days)
    yield from _sc4(days)
    yield from _sc5_to_sc7(days)
    yield from ed200_claims(days)


def _printed() -> dict[_Key, PublishedHadsResult]:
    return {(row.job, row.scenario): row for row in hads_figures().results}


def _durations(days: HadsDays) -> Iterator[Claim]:
    """Section 5.2.2, Fig. 8."""
    printed, ours = (
        hads_figures().hibernation_duration_s,
        {name: hibernation_duration_s(days, name) for name in SCENARIOS},
    )
    for name, scenarios, sign in (
        ("longest-hibernations", ("sc1", "sc2"), 1),
        ("shortest-hibernations", ("sc3", "sc4"), -1),
        ("hibernations-of-sc5", ("sc5", "sc6", "sc7"), 1),
    ):
        ones = scenarios if len(scenarios) == 2 else scenarios[:1]
        others = [other for other in SCENARIOS if other not in ones] if len(scenarios) == 2 else scenarios[1:]
        pairs = [(one, other)[::sign] for one in ones for other in others]
        found = [above(f"{one} - {other}", less(ours[one], ours[other]), 0, "s") for one, other in pairs]
        means = ", ".join(f"{estimate_of(ours[scenario]).mean or 0:,.0f}" for scenario in scenarios)
        theirs = ", ".join(f"{printed[scenario]:,.0f}" for scenario in scenarios)
        yield _SAID.judge(name, found, f"{means} s", printed=f"{theirs} s")


# ---------------------------------------------------------------------------- section 5.3.1


def _without_hibernation(days: HadsDays) -> Iterator[Claim]:
    """Table 9."""
    printed = {row.job: row for row in hads_figures().baselines}
    theirs, ours = (
        {job: sum(vms.values()) for job, vms in found.items()}
        for found in (
            {job: row.vms for job, row in printed.items()},
            {job: found.plan.vms for job, found in days.baselines.items()},
        )
    )
    found = [exactly(job, ours[job] == theirs[job], f"{ours[job]} against {theirs[job]}") for job in ours]
    yield _SAID.judge("vms", found, _listed(ours.values()), printed=_listed(theirs.values()))
    # As printed: the same statements in all environments.
    estimates = {job: estimate_d_spot(library_instance(f"{FAMILY}/{job}")) for job in printed}
    late = [job for job, row in printed.items() if row.makespan_s >= estimates[job]]
    for jobs in ([job for job in printed if job not in late], late):
        ends = {job: makespan_s(days.baselines[job].static) for job in jobs}
        more = {job: 100 * (ends[job] / printed[job].makespan_s - 1) for job in jobs}
        fitted = any(days.baselines[job].plan.d_spot_source == FROM_PRINTED_MAKESPAN for job in jobs)
        yield _SAID.judge(
            "end-when-printed" + "-fitted" * fitted,
            [about(job, more[job], 1, "%", value=0.0, points=ABOUT.percent) for job in jobs],
            f"{', '.join(f'{end:,.0f}' for end in ends.values())} s",
            jobs=" and ".join(jobs),
            percent=ABOUT.percent,
            printed=f"{', '.join(f'{printed[job].makespan_s:,}' for job in jobs)} s",
        )
    in_time = [exactly(job, found.hads.meets_deadline) for job, found in days.baselines.items()]
    ours_s = span([makespan_s(found.hads) for found in days.baselines.values()], 0, "s")
    yield _SAID.judge(
        "quiet-in-time", in_time, ours_s, printed=span([row.makespan_s for row in printed.values()], 0, "s")
    )
    limits = [
        exactly(
            job,
            printed[job].makespan_s <= found.algorithm_1_s,
            f"{printed[job].makespan_s:,} against {found.algorithm_1_s:,} s",
        )
        for job, found in days.baselines.items()
    ]
    yield _SAID.judge("respect-d-spot", limits, tally("jobs"))
    yield from _prices(days)


def _listed(values: object) -> str:
    return ", ".join(map(str, values))  # type: ignore[call-overload]


def _prices(days: HadsDays) -> Iterator[Claim]:
    """Table 9: the same plan on spot and on on-demand VMs."""
    printed = {row.job: row for row in hads_figures().baselines}
    percents = [row.difference_percent for row in printed.values()]
    middle, reach = (max(percents) + min(percents)) / 2, (max(percents) - min(percents)) / 2 + ABOUT.points
    off, around, close = {}, [], []
    for job, found in days.baselines.items():
        instance = found.schedule.instance
        off[job] = printed[job].difference_percent - price_difference_percent(
            instance, spot_offers(instance, printed[job].vms)
        )
    most = max(map(abs, off.values()))
    for job, found in days.baselines.items():
        saving = 100 * (1 - found.hads.cost_usd / found.on_demand["same", days.options.baseline].cost_usd)
        more = saving - price_difference_percent(found.schedule.instance, planned_offers(found.schedule))
        around.append(about(job, saving, 1, "%", value=middle, points=reach))
        close.append(about(job, more, 1, "points", value=0.0, points=most))
    texts = {"low": min(percents), "high": max(percents), "points": ABOUT.points, "most": most}
    yield _SAID.judge("quiet-saving", around, numbers, printed=", ".join(f"{one:g}" for one in percents), **texts)
    ours = ", ".join(f"{case.mean:+.1f}" for case in close) + " points"
    yield _SAID.judge(
        "quiet-saving-is-prices", close, ours, printed=", ".join(f"{one:+.1f}" for one in off.values()), **texts
    )


# ---------------------------------------------------------------------------- section 5.3.2, all scenarios


def _all_scenarios(days: HadsDays) -> Iterator[Claim]:
    """Table 10."""
    printed = _printed()
    ends = [
        below(" ".join(key), cell.mean(makespan_s), 0, "s", limit=cell.runs[0].deadline_s)
        for key, cell in days.cells.items()
    ]
    theirs = span([row.makespan_s for row in printed.values()], 0, "s")
    yield _SAID.judge("mean-in-time", ends, span([case.mean for case in ends], 0, "s"), printed=theirs)
    yield from _no_miss(days)
    percents = [row.saving_percent for row in printed.values()]
    positive = sum(percent > 0 for percent in percents)
    yield _saves(days, "cheaper", dict.fromkeys(days.cells, above), positive=positive, n=len(percents))
    means = {key: days.saving_percent(*key).value for key in days.cells}
    least, most = (choose(means, key=means.__getitem__) for choose in (min, max))
    low, high = min(percents), max(percents)
    decides = {least: _about(low), most: _about(high)}
    yield _saves(days, "savings-range", decides, low=low, high=high, printed=span(percents, 2, "%"))


def _no_miss(days: HadsDays) -> Iterator[Claim]:
    misses = days.misses
    reasons = []
    if misses.late_s:
        late = {job: sum(len(days.cells[job, scenario].late_days) for scenario in SCENARIOS) for job in days.jobs}
        reasons.append(", ".join(f"{job} {number}" for job, number in late.items()))
        given = [job for job, found in days.baselines.items() if found.plan.d_spot_source == FROM_PRINTED_MAKESPAN]
        if given:
            reasons.append(f"D_spot of {' and '.join(given)} is later than Algorithm 1 allows, see Sensitivity")
    if misses.verdict != "holds":
        reasons.append(misses.why())
    ours = f"{len(misses.late_s):,} of {misses.days:,} days late"
    yield _SAID.decided("no-miss", misses.verdict, ours, why="; ".join(reasons))
    yield _SAID.judge("no-miss-observed", none_late(days.cells.values()))


def _about(percent: float) -> _Decide:
    return partial(about, value=percent, points=ABOUT.points)


def _over(percent: float) -> _Decide:
    return partial(above, limit=percent)


def _between(low: float, high: float) -> _Decide:
    return partial(about, value=(low + high) / 2, points=(high - low) / 2)


def _saves(days: HadsDays, name: str, decides: Mapping[_Key, _Decide], **texts: Any) -> Claim:
    """Judge the savings of some cells, each by what is said of it."""
    theirs = _printed()
    found = {key: decide(" ".join(key), days.saving_percent(*key), 1, "%") for key, decide in decides.items()}
    failing = [key for key, case in found.items() if case.verdict != "holds"]
    mine = list(found.values())
    given = {
        "points": ABOUT.points,
        "printed": span([theirs[key].saving_percent for key in decides], 2, "%"),
        "less_saved": _why_less_saved(days, failing),
        "others": span([days.saving_percent(*key, plan="own").value for key in decides], 1, "%"),
    }
    ours = mine[0].ours if len(mine) == 1 else span([case.mean for case in mine], 1, "%")
    return _SAID.judge(name, mine, ours, **(given | texts))


def _why_less_saved(days: HadsDays, cells: Sequence[_Key]) -> str:
    """Ratios of on-demand VMs, HADS, hibernations and new VMs of some cells to the printed ones, in words."""
    if not cells:
        return ""
    printed, on_demand_usd = _printed(), {row.job: row.on_demand_usd for row in hads_figures().baselines}
    on_demand = [100 * days.on_demand_usd(job) / on_demand_usd[job] for job in dict.fromkeys(job for job, _ in cells)]
    hads = [100 * days.cells[key].statistic(cost_usd).value / printed[key].cost_usd for key in cells]
    more = Counter[str]()
    for key in cells:
        hibernations = days.cells[key].statistic(lambda day: day.hibernations).value
        started, theirs = days.cells[key].statistic(lambda day: day.on_demand_started).value, printed[key]
        more["VMs hibernate more often than printed"] += hibernations > theirs.hibernations
        more["each hibernation starts more on-demand VMs than printed"] += (
            started * theirs.hibernations > theirs.on_demand_started * hibernations
        )
    costs = f"our on-demand VMs cost {span(on_demand)} % of the printed ones (note 1), HADS {span(hads)} %"
    return "; ".join([costs, *(what + _where(number, len(cells)) for what, number in more.items() if number)])


def _where(number: int, of: int) -> str:
    """Phrase for a number of cells out of all."""
    if of == 1:
        return ""
    return " in all of these cells" if number == of else f" in {number} of these {of} cells"


# ---------------------------------------------------------------------------- section 5.3.2, by scenario


def _every(days: HadsDays, scenario: str, decide: _Decide) -> dict[_Key, _Decide]:
    """Verdict function of a scenario, for every job."""
    return {(job, scenario): decide for job in days.jobs}


def _sc2(days: HadsDays) -> Iterator[Claim]:
    yield _extreme(days, "sc2-dearest", "sc2", above)
    cells = [days.cells[job, "sc2"] for job in days.jobs]
    started = [row.on_demand_started for (_, scenario), row in _printed().items() if scenario == "sc2"]
    needed = average([cell.statistic(lambda day: 100.0 * (day.on_demand_started > 0)) for cell in cells])
    case = above("", needed, 1, "%", limit=ALWAYS_PERCENT)
    texts = {"percent": ALWAYS_PERCENT, "low": min(started), "high": max(started)}
    yield _SAID.judge("sc2-new-vms", case, f"{needed.value:.1f} %", **texts)
    yield from _shares(days, "sc2")


def _sc1(days: HadsDays) -> Iterator[Claim]:
    yield _saves(days, "sc1-over-50", dict.fromkeys([("J60", "sc1"), ("J100", "sc1"), ("ED200", "sc1")], _over(50.0)))
    stated = _printed()["J80", "sc1"].saving_percent

    def both(label: str, saving: Statistic, digits: int, unit: str) -> Case:
        near = _about(stated)(label, saving, digits, unit)
        return together(label, [near, below(label, saving, digits, unit, limit=50.0)], near.ours)

    yield _saves(days, "sc1-j80", {("J80", "sc1"): both}, stated=stated)
    vms = {row.job: sum(row.vms.values()) for row in hads_figures().baselines}
    printed = [100 * row.hibernations / vms[job] for (job, scenario), row in _printed().items() if scenario == "sc1"]
    found: dict[str, list[Case]] = {"sc1-half-hibernate": [], "sc1-not-new": []}
    for job in days.jobs:
        cell = days.cells[job, "sc1"]
        found["sc1-half-hibernate"].append(below(job, hibernated_vms_percent(cell), 1, "%", limit=50.0))
        found["sc1-not-new"].append(below(job, share_percent(cell, "new"), 1, "%", limit=50.0))
    new = [row.on_demand_started / row.hibernations for (_, of), row in _printed().items() if of == "sc1"]
    texts = {"printed": ", ".join(f"{share:.0f}" for share in printed), "printed_new": span(new, 1)}
    for name, cases in found.items():
        yield _SAID.judge(name, cases, numbers, **texts)
    yield from _shares(days, "sc1")


def _sc3(days: HadsDays) -> Iterator[Claim]:
    yield _extreme(days, "sc3-cheapest", "sc3", below)
    yield _saves(days, "sc3-over-60", _every(days, "sc3", _over(60.0)))
    yield _occur(days, "sc3-resume", ("sc3",), ("resumed",))
    yield from _shares(days, "sc3")


def _sc4(days: HadsDays) -> Iterator[Claim]:
    printed = {key: row.saving_percent for key, row in _printed().items()}
    counts = []
    for job in days.jobs:
        often = [days.cells[job, name].statistic(lambda day: day.hibernations).value for name in ("sc4", "sc2")]
        counts.append(f"{job} {often[0]:.1f} against {often[1]:.1f}")
    more = {job: days.saving_percent(job, "sc4") - days.saving_percent(job, "sc2") for job in days.jobs}
    yield _SAID.judge(
        "sc4-saves-more",
        [above(job, statistic, 1, "points") for job, statistic in more.items()],
        _signed(1, "points"),
        printed=", ".join(f"{printed[job, 'sc4'] - printed[job, 'sc2']:+.1f}" for job in days.jobs),
        counts=", ".join(counts),
    )
    yield _saves(days, "sc4-over-50", _every(days, "sc4", _over(50.0)))
    best = max((key for key in printed if key[1] == "sc2"), key=printed.__getitem__)
    decides = _every(days, "sc2", partial(below, limit=printed[best])) | {best: _about(printed[best])}
    yield _saves(days, "sc2-best", decides, job=best[0], stated=printed[best])
    yield from _shares(days, "sc4")
    yield _occur(days, "all-help", ("sc4", "sc6", "sc7"), ("idle", "busy", "resumed"))


def _sc5_to_sc7(days: HadsDays) -> Iterator[Claim]:
    printed = {key: row.cost_usd for key, row in _printed().items()}
    found = [below(job, days.cells[job, "sc7"].less(days.cells[job, "sc6"], cost_usd), 4, "$") for job in days.jobs]
    theirs = ", ".join(f"{printed[job, 'sc7'] - printed[job, 'sc6']:+.3f}" for job in days.jobs)
    yield _SAID.judge("sc7-cheaper", found, _signed(3, "$"), printed=theirs)
    yield _saves(days, "sc7-over-50", _every(days, "sc7", _over(50.0)))
    yield _occur(days, "sc5-new", ("sc5",), ("new",))
    yield _saves(days, "sc5-saves", _every(days, "sc5", _between(40.0, 70.0)))


def _signed(digits: int, unit: str) -> Ours:
    """Means of comparisons with their signs."""

    def ours(cases: Sequence[Case]) -> str:
        means = ", ".join(f"{case.mean or 0:+.{digits}f}" for case in cases)
        return f"$ {means}" if unit == "$" else f"{means} {unit}"

    return ours


def _extreme(days: HadsDays, name: str, scenario: str, compare: Compare) -> Claim:
    """Claim on the dearest or cheapest scenario of every job; each other one is compared day by day."""
    cells = days.cells
    found = [
        compare(f"{job} {scenario} - {other}", cells[job, scenario].less(cells[job, other], cost_usd), 4, "$")
        for job in days.jobs
        for other in SCENARIOS
        if other != scenario
    ]
    ours, theirs = (
        ", ".join(f"{value:.3f}" for value in values)
        for values in (
            [cells[job, scenario].statistic(cost_usd).value for job in days.jobs],
            [row.cost_usd for (_, of), row in _printed().items() if of == scenario],
        )
    )
    return _SAID.judge(name, found, f"$ {ours}", printed=theirs)


def _occur(days: HadsDays, name: str, scenarios: Sequence[str], shares: Sequence[Share]) -> Claim:
    """Some outcomes of hibernations occur in some scenarios, for every job."""
    found = [
        above(f"{job} {scenario} {share}", share_percent(days.cells[job, scenario], share), 1, "%")
        for scenario in scenarios
        for job in days.jobs
        for share in shares
    ]
    means = [case.mean or 0.0 for case in found]
    return _SAID.judge(name, found, f"{min(means):.1f} to {max(means):.1f} %")


def _shares(days: HadsDays, scenario: str) -> Iterator[Claim]:
    """Shares of the hibernations that the text states (Figs 9 and 10)."""
    figures = hads_figures()
    groups: dict[tuple[Share, str, float], list[PublishedShare]] = {}
    for entry in figures.shares:
        if entry.scenario == scenario:
            groups.setdefault((entry.share, entry.relation, entry.percent), []).append(entry)
    for (share, relation, percent), entries in groups.items():
        decides: dict[str, _Decide] = {
            "=": _about(percent),
            ">": _over(percent),
            "<": partial(below, limit=percent),
        }
        jobs = [entry.job for entry in entries]
        yield _SAID.judge(
            f"share-{share}",
            [decides[relation](job, share_percent(days.cells[job, scenario], share), 1, "%") for job in jobs],
            numbers if len(jobs) > 1 else lambda cases: f"{cases[0].ours.partition(' ')[0]} %",
            scenario=scenario,
            relation=_RELATIONS[relation],
            percent=percent,
            jobs="every job" if len(jobs) == len(days.jobs) else ", ".join(jobs),
            about=f" (ours: ±{ABOUT.points:g})" if relation == "=" else "",
            printed=f"{'' if relation == '=' else relation + ' '}{percent:g} %",
            ours_s=f"{estimate_of(hibernation_duration_s(days, scenario)).mean or 0:.0f}",
            printed_s=figures.hibernation_duration_s[scenario],
        )


_AT_ONCE_S = 60.0
"""What 'the first few seconds' means at most."""

_K_H = {"sc1": 1.0, "sc2": 5.0, "sc3": 1.0, "sc4": 5.0, "sc5": 3.0, "sc6": 2.0, "sc7": 2.0}
"""Rates of hibernation of Table 8."""


def ed200_claims(days: HadsDays) -> Iterator[Claim]:
    """Judge the statements of sections 5.3.3 to 5.3.5, in their order."""
    yield from _rates(days)
    yield from _stealing(days)
    yield from _checkpoints(days)


def less(one: Statistic | None, other: Statistic | None) -> Statistic | None:
    """Return the mean of one less that of the other; of none if one is missing."""
    return None if one is None or other is None else one - other


def percent_more(one: Statistic, other: Statistic) -> Estimate:
    """Percentage by which a mean is above another."""
    ratio = quotient(one, other, 100.0)
    return estimate_of(ratio and Statistic(ratio.value - 100, ratio.influence))


def _usd(costs: Sequence[Statistic]) -> str:
    return f"$ {', '.join(f'{cost.value:.3f}' for cost in costs)}"


def _rates(days: HadsDays) -> Iterator[Claim]:
    """Section 5.3.3, Fig. 11."""
    costs = {key: cell.statistic(cost_usd) for key, cell in days.sweep.items()}
    price = days.on_demand_usd(BIG_JOB)
    # "Nears" asks for two things: a cost that grows, and a distance from the price on demand that shrinks.
    nearer = _distance(costs[1, 0], price) - _distance(costs[6, 0], price)
    yield _SAID.judge(
        "nears-on-demand",
        [above("cost", costs[6, 0] - costs[1, 0], 3, "$"), above("nearer by", nearer, 3, "$")],
        f"$ {costs[1, 0].value:.3f} to {costs[6, 0].value:.3f}",
        price=price,
        dearer_from=next((k_h for k_h in SWEEP_K_H if costs[k_h, 0].value > price), "-"),
    )
    means = {k_r: mean_over_k_h(days, k_r, cost_usd) for k_r in SWEEP_K_R}
    falls = [below(f"k_r = {more} - {few}", means[more] - means[few], 3, "$") for few, more in pairwise(SWEEP_K_R)]
    yield _SAID.judge("falls-with-k-r", falls, _usd(list(means.values())))
    at_six = [costs[6, k_r] for k_r in SWEEP_K_R]
    alike = [
        about(f"k_r = {k_r} against 0", percent_more(costs[6, k_r], at_six[0]), 1, "%", value=0.0, points=ABOUT.percent)
        for k_r in SWEEP_K_R[1:]
    ]
    yield _SAID.judge("same-at-six", alike, _usd(at_six), percent=ABOUT.percent)
    limit = 100 - ABOUT.points
    shares = {k_r: hibernated_vms_percent(days.sweep[6, k_r]) for k_r in SWEEP_K_R}
    all_of = [above(f"k_r = {k_r}", share, 1, "%", limit=limit) for k_r, share in shares.items()]
    yield _SAID.judge("all-hibernate-at-six", all_of, numbers, limit=limit)
    first = below("", estimate(days.first_hibernation_s), 0, "s", limit=_AT_ONCE_S)
    yield _SAID.judge("at-once-at-seven", first, numbers, limit=_AT_ONCE_S)
    cheaper = [below(f"k_r = {k_r}", costs[7, k_r] - costs[6, k_r], 4, "$") for k_r in SWEEP_K_R[1:]]
    yield _SAID.judge("cheaper-at-seven", cheaper, f"$ {', '.join(f'{case.mean:+.3f}' for case in cheaper)}")
    dearer = days.sweep[7, 0].mean(lambda day: 100 * (day.cost_usd / price - 1))
    yield _SAID.judge("dearer-at-seven", above("", dearer, 1, "%"), f"{dearer.mean or 0:+.1f} %")


def _distance(cost: Statistic, price: float) -> Statistic:
    """Distance of a cost from a price."""
    sign = 1 if cost.value > price else -1
    return Statistic(sign * (cost.value - price), tuple(sign * day for day in cost.influence))


def _stealing(days: HadsDays) -> Iterator[Claim]:
    """Section 5.3.4, Fig. 12."""
    rates = {scenario: steal_success_percent(days.cells[BIG_JOB, scenario]) for scenario in SCENARIOS}
    means = {scenario: estimate_of(rate).mean or 0.0 for scenario, rate in rates.items()}
    stated, named = hads_figures().steal_success_percent, ("sc2", "sc5", "sc1")
    near = [about(name, rates[name], 1, "%", value=stated[name], points=ABOUT.points) for name in named]
    others = [name for name in SCENARIOS if name not in named[:2]]
    pairs = dict.fromkeys([*pairwise(named), *((name, other) for name in named[:2] for other in others)])
    orders = [above(f"{more} - {few}", less(rates[more], rates[few]), 1, "points") for more, few in pairs]
    ours = ", ".join(f"{means[name]:.1f}" for name in named)
    yield _SAID.judge(
        "steal-order",
        [*near, *orders],
        f"{ours}; others to {max(means[name] for name in others):.1f} %",
        stated=", ".join(f"{stated[name]:g}" for name in named),
        points=ABOUT.points,
        printed=", ".join(f"{stated[name]:g}" for name in named) + " %",
    )
    cells = {name: days.cells[BIG_JOB, name] for name in SCENARIOS}
    rising = [(name, other) for name in SCENARIOS for other in SCENARIOS if _K_H[name] > _K_H[other]]
    more = [above(f"{name} - {other}", cells[name].less(cells[other], migrations)) for name, other in rising]
    yield _SAID.judge("more-migrations", more, tally("pairs"))
    yield _fig_13(days)


def _fig_13(days: HadsDays) -> Claim:
    """Two VMs of a run of sc2; the text and the captions name them differently."""
    stated = {steal.type: steal.planned for steal in hads_figures().steals}
    planned = {vm_type: planned_tasks(days, vm_type) for vm_type in stated}
    cycles = days.first_cycles
    once, vms = [day.once_at_first for day in cycles], [day.vms.total() for day in cycles]
    done = [day.done for day in cycles]
    tasks = [
        exactly(of, stated[of] in planned[of], f"{', '.join(map(str, sorted(planned[of])))} tasks") for of in stated
    ]
    steal = [
        above("steal once at first", ratio_of(once, vms, 100.0), 1, "%", limit=50.0),
        above("done, and steal", ratio_of([day.done_thieves for day in cycles], done, 100.0), 1, "%", limit=50.0),
    ]
    return _SAID.judge(
        "planned-tasks",
        [*tasks, *steal],
        f"{'; '.join(span(planned[of]) for of in stated)} tasks; {sum(once):,} of {sum(vms):,} VMs",
        printed="; ".join(map(str, stated.values())),
        days=len(cycles),
        done=f"{sum(done):,}",
        thieves=sum(day.thieves for day in cycles),
        vms=sum(vms),
    )


def _checkpoints(days: HadsDays) -> Iterator[Claim]:
    """Section 5.3.5, Table 11."""
    cells = {name: days.cells[BIG_JOB, name] for name in SCENARIOS}
    rows = {row.scenario: row for row in hads_figures().checkpoints}
    counts = {name: cell.statistic(lambda day: day.checkpoints) for name, cell in cells.items()}
    few, many = (choose(counts, key=lambda name: counts[name].value) for choose in (min, max))
    # The paper's own extremes say how far apart "about as many" may be.
    low, high = (choose(row.checkpoints for row in rows.values()) for choose in (min, max))
    wide = 100 * (high / low - 1)
    case = below(f"{many} above {few}", percent_more(counts[many], counts[few]), 1, "%", limit=wide)
    ours = f"{counts[few].value:.0f} to {counts[many].value:.0f}"
    yield _SAID.judge("as-many-checkpoints", case, ours, wide=wide, low=low, high=high)
    moved = {name: cells[name].statistic(migrations) for name in ("sc1", "sc2")}
    times = about("", quotient(moved["sc2"], moved["sc1"]), 2, value=9.0, percent=ABOUT.percent)
    yield _SAID.judge(
        "nine-times",
        times,
        f"{times.mean or 0:.1f} times",
        percent=ABOUT.percent,
        printed=rows["sc2"].migrations / rows["sc1"].migrations,
        hibernated=estimate_of(hibernated_vms_percent(cells["sc1"])).mean or 0.0,
    )
    saved = {name: cell.statistic(lambda day: day.cpu_time_saved_s) for name, cell in cells.items()}
    enough = above("", saved["sc2"], 0, "s", limit=720.0)
    yield _SAID.judge("twelve-minutes", enough, f"{saved['sc2'].value:,.0f} s", printed=rows["sc2"].cpu_time_saved_s)
    stated = rows["sc1"].cpu_time_saved_s
    drops = [
        above("sc2 - sc1", saved["sc2"] - saved["sc1"], 0, "s"),
        about("sc1", saved["sc1"], 0, "s", value=stated, percent=ABOUT.percent),
    ]
    texts = {"stated": stated, "percent": ABOUT.percent, "moved": moved["sc1"].value / rows["sc1"].migrations}
    yield _SAID.judge("drops", drops, f"{saved['sc1'].value:,.0f} s", **texts)
    everywhere = [above(name, value, 0, "s") for name, value in saved.items()]
    low, high = (choose(row.cpu_time_saved_s for row in rows.values()) for choose in (min, max))
    ours = span([value.value for value in saved.values()], 0, "s")
    yield _SAID.judge("save-everywhere", everywhere, ours, low=low, high=high)


_RUNS = 3
"""Runs of which the paper prints means."""

_COLUMNS = ("hibernations", "new on-demand VMs", "makespan", "cost")
_SAVED = ("checkpoints", "migrations", "recoveries", "CPU time saved")


def hads_findings(days: HadsDays) -> Iterator[Claim]:
    """Judge statements of ours: whether hibernations fall from sc2 to sc4, and what three days may come to."""
    figures, cells = hads_figures(), days.cells
    printed = {(row.job, row.scenario): row.hibernations for row in figures.results}
    fewer = [below(job, cells[job, "sc4"].less(cells[job, "sc2"], hibernations), 2) for job in days.jobs]
    yield _SAID.judge(
        "fewer-in-sc4",
        fewer,
        ", ".join(f"{case.mean:+.1f}" for case in fewer),
        printed=", ".join(f"{printed[job, 'sc4'] - printed[job, 'sc2']:+.1f}" for job in days.jobs),
    )
    of_table_10 = [(f"{row.job} {row.scenario}", cells[row.job, row.scenario], row) for row in figures.results]
    of_table_11 = [(row.scenario, cells[BIG_JOB, row.scenario], row) for row in figures.checkpoints]
    yield from _three_runs("Table 10", _COLUMNS, TABLE_10, of_table_10)
    yield from _three_runs("Table 11", _SAVED, CHECKPOINTS, of_table_11)


def _three_runs(
    table: str,
    columns: Sequence[str],
    quantities: Sequence[Quantity[Cell]],
    rows: Sequence[tuple[str, Cell, object]],
) -> Iterator[Claim]:
    """Of each column, how many printed means could be those of three of our days."""
    for column, quantity in zip(columns, quantities, strict=False):
        assert quantity.metric is not None
        found = [_within(label, cell, quantity.metric, getattr(row, quantity.name)) for label, cell, row in rows]
        yield _SAID.judge("could-be-ours", found, tally(), table=table, column=column)


def _within(label: str, cell: Cell, metric: Callable[..., float], printed: float) -> Case:
    low, high = range_of_three(cell.values(metric))
    ours = f"{low:,.2f} to {high:,.2f}, printed {printed:,.2f}"
    if math.isinf(high):
        return Case(label, ours, "not decided")
    return exactly(label, low <= printed <= high, ours)


def range_of_three(values: list[float]) -> tuple[float, float]:
    """Prediction interval of 95 % for the mean of three more days, from the days replayed.

    By Student's t, as if days were normally distributed; endless of a single day.
    """
    from scipy.special import stdtrit

    n = len(values)
    spread = sd_of(values)
    mean = math.fsum(values) / n
    if spread is None:
        return -math.inf, math.inf
    half = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * spread.value * math.sqrt(1 / _RUNS + 1 / n)
    return mean - half, mean + half
