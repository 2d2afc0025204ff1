"""The bound of the makespan by counts: never above brute force, above the divisible bound where few fit a core."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.bounds.bags import counted_bound as counted
from spotbag.bounds.bags.counted_bound import counted_bound
from spotbag.bounds.bags.divisible_bound import divisible_bound
from spotbag.core.errors import ModelRefusal
from spotbag.experiments.bags.classical import unrelated_machines
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.solvers.bags.solve import solve
from tests.helpers.exhaustive import exhaustive_objective
from tests.helpers.soaks import soak_of
from tests.helpers.tiny_instances import tiny_instance

SEEDS = st.integers(0, 10**6)


def look_at(seed: int, setups: bool) -> None:
    """Compare with all plans of a tiny bag, and with the bound that it begins with."""
    drawn = tiny_instance(seed, memory=seed % 2 == 0, markets=seed % 3 == 0, quotas=seed % 5 == 0, setups=setups)
    instance = with_d_spot(drawn.with_goal("fastest"))
    best = exhaustive_objective(instance)
    bound = counted_bound(instance)
    assert divisible_bound(instance).objective <= bound
    assert best is None or bound <= best


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.booleans())
def test_no_plan_is_below_the_bound(seed: int, setups: bool) -> None:
    look_at(seed, setups)


@soak_of(SEEDS, st.booleans(), sample=200, whole=20_000)
def test_no_plan_of_thousands_is_below_the_bound(seed: int, setups: bool) -> None:
    look_at(seed, setups)


@pytest.mark.slow
def test_machines_that_differ_have_whole_tasks_only() -> None:
    """Of 100 tasks on ten machines, the fastest machine has most, and none has a part of one."""
    instance = with_d_spot(unrelated_machines(100, 10, kind="machines", seed=1, name="machines"))
    assert divisible_bound(instance).objective == pytest.approx(317.81, abs=0.01)
    assert counted_bound(instance) == pytest.approx(331)
    result = solve(instance, time_limit_s=10, threads=1, seed=1)
    assert result.status == "optimal"
    assert result.objective == 331


def test_a_bound_of_many_seconds_is_found_in_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The divisible bound is 844 s below: each second was looked at."""
    instance = unrelated_machines(60, 10, kind="machines", seed=1, name="long")
    tasks = [
        task.model_copy(update={"runtime_s": {kind: 100 * runtime_s for kind, runtime_s in task.runtime_s.items()}})
        for task in instance.tasks
        if task.runtime_s is not None
    ]
    long = with_d_spot(instance.replace(tasks=tasks, deadline_s=100 * instance.deadline_s))
    asked: list[int] = []
    ask = counted._Cores.cannot_end_by
    monkeypatch.setattr(counted._Cores, "cannot_end_by", lambda cores, end_s: asked.append(end_s) or ask(cores, end_s))
    bound = counted_bound(long)
    assert bound > divisible_bound(long).objective + 800
    assert len(asked) <= 30


def test_what_the_bound_does_not_know_is_refused() -> None:
    with pytest.raises(ModelRefusal, match="makespan alone"):
        counted_bound(with_d_spot(tiny_instance(1).with_goal("cheapest")))
    with pytest.raises(ModelRefusal, match="too many tasks"):
        counted_bound(with_d_spot(unrelated_machines(3000, 20, kind="jobs", seed=1, name="large")))
