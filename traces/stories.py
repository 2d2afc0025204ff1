"""The story of a trace, whatever its system."""

from __future__ import annotations

from .bags.story import _Narrator
from .platforms.story import platform_story
from .streams.story import stream_story
from .trace import Trace
from .vm_history import read_history


def describe_trace(trace: Trace) -> list[str]:
    """Tell a replay in order of time; what happens at one moment for one reason is one line.

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
    if trace.of_platform:
        return platform_story(trace)
    if trace.of_stream:
        return stream_story(trace)
    return _Narrator(trace, read_history(trace)).story()
