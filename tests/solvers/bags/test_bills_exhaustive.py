"""Tiny bags whose VMs are billed at least some time, in blocks or with a fixed part, against exhaustive search."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import strategies as st

from spotbag.audits.bags.plan import check
from spotbag.bounds.bags.lower_bounds import lower_bounds
from spotbag.core.errors import ModelRefusal
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.bags.timeline import QUIET
from spotbag.instances.instance import Instance
from spotbag.replay.bags.runs import replay_day
from spotbag.solvers.bags.methods import METHODS
from spotbag.solvers.bags.solve import solve
from tests.helpers.exhaustive import exhaustive_objective
from tests.helpers.soaks import soak_of, some
from tests.helpers.tiny_instances import FAMILIES, tiny_billing, tiny_instance

TOLERANCE = 1e-7
KNOWS_THE_BILL = {"auto", "interval", "patterns", "columns", "class-programme"}
"""Methods that prove the optimum of what a cloud bills, as far as they take the bag."""
SEEDS = st.integers(0, 10**6)


def billed(seed: int, family: str) -> Instance:
    """A tiny bag with a bill."""
    return tiny_instance(seed, **FAMILIES[family]).replace(survive="none", billing=tiny_billing(seed))


@cache
def optimum(seed: int, family: str) -> float | None:
    return exhaustive_objective(billed(seed, family))


def look_at(method: str, family: str, seed: int) -> None:
    """Demand that the plan costs what a quiet day does, and no bound is above the optimum."""
    bag, best = billed(seed, family), optimum(seed, family)
    try:
        found = solve(bag, method)
    except ModelRefusal:
        return
    place = f"{method} {family} {seed}: {found.status} {found.objective}, bound {found.bound}, the optimum is {best}"
    if best is None:
        assert found.schedule is None, place
        return
    assert found.bound is None or found.bound <= best * (1 + TOLERANCE), place
    if found.schedule is None:
        assert not METHODS[method].exact or family == "burstable", place
        return
    assert found.objective is not None
    assert found.objective >= best * (1 - TOLERANCE), place
    assert not check(found.instance, found.schedule).violations, place
    day = replay_day(found.schedule, "static", QUIET)
    assert day.cost_usd == pytest.approx(found.schedule.cost_usd, rel=1e-9), place
    if found.status == "optimal":
        assert found.objective <= best * (1 + TOLERANCE), place
    if method in KNOWS_THE_BILL and family != "burstable":
        assert found.status == "optimal", place


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("method", some(sorted(METHODS, key=lambda name: name not in ("columns", "search")), fast=2))
def test_no_method_is_better_than_the_optimum_of_the_bill(method: str, family: str) -> None:
    look_at(method, family, 0)


@soak_of(st.sampled_from([*METHODS]), st.sampled_from([*FAMILIES]), SEEDS, sample=60, whole=4000)
def test_no_method_is_better_than_the_optimum_of_thousands(method: str, family: str, seed: int) -> None:
    look_at(method, family, seed)


@soak_of(st.sampled_from([*FAMILIES]), SEEDS, sample=40, whole=1500)
def test_no_bound_is_above_the_optimum_of_the_bill(family: str, seed: int) -> None:
    bag, best = with_d_spot(billed(seed, family)), optimum(seed, family)
    for bound in lower_bounds(bag):
        if bound.name in ("divisible bound", "configuration bound", "core-pattern bound"):
            assert best is None or bound.value <= best * (1 + TOLERANCE), f"{family} {seed}: {bound}, {best}"
