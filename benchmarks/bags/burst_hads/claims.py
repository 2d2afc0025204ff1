"""Claims of the Burst-HADS paper about its results, judged on replayed days."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from ....core.statistics import Estimate, Statistic, average, mean_of, ratio_of
from ...claims import Claim, Verdict, is_above, is_below, is_within, judged, show, tally
from ..paper_days import Cell, cost_usd, makespan_s
from ..printed import burst_hads_figures
from .runs import SCENARIOS, WORST, BurstHadsDays, BurstPlan, Pair

BURST_CHEAPER = ("sc2", "sc5")
HADS_CHEAPER = ("sc1", "sc3", "sc4")

POINTS = 5.0
"""A printed percentage holds if ours is within so many percentage points of it."""

CLOSE_TO_DEADLINE_S = 2332
"""The least makespan of HADS that Table VI prints; the deadline is 2,700 s."""

SMALL_JOB, BIG_JOB = "J60", "ED200"
"""The jobs that the text compares."""

SEE_SENSITIVITY = "the section on sensitivity takes the difference apart"

_NAMES = {"burst-hads": "Burst-HADS", "hads": "HADS"}


def burst_hads_claims(days: BurstHadsDays) -> Iterator[Claim]:
    """Judge the statements of section IV in their order, then those of the conclusion and the abstract."""
    yield from _quiet(days)
    yield from _quiet_on_demand(days)
    yield from _shorter(days)
    yield from _small_jobs(days)
    yield _hads_close(days)
    yield from _cheaper(days)
    yield _sc2_is_the_worst(days)
    yield from _sc2_and_sc5(days)
    yield _hardly_dearer(days)
    yield from _against_on_demand(days)
    yield _longer_than_on_demand(days)
    yield from _no_miss(days)


def burst_hads_findings(days: BurstHadsDays) -> Iterator[Claim]:
    """Judge questions beyond the paper."""
    for policy, name in _NAMES.items():
        saving = days.mean_saving(policy, "last-task").estimate
        yield Claim(
            f"{name} is cheaper on average than on-demand VMs that end with their last tasks",
            is_above(saving),
            f"{show(saving, 1)} %",
        )
    found = _cells(days, lambda pair: _below(pair.burst.mean(makespan_s), CLOSE_TO_DEADLINE_S, 0, " s"))
    yield judged(
        f"Burst-HADS ends before {CLOSE_TO_DEADLINE_S:,} s, far from the deadline", found, tally(found, "cells")
    )


# ---------------------------------------------------------------------------- without hibernation


def _quiet(days: BurstHadsDays) -> Iterator[Claim]:
    stated = days.stated()
    for quantity, does, difference, why, fitted in (
        (
            "quiet_makespan_reduction_percent",
            "ends before HADS",
            "its makespan is below that of HADS",
            "the longest task at the baseline sets the makespan of most plans of the search (note 2)",
            True,
        ),
        (
            "quiet_cost_increase_percent",
            "costs more than HADS",
            "its cost is above that of HADS",
            "the search rents many VMs, and pays for them to the ends of their cycles (note 1)",
            False,
        ),
    ):
        found, near, numbers = [], [], []
        for entry in burst_hads_figures().averages:
            if entry.quantity == quantity:
                ours = stated[quantity, entry.of].estimate
                text = f"{entry.of} {show(ours, 1)} %"
                found.append((text, is_above(ours)))
                near.append((text, _is_near(stated[quantity, entry.of], entry.printed)))
                numbers.append((entry.printed, ours.mean or 0.0))
        printed, ours_of_all = zip(*numbers, strict=True)
        yield judged(
            f"without hibernation, Burst-HADS {does}, for every job",
            found,
            tally(found, "jobs"),
            source="Table IV",
            printed="4 of 4",
            fitted=fitted,
        )
        yield judged(
            f"Burst-HADS without hibernation: {difference} by the printed percentages (each within {POINTS:g} points)",
            near,
            f"{_range(ours_of_all, 1)} %",
            why,
            source="section IV",
            printed=f"{_range(printed, 1)} %",
            fitted=fitted,
        )
    found = []
    for job, rivals in days.rivals.items():
        # HADS carries out the greedy's plan, so the search is compared with that.
        greedy = sum(next(plan.vms for plan in rivals.plans if plan.method == "greedy").values())
        more = mean_of([plan.vms - greedy for plan in rivals.burst_plans]).estimate
        burstable = min(plan.burstable_vms for plan in rivals.burst_plans)
        found.append((f"{job} {show(more, 1)} VMs", is_above(more) if burstable else "does not hold"))
    burst_vms = [plan.vms for rivals in days.rivals.values() for plan in rivals.burst_plans]
    greedy_vms = [sum(plan.vms.values()) for rivals in days.rivals.values() for plan in rivals.plans[1:2]]
    yield judged(
        "the search rents more VMs than HADS, some of them burstable",
        found,
        f"{_range(burst_vms)} against {_range(greedy_vms)}",
        source="section IV",
    )


def _quiet_on_demand(days: BurstHadsDays) -> Iterator[Claim]:
    stated = days.stated()
    saving = stated["quiet_saving_percent", ""]
    yield _percentage(
        "without hibernation, Burst-HADS saves more than 52 % against ILS On-demand on average",
        saving,
        is_above(saving.estimate, 52.0),
        52.0,
        "section IV, Table IV",
        "Table IV has the costs of both beside the printed ones (notes 1 and 3)",
        "> ",
    )
    longer = stated["quiet_makespan_increase_percent", ""]
    yield _percentage(
        f"without hibernation, Burst-HADS takes 15 % longer than ILS On-demand on average (within {POINTS:g} points)",
        longer,
        _is_near(longer, 15.0),
        15.0,
        "section IV, Table IV",
        "notes 2 and 3",
    )
    found = []
    shares = []
    for job, rivals in days.rivals.items():
        on_demand = days.on_demand(job).values(makespan_s)
        pairs = list(zip(rivals.burst_plans, on_demand, strict=True))
        share = ratio_of([_held_up_s(plan) for plan, _ in pairs], [plan.makespan_s - end for plan, end in pairs], 100.0)
        if share is not None:
            shares.append(share.value)
            found.append((f"{job} {show(share.estimate, 0)} %", is_above(share.estimate, 50.0)))
    yield judged(
        "Burst-HADS takes longer as burstable VMs run tasks at the baseline (over half of the difference, every job)",
        found,
        f"{_range(shares, 0)} %",
        source="section IV",
    )


def _held_up_s(plan: BurstPlan) -> int:
    """Seconds by which burstable VMs make a plan longer."""
    return plan.makespan_s - plan.regular_makespan_s


# ---------------------------------------------------------------------------- with hibernation


def _shorter(days: BurstHadsDays) -> Iterator[Claim]:
    found = _cells(days, lambda pair: _below(pair.burst.less(pair.hads, makespan_s), 0, 0, " s"))
    yield judged(
        "Burst-HADS ends before HADS in every cell", found, tally(found, "cells"), source="Table VI", printed="20 of 20"
    )
    shorter = days.shorter()
    yield _percentage(
        "Burst-HADS shortens the makespan by more than 25 % on average",
        shorter,
        is_above(shorter.estimate, 25.0),
        25.87,
        "sections IV and V",
    )


def _small_jobs(days: BurstHadsDays) -> Iterator[Claim]:
    small, big = (days.shorter(job) for job in (SMALL_JOB, BIG_JOB))
    more = (small - big).estimate
    yield judged(
        f"small jobs gain more: Burst-HADS shortens the makespan of {SMALL_JOB} by more than that of {BIG_JOB}",
        [(f"{show(more, 1)} points", is_above(more))],
        f"by {show(more, 1)} points",
        source="section IV, Table VI",
        printed="by 29.9 points",
    )
    quiet = [days.stated()["quiet_makespan_reduction_percent", job].value for job in (SMALL_JOB, BIG_JOB)]
    near = [
        (f"{job} {show(ours.estimate, 1)} %", _is_near(ours, printed))
        for job, ours, printed in ((SMALL_JOB, small, 40.1), (BIG_JOB, big, 10.24))
    ]
    yield judged(
        f"Burst-HADS shortens the makespan by 40.1 % for {SMALL_JOB}, 10.24 % for {BIG_JOB} (within {POINTS:g} points)",
        near,
        f"{small.value:.1f} and {big.value:.1f} %",
        f"without hibernation, they are {quiet[0]:.1f} and {quiet[1]:.1f} % (statement 2, note 2)",
        source="section IV",
        printed="40.1 and 10.2 %",
    )

    def compared(
        statement: str, of: Callable[[str], Statistic], digits: int, unit: str = "", printed: str = "", why: str = ""
    ) -> Claim:
        mine, its = of(SMALL_JOB), of(BIG_JOB)
        more = (mine - its).estimate
        verdict = is_above(more)
        return Claim(
            statement,
            verdict,
            f"{mine.value:,.{digits}f} and {its.value:,.{digits}f}{unit}",
            "" if verdict == "holds" else f"the difference is {show(more, digits)}{unit}{why}",
            "section IV",
            printed,
        )

    def per_100_tasks(of: Callable[[str], Statistic]) -> str:
        values = (100 * of(job).value / days.n_tasks(job) for job in (SMALL_JOB, BIG_JOB))
        return "; for 100 tasks: " + " and ".join(f"{value:.2f}" for value in values)

    def hibernations(job: str) -> Statistic:
        return average([pair.burst.statistic(lambda day: day.hibernations) for pair in days.pairs_of(job)])

    cause = (
        f"; hibernations, a day: {hibernations(SMALL_JOB).value:.1f} and {hibernations(BIG_JOB).value:.1f}: "
        "with more of them, there are more tasks to migrate and to steal"
    )

    def at_full_speed(job: str) -> Statistic:
        return average([pair.at_full_speed for pair in days.pairs_of(job)])

    def steals(job: str) -> Statistic:
        return average([pair.burst.statistic(lambda day: day.steals) for pair in days.pairs_of(job)])

    yield compared(
        f"the plan of {SMALL_JOB} leaves more time until the deadline than that of {BIG_JOB}",
        lambda job: days.rivals[job].burst.statistic(lambda day: day.deadline_s - makespan_s(day)),
        0,
        " s",
        "1,426 and 425 s",
    )
    yield compared(
        f"{SMALL_JOB} gains more from burst mode than {BIG_JOB} (tasks migrated to run at full speed, a day)",
        at_full_speed,
        2,
        why=per_100_tasks(at_full_speed) + cause,
    )
    yield compared(
        f"{SMALL_JOB} steals more often than {BIG_JOB} (steals that took a task, a day)",
        steals,
        1,
        why=per_100_tasks(steals) + cause,
    )


def _hads_close(days: BurstHadsDays) -> Claim:
    """Over the days on which some VM with tasks hibernated."""
    found, means = [], []
    for (job, scenario), pair in days.pairs.items():
        struck = [makespan_s(day) for day in pair.hads.runs if day.busy_hibernations]
        if struck:
            mean = mean_of(struck).estimate
            means.append(mean.mean or 0.0)
            found.append((f"{job} {scenario} {show(mean, 0)} s", is_above(mean, CLOSE_TO_DEADLINE_S - 1)))
    quiet = [rivals.hads.mean(makespan_s).mean or 0.0 for rivals in days.rivals.values()]
    return judged(
        f"HADS ends close to the deadline once VMs hibernate ({CLOSE_TO_DEADLINE_S:,} s or later, in every cell)",
        found,
        f"{_range(means, 0)} s",
        f"without hibernation, HADS ends at {_range(quiet)} s (Table IV), and a hibernation need "
        "not delay its last task; at the trigger, tasks go to several on-demand VMs (Table VI)",
        source="section IV, Table VI",
        printed="2,332 to 2,690 s",
    )


def _cheaper(days: BurstHadsDays) -> Iterator[Claim]:
    for word, scenarios, reason in (
        ("cheaper", BURST_CHEAPER, SEE_SENSITIVITY),
        ("dearer", HADS_CHEAPER, ""),
    ):
        found: list[tuple[str, Verdict]] = []
        for pair in days.pairs_of(scenarios=scenarios):
            less = pair.burst.less(pair.hads, cost_usd)
            verdict = is_below(less) if word == "cheaper" else is_above(less)
            found.append((f"{_place(pair.burst)} $ {show(less, 3)}", verdict))
        yield judged(
            f"Burst-HADS is {word} than HADS for every job in {', '.join(scenarios)}",
            found,
            tally(found, "cells"),
            reason,
            source="section IV, Table VI" if word == "cheaper" else "Table VI",
            printed=f"{len(found)} of {len(found)}",
        )


def _sc2_is_the_worst(days: BurstHadsDays) -> Claim:
    """By the cost, as the text names none."""
    found: list[tuple[str, Verdict]] = []
    worst_printed = 0
    printed = {(row.job, row.scenario): row for row in burst_hads_figures().results}
    for policy in _NAMES:
        for job in days.jobs:
            cells = {pair.burst.scenario: _of(pair, policy) for pair in days.pairs_of(job)}
            others = [
                (scenario, cells["sc2"].less(cells[scenario], cost_usd)) for scenario in SCENARIOS if scenario != "sc2"
            ]
            found += [(f"{policy} {job} {scenario} $ {show(more, 3)}", is_above(more)) for scenario, more in others]
            costs = {
                scenario: getattr(printed[job, scenario], f"{policy.replace('-', '_')}_cost_usd")
                for scenario in SCENARIOS
            }
            worst_printed += sum(costs["sc2"] > costs[scenario] for scenario, _ in others)
    return judged(
        "sc2 is the worst scenario (here: it costs more than each other one, under both schedulers)",
        found,
        tally(found, "comparisons"),
        source="section IV",
        printed=f"{worst_printed} of {len(found)}",
    )


def _sc2_and_sc5(days: BurstHadsDays) -> Iterator[Claim]:
    pairs = days.pairs_of(scenarios=BURST_CHEAPER)
    fewer = []
    for pair in pairs:
        less = pair.burst.less(pair.hads, lambda day: day.on_demand_started)
        fewer.append((f"{_place(pair.burst)} {show(less, 2)} VMs", is_below(less)))
    yield judged(
        "in sc2 and sc5, Burst-HADS starts fewer regular on-demand VMs than HADS, for every job",
        fewer,
        tally(fewer, "cells"),
        source="section IV, Table VI",
        printed="8 of 8",
    )
    more = []
    for cell in (cell for pair in pairs for cell in (pair.burst, pair.hads)):
        left = cell.mean(lambda day: day.hibernations - day.resumes)
        more.append((f"{cell.policy} {_place(cell)} {show(left, 2)}", is_above(left)))
    yield judged(
        "in sc2 and sc5, more VMs hibernate than resume, for every job",
        more,
        tally(more, "cells of both schedulers"),
        source="section IV, Table VI",
        printed="8 of 8",
    )


def _hardly_dearer(days: BurstHadsDays) -> Claim:
    dearer = days.dearer()
    return _percentage(
        f"Burst-HADS costs only 1.92 % more than HADS on average (here: less than {1.92 + POINTS:g} %)",
        dearer,
        is_below(dearer.estimate, 1.92 + POINTS),
        1.92,
        "section V, Table VI",
        "section IV calls it an increase of the makespan, section V of the cost; " + SEE_SENSITIVITY,
    )


# ---------------------------------------------------------------------------- against on-demand VMs


def _against_on_demand(days: BurstHadsDays) -> Iterator[Claim]:
    for policy, name in _NAMES.items():
        found = _cells(
            days,
            lambda pair, policy=policy: _below(  # type: ignore[misc]
                _of(pair, policy).less(days.on_demand(pair.burst.job), cost_usd), 0, 3, "", "$ "
            ),
        )
        yield judged(
            f"{name} is cheaper than ILS On-demand in every cell",
            found,
            tally(found, "cells"),
            source="sections IV and V" if policy == "burst-hads" else "section IV",
            printed="20 of 20",
        )
    stated = days.stated()
    for policy, name in _NAMES.items():
        quantity = f"{policy.replace('-', '_')}_saving_percent"
        for of, where in (("", "on average"), (" ".join(WORST), f"for {WORST[0]} in {WORST[1]}")):
            [printed] = [
                entry.printed for entry in burst_hads_figures().averages if (entry.quantity, entry.of) == (quantity, of)
            ]
            saving = stated[quantity, of]
            yield _percentage(
                f"{name} saves {printed:g} % against ILS On-demand {where} (within {POINTS:g} points)",
                saving,
                _is_near(saving, printed),
                printed,
                "section IV",
                f"{_against_printed(days, policy, WORST if of else ())} (Table VI, note 3)",
            )


def _longer_than_on_demand(days: BurstHadsDays) -> Claim:
    found = []
    for pair in days.pairs.values():
        more = pair.burst.less(days.on_demand(pair.burst.job), makespan_s)
        found.append((f"{_place(pair.burst)} {show(more, 0)} s", is_above(more)))
    return judged(
        "Burst-HADS takes longer than ILS On-demand in every cell",
        found,
        tally(found, "cells"),
        source="section V",
        printed="20 of 20",
    )


def _no_miss(days: BurstHadsDays) -> Iterator[Claim]:
    sources = {"burst-hads": "abstract, Table VI", "hads": "section I, Table VI"}
    for policy, misses in days.misses.items():
        yield Claim(
            f"{_NAMES[policy]} meets the deadline in every run",
            misses.verdict,
            f"{len(misses.late_s)} of {misses.days:,} days late",
            f"{misses}; {misses.why()}" if misses.late_s else misses.why(),
            sources[policy],
            "none late",
        )


# ---------------------------------------------------------------------------- parts of statements


def _against_printed(days: BurstHadsDays, policy: str, cell: Collection[str]) -> str:
    """Mean costs as percentages of the printed ones, of a cell, or of all if it is empty."""
    figures = burst_hads_figures()
    quiet = {printed.job: printed.on_demand_cost_usd for printed in figures.quiet}

    def percent(ours: Cell, printed: float) -> float:
        return 100 * (ours.mean(cost_usd).mean or 0.0) / printed

    rows = [row for row in figures.results if not cell or (row.job, row.scenario) == tuple(cell)]
    mine = [
        percent(_of(days.pairs[row.job, row.scenario], policy), getattr(row, f"{policy.replace('-', '_')}_cost_usd"))
        for row in rows
    ]
    on_demand = [percent(days.on_demand(row.job), quiet[row.job]) for row in rows]
    means = [sum(values) / len(values) for values in (mine, on_demand)]
    return f"{_NAMES[policy]} costs {means[0]:.0f} % of what is printed, ILS On-demand {means[1]:.0f} %"


def _cells(days: BurstHadsDays, judge: Callable[[Pair], tuple[str, Verdict]]) -> list[tuple[str, Verdict]]:
    """Judge every cell."""
    found = []
    for pair in days.pairs.values():
        text, verdict = judge(pair)
        found.append((f"{_place(pair.burst)} {text}", verdict))
    return found


def _of(pair: Pair, policy: str) -> Cell:
    return pair.burst if policy == "burst-hads" else pair.hads


def _place(cell: Cell) -> str:
    return f"{cell.job} {cell.scenario}"


def _below(less: Estimate, limit: float, digits: int, unit: str, sign: str = "") -> tuple[str, Verdict]:
    """A mean in words, and whether it is below a limit."""
    return f"{sign}{show(less, digits)}{unit}", is_below(less, limit)


def _is_near(ours: Statistic, printed: float) -> Verdict:
    return is_within(ours.estimate, printed - POINTS, printed + POINTS)


def _percentage(
    statement: str, ours: Statistic, verdict: Verdict, printed: float, source: str, why: str = "", relation: str = ""
) -> Claim:
    """Make a claim that a percentage decides; one that does not hold says how far it is from the printed one."""
    points = ours.value - printed
    reason = f"{abs(points):.1f} points {'more' if points > 0 else 'less'} than printed" + (f"; {why}" if why else "")
    return Claim(
        statement,
        verdict,
        f"{show(ours.estimate, 1)} %",
        "" if verdict == "holds" else reason,
        source,
        f"{relation}{printed:g} %",
    )


def _range(numbers: Sequence[float], digits: int = 0) -> str:
    """The least and the largest of some numbers, as ``1 to 2``."""
    low, high = (f"{number:,.{digits}f}" for number in (min(numbers), max(numbers)))
    return low if low == high else f"{low} to {high}"
