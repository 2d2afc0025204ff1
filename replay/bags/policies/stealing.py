"""Work stealing of HADS and Burst-HADS: an idle VM takes tasks that would start late elsewhere."""

from __future__ import annotations

from operator import attrgetter

from ..state import ReplayState
from ..vm import Vm
from ..work import Need
from .migration import SpareTime, check_migration, least_need, need_on


def stealable_tasks(replay: ReplayState, victim: Vm) -> list[int]:
    """Tasks that may be stolen from a VM: those that are to start after its current allocation cycle.

    HADS, section 4.3.5 and Fig. 7. The paper's figure decides: the planned start counts, not the end.
    """
    cycle_s = replay.instance.allocation_cycle_s
    cycle_end_s = (max(victim.uptime_s(replay.now_s), 0) // cycle_s + 1) * cycle_s
    if all(not queue or queue[-1].start_s < cycle_end_s for queue in victim.waiting):
        return []
    return [run.task for run, _ in victim.waiting_runs() if run.start_s >= cycle_end_s]


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
    # Busy is "active and executing tasks" (section 4.3.1): what has just been moved to a new VM is left there.
    victims = [vm for vm in replay.fleet.by_price if vm.n_left > 1 and vm.burstable is None and vm.executing]
    victims.sort(key=attrgetter("spot"))
    stolen = 0
    # The thief only fills up: what it has turned down once, it turns down again, and what asks for as much as well.
    turned_down: Need | None = None
    groups: set[int] = set()
    least: Need | None = None
    group_of = replay.work.group_of
    for victim in victims:
        for task in stealable_tasks(replay, victim):
            if stolen and thief.burstable is not None:
                break
            saved = replay.saved.get(task, 0.0)
            if not saved and group_of[task] in groups:
                continue
            need = need_on(replay, thief.offer, task, saved)
            if need is None or (turned_down is not None and need.at_least(turned_down)):
                if not saved:
                    groups.add(group_of[task])
                continue
            if check_migration(replay, thief, need, spare_time):
                replay.steal(task, victim, thief)
                stolen += 1
                continue
            turned_down = need
            if not saved:
                groups.add(group_of[task])
            least = least_need(replay, thief.offer) if least is None else least
            if least is None or not check_migration(replay, thief, least, spare_time):
                replay.report_attempt(thief, stolen)
                return stolen
    replay.report_attempt(thief, stolen)
    return stolen
