"""Rules of clouds for interruptions of spot VMs and for bills: presets with source and date, open to changes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

from ..core.bill import Bill, billed_s
from ..core.errors import InputError, Issue
from ..core.quantities import SECONDS_PER_HOUR
from ..core.text_files import packaged_toml
from ..core.wording import near_names
from .entries import CLOUD_NAMES, BillingRules, CloudName, RentalOffer

InterruptionKind: TypeAlias = Literal["hibernate", "stop", "terminate"]
"""Kind of interruption: what a cloud does to a spot VM that it takes away.

One that hibernates goes on where it was when it is resumed; one that is stopped loses what is not saved and boots again
when there is capacity; one that is terminated is gone.
"""

INTERRUPTION_KINDS: tuple[InterruptionKind, ...] = get_args(InterruptionKind)
_MOST_SECONDS = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Billing:
    """Billing rules of a cloud, beyond the price of a running VM.

    A VM is billed by its sessions: each goes from when it is ready, resumed or booted again until it is interrupted or
    terminated.

    Attributes
    ----------
    minimum_s : int
        What each session is billed at least, in seconds.
    block_s : int
        Seconds of a block, as sessions are billed in whole blocks: 1, or 3,600 for whole hours.
    boot_s : int
        Seconds before each session that are billed with it: of the boot, or in which images are pulled and data staged.
    fixed_usd : float
        What each session costs whatever its length.
    first_hour_free : bool
        The first session of a spot VM costs nothing if the cloud interrupts it within an hour.
    hibernated_usd_per_gb_hour, stopped_usd_per_gb_hour : float
        For keeping a VM that is hibernated, or stopped, by its memory. Both papers pay nothing (HADS, section 1).

    Raises
    ------
    InputError
        If a number is out of its range.
    """

    minimum_s: int = 0
    block_s: int = 1
    boot_s: int = 0
    fixed_usd: float = 0.0
    first_hour_free: bool = False
    hibernated_usd_per_gb_hour: float = 0.0
    stopped_usd_per_gb_hour: float = 0.0

    def __post_init__(self) -> None:
        issues = []
        for name, least in (("minimum_s", 0), ("block_s", 1), ("boot_s", 0)):
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= _MOST_SECONDS:
                issues.append(Issue("", f"must be a whole number of seconds, {least} or more", name, value))
        for name in ("fixed_usd", "hibernated_usd_per_gb_hour", "stopped_usd_per_gb_hour"):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                issues.append(Issue("", "must be a finite number, 0 or more", name, value))
        if issues:
            raise InputError("billing", issues)

    def __str__(self) -> str:
        """Billing rules in words."""
        parts = ["billed by the second" if self.block_s == 1 else f"billed in blocks of {self.block_s:,} s"]
        parts += [f"at least {self.minimum_s:,} s"] if self.minimum_s else []
        parts += [f"with {self.boot_s:,} s before each session"] if self.boot_s else []
        parts += [f"${self.fixed_usd:g} for each start of a VM"] if self.fixed_usd else []
        parts += ["free if interrupted in the first hour"] if self.first_hour_free else []
        for kind in ("hibernated", "stopped"):
            rate = getattr(self, f"{kind}_usd_per_gb_hour")
            parts += [f"${rate:g} for an hour of a {kind} GB of memory"] if rate else []
        return ", ".join(parts)

    def bill(self, offer: RentalOffer) -> Bill:
        """Bill of a VM of an offer, at its price."""
        # Only spot VMs are taken away.
        free_s = SECONDS_PER_HOUR if self.first_hour_free and offer.market == "spot" else 0
        return Bill(offer.price_usd_per_s, 1, self.block_s, self.minimum_s, self.fixed_usd, free_s, self.boot_s)

    def billed_s(self, session_s: int) -> int:
        """Seconds on the bill for a session."""
        return billed_s(Bill(block_s=self.block_s, least_s=self.minimum_s, lead_s=self.boot_s), session_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """Rules of a cloud for interruptions of spot VMs and for bills.

    Attributes
    ----------
    name : str
        What users call it.
    summary : str
        One line.
    interruption : {"hibernate", "stop", "terminate"}
        What happens to a spot VM that it takes away.
    notice_s : int
        Seconds for which a VM drains before.
    billing : Billing
        How it bills.
    source, date : str
        Where that is written, and when it was read.

    Raises
    ------
    InputError
        If the interruption is unknown, or the notice no whole number of seconds.
    """

    name: str
    summary: str = ""
    interruption: InterruptionKind = "terminate"
    notice_s: int = 0
    billing: Billing = field(default_factory=Billing)
    source: str = ""
    date: str = ""

    def __post_init__(self) -> None:
        issues = []
        if self.interruption not in INTERRUPTION_KINDS:
            rule = f"must be one of {', '.join(INTERRUPTION_KINDS)}"
            issues.append(Issue("", rule, "interruption", self.interruption))
        if type(self.notice_s) is not int or not 0 <= self.notice_s <= _MOST_SECONDS:
            issues.append(Issue("", "must be a whole number of seconds, 0 or more", "notice_s", self.notice_s))
        if issues:
            raise InputError("cloud", issues)

    def replace(self, **changes: Any) -> Cloud:
        """Return the cloud with some things changed, also of its billing: ``replace(notice_s=30, minimum_s=0)``.

        Things that are None stay as they are. One that is changed has ``changed`` behind its name.
        """
        asked = {name: value for name, value in changes.items() if value is not None}
        if not asked:
            return self
        names = {entry.name for entry in dataclasses.fields(Billing)}
        billing = dataclasses.replace(self.billing, **{name: asked.pop(name) for name in names & asked.keys()})
        changed = dataclasses.replace(self, billing=billing, **asked)
        # A cloud that is not as its source says it must not go by its name.
        if changed == self or "name" in asked:
            return changed
        return dataclasses.replace(changed, name=f"{self.name}, changed")


def interruption_text(kind: InterruptionKind, notice_s: int) -> str:
    """Phrase for the fate of interrupted spot VMs in a cloud."""
    verb = {"hibernate": "hibernate", "stop": "are stopped", "terminate": "are terminated"}[kind]
    return f"{verb} after {notice_s:,} s of notice" if notice_s else f"{verb} without notice"


_DESCRIBED = packaged_toml(__package__, "clouds.toml")


def _cloud(name: str, *, rules: str, **said: Any) -> Cloud:
    """Return the cloud of a name, with the rules that it shares with others."""
    common = {**_DESCRIBED["rules"][rules], **said}
    return Cloud(name=name, billing=Billing(**common.pop("billing", {})), **common)


CLOUDS: Mapping[str, Cloud] = MappingProxyType(
    {name: _cloud(name, **said) for name, said in _DESCRIBED["clouds"].items()}
)
assert tuple(CLOUDS) == CLOUD_NAMES, "clouds.toml and CloudName of entries.py must name the same clouds, in one order"
PROVIDERS: Mapping[str, Any] = _DESCRIBED["providers"]
"""Facts on each provider; see `instances.bags.providers`."""
CLOUD_OF_PROVIDER: Mapping[str, CloudName] = MappingProxyType({name: said["cloud"] for name, said in PROVIDERS.items()})
"""Cloud of each provider, unless another one is asked for."""


def find_cloud(name: str) -> Cloud:
    """Return the cloud of a name.

    Raises
    ------
    InputError
        If there is none; close names are suggested.
    """
    if name not in CLOUDS:
        raise InputError("cloud", [Issue("", f"is unknown ({near_names(name, CLOUDS)})", value=name)])
    return CLOUDS[name]


PAPERS = CLOUDS["papers"]
"""Cloud of both papers."""


def cloud_of(name: str | None, billing: BillingRules | None) -> Cloud:
    """Return the cloud of an instance: that of its name, or the papers', with what is changed of its bill."""
    cloud = find_cloud(name or PAPERS.name)
    return cloud if billing is None else cloud.replace(**dict(billing))
