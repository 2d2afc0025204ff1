"""Record of a replay: short rows while it goes on, the events of traces that they become, and the trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ...instances.bags.timeline import Timeline, event_documents
from ...instances.clouds import Billing, Cloud
from ...instances.entries import BASELINE, FULL_SPEED
from ...instances.instance import Instance
from ...traces.trace import Trace
from . import rows
from .outcome import DayOutcome
from .plan import ReplayPlan

_EVENTS = [name.lower().replace("_", "-") for name in rows.NOTED._fields]

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
        event = _EVENTS[what]
        record: dict[str, Any] = {"record": "event", "t": time_s, "event": event}
        moves = event in ("migrate", "steal")
        if moves:
            record |= {"task": instance.task_ids[task], "from": names[vm], "to": names[first]}
        elif event in ("start", "finish", "preempt", "preempted"):
            record |= {"vm": names[vm], "core": core, "task": instance.task_ids[task]}
        elif event not in ("price", "capacity", "wake"):
            record["vm"] = names[vm]
        record |= _details(instance, event, first, second, real)
        if (moves or event == "start") and bursts[first if moves else vm]:
            mode = second >> rows.MODE_SHIFT if event == "migrate" else second
            record["mode"] = "burst" if mode == FULL_SPEED else "baseline"
        if event == "start":
            if real:
                record["saved"] = real
            record["duration_s"] = first
        records.append(record)
    return records


_FIRST = {
    "notice": "until_s",
    "trigger-set": "at_s",
    "idle-limit": "idle_s",
    "steal-attempt": "stolen",
    "stranded": "tasks",
}
"""Name of the first whole number of a note, by event, where nothing else is told."""


def _details(instance: Instance, event: str, first: int, second: int, real: float) -> dict[str, Any]:
    """Return the details of a record beside VM, core and task."""
    if event in _FIRST:
        return {_FIRST[event]: first}
    if event in ("launch", "price"):
        offer = instance.offers[first]
        told: dict[str, Any] = {"type": offer.vm_type.name, "market": offer.market}
        return told if event == "launch" else told | {"usd_per_hour": real}
    if event == "capacity":
        return {"type": instance.vm_types[first].name, "vms": second}
    if event == "preempt":
        return {"checkpoint": bool(first), "until_s": second}
    if event == "preempted":
        return {"saved": real}
    if event != "migrate":
        return {}
    told = {"kind": rows.MIGRATION_KINDS[second % rows.RECOVERED]} | ({"saved": real} if real else {})
    return told | {name: True for name, bit in (("recovered", rows.RECOVERED), ("late", rows.LATE)) if second & bit}


# ------------------------------------------------------------------------- traces

_TOLD = (
    *("hibernations", "resumes", "on_demand_started", "migrations", "steal_attempts", "steals", "tasks_stolen"),
    *("checkpoints", "recoveries", "cpu_time_saved_s"),
)
"""Fields of an outcome at the end of a trace, beside tasks, cost and those that are seldom there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Record of a day kept by compiled loops, with the fields of a `ReplayState` that a trace is made of."""

    policy_name: str
    plan: ReplayPlan
    now_s: int
    records: list[dict[str, Any]]
    unfinished: list[str]

    def unfinished_ids(self) -> list[str]:
        """Ids of the tasks that are not finished, in the order of the instance."""
        return self.unfinished


def trace_of(
    state: Any,
    timeline: Timeline,
    cloud: Cloud,
    outcome: DayOutcome,
    day: int = 0,
    hibernation: bool = True,
) -> Trace:
    """Return the trace of an ended replay that was made with ``record=True``.

    Parameters
    ----------
    state : ReplayState or Recorded
        That of the replay, or what loops have kept of it.
    timeline, cloud : Timeline, Cloud
        The day, and the cloud on which it was.
    outcome : DayOutcome
        That of the day.
    day : int
        Number of the day.
    hibernation : bool
        Whether VMs could hibernate at all: not in the on-demand baseline.
    """
    records = state.records
    assert records is not None, "the replay keeps no record"
    run: dict[str, Any] = {
        "record": "run",
        "policy": state.policy_name,
        "day": day,
        "plan": _plan_records(state.plan),
        "timeline": {"name": timeline.name, "events": event_documents(timeline)},
        "cloud": {"name": cloud.name, "interruption": cloud.interruption, "notice_s": cloud.notice_s},
        "billing": billing_record(cloud.billing),
        "hibernation": hibernation,
    }
    end: dict[str, Any] = {
        "record": "end",
        "t": state.now_s,
        "cost_usd": outcome.cost_usd,
        "makespan_s": outcome.makespan_s,
        "finished": state.plan.instance.n_tasks - outcome.unfinished_tasks,
        "late_tasks": outcome.late_tasks,
        "unfinished": state.unfinished_ids(),
        **{name: getattr(outcome, name) for name in _TOLD},
    }
    for name in ("stops", "restarts", "reclaims", "preemptions"):
        if getattr(outcome, name):
            end[name] = getattr(outcome, name)
    if outcome.late_weight != outcome.late_tasks:
        end["late_weight"] = outcome.late_weight
    return Trace(state.plan.instance.to_document(), run, records, end)


def billing_record(billing: Billing) -> dict[str, Any]:
    """Return the billing as it stands in traces: what both papers know, and what is not as usual."""
    always = ("first_hour_free", "hibernated_usd_per_gb_hour")
    values = {entry.name: (getattr(billing, entry.name), entry.default) for entry in fields(billing)}
    return {name: value for name, (value, usual) in values.items() if name in always or value != usual}


def _plan_records(plan: ReplayPlan) -> list[dict[str, Any]]:
    """Return the plan as it stands in traces: each VM, and which tasks start when on each of its cores."""
    names, boot_s = plan.instance.task_ids, plan.instance.boot_overhead_s
    records = []
    for vm in plan.vms:
        # Tables of plans count from when VMs are ready, traces from when they are requested.
        cores: list[list[dict[str, Any]]] = [
            [{"task": names[run.task], "start_s": run.start_s + boot_s} for run in runs] for runs in vm.cores
        ]
        if vm.offer.burstable:
            for entries, runs in zip(cores, vm.cores, strict=True):
                for entry, run in zip(entries, runs, strict=True):
                    entry["mode"] = "baseline" if run.mode == BASELINE else "burst"
        records.append({"vm": vm.name, "type": vm.offer.vm_type.name, "market": vm.offer.market, "cores": cores})
    return records
