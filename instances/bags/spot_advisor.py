"""Rates of interruption by VM type, as the Spot Instance Advisor of AWS publishes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from ...core.errors import input_error
from ...core.quantities import Name
from ...core.records import Record, validate_record
from .providers import region_of_zone
from .scripted_days import HOURS_A_MONTH, rate_per_hour
from .shock_days import ShockScenario

_MEAN_OUTAGE_S = 1800.0
"""How long a VM is gone, of which the advisor says nothing: as in the scenarios ``vms/calm`` and ``vms/busy``."""


class _Range(Record):
    model_config = ConfigDict(extra="ignore")
    index: int
    max: Annotated[float, Field(gt=0, le=100)]


class _Advice(Record):
    model_config = ConfigDict(extra="ignore")
    r: int


class _Advisor(Record):
    model_config = ConfigDict(extra="ignore")
    ranges: Annotated[tuple[_Range, ...], Field(strict=False, min_length=1)]
    spot_advisor: dict[Name, dict[Name, dict[Name, _Advice]]]


def advisor_scenario(
    document: Mapping[str, Any], source: str, zone: str | None = None, product: str | None = None
) -> ShockScenario:
    """Make a scenario of the advisor's file: VMs are interrupted one by one, each type at the rate of its class.

    That is the most of the class within a month; of the last, which has no most, where it begins.

    Parameters
    ----------
    document : mapping
        The parsed file.
    source : str
        Its name in messages.
    zone, product : str, optional
        A region, or a zone of it, and the operating system; Linux if absent.

    Raises
    ------
    InputError
        If it is wrong, or a region must be said.
    """
    advisor = validate_record(_Advisor, document, source)
    regions = advisor.spot_advisor
    region = (region_of_zone(zone) or zone) if zone is not None else next(iter(regions)) if len(regions) == 1 else None
    if region not in regions:
        rule = f"has no region {zone!r}" if zone is not None else f"has {len(regions)} regions: choose one by --zone"
        raise input_error(source, f"{rule} ({', '.join(sorted(regions)[:5])}, ...)")
    system = "Linux" if product in (None, "Linux/UNIX") else product
    types = regions[region].get(system or "")
    if not types:
        raise input_error(source, f"has no {product!r} in {region} (it has {', '.join(regions[region])})")
    most = {entry.index: entry.max / 100 for entry in advisor.ranges}
    begins = sorted(most.values())[-2] if len(most) > 1 else 0.5
    rates = {
        name: rate_per_hour(min(most[advice.r], begins), HOURS_A_MONTH)
        for name, advice in types.items()
        if advice.r in most
    }
    return ShockScenario(name=f"advisor of {region}", vm_interruptions_per_hour=rates, mean_outage_s=_MEAN_OUTAGE_S)
