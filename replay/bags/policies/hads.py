"""HADS: wait for hibernated VMs until the migration trigger time (Teylo, Arantes, Sens, Drummond 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, get_args

from ....core.errors import InputError, Issue
from ....instances.entries import NEVER
from ...policies import Rule, Rules
from ..interpreted import note
from ..rows import NONE, NOTED, TERMINATE, Rows, VmRow
from ..rules import (
    counts_on,
    duration_of,
    is_executing,
    is_idle,
    last_start_of,
    let_go,
    list_tasks,
    list_waiting,
    longest_of,
    set_trigger,
    span,
    uptime_at,
)
from ..rules import steal as take_over
from ..state import IDLE_60, RulePolicy
from .migration import SpareTime, estimate, list_to_leave, migrate_tasks, retry_stranded, takes

Thieves: TypeAlias = Literal["spot", "all"]
"""Idle VMs that steal: spot VMs, as section 4.3.5 of HADS says, or all."""


@dataclass(kw_only=True, eq=False)
class Hads(RulePolicy):
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
        """Have the name say which options are not the paper's; refuse unknown ones."""
        super().__post_init__()
        chosen = (("spare_time", self.spare_time, SpareTime), ("thieves", self.thieves, Thieves))
        issues = [
            Issue("", f"must be {' or '.join(map(repr, get_args(known)))}", option, value)
            for option, value, known in chosen
            if value not in get_args(known)
        ]
        if issues:
            raise InputError(type(self).name, issues)

    def row_options(self) -> dict[str, int]:
        """Return the parameters as the rules read them."""
        return {
            "spare_all": int(self.spare_time == "all"),
            "recompute": int(self.recompute),
            "all_steal": int(self.thieves == "all"),
        }


def on_idle(r: Rows, vm: VmRow) -> None:
    """Steal work (Algorithm 5, lines 2-5); first, tasks that had no place anywhere may find one here."""
    retry_stranded(r)
    if is_idle(vm) and (vm.spot or r.all_steal):
        steal(r, vm, r.spare_all)


def on_notice(r: Rows, vm: VmRow) -> None:
    """Migrate at once what gains nothing by staying on a VM that will not come back."""
    count_anew(r, vm)
    if vm.interrupted_by == TERMINATE:
        migrate_listed(r, vm, list_to_leave(r, vm))


def on_loss(r: Rows, vm: VmRow) -> None:
    """Migrate all unfinished tasks at once: there is nothing to wait for."""
    retry_stranded(r)
    count_anew(r, vm)
    migrate_listed(r, vm, list_tasks(r, vm, r.listed))


def on_hibernation(r: Rows, vm: VmRow) -> None:
    """Compute when to migrate (Algorithm 5, lines 9-16)."""
    count_anew(r, vm)
    if vm.n_left:
        aim(r, vm, NEVER)


def on_trigger(r: Rows, vm: VmRow) -> None:
    """Migrate all unfinished tasks (Algorithm 5, lines 17-18, and Algorithm 6)."""
    migrate_listed(r, vm, list_tasks(r, vm, r.listed))


def on_return(r: Rows, vm: VmRow) -> None:
    """Go on, or steal work if the tasks have been migrated (Algorithm 5, lines 20-27)."""
    retry_stranded(r)
    if is_idle(vm):
        steal(r, vm, r.spare_all)


def on_end(r: Rows, vm: VmRow) -> None:
    """A place is free for tasks that had none."""
    retry_stranded(r)
    count_anew(r, vm)


def migrate_listed(r: Rows, vm: VmRow, n_tasks: int) -> None:
    """Migrate listed tasks (Algorithm 6)."""
    if n_tasks:
        migrate_tasks(r, vm, n_tasks, to_burstable=1, spare_all=r.spare_all, burst_first=0)


def count_anew(r: Rows, gone: VmRow) -> None:
    """Compute the triggers anew that had counted on a VM."""
    # Without triggers, as most of the time, no VM has to be looked at.
    if r.recompute and r.n_triggers:
        for v in range(r.n_vms):
            vm = r.vms[v]
            if vm.trigger_at_s != NONE and vm.n_helpers and counts_on(r, vm, gone.index):
                aim(r, vm, vm.trigger_at_s)


def aim(r: Rows, vm: VmRow, at_latest_s: int) -> None:
    """Set the migration trigger time: ``D - (estimate_rt + alpha)`` (eq. 4), with when each task is due for D.

    One that is computed anew is never later than before: what other VMs are busy with now (see `estimate`) gets less by
    waiting alone, and the time that this seems to give was what kept the estimate safe.
    """
    slack_s = estimate(r, vm, r.spare_all)
    # Alpha is taken off here, and so not in the estimate: there, new VMs are there at once.
    set_trigger(r, vm, min(r.now_s + slack_s - r.start_overhead_s, at_latest_s))


Hads.answers = {
    "idle": on_idle,
    "cycle_ended": let_go,
    "noticed": on_notice,
    "lost": on_loss,
    "hibernated": on_hibernation,
    "trigger_reached": on_trigger,
    "resumed": on_return,
    "terminated": on_end,
}


# ------------------------------------------------------------------------- stealing, for Burst-HADS as well


def steal(r: Rows, thief: VmRow, spare_all: int) -> None:
    """Let an idle VM steal from regular VMs that execute tasks, on-demand ones first (HADS Algorithm 8).

    A burstable one takes one task only, at the baseline (Burst-HADS Algorithm 5, lines 7-10). Those may be stolen from
    that are busy, "active and executing tasks" (section 4.3.1): what has just been moved to a new VM is left there.
    """
    stolen = steal_from_others(r, thief, spare_all)
    r.steal_attempts += 1
    r.steals += stolen > 0
    note(r, NOTED.STEAL_ATTEMPT, thief.index, NONE, NONE, stolen, 0, 0.0)


def steal_from_others(r: Rows, thief: VmRow, spare_all: int) -> int:
    """Let an idle VM steal from one after the other; return how many tasks it takes."""
    stolen = 0
    for spot in range(2):
        for price in range(r.n_prices):
            v = r.prices[price].first
            while v != NONE:
                victim = r.vms[v]
                v = victim.after
                if victim.n_left <= 1 or victim.spot != spot or victim.bursts or victim.index == thief.index:
                    continue
                uptime_s = r.now_s - victim.zero_s
                # Else all that waits there starts in the present cycle, and none of it may be stolen.
                if last_start_of(r, victim) >= uptime_s - uptime_s % r.cycle_s + r.cycle_s:
                    stolen += steal_from(r, thief, victim, spare_all)
                    if stolen and thief.bursts:
                        return stolen
    return stolen


def steal_from(r: Rows, thief: VmRow, victim: VmRow, spare_all: int) -> int:
    """Let an idle VM steal from one other; return how many tasks it takes.

    Those may be stolen that are to start after the current allocation cycle of their VM (HADS, section 4.3.5 and Fig.
    7). The paper's figure decides: the planned start counts, not the end.
    """
    offer = thief.offer_index
    mode = r.offers[offer].sustained
    span(r, thief)
    find_least(r, victim, offer, mode)
    # Cheap, and the end of it for most victims: nothing that waits there could end in time here.
    if exceeds(r, thief, victim.least_duration_s, victim.least_runtime_s, spare_all) or not is_executing(r, victim):
        return 0
    cycle_end_s = (max(uptime_at(victim, r.now_s), 0) // r.cycle_s + 1) * r.cycle_s
    stolen = 0
    n = list_waiting(r, victim, r.left, 0)
    for k in range(n):
        task = r.left[k]
        run = r.tasks[task]
        row = r.groups[run.group]
        if run.start_s < cycle_end_s or row.ready_s > r.now_s:  # what is not ready is not late for want of a core
            continue
        duration_s = duration_of(r, run.group, offer, mode, run.saved)
        runtime_s = r.durations[run.group][offer].runtime_s
        if duration_s >= NEVER or exceeds(r, thief, duration_s, runtime_s, spare_all):
            continue
        if takes(r, thief, duration_s, runtime_s, row.memory_kb, row.ready_s, row.due_s, spare_all):
            take_over(r, task, victim, thief, mode)
            stolen += 1
            if thief.bursts:
                break
            span(r, thief)
    return stolen


def find_least(r: Rows, victim: VmRow, offer: int, mode: int) -> None:
    """Find the least that the tasks which wait on a VM ask of one of another offer, or less than that.

    It may count with tasks that have started since, but leaves none out.
    """
    # Kept until what waits there changes: each idle VM of an offer asks each victim the same.
    if victim.least_of == offer:
        return
    victim.least_of = offer
    victim.least_duration_s = victim.least_runtime_s = NEVER
    for core in range(victim.vcpus):
        task = r.cores[victim.index][core].first
        while task != NONE:
            run = r.tasks[task]
            duration_s = duration_of(r, run.group, offer, mode, run.saved)
            if duration_s < NEVER:
                victim.least_duration_s = min(victim.least_duration_s, duration_s)
                victim.least_runtime_s = min(victim.least_runtime_s, r.durations[run.group][offer].runtime_s)
            task = run.next


def exceeds(r: Rows, vm: VmRow, duration_s: int, runtime_s: int, spare_all: int) -> bool:
    """True if a task asks for more than any that a VM may take, memory aside; see `takes`."""
    left_s = r.deadline_s - vm.zero_s - vm.free_s - duration_s
    if vm.spot or spare_all:
        left_s -= max(longest_of(r, vm), runtime_s) + r.start_overhead_s + 1
    return left_s < 0
