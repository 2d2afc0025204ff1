"""Days and their files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.core.errors import InputError
from spotbag.instances.bags.timeline import (
    QUIET,
    Timeline,
    TimelineDocument,
    TimelineEvent,
    event_documents,
    format_timeline,
    parse_timeline,
    read_timeline,
    timeline_schema,
    write_timeline,
)
from spotbag.instances.clouds import CLOUDS

ROOT = Path(__file__).parents[3]
VALIDATOR = jsonschema.Draft202012Validator(json.loads(timeline_schema()))
TYPE_NAMES = ["c3.large", "c4.large", "m5.large"]


def example() -> dict[str, Any]:
    """The example of formats.md."""
    (text,) = re.findall(r"```json timeline\n(.*?)```", (ROOT / "docs" / "formats.md").read_text(), re.DOTALL)
    document: dict[str, Any] = json.loads(text)
    return document


def event(time_s: Any, vm_type: str = "a", kind: Any = "hibernate", **fields: Any) -> TimelineEvent:
    return TimelineEvent(time_s, vm_type, kind, **fields)


@st.composite
def timelines(draw: st.DrawFn) -> Timeline:
    events = []
    for name in TYPE_NAMES:
        times = sorted(draw(st.sets(st.integers(0, 50), max_size=8)))
        events += [event(time_s, name, ("hibernate", "resume")[number % 2]) for number, time_s in enumerate(times)]
    name = draw(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=20))
    return Timeline(tuple(sorted(events, key=lambda event: event.time_s)), name)


def test_a_quiet_day_has_no_events() -> None:
    assert QUIET.events == ()
    assert QUIET.name == "quiet"


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([event(-1)], "timeline 'x': events[0]: time_s -1 must be a whole number of seconds, 0 or more"),
        ([event(1.5)], "events[0]: time_s 1.5 must be a whole number of seconds, 0 or more"),
        ([event(True)], "events[0]: time_s true must be a whole number"),
        ([event(5, kind="explode")], "events[0]: event 'explode' must be one of interrupt, hibernate, stop, terminate"),
        ([event(5), event(4, "b")], "events[1]: time_s 4 must not be before 5, the time of the event before it"),
        ([event(5, kind="resume")], "events[0]: event 'resume' cannot be the first event of type 'a'"),
        (
            [event(5), event(7)],
            "events[1]: event 'hibernate' follows on 'hibernate' at 5 s: type 'a' is down already",
        ),
        ([event(5), event(7, kind="resume"), event(9, kind="resume")], "events[2]: event 'resume' follows on 'resume'"),
        ([event(5, kind="stop"), event(6, kind="terminate")], "follows on 'stop' at 5 s: type 'a' is down already"),
        ([event(5, kind="capacity", vms=0), event(6)], "follows on 'capacity' at 5 s: type 'a' is down already"),
        ([event(5, kind="capacity")], "events[0]: vms null is missing: 'capacity' needs it"),
        ([event(5, kind="price", market="spot")], "usd_per_hour null is missing: 'price' needs it"),
        ([event(5, kind="price", market="spot", usd_per_hour=-1.0)], "usd_per_hour -1 must be a finite number"),
        ([event(5, kind="price", market="bazaar", usd_per_hour=1.0)], "market 'bazaar' must be one of spot, on-demand"),
        ([event(5, share=0.5, vm=1)], "share 0.5 does not go together with 'vm'"),
        ([event(5, share=1.5)], "share 1.5 must be above 0, and at most 1"),
        ([event(5, vm=0)], "vm 0 must be a whole number, 1 or more"),
        ([event(5, notice_s=-1)], "notice_s -1 must be a whole number, 0 or more"),
        ([event(5, kind="capacity", vms=1, by="melt")], "by 'melt' must be one of interrupt"),
        ([event(5, kind="resume", share=0.5)], "share 0.5 does not belong to 'resume'"),
        (
            [event(5), event(5, kind="resume")],
            "events[1]: time_s 5 is also the time of events[0]; two events of type 'a' need different times",
        ),
    ],
)
def test_what_is_no_day_is_refused(events: list[TimelineEvent], said: str) -> None:
    with pytest.raises(InputError) as caught:
        Timeline(tuple(events), "x")
    assert said in str(caught.value)
    assert len(caught.value.issues) == 1


def test_single_vms_shares_and_prices_come_whenever_they_like() -> None:
    events = (
        event(5, kind="interrupt", vm=2),
        event(5, kind="terminate", share=0.5, notice_s=120),
        event(5, kind="price", market="spot", usd_per_hour=0.02),
        event(5),
        event(6, kind="capacity", vms=3, by="stop", notice_s=30),
        event(7, kind="stop"),
        event(7, kind="resume", vm=2),
        event(8, kind="resume"),
    )
    timeline = Timeline(events)
    assert parse_timeline(format_timeline(timeline)).events == events
    VALIDATOR.validate(json.loads(format_timeline(timeline)))


def test_a_day_on_a_cloud_says_what_the_cloud_does() -> None:
    day = Timeline(
        (
            event(5, kind="interrupt"),
            event(6, kind="interrupt", vm=1, notice_s=7),
            event(7, kind="stop", vm=1, notice_s=0),
            event(8, kind="capacity", vms=1),
            event(9, kind="capacity", vms=1, by="hibernate", notice_s=3),
            event(10, kind="resume"),
        )
    )
    assert day.resolved(CLOUDS["gcp"]).events == (
        event(5, kind="stop", notice_s=30),
        event(6, kind="stop", vm=1, notice_s=7),
        event(7, kind="stop", vm=1),
        event(8, kind="capacity", vms=1, by="stop", notice_s=30),
        event(9, kind="capacity", vms=1, by="hibernate", notice_s=3),
        event(10, kind="resume"),
    )
    papers = day.resolved(CLOUDS["papers"])
    assert papers.events[0] == event(5)
    assert papers.resolved(CLOUDS["gcp"]) is papers


def test_all_faults_are_said_at_once() -> None:
    with pytest.raises(InputError, match="2 errors"):
        Timeline((event(3), event(4), event(5, "b", "resume")))


@given(timelines())
@settings(max_examples=30, deadline=None)
def test_writing_and_reading_gives_the_same_day(timeline: Timeline) -> None:
    text = format_timeline(timeline)
    assert parse_timeline(text) == timeline
    document = json.loads(text)
    assert document["events"] == event_documents(timeline)
    VALIDATOR.validate(document)


def test_files_round_trip(tmp_path: Path) -> None:
    timeline = Timeline((event(600), event(900, kind="resume")), "by hand")
    write_timeline(timeline, tmp_path / "day.json")
    assert read_timeline(tmp_path / "day.json") == timeline


def test_a_name_that_cannot_stand_in_a_file_is_refused() -> None:
    with pytest.raises(InputError, match="name '' must not be empty"):
        format_timeline(Timeline((), ""))


def test_the_example_of_the_documentation_is_written_as_it_stands_there() -> None:
    timeline = parse_timeline(json.dumps(example()))
    assert format_timeline(timeline) in (ROOT / "docs" / "formats.md").read_text()
    assert timeline.events[2] == TimelineEvent(1500, "c4.large", "hibernate")


def test_events_may_stand_in_any_order() -> None:
    document = example()
    expected = parse_timeline(json.dumps(document))
    document["events"].reverse()
    assert parse_timeline(json.dumps(document)) == expected


def test_the_shipped_schema_is_that_of_the_model() -> None:
    assert VALIDATOR.schema == TimelineDocument.model_json_schema()
    VALIDATOR.validate(example())
    assert not VALIDATOR.is_valid({"format": "spotbag.timeline/1"})


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("events", 0, "time_s"), -1, "day.json: events[0].time_s -1 must be greater than or equal to 0"),
        (("events", 0, "time_s"), 0.5, "events[0].time_s"),
        (("events", 0, "event"), "halt", "events[0].event 'halt' must be 'interrupt', 'hibernate', 'stop'"),
        (("events", 0, "vm"), 0, "events[0].vm 0 must be greater than or equal to 1"),
        (("events", 1, "vms"), 3, "events[1]: vms 3 does not belong to 'resume'"),
        (("events", 0, "when"), 5, "events[0].when is an unknown key"),
        (("events", 0, "type"), "", "events[0].type '' must not be empty"),
        (("events",), {}, "events (an object) must be an array"),
        (("event",), [], "event is an unknown key (did you mean 'events'?)"),
        (("name",), 7, "name 7 must be a text"),
        (("format",), "spotbag.timeline/9", "is of a version that cannot be read here"),
        (("format",), "spotbag.instance/1", "is not 'spotbag.timeline/1'"),
        (("events", 2, "event"), "resume", "day.json: events[2]: event 'resume' follows on 'resume' at 900 s"),
        (("events", 0, "event"), "resume", "events[0]: event 'resume' cannot be the first event of type 'c4.large'"),
        (("events", 1, "time_s"), 600, "events[1]: time_s 600 is also the time of events[0]"),
        # By time events[2] comes first now, but its place in the file is what the message says.
        (("events", 2, "time_s"), 3, "events[0]: event 'hibernate' follows on 'hibernate' at 3 s"),
    ],
)
def test_faults_of_files_are_said_with_their_place(place: tuple[Any, ...], value: Any, said: str) -> None:
    document = example()
    inside = document
    for part in place[:-1]:
        inside = inside[part]
    inside[place[-1]] = value
    with pytest.raises(InputError) as caught:
        parse_timeline(json.dumps(document), "day.json")
    assert said in str(caught.value)


def test_missing_parts_are_named() -> None:
    with pytest.raises(InputError) as caught:
        parse_timeline('{"format": "spotbag.timeline/1"}')
    assert "events is missing" in str(caught.value)
