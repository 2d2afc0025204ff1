"""The HADS paper: what its on-demand baseline is, what VMs do in their first cycle, what is fitted, what is assumed."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import pytest

from spotbag.instances.library import library_instance
from spotbag.replay.bags.policies import named_policy
from spotbag.replay.bags.runs import replay_day, trace_day
from spotbag.schedules.schedule import Schedule
from spotbag_papers.bags.hads.claims import _distance, range_of_three
from spotbag_papers.bags.hads.paper import AS_READ, BY_ALGORITHM_1
from spotbag_papers.bags.hads.paper import PAPER as HADS
from spotbag_papers.bags.hads.runs import (
    FirstCycle,
    HadsDays,
    HadsOptions,
    first_cycle,
    on_demand_rate_usd,
    price_difference_percent,
    spot_offers,
)
from spotbag_papers.bags.paper_days import (
    ENVIRONMENTS,
    Cell,
    cost_usd,
    hads_figures,
    library_job,
    make_plan,
    none_late,
    on_demand_market,
    vms_of,
)
from spotbag_papers.claims import Claim, count_verdicts
from spotbag_papers.paper import compare
from spotbag_papers.paper_tables import PublishedComparisonResult
from spotbag_papers.statistics import Statistic, mean_of, percent_more
from tests.helpers.paper_results import compared, demand_judged_claims, replayed
from tests.helpers.tiny_days import bag, day, plan, vm_type

pytestmark = pytest.mark.xdist_group("published")  # one process: they share a result that takes long


@pytest.fixture(scope="module")
def days() -> HadsDays:
    return replayed(HADS, HadsOptions(runs=2))


@pytest.fixture(scope="module")
def result(days: HadsDays) -> PublishedComparisonResult:
    return compared(HADS, days.options)


# ---------------------------------------------------------------------------- the on-demand baseline


@pytest.mark.slow
def test_on_demand_vms_have_a_plan_of_their_own_and_are_paid_to_the_ends_of_their_cycles(days: HadsDays) -> None:
    """It was the plan for spot VMs, moved, and paid to the last tasks."""
    instance, _ = library_job("hads", "J60", 1208, "printed")
    own = make_plan(on_demand_market(instance), "greedy")
    assert {instance.offers[index].market for index in own.vm_offer.tolist()} == {"on-demand"}
    assert days.on_demand_usd("J60", plan="own") == replay_day(own, "on-demand").cost_usd
    assert days.on_demand_usd("J60", "last-task", "own") == replay_day(own, "on-demand+last-task").cost_usd
    assert days.on_demand_usd("J60", "last-task", "own") == pytest.approx(own.cost_usd)  # a VM ends with its last task
    assert days.on_demand_usd("J60", plan="own") > days.on_demand_usd("J60", "last-task", "own")


def test_the_plan_of_on_demand_vms_does_not_depend_on_d_spot() -> None:
    instance = library_instance("hads/J80")
    early, late = (
        make_plan(on_demand_market(instance.replace(d_spot_s=d_spot_s)), "greedy") for d_spot_s in (300, 2000)
    )
    assert early.task_vm.tolist() == late.task_vm.tolist()
    assert early.cost_usd == late.cost_usd


def test_savings_are_against_the_baseline_that_was_chosen(days: HadsDays) -> None:
    schedule = make_plan(library_job("hads", "J60", 1208, "printed")[0], "greedy")
    chosen = [
        days.options,
        replace(days.options, baseline="last-task"),
        replace(days.options, baseline_plan="own"),
    ]
    prices = [replace(days, options=options).on_demand_usd("J60") for options in chosen]
    assert prices[0] == replay_day(schedule, "on-demand").cost_usd
    assert len(set(prices)) == 3
    cost = sum(days.cells["J60", "sc1"].values(cost_usd)) / 2
    for options, price in zip(chosen, prices, strict=True):
        judged = replace(days, options=options)
        assert judged.saving_percent("J60", "sc1").value == pytest.approx(100 * (1 - cost / price))


def test_the_printed_baseline_of_j80_is_that_of_all_vms_to_the_end() -> None:
    """Six of the eight VMs are paid by the same second: 2 c3.large, 1 c3.xlarge, 3 c4.large, 2 c4.xlarge."""
    [printed] = [row for row in hads_figures().baselines if row.job == "J80"]
    instance = library_instance("hads/J80")
    rate = on_demand_rate_usd(instance, spot_offers(instance, printed.vms))
    assert 3600 * rate == pytest.approx(2 * 0.105 + 0.21 + 3 * 0.1 + 2 * 0.199)
    assert rate * printed.makespan_s == pytest.approx(printed.on_demand_usd, abs=0.005)
    assert price_difference_percent(instance, spot_offers(instance, {"c3.large": 1})) == pytest.approx(
        100 * (1 - 0.0294 / 0.105)
    )


# ---------------------------------------------------------------------------- Fig. 13


def two_vms(**fields: object) -> Schedule:
    """One task on a, four in turn on b; a cycle of 150 s ends after the first of b and within the second."""
    tasks = {name: {"a": 100, "b": 100} for name in ("t", "u", "v", "w", "x")}
    instance = bag(tasks, [vm_type("a"), vm_type("b")], deadline_s=1000, **fields)
    places = {"t": (0, 0, 0), "u": (1, 0, 0), "v": (1, 0, 100), "w": (1, 0, 200), "x": (1, 0, 300)}
    return plan(instance, ["a spot", "b spot"], places)


def test_a_vm_that_is_done_in_its_first_cycle_steals() -> None:
    """a is done at 100 s and steals w and x, to start at 200 and 300 s; b is done at 200 s, after its first cycle."""
    trace = trace_day(two_vms(allocation_cycle_s=150), "hads")[1]
    assert first_cycle(trace, 150) == FirstCycle(
        thieves=1,
        once_at_first=1,
        done=1,
        done_thieves=1,
        stolen=Counter({"a": 2, "b": 0}),
        vms=Counter({"a": 1, "b": 1}),
    )


def test_the_first_cycle_stands_still_while_a_vm_hibernates() -> None:
    """a hibernates from 20 to 90 s: done at 170 s, after 100 s of uptime; x may be stolen then."""
    schedule = two_vms(allocation_cycle_s=150)
    found = first_cycle(trace_day(schedule, "hads", day(a=[20, 90]))[1], 150)
    assert (found.done, found.done_thieves, found.thieves) == (1, 1, 1)
    without = first_cycle(trace_day(schedule, "hads", day(a=[20, 90]))[1], 90)
    assert (without.done, without.once_at_first, without.thieves) == (0, 0, 1)


def test_a_vm_whose_tasks_were_migrated_has_not_done_them() -> None:
    """It resumes long after that, and idle: an attempt to steal, but its planned task ended elsewhere."""
    schedule = two_vms(allocation_cycle_s=150, d_spot_s=900)
    trace = trace_day(schedule, "hads", day(a=[20, 990]))[1]
    assert any(event["event"] == "migrate" and event["from"] == "a-spot-1" for event in trace.events)
    assert first_cycle(trace, 150).done == 0


# ---------------------------------------------------------------------------- verdicts


def test_every_claim_and_finding_has_short_numbers(result: PublishedComparisonResult) -> None:
    demand_judged_claims(result, 52)
    for claim in (*result.claims, *result.findings):
        assert len(claim.ours) <= 45, claim.ours
        assert len(claim.printed) <= 45, claim.printed
    assert all(claim.source for claim in result.claims)
    assert not any(claim.source for claim in result.findings)


def test_makespans_that_d_spot_was_fitted_to_are_no_test(result: PublishedComparisonResult) -> None:
    [fitted] = [claim for claim in result.claims if claim.fitted]
    assert fitted.statement.startswith("without hibernation, J100 and ED200 end when printed")
    assert count_verdicts(result.claims).total() == len(result.claims) - 3  # and two of busy VMs, by definition


@pytest.mark.slow
@pytest.mark.parametrize("compared_name", [AS_READ, BY_ALGORITHM_1])
def test_all_assumptions_judge_the_same_statements(result: PublishedComparisonResult, compared_name: str) -> None:
    """The table of sensitivity compares verdicts one by one."""
    few = HadsOptions(1)
    names = [setting.name for setting in HADS.settings(few)]
    assert {AS_READ, BY_ALGORITHM_1} <= set(names)
    for setting in HADS.settings(few):
        named_policy(setting.options.policy)
        if setting.name == compared_name:
            other = compare(HADS, setting.options)
            assert [claim.statement for claim in other.claims] == [claim.statement for claim in result.claims]
            assert {column: text(other) for column, text in HADS.columns.items()}.keys()
            assert any(claim.fitted for claim in other.claims) == (setting.name == AS_READ)


@pytest.mark.slow
def test_another_rule_of_the_scheduler_is_replayed(days: HadsDays) -> None:
    read = HADS.replay(HadsOptions(1, policy="hads+spare-time-spot"), lambda done, label: None)
    costs = [found.cells["ED200", "sc2"].values(cost_usd) for found in (days, read)]
    assert costs[0][0] != costs[1][0]
    assert {row.policy for row in HADS.rows(read) if row.table == "Table 10"} == {"hads"}


def test_the_boot_of_vms_is_an_assumption(days: HadsDays, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spotbag_papers.bags.hads.runs.SCENARIOS", ("sc1",))  # days without interruptions are looked at
    monkeypatch.setattr("spotbag_papers.bags.hads.runs.SWEEP_K_R", ())
    late = HADS.replay(HadsOptions(1, boot_s=180), lambda done, label: None)
    for job, found in late.baselines.items():
        assert found.schedule.instance.boot_overhead_s == 180
        assert all(bill.ready_s == 180 for bill in found.static.bills)
        assert all(bill.ready_s == 0 for bill in days.baselines[job].static.bills)


def test_the_printed_baseline_stands_beside_the_same_plan_only(result: PublishedComparisonResult) -> None:
    """The on-demand baseline of the paper carries out the plan of HADS; it stood beside a plan of its own, too."""
    printed = {
        row.policy
        for row in result.rows
        if row.table == "Table 9" and row.policy.startswith("on-demand") and row.printed is not None
    }
    assert printed == {"on-demand, same plan"}


def statement_of(result: PublishedComparisonResult, beginning: str) -> Claim:
    [claim] = [claim for claim in result.claims if claim.statement.startswith(beginning)]
    return claim


@pytest.fixture(scope="module")
def one_day(days: HadsDays) -> PublishedComparisonResult:
    """The first day of each cell: no intervals, so every number decides."""
    first = replace(
        days,
        cells={key: replace(cell, runs=cell.runs[:1]) for key, cell in days.cells.items()},
        first_cycles=days.first_cycles[:1],
    )
    return compare(replace(HADS, replay=lambda options, on_runs: first), days.options)


def test_why_less_is_saved_is_computed_from_the_cells_that_fail(
    days: HadsDays, one_day: PublishedComparisonResult
) -> None:
    """The same reason stood everywhere: more hibernations than printed, each with more new on-demand VMs."""
    claim = statement_of(one_day, "sc3: against the same plan on demand, every job saves more than 60 %")
    prices = {row.job: row.on_demand_usd for row in hads_figures().baselines}
    printed = {row.job: row for row in hads_figures().results if row.scenario == "sc3"}
    failing = [job for job in days.jobs if f"{job} sc3" in claim.reason]
    assert failing
    percents = [100 * days.on_demand_usd(job) / prices[job] for job in failing]
    numbers = dict.fromkeys([f"{min(percents):.0f}", f"{max(percents):.0f}"])
    assert f"our on-demand VMs cost {' to '.join(numbers)} % of the printed ones" in claim.reason
    first = {job: days.cells[job, "sc3"].runs[0] for job in failing}
    assert ("hibernate more often" in claim.reason) == any(
        first[job].hibernations > printed[job].hibernations for job in failing
    )
    assert ("starts more on-demand VMs" in claim.reason) == any(
        first[job].on_demand_started * printed[job].hibernations
        > printed[job].on_demand_started * first[job].hibernations
        for job in failing
    )


@pytest.mark.parametrize(
    ("beginning", "job", "scenario", "printed"),
    [
        ("sc1: against the same plan on demand, J80", "J80", "sc1", 46.82),
        ("sc2: against the same", "ED200", "sc2", 32.99),
    ],
)
def test_a_number_of_the_text_does_not_hold_because_less_is_saved(
    days: HadsDays, beginning: str, job: str, scenario: str, printed: float
) -> None:
    """It is less than 50 %, and no more than the largest: so it held, however little was saved."""
    verdicts = []
    for saving in (printed - 1, printed - 20):
        costs = {name: (1 - saving / 100) * days.on_demand_usd(name) for name in days.jobs}
        cells = {
            key: replace(cell, runs=tuple(replace(day, cost_usd=costs[key[0]]) for day in cell.runs))
            for key, cell in days.cells.items()
        }
        found = HADS.claims(replace(days, cells=cells))
        [claim] = [claim for claim in found if claim.statement.startswith(beginning)]
        verdicts.append(claim.verdict)
    assert verdicts == ["holds", "does not hold"]


def test_cpu_time_saved_in_sc1_is_judged_by_its_number(days: HadsDays, one_day: PublishedComparisonResult) -> None:
    claim = statement_of(one_day, "sc1: the CPU time")
    saved = days.cells["ED200", "sc1"].runs[0].cpu_time_saved_s
    assert not 0.9 * 220 < saved < 1.1 * 220
    assert claim.verdict == "not decided"
    assert claim.why.startswith("not so here, but that rests on three runs")


def test_spot_vms_that_never_steal_do_not_steal_once(days: HadsDays, one_day: PublishedComparisonResult) -> None:
    """Of the VMs that stole, there were none, and so nothing was decided."""
    claim = statement_of(one_day, "sc2: a c4.large begins")
    assert days.first_cycles[0].thieves == 0
    assert claim.verdict == "does not hold"
    assert "steal once at first 0.0 %" in claim.reason
    assert claim.ours.endswith(f"; 0 of {days.first_cycles[0].vms.total()} VMs")


def test_a_cost_relative_to_another_has_no_interval_if_it_is_the_same_share_on_all_days() -> None:
    """The mean that it was divided by was taken as exact."""
    more = percent_more(mean_of([1.1, 2.2, 4.4]), mean_of([1.0, 2.0, 4.0]))
    assert more is not None
    assert more.value == pytest.approx(10)
    assert more.estimate.half_width == pytest.approx(0, abs=1e-9)


# ---------------------------------------------------------------------------- findings


def test_where_the_mean_of_three_runs_is_to_be_expected() -> None:
    """Of 0 and 2: mean 1, deviation 1.414, t of one degree of freedom 12.706; 1.414 * 12.706 * sqrt(1/3 + 1/2)."""
    assert range_of_three([0.0, 2.0]) == pytest.approx((1 - 16.403, 1 + 16.403), abs=0.001)
    assert range_of_three([5.0, 5.0, 5.0]) == (5.0, 5.0)
    assert range_of_three([3.0]) == (-math.inf, math.inf)


# ---------------------------------------------------------------------------- environments


def test_an_environment_limits_the_vms_of_a_job() -> None:
    printed, few, env_json = (library_job("hads", "ED200", 1887, "printed", name)[0] for name in ENVIRONMENTS)
    assert {offer.limit for offer in printed.offers} == {5}
    assert {offer.limit for offer in few.offers} == {3}
    limits = {(offer.vm_type.name, offer.limit) for offer in env_json.offers if offer.limit}
    assert limits == {("c3.large", 3), ("c3.xlarge", 3), ("c4.large", 3)}
    assert printed.limits == few.limits
    assert (env_json.limits.max_spot, env_json.limits.max_on_demand) == (10, 10)
    plans = [vms_of(make_plan(instance, "greedy")) for instance in (printed, few, env_json)]
    assert max(plans[1].values()) <= 3
    assert sum(plans[2].values()) <= 10


def test_burstable_vms_of_an_environment_earn_what_it_says() -> None:
    found = []
    for name in ENVIRONMENTS:
        instance, _ = library_job("burst-hads", "J60", 2290, "printed", name)
        [t3] = [vm_type for vm_type in instance.vm_types if vm_type.burstable is not None]
        assert t3.burstable is not None
        found.append((t3.vcpus, t3.burstable.baseline_fraction, t3.burstable.credits_per_hour))
    assert found == [(2, 0.2, 24), (2, 0.3, 36), (4, 0.3, 96)]


def test_so_few_late_runs_may_be_chance_or_not() -> None:
    def cell(n_late: int) -> Cell:
        day = replay_day(two_vms(), "hads")
        runs = [replace(day, makespan_s=day.deadline_s + 1, late_tasks=1)] * n_late + [day] * (10 - n_late)
        return Cell(tuple(runs), "j", "s", "hads")

    assert (none_late([cell(0)]).verdict, none_late([cell(0)]).ours) == ("holds", "probability 1.00")
    # 0.7^3 = 0.343, and twice that is 0.118; with half of the days late, 0.125 and 0.0156.
    assert none_late([cell(3), cell(3)]).ours == "probability 0.12"
    assert none_late([cell(5), cell(5)]).verdict == "does not hold"


def test_a_distance_from_a_price_is_the_same_on_both_sides_of_it() -> None:
    above, below = (_distance(Statistic(value, (0.5, -0.5)), 2.0) for value in (2.5, 1.5))
    assert (above.value, above.influence) == (0.5, (0.5, -0.5))
    assert (below.value, below.influence) == (0.5, (-0.5, 0.5))
