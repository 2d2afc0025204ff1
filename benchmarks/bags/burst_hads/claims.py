"""Claims of the Burst-HADS paper about its results, judged on replayed days."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from spotbag.core.statistics import Statistic, average, mean_of, ratio_of

from ...claims import ABOUT, Case, Claim, Compare, about, above, below, exactly, numbers, span, spread, tally
from ...data_files import Statements
from ..paper_days import Cell, cost_usd, makespan_s, none_late
from ..printed import burst_hads_figures
from .runs import SCENARIOS, WORST, BurstHadsDays, Pair

BURST_CHEAPER, HADS_CHEAPER = ("sc2", "sc5"), ("sc1", "sc3", "sc4")

CLOSE_TO_DEADLINE_S = 2332
"""The least makespan of HADS that Table VI prints; the deadline is 2,700 s."""

SMALL_JOB, BIG_JOB = "J60", "ED200"
"""The jobs that the text compares."""

_NAMES = {"burst-hads": "Burst-HADS", "hads": "HADS"}
_SAID = Statements.read(__package__)


def burst_hads_claims(days: BurstHadsDays) -> Iterator[Claim]:
    """Judge the statements of section IV in their order, then those of the conclusion and the abstract."""
    yield from _quiet(days)
    yield from _quiet_on_demand(days)
    yield from _shorter(days)
    yield from _small_jobs(days)
    yield _close_to_deadline(days)
    yield from _costs(days)
    yield from _against_on_demand(days)
    for policy, misses in days.misses.items():
        late = f"{len(misses.late_s)} of {misses.days:,} days late"
        why = f"{misses}; {misses.why()}" if misses.late_s else misses.why()
        yield _SAID.decided(f"{_name(policy)}-in-time", misses.verdict, late, why=why)
    yield _SAID.judge("hads-in-time-observed", none_late(pair.hads for pair in days.pairs.values()))


def burst_hads_findings(days: BurstHadsDays) -> Iterator[Claim]:
    """Judge questions beyond the paper."""
    for policy, name in _NAMES.items():
        yield _SAID.judge(
            "cheaper-than-last-task", above("", days.mean_saving(policy, "last-task"), 1, "%"), policy=name
        )
    limit = CLOSE_TO_DEADLINE_S
    ends = [below(_place(pair), pair.burst.mean(makespan_s), 0, "s", limit=limit) for pair in days.pairs.values()]
    yield _SAID.judge("far-from-deadline", ends, tally("cells"), limit=limit)


# ---------------------------------------------------------------------------- without hibernation


def _quiet(days: BurstHadsDays) -> Iterator[Claim]:
    stated = days.stated()
    for quantity, name in (
        ("quiet_makespan_reduction_percent", "quiet-shorter"),
        ("quiet_cost_increase_percent", "quiet-dearer"),
    ):
        printed = {entry.of: entry.printed for entry in burst_hads_figures().averages if entry.quantity == quantity}
        more = [above(job, stated[quantity, job], 1, "%") for job in printed]
        near = [_near(job, stated[quantity, job], printed[job]) for job in printed]
        yield _SAID.judge(name, more, tally("jobs"))
        yield _SAID.judge(f"{name}-by", near, spread, points=ABOUT.points, printed=span(printed.values(), 1, "%"))
    found, burst, hads = [], [], []
    for job, rivals in days.rivals.items():
        # HADS carries out the greedy's plan, so the search is compared with that.
        hads.append(sum(next(plan.vms for plan in rivals.plans if plan.method == "greedy").values()))
        burst += [plan.vms for plan in rivals.burst_plans]
        more_vms = mean_of([plan.vms - hads[-1] for plan in rivals.burst_plans])
        some_burst = min(plan.burstable_vms for plan in rivals.burst_plans) > 0
        found.append(above(job, more_vms, 1, "VMs") if some_burst else exactly(job, False, "no burstable VM"))
    yield _SAID.judge("more-vms", found, f"{span(burst)} against {span(hads)}")


def _quiet_on_demand(days: BurstHadsDays) -> Iterator[Claim]:
    stated = days.stated()
    yield _percentage("quiet-saving", stated["quiet_saving_percent", ""], 52.0, above, limit=52.0)
    yield _percentage("quiet-longer", stated["quiet_makespan_increase_percent", ""], 15.0)
    found = []
    for job, rivals in days.rivals.items():
        pairs = list(zip(rivals.burst_plans, days.on_demand(job).values(makespan_s), strict=True))
        held_up_s = [plan.makespan_s - plan.regular_makespan_s for plan, _ in pairs]
        share = ratio_of(held_up_s, [plan.makespan_s - end for plan, end in pairs], 100.0)
        if share is not None:
            found.append(above(job, share, 0, "%", limit=50.0))
    yield _SAID.judge("held-up", found, spread)


# ---------------------------------------------------------------------------- makespans


def _shorter(days: BurstHadsDays) -> Iterator[Claim]:
    yield _SAID.judge("shorter", _less(days, below, makespan_s, 0, "s"), tally("cells"))
    yield _percentage("shorter-by", days.shorter(), 25.87, above, limit=25.0)


def _small_jobs(days: BurstHadsDays) -> Iterator[Claim]:
    small, big = (days.shorter(job) for job in (SMALL_JOB, BIG_JOB))
    yield _SAID.judge("small-jobs", above("", small - big, 1, "points"), lambda cases: f"by {cases[0].ours}")
    quiet = [days.stated()["quiet_makespan_reduction_percent", job].value for job in (SMALL_JOB, BIG_JOB)]
    near = [_near(SMALL_JOB, small, 40.1), _near(BIG_JOB, big, 10.24)]
    ours = f"{small.value:.1f} and {big.value:.1f} %"
    yield _SAID.judge("small-jobs-by", near, ours, points=ABOUT.points, quiet=quiet)

    def a_day(of: Callable[[Pair], Statistic]) -> tuple[Statistic, Statistic]:
        """Mean of a number over the scenarios of the small job, and over those of the big one."""
        small, big = (average([of(pair) for pair in days.pairs_of(job)]) for job in (SMALL_JOB, BIG_JOB))
        return small, big

    def time_left(job: str) -> Statistic:
        return days.rivals[job].burst.statistic(lambda day: day.deadline_s - makespan_s(day))

    hibernations = a_day(lambda pair: pair.burst.statistic(lambda day: day.hibernations))
    for name, (small, big), digits in (
        ("time", (time_left(SMALL_JOB), time_left(BIG_JOB)), 0),
        ("burst", a_day(lambda pair: pair.at_full_speed), 2),
        ("steals", a_day(lambda pair: pair.burst.statistic(lambda day: day.steals)), 1),
    ):
        more = above("", small - big, digits)
        yield _SAID.judge(
            f"small-jobs-{name}",
            more,
            f"{small.value:,.{digits}f} and {big.value:,.{digits}f}" + (" s" if name == "time" else ""),
            more=more.ours,
            per_100=" and ".join(
                f"{100 * value.value / days.n_tasks(job):.2f}" for job, value in ((SMALL_JOB, small), (BIG_JOB, big))
            ),
            hibernations=" and ".join(f"{value.value:.1f}" for value in hibernations),
        )


def _close_to_deadline(days: BurstHadsDays) -> Claim:
    """Over the days on which some VM with tasks hibernated."""
    figures = burst_hads_figures()
    quiet_s = {printed.job: printed.hads_makespan_s for printed in figures.quiet}
    found = []
    for pair in days.pairs.values():
        struck = [makespan_s(day) for day in pair.hads.runs if day.busy_hibernations]
        if struck:
            end_s = makespan_s(days.rivals[pair.hads.job].hads.runs[0])
            found.append(above(_place(pair), mean_of([day - end_s for day in struck]), 0, "s"))
    printed = sum(row.hads_makespan_s > quiet_s[row.job] for row in figures.results)
    return _SAID.judge("close-to-deadline", found, lambda cases: f"{spread(cases)} later", printed=printed)


# ---------------------------------------------------------------------------- costs


def _costs(days: BurstHadsDays) -> Iterator[Claim]:
    yield _SAID.judge("cheaper", _less(days, below, cost_usd, 3, "$", BURST_CHEAPER), tally("cells"))
    yield _SAID.judge("dearer", _less(days, above, cost_usd, 3, "$", HADS_CHEAPER), tally("cells"))
    yield _worst_scenario(days)
    fewer = _less(days, below, lambda day: day.on_demand_started, 2, "VMs", BURST_CHEAPER)
    yield _SAID.judge("fewer-on-demand", fewer, tally("cells"))
    left = [
        above(f"{cell.policy} {_place(pair)}", cell.mean(lambda day: day.hibernations - day.resumes), 2)
        for pair in days.pairs_of(scenarios=BURST_CHEAPER)
        for cell in (pair.burst, pair.hads)
    ]
    yield _SAID.judge("more-hibernations", left, tally("cells of both schedulers"))
    limit = 1.92 + ABOUT.points
    yield _percentage("hardly-dearer", days.dearer(), 1.92, below, limit=limit)


def _worst_scenario(days: BurstHadsDays) -> Claim:
    """By the cost, as the text names none."""
    found, printed = [], 0
    costs = {(row.job, row.scenario): row for row in burst_hads_figures().results}
    for policy in _NAMES:
        name = f"{_field(policy)}_cost_usd"
        for job in days.jobs:
            cells = {pair.burst.scenario: pair.of(policy) for pair in days.pairs_of(job)}
            for other in SCENARIOS:
                if other != "sc2":
                    more = cells["sc2"].less(cells[other], cost_usd)
                    found.append(above(f"{policy} {job} {other}", more, 3, "$"))
                    printed += getattr(costs[job, "sc2"], name) > getattr(costs[job, other], name)
    return _SAID.judge("worst-scenario", found, tally("comparisons"), printed=printed)


def _against_on_demand(days: BurstHadsDays) -> Iterator[Claim]:
    for policy in _NAMES:
        less = [
            below(_place(pair), pair.of(policy).less(days.on_demand(pair.burst.job), cost_usd), 3, "$")
            for pair in days.pairs.values()
        ]
        to_last_task = sum(
            above("", days.saving(pair.of(policy), "last-task")).verdict == "holds" for pair in days.pairs.values()
        )
        yield _SAID.judge(f"{_name(policy)}-cheaper-than-on-demand", less, tally("cells"), to_last_task=to_last_task)
    stated = days.stated()
    printed = {(entry.quantity, entry.of): entry.printed for entry in burst_hads_figures().averages}
    for policy, name in _NAMES.items():
        for cell, of in (((), "on average"), (WORST, f"for {WORST[0]} in {WORST[1]}")):
            key = f"{_field(policy)}_saving_percent", " ".join(cell)
            costs = _against_printed(days, policy, cell)
            yield _percentage("saving", stated[key], printed[key], policy=name, of=of, costs=costs)
    more = [
        above(_place(pair), pair.burst.less(days.on_demand(pair.burst.job), makespan_s), 0, "s")
        for pair in days.pairs.values()
    ]
    yield _SAID.judge("longer-than-on-demand", more, tally("cells"))


# ---------------------------------------------------------------------------- parts of statements


def _against_printed(days: BurstHadsDays, policy: str, cell: Sequence[str]) -> str:
    """Mean costs as percentages of the printed ones, of a cell, or of all if it is empty."""
    figures = burst_hads_figures()
    quiet = {printed.job: printed.on_demand_cost_usd for printed in figures.quiet}
    rows = [row for row in figures.results if not cell or (row.job, row.scenario) == tuple(cell)]

    def percent(ours: Callable[[str, str], Cell], printed: Sequence[float]) -> float:
        costs = [ours(row.job, row.scenario).statistic(cost_usd).value for row in rows]
        return sum(100 * cost / usd for cost, usd in zip(costs, printed, strict=True)) / len(rows)

    mine = percent(
        lambda *key: days.pairs[key].of(policy), [getattr(row, f"{_field(policy)}_cost_usd") for row in rows]
    )
    on_demand = percent(lambda job, _: days.on_demand(job), [quiet[row.job] for row in rows])
    return f"{_NAMES[policy]} costs {mine:.0f} % of what is printed, ILS On-demand {on_demand:.0f} %"


def _less(
    days: BurstHadsDays,
    compare: Compare,
    metric: Callable[..., float],
    digits: int,
    unit: str,
    scenarios: Sequence[str] = SCENARIOS,
) -> list[Case]:
    """Compare Burst-HADS less HADS in all cells of some scenarios."""
    pairs = days.pairs_of(scenarios=scenarios)
    return [compare(_place(pair), pair.burst.less(pair.hads, metric), digits, unit) for pair in pairs]


def _near(label: str, ours: Statistic, printed: float) -> Case:
    return about(label, ours, 1, "%", value=printed, points=ABOUT.points)


def _percentage(
    name: str, ours: Statistic, printed: float, compare: Compare | None = None, limit: float = 0.0, **texts: Any
) -> Claim:
    """Judge a percentage: beyond a limit, or near what is printed; `off` is how far it is from that."""
    points = ours.value - printed
    off = f"{abs(points):.1f} points {'more' if points > 0 else 'less'} than printed"
    case = _near("", ours, printed) if compare is None else compare("", ours, 1, "%", limit=limit)
    return _SAID.judge(name, case, numbers, printed=printed, points=ABOUT.points, limit=limit, off=off, **texts)


def _name(policy: str) -> str:
    return policy.removesuffix("-hads")


def _field(policy: str) -> str:
    """Name of a policy in names of quantities."""
    return policy.replace("-", "_")


def _place(pair: Pair) -> str:
    return f"{pair.burst.job} {pair.burst.scenario}"
