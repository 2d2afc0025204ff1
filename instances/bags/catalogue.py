"""VM types of the papers, with the prices and limits that they print, and of generated bags: `vm_types.toml`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ...core.quantities import MB_PER_GB
from ...core.text_files import packaged_toml
from ..entries import VmType
from .vm_catalogue import VmChoice, choose_vm_types

LIMIT_PER_TYPE_AND_MARKET = 5
"""Most VMs of one type in one market at once, by default, at Amazon (HADS, section 3)."""


def _vm_type(limit: int, *, memory_gb: float, on_demand: float, spot: float | None = None, **said: Any) -> VmType:
    prices = {"spot": spot, "on-demand": on_demand}
    offers = {market: {"price_usd_per_hour": usd, "limit": limit} for market, usd in prices.items() if usd is not None}
    return VmType.model_validate({**said, "memory_mb": memory_gb * MB_PER_GB, "offers": offers})


def _vm_types(said: Mapping[str, Any], limit: int = LIMIT_PER_TYPE_AND_MARKET) -> tuple[VmType, ...]:
    if "shipped" in said:
        rows = choose_vm_types(VmChoice(types=said["shipped"], limit=limit))
        return tuple(VmType.model_validate(row) for row in rows)
    return tuple(_vm_type(limit, **row) for row in said["types"])


CATALOGUES: Mapping[str, Callable[..., tuple[VmType, ...]]] = {
    name: partial(_vm_types, said) for name, said in packaged_toml(__package__, "vm_types.toml").items()
}
"""Name to a function of the limit per type and market."""
