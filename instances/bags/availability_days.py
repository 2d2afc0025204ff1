"""Days cut from a trace of how many spot VMs were available."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

from ...core.errors import InputError, Issue, input_error, show_value
from ...core.quantities import NOISE, BoolArray, IntArray, is_name, whole
from .day_draws import (
    horizon_s,
    refuse_endless_day,
    sampled_timeline,
    spot_types,
    uniform_numbers,
)
from .timeline import Timeline, TimelineEvent, unchecked_timeline

if TYPE_CHECKING:
    from ...core.quantities import FloatArray
    from ..entries import CloudName
    from ..instance import Instance

OneMeans: TypeAlias = Literal["available", "preempted"]
VmsPerOne: TypeAlias = float | Literal["all"]

_MEANINGS: tuple[OneMeans, ...] = ("available", "preempted")
_SAY_IT = "say what a 1 in its data means: one_means (--one-means) is 'available' or 'preempted'"

_MOST_FAULTS = 100
_GAP_LIMITS_S = 0.001, 1e9
_MOST_VMS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class AvailabilityScenario:
    """Days of a trace of the availability of spot VMs: all or none, or a number at most.

    Entry i of the trace covers the time from ``i * gap_s`` until before ``(i + 1) * gap_s``. Day 0 starts with its
    first entry, the others with one drawn at random; after the last entry the first comes again.

    Attributes
    ----------
    name : str
        Where the trace comes from.
    gap_s : float
        Time that an entry covers; need not be whole.
    data : array of shape (n_entries,), or dict of VM type to such arrays
        How many VMs were available, or preempted: of all types together, or of each.
    one_means : {"available", "preempted"}
        What is counted.
    vms_per_one : float or "all"
        VMs that a 1 stands for; VMs that are there in part only are not there. ``all``: the largest number of a type
        stands for all VMs within its spot limit.
    cloud : str, optional
        Whose rules hold; see `spotbag.instances.clouds`.

    Notes
    -----
    A change of the trace happens at the first whole second that is not before it, changes that are undone in the same
    second do not happen, and what holds when the first VMs get ready begins then. All types start with the same entry,
    so that what happened together happens together. Where all or none are there, types are interrupted and resume;
    otherwise, each change is a ``capacity`` within the spot limit of the type.
    """

    name: str
    gap_s: float
    data: IntArray | Mapping[str, IntArray]
    one_means: OneMeans = "available"
    vms_per_one: VmsPerOne = "all"
    cloud: CloudName | None = None

    fixed: ClassVar[bool] = False
    """False: days begin at different entries."""
    law: ClassVar[None] = None
    """None: the probability law of a trace is unknown."""

    @property
    def counts(self) -> bool:
        """True if the trace gives numbers of VMs, not only that all VMs of a type are available or none."""
        return self.vms_per_one != "all" or max(int(column.max()) for column in self._columns) > 1

    @property
    def _columns(self) -> list[IntArray]:
        return list(self.data.values()) if isinstance(self.data, Mapping) else [self.data]

    def available(self) -> BoolArray:
        """Entries at which VMs were available, in a trace of all types together without numbers, shape (n_entries,)."""
        assert not isinstance(self.data, Mapping)
        found: BoolArray = (self.data > 0) == (self.one_means == "available")
        return found

    def day(self, instance: Instance, seed: int, day: int) -> Timeline:
        """Cut out a day; see `Scenario.day`.

        Raises
        ------
        InputError
            If the trace has no data of a type with a spot offer.
        """
        start = float(uniform_numbers(seed, day, [0], 1)[0, 0]) if day else 0.0
        types = spot_types(instance)
        name = f"{self.name}, seed {seed}, day {day}"
        if not types:
            return Timeline((), self.name)
        counts = self.counts
        changes: list[tuple[IntArray, IntArray]] = []
        for index, type_name in types:
            column = self._column(type_name, instance)
            limit = instance.vm_types[index].offers["spot"].limit if counts else 1
            changes.append(self._changes(self._vms(column, limit), limit, start, instance))
        if not counts:
            meanings = [2 * number + vms for number, (_, vms) in enumerate(changes)]
            moments = np.concatenate([times for times, _ in changes])
            return sampled_timeline(name, [type_name for _, type_name in types], moments, np.concatenate(meanings))
        events = [
            TimelineEvent(time_s, type_name, "capacity", vms=vms)
            for (_, type_name), (times, levels) in zip(types, changes, strict=True)
            for time_s, vms in zip(times.tolist(), levels.tolist(), strict=True)
        ]
        return unchecked_timeline(name, sorted(events, key=lambda event: event.time_s))

    def _column(self, type_name: str, instance: Instance) -> IntArray:
        if not isinstance(self.data, Mapping):
            return self.data
        found = self.data.get(type_name)
        if found is None:
            close = difflib.get_close_matches(type_name, self.data, n=1)
            n_entries = len(next(iter(self.data.values())))
            hint = f"is {close[0]!r} meant?" if close else f"if it is always available, give it {n_entries} entries"
            rule = f"has no entries for the spot type {type_name!r} of the instance {instance.name!r} ({hint})"
            raise InputError(self.name, [Issue("", rule, "data")])
        return found

    def _vms(self, column: IntArray, limit: int) -> IntArray:
        """Spot VMs that can be there at most in each entry, from 0 to the limit."""
        if self.vms_per_one == "all":
            largest = max(int(column.max()), 1)
            # A trace of preempted VMs, turned around.
            there = column if self.one_means == "available" else largest - column
            vms: IntArray = limit * there // largest
            return vms
        counted: FloatArray = column * np.float64(self.vms_per_one)
        exact: FloatArray = counted if self.one_means == "available" else limit - counted
        return np.clip(np.floor(exact + NOISE), 0, limit).astype(np.int64)

    def _changes(self, vms: IntArray, full: int, start: float, instance: Instance) -> tuple[IntArray, IntArray]:
        """Times of changes of the number of VMs, in whole seconds, and the new numbers; before, it is full."""
        n_entries, end_s = len(vms), horizon_s(instance)
        # A day that goes on behind the end of the trace goes on with its beginning.
        first = int(start * n_entries)
        rounds = math.ceil(end_s / self.gap_s / n_entries)
        changed = np.flatnonzero(vms != np.roll(vms, 1))
        refuse_endless_day(self.name, rounds * len(changed))
        # Entries that differ from the one before them, counted from the first of the day; and that first one itself.
        turned = np.sort((changed - first) % n_entries)
        entries = (n_entries * np.arange(rounds if len(turned) else 0)[:, None] + turned).ravel()
        entries = np.concatenate([[0], entries]).astype(np.int64)
        exact_s: FloatArray = entries * np.float64(self.gap_s)
        times_s = np.maximum(whole(exact_s[exact_s < end_s]), instance.boot_overhead_s)
        there = vms[(entries[: len(times_s)] + first) % n_entries]
        last_of_second = np.append(times_s[1:] != times_s[:-1], True)
        times_s, there = times_s[last_of_second], there[last_of_second]
        happens = (there != np.concatenate([[full], there[:-1]])) & (times_s < end_s)
        times_s, there = times_s[happens], there[happens]
        most = int(vms.max())
        if len(there) and there[-1] < most:
            times_s, there = np.append(times_s, end_s), np.append(there, most)
        return times_s, there


def availability_of_document(
    document: Mapping[str, Any],
    source: str,
    one_means: str | None,
    vms_per_one: float | str | None = None,
    *,
    name: str | None = None,
    cloud: CloudName | None = None,
) -> AvailabilityScenario:
    """Make a scenario of the parsed JSON of an availability trace.

    Parameters
    ----------
    document : mapping
        With ``gap_seconds``, at the top or inside ``metadata``, and ``data``: an array of whole numbers for all spot
        types together, or an object of VM type to such arrays, all of the same length. Other keys are not looked at.
    source : str
        Name of the document in messages.
    one_means : {"available", "preempted"}
        What a 1 means. There is no default: published traces have both, and the wrong one turns them upside down.
    vms_per_one : float or "all", optional
        How many VMs a 1 is; see `AvailabilityScenario`. If absent, ``all`` in a trace of 0 and 1 only, and 1 in others.
    name : str, optional
        What the scenario is called; as its source if absent.
    cloud : str, optional
        Whose rules hold.

    Raises
    ------
    InputError
        With everything that is wrong in the trace, or if it is not said what a 1 means.
    """
    # Public traces write 1 for an available VM or for a preempted one: a wrong guess would turn every day around.
    if one_means is None:
        raise input_error(source, f"is an availability trace; {_SAY_IT}")
    if one_means not in _MEANINGS:
        raise InputError(source, [Issue("", f"is unknown; {_SAY_IT}", "one_means", one_means)])
    gap_s, issues = _gap_of(document)
    if not _is_scale(vms_per_one):
        rule = f"must be 'all', or a number above 0, at most {_MOST_VMS}: the VMs that a 1 in its data stands for"
        issues.append(Issue("", rule, "vms_per_one", vms_per_one))
    issues += _data_issues(document)
    if issues:
        raise InputError(source, issues)
    data = document["data"]
    # A trace of a single column is one for all types, under the name None.
    columns: dict[str | None, Any] = dict(data) if isinstance(data, dict) else {None: data}
    arrays = {name: np.array(column, dtype=np.int64) for name, column in columns.items()}
    # Entries above 1 are numbers of VMs. With 0 and 1 alone, a 1 says nothing about how many there are.
    if vms_per_one is None:
        vms_per_one = 1.0 if any(column.max() > 1 for column in arrays.values()) else "all"
    by_type = {name: column for name, column in arrays.items() if name is not None}
    scale: VmsPerOne = "all" if vms_per_one == "all" else float(vms_per_one)
    return AvailabilityScenario(name or source, gap_s, by_type or arrays[None], one_means, scale, cloud)


def _is_scale(value: Any) -> bool:
    return value is None or value == "all" or (type(value) in (int, float) and 0 < value <= _MOST_VMS)


def _gap_of(document: Mapping[str, Any]) -> tuple[float, list[Issue]]:
    """Sampling interval of the trace in seconds, and the faults of that field."""
    metadata = document.get("metadata")
    inside = metadata.get("gap_seconds") if isinstance(metadata, dict) else None
    places: dict[str, Any] = {"gap_seconds": document.get("gap_seconds"), "metadata.gap_seconds": inside}
    given = {place: value for place, value in places.items() if value is not None}
    if not given:
        return 0.0, [Issue("", "is missing, here and in metadata", "gap_seconds")]
    low, high = _GAP_LIMITS_S
    issues = [
        Issue("", f"must be a number from {low:g} to {high:.0f}", place, value)
        for place, value in given.items()
        if type(value) not in (int, float) or not low <= value <= high
    ]
    if not issues and len(set(given.values())) > 1:
        rule = f"is not the {show_value(given['metadata.gap_seconds'])} of metadata; leave one of them out"
        issues.append(Issue("", rule, "gap_seconds", given["gap_seconds"]))
    return (0.0 if issues else float(next(iter(given.values())))), issues


def _data_issues(document: Mapping[str, Any]) -> Iterator[Issue]:
    """Faults of the entries of a trace."""
    data = document.get("data")
    if "data" not in document:
        yield Issue("", "is missing", "data")
    elif not isinstance(data, dict):
        yield from _column_issues("data", data)
    else:
        yield from (Issue("data", "is no name of a VM type", value=name) for name in data if not is_name(name))
        yield from (issue for name, column in data.items() for issue in _column_issues(f"data.{name}", column))
        lengths = {name: len(column) for name, column in data.items() if isinstance(column, list)}
        if not data:
            yield Issue("", "must have at least one VM type", "data")
        elif len(set(lengths.values())) > 1:
            shortest, longest = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
            counts = f"{shortest!r} has {lengths[shortest]}, {longest!r} has {lengths[longest]}"
            yield Issue("", f"must have as many entries for each type: {counts}", "data")


def _column_issues(place: str, column: Any) -> list[Issue]:
    """Faults of the entries of a VM type."""
    if not isinstance(column, list):
        expected = "an array of whole numbers" + (", or an object of VM type to such arrays" if place == "data" else "")
        return [Issue("", f"must be {expected}", place, column)]
    if not column:
        return [Issue("", "must not be empty", place)]
    # True is equal to 1, but says something else: that is for one_means alone.
    faults = (
        Issue("", f"must be a whole number of VMs from 0 to {_MOST_VMS}", f"{place}[{index}]", value)
        for index, value in enumerate(column)
        if type(value) not in (int, float) or not 0 <= value <= _MOST_VMS or value != int(value)
    )
    return list(islice(faults, _MOST_FAULTS))
