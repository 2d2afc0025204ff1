"""The auditor of streams: passes what is right, finds every change of it, and says by how much."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotbag.audits.auditor import audit, audit_traces
from spotbag.audits.findings import RULES
from spotbag.core.errors import InputError
from spotbag.traces.bags.records import BAG_EVENT_RECORDS
from spotbag.traces.files import parse_traces, read_traces, trace_lines, write_traces
from spotbag.traces.streams.records import STREAM_EVENT_RECORDS
from spotbag.traces.trace import Trace
from tests.helpers import hand_made_stream_traces, hand_made_traces
from tests.helpers.audited_traces import (
    Change,
    at,
    demand_findings_of_disorder,
    drop,
    edit,
    ends,
    event,
    found,
    happens,
    not_found,
    put,
    trace_with,
)
from tests.helpers.hand_made_stream_traces import fixed_fleet, given_up, sampled, stream_trace

# ------------------------------------------------------------------ what is right


@pytest.mark.parametrize("make", hand_made_stream_traces.ALL)
def test_what_is_right_passes_and_can_be_written_and_read(make: Callable[[], Trace], tmp_path: Path) -> None:
    trace = make()
    report = audit(trace)
    assert report.findings == ()
    assert report.cost_usd == pytest.approx(trace.end["cost_usd"], rel=1e-12)
    assert report.makespan_s == trace.end["makespan_s"]
    assert sum(report.vm_cost_usd.values()) == pytest.approx(report.cost_usd)
    write_traces(tmp_path / "t.jsonl", [trace])
    assert read_traces(tmp_path / "t.jsonl") == [trace]


def test_a_part_of_a_second_is_paid_as_a_whole_one_in_blocks_of_a_second() -> None:
    tasks = [{"id": "t", "memory_mb": 100, "runtime_s": {"small": 10.3}}]
    events = [
        (0, "submit", {"job": "j"}),
        (0, "launch", {"vm": "v", "type": "small", "market": "on-demand"}),
        (0, "assign", {"vm": "v", "task": "t"}),
        (15, "ready", {"vm": "v"}),
        (15, "start", {"vm": "v", "core": 0, "task": "t", "duration_s": 10.3}),
        (25.3, "finish", {"vm": "v", "core": 0, "task": "t"}),
        (25.3, "terminate", {"vm": "v"}),
    ]
    end = {"on_demand_started": 1, "cost_usd": 0.0026, "blocks": {"small": 26}}
    billing = {"block_s": 1, "from_request": True}
    trace = stream_trace(tasks, [hand_made_stream_traces.job("j", 0, 100, 1)], events, end, **billing)
    report = audit(trace)
    assert report.findings == ()
    assert report.cost_usd == pytest.approx(0.0026)


def test_plans_and_streams_are_audited_side_by_side() -> None:
    traces = [sampled(), hand_made_traces.recovered(), given_up()]
    assert audit_traces(traces) == [audit(trace) for trace in traces]


def test_notes_report_the_late_tasks_of_each_job() -> None:
    assert audit(sampled()).notes == ("j3: 1 of 1 task late for its deadline of 500 s, by up to 20 s",)
    assert audit(given_up()).notes == ("1 task unfinished",)
    trace = sampled()
    trace.run["jobs"][0]["deadline_s"] = 250  # "a#2" and "a#3" finish at 305 and 260
    trace.run["jobs"][1]["deadline_s"] = 194
    trace.end.update({"late_tasks": 5, "late_s": 20 + 55 + 10 + 6 + 1})
    report = audit(trace)
    assert report.findings == ()
    assert report.notes == (
        "j1: 2 of 3 tasks late for its deadline of 250 s, by up to 55 s",
        "j2: 2 of 2 tasks late for its deadline of 194 s, by up to 6 s",
        "j3: 1 of 1 task late for its deadline of 500 s, by up to 20 s",
    )


def test_every_started_block_is_billed_and_at_least_one() -> None:
    for block_s, blocks, cost_usd in ((50, (11, 4), 0.095), (52, (10, 4), 0.0936), (1000, (1, 1), 0.3)):
        trace = sampled()
        trace.run["billing"]["block_s"] = block_s
        trace.end.update({"cost_usd": cost_usd, "blocks": dict(zip(("small", "large"), blocks, strict=True))})
        assert audit(trace).findings == ()
    trace = fixed_fleet()
    trace.run["billing"]["block_s"] = 205  # from ready
    trace.end["blocks"] = {"small": 1, "large": 1}
    assert audit(trace).findings == ()
    trace.run["billing"]["block_s"] = 204
    assert found(trace) == {"figures": 1}  # a block more of each type, and 0.0612 USD
    trace = given_up()
    end = [happens(200, "launch", vm="v2", type="small", market="on-demand"), happens(200, "terminate", vm="v2")]
    trace.events[-1:-1] = end
    trace.end.update({"cost_usd": 0.03, "on_demand_started": 2, "blocks": {"small": 3}})
    assert audit(trace).findings == ()  # no second, but a block


def test_billing_from_the_request_by_the_second() -> None:
    trace = fixed_fleet()
    trace.run["billing"]["from_request"] = True
    trace.end["cost_usd"] = 220 * 0.0003
    event(trace, "block-end")["t"] = 115
    assert found(trace) == {"block-end": 15}  # cycles begin with the bill, too: at 0 s
    del trace.events[at(trace, "block-end")]
    assert found(trace) == {"block-end": 1}  # "v2" is idle from 100 s on
    trace.events.insert(at(trace, "start", 3), happens(100, "block-end", vm="v2"))
    trace.events.insert(at(trace, "finish", 1), happens(200, "block-end", vm="v2"))
    assert audit(trace).findings == ()  # idle at that very moment, and a cycle later


def test_what_is_suspended_as_it_ends_has_nothing_left_to_do() -> None:
    trace = given_up()
    trace.events[5:6] = [
        happens(135, "wake"),
        happens(135, "suspend", vm="v1", core=0, task="a#1"),
        happens(135, "start", vm="v1", core=0, task="a#1", duration_s=0),
        happens(135, "finish", vm="v1", core=0, task="a#1"),
    ]
    trace.end["suspensions"] = 1
    assert audit(trace).findings == ()


def test_a_boot_of_no_time() -> None:
    trace = given_up()
    trace.instance["boot_overhead_s"] = 0
    for entry in trace.events[3:6]:
        entry["t"] -= 15
    trace.end["idle_s"] = 80
    assert audit(trace).findings == ()


# --------------------------------------------------------- every change is found


def changes(trace: Trace) -> Iterator[tuple[str, Trace]]:
    """Small changes of a trace: an event dropped, recorded twice, moved, a field changed."""

    def changed(change: Callable[[Trace], object]) -> Trace:
        other = copy.deepcopy(trace)
        change(other)
        return other

    for index, entry in enumerate(trace.events):
        name = f"{index} {entry['event']} at {entry['t']}"
        ends_vm = entry["event"] == "block-end" and trace.events[index + 1]["event"] == "terminate"
        if not ends_vm:
            yield f"{name} dropped", changed(lambda other, index=index: other.events.pop(index))
        if entry["event"] != "wake":  # a policy may ask for a moment twice
            yield f"{name} twice", changed(lambda other, index=index, entry=entry: other.events.insert(index, entry))
        for shift in (-1, 1):
            if entry["t"] + shift >= 0:
                t = entry["t"] + shift
                yield f"{name} moved by {shift}", changed(lambda other, i=index, t=t: other.events[i].update(t=t))
        for key, value in entry.items():
            if key in ("record", "t", "event") or (entry["event"], key) == ("wake", "vm"):
                continue
            for wrong in other_values(trace, key, value):
                field = {key: wrong}
                yield f"{name} {field}", changed(lambda other, i=index, field=field: other.events[i].update(field))
    for key, value in trace.end.items():
        if key in ("record", "migrations", "unfinished", "blocks"):
            continue
        for wrong in (1,) if value is None else (value + 1, value - 1):
            if wrong >= 0:
                yield f"end {key}={wrong}", changed(lambda other, key=key, wrong=wrong: other.end.update({key: wrong}))
    for vm_type in ("small", "large", "medium"):
        more = trace.end["blocks"] | {vm_type: trace.end["blocks"].get(vm_type, 0) + 1}
        yield f"a block of {vm_type}", changed(lambda other, more=more: other.end.update(blocks=more))
    for listed in ([], ["c"], ["a#1"], ["a#2", "a#2"]):
        if listed != trace.end["unfinished"]:
            yield f"unfinished {listed}", changed(lambda other, listed=listed: other.end.update(unfinished=listed))
    for index, job in enumerate(trace.run["jobs"]):
        later, more = job["submitted_s"] + 1, job["n_tasks"] + 1
        for field in ({"id": "j9"}, {"submitted_s": later}, {"n_tasks": more}, {"deadline_s": 20}):
            yield f"{job['id']} {field}", changed(lambda other, i=index, f=field: other.run["jobs"][i].update(f))
        if len(trace.run["jobs"]) > 1:
            yield f"no {job['id']}", changed(lambda other, index=index: other.run["jobs"].pop(index))


def other_values(trace: Trace, key: str, value: Any) -> list[Any]:
    """Other values of a field of an event."""
    if isinstance(value, int):
        return [value + 1, value - 1] if value else [value + 1]
    others = {
        "vm": {entry["vm"] for entry in trace.events if "vm" in entry} | {"unknown"},
        "task": {entry["task"] for entry in trace.events if "task" in entry} | {"unknown"},
        "type": {"small", "large", "unknown"},
        "market": {"spot", "on-demand"},
        "job": {job["id"] for job in trace.run["jobs"]} | {"unknown"},
    }
    return sorted(others[key] - {value})


@pytest.mark.parametrize("make", hand_made_stream_traces.ALL)
def test_every_change_is_found(make: Callable[[], Trace]) -> None:
    count, missed = not_found(changes(make()))
    assert not missed
    assert count > 70


# ------------------------------------------------------------- one rule at a time


def job_says(number: int, **fields: Any) -> Change:
    """Change a job of the run record."""
    return lambda trace: trace.run["jobs"][number].update(fields)


def instance_says(**fields: Any) -> Change:
    """Change the instance."""
    return lambda trace: trace.instance.update(fields)


def type_says(number: int, **fields: Any) -> Change:
    """Change a VM type."""
    return lambda trace: trace.instance["vm_types"][number].update(fields)


def moved(first: int, last: int, seconds: int) -> Change:
    """Let events happen later, or earlier."""

    def change(trace: Trace) -> None:
        for entry in trace.events[first:last]:
            entry["t"] += seconds

    return change


def swapped(place: int) -> Change:
    """Let an event change places with the next one."""

    def change(trace: Trace) -> None:
        trace.events[place : place + 2] = trace.events[place : place + 2][::-1]

    return change


_SPOT = {"offers": {"spot": {"price_usd_per_hour": 0.72, "limit": 1}}}
_BOTH = {market: {"price_usd_per_hour": 0.72, "limit": 1} for market in ("spot", "on-demand")}
_JOB_9 = hand_made_stream_traces.job("j9", 7, 390, 1)

CASES: dict[str, tuple[Callable[[], Trace], list[Change], dict[str, float]]] = {
    "order: a wake before an arrival": (sampled, [put(9, happens(150, "wake"))], {"order": 1}),
    "order: an arrival before a finish": (sampled, [put(8, happens(135, "wake")), swapped(7)], {"order": 1}),
    "order: a decision of its own accord": (sampled, [drop("wake")], {"order": 1}),
    "order: all decisions but the first launches": (
        fixed_fleet,
        [
            put(2, happens(0, "launch", vm="v3", type="small", market="on-demand"), happens(0, "terminate", vm="v3")),
            ends(on_demand_started=3),
        ],
        {"order": 1},
    ),
    "order: an event of before": (given_up, [moved(6, 7, -66)], {"order": 1, "block-end": 34}),
    "job: late": (sampled, [job_says(1, submitted_s=143)], {"job": 7}),
    "job: out of order": (sampled, [job_says(1, submitted_s=410), job_says(1, deadline_s=450)], {"job": 260}),
    "job: the second before the first": (
        given_up,
        [job_says(0, n_tasks=1), lambda trace: trace.run["jobs"].insert(0, _JOB_9)],
        {"job": 7},
    ),
    "job: never": (
        given_up,
        [
            job_says(0, n_tasks=1),
            lambda trace: trace.run["jobs"].append(hand_made_stream_traces.job("j2", 180, 400, 1)),
        ],
        {"job": 1},
    ),
    "job: twice": (sampled, [put(10, happens(150, "submit", job="j1"))], {"job": 1}),
    "job: of the same name": (sampled, [job_says(1, id="j1")], {"job": 1}),
    "job: unknown": (given_up, [put(1, happens(0, "submit", job="j7"))], {"job": 1}),
    "job: a task before its job": (sampled, [job_says(0, n_tasks=2), job_says(1, n_tasks=3)], {"job": 150}),
    "job: more tasks than there are": (given_up, [job_says(0, n_tasks=5)], {"job": 3}),
    "job: fewer tasks than there are": (given_up, [job_says(0, n_tasks=1)], {"job": 1}),
    "job: due before it arrives": (
        sampled,
        [job_says(1, deadline_s=140), ends(late_tasks=3, late_s=20 + 60 + 55)],
        {"job": 10},
    ),
    "vm: spot": (
        sampled,
        [type_says(1, **_SPOT), edit("launch", 1, market="spot"), ends(on_demand_started=1)],
        {"vm": 1},
    ),
    "vm: a type that there is not": (
        given_up,
        [put(6, happens(135, "launch", vm="v2", type="huge", market="on-demand"))],
        {"vm": 1},
    ),
    "vm: a name that there is": (
        given_up,
        [put(6, happens(135, "launch", vm="v1", type="small", market="on-demand"))],
        {"vm": 1},
    ),
    "vm: woken for none": (fixed_fleet, [edit("wake", vm="v7")], {"vm": 1}),
    "limit: of a market": (fixed_fleet, [instance_says(limits={"max_on_demand": 1})], {"limit": 1}),
    "limit: of a type": (
        fixed_fleet,
        [
            put(3, happens(0, "launch", vm="v3", type="large", market="on-demand"), happens(0, "terminate", vm="v3")),
            ends(on_demand_started=3),
        ],
        {"limit": 1},
    ),
    "limit: markets": (fixed_fleet, [type_says(1, offers=_BOTH), instance_says(markets=["spot"])], {"limit": 1}),
    "ready: early": (given_up, [moved(3, 6, -4), ends(idle_s=69)], {"ready": 4}),
    "ready: never": (
        given_up,
        [
            put(5, happens(135, "wake"), happens(135, "launch", vm="v2", type="small", market="on-demand")),
            put(10, happens(200, "terminate", vm="v2")),
            swapped(6),
            swapped(5),
            ends(on_demand_started=2, cost_usd=0.03, blocks={"small": 3}),
        ],
        {"ready": 50},
    ),
    "state: a start before it is ready": (given_up, [swapped(3)], {"state": 1}),
    "state: a cycle that ends before": (given_up, [put(3, happens(12, "block-end", vm="v1"))], {"state": 1}),
    "state: an end with tasks that wait": (
        given_up,
        [put(7, happens(200, "assign", task="a#2", vm="v1"))],
        {"state": 1},
    ),
    "state: an end with a task that runs": (
        given_up,
        [
            put(
                7,
                happens(200, "assign", task="a#2", vm="v1"),
                happens(200, "start", vm="v1", core=0, task="a#2", duration_s=120),
            )
        ],
        {"state": 120},
    ),
    "state: tasks for a VM that has ended": (
        sampled,
        [put(29, happens(400, "assign", task="c", vm="v2"))],
        {"state": 1},
    ),
    "placement: from the pool": (sampled, [drop("assign", 3)], {"placement": 1}),
    "placement: where it does not wait": (
        sampled,
        [drop("return"), drop("assign", 5), ends(returns=0)],
        {"placement": 1},
    ),
    "placement: a second core": (
        given_up,
        [type_says(0, vcpus=2), edit("start", core=1), edit("finish", core=1)],
        {"placement": 1},
    ),
    "placement: another core": (given_up, [edit("finish", core=1)], {"placement": 1}),
    "placement: suspended on another core": (sampled, [edit("suspend", core=3)], {"placement": 3}),
    "placement: where it cannot run": (
        given_up,
        [lambda trace: trace.instance["tasks"][0]["runtime_s"].pop("small")],
        {"placement": 1},
    ),
    "placement: a mode": (given_up, [edit("start", mode="burst")], {"placement": 1}),
    "core: two tasks": (
        given_up,
        [
            put(
                5,
                happens(100, "wake"),
                happens(100, "assign", task="a#2", vm="v1"),
                happens(100, "start", vm="v1", core=0, task="a#2", duration_s=120),
            ),
            drop("block-end"),
            edit("terminate", t=220),
            put(9, happens(220, "finish", vm="v1", core=0, task="a#2")),
            ends(t=220, makespan_s=220, finished=2, unfinished=[], cost_usd=0.03, blocks={"small": 3}, idle_s=0),
        ],
        {"core": 35, "figures": 35},
    ),
    "run-time: too short": (given_up, [moved(5, 6, -9), ends(idle_s=74)], {"run-time": 9}),
    "run-time: another duration": (given_up, [edit("start", duration_s=117)], {"run-time": 3}),
    "run-time: begun anew after a suspension": (sampled, [edit("start", 5, duration_s=120)], {"run-time": 15}),
    "run-time: goes on elsewhere": (fixed_fleet, [edit("start", 2, duration_s=1)], {"run-time": 64}),
    "run-time: goes on with what was forgotten": (fixed_fleet, [edit("start", 3, duration_s=55)], {"run-time": 65}),
    "run-time: suspended after it was due": (
        given_up,
        [
            moved(5, 6, 7),
            put(
                5,
                happens(142, "wake"),
                happens(142, "suspend", vm="v1", core=0, task="a#1"),
                happens(142, "start", vm="v1", core=0, task="a#1", duration_s=0),
            ),
            ends(suspensions=1, idle_s=58),
        ],
        {"run-time": 7},
    ),
    "saved: a checkpoint": (given_up, [edit("start", saved=0.25)], {"saved": 0.25}),
    "queue: not the first": (sampled, [edit("assign", 3, position=1)], {"queue": 1}),
    "queue: beyond its end": (sampled, [edit("assign", 4, position=3)], {"queue": 3}),
    "queue: twice": (sampled, [put(5, happens(0, "assign", task="a#3", vm="v1"))], {"queue": 1}),
    "queue: what runs": (
        sampled,
        [put(18, happens(180, "wake"), happens(180, "return", task="b#2", vm="v2")), ends(returns=2)],
        {"queue": 1},
    ),
    "queue: what waits elsewhere": (sampled, [edit("return", vm="v2")], {"queue": 1}),
    "idle-while-waiting: for a while": (sampled, [moved(23, 24, 6), moved(25, 26, 6)], {"idle-while-waiting": 6}),
    "idle-while-waiting: until it is recorded otherwise": (
        given_up,
        [
            put(
                6,
                happens(135, "assign", task="a#2", vm="v1"),
                happens(170, "wake"),
                happens(170, "return", task="a#2", vm="v1"),
            ),
            ends(returns=1),
        ],
        {"idle-while-waiting": 35},
    ),
    "idle-while-waiting: to the end": (
        given_up,
        [put(6, happens(135, "assign", task="a#2", vm="v1")), drop("block-end"), put(7, happens(200, "wake"))],
        {"idle-while-waiting": 65, "state": 1},
    ),
    "suspension: what waits": (
        sampled,
        [put(11, happens(150, "suspend", vm="v1", core=0, task="a#3")), ends(suspensions=2)],
        {"suspension": 1},
    ),
    "suspension: what is in the pool": (
        given_up,
        [put(6, happens(135, "suspend", vm="v1", core=0, task="a#2")), ends(suspensions=1)],
        {"suspension": 1},
    ),
    "block-end: off": (
        given_up,
        [moved(6, 8, 3), ends(t=203, cost_usd=0.03, idle_s=68, blocks={"small": 3})],
        {"block-end": 3},
    ),
    "block-end: of a VM that runs": (given_up, [put(5, happens(100, "block-end", vm="v1"))], {"block-end": 1}),
    "block-end: twice": (given_up, [put(6, happens(200, "block-end", vm="v1"))], {"block-end": 1}),
    "block-end: passed": (
        given_up,
        [
            drop("block-end"),
            put(6, happens(207, "wake")),
            moved(7, 8, 7),
            ends(t=207, cost_usd=0.03, idle_s=72, blocks={"small": 3}),
        ],
        {"block-end": 1},
    ),
    "task-once: lost": (given_up, [ends(unfinished=[])], {"task-once": 1}),
    "task-once: finishes twice": (
        given_up,
        [put(6, happens(135, "finish", vm="v1", core=0, task="a#1"))],
        {"task-once": 1},
    ),
    "task-once: runs twice": (
        given_up,
        [put(5, happens(15, "start", vm="v1", core=0, task="a#1", duration_s=120))],
        {"task-once": 1},
    ),
    "task-once: finishes in the queue": (
        sampled,
        [put(8, happens(135, "finish", vm="v1", core=0, task="a#3"))],
        {"task-once": 1, "figures": 65},
    ),
    "bill: outlives the last task": (sampled, [moved(32, 33, 5), ends(t=525, idle_s=190)], {"bill": 5, "order": 1}),
    "bill: never ends": (sampled, [drop("terminate", 1)], {"bill": 1}),
    "bill: goes on": (sampled, [put(32, happens(520, "wake"))], {"bill": 1}),
}
"""What is changed, and the rules that are broken by it, with their amounts."""


def test_every_rule_of_streams_has_a_case() -> None:
    of_plans = {"instance", "plan", "timetable", "timeline", "migration", "trigger", "steal", "cycle-end", "idle-limit"}
    of_plans |= {"preemption", "release"}
    of_platforms = {"placing", "one-place", "displacement", "promise", "processors", "machines"}
    shared = {"memory", "credits"}  # in test_auditor.py; a VM that runs one task has the memory for it
    assert {name.split(":")[0] for name in CASES} == set(RULES) - of_plans - of_platforms - shared - {"figures"}


@pytest.mark.parametrize("name", CASES)
def test_the_rule_and_the_amount(name: str) -> None:
    make, changes_of_it, rules = CASES[name]
    trace = trace_with(make, changes_of_it)
    assert found(trace) == pytest.approx(rules)


FIGURES = {
    "t": 1, "cost_usd": 0.01, "makespan_s": 3, "finished": 1, "late_tasks": 1, "on_demand_started": 1, "late_s": 4,
    "idle_s": 5, "suspensions": 1, "returns": 2,
}  # fmt: skip


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_that_is_off(name: str) -> None:
    trace = sampled()
    trace.end[name] += FIGURES[name]
    (finding,) = audit(trace).findings
    assert (finding.rule, finding.amount) == ("figures", pytest.approx(FIGURES[name]))
    assert f"the end says {name} " in finding.message


def test_figures_of_streams() -> None:
    trace = sampled()
    trace.end["blocks"] = {"small": 8, "medium": 1}
    assert [(finding.amount, finding.unit, finding.message) for finding in audit(trace).findings] == [
        (2, "blocks", "the end says blocks.large 0; the events come to 2"),
        (1, "blocks", "the end says blocks.medium 1; the events come to 0"),
        (2, "blocks", "the end says blocks.small 8; the events come to 6"),
    ]


def test_streams_have_no_records_of_bags_and_bags_none_of_streams() -> None:
    of_streams = STREAM_EVENT_RECORDS.keys() - BAG_EVENT_RECORDS.keys()
    assert of_streams == {"submit", "assign", "return", "suspend", "block-end"}
    for kind in of_streams:
        trace = hand_made_traces.recovered()
        trace.events.insert(3, happens(10, kind, vm="a"))
        with pytest.raises(InputError, match=f"line 6: event '{kind}' is not known"):
            audit(trace)
    for kind in BAG_EVENT_RECORDS.keys() - STREAM_EVENT_RECORDS.keys():
        trace = given_up()
        trace.events.insert(3, happens(15, kind, vm="v1"))
        with pytest.raises(InputError, match=f"line 6: event '{kind}' is not known"):
            audit(trace)
    trace = hand_made_traces.recovered()
    trace.end["returns"] = 0
    with pytest.raises(InputError, match="returns is an unknown key"):
        audit(trace)
    trace = sampled()
    trace.end["resumes"] = 0
    with pytest.raises(InputError, match="resumes is an unknown key"):
        audit(trace)


def test_messages_name_what_where_and_how_much() -> None:
    for name, message in (
        ("job: late", "job: submit of 'j2' at 150 s, 7 s too late"),
        ("queue: not the first", "queue: start of 'b#1' on v1 at 150 s: 1 task of the queue come before it"),
        (
            "idle-while-waiting: for a while",
            "idle-while-waiting: v1 runs nothing from 200 s, but leaves the first of its queue waiting for 6 s",
        ),
        ("suspension: what waits", "suspension: suspend of 'a#3' on v1 at 150 s: it waits on v1"),
        ("placement: from the pool", "placement: start of 'b#1' on v1 at 150 s: it is in the pool"),
    ):
        make, changes_of_it, _ = CASES[name]
        trace = trace_with(make, changes_of_it)
        assert str(audit(trace).findings[0]) == message


# ------------------------------------------------------------------- the records


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda trace: trace.run.update(jobs=[]), "line 2: jobs .* at least 1"),
        (lambda trace: trace.run["jobs"][0].pop("deadline_s"), "line 2: jobs.*deadline_s is missing"),
        (lambda trace: trace.run["jobs"][0].update(n_tasks=0), "n_tasks 0 must be greater than or equal to 1"),
        (lambda trace: trace.run["billing"].update(block_s=0), "block_s 0 must be greater than or equal to 1"),
        (lambda trace: trace.run["billing"].update(from_request=1), "from_request 1 must be true or false"),
        (lambda trace: trace.events[0].pop("job"), "line 3: job is missing"),
        (lambda trace: trace.events[4].update(position=-1), "line 7: position -1 must be greater"),
        (lambda trace: trace.end.update(blocks={"small": 0.5}), "small.* 0.5 must be a whole number"),
        (lambda trace: trace.end.update(late_s=-1), "late_s -1 must be greater"),
        (lambda trace: trace.end.pop("idle_s"), "idle_s is missing"),
        (lambda trace: trace.run.pop("seed"), "line 2: seed is missing"),
        (lambda trace: trace.run["billing"].update(first_hour_free=True), "first_hour_free is an unknown key"),
    ],
)
def test_records_that_are_none_are_refused(change: Change, message: str) -> None:
    trace = sampled()
    change(trace)
    with pytest.raises(InputError, match=message):
        audit(trace)
    with pytest.raises(InputError, match=message):
        parse_traces("\n".join(trace_lines([trace])), "t")


@given(st.data())
def test_nothing_but_findings_comes_of_events_in_disorder(data: st.DataObject) -> None:
    demand_findings_of_disorder(data, hand_made_stream_traces.ALL)
