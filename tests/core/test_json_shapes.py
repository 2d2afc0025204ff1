"""What a JSON text holds, seen before it is read: the counts of a reader, in bounded memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any
from unittest import mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spotbag.core.json_shapes import oversize

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


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.text(max_size=3), VALUES), st.integers(1, 40), st.booleans())
@example({"a": {"b": 1, "c": 2}, "d": {"e": {}, "f": 3, "g": 4}}, 3, False)
def test_keys_and_containers_are_those_that_a_reader_finds(value: dict[str, Any], chunk: int, escaped: bool) -> None:
    text = json.dumps(value, ensure_ascii=escaped)
    most_keys, containers = counted(value)
    with mock.patch("spotbag.core.json_shapes._CHUNK", chunk):
        assert oversize(text, most_keys) is None
        if most_keys:
            assert oversize(text, most_keys - 1) == f"holds an object with more than {most_keys - 1} keys"
        with (
            mock.patch("spotbag.core.json_shapes._FEW", containers - 1),
            mock.patch("spotbag.core.json_shapes._FEWEST_CHARACTERS", len(text)),
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
