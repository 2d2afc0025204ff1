"""The state that a plan is in after what has happened, for whoever plans anew from there."""

from __future__ import annotations

from collections.abc import Collection

from ..core.bill import Bill, elapsed_usd
from ..instances.entries import RentalOffer
from ..schedules.documents import Mode
from ..schedules.schedule import Schedule
from ..schedules.state import State
from ..schedules.vm_state import TaskOnVm, VmState, billing_of, several
from ..traces.bags.execution import Execution, TaskRun, grouped


def execution_state(
    schedule: Schedule, execution: Execution, lost: Collection[str] = (), since: State | None = None
) -> State:
    """Return the state of a plan after an execution.

    Parameters
    ----------
    schedule : Schedule
        The plan.
    execution : Execution
        What happened until now.
    lost : collection of str
        VMs that are gone.
    since : State, optional
        The state that the plan was made from, if it was not made for all of the bag.

    Returns
    -------
    State
        The state at the moment of the last event. A VM that has ended all its tasks, or is lost, is rented no longer;
        one that was stopped is rented and runs nothing; one of which nothing is known is being launched. VMs are billed
        as the instance says, in one session from when they were first ready.
    """
    stretches = grouped("vm", execution.vms)
    used = {planned.vm for planned in execution.planned}
    before = {vm.id: vm for vm in since.vms} if since is not None else {}
    since_s = 0.0 if since is None else since.time_s
    vms, over, spent_usd = [], [], 0.0
    for number, name in enumerate(schedule.vm_ids):
        # A VM none of whose tasks was planned in the end was never requested.
        if name not in used:
            continue
        found = stretches.get(name, [])
        ended = bool(found) and found[-1].end_s is not None and not found[-1].lost
        # A log that breaks off tells nothing about its VM: only the caller knows that it is lost.
        gone = ended or name in lost
        ready_s = found[0].start_s if found else max(float(schedule.vm_ready_s[number]), execution.until_s)
        until_s = (found[-1].end_s if gone and found else None) or execution.until_s
        # A VM of the earlier state was billed there up to second 0 of this execution.
        index = int(schedule.vm_offer[number])
        offer, bill = schedule.instance.offers[index], schedule.instance.bills[index]
        if name not in before:
            spent_usd += elapsed_usd(bill, until_s - ready_s) if found else 0.0
        else:
            began_s = before[name].ready_s - since_s
            spent_usd += elapsed_usd(bill, until_s - began_s) - elapsed_usd(bill, -began_s)
        if gone:
            over.append(name)
            continue
        running = tuple(_on_vm(schedule, run, since_s) for run in execution.runs if run.runs_still and run.vm == name)
        # Prices, credits and paid time of the earlier state hold on.
        known = before.get(name) or _requested(name, offer, bill, since_s + ready_s)
        status = "running" if found or name in before else "launching"
        vms.append(known.model_copy(update={"status": status, "running": running}))
    done = tuple(found.planned.task for found in execution.deviations if found.status == "done")
    left = {} if since is None else {name: part for name, part in since.saved.items() if name not in set(done)}
    return State(
        instance=schedule.instance.name,
        time_s=since_s + execution.until_s,
        spent_usd=spent_usd + (0.0 if since is None else since.spent_usd),
        done=done if since is None else (*since.done, *done),
        saved=left,
        vms=tuple(vms),
        gone=(*over, *(() if since is None else since.gone)),
    )


def _requested(name: str, offer: RentalOffer, bill: Bill, ready_s: float) -> VmState:
    return VmState(
        id=name,
        type=offer.vm_type.name,
        market=offer.market,
        ready_s=ready_s,
        price_usd_per_hour=offer.price_usd_per_hour,
        billing=billing_of(bill),
    )


def _on_vm(schedule: Schedule, run: TaskRun, since_s: float) -> TaskOnVm:
    task = schedule.instance.task_index[run.task]
    burstable = schedule.instance.offer_is_burstable[schedule.vm_offer[schedule.vm_ids.index(run.vm)]]
    mode: Mode | None = None
    if burstable:
        mode = "baseline" if schedule.task_baseline[task] else "burst"
    cores = schedule.task_cores[task]
    named = several(cores if cores[:1] == (run.core,) else None)
    return TaskOnVm(task=run.task, core=run.core, start_s=since_s + run.start_s, mode=mode, **named)
