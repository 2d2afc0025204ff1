"""The comparison of two commits names what differs, and has an example of every command."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from spotbag.core.bill import billed_s
from spotbag.replay.bags import rules
from tests.comparison.__main__ import ROOT, package_of
from tests.comparison.commands import examples
from tests.comparison.differences import LEFT_OUT, Comparison, compare_recordings, different_values
from tests.comparison.inputs import PARTS, days, streams
from tests.comparison.recording import RECORDERS, plain


def lines(*cases: tuple[str, Any]) -> list[str]:
    return [json.dumps(case) for case in cases]


def compared(before: list[str], after: list[str]) -> Comparison:
    return compare_recordings(before, after, io.StringIO())


def all_of(found: Comparison) -> list[str]:
    assert isinstance(found.listed, io.StringIO)
    return found.listed.getvalue().splitlines()


def test_a_value_that_changed_is_named_with_its_case_and_path() -> None:
    before = {"cost_usd": 1.23, "bills": [{"vm": "a", "cost_usd": 1.0}, {"vm": "b", "cost_usd": 0.23}]}
    after = {"cost_usd": 1.24, "bills": [{"vm": "a", "cost_usd": 1.0}, {"vm": "b", "cost_usd": 0.24}]}
    same = ("days/1 hads", before)
    found = compared(lines(same, ("days/2 on-time", before)), lines(same, ("days/2 on-time", after)))
    assert (found.cases, found.differing) == (2, 1)
    assert all_of(found) == [
        "days/2 on-time cost_usd: 1.23 -> 1.24",
        "days/2 on-time bills.1.cost_usd: 0.23 -> 0.24",
    ]
    assert found.fields == {"cost_usd": 1, "bills.*.cost_usd": 1}


@pytest.mark.parametrize(
    ("before", "after", "differ"),
    [
        (1, 1.0, [("record", "1", "1.0")]),
        (0.1 + 0.2, 0.3, [("record", "0.30000000000000004", "0.3")]),
        (float("nan"), float("nan"), []),
        ({"a": 1}, {"a": 1, "b": None}, [("b", "absent", "null")]),
        ([1, 2], [1], [("1", "2", "absent")]),
        ({"a": [1]}, {"a": {"0": 1}}, [("a", "[1]", '{"0": 1}')]),
        ("1", 1, [("record", "1", "1")]),
    ],
)
def test_values_are_compared_exactly(before: Any, after: Any, differ: list[tuple[str, str, str]]) -> None:
    assert [*different_values(before, after)] == differ


def test_what_a_commit_no_longer_recorded_differs_and_what_the_clock_ended_is_left_out() -> None:
    cut_short = ("plans/a interval", {LEFT_OUT: "no proof within 20 s"})
    before = lines(("plans/a interval", {"objective": 1}), ("plans/b lpt", {"objective": 2}))
    found = compared(before, lines(cut_short))
    assert (found.left_out, found.cases) == (1, 1)
    assert all_of(found) == [
        "plans/a interval: compared | no proof within 20 s",
        'plans/b lpt record: {"objective": 2} -> absent',
    ]


def test_every_command_has_an_example(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(examples()) > 50
    monkeypatch.setattr("tests.comparison.commands.EXAMPLES", "solve tiny/boot")
    with pytest.raises(LookupError, match="spotbag replan has no example"):
        examples()


def test_every_part_can_be_recorded() -> None:
    assert RECORDERS.keys() == PARTS.keys()


def test_a_changed_rule_of_a_replay_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule that is changed here: every session of a VM is billed a second longer."""
    monkeypatch.setattr("tests.comparison.inputs._DRAWN_AT_ONCE", 5)
    [stream], entry = streams(1), next(days(1))
    entry |= {"days": entry["days"][:2], "policies": ["static", "hads"]}

    def recorded() -> list[str]:
        records = [*RECORDERS["days"](entry), *RECORDERS["streams"](stream | {"policies": ["known"]})]
        return lines(*[(case, plain(record)) for case, record in records])

    before = recorded()
    assert compared(before, recorded()).differing == 0
    monkeypatch.setattr(rules, "billed_s", lambda bill, seconds: billed_s(bill, seconds) + 1)
    found = compared(before, recorded())
    assert {line.partition(" cost_usd")[0] for line in all_of(found)} >= {"days/0 static", "days/1 hads"}
    assert {line.partition("/")[0] for line in all_of(found)} == {"days"}
    assert {"cost_usd", "bills.*.cost_usd"} <= found.fields.keys()


def test_a_checkout_is_imported_by_links(tmp_path: Path) -> None:
    package = package_of(ROOT, tmp_path / "view") / "spotbag"
    assert (package / "cli" / "app.py").samefile(ROOT / "src" / "spotbag" / "cli" / "app.py")
    assert (package / "replay" / "engines.py").samefile(ROOT / "replay" / "engines.py")
