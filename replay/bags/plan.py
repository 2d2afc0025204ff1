"""Beginning of a replay: tables of an instance, a plan and a day, made once and read by every day and policy."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat, zip_longest
from typing import Any, NamedTuple

import numpy as np

from ...audits.bags.plan import check
from ...audits.findings import Violation
from ...core.capacities import lower_of, upper_of
from ...core.errors import SpotbagError
from ...core.quantities import SECONDS_PER_HOUR
from ...core.rows import dtype_of, rows_of
from ...core.wording import counted
from ...instances.bags.timeline import Timeline
from ...instances.clouds import Billing
from ...instances.entries import BASELINE, FULL_SPEED, NEVER, RentalOffer
from ...instances.instance import Instance
from ...schedules.queues import queue_times, queues_of_schedule
from ...schedules.schedule import Schedule
from . import rows

KINDS = {"hibernate": rows.HIBERNATE, "stop": rows.STOP, "terminate": rows.TERMINATE, "resume": rows.RESUME}
"""Kinds of events of a day, once the cloud is known."""

_KINDS = KINDS | {"capacity": rows.CAPACITY, "price": rows.PRICE}


def offer_table(instance: Instance) -> Any:
    """Return the offers; see `OfferRow`."""
    table = table_of(rows.OfferRow(), len(instance.offers))
    by_price = price_classes(instance)
    for entry, offer in zip(table, instance.offers, strict=True):
        entry["type"], entry["spot"], entry["vcpus"] = offer.type_index, offer.market == "spot", offer.vcpus
        entry["sustained"] = BASELINE if offer.burstable else FULL_SPEED
        entry["usd_per_hour"] = entry["now_usd_per_hour"] = offer.price_usd_per_hour
        entry["setup_s"] = setup_s = offer.vm_type.setup_s
        # In uptime, which begins when the VM has booted: a migration goes on during the boot.
        entry["moved_start_s"] = max(instance.migration_overhead_s - instance.boot_overhead_s, setup_s)
        entry["price_class"] = by_price.index(offer.price_usd_per_hour)
        # Without a size, no rule asks about memory at all.
        if not instance.memory_never_binds[offer.type_index]:
            entry["memory_kb"] = offer.memory_kb
        burst = offer.vm_type.burstable
        if burst is not None:
            entry["bursts"], entry["baseline"] = 1, burst.baseline_fraction
            entry["first_credits"], entry["most_credits"] = burst.initial_credits, burst.credit_cap
            entry["credits_per_hour"] = burst.credits_per_hour
    return table


def limit_tables(instance: Instance, offers: Any) -> tuple[Any, Any]:
    """Return the limits, of groups of offers and of each offer alone, and which offers count against which.

    The offers are told where theirs are.
    """
    members: list[tuple[int, int]] = []
    quotas = [quota for _, quota in instance.limits.of_groups()]
    for entry, offer in zip(offers, instance.offers, strict=True):
        weights = [quota.weight(offer.vm_type, offer.market) for quota in quotas]
        of_offer = [(len(quotas) + offer.index, 1), *((number, each) for number, each in enumerate(weights) if each)]
        entry["first_limit"], entry["n_limits"] = len(members), len(of_offer)
        members += of_offer
    limits = [(quota.most, 0, 0, rows.NONE) for quota in quotas]
    limits += [(offer.vm_type.offers[offer.market].limit, 0, 0, offer.index) for offer in instance.offers]
    return np.array(limits, dtype=dtype_of(rows.LimitRow)), np.array(members, dtype=dtype_of(rows.MemberRow))


def rest_values(billing: Billing) -> dict[str, int]:
    """Return flags of VMs that cost something while they are hibernated or stopped; see `Rows`."""
    return {
        "hibernated_costs": int(billing.hibernated_usd_per_gb_hour > 0),
        "stopped_costs": int(billing.stopped_usd_per_gb_hour > 0),
    }


def law_values(law: object, deadline_s: int) -> dict[str, float]:
    """Return the interruptions of a VM and returns for each second, if the scenario says so; see `Rows`."""
    if not isinstance(law, Mapping):
        return {}
    if "type_resumes_per_deadline" in law:
        interrupted = law["type_interruptions_per_deadline"] / deadline_s
        back = law["type_resumes_per_deadline"] / deadline_s
    elif "mean_outage_s" in law:
        interrupted = (law["vm_interruptions_per_hour"] + law["type_interruptions_per_hour"]) / SECONDS_PER_HOUR
        back = 1 / law["mean_outage_s"] if law["mean_outage_s"] else 0.0
    else:
        return {}
    return {"knows_rates": 1, "interrupted_per_s": interrupted, "back_per_s": back}


def table_of(row: Any, n: int) -> Any:
    """Return a table of rows that are alike."""
    dtype = dtype_of(row.__class__)
    return np.array([tuple(getattr(row, name) for name in dtype.names or ())], dtype=dtype).repeat(n)


def price_classes(instance: Instance) -> list[float]:
    """Return the prices of the offers, in their order."""
    return sorted({offer.price_usd_per_hour for offer in instance.offers})


def group_table(instance: Instance) -> Any:
    """Return the groups of tasks that are alike; see `GroupRow`."""
    table = np.zeros(len(instance.memory_kb), dtype=dtype_of(rows.GroupRow))
    table["memory_kb"] = instance.memory_kb
    table["interval_s"], table["dump_s"] = instance.checkpoint_interval_s, instance.dump_s
    table["ready_s"], table["due_s"], table["weight"] = instance.release_s, instance.due_s, instance.weight
    return table


def duration_table(instance: Instance) -> Any:
    """Return the durations of groups on offers; see `DurationRow`."""
    types = [offer.type_index for offer in instance.offers]
    table = np.zeros(instance.duration_s.shape[:2], dtype=dtype_of(rows.DurationRow))
    table["full_s"], table["baseline_s"] = instance.duration_s[:, :, FULL_SPEED], instance.duration_s[:, :, BASELINE]
    table["runtime_s"] = instance.offer_runtime_s
    table["checkpoints"] = instance.checkpoint_count[:, types]
    return table


def plan_tables(group_of: Sequence[int], vms: Sequence[Any]) -> tuple[Any, Any]:
    """Return the tasks, linked as they wait, and each core of the plan with its first and last task."""
    tasks = table_of(rows.TaskRow(), len(group_of))
    tasks["group"] = group_of
    queues = []
    for number, vm in enumerate(vms):
        for core, runs in enumerate(vm.cores):
            for run, after in zip_longest(runs, runs[1:]):
                entry = tasks[run.task]
                entry["start_s"], entry["end_s"], entry["mode"] = run.start_s, run.end_s, run.mode
                entry["vm"], entry["core"] = number, core
                if after is not None:
                    entry["next"] = after.task
            ends = (runs[0].task, runs[-1].task) if runs else (rows.NONE, rows.NONE)
            queues.append((vm.offer.index, core, *ends, len(runs)))
    return tasks, np.array(queues, dtype=dtype_of(rows.QueueRow))


_AN_EVENT = table_of(rows.DayRow(), 1)


class Names(NamedTuple):
    """Indices of types by name, and of offers by type and market: what events of days call them by."""

    types: dict[str, int]
    offers: dict[tuple[str, str], int]


def names_of(instance: Instance) -> Names:
    """Return the names of an instance."""
    types = {vm_type.name: index for index, vm_type in enumerate(instance.vm_types)}
    return Names(types, {(offer.vm_type.name, offer.market): offer.index for offer in instance.offers})


def day_table(names: Names, day: Timeline) -> Any:
    """Return the events of a day, as it is on a cloud, without those of types that the instance does not have."""
    n = len(day.events)
    table = _AN_EVENT.repeat(n)
    if not n:
        return table
    time_s, vm_type, kind, vm, share, notice_s, vms, by, market, usd, age_s = zip(*day.events, strict=True)
    table["time_s"] = time_s
    types = [*map(names.types.get, vm_type, repeat(rows.NONE))]
    table["type"] = types
    table["kind"] = [*map(_KINDS.__getitem__, kind)]
    numbers = {"vm": vm, "share": share, "notice_s": notice_s, "vms": vms, "usd_per_hour": usd, "age_s": age_s}
    for column, values in numbers.items():
        # Most events have few of them, and days may have thousands of events.
        if values.count(None) < n:
            usual = _AN_EVENT[column].item()
            table[column] = [usual if value is None else value for value in values]
    if by.count(None) < n:
        table["by"] = [rows.NONE if name is None else KINDS[name] for name in by]
    if market.count(None) < n:
        table["offer"] = [names.offers.get(place, rows.NONE) for place in zip(vm_type, market, strict=True)]
    if rows.NONE in types:
        table = table[table["type"] != rows.NONE]
    if age_s.count(None) < n:  # these first, so that `await_age` finds them
        aged = table["age_s"] != rows.NONE
        of_vms = table[aged]
        table = np.concatenate([of_vms[np.lexsort((of_vms["vm"], of_vms["type"]))], table[~aged]])
    return table


def n_aged(table: Any) -> int:
    """Return how many events of a table of a day are due at the ages of VMs; they stand before all others."""
    return int(np.count_nonzero(table["age_s"] != rows.NONE))


class Run(NamedTuple):
    """A task on a core of a VM, in the VM's uptime: from when to when, which task, in which mode."""

    start_s: int
    end_s: int
    task: int
    mode: int


def new_name(offer: RentalOffer, rented: int, taken: Collection[str]) -> str:
    """Return the name of a VM that is requested during a day, by the number of earlier VMs of its offer."""
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


_COUNTED = ("offers", "limits", "queues", "regular", "columns", "standby_offers")
"""Tables whose lengths are fields of `Rows`: `n_offers` and so on."""


class PlanTables:
    """Beginning of every replay of a plan, as arrays of rows.

    Attributes
    ----------
    given : dict of str to array or list
        Tables of `Rows` that are `GIVEN`.
    rows : Rows
        Offers, groups, durations and members as objects.
    group_of : list of int
        Group of each task.
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

    def __init__(self, instance: Instance, vms: tuple[PlannedVm, ...]) -> None:
        self._instance = instance
        offers, groups, durations = offer_table(instance), group_table(instance), duration_table(instance)
        limits, members = limit_tables(instance, offers)
        self.group_of: list[int] = instance.task_group.tolist()
        tasks, queues = plan_tables(self.group_of, vms)
        self.rows = rows.Rows(
            offers=rows_of(rows.OfferRow, offers),
            groups=rows_of(rows.GroupRow, groups),
            durations=[rows_of(rows.DurationRow, row) for row in durations],
            members=rows_of(rows.MemberRow, members),
            queues=rows_of(rows.QueueRow, queues),
            takes_checkpoints=int(instance.checkpoint is not None),
        )
        lists = self._lists_of_offers()
        tables = {"offers": offers, "groups": groups, "durations": durations, "limits": limits, "members": members}
        self.given: dict[str, Any] = {**tables, **lists, "tasks": tasks, "queues": queues}
        shared = ("groups", "durations", "members", "queues")
        self.shared: dict[str, Any] = lists | {name: getattr(self.rows, name) for name in shared}
        self.task_values, self.limit_values = tasks.tolist(), limits.tolist()
        # Limits of groups have no offer of their own, and restrict rescues by `can_start` alone.
        own = {limit["own"]: int(limit["most"]) for limit in limits}
        self.most_new = min(instance.n_tasks, sum(max(own[index], 0) for index in lists["regular"]))
        most_cores = max(offer.vcpus for offer in instance.offers)
        self.counts = {
            "tasks": instance.n_tasks,
            "groups": len(groups),
            "types": len(instance.vm_types),
            "prices": len(price_classes(instance)),
            "cores": most_cores,
            # Of each task one in a list of a VM, one in a sketch, and one where it is assigned to a sketch.
            "spans": 0 if all(instance.memory_never_binds) else 3 * instance.n_tasks,
        }
        self.counts_of_rescues = {
            "open": instance.n_tasks,
            "needs": instance.n_tasks * len(lists["columns"]),
            "new": self.most_new,
            "new_cores": self.most_new * most_cores,
        }
        self._offers_billed: dict[Billing, tuple[Any, list[tuple[Any, ...]]]] = {}
        self.names = names_of(instance)
        self.settings: dict[str, float] = {f"n_{name}": len(self.given[name]) for name in _COUNTED}
        self.settings |= self._settings(lists["standby_offers"])

    def _lists_of_offers(self) -> dict[str, list[int]]:
        """Return lists of offers: regular on-demand ones, cheapest first, and those of rescues on demand.

        Of rescues: on-demand offers, which of them each offer is, and those of new VMs, the cheapest for the whole bag
        first.
        """
        offers = self._instance.offers
        columns = [offer.index for offer in offers if offer.market == "on-demand"]
        of_offer = {index: column for column, index in enumerate(columns)}
        regular = [index for index in columns if not offers[index].burstable]
        regular.sort(key=lambda index: (offers[index].price_usd_per_hour, index))
        return {
            "regular": regular,
            "columns": columns,
            "column_of": [of_offer.get(offer.index, rows.NONE) for offer in offers],
            "standby_offers": sorted(regular, key=lambda index: (self._usd_of_all(index), index)),
        }

    def _settings(self, standby: Sequence[int]) -> dict[str, float]:
        instance = self._instance
        return {
            "n_prices": self.counts["prices"],
            "rescue_usd_per_s": self._usd_per_s(standby[0]) if standby else 0.0,
            "most_cores": self.counts["cores"],
            "unfinished": instance.n_tasks,
            "boot_overhead_s": instance.boot_overhead_s,
            "start_overhead_s": max(int(instance.ready_s.max()), instance.migration_overhead_s),
            "cycle_s": instance.allocation_cycle_s,
            "deadline_s": instance.deadline_s,
            "takes_checkpoints": self.rows.takes_checkpoints,
            "has_releases": int(instance.release_s.any()),
        }

    def _runtimes_s(self, offer: int) -> list[tuple[int, int]]:
        """Memory and run time of each task that can run on an offer."""
        groups, durations = self.rows.groups, self.rows.durations
        found = [(groups[group].memory_kb, durations[group][offer].runtime_s) for group in self.group_of]
        return [(kb, time_s) for kb, time_s in found if time_s < NEVER]

    def _usd_per_s(self, offer: int) -> float:
        """Price of a second of work of the bag on VMs of an offer at the best; infinite if no task can run there.

        Its tasks share their cores, and their memory.
        """
        row, times = self.rows.offers[offer], self._runtimes_s(offer)
        if not times:
            return math.inf
        part, work_s = 1 / row.vcpus, sum(time_s for _, time_s in times)
        if row.memory_kb != rows.NONE:
            kb_s = sum(time_s * lower_of(kb) for kb, time_s in times)
            slots_s = sum(time_s * upper_of(kb) for kb, time_s in times)
            part = max(part, kb_s / work_s / lower_of(row.memory_kb), slots_s / work_s / row.vcpus)
        return row.usd_per_hour / SECONDS_PER_HOUR * part

    def _usd_of_all(self, offer: int) -> float:
        """Price of the average task on an offer, of those that can run there; infinite if none can."""
        times = self._runtimes_s(offer)
        return self._usd_per_s(offer) * sum(time_s for _, time_s in times) / len(times) if times else math.inf

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
    vms : tuple of PlannedVm
        VMs that are requested at the start.
    schedule : Schedule
        The plan itself.
    tables : PlanTables
        What every replay starts from.
    loops : list of CompiledReplays
        Loops that go through its days, once there are some.
    """

    instance: Instance
    vms: tuple[PlannedVm, ...]
    schedule: Schedule
    tables: PlanTables = field(init=False)
    loops: list[Any] = field(init=False, default_factory=list, compare=False)

    def __post_init__(self) -> None:
        """Make the tables."""
        object.__setattr__(self, "tables", PlanTables(self.instance, self.vms))

    def __reduce__(self) -> tuple[Any, ...]:
        """Send no tables to another process: they are made there again as fast as they could be read."""
        return ReplayPlan, (self.instance, self.vms, self.schedule)


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
    return ReplayPlan(instance, vms, schedule)


def _refuse_rest(instance: Instance) -> None:
    if instance.machines:
        raise SpotbagError(
            f"{instance.name}: the plan goes on from a state, with {counted(len(instance.machines), 'VM')} that exist "
            "already; replays begin with the bag: give a plan for all of it"
        )


def on_demand_schedule(schedule: Schedule) -> Schedule:
    """Return a plan with on-demand VMs in place of spot VMs: the baseline of both papers (HADS, section 5.3.1).

    Each spot VM is one of the same type on demand, and its tasks run in the same order without checkpoints, each as
    soon as it can. All other VMs keep their times. The limits of the on-demand market are not asked: this is a price
    to compare with.

    Raises
    ------
    SpotbagError
        If a type of the plan has no on-demand offer, a task may not be there, or it is a plan from a state.
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
        stays = [task for task in queue.tasks if not instance.may_be_on_demand[instance.task_group[task]]]
        if stays:
            raise SpotbagError(
                f"{instance.name}: task {instance.task_ids[stays[0]]!r} may not be on demand (markets), so the plan "
                "has no on-demand price to compare with; leave out the on-demand policy"
            )
        vm_offer[vm] = queue.offer.index
        for task, (place, start, _) in zip(queue.tasks, queue_times(instance, queue), strict=True):
            core[task], start_s[task] = place, start
    baseline = schedule.task_baseline | (
        instance.offer_is_burstable[vm_offer][schedule.task_vm]
        & instance.offer_is_spot[schedule.vm_offer][schedule.task_vm]
    )
    return Schedule(instance, vm_offer, schedule.task_vm, core, start_s, baseline)


# ------------------------------------------------------------------------- checked

_PHYSICAL_RULES = frozenset(
    {"task-once", "vm", "placement", "run-time", "ready", "release", "core", "memory", "limit", "credits"}
)
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
    """Return a plan with all that the checker has found wrong in it."""
    return CheckedPlan(schedule, tuple(entry for entry in violations if entry.rule in _PHYSICAL_RULES))
