"""Gantt charts of replays on hybrid platforms, one above the other."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from ...core.errors import SpotbagError
from ...core.record_lists import grouped_by
from ...core.wording import counted, cut_in_the_middle, shortened
from ...instances.platforms.entries import SLOT_S, AllocatedCluster
from ...instances.platforms.platform import Platform
from ...traces.platforms.history import JobSpan, PlatformHistory, ResourceHistory, read_platform_history
from ...traces.trace import Trace
from ..chart import (
    DARK_COLOUR,
    IDLE_COLOUR,
    JOB_COLOURS,
    Bar,
    Chart,
    Lane,
    Link,
    Look,
    Mark,
    Panel,
    job_look,
    late_look,
    stretch,
    told_apart,
)


def job_colours(panels: Sequence[Sequence[JobSpan]], n_jobs: int, n_colours: int) -> list[int]:
    """Return the number of the colour of each job, the same in all panels: in turns, but other than its neighbours'.

    Neighbours follow each other in a row, or lie in rows next to each other at the same time. Where they have all
    colours already, one is given twice.
    """
    neighbours: dict[int, set[int]] = defaultdict(set)
    for panel in panels:
        for one, other in _neighbours(panel):
            neighbours[one].add(other)
            neighbours[other].add(one)
    colours: list[int] = []
    # Greedy, job by job: there are colours enough for all but crowds, where any will do.
    for job in range(n_jobs):
        taken = {colours[other] for other in neighbours[job] if other < job}
        turn = [(job + step) % n_colours for step in range(n_colours)]
        colours.append(next((colour for colour in turn if colour not in taken), turn[0]))
    return colours


def _neighbours(spans: Sequence[JobSpan]) -> Iterator[tuple[int, int]]:
    rows = grouped_by(spans, lambda span: (span.resource, span.row))
    for (resource, row), bars in rows.items():
        beside = [(one, other) for one, other in pairwise(bars)]
        above = [
            (one, other)
            for one in bars
            for other in rows.get((resource, row - 1), ())
            if one.start_s < other.end_s and other.start_s < one.end_s
        ]
        yield from ((one.job, other.job) for one, other in (*beside, *above) if one.job != other.job)


def common_beginning(names: Sequence[str]) -> int:
    """Return the length of the beginning that all names share, up to its last character that is no letter or digit."""
    shared = os.path.commonprefix(names)  # noqa: RUF071 (character by character, as is meant here)
    found = re.match(r".*[^0-9A-Za-z]", shared, re.DOTALL)
    return found.end() if found and len(names) > 1 else 0


def short_labels(names: Sequence[str]) -> list[str]:
    """Return names without what all of them begin and end with."""
    beginning = common_beginning(names)
    end = common_beginning([name[::-1] for name in names])
    return [_without_ends(name, beginning, end) for name in names]


def _without_ends(name: str, beginning: int, end: int) -> str:
    stated = name[beginning : len(name) - end]
    return f"{'…' if beginning else ''}{stated}{'…' if end else ''}" if stated else name


MOST_LANES = 24
MOST_MACHINES = 160
MOST_JOBS = 300
MOST_PERIODS = 10_000
"""Most of each in all panels together: what can still be told apart on a page."""

IDLE_CLUSTER = Look("idle processors of a cluster", IDLE_COLOUR, layer=0.5)
IDLE_MACHINE = Look("idle machine, paid for", "#FFFFFF", "#A9B1BC", hatch="....", layer=0.5)
HOUR_END = Look("end of a paid hour", DARK_COLOUR, sign="|", size=81, width=2.2, layer=3)
LATE = late_look("job that ends late")
ARRIVAL = Look("arrival", DARK_COLOUR, line="-", width=1.3)
PUSHED_OUT = Look(
    "job pushed out of a queue, and where it goes", DARK_COLOUR, sign="D", size=12, line="-", width=1.3, layer=5
)

_DARK_WORDS_ON = frozenset({"#E69F00", "#CC79A7", "#56B4E9", "#B8A800"})
_CLUSTER_IN = 0.74
_MACHINE_IN = 0.19
_CLOUDS_IN = 9.0
"""Height of all machines together; where there are many, rows become narrower."""
_LANE_GAP_IN = 0.13
_ARRIVALS_IN = 0.17
_LONGEST_LABEL = 22
_EDGE = 0.08
_HOUR_S = 3600


def platform_chart(traces: Sequence[Trace]) -> Chart:
    """Lay out the Gantt charts of replays on a hybrid platform.

    Parameters
    ----------
    traces : sequence of Trace
        Replays of the same jobs, at least one; a panel each. The height of a cluster is its processors; a cloud has a
        row for each machine.

    Raises
    ------
    SpotbagError
        If they are of different platforms or jobs, one contradicts itself, or there is more than can be told apart in
        a picture.
    """
    for trace in traces:
        if trace.instance != traces[0].instance:
            raise SpotbagError("the traces are of different platforms or jobs; a picture shows replays of the same")
    platform = Platform.from_document(traces[0].instance, "platform of the trace")
    _refuse_what_is_too_much(len(platform.resources) * len(traces), MOST_LANES, "lanes of resources", "policies")
    _refuse_what_is_too_much(len(platform.jobs) * len(traces), MOST_JOBS, "jobs", "jobs or policies")
    last_s = max(int(trace.end["t"]) for trace in traces)
    clusters = [resource for resource in platform.resources if isinstance(resource, AllocatedCluster)]
    periods = [-(-last_s // cluster.repeat_s) for cluster in clusters if cluster.repeat_s is not None]
    _refuse_what_is_too_much(max(periods, default=0), MOST_PERIODS, "periods of a cluster", "jobs")
    histories = [read_platform_history(platform, trace) for trace in traces]
    rows: Counter[str] = Counter()
    for trace, history in zip(traces, histories, strict=True):
        rows[trace.run["policy"]] += history.machine_rows
    _refuse_too_many_rows(rows)
    jobs = platform.jobs_by_arrival
    looks = _JobLooks([job.id for job in jobs], [history.spans for history in histories])
    arrivals = [Mark(0, job.arrival_s, 0, 1, replace(ARRIVAL, colour=looks.colours[n])) for n, job in enumerate(jobs)]
    # What is shown begins with the minute of the first arrival, also if the clock began long before.
    start_s, end_s = jobs[0].arrival_s // SLOT_S * SLOT_S, max(history.end_s for history in histories)
    row_in = min(_MACHINE_IN, _CLOUDS_IN / max(rows.total(), 1))
    seeds = ", ".join(dict.fromkeys(f"{trace.run['seed']}" for trace in traces))
    panels = [
        Panel(
            _title(trace),
            [Lane("arrivals", 1, _ARRIVALS_IN), *(_lane(entry, row_in) for entry in history.resources)],
            [*_grounds(history, end_s), *looks.bars(history.spans)],
            [*arrivals, *_hour_ends(history), *_origins(history, looks)],
            list(_links(history, looks)),
            gap_in=_LANE_GAP_IN,
        )
        for trace, history in zip(traces, histories, strict=True)
    ]
    return Chart(
        f"{shortened(platform.name, 80)} seed {seeds}: {counted(len(jobs), 'job')}",
        panels,
        _legend(panels),
        start_s - 0.003 * (end_s - start_s),  # what arrives at once is to be seen
        start_s + 1.01 * (end_s - start_s),
        "time of the clock (h), from the first arrival on",
        unit_s=_HOUR_S,
    )


def _refuse_what_is_too_much(number: int, most: int, what: str, fewer: str) -> None:
    if number > most:
        rule = f"cannot be read: {most:,} at most; draw one of fewer {fewer}"
        raise SpotbagError(f"a picture of {number:,} {what} {rule}")


def _refuse_too_many_rows(rows: Mapping[str, int]) -> None:
    """Refuse more rows of machines than can be read, and name the policies without which there are few enough."""
    number = sum(rows.values())
    if number <= MOST_MACHINES:
        return
    left_out: list[str] = []
    for policy in sorted(rows, key=lambda policy: -rows[policy]):
        left_out.append(policy)
        if sum(rows[other] for other in rows if other not in left_out) <= MOST_MACHINES:
            break
    if len(left_out) == len(rows):
        way_out = "draw one of fewer jobs"
    else:
        named = ", ".join(f"{policy} (which has {rows[policy]:,})" for policy in left_out)
        way_out = f"leave out {named}, or draw one of fewer jobs"
    raise SpotbagError(
        f"a picture of {number:,} rows of cloud machines cannot be read: {MOST_MACHINES} at most; {way_out}"
    )


def _title(trace: Trace) -> str:
    end, n_jobs = trace.end, len(trace.instance["jobs"])
    late = f"{end['late_jobs']:,} of {counted(n_jobs, 'job')} late"
    if end["late_jobs"]:
        late += f" ({end['delay_s'] / _HOUR_S:,.2f} h in all)"
    last_s = max((event["t"] for event in trace.events if event["event"] == "finish"), default=0)
    policy = shortened(trace.run["policy"], 60)
    return f"policy {policy}: cost {end['cost']:,.0f}, {late}, all done by {last_s / _HOUR_S:,.2f} h"


# ------------------------------------------------------------------ resources


def _lane(entry: ResourceHistory, row_in: float) -> Lane:
    """Lane of a resource, named by what it is."""
    most = entry.most_processors
    if entry.cloud:
        machines = counted(len(entry.machines), "machine")
        what = f"{machines} of {most:,}" if entry.machines else "no machines"
    else:
        varies = isinstance(entry.resource, AllocatedCluster) and len(entry.resource.availability) > 1
        what = f"{'up to ' * varies}{counted(most, 'processor')}"
    label = f"{cut_in_the_middle(entry.resource.id, _LONGEST_LABEL)}\n{what}"
    return Lane(label, entry.rows, row_in if entry.cloud else _CLUSTER_IN)


def _grounds(history: PlatformHistory, end_s: float) -> Iterator[Bar]:
    """Capacities to be drawn: processors of clusters, machines of clouds."""
    for lane, entry in enumerate(history.resources, 1):
        for vm in entry.machines:
            yield Bar(lane, vm.row, stretch(vm.launched_s, vm.terminated_s), IDLE_MACHINE)
        if not entry.cloud:
            yield Bar(lane, 0, (*(step for step in entry.profile if step[0] < end_s), (end_s, 0.0)), IDLE_CLUSTER)


def _hour_ends(history: PlatformHistory) -> Iterator[Mark]:
    for lane, entry in enumerate(history.resources, 1):
        for vm in entry.machines:
            ends_s = told_apart(vm.hour_ends_s)
            yield from (Mark(lane, time_s, vm.row + 0.55, vm.row + 1, HOUR_END) for time_s in ends_s)


# ----------------------------------------------------------------------- jobs


class _JobLooks:
    """Looks of jobs, the same in all panels."""

    def __init__(self, names: Sequence[str], panels: Sequence[Sequence[JobSpan]]) -> None:
        self.names = names
        self.shorts = short_labels(names)
        self.colours = [JOB_COLOURS[number] for number in job_colours(panels, len(names), len(JOB_COLOURS))]

    def bars(self, spans: Sequence[JobSpan]) -> Iterator[Bar]:
        """Bars of jobs."""
        for span in spans:
            colour = self.colours[span.job]
            text = DARK_COLOUR if colour in _DARK_WORDS_ON else "white"
            look = job_look(colour, late=span.late, text=text)
            name, short = self.names[span.job], self.shorts[span.job]
            yield Bar(span.resource + 1, span.row, tuple(span.profile), look, name, short)


def _links(history: PlatformHistory, looks: _JobLooks) -> Iterator[Link]:
    """Arrows of jobs that were pushed out of a queue, from the edge of a lane to that of another."""
    for move in history.moves:
        ends = ((move.origin, move.origin < move.goal), (move.goal, move.origin > move.goal))
        origin, goal = ((place + 1, history.resources[place].rows - _EDGE if below else _EDGE) for place, below in ends)
        yield Link(move.time_s, origin, goal, replace(PUSHED_OUT, colour=looks.colours[move.job]))


def _origins(history: PlatformHistory, looks: _JobLooks) -> Iterator[Mark]:
    for link in _links(history, looks):
        yield Mark(link.origin[0], link.time_s, link.origin[1], link.origin[1], link.look)


def _legend(panels: Sequence[Panel]) -> list[Look]:
    """Entries of the legend: what there is to see."""
    found = {bar.look for panel in panels for bar in panel.bars}
    entries = [job_look(JOB_COLOURS[0], late=False, label="job (nine colours, in the order of arrival)")]
    entries += [LATE] * any(look.hatch == LATE.hatch for look in found)
    entries += [PUSHED_OUT] * any(panel.links for panel in panels)
    entries += [IDLE_CLUSTER] * (IDLE_CLUSTER in found)
    return entries + [IDLE_MACHINE, HOUR_END] * (IDLE_MACHINE in found)
