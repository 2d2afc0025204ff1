"""The policy `on-time`: after every moment a rescue is there and in time; so no day is late that could be covered."""

from __future__ import annotations

from collections import Counter

import numpy as np

from spotbag.audits.auditor import audit
from spotbag.instances.bags.timeline import Timeline
from spotbag.instances.clouds import PAPERS, Cloud
from spotbag.instances.durations import NEVER
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.outcome import trace_of
from spotbag.replay.bags.plan import ReplayPlan, replay_plan
from spotbag.replay.bags.policies.on_time import OnTime
from spotbag.replay.bags.state import ReplayState

from ...helpers.random_days import random_cloud, random_cloud_day, random_day
from ...helpers.rescues import random_plan
from ...helpers.soaks import soak


def demand_rescue(state: ReplayState, policy: OnTime) -> None:
    """The stored rescue has each task once that no on-demand VM has, and may begin at any second from the next on."""
    left = {task: vm for vm in state.vms if vm.spot for task in vm.tasks()}
    deadline_s, from_s = state.instance.deadline_s, state.now_s + 1
    listed: Counter[int] = Counter()

    def work_s(tasks: list[int], offer: int) -> int:
        listed.update(tasks)
        mode = state.work.sustained[offer]
        lengths = [state.work.duration_s(task, offer, mode, state.saved_if_moved(left[task], task)) for task in tasks]
        assert all(length < NEVER for length in lengths)
        return sum(lengths)

    memory_kb: Counter[int] = Counter()
    plan = policy.plan
    for (number, core), entries in plan.cores.items():
        tasks, vm = [task for task in entries if task in left], state.vms[number]
        if tasks:
            assert vm.alive
            assert not vm.spot
            free_s = max(vm.zero_s + state.timeline(vm).core_free_s[core], from_s)
            assert free_s + work_s(tasks, vm.offer_index) <= deadline_s
        there = [run for run in (vm.running[core], *vm.waiting[core]) if run is not None]
        memory_kb[number] += max([state.memory_kb(task) for task in [*tasks, *(run.task for run in there)]], default=0)
    for number, used_kb in memory_kb.items():
        vm = state.vms[number]
        assert (
            vm.memory_kb is None
            or not any(plan.cores[number, c] for c in range(vm.offer.vcpus))
            or used_kb <= vm.memory_kb
        )
    new: Counter[int] = Counter()
    for entry in plan.new:
        lists = [[task for task in tasks if task in left] for tasks in entry.cores]
        if any(lists):
            assert state.can_start(entry.offer, in_market=new.total(), of_offer=new[entry.offer.index])
            new[entry.offer.index] += 1
            assert (
                from_s + state.start_overhead_s + max(work_s(tasks, entry.offer.index) for tasks in lists) <= deadline_s
            )
            assert sum(max(map(state.memory_kb, tasks), default=0) for tasks in lists) <= entry.offer.memory_kb
    assert listed == Counter(dict.fromkeys(left, 1))
    for vm in state.vms:
        if not vm.spot and vm.n_left:
            assert vm.alive
            assert vm.zero_s + state.timeline(vm).end_s <= deadline_s


def demand_on_time(plan: ReplayPlan, day: Timeline, cloud: Cloud = PAPERS) -> bool:
    """Replay a day, and look at the rescue after every moment; return whether there was one from the start."""
    policy = OnTime()
    run = Replay(plan, policy, day, cloud, record=True)
    covered: bool | None = None
    while run.step():
        if run.state.unfinished and policy.covered and (covered or covered is None):
            covered = True
            demand_rescue(run.state, policy)
        elif covered is None:
            covered = False
    outcome = run.outcome()
    assert audit(trace_of(run.state, run.day, cloud, outcome, 0)).correct
    if covered:
        assert outcome.meets_deadline
    return bool(covered)


def random_replay(seed: int) -> bool:
    rng = np.random.default_rng([21, seed])
    schedule = random_plan(seed)
    if seed % 2:
        return demand_on_time(replay_plan(schedule), random_day(schedule.instance, rng))
    return demand_on_time(replay_plan(schedule), random_cloud_day(schedule.instance, rng), random_cloud(rng))


def test_a_rescue_is_there_after_every_moment_of_a_few_days() -> None:
    assert sum(random_replay(seed) for seed in range(20)) > 5


@soak(300, 20_000)
def test_a_rescue_is_there_after_every_moment(how_many: int) -> None:
    assert sum(random_replay(seed) for seed in range(100, 100 + how_many)) > how_many // 4
