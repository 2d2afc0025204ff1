"""Traces written by hand, with their arithmetic."""

from __future__ import annotations

import copy
from typing import Any

from spotbag.traces.trace import Trace

# A task of 500 MB takes 5 + 0.01 * 500 = 10 s to dump, after every 10 / 0.1 = 100 s of work.
INSTANCE: dict[str, Any] = {
    "format": "spotbag.instance/1",
    "name": "by hand",
    "deadline_s": 1000,
    "d_spot_s": 350,
    "boot_overhead_s": 10,
    "migration_overhead_s": 30,
    "allocation_cycle_s": 100,
    "checkpoint": {"overhead_fraction": 0.1, "dump_base_s": 5, "dump_s_per_mb": 0.01},
    "limits": {"max_spot": 2, "max_on_demand": 3},
    "vm_types": [
        {
            "name": "two",
            "vcpus": 2,
            "memory_mb": 1024,
            "offers": {
                "spot": {"price_usd_per_hour": 0.36, "limit": 2},
                "on-demand": {"price_usd_per_hour": 0.72, "limit": 1},
            },
        },
        {
            "name": "one",
            "vcpus": 1,
            "memory_mb": 512,
            "offers": {"on-demand": {"price_usd_per_hour": 1.08, "limit": 1}},
        },
        {
            "name": "burst",
            "vcpus": 2,
            "memory_mb": 2048,
            "offers": {"on-demand": {"price_usd_per_hour": 0.36, "limit": 1}},
            "burstable": {"baseline_fraction": 0.2, "credits_per_hour": 36, "initial_credits": 1},
        },
    ],
    "tasks": [],
}

LONG = {"id": "long", "memory_mb": 500, "runtime_s": {"two": 250, "one": 500}}
MORE = {"id": "more", "memory_mb": 500, "runtime_s": {"two": 150, "one": 300}}
SHORT = {"id": "short", "memory_mb": 100, "runtime_s": {"two": 50}}


def vm(name: str, kind: str, market: str, *cores: list[tuple[Any, ...]]) -> dict[str, Any]:
    """A VM of a plan; a task is its id, its start and on burstable VMs its mode."""
    keys = "task", "start_s", "mode"
    return {
        "vm": name,
        "type": kind,
        "market": market,
        "cores": [[dict(zip(keys, task, strict=False)) for task in core] for core in cores],
    }


def trace(
    tasks: list[dict[str, Any]],
    plan: list[dict[str, Any]],
    day: list[tuple[int, str, str]],
    events: list[tuple[Any, ...]],
    end: dict[str, Any],
    policy: str = "static",
    deadline_s: int = 1000,
    **billing: Any,
) -> Trace:
    """Make a trace; an event is its time, its kind and its fields, the end what differs from nothing at all."""
    nothing = {
        "finished": len(tasks),
        "late_tasks": 0,
        "unfinished": [],
        "hibernations": 0,
        "resumes": 0,
        "on_demand_started": 0,
        "migrations": {"idle": 0, "busy": 0, "new": 0},
        "steal_attempts": 0,
        "steals": 0,
        "tasks_stolen": 0,
        "checkpoints": 0,
        "recoveries": 0,
        "cpu_time_saved_s": 0.0,
    }
    last = events[-1][0]
    return Trace(
        instance=copy.deepcopy(INSTANCE | {"tasks": tasks, "deadline_s": deadline_s}),
        run={
            "record": "run",
            "policy": policy,
            "day": 0,
            "plan": plan,
            "timeline": {
                "name": "by hand",
                "events": [{"time_s": time_s, "type": name, "event": kind} for time_s, name, kind in day],
            },
            "billing": {"first_hour_free": False, "hibernated_usd_per_gb_hour": 0.0} | billing,
            "hibernation": True,
        },
        events=[{"record": "event", "t": t, "event": kind, **fields} for t, kind, fields in events],
        end={"record": "end", "t": last, "cost_usd": 0.0, "makespan_s": last} | nothing | end,
    )


def hibernated_and_resumed(**billing: Any) -> Trace:
    """A spot VM hibernates for a minute; its task takes 250 s and two checkpoints of 10 s, and finishes 60 s later.

    Bill: 270 s at 0.0001 USD.
    """
    return trace(
        [LONG],
        [vm("a", "two", "spot", [("long", 10)], [])],
        [(100, "two", "hibernate"), (160, "two", "resume")],
        [
            (0, "launch", {"vm": "a", "type": "two", "market": "spot"}),
            (10, "ready", {"vm": "a"}),
            (10, "start", {"vm": "a", "core": 0, "task": "long", "duration_s": 270}),
            (100, "hibernate", {"vm": "a"}),
            (160, "resume", {"vm": "a"}),
            (340, "finish", {"vm": "a", "core": 0, "task": "long"}),
            (340, "terminate", {"vm": "a"}),
        ],
        {"cost_usd": 0.027, "hibernations": 1, "resumes": 1, "checkpoints": 2},
        **billing,
    )


def recovered() -> Trace:
    """A task is migrated after two checkpoints: 200 of 250 s of its work are saved.

    It has run 220 s, a checkpoint after every 110. What is left, 500 * 0.2 = 100 s, starts on the new VM when it has
    arrived, 30 s after the VM's request. Bill: 220 s at 0.0001 USD, and 430 - 310 = 120 s at 0.0003 USD.
    """
    return trace(
        [LONG],
        [vm("a", "two", "spot", [("long", 10)], [])],
        [(230, "two", "hibernate")],
        [
            (0, "launch", {"vm": "a", "type": "two", "market": "spot"}),
            (10, "ready", {"vm": "a"}),
            (10, "start", {"vm": "a", "core": 0, "task": "long", "duration_s": 270}),
            (230, "hibernate", {"vm": "a"}),
            (230, "trigger-set", {"vm": "a", "at_s": 300}),
            (300, "trigger", {"vm": "a"}),
            (300, "launch", {"vm": "b", "type": "one", "market": "on-demand"}),
            (300, "migrate", {"task": "long", "from": "a", "to": "b", "kind": "new", "saved": 0.8, "recovered": True}),
            (310, "ready", {"vm": "b"}),
            (330, "start", {"vm": "b", "core": 0, "task": "long", "saved": 0.8, "duration_s": 100}),
            (430, "finish", {"vm": "b", "core": 0, "task": "long"}),
            (430, "terminate", {"vm": "a"}),
            (430, "terminate", {"vm": "b"}),
        ],
        {
            "cost_usd": 0.058,
            "hibernations": 1,
            "on_demand_started": 1,
            "migrations": {"idle": 0, "busy": 0, "new": 1},
            "checkpoints": 2,
            "recoveries": 1,
            "cpu_time_saved_s": 200.0,
        },
        "hads",
    )


def stolen() -> Trace:
    """A VM with nothing left takes what waits on the other, and ends with its cycle, 200 s after it was ready.

    Bill: 500 s at 0.0003 USD, and 200 s at 0.0002 USD.
    """
    return trace(
        [LONG, MORE, SHORT],
        [
            vm("a", "one", "on-demand", [("long", 10), ("more", 510)]),
            vm("b", "two", "on-demand", [], [("short", 10)]),
        ],
        [],
        [
            (0, "launch", {"vm": "a", "type": "one", "market": "on-demand"}),
            (0, "launch", {"vm": "b", "type": "two", "market": "on-demand"}),
            (10, "ready", {"vm": "a"}),
            (10, "start", {"vm": "a", "core": 0, "task": "long", "duration_s": 500}),
            (10, "ready", {"vm": "b"}),
            (10, "start", {"vm": "b", "core": 1, "task": "short", "duration_s": 50}),
            (60, "finish", {"vm": "b", "core": 1, "task": "short"}),
            (60, "steal", {"task": "more", "from": "a", "to": "b"}),
            (60, "start", {"vm": "b", "core": 0, "task": "more", "duration_s": 150}),
            (60, "steal-attempt", {"vm": "b", "stolen": 1}),
            (210, "finish", {"vm": "b", "core": 0, "task": "more"}),
            (210, "steal-attempt", {"vm": "b", "stolen": 0}),
            (210, "cycle-end", {"vm": "b"}),
            (210, "terminate", {"vm": "b"}),
            (510, "finish", {"vm": "a", "core": 0, "task": "long"}),
            (510, "terminate", {"vm": "a"}),
        ],
        {"cost_usd": 0.19, "steal_attempts": 2, "steals": 1, "tasks_stolen": 1},
        "hads",
    )


def bursting() -> Trace:
    """Credits that just suffice.

    A credit at first, 0.01 earned a second, 1/60 spent by a task at full speed and 0.2/60 by one at the baseline: after
    a minute of both 1 + 0.6 - 1 - 0.2 = 0.4, after another at full speed 0.4 + 0.6 - 1 = 0. Bill: 120 s at 0.0001 USD.
    """
    tasks = [
        {"id": "first", "memory_mb": 10, "runtime_s": {"burst": 60}},
        {"id": "slow", "memory_mb": 10, "runtime_s": {"burst": 12}},
        {"id": "second", "memory_mb": 10, "runtime_s": {"burst": 60}},
    ]
    return trace(
        tasks,
        [vm("c", "burst", "on-demand", [("first", 10, "burst"), ("second", 70, "burst")], [("slow", 10, "baseline")])],
        [],
        [
            (0, "launch", {"vm": "c", "type": "burst", "market": "on-demand"}),
            (10, "ready", {"vm": "c"}),
            (10, "start", {"vm": "c", "core": 0, "task": "first", "mode": "burst", "duration_s": 60}),
            (10, "start", {"vm": "c", "core": 1, "task": "slow", "mode": "baseline", "duration_s": 60}),
            (70, "finish", {"vm": "c", "core": 0, "task": "first"}),
            (70, "start", {"vm": "c", "core": 0, "task": "second", "mode": "burst", "duration_s": 60}),
            (70, "finish", {"vm": "c", "core": 1, "task": "slow"}),
            (130, "finish", {"vm": "c", "core": 0, "task": "second"}),
            (130, "terminate", {"vm": "c"}),
        ],
        {"cost_usd": 0.012},
    )


def stranded() -> Trace:
    """One task finds a place on an idle VM, the other none: it stays on the VM that never resumes.

    Both have run 120 s, with one checkpoint each. The one that moves has 100 of its 250 s saved, needs another
    500 * 0.6 = 300 s and is late by 45 s. The VM that takes it has been idle before, and again until its cycle ends
    500 s after it was ready. Bill: 120 s at 0.0001 USD, and 500 s at 0.0003 USD.
    """
    other = LONG | {"id": "other"}
    return trace(
        [LONG, other],
        [vm("a", "two", "spot", [("long", 10)], [("other", 10)]), vm("b", "one", "on-demand", [])],
        [(130, "two", "hibernate")],
        [
            (0, "launch", {"vm": "a", "type": "two", "market": "spot"}),
            (0, "launch", {"vm": "b", "type": "one", "market": "on-demand"}),
            (10, "ready", {"vm": "a"}),
            (10, "start", {"vm": "a", "core": 0, "task": "long", "duration_s": 270}),
            (10, "start", {"vm": "a", "core": 1, "task": "other", "duration_s": 270}),
            (10, "ready", {"vm": "b"}),
            (10, "steal-attempt", {"vm": "b", "stolen": 0}),
            (110, "cycle-end", {"vm": "b"}),
            (130, "hibernate", {"vm": "a"}),
            (130, "trigger-set", {"vm": "a", "at_s": 140}),
            (130, "trigger-set", {"vm": "a", "at_s": 145}),
            (145, "trigger", {"vm": "a"}),
            (
                145,
                "migrate",
                {
                    "task": "long",
                    "from": "a",
                    "to": "b",
                    "kind": "idle",
                    "saved": 0.4,
                    "recovered": True,
                    "late": True,
                },
            ),
            (145, "start", {"vm": "b", "core": 0, "task": "long", "saved": 0.4, "duration_s": 300}),
            (145, "stranded", {"vm": "a", "tasks": 1}),
            (445, "finish", {"vm": "b", "core": 0, "task": "long"}),
            (445, "steal-attempt", {"vm": "b", "stolen": 0}),
            (510, "cycle-end", {"vm": "b"}),
            (510, "terminate", {"vm": "b"}),
            (510, "terminate", {"vm": "a"}),
        ],
        {
            "cost_usd": 0.162,
            "makespan_s": None,
            "finished": 1,
            "late_tasks": 1,
            "unfinished": ["other"],
            "hibernations": 1,
            "migrations": {"idle": 1, "busy": 0, "new": 0},
            "steal_attempts": 2,
            "checkpoints": 2,
            "recoveries": 1,
            "cpu_time_saved_s": 100.0,
        },
        "hads",
        deadline_s=400,
    )


ALL = (hibernated_and_resumed, recovered, stolen, bursting, stranded)
