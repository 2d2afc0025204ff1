"""Why a day missed its deadline, told from its trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from .trace_files import Trace

WAITED = "waited for a VM that never resumed, or too late"
RESUMED_WITH_TOO_MUCH = "its VM resumed before the trigger, with more left on it than the time"
TOO_LATE_ALREADY = "no rescue was in time any more when its VM hibernated"
RESCUE_GONE = "the rescue that the trigger counted on had gone to others"
HELD_UP_AFTERWARDS = "migrated in time, then held up by another hibernation"

CAUSES = (RESCUE_GONE, TOO_LATE_ALREADY, RESUMED_WITH_TOO_MUCH, HELD_UP_AFTERWARDS, WAITED)


def late_tasks(trace: Trace) -> dict[str, str]:
    """Return each task that ended after the deadline or never, and the cause, one of `CAUSES`.

    Notes
    -----
    The cause is the last thing that decided about the task: the last migration of it, or that there was none.
    """
    deadline_s = int(trace.instance["deadline_s"])
    ends = {event["task"]: event["t"] for event in trace.events if event["event"] == "finish"}
    late = [task for task, end_s in ends.items() if end_s > deadline_s] + list(trace.end["unfinished"])
    if not late:
        return {}
    moved: dict[str, Mapping[str, Any]] = {}
    triggers: dict[str, list[int]] = {}
    hibernated: dict[str, int] = {}
    at_once: set[tuple[str, int]] = set()
    with_trigger: set[str] = set()
    for event in trace.events:
        kind = event["event"]
        if kind == "hibernate":
            hibernated[event["vm"]] = event["t"]
            triggers[event["vm"]] = []
        elif kind == "trigger-set":
            triggers[event["vm"]].append(event["at_s"])
            with_trigger.add(event["vm"])
        elif kind == "migrate":
            moved[event["task"]] = event
            planned = triggers.get(event["from"], [])
            if not planned or planned[0] <= hibernated[event["from"]]:
                at_once.add((event["task"], event["t"]))
    return {task: _cause(task, moved.get(task), at_once, bool(with_trigger)) for task in late}


def _cause(task: str, move: Mapping[str, Any] | None, at_once: set[tuple[str, int]], triggers: bool) -> str:
    if move is None:
        return RESUMED_WITH_TOO_MUCH if triggers else WAITED
    if not move.get("late"):
        return HELD_UP_AFTERWARDS
    return TOO_LATE_ALREADY if (task, move["t"]) in at_once else RESCUE_GONE


def missed_because(trace: Trace) -> Counter[str]:
    """Count the late tasks of a day by cause."""
    return Counter(late_tasks(trace).values())
