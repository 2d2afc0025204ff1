"""A catalogue of VM types that can be rented today: what they are, and what they cost, by whom and when it was said.

The one that is shipped is ``instances/data/catalogue.json``; `spotbag.instances.bags.price_sources` makes newer ones.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from ...core.errors import Issue, SpotbagError, input_error
from ...core.quantities import Memory, Name, Price, VCpus
from ...core.records import FROZEN, Record, Text, WholeDocument
from ...core.text_files import source_name
from ...core.wording import close_names
from ..entries import MARKETS, Architecture, Burstable, Market, Offer, Quota, VmType

CATALOGUE_FORMAT: Literal["spotbag.catalogue/1"] = "spotbag.catalogue/1"
LIMIT_PER_TYPE_AND_MARKET = 10
"""VMs of one type in one market at once, unless a limit is given; the quotas of most accounts allow as many."""


def _day(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise PydanticCustomError("day", "must be a day such as 2026-07-09") from None
    return text


Day = Annotated[str, AfterValidator(_day), Field(json_schema_extra={"format": "date"})]


class Quote(Record):
    """Price of a VM type in a market on a day.

    Attributes
    ----------
    price_usd_per_hour : float
        Price of one VM with Linux; if there are zones, the mean of theirs.
    date : str
        Day of the price, e.g. ``2026-07-09``.
    source : str
        Source of the price.
    zones : dict, optional
        Availability zone to its price.
    """

    price_usd_per_hour: Price
    date: Day
    source: Text
    zones: Annotated[dict[Name, Price], Field(min_length=1), FROZEN] | None = None


class CataloguedType(Record):
    """A VM type in a region.

    Attributes
    ----------
    name, region : str
        E.g. ``c6i.large`` and ``us-east-1``; together unique.
    vcpus : int
        Virtual cores.
    memory_mb : float
        Memory (1 GB = 1024 MB).
    architecture : {"x86_64", "arm64"}, optional
        Of its processors.
    burstable : Burstable, optional
        Present if the type is burstable.
    accelerators : str, optional
        GPUs and the like, e.g. ``1 V100``; patterns leave such types out, whose price is for more than cores.
    source, date : str
        Source of the facts on the type, and its date.
    prices : dict
        Market to `Quote`; of a market that is left out, no dated price is known.
    """

    name: Name
    region: Name
    vcpus: VCpus
    memory_mb: Memory
    architecture: Architecture | None = None
    burstable: Burstable | None = None
    accelerators: Text | None = None
    source: Text
    date: Day
    prices: Annotated[dict[Market, Quote], FROZEN]

    def usd_per_core_hour(self, market: Market) -> float | None:
        """Price of one vCPU for an hour; None if no price is known."""
        quote = self.prices.get(market)
        return None if quote is None else quote.price_usd_per_hour / self.vcpus


class Catalogue(WholeDocument):
    """VM types and their prices.

    Attributes
    ----------
    name, description : str
        For people.
    provider : str
        Who rents the VMs out, e.g. ``aws``.
    vm_types : tuple of CataloguedType
        In an order that decides ties.
    """

    FORMAT: ClassVar[str] = CATALOGUE_FORMAT
    SCHEMA: ClassVar[str] = "catalogue.schema.json"
    most_entries: ClassVar[int] = 100_000
    format: Literal["spotbag.catalogue/1"] = CATALOGUE_FORMAT
    name: Name
    description: Text | None = None
    provider: Name
    vm_types: Annotated[tuple[CataloguedType, ...], Field(strict=False, min_length=1)]

    def issues_of_changes(self, changed: Collection[str]) -> Iterator[Issue]:
        """Faults for VM types that appear twice in a region."""
        first: dict[tuple[str, str], int] = {}
        for index, row in enumerate(self.vm_types):
            before = first.setdefault((row.name, row.region), index)
            if before != index:
                rule = f"is in {row.region} twice (also vm_types[{before}])"
                yield Issue(f"vm_types[{index}]", rule, "name", row.name)

    @property
    def regions(self) -> tuple[str, ...]:
        """Regions of the catalogue, in order of appearance."""
        return tuple(dict.fromkeys(row.region for row in self.vm_types))


def read_catalogue(path: str | os.PathLike[str] | None = None) -> Catalogue:
    """Read a catalogue; the one that is shipped if there is no path.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    return shipped_catalogue() if path is None else Catalogue.read(path)


@cache
def shipped_catalogue() -> Catalogue:
    """Return the catalogue that is shipped with the package."""
    text = resources.files("spotbag.instances.data").joinpath("catalogue.json").read_text(encoding="utf-8")
    return Catalogue.parse(text, "catalogue")


@dataclass(frozen=True, slots=True)
class VmChoice:
    """VM types that a bag may use, and how many VMs of them.

    Attributes
    ----------
    types : sequence of str
        Names, or patterns such as ``c6i.*``.
    prices : path, optional
        A catalogue file; the shipped one if absent.
    region : str, optional
        Needed if the catalogue has several.
    zone : str, optional
        Availability zone whose spot prices count, instead of the mean over the zones; several by commas, or ``all``,
        are pools of their own.
    limit : int
        VMs of each type in each market at once.
    max_spot, max_on_demand : int, optional
        VMs of a market at once.
    quotas : sequence of Quota
        Limits of several types together.
    speeds : dict
        Type to how fast a core of it is; run times that were measured once are divided by it.
    measured_on : str, optional
        The type that such run times were measured on; speed 1 if absent.
    """

    types: Sequence[str] = ()
    prices: str | os.PathLike[str] | None = None
    region: str | None = None
    zone: str | None = None
    limit: int = LIMIT_PER_TYPE_AND_MARKET
    max_spot: int | None = None
    max_on_demand: int | None = None
    quotas: Sequence[Quota] = ()
    speeds: Mapping[str, float] | None = None
    measured_on: str | None = None


def rows_of_region(catalogue: Catalogue, region: str | None, source: str) -> list[CataloguedType]:
    """Types of a region.

    Raises
    ------
    InputError
        If the catalogue has no such region, or several and none is given.
    """
    regions = catalogue.regions
    if region is None:
        if len(regions) > 1:
            raise input_error(source, f"has several regions, so --region is needed: {', '.join(regions)}")
        region = regions[0]
    if region not in regions:
        raise input_error(
            source, f"has no region {region!r} (it has {', '.join(regions)}; 'spotbag instance prices' makes one)"
        )
    return [row for row in catalogue.vm_types if row.region == region]


def chosen_rows(choice: VmChoice) -> list[CataloguedType]:
    """Rows of the catalogue for a choice of types, in the order of the choice.

    Raises
    ------
    SpotbagError
        If a name or a pattern fits none.
    """
    source = _source(choice)
    rows = {row.name: row for row in rows_of_region(read_catalogue(choice.prices), choice.region, source)}
    chosen: dict[str, CataloguedType] = {}
    for wanted in choice.types:
        matching = [row for name, row in rows.items() if fnmatchcase(name, wanted)]
        # A pattern does not mean types with accelerators, which cost many times as much; their names do.
        found = [row for row in matching if row.accelerators is None or row.name == wanted]
        if not found:
            hint = close_names(wanted, list(rows)) or "'spotbag instance types' lists them"
            raise SpotbagError(
                f"--types {wanted}: is no VM type of the catalogue ({hint}); "
                "'spotbag instance prices' adds types from the files of the AWS command line"
            )
        chosen |= {row.name: row for row in found}
    return list(chosen.values())


def choose_vm_types(choice: VmChoice) -> list[dict[str, Any]]:
    """VM types of an instance for a choice, as they stand in its document.

    Burstable types are offered on demand only, as the literature rents them: a burstable VM saves up credits, which
    it loses with an interruption.

    Raises
    ------
    SpotbagError
        If the choice cannot be met: an unknown type, a type without a price or without a speed.
    """
    made: list[dict[str, Any]] = []
    speeds = dict(choice.speeds or {})
    pools = choice.zone is not None and (choice.zone == "all" or "," in choice.zone)
    for row in chosen_rows(choice):
        offers = {
            market: Offer(price_usd_per_hour=price, limit=choice.limit)
            for market in MARKETS
            if (price := _price(row, market, None if pools else choice.zone)) is not None
        }
        # Models have burstable VMs on demand only, as the papers do.
        if row.burstable is not None:
            offers.pop("spot", None)
        if not offers:
            raise SpotbagError(
                f"--types {row.name}: the catalogue has no price for it that could be used; --prices FILE takes one "
                "that 'spotbag instance prices' has made"
            )
        fields: dict[str, Any] = {"architecture": row.architecture, "burstable": row.burstable}
        if pools and "spot" in offers:
            # Prices of all zones are left to the instance, which makes a pool of each.
            fields["zones"] = _prices_of_zones(row, str(choice.zone))
        if speeds:
            if row.name not in speeds:
                raise SpotbagError(f"--speed: {row.name} has none; give one for each type, e.g. {row.name}=1.0")
            fields["speed"] = speeds[row.name]
        vm_type = VmType(
            name=row.name,
            vcpus=row.vcpus,
            memory_mb=row.memory_mb,
            offers=offers,
            **{key: value for key, value in fields.items() if value is not None},
        )
        made.append(vm_type.model_dump(mode="json", exclude_unset=True))
    return made


def _prices_of_zones(row: CataloguedType, zones: str) -> dict[str, float] | None:
    """Spot prices of a type in some zones, or in all zones of the type."""
    known = row.prices["spot"].zones
    names = [*(known or ())] if zones == "all" else [name.strip() for name in zones.split(",")]
    return {name: price for name in names if (price := _price(row, "spot", name)) is not None} if known else None


def _price(row: CataloguedType, market: Market, zone: str | None) -> float | None:
    quote = row.prices.get(market)
    if quote is None or zone is None or quote.zones is None:
        return None if quote is None else quote.price_usd_per_hour
    if zone not in quote.zones:
        raise SpotbagError(f"--zone {zone}: {row.name} has no {market} price there (it has {', '.join(quote.zones)})")
    return quote.zones[zone]


def price_notes(choice: VmChoice) -> list[str]:
    """Say of when the prices are, and which types have no spot price."""
    rows = chosen_rows(choice)
    dates = {market: sorted({row.prices[market].date for row in rows if market in row.prices}) for market in MARKETS}
    said = [
        f"{market} of {days[0]}" + (f" to {days[-1]}" if len(days) > 1 else "")
        for market, days in dates.items()
        if days
    ]
    notes = [f"prices of {rows[0].region}: {', '.join(said)} (--prices FILE takes newer ones)"] if rows else []
    without = [row.name for row in rows if "spot" not in row.prices and row.burstable is None]
    if without:
        notes.append(f"no spot price is known of {', '.join(without)}: offered on demand only")
    burstable = [row.name for row in rows if row.burstable is not None]
    if burstable:
        notes.append(f"burstable types are offered on demand only: {', '.join(burstable)}")
    return notes


def _source(choice: VmChoice) -> str:
    return "the catalogue" if choice.prices is None else source_name(choice.prices)
