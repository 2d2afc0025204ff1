"""What plain Python and compiled loops make of the rules of a replay is the same: all rows, after each step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.library import library_instance
from spotbag.replay.bags.compiled_engine import CompiledReplays
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.plan import ReplayPlan, replay_plan
from spotbag.replay.bags.policies import find_policy
from spotbag.replay.bags.record import trace_of
from spotbag.solvers.bags.solve import solve
from tests.helpers.back_ends import (
    RULE_POLICIES,
    demand_equal,
    outcome_step_by_step,
    policies_for,
    random_meeting,
    random_replay_plan,
    values_in_python,
)
from tests.helpers.random_days import Anything
from tests.helpers.random_instances import instance_documents
from tests.helpers.soaks import soak, soak_of

BAGS_AND_SEEDS = instance_documents(max_tasks=14, dates=True), st.integers(0, 2**32)


def drawn_plan(document: dict[str, Any], rng: np.random.Generator) -> ReplayPlan:
    plan = random_replay_plan(document, rng)
    assume(plan is not None)
    assert plan is not None
    return plan


# ------------------------------------------------------------------- step by step


def go_step_by_step(document: dict[str, Any], seed: int, policies: tuple[str, ...]) -> None:
    rng = np.random.default_rng(seed)
    plan = drawn_plan(document, rng)
    day, cloud = random_meeting(plan.instance, rng)
    loops = CompiledReplays(plan)
    for policy in policies_for(plan.instance, policies):
        outcome_step_by_step(loops, policy, day, cloud)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(*BAGS_AND_SEEDS)
def test_all_rows_are_the_same_after_each_step(document: dict[str, Any], seed: int) -> None:
    go_step_by_step(document, seed, RULE_POLICIES[-1:])  # one loop to be compiled


@soak_of(*BAGS_AND_SEEDS, sample=10, whole=1000)
def test_all_rows_are_the_same_after_each_step_under_every_policy(document: dict[str, Any], seed: int) -> None:
    go_step_by_step(document, seed, RULE_POLICIES)


@soak(sample=8, whole=400)
def test_all_rows_of_bags_of_the_library_are_the_same(how_many: int) -> None:
    """Under plans that are to survive: there are rescues."""
    rng = np.random.default_rng(0)
    for name in ("hads/J60", "burst-hads/J60", "memory/m30", "memory-bound/60"):
        schedule = solve(library_instance(name), "greedy").schedule
        assert schedule is not None
        loops = CompiledReplays(replay_plan(schedule))
        for number in range(how_many // 4):
            day, cloud = random_meeting(schedule.instance, rng)
            if number % 2:
                day = find_scenario("vms/stormy").day(schedule.instance, 0, number).resolved(cloud)
            for policy in rng.choice(RULE_POLICIES, 3, replace=False):
                assert outcome_step_by_step(loops, str(policy), day, cloud) is not None


def test_a_difference_is_seen() -> None:
    """In a number, in its kind, in what is queued; not in rows that are not in use."""
    schedule = solve(library_instance("tiny/two-cores"), "lpt", survive="none").schedule
    assert schedule is not None
    replay = Replay(replay_plan(schedule), find_policy("hads"))
    replay.step()
    before = values_in_python(replay.state)
    replay.state.idle_now[0] += 1
    demand_equal(before, values_in_python(replay.state))
    for change in (
        lambda r: setattr(r, "steals", 1),
        lambda r: setattr(r.vms[0], "zero_s", r.vms[0].zero_s + 1),
        lambda r: setattr(r.tasks[0], "saved", 0.5),
        lambda r: setattr(r.cores[0][1], "last", 2),
        lambda r: r.queue.pop(),
        lambda r: r.helpers.append(1),
    ):
        other = replay.copy()
        change(other.state)
        with pytest.raises(pytest.fail.Exception):
            demand_equal(before, values_in_python(other.state))
    for wrong in (
        lambda r: setattr(r, "now_s", float(r.now_s)),
        lambda r: setattr(r, "woken", False),
        lambda r: setattr(r.tasks[0], "saved", 0),
        lambda r: r.helpers.append(1.0),
    ):
        other = replay.copy()
        wrong(other.state)
        with pytest.raises(AssertionError):
            values_in_python(other.state)


# ------------------------------------------------------------------------ records


def demand_the_same_records(document: dict[str, Any], seed: int, policies: tuple[str, ...]) -> None:
    rng = np.random.default_rng(seed)
    plan = drawn_plan(document, rng)
    day, cloud = random_meeting(plan.instance, rng)
    loops = CompiledReplays(plan)
    for policy in policies_for(plan.instance, policies):
        replay = Replay(plan, find_policy(policy), day, cloud, record=True)
        outcome = replay.run()
        found = loops.recorded(find_policy(policy), day, cloud)
        assert found is not None
        assert found[0] == outcome
        traces = [trace_of(state, day, cloud, outcome) for state in (found[1], replay.state)]
        # As text, as 1, 1.0 and True are the same else.
        first, second = ([json.dumps(part) for part in (trace.run, trace.events, trace.end)] for trace in traces)
        assert first == second


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(*BAGS_AND_SEEDS)
def test_compiled_loops_keep_the_same_record(document: dict[str, Any], seed: int) -> None:
    demand_the_same_records(document, seed, ("hads",))


@soak_of(*BAGS_AND_SEEDS, sample=40, whole=2000)
def test_compiled_loops_keep_the_same_record_of_every_policy(document: dict[str, Any], seed: int) -> None:
    demand_the_same_records(document, seed, RULE_POLICIES)


# -------------------------------------------------------------------------- copies


ANY_POLICY = st.sampled_from([*RULE_POLICIES, "anything"])


def demand_independent_copies(document: dict[str, Any], seed: int, chosen: str) -> None:
    """Copy a replay at some moment: whichever goes on leaves the other as it is, and both come to the same end."""
    rng = np.random.default_rng(seed)
    plan = drawn_plan(document, rng)
    day, cloud = random_meeting(plan.instance, rng)
    assume(policies_for(plan.instance, [chosen]))
    policy = Anything(seed, preempts=True) if chosen == "anything" else find_policy(chosen)
    replay = Replay(plan, policy, day, cloud, record=True)
    for _ in range(int(rng.integers(40))):
        replay.step()
    before, twin = all_of(replay), replay.copy()
    assert all_of(twin) == before
    outcome, after = twin.run(), all_of(twin)
    assert all_of(replay) == before
    twin = replay.copy()
    assert replay.run() == outcome
    assert all_of(replay) == after
    assert all_of(twin) == before
    assert twin.run() == outcome
    assert all_of(twin) == after


def all_of(replay: Replay) -> tuple[Any, ...]:
    state = replay.state
    return values_in_python(state), state.records, state.bills(), [(vm.running, vm.waiting) for vm in state.vms]


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(*BAGS_AND_SEEDS, ANY_POLICY)
def test_a_copy_goes_on_by_itself(document: dict[str, Any], seed: int, policy: str) -> None:
    demand_independent_copies(document, seed, policy)


@soak_of(*BAGS_AND_SEEDS, ANY_POLICY, sample=100, whole=10_000)
def test_thousands_of_copies_go_on_by_themselves(document: dict[str, Any], seed: int, policy: str) -> None:
    demand_independent_copies(document, seed, policy)


# ------------------------------------------------------------------- checked bounds


@pytest.mark.slow
def test_no_loop_reaches_beyond_its_tables(tmp_path: Path) -> None:
    """In a process whose loops are compiled to look at each number of a row; what others keep is not for them."""
    # Compiled without optimisation, which takes longer than the days.
    checked = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_OPT": "0", "NUMBA_CACHE_DIR": str(tmp_path)}
    run = [sys.executable, "-m", "tests.helpers.checked_bounds"]
    done = subprocess.run(run, cwd=Path(__file__).parents[3], env=checked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
