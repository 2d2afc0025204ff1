"""The paper on Burst-HADS: printed numbers, plans and days, intervals, statements."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from spotbag.core.statistics import estimate
from spotbag.instances.library import library_instance
from spotbag.replay.bags.runs import replay_day
from spotbag_papers.bags.burst_hads.paper import PAPER as BURST_HADS
from spotbag_papers.bags.burst_hads.paper import burst_hads_facts, difference_table
from spotbag_papers.bags.burst_hads.runs import (
    ALL,
    BOTH,
    SCENARIOS,
    BurstHadsDays,
    BurstHadsOptions,
    burst_hads_days,
)
from spotbag_papers.bags.paper_days import (
    burst_hads_figures,
    cost_usd,
    library_job,
    make_plan,
    makespan_s,
    on_demand_market,
    paper_scenario,
)
from spotbag_papers.data_files import Figures
from spotbag_papers.paper import compare
from spotbag_papers.paper_tables import PublishedComparisonResult
from spotbag_papers.statistics import reduction_percent
from tests.helpers.paper_results import (
    compared,
    demand_judged_claims,
    demand_no_result_if_stopped,
    demand_page,
    replayed,
)

pytestmark = pytest.mark.xdist_group("published")  # one process: they share a result that takes long

FEW = BurstHadsOptions(runs=2)


@pytest.fixture(scope="module")
def days() -> BurstHadsDays:
    return replayed(BURST_HADS, FEW)


@pytest.fixture(scope="module", params=[pytest.param("few draws", marks=pytest.mark.slow)])
def burst() -> PublishedComparisonResult:
    return compared(BURST_HADS, FEW)


# ---------------------------------------------------------------------------- what is printed


def test_the_numbers_of_the_text_follow_from_the_printed_tables() -> None:
    figures = burst_hads_figures()
    found = {(entry.quantity, entry.of): entry.recomputed for entry in figures.averages}
    quiet = {entry.job: entry for entry in figures.quiet}
    rows = figures.results

    def mean(values: Iterator[float]) -> float:
        numbers = list(values)
        return math.fsum(numbers) / len(numbers)

    for job, entry in quiet.items():
        shorter = 100 * (1 - entry.burst_hads_makespan_s / entry.hads_makespan_s)
        dearer = 100 * (entry.burst_hads_cost_usd / entry.hads_cost_usd - 1)
        assert found.pop(("quiet_makespan_reduction_percent", job)) == pytest.approx(shorter, abs=0.005)
        assert found.pop(("quiet_cost_increase_percent", job)) == pytest.approx(dearer, abs=0.005)
    saving = mean(100 * (1 - entry.burst_hads_cost_usd / entry.on_demand_cost_usd) for entry in figures.quiet)
    longer = mean(100 * (entry.burst_hads_makespan_s / entry.on_demand_makespan_s - 1) for entry in figures.quiet)
    assert found.pop(("quiet_saving_percent", "")) == pytest.approx(saving, abs=0.005)
    assert found.pop(("quiet_makespan_increase_percent", "")) == pytest.approx(longer, abs=0.005)
    for of in ("", "J60", "ED200"):
        shorter = mean(row.makespan_reduction_percent for row in rows if of in ("", row.job))
        assert found.pop(("makespan_reduction_percent", of)) == pytest.approx(shorter, abs=0.01)
    # The text's 1.92 % is the mean of the printed percentages; the printed costs give 1.87 %.
    assert mean(-row.cost_reduction_percent for row in rows) == pytest.approx(1.92, abs=0.005)
    dearer = mean(100 * (row.burst_hads_cost_usd / row.hads_cost_usd - 1) for row in rows)
    assert found.pop(("cost_increase_percent", "")) == pytest.approx(dearer, abs=0.005)
    for name in ("burst_hads", "hads"):
        for of in ("", "ED200 sc2"):
            saving = mean(
                100 * (1 - getattr(row, f"{name}_cost_usd") / quiet[row.job].on_demand_cost_usd)
                for row in rows
                if of in ("", f"{row.job} {row.scenario}")
            )
            assert found.pop((f"{name}_saving_percent", of)) == pytest.approx(saving, abs=0.01)
    assert not found
    for row in rows:
        shorter = 100 * (1 - row.burst_hads_makespan_s / row.hads_makespan_s)
        # Means of the printed seconds: one cell is off by 0.7 points, all others by rounding.
        assert row.makespan_reduction_percent == pytest.approx(shorter, abs=0.8)


def test_every_printed_number_has_ours_beside_it(burst: PublishedComparisonResult) -> None:
    counts = {table: sum(row.table == table for row in burst.rows) for table in {row.table for row in burst.rows}}
    assert counts == {
        "Table IV": 4 * 11,
        "Table VI": 20 * 16,
        "Table VI, means": 6 * 4,
        "savings": 20 * 4 + 4,
        "text": 18,
        "tables": 18,
    }
    cells = [row for row in burst.rows if row.table == "Table VI" and row.quantity == "makespan_reduction_percent"]
    found = burst.row("text", "makespan_reduction_percent", "all", "", ALL)
    assert found.ours.mean == pytest.approx(sum(row.ours.mean or 0 for row in cells) / 20)
    assert found.printed == 25.87


def test_the_main_table_has_the_means_of_the_text(burst: PublishedComparisonResult) -> None:
    for policy, quantity, sign, stated in (
        (BOTH, "cost_reduction_percent", -1, "cost_increase_percent"),
        (BOTH, "makespan_reduction_percent", 1, "makespan_reduction_percent"),
        ("hads", "saving_percent", 1, "hads_saving_percent"),
    ):
        found = burst.row("Table VI, means", quantity, "all", "all", policy)
        text = burst.row("text", stated, "all", "", ALL)
        assert (found.ours.mean or 0.0) * sign == pytest.approx(text.ours.mean)
        assert (found.printed or 0.0) * sign == pytest.approx(text.printed, abs=0.4)


# ---------------------------------------------------------------------------- plans and days


@pytest.mark.slow
def test_each_day_has_a_plan_of_its_own_the_same_for_all_scenarios(days: BurstHadsDays) -> None:
    instance, _ = library_job("burst-hads", "J80", 2295, "printed")
    plans = [make_plan(instance, "ils", seed, {"scales": "paper"}) for seed in range(2)]
    assert plans[0].cost_usd != plans[1].cost_usd
    for scenario in SCENARIOS:
        timelines = [paper_scenario("burst-hads", scenario, FEW).day(instance, 0, number) for number in range(2)]
        wanted = [replay_day(plan, "burst-hads", day).cost_usd for plan, day in zip(plans, timelines, strict=True)]
        assert days.pairs["J80", scenario].burst.values(cost_usd) == wanted
    assert [search.vms for search in days.rivals["J80"].burst_plans] == [len(plan.vm_ids) for plan in plans]


@pytest.mark.usefixtures("only_j60")
def test_one_plan_for_all_days_is_an_option() -> None:
    options = BurstHadsOptions(runs=2, plan_seed=1)
    [first, second] = burst_hads_days(options, lambda done, label: None).rivals["J60"].burst.values(cost_usd)
    assert first == second


def test_the_baseline_is_planned_with_on_demand_vms_and_pays_for_idle_ones(days: BurstHadsDays) -> None:
    instance, _ = library_job("burst-hads", "J60", 2290, "printed")
    plan = make_plan(on_demand_market(instance), "ils", 1, {"scales": "paper", "burst_rate": 0.0})
    assert {offer.market for offer in map(instance.offers.__getitem__, plan.vm_offer.tolist())} == {"on-demand"}
    assert not any("t3" in name for name in plan.vm_counts())
    cells = days.rivals["J60"].on_demand
    assert cells["cycles"].runs[1].cost_usd == replay_day(plan, "on-demand").cost_usd
    assert cells["last-task"].runs[1].cost_usd == pytest.approx(plan.cost_usd)
    assert cells["cycles"].runs[1].cost_usd > cells["last-task"].runs[1].cost_usd
    assert cells["cycles"].values(makespan_s) == cells["last-task"].values(makespan_s)


@pytest.mark.slow
def test_the_billing_of_the_baseline_decides_what_savings_are_judged_by(days: BurstHadsDays) -> None:
    other = burst_hads_days(BurstHadsOptions(runs=2, baseline="last-task"), lambda done, label: None)
    mine, its = (found.stated()["hads_saving_percent", ""].value for found in (days, other))
    assert mine == days.mean_saving("hads", "cycles").value
    assert its == days.mean_saving("hads", "last-task").value < mine


@pytest.fixture
def only_j60(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the days of one job replayed."""
    figures = burst_hads_figures()
    quiet = [printed for printed in figures.quiet if printed.job == "J60"]
    less = Figures(**vars(figures) | {"quiet": quiet})
    monkeypatch.setattr("spotbag_papers.bags.burst_hads.runs.burst_hads_figures", lambda: less)


@pytest.mark.slow
@pytest.mark.usefixtures("only_j60")
def test_other_assumptions_are_options(days: BurstHadsDays) -> None:
    assert FEW.policies == ("burst-hads", "hads")
    other = BurstHadsOptions(runs=1, spare_time="spot", ended_early="both", t3_baseline_percent=30, boot_s=180)
    assert other.policies == ("burst-hads+idle-60", "hads+spare-time-spot+idle-60")
    assert BurstHadsOptions(ended_early="burst-hads").policies == ("burst-hads+idle-60", "hads")
    found = burst_hads_days(other, lambda done, label: None).rivals["J60"]
    assert found.burst.runs[0].makespan_s != days.rivals["J60"].burst.runs[0].makespan_s
    initial = burst_hads_days(BurstHadsOptions(runs=1, plan="initial"), lambda done, label: None).rivals["J60"]
    same = burst_hads_days(BurstHadsOptions(runs=1, plan="greedy"), lambda done, label: None).rivals["J60"]
    greedy_vms = len(make_plan(library_job("burst-hads", "J60", 2290, "printed")[0], "greedy").vm_ids)
    assert (same.burst_plans[0].vms, same.burst_plans[0].burstable_vms) == (greedy_vms, 0)
    assert initial.burst_plans[0].vms == greedy_vms + initial.burst_plans[0].burstable_vms
    assert initial.burst_plans[0].burstable_vms == 1


def test_the_printed_baseline_of_t3_is_that_of_the_library() -> None:
    [t3] = [vm_type for vm_type in library_instance("burst-hads/J60").vm_types if vm_type.burstable is not None]
    assert t3.burstable is not None
    assert (t3.burstable.baseline_fraction, t3.burstable.credits_per_hour) == (0.2, 24.0)


# ---------------------------------------------------------------------------- intervals


PLAN_SD, DAY_SD = 2.0, 1.0
"""How much plans and days vary in the artificial data."""

TRIALS, DAYS = 1500, 40


def test_intervals_over_days_with_a_plan_each_cover_what_plans_vary() -> None:
    random = np.random.default_rng(5)
    plans = random.normal(0.0, PLAN_SD, (TRIALS, DAYS))
    drawn = 10.0 + random.normal(0.0, DAY_SD, (TRIALS, DAYS))
    assert _coverage(drawn + plans, 10.0) == pytest.approx(0.95, abs=0.02)
    # All days of a trial with one plan, as it was: the interval does not know that there are others.
    assert _coverage(drawn + plans[:, :1], 10.0) < 0.25


def _coverage(trials: np.ndarray, mean: float) -> float:
    """How often the interval of a mean holds the true one."""
    intervals = [estimate(trial) for trial in trials.tolist()]
    return sum(low <= mean <= high for low, high in ((found.low, found.high) for found in intervals)) / len(trials)


def test_intervals_of_reductions_cover_them_where_a_rival_has_no_chance_and_where_both_share_the_day() -> None:
    random = np.random.default_rng(6)
    day = random.gamma(9.0, 1 / 9.0, (TRIALS, DAYS))
    plan = random.gamma(16.0, 1 / 16.0, (TRIALS, DAYS))
    for mine, others in ((2.0 * plan, np.full_like(plan, 5.0)), (2.0 * plan * day, 5.0 * day)):
        pairs = zip(mine.tolist(), others.tolist(), strict=True)
        intervals = [reduction_percent(a, b).estimate for a, b in pairs]
        covered = sum((found.low or 0) <= 60.0 <= (found.high or 0) for found in intervals) / TRIALS
        assert covered == pytest.approx(0.95, abs=0.02)


# ---------------------------------------------------------------------------- statements


def test_every_statement_is_judged(burst: PublishedComparisonResult) -> None:
    demand_judged_claims(burst, 32)
    assert [number for number, claim in enumerate(burst.claims, 1) if claim.fitted] == [1, 2]
    assert all(claim.source for claim in burst.claims)
    assert len(burst.findings) == 3


def test_percentages_hold_within_five_points(burst: PublishedComparisonResult, days: BurstHadsDays) -> None:
    [claim] = [claim for claim in burst.claims if claim.statement.startswith("HADS saves 39.65 %")]
    found = days.stated()["hads_saving_percent", ""].estimate
    assert found.low is not None
    assert found.high is not None
    wanted = "holds" if found.low > 34.65 and found.high < 44.65 else "not decided"
    assert claim.verdict == ("does not hold" if found.high <= 34.65 or found.low >= 44.65 else wanted)


def test_each_setting_says_all_that_it_changes() -> None:
    settings = BURST_HADS.settings(FEW)
    assert len({setting.name for setting in settings}) == len(settings)
    for setting in settings:
        changed = [name for name, value in setting.options.about().items() if value != FEW.about()[name]]
        assert len(setting.assumption.split(", ")) == len(setting.value.split("; ")) == len(changed)


def test_the_difference_of_the_costs_is_taken_apart_by_lines_that_differ_in_their_settings(
    burst: PublishedComparisonResult,
) -> None:
    results = {setting.name: replace(burst, about=setting.options.about()) for setting in BURST_HADS.replays(FEW)}
    rows = difference_table(results).rows
    assert len({tuple(row[:3]) for row in rows}) == len(rows) == 8
    assert {row[3] for row in rows} == {BURST_HADS.columns["cost increase (%)"](burst)}


def test_the_setting_of_the_page_counts_once(burst: PublishedComparisonResult) -> None:
    options = BurstHadsOptions(runs=60)
    replays = BURST_HADS.replays(options)
    results = {setting.name: replace(burst, about=setting.options.about()) for setting in replays}
    assert [setting.name for setting in replays[:2]] == [": 60 runs", ": 50 runs"]
    assert burst_hads_facts(results)["n_settings"] == len(replays) - 1


def test_the_page_is_the_present_one(burst: PublishedComparisonResult) -> None:
    demand_page("burst-hads", burst)


# ---------------------------------------------------------------------------- runs


def test_both_schedulers_have_the_plan_of_their_own_paper(burst: PublishedComparisonResult) -> None:
    assert [(plan.job, plan.method) for plan in burst.plans[:3]] == [
        ("J60", "ils"),
        ("J60", "greedy"),
        ("J60", "ils on demand"),
    ]
    assert any("t3.large" in name for name in burst.plans[0].vms)
    assert {plan.d_spot_s for plan in burst.plans[:2]} == {2291}


@pytest.mark.slow
def test_the_same_seed_gives_the_same_rows_with_any_number_of_processes(burst: PublishedComparisonResult) -> None:
    assert compare(BURST_HADS, BurstHadsOptions(runs=2, workers=2)) == burst


def test_progress_is_reported_for_all_days() -> None:
    described: list[int] = []
    options = BurstHadsOptions(runs=1)
    compare(BURST_HADS, options, lambda done, label: described.append(done))
    assert sum(described) == BURST_HADS.n_runs(options) == 4


def test_a_user_who_stops_it_gets_no_means_of_fewer_days() -> None:
    demand_no_result_if_stopped(BURST_HADS, BurstHadsOptions(runs=1))
