"""``spotbag instance import``: bags of tasks from files of other formats."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from ..core.errors import SpotbagError
from ..core.text_files import read_text, source_name
from ..instances.table_formats import FORMATS
from .answers import deliver_instance
from .arguments import CsvOptions, TaskFileOptions
from .arrivals import OF_PLATFORMS, OF_STREAMS, JobOptions, PlatformFileOptions, StreamFileOptions, deliver_jobs
from .console import warn, wrote
from .options import adder, argument, json_option, option, out_option, seconds_option

if TYPE_CHECKING:
    from ..instances.bags.imported import Imported
    from ..instances.table_formats import TableFormat


class _Formats(TyperGroup):
    """Formats; the files of HADS are read without a name of theirs, too, as they once were."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the name of the format."""
        # Files of HADS were the first that could be imported, when no format had to be named.
        if args and args[0].startswith("-") and args[0] not in ctx.help_option_names:
            args = ["hads", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=_Formats, no_args_is_help=True, help="Import a bag of tasks from files of other formats.")
_command = adder(app, "instance import")

_arrivals_argument = partial(argument, "FILE", "A table, or a log in SWF or GWF; - for standard input.", file="read")
_log_argument = partial(argument, "LOG", "The log, - for standard input.", file="read")
_deadline_option = partial(seconds_option, "All tasks end by then: 2h, 1h30m or seconds.", ...)


@dataclass(frozen=True, kw_only=True)
class Import:
    """Options of all formats that name no VM types: name of the instance, and its file."""

    name: str | None = option("NAME", "Name of the instance; that of the file if absent.")
    out: str | None = out_option()
    as_json: bool = json_option()

    def deliver(self, imported: Imported) -> None:
        """Write the instance that is made of a file, or print it."""
        warn(imported.warnings)
        deliver_instance(imported.instance, self.out, self.as_json, imported.warnings)


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


def _help(form: TableFormat) -> str:
    """Return the help of the command that imports a format.

    People choose the headings of a format of ours, so its help explains these; a tool fixes those of its own files.
    """
    if form.own:
        return f"Import {form.title}: a row for each, or for several that are the same.{_HEADINGS}"
    columns = "\n    ".join(f"{role}: {', '.join(names)}." for role, names in form.columns.items())
    return f"""Import {form.title}.

    Made by: {form.source}.

    What is read, of several columns the first that says something:
    {columns}

    Tasks that did not end well, or took no time, are left out, which is said.
    """


def _add_import(form: TableFormat) -> None:
    """Add the import of a format of tasks."""

    def command(
        *,
        tasks: str = argument("TASKS", "The file, - for standard input.", file="read"),
        deadline: int = _deadline_option(),
        vms: CsvOptions,
        to: Import,
    ) -> None:
        to.deliver(vms.imported(tasks, vms.asked(deadline, to.name), form.name))

    command.__doc__ = _help(form)
    # An example must run: a format without memory needs it by the option.
    memory = "" if "memory" in form.columns else " --memory 1GB"
    _command(form.name, f"{form.example} --types c6i.large,m6i.xlarge --deadline 2h --out bag.json{memory}")(command)


for _form in FORMATS.values():
    _add_import(_form)


@_command("swf", "log.swf --types c6i.large --user 12 --memory 1GB --deadline 1d --out bag.json")
def swf_command(
    *,
    log: str = _log_argument(),
    deadline: int = _deadline_option(),
    jobs: JobOptions,
    vms: TaskFileOptions,
    to: Import,
) -> None:
    """Import jobs of a log in the Standard Workload Format (Parallel Workloads Archive).

    Jobs of the same run time and memory are one entry with a count. The memory of a job is what it used for each core,
    or what it asked for.
    """
    from ..instances.bags.job_logs import instance_of_log

    to.deliver(instance_of_log(log, "swf", vms.asked(deadline, to.name), jobs.filter(vms.multi_core)))


@_command("gwf", "log.gwf --types c6i.large --bag 7 --memory 1GB --deadline 1d --out bag.json")
def gwf_command(
    *,
    log: str = _log_argument(),
    deadline: int = _deadline_option(),
    jobs: JobOptions,
    vms: TaskFileOptions,
    bag: str | None = option("ID", "Jobs of this bag of tasks."),
    to: Import,
) -> None:
    """Import jobs of a log in the Grid Workloads Format (Grid Workloads Archive), which names bags of tasks."""
    from ..instances.bags.job_logs import instance_of_log

    to.deliver(instance_of_log(log, "gwf", vms.asked(deadline, to.name), jobs.filter(vms.multi_core, bag)))


@_command("hads", "--job job.json --env env.json --deadline 2700 --out j100.json")
def hads_command(
    *,
    job: str = option("FILE", "job.json: the tasks.", ..., file="read"),
    env: str = option("FILE", "env.json: the VM types.", ..., file="read"),
    deadline: int = seconds_option("Deadline; it is in neither file.", ...),
    d_spot: int | None = seconds_option("D_spot: spot VMs end by then."),
    out: str | None = out_option(),
    map_file: str | None = option("FILE", "map.json: a plan for the job, to be read as well.", name="map", file="read"),
    plan: str | None = option("FILE", "Where to write that plan.", file="written"),
    as_json: bool = json_option(),
) -> None:
    """Import the files of the HADS and Burst-HADS authors."""
    from ..instances.bags.hads_files import read_hads_files
    from ..schedules.hads_map import read_hads_map
    from ..schedules.schedule_files import write_schedule

    if (map_file is None) != (plan is None):
        raise SpotbagError("--map and --plan go together: the map to read, and where to write the plan")
    imported = read_hads_files(job, env, deadline, d_spot)
    warnings = list(imported.warnings)
    if map_file is not None and plan is not None:
        schedule, more = read_hads_map(map_file, imported.instance)
        warnings += more
    warn(warnings)
    deliver_instance(imported.instance, out, as_json, warnings)
    if map_file is not None and plan is not None:
        write_schedule(schedule, plan, "imported map")
        wrote(plan)


@_command("stream", "arrivals.csv --types c6i.large --out stream.json")
def stream_command(
    *,
    file: str = _arrivals_argument(),
    options: Annotated[StreamFileOptions, OF_STREAMS],
    out: str | None = out_option(),
    as_json: bool = json_option(),
) -> None:
    """Import jobs that arrive over time as a stream: a table, or a log in SWF or GWF.

    Headings say what a column holds: arrival (a date, seconds of the epoch, or arrival_s), runtime_s, count (tasks),
    deadline or within_s (from the arrival on), application, id. All times count from the first arrival.
    """
    deliver_jobs(options.make(read_text(file), source_name(file)), out, as_json)


@_command("platform", "log.swf --stretch 3 --out platform.json")
def platform_command(
    *,
    file: str = _arrivals_argument(),
    options: Annotated[PlatformFileOptions, OF_PLATFORMS],
    out: str | None = out_option(),
    as_json: bool = json_option(),
) -> None:
    """Import jobs that arrive over time as malleable jobs of a platform: a table, or a log in SWF or GWF.

    Headings are those of a stream, and budget and priority. The work of a job is what all its tasks run for.
    """
    deliver_jobs(options.make(read_text(file), source_name(file)), out, as_json)
