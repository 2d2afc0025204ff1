"""Bounds of hybrid platforms: by hand, against all schedules of tiny ones, and whatever prices prove them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.core.errors import InputError
from spotbag.instances.platforms.platform import Platform
from spotbag.models.platforms.dual import METRICS, Metric, Prices, dual_value
from spotbag.models.platforms.fluid import platform_fluid
from spotbag.solvers.platforms.bound import PlatformBound, frontier, platform_bound
from tests.helpers.soaks import soak_of
from tests.helpers.tiny_platforms import Metrics, all_metrics, choices, platform, schedule_metrics, tiny_platforms

FREE = {"kind": "dedicated", "processors": 2}
PAID = {"kind": "allocated", "cost_per_processor_minute": 1, "availability": ({"from_s": 0, "processors": 2},)}
CLOUD = {"kind": "cloud", "processors_per_vm": 2, "cost_per_vm_hour": 240}  # 2 for a processor-minute


def bound_within(tiny: Platform, metric: Metric, metrics: Metrics, **options: Any) -> PlatformBound:
    """Bound a metric for schedules that are no worse in the others."""
    caps = {f"{name}_at_most": getattr(metrics, name) for name in METRICS if name != metric}
    return platform_bound(tiny, metric, **caps, **options)


def assert_not_beaten(tiny: Platform, metrics: Metrics, **options: Any) -> None:
    for metric in METRICS:
        bound = bound_within(tiny, metric, metrics, **options)
        assert bound.feasible, bound.reason
        assert bound.value <= getattr(metrics, metric) * (1 + 1e-9), bound


def test_two_jobs_that_do_not_fit_in_time_together() -> None:
    # Each has two minutes for its 4 processor-minutes: one on each cluster; alone on the free one, the second is 120 s
    # late, and not earlier than after 4 minutes.
    tiny = platform([FREE, PAID], [(4, 0, 120), (4, 0, 120)])
    assert platform_bound(tiny, "cost").value == 0
    in_time = platform_bound(tiny, "cost", delay_s_at_most=0)
    assert (in_time.value, in_time.how, in_time.caps) == (4, "in time", {"delay_s": 0})
    assert platform_bound(tiny, "delay_s", cost_at_most=4).value == 0
    assert platform_bound(tiny, "execution_time_s").value == 240
    late = platform_bound(tiny, "delay_s", cost_at_most=0)
    assert 60 <= late.value <= 120  # the work of both may alternate in the relaxation
    assert late.how == "prices"
    assert 270 <= platform_bound(tiny, "execution_time_s", cost_at_most=0).value <= 360


def test_a_job_that_is_alone_is_bounded_exactly() -> None:
    # Arrives within the first minute: from 60 s on, 5 processor-minutes take 3 minutes.
    tiny = platform([FREE], [(5, 1, 100)])
    assert platform_bound(tiny, "execution_time_s").value == 239
    assert platform_bound(tiny, "delay_s").value == 140
    assert platform_bound(tiny, "cost", delay_s_at_most=140).feasible
    assert platform_bound(tiny, "cost", delay_s_at_most=139).value == math.inf


def test_what_does_not_fit_on_clusters_goes_to_the_cloud() -> None:
    # 12 processor-minutes within 2 minutes: 4 free ones, 4 at 1, 4 at 2 in the cloud.
    tiny = platform([CLOUD, PAID, FREE], [(4, 0, 120), (4, 0, 120), (4, 0, 120)])
    assert platform_bound(tiny, "cost", delay_s_at_most=0).value == 12
    # A cap on cost is one on machines: for 250 there is one, which takes 2 minutes.
    assert platform_bound(platform([CLOUD], [(4, 0, 500)]), "execution_time_s", cost_at_most=250).value == 120
    assert platform_bound(platform([CLOUD], [(4, 0, 500)]), "execution_time_s").value == 1


def test_caps_that_no_schedule_observes_are_reported() -> None:
    tiny = platform([FREE, PAID, CLOUD], [(4, 0, 120), (4, 0, 120), (4, 0, 120)])
    cost = platform_bound(tiny, "execution_time_s", cost_at_most=3, delay_s_at_most=0)
    assert (cost.value, cost.how, cost.feasible) == (math.inf, "caps", False)
    assert "the total cost of any schedule with a total delay of at most 0 is at least 12, not 3" in cost.reason
    time = platform_bound(tiny, "cost", execution_time_s_at_most=2)
    assert "the total execution time of any schedule is at least 3, not 2" in time.reason
    alone = platform_bound(platform([PAID, CLOUD], [(4, 0, 120)]), "delay_s", cost_at_most=3)
    assert "no schedule with a total cost of at most 3: job 'job-0' exceeds that alone" in alone.reason
    late = platform_bound(platform([FREE], [(4, 0, 120), (4, 0, 120)]), "cost", delay_s_at_most=0)
    assert "at most 0: the clusters cannot do all work in time" in late.reason
    own = platform_bound(tiny, "cost", cost_at_most=3, delay_s_at_most=0)
    assert not own.feasible


def test_caps_that_only_prices_contradict_are_reported() -> None:
    tiny = platform([FREE], [(40, 0, 600)] * 6)
    assert "delay" in platform_bound(tiny, "execution_time_s", delay_s_at_most=1000).reason
    # One after the other they end 10, 30, ..., 110 minutes late.
    assert platform_bound(tiny, "execution_time_s", delay_s_at_most=21_600).feasible
    assert not platform_bound(tiny, "execution_time_s", delay_s_at_most=20_000).feasible


def test_without_jobs_all_is_nothing() -> None:
    for metric in METRICS:
        assert platform_bound(platform([FREE, CLOUD], []), metric, cost_at_most=0).value == 0


def test_the_cheapest_cloud_and_the_largest_cluster_count() -> None:
    dear = {"kind": "cloud", "processors_per_vm": 1, "cost_per_vm_hour": 600}
    small = {"kind": "dedicated", "processors": 1}
    assert platform_bound(platform([dear, CLOUD], [(4, 0, 30)]), "cost").value == 8
    assert platform_bound(platform([small, FREE, small], [(4, 0, 500)]), "execution_time_s").value == 120


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"metric": "speed"}, "metric"),
        ({"metric": "cost", "delay_s_at_most": -1}, "delay_s_at_most"),
        ({"metric": "cost", "delay_s_at_most": math.nan}, "delay_s_at_most"),
        ({"metric": "cost", "most_slots": 0}, "most_slots"),
        ({"metric": "cost", "time_limit_s": 0}, "time_limit_s"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        platform_bound(platform([FREE], [(1, 0, 1)]), **options)


def test_without_time_the_bound_is_that_of_each_job_alone() -> None:
    tiny = platform([FREE], [(4, 0, 120), (4, 0, 120)])
    assert platform_bound(tiny, "execution_time_s", time_limit_s=1e-9).how == "alone"
    assert platform_bound(tiny, "execution_time_s", time_limit_s=1e-9).value == 240


def test_the_frontier_falls_and_no_schedule_is_below() -> None:
    tiny = platform([FREE, PAID, CLOUD], [(6, 0, 120), (4, 30, 200), (5, 70, 260)])
    line = frontier(tiny, points=5)
    assert line[0][0] == 0
    assert line[0][1] > line[-1][1]
    assert [y for _, y in line] == sorted((y for _, y in line), reverse=True)
    for metrics in all_metrics(tiny):
        assert all(metrics.delay_s >= y for x, y in line if metrics.cost <= x)
    # Without a cloud, nobody can be in time: the line ends where some can.
    crowded = frontier(platform([FREE, PAID], [(40, 0, 60)] * 4), points=4)
    assert all(math.isfinite(x) for x, _ in crowded)
    assert crowded[-1][1] > 0
    with pytest.raises(InputError, match="must differ"):
        frontier(tiny, "cost", "cost")
    with pytest.raises(InputError, match="points"):
        frontier(tiny, points=1)


def test_the_largest_numbers_prove_something() -> None:
    few = {"kind": "dedicated", "processors": 1}
    many = {
        "kind": "allocated",
        "cost_per_processor_minute": 1e9,
        "availability": ({"from_s": 0, "processors": 10**6},),
    }
    tiny = platform([few, many], [(10**9, 0, 10**9)] * 3 + [(1, 10**9 - 1, 10**9)])
    assert platform_bound(tiny, "cost").value == 0
    # One after the other they take a million million minutes on the one processor, less what alternating saves.
    assert platform_bound(tiny, "execution_time_s", cost_at_most=0).value > 3 * 6e10
    assert platform_bound(tiny, "execution_time_s").value < 3 * 6e4 * 3


@settings(max_examples=4)
@given(tiny_platforms(), st.integers(1, 400))
def test_no_schedule_beats_a_bound(tiny: Platform, most_slots: int) -> None:
    found = set(all_metrics(tiny))
    for metric in METRICS:
        assert platform_bound(tiny, metric).value <= min(getattr(metrics, metric) for metrics in found) * (1 + 1e-9)
        others = [name for name in METRICS if name != metric]
        best = min(found, key=lambda metrics: (getattr(metrics, metric), *(getattr(metrics, name) for name in others)))
        assert_not_beaten(tiny, best, most_slots=most_slots)


@settings(max_examples=8)
@given(tiny_platforms(most_jobs=5, most_resources=4), st.data())
def test_no_schedule_of_five_jobs_beats_a_bound(tiny: Platform, data: st.DataObject) -> None:
    order = data.draw(st.permutations(tiny.jobs))
    places = [data.draw(st.sampled_from(choices(tiny, 4))) for _ in order]
    assert_not_beaten(tiny, schedule_metrics(tiny, order, places))


@settings(max_examples=25)
@given(tiny_platforms(), st.data())
def test_any_prices_prove_a_bound(tiny: Platform, data: st.DataObject) -> None:
    order = data.draw(st.permutations(tiny.jobs))
    metrics = schedule_metrics(tiny, order, [data.draw(st.sampled_from(choices(tiny, 2))) for _ in order])
    fluid = platform_fluid(tiny, data.draw(st.integers(1, 100)))
    seed = data.draw(st.integers(0, 2**32 - 1))
    numbers = np.random.default_rng(seed)
    sizes = st.sampled_from([0.0, 1e-6, 0.3, 50.0, 1e7])
    for metric in METRICS:
        # Costs are rounded sums: a cap is raised by more than that, as `platform_bound` does.
        caps = {
            name: Fraction(getattr(metrics, name)) * (1 + Fraction(1, 10**12)) for name in METRICS if name != metric
        }
        prices = Prices(
            numbers.random(fluid.capacity.shape) * data.draw(sizes), {name: data.draw(sizes) for name in caps}
        )
        value = dual_value(fluid, metric, caps, prices).value
        assert value is not None
        assert value <= Fraction(getattr(metrics, metric)) * (1 + Fraction(1, 10**9))


@soak_of(tiny_platforms(most_jobs=5, most_resources=4), st.integers(1, 400), st.data(), sample=150, whole=500)
def test_no_schedule_of_many_platforms_beats_a_bound(tiny: Platform, most_slots: int, data: st.DataObject) -> None:
    for _ in range(3):
        order = data.draw(st.permutations(tiny.jobs))
        places = [data.draw(st.sampled_from(choices(tiny, 4))) for _ in order]
        assert_not_beaten(tiny, schedule_metrics(tiny, order, places), most_slots=most_slots)
