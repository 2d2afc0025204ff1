"""JSON of others: what stands in it twice, and members that have the wrong type."""

from __future__ import annotations

import json
import re
from collections import Counter
from decimal import Decimal, InvalidOperation
from typing import Any

from tests.fuzzing.oracles.readings import (
    RefusalDueError,
    UndecidedError,
    decoded,
)


class JsonObject(dict[str, Any]):
    """An object of JSON, and the keys that stand in it twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        times = Counter(key for key, _ in pairs)
        self.twice = {key for key, number in times.items() if number > 1}


class _Constant:
    """``NaN`` and ``Infinity``, which are no JSON."""


def json_of(data: bytes, doubts: set[str]) -> Any:
    odd = set()

    def pairs(found: list[tuple[str, Any]]) -> JsonObject:
        made = JsonObject(found)
        if made.twice:
            odd.add("keys that stand twice where they are not used")
        return made

    def constant(_: str) -> _Constant:
        odd.add("NaN or Infinity where it is not used")
        return _Constant()

    text = decoded(data, doubts)
    try:
        found = json.loads(text, object_pairs_hook=pairs, parse_float=Decimal, parse_constant=constant)
    except ValueError as error:
        if "digits" in str(error):  # a limit of Python
            raise UndecidedError("a whole number of thousands of digits") from None
        raise RefusalDueError("no JSON") from None
    except RecursionError:
        raise UndecidedError("nested a thousand times") from None
    except InvalidOperation:
        raise UndecidedError("an exponent that no decimal has") from None
    if re.search(r"\\ud[89a-f]", text, re.IGNORECASE):
        odd.add("escapes of surrogates")
    if len(text) > 100_000 or re.search(r"\d{300}|[\[{:]{100}", text):
        odd.add("very long or deep")
    doubts |= odd
    return found


def member(holder: Any, key: str, kind: type | tuple[type, ...], needed: bool = True) -> Any:
    """Return a member of an object, which must have its type; nothing if it is absent and may be."""
    if not isinstance(holder, JsonObject):
        raise RefusalDueError(f"{holder!r:.50} is no object")
    if key in holder.twice:
        raise RefusalDueError(f"{key} stands twice")
    if key not in holder or (holder[key] is None and not needed):
        if needed:
            raise RefusalDueError(f"{key} is missing")
        return None
    if not isinstance(holder[key], kind) or (isinstance(holder[key], bool) and kind is not bool):
        raise RefusalDueError(f"{key} {holder[key]!r:.50} has the wrong type")
    return holder[key]


NUMERIC = (int, Decimal)


def as_float(value: int | Decimal) -> float:
    try:
        return float(value)
    except OverflowError:
        raise RefusalDueError("a number that is too large") from None


def note_null(holder: Any, key: str, doubts: set[str]) -> None:
    if isinstance(holder, JsonObject) and key in holder and holder[key] is None:
        doubts.add("null for a member that may be absent")
