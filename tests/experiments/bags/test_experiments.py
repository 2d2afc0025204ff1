"""Experiments: cells, rows that survive whatever ends a run, and what two experiments differ in."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from spotbag.core.errors import InputError, SpotbagError
from spotbag.experiments.bags import days
from spotbag.experiments.bags.cells import PlanCell, Source, family_instance
from spotbag.experiments.bags.days import DaysCell
from spotbag.experiments.bags.results import compare_experiments, experiment_results
from spotbag.experiments.bags.rows import Folder
from spotbag.experiments.bags.run import run_experiment
from spotbag.experiments.bags.specification import (
    Specification,
    format_specification,
    parse_specification,
    read_specification,
    ready_names,
    ready_text,
)
from spotbag.instances.bags.generator import generate_instance
from spotbag.replay.bags.runs import replay_days
from spotbag.reports.bags.experiment import experiment_report
from spotbag.reports.page import Listing

if TYPE_CHECKING:
    from distributed import Client

SMALL = """
description = "small"
instances = ["tiny/boot", "tiny/two-cores"]
methods = ["greedy", "lpt"]

[days]
scenarios = ["hads/sc4"]
policies = ["hads", "static", "clairvoyant"]
days = 5
days_a_cell = 2
"""
MANY = """
instances = ["tiny/boot", "tiny/credits", "tiny/memory-parts-them", "tiny/two-cores"]
methods = ["greedy", "lpt", "ils"]
seeds = 2

[options.ils]
max_iteration = 20

[[families]]
name = "bags"
n_tasks = [8, 12]
classes = [2, 4]
tasks_per_vm = 4
seed = 1

[days]
scenarios = ["hads/sc4", "vms/shocks"]
policies = ["hads", "clairvoyant"]
days = 6
days_a_cell = 3
"""
TIMES = {"runtime_s", "cell_s", "peak_memory_mb"}


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()]


def results(folder: Path) -> dict[str, dict[str, Any]]:
    """Rows by their keys, without times; no key twice."""
    found = rows(folder)
    by_key = {row["cell"]: {name: value for name, value in row.items() if name not in TIMES} for row in found}
    assert len(by_key) == len(found)
    return by_key


def test_cells_become_rows_and_a_report(tmp_path: Path) -> None:
    asked = parse_specification(SMALL, "small")
    progress = run_experiment(asked, tmp_path)
    assert (progress.cells, progress.before, progress.done, progress.interrupted) == (40, 0, 40, False)
    found = rows(tmp_path)
    assert [(row["instance"], row["method"]) for row in found[:4]] == [
        (instance, method) for instance in ("tiny/boot", "tiny/two-cores") for method in ("greedy", "lpt")
    ]
    assert {row["status"] for row in found[4:]} == {"replayed"}
    assert sum(len(row["cost_usd"]) for row in found[4:]) == 4 * 3 * 5
    made = {section.title: section.blocks for section in experiment_report(tmp_path, "1").sections}
    [gaps] = made["Gaps"]
    assert isinstance(gaps, Listing)
    # The optimum of tiny/two-cores is 0.3, and the plan of the greedy 0.4.
    assert gaps.table.rows[2][7] == "25.000"
    policies = made["Policies"][0]
    assert isinstance(policies, Listing)
    late = {row[1]: row[7] for row in policies.table.rows}
    assert late["clairvoyant"] == "-"
    assert late["hads"].isdigit()
    again = run_experiment(asked, tmp_path)
    assert (again.before, again.done) == (40, 0)
    assert rows(tmp_path) == found


def test_days_of_a_cell_are_those_of_all_days(tmp_path: Path) -> None:
    run_experiment(parse_specification(SMALL, "small"), tmp_path / "parts")
    run_experiment(parse_specification(SMALL.replace("days_a_cell = 2", ""), "small"), tmp_path / "whole")
    costs: dict[str, dict[Any, list[float]]] = {"parts": {}, "whole": {}}
    for name, found in costs.items():
        for row in sorted(rows(tmp_path / name), key=lambda row: row.get("first_day", 0)):
            if "policy" in row:
                found.setdefault((row["instance"], row["method"], row["policy"]), []).extend(row["cost_usd"])
    assert costs["parts"] == costs["whole"]
    assert all(len(each) == 5 for each in costs["whole"].values())


def test_policies_of_a_block_are_run_by_themselves_if_one_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_experiment(parse_specification(SMALL, "small"), tmp_path / "whole")
    blocks: list[list[str]] = []

    def failing(schedule: Any, policies: list[str], *given: Any, **more: Any) -> Any:
        blocks.append(policies)
        if "static" in policies:
            raise ZeroDivisionError("nothing to divide by")
        return replay_days(schedule, policies, *given, **more)

    monkeypatch.setattr(days, "replay_days", failing)
    run_experiment(parse_specification(SMALL, "small"), tmp_path / "failing")
    assert blocks[:4] == [["hads", "static"], ["hads"], ["static"], []]
    failed = results(tmp_path / "failing")
    for key, row in results(tmp_path / "whole").items():
        if row.get("policy") == "static":
            assert failed[key]["status"] == "error"
            assert failed[key]["reason"] == "ZeroDivisionError: nothing to divide by"
        else:
            assert failed[key] == row


def test_a_policy_that_is_named_twice_is_replayed_once(tmp_path: Path) -> None:
    twice = SMALL.replace('"static", "clairvoyant"', '"hads", "static", "clairvoyant"')
    assert run_experiment(parse_specification(twice, "small"), tmp_path).cells == 40
    assert len(results(tmp_path)) == 40


@pytest.mark.slow
def test_a_line_cut_in_the_middle_is_run_again(tmp_path: Path) -> None:
    asked = parse_specification(SMALL, "small")
    run_experiment(asked, tmp_path)
    whole, data = results(tmp_path), (tmp_path / "rows.jsonl").read_bytes()
    for kept in (0, 10, len(data) - 1, len(data) // 2, data.index(b"\n") + 1):
        (tmp_path / "rows.jsonl").write_bytes(data[:kept])
        assert run_experiment(asked, tmp_path).done > 0
        assert results(tmp_path) == whole


def test_an_experiment_may_grow_and_another_one_is_refused(tmp_path: Path) -> None:
    text = 'instances = ["tiny/boot"]\nmethods = ["lpt"]\n'
    run_experiment(parse_specification(text, "one"), tmp_path)
    grown = parse_specification(text.replace('["lpt"]', '["lpt", "greedy"]'), "two")
    progress = run_experiment(grown, tmp_path)
    assert (progress.before, progress.done) == (1, 1)
    with pytest.raises(SpotbagError, match="holds rows of another experiment"):
        run_experiment(parse_specification(text, "one"), tmp_path)
    assert len(rows(tmp_path)) == 2


def test_two_processes_do_not_add_to_one_folder(tmp_path: Path) -> None:
    with closing(Folder(tmp_path)), pytest.raises(SpotbagError, match="another process is running this experiment"):
        Folder(tmp_path)
    Folder(tmp_path).close()


def test_what_fails_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('{"format": "spotbag.instance/1"}', encoding="utf-8")
    text = 'instances = ["broken.json", "tiny/boot"]\nmethods = ["lpt"]\n[days]\n'
    text += 'scenarios = ["hads/sc1"]\npolicies = ["hads"]\ndays = 1\n'
    run_experiment(parse_specification(text, "some"), tmp_path / "out", files_from=tmp_path)
    found = {(row["instance"], row["method"], row.get("policy")): row for row in rows(tmp_path / "out")}
    assert found["broken.json", "lpt", None]["status"] == "error"
    assert "deadline_s" in found["broken.json", "lpt", None]["reason"]
    assert found["broken.json", "lpt", "hads"]["status"] == "no-plan"
    assert found["tiny/boot", "lpt", None]["status"] == "optimal"
    assert experiment_report(tmp_path / "out", "1").sections


def test_an_exception_of_a_method_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(source: Source) -> Any:
        raise ZeroDivisionError("nothing to divide by")

    monkeypatch.setattr(Source, "instance", fail)
    run_experiment(parse_specification('instances = ["tiny/boot"]\nmethods = ["lpt"]\n', "one"), tmp_path)
    [row] = rows(tmp_path)
    assert (row["status"], row["reason"]) == ("error", "ZeroDivisionError: nothing to divide by")


def test_keys_tell_cells_apart() -> None:
    source = Source("bag", parameters={"n_tasks": 3})
    plan = PlanCell(source, "lpt", 0, 1.0, 0.0, 1, (), True)
    others = [
        PlanCell(Source("bag", parameters={"n_tasks": 4}), "lpt", 0, 1.0, 0.0, 1, (), True),
        PlanCell(Source("bag", text="{}"), "lpt", 0, 1.0, 0.0, 1, (), True),
        PlanCell(source, "ils", 0, 1.0, 0.0, 1, (), True),
        PlanCell(source, "lpt", 1, 1.0, 0.0, 1, (), True),
        PlanCell(source, "lpt", 0, 2.0, 0.0, 1, (), True),
        PlanCell(source, "lpt", 0, 1.0, 0.0, 1, (("trials", 3),), True),
    ]
    days = [DaysCell(plan, "a", "", "b", 0, first, n) for first, n in ((0, 1), (1, 1), (0, 2))]
    keys = [cell.key for cell in (plan, *others, *days)]
    assert len(set(keys)) == len(keys)
    # A plan that is replayed is the same plan.
    assert PlanCell(source, "lpt", 0, 1.0, 0.0, 1, (), False).key == plan.key


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("instances = [", "is not valid TOML"),
        ('instances = ["tiny/none"]', "is no instance of the library"),
        ('instances = ["tiny/boot"]\nmethods = ["gredy"]', "gredy"),
        ('instance = ["tiny/boot"]', "instance"),
        ('instances = ["tiny/boot"]\n[days]\nscenarios = ["hads/sc9"]\npolicies = ["hads"]', "sc9"),
        ('instances = ["tiny/boot"]\n[days]\nscenarios = ["hads/sc1"]\npolicies = ["hds"]', "hds"),
        ('instances = ["tiny/boot"]\n[options.lpt]\ntrials = 3', "of no method of this experiment"),
        ("", "there is nothing to run"),
        ('papers = ["hads"]\n[paper_options.thai]\nseed = 1', "is no paper of this experiment"),
        ('[[families]]\nname = "a"\nn_tasks = 3\nlimit = 1\ntasks_per_vm = 2', "give one of them"),
    ],
)
def test_what_is_wrong_with_a_specification_is_said(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SpotbagError, match=message):
        parse_specification(text, "mine.toml").cells(tmp_path)


def test_a_specification_is_read_as_it_was_written() -> None:
    for text in (SMALL, MANY, *(ready_text(name) for name in ready_names())):
        asked = parse_specification(text, "some")
        assert parse_specification(format_specification(asked), "again") == asked
    odd = Specification(description='a "quoted"\n\t\x7f name: \u00e9\\', time_limit_s=1e-5, target_gap=0.25)
    assert parse_specification(format_specification(odd), "odd") == odd


def test_rows_of_an_experiment_that_nobody_keeps_are_those_of_its_folder(tmp_path: Path) -> None:
    asked = parse_specification(SMALL, "small")
    told: list[dict[str, Any]] = []
    run_experiment(asked, None, on_cell=lambda cell: told.append(cell.row))
    run_experiment(asked, tmp_path)
    kept = results(tmp_path)
    assert len(told) == len(kept) == 40
    for row in json.loads(json.dumps(told)):
        assert {name: value for name, value in row.items() if name not in TIMES} == kept[row["cell"]]


def test_ready_experiments_can_be_read() -> None:
    assert ready_names() == [
        "classical",
        "cores",
        "days",
        "gaps",
        "memory",
        "nightly",
        "papers",
        "scale",
        "suite-1",
        "user-map",
    ]
    for name in ready_names():
        asked, folder = read_specification(name)
        assert asked.description
        plans, days = asked.cells(folder)
        assert bool(plans) != bool(asked.papers)
        assert bool(days) == (name in ("days", "suite-1"))
    with pytest.raises(InputError, match="none of the experiments that are ready"):
        read_specification("gasp")


def _folder(folder: Path, text: str, scale: float) -> Path:
    run_experiment(parse_specification(text, "some"), folder)
    changed = [json.dumps(_scaled(row, scale)) for row in rows(folder)]
    (folder / "rows.jsonl").write_text("\n".join(changed) + "\n", encoding="utf-8")
    return folder


def _scaled(row: dict[str, Any], scale: float) -> dict[str, Any]:
    if row["method"] == "lpt" and "objective" in row:
        row["objective"] *= scale
    if row.get("policy") == "hads":
        row["cost_usd"] = [cost if cost is None else cost + scale - 1 for cost in row["cost_usd"]]
    return row


def test_two_experiments_are_compared(tmp_path: Path) -> None:
    old = _folder(tmp_path / "old", SMALL, 1.0)
    new = _folder(tmp_path / "new", SMALL.replace('"lpt"]', '"lpt", "ils"]'), 1.25)
    found = compare_experiments(old, new)
    by_method = {entry.method: entry for entry in found.methods}
    assert (by_method["greedy"].better, by_method["greedy"].same, by_method["greedy"].worse) == (0, 2, 0)
    assert (by_method["lpt"].worse, by_method["lpt"].objective_percent.mean) == (2, pytest.approx(25))
    assert [round(change.percent, 6) for change in found.changes] == [25, 25]
    costs = {(entry.replayed, entry.policy): entry.cost_usd.mean for entry in found.policies}
    assert costs["tiny/boot, lpt, hads/sc4", "hads"] == pytest.approx(0.25)
    assert costs["tiny/boot, lpt, hads/sc4", "static"] == 0
    assert (found.only_before, found.only_after, found.settings) == (0, 20, ("methods",))


def test_rows_say_whether_time_has_ended_some_of_the_work(tmp_path: Path) -> None:
    text = 'instances = ["memory/m30"]\nmethods = ["greedy", "interval"]\ntime_limit_s = 0.2\n'
    old, new = tmp_path / "old", tmp_path / "new"
    run_experiment(parse_specification(text + "[time_limits_s]\ngreedy = 60.0\n", "one"), old)
    found = {row["method"]: (row["ended_by_time"], row["time_limit_s"]) for row in rows(old)}
    assert found == {"greedy": (False, 60.0), "interval": (True, 0.2)}
    ended = {"greedy": 0, "interval": 1}
    assert {entry.method: entry.ended_by_time for entry in experiment_results(old)} == ended
    shutil.copytree(old, new)
    for folder, value in ((old, 2.0), (new, 3.0)):
        text = "".join(json.dumps(row | {"objective": value}) + "\n" for row in rows(folder))
        (folder / "rows.jsonl").write_text(text, encoding="utf-8")
    differences = compare_experiments(old, new)
    assert {entry.method: entry.ended_by_time for entry in differences.methods} == ended
    assert {change.method: change.ended_by_time for change in differences.changes} == ended
    [table] = [block.table for block in experiment_report(old, "1").sections[2].blocks if isinstance(block, Listing)]
    assert [(row[1], row[3]) for row in table.rows] == [("greedy", "0 of 1"), ("interval", "1 of 1")]


# ------------------------------------------------------------------- what ends a run


def reduced_gaps() -> str:
    """The experiment ``gaps`` of two instances and small families, a seed each, and with little time for proofs."""
    asked = parse_specification(ready_text("gaps"), "gaps")
    families = []
    for family in asked.families:
        ends = {name: [value[0], value[-1]] for name, value in family.model_dump().items() if isinstance(value, list)}
        n_tasks = [24, 40] if isinstance(family.n_tasks, list) else 32
        families.append(family.model_copy(update=ends | {"seed": 1, "n_tasks": n_tasks}))
    changes = {"instances": ["tiny/boot", "tiny/two-cores"], "families": families, "time_limit_s": 0.1}
    methods = {"methods": ["greedy", "lpt", "ils", "search", "auto", "columns"]}
    return format_specification(asked.model_copy(update=changes | methods))


@pytest.fixture(scope="module", params=["many", "gaps"])
def undisturbed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, dict[str, Any]]]:
    text = {"many": MANY, "gaps": reduced_gaps()}[request.param]
    folder = tmp_path_factory.mktemp("experiment")
    (folder / "spec.toml").write_text(text, encoding="utf-8")
    run_experiment(parse_specification(text, "spec"), folder / "whole")
    found = results(folder / "whole")
    assert len(found) > 70
    heuristics = [row for row in found.values() if row["method"] in ("greedy", "lpt", "ils")]
    assert len(heuristics) > 25
    assert not any(row.get("ended_by_time") for row in heuristics)
    return folder / "spec.toml", found


@pytest.fixture(scope="module")
def two_workers() -> Iterator[Client]:
    """A cluster whose processes have loaded everything once, for all tests that lose one."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def demand_equal(found: dict[str, dict[str, Any]], whole: dict[str, dict[str, Any]]) -> None:
    """Demand the same rows, each once; what time has ended may have come to something else."""
    assert found.keys() == whole.keys()
    free = {key for rows in (found, whole) for key, row in rows.items() if row.get("ended_by_time")}
    assert {key: row for key, row in found.items() if key not in free} == {
        key: row for key, row in whole.items() if key not in free
    }
    assert len(free) < len(whole) / 2
    for key in free:
        for name in ("instance", "method", "seed", "time_limit_s", "n_tasks"):
            assert found[key][name] == whole[key][name]


def _begun(spec: Path, out: Path, *more: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "spotbag", "experiment", "run", str(spec), "--out", str(out), *more]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _wait_for_lines(path: Path, n: int, running: subprocess.Popen[bytes]) -> None:
    while running.poll() is None and (not path.is_file() or path.read_bytes().count(b"\n") < n):
        time.sleep(0.005)


@pytest.mark.slow
@pytest.mark.xdist_group("experiments")
@pytest.mark.parametrize("workers", [1, 2])
def test_nothing_is_lost_when_an_experiment_is_killed(
    workers: int, undisturbed: tuple[Path, dict[str, dict[str, Any]]], tmp_path: Path
) -> None:
    spec, whole = undisturbed
    path, draw = tmp_path / "rows.jsonl", random.Random(workers)
    before = 0
    for kill in range(2):
        running = _begun(spec, tmp_path, "--workers", str(workers))
        _wait_for_lines(path, before + draw.randrange(1, len(whole) // 4), running)
        running.send_signal(signal.SIGKILL)
        running.wait()
        kept = path.read_bytes()
        assert kept.count(b"\n") > before
        before = kept.count(b"\n")
        if kill == 1:  # as if the machine had lost power amid a line
            path.write_bytes(kept[: kept.rstrip(b"\n").rindex(b"\n") + 30])
            before -= 1
    assert before < len(whole)
    asked, folder = read_specification(str(spec))
    run_experiment(asked, tmp_path, files_from=folder, workers=workers)
    demand_equal(results(tmp_path), whole)


@pytest.mark.slow
@pytest.mark.xdist_group("experiments")
@pytest.mark.parametrize("undisturbed", ["many"], indirect=True)
def test_rows_of_compiled_replays_are_those_of_others(
    undisturbed: tuple[Path, dict[str, dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spotbag.experiments.bags.run._COMPILES_FROM", 1)
    run_experiment(read_specification(str(undisturbed[0]))[0], tmp_path)
    demand_equal(results(tmp_path), undisturbed[1])


@pytest.mark.slow
@pytest.mark.xdist_group("experiments")
def test_rows_of_two_processes_are_those_of_one(
    undisturbed: tuple[Path, dict[str, dict[str, Any]]], tmp_path: Path
) -> None:
    spec, whole = undisturbed
    asked, folder = read_specification(str(spec))
    run_experiment(asked, tmp_path, files_from=folder, workers=2)
    demand_equal(results(tmp_path), whole)


@pytest.mark.slow
@pytest.mark.xdist_group("experiments")
def test_rows_of_a_cluster_that_loses_a_worker_are_those_of_one_process(
    undisturbed: tuple[Path, dict[str, dict[str, Any]]], two_workers: Client, tmp_path: Path
) -> None:
    spec, whole = undisturbed
    asked: Specification = read_specification(str(spec))[0]
    two_workers.wait_for_workers(2)  # one may have been lost before
    pids = list(two_workers.run(os.getpid).values())
    done = threading.Event()

    def count(cell: object) -> None:
        if not done.is_set() and len(rows(tmp_path)) > 40:
            done.set()
            os.kill(pids[0], signal.SIGKILL)

    run_experiment(asked, tmp_path, workers=two_workers, on_cell=count)
    assert done.is_set()
    demand_equal(results(tmp_path), whole)


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        # lpt uses no random numbers: one run; the others have one for each seed.
        ('instances = ["tiny/boot"]\nmethods = ["lpt", "search", "ils"]\nseeds = 100000', 200_001),
        ('methods = ["lpt"]\n[[families]]\nname = "a"\nn_tasks = [N]\nseed = [N]', 1000 * 1000),
        (
            'instances = ["tiny/boot"]\nmethods = ["lpt"]\n'
            '[days]\nscenarios = ["hads/sc1", "hads/sc2"]\npolicies = ["hads"]\ndays = 1000000\ndays_a_cell = 1',
            1 + 2_000_000,
        ),
    ],
)
def test_cells_are_counted_and_the_first_is_there_without_the_others(text: str, cells: int, tmp_path: Path) -> None:
    numbers = ", ".join(map(str, range(5, 1005)))
    asked = parse_specification(text.replace("N", numbers), "many")
    made: list[object] = []
    init = PlanCell.__init__

    def counted(*given: Any, **named: Any) -> None:
        made.append(given[0])
        init(*given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlanCell, "__init__", counted)
        plans, days = asked.cells(tmp_path)
        assert len(plans) + len(days) == cells
        next(iter(plans))
        assert next(iter(days), None) is None or len(made) == 2
    assert len(made) <= 2


@pytest.mark.parametrize("families", [1, 2])
def test_lists_that_explode_are_counted_before_anything_is_made(families: int, tmp_path: Path) -> None:
    numbers = ", ".join(map(str, range(1, 1001)))
    keys = ("n_tasks", "seed", "classes", "limit", "max_on_demand", "deadline_s")
    family = '[[families]]\nname = "a"\n' + "\n".join(f"{key} = [{numbers}]" for key in keys)
    asked = parse_specification('methods = ["lpt"]\n' + f"{family}\n" * families, "lists")
    with pytest.raises(InputError, match=f"has {families * 1000**6:,} cells; at most 10,000,000 can be run"):
        asked.cells(tmp_path)


def test_families_of_a_name_share_instances_and_refuse_others(tmp_path: Path) -> None:
    text = '[[families]]\nname = "a"\nn_tasks = [5, 6, 6]\n[[families]]\nname = "a"\nn_tasks = [6, 7]\n{}'
    asked = parse_specification('methods = ["lpt"]\n' + text.format(""), "shared")
    plans, _ = asked.cells(tmp_path)
    assert [cell.source.label for cell in plans] == ["a,n_tasks=5", "a,n_tasks=6", "a,n_tasks=7"]
    assert len(plans) == 3
    clash = parse_specification('methods = ["lpt"]\n' + text.format("classes = 2"), "clash")
    with pytest.raises(InputError, match="calls two instances 'a,n_tasks=6'"):
        clash.cells(tmp_path)


@pytest.mark.parametrize("given", [{"tightness": 0.5}, {"deadline_s": 9000}])
def test_a_family_is_limited_as_generated_instances_are_unless_deadline_and_tightness_say_it(given: Any) -> None:
    assert family_instance(n_tasks=8, **given) == generate_instance(8, **given)
    both = family_instance(n_tasks=8, deadline_s=9000, tightness=0.5)
    assert both == generate_instance(8, deadline_s=9000, tightness=0.5, limit=None)
