"""Uniform Progress and its greedy baseline, against a simulator by ticks, and against what can be had at all."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from spotbag.core.errors import InputError, SpotbagError
from spotbag.replay.bags.policies import find_policy
from spotbag.replay.bags.policies.uniform_progress import GreedySpot, TimeSliced, UniformProgress
from spotbag.replay.bags.runs import replay_day, trace_day
from spotbag.solvers.bags.solve import solve
from spotbag_papers.bags.uniform_progress.job import (
    Job,
    day_of,
    drawn_trace,
    optimum,
    ran,
    recorded_trace,
    replayed,
    sliced,
    windows,
)
from tests.helpers import tick_simulator
from tests.helpers.audited_traces import found
from tests.helpers.soaks import soak
from tests.helpers.tick_simulator import ON_DEMAND, SPOT, Ran, simulate

HOUR_S = 3600


def simulated(job: Job, available: Sequence[bool], slices: int = 0) -> Ran:
    rules = tick_simulator.Job(job.work_s, job.deadline_s, job.changeover_s, job.tick_s)
    return simulate(rules, list(available), slices)


def usd(job: Job, ran: Ran) -> float:
    return (ran.spot_ticks * job.spot_usd + ran.on_demand_ticks * job.on_demand_usd) * job.tick_s / HOUR_S


def random_case(rng: random.Random) -> tuple[Job, np.ndarray]:
    """A job that can be done in time on demand, with times of all kinds, and a trace."""
    tick_s = rng.choice([60, 300, 600, 601, 7])
    work_s = tick_s * rng.randint(5, 200) + rng.choice([0, 0, 1, -1, 30])
    delay_s = rng.choice([0, 1, tick_s // 2, tick_s, tick_s + 1, 2 * tick_s + 5, rng.randint(0, 3 * tick_s)])
    slack_s = tick_s * rng.randint(1, 100) + rng.choice([0, 1, tick_s - 1])
    # In whole ticks: the last one may be cut short by the deadline.
    deadline_s = -(-(work_s + delay_s) // tick_s) * tick_s + slack_s
    job = Job(work_s, deadline_s, delay_s, tick_s)
    availability = rng.choice([0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98])
    return job, drawn_trace(availability, job.ticks + 1, rng.randrange(10**6))


def look_at(seed: int) -> None:
    """The replay of a random case is that of the simulator, to the cent; nobody is late, or cheaper than possible."""
    job, available = random_case(random.Random(f"uniform progress {seed}"))
    policies = [(UniformProgress(tick_s=job.tick_s), 0), (GreedySpot(tick_s=job.tick_s), 1)]
    policies += [(TimeSliced(tick_s=job.tick_s, slices=n), n) for n in (1, 2 + seed % 20)]
    for policy, slices in policies:
        ran = simulated(job, available.tolist(), slices)
        outcome = replayed(job, available, policy)
        assert outcome.makespan_s == ran.end_s, (job, seed)
        assert abs(outcome.cost_usd - usd(job, ran)) < 1e-6, (job, seed)
        assert ran.end_s <= job.deadline_s, (job, seed)
        delays = ran.changeovers * -(-job.changeover_s // job.tick_s)
        assert ran.spot_ticks + ran.on_demand_ticks <= -(-job.work_s // job.tick_s) + delays + ran.changeovers


@pytest.mark.slow
def test_the_replay_is_the_simulator_to_the_cent() -> None:
    for seed in range(12):
        look_at(seed)


@soak(100, 20_000)
def test_the_replay_is_the_simulator_to_the_cent_in_thousands(how_many: int) -> None:
    for seed in range(how_many):
        look_at(seed)


@pytest.mark.parametrize(("deadline_h", "delay_h"), [(52, 0.05), (52, 0.2), (70, 0.05), (70, 0.2)])
def test_the_jobs_of_the_table_cost_what_the_simulator_says(deadline_h: int, delay_h: float) -> None:
    job = Job(48 * HOUR_S, deadline_h * HOUR_S, round(delay_h * HOUR_S))
    available = drawn_trace(0.5, job.ticks, 3)
    best = optimum(job, available).cost_usd
    for policy, slices in ((UniformProgress(), 0), (GreedySpot(), 1), (TimeSliced(), 10)):
        ran = simulated(job, available.tolist(), slices)
        outcome = replayed(job, available, policy)
        assert round(outcome.cost_usd, 6) == round(usd(job, ran), 6)
        assert best <= outcome.cost_usd + 1e-9
        assert outcome.meets_deadline


def test_a_job_by_hand() -> None:
    """Ten ticks of work in 20, so that half a tick is due for each; a changeover takes half a tick, too.

    0: spot. 2: none; 1.5 are done, 1 is due, so nothing is bought; nor at 3, where 1.5 are due. 4: 2 are due.
    6: spot VMs are back; 3 are done, and 3.5 must be to change. 7: 4 are done, and more than 4 must be. 8: 5 are
    done, more than 4.5 must be: spot, where the 5 that are left take half a tick more, until 13.5.
    """
    job = Job(6_000, 12_000, 300)
    available = np.array([True] * 2 + [False] * 4 + [True] * 14)
    assert simulated(job, available.tolist()) == Ran(spot_ticks=8, on_demand_ticks=4, end_s=8_100, changeovers=3)
    outcome = replayed(job, available, UniformProgress())
    assert outcome.makespan_s == 8_100
    assert outcome.cost_usd == pytest.approx((8 * job.spot_usd + 4 * job.on_demand_usd) / 6)


def brute_force_usd(job: Job, available: Sequence[bool]) -> float:
    """The least cost over all choices at all ticks."""
    least = math.inf
    price = {SPOT: job.spot_usd, ON_DEMAND: job.on_demand_usd}
    for choices in itertools.product(range(3), repeat=len(available)):
        done_s = pending_s = paid = 0.0
        before = 0
        for tick, (on, spot) in enumerate(zip(choices, available, strict=True)):
            if on == SPOT and not spot:
                break
            pending_s = job.changeover_s if on != before else pending_s
            before = on
            if on:
                paid += price[on] * job.tick_s / HOUR_S
                done_s += max(job.tick_s - pending_s, 0)
                pending_s = max(pending_s - job.tick_s, 0)
                if done_s >= job.work_s:
                    least = min(least, paid) if tick < job.ticks else least
                    break
    return least


def test_the_optimum_is_the_best_of_all_choices() -> None:
    rng = random.Random("optimum")
    for _ in range(12):
        ticks = rng.randint(4, 7)
        job = Job(rng.randint(1, 20) * 60, ticks * 300, rng.choice([0, 60, 300, 360, 420]), 300)
        available = np.array([rng.random() < 0.6 for _ in range(ticks)])
        assert optimum(job, available).cost_usd == pytest.approx(brute_force_usd(job, available.tolist()))


def test_no_policy_is_cheaper_than_the_optimum_or_dearer_than_it_must() -> None:
    for seed, availability in enumerate((0.1, 0.3, 0.5, 0.7, 0.9)):
        job = Job(4 * HOUR_S, 6 * HOUR_S, 180)
        available = drawn_trace(availability, job.ticks, seed)
        best = optimum(job, available).cost_usd
        costs = [replayed(job, available, policy).cost_usd for policy in (UniformProgress(), GreedySpot())]
        assert best <= min(costs) + 1e-9


@pytest.mark.parametrize(
    "policy", ["uniform-progress", "greedy-spot", "uniform-progress+tick-60", "time-sliced+slices-5"]
)
def test_the_auditor_agrees(policy: str) -> None:
    job = Job(4 * HOUR_S, 6 * HOUR_S, 180)
    for seed in range(3):
        day = day_of(drawn_trace(0.5, job.ticks, seed), job.tick_s)
        outcome, trace = trace_day(job.plan, policy, day, cloud=job.cloud)
        assert outcome.meets_deadline
        assert found(trace) == {}


@pytest.mark.parametrize("cloud", ["papers", "aws-terminate", "aws-stop", "gcp"])
def test_clouds_that_stop_or_hibernate_are_met_as_well(cloud: str) -> None:
    job = Job(4 * HOUR_S, 6 * HOUR_S, 180)
    for seed in range(5):
        day = day_of(drawn_trace(0.5, job.ticks, seed), job.tick_s)
        for policy in ("uniform-progress", "greedy-spot"):
            assert replay_day(job.plan, policy, day, cloud=cloud).meets_deadline


def test_a_plan_on_demand_binds_nobody() -> None:
    """A job that a method plans on an on-demand VM is on a spot VM from the start."""
    job = Job(4 * HOUR_S, 6 * HOUR_S, 180)
    plan = solve(job.plan.instance.replace(d_spot_s=None), "greedy").schedule
    assert plan is not None
    assert not plan.instance.offer_is_spot[plan.vm_offer].any()
    outcome = replay_day(plan, "uniform-progress", day_of(np.ones(job.ticks, dtype=bool), job.tick_s), cloud=job.cloud)
    # 24 ticks of work, and three minutes.
    assert outcome.cost_usd == pytest.approx(25 * job.spot_usd / 6)


def test_bags_that_are_no_job_are_refused() -> None:
    job = Job(HOUR_S, 2 * HOUR_S, 60)
    instance = job.plan.instance.replace(checkpoint=None)
    plan = solve(instance, "greedy").schedule
    assert plan is not None
    with pytest.raises(SpotbagError, match="is for one task with checkpoints"):
        replay_day(plan, "uniform-progress")


def test_ticks_are_whole_seconds() -> None:
    with pytest.raises(InputError, match="whole number of seconds"):
        GreedySpot(tick_s=0)
    assert find_policy("uniform-progress+tick-60").name == "uniform-progress+tick-60"


def test_recorded_traces_are_cut_into_windows_from_the_first_to_the_last(tmp_path: Path) -> None:
    path = tmp_path / "zone.json"
    path.write_text(json.dumps({"metadata": {"gap_seconds": 600}, "data": [0, 1, 1, 0, 0, 0, 1, 0]}))
    found = windows(recorded_trace(path, "preempted", Job(600, 5 * 600, 0)), ticks=4, runs=2)
    assert [window.tolist() for window in found] == [[True, False, False, True], [True, True, False, True]]
    whole = recorded_trace(path, "preempted", Job(600, 8 * 600, 0))
    assert windows(whole, ticks=8, runs=1)[0].tolist() == whole.tolist()
    with pytest.raises(InputError, match="by 300 s, of at least 8 entries"):
        recorded_trace(path, "preempted", Job(600, 8 * 300, 0, tick_s=300))
    with pytest.raises(InputError, match="of at least 9 entries"):
        recorded_trace(path, "preempted", Job(600, 9 * 600, 0))


def test_hours_of_work_leave_changeovers_out() -> None:
    """The job by hand: 2 and 2.5 ticks on spot VMs, less half a tick each time, 4 on demand, of which half is lost."""
    job = Job(6_000, 12_000, 300)
    available = np.array([True] * 2 + [False] * 4 + [True] * 14)
    found = ran(job, replayed(job, available, UniformProgress()))
    assert found.spot_h + found.on_demand_h == pytest.approx(6_000 / HOUR_S)
    assert found.on_demand_h == pytest.approx(3.5 * 600 / HOUR_S)


def test_the_optimum_works_as_long_as_the_job_takes() -> None:
    for seed in range(5):
        job = Job(4 * HOUR_S, 5 * HOUR_S, 720)
        available = drawn_trace(0.5, job.ticks, seed)
        found = optimum(job, available)
        assert found.spot_h + found.on_demand_h == pytest.approx(4)
        # Each market is paid for by the tick, changeovers included.
        assert found.cost_usd >= job.spot_usd * found.spot_h + job.on_demand_usd * found.on_demand_h - 1e-9
    nothing = optimum(job, np.zeros(job.ticks, dtype=bool))
    assert (nothing.spot_h, nothing.on_demand_h) == (0, 4)
    assert optimum(Job(4 * HOUR_S, 4 * HOUR_S, 60), available).cost_usd == math.inf


def test_time_sliced_to_the_letter_is_the_simulator() -> None:
    for seed in range(30):
        job, available = random_case(random.Random(f"slices {seed}"))
        slices = 1 + seed % 7
        rules = tick_simulator.Job(job.work_s, job.deadline_s, job.changeover_s, job.tick_s)
        expected = simulate(rules, available.tolist(), slices, waits=True)
        found = sliced(job, available.tolist(), slices)
        assert found.cost_usd == pytest.approx(usd(job, expected))
        assert not found.late
        assert expected.end_s <= job.deadline_s
        assert found.spot_h + found.on_demand_h == pytest.approx(job.work_s / HOUR_S)
