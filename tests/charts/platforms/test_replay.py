"""Pictures of hybrid platforms: what is laid out where, and that it is drawn."""

from __future__ import annotations

import dataclasses
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from bad_day import bad_day
from hand_made_stream_traces import sampled

from spotbag.charts.platforms.bar_labels import job_colours, label_with_room, short_labels
from spotbag.charts.platforms.layout import Move, PlatformBar, PlatformPanel, platform_picture
from spotbag.charts.platforms.replay import save_platform_gantt
from spotbag.core.errors import SpotbagError
from spotbag.instances.platforms.job_draws import draw_malleable_jobs
from spotbag.instances.platforms.platform import Platform
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.replay.platforms.runs import replay_platform_once
from spotbag.traces.trace import Trace

FIRST, HUMBLE, URGENT, HOPELESS, LARGE = range(5)
DEDICATED, ALLOCATED, CLOUD = range(3)


def tiny(policy: str = "money-saving") -> Trace:
    """Trace of the platform that is small enough for a hand."""
    return replay_platform_once(library_platform("tiny/hybrid"), policy)[1]


def panel_of(trace: Trace) -> PlatformPanel:
    """Panel of a single trace."""
    [panel] = platform_picture([trace]).panels
    return panel


def with_sampled_jobs(name: str, number: int, kind: Any, mean_gap_s: float) -> Platform:
    """Platform of the library with jobs."""
    platform = library_platform(name)
    return platform.with_jobs(draw_malleable_jobs(number, kind, 3, max_processors=64, mean_gap_s=mean_gap_s))


def test_bars_lie_in_the_lanes_of_their_resources() -> None:
    panel = panel_of(tiny())
    assert [(lane.id, lane.what) for lane in panel.lanes] == [
        ("dedicated", "2 processors"),
        ("allocated", "2 processors"),
        ("cloud", "2 machines of 2"),
    ]
    assert panel.bars == [
        PlatformBar(FIRST, DEDICATED, [(0, 1), (300, 0)]),
        PlatformBar(HUMBLE, ALLOCATED, [(120, 1), (420, 0)]),
        PlatformBar(LARGE, CLOUD, [(240, 1), (840, 0)], row=0),
        PlatformBar(LARGE, CLOUD, [(240, 1), (840, 0)], row=1),
        PlatformBar(URGENT, DEDICATED, [(300, 1), (720, 0)]),
        PlatformBar(HOPELESS, DEDICATED, [(720, 1), (900, 0)], late=True),
    ]
    assert panel.moves == [Move(HUMBLE, 120, DEDICATED, ALLOCATED)]
    assert panel.end_s == 240 + 3600  # what is paid for is longer than what is used


def test_machines_to_the_end_of_their_hours() -> None:
    cloud = panel_of(tiny()).lanes[CLOUD]
    assert [(vm.row, vm.launched_s, vm.terminated_s, list(vm.hour_ends_s)) for vm in cloud.machines] == [
        (0, 240, 3840, [3840]),
        (1, 240, 3840, [3840]),
    ]


def test_rows_of_machines_are_used_again() -> None:
    jobs = [
        {"id": name, "size_processor_minutes": 60, "arrival_s": at_s, "deadline_s": at_s + 3600, "budget": 1e6}
        for name, at_s in (("a", 0), ("b", 60), ("c", 3700))
    ]
    document = library_platform("tiny/hybrid").to_document() | {"jobs": jobs}
    document["resources"] = [resource for resource in document["resources"] if resource["kind"] == "cloud"]
    platform = Platform.from_document(document, "clouds only")
    [lane] = panel_of(replay_platform_once(platform, "money-saving")[1]).lanes
    assert [(vm.row, vm.launched_s, vm.terminated_s) for vm in lane.machines] == [
        (0, 0, 3600),
        (1, 60, 3660),
        (0, 3700, 7300),
    ]
    assert lane.rows == 2


def test_a_bar_is_as_high_as_what_is_available() -> None:
    steps = [{"from_s": 0, "processors": 2}, {"from_s": 120, "processors": 0}, {"from_s": 240, "processors": 1}]
    document = library_platform("tiny/hybrid").to_document()
    document["resources"] = [document["resources"][1] | {"availability": steps}]
    document["jobs"] = [document["jobs"][0] | {"size_processor_minutes": 5}]
    [bar] = panel_of(replay_platform_once(Platform.from_document(document, "p"), "money-saving")[1]).bars
    assert bar.profile == [(0, 1), (120, 0), (240, 0.5), (300, 0)]


def test_bars_of_a_cluster_have_the_areas_of_their_jobs_and_do_not_overlap() -> None:
    platform = with_sampled_jobs("caron/two-sites", 80, "big", 700)  # for some 16 hours: availability changes
    sizes = [job.size_processor_minutes for job in platform.jobs_by_arrival]
    panel = panel_of(replay_platform_once(platform, "round-robin")[1])
    steps = 0
    for lane, shown in enumerate(panel.lanes):
        bars = [bar for bar in panel.bars if bar.lane == lane]
        assert bars
        for bar, following in pairwise(bars):
            assert shown.cloud or bar.end_s <= following.start_s + 1e-6
        for bar in bars if not shown.cloud else []:
            minutes = [(end - start) / 60 * height for (start, height), (end, _) in pairwise(bar.profile)]
            assert 32 * sum(minutes) == pytest.approx(sizes[bar.job])
            steps += len(minutes) > 1
    assert steps


@pytest.mark.parametrize("policy", ["money-saving", "round-robin"])
def test_what_is_shown_is_what_is_counted(policy: str) -> None:
    platform = with_sampled_jobs("caron/hybrid", 80, "mixed", 60)
    outcome, trace = replay_platform_once(platform, policy)
    panel = panel_of(trace)
    assert len({bar.job for bar in panel.bars}) == 80
    assert len({bar.job for bar in panel.bars if bar.late}) == outcome.late_jobs > 0
    assert len(panel.moves) == outcome.displaced - outcome.stays
    spans = [vm for lane in panel.lanes for vm in lane.machines]
    assert sum(len(vm.hour_ends_s) for vm in spans) == sum(machine.hours for machine in outcome.machines)
    ends = {job.id: job.end_s for job in outcome.jobs}
    jobs = platform_picture([trace]).jobs
    for bar in panel.bars:
        assert ends[jobs[bar.job]] - 60 < bar.end_s <= ends[jobs[bar.job]]


def test_svg_says_what_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "platform.svg"
    save_platform_gantt([tiny(), tiny("time-saving")], path)
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
    save_platform_gantt([tiny(), tiny("time-saving")], tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text(encoding="utf-8") == text


def test_what_does_not_happen_is_not_in_the_legend(tmp_path: Path) -> None:
    document = library_platform("tiny/hybrid").to_document()
    document["jobs"] = document["jobs"][:1]
    trace = replay_platform_once(Platform.from_document(document, "p"), "money-saving")[1]
    save_platform_gantt([trace], tmp_path / "p.svg")
    text = (tmp_path / "p.svg").read_text(encoding="utf-8")
    assert "no machines" in text
    assert "0 of 1 job late, all done" in text
    for part in ("ends late", "pushed out", "paid"):
        assert part not in text, part


@pytest.mark.parametrize(("name", "magic"), [("p.png", b"\x89PNG"), ("p.PDF", b"%PDF"), ("p.svg", b"<?xml")])
def test_pictures_are_written(tmp_path: Path, name: str, magic: bytes) -> None:
    save_platform_gantt([tiny()], tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(magic)


def test_awkward_names_are_drawn(tmp_path: Path) -> None:
    trace = tiny()
    document = trace.instance | {"name": "_a $b$ <c>"}
    document["jobs"] = [document["jobs"][0] | {"id": "$x$ <y>"}, *document["jobs"][1:]]
    events = [event | {"job": "$x$ <y>"} if event.get("job") == "first" else event for event in trace.events]
    save_platform_gantt([Trace(document, trace.run, events, trace.end)], tmp_path / "p.svg")
    text = (tmp_path / "p.svg").read_text(encoding="utf-8")
    assert "_a $b$ &lt;c&gt; seed 0" in text
    assert ">$x$ &lt;y&gt;<" in text


def changed(**change: Any) -> Trace:
    """Trace in which the first start is another one."""
    trace = tiny()
    place = next(index for index, event in enumerate(trace.events) if event["event"] == "start")
    events = [*trace.events[:place], trace.events[place] | change, *trace.events[place + 1 :]]
    return dataclasses.replace(trace, events=events)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"job": "nobody"}, "'nobody'"),
        ({"resource": "nowhere"}, "'nowhere'"),
        ({"resource": "cloud", "vms": ["cloud-9"]}, "'cloud-9'"),
        ({"job": "large"}, "'first'"),  # which finishes without a start
        ({"t": 60}, "'first'"),  # which finishes too early for that
        ({"event": "launch", "vm": "v", "resource": "nowhere"}, "'nowhere'"),
        ({"event": "terminate", "vm": "v"}, "'v'"),
    ],
)
def test_a_trace_that_contradicts_itself_is_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(SpotbagError, match=rf"event \d+ of the trace .* s\): {says}.*audit"):
        platform_picture([changed(**change)])


def test_a_start_while_another_job_has_all_processors_is_refused() -> None:
    trace = tiny()
    events = [
        event | {"t": 240} if event["event"] == "start" and event["job"] == "urgent" else event
        for event in trace.events
    ]
    with pytest.raises(SpotbagError, match="'urgent' is not known, or not in a state"):
        platform_picture([dataclasses.replace(trace, events=events)])


def test_what_is_no_picture_of_a_platform_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpotbagError, match=r"p\.html: a picture of a hybrid platform is \.png, \.svg or \.pdf"):
        save_platform_gantt([tiny()], tmp_path / "p.html")
    with pytest.raises(SpotbagError, match="the folder does not exist"):
        save_platform_gantt([tiny()], tmp_path / "none" / "p.png")
    with pytest.raises(SpotbagError, match="not one on a hybrid platform, but of a plan; write_replay_gantt"):
        save_platform_gantt([bad_day()], tmp_path / "p.png")
    with pytest.raises(SpotbagError, match=r"but of a stream; spotbag\.charts\.streams\.replay draws it"):
        save_platform_gantt([sampled()], tmp_path / "p.png")
    with pytest.raises(SpotbagError, match="at least one replay"):
        save_platform_gantt([], tmp_path / "p.png")
    other = dataclasses.replace(tiny(), instance=tiny().instance | {"name": "another"})
    with pytest.raises(SpotbagError, match="of different platforms or jobs"):
        save_platform_gantt([tiny(), other], tmp_path / "p.png")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most, says in (
        ("MOST_JOBS", 9, "a picture of 10 jobs cannot be read: 9 at most; draw one of fewer jobs or policies"),
        ("MOST_LANES", 5, "a picture of 6 lanes of resources cannot be read: 5 at most; draw one of fewer policies"),
        ("MOST_MACHINES", 3, "a picture of 4 rows of cloud machines cannot be read: 3 at most"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(f"spotbag.charts.platforms.layout.{name}", most)
            with pytest.raises(SpotbagError, match=says):
                platform_picture([tiny(), tiny()])
    assert len(platform_picture([tiny(), tiny()]).panels) == 2


def test_what_has_too_many_machines_names_the_policy_to_leave_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time-saving rents three machines, the other two."""
    traces = [tiny(), tiny("time-saving")]
    monkeypatch.setattr("spotbag.charts.platforms.layout.MOST_MACHINES", 4)
    with pytest.raises(SpotbagError, match=r"5 rows .* 4 at most; leave out time-saving \(which has 3\), or draw one"):
        platform_picture(traces)
    monkeypatch.setattr("spotbag.charts.platforms.layout.MOST_MACHINES", 1)
    with pytest.raises(SpotbagError, match=r"5 rows .* 1 at most; draw one of fewer jobs"):
        platform_picture(traces)


def moved(seconds: int) -> Trace:
    """Trace of the small platform with all jobs later."""
    document = library_platform("tiny/hybrid").to_document()
    later = [
        {key: value + seconds * key.endswith("_s") for key, value in job.items() if key != "id"}
        for job in document["jobs"]
    ]
    document["jobs"] = [job | {"id": old["id"]} for job, old in zip(later, document["jobs"], strict=True)]
    return replay_platform_once(Platform.from_document(document, "later"), "money-saving")[1]


def test_a_picture_begins_with_the_first_arrival(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = platform_picture([moved(28_030)])
    assert (picture.start_s, picture.arrivals_s[0]) == (28_020, 28_030)
    assert "all done by 8.0" in picture.panels[0].title
    save_platform_gantt([moved(28_800)], tmp_path / "p.svg")
    assert re.findall(r">(\d+\.\d+)<", (tmp_path / "p.svg").read_text(encoding="utf-8"))[:2] == ["8.0", "8.2"]


def test_neighbours_have_different_colours() -> None:
    platform = with_sampled_jobs("caron/hybrid", 80, "mixed", 60)
    policies = ("money-saving", "time-saving")
    picture = platform_picture([replay_platform_once(platform, policy)[1] for policy in policies])
    colours = job_colours(picture, 9)
    assert set(colours) == set(range(9))
    compared = equal_in_turns = 0
    for panel in picture.panels:
        for lane in range(len(panel.lanes)):
            for row in range(panel.lanes[lane].rows):
                bars = [bar for bar in panel.bars if (bar.lane, bar.row) == (lane, row)]
                for one, other in pairwise(bars):
                    assert colours[one.job] != colours[other.job]
                    compared += 1
                    equal_in_turns += one.job % 9 == other.job % 9
    assert compared > 80
    assert equal_in_turns


def test_labels_are_shortened() -> None:
    names = ["farm-001-frame", "farm-020-frame"]
    assert short_labels(names) == ["…001…", "…020…"]
    assert short_labels(["one", "two"]) == ["one", "two"]
    assert short_labels(["a-b", "a-b-b"]) == ["a-b", "…b…"]
    assert short_labels(["a-only"]) == ["a-only"]
    assert [label_with_room(names[0], "…001…", room) for room in (14, 13, 5, 4)] == [names[0], "…001…", "…001…", ""]
    assert label_with_room("a" * 9 + "z", "a" * 9 + "z", 7) == "aaa…aaz"


def test_a_missing_plotting_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SpotbagError, match=r"pip install 'spotbag\[plot\]'"):
        save_platform_gantt([tiny()], tmp_path / "p.png")
    assert list(tmp_path.iterdir()) == []


def test_a_single_trace_is_drawn_as_a_list_of_one(tmp_path: Path) -> None:
    save_platform_gantt(tiny(), tmp_path / "single.svg")
    save_platform_gantt([tiny()], tmp_path / "list.svg")
    assert "policy money-saving" in (tmp_path / "single.svg").read_text()
    assert len((tmp_path / "single.svg").read_text()) == len((tmp_path / "list.svg").read_text())
