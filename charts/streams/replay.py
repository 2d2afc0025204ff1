"""Gantt charts of replays of streams, one above the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...core.errors import SpotbagError, show_value
from ...core.record_lists import grouped_by
from ...core.wording import counted, cut_in_the_middle, shortened
from ...traces.trace import Trace
from ...traces.vm_history import read_history
from ..chart import (
    BOOT_COLOUR,
    DARK_COLOUR,
    IDLE_COLOUR,
    JOB_COLOURS,
    Bar,
    Chart,
    Lane,
    Limit,
    Look,
    Mark,
    Panel,
    job_look,
    last_shown_s,
    late_look,
    row_height_in,
    stretch,
    told_apart,
)

LAUNCHING = Look("VM launching", BOOT_COLOUR, layer=0.5)
IDLE = Look("VM idle", IDLE_COLOUR, layer=0.5)
UNUSED = Look("paid for, VM terminated", "#FFFFFF", IDLE_COLOUR, hatch="....", layer=0.5)
BLOCK_END = Look("end of a paid block", DARK_COLOUR, sign="|", size=81, width=2.2, layer=3)
SUSPENDED = Look("task suspended", "#FFFFFF", DARK_COLOUR, 0.9, sign="D", size=50, layer=4)
LATE = late_look("task that ends late")
SUBMITTED = Look("job submitted (in)", "#666666", line=":", layer=2.5)
DUE = Look("job due", "#666666", line="--", layer=2.5)

_LONGEST_LABEL = 16
_LONGEST_LEGEND_LABEL = 40
_LONGEST_LEGEND_NAME = 18
"""Most characters of the name of a job or an application: there is room for two."""


def stream_chart(traces: Sequence[Trace]) -> Chart:
    """Lay out the Gantt charts of replays of a stream.

    Parameters
    ----------
    traces : sequence of Trace
        Replays of one stream, at least one; a panel each.

    Raises
    ------
    SpotbagError
        If they are of different jobs, or one contradicts itself.
    """
    for trace in traces:
        if trace.run["jobs"] != traces[0].run["jobs"]:
            raise SpotbagError("the traces are of different streams; a picture shows replays of one")
    jobs: Sequence[Mapping[str, Any]] = traces[0].run["jobs"]
    limits = _limits(jobs)
    n_vms = sum(event["event"] == "launch" for trace in traces for event in trace.events)
    panels = [_panel(trace, row_height_in(n_vms), limits) for trace in traces]
    names = list(dict.fromkeys(_run_name(trace) for trace in traces))
    n_tasks = sum(job["n_tasks"] for job in jobs)
    ends = [bar.end_s for panel in panels for bar in panel.bars] + [trace.end["t"] for trace in traces]
    axis_s = 1.01 * last_shown_s(max(ends), [limit.time_s for limit in limits])
    return Chart(
        f"{shortened(', '.join(names), 80)}: {counted(len(jobs), 'job')}, {counted(n_tasks, 'task')}",
        panels,
        _legend(jobs, panels, sum(job["deadline_s"] > axis_s for job in jobs)),
        0,
        axis_s,
        "time since the start of the stream (s)",
        "VM",
    )


def _run_name(trace: Trace) -> str:
    """Stream and seed; the instance has the seed in its name only if it depends on it."""
    seed = f"seed {trace.run['seed']}"
    return f"{str(trace.instance['name']).removesuffix(f' {seed}')} {seed}"


# --------------------------------------------------------------------- panels


def _panel(trace: Trace, height_in: float, limits: list[Limit]) -> Panel:
    history = read_history(trace)
    types = list(dict.fromkeys(vm_type.name for vm_type in history.instance.vm_types))
    lives = sorted(history.vms.values(), key=lambda life: types.index(life.vm_type))
    lane_of = {life.name: lane for lane, life in enumerate(lives)}
    used = list(dict.fromkeys(life.vm_type for life in lives))
    lanes = [Lane(life.name, 1, height_in, used.index(life.vm_type) % 2 == 1) for life in lives]
    bars, marks = [], []
    for lane, life in enumerate(lives):
        end_s = trace.end["t"] if life.end_s is None else life.end_s
        ready_s = end_s if life.ready_s is None else min(life.ready_s, end_s)
        block_ends_s = _block_ends_s(life.launch_s, ready_s, end_s, trace.run["billing"])
        spans = [(life.launch_s, ready_s, LAUNCHING), (ready_s, end_s, IDLE)]
        spans += [(end_s, until_s, UNUSED) for until_s in block_ends_s[-1:]]
        bars += [Bar(lane, None, stretch(start, end), look) for start, end, look in spans if start < end]
        marks += [Mark(lane, time_s, 0.62, 1.0, BLOCK_END) for time_s in block_ends_s]
    # Tasks have no job in a trace but by their order.
    owners = [job for job, entry in enumerate(trace.run["jobs"]) for _ in range(entry["n_tasks"])]
    job_of = dict(zip(history.instance.task_ids, owners, strict=False))  # in the order of the jobs
    for run in history.runs:
        job = job_of.get(run.task)
        if job is None:
            raise SpotbagError(f"{show_value(run.task)} of the trace is a task of no job; 'spotbag audit' says more")
        late = run.ending == "finished" and run.end_s > trace.run["jobs"][job]["deadline_s"]
        look = job_look(_colour(job), late=late)
        bars.append(Bar(lane_of[run.vm], 0, stretch(run.start_s, run.end_s), look, run.task))
        if run.ending == "suspended":
            marks.append(Mark(lane_of[run.vm], run.end_s, 0.5, 0.5, SUSPENDED))
    return Panel(_title(trace), lanes, bars, marks, limits=limits)


def _title(trace: Trace) -> str:
    end = trace.end
    n_tasks = sum(job["n_tasks"] for job in trace.run["jobs"])
    late = f"{end['late_tasks']:,} of {counted(n_tasks, 'task')} late"
    if end["late_tasks"] and "late_s" in end:
        late += f" ({end['late_s']:,} s in all)"
    ends = f"{len(end['unfinished']):,} unfinished" if end["unfinished"] else f"all done at {end['makespan_s']:,} s"
    return f"policy {shortened(trace.run['policy'], 60)}: ${end['cost_usd']:.3f}, {late}, {ends}"


def _block_ends_s(launch_s: float, ready_s: float, end_s: float, billing: Mapping[str, Any]) -> list[float]:
    """Ends of the paid blocks of a VM that are marked; none if it is billed by the second."""
    block_s = billing.get("block_s")
    if block_s is None:
        return []
    # Billed from its request on, or from when it is ready, as the trace says.
    first_s = launch_s if billing.get("from_request") else ready_s
    billed_s = round(end_s - first_s, 6)  # times are whole microseconds
    blocks = max(-(-billed_s // block_s), 1)
    return [first_s + block * block_s for block in told_apart(range(1, int(blocks) + 1))]


# ----------------------------------------------------------------------- jobs


def _colour(job: int) -> str:
    return JOB_COLOURS[job % len(JOB_COLOURS)]


def _limits(jobs: Sequence[Mapping[str, Any]]) -> list[Limit]:
    """Moments at which jobs are submitted and due, with their ids in a tier for each of both."""
    limits = []
    for tier, key, word, look in ((1, "submitted_s", "in", SUBMITTED), (0, "deadline_s", "due", DUE)):
        moments = grouped_by(range(len(jobs)), [job[key] for job in jobs].__getitem__)
        for time_s, numbers in sorted(moments.items()):
            colour = _colour(numbers[0]) if len(numbers) == 1 else DARK_COLOUR
            name = f"{_label([jobs[number]['id'] for number in numbers])} {word}"
            limits.append(Limit(time_s, replace(look, colour=colour), name, tier))
    return limits


def _label(names: Sequence[str]) -> str:
    """Jobs of a moment: all of them if there is room, else the first one and how many there are with it."""
    text = ", ".join(names)
    more = f" +{len(names) - 1}" if len(names) > 1 else ""
    return text if len(text) <= _LONGEST_LABEL else cut_in_the_middle(names[0], _LONGEST_LABEL - len(more)) + more


def _legend(jobs: Sequence[Mapping[str, Any]], panels: Sequence[Panel], n_due_later: int) -> list[Look]:
    """Entries of the legend: the jobs, then what else there is to see."""
    colours = [jobs[place :: len(JOB_COLOURS)] for place in range(len(JOB_COLOURS))]
    entries = [
        job_look(colour, late=False, label=_legend_label(of_colour))
        for colour, of_colour in zip(JOB_COLOURS, colours, strict=True)
        if of_colour
    ]
    if any(bar.look.hatch == LATE.hatch for panel in panels for bar in panel.bars):
        entries.append(LATE)
    if any(mark.look == SUSPENDED for panel in panels for mark in panel.marks):
        entries.append(SUSPENDED)
    due = replace(DUE, label=f"{DUE.label} ({n_due_later:,} later than shown)") if n_due_later else DUE
    return [*entries, SUBMITTED, due, LAUNCHING, IDLE, UNUSED, BLOCK_END]


def _legend_label(jobs: Sequence[Mapping[str, Any]]) -> str:
    """Jobs of a colour, with their applications if there is room."""
    text = ", ".join(f"{job['id']} ({job['application']})" for job in jobs)
    if len(text) <= _LONGEST_LEGEND_LABEL:
        return text
    names = [cut_in_the_middle(job["id"], _LONGEST_LEGEND_NAME) for job in jobs]
    if len(jobs) == 1:
        return f"{names[0]} ({cut_in_the_middle(jobs[0]['application'], _LONGEST_LEGEND_NAME)})"
    return shortened(", ".join(names), _LONGEST_LEGEND_LABEL)
