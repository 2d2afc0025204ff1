"""HADS: wait for hibernated VMs until the migration trigger time (Teylo, Arantes, Sens, Drummond 2020)."""

from __future__ import annotations

from typing import ClassVar

from ..policy import Policy
from ..state import ReplayState
from ..vm import Vm
from .estimation import estimate_rt
from .migration import migrate_tasks, retry_stranded
from .stealing import steal


class Hads(Policy):
    """The dynamic scheduler module of HADS (Algorithm 5), with Algorithms 4 and 6 to 8.

    Notes
    -----
    Departures, each where it happens: a trigger time that has passed is now (the paper's eq. 4 may lie in the past);
    it is computed anew when a VM that was counted on hibernates or is terminated (`HadsAsPrinted` does not); tasks that
    fit nowhere in time are migrated all the same, to where they end first. Burstable VMs, which the paper does not
    know, take a task only while they are idle, at the baseline.
    """

    name = "hads"
    summary = "migrates the tasks of a hibernated VM when waiting on would miss the deadline; idle VMs steal work"
    source = "Teylo et al., HADS, Cluster Computing 2020, Algorithms 4 to 8"
    recompute: ClassVar[bool] = True

    def idle(self, replay: ReplayState, vm: Vm) -> None:
        """Steal work (Algorithm 5, lines 2-5); first, tasks that had no place anywhere may find one here."""
        retry_stranded(replay)
        if vm.idle:
            steal(replay, vm)

    def cycle_ended(self, replay: ReplayState, vm: Vm) -> None:
        """Terminate the idle VM (Algorithm 5, lines 6-8)."""
        replay.terminate(vm)

    def hibernated(self, replay: ReplayState, vm: Vm) -> None:
        """Compute when to migrate (Algorithm 5, lines 9-16)."""
        self._count_anew(replay, vm)
        if vm.n_left:
            _set_trigger(replay, vm)

    def trigger_reached(self, replay: ReplayState, vm: Vm) -> None:
        """Migrate all unfinished tasks (Algorithm 5, lines 17-18, and Algorithm 6)."""
        migrate_tasks(replay, vm, vm.tasks(), to_burstable=True)

    def resumed(self, replay: ReplayState, vm: Vm) -> None:
        """Go on, or steal work if the tasks have been migrated (Algorithm 5, lines 20-27)."""
        retry_stranded(replay)
        if vm.idle:
            steal(replay, vm)

    def terminated(self, replay: ReplayState, vm: Vm) -> None:
        """A place is free for tasks that had none."""
        retry_stranded(replay)
        self._count_anew(replay, vm)

    def _count_anew(self, replay: ReplayState, gone: Vm) -> None:
        """Compute the triggers anew that had counted on a VM."""
        if self.recompute:
            for vm in replay.vms:
                if vm.trigger_s is not None and gone.index in vm.helpers:
                    _set_trigger(replay, vm, vm.trigger_s)


class HadsAsPrinted(Hads):
    """HADS with the migration trigger computed once, at the hibernation, as Algorithm 5 prints it."""

    name = "hads-as-printed"
    summary = "hads, with the migration trigger computed only once, at the hibernation"
    recompute = False


def _set_trigger(replay: ReplayState, vm: Vm, at_latest_s: int | None = None) -> None:
    """Migration trigger time: ``D - (estimate_rt + alpha)`` (eq. 4).

    One that is computed anew is never later than before: what other VMs are busy with now (see `estimate_rt`) gets
    less by waiting alone, and the time that this seems to give was what kept the estimate safe.
    """
    duration_s, helpers = estimate_rt(replay, vm)
    trigger_s = replay.instance.deadline_s - (duration_s + replay.start_overhead_s)
    if at_latest_s is not None:
        trigger_s = min(trigger_s, at_latest_s)
    replay.set_trigger(vm, trigger_s, helpers)
