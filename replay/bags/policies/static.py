"""The plan and nothing else, on spot or on-demand VMs; or with the rescue of its survival certificate, carried out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...policies import Rule, Rules
from ..interpreted import plan_rescue, refuse, sort_tasks
from ..rows import NONE, REFUSAL, Rows, VmRow
from ..rules import (
    can_start,
    is_alive,
    is_halted,
    is_idle,
    let_go,
    list_tasks,
    may_give,
    migrate,
    runtime_of,
    start_vm,
)
from ..state import IDLE_60, RulePolicy
from .migration import list_places, migrate_anyway, retry_stranded


class Static(RulePolicy):
    """Follow the plan; wait until hibernated VMs resume; end a VM with its last task.

    Without events, the replay is the plan: same cost, same makespan.
    """

    name = "static"
    summary = "follows the plan and waits for hibernated VMs to resume"


def on_hibernation(r: Rows, vm: VmRow) -> None:
    """Terminate a VM whose last task has ended in this second, or while it drained."""
    if not vm.n_left:
        let_go(r, vm)


Static.answers = {"idle": let_go, "hibernated": on_hibernation}


@dataclass(kw_only=True, eq=False)
class OnDemand(RulePolicy):
    """Follow the plan on on-demand VMs of the same types: what schedulers that use spot VMs are compared with.

    The plan is changed by `on_demand_schedule` before the replay, and the day is quiet. An idle VM is paid for as the
    schedulers pay for it, to the end of its allocation cycle: the baselines that both papers print cost more than
    their VMs until the last task of each.

    Parameters
    ----------
    idle_limit_s : int, optional
        Seconds for which an idle VM is kept; to the end of its allocation cycle if absent. With 0, a VM ends with its
        last task, which is the cheapest for one who wants on-demand VMs in any case.
    """

    name = "on-demand"
    summary = "the same plan on on-demand VMs: no hibernation, no checkpoints; the papers' baseline"
    source = "HADS, section 5.3.1; Burst-HADS, section IV"
    rules: ClassVar[Rules] = {
        "last-task": Rule({"idle_limit_s": 0}, "a VM ends with its last task"),
        "idle-60": IDLE_60,
    }

    idle_limit_s: int | None = None


OnDemand.answers = {"cycle_ended": let_go}


class Rescue(RulePolicy):
    """Follow the plan; when spot VMs go down, do at once on demand what they have lost, and never count on them again.

    What goes down goes the way of the survival certificate (`certify`): the deadline is kept at no more than the
    worst-case cost, whether VMs come back or not, if the plan survives it. A plan that is to survive ``each`` has a
    twin on demand for whatever spot VM goes down whenever. Otherwise the promise is for types which go down at one
    moment, once. It holds for bills by the second; where tasks wait for their release, VMs of the rescue may be paid
    as they wait, on top of that. Whatever else happens, and what does not survive, the tasks of each
    VM go to where they end first, longest tasks first. A VM ends with its last task, also one that is hibernated. VMs
    that have notice, are stopped or terminated are rescued like those that hibernate.
    """

    name = "rescue"
    summary = "does on demand what spot VMs lose, as the survival certificate has it, and ends these VMs"


def on_idle(r: Rows, vm: VmRow) -> None:
    """Terminate a VM with its last task."""
    retry_stranded(r)
    if is_idle(vm):
        let_go(r, vm)


def on_change(r: Rows, vm: VmRow) -> None:
    """A VM takes tasks again that have no place, or a place is free for them."""
    retry_stranded(r)


def answer(r: Rows, vm: VmRow) -> None:
    """Rescue lost tasks, and those that will be lost as if they were lost now: so the promise holds."""
    if vm.n_left == 0:
        end_halted(r, vm)
        return
    plan_rescue(r)
    if r.rescue_found:
        carry_out(r)
    else:
        to_where_they_end_first(r)


def carry_out(r: Rows) -> None:
    """Request the VMs of a rescue and move the tasks, by their starts: so each starts as planned, or earlier."""
    for k in range(r.n_rescue_vms):
        entry = r.rescue_vms[k]
        r.free_vms[k] = entry.vm
        if entry.vm == NONE:
            if not can_start(r, r.offers[entry.offer]):
                refuse(r, REFUSAL.NO_ROOM, NONE, entry.offer)
            r.free_vms[k] = start_vm(r, entry.offer)
    n_lost = list_lost(r)
    for k in range(r.n_rescue_tasks):
        task = r.rescue_tasks[k].task
        target = r.vms[r.free_vms[r.rescue_tasks[k].place]]
        # The plan of the rescue is as old as the day: a VM that it counts on, or a task, may have gone otherwise.
        source = r.tasks[task].vm
        if source == NONE or not may_give(r.vms[source]) or not is_alive(target):
            refuse(r, REFUSAL.NO_PLACE, target.index, task)
        migrate(r, task, r.vms[source], target, r.offers[target.offer_index].sustained, 0)
    # Tasks move by their starts, so that each VM is empty only now.
    for k in range(n_lost):
        end_halted(r, r.vms[r.busy_vms[k]])


def list_lost(r: Rows) -> int:
    """List the VMs that give tasks and have some; return how many there are."""
    n = 0
    for v in range(r.n_vms):
        if r.vms[v].n_left and may_give(r.vms[v]):
            r.busy_vms[n] = v
            n += 1
    return n


def to_where_they_end_first(r: Rows) -> None:
    """Move the tasks of all VMs that give them to where each ends first: what is due first, and of that the longest."""
    list_places(r)
    n_lost = list_lost(r)
    for place in range(n_lost):
        vm = r.vms[r.busy_vms[place]]
        n_tasks = list_tasks(r, vm, r.listed)
        for k in range(n_tasks):
            run = r.tasks[r.listed[k]]
            run.rank, run.tie = r.groups[run.group].due_s, k
            run.weight = -float(runtime_of(r, r.listed[k], vm.offer_index))
        sort_tasks(r, r.listed, n_tasks)
        migrate_anyway(r, vm, r.listed, n_tasks)
    for place in range(n_lost):
        end_halted(r, r.vms[r.busy_vms[place]])


def end_halted(r: Rows, vm: VmRow) -> None:
    """Terminate a VM that has no task left and waits to come back."""
    if is_halted(vm) and vm.n_left == 0:
        let_go(r, vm)


Rescue.answers = {
    "idle": on_idle,
    "noticed": answer,
    "lost": answer,
    "hibernated": answer,
    "resumed": on_change,
    "terminated": on_change,
}
