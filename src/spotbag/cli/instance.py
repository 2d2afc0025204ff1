"""``spotbag instance``: list, generate, export, clouds, scenarios, schema."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import typer

from ..core.errors import SpotbagError
from ..core.text_tables import number, words
from .answers import Answer, Part, Written, column, deliver_instance, listing
from .arguments import check_output, check_outputs, load_instance, refuse_two_from_standard_input, to_file
from .console import print_rows, warn, wrote
from .instance_import import app as import_app
from .instance_types import prices_command, types_command
from .options import adder, argument, instance_argument, json_option, names_of, option, out_option, seconds_option
from .scenario_options import ScenarioOptions, notes_of

if TYPE_CHECKING:
    from ..instances.clouds import Cloud
    from ..instances.entries import CloudName

app = typer.Typer(
    no_args_is_help=True,
    help="Instances: list the library, generate, import, export, VM types and prices, clouds, scenarios, schema.",
)
app.add_typer(import_app, name="import")
_command = adder(app, "instance")
_command("types", "--arch arm64 --min-vcpus 2 --max-memory 16GB --sort spot")(types_command)
_command("prices", "--spot-history history.json --out prices.json")(prices_command)


_HOW_TO_USE = """\
'spotbag replay --cloud NAME' follows the rules of one, and so does an instance or a scenario that names it; other
options of 'replay' change single rules. Disks are not counted: VMs that are stopped or hibernated cost nothing,
unless --stopped-rate or --hibernated-rate gives a price for their memory."""


class Clouds(Answer, kind="clouds"):
    """``spotbag instance clouds``."""

    clouds: tuple[Cloud, ...]

    def print_text(self) -> None:
        """Print a row for each cloud, what it does in words, and where that is from."""
        verbs = {"hibernate": "hibernates", "stop": "is stopped", "terminate": "is terminated"}

        def billed(cloud: Cloud) -> str:
            billing = cloud.billing
            by = "by the second" if billing.block_s == 1 else f"by {billing.block_s:,} s"
            return by + (f", at least {billing.minimum_s} s" if billing.minimum_s else "")

        print_rows(
            self.clouds,
            words("cloud", "name"),
            words("a spot VM taken away", lambda cloud: verbs[cloud.interruption]),
            number("notice\n(s)", "notice_s"),
            words("billed", billed),
            words("first hour", lambda cloud: "free if interrupted" if cloud.billing.first_hour_free else "paid"),
            words("as of", "date"),
        )
        by_source: dict[str, list[str]] = {}
        for cloud in self.clouds:
            print(f"{cloud.name}: {cloud.summary}")
            by_source.setdefault(cloud.source, []).append(cloud.name)
        print(f"\n{_HOW_TO_USE}\n")
        for source, names in by_source.items():
            print(f"source of {', '.join(names)}: {source}")


class ListedInstance(Part):
    """An instance of the library."""

    name: str = column(words("name"))
    tasks: int = column(number("tasks", form=","))
    entries: int = column(number("entries", form=","))
    vm_types: int = column(number("VM types", "vm_types"))
    deadline_s: int = column(number("deadline (s)", "deadline_s", ","))
    memory_may_bind: bool = column(words("memory", lambda row: "may bind" if row.memory_may_bind else "never binds"))
    source: str = column(words("source"))


class InstanceList(Answer, kind="instance-list"):
    """``spotbag instance list``."""

    instances: tuple[ListedInstance, ...] = listing(*ListedInstance.columns())
    streams: tuple[str, ...]
    platforms: tuple[str, ...]

    def print_text(self) -> None:
        """Print a row for each instance, and the names of the rest."""
        super().print_text()
        print(f"Streams of jobs, for 'spotbag stream' and 'spotbag size': {', '.join(self.streams)}")
        print(f"Hybrid platforms, for 'spotbag platform': {', '.join(self.platforms)}")


@_command("clouds")
def clouds_command(*, as_json: bool = json_option()) -> None:
    """List the clouds whose rules replays can follow, with their sources."""
    from ..instances.clouds import CLOUDS

    Clouds(clouds=tuple(CLOUDS.values())).show(as_json)


@_command("scenario", "hads/sc4 --day 13 --instance hads/J60 --out day.json")
def scenario_command(
    *,
    scenario: str = argument(
        "SCENARIO",
        "A name, such as hads/sc4, or a file: a day, a scenario, a trace of availability, a history of prices.",
        completes=names_of("instances.bags.scenarios", "SCENARIOS"),
    ),
    options: ScenarioOptions,
    day: int | None = option("K", "Only day K of the seed, for --instance.", min=0),
    instance: str | None = option("INSTANCE", "The instance that meets the day."),
    seed: int = option("SEED", "Seed of the day.", 0, min=0),
    cloud: str | None = option(
        "NAME",
        "Whose rules hold; that of the scenario, if it says so, if absent.",
        completes=names_of("instances.clouds", "CLOUDS"),
    ),
    name: str | None = option("NAME", "What it is called."),
    out: str | None = option("FILE", "Where to write it; standard output if absent or -."),
) -> None:
    """Write a scenario, or one day of it, as a file that --scenario of 'replay' takes."""
    from ..instances.bags.scenario_files import changed_scenario, format_scenario, write_scenario
    from ..instances.bags.scripted_days import ScriptedScenario
    from ..instances.clouds import find_cloud

    # A day is drawn for the VM types of a bag: without one there is only the scenario.
    if (day is None) != (instance is None):
        raise SpotbagError("--day and --instance go together: which day, and for which instance it is drawn")
    path = to_file(out)
    check_output(path, scenario, instance)
    refuse_two_from_standard_input(scenario, instance)
    found = options.find(scenario)
    if day is not None and instance is not None:
        problem = load_instance(instance)
        timeline = found.day(problem, seed, day)
        warn(notes_of(found, problem))
        found = ScriptedScenario(timeline, scenario, found.cloud)
    named: CloudName | None = None if cloud is None else find_cloud(cloud).name  # type: ignore[assignment]
    found = changed_scenario(found, name=name, cloud=named)
    if path is None:
        print(format_scenario(found), end="")
        return
    write_scenario(found, path)
    wrote(path, found.name)


@_command("list")
def list_command(*, as_json: bool = json_option()) -> None:
    """List the library instances, and name its streams of jobs and its hybrid platforms."""
    from ..instances.library import library_instance, library_names, platform_names, stream_names

    def listed(name: str) -> ListedInstance:
        instance = library_instance(name)
        return ListedInstance.of(
            instance,
            tasks=instance.n_tasks,
            entries=len(instance.tasks),
            vm_types=len(instance.vm_types),
            memory_may_bind=instance.slots.count_memory and not instance.memory_never_binds.all(),
            source=instance.provenance.source if instance.provenance else "",
        )

    names = {"streams": tuple(stream_names()), "platforms": tuple(platform_names())}
    InstanceList(instances=tuple(map(listed, library_names())), **names).show(as_json)


@dataclass(frozen=True, kw_only=True)
class GeneratorOptions:
    """Options of a random instance, by the names that `generate_instance` has for them."""

    n_tasks: int = option("N", "Number of tasks.", 100, name="tasks")
    classes: int | None = option("N", "Classes of identical tasks; each task on its own if absent.")
    distinct: bool = option(None, "Make the run times pairwise distinct.", False)
    runtime_s: str = option(
        "DIST",
        "Run time (s): constant:V, uniform:LO:HI, normal:MEAN:SD, lognormal:MEDIAN:SIGMA, beta:MIN:MEAN:MAX.",
        "beta:102:198:323",
        name="runtime",
    )
    memory_mb: str = option("DIST", "Memory in MB, likewise.", "beta:2.85:4.69:12.2", name="memory")
    cores: str = option("N,...", "Numbers of cores that tasks need, each as often: 1,2,4,8. Memory is for each.", "1")
    catalogue: str = option("NAME", "VM types: hads, burst-hads, memory, burstable or ten-types.", "burst-hads")
    limit: int = option("N", "VMs of each type and market at most.", 5)
    max_on_demand: int = option("N", "On-demand VMs at most.", 20, min=0)
    tightness: float = option("F", "Least time on all cores divided by the deadline, in (0, 1].", 0.5)
    deadline_s: int | None = seconds_option("Deadline, instead of the tightness.", name="deadline")
    d_spot_fraction: float = option("F", "D_spot as a fraction of the deadline; none if negative.", 0.8)
    seed: int = option("SEED", "Same seed, same instance.", 0, min=0)
    name: str | None = option("NAME", "Name of the instance.")


@_command("generate", "--tasks 500 --runtime lognormal:300:0.8 --out bag.json")
def generate_command(*, of: GeneratorOptions, out: str | None = out_option(), as_json: bool = json_option()) -> None:
    """Generate a random instance."""
    from ..instances.bags.generator import generate_instance

    check_output(out)
    # A number below 0 stands for none, as an option without a value cannot be given.
    share = None if of.d_spot_fraction < 0 else of.d_spot_fraction
    deliver_instance(generate_instance(**asdict(of) | {"d_spot_fraction": share}), out, as_json)


@_command("export", "hads/J60 --job job.json --env env.json")
def export_command(
    *,
    instance: str = instance_argument(),
    job: str = option("FILE", "Where to write job.json.", ...),
    env: str = option("FILE", "Where to write env.json.", ...),
    plan: str | None = option("FILE", "A plan for it, to be exported as well."),
    map_file: str | None = option("FILE", "Where to write it as map.json.", name="map"),
    as_json: bool = json_option(),
) -> None:
    """Export to the files of the HADS and Burst-HADS authors."""
    from ..instances.bags.hads_files import write_hads_files
    from ..schedules.hads_map import write_hads_map
    from ..schedules.schedule_files import read_schedule

    if (map_file is None) != (plan is None):
        raise SpotbagError("--plan and --map go together: the plan to read, and where to write the map")
    check_outputs((instance, plan), job, env, map_file)
    # The plan is read before anything is written: no files of an export whose plan is wrong.
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


@_command("schema", "> instance.schema.json")
def schema_command(
    *,
    of: Literal["instance", "schedule", "state", "timeline", "scenario", "stream", "platform", "catalogue"] = option(
        None, "Which document.", "instance"
    ),
) -> None:
    """Print the JSON Schema of instances, plans, states, days, scenarios, streams, hybrid platforms, or catalogues."""
    from ..instances.bags.scenario_files import scenario_schema
    from ..instances.bags.timeline import timeline_schema
    from ..instances.bags.vm_catalogue import Catalogue
    from ..instances.instance import Instance
    from ..instances.platforms.platform import Platform
    from ..instances.streams.stream import Stream
    from ..schedules.schedule_files import schedule_schema
    from ..schedules.state import State

    schemas = {
        "instance": Instance.schema_text,
        "schedule": schedule_schema,
        "state": State.schema_text,
        "timeline": timeline_schema,
        "scenario": scenario_schema,
        "stream": Stream.schema_text,
        "catalogue": Catalogue.schema_text,
        "platform": Platform.schema_text,
    }
    print(schemas[of](), end="")
