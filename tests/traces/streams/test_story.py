"""The story of a stream, and what does not draw one."""

from __future__ import annotations

import pytest

from spotbag.core.errors import SpotbagError
from spotbag.traces.stories import describe_trace
from spotbag.traces.vm_history import read_history
from tests.helpers.hand_made_stream_traces import fixed_fleet, given_up, sampled

STORY = """\
a stream by hand, policy by-hand, seed 0: 3 jobs, 6 tasks, last deadline 500 s
        0 s  j1 arrives: 3 tasks of render, due by 400 s
        0 s  1 VM rented: 1 small (v1), ready at 15 s
        0 s  assigned: 3 tasks to v1
      150 s  j2 arrives: 2 tasks of probe, due by 260 s
      150 s  1 VM rented: 1 large (v2), ready at 165 s
      150 s  v1 suspends a#2 after 15 s
      150 s  assigned: 1 task to the front of v1, 1 task to v2
      180 s  the policy is woken, as it had asked
      180 s  back to the pool: 1 task from v1
      180 s  assigned: 1 task to v2
      200 s  j2 is done, 60 s before its deadline
      305 s  j1 is done, 95 s before its deadline
      350 s  v2 terminated at the end of its block (idle for 90 s)
      400 s  j3 arrives: 1 task of render, due by 500 s
      400 s  assigned: 1 task to v1
      500 s  the deadline of j3: 1 task still to finish
      520 s  j3 is done, 20 s after its deadline
      520 s  all jobs are done; 1 VM terminated: v1
In the end: 6 tasks finished by 520 s, for $0.1000; deadlines missed (1 task late).
Over the stream: 2 VMs rented, 8 blocks billed (6 small, 2 large), 185 s idle, 1 suspension, 1 return to the pool.
Late: j3: 1 of 1 task, by up to 20 s.
"""


def test_a_stream() -> None:
    assert describe_trace(sampled()) == STORY.splitlines()


def test_a_stream_without_blocks() -> None:
    story = describe_trace(fixed_fleet())
    assert story[2] == "        0 s  2 VMs rented: 1 small, 1 large (v1, v2), ready at 15 s"
    assert story[-4:] == [
        "      220 s  all jobs are done; 2 VMs terminated: v1, v2",
        "In the end: 2 tasks finished by 220 s, for $0.0615; deadlines missed (1 task late).",
        "Over the stream: 2 VMs rented, 140 s idle, 2 suspensions, 2 returns to the pool.",
        "Late: j1: 1 of 2 tasks, by up to 120 s.",
    ]


def test_tasks_that_are_left() -> None:
    trace = given_up()
    assert describe_trace(trace)[-4:] == [
        "      200 s  the run ends; 1 VM terminated: v1",
        "In the end: 1 of 2 tasks finished by 200 s, for $0.0200; deadlines missed (1 task unfinished).",
        "Over the stream: 1 VM rented, 2 blocks billed (2 small), 65 s idle, 0 suspensions, 0 returns to the pool.",
        "Unfinished: a#2 of j1: left in the pool.",
    ]
    for place, kind in ((3, "assign"), (4, "return")):
        trace.events.insert(place, {"record": "event", "t": 0, "event": kind, "task": "a#2", "vm": "v1"})
    assert describe_trace(trace)[-1] == "Unfinished: a#2 of j1: back in the pool since 0 s, from v1."


def test_a_stream_in_time() -> None:
    trace = sampled()
    trace.run["jobs"][2]["deadline_s"] = 520
    trace.end["late_tasks"] = 0
    story = describe_trace(trace)
    assert "      520 s  j3 is done, 0 s before its deadline" in story
    assert story[-2] == "In the end: 6 tasks finished by 520 s, for $0.1000; all deadlines met."
    assert not any("still to finish" in line for line in story)


def test_a_trace_that_contradicts_itself_is_refused() -> None:
    trace = sampled()
    trace.events[0]["job"] = "j7"
    with pytest.raises(SpotbagError, match="no job 'j7', which arrives at 0 s"):
        describe_trace(trace)
    trace = sampled()
    trace.events[10]["task"] = "a#3"  # suspended, but it waits
    with pytest.raises(SpotbagError, match="event 11 of the trace"):
        describe_trace(trace)


def test_the_history_has_a_run_for_each_piece_of_a_task() -> None:
    runs = [run for run in read_history(sampled()).runs if run.task == "a#2"]
    assert [(run.vm, run.start_s, run.end_s, run.ending) for run in runs] == [
        ("v1", 135, 150, "suspended"),
        ("v1", 200, 305, "finished"),
    ]
