"""JSON documents: parsing within bounds of memory, all errors at once, tidy writing."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

from .errors import InputError, Issue, input_error, show_value

Document = TypeVar("Document", bound=BaseModel)

NAMED_LISTS = {
    "tasks": "id",
    "vms": "id",
    "vm_types": "name",
    "entries": "instance",
    "applications": "name",
    "jobs": "id",
    "agents": "id",
    "resources": "id",
}
"""Lists of a document whose items have an id or a name, and its key."""


class _DuplicatedKeys(dict[str, Any]):
    """An object that gave a key twice; found again when its path is wanted."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        seen: set[str] = set()
        self.keys_given_twice = sorted({key for key, _ in pairs if key in seen or seen.add(key)})  # type: ignore[func-returns-value]


_LARGE_TEXT = 2_000_000
"""Characters from which on it is looked at how much memory a document would take before it is read."""


def parse_json(text: str, source: str, most_keys: int = 100_000) -> dict[str, Any]:
    """Parse a text that must be one JSON object; see `parse_value`.

    Raises
    ------
    InputError
        If it is none, or `parse_value` refuses it.
    """
    if not text.lstrip(" \t\r\n").startswith("{"):
        raise input_error(source, "is not a JSON object (it must start with '{')")
    document = parse_value(text, source, most_keys)
    assert isinstance(document, dict)
    return document


def parse_value(text: str, source: str, most_keys: int = 100_000) -> Any:
    """Parse a JSON text.

    Parameters
    ----------
    text : str
        The text.
    source : str
        Its name in messages.
    most_keys : int
        Most keys of an object of a large text: nothing in our own formats has as many.

    Raises
    ------
    InputError
        If it is no JSON, is nested too deeply, holds numbers too long to be read, gives a key of an object twice, or
        would take far more memory than any document of its length.
    """
    doubled = False

    # The last value of a doubled key would win silently: such objects are kept apart, to be named all at once.
    def make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal doubled
        made = dict(pairs)
        if len(made) == len(pairs):
            return made
        doubled = True
        return _DuplicatedKeys(pairs)

    # A short text that becomes gigabytes of objects is refused before any of them is made.
    if len(text) > _LARGE_TEXT and (rule := oversize(text, most_keys)):
        raise input_error(source, rule)
    try:
        document = json.loads(text, object_pairs_hook=make_object)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and _begins_a_trace(text[: error.pos]):
            raise input_error(source, WHO_TAKES["spotbag.trace"]) from None
        raise input_error(source, f"is not JSON: {error.msg} in line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise input_error(source, "is nested too deeply") from None
    except ValueError:  # Python's guard against integers of thousands of digits
        raise input_error(source, "holds a number with too many digits") from None
    if doubled:
        raise InputError(source, list(_duplicated_keys(document)))
    return document


def _begins_a_trace(text: str) -> bool:
    """True if the parsed beginning of a text is the header of a trace, which has a document in each line."""
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and header.get("record") == "header"


def _duplicated_keys(document: Any) -> Iterator[Issue]:
    waiting: list[tuple[str, Any]] = [("", document)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, _DuplicatedKeys):
            for key in value.keys_given_twice:
                yield Issue(path, f"gives the key {show_value(key)} more than once")
        if isinstance(value, dict):
            waiting += [(f"{path}.{key}" if path else key, child) for key, child in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{path}[{index}]", child) for index, child in enumerate(value)]


WHO_TAKES = {
    "spotbag.instance": "this is an instance: use 'spotbag solve'",
    "spotbag.jobs": "this is a stream of jobs: use 'spotbag stream' or 'spotbag size'",
    "spotbag.platform": "this is a hybrid platform: use 'spotbag platform'",
    "spotbag.schedule": "this is a plan: use 'spotbag check' or 'spotbag show'",
    "spotbag.state": "this is a state: 'spotbag replan' takes it, and others with --state",
    "spotbag.trace": "this is a trace: use 'spotbag audit', or 'spotbag replan' with --at",
}
"""Advice for a document that was given where another one is wanted, by the name of its format."""


def format_of(text: str) -> str | None:
    """Format name in a JSON object; None if the text is no object, or has no format."""
    # Only this key is decoded: a plan may have hundreds of megabytes of tasks beside it.
    import msgspec

    try:
        found = msgspec.json.decode(text, type=msgspec.defstruct("_", [("format", str)]))
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return None
    return str(getattr(found, "format"))  # noqa: B009


def check_format(document: Mapping[str, Any], expected: str, source: str) -> None:
    """Refuse a document of another format or version before anything else in it is judged."""
    given = document.get("format")
    if given == expected:
        return
    name = expected.split("/")[0]
    if given is None:
        rule = f'"format" is missing; it must say "{expected}"'
    elif isinstance(given, str) and given.split("/")[0] == name:
        rule = f"format {show_value(given)} is of a version that cannot be read here; known: {expected!r}"
    else:
        rule = f"format {show_value(given)} is not {expected!r}"
        kind = given.split("/")[0] if isinstance(given, str) else ""
        rule += f"; {WHO_TAKES[kind]}" if kind in WHO_TAKES else ""
    raise input_error(source, rule)


def refuse_another_document(text: str, expected: str, source: str, but_with: str | None = None) -> None:
    """Refuse a text that is one document of another format, and say what takes it; not one with some field."""
    try:
        document = parse_json(text, source)
    except InputError:
        return
    if "format" in document and but_with not in document:
        check_format(document, expected, source)


def format_json(document: Mapping[str, Any]) -> str:
    """Write a document so that people can read it: lists of records one record to a line.

    Whole floats are written as integers.
    """
    return _object(document, "") + "\n"


def _object(document: Mapping[str, Any], indent: str) -> str:
    lines = []
    for key, value in document.items():
        name = f"{indent}  {json.dumps(key)}"
        if _is_list_of_records(value):
            rows = ",\n".join(f"{indent}    {_compact(row)}" for row in value)
            lines.append(f"{name}: [\n{rows}\n{indent}  ]")
        elif isinstance(value, dict) and _holds_records(value):
            lines.append(f"{name}: {_object(value, indent + '  ')}")
        else:
            lines.append(f"{name}: {_compact(value)}")
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _is_list_of_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _holds_records(value: dict[str, Any]) -> bool:
    """True if a list of records is in an object, or in an object directly inside."""
    parts = value.values()
    return any(_is_list_of_records(part) or (isinstance(part, dict) and _holds_records(part)) for part in parts)


def _compact(value: Any) -> str:
    return json.dumps(_tidy(value), ensure_ascii=False, allow_nan=False)


def _tidy(value: Any) -> Any:
    if isinstance(value, float):
        # From 2**53 on, a float stands for several whole numbers: written as one, it would claim digits that it lacks.
        return int(value) if math.isfinite(value) and value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, dict):
        return {key: _tidy(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_tidy(child) for child in value]
    return value


# ---------------------------------------------------------------------------------------------------- size in memory

_FEWEST_CHARACTERS = 16
"""Mean length of the objects and arrays of any document of ours, at least; each takes some hundred bytes of memory."""
_FEW = 1_000_000
"""Objects and arrays that any text may hold."""
_DEEPEST = 10_000
_CHUNK = 1_000_000

_OBJECT, _ARRAY, _END, _KEY = 1, 2, 3, 4
_KINDS = np.zeros(256, dtype=np.uint8)
for _character, _kind in (("{", _OBJECT), ("[", _ARRAY), ("}", _END), ("]", _END), (":", _KEY)):
    _KINDS[ord(_character)] = _kind
_STEPS = np.array([0, 1, 1, -1, 0], dtype=np.int64)


def oversize(text: str, most_keys: int) -> str | None:
    """Fault of a JSON text whose values would take far more memory than usual for its length; None if there is none.

    Parameters
    ----------
    text : str
        Of a JSON document, or of anything else.
    most_keys : int
        Most keys of an object.
    """
    # Without escapes, every quotation mark begins or ends a text.
    plain = text.encode(errors="replace").replace(b"\\\\", b"__").replace(b'\\"', b"__")
    data = np.frombuffer(plain, dtype=np.uint8)
    most = max(_FEW, len(text) // _FEWEST_CHARACTERS)
    within, depth, containers = False, 0, 0
    n_keys = np.zeros(_DEEPEST + 1, dtype=np.int64)  # of the innermost open object of each depth
    for begin in range(0, len(data), _CHUNK):
        chunk = data[begin : begin + _CHUNK]
        # True from each opening quotation mark to the closing one: brackets in texts open nothing.
        quoted = np.logical_xor.accumulate(chunk == ord('"')) ^ within
        within = bool(quoted[-1])
        kinds = _KINDS[chunk]
        kinds[quoted] = 0
        kinds = kinds[kinds > 0]
        if not len(kinds):
            continue
        containers += int(np.count_nonzero(kinds <= _ARRAY))
        if containers > most:
            return f"holds more than {most} objects and arrays in {len(text)} characters, as no document of ours does"
        depths = depth + np.cumsum(_STEPS[kinds])
        depth = int(depths[-1])
        if depths.min() < 0 or depths.max() > _DEEPEST:
            return None  # no JSON, or too deep for any reader
        if _count_keys(kinds, depths, n_keys) > most_keys:
            return f"holds an object with more than {most_keys} keys"
    return None


def _count_keys(kinds: npt.NDArray[np.uint8], depths: npt.NDArray[np.int64], n_keys: npt.NDArray[np.int64]) -> int:
    """Count the keys of the objects of a chunk, going on with those that were open before it; return the most."""
    counted = (kinds == _OBJECT) | (kinds == _KEY)
    if not counted.any():
        return 0
    # Of 16 bits, as numpy sorts those in linear time.
    kinds, depths = kinds[counted], depths[counted].astype(np.uint16)
    order = np.argsort(depths, kind="stable")
    kinds, depths = kinds[order], depths[order]
    begins = kinds == _OBJECT
    new_depth = np.concatenate([[True], depths[1:] != depths[:-1]])
    starts = np.flatnonzero(begins | new_depth)
    counts = np.add.reduceat((kinds == _KEY).astype(np.int64), starts)
    going_on = ~begins[starts]
    counts[going_on] += n_keys[depths[starts[going_on]]]
    last = np.concatenate([new_depth[starts][1:], [True]])
    n_keys[depths[starts[last]]] = counts[last]
    return int(counts.max())
