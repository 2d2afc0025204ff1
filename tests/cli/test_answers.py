"""Answers of commands as JSON: what is left out, what is spread, and how records of other rooms are printed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from spotbag.cli.answers import ABSENT, KINDS, Part, answer_of, as_json, beside
from spotbag.core.statistics import Estimate


class _Row(Part):
    """A row with a figure that some rows do not have, and counts beside it."""

    name: str
    bound: float | None
    worst: float | None = ABSENT
    counts: dict[str, int] = beside()


@dataclass(frozen=True)
class _Found:
    name: str
    bound: float
    other: int


def test_absent_is_left_out_and_none_is_null() -> None:
    assert as_json(_Row(name="a", bound=None, counts={})) == {"name": "a", "bound": None}
    assert as_json(_Row(name="a", bound=1, worst=None, counts={})) == {"name": "a", "bound": 1, "worst": None}


def test_an_infinite_bound_is_null() -> None:
    assert as_json(_Row(name="a", bound=math.inf, counts={}))["bound"] is None


def test_counts_stand_beside_the_fields() -> None:
    assert as_json(_Row(name="a", bound=1, counts={"late": 2})) == {"name": "a", "bound": 1, "late": 2}


def test_a_row_takes_the_fields_that_it_has_of_records_but_what_is_given_comes_first() -> None:
    row = _Row.of(_Found("a", 1.0, 3), bound=2.0, counts={})
    assert (row.name, row.bound, row.worst) == ("a", 2.0, ABSENT)


def test_an_estimate_is_printed_with_the_ends_of_its_interval() -> None:
    # 5 ± 1 from three values: 4 to 6
    assert as_json([Estimate(3, 5.0, 1.0)]) == [{"n": 3, "mean": 5.0, "low": 4.0, "high": 6.0}]


def test_each_kind_is_that_of_an_answer() -> None:
    assert {kind: answer_of(kind).FORMAT for kind in KINDS} == {kind: f"spotbag.{kind}/1" for kind in KINDS}
