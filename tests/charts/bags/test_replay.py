"""Gantt charts of replays: where everything of a hand-made day lies, every format, clear refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from spotbag import charts
from spotbag.audits.auditor import audit
from spotbag.charts.bags import replay
from spotbag.charts.bags.bag_chart import BOOTING, RENTED, TASKS
from spotbag.charts.bags.replay import (
    CAPACITY,
    DRAINING,
    HIBERNATED,
    LOST,
    MAX_ARROWS,
    PRICE,
    RECLAIMED,
    STOLEN,
    STOPPED,
    TERMINATED,
    UNFINISHED,
    WRITING,
    day_chart,
)
from spotbag.charts.chart import Look, Panel
from spotbag.charts.replay import write_replay
from spotbag.core.errors import SpotbagError
from spotbag.instances.bags.timeline import QUIET
from spotbag.replay.bags.runs import trace_day
from spotbag.schedules.schedule import Schedule
from spotbag.traces.trace import Trace
from spotbag.traces.vm_history import read_history
from tests.helpers.bad_day import D_SPOT_S, DEADLINE_S, bad_day, quiet_day
from tests.helpers.hand_made_cloud_traces import crowded_out, day_of, drained, noticed, preempted
from tests.instances.test_cores import bag as bag_of_cores

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
    write_replay(quiet_day(), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(magic)


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


def test_a_task_on_a_slot_that_its_vm_does_not_have_is_refused() -> None:
    nothing = [0, 0]
    plan = Schedule(bag_of_cores([2, 2]), [0], nothing, [0, 1], nothing, nothing)  # type: ignore[arg-type]
    _, trace = trace_day(plan, "static", QUIET)
    assert {run.core for run in read_history(trace).runs} == {0, 1}  # slots of two of five cores
    for event in trace.events:
        if event.get("task") == "t1":
            event["core"] = 2
    with pytest.raises(SpotbagError, match="'t1'"):
        read_history(trace)


# ------------------------------------------------------------- today's clouds


def _signs(panel: Panel) -> list[tuple[str, float]]:
    return [(mark.look.label, mark.time_s) for mark in panel.marks if not mark.upright]


def _explained(trace: Trace) -> set[str]:
    return {look.label for look in day_chart(trace).legend}


def test_a_vm_that_is_stopped_drains_before_and_boots_again() -> None:
    panel = panel_of(noticed())
    assert _spans(panel, DRAINING, "a") == [(60, 70)]
    assert _spans(panel, STOPPED, "a") == [(70, 200)]
    assert _spans(panel, BOOTING, "a") == [(0, 10), (200, 210)]
    assert _spans(panel, HIBERNATED, "a") == []
    assert _signs(panel)[:2] == [("stop", 70), ("boot after a stop", 200)]
    assert {DRAINING.label, STOPPED.label, "stop", "boot after a stop"} <= _explained(noticed())


@pytest.mark.parametrize(("notice_s", "lost"), [(10, []), (9, [("a", 0, 10, 70, LOST.hatch)])])
def test_what_the_last_checkpoint_holds_is_not_lost(notice_s: int, lost: list[object]) -> None:
    pieces = _pieces(panel_of(noticed(notice_s)), "long")
    assert pieces[:-1] == (lost or [("a", 0, 10, 70, COUNTS)])
    assert pieces[-1][2:] == (210, 420 if notice_s == 10 else 480, COUNTS)


def test_a_vm_that_the_cloud_terminates_ends_with_a_line_of_its_own() -> None:
    panel = panel_of(drained())
    assert _spans(panel, DRAINING, "a") == [(60, 180)]
    ends = {panel.lanes[mark.lane].label: (mark.look, mark.time_s) for mark in panel.marks if mark.upright}
    assert ends == {"a": (RECLAIMED, 180), "c": (TERMINATED, 590)}
    assert ("termination by the cloud", 180) in _signs(panel)
    assert _pieces(panel, "long")[0] == ("a", 0, 10, 180, COUNTS)  # two checkpoints, the last one after 50 s


def test_prices_and_capacities_have_lanes_below_the_vms() -> None:
    panel = panel_of(crowded_out())
    assert [lane.label for lane in panel.lanes] == ["a", "b", "two spot: $ an hour", "two: spot VMs"]
    assert [(*bar.profile[0], bar.end_s, bar.name) for bar in panel.bars if bar.look == PRICE] == [
        (0, pytest.approx(0.725), 150, "$0.3600"),
        (150, 1, 380, "$0.7200"),
    ]
    rooms = [(bar.start_s, bar.end_s, bar.name) for bar in panel.bars if bar.look == CAPACITY]
    assert [room[:2] for room in rooms] == [(0, 100), (100, 200), (200, 380)]
    assert rooms[1][2] == "at most 1"
    assert {PRICE.label, CAPACITY.label} <= _explained(crowded_out())


def test_a_type_that_is_down_has_no_capacity_in_its_lane() -> None:
    trace = crowded_out()
    timeline = trace.run["timeline"]["events"]
    timeline.append({"time_s": 300, "type": "two", "event": "stop", "notice_s": 30})
    names = [bar.name for bar in panel_of(trace).bars if panel_of(trace).lanes[bar.lane].label == "two: spot VMs"]
    assert names[-1] == "none"


def test_preempted_tasks_write_their_checkpoints() -> None:
    panel = panel_of(preempted())
    assert [(bar.start_s, bar.end_s, bar.name) for bar in panel.bars if bar.look == WRITING] == [(60, 70, "long")]
    assert ("preemption", 60) in _signs(panel)
    assert _pieces(panel, "long")[0] == ("a", 0, 10, 70, COUNTS)


def test_the_title_names_the_cloud() -> None:
    chart = day_chart(day_of("gcp", 59, 90, 0.1))
    assert " on gcp, " in chart.title
    assert "1 stop, 1 restart, " in chart.panels[0].title
    assert "hibernation" not in chart.panels[0].title


@pytest.mark.parametrize(
    "trace", [noticed(), drained(), crowded_out(), preempted()], ids=["noticed", "drained", "crowded_out", "preempted"]
)
def test_days_of_todays_clouds_are_drawn(trace: Trace, tmp_path: Path) -> None:
    for name in ("day.svg", "day.html"):
        write_replay(trace, tmp_path / name)
        text = (tmp_path / name).read_text(encoding="utf-8")
        for label in _explained(trace):
            assert label in text


def test_pages_know_the_signs_of_days() -> None:
    script = (Path(charts.__file__).parent / "page.js").read_text(encoding="utf-8")
    outlines = script[script.index("const OUTLINES") : script.index("function sign")]
    for look in replay._SIGNS:
        assert look.sign == "o" or re.search(rf'^  "?{re.escape(look.sign)}"?: ', outlines, re.MULTILINE), look
