"""Limits of VMs of several types together, as an auditor reads them from the document of an instance."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class QuotaRule:
    """A limit of the VMs of one market.

    Attributes
    ----------
    name, market : str
        What it is called, and whose VMs count.
    most : int
        The most, of VMs or of vCPUs.
    of_vcpus : bool
        Whether a VM counts by its vCPUs.
    types : re.Pattern, optional
        Names of the types that count; all if absent.
    """

    name: str
    market: str
    most: int
    of_vcpus: bool = False
    types: re.Pattern[str] | None = None

    def counts(self, type_name: str, vcpus: int, market: str) -> int:
        """Count of a VM of a type in a market."""
        if market != self.market or (self.types is not None and not self.types.fullmatch(type_name)):
            return 0
        return vcpus if self.of_vcpus else 1

    @property
    def unit(self) -> str:
        """Unit of the most."""
        return "vCPUs" if self.of_vcpus else "VMs"


def quota_rules(limits: Mapping[str, Any]) -> Iterator[QuotaRule]:
    """Quotas of a document, its limits of markets among them."""
    for key, market in (("max_spot", "spot"), ("max_on_demand", "on-demand")):
        if limits.get(key) is not None:
            yield QuotaRule(market, market, int(limits[key]))
    for number, quota in enumerate(limits.get("quotas") or ()):
        types = None if quota.get("types") is None else re.compile("|".join(map(_expression, quota["types"])))
        of_vcpus = quota.get("vcpus") is not None
        most = int(quota["vcpus" if of_vcpus else "vms"])
        yield QuotaRule(f"quotas[{number}]", quota["market"], most, of_vcpus, types)


def _expression(pattern: str) -> str:
    """Regular expression of a pattern, in which ``*`` is anything, and ``?`` one character."""
    return "".join({"*": ".*", "?": "."}.get(sign) or re.escape(sign) for sign in pattern)
