"""Gantt charts of replays: where everything of a hand-made day lies, every format, clear refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bad_day import D_SPOT_S, DEADLINE_S, bad_day, quiet_day

from spotbag.audits.auditor import audit
from spotbag.charts.bags.bag_chart import BOOTING, RENTED, TASKS
from spotbag.charts.bags.replay import (
    HIBERNATED,
    LOST,
    MAX_ARROWS,
    STOLEN,
    TERMINATED,
    UNFINISHED,
    day_chart,
)
from spotbag.charts.chart import Look, Panel
from spotbag.charts.replay import write_replay
from spotbag.core.errors import SpotbagError
from spotbag.traces.trace import Trace
from spotbag.traces.vm_history import read_history

COUNTS = ""
"""Hatching of work that counts."""


def panel_of(trace: Trace) -> Panel:
    """Panel of a day."""
    [panel] = day_chart(trace).panels
    return panel


@pytest.fixture(scope="module")
def panel() -> Panel:
    return panel_of(bad_day())


def _pieces(panel: Panel, task: str) -> list[tuple[str, int | None, float, float, str]]:
    """VM, core, start, end and hatching of each piece of a task."""
    return [
        (panel.lanes[bar.lane].label, bar.row, bar.start_s, bar.end_s, bar.look.hatch)
        for bar in panel.bars
        if bar.name == task
    ]


def _spans(panel: Panel, look: Look, vm: str) -> list[tuple[float, float]]:
    return [(bar.start_s, bar.end_s) for bar in panel.bars if bar.look == look and panel.lanes[bar.lane].label == vm]


@pytest.mark.parametrize("trace", [bad_day(), quiet_day()], ids=["bad", "quiet"])
def test_the_hand_made_days_are_possible(trace: Trace) -> None:
    assert audit(trace).findings == ()


def test_vms_stand_in_order_the_plan_first(panel: Panel) -> None:
    assert [lane.label for lane in panel.lanes] == ["a-1", "a-2", "b-1", "b-2", "c-1", "o-1", "p-1"]
    assert [lane.rows for lane in panel.lanes] == [2] * 7
    assert [limit.time_s for limit in panel.limits] == [D_SPOT_S, DEADLINE_S]
    assert day_chart(bad_day()).end_s == pytest.approx(1.03 * 2530)


def test_a_run_that_goes_on_after_a_resume_is_in_two_pieces_that_both_count(panel: Panel) -> None:
    # 220 s until the hibernation at 250 s, 210 s from the resume at 350 s: 430 s with checkpoints
    assert _pieces(panel, "t#1") == [("a-1", 0, 30, 250, COUNTS), ("a-1", 0, 350, 560, COUNTS)]


def test_work_after_the_last_checkpoint_is_lost(panel: Panel) -> None:
    # 140 s of the run: one checkpoint after 100 s of work and 10 s of dump, 30 s are lost; goes on with 300 s of work
    lost = [("a-1", 0, 560, 670, COUNTS), ("a-1", 0, 670, 700, LOST.hatch)]
    assert _pieces(panel, "t#3") == [*lost, ("b-2", 1, 1000, 1320, COUNTS)]
    assert _pieces(panel, "t#6")[-1] == ("p-1", 0, 1030, 2530, COUNTS)


def test_a_task_that_never_finishes_shows_what_it_did(panel: Panel) -> None:
    assert _pieces(panel, "t#16") == [("c-1", 0, 30, 100, UNFINISHED.hatch)]


def test_a_task_of_two_hibernations_loses_only_what_no_checkpoint_holds() -> None:
    # b-1 as the day has it, but hibernated from 160 to 200 s and from 300 s on: 130 s + 100 s, two checkpoints (220 s)
    trace = bad_day()
    own = [event for event in trace.events if event.get("task") == "t#9" and event["event"] == "start"]
    at = {"record": "event", "vm": "b-1"}
    more = [
        {**at, "t": 160, "event": "hibernate"},
        {**at, "t": 200, "event": "resume"},
        {**at, "t": 300, "event": "hibernate"},
        {"record": "event", "t": 400, "event": "migrate", "task": "t#9", "from": "b-1", "to": "b-2", "kind": "busy"}
        | {"saved": 0.5, "recovered": True},
    ]
    launches = [event for event in trace.events if event["event"] in ("launch", "ready") and event["t"] <= 30]
    panel = panel_of(Trace(trace.instance, trace.run, launches + own + more, trace.end))
    b_1 = [("b-1", 0, 30, 160, COUNTS), ("b-1", 0, 200, 290, COUNTS), ("b-1", 0, 290, 300, LOST.hatch)]
    assert _pieces(panel, "t#9") == b_1


def test_what_vms_do(panel: Panel) -> None:
    assert _spans(panel, BOOTING, "a-1") == [(0, 30)]
    assert _spans(panel, BOOTING, "o-1") == [(1000, 1030)]
    assert _spans(panel, HIBERNATED, "a-1") == [(250, 350), (700, 1100)]
    assert _spans(panel, HIBERNATED, "c-1") == [(100, 2530)]
    assert _spans(panel, RENTED, "a-1") == [(30, 250), (350, 700), (1100, 1430)]
    ends = {panel.lanes[mark.lane].label: mark.time_s for mark in panel.marks if mark.look == TERMINATED}
    assert (ends["b-1"], ends["p-1"]) == (930, 2530)


def test_the_rented_stretches_come_to_the_bill(panel: Panel) -> None:
    trace = bad_day()
    history = read_history(trace)
    cost = sum(
        (bar.end_s - bar.start_s) * history.offer_of(panel.lanes[bar.lane].label).price_usd_per_s
        for bar in panel.bars
        if bar.look == RENTED
    )
    assert cost == pytest.approx(trace.end["cost_usd"])


def test_signs(panel: Panel) -> None:
    def moments(kind: str) -> list[float]:
        return sorted(mark.time_s for mark in panel.marks if mark.look.label == kind)

    assert moments("hibernation") == [100, 250, 250, 700, 700]
    assert moments("resume") == [350, 350, 1100, 1100]
    assert moments("migration trigger") == [1000, 1000, 1800]
    assert moments("migration") == [1000] * 4
    assert moments("steal") == [560]
    assert [int(time) // 10 for time in moments("start from a checkpoint")] == [102, 105, 105]
    texts = [text for mark in panel.marks for text in mark.hover]
    assert "t#6 migrated to new VM: a-2 to p-1 at 1,000 s, saved 25 %, can no longer meet the deadline" in texts


def test_moves_have_an_arrow_for_each_pair_of_vms(panel: Panel) -> None:
    names = [lane.label for lane in panel.lanes]
    arrows = sorted(
        (link.time_s, names[link.origin[0]], names[link.goal[0]], link.goal[1], link.look == STOLEN)
        for link in panel.links
    )
    assert arrows == [
        (560, "a-1", "a-2", 0.8, True),  # t#6
        (1000, "a-1", "b-2", 1.8, False),  # t#3 to the second core
        (1000, "a-1", "o-1", 0.8, False),  # t#4 and t#5
        (1000, "a-2", "p-1", 0.8, False),  # t#6
    ]
    assert all(link.origin[1] == 1 for link in panel.links)  # the middle of two cores
    bends = sorted((link.bend_s, abs(link.goal[0] - link.origin[0])) for link in panel.links if link.time_s == 1000)
    assert [lanes for _, lanes in bends] == [3, 5, 5]  # the longer ones bend more
    assert len(dict(bends)) == 3


def test_categories(panel: Panel) -> None:
    kinds = {bar.name: bar.look.label for bar in panel.bars if bar.look in TASKS}
    assert (kinds["t#1"], kinds["t#5"], kinds["t#6"]) == ("spot", "on-demand", "burstable, baseline")


def test_svg_describes_the_day(tmp_path: Path) -> None:
    path = tmp_path / "day.svg"
    write_replay(bad_day(), path)
    text = path.read_text(encoding="utf-8")
    for part in (
        "tests/bad-day, hads, day 3 (by hand): $0.1372, 1 task unfinished",
        "5 hibernations, 4 resumes, 4 migrations (2 to busy VMs, 2 starting a new VM), 1 steal of 1 task, 3 recoveries",
        "deadline missed (1 task unfinished, 1 task late)",
        "time since the start (s)",
        "VM (one row for each core)",
        "D_spot (1,900 s)",
        "deadline (2,400 s)",
        ">hibernated<",
        "booting",
        "rented, idle",
        "work lost (after the last checkpoint)",
        "work of a task that never finishes",
        "VM terminated",
        "migrated from, to",
        "stolen from, to",
        "migration trigger",
        "start from a checkpoint",
        "t#15",
    ):
        assert part in text, part
    write_replay(bad_day(), tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text(encoding="utf-8") == text


def test_a_quiet_day_shows_no_signs(tmp_path: Path) -> None:
    path = tmp_path / "day.svg"
    write_replay(quiet_day(), path)
    text = path.read_text(encoding="utf-8")
    assert "makespan 460 s" in text
    assert "deadline met (1,940 s to spare)" in text
    for absent in ("hibernated", "migration trigger", "work lost", "stolen from"):
        assert absent not in text


@pytest.mark.parametrize(("name", "magic"), [("d.png", b"\x89PNG"), ("d.PDF", b"%PDF")])
def test_pictures_are_written(tmp_path: Path, name: str, magic: bytes) -> None:
    for number, trace in enumerate((bad_day(), quiet_day())):
        path = tmp_path / f"{number}{name}"
        write_replay(trace, path)
        assert path.read_bytes().startswith(magic)


def test_the_page_stands_alone_and_describes_pieces_and_moves(tmp_path: Path) -> None:
    path = tmp_path / "day.html"
    write_replay(bad_day(), path)
    text = path.read_text(encoding="utf-8")
    assert "<title>tests/bad-day, hads, day 3" in text
    for part in (
        '"a-1"',
        "piece of a run from 30 to 560 s",
        "work lost (after the last checkpoint)",
        "went on from a checkpoint at 25 %",
        "t#6 stolen: a-1 to a-2 at 560 s",
        "a-1: migration trigger at 1,000 s",
    ):
        assert part in text, part


def test_a_day_of_many_moves_has_no_arrows(tmp_path: Path) -> None:
    trace = bad_day()
    start = [event for event in trace.events if event["t"] == 0]
    pairs = [("a-1", "b-1"), ("b-1", "a-1")]
    moves = [
        {"record": "event", "t": 40 + number, "event": "steal", "task": "t#1", "from": source, "to": target}
        for number in range(MAX_ARROWS + 1)
        for source, target in [pairs[number % 2]]
    ]
    busy = Trace(trace.instance, trace.run, start + moves, trace.end)
    for name in ("day.svg", "day.html"):
        write_replay(busy, tmp_path / name)
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "stolen from, to" not in text
        assert "steal" in text


def test_awkward_names_appear(tmp_path: Path) -> None:
    trace = quiet_day()
    name = "a $b$ <c> & _d_"
    instance = trace.instance | {"name": name, "tasks": [trace.instance["tasks"][0] | {"id": name}]}
    events = [event | {key: name for key in ("vm", "task") if key in event} for event in trace.events]
    for ending in ("svg", "html", "png"):
        write_replay(Trace(instance, trace.run, events, trace.end), tmp_path / f"day.{ending}")
    picture, page = ((tmp_path / f"day.{ending}").read_text(encoding="utf-8") for ending in ("svg", "html"))
    escaped = "a $b$ &lt;c&gt; &amp; _d_"
    assert f"<title>{escaped}" in page
    assert json.dumps(name)[1:-1].replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026") in page
    assert f">{escaped}, " in picture  # in the title
    assert picture.count(f">{escaped}<") >= 2, "the VM and its task"
    assert (tmp_path / "day.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ({"event": "ready", "vm": "z-9"}, "'z-9'"),
        ({"event": "resume", "vm": "a-1"}, "'a-1'"),
        ({"event": "finish", "vm": "a-1", "core": 0, "task": "t#1"}, "'t#1'"),
        ({"event": "start", "vm": "a-1", "core": 7, "task": "t#1", "duration_s": 9}, "'t#1'"),
        ({"event": "steal", "task": "t#1", "from": "a-1", "to": "z-9"}, "'z-9'"),
        ({"event": "launch", "vm": "z-9", "type": "z.large", "market": "spot"}, "'z.large spot'"),
    ],
)
def test_a_trace_that_contradicts_itself_is_refused(event: dict[str, object], says: str) -> None:
    trace = bad_day()
    events = [*trace.events[:5], {"record": "event", "t": 1, **event}]
    with pytest.raises(SpotbagError, match=f"event 6 of the trace .* at 1 s.*{says}.*audit"):
        read_history(Trace(trace.instance, trace.run, events, trace.end))
