"""The generator: every distribution, exact summaries, same seed same instance, clear refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.core.errors import SpotbagError
from spotbag.instances.bags.generator import Distribution, core_count, generate_instance, match_summary
from spotbag.instances.entries import Market


def test_same_seed_same_instance_and_another_seed_another() -> None:
    texts = {seed: generate_instance(50, seed=seed, d_spot_fraction=0.8, goal="balanced").to_text() for seed in (1, 2)}
    assert texts[1] == generate_instance(50, seed=1, d_spot_fraction=0.8, goal="balanced").to_text()
    assert texts[1] != texts[2]


def test_classes_share_run_times_and_add_up() -> None:
    instance = generate_instance(100, classes=7, seed=3, d_spot_fraction=0.8, goal="balanced")
    assert len(instance.tasks) == 7
    assert instance.n_tasks == 100
    assert min(task.count for task in instance.tasks) >= 1


def test_distinct_run_times_are_distinct_even_from_a_narrow_range() -> None:
    instance = generate_instance(300, distinct=True, runtime_s="uniform:10:20", d_spot_fraction=0.8, goal="balanced")
    assert len(set(instance.given_runtime_s[:, 0])) == 300


@pytest.mark.parametrize(
    "text", ["constant:120", "uniform:60:300", "normal:200:50", "lognormal:100:0.8", "beta:102:198:323"]
)
def test_each_distribution_gives_positive_run_times(text: str) -> None:
    instance = generate_instance(40, runtime_s=text, memory_mb="uniform:1:100", d_spot_fraction=0.8, goal="balanced")
    assert (instance.runtime_s[:, 0] >= 1).all()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gauss:1:2", "is not one of"),
        ("uniform:1", "is not one of"),
        ("uniform:a:b", "must be numbers"),
        ("uniform:1_0:20", "must be numbers"),
        ("uniform:１:20", "must be numbers"),
        ("uniform:3:1", "must rise"),
        ("normal:nan:1", "must be numbers"),
        ("constant:0", "finite and positive"),
        ("beta:1:1:2", "between minimum and maximum"),
        ("", "is not one of"),
    ],
)
def test_a_bad_distribution_is_refused(text: str, said: str) -> None:
    with pytest.raises(SpotbagError, match=said):
        Distribution.parse(text)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"n_tasks": 0}, "number of tasks"),
        ({"n_tasks": 5, "classes": 6}, "number of classes"),
        ({"n_tasks": 5, "tightness": 0}, "tightness"),
        ({"n_tasks": 5, "tightness": 1.5}, "tightness"),
        ({"n_tasks": 5, "d_spot_fraction": 2.0}, "fraction of D_spot"),
        ({"n_tasks": 5, "catalogue": "azure"}, "known: hads, burst-hads, memory, burstable, ten-types"),
        ({"n_tasks": 5, "limit": 0}, "limit of VMs"),
        ({"n_tasks": 5, "seed": -1}, "the seed must be from 0"),
        ({"n_tasks": 5, "max_on_demand": -1}, "on-demand VMs must be from 0"),
        ({"n_tasks": 5, "runtime_s": "constant:1e300"}, "run times beyond"),
        ({"n_tasks": 5, "tightness": 1e-300}, "the tightness 1e-300 is too small"),
        ({"n_tasks": 5, "tightness": 1e-310}, "the tightness 1e-310 is too small"),
        ({"n_tasks": 5, "deadline_s": 10}, "longer than the deadline allows"),
    ],
)
def test_a_bad_argument_is_refused(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(SpotbagError, match=said):
        generate_instance(**arguments)  # type: ignore[arg-type]


def test_the_deadline_is_as_tight_as_asked() -> None:
    instance = generate_instance(500, tightness=0.25, seed=1, d_spot_fraction=0.8, goal="balanced")
    shortest = instance.runtime_s.min(axis=1)
    ideal = max(shortest.max(), shortest.sum() / core_count(instance.vm_types, 20))
    assert instance.deadline_s == math.ceil(ideal / 0.25)
    assert instance.d_spot_s == math.floor(0.8 * instance.deadline_s)


@pytest.mark.parametrize("markets", [None, "spot", "on-demand"])
def test_the_limit_is_as_tight_as_asked(markets: Market | None) -> None:
    asked: dict[str, Any] = {"tightness": 0.25, "deadline_s": 900, "max_on_demand": None, "markets": markets}
    instance = generate_instance(500, catalogue="hads", limit=None, seed=1, **asked)
    work_s = instance.runtime_s.min(axis=1).sum()
    limit = math.ceil(work_s / (0.25 * 900 * (24 if markets is None else 12)))  # 12 cores of four types in each market
    assert limit > 1
    assert {offer.limit for offer in instance.offers} == ({limit} if markets is None else {limit, 0})
    assert {offer.market for offer in instance.offers if offer.limit} == set(instance.markets)


def test_core_count_takes_the_largest_on_demand_vms_first() -> None:
    types = generate_instance(1, catalogue="hads", limit=5, d_spot_fraction=0.8, goal="balanced").vm_types
    assert core_count(types, None) == 2 * 5 * (2 + 4 + 2 + 4)
    assert core_count(types, 7) == 5 * 12 + 7 * 4


@given(st.integers(3, 30), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_match_summary_hits_minimum_mean_and_maximum(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 9, size)
    counts[0] = counts[-1] = 1
    low, high = 10.0, 90.0
    # A mean that the ends leave room for.
    total = counts.sum()
    mean = float(rng.uniform((low * (total - 1) + high) / total, (low + high * (total - 1)) / total))
    values = match_summary(np.sort(rng.random(size)), counts, low, mean, high)
    assert (values.min(), values.max()) == (low, high)
    assert (values * counts).sum() / total == pytest.approx(mean)
    assert (np.diff(values) >= -1e-9).all()
