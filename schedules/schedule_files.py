"""Reading and writing plans: JSON of the format ``spotbag.schedule/1``."""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.errors import InputError, Issue, input_error
from ..core.json_documents import format_json
from ..core.record_lists import grouped_by
from ..core.text_files import read_text, source_name, write_text
from ..core.wording import counted
from ..instances.entries import BASELINE, NEVER
from ..instances.instance import Instance
from .documents import (
    CSV_COLUMNS,
    MODES,
    Lateness,
    ScheduleColumns,
    ScheduleDocument,
    Survival,
    refuse_table,
)
from .schedule import Schedule


def read_schedule_document(path: str | os.PathLike[str]) -> ScheduleDocument:
    """Read a plan as it is written, without an instance, from a file or from standard input for ``-``.

    Raises
    ------
    InputError
        If it is no document of this format.
    """
    return parse_schedule_document(read_text(path), source_name(path))


def parse_schedule_document(text: str, source: str = "plan") -> ScheduleDocument:
    """Read a plan from a JSON text; ``source`` names it in messages.

    Raises
    ------
    InputError
        If it is no document of this format.
    """
    refuse_table(text, source)
    return ScheduleDocument.parse(text, source)


def schedule_document_of(document: Mapping[str, Any], source: str = "plan") -> ScheduleDocument:
    """Validate the parsed JSON of a plan; ``source`` names it in messages.

    Raises
    ------
    InputError
        If it is no document of this format.
    """
    return ScheduleDocument.parse_document(document, source)


def read_schedule(path: str | os.PathLike[str], instance: Instance) -> Schedule:
    """Read a plan for an instance.

    Times that can be derived are derived; a plan whose ends differ from them is refused.

    Raises
    ------
    InputError
        If it is no plan for this instance. Feasibility is for the checker.
    """
    return schedule_of_document(read_schedule_document(path), instance, source_name(path))


def schedule_of_document(document: ScheduleDocument, instance: Instance, source: str = "plan") -> Schedule:
    """Make a schedule of a plan's document; see `read_schedule`.

    What the plan says that it survives is what it is to survive, and the D_spot that it was made for is its D_spot,
    unless the instance says something else. One that names late tasks is one of an instance that allows them.
    """
    instance = _as_planned(document, instance)
    placed, issues = _placed_by_task(document, instance)
    # With another name and unknown tasks, a list of faults would hide that the wrong instance was given.
    if issues and (document.instance != instance.name or not placed):
        raise input_error(source, another_instance(document.instance, instance, document.task_rows))
    if issues and not instance.machines and any(row.start_s < 0 for row in document.task_rows):
        rule = (
            f"is a plan for what a state has left of {instance.name!r}, not for all of it: tasks run since before 0; "
            "'spotbag check' and 'spotbag show' take the state (--state)"
        )
        raise input_error(source, rule)
    offers = {(offer.vm_type.name, offer.market): offer.index for offer in instance.offers if offer.listed_as is None}
    exist = dict(zip([machine.id for machine in instance.machines], instance.machine_offer.tolist(), strict=True))
    for index, vm in enumerate(document.vms):
        if (vm.type, vm.market) not in offers:
            rule = f"is not offered by the instance {instance.name!r}"
            issues.append(Issue(f"vms[{index}]", rule, value=f"{vm.type} {vm.market}", item=vm.id))
    # The first VM of a name is the one that tasks are taken to be on; the plan is refused in any case.
    vm_index: dict[str, int] = {}
    for index, vm in enumerate(document.vms):
        if vm.id in vm_index:
            issues.append(Issue(f"vms[{index}]", f"is a duplicate of vms[{vm_index[vm.id]}]", "id", vm.id))
        vm_index.setdefault(vm.id, index)
    # Placement is checked only where all offers and names are known: else it would report what follows from these.
    if not issues:
        vm_offer = np.array([exist.get(vm.id, offers[vm.type, vm.market]) for vm in document.vms], dtype=np.int64)
        issues = _placement_issues(placed, instance, vm_index, vm_offer)
    if issues:
        raise InputError(source, _grouped(issues))
    entries = [entry for _, entry in placed]
    schedule = Schedule(
        instance,
        vm_offer,
        np.array([vm_index[entry.vm] for entry in entries], dtype=np.int64),
        np.array([entry.core for entry in entries], dtype=np.int64) // instance.slots.cores,
        np.array([entry.start_s for entry in entries], dtype=np.int64),
        np.array([entry.mode == "baseline" for entry in entries], dtype=bool),
        tuple(vm.id for vm in document.vms),
    )
    for (index, entry), slots in zip(placed, schedule.task_slots, strict=True):
        kept = [*instance.slots.cores_of(slots)]
        if entry.cores and {*entry.cores} != {*kept}:
            rule = f"are not kept: leave them out, and it has {kept}"
            issues.append(Issue(f"tasks[{index}]", rule, "cores", str([*entry.cores]), entry.id))
    if issues:
        raise InputError(source, _grouped(issues))
    return schedule


def _as_planned(document: ScheduleDocument, instance: Instance) -> Instance:
    """Return the instance as a plan was made for it, where it leaves D_spot, survival and late tasks open."""
    if instance.d_spot_s is None and document.d_spot_s is not None:
        instance = instance.replace(d_spot_s=min(document.d_spot_s, instance.deadline_s))
    if document.survival is not None and document.survival.verdict == "survives" and instance.survive is None:
        instance = instance.replace(survive=document.survival.level)
    if document.late is not None:
        from .lateness import with_late  # here, since few plans are late

        instance = with_late(instance, "least")
    return instance


def another_instance(made_for: str, instance: Instance, rows: Sequence[Any]) -> str:
    """Message about a plan whose tasks are those of another instance, maybe of the same name."""
    theirs = {row.id for row in rows}
    another = f"another {made_for!r}" if made_for == instance.name else f"{made_for!r}, another instance"
    unknown, missing = len(theirs.difference(instance.task_ids)), len(set(instance.task_ids) - theirs)
    return (
        f"is a plan for {another}: {unknown} of its {counted(len(theirs), 'task')} are not in "
        f"{instance.name!r}, and {missing} of the {counted(instance.n_tasks, 'task')} there are not in the plan"
    )


_NAMES = re.compile(r"'[^']*'|[0-9]+")
_ALIKE = 3
"""Most issues, of those that differ in names and numbers only, that are listed one by one; of more, their number is."""


def _grouped(issues: Sequence[Issue]) -> list[Issue]:
    """Put issues that are alike together."""
    # Alike are those that say the same of other names and numbers.
    said = []
    for group in grouped_by(issues, lambda one: _NAMES.sub("", f"{one.where} {one.field} {one.rule}")).values():
        said += group[:_ALIKE]
        if len(group) > _ALIKE:
            place = group[0].where.partition("[")[0]
            said.append(
                Issue(place, f"{len(group) - _ALIKE} more are wrong like that ('spotbag check' with --json lists all)")
            )
    return said


def _placed_by_task(document: ScheduleDocument, instance: Instance) -> tuple[list[tuple[int, Any]], list[Issue]]:
    """Entries of the document in the order of the instance's tasks, each with its position."""
    issues = []
    found: dict[str, tuple[int, Any]] = {}
    for index, entry in enumerate(document.task_rows):
        where = f"tasks[{index}]"
        if entry.id not in instance.task_index:
            issues.append(Issue(where, f"is not a task of the instance {instance.name!r}", "id", entry.id))
        elif entry.id in found:
            issues.append(Issue(where, f"is a duplicate of tasks[{found[entry.id][0]}]", "id", entry.id))
        else:
            found[entry.id] = index, entry
    missing = [name for name in instance.task_ids if name not in found]
    issues += [Issue("tasks", f"task {name!r} of the instance is missing") for name in missing]
    return [found[name] for name in instance.task_ids if name in found], issues


def _placement_issues(
    placed: list[tuple[int, Any]],
    instance: Instance,
    vm_index: dict[str, int],
    vm_offer: np.typing.NDArray[np.int64],
) -> list[Issue]:
    issues = []
    groups = instance.task_group.tolist()
    for group, (index, entry) in zip(groups, placed, strict=True):
        where = f"tasks[{index}]"
        if entry.vm not in vm_index:
            issues.append(Issue(where, "is no VM of the plan", "vm", entry.vm, entry.id))
            continue
        offer = instance.offers[int(vm_offer[vm_index[entry.vm]])]
        if entry.core >= offer.vm_type.vcpus:
            rule = f"must be below {offer.vm_type.vcpus}, the cores of {entry.vm}"
            issues.append(Issue(where, rule, "core", entry.core, entry.id))
        elif entry.core % instance.slots.cores:
            rule = f"must be a multiple of {instance.slots.cores}: no task of the bag needs fewer cores"
            issues.append(Issue(where, rule, "core", entry.core, entry.id))
        if entry.mode and not offer.burstable:
            issues.append(Issue(where, f"does not exist on {offer.vm_type.name}", "mode", entry.mode, entry.id))
            continue
        duration = int(instance.duration_s[group, offer.index, BASELINE * (entry.mode == "baseline")])
        if duration >= NEVER:
            issues.append(Issue(where, f"cannot run on {offer}", item=entry.id))
        elif entry.end_s != entry.start_s + duration:
            rule = f"must be {entry.start_s + duration}: it takes {duration} s on {offer}"
            issues.append(Issue(where, rule, "end_s", entry.end_s, entry.id))
    return issues


def write_schedule(
    schedule: Schedule,
    path: str | os.PathLike[str],
    method: str | None = None,
    survival: Survival | None = None,
    late: Lateness | None = None,
) -> None:
    """Write a plan as a JSON file, or as a table to a file whose name ends in ``.csv``.

    Parameters
    ----------
    schedule : Schedule
        The plan.
    path : path
        The file.
    method : str, optional
        What made it; not in the table.
    survival : Survival, optional
        What it survives; not in the table.
    late : Lateness, optional
        Which tasks it has late; not in the table.

    Raises
    ------
    SpotbagError
        If the file cannot be written.
    """
    as_table = os.fspath(path).lower().endswith(".csv")
    write_text(path, format_schedule_csv(schedule) if as_table else format_schedule(schedule, method, survival, late))


def format_schedule(
    schedule: Schedule, method: str | None = None, survival: Survival | None = None, late: Lateness | None = None
) -> str:
    """Return a plan as a JSON text: what `format_json` makes of its document, without a record of each task."""
    return "".join(schedule_pieces(schedule, method, survival, late))


def schedule_pieces(
    schedule: Schedule,
    method: str | None = None,
    survival: Survival | None = None,
    late: Lateness | None = None,
    indent: str = "",
) -> Iterator[str]:
    """Return the JSON text of a plan piece by piece, its lines but the first after an indentation."""
    columns = schedule.columns(method, survival, late)
    vms = [vm.model_dump(mode="json") for vm in columns.vms]
    head = format_json(columns.header.model_dump(mode="json", exclude_none=True) | {"vms": vms}).removesuffix("\n}\n")
    yield head.replace("\n", f"\n{indent}")
    yield f',\n{indent}  "tasks": [\n'
    rows = _task_rows(columns)
    before = indent
    while piece := list(itertools.islice(rows, _ROWS_OF_A_PIECE)):
        yield before + f",\n{indent}".join(piece)
        before = f",\n{indent}"
    yield f"\n{indent}  ]\n{indent}}}\n"


_ROWS_OF_A_PIECE = 10_000


def _task_rows(columns: ScheduleColumns) -> Iterator[str]:
    """Lines of the tasks."""
    encode = json.JSONEncoder(ensure_ascii=False).encode
    vms = [encode(name) for name in columns.vm_names]
    modes = ["" if mode is None else f', "mode": "{mode}"' for mode in MODES]
    interval = columns.checkpoint_interval_s
    stated = np.full(len(interval), "", dtype=object)
    stated[~np.isnan(interval)] = [
        f', "checkpoint_interval_s": {int(seconds) if seconds.is_integer() and seconds < 2**53 else seconds!r}'
        for seconds in interval[~np.isnan(interval)].tolist()
    ]
    rows = zip(
        columns.task_ids,
        columns.task_vm.tolist(),
        columns.task_core.tolist(),
        columns.task_start_s.tolist(),
        columns.task_end_s.tolist(),
        columns.task_mode.tolist(),
        stated.tolist(),
        columns.commands,
        columns.cores,
        strict=True,
    )
    for name, vm, core, start, end, mode, seconds, command, cores in rows:
        runs = f', "command": {encode(command)}' if command else ""
        named = f', "cores": {[*cores]}' if cores else ""
        yield (
            f'    {{"id": {encode(name)}, "vm": {vms[vm]}, "core": {core}, "start_s": {start}, "end_s": {end}'
            f"{modes[mode]}{seconds}{runs}{named}}}"
        )


def format_schedule_csv(schedule: Schedule) -> str:
    """Return a plan as a table of `CSV_COLUMNS`: a row for each task, in the order in which each core runs them."""
    columns = schedule.columns()
    order = np.lexsort((columns.task_start_s, columns.task_core, columns.task_vm))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    vms = [(vm.id, vm.type, vm.market) for vm in columns.vms]
    numbers = (columns.task_vm, columns.task_core, columns.task_start_s, columns.task_end_s, columns.task_mode)
    for row, vm, core, start, end, mode in zip(
        order.tolist(), *(column[order].tolist() for column in numbers), strict=True
    ):
        command = columns.commands[row]
        writer.writerow((*vms[vm], core, columns.task_ids[row], start, end, MODES[mode] or "", command or ""))
    return text.getvalue()


def schedule_schema() -> str:
    """JSON Schema of ``spotbag.schedule/1``, as shipped with the package."""
    return ScheduleDocument.schema_text()
