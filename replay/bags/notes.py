"""What is kept on record of a replay: short rows while it goes on, and what traces say of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...instances.durations import FULL_SPEED
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
    """Return what is on record as it stands in traces.

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
        if (details := _DETAILS.get(what)) is not None:
            details(record, instance, first, second, real)
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


def _launched(record: dict[str, Any], instance: Instance, first: int, second: int, real: float) -> None:
    offer = instance.offers[first]
    record |= {"type": offer.vm_type.name, "market": offer.market}


def _priced(record: dict[str, Any], instance: Instance, first: int, second: int, real: float) -> None:
    offer = instance.offers[first]
    record |= {"type": offer.vm_type.name, "market": offer.market, "usd_per_hour": real}


def _limited(record: dict[str, Any], instance: Instance, first: int, second: int, real: float) -> None:
    record |= {"type": instance.vm_types[first].name, "vms": second}


def _migrated(record: dict[str, Any], instance: Instance, first: int, second: int, real: float) -> None:
    record["kind"] = MIGRATION_KINDS[second & 3]
    if real:
        record["saved"] = real
    if second & RECOVERED:
        record["recovered"] = True
    if second & LATE:
        record["late"] = True


def _preempted(record: dict[str, Any], instance: Instance, first: int, second: int, real: float) -> None:
    record |= {"checkpoint": bool(first), "until_s": second}


def _put_behind(record: dict[str, Any], instance: Instance, first: int, second: int, real: float) -> None:
    record["saved"] = real


def _one(name: str) -> Callable[..., None]:
    def say(record: dict[str, Any], instance: Instance, first: int, second: int, real: float) -> None:
        record[name] = first

    return say


_DETAILS: dict[int, Callable[..., None]] = {
    LAUNCHED: _launched,
    NOTICED: _one("until_s"),
    PRICED: _priced,
    LIMITED: _limited,
    MIGRATED: _migrated,
    WAS_PREEMPTED: _preempted,
    PUT_BEHIND: _put_behind,
    TRIGGER_SET: _one("at_s"),
    IDLE_LIMITED: _one("idle_s"),
    ATTEMPTED: _one("stolen"),
    STRANDED: _one("tasks"),
}
