"""Newer rows of a catalogue: from the JSON of the AWS command line and from SkyPilot's catalogue.

What they say is kept with its date; what they do not say stays as it was.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Annotated, Any

from pydantic import Field

from ...core.errors import InputError, Issue, SpotbagError, input_error
from ...core.json_documents import parse_json
from ...core.quantities import number_of
from ...core.records import validate_record
from ...core.text_files import read_text, source_name
from ...core.wording import first_names
from ..entries import ARCHITECTURES, Architecture, Burstable, Market
from .imported import grouped
from .spot_price_history import LINUX, TheirRecord, read_spot_prices
from .vm_catalogue import Catalogue, CataloguedType, Quote

MB_PER_GIB = 1024
_DECIMALS = 6
_LOCAL_ZONE = re.compile(r"-[a-z]{3}[0-9]*-")
"""In the name or the id of a local zone or a wavelength zone: us-east-1-atl-1a, use1-atl2-az1."""
_CREDITS = {
    "nano": (0.05, 6),
    "micro": (0.10, 12),
    "small": (0.20, 24),
    "medium": (0.20, 24),
    "large": (0.30, 36),
    "xlarge": (0.40, 96),
    "2xlarge": (0.40, 192),
}
"""Baseline of a vCPU and credits an hour of T3, T3a and T4g VMs by their size (AWS, Key concepts for burstable
performance instances). They hold what they earn in 24 hours, and start without any."""


_BURSTABLE = ("t1.", "t2.", "t3.", "t3a.", "t4g.")


class _VCpus(TheirRecord):
    count: Annotated[int, Field(alias="DefaultVCpus")]


class _Memory(TheirRecord):
    mib: Annotated[int, Field(alias="SizeInMiB")]


class _Processor(TheirRecord):
    architectures: Annotated[list[str], Field(alias="SupportedArchitectures", default_factory=list)]


class _InstanceType(TheirRecord):
    name: Annotated[str, Field(alias="InstanceType")]
    vcpus: Annotated[_VCpus, Field(alias="VCpuInfo")]
    memory: Annotated[_Memory, Field(alias="MemoryInfo")]
    processor: Annotated[_Processor, Field(alias="ProcessorInfo")] = _Processor.model_validate({})
    burstable: Annotated[bool, Field(alias="BurstablePerformanceSupported")] = False


class _InstanceTypes(TheirRecord):
    types: Annotated[list[_InstanceType], Field(alias="InstanceTypes", min_length=1)]


@dataclass(slots=True)
class NewRows:
    """What a source says, to be put into a catalogue.

    Attributes
    ----------
    facts : dict
        Type to what it is, as fields of `CataloguedType`.
    quotes : dict
        Type, region and market to its quote.
    warnings : list of str
        What was left out, and why.
    """

    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    quotes: dict[tuple[str, str, Market], Quote] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def instance_types_of_aws(path: str | os.PathLike[str], date: str) -> NewRows:
    """Read what ``aws ec2 describe-instance-types`` says: vCPUs, memory, architecture, whether a type is burstable.

    Parameters
    ----------
    path : path
        The JSON, which has no date.
    date : str
        Its day.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    source = source_name(path)
    document = validate_record(_InstanceTypes, parse_json(read_text(path), source), source)
    rows = NewRows()
    unknown = []
    for entry in document.types:
        facts: dict[str, Any] = {
            "vcpus": entry.vcpus.count,
            "memory_mb": entry.memory.mib,
            "source": f"aws ec2 describe-instance-types, {os.path.basename(source)}",
            "date": date,
        }
        architecture = next((name for name in ARCHITECTURES if name in entry.processor.architectures), None)
        if architecture is not None:
            facts["architecture"] = architecture
        if entry.burstable:
            credits = credits_of(entry.name)
            if credits is None:
                unknown.append(entry.name)
                continue
            facts["burstable"] = credits
        rows.facts[entry.name] = facts
    if unknown:
        rows.warnings.append(
            f"{source}: {first_names(unknown)} left out: burstable, with credits that are known of T3, T3a and T4g only"
        )
    return rows


def credits_of(name: str) -> Burstable | None:
    """CPU credits of a T3, T3a or T4g type, as AWS publishes them; None for others."""
    family, _, size = name.partition(".")
    if family not in ("t3", "t3a", "t4g") or size not in _CREDITS:
        return None
    baseline, per_hour = _CREDITS[size]
    return Burstable(
        baseline_fraction=baseline, credits_per_hour=per_hour, initial_credits=0, max_credits=24 * per_hour
    )


def spot_prices_of_aws(
    path: str | os.PathLike[str], window_s: float | None = None, product: str = LINUX, region: str | None = None
) -> NewRows:
    """Read what ``aws ec2 describe-spot-price-history`` says.

    Parameters
    ----------
    path : path
        The JSON, or a table; see `read_spot_prices`.
    window_s : float, optional
        The price of a zone is its mean over so many seconds before the last entry of the file, each price counted for
        as long as it held; the last price if absent.
    product : str
        Entries of other products are left out.
    region : str, optional
        Entries of other regions are left out.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    source = source_name(path)
    history: dict[tuple[str, str], list[tuple[datetime, float]]] = defaultdict(list)
    dropped: dict[str, int] = defaultdict(int)
    for entry in read_spot_prices(path):
        if not entry.zone:
            raise input_error(
                source, "has no availability zones, and a catalogue needs them: add a column AvailabilityZone"
            )
        if entry.product and entry.product != product:
            dropped[f"of {entry.product}"] += 1
        elif _LOCAL_ZONE.search(entry.zone):
            dropped["of local zones"] += 1
        elif region is not None and _region_of(entry.zone) != region:
            dropped[f"of {_region_of(entry.zone)}"] += 1
        else:
            history[entry.name, entry.zone].append((entry.time, entry.price))
    rows = NewRows()
    rows.warnings += [f"{source}: {count:,} prices {what} left out" for what, count in sorted(dropped.items())]
    if not history:
        raise input_error(source, f"has no price of {product}" + (f" in {region}" if region else ""))
    last = max(time for prices in history.values() for time, _ in prices)
    zones: dict[tuple[str, str], dict[str, tuple[datetime, float]]] = defaultdict(dict)
    for (name, zone), prices in history.items():
        prices.sort()
        price = prices[-1][1] if window_s is None else _mean(prices, last - timedelta(seconds=window_s), last)
        zones[name, _region_of(zone)][zone] = prices[-1][0], price
    how = "last price of each zone" if window_s is None else f"mean over {window_s / 86400:g} days"
    said = f"aws ec2 describe-spot-price-history, {os.path.basename(source)}: {how}"
    for (name, of_region), by_zone in zones.items():
        prices_by_zone = {zone: round(price, _DECIMALS) for zone, (_, price) in sorted(by_zone.items())}
        day = max(time for time, _ in by_zone.values()) if window_s is None else last
        rows.quotes[name, of_region, "spot"] = _quote(prices_by_zone, day.date().isoformat(), said)
    return rows


def _region_of(zone: str) -> str:
    """Region of an availability zone: us-east-1 of us-east-1a."""
    return zone.rstrip("abcdefghijklmnopqrstuvwxyz")


def _mean(prices: Sequence[tuple[datetime, float]], start: datetime, end: datetime) -> float:
    """Mean of a step function from start to end; before its first step it has the value of that."""
    total = 0.0
    for index, (time, price) in enumerate(prices):
        since = start if index == 0 else max(time, start)
        until = prices[index + 1][0] if index + 1 < len(prices) else end
        total += price * max(0.0, (until - since).total_seconds())
    length = (end - start).total_seconds()
    return total / length if length > 0 else prices[-1][1]


def rows_of_skypilot(path: str | os.PathLike[str], date: str, region: str | None = None) -> NewRows:
    """Read SkyPilot's catalogue of AWS, ``vms.csv``: types, on-demand prices and spot prices of each zone.

    Parameters
    ----------
    path : path
        The CSV, which has no date.
    date : str
        Its day.
    region : str, optional
        Rows of other regions are left out.

    Raises
    ------
    InputError
        If columns are missing or a number is none.
    """
    source = source_name(path)
    table = csv.DictReader(io.StringIO(read_text(path), newline=""))
    needed = ("InstanceType", "vCPUs", "MemoryGiB", "Price", "SpotPrice", "Region", "AvailabilityZone")
    missing = [name for name in needed if name not in (table.fieldnames or ())]
    if missing:
        raise input_error(
            source, f"is no vms.csv of SkyPilot's catalogue of AWS: it has no column {', '.join(missing)}"
        )
    rows, issues = NewRows(), []
    said = f"SkyPilot catalogue, {os.path.basename(source)}"
    zones: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    dropped: dict[str, int] = defaultdict(int)
    for row in table:
        name, place = row["InstanceType"], row["Region"]
        if region is not None and place != region:
            dropped["of other regions"] += 1
            continue
        if row.get("AcceleratorName"):
            dropped["with accelerators"] += 1
            continue
        if _LOCAL_ZONE.search(row["AvailabilityZone"] or ""):
            dropped["of local zones"] += 1
            continue
        numbers = {key: number_of(row[key] or "") for key in ("vCPUs", "MemoryGiB", "Price", "SpotPrice")}
        if not name or numbers["vCPUs"] is None or numbers["MemoryGiB"] is None:
            key = "vCPUs" if numbers["vCPUs"] is None else "MemoryGiB"
            issues.append(Issue(f"line {table.line_num}", "must be a number", key, row[key]))
            continue
        facts: dict[str, Any] = {
            "vcpus": int(numbers["vCPUs"]),
            "memory_mb": numbers["MemoryGiB"] * MB_PER_GIB,
            "source": said,
            "date": date,
        }
        architecture = _skypilot_architecture(row.get("Arch"))
        if architecture is not None:
            facts["architecture"] = architecture
        if name.startswith(_BURSTABLE):
            credits = credits_of(name)
            if credits is None:
                dropped["of burstable types, with credits that are not known,"] += 1
                continue
            facts["burstable"] = credits
        rows.facts[name] = facts
        if numbers["Price"]:
            rows.quotes[name, place, "on-demand"] = Quote(price_usd_per_hour=numbers["Price"], date=date, source=said)
        if numbers["SpotPrice"]:
            zones[name, place][row["AvailabilityZone"] or place] = numbers["SpotPrice"]
    if issues:
        raise InputError(source, grouped(issues))
    for (name, place), by_zone in zones.items():
        rows.quotes[name, place, "spot"] = _quote(dict(sorted(by_zone.items())), date, said)
    rows.warnings += [f"{source}: {count:,} rows {what} left out" for what, count in sorted(dropped.items())]
    return rows


def _skypilot_architecture(text: str | None) -> Architecture | None:
    """Architecture by its name in the catalogue, where i386 is the first of several: such types run x86_64, too."""
    return {"x86_64": "x86_64", "i386": "x86_64", "arm64": "arm64"}.get(text or "")  # type: ignore[return-value]


def _quote(zones: Mapping[str, float], date: str, source: str) -> Quote:
    mean = round(sum(zones.values()) / len(zones), _DECIMALS)
    return Quote(price_usd_per_hour=mean, date=date, source=source, zones=dict(zones))


def updated(
    base: Catalogue | None,
    news: Iterable[NewRows],
    *,
    types: Sequence[str] = (),
    name: str = "prices",
    provider: str = "aws",
    region: str | None = None,
) -> tuple[Catalogue, list[str]]:
    """Put new rows into a catalogue.

    Parameters
    ----------
    base : Catalogue, optional
        What there was.
    news : iterable of NewRows
        Later ones count where they say the same.
    types : sequence of str
        Names or patterns of types that are wanted from the news; all if empty.
    name, provider : str
        Of a catalogue without base.
    region : str, optional
        Where types are rented that are wanted by name, and of which no source says the region.

    Returns
    -------
    catalogue : Catalogue
        With all rows.
    warnings : list of str
        What was left out, and why.

    Raises
    ------
    SpotbagError
        If nothing is in it.
    """
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for old in base.vm_types if base is not None else ():
        rows[old.name, old.region] = {key: getattr(old, key) for key in old.model_fields_set}
    facts: dict[str, dict[str, Any]] = {}
    for (type_name, _), row in rows.items():
        facts[type_name] = {key: value for key, value in row.items() if key not in ("name", "region", "prices")}
    warnings: list[str] = []
    unknown: set[str] = set()
    for new in news:
        warnings += new.warnings
        wanted = _wanted(types)
        facts |= {type_name: said for type_name, said in new.facts.items() if wanted(type_name)}
        places: dict[tuple[str, str], dict[Market, Quote]] = defaultdict(dict)
        for (type_name, place, market), quote in new.quotes.items():
            if wanted(type_name):
                places[type_name, place][market] = quote
        for (type_name, place), quotes in places.items():
            if type_name not in facts:
                unknown.add(type_name)
                continue
            row = rows.setdefault((type_name, place), {"name": type_name, "region": place, "prices": {}})
            row["prices"] = {**row["prices"], **quotes}
        if types and region is not None:
            for type_name in filter(wanted, new.facts):
                rows.setdefault((type_name, region), {"name": type_name, "region": region, "prices": {}})
        for (type_name, _), row in rows.items():
            row |= facts[type_name]
    if unknown:
        warnings.append(
            f"{first_names(sorted(unknown))} left out: prices are known, but not what the types are "
            "(--instance-types, from aws ec2 describe-instance-types)"
        )
    if not rows:
        raise SpotbagError("there is no VM type in the catalogue that this would make")
    made = tuple(CataloguedType(**row) for row in rows.values())
    if base is not None:
        return base.replace(vm_types=made), warnings
    return Catalogue(name=name, provider=provider, vm_types=made), warnings


def _wanted(types: Sequence[str]) -> Callable[[str], bool]:
    return lambda name: not types or any(fnmatchcase(name, pattern) for pattern in types)
