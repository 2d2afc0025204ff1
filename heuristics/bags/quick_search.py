"""Search within milliseconds: from the plan that is being carried out, cooled by the clock.

`search` counts moves, so that a plan does not depend on the machine; here the time is given, and the temperature falls
with it. What a plan has where stays there at first, as far as the VMs still exist; what has lost its place is put where
it ends first.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...bounds.bags.divisible_bound import DivisibleBound
from ...core.limits import stopped
from ...core.quantities import FloatArray, IntArray
from ...instances.instance import Instance
from ...models.bags.task_classes import memory_is_free, usable_offers
from ...schedules.queues import Queue, ends_in_time, schedule_of_queues
from ...schedules.schedule import Schedule
from .assignments import assignments_of, listed_plan
from .core_loads import CoreLoads, empty_state, fill, priced_start

if TYPE_CHECKING:
    from .annealing_kernel import Cooling

_SPARE_VMS = 1
_DEALS, _DEALING_TASKS = 16, 100
"""One move in so many deals two VMs anew, where there are no more tasks than so many."""
_STEPS, _STEP_S, _BETWEEN_S = 24, 2e-3, 1.5e-4
"""Most steps of a run, the least seconds of one, and what grouping the cores anew between two of them may take."""
_LOADS_A_S, _ASSIGNMENTS_A_S = 2.5e6, 2e5
"""Moves a second of either kernel on a slow machine, which the first step of a bag counts on."""
_SPEEDS = "_moves_a_second_of_kernels"
_MOST_MOVES = 200_000
_SNAPSHOT_TASKS = 200
_SHORT_S = 1e-4
_SAFE = 0.9
_GONE, _NEW = -2, -1
_FEW_LOST = 0.3
_FEW_TASKS = 400
_HOT_MANY, _COLD = 0.1, 0.003
_HOT_QUEUES = 0.3
_HOT_FEW, _COLD_FEW = (0.3, 40.0), (0.003, 0.1)
_COLDEST_FIRST, _COLDEST_MANY = 0.02, 0.01
_HEAT, _COLDEST_HEAT = 150.0, 3.0
"""First and last temperature of the first run for few tasks, times their number: the fewer, the rougher is the way."""
_ENOUGH_S_A_TASK = 4e-5
"""With less time, the first run begins cooler, by the square of what is lacking: hot, it would lose the plan that is
carried on, and find no other."""
_RUNS = (2.0, 20.0, 0.5, 100.0, 5.0)
"""First temperatures of the runs for few tasks that follow, over and over; each from the best plan so far."""
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
    from .annealing_kernel import Snapshot, anneal

    vm_price, time_weight = _with_ties(state.instance, state.vm_price, state.offers[state.vm_column], state.time_weight)
    unit = time_weight + float(vm_price.mean())
    cores = state.cores
    objective = state.objective._replace(vm_price=vm_price, time_weight=time_weight)
    random_state = np.array([seed * 7919 % 2147483646 + 1], dtype=np.int64)
    best_tasks, best_count = state.core_tasks.copy(), state.core_count.copy()
    few = state.instance.n_tasks <= _SNAPSHOT_TASKS

    def value_now() -> float:
        late = float(np.maximum(0, state.vm_end - state.vm_limit).sum())
        cost = float((vm_price * np.maximum(state.vm_end, state.vm_free)).sum())
        return cost + time_weight * float(state.vm_end.max()) + state.penalty * late

    value = value_now()
    best = value if state.feasible() else np.inf
    if best < np.inf and time.perf_counter() >= until:
        return state.schedule()
    n_open = len(state.instance.open_tasks)
    deals = _DEALS if n_open <= _DEALING_TASKS else 0
    for hottest, end in _runs(n_open, until):
        if best < np.inf:
            state.restore(best_tasks, best_count)
            value = value_now()
        coldest = min(_coldest(n_open), hottest / 2)
        coolings = _Coolings(unit * hottest, unit * coldest, end, _Speed(state.instance, _LOADS_A_S), deals)
        for cooling in coolings:
            balance = 1e-3 * unit / max(int(state.vm_end.max()), 1)
            plan = state.plan(random_state)
            snapshot = Snapshot(few and best < np.inf, best_tasks, best_count)
            _, best = anneal(cores, objective, balance, plan, cooling, snapshot, value, best)
            coolings.moved()
            state.regroup()
            value = value_now()
            if value < best - 1e-12 and state.feasible():
                best_tasks[:], best_count[:] = state.core_tasks, state.core_count
                best = value
    if best == np.inf:
        return None
    state.restore(best_tasks, best_count)
    return state.schedule() if state.feasible() else None


def _cool_assignments(plan: Schedule, seed: int, until: float) -> Schedule:
    """Anneal the tasks of each VM and their order until a moment."""
    from .assignment_kernel import anneal_assignments

    state = assignments_of(plan, _SPARE_VMS)
    instance, objective = state.instance, state.objective
    vm_price, time_weight = _with_ties(instance, objective.vm_price, state.fleet.offer, objective.time_weight)
    objective = objective._replace(vm_price=vm_price, time_weight=time_weight)
    unit = time_weight + float(vm_price.mean())
    state.plan.random[0] = seed * 7919 % 2147483646 + 1
    best = state.best(np.inf)
    hottest = _HOT_QUEUES if len(instance.open_tasks) <= _FEW_TASKS else _HOT_MANY
    coolings = _Coolings(unit * hottest, unit * _COLD, until, _Speed(instance, _ASSIGNMENTS_A_S))
    for cooling in coolings:
        anneal_assignments(state.fleet, objective, state.credit_price, state.plan, state.alike, cooling, 0.0, best)
        coolings.moved()
    found = state.schedule(best.tasks, best.number, best.slow) if best.value[0] < np.inf else None
    return plan if found is None or found.objective > plan.objective else found


def _runs(n_open: int, until: float) -> Iterator[tuple[float, float]]:
    """First temperature and end of each run: as many as the time allows for so few tasks."""
    begin = time.perf_counter()
    begins = min(max(until - begin, 0.0) / n_open / _ENOUGH_S_A_TASK, 1.0) ** 2
    if n_open > _FEW_TASKS:
        yield max(_HOT_MANY * begins, _COLDEST_MANY), until
        return
    runs = min(max(int((until - begin) / (_RUN_S + _RUN_S_A_TASK * n_open)), 1), _MOST_RUNS)
    least, most = _HOT_FEW
    first = max(min(max(_HEAT / n_open, least), most) * begins, _COLDEST_FIRST)
    for number, hottest in zip(range(runs), itertools.chain([first], itertools.cycle(_RUNS)), strict=False):
        yield hottest, begin + (until - begin) * (number + 1) / runs


def _coldest(n_open: int) -> float:
    """Last temperature of all runs."""
    least, most = _COLD_FEW
    return _COLD if n_open > _FEW_TASKS else min(max(_COLDEST_HEAT / n_open, least), most)


class _Speed:
    """How many moves a second a kernel makes for a bag, from the last search of any of its states.

    Attributes
    ----------
    moves_a_s : float
        What is known, or what a slow machine would do.
    is_known : bool
        Whether it has been measured.
    """

    def __init__(self, instance: Instance, slow: float) -> None:
        given = instance if instance.taken_from is None else instance.taken_from[0]
        self._speeds: dict[float, float] = given.__dict__.setdefault(_SPEEDS, {})
        self._kernel = slow
        self.moves_a_s = self._speeds.get(slow, slow)
        self.is_known = slow in self._speeds

    def measured(self, moves: int, seconds: float) -> None:
        """Note how long so many moves have taken."""
        self.moves_a_s = self._speeds[self._kernel] = _SAFE * moves / max(seconds, 1e-9)
        self.is_known = True


class _Coolings:
    """Moves and temperatures of the steps until a moment; each takes as long as those before it let expect.

    Who carries a step out says when its moves have ended: what follows them is not theirs.
    """

    def __init__(self, hot: float, cold: float, until: float, speed: _Speed, deals: int = 0) -> None:
        self._hot, self._cold, self._until = hot, cold, until
        self._speed, self._deals = speed, deals
        self._moved = time.perf_counter()

    def moved(self) -> None:
        """The moves of the step have ended."""
        self._moved = time.perf_counter()

    def __iter__(self) -> Iterator[Cooling]:
        """Go through the steps."""
        from .annealing_kernel import Cooling

        begin, until, speed = time.perf_counter(), self._until, self._speed
        steps = min(max((until - begin) / _STEP_S, 1.0), _STEPS)
        between_s, after = _BETWEEN_S, 0.0
        while not stopped():
            now = time.perf_counter()
            left, total = until - now - between_s, until - begin
            part_s = max(total / steps - between_s, _SHORT_S)
            moves = max(min(int(speed.moves_a_s * min(part_s, left)), _MOST_MOVES), 1)
            if left < _SHORT_S:
                return
            share = max((now - begin) / total, after)
            # How fast the machine is may not be known before the first step: that one does not cool.
            after = min(share + moves / speed.moves_a_s / total, 1.0) if speed.is_known else share
            from_s = time.perf_counter()
            hot, cold = (self._hot * (self._cold / self._hot) ** part for part in (share, after))
            yield Cooling(moves, hot, cold, self._deals)
            speed.measured(moves, self._moved - from_s)
            between_s = max(time.perf_counter() - self._moved, between_s / 2)


def _with_ties(
    instance: Instance, vm_price: FloatArray, vm_offer: IntArray, time_weight: float
) -> tuple[FloatArray, float]:
    """Price of each VM and weight of the time; of what does not count, a little, which decides ties."""
    if time_weight == 0.0:
        return vm_price, _TIE * float(vm_price.mean())
    if not vm_price.any():
        usd = instance.offer_price_usd_per_s[vm_offer]
        return _TIE * time_weight * usd / max(float(usd.mean()), 1e-300), time_weight
    return vm_price, time_weight


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
