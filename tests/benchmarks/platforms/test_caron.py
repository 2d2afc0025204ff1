"""The figures of Caron & de Assuncao: what is made of runs, what is judged, what is drawn, what trees cost."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

import pytest
from paper_results import demand_judged_claims, demand_no_result_if_stopped, demand_page

from spotbag.benchmarks.claims import Claim
from spotbag.benchmarks.paper import compare
from spotbag.benchmarks.paper_pictures import write_pictures
from spotbag.benchmarks.paper_result import ComparisonRow, PublishedComparisonResult
from spotbag.benchmarks.platforms.caron.bounds import CaronBounds
from spotbag.benchmarks.platforms.caron.claims import Lower, caron_claims, compared, counted
from spotbag.benchmarks.platforms.caron.paper import CARON
from spotbag.benchmarks.platforms.caron.pictures import PICTURES
from spotbag.benchmarks.platforms.caron.runs import CaronRuns, Cell, Cells, n_caron_runs
from spotbag.benchmarks.platforms.caron.settings import (
    MONEY,
    PATIENT,
    POLICIES,
    ROUND_ROBIN,
    RULES,
    SETS,
    THEIRS,
    TIME,
    CaronOptions,
    Setting,
    Values,
    measured,
    replayed,
)
from spotbag.benchmarks.platforms.caron.trees import TreeRuns, shape_of, tree_runs
from spotbag.instances.platforms.agent_trees import many_resources, regrouped
from spotbag.instances.platforms.job_draws import JobSet
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.replay.platforms.runs import replay_platform

pytestmark = pytest.mark.xdist_group("caron")  # one process: they share a result that takes long

SMALL_TREES = {8: (2, 8), 16: (2, 4, 16)}
FEW = CaronOptions(runs=2, seed=3, numbers=(6, 16), grid_numbers=(5,), fan_outs=SMALL_TREES)
SETTINGS = [Setting(kind, number) for kind in SETS for number in (10, 20)]


@pytest.fixture(scope="module")
def described() -> list[tuple[int, str]]:
    return []


@pytest.fixture(scope="module")
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
        library_platform("caron/hybrid"), (*POLICIES, MONEY + RULES[0]), 2, seed=3, job_set=JobSet("mixed", 16)
    )
    for summary in runs.summaries():
        table = "Figs 2-7" if summary.policy in POLICIES else "rules"
        for name, scale in (("cost", 1), ("execution_time_h", 3600), ("delay_h", 3600)):
            ours = mean(quantity(result, table, "mixed", "16 jobs", summary.policy, name))
            assert ours * scale == pytest.approx(summary.means[name.replace("_h", "_s")].mean)
        if table == "Figs 2-7":
            late = quantity(result, table, "mixed", "16 jobs", summary.policy, "late_jobs")
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
        "rules": settings * 2 * 5 * 5,
        "bounds": settings * 3 * 4,
        "frontier": 3 * (6 + 6) * 2,
        "grid": (3 * 3 * 2 + 3 * 2) * 4,
        "grid cells": 3 * 4 * 3 * (3 * 3 + 2 * 3),
        "trees": 5 * 13,
    }
    assert all(row.printed is None for row in result.rows)


def test_the_counts_of_the_grid_are_of_all_its_settings(result: PublishedComparisonResult) -> None:
    rows = [row for row in result.rows if row.table == "grid"]
    sums: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        sums[row.job, row.scenario, row.policy] += int(mean(row))
    assert set(sums.values()) == {12}


def test_progress_is_reported_for_all_steps(
    result: PublishedComparisonResult, described: list[tuple[int, str]]
) -> None:
    assert sum(done for done, _ in described) == n_caron_runs(FEW)
    assert {"6 mixed jobs", "trees of 16 resources", "frontier, big jobs"} <= {label for _, label in described}


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
        assert {row.scenario for row in rows} == {"16 jobs"}
        values = {(row.policy, row.quantity): mean(row) for row in rows}
        steps = [(values[name, "cost"], values[name, "delay_h"]) for name, what in values if what == "cost"]
        line, points = steps[:6], steps[6:]
        assert len(points) == len(POLICIES)
        assert line == sorted(line, key=lambda step: (step[0], -step[1]))
        for cost, delay_h in points:
            assert all(delay_h >= least_h for most, least_h in line if cost <= most)


# ---------------------------------------------------------------------------- claims


def cells(changes: dict[tuple[str, str], float]) -> Cells:
    """Three draws of each setting in which policies are as the paper says, but for some numbers of mixed jobs."""
    said: dict[str, Values] = {
        MONEY: {"cost": 50.0, "execution_time_h": 20.0, "delay_h": 5.0},
        TIME: {"cost": 60.0, "execution_time_h": 19.0, "delay_h": 1.0},
        ROUND_ROBIN: {"cost": 100.0, "execution_time_h": 30.0, "delay_h": 50.0},
    }
    said |= {policy + PATIENT: said[policy] for policy in THEIRS}
    found: Cells = {}
    for setting in SETTINGS:
        found[setting] = {}
        for policy, values in said.items():
            runs = []
            for noise in (-0.1, 0.0, 0.1):
                run = {name: value + noise for name, value in values.items()}
                if setting.kind == "small" and policy == ROUND_ROBIN:
                    run["execution_time_h"] = 10.0 + noise
                if setting.kind == "mixed":
                    run |= {name: value + noise for (who, name), value in changes.items() if who == policy}
                runs.append(run)
            found[setting][policy] = Cell(tuple(runs))
    return found


@pytest.fixture(scope="module")
def trees() -> Sequence[TreeRuns]:
    return tree_runs(dataclasses.replace(FEW, runs=1), lambda done, label: None)


def judge(found: Cells, trees: Sequence[TreeRuns]) -> list[Claim]:
    return list(caron_claims(CaronRuns(found, found, trees, CaronBounds({}, {}, {}, 0))))


def test_all_hold_but_the_number_of_messages_where_all_is_as_the_paper_says(trees: Sequence[TreeRuns]) -> None:
    claims = judge(cells({}), trees)
    assert len(claims) == 14
    assert [claim.statement.split(" for ")[0] for claim in claims if claim.verdict != "holds"] == [
        "a placement is O(mn)"
    ]


@pytest.mark.parametrize(
    ("changes", "against"),
    [
        ({(MONEY, "cost"): 101.0}, ["mixed jobs: the total cost", "policy A spends less"]),
        ({(TIME, "execution_time_h"): 31.0}, ["mixed jobs: the total execution time"]),
        ({(TIME, "delay_h"): 51.0}, ["mixed jobs: the total delay", "policy B has less delay"]),
        ({(TIME, "cost"): 45.0}, ["policy A spends less"]),
        ({(MONEY, "delay_h"): 0.5}, ["policy B has less delay"]),
    ],
)
def test_a_statement_does_not_hold_where_numbers_are_against_it(
    changes: dict[tuple[str, str], float], against: list[str], trees: Sequence[TreeRuns]
) -> None:
    failed = [claim for claim in judge(cells(changes), trees) if claim.verdict == "does not hold"][:-1]
    assert len(failed) == len(against)
    for claim, start in zip(failed, against, strict=True):
        assert claim.statement.startswith(start)
        assert "10 mixed jobs" in claim.reason


def test_round_robin_need_not_be_the_faster_one_everywhere(trees: Sequence[TreeRuns]) -> None:
    found = cells({})

    def verdict(cells: Cells) -> str:
        [claim] = [claim for claim in judge(cells, trees) if "is not always below" in claim.statement]
        return claim.verdict

    small = Setting("small", 20)
    fast = Cell(tuple({**run, "execution_time_h": 40.0} for run in found[small][ROUND_ROBIN].runs))
    once = {**found, small: {**found[small], ROUND_ROBIN: fast}}
    assert verdict(once) == "holds"
    assert verdict({**once, Setting("small", 10): once[small]}) == "does not hold"


def test_what_is_equal_in_every_draw_is_not_judged() -> None:
    found = cells({(MONEY, "delay_h"): 0.0, (ROUND_ROBIN, "delay_h"): 0.0})
    lower = Lower(("mixed",), "delay_h", MONEY, ROUND_ROBIN)
    assert [compared(found[setting], lower) for setting in SETTINGS if setting.kind == "mixed"] == ["alike"] * 2
    assert counted(found, lower) == {"alike": 2}
    assert counted(found, lower._replace(mine=TIME)) == {"does not hold": 2}


def test_differences_are_taken_draw_by_draw() -> None:
    one = Cell(({"cost": 1.0}, {"cost": 101.0}))
    other = Cell(({"cost": 2.0}, {"cost": 102.0}))
    less = one.less(other, itemgetter("cost"))
    assert (less.mean, less.half_width) == (-1.0, 0.0)


def test_every_claim_is_judged_and_one_that_fails_has_a_reason(result: PublishedComparisonResult) -> None:
    demand_judged_claims(result, 14)


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
        # Who has just pushed a job out is not asked.
        assert tree.shape.messages - 2 <= tree.messages[0] <= tree.shape.messages
    by_resources = {
        tree.shape.resources: {other.cost for other in trees if other.shape == tree.shape} for tree in trees
    }
    assert all(len(costs) == 1 for costs in by_resources.values())
    assert any(tree.delay_h[0] > 0 for tree in trees)  # also where no offer is good


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


@pytest.mark.slow
def test_the_shipped_options_bear_out_what_the_docs_say_in_words() -> None:
    claims = {claim.statement: claim for claim in compare(CARON, CaronOptions(runs=6, workers=2)).claims}

    def verdict(start: str) -> str:
        [claim] = [claim for statement, claim in claims.items() if statement.startswith(start)]
        return claim.verdict

    assert verdict("small jobs: the total cost") == "holds"
    assert verdict("small jobs: the total execution time (h) of the policies is not always") == "holds"
    assert verdict("big jobs: the total cost") == "does not hold"
    assert verdict("policy A spends less") == "does not hold"
    assert verdict("one agent above all") == "holds"
