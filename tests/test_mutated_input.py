"""Broken files: whatever is done to a valid one, there is a clean error or a correct reading."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar
from unittest import mock

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spotbag.audits.bags.plan import check
from spotbag.core.errors import SpotbagError
from spotbag.core.records import WholeDocument
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.instances.platforms.agent_trees import depth_of
from spotbag.instances.platforms.platform import Platform
from spotbag.instances.streams.draws import draw_jobs
from spotbag.instances.streams.stream import Stream
from spotbag.schedules.documents import ScheduleDocument
from spotbag.schedules.schedule_files import format_schedule, parse_schedule_document, schedule_of_document
from spotbag.solvers.bags.solve import solve
from tests.helpers.random_instances import instance_documents
from tests.helpers.random_platforms import platform_documents
from tests.helpers.soaks import soak_of
from tests.helpers.stream_strategies import stream_documents

NASTY = st.one_of(
    st.sampled_from(
        [
            None, True, False, 0, -1, 1, 0.5, -0.5, 10**9, 10**9 + 1, 2**53, 2**63, 10**40, 1e-320, 1e300,
            float("nan"), float("inf"), float("-inf"), "", "x", "spot", "a\nb", "\u0000", "\ud800", "9" * 5000,
            [], {}, [[]], [{}], {"": None}, [None], {"spot": 1}, "NaN", "1e5",
        ]
    ),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.recursive(
        st.none() | st.integers(),
        lambda child: st.lists(child, max_size=2) | st.dictionaries(st.text(max_size=3), child, max_size=2),
        max_leaves=4,
    ),
)  # fmt: skip


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container and key of a document."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        container = waiting.pop()
        keys = list(container) if isinstance(container, dict) else range(len(container))
        for key in keys:
            found.append((container, key))
            if isinstance(container[key], dict | list):
                waiting.append(container[key])
    return found


@st.composite
def broken(draw: st.DrawFn, document: dict[str, Any]) -> str:
    """Text of a document with one to three things broken, in its structure and in its letters."""
    faulty = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        options = places(faulty)
        if not options:
            break
        container, key = options[draw(st.integers(0, len(options) - 1))]
        what = draw(st.sampled_from(["replace", "replace", "delete", "double", "rename", "add", "swap"]))
        if what == "replace":
            container[key] = copy.deepcopy(draw(NASTY))  # the samples are shared: what is put into one would stay
        elif what == "delete":
            del container[key]
        elif what == "double" and isinstance(container, list):
            container.append(copy.deepcopy(container[key]))
        elif what == "rename" and isinstance(container, dict):
            container[draw(st.text(max_size=6))] = container.pop(key)
        elif what == "add" and isinstance(container, dict):
            name = draw(st.sampled_from(["x", "id", "spot", "count", "baseline_fraction", ""]))
            container[name] = copy.deepcopy(draw(NASTY))
        elif what == "swap":
            other, other_key = options[draw(st.integers(0, len(options) - 1))]
            container[key] = copy.deepcopy(other[other_key])
    text = json.dumps(faulty)
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        at = draw(st.integers(0, len(text)))
        what = draw(st.sampled_from(["cut", "drop", "insert", "repeat"]))
        if what == "cut":
            text = text[:at]
        elif what == "drop":
            text = text[:at] + text[at + draw(st.integers(1, 4)) :]
        elif what == "insert":
            text = (
                text[:at]
                + draw(st.sampled_from(['"', "{", "}", "[", "]", ",", ":", "9", "-", "e", "\\", "\x00", "é"]))
                + text[at:]
            )
        else:
            text = text[:at] + text[max(0, at - 30) : at] + text[at:]
    return text


RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
FEW = settings(RELAXED, max_examples=15)


Whole = TypeVar("Whole", bound=WholeDocument)


def read_if_valid(kind: type[Whole], text: str) -> Whole | None:
    """Read a text, and again what is written of it; None if it is refused with a clean message."""
    read = read_or_refused(kind, text)
    with as_long_documents():
        assert_same(read_or_refused(kind, text), read)
    if isinstance(read, str):
        return None
    assert kind.parse(read.to_text()) == read
    return read


def read_or_refused(kind: type[Whole], text: str) -> Whole | str:
    try:
        return kind.parse(text, "broken.json")
    except SpotbagError as error:
        assert str(error).startswith("broken.json: ")
        str(error).encode("utf-8", "backslashreplace")
        return str(error)


@contextmanager
def as_long_documents() -> Iterator[None]:
    """Read short documents in the way of long ones."""
    with (
        mock.patch("spotbag.core.records.SHORT_TEXT", 0),
        mock.patch("spotbag.instances.instance._FEW_TASKS", 0),
    ):
        yield


def assert_same(read: WholeDocument | str, other: WholeDocument | str) -> None:
    """Assert that two readings of a text agree in everything, with what was given and what was not."""
    assert read == other
    if not isinstance(read, WholeDocument) or not isinstance(other, WholeDocument):
        return
    assert repr(read) == repr(other)
    assert read.to_text() == other.to_text()
    assert pickle.loads(pickle.dumps(read)) == other
    if isinstance(read, Instance) and isinstance(other, Instance):
        for name in ("task_ids", "group_size", "memory_kb", "given_runtime_s", "duration_s", "checkpoint_interval_s"):
            np.testing.assert_array_equal(getattr(read, name), getattr(other, name))


@given(st.data())
@FEW
def test_broken_instances_give_a_clean_error_or_a_correct_reading(data: st.DataObject) -> None:
    _read_broken_instances(data)


@soak_of(st.data(), sample=250, whole=5000)
def test_thousands_of_broken_instances(data: st.DataObject) -> None:
    _read_broken_instances(data)


def _read_broken_instances(data: st.DataObject) -> None:
    instance = read_if_valid(Instance, data.draw(instance_documents(3).flatmap(broken)))
    if instance is not None and instance.n_tasks <= 100:
        try:
            result = solve(instance, "greedy")
        except SpotbagError as error:
            assert "D_spot cannot be estimated" in str(error)
            return
        assert result.schedule is not None or result.message


@given(st.data())
@FEW
def test_broken_streams_give_a_clean_error_or_a_correct_reading(data: st.DataObject) -> None:
    _read_broken_streams(data)


@soak_of(st.data(), sample=250, whole=5000)
def test_thousands_of_broken_streams(data: st.DataObject) -> None:
    _read_broken_streams(data)


def _read_broken_streams(data: st.DataObject) -> None:
    stream = read_if_valid(Stream, data.draw(stream_documents().flatmap(broken)))
    if stream is not None and stream.n_tasks <= 100:
        assert draw_jobs(stream, 0).instance.n_tasks == stream.n_tasks


@given(st.data())
@FEW
def test_broken_platforms_give_a_clean_error_or_a_correct_reading(data: st.DataObject) -> None:
    _read_broken_platforms(data)


@soak_of(st.data(), sample=250, whole=5000)
def test_thousands_of_broken_platforms(data: st.DataObject) -> None:
    _read_broken_platforms(data)


def _read_broken_platforms(data: st.DataObject) -> None:
    platform = read_if_valid(Platform, data.draw(platform_documents().flatmap(broken)))
    assert platform is None or depth_of(platform) >= 1


INSTANCE = with_d_spot(library_instance("tiny/too-long-for-spot"))
BURST = library_instance("tiny/credits")


def _plan(instance: Instance) -> dict[str, Any]:
    if instance is BURST:
        vm = {"id": "v", "type": "b", "market": "on-demand"}
        task = {"id": "t", "vm": "v", "core": 0, "start_s": 0, "end_s": 120, "mode": "baseline"}
        return {"format": "spotbag.schedule/1", "instance": instance.name, "vms": [vm], "tasks": [task]}
    schedule = solve(instance, "greedy").schedule
    assert schedule is not None
    document: dict[str, Any] = json.loads(format_schedule(schedule, "greedy"))
    return document


def plan_or_refused(text: str) -> ScheduleDocument | str:
    try:
        return parse_schedule_document(text, "broken.json")
    except SpotbagError as error:
        return str(error)


@cache
def _plans() -> list[tuple[Instance, dict[str, Any]]]:
    return [(instance, _plan(instance)) for instance in (INSTANCE, BURST)]


@given(st.data())
@FEW
def test_broken_plans_give_a_clean_error_or_a_correct_reading(data: st.DataObject) -> None:
    _read_broken_plans(data)


@soak_of(st.data(), sample=250, whole=5000)
def test_thousands_of_broken_plans(data: st.DataObject) -> None:
    _read_broken_plans(data)


def _read_broken_plans(data: st.DataObject) -> None:
    instance, plan = data.draw(st.sampled_from(_plans()))
    text = data.draw(broken(plan))
    document = plan_or_refused(text)
    with as_long_documents():
        other = plan_or_refused(text)
    assert document == other
    if isinstance(document, str) or isinstance(other, str):
        assert str(document).startswith("broken.json: ")
        return
    assert repr(document) == repr(other)
    assert document.model_dump(mode="json", exclude_unset=True) == other.model_dump(mode="json", exclude_unset=True)
    report = check(instance, document, d_spot_s=instance.d_spot_s or 0)
    again = check(instance, other, d_spot_s=instance.d_spot_s or 0)
    assert (again.violations, again.cost_usd) == (report.violations, report.cost_usd)
    try:
        schedule = schedule_of_document(document, instance, "broken.json")
    except SpotbagError as error:
        assert str(error).startswith("broken.json: ")
        assert not report.feasible
        return
    assert report.cost_usd == schedule.cost_usd or abs(report.cost_usd - schedule.cost_usd) < 1e-9
    assert report.makespan_s == schedule.makespan_s
