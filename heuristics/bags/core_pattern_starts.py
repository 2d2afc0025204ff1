"""Starts of the annealing where memory binds and classes of tasks are few: what cores run in the bound of few classes.

The solutions of `core_pattern_bound` say for each makespan how many VMs of each offer a good plan has, and which tasks
are together on a core. Their whole parts are taken as they are; of the rest, the largest parts first, as far as there
are tasks and cores.
"""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np

from ...bounds.bags.configuration_bound import configuration_bound
from ...bounds.bags.core_pattern_bound import CorePattern, CorePatternProgramme
from ...core.capacities import lower_of
from ...core.errors import ModelRefusal
from ...core.limits import LimitReached, share_of_time, within
from ...core.quantities import IntArray
from ...instances.entries import NEVER, RentalOffer
from ...instances.group_limits import VmsLeft
from ...instances.instance import Instance
from ...models.bags.task_classes import MOST_CLASSES, task_classes, usable_offers
from ...schedules.queues import Queue

MAKESPANS = 6
_SHARE_OF_TIME = 0.15
_NOISE = 0.3
_ALIKE = 0.93
"""Ends of cores that may share a VM, as a share of the latest."""


class CorePatternStarts:
    """Starts for one makespan after the other.

    Attributes
    ----------
    bound : float
        Lower bound of the objective.
    """

    def __init__(self, instance: Instance, programme: CorePatternProgramme, bound: float) -> None:
        self.instance = instance
        self.bound = bound
        self._programme = programme
        self._makespans_s = programme.least_makespans(MAKESPANS)
        self._cores: dict[int, list[CorePattern]] = {}

    def queues(self, number: int, rng: np.random.Generator) -> list[Queue] | None:
        """Return a start, for one makespan after the other and then for any; None if a task found no place.

        Parameters
        ----------
        number : int
            How many there were before.
        rng : numpy.random.Generator
            Varies what is taken of the parts that are not whole.
        """
        n_makespans = len(self._makespans_s)
        which = number if number < n_makespans else int(rng.integers(n_makespans))
        if which not in self._cores:
            try:
                self._cores[which] = self._programme.cores_by(self._makespans_s[which])
            except ModelRefusal:  # the solver gave up
                self._cores[which] = []
        return self._whole(self._cores[which], rng)

    def _whole(self, parts: list[CorePattern], rng: np.random.Generator) -> list[Queue] | None:
        """Round a solution of the linear programme to whole cores; make VMs of them, and queues of their tasks.

        Each pattern is taken as often as its number is whole, then the largest fractions first, but for noise. Tasks
        that no pattern runs then are placed at last; None if one finds no place.
        """
        left = self._programme.classes.size.copy()
        free = {part.offer.index: part.offer.vcpus * part.offer.limit for part in parts}
        cores: dict[int, list[tuple[int, IntArray]]] = defaultdict(list)
        whole = [(part, int(part.number + 1e-6)) for part in parts]  # those of the programme may lie just below
        rest = [(part.number - number + _NOISE * rng.random(), at) for at, (part, number) in enumerate(whole)]
        order = [part for part, number in whole for _ in range(number)]
        order += [parts[at] for _, at in sorted(rest, reverse=True)]
        for part in order:
            counts = np.minimum(part.counts, left)
            if counts.any() and free[part.offer.index]:
                free[part.offer.index] -= 1
                left -= counts
                cores[part.offer.index].append((part.end_s, counts))
        tasks = [mine.tolist() for mine in self._programme.classes.tasks]
        queues: list[Queue] = []
        left_to_rent = VmsLeft(self.instance)
        for index in sorted(cores):
            offer = self.instance.offers[index]
            vms = self._vms(offer, cores[index], left_to_rent.of(index), tasks)
            left_to_rent.take(index, len(vms))
            queues += vms
        placed = self._place_rest(queues, [task for mine in tasks for task in mine])
        return queues if placed else None

    def _vms(
        self, offer: RentalOffer, cores: list[tuple[int, IntArray]], most: int, tasks: list[list[int]]
    ) -> list[Queue]:
        """Group cores that end at about the same time, so that no VM has much more to hold in memory than others."""
        group = self._programme.classes.group
        seconds, memory = self.instance.sustained_s[group, offer.index], lower_of(self.instance.memory_kb[group])
        cores.sort(key=lambda core: -core[0])
        queues: list[Queue] = []
        while cores and len(queues) < most:
            alike = sum(end_s >= _ALIKE * cores[0][0] for end_s, _ in cores)
            n_vms = min(-(-alike // offer.vcpus), most - len(queues))
            mine, cores = cores[: n_vms * offer.vcpus], cores[n_vms * offer.vcpus :]
            held = sorted(((int(counts @ (seconds * memory)), at) for at, (_, counts) in enumerate(mine)), reverse=True)
            vms: list[list[IntArray]] = [[] for _ in range(n_vms)]
            load = [0] * n_vms
            for each, at in held:
                vm = min((vm for vm in range(n_vms) if len(vms[vm]) < offer.vcpus), key=load.__getitem__)
                vms[vm].append(mine[at][1])
                load[vm] += each
            queues += [self._queue(offer, of_vm, seconds, tasks) for of_vm in vms]
        return queues

    def _queue(self, offer: RentalOffer, cores: list[IntArray], seconds: IntArray, tasks: list[list[int]]) -> Queue:
        """Put the tasks of some cores in the order of starts: of every second core the longest first."""
        starts: list[tuple[int, int]] = []
        for core, counts in enumerate(cores):
            now, sign = 0, -1 if core % 2 else 1
            for kind in sorted(np.flatnonzero(counts).tolist(), key=lambda kind: sign * int(seconds[kind])):
                for _ in range(int(counts[kind])):
                    starts.append((now, tasks[kind].pop()))
                    now += int(seconds[kind])
        return Queue(offer, [task for _, task in sorted(starts)])

    def _place_rest(self, queues: list[Queue], tasks: list[int]) -> bool:
        """Append tasks that are left where the load is least; say whether all of them can run there."""
        instance = self.instance
        seconds = instance.sustained_s[instance.task_group]
        vcpus = np.array([queue.offer.vcpus for queue in queues])
        load = np.array([seconds[queue.tasks, queue.offer.index].sum() for queue in queues]) / vcpus
        for task in tasks:
            mine = np.array([seconds[task, queue.offer.index] for queue in queues], dtype=np.int64)
            if not (mine < NEVER).any():
                return False
            more = np.where(mine < NEVER, mine / vcpus, np.inf)
            vm = int((load + more).argmin())
            queues[vm].tasks.append(task)
            load[vm] += more[vm]
        return len(queues) > 0


def core_pattern_starts(instance: Instance, at_most: float = math.inf) -> CorePatternStarts | None:
    """Solve the linear programme of a bag of few classes; None if it is not for this bag, or takes too long.

    Makespans whose value exceeds the objective of a plan that is known, ``at_most``, are of no use as starts.
    """
    bursts = any(offer.burstable for offer in usable_offers(instance))  # tasks are cut there
    if instance.machines or bursts or len(task_classes(instance)) > MOST_CLASSES:
        return None
    try:
        with within(share_of_time(_SHARE_OF_TIME)):
            configurations = configuration_bound(instance)
            programme = CorePatternProgramme(instance, configurations, at_most)
            programme.run()
    except (ModelRefusal, LimitReached):
        return None
    if not (len(programme.proved) or programme.cut):  # if all are cut, the bound says that none is good enough
        return None
    return CorePatternStarts(instance, programme, max(programme.bound, configurations.objective))
