"""Logs of an exported plan: what happened, and the state that it leads to."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from ..core.bill import Bill, elapsed_usd
from ..core.errors import InputError, Issue, input_error
from ..instances.entries import RentalOffer
from ..schedules.documents import Mode
from ..schedules.schedule import Schedule
from ..schedules.state import State
from ..schedules.vm_state import TaskOnVm, VmState, billing_of, several
from ..traces.bags.execution import Execution, TaskRun, grouped
from ..traces.bags.execution_log import read_logs
from .orders import planned_tasks
from .shell import LOG_NAME


def read_log(
    schedule: Schedule,
    *paths: str | os.PathLike[str],
    lost: Collection[str] = (),
    began_at: float | None = None,
) -> Execution:
    """Read the logs of a run by the scripts of `export_plan`.

    Parameters
    ----------
    schedule : Schedule
        The plan that was exported.
    *paths : path
        Log files, folders of VMs, or the folder of the plan, which has these in it.
    lost : collection of str
        VMs that are gone: what they ran last was cut off, and does not run still.
    began_at : float, optional
        When the plan was begun, in seconds since 1970-01-01 UTC. If absent, the first of the logs begins when VMs are
        ready in the plan. A plan from a state is begun at the moment of the state.

    Returns
    -------
    Execution
        What happened. Its times count from the start of the plan, at which VMs are requested.

    Raises
    ------
    InputError
        If a file is no log, is one of another plan, or a VM that is lost is not in the plan.
    """
    unknown = [name for name in lost if name not in schedule.vm_ids]
    if unknown:
        raise InputError("lost", [Issue("", f"the plan has no VM {name!r}") for name in unknown])
    files = [file for path in paths for file in _log_files(Path(path))]
    ready_s = int(schedule.vm_ready_s.min(initial=schedule.instance.boot_overhead_s))
    offers = [schedule.instance.offers[offer] for offer in schedule.vm_offer.tolist()]
    cores = {name: offer.vm_type.vcpus for name, offer in zip(schedule.vm_ids, offers, strict=True)}
    found = read_logs(files, planned_tasks(schedule), cores, ready_s, lost, began_at)
    rented = {
        name: {"type": one.vm_type.name, "market": one.market, "price_usd_per_hour": one.price_usd_per_hour}
        for name, one in zip(schedule.vm_ids, offers, strict=True)
    }
    vms = tuple(replace(run, **rented[run.vm]) for run in found.vms)
    return replace(found, vms=vms, instance=schedule.instance)


def _log_files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    files = [path / LOG_NAME] if (path / LOG_NAME).is_file() else sorted(path.glob(f"*/{LOG_NAME}"))
    if not files:
        raise input_error(str(path), f"has no {LOG_NAME}, nor has a folder in it: has the plan been run?")
    yield from files


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
    stretches, used = grouped("vm", execution.vms), {planned.vm for planned in execution.planned}
    since = since or State(instance=schedule.instance.name)
    before, since_s = {vm.id: vm for vm in since.vms}, since.time_s
    vms, over, spent_usd = [], [], 0.0
    # A VM none of whose tasks was planned in the end was never requested.
    for number, name in ((number, name) for number, name in enumerate(schedule.vm_ids) if name in used):
        found = stretches.get(name, [])
        # A log that breaks off tells nothing about its VM: only the caller knows that it is lost.
        gone = name in lost or (bool(found) and found[-1].end_s is not None and not found[-1].lost)
        ready_s = found[0].start_s if found else max(float(schedule.vm_ready_s[number]), execution.until_s)
        until_s = (found[-1].end_s if gone and found else None) or execution.until_s
        index = int(schedule.vm_offer[number])
        offer, bill = schedule.instance.offers[index], schedule.instance.bills[index]
        if name in before:  # it was billed there up to second 0 of this execution
            began_s = before[name].ready_s - since_s
            spent_usd += elapsed_usd(bill, until_s - began_s) - elapsed_usd(bill, -began_s)
        elif found:
            spent_usd += elapsed_usd(bill, until_s - ready_s)
        if gone:
            over.append(name)
            continue
        running = tuple(_on_vm(schedule, run, since_s) for run in execution.runs if run.runs_still and run.vm == name)
        # Prices, credits and paid time of the earlier state hold on.
        known = before.get(name) or _requested(name, offer, bill, since_s + ready_s)
        now = {"status": "running" if found or name in before else "launching", "running": running}
        vms.append(known.model_copy(update=now))
    done = tuple(found.planned.task for found in execution.deviations if found.status == "done")
    return State(
        instance=schedule.instance.name,
        time_s=since_s + execution.until_s,
        spent_usd=since.spent_usd + spent_usd,
        done=(*since.done, *done),
        saved={name: part for name, part in since.saved.items() if name not in set(done)},
        vms=tuple(vms),
        gone=(*over, *since.gone),
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
