"""First plans: with the least rent where the cost alone counts; in lanes, and by which moment they end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spotbag.audits.bags.plan import check
from spotbag.bounds.bags.divisible_bound import divisible_bound
from spotbag.core.limits import LimitReached, within
from spotbag.heuristics.bags import first_plans
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.heuristics.bags.first_plans import first_plan, lanes_plan, least_rent_start
from spotbag.heuristics.bags.start_kernel import filled_cores
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.bags.goals import cheapest_by
from spotbag.solvers.bags.solve import solve

TYPES = (("two", 2, 0.096), ("four", 4, 0.17), ("eight", 8, 0.40))
MARKETS = {"spot": 0.35, "on-demand": 1.0}


def distinct_bag(n_tasks: int, *, limit: int, hours: float = 12, own_speeds: bool = False, seed: int = 7) -> Instance:
    """Tasks of 60 to 900 s, on three types of 2, 4 and 8 cores, in both markets."""
    rng = np.random.default_rng(seed)
    seconds = rng.integers(60, 901, n_tasks)
    factors = rng.uniform(0.7, 1.3, (3, n_tasks)) if own_speeds else np.ones((3, n_tasks))
    runtimes = np.maximum(np.rint(seconds * factors), 1).astype(int)
    offers = [
        {market: {"price_usd_per_hour": round(price * share, 5), "limit": limit} for market, share in MARKETS.items()}
        for _, _, price in TYPES
    ]
    document: dict[str, Any] = {
        "format": "spotbag.instance/1",
        "name": "distinct",
        "deadline_s": int(hours * 3600),
        "vm_types": [
            {"name": name, "vcpus": vcpus, "memory_mb": 4096 * vcpus, "offers": offer}
            for (name, vcpus, _), offer in zip(TYPES, offers, strict=True)
        ],
        "tasks": [
            {
                "id": f"t{task}",
                "memory_mb": 100,
                "runtime_s": {name: int(runtimes[k, task]) for k, (name, _, _) in enumerate(TYPES)},
            }
            for task in range(n_tasks)
        ],
        "objective": {"goal": "cheapest"},
    }
    return Instance.from_document(document, "distinct")


def gap_of_start(instance: Instance) -> float:
    """Gap of the plan of the start, which the checker passes, to the divisible bound."""
    instance = with_d_spot(instance)
    question = cheapest_by(instance.replace(d_spot_s=instance.deadline_s), instance.deadline_s)
    bound = divisible_bound(question)
    state = least_rent_start(question, bound, 1)
    assert state is not None
    plan = state.schedule()
    assert check(question, plan).feasible
    return 1 - bound.objective / plan.objective


def test_a_last_task_is_exchanged_for_two_that_fill_the_core() -> None:
    # Of 10 s, 9 leave 1 s, which no task takes; 6 and 4 leave nothing.
    chosen = [-1] * 3
    filled_cores.py_func([4, 6, 9], [10], chosen)
    assert chosen == [0, 0, -1]


def test_cores_that_are_full_leave_the_rest() -> None:
    # Two cores of 10 s: 7 and 3, 6 and 4; of what is left, 5 s, nothing fits.
    chosen = [-1] * 5
    filled_cores.py_func([3, 4, 5, 6, 7], [10, 10], chosen)
    assert chosen == [0, 1, -1, 1, 0]


@pytest.mark.slow
def test_compiled_and_plain_cores_are_filled_alike() -> None:
    rng = np.random.default_rng(3)
    seconds = np.sort(rng.integers(1, 400, 300))
    compiled = np.full(len(seconds), -1, dtype=np.int64)
    filled_cores(seconds, np.full(20, 2000), compiled)
    plain = [-1] * len(seconds)
    filled_cores.py_func(seconds.tolist(), [2000] * 20, plain)
    assert compiled.tolist() == plain
    loads = np.bincount(compiled[compiled >= 0], weights=seconds[compiled >= 0], minlength=20)
    assert loads.max() <= 2000
    assert len(set(plain)) == 21


@pytest.mark.parametrize(
    ("limit", "hours", "own_speeds", "most"),
    [
        (40, 12, False, 1e-4),  # no limit binds
        (3, 12, False, 1e-3),  # spot VMs are too few
        (40, 12, True, 1e-3),
        (4, 12, True, 3e-3),
        (25, 1, False, 2e-3),  # seven tasks to a core
        (25, 1, True, 3e-3),
    ],
)
def test_the_start_is_near_the_bound(limit: int, hours: float, own_speeds: bool, most: float) -> None:
    assert 0 <= gap_of_start(distinct_bag(1_500, limit=limit, hours=hours, own_speeds=own_speeds)) <= most


@pytest.mark.slow
def test_ten_thousand_distinct_tasks_are_nearly_as_cheap_as_the_bound() -> None:
    # They were on all VMs that could be rented, on demand too, at twice the cost.
    result = solve(distinct_bag(10_000, limit=40), "search", options={"moves": 1_000}, survive="none")
    assert result.gap is not None
    assert result.gap <= 1e-3


@pytest.mark.parametrize(
    ("name", "objective"), [("burst-hads/J60", 0.3), ("burst-hads/J100", 0.33), ("memory/m20", 0.316)]
)
def test_the_moment_by_which_a_plan_ends_is_searched_and_not_one_of_six(name: str, objective: float) -> None:
    # Six moments in equal ratios gave 0.306, 0.367 and 0.3165.
    plan = lanes_plan(with_d_spot(library_instance(name)))
    assert plan is not None
    assert plan.objective < objective


def test_a_first_plan_of_many_tasks_without_lanes_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    # The greedy took 100 s of a limit of 10 for 100,000 tasks where memory binds: a question whose answer few needed.
    def none(*arguments: object) -> Schedule | None:
        return None

    monkeypatch.setattr(first_plans, "lanes_plan", none)
    instance = with_d_spot(generate_instance(3_001, seed=1))
    with pytest.raises(LimitReached), within(0.0):
        first_plan(instance)
    with within(0.0):
        assert first_plan(with_d_spot(library_instance("memory/m20"))).schedule is not None
