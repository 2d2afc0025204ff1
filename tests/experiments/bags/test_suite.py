"""Suites, rows that are submitted for them, their check, and what is made of many."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, wilcoxon

from spotbag.core.errors import InputError
from spotbag.core.statistics import holm_adjusted
from spotbag.experiments.bags import submissions
from spotbag.experiments.bags.run import run_experiment
from spotbag.experiments.bags.specification import read_specification
from spotbag.experiments.bags.submissions import CheckedRow, check_submissions, checked_row, rankings, submitted_lines
from spotbag.experiments.bags.suite import SuiteDocument, drawn_days, find_suite, freeze, suite_names
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.library import library_instance
from spotbag.replay.bags.plan import checked
from spotbag.replay.bags.runs import trace_day
from spotbag.schedules.schedule_files import schedule_document_of, schedule_of_document
from spotbag.traces.trace import document_sha256

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


@pytest.fixture(scope="module")
def suites(small: SuiteDocument) -> Iterator[None]:
    """The small suite beside that of the library."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(submissions, "find_suite", lambda name: small if name == small.name else find_suite(name))
        yield


@pytest.fixture(scope="module")
def lines(folder: Path, small: SuiteDocument, suites: None) -> list[str]:
    return [line for line, _ in submitted_lines(folder / "small", small.name, "ours: ")]


def rows_in(lines: list[str], days: bool, instance: str = "memory/two-sizes") -> list[dict[str, Any]]:
    """Return the rows of an instance, of days or of plans."""
    return [row for row in map(json.loads, lines) if ("traces" in row) == days and row["instance"] == instance]


def changed(lines: list[str], days: bool, change: Change, instance: str = "memory/two-sizes") -> CheckedRow:
    """Check the first row of an instance, of days or a plan, with a change."""
    row = rows_in(lines, days, instance)[0]
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


@pytest.mark.slow
def test_held_out_days_are_known_by_their_digest(folder: Path, lines: list[str], small: SuiteDocument) -> None:
    assert small.days["held-out"].seed is None
    assert str(HELD_OUT) not in json.dumps(small.model_dump(mode="json")["days"]["held-out"]["seed"])
    held_out = submitted_lines(folder / "held-out", small.name)
    assert {(row.days, row.reason) for _, row in held_out} == {("", ""), ("held-out", "")}


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
        (False, lambda row: row.pop("plan"), "plan is missing"),
        (True, lambda row: row.update(plan={}), "the plan: "),
        (True, _cheaper_days, "says cost_usd[1]"),
        (True, lambda row: row["cost_usd"].pop(), "says number of days 2, but it comes to 3"),
        (True, lambda row: row.update(late_days=3), "says late_days 3"),
        (True, _cheaper_trace, "day 0 cannot have happened so"),
        (True, _without_an_interruption, "are not those of the suite: their digest is another one"),
        (True, lambda row: row.update(scenario="hads/sc1"), "has no days of memory/two-sizes hads/sc1"),
        (True, lambda row: row.update(policy="on-time"), "day 0 is of another policy: hads, not on-time"),
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


def test_costs_of_a_plan_in_a_list_are_refused(lines: list[str]) -> None:
    row = changed(lines, False, lambda row: row.update(cost_usd=[row["cost_usd"]]))
    assert "cost_usd (an array) must be a number" in row.reason


def test_a_plan_with_the_fields_of_days_is_refused(lines: list[str]) -> None:
    """It was another instance of the ranking, so that all entries had none in common."""
    row = changed(lines, False, lambda row: row.update(scenario="hads/sc2", policy="zz", late_days=77))
    assert "scenario is an unknown key" in row.reason


def test_a_row_without_a_format_is_refused(lines: list[str]) -> None:
    assert '"format" is missing' in changed(lines, False, lambda row: row.pop("format")).reason


@pytest.mark.parametrize("keys", [{"seed": 1, "jobs": []}, {"began_at": 0.0}])
def test_days_of_a_stream_or_an_execution_are_refused(
    lines: list[str], keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_others(records: object, source: str) -> list[Any]:
        traces = read(records, source)
        traces[0].run.pop("timeline")
        traces[0].run.update(keys)
        return traces

    read: Any = submissions.traces_of_records
    monkeypatch.setattr(submissions, "traces_of_records", of_others)
    assert "something else than replays of a bag" in changed(lines, True, lambda row: None).reason


def test_another_plan_on_each_day_is_refused(lines: list[str]) -> None:
    """The better of two plans, chosen when the day was known."""
    row, other = rows_in(lines, True)
    ends = [[at for at, record in enumerate(each["traces"]) if record["record"] == "end"] for each in (row, other)]
    row["traces"][: ends[0][0] + 1] = other["traces"][: ends[1][0] + 1]
    row["cost_usd"][0] = other["cost_usd"][0]
    assert "day 0 is of another plan" in checked_row(json.dumps(row), "a line").reason


def test_days_of_a_policy_under_the_name_of_another_are_refused(lines: list[str], small: SuiteDocument) -> None:
    [row, _] = rows_in(lines, True)
    instance = small.instance(row["instance"])
    plan = checked(schedule_of_document(schedule_document_of(row["plan"]), instance))

    def renamed(row: dict[str, Any], policy: str) -> CheckedRow:
        for record in row["traces"]:
            record.update({"policy": policy} if record["record"] == "run" else {})
        return checked_row(json.dumps(row | {"policy": policy}), "a line")

    [days] = [drawn_days(instance, "hads/sc2", 5, 3)]
    traces = [trace_day(plan, "burst-hads", day, day=number)[1] for number, day in enumerate(days)]
    row["traces"] = [dict(record) for record in submissions.trace_records(traces)]
    row["cost_usd"] = [trace.end["cost_usd"] for trace in traces]
    row["late_days"] = sum((trace.end["makespan_s"] or math.inf) > instance.deadline_s for trace in traces)
    assert renamed(row, "burst-hads").reason == ""
    assert ", but hads comes to" in renamed(row, "hads").reason
    assert renamed(row, "theirs").reason == ""  # nobody here knows what it does


def test_days_of_another_d_spot_are_refused(lines: list[str]) -> None:
    def late_spot_vms(row: dict[str, Any]) -> None:
        header = row["traces"][0]
        header["instance"]["d_spot_s"] += 1
        header["sha256"] = document_sha256(header["instance"])

    assert "cannot have happened so: d_spot_s is" in changed(lines, True, late_spot_vms).reason


def test_days_in_another_order_of_numbers_are_refused(lines: list[str]) -> None:
    """A policy that draws could have the number of the day that suits it."""
    row = changed(lines, True, lambda row: row["traces"][1].update(day=9))
    assert "day 0 is of another day: 9, not 0" in row.reason


def test_instances_are_frozen_with_their_d_spot(small: SuiteDocument) -> None:
    for label, digest in small.instances.items():
        assert digest == document_sha256(with_d_spot(library_instance(label)).to_document())


def test_the_baseline_on_demand_is_no_entry(folder: Path, small: SuiteDocument, lines: list[str]) -> None:
    del lines
    text = SPEC.replace('"hads", "clairvoyant"', '"on-demand"')
    (folder / "baseline.toml").write_text(text, encoding="utf-8")
    asked, files = read_specification(str(folder / "baseline.toml"))
    run_experiment(asked, folder / "baseline", files_from=files)
    rows = [row for _, row in submitted_lines(folder / "baseline", small.name)]
    assert [(row.scenario, row.reason) for row in rows] == [("", "")] * 6  # it meets no day


def test_days_of_another_seed_are_refused(folder: Path, small: SuiteDocument, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan is right, the traces are what an engine makes, but the days are others."""
    other = small.model_copy(update={"days": {"open": small.days["open"]}})
    monkeypatch.setattr(submissions, "find_suite", {small.name: other}.__getitem__)
    for _, row in submitted_lines(folder / "held-out", small.name):
        assert row.reason == "" if row.scenario == "" else "their digest is another one" in row.reason


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("rows.jsonl", "{}\n", "line 1: is not a row"),
        ("plans/{cell}.json", "{\n", "{cell}.json: is not JSON"),
        ("experiment.json", "{}", '"format" is missing'),
    ],
)
def test_broken_files_of_an_experiment_are_named(
    folder: Path, small: SuiteDocument, lines: list[str], tmp_path: Path, file: str, text: str, said: str
) -> None:
    del lines
    shutil.copytree(folder / "small", tmp_path / "mine")
    cell = json.loads((folder / "small" / "rows.jsonl").read_text(encoding="utf-8").splitlines()[0])["cell"]
    (tmp_path / "mine" / file.format(cell=cell)).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said.format(cell=cell)):
        list(submitted_lines(tmp_path / "mine", small.name))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda row, plan: plan.pop("vms"), "the plan: vms is missing"),
        pytest.param(lambda row, plan: row.update(policy="theirs"), "'theirs' is not a policy", marks=pytest.mark.slow),
        pytest.param(lambda row, plan: row.update(first_day=1), "their digest is another one", marks=pytest.mark.slow),
    ],
)
def test_a_row_whose_days_are_not_those_or_cannot_be_replayed_is_left_out(
    folder: Path, small: SuiteDocument, lines: list[str], tmp_path: Path, change: Any, said: str
) -> None:
    """Some ended the command, without a word on which row it was."""
    place = tmp_path / "mine"
    shutil.copytree(folder / "small", place)
    rows = [json.loads(line) for line in (place / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    number, row = next((number, row) for number, row in enumerate(rows) if row.get("policy") == "hads")
    of_plan = next(one for one in rows if (one["instance"], one["method"]) == (row["instance"], row["method"]))
    plan = json.loads((place / "plans" / f"{of_plan['cell']}.json").read_text(encoding="utf-8"))
    change(row, plan)
    (place / "plans" / f"{of_plan['cell']}.json").write_text(json.dumps(plan), encoding="utf-8")
    (place / "rows.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in rows), encoding="utf-8")
    found = list(submitted_lines(place, small.name))
    assert len(found) == len(lines)
    [left_out] = [one for _, one in found if one.source.endswith(f"line {number + 1}")]
    assert said in left_out.reason


def test_a_row_of_no_suite_and_lines_that_are_no_rows_are_refused(tmp_path: Path) -> None:
    head = {"format": "spotbag.submission/1", "suite": "suite-0", "suite_sha256": "0" * 64, "entry": "a\u2028b"}
    row = head | {"instance": "hads/J60", "cost_usd": 1.0, "makespan_s": 1, "objective": 1.0, "plan": {}}
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(row, ensure_ascii=False) + "\n\n{\n[]\n", encoding="utf-8")
    unknown, *broken = check_submissions([path])
    assert "is unknown (known: suite-1" in unknown.reason
    assert [one.source for one in broken] == [f"{path}, line 3", f"{path}, line 4"]
    assert all(one.reason for one in broken)


@pytest.mark.parametrize(("text", "said"), [("", "is empty"), ("hello\n{}\n", "holds no row of a submission; the row")])
def test_a_file_without_a_row_is_no_submission(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        check_submissions([path])


@pytest.mark.slow
def test_a_second_row_of_the_same_is_refused(lines: list[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    rows = check_submissions([path, path])
    assert [bool(row.reason) for row in rows] == [False] * len(lines) + [True] * len(lines)
    assert f"the first is {path}, line 1" in rows[len(lines)].reason


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


def row_of(
    entry: str, instance: str, value: float | None, days: str = "", late_days: int = 0, suite: str = "s"
) -> CheckedRow:
    about = {"suite": suite, "entry": entry, "instance": instance, "scenario": "sc" if days else "", "days": days}
    return CheckedRow("a line", **about, value=value, late_days=late_days, reason="why" if value is None else "")


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
    logs = np.log(values["a"]) - np.log(values["c"])
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


def test_ties_are_the_same_in_ranks_pairs_and_friedmans_test() -> None:
    """Costs that differ by less than sums in another order are equal; small ones that do not are not."""
    less = {"a": 1.0, "b": 1.0 + 1e-9, "c": 1.0 + 3e-9}
    [found] = rankings(row_of(entry, f"i{k}", value) for entry, value in less.items() for k in range(3))
    assert [(one.mean_rank, one.best, one.above_percent) for one in found.entries] == [(2.0, 3, 0.0)] * 3
    assert [(pair.ties, pair.p_value) for pair in found.pairs] == [(3, None)] * 3
    assert found.friedman_p is None
    small = {"a": 1e-9, "b": 1.4e-9}
    [found] = rankings(row_of(entry, f"i{k}", value) for entry, value in small.items() for k in range(3))
    assert [(one.mean_rank, one.best) for one in found.entries] == [(1.0, 3), (2.0, 0)]
    assert found.pairs[0].wins == 3


def test_an_entry_that_costs_nothing_is_better_than_one_that_costs_something() -> None:
    [found] = rankings(row_of(entry, f"i{k}", value) for entry, value in (("a", 1.0), ("b", 0.0)) for k in range(2))
    assert [(one.entry, one.mean_rank) for one in found.entries] == [("b", 1.0), ("a", 2.0)]
    assert (found.pairs[0].wins, found.entries[0].above_percent) == (2, 0.0)


def test_late_days_are_those_of_the_instances_that_are_compared() -> None:
    rows = [row_of("a", "i0", 1.0, "open", 2), row_of("a", "i1", 1.0, "open", 5), row_of("b", "i0", 2.0, "open", 1)]
    [found] = rankings(rows)
    assert [(one.entry, one.late_days) for one in found.entries] == [("a", 2), ("b", 1)]


def test_rows_of_two_suites_are_ranked_apart() -> None:
    found = rankings([row_of("a", "i0", 1.0), row_of("b", "i0", 2.0, suite="t")])
    assert [(one.suite, [entry.entry for entry in one.entries]) for one in found] == [("s", ["a"]), ("t", ["b"])]


def test_entries_without_a_common_instance_are_named() -> None:
    rows = [row_of("a", "i0", 1.0), row_of("a", "i1", 1.0), row_of("b", "i0", 2.0), row_of("c", "i1", 2.0)]
    with pytest.raises(InputError, match="s, plans: no instance has a row of each entry; 'b' lacks 1 of 2, 'c' lacks"):
        rankings(rows)


def test_pairs_are_compared_on_all_instances_that_both_have() -> None:
    rows = [row_of(entry, f"i{k}", value) for entry, value in (("a", 1.0), ("b", 2.0)) for k in range(4)]
    [found] = rankings([*rows, row_of("c", "i0", 3.0)])
    assert found.instances == ("i0",)
    assert {(pair.better, pair.other): pair.wins for pair in found.pairs} == {
        ("a", "b"): 4,
        ("a", "c"): 1,
        ("b", "c"): 1,
    }


def test_holm_by_hand() -> None:
    assert holm_adjusted([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm_adjusted([0.02], 5) == pytest.approx([0.1])
    assert holm_adjusted([0.9, 0.8]) == [1.0, 1.0]
    assert holm_adjusted([]) == []
