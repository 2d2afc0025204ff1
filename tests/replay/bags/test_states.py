"""The state of a replay: on a quiet day that of the plan, and on any day one that can be gone on from."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spotbag.audits.bags.plan import check
from spotbag.core.errors import InputError
from spotbag.instances.bags.timeline import QUIET, Timeline, TimelineEvent
from spotbag.instances.clouds import PAPERS
from spotbag.instances.entries import NEVER
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.plan import replay_plan
from spotbag.replay.bags.policies import find_policy
from spotbag.schedules.queues import Queue, schedule_of_queues
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.state import State
from spotbag.solvers.bags.solve import solve
from tests.helpers.random_days import random_replay
from tests.helpers.random_instances import instance_documents
from tests.helpers.soaks import soak_of


def at_rest(replay: Replay) -> bool:
    """Whether nothing else is to happen at the present moment."""
    return not any(event[0] <= replay.state.now_s for event in replay.state.queue)


def next_s(replay: Replay) -> int:
    """When something is next to happen."""
    to_come = replay._moments_s[len(replay.state.days) :]
    return min(to_come + [event[0] for event in replay.state.queue], default=NEVER)


@pytest.mark.parametrize("name", ["hads/J60", "burst-hads/J60", "memory/m10"])
def test_on_a_quiet_day_the_state_is_that_of_the_plan(name: str) -> None:
    plan = solve(library_instance(name), "greedy").schedule
    assert plan is not None
    replay, moments = Replay(replay_plan(plan), find_policy("static"), QUIET), 0
    while replay.step():
        if not at_rest(replay) or not replay.state.unfinished:
            continue
        found, planned = State.from_replay(replay.state), State.planned(plan, replay.state.now_s)
        assert found.spent_usd == pytest.approx(planned.spent_usd, abs=1e-12)
        assert (found.done, found.saved, found.time_s) == (planned.done, planned.saved, planned.time_s)
        assert [_without_ends(vm) for vm in found.vms] == [_without_ends(vm) for vm in planned.vms]
        moments += 1
    assert moments > 5


def _without_ends(vm: Any) -> Any:
    running = tuple(sorted((run.task, run.core, run.start_s, run.mode) for run in vm.running))
    return vm.id, vm.type, vm.market, vm.status, vm.ready_s, vm.price_usd_per_hour, running


def two_on_a_vm() -> Schedule:
    """Two tasks of 100 s, one after the other on a spot VM for 1 $ a second; a checkpoint of 5 s after 50 s of work."""
    offers = {market: {"price_usd_per_hour": 3600.0, "limit": 2} for market in ("spot", "on-demand")}
    document = {
        "format": "spotbag.instance/1",
        "name": "two",
        "deadline_s": 1000,
        "d_spot_s": 1000,
        "boot_overhead_s": 10,
        "checkpoint": {"overhead_fraction": 0.1, "dump_base_s": 5, "dump_s_per_mb": 0},
        "vm_types": [{"name": "a", "vcpus": 1, "memory_mb": 1024, "offers": offers}],
        "tasks": [{"id": name, "memory_mb": 100, "base_runtime_s": 100} for name in ("first", "second")],
    }
    instance = Instance.from_document(document, "two")
    return schedule_of_queues(instance, [Queue(instance.offers[0], [0, 1])])


def state_at(plan: Schedule, time_s: int, day: Timeline, **given: Any) -> State:
    """State of a replay after all events up to a moment."""
    replay = Replay(replay_plan(plan), find_policy("static"), day, PAPERS.replace(**given))
    while next_s(replay) <= time_s and replay.step():
        pass
    return State.from_replay(replay.state)


def test_what_ran_on_a_hibernated_vm_waits_with_what_its_checkpoints_have_saved() -> None:
    day = Timeline((TimelineEvent(80, "a", "hibernate"), TimelineEvent(300, "a", "resume")), "by hand")
    # Ready at 10 s, so 70 s of the first task have passed at 80 s: the checkpoint of 50 s of work is there.
    gone = state_at(two_on_a_vm(), 299, day)
    assert (gone.time_s, gone.spent_usd, gone.saved) == (80, pytest.approx(70), {"first": 0.5})
    assert [(vm.status, vm.running) for vm in gone.vms] == [("hibernated", ())]
    rest = gone.remaining(two_on_a_vm().instance)
    assert rest.runtime_s[:, 0].tolist() == [50, 100]
    assert [machine.open for machine in rest.machines] == [False]
    # Resumed at 300 s, it goes on where it stood: 35 s are left, and it ends at 335 s.
    back = state_at(two_on_a_vm(), 300, day)
    (running,) = back.vms[0].running
    assert (running.task, running.start_s, running.end_s, back.saved) == ("first", 230, 335, {})
    assert back.spent_usd == pytest.approx(70)
    later = state_at(two_on_a_vm(), 335, day)
    assert (later.done, later.spent_usd) == (("first",), pytest.approx(105))


def test_money_is_that_of_the_billing() -> None:
    day = Timeline((TimelineEvent(80, "a", "hibernate"), TimelineEvent(440, "a", "resume")), "by hand")
    billing = {"first_hour_free": True, "hibernated_usd_per_gb_hour": 10.0}
    assert state_at(two_on_a_vm(), 300, day, **billing).spent_usd == 0
    # The 70 s before are free, and a GB is kept for a tenth of an hour.
    assert state_at(two_on_a_vm(), 440, day, **billing).spent_usd == pytest.approx(1)


def look_at_every_state(document: dict[str, Any], seed: int, policy: str, todays: bool) -> None:
    """Look at a replay after every moment: its state is whole, and leaves what can be planned.

    ``todays`` is whether everything may happen that happens on today's clouds, or hibernations only.
    """
    replay, _, _ = random_replay(document, seed, policy, todays)
    instance = replay.state.instance
    spent_usd, planned = 0.0, False
    while replay.step():
        if not at_rest(replay) or not replay.state.unfinished:
            continue
        state = State.from_replay(replay.state)
        assert State.from_document(state.to_document(), "state") == state
        waiting = state.waiting_ids(instance)
        assert sorted([*state.done, *state.running_ids, *waiting]) == sorted(instance.task_ids)
        assert sorted([*state.running_ids, *waiting]) == sorted(replay.state.unfinished_ids())
        assert state.spent_usd >= spent_usd - 1e-12 or todays  # first hours may be free, and prices fall
        spent_usd = state.spent_usd
        if state.time_s >= instance.deadline_s:
            continue
        rest = state.remaining(instance)
        try:
            assert Instance.from_document(rest.to_document(), "rest").machines == rest.machines
        except InputError as error:  # a state may be hopeless, an instance file may not
            assert "deadline" in str(error)
        for machine, vm in zip(rest.machines, state.vms, strict=True):
            for entry, run in zip(machine.running, vm.running, strict=True):
                task = rest.task_index[entry.task]
                mode = int(entry.mode == "baseline")
                index = int(rest.machine_offer[rest.machines.index(machine)])
                end_s = entry.start_s + int(rest.duration_s[rest.task_group[task], index, mode])
                # When it ends in the replay, or a second later where that is now or before.
                assert run.end_s is not None
                assert end_s == max(math.ceil(run.end_s - state.time_s), 1)
        if not planned:
            planned = True
            result = solve(rest, "search", options={"moves": 200}, survive="none")
            if result.schedule is not None:
                assert check(result.instance, result.schedule).feasible
    outcome = replay.outcome()
    assert spent_usd <= outcome.cost_usd + 1e-9 or todays


POLICIES = ("static", "hads", "burst-hads", "anything")
REPLAYS = st.integers(0, 2**32), st.sampled_from(POLICIES), st.booleans()


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(instance_documents(dates=True), *REPLAYS)
def test_every_moment_of_a_replay_can_be_gone_on_from(
    document: dict[str, Any], seed: int, policy: str, todays: bool
) -> None:
    look_at_every_state(document, seed, policy, todays)


@soak_of(instance_documents(max_tasks=12, dates=True), *REPLAYS, sample=60, whole=5000)
def test_every_moment_of_thousands_of_replays_can_be_gone_on_from(
    document: dict[str, Any], seed: int, policy: str, todays: bool
) -> None:
    look_at_every_state(document, seed, policy, todays)
