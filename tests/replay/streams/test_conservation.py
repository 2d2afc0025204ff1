"""On random streams, no task is lost or done twice, every VM is paid by its blocks, and the auditor agrees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.audits.auditor import audit
from spotbag.core.quantities import plain
from spotbag.instances.streams.draws import SampledJobs, draw_jobs
from spotbag.replay.streams.engine import StreamReplay
from spotbag.replay.streams.outcome import stream_trace
from spotbag.replay.streams.policies.a2ha import A2ha, A2haSettings
from spotbag.replay.streams.policies.fixed_fleet import FixedFleet
from spotbag.replay.streams.policies.known import Known, KnownPaidBlocks
from spotbag.replay.streams.policies.unknown import Sampling, Unknown, UnknownLearning
from spotbag.replay.streams.state import StreamPolicy, StreamState
from tests.helpers.random_streams import Anything, random_stream
from tests.helpers.soaks import soak

POLICIES: dict[str, Callable[[int], StreamPolicy]] = {
    "known": lambda seed: Known(),
    "known-paid-blocks": lambda seed: KnownPaidBlocks(),
    "unknown": lambda seed: Unknown(),
    "unknown, few samples": lambda seed: Unknown(Sampling(0.02, 1)),
    "unknown-learning": lambda seed: UnknownLearning(Sampling(0.3)),
    "fixed fleet": lambda seed: FixedFleet("fleet.2", 0, 2),
    "a2ha": lambda seed: A2ha(A2haSettings(period_s=15)),
    "a2ha, many hosts": lambda seed: A2ha(A2haSettings(1.0, 1.0, 7, 2.0, period_s=1, long_tasks="off")),
    "a2ha, few hosts": lambda seed: A2ha(A2haSettings(0.0, 0.2, 2, long_tasks="total")),
    "a2ha, no new hosts": lambda seed: A2ha(A2haSettings(0.0, 0.0, 3)),
    "anything": Anything,
}


def demand_sound_replay(sampled: SampledJobs, make: Callable[[int], StreamPolicy], seed: int) -> None:
    replay = StreamReplay(sampled, make(seed), record=True)
    outcome = replay.run()
    assert outcome.unfinished_tasks == 0
    assert replay.records is not None
    finished = Counter(record["task"] for record in replay.records if record["event"] == "finish")
    assert finished == Counter(sampled.instance.task_ids)
    shortest_s = sum(min(one for one in row if one is not None) for row in sampled.exact_runtime_s)
    assert outcome.busy_s >= plain(shortest_s)
    prices = {vm_type.name: vm_type.price_usd_per_block for vm_type in sampled.stream.vm_types}
    assert outcome.cost_usd == pytest.approx(sum(prices[name] * count for name, count in outcome.blocks.items()))
    report = audit(stream_trace(replay, outcome), given=sampled.stream)
    assert report.findings == ()
    assert report.cost_usd == pytest.approx(outcome.cost_usd, abs=1e-9)
    assert StreamReplay(sampled, make(seed)).run() == outcome


def demand_sound_stream(seed: int, policy: str) -> None:
    sampled = draw_jobs(random_stream(np.random.default_rng(seed)), seed)
    first = sampled.stream.vm_types[0].name
    one_type_only = policy.startswith(("fixed fleet", "a2ha"))
    if one_type_only and any(first not in app.runtime_s for app in sampled.stream.applications):
        return
    demand_sound_replay(sampled, POLICIES[policy], seed)


class Distrustful(UnknownLearning):
    """Goes through every queue itself."""

    def woken(self, replay: StreamState, datum: int) -> None:
        assert list(replay.alive.values()) == [vm for vm in replay.vms if vm.alive]
        for vm in replay.vms:
            if vm.alive and vm.queue and vm.index not in self.forecast.held_until_s:
                end = self.forecast.next_start(vm)
                late, spare = [], []
                for task in vm.queue:
                    end += self.forecast.left(task, vm)
                    spare.append(self.forecast.units(replay.jobs[replay.job_of[task]].deadline_s) - end)
                    if spare[-1] < 0:
                        late.append(task)
                assert self.forecast.first_late_task(vm) == (late[0] if late else None)
                assert self.forecast.free(vm) == end
                if vm.task is None:
                    assert self.forecast.permissible_delay(vm) == min(spare)
        super().woken(replay, datum)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32))
def test_a_queue_that_is_not_gone_through_has_no_late_task(seed: int) -> None:
    demand_no_late_task(seed)


@soak(100, 500)
def test_queues_of_hundreds_that_are_not_gone_through_have_no_late_task(how_many: int) -> None:
    for seed in range(2 * 10**6, 2 * 10**6 + how_many):
        demand_no_late_task(seed)


def demand_no_late_task(seed: int) -> None:
    sampled = draw_jobs(random_stream(np.random.default_rng(seed)), seed)
    StreamReplay(sampled, Distrustful(Sampling(0.2, 2))).run()


def in_every_period(policy: type[Known]) -> StreamPolicy:
    """Make a policy that performs Algorithm 3 in every period in which tasks wait."""

    class InEveryPeriod(policy):  # type: ignore[misc, valid-type]
        def watch(self, replay: StreamState, idle_until_s: float = 0) -> None:
            super().watch(replay)

    made: StreamPolicy = InEveryPeriod()
    return made


def demand_same_without_idle_periods(seed: int, policy: type[Known]) -> None:
    sampled = draw_jobs(random_stream(np.random.default_rng(seed)), seed)
    told = []
    for one in (policy(), in_every_period(policy)):
        replay = StreamReplay(sampled, one, record=True)
        replay.run()
        told.append([record for record in replay.records or () if record["event"] != "wake"])
    assert told[0] == told[1]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([Known, Unknown, UnknownLearning]))
def test_in_periods_that_are_passed_over_nothing_would_be_moved(seed: int, policy: type[Known]) -> None:
    demand_same_without_idle_periods(seed, policy)


@soak(100, 1000)
def test_soak_of_periods_that_are_passed_over(how_many: int) -> None:
    for seed in range(3 * 10**6, 3 * 10**6 + how_many):
        for policy in (Known, Unknown, UnknownLearning):
            demand_same_without_idle_periods(seed, policy)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(sorted(POLICIES)))
def test_random_streams(seed: int, policy: str) -> None:
    demand_sound_stream(seed, policy)


@soak(50, 200)
@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_soak_of_random_streams(policy: str, how_many: int) -> None:
    for seed in range(10**6, 10**6 + how_many):
        demand_sound_stream(seed, policy)
