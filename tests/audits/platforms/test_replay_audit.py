"""The auditor of hybrid platforms: passes what is right, finds every change of it, and says by how much."""

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
from spotbag.traces.files import read_traces, write_traces
from spotbag.traces.trace import Trace
from tests.helpers import hand_made_platform_traces, hand_made_traces
from tests.helpers.audited_traces import (
    Change,
    at,
    demand_findings_of_disorder,
    drop,
    edit,
    ends,
    found,
    happens,
    not_found,
    put,
    trace_with,
)
from tests.helpers.hand_made_platform_traces import moved, place, rented, stuck

# ------------------------------------------------------------------ what is right


@pytest.mark.parametrize("make", hand_made_platform_traces.ALL)
def test_what_is_right_passes_and_can_be_written_and_read(make: Callable[[], Trace], tmp_path: Path) -> None:
    trace = make()
    assert trace.of_platform
    assert not trace.of_stream
    report = audit(trace)
    assert report.findings == ()
    assert report.cost_usd == pytest.approx(trace.end["cost"], rel=1e-12)
    other = make()
    other.run["seed"] = 4
    write_traces(tmp_path / "t.jsonl", [trace, other])
    assert read_traces(tmp_path / "t.jsonl") == [trace, other]


def test_notes_bills_and_the_end_of_the_last_job() -> None:
    report = audit(moved())
    assert report.notes == ("1 of 5 jobs late, by up to 420 s",)
    assert report.makespan_s == 900
    assert report.vm_cost_usd == {"c-1": 240, "c-2": 240}
    report = audit(stuck())
    assert report.notes == ("1 of 6 jobs late, by up to 170 s", "1 of 6 jobs over budget, by 0.5 together")
    trace = stuck()
    trace.events.pop()
    report = audit(trace)
    assert report.makespan_s is None
    assert report.notes[-1] == "1 job unfinished"


def test_all_kinds_of_replays_are_audited_side_by_side() -> None:
    traces = [moved(), hand_made_traces.recovered(), rented()]
    assert audit_traces(traces) == [audit(trace) for trace in traces]


def test_what_the_document_leaves_out_has_its_usual_value() -> None:
    trace = moved()
    cloud = trace.instance["resources"][2]
    cloud |= {"processors_per_vm": 8, "cost_per_vm_hour": 960}
    large = happens(240, "place", **place("large", "c", 1080, 960, good=False))
    trace.events[at(trace, "place", 5)] = large
    trace.events[at(trace, "start", 2)]["vms"] = ["c-1"]
    del trace.events[at(trace, "launch", 1)]
    trace.events[at(trace, "finish", 3)]["t"] = 540  # 40 / 8 minutes
    trace.events.insert(at(trace, "finish", 2), trace.events.pop(at(trace, "finish", 3)))
    del trace.events[at(trace, "terminate", 1)]
    trace.end.update({"cost": 970.0, "overspend": 460.0, "overspent_jobs": 1, "machines": 1, "vm_hours": 1})
    trace.end.update({"good": 4, "bad": 2, "execution_time_s": trace.end["execution_time_s"] - 300})
    assert audit(trace).findings == ()
    del cloud["processors_per_vm"], cloud["cost_per_vm_hour"]
    trace.instance["resources"][1]["cost_per_processor_minute"] = 1.0
    trace.instance["jobs"][0]["arrival_s"] = 0.0
    assert audit(trace).findings == ()


def test_a_repeated_availability_is_as_good_as_one_that_is_written_out() -> None:
    trace = stuck()
    cluster = trace.instance["resources"][1]
    del cluster["repeat_s"]
    cluster["availability"] = [{"from_s": 60 * minute, "processors": 3 * (minute % 3 > 0)} for minute in range(12)]
    assert audit(trace).findings == ()


def test_a_policy_that_displaces_nothing_makes_others_late() -> None:
    trace = stuck()
    trace.run["displaces"] = False
    assert found(trace) == {"displacement": 1, "placing": 1}  # "low" is; it stays, and "late" has offers
    del trace.events[at(trace, "stay")]
    trace.events[at(trace, "place", 4)]["displaced"] = []
    trace.end.update({"displaced": 0, "stays": 0})
    assert found(trace) == {"placing": 1}
    trace.run["displaces"] = True
    assert found(trace) == {"displacement": 1}


def test_by_other_rules_other_things_are_right() -> None:
    trace = stuck()
    trace.run["rules"]["late_jobs"] = "stay"
    assert found(trace) == {"placing": 1}  # "low" is late on "d" anyhow, so that "late" has an offer there
    trace = stuck()
    trace.run["rules"]["queue"] = "deadline"
    # "high" belongs behind "low", which is in time; "late" before all, where it makes nobody late.
    assert found(trace)["promise"] == 120
    assert "processors" in found(trace)


def test_the_second_offer_of_a_cloud_costs_the_budget_or_what_it_will() -> None:
    trace = rented()
    trace.events[at(trace, "place", 1)] = happens(600, "place", **place("two", "c", 3300, 60, good=False))
    trace.events[at(trace, "start", 1)]["vms"] = ["c-2"]
    del trace.events[at(trace, "launch", 2)]
    del trace.events[at(trace, "finish") :]
    # At 3100 "c-1" is idle, but paid to 3600 only: a second hour for "three" to 4000, beyond its budget.
    trace.events.extend(
        [
            happens(3000, "finish", job="one", resource="c"),
            happens(3100, "submit", job="three"),
            happens(3100, "place", **place("three", "c", 4000, 60, good=False)),
            happens(3100, "start", job="three", resource="c", vms=["c-1"]),
            happens(3300, "finish", job="two", resource="c"),
            happens(4000, "finish", job="three", resource="c"),
            happens(4100, "submit", job="four"),
            happens(4100, "place", **place("four", "c", 10100, 180)),
            happens(4100, "start", job="four", resource="c", vms=["c-1", "c-2"]),
            happens(10100, "finish", job="four", resource="c"),
            happens(10800, "terminate", vm="c-1"),
            happens(11400, "terminate", vm="c-2"),
        ]
    )
    trace.end.update({"machines": 2, "vm_hours": 6, "cost": 360.0, "good": 2, "bad": 2, "overspend": 50.0})
    trace.end.update({"late_jobs": 1, "delay_s": 900, "execution_time_s": 3000 + 2700 + 900 + 6000})
    assert audit(trace).findings == ()
    trace.run["rules"]["estimates"] = "printed"  # "one" would end at its deadline, "two" would spend its budget
    described = [finding.message for finding in audit(trace).findings]
    assert [message.split(";")[-1] for message in described] == [
        " the rules give 3600 s and 60",
        " the rules give 3300 s and 100",
        " the rules give 11300 s and 240",
    ]


# --------------------------------------------------------- every change is found


def changes(trace: Trace) -> Iterator[tuple[str, Trace]]:
    """Small changes of a trace: an event dropped, recorded twice, moved, a field changed."""

    def changed(change: Callable[[Trace], object]) -> Trace:
        events = [dict(entry) for entry in trace.events]
        other = Trace(trace.instance, trace.run, events, dict(trace.end))
        change(other)
        return other

    for index, entry in enumerate(trace.events):
        name = f"{index} {entry['event']} at {entry['t']}"
        yield f"{name} dropped", changed(lambda other, index=index: other.events.pop(index))
        yield f"{name} twice", changed(lambda other, index=index, entry=entry: other.events.insert(index, entry))
        for shift in (-1, 1, 60):
            if entry["t"] + shift >= 0:
                t = entry["t"] + shift
                yield f"{name} moved by {shift}", changed(lambda other, i=index, t=t: other.events[i].update(t=t))
        for key, value in entry.items():
            if key in ("record", "t", "event"):
                continue
            for wrong in other_values(trace, key, value):
                if (wrong, entry["t"]) == (["c-3"], 3100):
                    continue  # it has as much paid time
                field = {key: wrong}
                yield f"{name} {field}", changed(lambda other, i=index, field=field: other.events[i].update(field))
        if entry["event"] == "place" and not entry.get("last"):
            yield f"{name} last", changed(lambda other, index=index: other.events[index].update(last=True))
    for key, value in trace.end.items():
        for wrong in (value + 1, value - 1) if key != "record" else ():
            if wrong >= 0:
                yield f"end {key}={wrong}", changed(lambda other, key=key, wrong=wrong: other.end.update({key: wrong}))
    for index, job in enumerate(trace.instance["jobs"]):
        more = {"size_processor_minutes": job["size_processor_minutes"] + 4}
        for field in ({"id": "other"}, {"arrival_s": job["arrival_s"] + 1}, more):
            other = copy.deepcopy(trace)
            other.instance["jobs"][index].update(field)
            yield f"{job['id']} {field}", other


def other_values(trace: Trace, key: str, value: Any) -> list[Any]:
    """Other values of a field of an event."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1, value - 1] if value >= 1 else [value + 1]
    jobs = [job["id"] for job in trace.instance["jobs"]]
    machines = [entry["vm"] for entry in trace.events if entry["event"] == "launch"]
    resources = [resource["id"] for resource in trace.instance["resources"]]
    others: dict[str, list[Any]] = {
        "job": [*jobs, "unknown"],
        "resource": [*resources, "unknown"],
        "vm": [*machines, "unknown"],
        "displaced": [[], ["unknown"], *([name] for name in jobs), *([*value, name] for name in jobs)],
        "vms": [["unknown"], *([name] for name in machines), *([*value, name] for name in machines)],
    }
    return [other for other in others[key] if other != value]


@pytest.mark.parametrize("make", hand_made_platform_traces.ALL)
def test_every_change_is_found(make: Callable[[], Trace]) -> None:
    count, missed = not_found(changes(make()))
    assert not missed
    assert count > 250


# ------------------------------------------------------------- one rule at a time


def swap(first: int, second: int) -> Change:
    """Let two events change places."""

    def change(trace: Trace) -> None:
        events = trace.events
        events[first], events[second] = events[second], events[first]

    return change


def move(place: int, to: int) -> Change:
    """Take an event to another place."""
    return lambda trace: trace.events.insert(to, trace.events.pop(place))


def job_says(number: int, **fields: Any) -> Change:
    """Change a job of the platform."""
    return lambda trace: trace.instance["jobs"][number].update(fields)


def resource_says(number: int, **fields: Any) -> Change:
    """Change a resource of the platform."""
    return lambda trace: trace.instance["resources"][number].update(fields)


CASES: dict[str, tuple[Callable[[], Trace], list[Change], dict[str, float]]] = {
    "order: recorded after what is later": (moved, [edit("submit", 3, t=100)], {"order": 20, "job": 80}),
    "order: a start before a submit": (stuck, [swap(8, 9), swap(7, 8)], {"order": 1}),
    "order: given back before an end": (rented, [edit("terminate", t=3000), move(14, 10)], {"order": 1, "machines": 1}),
    "job: too late": (stuck, [job_says(5, arrival_s=120)], {"job": 10, "figures": 10}),
    "job: out of order": (stuck, [swap(0, 2), swap(1, 3)], {"job": 1}),
    "job: never arrives": (
        stuck,
        [lambda trace: trace.instance["jobs"].append(trace.instance["jobs"][0] | {"id": "a9"})],
        {"job": 1},
    ),
    "placing: where it came from": (
        stuck,
        [
            drop("stay"),
            put(12, happens(120, "place", **place("low", "d", 600, 0, good=False))),
            ends(stays=0, bad=2),
        ],
        {"placing": 1},
    ),
    "placing: stays although a cloud would take it": (
        stuck,
        [lambda trace: trace.instance["resources"].append({"id": "c", "kind": "cloud", "parent": "root"})],
        {"placing": 1},
    ),
    "placing: goes behind all although there is an offer": (
        stuck,
        [job_says(2, deadline_s=480)],
        {"placing": 1},
    ),
    "placing: not at once": (moved, [drop("place", 3), ends(good=4)], {"placing": 1, "one-place": 1}),
    "one-place: placed twice": (
        moved,
        [put(5, happens(60, "place", **place("humble", "a", 360, 10))), ends(good=6)],
        {"one-place": 1, "displacement": 1},
    ),
    "one-place: runs elsewhere": (moved, [edit("start", 1, resource="d")], {"one-place": 1}),
    "one-place: lost": (stuck, [drop("finish", 5)], {"one-place": 1, "figures": 540}),
    "one-place: ends twice": (moved, [put(17, happens(300, "finish", job="first", resource="d"))], {"one-place": 1}),
    "displacement: one that would be in time": (moved, [job_says(1, deadline_s=1020)], {"displacement": 1}),
    "displacement: one that would be late is left": (
        moved,
        [job_says(1, deadline_s=1019), edit("place", 2, displaced=[]), drop("place", 3)],
        {"displacement": 1},
    ),
    "displacement: one that runs": (moved, [edit("place", 2, displaced=["humble", "first"])], {"displacement": 7}),
    "displacement: as much work": (moved, [job_says(1, size_processor_minutes=14)], {"displacement": 1}),
    "displacement: one of a higher priority": (moved, [job_says(1, priority=10)], {"displacement": 1}),
    "promise: another end": (moved, [edit("place", 1, end_s=610)], {"promise": 10}),
    "promise: another cost": (stuck, [edit("place", 2, cost=2.75)], {"promise": 0.25}),
    "promise: good, but late": (moved, [edit("place", 4, good=True), ends(good=6, bad=0)], {"promise": 1}),
    "promise: more machines than the cloud offers": (
        rented,
        [
            put(7, happens(600, "launch", vm="c-4", resource="c")),
            lambda trace: trace.events[at(trace, "start", 1)]["vms"].append("c-4"),
        ],
        {"promise": 1},
    ),
    "processors: starts too late": (moved, [edit("start", 1, t=180), move(8, 10)], {"processors": 60}),
    "processors: ends too early": (
        moved,
        [edit("finish", 1, t=419), ends(execution_time_s=2579)],
        {"processors": 1},
    ),
    "processors: starts before the one with a higher priority": (
        stuck,
        [edit("start", 2, job="late"), edit("start", 4, job="a2")],
        {"processors": 1, "one-place": 1},
    ),
    "processors: fewer than that": (stuck, [resource_says(0, processors=1)], {"processors": 300, "promise": 480}),
    "processors: one more": (
        stuck,
        [resource_says(1, availability=[{"from_s": 0, "processors": 0}, {"from_s": 60, "processors": 4}])],
        {"processors": 120, "promise": 120},
    ),
    "run-time: ends too late": (moved, [edit("finish", 3, t=850), ends(execution_time_s=2590)], {"run-time": 10}),
    "machines: a new one, although there is an idle one": (
        rented,
        [put(13, happens(3100, "launch", vm="c-4", resource="c")), edit("start", 2, vms=["c-4"])],
        {"machines": 2500},
    ),
    "machines: not the one with the most paid time": (rented, [edit("start", 2, vms=["c-1"])], {"machines": 600}),
    "machines: one that is busy": (
        rented,
        [edit("start", 2, vms=["c-1"]), edit("finish", 1, t=3100), move(10, 13)],
        {"machines": 1},
    ),
    "machines: not given back": (rented, [drop("terminate")], {"machines": 1, "bill": 1}),
    "machines: given back before the hour ends": (
        rented,
        [edit("terminate", 1, t=11300), ends(t=11400)],
        {"machines": 100},
    ),
    "machines: given back while it runs a job": (
        rented,
        [put(19, happens(5000, "terminate", vm="c-2")), drop("terminate", 2), ends(vm_hours=6)],
        {"machines": 1, "bill": 60},
    ),
    "machines: launched, but not used": (
        rented,
        [put(2, happens(0, "launch", vm="c-9", resource="c")), put(16, happens(3600, "terminate", vm="c-9"))],
        {"machines": 3600},
    ),
    "bill: never given back": (rented, [drop("terminate", 2)], {"bill": 1}),
    "bill: an hour more": (rented, [edit("terminate", 2, t=15000), ends(t=15000, vm_hours=8)], {"bill": 60}),
}
"""What is changed, and rules that are broken by it, with their amounts."""


def test_every_rule_of_platforms_has_a_case() -> None:
    rules = {"order", "job", "run-time", "bill", "placing", "one-place", "displacement", "promise", "processors"}
    assert {name.split(":")[0] for name in CASES} == rules | {"machines"}


@pytest.mark.parametrize("name", CASES)
def test_the_rule_and_the_amount(name: str) -> None:
    make, changes_of_it, rules = CASES[name]
    trace = trace_with(make, changes_of_it)
    amounts = found(trace)
    assert rules.items() <= amounts.items()
    assert name.split(":")[0] in amounts


def test_messages_name_what_where_and_how_much() -> None:
    for name, message in (
        ("order: a start before a submit", "order: submit of 'low' at 60 s stands after a start on a cluster of the"),
        (
            "placing: goes behind all although there is an offer",
            "placing: place of 'late' on a at 130 s: a offers to run it",
        ),
        ("one-place: runs elsewhere", "one-place: start of 'humble' on d at 120 s: it waits at a"),
        (
            "displacement: one that would be late is left",
            "displacement: place of 'urgent' on d at 120 s leaves 'humble' in the queue, which would be late behind it",
        ),
        (
            "promise: another cost",
            "promise: place of 'a2' on a at 30 s is to cost 2.75 and to end at 360 s; the rules give 360 s and 2.5",
        ),
        ("promise: good, but late", "promise: place of 'hopeless' on d at 180 s is said to be good; it is 420 s late"),
        (
            "processors: starts too late",
            "processors: start of 'humble' on a at 180 s; it has processors from 120 s on",
        ),
        (
            "machines: not given back",
            "machines: c-1 is idle at the end of the hour that is paid (3600 s), but not give",
        ),
    ):
        make, changes_of_it, _ = CASES[name]
        trace = trace_with(make, changes_of_it)
        assert str(audit(trace).findings[0]).startswith(message)


@given(st.data())
def test_nothing_but_findings_comes_of_events_in_disorder(data: st.DataObject) -> None:
    demand_findings_of_disorder(data, hand_made_platform_traces.ALL)


@given(st.data())
def test_nothing_but_findings_comes_of_other_fields(data: st.DataObject) -> None:
    trace = data.draw(st.sampled_from(hand_made_platform_traces.ALL))()
    for _ in range(data.draw(st.integers(1, 6))):
        entry = data.draw(st.sampled_from(trace.events))
        key = data.draw(st.sampled_from([key for key in entry if key not in ("record", "event", "last")]))
        entry[key] = data.draw(st.sampled_from(other_values(trace, key, entry[key])))
    assert all(finding.amount > 0 and finding.rule in RULES for finding in audit(trace).findings)
