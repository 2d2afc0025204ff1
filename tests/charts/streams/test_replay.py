"""Pictures of streams: what is laid out where, and that it is drawn."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest
from bad_day import bad_day
from hand_made_stream_traces import fixed_fleet, given_up, job, sampled

from spotbag.charts.streams.layout import StreamBar, StreamPanel, stream_picture
from spotbag.charts.streams.replay import save_stream_gantt
from spotbag.core.errors import SpotbagError
from spotbag.instances.streams.stream_files import library_stream
from spotbag.replay.streams.runs import replay_stream_once
from spotbag.traces.trace import Trace


def panel_of(trace: Trace) -> StreamPanel:
    """Panel of a single trace."""
    [panel] = stream_picture([trace]).panels
    return panel


def test_bars_lie_on_their_vms_and_belong_to_their_jobs() -> None:
    bars = panel_of(sampled()).bars
    assert bars == [
        StreamBar("a#1", 0, 0, 15, 135),
        StreamBar("a#2", 0, 0, 135, 150, suspended=True),
        StreamBar("b#1", 1, 0, 150, 200),
        StreamBar("b#2", 1, 1, 165, 195),
        StreamBar("a#3", 0, 1, 195, 260),
        StreamBar("a#2", 0, 0, 200, 305),
        StreamBar("c", 2, 0, 400, 520, late=True),
    ]


def test_a_task_is_late_only_after_the_deadline_of_its_own_job() -> None:
    trace = sampled()
    for deadline_s, late in ((520, False), (519, True)):
        trace.run["jobs"][2]["deadline_s"] = deadline_s
        assert panel_of(trace).bars[-1].late is late
    trace.run["jobs"][0]["deadline_s"] = 150  # a#2 is suspended then, and ends later; a#1 is in time
    assert [bar.start_s for bar in panel_of(trace).bars if bar.late and bar.job == 0] == [195, 200]


def test_vms_from_request_to_end_with_the_blocks_that_are_paid() -> None:
    small, large = panel_of(sampled()).rows
    assert (small.name, small.requested_s, small.ready_s, small.end_s) == ("v1", 0, 15, 520)
    assert small.block_ends_s == (100, 200, 300, 400, 500, 600)
    assert (large.name, large.requested_s, large.ready_s, large.end_s) == ("v2", 150, 165, 350)
    assert large.block_ends_s == (250, 350)
    assert panel_of(sampled()).end_s == 600  # what is paid for is longer than what is used


def test_billing_by_the_second_or_from_ready_on() -> None:
    assert [row.block_ends_s for row in panel_of(fixed_fleet()).rows] == [(), ()]
    trace = fixed_fleet()
    trace.run["billing"]["block_s"] = 100
    assert panel_of(trace).rows[0].block_ends_s == (115, 215, 315)


def test_as_many_ticks_as_blocks_are_billed() -> None:
    stream = library_stream("thai/table2")
    for policy in ("known", "unknown", "xlarge.2"):
        outcome, trace = replay_stream_once(stream, policy, seed=3)
        panel = panel_of(trace)
        for vm_type, blocks in outcome.blocks.items():
            assert sum(len(row.block_ends_s) for row in panel.rows if row.vm_type == vm_type) == blocks
        assert sum(bar.late for bar in panel.bars) == outcome.late_tasks
        assert sum(bar.suspended for bar in panel.bars) == outcome.suspensions
        assert sum(bar.end_s - bar.start_s for bar in panel.bars) == outcome.busy_s


def test_vms_are_grouped_by_type_in_the_order_of_their_requests() -> None:
    _, trace = replay_stream_once(library_stream("thai/table2"), "known")
    rows = panel_of(trace).rows
    types = ["m3.medium", "m3.large", "m3.xlarge"]
    assert [row.vm_type for row in rows] == sorted((row.vm_type for row in rows), key=types.index)
    for vm_type in types:
        requests = [row.requested_s for row in rows if row.vm_type == vm_type]
        assert requests == sorted(requests)


def test_what_never_ends_and_who_was_never_ready() -> None:
    trace = given_up()
    assert "1 unfinished" in panel_of(trace).title
    cut = Trace(trace.instance, trace.run, trace.events[:5], trace.end | {"t": 60})
    [bar] = panel_of(cut).bars
    assert (bar.end_s, bar.late, bar.suspended) == (60, False, False)
    asked = Trace(trace.instance, trace.run, trace.events[:3], trace.end | {"t": 7})
    [row] = panel_of(asked).rows
    assert (row.ready_s, row.end_s, row.block_ends_s) == (7, 7, (100,))


def test_svg_says_what_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "stream.svg"
    save_stream_gantt([sampled(), sampled()], path)
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
    save_stream_gantt([sampled(), sampled()], tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text(encoding="utf-8") == text


def test_what_does_not_happen_is_not_in_the_legend(tmp_path: Path) -> None:
    path = tmp_path / "stream.svg"
    save_stream_gantt([given_up()], path)
    text = path.read_text(encoding="utf-8")
    assert "task that ends late" not in text
    assert "task suspended" not in text


@pytest.mark.parametrize(("name", "magic"), [("s.png", b"\x89PNG"), ("s.PDF", b"%PDF"), ("s.svg", b"<?xml")])
def test_pictures_are_written(tmp_path: Path, name: str, magic: bytes) -> None:
    save_stream_gantt([fixed_fleet()], tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(magic)


def test_many_jobs_and_awkward_names_are_drawn(tmp_path: Path) -> None:
    trace = sampled()
    trace.run["jobs"][0]["id"] = "_a $b$ <c>"
    later = [job(f"k{number}", 600 + number, 700 + number, 1) for number in range(60)]
    tasks = [trace.instance["tasks"][0] | {"id": entry["id"], "count": 1} for entry in later]
    instance = trace.instance | {"tasks": [*trace.instance["tasks"], *tasks]}
    run = trace.run | {"jobs": [*trace.run["jobs"], *later]}
    save_stream_gantt([Trace(instance, run, trace.events, trace.end)], tmp_path / "s.svg")
    text = (tmp_path / "s.svg").read_text(encoding="utf-8")
    assert "_a $b$ &lt;c&gt; in" in text
    assert text.count(" due<") < 20  # names do not lie on each other


def test_jobs_of_one_moment_share_a_label(tmp_path: Path) -> None:
    trace = sampled()
    trace.run["jobs"][1]["deadline_s"] = trace.run["jobs"][0]["deadline_s"]
    save_stream_gantt([trace], tmp_path / "s.svg")
    assert ">j1, j2 due<" in (tmp_path / "s.svg").read_text(encoding="utf-8")


def test_long_names_of_jobs_are_told_apart(tmp_path: Path) -> None:
    trace = sampled()
    for number, entry in enumerate(trace.run["jobs"]):
        entry["id"] = f"the-nightly-batch-of-the-laboratory-{number}"
    trace.run["jobs"][1]["deadline_s"] = trace.run["jobs"][0]["deadline_s"]
    save_stream_gantt([trace], tmp_path / "s.svg")
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
        ({"event": "launch", "vm": "z", "type": "huge", "market": "on-demand"}, "'huge'"),
    ],
)
def test_a_trace_that_contradicts_itself_is_refused(event: dict[str, Any], says: str) -> None:
    with pytest.raises(SpotbagError, match=f"event 7 of the trace .* at 15 s.*{says}.*audit"):
        stream_picture([_changed(event)])


def test_what_is_no_picture_of_a_stream_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpotbagError, match=r"s\.html: a picture of a stream is \.png, \.svg or \.pdf"):
        save_stream_gantt([sampled()], tmp_path / "s.html")
    with pytest.raises(SpotbagError, match=r"s\.gif: a picture of a stream is \.png, \.svg or \.pdf$"):
        save_stream_gantt([sampled()], tmp_path / "s.gif")
    with pytest.raises(SpotbagError, match="the folder does not exist"):
        save_stream_gantt([sampled()], tmp_path / "none" / "s.png")
    with pytest.raises(SpotbagError, match="of a plan, not of a stream"):
        save_stream_gantt([bad_day()], tmp_path / "s.png")
    with pytest.raises(SpotbagError, match="at least one replay"):
        save_stream_gantt([], tmp_path / "s.png")
    with pytest.raises(SpotbagError, match="different streams"):
        save_stream_gantt([sampled(), given_up()], tmp_path / "s.png")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_plotting_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SpotbagError, match=r"pip install 'spotbag\[plot\]'"):
        save_stream_gantt([sampled()], tmp_path / "s.png")
    assert list(tmp_path.iterdir()) == []
