"""Classical problems as bags, and the plain model that is their baseline."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from spotbag.core.errors import ModelRefusal
from spotbag.experiments.bags.classical import PLANTED_S, identical_machines, plain_cp_sat, unrelated_machines
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.heuristics.bags.first_plans import first_plan
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.library import library_instance
from spotbag.schedules.method import Incumbent, Run
from spotbag.solvers.bags.route import Facts, _assignment
from spotbag.solvers.bags.solve import solve


@pytest.mark.parametrize(("kind", "longest_s"), [("uniform", 100), ("big", 10_000)])
def test_times_of_identical_machines_are_in_their_range(kind: Any, longest_s: int) -> None:
    bag = identical_machines(2000, 7, kind=kind, seed=1, name="bag")
    times = bag.runtime_s[bag.task_group]
    assert (times.min(), times.shape) == (pytest.approx(1, abs=0.01 * longest_s), (2000, 1))
    assert 0.99 * longest_s <= times.max() <= longest_s
    assert [offer.limit for offer in bag.offers] == [0, 7] or [offer.limit for offer in bag.offers] == [7]


@pytest.mark.parametrize(("n_tasks", "n_machines"), [(10, 3), (100, 25), (23, 4)])
def test_a_planted_bag_fills_all_machines(n_tasks: int, n_machines: int) -> None:
    bag = identical_machines(n_tasks, n_machines, kind="planted", seed=3, name="bag")
    assert bag.n_tasks == n_tasks
    assert bag.runtime_s[bag.task_group].sum() == PLANTED_S * n_machines
    assert bag.runtime_s.min() >= 1


def test_a_planted_optimum_is_found_and_proved() -> None:
    bag = identical_machines(10, 3, kind="planted", seed=1, name="bag")
    result = solve(bag, plain_cp_sat)
    assert (result.status, result.objective, result.bound) == ("optimal", PLANTED_S, pytest.approx(PLANTED_S))


@pytest.mark.parametrize("kind", ["uncorrelated", "jobs", "machines"])
def test_the_plain_model_finds_the_optimum_of_unrelated_machines(kind: Any) -> None:
    bag = unrelated_machines(6, 3, kind=kind, seed=2, name="bag")
    times = bag.runtime_s[bag.task_group]
    ways = (np.array(way) for way in product(range(3), repeat=6))
    best = min(max(times[way == m, m].sum() for m in range(3)) for way in ways)
    result = solve(bag, plain_cp_sat)
    assert (result.status, result.objective) == ("optimal", best)


@pytest.mark.parametrize("seed", range(6))
def test_the_plain_model_agrees_with_intervals_on_vms_of_several_cores(seed: int) -> None:
    """With spot VMs that end before the deadline, and VMs that must boot."""
    bag = generate_instance(
        7,
        catalogue="hads",
        distinct=True,
        limit=1,
        d_spot_fraction=0.6 + 0.1 * (seed % 4),
        seed=seed,
    )
    bag = bag.replace(objective={"goal": "balanced", "cost_weight": 0.0}, limits={}, boot_overhead_s=60, survive="none")
    plain, exact = (solve(bag, method, time_limit_s=60) for method in (plain_cp_sat, "interval"))
    assert (plain.status, plain.objective) == (exact.status, pytest.approx(exact.objective))
    assert exact.status == "optimal"


@pytest.mark.slow
def test_auto_asks_which_core_each_task_is_on_where_the_makespan_alone_counts() -> None:
    """Of 100 jobs on 10 machines, 199 was found and 198 proved, in 10 s."""
    bag = unrelated_machines(40, 5, kind="uncorrelated", seed=4, name="bag")
    result, plain = solve(bag, threads=1), solve(bag, plain_cp_sat)
    assert (result.status, plain.status) == ("optimal", "optimal")
    assert result.objective == plain.objective
    assert "assignment" in [step.name for step in result.steps]


@pytest.mark.slow
def test_what_one_lane_finds_meanwhile_is_no_proof_of_what_another_began_with() -> None:
    """The bound was that of the plan at the beginning, if a better one was the best of all."""
    bag = unrelated_machines(40, 5, kind="uncorrelated", seed=4, name="bag")
    best, first = solve(bag, plain_cp_sat).schedule, first_plan(with_d_spot(bag)).schedule
    assert best is not None
    assert first is not None
    assert first.objective > best.objective
    run = Run(initial=first, incumbent=Incumbent(best))
    outcome = _assignment(Facts(best.instance, run), run)
    assert outcome.bound == pytest.approx(best.objective)


@pytest.mark.parametrize(
    "changes",
    [{"limits": {"max_on_demand": 5}}, {"objective": {"goal": "fastest", "budget_usd": 1.0}}, {"boot_overhead_s": 30}],
)
def test_which_core_each_task_is_on_is_asked_where_that_says_all(changes: dict[str, Any]) -> None:
    bag = with_d_spot(unrelated_machines(60, 8, kind="jobs", seed=4, name="bag").replace(**changes))
    assert Facts(bag, Run()).assignable == ("boot_overhead_s" in changes)


def test_the_plain_model_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ModelRefusal, match="the makespan alone counts"):
        solve(library_instance("tiny/two-cores"), plain_cp_sat)
    with pytest.raises(ModelRefusal, match="at most 2,000,000 pairs"):
        solve(identical_machines(3000, 1000, kind="uniform", seed=1, name="bag"), plain_cp_sat)


@pytest.mark.slow
def test_auto_proves_machine_correlated_bags_of_more_tasks_than_columns_hold() -> None:
    bag = unrelated_machines(60, 4, kind="machines", seed=3, name="bag")
    result, plain = solve(bag, time_limit_s=60), solve(bag, plain_cp_sat)
    assert (result.status, plain.status) == ("optimal", "optimal")
    assert result.objective == plain.objective
