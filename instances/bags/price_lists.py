"""Pages of price lists: those of ``aws pricing get-products``, and of the retail prices of Azure."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from ...core.json_documents import parse_json
from ...core.quantities import MB_PER_GB, moment, number_in, number_of
from ...core.records import TheirRecord, validate_record
from ..entries import Market
from ..table_columns import THOUSANDS
from .price_sources import GIB, USD, VCPUS, NewRows, PriceSource
from .providers import PROVIDERS, Provider


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
            vcpus = number_in(attributes.get("vcpu", ""), VCPUS)
            gib = attributes.get("memory", "").removesuffix(" GiB")
            memory = number_in(gib.replace(",", "") if THOUSANDS.fullmatch(gib) else gib, GIB)
            prices = [number_in(text, USD) for text in _hourly(listed)]
        except ValueError as error:
            source.fault(where, f"has vcpu, memory or a price that {error}", item=name)
            continue
        day = _day(listed.day, date)
        # A list has an entry for each operation of a type; those of Linux must agree on the price.
        quote = source.rows.quotes.setdefault((name, place, "on-demand"), source.quote(prices[0], day))
        if len({quote.price_usd_per_hour, *prices}) > 1:
            source.fault(where, f"has another price in {place} than before", item=name)
        memory_mb = memory * MB_PER_GB
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
            quote = source.quote(number_in(repr(item.price), USD), day)
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
