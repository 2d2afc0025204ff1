"""Plans with tasks that are late: as few as may be, by weight, then as little late, then the best by the objective.

The tasks that take least for their weight are packed before they are due, longest first, as many as fit; all others
follow, or go first where that leaves room. Exchanges of tasks between VMs, and moves of one, make it better.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from ...bounds.bags.infeasibility import types_with_limit
from ...core.errors import InputError
from ...core.limits import checkpoint, clock_s, count_work, out_of_time
from ...core.quantities import NOISE
from ...core.work import ITERATIONS
from ...instances.entries import NEVER, RentalOffer
from ...instances.instance import Instance
from ...schedules.lateness import Value, late_s, relaxed, value_of
from ...schedules.queues import timeline_of
from ...schedules.schedule import Schedule
from ...schedules.timing import VmTimeline, objective_weights
from .annealing import QueuesWalk, SearchOptions, Steps, cooled, random_state
from .assignments import assignments_of
from .core_loads import SPARE_VMS
from .quick_search import plan_of_places

_MOVES_A_TASK, _MOST_MOVES = 100, 20_000
"""Moves without a limit of time."""
_RUNS, _ANNEALED_A_TASK, _MOST_ANNEALED = 2, 500, 100_000
"""Runs of the annealing of the objective, and moves of each."""


@dataclass(slots=True)
class _Vm:
    """A VM, its tasks in order, and what they come to."""

    offer: int
    machine: int
    base: VmTimeline
    tasks: list[int] = field(default_factory=list)
    weight: float = 0.0
    late_s: float = 0.0
    end_s: int = 0
    cost: float = 0.0


class LateFleet:
    """VMs and machines of an instance, and tasks on them that may be late; burstable VMs run at the baseline.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        group = instance.task_group
        self.weight, self.due_s = instance.weight[group].tolist(), instance.due_s[group].tolist()
        self.need_kb = instance.memory_kb[group].tolist()
        self.group = group.tolist()
        self.seconds = instance.sustained_s
        self.rows = instance.sustained_s.tolist()
        self.latest = instance.latest_end_s.tolist()
        self.price, self.time_weight = instance.offer_price_usd_per_s, objective_weights(instance)[1]
        self.cost_weight = objective_weights(instance)[0]
        self.vms = [
            _Vm(offer, number, timeline_of(instance, instance.offers[offer], number))
            for number, offer in enumerate(instance.machine_offer.tolist())
            if instance.machine_open[number]
        ]
        self.vms += [_Vm(offer.index, -1, timeline_of(instance, offer)) for offer in self._rented()]
        self.of_vm = np.array([vm.offer for vm in self.vms], dtype=np.int64)
        in_order = bool((instance.latest_end_s >= instance.due_s[:, None]).all())
        self.simple = in_order and bool(instance.memory_never_binds.all())
        self.held_s = int(instance.running_end_s.max(initial=0))

    def _rented(self) -> list[RentalOffer]:
        """Offers of VMs that may be rented together, as many as can be of use: first, a place for each task."""
        instance, n_open = self.instance, len(self.instance.open_tasks)
        able = self.seconds < NEVER
        placeless = (instance.open_size > 0) & ~able[:, instance.machine_offer[instance.machine_open]].any(axis=1)
        left = [min(offer.limit, n_open) for offer in instance.offers]
        caps = {market: instance.market_limit(market) for market in instance.markets}
        room = {market: NEVER if cap is None else cap for market, cap in caps.items()}
        rented: list[RentalOffer] = []

        def worth(offer: RentalOffer) -> tuple[int, bool, int, float]:
            gain = int(able[placeless, offer.index].sum())
            return gain, offer.market == "spot", offer.vcpus, -offer.price_usd_per_hour

        while there := [offer for offer in instance.offers if left[offer.index] and room[offer.market]]:
            offer = max(there, key=worth)
            number = 1 if worth(offer)[0] else min(left[offer.index], room[offer.market])
            rented += [offer] * number
            left[offer.index] -= number
            room[offer.market] -= number
            placeless &= ~able[:, offer.index]
        return rented

    def _start_s(self, timeline: VmTimeline, offer: int, task: int) -> int | None:
        """Earliest start of a task behind others; on a spot VM, none that ends after D_spot and yet in time."""
        group, due_s = self.group[task], self.due_s[task]
        count_work(ITERATIONS.queued_task)
        seconds = self.rows[group][offer]
        if seconds >= NEVER:
            return None
        start_s = timeline.earliest_start_s(self.need_kb[task], seconds)
        if start_s is not None and self.latest[group][offer] < start_s + seconds <= due_s:
            start_s = timeline.earliest_start_s(self.need_kb[task], seconds, due_s + 1 - seconds)
        return start_s

    def _place(self, timelines: list[VmTimeline], free: np.typing.NDArray[np.int64], task: int, in_time: bool) -> int:
        """Place a task where it ends first, in time if it must be; return the VM, or -1."""
        group = self.group[task]
        seconds = self.seconds[group, self.of_vm]
        ends = free + seconds
        best, best_end = -1, NEVER
        for vm in (int(ends.argmin()),) if self.simple and len(ends) else np.argsort(ends, kind="stable").tolist():
            if ends[vm] >= best_end:
                break
            offer = self.vms[vm].offer
            start_s = self._start_s(timelines[vm], offer, task)
            end_s = NEVER if start_s is None else start_s + self.rows[group][offer]
            if end_s < best_end and not (in_time and end_s > self.latest[group][offer]):
                best, best_end = vm, end_s
        if best >= 0:
            length_s = self.rows[group][self.vms[best].offer]
            timelines[best].append(best_end - length_s, self.need_kb[task], length_s)
            free[best] = timelines[best].earliest_core_s
        return best

    def pack(self, parts: Iterable[tuple[Sequence[int], bool]]) -> list[list[int]] | None:
        """Return the tasks of each VM if they are placed one by one, those that must be in time; None if one is not."""
        timelines = [vm.base.copy() for vm in self.vms]
        free = np.array([timeline.earliest_core_s for timeline in timelines], dtype=np.int64)
        queues: list[list[int]] = [[] for _ in self.vms]
        for tasks, in_time in parts:
            for task in tasks:
                vm = self._place(timelines, free, task, in_time)
                if vm < 0:
                    return None
                queues[vm].append(task)
        return queues

    def set_queues(self, queues: Sequence[list[int]]) -> None:
        """Give each VM its tasks."""
        for vm, tasks in zip(self.vms, queues, strict=True):
            vm.tasks = tasks
            found = self._ends(vm, tasks)
            assert found is not None, "each task was placed where it can run"
            vm.weight, vm.late_s, vm.end_s, vm.cost = found

    def _ends(self, vm: _Vm, tasks: Sequence[int]) -> tuple[float, float, int, float] | None:
        """Weight and weighted seconds of the late tasks of a VM, its end and cost; None if one cannot run there."""
        timeline = vm.base.copy()
        weight = late_s = 0.0
        for task in tasks:
            start_s = self._start_s(timeline, vm.offer, task)
            if start_s is None:
                return None
            seconds = self.rows[self.group[task]][vm.offer]
            timeline.append(start_s, self.need_kb[task], seconds)
            more_s = start_s + seconds - self.due_s[task]
            if more_s > 0:
                weight += self.weight[task]
                late_s += self.weight[task] * more_s
        instance, end_s = self.instance, timeline.end_s if tasks else 0
        paid_s = instance.boot_overhead_s if vm.machine < 0 else int(instance.machine_held_s[vm.machine])
        cost = self.cost_weight * float(self.price[vm.offer]) * max(end_s - paid_s, 0)
        return weight, late_s, end_s, cost

    def value(self) -> Value:
        """Value of the plan, without what is the same in all plans."""
        objective = sum(vm.cost for vm in self.vms) + self.time_weight * self._last_s()
        return Value(sum(vm.weight for vm in self.vms), sum(vm.late_s for vm in self.vms), objective)

    def improve(self, seed: int, until: float) -> None:
        """Move and exchange tasks as long as nothing gets worse, until a moment or for some moves."""
        draw = random.Random(seed)
        tasks = self.instance.open_tasks.tolist()
        if len(tasks) < 1 or not self.vms:
            return
        where = {task: vm for vm in self.vms for task in vm.tasks}
        late = [vm for vm in self.vms if vm.weight]
        most = min(_MOVES_A_TASK * len(tasks), _MOST_MOVES) if until == math.inf else math.inf
        for move in itertools.count():
            if move >= most or clock_s() >= until or out_of_time():
                return
            task, swaps = draw.choice(tasks), draw.random() < 0.5
            a = where[task]
            if late and draw.random() < 0.5:
                a = draw.choice(late)
                task = draw.choice(a.tasks)
            other = draw.choice(tasks)
            b = where[other] if swaps or draw.random() < 0.5 else draw.choice(self.vms)
            if task == other and swaps:
                continue
            changed = _exchanged(a, b, task, other) if swaps else _moved(a, b, task, draw)
            if self._takes(changed):
                where.update((task, vm) for vm, queue in changed for task in queue)
                late = [vm for vm in self.vms if vm.weight]

    def _takes(self, changed: Sequence[tuple[_Vm, list[int]]]) -> bool:
        """Give VMs other tasks, unless that is worse; return whether it was done."""
        ends = [self._ends(vm, queue) for vm, queue in changed]
        found = [one for one in ends if one is not None]
        if len(found) < len(ends):
            return False
        more, last_s = [0.0, 0.0, 0.0], self._last_s() if self.time_weight else 0
        before = [(vm, vm.tasks, (vm.weight, vm.late_s, vm.end_s, vm.cost)) for vm, _ in changed]
        for (vm, queue), one in zip(changed, found, strict=True):
            more = [more[0] + one[0] - vm.weight, more[1] + one[1] - vm.late_s, more[2] + one[3] - vm.cost]
            vm.tasks, (vm.weight, vm.late_s, vm.end_s, vm.cost) = queue, one
        if self.time_weight:
            more[2] += self.time_weight * (self._last_s() - last_s)
        if [0.0 if abs(change) < NOISE else change for change in more] <= [0.0, 0.0, 0.0]:
            return True
        for vm, queue, known in before:
            vm.tasks, (vm.weight, vm.late_s, vm.end_s, vm.cost) = queue, known
        return False

    def _last_s(self) -> int:
        """Last end of all."""
        return max(max((vm.end_s for vm in self.vms), default=0), self.held_s)

    def schedule(self, beside: Schedule | None = None) -> Schedule:
        """Return the plan; tasks that another one has, on VMs beside these, are where they are there."""
        instance, first = self.instance, len(self.instance.machines)
        offers = [*instance.machine_offer.tolist(), *(vm.offer for vm in self.vms)]
        rows: list[tuple[int, ...]] = []
        for number, vm in enumerate(self.vms, first):
            timeline, slow = vm.base.copy(), instance.offers[vm.offer].burstable
            for task in vm.tasks:
                start_s = self._start_s(timeline, vm.offer, task)
                assert start_s is not None, "each task was placed where it can run"
                core = timeline.append(start_s, self.need_kb[task], self.rows[self.group[task]][vm.offer])
                rows.append((task, number if vm.machine < 0 else vm.machine, core, start_s, slow))
        if beside is not None:
            new = len(offers) + np.arange(len(beside.vm_offer))
            place = np.where(beside.vm_machine < 0, new, beside.vm_machine)[beside.task_vm]
            columns = place, beside.task_core, beside.task_start_s, beside.task_baseline
            tasks = [instance.task_index[name] for name in beside.instance.task_ids]
            rows += zip(tasks, *(column.tolist() for column in columns), strict=True)
            offers += beside.vm_offer.tolist()
        open_tasks, places, cores, starts_s, modes = np.array(rows, dtype=np.int64).reshape(-1, 5).T
        return plan_of_places(instance, open_tasks, places, cores, starts_s, np.array(offers), modes.astype(bool))


def _exchanged(a: _Vm, b: _Vm, task: int, other: int) -> list[tuple[_Vm, list[int]]]:
    """Queues of two VMs, or of one, with two tasks exchanged."""
    exchange = {task: other, other: task}
    return [(vm, [exchange.get(entry, entry) for entry in vm.tasks]) for vm in ([a] if a is b else [a, b])]


def _moved(a: _Vm, b: _Vm, task: int, draw: random.Random) -> list[tuple[_Vm, list[int]]]:
    """Queues of two VMs, or of one, with a task at another place."""
    left = [entry for entry in a.tasks if entry != task]
    target = left if a is b else [*b.tasks]
    target.insert(draw.randint(0, len(target)), task)
    return [(b, target)] if a is b else [(a, left), (b, target)]


def first_late_plan(fleet: LateFleet, lost: Sequence[int]) -> Value | None:
    """Give a fleet the better one of two packings; None if a task has no place at all.

    As many tasks as fit are packed in time, those first that take least for their weight, and longest first; the
    others, shortest first for their weight, come after these, or before them if they still fit.
    """
    instance, weight = fleet.instance, np.array(fleet.weight)
    shortest = instance.sustained_s.min(axis=1)[instance.task_group]
    tasks = instance.open_tasks
    by_worth = tasks[np.argsort((shortest / weight)[tasks], kind="stable")].tolist()
    gone = {*lost}
    hopeful = [task for task in by_worth if task not in gone]

    def longest_first(number: int) -> list[int]:
        return sorted(hopeful[:number], key=lambda task: -shortest[task])

    def fits(number: int) -> bool:
        checkpoint()
        return fleet.pack([(longest_first(number), True)]) is not None

    number = _most(fits, len(hopeful))
    in_time = longest_first(number)
    chosen = {*in_time}
    rest = [task for task in by_worth if task not in chosen]
    best: Value | None = None
    for parts in ([(rest, False), (in_time, True)], [(in_time, True), (rest, False)]):
        queues = fleet.pack(parts)
        if queues is not None:
            kept = [vm.tasks for vm in fleet.vms]
            fleet.set_queues(queues)
            found = fleet.value()
            if best is None or found < best:
                best = found
            else:
                fleet.set_queues(kept)
    return best


def plan_beside_lost(
    fleet: LateFleet, lost: Sequence[int], plan_part: Callable[[Instance], Schedule | None]
) -> Schedule | None:
    """Return a plan with the lost tasks on VMs of their own, as early as they can be, beside one of all others in time.

    Parameters
    ----------
    fleet : LateFleet
        All VMs.
    lost : sequence of int
        Tasks that cannot be in time; no other one is of their groups.
    plan_part : callable
        Plans all others, in time and with the VMs that are left; None if it finds no plan.
    """
    instance = fleet.instance
    shortest = instance.sustained_s.min(axis=1)[instance.task_group]
    queues = fleet.pack([(sorted(lost, key=lambda task: shortest[task] / fleet.weight[task]), False)])
    groups = {*instance.task_group[[*lost]].tolist()}
    runs = instance.task_group[instance.running.task].tolist()
    if queues is None or len(groups) == len(instance.tasks) or not groups.isdisjoint(runs):
        return None
    taken = [vm for vm, queue in zip(fleet.vms, queues, strict=True) if queue]
    with suppress(InputError):  # nothing may be rented beside them
        part = _part_of(instance, groups, taken)
        plan = plan_part(part)
        if plan is None:
            return None
        fleet.set_queues(queues)
        return fleet.schedule(plan)
    return None


def _part_of(instance: Instance, without: Collection[int], taken: Sequence[_Vm]) -> Instance:
    """Return an instance without some groups of tasks, and without VMs that are taken."""
    rented = Counter(vm.offer for vm in taken if vm.machine < 0)
    types = instance.vm_types
    for index, number in rented.items():
        offer = instance.offers[index]
        limit = types[offer.type_index].offers[offer.market].limit - number
        types = types_with_limit(types, offer, limit)
    by_market: Counter[str] = Counter(instance.offers[vm.offer].market for vm in taken if vm.machine < 0)
    limits = instance.limits.model_dump(exclude_none=True)
    for market, name in (("spot", "max_spot"), ("on-demand", "max_on_demand")):
        if name in limits:
            limits[name] -= by_market[market]
    closed = {vm.machine for vm in taken}
    machines = [
        machine.model_copy(update={"open": False}) if number in closed else machine
        for number, machine in enumerate(instance.machines)
    ]
    kept = [task for group, task in enumerate(instance.tasks) if group not in without]
    changes = {"tasks": kept, "vm_types": types, "limits": limits, "machines": machines}
    return instance.replace(**changes, d_spot_s=instance.d_spot_s, late=None, survive="none")


def _most(fits: Callable[[int], bool], most: int) -> int:
    """Return the largest number that fits, if all smaller ones do."""
    if fits(most):
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def anneal_objective(plan: Schedule, seed: int, until: float) -> Schedule:
    """Make the objective of a plan better while no task ends later than it is due, or than it does if it is late."""
    instance = plan.instance
    wider = relaxed(instance)
    offers = np.arange(len(instance.offers))
    best, best_value = plan, value_of(plan, instance)
    assert best_value is not None, "the plan is right"
    for number in range(_RUNS):
        left_s = (until - clock_s()) / (_RUNS - number)
        if left_s <= 0:
            break
        state = assignments_of(replace(best, instance=wider), SPARE_VMS)
        latest = instance.latest_end_s[instance.task_group].T.copy()
        late = late_s(best, instance) > 0
        latest[:, late] = np.broadcast_to(best.task_end_s[late], (len(offers), int(late.sum())))
        state.fleet = state.fleet._replace(latest=np.ascontiguousarray(latest - state.zero_s))
        state.objective = state.objective._replace(task_penalty=state.objective.penalty)
        walk = QueuesWalk(state, random_state(seed, number))
        moves = min(_ANNEALED_A_TASK * instance.n_tasks, _MOST_ANNEALED) if until == math.inf else math.inf
        end = until if until == math.inf else clock_s() + left_s
        for _ in cooled(walk, SearchOptions().temperatures(wider, number), Steps(moves, end, wider, "queues")):
            checkpoint()
        found = walk.schedule()
        if found is None:
            continue
        found = replace(found, instance=instance)
        value = value_of(found, instance)
        if value is not None and value < best_value:
            best, best_value = found, value
    return best
