"""``spotbag instance``: list, generate, export, VM types and their prices, clouds, scenarios, schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

import typer

from ..core.errors import SpotbagError
from ..core.text_tables import Shown, number, words
from .answers import ABSENT, Answer, Part, Written, column, deliver, deliver_instance, listing
from .arguments import (
    ScenarioOptions,
    load_instance,
    names_in,
    notes_of,
)
from .console import print_rows, warn, wrote
from .instance_import import app as import_app
from .options import (
    STANDARD_OUTPUT,
    adder,
    argument,
    duration_option,
    instance_argument,
    json_option,
    names_of,
    option,
    out_option,
    seconds_option,
)

if TYPE_CHECKING:
    from ..instances.bags.price_sources import NewRows
    from ..instances.bags.vm_catalogue import CataloguedType
    from ..instances.clouds import Cloud
    from ..instances.entries import Architecture, Burstable, CloudName, Market

app = typer.Typer(
    no_args_is_help=True,
    help="Instances: list the library, generate, import, export, VM types and prices, clouds, scenarios, schema.",
)
app.add_typer(import_app, name="import")
_command = adder(app, "instance")


class TypePrice(Part):
    """The price of a VM type on a market."""

    price_usd_per_hour: float
    usd_per_core_hour: float
    date: str
    source: str
    zones: dict[str, float] | None = ABSENT


class ListedType(Part):
    """A VM type of the catalogue, in a region."""

    name: str
    region: str
    vcpus: int
    memory_mb: float
    architecture: Architecture | None = ABSENT
    burstable: Burstable | None = ABSENT
    accelerators: str | None = ABSENT
    source: str
    date: str
    prices: dict[Market, TypePrice]


class Types(Answer, kind="types"):
    """``spotbag instance types``."""

    catalogue: str
    provider: str
    vm_types: tuple[ListedType, ...]


@_command("types", "--arch arm64 --min-vcpus 2 --max-memory 16GB --sort spot")
def types_command(
    *,
    types: str | None = option("NAMES", "Names by commas, also patterns such as 'c6i.*'."),
    region: str | None = option("NAME", "Types of this region."),
    arch: Literal["x86_64", "arm64"] | None = option(None, "Types of this architecture."),
    min_vcpus: int | None = option("N", "vCPUs at least.", min=1),
    max_vcpus: int | None = option("N", "vCPUs at most.", min=1),
    min_memory: str | None = option("AMOUNT", "Memory at least: 16GB, 512MB; a number is GB."),
    max_memory: str | None = option("AMOUNT", "Memory at most: 16GB, 512MB; a number is GB."),
    burstable: bool | None = option(None, "Burstable types only, or none of them.", name="burstable/--no-burstable"),
    sort: Literal["name", "price", "spot", "vcpus", "memory"] = option(
        None, "By name, on-demand or spot price of a core, vCPUs, or memory.", "name"
    ),
    prices: str | None = option("FILE", "A catalogue of your own, as 'spotbag instance prices' makes it."),
    as_json: bool = json_option(),
) -> None:
    """List the VM types of the catalogue: what they are, and what a VM and a core cost an hour."""
    from ..instances.bags.vm_catalogue import read_catalogue, rows_of_region

    catalogue = read_catalogue(prices)
    place = catalogue.vm_types if region is None else rows_of_region(catalogue, region, prices or "the catalogue")
    rows = [row for row in place if _named(row.name, names_in([types] if types else []))]
    least, most = _memory_mb("--min-memory", min_memory), _memory_mb("--max-memory", max_memory)
    tests: list[Callable[[CataloguedType], bool]] = [
        lambda row: arch is None or row.architecture == arch,
        lambda row: min_vcpus is None or row.vcpus >= min_vcpus,
        lambda row: max_vcpus is None or row.vcpus <= max_vcpus,
        lambda row: least is None or row.memory_mb >= least,
        lambda row: most is None or row.memory_mb <= most,
        lambda row: burstable is None or (row.burstable is not None) == burstable,
    ]
    rows = sorted((row for row in rows if all(test(row) for test in tests)), key=_key(sort))
    if as_json:
        Types.of(catalogue, catalogue=catalogue.name, vm_types=tuple(map(_listed, rows))).print_json()
        return
    _print_types(rows, catalogue.regions)


def _print_types(rows: Sequence[CataloguedType], regions: Sequence[str]) -> None:
    """Print a row for each type, or that none fits."""

    def prices(heading: str, market: Market) -> tuple[Shown, ...]:
        def of(name: str) -> Callable[[CataloguedType], Any]:
            return lambda row: getattr(row.prices.get(market), name, None)

        core = number("a core\n($/h)", lambda row: row.usd_per_core_hour(market), ".4f")
        return number(heading, of("price_usd_per_hour"), ".4f"), core, words("as of", of("date"))

    def credits(row: CataloguedType) -> str:
        found = row.burstable
        return "" if found is None else f"{100 * found.baseline_fraction:g} %, {found.credits_per_hour:g}"

    # A table of headings alone would look as if something had failed.
    if not rows:
        print("no VM type of the catalogue fits")
        return
    if len(regions) == 1:
        print(f"region {regions[0]}")
    print_rows(
        rows,
        words("type", "name"),
        words("region") if len(regions) > 1 else None,
        number("vCPUs", "vcpus"),
        number("memory\n(GB)", lambda row: row.memory_mb / 1024, "g"),
        words("architecture", lambda row: ", ".join(filter(None, (row.architecture, row.accelerators))) or None),
        words("burstable:\nbaseline, credits/h", credits),
        *prices("on demand\n($/h)", "on-demand"),
        *prices("spot\n($/h)", "spot"),
    )
    if any("spot" not in row.prices for row in rows):
        print("-: no dated price at hand; 'spotbag instance prices' takes them from the files of the AWS command line")


def _named(name: str, wanted: list[str]) -> bool:
    from fnmatch import fnmatchcase

    return not wanted or any(fnmatchcase(name, pattern) for pattern in wanted)


def _memory_mb(option_name: str, text: str | None) -> float | None:
    from ..instances.table_columns import MEMORY_UNITS_MB, memory_mb_of

    value = None if text is None else memory_mb_of(text, MEMORY_UNITS_MB["gb"])
    if text is not None and value is None:
        raise SpotbagError(f"{option_name} {text}: must be an amount, such as 512MB or 16GB")
    return value


def _key(sort: str) -> Callable[[CataloguedType], Any]:
    def price(market: Market) -> Callable[[CataloguedType], float]:
        # What has no price comes last.
        return lambda row: inf if (per_core := row.usd_per_core_hour(market)) is None else per_core

    keys: dict[str, Callable[[CataloguedType], Any]] = {
        "name": lambda row: 0,
        "price": price("on-demand"),
        "spot": price("spot"),
        "vcpus": attrgetter("vcpus"),
        "memory": attrgetter("memory_mb"),
    }
    return keys[sort]


def _listed(row: CataloguedType) -> ListedType:
    """Return a type of the catalogue as it is printed, with the prices of its cores."""
    # What the catalogue does not say of a type is absent, and not null.
    document = row.model_dump(mode="json", exclude_unset=True)
    for market, quote in document["prices"].items():
        quote["usd_per_core_hour"] = row.usd_per_core_hour(market)
    return ListedType(**document)


@dataclass(frozen=True, kw_only=True)
class PriceFiles:
    """Files of newer types and prices, and what is taken of them; the command has them by `spread`."""

    instance_types: str | None = option(
        "FILE", "JSON of 'aws ec2 describe-instance-types': what types are.", file="read"
    )
    spot_history: str | None = option(
        "FILE", "What 'aws ec2 describe-spot-price-history' prints, or a table of it: prices.", file="read"
    )
    skypilot: str | None = option("FILE", "SkyPilot's catalogue of AWS, Google Cloud or Azure: both.", file="read")
    price_list: list[str] | None = option(
        "FILE", "What 'aws pricing get-products' prints; may be repeated: both, on demand.", file="read"
    )
    azure_retail: list[str] | None = option(
        "FILE", "A page of Azure's retail prices; may be repeated: prices.", file="read"
    )
    accelerators: bool = option(None, "Take types with GPUs and the like, too, and mark them.", False)
    region: str | None = option("NAME", "Region to be taken.")
    window: float | None = duration_option("Mean of spot prices over this time, instead of the last price.")
    product: str = option("NAME", "Product of the spot prices.", "Linux/UNIX")
    date: str | None = option("YYYY-MM-DD", "Day of files that have none; that of the file if absent.")

    @property
    def paths(self) -> list[str]:
        """Paths of the given files."""
        single = [path for path in (self.instance_types, self.skypilot, self.spot_history) if path is not None]
        return [*single, *(self.price_list or []), *(self.azure_retail or [])]

    def read(self) -> list[NewRows]:
        """Read the files, each as of its day.

        Raises
        ------
        SpotbagError
            If one cannot be read, there is none, or an option is of others.
        """
        from ..instances.bags.price_sources import (
            instance_types_of_aws,
            price_list_of_aws,
            retail_prices_of_azure,
            rows_of_skypilot,
            spot_prices_of_aws,
        )

        if not self.paths:
            raise SpotbagError(
                "there is nothing to take: --instance-types, --spot-history, --skypilot, --price-list or "
                "--azure-retail names a file"
            )
        # Only a history has prices of several moments.
        if self.window is not None and self.spot_history is None:
            raise SpotbagError("--window: is of spot prices; --spot-history names their file")
        if self.accelerators and self.instance_types is None and self.skypilot is None and not self.price_list:
            raise SpotbagError(
                "--accelerators: no file says which types have some; --instance-types, --skypilot and --price-list do"
            )
        day, region, accelerators = self.date, self.region, self.accelerators
        news = []
        if (path := self.instance_types) is not None:
            news.append(instance_types_of_aws(path, day or _day(path), accelerators))
        if (path := self.skypilot) is not None:
            news.append(rows_of_skypilot(path, day or _day(path), region, accelerators))
        news += [price_list_of_aws(page, day or _day(page), region, accelerators) for page in self.price_list or []]
        news += [retail_prices_of_azure(page, day or _day(page), region) for page in self.azure_retail or []]
        if self.spot_history is not None:
            news.append(spot_prices_of_aws(self.spot_history, self.window, self.product, region))
        return news


@_command("prices", "--spot-history history.json --out prices.json")
def prices_command(
    *,
    out: str = option("FILE", "Where to write the catalogue, - for standard output.", ..., file="printed"),
    files: PriceFiles,
    base: str | None = option("FILE", "Catalogue to begin with; the shipped one if absent, or none.", file="read"),
    types: str | None = option("NAMES", "Types to be taken, also patterns such as 'c6i.*'."),
    as_json: bool = json_option(),
) -> None:
    """Make a catalogue with newer types and prices, for --prices of all commands."""
    from ..instances.bags.price_sources import updated
    from ..instances.bags.vm_catalogue import read_catalogue

    news = files.read()
    # Types of two providers do not go into one catalogue.
    if base is None and news[0].provider != (shipped := read_catalogue()).provider:
        warn([f"the catalogue begins with nothing: the shipped one is of {shipped.provider}"])
        base = "none"
    begun = None if base == "none" else read_catalogue(base)
    # Rows of types alone say no region; that of a catalogue with one region is meant.
    place = files.region
    place = place if place is not None or begun is None or len(begun.regions) > 1 else begun.regions[0]
    wanted = names_in([types] if types else [])
    catalogue, warnings = updated(begun, news, types=wanted, region=place)
    warn(warnings)
    n_spot, n_types = sum("spot" in row.prices for row in catalogue.vm_types), len(catalogue.vm_types)
    about = f"{n_types:,} VM types, {n_spot:,} of them with a spot price"
    deliver(catalogue, out, as_json, about, vm_types=n_types, spot_prices=n_spot, warnings=tuple(warnings))


def _day(path: str) -> str:
    """Day on which a file was written; today for what is no file."""
    import os

    try:
        # The best that is known of a file whose rows have no date.
        written = os.path.getmtime(path)
    except OSError:
        written = datetime.now(UTC).timestamp()
    return datetime.fromtimestamp(written, UTC).date().isoformat()


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
        file="read",
    ),
    options: ScenarioOptions,
    day: int | None = option("K", "Only day K of the seed, for --instance.", min=0),
    instance: str | None = option("INSTANCE", "The instance that meets the day.", file="read"),
    seed: int = option("SEED", "Seed of the day.", 0, min=0),
    cloud: str | None = option(
        "NAME",
        "Whose rules hold; that of the scenario, if it says so, if absent.",
        completes=names_of("instances.clouds", "CLOUDS"),
    ),
    name: str | None = option("NAME", "What it is called."),
    out: str | None = option("FILE", "Where to write it; standard output if absent or -.", file="printed"),
) -> None:
    """Write a scenario, or one day of it, as a file that --scenario of 'replay' takes."""
    from ..instances.bags.scenario_files import changed_scenario, format_scenario, write_scenario
    from ..instances.bags.scripted_days import ScriptedScenario
    from ..instances.clouds import find_cloud

    # A day is drawn for the VM types of a bag: without one there is only the scenario.
    if (day is None) != (instance is None):
        raise SpotbagError("--day and --instance go together: which day, and for which instance it is drawn")
    found = options.find(scenario)
    if day is not None and instance is not None:
        problem = load_instance(instance)
        timeline = found.day(problem, seed, day)
        warn(notes_of(found, problem))
        found = ScriptedScenario(timeline, scenario, found.cloud)
    named: CloudName | None = None if cloud is None else find_cloud(cloud).name  # type: ignore[assignment]
    found = changed_scenario(found, name=name, cloud=named)
    if out is None or out == STANDARD_OUTPUT:
        print(format_scenario(found), end="")
        return
    write_scenario(found, out)
    wrote(out, found.name)


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

    # A number below 0 stands for none, as an option without a value cannot be given.
    share = None if of.d_spot_fraction < 0 else of.d_spot_fraction
    deliver_instance(generate_instance(**asdict(of) | {"d_spot_fraction": share}), out, as_json)


@_command("export", "hads/J60 --job job.json --env env.json")
def export_command(
    *,
    instance: str = instance_argument(),
    job: str = option("FILE", "Where to write job.json.", ..., file="written"),
    env: str = option("FILE", "Where to write env.json.", ..., file="written"),
    plan: str | None = option("FILE", "A plan for it, to be exported as well.", file="read"),
    map_file: str | None = option("FILE", "Where to write it as map.json.", name="map", file="written"),
    as_json: bool = json_option(),
) -> None:
    """Export to the files of the HADS and Burst-HADS authors."""
    from ..instances.bags.hads_files import write_hads_files
    from ..schedules.hads_map import write_hads_map
    from ..schedules.schedule_files import read_schedule

    if (map_file is None) != (plan is None):
        raise SpotbagError("--plan and --map go together: the plan to read, and where to write the map")
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
