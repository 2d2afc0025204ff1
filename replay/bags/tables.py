"""The tables that a replay starts from: of an instance, a plan and a day, as arrays of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat, zip_longest
from typing import Any, NamedTuple

import numpy as np

from ...core.quantities import SECONDS_PER_HOUR
from ...core.rows import dtype_of
from ...instances.bags.timeline import Timeline
from ...instances.clouds import Billing
from ...instances.entries import BASELINE, FULL_SPEED, MARKETS, RentalOffer
from ...instances.instance import Instance
from .rows import (
    CAPACITY,
    HIBERNATE,
    NONE,
    PRICE,
    RESUME,
    STOP,
    TERMINATE,
    DayRow,
    DurationRow,
    GroupRow,
    LimitRow,
    MemberRow,
    OfferRow,
    QueueRow,
    TaskRow,
)

KINDS = {"hibernate": HIBERNATE, "stop": STOP, "terminate": TERMINATE, "resume": RESUME}
"""Kinds of events of a day, once the cloud is known."""

_KINDS = KINDS | {"capacity": CAPACITY, "price": PRICE}


def or_none(value: int | None) -> int:
    """Return a number, or what stands for none."""
    return NONE if value is None else value


def offer_table(instance: Instance) -> Any:
    """Return the offers; see `OfferRow`."""
    table = table_of(OfferRow(), len(instance.offers))
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
    limits = [(instance.limits.of(market), 0, 0, NONE) for market in capped]
    limits += [(offer.vm_type.offers[offer.market].limit, 0, 0, offer.index) for offer in instance.offers]
    return np.array(limits, dtype=dtype_of(LimitRow)), np.array(members, dtype=dtype_of(MemberRow))


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
    table = np.zeros(len(instance.memory_kb), dtype=dtype_of(GroupRow))
    table["memory_kb"] = instance.memory_kb
    table["interval_s"], table["dump_s"] = instance.checkpoint_interval_s, instance.dump_s
    return table


def duration_table(instance: Instance) -> Any:
    """Return what groups take on offers; see `DurationRow`."""
    types = [offer.type_index for offer in instance.offers]
    table = np.zeros(instance.duration_s.shape[:2], dtype=dtype_of(DurationRow))
    table["full_s"], table["baseline_s"] = instance.duration_s[:, :, FULL_SPEED], instance.duration_s[:, :, BASELINE]
    table["runtime_s"] = instance.runtime_s[:, types]
    table["checkpoints"] = instance.checkpoint_count[:, types]
    return table


def plan_tables(group_of: Sequence[int], vms: Sequence[Any]) -> tuple[Any, Any]:
    """Return the tasks, linked as they wait, and each core of the plan with its first and last task."""
    tasks = table_of(TaskRow(), len(group_of))
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
            ends = (runs[0].task, runs[-1].task) if runs else (NONE, NONE)
            queues.append((vm.offer.index, core, *ends, len(runs)))
    return tasks, np.array(queues, dtype=dtype_of(QueueRow))


_AN_EVENT = table_of(DayRow(), 1)


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
    table["type"] = np.fromiter(map(names.types.get, vm_type, repeat(NONE)), np.int64, n)
    table["kind"] = np.fromiter(map(_KINDS.__getitem__, kind), np.int64, n)
    for column, values in (("vm", vm), ("share", share), ("notice_s", notice_s), ("vms", vms), ("usd_per_hour", usd)):
        if values.count(None) < n:
            usual = _AN_EVENT[column].item()
            table[column] = [usual if value is None else value for value in values]
    if by.count(None) < n:
        table["by"] = [NONE if name is None else KINDS[name] for name in by]
    if market.count(None) < n:
        table["offer"] = [names.offers.get(place, NONE) for place in zip(vm_type, market, strict=True)]
    known = table["type"] != NONE
    return table if known.all() else table[known]
