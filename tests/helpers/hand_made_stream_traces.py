"""Traces of streams written by hand, with their arithmetic."""

from __future__ import annotations

import copy
from typing import Any

from spotbag.traces.trace import Trace

# A second of "small" costs 0.0001 USD, one of "large" 0.0002 USD.
INSTANCE: dict[str, Any] = {
    "format": "spotbag.instance/1",
    "name": "a stream by hand",
    "boot_overhead_s": 15,
    "allocation_cycle_s": 100,
    "vm_types": [
        {
            "name": "small",
            "vcpus": 1,
            "memory_mb": 1024,
            "offers": {"on-demand": {"price_usd_per_hour": 0.36, "limit": 2}},
        },
        {
            "name": "large",
            "vcpus": 1,
            "memory_mb": 1024,
            "offers": {"on-demand": {"price_usd_per_hour": 0.72, "limit": 1}},
        },
    ],
}

RENDER = {"memory_mb": 100, "runtime_s": {"small": 120, "large": 65}}
PROBE = {"memory_mb": 100, "runtime_s": {"small": 50, "large": 30}}
BLOCKS = {"block_s": 100, "from_request": True}


def job(name: str, submitted_s: int, deadline_s: int, n_tasks: int, application: str = "render") -> dict[str, Any]:
    """A job of the run record."""
    return {
        "id": name,
        "application": application,
        "submitted_s": submitted_s,
        "deadline_s": deadline_s,
        "n_tasks": n_tasks,
    }


def stream_trace(
    tasks: list[dict[str, Any]],
    jobs: list[dict[str, Any]],
    events: list[tuple[Any, ...]],
    end: dict[str, Any],
    **billing: Any,
) -> Trace:
    """Make a trace; an event is its time, its kind and its fields, the end what differs from nothing at all."""
    nothing = {
        "finished": sum(entry["n_tasks"] for entry in jobs),
        "late_tasks": 0,
        "unfinished": [],
        "on_demand_started": 0,
        "late_s": 0,
        "idle_s": 0,
        "blocks": {},
        "suspensions": 0,
        "returns": 0,
    }
    last, due = events[-1][0], max(entry["deadline_s"] for entry in jobs)
    return Trace(
        instance=copy.deepcopy(INSTANCE | {"tasks": tasks, "deadline_s": due, "d_spot_s": due}),
        run={
            "record": "run",
            "policy": "by-hand",
            "seed": 0,
            "stream": {"name": "by hand", "sha256": "0" * 64},
            "billing": billing,
            "jobs": jobs,
        },
        events=[{"record": "event", "t": t, "event": kind, **fields} for t, kind, fields in events],
        end={"record": "end", "t": last, "cost_usd": 0.0, "makespan_s": last} | nothing | end,
    )


def sampled() -> Trace:
    """An unknown job interrupts a known one, a VM ends with its block, another waits for a job, which is late.

    "a#2" runs 15 s, is suspended for a task of the unknown job and takes another 105 s. "large" is up for 185 s and
    busy for 30 + 65, "small" for 505 s and busy for all but the 95 s before the last job. That is due 20 s before it
    is done. Bill: 200 s of "large" and 520 s of "small": 2 and 6 blocks of 100 s.
    """
    return stream_trace(
        [{"id": "a", "count": 3, **RENDER}, {"id": "b", "count": 2, **PROBE}, {"id": "c", **RENDER}],
        [job("j1", 0, 400, 3), job("j2", 150, 260, 2, "probe"), job("j3", 400, 500, 1)],
        [
            (0, "submit", {"job": "j1"}),
            (0, "launch", {"vm": "v1", "type": "small", "market": "on-demand"}),
            (0, "assign", {"task": "a#1", "vm": "v1"}),
            (0, "assign", {"task": "a#2", "vm": "v1"}),
            (0, "assign", {"task": "a#3", "vm": "v1"}),
            (15, "ready", {"vm": "v1"}),
            (15, "start", {"vm": "v1", "core": 0, "task": "a#1", "duration_s": 120}),
            (135, "finish", {"vm": "v1", "core": 0, "task": "a#1"}),
            (135, "start", {"vm": "v1", "core": 0, "task": "a#2", "duration_s": 120}),
            (150, "submit", {"job": "j2"}),
            (150, "suspend", {"vm": "v1", "core": 0, "task": "a#2"}),
            (150, "assign", {"task": "b#1", "vm": "v1", "position": 0}),
            (150, "start", {"vm": "v1", "core": 0, "task": "b#1", "duration_s": 50}),
            (150, "launch", {"vm": "v2", "type": "large", "market": "on-demand"}),
            (150, "assign", {"task": "b#2", "vm": "v2"}),
            (165, "ready", {"vm": "v2"}),
            (165, "start", {"vm": "v2", "core": 0, "task": "b#2", "duration_s": 30}),
            (180, "wake", {}),
            (180, "return", {"task": "a#3", "vm": "v1"}),
            (180, "assign", {"task": "a#3", "vm": "v2"}),
            (195, "finish", {"vm": "v2", "core": 0, "task": "b#2"}),
            (195, "start", {"vm": "v2", "core": 0, "task": "a#3", "duration_s": 65}),
            (200, "finish", {"vm": "v1", "core": 0, "task": "b#1"}),
            (200, "start", {"vm": "v1", "core": 0, "task": "a#2", "duration_s": 105}),
            (260, "finish", {"vm": "v2", "core": 0, "task": "a#3"}),
            (305, "finish", {"vm": "v1", "core": 0, "task": "a#2"}),
            (350, "block-end", {"vm": "v2"}),
            (350, "terminate", {"vm": "v2"}),
            (400, "submit", {"job": "j3"}),
            (400, "assign", {"task": "c", "vm": "v1"}),
            (400, "start", {"vm": "v1", "core": 0, "task": "c", "duration_s": 120}),
            (520, "finish", {"vm": "v1", "core": 0, "task": "c"}),
            (520, "terminate", {"vm": "v1"}),
        ],
        {
            "cost_usd": 0.1,
            "late_tasks": 1,
            "on_demand_started": 2,
            "late_s": 20,
            "idle_s": 185,
            "blocks": {"small": 6, "large": 2},
            "suspensions": 1,
            "returns": 1,
        },
        **BLOCKS,
    )


def fixed_fleet() -> Trace:
    """Two VMs from the beginning, billed by the second from ready; a task wanders, and begins anew each time.

    "a#1" runs 65 s on "v1", 20 s on "v2", where nothing of that counts, and from the beginning on "v1", where its
    first 65 s are forgotten. Bill: 205 s of each VM. "v1" is idle for 20 s, "v2" for 205 - 65 - 20 = 120 s.
    """
    return stream_trace(
        [{"id": "a#1", **RENDER}, {"id": "a#2", **RENDER}],
        [job("j1", 0, 100, 2)],
        [
            (0, "launch", {"vm": "v1", "type": "small", "market": "on-demand"}),
            (0, "launch", {"vm": "v2", "type": "large", "market": "on-demand"}),
            (0, "submit", {"job": "j1"}),
            (0, "assign", {"task": "a#1", "vm": "v1"}),
            (0, "assign", {"task": "a#2", "vm": "v2"}),
            (15, "ready", {"vm": "v1"}),
            (15, "start", {"vm": "v1", "core": 0, "task": "a#1", "duration_s": 120}),
            (15, "ready", {"vm": "v2"}),
            (15, "start", {"vm": "v2", "core": 0, "task": "a#2", "duration_s": 65}),
            (80, "finish", {"vm": "v2", "core": 0, "task": "a#2"}),
            (80, "suspend", {"vm": "v1", "core": 0, "task": "a#1"}),
            (80, "return", {"task": "a#1", "vm": "v1"}),
            (80, "assign", {"task": "a#1", "vm": "v2"}),
            (80, "start", {"vm": "v2", "core": 0, "task": "a#1", "duration_s": 65}),
            (100, "wake", {"vm": "v2"}),
            (100, "suspend", {"vm": "v2", "core": 0, "task": "a#1"}),
            (100, "return", {"task": "a#1", "vm": "v2"}),
            (100, "assign", {"task": "a#1", "vm": "v1"}),
            (100, "start", {"vm": "v1", "core": 0, "task": "a#1", "duration_s": 120}),
            (115, "block-end", {"vm": "v2"}),
            (220, "finish", {"vm": "v1", "core": 0, "task": "a#1"}),
            (220, "terminate", {"vm": "v1"}),
            (220, "terminate", {"vm": "v2"}),
        ],
        {
            "cost_usd": 0.0615,
            "late_tasks": 1,
            "on_demand_started": 2,
            "late_s": 120,
            "idle_s": 140,
            "suspensions": 2,
            "returns": 2,
        },
    )


def given_up() -> Trace:
    """A policy that leaves a task in the pool; its VM ends with its second block, idle for 65 s."""
    return stream_trace(
        [{"id": "a", "count": 2, **RENDER}],
        [job("j1", 0, 400, 2)],
        [
            (0, "submit", {"job": "j1"}),
            (0, "launch", {"vm": "v1", "type": "small", "market": "on-demand"}),
            (0, "assign", {"task": "a#1", "vm": "v1"}),
            (15, "ready", {"vm": "v1"}),
            (15, "start", {"vm": "v1", "core": 0, "task": "a#1", "duration_s": 120}),
            (135, "finish", {"vm": "v1", "core": 0, "task": "a#1"}),
            (200, "block-end", {"vm": "v1"}),
            (200, "terminate", {"vm": "v1"}),
        ],
        {
            "cost_usd": 0.02,
            "makespan_s": None,
            "finished": 1,
            "unfinished": ["a#2"],
            "on_demand_started": 1,
            "idle_s": 65,
            "blocks": {"small": 2},
        },
        **BLOCKS,
    )


ALL = (sampled, fixed_fleet, given_up)
