"""On random platforms no job is lost, every machine is paid for, and the auditor agrees, whatever the policy."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.audits.auditor import audit
from spotbag.instances.platforms.platform import Platform
from spotbag.replay.platforms.candidate import Candidate, PlatformJob
from spotbag.replay.platforms.engine import PlatformReplay
from spotbag.replay.platforms.local_scheduler import SUFFIXES, PlatformRules
from spotbag.replay.platforms.outcome import platform_trace
from spotbag.replay.platforms.policies import PLATFORM_POLICIES, platform_policy
from spotbag.replay.platforms.state import PlatformPolicy, PlatformState
from tests.helpers.random_platforms import crowded_platform, crowded_platforms, random_platforms
from tests.helpers.soaks import soak


class Anything(PlatformPolicy):
    """Takes any candidate of any resource."""

    name = "anything"

    def __init__(self, rules: PlatformRules, seed: int) -> None:
        self.rules = rules
        self._random = np.random.default_rng(seed)

    def choose(self, replay: PlatformState, job: PlatformJob, sender: int) -> Candidate | None:
        candidates = replay.offers(job, sender)
        return candidates[int(self._random.integers(len(candidates)))] if candidates else None


RULES = [
    PlatformRules(*rules) for rules in product(["priority", "deadline"], ["displaced", "stay"], ["printed", "exact"])
]
SUFFIXED = ["+".join(["", *chosen]) for length in range(4) for chosen in combinations(SUFFIXES, length)]
POLICIES: dict[str, Callable[[int], PlatformPolicy]] = {
    name + suffix: platform_policy(name + suffix) for name in PLATFORM_POLICIES for suffix in SUFFIXED
}
POLICIES |= {f"anything {number}": partial(Anything, rules) for number, rules in enumerate(RULES)}


def demand_sound_replay(platform: Platform, policy: str, seed: int) -> Counter[str]:
    """Replay, audit, and compare what can be seen at once; return what has happened how often."""
    replay = PlatformReplay(platform, POLICIES[policy](seed), seed=seed, record=True)
    outcome = replay.run()
    trace = platform_trace(replay, outcome)
    report = audit(trace, given=platform)
    assert report.findings == ()
    assert report.cost_usd == pytest.approx(outcome.cost, rel=1e-9)
    assert report.makespan_s == outcome.end_s
    bills = [machine.cost for machine in outcome.machines]
    assert sum(report.vm_cost_usd.values()) == pytest.approx(math.fsum(bills), rel=1e-9)
    ended = Counter(event["job"] for event in trace.events if event["event"] == "finish")
    assert ended == Counter(job.id for job in platform.jobs)
    assert PlatformReplay(platform, POLICIES[policy](seed), seed=seed).run() == outcome
    return replay.counts


@settings(max_examples=12, deadline=None)
@given(crowded_platforms(), st.sampled_from(sorted(POLICIES)))
def test_crowded_platforms(platform: Platform, policy: str) -> None:
    demand_sound_replay(platform, policy, 1)


@settings(max_examples=15, deadline=None)
@given(random_platforms().filter(lambda platform: bool(platform.jobs)), st.sampled_from(sorted(POLICIES)))
def test_random_platforms(platform: Platform, policy: str) -> None:
    demand_sound_replay(platform, policy, 1)


@settings(max_examples=15, deadline=None)
@given(crowded_platforms(), st.sampled_from(sorted(POLICIES)), st.data())
def test_no_event_can_be_left_out_or_moved(platform: Platform, policy: str, data: st.DataObject) -> None:
    replay = PlatformReplay(platform, POLICIES[policy](1), record=True)
    trace = platform_trace(replay, replay.run())
    number = data.draw(st.integers(0, len(trace.events) - 1))
    retained = trace.events[number]
    trace.events[number] = retained | {"t": retained["t"] + 1}
    assert audit(trace).findings
    del trace.events[number]
    assert audit(trace).findings


def test_the_draws_have_what_is_to_be_tested() -> None:
    happened: Counter[str] = Counter()
    for seed in range(20):
        happened += demand_sound_replay(crowded_platform(np.random.default_rng(seed)), "money-saving", seed)
    assert all(happened[kind] for kind in ("good", "bad", "displaced", "stays", "unwanted"))


@soak(6, 60)
@pytest.mark.parametrize("suffix", SUFFIXED)
@pytest.mark.parametrize("name", sorted(PLATFORM_POLICIES))
def test_soak_of_crowded_platforms(name: str, suffix: str, how_many: int) -> None:
    for seed in range(10**6, 10**6 + how_many):
        demand_sound_replay(crowded_platform(np.random.default_rng(seed)), name + suffix, seed)


@soak(40, 150)
@pytest.mark.parametrize("number", range(len(RULES)))
def test_soak_of_anything(number: int, how_many: int) -> None:
    for seed in range(2 * 10**6, 2 * 10**6 + how_many):
        demand_sound_replay(crowded_platform(np.random.default_rng(seed)), f"anything {number}", seed)


# --------------------------------------------------------------- found in this way


@pytest.mark.parametrize("kind", ["cluster", "cloud"])
def test_three_times_a_tenth_is_within_a_budget_of_three_tenths(kind: str) -> None:
    """Though it is more in binary numbers."""
    job = {"id": "j", "size_processor_minutes": 3, "deadline_s": 60, "budget": 0.3}
    steps = [{"from_s": 0, "processors": 3}]
    resources = {
        "cluster": {"kind": "allocated", "cost_per_processor_minute": 0.1, "availability": steps},
        "cloud": {"kind": "cloud", "processors_per_vm": 1, "cost_per_vm_hour": 0.1},
    }
    document = {"name": "tenths", "agents": [{"id": "root"}], "jobs": [job]}
    document["resources"] = [{"id": "r", "parent": "root"} | resources[kind]]
    replay = PlatformReplay(Platform.from_document(document, "tenths"), platform_policy("money-saving")(0), record=True)
    outcome = replay.run()
    assert outcome.cost == pytest.approx(0.3)
    assert (outcome.good, outcome.overspent_jobs, outcome.overspend) == (1, 0, 0.0)
    assert audit(platform_trace(replay, outcome)).correct
