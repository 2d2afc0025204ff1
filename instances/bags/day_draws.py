"""Random streams and horizon of days that are drawn, and a fast way from drawn moments to a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...core.errors import InputError, Issue, input_error
from .timeline import EventKind, Timeline, TimelineEvent, unchecked_timeline

if TYPE_CHECKING:
    from ...core.quantities import FloatArray, IntArray
    from ..instance import Instance

HORIZON_DEADLINES = 10
"""Events are drawn until so many deadlines after the start of the application; after it nothing changes any more.

A type that is down then, but would resume some day, resumes at the horizon: nothing waits forever because drawing
has stopped. Replays that go on for so long have missed their deadline nine times over.
"""

_LARGEST = 2**63 - 1
_PERIOD = 2**128
_STRIDE = 0x9E3779B97F4A7C15F39CC0605CEDC835
"""Distance from one stream to the next: the golden ratio of the period, as in numpy's ``PCG64.jumped``; with a power of
two, streams would resemble each other."""


def horizon_s(instance: Instance) -> int:
    """Time until which events are drawn."""
    return HORIZON_DEADLINES * instance.deadline_s


def spot_types(instance: Instance) -> list[tuple[int, str]]:
    """Position and name of the VM types that have a spot offer, whether the instance allows the spot market or not."""
    return [(index, vm_type.name) for index, vm_type in enumerate(instance.vm_types) if "spot" in vm_type.offers]


def uniform_numbers(seed: int, day: int, streams: Sequence[int], n: int) -> FloatArray:
    """Return the first numbers of random streams, uniform in [0, 1), shape (n_streams, n).

    A stream depends on nothing but seed, day and its own number.

    Raises
    ------
    InputError
        If the seed or the day is negative or too large.
    """
    for name, value in (("seed", seed), ("day", day)):
        if not 0 <= value <= _LARGEST:
            raise InputError(name, [Issue("", "must be from 0 to 2^63 - 1", value=value)])
    # The day is kept apart from the seed by numpy, so that (1, 2) is neither (2, 1) nor (12, ...). The streams are
    # stretches of one sequence: going there takes a tenth of the time of seeding another.
    source = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(day,)))
    generator = np.random.Generator(source)
    numbers = np.empty((len(streams), n))
    position = 0
    for row, stream in enumerate(streams):
        wanted = stream * _STRIDE
        source.advance((wanted - position) % _PERIOD)
        generator.random(out=numbers[row])
        position = wanted + n  # a number takes one step
    return numbers


def exponential_numbers(seed: int, day: int, streams: Sequence[int], n: int) -> FloatArray:
    """Exponential numbers of mean 1 of random streams, shape (n_streams, n); more of them begin with the same."""
    # One uniform number makes one: numpy's own method takes now one and now more, and has changed before.
    return -np.log1p(-uniform_numbers(seed, day, streams, n))


def sampled_timeline(name: str, type_names: Sequence[str], moments_s: IntArray, meanings: IntArray) -> Timeline:
    """Make a timeline of events of several types.

    Parameters
    ----------
    name : str
        Name of the timeline.
    type_names : sequence of str
        Names of the types.
    moments_s : array of shape (n_events,)
        When, in whole seconds: for each type strictly increasing, interruption and resume in turn. At equal times, what
        comes first here is first.
    meanings : array of shape (n_events,)
        Twice the number of the type, and 1 more for a resume.
    """
    order = np.argsort(moments_s, kind="stable")
    codes = meanings[order].tolist()
    names = [type_name for type_name in type_names for _ in _KINDS]
    kinds = _KINDS * len(type_names)
    columns = moments_s[order].tolist(), map(names.__getitem__, codes), map(kinds.__getitem__, codes)
    return unchecked_timeline(name, map(TimelineEvent, *columns))


_KINDS: tuple[EventKind, EventKind] = ("interrupt", "resume")


MOST_EVENTS = 10_000_000
"""Most events of a day: a guard against traces that would take all memory."""


def refuse_endless_day(source: str, n_events: int) -> None:
    """Refuse a day of too many events before it is made.

    Raises
    ------
    InputError
        If there would be more than `MOST_EVENTS`.
    """
    if n_events > MOST_EVENTS:
        raise input_error(
            source,
            f"would make about {n_events:,} events up to the horizon of {HORIZON_DEADLINES} deadlines, more than "
            f"{MOST_EVENTS:,}; use a larger gap_seconds or a shorter deadline",
        )
