"""JSON documents: parsed with errors for people, written one record to a line."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from typing import Any
from unittest import mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spotbag.core.errors import InputError
from spotbag.core.json_documents import check_format, format_json, oversize, parse_json


def said(text: str) -> str:
    """Why a text is refused."""
    with pytest.raises(InputError) as caught:
        parse_json(text, "a.json")
    return str(caught.value)


def test_an_object_is_parsed() -> None:
    assert parse_json('\n {"a": [1, {"b": null}]}', "a.json") == {"a": [1, {"b": None}]}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("[]", "a.json: is not a JSON object (it must start with '{')"),
        ('{"a": 1,\n  b}', "is not JSON: Expecting property name enclosed in double quotes in line 2, column 3"),
        ('{"a":' * 100_000, "is nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "holds a number with too many digits"),
        (
            '{"record": "header"}\n{"record": "end"}\n',
            "this is a trace: use 'spotbag audit', or 'spotbag replan' with --at",
        ),
        ('{"record": "other"}\n{"record": "end"}\n', "is not JSON: Extra data in line 2, column 1"),
    ],
)
def test_what_is_no_object_is_refused(text: str, rule: str) -> None:
    assert rule in said(text)


def test_keys_that_are_given_twice_are_named_with_their_places() -> None:
    found = said('{"a": {"x": 1, "x": 2}, "b": [{}, {"y": 1, "y": 1}], "c": 1, "c": 1}')
    for place in ("a: gives the key 'x'", "b[1]: gives the key 'y'", "gives the key 'c'"):
        assert f"{place} more than once" in found


@pytest.mark.parametrize(
    ("document", "rule"),
    [
        ({}, '"format" is missing; it must say "spotbag.instance/1"'),
        ({"format": "spotbag.instance/2"}, "is of a version that cannot be read here; known: 'spotbag.instance/1'"),
        ({"format": "spotbag.schedule/1"}, "is not 'spotbag.instance/1'; this is a plan: use 'spotbag check'"),
        ({"format": "other/1"}, "format 'other/1' is not 'spotbag.instance/1'"),
        ({"format": 3}, "format 3 is not 'spotbag.instance/1'"),
    ],
)
def test_another_format_is_refused(document: dict[str, object], rule: str) -> None:
    with pytest.raises(InputError) as caught:
        check_format(document, "spotbag.instance/1", "a.json")
    assert rule in str(caught.value)


def test_the_format_that_is_expected_passes() -> None:
    check_format({"format": "spotbag.instance/1"}, "spotbag.instance/1", "a.json")


def test_records_are_written_one_to_a_line_and_whole_floats_as_integers() -> None:
    document = {"n": 2.0, "name": "ö", "none": [], "rows": [{"x": 1.5}, {"x": 3.0, "y": [1.0]}], "big": 2.0**53}
    text = format_json(document)
    assert text == (
        '{\n  "n": 2,\n  "name": "ö",\n  "none": [],\n  "rows": [\n    {"x": 1.5},\n    {"x": 3, "y": [1]}\n  ],\n'
        '  "big": 9007199254740992.0\n}\n'
    )
    assert json.loads(text) == document


def test_what_json_has_no_number_for_is_not_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        format_json({"a": math.inf})


SCALARS = st.none() | st.integers() | st.text(st.sampled_from('a"\\{}[]:,é'), max_size=6)
KEYS = st.text(st.sampled_from('a"\\{}[]:'), max_size=3)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=20
)


def counted(value: Any) -> tuple[int, int]:
    """Most keys of an object, and number of objects and arrays."""
    if not isinstance(value, dict | list):
        return 0, 0
    inner = [counted(child) for child in (value.values() if isinstance(value, dict) else value)]
    keys = len(value) if isinstance(value, dict) else 0
    return max([keys, *(most for most, _ in inner)]), 1 + sum(number for _, number in inner)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.text(max_size=3), VALUES), st.integers(1, 40), st.booleans())
@example({"a": {"b": 1, "c": 2}, "d": {"e": {}, "f": 3, "g": 4}}, 3, False)
def test_keys_and_containers_are_those_that_a_reader_finds(value: dict[str, Any], chunk: int, escaped: bool) -> None:
    text = json.dumps(value, ensure_ascii=escaped)
    most_keys, containers = counted(value)
    with mock.patch("spotbag.core.json_documents._CHUNK", chunk):
        assert oversize(text, most_keys) is None
        if most_keys:
            assert oversize(text, most_keys - 1) == f"holds an object with more than {most_keys - 1} keys"
        with (
            mock.patch("spotbag.core.json_documents._FEW", containers - 1),
            mock.patch("spotbag.core.json_documents._FEWEST_CHARACTERS", len(text)),
        ):
            rule = oversize(text, most_keys)
        most = max(containers - 1, 1)
        assert (rule is None) == (containers <= most)
        assert rule is None or f"more than {most} objects and arrays" in rule


@pytest.mark.parametrize("text", ["", '"', "}", "{}}}}", "\\", '{"a', "[" * 20_000, "\ud800", '{"a":"\\'])
def test_what_is_no_json_is_left_to_the_reader(text: str) -> None:
    assert oversize(text, 10) is None


# Each stands for what once took gigabytes or minutes: its text, without what all have in common.
GOOD = '{"id": "t", "memory_mb": 1, "base_runtime_s": 1}'
NONSENSE = {
    "unknown keys inside one task": lambda n: '"tasks": [{' + ",".join(f'"k{i:07d}":0' for i in range(n // 13)) + "}]",
    "unknown keys": lambda n: ",".join(f'"k{i:07d}":0' for i in range(n // 13)),
    "run times": lambda n: '"tasks": [{"runtime_s": {' + ",".join(f'"k{i:07d}":0' for i in range(n // 13)) + "}}]",
    "empty arrays": lambda n: '"tasks": [' + "[]," * (n // 3) + "0]",
    "nested arrays": lambda n: '"tasks": [' + "[[[[[[]]]]]]," * (n // 13) + "0]",
    "faults behind good tasks": lambda n: '"tasks": [' + f"{GOOD}," * 2000 + '{"id": "abcdefgh"},' * (n // 19) + "0]",
    "texts": lambda n: '"tasks": 5, "markets": [' + '"",' * (n // 3) + "0]",
    "duplicates": lambda n: '"tasks": [' + ",".join([GOOD] * (n // 48)) + "]",
}
SCRIPT = """
import os, resource, sys
from spotbag.core.errors import InputError
from spotbag.instances.instance import Instance

for path in sys.argv[1:]:
    if not os.fork():  # what one takes is no part of what the next one takes
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            Instance.read(path)
        except InputError as error:
            print(len(error.issues), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, flush=True)
        os._exit(0)
    os.wait()
"""
N_BYTES = 8_000_000


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    """Faults found and KB taken, by nonsense: read by a process of its own, of which each text has a copy."""
    head = '{"format": "spotbag.instance/1", "name": "x", "deadline_s": 9, "vm_types": [{"name": "a", "vcpus": 1, '
    head += '"memory_mb": 9, "offers": {"on-demand": {"price_usd_per_hour": 1, "limit": 1}}}], '
    folder = tmp_path_factory.mktemp("nonsense")
    for name, text in NONSENSE.items():
        (folder / name).write_text(head + text(N_BYTES) + "}")
    run = [sys.executable, "-c", SCRIPT, *(os.fspath(folder / name) for name in NONSENSE)]
    lines = subprocess.run(run, capture_output=True, text=True, check=True).stdout.splitlines()
    return dict(zip(NONSENSE, ([*map(int, line.split())] for line in lines), strict=True))


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in KB on Linux")
@pytest.mark.xdist_group("nonsense")
@pytest.mark.parametrize("nonsense", NONSENSE)
@pytest.mark.slow
def test_nonsense_takes_little_memory(taken: dict[str, list[int]], nonsense: str) -> None:
    issues, memory_kb = taken[nonsense]
    assert 1 <= issues <= 100_001
    assert 0 < memory_kb * 1000 < 25 * N_BYTES
