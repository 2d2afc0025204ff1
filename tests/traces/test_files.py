"""Trace files: what is written is read again, and what is no trace is refused with its line."""

from __future__ import annotations

import io
import json
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.audits.findings import RULES
from spotbag.core.errors import InputError, SpotbagError
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.replay.bags.runs import trace_day
from spotbag.solvers.bags.solve import solve
from spotbag.traces.bags.records import BAG_EVENT_RECORDS
from spotbag.traces.files import check_records, parse_traces, read_traces, trace_lines, write_traces
from spotbag.traces.platforms.records import PLATFORM_EVENT_RECORDS
from spotbag.traces.streams.records import STREAM_EVENT_RECORDS
from spotbag.traces.trace import Trace, document_sha256
from tests.helpers import hand_made_stream_traces, hand_made_traces
from tests.helpers.hand_made_platform_traces import moved, rented
from tests.helpers.hand_made_traces import hibernated_and_resumed, recovered, vm


@pytest.mark.parametrize("make", hand_made_traces.ALL)
def test_what_is_written_is_read_again(make: Any, tmp_path: Path) -> None:
    traces = [make(), make()]
    traces[1].run["day"] = 1
    write_traces(tmp_path / "t.jsonl", traces)
    assert read_traces(tmp_path / "t.jsonl") == traces


@pytest.mark.slow
def test_a_trace_in_memory_is_less_than_five_times_as_long_as_its_file() -> None:
    schedule = solve(generate_instance(500, limit=20, d_spot_fraction=0.8, goal="balanced"), "greedy").schedule
    assert schedule is not None
    days = [find_scenario("hads/sc4").day(schedule.instance, seed=0, day=day) for day in range(20)]
    text = "\n".join(trace_lines([trace_day(schedule, "static", day)[1] for day in days]))
    assert len(text) > 2_000_000
    tracemalloc.start()
    traces = parse_traces(text, "t.jsonl")
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < 5 * len(text)
    assert len({id(event["vm"]) for trace in traces for event in trace.events}) == len(
        {event["vm"] for trace in traces for event in trace.events}
    )


def test_a_file_is_lines_and_begins_with_its_header() -> None:
    lines = [json.loads(line) for line in trace_lines([recovered()])]
    assert [line["record"] for line in lines] == ["header", "run"] + ["event"] * 13 + ["end"]
    assert lines[0]["format"] == "spotbag.trace/2"
    assert lines[0]["sha256"] == document_sha256(lines[0]["instance"])
    assert lines[0]["instance"]["name"] == "by hand"
    assert lines[0]["spotbag"]


def test_names_may_hold_any_text(tmp_path: Path) -> None:
    text = "\n".join(trace_lines([hibernated_and_resumed()])).replace('"long"', '"日本 \\u2028 x"')
    with pytest.raises(InputError, match="without line breaks"):  # the ids of an instance hold none
        parse_traces(text, "t")
    lines = [json.loads(line) for line in text.replace("\\u2028", "é").splitlines()]
    lines[0]["sha256"] = document_sha256(lines[0]["instance"])
    traces = parse_traces("\n".join(map(json.dumps, lines)), "t")
    write_traces(tmp_path / "t.jsonl", traces)
    assert read_traces(tmp_path / "t.jsonl") == traces


def test_traces_come_from_standard_input_and_other_line_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = recovered()
    data = "\r\n".join([*trace_lines([trace]), "", ""]).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert read_traces("-") == [trace]


def test_a_file_holds_one_instance(tmp_path: Path) -> None:
    other = recovered()
    other.instance["deadline_s"] += 1
    with pytest.raises(SpotbagError, match="replays of one instance"):
        write_traces(tmp_path / "t.jsonl", [recovered(), other])
    with pytest.raises(SpotbagError, match="no trace to write"):
        write_traces(tmp_path / "t.jsonl", [])
    assert list(tmp_path.iterdir()) == []


def test_a_file_holds_one_platform() -> None:
    with pytest.raises(SpotbagError, match="one platform; 'rented by hand' is another one than 'moved by hand'"):
        list(trace_lines([moved(), rented()]))
    with pytest.raises(SpotbagError, match="one platform; 'moved by hand' is another one than 'by hand'"):
        list(trace_lines([recovered(), moved()]))


def changed(line: int, trace: Trace | None = None, **fields: Any) -> str:
    """The file of a trace with fields of a line changed; None takes a field away."""
    lines = [json.loads(text) for text in trace_lines([trace or recovered()])]
    for key, value in fields.items():
        if value is None:
            del lines[line - 1][key]
        else:
            lines[line - 1][key] = value
    return "\n".join(map(json.dumps, lines))


@pytest.mark.parametrize(
    ("line", "fields", "message"),
    [
        (1, {"format": "spotbag.trace/3"}, "of a version that cannot be read here"),
        (1, {"format": "spotbag.trace/1"}, "line 1: format 'spotbag.trace/1' is of an older version, .* no plan to "),
        (1, {"format": "spotbag.schedule/1"}, "is not 'spotbag.trace/2'"),
        (1, {"sha256": None}, "line 1: sha256 is missing"),
        (1, {"sha256": "0123"}, "line 1: sha256 '0123' is not the digest of the instance, [0-9a-f]{64}: one of the"),
        (1, {"instance": recovered().instance | {"deadline_s": 999}}, "is not the digest of the instance"),
        (1, {"format": None}, '"format" is missing'),
        (1, {"record": "run"}, "line 1: record 'run' must be the header"),
        (1, {"extra": 1}, "line 1: extra is an unknown key"),
        (1, {"instance": []}, "line 1: instance .* must be an object"),
        (1, {"instance": {}}, "format. is missing"),
        (2, {"day": 1.5}, "line 2: day 1.5 must be a whole number"),
        (2, {"policy": None}, "line 2: policy is missing"),
        (2, {"plan": None}, "line 2: plan is missing"),
        (
            2,
            {"plan": [vm("a", "two", "spot", [("long", -1)])]},
            r"line 2: plan\[0\].cores\[0\]\[0\].start_s -1 must be gr",
        ),
        (2, {"plan": [vm("a", "two", "spot")]}, r"line 2: plan\[0\].cores .* must have at least 1 entry"),
        (2, {"record": "event"}, "line 2: a 'event' record cannot follow a 'header' record"),
        (2, {"record": "header"}, "line 2: record 'header' must be one of run, event, end"),
        (2, {"record": ["run"]}, "line 2: record .* must be one of"),
        (2, {"billing": {"first_hour_free": 1, "hibernated_usd_per_gb_hour": 0}}, "must be true or false"),
        (2, {"timeline": {"name": "x", "events": [{"time_s": 1, "type": "two", "event": "nap"}]}}, "must be 'hibern"),
        (3, {"event": "lunch"}, "line 3: event 'lunch' is not known"),
        (3, {"event": None}, "line 3: event is missing"),
        (3, {"event": {}}, "line 3: event .* is not known"),
        (3, {"t": -1}, "line 3: t -1 must be greater than or equal to 0"),
        (3, {"t": True}, "line 3: t true must be a whole number"),
        (3, {"market": "black"}, "line 3: market 'black' must be"),
        (10, {"from": None}, "line 10: from is missing"),
        (10, {"knid": "new"}, r"line 10: knid is an unknown key \(did you mean 'kind'"),
        (10, {"saved": 1.5}, "line 10: saved 1.5 must be less than or equal to 1"),
        (16, {"cost_usd": float("nan")}, "line 16: cost_usd nan must be a finite number"),
        (16, {"migrations": {"idle": 0, "busy": 0}}, "line 16: migrations.new is missing"),
        (16, {"record": "event"}, "line 16: event is missing"),
    ],
)
def test_what_is_no_trace_is_refused_with_its_line(line: int, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_traces(changed(line, **fields), "t.jsonl")


@pytest.mark.parametrize(
    ("line", "fields", "message"),
    [
        (1, {"instance": moved().instance | {"jobs": []}}, "platform of the header: jobs is missing; a replay has"),
        (1, {"instance": moved().instance | {"agents": []}}, "platform of the header: agents .* at least 1 entry"),
        (2, {"estimates": "exact"}, "line 2: estimates is an unknown key"),
        (2, {"rules": {"queue": "priority", "late_jobs": "go"}}, "line 2: rules.late_jobs 'go' must be 'displaced' or"),
        (2, {"displaces": None}, "line 2: displaces is missing"),
        (2, {"job_set": {"kind": "small", "number": 0}}, "line 2: job_set.number 0 must be greater than or equal to 1"),
        (2, {"day": 0}, r"line 2: day is an unknown key \(known: "),
        (3, {"event": "migrate"}, r"'migrate' is not known \(known: submit, place, stay, launch, start, fi"),
        (4, {"end_s": 1.5}, "line 4: end_s 1.5 must be a whole number"),
        (4, {"displaced": "first"}, "line 4: displaced 'first' must be an array"),
        (4, {"cost": -1}, "line 4: cost -1 must be greater than or equal to 0"),
        (18, {"vms": []}, "line 18: vms .* must have at least 1 entry"),
        (28, {"cost": None}, "line 28: cost is missing"),
        (28, {"makespan_s": 1}, "line 28: makespan_s is an unknown key"),
    ],
)
def test_what_is_no_trace_of_a_platform_is_refused_with_its_line(
    line: int, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        parse_traces(changed(line, moved(), **fields), "t.jsonl")


def test_records_of_instances_and_of_platforms_are_not_mixed() -> None:
    trace, other = moved(), recovered()
    with pytest.raises(InputError, match="line 2: day is missing"):
        check_records(Trace(other.instance, trace.run, trace.events, trace.end))
    with pytest.raises(InputError, match="line 2: seed is missing"):
        check_records(Trace(trace.instance, other.run, other.events, other.end))


def test_all_wrong_lines_are_named() -> None:
    text = changed(3, market="black").replace('"core": 0', '"core": -1')
    with pytest.raises(InputError) as raised:
        parse_traces(text, "t.jsonl")
    assert [issue.path for issue in raised.value.issues] == [
        "line 3.market",
        "line 5.core",
        "line 12.core",
        "line 13.core",
    ]


def test_files_that_are_cut_or_broken() -> None:
    lines = list(trace_lines([recovered()]))
    for retained in range(1, len(lines)):
        with pytest.raises(InputError, match="cut short"):
            parse_traces("\n".join(lines[:retained]), "t")
    with pytest.raises(InputError, match=r"line 16: is not JSON: .* in column"):
        parse_traces("\n".join([*lines[:-1], lines[-1][:-3]]), "t")
    with pytest.raises(InputError, match="line 4: gives the key 'vm' more than once"):
        parse_traces("\n".join(lines).replace('"event": "ready",', '"event": "ready", "vm": "a",', 1), "t")
    with pytest.raises(InputError, match="cannot follow a 'end'"):
        parse_traces("\n".join([*lines, lines[-1]]), "t")


def test_the_instance_must_be_valid_and_know_its_d_spot() -> None:
    trace = recovered()
    trace.instance["d_spot_s"] = None
    with pytest.raises(InputError, match="d_spot_s is missing; a replay knows it"):
        parse_traces("\n".join(trace_lines([trace])), "t")
    trace.instance["vm_types"][0]["vcpus"] = 0
    with pytest.raises(InputError, match=r"vm_types\[0\] 'two': vcpus 0 must be greater"):
        parse_traces("\n".join(trace_lines([trace])), "t")


def test_records_made_in_memory() -> None:
    check_records(recovered())
    trace = recovered()
    trace.events[0]["market"] = "black"
    trace.run["day"] = -1
    with pytest.raises(InputError) as raised:
        check_records(trace)
    assert [issue.path for issue in raised.value.issues] == ["line 2.day", "line 3.market"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_nothing_but_an_input_error_comes_of_a_wrong_file(data: st.DataObject) -> None:
    make = data.draw(st.sampled_from([recovered, moved]))
    lines: list[Any] = [json.loads(text) for text in trace_lines([make()])]
    line = data.draw(st.sampled_from(lines))
    key = data.draw(st.sampled_from(sorted(line)))
    line[key] = data.draw(json_values)
    try:
        traces = parse_traces("\n".join(map(json.dumps, lines)), "t")
    except InputError:
        return
    assert isinstance(traces[0], Trace)


def test_the_documents_show_a_trace_and_name_every_rule_and_event() -> None:
    text = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
    section = text.split("## Trace of a replay")[1].split("\n## ")[0]
    lines = [json.loads(line) for line in section.split("```")[1].removeprefix("jsonl\n").strip().split("\n")]
    shown, made = lines[1:], [json.loads(line) for line in trace_lines([recovered()])][1:]
    assert shown == made
    for name, rule in RULES.items():
        assert f"| `{name}` | {rule} |" in section
    for kind, record in [*BAG_EVENT_RECORDS.items(), *STREAM_EVENT_RECORDS.items(), *PLATFORM_EVENT_RECORDS.items()]:
        assert f"`{kind}`" in section
        for key, field in record.model_fields.items():
            assert key == "record" or f"`{field.alias or key}`" in section
    for key in [
        *moved().run,
        *moved().end,
        *hand_made_stream_traces.sampled().run,
        *hand_made_stream_traces.sampled().end,
    ]:
        assert key == "record" or f"`{key}`" in section
