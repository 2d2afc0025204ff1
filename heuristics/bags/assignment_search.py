"""Annealing where memory may bind or VMs burst: of the VMs of a linear programme, and of others near them.

Where classes of tasks are few and memory binds, it starts from what cores run in the bound of few classes: the
solutions of `core_pattern_bound` say for each makespan how many VMs of each offer a good plan has, and which tasks are
together on a core. Their whole parts are taken as they are; of the rest, the largest parts first, as far as there are
tasks and cores.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from ...bounds.bags.configuration_bound import configuration_bound
from ...bounds.bags.core_pattern_bound import CorePattern, CorePatternProgramme
from ...bounds.bags.divisible_programme import FractionalFleet, fractional_fleet
from ...core.capacities import fits, largest_share, lower_of, upper_of
from ...core.errors import ModelRefusal
from ...core.limits import LimitReached, checkpoint, clock_s, current_limit, seconds_left, share_of_time, within
from ...core.quantities import BoolArray, IntArray
from ...instances.entries import FULL_SPEED, NEVER, RentalOffer, VmsLeft, keeps_group_limits
from ...instances.instance import Instance
from ...models.bags.task_classes import MOST_CLASSES, has_more_classes, task_classes, usable_offers
from ...schedules.method import LARGE_TASKS
from ...schedules.queues import Queue
from ...schedules.schedule import Schedule
from .annealing import QueuesWalk, SearchOptions, Steps, cooled, is_idle, random_state
from .assignments import Assignments, assignments_of, assignments_of_queues
from .core_loads import SPARE_VMS

if TYPE_CHECKING:
    from .annealing import Found

_RUNS, _MOVES_A_TASK, _MOST_MOVES = 4, 5_000, 1_000_000
"""Runs without a time limit, and as many as there is time for with one; and most moves of a run."""
_FLEETS_BY_DATES = 24
"""Short runs where tasks have dates, each with another fleet; those that follow begin from the best plan, as a rule."""
_MORE_CORES = 1.1
_SHARE_OF_FLEETS, _FLEET_S_A_TASK = 0.6, 2e-3
"""Share of the time for these, and what each of them takes at least to tell fleets apart."""
_MEAN_SHARE = 0.3
"""Share of the price of a VM that every second run charges for the mean end of its cores and not for the last."""


def search_assignments(instance: Instance, options: SearchOptions, found: Found, rate: float) -> None:
    """Anneal the tasks of each VM and the order of their starts, again and again while there is time.

    The first run has the VMs of the linear programme `fractional_fleet`; each later one has one VM more, or less, or
    another one than the best run so far, or one more of each offer as long as no plan was found. While a plan of other
    origin is better than theirs, every second run begins from that; with machines, or where that programme has no
    solution, all do. Without a time limit there are four runs. A dollar beyond a budget is charged at the rate, and
    twice as much after a run that found no plan.
    """
    if instance.n_tasks > LARGE_TASKS or not len(instance.open_tasks):
        return
    rng = np.random.default_rng(found.run.seed)
    from .annealing_kernel import Cooling

    dated = instance.has_dates  # patterns of cores know none
    starts = None if dated else core_pattern_starts(instance, found.run.enough(found.objective))
    if starts is not None:
        found.raise_bound(max(found.bound, starts.bound))
        if found.run.answered(found.objective, found.bound):
            return
        _search_from_patterns(instance, starts, options, rng, found, rate)
        return
    fleet = None if instance.machines else fractional_fleet(instance)
    vms = None if fleet is None else _whole_vms(instance, fleet)
    best_vms, best_value, best_number = vms, np.inf, 0
    if dated and found.best is not None:  # what is compiled is loaded before the first of the short runs
        QueuesWalk(assignments_of(found.best, 0), 1).move(Cooling(0, 1.0, 1.0))
    n_short, tried = _short_runs(instance) if dated else 0, set[bytes]()
    for number, until in enumerate(_ends(options, n_short)):
        if is_idle(instance, number - best_number):
            return
        state = None
        behind = found.best is not None and found.objective < best_value - 1e-12
        from_plan = number >= n_short and number % 4 > 0 if dated else behind and number % 2 > 0
        if fleet is not None and best_vms is not None and not from_plan:
            vms = best_vms if number == 0 else _other_vms(instance, fleet, best_vms, rng, tried)
            if dated:
                tried.add(vms.tobytes())
            here = fleet if number == 0 else fractional_fleet(instance, vms)
            state = None if here is None else _state_of_fleet(instance, here, vms)
        if state is None and found.best is None:
            return
        of_plan = state is None
        if state is None:
            assert found.best is not None
            state = assignments_of(found.best, _spare(found.best))
        value = _run(state, options, number, until, found, rate)
        rate = 2 * rate if np.isinf(value) else rate
        if of_plan and fleet is not None and value <= found.objective:
            vms = _vms_of(fleet, found.best)
        if np.isinf(value) and np.isinf(best_value) and fleet is not None and best_vms is not None and not of_plan:
            best_vms = _more_vms(instance, fleet, best_vms)
        elif value < best_value:
            best_vms, best_value, best_number = vms, value, number
        if found.run.answered(found.objective, found.bound):
            return


def _search_from_patterns(
    instance: Instance,
    starts: CorePatternStarts,
    options: SearchOptions,
    rng: np.random.Generator,
    found: Found,
    rate: float,
) -> None:
    """Anneal from what cores run in a linear programme, and now and then from the best plan so far."""
    last_better = 0
    slow: BoolArray = np.zeros(instance.n_tasks, dtype=bool)
    for number, until in enumerate(_ends(options, MAKESPANS)):
        if is_idle(instance, number - last_better):
            return
        before = found.objective
        again = number > MAKESPANS and number % 4 == 3 and found.best is not None
        queues = None if again else starts.queues(number, rng)
        if queues is not None:
            state = assignments_of_queues(instance, queues, slow)
        elif found.best is not None:
            state = assignments_of(found.best, _spare(found.best))
        else:
            continue
        value = _run(state, options, number, until, found, rate)
        rate = 2 * rate if np.isinf(value) else rate
        if found.objective < before:
            last_better = number
        if found.run.answered(found.objective, found.bound):
            return


def _short_runs(instance: Instance) -> int:
    """Number of fleets for which there is time, each in a short run."""
    left_s = seconds_left()
    time_for = math.inf if left_s is None else _SHARE_OF_FLEETS * left_s / (_FLEET_S_A_TASK * instance.n_tasks)
    return max(int(min(time_for, _FLEETS_BY_DATES)), 2)


def _spare(plan: Schedule) -> int:
    """Empty VMs of each offer beside those of a plan: an early end within a budget may want twice as many."""
    return SPARE_VMS if plan.instance.objective.budget_usd is None else len(plan.vm_offer)


def _ends(options: SearchOptions, n_short: int = 0) -> Iterator[float]:
    """Latest ends of runs, infinite for those that end by their moves. The first ones may be short."""
    left_s = seconds_left()
    if options.moves is not None or left_s is None:
        for _ in range(_RUNS + n_short):
            checkpoint()
            yield math.inf
        return
    current_limit().ended_by_time()  # more time would bring more, and the temperature falls by the clock
    run_s = left_s / (_RUNS + n_short / 2)
    for number in itertools.count():
        checkpoint()
        yield clock_s() + min(run_s / 2 if number < n_short else run_s, seconds_left() or 0.0)


def _run(state: Assignments, options: SearchOptions, number: int, until: float, found: Found, rate: float) -> float:
    """Anneal a state once, keep the best plan met if it is better than all others, and return its objective."""
    instance, before = state.instance, found.iteration
    moves = min(_MOVES_A_TASK * instance.n_tasks, _MOST_MOVES)
    if options.moves is not None:
        moves = max(options.moves // _RUNS, 1)
    walk = QueuesWalk(state, random_state(found.run.seed, number), 0.0 if number % 2 else _MEAN_SHARE, rate)
    found.step(before + 1, before + _RUNS, found.objective, found.objective)
    try:
        for _ in cooled(walk, options.temperatures(instance, number), Steps(moves, until, instance, "queues")):
            checkpoint()
    finally:
        if walk.best < found.objective:
            found.take(walk.schedule())
    return walk.best


def _whole_vms(instance: Instance, fleet: FractionalFleet) -> IntArray:
    """Round the VMs of each offer up, as far as the limits allow, those with the largest parts first."""
    if instance.has_dates:
        return _fewest_cores(instance, fleet)
    # Values of the programme may lie just above a whole number. It keeps the limits of groups, so that taking back what
    # was rounded up is enough.
    vms = np.minimum(np.ceil(fleet.vms - 1e-6).astype(np.int64), fleet.limits)
    for k in np.argsort(vms - fleet.vms, kind="stable")[::-1].tolist():
        vms[k] -= vms[k] > fleet.vms[k] and not _keeps_limits(instance, fleet, vms)
    return vms


def _fewest_cores(instance: Instance, fleet: FractionalFleet) -> IntArray:
    """Round the VMs of each offer to hardly more cores than they have together: while nothing is released, all wait.

    Whole tasks that wait for each other need a little more of them than those that may be cut.
    """
    vcpus = np.array([offer.vcpus for offer in fleet.offers])
    vms = np.minimum(np.floor(fleet.vms + 1e-6).astype(np.int64), fleet.limits)
    while (lacking := float(vcpus @ (_MORE_CORES * fleet.vms - vms))) > vcpus.min() / 2:
        more = np.flatnonzero((fleet.vms > 1e-6) & (vms < fleet.limits))
        more = np.array([k for k in more if _keeps_limits(instance, fleet, vms + (np.arange(len(vms)) == k))])
        if not len(more):
            break
        small = more[vcpus[more] <= lacking]
        vms[small[vcpus[small].argmax()] if len(small) else more[vcpus[more].argmin()]] += 1
    return vms


def _keeps_limits(instance: Instance, fleet: FractionalFleet, vms: IntArray) -> bool:
    return keeps_group_limits(instance, np.array([offer.index for offer in fleet.offers]), vms)


def _more_vms(instance: Instance, fleet: FractionalFleet, vms: IntArray) -> IntArray:
    """Return another VM of each offer, as far as the limits allow, the offers with the largest parts first.

    Where tasks have dates, of the one of which most is lacking.
    """
    vms = vms.copy()
    order = np.argsort(-fleet.vms, kind="stable")
    if instance.has_dates:
        free = order[vms[order] < fleet.limits[order]]
        order = free[np.argsort((vms - fleet.vms)[free], kind="stable")][:1]
    for k in order.tolist():
        vms[k] += 1
        vms[k] -= vms[k] > fleet.limits[k] or not _keeps_limits(instance, fleet, vms)
    return vms


def _vms_of(fleet: FractionalFleet, plan: Schedule | None) -> IntArray:
    """VMs of each offer in a plan."""
    assert plan is not None
    counts = np.bincount(plan.vm_offer, minlength=len(plan.instance.offers))
    return counts[[offer.index for offer in fleet.offers]]


def _other_vms(
    instance: Instance, fleet: FractionalFleet, vms: IntArray, rng: np.random.Generator, tried: set[bytes]
) -> IntArray:
    """Return numbers of VMs with one more, one less, or another one, within the limits; or the same ones.

    None that was tried is returned again, as long as another one is found.
    """
    # Where tasks have dates, there is time for few fleets: VMs that are of no use are not among them.
    useful = np.flatnonzero((fleet.vms > 1e-6) | (vms > 0) | (not instance.has_dates))
    for _ in range(20):
        other = vms.copy()
        more, less = useful[rng.integers(len(useful), size=2)]
        kind = rng.integers(4)
        # The same VMs again, one time in four: another run may come further with them.
        if kind == 0 and not tried:
            return other
        other[more] += kind != 1
        other[less] -= kind != 2
        fits = (other >= 0).all() and (other <= fleet.limits).all() and other.any() and (other != vms).any()
        if fits and other.tobytes() not in tried and _keeps_limits(instance, fleet, other):
            return other
    return vms


def _state_of_fleet(instance: Instance, fleet: FractionalFleet, vms: IntArray | None) -> Assignments | None:
    """Round the tasks of each offer to whole ones, and give them, the longest first, to the VM with the least load."""
    assert vms is not None
    offers = fleet.offers
    queues = [Queue(offer, []) for offer, count in zip(offers, vms.tolist(), strict=True) for _ in range(count)]
    first = np.r_[0, np.cumsum(vms)]
    load = np.zeros((2, len(queues)))  # seconds of all its cores, and of all its memory
    rest = np.where(vms > 0, fleet.tasks, -np.inf)
    seconds = instance.duration_s[:, [offer.index for offer in offers], FULL_SPEED]
    rest[seconds > instance.deadline_s] = -np.inf
    longest = np.where(np.isfinite(rest), seconds, 0).max(axis=1)
    slow: BoolArray = np.zeros(instance.n_tasks, dtype=bool)
    order = np.argsort(-longest[instance.task_group], kind="stable")
    if instance.has_dates:
        order = np.lexsort(((instance.due_s - longest)[instance.task_group], instance.release_s[instance.task_group]))
    for task in order.tolist():
        group = int(instance.task_group[task])
        k = int(rest[group].argmax())
        if rest[group, k] == -np.inf:
            return None
        rest[group, k] -= 1
        of_memory = largest_share(instance.memory_kb[group], offers[k].memory_kb)
        work = seconds[group, k] * np.array([1 / offers[k].vcpus, of_memory])
        mine = load[:, first[k] : first[k + 1]]
        vm = int((mine + work[:, None]).max(axis=0).argmin())
        mine[:, vm] += work
        queues[first[k] + vm].tasks.append(task)
    if instance.slots.beside_memory and not instance.has_dates:
        for queue in queues:
            queue.tasks[:] = _packed(instance, queue)
    return assignments_of_queues(instance, queues, slow)


def _packed(instance: Instance, queue: Queue) -> list[int]:
    """Put tasks in the order of their starts: of those that fit, a long one that takes what is left in its proportion.

    A task is worth its length, and its needs times what is left of both, as in the packing of Tetris (Grandl et al.,
    2014).
    """
    groups, offer = instance.task_group[queue.tasks], queue.offer
    need, seconds = instance.memory_kb[groups], instance.sustained_s[groups, offer.index]
    shares = np.array([upper_of(need) / offer.vcpus, lower_of(need) / lower_of(offer.memory_kb)])
    length = seconds / max(int(seconds.max(initial=1)), 1)
    left, free, waits = offer.memory_kb, np.ones(2), np.ones(len(groups), dtype=bool)
    running: list[tuple[int, int]] = []
    order, now = list[int](), 0
    while waits.any():
        able = waits & fits(left - need)
        change = -1
        if able.any():
            place = int(np.where(able, length + free @ shares, -np.inf).argmax())
            heappush(running, (now + int(seconds[place]), place))
            waits[place] = False
            order.append(queue.tasks[place])
        else:
            now, place = heappop(running)
            change = 1
        left += change * int(need[place])
        free += change * shares[:, place]
    return order


MAKESPANS = 6
_SHARE_OF_TIME = 0.3
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
        if not n_makespans:  # no start is as good as the plan that is known
            return None
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
            least = [(0, vm) for vm in range(n_vms)]  # what each VM with a free core holds
            for each, at in held:
                load, vm = heappop(least)
                vms[vm].append(mine[at][1])
                if len(vms[vm]) < offer.vcpus:
                    heappush(least, (load + each, vm))
            checkpoint()
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
        offers = np.array([queue.offer.index for queue in queues], dtype=np.int64)
        load = np.array([seconds[queue.tasks, queue.offer.index].sum() for queue in queues]) / vcpus
        for task in tasks:
            checkpoint()
            mine = seconds[task, offers]
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
    many = instance.machines or bursts or has_more_classes(instance, MOST_CLASSES)
    if many or len(task_classes(instance)) > MOST_CLASSES:
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
