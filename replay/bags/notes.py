"""Record of a replay: short rows while it goes on, and the events of traces that they become."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...instances.entries import FULL_SPEED
from ...instances.instance import Instance
from ...traces.bags.records import MIGRATION_KINDS

# What happened. Beside VM, core and task, a row has two whole numbers and a real one.
LAUNCHED, GOT_READY, STARTED, FINISHED, HIBERNATED, WAS_STOPPED, RECLAIMED, NOTICED, RESUMED, RESTARTED = range(10)
PRICED, LIMITED, MIGRATED, STOLEN, WAS_PREEMPTED, PUT_BEHIND, TRIGGERED, TRIGGER_SET = range(10, 18)
CYCLE_ENDED, IDLE_LIMITED, ATTEMPTED, STRANDED, TERMINATED, WOKEN = range(18, 24)

_NAMES = (
    *("launch", "ready", "start", "finish", "hibernate", "stop", "reclaim", "notice", "resume", "restart"),
    *("price", "capacity", "migrate", "steal", "preempt", "preempted", "trigger", "trigger-set", "cycle-end"),
    *("idle-limit", "steal-attempt", "stranded", "terminate", "wake"),
)

# Bits of a migration, beside the kind of the VM that takes the task.
RECOVERED, LATE = 4, 8
MODE_SHIFT = LATE.bit_length()
"""Above them is the mode of the task."""

Note = tuple[int, int, int, int, int, int, int, float]


def event_records(
    instance: Instance, names: Sequence[str], offers: Sequence[int], notes: Iterable[Note]
) -> list[dict[str, Any]]:
    """Return the record as it stands in traces.

    Parameters
    ----------
    instance : Instance
        The bag.
    names, offers : sequence
        Of each VM, what it is called and the index of its offer.
    notes : iterable of tuple
        Time, what happened, VM, core, task, two whole numbers and a real one.
    """
    bursts = [instance.offers[offer].burstable for offer in offers]
    records = []
    for time_s, what, vm, core, task, first, second, real in notes:
        record: dict[str, Any] = {"record": "event", "t": time_s, "event": _NAMES[what]}
        if what in _OF_TASKS:
            if what in (MIGRATED, STOLEN):
                record |= {"task": instance.task_ids[task], "from": names[vm], "to": names[first]}
            else:
                record |= {"vm": names[vm], "core": core, "task": instance.task_ids[task]}
        elif what not in _OF_NO_VM:
            record["vm"] = names[vm]
        record |= _details(instance, what, first, second, real)
        of = first if what in (MIGRATED, STOLEN) else vm
        if what in (STARTED, MIGRATED, STOLEN) and bursts[of]:
            mode = second >> MODE_SHIFT if what == MIGRATED else second
            record["mode"] = "burst" if mode == FULL_SPEED else "baseline"
        if what == STARTED:
            if real:
                record["saved"] = real
            record["duration_s"] = first
        records.append(record)
    return records


_OF_TASKS = {STARTED, FINISHED, MIGRATED, STOLEN, WAS_PREEMPTED, PUT_BEHIND}
_OF_NO_VM = {PRICED, LIMITED, WOKEN}


_FIRST = {NOTICED: "until_s", TRIGGER_SET: "at_s", IDLE_LIMITED: "idle_s", ATTEMPTED: "stolen", STRANDED: "tasks"}
"""What the first whole number is called where nothing else is told."""


def _details(instance: Instance, what: int, first: int, second: int, real: float) -> dict[str, Any]:
    """Return the details of a record beside VM, core and task."""
    if what in _FIRST:
        return {_FIRST[what]: first}
    if what in (LAUNCHED, PRICED):
        offer = instance.offers[first]
        told: dict[str, Any] = {"type": offer.vm_type.name, "market": offer.market}
        return told if what == LAUNCHED else told | {"usd_per_hour": real}
    if what == LIMITED:
        return {"type": instance.vm_types[first].name, "vms": second}
    if what == WAS_PREEMPTED:
        return {"checkpoint": bool(first), "until_s": second}
    if what == PUT_BEHIND:
        return {"saved": real}
    if what != MIGRATED:
        return {}
    told = {"kind": MIGRATION_KINDS[second % RECOVERED]} | ({"saved": real} if real else {})
    return told | {name: True for name, bit in (("recovered", RECOVERED), ("late", LATE)) if second & bit}
