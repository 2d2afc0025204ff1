"""A policy along with what really happens: the decisions of a replay, at each event of its day."""

from __future__ import annotations

import asyncio
import random
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from spotbag import (
    LivePolicy,
    Schedule,
    StartTask,
    State,
    TaskFinished,
    TaskStarted,
    TaskWithdrawn,
    VmCredits,
    VmEnded,
    VmReady,
    replay_day,
    solve,
)
from spotbag.core.errors import InputError
from spotbag.instances.clouds import PAPERS
from spotbag.instances.entries import Checkpoints
from spotbag.replay.bags.plan import replay_plan
from spotbag.replay.bags.policies import find_policy
from spotbag.replay.bags.rules import credits_of
from spotbag.schedules.events import Event
from spotbag.schedules.queues import Queue, schedule_of_queues
from tests.helpers.adverse_days import with_dates
from tests.helpers.live_days import World, differences
from tests.helpers.random_days import random_cloud, random_cloud_day, random_day
from tests.helpers.rescues import dated_plan, random_plan
from tests.helpers.several_cores import random_cores
from tests.helpers.soaks import soak
from tests.helpers.tiny_days import bag, day, vm_type
from tests.instances.test_cores import bag as bag_of_cores

POLICIES = ("on-time", "rescue", "hads", "burst-hads", "static")


def one_task(seed: int) -> Schedule:
    """Return a plan of one task that writes checkpoints, on a spot VM."""
    rng = random.Random(seed)
    checkpoint = Checkpoints(overhead_fraction=0.1, dump_base_s=rng.choice([0, 1, 4]))
    kinds = [vm_type("one", spot=2, on_demand=2)]
    seconds = rng.randrange(50, 150)
    instance = bag({"a": {"one": seconds}}, kinds, deadline_s=seconds + 90, d_spot_s=seconds, checkpoint=checkpoint)
    spot = next(offer for offer in instance.offers if offer.market == "spot")
    return schedule_of_queues(instance, [Queue(spot, [0])])


def demand_same(seeds: range) -> None:
    """At each event of random days, a live policy decides what the replay does."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        for schedule in (random_plan(seed), random_cores(seed), dated_plan(4 * seed + 1)):
            cloud = random_cloud(rng)
            day = (random_day if seed % 2 else random_cloud_day)(schedule.instance, rng)
            for name in POLICIES:
                assert list(differences(replay_plan(schedule), find_policy(name), day, cloud)) == [], (seed, name)
        single = one_task(seed)
        day = random_cloud_day(single.instance, rng)
        for name in ("uniform-progress", "on-time"):
            assert list(differences(replay_plan(single), find_policy(name), day, cloud)) == [], (seed, name)


def test_a_live_policy_decides_as_in_a_replay() -> None:
    demand_same(range(3))


@soak(20, 200)
def test_live_policies_decide_as_in_replays_of_many_days(how_many: int) -> None:
    demand_same(range(3, 3 + how_many))


def demand_done(seeds: range) -> int:
    """With a rescue from the start, all is done, whatever comes late or goes; on time where nothing takes longer."""
    covered = 0
    plans = [(seed, plan) for seed in seeds for plan in (random_plan(seed, checkpoint=None), random_cores(seed))]
    for seed in seeds:
        plan, rng = random_plan(seed, checkpoint=None), np.random.default_rng(seed)
        parts = rng.choice([0.0, 0.5, 0.9, 1.0], (2, len(plan.instance.to_document()["tasks"])))
        plans.append((seed, with_dates(plan, int(rng.choice([1, 2, 4])) * plan.instance.deadline_s, parts)))
    for seed, plan in plans:
        drawn = random.Random(seed)
        live = LivePolicy.begin(plan, cloud="aws-terminate").decide(State.begin(plan)).policy
        ended_s = World(plan, "on-time", drawn, longer=(0.3, 3.0), late_s=5.0).run(drawn.randrange(4))
        if live._replay.state.covered:  # there is a rescue from the start
            covered += 1
            assert ended_s is not None, seed
            world = World(plan, "on-time", drawn, longer=(0.3, 1.0))
            assert world.run(drawn.randrange(4)) is not None, seed
            assert not world.late, seed
    return covered


@pytest.fixture(scope="module")
def late_plan() -> Schedule:
    """A plan of eleven tasks on four cores, of which at most eight are in time, and one is lost even alone."""
    kinds = [vm_type("two", spot=1, on_demand=1, vcpus=2)]
    tasks = {f"part-{number}": {"two": 200} for number in range(10)} | {"index": {"two": 700}}
    plan = solve(bag(tasks, kinds, deadline_s=500, late="least"), threads=1).schedule
    assert plan is not None
    return plan


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["on-time", "rescue", "hads", "burst-hads"])
def test_policies_go_on_with_a_plan_with_late_tasks_whatever_is_lost(late_plan: Schedule, policy: str) -> None:
    for seed in range(5):
        day = random_cloud_day(late_plan.instance, np.random.default_rng(seed))
        cloud = random_cloud(np.random.default_rng(seed))
        outcome = replay_day(late_plan, policy, day, cloud=cloud)
        assert outcome.unfinished_tasks == 0, seed
        assert outcome.late_tasks >= 3, seed
        assert World(late_plan, policy, random.Random(seed), late_s=5.0).run(1) is not None, seed


@pytest.mark.slow
def test_what_takes_longer_and_comes_late_is_done_and_on_time_where_nothing_does() -> None:
    assert demand_done(range(3))


@soak(10, 400)
def test_many_days_that_take_longer_and_come_late_are_done(how_many: int) -> None:
    assert demand_done(range(3, 3 + how_many)) > how_many / 4


def test_tasks_start_on_all_cores_that_they_have_and_others_on_none_of_them() -> None:
    instance = bag_of_cores([1, 1, 2, 2], (4,), survive="none")
    rows = [0, 0, 0, 0], [0, 1, 2, 0], [0, 0, 0, 100], [0, 0, 0, 0]
    plan = Schedule(instance, np.array([0]), *map(np.array, rows))
    vm, state = plan.vm_ids[0], State.begin(plan)
    live = LivePolicy.begin(plan, "static")
    told: list[Event] = [VmReady(vm)]
    found = []
    for ended in (["t0", "t2"], ["t1"], ["t3"]):
        state = state.advance(state.time_s, *told)
        answer = live.decide(state, *told)
        state, live = state.advance(state.time_s, *answer.decisions), answer.policy
        found += [(one.task, one.core, one.cores) for one in answer.decisions if isinstance(one, StartTask)]
        told = [TaskFinished(task) for task in ended]
        state = state.advance(state.time_s + 50)
    assert found == [("t0", 0, None), ("t1", 1, None), ("t2", 2, (2, 3)), ("t3", 0, (0, 2))]


def test_a_core_that_was_idle_stays_so_when_its_vm_comes_back() -> None:
    instance = bag({"a": {"two": 100}}, [vm_type("two", vcpus=2)], survive="none")
    offer = next(offer for offer in instance.offers if offer.market == "spot")
    schedule = schedule_of_queues(instance, [Queue(offer, [0])])
    assert list(differences(replay_plan(schedule), find_policy("static"), day(two=[20, 40]), PAPERS)) == []


def test_tasks_at_full_speed_may_take_longer_than_there_are_credits() -> None:
    burst = {"baseline_fraction": 0.1, "credits_per_hour": 6, "initial_credits": 0.9, "max_credits": 10}
    instance = bag({"a": {"burst": 60}}, [vm_type("burst", on_demand=1, burstable=burst)], deadline_s=900)
    plan = Schedule(instance, *map(np.array, ([0], [0], [0], [0], [False])))
    state, live = State.begin(plan), LivePolicy.begin(plan)
    for now_s, event in ((0, VmReady(plan.vm_ids[0])), (61, None), (100, TaskFinished("a"))):
        told = [] if event is None else [event]
        state = state.advance(now_s, *told)
        answer = live.decide(state, *told)
        state, live = state.advance(now_s, *answer.decisions), answer.policy
    assert state.done == ("a",)
    assert not state.vms


def test_credits_that_are_told_are_those_that_a_policy_counts_on() -> None:
    burst = {"baseline_fraction": 0.1, "credits_per_hour": 6, "initial_credits": 2, "max_credits": 10}
    instance = bag({"a": {"burst": 60}}, [vm_type("burst", on_demand=1, burstable=burst)], deadline_s=900)
    plan = Schedule(instance, *map(np.array, ([0], [0], [0], [0], [False])))
    state, live = State.begin(plan), LivePolicy.begin(plan)
    for now_s, event in ((0, VmReady(plan.vm_ids[0])), (10, VmCredits(plan.vm_ids[0], 7.5))):
        state = state.advance(now_s, event)
        answer = live.decide(state, event)
        state, live = state.advance(now_s, *answer.decisions), answer.policy
    replay = live._replay.state
    assert credits_of(replay, replay.vms[0], 10) == 7.5
    assert credits_of(replay, replay.vms[0], 70) == pytest.approx(7.5 + 0.1 - 1)  # earned, and spent by the task


@pytest.mark.parametrize("ready_s", [0, 20, 40])
def test_a_task_starts_when_it_is_released_however_late_its_vm_is_ready(ready_s: int) -> None:
    instance = bag({"a": {"one": 60}}, [vm_type("one")], dates={"a": {"ready_s": 30}}, boot_overhead_s=10)
    plan = Schedule(instance, *map(np.array, ([0], [0], [0], [30], [False])))
    with pytest.raises(InputError, match="the policy uniform-progress does not know"):
        LivePolicy.begin(plan, "uniform-progress")
    state, live, ready = State.begin(plan), LivePolicy.begin(plan, "static"), VmReady(plan.vm_ids[0])
    for now_s, told in ((ready_s, [ready]), *([] if ready_s > 30 else [(30, [])])):
        state = state.advance(now_s, *told)
        answer = live.decide(state, *told)
        assert [type(one) for one in answer.decisions] == [StartTask] * (now_s >= 30)
        assert now_s >= 30 or answer.until_s == 30
        state, live = state.advance(now_s, *answer.decisions), answer.policy


def begun() -> tuple[Schedule, State, LivePolicy]:
    """Return a plan whose VMs are ready and run their first tasks."""
    plan = random_plan(0)
    state, live = State.begin(plan), LivePolicy.begin(plan)
    ready = [VmReady(vm.id) for vm in state.vms]
    state = state.advance(plan.instance.boot_overhead_s, *ready)
    answer = live.decide(state, *ready)
    return plan, state.advance(state.time_s, *answer.decisions), answer.policy


def test_what_contradicts_what_was_decided_is_refused_by_name() -> None:
    plan, state, live = begun()
    running = state.running_ids[0]
    waiting = state.waiting_ids(plan.instance)[-1]
    later_s = state.time_s + 1
    with pytest.raises(InputError, match="was asked at"):
        live.decide(State.begin(plan))
    with pytest.raises(InputError, match=f"has finished the task '{running}', other than by the events"):
        live.decide(state.advance(later_s, TaskFinished(running)))
    with pytest.raises(InputError, match=f"event of the task '{waiting}', which runs nowhere"):
        live.decide(state.advance(later_s), TaskFinished(waiting))
    with pytest.raises(InputError, match="does not know in that state"):
        live.decide(state.advance(later_s), VmReady(state.vms[0].id))
    with pytest.raises(InputError, match=f"has withdrawn the task '{waiting}'"):
        live.decide(state.advance(later_s, TaskWithdrawn(waiting)))
    with pytest.raises(InputError, match=f"has the VM '{state.vms[0].id}' no more, other than by the events"):
        live.decide(state.advance(later_s, VmEnded(state.vms[0].id)))
    ended = state.advance(later_s, TaskFinished(running))
    vm = next(vm for vm in state.vms if any(run.task == running for run in vm.running))
    core = next(run.core for run in vm.running if run.task == running)
    with pytest.raises(InputError, match=f"has the task '{waiting}' on core {core} of '{vm.id}', where it was not to"):
        live.decide(ended.advance(later_s, TaskStarted(waiting, vm.id, core)), TaskFinished(running))


def test_a_policy_never_changes_and_the_same_question_has_the_same_answer() -> None:
    _, state, live = begun()
    vm = next(vm for vm in state.vms if vm.market == "spot")
    lost = state.advance(state.time_s + 1, VmEnded(vm.id))
    first, second = (live.decide(lost, VmEnded(vm.id)) for _ in range(2))
    assert first.decisions == second.decisions
    assert first.until_s == second.until_s


@pytest.mark.slow
def test_the_example_carries_a_bag_out_on_processes_of_which_one_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["live.py", "0.01"])
    example = runpy.run_path(str(Path(__file__).parents[3] / "examples" / "live.py"))
    loop = asyncio.run(example["main"]())
    assert len(loop.lost) == 1
    assert set(loop.state.done) == set(loop.bag.task_ids)
    assert not loop.workers
    assert loop.state.time_s <= loop.bag.deadline_s
    assert max(loop.attempts.values()) == 2  # what ran on the VM that was lost
