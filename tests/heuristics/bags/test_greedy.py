"""The HADS greedy by hand, phase by phase, and on random instances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.audits.bags.plan import check
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.heuristics.bags.greedy import GreedyOptions, _VmsOfOffer, greedy
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance, library_names
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.bags.solve import solve
from tests.helpers.random_instances import random_instances
from tests.helpers.second_by_second import brute_force_objective
from tests.helpers.soaks import soak_of

BOTH = ("spot", "on-demand")


def vm_type(name: str, vcpus: int, gflops: float, spot: float, on_demand: float, limit: int = 2) -> dict[str, Any]:
    offers = {
        market: {"price_usd_per_hour": price, "limit": limit}
        for market, price in zip(BOTH, (spot, on_demand), strict=True)
    }
    return {"name": name, "vcpus": vcpus, "memory_mb": 1000, "gflops": gflops, "offers": offers}


def instance(count: int, **fields: Any) -> Instance:
    """Equal tasks of 10 s; type a (weight 1) and the better b (weight 3), one core each; D_spot 31, D 50."""
    base: dict[str, Any] = {
        "name": "by-hand",
        "deadline_s": 50,
        "d_spot_s": 31,
        "limits": {"max_on_demand": 20},
        "vm_types": [vm_type("a", 1, 10, 0.1, 0.5), vm_type("b", 1, 40, 0.2, 0.9)],
        "tasks": [{"id": "t", "memory_mb": 10, "runtime_s": {"a": 10, "b": 10}, "count": count}],
    }
    return Instance(**(base | fields))


def plan(problem: Instance, **options: Any) -> Schedule:
    schedule = greedy(problem, GreedyOptions(**options)).schedule
    assert schedule is not None
    assert check(problem, schedule).feasible
    return schedule


def test_phase_2_draws_by_weight_and_phase_1_fills_the_cheapest_first() -> None:
    # Weights 1 and 3: the draws are b b a b, b b a b, ...
    schedule = plan(instance(7))
    assert schedule.vm_ids == ("b-spot-1", "b-spot-2", "a-spot-1")
    # Three tasks end strictly before 31 on each b; the seventh opens a.
    assert schedule.task_vm.tolist() == [0, 0, 0, 1, 1, 1, 2]


def test_the_limit_is_strict() -> None:
    assert plan(instance(3)).vm_ids == ("b-spot-1",)
    assert plan(instance(3, d_spot_s=30)).vm_ids == ("b-spot-1", "b-spot-2")


def test_phase_1_order_by_price_or_by_end() -> None:
    types = [vm_type("a", 1, 40, 0.3, 0.5, limit=1), vm_type("b", 1, 10, 0.2, 0.9, limit=1)]
    seconds = (12, 25, 4)
    tasks = [{"id": f"t{k}", "memory_mb": 20 - k, "runtime_s": {"a": e, "b": e}} for k, e in enumerate(seconds)]
    problem = instance(1, vm_types=types, tasks=tasks)
    # a takes t0; t1 would end at 37 there and opens b (third draw); t2 fits both: b is cheaper, a ends sooner.
    assert plan(problem, phase2_draws=4).task_vm.tolist() == [0, 1, 1]
    assert plan(problem, phase2_draws=4, phase1_order="makespan").task_vm.tolist() == [0, 1, 0]


def test_phase_3_takes_the_cheapest_on_demand_vm_that_fits() -> None:
    # Spot: 2 b and 2 a of 3 tasks each; then on demand, a is cheaper and takes 4 tasks (strictly before 50).
    schedule = plan(instance(14))
    assert schedule.vm_counts() == {"a spot": 2, "a on-demand": 1, "b spot": 2}


def test_tasks_are_taken_by_descending_memory_ties_in_file_order() -> None:
    tasks = [
        {"id": "small", "memory_mb": 1, "runtime_s": {"b": 10}},
        {"id": "large", "memory_mb": 9, "runtime_s": {"b": 10}},
        {"id": "also-small", "memory_mb": 1, "runtime_s": {"b": 10}},
    ]
    schedule = plan(instance(1, tasks=tasks))
    assert schedule.task_start_s.tolist() == [10, 0, 20]


def test_memory_delays_and_parts_tasks() -> None:
    tasks = [{"id": "t", "memory_mb": 600, "runtime_s": {"b": 10}, "count": 3}]
    schedule = plan(instance(1, tasks=tasks, vm_types=[vm_type("b", 2, 40, 0.2, 0.9)]))
    assert schedule.task_start_s.tolist() == [0, 10, 20]
    assert schedule.vm_ids == ("b-spot-1",)


def test_a_task_that_memory_delays_ends_strictly_before_the_limit_too() -> None:
    # Two cores, but memory for one task: a core is free at 0, and still the third task would end at 20 + 10, the limit.
    tasks = [{"id": "t", "memory_mb": 600, "runtime_s": {"b": 10}, "count": 3}]
    types = [vm_type("b", 2, 40, 0.2, 0.9)]
    assert plan(instance(1, tasks=tasks, vm_types=types, d_spot_s=31)).vm_ids == ("b-spot-1",)
    schedule = plan(instance(1, tasks=tasks, vm_types=types, d_spot_s=30))
    assert schedule.vm_ids == ("b-spot-1", "b-spot-2")
    assert schedule.task_start_s.tolist() == [0, 10, 0]


def test_the_overhead_of_the_paper_is_tested_but_not_taken() -> None:
    rules = {"overhead_fraction": 0.1, "dump_base_s": 1}  # an interval of 10 s: no checkpoint in a task of 10 s
    assert plan(instance(3, checkpoint=rules)).vm_ids == ("b-spot-1",)
    strict = plan(instance(3, checkpoint=rules), overhead_test="paper")  # 20 + 11 is not before 31
    assert strict.vm_ids == ("b-spot-1", "b-spot-2")
    assert strict.task_end_s.tolist() == [10, 20, 10]


def test_a_draw_of_an_exhausted_type_counts() -> None:
    # The tenth task draws b twice (the draws are b b a b b b a b), which has no VM left: phase 3 comes next.
    assert plan(instance(10)).vm_counts() == {"a spot": 1, "a on-demand": 1, "b spot": 2}
    assert plan(instance(10), phase2_draws=4).vm_counts() == {"a spot": 2, "b spot": 2}
    # As printed, with one draw a task, the next draw of a comes with the third task that finds no place.
    assert plan(instance(14), phase2_draws=1).vm_counts() == {"a spot": 1, "a on-demand": 2, "b spot": 2}


def test_a_limit_shared_by_the_markets_counts_both() -> None:
    # 2 b spot, 1 a spot and 1 a on demand are all there may be: 3 + 3 + 3 + 4 tasks.
    assert plan(instance(13), type_limit="shared").vm_counts() == {"a spot": 1, "a on-demand": 1, "b spot": 2}
    outcome = greedy(instance(14), GreedyOptions(type_limit="shared"))
    assert outcome.schedule is None
    assert "shared by both markets" in outcome.explanation


def test_market_limits_hold_over_all_types() -> None:
    problem = instance(9, limits={"max_spot": 1, "max_on_demand": 2})
    assert plan(problem).vm_counts() == {"a on-demand": 2, "b spot": 1}


def test_it_is_explained_which_task_finds_no_place() -> None:
    problem = instance(12, limits={"max_spot": 1, "max_on_demand": 2})
    outcome = greedy(problem)
    assert outcome.schedule is None
    for part in (
        "task 't#12' finds no place, with 3 VMs in use:",
        "on the VMs rented it would end 1 second too late, at best",
        "a on-demand: 2 VMs rented, the limit",
        "b on-demand: limits.max_on_demand (2) is used up",
        "a spot: limits.max_spot (1) is used up",
    ):
        assert part in outcome.explanation


def test_it_is_explained_when_a_new_vm_would_be_late() -> None:
    outcome = greedy(instance(1, d_spot_s=5, limits={"max_on_demand": 0}))
    assert outcome.schedule is None
    assert "b spot: a new VM would end it at 10 s, not before D_spot (5 s)" in outcome.explanation


def test_burstable_types_are_not_used() -> None:
    outcome = greedy(library_instance("tiny/credits"))
    assert outcome.schedule is None
    assert "no regular (non-burstable) VM type" in outcome.explanation


OPTIONS = st.builds(
    GreedyOptions,
    phase1_order=st.sampled_from(["price", "makespan"]),
    phase2_draws=st.sampled_from([None, 1, 2]),
    type_limit=st.sampled_from(["market", "shared"]),
    overhead_test=st.sampled_from(["checkpoints", "paper"]),
)


@given(random_instances(12), OPTIONS)
@settings(max_examples=12, deadline=None)
def test_plans_for_random_instances_pass_the_checker(problem: Instance, options: GreedyOptions) -> None:
    _check_plan(problem, options)


@soak_of(random_instances(12), OPTIONS, sample=100, whole=3000)
def test_plans_for_thousands_of_random_instances_pass_the_checker(problem: Instance, options: GreedyOptions) -> None:
    _check_plan(problem, options)


def _check_plan(problem: Instance, options: GreedyOptions) -> None:
    problem = with_d_spot(problem)
    outcome = greedy(problem, options)
    if outcome.schedule is None:
        assert outcome.explanation
        return
    report = check(problem, outcome.schedule)
    assert report.violations == ()
    assert report.cost_usd == pytest.approx(outcome.schedule.cost_usd)
    assert report.objective == pytest.approx(outcome.schedule.objective)
    assert outcome.schedule.makespan_s < problem.deadline_s


@pytest.mark.parametrize("name", [name for name in library_names() if name.startswith("tiny/")])
def test_greedy_is_never_better_than_brute_force(name: str) -> None:
    result = solve(library_instance(name), "greedy")
    best = brute_force_objective(result.instance)
    assert best is not None
    if result.objective is not None:
        assert result.objective >= best - 1e-9


@soak_of(random_instances(4), sample=200, whole=1500)
def test_greedy_is_never_better_than_brute_force_on_random_instances(problem: Instance) -> None:
    problem = with_d_spot(problem)
    if sum(min(offer.limit, problem.n_tasks) for offer in problem.offers) > 6 or problem.n_tasks > 4:
        return
    schedule = greedy(problem).schedule
    if schedule is not None:
        best = brute_force_objective(problem)
        assert best is not None
        assert schedule.objective >= best - 1e-9


def test_same_input_same_plan() -> None:
    problem = with_d_spot(generate_instance(300, seed=5, d_spot_fraction=0.8, goal="balanced"))
    first, second = greedy(problem).schedule, greedy(problem).schedule
    assert first is not None
    assert second is not None
    assert (first.task_vm == second.task_vm).all()
    assert (first.task_start_s == second.task_start_s).all()


def test_more_draws_than_a_cycle_are_pointless_and_not_made() -> None:
    outcome = greedy(instance(20, limits={"max_on_demand": 1}), GreedyOptions(phase2_draws=999_999_999))
    assert outcome.schedule is None


def test_memory_that_is_too_small_in_the_markets_allowed_is_named() -> None:
    small = vm_type("a", 1, 10, 0.1, 0.5) | {"memory_mb": 5}
    small["offers"] = {"on-demand": small["offers"]["on-demand"]}
    large = vm_type("b", 1, 10, 0.1, 0.5)
    large["offers"] = {"spot": large["offers"]["spot"]}
    outcome = greedy(instance(1, vm_types=[small, large], markets=["on-demand"]))
    assert "a on-demand: it needs 10 MB, the VM has 5 MB" in outcome.explanation


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30)), max_size=60))
@settings(max_examples=40, deadline=None)
def test_phase_1_remembers_when_no_vm_of_an_offer_is_free(steps: list[tuple[int, int]]) -> None:
    """A million tasks took minutes: all of 23,000 VMs were looked at for each task, and sorted for each new VM."""
    vms = _VmsOfOffer(limit_s=1000)
    moments: list[int] = []
    for what, number in steps:
        if what < 3:
            assert vms.add(10 * len(moments), number) == len(moments)
            moments.append(number)
        elif what < 6 and moments:
            position = number % len(moments)
            moments[position] += what
            vms.free_s[position] = moments[position]
        elif number > vms.none_before:
            free = [10 * position for position, moment in enumerate(moments) if moment < number]
            assert list(vms.free_before(number)) == free
        else:
            assert not any(moment < number for moment in moments)


def test_phase_1_looks_in_vain_at_the_vms_of_an_offer_once_for_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks are alike: until another VM of the offer is selected, none of them is free for the next task either."""
    in_vain = []
    free_before = _VmsOfOffer.free_before

    def look(vms: _VmsOfOffer, moment: int) -> Iterator[int]:
        found = list(free_before(vms, moment))
        if not found:
            in_vain.append(moment)
        return iter(found)

    monkeypatch.setattr(_VmsOfOffer, "free_before", look)
    schedule = plan(instance(26))
    # Three tasks end before 31 s on each of four spot VMs, four before 50 s on each of four on-demand VMs.
    assert schedule.vm_counts() == {"a spot": 2, "a on-demand": 2, "b spot": 2, "b on-demand": 2}
    assert len(in_vain) <= 8
