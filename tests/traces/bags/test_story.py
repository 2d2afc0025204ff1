"""The story of a hand-made day, line by line."""

from __future__ import annotations

from typing import Any

import pytest

from spotbag.core.errors import SpotbagError
from spotbag.instances.bags.timeline import Timeline, TimelineEvent
from spotbag.replay.bags.runs import trace_day
from spotbag.traces.stories import describe_trace
from spotbag.traces.trace import Trace
from tests.helpers.bad_day import bad_day, quiet_day
from tests.helpers.hand_made_cloud_traces import crowded_out, day_of, drained, noticed, preempted
from tests.helpers.tiny_days import bag, plan, vm_type

STORY = """\
tests/bad-day, policy hads, day 3 (by hand): 16 tasks, D_spot 1,900 s, deadline 2,400 s
        0 s  5 VMs rented: 2 a.large spot, 2 b.large spot, 1 c.large spot, ready at 30 s
      100 s  c.large hibernates: c-1 with 1 task running; migration trigger at 1,800 s (0 of 16 tasks done)
      250 s  a.large hibernates: 2 VMs (a-1 with 2 tasks running and 4 waiting; a-2 with 2 tasks running); \
migration triggers at 1,200 s (a-1), at 1,300 s (a-2) (0 of 16 tasks done)
      350 s  a.large resumes after 100 s: 2 VMs (a-1 with 2 tasks running and 4 waiting; a-2 with 2 tasks running)
      460 s  b-1 idle: finds nothing to steal
      560 s  a-2 idle: steals 1 task from a-1
      700 s  a.large hibernates: 2 VMs (a-1 with 2 tasks running and 1 waiting; a-2 with 1 task running); \
migration trigger at 1,000 s (8 of 16 tasks done)
      930 s  b-1 terminated at the end of its cycle (idle for 470 s, $0.0094)
    1,000 s  a-1: migration trigger reached; 3 tasks migrated: 1 to busy b-2, 2 to new o-1 \
(2 go on from their checkpoints at 25 %)
    1,000 s  a-2: migration trigger reached; 1 task migrated to new p-1 \
(goes on from its checkpoint at 25 %; in baseline mode; can no longer meet the deadline)
    1,100 s  a.large resumes after 400 s: 2 VMs (a-1, a-2), all idle
    1,100 s  a-1, a-2 idle: find nothing to steal
    1,430 s  a-1, a-2 terminated at the end of their cycles (idle for 660 s together, $0.0066)
    1,800 s  c-1: migration trigger reached; no place for 1 task, which stays on it
    1,830 s  b-2 terminated at the end of its cycle (idle for 510 s, $0.0102)
    1,930 s  o-1 terminated at the end of its cycle (idle for 500 s, $0.0150)
    2,400 s  the deadline: 2 tasks still to finish
    2,530 s  the bag ends; 2 VMs terminated: c-1, p-1
In the end: 15 of 16 tasks finished by 2,530 s, for $0.1372; deadline missed (1 task unfinished, 1 task late).
Over the day: 5 hibernations, 4 resumes, 4 migrations (2 to busy VMs, 2 starting a new VM), 1 steal of 1 task, \
3 recoveries, 38 checkpoints, 2 VMs started during the day; checkpoints saved 300 s of work.
Late: t#6 by 130 s: no VM could finish in time when a-2 was emptied at 1,000 s.
Unfinished: t#16: c-1 hibernates from 100 s to the end, and at 1,800 s there was no place elsewhere.
"""


def _changed(trace: Trace, events: list[dict[str, Any]], **end: Any) -> Trace:
    return Trace(trace.instance, trace.run, events, trace.end | end)


def _at(time_s: int, event: str, /, **fields: Any) -> dict[str, Any]:
    return {"record": "event", "t": time_s, "event": event, **fields}


def test_a_bad_day() -> None:
    assert describe_trace(bad_day()) == STORY.splitlines()


def test_a_quiet_day() -> None:
    assert describe_trace(quiet_day()) == [
        "tests/bad-day, policy static, day 0 (quiet): 1 task, D_spot 1,900 s, deadline 2,400 s",
        "        0 s  1 VM rented: 1 a.large spot, ready at 30 s",
        "      460 s  the bag ends; 1 VM terminated: a-1",
        "In the end: 1 task finished by 460 s, for $0.0043; deadline met (1,940 s to spare).",
        "Over the day: 0 hibernations, 0 resumes, 0 migrations, 0 steals, 0 recoveries, 3 checkpoints.",
    ]


@pytest.mark.parametrize(
    ("steals", "stolen", "words"),
    [(0, 0, "0 steals"), (1, 3, "1 steal of 3 tasks"), (0, 3, "3 tasks stolen"), (0, 1, "1 task stolen")],
)
def test_tasks_are_stolen_with_and_without_attempts_on_record(steals: int, stolen: int, words: str) -> None:
    counts = {"steal_attempts": steals, "steals": steals, "tasks_stolen": stolen}
    trace = quiet_day()
    assert f", {words}, 0 recoveries," in describe_trace(_changed(trace, trace.events, **counts))[-1]


def test_many_vms_are_named_by_range_and_the_rest_counted() -> None:
    names = [f"a-{number}" for number in range(1, 6)] + ["x", "y", "z", "u", "v", "w"]
    launches = [_at(0, "launch", vm=name, type="a.large", market="spot") for name in names]
    ready = [_at(30, "ready", vm=name) for name in names]
    down = [_at(99, "hibernate", vm=name) for name in names]
    story = describe_trace(_changed(quiet_day(), launches + ready + down, t=99, unfinished=["only"], makespan_s=None))
    assert story[2] == (
        "       99 s  a.large hibernates: 11 VMs (a-1 to 5, x, y, z, u, v and 1 more VM), each "
        "with others that never start (0 of 1 task done)"
    )
    assert story[-1].startswith("Unfinished: only: never started; hibernated to the end: a-1 to 5, x, y")


def test_a_task_that_waits_is_migrated_and_stolen_again_with_what_was_saved() -> None:
    trace = quiet_day()
    start = [_at(0, "launch", vm="o-1", type="a.large", market="on-demand"), *trace.events[:3]]
    more = [
        _at(160, "hibernate", vm="a-1"),
        _at(160, "trigger-set", vm="a-1", at_s=900),
        _at(170, "trigger-set", vm="a-1", at_s=180),
        _at(180, "trigger", vm="a-1"),
        _at(180, "migrate", task="only", to="o-1", kind="busy", saved=0.25, recovered=True, **{"from": "a-1"}),
        _at(190, "resume", vm="a-1"),
        _at(190, "steal", task="only", to="a-1", **{"from": "o-1"}),
        _at(190, "steal-attempt", vm="a-1", stolen=1),
        _at(190, "start", vm="a-1", core=0, task="only", saved=0.25, duration_s=320),
        _at(510, "finish", vm="a-1", core=0, task="only"),
    ]
    story = describe_trace(_changed(trace, start + more, t=510, makespan_s=510))
    assert story[2:7] == [
        "      160 s  a.large hibernates: a-1 with 1 task running; migration trigger at 900 s (0 of 1 task done)",
        "      170 s  a-1: migration trigger now at 180 s (was 900 s)",
        "      180 s  a-1: migration trigger reached; 1 task migrated to busy o-1 "
        "(goes on from its checkpoint at 25 %)",
        "      190 s  a.large resumes after 30 s: a-1 idle",
        "      190 s  a-1 idle: steals 1 task from o-1",
    ]


def test_a_task_that_starts_at_the_moment_of_the_hibernation_is_running_then() -> None:
    trace = quiet_day()
    more = [
        _at(30, "hibernate", vm="a-1"),
        _at(30, "migrate", task="only", to="o-1", kind="new", **{"from": "a-1"}),
        _at(60, "start", vm="o-1", core=0, task="only", duration_s=400),
        _at(460, "finish", vm="o-1", core=0, task="only"),
    ]
    launch = [_at(0, "launch", vm="o-1", type="a.large", market="on-demand")]
    story = describe_trace(_changed(trace, launch + trace.events[:3] + more))
    assert story[2:4] == [
        "       30 s  a.large hibernates: a-1 with 1 task running (0 of 1 task done)",
        "       30 s  a-1: 1 task migrated to new o-1 (starts again from nothing)",
    ]


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        ([_at(100, "hibernate", vm="a-1"), _at(2300, "resume", vm="a-1")], "a-1 hibernated for 2,200 s while it ran"),
        ([], "it started on a-1 only at 30 s"),
    ],
)
def test_why_a_task_is_late(extra: list[dict[str, Any]], reason: str) -> None:
    trace = quiet_day()
    late = [event | {"t": 2660} if event["t"] == 460 else event for event in trace.events]
    events = late[:3] + extra + late[3:]
    story = describe_trace(_changed(trace, events, t=2660, makespan_s=2660, late_tasks=1))
    assert story[-1] == f"Late: only by 260 s: {reason}."
    assert "    2,400 s  the deadline: 1 task still to finish" in story


def test_the_free_first_hour_makes_idle_time_free() -> None:
    trace = quiet_day()
    billing = trace.run["billing"] | {"first_hour_free": True}
    idle = [_at(500, "hibernate", vm="a-1"), _at(600, "resume", vm="a-1"), _at(1030, "cycle-end", vm="a-1")]
    end = [_at(1030, "terminate", vm="a-1")]
    paying = _changed(trace, trace.events[:4] + idle + end, t=1031)
    assert "(idle for 470 s, $0.0047)" in describe_trace(paying)[-3]
    free = Trace(trace.instance, trace.run | {"billing": billing}, paying.events, paying.end)
    assert "(idle for 470 s, $0.0043)" in describe_trace(free)[-3]  # 40 s before the hibernation are free


@pytest.mark.parametrize(("moment", "idle"), [(3629, "3,269 s, $0.0010"), (3630, "3,270 s, $0.0327")])
def test_idle_time_before_a_hibernation_at_the_end_of_the_first_hour_is_paid(moment: int, idle: str) -> None:
    """VM a-1 is ready at 30 s and idle from 460 s on; it hibernates until 3,700 s, and is idle for 100 s more.

    A second costs $0.00001. After 3,599 s in the first hour, the hibernation makes what was before it free.
    """
    trace = quiet_day()
    billing = trace.run["billing"] | {"first_hour_free": True}
    resumed = [_at(3700, "resume", vm="a-1"), _at(3800, "cycle-end", vm="a-1"), _at(3800, "terminate", vm="a-1")]
    events = [*trace.events[:4], _at(moment, "hibernate", vm="a-1"), *resumed]
    story = describe_trace(Trace(trace.instance, trace.run | {"billing": billing}, events, trace.end | {"t": 3801}))
    assert f"(idle for {idle})" in "\n".join(story)


def test_a_trace_that_contradicts_itself_is_refused() -> None:
    trace = quiet_day()
    with pytest.raises(SpotbagError, match="event 1 of the trace"):
        describe_trace(_changed(trace, trace.events[1:]))


def _moments(trace: Trace) -> list[str]:
    """Lines of the moments but the first and the last, in words only."""
    return [line.strip() for line in describe_trace(trace) if " s  " in line][1:-1]


def test_a_vm_with_notice_is_stopped_and_boots_again() -> None:
    assert _moments(noticed()) == [
        "60 s  two has notice to be stopped at 70 s: a with 1 task running",
        "70 s  two is stopped: a with 1 task running (0 of 1 task done)",
        "200 s  two boots again after 130 s, ready at 210 s: a with 1 task waiting",
    ]


def test_a_type_that_the_cloud_terminates() -> None:
    assert _moments(drained()) == [
        "60 s  two has notice to be terminated at 180 s: a with 1 task running and 1 waiting",
        "60 s  a: 1 task migrated to new c",
        "180 s  two is terminated by the cloud: a with 1 task running (0 of 2 tasks done)",
        "180 s  a: 1 task migrated to busy c (goes on from its checkpoint at 60 %)",
    ]


def test_capacities_and_prices() -> None:
    assert _moments(crowded_out()) == [
        "100 s  the cloud has capacity for 1 spot VM at most of two from now on",
        "100 s  b hibernates, with 1 task running (0 of 2 tasks done)",
        "150 s  two spot now costs $0.7200 an hour (until now $0.3600)",
        "200 s  two resumes after 100 s: b with 1 task running",
        "280 s  a terminated, its tasks done",
    ]


def test_a_preempted_task_writes_a_checkpoint_or_stops_at_once() -> None:
    assert _moments(preempted()) == [
        "60 s  a: long is preempted; its checkpoint is written by 70 s",
        "70 s  a: long has stopped, with 10 % saved",
    ]
    trace = preempted()
    [at] = [index for index, event in enumerate(trace.events) if event["event"] == "preempt"]
    stop = {**trace.events[at + 1], "t": 60}
    events = [*trace.events[:at], {**trace.events[at], "until_s": 60}, stop, *trace.events[at + 2 :]]
    assert _moments(_changed(trace, events)) == ["60 s  a: long is preempted, with 10 % saved"]


def test_clouds_are_named_with_their_rules_and_single_vms_by_name() -> None:
    story = describe_trace(day_of("aws-terminate", 59, 290, 0.1))
    assert story[1] == (
        "On aws-terminate, spot VMs are terminated after 120 s of notice; VMs are billed by the second, "
        "at least 60 s, free if interrupted in the first hour."
    )
    assert "      180 s  b has notice to be terminated at 300 s, with 1 task running" in story
    assert (
        "      300 s  b is terminated by the cloud, with 1 task running; "
        "it costs nothing, interrupted in the first hour (1 of 2 tasks done)"
    ) in story
    assert story[-1].startswith("Over the day: 1 cloud termination, 1 migration")


def test_why_a_task_of_a_stopped_vm_is_late() -> None:
    trace = noticed()
    trace.instance["deadline_s"] = 400
    late = _changed(trace, trace.events, late_tasks=1)
    assert describe_trace(late)[-1] == "Late: long by 20 s: a had been stopped for 140 s before it started."


def test_idle_time_costs_what_it_cost_then() -> None:
    trace = crowded_out()
    kept = [event for event in trace.events if event["event"] != "terminate"]
    end = {"record": "event", "t": 370, "event": "terminate", "vm": "a"}
    story = describe_trace(_changed(trace, [*kept[:-1], end, *kept[-1:]]))
    assert "      370 s  a terminated (idle for 90 s, $0.0180)" in story


def test_a_vm_that_ends_without_having_finished_anything_has_no_tasks_done() -> None:
    trace = quiet_day()
    launch = {"vm": "b-1", "type": "b.large", "market": "spot"}
    more = [_at(100, "launch", **launch), _at(130, "ready", vm="b-1"), _at(130, "terminate", vm="b-1")]
    story = describe_trace(_changed(trace, [*trace.events[:3], *more, *trace.events[3:]]))
    assert "      130 s  b-1 terminated" in story


def test_a_bag_that_ends_without_a_vm_says_of_none_that_it_is_terminated() -> None:
    instance = bag({"a": {"one": 100}}, [vm_type("one")])
    schedule = plan(instance, ["one spot"], {"a": (0, 0, 0)})
    day = Timeline((TimelineEvent(50, "one", "terminate"),), "by hand")
    told = describe_trace(trace_day(schedule, "static", day)[1])
    assert "the bag ends" not in str(told)
