"""Plans as folders of shell scripts, one for each VM, and their files for SkyPilot."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from ..core.errors import InputError, Issue, SpotbagError
from ..core.text_files import part_of
from ..core.wording import counted
from ..instances.entries import RESERVED
from ..schedules.documents import ScheduleDocument
from ..schedules.schedule import Schedule
from .orders import TARGETS, Target, TaskOrder, VmOrder, refuse_running, vm_orders

LOG_NAME = "log.jsonl"
"""Log of a VM, in its folder."""

VM_LIST = "vms.tsv"
"""List of the VMs: their folders, ids, types, markets and numbers of tasks, cores and seconds."""

_MOST_BYTES = 131_071
"""Longest command that Linux lets one process hand to another as one argument."""

_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_MOST_ISSUES = 3


def export_plan(
    plan: Schedule | ScheduleDocument, folder: str | os.PathLike[str], to: Target = "shell", infra: str | None = None
) -> list[Path]:
    """Write scripts for the commands of a plan: a folder for each VM.

    In the folder of a VM, ``sh run.sh`` runs its tasks, on each core one after the other in the order of the plan; see
    ``docs/howto/run.md``. What it logs is read back by `read_log`.

    Parameters
    ----------
    plan : Schedule or ScheduleDocument
        The plan; each of its tasks has a command. Only a `Schedule` knows the memory of tasks and VMs; in a document,
        memory is taken to bind wherever it could, and tasks then also wait for what ends before them in the plan.
    folder : path
        Where; made if it does not exist, otherwise it must be empty.
    to : {"shell", "skypilot"}
        What for: scripts for any machine, or also a file for each VM that SkyPilot can launch.
    infra : str, optional
        Where SkyPilot looks for VMs, e.g. ``aws`` or ``aws/us-east-1``; by the types of the VMs if absent.

    Returns
    -------
    list of Path
        The folders of the VMs, or the files of SkyPilot, in the order of the plan.

    Raises
    ------
    InputError
        If a task has no command, or one that no shell can take, or the plan is of no order.
    SpotbagError
        If the folder is not empty or cannot be written to.
    """
    exported = write_export(plan, folder, to, infra)
    return [vm.folder if vm.file is None else vm.file for vm in exported]


@dataclass(frozen=True, slots=True)
class ExportedVm:
    """A VM of an exported plan.

    Attributes
    ----------
    order : VmOrder
        What it runs.
    folder : Path
        Its folder.
    file : Path or None
        Its file for SkyPilot.
    """

    order: VmOrder
    folder: Path
    file: Path | None


def write_export(
    plan: Schedule | ScheduleDocument, folder: str | os.PathLike[str], to: Target, infra: str | None
) -> list[ExportedVm]:
    """Write scripts for the commands of a plan, and list them; see `export_plan`."""
    if to not in TARGETS:
        raise SpotbagError(f"to {to!r}: must be {' or '.join(TARGETS)}")
    if infra is not None and to != "skypilot":
        raise SpotbagError("infra says where SkyPilot looks for VMs, and nothing is exported to it (--to skypilot)")
    refuse_running(plan)
    orders = vm_orders(plan)
    _refuse_commands(task for order in orders for task in order.tasks)
    target = Path(folder)
    names = folder_names([order.vm for order in orders])
    exported = []
    with _made_at_once(target) as made:
        for name, order in zip(names, orders, strict=True):
            _write_vm(made / name, order)
            file = None
            if to == "skypilot":
                file = f"{name}.yaml"
                (made / file).write_text(task_yaml(order, name, target / name, infra), encoding="utf-8")
            exported.append(ExportedVm(order, target / name, None if file is None else target / file))
        (made / VM_LIST).write_text("".join(_vm_lines(names, orders)), encoding="utf-8")
    return exported


def folder_names(vms: Sequence[str]) -> list[str]:
    """Names of folders for VMs: their ids, unless some are none that every file system takes and tells apart."""
    # File systems may take capitals and small letters for the same, and the list of VMs stands beside the folders.
    if all(_SAFE.fullmatch(vm) for vm in vms) and len({vm.lower() for vm in vms} | {VM_LIST}) == len(vms) + 1:
        return list(vms)
    width = len(str(len(vms)))
    return [f"vm-{number:0{width}}-{_UNSAFE.sub('_', vm)[:60]}" for number, vm in enumerate(vms, 1)]


def quoted(text: str) -> str:
    """Return a text as one word of the shell, which stands for exactly that text."""
    return "'" + text.replace("'", "'\\''") + "'"


def _refuse_commands(tasks: Iterable[TaskOrder]) -> None:
    """Refuse tasks without a command, and commands that no shell can be handed."""
    missing, issues = [], []
    for task in tasks:
        if not task.command:
            missing.append(task.planned.task)
        elif "\0" in task.command:
            issues.append(
                Issue("tasks", "has a zero byte in it, which no shell takes", "command", item=task.planned.task)
            )
        elif (size := len(task.command.encode())) > _MOST_BYTES:
            rule = f"has {size:,} bytes, more than the {_MOST_BYTES:,} that a shell can be handed; put it into a script"
            issues.append(Issue("tasks", rule, "command", item=task.planned.task))
    if missing:
        more = f", and {counted(len(missing) - 1, 'other task')} have none either" if len(missing) > 1 else ""
        rule = (
            f"is missing{more}: say what the task runs ('command' in the bag, or a column of that name in a table), "
            "and plan again"
        )
        issues.insert(0, Issue("tasks", rule, "command", item=missing[0]))
    if issues:
        raise InputError("plan", issues[:_MOST_ISSUES])


@contextmanager
def _made_at_once(target: Path) -> Iterator[Path]:
    """Give a folder to write to, which becomes the target when all is written: never half of it."""
    try:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise SpotbagError(f"{target}: is not an empty folder; a plan goes into one of its own")
        parent = target.resolve().parent
        if not parent.is_dir():
            raise SpotbagError(f"{target}: cannot be made: the folder {parent} does not exist")
        made = part_of(target.resolve())
        made.mkdir()
        try:
            yield made
            os.replace(made, target.resolve())
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise SpotbagError(f"{target}: cannot be written: {(error.strerror or str(error)).lower()}") from None


def _write_vm(folder: Path, order: VmOrder) -> None:
    folder.mkdir()
    driver = resources.files(__package__).joinpath("run.sh").read_text(encoding="utf-8")
    (folder / "run.sh").write_text(driver, encoding="utf-8")
    mode = (folder / "run.sh").stat().st_mode
    (folder / "run.sh").chmod(mode | (mode & 0o444) >> 2)  # whoever may read it may run it
    cores = order.cores
    settings = {
        "vm": quoted(order.vm),
        "vm_json": quoted(_json(order.vm)),
        "cores": quoted(" ".join(map(str, cores))),
        "tasks": str(len(order.tasks)),
        "ready_s": str(order.ready_s),
        "waits": str(sum(len(task.waits_for) for task in order.tasks)),
    }
    lines = "".join(f"spotbag_{name}={value}\n" for name, value in settings.items())
    (folder / "vm.sh").write_text(f"# What run.sh runs here.\n{lines}", encoding="utf-8")
    told: dict[int, set[int]] = {}
    for task in order.tasks:
        for number in task.waits_for:
            told.setdefault(number, set()).add(task.planned.core)
    for core in cores:
        tasks = [task for task in order.tasks if task.planned.core == core]
        text = "".join(_task_lines(task, sorted(told.get(task.number, ()))) for task in tasks)
        head = (
            f"# What core {core} runs, in this order: number, name of the files of output, id twice, command, cores.\n"
        )
        # With the ends of lines of Unix everywhere: shells take any other for a part of the command.
        (folder / f"core-{core}.sh").write_text(head + text, encoding="utf-8", newline="\n")


def _task_lines(task: TaskOrder, told: Sequence[int]) -> str:
    planned = task.planned
    name = f"{task.number}-{_UNSAFE.sub('_', planned.task)[:100]}"
    words = [str(task.number), quoted(name), *map(quoted, (_json(planned.task), planned.task, task.command or ""))]
    words += [",".join(map(str, planned.cores))] if planned.cores else []
    waits = f"spotbag_wait_for {' '.join(map(str, task.waits_for))}\n" if task.waits_for else ""
    waits += f"spotbag_wait_until {task.ready_s}\n" if task.ready_s > 0 else ""
    tell = f"spotbag_tell {task.number} {' '.join(map(str, told))}\n" if told else ""
    return f"# planned: {planned.start_s} s to {planned.end_s} s\n{waits}spotbag_task {' '.join(words)}\n{tell}"


def _vm_lines(names: Sequence[str], orders: Sequence[VmOrder]) -> Iterator[str]:
    yield "folder\tvm\ttype\tmarket\tcores\ttasks\tend_s\n"
    for name, order in zip(names, orders, strict=True):
        counts = f"{len(order.cores)}\t{len(order.tasks)}\t{order.end_s}"
        yield f"{name}\t{order.vm}\t{order.type}\t{order.market}\t{counts}\n"


def _json(text: str) -> str:
    """Return a text as JSON in ASCII: what is logged does not depend on the encoding of a shell."""
    return json.dumps(text)


def task_yaml(order: VmOrder, name: str, folder: Path, infra: str | None = None) -> str:
    """Return the file by which SkyPilot rents a VM of a plan and runs its tasks there.

    Parameters
    ----------
    order : VmOrder
        What the VM runs.
    name : str
        Name of its folder.
    folder : Path
        The folder, as seen from where ``sky`` is called.
    infra : str, optional
        Where SkyPilot looks for VMs; of a pool, ``type@zone``, it looks in its zone, unless that is
        ``reserved``.

    Raises
    ------
    SpotbagError
        If that is a zone, and the VM is of a pool, which has its own.
    """
    type_name = order.type if order.zone is None else order.type.removesuffix(f"@{order.zone}")
    if order.zone not in (None, RESERVED):
        place = (infra or "*").split("/")
        if len(place) > 2:
            rule = f"names a zone, and {order.type} has its own: give the cloud and the region, {'/'.join(place[:2])}"
            raise SpotbagError(f"infra {infra!r}: {rule}")
        infra = "/".join([*place, *["*"] * (2 - len(place)), order.zone])
    remote = f"~/spotbag/{name}"
    where = "" if infra is None else f"  infra: {_scalar(infra)}\n"
    return (
        f"# Call it from the folder of your project:  sky launch --cluster {cluster_name(name)} {folder}.yaml\n"
        f"name: {_scalar(cluster_name(name))}\n"
        "workdir: .\n"
        "resources:\n"
        f"{where}"
        f"  instance_type: {_scalar(type_name)}\n"
        f"  use_spot: {'true' if order.market == 'spot' else 'false'}\n"
        "file_mounts:\n"
        f"  {_scalar(remote)}: {_scalar(str(folder))}\n"
        f"run: sh {remote}/run.sh\n"
    )


def cluster_name(name: str) -> str:
    """Return a name as clouds take it: letters, digits and dashes, a letter first."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return plain if plain[:1].isalpha() else f"vm-{plain}"


def _scalar(text: str) -> str:
    """Return a text as a scalar of YAML, in double quotes; what JSON escapes, YAML reads alike."""
    return json.dumps(text, ensure_ascii=False)
