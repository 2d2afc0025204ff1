"""Starts from the core-pattern bound: every task once, within the limits of VMs and markets."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spotbag.bounds.bags.configuration_bound import configuration_bound
from spotbag.heuristics.bags.assignment_search import MAKESPANS, core_pattern_starts
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.entries import NEVER
from spotbag.instances.instance import Instance
from spotbag.schedules.queues import Queue
from spotbag.solvers.bags.solve import solve
from tests.helpers.quotas import Quotas
from tests.helpers.tiny_instances import tiny_instance


def look_at(instance: Instance, queues: list[Queue]) -> None:
    tasks = [task for queue in queues for task in queue.tasks]
    assert sorted(tasks) == list(range(instance.n_tasks))
    vms = Counter(queue.offer.index for queue in queues)
    assert all(vms[offer.index] <= offer.limit for offer in instance.offers)
    assert Quotas(instance).allow((queue.offer.vm_type.name, queue.offer.market) for queue in queues)
    for queue in queues:
        assert (instance.sustained_s[instance.task_group[queue.tasks], queue.offer.index] < NEVER).all()


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["cheapest", "fastest", "balanced"]))
@example(8623, "cheapest").via("no VM may be rented")
def test_starts_of_tiny_bags_keep_all_limits(seed: int, goal: str) -> None:
    instance = with_d_spot(tiny_instance(seed, memory=True).with_goal(goal))
    starts = core_pattern_starts(instance)
    if starts is None:
        return
    rng = np.random.default_rng(seed)
    for number in range(MAKESPANS + 2):
        queues = starts.queues(number, rng)
        if queues is not None:
            look_at(instance, queues)


def few_classes(seed: int) -> Instance:
    return with_d_spot(
        generate_instance(
            60,
            classes=6,
            catalogue="memory",
            memory_mb="uniform:800:3500",
            runtime_s="uniform:60:900",
            limit=3,
            max_on_demand=4,
            tightness=0.35,
            d_spot_fraction=0.9,
            goal="balanced",
            seed=seed,
        )
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_starts_of_each_makespan_keep_all_limits(seed: int) -> None:
    instance = few_classes(seed)
    starts = core_pattern_starts(instance)
    assert starts is not None
    rng = np.random.default_rng(seed)
    for number in range(3 * MAKESPANS):
        queues = starts.queues(number, rng)
        assert queues is not None
        look_at(instance, queues)
    assert len(starts._cores) == len(starts._makespans_s)


def test_the_bound_says_that_no_makespan_is_good_enough() -> None:
    instance = few_classes(3)
    starts = core_pattern_starts(instance, at_most=1e-9)  # whatever is rented costs more
    assert starts is not None
    assert starts.bound == configuration_bound(instance).objective > 1e-9


def test_the_search_of_few_classes_has_the_bound_of_its_starts() -> None:
    instance = few_classes(3)
    starts = core_pattern_starts(instance)
    result = solve(instance, "search", options={"moves": 2_000}, survive="none")
    assert starts is not None
    assert result.schedule is not None
    assert result.bound is not None
    assert starts.bound <= result.bound <= result.schedule.objective
