"""Outcome of a replay: what has happened, and the bills of its VMs.

On a bill is what its rules say, changes of prices, and what VMs cost that do not run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from ...core.bill import Bill, billed_s
from ...core.quantities import MB_PER_GB, SECONDS_PER_HOUR
from ..engines import VmBill
from .rows import MIGRATION_KINDS, NONE, PRICE, DayRow, Rows, SessionRow

if TYPE_CHECKING:
    from ...instances.clouds import Billing
    from ...instances.entries import RentalOffer


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
        Tasks that ended after the deadline, or after their own; tasks that never ended.
    late_weight : float
        Weight of the late tasks: their number, where each counts 1.
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
    late_weight: float = 0.0

    @property
    def meets_deadline(self) -> bool:
        """True if all tasks ended by the deadline, and by their own."""
        return not (self.late_tasks or self.unfinished_tasks)


_FIELDS = {entry.name for entry in fields(Rows) if entry.type == "int"}
COUNTED = tuple(entry.name for entry in fields(DayOutcome) if type(entry.default) is int and entry.name in _FIELDS)
"""Fields that a `DayOutcome` and a replay count by the same name."""

COUNTED_BY_KIND = tuple(f"{what}_{kind}" for kind in MIGRATION_KINDS for what in ("migrated", "hibernations"))
"""Fields that are counted by kinds of migration."""

OF_ROWS = (
    "unfinished",
    "last_finish_s",
    "deadline_s",
    "cpu_time_saved_s",
    "late_weight",
    "events_handled",
    *COUNTED,
    *COUNTED_BY_KIND,
)
"""Fields of `Rows` that an outcome is made of."""


def outcome_with(policy: str, values: Any, bills: tuple[VmBill, ...]) -> DayOutcome:
    """Return the outcome of an ended replay, from the fields of its `Rows` and the bills of its VMs."""
    return DayOutcome(
        policy=policy,
        cost_usd=math.fsum([bill.cost_usd for bill in bills]),
        makespan_s=None if values.unfinished else values.last_finish_s,
        deadline_s=values.deadline_s,
        unfinished_tasks=values.unfinished,
        migrations={kind: getattr(values, "migrated_" + kind) for kind in MIGRATION_KINDS},
        hibernations_by_migration={kind: getattr(values, "hibernations_" + kind) for kind in MIGRATION_KINDS},
        cpu_time_saved_s=values.cpu_time_saved_s,
        late_weight=values.late_weight,
        events=values.events_handled,
        bills=bills,
        **{name: getattr(values, name) for name in COUNTED},
    )


# -------------------------------------------------------------------------- bills

BILLED = (
    *("offer_index", "since_s", "terminated_s", "hibernated_s", "stopped_s", "ran_s"),
    *("first_session", "n_paid", "cost_usd"),
)
"""Fields of the row of a VM that its bill is made from."""


def bills_of(
    names: Sequence[str],
    offers: Sequence[RentalOffer],
    rows: Iterable[Sequence[Any]],
    billing: Billing,
    days: Iterable[DayRow],
    sessions: Sequence[SessionRow],
) -> tuple[VmBill, ...]:
    """Return the bills of VMs that have been terminated.

    Parameters
    ----------
    names : sequence of str
        What VMs are called.
    offers : sequence of RentalOffer
        Those of the instance.
    rows : iterable of tuple
        Of each VM, what is `BILLED`.
    billing : Billing
        How VMs are billed.
    days : iterable of DayRow
        What has happened, of which prices count.
    sessions : sequence of SessionRow
        Those of all VMs; not looked at unless prices have changed.
    """
    changed: dict[int, list[tuple[int, float]]] = {}
    for event in days:
        if event.kind == PRICE:
            changed.setdefault(event.offer, []).append((event.time_s, event.usd_per_hour))
    hibernated_usd, stopped_usd = billing.hibernated_usd_per_gb_hour, billing.stopped_usd_per_gb_hour
    bills = []
    for name, row in zip(names, rows, strict=True):
        index, since_s, end_s, hibernated_s, stopped_s, ran_s, first, n_paid, cost = row
        offer = offers[index]
        vm_type = offer.vm_type
        if index in changed:
            of_vm = sessions_of(sessions, first)
            paid = of_vm[len(of_vm) - n_paid :]
            cost = _changing_usd(billing.bill(offer), offer.price_usd_per_hour, changed[index], paid)
        if hibernated_usd or stopped_usd:
            gb_hours = vm_type.memory_mb / MB_PER_GB / SECONDS_PER_HOUR
            cost = cost + hibernated_usd * gb_hours * hibernated_s + stopped_usd * gb_hours * stopped_s
        rested_s = end_s - since_s - hibernated_s - ran_s
        bills.append(VmBill(name, vm_type.name, offer.market, since_s, end_s, hibernated_s, cost, rested_s))
    return tuple(bills)


def sessions_of(sessions: Sequence[SessionRow], first: int) -> list[tuple[int, int, bool]]:
    """Return the sessions of a VM from one on: from when to when it ran, and whether the cloud ended it."""
    found = []
    while first != NONE:
        row = sessions[first]
        found.append((row.start_s, row.end_s, bool(row.lost)))
        first = row.next
    return found


def _changing_usd(
    bill: Bill, usd_per_hour: float, prices: Sequence[tuple[int, float]], sessions: Sequence[tuple[int, int, bool]]
) -> float:
    """Price of sessions, each second at that of its moment; what is billed before and beyond, at the first and last.

    ``prices`` are those after the first one, by time: from when on, and how much in USD per hour.
    """
    costs = []
    for start_s, end_s, _ in sessions:
        billed_end_s = start_s - bill.lead_s + billed_s(bill, end_s - start_s)
        at_start = next((changed for time_s, changed in reversed(prices) if time_s <= start_s), usd_per_hour)
        price, at_s, parts = usd_per_hour, start_s, [at_start * bill.lead_s]
        for time_s, changed in prices:
            if time_s > end_s:
                break
            if time_s > at_s:
                parts.append(price * (time_s - at_s))
                at_s = time_s
            price = changed
        parts.append(price * (billed_end_s - at_s))
        costs.append(math.fsum(parts) / SECONDS_PER_HOUR)
    return bill.fixed_usd * len(sessions) + math.fsum(costs)
