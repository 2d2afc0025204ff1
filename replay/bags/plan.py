"""A plan made ready for the replay: plain lists, made once and read by every day and policy."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...audits.bags.plan import check
from ...audits.facts import Violation
from ...core.errors import SpotbagError
from ...core.rows import rows_of
from ...core.wording import counted
from ...instances.clouds import Billing
from ...instances.entries import BASELINE, FULL_SPEED, RentalOffer
from ...instances.instance import Instance
from ...schedules.queues import queue_times, queues_of_schedule
from ...schedules.schedule import Schedule
from ...schedules.timing import require_no_dates
from .rows import NONE, QueueRow
from .tables import WorkTable, names_of, plan_tables, price_classes


class Run(NamedTuple):
    """A task on a core of a VM, in the VM's uptime: from when to when, which task, in which mode."""

    start_s: int
    end_s: int
    task: int
    mode: int


def new_name(offer: RentalOffer, rented: int, taken: Collection[str]) -> str:
    """Return the name of a VM that is requested during a day, when so many VMs of its offer are rented already."""
    number = rented + 1
    while (name := f"{offer.vm_type.name}-{offer.market}-{number}") in taken:
        number += 1
    return name


@dataclass(frozen=True, slots=True)
class PlannedVm:
    """A VM of the plan: its name, what is rented, and the runs of each core in order."""

    name: str
    offer: RentalOffer
    cores: tuple[tuple[Run, ...], ...]


class PlanTables:
    """Beginning of every replay of a plan, as arrays of rows.

    Attributes
    ----------
    given : dict of str to array or list
        Tables of `Rows` that are `GIVEN`.
    most_new : int
        How many new VMs a rescue may have at the most.
    counts, counts_of_rescues : dict of str to int
        How many there are of what tables of `Rows` have places for: for all policies, and for `on-time`.
    shared : dict of str to list
        Those of the tables that no replay changes, as objects.
    task_values, limit_values : list of tuple
        Tasks and limits as plain numbers.
    names : Names
        Indices of types and offers.
    settings : dict of str to int
        Fields of `Rows` that are the same at the start of every day.
    """

    def __init__(self, instance: Instance, work: WorkTable, vms: tuple[PlannedVm, ...]) -> None:
        self._instance = instance
        regular = [offer.index for offer in work.on_demand_offers]
        columns = [offer.index for offer in instance.offers if offer.market == "on-demand"]
        column_of = {index: column for column, index in enumerate(columns)}
        standby = sorted(regular, key=lambda index: (work.usd_of_all(index), index))
        tasks, queues = plan_tables(work.group_of, vms)
        lists = {
            "regular": regular,
            # For rescues on demand: on-demand offers, which of them each offer is, and those of new VMs, the cheapest
            # for the whole bag first.
            "columns": columns,
            "column_of": [column_of.get(offer.index, NONE) for offer in instance.offers],
            "standby_offers": standby,
        }
        self.given: dict[str, Any] = {**work.tables, **lists, "tasks": tasks, "queues": queues}
        limits = work.tables["limits"]
        own = {limit["own"]: int(limit["most"]) for limit in limits}
        self.most_new = min(instance.n_tasks, sum(max(own[index], 0) for index in regular))
        most_cores = max(offer.vcpus for offer in instance.offers)
        self.counts = {
            "tasks": instance.n_tasks,
            "groups": len(work.tables["groups"]),
            "types": len(instance.vm_types),
            "prices": len(price_classes(instance)),
            "cores": most_cores,
        }
        self.counts_of_rescues = {
            "open": instance.n_tasks,
            "needs": instance.n_tasks * len(columns),
            "new": self.most_new,
            "new_cores": self.most_new * most_cores,
        }
        objects: dict[str, Any] = {name: getattr(work.rows, name) for name in ("groups", "durations", "members")}
        self.shared = {**objects, **lists, "queues": rows_of(QueueRow, queues)}
        self.task_values, self.limit_values = tasks.tolist(), limits.tolist()
        self._offers_billed: dict[Billing, tuple[Any, list[tuple[Any, ...]]]] = {}
        self.names = names_of(instance)
        self.settings = {
            "n_offers": len(instance.offers),
            "n_prices": self.counts["prices"],
            "n_limits": len(limits),
            "n_regular": len(regular),
            "n_columns": len(columns),
            "n_standby_offers": len(standby),
            "rescue_usd_per_s": work.usd_per_s(standby[0]) if standby else 0.0,
            "most_cores": most_cores,
            "n_queues": len(queues),
            "unfinished": instance.n_tasks,
            "boot_overhead_s": instance.boot_overhead_s,
            "start_overhead_s": max(instance.boot_overhead_s, instance.migration_overhead_s),
            "cycle_s": instance.allocation_cycle_s,
            "deadline_s": instance.deadline_s,
            "takes_checkpoints": int(work.takes_checkpoints),
        }

    def offers_billed(self, billing: Billing) -> tuple[Any, list[tuple[Any, ...]]]:
        """Return the offers with how a cloud bills them: as an array, and as plain numbers."""
        if billing not in self._offers_billed:
            table = self.given["offers"].copy()
            for entry, offer in zip(table, self._instance.offers, strict=True):
                for name, value in billing.bill(offer)._asdict().items():
                    entry[name] = value
            self._offers_billed[billing] = table, table.tolist()
        return self._offers_billed[billing]


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """Beginning of a replay.

    Attributes
    ----------
    instance : Instance
        With ``d_spot_s`` set if spot VMs are offered.
    work : WorkTable
        Durations.
    vms : tuple of PlannedVm
        VMs that are requested at the start.
    schedule : Schedule
        The plan itself.
    tables : PlanTables
        What every replay starts from.
    """

    instance: Instance
    work: WorkTable
    vms: tuple[PlannedVm, ...]
    schedule: Schedule
    tables: PlanTables = field(init=False)

    def __post_init__(self) -> None:
        """Make the tables."""
        object.__setattr__(self, "tables", PlanTables(self.instance, self.work, self.vms))

    def __reduce__(self) -> tuple[Any, ...]:
        """Send no tables to another process: they are made there again as fast as they could be read."""
        return _made_again, (self.instance, self.vms, self.schedule)


def _made_again(instance: Instance, vms: tuple[PlannedVm, ...], schedule: Schedule) -> ReplayPlan:
    return ReplayPlan(instance, WorkTable(instance), vms, schedule)


def replay_plan(schedule: Schedule) -> ReplayPlan:
    """Make a plan ready for the replay.

    Raises
    ------
    SpotbagError
        If it is a plan from a state: replays begin with the bag.
    """
    _refuse_rest(schedule.instance)
    instance = schedule.instance
    boot = instance.boot_overhead_s
    offers = [instance.offers[index] for index in schedule.vm_offer.tolist()]
    cores: list[list[list[Run]]] = [[[] for _ in range(offer.vcpus)] for offer in offers]
    order = np.argsort(schedule.task_start_s, kind="stable")
    mode = np.where(schedule.task_baseline, BASELINE, FULL_SPEED)
    columns = (schedule.task_vm, schedule.task_core, schedule.task_start_s - boot, schedule.task_end_s - boot, mode)
    rows = zip(order.tolist(), *(column[order].tolist() for column in columns), strict=True)
    for task, vm, core, start, end, task_mode in rows:
        cores[vm][core].append(Run(start, end, task, task_mode))
    planned = zip(schedule.vm_ids, offers, cores, strict=True)
    vms = tuple(PlannedVm(name, offer, tuple(tuple(runs) for runs in queues)) for name, offer, queues in planned)
    return ReplayPlan(instance, WorkTable(instance), vms, schedule)


def _refuse_rest(instance: Instance) -> None:
    if instance.machines:
        raise SpotbagError(
            f"{instance.name}: the plan goes on from a state, with {counted(len(instance.machines), 'VM')} that exist "
            "already; replays begin with the bag: give a plan for all of it"
        )


def on_demand_schedule(schedule: Schedule) -> Schedule:
    """Return the same plan on on-demand VMs: the baseline of both papers (HADS, section 5.3.1).

    Each spot VM is one of the same type on demand, and its tasks run in the same order without checkpoints, each as
    soon as it can. All other VMs keep their times. The limits of the on-demand market are not asked: this is a price
    to compare with.

    Raises
    ------
    SpotbagError
        If a type of the plan has no on-demand offer, or it is a plan from a state.
    """
    _refuse_rest(schedule.instance)
    instance = schedule.instance
    by_type = {offer.type_index: offer for offer in instance.offers if offer.market == "on-demand"}
    vm_offer, core, start_s = schedule.vm_offer.copy(), schedule.task_core.copy(), schedule.task_start_s.copy()
    for vm, queue in enumerate(queues_of_schedule(schedule)):
        if queue.offer.market != "spot":
            continue
        if queue.offer.type_index not in by_type:
            raise SpotbagError(
                f"{instance.name}: {queue.offer.vm_type.name} has no on-demand offer, so the plan has no on-demand "
                "price to compare with; give the type one, or leave out the on-demand policy"
            )
        queue.offer = by_type[queue.offer.type_index]
        vm_offer[vm] = queue.offer.index
        for task, (place, start, _) in zip(queue.tasks, queue_times(instance, queue), strict=True):
            core[task], start_s[task] = place, start
    baseline = schedule.task_baseline | (
        instance.offer_is_burstable[vm_offer][schedule.task_vm]
        & instance.offer_is_spot[schedule.vm_offer][schedule.task_vm]
    )
    return Schedule(instance, vm_offer, schedule.task_vm, core, start_s, baseline)


# ------------------------------------------------------------------------- checked

_PHYSICAL_RULES = frozenset({"task-once", "vm", "placement", "run-time", "ready", "core", "memory", "limit", "credits"})
"""Rules of the checker without which a plan cannot be carried out; a deadline can also be missed."""


@dataclass(frozen=True, slots=True)
class CheckedPlan:
    """A plan that was checked.

    Attributes
    ----------
    schedule : Schedule
        The plan.
    broken : tuple of Violation
        Of the rules without which no cloud could carry it out, those that it breaks.
    """

    schedule: Schedule
    broken: tuple[Violation, ...]

    @property
    def instance(self) -> Instance:
        """Instance of the plan."""
        return self.schedule.instance

    def demand_possible(self) -> None:
        """Refuse a plan that no cloud could carry out.

        Raises
        ------
        SpotbagError
            If it is one.
        """
        if self.broken:
            more = f" (and {len(self.broken) - 1} more; 'spotbag check' lists all)" if len(self.broken) > 1 else ""
            raise SpotbagError(f"{self.instance.name}: the plan cannot be carried out: {self.broken[0]}{more}")


def checked(plan: Schedule | CheckedPlan) -> CheckedPlan:
    """Check a plan, unless it has been checked."""
    if isinstance(plan, CheckedPlan):
        return plan
    return with_verdict(plan, check(plan.instance, plan).violations)


def with_verdict(schedule: Schedule, violations: Iterable[Violation]) -> CheckedPlan:
    """Return a plan with all that the checker has found wrong in it; refuse one of tasks with dates.

    Raises
    ------
    InputError
        If tasks have dates: replays do not know them.
    """
    require_no_dates(schedule.instance, "a replay")
    return CheckedPlan(schedule, tuple(entry for entry in violations if entry.rule in _PHYSICAL_RULES))
