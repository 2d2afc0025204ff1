"""The state that a plan is in after what has happened, for whoever plans anew from there."""

from __future__ import annotations

from collections.abc import Collection

from ..core.quantities import SECONDS_PER_HOUR
from ..schedules.documents import Mode
from ..schedules.schedule import Schedule
from ..schedules.state import State, TaskOnVm, VmState
from ..traces.bags.execution import Execution, TaskRun, VmRun


def execution_state(schedule: Schedule, execution: Execution, lost: Collection[str] = ()) -> State:
    """Return how far a plan is, from what happened.

    Parameters
    ----------
    schedule : Schedule
        The plan.
    execution : Execution
        What happened until now.
    lost : collection of str
        VMs that are gone.

    Returns
    -------
    State
        The state at the moment of the last event. A VM that has ended all its tasks, was stopped or is lost is rented
        no longer; one of which nothing is known is being launched. The VMs are billed by the second, from when they
        were first ready.
    """
    stretches: dict[str, list[VmRun]] = {}
    for stretch in execution.vms:
        stretches.setdefault(stretch.vm, []).append(stretch)
    running = [run for run in execution.runs if run.runs_still]
    used = {planned.vm for planned in execution.planned}
    vms, spent_usd = [], 0.0
    for number, name in enumerate(schedule.vm_ids):
        if name not in used:
            continue
        offer = schedule.instance.offers[int(schedule.vm_offer[number])]
        found = stretches.get(name, [])
        gone = name in lost or (bool(found) and found[-1].end_s is not None)
        ready_s = found[0].start_s if found else max(float(schedule.vm_ready_s[number]), execution.until_s)
        until_s = (found[-1].end_s if found else None) or execution.until_s
        spent_usd += offer.price_usd_per_hour / SECONDS_PER_HOUR * max(until_s - ready_s, 0.0)
        if gone:
            continue
        vms.append(
            VmState(
                id=name,
                type=offer.vm_type.name,
                market=offer.market,
                status="running" if found else "launching",
                ready_s=ready_s,
                price_usd_per_hour=offer.price_usd_per_hour,
                running=tuple(_on_vm(schedule, run) for run in running if run.vm == name),
            )
        )
    done = [found.planned.task for found in execution.deviations if found.status == "done"]
    return State(
        instance=schedule.instance.name,
        time_s=execution.until_s,
        spent_usd=spent_usd,
        done=tuple(done),
        vms=tuple(vms),
    )


def _on_vm(schedule: Schedule, run: TaskRun) -> TaskOnVm:
    task = schedule.instance.task_index[run.task]
    burstable = schedule.instance.offer_is_burstable[schedule.vm_offer[schedule.vm_ids.index(run.vm)]]
    mode: Mode | None = None
    if burstable:
        mode = "baseline" if schedule.task_baseline[task] else "burst"
    return TaskOnVm(task=run.task, core=run.core, start_s=run.start_s, mode=mode)
