"""Reports on experiments, of rows by hand."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from spotbag.core.errors import InputError
from spotbag.core.text_tables import Table
from spotbag.experiments.bags.results import experiment_results, judge_experiment
from spotbag.instances.library import library_instance
from spotbag.reports.bags.experiment import experiment_report
from spotbag.reports.page import Graph, Listing, Report, report_page
from spotbag.reports.papers import paper_report, parse_paper
from spotbag.schedules.schedule_files import write_schedule
from spotbag.solvers.bags.solve import solve
from tests.helpers.browser import Reader, in_a_browser

HOSTILE = "<img src=x onerror=alert(1)>"
LIBRARY = "hads/J60"
"""Its optimum is known: 0.247915 to six digits."""


def row(instance: str, method: str, objective: float | None, seconds: float, **more: Any) -> dict[str, Any]:
    values = {"objective": objective, "bound": 0.5, "cost_usd": objective, "makespan_s": 100}
    found = dict.fromkeys(values) | {"status": "no-plan", "reason": "too small"} if objective is None else values
    made = {"instance": instance, "method": method, "seed": 0, "status": "feasible", "runtime_s": seconds, **found}
    return made | {"key": "k", "version": "0.1.0", "machine": "mine", "warnings": []} | more


ROWS = [
    row(LIBRARY, "greedy", 0.5, 0.01, bound=0.2),
    row(LIBRARY, HOSTILE, 0.3, 1.0, bound=0.2),
    row("family,tasks=50,seed=0", "greedy", 1.0, 0.02, makespan_s=90, cost_usd=2.0),
    row("family,tasks=50,seed=0", HOSTILE, 0.5, 2.0, status="optimal"),
    row("family,tasks=100,seed=0", "greedy", None, 0.03),
    row("family,tasks=100,seed=0", HOSTILE, 1.0, 3.0),
]


def figure(scenario: str, printed: float, mean: float, half: float | None) -> dict[str, Any]:
    names = {"table": "Table 1", "job": "J60", "scenario": scenario, "policy": "hads", "quantity": "cost_usd"}
    interval = {"low": None, "high": None} if half is None else {"low": mean - half, "high": mean + half}
    return names | {"relation": "=", "printed": printed, "n": 5, "mean": mean} | interval


PAPER = {
    "format": "spotbag.published-comparison/1",
    "paper": "HADS",
    "rows": [figure("sc1", 2, 3, 0.5), figure("sc2", 4, 4, None)],
}


def experiment(folder: Path, rows: list[dict[str, Any]]) -> Path:
    about = {"format": "spotbag.experiment/1", "version": "0.1.0", "spec": {"description": HOSTILE, "methods": ["m"]}}
    (folder / "experiment.json").write_text(json.dumps(about), encoding="utf-8")
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "rows.jsonl").write_text(f'{text}{{"key": "cut in the mid', encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return experiment_report(experiment(tmp_path_factory.mktemp("experiment"), ROWS), "0.2")


def tables(report: Report, section: str) -> list[Table]:
    [found] = [part.blocks for part in report.sections if part.title == section]
    shown = [block.table for block in found if isinstance(block, Listing)]
    return [Table(table.columns, [tuple(row) for row in table.rows]) for table in shown]


def graph(report: Report, title: str) -> Graph:
    blocks = [block for part in report.sections for block in part.blocks]
    [found] = [block for block in blocks if isinstance(block, Graph) and block.title == title]
    return found


def test_gaps_are_to_the_best_bound_and_known_values_count(report: Report) -> None:
    [gaps] = tables(report, "Gaps")
    assert gaps.rows[0][:2] == (LIBRARY, "greedy")
    assert gaps.rows[0][4:8] == ("0.5", "0.247915", "0.247915", "50.417")
    assert gaps.rows[3][7:10] == ("0.000", "0.000", "optimum")
    assert gaps.rows[4][2] == "0 of 1"
    [totals] = tables(report, "Methods")
    assert totals.rows[0][:4] == ("greedy", "3", "2", "0")
    assert totals.rows[1][:4] == (HOSTILE, "3", "3", "1")
    [left] = tables(report, "Open instances")
    assert left.rows == [("family,tasks=100,seed=0", "1", HOSTILE, "0.5", HOSTILE, "50.000")]
    [failed] = tables(report, "Runs without a plan")
    assert failed.rows == [("family,tasks=100,seed=0", "greedy", "0", "no-plan", "too small")]


def test_the_performance_profile_counts_instances_by_ratio(report: Report) -> None:
    """The greedy is 2.017 and 2 times the best, and without a plan once; the other one 1.21, 1 and 1 times."""
    plot = graph(report, "Performance profile").plots[""]
    greedy, other = ([(10**x, y) for x, y in filter(None, curve.points)] for curve in plot.curves)
    assert greedy[:3] == [(1, 0), pytest.approx((2, 100 / 3)), pytest.approx((2.0168, 200 / 3), rel=1e-4)]
    assert other[0] == pytest.approx((1, 200 / 3))
    assert other[-1][1] == 100
    assert plot.powers == "x"
    assert plot.curves[0].hover[1] == ("greedy: at most 2.0000 times the best on 33 % of the instances",)


def test_growth_and_fronts_are_drawn_for_what_there_is(report: Report) -> None:
    grown = graph(report, "How the time grows").plots
    assert list(grown) == ["family: tasks"]
    assert [[(x, 10**y) for x, y in filter(None, curve.points)] for curve in grown["family: tasks"].curves] == [
        [(50, pytest.approx(0.02)), (100, pytest.approx(0.03))],
        [(50, pytest.approx(2)), (100, pytest.approx(3))],
    ]
    fronts = graph(report, "Plans by cost and makespan").plots
    assert list(fronts) == [LIBRARY, "family,tasks=50,seed=0"]
    assert fronts["family,tasks=50,seed=0"].curves[0].points == ((90, 2), (100, 0.5))


def day(policy: str, cost: Any, makespan: Any, **more: Any) -> dict[str, Any]:
    about = {"instance": "bag", "method": "greedy", "scenario": "sc", "policy": policy, "deadline_s": 100}
    return about | {"cost_usd": cost, "makespan_s": makespan} | more


def test_days_of_policies_are_averaged_and_late_ones_counted(tmp_path: Path) -> None:
    """Of one policy a row has a day, of the other a row has all."""
    days = [(1.0, 90), (2.0, 100), (3.0, 101), (None, None)]
    rows = [day(HOSTILE, cost, makespan) for cost, makespan in days]
    rows.append(day("other", [cost for cost, _ in days], [makespan for _, makespan in days]))
    report = experiment_report(experiment(tmp_path, rows), "0.2")
    [table] = tables(report, "Policies")
    mine, other = table.rows
    assert mine[:4] == ("bag, greedy, sc", HOSTILE, "4", "2.000000")
    assert mine[4] == "-0.484138 to 4.484138"  # Student's t of 2 degrees, 4.302653, over the square root of 3
    assert mine[5] == "97.0"
    assert mine[7:9] == ("2", "50.000")
    assert mine[2:] == other[2:]
    costs = graph(report, "Days by cost").plots["bag, greedy, sc"].curves
    assert [curve.points for curve in costs] == [((1, 25), (2, 50), (3, 75))] * 2
    *_, deadline = graph(report, "Days by makespan").plots["bag, greedy, sc"].curves
    assert (deadline.look.label, deadline.points) == ("deadline (100 s)", ((100, 0), (100, 100)))
    means = graph(report, "Mean cost").plots["bag, greedy, sc"]
    assert means.y_names == (HOSTILE, "other")
    assert [(curve.points, curve.across) for curve in means.curves] == [(((2, 0),), True), (((2, 1),), True)]
    assert len(report_page(report)) <= 5_000_000


def test_plans_and_papers_of_the_folder_are_shown(tmp_path: Path) -> None:
    schedule = solve(library_instance("tiny/two-cores"), "greedy").schedule
    assert schedule is not None
    experiment(tmp_path, ROWS)
    (tmp_path / "plans").mkdir()
    write_schedule(schedule, tmp_path / "plans" / "greedy.json", "greedy")
    other = json.loads((tmp_path / "plans" / "greedy.json").read_text(encoding="utf-8")) | {"instance": "mine"}
    (tmp_path / "plans" / "other.json").write_text(json.dumps(other), encoding="utf-8")
    (tmp_path / "hads.json").write_text(json.dumps(PAPER), encoding="utf-8")
    report = experiment_report(tmp_path, "0.2")
    [plans] = [section.blocks for section in report.sections if section.title == "Plans"]
    assert [type(block).__name__ for block in plans] == ["Heading", "Chart", "Heading", "Paragraph"]
    [figures] = tables(report, "The papers' figures beside ours")
    assert figures.rows[0] == ("Table 1", "J60", "sc1", "hads", "cost ($)", "2", "3", "2.5 to 3.5", "+50.0")


def test_a_paper_alone(tmp_path: Path) -> None:
    report = paper_report(parse_paper(json.dumps(PAPER), "hads.json"), "0.2")
    [figures] = graph(report, "HADS: printed and ours").plots.values()
    assert [curve.points for curve in figures.curves] == [((0, 2), (1, 4)), ((0, 3), (1, 4))]
    assert figures.curves[1].spans == (0.5, 0)
    assert len(figures.x_names) == 2
    with pytest.raises(InputError, match=r"hads\.json: is no spotbag\.published-comparison/1"):
        parse_paper('{"paper": 3}', "hads.json")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('{"instance": "a"}\n', "line 1: is not a row: it is neither"),
        ('{"instance": "a", "method": "m", "cost_usd": []}\n', "line 1: is not a row: it is neither"),
        ('{"instance": "a", "method": "m", "makespan_s": [1]}\n', "line 1: is not a row: it is neither"),
        ('{"instance": "a", "policy": "p", "cost_usd": [], "makespan_s": []}\n', "is not a row: it has no days"),
        ('{"instance": "a", "method": "m", "objective": "x"}\n', "line 1: is not a row"),
        ('{"instance": "a", "method": "m", "runtime_s": -1}\n', "line 1: is not a row"),
        ("[]\n", "line 1: is not a row"),
        ('{"instance": "a", "policy": "p", "cost_usd": [1], "makespan_s": [1, 2]}\n', "line 1: is not a row"),
    ],
)
def test_rows_that_are_none_are_refused(lines: str, message: str, tmp_path: Path) -> None:
    experiment(tmp_path, [])
    (tmp_path / "rows.jsonl").write_text(lines, encoding="utf-8")
    for read in (partial(experiment_report, version="0.2"), experiment_results, judge_experiment):
        with pytest.raises(InputError, match=message):
            read(tmp_path)


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ('{"format": "spotbag.other/1"}', "is not 'spotbag.experiment/1'"),
        ('{"format": "spotbag.experiment/1", "spec": 3}', "must be an object"),
        ('{"format": "spotbag.experiment/1", "spec": {"methods": 3}}', "methods 3 must be a list of names"),
        (f'{{"format": "spotbag.experiment/1", "spec": {{"a": {"[" * 900}{"]" * 900}}}}}', "is nested too deeply"),
    ],
)
def test_what_no_experiment_says_of_itself_is_refused(about: str, message: str, tmp_path: Path) -> None:
    experiment(tmp_path, ROWS)
    (tmp_path / "experiment.json").write_text(about, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        experiment_report(tmp_path, "0.2")


def test_a_folder_without_an_experiment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"it has no experiment\.json"):
        experiment_report(tmp_path, "0.2")


@pytest.mark.slow
def test_a_browser_shows_an_experiment_whose_methods_are_scripts(report: Report, tmp_path: Path) -> None:
    page = report_page(report)
    assert len(page) <= 5_000_000
    assert "img" not in Reader(page.decode("utf-8")).texts
    script = """
    const graphs = [...document.querySelectorAll(".graph")];
    answer.drawn = graphs.map((graph) => graph.querySelector(".legend").children.length);
    answer.legend = [...graphs[0].querySelectorAll(".legend li")].map((item) => item.textContent);
    const choice = document.querySelectorAll(".choice"), last = choice[choice.length - 1];
    last.selectedIndex = 1;
    last.dispatchEvent(new Event("change"));
    answer.chosen = drawn[drawn.length - 1].curves.wide > 0;
    answer.images = document.querySelectorAll("img").length;
    """
    answer = in_a_browser(page, tmp_path, 1400, script)
    assert answer.get("error") is None
    assert answer["errors"] == []
    assert all(answer["drawn"])
    assert len(answer["drawn"]) == 5
    assert answer["legend"] == ["greedy", HOSTILE]
    assert answer["chosen"]
    assert answer["images"] == 0
