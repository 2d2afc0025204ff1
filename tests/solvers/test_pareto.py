"""Fronts: those of all plans, by either way; what is proven and what is not; limits, interrupts, refusals."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import pytest
from exhaustive import exhaustive_front
from tiny_core_instances import few_classes_instance, hand_instance
from tiny_instances import FAMILIES, tiny_instance

from spotbag import pareto_front
from spotbag.instances import InputError, Instance, SpotbagError, generate_instance
from spotbag.models.refusal import ModelRefusal
from spotbag.schedules import check
from spotbag.solvers import FrontPoint, ParetoFront, solve, write_pareto
from spotbag.solvers.front_facts import FrontFacts, Gap
from spotbag.solvers.front_oracles import Answer, SolveOracle
from spotbag.solvers.pareto_picture import best_point


def values(front: ParetoFront) -> list[tuple[int, float]]:
    return [(point.makespan_s, pytest.approx(point.cost_usd)) for point in front.points]


def checked(instance: Instance, **options: Any) -> ParetoFront:
    """Front whose points are plans as they say, none of them beaten by another, with bounds and flags that fit."""
    front = pareto_front(instance, **options)
    for point in front.points:
        assert not check(instance, point.schedule, front.instance.d_spot_s).violations
        assert (point.schedule.makespan_s, point.schedule.cost_usd) == (point.makespan_s, point.cost_usd)
        assert point.bound_cost_usd <= point.cost_usd
        assert point.bound_cost_usd == point.cost_usd or not point.proven
    for faster, slower in itertools.pairwise(front.points):
        assert faster.makespan_s < slower.makespan_s
        assert faster.cost_usd > slower.cost_usd
    assert front.proven == (all(point.proven for point in front.points) and (front.points != () or front.complete))
    return front


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("family", FAMILIES)
def test_tiny_fronts_are_those_of_all_plans(family: str, seed: int) -> None:
    instance = tiny_instance(seed, **FAMILIES[family])
    front = checked(instance)
    assert front.complete
    assert front.proven
    assert values(front) == exhaustive_front(instance)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize("family", FAMILIES)
def test_hundreds_of_tiny_fronts_are_those_of_all_plans(family: str, block: int) -> None:
    for seed in range(100 + 20 * block, 120 + 20 * block):
        instance = tiny_instance(seed, **FAMILIES[family])
        front = checked(instance)
        assert (front.complete, values(front)) == (True, exhaustive_front(instance)), seed
