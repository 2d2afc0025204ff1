"""Pools: the VMs of a type in a zone, which have a price of their own on the spot market, and go down together.

A VM type of a document that has ``zones`` stands for a pool in each: a VM type of the name ``type@zone``, with the
same run times, and one limit on demand that all of them share. One with an offer of market ``reserved`` stands for
itself and for the pool ``type@reserved``: VMs at the price of the reservation, as many as it has, never interrupted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..core.quantities import LEAST_PRICE
from .entries import RESERVED, Limits, VmType


def with_pools(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of an instance with the pools of its VM types; those that are wrong stay as they are."""
    given = fields.get("vm_types")
    if not (isinstance(given, list | tuple) and any(map(_has_pools, given))):
        return fields
    types, limits = [*map(_as_mapping, given)], _as_mapping(fields.get("limits", {}))
    types = [part for vm_type in types for part in _reserved_apart(vm_type)]
    quotas_are_right = isinstance(limits, Mapping) and isinstance(limits.get("quotas", ()), list | tuple)
    if not (any(map(_zones_of, types)) and quotas_are_right):
        return {**fields, "vm_types": types}
    pools = [pool for vm_type in types for pool in _pools_of(vm_type)]
    quotas = [
        {"market": "on-demand", "types": [f"{vm_type['name']}@{zone}" for zone in zones], "vms": offer["limit"]}
        for vm_type in types
        if len(zones := _zones_of(vm_type)) > 1
        if isinstance(offer := vm_type["offers"].get("on-demand"), Mapping) and "limit" in offer
    ]
    return {**fields, "vm_types": pools, "limits": {**limits, "quotas": [*limits.get("quotas", ()), *quotas]}}


def _has_pools(vm_type: Any) -> bool:
    return bool(vm_type.zones if isinstance(vm_type, VmType) else _zones_of(vm_type) or _reserved_of(vm_type))


def _as_mapping(part: Any) -> Any:
    return part.model_dump(exclude_unset=True) if isinstance(part, VmType | Limits) else part


def _reserved_of(vm_type: Any) -> Mapping[str, Any]:
    """Offer of reserved capacity of a type; none where anything else is wrong with it."""
    fields = vm_type if isinstance(vm_type, Mapping) else {}
    offers = fields.get("offers")
    reserved = offers.get(RESERVED) if isinstance(offers, Mapping) and isinstance(fields.get("name"), str) else None
    return reserved if isinstance(reserved, Mapping) and "price_usd_per_hour" in reserved else {}


def _reserved_apart(vm_type: Any) -> Iterator[Any]:
    """Yield a type without its offer of reserved capacity, and the pool of that."""
    reserved = _reserved_of(vm_type)
    if not reserved:
        yield vm_type
        return
    others = {market: offer for market, offer in vm_type["offers"].items() if market != RESERVED}
    if others:
        yield vm_type | {"offers": others}
    price = reserved["price_usd_per_hour"]
    # What is paid for already costs nothing; models divide by prices.
    free = type(price) in (int, float) and price == 0
    priced = {**reserved, "price_usd_per_hour": LEAST_PRICE if free else price}
    kept = {key: value for key, value in vm_type.items() if key != "zones"}
    yield kept | {"name": f"{vm_type['name']}@{RESERVED}", "zone": RESERVED, "offers": {"on-demand": priced}}


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
