"""Pictures of streams: what is laid out where, and that it is drawn."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from spotbag.charts.chart import JOB_COLOURS, Bar, Panel
from spotbag.charts.replay import write_replay
from spotbag.charts.streams.replay import (
    BLOCK_END,
    IDLE,
    LATE,
    LAUNCHING,
    SUSPENDED,
    UNUSED,
    stream_chart,
)
from spotbag.core.errors import SpotbagError
from spotbag.instances.streams.stream_files import library_stream
from spotbag.replay.streams.runs import replay_stream_once
from spotbag.traces.trace import Trace
from tests.helpers.hand_made_stream_traces import fixed_fleet, given_up, job, sampled


def panel_of(trace: Trace) -> Panel:
    """Panel of a single trace."""
    [panel] = stream_chart([trace]).panels
    return panel


def tasks_of(panel: Panel) -> list[Bar]:
    """Bars of tasks, in the order of their starts."""
    return [bar for bar in panel.bars if bar.name]


def late(bar: Bar) -> bool:
    """Whether a bar is hatched as one that ends late."""
    return bar.look.hatch == LATE.hatch


def spans_of(panel: Panel, vm: str) -> list[tuple[str, float, float]]:
    """What a VM does, and when."""
    lane = [lane.label for lane in panel.lanes].index(vm)
    return [(bar.look.label, bar.start_s, bar.end_s) for bar in panel.bars if bar.lane == lane and not bar.name]


def block_ends_of(panel: Panel, vm: str) -> list[float]:
    """Ends of the blocks of a VM that are paid."""
    lane = [lane.label for lane in panel.lanes].index(vm)
    return [mark.time_s for mark in panel.marks if mark.lane == lane and mark.look == BLOCK_END]


def test_bars_lie_on_their_vms_and_belong_to_their_jobs() -> None:
    panel = panel_of(sampled())
    bars = [
        (bar.name, JOB_COLOURS.index(bar.look.colour), panel.lanes[bar.lane].label, bar.start_s, bar.end_s, late(bar))
        for bar in tasks_of(panel)
    ]
    assert bars == [
        ("a#1", 0, "v1", 15, 135, False),
        ("a#2", 0, "v1", 135, 150, False),
        ("b#1", 1, "v1", 150, 200, False),
        ("b#2", 1, "v2", 165, 195, False),
        ("a#3", 0, "v2", 195, 260, False),
        ("a#2", 0, "v1", 200, 305, False),
        ("c", 2, "v1", 400, 520, True),
    ]
    assert [(mark.lane, mark.time_s) for mark in panel.marks if mark.look == SUSPENDED] == [(0, 150)]


def test_a_task_is_late_only_after_the_deadline_of_its_own_job() -> None:
    trace = sampled()
    for deadline_s, is_late in ((520, False), (519, True)):
        trace.run["jobs"][2]["deadline_s"] = deadline_s
        assert late(tasks_of(panel_of(trace))[-1]) is is_late
    trace.run["jobs"][0]["deadline_s"] = 150  # a#2 is suspended then, and ends later; a#1 is in time
    colour = JOB_COLOURS[0]
    assert [bar.start_s for bar in tasks_of(panel_of(trace)) if late(bar) and bar.look.colour == colour] == [195, 200]


def test_vms_from_request_to_end_with_the_blocks_that_are_paid() -> None:
    panel = panel_of(sampled())
    assert [lane.label for lane in panel.lanes] == ["v1", "v2"]
    assert spans_of(panel, "v1") == [(LAUNCHING.label, 0, 15), (IDLE.label, 15, 520), (UNUSED.label, 520, 600)]
    assert block_ends_of(panel, "v1") == [100, 200, 300, 400, 500, 600]
    assert spans_of(panel, "v2") == [(LAUNCHING.label, 150, 165), (IDLE.label, 165, 350)]
    assert block_ends_of(panel, "v2") == [250, 350]
    assert stream_chart([sampled()]).end_s == 1.01 * 600  # what is paid for is longer than what is used


def test_a_deadline_far_behind_the_end_is_only_counted() -> None:
    trace = sampled()
    for deadline_s, end_s in ((1080, 1080), (1081, 600)):
        trace.run["jobs"][2]["deadline_s"] = deadline_s
        chart = stream_chart([trace])
        assert chart.end_s == 1.01 * end_s
        labels = [look.label for look in chart.legend]
        assert ("job due" in labels, "job due (1 later than shown)" in labels) == (end_s > 600, end_s == 600)


def test_billing_by_the_second_or_from_ready_on() -> None:
    panel = panel_of(fixed_fleet())
    assert [block_ends_of(panel, vm) for vm in ("v1", "v2")] == [[], []]
    trace = fixed_fleet()
    trace.run["billing"]["block_s"] = 100
    assert block_ends_of(panel_of(trace), "v1") == [115, 215, 315]


def test_of_more_blocks_than_can_be_told_apart_the_end_of_the_last_is_marked() -> None:
    # v1 lives from 0 to 520 s. Blocks of half a second are 1,040, which is too many; of 0.52 s, 1,000, which is not.
    trace = sampled()
    for block_s, shown in ((0.5, [520.0]), (1e-5, [520.0])):
        trace.run["billing"]["block_s"] = block_s
        assert block_ends_of(panel_of(trace), "v1") == pytest.approx(shown)
    trace.run["billing"]["block_s"] = 0.52
    assert len(block_ends_of(panel_of(trace), "v1")) == 1000


def test_as_many_ticks_as_blocks_are_billed() -> None:
    stream = library_stream("thai/table2")
    for policy in ("known", "unknown", "xlarge.2"):
        outcome, trace = replay_stream_once(stream, policy, seed=3)
        panel = panel_of(trace)
        types = {event["vm"]: event["type"] for event in trace.events if event["event"] == "launch"}
        for vm_type, blocks in outcome.blocks.items():
            of_type = [vm for vm, its_type in types.items() if its_type == vm_type]
            assert sum(len(block_ends_of(panel, vm)) for vm in of_type) == blocks
        bars = tasks_of(panel)
        assert sum(late(bar) for bar in bars) == outcome.late_tasks
        assert sum(mark.look == SUSPENDED for mark in panel.marks) == outcome.suspensions
        assert sum(bar.end_s - bar.start_s for bar in bars) == outcome.busy_s


def test_vms_are_grouped_by_type_in_the_order_of_their_requests() -> None:
    _, trace = replay_stream_once(library_stream("thai/table2"), "known")
    requests = {event["vm"]: (event["type"], event["t"]) for event in trace.events if event["event"] == "launch"}
    panel = panel_of(trace)
    shown = [requests[lane.label] for lane in panel.lanes]
    types = ["m3.medium", "m3.large", "m3.xlarge"]
    assert shown == sorted(shown, key=lambda request: (types.index(request[0]), request[1]))
    found = list(dict.fromkeys(vm_type for vm_type, _ in shown))
    assert len(found) > 1
    assert [lane.shaded for lane in panel.lanes] == [found.index(vm_type) % 2 == 1 for vm_type, _ in shown]


def test_what_never_ends_and_who_was_never_ready() -> None:
    trace = given_up()
    assert "1 unfinished" in panel_of(trace).title
    cut = panel_of(Trace(trace.instance, trace.run, trace.events[:5], trace.end | {"t": 60}))
    [bar] = tasks_of(cut)
    assert (bar.end_s, late(bar)) == (60, False)
    assert not any(mark.look == SUSPENDED for mark in cut.marks)
    asked = panel_of(Trace(trace.instance, trace.run, trace.events[:3], trace.end | {"t": 7}))
    assert spans_of(asked, "v1") == [(LAUNCHING.label, 0, 7), (UNUSED.label, 7, 100)]
    assert block_ends_of(asked, "v1") == [100]


def test_a_task_of_no_job_is_refused() -> None:
    trace = sampled()
    trace.run["jobs"].pop()
    with pytest.raises(SpotbagError, match="'c' of the trace is a task of no job"):
        stream_chart([trace])


def test_svg_says_what_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "stream.svg"
    write_replay([sampled(), sampled()], path)
    text = path.read_text(encoding="utf-8")
    for part in (
        "a stream by hand seed 0: 3 jobs, 6 tasks",
        "policy by-hand: $0.100, 1 of 6 tasks late (20 s in all), all done at 520 s",
        "j2 (probe)",
        ">j3 due<",
        ">v2<",
        "task that ends late",
        "task suspended",
        "job submitted (in)",
        "end of a paid block",
        "time since the start of the stream (s)",
    ):
        assert part in text, part
    assert text.count("policy by-hand") == 2
    assert text.count(">j1 in<") == 2
    write_replay([sampled(), sampled()], tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text(encoding="utf-8") == text


def test_what_does_not_happen_is_not_in_the_legend(tmp_path: Path) -> None:
    path = tmp_path / "stream.svg"
    write_replay(given_up(), path)
    text = path.read_text(encoding="utf-8")
    assert "task that ends late" not in text
    assert "task suspended" not in text


def test_many_jobs_and_awkward_names_appear(tmp_path: Path) -> None:
    trace = sampled()
    trace.run["jobs"][0]["id"] = "_a $b$ <c>"
    later = [job(f"k{number}", 600 + number, 700 + number, 1) for number in range(60)]
    tasks = [trace.instance["tasks"][0] | {"id": entry["id"], "count": 1} for entry in later]
    instance = trace.instance | {"tasks": [*trace.instance["tasks"], *tasks]}
    run = trace.run | {"jobs": [*trace.run["jobs"], *later]}
    write_replay([Trace(instance, run, trace.events, trace.end)], tmp_path / "s.svg")
    text = (tmp_path / "s.svg").read_text(encoding="utf-8")
    assert "_a $b$ &lt;c&gt; in" in text
    assert text.count(" due<") < 20  # names do not lie on each other


def test_jobs_of_one_moment_share_a_label(tmp_path: Path) -> None:
    trace = sampled()
    trace.run["jobs"][1]["deadline_s"] = trace.run["jobs"][0]["deadline_s"]
    write_replay([trace], tmp_path / "s.svg")
    assert ">j1, j2 due<" in (tmp_path / "s.svg").read_text(encoding="utf-8")


def test_long_names_of_jobs_are_distinguished(tmp_path: Path) -> None:
    trace = sampled()
    for number, entry in enumerate(trace.run["jobs"]):
        entry["id"] = f"the-nightly-batch-of-the-laboratory-{number}"
    trace.run["jobs"][1]["deadline_s"] = trace.run["jobs"][0]["deadline_s"]
    write_replay([trace], tmp_path / "s.svg")
    text = (tmp_path / "s.svg").read_text(encoding="utf-8")
    for number in range(3):
        assert f">the-nigh…atory-{number} in<" in text  # 16 characters
        assert f"the-night…ratory-{number} (" in text  # 18
    assert ">the-ni…tory-0 +1 due<" in text


def _changed(event: dict[str, Any]) -> Trace:
    trace = sampled()
    return dataclasses.replace(trace, events=[*trace.events[:6], {"record": "event", "t": 15, **event}])


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ({"event": "ready", "vm": "z"}, "'z'"),
        ({"event": "terminate", "vm": "z"}, "'z'"),
        ({"event": "start", "vm": "v1", "core": 0, "task": "t", "duration_s": 9}, "'t'"),
        ({"event": "finish", "vm": "v1", "core": 0, "task": "a#1"}, "'a#1'"),
        ({"event": "suspend", "vm": "v1", "core": 0, "task": "a#1"}, "'a#1'"),
        ({"event": "launch", "vm": "z", "type": "huge", "market": "on-demand"}, "'huge on-demand'"),
    ],
)
def test_a_trace_that_contradicts_itself_is_refused(event: dict[str, Any], says: str) -> None:
    with pytest.raises(SpotbagError, match=f"event 7 of the trace .* at 15 s.*{says}.*audit"):
        stream_chart([_changed(event)])
