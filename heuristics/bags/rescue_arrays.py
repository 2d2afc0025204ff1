"""A plan as arrays, for what looks at its rescues."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...core.quantities import IntArray
from ...core.rows import dtype_of
from ...instances.durations import NEVER
from ...instances.entries import RentalOffer
from ...instances.instance import Instance
from ...schedules.schedule import Schedule
from .rescue_rows import OwnVmRow, RentalRow, SpotTaskRow, SpotVmRow


class Terms(NamedTuple):
    """Deadline; boot; overhead from the request of a VM until it runs a migrated task; most on-demand VMs."""

    deadline: int
    boot: int
    overhead: int
    most_on_demand: int


class Bag(NamedTuple):
    """All of a plan that a rescue is about: see `Rows`, of which these are the tables that are given."""

    rentals: Any
    orders: IntArray
    seconds: IntArray
    need_kb: IntArray
    tasks: Any
    spot_vms: Any
    own_vms: Any
    core_end: IntArray
    counted_end: IntArray
    terms: Terms


@dataclass(frozen=True, slots=True, eq=False)
class PlanArrays:
    """A plan, and what may be rented to rescue it.

    Attributes
    ----------
    instance : Instance
        The problem.
    regular : tuple of RentalOffer
        Regular VMs on demand, the cheapest for its work first: the rentals of ``bag``.
    bag : Bag
        What the rules of rescues are about.
    spot_task : array of int
        The spot tasks of ``bag``, as indices into ``instance.task_ids``.
    own_vm : array of int
        The regular on-demand VMs of the plan, which ``bag`` has as its own.
    burstable_end_s : array of int
        Ends of the burstable VMs on demand.
    """

    instance: Instance
    regular: tuple[RentalOffer, ...]
    bag: Bag
    spot_task: IntArray
    own_vm: IntArray
    burstable_end_s: IntArray


def arrays_of(schedule: Schedule) -> PlanArrays:
    """Return a plan as arrays."""
    instance = schedule.instance
    regular = [offer for offer in instance.offers if offer.market == "on-demand" and not offer.burstable]
    seconds = instance.runtime_s[:, [offer.type_index for offer in regular]]
    least = seconds.min(axis=1, initial=NEVER)
    able = seconds < NEVER
    # What a core of each costs for the work that it can do, relative to the least time that this takes.
    work = np.where(able, seconds, 0).sum(axis=0) / np.maximum(np.where(able, least[:, None], 0).sum(axis=0), 1)
    per_core = [offer.price_usd_per_s / offer.vcpus for offer in regular]
    cheapest = np.argsort(per_core * work, kind="stable").tolist()
    regular = [regular[k] for k in cheapest]
    never_binds = [instance.memory_never_binds[offer.type_index] for offer in regular]
    rentals = _records(
        RentalRow,
        vcpus=ints(offer.vcpus for offer in regular),
        limit=ints(offer.vm_type.offers["on-demand"].limit for offer in regular),
        size_kb=ints(-1 if free else offer.memory_kb for free, offer in zip(never_binds, regular, strict=True)),
        price=np.array([offer.price_usd_per_s for offer in regular]),
    )
    strongest = np.argsort([-offer.vcpus for offer in regular], kind="stable")
    type_of = ints(offer.type_index for offer in instance.offers)
    is_spot = instance.offer_is_spot[schedule.vm_offer]
    task = np.flatnonzero(is_spot[schedule.task_vm])
    group, offer_of = instance.task_group[task], schedule.vm_offer[schedule.task_vm[task]]
    speeds = np.array(
        [1.0 if vm_type.burstable is None else vm_type.burstable.baseline_fraction for vm_type in instance.vm_types]
    )
    interval = schedule.checkpoint_interval_s[task]
    taken = np.isfinite(interval)
    tasks = _records(
        SpotTaskRow,
        start=schedule.task_start_s[task],
        end=schedule.task_end_s[task],
        group=group,
        type_index=type_of[offer_of],
        runtime=instance.runtime_s[group, type_of[offer_of]].astype(float),
        interval=np.where(taken, interval, 1.0),
        period=np.where(taken, interval + instance.dump_s[group], 1.0),
        checkpoints=np.where(taken, instance.checkpoint_count[group, type_of[offer_of]], 0.0).astype(np.int64),
        speed=np.where(schedule.task_baseline[task], speeds[type_of[offer_of]], 1.0),
    )
    spot = np.flatnonzero(is_spot)
    spot_vms = _records(
        SpotVmRow,
        type_index=type_of[schedule.vm_offer[spot]],
        end=schedule.vm_end_s[spot],
        paid_until=schedule.vm_paid_until_s[spot],
        price=instance.offer_price_usd_per_s[schedule.vm_offer[spot]],
    )
    rental_of = {offer.index: number for number, offer in enumerate(regular)}
    own_vm = ints(vm for vm, index in enumerate(schedule.vm_offer.tolist()) if index in rental_of)
    first_core = np.concatenate([[0], np.cumsum(schedule.vm_vcpus)])
    core_end = np.repeat(schedule.vm_ready_s, schedule.vm_vcpus)
    np.maximum.at(core_end, first_core[schedule.task_vm] + schedule.task_core, schedule.task_end_s)
    closed = [machine >= 0 and not instance.machines[machine].open for machine in schedule.vm_machine.tolist()]
    cores = np.where(np.array(closed, dtype=bool), 0, schedule.vm_vcpus)[own_vm]
    own_cores = [
        core_end[first_core[vm] : first_core[vm] + n] for vm, n in zip(own_vm.tolist(), cores.tolist(), strict=True)
    ]
    own_vms = _records(
        OwnVmRow,
        rental=ints(rental_of[index] for index in schedule.vm_offer[own_vm].tolist()),
        end=schedule.vm_end_s[own_vm],
        paid_until=np.maximum(schedule.vm_end_s, schedule.vm_paid_until_s)[own_vm],
        first_core=np.cumsum(cores) - cores,
        cores=cores,
    )
    burstable = instance.offer_is_burstable[schedule.vm_offer]
    most = instance.limits.max_on_demand
    terms = Terms(
        deadline=instance.deadline_s,
        boot=instance.boot_overhead_s,
        overhead=max(instance.boot_overhead_s, instance.migration_overhead_s),
        most_on_demand=NEVER if most is None else most,
    )
    bag = Bag(
        rentals=rentals,
        orders=np.array([np.arange(len(regular)), strongest]),
        seconds=np.ascontiguousarray(seconds[:, cheapest].T),
        need_kb=np.array(instance.memory_kb),
        tasks=tasks,
        spot_vms=spot_vms,
        own_vms=own_vms,
        core_end=np.concatenate([np.zeros(0, dtype=np.int64), *own_cores]),
        counted_end=schedule.vm_end_s[~is_spot],
        terms=terms,
    )
    return PlanArrays(instance, tuple(regular), bag, task, own_vm, schedule.vm_end_s[burstable & ~is_spot])


def _records(row: type, **columns: Any) -> Any:
    """Return an array of rows from its columns."""
    records = np.zeros(len(next(iter(columns.values()))), dtype=dtype_of(row))
    for name, column in columns.items():
        records[name] = column
    return records


def ints(values: Iterable[int]) -> IntArray:
    """Return an array of whole numbers."""
    return np.array(list(values), dtype=np.int64)
