"""The figures of Caron & de Assuncao: what is made of runs, what is judged, what is drawn, what trees cost."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

import pytest

from spotbag.instances.platforms.agent_trees import many_resources, regrouped
from spotbag.instances.platforms.job_draws import JobSet
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.replay.platforms.candidate import PlatformJob
from spotbag.replay.platforms.cloud import CloudScheduler
from spotbag.replay.platforms.local_scheduler import PlatformRules
from spotbag.replay.platforms.runs import replay_platform
from spotbag_papers.claims import Claim
from spotbag_papers.paper import compare
from spotbag_papers.paper_pictures import write_pictures
from spotbag_papers.paper_tables import ComparisonRow, PublishedComparisonResult
from spotbag_papers.platforms.caron.claims import Lower, caron_claims, compared, counted, in_general, median_percent
from spotbag_papers.platforms.caron.paper import PAPER as CARON
from spotbag_papers.platforms.caron.pictures import PICTURES
from spotbag_papers.platforms.caron.runs import CaronRuns, Cell, Cells, n_caron_runs
from spotbag_papers.platforms.caron.settings import (
    BUDGETS,
    CHEAPEST,
    FASTEST,
    GRID_BUDGETS,
    MONEY,
    NONE_DISPLACED,
    POLICIES,
    PROCESSORS,
    ROUND_ROBIN,
    RULES,
    SETS,
    TIME,
    UNDISPLACED,
    Assumptions,
    CaronOptions,
    PowerLawCloud,
    Setting,
    Values,
    measured,
    replayed,
)
from spotbag_papers.platforms.caron.trees import TreeRuns, shape_of, tree_runs
from tests.helpers.paper_results import demand_judged_claims, demand_no_result_if_stopped, demand_page

pytestmark = pytest.mark.xdist_group("caron")  # one process: they share a result that takes long

SMALL_TREES = {8: (2, 8), 16: (2, 4, 16)}
FEW = CaronOptions(
    runs=2, seed=3, numbers=(4, 8), processors=(16, 64), budgets=(BUDGETS, (4.0, 16.0)), fan_outs=SMALL_TREES
)
SETTINGS = [Setting(kind, number) for kind in SETS for number in (10, 20)]


@pytest.fixture(scope="module")
def described() -> list[tuple[int, str]]:
    return []


@pytest.fixture(scope="module", params=[pytest.param("few draws", marks=pytest.mark.slow)])
def result(described: list[tuple[int, str]]) -> PublishedComparisonResult:
    return compare(CARON, FEW, lambda done, label: described.append((done, label)))


def quantity(
    result: PublishedComparisonResult, table: str, job: str, scenario: str, policy: str, name: str
) -> ComparisonRow:
    key = (table, job, scenario, policy, name)
    [row] = [row for row in result.rows if (row.table, row.job, row.scenario, row.policy, row.quantity) == key]
    return row


def mean(row: ComparisonRow) -> float:
    assert row.ours.mean is not None
    return row.ours.mean


# ---------------------------------------------------------------------------- runs


def test_a_setting_has_clusters_and_budgets_as_asked_for_and_everything_else_as_in_the_library() -> None:
    library = library_platform("caron/hybrid")
    assert Setting("big", 5).platform(1).replace(jobs=()) == library.replace(jobs=())
    setting = Setting("big", 5, 16, (10.0, 10.0))
    platform = setting.platform(1)
    dedicated, allocated, cloud = platform.resources
    assert dedicated.kind == "dedicated"
    assert allocated.kind == "allocated"
    assert (dedicated.processors, allocated.availability[0].processors) == (16, 16)
    assert cloud == library.resources[2]
    for job in platform.jobs:
        assert job.budget == 10 * job.size_processor_minutes
        assert job.deadline_s - job.arrival_s >= 60 * job.size_processor_minutes / 16


def test_the_numbers_are_those_of_the_replays(result: PublishedComparisonResult) -> None:
    runs = replay_platform(
        library_platform("caron/hybrid"), (*POLICIES, MONEY + RULES[0]), 2, seed=3, job_set=JobSet("mixed", 8)
    )
    for summary in runs.summaries():
        table = "Figs 2-7" if summary.policy in POLICIES else "rules"
        for name, scale in (("cost", 1), ("execution_time_h", 3600), ("delay_h", 3600)):
            ours = mean(quantity(result, table, "mixed", "8 jobs", summary.policy, name))
            assert ours * scale == pytest.approx(summary.means[name.replace("_h", "_s")].mean)
        if table == "Figs 2-7":
            late = quantity(result, table, "mixed", "8 jobs", summary.policy, "late_jobs")
            assert mean(late) == summary.means["late_jobs"].mean


def test_work_adds_up_and_no_more_is_used_in_the_cloud_than_is_paid() -> None:
    platform = Setting("mixed", 40).platform(0)
    for policy in (TIME, ROUND_ROBIN):
        outcome = replayed(platform, policy, 0)
        values = measured(outcome, platform)
        shares = [values[f"{resource.id}_percent"] for resource in platform.resources]
        assert sum(shares) == pytest.approx(100)
        in_cloud = {job.id for job in outcome.jobs if job.resource == "cloud"}
        work = sum(job.size_processor_minutes for job in platform.jobs if job.id in in_cloud)
        assert values["cloud_work_h"] * 60 == work > 0
        assert values["cloud_paid_h"] == 8 * sum(machine.cost for machine in outcome.machines) / 960
        assert values["cloud_work_h"] < values["cloud_paid_h"]


def test_every_table_is_complete(result: PublishedComparisonResult) -> None:
    counts = Counter(row.table for row in result.rows)
    settings = 3 * 2
    assert counts == {
        "Figs 2-7": settings * 6 * 7,
        "where": settings * 6 * 5,
        "rules": settings * (2 * 5 + 2) * 5,
        "bounds": settings * 3 * 4,
        "frontier": 3 * (6 + 6) * 2,
        "grid": 3 * 3 * 2 * 5,
        "A and B": 3 * 2 * 5,
        "sizes": 3 * 3 * 2,
        "grid cells": 3 * (2 * 2 * 2) * (3 * 3 + 2 * 3),
        "trees": 5 * 13,
    }
    assert all(row.printed is None for row in result.rows)


def test_the_counts_of_the_grid_are_of_all_its_settings(result: PublishedComparisonResult) -> None:
    sums: Counter[tuple[str, str, str, str]] = Counter()
    for row in result.rows:
        if row.table in ("grid", "A and B") and row.quantity != "median_percent":
            sums[row.table, row.job, row.scenario, row.policy] += int(mean(row))
    assert len(sums) == 3 * 3 * 2 + 3 * 2
    assert set(sums.values()) == {2 * 2 * 2}


@pytest.mark.slow
def test_only_statements_are_replayed_where_nothing_else_is_asked_for(result: PublishedComparisonResult) -> None:
    done: list[int] = []
    options = dataclasses.replace(FEW, only_statements=True)
    bare = compare(CARON, options, lambda number, label: done.append(number))
    assert sum(done) == n_caron_runs(options) < n_caron_runs(FEW)
    assert bare.claims == result.claims
    assert bare.notes == ()
    assert {row.table for row in bare.rows} == {"grid", "A and B", "sizes", "grid cells", "trees"}


def test_progress_is_reported_for_all_steps(
    result: PublishedComparisonResult, described: list[tuple[int, str]]
) -> None:
    assert sum(done for done, _ in described) == n_caron_runs(FEW)
    assert {"4 mixed jobs", "trees of 16 resources", "frontier, big jobs"} <= {label for _, label in described}


@pytest.mark.slow
def test_the_same_seed_gives_the_same_rows_with_any_number_of_processes() -> None:
    options = dataclasses.replace(FEW, numbers=(6,))
    assert compare(CARON, dataclasses.replace(options, workers=2)) == compare(CARON, options)


def test_a_user_who_stops_it_gets_no_means_of_fewer_runs() -> None:
    demand_no_result_if_stopped(CARON, FEW)


# ---------------------------------------------------------------------------- bounds


def test_no_run_costs_less_than_its_bound(result: PublishedComparisonResult) -> None:
    gaps = [row for row in result.rows if row.quantity == "cost_gap_percent"]
    assert len(gaps) == 18
    assert all(0 <= mean(row) <= 100 for row in gaps)
    assert min(mean(row) for row in gaps) < 100  # somewhere it says something


def test_no_policy_lies_below_the_frontier(result: PublishedComparisonResult) -> None:
    for kind in SETS:
        rows = [row for row in result.rows if (row.table, row.job) == ("frontier", kind)]
        assert {row.scenario for row in rows} == {"8 jobs"}
        values = {(row.policy, row.quantity): mean(row) for row in rows}
        steps = [(values[name, "cost"], values[name, "delay_h"]) for name, what in values if what == "cost"]
        line, points = steps[:6], steps[6:]
        assert len(points) == len(POLICIES)
        assert line == sorted(line, key=lambda step: (step[0], -step[1]))
        for cost, delay_h in points:
            assert all(delay_h >= least_h for most, least_h in line if cost <= most)


# ---------------------------------------------------------------------------- claims


def cells(changes: dict[tuple[str, str], float], kinds: Sequence[str] = ("mixed",)) -> Cells:
    """Three draws of each setting in which policies are as the paper says, but for some numbers of some jobs."""
    said: dict[str, Values] = {
        MONEY: {"cost": 30.0, "execution_time_h": 20.0, "delay_h": 5.0},
        TIME: {"cost": 40.0, "execution_time_h": 19.0, "delay_h": 1.0},
        ROUND_ROBIN: {"cost": 100.0, "execution_time_h": 30.0, "delay_h": 50.0},
    }
    found: Cells = {}
    for setting in SETTINGS:
        found[setting] = {}
        for policy, values in said.items():
            runs = []
            for noise in (-0.1, 0.0, 0.1):
                run = {name: value + noise for name, value in values.items()}
                if setting.kind == "small" and policy == ROUND_ROBIN:
                    run["execution_time_h"] = 10.0 + noise
                if setting.kind in kinds:
                    run |= {name: value + noise for (who, name), value in changes.items() if who == policy}
                runs.append(run)
            found[setting][policy] = Cell(tuple(runs))
    return found


@pytest.fixture(scope="module")
def trees() -> Sequence[TreeRuns]:
    return tree_runs(dataclasses.replace(FEW, runs=1), lambda done, label: None)


def judge(found: Cells, trees: Sequence[TreeRuns]) -> dict[str, Claim]:
    """Judge the statements; by what they say."""
    return {claim.statement: claim for claim in caron_claims(CaronRuns(found, trees, {}, None))}


def failing(claims: dict[str, Claim]) -> list[str]:
    return [statement for statement, claim in claims.items() if claim.verdict != "holds"]


def test_all_hold_where_all_is_as_the_paper_says(trees: Sequence[TreeRuns]) -> None:
    claims = judge(cells({}), trees)
    assert len(claims) == 12
    assert failing(claims) == []
    assert all(claim.source.startswith("section") for claim in claims.values())


@pytest.mark.parametrize(
    ("changes", "against"),
    [
        ({(MONEY, "cost"): 101.0}, ["mixed jobs: the cost", "policy A (money saving) spends less"]),
        ({(TIME, "execution_time_h"): 31.0}, ["mixed jobs: the execution time"]),
        ({(TIME, "delay_h"): 51.0}, ["mixed jobs: the delay", "policy B has less delay"]),
        ({(TIME, "cost"): 25.0}, ["policy A (money saving) spends less"]),
        ({(MONEY, "delay_h"): 0.5}, ["policy B has less delay"]),
    ],
)
def test_a_statement_does_not_hold_where_numbers_are_against_it_in_half_of_the_settings(
    changes: dict[tuple[str, str], float], against: list[str], trees: Sequence[TreeRuns]
) -> None:
    claims = judge(cells(changes), trees)
    failed = failing(claims)
    assert len(failed) == len(against)
    for statement, start in zip(failed, against, strict=True):
        assert statement.startswith(start)
        assert claims[statement].verdict == "does not hold"
        reason = claims[statement].reason
        assert reason.startswith(f"by processors in each cluster, it does not hold with {PROCESSORS}; not so in 2, ")


def test_what_holds_in_general_is_not_refuted_by_one_setting(trees: Sequence[TreeRuns]) -> None:
    dear = cells({(MONEY, "cost"): 101.0})
    first = Setting("mixed", 10)
    claims = judge({**cells({}), first: dear[first]}, trees)
    assert failing(claims) == []
    assert (
        claims["mixed jobs: the cost of the policies is in general below that of round robin"].ours == "lower in 3 of 4"
    )


@pytest.mark.parametrize(
    ("lower", "higher", "either", "verdict"),
    [
        (6, 5, 0, "holds"),
        (5, 5, 0, "does not hold"),
        (5, 4, 1, "not decided"),
        (4, 5, 1, "does not hold"),
        (4, 0, 4, "not decided"),
        (0, 0, 0, "does not hold"),
    ],
)
def test_in_general_is_in_more_than_half_however_the_open_ones_turn_out(
    lower: int, higher: int, either: int, verdict: str
) -> None:
    found = {"holds": lower, "does not hold": higher, "not decided": either, "alike": 100}
    assert in_general(found) == verdict  # type: ignore[arg-type]


def test_small_jobs_are_no_exception_where_the_policies_are_faster_in_most_settings(trees: Sequence[TreeRuns]) -> None:
    faster = cells({(ROUND_ROBIN, "execution_time_h"): 40.0}, ["small"])
    [statement] = failing(judge(faster, trees))
    assert statement.startswith("small jobs are the exception")


def test_much_is_half(trees: Sequence[TreeRuns]) -> None:
    dear = cells({(MONEY, "cost"): 60.0, (TIME, "cost"): 61.0}, ["small"])
    claims = judge(dear, trees)
    [statement] = failing(claims)
    assert statement == "small jobs: the policies cost much less than round robin: half, or less"
    assert claims[statement].ours == "at most half in 0 of 4"
    assert "lower in 4 of 4" in claims[statement].reason


def test_the_median_of_differences_counts_each_setting_once() -> None:
    found = cells({})
    lower = Lower("mixed", "cost", MONEY, ROUND_ROBIN)
    assert median_percent(found, lower) == pytest.approx(-70)
    nothing = cells({(ROUND_ROBIN, "cost"): 0.0})
    free = {setting: found | {ROUND_ROBIN: Cell(({"cost": 0.0},) * 3)} for setting, found in nothing.items()}
    assert median_percent(free, lower) is None


def test_what_is_equal_in_every_draw_is_not_judged() -> None:
    found = cells({(MONEY, "delay_h"): 0.0, (ROUND_ROBIN, "delay_h"): 0.0})
    lower = Lower("mixed", "delay_h", MONEY, ROUND_ROBIN)
    assert [compared(found[setting], lower) for setting in SETTINGS if setting.kind == "mixed"] == ["alike"] * 2
    assert counted(found, [lower]) == {"alike": 2}
    assert counted(found, [lower._replace(mine=TIME)]) == {"does not hold": 2}
    assert counted(found, [lower, lower._replace(mine=TIME)]) == {"alike": 2, "does not hold": 2}


def test_differences_are_taken_draw_by_draw() -> None:
    one = Cell(({"cost": 1.0}, {"cost": 101.0}))
    other = Cell(({"cost": 2.0}, {"cost": 102.0}))
    less = one.less(other, itemgetter("cost"))
    assert (less.mean, less.half_width) == (-1.0, 0.0)


def test_every_claim_is_judged_and_one_that_fails_has_a_reason(result: PublishedComparisonResult) -> None:
    demand_judged_claims(result, 12)


def test_cells_of_verdicts_hold_numbers_and_no_lists(result: PublishedComparisonResult) -> None:
    assert max(len(claim.ours) for claim in (*result.claims, *result.findings)) <= 40


def test_what_the_paper_does_not_say_is_among_the_findings(result: PublishedComparisonResult) -> None:
    assert all(claim.source for claim in result.claims)
    assert not any(claim.source for claim in result.findings)
    for word in ("+patient", "+deadline", "every tree", "all messages", "moving"):
        assert any(word in claim.statement for claim in result.findings)
        assert not any(word in claim.statement for claim in result.claims)


def test_notes_say_what_the_numbers_say(result: PublishedComparisonResult) -> None:
    text = " ".join(result.notes)
    # 90, 795 and 1500 processor-minutes a minute for 128 processors.
    assert "small 70 %, mixed 621 %, big 1172 %" in text
    for number, start in (
        (2, "Round robin never"),
        (3, "A candidate is good"),
        (4, "Without a good"),
        (6, "Each agent"),
    ):
        assert result.notes[number - 1].startswith(start)  # claims refer to them by number


# ---------------------------------------------------------------------------- trees of agents


def test_what_a_placement_takes_is_counted_by_hand() -> None:
    flat = many_resources(3, 3, 2)
    two = shape_of(regrouped(flat, 2))
    assert (two.agents, two.depth, two.children) == (7, 3, 2)
    assert two.messages == 2 * (4 + 2 + 8)  # a question and an answer for each node below the root
    assert (two.busiest, two.path) == (2 * 2 + 2, 2 + 2 + 2)
    one = shape_of(regrouped(flat, 8))
    assert (one.agents, one.depth, one.children, one.messages, one.busiest, one.path) == (1, 1, 8, 16, 16, 8)


def test_a_tree_places_jobs_as_one_agent_would(trees: Sequence[TreeRuns]) -> None:
    assert [(tree.shape.resources, tree.shape.children) for tree in trees] == [
        (resources, fan_out) for resources, fan_outs in SMALL_TREES.items() for fan_out in fan_outs
    ]
    for tree in trees:
        assert all(tree.same)
        assert tree.as_basic == ((True, True) if tree.shape.agents == 1 else ())  # two strategies, of one draw
        # Who has just pushed a job out is not asked.
        assert tree.shape.messages - 2 <= tree.messages[0] <= tree.shape.messages
    by_resources = {
        tree.shape.resources: {other.cost for other in trees if other.shape == tree.shape} for tree in trees
    }
    assert all(len(costs) == 1 for costs in by_resources.values())
    assert any(tree.delay_h[0] > 0 for tree in trees)  # also where no offer is good


def test_who_chooses_between_two_offers_is_not_who_chooses_among_all() -> None:
    platform = Setting("mixed", 60).platform(0)
    assert replayed(platform, MONEY, 0).jobs != replayed(platform, CHEAPEST, 0).jobs


# ---------------------------------------------------------------------------- pictures and docs


@pytest.mark.slow
def test_all_pictures_are_drawn(result: PublishedComparisonResult, tmp_path: Path) -> None:
    paths = write_pictures(PICTURES, result.rows, str(tmp_path))
    assert [Path(path).stem for path in paths] == list(PICTURES)
    contents = [Path(path).read_bytes() for path in paths]
    assert all(data.startswith(b"\x89PNG") for data in contents)
    assert len(set(contents)) == 6
    write_pictures(PICTURES, result.rows, str(tmp_path))
    assert [Path(path).read_bytes() for path in paths] == contents


def test_pictures_name_figures_units_and_policies(result: PublishedComparisonResult) -> None:
    figure = PICTURES["caron-mixed"](result.rows)
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["Fig. 2: total cost", "Fig. 3: total execution time", "Fig. 4: total delay"]
    assert [axes.get_ylabel() for axes in figure.axes] == ["cost (units)", "time (h)", "delay (h)"]
    legend = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"policy A, money-saving", "policy B, time-saving", "round-robin"} <= legend
    assert figure.get_suptitle() == "Figs 2 to 4: mixed jobs"
    assert PICTURES["caron-small"](result.rows).get_suptitle() == "Figs 5 to 7: small jobs"


def test_the_page_is_the_present_one(result: PublishedComparisonResult) -> None:
    demand_page("caron", result)


def verdict(result: PublishedComparisonResult, beginning: str) -> str:
    [claim] = [claim for claim in (*result.claims, *result.findings) if claim.statement.startswith(beginning)]
    return claim.verdict


@pytest.mark.slow
def test_the_shipped_options_bear_out_what_the_docs_say_in_words() -> None:
    result = compare(CARON, CaronOptions(runs=3, workers=2, only_statements=True))
    # Clusters of one size say the one, of another the other.
    assert verdict(result, "mixed jobs: the cost") == "not decided"
    assert verdict(result, "small jobs are the exception") == "not decided"
    assert verdict(result, "a scheduler that asks all") == "holds"


# ---------------------------------------------------------------------------- assumptions


def test_round_robin_in_turn_gives_each_resource_the_next_job() -> None:
    platform = Setting("small", 7).platform(0)
    outcome = replayed(platform, ROUND_ROBIN, 0, Assumptions(round_robin="in turn"))
    names = [resource.id for resource in platform.resources]
    assert [job.resource for job in outcome.jobs] == [names[place % 3] for place in range(7)]


def test_nothing_is_displaced_where_a_policy_displaces_none() -> None:
    platform = Setting("mixed", 60).platform(0)
    assert UNDISPLACED == FASTEST + NONE_DISPLACED
    assert replayed(platform, UNDISPLACED, 0).displaced == 0
    assert replayed(platform, FASTEST, 0).displaced > 0


def test_assumptions_change_the_platform_and_its_jobs_as_they_say() -> None:
    ours = Setting("big", 9).platform(4)
    small_machines = Setting("big", 9, assumptions=Assumptions(processors_per_vm=2)).platform(4)
    assert (small_machines.resources[2].processors_per_vm, small_machines.resources[2].cost_per_vm_hour) == (2, 240)
    assert small_machines.jobs == ours.jobs
    slow = Setting("big", 9, assumptions=Assumptions(mean_gap_s=120)).platform(4)
    assert slow.jobs[-1].arrival_s == pytest.approx(2 * ours.jobs[-1].arrival_s, abs=1)
    tight = Setting("big", 9, assumptions=Assumptions(deadline_clusters=2)).platform(4)
    for job, other in zip(tight.jobs, ours.jobs, strict=True):
        assert job.deadline_s - job.arrival_s <= other.deadline_s - other.arrival_s


def test_a_speed_up_that_is_a_power_is_worth_a_smaller_cluster_at_the_price_of_all() -> None:
    platform = Setting("big", 9, 64, assumptions=Assumptions(speed_up_exponent=0.5)).platform(4)
    dedicated, allocated, _ = platform.resources
    assert (dedicated.processors, allocated.availability[0].processors) == (8, 8)
    assert allocated.cost_per_processor_minute == 64 / 8
    for job in platform.jobs:
        assert job.deadline_s - job.arrival_s >= 60 * job.size_processor_minutes / 8


def test_machines_of_a_cloud_are_as_fast_together_as_the_power_says() -> None:
    platform = Setting("big", 1, assumptions=Assumptions(speed_up_exponent=0.5)).platform(0)
    cloud = platform.resources[2]
    scheduler = PowerLawCloud(2, cloud, PlatformRules(), 0.5)
    job = PlatformJob(0, "job", 1200, 1, 0, 1, 1.0)
    assert scheduler.run_s(job, 2) == 1200 * 60 / 4  # 16 processors are worth 4
    assert scheduler.run_s(job, 1) == 25456  # 72,000 s over the root of 8
    assert scheduler.machines_for(job, 1200 * 60 // 4) == 2
    assert scheduler.machines_for(job, 1200 * 60 // 4 - 1) == 3
    assert scheduler.machines_for(job, 60) == 10_000  # 1,440,000 processors would do it: more than a job may have
    linear = PowerLawCloud(2, cloud, PlatformRules(), 1.0)
    plain = CloudScheduler(2, cloud, PlatformRules())
    for machines in (1, 2, 7):
        assert linear.run_s(job, machines) == plain.run_s(job, machines)
    for time_s in (60, 61, 999, 10**6):
        assert linear.machines_for(job, time_s) == plain.machines_for(job, time_s)


def test_every_assumption_of_the_page_is_replayed_with_the_statements_alone() -> None:
    settings = CARON.replays(CaronOptions())
    assert not settings[0].options.only_statements
    assert all(setting.options.only_statements for setting in settings[1:])
    assert all(setting.options.runs == CaronOptions().runs for setting in settings)
    assert len({setting.name for setting in settings}) == len(settings)
    assert {setting.options.processors for setting in settings} >= {(PROCESSORS,)}
    assert {setting.options.budgets for setting in settings} >= {(budgets,) for budgets in GRID_BUDGETS}


def test_the_table_of_assumptions_has_shares_of_all_settings_that_differ(result: PublishedComparisonResult) -> None:
    shares = {heading: column(result) for heading, column in CARON.columns.items()}
    counts = Counter()
    for row in result.rows:
        if (row.table, row.scenario) == ("grid", "cost"):
            counts[row.quantity] += mean(row)
    differing = counts["lower"] + counts["higher"] + counts["open"]
    assert shares["cost lower (%)"] == f"{100 * counts['lower'] / differing:.0f}"
    assert all(0 <= int(share) <= 100 for share in shares.values())
