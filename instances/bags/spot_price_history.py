"""Histories of spot prices: the JSON of ``aws ec2 describe-spot-price-history``, and tables of the same."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple

from pydantic import ConfigDict, Field

from ...core.errors import InputError, Issue, input_error
from ...core.json_documents import parse_json
from ...core.quantities import number_of
from ...core.records import LimitedRecord, validate_record
from ...core.text_files import read_text, source_name
from .imported import grouped

LINUX = "Linux/UNIX"

_HEADINGS: Mapping[str, tuple[str, ...]] = {
    "zone": ("availabilityzone", "zone", "az", "availabilityzoneid"),
    "name": ("instancetype", "type"),
    "product": ("productdescription", "product", "os"),
    "price": ("spotprice", "price"),
    "time": ("timestamp", "datetime", "date", "time"),
}
"""What the columns of a table may be called, in small letters and without anything between words."""
_NEEDED = "name", "price", "time"
_OF_AWS = "zone", "name", "product", "price", "time"
"""Columns of a table without headings: those of ``--output text``."""
_MARK = "SPOTPRICEHISTORY"


class SpotPrice(NamedTuple):
    """What spot VMs of a type cost in a zone from a time on.

    Attributes
    ----------
    zone, name, product : str
        Availability zone, VM type and operating system; without a zone or a product in a table, empty.
    price : float
        USD per hour.
    time : datetime
        Since when, in UTC.
    """

    zone: str
    name: str
    product: str
    price: float
    time: datetime


class TheirRecord(LimitedRecord):
    """Part of a document of others, which holds more than is read."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", allow_inf_nan=False)


class _Entry(TheirRecord):
    zone: Annotated[str, Field(alias="AvailabilityZone")]
    name: Annotated[str, Field(alias="InstanceType")]
    product: Annotated[str, Field(alias="ProductDescription")]
    price: Annotated[str, Field(alias="SpotPrice")]
    time: Annotated[str, Field(alias="Timestamp")]


class _History(TheirRecord):
    prices: Annotated[list[_Entry], Field(alias="SpotPriceHistory", min_length=1)]


def read_spot_prices(path: str | os.PathLike[str]) -> list[SpotPrice]:
    """Read a history of spot prices.

    Parameters
    ----------
    path : path
        The JSON of ``aws ec2 describe-spot-price-history``, or a table of the same: divided by comma, semicolon or tab,
        with headings such as ``InstanceType``, ``SpotPrice``, ``Timestamp``, ``AvailabilityZone`` and
        ``ProductDescription`` (the last two may be missing), or without, as of ``--output text``.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    source = source_name(path)
    text = read_text(path)
    if text.lstrip().startswith("{"):
        return spot_prices_of_document(parse_json(text, source), source)
    return spot_prices_of_table(text, source)


def spot_prices_of_document(document: Mapping[str, Any], source: str) -> list[SpotPrice]:
    """Read the parsed JSON of AWS; see `read_spot_prices`."""
    entries = validate_record(_History, document, source).prices
    rows = ((f"SpotPriceHistory {index}", entry.__dict__) for index, entry in enumerate(entries))
    headings = {role: field.alias or role for role, field in _Entry.model_fields.items()}
    return _prices(rows, headings, source)


def spot_prices_of_table(text: str, source: str) -> list[SpotPrice]:
    """Read a table; see `read_spot_prices`."""
    lines = text.removeprefix("\ufeff")
    first = lines.lstrip().split("\n", 1)[0]
    delimiter = next((mark for mark in "\t;," if mark in first), ",")
    table = csv.reader(io.StringIO(lines, newline=""), delimiter=delimiter)
    try:
        rows = [(f"line {table.line_num}", [cell.strip() for cell in row]) for row in table if any(row)]
    except csv.Error as error:
        raise input_error(source, f"line {table.line_num}: cannot be read as a table ({error})") from None
    if not rows:
        raise input_error(source, "is empty: a history of spot prices has a row for each change of a price")
    roles, named = _roles(rows[0][1], source)
    headings = {role: rows[0][1][place] if named else role for role, place in roles.items()}
    given = (
        (where, {role: row[place] if place < len(row) else "" for role, place in roles.items()})
        for where, row in rows[1 if named else 0 :]
    )
    return _prices(given, headings, source)


def _roles(first: Sequence[str], source: str) -> tuple[dict[str, int], bool]:
    """Which column has what, and whether the first row says so."""
    plain = [re.sub(r"[^a-z]", "", cell.lower()) for cell in first]
    roles: dict[str, int] = {}
    for role, names in _HEADINGS.items():
        place = next((plain.index(name) for name in names if name in plain), None)
        if place is not None:
            roles[role] = place
    if all(role in roles for role in _NEEDED):
        return roles, True
    marked = int(bool(first) and first[0] == _MARK)
    if len(first) == marked + len(_OF_AWS) and number_of(first[marked + _OF_AWS.index("price")]) is not None:
        return {role: marked + place for place, role in enumerate(_OF_AWS)}, False
    missing = [{"name": "InstanceType", "price": "SpotPrice", "time": "Timestamp"}[role] for role in _NEEDED]
    raise input_error(
        source,
        f"is no JSON, and no history of spot prices: its first line must have the headings {', '.join(missing)}, or "
        "the columns of 'aws ec2 describe-spot-price-history --output text' (zone, type, product, price, time)",
    )


def _prices(rows: Iterator[tuple[str, Mapping[str, str]]], headings: Mapping[str, str], source: str) -> list[SpotPrice]:
    found, issues = [], []
    for where, row in rows:
        price, time = number_of(row["price"]), moment(row["time"])
        if not row["name"]:
            issues.append(Issue(where, "must not be empty", headings["name"]))
        if price is None or price <= 0:
            issues.append(Issue(where, "must be a price", headings["price"], row["price"]))
        if time is None:
            issues.append(Issue(where, "must be a time such as 2026-07-09T12:00:00Z", headings["time"], row["time"]))
        if row["name"] and price is not None and price > 0 and time is not None:
            found.append(SpotPrice(row.get("zone", ""), row["name"], row.get("product", ""), price, time))
    if issues:
        raise InputError(source, grouped(issues))
    if not found:
        raise input_error(source, "has no price")
    return found


def moment(text: str) -> datetime | None:
    """Return the time that a text is, in UTC where it does not say; None if it is none."""
    try:
        found = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
