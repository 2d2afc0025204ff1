"""Plans and replays of streams have the same times, without rounding, wherever the clock begins."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.audits.auditor import audit
from spotbag.instances.streams.stream import Stream
from spotbag.instances.streams.stream_files import library_stream, stream_of_run_times
from spotbag.models.streams.sizing import problem_of_job
from spotbag.replay.streams.engine import StreamReplay
from spotbag.replay.streams.outcome import StreamOutcome
from spotbag.replay.streams.policies.forecast import Forecast
from spotbag.replay.streams.policies.known import Known
from spotbag.replay.streams.policies.unknown import Sampling
from spotbag.replay.streams.runs import replay_stream_once
from spotbag.replay.streams.state import StreamPolicy, StreamState
from spotbag.solvers.streams.sizing import size_job
from spotbag.traces.files import parse_traces, trace_lines
from spotbag.traces.stories import describe_trace
from spotbag.traces.trace import Trace
from tests.helpers.random_streams import random_stream
from tests.helpers.soaks import soak
from tests.helpers.tiny_streams import sampled, stream

POLICIES = ("known", "known-paid-blocks", "unknown", "unknown-learning")


def replayed(jobs: Stream, policy: str, seed: int = 0) -> tuple[StreamOutcome, Trace]:
    return replay_stream_once(jobs, policy, seed, sampling=Sampling(0.3, 3))


def moved(jobs: Stream, by_s: int) -> Stream:
    """The same jobs on a clock that began earlier by so much."""
    later = [{"submitted_s": job.submitted_s + by_s, "deadline_s": job.deadline_s + by_s} for job in jobs.jobs]
    return jobs.replace(jobs=[job.model_copy(update=times) for job, times in zip(jobs.jobs, later, strict=True)])


def test_parts_of_a_second_are_planned_and_replayed_alike() -> None:
    # 300 tasks a minute fit a VM: 1,000 need 4 VMs, which run 250 each, to 50 s. As tasks of a second they cost 20.
    jobs = stream([("j", "a", 0, 60, 1000)], {"a": {"small": 0.2}}, block_s=60, creation_overhead_s=0)
    sizing = size_job(problem_of_job(jobs, jobs.jobs[0]))
    outcome, _ = replayed(jobs, "known")
    assert sizing.cost_usd == outcome.cost_usd == 4
    assert (outcome.late_tasks, outcome.makespan_s, outcome.busy_s) == (0, 50, 200)


def test_a_list_of_half_seconds_takes_half_of_so_many_seconds(tmp_path: Path) -> None:
    # 3,600 tasks of 0.5 s after 300 s of boot: to 2,100 s, one hour paid. As tasks of a second: 3,900 s, two hours.
    path = tmp_path / "half.txt"
    path.write_text("0.5\n" * 3600)
    outcome, _ = replayed(stream_of_run_times(path), "host.1")
    assert (outcome.cost_usd, outcome.makespan_s, outcome.late_tasks) == (1, 2100, 0)


TIE: dict[str, Any] = {
    "name": "tie",
    "block_s": 600,
    "creation_overhead_s": 15,
    "vm_types": [{"name": "t0", "price_usd_per_block": 1}],
    "applications": [
        {
            "name": "a0",
            "runtime_s": {
                "t0": {
                    "sequence_s": [
                        *(66.2, 39.0, 44.4, 36.9, 48.3, 57.4, 14.6, 7.7, 10.5, 27.8, 31.6, 34.0, 1.5, 23.2, 37.9),
                        *(74.1, 14.8, 15.6, 71.5, 38.2, 9.3, 39.7, 14.3, 23.8, 11.8, 80.0, 45.4, 41.6, 22.6, 19.0),
                    ]
                }
            },
        }
    ],
    "jobs": [
        {"id": "j0", "application": "a0", "submitted_s": 286, "deadline_s": 770, "n_tasks": 8},
        {"id": "j1", "application": "a0", "submitted_s": 0, "deadline_s": 474, "n_tasks": 11},
        {"id": "j2", "application": "a0", "submitted_s": 0, "deadline_s": 295, "n_tasks": 6},
    ],
}
"""Of all run times, 1001.7 / 30 = 33.39 s is the mean: sums of it, in floating-point numbers, decide for a third VM."""


@pytest.mark.parametrize("by_s", [0, 1, 1_000_003, 1_766_000_000])
def test_no_noise_decides_between_equals(by_s: int) -> None:
    outcome, _ = replayed(moved(Stream(**TIE), by_s), "known")
    assert outcome.cost_usd == 2


def test_the_published_stream_without_noise() -> None:
    # 6 blocks of 0.073, 10 of 0.146 and 4 of 0.293; one m3.large more where sums of floats decided.
    outcome, _ = replay_stream_once(library_stream("thai/table2"), "unknown", 0)
    assert outcome.blocks == {"m3.medium": 6, "m3.large": 10, "m3.xlarge": 4}
    assert outcome.cost_usd == pytest.approx(3.07, abs=1e-12)


def test_what_is_free_exactly_at_a_deadline_is_not_late() -> None:
    # Ten tasks of 0.1 s on a VM that is ready at 10 end at 11, which sums of 0.1 in floats miss.
    jobs = stream([("j1", "a", 0, 11, 10), ("j2", "a", 0, 12, 10)], {"a": {"small": 0.1}})
    outcome, _ = replayed(jobs, "known")
    assert (outcome.cost_usd, outcome.makespan_s, outcome.late_tasks) == (1, 12, 0)


def test_the_length_of_a_sampling_phase_is_exact() -> None:
    # 0.07 of 100 s are 7 s, in floats 7.000000000000001, which is rounded up to 8.
    jobs = stream([("j", "a", 0, 100, 20)], {"a": {"small": 5}}, creation_overhead_s=0)
    _, trace = replay_stream_once(jobs, "unknown", 0, sampling=Sampling(0.07, 10))
    assert next(event["t"] for event in trace.events if event["event"] == "suspend") == 7


def demand_the_same_wherever_the_clock_begins(seed: int) -> None:
    rng = np.random.default_rng(seed)
    jobs = random_stream(rng)
    policy = POLICIES[seed % len(POLICIES)]
    outcome, trace = replayed(jobs, policy, seed)
    for by_s in (1, int(rng.integers(2, 1000)), 1_766_000_000 + int(rng.integers(10**6))):
        other, other_trace = replayed(moved(jobs, by_s), policy, seed)
        assert other == outcome
        assert (other_trace.events, other_trace.end) == (trace.events, trace.end)


@given(st.integers(0, 10**9))
@settings(max_examples=12, deadline=None)
def test_the_clock_may_begin_at_any_time(seed: int) -> None:
    demand_the_same_wherever_the_clock_begins(seed)


@soak(40, 4000)
def test_the_clock_may_begin_at_any_time_on_many_streams(how_many: int) -> None:
    for seed in range(how_many):
        demand_the_same_wherever_the_clock_begins(seed)


def test_a_fixed_fleet_is_paid_from_the_first_arrival() -> None:
    # Six tasks of 20 s on a VM that is ready at 10 end at 130: two blocks of 100 s, whatever the clock says.
    jobs = stream([("j", "a", 1_000_000, 1_000_100, 6)], {"a": {"small": 20}})
    outcome, _ = replayed(jobs, "small.1")
    assert (outcome.blocks, outcome.makespan_s, outcome.late_tasks) == ({"small": 2}, 130, 2)
    assert outcome.jobs[0].deadline_s == 100


def test_a_finished_task_changes_one_row_for_all_jobs_of_its_application() -> None:
    jobs = stream([(f"j{n}", "ab"[n % 2], n, n + 500, 1) for n in range(6)], {"a": {"small": 5}, "b": {"small": 3}})
    forecast = Forecast(StreamReplay(sampled(jobs), Known()))
    forecast.learn("a", [Fraction(10, 3)])
    forecast.learn("b", [Fraction(9, 4)])
    assert forecast.runtimes(0) is forecast.runtimes(2) is forecast.runtimes(4)
    assert (forecast.units_per_s, forecast.runtimes(0), forecast.runtimes(1)) == (12, [40], [27])
    forecast.learn("a", [Fraction(7, 2)])
    assert (forecast.units_per_s, forecast.runtimes(0), forecast.runtimes(1)) == (4, [14], [9])
    assert forecast.runtimes(0) is forecast.runtimes(4)


class Halves(StreamPolicy):
    """Wakes at parts of a second, and suspends what runs."""

    name = "halves"

    def submitted(self, replay: StreamState, job: int) -> None:
        vm = replay.start_vm(0)
        for task in replay.sampled.tasks(job):
            replay.assign(task, vm)
        replay.wake_at(10.75)

    def woken(self, replay: StreamState, datum: int) -> None:
        replay.suspend(replay.vms[0])


def halves(jobs: Stream) -> tuple[StreamOutcome, Trace]:
    return replay_stream_once(jobs, Halves)


def test_what_is_suspended_within_a_second_goes_on_there() -> None:
    # Ready at 10; suspended at 10.75 after 0.75 s, 0.55 s are left: 11.3, and 12.6 for the second.
    jobs = stream([("j", "a", 0, 12, 2)], {"a": {"small": 1.3}})
    outcome, trace = halves(jobs)
    assert (outcome.makespan_s, outcome.late_s, outcome.busy_s) == (12.6, 0.6, 2.6)
    assert [event["t"] for event in trace.events if event["event"] == "finish"] == [11.3, 12.6]
    assert [event["duration_s"] for event in trace.events if event["event"] == "start"] == [1.3, 0.55, 1.3]
    story = "\n".join(describe_trace(trace))
    assert "small-1 suspends j#1 after 0.75 s" in story
    assert "j is done, 0.6 s after its deadline" in story


def read_again(trace: Trace) -> Trace:
    (read,) = parse_traces("\n".join(trace_lines([trace])), "trace")
    return read


def changed(trace: Trace, kind: str, **fields: Any) -> Trace:
    """The trace with another value in the first event of a kind."""
    place = next(place for place, event in enumerate(trace.events) if event["event"] == kind)
    events: Sequence[dict[str, Any]] = trace.events
    return Trace(trace.instance, trace.run, [*events[:place], events[place] | fields, *events[place + 1 :]], trace.end)


def test_the_auditor_counts_parts_of_a_second_without_rounding() -> None:
    jobs = stream([("j", "a", 0, 12, 2)], {"a": {"small": 1.3}})
    outcome, trace = halves(jobs)
    report = audit(read_again(trace), given=jobs)
    assert (report.findings, report.makespan_s, report.cost_usd) == ((), 12.6, outcome.cost_usd)
    off = audit(changed(trace, "finish", t=11.300001))
    assert ("run-time", 1e-06) in [(finding.rule, finding.amount) for finding in off.findings]
    assert "11.300001 s, 1e-06 s too late: it takes 0.55 s" in off.findings[0].message
    longer = audit(changed(trace, "start", duration_s=1.300001))
    assert "for 1.300001 s, it takes 1.3 s there" in longer.findings[0].message


def demand_exact_sums(seed: int) -> None:
    """Busy time is the sum of the run times where nothing is done twice."""
    rng = np.random.default_rng(seed)
    seconds = [round(float(one), int(rng.integers(0, 7))) + 1e-6 for one in rng.uniform(0, 9, 12)]
    jobs = Stream(
        name="sums",
        block_s=int(rng.integers(1, 50)),
        creation_overhead_s=int(rng.integers(0, 9)),
        vm_types=[{"name": "small", "price_usd_per_block": 1}],
        applications=[{"name": "a", "runtime_s": {"small": {"sequence_s": seconds}}}],
        jobs=[
            {"id": f"j{n}", "application": "a", "submitted_s": 9 * n, "deadline_s": 9 * n + 30, "n_tasks": 12}
            for n in range(3)
        ],
    )
    outcome, trace = replayed(jobs, "known")
    exact_s = 3 * sum((Fraction(round(one * 10**6), 10**6) for one in seconds), Fraction())
    assert Fraction(repr(outcome.busy_s)) == exact_s
    assert audit(read_again(trace), given=jobs).findings == ()


def test_blocks_of_a_second_are_paid_as_wholes() -> None:
    demand_exact_sums(63991963)


@given(st.integers(0, 10**9))
@settings(max_examples=10, deadline=None)
def test_busy_time_is_the_sum_of_the_run_times(seed: int) -> None:
    demand_exact_sums(seed)
