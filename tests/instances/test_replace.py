"""A copy with other fields is checked where the change can matter, and refused as if it were made anew."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from spotbag.core.errors import InputError
from spotbag.core.records import WholeDocument
from spotbag.instances.entries import VmType
from spotbag.instances.instance import Instance, TableOfBag
from spotbag.instances.library import library_instance
from spotbag.instances.platforms.platform import Platform
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.instances.streams.stream import Stream
from spotbag.instances.streams.stream_files import library_stream
from spotbag.schedules.events import TaskFinished, VmEnded
from spotbag.schedules.state import State
from spotbag.schedules.vm_state import TaskOnVm, VmState
from spotbag.solvers.bags.replan import replan
from tests.helpers.random_instances import instance_documents
from tests.helpers.random_platforms import platform_documents
from tests.helpers.soaks import soak_of
from tests.helpers.stream_strategies import stream_documents


def made(make: Callable[[], WholeDocument]) -> WholeDocument | str:
    """What is made, or why not."""
    try:
        return make()
    except InputError as error:
        return str(error)


def made_anew(record: WholeDocument, changes: dict[str, Any]) -> WholeDocument | str:
    fields = {name: getattr(record, name) for name in record.model_fields_set}
    return made(lambda: type(record)(**(fields | changes)))


def tables_of(record: WholeDocument) -> dict[str, Any]:
    """All computed tables that a copy may have from the record that it is made of."""
    names = [name for name in dir(type(record)) if isinstance(getattr(type(record), name, None), TableOfBag)]
    return {name: getattr(record, name) for name in names}


def assert_replaced_as_made_anew(record: WholeDocument, changes: dict[str, Any]) -> None:
    tables_of(record)
    replaced, anew = made(lambda: record.replace(**changes)), made_anew(record, changes)
    assert replaced == anew
    if not isinstance(replaced, str) and not isinstance(anew, str):
        kept, computed = tables_of(replaced), tables_of(anew)
        assert all(np.array_equal(kept[name], computed[name]) for name in kept)
    if isinstance(replaced, WholeDocument) and isinstance(anew, WholeDocument):
        assert replaced.to_document() == anew.to_document()


def test_copies_share_tables_while_another_thread_makes_some() -> None:
    instance = library_instance("hads/J60")
    ended = Event()

    def others() -> None:
        while not ended.is_set():
            for name in ("duration_s", "memory_kb", "slots", "task_ids"):
                vars(instance).pop(name, None)
                getattr(instance, name)

    thread = Thread(target=others)
    thread.start()
    try:
        for deadline_s in range(5000, 5300):
            assert instance.replace(deadline_s=deadline_s).deadline_s == deadline_s
    finally:
        ended.set()
        thread.join()


_INSTANCE = library_instance("tiny/two-cores")
_STREAM = library_stream("tiny/two-jobs")
_PLATFORM = library_platform("caron/two-sites")
_BROKEN: list[tuple[WholeDocument, dict[str, Any], str]] = [
    (_INSTANCE, {"d_spot_s": 10**6}, "d_spot_s 1000000 is after the deadline"),
    (_INSTANCE, {"deadline_s": 1}, "longer than the deadline allows"),
    (_INSTANCE, {"boot_overhead_s": _INSTANCE.deadline_s}, "leaves no time before the deadline"),
    (_INSTANCE, {"boot_overhead_s": _INSTANCE.deadline_s - 1}, "longer than the deadline allows"),
    (_INSTANCE, {"markets": ("spot", "spot")}, "markets is named twice"),
    (_INSTANCE, {"limits": {"max_spot": 0, "max_on_demand": 0}}, "nothing can be rented"),
    (_INSTANCE, {"vm_types": (*_INSTANCE.vm_types, _INSTANCE.vm_types[0])}, "is a duplicate of vm_types"),
    (
        _INSTANCE,
        {"vm_types": (_INSTANCE.vm_types[0].model_copy(update={"memory_mb": 1e-3}),)},
        "fits no VM type",
    ),
    (_INSTANCE, {"tasks": (*_INSTANCE.tasks, _INSTANCE.tasks[0])}, "is a duplicate of tasks"),
    (_INSTANCE, {"tasks": ()}, "must have at least 1 entry"),
    (_INSTANCE, {"deadline": 3}, "is an unknown key"),
    (_STREAM, {"jobs": (*_STREAM.jobs, _STREAM.jobs[0])}, "is a duplicate of jobs"),
    (_STREAM, {"applications": _STREAM.applications[:1]}, "application"),
    (_STREAM, {"vm_types": _STREAM.vm_types[:1]}, "names no VM type"),
    (_STREAM, {"block_s": 0}, "must be greater than or equal to 1"),
    (_PLATFORM, {"jobs": [{"id": "j"}]}, "is missing"),
    (_PLATFORM, {"agents": _PLATFORM.agents[:1]}, "is no agent"),
    (_PLATFORM, {"resources": _PLATFORM.resources[:1]}, "has nothing below it"),
]


@pytest.mark.parametrize(("record", "changes", "said"), _BROKEN)
def test_a_change_that_breaks_a_rule_is_refused(record: WholeDocument, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        record.replace(**changes)
    assert str(caught.value) == made_anew(record, changes)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(instance_documents(), instance_documents())
def test_fields_of_another_instance(first: dict[str, Any], second: dict[str, Any]) -> None:
    compare_all_fields(Instance(**first), Instance(**second))


@soak_of(instance_documents(), instance_documents(), sample=30, whole=2000)
def test_fields_of_thousands_of_other_instances(first: dict[str, Any], second: dict[str, Any]) -> None:
    compare_all_fields(Instance(**first), Instance(**second))


@settings(max_examples=15, deadline=None)
@given(stream_documents(), stream_documents())
def test_fields_of_another_stream(first: dict[str, Any], second: dict[str, Any]) -> None:
    compare_all_fields(Stream(**first), Stream(**second))


@soak_of(stream_documents(), stream_documents(), sample=100, whole=2000)
def test_fields_of_thousands_of_other_streams(first: dict[str, Any], second: dict[str, Any]) -> None:
    compare_all_fields(Stream(**first), Stream(**second))


@settings(max_examples=15, deadline=None)
@given(platform_documents(), platform_documents())
def test_fields_of_another_platform(first: dict[str, Any], second: dict[str, Any]) -> None:
    compare_all_fields(Platform(**first), Platform(**second))


@soak_of(platform_documents(), platform_documents(), sample=100, whole=2000)
def test_fields_of_thousands_of_other_platforms(first: dict[str, Any], second: dict[str, Any]) -> None:
    compare_all_fields(Platform(**first), Platform(**second))


def compare_all_fields(record: WholeDocument, other: WholeDocument) -> None:
    for name in type(record).model_fields:
        if name != "vm_types" or not isinstance(record, Instance):  # of which those stay that are withdrawn
            assert_replaced_as_made_anew(record, {name: getattr(other, name)})


def test_a_type_that_is_withdrawn_stays_where_run_times_name_it() -> None:
    offers = {market: {"price_usd_per_hour": 1.0, "limit": 3} for market in ("spot", "on-demand")}
    types = [VmType(name=name, vcpus=2, memory_mb=1000, offers=offers) for name in ("small", "big", "huge")]
    times = [{"small": 100, "big": 50}, {"big": 50}]
    tasks = [{"id": f"t{k}", "memory_mb": 100, "runtime_s": each} for k, each in enumerate(times)]
    bag = Instance(name="bag", deadline_s=200, vm_types=types, tasks=tasks)
    left = bag.replace(vm_types=types[:1])
    assert [(vm_type.name, offer.limit) for vm_type in left.vm_types for offer in vm_type.offers.values()] == [
        *[("small", 3)] * 2,
        *[("big", 0)] * 2,
    ]
    assert Instance.parse(left.to_text()) == left
    # Whoever offers it again says so; and a catalogue that has none of the types is no withdrawal.
    assert left.replace(vm_types=types[:2]) == bag.replace(vm_types=types[:2])
    with pytest.raises(InputError, match=r"runtime_s\.small names no VM type"):
        bag.replace(vm_types=[VmType(name="other", vcpus=2, memory_mb=1000, offers=offers)])
    # A task that is done needs no type any more, and a VM that is there goes on; only what is left must have a place.
    run = TaskOnVm(task="t1", core=0, start_s=0)
    there = State(instance="bag", time_s=20, vms=(VmState(id="b", type="big", market="spot", running=(run,)),))
    going_on = replan(left, there).schedule
    assert going_on is not None
    assert sorted(going_on.vm_counts()) == ["big spot"]
    assert replan(left, there.advance(60, TaskFinished("t1"), VmEnded("b"))).schedule is not None
    assert replan(left, State(instance="bag", time_s=20)).status == "infeasible"


def test_an_unrelated_change_does_not_check_the_tasks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[int] = []
    monkeypatch.setattr("spotbag.instances.instance.task_issues", lambda tasks, *_: checked.append(len(tasks)) or [])
    _INSTANCE.replace(d_spot_s=_INSTANCE.deadline_s, name="other", markets=("spot",))
    assert checked == []
    _INSTANCE.replace(deadline_s=_INSTANCE.deadline_s + 1)
    assert checked == [len(_INSTANCE.tasks)]
