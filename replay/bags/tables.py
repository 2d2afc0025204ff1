"""The tables that a replay starts from: of an instance, a plan and a day, as arrays of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import repeat, zip_longest
from typing import Any, NamedTuple

import numpy as np

from ...core.quantities import SECONDS_PER_HOUR
from ...core.rows import dtype_of, rows_of
from ...instances.bags.timeline import Timeline
from ...instances.clouds import Billing
from ...instances.entries import BASELINE, FULL_SPEED, MARKETS, NEVER, RentalOffer
from ...instances.instance import Instance
from . import rows
from .rules import dump_of, duration_of

KINDS = {"hibernate": rows.HIBERNATE, "stop": rows.STOP, "terminate": rows.TERMINATE, "resume": rows.RESUME}
"""Kinds of events of a day, once the cloud is known."""

_KINDS = KINDS | {"capacity": rows.CAPACITY, "price": rows.PRICE}


def or_none(value: int | None) -> int:
    """Return a number, or what stands for none."""
    return rows.NONE if value is None else value


def offer_table(instance: Instance) -> Any:
    """Return the offers; see `OfferRow`."""
    table = table_of(rows.OfferRow(), len(instance.offers))
    by_price = price_classes(instance)
    for entry, offer in zip(table, instance.offers, strict=True):
        entry["type"], entry["spot"], entry["vcpus"] = offer.type_index, offer.market == "spot", offer.vcpus
        entry["sustained"] = sustained_mode(offer)
        entry["usd_per_hour"] = entry["now_usd_per_hour"] = offer.price_usd_per_hour
        entry["price_class"] = by_price.index(offer.price_usd_per_hour)
        if not instance.memory_never_binds[offer.type_index]:
            entry["memory_kb"] = offer.memory_kb
        burst = offer.vm_type.burstable
        if burst is not None:
            entry["bursts"], entry["baseline"] = 1, burst.baseline_fraction
            entry["first_credits"], entry["most_credits"] = burst.initial_credits, burst.credit_cap
            entry["credits_per_hour"] = burst.credits_per_hour
    return table


def limit_tables(instance: Instance, offers: Any) -> tuple[Any, Any]:
    """Return the limits, of each offer alone and of each market that has one, and which offers count against which.

    The offers are told where theirs are.
    """
    members: list[tuple[int, int]] = []
    capped = [market for market in MARKETS if instance.limits.of(market) is not None]
    of_market = {market: number for number, market in enumerate(capped)}
    for entry, offer in zip(offers, instance.offers, strict=True):
        own = len(of_market) + offer.index
        of_offer = [own, of_market[offer.market]] if offer.market in of_market else [own]
        entry["first_limit"], entry["n_limits"] = len(members), len(of_offer)
        members += [(number, 1) for number in of_offer]
    limits = [(instance.limits.of(market), 0, 0, rows.NONE) for market in capped]
    limits += [(offer.vm_type.offers[offer.market].limit, 0, 0, offer.index) for offer in instance.offers]
    return np.array(limits, dtype=dtype_of(rows.LimitRow)), np.array(members, dtype=dtype_of(rows.MemberRow))


def sustained_mode(offer: RentalOffer) -> int:
    """Mode in which VMs of an offer run whatever their credits."""
    return BASELINE if offer.burstable else FULL_SPEED


def rest_values(billing: Billing) -> dict[str, int]:
    """Return whether VMs cost something while they are hibernated or stopped; see `Rows`."""
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
    return table


def duration_table(instance: Instance) -> Any:
    """Return what groups take on offers; see `DurationRow`."""
    types = [offer.type_index for offer in instance.offers]
    table = np.zeros(instance.duration_s.shape[:2], dtype=dtype_of(rows.DurationRow))
    table["full_s"], table["baseline_s"] = instance.duration_s[:, :, FULL_SPEED], instance.duration_s[:, :, BASELINE]
    table["runtime_s"] = instance.runtime_s[:, types]
    table["checkpoints"] = instance.checkpoint_count[:, types]
    return table


class WorkTable:
    """Durations of an instance.

    Attributes
    ----------
    tables : dict of str to array
        Offers, groups, durations, limits and members; see `rows`.
    rows : Rows
        The same as objects.
    group_of : list of int
        Group of each task.
    on_demand_offers : list of RentalOffer
        Offers of regular on-demand VMs, cheapest first.
    sustained : list of int
        Mode in which VMs of each offer run whatever their credits.
    takes_checkpoints : bool
        Whether the bag has a rule of checkpoints.
    """

    def __init__(self, instance: Instance) -> None:
        offers = offer_table(instance)
        limits, members = limit_tables(instance, offers)
        self.tables = {"offers": offers, "limits": limits, "members": members}
        self.tables |= {"groups": group_table(instance), "durations": duration_table(instance)}
        self.group_of: list[int] = instance.task_group.tolist()
        regular = (offer for offer in instance.offers if offer.market == "on-demand" and not offer.burstable)
        self.on_demand_offers = sorted(regular, key=lambda offer: (offer.price_usd_per_hour, offer.index))
        self.sustained = [sustained_mode(offer) for offer in instance.offers]
        self.takes_checkpoints = instance.checkpoint is not None
        kinds = {"offers": rows.OfferRow, "limits": rows.LimitRow, "members": rows.MemberRow, "groups": rows.GroupRow}
        objects: dict[str, Any] = {name: rows_of(row, self.tables[name]) for name, row in kinds.items()}
        durations = [rows_of(rows.DurationRow, row) for row in self.tables["durations"]]
        self.rows = rows.Rows(durations=durations, takes_checkpoints=int(self.takes_checkpoints), **objects)
        self._runtimes_s: dict[int, list[int]] = {}

    def runtime_s(self, task: int, offer: int) -> int:
        """Run time of the whole task on an offer at full speed without checkpoints; `NEVER` if it cannot run there."""
        return self.rows.durations[self.group_of[task]][offer].runtime_s

    def runtimes_s(self, offer: int) -> list[int]:
        """Run times of all tasks on an offer; see `runtime_s`."""
        if offer not in self._runtimes_s:
            self._runtimes_s[offer] = [self.rows.durations[group][offer].runtime_s for group in self.group_of]
        return self._runtimes_s[offer]

    def duration_s(self, task: int, offer: int, mode: int, saved: float = 0.0) -> int:
        """How long a task occupies a core of an offer from where it is saved; `NEVER` if it cannot run there.

        Parameters
        ----------
        task, offer : int
            Indices in the instance.
        mode : int
            `FULL_SPEED`, or `BASELINE` on burstable VMs.
        saved : float
            Fraction of the task that is saved.
        """
        return duration_of(self.rows, self.group_of[task], offer, mode, saved)

    def usd_per_s(self, offer: int) -> float:
        """Price of a second of work of the bag on VMs of an offer at the best; infinite if no task can run there.

        Its tasks share their cores, and their memory.
        """
        row, work_s, kb_s = self.rows.offers[offer], 0, 0
        for group, time_s in zip(self.group_of, self.runtimes_s(offer), strict=True):
            if time_s < NEVER:
                work_s += time_s
                kb_s += time_s * self.rows.groups[group].memory_kb
        if not work_s:
            return math.inf
        part = 1 / row.vcpus if row.memory_kb == rows.NONE else max(1 / row.vcpus, kb_s / work_s / row.memory_kb)
        return row.usd_per_hour / SECONDS_PER_HOUR * part

    def usd_of_all(self, offer: int) -> float:
        """Price of the average task on an offer, of those that can run there; infinite if none can."""
        times_s = [time_s for time_s in self.runtimes_s(offer) if time_s < NEVER]
        return self.usd_per_s(offer) * sum(times_s) / len(times_s) if times_s else math.inf

    def can_run(self, task: int, offer: int, mode: int) -> bool:
        """True if a task can run on VMs of an offer."""
        return self.duration_s(task, offer, mode) < NEVER

    def dump_s(self, task: int, offer: int, mode: int) -> int:
        """How long a task writes a checkpoint on an offer, in whole seconds, rounded up."""
        return dump_of(self.rows, self.group_of[task], offer, mode)


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
    time_s, vm_type, kind, vm, share, notice_s, vms, by, market, usd = zip(*day.events, strict=True)
    table["time_s"] = time_s
    table["type"] = np.fromiter(map(names.types.get, vm_type, repeat(rows.NONE)), np.int64, n)
    table["kind"] = np.fromiter(map(_KINDS.__getitem__, kind), np.int64, n)
    for column, values in (("vm", vm), ("share", share), ("notice_s", notice_s), ("vms", vms), ("usd_per_hour", usd)):
        if values.count(None) < n:
            usual = _AN_EVENT[column].item()
            table[column] = [usual if value is None else value for value in values]
    if by.count(None) < n:
        table["by"] = [rows.NONE if name is None else KINDS[name] for name in by]
    if market.count(None) < n:
        table["offer"] = [names.offers.get(place, rows.NONE) for place in zip(vm_type, market, strict=True)]
    known = table["type"] != rows.NONE
    return table if known.all() else table[known]
