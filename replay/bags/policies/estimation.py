"""How long the tasks of a hibernated VM would take elsewhere: estimate_rt of HADS (Algorithm 4)."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass

from ....instances.durations import NEVER
from ....instances.entries import RentalOffer
from ....schedules.timing import VmTimeline
from ..state import ReplayState
from ..vm import Vm
from ..work import Need
from .migration import SpareTime, need_on, on_demand_offers, start_in_time_s, with_saved


@dataclass(slots=True, eq=False)
class _Sketch:
    """A VM as it would be with the tasks that are assigned to it; nothing is moved."""

    vm: Vm | None
    offer: RentalOffer
    timeline: VmTimeline
    zero_s: int
    longest_s: int
    spare: bool


def estimate_rt(replay: ReplayState, hibernated: Vm, spare_time: SpareTime) -> tuple[int, frozenset[int]]:
    """Estimate how long the unfinished tasks of a hibernated VM would take from now on (HADS Algorithm 4).

    Each task goes to the first VM that may take it: those selected for earlier tasks (K), idle ones (IR), busy ones
    (BR), each by price (line 3), else a new on-demand VM (lines 10-18).

    Returns
    -------
    duration_s : int
        From now until the last of them would end; without the overhead of starting VMs, which the migration trigger
        adds (eq. 4).
    helpers : frozenset of int
        VMs that were counted on.

    Notes
    -----
    The paper does not say what VMs are busy with while the tasks wait for the trigger: what they have left now counts,
    which is more than they will have left then. A task that fits nowhere counts on its own on the fastest type.
    """
    estimate = _Estimate(replay, hibernated, spare_time)
    last_end_s = replay.now_s
    for task, saved in with_saved(replay, hibernated, hibernated.tasks()):
        last_end_s = max(last_end_s, estimate.end_s(task, saved))
    return last_end_s - replay.now_s, frozenset(
        [sketch.vm.index for sketch in estimate.chosen if sketch.vm is not None]
    )


class _Estimate:
    """Where the tasks of a hibernated VM would go."""

    def __init__(self, replay: ReplayState, hibernated: Vm, spare_time: SpareTime) -> None:
        self._replay = replay
        self._spare_time: SpareTime = spare_time
        able = [vm for vm in replay.fleet.by_price if vm.alive and vm is not hibernated]
        idle = [vm for vm in able if not vm.n_left and (vm.burstable is None or vm.idle)]
        # VMs that no task has been assigned to: idle ones, then busy ones, each by price.
        self._others = idle + [vm for vm in able if vm.n_left and vm.burstable is None]
        self._asked: dict[tuple[int, float], int] = {}
        self.chosen: list[_Sketch] = []

    def end_s(self, task: int, saved: float) -> int:
        """Assign a task to the first VM that may take it, or to a new one; return when it ends."""
        replay, work, offers = self._replay, self._replay.work, self._replay.instance.offers
        for sketch in self.chosen:
            if sketch.offer.burstable:
                continue  # they take tasks only while they are idle, so one at the most
            need = work.need(task, sketch.offer.index, work.sustained[sketch.offer.index], saved)
            start_s = None if need is None else self._start_s(sketch, need)
            if need is not None and start_s is not None:
                return _assign(sketch, start_s, need)
        # What has turned down a task turns down each that is like it: others stay as they are until they are chosen.
        like = work.group_of[task], saved
        for place in range(self._asked.get(like, 0), len(self._others)):
            vm = self._others[place]
            need = work.need(task, vm.offer_index, work.sustained[vm.offer_index], saved)
            if need is None:
                continue
            spare = vm.spot or self._spare_time == "all"
            timeline = vm.timeline(replay.now_s, work)
            longest_s = vm.longest_s(work) if spare else 0
            start_s = start_in_time_s(replay, timeline, vm.zero_s, spare, longest_s, need)
            if start_s is not None and not any(sketch.vm is vm for sketch in self.chosen):
                self._asked[like] = place
                sketch = _Sketch(vm, vm.offer, timeline.copy(), vm.zero_s, longest_s, spare)
                self._choose(sketch)
                return _assign(sketch, start_s, need)
        self._asked[like] = len(self._others)
        new = [sketch.offer.index for sketch in self.chosen if sketch.vm is None]
        for offer in on_demand_offers(replay):
            need = need_on(replay, offer, task, saved)
            if need is None or not replay.can_start(offer, len(new), new.count(offer.index)):
                continue
            binds = not replay.instance.memory_never_binds[offer.type_index]
            timeline = VmTimeline(offer.vcpus, offer.memory_kb if binds else None)
            # The overhead of starting it is in the trigger: here the VM is there at once.
            sketch = _Sketch(None, offer, timeline, replay.now_s, 0, self._spare_time == "all")
            start_s = self._start_s(sketch, need)
            if start_s is not None:
                self._choose(sketch)
                return _assign(sketch, start_s, need)
        every = [replay.duration_s(task, offer, None, saved) for offer in on_demand_offers(replay)]
        if min(every, default=NEVER) >= NEVER:
            every = [replay.duration_s(task, offer, None, saved) for offer in offers]
        return replay.now_s + min(every)

    def _start_s(self, sketch: _Sketch, need: Need) -> int | None:
        """When a VM would start a task if it may take it (HADS Algorithm 7)."""
        return start_in_time_s(self._replay, sketch.timeline, sketch.zero_s, sketch.spare, sketch.longest_s, need)

    def _choose(self, sketch: _Sketch) -> None:
        insort(self.chosen, sketch, key=_price)


def _price(sketch: _Sketch) -> float:
    return sketch.offer.price_usd_per_hour


def _assign(sketch: _Sketch, start_s: int, need: Need) -> int:
    """Assign a task; return when it ends."""
    sketch.timeline.append(start_s, need.memory_kb, need.duration_s)
    if need.runtime_s > sketch.longest_s:
        sketch.longest_s = need.runtime_s
    return sketch.zero_s + start_s + need.duration_s
