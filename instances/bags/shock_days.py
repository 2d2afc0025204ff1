"""Days on which VMs are interrupted one by one, types as a whole, and several types by the same shock.

The Spot Instance Advisor of AWS publishes rates by VM type, of which such days are made.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import repeat
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from ...core.errors import InputError, Issue, input_error
from ...core.quantities import SECONDS_PER_HOUR, Name, whole
from ...core.records import FROZEN, Record, TheirRecord, validate_record
from ..entries import CloudName, VmType, matches
from .day_draws import exponential_numbers, horizon_s, refuse_endless_day, spot_types, uniform_numbers
from .poisson_days import alternating, whole_moments
from .providers import region_of_zone
from .scripted_days import HOURS_A_MONTH, rate_per_hour
from .timeline import Timeline, TimelineEvent, unchecked_timeline

if TYPE_CHECKING:
    from ...core.quantities import FloatArray
    from ..instance import Instance

SCENARIO_FORMAT: Literal["spotbag.scenario/1"] = "spotbag.scenario/1"

VMS_A_PLACE = 3
"""Spot VMs of a type whose interruptions are drawn, for each place within its limit: those that are terminated make
room for others. Still more are not interrupted one by one."""
_STREAMS = 2**20
"""Random streams of each purpose: more than there are VM types."""
_VMS, _SHOCKS, _STRUCK = _STREAMS, 2 * _STREAMS, 2 * _STREAMS + 1
_OUTAGES = 4 * _STREAMS

Rate = Annotated[float, Field(ge=0, le=SECONDS_PER_HOUR)]
Rates = Rate | Annotated[dict[Name, Rate], Field(min_length=1), FROZEN]
"""A rate of all VM types, or by their names or patterns of them, of which the first that fits counts."""


class ShockScenario(Record):
    """Interruptions of single VMs, of types, and of several types at once, each a Poisson process.

    Each spot VM is interrupted with a rate of its own, each type as a whole with another, and shocks come that strike
    each type, all its VMs, with a probability: the model of Marshall and Olkin (A multivariate exponential
    distribution, Journal of the American Statistical Association 62, 1967), in which what fails together does so by a
    common cause. What was interrupted is back after an exponential time.

    Attributes
    ----------
    name : str
        What it is called.
    cloud : str, optional
        Whose rules hold; see `spotbag.instances.clouds`.
    vm_interruptions_per_hour, type_interruptions_per_hour : float, or mapping of VM type to float
        Of each spot VM, and of each type, that is there. By type: by its name, or else by the first pattern that fits,
        such as ``c5.*``, and ``*`` for all others.
    shocks_per_hour, shock_share : float
        How often a shock comes, and the probability with which it strikes each type.
    mean_outage_s : float, optional
        How long a VM, or a type, is gone on average; for good if absent.

    Notes
    -----
    A day depends on the seed, its number, the numbers here, the deadline, the boot overhead, and for each VM type on
    its position in the catalogue and its spot limit; not on what policies do. That a VM is interrupted says nothing of
    whether it is there: nothing happens to one that is not. VMs have their rate whenever they are requested, the first
    three for each place within the spot limit of their type; those after them are not interrupted one by one.
    """

    format: Literal["spotbag.scenario/1"] = SCENARIO_FORMAT
    kind: Literal["shocks"] = "shocks"
    name: Name = "shocks"
    cloud: CloudName | None = None
    vm_interruptions_per_hour: Rates = 0.0
    type_interruptions_per_hour: Rates = 0.0
    shocks_per_hour: Rate = 0.0
    shock_share: Annotated[float, Field(ge=0, le=1)] = 1.0
    mean_outage_s: Annotated[float, Field(gt=0, le=1e9)] | None = None

    @property
    def fixed(self) -> bool:
        """Without interruptions every day is the same."""
        rates = self.vm_interruptions_per_hour, self.type_interruptions_per_hour
        return not (any(map(_any, rates)) or self.struck_per_hour)

    @property
    def law(self) -> Mapping[str, float | None] | None:
        """Rates for policies that ask for them: interruptions of a VM and of a type for each hour, mean outage.

        They know one rate of all types; None where each has its own.
        """
        of_vm, of_type = self.vm_interruptions_per_hour, self.type_interruptions_per_hour
        if isinstance(of_vm, Mapping) or isinstance(of_type, Mapping):
            return None
        return {
            "vm_interruptions_per_hour": of_vm,
            "type_interruptions_per_hour": of_type + self.struck_per_hour,
            "mean_outage_s": self.mean_outage_s,
        }

    @property
    def struck_per_hour(self) -> float:
        """Rate at which a VM type is struck by shocks, per hour."""
        return self.shocks_per_hour * self.shock_share

    def rates_of(self, vm_type: VmType) -> tuple[float, float]:
        """Interruptions of a VM of a type, and of the type, for each hour."""
        of_vm, of_type = (
            _rate_of(getattr(self, field), vm_type, self.name, field)
            for field in ("vm_interruptions_per_hour", "type_interruptions_per_hour")
        )
        return of_vm, of_type

    def day(self, instance: Instance, seed: int, day: int) -> Timeline:
        """Draw a day; see `Scenario.day`."""
        start_s, end_s = instance.boot_overhead_s, horizon_s(instance)
        types = spot_types(instance)
        events: list[TimelineEvent] = []
        if types and start_s < end_s and not self.fixed:
            draw = _Draw(self, seed, day, start_s, end_s)
            draw.refuse_too_many(instance)
            struck = draw.struck([index for index, _ in types])
            for index, name in types:
                vm_type = instance.vm_types[index]
                of_vm, of_type = self.rates_of(vm_type)
                events += draw.of_type(index, name, struck[index], of_type)
                events += draw.of_vms(index, name, VMS_A_PLACE * vm_type.offers["spot"].limit, of_vm)
        # Returns come before interruptions of one second, so that no VM is down twice.
        events.sort(key=lambda event: (event.time_s, event.kind == "interrupt"))
        return unchecked_timeline(f"{self.name}, seed {seed}, day {day}", events)


def _any(rates: float | Mapping[str, float]) -> bool:
    return any(rates.values()) if isinstance(rates, Mapping) else rates > 0


def _rate_of(rates: float | Mapping[str, float], vm_type: VmType, source: str, field: str) -> float:
    """Rate of a type, or of a pool: by its name, that of its type, or a pattern; refused where none fits."""
    if not isinstance(rates, Mapping):
        return rates
    named = [name for name in (vm_type.name, vm_type.instance_type) if name in rates]
    found = [*named, *(pattern for pattern in rates if matches(vm_type.name, pattern))]
    if not found:
        rule = f"has no rate of the spot type {vm_type.name!r}: say it, or that of all others by the name '*'"
        raise InputError(source, [Issue("", rule, field)])
    return rates[found[0]]


class _Draw:
    """Draw of one day: its random moments, from one seed."""

    def __init__(self, scenario: ShockScenario, seed: int, day: int, start_s: int, end_s: int) -> None:
        self.scenario = scenario
        self.seed, self.day = seed, day
        self.start_s, self.end_s = start_s, end_s

    def refuse_too_many(self, instance: Instance) -> None:
        """Refuse a day of too many events."""
        hours = (self.end_s - self.start_s) / SECONDS_PER_HOUR
        scenario = self.scenario
        events = 0.0
        for index, _ in spot_types(instance):
            of_vm, of_type = scenario.rates_of(instance.vm_types[index])
            events += of_type + scenario.struck_per_hour
            events += VMS_A_PLACE * instance.vm_types[index].offers["spot"].limit * of_vm
        refuse_endless_day(scenario.name, int(2 * hours * events))

    def struck(self, types: list[int]) -> dict[int, FloatArray]:
        """Moments of the shocks that strike each type."""
        scenario = self.scenario
        none = np.zeros(0)
        if not scenario.struck_per_hour:
            return dict.fromkeys(types, none)
        moments = self._poisson(_SHOCKS, SECONDS_PER_HOUR / scenario.shocks_per_hour)[0]
        n = int(np.searchsorted(moments, self.end_s))
        # A random stream for each type: another type behind it changes nothing of what happens to it.
        chances = uniform_numbers(self.seed, self.day, [_STRUCK + index for index in types], max(n, 1))[:, :n]
        return {index: moments[:n][row < scenario.shock_share] for index, row in zip(types, chances, strict=True)}

    def of_type(self, index: int, name: str, struck_s: FloatArray, rate: float) -> Iterator[TimelineEvent]:
        """Events of a type as a whole: it is down while its own interruption, or that of a shock, lasts."""
        down: list[tuple[float, float]] = []
        if rate:
            exact = self._process(lambda n: self._exponential(index, n), rate)
            moments, counts = whole_moments(exact, self.end_s, self.scenario.mean_outage_s is not None)
            own = moments[0, : counts[0]].tolist()
            down += list(zip(own[::2], own[1::2] or repeat(np.inf), strict=False))
        if len(struck_s):
            outage_s = self.scenario.mean_outage_s
            lengths = np.full(len(struck_s), np.inf)
            if outage_s is not None:
                lengths = outage_s * self._exponential(_STRUCK + _STREAMS + index, len(struck_s))[0]
            begins = whole(struck_s)
            # As in Poisson days, what would be back some day is back at the horizon.
            ends = np.maximum(np.ceil(struck_s + lengths), begins + 1)
            down += list(
                zip(begins.tolist(), np.where(ends < np.inf, np.minimum(ends, self.end_s), ends).tolist(), strict=True)
            )
        for begin, end in _union(down):
            yield TimelineEvent(int(begin), name, "interrupt")
            if end < np.inf:
                yield TimelineEvent(int(end), name, "resume")

    def of_vms(self, index: int, name: str, n_vms: int, rate: float) -> Iterator[TimelineEvent]:
        """Events of single VMs of a type.

        Interruptions come with the same rate at all times, also while one that was there before would be gone: the VM
        may have been requested since. What is gone is back when the outage is over that it began with.
        """
        outage_s = self.scenario.mean_outage_s
        if not rate or not n_vms:
            return
        moments = self._poisson(_VMS + index, SECONDS_PER_HOUR / rate, n_vms)
        struck = np.flatnonzero((moments < self.end_s).any(axis=1))
        outages = None
        if outage_s is not None and len(struck):
            outages = outage_s * self._columns(_OUTAGES + index, moments.shape[1], n_vms)
        for vm in struck.tolist():
            back_s = 0
            for place, exact_s in enumerate(moments[vm, moments[vm] < self.end_s].tolist()):
                time_s = math.ceil(exact_s)
                yield TimelineEvent(time_s, name, "interrupt", vm + 1)
                if outages is not None and time_s >= back_s:
                    back_s = max(min(math.ceil(exact_s + float(outages[vm, place])), self.end_s), time_s + 1)
                    yield TimelineEvent(back_s, name, "resume", vm + 1)

    def _poisson(self, stream: int, mean_s: float, rows: int = 1) -> FloatArray:
        """Moments of Poisson processes until all are over, shape (rows, enough)."""
        # A few more than are likely to be needed: twice as many are drawn where these do not do.
        n = 8 + int(1.3 * (self.end_s - self.start_s) / mean_s)
        while True:
            moments: FloatArray = self.start_s + mean_s * np.cumsum(self._columns(stream, n, rows), axis=1)
            if moments[:, -1].min() >= self.end_s:
                return moments
            n *= 2

    def _columns(self, stream: int, n: int, rows: int) -> FloatArray:
        """Exponential numbers of mean 1, shape (rows, n); more columns begin with the same."""
        return self._exponential(stream, n * rows).reshape(n, rows).T

    def _process(self, exponential: Any, rate_per_hour: float) -> FloatArray:
        """Moments of interruptions and returns in turn, shape (n, enough); of the first only if nothing comes back."""
        mean_up_s, outage_s = SECONDS_PER_HOUR / rate_per_hour, self.scenario.mean_outage_s
        if outage_s is None:
            first: FloatArray = self.start_s + mean_up_s * exponential(1)
            return first
        return alternating(exponential, self.start_s, mean_up_s, outage_s, self.end_s)

    def _exponential(self, stream: int, n: int) -> FloatArray:
        """Exponential numbers of mean 1, shape (1, n); more of them begin with the same."""
        return exponential_numbers(self.seed, self.day, [stream], n)


def _union(intervals: list[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Union of time intervals, in ascending order; intervals that touch are merged."""
    begin = end = -1.0
    for first, last in sorted(intervals):
        if first > end:
            if end > begin:
                yield begin, end
            begin, end = first, last
        else:
            end = max(end, last)
    if end > begin:
        yield begin, end


_MEAN_OUTAGE_S = 1800.0
"""Mean time for which a VM is gone, not in the advisor: as in the scenarios ``vms/calm`` and ``vms/busy``."""


class _Range(TheirRecord):
    index: int
    max: Annotated[float, Field(gt=0, le=100)]


class _Advice(TheirRecord):
    r: int


class _Advisor(TheirRecord):
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
    # The last class is open: "more than 20 %" has no upper end, and is taken to begin there.
    begins = sorted(most.values())[-2] if len(most) > 1 else 0.5
    rates = {
        name: rate_per_hour(min(most[advice.r], begins), HOURS_A_MONTH)
        for name, advice in types.items()
        if advice.r in most
    }
    return ShockScenario(name=f"advisor of {region}", vm_interruptions_per_hour=rates, mean_outage_s=_MEAN_OUTAGE_S)
