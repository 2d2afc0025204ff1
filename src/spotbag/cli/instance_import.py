"""``spotbag instance import``: bags of tasks from files of other formats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from ..instances.bags.task_formats import FORMATS
from .arguments import (
    CsvOptions,
    JsonOption,
    TaskFileOptions,
    check_output,
    duration_option,
    names_in,
    seconds_option,
    spread,
    warn,
    wrote,
)
from .instance_output import OutOption, deliver, to_file

if TYPE_CHECKING:
    from ..instances.bags.imported import Asked, Imported, MultiCore
    from ..instances.bags.job_logs import JobFilter
    from ..instances.bags.task_formats import TaskFormat


class _Formats(TyperGroup):
    """Formats; the files of HADS are read without a name of theirs, too, as they once were."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the name of the format."""
        if args and args[0].startswith("-") and args[0] not in ctx.help_option_names:
            args = ["hads", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=_Formats, no_args_is_help=True, help="Import a bag of tasks from files of other formats.")

DeadlineOption = Annotated[int, seconds_option("--deadline", "All tasks end by then: 2h, 1h30m or seconds.")]


@dataclass(frozen=True, kw_only=True)
class Import:
    """Options of all formats that name no VM types: name of the instance, and its file."""

    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Name of the instance; that of the file if absent.")
    ] = None
    out: OutOption = None
    as_json: JsonOption = False

    def asked(self, source: str, deadline: int, vms: TaskFileOptions) -> Asked:
        """Refuse to write over the file that is read; return what its tasks shall run on, and by when."""
        check_output(to_file(self.out), source, vms.prices)
        return vms.asked(deadline, self.name)

    def deliver(self, imported: Imported) -> None:
        """Write the instance that is made of a file, or print it."""
        warn(imported.warnings)
        deliver(imported.instance, self.out, self.as_json, imported.warnings)


_USUAL = Import()


_HEADINGS = """

    Headings say what a column holds and in which unit.
    id, command, count, cores, architecture, status, exit: the task, or several that are the same.
    market, preemptible: spot, on-demand or any; whether it may be preempted.
    memory_mb, memory_gb, memory_kb: what it needs while it runs.
    runtime_s, runtime_min, runtime_h: its run time on all types.
    runtime_s[TYPE] or TYPE_min: its run time on a type; it cannot run there if empty.

    Case, blanks and hyphens do not matter.
    A cell may have its own unit: 2GB, 1h30m, 00:12:30.
    Cells are divided by comma, semicolon, tab or bar.
    A column that is not understood is refused, unless it is left out by its name.
"""


def _help(form: TaskFormat) -> str:
    """Return the help of the import of a format."""
    if form.own:
        return f"Import {form.title}: a row for each, or for several that are the same.{_HEADINGS}"
    columns = "\n    ".join(f"{role}: {', '.join(names)}." for role, names in form.columns.items())
    return f"""Import {form.title}.

    Made by: {form.source}.

    What is read, of several columns the first that says something:
    {columns}

    Tasks that did not end well, or took no time, are left out, which is said.
    """


def _add_import(form: TaskFormat) -> None:
    """Add the import of a format."""

    def command(tasks: TasksArgument, deadline: DeadlineOption, vms: CsvOptions, to: Import = _USUAL) -> None:
        to.deliver(vms.imported(tasks, to.asked(tasks, deadline, vms), form.name))

    command.__doc__ = _help(form)
    options = "--types c6i.large,m6i.xlarge --deadline 2h --out bag.json"
    memory = "" if "memory" in form.columns else " --memory 1GB"
    example = f"Example:  spotbag instance import {form.name} {form.example} {options}{memory}"
    app.command(form.name, epilog=example)(spread(command))


TasksArgument = Annotated[str, typer.Argument(metavar="TASKS", help="The file, - for standard input.")]
for _form in FORMATS.values():
    _add_import(_form)
LogArgument = Annotated[str, typer.Argument(metavar="LOG", help="The log, - for standard input.")]


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """Choice of the jobs of a log."""

    user: Annotated[str | None, typer.Option("--user", metavar="ID", help="Jobs of this user.")] = None
    submitted_from: Annotated[
        float | None, duration_option("--from", "Jobs submitted from this time of the log on: 2d, 36h or seconds.")
    ] = None
    submitted_to: Annotated[float | None, duration_option("--to", "Jobs submitted before this time of the log.")] = None
    status: Annotated[
        str, typer.Option("--status", metavar="CODES", help="Jobs with one of these by commas: 1 completed, or all.")
    ] = "1,-1"
    requested: Annotated[
        bool, typer.Option("--requested-times", help="Take the requested time of a job, not the one it took.")
    ] = False
    jobs: Annotated[int | None, typer.Option("--jobs", metavar="N", min=1, help="The first N of these jobs only.")] = (
        None
    )

    def filter(self, multi_core: MultiCore = "refuse", bag: str | None = None) -> JobFilter:
        """Return the options as a filter of jobs."""
        from ..core.errors import SpotbagError
        from ..core.quantities import number_of
        from ..instances.bags.job_logs import JobFilter

        codes = [] if self.status == "all" else [number_of(code) for code in names_in([self.status])]
        if any(code is None or not code.is_integer() for code in codes):
            raise SpotbagError(f"--status {self.status}: must be whole numbers by commas, or all")
        return JobFilter(
            user=self.user,
            bag=bag,
            from_s=self.submitted_from,
            to_s=self.submitted_to,
            statuses=tuple(int(code) for code in codes if code is not None),
            requested_times=self.requested,
            multi_core=multi_core,
            most_jobs=self.jobs,
        )


@app.command(
    "swf",
    epilog="Example:  spotbag instance import swf log.swf --types c6i.large --user 12 --memory 1GB --deadline 1d "
    "--out bag.json",
)
@spread
def swf_command(
    log: LogArgument,
    deadline: DeadlineOption,
    jobs: JobOptions,
    vms: TaskFileOptions,
    to: Import = _USUAL,
) -> None:
    """Import jobs of a log in the Standard Workload Format (Parallel Workloads Archive).

    Jobs of the same run time and memory are one entry with a count. The memory of a job is what it used for each core,
    or what it asked for.
    """
    from ..instances.bags.job_logs import instance_of_log

    to.deliver(instance_of_log(log, "swf", to.asked(log, deadline, vms), jobs.filter(vms.multi_core.value)))


@app.command(
    "gwf",
    epilog="Example:  spotbag instance import gwf log.gwf --types c6i.large --bag 7 --memory 1GB --deadline 1d "
    "--out bag.json",
)
@spread
def gwf_command(
    log: LogArgument,
    deadline: DeadlineOption,
    jobs: JobOptions,
    vms: TaskFileOptions,
    bag: Annotated[str | None, typer.Option("--bag", metavar="ID", help="Jobs of this bag of tasks.")] = None,
    to: Import = _USUAL,
) -> None:
    """Import jobs of a log in the Grid Workloads Format (Grid Workloads Archive), which names bags of tasks."""
    from ..instances.bags.job_logs import instance_of_log

    to.deliver(instance_of_log(log, "gwf", to.asked(log, deadline, vms), jobs.filter(vms.multi_core.value, bag)))


@app.command(
    "wfformat",
    epilog="Example:  spotbag instance import wfformat blast.json --types c6i.large --deadline 2h --out bag.json",
)
@spread
def wfformat_command(
    workflow: Annotated[str, typer.Argument(metavar="WORKFLOW", help="A JSON file, - for standard input.")],
    deadline: DeadlineOption,
    vms: TaskFileOptions,
    stage: Annotated[
        str | None, typer.Option("--stage", metavar="NAME", help="Tasks of this name or category only.")
    ] = None,
    to: Import = _USUAL,
) -> None:
    """Import a workflow of WfCommons (WfFormat 1.4 or 1.5), or one stage, whose tasks do not depend on each other."""
    from ..instances.bags.wfformat import instance_of_wfformat

    asked = to.asked(workflow, deadline, vms)
    to.deliver(instance_of_wfformat(workflow, asked, stage=stage, multi_core=vms.multi_core.value))


@app.command(
    "hads",
    epilog="Example:  spotbag instance import hads --job job.json --env env.json --deadline 2700 --out j100.json",
)
def hads_command(
    job: Annotated[str, typer.Option("--job", metavar="FILE", help="job.json: the tasks.")],
    env: Annotated[str, typer.Option("--env", metavar="FILE", help="env.json: the VM types.")],
    deadline: Annotated[int, seconds_option("--deadline", "Deadline; it is in neither file.")],
    d_spot: Annotated[int | None, seconds_option("--d-spot", "D_spot: spot VMs end by then.")] = None,
    out: OutOption = None,
    map_file: Annotated[
        str | None, typer.Option("--map", metavar="FILE", help="map.json: a plan for the job, to be read as well.")
    ] = None,
    plan: Annotated[str | None, typer.Option("--plan", metavar="FILE", help="Where to write that plan.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Import the files of the HADS and Burst-HADS authors."""
    from ..core.errors import SpotbagError
    from ..instances.bags.hads_files import read_hads_files
    from ..schedules.hads_map import read_hads_map
    from ..schedules.schedule_files import write_schedule

    if (map_file is None) != (plan is None):
        raise SpotbagError("--map and --plan go together: the map to read, and where to write the plan")
    check_output(to_file(out), job, env, map_file, plan)
    check_output(plan, job, env, map_file)
    imported = read_hads_files(job, env, deadline, d_spot)
    warnings = list(imported.warnings)
    if map_file is not None and plan is not None:
        schedule, more = read_hads_map(map_file, imported.instance)
        warnings += more
    warn(warnings)
    deliver(imported.instance, out, as_json, warnings)
    if map_file is not None and plan is not None:
        write_schedule(schedule, plan, "imported map")
        wrote(plan)
