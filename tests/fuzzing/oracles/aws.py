"""What the AWS command line prints: VM types, and histories of spot prices."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, NamedTuple

from tests.fuzzing.oracles.json_values import (
    NUMERIC,
    as_float,
    json_of,
    member,
)
from tests.fuzzing.oracles.readings import (
    NAME,
    RefusalDueError,
    Row,
    UndecidedError,
    Verdict,
    by_role,
    checked_name,
    decoded,
    lines_of,
    note_blanks,
    number_of,
    tables_of,
    verdict_of,
    whole_of,
    within,
)


def types_of_aws(data: bytes) -> Verdict:
    """Return vCPUs, memory and architecture of the VM types of ``describe-instance-types``."""

    def read(doubts: set[str]) -> list[Any]:
        whole = json_of(data, doubts)
        rows: dict[str, Row] = {}
        if isinstance(whole, dict) and "NextToken" in whole:
            doubts.add("more pages follow")
        for entry in member(whole, "InstanceTypes", list):
            name = checked_name(member(entry, "InstanceType", str), "InstanceType").strip()
            cores = member(member(entry, "VCpuInfo", dict), "DefaultVCpus", NUMERIC)
            memory = member(member(entry, "MemoryInfo", dict), "SizeInMiB", NUMERIC)
            if not isinstance(cores, int) or not isinstance(memory, int):
                doubts.add("a whole number of AWS with a point or an exponent, or a fraction of a MiB")
            vcpus = whole_of(Decimal(cores), 1, 4096, "vCPUs")
            memory_mb = within(as_float(memory), 1e-6, 1e9, "memory")
            architecture = _architecture(entry, doubts)
            burstable = member(entry, "BurstablePerformanceSupported", bool, needed=False)
            if burstable is None:
                doubts.add("BurstablePerformanceSupported is missing")
            elif burstable != name.startswith(("t2.", "t3.", "t3a.", "t4g.")):
                raise UndecidedError("a type that is burstable by its name or its entry alone")
            row = Row(vcpus, memory_mb, architecture, None, {})
            if name in rows:
                raise RefusalDueError(f"{name} twice")
            rows[name] = row
        if not rows:
            raise RefusalDueError("no types")
        return [rows]

    return verdict_of(read)


def _architecture(entry: Any, doubts: set[str]) -> str | None:
    processor = member(entry, "ProcessorInfo", dict, needed=False)
    names = member(processor, "SupportedArchitectures", list, needed=False) if processor is not None else None
    if not names:
        doubts.add("an architecture that is not said")
        return None
    if not all(isinstance(name, str) for name in names):
        raise RefusalDueError("an architecture that is no text")
    found = {name for name in names if name in ("x86_64", "arm64")}
    if len(found) != 1:
        raise UndecidedError("an architecture that bags do not know, or several")
    if names not in (["x86_64"], ["arm64"], ["i386", "x86_64"]):
        doubts.add("unusual architectures")
    return found.pop()


_PRICE_COLUMNS = {
    "type": ("instancetype", "type"),
    "zone": ("availabilityzone", "zone"),
    "product": ("productdescription", "product", "os"),
    "price": ("spotprice", "price"),
    "time": ("timestamp", "date", "time"),
}
_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:([T ])(\d\d):(\d\d)(?::(\d\d)([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII | re.IGNORECASE
)


_ZONE = re.compile(r"us-east-1[a-f]", re.ASCII)
_LOCAL_ZONE = re.compile(r"us-east-1-[a-z]{3}-\d[a-z]", re.ASCII)
"""Of the region that files are of; what other words are is not said."""


class Price(NamedTuple):
    """A price of a spot VM type in a zone from a moment on."""

    type: str
    zone: str
    product: str
    usd_per_hour: float
    at: float


def prices_of_history(data: bytes, window_s: float | None, product: str = "Linux/UNIX") -> Verdict:
    """Return the price of each type in each zone: the last one, or the mean over a time before the last entry."""

    def read(doubts: set[str]) -> list[Any]:
        prices = _prices(data, doubts)
        kept = [price for price in prices if price.product in (product, "") and not _LOCAL_ZONE.fullmatch(price.zone)]
        usual = [price for price in kept if _ZONE.fullmatch(price.zone)]
        unusual = sorted({price.zone for price in kept if not _ZONE.fullmatch(price.zone)})
        if not all(NAME.fullmatch(price.type) for price in prices):
            doubts.add("a type of an unusual name")
        if len(
            {
                price.zone
                for price in prices
                if not _ZONE.fullmatch(price.zone) and not _LOCAL_ZONE.fullmatch(price.zone)
            }
        ):
            doubts.add("a zone of an unusual name, which may be taken or left out")
        if len(unusual) > 3:
            raise UndecidedError("many zones of unusual names")
        if not usual:
            doubts.add("no price that is wanted")
        ends = {max((price.at for price in some), default=0.0) for some in (prices, kept, usual)}
        subsets = [
            {zone for place, zone in enumerate(unusual) if number >> place & 1} for number in range(2 ** len(unusual))
        ]
        return [
            _zones(
                [price for price in kept if _ZONE.fullmatch(price.zone) or price.zone in subset], window_s, end, since
            )
            for subset in subsets
            for end in ends
            for since in ({False, True} if window_s else {False})
        ]

    return verdict_of(read)


def _zones(prices: list[Price], window_s: float | None, end: float, since_ever: bool) -> dict[str, dict[str, float]]:
    """Return the price of each type in each zone; a first price may hold since ever, or count from its entry on."""
    zones: dict[str, dict[str, list[Price]]] = {}
    for price in sorted(prices, key=lambda price: price.at):
        zones.setdefault(price.type, {}).setdefault(price.zone, []).append(price)
    found: dict[str, dict[str, float]] = {}
    for vm_type, by_zone in zones.items():
        for zone, history in by_zone.items():
            value = history[-1].usd_per_hour
            if window_s is not None:
                begin = end - window_s if since_ever else max(end - window_s, history[0].at)
                history[0] = history[0]._replace(at=min(history[0].at, begin))
                spans = [
                    (max(min(after, end) - max(price.at, begin), 0), price.usd_per_hour)
                    for price, after in zip(history, [*(later.at for later in history[1:]), end], strict=True)
                ]
                if end > begin:
                    value = sum(span * usd for span, usd in spans) / (end - begin)
            found.setdefault(vm_type, {})[zone] = value
    return found


def _prices(data: bytes, doubts: set[str]) -> list[Price]:
    """Read a history as JSON, as what ``--output text`` prints, or as a table; nothing may be said twice."""
    text = decoded(data, doubts)
    if text.lstrip(" \t\r\n")[:1] in ("{", "["):
        entries = [
            [_entry(entry, key, doubts) for key in _AWS_KEYS]
            for entry in member(json_of(data, doubts), "SpotPriceHistory", list)
        ]
        if re.search(r'"NextToken"', text):
            doubts.add("more pages follow")
    elif re.search(r"(?:^|[\r\n])[^\t\r\n]*SPOTPRICEHISTORY[^\t\r\n]*\t", text):
        raw = [line.split("\t") for line in lines_of(text, doubts) if line.strip()]
        rows = [[cell.strip().strip('"').strip() for cell in row] for row in raw]
        for row in raw:
            note_blanks(row, doubts)
        if not text.startswith("SPOTPRICEHISTORY"):
            doubts.add("empty lines, or other words, before the first price")
        if '"' in text:
            doubts.add("quotation marks in what --output text prints")
        if any(len(row) not in (6, 7) for row in rows):
            raise RefusalDueError("a line that has not six or seven cells")
        if any(len(row) == 7 for row in rows):  # newer command lines print AvailabilityZoneId as well
            doubts.add("a line of seven cells")
        if raw != rows or any(row[0] != "SPOTPRICEHISTORY" for row in rows):
            doubts.add("a line with another first word, or blanks around cells")
        entries = [[row[-4], row[1], *row[-3:]] for row in rows]
    elif text.startswith("SPOTPRICEHISTORY") or re.match(
        r'\s*([^,\r\n]+,\s*){4,5}"?\d{4}-|\s*([^;\r\n]+;){4,5}"?\d{4}-', text
    ):
        raise UndecidedError("what --output text prints, divided in another way")
    elif re.match(r"\s*([^\t\r\n]+\t){4,5}\d{4}-\d\d-\d\dT", text):
        rows = [[cell.strip() for cell in line.split("\t")] for line in lines_of(text, doubts) if line.strip()]
        if any(len(row) not in (5, 6) or "SPOTPRICEHISTORY" in row[-4:] for row in rows):
            raise RefusalDueError("a line that has not five or six cells, or others than one thinks")
        doubts.add("what --output text prints, without its first column")
        entries = [[row[-4], row[0], *row[-3:]] for row in rows]
    else:
        entries = _entries_of_table(data, doubts)
    prices = [_price(entry, doubts) for entry in entries]
    if not prices:
        raise RefusalDueError("no prices")
    said: dict[tuple[str, str, str, float], float] = {}
    for price in prices:
        key = (price.type, price.zone, price.product, price.at)
        if said.setdefault(key, price.usd_per_hour) != price.usd_per_hour:
            raise RefusalDueError(f"two prices of {key} at once")
    if len(said) < len(prices):
        doubts.add("a price twice, the same both times")
    return prices


def _entry(entry: Any, key: str, doubts: set[str]) -> str | None:
    found: str | None = member(entry, key, str, needed=False)
    if found is None:
        doubts.add("a member that is missing or null")
    return found


_AWS_KEYS = ("InstanceType", "AvailabilityZone", "ProductDescription", "SpotPrice", "Timestamp")


def _price_role(heading: str) -> str | None:
    flat = re.sub(r"[^a-z]+", "", heading.lower())
    return next((role for role, names in _PRICE_COLUMNS.items() if flat in names), None)


def _entries_of_table(data: bytes, doubts: set[str]) -> list[list[str | None]]:
    readings, whys = [], []
    for _, rows, own in tables_of(data, doubts, lambda heading: _price_role(heading) is not None):
        try:
            readings.append(by_role(rows, _price_role, ("type", "price", "time"), own))
            doubts |= own
        except RefusalDueError as due:
            whys.append(str(due))
    if len(readings) != 1:
        raise RefusalDueError("; ".join(whys) or "divided in several ways")
    return [[row.get(role) for role in _PRICE_COLUMNS] for row in readings[0]]


def _price(entry: list[str | None], doubts: set[str]) -> Price:
    vm_type, zone, product, price, time = entry
    if price is None or time is None:
        raise RefusalDueError("an entry without a price or a time")
    if zone == "" or product == "":
        raise UndecidedError("a price of no zone or no product, where others have one")
    usd = within(float(number_of(price, doubts)), 1e-9, 1e6, "price")
    found = _TIME.fullmatch(time.strip())
    if time != time.strip():
        doubts.add("a time with blanks around it")
    if not found:
        raise RefusalDueError(f"{time!r:.50} is no time")
    year, month, day, between, hour, minute, second, part, zone_of_time = found.groups()
    if (
        part not in (None, ".000")
        or between != "T"
        or second is None
        or (zone_of_time and not re.fullmatch("Z|[+-]..:..", zone_of_time))
    ):
        doubts.add("a time in unusual letters")
    try:
        moment = datetime(*(int(field or 0) for field in (year, month, day, hour, minute, second)), tzinfo=timezone.utc)  # type: ignore[misc,arg-type]  # noqa: UP017
        if zone_of_time and zone_of_time not in "Zz":
            hours, minutes = int(zone_of_time[1:3]), int(zone_of_time[-2:])
            if hours > 23 or minutes > 59:
                raise ValueError("no offset")
            moment -= timedelta(hours=hours, minutes=minutes) * (-1 if zone_of_time[0] == "-" else 1)
        at = moment.timestamp()
    except (ValueError, OverflowError):
        raise RefusalDueError(f"{time!r:.50} is no time") from None
    if not 1990 <= moment.year <= 2100:
        doubts.add("a time of another century")
    at += float("0" + (part or "").replace(",", "."))
    return Price(vm_type or "", zone or "", product or "", usd, at)


def steps_of_history(data: bytes, zone: str) -> Verdict:
    """Return the changes of the prices of a zone, in seconds from the first entry that counts."""

    def read(doubts: set[str]) -> list[Any]:
        prices = _prices(data, doubts)
        of_zone = [price for price in prices if price.zone in (zone, "")]
        if not any(price.zone for price in prices):
            doubts.add("a zone that is asked for, in a history without zones")
        readings = []
        for some in (prices, of_zone):
            products = {price.product for price in some}
            if "Linux/UNIX" not in products and len(products) != len({price.product for price in prices}):
                doubts.add("one product in the zone, several in the history")
            product = products.pop() if len(products) == 1 else "Linux/UNIX"
            wanted = [price for price in of_zone if price.product in (product, "")]
            if not all(NAME.fullmatch(price.type) for price in prices):
                doubts.add("a type of an unusual name")
            starts = {min(price.at for price in some) for some in (prices, of_zone, wanted) if wanted}
            readings += [
                steps_of((whole(price.at - start), price.type, price.usd_per_hour) for price in wanted)
                for start in starts
                for whole in (float, math.ceil)  # a change happens at the first whole second that is not before it
            ]
        if not readings:
            raise RefusalDueError("no price of the zone")
        return readings

    return verdict_of(read)


def steps_of(prices: Iterable[tuple[float, str, float]]) -> dict[str, list[tuple[float, float]]]:
    """Return the price of each type over time, without entries that change nothing."""
    found: dict[str, list[tuple[float, float]]] = {}
    for at, vm_type, usd_per_hour in sorted(prices, key=lambda price: price[0]):
        steps = found.setdefault(vm_type, [])
        if not steps or steps[-1][1] != usd_per_hour:
            steps.append((at, usd_per_hour))
    return found
