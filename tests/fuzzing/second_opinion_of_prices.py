"""A second reading of VM types and their prices: of AWS, of SkyPilot's catalogue, and of the prices of Azure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from tests.fuzzing.oracles.readings import RefusalDueError, Row, UndecidedError, Verdict
from tests.fuzzing.second_opinion import Literal, Rows, json_of, number_of, rows_of_table, text_of, verdict
from tests.fuzzing.second_opinion_of_lists import value_of

ENTRY = "InstanceType VCpuInfo MemoryInfo ProcessorInfo BurstablePerformanceSupported"
ZONE = re.compile(r"[a-z]{2}-[a-z]+-\d[a-z]", re.ASCII)


def price_of(cell: str) -> float:
    value = number_of(cell)
    if not 0 <= value <= 10**6:
        raise RefusalDueError("a price that is none")
    if not 0 < value < 1000:
        raise UndecidedError("a price that may be none")
    return float(value)


def second_types_of_aws(data: bytes) -> Verdict:
    """Types that ``aws ec2 describe-instance-types`` prints, by name."""

    def read(doubts: set[str]) -> dict[str, Row]:
        entries = value_of(json_of(text_of(data)), "InstanceTypes", list, "InstanceTypes")
        found: dict[str, Row] = {}
        for entry in entries or []:
            name = value_of(entry, ENTRY, str, "InstanceType")
            vcpus = value_of(value_of(entry, ENTRY, dict, "VCpuInfo"), "DefaultVCpus", Literal, "DefaultVCpus")
            memory = value_of(value_of(entry, ENTRY, dict, "MemoryInfo"), "SizeInMiB", Literal, "SizeInMiB")
            processor, key = value_of(entry, ENTRY, dict, "ProcessorInfo"), "SupportedArchitectures"
            kinds = value_of(processor, key, list, key) or []
            if not re.fullmatch(r"m\d[a-z]\.x?large", name or "") or not all(type(kind) is str for kind in kinds):
                raise UndecidedError("a type without a name, or of odd architectures")
            if entry.get("BurstablePerformanceSupported") is not False:
                raise UndecidedError("credits")
            if not all(re.fullmatch(r"[1-9]\d{0,6}", cell or "") for cell in (vcpus, memory)):
                raise UndecidedError("odd numbers of cores or memory")
            if int(vcpus) > 4096:
                raise UndecidedError("more cores than any VM has")
            if name in found:
                raise RefusalDueError("a type that is there twice")
            known = [kind for kind in kinds if kind in ("x86_64", "arm64")]
            if len(known) != 1 or set(kinds) - {"x86_64", "arm64", "i386"}:
                raise UndecidedError("no architecture, or several")
            found[name] = Row(int(vcpus), float(memory), known[0], None, {})
        if not found:
            raise UndecidedError("no types")
        return found

    return verdict(iter([read]))


def second_types_of_skypilot(data: bytes) -> Verdict:
    """Types of SkyPilot's catalogue by name and region; those with accelerators are left out."""

    def read(doubts: set[str]) -> dict[tuple[str, str], Row]:
        names = "instancetype acceleratorname acceleratorcount vcpus memorygib gpuinfo price spotprice region"
        names += " availabilityzone arch"
        rows, divider = rows_of_table(text_of(data), names.split().__contains__, True, doubts)
        needed = {"instancetype", "vcpus", "memorygib", "price", "spotprice", "region", "availabilityzone", "arch"}
        exact = "InstanceType AcceleratorName vCPUs MemoryGiB Price SpotPrice Region AvailabilityZone Arch"
        if not {*exact.split()} <= {*re.findall(r"\w+", text_of(data).splitlines()[0])}:
            raise UndecidedError("headings in other letters than SkyPilot's")
        if divider != "," or not rows or not needed <= set(rows[0]) <= set(names.split()):
            raise UndecidedError("another table than SkyPilot's")
        found: dict[tuple[str, str], Row] = {}
        for row in rows:
            said = [bool(row.get(name)) for name in ("acceleratorname", "acceleratorcount", "gpuinfo")]
            if said[0] != said[1] or said[2] > said[0]:
                raise UndecidedError("half of an accelerator")
            if row.get("acceleratorname") or row.get("acceleratorcount") or row.get("gpuinfo"):
                doubts.add("a type that is left out")
                continue
            key = (row["instancetype"], row["region"])
            zones = row["availabilityzone"]
            if not re.fullmatch(r"m\d+\.large", key[0]) or not re.fullmatch(r"(use1|euw1)-az\d", zones):
                raise UndecidedError("an odd name of a type or a zone")
            if key[1] not in ("us-east-1", "eu-west-1") or row["arch"] not in ("x86_64", "arm64"):
                raise UndecidedError("an odd region or architecture")
            vcpus, memory = number_of(row["vcpus"]), number_of(row["memorygib"])
            if vcpus.denominator != 1:
                raise RefusalDueError("parts of a core")
            if not (1 <= vcpus <= 1000 and 0 < memory <= 10**5):
                raise UndecidedError("odd numbers of cores or memory")
            on_demand = price_of(row["price"]) if row["price"] else None
            spot = {zones: price_of(row["spotprice"])} if row["spotprice"] else {}
            new = Row(int(vcpus), float(memory * 1024), row["arch"], on_demand, spot)
            old = found.get(key, new)
            if old[:4] != new[:4] or any(old.spot.get(zone, price) != price for zone, price in spot.items()):
                raise UndecidedError("rows of one type that differ")
            found[key] = old._replace(spot=old.spot | spot)
        kept = {key: row for key, row in found.items() if row.on_demand is not None or row.spot}
        if not kept:
            raise UndecidedError("no types")
        return kept

    return verdict(iter([read]))


def history_of_table(text: str, doubts: set[str]) -> Rows:
    """Rows of a table of prices, by the keys of AWS."""
    words = {
        "availabilityzone": "zone",
        "zone": "zone",
        "instancetype": "type",
        "instance_type": "type",
        "productdescription": "product",
        "os": "product",
        "spotprice": "price",
        "price": "price",
        "timestamp": "date",
        "date": "date",
    }
    rows, _ = rows_of_table(text, words.__contains__, True, doubts)
    if not rows or not set(rows[0]) <= {*words, "note"} or len({words.get(name) for name in rows[0]}) < len(rows[0]):
        raise UndecidedError("columns that are not understood, or two of the same")
    if "note" in rows[0]:
        doubts.add("a column of notes")
    return [{words[name]: cell for name, cell in row.items() if name in words} for row in rows]


def second_prices_of_history(data: bytes, window_s: float | None, known: Sequence[str]) -> Verdict:
    """Last price of each zone, by types; those that the catalogue does not have are passed over."""

    def read(doubts: set[str]) -> dict[str, dict[str, float]]:
        text = text_of(data)
        if text.lstrip()[:1] == "{":
            keys = ("AvailabilityZone", "InstanceType", "ProductDescription", "SpotPrice", "Timestamp")
            names = ("zone", "type", "product", "price", "date")
            entries = value_of(json_of(text), "SpotPriceHistory", list, "SpotPriceHistory") or []
            found = [[value_of(entry, " ".join(keys), str, key) for key in keys] for entry in entries]
            if any(None in row for row in found):
                raise UndecidedError("an entry that lacks something")
            rows = [dict(zip(names, row, strict=True)) for row in found]
        elif text.startswith("SPOTPRICEHISTORY"):
            raise UndecidedError("text of the command line")
        else:
            rows = history_of_table(text, doubts)
        last: dict[tuple[str, str], tuple[datetime, float]] = {}
        moments: set[tuple[Any, ...]] = set()
        for row in rows:
            if not {"type", "price", "date", "zone"} <= set(row) or not all(row.values()):
                raise UndecidedError("a row that lacks something")
            said = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.000)?(?:Z|\+00:00)", row["date"], re.ASCII)
            local = re.fullmatch(r"us-east-1-bos-1a", row["zone"])
            if not said or not (local or ZONE.fullmatch(row["zone"])) or not row["zone"].startswith("us-east-1"):
                raise UndecidedError("an odd date or zone")
            try:
                moment = datetime.fromisoformat(said[1]).replace(tzinfo=UTC)
            except ValueError:
                raise RefusalDueError("no date") from None
            price, name = price_of(row["price"]), row["type"]
            if row.get("product", "Linux/UNIX") not in ("Linux/UNIX", "Windows") or not re.fullmatch(
                r"[a-z0-9.]+", name
            ):
                raise UndecidedError("an odd product or type")
            key = (name, row["zone"], row.get("product"))
            if (*key, moment) in moments:
                raise UndecidedError("two prices for one moment")
            moments.add((*key, moment))
            if local or row.get("product") == "Windows":
                doubts.add("prices that are left out")
            elif last.get(key[:2], (moment, 0.0))[0] <= moment:
                last[key[:2]] = (moment, price)
        if window_s is not None:
            raise UndecidedError("means over a time")
        if not last:
            raise UndecidedError("no prices")
        zones: dict[str, dict[str, float]] = {}
        for (name, zone), (_, price) in last.items():
            if name in known:
                zones.setdefault(name, {})[zone] = price
            else:
                doubts.add("types that nobody knows")
        return zones

    return verdict(iter([read]))


def second_types_of_price_list(data: bytes) -> Verdict:
    """Types that ``aws pricing get-products`` prints, by name and region: on demand, Linux, on shared machines."""

    def read(doubts: set[str]) -> dict[tuple[str, str], Row]:
        found: dict[tuple[str, str], Row] = {}
        for text in value_of(json_of(text_of(data)), "PriceList", list, "PriceList") or []:
            if type(text) is not str or text.startswith("\ufeff"):
                raise UndecidedError("an entry that is no text")
            entry = json_of(text_of(text.encode("utf-8", "surrogatepass")))
            product = value_of(entry, "product terms", dict, "product")
            attributes = value_of(product, "productFamily attributes", dict, "attributes")
            terms = value_of(value_of(entry, "product terms", dict, "terms"), "OnDemand", dict, "OnDemand")
            each = value_of(value_of(terms, "t", dict, "t"), "priceDimensions", dict, "priceDimensions")
            dimension = value_of(each, "d", dict, "d")
            unit = value_of(dimension, "unit pricePerUnit", str, "unit")
            usd = value_of(value_of(dimension, "unit pricePerUnit", dict, "pricePerUnit"), "USD", str, "USD")
            fixed = "operatingSystem tenancy preInstalledSw capacitystatus"
            keys = f"instanceType vcpu memory regionCode physicalProcessor {fixed}"
            said = {key: value_of(attributes, keys, str, key) for key in keys.split()}
            kept = " ".join(str(said[key]) for key in fixed.split())
            if kept not in ("Linux Shared NA Used", "Linux Dedicated NA Used") or unit != "Hrs" or usd is None:
                raise UndecidedError("another product")
            if value_of(product, "productFamily attributes", str, "productFamily") != "Compute Instance":
                raise UndecidedError("another family of products")
            if said["tenancy"] == "Dedicated":
                doubts.add("an entry that is left out")
                continue
            if not re.fullmatch(
                r"m\d\.large \d{1,2} us-east-1", f"{said['instanceType']} {said['vcpu']} {said['regionCode']}"
            ):
                raise UndecidedError("an odd type, number of cores, or region")
            gib = re.fullmatch(r"(\d{1,3}) GiB", said["memory"] or "", re.ASCII)
            if not gib or said["physicalProcessor"] != "Intel Xeon" or said["vcpu"].startswith("0"):
                raise UndecidedError("odd memory, or another processor")
            row = Row(int(said["vcpu"]), float(gib[1]) * 1024, "x86_64", price_of(usd), {})
            key = (said["instanceType"], said["regionCode"])
            if found.get(key, row) != row:
                raise UndecidedError("entries of one type that differ")
            found[key] = row
        if not found:
            raise UndecidedError("no types")
        return found

    return verdict(iter([read]))
