"""Outcome of a replay."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

from ...instances.bags.timeline import Timeline, event_documents
from ...instances.clouds import Billing, Cloud
from ...traces.bags.records import MIGRATION_KINDS
from ...traces.trace import Trace
from ..vms import VmBill
from .plan import ReplayPlan, plan_records
from .state import COUNTED, COUNTED_BY_KIND, ReplayState


@dataclass(frozen=True, slots=True)
class DayOutcome:
    """Outcome of a day under a policy.

    Attributes
    ----------
    policy : str
        The policy.
    cost_usd : float
        Bill of all VMs.
    makespan_s : int or None
        End of the last task; None if tasks are left unfinished.
    deadline_s : int
        By when all tasks were to end.
    late_tasks, unfinished_tasks : int
        Tasks that ended after the deadline; tasks that never ended.
    hibernations, resumes : int
        Hibernations and resumes of VMs, each VM counted.
    stops, restarts, reclaims : int
        VMs that were stopped, that were booted again, and that the cloud has terminated.
    resumes_in_time : int
        Resumes and restarts before the migration trigger of a VM that has tasks.
    on_demand_started : int
        On-demand VMs started during the day, those of the plan not counted.
    migrations : dict of str to int
        Tasks migrated, by the state of the VM that took them: idle, busy, new.
    hibernations_by_migration : dict of str to int
        Hibernations after which some task migrated so; a hibernation may count for several kinds.
    busy_hibernations : int
        Hibernations, and other interruptions, of VMs that had tasks.
    steal_attempts, steals, tasks_stolen : int
        Attempts of idle VMs, those that took at least one task, and the tasks taken.
    preemptions : int
        Tasks that a policy has preempted.
    checkpoints, recoveries : int
        Checkpoints written; tasks that went on from one elsewhere.
    cpu_time_saved_s : float
        Seconds of work that recoveries did not do again.
    events : int
        Events handled, for measuring the engine.
    bills : tuple of VmBill
        Bill of each VM.
    """

    policy: str
    cost_usd: float
    makespan_s: int | None
    deadline_s: int
    late_tasks: int = 0
    unfinished_tasks: int = 0
    hibernations: int = 0
    resumes: int = 0
    resumes_in_time: int = 0
    on_demand_started: int = 0
    migrations: dict[str, int] = field(default_factory=dict)
    hibernations_by_migration: dict[str, int] = field(default_factory=dict)
    busy_hibernations: int = 0
    steal_attempts: int = 0
    steals: int = 0
    tasks_stolen: int = 0
    checkpoints: int = 0
    recoveries: int = 0
    cpu_time_saved_s: float = 0.0
    events: int = 0
    bills: tuple[VmBill, ...] = ()
    stops: int = 0
    restarts: int = 0
    reclaims: int = 0
    preemptions: int = 0

    @property
    def meets_deadline(self) -> bool:
        """True if all tasks ended by the deadline."""
        return self.makespan_s is not None and self.makespan_s <= self.deadline_s


_TOLD = (
    *("hibernations", "resumes", "on_demand_started", "migrations", "steal_attempts", "steals", "tasks_stolen"),
    *("checkpoints", "recoveries", "cpu_time_saved_s"),
)
"""What the end of a trace says of an outcome, beside tasks, cost and what there seldom is."""


OF_ROWS = ("unfinished", "last_finish_s", "cpu_time_saved_s", "events_handled", *COUNTED, *COUNTED_BY_KIND)
"""Fields of `Rows` that an outcome is made of."""


def outcome_with(policy: str, deadline_s: int, values: Any, bills: tuple[VmBill, ...]) -> DayOutcome:
    """Return the outcome of an ended replay, from the fields of its `Rows` and the bills of its VMs."""
    return DayOutcome(
        policy=policy,
        cost_usd=math.fsum([bill.cost_usd for bill in bills]),
        makespan_s=None if values.unfinished else values.last_finish_s,
        deadline_s=deadline_s,
        unfinished_tasks=values.unfinished,
        migrations={kind: getattr(values, "migrated_" + kind) for kind in MIGRATION_KINDS},
        hibernations_by_migration={kind: getattr(values, "hibernations_" + kind) for kind in MIGRATION_KINDS},
        cpu_time_saved_s=values.cpu_time_saved_s,
        events=values.events_handled,
        bills=bills,
        **{name: getattr(values, name) for name in COUNTED},
    )


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
    state: ReplayState | Recorded,
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
        What it came to.
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
        "plan": plan_records(state.plan),
        "timeline": {"name": timeline.name, "events": event_documents(timeline)},
        "cloud": {"name": cloud.name, "interruption": cloud.interruption, "notice_s": cloud.notice_s},
        "billing": _billing_record(cloud.billing),
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
    return Trace(state.plan.instance.to_document(), run, records, end)


def _billing_record(billing: Billing) -> dict[str, Any]:
    """Return the billing as it stands in traces: what both papers know, and what is not as usual."""
    always = ("first_hour_free", "hibernated_usd_per_gb_hour")
    values = {entry.name: (getattr(billing, entry.name), entry.default) for entry in fields(billing)}
    return {name: value for name, (value, usual) in values.items() if name in always or value != usual}
