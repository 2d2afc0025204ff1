"""Causes of a missed deadline, read from the trace of the day.

A rescue, in what follows, is the migration of a task to where it ends in time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ...instances.instance import Instance
from ..trace import Trace

WAITED = "waited for a VM that never resumed, or too late"
RESUMED_WITH_TOO_MUCH = "its VM resumed before the trigger, with more left on it than the time"
TOO_LATE_ALREADY = "no rescue was in time any more when its VM hibernated"
TOO_LATE_AGAIN = "the same, but its VM had hibernated before, and resumed in time"
RESCUE_GONE = "the rescue that the trigger counted on had gone to others"
HELD_UP_AFTERWARDS = "migrated in time, then held up by another hibernation"

CAUSES = (
    RESCUE_GONE,
    TOO_LATE_ALREADY,
    TOO_LATE_AGAIN,
    RESUMED_WITH_TOO_MUCH,
    HELD_UP_AFTERWARDS,
    WAITED,
)


def late_tasks(trace: Trace) -> dict[str, str]:
    """Return each task that ended after it was due or never, and the cause, one of `CAUSES`.

    Notes
    -----
    The cause is the last thing that decided about the task: the last migration of it, or that there was none.
    """
    instance = Instance.from_document(trace.instance, "instance of the trace")
    due_s = dict(zip(instance.task_ids, instance.due_s[instance.task_group].tolist(), strict=True))
    ends = {event["task"]: event["t"] for event in trace.events if event["event"] == "finish"}
    late = [task for task, end_s in ends.items() if end_s > due_s[task]] + list(trace.end["unfinished"])
    if not late:
        return {}
    vm_of = {event["task"]: event["vm"] for event in trace.events if event["event"] == "finish"}
    stranded = {event["vm"] for event in trace.events if event["event"] == "stranded"}
    moved: dict[str, Mapping[str, Any]] = {}
    at_once: dict[str, str] = {}  # tasks for which it was too late when their VM hibernated, and the cause
    hibernations: dict[str, list[int]] = {}
    waits: set[str] = set()  # VMs whose migration was put off to a trigger
    for event in trace.events:
        kind = event["event"]
        if kind == "hibernate":
            hibernations.setdefault(event["vm"], []).append(event["t"])
            waits.discard(event["vm"])
        elif kind == "trigger-set" and event["at_s"] > hibernations[event["vm"]][-1]:
            waits.add(event["vm"])
        elif kind == "migrate":
            moved[event["task"]] = event
            at_once.pop(event["task"], None)
            if event["from"] not in waits:
                again = len(hibernations[event["from"]]) > 1
                at_once[event["task"]] = TOO_LATE_AGAIN if again else TOO_LATE_ALREADY
    triggered = {event["vm"] for event in trace.events if event["event"] == "trigger-set"}
    causes = {}
    for task in late:
        move, vm = moved.get(task), vm_of.get(task)
        if move is None:
            # One that nothing could take has waited like one that nobody has tried to move.
            causes[task] = RESUMED_WITH_TOO_MUCH if vm in triggered - stranded else WAITED
        else:
            causes[task] = at_once.get(task, RESCUE_GONE) if move.get("late") else HELD_UP_AFTERWARDS
    return causes


def cause_of_day(trace: Trace) -> str | None:
    """Return the cause for the task that ended last, or never; None if the day met its deadline.

    A day has one, so that days can be counted by cause.
    """
    causes = late_tasks(trace)
    ends = {event["task"]: event["t"] for event in trace.events if event["event"] == "finish"}
    last = max(causes, key=lambda task: (ends.get(task, math.inf), task), default=None)
    return None if last is None else causes[last]
