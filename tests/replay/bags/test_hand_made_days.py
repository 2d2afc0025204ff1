"""Days made by hand, with the arithmetic beside them.

A task of 100 s on a spot VM takes a checkpoint of 5 s after 50 s of work, so it runs for 105 s. Moved to a new VM, it
waits for 10 s. Without any other VM, 100 s of work must leave at 400 - (100 + 10) = 290 s to end at 400 s.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spotbag.audits.auditor import audit
from spotbag.core.errors import SpotbagError
from spotbag.instances.clouds import PAPERS
from spotbag.replay.bags.runs import replay_day, trace_day
from spotbag.replay.bags.state import Policy, ReplayState, Vm
from spotbag.schedules.schedule import Schedule
from spotbag.traces.stories import describe_trace
from tests.helpers.tiny_days import (
    CHECKPOINTS,
    ON_DEMAND_USD_PER_S,
    SPOT_USD_PER_S,
    bag,
    day,
    live,
    moments,
    plan,
    vm_type,
)


def one_task(**fields: object) -> Schedule:
    """One task of 100 s on a spot VM."""
    instance = bag({"t": {"a": 100}}, [vm_type("a")], checkpoint=CHECKPOINTS, **fields)
    return plan(instance, ["a spot"], {"t": (0, 0, 0)})


def bill(spot_s: float = 0, on_demand_s: float = 0) -> float:
    return spot_s * SPOT_USD_PER_S + on_demand_s * ON_DEMAND_USD_PER_S


@pytest.mark.parametrize("policy", ["static", "hads", "burst-hads"])
def test_quiet_day_is_the_plan(policy: str) -> None:
    outcome, _ = live(one_task(), policy, day())
    assert (outcome.makespan_s, outcome.checkpoints) == (105, 1)
    assert outcome.cost_usd == pytest.approx(bill(spot_s=105))


def test_hads_hibernation_before_the_first_checkpoint() -> None:
    """Nothing is saved: 100 s at 290 s on a new VM, 10 s to get there."""
    outcome, records = live(one_task(), "hads", day(a=[30]))
    assert moments(records, "trigger-set", at_s=290) == [30]
    assert moments(records, "start", vm="a-on-demand-1") == [300]
    assert (outcome.makespan_s, outcome.recoveries, outcome.migrations["new"]) == (400, 0, 1)
    assert outcome.cost_usd == pytest.approx(bill(spot_s=30, on_demand_s=110))
    assert outcome.meets_deadline


def test_hads_hibernation_just_before_the_end() -> None:
    """50 s are saved at second 55: 50 s are left, to leave at 400 - 60 = 340 s."""
    outcome, records = live(one_task(), "hads", day(a=[104]))
    assert moments(records, "trigger-set", at_s=340) == [104]
    assert (outcome.makespan_s, outcome.recoveries, outcome.cpu_time_saved_s) == (400, 1, 50.0)
    assert outcome.cost_usd == pytest.approx(bill(spot_s=104, on_demand_s=60))


@pytest.mark.parametrize(("moment", "recoveries"), [(54, 0), (55, 1)])
def test_a_checkpoint_counts_from_the_second_it_is_written(moment: int, recoveries: int) -> None:
    outcome, _ = live(one_task(), "burst-hads", day(a=[moment]))
    assert outcome.recoveries == recoveries == outcome.checkpoints
    assert outcome.makespan_s == moment + 10 + (50 if recoveries else 100)


def test_burst_hads_migrates_at_once() -> None:
    outcome, records = live(one_task(), "burst-hads", day(a=[30]))
    assert moments(records, "migrate", kind="new") == [30]
    assert outcome.makespan_s == 30 + 10 + 100
    assert outcome.cost_usd == pytest.approx(bill(spot_s=30, on_demand_s=110))


def test_hibernation_at_the_instant_of_the_last_finish_does_not_happen() -> None:
    outcome, _ = live(one_task(), "hads", day(a=[105]))
    assert (outcome.makespan_s, outcome.hibernations) == (105, 0)


def test_hibernation_at_the_instant_of_a_finish() -> None:
    """The first task counts as finished; the second has done nothing yet and goes on 100 s later."""
    instance = bag({"t": {"a": 100}, "u": {"a": 100}}, [vm_type("a")], checkpoint=CHECKPOINTS)
    schedule = plan(instance, ["a spot"], {"t": (0, 0, 0), "u": (0, 0, 105)})
    outcome, records = live(schedule, "static", day(a=[105, 205]))
    assert moments(records, "finish", task="t") == [105]
    assert (outcome.makespan_s, outcome.hibernations, outcome.resumes) == (310, 1, 1)
    assert outcome.cost_usd == pytest.approx(bill(spot_s=210))


def test_static_hibernation_twice() -> None:
    """30 s and 20 s in hibernation, both before the end; neither is billed."""
    outcome, _ = live(one_task(), "static", day(a=[30, 60, 80, 100]))
    assert (outcome.makespan_s, outcome.hibernations, outcome.resumes) == (155, 2, 2)
    assert outcome.cost_usd == pytest.approx(bill(spot_s=105))


def test_static_waits_for_ever() -> None:
    outcome, records = live(one_task(), "static", day(a=[30]))
    assert (outcome.makespan_s, outcome.unfinished_tasks, outcome.meets_deadline) == (None, 1, False)
    assert outcome.cost_usd == pytest.approx(bill(spot_s=30))
    assert moments(records, "terminate") == [30]


@pytest.mark.parametrize("moment", [289, 290])
def test_hads_resumes_before_or_at_the_trigger(moment: int) -> None:
    """75 s are left from the break-point; a resume comes before a trigger of the same second."""
    outcome, records = live(one_task(), "hads", day(a=[30, moment]))
    assert moments(records, "trigger") == []
    assert (outcome.makespan_s, outcome.resumes_in_time, outcome.on_demand_started) == (moment + 75, 1, 0)
    assert outcome.cost_usd == pytest.approx(bill(spot_s=105))


def test_hads_resumes_just_after_the_trigger() -> None:
    """The VM finds nothing to steal and is billed for the 70 s that its first cycle has left."""
    outcome, records = live(one_task(), "hads", day(a=[30, 291]))
    assert moments(records, "trigger") == [290]
    assert moments(records, "steal-attempt", stolen=0)[0] == 291
    assert moments(records, "cycle-end", vm="a-spot-1") == [361]
    assert (outcome.makespan_s, outcome.resumes_in_time) == (400, 0)
    assert outcome.cost_usd == pytest.approx(bill(spot_s=100, on_demand_s=110))


def test_hads_hibernates_again_after_a_resume_in_time() -> None:
    """After 65 s of work in two pieces, one checkpoint is there; 50 s must leave at 340 s."""
    outcome, records = live(one_task(), "hads", day(a=[30, 100, 140]))
    assert moments(records, "trigger-set", at_s=290) == [30]
    assert moments(records, "trigger-set", at_s=340) == [140]
    assert (outcome.makespan_s, outcome.recoveries) == (400, 1)
    assert outcome.cost_usd == pytest.approx(bill(spot_s=70, on_demand_s=60))


def test_work_left_counts_as_a_fraction_on_a_faster_type() -> None:
    """Half is saved; the rest takes half of 60 s on demand, where b is cheaper than a."""
    types = [vm_type("a"), vm_type("b", spot=0, on_demand_usd_per_s=0.002)]
    instance = bag({"t": {"a": 100, "b": 60}}, types, checkpoint=CHECKPOINTS)
    outcome, records = live(plan(instance, ["a spot"], {"t": (0, 0, 0)}), "burst-hads", day(a=[60]))
    assert moments(records, "start", vm="b-on-demand-1", duration_s=30) == [70]
    assert outcome.makespan_s == 100
    assert outcome.cost_usd == pytest.approx(0.06 + 0.002 * 40)


def test_idle_vm_hibernates() -> None:
    """VM a has nothing left at 20 s; its cycle stands still from 50 to 130 s and so ends at 180 s, not 100."""
    instance = bag({"s": {"a": 20}, "u": {"b": 200}}, [vm_type("a"), vm_type("b")])
    schedule = plan(instance, ["a spot", "b spot"], {"s": (0, 0, 0), "u": (1, 0, 0)})
    outcome, records = live(schedule, "hads", day(a=[50, 130]))
    assert moments(records, "trigger-set") == []
    assert moments(records, "cycle-end", vm="a-spot-1") == [180]
    assert outcome.makespan_s == 200
    assert outcome.cost_usd == pytest.approx(bill(spot_s=200 + 50 + 50))


@pytest.mark.parametrize(("first_s", "stolen"), [(99, 0), (100, 1)])
def test_steal_only_what_starts_in_a_later_cycle(first_s: int, stolen: int) -> None:
    """At 20 s, VM b is in its first cycle, up to 100 s: a task planned for 100 s may be stolen, for 99 s not."""
    runtimes = {"s": {"a": 20, "b": 20}, "u": {"b": first_s}, "v": {"a": 80, "b": 80}}
    instance = bag(runtimes, [vm_type("a"), vm_type("b")])
    schedule = plan(instance, ["a spot", "b spot"], {"s": (0, 0, 0), "u": (1, 0, 0), "v": (1, 0, first_s)})
    outcome, _ = live(schedule, "hads", day())
    assert outcome.tasks_stolen == outcome.steals == stolen
    assert outcome.makespan_s == (100 if stolen else 179)
    # Stolen: a works to the end, 100 s. Not: a stays to the end of its cycle.
    assert outcome.cost_usd == pytest.approx(bill(spot_s=100 + (100 if stolen else 179)))


def test_steal_needs_time_for_a_migration_afterwards() -> None:
    """On the thief, 80 s end at 100 s; D - 100 must exceed 80 + 10."""
    runtimes = {"s": {"a": 20}, "u": {"b": 100}, "v": {"a": 80, "b": 80}}
    for deadline_s, stolen in ((190, 0), (191, 1)):
        instance = bag(runtimes, [vm_type("a"), vm_type("b")], deadline_s=deadline_s, d_spot_s=180)
        schedule = plan(instance, ["a spot", "b spot"], {"s": (0, 0, 0), "u": (1, 0, 0), "v": (1, 0, 100)})
        outcome, _ = live(schedule, "hads", day())
        assert outcome.tasks_stolen == stolen


@pytest.mark.parametrize(
    ("policy", "thief", "stolen"),
    [("hads", "spot", 1), ("hads", "on-demand", 0), ("hads+any-thief", "on-demand", 1), ("burst-hads", "on-demand", 1)],
)
def test_thieves_of_hads_are_spot_vms(policy: str, thief: str, stolen: int) -> None:
    """Section 4.3.5 of HADS speaks of the idle spot VM alone, III-F of Burst-HADS of "a VM (spot or on-demand)"."""
    runtimes = {"s": {"a": 20, "b": 20}, "u": {"b": 100}, "v": {"a": 80, "b": 80}}
    instance = bag(runtimes, [vm_type("a"), vm_type("b")])
    schedule = plan(instance, [f"a {thief}", "b spot"], {"s": (0, 0, 0), "u": (1, 0, 0), "v": (1, 0, 100)})
    outcome, _ = live(schedule, policy, day())
    assert (outcome.tasks_stolen, outcome.steal_attempts > 0) == (stolen, bool(stolen))


def test_what_is_left_moves_up_after_a_steal() -> None:
    """v is stolen; w cannot run on the thief and moves up from 180 to 100 s."""
    runtimes = {"s": {"a": 20}, "u": {"b": 100}, "v": {"a": 80, "b": 80}, "w": {"b": 80}}
    instance = bag(runtimes, [vm_type("a"), vm_type("b")])
    places = {"s": (0, 0, 0), "u": (1, 0, 0), "v": (1, 0, 100), "w": (1, 0, 180)}
    outcome, records = live(plan(instance, ["a spot", "b spot"], places), "hads", day())
    assert moments(records, "start", task="w") == [100]
    assert outcome.makespan_s == 180


CREDITS = {"baseline_fraction": 0.5, "credits_per_hour": 36}
"""A hundredth of a credit a second."""


def with_burstable() -> Schedule:
    """A task of 120 s on a spot VM, 60 s at full speed on the idle burstable VM."""
    burstable = vm_type("t", spot=0, on_demand_usd_per_s=0.002, burstable=CREDITS)
    instance = bag({"t": {"a": 120, "t": 60}}, [vm_type("a"), burstable])
    return plan(instance, ["a spot", "t on-demand"], {"t": (0, 0, 0)})


def test_credits_suffice() -> None:
    """1.01 credits at 101 s, more than the one that 60 s at full speed need."""
    outcome, records = live(with_burstable(), "burst-hads", day(a=[101]))
    assert moments(records, "migrate", mode="burst", kind="idle") == [101]
    assert outcome.makespan_s == 161
    assert outcome.cost_usd == pytest.approx(0.101 + 0.002 * 161)


def test_credits_just_do_not_suffice() -> None:
    """1 credit at 100 s is not more than 1 (line 7 of Algorithm 4): a new on-demand VM runs the 120 s."""
    outcome, records = live(with_burstable(), "burst-hads", day(a=[100]))
    assert moments(records, "migrate", kind="new") == [100]
    assert outcome.makespan_s == 100 + 10 + 120
    assert outcome.on_demand_started == 1


def test_burstable_thief_takes_one_task_at_the_baseline() -> None:
    """v is planned for 100 s, w for 180 s: the burstable VM takes v only, 80 / 0.5 s from the start of the day."""
    burstable = vm_type("t", spot=0, on_demand_usd_per_s=0.002, burstable=CREDITS)
    runtimes = {"u": {"b": 100}, "v": {"b": 80, "t": 80}, "w": {"b": 80, "t": 80}}
    instance = bag(runtimes, [vm_type("b"), burstable])
    schedule = plan(instance, ["b spot", "t on-demand"], {"u": (0, 0, 0), "v": (0, 0, 100), "w": (0, 0, 180)})
    outcome, records = live(schedule, "burst-hads", day())
    assert moments(records, "start", mode="baseline", duration_s=160) == [0]
    assert (outcome.tasks_stolen, outcome.makespan_s) == (1, 180)


def test_no_on_demand_vm_left_is_a_late_task_not_an_error() -> None:
    """The only on-demand VM is busy until 300 s; 150 s more end at 450 s, 50 s after the deadline."""
    types = [vm_type("a"), vm_type("b", spot=0, on_demand=1)]
    instance = bag({"t": {"a": 150, "b": 150}, "u": {"b": 300}}, types, limits={"max_on_demand": 1})
    schedule = plan(instance, ["a spot", "b on-demand"], {"t": (0, 0, 0), "u": (1, 0, 0)})
    outcome, records = live(schedule, "burst-hads", day(a=[50]))
    assert moments(records, "migrate", late=True, to="b-on-demand-1") == [50]
    assert (outcome.makespan_s, outcome.late_tasks, outcome.meets_deadline) == (450, 1, False)


@pytest.mark.parametrize("policy", ["hads", "burst-hads"])
def test_nowhere_to_go_and_no_resume(policy: str) -> None:
    instance = bag({"t": {"a": 150}}, [vm_type("a", on_demand=0)])
    outcome, records = live(plan(instance, ["a spot"], {"t": (0, 0, 0)}), policy, day(a=[50]))
    assert len(moments(records, "stranded", tasks=1)) == 1
    assert (outcome.makespan_s, outcome.unfinished_tasks) == (None, 1)


@pytest.mark.parametrize("policy", ["hads", "burst-hads"])
def test_nowhere_to_go_but_a_late_resume(policy: str) -> None:
    instance = bag({"t": {"a": 150}}, [vm_type("a", on_demand=0)])
    outcome, _ = live(plan(instance, ["a spot"], {"t": (0, 0, 0)}), policy, day(a=[50, 500]))
    assert (outcome.makespan_s, outcome.late_tasks) == (600, 1)
    assert outcome.cost_usd == pytest.approx(bill(spot_s=150))


def test_stranded_tasks_go_to_the_first_vm_that_can_take_them() -> None:
    """t finds no place at 50 s: u needs all memory of the only other VM. That is idle at 300 s, and takes it."""
    types = [vm_type("a"), vm_type("b", vcpus=2, spot=0, on_demand=1)]
    fields = {"limits": {"max_on_demand": 1}, "memory_mb": {"t": 1024, "u": 1024}}
    instance = bag({"t": {"a": 90, "b": 90}, "u": {"b": 300}}, types, **fields)
    schedule = plan(instance, ["a spot", "b on-demand"], {"t": (0, 0, 0), "u": (1, 0, 0)})
    outcome, records = live(schedule, "burst-hads", day(a=[50]))
    # Two cores, but memory for one task: t waits for u although a core is free.
    assert moments(records, "start", task="t", vm="b-on-demand-1") == [300]
    assert outcome.makespan_s == 390


def test_all_vms_hibernate_at_once() -> None:
    """Both types at 40 s: no spot VM is a target for the other's tasks; both tasks go to one new VM of two cores."""
    types = [vm_type("a", on_demand=0), vm_type("b", on_demand=0), vm_type("c", vcpus=2, spot=0)]
    runtimes = {"t": {"a": 100, "b": 100, "c": 100}, "u": {"a": 100, "b": 100, "c": 100}}
    instance = bag(runtimes, types, limits={"max_on_demand": 1})
    schedule = plan(instance, ["a spot", "b spot"], {"t": (0, 0, 0), "u": (1, 0, 0)})
    outcome, records = live(schedule, "burst-hads", day(a=[40], b=[40]))
    assert moments(records, "hibernate") == [40, 40]
    assert (outcome.makespan_s, outcome.migrations) == (150, {"idle": 0, "busy": 1, "new": 1})
    assert outcome.cost_usd == pytest.approx(bill(spot_s=80, on_demand_s=110))


def test_hads_counts_the_same_rescue_twice_and_misses_the_deadline() -> None:
    """The guarantee of HADS fails: both VMs count on the only on-demand VM that may be started.

    Each alone would end at 400 s there. At 290 s the first takes it, the second is queued behind: 500 s.
    """
    types = [vm_type("a", on_demand=0), vm_type("b", on_demand=0), vm_type("c", spot=0)]
    runtimes = {"t": {"a": 100, "b": 100, "c": 100}, "u": {"a": 100, "b": 100, "c": 100}}
    instance = bag(runtimes, types, limits={"max_on_demand": 1})
    schedule = plan(instance, ["a spot", "b spot"], {"t": (0, 0, 0), "u": (1, 0, 0)})
    outcome, records = live(schedule, "hads", day(a=[40], b=[40]))
    assert moments(records, "trigger-set", at_s=290) == [40, 40]
    assert (outcome.makespan_s, outcome.late_tasks) == (500, 1)


@pytest.mark.parametrize(
    ("policy", "trigger_s", "end_s", "migrations", "on_demand_s"),
    [
        ("hads", 290, 400, {"idle": 0, "busy": 0, "new": 1}, 200 + 110),
        ("hads+spare-time-spot", 120, 300, {"idle": 0, "busy": 1, "new": 0}, 300),
    ],
)
def test_algorithm_7_as_printed_asks_spare_time_of_on_demand_vms(
    policy: str, trigger_s: int, end_s: int, migrations: dict[str, int], on_demand_s: int
) -> None:
    """b, on demand, is busy until 200 s, with t until 300 s: that leaves 100 s, and its longest task needs 200 + 10.

    As printed, it is turned down: t needs 100 s on a new VM, and waits until 290 s. As it may be read, b takes it and
    ends it 270 s after the hibernation at 30 s, so t waits until 400 - (270 + 10) = 120 s.
    """
    runtimes = {"t": {"a": 100, "b": 100}, "u": {"b": 200}}
    instance = bag(runtimes, [vm_type("a", on_demand=0), vm_type("b", spot=0)])
    schedule = plan(instance, ["a spot", "b on-demand"], {"t": (0, 0, 0), "u": (1, 0, 0)})
    outcome, records = live(schedule, policy, day(a=[30]))
    assert moments(records, "trigger-set", at_s=trigger_s) == [30]
    assert (outcome.makespan_s, outcome.migrations) == (end_s, migrations)
    assert outcome.cost_usd == pytest.approx(bill(spot_s=30, on_demand_s=on_demand_s))


@pytest.mark.parametrize(("policy", "vms"), [("hads", 2), ("hads+spare-time-spot", 1)])
def test_a_vm_that_a_migration_has_started_is_a_target_as_all_others(policy: str, vms: int) -> None:
    """t and u, 60 s each, are counted on one new VM: 120 s from 400 - (120 + 10) = 270 s on. t ends there at 340 s.

    u would end there at 400 s, with nothing to spare: as printed, it gets a VM of its own, and ends at 340 s as well.
    """
    instance = bag({name: {"a": 60, "b": 60} for name in "tu"}, [vm_type("a", on_demand=0), vm_type("b", spot=0)])
    schedule = plan(instance, ["a spot"], {"t": (0, 0, 0), "u": (0, 0, 60)})
    outcome, records = live(schedule, policy, day(a=[30]))
    assert moments(records, "trigger-set", at_s=270) == [30]
    assert (outcome.on_demand_started, outcome.makespan_s) == (vms, 340 if vms == 2 else 400)


def test_type_is_down_when_the_vms_get_ready() -> None:
    """Ready at 20 s, hibernated at once until 50 s: nothing of that is billed."""
    instance = bag({"t": {"a": 100}}, [vm_type("a")], checkpoint=CHECKPOINTS, boot_overhead_s=20)
    outcome, records = live(plan(instance, ["a spot"], {"t": (0, 0, 20)}), "static", day(a=[10, 50]))
    assert moments(records, "ready") == moments(records, "hibernate") == [20]
    assert moments(records, "start") == [50]
    assert outcome.makespan_s == 155
    assert outcome.cost_usd == pytest.approx(bill(spot_s=105))


def test_new_vms_are_billed_from_ready() -> None:
    """Booting takes 30 s of the 40 s that a migrated task needs to a new VM; the other 10 s are billed."""
    fields = {"boot_overhead_s": 30, "migration_overhead_s": 40}
    instance = bag({"t": {"a": 100}}, [vm_type("a")], checkpoint=CHECKPOINTS, **fields)
    outcome, records = live(plan(instance, ["a spot"], {"t": (0, 0, 30)}), "burst-hads", day(a=[60]))
    assert moments(records, "ready", vm="a-on-demand-1") == [90]
    assert moments(records, "start", vm="a-on-demand-1") == [100]
    assert outcome.makespan_s == 200
    assert outcome.cost_usd == pytest.approx(bill(spot_s=30, on_demand_s=110))


def test_idle_vm_is_billed_to_the_end_of_its_cycle_or_of_the_bag() -> None:
    """What the published policies pay for on a quiet day: a is idle from 20 s; its cycle ends at 100 s."""
    instance = bag({"s": {"a": 20}, "u": {"b": 150}}, [vm_type("a"), vm_type("b")])
    schedule = plan(instance, ["a spot", "b spot"], {"s": (0, 0, 0), "u": (1, 0, 0)})
    for policy, idle_s in (("static", 0), ("hads", 80), ("burst-hads", 80)):
        outcome, _ = live(schedule, policy, day())
        assert outcome.cost_usd == pytest.approx(bill(spot_s=20 + 150 + idle_s))


@pytest.mark.parametrize(
    ("policy", "idle_s"),
    [
        ("on-demand", 80),
        ("on-demand+last-task", 0),
        ("on-demand+idle-60", 60),
        ("hads+idle-60", 60),
        ("burst-hads+idle-60", 60),
    ],
)
def test_idle_vms_are_kept_as_long_as_the_policy_says(policy: str, idle_s: int) -> None:
    """a is idle from 20 s; its cycle ends at 100 s."""
    instance = bag({"s": {"a": 20}, "u": {"b": 150}}, [vm_type("a"), vm_type("b")])
    schedule = plan(instance, ["a spot", "b spot"], {"s": (0, 0, 0), "u": (1, 0, 0)})
    seconds = 20 + 150 + idle_s
    outcome, trace = trace_day(schedule, policy)
    assert outcome.cost_usd == pytest.approx(
        bill(on_demand_s=seconds) if "on-demand" in policy else bill(spot_s=seconds)
    )
    assert audit(trace).findings == ()
    assert moments(trace.events, "idle-limit", idle_s=idle_s) == ([] if policy == "on-demand" else [20 + idle_s])


def test_a_vm_that_works_again_or_hibernates_is_not_idle_for_so_long() -> None:
    """a is idle from 20 to 50 s, hibernated until 70 s, and ends at 130 s; its cycle would have ended at 420 s."""
    instance = bag({"s": {"a": 20}, "u": {"b": 150}}, [vm_type("a"), vm_type("b")], allocation_cycle_s=400)
    schedule = plan(instance, ["a spot", "b spot"], {"s": (0, 0, 0), "u": (1, 0, 0)})
    outcome, trace = trace_day(schedule, "hads+idle-60", day(a=[50, 70]))
    assert (
        moments(trace.events, "idle-limit", vm="a-spot-1") == moments(trace.events, "terminate", vm="a-spot-1") == [130]
    )
    assert audit(trace).findings == ()
    assert outcome.cost_usd == pytest.approx(bill(spot_s=110 + 150))


def test_burst_hads_keeps_idle_burstable_vms_whatever_the_limit() -> None:
    """t is idle from the start, and takes the task of a, which hibernates at 101 s, when it has the credits."""
    outcome, records = live(with_burstable(), "burst-hads+idle-60", day(a=[101]))
    assert moments(records, "idle-limit", vm="t-on-demand-1") == [60]
    assert outcome.migrations == {"idle": 1, "busy": 0, "new": 0}


def test_the_on_demand_baseline_takes_a_plan_that_is_on_demand_already() -> None:
    """Both billings, from a plan made with on-demand VMs only: a is idle from 20 s to the end of its cycle at 100 s."""
    instance = bag({"s": {"a": 20}, "u": {"b": 150}}, [vm_type("a"), vm_type("b")], markets=["on-demand"])
    schedule = plan(instance, ["a on-demand", "b on-demand"], {"s": (0, 0, 0), "u": (1, 0, 0)})
    for policy, seconds in (("on-demand", 250), ("on-demand+last-task", 170)):
        assert replay_day(schedule, policy).cost_usd == pytest.approx(bill(on_demand_s=seconds))


def test_finish_at_the_border_of_a_cycle_ends_the_vm_there() -> None:
    """A VM that gets idle at 100 s, the end of its first cycle, is terminated then and not at 200 s."""
    instance = bag({"s": {"a": 100}, "u": {"b": 250}}, [vm_type("a"), vm_type("b")])
    schedule = plan(instance, ["a spot", "b spot"], {"s": (0, 0, 0), "u": (1, 0, 0)})
    outcome, records = live(schedule, "hads", day())
    assert moments(records, "terminate", vm="a-spot-1") == [100]
    assert outcome.cost_usd == pytest.approx(bill(spot_s=350))


def test_what_finishes_at_a_moment_frees_its_memory_before_anything_starts() -> None:
    """At 100 s, core 0 is handed on first, but u needs the memory that t, on core 1, gives back then."""
    types = [vm_type("a", vcpus=2)]
    memory = {"s": 1, "t": 1000, "u": 1000}
    instance = bag({"s": {"a": 100}, "t": {"a": 100}, "u": {"a": 100}}, types, memory_mb=memory)
    schedule = plan(instance, ["a spot"], {"s": (0, 0, 0), "t": (0, 1, 0), "u": (0, 0, 100)})
    _, records = live(schedule, "static", day())
    happened = [(record["event"], record["task"]) for record in records if record["t"] == 100 and "task" in record]
    assert happened == [("finish", "s"), ("finish", "t"), ("start", "u")]


def test_where_memory_never_binds_a_core_is_handed_on_at_once() -> None:
    """At 100 s, core 0 is handed on before the finish of t, on core 1, at the same moment."""
    instance = bag({"s": {"a": 100}, "t": {"a": 100}, "u": {"a": 100}}, [vm_type("a", vcpus=2)])
    schedule = plan(instance, ["a spot"], {"s": (0, 0, 0), "t": (0, 1, 0), "u": (0, 0, 100)})
    _, records = live(schedule, "static", day())
    happened = [(record["event"], record["task"]) for record in records if record["t"] == 100 and "task" in record]
    assert happened == [("finish", "s"), ("start", "u"), ("finish", "t")]


def test_a_task_does_not_start_before_its_time_though_its_core_is_free() -> None:
    """The plan leaves the core idle for the second from 100 to 101 s."""
    instance = bag({"t": {"a": 100}, "u": {"a": 100}}, [vm_type("a")])
    outcome, records = live(plan(instance, ["a spot"], {"t": (0, 0, 0), "u": (0, 0, 101)}), "static", day())
    assert moments(records, "start") == [0, 101]
    assert outcome.makespan_s == 201


def test_a_task_without_checkpoints_has_nothing_saved() -> None:
    """Without checkpoint parameters the interval is infinite, and no number of intervals is saved."""
    instance = bag({"t": {"a": 100}}, [vm_type("a")])
    outcome, _ = live(plan(instance, ["a spot"], {"t": (0, 0, 0)}), "burst-hads", day(a=[60]))
    assert (outcome.makespan_s, outcome.recoveries, outcome.cpu_time_saved_s) == (170, 0, 0.0)


def test_idle_vms_do_not_steal_from_each_other_for_ever() -> None:
    """Tasks that have just been moved to a new VM, where nothing runs yet, are not stolen by the next idle one.

    With cycles of 1 s, all that waits there starts in a later cycle: each of two new VMs took it from the other.
    """
    types = [vm_type("a", vcpus=4), vm_type("b", spot=0)]
    runtimes = {name: {"a": 30, "b": 30} for name in "tuvwxyz"}
    instance = bag(runtimes, types, allocation_cycle_s=1, deadline_s=200, d_spot_s=200)
    places = {name: (0, index % 4, 30 * (index // 4)) for index, name in enumerate(runtimes)}
    for policy in ("hads", "burst-hads"):
        outcome, records = live(plan(instance, ["a spot"], places), policy, day(a=[5]))
        assert outcome.unfinished_tasks == 0
        for record in records:
            if record["event"] == "steal":
                assert moments(records, "start", vm=record["from"])[0] <= record["t"]


def test_type_resumes_at_the_second_its_vms_are_ready() -> None:
    """It resumes first: nothing hibernates, and burst-hads has nothing to answer."""
    instance = bag({"t": {"a": 100}}, [vm_type("a")], checkpoint=CHECKPOINTS, boot_overhead_s=60)
    schedule = plan(instance, ["a spot"], {"t": (0, 0, 60)})
    for policy in ("static", "hads", "burst-hads"):
        outcome, trace = trace_day(schedule, policy, day(a=[10, 60]))
        assert (outcome.makespan_s, outcome.hibernations) == (165, 0)
        assert audit(trace).findings == ()
        assert "165 s" in "\n".join(describe_trace(trace))


def test_on_demand_baseline_leaves_full_speed_tasks_at_full_speed() -> None:
    """Only the VM that was spot changes: without the checkpoint, its task ends at 100 s instead of 105 s."""
    burstable = vm_type("b", spot=0, burstable={**CREDITS, "initial_credits": 10})
    instance = bag({"t": {"a": 100}, "u": {"b": 60}}, [vm_type("a"), burstable], checkpoint=CHECKPOINTS)
    schedule = plan(instance, ["a spot", "b on-demand"], {"t": (0, 0, 0), "u": (1, 0, 0)})
    schedule = replace(schedule, task_baseline=np.zeros(2, dtype=bool), vm_ids=())
    outcome = replay_day(schedule, "on-demand+last-task", day(a=[30]))
    assert [bill.end_s for bill in outcome.bills] == [100, 60]
    assert outcome.cost_usd == pytest.approx(bill(on_demand_s=160))


def test_hads_counts_on_an_idle_burstable_vm_for_one_task_only() -> None:
    """Two tasks of 400 s: one on the burstable VM, one on the only new VM; the trigger leaves time for both."""
    burstable = vm_type("b", vcpus=2, spot=0, burstable={**CREDITS, "baseline_fraction": 1.0})
    types = [vm_type("a", vcpus=2, on_demand=0), burstable, vm_type("c", spot=0)]
    runtimes = {name: {"a": 400, "b": 400, "c": 400} for name in "tu"}
    instance = bag(runtimes, types, deadline_s=2000, d_spot_s=2000, limits={"max_on_demand": 2})
    schedule = plan(instance, ["a spot", "b on-demand"], {"t": (0, 0, 0), "u": (0, 1, 0)})
    outcome, records = live(schedule, "hads", day(a=[50]))
    assert outcome.meets_deadline
    assert (outcome.migrations["idle"], outcome.migrations["new"]) in ((1, 1), (0, 1), (0, 2))
    assert moments(records, "stranded") == []


def test_burstable_vms_end_with_the_last_spot_vm_that_could_need_them() -> None:
    """a hibernates at 10 s, its task goes to a new VM, it resumes idle at 20 s: no spot VM is busy or hibernated."""
    burstable = vm_type("b", spot=0, burstable=CREDITS)
    instance = bag({"t": {"a": 100}}, [vm_type("a"), burstable])
    schedule = plan(instance, ["a spot", "b on-demand"], {"t": (0, 0, 0)})
    _, records = live(schedule, "burst-hads", day(a=[10, 20]))
    assert moments(records, "terminate", vm="b-on-demand-1") == [20]


@pytest.mark.parametrize(("others_s", "kind"), [(20, "idle"), (100, "busy")])
def test_a_task_is_migrated_to_a_spot_vm_before_a_cheaper_on_demand_vm(others_s: int, kind: str) -> None:
    """At 50 s, b and c both have nothing left since 20 s, or both work to 100 s; the market counts before the price."""
    types = [
        vm_type("a", on_demand=0),
        vm_type("b", on_demand=0),
        vm_type("c", spot=0, on_demand_usd_per_s=SPOT_USD_PER_S / 2),
    ]
    instance = bag({"t": {"a": 100, "b": 100, "c": 100}, "u": {"b": others_s}, "v": {"c": others_s}}, types)
    places = {"t": (0, 0, 0), "u": (1, 0, 0), "v": (2, 0, 0)}
    schedule = plan(instance, ["a spot", "b spot", "c on-demand"], places)
    _, records = live(schedule, "burst-hads", day(a=[50]))
    assert moments(records, "migrate", task="t", to="b-spot-1", kind=kind) == [50]


def test_a_task_is_migrated_to_an_idle_vm_before_a_busy_spot_vm() -> None:
    """At 50 s, c has nothing left since 20 s, b works to 100 s: whether a VM is idle counts before the market."""
    types = [vm_type("a", on_demand=0), vm_type("b", on_demand=0), vm_type("c", spot=0)]
    instance = bag({"t": {"a": 100, "b": 100, "c": 100}, "u": {"b": 100}, "v": {"c": 20}}, types)
    places = {"t": (0, 0, 0), "u": (1, 0, 0), "v": (2, 0, 0)}
    schedule = plan(instance, ["a spot", "b spot", "c on-demand"], places)
    _, records = live(schedule, "burst-hads", day(a=[50]))
    assert moments(records, "migrate", task="t", to="c-on-demand-1", kind="idle") == [50]


def test_a_vm_that_is_new_in_a_migration_comes_after_busy_spot_vms() -> None:
    """t cannot run on b, and gets a new VM of type c; s could run there, too, but b comes first."""
    types = [vm_type("a", vcpus=2, on_demand=0), vm_type("b", on_demand=0), vm_type("c", spot=0)]
    instance = bag({"t": {"a": 100, "c": 100}, "s": {"a": 90, "b": 90, "c": 90}, "u": {"b": 100}}, types)
    places = {"t": (0, 0, 0), "s": (0, 1, 0), "u": (1, 0, 0)}
    _, records = live(plan(instance, ["a spot", "b spot"], places), "burst-hads", day(a=[50]))
    assert moments(records, "migrate", task="t", to="c-on-demand-1", kind="new") == [50]
    assert moments(records, "migrate", task="s", to="b-spot-1", kind="busy") == [50]


def test_the_trigger_counts_on_an_idle_vm_before_a_cheaper_busy_one() -> None:
    """At 50 s, b has nothing left and would end the 100 s of t at 150 s; c, at half the price, works to 130 s.

    Counting on b, the trigger is 400 - (100 + 10) = 290 s; on c, where t would end at 230 s, 400 - (180 + 10) = 210 s.
    """
    types = [
        vm_type("a", on_demand=0),
        vm_type("b", spot=0),
        vm_type("c", spot=0, on_demand_usd_per_s=ON_DEMAND_USD_PER_S / 2),
    ]
    instance = bag({"t": {"a": 100, "b": 100, "c": 100}, "u": {"b": 20}, "v": {"c": 130}}, types)
    places = {"t": (0, 0, 0), "u": (1, 0, 0), "v": (2, 0, 0)}
    schedule = plan(instance, ["a spot", "b on-demand", "c on-demand"], places)
    _, records = live(schedule, "hads", day(a=[50]))
    assert moments(records, "trigger-set", at_s=290) == [50]


@pytest.mark.parametrize(("moment", "name"), [(290, "c-on-demand-1"), (291, "d-on-demand-1")])
def test_a_new_vm_may_end_a_task_at_the_deadline_and_no_later(moment: int, name: str) -> None:
    """On c, which is cheaper, t ends 10 + 100 s later: at 290 s that is the deadline of 400 s. On d it takes 50 s."""
    types = [
        vm_type("a", on_demand=0),
        vm_type("c", spot=0),
        vm_type("d", spot=0, on_demand_usd_per_s=2 * ON_DEMAND_USD_PER_S),
    ]
    instance = bag({"t": {"a": 300, "c": 100, "d": 50}}, types)
    outcome, records = live(plan(instance, ["a spot"], {"t": (0, 0, 0)}), "burst-hads", day(a=[moment]))
    assert moments(records, "start", vm=name) == [moment + 10]
    assert outcome.meets_deadline


def test_a_recovery_counts_again_when_the_task_is_interrupted_before_its_next_checkpoint() -> None:
    """50 s are saved on a; on b, 10 s later, none more: t goes on from the same checkpoint a second time."""
    types = [vm_type("a"), vm_type("b")]
    instance = bag({"t": {"a": 100, "b": 100}, "u": {"b": 60}}, types, checkpoint=CHECKPOINTS, deadline_s=900)
    schedule = plan(instance, ["a spot", "b spot"], {"t": (0, 0, 0), "u": (1, 0, 0)})
    outcome, records = live(schedule, "burst-hads", day(a=[60], b=[75]))
    assert len(moments(records, "migrate", task="t", recovered=True)) == outcome.recoveries == 2
    assert outcome.cpu_time_saved_s == 50


@pytest.mark.parametrize(("moment", "billed_s"), [(3599, 401), (3600, 4000)])
def test_what_runs_before_a_hibernation_is_free_if_that_comes_before_the_end_of_the_first_hour(
    moment: int, billed_s: int
) -> None:
    """The task of 4,000 s hibernates until 3,700 s, after 3,599 s, which are free, or after 3,600 s, which are not."""
    instance = bag({"t": {"a": 4000}}, [vm_type("a")], deadline_s=10_000, d_spot_s=10_000)
    schedule = plan(instance, ["a spot"], {"t": (0, 0, 0)})
    outcome, trace = trace_day(schedule, "static", day(a=[moment, 3700]), cloud=PAPERS.replace(first_hour_free=True))
    assert outcome.cost_usd == pytest.approx(bill(spot_s=billed_s))
    assert audit(trace).findings == ()


class Careless(Policy):
    """Does one thing that cannot be done."""

    name = "careless"
    summary = "for tests"

    def __init__(self, deed: str) -> None:
        self.deed = deed

    def idle(self, replay: ReplayState, vm: Vm) -> None:
        if self.deed == "steal":
            replay.steal(0, vm, vm)
        replay.terminate(vm)

    def hibernated(self, replay: ReplayState, vm: Vm) -> None:
        new = replay.start_vm(next(offer for offer in replay.instance.offers if offer.market == "on-demand"))
        if self.deed == "unknown task":
            replay.migrate(99, vm, new)
        if self.deed == "kill":
            replay.terminate(vm)
        if self.deed == "trigger":
            replay.set_trigger(new, 100)
        if self.deed == "give up":
            replay.terminate(new)


@pytest.mark.parametrize(
    ("deed", "said"),
    [
        ("unknown task", "does not have the task"),
        ("kill", "has tasks left"),
        ("trigger", "needs no migration trigger"),
        ("steal", "does not have the task"),
    ],
)
def test_decisions_that_cannot_be_carried_out_are_refused(deed: str, said: str) -> None:
    instance = bag({"t": {"a": 100}, "u": {"b": 20}}, [vm_type("a"), vm_type("b")])
    schedule = plan(instance, ["a spot", "b spot"], {"t": (0, 0, 0), "u": (1, 0, 0)})
    with pytest.raises(SpotbagError, match=said):
        replay_day(schedule, Careless(deed), day(a=[30]))


def test_a_vm_that_is_terminated_before_it_is_ready_stays_terminated() -> None:
    outcome, trace = trace_day(one_task(), Careless("give up"), day(a=[30, 60]))
    assert outcome.makespan_s == 135
    assert audit(trace).findings == ()
