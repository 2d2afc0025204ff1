"""What HADS and Burst-HADS share: where a task may go, and where it goes if nowhere is right."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import Literal, TypeAlias

from ....instances.durations import NEVER
from ....instances.entries import RentalOffer
from ....schedules.timing import VmTimeline
from ..state import ReplayState
from ..vm import Vm
from ..work import Need, least_of


def on_demand_offers(replay: ReplayState) -> list[RentalOffer]:
    """Offers of regular on-demand VMs, cheapest first (sort_by_price of M^o)."""
    return replay.work.on_demand_offers


def need_on(replay: ReplayState, offer: RentalOffer, task: int, saved: float, mode: int | None = None) -> Need | None:
    """What a task asks of a VM of an offer; None if it cannot run there."""
    work = replay.work
    return work.need(task, offer.index, work.sustained[offer.index] if mode is None else mode, saved)


def _spot_first(by_price: list[Vm]) -> list[Vm]:
    """VMs with those of the spot market first (sort_by_market of both papers; ties as they were requested)."""
    return [vm for vm in by_price if vm.spot] + [vm for vm in by_price if not vm.spot]


def _spot_then_price(vm: Vm) -> tuple[bool, float, int]:
    return not vm.spot, vm.offer.price_usd_per_hour, vm.index


def with_saved(replay: ReplayState, vm: Vm, tasks: Iterable[int]) -> list[tuple[int, float]]:
    """Tasks of a hibernated VM, each with the fraction of it that is saved if it leaves the VM now."""
    ran = {run.task for run in vm.running if run is not None}
    before = replay.saved
    return [(task, replay.saved_if_moved(vm, task) if task in ran else before.get(task, 0.0)) for task in tasks]


SpareTime: TypeAlias = Literal["all", "spot"]
"""Of which VMs spare time is asked: all, as Algorithm 7 of HADS is printed, or spot VMs only, as Burst-HADS says."""


def check_migration(replay: ReplayState, vm: Vm, need: Need, spare_time: SpareTime) -> bool:
    """Whether a task may go to a VM that is there (HADS Algorithm 7).

    Enough time must be left after its last task to do its longest one again elsewhere: ``D - eft > e_m + alpha`` (line
    3), with e_m the whole run time, as after a hibernation just before the first checkpoint. Where spare time is asked
    of spot VMs only, ``eft <= D`` is enough on an on-demand VM, which cannot hibernate.
    """
    spare = vm.spot or spare_time == "all"
    longest_s = vm.longest_s(replay.work) if spare else 0
    timeline = vm.timeline(replay.now_s, replay.work)
    return start_in_time_s(replay, timeline, vm.zero_s, spare, longest_s, need) is not None


def start_in_time_s(
    replay: ReplayState, timeline: VmTimeline, zero_s: int, spare: bool, longest_s: int, need: Need
) -> int | None:
    """When a task would start, in uptime, on a VM whose timeline and longest task are given; None if it may not.

    ``spare`` says whether spare time is asked of the VM; see `check_migration`.
    """
    duration_s, runtime_s, memory_kb = need
    start_s = timeline.earliest_start_s(memory_kb, duration_s)
    if start_s is None:
        return None
    end_s = start_s + duration_s
    if end_s < timeline.end_s:
        end_s = timeline.end_s  # eft of line 2: of the VM, not of the task
    left_s = replay.instance.deadline_s - zero_s - end_s
    if spare:
        left_s -= (longest_s if longest_s > runtime_s else runtime_s) + replay.start_overhead_s + 1
    return start_s if left_s >= 0 else None


class Targets:
    """VMs that run, as targets of one migration: idle ones, then busy ones, spot before on-demand, each by price.

    Attempts 1 and 2 of HADS (Algorithm 6, lines 2-23), 2 and 3 of Burst-HADS (Algorithm 4, lines 16-37). Burstable VMs
    take tasks only while they are idle, and only if the policy wants it. While a migration goes on, VMs only fill up:
    one that turns down the least of all is not asked at all, and what has turned down a task turns down every task that
    is like it.

    Parameters
    ----------
    replay : ReplayState
        The replay.
    source : Vm
        The hibernated VM.
    tasks : sequence of (int, float)
        What is to be migrated from it, and which fraction is saved of each.
    to_burstable : bool
        Whether idle burstable VMs are targets.
    spare_time : {"all", "spot"}
        See `check_migration`. A VM that the migration has started is a target like any other that is busy.
    """

    def __init__(
        self,
        replay: ReplayState,
        source: Vm,
        tasks: Sequence[tuple[int, float]],
        to_burstable: bool,
        spare_time: SpareTime,
    ) -> None:
        self._replay = replay
        self._source = source
        self._spare_time: SpareTime = spare_time
        least: dict[int, Need | None] = {}
        able: list[Vm] = []
        for vm in replay.fleet.by_price:
            if not (vm.idle or vm.busy if vm.burstable is None else to_burstable and vm.idle):
                continue
            index = vm.offer_index
            if index not in least:
                least[index] = least_of([need_on(replay, vm.offer, task, saved) for task, saved in tasks])
            need = least[index]
            if need is not None and check_migration(replay, vm, need, spare_time):
                able.append(vm)
        self._lists = (
            _spot_first([vm for vm in able if not vm.n_left]),
            _spot_first([vm for vm in able if vm.n_left]),
        )
        # Of tasks that are alike: how many of the idle VMs, and of the busy ones, have turned one down.
        self._asked: dict[tuple[int, float], list[int]] = {}

    def place(self, task: int, saved: float) -> bool:
        """Migrate a task to the first VM that may take it; False if there is none."""
        replay, spare_time, work = self._replay, self._spare_time, self._replay.work
        asked = self._asked.setdefault((work.group_of[task], saved), [0, 0])
        for which, vms in enumerate(self._lists):
            for place in range(asked[which], len(vms)):
                vm = vms[place]
                need = work.need(task, vm.offer_index, work.sustained[vm.offer_index], saved)
                if need is not None and check_migration(replay, vm, need, spare_time):
                    asked[which] = place
                    self._migrate(task, vm)
                    return True
            asked[which] = len(vms)
        return False

    def add(self, vm: Vm) -> None:
        """Add a VM that has got a task."""
        busy = self._lists[1]
        place = bisect_left(busy, _spot_then_price(vm), key=_spot_then_price)
        busy.insert(place, vm)
        for asked in self._asked.values():
            asked[1] = min(asked[1], place)

    def _migrate(self, task: int, vm: Vm) -> None:
        was_busy = vm.busy
        self._replay.migrate(task, self._source, vm)
        if was_busy:
            return
        idle = self._lists[0]
        place = idle.index(vm)
        del idle[place]
        for asked in self._asked.values():
            asked[0] -= asked[0] > place
        if vm.burstable is None:
            self.add(vm)


def to_new_vm(replay: ReplayState, source: Vm, task: int, saved: float) -> Vm | None:
    """Migrate a task to a new on-demand VM, the cheapest that ends it in time; None if there is none.

    Attempt 3 of HADS (Algorithm 6, lines 24-36), 4 of Burst-HADS (Algorithm 4, lines 38-50). Both print ``start + e +
    alpha < D``. Here a task may end at the deadline, as in `check_migration`: eq. 4 of HADS sets the trigger so that
    the two sides are equal, and the printed test would turn down what the trigger was computed for.
    """
    for offer in on_demand_offers(replay):
        duration_s = replay.duration_s(task, offer, None, saved)
        in_time = replay.now_s + duration_s + replay.start_overhead_s <= replay.instance.deadline_s
        if in_time and replay.can_start(offer):
            vm = replay.start_vm(offer)
            replay.migrate(task, source, vm)
            return vm
    return None


def migrate_tasks(
    replay: ReplayState,
    source: Vm,
    tasks: Sequence[int],
    to_burstable: bool,
    spare_time: SpareTime,
    first: Callable[[ReplayState, Vm, int, float], bool] | None = None,
) -> None:
    """Migrate the unfinished tasks of a hibernated VM (HADS Algorithm 6, Burst-HADS Algorithm 4).

    Parameters
    ----------
    replay, source, to_burstable, spare_time
        See `Targets`.
    tasks : sequence of int
        Its tasks, in the order in which they are to find a place.
    first : callable, optional
        An attempt that comes before all others; takes replay, source, task and the fraction saved of it.
    """
    saved_of = with_saved(replay, source, tasks)
    targets = Targets(replay, source, saved_of, to_burstable, spare_time)
    left = []
    for task, saved in saved_of:
        if (first is not None and first(replay, source, task, saved)) or targets.place(task, saved):
            continue
        new = to_new_vm(replay, source, task, saved)
        if new is None:
            left.append(task)
        else:
            targets.add(new)
    migrate_anyway(replay, source, left)


def tasks_to_leave(replay: ReplayState, vm: Vm) -> list[int]:
    """Tasks of a VM that drains which gain nothing by staying: what waits, and what neither ends nor saves more."""
    return [task for task in vm.tasks() if replay.saved_if_kept(vm, task) <= replay.saved_if_moved(vm, task)]


def migrate_anyway(replay: ReplayState, source: Vm, tasks: Iterable[int], places: Places | None = None) -> None:
    """Migrate tasks for which no attempt has found a place to where they end first.

    The papers do not say what happens then. Here a deadline that cannot be kept is missed by as little as can be had,
    and an on-demand VM is preferred where it makes no difference. What can go nowhere at all stays on its VM, and
    `retry_stranded` tries again. ``places`` serve for several VMs at one moment.
    """
    left = 0
    for task in tasks:
        if places is None:
            places = Places(replay)
        saved = replay.saved_if_moved(source, task)
        best = places.best(task, saved)
        if best is None:
            left += 1
            continue
        end_s, place = best
        target = replay.start_vm(place) if isinstance(place, RentalOffer) else place
        replay.migrate(task, source, target, late=end_s > replay.instance.deadline_s)
        places.add(target)
    if left:
        source.stranded = replay.fleet.any_stranded = True
        replay.report_stranded(source, left)


def retry_stranded(replay: ReplayState) -> None:
    """Try again to place the tasks that have stayed on interrupted VMs because nothing could take them."""
    if not replay.fleet.any_stranded:
        return
    replay.fleet.any_stranded = False
    places = Places(replay)
    for vm in replay.vms:
        if vm.stranded and vm.gives_tasks:
            vm.stranded = False
            migrate_anyway(replay, vm, vm.tasks(), places)


class Places:
    """Where tasks could go at a moment, by when they would end there.

    Of an offer whose memory never binds, the VM of which a core is free first is best for every task. Others are asked
    one by one.
    """

    def __init__(self, replay: ReplayState) -> None:
        self._replay = replay
        self._free: dict[int, list[tuple[int, int]]] = {}
        self._with_memory: list[Vm] = []
        for vm in replay.fleet.by_price:
            if vm.alive and (vm.burstable is None or vm.idle):
                self._enter(vm)

    def best(self, task: int, saved: float) -> tuple[int, Vm | RentalOffer] | None:
        """When a task would end where it ends first, and that VM, or the offer of a new one; None without any."""
        replay, vms = self._replay, self._replay.vms
        best: tuple[int, bool, int] | None = None
        for index, heap in self._free.items():
            duration_s = replay.duration_s(task, replay.instance.offers[index], None, saved)
            if duration_s >= NEVER:
                continue
            while heap and heap[0][0] != self._free_s(vms[heap[0][1]]):
                heappop(heap)
            if heap:
                free_s, number = heap[0]
                place = free_s + duration_s, vms[number].spot, number
                if best is None or place < best:
                    best = place
        for vm in self._with_memory:
            end_s = replay.end_if_placed_s(vm, task, None, saved)
            if end_s is not None and (best is None or (end_s, vm.spot, vm.index) < best):
                best = end_s, vm.spot, vm.index
        for offer in on_demand_offers(replay):
            duration_s = replay.duration_s(task, offer, None, saved)
            if replay.can_start(offer) and duration_s < NEVER:
                place = replay.now_s + replay.start_overhead_s + duration_s, False, len(vms) + offer.index
                if best is None or place < best:
                    best = place
        if best is None:
            return None
        end_s, _, number = best
        return end_s, vms[number] if number < len(vms) else replay.instance.offers[number - len(vms)]

    def add(self, vm: Vm) -> None:
        """Count with what a VM has got."""
        if vm.memory_kb is not None and vm in self._with_memory:
            self._with_memory.remove(vm)
        if vm.burstable is None:
            self._enter(vm)

    def _enter(self, vm: Vm) -> None:
        if vm.memory_kb is None:
            heappush(self._free.setdefault(vm.offer_index, []), (self._free_s(vm), vm.index))
        else:
            self._with_memory.append(vm)

    def _free_s(self, vm: Vm) -> int:
        """When a VM can begin with another task; a burstable one has no more than one."""
        if vm.burstable is not None and vm.n_left:
            return NEVER  # as no heap has it
        return vm.zero_s + vm.timeline(self._replay.now_s, self._replay.work).earliest_core_s
