"""Findings of the auditor and of the checker: the rules, and what breaks them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Self, TypeAlias

from ..core.quantities import plain

Event: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Violation:
    """Violation of a rule by a plan.

    Attributes
    ----------
    rule : str
        Which rule, e.g. ``memory``.
    where : str
        The task or VM, by its id; empty for the plan as a whole.
    amount : float
        By how much, in ``unit``.
    unit : str
        E.g. ``s``, ``MB``, ``VMs``.
    message : str
        The same as a sentence.
    """

    rule: str
    where: str
    amount: float
    unit: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"

    @classmethod
    def of(cls, rule: str, where: str, message: str, amount: Any = None, unit: str = "s") -> Self:
        """Make a violation by an amount, of seconds if not said otherwise; without one, by one of what it counts."""
        if amount is None:
            amount, unit = 1, _COUNTED.get(rule, "events")
        return cls(rule, where, amount, unit, message)


@dataclass(frozen=True, slots=True)
class Finding(Violation):
    """Violation of one of `RULES` by a trace."""


RULES = {
    "instance": "what was replayed is what --instance gives; run times and jobs that were drawn are drawn again",
    "order": "events stand by time, then finish or preempted, price, capacity or resume or restart, ready, notice, "
    "hibernate or stop or reclaim, trigger, submit, cycle-end, idle-limit, wake, block-end; on a platform finish, "
    "terminate, submit, start on a cluster; decisions follow them",
    "vm": "VMs are of types and markets that are offered, each launched once and terminated once; without "
    "`hibernation`, there are no spot VMs",
    "limit": "VMs requested and not terminated, per type and market and per market, are within the limits; spot VMs "
    "are requested only where there is capacity; VMs of the on-demand baseline are no more than the limits of both "
    "markets together, and more than those of theirs are worth a note",
    "ready": "a VM is ready when its boot is over; on one started during the day, what is moved there must arrive",
    "timeline": "spot VMs get notice, are interrupted and come back exactly when the day says so, and no other VMs do; "
    "types do so in turn; prices and capacities are those of the day",
    "plan": "the plan has every task once, one after the other on cores of VMs that are offered, where it can run; its "
    "VMs are requested at the start, in its order, before all else",
    "release": "no task starts before its own ready_s, nor is to start before it by the plan",
    "timetable": "tasks of a bag start when and on the core where it is their turn: as planned; after what is there if "
    "they come from elsewhere; earlier where tasks have left",
    "state": "nothing starts, finishes or goes on on a VM that is launching, hibernated, stopped or terminated, and "
    "nothing starts on one that drains",
    "placement": "a task starts on the VM it belongs to, on one of its cores, where it can run, in a mode the VM has",
    "core": "a core runs one task at a time",
    "memory": "the tasks on the cores of a VM fit its memory together",
    "run-time": "a task runs as long as what is left of it takes there; a job in a cloud, as long as on its machines",
    "saved": "what is kept of a task are the checkpoints that were written, and no more",
    "credits": "tasks at full speed on a burstable VM have the credits they spend",
    "migration": "only tasks of VMs that are interrupted, or drain, are migrated, to a VM that is what the record says "
    "it is",
    "trigger": "a migration trigger is reached when it was last set to be, while the VM is interrupted or drains",
    "steal": "only waiting tasks are stolen, from a VM that runs or launches, by an idle one or one that launches",
    "preemption": "only running tasks are preempted; each stops then, or when the checkpoint is written that it is to "
    "write, and waits",
    "job": "jobs arrive when the run or the platform says so; their tasks are in the pool from then on and no earlier",
    "queue": "tasks join the queue of a VM from the pool, leave it for the pool, and start when they are its first",
    "idle-while-waiting": "a VM that is up and runs nothing does not leave the first of its queue waiting",
    "suspension": "only what runs on a VM is suspended there",
    "cycle-end": "an idle VM of a bag reaches the end of its allocation cycle exactly there",
    "idle-limit": "a VM of a bag of which the record says that it has been idle for so long has been that",
    "block-end": "an idle VM of a stream reaches the end of a block exactly there",
    "task-once": "every task finishes once or is listed as unfinished, as it may be on a VM of a bag that stays "
    "hibernated; none is lost, none runs twice at a time",
    "placing": "a job of a platform is placed when it arrives or is displaced, at once, and not where it has been "
    "displaced from; it stays there, or goes behind all others if it is new, only if no other resource offers to run "
    "it",
    "one-place": "a job of a platform waits at one resource, runs there once, and ends there; none is lost",
    "displacement": "jobs are displaced that wait behind the new one and would be late there: all of these, if the "
    "policy displaces, and only if they have less work together than it",
    "promise": "the end and the cost of a placement are what the resource offers, and good if deadline and budget are "
    "kept",
    "processors": "jobs have all processors of a cluster, minute by minute, in the order of its queue: the one that "
    "has begun, then by priority, then by who joined it first",
    "machines": "a job in a cloud has machines of its own, first the idle ones with the most paid time, then new ones; "
    "a machine that is idle at the end of a paid hour is given back, and no other",
    "bill": "all VMs are terminated, and billed, no longer than to the end of the bag; jobs in clouds are charged what "
    "the machines cost",
    "figures": "the figures of the end record are what the events come to",
}
"""Rules by name."""


_COUNTED = (
    dict.fromkeys(
        (
            *("machine", "migration", "placement", "plan", "preemption", "queue", "release", "rescue-core"),
            *("rescue-task", "run-time", "saved", "steal", "suspension", "task-once", "timetable"),
        ),
        "tasks",
    )
    | dict.fromkeys(("displacement", "job", "one-place", "placing", "processors", "promise"), "jobs")
    | dict.fromkeys(("limit", "rescue-vm", "vm"), "VMs")
    | dict.fromkeys(("bill", "machines"), "machines")
    | {"survival-claim": "plans"}
)
"""Units of violations that are counted, by rule; events for all others."""
_PLACES = {"tasks": ("task", "job", "vm"), "jobs": ("task", "job"), "machines": ("vm", "job")}
"""Fields of events that say where a rule is broken, by what it counts: the first that there is; the VM for others."""


SURVIVAL_RULES = {
    "survival-claim": "the plan survives what it says, and no loss is sure to cost more than the worst that it states",
    "rescue-task": "a rescue has every task that is lost exactly once, and no other",
    "rescue-vm": "its VMs are on demand, not burstable, and take tasks: new, or of the plan and up; each named once",
    "rescue-time": "what is left of a task runs as long as it takes, from the overhead after the loss or request on",
    "rescue-core": "a core of its VMs runs one task at a time, those of the plan included",
    "rescue-memory": "the tasks that run at an instant fit the memory of the VM together, those of the plan included",
    "rescue-limit": "VMs on demand per type, and together, are within the limits when new ones are requested",
    "rescue-deadline": "what is lost ends by the deadline",
    "rescue-cost": "each VM costs what it says, and all come to no more than the worst that is stated",
}
"""Rules of certificates by name."""


@dataclass(frozen=True, slots=True)
class AuditReport:
    """Report of the auditor on one replay.

    Attributes
    ----------
    findings : tuple of Finding
        All broken rules; empty for a correct trace.
    cost_usd : float
        What the VMs cost, worked out here.
    makespan_s : int or None
        End of the last task; None if tasks are unfinished.
    notes : tuple of str
        What is worth knowing but breaks no rule.
    vm_cost_usd : mapping
        The bill of each VM by its name.
    """

    findings: tuple[Finding, ...]
    cost_usd: float
    makespan_s: float | None
    notes: tuple[str, ...] = ()
    vm_cost_usd: Mapping[str, float] = field(default_factory=dict)

    @property
    def correct(self) -> bool:
        """True if the trace breaks no rule."""
        return not self.findings


class Findings:
    """Findings and notes of an audit, as it goes through the events."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.notes: list[str] = []

    def _find(
        self,
        rule: str,
        at: str | Event,
        said: str,
        amount: float | Fraction | None = None,
        unit: str = "s",
        where: str | None = None,
    ) -> None:
        """Report a breach of a rule at a task, job or VM, in a sentence; or at an event, which is named first."""
        assert rule in RULES
        if isinstance(at, str):
            where = at
        else:
            said = self._described(at) + said
            if where is None:
                places = _PLACES.get(_COUNTED.get(rule, ""), ("vm",))
                where = next((at[name] for name in places if at.get(name)), "")
        found = Finding.of(rule, where, said, amount, unit)
        self.findings.append(replace(found, amount=float(found.amount)))

    def _check_time(self, rule: str, event: Event, off_s: float, more: str = "") -> None:
        """Find an event that is not when it is due."""
        if off_s:
            when = f"{plain(abs(off_s))} s too {'late' if off_s > 0 else 'early'}"
            self._find(rule, event, f", {when}{more}", abs(off_s))

    def _described(self, event: Event) -> str:
        """Name an event in messages."""
        kind, moment = event["event"], f"{plain(event['t'])} s"
        if kind in ("migrate", "steal"):
            return f"{kind} of {event['task']!r} from {event['from']} to {event['to']} at {moment}"
        if "task" in event:
            return f"{kind} of {event['task']!r} on {event['vm']} at {moment}"
        if event.get("vm") is not None:
            return f"{kind} of {event['vm']} at {moment}"
        if "job" not in event:
            return f"{kind} at {moment}"
        on = f" on {event['resource']}" if "resource" in event else ""
        return f"{kind} of {event['job']!r}{on} at {moment}"
