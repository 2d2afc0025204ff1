"""Names of VM types, regions and zones, by provider, and what they say of a type."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..entries import Architecture

_NEVER = re.compile(r"(?!)")
AWS_REGION = r"[a-z]{2,5}(?:-[a-z]+)+-[0-9]+"
_LETTERS_OF = {"north": "n", "south": "s", "east": "e", "west": "w", "central": "c"}
_SIDES = {
    "".join(letter for word, letter in _LETTERS_OF.items() if word in side): side
    for side in ("north", "south", "east", "west", "central", "northeast", "northwest", "southeast", "southwest")
}
_ZONE_ID = re.compile(rf"([a-z]{{2}})(g?)({'|'.join(sorted(_SIDES, reverse=True))})([0-9]+)-az[0-9]+")
_ZONE_NAME = re.compile(rf"({AWS_REGION})[a-z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Names of a provider.

    Attributes
    ----------
    name, title : str
        As in a catalogue, and in messages.
    type, region, zone : pattern
        Names of its VM types, its regions and its availability zones.
    burstable : pattern
        Types that share cores with others.
    arm : pattern, optional
        Types of architecture arm64, where names say that.
    accelerated : pattern
        Types whose price in catalogues lacks that of their accelerators.
    example : str
        A type and a region.
    """

    name: str
    title: str
    type: re.Pattern[str]
    region: re.Pattern[str]
    zone: re.Pattern[str]
    burstable: re.Pattern[str]
    arm: re.Pattern[str] | None = None
    accelerated: re.Pattern[str] = _NEVER
    example: str

    def architecture(self, name: str) -> Architecture | None:
        """Architecture of a type by its name; None if names do not say."""
        if self.arm is None:
            return None
        return "arm64" if self.arm.match(name) else "x86_64"


PROVIDERS: Mapping[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider(
            name="aws",
            title="AWS",
            type=re.compile(r"[a-z][a-z0-9-]*\.[a-z0-9-]+"),
            region=re.compile(AWS_REGION),
            zone=re.compile(rf"{AWS_REGION}[a-z]|[a-z]+[0-9]+-az[0-9]+"),
            burstable=re.compile(r"(?:t1|t2|t3|t3a|t4g)\."),
            example="c6i.large in us-east-1",
        ),
        Provider(
            name="gcp",
            title="Google Cloud",
            type=re.compile(r"[a-z][0-9][a-z]*-[a-z0-9-]+"),
            region=re.compile(r"[a-z]+-[a-z]+[0-9]+"),
            zone=re.compile(r"[a-z]+-[a-z]+[0-9]+-[a-z]"),
            burstable=re.compile(r"(?:e2-(?:micro|small|medium)|f1-micro|g1-small)$"),
            arm=re.compile(r"(?:t2a|c4a|n4a)-"),
            accelerated=re.compile(r"(?:a[2-9]|g[2-9])[a-z]*-"),
            example="n2-standard-8 in us-central1",
        ),
        Provider(
            name="azure",
            title="Azure",
            type=re.compile(r"(?:Standard|Basic)_[A-Za-z0-9_-]+"),
            region=re.compile(r"[a-z]+[0-9]*"),
            zone=re.compile(r"(?:[a-z]+[0-9]*-)?[1-3]|"),
            burstable=re.compile(r"Standard_B"),
            arm=re.compile(r"Standard_[A-Z]+[0-9]+(?:-[0-9]+)?[a-z]*p[a-z]*_"),
            example="Standard_D4s_v5 in eastus",
        ),
    )
}


def provider_of(vm_type: str, region: str) -> Provider | None:
    """Provider of a type and a region, by the patterns of names."""
    fits = (one for one in PROVIDERS.values() if one.type.fullmatch(vm_type) and one.region.fullmatch(region))
    return next(fits, None)


def region_of_zone(zone: str) -> str | None:
    """Region of a zone of AWS: us-east-1 of us-east-1a, and of use1-az4; None if it is no such zone."""
    named = _ZONE_NAME.fullmatch(zone)
    if named is not None:
        return named[1]
    found = _ZONE_ID.fullmatch(zone)
    return None if found is None else f"{found[1]}{'-gov' if found[2] else ''}-{_SIDES[found[3]]}-{found[4]}"
