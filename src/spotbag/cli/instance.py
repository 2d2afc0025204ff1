"""``spotbag instance``: list, generate, import, export, schema."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Annotated

import typer

from ..core.text_tables import Column, Table, numbers
from .answers import Answer, Part, Written
from .arguments import (
    InstanceArgument,
    JsonOption,
    check_output,
    load_instance,
    seconds_option,
    spread,
    warn,
    wrote,
)
from .instance_arrivals import import_platform, import_stream
from .instance_clouds import clouds_command
from .instance_import import app as import_app
from .instance_output import OutOption, deliver
from .instance_scenario import EXAMPLE as SCENARIO_EXAMPLE
from .instance_scenario import scenario_command
from .instance_types import prices_command, types_command
from .tables import print_table, seconds

app = typer.Typer(
    no_args_is_help=True,
    help="Instances: list the library, generate, import, export, VM types and prices, clouds, scenarios, schema.",
)
import_app.command(
    "stream", epilog="Example:  spotbag instance import stream arrivals.csv --types c6i.large --out stream.json"
)(spread(import_stream))
import_app.command(
    "platform", epilog="Example:  spotbag instance import platform log.swf --stretch 3 --out platform.json"
)(spread(import_platform))
app.add_typer(import_app, name="import")
app.command(
    "types", epilog="Example:  spotbag instance types --arch arm64 --min-vcpus 2 --max-memory 16GB --sort spot"
)(types_command)
app.command("prices", epilog="Example:  spotbag instance prices --spot-history history.json --out prices.json")(
    prices_command
)
app.command("clouds", epilog="Example:  spotbag instance clouds")(clouds_command)
app.command("scenario", epilog=SCENARIO_EXAMPLE)(scenario_command)


class ListedInstance(Part):
    """An instance of the library."""

    name: str
    tasks: int
    entries: int
    vm_types: int
    deadline_s: int
    memory_may_bind: bool
    source: str


class InstanceList(Answer, kind="instance-list"):
    """``spotbag instance list``."""

    instances: tuple[ListedInstance, ...]
    streams: tuple[str, ...]
    platforms: tuple[str, ...]


class Document(StrEnum):
    """Documents by the names under which their schemas are printed."""

    INSTANCE = "instance"
    SCHEDULE = "schedule"
    STATE = "state"
    TIMELINE = "timeline"
    SCENARIO = "scenario"
    STREAM = "stream"
    PLATFORM = "platform"
    CATALOGUE = "catalogue"


@app.command("list", epilog="Example:  spotbag instance list")
def list_command(as_json: JsonOption = False) -> None:
    """List the library instances, and name its streams of jobs and its hybrid platforms."""
    from ..instances.library import library_instance, library_names, platform_names, stream_names

    rows = []
    for name in library_names():
        instance = library_instance(name)
        source = instance.provenance.source if instance.provenance else ""
        rows.append(
            ListedInstance.of(
                instance,
                name=name,
                tasks=instance.n_tasks,
                entries=len(instance.tasks),
                vm_types=len(instance.vm_types),
                memory_may_bind=not bool(instance.memory_never_binds.all()),
                source=source,
            )
        )
    if as_json:
        names = {"streams": tuple(stream_names()), "platforms": tuple(platform_names())}
        InstanceList(instances=tuple(rows), **names).print_json()
        return
    columns = [
        Column("name"),
        *numbers("tasks", "entries", "VM types", "deadline (s)"),
        Column("memory"),
        Column("source"),
    ]
    cells = [
        [
            row.name,
            f"{row.tasks:,}",
            f"{row.entries:,}",
            str(row.vm_types),
            seconds(row.deadline_s),
            "may bind" if row.memory_may_bind else "never binds",
            row.source,
        ]
        for row in rows
    ]
    print_table(Table(columns, cells))
    print(f"Streams of jobs, for 'spotbag stream' and 'spotbag size': {', '.join(stream_names())}")
    print(f"Hybrid platforms, for 'spotbag platform': {', '.join(platform_names())}")


@dataclass(frozen=True, kw_only=True)
class GeneratorOptions:
    """Options of a random instance, by the names that `generate_instance` has for them."""

    n_tasks: Annotated[int, typer.Option("--tasks", metavar="N", help="Number of tasks.")] = 100
    classes: Annotated[
        int | None,
        typer.Option("--classes", metavar="N", help="Classes of identical tasks; each task on its own if absent."),
    ] = None
    distinct: Annotated[bool, typer.Option("--distinct", help="Make the run times pairwise distinct.")] = False
    runtime_s: Annotated[
        str,
        typer.Option(
            "--runtime",
            metavar="DIST",
            help="Run time (s): constant:V, uniform:LO:HI, normal:MEAN:SD, lognormal:MEDIAN:SIGMA, beta:MIN:MEAN:MAX.",
        ),
    ] = "beta:102:198:323"
    memory_mb: Annotated[str, typer.Option("--memory", metavar="DIST", help="Memory in MB, likewise.")] = (
        "beta:2.85:4.69:12.2"
    )
    catalogue: Annotated[
        str, typer.Option("--catalogue", metavar="NAME", help="VM types: hads, burst-hads, memory or burstable.")
    ] = "burst-hads"
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="VMs of each type and market at most.")] = 5
    max_on_demand: Annotated[
        int, typer.Option("--max-on-demand", metavar="N", min=0, help="On-demand VMs at most.")
    ] = 20
    tightness: Annotated[
        float,
        typer.Option("--tightness", metavar="F", help="Least time on all cores divided by the deadline, in (0, 1]."),
    ] = 0.5
    deadline_s: Annotated[int | None, seconds_option("--deadline", "Deadline, instead of the tightness.")] = None
    d_spot_fraction: Annotated[
        float,
        typer.Option(
            "--d-spot-fraction",
            metavar="F",
            help="D_spot as a fraction of the deadline; none if negative.",
        ),
    ] = 0.8
    seed: Annotated[int, typer.Option("--seed", metavar="SEED", min=0, help="Same seed, same instance.")] = 0
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Name of the instance.")] = None


@app.command(
    "generate", epilog="Example:  spotbag instance generate --tasks 500 --runtime lognormal:300:0.8 --out bag.json"
)
@spread
def generate_command(of: GeneratorOptions, out: OutOption = None, as_json: JsonOption = False) -> None:
    """Generate a random instance."""
    from ..instances.bags.generator import generate_instance

    check_output(out)
    share = None if of.d_spot_fraction < 0 else of.d_spot_fraction
    deliver(generate_instance(**asdict(of) | {"d_spot_fraction": share}), out, as_json, [])


@app.command("export", epilog="Example:  spotbag instance export hads/J60 --job job.json --env env.json")
def export_command(
    instance: InstanceArgument,
    job: Annotated[str, typer.Option("--job", metavar="FILE", help="Where to write job.json.")],
    env: Annotated[str, typer.Option("--env", metavar="FILE", help="Where to write env.json.")],
    plan: Annotated[
        str | None, typer.Option("--plan", metavar="FILE", help="A plan for it, to be exported as well.")
    ] = None,
    map_file: Annotated[
        str | None, typer.Option("--map", metavar="FILE", help="Where to write it as map.json.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Export to the files of the HADS and Burst-HADS authors."""
    from ..core.errors import SpotbagError
    from ..instances.bags.hads_files import write_hads_files
    from ..schedules.hads_map import write_hads_map
    from ..schedules.schedule_files import read_schedule

    if (map_file is None) != (plan is None):
        raise SpotbagError("--plan and --map go together: the plan to read, and where to write the map")
    check_output(job, instance, plan, env, map_file)
    check_output(env, instance, plan, map_file)
    check_output(map_file, instance, plan)
    problem = load_instance(instance)
    schedule = None if plan is None else read_schedule(plan, problem)
    warnings = write_hads_files(problem, job, env)
    if schedule is not None and map_file is not None:
        write_hads_map(schedule, map_file)
    warn(warnings)
    written = [path for path in (job, env, map_file) if path is not None]
    if as_json:
        Written(instance=problem.name, written=tuple(written), warnings=tuple(warnings)).print_json()
    for path in written:
        wrote(path)


@app.command("schema", epilog="Example:  spotbag instance schema > instance.schema.json")
def schema_command(
    of: Annotated[Document, typer.Option("--of", help="Which document.")] = Document.INSTANCE,
) -> None:
    """Print the JSON Schema of instances, plans, states, days, scenarios, streams, hybrid platforms, or catalogues."""
    from ..instances.bags.vm_catalogue import Catalogue
    from ..instances.instance import Instance
    from ..instances.platforms.platform import Platform
    from ..instances.streams.stream import Stream
    from ..schedules.schedule_files import schedule_schema
    from ..schedules.state import State

    if of is Document.TIMELINE:
        from ..instances.bags.timeline import timeline_schema

        print(timeline_schema(), end="")
        return
    if of is Document.SCENARIO:
        from ..instances.bags.scenario_files import scenario_schema

        print(scenario_schema(), end="")
        return
    schemas = {
        Document.INSTANCE: Instance.schema_text,
        Document.SCHEDULE: schedule_schema,
        Document.STATE: State.schema_text,
        Document.STREAM: Stream.schema_text,
        Document.CATALOGUE: Catalogue.schema_text,
        Document.PLATFORM: Platform.schema_text,
    }
    print(schemas[of](), end="")
