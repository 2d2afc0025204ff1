"""The promise of a survival certificate, replayed: the deadline is kept, at no more than the worst-case cost."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from spotbag.audits.auditor import audit
from spotbag.audits.bags.plan import check
from spotbag.heuristics.bags import rescue as rescue_module
from spotbag.heuristics.bags.rescue import certify, survival_of
from spotbag.instances.bags.timeline import Timeline, TimelineEvent
from spotbag.instances.instance import Instance
from spotbag.replay.bags.runs import replay_day, trace_day
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.schedule_files import schedule_of_document
from tests.helpers.rescues import dated_plan, level_sets, random_plan, with_deadline
from tests.helpers.soaks import soak
from tests.helpers.tiny_days import bag, vm_type
from tests.helpers.tiny_instances import tiny_billing


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


def hour_type(name: str, vcpus: int = 1, **usd_per_hour: float) -> dict[str, Any]:
    """A type with one VM in each market that has a price."""
    offers = {market.replace("_", "-"): {"price_usd_per_hour": usd, "limit": 1} for market, usd in usd_per_hour.items()}
    return {"name": name, "vcpus": vcpus, "memory_mb": 8192, "offers": offers}


def hour_bag(deadline_s: int, types: list[dict[str, Any]], tasks: list[dict[str, Any]], **fields: Any) -> Instance:
    """A bag with prices by the hour; D_spot is the deadline."""
    document = {"format": "spotbag.instance/1", "name": "hours", "deadline_s": deadline_s, "d_spot_s": deadline_s}
    document |= {"vm_types": types, "tasks": [{"memory_mb": 10} | task for task in tasks]}
    return Instance.from_document(document | fields, "hours")


def test_losing_one_of_two_types_may_cost_more_than_losing_both() -> None:
    """Type a is down a second before its task of 4 h ends: b goes on for 8 h at $ 3, and c does a's task again.

    14,399 s at $ 0.5, 8 h at $ 3 and 4 h at $ 3.6 are $ 40.3999; with b down too, c does all of it for $ 29.5992.
    """
    types = [hour_type("a", spot=0.5), hour_type("b", spot=3.0), hour_type("c", 3, on_demand=3.6)]
    tasks = [{"id": "t", "runtime_s": {"a": 14400, "c": 14400}}]
    tasks.append({"id": "u", "count": 8, "runtime_s": {"b": 3600, "c": 3600}})
    instance = hour_bag(72000, types, tasks, markets=["spot"])
    starts = [0, *(3600 * number for number in range(8))]
    plan = Schedule(instance, [0, 1], [0] + [1] * 8, [0] * 9, starts, [False] * 9)  # type: ignore[arg-type]
    certificate = certify(plan, "blackout")
    usd = 14399 / 3600 * 0.5 + 8 * 3.0 + 4 * 3.6
    assert certificate.worst_cost_usd == pytest.approx(usd)
    assert (certificate.worst_at_s, certificate.worst_types) == (14399, ("a",))
    judged = check(instance, plan, survive="blackout").survival
    assert judged is not None
    assert judged.worst_cost_usd == pytest.approx(usd)
    assert replay_day(plan, "rescue", down(14399, "a")).cost_usd == pytest.approx(usd)


@pytest.mark.parametrize("every_s", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_a_type_that_returns_costs_no_more_than_one_that_does_not(every_s: int) -> None:
    plan = two_tasks(deadline_s=250, d_spot_s=250)
    certificate = certify(plan, "blackout")
    for at_s in range(0, 100, every_s):
        for back_s in (1, 5, 60):
            events = (TimelineEvent(at_s, "one", "hibernate"), TimelineEvent(at_s + back_s, "one", "resume"))
            outcome = replay_day(plan, "rescue", Timeline(events))
            assert outcome.meets_deadline
            assert outcome.cost_usd <= (certificate.worst_cost_usd or 0) + 1e-12


def twins(survive: str | None) -> Schedule:
    """Two tasks of an hour on the cores of a spot VM, with checkpoints of 10 s every 100 s; a second type is dearer."""
    types = [hour_type("a", 2, spot=0.2, on_demand=1.0), hour_type("b", 2, on_demand=0.9)]
    tasks = [{"id": "t", "runtime_s": {"a": 3600, "b": 3600}}, {"id": "u", "runtime_s": {"a": 3600}}]
    checkpoint = {"overhead_fraction": 0.1, "dump_base_s": 10, "dump_s_per_mb": 0}
    instance = hour_bag(36000, types, tasks, checkpoint=checkpoint).replace(survive=survive)
    return Schedule(instance, [0], [0, 0], [0, 1], [0, 0], [False, False])  # type: ignore[arg-type]


def test_level_each_is_carried_out_by_the_twins_that_it_rests_on() -> None:
    """On its twin, what runs since 60 s takes the whole hour again; on two VMs, as ``one-type`` has it, it costs twice.

    So a plan that is to survive ``each`` pays 60 s of spot and an hour on demand, less than its worst case.
    """
    plan = twins("each")
    outcome = replay_day(plan, "rescue", down(60, "a"))
    assert outcome.cost_usd == pytest.approx(60 / 3600 * 0.2 + 1.0)
    assert outcome.cost_usd <= (certify(plan, "each").worst_cost_usd or 0)
    assert survival_of(plan, "each").blackout_cost_usd is None  # the worst case of each includes it


def test_a_plan_that_is_read_is_to_survive_what_it_says() -> None:
    bag_, plan = twins(None).instance, twins("each")
    for level, survive in (("each", None), ("one-type", "one-type")):
        document = plan.to_document("by hand", survival_of(plan, "each"))
        read = schedule_of_document(document, bag_.replace(survive=survive))
        assert read.instance.survive == level


def trap_plan(seed: int) -> Schedule:
    """Return a plan whose cores are all full to the end: longest first does not fit its tasks into the time again.

    Each type has a spot VM, and may be rented once on demand; the deadline leaves time for twins and hardly more.
    """
    rng = random.Random(f"trap {seed}")
    types, tasks, rows = [], [], []
    names = ["a", "b", "c"][: rng.choice([1, 2, 2, 3])]
    for vm, name in enumerate(names):
        load_s = rng.randrange(6, 20)
        types.append(hour_type(name, rng.choice([1, 2, 3]), spot=rng.choice([0.3, 1.0]), on_demand=rng.choice([2, 4])))
        for core in range(types[-1]["vcpus"]):
            cuts = sorted(rng.sample(range(1, load_s), rng.randrange(0, 4)))
            for start_s, end_s in itertools.pairwise([0, *cuts, load_s]):
                own_only = rng.random() < 0.5
                seconds = {other: (end_s - start_s) * (1 if other == name else 3) for other in names}
                runtime_s = {name: end_s - start_s} if own_only else seconds
                tasks.append({"id": f"t{len(tasks)}", "runtime_s": runtime_s})
                rows.append((vm, core, start_s))
    instance = hour_bag(100, types, tasks, markets=["spot"])
    spot = {offer.vm_type.name: offer.index for offer in instance.offers if offer.market == "spot"}
    vm, core, start_s = zip(*rows, strict=True)
    offers = [spot[name] for name in names]
    plan = Schedule(instance, offers, list(vm), list(core), list(start_s), [False] * len(rows))  # type: ignore[arg-type]
    longest_s = int(plan.task_duration_s.max())
    return with_deadline(plan, plan.makespan_s + longest_s + rng.choice([-1, 0, 0, 1, 5]))


def days_that_a_level_names(plan: Schedule, level: str, rng: random.Random, worst_at_s: int) -> Iterator[Timeline]:
    """Yield days on which types go down at one moment, and may return; for ``each`` also VMs, and again and again.

    They are hibernated, stopped or terminated, some of them after a notice.
    """

    def interrupted(at_s: int, name: str, **fields: int) -> TimelineEvent:
        kind = rng.choice(["hibernate", "hibernate", "stop", "terminate"])
        return TimelineEvent(at_s, name, kind, notice_s=rng.choice([0, 0, 1, 4]), **fields)  # type: ignore[arg-type]

    def day(events: list[TimelineEvent]) -> Timeline:
        return Timeline(tuple(sorted(events, key=lambda event: event.time_s)))

    moments = {worst_at_s, plan.makespan_s - 1, *(rng.randrange(plan.makespan_s + 1) for _ in range(4))}
    sets = level_sets(plan, "one-type" if level == "one-type" else "blackout")
    for types, at_s in itertools.product(sets, sorted(moments)):
        kind, notice_s = rng.choice(
            [("hibernate", 0), ("hibernate", 0), ("stop", 0), ("hibernate", 3), ("terminate", 2)]
        )
        events = [TimelineEvent(at_s, name, kind, notice_s=notice_s) for name in types]  # type: ignore[arg-type]
        events += [TimelineEvent(at_s + rng.randrange(4, 12), name, "resume") for name in types if rng.random() < 0.4]
        yield day(events)
    offers = [plan.instance.offers[index] for index in plan.vm_offer.tolist()]
    spot = [offer.vm_type.name for offer in offers if offer.market == "spot"]
    for _ in range(3 if level == "each" else 0):
        yield day(
            [
                interrupted(rng.randrange(plan.makespan_s + 1), name, vm=number + 1)
                for name in set(spot)
                for number in range(spot.count(name))
                if rng.random() < 0.8
            ]
        )
        events = []
        for name in sets[-1]:
            at_s = 0
            for number in range(rng.choice([1, 2, 3])):
                at_s += rng.randrange(5, 12)
                events.append(TimelineEvent(at_s, name, "resume") if number % 2 else interrupted(at_s, name))
        yield day(events)


def drained_usd(plan: Schedule, day: Timeline) -> float:
    """Most that VMs cost while they drain, from which all tasks have gone: the notice comes on top of the promise."""
    notices = {event.vm_type: 0 for event in day.events}
    for event in day.events:
        notices[event.vm_type] = max(notices[event.vm_type], event.notice_s or 0)
    bill = plan.instance.billing
    block_s = 1 if bill is None else bill.block_s or 1
    notices = {name: -(-notice_s // block_s) * block_s for name, notice_s in notices.items()}
    offers = [plan.instance.offers[index] for index in plan.vm_offer.tolist()]
    return sum(notices.get(offer.vm_type.name, 0) * offer.price_usd_per_s for offer in offers if offer.market == "spot")


def replays_of_certified(level: str, how_many: int, *, billed: bool = False) -> None:
    """Replay certified plans, so many times: none is late, or dearer than its certificate says."""
    replays, seed = 0, 0
    while replays < how_many:
        seed += 1
        plan = trap_plan(seed) if seed % 3 == 0 else random_plan(100_000 + seed, setups=seed % 3 == 1)
        bill = tiny_billing(seed) if billed else None
        plan = replace(plan, instance=plan.instance.replace(survive=level, billing=bill))
        certificate = certify(plan, level)  # type: ignore[arg-type]
        if not certificate.survives:
            continue
        assert certificate.worst_cost_usd is not None
        for day in days_that_a_level_names(plan, level, random.Random(seed), certificate.worst_at_s or 0):
            outcome = replay_day(plan, "rescue", day)
            assert outcome.meets_deadline, (level, seed, day)
            most_usd = certificate.worst_cost_usd + drained_usd(plan, day)
            assert outcome.cost_usd <= most_usd * (1 + 1e-9), (level, seed, day)
            replays += 1


@soak(sample=1000, whole=50_000)
def test_certified_plans_keep_one_type(how_many: int) -> None:
    replays_of_certified("one-type", how_many)


@soak(sample=600, whole=50_000)
def test_certified_plans_keep_blackout(how_many: int) -> None:
    replays_of_certified("blackout", how_many)


@soak(sample=1000, whole=50_000)
def test_certified_plans_keep_each(how_many: int) -> None:
    replays_of_certified("each", how_many)


@pytest.mark.parametrize("level", ["one-type", "blackout", "each"])
@soak(sample=300, whole=5_000)
def test_certified_plans_keep_each_level_whatever_is_billed(level: str, how_many: int) -> None:
    replays_of_certified(level, how_many, billed=True)


def trap_for_longest_first() -> Schedule:
    """Cores of 5 + 2 + 2 and 3 + 3 + 3 s, saved every second: only in their own order do they end by 9 s again.

    Longest first onto the core that is free first ends at 10 s, and first fit leaves no core with room for the last.
    """
    types = [hour_type("a", 2, spot=0.3, on_demand=2)]
    tasks = [{"id": f"t{number}", "runtime_s": {"a": s}} for number, s in enumerate((5, 2, 2, 3, 3, 3))]
    checkpoint = {"overhead_fraction": 1, "dump_base_s": 0, "dump_s_per_mb": 0}
    instance = hour_bag(9, types, tasks, markets=["spot"], checkpoint=checkpoint)
    starts = [0, 5, 7, 0, 3, 6]
    return Schedule(instance, [0], [0] * 6, [0, 0, 0, 1, 1, 1], starts, [False] * 6)  # type: ignore[arg-type]


def test_a_bag_that_longest_first_cannot_rescue_goes_to_its_twin() -> None:
    plan = trap_for_longest_first()
    assert certify(plan, "one-type").survives
    assert certify(plan, "blackout").survives
    for at_s in range(9):
        assert replay_day(plan, "rescue", down(at_s, "a")).makespan_s == 9


def test_moments_of_twins_count_against_what_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rescue_module, "_MOST_MOMENTS", 0)  # and the twin is asked at 0 s
    assert certify(trap_for_longest_first(), "one-type").verdict == "not-shown"


def keep_promises(seed: int, all_moments: bool, dates: bool = False, **fields: object) -> None:
    """Replay a random plan on days that its certificates speak of, and on one that they do not.

    Of tasks with dates, none is late; VMs of the rescue may be paid as they wait.
    """
    plan = dated_plan(seed) if dates else random_plan(seed, setups=seed % 3 == 1, **fields)
    rng = random.Random(seed)
    for level in ("one-type", "blackout"):
        stated = plan.to_document("by chance", survival_of(plan, level))  # type: ignore[arg-type]
        assert check(plan.instance, stated).violations == (), seed
        certificate = certify(plan, level)  # type: ignore[arg-type]
        for types in level_sets(plan, level):
            moments = {certificate.worst_at_s or 0, plan.makespan_s - 1, rng.randrange(plan.makespan_s + 1)}
            for at_s in range(plan.makespan_s + 1) if all_moments else sorted(moments):
                outcome, trace = trace_day(plan, "rescue", down(at_s, *types))
                assert audit(trace).correct, (seed, types, at_s)
                if certificate.survives:
                    assert certificate.worst_cost_usd is not None
                    assert outcome.meets_deadline, (seed, types, at_s)
                    assert dates or outcome.cost_usd <= certificate.worst_cost_usd * (1 + 1e-9), (seed, types, at_s)
    events, names = [], level_sets(plan, "blackout")[-1]
    for name in names:
        at_s = 0
        for number in range(rng.choice([1, 2, 3, 4])):
            at_s += rng.randrange(1, 12)
            events.append(TimelineEvent(at_s, name, "resume" if number % 2 else "hibernate"))
    _, trace = trace_day(plan, "rescue", Timeline(tuple(sorted(events, key=lambda event: event.time_s))))
    assert audit(trace).correct, seed


@pytest.mark.slow
def test_promises_are_kept() -> None:
    for seed in range(8):
        keep_promises(seed, all_moments=False)
        keep_promises(seed, all_moments=False, billing=tiny_billing(seed))


def test_promises_are_kept_for_tasks_with_dates() -> None:
    for seed in range(10):
        keep_promises(seed, all_moments=False, dates=True)


@soak(sample=25, whole=1500)
def test_promises_are_kept_for_tasks_with_dates_on_thousands_of_days(how_many: int) -> None:
    for seed in range(10, 10 + how_many):
        keep_promises(seed, all_moments=seed % 4 == 0, dates=True)


@soak(sample=25, whole=1500)
def test_promises_are_kept_whatever_is_billed(how_many: int) -> None:
    for seed in range(8, 8 + how_many):
        keep_promises(seed, all_moments=seed % 4 == 0, billing=tiny_billing(seed))


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
        keep_promises(seed, all_moments=True, dates=seed % 2 == 1)
