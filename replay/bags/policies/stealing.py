"""Work stealing of HADS and Burst-HADS: an idle VM takes tasks that would start late elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from ....instances.durations import NEVER
from ..state import ReplayState
from ..vm import Vm
from ..work import Need
from .migration import SpareTime, check_migration


def stealable_tasks(replay: ReplayState, victim: Vm) -> list[int]:
    """Tasks that may be stolen from a VM: those that are to start after its current allocation cycle.

    HADS, section 4.3.5 and Fig. 7. The paper's figure decides: the planned start counts, not the end.
    """
    cycle_s = replay.instance.allocation_cycle_s
    cycle_end_s = (max(victim.uptime_s(replay.now_s), 0) // cycle_s + 1) * cycle_s
    runs = [
        (run.start_s, core, run.task)
        for core, queue in enumerate(victim.waiting)
        if queue and queue[-1].start_s >= cycle_end_s
        for run in queue
        if run.start_s >= cycle_end_s
    ]
    runs.sort()
    return [task for _, _, task in runs]


def steal(replay: ReplayState, thief: Vm, spare_time: SpareTime) -> int:
    """Let an idle VM steal from regular VMs that execute tasks, on-demand ones first (HADS Algorithm 8).

    Parameters
    ----------
    replay : ReplayState
        The replay.
    thief : Vm
        The idle VM. A burstable one takes one task only, at the baseline (Burst-HADS Algorithm 5, lines 7-10).
    spare_time : {"all", "spot"}
        See `check_migration`.

    Returns
    -------
    int
        Tasks taken.
    """
    stolen = _stolen(replay, thief, spare_time)
    replay.report_attempt(thief, stolen)
    return stolen


def _stolen(replay: ReplayState, thief: Vm, spare_time: SpareTime) -> int:
    stolen = 0
    work, saved_of = replay.work, replay.saved
    offer, mode = thief.offer_index, work.sustained[thief.offer_index]
    most = _most(replay, thief, spare_time)
    for victim in _victims(replay, thief):
        least = victim.least_waiting(work, offer, mode, saved_of)
        if least is None or _exceeds(least, most) or not victim.executing:
            continue
        for task in stealable_tasks(replay, victim):
            need = work.need(task, offer, mode, saved_of.get(task, 0.0))
            if need is None or _exceeds(need, most) or not check_migration(replay, thief, need, spare_time):
                continue
            replay.steal(task, victim, thief)
            stolen += 1
            if thief.burstable is not None:
                return stolen
            most = _most(replay, thief, spare_time)
    return stolen


def _victims(replay: ReplayState, thief: Vm) -> Iterator[Vm]:
    """Regular VMs that have tasks which wait for a later cycle: on-demand ones, then spot ones, each by price.

    Those may be stolen from that are busy, "active and executing tasks" (section 4.3.1): what has just been moved to a
    new VM is left there.
    """
    now_s, cycle_s = replay.now_s, replay.instance.allocation_cycle_s
    for spot in (False, True):
        for vm in replay.fleet.by_price:
            if vm.spot is spot and vm.n_left > 1 and vm is not thief and vm.burstable is None:
                uptime_s = now_s - vm.zero_s
                if vm.last_start_s() - uptime_s >= cycle_s - uptime_s % cycle_s:
                    yield vm


def _most(replay: ReplayState, vm: Vm, spare_time: SpareTime) -> tuple[int, int, int]:
    """Duration, run time, and sum of both, of which no task that exceeds one may go to a VM; see `check_migration`."""
    timeline = vm.timeline(replay.now_s, replay.work)
    left_s = replay.instance.deadline_s - vm.zero_s
    if not vm.spot and spare_time == "spot":
        return left_s - timeline.earliest_core_s, NEVER, NEVER
    left_s -= replay.start_overhead_s + 1
    until_start_s = left_s - timeline.earliest_core_s
    return until_start_s - vm.longest_s(replay.work), left_s - timeline.end_s, until_start_s


def _exceeds(need: Need, most: tuple[int, int, int]) -> bool:
    return need[0] > most[0] or need[1] > most[1] or need[0] + need[1] > most[2]
