"""New spot VMs of `on-time` for what would end last."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import skellam

from spotbag.instances.clouds import PAPERS
from spotbag.replay.bags.plan import replay_plan
from spotbag.replay.bags.policies import on_time, on_time_rescue
from spotbag.replay.bags.rows import NONE
from spotbag.replay.bags.state import ReplayState
from spotbag.schedules.schedule import Schedule
from tests.helpers.tiny_core_instances import hand_instance


def spread(memory_mb: int, interrupted: float = 1e-3) -> list[int] | None:
    """Return which tasks a second VM is worth to, of three of 600 s and 800 MB that wait for a core of a spot VM."""
    offers = {"spot": {"price_usd_per_hour": 3.6, "limit": 2}, "on-demand": {"price_usd_per_hour": 18, "limit": 2}}
    tasks = [{"id": f"t{task}", "memory_mb": 800, "runtime_s": {"a": 600}} for task in range(3)]
    types = [{"name": "a", "vcpus": 2, "memory_mb": memory_mb, "offers": offers}]
    bag = hand_instance([], deadline_s=4000, d_spot_s=4000, vm_types=types, tasks=tasks)
    spot = next(offer.index for offer in bag.offers if offer.market == "spot")
    zeros = np.zeros(3, dtype=np.int64)
    plan = Schedule(bag, np.array([spot]), zeros, zeros, np.array([0, 600, 1200]), zeros > 0)
    state = ReplayState("on-time", replay_plan(plan), PAPERS.billing, False)
    on_time_rescue.look(state)
    offer, n = on_time.spread(state, interrupted, 0.0)
    return None if offer == NONE else state.left[:n]


@pytest.mark.parametrize("per_s", [(0.0, 1e-3), (1e-3, 0.0), (5e-4, 1e-3), (2e-3, 2e-3), (1e-2, 3e-2)])
@pytest.mark.parametrize(("work_s", "slack_s"), [(0, 500), (700, 0), (700, -10), (700, 900), (3_000, 2_000)])
def test_outages_take_longer_than_the_slack_where_there_are_more_of_them_than_returns_in_it(
    per_s: tuple[float, float], work_s: int, slack_s: int
) -> None:
    outages, returns = per_s[0] * work_s, per_s[1] * max(slack_s, 0)
    expected = skellam.sf(0, outages, returns) if outages and returns else 1 - math.exp(-outages)
    assert on_time_rescue.late_chance(*per_s, work_s, slack_s) == pytest.approx(expected, abs=1e-8)


def test_outages_that_are_drawn_take_longer_than_the_slack_as_often_as_said() -> None:
    draw = np.random.default_rng(5)
    late = [draw.exponential(400, draw.poisson(1.5)).sum() > 600 for _ in range(20_000)]
    assert on_time_rescue.late_chance(1.5 / 1000, 1 / 400, 1000, 600) == pytest.approx(np.mean(late), abs=0.01)


def test_a_new_vm_takes_no_more_at_a_time_than_its_memory_holds() -> None:
    """It takes the task that would end at 1,800 s, until 600 s; the next one would end at 1,200 s as it does now.

    It was counted on both cores of a VM whose memory holds one of them.
    """
    assert spread(1000) == [2]


def test_a_new_vm_takes_one_task_for_each_core_where_memory_is_enough() -> None:
    assert spread(1600) == [2, 1]


@pytest.mark.parametrize("memory_mb", [1000, 1600])
def test_no_new_vm_pays_where_nothing_is_interrupted(memory_mb: int) -> None:
    """600 s of a VM cost $ 0.6, and as much is saved at most."""
    assert spread(memory_mb, interrupted=0.0) is None
