"""The auditor on days of today's clouds: bills to the cent, last checkpoints, capacity, prices, preemptions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from spotbag.audits.auditor import audit
from spotbag.audits.bags.day import Day
from spotbag.core.errors import InputError
from spotbag.instances.bags.timeline import Timeline, TimelineEvent
from spotbag.replay.bags.runs import trace_day
from spotbag.traces.trace import Trace
from tests.helpers import hand_made_cloud_traces
from tests.helpers.audited_traces import at, changes, edit, event, found, happens, not_found, trace_with
from tests.helpers.hand_made_cloud_traces import (
    CLOUDS,
    crowded_out,
    day_of,
    drained,
    noticed,
    preempted,
    stolen_by_a_vm_that_launches,
)
from tests.helpers.tiny_days import CHECKPOINTS, bag, plan, vm_type

LATE = {
    # In seconds of the spot price: the session before the interruption, that after it, and the on-demand VM.
    "papers": {3599: 3599 + 401, 3600: 3600 + 400},
    "aws-terminate": {3599: 2 * 4020, 3600: 3600 + 2 * 4020},
    "aws-stop": {3599: 4000, 3600: 3600 + 4000},
    "aws-hibernate": {3599: 401, 3600: 3600 + 400},
    "gcp": {3599: 3599 + 4000, 3600: 3600 + 4000},
    "azure": {3599: 3599 + 4000, 3600: 3600 + 4000},
}
DAYS = [(cloud, first_s, second_s) for cloud in CLOUDS for first_s in (59, 60, 61) for second_s in (3599, 3600)]


@pytest.mark.parametrize(("cloud", "first_s", "second_s"), DAYS)
def test_a_day_of_each_cloud_to_the_cent(cloud: str, first_s: int, second_s: int) -> None:
    brief_s = first_s if cloud == "papers" else max(first_s, 60)
    cost_usd = (brief_s + LATE[cloud][second_s]) * 0.36 / 3600
    trace = day_of(cloud, first_s, second_s, cost_usd)
    report = audit(trace)
    assert report.findings == ()
    assert report.cost_usd == pytest.approx(cost_usd, rel=1e-12)
    for wrong in (cost_usd - 0.0001, cost_usd + 0.0001):  # a second more, or less
        trace.end["cost_usd"] = wrong
        assert found(trace) == {"figures": pytest.approx(0.0001)}


@pytest.mark.parametrize("make", hand_made_cloud_traces.ALL)
def test_what_is_right_passes(make: Callable[[], Trace]) -> None:
    trace = make()
    report = audit(trace)
    assert report.findings == ()
    assert report.cost_usd == pytest.approx(trace.end["cost_usd"], rel=1e-12)


@pytest.mark.parametrize("make", [*hand_made_cloud_traces.ALL, lambda: day_of("aws-stop", 60, 3600, 0.766)])
def test_every_change_is_found(make: Callable[[], Trace]) -> None:
    count, missed = not_found(changes(make()))
    assert not missed
    assert count > 50


def test_a_notice_that_just_does_not_suffice_saves_nothing() -> None:
    assert audit(noticed(9)).findings == ()
    trace = noticed(9)
    event(trace, "start", 1).update(saved=0.2, duration_s=210)
    rules = found(trace)
    assert rules["saved"] == pytest.approx(0.2)
    assert rules["run-time"] == 60
    trace = noticed(10)
    del event(trace, "start", 1)["saved"]
    assert found(trace) == {"saved": pytest.approx(0.2)}


@pytest.mark.parametrize(
    ("stopped_s", "saved"),
    # Work of 100 s, a checkpoint of 10 s, and so on; the last one begins 10 s before the end.
    [(20, 0), (21, 1), (120, 100), (121, 100), (130, 100), (131, 101), (229, 199), (230, 200), (235, 200)],
)
def test_a_last_checkpoint_after_work_and_in_regular_ones(stopped_s: int, saved: int) -> None:
    """The VM is ready at 10 s; up to 10 s of its work are followed by the last checkpoint."""
    trace = noticed()
    gone_s = stopped_s
    left = Fraction(250 - saved)
    left_s = int(left + 10 * max(-(-left // 100) - 1, 0))
    event(trace, "notice").update(t=gone_s - 10, until_s=gone_s)
    event(trace, "stop")["t"] = gone_s
    moved_s = 300 - 200
    for entry in trace.events[5:8]:
        entry["t"] += moved_s
    event(trace, "start", 1).update(duration_s=left_s, saved=saved / 250)
    if not saved:
        del event(trace, "start", 1)["saved"]
    for entry in trace.events[-2:]:
        entry["t"] = 310 + left_s
    trace.run["timeline"]["events"][0]["time_s"] = gone_s - 10
    trace.run["timeline"]["events"][1]["time_s"] = 300
    written = -(-saved // 100)
    trace.end.update(
        t=310 + left_s,
        makespan_s=310 + left_s,
        cost_usd=(gone_s - 10 + 300 - gone_s + left_s) * 0.0001,
        checkpoints=written + (left_s - int(left)) // 10,
        recoveries=int(saved > 0),
        cpu_time_saved_s=float(saved),
    )
    assert audit(trace).findings == ()


def without_notice(trace: Trace) -> None:
    trace.events.pop(at(trace, "notice"))


def move_to_a_vm_that_drains(trace: Trace) -> None:
    moment = {"task": "other", "from": "b", "to": "a", "kind": "busy"}
    trace.events.insert(6, happens(50, "notice", vm="a", until_s=170))
    trace.events.insert(9, happens(100, "migrate") | moment)


def write_and_start(trace: Trace) -> None:
    start = trace.events.pop(at(trace, "start", 1))
    trace.events.insert(at(trace, "preempted"), start | {"t": 65})


DAMAGED: dict[str, tuple[Callable[[], Trace], Callable[[Trace], object], str]] = {
    "no notice": (drained, without_notice, "timeline"),
    "a notice of another time": (drained, edit("notice", until_s=181), "timeline"),
    "a VM that is stopped and not terminated": (drained, edit("reclaim", event="stop"), "timeline"),
    "a VM that is terminated before its notice is over": (drained, edit("reclaim", t=179), "timeline"),
    "a start on a VM that drains": (
        drained,
        lambda trace: trace.events.insert(7, happens(65, "start", vm="a", core=1, task="more", duration_s=160)),
        "state",
    ),
    "a task that moves to a VM that drains": (crowded_out, move_to_a_vm_that_drains, "migration"),
    "a migration from a VM that runs": (
        drained,
        lambda trace: (trace.run["timeline"]["events"].clear(), without_notice(trace)),
        "migration",
    ),
    "a decision before all has happened in its second": (
        drained,
        lambda trace: (
            trace.run.update(cloud={"name": "any", "interruption": "terminate", "notice_s": 0}),
            trace.events.insert(at(trace, "notice"), trace.events.pop(at(trace, "launch", 1))),
        ),
        "order",
    ),
    "a stopped VM that resumes": (noticed, edit("restart", event="resume"), "timeline"),
    "a stopped VM that does not boot": (noticed, edit("ready", 1, t=200), "ready"),
    "a capacity that is not recorded": (crowded_out, lambda trace: trace.events.pop(at(trace, "capacity")), "timeline"),
    "another capacity": (crowded_out, edit("capacity", vms=2), "timeline"),
    "the first VM makes room": (crowded_out, edit("hibernate", vm="a"), "timeline"),
    "another price": (crowded_out, edit("price", usd_per_hour=0.73), "timeline"),
    "a capacity before the VM is gone, in its second": (
        crowded_out,
        lambda trace: trace.events.insert(6, trace.events.pop(7)),
        "order",
    ),
    "a task that is preempted before its checkpoint is written": (preempted, edit("preempted", t=69), "preemption"),
    "a checkpoint that takes another time": (preempted, edit("preempt", until_s=75), "preemption"),
    "a preemption that nobody asked for": (
        preempted,
        lambda trace: trace.events.pop(at(trace, "preempt")),
        "preemption",
    ),
    "a preempted task that saves more": (preempted, edit("preempted", saved=0.12), "saved"),
    "a preempted task that was not running": (preempted, edit("preempt", task="more"), "preemption"),
    "a start on a core that writes a checkpoint": (preempted, write_and_start, "core"),
    "a preempted task that goes first": (
        preempted,
        lambda trace: trace.events.insert(
            at(trace, "start", 1),
            happens(70, "start", vm="a", core=0, task="long", saved=0.1, duration_s=450),
        ),
        "timetable",
    ),
    "a stolen task that starts on a VM that launches": (
        stolen_by_a_vm_that_launches,
        lambda trace: trace.events.insert(at(trace, "ready", 1), trace.events.pop(at(trace, "start", 1)) | {"t": 65}),
        "state",
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_cannot_have_happened_is_found(name: str) -> None:
    make, change, rule = DAMAGED[name]
    assert rule in found(trace_with(make, [change]))


def test_a_spot_vm_is_not_requested_where_there_is_no_capacity() -> None:
    trace = drained()
    launch = event(trace, "launch", 1)
    launch.update(type="two", market="spot")
    assert "limit" in found(trace)


@pytest.mark.parametrize("length_s", [59, 60, 61])
def test_each_session_has_its_minimum(length_s: int) -> None:
    trace = noticed()
    trace.run["billing"]["minimum_s"] = length_s
    trace.end["cost_usd"] = (max(60, length_s) + 130 + 210) * 0.0001
    assert audit(trace).findings == ()


def test_moments_of_a_timeline_have_what_they_need() -> None:
    for kind, needs in (("capacity", "'vms' is missing"), ("price", "'market' is missing")):
        trace = drained()
        trace.run["timeline"]["events"].append({"time_s": 700, "type": "two", "event": kind})
        with pytest.raises(InputError, match=needs):
            audit(trace)


# ------------------------------------------------------------------ the auditor's day


def day(n_vms: int, *moments: dict[str, Any]) -> Day:
    """A day with some VMs of one type, all of them ready at 10 s."""
    made = Day([{"type": "t"} | moment for moment in moments], {("t", "spot"): Fraction(1)})
    for number in range(1, n_vms + 1):
        made.requested(str(number), "t")
    made.advance(10, 2)
    for number in range(1, n_vms + 1):
        made.ready(str(number), 10)
    return made


def expected(made: Day) -> dict[str, list[tuple[int, str]]]:
    """What is expected of each VM."""
    vms = {name: [(due.time_s, due.kind) for due in made.expected_of(name)] for name in map(str, range(1, 10))}
    return {name: due for name, due in vms.items() if due}


@pytest.mark.parametrize(("share", "struck"), [(0.1, 1), (0.5, 2), (0.75, 3), (0.76, 4), (1.0, 4)])
def test_a_share_is_rounded_up_and_takes_the_last_requested(share: float, struck: int) -> None:
    made = day(4, {"time_s": 50, "event": "stop", "share": share})
    made.advance(50)
    assert expected(made) == {str(number): [(50, "stop")] for number in range(5 - struck, 5)}


def test_a_share_leaves_out_what_drains() -> None:
    drains = {"time_s": 50, "event": "terminate", "vm": 4, "notice_s": 100}
    made = day(4, drains, {"time_s": 60, "event": "terminate", "share": 0.5})
    made.advance(200)
    gone = [(60, "reclaim")]
    assert expected(made) == {"2": gone, "3": gone, "4": [(50, "notice"), (150, "reclaim")]}


def test_a_vm_that_drains_is_interrupted_at_the_earlier_time() -> None:
    later = {"time_s": 60, "event": "stop", "vm": 1, "notice_s": 100}
    earlier = {"time_s": 60, "event": "hibernate", "vm": 1, "notice_s": 20}
    first = {"time_s": 50, "event": "terminate", "vm": 1, "notice_s": 100}
    made = day(1, first, later)
    made.advance(500)
    assert expected(made) == {"1": [(50, "notice"), (150, "reclaim")]}
    made = day(1, first, earlier)
    made.advance(500)
    assert expected(made) == {"1": [(50, "notice"), (60, "notice"), (80, "hibernate")]}


def test_a_type_that_is_back_before_its_vms_are_gone_gets_them_back_at_once() -> None:
    made = day(2, {"time_s": 50, "event": "stop", "notice_s": 30}, {"time_s": 60, "event": "resume"})
    made.advance(500)
    both = [(50, "notice"), (80, "stop"), (80, "restart")]
    assert expected(made) == {"1": both, "2": both}
    made = day(2, {"time_s": 50, "event": "stop", "share": 1.0, "notice_s": 30}, {"time_s": 60, "event": "resume"})
    made.advance(500)
    assert expected(made) == {"1": both[:2], "2": both[:2]}


def test_vms_come_back_in_the_order_of_their_requests_while_there_is_room() -> None:
    made = day(
        3,
        {"time_s": 50, "event": "hibernate"},
        {"time_s": 60, "event": "capacity", "vms": 2, "by": "hibernate"},
        {"time_s": 70, "event": "resume", "vm": 3},
        {"time_s": 80, "event": "resume"},
    )
    made.advance(500)
    resumes = [[due for due in dues if due[1] == "resume"] for dues in expected(made).values()]
    assert resumes == [[(60, "resume")], [(60, "resume")], [(80, "resume")]]
    capacities = [(due.time_s, due.fields["vms"]) for due in made.announced]
    assert capacities == [(60, 2)]


def test_a_vm_that_gets_ready_while_its_type_is_down_is_interrupted_without_notice() -> None:
    made = day(1, {"time_s": 5, "event": "stop", "notice_s": 100})
    made.advance(50)
    assert expected(made) == {"1": [(10, "stop")]}


def test_seconds_have_the_price_of_their_moment() -> None:
    changes_of_price = [
        {"time_s": time_s, "event": "price", "market": "spot", "usd_per_hour": usd}
        for time_s, usd in ((20, 7.2), (30, 36.0))
    ]
    made = day(1, *changes_of_price)
    made.advance(100)
    assert made.cost_usd("t", "spot", 10, 40) == 10 + 10 * Fraction(2, 1000) + 10 * Fraction(1, 100)
    assert made.cost_usd("t", "spot", 25, 26) == Fraction(2, 1000)
    assert made.price_usd_per_s("t", "spot") == Fraction(1, 100)


def test_old_traces_say_nothing_of_clouds() -> None:
    trace = copy.deepcopy(crowded_out())
    assert "cloud" not in trace.run
    assert "minimum_s" not in trace.run["billing"]


def test_a_checkpoint_of_a_notice_saves_what_regular_ones_before_it_have_saved_as_well() -> None:
    kinds = [vm_type("one")]
    instance = bag({"a": {"one": 300}}, kinds, deadline_s=1500, d_spot_s=900, checkpoint=CHECKPOINTS)
    schedule = plan(instance, ["one spot"], {"a": (0, 0, 0)})
    day = Timeline((TimelineEvent(145, "one", "interrupt"),), "by hand")
    _, trace = trace_day(schedule, "hads", day, cloud="gcp")
    # By 165 s, three of 50 s; then 5 s, and 5 s for the one that the notice of 30 s leaves time for.
    [saved] = [entry["saved"] for entry in trace.events if entry["event"] == "migrate"]
    assert saved == pytest.approx(155 / 300)
    assert audit(trace).findings == ()
