"""Plans of a few commands, written as folders of scripts and run by a shell of this machine."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from spotbag.executors.shell import export_plan
from spotbag.schedules.documents import PlacedTask, RentedVm, ScheduleDocument

BAG_WITH_COMMANDS: dict[str, Any] = {
    "format": "spotbag.instance/1",
    "name": "own",
    "deadline_s": 30,
    "d_spot_s": 25,
    "boot_overhead_s": 5,
    "vm_types": [
        {"name": "two", "vcpus": 2, "memory_mb": 100, "offers": {"spot": {"price_usd_per_hour": 0.1, "limit": 2}}}
    ],
    "tasks": [
        {"id": "a", "memory_mb": 10, "runtime_s": {"two": 1}, "command": 'echo it\\\'s "$SPOTBAG_TASK"'},
        {"id": "b", "memory_mb": 10, "runtime_s": {"two": 2}, "command": "exit 4"},
    ],
}
"""A bag of two tasks, one of which fails."""

Row = tuple[str, str, int, int, int, str | None]
"""Task, VM, core, start, end and command."""


def document_of(rows: Iterable[Row]) -> ScheduleDocument:
    """Return a plan; its VMs are those that the rows name."""
    tasks = [
        PlacedTask(id=task, vm=vm, core=core, start_s=start, end_s=end, command=command)
        for task, vm, core, start, end, command in rows
    ]
    vms = tuple(RentedVm(id=vm, type="c5.large", market="spot") for vm in dict.fromkeys(task.vm for task in tasks))
    return ScheduleDocument(instance="own", vms=vms, tasks=tuple(tasks))


def core_of(commands: Sequence[str], vm: str = "vm", core: int = 0) -> list[Row]:
    """Return tasks of one core, a second each, called ``t1`` and so on; of other cores, ``t1-1``."""
    suffix = f"-{core}" if core else ""
    return [(f"t{number}{suffix}", vm, core, number - 1, number, text) for number, text in enumerate(commands, 1)]


def exported(rows: Iterable[Row], folder: Path) -> Path:
    """Write a plan of one VM to a folder, and return the folder of the VM."""
    [path] = export_plan(document_of(rows), folder)
    return path


def drive(vm: Path, path: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run what a VM runs, and wait for its end; programs are looked for in the folders of ``path`` first."""
    return subprocess.run(
        ["sh", str(vm / "run.sh")], capture_output=True, text=True, check=False, env=environment(path), cwd=cwd or vm
    )


def environment(path: str = "") -> dict[str, str]:
    """Return the environment, with folders in which programs are looked for first."""
    return os.environ | {"PATH": f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]}


def log_of(vm: Path) -> list[dict[str, Any]]:
    """Return the lines of a log."""
    return [json.loads(line) for line in (vm / "log.jsonl").read_text().splitlines() if line]


def events_of(vm: Path, event: str) -> list[str]:
    """Return the tasks of the lines of one kind, in order."""
    return [line["task"] for line in log_of(vm) if line["event"] == event]
