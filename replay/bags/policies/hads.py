"""HADS: wait for hibernated VMs until the migration trigger time (Teylo, Arantes, Sens, Drummond 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, get_args

from ....core.errors import InputError, Issue
from ...policy_names import Rule, Rules
from ..policy import IDLE_60, Policy
from ..state import ReplayState
from ..vm import Vm
from .estimation import estimate_rt
from .migration import SpareTime, migrate_tasks, retry_stranded, tasks_to_leave
from .stealing import steal

Thieves: TypeAlias = Literal["spot", "all"]
"""Which idle VMs steal: spot VMs, as section 4.3.5 of HADS says, or all."""


@dataclass(kw_only=True, eq=False)
class Hads(Policy):
    """The dynamic scheduler module of HADS (Algorithm 5), with Algorithms 4 and 6 to 8.

    Parameters
    ----------
    spare_time : {"all", "spot"}
        Of which VMs Algorithm 7 asks spare time before they take a task: all, as printed; or spot VMs only, since no
        other hibernates, so that a task on an on-demand VM must only end by the deadline.
    recompute : bool
        Whether a migration trigger is computed anew when a VM that it counted on hibernates or is terminated; Algorithm
        5 computes it once, at the hibernation.
    thieves : {"spot", "all"}
        Which idle VMs steal: spot VMs, of which alone section 4.3.5 speaks; or all, since Algorithm 5 (lines 2-5) does
        not ask of which market a VM is that becomes idle.
    idle_limit_s : int, optional
        Seconds for which an idle VM is kept; to the end of its allocation cycle if absent.

    Notes
    -----
    Departures, each where it happens: a trigger time that has passed is now (the paper's eq. 4 may lie in the past);
    it is computed anew (see ``recompute``); a task on a new VM may end at the deadline itself (Algorithm 6, line 28,
    attempt 3, prints ``<``, not ``<=``); tasks that fit nowhere in time are migrated all the same, to where they end
    first; VMs are stolen from only while they execute a task. Burstable VMs, which the paper does not know, take a task
    only while they are idle, at the baseline. The paper knows hibernation only: a VM that is stopped is waited for like
    one that hibernates; from one that is terminated, or will be, tasks are migrated at once.
    """

    name = "hads"
    summary = "migrates the tasks of a hibernated VM when waiting on would miss the deadline; idle spot VMs steal work"
    source = "Teylo et al., HADS, Cluster Computing 2020, Algorithms 4 to 8"
    rules: ClassVar[Rules] = {
        "spare-time-spot": Rule({"spare_time": "spot"}, "spare time is asked of spot VMs only"),
        "trigger-once": Rule({"recompute": False}, "the migration trigger is computed only once, at the hibernation"),
        "any-thief": Rule({"thieves": "all"}, "idle on-demand VMs steal as well"),
        "idle-60": IDLE_60,
    }

    spare_time: SpareTime = "all"
    recompute: bool = True
    thieves: Thieves = "spot"
    idle_limit_s: int | None = None

    def __post_init__(self) -> None:
        """Have the name say which options are not the paper's; refuse those that there are not."""
        self.name = self.name_with_options()
        chosen = (("spare_time", self.spare_time, SpareTime), ("thieves", self.thieves, Thieves))
        issues = [
            Issue("", f"must be {' or '.join(map(repr, get_args(known)))}", option, value)
            for option, value, known in chosen
            if value not in get_args(known)
        ]
        if issues:
            raise InputError(type(self).name, issues)

    def idle(self, replay: ReplayState, vm: Vm) -> None:
        """Steal work (Algorithm 5, lines 2-5); first, tasks that had no place anywhere may find one here."""
        retry_stranded(replay)
        if vm.idle and (vm.spot or self.thieves == "all"):
            steal(replay, vm, self.spare_time)

    def cycle_ended(self, replay: ReplayState, vm: Vm) -> None:
        """Terminate the idle VM (Algorithm 5, lines 6-8)."""
        replay.terminate(vm)

    def noticed(self, replay: ReplayState, vm: Vm) -> None:
        """Migrate at once what gains nothing by staying on a VM that will not come back."""
        self._count_anew(replay, vm)
        if vm.interruption == "terminate":
            self._migrate(replay, vm, tasks_to_leave(replay, vm))

    def lost(self, replay: ReplayState, vm: Vm) -> None:
        """Migrate all unfinished tasks at once: there is nothing to wait for."""
        retry_stranded(replay)
        self._count_anew(replay, vm)
        self._migrate(replay, vm, vm.tasks())

    def hibernated(self, replay: ReplayState, vm: Vm) -> None:
        """Compute when to migrate (Algorithm 5, lines 9-16)."""
        self._count_anew(replay, vm)
        if vm.n_left:
            _set_trigger(replay, vm, self.spare_time)

    def trigger_reached(self, replay: ReplayState, vm: Vm) -> None:
        """Migrate all unfinished tasks (Algorithm 5, lines 17-18, and Algorithm 6)."""
        self._migrate(replay, vm, vm.tasks())

    def resumed(self, replay: ReplayState, vm: Vm) -> None:
        """Go on, or steal work if the tasks have been migrated (Algorithm 5, lines 20-27)."""
        retry_stranded(replay)
        if vm.idle:
            steal(replay, vm, self.spare_time)

    def terminated(self, replay: ReplayState, vm: Vm) -> None:
        """A place is free for tasks that had none."""
        retry_stranded(replay)
        self._count_anew(replay, vm)

    def _migrate(self, replay: ReplayState, vm: Vm, tasks: list[int]) -> None:
        """Migrate tasks (Algorithm 6)."""
        if tasks:
            migrate_tasks(replay, vm, tasks, to_burstable=True, spare_time=self.spare_time)

    def _count_anew(self, replay: ReplayState, gone: Vm) -> None:
        """Compute the triggers anew that had counted on a VM."""
        if self.recompute:
            for vm in replay.vms:
                if vm.trigger_s is not None and gone.index in vm.helpers:
                    _set_trigger(replay, vm, self.spare_time, vm.trigger_s)


def _set_trigger(replay: ReplayState, vm: Vm, spare_time: SpareTime, at_latest_s: int | None = None) -> None:
    """Migration trigger time: ``D - (estimate_rt + alpha)`` (eq. 4).

    One that is computed anew is never later than before: what other VMs are busy with now (see `estimate_rt`) gets
    less by waiting alone, and the time that this seems to give was what kept the estimate safe.
    """
    duration_s, helpers = estimate_rt(replay, vm, spare_time)
    trigger_s = replay.instance.deadline_s - (duration_s + replay.start_overhead_s)
    if at_latest_s is not None:
        trigger_s = min(trigger_s, at_latest_s)
    replay.set_trigger(vm, trigger_s, helpers)
