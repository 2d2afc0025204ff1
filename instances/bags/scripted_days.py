"""The interface of all scenarios, and scenarios whose days are given: by hand, or drawn before."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from ...core.errors import InputError, Issue
from .timeline import Timeline, TimelineEvent

if TYPE_CHECKING:
    from ..entries import CloudName
    from ..instance import Instance


HOURS_A_MONTH = 730.0
"""Within a month, the Spot Instance Advisor counts how often VMs were interrupted."""


def rate_per_hour(probability: float, hours: float = 1.0) -> float:
    """Rate for each hour of what happens within some hours with a probability."""
    # In a Poisson process nothing happens within a time with the probability exp(-rate * time).
    return -math.log1p(-probability) / hours


class Scenario(Protocol):
    """Days on which a bag may be run; a day is drawn before its replay, so that every policy meets the same one."""

    @property
    def name(self) -> str:
        """Name of the scenario, for tables and messages."""

    @property
    def cloud(self) -> CloudName | None:
        """Cloud whose rules hold on the days, if the scenario names one of `spotbag.instances.clouds`."""

    @property
    def fixed(self) -> bool:
        """True if all days are equal."""

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
    fixed: ClassVar[bool] = True
    """True: every day is the same."""
    law: ClassVar[None] = None
    """None: a single given day follows no probability law."""

    @property
    def name(self) -> str:
        """Name of the day."""
        return self.timeline.name

    def day(self, instance: Instance, seed: int, day: int) -> Timeline:
        """Return the day.

        Raises
        ------
        InputError
            If it has VM types that the instance does not have, or not in the market that an event is about.
        """
        offered = {(vm_type.name, market) for vm_type in instance.vm_types for market in vm_type.offers}
        wrong = [event for event in self.timeline.events if (event.vm_type, event.market or "spot") not in offered]
        if wrong:
            raise InputError(self.source, _issues_of_types(instance, wrong))
        return self.timeline


def _issues_of_types(instance: Instance, wrong: Sequence[TimelineEvent]) -> list[Issue]:
    """Say of each type, and market, what is wrong with the first event that is about it."""
    first: dict[tuple[str, str | None], TimelineEvent] = {}
    for event in wrong:
        first.setdefault((event.vm_type, event.market), event)
    known = [vm_type.name for vm_type in instance.vm_types]
    issues = []
    for (name, market), event in first.items():
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(known)}"
            rule = f"is no VM type of the instance {instance.name!r} ({hint})"
        elif market is None:
            rule = f"has no spot offer in the instance {instance.name!r}: only spot VMs are interrupted"
        else:
            rule = f"has no {market} offer in the instance {instance.name!r}, which could have that price"
        issues.append(Issue("events", rule, f"at {event.time_s} s: type", name))
    return issues
