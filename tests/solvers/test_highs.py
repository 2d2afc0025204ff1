"""HiGHS as a back end: what it once got wrong."""

from __future__ import annotations

import numpy as np
import pytest

from spotbag.bounds.programme import Programme
from spotbag.core.quantities import IntArray
from spotbag.instances.instance import Instance
from spotbag.models.integer_program import INFINITE, IntegerProgram
from spotbag.solvers.backend import SolverLimits
from spotbag.solvers.bags import column_master
from spotbag.solvers.bags.solve import solve
from spotbag.solvers.highs import solve_with_highs
from tests.helpers.cp_sat_programmes import solve_with_cp_sat
from tests.helpers.exhaustive import tiny_optimum
from tests.helpers.tiny_instances import tiny_instance


def counted_cores() -> IntegerProgram:
    """Programme of cores counted by their ends, with equalities, for which HiGHS 1.12 to 1.15.1 say 1.875.

    Without any one of its 12 rows they are right.
    """
    costs = {0: 0.375, 1: 0.75, 2: 0.75, 19: 0.375, 20: 0.375}
    upper = {0: 1, 2: 1, 3: 3, 4: 3, 14: 3, 15: 3, 16: 3, 19: 1, 20: 1}
    program = IntegerProgram()
    for column in range(21):
        program.add_column(costs.get(column, 0.0), upper=upper.get(column, 0))
    rows = [
        ([0, 1, 2, 5, 6, 7, 8, 9], [1, 2, 1, 1, 1, 1, 1, 2], 2, INFINITE),
        ([3, 4, 5, 6], [1, 2, 2, 1], 2, INFINITE),
        ([10, 11], [1, -1], 0, INFINITE),
        ([11, 12], [1, -1], 0, INFINITE),
        ([12, 13], [1, -1], 0, INFINITE),
        ([0, 1], [1, 1], -INFINITE, 1),
        ([1, 10], [1, -1], -INFINITE, 0),
        ([2], [1], -INFINITE, 1),
        ([14, 15, 3], [1, -1, -1], 0, 0),
        ([14, 19], [1, -3], -INFINITE, 0),
        ([15, 16, 4], [1, -1, -1], 0, 0),
        ([15, 20], [1, -3], -INFINITE, 0),
    ]
    for columns, coefficients, low, high in rows:
        program.add_row(columns, coefficients, low, high)
    return program


def test_presolve_keeps_the_optimum_of_counted_cores() -> None:
    assert len(counted_cores().rows) == 12
    for back_end in (solve_with_highs, solve_with_cp_sat):
        answer = back_end(counted_cores(), SolverLimits())
        assert answer.status == "optimal"
        assert answer.values is not None
        assert counted_cores().value(answer.values) == pytest.approx(1.5)


def counted_vms() -> tuple[IntegerProgram, IntArray]:
    """Programme of cores counted by VMs, with a start, which HiGHS 1.16.0 hands out with the objective of the optimum.

    Without any one of its 15 rows it hands out the optimum.
    """
    upper = [1, 1, 4, 2, 4, 4, 1, 1, 4, 2, 4, 1, 1, 1, 3, 1, 3, 1, 3, 1]
    vms = [3, 9, 15, 17, 19]
    program = IntegerProgram()
    for column, most in enumerate(upper):
        program.add_column(float(column in vms), upper=most)
    for columns in ([0, 1, 6, 11, 13], [1, 7, 12, 13]):
        program.add_row(columns, [1] * len(columns), 1, INFINITE)
    for more, less in (([2], [4, 0]), ([4], [5]), ([5], [1]), ([8], [10, 6]), ([10], [7])):
        program.add_row([*more, *less], [1] + [-1] * len(less), 0, INFINITE)
    for more, less in (([14], [16, 11]), ([16], [18, 12]), ([18], [13])):
        program.add_row([*more, *less], [1] + [-1] * len(less), 0, INFINITE)
    for cores, vm, most in ((2, 3, 2), (8, 9, 2), (14, 15, 3), (16, 17, 3), (18, 19, 3)):
        program.add_row([cores, vm], [1, -most], -INFINITE, 0)
    start = np.zeros(len(upper), dtype=np.int64)
    start[[0, 2, 3, 12, 14, 15, 16, 17]] = 1
    return program, start


def test_the_values_are_those_of_the_optimum_and_not_of_the_start() -> None:
    program, start = counted_vms()
    assert len(program.rows) == 15
    assert program.satisfied_by(start)
    assert program.value(start) == 3  # columns 3, 15 and 17
    for back_end in (solve_with_highs, solve_with_cp_sat):
        answer = back_end(program, SolverLimits(), start)
        assert answer.status == "optimal"
        assert answer.values is not None
        assert program.value(answer.values) == 1  # column 9


@pytest.mark.slow
def test_columns_of_cores_find_the_optimum_of_six_classes_on_large_vms() -> None:
    # With HiGHS 1.14 they called 0.199 optimal.
    runtimes = [(9, 2), (9, 4), (7, 9), (6, 2), (11, 6), (2, 7)]
    document = {
        "format": "spotbag.instance/1",
        "name": "six classes",
        "deadline_s": 40,
        "d_spot_s": 40,
        "objective": {"cost_weight": 0.9, "cost_scale_usd": 0.01, "makespan_scale_s": 50},
        "vm_types": [
            {
                "name": "a",
                "vcpus": 8,
                "memory_mb": 99999,
                "offers": {
                    "spot": {"price_usd_per_hour": 3.6, "limit": 3},
                    "on-demand": {"price_usd_per_hour": 0.36, "limit": 2},
                },
            },
            {"name": "b", "vcpus": 8, "memory_mb": 99999, "offers": {"spot": {"price_usd_per_hour": 0.5, "limit": 2}}},
        ],
        "tasks": [
            {"id": f"t{number}", "memory_mb": 1, "count": 5, "runtime_s": {"a": on_a, "b": on_b}}
            for number, (on_a, on_b) in enumerate(runtimes)
        ],
    }
    instance = Instance.from_document(document, "six classes")
    for method in ("columns", "patterns"):
        result = solve(instance, method)
        assert result.status == "optimal"
        assert result.objective == pytest.approx(0.197)


@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 180), marks=pytest.mark.slow)], ids=str)
def test_columns_of_cores_agree_with_the_exhaustive_optimum(monkeypatch: pytest.MonkeyPatch, seeds: range) -> None:
    # Tiny bags have columns of whole VMs otherwise.
    monkeypatch.setattr(column_master, "MOST_TASKS_OF_A_VM", 0)
    for seed in seeds:
        best = tiny_optimum("cores", seed)
        result = solve(tiny_instance(seed), "columns")
        if best is None:
            assert result.status == "infeasible", seed
        else:
            assert result.status == "optimal", seed
            assert result.objective == pytest.approx(best.objective), seed


def test_a_linear_programme_is_solved_after_an_integer_one_with_more_threads() -> None:
    # HiGHS has one scheduler for a process: asked for one thread when that has two, it solved nothing, and said 0.
    assert solve_with_highs(counted_cores(), SolverLimits(threads=2)).status == "optimal"
    programme = Programme()
    programme.add_column(-1.0, upper=3.5)
    assert programme.solve()
    assert programme.objective == -3.5
    solve_with_highs(counted_cores(), SolverLimits())


def test_costs_objective_and_duals_are_in_the_units_of_the_caller_whatever_the_size() -> None:
    # 3 x at a cost of 2e-9 each for at least 3: 6e-9, and one more would cost 2e-9.
    for size in (None, 6e-9, 1e6):
        programme = Programme(size)
        programme.add_row(lower=3.0)
        programme.add_column(2e-9, [0], [1.0])
        assert programme.solve()
        assert programme.objective == pytest.approx(6e-9)
        assert programme.values.tolist() == [3.0]
        assert programme.duals[0] == pytest.approx(2e-9)
        programme.set_row_bounds(0, 3.0, 3.0)
        assert programme.objective == pytest.approx(6e-9)  # also after a change
