"""``spotbag instance types`` and ``spotbag instance prices``: the catalogue of VM types, and newer ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from ..core.errors import SpotbagError
from ..core.text_tables import Shown, number, words
from .answers import ABSENT, Answer, Part, deliver
from .arguments import check_output, names_in, to_file
from .console import print_rows, warn
from .options import duration_option, json_option, option

if TYPE_CHECKING:
    from ..instances.bags.price_sources import NewRows
    from ..instances.bags.vm_catalogue import CataloguedType
    from ..instances.entries import Architecture, Burstable, Market


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

    instance_types: str | None = option("FILE", "JSON of 'aws ec2 describe-instance-types': what types are.")
    spot_history: str | None = option(
        "FILE", "What 'aws ec2 describe-spot-price-history' prints, or a table of it: prices."
    )
    skypilot: str | None = option("FILE", "SkyPilot's catalogue of AWS, Google Cloud or Azure: both.")
    price_list: list[str] | None = option(
        "FILE", "What 'aws pricing get-products' prints; may be repeated: both, on demand."
    )
    azure_retail: list[str] | None = option("FILE", "A page of Azure's retail prices; may be repeated: prices.")
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


def prices_command(
    *,
    out: str = option("FILE", "Where to write the catalogue, - for standard output.", ...),
    files: PriceFiles,
    base: str | None = option("FILE", "Catalogue to begin with; the shipped one if absent, or none."),
    types: str | None = option("NAMES", "Types to be taken, also patterns such as 'c6i.*'."),
    as_json: bool = json_option(),
) -> None:
    """Make a catalogue with newer types and prices, for --prices of all commands."""
    from ..instances.bags.price_sources import updated
    from ..instances.bags.vm_catalogue import read_catalogue

    path = to_file(out)
    check_output(path, base, *files.paths)
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
    deliver(catalogue, path, as_json, about, vm_types=n_types, spot_prices=n_spot, warnings=tuple(warnings))


def _day(path: str) -> str:
    """Day on which a file was written; today for what is no file."""
    import os

    try:
        # The best that is known of a file whose rows have no date.
        written = os.path.getmtime(path)
    except OSError:
        written = datetime.now(UTC).timestamp()
    return datetime.fromtimestamp(written, UTC).date().isoformat()
