"""``size_job``: both methods give the same counts, those that trying all gives; degenerate jobs; use of the blocks."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.core.errors import ModelRefusal, SpotbagError
from spotbag.models.streams.sizing import SizingProblem, TypeChoice, covering_of, planning_cost_usd, tasks_finished
from spotbag.solvers.streams.sizing import SIZING_METHODS, Sizing, SizingMethod, size_job
from tests.helpers.sizing_problems import best_by_trying_all, job, random_job
from tests.helpers.soaks import soak


def both(problem: SizingProblem) -> Sizing:
    """Sizing by the integer programme, which must be that of the dynamic programme."""
    first, second = (size_job(problem, method) for method in SIZING_METHODS)
    assert first.counts == second.counts, problem
    assert (first.status, first.cost_usd, first.reasons) == (second.status, second.cost_usd, second.reasons)
    assert first.uses == second.uses
    return first


def test_both_methods_agree_on_random_jobs() -> None:
    statuses = {both(random_job(seed)).status for seed in range(100)}
    assert statuses == {"optimal", "infeasible"}


@soak(1_000, 10_000)
def test_both_methods_agree_on_ten_thousand_random_jobs(how_many: int) -> None:
    for seed in range(how_many):
        both(random_job(1_000_000 + seed))


@soak(30, 300)
def test_both_methods_agree_on_large_random_jobs(how_many: int) -> None:
    for seed in range(how_many):
        both(random_job(2_000_000 + seed, most_tasks=100_000))


def fine_prices(seed: int) -> SizingProblem:
    """A job with prices of up to eight decimals, many of them the same by the core, and up to 20,000 tasks."""
    numbers = random.Random(seed)
    digits = numbers.choice([4, 6, 8])
    types = []
    for position in range(numbers.choice([2, 3, 5, 8, 20])):
        cores = numbers.choice([1, 2, 4, 8])
        price = round(0.05 * cores * numbers.choice([1, 1, 1, 1 + 10.0**-digits, numbers.uniform(0.9, 1.2)]), digits)
        runtime = Fraction(numbers.choice([1600, 1600, 1500, numbers.randint(800, 2500)]), 10 * cores)
        types.append(TypeChoice(f"t{position}", price, runtime))
    return SizingProblem(numbers.randint(1, numbers.choice([50, 1000, 20_000])), 3600, 60, 3600, tuple(types))


def test_both_methods_agree_on_prices_of_many_digits() -> None:
    for seed in range(50, 80):
        both(fine_prices(seed))


@soak(150, 1_500)
def test_both_methods_agree_on_many_prices_of_many_digits(how_many: int) -> None:
    for seed in range(150, 150 + how_many):
        both(fine_prices(seed))


@pytest.mark.parametrize("method", SIZING_METHODS)
def test_trying_all_counts_finds_the_same(method: SizingMethod) -> None:
    tried = 0
    for seed in range(120):
        problem = random_job(seed, most_tasks=7)
        if problem.n_tasks > 7 or len(problem.types) > 3:
            continue
        tried += 1
        sizing, best = size_job(problem, method), best_by_trying_all(problem)
        assert (sizing.status == "infeasible") == (best is None)
        if best is not None:
            assert tuple(sizing.counts.values()) == best
            assert sizing.cost_usd == float(planning_cost_usd(problem, best))
    assert tried > 15


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 60),
    st.integers(-10, 400),
    st.integers(0, 30),
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.073, 1.0]),
            st.none() | st.fractions(min_value=Fraction(1, 2), max_value=100, max_denominator=7),
        ),
        max_size=4,
    ),
)
def test_any_job_is_sized_or_said_to_be_infeasible(
    n_tasks: int, available_s: int, overhead_s: int, types: list[tuple[float, Fraction | None]]
) -> None:
    choices = tuple(TypeChoice(f"t{k}", price, runtime) for k, (price, runtime) in enumerate(types))
    problem = SizingProblem(n_tasks, available_s, overhead_s, 60, choices)
    sizing = both(problem)
    if sizing.status == "infeasible":
        assert sizing.reasons
        assert not any(sizing.tasks_per_vm.values())
        if sizing.missing_s is not None:
            later = SizingProblem(n_tasks, available_s + sizing.missing_s, overhead_s, 60, choices)
            assert size_job(later, "dynamic-programme").status == "optimal"
        return
    assert tasks_finished(problem, tuple(sizing.counts.values())) >= n_tasks
    assert sum(use.vms * use.tasks_each for use in sizing.uses) == n_tasks
    for name, number in sizing.counts.items():
        assert sum(use.vms for use in sizing.uses if use.vm_type == name) == number
    for use in sizing.uses:
        assert use.tasks_each <= sizing.tasks_per_vm[use.vm_type]
        assert use.runs_s <= available_s
        assert len(use.block_use) == sizing.paid_blocks
        assert sum(use.block_use) * 60 == pytest.approx(use.runs_s)
        assert use.started_blocks == sum(part > 0 for part in use.block_use)
    assert 0 <= sizing.started_cost_usd <= sizing.cost_usd


def test_the_first_job_of_the_paper_by_hand() -> None:
    # 13, 26 or 34 tasks for 0.073, 0.146, 0.293: 52 tasks on two larges, or four mediums at the same price.
    sizing = both(job(50, 600, (0.073, 43), (0.146, 22), (0.293, 17), overhead_s=15))
    assert sizing.counts == {"a": 0, "b": 2, "c": 0}
    assert sizing.tasks_per_vm == {"a": 13, "b": 26, "c": 34}
    assert (sizing.paid_blocks, sizing.cost_usd, sizing.started_cost_usd) == (1, 0.292, 0.292)
    (use,) = sizing.uses
    assert (use.vms, use.tasks_each, use.runs_s) == (2, 25, 565.0)
    assert use.block_use == [565 / 600]
    assert sizing.n_vms == 2


def test_tasks_are_spread_so_that_all_are_done_early() -> None:
    # 10 s to create and 90 s for tasks of 30 s: 8 of 9 places are needed.
    sizing = both(job(8, 100, (1.0, 30), (0.9, 60), overhead_s=10))
    assert sizing.counts == {"a": 3, "b": 0}
    assert [(use.vms, use.tasks_each, use.runs_s) for use in sizing.uses] == [(2, 3, 100.0), (1, 2, 70.0)]
    cheap = both(job(6, 130, (1.0, 30), (0.4, 60), overhead_s=10))
    assert cheap.counts == {"a": 0, "b": 3}
    both_types = both(job(6, 130, (1.0, 30), (0.7, 60), overhead_s=10))
    assert both_types.counts == {"a": 1, "b": 1}
    assert [(use.vm_type, use.tasks_each, use.runs_s) for use in both_types.uses] == [("a", 4, 130.0), ("b", 2, 130.0)]


def test_tasks_are_spread_as_one_by_one_to_where_they_end_first() -> None:
    for seed in range(200):
        problem = random_job(seed, most_tasks=60)
        sizing = size_job(problem, "dynamic-programme")
        instances = [
            (position, choice.runtime_s)
            for position, choice in enumerate(problem.types)
            for _ in range(sizing.counts[choice.name])
        ]
        if sizing.status == "infeasible" or not instances:
            continue
        tasks = [0] * len(instances)
        for _ in range(problem.n_tasks):  # at the same end, the first type takes the task
            ends = [
                ((number + 1) * (runtime or 0), k)
                for k, (number, (_, runtime)) in enumerate(zip(tasks, instances, strict=True))
            ]
            tasks[min(ends)[1]] += 1
        expected = sorted(
            (problem.types[position].name, number) for (position, _), number in zip(instances, tasks, strict=True)
        )
        found = sorted((use.vm_type, use.tasks_each) for use in sizing.uses for _ in range(use.vms))
        assert found == expected, problem


def test_types_that_end_together() -> None:
    sizing = both(
        SizingProblem(5, 90, 0, 60, (TypeChoice("a", 1.0, Fraction(30)), TypeChoice("b", 0.99, Fraction(45))))
    )
    assert sizing.counts == {"a": 1, "b": 1}
    assert [(use.vm_type, use.tasks_each) for use in sizing.uses] == [("a", 3), ("b", 2)]
    less = both(SizingProblem(4, 90, 0, 60, (TypeChoice("a", 1.0, Fraction(30)), TypeChoice("b", 0.99, Fraction(45)))))
    assert less.counts == {"a": 0, "b": 2}


def test_the_use_of_every_paid_block() -> None:
    # Three blocks of 600 s until 1500 s; 3 tasks of 400 s end at 1210 s, in the third block.
    sizing = both(job(6, 1500, (1.0, 400), overhead_s=10))
    assert sizing.counts == {"a": 2}
    (use,) = sizing.uses
    assert (use.full_blocks, use.last_block_use, use.idle_blocks) == (2, 10 / 600, 0)
    assert use.block_use == [1.0, 1.0, 10 / 600]
    assert sizing.cost_usd == sizing.started_cost_usd == 6.0
    # One task each: 410 s of the first block, two blocks that eq. 5 charges and no bill would.
    short = both(job(1, 1500, (1.0, 400), overhead_s=10))
    assert short.uses[0].block_use == [410 / 600, 0.0, 0.0]
    assert (short.uses[0].started_blocks, short.uses[0].idle_blocks) == (1, 2)
    assert (short.cost_usd, short.started_cost_usd) == (3.0, 1.0)
    # A task that ends with its block leaves nothing in the next one.
    exact = both(job(1, 1500, (1.0, 590), overhead_s=10))
    assert exact.uses[0].block_use == [1.0, 0.0, 0.0]
    assert exact.uses[0].started_blocks == 1


def test_nothing_is_rented_for_no_tasks() -> None:
    for available_s in (-5, 0, 600):
        sizing = both(job(0, available_s, (1.0, 400), overhead_s=10))
        assert (sizing.status, sizing.counts, sizing.cost_usd, sizing.uses) == ("optimal", {"a": 0}, 0.0, ())
        assert sizing.reasons == ("no tasks are left: nothing is to be rented",)


@pytest.mark.parametrize("available_s", [-20, 0, 5, 10])
def test_no_time_after_the_creation(available_s: int) -> None:
    sizing = both(job(3, available_s, (1.0, 400), (2.0, "99.5"), overhead_s=10))
    assert (sizing.status, sizing.counts) == ("infeasible", {"a": 0, "b": 0})
    assert sizing.missing_s == 110 - available_s
    assert sizing.fastest == "b"
    assert sizing.reasons == (
        f"no VM is ready before the deadline: it is {available_s} s away, and creating one takes 10 s; the "
        f"deadline would have to be at least {110 - available_s} s later",
    )


def test_no_type_finishes_a_task() -> None:
    sizing = both(job(3, 100, (1.0, 400), (2.0, "99.5"), (0.1, None), overhead_s=10))
    assert (sizing.status, sizing.missing_s, sizing.fastest) == ("infeasible", 10, "b")
    assert sizing.reasons == (
        "no type finishes a task by the deadline: 90 s are left when a VM is ready, and a task takes 99.5 s on "
        "the fastest type, b; the deadline would have to be at least 10 s later",
        "c is left out: it cannot run the application",
    )
    assert both(job(3, 110, (1.0, 400), (2.0, "99.5"), overhead_s=10)).counts == {"a": 0, "b": 3}


def test_no_type_runs_the_application() -> None:
    for types in ((), ((1.0, None),)):
        sizing = both(job(3, 100, *types))
        assert (sizing.status, sizing.missing_s, sizing.fastest) == ("infeasible", None, None)
        assert sizing.reasons == (
            "no type can run the application, whatever the deadline; give the run time of a task on some type",
        )


def test_types_that_are_left_out_are_named() -> None:
    sizing = both(job(3, 100, (1.0, 50), (0.1, 91), (0.1, None), overhead_s=10))
    assert sizing.counts == {"a": 3, "b": 0, "c": 0}
    assert sizing.reasons == (
        "b is left out: a task takes 91 s, and 90 seconds are left when a VM is ready",
        "c is left out: it cannot run the application",
    )


def test_out_of_time_there_is_an_answer_that_is_not_called_optimal() -> None:
    problem = job(50, 600, (0.073, 43), (0.146, 22), (0.05, 43), overhead_s=15)
    sizing = size_job(problem, time_limit_s=0.0)
    assert sizing.status == "feasible"
    assert tasks_finished(problem, tuple(sizing.counts.values())) >= 50
    assert size_job(problem, time_limit_s=3600.0).status == "optimal"


def test_prices_of_many_digits_and_methods_that_do_not_exist_are_refused() -> None:
    problem = job(2000, 1000, (0.1, 1), (0.20000000000000004, "0.5"))
    with pytest.raises(ModelRefusal, match="take the method dynamic-programme"):
        size_job(problem)
    assert size_job(problem, "dynamic-programme").counts == {"a": 2, "b": 0}
    with pytest.raises(SpotbagError, match="'simplex' is unknown; there are milp and dynamic-programme"):
        size_job(problem, "simplex")  # type: ignore[arg-type]


@pytest.mark.parametrize("method", SIZING_METHODS)
def test_counts_that_do_not_finish_all_tasks_are_never_handed_out(
    monkeypatch: pytest.MonkeyPatch, method: SizingMethod
) -> None:
    problem = job(50, 600, (0.073, 43), overhead_s=15)  # 13 tasks each: 4 instances
    assert size_job(problem, method).counts == {"a": 4}
    monkeypatch.setattr("spotbag.solvers.streams.sizing._solve_program", lambda *_: ((3,), True))
    monkeypatch.setattr("spotbag.solvers.streams.sizing.cheapest_counts", lambda *_: (3,))
    with pytest.raises(SpotbagError, match=f"method {method} leaves tasks that do not finish"):
        size_job(problem, method)


def test_types_by_the_hundred() -> None:
    types = tuple(
        TypeChoice(
            f"t{k}",
            round(0.05 * (1 + k % 16) * (1 + (k * 37 % 101) / 300), 4),
            Fraction(1600 + k * 53 % 397, 1 + k % 16),
        )
        for k in range(200)
    )
    problem = SizingProblem(5_000, 3600, 60, 3600, types)
    assert len(covering_of(problem).without_dominated().tasks) > 5
    both(problem)
