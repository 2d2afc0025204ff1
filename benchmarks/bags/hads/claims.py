"""Claims of the HADS paper about durations, costs and deadlines (sections 5.2.2 to 5.3.2), judged by replays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from ....core.statistics import Estimate, average
from ...claims import Claim, Verdict, all_hold, is_above, is_below, is_within, judged, show, tally
from ...paper_result import estimate_of
from ..paper_days import FROM_PRINTED_MAKESPAN, cost_usd, makespan_s
from ..printed import HadsFigures, PublishedShare, Share, hads_figures
from .ed200_claims import ed200_claims, less_of
from .runs import (
    SCENARIOS,
    HadsDays,
    hibernated_vms_percent,
    hibernation_duration_s,
    planned_offers,
    price_difference_percent,
    share_percent,
    spot_offers,
)

ABOUT_POINTS = 5.0
"""What 'about' means for a share in percent: so many points up or down."""

ABOUT_PERCENT = 10.0
"""What 'about' means for a time: so many percent up or down."""

ALWAYS_PERCENT = 99.0
"""What 'always' means at least, but for the deadline, which is to be met on all days."""

_RELATIONS = {">": "more than", "<": "less than", "=": "about"}

Found: TypeAlias = list[tuple[str, Verdict]]
"""Comparisons in words, and the verdict on each."""


def hads_claims(days: HadsDays) -> Iterator[Claim]:
    """Judge the statements of sections 5.2.2 to 5.3.5, in their order."""
    figures = hads_figures()
    yield from _durations(figures, days)
    yield from _days_without_hibernation(figures, days)
    yield from _all_scenarios(figures, days)
    yield from _sc2(figures, days)
    yield from _sc1(figures, days)
    yield from _sc3(figures, days)
    yield from _sc4(figures, days)
    yield from _sc5_to_sc7(figures, days)
    yield from ed200_claims(days)


# ---------------------------------------------------------------------------- section 5.2.2


def _durations(figures: HadsFigures, days: HadsDays) -> Iterator[Claim]:
    """Fig. 8."""
    printed, ours = figures.hibernation_duration_s, {name: hibernation_duration_s(days, name) for name in SCENARIOS}

    def longer(pairs: Iterable[tuple[str, str]]) -> Found:
        found: Found = []
        for one, other in pairs:
            less = less_of(ours[one], ours[other])
            found.append((f"{one} - {other} = {show(less, 0)} s", is_above(less)))
        return found

    def seconds(names: Sequence[str]) -> tuple[str, str]:
        shown = ", ".join(f"{estimate_of(ours[name]).mean or 0:,.0f}" for name in names)
        return f"{shown} s", ", ".join(f"{printed[name]:,.0f}" for name in names) + " s"

    for names, word in ((("sc1", "sc2"), "longest"), (("sc3", "sc4"), "shortest")):
        others = [name for name in SCENARIOS if name not in names]
        pairs = [(name, other) if word == "longest" else (other, name) for name in names for other in others]
        mine, theirs = seconds(names)
        statement = f"hibernations are {word} in {names[0]} and {names[1]}"
        yield judged(statement, longer(pairs), mine, source="section 5.2.2, Fig. 8", printed=theirs)
    mine, theirs = seconds(("sc5", "sc6", "sc7"))
    yield judged(
        "hibernations last longer in sc5 than in sc6 and sc7",
        longer([("sc5", "sc6"), ("sc5", "sc7")]),
        mine,
        "the paper explains it by k_h, but how long a VM sleeps depends on k_r, which is larger in sc5",
        source="section 5.2.2, Fig. 8",
        printed=theirs,
    )


# ---------------------------------------------------------------------------- section 5.3.1


def _days_without_hibernation(figures: HadsFigures, days: HadsDays) -> Iterator[Claim]:
    """Table 9."""
    printed = {row.job: row for row in figures.baselines}
    numbers: Found = []
    for job, found in days.baselines.items():
        mine, theirs = sum(found.plan.vms.values()), sum(printed[job].vms.values())
        numbers.append((f"{job} {mine} against {theirs}", "holds" if mine == theirs else "does not hold"))
    yield judged(
        "plans of 6, 8, 10 and 16 VMs",
        numbers,
        ", ".join(str(sum(found.plan.vms.values())) for found in days.baselines.values()),
        "our run times are the same on all types, and the greedy fills each VM up to D_spot",
        source="Table 9",
        printed=", ".join(str(sum(row.vms.values())) for row in figures.baselines),
    )
    fitted = [job for job, row in printed.items() if row.makespan_s >= days.baselines[job].algorithm_1_s]
    for jobs in ([job for job in printed if job not in fitted], fitted):
        times: Found = []
        for job in jobs:
            more = 100 * (makespan_s(days.baselines[job].static) / printed[job].makespan_s - 1)
            near = is_within(Estimate(1, more, None), -ABOUT_PERCENT, ABOUT_PERCENT)
            times.append((f"{job} {more:+.1f} %", near))
        yield judged(
            f"without hibernation, {' and '.join(jobs)} end when printed (within {ABOUT_PERCENT:g} %)",
            times,
            ", ".join(f"{makespan_s(days.baselines[job].static):,.0f}" for job in jobs) + " s",
            source="Table 9",
            printed=", ".join(f"{printed[job].makespan_s:,}" for job in jobs) + " s",
            fitted=any(days.baselines[job].plan.d_spot_source == FROM_PRINTED_MAKESPAN for job in jobs),
        )
    ends = [makespan_s(found.hads) for found in days.baselines.values()]
    printed_ends = [row.makespan_s for row in figures.baselines]
    early = [days.baselines[job].hads.meets_deadline for job in days.jobs]
    yield judged(
        "without hibernation, all jobs meet the deadline",
        [(job, "holds" if met else "does not hold") for job, met in zip(days.jobs, early, strict=True)],
        f"{min(ends):,.0f} to {max(ends):,.0f} s",
        source="section 5.3.1",
        printed=f"{min(printed_ends):,} to {max(printed_ends):,} s",
    )
    limits: Found = []
    for job, found in days.baselines.items():
        end_s = printed[job].makespan_s
        within = "holds" if end_s <= found.algorithm_1_s else "does not hold"
        limits.append((f"{job} {end_s:,} against {found.algorithm_1_s:,} s", within))  # type: ignore[arg-type]
    yield judged(
        "printed plans respect the D_spot of Algorithm 1",
        limits,
        tally(limits, "jobs"),
        "the printed makespans are later than what Algorithm 1 gives for the printed run times",
        source="section 5.3.1",
        printed="all 4 jobs",
    )
    yield from _prices(figures, days)


def _prices(figures: HadsFigures, days: HadsDays) -> Iterator[Claim]:
    """Table 9: the same plan on spot and on on-demand VMs."""
    printed = {row.job: row for row in figures.baselines}
    differences = [row.difference_percent for row in figures.baselines]
    low, high = min(differences), max(differences)
    off = {
        job: printed[job].difference_percent
        - price_difference_percent(instance, spot_offers(instance, printed[job].vms))
        for job, instance in ((job, found.schedule.instance) for job, found in days.baselines.items())
    }
    most = max(map(abs, off.values()))
    around: Found = []
    close: Found = []
    for job, found in days.baselines.items():
        price = found.on_demand["same", days.options.baseline].cost_usd
        saving = 100 * (1 - found.hads.cost_usd / price)
        about = is_within(Estimate(1, saving, None), low - ABOUT_POINTS, high + ABOUT_POINTS)
        around.append((f"{job} {saving:.1f} %", about))
        more = saving - price_difference_percent(found.schedule.instance, planned_offers(found.schedule))
        close.append((f"{job} {more:+.1f} points", is_within(Estimate(1, more, None), -most, most)))
    why = "HADS pays idle VMs to the ends of their cycles, and its tasks write checkpoints"
    yield judged(
        f"without hibernation, spot VMs save {low:.0f} to {high:.0f} % against the same plan on demand "
        f"(±{ABOUT_POINTS:g})",
        around,
        _numbers(around, "%"),
        why,
        source="section 5.3.1, Table 9",
        printed=", ".join(f"{percent:g}" for percent in differences) + " %",
    )
    yield judged(
        f"that saving is about the difference of VM prices (as close as printed, ±{most:.1f})",
        close,
        _numbers(close, "points"),
        why,
        source="section 5.3.1, Tables 6 and 9",
        printed=", ".join(f"{points:+.1f}" for points in off.values()) + " points",
    )


def _numbers(found: Found, unit: str) -> str:
    """The means that stand second in comparisons such as ``J60 12.3 ± 0.4 %``."""
    return ", ".join(text.split()[1] for text, _ in found) + f" {unit}"


# ---------------------------------------------------------------------------- section 5.3.2, all scenarios


def _all_scenarios(figures: HadsFigures, days: HadsDays) -> Iterator[Claim]:
    """Table 10."""
    ends: Found = []
    for (job, scenario), cell in days.cells.items():
        end_s = cell.mean(makespan_s)
        ends.append((f"{job} {scenario} {show(end_s, 0)} s", is_below(end_s, cell.runs[0].deadline_s)))
    means = [cell.mean(makespan_s).mean or 0.0 for cell in days.cells.values()]
    printed_ends = [row.makespan_s for row in figures.results]
    yield judged(
        "the mean makespan is below the deadline (2,100 s) in every cell",
        ends,
        f"{min(means):,.0f} to {max(means):,.0f} s",
        source="section 5.3.2, Table 10",
        printed=f"{min(printed_ends):,} to {max(printed_ends):,} s",
    )
    yield _no_miss(days)
    printed = [row.saving_percent for row in figures.results]
    source = "section 5.3.2, Table 10"
    cheaper = sum(percent > 0 for percent in printed)
    yield _saves(
        figures,
        days,
        "HADS is cheaper than on-demand VMs in every cell",
        dict.fromkeys(days.cells, is_above),
        source,
        f"{cheaper} of {len(printed)} cells",
    )
    means_of = {key: days.saving_percent(*key).value for key in days.cells}
    least, most = min(means_of, key=means_of.__getitem__), max(means_of, key=means_of.__getitem__)
    yield _saves(
        figures,
        days,
        f"savings range from {min(printed):g} to {max(printed):g} % (±{ABOUT_POINTS:g})",
        {least: _about(min(printed)), most: _about(max(printed))},
        source,
        _span(printed),
    )


def _no_miss(days: HadsDays) -> Claim:
    misses = days.misses
    late = {job: sum(len(days.cells[job, scenario].late_days) for scenario in SCENARIOS) for job in days.jobs}
    reasons = []
    if misses.late_s:
        reasons.append(", ".join(f"{job} {number}" for job, number in late.items()))
        given = [job for job, found in days.baselines.items() if found.plan.d_spot_source == FROM_PRINTED_MAKESPAN]
        if given:
            reasons.append(f"D_spot of {' and '.join(given)} is later than Algorithm 1 allows, see Sensitivity")
    if misses.verdict != "holds":
        reasons.append(misses.why())
    return Claim(
        "no run misses the deadline",
        misses.verdict,
        f"{len(misses.late_s):,} of {misses.days:,} days late",
        "; ".join(reasons),
        source="sections 1, 5.3.2 and 6",
        printed="0 of 84 runs",
    )


Decide: TypeAlias = Callable[[Estimate], Verdict]


def _about(percent: float) -> Decide:
    """Test of a share near a percentage."""
    return lambda share: is_within(share, percent - ABOUT_POINTS, percent + ABOUT_POINTS)


def _saves(
    figures: HadsFigures,
    days: HadsDays,
    statement: str,
    decides: Mapping[tuple[str, str], Decide],
    source: str = "section 5.3.2",
    printed: str = "",
) -> Claim:
    """Judge the savings of some cells, each by what is said of it."""
    savings = {key: days.saving_percent(*key).estimate for key in decides}
    verdicts = {key: decide(savings[key]) for key, decide in decides.items()}
    found = [(f"{' '.join(key)} {show(savings[key], 1)} %", verdict) for key, verdict in verdicts.items()]
    failing = [key for key, verdict in verdicts.items() if verdict != "holds"]
    theirs = {(row.job, row.scenario): row.saving_percent for row in figures.results}
    return judged(
        statement,
        found,
        _range(list(savings.values())),
        _why_less_saved(figures, days, failing),
        source=source,
        printed=printed or _span([theirs[key] for key in decides]),
    )


def _why_less_saved(figures: HadsFigures, days: HadsDays, cells: Sequence[tuple[str, str]]) -> str:
    """Ratios of on-demand VMs, HADS, hibernations and new VMs of some cells to the printed ones, in words."""
    if not cells:
        return ""
    on_demand_usd = {row.job: row.on_demand_usd for row in figures.baselines}
    printed = {(row.job, row.scenario): row for row in figures.results}
    jobs = dict.fromkeys(job for job, _ in cells)
    on_demand = [100 * days.on_demand_usd(job) / on_demand_usd[job] for job in jobs]
    hads = [100 * days.cells[key].statistic(cost_usd).value / printed[key].cost_usd for key in cells]
    more = Counter[str]()
    for key in cells:
        hibernations = days.cells[key].statistic(lambda day: day.hibernations).value
        started = days.cells[key].statistic(lambda day: day.on_demand_started).value
        theirs = printed[key]
        more["VMs hibernate more often than printed"] += hibernations > theirs.hibernations
        more["each hibernation starts more on-demand VMs than printed"] += (
            started * theirs.hibernations > theirs.on_demand_started * hibernations
        )
    costs = f"our on-demand VMs cost {_whole(on_demand)} % of the printed ones (note 1), HADS {_whole(hads)} %"
    return "; ".join([costs, *(what + _where(number, len(cells)) for what, number in more.items() if number)])


def _where(number: int, of: int) -> str:
    """Phrase for a number of cells out of all."""
    if of == 1:
        return ""
    return " in all of these cells" if number == of else f" in {number} of these {of} cells"


def _whole(percents: Sequence[float]) -> str:
    low, high = f"{min(percents):.0f}", f"{max(percents):.0f}"
    return low if low == high else f"{low} to {high}"


def _range(savings: Sequence[Estimate]) -> str:
    """Single mean with its interval, or the span of all means."""
    if len(savings) == 1:
        return f"{show(savings[0], 1)} %"
    return _span([saving.mean for saving in savings if saving.mean is not None], 1)


def _span(percents: Sequence[float], digits: int = 2) -> str:
    if len(percents) == 1:
        return f"{percents[0]:.{digits}f} %"
    return f"{min(percents):.{digits}f} to {max(percents):.{digits}f} %"


# ---------------------------------------------------------------------------- section 5.3.2, by scenario


def _sc2(figures: HadsFigures, days: HadsDays) -> Iterator[Claim]:
    yield _extreme(days, "sc2", "dearest")
    cells = [days.cells[job, "sc2"] for job in days.jobs]
    started = [row.on_demand_started for row in figures.results if row.scenario == "sc2"]
    needed = average([cell.statistic(lambda day: 100.0 * (day.on_demand_started > 0)) for cell in cells]).estimate
    yield judged(
        f"sc2 always needs new on-demand VMs (on more than {ALWAYS_PERCENT:g} % of the days)",
        [(f"{show(needed, 1)} %", is_above(needed, ALWAYS_PERCENT))],
        f"{needed.mean or 0:.1f} %",
        source="section 5.3.2",
        printed=f"{min(started):g} to {max(started):g} VMs a run",
    )
    yield from _shares(figures, days, "sc2")


def _sc1(figures: HadsFigures, days: HadsDays) -> Iterator[Claim]:
    over = dict.fromkeys([("J60", "sc1"), ("J100", "sc1"), ("ED200", "sc1")], _over(50.0))
    yield _saves(figures, days, "sc1: J60, J100 and ED200 save more than 50 %", over)
    [stated] = [row for row in figures.results if (row.job, row.scenario) == ("J80", "sc1")]
    statement = f"sc1: J80 saves {stated.saving_percent:g} % (±{ABOUT_POINTS:g}), less than 50 %"
    about = _about(stated.saving_percent)
    both = {("J80", "sc1"): lambda saving: all_hold([about(saving), is_below(saving, 50.0)])}
    yield _saves(figures, days, statement, both)
    found: Found = []
    for job in days.jobs:
        share = estimate_of(hibernated_vms_percent(days.cells[job, "sc1"]))
        found.append((f"{job} {show(share, 1)} %", is_below(share, 50.0)))
    yield judged(
        "sc1: less than half of the spot VMs hibernate",
        found,
        _numbers(found, "%"),
        "with k_h = 1, a VM hibernates within the deadline with probability 1 - 1/e = 63 %",
        source="section 5.3.2",
        printed=", ".join(f"{share:.0f}" for share in _printed_share_of_vms(figures, "sc1")) + " %",
    )
    found = []
    for job in days.jobs:
        new = estimate_of(share_percent(days.cells[job, "sc1"], "new"))
        found.append((f"{job} {show(new, 1)} %", is_below(new, 50.0)))
    yield judged(
        "sc1: tasks go to busy or idle VMs instead of new ones (less than 50 % of hibernations lead to new ones)",
        found,
        _numbers(found, "%"),
        f"the share of busy VMs cannot tell, as {_NEW_ARE_BUSY} (note 5)",
        source="section 5.3.2, Figs 9-10",
    )
    yield from _shares(figures, days, "sc1")


def _printed_share_of_vms(figures: HadsFigures, scenario: str) -> Iterator[float]:
    """Printed hibernations of each job in percent of its VMs; without resumes, none hibernates twice."""
    vms = {row.job: sum(row.vms.values()) for row in figures.baselines}
    return (100 * row.hibernations / vms[row.job] for row in figures.results if row.scenario == scenario)


def _sc3(figures: HadsFigures, days: HadsDays) -> Iterator[Claim]:
    yield _extreme(days, "sc3", "cheapest")
    yield _saves(figures, days, "sc3: every job saves more than 60 %", _every(days, "sc3", _over(60.0)))
    yield _occur(days, ("sc3",), ("resumed",), "sc3: VMs of every job resume in time")
    yield from _shares(figures, days, "sc3")


def _sc4(figures: HadsFigures, days: HadsDays) -> Iterator[Claim]:
    saved = {(row.job, row.scenario): row.saving_percent for row in figures.results}
    found, means, printed, counts = [], [], [], []
    for job in days.jobs:
        printed.append(f"{saved[job, 'sc4'] - saved[job, 'sc2']:+.1f}")
        often = [days.cells[job, name].statistic(lambda day: day.hibernations).value for name in ("sc4", "sc2")]
        counts.append(f"{job} {often[0]:.1f} against {often[1]:.1f}")
        more = (days.saving_percent(job, "sc4") - days.saving_percent(job, "sc2")).estimate
        found.append((f"{job} {show(more, 1)} points", is_above(more)))
        means.append(f"{more.mean or 0:+.1f}")
    yield judged(
        "sc4 saves more than sc2, for every job",
        found,
        f"{', '.join(means)} points",
        "VMs that resume in sc4 hibernate again, and each time tasks may go to new VMs; hibernations in sc4 and sc2: "
        + ", ".join(counts),
        source="sections 5.3.2 and 6",
        printed=f"{', '.join(printed)} points",
    )
    yield _saves(figures, days, "sc4: every job saves more than 50 %", _every(days, "sc4", _over(50.0)))
    best = max((key for key in saved if key[1] == "sc2"), key=saved.__getitem__)
    statement = f"sc2: the largest saving is that of {best[0]}, {saved[best]:g} % (±{ABOUT_POINTS:g})"
    decides = _every(days, "sc2", lambda saving: is_below(saving, saved[best])) | {best: _about(saved[best])}
    yield _saves(figures, days, statement, decides)
    yield from _shares(figures, days, "sc4")
    statement = "sc4, sc6, sc7: idle VMs, busy VMs and resumes in time all help every job"
    claim = _occur(days, ("sc4", "sc6", "sc7"), ("idle", "busy", "resumed"), statement)
    yield _with_caution(claim)


def _sc5_to_sc7(figures: HadsFigures, days: HadsDays) -> Iterator[Claim]:
    costs = {(row.job, row.scenario): row.cost_usd for row in figures.results}
    found, ours, printed = [], [], []
    for job in days.jobs:
        printed.append(f"{costs[job, 'sc7'] - costs[job, 'sc6']:+.3f}")
        less = days.cells[job, "sc7"].less(days.cells[job, "sc6"], cost_usd)
        found.append((f"{job} $ {show(less, 4)}", is_below(less)))
        ours.append(f"{less.mean or 0:+.3f}")
    yield judged(
        "sc7 is cheaper than sc6, for every job",
        found,
        f"$ {', '.join(ours)}",
        source="section 5.3.2",
        printed=f"$ {', '.join(printed)}",
    )
    yield _saves(figures, days, "sc7: every job saves more than 50 %", _every(days, "sc7", _over(50.0)))
    yield _occur(days, ("sc5",), ("new",), "sc5: tasks of every job are migrated to new on-demand VMs")
    between = _every(days, "sc5", lambda saving: is_within(saving, 40.0, 70.0))
    yield _saves(figures, days, "sc5: every job saves between 40 and 70 %", between)


def _over(percent: float) -> Decide:
    return lambda saving: is_above(saving, percent)


def _every(days: HadsDays, scenario: str, decide: Decide) -> dict[tuple[str, str], Decide]:
    """Verdict function of a scenario, for every job."""
    return {(job, scenario): decide for job in days.jobs}


_NEW_ARE_BUSY = "a VM that was started for one task is busy when the next one asks it"


def _with_caution(claim: Claim) -> Claim:
    """Claim with a remark: a busy VM may be one that the same hibernation started."""
    caution = f"of busy VMs this says little, as {_NEW_ARE_BUSY} (note 5)"
    return replace(claim, reason="; ".join(filter(None, [claim.reason, caution])))


def _costs(days: HadsDays, scenario: str) -> str:
    """Mean cost of each job in a scenario."""
    return ", ".join(f"{days.cells[job, scenario].mean(cost_usd).mean:.3f}" for job in days.jobs)


def _extreme(days: HadsDays, scenario: str, word: str) -> Claim:
    """Claim on the dearest or cheapest scenario of every job; each other one is compared day by day."""
    decide = is_above if word == "dearest" else is_below
    found: Found = []
    for job in days.jobs:
        for other in SCENARIOS:
            if other != scenario:
                less = days.cells[job, scenario].less(days.cells[job, other], cost_usd)
                found.append((f"{job} {scenario} - {other} = $ {show(less, 4)}", decide(less)))
    figures = hads_figures().results
    return judged(
        f"{scenario} is the {word} scenario for every job",
        found,
        f"$ {_costs(days, scenario)}",
        source="section 5.3.2",
        printed="$ " + ", ".join(f"{row.cost_usd:.3f}" for row in figures if row.scenario == scenario),
    )


def _occur(days: HadsDays, scenarios: Sequence[str], shares: Sequence[Share], statement: str) -> Claim:
    """Some outcomes of hibernations occur in some scenarios, for every job."""
    found: Found = []
    means = []
    for scenario in scenarios:
        for job in days.jobs:
            for share in shares:
                estimate = estimate_of(share_percent(days.cells[job, scenario], share))
                means.append(estimate.mean or 0.0)
                found.append((f"{job} {scenario} {share} {show(estimate, 1)} %", is_above(estimate)))
    ours = f"{min(means):.1f} to {max(means):.1f} %"
    return judged(statement, found, ours, source="section 5.3.2, Figs 9-10")


_SHARES_IN_WORDS = {
    "new": "lead to new on-demand VMs",
    "busy": "lead to migrations to busy VMs",
    "idle": "lead to migrations to idle VMs",
    "resumed": "end before the trigger",
}


def _shares(figures: HadsFigures, days: HadsDays, scenario: str) -> Iterator[Claim]:
    """Shares of the hibernations that the text states (Figs 9 and 10)."""
    groups: dict[tuple[str, str, float], list[PublishedShare]] = {}
    for entry in figures.shares:
        if entry.scenario == scenario:
            groups.setdefault((entry.share, entry.relation, entry.percent), []).append(entry)
    for (share, relation, percent), entries in groups.items():
        found: Found = []
        for entry in entries:
            estimate = estimate_of(share_percent(days.cells[entry.job, scenario], entry.share))
            found.append((f"{entry.job} {show(estimate, 1)} %", _compare(estimate, relation, percent)))
        jobs = "every job" if len(entries) == len(days.jobs) else ", ".join(entry.job for entry in entries)
        about = f" (±{ABOUT_POINTS:g})" if relation == "=" else ""
        claim = judged(
            f"{scenario}: {_RELATIONS[relation]} {percent:g} % of hibernations {_SHARES_IN_WORDS[share]}, "
            f"{jobs}{about}",
            found,
            _numbers(found, "%"),
            _shorter_hibernations(figures, days, scenario) if share == "resumed" else "",
            source="section 5.3.2, Figs 9-10",
            printed=f"{'' if relation == '=' else relation + ' '}{percent:g} %",
        )
        yield _with_caution(claim) if share == "busy" else claim


def _shorter_hibernations(figures: HadsFigures, days: HadsDays, scenario: str) -> str:
    """Phrase on hibernations that last shorter here than in the paper, as a cause of tasks in time."""
    ours = hibernation_duration_s(days, scenario)
    printed = figures.hibernation_duration_s[scenario]
    return "" if ours is None else f"hibernations last {ours.value:.0f} s here, {printed:.0f} s in the paper (Fig. 8)"


def _compare(estimate: Estimate, relation: str, percent: float) -> Verdict:
    if relation == "=":
        return is_within(estimate, percent - ABOUT_POINTS, percent + ABOUT_POINTS)
    return is_above(estimate, percent) if relation == ">" else is_below(estimate, percent)
