"""Newer rows of a catalogue: from the JSON of the AWS command line and from SkyPilot's catalogues.

What they say is kept with its date; what they do not say stays as it was.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from ...core.errors import InputError, Issue, SpotbagError, input_error
from ...core.json_documents import parse_json
from ...core.quantities import MB_PER_GB, Memory, Name, Price, VCpus, number_in
from ...core.records import validate_record
from ...core.text_files import read_text, source_name
from ...core.text_tables import TextTable
from ...core.wording import first_names
from ..entries import Architecture, Burstable, Market
from .imported import grouped
from .providers import AWS_REGION, PROVIDERS, Provider, provider_of, region_of_zone
from .spot_price_history import LINUX, TheirRecord, plain_product, read_spot_prices
from .vm_catalogue import Catalogue, CataloguedType, Quote

_DIGITS = 12
"""Of a mean, which more digits than floats have would not make more exact."""
_LOCAL_ZONE = re.compile(rf"{AWS_REGION}-.+|[a-z]+[0-9]+-.+-az[0-9]+")
"""Names and ids of local zones and wavelength zones: us-east-1-atl-1a, use1-atl2-az1."""
_ARCHITECTURES: dict[str, Architecture] = {"x86_64": "x86_64", "i386": "x86_64", "arm64": "arm64"}
"""By the names of AWS. Of several, i386 is not the only one: such types run x86_64, too."""
_MAC = "x86_64_mac", "arm64_mac"
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


class _VCpus(TheirRecord):
    count: Annotated[VCpus, Field(alias="DefaultVCpus")]


class _Memory(TheirRecord):
    mib: Annotated[int, Field(alias="SizeInMiB", ge=1, le=10**9)]


class _Processor(TheirRecord):
    architectures: Annotated[list[str], Field(alias="SupportedArchitectures", default_factory=list)]


class _InstanceType(TheirRecord):
    name: Annotated[Name, Field(alias="InstanceType")]
    vcpus: Annotated[_VCpus, Field(alias="VCpuInfo")]
    memory: Annotated[_Memory, Field(alias="MemoryInfo")]
    processor: Annotated[_Processor, Field(alias="ProcessorInfo")] = _Processor.model_validate({})
    burstable: Annotated[bool, Field(alias="BurstablePerformanceSupported")] = False
    gpus: Annotated[dict[str, Any] | None, Field(alias="GpuInfo")] = None
    inference: Annotated[dict[str, Any] | None, Field(alias="InferenceAcceleratorInfo")] = None
    neurons: Annotated[dict[str, Any] | None, Field(alias="NeuronInfo")] = None
    fpgas: Annotated[dict[str, Any] | None, Field(alias="FpgaInfo")] = None

    @property
    def accelerators(self) -> str | None:
        """Accelerators in words; None if there are none."""
        found = [
            list_ for info in (self.gpus, self.inference, self.neurons, self.fpgas) for list_ in (info or {}).values()
        ]
        parts = [part for list_ in found if isinstance(list_, list) for part in list_ if isinstance(part, dict)]
        return ", ".join(f"{part.get('Count', 1)} {part.get('Name', 'accelerator')}" for part in parts) or None


class _InstanceTypes(TheirRecord):
    types: Annotated[list[_InstanceType], Field(alias="InstanceTypes", min_length=1)]


@dataclass(slots=True)
class NewRows:
    """Facts and quotes of VM types from a source, ready for a catalogue.

    Attributes
    ----------
    provider : str
        Whose they are.
    facts : dict
        Type to what it is, as fields of `CataloguedType`.
    quotes : dict
        Type, region and market to its quote.
    warnings : list of str
        What was left out, and why.
    """

    provider: str = "aws"
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    quotes: dict[tuple[str, str, Market], Quote] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def instance_types_of_aws(path: str | os.PathLike[str], date: str, accelerators: bool = False) -> NewRows:
    """Read VM types from ``aws ec2 describe-instance-types``: vCPUs, memory, architecture, burstable or not.

    Parameters
    ----------
    path : path
        The JSON, which has no date.
    date : str
        Its day.
    accelerators : bool
        Whether types with accelerators are taken, too.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    source = source_name(path)
    document = validate_record(_InstanceTypes, parse_json(read_text(path), source), source)
    rows = NewRows()
    unknown, issues, left = [], [], defaultdict[str, int](int)
    first: dict[str, int] = {}
    for index, entry in enumerate(document.types):
        names = entry.processor.architectures
        known = {_ARCHITECTURES.get(name) for name in names}
        where = f"InstanceTypes[{index}]"
        if first.setdefault(entry.name, index) != index:
            rule = f"is there twice (also InstanceTypes[{first[entry.name]}])"
            issues.append(Issue(where, rule, "InstanceType", entry.name))
        # Mac types are dedicated hosts, billed for a day at least: none of the models fits.
        if any(name in _MAC for name in names):
            left["types of macOS left out"] += 1
            continue
        if entry.accelerators is not None and not accelerators:
            left["types with accelerators left out (--accelerators takes them)"] += 1
            continue
        if None in known or len(known) > 1:
            rule = f"must be one of {', '.join(_ARCHITECTURES)}"
            issues.append(Issue(where, rule, "ProcessorInfo.SupportedArchitectures", " and ".join(names), entry.name))
            continue
        said = f"aws ec2 describe-instance-types, {os.path.basename(source)}"
        facts: dict[str, Any] = {
            "vcpus": entry.vcpus.count,
            "memory_mb": entry.memory.mib,
            "source": said,
            "date": date,
        }
        if known:
            [facts["architecture"]] = known
        if entry.accelerators is not None:
            facts["accelerators"] = entry.accelerators
        # The document does not say how credits are earned, and without them a plan cannot use a burstable type.
        if entry.burstable:
            credits = credits_of(entry.name)
            if credits is None:
                unknown.append(entry.name)
                continue
            facts["burstable"] = credits
        rows.facts[entry.name] = facts
    if issues:
        raise InputError(source, issues)
    rows.warnings += [f"{source}: {count:,} {what}" for what, count in left.items()]
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
    """Read spot prices from ``aws ec2 describe-spot-price-history``.

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
    source, product = source_name(path), plain_product(product)
    history: dict[tuple[str, str], list[tuple[datetime, float]]] = defaultdict(list)
    dropped: dict[str, int] = defaultdict(int)
    issues = []
    for entry in read_spot_prices(path):
        if not entry.zone:
            raise input_error(
                source, "has no availability zones, and a catalogue needs them: add a column AvailabilityZone"
            )
        # A history often has all products and regions of an account: the others are left out, with their number.
        if entry.product and entry.product != product:
            dropped[f"of {entry.product}"] += 1
        elif _LOCAL_ZONE.fullmatch(entry.zone):
            dropped["of local zones"] += 1
        elif (place := region_of_zone(entry.zone)) is None:
            rule = "must be an availability zone of AWS, such as us-east-1a or use1-az4"
            issues.append(Issue(entry.place, rule, "zone", entry.zone))
        elif region is not None and place != region:
            dropped[f"of {place}"] += 1
        else:
            history[entry.name, entry.zone].append((entry.time, entry.price))
    if issues:
        raise InputError(source, grouped(issues))
    rows = NewRows()
    rows.warnings += [f"{source}: {count:,} prices {what} left out" for what, count in sorted(dropped.items())]
    if not history:
        raise input_error(source, f"has no price of {product}" + (f" in {region}" if region else ""))
    # The mean ends at the last entry of the whole file, so that all zones are measured over the same time.
    last = max(time for prices in history.values() for time, _ in prices)
    zones: dict[tuple[str, str], dict[str, tuple[datetime, float]]] = defaultdict(dict)
    for (name, zone), prices in history.items():
        prices.sort()
        price = prices[-1][1] if window_s is None else _mean(prices, last - timedelta(seconds=window_s), last)
        zones[name, region_of_zone(zone) or zone][zone] = prices[-1][0], price
    how = "last price of each zone" if window_s is None else f"mean over {window_s / 86400:g} days"
    said = f"aws ec2 describe-spot-price-history, {os.path.basename(source)}: {how}"
    for (name, of_region), by_zone in zones.items():
        prices_by_zone = {zone: _to_digits(price) for zone, (_, price) in sorted(by_zone.items())}
        # A mean is of the window's last day; without a window, each zone has the day of its last price.
        day = max(time for time, _ in by_zone.values()) if window_s is None else last
        rows.quotes[name, of_region, "spot"] = _quote(prices_by_zone, day.date().isoformat(), said)
    return rows


def _mean(prices: Sequence[tuple[datetime, float]], start: datetime, end: datetime) -> float:
    """Mean of a step function from start to end; before its first step it has the value of that."""
    total = 0.0
    for index, (time, price) in enumerate(prices):
        since = start if index == 0 else max(time, start)
        until = prices[index + 1][0] if index + 1 < len(prices) else end
        total += price * max(0.0, (until - since).total_seconds())
    length = (end - start).total_seconds()
    return total / length if length > 0 else prices[-1][1]


def rows_of_skypilot(
    path: str | os.PathLike[str], date: str, region: str | None = None, accelerators: bool = False
) -> NewRows:
    """Read SkyPilot's catalogue of AWS, Google Cloud or Azure: types, on-demand prices and spot prices of each zone.

    A price that is empty is one of a market that does not offer the type there.

    Parameters
    ----------
    path : path
        The CSV, which has no date.
    date : str
        Its day.
    region : str, optional
        Rows of other regions are left out.
    accelerators : bool
        Whether types with accelerators are taken, too.

    Raises
    ------
    InputError
        With everything that is wrong: line, column, value and rule.
    """
    source = source_name(path)
    table = TextTable(read_text(path), source)
    table.check_headings()
    places = {name: table.place(name) for name in (*_NEEDED, *_MORE)}
    missing = [name for name in _NEEDED if places[name] is None]
    if missing:
        raise input_error(source, f"is no vms.csv of SkyPilot's catalogues: it has no column {', '.join(missing)}")
    reader = _Skypilot(f"SkyPilot catalogue, {os.path.basename(source)}", date, region, accelerators)
    for line, cells in table:
        reader.take(line, {name: "" if place is None else cells[place] for name, place in places.items()})
    if reader.issues or table.issues:
        raise InputError(source, grouped([*reader.issues, *table.issues]))
    return reader.rows(source)


_NEEDED = "InstanceType", "vCPUs", "MemoryGiB", "Price", "SpotPrice", "Region"
_MORE = "AvailabilityZone", "AcceleratorName", "AcceleratorCount", "Arch"
VCPUS: TypeAdapter[int] = TypeAdapter(VCpus)
GIB: TypeAdapter[float] = TypeAdapter(Memory)
USD: TypeAdapter[float] = TypeAdapter(Price)
_MOST_ISSUES = 1_000


class _Skypilot:
    """Takes the rows of SkyPilot's catalogue one by one, and keeps what they say, and what is wrong with them."""

    def __init__(self, said: str, date: str, region: str | None, accelerators: bool) -> None:
        self.issues: list[Issue] = []
        self._said, self._date, self._region, self._accelerators = said, date, region, accelerators
        self._of: Provider | None = None
        self._rows = NewRows()
        self._dropped: dict[str, int] = defaultdict(int)
        self._zones: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
        self._without_price = 0
        self._first: dict[tuple[str, ...], tuple[int, Any, str]] = {}

    def take(self, line: int, row: Mapping[str, str]) -> None:
        """Take a row."""
        if len(self.issues) >= _MOST_ISSUES:
            return
        if row["AcceleratorName"] and not (self._accelerators and row["InstanceType"]):
            self._dropped["with accelerators"] += 1
            return
        # The first row says of which provider a catalogue is.
        found = provider_of(row["InstanceType"], row["Region"])
        of = self._of = self._of or found
        if of is None or found is not of:
            examples = " or ".join(one.example for one in ([of] if of else PROVIDERS.values()))
            rule = f"must be a VM type in a region of {of.title if of else 'a cloud that is known'}, such as {examples}"
            value = f"{row['InstanceType']} in {row['Region']}"
            self.issues.append(Issue(f"line {line}", rule, "InstanceType", value))
            return
        why = self._left_out(row, of)
        if why is not None:
            self._dropped[why] += 1
            return
        # A row with a fault must leave no trace in the catalogue, so nothing is kept before all of it is read.
        before = len(self.issues)
        facts = self._facts(line, row, of)
        prices = {key: self._number(line, row, key, USD) for key in ("Price", "SpotPrice") if row[key]}
        name, region, zone = row["InstanceType"], row["Region"], row["AvailabilityZone"]
        if (zone or row["SpotPrice"]) and not of.zone.fullmatch(zone):
            rule = f"must be an availability zone of {of.title}: a spot price is that of a zone"
            self.issues.append(Issue(f"line {line}", rule, "AvailabilityZone", zone))
        if len(self.issues) > before:
            return
        # A type has a row for each zone: facts must agree in all of them, prices on demand in those of a region.
        self._says_the_same(line, row, {"vCPUs": facts["vcpus"], "MemoryGiB": facts["memory_mb"]}, name)
        self._says_the_same(line, row, {"Arch": facts.get("architecture")}, name)
        self._rows.facts[name] = facts
        self._without_price += not prices
        self._says_the_same(line, row, {"Price": prices.get("Price")}, name, region)
        if "Price" in prices:
            quote = Quote(price_usd_per_hour=prices["Price"], date=self._date, source=self._said)
            self._rows.quotes[name, region, "on-demand"] = quote
        if "SpotPrice" in prices:
            self._says_the_same(line, row, {"SpotPrice": prices["SpotPrice"]}, name, region, zone)
            self._zones[name, region][zone] = prices["SpotPrice"]

    def _left_out(self, row: Mapping[str, str], of: Provider) -> str | None:
        """Reason to leave a row out; None if there is none."""
        name = row["InstanceType"]
        if self._region is not None and row["Region"] != self._region:
            return "of other regions"
        if _LOCAL_ZONE.fullmatch(row["AvailabilityZone"]):
            return "of local zones"
        if row["Arch"] in _MAC:
            return "of macOS"
        if of.accelerated.match(name):
            return "of types whose price lacks that of their accelerators"
        if of.burstable.match(name) and credits_of(name) is None:
            return "of burstable types, with credits that are not known,"
        return None

    def _facts(self, line: int, row: Mapping[str, str], of: Provider) -> dict[str, Any]:
        """Machine of a type, the same in all its rows."""
        name = row["InstanceType"]
        facts: dict[str, Any] = {"source": self._said, "date": self._date}
        facts["vcpus"] = self._number(line, row, "vCPUs", VCPUS)
        facts["memory_mb"] = self._number(line, row, "MemoryGiB", GIB) * MB_PER_GB
        if row["Arch"] in _ARCHITECTURES:
            facts["architecture"] = _ARCHITECTURES[row["Arch"]]
        elif row["Arch"]:
            rule = f"must be {', '.join(_ARCHITECTURES)} or one of macOS"
            self.issues.append(Issue(f"line {line}", rule, "Arch", row["Arch"]))
        elif (architecture := of.architecture(name)) is not None:
            facts["architecture"] = architecture
        if of.burstable.match(name):
            facts["burstable"] = credits_of(name)
        if row["AcceleratorName"]:
            facts["accelerators"] = f"{row['AcceleratorCount'] or '1'} {row['AcceleratorName']}".replace(".0 ", " ")
        return facts

    def _number(self, line: int, row: Mapping[str, str], key: str, kind: TypeAdapter[Any]) -> Any:
        try:
            return number_in(row[key], kind)
        except ValueError as error:
            self.issues.append(Issue(f"line {line}", str(error), key, row[key]))
            return 0

    def _says_the_same(self, line: int, row: Mapping[str, str], values: Mapping[str, Any], *of: str) -> None:
        """Refuse a row that contradicts the first row of the same type, of it in a region, or in a zone."""
        for key, value in values.items():
            first, before, text = self._first.setdefault((key, *of), (line, value, row[key]))
            if before != value:
                rule = f"is {text!r} for {' in '.join(of)} in line {first}: which of them counts?"
                self.issues.append(Issue(f"line {line}", rule, key, row[key]))

    def rows(self, source: str) -> NewRows:
        """Return the types and prices of all rows."""
        rows = self._rows
        rows.provider = "aws" if self._of is None else self._of.name
        for (name, region), by_zone in self._zones.items():
            rows.quotes[name, region, "spot"] = _quote(dict(sorted(by_zone.items())), self._date, self._said)
        rows.warnings += [f"{source}: {count:,} rows {what} left out" for what, count in sorted(self._dropped.items())]
        if self._dropped["with accelerators"] and not self._accelerators:
            rows.warnings.append(f"{source}: --accelerators takes the types with accelerators, too, and marks them")
        if self._without_price:
            rows.warnings.append(f"{source}: {self._without_price:,} rows have no price: none is offered there")
        return rows


def _quote(zones: Mapping[str, float], date: str, source: str) -> Quote:
    mean = _to_digits(sum(zones.values()) / len(zones))
    named = {zone: price for zone, price in zones.items() if zone}  # a catalogue of Azure has regions only
    return Quote(price_usd_per_hour=mean, date=date, source=source, **({"zones": named} if named else {}))


def _to_digits(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def updated(
    base: Catalogue | None,
    news: Iterable[NewRows],
    *,
    types: Sequence[str] = (),
    name: str = "prices",
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
    name : str
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
        If nothing is in it, or not all is of one provider.
    """
    news = [*news]
    providers = {new.provider: None for new in news} | ({} if base is None else {base.provider: None})
    if len(providers) > 1:
        first, second = [*providers][:2]
        rule = "make a catalogue of each" if base is None else "--base none begins with nothing"
        raise SpotbagError(f"types of {first} and of {second} do not go into one catalogue: {rule}")
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for old in base.vm_types if base is not None else ():
        rows[old.name, old.region] = {key: getattr(old, key) for key in old.model_fields_set}
    facts: dict[str, dict[str, Any]] = {}
    for (type_name, _), row in rows.items():
        facts[type_name] = {key: value for key, value in row.items() if key not in ("name", "region", "prices")}
    warnings: list[str] = []
    unknown: set[str] = set()
    older: set[str] = set()
    for new in news:
        warnings += new.warnings
        wanted = _wanted(types)
        # Later sources win, so that a catalogue is brought up to date by reading old and new files in order.
        facts |= {type_name: said for type_name, said in new.facts.items() if wanted(type_name)}
        places: dict[tuple[str, str], dict[Market, Quote]] = defaultdict(dict)
        for (type_name, place, market), quote in new.quotes.items():
            if wanted(type_name):
                places[type_name, place][market] = quote
        for (type_name, place), quotes in places.items():
            # A price alone does not make a type: without cores and memory no plan can use it.
            if type_name not in facts:
                unknown.add(type_name)
                continue
            row = rows.setdefault((type_name, place), {"name": type_name, "region": place, "prices": {}})
            older |= {type_name for market, quote in quotes.items() if _is_newer(row["prices"].get(market), quote)}
            row["prices"] = {**row["prices"], **quotes}
        if types and region is not None:
            for type_name in filter(wanted, new.facts):
                rows.setdefault((type_name, region), {"name": type_name, "region": region, "prices": {}})
        for (type_name, _), row in rows.items():
            row |= facts[type_name]
    if unknown:
        warnings.append(
            f"{first_names(sorted(unknown))} left out: prices are known, but not what the types are "
            "(--instance-types, from aws ec2 describe-instance-types, or --skypilot says that)"
        )
    if older:
        warnings.append(f"prices of {first_names(sorted(older))} took the place of newer ones")
    if not rows:
        raise SpotbagError("there is no VM type in the catalogue that this would make")
    made = tuple(CataloguedType(**row) for row in rows.values())
    if base is not None:
        return base.replace(vm_types=made), warnings
    return Catalogue(name=name, provider=next(iter(providers), "aws"), vm_types=made), warnings


def _is_newer(quote: Quote | None, than: Quote) -> bool:
    return quote is not None and quote.date > than.date


def _wanted(types: Sequence[str]) -> Callable[[str], bool]:
    return lambda name: not types or any(fnmatchcase(name, pattern) for pattern in types)
