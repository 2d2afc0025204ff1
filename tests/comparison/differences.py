"""What differs between two recordings: the values, each with its path."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, NamedTuple, TextIO

LEFT_OUT = "left out"
"""Key of a record that says why its case has no values to be compared, e.g. as its method was ended by the clock."""

_ABSENT = "absent"
_LISTED_OF_A_CASE = 100
"""One event more moves all that follow it: the first differences of a case say what is wrong with it."""

_KEPT = 10


class Difference(NamedTuple):
    """A value that differs, by its case (``days/17 on-time``) and its path in the record (``cost_usd``)."""

    case: str
    path: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.case} {self.path}: {self.before} -> {self.after}"


@dataclass
class Comparison:
    """What a part comes to.

    Attributes
    ----------
    listed : text file
        Takes a line for each difference, and for each case that is left out.
    cases, differing : int
        Cases that were compared, and those of them that differ anywhere.
    errors, left_out : int
        Cases that end by the same error with both commits; cases that a commit, or both, left out.
    fields : Counter
        Cases that differ in a field, by its path without numbers.
    first : list of Difference
        The first difference of each of the first cases that differ.
    """

    listed: TextIO
    cases: int = 0
    differing: int = 0
    errors: int = 0
    left_out: int = 0
    fields: Counter[str] = field(default_factory=Counter)
    first: list[Difference] = field(default_factory=list)

    def take(self, case: str, before: Any, after: Any) -> None:
        """Compare the records of a case."""
        reasons = [_left_out(before), _left_out(after)]
        if any(reasons):
            self.left_out += 1
            print(f"{case}: {reasons[0] or 'compared'} | {reasons[1] or 'compared'}", file=self.listed)
            return
        self.cases += 1
        found = [Difference(case, *difference) for difference in different_values(before, after)]
        self.errors += not found and isinstance(before, dict) and "error" in before
        self.differing += bool(found)
        self.fields.update({re.sub(r"\d+", "*", difference.path) for difference in found})
        self.first += found[: len(self.first) < _KEPT]
        self.listed.writelines(f"{difference}\n" for difference in found[:_LISTED_OF_A_CASE])
        if len(found) > _LISTED_OF_A_CASE:
            print(f"{case} and {len(found) - _LISTED_OF_A_CASE} more", file=self.listed)


def compare_recordings(before: Iterable[str], after: Iterable[str], listed: TextIO) -> Comparison:
    """Compare the lines of two recordings of the same inputs; a commit may have ended before it had recorded all."""
    found = Comparison(listed)
    for old, new in zip_longest(before, after):
        if old == new and LEFT_OUT not in old and '"error"' not in old:
            found.cases += 1
            continue
        (case, was), (same, now) = (json.loads(line) if line else (None, _ABSENT) for line in (old, new))
        if case and same and case != same:
            raise ValueError(f"the recordings are of different inputs: {case}, {same}")
        found.take(case or same, was, now)
    return found


def different_values(before: Any, after: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """The values that differ, each with its path; 1 and 1.0 do, and numbers that are none are the same."""
    if isinstance(before, dict) and isinstance(after, dict):
        pairs = [(key, before.get(key, _ABSENT), after.get(key, _ABSENT)) for key in before | after]
    elif isinstance(before, list) and isinstance(after, list):
        pairs = [(str(key), *pair) for key, pair in enumerate(zip_longest(before, after, fillvalue=_ABSENT))]
    else:
        texts = [value if isinstance(value, str) else json.dumps(value) for value in (before, after)]
        if type(before) is not type(after) or texts[0] != texts[1]:
            yield path or "record", *texts
        return
    for key, old, new in pairs:
        yield from different_values(old, new, f"{path}.{key}" if path else key)


def _left_out(record: Any) -> str:
    return str(record.get(LEFT_OUT, "")) if isinstance(record, dict) else ""
