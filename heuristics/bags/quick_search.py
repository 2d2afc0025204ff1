"""Search within milliseconds: from the plan that is being carried out, cooled by the clock.

`search` counts moves, so that a plan does not depend on the machine; here the time is given, and the temperature falls
with it. What a plan has where stays there at first, as far as the VMs still exist; what has lost its place is put where
it ends first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...bounds.bags.divisible_bound import DivisibleBound
from ...core.limits import clock_s, stopped
from ...core.quantities import IntArray
from ...instances.group_limits import VmsLeft
from ...instances.instance import Instance
from ...models.bags.task_classes import memory_is_free
from ...schedules.queues import Queue, ends_in_time, schedule_of_queues
from ...schedules.schedule import Schedule, UnsuitablePlanError, plan_of_places
from .annealing import LoadsWalk, QueuesWalk, SearchOptions, Steps, cooled, random_state
from .assignments import assignments_of
from .core_loads import GONE, SPARE_VMS, CoreLoads, cores_of, offers_of, places_of, priced_start, start_from_schedule
from .listed_plans import listed_plan

if TYPE_CHECKING:
    from .annealing_kernel import Objective

_ENOUGH_S_A_TASK = 4e-5
"""Seconds for each task below which the first run begins cooler, by the square of what is lacking: hot, it would lose
the plan that is carried on, and find no other. Where there is ten times as much, another run follows."""
_ENOUGH_S_OF_FEW, _ENOUGH_S_A_PAIR = 5e-3, 4e-4
"""Most seconds of a search of few tasks: of any, and for each pair of tasks; a longer one would find nothing more."""
_TIE = 1e-4
"""Worth of a second of makespan where the cost alone counts, in mean prices of a VM, and the reverse."""


def quick_plan(
    instance: Instance,
    bound: DivisibleBound,
    start: Schedule | None,
    seed: int,
    until: float | Callable[[float], float],
) -> Schedule | None:
    """Plan until a moment of `clock_s`.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    bound : DivisibleBound
        Of the instance: its prices are the start where there is no plan.
    start : Schedule, optional
        The plan that is being carried out: of the instance, or of an earlier state of the same bag.
    seed : int
        Of the random numbers.
    until : float or callable
        When the search is to end; or what says it when a search begins that is to have a share of the time that is left
        then, as what goes before it takes time as well.

    Returns
    -------
    Schedule or None
        The best plan; None if none ends in time.
    """
    if not len(instance.open_tasks):
        return schedule_of_queues(instance, [])
    if memory_is_free(instance) and not instance.has_dates:
        state = None if start is None else start_from_schedule(instance, start, bound.offers, SPARE_VMS)
        if state is not None:
            # Where the VMs of the start fill a limit of a group, it has no others, and there may be no way out.
            found = _cool_loads(state, seed, _moment(until, 1.0 if state.feasible() else 0.5))
            if found is not None or stopped():
                return found
        state = priced_start(instance, bound, SPARE_VMS)
        return None if state is None else _cool_loads(state, seed, _moment(until, 1.0))
    plan = None if start is None else _carried_queues(instance, start)
    plan = plan or listed_plan(instance)
    return None if plan is None else _cool_assignments(plan, seed, _moment(until, 1.0))


def _moment(until: float | Callable[[float], float], share: float) -> float:
    """The moment until which a search has a share of the time that is left."""
    if callable(until):
        return until(share)
    now = clock_s()
    return now + share * (until - now)


def _enough(instance: Instance, until: float) -> float:
    """The moment at which a search that begins now ends: a few tasks have soon been in all places."""
    if until == math.inf:  # it is not ended by time
        return until
    return min(until, clock_s() + _ENOUGH_S_OF_FEW + _ENOUGH_S_A_PAIR * len(instance.open_tasks) ** 2)


def _cool_loads(state: CoreLoads, seed: int, until: float) -> Schedule | None:
    """Anneal core loads until a moment."""
    bag, until = state.instance, _enough(state.instance, until)
    state.objective = _with_ties(bag, state.objective, state.offers[state.vm_column])
    walk, options, n_open = LoadsWalk(state, random_state(seed, 0)), SearchOptions(), len(bag.open_tasks)
    walk.settle(0.0)
    if walk.best < math.inf and clock_s() >= until:
        return walk.schedule()
    for number, (cooler, end) in enumerate(_runs(n_open, until)):
        if number:
            walk.to_best()
        temperatures = options.temperatures(bag, number, cooler)
        for _ in cooled(walk, temperatures, Steps(math.inf, end, bag, "loads")):
            pass
    return walk.schedule()


def _cool_assignments(plan: Schedule, seed: int, until: float) -> Schedule:
    """Anneal the tasks of each VM and their order until a moment."""
    state = assignments_of(plan, SPARE_VMS)
    state.objective = _with_ties(state.instance, state.objective, state.fleet.offer)
    walk = QueuesWalk(state, random_state(seed, 0))
    temperatures, until = SearchOptions().temperatures(state.instance, 0), _enough(state.instance, until)
    for _ in cooled(walk, temperatures, Steps(math.inf, until, state.instance, "queues")):
        pass
    found = walk.schedule()
    return plan if found is None or found.objective > plan.objective else found


def _with_ties(instance: Instance, objective: Objective, vm_offer: IntArray) -> Objective:
    """Objective in which what does not count decides ties: the time where the cost alone counts, and the reverse."""
    if objective.time_weight == 0.0:
        return objective._replace(time_weight=_TIE * float(objective.vm_price.mean()))
    if not objective.vm_price.any():
        usd = instance.offer_price_usd_per_s[vm_offer]
        return objective._replace(vm_price=_TIE * objective.time_weight * usd / max(float(usd.mean()), 1e-300))
    return objective


def _runs(n_open: int, until: float) -> Iterator[tuple[float, float]]:
    """Factors by which each run begins, and ends, cooler: as many as the time allows for so many tasks."""
    begin = clock_s()
    enough = max(until - begin, 0.0) / (n_open * _ENOUGH_S_A_TASK)
    runs = max(int(enough / 10), 1)
    for number in range(runs):
        yield 1.0 if number else min(enough, 1.0) ** 2, begin + (until - begin) * (number + 1) / runs


def _carried_queues(instance: Instance, start: Schedule) -> Schedule | None:
    """Carry a plan on, task by task in the order of starts, where memory may bind; None if it ends too late."""
    rows, machine_of_vm = places_of(instance, start)
    if (rows < 0).any():
        return None
    vms = start.task_vm[rows]
    offers = offers_of(instance, start)
    left = VmsLeft(instance)
    queues: dict[int, Queue] = {}
    for row in np.lexsort((start.task_core[rows], start.task_start_s[rows])).tolist():
        vm, task = int(vms[row]), int(instance.open_tasks[row])
        if vm not in queues:
            machine = int(machine_of_vm[vm])
            offer = instance.offers[instance.machine_offer[machine] if machine >= 0 else offers[vm]]
            if machine == GONE or (machine < 0 and left.of(offer.index) <= 0):
                return None
            left.take(offer.index, int(machine < 0))
            queues[vm] = Queue(offer, [], machine)
        queues[vm].tasks.append(task)
    if not all(ends_in_time(instance, queue) for queue in queues.values()):
        return None
    return schedule_of_queues(instance, [*queues.values()])


def held_plan(instance: Instance, start: Schedule, now_s: int) -> Schedule | None:
    """Return the part of a plan that is left of it, at its own times; None where a task or a VM of it is gone.

    Parameters
    ----------
    instance : Instance
        What is left, with D_spot set.
    start : Schedule
        The plan that is being carried out.
    now_s : int
        The moment of the state, in the time of the plan.

    Returns
    -------
    Schedule or None
        Whether it still holds is for the checker to say.
    """
    rows, machine_of_vm = places_of(instance, start)
    if (rows < 0).any() or (machine_of_vm[start.task_vm[rows]] == GONE).any():
        return None
    first = len(instance.machines)
    machine = machine_of_vm[start.task_vm[rows]]
    number = np.where(machine >= 0, machine, first + start.task_vm[rows])
    offers = np.concatenate([instance.machine_offer, offers_of(instance, start)]).astype(np.int64)
    core, start_s, baseline = (
        cores_of(instance, start, rows),
        start.task_start_s[rows] - now_s,
        start.task_baseline[rows],
    )
    try:
        return plan_of_places(instance, instance.open_tasks, number, core, start_s, offers, baseline)
    except UnsuitablePlanError:  # the instance has changed: a task cannot run there any more
        return None
