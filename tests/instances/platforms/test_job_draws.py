"""Sets of malleable jobs: the printed distributions, and what they depend on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.core.errors import InputError
from spotbag.instances.platforms.entries import Cloud
from spotbag.instances.platforms.job_draws import JOB_SETS, JobSetKind, draw_malleable_jobs, largest_cluster
from spotbag.instances.platforms.platform import Platform
from spotbag.instances.platforms.platform_files import library_platform

MANY = 4000
KINDS = st.sampled_from(list(JOB_SETS))


@dataclass
class Columns:
    """What is drawn, an array for each field."""

    size: np.ndarray[Any, Any]
    priority: np.ndarray[Any, Any]
    arrival_s: np.ndarray[Any, Any]
    allowed_s: np.ndarray[Any, Any]
    budget: np.ndarray[Any, Any]


def sampled(number: int, kind: JobSetKind, seed: int, max_processors: int = 64, **given: Any) -> Columns:
    jobs = draw_malleable_jobs(number, kind, seed, max_processors=max_processors, **given)
    rows = [
        (job.size_processor_minutes, job.priority, job.arrival_s, job.deadline_s - job.arrival_s, job.budget)
        for job in jobs
    ]
    return Columns(*(np.array(column) for column in zip(*rows, strict=True)))


@given(st.integers(1, 40), KINDS, st.integers(0, 2**64 - 1), st.integers(1, 3000))
@settings(max_examples=60, deadline=None)
def test_all_that_is_drawn_is_within_its_bounds(number: int, kind: JobSetKind, seed: int, max_processors: int) -> None:
    jobs = draw_malleable_jobs(number, kind, seed, max_processors=max_processors)
    assert [job.id for job in jobs] == sorted({job.id for job in jobs})
    assert len(jobs) == number
    small = [job for job in jobs if 60 <= job.size_processor_minutes <= 120]
    big = [job for job in jobs if 1000 <= job.size_processor_minutes <= 2000]
    expected = {"small": (number, 0), "big": (0, number), "mixed": (number - number // 2, number // 2)}[kind]
    assert (len(small), len(big)) == expected
    assert all(before.arrival_s <= job.arrival_s for before, job in pairwise(jobs))
    for job in jobs:
        size = job.size_processor_minutes
        assert 1 <= job.priority <= 20
        assert 60 * -(-size // max_processors) <= job.deadline_s - job.arrival_s <= 60 * size
        assert size - 0.01 <= job.budget <= 4 * size + 0.01
        assert round(job.budget, 2) == job.budget
    assert jobs == draw_malleable_jobs(number, kind, seed, max_processors=max_processors)
    Platform(name="x", agents=[{"id": "r"}], resources=[{"id": "c", "kind": "cloud", "parent": "r"}], jobs=jobs)


def uniform(values: np.ndarray[Any, Any], low: float, high: float) -> None:
    """Values must fill a range evenly: mean within four standard errors, each quarter has a quarter of them."""
    assert abs(values.mean() - (low + high) / 2) <= 4 * (high - low) / np.sqrt(12 * len(values))
    shares = np.histogram(values, 4, (low, high))[0] / len(values)
    assert shares.tolist() == pytest.approx([0.25] * 4, abs=0.03)


def test_the_distributions_are_the_printed_ones() -> None:
    small, big = sampled(MANY, "small", 1), sampled(MANY, "big", 2)
    uniform(small.size, 59.5, 120.5)
    uniform(big.size, 999.5, 2000.5)
    uniform(small.priority, 0.5, 20.5)
    shortest_s = 60 * -(-big.size // 64)
    uniform((big.allowed_s - shortest_s) / (60 * big.size - shortest_s), 0, 1)
    uniform(big.budget / big.size, 1, 4)
    gaps_s = np.diff(small.arrival_s)
    for moment in (gaps_s.mean(), gaps_s.std()):  # equal in an exponential distribution
        assert moment == pytest.approx(60, rel=0.07)
    assert np.mean(gaps_s > 60) == pytest.approx(np.exp(-1), abs=0.03)
    assert 0 < small.arrival_s[0] < 600


def test_small_and_big_jobs_of_a_mixed_set_come_in_random_order() -> None:
    big = sampled(1001, "mixed", 3).size > 500
    assert big.sum() == 500
    assert abs(big[:500].sum() - 250) < 50
    assert abs((big[1:] != big[:-1]).sum() - 500) < 80


def test_processors_move_deadlines_only_and_options_do_what_they_say() -> None:
    base, other = asdict(sampled(50, "mixed", 5)), asdict(sampled(50, "mixed", 5, max_processors=2))
    differ = {name for name in base if (base[name] != other[name]).any()}
    assert differ == {"allowed_s"}
    assert (sampled(50, "mixed", 5, mean_gap_s=0).arrival_s == 0).all()
    fixed = sampled(50, "small", 5, budget_per_processor_minute=(2.5, 2.5))
    assert (fixed.budget == 2.5 * fixed.size).all()
    one = sampled(50, "small", 5, max_processors=1)
    assert (one.allowed_s == 60 * one.size).all()


def test_seeds_and_kinds_differ() -> None:
    sets = [sampled(30, "small", 1), sampled(30, "small", 2), sampled(30, "big", 1), sampled(30, "mixed", 1)]
    priorities = {tuple(columns.priority) for columns in sets}
    assert len(priorities) == len(sets)


def test_ids_sort_as_the_jobs_arrive() -> None:
    for number, first, last in ((9, "job-1", "job-9"), (10, "job-01", "job-10"), (1000, "job-0001", "job-1000")):
        jobs = draw_malleable_jobs(number, "small", 0, max_processors=1)
        assert (jobs[0].id, jobs[-1].id) == (first, last)


def test_all_that_is_out_of_range_is_said_at_once() -> None:
    with pytest.raises(InputError) as caught:
        draw_malleable_jobs(
            0,
            "large",  # type: ignore[arg-type]
            -1,
            max_processors=0,
            mean_gap_s=float("nan"),
            budget_per_processor_minute=(3, 2),
        )
    message = str(caught.value)
    assert message.startswith("job set: 6 errors")
    for part in (
        "kind 'large' is no kind of a set of jobs (known: small, big, mixed)",
        "number 0 must be from 1 to 1000000",
        "seed -1 must be from 0 to 2**64 - 1",
        "max_processors 0 must be from 1 to 1000000",
        "mean_gap_s nan must be from 0 to 1000000000",
        "budget_per_processor_minute must be two prices from 0 to 1000000, the lower one first; they are 3 and 2",
    ):
        assert part in message
    with pytest.raises(InputError, match="mean_gap_s 1000000000 is too long for 1000 jobs"):
        draw_malleable_jobs(1000, "small", 0, max_processors=1, mean_gap_s=10**9)


def test_the_largest_cluster_is_that_of_the_most_processors_at_any_time() -> None:
    def platform(*resources: dict[str, Any]) -> Platform:
        nodes = [{"id": str(place), "parent": "root"} | resource for place, resource in enumerate(resources)]
        return Platform(name="x", agents=[{"id": "root"}], resources=nodes)

    own = {"kind": "dedicated", "processors": 5}
    rented = {"kind": "allocated", "availability": [{"from_s": 60 * t, "processors": 7 - t} for t in range(3)]}
    cloud = {"kind": "cloud", "processors_per_vm": 16}
    assert largest_cluster(platform(own, cloud)) == 5
    assert largest_cluster(platform(own, rented, cloud)) == 7
    assert largest_cluster(platform(cloud, cloud | {"processors_per_vm": 4})) == 16
    assert largest_cluster(library_platform("caron/hybrid")) == 64
    assert Cloud(id="c", kind="cloud", parent="r").processors_per_vm == 8
