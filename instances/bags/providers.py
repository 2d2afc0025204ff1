"""Names of VM types, regions and zones, by provider, and what they say of a type."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .. import clouds
from ..entries import Architecture

_NEVER = re.compile(r"(?!)")
_LETTERS_OF = {"north": "n", "south": "s", "east": "e", "west": "w", "central": "c"}
_SIDES = {
    "".join(letter for word, letter in _LETTERS_OF.items() if word in side): side
    for side in ("north", "south", "east", "west", "central", "northeast", "northwest", "southeast", "southwest")
}
# In reverse order, as of several alternatives the first that fits is taken: "se" before "s".
_ZONE_ID = re.compile(rf"([a-z]{{2}})(g?)({'|'.join(sorted(_SIDES, reverse=True))})([0-9]+)-az[0-9]+")


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
    credits : dict
        Size of a burstable type to the baseline of its vCPUs, and the credits that it earns in an hour.
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
    credits: Mapping[str, Sequence[float]]
    example: str

    def architecture(self, name: str) -> Architecture | None:
        """Architecture of a type by its name; None if names do not say."""
        if self.arm is None:
            return None
        return "arm64" if self.arm.match(name) else "x86_64"


PROVIDERS: Mapping[str, Provider] = {
    name: Provider(
        name=name,
        title=said["title"],
        example=said["example"],
        credits=said.get("credits", {}),
        **{what: re.compile(pattern) for what, pattern in said["patterns"].items()},
    )
    for name, said in clouds.PROVIDERS.items()
}
AWS_REGION = PROVIDERS["aws"].region.pattern
_ZONE_NAME = re.compile(rf"({AWS_REGION})[a-z]")


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
