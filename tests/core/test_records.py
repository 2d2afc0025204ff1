"""Records of documents: whatever a key is called, however much is wrong."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from spotbag.core.errors import InputError, Issue
from spotbag.core.records import WholeDocument, first_issues
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.bags.timeline import TIMELINE_FORMAT, parse_timeline
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.instances.platforms.platform import Platform
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.instances.streams.stream import Stream
from spotbag.instances.streams.stream_files import library_stream
from spotbag.schedules.schedule_files import parse_schedule_document
from spotbag.solvers.bags.solve import solve
from spotbag.traces.files import parse_traces

INSTANCE = library_instance("tiny/two-cores")
PLAN = {"format": "spotbag.schedule/1", "instance": "x", "vms": [], "tasks": []}
READERS: dict[str, tuple[dict[str, Any], Callable[[str, str], object]]] = {
    "instance": (INSTANCE.to_document(), Instance.parse),
    "stream": (library_stream("tiny/two-jobs").to_document(), Stream.parse),
    "platform": (library_platform("caron/two-sites").to_document(), Platform.parse),
    "plan": (PLAN, parse_schedule_document),
    "timeline": ({"format": TIMELINE_FORMAT, "name": "x", "events": []}, parse_timeline),
    "trace": (
        {"record": "header", "format": "spotbag.trace/2", "spotbag": "0", "instance": INSTANCE.to_document()},
        parse_traces,
    ),
}


@pytest.mark.parametrize("key", ["cls", "self", "args", "fields", "model_config", "__init__", "source"])
@pytest.mark.parametrize("reader", READERS)
def test_a_key_called_cls_is_an_unknown_key(reader: str, key: str) -> None:
    document, parse = READERS[reader]
    with pytest.raises(InputError, match=f"{key} is an unknown key"):
        parse(json.dumps({**document, key: 1}), "demo.json")


def test_a_field_called_cls_cannot_be_replaced() -> None:
    for key in ("cls", "self"):
        with pytest.raises(InputError, match=f"{key} is an unknown key"):
            INSTANCE.replace(**{key: 1})


COPIES: dict[str, Callable[[Any], Any]] = {
    "copied": copy.copy,
    "deep-copied": copy.deepcopy,
    "unpickled": lambda value: pickle.loads(pickle.dumps(value)),
    "a model copy": lambda value: value.model_copy() if isinstance(value, WholeDocument) else copy.copy(value),
}


def arrays_of(value: object) -> dict[str, Any]:
    """Every array that an object has or computes."""
    found = {name: getattr(value, name) for name in dir(type(value)) if not name.startswith(("_", "model_"))}
    return {name: array for name, array in found.items() if isinstance(array, np.ndarray)}


def test_instances_with_arrays_are_compared_by_their_fields() -> None:
    one, other = (library_instance("tiny/too-long-for-spot") for _ in range(2))
    assert len(arrays_of(one)) > 10
    assert one == other
    assert len(arrays_of(other)) > 10
    assert one == other
    assert hash(one) == hash(other)
    changed = other.replace(deadline_s=one.deadline_s + 1)
    assert arrays_of(changed)
    assert one != changed
    assert one != one.to_document()


@pytest.mark.parametrize("how", COPIES)
def test_arrays_of_copies_cannot_be_written_to(how: str) -> None:
    instance = with_d_spot(library_instance("tiny/too-long-for-spot"))
    plan = solve(instance, "greedy").schedule
    assert plan is not None
    for original in (instance, plan):
        arrays = arrays_of(original)
        duplicate = COPIES[how](original)
        assert set(arrays_of(duplicate)) == set(arrays) != set()
        for array in (*arrays.values(), *arrays_of(duplicate).values()):
            with pytest.raises(ValueError, match="read-only"):
                array[:] = 0
    assert COPIES[how](instance) == instance
    assert COPIES[how](plan).to_document() == plan.to_document()


def test_a_changed_copy_has_arrays_of_its_own() -> None:
    assert arrays_of(INSTANCE)
    later = INSTANCE.model_copy(update={"boot_overhead_s": 7, "tasks": INSTANCE.tasks[:1]})
    assert later.n_tasks < INSTANCE.n_tasks
    assert "boot_overhead_s" in later.model_fields_set
    assert "boot_overhead_s" not in INSTANCE.model_fields_set


@pytest.mark.parametrize("how", COPIES)
def test_objects_inside_frozen_records_cannot_be_changed(how: str) -> None:
    instance = COPIES[how](library_instance("hads/J60"))
    stream = COPIES[how](library_stream("tiny/two-jobs"))
    objects: list[Any] = [
        instance.tasks[0].runtime_s,
        instance.vm_types[0].offers,
        instance.task_index,
        stream.applications[0].runtime_s,
        library_platform("caron/two-sites").children,
    ]
    for held in objects:
        before = dict(held)
        key = next(iter(held))
        changes: list[Callable[[], object]] = [
            lambda held=held, key=key: held.__setitem__(key, 1),
            lambda held=held, key=key: held.__delitem__(key),
            lambda held=held: held.update(x=1),
            lambda held=held: held.__ior__({"x": 1}),
            lambda held=held: held.setdefault("x", 1),
            lambda held=held: held.popitem(),
            lambda held=held, key=key: held.pop(key),
            lambda held=held: held.clear(),
        ]
        for change in changes:
            with pytest.raises(TypeError, match="belongs to a frozen record"):
                change()
        assert held == before == COPIES[how](held)


def test_of_many_faults_the_first_are_listed_and_more_are_said_to_be_there() -> None:
    issues = [Issue(f"tasks[{number}]", "is wrong") for number in range(25_001)]
    assert first_issues(issues[:-1]) == issues[:-1]
    [more, *listed] = first_issues(issues)
    assert (more.rule, listed) == ("what comes after 25000 faults was not looked at", issues[:-1])
