"""Claims of the Burst-HADS paper about its results, judged on replayed days."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from spotbag.core.statistics import Estimate

from ...claims import ABOUT, Case, Claim, about, exactly, is_above, numbers, show, span, spread, tally
from ...data_files import Statements
from ...statistics import Statistic, average, mean_of, ratio_of
from ..paper_days import Cell, burst_hads_figures, cost_usd, makespan_s, none_late
from .runs import SCENARIOS, WORST, BurstHadsDays, Pair

BURST_CHEAPER, HADS_CHEAPER = ("sc2", "sc5"), ("sc1", "sc3", "sc4")

SMALL_JOB, BIG_JOB = "J60", "ED200"
"""The jobs that the text compares."""

_NAMES = {"burst-hads": "Burst-HADS", "hads": "HADS"}
_SAID = Statements.read(__package__)


def burst_hads_claims(days: BurstHadsDays) -> Iterator[Claim]:
    """Judge the statements of section IV in their order, then those of the conclusion and the abstract."""
    yield from _quiet(days)
    yield from _quiet_on_demand(days)
    yield _SAID.judge("shorter", _less(days, makespan_s), tally("cells"))
    yield _percentage("shorter-by", days.shorter(), 25.87)
    yield from _small_jobs(days)
    yield _close_to_deadline(days)
    yield from _costs(days)
    yield from _against_on_demand(days)
    for policy, misses in days.misses.items():
        late = f"{len(misses.late_s)} of {misses.days:,} days late"
        why = f"{misses}; {misses.why()}" if misses.late_s else misses.why()
        yield _SAID.decided(f"{policy}-in-time", misses.verdict, late, why=why)
    yield _SAID.judge("hads-in-time-observed", none_late(pair.hads for pair in days.pairs.values()))


def burst_hads_findings(days: BurstHadsDays) -> Iterator[Claim]:
    """Judge questions beyond the paper."""
    for policy in _NAMES:
        yield _SAID.judge(f"{policy}-cheaper-than-last-task", days.mean_saving(policy, "last-task"))
    ends = {_place(pair): pair.burst.mean(makespan_s) for pair in days.pairs.values()}
    yield _SAID.judge("far-from-deadline", ends, tally("cells"))


# ---------------------------------------------------------------------------- without hibernation


def _quiet(days: BurstHadsDays) -> Iterator[Claim]:
    stated = days.stated()
    for quantity, name in (
        ("quiet_makespan_reduction_percent", "quiet-shorter"),
        ("quiet_cost_increase_percent", "quiet-dearer"),
    ):
        printed = {entry.of: entry.printed for entry in burst_hads_figures().averages if entry.quantity == quantity}
        ours = {job: stated[quantity, job] for job in printed}
        yield _SAID.judge(name, ours, tally("jobs"))
        yield _SAID.judge(f"{name}-by", [_near(job, ours[job], percent) for job, percent in printed.items()], spread)
    found, burst, hads = [], [], []
    for job, rivals in days.rivals.items():
        # HADS carries out the greedy's plan, so the search is compared with that.
        hads.append(sum(next(plan.vms for plan in rivals.plans if plan.method == "greedy").values()))
        burst += [plan.vms for plan in rivals.burst_plans]
        more_vms = mean_of([plan.vms - hads[-1] for plan in rivals.burst_plans])
        # On no day may a plan do without burstable VMs, whatever the mean is.
        some_burst = min(plan.burstable_vms for plan in rivals.burst_plans) > 0
        found += _SAID.cases("more-vms", {job: more_vms}) if some_burst else [exactly(job, False, "no burstable VM")]
    yield _SAID.judge("more-vms", found, f"{span(burst)} against {span(hads)}")


def _quiet_on_demand(days: BurstHadsDays) -> Iterator[Claim]:
    stated = days.stated()
    yield _percentage("quiet-saving", stated["quiet_saving_percent", ""], 52.0)
    yield _percentage("quiet-longer", stated["quiet_makespan_increase_percent", ""], 15.0)
    shares = {}
    for job, rivals in days.rivals.items():
        pairs = list(zip(rivals.burst_plans, days.on_demand(job).values(makespan_s), strict=True))
        held_up_s = [plan.makespan_s - plan.regular_makespan_s for plan, _ in pairs]
        shares[job] = ratio_of(held_up_s, [plan.makespan_s - end for plan, end in pairs], 100.0)
    yield _SAID.judge("held-up", {job: share for job, share in shares.items() if share is not None}, spread)


# ---------------------------------------------------------------------------- makespans


def _small_jobs(days: BurstHadsDays) -> Iterator[Claim]:
    small, big = (days.shorter(job) for job in (SMALL_JOB, BIG_JOB))
    yield _SAID.judge("small-jobs", small - big, lambda cases: f"by {cases[0].ours}")
    quiet = [days.stated()["quiet_makespan_reduction_percent", job].value for job in (SMALL_JOB, BIG_JOB)]
    near = [_near(SMALL_JOB, small, 40.1), _near(BIG_JOB, big, 10.24)]
    yield _SAID.judge("small-jobs-by", near, f"{small.value:.1f} and {big.value:.1f} %", quiet=quiet)

    def a_day(of: Callable[[Pair], Statistic]) -> tuple[Statistic, Statistic]:
        """Mean of a number over the scenarios of the small job, and over those of the big one."""
        small, big = (average([of(pair) for pair in days.pairs_of(job)]) for job in (SMALL_JOB, BIG_JOB))
        return small, big

    def time_left(job: str) -> Statistic:
        return days.rivals[job].burst.statistic(lambda day: day.deadline_s - makespan_s(day))

    hibernations = a_day(lambda pair: pair.burst.statistic(lambda day: day.hibernations))
    for name, (small, big), digits, unit in (
        ("small-jobs-time", (time_left(SMALL_JOB), time_left(BIG_JOB)), 0, " s"),
        ("small-jobs-burst", a_day(lambda pair: pair.at_full_speed), 2, ""),
        ("small-jobs-steals", a_day(lambda pair: pair.burst.statistic(lambda day: day.steals)), 1, ""),
    ):
        yield _SAID.judge(
            name,
            small - big,
            f"{small.value:,.{digits}f} and {big.value:,.{digits}f}{unit}",
            more=show((small - big).estimate, digits),
            per_100=" and ".join(
                f"{100 * value.value / days.n_tasks(job):.2f}" for job, value in ((SMALL_JOB, small), (BIG_JOB, big))
            ),
            hibernations=" and ".join(f"{value.value:.1f}" for value in hibernations),
        )


def _close_to_deadline(days: BurstHadsDays) -> Claim:
    """Claim on how late HADS ends, over the days on which some VM with tasks hibernated."""
    found = {}
    for pair in days.pairs.values():
        struck = [makespan_s(day) for day in pair.hads.runs if day.busy_hibernations]
        if struck:
            # HADS has one plan, so all its quiet days are the same.
            end_s = makespan_s(days.rivals[pair.hads.job].hads.runs[0])
            found[_place(pair)] = mean_of([day - end_s for day in struck])
    return _SAID.judge("close-to-deadline", found, lambda cases: f"{spread(cases)} later")


# ---------------------------------------------------------------------------- costs


def _costs(days: BurstHadsDays) -> Iterator[Claim]:
    yield _SAID.judge("cheaper", _less(days, cost_usd, BURST_CHEAPER), tally("cells"))
    yield _SAID.judge("dearer", _less(days, cost_usd, HADS_CHEAPER), tally("cells"))
    # The worst scenario is judged by the cost, as the text names no measure.
    cells = {(policy, *key): pair.of(policy) for policy in _NAMES for key, pair in days.pairs.items()}
    more = {
        f"{policy} {job} {scenario}": cells[policy, job, "sc2"].less(cell, cost_usd)
        for (policy, job, scenario), cell in cells.items()
        if scenario != "sc2"
    }
    yield _SAID.judge("worst-scenario", more, tally("comparisons"))
    fewer = _less(days, lambda day: day.on_demand_started, BURST_CHEAPER)
    yield _SAID.judge("fewer-on-demand", fewer, tally("cells"))
    left = {
        f"{cell.policy} {_place(pair)}": cell.mean(lambda day: day.hibernations - day.resumes)
        for pair in days.pairs_of(scenarios=BURST_CHEAPER)
        for cell in (pair.burst, pair.hads)
    }
    yield _SAID.judge("more-hibernations", left, tally("cells of both schedulers"))
    yield _percentage("hardly-dearer", days.dearer(), 1.92)


def _against_on_demand(days: BurstHadsDays) -> Iterator[Claim]:
    """Claims on the replayed days against the plan on on-demand VMs: cheaper in each cell, by how much, and longer.

    Savings are also counted against that plan if its VMs are only billed to their last task (``to_last_task``).
    """
    pairs = days.pairs.values()
    for policy in _NAMES:
        cheaper = {_place(pair): pair.of(policy).less(days.on_demand(pair.burst.job), cost_usd) for pair in pairs}
        to_last_task = sum(is_above(days.saving(pair.of(policy), "last-task").estimate) == "holds" for pair in pairs)
        yield _SAID.judge(f"{policy}-cheaper-than-on-demand", cheaper, tally("cells"), to_last_task=to_last_task)
    stated = days.stated()
    printed = {(entry.quantity, entry.of): entry.printed for entry in burst_hads_figures().averages}
    for policy in _NAMES:
        for name, cell in ((f"{policy}-saving", ()), (f"{policy}-saving-worst", WORST)):
            key = f"{_field(policy)}_saving_percent", " ".join(cell)
            yield _percentage(name, stated[key], printed[key], _against_printed(days, policy, cell))
    longer = {_place(pair): pair.burst.less(days.on_demand(pair.burst.job), makespan_s) for pair in pairs}
    yield _SAID.judge("longer-than-on-demand", longer, tally("cells"))


# ---------------------------------------------------------------------------- parts of statements


def _against_printed(days: BurstHadsDays, policy: str, cell: Sequence[str]) -> str:
    """Mean costs as percentages of the printed ones, of a cell, or of all if it is empty."""
    figures = burst_hads_figures()
    quiet = {printed.job: printed.on_demand_cost_usd for printed in figures.quiet}
    rows = [row for row in figures.results if not cell or (row.job, row.scenario) == tuple(cell)]

    def percent(ours: Callable[[str, str], Cell], printed: Sequence[float]) -> float:
        costs = [ours(row.job, row.scenario).value(cost_usd) for row in rows]
        return sum(100 * cost / usd for cost, usd in zip(costs, printed, strict=True)) / len(rows)

    mine = percent(
        lambda *key: days.pairs[key].of(policy), [getattr(row, f"{_field(policy)}_cost_usd") for row in rows]
    )
    on_demand = percent(lambda job, _: days.on_demand(job), [quiet[row.job] for row in rows])
    return f"{_NAMES[policy]} costs {mine:.0f} % of what is printed, ILS On-demand {on_demand:.0f} %"


def _less(
    days: BurstHadsDays, metric: Callable[..., float], scenarios: Sequence[str] = SCENARIOS
) -> dict[str, Estimate]:
    """Burst-HADS less HADS in all cells of some scenarios."""
    return {_place(pair): pair.burst.less(pair.hads, metric) for pair in days.pairs_of(scenarios=scenarios)}


def _near(label: str, ours: Statistic, printed: float) -> Case:
    return about(label, ours, 1, "%", value=printed, points=ABOUT.points)


def _percentage(name: str, ours: Statistic, printed: float, costs: str = "") -> Claim:
    """Judge a percentage; `off` is how far it is from what is printed."""
    points = ours.value - printed
    off = f"{abs(points):.1f} points {'more' if points > 0 else 'less'} than printed"
    return _SAID.judge(name, ours, numbers, off=off, costs=costs)


def _field(policy: str) -> str:
    """Name of a policy in names of quantities."""
    return policy.replace("-", "_")


def _place(pair: Pair) -> str:
    return f"{pair.burst.job} {pair.burst.scenario}"
