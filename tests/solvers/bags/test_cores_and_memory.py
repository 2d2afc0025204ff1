"""Bags whose tasks need different numbers of cores, on VMs whose memory may bind beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spotbag.audits.auditor import audit
from spotbag.audits.bags.plan import check
from spotbag.bounds.bags.configuration_bound import configuration_bound
from spotbag.bounds.bags.divisible_bound import divisible_bound
from spotbag.core.errors import ModelRefusal
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.bags.timeline import Timeline
from spotbag.instances.clouds import PAPERS
from spotbag.instances.instance import Instance
from spotbag.replay.bags.compiled_engine import CompiledReplays
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.plan import replay_plan
from spotbag.replay.bags.policies import find_policy
from spotbag.replay.bags.record import trace_of
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.state import State
from spotbag.solvers.bags.methods import METHODS
from spotbag.solvers.bags.replan import replan
from spotbag.solvers.bags.solve import solve
from tests.helpers.exhaustive import tiny_optimum
from tests.helpers.soaks import some
from tests.helpers.tiny_instances import FAMILIES, tiny_instance

USD_PER_S = 0.001


def bag(*kinds: tuple[int, int, int], deadline_s: int = 1000, **fields: Any) -> Instance:
    """Tasks of 10 s by kinds, as cores, MB and number of them, for VMs of four cores and 4,096 MB."""
    offers = {"on-demand": {"price_usd_per_hour": 3600 * USD_PER_S, "limit": 3}}
    tasks = [
        {"id": f"{cores}x{mb}", "cores": cores, "memory_mb": mb, "base_runtime_s": 10, "count": count}
        for cores, mb, count in kinds
    ]
    types = [{"name": "v", "vcpus": 4, "memory_mb": 4096, "offers": offers}]
    document = {"name": "both", "deadline_s": deadline_s, "vm_types": types, "tasks": tasks}
    return Instance.from_document({"format": "spotbag.instance/1"} | document | fields, "test")


# A task of one core and 3,000 MB leaves room for one of three cores and 1,000 MB, and for none of its own kind.
COMPLEMENTS = bag((1, 3000, 2), (3, 1000, 2))


@pytest.mark.parametrize("method", ["columns", "interval", "time-indexed", "auto", "search"])
def test_tasks_that_leave_room_for_each_other_run_together(method: str) -> None:
    result = solve(COMPLEMENTS, method)
    assert result.schedule is not None
    assert result.schedule.cost_usd == pytest.approx(20 * USD_PER_S)
    assert result.status == "optimal"


@pytest.mark.parametrize("kinds", [((1, 3000, 2), (2, 100, 1)), ((3, 100, 2), (1, 3900, 1), (1, 200, 1))])
def test_where_one_of_both_is_short_tasks_wait(kinds: tuple[tuple[int, int, int], ...]) -> None:
    # Of two tasks of 3,000 MB, or of three cores, one waits for the other; the others run beside them.
    instance = bag(*kinds)
    assert instance.slots.beside_memory
    for method in ("columns", "interval", "time-indexed"):
        result = solve(instance, method)
        assert (result.objective, result.status) == (pytest.approx(20 * USD_PER_S), "optimal")


def test_a_task_of_much_memory_runs_beside_one_of_many_cores() -> None:
    """Each needs more than half of one quantity: no two of the same kind run together, and one of each does."""
    instance = bag((1, 3000, 1), (3, 900, 1), deadline_s=10)
    for method in ("columns", "interval", "time-indexed"):
        assert solve(instance, method).objective == pytest.approx(10 * USD_PER_S)


def test_bounds_know_both() -> None:
    # Memory alone takes 3,500 MB for 80 s; cores alone four for 60 s: together two cannot share a VM.
    instance = with_d_spot(bag((1, 2100, 4), (3, 2000, 4)))
    divisible = divisible_bound(instance).objective
    assert divisible == pytest.approx(4 * (2100 + 2000) * 10 / 4096 * USD_PER_S)
    assert configuration_bound(instance).objective == pytest.approx(80 * USD_PER_S)
    assert divisible_bound(with_d_spot(bag((1, 2100, 1), (4, 10, 4)))).objective == pytest.approx(42.5 * USD_PER_S)


def test_models_of_single_cores_refuse_both() -> None:
    for method in ("patterns", "class-programme"):
        with pytest.raises(ModelRefusal, match="different numbers of cores"):
            solve(COMPLEMENTS, method)


@pytest.mark.parametrize(("starts_s", "rule"), [([0, 0, 10, 20], "memory"), ([0, 10, 20, 20], "core")])
def test_the_checker_counts_both(starts_s: list[int], rule: str) -> None:
    cores = np.array([0, 3, 0, 3])
    plan = Schedule(COMPLEMENTS, np.array([0]), np.zeros(4, int), cores, np.array(starts_s), np.zeros(4, bool))
    assert {violation.rule for violation in check(COMPLEMENTS, plan).violations} == {rule}


@pytest.mark.parametrize("seed", some(range(4), fast=1))
def test_heuristics_are_no_better_than_the_best_plan_and_replays_are_the_plan(seed: int) -> None:
    instance = tiny_instance(seed, **FAMILIES["cores and memory"]).replace(survive="none")
    best = tiny_optimum("cores and memory", seed)
    assert instance.slots.beside_memory
    for name, method in METHODS.items():
        if method.exact:
            continue
        plan = solve(instance, name).schedule
        if plan is None:
            continue
        assert best is not None
        assert plan.objective >= best.objective * (1 - 1e-9), name
        assert not check(instance, plan).violations, name
        tables = replay_plan(plan)
        replay = Replay(tables, find_policy("static"), record=True)
        outcome = replay.run()
        assert (outcome.cost_usd, outcome.makespan_s) == (pytest.approx(plan.cost_usd, rel=1e-9), plan.makespan_s)
        assert CompiledReplays(tables).outcome(find_policy("static"), Timeline(), PAPERS) == outcome
        assert audit(trace_of(replay.state, replay.day, PAPERS, outcome), given=plan.instance).findings == ()


def test_what_a_state_leaves_keeps_both() -> None:
    """A task of three cores runs beside one of 3,000 MB that runs already, and another one waits for its memory."""
    instance = bag((1, 3000, 2), (3, 1000, 1), survive="none", limits={"max_on_demand": 1})
    running = {
        "id": "m",
        "type": "v",
        "market": "on-demand",
        "running": [{"task": "1x3000#1", "core": 0, "start_s": 0}],
    }
    state = State(instance="both", time_s=5, vms=[running])
    left = state.remaining(instance)
    assert left.slots.beside_memory
    plan = replan(instance, state, iterations=1000).schedule
    assert plan is not None
    assert not check(plan.instance, plan).violations
    ends_s = dict(zip(plan.instance.task_ids, plan.task_end_s.tolist(), strict=True))
    assert ends_s["3x1000"] == 10  # at once, beside what runs
    assert ends_s["1x3000#2"] == 15  # once its memory is free


def test_what_a_state_leaves_of_one_kind_has_one_quantity() -> None:
    instance = bag((1, 3000, 2), (3, 1000, 1), survive="none")
    done = State(instance="both", time_s=5, vms=[], done=["3x1000"])
    left = done.remaining(instance)
    assert not left.slots.shared
    assert left.memory_kb.tolist() == [3000 * 1024] * 2
