"""Traces of days of today's clouds, worked out by hand, with the VM types and tasks of `hand_made_traces`."""

from __future__ import annotations

from typing import Any

from spotbag.traces.trace import Trace
from tests.helpers.hand_made_traces import LONG, MORE, trace, vm

READY_S = 10
RESUMES_S = 5000
CLOUDS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "papers": ("hibernate", 0, {}),
    "aws-terminate": ("terminate", 120, {"minimum_s": 60, "first_hour_free": True}),
    "aws-stop": ("stop", 120, {"minimum_s": 60, "first_hour_free": True}),
    "aws-hibernate": ("hibernate", 0, {"minimum_s": 60, "first_hour_free": True}),
    "gcp": ("stop", 30, {"minimum_s": 60}),
    "azure": ("stop", 30, {"minimum_s": 60}),
}
"""Interruption, notice and billing of each cloud, as their documents have them."""


def day_of(cloud: str, first_s: int, second_s: int, cost_usd: float) -> Trace:
    """Two spot VMs: one ends with its task after so many seconds, the cloud takes the other after so many.

    The task of the other takes 4,000 s, without checkpoints. A hibernated VM goes on at 5,000 s. One that is stopped
    boots again then, and begins anew. If the VM is gone, an on-demand VM takes the task at once: it is ready after
    10 s, billed from then on, and begins after 30 s.
    """
    kind, notice_s, billing = CLOUDS[cloud]
    gone_s = READY_S + second_s
    tasks = [
        {"id": "brief", "memory_mb": 100, "runtime_s": {"two": first_s}},
        {"id": "late", "memory_mb": 100, "runtime_s": {"two": 4000}},
    ]
    late = {"core": 0, "task": "late"}
    events: list[tuple[Any, ...]] = [
        (0, "launch", {"vm": "a", "type": "two", "market": "spot"}),
        (0, "launch", {"vm": "b", "type": "two", "market": "spot"}),
        (10, "ready", {"vm": "a"}),
        (10, "start", {"vm": "a", "core": 0, "task": "brief", "duration_s": first_s}),
        (10, "ready", {"vm": "b"}),
        (10, "start", {"vm": "b", **late, "duration_s": 4000}),
        (READY_S + first_s, "finish", {"vm": "a", "core": 0, "task": "brief"}),
        (READY_S + first_s, "terminate", {"vm": "a"}),
    ]
    if notice_s:
        events.append((gone_s - notice_s, "notice", {"vm": "b", "until_s": gone_s}))
    figures: dict[str, Any]
    if kind == "hibernate":
        end_s = RESUMES_S + 4000 - second_s
        events += [
            (gone_s, "hibernate", {"vm": "b"}),
            (RESUMES_S, "resume", {"vm": "b"}),
            (end_s, "finish", {"vm": "b", **late}),
            (end_s, "terminate", {"vm": "b"}),
        ]
        figures = {"hibernations": 1, "resumes": 1}
    elif kind == "stop":
        end_s = RESUMES_S + 10 + 4000
        events += [
            (gone_s, "stop", {"vm": "b"}),
            (RESUMES_S, "restart", {"vm": "b"}),
            (RESUMES_S + 10, "ready", {"vm": "b"}),
            (RESUMES_S + 10, "start", {"vm": "b", **late, "duration_s": 4000}),
            (end_s, "finish", {"vm": "b", **late}),
            (end_s, "terminate", {"vm": "b"}),
        ]
        figures = {"stops": 1, "restarts": 1}
    else:
        end_s = gone_s + 30 + 4000
        events += [
            (gone_s, "reclaim", {"vm": "b"}),
            (gone_s, "launch", {"vm": "c", "type": "two", "market": "on-demand"}),
            (gone_s, "migrate", {"task": "late", "from": "b", "to": "c", "kind": "new"}),
            (gone_s + 10, "ready", {"vm": "c"}),
            (gone_s + 30, "start", {"vm": "c", **late, "duration_s": 4000}),
            (end_s, "finish", {"vm": "c", **late}),
            (end_s, "terminate", {"vm": "c"}),
        ]
        figures = {"reclaims": 1, "on_demand_started": 1, "migrations": {"idle": 0, "busy": 0, "new": 1}}
    made = trace(
        tasks,
        [vm("a", "two", "spot", [("brief", 10)], []), vm("b", "two", "spot", [("late", 10)], [])],
        [],
        events,
        figures | {"cost_usd": cost_usd},
        deadline_s=20_000,
        **billing,
    )
    struck: dict[str, Any] = {"time_s": gone_s - notice_s, "type": "two", "event": kind, "vm": 2}
    if notice_s:
        struck["notice_s"] = notice_s
    made.run["timeline"]["events"] = [struck]
    if kind != "terminate":
        made.run["timeline"]["events"].append({"time_s": RESUMES_S, "type": "two", "event": "resume", "vm": 2})
    made.run["cloud"] = {"name": cloud, "interruption": kind, "notice_s": notice_s}
    del made.instance["checkpoint"]
    return made


def noticed(notice_s: int = 10) -> Trace:
    """A VM is stopped after 60 s, with notice. Writing a checkpoint takes 10 s.

    If the notice suffices for one, the task works for 50 s and writes: 50 of 250 s are saved, and 200 s with one
    checkpoint are left. Else nothing is. A second of a stopped GB costs as much as a second of the VM; it is stopped
    for 130 s.
    """
    suffices = notice_s >= 10
    left_s, saved = (210, {"saved": 0.2}) if suffices else (270, {})
    end_s = 210 + left_s
    made = trace(
        [LONG],
        [vm("a", "two", "spot", [("long", 10)], [])],
        [],
        [
            (0, "launch", {"vm": "a", "type": "two", "market": "spot"}),
            (10, "ready", {"vm": "a"}),
            (10, "start", {"vm": "a", "core": 0, "task": "long", "duration_s": 270}),
            (70 - notice_s, "notice", {"vm": "a", "until_s": 70}),
            (70, "stop", {"vm": "a"}),
            (200, "restart", {"vm": "a"}),
            (210, "ready", {"vm": "a"}),
            (210, "start", {"vm": "a", "core": 0, "task": "long", **saved, "duration_s": left_s}),
            (end_s, "finish", {"vm": "a", "core": 0, "task": "long"}),
            (end_s, "terminate", {"vm": "a"}),
        ],
        {
            "cost_usd": (60 + 130 + left_s) * 0.0001,
            "stops": 1,
            "restarts": 1,
            "checkpoints": 2,
            "recoveries": int(suffices),
            "cpu_time_saved_s": 50.0 * suffices,
        },
        stopped_usd_per_gb_hour=0.36,
    )
    made.run["timeline"]["events"] = [
        {"time_s": 70 - notice_s, "type": "two", "event": "stop", "notice_s": notice_s},
        {"time_s": 200, "type": "two", "event": "resume"},
    ]
    return made


def drained() -> Trace:
    """A VM has 120 s of notice; what waits there is migrated at once, what runs when the VM is gone.

    It has run for 170 s: 100 s, a checkpoint, 50 s, and the last checkpoint; 150 of 250 s are saved. On the other VM
    500 * 0.4 = 200 s are left, behind what it has. Bill: 170 s at 0.0001 USD, 520 s at 0.0003 USD.
    """
    made = trace(
        [LONG, MORE],
        [vm("a", "two", "spot", [("long", 10), ("more", 280)], [])],
        [],
        [
            (0, "launch", {"vm": "a", "type": "two", "market": "spot"}),
            (10, "ready", {"vm": "a"}),
            (10, "start", {"vm": "a", "core": 0, "task": "long", "duration_s": 270}),
            (60, "notice", {"vm": "a", "until_s": 180}),
            (60, "launch", {"vm": "c", "type": "one", "market": "on-demand"}),
            (60, "migrate", {"task": "more", "from": "a", "to": "c", "kind": "new"}),
            (70, "ready", {"vm": "c"}),
            (90, "start", {"vm": "c", "core": 0, "task": "more", "duration_s": 300}),
            (180, "reclaim", {"vm": "a"}),
            (180, "migrate", {"task": "long", "from": "a", "to": "c", "kind": "busy", "saved": 0.6, "recovered": True}),
            (390, "finish", {"vm": "c", "core": 0, "task": "more"}),
            (390, "start", {"vm": "c", "core": 0, "task": "long", "saved": 0.6, "duration_s": 200}),
            (590, "finish", {"vm": "c", "core": 0, "task": "long"}),
            (590, "terminate", {"vm": "c"}),
        ],
        {
            "cost_usd": 0.017 + 0.156,
            "reclaims": 1,
            "on_demand_started": 1,
            "migrations": {"idle": 0, "busy": 1, "new": 1},
            "checkpoints": 2,
            "recoveries": 1,
            "cpu_time_saved_s": 150.0,
        },
    )
    made.run["timeline"]["events"] = [{"time_s": 60, "type": "two", "event": "terminate", "notice_s": 120}]
    return made


def crowded_out() -> Trace:
    """Two spot VMs; there is room for one from 100 to 200 s, and the price is twice as high from 150 s on.

    The VM that was requested last hibernates. Bill: 50 s at 0.0001 and 220 s at 0.0002 USD if it goes through, and if
    not 90 s at the first price and 180 s at the second; the block of 100 s that has begun at the last price.
    """
    other = LONG | {"id": "other"}
    made = trace(
        [LONG, other],
        [vm("a", "two", "spot", [("long", 10)], []), vm("b", "two", "spot", [("other", 10)], [])],
        [],
        [
            (0, "launch", {"vm": "a", "type": "two", "market": "spot"}),
            (0, "launch", {"vm": "b", "type": "two", "market": "spot"}),
            (10, "ready", {"vm": "a"}),
            (10, "start", {"vm": "a", "core": 0, "task": "long", "duration_s": 270}),
            (10, "ready", {"vm": "b"}),
            (10, "start", {"vm": "b", "core": 0, "task": "other", "duration_s": 270}),
            (100, "capacity", {"type": "two", "vms": 1}),
            (100, "hibernate", {"vm": "b"}),
            (150, "price", {"type": "two", "market": "spot", "usd_per_hour": 0.72}),
            (200, "resume", {"vm": "b"}),
            (280, "finish", {"vm": "a", "core": 0, "task": "long"}),
            (280, "terminate", {"vm": "a"}),
            (380, "finish", {"vm": "b", "core": 0, "task": "other"}),
            (380, "terminate", {"vm": "b"}),
        ],
        {
            # a: 140 s before and 130 s after the change, 30 s more; b: 90 s and 10 s more, 180 s and 20 s more.
            "cost_usd": 140 * 0.0001 + 160 * 0.0002 + 100 * 0.0001 + 200 * 0.0002,
            "hibernations": 1,
            "resumes": 1,
            "checkpoints": 4,
        },
        block_s=100,
    )
    made.run["timeline"]["events"] = [
        {"time_s": 100, "type": "two", "event": "capacity", "vms": 1, "by": "hibernate"},
        {"time_s": 150, "type": "two", "event": "price", "market": "spot", "usd_per_hour": 0.72},
        {"time_s": 200, "type": "two", "event": "resume"},
    ]
    return made


def preempted() -> Trace:
    """A task is preempted with a checkpoint: 50 of 500 s are saved when it is written, and the other task goes first.

    Bill: 810 s at 0.0003 USD.
    """
    return trace(
        [LONG, MORE],
        [vm("a", "one", "on-demand", [("long", 10), ("more", 510)])],
        [],
        [
            (0, "launch", {"vm": "a", "type": "one", "market": "on-demand"}),
            (10, "ready", {"vm": "a"}),
            (10, "start", {"vm": "a", "core": 0, "task": "long", "duration_s": 500}),
            (60, "wake", {}),
            (60, "preempt", {"vm": "a", "core": 0, "task": "long", "checkpoint": True, "until_s": 70}),
            (70, "preempted", {"vm": "a", "core": 0, "task": "long", "saved": 0.1}),
            (70, "start", {"vm": "a", "core": 0, "task": "more", "duration_s": 300}),
            (370, "finish", {"vm": "a", "core": 0, "task": "more"}),
            (370, "start", {"vm": "a", "core": 0, "task": "long", "saved": 0.1, "duration_s": 450}),
            (820, "finish", {"vm": "a", "core": 0, "task": "long"}),
            (820, "terminate", {"vm": "a"}),
        ],
        {
            "cost_usd": 0.243,
            "preemptions": 1,
            "checkpoints": 1,
            "recoveries": 1,
            "cpu_time_saved_s": 50.0,
        },
    )


def stolen_by_a_vm_that_launches() -> Trace:
    """A task is stolen by a VM that is launching, and starts there when it has arrived.

    Bill: 500 s at 0.0003 USD, and 170 s at 0.0002 USD.
    """
    return trace(
        [LONG, MORE],
        [vm("a", "one", "on-demand", [("long", 10), ("more", 510)])],
        [],
        [
            (0, "launch", {"vm": "a", "type": "one", "market": "on-demand"}),
            (10, "ready", {"vm": "a"}),
            (10, "start", {"vm": "a", "core": 0, "task": "long", "duration_s": 500}),
            (60, "wake", {}),
            (60, "launch", {"vm": "c", "type": "two", "market": "on-demand"}),
            (60, "steal", {"task": "more", "from": "a", "to": "c"}),
            (60, "steal-attempt", {"vm": "c", "stolen": 1}),
            (70, "ready", {"vm": "c"}),
            (90, "start", {"vm": "c", "core": 0, "task": "more", "duration_s": 150}),
            (240, "finish", {"vm": "c", "core": 0, "task": "more"}),
            (240, "terminate", {"vm": "c"}),
            (510, "finish", {"vm": "a", "core": 0, "task": "long"}),
            (510, "terminate", {"vm": "a"}),
        ],
        {
            "cost_usd": 0.15 + 0.034,
            "on_demand_started": 1,
            "steal_attempts": 1,
            "steals": 1,
            "tasks_stolen": 1,
        },
    )


ALL = (noticed, drained, crowded_out, preempted, stolen_by_a_vm_that_launches)
