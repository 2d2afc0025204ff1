"""What `on-time` does where no on-demand VM is to be had: there is no rescue, and what has no place stays."""

from __future__ import annotations

import numpy as np
import pytest

from spotbag.audits.auditor import audit
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.bags.timeline import Timeline, TimelineEvent
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.replay.bags.outcome import DayOutcome
from spotbag.replay.bags.runs import replay_days, trace_day
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.bags.solve import solve
from tests.helpers.tiny_days import bag, vm_type


def replayed(instance: Instance, *events: TimelineEvent) -> DayOutcome:
    """A day of a plan with each task on the first spot VM, one after the other."""
    zeros = np.zeros(instance.n_tasks, dtype=np.int64)
    start_s = np.arange(instance.n_tasks) * 50
    plan = Schedule(instance, zeros[:1], zeros, zeros, start_s, zeros.astype(bool))
    outcome, trace = trace_day(plan, "on-time", Timeline(events))
    assert audit(trace).correct
    return outcome


def test_what_is_lost_goes_to_another_spot_type() -> None:
    """Down for good at 60 s, the second task is lost and done again on the other type: from 70 s to 120 s."""
    types = [vm_type("one", spot=1, on_demand=0), vm_type("two", spot=1, on_demand=0)]
    run_times = {name: {"one": 50.0, "two": 50.0} for name in "ab"}
    outcome = replayed(bag(run_times, types, deadline_s=200, d_spot_s=200), TimelineEvent(60, "one", "hibernate"))
    assert (outcome.meets_deadline, outcome.makespan_s) == (True, 120)


@pytest.mark.parametrize(("back_s", "late"), [(90, 0), (150, 1)])
def test_without_another_type_it_waits_and_goes_on(back_s: int, late: int) -> None:
    """With 40 s of the second task left at 60 s, it is late if the type is not back by 110 s."""
    instance = bag(
        {name: {"one": 50.0} for name in "ab"}, [vm_type("one", spot=1, on_demand=0)], deadline_s=150, d_spot_s=150
    )
    down, back = TimelineEvent(60, "one", "hibernate"), TimelineEvent(back_s, "one", "resume")
    outcome = replayed(instance, down, back)
    assert (outcome.makespan_s, outcome.late_tasks, outcome.unfinished_tasks) == (back_s + 40, late, 0)


def test_what_has_no_place_stays_where_it_is() -> None:
    instance = bag(
        {name: {"one": 50.0} for name in "ab"}, [vm_type("one", spot=1, on_demand=0)], deadline_s=150, d_spot_s=150
    )
    outcome = replayed(instance, TimelineEvent(60, "one", "hibernate"))
    assert (outcome.unfinished_tasks, outcome.makespan_s) == (1, None)


@pytest.mark.slow
def test_it_is_late_on_fewer_days_than_policies_that_count_on_on_demand_vms() -> None:
    """Also of a plan that was made for days with on-demand VMs; who knows these days is late on none."""
    instance = library_instance("hads/J60").replace(limits={"max_on_demand": 0}, d_spot_s=1274)
    plan = solve(instance, "greedy").schedule
    assert plan is not None
    days = replay_days(plan, ["hads", "burst-hads", "on-time"], find_scenario("hads/sc4"), 30, hindsight=True)
    hads, burst_hads, on_time = (summary.misses for summary in days.summaries())
    assert 0 < on_time < min(hads, burst_hads)
    assert None not in days.hindsight_usd
    assert all(day.unfinished_tasks == 0 for outcomes in days.outcomes for day in outcomes)
