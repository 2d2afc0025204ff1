"""VM types of the papers, with the prices and limits that they print."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.quantities import MB_PER_GB
from ..entries import Burstable, Market, Offer, VmType
from .vm_catalogue import VmChoice, choose_vm_types

LIMIT_PER_TYPE_AND_MARKET = 5
"""Most VMs of one type in one market at once, by default, at Amazon (HADS, section 3)."""


def _vm_type(
    name: str,
    vcpus: int,
    memory_gb: float,
    gflops: float | None,
    on_demand: float,
    spot: float | None,
    limit: int,
    burstable: Burstable | None = None,
) -> VmType:
    offers: dict[Market, Offer] = {}
    if spot is not None:
        offers["spot"] = Offer(price_usd_per_hour=spot, limit=limit)
    offers["on-demand"] = Offer(price_usd_per_hour=on_demand, limit=limit)
    optional: dict[str, Any] = {"gflops": gflops, "burstable": burstable}
    return VmType(
        name=name,
        vcpus=vcpus,
        memory_mb=memory_gb * MB_PER_GB,
        offers=offers,
        **{key: value for key, value in optional.items() if value is not None},
    )


def hads_catalogue(limit: int = LIMIT_PER_TYPE_AND_MARKET) -> tuple[VmType, ...]:
    """VM types of HADS, Table 6 (prices of December 2019).

    The order is that of the weighted round robin that gives the VM mixes of Table 9. Table 7 lists c4.xlarge twice;
    the second is read as c3.xlarge, which Tables 6 and 9 need.
    """
    return (
        _vm_type("c3.large", 2, 3.75, 22.09, 0.105, 0.0294, limit),
        _vm_type("c3.xlarge", 4, 7.5, 44.46, 0.210, 0.0596, limit),
        _vm_type("c4.large", 2, 3.75, 40.73, 0.100, 0.0308, limit),
        _vm_type("c4.xlarge", 4, 7.5, 83.33, 0.199, 0.0673, limit),
    )


def burst_hads_catalogue(limit: int = LIMIT_PER_TYPE_AND_MARKET) -> tuple[VmType, ...]:
    """VM types of Burst-HADS, Table II (prices of September 2020), Gflops of HADS, Table 6.

    As printed: 0.199 $/h for c3.xlarge is the price of a c4.xlarge, and a t3.large has a baseline of 30 % at Amazon
    (36 credits an hour). With the printed 20 % of each of two vCPUs it earns 24 credits an hour, holds at most 576
    (24 hours of earning), and starts without any, as the T3 types do.
    """
    credits = Burstable(baseline_fraction=0.2, credits_per_hour=24, initial_credits=0, max_credits=576)
    return (
        _vm_type("c3.large", 2, 3.75, 22.09, 0.105, 0.0299, limit),
        _vm_type("c4.large", 2, 3.75, 40.73, 0.100, 0.0366, limit),
        _vm_type("c3.xlarge", 4, 7.5, 44.46, 0.199, 0.0634, limit),
        _vm_type("t3.large", 2, 8, None, 0.0832, None, limit, credits),
    )


def memory_catalogue(limit: int = LIMIT_PER_TYPE_AND_MARKET) -> tuple[VmType, ...]:
    """VM types with 2, 4 and 8 GB for each core, at prices of Amazon in us-east-1; those of spot VMs are rounded."""
    return (*_two_sizes_of_memory(limit), _vm_type("r5.large", 2, 16, None, 0.126, 0.041, limit))


def burstable_catalogue(limit: int = LIMIT_PER_TYPE_AND_MARKET) -> tuple[VmType, ...]:
    """VM types with 2 and 4 GB for each core, and a burstable one that starts with an hour of a core at full speed."""
    credits = Burstable(baseline_fraction=0.3, credits_per_hour=36, initial_credits=60, max_credits=864)
    return (*_two_sizes_of_memory(limit), _vm_type("t2.large", 2, 8, None, 0.0928, 0.0279, limit, credits))


def _two_sizes_of_memory(limit: int) -> tuple[VmType, ...]:
    return (
        _vm_type("m5.large", 2, 8, None, 0.096, 0.0355, limit),
        _vm_type("c5.xlarge", 4, 8, None, 0.17, 0.069, limit),
    )


def ten_types_catalogue(limit: int = LIMIT_PER_TYPE_AND_MARKET) -> tuple[VmType, ...]:
    """VM types of 1 to 32 cores and 2 or 4 GB for each core, with the prices of the catalogue that is shipped."""
    return tuple(VmType.model_validate(row) for row in choose_vm_types(VmChoice(types=_TEN_TYPES, limit=limit)))


_TEN_TYPES = (
    "c7g.medium",
    "c6i.large",
    "c7g.large",
    "m5.large",
    "c5.xlarge",
    "c6i.xlarge",
    "m5.xlarge",
    "m6i.xlarge",
    "c6i.4xlarge",
    "c7g.8xlarge",
)


CATALOGUES: dict[str, Callable[[int], tuple[VmType, ...]]] = {
    "hads": hads_catalogue,
    "burst-hads": burst_hads_catalogue,
    "memory": memory_catalogue,
    "burstable": burstable_catalogue,
    "ten-types": ten_types_catalogue,
}
"""Name to a function of the limit per type and market."""
