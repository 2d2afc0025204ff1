"""Pools: the VMs of a type in a zone, which have a price of their own on the spot market, and go down together.

A VM type of a document that has ``zones`` stands for a pool in each: a VM type of the name ``type@zone``, with the
same run times, and one limit on demand that all of them share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .entries import Limits, VmType


def with_pools(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of an instance with the pools of its VM types; those that are wrong stay as they are."""
    given = fields.get("vm_types")
    if not (isinstance(given, list | tuple) and any(map(_has_zones, given))):
        return fields
    types, limits = [*map(_as_mapping, given)], _as_mapping(fields.get("limits", {}))
    quotas_are_right = isinstance(limits, Mapping) and isinstance(limits.get("quotas", ()), list | tuple)
    if not (any(map(_zones_of, types)) and quotas_are_right):
        return fields
    pools = [pool for vm_type in types for pool in _pools_of(vm_type)]
    quotas = [
        {"market": "on-demand", "types": [f"{vm_type['name']}@*"], "vms": offer["limit"]}
        for vm_type in types
        if len(_zones_of(vm_type)) > 1
        if isinstance(offer := vm_type["offers"].get("on-demand"), Mapping) and "limit" in offer
    ]
    return {**fields, "vm_types": pools, "limits": {**limits, "quotas": [*limits.get("quotas", ()), *quotas]}}


def _has_zones(vm_type: Any) -> bool:
    zones = vm_type.get("zones") if isinstance(vm_type, Mapping) else getattr(vm_type, "zones", None)
    return bool(zones)


def _as_mapping(part: Any) -> Any:
    return part.model_dump(exclude_unset=True) if isinstance(part, VmType | Limits) else part


def _zones_of(vm_type: Any) -> Mapping[str, Any]:
    """Zones of a type, and its spot prices there; none where anything else is wrong with them."""
    fields = vm_type if isinstance(vm_type, Mapping) else {}
    zones, offers = fields.get("zones"), fields.get("offers")
    right = isinstance(zones, Mapping) and isinstance(offers, Mapping) and isinstance(offers.get("spot"), Mapping)
    return zones if right and isinstance(fields.get("name"), str) else {}  # type: ignore[return-value]


def _pools_of(vm_type: Any) -> Iterator[Any]:
    zones = _zones_of(vm_type)
    if not zones:
        yield vm_type
    for zone, price in zones.items():
        fields = {key: value for key, value in vm_type.items() if key != "zones"}
        offers = fields["offers"] | {"spot": fields["offers"]["spot"] | {"price_usd_per_hour": price}}
        yield fields | {"name": f"{vm_type['name']}@{zone}", "zone": zone, "offers": offers}
