"""The best plan of a tiny instance whose tasks may be late, over all plans that start tasks at whole seconds.

Second by second on each VM, and then VM by VM; shares nothing with the package but the reading of instances.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from operator import le
from typing import NamedTuple, TypeAlias

from spotbag.instances.entries import Task
from spotbag.instances.instance import Instance
from tests.helpers.exhaustive import (
    Choice,
    Counts,
    Credits,
    Running,
    TinyOffer,
    _objective,
    _open_bag,
    _start,
    _ways_to_start,
    tiny_machines,
    tiny_offers,
)
from tests.helpers.quotas import Quotas, Sums

Rows: TypeAlias = "list[tuple[float, ...]]"
"""Of each way to do the same: what is spent of each quantity; none is beaten by another one in all of them."""


Dues: TypeAlias = "tuple[tuple[int, float], ...]"
"""Of each group, when it is due, and its weight."""

NEVER_S = 10**9


class LateValue(NamedTuple):
    """Weight of the late tasks, their weighted seconds after they are due, and the objective."""

    weight: float
    lateness_s: float
    objective: float


def least_late_value(instance: Instance, most: tuple[float, float]) -> LateValue | None:
    """Return what the best plan comes to, if it has at most so much late for so long; None if none does."""
    bag = _open_bag(instance)
    dues = tuple((min(due_s(task), instance.deadline_s), task.weight or 1.0) for task in instance.tasks)
    certain_weight, certain_s = _running_late(instance)
    most = most[0] - certain_weight, most[1] - certain_s
    quotas = Quotas(instance)
    left = quotas.left_by((machine.type, machine.market) for machine in instance.machines)
    nothing = tuple(0 for _ in bag), tuple(0 for _ in left)
    states: dict[tuple[Counts, Sums], Rows] = {nothing: [(0.0, 0.0, 0.0, 0.0)]}
    for offer in tiny_machines(instance):
        states = _with_vm(states, offer, bag, (dues, *most), nothing[1], left)
    for offer in tiny_offers(instance):
        counts = quotas.of((offer.type_name, offer.market))
        for _ in range(min(offer.vms, sum(bag))):
            states = _with_vm(states, offer, bag, (dues, *most), counts, left)
    found = [
        LateValue(certain_weight + weight, certain_s + late_s, _objective(instance, Choice(cost_usd, int(end_s), ())))
        for (done, _), rows in states.items()
        if done == bag
        for weight, late_s, cost_usd, end_s in rows
    ]
    return min(found, default=None)


def due_s(task: Task) -> int:
    """When a task is due by itself."""
    return NEVER_S if task.deadline_s is None else task.deadline_s


def _running_late(instance: Instance) -> tuple[float, float]:
    """Weight of the tasks that run already and end after they are due, and their weighted seconds."""
    ends = [(end_s, instance.tasks[way.group]) for offer in tiny_machines(instance) for _, end_s, way in offer.busy]
    late = [(end_s - min(due_s(task), instance.deadline_s), task.weight or 1.0) for end_s, task in ends]
    late = [(seconds, weight) for seconds, weight in late if seconds > 0]
    return float(sum(weight for _, weight in late)), float(sum(seconds * weight for seconds, weight in late))


def _with_vm(
    states: dict[tuple[Counts, Sums], Rows],
    offer: TinyOffer,
    bag: Counts,
    limits: tuple[Dues, float, float],
    counts: Sums,
    left: Sums,
) -> dict[tuple[Counts, Sums], Rows]:
    """States with one VM more, or, unless something runs there, without it."""
    outcomes = _outcomes(offer, bag, *limits)
    wider = {} if offer.busy else {state: [*rows] for state, rows in states.items()}
    for (done, others), rows in states.items():
        used = tuple(map(int.__add__, others, counts))
        if any(there > most and more for there, most, more in zip(used, left, counts, strict=True)):
            continue
        for tasks, ways in outcomes.items():
            both = tuple(map(int.__add__, done, tasks))
            if any(map(int.__gt__, both, bag)):
                continue
            known = wider.setdefault((both, used), [])
            for weight, late_s, cost_usd, end_s in rows:
                for more, more_s, vm_end_s in ways:
                    if (weight + more, late_s + more_s) > limits[1:]:
                        continue
                    cost = offer.price_usd_per_s * max(vm_end_s - offer.paid_from_s, 0)
                    _add(known, (weight + more, late_s + more_s, cost_usd + cost, max(end_s, vm_end_s)))
    return wider


def _add(known: Rows, row: tuple[float, ...]) -> None:
    """Keep what no other beats in all quantities."""
    if not any(all(map(le, other, row)) for other in known):
        known[:] = [other for other in known if not all(map(le, row, other))]
        known.append(row)


@lru_cache(maxsize=64)
def _outcomes(offer: TinyOffer, bag: Counts, dues: Dues, most_weight: float, most_s: float) -> dict[Counts, Rows]:
    """Late tasks, their seconds and the end of a VM, for every part of the bag that it can run."""
    limits = dues, most_weight, most_s
    patient = replace(offer, limit_s=10**6, ways=tuple(way._replace(due_s=NEVER_S) for way in offer.ways))
    credits = offer.credits or Credits(0, 0, 0, 0, 0)
    nothing = tuple(0 for _ in bag)
    outcomes: dict[Counts, Rows] = {}
    states: dict[tuple[Counts, Running], Rows] = {(nothing, offer.running): [(-credits.initial, 0, 0)]}
    slowest = {way.group: 0 for way in offer.ways}
    for way in offer.ways:
        slowest[way.group] = max(slowest[way.group], way.seconds)
    everything = tuple(count if group in slowest else 0 for group, count in enumerate(bag))
    begins = [way.release_s for way in offer.ways]
    last_s = max([*(due for due, _ in dues), offer.ready_s, *begins, *(end for _, end, _ in offer.busy)])
    last_s += 1 + sum(slowest.get(group, 0) * count for group, count in enumerate(bag))
    for now in range(offer.ready_s, last_s + 1):
        for (counts, running), rows in states.items():
            if not running and (any(counts) or offer.busy):
                for _, weight, late_s in rows:
                    _add(outcomes.setdefault(counts, []), (weight, late_s, now))
        if any(row[:2] == (0, 0) for row in outcomes.get(everything, ())):
            break  # any part of it is in time by then as well
        states = {key: rows for key, rows in states.items() if key[1] or key[0] != everything}
        states = _after_a_second(offer, credits, _started(patient, offer.limit_s, bag, states, now, limits))
        if not states:
            break
    return outcomes


def _started(
    offer: TinyOffer,
    limit_s: int,
    bag: Counts,
    states: dict[tuple[Counts, Running], Rows],
    now: int,
    limits: tuple[Dues, float, float],
) -> dict[tuple[Counts, Running], Rows]:
    """States that can be had by starting any tasks now, or none."""
    dues, *most = limits
    result = {key: [*rows] for key, rows in states.items()}
    latest = states
    while latest:
        one_more: dict[tuple[Counts, Running], Rows] = {}
        for (counts, running), rows in latest.items():
            for way in _ways_to_start(offer, bag, counts, running, now):
                end_s, (due, each) = now + way.seconds, dues[way.group]
                if limit_s < end_s <= due:
                    continue  # in time, and on a spot VM after D_spot
                new_counts, new_running, _ = _start(way, counts, running, None, now)
                key, after_s = (new_counts, new_running), max(end_s - due, 0)
                for balance, weight, late_s in rows:
                    row = (balance, weight + each * (after_s > 0), late_s + each * after_s)
                    if [*row[1:]] > most:
                        continue
                    known = result.setdefault(key, [])
                    _add(known, row)
                    if row in known:
                        _add(one_more.setdefault(key, []), row)
        latest = one_more
    return result


def _after_a_second(
    offer: TinyOffer, credits: Credits, states: dict[tuple[Counts, Running], Rows]
) -> dict[tuple[Counts, Running], Rows]:
    """States a second later: credits are earned and spent."""
    later: dict[tuple[Counts, Running], Rows] = {}
    for (counts, running), rows in states.items():
        at_full = sum(full > 0 for _, full, *_ in running)
        spent = at_full * credits.full + (len(running) - at_full) * credits.baseline
        key = (counts, tuple((seconds - 1, *rest) for seconds, *rest in running if seconds > 1))
        for owed, weight, late_s in rows:
            left = min(-owed + credits.earned - spent, credits.cap) if offer.credits else 0
            if left < 0 and any(full == 1 for _, full, *_ in running):
                continue  # full speed without credits
            _add(later.setdefault(key, []), (-max(left, 0), weight, late_s))
    return later
