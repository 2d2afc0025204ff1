"""How long the tasks of a hibernated VM would take elsewhere: estimate_rt of HADS (Algorithm 4)."""

from __future__ import annotations

from dataclasses import dataclass

from ....instances.durations import NEVER
from ....instances.entries import RentalOffer
from ....schedules.timing import VmTimeline
from ..state import ReplayState
from ..vm import Vm
from ..work import Need
from .migration import SpareTime, need_on, on_demand_offers, start_in_time_s


@dataclass(slots=True, eq=False)
class _Sketch:
    """A VM as it would be with tasks assigned to it; nothing is moved."""

    vm: Vm | None
    offer: RentalOffer
    timeline: VmTimeline
    zero_s: int
    longest_s: int
    own: bool

    def assign(self, start_s: int, need: Need) -> int:
        """Assign a task; return when it ends."""
        if not self.own:
            self.timeline, self.own = self.timeline.copy(), True
        self.timeline.append(start_s, need.memory_kb, need.duration_s)
        self.longest_s = max(self.longest_s, need.runtime_s)
        return self.zero_s + start_s + need.duration_s


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
    sketches = _sketches(replay, hibernated)
    chosen: list[_Sketch] = []
    duration_s = 0
    for task in hibernated.tasks():
        saved = replay.saved_if_moved(hibernated, task)
        end_s = _assign(replay, task, saved, chosen, sketches, spare_time)
        if end_s is None:
            end_s = replay.now_s + _shortest_s(replay, task, saved)
        duration_s = max(duration_s, end_s - replay.now_s)
    return duration_s, frozenset(sketch.vm.index for sketch in chosen if sketch.vm is not None)


def _sketches(replay: ReplayState, hibernated: Vm) -> list[_Sketch]:
    """Idle VMs, then busy ones, each by price."""
    vms = [
        vm for vm in replay.fleet.by_price if vm.alive and vm is not hibernated and (vm.burstable is None or vm.idle)
    ]
    vms.sort(key=lambda vm: vm.n_left > 0)
    now_s, work = replay.now_s, replay.work
    return [_Sketch(vm, vm.offer, vm.timeline(now_s, work), vm.zero_s, vm.longest_s(work), False) for vm in vms]


def _assign(
    replay: ReplayState,
    task: int,
    saved: float,
    chosen: list[_Sketch],
    others: list[_Sketch],
    spare_time: SpareTime,
) -> int | None:
    """Assign a task to the first VM that may take it, or to a new one; return when it ends."""
    for sketch in chosen:
        end_s = _try(replay, sketch, task, saved, spare_time)
        if end_s is not None:
            return end_s
    for sketch in others:
        if sketch not in chosen:
            end_s = _try(replay, sketch, task, saved, spare_time)
            if end_s is not None:
                _choose(chosen, sketch)
                return end_s
    new = [sketch.offer.index for sketch in chosen if sketch.vm is None]
    for offer in on_demand_offers(replay):
        if not replay.can_start(offer, len(new), new.count(offer.index)):
            continue
        binds = not replay.instance.memory_never_binds[offer.type_index]
        timeline = VmTimeline(offer.vcpus, offer.memory_kb if binds else None)
        # The overhead of starting it is in the trigger: here the VM is there at once.
        sketch = _Sketch(None, offer, timeline, replay.now_s, 0, True)
        end_s = _try(replay, sketch, task, saved, spare_time)
        if end_s is not None:
            _choose(chosen, sketch)
            return end_s
    return None


def _choose(chosen: list[_Sketch], sketch: _Sketch) -> None:
    chosen.append(sketch)
    chosen.sort(key=lambda entry: entry.offer.price_usd_per_hour)


def _try(replay: ReplayState, sketch: _Sketch, task: int, saved: float, spare_time: SpareTime) -> int | None:
    """Assign a task if the VM may take it (HADS Algorithm 7); return when it ends.

    A burstable VM takes tasks only while it is idle, so one at the most.
    """
    if sketch.offer.burstable and sketch.longest_s:
        return None
    need = need_on(replay, sketch.offer, task, saved)
    if need is None:
        return None
    spare = spare_time == "all" or sketch.offer.market == "spot"
    start_s = start_in_time_s(replay, sketch.timeline, sketch.zero_s, spare, sketch.longest_s, need)
    return None if start_s is None else sketch.assign(start_s, need)


def _shortest_s(replay: ReplayState, task: int, saved: float) -> int:
    """Duration of a task on the on-demand type that is fastest for it; of any type if there is none."""
    durations = [replay.duration_s(task, offer, None, saved) for offer in on_demand_offers(replay)]
    durations = [seconds for seconds in durations if seconds < NEVER]
    if not durations:
        every = (replay.duration_s(task, offer, None, saved) for offer in replay.instance.offers)
        durations = [seconds for seconds in every if seconds < NEVER]
    return min(durations)
