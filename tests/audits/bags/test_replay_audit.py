"""The auditor: passes what is right, finds every change of it, and says by how much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from spotbag.audits.auditor import audit, audit_traces
from spotbag.audits.findings import AuditReport
from spotbag.core.errors import InputError
from spotbag.traces.trace import Trace
from tests.helpers import hand_made_traces
from tests.helpers.audited_traces import at, changes, event, found, happens, not_found
from tests.helpers.hand_made_traces import bursting, hibernated_and_resumed, recovered, stolen, stranded

# ------------------------------------------------------------------ what is right


@pytest.mark.parametrize("make", hand_made_traces.ALL)
def test_what_is_right_passes(make: Callable[[], Trace]) -> None:
    trace = make()
    report = audit(trace)
    assert report.findings == ()
    assert report.correct
    assert report.cost_usd == pytest.approx(trace.end["cost_usd"], rel=1e-12)
    assert report.makespan_s == trace.end["makespan_s"]
    assert sum(report.vm_cost_usd.values()) == pytest.approx(report.cost_usd)


def test_reports_of_many_traces_are_those_of_each() -> None:
    traces = [make() for make in hand_made_traces.ALL]
    assert audit_traces(traces) == [audit(trace) for trace in traces]
    assert audit_traces([traces[0], traces[0]]) == [audit(traces[0])] * 2
    assert audit_traces([]) == []


def test_notes_say_what_went_wrong_though_the_trace_is_right() -> None:
    assert audit(stranded()).notes == (
        "1 task late for the deadline (400 s), by up to 45 s",
        "1 task unfinished",
        "1 task migrated too late to count on the deadline; 0 of them met it",
    )


def test_free_first_hour_and_the_price_of_hibernation() -> None:
    trace = hibernated_and_resumed(first_hour_free=True, hibernated_usd_per_gb_hour=0.6)
    # 90 of 270 s come before the first hibernation; 1 GB for 60 s is 1/60 GB hour.
    trace.end["cost_usd"] = 180 * 0.0001 + 0.6 / 60
    assert audit(trace).findings == ()


def test_a_bag_ends_the_boot_of_a_vm() -> None:
    trace = hibernated_and_resumed()
    trace.events.insert(5, {"record": "event", "t": 335, "event": "finish"})
    del trace.events[5]
    trace.events.insert(5, trace.events[4] | {"event": "launch", "vm": "b", "type": "one", "market": "on-demand"})
    trace.events.append(trace.events[-1] | {"vm": "b"})
    trace.end["on_demand_started"] = 1
    report = audit(trace)  # ready at 170 at the latest, but it never was
    assert {finding.rule for finding in report.findings} == {"ready"}
    assert report.findings[0].amount == 170
    trace.instance["boot_overhead_s"] = 180
    assert "ready" in found(trace)  # that of the other VM


def test_a_vm_that_is_ready_while_its_type_is_down_hibernates_at_once() -> None:
    trace = hibernated_and_resumed()
    trace.run["timeline"]["events"][0]["time_s"] = 5
    for entry in trace.events:
        if entry["event"] == "hibernate":
            entry["t"] = 10
        elif entry["event"] == "start":
            entry["t"] = 160
        elif entry["t"] == 340:
            entry["t"] = 430
    trace.events[2], trace.events[3], trace.events[4] = trace.events[3], trace.events[4], trace.events[2]
    trace.end.update({"t": 430, "makespan_s": 430})
    assert audit(trace).findings == ()
    del trace.events[2:4]
    assert found(trace)["timeline"] == 1


# --------------------------------------------------------- every change is found


@pytest.mark.parametrize("make", hand_made_traces.ALL)
def test_every_change_is_found(make: Callable[[], Trace]) -> None:
    count, missed = not_found(changes(make()))
    assert not missed
    assert count > 50


def test_prices_and_other_fields_of_the_instance_matter() -> None:
    for path, value in (
        (("vm_types", 0, "offers", "spot", "price_usd_per_hour"), 0.3601),
        (("boot_overhead_s",), 11),
        (("tasks", 0, "runtime_s", "two"), 251),
        (("checkpoint", "dump_base_s"), 6),
        (("vm_types", 0, "memory_mb"), 499),
    ):
        trace = hibernated_and_resumed()
        place: Any = trace.instance
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        assert not audit(trace).correct, path


# ------------------------------------------------------------- one rule at a time


def test_credits_that_lack() -> None:
    trace = bursting()
    trace.instance["vm_types"][2]["burstable"]["credits_per_hour"] = 35
    assert found(trace) == {"credits": pytest.approx(120 / 3600)}
    trace = bursting()
    trace.instance["vm_types"][2]["burstable"].update(max_credits=0.9, initial_credits=0.9)
    assert found(trace) == {"credits": pytest.approx(0.1)}
    trace = bursting()
    event(trace, "start", 1)["mode"] = "burst"
    event(trace, "start", 1)["duration_s"] = 12
    trace.run["plan"][0]["cores"][1][0]["mode"] = "burst"
    # 1 + 0.6 - 2 credits after the first minute, and 0.6 - 1 in the second.
    assert found(trace) == {"credits": pytest.approx(0.4 + 0.4), "run-time": 48}


def test_memory_and_cores() -> None:
    trace = stranded()
    trace.instance["tasks"][1]["memory_mb"] = 530
    rules = found(trace)
    assert rules["memory"] == pytest.approx(500 + 530 - 1024)
    trace = stranded()
    event(trace, "start", 1)["core"] = 0
    assert found(trace) == {"core": 270, "timetable": 1}
    event(trace, "start", 1)["core"] = 2
    assert found(trace) == {"placement": 1, "timetable": 1}


def test_a_task_that_finishes_now_leaves_its_memory_whatever_is_recorded_first() -> None:
    trace = bursting()
    for task in trace.instance["tasks"][1:]:
        task["memory_mb"] = 1500
    assert audit(trace).findings == ()  # "second" starts before it is recorded that "slow" has finished
    trace.instance["tasks"][0]["memory_mb"] = 1500
    assert found(trace) == {"memory": pytest.approx(2 * 1500 - 2048)}


def test_limits() -> None:
    for limits, vm_limit, over in (({"max_on_demand": 1}, 1, 1), ({"max_on_demand": 0}, 1, 2), ({"max_spot": 1}, 1, 0)):
        trace = stolen()
        trace.instance["limits"] = limits
        trace.instance["vm_types"][1]["offers"]["on-demand"]["limit"] = vm_limit
        rules = found(trace)
        assert rules == ({"limit": over} if over else {})
    trace = recovered()
    trace.instance["markets"] = ["spot"]
    assert audit(trace).correct  # what rescues a plan may be outside of its markets
    assert audit(trace).notes == ("on-demand VMs are started during the day; the instance allows none in its plans",)
    trace = stolen()
    trace.instance["markets"] = ["spot"]
    assert "limit" in found(trace)


@pytest.mark.parametrize(
    "limits",
    [
        {"max_spot": 0, "max_on_demand": 1},
        {
            "quotas": [
                {"market": market, "vms": most} for market, most in (("spot", 0), ("on-demand", 2), ("on-demand", 1))
            ]
        },
        {"max_spot": 0, "max_on_demand": 9, "quotas": [{"market": "on-demand", "vms": 1}]},
    ],
)
def test_the_on_demand_baseline_keeps_the_limits_of_all_markets_together(limits: dict[str, Any]) -> None:
    trace = stolen()  # two VMs on demand
    trace.run["hibernation"] = False
    trace.instance["vm_types"][0]["offers"]["spot"]["limit"] = 9
    trace.instance["limits"] = limits
    assert found(trace) == {"limit": 1}


def test_a_type_may_be_rented_again_when_one_has_ended() -> None:
    trace = stolen()
    at = next(index for index, entry in enumerate(trace.events) if entry["event"] == "terminate")
    launch = {"record": "event", "t": 210, "event": "launch", "vm": "c", "type": "two", "market": "on-demand"}
    rest = [
        {"record": "event", "t": 220, "event": "ready", "vm": "c"},
        {"record": "event", "t": 220, "event": "terminate", "vm": "c"},
    ]
    trace.events[at + 1 : at + 1] = [launch, *rest]
    trace.end["on_demand_started"] = 1
    assert audit(trace).findings == ()
    trace.events.insert(at, trace.events.pop(at + 1))
    assert found(trace) == {"limit": 1}


def test_work_that_was_not_saved() -> None:
    trace = recovered()
    for kind in ("migrate", "start"):
        event(trace, kind, -1)["saved"] = 0.84
    event(trace, "start", 1)["duration_s"] = 80
    assert found(trace) == {"saved": pytest.approx(0.04), "run-time": 20}
    # A second before the second checkpoint is written, only the first counts.
    trace = recovered()
    for entry in trace.events[3:5]:
        entry["t"] = 229
    trace.run["timeline"]["events"][0]["time_s"] = 229
    rules = found(trace)
    assert rules["saved"] == pytest.approx(0.4)
    assert rules["run-time"] == 200  # 500 * 0.6 = 300 s are left, not 100
    assert rules["figures"] == pytest.approx(100)


def test_what_may_not_be_migrated_or_stolen() -> None:
    trace = recovered()
    del trace.run["timeline"]["events"][0]
    trace.events[3:6] = []
    assert "migration" in found(trace)
    trace = stolen()
    steal = event(trace, "steal")
    steal["task"] = "long"  # which runs
    assert "steal" in found(trace)


def test_a_hibernated_vm_runs_nothing() -> None:
    trace = hibernated_and_resumed()
    event(trace, "finish")["t"] = 150
    trace.events.insert(4, trace.events.pop(5))
    rules = found(trace)
    assert rules["state"] == 1
    assert rules["run-time"] == 180


def set_trigger(trace: Trace, after: dict[str, Any], at_s: int) -> None:
    """Let VM a set its migration trigger right after an event."""
    entry = {"record": "event", "t": after["t"], "event": "trigger-set", "vm": "a", "at_s": at_s}
    trace.events.insert(trace.events.index(after) + 1, entry)


@pytest.mark.parametrize(("at_s", "missed_s"), [(160, 0), (159, 1), (100, 60)])
def test_a_trigger_that_passes_before_the_vm_resumes_is_missed(at_s: int, missed_s: int) -> None:
    """VM a hibernates from 100 to 160 s; a resume comes before a trigger of the same second."""
    trace = hibernated_and_resumed()
    set_trigger(trace, event(trace, "hibernate"), at_s)
    assert found(trace) == ({"trigger": missed_s} if missed_s else {})


@pytest.mark.parametrize(("at_s", "missed_s"), [(445, 0), (444, 1), (385, 60)])
def test_a_trigger_that_passes_before_it_is_set_anew_is_missed(at_s: int, missed_s: int) -> None:
    """After its trigger at 145 s, VM a sets another one, and sets it anew when VM b has nothing left, at 445 s."""
    trace = stranded()
    set_trigger(trace, event(trace, "stranded"), at_s)
    set_trigger(trace, event(trace, "finish"), 510)
    trace.events.insert(at(trace, "cycle-end", 1), happens(510, "trigger", vm="a"))
    assert found(trace) == ({"trigger": missed_s} if missed_s else {})


@pytest.mark.parametrize(("at_s", "missed_s"), [(600, 90), (511, 1), (510, 1), (509, 1), (450, 60)])
def test_a_trigger_is_reached_before_the_replay_ends_with_unfinished_tasks(at_s: int, missed_s: int) -> None:
    """After its trigger at 145 s, VM a sets another one, and is hibernated until the end, at 510 s."""
    trace = stranded()
    set_trigger(trace, event(trace, "stranded"), at_s)
    assert found(trace) == {"trigger": missed_s}


def test_a_finish_at_the_instant_of_a_hibernation_counts() -> None:
    trace = hibernated_and_resumed()
    trace.run["timeline"]["events"] = [{"time_s": 280, "type": "two", "event": "hibernate"}]
    del trace.events[3:5]
    for entry in trace.events[3:]:
        entry["t"] = 280
    trace.end.update({"t": 280, "makespan_s": 280, "hibernations": 0, "resumes": 0})
    assert audit(trace).findings == ()
    trace.events.insert(3, {"record": "event", "t": 280, "event": "hibernate", "vm": "a"})
    trace.end["hibernations"] = 1
    assert {"order", "state", "run-time"} <= set(found(trace))


def test_a_task_that_should_have_finished_does_not_hibernate() -> None:
    trace = recovered()
    for entry in trace.events[3:5]:
        entry["t"] = 290
    trace.run["timeline"]["events"][0]["time_s"] = 290
    assert found(trace)["run-time"] == 10


def test_bills_end_with_the_bag() -> None:
    trace = recovered()
    for entry in trace.events[-2:]:
        entry["t"] = 440
    trace.end.update({"t": 440, "cost_usd": 0.061})
    report = audit(trace)
    assert {finding.rule for finding in report.findings} == {"bill", "order"}
    assert report.cost_usd == pytest.approx(0.061)
    trace = recovered()
    del trace.events[-2:]
    assert found(trace)["bill"] == 1


def test_what_arrives_on_a_new_vm_arrives_after_the_migration() -> None:
    trace = recovered()
    event(trace, "start", 1)["t"] = 320
    event(trace, "finish")["t"] = 420
    for entry in trace.events[-2:]:
        entry["t"] = 420
    trace.end.update({"t": 420, "makespan_s": 420, "cost_usd": 0.055})
    assert found(trace) == {"ready": 10, "timetable": 10}


def test_messages_name_what_where_and_how_much() -> None:
    trace = recovered()
    event(trace, "start", 1)["duration_s"] = 99
    report: AuditReport = audit(trace)
    assert [str(finding) for finding in report.findings] == [
        "run-time: start of 'long' on b at 330 s for 99 s, it takes 100 s there"
    ]
    trace = hibernated_and_resumed()
    event(trace, "resume")["t"] = 161
    assert str(audit(trace).findings[0]) == "timeline: a does not resume at 160 s, as two VMs do"


def test_records_that_are_none_are_refused() -> None:
    trace = hibernated_and_resumed()
    del trace.events[2]["core"]
    with pytest.raises(InputError, match="line 5: core is missing"):
        audit(trace)
    trace = hibernated_and_resumed()
    trace.instance["tasks"] = []
    with pytest.raises(InputError, match="tasks"):
        audit(trace)


# ------------------------------------------------------------------ the plan, the day, and how it ends


def test_a_replay_without_events_that_leaves_all_tasks_unfinished_is_not_correct() -> None:
    for make in hand_made_traces.ALL:
        trace = make()
        trace.events.clear()
        names = [task["id"] for task in trace.instance["tasks"]]
        figures = {"migrations": {"idle": 0, "busy": 0, "new": 0}, "makespan_s": None, "unfinished": names}
        trace.end.update(dict.fromkeys(trace.end, 0) | {"record": "end"} | figures)
        n_vms = len(trace.run["plan"])
        rules = Counter(finding.rule for finding in audit(trace).findings)
        assert rules.pop("timeline", 0) == bool(trace.run["timeline"]["events"])
        assert rules == {"plan": n_vms, "task-once": len(names)}


def test_tasks_are_unfinished_only_where_a_vm_stays_hibernated() -> None:
    trace = stranded()
    trace.run["timeline"]["events"].append({"time_s": 600, "type": "two", "event": "resume"})
    assert found(trace) == {"timeline": 90}  # the VM would have resumed 90 s after the end
    trace = stolen()
    for kind in ("start", "finish"):
        trace.events.pop(at(trace, kind, -1 if kind == "finish" else 0))
    trace.end.update({"finished": 2, "unfinished": ["long"], "makespan_s": None})
    rules = found(trace)
    assert rules["timetable"] == 50  # missed when the other VM looks for something to steal
    assert rules["task-once"] == 1
    assert rules["state"] == 1


def test_a_makespan_that_is_not_said_is_off_by_one_task_and_one_too_many_by_those_that_are_left() -> None:
    trace = recovered()
    trace.end["makespan_s"] = None
    assert found(trace) == {"figures": 1}
    trace = stranded()
    trace.end["makespan_s"] = 400
    assert found(trace) == {"figures": len(trace.end["unfinished"])}


@pytest.mark.parametrize(
    ("events", "amount", "message"),
    [
        (
            [(160, "two", "resume"), (200, "two", "hibernate")],
            1,
            "resume of two at 160 s, though it has not hibernated",
        ),
        ([(100, "two", "hibernate")] * 2, 1, "hibernate of two at 100 s, after hibernate at 100 s"),
        (
            [(100, "two", "hibernate"), (100, "two", "resume")],
            1,
            "resume of two at 100 s, and hibernate at the same time",
        ),
        ([(100, "zwei", "hibernate")], 1, "hibernate of zwei at 100 s; the instance has no spot VMs of this type"),
        ([(100, "one", "hibernate")], 1, "hibernate of one at 100 s; the instance has no spot VMs of this type"),
        ([(160, "two", "hibernate"), (100, "two", "resume")], 60, "resume of two at 100 s, after an event at 160 s"),
    ],
)
def test_a_timeline_that_no_day_can_have(events: list[tuple[int, str, str]], amount: float, message: str) -> None:
    """All of it is after the end of the day that is replayed, so that nothing else comes of it."""
    trace = stolen()
    later = [{"time_s": time_s + 1000, "type": name, "event": kind} for time_s, name, kind in events]
    trace.run["timeline"]["events"] = later
    findings = audit(trace).findings
    assert [(finding.rule, finding.amount) for finding in findings] == [("timeline", amount)]
    for time_s in (100, 160):
        message = message.replace(f"{time_s} s", f"{time_s + 1000} s")
    assert findings[0].message == f"the timeline says {message}"


def test_a_vm_has_one_age_at_which_it_is_struck() -> None:
    trace = stolen()
    age = {"time_s": 0, "type": "two", "event": "hibernate", "vm": 9, "age_s": 60}  # of a VM that there never is
    trace.run["timeline"]["events"] = [age]
    assert audit(trace).correct
    trace.run["timeline"]["events"] = [age, age | {"vm": 8}, age | {"age_s": 999}]
    assert found(trace) == {"timeline": 1}


def test_a_run_without_hibernations_has_a_quiet_day() -> None:
    trace = stolen()
    trace.run["hibernation"] = False
    assert audit(trace).correct
    trace.run["timeline"]["events"] = [{"time_s": 900, "type": "two", "event": "hibernate"}]
    assert found(trace) == {"timeline": 1}


def test_a_start_that_is_dropped_is_missed_though_nothing_comes_of_it() -> None:
    """A task that hibernates before its first checkpoint and then migrates might as well never have started."""
    trace = recovered()
    trace.run["timeline"]["events"][0]["time_s"] = 100
    for kind in ("hibernate", "trigger-set"):
        event(trace, kind)["t"] = 100
    for kind in ("migrate", "start"):
        del event(trace, kind, -1)["saved"]
    del event(trace, "migrate")["recovered"]
    event(trace, "start", -1)["duration_s"] = 500
    for entry in trace.events[-3:]:
        entry["t"] = 830
    figures = {"t": 830, "makespan_s": 830, "checkpoints": 0, "recoveries": 0, "cpu_time_saved_s": 0.0}
    trace.end.update({"cost_usd": 90 * 0.0001 + 520 * 0.0003} | figures)
    assert audit(trace).findings == ()
    del trace.events[at(trace, "start")]
    assert found(trace) == {"timetable": 90}


def test_a_task_is_stolen_from_where_it_waits() -> None:
    trace = stolen()
    other = {"vm": "c", "type": "two", "market": "on-demand", "cores": [[], []]}
    trace.run["plan"].append(other)
    trace.instance["vm_types"][0]["offers"]["on-demand"]["limit"] = 2
    trace.events.insert(2, happens(0, "launch", vm="c", type="two", market="on-demand"))
    trace.events.insert(at(trace, "ready", 1) + 1, happens(10, "ready", vm="c"))
    trace.events.insert(at(trace, "finish", 1), happens(110, "cycle-end", vm="c"))
    trace.events.append(happens(510, "terminate", vm="c"))
    trace.end["cost_usd"] += 500 * 0.0002
    assert audit(trace).findings == ()
    event(trace, "steal")["from"] = "c"
    assert "steal" in found(trace)


@pytest.mark.parametrize(("moment", "idle_s"), [(100, 90), (120, 110)])
def test_a_vm_has_been_idle_for_as_long_as_the_record_says(moment: int, idle_s: int) -> None:
    """b is idle from 10 to 145 s, also when its cycle ends at 110 s; a has two tasks all the time."""
    trace = stranded()
    place = at(trace, "cycle-end") + (moment > 110)
    trace.events.insert(place, happens(moment, "idle-limit", vm="b", idle_s=idle_s))
    assert audit(trace).findings == ()
    trace.events[place]["idle_s"] -= 7
    assert found(trace) == {"idle-limit": 7}
    trace.events[place] = happens(moment, "idle-limit", vm="a", idle_s=idle_s)
    assert found(trace) == {"idle-limit": 2}


@pytest.mark.parametrize(
    ("change", "rules"),
    [
        (lambda plan: plan[1]["cores"][1].pop(), {"plan": 1, "placement": 1}),
        (lambda plan: plan[1]["cores"][1].append({"task": "short", "start_s": 60}), {"plan": 1}),
        (lambda plan: plan[1]["cores"][1].append({"task": "none", "start_s": 60}), {"plan": 1}),
        (lambda plan: plan[1]["cores"].append([]), {"plan": 1}),
        (lambda plan: plan[1]["cores"][1][0].update(start_s=9), {"plan": 1, "timetable": 1}),
        (lambda plan: plan[1]["cores"][1][0].update(start_s=13), {"timetable": 3}),
        (lambda plan: plan[1]["cores"][1][0].update(mode="burst"), {"plan": 1, "placement": 1}),
        (lambda plan: plan[0]["cores"][0][1].update(start_s=500), {"plan": 10}),
        (lambda plan: plan[1]["cores"].reverse(), {"timetable": 1}),
        (lambda plan: plan[1].update(market="spot"), {"plan": 1}),
        (lambda plan: plan[1].update(type="three"), {"plan": 1, "order": 1, "placement": 1, "ready": 20, "figures": 1}),
        (lambda plan: plan.append(plan[1] | {"vm": "d", "cores": [[], []]}), {"plan": 1}),
        (lambda plan: plan.append(plan[1] | {"cores": [[], []]}), {"plan": 1}),
    ],
)
def test_a_plan_that_is_not_the_one_that_was_replayed(
    change: Callable[[list[dict[str, Any]]], object], rules: dict[str, float]
) -> None:
    trace = stolen()
    change(trace.run["plan"])
    assert found(trace) == rules
