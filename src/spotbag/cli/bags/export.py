"""``spotbag export``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.errors import SpotbagError
from ...core.text_tables import number, words
from ..answers import Answer, Part
from ..arguments import InstanceOptions
from ..console import print_rows, warn, wrote
from ..options import argument, json_option, of_plan_option, option, state_option

if TYPE_CHECKING:
    from ...executors.orders import Target
    from ...executors.shell import ExportedVm

EXAMPLE = "Example:  spotbag export plan.json --to shell --out run   then   sh run/c5.large-spot-1/run.sh"


class ExportedFolder(Part):
    """A VM of an exported plan: its folder, its file for SkyPilot if there is one, and what it runs."""

    vm: str
    type: str
    market: str
    folder: str
    file: str | None
    cores: int
    tasks: int
    end_s: int


class Export(Answer, kind="export"):
    """``spotbag export``."""

    instance: str
    to: Target
    folder: str
    vms: tuple[ExportedFolder, ...]

    def print_text(self) -> None:
        """Print a row for each VM, with the command that runs it."""
        wrote(self.folder)
        command = words(
            "run" if self.to == "shell" else "launch",
            lambda vm: f"sh {vm.folder}/run.sh" if vm.file is None else f"sky launch {vm.file}",
        )
        print_rows(
            self.vms,
            *(words("VM", "vm"), words("type"), words("market"), command, number("cores"), number("tasks")),
            number("last end (s)", "end_s", ","),
        )


def export_command(
    *,
    plan: str = argument("PLAN", "A plan (JSON), or - for standard input.", file="read"),
    changes: InstanceOptions,
    out: str = option("FOLDER", "Where; a folder that is empty or does not exist.", ...),
    to: str = option("TARGET", "What for: shell, or skypilot (files for it, too).", "shell"),
    infra: str | None = option("PLACE", "Where SkyPilot looks for VMs: aws, or aws/us-east-1."),
    instance: str | None = of_plan_option(),
    state: str | None = state_option(),
    as_json: bool = json_option(),
) -> None:
    """Write what runs the commands of a plan: a folder for each VM, with a script that runs its tasks.

    On a VM, 'sh run.sh' runs each core's tasks one after the other as planned; started again, it goes on where it was.
    With the instance, tasks wait for others only where the memory of a VM may bind; without it, wherever it could.
    Exit code 0: done; 2: bad input.
    """
    from ...executors.orders import TARGETS
    from ...executors.shell import write_export
    from ...schedules.schedule_files import read_schedule_document

    target = next((name for name in TARGETS if name == to), None)
    if target is None:
        raise SpotbagError(f"--to {to}: must be {' or '.join(TARGETS)}")
    # The target is refused first: reading a large plan takes longer.
    document = read_schedule_document(plan)
    schedule = changes.plan_or_none(document, instance, plan, state)
    # Without its instance, a plan can be exported as the document says it.
    exported = write_export(schedule or document, out, target, infra)
    if not exported:
        warn(["the plan has no tasks"])
    Export(instance=document.instance, to=target, folder=out, vms=tuple(map(_exported, exported))).show(as_json)


def _exported(vm: ExportedVm) -> ExportedFolder:
    file, order = None if vm.file is None else str(vm.file), vm.order
    return ExportedFolder.of(order, folder=str(vm.folder), file=file, cores=len(order.cores), tasks=len(order.tasks))
