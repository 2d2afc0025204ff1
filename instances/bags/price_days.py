"""Days on which spot VMs cost what a recorded history of prices says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...core.errors import InputError, Issue, input_error
from ...core.quantities import moment, whole
from ...core.record_lists import grouped_by
from ...core.wording import first_names
from .day_draws import horizon_s, spot_types, uniform_numbers
from .spot_price_history import LINUX, SpotPrice, plain_product
from .timeline import Timeline, TimelineEvent, unchecked_timeline

if TYPE_CHECKING:
    from ...core.quantities import FloatArray, IntArray
    from ..entries import CloudName
    from ..instance import Instance


@dataclass(frozen=True, slots=True, eq=False)
class PriceScenario:
    """Spot VMs have the prices of a recorded history, and are not interrupted.

    Attributes
    ----------
    name : str
        Where the history comes from.
    prices : dict of VM type to pair of arrays of shape (n_prices,)
        When each price begins, in whole seconds from the first price of the history on, strictly increasing; and what
        it is, in USD per hour. Before its first price, a type costs that.
    start_s : int, optional
        When days start, in the same seconds. If absent, day 0 starts with the history, and the others at a second drawn
        at random for which the history still goes on to the deadline.
    cloud : str, optional
        Whose rules hold; see `spotbag.instances.clouds`.

    Notes
    -----
    All types start at the same time. After the end of the history, prices stay as they are. Spot types without a
    history keep the price of their instance; see `notes`.
    """

    name: str
    prices: Mapping[str, tuple[IntArray, FloatArray]]
    start_s: int | None = None
    cloud: CloudName | None = None
    law: ClassVar[None] = None
    """None: the probability law of a history is unknown."""

    @property
    def fixed(self) -> bool:
        """True if all days are equal: the history is replayed from a given time."""
        return self.start_s is not None

    def notes(self, instance: Instance) -> list[str]:
        """Say which types of the instance keep their prices, and of which types of the history it has no spot VMs."""
        known = [name for _, name in spot_types(instance)]
        kept = [name for name in known if name not in self.prices]
        unused = [name for name in self.prices if name not in known]
        notes = []
        if kept:
            notes.append(f"{self.name}: has no prices of {first_names(kept)}, which keep those of {instance.name}")
        if unused:
            notes.append(f"{self.name}: has prices of {first_names(unused)}, of which {instance.name} has no spot VMs")
        return notes

    def day(self, instance: Instance, seed: int, day: int) -> Timeline:
        """Cut out a day; see `Scenario.day`.

        Raises
        ------
        InputError
            If the history has none of the spot types of the instance.
        """
        types = spot_types(instance)
        if types and not any(name in self.prices for _, name in types):
            rule = (
                f"has prices of {first_names(list(self.prices))}, but of no spot type of the instance "
                f"{instance.name!r}: take the history of {first_names([name for _, name in types])}"
            )
            raise input_error(self.name, rule)
        start_s, end_s = self._start_s(instance, seed, day), horizon_s(instance)
        events = []
        for index, name in types:
            if name not in self.prices:
                continue
            times, usd = self.prices[name]
            # At the start of a day, the last price holds that began by then.
            first = max(int(np.searchsorted(times, start_s, side="right")) - 1, 0)
            until = max(int(np.searchsorted(times, start_s + end_s)), first + 1)
            last = instance.vm_types[index].offers["spot"].price_usd_per_hour
            moments = [0, *(times[first + 1 : until] - start_s).tolist()]
            for time_s, price in zip(moments, usd[first:until].tolist(), strict=True):
                if price != last:
                    events.append(TimelineEvent(time_s, name, "price", market="spot", usd_per_hour=price))
                    last = price
        events.sort(key=lambda event: event.time_s)
        return unchecked_timeline(f"{self.name}, seed {seed}, day {day}", events)

    def _start_s(self, instance: Instance, seed: int, day: int) -> int:
        if self.start_s is not None:
            return self.start_s
        if not day:
            return 0
        length_s = max(int(times[-1]) for times, _ in self.prices.values())
        return int(float(uniform_numbers(seed, day, [0], 1)[0, 0]) * (max(length_s - instance.deadline_s, 0) + 1))


def price_scenario(
    prices: Sequence[SpotPrice],
    source: str,
    *,
    zone: str | None = None,
    product: str | None = None,
    since: str | None = None,
) -> PriceScenario:
    """Make a scenario of a history of prices.

    Parameters
    ----------
    prices : sequence of SpotPrice
        In any order; see `read_spot_prices`.
    source : str
        Name of the history in messages, and of the scenario.
    zone : str, optional
        Availability zone whose prices count; needed if there are several. With ``all`` they are prices of pools,
        ``type@zone``.
    product : str, optional
        Operating system whose prices count; if absent, Linux/UNIX, or the only one in the file.
    since : str, optional
        When days start, such as ``2026-07-09T12:00:00Z``; within the history.

    Raises
    ------
    InputError
        If a zone, a product or a start must be said, or there are no prices of it.
    """
    chosen = _choice(prices, source, "product", None if product is None else plain_product(product), LINUX)
    pools = zone == "all"
    chosen = chosen if pools else _choice(chosen, source, "zone", zone, None)
    # The history begins with its first entry, whatever the type: all types share one clock.
    begin, end = min(entry.time for entry in chosen), max(entry.time for entry in chosen)
    start_s = None
    if since is not None:
        start = moment(since)
        if start is None or not begin <= start <= end:
            rule = f"must be a time from {begin.isoformat()} to {end.isoformat()}, within the history"
            raise InputError(source, [Issue("", rule, "since", since)])
        start_s = round((start - begin).total_seconds())
    columns = {}
    for name, entries in grouped_by(chosen, lambda one: f"{one.name}@{one.zone}" if pools else one.name).items():
        entries.sort(key=attrgetter("time"))
        times = whole(np.array([(entry.time - begin).total_seconds() for entry in entries]))
        usd = np.array([entry.price for entry in entries])
        # Of several prices in one whole second, the last one holds.
        last_of_second = np.append(times[1:] != times[:-1], True)
        columns[name] = times[last_of_second], usd[last_of_second]
    return PriceScenario(source, columns, start_s)


def _choice(
    prices: Sequence[SpotPrice], source: str, field: str, wanted: str | None, usual: str | None
) -> list[SpotPrice]:
    """Prices of a zone or of a product."""
    there = sorted({getattr(entry, field) for entry in prices})
    if wanted is None:
        if len(there) == 1:
            return list(prices)
        if usual not in there:
            rule = (
                f"has prices of {len(there)} {field}s: say which counts with {field} (--{field}): {first_names(there)}"
            )
            raise input_error(source, rule)
        wanted = usual
    found = [entry for entry in prices if getattr(entry, field) == wanted]
    if not found:
        names = [name for name in there if name]
        rule = (
            f"is no {field} of the history, which has {first_names(names)}"
            if names
            else f"cannot be chosen: it has no {field}s"
        )
        raise InputError(source, [Issue("", rule, field, wanted)])
    return found
