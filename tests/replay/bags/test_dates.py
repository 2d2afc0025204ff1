"""Days of tasks with dates, by hand, with the arithmetic beside them; and quiet days, which are the plan.

A VM runs u, of 50 s, and then t, of 100 s, which is not ready before 120 s. New VMs take tasks after 10 s.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spotbag.audits.auditor import audit
from spotbag.core.errors import InputError, SpotbagError
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.bags.timeline import Timeline, TimelineEvent
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.outcome import DayOutcome
from spotbag.replay.bags.plan import replay_plan
from spotbag.replay.bags.policies import POLICIES, find_policy
from spotbag.replay.bags.runs import replay_day, replay_days, trace_day
from spotbag.schedules.lateness import late_s
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.bags.solve import solve
from spotbag.traces.bags.lateness import late_tasks
from spotbag.traces.stories import describe_trace
from spotbag.traces.trace import Trace
from tests.helpers.audited_traces import changes, edit, ends, found, not_found, trace_with
from tests.helpers.random_days import random_plan
from tests.helpers.soaks import soak
from tests.helpers.tiny_dates import dated_instance
from tests.helpers.tiny_days import ON_DEMAND_USD_PER_S, SPOT_USD_PER_S, bag, day, moments, plan, vm_type


def two_tasks(start_s: int = 120, **of_t: Any) -> Schedule:
    dates = {"t": {"ready_s": 120} | of_t}
    instance = bag({"u": {"a": 50}, "t": {"a": 100}}, [vm_type("a")], dates=dates)
    return plan(instance, ["a spot"], {"u": (0, 0, 0), "t": (0, 0, start_s)})


def traced(schedule: Schedule, policy: str, timeline: Timeline, **how: Any) -> tuple[DayOutcome, Trace]:
    """What a day comes to, and its trace, with which the auditor agrees."""
    outcome, trace = trace_day(schedule, policy, timeline, **how)
    report = audit(trace, given=schedule.instance)
    assert report.findings == ()
    assert report.cost_usd == pytest.approx(outcome.cost_usd)
    return outcome, trace


# ---------------------------------------------------------------------------- releases


@pytest.mark.parametrize("policy", ["static", "hads", "burst-hads", "rescue"])
def test_a_core_waits_for_its_next_task_and_is_paid_meanwhile(policy: str) -> None:
    outcome, trace = traced(two_tasks(), policy, day())
    assert moments(trace.events, "start", task="t") == [120]
    assert (outcome.makespan_s, outcome.meets_deadline) == (220, True)
    assert outcome.cost_usd == pytest.approx(220 * SPOT_USD_PER_S)


@pytest.mark.parametrize(
    ("kind", "down_s", "back_s", "start_s"),
    [
        ("hibernate", 60, 100, 120),  # as it waits, for 40 s: it waits for 20 s more, not for 60
        ("hibernate", 60, 150, 150),  # it has been ready for 30 s
        ("hibernate", 20, 65, 120),  # u ends at 95 s
        ("hibernate", 20, 115, 145),  # u ends at 145 s
        ("stop", 60, 100, 120),
        ("stop", 20, 65, 120),  # u begins anew at 65 s
        ("stop", 20, 115, 165),  # u begins anew at 115 s
    ],
)
def test_after_a_pause_there_is_less_time_to_wait(kind: Any, down_s: int, back_s: int, start_s: int) -> None:
    events = TimelineEvent(down_s, "a", kind), TimelineEvent(back_s, "a", "resume")
    outcome, trace = traced(two_tasks(), "static", Timeline(events, "a pause"))
    assert moments(trace.events, "start", task="t") == [start_s]
    assert outcome.makespan_s == start_s + 100
    assert outcome.cost_usd == pytest.approx((start_s + 100 - (back_s - down_s)) * SPOT_USD_PER_S)


def test_where_memory_binds_a_task_waits_for_it_from_when_it_is_ready() -> None:
    """Beside w, which runs to 150 s and takes the rest of the memory, on the other core."""
    runtimes = {"w": {"a": 150}, "u": {"a": 30}, "t": {"a": 100}}
    memory = {"w": 600, "t": 600}
    instance = bag(runtimes, [vm_type("a", vcpus=2)], memory_mb=memory, dates={"t": {"ready_s": 120}})
    schedule = plan(instance, ["a spot"], {"w": (0, 0, 0), "u": (0, 1, 0), "t": (0, 1, 150)})
    outcome, trace = traced(schedule, "static", day(a=[100, 110]))
    assert moments(trace.events, "start", task="t") == [160]
    assert outcome.makespan_s == 260


def test_a_task_that_is_moved_waits_where_it_goes() -> None:
    """At 60 s, to a new VM, which is paid from then on."""
    outcome, trace = traced(two_tasks(), "burst-hads", day(a=[60]))
    assert moments(trace.events, "migrate", task="t", kind="new") == [60]
    assert moments(trace.events, "start", task="t") == [120]
    assert outcome.cost_usd == pytest.approx(60 * SPOT_USD_PER_S + 160 * ON_DEMAND_USD_PER_S)


def test_nobody_is_asked_for_time_in_which_a_task_is_not_ready() -> None:
    """On a VM that is busy to 100 s, t would begin at 120 s, and end by 220 s: 10 s after it is due there."""
    runtimes = {"v": {"b": 100}, "t": {"a": 50, "b": 100}}
    for due_s, kind in ((220, "busy"), (219, "new")):
        dates = {"t": {"ready_s": 120, "deadline_s": due_s}}
        types = [vm_type("a"), vm_type("b", spot=0)]
        schedule = plan(
            bag(runtimes, types, dates=dates), ["a spot", "b on-demand"], {"v": (1, 0, 0), "t": (0, 0, 120)}
        )
        outcome, trace = traced(schedule, "burst-hads", day(a=[60]))
        assert moments(trace.events, "migrate", task="t", kind=kind) == [60]
        assert outcome.meets_deadline


@pytest.mark.parametrize(("ready_s", "stolen"), [(15, 1), (20, 1), (21, 0)])
def test_what_is_not_ready_is_not_stolen(ready_s: int, stolen: int) -> None:
    """One VM is idle from 20 s on, on the other y is to start at 150 s, after its cycle."""
    instance = bag({"x": {"a": 150}, "y": {"a": 50}, "z": {"a": 20}}, [vm_type("a")], dates={"y": {"ready_s": ready_s}})
    schedule = plan(instance, ["a spot", "a spot"], {"x": (0, 0, 0), "y": (0, 0, 150), "z": (1, 0, 0)})
    outcome, trace = traced(schedule, "hads", day())
    assert moments(trace.events, "steal", task="y") == [20] * stolen
    assert outcome.makespan_s == (150 if stolen else 200)


# --------------------------------------------------------------------------- deadlines


def test_a_task_is_late_for_its_own_deadline_by_its_weight() -> None:
    """It ends at 240 s, 30 s after it is due; the bag has time until 400 s."""
    outcome, trace = traced(two_tasks(deadline_s=210, weight=2.5, ready_s=110), "static", day(a=[130, 150]))
    assert (outcome.makespan_s, outcome.late_tasks, outcome.late_weight) == (240, 1, 2.5)
    assert not outcome.meets_deadline
    assert (trace.end["late_tasks"], trace.end["late_weight"]) == (1, 2.5)
    assert audit(trace).notes == ("1 task late for the deadlines, by up to 30 s",)
    assert list(late_tasks(trace)) == ["t"]
    story = describe_trace(trace)
    assert "deadlines missed (1 task late)" in story[-3]
    assert "t by 30 s" in story[-1]


def test_in_time_it_says_how_much_there_is_to_spare() -> None:
    _, trace = traced(two_tasks(deadline_s=270), "static", day())
    assert "deadlines met (50 s to spare)" in " ".join(describe_trace(trace))
    assert "late_weight" not in trace.end


@pytest.mark.parametrize(
    ("dates", "trigger_s"),
    [
        ({"deadline_s": 300}, 190),  # 300 - (100 + 10)
        ({"ready_s": 250}, 290),  # as if it were ready: 400 - (100 + 10)
        ({"ready_s": 150, "deadline_s": 300}, 190),
    ],
)
def test_the_migration_trigger_is_set_by_when_a_task_is_due(dates: dict[str, int], trigger_s: int) -> None:
    instance = bag({"t": {"a": 100}}, [vm_type("a")], dates={"t": dates})
    schedule = plan(instance, ["a spot"], {"t": (0, 0, dates.get("ready_s", 0))})
    outcome, trace = traced(schedule, "hads", day(a=[30]))
    assert moments(trace.events, "trigger-set", at_s=trigger_s) == [30]
    assert outcome.makespan_s == trigger_s + 110
    assert outcome.meets_deadline


def test_what_cannot_be_in_time_is_known_to_be_late_by_its_own_deadline() -> None:
    """Moved at 130 s, it ends at 240 s."""
    _, trace = traced(two_tasks(deadline_s=230), "burst-hads", day(a=[130]))
    [moved] = [event for event in trace.events if event["event"] == "migrate"]
    assert moved["late"]
    _, trace = traced(two_tasks(deadline_s=240), "burst-hads", day(a=[130]))
    [moved] = [event for event in trace.events if event["event"] == "migrate"]
    assert not moved.get("late")


# ---------------------------------------------------------------------------- refusals

UNABLE = [name for name, kind in POLICIES.items() if not kind.dates]


@pytest.mark.parametrize("policy", UNABLE)
def test_policies_of_one_long_job_refuse_dates_by_name(policy: str) -> None:
    assert set(UNABLE) == {"uniform-progress", "greedy-spot", "time-sliced"}
    with pytest.raises(InputError, match=rf"of their own \(t\), which the policy {policy} does not know: .*hads"):
        replay_day(two_tasks(), policy)
    with pytest.raises(InputError, match=policy):
        replay_days(two_tasks(), ["static", policy], find_scenario("quiet"), 1)
    with pytest.raises(InputError, match=policy):
        Replay(replay_plan(two_tasks()), find_policy(policy))


def test_a_plan_that_starts_a_task_before_it_is_ready_cannot_be_carried_out() -> None:
    with pytest.raises(SpotbagError, match="cannot be carried out: release: task 't' starts at 119 s"):
        replay_day(two_tasks(start_s=119))


# -------------------------------------------------------------------------- the auditor


def late_day() -> Trace:
    return trace_day(two_tasks(deadline_s=210, weight=2.5, ready_s=110), "static", day(a=[130, 150]))[1]


def test_every_small_change_of_a_day_is_found() -> None:
    n, passed = not_found(changes(late_day()))
    assert n > 50
    assert passed == []


def test_a_start_before_a_task_is_ready_is_found_by_how_much() -> None:
    early = trace_with(late_day, [edit("start", 1, t=105)])
    assert found(early)["release"] == 5
    planned = late_day()
    planned.run["plan"][0]["cores"][0][1]["start_s"] = 107
    assert found(planned)["release"] == 3
    assert found(trace_with(late_day, [ends(late_weight=1)])) == {"figures": 1.5}
    later = late_day()
    later.instance["tasks"][1]["deadline_s"] = 250
    assert found(later)["figures"] == 2.5


# ------------------------------------------------------------------------- quiet days


def demand_plan(schedule: Schedule) -> int:
    """Demand that a quiet day is the plan, to the second and the cent; return how many tasks are late."""
    outcome, instance = replay_day(schedule, "static"), schedule.instance
    late, weight = late_s(schedule, instance) > 0, instance.weight[instance.task_group]
    assert outcome.makespan_s == schedule.makespan_s
    assert outcome.cost_usd == pytest.approx(schedule.cost_usd, abs=1e-9)
    assert (outcome.late_tasks, outcome.late_weight) == (late.sum(), pytest.approx(weight[late].sum()))
    return outcome.late_tasks


def demand_plans(seeds: range) -> None:
    """Look at plans of random bags: those of the search, and others, with late tasks."""
    looked_at = late = 0
    for seed in seeds:
        instance, rng = dated_instance(seed), np.random.default_rng(seed)
        if instance.machines:  # from a state
            continue
        found = solve(instance, "search", options={"moves": 500}).schedule
        assert found is None or demand_plan(found) == 0
        looked_at += found is not None
        for drawn in (random_plan(instance, rng) for _ in range(5)):
            late += 0 if drawn is None else demand_plan(drawn)
    assert 3 * looked_at > len(seeds)
    assert late


@pytest.mark.slow
def test_a_quiet_day_is_the_plan() -> None:
    demand_plans(range(20))


@soak(60, 600)
def test_quiet_days_of_hundreds_of_bags_are_their_plans(how_many: int) -> None:
    demand_plans(range(20, 20 + how_many))


def test_a_replay_that_is_looked_at_knows_when_a_task_would_end() -> None:
    """Policies of one's own ask for it: where nothing else is, t would run from 120 s on."""
    instance = bag({"u": {"a": 50}, "t": {"a": 100}}, [vm_type("a")], dates={"t": {"ready_s": 120}})
    schedule = plan(instance, ["a spot", "a spot"], {"u": (0, 0, 0), "t": (1, 0, 120)})
    state = Replay(replay_plan(schedule), find_policy("static")).state
    assert [state.end_if_placed_s(vm, task) for vm in state.vms for task in range(2)] == [100, 220, 270, 320]
