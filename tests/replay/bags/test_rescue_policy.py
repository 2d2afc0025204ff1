"""The promise of a survival certificate, replayed: the deadline is kept, at no more than the worst-case cost."""

from __future__ import annotations

import random

import pytest

from spotbag.audits.auditor import audit
from spotbag.heuristics.bags import rescue as rescue_module
from spotbag.heuristics.bags.rescue import certify
from spotbag.instances.bags.timeline import Timeline, TimelineEvent
from spotbag.replay.bags.runs import replay_day, trace_day
from spotbag.schedules.schedule import Schedule

from ...helpers.rescues import level_sets, random_plan
from ...helpers.soaks import soak
from ...helpers.tiny_days import bag, vm_type


def down(at_s: int, *types: str) -> Timeline:
    """A day on which types go down for good."""
    return Timeline(tuple(TimelineEvent(at_s, name, "hibernate") for name in sorted(types)))


def two_tasks(**fields: object) -> Schedule:
    """Two tasks of 100 s on spot VMs, and one of 150 s on demand."""
    types = [vm_type("one", on_demand=2)]
    instance = bag({name: {"one": s} for name, s in {"a": 100, "b": 100, "c": 150}.items()}, types, **fields)
    return Schedule(instance, [0, 0, 1], [0, 1, 2], [0, 0, 0], [0, 0, 0], [False] * 3)  # type: ignore[arg-type]


def test_a_rescue_is_carried_out_to_the_cent() -> None:
    # Down at 99 s: one of the tasks goes to the VM of the plan, from 150 to 250 s, and one to a new VM, ready at once,
    # where it starts 10 s later: 198 s of spot, 250 s and 110 s on demand.
    plan = two_tasks(deadline_s=250, d_spot_s=250)
    certificate = certify(plan, "one-type")
    outcome, trace = trace_day(plan, "rescue", down(99, "one"))
    assert audit(trace).correct
    assert outcome.makespan_s == 250
    assert outcome.cost_usd == pytest.approx(0.198 + 0.003 * (250 + 110))
    assert certificate.worst_cost_usd == pytest.approx(outcome.cost_usd)
    assert certificate.worst_at_s == 99


def test_a_quiet_day_of_the_rescue_is_the_plan() -> None:
    plan = two_tasks()
    outcome = replay_day(plan, "rescue")
    assert (outcome.cost_usd, outcome.makespan_s) == (pytest.approx(plan.cost_usd), plan.makespan_s)


def test_vms_that_are_down_before_they_are_ready_are_rescued_together() -> None:
    plan = two_tasks(deadline_s=260, d_spot_s=260, boot_overhead_s=5)
    plan = Schedule(plan.instance, plan.vm_offer, plan.task_vm, plan.task_core, [5, 5, 5], plan.task_baseline)  # type: ignore[arg-type]
    certificate = certify(plan, "one-type")
    outcome, trace = trace_day(plan, "rescue", down(0, "one"))
    assert audit(trace).correct
    assert certificate.worst_cost_usd is not None
    assert outcome.meets_deadline
    assert outcome.cost_usd <= certificate.worst_cost_usd


def keep_promises(seed: int, all_moments: bool) -> None:
    """Replay a random plan on days that its certificates speak of, and on one that they do not."""
    plan, rng = random_plan(seed), random.Random(seed)
    for level in ("one-type", "blackout"):
        certificate = certify(plan, level)  # type: ignore[arg-type]
        for types in level_sets(plan, level):
            moments = {certificate.worst_at_s or 0, plan.makespan_s - 1, rng.randrange(plan.makespan_s + 1)}
            for at_s in range(plan.makespan_s + 1) if all_moments else sorted(moments):
                outcome, trace = trace_day(plan, "rescue", down(at_s, *types))
                assert audit(trace).correct, (seed, types, at_s)
                if certificate.survives:
                    assert certificate.worst_cost_usd is not None
                    assert outcome.meets_deadline, (seed, types, at_s)
                    assert outcome.cost_usd <= certificate.worst_cost_usd * (1 + 1e-9), (seed, types, at_s)
    events, (names,) = [], level_sets(plan, "blackout")
    for name in names:
        at_s = 0
        for number in range(rng.choice([1, 2, 3, 4])):
            at_s += rng.randrange(1, 12)
            events.append(TimelineEvent(at_s, name, "resume" if number % 2 else "hibernate"))
    _, trace = trace_day(plan, "rescue", Timeline(tuple(sorted(events, key=lambda event: event.time_s))))
    assert audit(trace).correct, seed


def test_promises_are_kept() -> None:
    for seed in range(8):
        keep_promises(seed, all_moments=False)


@soak(sample=25, whole=1500)
def test_promises_are_kept_on_thousands_of_days(how_many: int) -> None:
    for seed in range(how_many):
        keep_promises(seed, all_moments=seed % 4 == 0)


@soak(sample=12, whole=600)
def test_promises_are_kept_by_rescues_that_wait(how_many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # No moment is looked at by itself: rescues wait for the one that they were made for, or are carried out later.
    monkeypatch.setattr(rescue_module, "_REFINING", -1)
    monkeypatch.setattr(rescue_module._Rescuer, "_at_once", lambda *given: None)
    for seed in range(how_many):
        keep_promises(seed, all_moments=True)
