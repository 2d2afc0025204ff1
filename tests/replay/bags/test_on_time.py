"""The policy `on-time`: after every moment a rescue is there and in time; so no day is late that could be covered."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest

from spotbag.audits.auditor import audit
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.bags.timeline import Timeline, TimelineEvent
from spotbag.instances.clouds import PAPERS, Cloud, find_cloud
from spotbag.instances.entries import NEVER, Checkpoints
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.replay.bags.compiled_engine import CompiledReplays
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.plan import ReplayPlan, replay_plan
from spotbag.replay.bags.policies import find_policy, on_time_rescue
from spotbag.replay.bags.policies.on_time import OnTime
from spotbag.replay.bags.policies.uniform_progress import UniformProgress
from spotbag.replay.bags.record import trace_of
from spotbag.replay.bags.rows import FIRST_NEW
from spotbag.replay.bags.runs import trace_day
from spotbag.replay.bags.state import Policy, ReplayState
from spotbag.schedules.queues import Queue, schedule_of_queues
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.bags.solve import solve
from spotbag_papers.bags.best_online import OneTask, StepDays, plan_on
from spotbag_papers.bags.uniform_progress.job import Job, drawn_trace, replayed
from tests.helpers.adverse_days import adverse_days, with_dates
from tests.helpers.random_days import random_cloud, random_cloud_day, random_day
from tests.helpers.rescues import random_plan, with_deadline
from tests.helpers.soaks import soak
from tests.helpers.tiny_days import bag, vm_type
from tests.helpers.tiny_days import plan as plan_by_hand

SAVES_AT_ONCE = {"checkpoint": {"overhead_fraction": 0.1, "dump_base_s": 0}}
"""All is saved at any moment: tasks leave on-demand VMs as they run."""

RETURNS = {"type_interruptions_per_deadline": 1.0, "type_resumes_per_deadline": 30.0}
"""VMs are back soon, for all that is known: what is lost waits."""


def demand_rescue(state: ReplayState) -> None:
    """The rescue has each task once that no on-demand VM has, and may begin at any second from the next on."""
    left = {task: vm for vm in state.vms if vm.spot for task in vm.tasks()}
    deadline_s, from_s = state.instance.deadline_s, state.now_s + 1
    on_time_rescue.look(state)
    on_time_rescue.follow(state)  # what waits on a VM may have moved up
    cores: dict[tuple[int, int], list[int]] = {}
    for task in left:
        cores.setdefault((state.standby[task].vm, state.standby[task].core), []).append(task)

    groups, group_of = state.groups, state.instance.task_group.tolist()

    def demand_in_time(tasks: list[int], offer: int, free_s: int) -> None:
        rented = state.instance.offers[offer]
        for task in sorted(tasks, key=lambda task: (groups[group_of[task]].due_s, groups[group_of[task]].ready_s)):
            seconds = state.duration_s(task, rented, saved=state.saved_if_moved(left[task], task))
            assert seconds < NEVER
            free_s = max(free_s, groups[group_of[task]].ready_s) + seconds
            assert free_s <= groups[group_of[task]].due_s <= deadline_s

    new: Counter[int] = Counter()
    for number in sorted({number for number, _ in cores}, reverse=True):
        lists = {core: tasks for (of_vm, core), tasks in cores.items() if of_vm == number}
        if number <= FIRST_NEW:
            offer = state.instance.offers[state.standby_vms[FIRST_NEW - number].offer]
            assert state.can_start(offer, in_market=new.total(), of_offer=new[offer.index])
            new[offer.index] += 1
            for tasks in lists.values():
                demand_in_time(tasks, offer.index, from_s + state.start_overhead_s)
            assert sum(max(map(state.memory_kb, tasks)) for tasks in lists.values()) <= offer.memory_kb
            continue
        vm = state.vms[number]
        assert vm.alive
        assert not vm.spot
        used_kb = 0
        for core in range(vm.vcpus):
            tasks = lists.get(core, [])
            free_s = max(vm.zero_s + state.timeline(vm).core_free_s[core], from_s)
            demand_in_time(tasks, vm.offer_index, free_s)
            there = [run.task for run in (vm.running[core], *vm.waiting[core]) if run is not None]
            used_kb += max(map(state.memory_kb, tasks + there), default=0)
        assert vm.memory_kb is None or used_kb <= vm.memory_kb
    for vm in state.vms:
        if not vm.spot and vm.n_left:
            assert vm.alive
            for run in (
                run for core in range(vm.vcpus) for run in (vm.running[core], *vm.waiting[core]) if run is not None
            ):
                assert vm.zero_s + run.end_s <= groups[group_of[run.task]].due_s


def demand_on_time(
    plan: ReplayPlan, day: Timeline, cloud: Cloud = PAPERS, law: object = None, policy: OnTime | None = None
) -> bool:
    """Replay a day, and look at the rescue after every moment; return whether there was one from the start."""
    policy = OnTime() if policy is None else policy
    run = Replay(plan, policy, day, cloud, record=True, law=law)
    covered: bool | None = None
    while run.step():
        if run.state.unfinished and run.state.covered and (covered or covered is None):
            covered = True
            demand_rescue(run.state)
        elif covered is None:
            covered = False
    outcome = run.outcome()
    assert audit(trace_of(run.state, run.day, cloud, outcome, 0)).correct
    if covered:
        assert outcome.meets_deadline
    return bool(covered)


def demand_none_late(seeds: range, days: int, dates: bool = False) -> None:
    """No day of the adversary is late, of so many; the auditor judges one in ten bags."""
    found = 0
    for seed in seeds:
        for day in adverse_days(seed, dates):
            outcome = day.replay.outcome()
            assert outcome.meets_deadline or not day.covered, seed
            if seed % 10 == 0:
                trace = trace_of(day.replay.state, day.replay.day, day.replay.cloud, outcome, 0)
                assert audit(trace).correct, seed
            found += day.covered
        if found >= days:
            return
    raise AssertionError(f"{found} of {days} days")


def test_a_few_days_of_an_adversary_are_on_time() -> None:
    demand_none_late(range(30), 30)


@soak(300, 20_000)
def test_days_of_an_adversary_are_on_time(how_many: int) -> None:
    demand_none_late(range(1_000, 1_000 + how_many), how_many)


def test_a_few_days_of_an_adversary_are_on_time_for_each_task() -> None:
    demand_none_late(range(30), 30, dates=True)


@soak(200, 20_000)
def test_days_of_an_adversary_are_on_time_for_each_task(how_many: int) -> None:
    demand_none_late(range(1_000, 1_000 + how_many), how_many, dates=True)


def seven_tasks() -> Schedule:
    """Seven tasks on a spot VM of two cores; three of them may be there, and one on demand."""
    kinds = [vm_type("two", vcpus=2, memory_mb=1000, spot=3, on_demand=1)]
    memory_mb = dict(zip("abcdefg", (100, 200, 200, 700, 200, 400, 200), strict=True))
    runtimes_s = {name: {"two": s} for name, s in zip("abcdefg", (17, 13, 17, 18, 26, 25, 24), strict=True)}
    instance = bag(
        runtimes_s, kinds, deadline_s=73, d_spot_s=73, migration_overhead_s=0, memory_mb=memory_mb, checkpoint=None
    )
    spot = next(offer for offer in instance.offers if offer.market == "spot")
    return schedule_of_queues(instance, [Queue(spot, list(range(7)))])


def test_an_early_start_that_the_timetable_does_not_confirm_is_not_made() -> None:
    """All tasks went to one VM at once, by shares of memory for each core; by memory, the last of them ended at 74 s.

    They have 140 s of work for two cores, and 73 s: at the latest starts of the rescue each core has its share.
    """
    plan = replay_plan(seven_tasks())
    day = Timeline((TimelineEvent(0, "two", "terminate"),))
    assert demand_on_time(plan, day, find_cloud("aws-terminate"))
    assert Replay(plan, OnTime(), day, find_cloud("aws-terminate")).run().makespan_s == 73


def credits_job(market: str, starts_s: list[int]) -> Schedule:
    """Tasks at full speed on a burstable VM with 0.9 credits; the last of them may run on other spot VMs, too.

    Each takes 1 - 0.1 = 0.9 credits, as 6 an hour are earned: all that there are at first, and again after 540 s.
    """
    burst = {"baseline_fraction": 0.1, "credits_per_hour": 6, "initial_credits": 0.9, "max_credits": 10}
    kinds = [vm_type("burst", spot=1, on_demand=1, burstable=burst), vm_type("s", spot=1, on_demand=1)]
    runtimes_s = {"a": {"burst": 60}, "b": {"burst": 60}, "c": {"burst": 60, "s": 60}}
    instance = bag(runtimes_s, kinds, deadline_s=2000, d_spot_s=2000, checkpoint=None)
    offer = next(offer.index for offer in instance.offers if offer.burstable and offer.market == market)
    return Schedule(instance, [offer], [0] * 3, [0] * 3, starts_s, [False] * 3)  # type: ignore[arg-type]


def test_what_is_at_full_speed_moves_up_over_no_gap_in_which_credits_are_earned() -> None:
    """The last task left, the second moved up from 600 s to 60 s, and had no credits there.

    The third goes to a spot VM at 0 s, for 10 + 60 s; the burstable VM is paid until 660 s.
    """
    plan = replay_plan(credits_job("on-demand", [0, 600, 1200]))
    assert demand_on_time(plan, Timeline(()))
    outcome = Replay(plan, OnTime(), Timeline(())).run()
    assert (outcome.makespan_s, outcome.cost_usd) == (660, pytest.approx(660 * 0.003 + 70 * 0.001))


def test_a_task_that_ends_on_a_burstable_spot_vm_spends_no_credits_any_more() -> None:
    """It was counted as running for good: after 600 s, 9 credits were missing instead of 0.9 there."""
    run = Replay(replay_plan(credits_job("spot", [0, 600, 1200])), find_policy("static"), Timeline(()))
    while run.step() and run.state.now_s < 600:
        pass
    assert run.state.vms[0].n_at_full_speed == 1
    assert run.state.vms[0].credits(600) == pytest.approx(0.9)
    assert run.run().makespan_s == 1260


@pytest.mark.parametrize(
    ("kind", "notice_s", "at_s", "makespan_s"),
    [
        ("stop", 0, 30, 700 + 600 + 600),
        ("stop", 30, 0, 700 + 600 + 600),
        ("hibernate", 0, 30, 1260 + 70),
        ("hibernate", 20, 590, 680 + 600 + 600),
    ],
)
def test_full_speed_for_which_the_credits_are_spent_becomes_the_baseline(
    kind: str, notice_s: int, at_s: int, makespan_s: int
) -> None:
    """Of a VM that is stopped at 30 s and back at 100 s, what is done once more takes credits that others count on.

    At the baseline each task takes 600 s: they end at 700, 1,300 and 1,900 s. After 30 s of hibernation nothing is done
    once more, and all ends 70 s later. One that drains from 590 s on and hibernates at 610 s has missed a start, and is
    back at 680 s.
    """
    schedule = credits_job("spot", [0, 600, 1200])
    back_s = at_s + notice_s + 70
    day = Timeline((TimelineEvent(at_s, "burst", kind, notice_s=notice_s), TimelineEvent(back_s, "burst", "resume")))
    plan = replay_plan(schedule)
    run = Replay(plan, find_policy("static"), day, record=True)
    outcome = run.run()
    assert outcome.makespan_s == makespan_s
    assert audit(trace_of(run.state, run.day, PAPERS, outcome, 0)).findings == ()
    assert CompiledReplays(plan).outcome(find_policy("static"), day, PAPERS) == outcome


def test_a_checkpoint_of_a_notice_stays_written_when_the_vm_resumes() -> None:
    """It was forgotten, and the rescue had as much more to do: of 100 s, 38 were saved, then none.

    The VM has notice at 20 s and hibernates at 40 s; the last 2 s are for a checkpoint, which saves 38 s of work. It
    resumes at 50 s and hibernates for good at 60 s, without notice. The first regular checkpoint would come after 90 s.
    """
    kinds = [vm_type("one", spot=1, on_demand=1)]
    checkpoint = Checkpoints(overhead_fraction=2 / 90, dump_base_s=2)
    instance = bag({"a": {"one": 100}}, kinds, deadline_s=150, d_spot_s=150, migration_overhead_s=0)
    plan = replay_plan(Schedule(instance.replace(checkpoint=checkpoint), [0], [0], [0], [0], [False]))  # type: ignore[arg-type]
    blows = (
        TimelineEvent(20, "one", "hibernate", notice_s=20),
        TimelineEvent(50, "one", "resume"),
        TimelineEvent(60, "one", "hibernate"),
    )
    run = Replay(plan, OnTime(), Timeline(blows), law=RETURNS, record=True)
    while run.step() and run.state.now_s < 60:
        pass
    assert run.state.saved_if_moved(run.state.vms[0], 0) == pytest.approx(0.38)
    assert demand_on_time(plan, Timeline(blows), law=RETURNS)


def random_replay(seed: int) -> bool:
    rng = np.random.default_rng([21, seed])
    if seed % 5 == 0:
        # Checkpoints that take 0, 1 or 2 s, as if that were nothing beside the deadline.
        checkpoint = {"overhead_fraction": 0.5, "dump_base_s": seed % 3}
        schedule = random_plan(seed, checkpoint=checkpoint, boot_overhead_s=seed % 2)
        if seed % 10 == 0:
            schedule = with_deadline(schedule, (1 + seed % 4) * schedule.makespan_s + seed % 7)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(on_time_rescue, "_OFTEN", 1.0)
            return random_day_of(schedule, seed, rng)
    return random_day_of(random_plan(seed), seed, rng)


def dated_replay(seed: int) -> bool:
    rng = np.random.default_rng([23, seed])
    schedule = (
        random_plan(seed, checkpoint={"overhead_fraction": 0.5, "dump_base_s": seed % 3})
        if seed % 5 == 0
        else random_plan(seed)
    )
    deadline_s = int(rng.choice([1, 1, 2, 4])) * schedule.makespan_s + int(rng.integers(12))
    parts = rng.choice([0.0, 0.5, 0.9, 1.0], (2, len(schedule.instance.to_document()["tasks"])))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_time_rescue, "_OFTEN", 1.0 if seed % 5 == 0 else on_time_rescue._OFTEN)
        return random_day_of(with_dates(schedule, deadline_s, parts), seed, rng)


def random_day_of(schedule: Schedule, seed: int, rng: np.random.Generator) -> bool:
    left_out = rng.choice(sorted(OnTime.rules), int(rng.integers(3))) if seed % 3 == 0 else []
    policy = OnTime(**{option: False for rule in left_out for option in OnTime.rules[rule].options})
    if seed % 2:
        return demand_on_time(replay_plan(schedule), random_day(schedule.instance, rng), policy=policy)
    day = random_cloud_day(schedule.instance, rng)
    return demand_on_time(replay_plan(schedule), day, random_cloud(rng), policy=policy)


def test_a_rescue_is_there_after_every_moment_of_a_few_days() -> None:
    assert sum(random_replay(seed) for seed in range(8)) > 2


@soak(300, 20_000)
def test_a_rescue_is_there_after_every_moment(how_many: int) -> None:
    assert sum(random_replay(seed) for seed in range(100, 100 + how_many)) > how_many // 4


def test_a_rescue_is_there_for_tasks_with_dates_after_every_moment_of_a_few_days() -> None:
    assert sum(dated_replay(seed) for seed in range(8)) > 2


@soak(300, 20_000)
def test_a_rescue_is_there_for_tasks_with_dates_after_every_moment(how_many: int) -> None:
    assert sum(dated_replay(seed) for seed in range(100, 100 + how_many)) > how_many // 4


def library_day(name: str, method: str, scenario: str, days: range, seed: int) -> int:
    schedule, drawn = solve(library_instance(name), method).schedule, find_scenario(scenario)
    assert schedule is not None
    plan, law = replay_plan(schedule), getattr(drawn, "law", None)
    found = [drawn.day(schedule.instance, seed, day) for day in days]
    return sum(demand_on_time(plan, day, find_cloud(getattr(drawn, "cloud", None) or "papers"), law) for day in found)


def test_what_moves_up_on_an_on_demand_vm_that_is_relieved_may_take_the_first_free_core() -> None:
    assert library_day("burst-hads/J80", "greedy", "hads/sc4", range(1, 2), 1000) == 1


def test_what_waits_on_an_on_demand_vm_moves_up_before_its_cores_are_counted_on() -> None:
    """Two tasks left on-demand VMs in one second; for the second, a core counted that what waits was to take."""
    schedule, drawn = solve(library_instance("hads/J100"), "greedy").schedule, find_scenario("hads/sc4")
    assert schedule is not None
    law = getattr(drawn, "law", None)
    assert demand_on_time(replay_plan(schedule), drawn.day(schedule.instance, 9001, 358), law=law)


@soak(1, 50)
def test_library_days_are_on_time(how_many: int) -> None:
    for name in ("hads/J60", "hads/J100", "burst-hads/J80", "burst-hads/ED200", "hads/ED200"):
        for method in ("greedy", "ils"):
            for scenario in ("hads/sc2", "hads/sc4", "hads/sc5", "vms/shocks", "vms/stormy"):
                library_day(name, method, scenario, range(how_many), 77)


def test_a_rescue_that_cannot_wait_at_first_divides_by_nothing() -> None:
    schedule = random_plan(3957, **SAVES_AT_ONCE)
    day = random_day(schedule.instance, np.random.default_rng([22, 3957]))
    for times in (1, 2):
        demand_on_time(replay_plan(with_deadline(schedule, times * schedule.makespan_s + 2)), day)


@pytest.mark.parametrize(
    ("deadline_h", "changeover_h", "draws"),
    [(70, 0.05, 2), *(pytest.param(*case, 5, marks=pytest.mark.slow) for case in product((52, 70), (0.05, 0.2)))],
)
def test_a_job_that_is_saved_at_once_is_no_dearer_than_by_uniform_progress(
    deadline_h: int, changeover_h: float, draws: int
) -> None:
    job = Job(48 * 3600, deadline_h * 3600, round(changeover_h * 3600))
    usd: dict[type[Policy], float] = {UniformProgress: 0.0, OnTime: 0.0}
    for availability in (0.3, 0.5, 0.9):
        for seed in range(draws):
            trace = drawn_trace(availability, job.ticks, 50 + seed)
            for kind in usd:
                outcome = replayed(job, trace, kind())
                assert outcome.meets_deadline
                usd[kind] += outcome.cost_usd
    assert usd[OnTime] <= 1.02 * usd[UniformProgress]


def test_a_task_that_is_saved_at_once_leaves_its_on_demand_vm_when_spot_vms_are_back() -> None:
    # The rescue can wait for 200 - 4 - 100 = 96 s at first. The VM is lost at 10 s; from 20 s on the rescue, until
    # 106 s, can wait for a smaller part of that than there is of the time. At 60 s, 54 s are left, and it could wait
    # for 82 s more. The on-demand VM is billed for 40 s, at least 60, the second spot VM for 58, at least 60.
    types = [vm_type("one", spot=2, on_demand=2)]
    instance = bag({"a": {"one": 100}}, types, deadline_s=200, d_spot_s=200, migration_overhead_s=4)
    instance = instance.replace(checkpoint=Checkpoints(overhead_fraction=0.1, dump_base_s=0))
    plan = Schedule(instance, [0], [0], [0], [0], [False])  # type: ignore[arg-type]
    day = Timeline((TimelineEvent(10, "one", "terminate"), TimelineEvent(60, "one", "resume")))
    cloud = find_cloud("aws-terminate")
    found = []
    for policy in (OnTime(), OnTime(relieves=False)):
        run = Replay(replay_plan(plan), policy, day, cloud, record=True)
        outcome = run.run()
        assert audit(trace_of(run.state, run.day, cloud, outcome, 0)).correct
        launched = [event["t"] for event in run.state.records or () if event["event"] == "launch"]
        found.append((launched, outcome.makespan_s, outcome.cost_usd))
    assert found[0] == ([0, 20, 60], 118, pytest.approx(60 * 0.003 + 60 * 0.001))
    assert found[1] == ([0, 20], 114, pytest.approx(94 * 0.003))


def burstable_job() -> Schedule:
    """A task at the baseline of a burstable on-demand VM, 10 s of work in 100 s; a spot VM would have it in 10 s."""
    document = tiny_bag(101)
    document["vm_types"] = [
        {
            "name": "burst",
            "vcpus": 1,
            "memory_mb": 8192,
            "speed": 1,
            "offers": {"on-demand": {"price_usd_per_hour": 3.6, "limit": 1}},
            "burstable": {"baseline_fraction": 0.1, "credits_per_hour": 0, "initial_credits": 0, "max_credits": 10},
        },
        {
            "name": "s",
            "vcpus": 1,
            "memory_mb": 8192,
            "speed": 1,
            "offers": {"spot": {"price_usd_per_hour": 0.36, "limit": 1}},
        },
    ]
    instance = Instance.from_document(document, "burstable job")
    on_demand = next(offer.index for offer in instance.offers if offer.market == "on-demand")
    return Schedule(instance, [on_demand], [0], [0], [0], [True])  # type: ignore[arg-type]


def tiny_bag(deadline_s: int) -> dict[str, Any]:
    return {
        "format": "spotbag.instance/1",
        "name": "tiny",
        "deadline_s": deadline_s,
        "d_spot_s": deadline_s,
        "tasks": [{"id": "t", "memory_mb": 10, "runtime_s": {"burst": 10, "s": 10}}],
        **SAVES_AT_ONCE,
    }


def test_a_task_on_a_burstable_vm_is_not_counted_on_to_have_saved_parts_of_a_second() -> None:
    day = Timeline(
        (TimelineEvent(0, "s", "hibernate"), TimelineEvent(9, "s", "resume"), TimelineEvent(10, "s", "hibernate"))
    )
    demand_on_time(replay_plan(burstable_job()), day)


def test_what_falls_behind_goes_to_another_spot_type_before_it_goes_on_demand() -> None:
    # Type one is down from 10 s to 150 s, and so likely back that the task waits; at 20 s it falls behind.
    types = [vm_type("one", spot=1, on_demand=1), vm_type("two", spot=1)]
    instance = bag({"a": {"one": 100, "two": 100}}, types, deadline_s=200, d_spot_s=200, migration_overhead_s=4)
    instance = instance.replace(checkpoint=Checkpoints(overhead_fraction=0.1, dump_base_s=0))
    plan = Schedule(instance, [0], [0], [0], [0], [False])  # type: ignore[arg-type]
    day = Timeline((TimelineEvent(10, "one", "hibernate"), TimelineEvent(150, "one", "resume")))
    run = Replay(replay_plan(plan), OnTime(), day, law=RETURNS, record=True)
    run.run()
    launched = [event["vm"] for event in run.state.records or () if event["event"] == "launch"]
    assert [name for name in launched if "on-demand" in name] == []


@pytest.mark.parametrize("dump_s", [0, 1, 2])
def test_a_long_job_that_saves_often_returns_to_spot_vms(dump_s: int) -> None:
    types = [vm_type("one", spot=5, on_demand=5)]
    instance = bag({"a": {"one": 3000}}, types, deadline_s=4000, d_spot_s=4000, migration_overhead_s=4)
    instance = instance.replace(checkpoint=Checkpoints(overhead_fraction=0.1, dump_base_s=dump_s))
    plan = Schedule(instance, [0], [0], [0], [0], [False])  # type: ignore[arg-type]
    day = Timeline(
        (
            TimelineEvent(1000, "one", "terminate"),
            TimelineEvent(1600, "one", "resume"),
            TimelineEvent(2000, "one", "terminate"),
            TimelineEvent(2010, "one", "resume"),
        )
    )
    run = Replay(replay_plan(plan), OnTime(), day, find_cloud("aws-terminate"), record=True)
    assert demand_on_time(replay_plan(plan), day, find_cloud("aws-terminate"))
    run.run()
    launched = [event["vm"] for event in run.state.records or () if event["event"] == "launch"]
    assert ["spot" in name for name in launched] == [True, False, True, True]


def test_a_task_without_checkpoints_does_not_leave_for_what_would_not_end_in_time() -> None:
    """It was moved to a spot VM, taken from there when the rescue had to begin, and done once more."""
    types = [vm_type("one", spot=1, on_demand=1)]
    instance = bag({"a": {"one": 100}}, types, deadline_s=130, d_spot_s=130, checkpoint=None)
    on_demand = next(offer.index for offer in instance.offers if offer.market == "on-demand")
    plan = Schedule(instance, [on_demand], [0], [0], [0], [False])  # type: ignore[arg-type]
    calm = {"type_interruptions_per_deadline": 0.0, "type_resumes_per_deadline": 1.0}
    assert Replay(replay_plan(plan), OnTime(), Timeline(()), law=calm).run().cost_usd == pytest.approx(plan.cost_usd)


def test_a_rescue_begins_no_earlier_than_it_must() -> None:
    # Down for good at 10 s: 50 s of work and 10 s to start a VM fit before the deadline from 100 - 60 = 40 s on.
    types = [vm_type("one", spot=1, on_demand=1)]
    instance = bag({"a": {"one": 50}}, types, deadline_s=100, d_spot_s=100)
    plan = Schedule(instance, [0], [0], [0], [0], [False])  # type: ignore[arg-type]
    policy = OnTime()
    day = Timeline((TimelineEvent(10, "one", "hibernate"),))
    run = Replay(replay_plan(plan), policy, day, record=True, law=RETURNS)
    outcome = run.run()
    launched = [event["t"] for event in run.state.records or () if event["event"] == "launch"]
    assert launched == [0, 40]
    assert outcome.makespan_s == 100


def test_a_vm_that_is_back_before_the_rescue_must_begin_goes_on() -> None:
    types = [vm_type("one", spot=1, on_demand=1)]
    instance = bag({"a": {"one": 50}}, types, deadline_s=150, d_spot_s=150)
    plan = Schedule(instance, [0], [0], [0], [0], [False])  # type: ignore[arg-type]
    day = Timeline((TimelineEvent(10, "one", "hibernate"), TimelineEvent(39, "one", "resume")))
    run = Replay(replay_plan(plan), OnTime(), day, law=RETURNS)
    assert (run.run().makespan_s, run.outcome().cost_usd) == (79, pytest.approx(0.05))


def test_planned_work_of_on_demand_vms_goes_to_spot_vms_where_that_is_cheaper() -> None:
    # A task of 100 s is on an on-demand VM; a spot VM begins it 10 s later, for a third of the price.
    types = [vm_type("one", spot=1, on_demand=1)]
    instance = bag({"a": {"one": 100}}, types, deadline_s=300, d_spot_s=300)
    on_demand = next(offer.index for offer in instance.offers if offer.market == "on-demand")
    plan = Schedule(instance, [on_demand], [0], [0], [0], [False])  # type: ignore[arg-type]
    run = Replay(replay_plan(plan), OnTime(), Timeline(()), record=True)
    outcome = run.run()
    assert outcome.makespan_s == 110
    assert Replay(replay_plan(plan), OnTime(relieves=False), Timeline(())).run().makespan_s == 100


def test_a_new_spot_vm_takes_what_would_end_last_if_interruptions_are_likely() -> None:
    # Two tasks of 300 s, one after the other: the second would end at 310 s on a VM that is paid for 10 s in vain.
    types = [vm_type("one", spot=2, on_demand=2)]
    instance = bag({"a": {"one": 300}, "b": {"one": 300}}, types, deadline_s=1000, d_spot_s=1000)
    plan = Schedule(instance, [0], [0, 0], [0, 0], [0, 300], [False, False])  # type: ignore[arg-type]
    makespans_s = [
        Replay(
            replay_plan(plan),
            OnTime(),
            Timeline(()),
            law={"type_interruptions_per_deadline": rate, "type_resumes_per_deadline": 0.0},
        )
        .run()
        .makespan_s
        for rate in (0.0, 1.0)
    ]
    assert makespans_s == [600, 310]


def test_an_on_demand_vm_that_is_relieved_ends_when_it_might_start() -> None:
    """It may not end in its first 180 s, and was idle until the next event, 780 s later: 0.0217 $ of 0.0569."""
    plan = plan_on(OneTask(2, 1350), 0)
    gone = ((330, "c3.large"), (1110, "c4.large"))
    day = Timeline(tuple(TimelineEvent(time_s, name, "interrupt") for time_s, name in gone))
    outcome, _ = trace_day(plan, "on-time", day, law=StepDays("hads/sc2", 5, 0).law)
    first = next(bill for bill in outcome.bills if "on-demand" in bill.name)
    assert first.cost_usd <= 180 * 0.1 / 3600 + 1e-9


def test_what_is_planned_on_spot_alone_may_be_rescued_on_demand() -> None:
    """Limits of the on-demand market held for the plan, and none of its VMs was counted on: all of it was late."""
    types = [vm_type("a")]
    alone = bag({"t": {"a": 100}}, types, markets=["spot"])
    spot = next(offer.index for offer in alone.offers if offer.market == "spot")
    zeros = np.zeros(1, dtype=np.int64)
    plan = replay_plan(Schedule(alone, np.array([spot]), zeros, zeros, zeros, zeros > 0))
    run = Replay(plan, OnTime(), Timeline((TimelineEvent(50, "a", "hibernate"),)))
    outcome = run.run()
    assert run.state.covered
    assert outcome.meets_deadline
    assert [bill.market for bill in outcome.bills] == ["spot", "on-demand"]


def test_after_the_deadline_no_task_goes_where_the_last_rescue_had_another_one() -> None:
    """The last place that a rescue had found was taken for that of a task which cannot run there."""
    types = [vm_type("a", spot=1, on_demand=1), vm_type("b", spot=0, on_demand=1)]
    either, a_only = {"a": 2, "b": 2}, {"a": 2}
    runtimes = {"t0": either, "t4": either, "t6": either, "t1": a_only, "t2": a_only, "t3": a_only, "t5": either}
    spot_only = [{"id": "t7", "memory_mb": 1, "runtime_s": {"a": 70}, "count": 3, "markets": ["spot"]}]
    document = bag(runtimes | {"t8": a_only}, types, deadline_s=127, d_spot_s=127).to_document()
    drawn = Instance.from_document(document | {"tasks": document["tasks"] + spot_only}, "day")
    places = {"t0": (0, 0, 0), "t4": (0, 0, 2), "t6": (0, 0, 4), "t3": (1, 0, 0), "t7#3": (1, 0, 2), "t7#2": (1, 0, 72)}
    waits = ["t2", "t5", "t1", "t8", "t7#1"]
    places |= {name: (1, 0, 142 + 2 * number) for number, name in enumerate(waits)}
    made = replay_plan(plan_by_hand(drawn, ["b on-demand", "a spot"], places))
    outcome = Replay(made, OnTime(balances=False), Timeline((TimelineEvent(137, "a", "stop"),))).run()
    assert outcome.unfinished_tasks == 2


def test_a_rescue_prefers_vms_on_which_the_bag_is_cheapest_with_its_memory() -> None:
    """Two cores for $ 0.003 a second are cheaper than one for 0.002; but no second task of 700 of 1,024 MB fits."""
    types = [vm_type("one", on_demand_usd_per_s=0.002), vm_type("two", vcpus=2)]
    tasks = {f"t{number}": {"one": 100, "two": 100} for number in range(3)}
    for memory_mb, preferred in ((1, "two"), (700, "one")):
        drawn = bag(tasks, types, memory_mb=dict.fromkeys(tasks, memory_mb))
        tables = replay_plan(solve(drawn, "greedy", survive="none").schedule).tables
        assert drawn.offers[tables.given["standby_offers"][0]].vm_type.name == preferred
        assert tables.settings["rescue_usd_per_s"] == pytest.approx({"two": 0.0015, "one": 0.002}[preferred])
