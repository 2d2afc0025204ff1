"""What happened when an exported plan was run, read back from its logs."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from ..core.errors import InputError, Issue, input_error
from ..core.quantities import SECONDS_PER_HOUR
from ..schedules.schedule import Schedule
from ..schedules.state import State, TaskOnVm, VmState
from ..traces.bags.execution import Execution, VmRun
from ..traces.bags.execution_log import read_logs
from .orders import planned_tasks
from .shell import LOG_NAME


def read_log(schedule: Schedule, *paths: str | os.PathLike[str], lost: Collection[str] = ()) -> Execution:
    """Read what happened when a plan was run by the scripts of `export_plan`.

    Parameters
    ----------
    schedule : Schedule
        The plan that was exported.
    *paths : path
        Log files, folders of VMs, or the folder of the plan, which has these in it.
    lost : collection of str
        VMs that are gone: what they ran last was cut off, and does not run still.

    Returns
    -------
    Execution
        What happened. Its times count from the start of the plan, at which VMs are requested: the first of the logs
        begins when VMs are ready in the plan.

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
    return read_logs(files, planned_tasks(schedule), ready_s, lost)


def _log_files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    files = [path / LOG_NAME] if (path / LOG_NAME).is_file() else sorted(path.glob(f"*/{LOG_NAME}"))
    if not files:
        raise input_error(str(path), f"has no {LOG_NAME}, nor has a folder in it: has the plan been run?")
    yield from files


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
    running = {(run.vm, run.task): run for run in execution.runs if run.runs_still and run.vm not in lost}
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
                running=tuple(
                    TaskOnVm(task=run.task, core=run.core, start_s=run.start_s)
                    for run in running.values()
                    if run.vm == name
                ),
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
