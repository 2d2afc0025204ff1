"""Pictures of replays: of plans, of streams, of hybrid platforms."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..core.errors import SpotbagError
from ..core.wording import shortened
from ..traces.trace import Trace
from .bags.replay import day_chart
from .chart import Chart
from .matplotlib_renderer import axes_of_chart
from .picture_files import write_chart
from .platforms.replay import platform_chart
from .streams.replay import stream_chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_replay(trace: Trace, ax: Axes | None = None) -> Axes:
    """Draw a replay onto axes of matplotlib: of a plan, of a stream, or on a hybrid platform.

    Parameters
    ----------
    trace : Trace
        The replay.
    ax : matplotlib.axes.Axes, optional
        Where; axes of a new figure that has room for it if not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with title and legend.

    Raises
    ------
    SpotbagError
        If the trace contradicts itself, there is more in it than can be read, or matplotlib is missing.
    """
    return axes_of_chart(replay_chart([trace]), ax)


def write_replay(traces: Trace | Sequence[Trace], path: str | os.PathLike[str]) -> None:
    """Draw a replay, or several of one stream or of the same jobs on a platform, one above the other, to a file.

    Plans: a row for each core grouped by VM, with hibernations, migrations, steals and recoveries. Streams: a row for
    each VM, tasks in the colours of their jobs. Platforms: a lane for each resource, as high as it has processors.

    Parameters
    ----------
    traces : Trace or sequence of Trace
        The replays; one only if it is of a plan.
    path : path
        Its ending says the format: ``.png``, ``.svg``, ``.pdf``, or ``.html``: a page that fits any screen, zooms, and
        says more of what one points at.

    Raises
    ------
    SpotbagError
        If the format is unknown, the traces cannot be drawn in one picture or contradict themselves, there is more in
        them than can be read, the file cannot be written or a plotting library is missing.
    """
    write_chart(path, replay_chart, [traces] if isinstance(traces, Trace) else traces)


def replay_chart(traces: Sequence[Trace]) -> Chart:
    """Lay out the Gantt charts of replays.

    Parameters
    ----------
    traces : sequence of Trace
        One of a plan; or some of one stream, or of the same jobs on a hybrid platform: a panel each.

    Raises
    ------
    SpotbagError
        If there is no trace, they cannot be drawn in one picture or contradict themselves, or there is more in them
        than can be read.
    """
    if not traces:
        raise SpotbagError("no trace to draw: a picture shows at least one replay")
    kinds = list(dict.fromkeys(map(_kind, traces)))
    if len(kinds) > 1:
        first, second = (next(trace for trace in traces if _kind(trace) == kind) for kind in kinds[:2])
        raise SpotbagError(
            f"the trace of {_name(first)} is one of {kinds[0]}, that of {_name(second)} one of {kinds[1]}: a picture "
            "shows one or the other"
        )
    if traces[0].of_platform:
        return platform_chart(traces)
    if traces[0].of_stream:
        return stream_chart(traces)
    if len(traces) > 1:
        raise SpotbagError(f"{len(traces)} replays of plans: a picture shows one of them")
    return day_chart(traces[0])


def _kind(trace: Trace) -> str:
    return "a hybrid platform" if trace.of_platform else "a stream" if trace.of_stream else "a plan"


def _name(trace: Trace) -> str:
    return repr(shortened(str(trace.instance.get("name")), 60))
