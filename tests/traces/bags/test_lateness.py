"""Why days miss their deadline."""

from __future__ import annotations

from spotbag.replay.bags.runs import trace_day
from spotbag.schedules.schedule import Schedule
from spotbag.traces.bags.lateness import (
    RESCUE_GONE,
    RESUMED_WITH_TOO_MUCH,
    TOO_LATE_AGAIN,
    WAITED,
    cause_of_day,
    late_tasks,
)
from tests.helpers.tiny_days import CHECKPOINTS, bag, day, plan, vm_type


def one_task() -> Schedule:
    instance = bag({"t": {"a": 100}}, [vm_type("a")], checkpoint=CHECKPOINTS)
    return plan(instance, ["a spot"], {"t": (0, 0, 0)})


def test_a_day_in_time_has_no_late_tasks() -> None:
    trace = trace_day(one_task(), "hads", day(a=[30]))[1]
    assert (late_tasks(trace), cause_of_day(trace)) == ({}, None)


def test_static_waits() -> None:
    assert late_tasks(trace_day(one_task(), "static", day(a=[30]))[1]) == {"t": WAITED}
    assert late_tasks(trace_day(one_task(), "static", day(a=[30, 500]))[1]) == {"t": WAITED}


def test_hads_hibernates_again_after_it_has_waited() -> None:
    """Resumed at 289 s, a second before the trigger, it hibernates again at 300 s: 41 s are done, none saved."""
    outcome, trace = trace_day(one_task(), "hads", day(a=[30, 289, 300]))
    assert outcome.makespan_s == 300 + 110
    assert late_tasks(trace) == {"t": TOO_LATE_AGAIN}


def test_hads_counts_the_same_rescue_twice() -> None:
    types = [vm_type("a", on_demand=0), vm_type("b", on_demand=0), vm_type("c", spot=0)]
    runtimes = {"t": {"a": 100, "b": 100, "c": 100}, "u": {"a": 100, "b": 100, "c": 100}}
    instance = bag(runtimes, types, limits={"max_on_demand": 1})
    schedule = plan(instance, ["a spot", "b spot"], {"t": (0, 0, 0), "u": (1, 0, 0)})
    assert late_tasks(trace_day(schedule, "hads", day(a=[40], b=[40]))[1]) == {"u": RESCUE_GONE}


def test_what_nothing_could_take_has_waited() -> None:
    """No on-demand offer: at the trigger the task is stranded, and goes on when its VM resumes at 500 s, or never."""
    instance = bag({"t": {"a": 150}}, [vm_type("a", on_demand=0)])
    schedule = plan(instance, ["a spot"], {"t": (0, 0, 0)})
    for timeline in (day(a=[50]), day(a=[50, 500])):
        assert late_tasks(trace_day(schedule, "hads", timeline)[1]) == {"t": WAITED}


def test_hads_resumes_just_before_the_trigger_with_more_left_than_the_time() -> None:
    """Two tasks of 100 s in a row: 200 s left on the VM at 288 s; on two new cores they would have taken 100 s."""
    instance = bag(
        {"t": {"a": 100, "c": 100}, "u": {"a": 100, "c": 100}},
        [vm_type("a"), vm_type("c", 2, spot=0, on_demand_usd_per_s=0.001)],
    )
    schedule = plan(instance, ["a spot"], {"t": (0, 0, 0), "u": (0, 0, 100)})
    outcome, trace = trace_day(schedule, "hads", day(a=[1, 288]))
    assert outcome.makespan_s == 288 + 199
    assert late_tasks(trace) == {"u": RESUMED_WITH_TOO_MUCH}


def test_a_day_has_one_cause_that_of_the_task_that_ends_last() -> None:
    """The day of each of the two tests above, at once: t ends at 410 s, v at 487 s."""
    types = [vm_type("a"), vm_type("b", on_demand=0), vm_type("c", 2, spot=0, on_demand_usd_per_s=0.001)]
    runtimes = {"t": {"a": 100}, "u": {"b": 100, "c": 100}, "v": {"b": 100, "c": 100}}
    places = {"t": (0, 0, 0), "u": (1, 0, 0), "v": (1, 0, 100)}
    schedule = plan(bag(runtimes, types), ["a spot", "b spot"], places)
    trace = trace_day(schedule, "hads", day(a=[30, 289, 300], b=[1, 288]))[1]
    assert late_tasks(trace) == {"t": TOO_LATE_AGAIN, "v": RESUMED_WITH_TOO_MUCH}
    assert cause_of_day(trace) == RESUMED_WITH_TOO_MUCH
