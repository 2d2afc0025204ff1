"""Suites, rows that are submitted for them, their check, and what is made of many."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, wilcoxon

from spotbag.core.errors import InputError
from spotbag.core.statistics import holm_adjusted
from spotbag.experiments.bags import submissions
from spotbag.experiments.bags.rankings import rankings
from spotbag.experiments.bags.run import run_experiment
from spotbag.experiments.bags.specification import read_specification
from spotbag.experiments.bags.submissions import CheckedRow, check_submission, checked_row, submitted_lines
from spotbag.experiments.bags.suite import SuiteDocument, drawn_days, find_suite, freeze, suite_names
from spotbag.instances.library import library_instance

SPEC = """
instances = ["tiny/two-cores", "tiny/boot", "memory/two-sizes"]
methods = ["greedy", "lpt"]
[days]
scenarios = ["hads/sc2"]
policies = ["hads", "clairvoyant"]
days = 3
seed = 5
"""
HELD_OUT = 77
Change = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small suite's experiment, run on its open days and on those that are held out."""
    place = tmp_path_factory.mktemp("suite")
    for name, text in (("small", SPEC), ("held-out", SPEC.replace("seed = 5", f"seed = {HELD_OUT}"))):
        (place / f"{name}.toml").write_text(text, encoding="utf-8")
        asked, files = read_specification(str(place / f"{name}.toml"))
        run_experiment(asked, place / name, files_from=files)
    return place


@pytest.fixture(scope="module")
def small(folder: Path) -> SuiteDocument:
    return freeze(str(folder / "small.toml"), HELD_OUT)


@pytest.fixture
def lines(folder: Path, small: SuiteDocument, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    suites = {small.name: small, "suite-1": find_suite("suite-1")}
    monkeypatch.setattr(submissions, "find_suite", suites.__getitem__)
    return list(submitted_lines(folder / "small", small.name, "ours: "))


def changed(lines: list[str], days: bool, change: Change, instance: str = "memory/two-sizes") -> CheckedRow:
    """Check the first row of an instance, of days or a plan, with a change."""
    row = next(row for row in map(json.loads, lines) if bool(row.get("traces")) == days and row["instance"] == instance)
    change(row)
    return checked_row(json.dumps(row), "mine, line 1")


def test_honest_rows_are_what_they_say(lines: list[str]) -> None:
    rows = [checked_row(line, f"line {number}") for number, line in enumerate(lines)]
    assert [row.reason for row in rows] == [""] * len(rows)
    assert len(rows) == 3 * 2 * 2  # the bound has no row
    assert {row.days for row in rows} == {"", "open"}
    assert {row.entry for row in rows} >= {"ours: greedy", "ours: lpt under hads"}
    for row, line in zip(rows, lines, strict=True):
        said = json.loads(line)
        if not row.days:
            assert row.value == pytest.approx(said["objective"])
        elif not row.late_days:
            assert row.value == pytest.approx(sum(said["cost_usd"]) / 3)


def test_held_out_days_are_known_by_their_digest(folder: Path, lines: list[str], small: SuiteDocument) -> None:
    assert small.days["held-out"].seed is None
    assert str(HELD_OUT) not in json.dumps(small.model_dump(mode="json")["days"]["held-out"]["seed"])
    held_out = submitted_lines(folder / "held-out", small.name)
    assert {row.days for row in (checked_row(line, "a line") for line in held_out)} == {"", "held-out"}


def _cheaper(row: dict[str, Any]) -> None:
    row["cost_usd"] *= 0.99


def _cheaper_days(row: dict[str, Any]) -> None:
    row["cost_usd"][1] *= 0.99


def _cheaper_trace(row: dict[str, Any]) -> None:
    end = next(record for record in row["traces"] if record["record"] == "end")
    end["cost_usd"] *= 0.99
    row["cost_usd"][0] = end["cost_usd"]


def _without_an_interruption(row: dict[str, Any]) -> None:
    run = next(record for record in row["traces"] if record["record"] == "run" and record["timeline"]["events"])
    run["timeline"]["events"].pop()


def _another_bag(row: dict[str, Any]) -> None:
    row["plan"]["instance"] = "tiny/boot"


def _tasks_of_another_bag(row: dict[str, Any]) -> None:
    row["plan"]["tasks"].pop()


def _as_another_instance(row: dict[str, Any]) -> None:
    row["instance"] = "tiny/two-cores"


@pytest.mark.parametrize(
    ("days", "change", "said"),
    [
        (False, _cheaper, "says cost_usd"),
        (False, lambda row: row.update(objective=row["objective"] / 2), "says objective"),
        (False, lambda row: row.update(makespan_s=1), "says makespan_s 1"),
        (False, lambda row: row["plan"].update(cost_usd=0.0), "cannot be carried out"),
        (False, _another_bag, "has a plan of another bag, 'tiny/boot', not of"),
        (False, _as_another_instance, "has a plan of another bag"),
        (False, _tasks_of_another_bag, "cannot be carried out"),
        (False, lambda row: row.update(suite_sha256="0" * 64), "another version of the suite"),
        (False, lambda row: row.update(instance="hads/J60"), "is no instance of the suite"),
        (False, lambda row: row.pop("plan"), "must have a plan or traces"),
        (True, lambda row: row.update(plan={}), "must have a plan or traces"),
        (True, _cheaper_days, "says cost_usd[1]"),
        (True, lambda row: row["cost_usd"].pop(), "must have a cost_usd for each of 3 days"),
        (True, lambda row: row.update(late_days=3), "says late_days 3"),
        (True, _cheaper_trace, "day 0: cannot have happened so"),
        (True, _without_an_interruption, "are not those of the suite: their digest is another one"),
        (True, lambda row: row.update(scenario="hads/sc1"), "has no days of memory/two-sizes hads/sc1"),
        (True, lambda row: row.update(policy="on-time"), "is of another policy: hads, not on-time"),
        (True, lambda row: row.update(traces=row["traces"][:1]), "it is cut short"),
        (True, lambda row: row.pop("cost_usd"), "cost_usd is missing"),
    ],
)
def test_tampered_rows_are_refused(lines: list[str], days: bool, change: Change, said: str) -> None:
    row = changed(lines, days, change)
    assert row.value is None
    assert said in row.reason


def test_a_plan_of_another_bag_is_refused_also_under_the_name_of_this_one(lines: list[str]) -> None:
    rows = [json.loads(line) for line in lines]
    plans = {row["instance"]: row["plan"] for row in rows if "plan" in row}
    for name, plan in plans.items():
        for other in plans.keys() - {name}:
            put_in = {"plan": plan | {"instance": plans[other]["instance"]}}
            row = changed(lines, False, lambda row, put_in=put_in: row.update(put_in), other)  # type: ignore[misc]
            assert "cannot be carried out" in row.reason


def test_the_baseline_on_demand_is_no_entry(folder: Path, small: SuiteDocument, lines: list[str]) -> None:
    del lines
    text = SPEC.replace('"hads", "clairvoyant"', '"on-demand"')
    (folder / "baseline.toml").write_text(text, encoding="utf-8")
    asked, files = read_specification(str(folder / "baseline.toml"))
    run_experiment(asked, folder / "baseline", files_from=files)
    rows = [checked_row(line, "a line") for line in submitted_lines(folder / "baseline", small.name)]
    assert all(not row.scenario or "are not those of the suite" in row.reason for row in rows)  # it meets no day


def test_days_of_another_seed_are_refused(folder: Path, small: SuiteDocument, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan is right, the traces are what an engine makes, but the days are others."""
    other = small.model_copy(update={"days": {"open": small.days["open"]}})
    monkeypatch.setattr(submissions, "find_suite", {small.name: other}.__getitem__)
    for line in submitted_lines(folder / "held-out", small.name):
        row = checked_row(line, "a line")
        assert row.reason == "" if row.scenario == "" else "their digest is another one" in row.reason


def test_a_row_of_no_suite_and_lines_that_are_no_rows_are_refused(tmp_path: Path) -> None:
    row = {"suite": "suite-0", "suite_sha256": "0" * 64, "entry": "x", "instance": "hads/J60", "cost_usd": 1.0}
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(row) + "\n{\n[]\n", encoding="utf-8")
    unknown, *broken = check_submission(path)
    assert "is unknown (known: suite-1" in unknown.reason
    assert all(one.reason for one in broken)
    path.write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="is empty"):
        check_submission(path)


@pytest.mark.parametrize("name", suite_names())
def test_the_instances_of_a_suite_are_what_they_were(name: str) -> None:
    suite = find_suite(name)
    for label in suite.instances:
        assert suite.instance(label).name == library_instance(label).name
    assert all(len(days.sha256) == 2 * len(suite.instances) for days in suite.days.values())
    assert suite.days["held-out"].seed is None


@pytest.mark.slow
@pytest.mark.parametrize("name", suite_names())
def test_a_suite_is_still_what_was_frozen(name: str) -> None:
    suite, made = find_suite(name), freeze(name)
    assert (made.instances, made.late_usd) == (suite.instances, suite.late_usd)
    assert made.days["open"] == suite.days["open"]
    assert made.days["open"].sha256 != suite.days["held-out"].sha256


def test_days_are_drawn_as_the_cloud_has_them() -> None:
    [day] = drawn_days(library_instance("hads/J60"), "hads/sc2", 1, 1)
    assert {event.kind for event in day.events} == {"hibernate"}


# ---------------------------------------------------------------------------- rankings


def row_of(entry: str, instance: str, value: float | None, days: str = "") -> CheckedRow:
    return CheckedRow("a line", entry, instance, "sc" if days else "", days, value, reason="" if value else "why")


def test_entries_are_ranked_by_hand() -> None:
    values = {"a": [1, 1, 1, 2], "b": [2, 2, 1, 1], "c": [4, 8, 4, 4]}
    rows = [row_of(entry, f"i{k}", value) for entry, each in values.items() for k, value in enumerate(each)]
    rows += [row_of("a", "i9", 1.0), row_of("c", "i0", None)]  # which c does not have, and one that is refused
    [found] = rankings(rows)
    assert (found.what, found.instances, found.left_out) == ("plans", ("i0", "i1", "i2", "i3"), ("i9",))
    assert [(one.entry, one.mean_rank, one.best) for one in found.entries] == [
        ("a", 1.375, 3),
        ("b", 1.625, 2),
        ("c", 3.0, 0),
    ]
    assert found.entries[0].above_percent == pytest.approx(100 * (2 ** (1 / 4) - 1))
    # Demsar 2006, Table 5: q is 2.343 for three classifiers.
    assert found.critical_difference == pytest.approx(2.343 * math.sqrt(3 * 4 / (6 * 4)), abs=1e-3)
    assert found.friedman_p == pytest.approx(friedmanchisquare(*values.values()).pvalue)
    pairs = {(pair.better, pair.other): pair for pair in found.pairs}
    assert (pairs["a", "b"].wins, pairs["a", "b"].ties, pairs["a", "b"].losses) == (2, 1, 1)
    logs = np.round(np.log(np.array(values["a"]) / np.array(values["c"])), 9)
    assert pairs["a", "c"].p_value == pytest.approx(wilcoxon(logs).pvalue)
    assert [pair.apart for pair in found.pairs] == [False, False, False]
    tests = [pair.p_value for pair in found.pairs if pair.p_value is not None]
    assert [pair.p_holm for pair in found.pairs] == holm_adjusted(tests)


def test_days_are_ranked_apart_and_equals_share_their_ranks() -> None:
    rows = [row_of(entry, f"i{k}", 1.0, "open") for entry in "ab" for k in range(3)] + [row_of("a", "i0", 1.0)]
    days, plans = rankings(rows)
    assert (days.what, days.instances[0], days.friedman_p) == ("open", "i0 sc", None)
    assert [one.mean_rank for one in days.entries] == [1.5, 1.5]
    assert (days.pairs[0].p_value, days.pairs[0].ties) == (None, 3)
    assert (plans.what, plans.pairs) == ("plans", ())


def test_holm_by_hand() -> None:
    assert holm_adjusted([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm_adjusted([0.02], 5) == pytest.approx([0.1])
    assert holm_adjusted([0.9, 0.8]) == [1.0, 1.0]
    assert holm_adjusted([]) == []
