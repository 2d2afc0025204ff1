"""Pages of price lists: those of ``aws pricing get-products``, and of the retail prices of Azure."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from ...core.errors import InputError, Issue, input_error
from ...core.json_documents import parse_json
from ...core.quantities import MB_PER_GB, moment, number_in, number_of
from ...core.records import validate_record
from ...core.text_files import read_text, source_name
from ..entries import Market
from .imported import grouped
from .price_sources import GIB, USD, VCPUS, NewRows, credits_of
from .providers import PROVIDERS
from .spot_price_history import TheirRecord
from .vm_catalogue import Quote


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
    source = source_name(path)
    page = validate_record(_Page, parse_json(read_text(path), source), source)
    rows, issues, dropped = NewRows(), [], defaultdict[str, int](int)
    said = f"aws pricing get-products, {os.path.basename(source)}"
    for index, entry in enumerate(page.entries):
        where = f"PriceList[{index}]"
        document = parse_json(entry, f"{source}: {where}") if isinstance(entry, str) else entry
        listed = validate_record(_Listed, document, f"{source}: {where}")
        attributes = listed.product.attributes
        name, place = attributes.get("instanceType", ""), attributes.get("regionCode", "")
        why = _left_out(listed, region, accelerators)
        if why is not None:
            dropped[why] += 1
            continue
        try:
            day = _day(listed.day, date)
            facts = {"vcpus": number_in(attributes.get("vcpu", ""), VCPUS), "source": said, "date": day}
            memory = attributes.get("memory", "").removesuffix(" GiB").replace(",", "")
            facts["memory_mb"] = number_in(memory, GIB) * MB_PER_GB
            prices = [number_in(text, USD) for text in _hourly(listed)]
        except ValueError as error:
            issues.append(Issue(where, f"has vcpu, memory or a price that {error}", item=name))
            continue
        facts |= _more_facts(name, attributes)
        quote = Quote(price_usd_per_hour=prices[0], date=day, source=said)
        before = rows.quotes.setdefault((name, place, "on-demand"), quote)
        if len({before.price_usd_per_hour, *prices}) > 1:
            issues.append(Issue(where, f"has another price in {place} than before", item=name))
        rows.facts[name] = facts
    if issues:
        raise InputError(source, grouped(issues))
    return _with_notes(rows, source, dropped, page.more)


def _left_out(listed: _Listed, region: str | None, accelerators: bool) -> str | None:
    """Reason to leave an entry out; None if there is none."""
    attributes = listed.product.attributes
    name = attributes.get("instanceType", "")
    if not PROVIDERS["aws"].type.fullmatch(name) or listed.product.family not in ("", "Compute Instance"):
        return "that are no VM types"
    if why := _elsewhere("aws", attributes.get("regionCode", ""), region):
        return why
    if any(attributes.get(key, value) != value for key, value in _LINUX_ON_DEMAND.items()):
        return "of other systems, tenancies or places"
    if not accelerators and attributes.get("gpu", "0") != "0":
        return "with accelerators (--accelerators takes them)"
    if PROVIDERS["aws"].burstable.match(name) and credits_of(name) is None:
        return "of burstable types, with credits that are not known,"
    return None if any(True for _ in _hourly(listed)) else "without a price for an hour"


def _elsewhere(provider: str, place: str, region: str | None) -> str | None:
    if not PROVIDERS[provider].region.fullmatch(place):
        return "of no region"
    return None if region in (None, place) else "of other regions"


def _hourly(listed: _Listed) -> Iterator[str]:
    for term in listed.terms.get("OnDemand", {}).values():
        for dimension in term.dimensions.values():
            usd = dimension.price.get("USD", "0")
            if dimension.unit == "Hrs" and number_of(usd) != 0:
                yield usd


def _more_facts(name: str, attributes: Mapping[str, str]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    processor = attributes.get("physicalProcessor", "")
    if processor:
        facts["architecture"] = "arm64" if "Graviton" in processor else "x86_64"
    if PROVIDERS["aws"].burstable.match(name):
        facts["burstable"] = credits_of(name)
    if attributes.get("gpu", "0") != "0":
        facts["accelerators"] = f"{attributes['gpu']} GPU"
    return facts


def _day(text: str, absent: str) -> str:
    time = moment(text)
    return absent if time is None else time.date().isoformat()


def _with_notes(rows: NewRows, source: str, dropped: Mapping[str, int], more: str | None) -> NewRows:
    if not rows.quotes:
        left = ", ".join(f"{count:,} {what}" for what, count in sorted(dropped.items()))
        raise input_error(source, "has no price of Linux" + (f" ({left})" if left else ""))
    rows.warnings += [f"{source}: {count:,} prices {what} left out" for what, count in sorted(dropped.items())]
    if more:
        rows.warnings.append(f"{source}: is one of several pages; the option may be given for each")
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
    source = source_name(path)
    page = validate_record(_Retail, parse_json(read_text(path), source), source)
    rows, issues, dropped = NewRows(provider="azure"), [], defaultdict[str, int](int)
    for index, item in enumerate(page.items):
        where = f"Items[{index}]"
        day = _day(item.since, date)
        why = _item_left_out(item, region) or ("that begin later" if day > date else None)
        if why is not None:
            dropped[why] += 1
            continue
        try:
            if item.currency != "USD":
                raise ValueError("must be in USD")
            usd = number_in(repr(item.price), USD)
        except ValueError as error:
            issues.append(Issue(where, str(error), "retailPrice", f"{item.price:g} {item.currency}", item.name))
            continue
        market: Market = "spot" if item.sku.endswith(" Spot") else "on-demand"
        said = f"Azure retail prices, {os.path.basename(source)}"
        quote = Quote(price_usd_per_hour=usd, date=day, source=said)
        key = item.name, item.region, market
        before = rows.quotes.setdefault(key, quote)
        if before.date < quote.date:
            rows.quotes[key] = quote
        elif before.date == quote.date and before.price_usd_per_hour != quote.price_usd_per_hour:
            issues.append(Issue(where, f"is another {market} price in {item.region} than before", item=item.name))
    if issues:
        raise InputError(source, grouped(issues))
    return _with_notes(rows, source, dropped, page.more)


def _item_left_out(item: _Item, region: str | None) -> str | None:
    """Reason to leave an item out; None if there is none."""
    if item.service != "Virtual Machines" or not PROVIDERS["azure"].type.fullmatch(item.name):
        return "that are no VM types"
    if item.kind != "Consumption" or item.unit != "1 Hour":
        return "of reservations and other contracts"
    if "Windows" in item.product or "Cloud Services" in item.product or "CloudServices" in item.product:
        return "of Windows and of Cloud Services"
    if item.sku.endswith(" Low Priority"):
        return "of low priority"
    return _elsewhere("azure", item.region, region)
