"""Parts of the bounds of hybrid platforms: processor-minutes, slots, work that fits in time."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_flow

from spotbag.instances.platforms.entries import Cloud
from spotbag.instances.platforms.platform import Platform
from spotbag.models.platforms.dual import Prices, dual_value
from spotbag.models.platforms.fluid import least_cost_in_time, most_work_in_time, platform_fluid, processor_minutes_by
from tests.helpers.tiny_platforms import all_metrics, clusters, platform, processors_in, tiny_platforms

windows = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=5)


@given(clusters)
def test_processor_minutes_add_up(resource: dict[str, object]) -> None:
    cluster = platform([resource], []).resources[0]
    assert not isinstance(cluster, Cloud)
    counted = np.cumsum([0, *(processors_in(cluster, minute) for minute in range(20))])
    assert processor_minutes_by(cluster, np.arange(21)).tolist() == counted.tolist()


@settings(max_examples=40)
@given(tiny_platforms(most_jobs=5), st.integers(1, 400))
def test_slots_lie_one_behind_the_other_and_hold_all_work(tiny: Platform, most_slots: int) -> None:
    fluid = platform_fluid(tiny, most_slots)
    assert (np.diff(fluid.starts) > 0).all()
    assert fluid.starts[0] == fluid.first_minute[0]
    assert (fluid.starts[fluid.first_slot] <= fluid.first_minute).all()
    assert (fluid.largest <= fluid.capacity).all()
    for price, capacity in zip(fluid.prices, fluid.capacity, strict=True):
        tier = [
            each
            for each in tiny.resources
            if not isinstance(each, Cloud) and getattr(each, "cost_per_processor_minute", 0) == price
        ]
        for start, end, room in zip(fluid.starts[:30], fluid.starts[1:], capacity, strict=False):
            counted = sum(processors_in(each, minute) for each in tier for minute in range(start, end))
            assert room == min(counted, fluid.size.sum())


def most_work_by_flow(processors: list[int], jobs: list[tuple[int, int, int]]) -> int:
    """Maximum flow from jobs to the minutes of their windows."""
    n_jobs, n_minutes = len(jobs), len(processors)
    arcs = np.zeros((n_jobs + n_minutes + 2,) * 2, dtype=np.int32)
    for number, (size, first, end) in enumerate(jobs):
        arcs[-2, number] = size
        arcs[number, n_jobs + first : n_jobs + end] = size
    arcs[n_jobs:-2, -1] = processors
    return int(maximum_flow(csr_matrix(arcs), arcs.shape[0] - 2, arcs.shape[0] - 1).flow_value)


@given(st.lists(clusters, min_size=1, max_size=2), windows)
def test_most_work_in_time_is_a_maximum_flow(
    resources: list[dict[str, object]], jobs: list[tuple[int, int, int]]
) -> None:
    own = [each for each in platform(resources, []).resources if not isinstance(each, Cloud)]
    size, first, end = (np.array(each, dtype=np.int64) for each in zip(*jobs, strict=True))
    processors = [sum(processors_in(cluster, minute) for cluster in own) for minute in range(9)]
    assert most_work_in_time(own, size, first, end) == most_work_by_flow(processors, jobs)


@settings(max_examples=40)
@given(tiny_platforms(), st.sampled_from([0, 0, 30, 60, 200]))
def test_no_schedule_in_time_is_cheaper(tiny: Platform, delay_s: int) -> None:
    least = least_cost_in_time(tiny, delay_s)
    costs = [metrics.cost for metrics in all_metrics(tiny) if metrics.delay_s <= delay_s]
    assert least is not None or not costs
    assert least is None or all(float(least) <= cost * (1 + 1e-9) for cost in costs)


def test_prices_see_that_jobs_are_not_divided_between_tiers() -> None:
    # Both jobs need all of the second minute, so one of them goes to the cloud; in pieces, only half of one would.
    free = {"kind": "dedicated", "processors": 2}
    cloud = {"kind": "cloud", "processors_per_vm": 1, "cost_per_vm_hour": 60}
    tiny = platform([free, cloud], [(4, 0, 120), (4, 60, 180)])
    fluid = platform_fluid(tiny)
    slots = np.where(fluid.starts[:-1] == 1, 2.0, 0.0).reshape(1, -1)
    assert least_cost_in_time(tiny) == 2
    assert dual_value(fluid, "cost", {"delay_s": Fraction(0)}, Prices(slots, {})).value == 4


def test_jobs_that_no_cluster_can_do_in_time_do_not_count() -> None:
    # Together the two have 8 processor-minutes in time, but the job can only be on one.
    free = {"kind": "dedicated", "processors": 2}
    cloud = {"kind": "cloud", "processors_per_vm": 1, "cost_per_vm_hour": 60}
    assert least_cost_in_time(platform([free, free, cloud], [(8, 0, 120)])) == 8
    assert least_cost_in_time(platform([free, free, cloud], [(4, 0, 120), (4, 0, 120), (1, 0, 120)])) == 1
    assert least_cost_in_time(platform([free, free], [(8, 0, 120)])) is None


def test_prices_by_hand() -> None:
    # One job of 4 on 2 processors. At 3 a processor-minute in its two minutes it pays 12, which is what they are worth;
    # if they are dear, it ends two minutes later.
    fluid = platform_fluid(platform([{"kind": "dedicated", "processors": 2}], [(4, 0, 120)]))
    for price, proved in ((0.0, 120), (3.0, 120), (40.0, 240 - 160), (1e9, 240 - 4 * 10**9)):
        slots = np.zeros(fluid.capacity.shape)
        slots[0, :2] = price
        assert dual_value(fluid, "execution_time_s", {}, Prices(slots, {})).value == proved


def test_few_jobs_can_be_late_by_much() -> None:
    # Five jobs of 2, each with its own minute, on one processor: in time, half of all work is done there. Of 100 s of
    # delay, one job at most has more than 50, and nobody gets another minute for 50.
    few = {"kind": "dedicated", "processors": 1}
    cloud = {"kind": "cloud", "processors_per_vm": 2, "cost_per_vm_hour": 120}
    tiny = platform([few, cloud], [(1, 120 * n, 120 * n + 60) for n in range(5) for _ in range(2)])
    assert least_cost_in_time(tiny) == 5
    assert least_cost_in_time(tiny, 100) == 4
    assert least_cost_in_time(tiny, 1000) == 0
