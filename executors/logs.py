"""Reader of the logs of an exported plan."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from ..core.errors import InputError, Issue, input_error
from ..schedules.schedule import Schedule
from ..traces.bags.execution import Execution
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
