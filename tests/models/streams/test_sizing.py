"""Equations of the sizing by hand, in exact numbers; both ways to the optimum against trying all counts."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotbag.core.errors import InputError, ModelRefusal
from spotbag.models.streams.sizing import (
    Covering,
    Objective,
    SizingProblem,
    SizingProgram,
    TypeChoice,
    all_tasks_finish,
    block_price_usd,
    covering_of,
    fastest_type,
    missing_s,
    paid_blocks,
    planning_cost_usd,
    ranks_of,
    tasks_finished,
    tasks_per_vm,
    tightened,
)
from spotbag.solvers.streams.sizing import cheapest_counts
from tests.helpers.sizing_problems import job, random_job


def best_cover(covering: Covering) -> tuple[int, ...]:
    """The optimum that is meant, by trying all counts."""
    everything = itertools.product(*(range(most + 1) for most in covering.most_useful()))
    return min(
        (counts for counts in everything if covering.covered(counts)),
        key=lambda counts: (
            Objective(covering.prices).value(counts),
            sum(counts),
            tuple(-number for number in counts),
        ),
    )


@st.composite
def coverings(draw: st.DrawFn) -> Covering:
    n_types = draw(st.integers(1, 4))
    n_tasks = draw(st.integers(1, 12))
    tasks = draw(st.lists(st.integers(1, n_tasks), min_size=n_types, max_size=n_types))
    prices = draw(st.lists(st.integers(0, 6), min_size=n_types, max_size=n_types))
    return Covering(n_tasks, tuple(range(n_types)), tuple(tasks), tuple(prices))


def test_the_equations_by_hand() -> None:
    # 585 s when a VM is ready: 13 tasks of 43 s, 26 of 22 s, 34 of 17 s.
    problem = job(50, 600, (0.073, 43), (0.146, 22), (0.293, 17), overhead_s=15)
    assert tasks_per_vm(problem) == (13, 26, 34)  # eq. 1
    assert tasks_finished(problem, (1, 1, 1)) == 73  # eq. 2
    assert not all_tasks_finish(problem, (1, 1, 0))  # eq. 3: 39 < 50
    assert all_tasks_finish(problem, (0, 2, 0))
    assert block_price_usd(problem, (1, 1, 1)) == Fraction("0.512")  # eq. 4
    assert paid_blocks(problem) == 1
    assert planning_cost_usd(problem, (0, 2, 0)) == Fraction("0.292")  # eq. 5
    assert covering_of(problem) == Covering(50, (0, 1, 2), (13, 26, 34), (73, 146, 293))
    assert cheapest_counts(covering_of(problem)) == (0, 2, 0)


@pytest.mark.parametrize(("available_s", "blocks"), [(-5, 0), (0, 0), (1, 1), (600, 1), (601, 2), (1200, 2)])
def test_an_instance_is_paid_until_the_deadline_in_whole_blocks(available_s: int, blocks: int) -> None:
    problem = job(1, available_s, (0.5, 1))
    assert paid_blocks(problem) == blocks
    assert planning_cost_usd(problem, (3,)) == Fraction(3, 2) * blocks


def test_no_task_is_lost_in_floating_point_numbers() -> None:
    assert int((0.7 - 0.1) / 0.1) == 5
    assert tasks_per_vm(job(6, 7, (1.0, 1), overhead_s=1)) == (6,)
    assert tasks_per_vm(job(6, 6, (1.0, "0.1"))) == (60,)
    assert tasks_per_vm(job(6, 60, (1.0, "1.1"))) == (54,)  # 59.4 s; the 55th would end at 60.5
    assert tasks_per_vm(SizingProblem(6, 1, 0, 600, (TypeChoice("a", 1.0, Fraction(1, 3)),))) == (3,)


def test_prices_are_the_decimals_they_are_written_as() -> None:
    # In floating-point numbers 3 x 0.1 is more than 0.3, and one instance of b would be cheaper.
    assert 3 * 0.1 > 0.3
    covering = covering_of(job(3, 10, (0.1, 10), (0.3, "3")))
    assert covering.prices == (1, 3)
    assert planning_cost_usd(job(3, 10, (0.1, 10), (0.3, "3")), (3, 0)) == Fraction("0.3")
    assert cheapest_counts(covering) == (0, 1)  # as cheap, and fewer instances


def test_types_that_finish_no_task_are_left_out() -> None:
    problem = job(5, 100, (0.1, None), (0.2, 30), (0.3, "90.1"), (0.4, 90), overhead_s=10)
    assert tasks_per_vm(problem) == (0, 3, 0, 1)
    assert covering_of(problem) == Covering(5, (1, 3), (3, 1), (1, 2))
    assert covering_of(problem).in_catalogue((2, 7), 4) == (0, 2, 0, 7)
    assert tasks_per_vm(job(5, 10, (0.1, 30), overhead_s=10)) == (0,)
    assert tasks_per_vm(job(5, 10, (0.1, 30), overhead_s=20)) == (0,)  # and not -1


def test_how_much_later_the_deadline_would_have_to_be() -> None:
    problem = job(5, 100, (0.1, 200), (0.3, "99.5"), (0.2, "99.5"), (0.1, None), overhead_s=10)
    assert missing_s(problem) == 10  # 109.5 s, in whole seconds
    fastest = fastest_type(problem)
    assert fastest is not None
    assert fastest.name == "c"  # the cheaper of the two
    later = SizingProblem(5, 110, 10, 600, problem.types)
    assert missing_s(later) == 0
    assert any(tasks_per_vm(later))
    assert not any(tasks_per_vm(SizingProblem(5, 109, 10, 600, problem.types)))
    assert missing_s(job(5, 100, (0.1, None))) is None
    assert fastest_type(job(5, 100)) is None


def test_whatever_makes_no_sense_is_refused_with_place_and_value() -> None:
    with pytest.raises(InputError) as caught:
        SizingProblem(
            -1,
            100,
            0,
            0,
            (TypeChoice("a", -0.1, Fraction(1)), TypeChoice("a", float("nan"), Fraction(0))),
        )
    message = str(caught.value)
    for part in (
        "6 errors",
        "n_tasks -1 must be a whole number from 0 to",
        "block_s 0 must be",
        "types[0] 'a': price_usd_per_block -0.1 must be a number >= 0",
        "types[1] 'a': name 'a' is there twice",
        "types[1] 'a': price_usd_per_block nan must be",
        "types[1] 'a': runtime_s 0 must be greater than 0",
    ):
        assert part in message
    with pytest.raises(InputError, match=r"n_tasks 1.5 must be a whole number"):
        SizingProblem(1.5, 100, 0, 600, ())  # type: ignore[arg-type]


def test_ties_by_hand() -> None:
    # 20 tasks for 4: 2 x 10 tasks at 2, 4 x 5 tasks at 1, 1 x 20 tasks at 4; the fewest instances.
    assert cheapest_counts(Covering(20, (0, 1, 2), (10, 5, 20), (2, 1, 4))) == (0, 0, 1)
    # Twins: the first takes all. Of the same price, the first is enough although the second does more.
    assert cheapest_counts(Covering(20, (0, 1), (10, 10), (2, 2))) == (2, 0)
    assert cheapest_counts(Covering(20, (0, 1), (10, 12), (2, 2))) == (2, 0)
    # 22 tasks need one of the second; the other can be the first.
    assert cheapest_counts(Covering(22, (0, 1), (10, 12), (2, 2))) == (1, 1)
    assert cheapest_counts(Covering(22, (0, 1), (12, 10), (2, 2))) == (2, 0)  # 24 of 22
    # Nothing costs anything: the fewest instances.
    assert cheapest_counts(Covering(21, (0, 1), (10, 7), (0, 0))) == (3, 0)
    assert cheapest_counts(Covering(14, (0, 1), (10, 7), (0, 0))) == (2, 0)


@given(coverings())
def test_the_dynamic_programme_finds_what_trying_all_finds(covering: Covering) -> None:
    assert cheapest_counts(covering) == best_cover(covering)


@given(coverings())
def test_no_optimum_that_is_meant_rents_a_dominated_type(covering: Covering) -> None:
    retained = covering.without_dominated()
    assert retained.without_dominated() == retained
    assert retained.in_catalogue(best_cover(retained), len(covering.tasks)) == best_cover(covering)


def test_dominated_types_by_hand() -> None:
    assert Covering(50, (0, 1, 2), (10, 10, 9), (2, 2, 2)).without_dominated().positions == (0,)
    # The first does less at the same price, but it comes first: where its tasks are enough, it is the one.
    assert Covering(50, (0, 1), (9, 10), (2, 2)).without_dominated().positions == (0, 1)
    assert Covering(50, (3, 7, 8), (9, 10, 12), (3, 2, 4)).without_dominated() == Covering(50, (7, 8), (10, 12), (2, 4))


def test_prices_of_many_digits_are_exact_in_the_dynamic_programme() -> None:
    # 2 x 0.1 and 0.2: equal as decimals; with one more in the 17th digit, they are not.
    for price, counts in ((0.2, (0, 1)), (0.20000000000000004, (2, 0)), (0.19999999999999998, (0, 1))):
        covering = covering_of(job(2000, 1000, (0.1, 1), (price, "0.5")))
        assert cheapest_counts(covering) == counts


def test_the_dynamic_programme_of_many_tasks_and_types() -> None:
    covering = Covering(100_000, tuple(range(500)), tuple(range(1, 501)), tuple(7 * k + 13 for k in range(1, 501)))
    # 500 tasks at 3513 have the best ratio, and fill it.
    assert cheapest_counts(covering) == (0,) * 499 + (200,)


def solved(program: SizingProgram) -> tuple[int, ...] | None:
    import pulp

    program.problem.solve(pulp.HiGHS(msg=False, threads=1, gapRel=0.0, gapAbs=0.0))
    return program.read_back()


def test_the_program_states_eq_6() -> None:
    covering = Covering(50, (0, 2), (13, 26), (73, 146))
    program = SizingProgram(covering, covering.most_useful(), Objective(covering.prices))
    assert [variable.name for variable in program.variables] == ["vms_0", "vms_2"]
    assert [(variable.lowBound, variable.upBound, variable.cat) for variable in program.variables] == [
        (0, 4, "Integer"),
        (0, 2, "Integer"),
    ]
    assert str(program.problem.objective) == "73*vms_0 + 146*vms_2"
    (row,) = program.problem.constraints()
    assert str(row) == "13*vms_0 + 26*vms_2 >= 50.0"
    assert program.read_back() is None  # not solved
    counts = solved(program)
    assert counts is not None
    assert Objective(covering.prices).value(counts) == 292


def test_counts_that_cover_too_little_are_not_read_back() -> None:
    program = SizingProgram(Covering(5, (0,), (2,), (1,)), (3,), Objective((1,)))
    for value, counts in ((2.4, None), (3.0000001, (3,)), (-1, None)):
        program.variables[0].varValue = value
        assert program.read_back() == counts


def test_ranks_are_cost_vms_and_all_types_but_the_last() -> None:
    covering = Covering(20, (0, 1, 2), (10, 5, 20), (2, 1, 4))
    assert ranks_of(covering) == [
        Objective((2, 1, 4)),
        Objective((1, 1, 1)),
        Objective((-1, 0, 0)),
        Objective((0, -1, 0)),
    ]


def test_prices_beyond_a_solver_are_refused() -> None:
    covering = covering_of(job(2000, 1000, (0.1, 1), (0.20000000000000004, "0.5")))
    with pytest.raises(ModelRefusal, match=r"prices of so many digits apart; .* dynamic-programme: one is 5,000,"):
        ranks_of(covering)


def test_what_is_whole_to_a_solver_only_is_not_read_back() -> None:
    # 28.999999 is 29 to a solver, and 21 less in the row of the optimum.
    fixed = Objective((21_000_001, 84_000_001), 8_253_000_099)
    program = SizingProgram(Covering(18_455, (0, 1), (47, 188), (1, 4)), (393, 99), Objective((-1, 0)), [fixed])
    program.variables[0].varValue, program.variables[1].varValue = 28.999999, 91.0
    assert program.read_back() is None
    program.variables[0].varValue, program.variables[1].varValue = 1.0, 98.0
    assert program.read_back() == (1, 98)


@given(coverings())
def test_limits_of_reduced_costs_cut_off_no_optimum(covering: Covering) -> None:
    best = best_cover(covering)
    objective = Objective(covering.prices, Objective(covering.prices).value(best))
    limits = tightened(covering, covering.most_useful(), objective)
    assert all(number <= limit for number, limit in zip(best, limits, strict=True))


def test_limits_of_reduced_costs_by_hand() -> None:
    # A task costs 2 at least; the second type loses 3 for each instance, and 45 - 2 x 20 = 5 may be lost.
    assert tightened(Covering(20, (0, 1), (10, 5), (20, 13)), (2, 4), Objective((20, 13), 45)) == (2, 1)
    assert tightened(Covering(20, (0, 1), (10, 5), (20, 13)), (2, 4), Objective((-1, 0), -2)) == (2, 4)


def test_random_jobs_have_optima_that_no_single_change_betters() -> None:
    for seed in range(300):
        problem = random_job(seed)
        covering = covering_of(problem)
        if not covering.tasks:
            continue
        counts = cheapest_counts(covering)
        assert covering.covered(counts)
        cost = Objective(covering.prices).value(counts)
        for i in range(len(counts)):
            for j in range(len(counts)):
                other = list(counts)
                other[i] -= 1
                other[j] += i != j
                cheaper = Objective(covering.prices).value(other) < cost
                assert min(other) < 0 or not cheaper or not covering.covered(other)
