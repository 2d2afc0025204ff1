"""What all scenarios have in common, and days that are given: by hand, or drawn before."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ...core.errors import InputError, Issue
from .timeline import Timeline

if TYPE_CHECKING:
    from ..entries import CloudName
    from ..instance import Instance


class Scenario(Protocol):
    """What days are like. A day is drawn before it is replayed, so that every policy meets the same one."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def cloud(self) -> CloudName | None:
        """Whose rules hold on its days, if it says so: a name of `spotbag.instances.clouds`."""

    @property
    def fixed(self) -> bool:
        """Whether every day is the same."""

    @property
    def law(self) -> Mapping[str, float | None] | None:
        """Rates for policies that ask for them (`Policy.asks_for_law`); None where they are not known."""

    def day(self, instance: Instance, seed: int, day: int) -> Timeline:
        """Return the events of a day; the same arguments give the same day, in whatever order days are asked for.

        Parameters
        ----------
        instance : Instance
            The VM types with spot offers, the deadline and the boot overhead are those of this instance.
        seed, day : int
            Which day; 0 or more.

        Raises
        ------
        InputError
            If the scenario does not fit the instance.
        """


@dataclass(frozen=True, slots=True)
class ScriptedScenario:
    """Every day is the same given one.

    Attributes
    ----------
    timeline : Timeline
        The day.
    source : str
        Where it comes from, for messages.
    cloud : str, optional
        Whose rules hold; see `spotbag.instances.clouds`.
    """

    timeline: Timeline
    source: str = "timeline"
    cloud: CloudName | None = None

    @property
    def name(self) -> str:
        """Name of the day."""
        return self.timeline.name

    @property
    def fixed(self) -> bool:
        """Every day is the same."""
        return True

    @property
    def law(self) -> None:
        """What happens on a single day is no law."""
        return

    def day(self, instance: Instance, seed: int, day: int) -> Timeline:
        """Return the day.

        Raises
        ------
        InputError
            If it has VM types that the instance does not have, or not as spot VMs.
        """
        spot = {vm_type.name for vm_type in instance.vm_types if "spot" in vm_type.offers}
        if not {event.vm_type for event in self.timeline.events} <= spot:
            raise InputError(self.source, self._issues_of_types(instance, spot))
        return self.timeline

    def _issues_of_types(self, instance: Instance, spot: set[str]) -> list[Issue]:
        first_s: dict[str, int] = {}
        for event in self.timeline.events:
            first_s.setdefault(event.vm_type, event.time_s)
        known = [vm_type.name for vm_type in instance.vm_types]
        issues = []
        for name, time_s in first_s.items():
            if name in spot:
                continue
            if name in known:
                rule = f"has no spot offer in the instance {instance.name!r}: only spot VMs are interrupted"
            else:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(known)}"
                rule = f"is no VM type of the instance {instance.name!r} ({hint})"
            issues.append(Issue("events", rule, f"at {time_s} s: type", name))
        return issues
