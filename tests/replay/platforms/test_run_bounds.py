"""Bounds beside runs on hybrid platforms: no policy beats them, and each belongs to its run."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spotbag.instances.platforms.job_draws import JobSet, draw_malleable_jobs
from spotbag.instances.platforms.platform import Platform
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.models.platforms.dual import METRICS
from spotbag.replay.platforms.engine import PlatformReplay
from spotbag.replay.platforms.local_scheduler import SUFFIXES
from spotbag.replay.platforms.outcome import PlatformOutcome
from spotbag.replay.platforms.policies import PLATFORM_POLICIES, platform_policy
from spotbag.replay.platforms.runs import RunBounds, bounds_of_runs, platform_with_jobs, replay_platform, run_bounds
from spotbag.solvers.platforms.bound import platform_bound
from tests.helpers.random_platforms import random_platforms
from tests.helpers.soaks import some

POLICIES = ["money-saving", "fastest-of-all", "round-robin"]


@pytest.mark.parametrize(("name", "jobs"), [("tiny/hybrid", None), ("caron/two-sites", JobSet("mixed", 15))])
def test_no_policy_beats_the_bounds_of_its_run(name: str, jobs: JobSet | None) -> None:
    platform = library_platform(name)
    runs = replay_platform(platform, POLICIES, 1, job_set=jobs, seed=4)
    for [outcome], [bound] in zip(runs.outcomes, bounds_of_runs(platform, runs, job_set=jobs, seed=4), strict=True):
        assert 0 <= bound.cost <= outcome.cost
        assert 0 < bound.execution_time_s <= outcome.execution_time_s
        assert 0 <= bound.delay_s <= outcome.delay_s


def test_each_run_has_bounds_of_its_own_jobs() -> None:
    platform, jobs = library_platform("caron/hybrid"), JobSet("small", 8)
    runs = replay_platform(platform, ["money-saving", "round-robin"], 2, job_set=jobs, seed=7)
    counted: list[int] = []
    bounds = bounds_of_runs(platform, runs, job_set=jobs, seed=7, on_run=counted.append)
    assert counted == [1, 1]
    for policy in range(2):
        for run in range(2):
            alone = run_bounds(platform_with_jobs(platform, jobs, 7 + run), runs.outcomes[policy][run])
            assert bounds[policy][run] == alone
    assert bounds[0][0] != bounds[0][1]


def test_bounds_by_hand() -> None:
    # 21 processor-minutes on two processors: 11 minutes, of which one is late, whatever is done.
    document = library_platform("tiny/hybrid").to_document()
    document["resources"] = document["resources"][:1]
    document["jobs"] = [document["jobs"][0] | {"size_processor_minutes": 21, "deadline_s": 600}]
    alone = Platform.from_document(document, "alone")
    runs = replay_platform(alone, ["money-saving"])
    [[bound]] = bounds_of_runs(alone, runs)
    assert bound == RunBounds(cost=0, execution_time_s=660, delay_s=60)
    assert (runs.outcomes[0][0].execution_time_s, runs.outcomes[0][0].delay_s) == (660, 60)


@pytest.mark.slow
def test_several_processes_find_the_same() -> None:
    platform, jobs = library_platform("caron/hybrid"), JobSet("small", 8)
    runs = replay_platform(platform, ["money-saving"], 3, job_set=jobs)
    assert bounds_of_runs(platform, runs, job_set=jobs, workers=2) == bounds_of_runs(platform, runs, job_set=jobs)


def test_equal_runs_are_bounded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    platform = library_platform("tiny/hybrid")
    calls: list[float] = []

    def counted(platform: Platform, outcome: PlatformOutcome) -> RunBounds:
        calls.append(outcome.cost)
        return RunBounds(outcome.cost / 2, outcome.delay_s, 0)

    monkeypatch.setattr("spotbag.replay.platforms.runs.run_bounds", counted)
    runs = replay_platform(platform, ["money-saving", "time-saving"], 4)
    assert bounds_of_runs(platform, runs) == ((RunBounds(245, 420, 0),) * 4, (RunBounds(365, 0, 0),) * 4)
    assert calls == [490, 730]
    sampled = JobSet("small", 3)
    runs = replay_platform(platform, ["round-robin"], 2, job_set=sampled)
    bounds_of_runs(platform, runs, job_set=sampled)
    assert len(calls) == 4


def assert_not_beaten(platform: Platform, outcome: PlatformOutcome) -> None:
    """Bound each metric, with caps on the others that the run keeps."""
    for metric in METRICS:
        caps = {f"{name}_at_most": getattr(outcome, name) for name in METRICS if name != metric}
        bound = platform_bound(platform, metric, **caps)
        assert bound.feasible, bound.reason
        assert bound.value <= getattr(outcome, metric) * (1 + 1e-9)


@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(
    random_platforms(most_jobs=8).filter(lambda platform: bool(platform.jobs)),
    st.sampled_from(sorted(PLATFORM_POLICIES)),
    st.sets(st.sampled_from(sorted(SUFFIXES))),
)
def test_no_policy_beats_the_bounds(platform: Platform, policy: str, suffixes: set[str]) -> None:
    name = "+".join([policy, *sorted(suffixes)])
    assert_not_beaten(platform, PlatformReplay(platform, platform_policy(name)(0)).run())


@pytest.mark.parametrize("kind", some(["small", "mixed"], fast=1))
def test_no_policy_beats_the_bounds_of_the_paper_s_jobs(kind: str) -> None:
    jobs = draw_malleable_jobs(20, kind, 0, max_processors=64)
    platform = library_platform("caron/hybrid").with_jobs(jobs)
    for policy in ("money-saving", "round-robin"):
        outcome = PlatformReplay(platform, platform_policy(policy)(0)).run()
        assert_not_beaten(platform, outcome)
