"""What SkyPilot's catalogue of AWS says."""

from __future__ import annotations

import re
from typing import Any

from tests.fuzzing.oracles.readings import (
    PLAIN_NUMBER,
    RefusalDueError,
    Row,
    UndecidedError,
    Verdict,
    by_role,
    checked_name,
    number_of,
    same,
    tables_of,
    verdict_of,
    whole_of,
    within,
)

_SKYPILOT = ("InstanceType", "vCPUs", "MemoryGiB", "Price", "SpotPrice", "Region", "AvailabilityZone")
_SKYPILOT_MORE = ("AcceleratorName", "AcceleratorCount", "GpuInfo", "Arch")


def types_of_skypilot(data: bytes) -> Verdict:
    """Return the types of ``vms.csv`` by name and region, with the spot price of each zone."""

    def role(heading: str) -> str | None:
        spelled = {name.lower(): name for name in _SKYPILOT + _SKYPILOT_MORE}
        return spelled.get(heading.strip().lower())

    def read(doubts: set[str]) -> list[Any]:
        whys = []
        for divider, rows, own in tables_of(data, doubts, lambda heading: role(heading) is not None):
            if divider != ",":
                doubts.add("SkyPilot's table not divided by commas")
            try:
                found = _types_of_rows(by_role(rows, role, _SKYPILOT, own), own)
            except RefusalDueError as due:
                whys.append(str(due))
                continue
            doubts |= own
            if not found:
                doubts.add("types without any price")
            return [found]
        raise RefusalDueError("; ".join(whys))

    return verdict_of(read)


def _is_of_aws(cells: dict[str, str]) -> bool:
    return all(
        re.fullmatch(pattern, cells[name], re.ASCII)
        for name, pattern in (
            ("InstanceType", r"[a-z][a-z0-9-]*\.[a-z0-9-]+"),
            ("Region", r"[a-z]{2}(-[a-z]+)+-\d"),
            ("AvailabilityZone", r"[a-z]{2,}\d-az\d"),
        )
    )


def _types_of_rows(rows: list[dict[str, str]], doubts: set[str]) -> dict[tuple[str, str], Row]:
    found: dict[tuple[str, str], Row] = {}
    zones: set[tuple[str, ...]] = set()
    for cells in rows:
        if cells.get("AcceleratorName"):
            numbers = [cells[name] for name in ("vCPUs", "MemoryGiB", "Price", "SpotPrice")]
            if not _is_of_aws(cells) or any(text and not PLAIN_NUMBER.fullmatch(text) for text in numbers):
                doubts.add("an odd cell in a row that is left out")
            continue
        if re.fullmatch(r"mac.*|(t1|t2)\..*", cells["InstanceType"]) or re.fullmatch(
            r".+-\w+-az\d", cells["AvailabilityZone"]
        ):
            raise UndecidedError("a type or a zone that may be left out")
        if not _is_of_aws(cells):
            doubts.add("a type, a region or a zone that AWS does not have")
        if cells.get("AcceleratorCount"):
            doubts.add("a number of accelerators without a name")
        key = (checked_name(cells["InstanceType"], "InstanceType"), checked_name(cells["Region"], "Region"))
        vcpus = whole_of(number_of(cells["vCPUs"], doubts), 1, 4096, "vCPUs")
        memory_mb = within(float(number_of(cells["MemoryGiB"], doubts)) * 1024, 1e-6, 1e9, "memory")
        architecture = cells.get("Arch") or None
        if "Arch" not in cells:
            doubts.add("no column Arch")
        elif architecture not in ("x86_64", "arm64", None):
            raise UndecidedError("an architecture that bags do not know, or several")
        on_demand, spot = (
            within(float(number_of(cells[name], doubts)), 1e-9, 1e6, name) if cells[name] else None
            for name in ("Price", "SpotPrice")
        )
        row = Row(vcpus, memory_mb, architecture, on_demand, {})
        before = found.setdefault(key, row)
        if (before.on_demand is None) != (on_demand is None):
            doubts.add("an on-demand price in some zones only")
            row = row._replace(on_demand=before.on_demand or on_demand)
            before = found[key] = before._replace(on_demand=row.on_demand)
        if not same(before._replace(spot={}), row):
            raise RefusalDueError(f"{key} is said to be two things")
        if (*key, cells["AvailabilityZone"]) in zones:
            doubts.add("a type twice in a zone")
        zones.add((*key, cells["AvailabilityZone"]))
        if spot is not None:
            if not cells["AvailabilityZone"]:
                raise UndecidedError("a spot price of no zone")
            zone = checked_name(cells["AvailabilityZone"], "zone")
            if zone in before.spot and before.spot[zone] != spot:
                raise RefusalDueError(f"two spot prices of {key} in {zone}")
            before.spot[zone] = spot
    if not found:
        raise RefusalDueError("no types")
    return {key: row for key, row in found.items() if row.on_demand is not None or row.spot}
