"""What happens by itself in a second is on record before its first decision: forged traces, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from spotbag.audits.auditor import audit
from spotbag.audits.bags.day import Day
from spotbag.core.errors import InputError
from spotbag.traces.trace import Trace
from tests.helpers.audited_traces import found, happens

CLOUD = {"name": "x", "interruption": "hibernate", "notice_s": 0}


def replayed(plan: dict[str, list[str]], *events: tuple[int, str, str], boot_s: int = 0, **run: Any) -> Trace:
    """A trace of tasks of 100 s on VMs of one core, whose names begin with their types; a task is named with its VM."""
    types = [
        {
            "name": name,
            "vcpus": 1,
            "memory_mb": 1024,
            "offers": {market: {"price_usd_per_hour": 1.0, "limit": 2} for market in ("spot", "on-demand")},
        }
        for name in "ab"
    ]
    tasks = [{"id": task, "memory_mb": 1, "base_runtime_s": 100} for row in plan.values() for task in row]
    instance = {
        "format": "spotbag.instance/1",
        "name": "seconds",
        "deadline_s": 5000,
        "d_spot_s": 5000,
        "boot_overhead_s": boot_s,
        "vm_types": types,
        "tasks": tasks,
    }
    planned = [
        {"vm": vm, "type": vm[0], "market": "spot"}
        | {"cores": [[{"task": task, "start_s": boot_s + 100 * at} for at, task in enumerate(row)]]}
        for vm, row in plan.items()
    ]
    document = {
        "record": "run",
        "policy": "forged",
        "day": 0,
        "plan": planned,
        "timeline": {"name": "quiet", "events": run.pop("day", [])},
        "cloud": CLOUD,
        "billing": {"first_hour_free": False, "hibernated_usd_per_gb_hour": 0.0},
        "hibernation": run.pop("hibernation", True),
    }
    records = [happens(0, "launch", vm=vm, type=vm[0], market="spot") for vm in plan]
    for t, kind, what in events:
        vm, _, task = what.partition(" ")
        fields: dict[str, Any] = {"vm": vm} | ({"core": 0, "task": task} if task else {})
        records.append(happens(t, kind, **fields, **({"duration_s": 100} if kind == "start" else {})))
    figures = ("late_tasks", "hibernations", "resumes", "on_demand_started", "steal_attempts", "steals", "tasks_stolen")
    end = {"record": "end", "t": events[-1][0], "cost_usd": 0.0, "makespan_s": events[-1][0], "finished": len(tasks)}
    end |= dict.fromkeys((*figures, "checkpoints", "recoveries"), 0)
    end |= {"unfinished": [], "migrations": {"idle": 0, "busy": 0, "new": 0}, "cpu_time_saved_s": 0.0}
    return Trace(instance, document, records, end)


def broken(trace: Trace) -> set[str]:
    """The rules that are broken, but for the figures of the end."""
    return {*found(trace)} - {"figures"}


UP = [(0, "ready", "a"), (0, "start", "a t"), (0, "ready", "b"), (0, "start", "b u")]
ENDED_FIRST = [
    *UP,
    (100, "finish", "a t"),
    (100, "finish", "b u"),
    (100, "start", "b v"),
    (100, "terminate", "a"),
    (200, "finish", "b v"),
    (200, "terminate", "b"),
]


@pytest.mark.parametrize("kind", ["hibernate", "stop", "terminate"])
@pytest.mark.parametrize("notice_s", [None, 30])
def test_what_strikes_a_vm_in_the_second_in_which_it_is_terminated(kind: str, notice_s: int | None) -> None:
    plan = {"a": ["t"], "b": ["u", "v"]}
    assert broken(replayed(plan, *ENDED_FIRST)) == set()
    moment = {"time_s": 100, "type": "a", "event": kind, "notice_s": notice_s}
    assert broken(replayed(plan, *ENDED_FIRST, day=[moment])) == {"timeline"}
    assert broken(replayed(plan, *ENDED_FIRST, day=[moment | {"time_s": 101}])) == set()


def test_no_decision_comes_before_a_start_that_is_due() -> None:
    events = [*UP, (100, "finish", "a t"), (100, "finish", "b u"), (100, "terminate", "b")]
    ends = [(200, "finish", "a v"), (200, "terminate", "a")]
    plan = {"a": ["t", "v"], "b": ["u"]}
    assert broken(replayed(plan, *events[:5], (100, "start", "a v"), *events[5:], *ends)) == set()
    assert "timetable" in broken(replayed(plan, *events, (100, "start", "a v"), *ends))


def test_no_decision_comes_before_an_end_that_is_due() -> None:
    events = [*UP, (100, "finish", "b u"), (100, "terminate", "b"), (100, "finish", "a t"), (100, "start", "a v")]
    events += [(200, "finish", "a v"), (200, "terminate", "a")]
    assert "run-time" in broken(replayed({"a": ["t", "v"], "b": ["u"]}, *events))


def test_no_decision_comes_before_a_boot_that_is_over() -> None:
    plan = {"a": ["t"], "b": []}
    ready, end = [(10, "ready", "a"), (10, "start", "a t")], [(110, "finish", "a t"), (110, "terminate", "a")]
    right = [*ready, (10, "ready", "b"), (10, "terminate", "b"), *end]
    assert broken(replayed(plan, *right, boot_s=10)) == set()
    assert broken(replayed(plan, *ready, (10, "terminate", "b"), *end, boot_s=10)) == {"ready"}


def test_planned_vms_are_requested_in_the_order_of_the_plan() -> None:
    trace = replayed({"a": ["t"], "b": ["u", "v"]}, *ENDED_FIRST)
    trace.events[:2] = trace.events[1::-1]
    assert broken(trace) == {"plan"}


def test_the_on_demand_baseline_has_no_spot_vms() -> None:
    assert broken(replayed({"a": ["t"], "b": ["u", "v"]}, *ENDED_FIRST, hibernation=False)) == {"vm"}


def test_traces_without_a_cloud_are_of_older_versions_that_asked_earlier() -> None:
    trace = replayed(
        {"a": ["t"], "b": ["u", "v"]}, *ENDED_FIRST, day=[{"time_s": 100, "type": "a", "event": "terminate"}]
    )
    del trace.run["cloud"]
    assert broken(trace) == set()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"event": "capacity", "vms": 0, "by": "stop", "share": 0.5}, "'share' does not belong to 'capacity'"),
        ({"event": "stop", "vm": 2, "share": 1.0}, "'share' does not go together with 'vm'"),
        ({"event": "stop", "age_s": 60, "time_s": 0}, "'age_s' needs 'vm', whose age it is, and the time_s 0"),
        ({"event": "stop", "age_s": 60, "vm": 1}, "'age_s' needs 'vm', whose age it is, and the time_s 0"),
    ],
)
def test_events_of_a_day_have_the_fields_of_their_kind_alone(fields: dict[str, Any], message: str) -> None:
    trace = replayed({"a": ["t"], "b": ["u", "v"]}, *ENDED_FIRST, day=[{"time_s": 50, "type": "a"} | fields])
    with pytest.raises(InputError, match=message):
        audit(trace)


def test_a_notice_that_ends_in_the_same_second_as_another_one_changes_nothing() -> None:
    """Warned at 50 s of a stop at 80 s, then at 60 s of the end at 80 s: it is stopped, and warned once."""
    moments = [
        {"time_s": 50, "type": "t", "event": "stop", "notice_s": 30, "vm": 1},
        {"time_s": 60, "type": "t", "event": "terminate", "notice_s": 20, "vm": 1},
    ]
    day = Day(moments, {})
    day.requested("v", "t")
    day.ready("v", 0)
    day.advance(100)
    assert [(due.time_s, due.kind) for due in day.expected_of("v")] == [(50, "notice"), (80, "stop")]
