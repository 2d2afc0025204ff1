"""On random days, no task is lost or done twice, nothing is exceeded, and the bill is the auditor's."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from spotbag.audits.auditor import audit
from spotbag.core.errors import SpotbagError
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.bags.timeline import QUIET, Timeline
from spotbag.instances.clouds import PAPERS, Billing, Cloud
from spotbag.instances.instance import Instance
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.plan import ReplayPlan, replay_plan
from spotbag.replay.bags.policies import find_policy
from spotbag.replay.bags.record import trace_of
from spotbag.replay.bags.state import Policy
from spotbag.schedules.schedule import Schedule
from tests.helpers.back_ends import policies_for
from tests.helpers.random_days import Anything, random_cloud, random_cloud_day, random_day, random_plan
from tests.helpers.random_instances import instance_documents
from tests.helpers.soaks import soak_of

POLICIES = (
    "static",
    "hads",
    "hads+spare-time-spot+trigger-once",
    "hads+any-thief+idle-60",
    "burst-hads",
    "burst-hads+idle-60",
    "anything",
    "anything, preempts",
)
BILLINGS = (Billing(), Billing(first_hour_free=True), Billing(hibernated_usd_per_gb_hour=0.01))


def random_schedule(document: dict[str, Any], rng: np.random.Generator) -> Schedule:
    """A plan of a random instance; the example is passed over if there is none."""
    try:
        schedule = random_plan(with_d_spot(Instance.from_document(document, "random")), rng)
    except SpotbagError:
        schedule = None
    assume(schedule is not None)
    assert schedule is not None
    return schedule


def policy_of(name: str) -> Policy:
    return Anything(7, preempts="preempts" in name) if name.startswith("anything") else find_policy(name)


def demand_sound_day(plan: ReplayPlan, policy: str, timeline: Timeline, cloud: Cloud) -> None:
    run = Replay(plan, policy_of(policy), timeline, cloud, record=True)
    outcome = run.run()
    demand_all_tasks_once(run)
    report = audit(trace_of(run.state, run.day, run.cloud, outcome), given=plan.instance)
    assert report.findings == ()
    assert report.cost_usd == pytest.approx(outcome.cost_usd, abs=1e-9)
    silent = Replay(plan, policy_of(policy), timeline, cloud).run()
    assert silent == outcome


def demand_all_tasks_once(run: Replay) -> None:
    """Every task has ended once, or is listed on one VM that can do nothing more for it."""
    names = run.state.instance.task_ids
    ended = Counter(record["task"] for record in run.state.records or () if record["event"] == "finish")
    assert all(number == 1 for number in ended.values())
    left = [names[task] for vm in run.state.vms for task in vm.tasks()]
    assert sorted([*ended, *left]) == sorted(names)
    for vm in run.state.vms:
        assert not vm.n_left or vm.reclaimed or vm.interruption is not None or not vm.sessions


def plan_that_holds_on_a_quiet_day(schedule: Schedule) -> ReplayPlan:
    plan = replay_plan(schedule)
    outcome = Replay(plan, find_policy("static"), QUIET).run()
    assert outcome.makespan_s == schedule.makespan_s
    assert outcome.cost_usd == pytest.approx(schedule.cost_usd, abs=1e-9)
    return plan


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(instance_documents(dates=True), st.integers(0, 2**32), st.sampled_from(POLICIES), st.sampled_from(BILLINGS))
def test_random_days(document: dict[str, Any], seed: int, policy: str, billing: Billing) -> None:
    rng = np.random.default_rng(seed)
    schedule = random_schedule(document, rng)
    plan = plan_that_holds_on_a_quiet_day(schedule)
    for _ in range(3):
        demand_sound_day(plan, policy, random_day(schedule.instance, rng), replace(PAPERS, billing=billing))


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(instance_documents(dates=True), st.integers(0, 2**32), st.sampled_from((*POLICIES, "rescue")))
def test_random_days_of_todays_clouds(document: dict[str, Any], seed: int, policy: str) -> None:
    rng = np.random.default_rng(seed)
    schedule = random_schedule(document, rng)
    assume(policies_for(schedule.instance, [policy]))
    cloud = random_cloud(rng)
    demand_sound_day(replay_plan(schedule), policy, random_cloud_day(schedule.instance, rng), cloud)


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(instance_documents(dates=True), st.integers(0, 2**32), st.sampled_from(POLICIES), st.integers(0, 40))
def test_a_copy_goes_on_as_the_original(document: dict[str, Any], seed: int, policy: str, steps: int) -> None:
    """A replay that is copied in the middle ends twice, each time as one that never was."""
    rng = np.random.default_rng(seed)
    schedule = random_schedule(document, rng)
    plan, timeline = replay_plan(schedule), random_day(schedule.instance, rng)
    whole = Replay(plan, policy_of(policy), timeline, record=True)
    outcome = whole.run()
    first = Replay(plan, policy_of(policy), timeline, record=True)
    for _ in range(steps):
        first.step()
    twin = first.copy()
    assert twin.run() == outcome
    assert first.run() == outcome
    assert first.state.records == twin.state.records == whole.state.records


@soak_of(instance_documents(max_tasks=12, dates=True), st.integers(0, 2**32), sample=50, whole=2000)
def test_soak(document: dict[str, Any], seed: int) -> None:
    """Ten days of each plan, under every policy in turn: of 2,000 plans, 20,000 days."""
    rng = np.random.default_rng(seed)
    schedule = random_schedule(document, rng)
    plan = plan_that_holds_on_a_quiet_day(schedule)
    for number in range(10):
        policy = POLICIES[number % len(POLICIES)]
        cloud = replace(PAPERS, billing=BILLINGS[number % len(BILLINGS)])
        demand_sound_day(plan, policy, random_day(schedule.instance, rng), cloud)


@soak_of(instance_documents(max_tasks=12, dates=True), st.integers(0, 2**32), sample=80, whole=2000)
def test_soak_of_todays_clouds(document: dict[str, Any], seed: int) -> None:
    """The same for everything that clouds do: of 2,000 plans, 20,000 days."""
    rng = np.random.default_rng(seed)
    schedule = random_schedule(document, rng)
    plan, policies = replay_plan(schedule), policies_for(schedule.instance, (*POLICIES, "rescue"))
    for number in range(10):
        cloud, day = random_cloud(rng), random_cloud_day(schedule.instance, rng)
        demand_sound_day(plan, policies[number % len(policies)], day, cloud)
