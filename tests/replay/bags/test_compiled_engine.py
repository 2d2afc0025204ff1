"""Compiled replays come to the same as the engine that is written to be read, to the last bit."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from spotbag.core.errors import SpotbagError
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.bags.timeline import QUIET, Timeline
from spotbag.instances.clouds import CLOUDS, PAPERS, Cloud
from spotbag.instances.library import library_instance
from spotbag.replay.bags import compiled_engine, runs
from spotbag.replay.bags.compiled_engine import TOO_MANY, CompiledReplays, has_loop
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.outcome import DayOutcome
from spotbag.replay.bags.plan import checked, replay_plan
from spotbag.replay.bags.policies import KIND, find_policy
from spotbag.replay.bags.policies.hads import Hads
from spotbag.replay.bags.policies.on_time import OnTime
from spotbag.replay.bags.policies.static import Rescue
from spotbag.replay.bags.policies.uniform_progress import UniformProgress
from spotbag.replay.bags.runs import replay_days
from spotbag.replay.bags.state import Policy
from spotbag.solvers.bags.solve import solve
from spotbag_papers.bags.user_bags import planned
from tests.helpers.back_ends import RULE_POLICIES, policies_for, random_meeting, random_replay_plan
from tests.helpers.random_instances import instance_documents
from tests.helpers.soaks import soak_of
from tests.helpers.tiny_days import bag, plan, vm_type


def demand_the_same_days(document: dict[str, Any], seed: int, days: int) -> None:
    rng = np.random.default_rng(seed)
    ready = random_replay_plan(document, rng)
    assume(ready is not None)
    assert ready is not None
    loops = CompiledReplays(ready)
    for _ in range(days):
        day, cloud = random_meeting(ready.instance, rng)
        for name in policies_for(ready.instance):
            assert loops.outcome(find_policy(name), day, cloud) == Replay(ready, find_policy(name), day, cloud).run()


@soak_of(instance_documents(max_tasks=14, dates=True), st.integers(0, 2**32), sample=20, whole=2000)
def test_random_days_are_the_same(document: dict[str, Any], seed: int) -> None:
    """Ten days of each plan, under every policy: of 2,000 plans, 20,000 days."""
    demand_the_same_days(document, seed, 10)


def test_what_cannot_be_done_is_refused_by_python_which_says_what_it_is() -> None:
    """20 s at full speed take a third of a credit, of which there is a quarter."""
    burstable = {"baseline_fraction": 0.5, "credits_per_hour": 0, "initial_credits": 0.25, "max_credits": 1}
    instance = bag({"t": {"a": 20}}, [vm_type("a", spot=0, burstable=burstable)])
    ready = replay_plan(replace(plan(instance, ["a on-demand"], {"t": (0, 0, 0)}), task_baseline=np.zeros(1, bool)))
    assert CompiledReplays(ready).outcome(find_policy("static"), QUIET, PAPERS) is None
    with pytest.raises(SpotbagError, match="ran out of CPU credits by 20 s"):
        Replay(ready, find_policy("static")).run()


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["hads/sc2", "hads/sc4", "vms/stormy", "vms/shocks"])
@pytest.mark.parametrize("library_name", ["hads/J60", "burst-hads/ED200", "memory-bound/60"])
def test_days_of_bags_of_the_library_are_the_same(library_name: str, scenario: str) -> None:
    schedule = solve(library_instance(library_name), "greedy").schedule
    assert schedule is not None
    ready, days = replay_plan(schedule), find_scenario(scenario)
    loops = CompiledReplays(ready)
    for number, cloud in enumerate((PAPERS, *CLOUDS.values())):
        day = days.day(schedule.instance, 1, number).resolved(cloud)
        for name in RULE_POLICIES:
            assert loops.outcome(find_policy(name), day, cloud) == Replay(ready, find_policy(name), day, cloud).run()


@pytest.mark.slow
def test_many_days_are_the_same_whoever_replays_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled loops where they can, the other engine for policies of one's own, and for few days."""
    schedule = solve(library_instance("hads/J60"), "greedy").schedule
    assert schedule is not None
    named = ("hads", "rescue", "on-demand")
    days = partial(replay_days, scenario=find_scenario("vms/stormy"), runs=40, seed=3, cloud="gcp", bounds=False)
    monkeypatch.setattr(runs, "_LOADS_FOR", math.inf)
    one_by_one = days(schedule, (*named, GivesUp))
    monkeypatch.setattr(runs, "_LOADS_FOR", 0)
    monkeypatch.setattr(compiled_engine, "_COMPILES_S", 0.0)
    compiled: list[DayOutcome | None] = []
    real = CompiledReplays.outcome

    def noted(self: CompiledReplays, policy: Policy, day: Timeline, cloud: Cloud, law: object) -> DayOutcome | None:
        compiled.append(real(self, policy, day, cloud, law))
        return compiled[-1]

    monkeypatch.setattr(CompiledReplays, "outcome", noted)
    assert days(schedule, (*named, GivesUp)) == one_by_one
    assert sum(outcome is not None for outcome in compiled) == 3 * 40
    assert days(schedule, named, workers=2).outcomes == one_by_one.outcomes[:3]


@pytest.mark.slow
def test_arrays_that_are_too_small_grow() -> None:
    schedule = solve(library_instance("hads/J60"), "greedy").schedule
    assert schedule is not None
    ready, day = replay_plan(schedule), find_scenario("hads/sc2").day(schedule.instance, 0, 0)
    for name in RULE_POLICIES:
        loops = CompiledReplays(ready)
        loops._allocate(dict(zip(TOO_MANY, (1, 3, 1), strict=True)))
        assert loops.outcome(find_policy(name), day, PAPERS) == Replay(ready, find_policy(name), day).run()


class GivesUp(Policy):
    """A policy of one's own: whatever is lost is lost."""

    name = "gives-up"


@pytest.mark.slow
def test_loops_without_room_for_more_vms_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rescue counted on VMs for which there was no room, and loops reached beyond their tables."""
    monkeypatch.setattr(compiled_engine, "_MORE_VMS", 0)
    ready, law = replay_plan(planned("user/300-distinct", "greedy")), {"type_interruptions_per_deadline": 5.0}
    for number in range(6):
        day = find_scenario("hads/sc2").day(ready.instance, 3, number).resolved(PAPERS)
        known = law | {"type_resumes_per_deadline": float(number % 2)}
        loops = CompiledReplays(ready)
        expected = Replay(ready, find_policy("on-time"), day, PAPERS, law=known).run()
        assert loops.outcome(find_policy("on-time"), day, PAPERS, known) == expected
        assert len(expected.bills) > len(ready.vms)


def test_loops_are_compiled_where_days_take_longer_in_python_and_for_policies_that_they_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of `on-time`, 4,000 days took 145 s where compiling takes 15: what a day takes depends on the policy."""
    schedule = solve(library_instance("hads/J60"), "greedy", survive="none").schedule
    assert schedule is not None
    ready = replay_plan(schedule)
    assert not any(has_loop(kind, schedule.instance) for kind in (GivesUp, UniformProgress))
    assert not compiled_engine.is_worth_while([], lambda: math.inf)
    monkeypatch.setattr(compiled_engine, "is_ready", lambda loop: False)
    assert [compiled_engine.is_worth_while([Hads, OnTime], lambda s=s: s) for s in (19.0, 20.0)] == [False, True]
    monkeypatch.setattr(compiled_engine, "is_ready", lambda loop: True)
    assert compiled_engine.is_worth_while([Hads], lambda: 0.0)
    work = runs._Work(
        schedule, runs._ready(checked(schedule), [KIND.single("hads", 0)]), find_scenario("quiet"), 0, PAPERS
    )
    clock = iter([0.0, 3.0])
    monkeypatch.setattr(runs.time, "process_time", lambda: next(clock))
    asked: list[float] = []
    monkeypatch.setattr(compiled_engine, "is_worth_while", lambda kinds, in_python_s: asked.append(in_python_s()))
    work.in_loops(0, 1_000)
    assert asked == [3_000.0]
    assert CompiledReplays(ready).outcome(UniformProgress(), QUIET, PAPERS) is None


def test_a_plan_with_a_twin_for_each_vm_is_rescued_in_python() -> None:
    """Compiled loops know one rescue a day."""
    for survive, can in (("each", False), ("blackout", True)):
        instance = bag({"t": {"a": 20}}, [vm_type("a")], survive=survive)
        assert compiled_engine.has_loop(Rescue, instance) is can
        assert compiled_engine.has_loop(Hads, instance)
