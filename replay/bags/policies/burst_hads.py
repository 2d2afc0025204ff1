"""Burst-HADS: migrate at once, to burstable VMs at full speed first (Teylo, Arantes, Sens, Drummond 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ....instances.durations import FULL_SPEED
from ...policy_names import Rules
from ..policy import IDLE_60, Policy
from ..state import ReplayState
from ..vm import Vm
from .migration import check_migration, migrate_tasks, need_on, retry_stranded, tasks_to_leave
from .stealing import steal

BURST_PERIOD_S = 60
"""Seconds that one CPU credit lasts at full speed on one vCPU (section III-E)."""


@dataclass(kw_only=True, eq=False)
class BurstHads(Policy):
    """The dynamic scheduling module of Burst-HADS (section III-D), with Algorithms 4 and 5.

    Parameters
    ----------
    idle_limit_s : int, optional
        Seconds for which an idle VM is kept that is not burstable; to the end of its allocation cycle if absent.

    Notes
    -----
    Spare time is asked of spot VMs only, as section III-E says. Departures: line 42 of Algorithm 4 adds an alpha, which
    is the weight of the objective elsewhere; the time to start a new VM with a migrated task is meant, the same for all
    policies here. Section III-D lets an idle VM steal at the beginning of its next allocation cycle, III-F at once: at
    once. A burstable VM takes tasks only while it is idle, so
    that credits reserved by other tasks (line 8) never have to be taken off. Tasks that fit nowhere in time are
    migrated all the same, to where they end first. The paper knows hibernation only: other interruptions are answered
    in the same way, and a notice of any by migrating what gains nothing by staying.
    """

    name = "burst-hads"
    summary = "migrates at once, to idle burstable VMs at full speed first; idle VMs steal work"
    source = "Teylo et al., Burst-HADS 2020, Algorithms 4 and 5"
    rules: ClassVar[Rules] = {"idle-60": IDLE_60}

    idle_limit_s: int | None = None

    def __post_init__(self) -> None:
        """Have the name say for how long idle VMs are kept."""
        self.name = self.name_with_options()

    def idle(self, replay: ReplayState, vm: Vm) -> None:
        """Steal work (section III-F); end burstable VMs that nothing can need any more."""
        retry_stranded(replay)
        if vm.idle:
            steal(replay, vm, "spot")
        _end_burstable_vms(replay)

    def cycle_ended(self, replay: ReplayState, vm: Vm) -> None:
        """Terminate the idle VM, unless it is burstable (section III-D)."""
        if vm.burstable is None:
            replay.terminate(vm)

    def noticed(self, replay: ReplayState, vm: Vm) -> None:
        """Migrate at once what gains nothing by staying."""
        _migrate(replay, vm, tasks_to_leave(replay, vm))

    def hibernated(self, replay: ReplayState, vm: Vm) -> None:
        """Migrate the unfinished tasks at once (section III-D, Algorithm 4)."""
        _migrate(replay, vm, vm.tasks())

    def lost(self, replay: ReplayState, vm: Vm) -> None:
        """Migrate the unfinished tasks at once, as after a hibernation; burstable VMs end with the last spot VM."""
        retry_stranded(replay)
        _migrate(replay, vm, vm.tasks())
        _end_burstable_vms(replay)

    def resumed(self, replay: ReplayState, vm: Vm) -> None:
        """Steal work: its own tasks are elsewhere (section III-D)."""
        self.idle(replay, vm)

    def terminated(self, replay: ReplayState, vm: Vm) -> None:
        """A place is free for tasks that had none; burstable VMs end with the last spot VM."""
        retry_stranded(replay)
        _end_burstable_vms(replay)


def _migrate(replay: ReplayState, vm: Vm, tasks: list[int]) -> None:
    """Migrate tasks of a VM (Algorithm 4)."""
    by_rank = _sorted_tasks(replay, vm, tasks)
    migrate_tasks(replay, vm, by_rank, to_burstable=False, spare_time="spot", first=_to_idle_burstable)


def _sorted_tasks(replay: ReplayState, vm: Vm, tasks: list[int]) -> list[int]:
    """Tasks with checkpoints first (line 2), then others that were running, then those that wait.

    The paper leaves the rest of the order open: what has most work left comes first in each.
    """

    def key(task: int) -> tuple[int, float, int]:
        saved = replay.saved_if_moved(vm, task)
        rank = 2 if vm.run_of(task) is None else int(saved == 0.0)
        return rank, -(1.0 - saved) * replay.work.runtime_s(task, vm.offer_index), task

    return sorted(tasks, key=key)


def _to_idle_burstable(replay: ReplayState, source: Vm, task: int, saved: float) -> bool:
    """Attempt 1: an idle burstable VM with the credits to run the task at full speed (lines 4-15)."""
    for vm in replay.fleet.burstable:
        if not vm.idle:
            continue
        need = need_on(replay, vm.offer, task, saved, FULL_SPEED)
        if need is None:
            continue
        credits_needed = math.ceil(need.duration_s / BURST_PERIOD_S)  # line 6
        if vm.credits(replay.now_s) > credits_needed and check_migration(replay, vm, need, "spot"):  # line 7
            replay.migrate(task, source, vm, FULL_SPEED)
            return True
    return False


def _end_burstable_vms(replay: ReplayState) -> None:
    """Terminate idle burstable VMs when no spot VM is left that has tasks or may come back.

    The paper never says when they end; nothing can be migrated to them any more then.
    """
    idle = [vm for vm in replay.fleet.burstable if vm.idle]
    if not idle or any(vm.spot and (vm.n_left or vm.halted) for vm in replay.vms):
        return
    for vm in idle:
        if vm.idle:
            replay.terminate(vm)
