"""Long lists of records: decoded to what any other reader reads, or not at all."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.core.errors import InputError
from spotbag.core.record_lists import SHORT_TEXT, Records, decode_long_list, row_type
from spotbag.instances.entries import Task
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance

SHORT = {"id": "a", "memory_mb": 1}
FULL = {"id": "b", "memory_mb": 0.1, "runtime_s": {"x": 1, "y:z": 2.5}, "count": 3, "command": "run: é\n"}


def decoded(*tasks: Any) -> Records[Task] | None:
    """What is decoded of tasks, given as documents or as text."""
    texts = [task if isinstance(task, str) else json.dumps(task) for task in tasks]
    found = decode_long_list(f'{{"name": "n:", "tasks": [{", ".join(texts)}], "seed": 1}}', "tasks", Task)
    if found is None:
        return None
    header, records = found
    assert json.loads(header) == {"name": "n:", "tasks": None, "seed": 1}
    return records


def test_records_are_those_of_the_text() -> None:
    records = decoded(SHORT, FULL, {**SHORT, "base_runtime_s": None})
    assert records == (Task(**SHORT), Task(**FULL), Task(**SHORT, base_runtime_s=None))
    assert records is not None
    assert [task.model_fields_set for task in records] == [set(SHORT), set(FULL), {*SHORT, "base_runtime_s"}]
    assert records[-2:] == (records[1], records[2])
    assert hash(records) == hash(tuple(records))
    assert records[1].runtime_s == {"x": 1, "y:z": 2.5}


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda records: pickle.loads(pickle.dumps(records))])
def test_copies_of_records_are_equal(duplicate: Any) -> None:
    records = decoded(SHORT, FULL)
    assert duplicate(records) == records
    made = Records(Task, (Task(**SHORT), Task(**FULL)))
    assert duplicate(made) == made == records
    assert made != Records(Task, made.rows[:1])
    assert made != Records(Task, made.rows[::-1])


@pytest.mark.parametrize(
    "task",
    [
        '{"id": "a", "memory_mb": 1, "memory_mb": 1}',
        '{"id": "a", "memory_mb": 1, "runtime_s": {"x": 1, "x": 1}}',
        '{"id": "a", "memory_mb": 1, "runtime_s": {"x:": 1, "x:": 1}}',
        r'{"id": "\u003a", "memory_mb": 1, "memory_mb": 1}',
        r'{"id": "\u003A", "memory_mb": 1, "memory_mb": 1}',
    ],
)
def test_a_key_given_twice_is_not_decoded(task: str) -> None:
    assert decoded(task) is None
    assert decoded(SHORT, task, FULL) is None


@pytest.mark.parametrize(
    "task",
    [
        "1",
        "[]",
        "{}",
        "null",
        '{"id": "a"}',
        '{"id": "a", "memory_mb": 1, "x": 1}',
        '{"id": "a", "memory_mb": true}',
        '{"id": "a", "memory_mb": "1"}',
        '{"id": "a", "memory_mb": NaN}',
        '{"id": "a", "memory_mb": 1e999}',
        '{"id": "a", "memory_mb": 1e-7}',
        '{"id": "a", "memory_mb": -1}',
        '{"id": "a", "memory_mb": 01}',
        '{"id": "", "memory_mb": 1}',
        '{"id": "a\tb", "memory_mb": 1}',
        r'{"id": "a\n", "memory_mb": 1}',
        r'{"id": "a\u2028", "memory_mb": 1}',
        '{"id": "a\x7f", "memory_mb": 1}',
        '{"id": "a\x85", "memory_mb": 1}',
        r'{"id": "a\ud800", "memory_mb": 1}',
        r'{"id": "a\udc00", "memory_mb": 1}',
        '{"id": "a\ud800", "memory_mb": 1}',
        '{"id": "' + 201 * "a" + '", "memory_mb": 1}',
        '{"id": "a", "memory_mb": 1, "count": 0}',
        '{"id": "a", "memory_mb": 1, "count": true}',
        '{"id": "a", "memory_mb": 1, "count": 1e2}',
        '{"id": "a", "memory_mb": 1, "count": 100000000000000000000000}',
        '{"id": "a", "memory_mb": 1, "runtime_s": {}}',
        '{"id": "a", "memory_mb": 1, "runtime_s": {"x\\n": 1}}',
        '{"id": "a", "memory_mb": 1, "runtime_s": {"x": null}}',
        '{"id": "a", "memory_mb": 1,}',
        "{'id': 'a', 'memory_mb': 1}",
        10_000 * "[",
    ],
)
def test_what_is_wrong_is_not_decoded(task: str) -> None:
    assert decoded(task) is None
    assert decoded(SHORT, task, FULL) is None


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "5", '{"tasks": 5}', '{"tasks": {}}', '{"tasks": []', '{"tasks": []} 1', '{"tasks": []}']
)
def test_another_text_is_not_decoded(text: str) -> None:
    assert decode_long_list(text, "tasks", Task) is None


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ('{"a": [LIST], "tasks": [LIST]}', '{"a": [LIST], "tasks": null}'),
        ('{"a": {"tasks": [1]}, "tasks" : [LIST]}', '{"a": {"tasks": [1]}, "tasks" : null}'),
        ('{"a": {"tasks": [LIST]}, "tasks": [LIST]}', None),
        (r'{"t\u0061sks": [LIST]}', None),
    ],
)
def test_the_list_is_found_where_it_stands(text: str, header: str | None) -> None:
    task = json.dumps(SHORT)
    found = decode_long_list(text.replace("LIST", task), "tasks", Task)
    assert (None if found is None else found[0]) == (None if header is None else header.replace("LIST", task))


@settings(max_examples=100)
@given(st.integers(0, 10**40), st.integers(0, 10**40), st.integers(-60, 60) | st.none())
def test_numbers_are_read_exactly(whole: int, fraction: int, exponent: int | None) -> None:
    number = f"{whole}.{fraction}" + ("" if exponent is None else f"e{exponent}")
    records = decoded(f'{{"id": "a", "memory_mb": {number}}}')
    if 1e-6 <= float(number) <= 1e9:
        assert records is not None
        assert records[0].memory_mb == float(number)
    else:
        assert records is None


def test_only_fields_with_known_limits_have_rows() -> None:
    from spotbag.instances.entries import VmType

    with pytest.raises(TypeError, match="no rows of"):
        row_type(VmType)


def test_a_long_document_without_tasks_is_refused() -> None:
    document = json.loads(library_instance("tiny/boot").to_text()) | {"description": "x" * SHORT_TEXT, "tasks": []}
    with pytest.raises(InputError, match="must have at least 1 entry"):
        Instance.parse(json.dumps(document))
