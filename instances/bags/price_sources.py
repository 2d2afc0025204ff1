"""Newer rows of a catalogue: from the JSON of the AWS command line, SkyPilot's catalogues, and pages of price lists.

What they say is kept with its date; what they do not say stays as it was.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter

from ...core.errors import InputError, Issue, SpotbagError, input_error
from ...core.json_documents import parse_json
from ...core.quantities import MB_PER_GB, Memory, Name, Price, VCpus, moment, number_in, number_of
from ...core.records import TheirRecord, duplicates, validate_record
from ...core.text_files import read_text, source_name
from ...core.text_tables import TextTable
from ...core.wording import first_names
from ..entries import Architecture, Burstable, Market
from ..table_columns import THOUSANDS
from .imported import grouped
from .providers import AWS_REGION, PROVIDERS, Provider, provider_of, region_of_zone
from .spot_price_history import LINUX, SpotPrice, plain_product, read_spot_prices
from .vm_catalogue import Catalogue, CataloguedType, Quote

_DIGITS = 12
"""Digits of a mean, which more digits than floats have would not make more exact."""
_LOCAL_ZONE = re.compile(rf"{AWS_REGION}-.+|[a-z]+[0-9]+-.+-az[0-9]+")
"""Names and ids of local zones and wavelength zones: us-east-1-atl-1a, use1-atl2-az1."""
_ARCHITECTURES: dict[str, Architecture] = {"x86_64": "x86_64", "i386": "x86_64", "arm64": "arm64"}
"""Architectures by the names of AWS. Of several, i386 is not the only one: such types run x86_64, too."""
_MAC = "x86_64_mac", "arm64_mac"


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


class PriceSource:
    """A file of types or prices, what is taken from it, what is left out, and what is wrong.

    Parameters
    ----------
    path : path
        The file.
    origin : str
        Source of the prices, such as a command.
    date : str
        Day of what has none.
    noun : str
        Its entries, for numbers of those that are left out.
    provider : str
        Whose types and prices they are.
    accelerators : bool
        Whether types with accelerators are taken, too.
    """

    def __init__(
        self, path: str | os.PathLike[str], origin: str, date: str, noun: str, provider: str, accelerators: bool = False
    ) -> None:
        self.name = source_name(path)
        self.said = f"{origin}, {os.path.basename(self.name)}"
        self.rows = NewRows(provider)
        self.issues: list[Issue] = []
        self._path, self._date, self._noun, self._accelerators = path, date, noun, accelerators
        self._left: dict[str, int] = defaultdict(int)

    def text(self) -> str:
        """Return the text of the file."""
        return read_text(self._path)

    def document(self, kind: type[Theirs]) -> Theirs:
        """Return the file as a document of a kind."""
        return validate_record(kind, parse_json(self.text(), self.name), self.name)

    def fault(self, where: str, rule: str, field_: str = "", value: Any = Issue.NOTHING, item: str = "") -> None:
        """Note a fault at a place."""
        self.issues.append(Issue(where, rule, field_, value, item))

    def leave_out(self, why: str) -> None:
        """Count an entry that is not taken."""
        self._left[why] += 1

    def why_not(self, name: str, burstable: bool, accelerators: str | None) -> str | None:
        """Reason to leave a type out, whatever the source; None if there is none."""
        # Their price is mostly that of the accelerator, which no task here uses.
        if accelerators and not self._accelerators:
            return "with accelerators (--accelerators takes them)"
        # Without its credits, which no source has, a plan cannot use a burstable type.
        if burstable and credits_of(name) is None:
            return "of burstable types, with credits that are not known,"
        return None

    def put_type(self, name: str, vcpus: int, memory_mb: float, burstable: bool, **more: Any) -> None:
        """Take the facts of a type: its architecture, accelerators and a date as well, where the source knows them."""
        facts = {"vcpus": vcpus, "memory_mb": memory_mb, "source": self.said, "date": self._date} | more
        facts["burstable"] = credits_of(name) if burstable else None
        self.rows.facts[name] = {key: value for key, value in facts.items() if value is not None}

    def quote(self, usd: float, date: str | None = None, **zones: Any) -> Quote:
        """Return a price of the source as a quote."""
        return Quote(price_usd_per_hour=usd, date=date or self._date, source=self.said, **zones)

    def quote_of_zones(self, prices: Mapping[str, float], date: str | None = None) -> Quote:
        """Return the prices of zones as a quote of their mean."""
        mean = _to_digits(sum(price for _, price in sorted(prices.items())) / len(prices))
        named = {zone: price for zone, price in sorted(prices.items()) if zone}
        return self.quote(mean, date, **({"zones": named} if named else {}))  # a catalogue of Azure has regions only

    def taken(self, nothing: str = "") -> NewRows:
        """Return the rows, and say which entries were left out.

        Parameters
        ----------
        nothing : str
            Fault of a file without any quote; it may have none if empty.

        Raises
        ------
        InputError
            With everything that is wrong.
        """
        if self.issues:
            raise InputError(self.name, grouped(self.issues))
        left = sorted(self._left.items())
        if nothing and not self.rows.quotes:
            others = ", ".join(f"{count:,} {why}" for why, count in left)
            raise input_error(self.name, nothing + (f" ({others})" if others else ""))
        said = [f"{count:,} {self._noun} {why} left out" for why, count in left]
        self.rows.warnings = [f"{self.name}: {text}" for text in [*said, *self.rows.warnings]]
        return self.rows


Theirs = TypeVar("Theirs", bound=TheirRecord)


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
    source = PriceSource(path, "aws ec2 describe-instance-types", date, "entries", "aws", accelerators)
    types = source.document(_InstanceTypes).types
    source.issues += duplicates("InstanceTypes", "InstanceType", enumerate(entry.name for entry in types))
    for index, entry in enumerate(types):
        names = entry.processor.architectures
        known = {_ARCHITECTURES.get(name) for name in names}
        # Mac types are dedicated hosts, billed for a day at least: none of the models fits.
        mac = "of macOS" if any(name in _MAC for name in names) else None
        why = mac or source.why_not(entry.name, entry.burstable, entry.accelerators)
        if why is not None:
            source.leave_out(why)
        elif None in known or len(known) > 1:
            rule = f"must be one of {', '.join(_ARCHITECTURES)}"
            field_ = "ProcessorInfo.SupportedArchitectures"
            source.fault(f"InstanceTypes[{index}]", rule, field_, " and ".join(names), entry.name)
        else:
            more = {"architecture": next(iter(known), None), "accelerators": entry.accelerators}
            source.put_type(entry.name, entry.vcpus.count, entry.memory.mib, entry.burstable, **more)
    return source.taken()


def credits_of(name: str) -> Burstable | None:
    """CPU credits of a T3, T3a or T4g type, as AWS publishes them; None for others."""
    family, _, size = name.partition(".")
    # Sizes earn the same in these three families; T2 has other rules.
    found = PROVIDERS["aws"].credits.get(size) if family in ("t3", "t3a", "t4g") else None
    if found is None:
        return None
    # They hold what they earn in 24 hours, and start without any.
    return Burstable(
        baseline_fraction=found[0], credits_per_hour=found[1], initial_credits=0, max_credits=24 * found[1]
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
    source = PriceSource(path, "aws ec2 describe-spot-price-history", "", "prices", "aws")
    history = _history(source, read_spot_prices(path), plain_product(product), region)
    if history:
        # The mean ends at the last entry of the whole file, so that all zones are measured over the same time.
        last = max(time for prices in history.values() for time, _ in prices)
        source.said += ": last price of each zone" if window_s is None else f": mean over {window_s / 86400:g} days"
        zones: dict[tuple[str, str], dict[str, tuple[datetime, float]]] = defaultdict(dict)
        for (name, zone), prices in history.items():
            prices.sort()
            price = prices[-1][1] if window_s is None else _mean(prices, last - timedelta(seconds=window_s), last)
            zones[name, region_of_zone(zone) or zone][zone] = prices[-1][0], price
        for (name, of_region), by_zone in zones.items():
            # A mean is of the window's last day; without a window, each zone has the day of its last price.
            day = last if window_s is not None else max(time for time, _ in by_zone.values())
            rounded = {zone: _to_digits(price) for zone, (_, price) in by_zone.items()}
            source.rows.quotes[name, of_region, "spot"] = source.quote_of_zones(rounded, day.date().isoformat())
    return source.taken(f"has no price of {product}" + (f" in {region}" if region else ""))


def _history(
    source: PriceSource, entries: Iterable[SpotPrice], product: str, region: str | None
) -> dict[tuple[str, str], list[tuple[datetime, float]]]:
    """Prices of a product in a region by type and zone; those of others are left out."""
    found: dict[tuple[str, str], list[tuple[datetime, float]]] = defaultdict(list)
    for entry in entries:
        if not entry.zone:
            raise input_error(
                source.name, "has no availability zones, and a catalogue needs them: add a column AvailabilityZone"
            )
        # A history often has all products and regions of an account: the others are left out, with their number.
        if entry.product and entry.product != product:
            source.leave_out(f"of {entry.product}")
        elif _LOCAL_ZONE.fullmatch(entry.zone):
            source.leave_out("of local zones")
        elif (place := region_of_zone(entry.zone)) is None:
            rule = "must be an availability zone of AWS, such as us-east-1a or use1-az4"
            source.fault(entry.place, rule, "zone", entry.zone)
        elif region is not None and place != region:
            source.leave_out(f"of {place}")
        else:
            found[entry.name, entry.zone].append((entry.time, entry.price))
    return found


def _mean(prices: Sequence[tuple[datetime, float]], start: datetime, end: datetime) -> float:
    """Mean of a step function from start to end; before its first step it has the value of that."""
    total = 0.0
    for index, (time, price) in enumerate(prices):
        # Before its first entry a price is taken to have been that.
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
    source = _Skypilot(path, "SkyPilot catalogue", date, "rows", "aws", accelerators)
    table = TextTable(source.text(), source.name)
    table.check_headings()
    spelled = {name.lower(): name for name in (*_NEEDED, *_MORE)}
    table.first = [spelled.get(heading.lower(), heading) for heading in table.first]
    places = {name: table.place(name) for name in (*_NEEDED, *_MORE)}
    missing = [name for name in _NEEDED if places[name] is None]
    if missing:
        raise input_error(source.name, f"is no vms.csv of SkyPilot's catalogues: it has no column {', '.join(missing)}")
    for line, cells in table:
        if len(source.issues) >= _MOST_ISSUES:
            break
        source.take(line, {name: cells[place] for name, place in places.items() if place is not None}, region)
    source.issues += table.issues
    return source.taken()


_NEEDED = "InstanceType", "vCPUs", "MemoryGiB", "Price", "SpotPrice", "Region"
_MORE = "AvailabilityZone", "AcceleratorName", "AcceleratorCount", "Arch"
_VCPUS: TypeAdapter[int] = TypeAdapter(VCpus)
_GIB: TypeAdapter[float] = TypeAdapter(Annotated[Memory, Field(le=10**9 / MB_PER_GB)])
_USD: TypeAdapter[float] = TypeAdapter(Price)
_MOST_ISSUES = 1_000


class _Skypilot(PriceSource):
    """Takes the rows of SkyPilot's catalogue one by one."""

    def __init__(self, *source: Any) -> None:
        super().__init__(*source)
        self._of: Provider | None = None
        self._zones: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
        self._first: dict[tuple[str, ...], tuple[int, Any, str]] = {}
        self._without_price = 0

    def take(self, line: int, row: Mapping[str, str], region: str | None) -> None:
        """Take a row."""
        name, place, zone = row["InstanceType"], row["Region"], row.get("AvailabilityZone")
        row = {**dict.fromkeys(_MORE, ""), **row}
        if row["AcceleratorName"] and (not name or self.why_not(name, False, row["AcceleratorName"])):
            self.leave_out("with accelerators (--accelerators takes them)")
            return
        # The first row says of which provider a catalogue is.
        found = provider_of(name, place)
        of = self._of = self._of or found
        if of is None or found is not of:
            examples = " or ".join(one.example for one in ([of] if of else PROVIDERS.values()))
            rule = f"must be a VM type in a region of {of.title if of else 'a cloud that is known'}, such as {examples}"
            self.fault(f"line {line}", rule, "InstanceType", f"{name} in {place}")
            return
        self.rows.provider = of.name
        why = self._left_out(row, of, region)
        if why is not None:
            self.leave_out(why)
            return
        # A row with a fault must leave no trace in the catalogue, so nothing is kept before all of it is read.
        before = len(self.issues)
        vcpus, memory_mb = (
            self._number(line, row, "vCPUs", _VCPUS),
            self._number(line, row, "MemoryGiB", _GIB) * MB_PER_GB,
        )
        architecture = _ARCHITECTURES.get(row["Arch"]) if row["Arch"] else of.architecture(name)
        if row["Arch"] and architecture is None:
            self.fault(f"line {line}", f"must be {', '.join(_ARCHITECTURES)} or one of macOS", "Arch", row["Arch"])
        prices = {key: self._number(line, row, key, _USD) for key in ("Price", "SpotPrice") if row[key]}
        if (zone != "" or row["SpotPrice"]) and not of.zone.fullmatch(zone or ""):
            rule = f"must be an availability zone of {of.title}: a spot price is that of a zone"
            self.fault(f"line {line}", rule, "AvailabilityZone", zone or "")
        if len(self.issues) > before:
            return
        # A type has a row for each zone: facts must agree in all of them, prices on demand in those of a region.
        self._says_the_same(line, row, {"vCPUs": vcpus, "MemoryGiB": memory_mb, "Arch": architecture}, name)
        self._says_the_same(line, row, {"Price": prices.get("Price")}, name, place)
        accelerators = f"{row['AcceleratorCount'] or '1'} {row['AcceleratorName']}".replace(".0 ", " ")
        more = {"architecture": architecture, "accelerators": accelerators if row["AcceleratorName"] else None}
        self.put_type(name, vcpus, memory_mb, bool(of.burstable.match(name)), **more)
        self._without_price += not prices
        if "Price" in prices:
            self.rows.quotes[name, place, "on-demand"] = self.quote(prices["Price"])
        if "SpotPrice" in prices:
            self._says_the_same(line, row, {"SpotPrice": prices["SpotPrice"]}, name, place, zone or "")
            self._zones[name, place][zone or ""] = prices["SpotPrice"]

    def _left_out(self, row: Mapping[str, str], of: Provider, region: str | None) -> str | None:
        """Reason to leave a row out; None if there is none."""
        name = row["InstanceType"]
        if region is not None and row["Region"] != region:
            return "of other regions"
        if _LOCAL_ZONE.fullmatch(row["AvailabilityZone"]):
            return "of local zones"
        if row["Arch"] in _MAC:
            return "of macOS"
        if of.accelerated.match(name):
            return "of types whose price lacks that of their accelerators"
        return self.why_not(name, bool(of.burstable.match(name)), None)

    def _number(self, line: int, row: Mapping[str, str], key: str, kind: TypeAdapter[Any]) -> Any:
        try:
            return number_in(row[key], kind)
        except ValueError as error:
            self.fault(f"line {line}", str(error), key, row[key])
            return 0

    def _says_the_same(self, line: int, row: Mapping[str, str], values: Mapping[str, Any], *of: str) -> None:
        """Refuse a row that contradicts the first row of the same type, of it in a region, or in a zone."""
        for key, value in values.items():
            first, before, text = self._first.setdefault((key, *of), (line, value, row[key]))
            if before != value:
                self.fault(
                    f"line {line}",
                    f"is {text!r} for {' in '.join(of)} in line {first}: which of them counts?",
                    key,
                    row[key],
                )

    def taken(self, nothing: str = "") -> NewRows:
        """Return the types and prices of all rows."""
        for (name, region), by_zone in self._zones.items():
            self.rows.quotes[name, region, "spot"] = self.quote_of_zones(by_zone)
        if self._without_price:
            self.rows.warnings.append(f"{self._without_price:,} rows have no price: none is offered there")
        return super().taken(nothing)


def _to_digits(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def updated(
    base: Catalogue | None,
    news: Iterable[NewRows],
    *,
    types: Sequence[str] = (),
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
    rows, warnings = _rows_with(base, news, types, region)
    if not rows:
        raise SpotbagError("there is no VM type in the catalogue that this would make")
    made = tuple(CataloguedType(**row) for row in rows)
    if base is not None:
        return base.replace(vm_types=made), warnings
    return Catalogue(name="prices", provider=next(iter(providers), "aws"), vm_types=made), warnings


def _rows_with(
    base: Catalogue | None, news: Sequence[NewRows], types: Sequence[str], region: str | None
) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows of a catalogue with the news, and warnings; see `updated`."""
    # Fields that were given only: a row is written as it was read.
    rows: dict[tuple[str, str], dict[str, Any]] = {
        (old.name, old.region): {key: getattr(old, key) for key in old.model_fields_set}
        for old in (base.vm_types if base is not None else ())
    }
    facts = {
        name: {key: value for key, value in row.items() if key not in ("name", "region", "prices")}
        for (name, _), row in rows.items()
    }
    warnings, unknown, older = list[str](), set[str](), set[str]()

    def row_of(name: str, place: str) -> dict[str, Any]:
        return rows.setdefault((name, place), {"name": name, "region": place, "prices": {}})

    for new in news:
        warnings += new.warnings
        wanted = [name for name in new.facts if _is_wanted(name, types)]
        # Later sources win, so that a catalogue is brought up to date by reading old and new files in order.
        facts |= {name: new.facts[name] for name in wanted}
        for (name, place, market), quote in new.quotes.items():
            # A price alone does not make a type: without cores and memory no plan can use it.
            if name in facts and _is_wanted(name, types):
                row = row_of(name, place)
                before: Quote | None = row["prices"].get(market)
                older |= {name} if before is not None and before.date > quote.date else set()
                row["prices"] = {**row["prices"], market: quote}
            elif name not in facts and _is_wanted(name, types):
                unknown.add(name)
        for name in wanted if types and region is not None else ():
            row_of(name, region or "")
        for (name, _), row in rows.items():
            row |= facts[name]
    if unknown:
        warnings.append(
            f"{first_names(sorted(unknown))} left out: prices are known, but not what the types are "
            "(--instance-types, from aws ec2 describe-instance-types, or --skypilot says that)"
        )
    if older:
        warnings.append(f"prices of {first_names(sorted(older))} took the place of newer ones")
    return [*rows.values()], warnings


def _is_wanted(name: str, types: Sequence[str]) -> bool:
    return not types or any(fnmatchcase(name, pattern) for pattern in types)


# ---------------------------------------------------------------------------------------------------------- price lists


class _Product(TheirRecord):
    attributes: dict[str, str]
    family: Annotated[str, Field(alias="productFamily")] = ""


class _Dimension(TheirRecord):
    unit: str
    price: Annotated[dict[str, str], Field(alias="pricePerUnit")]


class _Term(TheirRecord):
    dimensions: Annotated[dict[str, _Dimension], Field(alias="priceDimensions")]


class _Listed(TheirRecord):
    product: _Product
    terms: dict[str, dict[str, _Term]] = Field(default_factory=dict)
    day: Annotated[str, Field(alias="publicationDate")] = ""


class _Page(TheirRecord):
    entries: Annotated[list[str | dict[str, Any]], Field(alias="PriceList", min_length=1)]
    more: Annotated[str | None, Field(alias="NextToken")] = None


_AWS, _AZURE = PROVIDERS["aws"], PROVIDERS["azure"]
_LINUX_ON_DEMAND = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "locationType": "AWS Region",
    "marketoption": "OnDemand",
}
"""Attributes of what a catalogue is about; others are of other systems, reserved capacity, local zones."""


def price_list_of_aws(
    path: str | os.PathLike[str], date: str, region: str | None = None, accelerators: bool = False
) -> NewRows:
    """Read VM types and on-demand prices from ``aws pricing get-products --service-code AmazonEC2``.

    Parameters
    ----------
    path : path
        The JSON.
    date : str
        Day of entries that have none.
    region : str, optional
        Entries of other regions are left out.
    accelerators : bool
        Whether types with accelerators are taken, too.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    source = PriceSource(path, "aws pricing get-products", date, "prices", "aws", accelerators)
    page = source.document(_Page)
    for index, entry in enumerate(page.entries):
        where = f"PriceList[{index}]"
        document = parse_json(entry, f"{source.name}: {where}") if isinstance(entry, str) else entry
        listed = validate_record(_Listed, document, f"{source.name}: {where}")
        attributes = listed.product.attributes
        name, place = attributes.get("instanceType", ""), attributes.get("regionCode", "")
        burstable = bool(_AWS.burstable.match(name))
        gpus = attributes.get("gpu", "0")
        why = _left_out(listed, region) or source.why_not(name, burstable, gpus.removeprefix("0"))
        if why is None and not any(True for _ in _hourly(listed)):
            why = "without a price for an hour"
        if why is not None:
            source.leave_out(why)
            continue
        try:
            vcpus, memory_mb, prices = _numbers_of(listed)
        except ValueError as error:
            source.fault(where, f"has vcpu, memory or a price that {error}", item=name)
            continue
        day = _day(listed.day, date)
        # A list has an entry for each operation of a type; those of Linux must agree on the price.
        quote = source.rows.quotes.setdefault((name, place, "on-demand"), source.quote(prices[0], day))
        if len({quote.price_usd_per_hour, *prices}) > 1:
            source.fault(where, f"has another price in {place} than before", item=name)
        before = source.rows.facts.get(name, {"vcpus": vcpus, "memory_mb": memory_mb})
        if (before["vcpus"], before["memory_mb"]) != (vcpus, memory_mb):
            source.fault(where, "has other vCPUs or another memory than before", item=name)
        processor = attributes.get("physicalProcessor", "")
        # AWS calls its own processors Graviton, and all of them are of Arm.
        architecture = ("arm64" if "Graviton" in processor else "x86_64") if processor else None
        accelerators_said = None if gpus == "0" else f"{gpus} GPU"
        more = {"architecture": architecture, "accelerators": accelerators_said, "date": day}
        source.put_type(name, vcpus, memory_mb, burstable, **more)
    return _with_notes(source, page.more)


def _numbers_of(listed: _Listed) -> tuple[int, float, list[float]]:
    """Return the vCPUs of a type, its memory in MB, and its prices for an hour; raise ValueError with the rule."""
    attributes = listed.product.attributes
    vcpus = number_in(attributes.get("vcpu", ""), _VCPUS)
    gib = attributes.get("memory", "").removesuffix(" GiB")
    memory_gb = number_in(gib.replace(",", "") if THOUSANDS.fullmatch(gib) else gib, _GIB)
    return vcpus, memory_gb * MB_PER_GB, [number_in(text, _USD) for text in _hourly(listed)]


def _left_out(listed: _Listed, region: str | None) -> str | None:
    """Reason to leave an entry out; None if there is none."""
    attributes = listed.product.attributes
    if not _AWS.type.fullmatch(attributes.get("instanceType", "")) or listed.product.family not in (
        "",
        "Compute Instance",
    ):
        return "that are no VM types"
    if why := _elsewhere(_AWS, attributes.get("regionCode", ""), region):
        return why
    if any(attributes.get(key, value) != value for key, value in _LINUX_ON_DEMAND.items()):
        return "of other systems, tenancies or places"
    return None


def _elsewhere(provider: Provider, place: str, region: str | None) -> str | None:
    if not provider.region.fullmatch(place):
        return "of no region"
    return None if region in (None, place) else "of other regions"


def _hourly(listed: _Listed) -> Iterator[str]:
    for term in listed.terms.get("OnDemand", {}).values():
        for dimension in term.dimensions.values():
            usd = dimension.price.get("USD", "0")
            if dimension.unit == "Hrs" and number_of(usd) != 0:
                yield usd


def _day(text: str, absent: str) -> str:
    time = moment(text)
    return absent if time is None else time.date().isoformat()


def _with_notes(source: PriceSource, more: str | None) -> NewRows:
    rows = source.taken("has no price of Linux")
    if more:
        rows.warnings.append(f"{source.name}: is one of several pages; the option may be given for each")
    return rows


class _Item(TheirRecord):
    name: Annotated[str, Field(alias="armSkuName")] = ""
    region: Annotated[str, Field(alias="armRegionName")] = ""
    sku: Annotated[str, Field(alias="skuName")] = ""
    product: Annotated[str, Field(alias="productName")] = ""
    service: Annotated[str, Field(alias="serviceName")] = ""
    kind: Annotated[str, Field(alias="type")] = ""
    unit: Annotated[str, Field(alias="unitOfMeasure")] = ""
    currency: Annotated[str, Field(alias="currencyCode")] = "USD"
    price: Annotated[float, Field(alias="retailPrice")]
    since: Annotated[str, Field(alias="effectiveStartDate")] = ""


class _Retail(TheirRecord):
    items: Annotated[list[_Item], Field(alias="Items", min_length=1)]
    more: Annotated[str | None, Field(alias="NextPageLink")] = None


def retail_prices_of_azure(path: str | os.PathLike[str], date: str, region: str | None = None) -> NewRows:
    """Read prices from a page of ``prices.azure.com/api/retail/prices``: Linux VMs, on demand and spot, by the hour.

    Parameters
    ----------
    path : path
        The JSON, which does not say what types are.
    date : str
        Day of the page, and of items that have none; prices that begin later are left out.
    region : str, optional
        Items of other regions are left out.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    source = PriceSource(path, "Azure retail prices", date, "prices", "azure")
    page = source.document(_Retail)
    for index, item in enumerate(page.items):
        where = f"Items[{index}]"
        day = _day(item.since, date)
        why = _item_left_out(item, region) or ("that begin later" if day > date else None)
        if why is not None:
            source.leave_out(why)
            continue
        try:
            if item.currency != "USD":
                raise ValueError("must be in USD")
            quote = source.quote(number_in(repr(item.price), _USD), day)
        except ValueError as error:
            source.fault(where, str(error), "retailPrice", f"{item.price:g} {item.currency}", item.name)
            continue
        market: Market = "spot" if item.sku.endswith(" Spot") else "on-demand"
        key = item.name, item.region, market
        before = source.rows.quotes.setdefault(key, quote)
        # A list may have prices of several days: the latest that has begun counts.
        if before.date < quote.date:
            source.rows.quotes[key] = quote
        elif before.date == quote.date and before.price_usd_per_hour != quote.price_usd_per_hour:
            source.fault(where, f"is another {market} price in {item.region} than before", item=item.name)
    return _with_notes(source, page.more)


def _item_left_out(item: _Item, region: str | None) -> str | None:
    """Reason to leave an item out; None if there is none."""
    if item.service != "Virtual Machines" or not _AZURE.type.fullmatch(item.name):
        return "that are no VM types"
    if item.kind != "Consumption" or item.unit != "1 Hour":
        return "of reservations and other contracts"
    # Only the name of the product tells them from Linux.
    if "Windows" in item.product or "Cloud Services" in item.product or "CloudServices" in item.product:
        return "of Windows and of Cloud Services"
    if item.sku.endswith(" Low Priority"):
        return "of low priority"
    return _elsewhere(_AZURE, item.region, region)
