"""Search within milliseconds: from the plan that is being carried out, cooled by the clock.

`search` counts moves, so that a plan does not depend on the machine; here the time is given, and the temperature falls
with it. What a plan has where stays there at first, as far as the VMs still exist; what has lost its place is put where
it ends first.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...core.limits import stopped
from ...core.quantities import IntArray
from ...instances.instance import Instance
from ...models.bags.divisible_bound import DivisibleBound
from ...models.bags.task_classes import memory_is_free, usable_offers
from ...schedules.queues import Queue, ends_in_time, schedule_of_queues
from ...schedules.schedule import Schedule
from .annealing import LoadsWalk, QueuesWalk, SearchOptions, Steps, cooled, random_state
from .assignments import assignments_of, listed_plan
from .core_loads import CoreLoads, empty_state, fill, priced_start

if TYPE_CHECKING:
    from .annealing_kernel import Objective

_SPARE_VMS = 1
_DEALS, _DEALING_TASKS = 16, 100
"""One move in so many deals two VMs anew, where there are no more tasks than so many."""
_GONE, _NEW = range(-2, 0)
_FEW_LOST = 0.3
_FEW_TASKS = 400
_ENOUGH_S_A_TASK = 4e-5
"""With less time, the first run begins cooler, by the square of what is lacking: hot, it would lose the plan that is
carried on, and find no other."""
_RUN_S, _RUN_S_A_TASK, _MOST_RUNS = 0.002, 0.0004, 15
_TIE = 1e-4
"""What a second of makespan is worth where the cost alone counts, in mean prices of a VM, and the reverse."""


def quick_plan(
    instance: Instance,
    bound: DivisibleBound,
    start: Schedule | None,
    seed: int,
    until: float | Callable[[float], float],
) -> Schedule | None:
    """Plan until a moment of `time.perf_counter`.

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
    if memory_is_free(instance):
        state = None if start is None else _carried_over(instance, bound.offers, start)
        if state is not None:
            # Where the VMs of the start fill a limit of their market, it has no others, and there may be no way out.
            found = _cool_loads(state, seed, _moment(until, 1.0 if state.feasible() else 0.5))
            if found is not None or stopped():
                return found
        state = priced_start(instance, bound, _SPARE_VMS)
        return None if state is None else _cool_loads(state, seed, _moment(until, 1.0))
    plan = None if start is None else _carried_queues(instance, start)
    plan = plan or listed_plan(instance)
    return None if plan is None else _cool_assignments(plan, seed, _moment(until, 1.0))


def _moment(until: float | Callable[[float], float], share: float) -> float:
    """The moment until which a search has a share of the time that is left."""
    if callable(until):
        return until(share)
    now = time.perf_counter()
    return now + share * (until - now)


def _places(instance: Instance, start: Schedule) -> tuple[IntArray, IntArray]:
    """Row in the start of each open task, -1 without; and machine that each VM of the start is now.

    That is `_GONE` for those that take no tasks, and `_NEW` for those that do not exist: another may be rented.
    """
    tasks = instance.open_tasks
    mine = instance.taken_from
    theirs = start.instance.taken_from or (start.instance, np.arange(start.instance.n_tasks))
    if start.instance is instance:
        rows = tasks.copy()
    elif mine is not None and mine[0].tasks is theirs[0].tasks:
        row_of = np.full(mine[0].n_tasks, -1)
        row_of[theirs[1]] = np.arange(len(theirs[1]))
        rows = row_of[mine[1][tasks]]
    else:
        index, names = start.instance.task_index, instance.task_ids
        rows = np.array([index.get(names[task], -1) for task in tasks.tolist()], dtype=np.int64)
    number = {machine.id: (k if machine.open else _GONE) for k, machine in enumerate(instance.machines)}
    vms = [number.get(name, _NEW) for name in start.vm_ids]
    return rows, np.array(vms, dtype=np.int64)


def _carried_over(instance: Instance, columns: IntArray, start: Schedule) -> CoreLoads | None:
    """State of a plan that is carried on."""
    rows, machine_of_vm = _places(instance, start)
    tasks = instance.open_tasks
    known = rows >= 0
    n_rented = len(usable_offers(instance))
    column_of = np.full(len(instance.offers), -1)
    column_of[columns[:n_rented]] = np.arange(n_rented)
    vm, core = start.task_vm[rows[known]], start.task_core[rows[known]]
    column_of_vm = column_of[_offers_of(instance, start)]
    wanted = np.bincount(vm, minlength=len(column_of_vm)) > 0
    is_new = wanted & (machine_of_vm == _NEW) & (column_of_vm >= 0)
    new = np.flatnonzero(is_new)
    new_columns = column_of_vm[new]
    opened = np.bincount(new_columns, minlength=len(columns))
    state = empty_state(instance, columns, opened, _SPARE_VMS)
    if not len(state.vm_end):
        return None
    place = np.full(len(start.vm_offer), -1)
    vm_of_machine = np.full(len(instance.machines), -1)
    exists = np.flatnonzero(state.vm_machine >= 0)
    vm_of_machine[state.vm_machine[exists]] = exists
    on_machine = np.flatnonzero(machine_of_vm >= 0)
    place[on_machine] = vm_of_machine[machine_of_vm[on_machine]]
    # The tasks of a few VMs that do not exist any more are put where they add least; of many, on others of their kind.
    few = is_new[vm].sum() <= _FEW_LOST * len(tasks)
    for column in () if few else np.unique(new_columns).tolist():
        slots = np.flatnonzero((state.vm_column == column) & (state.vm_machine < 0))
        mine = new[new_columns == column][: len(slots)]
        place[mine] = slots[: len(mine)]
    cores = np.full(len(tasks), -1)
    cores[known] = np.where(place[vm] >= 0, state.vm_first[place[vm]] + core, -1)
    load = _loads(state, tasks, cores)
    late = load > state.vm_limit[state.core_vm]
    if late.any():  # such as tasks of a VM that is gone, on one that takes its place
        cores[(cores >= 0) & late[cores]] = -1
        load = _loads(state, tasks, cores)
    _place_lost(state, tasks, cores, load)
    return state if fill(state, tasks, cores, regroup=False) else None


def _loads(state: CoreLoads, tasks: IntArray, cores: IntArray) -> IntArray:
    """Load of each core, of the tasks that have one."""
    load = state.core_start.copy()
    placed = cores >= 0
    np.add.at(load, cores[placed], state.durations[state.core_column[cores[placed]], tasks[placed]])
    return load


def _place_lost(state: CoreLoads, tasks: IntArray, cores: IntArray, load: IntArray) -> None:
    """Put tasks that have lost their place, the longest first, where they add least to the objective."""
    from .start_kernel import place_where_cheapest

    lost = np.flatnonzero(cores < 0)
    if not len(lost):
        return
    lost = lost[np.argsort(-state.durations[:, tasks[lost]].min(axis=0), kind="stable")]
    vm_end = np.maximum.reduceat(load, state.vm_first[:-1])
    objective = state.objective
    chosen = np.empty(len(lost), dtype=np.int64)
    place_where_cheapest(
        tasks[lost], state.durations, state.core_column, state.core_vm, load, vm_end, objective, chosen
    )
    cores[lost] = chosen


def _offers_of(instance: Instance, start: Schedule) -> IntArray:
    """Offer of each VM of a plan of an earlier state, whose offers are the same."""
    return start.vm_offer if len(instance.offers) == len(start.instance.offers) else np.zeros_like(start.vm_offer)


def _cool_loads(state: CoreLoads, seed: int, until: float) -> Schedule | None:
    """Anneal core loads until a moment."""
    bag = state.instance
    objective = _with_ties(bag, state.objective, state.offers[state.vm_column])
    state.vm_price, state.time_weight = objective.vm_price, objective.time_weight
    walk, options, n_open = LoadsWalk(state, random_state(seed, 0)), SearchOptions(), len(bag.open_tasks)
    walk.settle(0.0)
    if walk.best < math.inf and time.perf_counter() >= until:
        return walk.schedule()
    for number, (cooler, end) in enumerate(_runs(n_open, until)):
        if number:
            walk.to_best()
        temperatures = options.temperatures(bag, number, cooler)
        deals = _DEALS if n_open <= _DEALING_TASKS else 0
        for _ in cooled(walk, temperatures, Steps(math.inf, end, bag, "loads"), deals):
            pass
    return walk.schedule()


def _cool_assignments(plan: Schedule, seed: int, until: float) -> Schedule:
    """Anneal the tasks of each VM and their order until a moment."""
    state = assignments_of(plan, _SPARE_VMS)
    state.objective = _with_ties(state.instance, state.objective, state.fleet.offer)
    walk = QueuesWalk(state, random_state(seed, 0))
    temperatures = SearchOptions().temperatures(state.instance, 0)
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
    """How much cooler each run begins, and its end: as many as the time allows for so few tasks."""
    begin = time.perf_counter()
    begins = min(max(until - begin, 0.0) / n_open / _ENOUGH_S_A_TASK, 1.0) ** 2
    runs = 1
    if n_open <= _FEW_TASKS:
        runs = min(max(int((until - begin) / (_RUN_S + _RUN_S_A_TASK * n_open)), 1), _MOST_RUNS)
    for number in range(runs):
        yield 1.0 if number else begins, begin + (until - begin) * (number + 1) / runs


def _carried_queues(instance: Instance, start: Schedule) -> Schedule | None:
    """Plan that is carried on, task by task in the order of starts, where memory may bind; None if it ends too late."""
    rows, machine_of_vm = _places(instance, start)
    if (rows < 0).any():
        return None
    vms = start.task_vm[rows]
    offers = _offers_of(instance, start)
    left = {offer.index: offer.limit for offer in instance.offers}
    queues: dict[int, Queue] = {}
    for row in np.lexsort((start.task_core[rows], start.task_start_s[rows])).tolist():
        vm, task = int(vms[row]), int(instance.open_tasks[row])
        if vm not in queues:
            machine = int(machine_of_vm[vm])
            offer = instance.offers[instance.machine_offer[machine] if machine >= 0 else offers[vm]]
            left[offer.index] -= machine < 0
            if machine == _GONE or left[offer.index] < 0:
                return None
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
    rows, machine_of_vm = _places(instance, start)
    if (rows < 0).any() or (machine_of_vm[start.task_vm[rows]] == _GONE).any():
        return None
    running, tasks, first = instance.running, instance.open_tasks, len(instance.machines)
    key, core, begin = (np.zeros(instance.n_tasks, dtype=np.int64) for _ in range(3))
    baseline = np.zeros(instance.n_tasks, dtype=bool)
    machine = machine_of_vm[start.task_vm[rows]]
    key[tasks] = np.where(machine >= 0, machine, first + start.task_vm[rows])
    core[tasks], begin[tasks] = start.task_core[rows], start.task_start_s[rows] - now_s
    baseline[tasks] = start.task_baseline[rows]
    key[running.task], core[running.task], begin[running.task] = running.machine, running.core, running.start_s
    baseline[running.task] = running.baseline
    offers = np.concatenate([instance.machine_offer, _offers_of(instance, start)]).astype(np.int64)
    used, task_vm = np.unique(key, return_inverse=True)
    try:
        return Schedule(
            instance, offers[used], task_vm, core, begin, baseline, vm_machine=np.where(used < first, used, -1)
        )
    except ValueError:  # the instance has changed: a task cannot run there any more
        return None
