"""Work stealing of HADS and Burst-HADS: an idle VM takes tasks that would start late elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from ..state import ReplayState
from ..vm import Vm
from ..work import Need
from .migration import SpareTime, check_migration, need_on


def stealable_tasks(replay: ReplayState, victim: Vm) -> list[int]:
    """Tasks that may be stolen from a VM: those that are to start after its current allocation cycle.

    HADS, section 4.3.5 and Fig. 7. The paper's figure decides: the planned start counts, not the end.
    """
    cycle_s = replay.instance.allocation_cycle_s
    cycle_end_s = (max(victim.uptime_s(replay.now_s), 0) // cycle_s + 1) * cycle_s
    if victim.last_start_s < cycle_end_s:
        return []
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
    work, saved_of, group_of = replay.work, replay.saved, replay.work.group_of
    offer, mode = thief.offer_index, work.sustained[thief.offer_index]
    # The thief only fills up: what it has turned down once, it turns down again, and what asks for as much as well.
    turned_down: Need | None = None
    groups: set[int] = set()
    some_left: set[int] | None = None  # what it may still take, once it can take no task that is not saved in part
    for victim in _victims(replay, thief):
        for task in stealable_tasks(replay, victim):
            saved = saved_of.get(task, 0.0) if saved_of else 0.0
            if some_left is not None:
                if task not in some_left:
                    continue
                some_left.remove(task)
            elif saved == 0.0 and group_of[task] in groups:
                continue
            need = work.need(task, offer, mode, saved)
            if need is not None and not (turned_down is not None and need.at_least(turned_down)):
                if check_migration(replay, thief, need, spare_time):
                    replay.steal(task, victim, thief)
                    stolen += 1
                    if thief.burstable is not None:
                        return stolen
                    continue
                turned_down = need
            if some_left is None:
                if saved == 0.0:
                    groups.add(group_of[task])
                least = work.least(offer, mode)
                if least is None or not check_migration(replay, thief, least, spare_time):
                    some_left = _that_fit(replay, thief, spare_time)
            if some_left is not None and not some_left:
                return stolen
    return stolen


def _victims(replay: ReplayState, thief: Vm) -> Iterator[Vm]:
    """Regular VMs that execute tasks and have others that wait: on-demand ones, then spot ones, each by price.

    Busy is "active and executing tasks" (section 4.3.1): what has just been moved to a new VM is left there.
    """
    for spot in (False, True):
        for vm in replay.fleet.by_price:
            if vm.n_left > 1 and vm.spot is spot and vm is not thief and vm.burstable is None and vm.executing:
                yield vm


def _that_fit(replay: ReplayState, thief: Vm, spare_time: SpareTime) -> set[int]:
    """Tasks saved in part that a thief could take."""
    fit: set[int] = set()
    known: dict[Need, bool] = {}
    for task, saved in replay.saved.items():
        need = need_on(replay, thief.offer, task, saved)
        if need is not None:
            if need not in known:
                known[need] = check_migration(replay, thief, need, spare_time)
            if known[need]:
                fit.add(task)
    return fit
