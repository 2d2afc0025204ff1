"""What pages of price lists say: of ``aws pricing get-products``, and of the retail prices of Azure."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

from tests.fuzzing.oracles.json_values import NUMERIC, JsonObject, as_float, json_of
from tests.fuzzing.oracles.readings import RefusalDueError, Row, UndecidedError, Verdict, number_of, verdict_of, within

LINUX = {"operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used"}


def types_of_price_list(data: bytes) -> Verdict:
    """Return the types of a page of AWS by name and region, with their on-demand prices."""

    def read(doubts: set[str]) -> list[Any]:
        whole = json_of(data, doubts)
        texts = whole.get("PriceList") if isinstance(whole, JsonObject) and set(whole) == {"PriceList"} else None
        if not isinstance(texts, list) or whole.twice or not all(isinstance(text, str) for text in texts):
            raise UndecidedError("not a list of texts alone")
        found: dict[tuple[str, str], Row] = {}
        for text in texts:
            if text.startswith("\ufeff"):
                doubts.add("a byte-order mark within a list")
            entry = json_of(text.encode("utf-8", "surrogatepass"), doubts)
            if text.startswith("\ufeff"):
                doubts.add("a byte-order mark within a document")
            try:
                attributes = entry["product"]["attributes"]
                [dimension] = entry["terms"]["OnDemand"]["t"]["priceDimensions"].values()
                usd, unit = dimension["pricePerUnit"]["USD"], dimension["unit"]
                fields = [attributes[key] for key in (*LINUX, "instanceType", "regionCode", "vcpu", "memory")]
            except (KeyError, TypeError, ValueError, AttributeError):
                raise UndecidedError("what is not where the manual has it") from None
            if entry["product"].get("productFamily") != "Compute Instance" or entry["terms"].keys() != {"OnDemand"}:
                raise UndecidedError("other members than usual")
            if any(
                not isinstance(one, JsonObject) or one.twice for one in (entry, entry["product"], dimension, attributes)
            ):
                raise UndecidedError("what stands twice")
            if entry["terms"]["OnDemand"].keys() != {"t"} or entry.keys() != {"product", "terms"}:
                raise UndecidedError("other members than usual")
            texts = (*fields, *attributes.values(), usd, unit, entry["product"].get("productFamily"))
            if not all(isinstance(one, str) for one in texts) or len(dimension) != 2 or len(attributes) != 9:
                raise UndecidedError("members of another kind")
            if dimension["pricePerUnit"].keys() != {"USD"}:
                raise UndecidedError("members of another kind")
            if not attributes.get("physicalProcessor"):
                raise UndecidedError("a processor that is not said")
            name, region = attributes["instanceType"], attributes["regionCode"]
            if any(attributes[key] != value for key, value in LINUX.items()) or unit != "Hrs":
                continue
            if not re.fullmatch(r"m\d+\.large", name) or region != "us-east-1":
                raise UndecidedError("a type or a region of an unusual name")
            if not number_of(usd, doubts):
                continue
            vcpus = number_of(attributes["vcpu"], doubts)
            gib = attributes["memory"].removesuffix(" GiB")
            thousands = re.fullmatch(r"[1-9]\d{0,2}(,\d{3})+(\.\d+)?", gib, re.ASCII)
            memory = number_of(gib.replace(",", "") if thousands else gib, doubts)
            price = within(float(number_of(usd, doubts)), 1e-9, 1e6, "price")
            row = Row(int(vcpus), float(memory) * 1024, "x86_64", price, {})
            if (
                vcpus != row.vcpus
                or not 1 <= vcpus <= 4096
                or memory <= 0
                or found.setdefault((name, region), row) != row
            ):
                raise RefusalDueError("vCPUs, memory, or a type that is two things")
        if not found:
            raise RefusalDueError("no price")
        return [found]

    return verdict_of(read)


_KEYS = {
    *("currencyCode", "retailPrice", "armRegionName", "armSkuName", "productName", "unitOfMeasure", "skuName"),
    *("serviceName", "type"),
}


def prices_of_retail(data: bytes) -> Verdict:
    """Return the prices of a page of Azure by type, region and market."""

    def read(doubts: set[str]) -> list[Any]:
        whole = json_of(data, doubts)
        items = whole.get("Items") if isinstance(whole, JsonObject) and set(whole) == {"Items"} else None
        if not isinstance(items, list) or whole.twice or not all(isinstance(item, JsonObject) for item in items):
            raise UndecidedError("not a list of items alone")
        found: dict[tuple[str, str, str], float] = {}
        for item in items:
            if item.keys() != _KEYS:
                raise UndecidedError("other members than usual")
            texts = {key: value for key, value in item.items() if key != "retailPrice"}
            if item.twice or not all(isinstance(value, str) for value in texts.values()):
                raise UndecidedError("members of another kind")
            if not isinstance(item.get("retailPrice"), NUMERIC) or isinstance(item["retailPrice"], bool):
                raise RefusalDueError("a price that is no number")
            if not math.isfinite(as_float(Decimal(item["retailPrice"]))):
                raise RefusalDueError("a price without end")
            if item["serviceName"] != "Virtual Machines" or item["type"] != "Consumption":
                continue
            if item["unitOfMeasure"] != "1 Hour" or "Windows" in item["productName"]:
                continue
            known = re.fullmatch(r"Standard_D\ds_v5", item["armSkuName"]) and item["armRegionName"] == "eastus"
            if not known or item["currencyCode"] != "USD" or item["skuName"] not in ("D4s v5", "D4s v5 Spot"):
                raise UndecidedError("words that are not usual")
            usd = within(as_float(Decimal(item["retailPrice"])), 1e-9, 1e6, "price")
            market = "spot" if item["skuName"].endswith(" Spot") else "on-demand"
            if found.setdefault((item["armSkuName"], "eastus", market), usd) != usd:
                raise RefusalDueError("two prices of one")
        if not found:
            raise RefusalDueError("no price")
        return [found]

    return verdict_of(read)
