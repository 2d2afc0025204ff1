"""``map.json`` of the HADS and Burst-HADS authors: the plan that their schedulers write and their executor reads.

Their times count from the moment the VMs are ready, their burstable tasks in baseline mode are planned at
``runtime * baseline / 10`` seconds (baseline in percent), and a VM is known by its key alone.
"""

from __future__ import annotations

import os
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from ..core.errors import InputError, Issue, SpotbagError, input_error
from ..core.json_documents import format_json, parse_json
from ..core.quantities import is_name
from ..core.records import TheirRecord, validate_record
from ..core.text_files import read_text, source_name, write_text
from ..instances.bags.hads_files import HADS_MARKETS
from ..instances.entries import BASELINE, FULL_SPEED, MAX_TASKS, NEVER
from ..instances.instance import Instance
from .schedule import Schedule


class _Interval(TheirRecord):
    start: Annotated[float, Field(ge=0, le=10**9)]
    end: Annotated[float, Field(ge=0, le=10**9)]


class _MapVm(TheirRecord):
    type: str
    market: str
    price: float | None = None
    map: dict[str, dict[str, _Interval]]


class _Map(TheirRecord):
    deadline: float | None = None
    expected_cost: float | None = None
    instances: dict[str, _MapVm]


def read_hads_map(path: str | os.PathLike[str], instance: Instance) -> tuple[Schedule, list[str]]:
    """Read a ``map.json`` as a plan for an instance; return it with warnings.

    Starts are taken from the file, ends are derived from the instance; where they differ, a warning says so.

    Raises
    ------
    InputError
        If it is no map for this instance.
    """
    source = source_name(path)
    document = validate_record(_Map, parse_json(read_text(path), source, most_keys=MAX_TASKS), source)
    _refuse_several_cores(instance)
    reader = _MapReader(instance)
    for key, vm in document.instances.items():
        reader.add_vm(key, vm)
    missing = [name for name in instance.task_ids if name not in reader.placed]
    reader.issues += [Issue("instances", f"task {name!r} of the instance is in no map") for name in missing]
    if reader.issues:
        raise InputError(source, reader.issues)
    schedule = reader.schedule(tuple(document.instances))
    return schedule, [*reader.warnings(), *_differences(document, schedule)]


def _refuse_several_cores(instance: Instance) -> None:
    """Refuse a bag of which a map cannot say what is where."""
    if int(instance.cores.max()) > 1:
        raise input_error(instance.name, "has tasks of several cores, which the maps of HADS do not know")


def _differences(document: _Map, schedule: Schedule) -> list[str]:
    """Warnings about figures of the map that differ from those of the plan for the instance."""
    instance = schedule.instance
    warnings = []
    if document.deadline is not None and document.deadline != instance.deadline_s:
        warnings.append(f"the map's deadline of {document.deadline:g} s gives way to {instance.deadline_s} s")
    for vm, index in zip(document.instances.values(), schedule.vm_offer.tolist(), strict=True):
        price = instance.offers[index].price_usd_per_hour
        if vm.price is not None and vm.price != price:
            offer = instance.offers[index]
            warnings.append(f"the map's prices give way to the instance's, e.g. {offer}: {vm.price:g} to {price:g} $/h")
            break
    expected = document.expected_cost
    if expected is not None and abs(expected - schedule.cost_usd) > 1e-6:
        warnings.append(f"the map expects a cost of $ {expected:.6f}; here the plan costs $ {schedule.cost_usd:.6f}")
    return warnings


class _MapReader:
    """Collects the tasks of a map, VM by VM."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.offers = {(offer.vm_type.name, HADS_MARKETS[offer.market]): offer for offer in instance.offers}
        self.vm_offer: list[int] = []
        self.placed: dict[str, tuple[int, int, int, bool]] = {}
        self.issues: list[Issue] = []
        self.differing: list[str] = []

    def add_vm(self, key: str, vm: _MapVm) -> None:
        where = f"instances.{key}"
        if not is_name(key):
            rule = "is no name for a VM: it must be printable text of at most 200 characters"
            self.issues.append(Issue("instances", rule, value=key))
            return
        offer = self.offers.get((vm.type, vm.market))
        if offer is None:
            rule = f"is not offered by the instance {self.instance.name!r}"
            self.issues.append(Issue(where, rule, value=f"{vm.type} {vm.market}"))
            return
        self.vm_offer.append(offer.index)
        for core_name, queue in vm.map.items():
            number = core_name.removeprefix("vcpu_")
            # What is no such number, or longer than one of any VM, is taken for the first core that is not there.
            core = int(number) if number.isascii() and number.isdigit() and len(number) < 6 else offer.vcpus
            if core >= offer.vcpus:
                self.issues.append(Issue(f"{where}.map", f"{vm.type} has vcpu_0 to vcpu_{offer.vcpus - 1}", core_name))
                continue
            for task, interval in queue.items():
                self._add_task(f"{where}.map.{core_name}.{task}", task, core, interval)

    def _add_task(self, where: str, task: str, core: int, interval: _Interval) -> None:
        instance = self.instance
        if task not in instance.task_index:
            self.issues.append(Issue(where, f"is not a task of the instance {instance.name!r}"))
            return
        if task in self.placed:
            self.issues.append(Issue(where, "is a task that the map has more than once"))
            return
        if not interval.start.is_integer():
            self.issues.append(Issue(where, "must be whole seconds", "start", interval.start))
            return
        offer = instance.offers[self.vm_offer[-1]]
        durations = instance.duration_s[int(instance.task_group[instance.task_index[task]]), offer.index]
        planned = interval.end - interval.start
        # Their file does not say the mode: what takes longer than at full speed on a burstable VM is at the baseline.
        baseline = bool(offer.burstable and planned > durations[FULL_SPEED])
        duration = int(durations[BASELINE if baseline else FULL_SPEED])
        if duration >= NEVER:
            self.issues.append(Issue(where, f"cannot run on {offer}"))
            return
        if planned != duration:
            mode = " in baseline mode" if baseline else ""
            self.differing.append(
                f"task {task} on {offer.vm_type.name}{mode}: {planned:g} s in the map, {duration} s here"
            )
        # Their times count from when VMs are ready, ours from when they are requested.
        start = int(interval.start) + int(instance.ready_s[offer.index])
        self.placed[task] = len(self.vm_offer) - 1, core, start, baseline

    def schedule(self, vm_ids: tuple[str, ...]) -> Schedule:
        rows = [self.placed[name] for name in self.instance.task_ids]
        columns = [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)]
        task_vm, core, start_s, baseline = columns
        vm_offer = np.array(self.vm_offer, dtype=np.int64)
        return Schedule(self.instance, vm_offer, task_vm, core, start_s, baseline.astype(bool), vm_ids)

    def warnings(self) -> list[str]:
        if not self.differing:
            return []
        return [f"{len(self.differing)} tasks end at other times than in the map, e.g. {self.differing[0]}"]


def format_hads_map(schedule: Schedule) -> str:
    """Return a plan as a ``map.json``.

    Tasks are called as in the ``job.json`` that `spotbag.instances.bags.hads_files` writes.

    Raises
    ------
    SpotbagError
        If it cannot be said in such a file: tasks of several cores, or VMs that are not ready in the same second.
    """
    instance = schedule.instance
    _refuse_several_cores(instance)
    first_s, last_s = int(schedule.vm_ready_s.min()), int(schedule.vm_ready_s.max())
    if first_s < last_s:
        when = f"those of the plan are ready between {first_s} and {last_s} s"
        raise SpotbagError(f"the maps of HADS know VMs that are ready in the same second, and {when}")
    cores: list[list[dict[str, Any]]] = [[{} for _ in range(vcpus)] for vcpus in schedule.vm_vcpus.tolist()]
    for task in np.argsort(schedule.task_start_s, kind="stable").tolist():
        interval = {
            "start": int(schedule.task_start_s[task]) - first_s,
            "end": int(schedule.task_end_s[task]) - first_s,
        }
        cores[schedule.task_vm[task]][schedule.task_core[task]][str(task)] = interval
    instances = {}
    for vm, name in enumerate(schedule.vm_ids):
        offer = instance.offers[schedule.vm_offer[vm]]
        instances[f"id-{name}"] = {
            "type": offer.vm_type.name,
            "market": HADS_MARKETS[offer.market],
            "price": offer.price_usd_per_hour,
            "map": {f"vcpu_{core}": queue for core, queue in enumerate(cores[vm])},
        }
    return format_json(
        {
            "job_id": 1,
            "job_name": instance.name,
            "scheduler": "CC",
            "deadline": instance.deadline_s,
            "expected_makespan": schedule.makespan_s - first_s,
            "expected_cost": schedule.cost_usd,
            "instances": instances,
        }
    )


def write_hads_map(schedule: Schedule, path: str | os.PathLike[str]) -> None:
    """Write a plan as a ``map.json``.

    Raises
    ------
    SpotbagError
        If the file cannot be written.
    """
    write_text(path, format_hads_map(schedule))
