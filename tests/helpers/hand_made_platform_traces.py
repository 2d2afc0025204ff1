"""Traces of hybrid platforms written by hand, with their arithmetic."""

from __future__ import annotations

import copy
from typing import Any

from spotbag.traces.trace import Trace


def job(name: str, size: int, priority: int, arrival_s: int, deadline_s: int, budget: float) -> dict[str, Any]:
    """A job of the platform."""
    return {
        "id": name,
        "size_processor_minutes": size,
        "priority": priority,
        "arrival_s": arrival_s,
        "deadline_s": deadline_s,
        "budget": budget,
    }


def place(name: str, resource: str, end_s: int, cost: float, good: bool = True, **more: Any) -> dict[str, Any]:
    """The fields of a placement."""
    return {"job": name, "resource": resource, "good": good, "end_s": end_s, "cost": cost, "displaced": [], **more}


def platform_trace(
    name: str,
    resources: list[dict[str, Any]],
    jobs: list[dict[str, Any]],
    events: list[tuple[Any, ...]],
    end: dict[str, Any],
    estimates: str = "printed",
) -> Trace:
    """Make a trace; an event is its time, its kind and its fields, the end what differs from nothing at all."""
    nothing = {
        "finished": len(jobs),
        "delay_s": 0,
        "overspend": 0.0,
        "late_jobs": 0,
        "overspent_jobs": 0,
        "machines": 0,
        "vm_hours": 0,
        "bad": 0,
        "displaced": 0,
        "stays": 0,
        "unwanted": 0,
    }
    return Trace(
        instance=copy.deepcopy(
            {
                "format": "spotbag.platform/1",
                "name": name,
                "agents": [{"id": "root"}],
                "resources": [{"parent": "root"} | resource for resource in resources],
                "jobs": jobs,
            }
        ),
        run={
            "record": "run",
            "policy": "by-hand",
            "seed": 3,
            "job_set": None,
            "rules": {"queue": "priority", "late_jobs": "displaced", "estimates": estimates},
            "displaces": True,
        },
        events=[{"record": "event", "t": t, "event": kind, **fields} for t, kind, fields in events],
        end={"record": "end", "t": events[-1][0]} | nothing | end,
    )


def moved() -> Trace:
    """A job goes elsewhere for one of higher priority, one is late, one has two machines of a cloud to its deadline.

    "d" and "a" do 2 processor-minutes a minute. "humble" would end at 1020 behind "urgent", after its deadline. "large"
    needs 40 / (2 * 14) machines, so two, for an hour each; they end it after 10 minutes, before what Algorithm 3 says.
    """
    on_d, on_a, on_c = {"resource": "d"}, {"resource": "a"}, {"resource": "c"}
    return platform_trace(
        "moved by hand",
        [
            {"id": "d", "kind": "dedicated", "processors": 2},
            {"id": "a", "kind": "allocated", "availability": [{"from_s": 0, "processors": 2}]},
            {"id": "c", "kind": "cloud", "processors_per_vm": 2, "cost_per_vm_hour": 240},
        ],
        [
            job("first", 10, 5, 0, 600, 20),
            job("humble", 10, 1, 60, 660, 12),
            job("urgent", 14, 9, 120, 840, 20),
            job("hopeless", 6, 5, 180, 480, 5),
            job("large", 40, 5, 240, 1080, 500),
        ],
        [
            (0, "submit", {"job": "first"}),
            (0, "place", place("first", "d", 300, 0)),
            (0, "start", {"job": "first", **on_d}),
            (60, "submit", {"job": "humble"}),
            (60, "place", place("humble", "d", 600, 0)),
            (120, "submit", {"job": "urgent"}),
            (120, "place", place("urgent", "d", 720, 0, displaced=["humble"])),
            (120, "place", place("humble", "a", 420, 10)),
            (120, "start", {"job": "humble", **on_a}),
            (180, "submit", {"job": "hopeless"}),
            (180, "place", place("hopeless", "d", 900, 0, good=False)),
            (240, "submit", {"job": "large"}),
            (240, "place", place("large", "c", 1080, 480)),
            (240, "launch", {"vm": "c-1", **on_c}),
            (240, "launch", {"vm": "c-2", **on_c}),
            (240, "start", {"job": "large", **on_c, "vms": ["c-1", "c-2"]}),
            (300, "finish", {"job": "first", **on_d}),
            (300, "start", {"job": "urgent", **on_d}),
            (420, "finish", {"job": "humble", **on_a}),
            (720, "finish", {"job": "urgent", **on_d}),
            (720, "start", {"job": "hopeless", **on_d}),
            (840, "finish", {"job": "large", **on_c}),
            (900, "finish", {"job": "hopeless", **on_d}),
            (3840, "terminate", {"vm": "c-1"}),
            (3840, "terminate", {"vm": "c-2"}),
        ],
        {
            "cost": 490.0,
            "execution_time_s": 300 + 360 + 600 + 720 + 600,
            "delay_s": 420,
            "late_jobs": 1,
            "machines": 2,
            "vm_hours": 2,
            "good": 5,
            "bad": 1,
            "displaced": 1,
        },
    )


def stuck() -> Trace:
    """No cloud: a displaced job stays, a new one goes behind all, jobs share minutes of a cluster that comes and goes.

    "a" has 3 processors in two minutes of three, from minute 1 on. "a1" has minutes 1, 2 and one processor of minute 4,
    of which "a2" has the others, and minute 5. "d" has 2 processors. "low" would end at 600 behind "high" and is
    displaced; on "a" it would make "a2" late, which has more work, so it stays. "late" would make "low" late on "d" and
    "a2" on "a"; behind all it ends on "d" at 720, on "a" with minute 7.
    """
    on_d, on_a = {"resource": "d"}, {"resource": "a"}
    comes_and_goes = [{"from_s": 0, "processors": 0}, {"from_s": 60, "processors": 3}]
    return platform_trace(
        "stuck by hand",
        [
            {"id": "d", "kind": "dedicated", "processors": 2},
            {
                "id": "a",
                "kind": "allocated",
                "cost_per_processor_minute": 0.5,
                "availability": comes_and_goes,
                "repeat_s": 180,
            },
        ],
        [
            job("a1", 7, 1, 0, 400, 3),
            job("d1", 10, 5, 0, 300, 0),
            job("a2", 5, 0, 30, 400, 3),
            job("low", 4, 1, 60, 430, 0),
            job("high", 6, 3, 120, 600, 0),
            job("late", 3, 9, 130, 700, 2),
        ],
        [
            (0, "submit", {"job": "a1"}),
            (0, "place", place("a1", "a", 300, 3.5, good=False)),
            (0, "submit", {"job": "d1"}),
            (0, "place", place("d1", "d", 300, 0)),
            (0, "start", {"job": "d1", **on_d}),
            (30, "submit", {"job": "a2"}),
            (30, "place", place("a2", "a", 360, 2.5)),
            (60, "submit", {"job": "low"}),
            (60, "place", place("low", "d", 420, 0)),
            (60, "start", {"job": "a1", **on_a}),
            (120, "submit", {"job": "high"}),
            (120, "place", place("high", "d", 480, 0, displaced=["low"])),
            (120, "stay", {"job": "low", **on_d}),
            (130, "submit", {"job": "late"}),
            (130, "place", place("late", "a", 480, 1.5, last=True)),
            (240, "start", {"job": "a2", **on_a}),
            (300, "finish", {"job": "a1", **on_a}),
            (300, "finish", {"job": "d1", **on_d}),
            (300, "start", {"job": "high", **on_d}),
            (360, "finish", {"job": "a2", **on_a}),
            (420, "start", {"job": "late", **on_a}),
            (480, "finish", {"job": "high", **on_d}),
            (480, "finish", {"job": "late", **on_a}),
            (480, "start", {"job": "low", **on_d}),
            (600, "finish", {"job": "low", **on_d}),
        ],
        {
            "cost": 7.5,
            "execution_time_s": 300 + 300 + 330 + 540 + 360 + 350,
            "delay_s": 170,
            "overspend": 0.5,
            "late_jobs": 1,
            "overspent_jobs": 1,
            "good": 5,
            "bad": 1,
            "displaced": 1,
            "stays": 1,
            "unwanted": 1,
        },
    )


def rented() -> Trace:
    """Machines of a cloud are used again, those with the most paid time first, and paid for longer.

    A machine does 2 processor-minutes a minute for 60 an hour; the ends and costs of placements are exact. "two" could
    have had one machine within its budget, to 3300 s. "three" has c-2, paid until 4200 s, rather than c-1, paid until
    3600 s. "four" has c-2 and c-3 for 2 more hours each: to 11400 s, 3 hours after their launch.
    """
    on_c = {"resource": "c"}
    return platform_trace(
        "rented by hand",
        [{"id": "c", "kind": "cloud", "processors_per_vm": 2, "cost_per_vm_hour": 60}],
        [
            job("one", 100, 0, 0, 3600, 100),
            job("two", 90, 0, 600, 2400, 100),
            job("three", 30, 0, 3100, 4000, 10),
            job("four", 400, 0, 4100, 11300, 300),
        ],
        [
            (0, "submit", {"job": "one"}),
            (0, "place", place("one", "c", 3000, 60)),
            (0, "launch", {"vm": "c-1", **on_c}),
            (0, "start", {"job": "one", **on_c, "vms": ["c-1"]}),
            (600, "submit", {"job": "two"}),
            (600, "place", place("two", "c", 1950, 120, good=False)),
            (600, "launch", {"vm": "c-2", **on_c}),
            (600, "launch", {"vm": "c-3", **on_c}),
            (600, "start", {"job": "two", **on_c, "vms": ["c-2", "c-3"]}),
            (1950, "finish", {"job": "two", **on_c}),
            (3000, "finish", {"job": "one", **on_c}),
            (3100, "submit", {"job": "three"}),
            (3100, "place", place("three", "c", 4000, 0)),
            (3100, "start", {"job": "three", **on_c, "vms": ["c-2"]}),
            (3600, "terminate", {"vm": "c-1"}),
            (4000, "finish", {"job": "three", **on_c}),
            (4100, "submit", {"job": "four"}),
            (4100, "place", place("four", "c", 10100, 240)),
            (4100, "start", {"job": "four", **on_c, "vms": ["c-2", "c-3"]}),
            (10100, "finish", {"job": "four", **on_c}),
            (11400, "terminate", {"vm": "c-2"}),
            (11400, "terminate", {"vm": "c-3"}),
        ],
        {
            "cost": 420.0,
            "execution_time_s": 3000 + 1350 + 900 + 6000,
            "overspend": 20.0,
            "overspent_jobs": 1,
            "machines": 3,
            "vm_hours": 7,
            "good": 3,
            "bad": 1,
        },
        estimates="exact",
    )


ALL = (moved, stuck, rented)
