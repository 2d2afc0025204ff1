"""Days cut from a trace of when spot VMs were available."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.errors import InputError, Issue, input_error, show_value
from ...core.quantities import BoolArray, is_name, whole
from .day_draws import horizon_s, refuse_endless_day, sampled_timeline, spot_types, uniform_numbers
from .timeline import Timeline

if TYPE_CHECKING:
    from ...core.quantities import FloatArray, IntArray
    from ..instance import Instance

_MEANINGS = "available", "preempted"
_SAY_IT = "say what a 1 in its data means: one_means (--one-means) is 'available' or 'preempted'"

_MOST_FAULTS = 100
_GAP_LIMITS_S = 0.001, 1e9


@dataclass(frozen=True, slots=True, eq=False)
class AvailabilityScenario:
    """Spot VMs are down while a trace says that there are none.

    Entry i of the trace covers the time from ``i * gap_s`` until before ``(i + 1) * gap_s``. Day 0 starts with its
    first entry, the others with one drawn at random; after the last entry the first comes again.

    Attributes
    ----------
    name : str
        Where the trace comes from.
    gap_s : float
        Time that an entry covers; need not be whole.
    available : array of shape (n_entries,), or dict of VM type to such arrays
        Whether there are spot VMs: of all types together, or of each.

    Notes
    -----
    A change of the trace happens at the first whole second that is not before it, outages that then begin and end
    in the same second do not happen, and a type that is down when the first VMs get ready hibernates then. All types
    start with the same entry, so that what happened together happens together.
    """

    name: str
    gap_s: float
    available: BoolArray | Mapping[str, BoolArray]

    @property
    def fixed(self) -> bool:
        """Days begin at different entries."""
        return False

    def day(self, instance: Instance, seed: int, day: int) -> Timeline:
        """Cut out a day; see `Scenario.day`.

        Raises
        ------
        InputError
            If the trace has no data of a type with a spot offer.
        """
        start = float(uniform_numbers(seed, day, [0], 1)[0, 0]) if day else 0.0
        names = [name for _, name in spot_types(instance)]
        moments = [self._moments(self._available(name, instance), start, instance) for name in names]
        if not moments:
            return Timeline((), self.name)
        meanings = [2 * number + np.arange(len(times)) % 2 for number, times in enumerate(moments)]
        name = f"{self.name}, seed {seed}, day {day}"
        return sampled_timeline(name, names, np.concatenate(moments), np.concatenate(meanings))

    def _available(self, type_name: str, instance: Instance) -> BoolArray:
        if not isinstance(self.available, Mapping):
            return self.available
        found = self.available.get(type_name)
        if found is None:
            close = difflib.get_close_matches(type_name, self.available, n=1)
            n_entries = len(next(iter(self.available.values())))
            hint = f"is {close[0]!r} meant?" if close else f"if it is always available, give it {n_entries} entries"
            rule = f"has no entries for the spot type {type_name!r} of the instance {instance.name!r} ({hint})"
            raise InputError(self.name, [Issue("", rule, "data")])
        return found

    def _moments(self, available: BoolArray, start: float, instance: Instance) -> IntArray:
        """Moments at which a type hibernates and resumes in turn, in whole seconds."""
        n_entries, end_s = len(available), horizon_s(instance)
        first = int(start * n_entries)
        rounds = math.ceil(end_s / self.gap_s / n_entries)
        changes = np.flatnonzero(available != np.roll(available, 1))
        refuse_endless_day(self.name, rounds * len(changes))
        # Entries that differ from the one before them, counted from the first of the day; and that first one itself.
        turned = np.sort((changes - first) % n_entries)
        entries = (n_entries * np.arange(rounds if len(turned) else 0)[:, None] + turned).ravel()
        entries = np.concatenate([[0], entries]).astype(np.int64)
        exact_s: FloatArray = entries * np.float64(self.gap_s)
        times_s = np.maximum(whole(exact_s[exact_s < end_s]), instance.boot_overhead_s)
        up = available[(entries[: len(times_s)] + first) % n_entries]
        last_of_second = np.append(times_s[1:] != times_s[:-1], True)
        times_s, up = times_s[last_of_second], up[last_of_second]
        happens = (up != np.concatenate([[True], up[:-1]])) & (times_s < end_s)
        moments: IntArray = times_s[happens]
        if len(moments) % 2 and available.any():
            moments = np.append(moments, end_s)
        return moments


def availability_of_document(document: Mapping[str, Any], source: str, one_means: str | None) -> AvailabilityScenario:
    """Make a scenario of the parsed JSON of an availability trace.

    Parameters
    ----------
    document : mapping
        With ``gap_seconds``, at the top or inside ``metadata``, and ``data``: an array of 0 and 1 for all spot types
        together, or an object of VM type to such arrays, all of the same length. Other keys are not looked at.
    source : str
        Name of the document in messages, and of the scenario.
    one_means : {"available", "preempted"}
        What a 1 means. There is no default: published traces have both, and the wrong one turns them upside down.

    Raises
    ------
    InputError
        With everything that is wrong in the trace, or if it is not said what a 1 means.
    """
    if one_means is None:
        raise input_error(source, f"is an availability trace; {_SAY_IT}")
    if one_means not in _MEANINGS:
        raise InputError(source, [Issue("", f"is unknown; {_SAY_IT}", "one_means", one_means)])
    gap_s, issues = _gap_of(document)
    data = document.get("data")
    columns: dict[str | None, Any] = dict(data) if isinstance(data, dict) else {None: data}
    if "data" not in document:
        issues.append(Issue("", "is missing", "data"))
    elif isinstance(data, dict):
        issues += [Issue("data", "is no name of a VM type", value=name) for name in data if not is_name(name)]
        issues += [issue for name, column in data.items() for issue in _column_issues(f"data.{name}", column)]
        lengths = {name: len(column) for name, column in data.items() if isinstance(column, list)}
        if not data:
            issues.append(Issue("", "must have at least one VM type", "data"))
        elif len(set(lengths.values())) > 1:
            shortest, longest = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
            counts = f"{shortest!r} has {lengths[shortest]}, {longest!r} has {lengths[longest]}"
            issues.append(Issue("", f"must have as many entries for each type: {counts}", "data"))
    else:
        issues += _column_issues("data", data)
    if issues:
        raise InputError(source, issues)
    available = {name: np.array(column) == (one_means == "available") for name, column in columns.items()}
    by_type = {name: column for name, column in available.items() if name is not None}
    return AvailabilityScenario(source, gap_s, by_type or available[None])


def _gap_of(document: Mapping[str, Any]) -> tuple[float, list[Issue]]:
    """Time that an entry covers, and what is wrong with it."""
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


def _column_issues(place: str, column: Any) -> list[Issue]:
    """Say what is wrong with the entries of a type."""
    if not isinstance(column, list):
        expected = "an array of 0 and 1" + (", or an object of VM type to such arrays" if place == "data" else "")
        return [Issue("", f"must be {expected}", place, column)]
    if not column:
        return [Issue("", "must not be empty", place)]
    # True is equal to 1, but says something else: that is for one_means alone.
    faults = (
        Issue("", "must be 0 or 1", f"{place}[{index}]", value)
        for index, value in enumerate(column)
        if type(value) not in (int, float) or value not in (0, 1)
    )
    return list(islice(faults, _MOST_FAULTS))
