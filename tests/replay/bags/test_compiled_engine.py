"""Compiled replays come to the same as the engine that is written to be read, to the last bit."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from spotbag.core.errors import SpotbagError
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.bags.timeline import Timeline
from spotbag.instances.clouds import CLOUDS, PAPERS, Cloud
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.replay.bags import compiled_engine, runs
from spotbag.replay.bags.compiled_engine import CompiledReplays
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.outcome import DayOutcome
from spotbag.replay.bags.plan import replay_plan
from spotbag.replay.bags.policies import find_policy
from spotbag.replay.bags.policies.hads import Hads
from spotbag.replay.bags.policies.on_time import OnTime
from spotbag.replay.bags.policy import Policy
from spotbag.replay.bags.runs import replay_days
from spotbag.solvers.bags.solve import solve
from tests.helpers.random_days import random_cloud, random_cloud_day, random_plan
from tests.helpers.random_instances import instance_documents
from tests.helpers.soaks import soak_of

POLICIES = (
    "static",
    "hads",
    "hads+spare-time-spot",
    "hads+trigger-once",
    "hads+any-thief",
    "hads+idle-60",
    "burst-hads",
    "burst-hads+idle-60",
    "rescue",
    "on-demand",
)


def demand_the_same_days(document: dict[str, Any], seed: int, days: int) -> None:
    rng = np.random.default_rng(seed)
    small = [task | {"memory_mb": 0.001} for task in document["tasks"]]
    try:
        schedule = random_plan(with_d_spot(Instance.from_document(document | {"tasks": small}, "random")), rng)
    except SpotbagError:
        schedule = None
    assume(schedule is not None)
    assert schedule is not None
    plan = replay_plan(schedule)
    replays = CompiledReplays(plan)
    for _ in range(days):
        cloud = random_cloud(rng)
        drawn = random_cloud_day(schedule.instance, rng)
        day = replace(drawn, events=tuple([event for event in drawn.events if event.kind != "price"])).resolved(cloud)
        for name in POLICIES:
            policy = find_policy(name)
            if replays.can_replay(policy, day):
                assert replays.outcome(policy, day, cloud) == Replay(plan, find_policy(name), day, cloud).run()


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(instance_documents(), st.integers(0, 2**32))
def test_random_days_are_the_same(document: dict[str, Any], seed: int) -> None:
    demand_the_same_days(document, seed, 3)


@soak_of(instance_documents(max_tasks=14), st.integers(0, 2**32), sample=80, whole=2000)
def test_soak(document: dict[str, Any], seed: int) -> None:
    """Ten days of each plan, under every policy: of 2,000 plans, 20,000 days."""
    demand_the_same_days(document, seed, 10)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["hads/sc2", "hads/sc4", "vms/stormy", "vms/shocks"])
@pytest.mark.parametrize("bag", ["hads/J60", "burst-hads/ED200"])
def test_days_of_the_papers_bags_are_the_same(bag: str, scenario: str) -> None:
    schedule = solve(library_instance(bag), "greedy").schedule
    assert schedule is not None
    plan, days = replay_plan(schedule), find_scenario(scenario)
    replays = CompiledReplays(plan)
    for number, cloud in enumerate((PAPERS, *CLOUDS.values())):
        day = days.day(schedule.instance, 1, number).resolved(cloud)
        for name in POLICIES:
            policy = find_policy(name)
            assert replays.outcome(policy, day, cloud) == Replay(plan, find_policy(name), day, cloud).run()


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
    monkeypatch.setattr(compiled_engine, "_COMPILES_FOR", 0)
    compiled: list[DayOutcome | None] = []
    real = CompiledReplays.outcome

    def noted(self: CompiledReplays, policy: Policy, day: Timeline, cloud: Cloud) -> DayOutcome | None:
        compiled.append(real(self, policy, day, cloud))
        return compiled[-1]

    monkeypatch.setattr(CompiledReplays, "outcome", noted)
    assert days(schedule, (*named, GivesUp)) == one_by_one
    assert sum(outcome is not None for outcome in compiled) == 3 * 40
    assert days(schedule, named, workers=2).outcomes == one_by_one.outcomes[:3]


@pytest.mark.slow
def test_arrays_that_are_too_small_grow() -> None:
    schedule = solve(library_instance("hads/J60"), "greedy").schedule
    assert schedule is not None
    plan, day = replay_plan(schedule), find_scenario("hads/sc2").day(schedule.instance, 0, 0)
    replays = CompiledReplays(plan)
    replays._allocate(1, 3)
    for name in POLICIES:
        expected = Replay(plan, find_policy(name), day).run()
        assert replays.outcome(find_policy(name), day, PAPERS) == expected


class GivesUp(Policy):
    """A policy of one's own: whatever is lost is lost."""

    name = "gives-up"


def test_loops_are_not_compiled_for_policies_that_they_do_not_know() -> None:
    schedule = solve(library_instance("hads/J60"), "greedy", survive="none").schedule
    assert schedule is not None
    plan = replay_plan(schedule)
    assert not compiled_engine.is_worth_while(plan, [GivesUp, OnTime], 10**9)
    assert compiled_engine.is_worth_while(plan, [GivesUp, Hads], 10**9)
