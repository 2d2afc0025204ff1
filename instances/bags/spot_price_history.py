"""Histories of spot prices: the JSON of ``aws ec2 describe-spot-price-history``, and tables of the same."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Annotated, Any, NamedTuple

from pydantic import Field, TypeAdapter

from ...core.errors import InputError, Issue, input_error
from ...core.json_documents import parse_json
from ...core.quantities import Price, moment, number_in, number_of
from ...core.records import TheirRecord, validate_record
from ...core.text_files import read_text, source_name
from ...core.text_tables import TextTable
from ..table_formats import COLUMNS, COMMENTS, spelled
from .imported import grouped

LINUX = "Linux/UNIX"
_IN_A_VPC = " (Amazon VPC)"

_HEADINGS: Mapping[str, tuple[str, ...]] = spelled(COLUMNS["spot_prices"])
"""Headings of a table, in small letters and without anything between words."""
_NEEDED = "name", "price", "time"
_OF_AWS = ("zone", "name", "product", "price", "time"), ("zone", "zone_id", "name", "product", "price", "time")
"""Columns of a table without headings: those of ``--output text``, before 2025 and since."""
_ZONE_ID = re.compile(r"[a-z]+[0-9]+-(?:.+-)?az[0-9]+")
_MARK = "SPOTPRICEHISTORY"


class SpotPrice(NamedTuple):
    """Spot price of a VM type in a zone from a time on.

    Attributes
    ----------
    zone, name, product : str
        Availability zone, VM type and operating system; without a zone or a product in a table, empty.
    price : float
        USD per hour.
    time : datetime
        Since when, in UTC.
    place : str
        Where its source says so.
    """

    zone: str
    name: str
    product: str
    price: float
    time: datetime
    place: str = ""


def plain_product(product: str) -> str:
    """Return a product without the network that all VMs have today: Linux/UNIX of ``Linux/UNIX (Amazon VPC)``."""
    return product.removesuffix(_IN_A_VPC)


class _Entry(TheirRecord):
    zone: Annotated[str, Field(alias="AvailabilityZone")] = ""
    zone_id: Annotated[str, Field(alias="AvailabilityZoneId")] = ""
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
    rows = (
        (f"SpotPriceHistory {index}", {**entry.__dict__, "zone": entry.zone or entry.zone_id, "zone_id": "-"})
        for index, entry in enumerate(entries)
    )
    headings = {role: field.alias or role for role, field in _Entry.model_fields.items()}
    return _prices(rows, headings, source)


def spot_prices_of_table(text: str, source: str) -> list[SpotPrice]:
    """Read a table; see `read_spot_prices`."""
    table = TextTable(text, source)
    roles, named = _roles(table)
    headings = {role: table.first[place] if named else role for role, place in roles.items()}
    rows = table if named else chain([(table.first_line, table.first)], table)
    given = ((f"line {line}", {role: row[place] for role, place in roles.items()}) for line, row in rows)
    return _prices(given, headings, source, table.issues)


def _roles(table: TextTable) -> tuple[dict[str, int], bool]:
    """Columns of the roles; True if the first row has their headings."""
    plain = [re.sub(r"[\s_.-]", "", cell.lower()) for cell in table.first]
    roles: dict[str, int] = {}
    for role, names in _HEADINGS.items():
        places = [place for place, name in enumerate(plain) if name in names]
        if len(places) > 1:
            both = " and ".join(repr(table.first[place]) for place in places[:2])
            rule = f"has columns {both}, which both hold the {role.replace('_', ' ')}: leave one of them"
            raise InputError(table.source, [Issue(f"line {table.first_line}", rule)])
        if places:
            roles[role] = places[0]
    named = all(role in roles for role in _NEEDED)
    if named:
        table.check_headings()
        _refuse_unknown_headings(table, roles)
    else:
        roles = _roles_of_aws(table.first) if table.delimiter == "\t" and not table.quoted else {}
    if not roles:
        raise input_error(
            table.source,
            "is no JSON, and no history of spot prices: its first line must have the headings InstanceType, SpotPrice, "
            "Timestamp, or the columns of 'aws ec2 describe-spot-price-history --output text' (zone, type, product, "
            "price, time)",
        )
    zone_id = roles.pop("zone_id", None)
    # Of a zone with a name and an id, the name counts: catalogues have names.
    return roles if zone_id is None else {"zone": zone_id, **roles}, named


def _refuse_unknown_headings(table: TextTable, roles: Mapping[str, int]) -> None:
    """Refuse a heading that may be the missing one of products or zones: prices of several would be those of one."""
    named = {"products": {"product"}, "zones": {"zone", "zone_id"}}
    missing = [what for what, columns in named.items() if columns.isdisjoint(roles)]
    given = [cell for place, cell in enumerate(table.first) if place not in roles.values()]
    unknown = [cell for cell in given if cell.strip() and cell.strip().lower() not in COMMENTS]
    # A column of remarks is harmless where all others are known.
    if missing and unknown:
        rule = (
            f"is not understood, in a table without a column of {' and '.join(missing)}: call it ProductDescription or "
            "AvailabilityZone if it holds these, or leave it out"
        )
        raise InputError(table.source, [Issue(f"line {table.first_line}", rule, value=unknown[0])])


def _roles_of_aws(first: Sequence[str]) -> dict[str, int]:
    """Columns of the roles in a table without headings; none if it is not that of AWS."""
    marked = int(first[0] == _MARK)
    if _MARK in first[1:]:
        return {}
    for columns in _OF_AWS:
        roles = {role: marked + place for place, role in enumerate(columns)}
        if len(first) != marked + len(columns) or number_of(first[roles["price"]]) is None:
            continue
        if "zone_id" not in roles or _ZONE_ID.fullmatch(first[roles["zone_id"]]):
            return roles
    return {}


_PRICE: TypeAdapter[float] = TypeAdapter(Price)


def _prices(
    rows: Iterable[tuple[str, Mapping[str, str]]],
    headings: Mapping[str, str],
    source: str,
    more_issues: Sequence[Issue] = (),
) -> list[SpotPrice]:
    """Prices of rows, each with its place; what is found to be wrong with the rows while they are read comes last."""
    found: list[SpotPrice] = []
    issues: list[Issue] = []
    first: dict[tuple[str, str, str, datetime], SpotPrice] = {}
    for where, row in rows:
        wrong = [Issue(where, "must not be empty", headings[role]) for role, text in row.items() if not text]
        price, time = 0.0, moment(row["time"])
        if time is None and row["time"]:
            wrong.append(Issue(where, "must be a time such as 2026-07-09T12:00:00Z", headings["time"], row["time"]))
        try:
            price = number_in(row["price"], _PRICE)
        except ValueError as error:
            # An empty cell is a fault already.
            if row["price"]:
                wrong.append(Issue(where, f"must be a price; it {error}", headings["price"], row["price"]))
        if wrong or time is None:
            issues += wrong
            continue
        zone, name, product = row.get("zone", ""), row["name"], plain_product(row.get("product", ""))
        entry = SpotPrice(zone, name, product, price, time, where)
        # Histories are often joined of several files that overlap: equal entries are fine, different ones are not.
        before = first.setdefault((zone, name, product, time), entry)
        if before.price != price:
            rule = f"is another price than in {before.place}, of the same moment"
            issues.append(Issue(where, rule, headings["price"], row["price"]))
        found.append(entry)
    issues += more_issues
    if issues:
        raise InputError(source, grouped(issues))
    if not found:
        raise input_error(source, "has no price")
    return found
