"""What holds for every replay on a hybrid platform, whatever the platform, the jobs and the policy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spotbag.instances.platforms.entries import AllocatedCluster
from spotbag.instances.platforms.platform import Platform
from spotbag.replay.platforms.engine import PlatformReplay
from spotbag.replay.platforms.local_scheduler import SUFFIXES
from spotbag.replay.platforms.outcome import PlatformOutcome
from spotbag.replay.platforms.policies import PLATFORM_POLICIES, PreferringPolicy, asked_of_tree, platform_policy
from tests.helpers.random_platforms import random_platforms
from tests.helpers.soaks import soak_of

busy_platforms = random_platforms(most_jobs=12).filter(lambda platform: bool(platform.jobs))
policies = st.builds(
    lambda name, suffixes: "+".join([name, *suffixes]),
    st.sampled_from(sorted(PLATFORM_POLICIES)),
    st.lists(st.sampled_from(sorted(SUFFIXES)), unique=True),
)
patient = settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def replayed(platform: Platform, policy: str, seed: int = 0) -> PlatformOutcome:
    """Replay a platform."""
    return PlatformReplay(platform, platform_policy(policy)(seed), seed=seed).run()


def flattened(platform: Platform) -> Platform:
    """Put all resources right below the root."""
    document = platform.to_document()
    root = next(agent for agent in document["agents"] if "parent" not in agent)
    document["agents"] = [root]
    document["resources"] = [resource | {"parent": root["id"]} for resource in document["resources"]]
    return Platform.from_document(document, "flat")


@patient
@given(busy_platforms, policies, st.integers(0, 3))
def test_every_job_runs_once_and_is_paid_for(platform: Platform, policy: str, seed: int) -> None:
    outcome = replayed(platform, policy, seed)
    assert [job.id for job in outcome.jobs] == [job.id for job in platform.jobs_by_arrival]
    assert all(job.arrival_s <= job.start_s < job.end_s for job in outcome.jobs)
    resources = {resource.id: resource for resource in platform.resources}
    sizes = {job.id: job.size_processor_minutes for job in platform.jobs}
    reserved = [
        sizes[job.id] * cluster.cost_per_processor_minute
        for job in outcome.jobs
        if isinstance(cluster := resources[job.resource], AllocatedCluster)
    ]
    bills = [bill.cost for bill in outcome.machines]
    assert math.isclose(outcome.cost, math.fsum(reserved + bills), rel_tol=1e-12)
    assert all(bill.terminated_s - bill.launched_s == bill.hours * 3600 for bill in outcome.machines)
    assert outcome.good + outcome.bad + outcome.stays == outcome.placements
    assert outcome.placements == len(outcome.jobs) + outcome.displaced


@patient
@given(busy_platforms, policies)
def test_a_tree_decides_as_its_root_alone_would(platform: Platform, policy: str) -> None:
    deep, flat = replayed(platform, policy), replayed(flattened(platform), policy)
    assert deep.jobs == flat.jobs
    assert deep.machines == flat.machines


@patient
@given(busy_platforms, policies)
def test_the_same_seed_gives_the_same_replay(platform: Platform, policy: str) -> None:
    assert replayed(platform, policy, 7) == replayed(platform, policy, 7)


@patient
@given(busy_platforms)
def test_everybody_is_asked_once_for_a_placement_but_the_sender(platform: Platform) -> None:
    outcome = replayed(platform, "money-saving")
    below_the_root = len(platform.agents) - 1 + len(platform.resources)
    # a question and an answer each; a displaced job is not offered to the one who sends it
    assert outcome.messages == 2 * (outcome.placements * below_the_root - outcome.displaced)


@patient
@given(busy_platforms)
def test_all_good_jobs_are_in_time_and_within_budget_until_something_is_displaced(platform: Platform) -> None:
    outcome = replayed(platform, "time-saving")
    if outcome.displaced == 0 and outcome.bad == 0:
        assert outcome.delay_s == 0
        assert outcome.overspend == 0


@soak_of(busy_platforms, policies, st.integers(0, 3), sample=100, whole=2000)
def test_all_this_holds_on_thousands_of_platforms(platform: Platform, policy: str, seed: int) -> None:
    one_example(test_every_job_runs_once_and_is_paid_for)(platform, policy, seed)
    one_example(test_a_tree_decides_as_its_root_alone_would)(platform, policy)
    one_example(test_the_same_seed_gives_the_same_replay)(platform, policy)
    one_example(test_everybody_is_asked_once_for_a_placement_but_the_sender)(platform)
    one_example(test_all_good_jobs_are_in_time_and_within_budget_until_something_is_displaced)(platform)


def one_example(test: Any) -> Callable[..., None]:
    """Return the function that Hypothesis calls for each example of a test."""
    inner: Callable[..., None] = test.hypothesis.inner_test
    return inner


@pytest.mark.parametrize("policy", sorted(PLATFORM_POLICIES))
def test_policies_are_called_what_users_call_them(policy: str) -> None:
    assert platform_policy(policy)(0).name == policy


def test_policies_of_the_paper_ask_the_tree() -> None:
    for policy in ("money-saving", "time-saving"):
        made = platform_policy(policy)(0)
        assert isinstance(made, PreferringPolicy)
        assert made.known is asked_of_tree
