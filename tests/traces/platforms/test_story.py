"""The story of a replay on a hybrid platform, and what does not draw one."""

from __future__ import annotations

import pytest

from spotbag.core.errors import SpotbagError
from spotbag.traces.stories import describe_trace
from tests.helpers.hand_made_platform_traces import moved, rented, stuck

STORY = """\
moved by hand, policy by-hand, seed 3: 5 jobs on 1 dedicated cluster, 1 allocated cluster, 1 cloud
        0 s  first arrives (10 processor-minutes, priority 5, due by 600 s, budget 20): to d, to end at 300 s for 0
        0 s  d starts first
       60 s  humble arrives (10 processor-minutes, priority 1, due by 660 s, budget 12): to d, to end at 600 s for 0
      120 s  urgent arrives (14 processor-minutes, priority 9, due by 840 s, budget 20): to d, to end at 720 s for 0; \
it displaces humble
      120 s  humble, displaced from d: to a, to end at 420 s for 10
      120 s  a starts humble
      180 s  hopeless arrives (6 processor-minutes, priority 5, due by 480 s, budget 5): to d, to end at 900 s for 0, \
420 s late
      240 s  large arrives (40 processor-minutes, priority 5, due by 1,080 s, budget 500): to c, to end at 1,080 s for \
480
      240 s  c starts large on 2 machines (c-1, c-2, new)
      300 s  d ends first, 300 s before its deadline
      300 s  d starts urgent
      420 s  a ends humble, 240 s before its deadline
      720 s  d ends urgent, 120 s before its deadline
      720 s  d starts hopeless
      840 s  c ends large, 240 s before its deadline
      900 s  d ends hopeless, 420 s after its deadline
    3,840 s  given back with the hour that is paid: c-1, c-2, idle for 6,000 s together
In the end: 5 of 5 jobs ended by 900 s, for 490 units of cost; 1 job late, by 420 s together.
Over the run: 6 placements, 5 of them good; 1 job displaced, 0 of which stayed; 2 machines rented for 2 hours.
Late: hopeless by 420 s on d.
"""


def test_jobs_and_machines() -> None:
    assert describe_trace(moved()) == STORY.splitlines()


def test_jobs_that_nobody_wants() -> None:
    story = describe_trace(stuck())
    assert story[1].endswith("due by 400 s, budget 3): to a, to end at 300 s for 3.5, 0.5 over its budget")
    assert "      120 s  low, displaced from d, stays there: nobody else takes it" in story
    assert story[9].endswith("budget 2): nobody offers to run it; behind all others to a, to end at 480 s for 1.5")
    assert story[-3:] == [
        "In the end: 6 of 6 jobs ended by 600 s, for 7.5 units of cost; 1 job late, by 170 s together, "
        "1 job over budget, by 0.5 together.",
        "Over the run: 6 placements, 5 of them good; 1 job displaced, 1 of which stayed; "
        "1 job that nobody offered to run.",
        "Late: low by 170 s on d.",
    ]


def test_machines_that_are_used_again() -> None:
    story = describe_trace(rented())
    assert "    3,100 s  c starts three on 1 machine (c-2)" in story
    assert "    3,600 s  given back with the hour that is paid: c-1, idle for 600 s" in story
    trace = rented()
    trace.events[13]["vms"] = ["c-1", "c-2"]
    trace.events[12:12] = [{"record": "event", "t": 3100, "event": "launch", "vm": "c-9", "resource": "c"}]
    trace.events[14]["vms"].append("c-9")
    assert "    3,100 s  c starts three on 3 machines (c-1, c-2, c-9, 1 of them new)" in describe_trace(trace)


def test_all_is_well() -> None:
    trace = moved()
    trace.instance["jobs"][3]["deadline_s"] = 900
    trace.end.update({"late_jobs": 0, "delay_s": 0})
    story = describe_trace(trace)
    assert story[-2].endswith("for 490 units of cost; all deadlines and budgets kept.")
    assert not any(line.startswith("Late") for line in story)


@pytest.mark.parametrize(
    ("place", "field", "event"),
    [
        (0, {"job": "j7"}, "event 1 of the trace .'submit' at 0 s.: 'j7' is not known"),
        (1, {"resource": "e"}, "event 2 .*: 'e' is not known"),
        (6, {"displaced": ["j8"]}, "event 7 .*: 'j8' is not known"),
        (15, {"vms": ["c-3"]}, "event 16 .*: 'c-3' is not known"),
        (23, {"vm": "c-3"}, "event 24 .*: 'c-3' is not known"),
    ],
)
def test_a_trace_that_contradicts_itself_is_refused(place: int, field: dict[str, object], event: str) -> None:
    trace = moved()
    trace.events[place].update(field)
    with pytest.raises(SpotbagError, match=event):
        describe_trace(trace)
