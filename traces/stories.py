"""The story of a trace, whatever its system."""

from __future__ import annotations

from .bags.story import BagNarrator
from .narrator import Narrator
from .platforms.story import PlatformNarrator
from .streams.story import StreamNarrator
from .trace import Trace


def describe_trace(trace: Trace) -> list[str]:
    """Describe a replay in order of time; what happens at one moment for one reason is one line.

    Parameters
    ----------
    trace : Trace
        The replay.

    Returns
    -------
    list of str
        What was replayed; the day, each line beginning with the second; how it ended, with every task that was late
        or never finished and why. Of a stream, the late tasks are counted by job; on a hybrid platform, it is the
        jobs that are followed.

    Raises
    ------
    SpotbagError
        If the trace contradicts itself.
    """
    narrator: type[Narrator] = BagNarrator
    if trace.of_platform:
        narrator = PlatformNarrator
    elif trace.of_stream:
        narrator = StreamNarrator
    return narrator(trace).story()
