"""No policy beats the bounds of its platform."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_platforms import random_platforms

from spotbag.instances.platforms.job_draws import draw_malleable_jobs
from spotbag.instances.platforms.platform import Platform
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.models.platforms.dual import METRICS
from spotbag.replay.platforms.engine import PlatformReplay
from spotbag.replay.platforms.local_scheduler import SUFFIXES
from spotbag.replay.platforms.outcome import PlatformOutcome
from spotbag.replay.platforms.policies import PLATFORM_POLICIES, platform_policy
from spotbag.solvers.platforms.bound import platform_bound

patient = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def assert_not_beaten(platform: Platform, outcome: PlatformOutcome) -> None:
    """Bound each metric, with caps on the others that the run keeps."""
    for metric in METRICS:
        caps = {f"{name}_at_most": getattr(outcome, name) for name in METRICS if name != metric}
        bound = platform_bound(platform, metric, **caps)
        assert bound.feasible, bound.reason
        assert bound.value <= getattr(outcome, metric) * (1 + 1e-9)


@patient
@given(
    random_platforms(most_jobs=8).filter(lambda platform: bool(platform.jobs)),
    st.sampled_from(sorted(PLATFORM_POLICIES)),
    st.sets(st.sampled_from(sorted(SUFFIXES))),
)
def test_no_policy_beats_the_bounds(platform: Platform, policy: str, suffixes: set[str]) -> None:
    name = "+".join([policy, *sorted(suffixes)])
    assert_not_beaten(platform, PlatformReplay(platform, platform_policy(name)(0)).run())


@pytest.mark.parametrize("kind", ["small", "mixed"])
def test_no_policy_beats_the_bounds_of_the_paper_s_jobs(kind: str) -> None:
    jobs = draw_malleable_jobs(60, kind, 0, max_processors=64)
    platform = library_platform("caron/hybrid").with_jobs(jobs)
    for policy in ("money-saving", "round-robin"):
        outcome = PlatformReplay(platform, platform_policy(policy)(0)).run()
        assert_not_beaten(platform, outcome)
