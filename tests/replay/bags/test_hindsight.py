"""The least cost found for who knows the day: something that was replayed, so it is never below the bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.bags.scripted_days import ScriptedScenario
from spotbag.instances.bags.timeline import QUIET, Timeline, TimelineEvent
from spotbag.instances.clouds import PAPERS, Cloud, find_cloud
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.replay.bags.hindsight import Hindsight
from spotbag.replay.bags.plan import replay_plan
from spotbag.replay.bags.runs import replay_days
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.bags.clairvoyant_bound import clairvoyant_bound
from spotbag.solvers.bags.solve import solve
from tests.helpers.random_days import random_cloud, random_cloud_day, random_day, random_plan
from tests.helpers.random_instances import random_instances
from tests.helpers.soaks import soak_of


def bag(runtimes_s: list[int], types: dict[str, dict[str, tuple[int, float]]], **more: Any) -> Instance:
    """Tasks for VMs of one core; offers as limit and dollars a second. D_spot is too early for any spot VM."""
    fields: dict[str, Any] = {
        "name": "known",
        "deadline_s": 100,
        "d_spot_s": 5,
        "vm_types": [
            {
                "name": name,
                "vcpus": 1,
                "memory_mb": 1000,
                "offers": {
                    market: {"price_usd_per_hour": price * 3600, "limit": limit}
                    for market, (limit, price) in offers.items()
                },
            }
            for name, offers in types.items()
        ],
        "tasks": [
            {"id": f"t{number}", "memory_mb": 100, "runtime_s": dict.fromkeys(types, seconds)}
            for number, seconds in enumerate(runtimes_s)
        ],
    }
    return Instance(**(fields | more))


def found_usd(instance: Instance, *events: TimelineEvent, cloud: Cloud = PAPERS) -> float | None:
    plan = random_plan(instance, np.random.default_rng(0))
    assert plan is not None
    return Hindsight(replay_plan(plan), cloud).cheapest_usd(Timeline(events).resolved(cloud))


SPOT_AND_DEMAND = {"a": {"spot": (1, 0.001), "on-demand": (1, 0.01)}}
TWO_SPOT_VMS = {"a": {"spot": (2, 0.001), "on-demand": (1, 0.01)}}


# --------------------------------------------------------------------- by hand


def test_who_knows_a_quiet_day_needs_no_d_spot() -> None:
    assert found_usd(bag([30, 50], SPOT_AND_DEMAND)) == pytest.approx(0.080)


def test_spot_vms_are_counted_on_until_the_deadline_however_late_it_is() -> None:
    """Also beyond the last event, and the allocation cycle of a VM without tasks (900 s)."""
    instance = bag([2000, 900], SPOT_AND_DEMAND, deadline_s=3000)
    assert found_usd(instance) == pytest.approx(2.9)
    assert found_usd(instance, TimelineEvent(2950, "a", "hibernate")) == pytest.approx(2.9)


def test_hibernation_takes_from_the_time_and_adds_nothing_to_the_bill() -> None:
    """Of 100 s, 70 are up: 30 + 40 s on spot cost 0.07 $, and 20 s on demand 0.2 $."""
    down, back = TimelineEvent(20, "a", "hibernate"), TimelineEvent(50, "a", "resume")
    assert found_usd(bag([30, 40, 20], SPOT_AND_DEMAND), down, back) == pytest.approx(0.27)


def test_what_is_terminated_is_counted_on_until_then() -> None:
    """A VM that is gone after 35 s can do 30 s of work, and is back for nobody: 0.03 $ and 0.4 $."""
    down, back = TimelineEvent(35, "a", "terminate"), TimelineEvent(40, "a", "resume")
    assert found_usd(bag([30, 40], SPOT_AND_DEMAND), down, back) == pytest.approx(0.43)


def test_nothing_starts_after_a_notice() -> None:
    """It comes at 30 s, and the VM is gone at 40 s: 25 + 6 s can be done until then, of 32 + 6 s the short task."""
    gone = TimelineEvent(30, "a", "terminate", notice_s=10)
    assert found_usd(bag([25, 6], SPOT_AND_DEMAND), gone) == pytest.approx(0.031)
    assert found_usd(bag([32, 6], SPOT_AND_DEMAND), gone) == pytest.approx(0.006 + 0.32)


def test_the_vm_that_is_gone_early_is_the_one_with_less_to_do() -> None:
    """The first VM that is requested is gone at 30 s: it has the short task, the second the long one."""
    gone = TimelineEvent(30, "a", "terminate", vm=1)
    assert found_usd(bag([90, 20], TWO_SPOT_VMS), gone) == pytest.approx(0.11)


@pytest.mark.parametrize(("checkpoint", "usd"), [(None, 1.2), ({"overhead_fraction": 0.1, "dump_base_s": 5}, 0.989)])
def test_a_task_is_begun_on_a_spot_vm_that_is_up_for_too_short_a_time(checkpoint: Any, usd: float) -> None:
    """Down for good at 30 s: after 24 s of work, a checkpoint is written by 29 s; 60 + 36 s are left for on-demand."""
    instance = bag([60, 60], SPOT_AND_DEMAND, deadline_s=200, checkpoint=checkpoint)
    assert found_usd(instance, TimelineEvent(30, "a", "hibernate")) == pytest.approx(usd)


def test_no_task_is_begun_on_more_spot_vms_than_there_may_be() -> None:
    """One of two VMs of the limit: it saves 24 s of one task of 60 s."""
    checkpoint = {"overhead_fraction": 0.1, "dump_base_s": 5}
    instance = bag([60, 60], TWO_SPOT_VMS, deadline_s=200, checkpoint=checkpoint)
    down = TimelineEvent(30, "a", "hibernate")
    assert found_usd(instance, down) == pytest.approx(2 * 0.029 + 0.72)
    assert found_usd(instance.replace(limits={"max_spot": 1}), down) == pytest.approx(0.989)


def test_vms_of_both_markets_are_looked_at_whatever_the_plan_may_use() -> None:
    instance = bag([30, 40], SPOT_AND_DEMAND, markets=["on-demand"])
    assert found_usd(instance) == pytest.approx(0.07)


def test_nothing_is_found_where_nothing_can_be_done() -> None:
    spot_only = bag([30, 40], {"a": {"spot": (1, 0.001)}})
    down = TimelineEvent(20, "a", "hibernate")
    assert not clairvoyant_bound(spot_only, Timeline((down,))).feasible
    assert found_usd(spot_only, down) is None


def test_where_memory_binds_policies_are_what_is_left() -> None:
    instance = library_instance("memory/m20")
    plan = solve(instance, "greedy").schedule
    assert plan is not None
    days = replay_days(plan, ["hads", "static"], ScriptedScenario(QUIET, "quiet"), 1, hindsight=True)
    assert days.hindsight_usd[0] == min(outcomes[0].cost_usd for outcomes in days.outcomes)
    assert replay_days(plan, [], ScriptedScenario(QUIET, "quiet"), 1, hindsight=True).hindsight_usd == (None,)


# --------------------------------------------------------------------- many days


@pytest.mark.parametrize(
    ("name", "where", "cloud"),
    [
        ("hads/J60", "hads/sc2", "papers"),
        ("hads/J60", "hads/sc5", "papers"),
        ("burst-hads/J60", "burst-hads/sc4", "papers"),
        ("hads/J60", "vms/shocks", "aws-terminate"),
        ("hads/J60", "hads/sc2", "gcp"),
    ],
)
@pytest.mark.parametrize("n_days", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_it_is_between_the_bound_and_every_policy_in_time(name: str, where: str, cloud: str, n_days: int) -> None:
    plan = solve(library_instance(name), "greedy").schedule
    assert plan is not None
    policies = ["hads", "burst-hads", "rescue", "on-time", "static"]
    days = replay_days(plan, policies, find_scenario(where), n_days, seed=1, cloud=find_cloud(cloud), hindsight=True)
    for number, (bound, found) in enumerate(zip(days.bounds_usd, days.hindsight_usd, strict=True)):
        in_time = [of[number].cost_usd for of in days.outcomes if of[number].meets_deadline]
        assert bound is not None
        assert found is not None
        assert bound <= found <= min(in_time)


@pytest.mark.parametrize("n_days", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_a_bad_day_costs_who_knows_it_little_more_than_the_bound(n_days: int) -> None:
    """In sc4 types go down often and come back: most of the regret of policies is not the bound's."""
    plan = solve(library_instance("hads/J60"), "greedy").schedule
    assert plan is not None
    days = replay_days(plan, ["on-time"], find_scenario("hads/sc4"), n_days, seed=1, hindsight=True)
    gaps = [found / bound for found, bound in zip(days.hindsight_usd, days.bounds_usd, strict=True) if found and bound]
    assert len(gaps) == n_days
    assert max(gaps) < 1.04


@pytest.mark.slow
def test_burstable_vms_take_no_more_than_their_credits_do() -> None:
    # Taken to run all day at full speed, they got most tasks, and the walk from there ended a sixth above the bound.
    plan = solve(library_instance("burst-hads/ED200"), "greedy").schedule
    assert plan is not None
    days = replay_days(plan, [], find_scenario("hads/sc2"), 3, seed=7101, hindsight=True)
    found, bounds = np.array(days.hindsight_usd, dtype=float), np.array(days.bounds_usd, dtype=float)
    assert (found / bounds).mean() < 1.09


def test_a_day_has_the_same_whatever_days_are_asked_for() -> None:
    plan = solve(library_instance("hads/J60"), "greedy").schedule
    assert plan is not None
    sc2 = find_scenario("hads/sc2")
    many = replay_days(plan, [], sc2, 4, bounds=False, hindsight=True)
    assert many.n_runs == 4
    one = replay_days(plan, [], sc2, 1, first_day=3, bounds=False, hindsight=True)
    assert one.hindsight_usd == many.hindsight_usd[3:]
    assert replay_days(plan, ["static"], sc2, 2).hindsight_usd == (None, None)


def test_the_on_demand_baseline_is_not_looked_at() -> None:
    """It need not keep to the limits: here it rents two VMs where there is one."""
    instance = bag([30, 40], {"a": {"spot": (2, 0.05), "on-demand": (1, 0.001)}}, d_spot_s=50)
    zeros = np.zeros(2, dtype=np.int64)
    plan = Schedule(instance, zeros, np.arange(2), zeros, zeros, np.zeros(2, dtype=bool))
    assert instance.offers[0].market == "spot"
    days = replay_days(plan, ["on-demand+last-task"], find_scenario("quiet"), 1, hindsight=True)
    assert days.hindsight_usd[0] == pytest.approx(0.07)
    assert days.outcomes[0][0].cost_usd == pytest.approx(0.07)


@given(random_instances(8), st.booleans(), st.integers(0, 2**32 - 1))
@settings(max_examples=5, deadline=None)
def test_it_is_never_below_the_bound_of_a_random_day(instance: Instance, todays: bool, seed: int) -> None:
    _look_at_random_day(instance, todays, seed)


@soak_of(random_instances(12), st.booleans(), st.integers(0, 2**32 - 1), sample=80, whole=3000)
def test_it_is_never_below_the_bound_of_thousands_of_days(instance: Instance, todays: bool, seed: int) -> None:
    _look_at_random_day(instance, todays, seed)


def _look_at_random_day(instance: Instance, todays: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    instance = with_d_spot(instance)
    plan = random_plan(instance, rng)
    assume(plan is not None)
    assert plan is not None
    cloud = random_cloud(rng) if todays else PAPERS
    timeline = (random_cloud_day(instance, rng) if todays else random_day(instance, rng)).resolved(cloud)
    found = Hindsight(replay_plan(plan), cloud).cheapest_usd(timeline)
    bound = clairvoyant_bound(instance, timeline, cloud.billing)
    assert found is None or (bound.feasible and bound.cost_usd <= found)
