"""Pictures of hybrid platforms: what is laid out where, and that it is drawn."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from spotbag.charts.chart import JOB_COLOURS, Panel
from spotbag.charts.platforms.replay import (
    HOUR_END,
    IDLE_CLUSTER,
    IDLE_MACHINE,
    LATE,
    job_colours,
    platform_chart,
    short_labels,
)
from spotbag.charts.replay import write_replay
from spotbag.core.errors import SpotbagError
from spotbag.instances.platforms.platform import Platform
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.replay.platforms.runs import replay_platform_once
from spotbag.traces.platforms.history import read_platform_history
from spotbag.traces.trace import Trace
from tests.helpers.tiny_hybrid_traces import tiny, with_sampled_jobs

ARRIVALS, DEDICATED, ALLOCATED, CLOUD = range(4)


def panel_of(trace: Trace) -> Panel:
    """Panel of a single trace."""
    [panel] = platform_chart([trace]).panels
    return panel


def test_bars_lie_in_the_lanes_of_their_resources() -> None:
    panel = panel_of(tiny())
    assert [lane.label for lane in panel.lanes] == [
        "arrivals",
        "dedicated\n2 processors",
        "allocated\n2 processors",
        "cloud\n2 machines of 2",
    ]
    bars = [(bar.name, bar.lane, bar.row, bar.profile, bar.look.hatch == LATE.hatch) for bar in panel.bars if bar.name]
    assert bars == [
        ("first", DEDICATED, 0, ((0, 1), (300, 0)), False),
        ("humble", ALLOCATED, 0, ((120, 1), (420, 0)), False),
        ("large", CLOUD, 0, ((240, 1), (840, 0)), False),
        ("large", CLOUD, 1, ((240, 1), (840, 0)), False),
        ("urgent", DEDICATED, 0, ((300, 1), (720, 0)), False),
        ("hopeless", DEDICATED, 0, ((720, 1), (900, 0)), True),
    ]
    [link] = panel.links
    assert (link.time_s, link.origin[0], link.goal[0]) == (120, DEDICATED, ALLOCATED)
    assert link.origin[1] > 0.5 > link.goal[1]  # down from the lower edge to the upper one


def test_what_there_is_besides_jobs() -> None:
    panel = panel_of(tiny())
    machines = [(bar.lane, bar.row, bar.start_s, bar.end_s) for bar in panel.bars if bar.look == IDLE_MACHINE]
    assert machines == [(CLOUD, 0, 240, 3840), (CLOUD, 1, 240, 3840)]
    assert [(mark.lane, mark.time_s) for mark in panel.marks if mark.look == HOUR_END] == [(CLOUD, 3840)] * 2
    clusters = [(bar.lane, bar.start_s, bar.end_s) for bar in panel.bars if bar.look == IDLE_CLUSTER]
    assert clusters == [(DEDICATED, 0, 3840), (ALLOCATED, 0, 3840)]
    assert [mark.time_s for mark in panel.marks if mark.lane == ARRIVALS] == [0, 60, 120, 180, 240]


def test_svg_says_what_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "platform.svg"
    write_replay([tiny(), tiny("time-saving")], path)
    text = path.read_text(encoding="utf-8")
    for part in (
        "tiny/hybrid seed 0: 5 jobs",
        "policy money-saving: cost 490, 1 of 5 jobs late (0.12 h in all), all done by 0.25 h",
        "policy time-saving: cost",
        ">arrivals<",
        ">dedicated<",
        ">2 processors<",
        ">2 machines of 2<",
        ">urgent<",
        "job that ends late",
        "job pushed out of a queue, and where it goes",
        "idle machine, paid for",
        "end of a paid hour",
        "idle processors of a cluster",
        "time of the clock (h), from the first arrival on",
    ):
        assert part in text, part
    write_replay([tiny(), tiny("time-saving")], tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text(encoding="utf-8") == text


def test_what_does_not_happen_is_not_in_the_legend(tmp_path: Path) -> None:
    document = library_platform("tiny/hybrid").to_document()
    document["jobs"] = document["jobs"][:1]
    trace = replay_platform_once(Platform.from_document(document, "p"), "money-saving")[1]
    write_replay([trace], tmp_path / "p.svg")
    text = (tmp_path / "p.svg").read_text(encoding="utf-8")
    assert "no machines" in text
    assert "0 of 1 job late, all done" in text
    for part in ("ends late", "pushed out", "paid"):
        assert part not in text, part


def test_awkward_names_appear(tmp_path: Path) -> None:
    trace = tiny()
    document = trace.instance | {"name": "_a $b$ <c>"}
    document["jobs"] = [document["jobs"][0] | {"id": "$x$ <y>"}, *document["jobs"][1:]]
    events = [event | {"job": "$x$ <y>"} if event.get("job") == "first" else event for event in trace.events]
    write_replay([Trace(document, trace.run, events, trace.end)], tmp_path / "p.svg")
    text = (tmp_path / "p.svg").read_text(encoding="utf-8")
    assert "_a $b$ &lt;c&gt; seed 0" in text
    assert ">$x$ &lt;y&gt;<" in text


def test_what_cannot_be_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most, says in (
        ("MOST_JOBS", 9, "a picture of 10 jobs cannot be read: 9 at most; draw one of fewer jobs or policies"),
        ("MOST_LANES", 5, "a picture of 6 lanes of resources cannot be read: 5 at most; draw one of fewer policies"),
        ("MOST_MACHINES", 3, "a picture of 4 rows of cloud machines cannot be read: 3 at most"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(f"spotbag.charts.platforms.replay.{name}", most)
            with pytest.raises(SpotbagError, match=says):
                platform_chart([tiny(), tiny()])
    assert len(platform_chart([tiny(), tiny()]).panels) == 2


def test_more_periods_of_a_cluster_than_can_be_read_are_counted_and_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = tiny()
    [allocated] = [one for one in trace.instance["resources"] if one["kind"] == "allocated"]
    allocated["repeat_s"] = 60  # 64 of them to 3,840 s, when the machines are given back
    assert len(panel_of(trace).lanes) == 4
    monkeypatch.setattr("spotbag.charts.platforms.replay.MOST_PERIODS", 63)
    with pytest.raises(SpotbagError, match="a picture of 64 periods of a cluster cannot be read: 63 at most"):
        platform_chart([trace])


def test_what_has_too_many_machines_names_the_policy_to_leave_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time-saving rents three machines, the other two."""
    traces = [tiny(), tiny("time-saving")]
    monkeypatch.setattr("spotbag.charts.platforms.replay.MOST_MACHINES", 4)
    with pytest.raises(SpotbagError, match=r"5 rows .* 4 at most; leave out time-saving \(which has 3\), or draw one"):
        platform_chart(traces)
    monkeypatch.setattr("spotbag.charts.platforms.replay.MOST_MACHINES", 1)
    with pytest.raises(SpotbagError, match=r"5 rows .* 1 at most; draw one of fewer jobs"):
        platform_chart(traces)


def moved(seconds: int) -> Trace:
    """Trace of the small platform with all jobs later."""
    document = library_platform("tiny/hybrid").to_document()
    later = [
        {key: value + seconds * key.endswith("_s") for key, value in job.items() if key != "id"}
        for job in document["jobs"]
    ]
    document["jobs"] = [job | {"id": old["id"]} for job, old in zip(later, document["jobs"], strict=True)]
    return replay_platform_once(Platform.from_document(document, "later"), "money-saving")[1]


def test_a_picture_begins_with_the_first_arrival(tmp_path: Path) -> None:
    chart = platform_chart([moved(28_030)])
    [panel] = chart.panels
    assert min(mark.time_s for mark in panel.marks if mark.lane == ARRIVALS) == 28_030
    assert 28_020 - 0.01 * (chart.end_s - 28_020) < chart.start_s < 28_020
    assert "all done by 8.0" in panel.title
    write_replay([moved(28_800)], tmp_path / "p.svg")
    assert re.findall(r">(\d+\.\d+)<", (tmp_path / "p.svg").read_text(encoding="utf-8"))[:2] == ["8.0", "8.2"]


def test_neighbours_have_different_colours() -> None:
    platform = with_sampled_jobs("caron/hybrid", 80, "mixed", 60)
    traces = [replay_platform_once(platform, policy)[1] for policy in ("money-saving", "time-saving")]
    panels = [read_platform_history(platform, trace).spans for trace in traces]
    colours = job_colours(panels, 80, 9)
    assert set(colours) == set(range(9))
    compared = equal_in_turns = 0
    for spans in panels:
        rows = {(span.resource, span.row) for span in spans}
        for row in rows:
            for one, other in pairwise([span for span in spans if (span.resource, span.row) == row]):
                assert one.job == other.job or colours[one.job] != colours[other.job]
                compared += 1
                equal_in_turns += one.job % 9 == other.job % 9
    assert compared > 80
    assert equal_in_turns
    names = [job.id for job in platform.jobs_by_arrival]
    for panel in platform_chart(traces).panels:
        for bar in panel.bars:
            assert not bar.name or bar.look.colour == JOB_COLOURS[colours[names.index(bar.name)]]


def test_labels_are_shortened() -> None:
    names = ["farm-001-frame", "farm-020-frame"]
    assert short_labels(names) == ["…001…", "…020…"]
    assert short_labels(["one", "two"]) == ["one", "two"]
    assert short_labels(["a-b", "a-b-b"]) == ["a-b", "…b…"]
    assert short_labels(["a-only"]) == ["a-only"]
