"""Burst-HADS: migrate at once, to burstable VMs at full speed first (Teylo, Arantes, Sens, Drummond 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ...policies import Rules
from ..interpreted import sort_tasks
from ..rows import NONE, Rows, VmRow
from ..rules import is_halted, is_idle, let_go, list_tasks, runtime_of, saved_now
from ..state import IDLE_60, RulePolicy
from .hads import steal
from .migration import list_to_leave, migrate_tasks, retry_stranded

if TYPE_CHECKING:
    from ..state import ReplayState, Vm


@dataclass(kw_only=True, eq=False)
class BurstHads(RulePolicy):
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

    def resumed(self, replay: ReplayState, vm: Vm) -> None:
        """Answer as if it had become idle: its own tasks are elsewhere (section III-D)."""
        self.idle(replay, vm)


def on_idle(r: Rows, vm: VmRow) -> None:
    """Steal work (section III-F); end burstable VMs that nothing can need any more."""
    retry_stranded(r)
    if is_idle(vm):
        steal(r, vm, 0)
    end_burstable_vms(r)


def on_unused(r: Rows, vm: VmRow) -> None:
    """Terminate the idle VM, unless it is burstable (section III-D)."""
    if not vm.bursts:
        let_go(r, vm)


def on_notice(r: Rows, vm: VmRow) -> None:
    """Migrate at once what gains nothing by staying."""
    migrate_by_rank(r, vm, list_to_leave(r, vm))


def on_hibernation(r: Rows, vm: VmRow) -> None:
    """Migrate the unfinished tasks at once (section III-D, Algorithm 4)."""
    migrate_by_rank(r, vm, list_tasks(r, vm, r.listed))


def on_loss(r: Rows, vm: VmRow) -> None:
    """Migrate the unfinished tasks at once, as after a hibernation; burstable VMs end with the last spot VM."""
    retry_stranded(r)
    migrate_by_rank(r, vm, list_tasks(r, vm, r.listed))
    end_burstable_vms(r)


def on_end(r: Rows, vm: VmRow) -> None:
    """A place is free for tasks that had none; burstable VMs end with the last spot VM."""
    retry_stranded(r)
    end_burstable_vms(r)


def migrate_by_rank(r: Rows, vm: VmRow, n_tasks: int) -> None:
    """Migrate listed tasks: those with checkpoints first (Algorithm 4, line 2), others that ran, then those that wait.

    The paper leaves the rest of the order open: what has most work left comes first in each.
    """
    for k in range(n_tasks):
        task = r.listed[k]
        run = r.tasks[task]
        saved = saved_now(r, vm, task)
        run.rank = int(saved == 0.0) if run.running else 2
        run.weight = -(1.0 - saved) * runtime_of(r, task, vm.offer_index)
        run.tie = task
    sort_tasks(r, r.listed, n_tasks)
    migrate_tasks(r, vm, n_tasks, to_burstable=0, spare_all=0, burst_first=1)


def end_burstable_vms(r: Rows) -> None:
    """Terminate idle burstable VMs when no spot VM is left that has tasks or may come back.

    The paper never says when they end; nothing can be migrated to them any more then.
    """
    # Asked after each task that was the last of its VM: without an idle burstable VM, that is all that is looked at.
    v, any_idle = r.first_bursting, False
    while v != NONE and not any_idle:
        any_idle = is_idle(r.vms[v])
        v = r.vms[v].after_bursting
    if not any_idle:
        return
    for k in range(r.n_vms):
        if r.vms[k].spot and (r.vms[k].n_left or is_halted(r.vms[k])):
            return
    v = r.first_bursting
    while v != NONE:
        if is_idle(r.vms[v]):
            let_go(r, r.vms[v])
        v = r.vms[v].after_bursting


BurstHads.answers = {
    "idle": on_idle,
    "cycle_ended": on_unused,
    "noticed": on_notice,
    "hibernated": on_hibernation,
    "lost": on_loss,
    "resumed": on_idle,
    "terminated": on_end,
}
