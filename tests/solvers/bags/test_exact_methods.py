"""Exact methods, back ends and the route of ``auto``."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import threading
import time
from functools import cache
from typing import Any

import numpy as np
import pytest
from ortools.sat.python import cp_model

from spotbag.audits.bags.plan import check
from spotbag.bounds.bags.divisible_bound import divisible_bound
from spotbag.bounds.bags.divisible_programme import makespan_window
from spotbag.core.errors import InputError, ModelRefusal
from spotbag.core.limits import LimitReached, within
from spotbag.core.quantities import IntArray
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.heuristics.bags.search import search
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.models.bags.makespan_bounds import MakespanWindow
from spotbag.models.bags.patterns import PatternModel
from spotbag.models.bags.task_classes import task_classes
from spotbag.models.integer_program import IntegerProgram
from spotbag.schedules.method import Outcome, Run, TracePoint
from spotbag.solvers.backend import SolverAnswer, SolverLimits
from spotbag.solvers.bags.columns_method import _ColumnSearch
from spotbag.solvers.bags.methods import METHODS
from spotbag.solvers.bags.result import Result
from spotbag.solvers.bags.solve import solve
from spotbag.solvers.highs import solve_with_highs
from tests.helpers.cp_sat_programmes import solve_with_cp_sat
from tests.helpers.fake_time import fake_time, solvers_take_all_their_time
from tests.helpers.tiny_core_instances import hand_instance
from tests.helpers.tiny_instances import FAMILIES, tiny_instance
from tests.helpers.tiny_states import tiny_state

BACK_ENDS = [solve_with_highs, solve_with_cp_sat]
ONE_PROCESS = pytest.mark.xdist_group("hads/J60")
"""Tests that share plans of an instance on which every stage of `auto` has some work."""


@cache
def found_by_search() -> Result:
    return solve(library_instance("hads/J60"), "search")


def small_bag() -> Instance:
    """A third of the bag."""
    instance = library_instance("hads/J60")
    return instance.replace(tasks=instance.tasks[: len(instance.tasks) // 3])


@cache
def found_by_auto(whole: bool = False) -> tuple[Result, list[TracePoint]]:
    """What `auto` finds for a part of a bag, or for all of it, and what it reports on its way."""
    reported: list[TracePoint] = []
    instance = library_instance("hads/J60") if whole else small_bag()
    result = solve(instance, seed=5, on_progress=lambda point, planned: reported.append(point))
    return result, reported


def knapsack() -> IntegerProgram:
    """Fill 100 units of room as cheaply as possible: 7 of 13 and 1 of 9 units, for 7 * 0.4 + 0.3."""
    program = IntegerProgram(constant=1.0)
    large, small = program.add_column(0.4, upper=9), program.add_column(0.3, upper=9)
    program.add_row([large, small], [13, 9], lower=100)
    return program


@pytest.mark.slow
def test_highspy_and_ortools_work_in_one_process() -> None:
    code = (
        "import highspy, ortools.sat.python.cp_model\n"
        "from spotbag import library_instance, solve\n"
        "instance = library_instance('tiny/fast-or-cheap').replace(survive='none')\n"
        "for method in ('patterns', 'interval', 'patterns'):\n"
        "    result = solve(instance, method)\n"
        "    print(result.status, round(result.objective, 9))\n"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.split("\n")[:3] == ["optimal 0.7"] * 3


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_another_number_of_threads_in_one_process_gives_the_same_answer(back_end: Any) -> None:
    for threads in (1, 2, 1, 3):
        answer = back_end(knapsack(), SolverLimits(threads=threads))
        assert answer.status == "optimal"
        assert answer.values.tolist() == [7, 1]
        assert answer.bound == pytest.approx(4.1)


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_a_programme_without_solution_is_infeasible(back_end: Any) -> None:
    program = knapsack()
    program.add_row([0], [1], upper=2)
    program.add_row([1], [1], upper=2)
    answer = back_end(program, SolverLimits())
    assert answer.status == "infeasible"
    assert answer.bound == math.inf


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_a_programme_without_columns_is_judged_by_its_rows(back_end: Any) -> None:
    # HiGHS calls it empty; the pattern model of seed 400 of the memory family, where no task fits, was not infeasible.
    program = IntegerProgram(constant=2.0)
    program.add_row([], [], lower=0)
    assert back_end(program, SolverLimits()).status == "optimal"
    program.add_row([], [], lower=1)
    assert back_end(program, SolverLimits()).status == "infeasible"
    assert solve(tiny_instance(400, memory=True), "patterns").status == "infeasible"


def test_only_solutions_better_than_a_given_one_are_looked_for() -> None:
    assert solve_with_highs(knapsack(), SolverLimits(), better_than=4.2).status == "optimal"
    assert solve_with_highs(knapsack(), SolverLimits(), better_than=4.1 - 1e-6).values is None


def test_a_programme_knows_its_value_and_its_rows() -> None:
    program = knapsack()
    assert program.value(np.array([7, 1])) == pytest.approx(4.1)
    assert program.satisfied_by(np.array([7, 1]))
    assert not program.satisfied_by(np.array([7, 0]))
    assert not program.satisfied_by(np.array([10, 0]))


@pytest.mark.slow
def test_highs_finds_the_optimum_from_a_start_on_j80() -> None:
    # With mip_feasibility_tolerance 1e-9 and a start, HiGHS 1.14 called 0.25106957 optimal here.
    instance = with_d_spot(library_instance("hads/J80"))
    start = solve(instance, "search").schedule
    assert start is not None
    model = PatternModel(instance, makespan_window(instance, start.objective))
    answer = solve_with_highs(model.program, SolverLimits(), model.start(start))
    assert answer.status == "optimal"
    assert answer.values is not None
    assert model.schedule(answer.values).objective == pytest.approx(0.25100886130, abs=1e-11)


def test_a_relaxed_burstable_vm_may_end_between_the_moments_of_the_others() -> None:
    # The bound of the pattern model was 1.214 where the optimum is 1.131: seed 19 of the burstable family.
    instance = tiny_instance(19, burstable=True)
    exact = solve(instance, "interval")
    relaxed = solve(instance, "patterns")
    assert exact.status == "optimal"
    assert relaxed.bound is not None
    assert exact.objective is not None
    assert relaxed.bound <= exact.objective * (1 + 1e-9)


def test_a_part_of_the_window_does_not_inherit_the_bound_of_a_programme() -> None:
    # A later part took over the bound that an integer programme proved for the whole, plus the time between them.
    instance = tiny_instance(19, burstable=True)
    result = solve(instance, "columns")
    assert result.bound is not None
    assert result.bound <= 1.1309523809524 * (1 + 1e-9)


@pytest.mark.parametrize(
    ("cost_weight", "vm_s", "makespan_s"),
    # On VMs of two cores, tasks of 100 s to 104 s end at 303 s = 100 + 101 + 102 where the cost alone counts, else on
    # three VMs at 100 s, 102 s and 104 s. Cut into pieces on burstable VMs at the same price, 510 s take 255 s of VMs.
    [(1, 303, 303), (0.5, 306, 104)],
)
def test_columns_do_not_split_a_window_whose_bound_burstable_vms_hold(
    cost_weight: float, vm_s: int, makespan_s: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It was split 1,440 times at a weight of 0.5, and more often where the cost alone counts.
    offers = {"on-demand": {"price_usd_per_hour": 0.03, "limit": 3}}
    burstable = {"baseline_fraction": 0.2, "credits_per_hour": 24, "initial_credits": 2, "max_credits": 200}
    types = [
        {"name": "b", "vcpus": 2, "memory_mb": 100, "offers": offers, "burstable": burstable},
        {"name": "s", "vcpus": 2, "memory_mb": 100, "offers": {"spot": {"price_usd_per_hour": 0.03, "limit": 3}}},
    ]
    tasks = [{"id": f"t{k}", "memory_mb": 1, "base_runtime_s": 100 + k} for k in range(5)]
    objective = {"cost_weight": cost_weight, "cost_scale_usd": 1, "makespan_scale_s": 3600}
    instance = hand_instance(
        [], deadline_s=3600, d_spot_s=3600, vm_types=types, tasks=tasks, objective=objective, survive="none"
    )
    parts, generate = [], _ColumnSearch._generate

    def counted(search: _ColumnSearch, part: Any) -> None:
        parts.append((part.first_s, part.last_s))
        generate(search, part)

    monkeypatch.setattr(_ColumnSearch, "_generate", counted)
    plan = solve(instance, "columns")
    assert len(parts) == 1
    assert plan.objective is not None
    time_weight = (1 - cost_weight) / 3600
    assert plan.objective == pytest.approx(cost_weight * 0.03 / 3600 * vm_s + time_weight * makespan_s)
    assert plan.bound == pytest.approx(cost_weight * 0.03 / 3600 * 255 + time_weight * 104)


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_patterns_agree_on_both_solvers_for_a_part_of_a_bag(back_end: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spotbag.solvers.bags.patterns_method.solve_with_highs", back_end)
    result = solve(small_bag(), "patterns")
    assert result.status == "optimal"
    assert result.objective == pytest.approx(found_by_auto()[0].objective, rel=1e-9)


@pytest.mark.slow
@ONE_PROCESS
@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_patterns_agree_on_both_solvers(back_end: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spotbag.solvers.bags.patterns_method.solve_with_highs", back_end)
    instance, start = found_by_search().instance, found_by_search().schedule
    result = solve(instance, "patterns", initial=start)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(0.24791516553, abs=1e-11)


@pytest.mark.parametrize("name", [name for name in METHODS if METHODS[name].exact])
def test_exact_methods_start_from_a_plan_and_return_nothing_worse(name: str) -> None:
    instance = with_d_spot(library_instance("tiny/two-cores"))
    start = solve(instance, "lpt").schedule
    result = solve(instance, name, initial=start)
    assert start is not None
    assert result.objective is not None
    assert result.objective <= start.objective
    assert result.status == "optimal"


def test_an_initial_plan_that_breaks_a_rule_is_refused() -> None:
    instance = with_d_spot(library_instance("hads/J60"))
    start = solve(instance, "greedy").schedule
    assert start is not None
    with pytest.raises(InputError, match=r"(?s)initial plan.*breaks a rule"):
        solve(instance.replace(deadline_s=1300, d_spot_s=1000), "greedy", initial=start)
    with pytest.raises(InputError, match=r"(?s)initial plan.*does not fit the instance"):
        solve(library_instance("hads/J80"), "greedy", initial=start)


@ONE_PROCESS
def test_a_heuristic_gives_back_a_better_initial_plan() -> None:
    best = found_by_auto()[0].schedule
    assert best is not None
    assert solve(small_bag(), "greedy", initial=best).objective == best.objective


@pytest.mark.parametrize(
    ("method", "name", "said"),
    [
        ("patterns", "memory/m10", "memory of c3.large, c3.xlarge, c4.large can bind"),
        ("patterns", "distinct/200", "takes up to 40 classes"),
        ("columns", "distinct/1000", "take up to 250 classes"),
        ("class-programme", "hads/J60", "classes"),
        ("time-indexed", "hads/J60", "nonzeros"),
        pytest.param("interval", "distinct/1000", "40,000", marks=pytest.mark.slow),
    ],
)
def test_models_refuse_what_they_are_not_valid_for(method: str, name: str, said: str) -> None:
    with pytest.raises(ModelRefusal, match=said):
        solve(library_instance(name), method, initial=None)


def test_every_result_has_a_bound() -> None:
    for method in METHODS:
        result = solve(library_instance("tiny/two-cores"), method)
        assert result.bound == pytest.approx(0.3), method
        assert (result.status == "optimal") == (result.objective == pytest.approx(0.3)), method


def test_auto_is_never_worse_than_search_and_its_bound_than_the_divisible_one() -> None:
    for seed in range(6):
        instance = tiny_instance(seed, memory=seed % 2 == 0)
        result, alone = solve(instance), solve(instance, "search", options={"moves": 200})
        if alone.objective is not None and result.objective is not None:
            assert result.objective <= alone.objective + 1e-12
        assert result.bound is not None
        assert (
            result.bound >= divisible_bound(with_d_spot(instance)).objective * (1 - 1e-9) or result.status == "optimal"
        )


@ONE_PROCESS
def test_auto_is_deterministic_with_a_seed() -> None:
    first, second = found_by_auto()[0], solve(small_bag(), seed=5)
    assert first.schedule is not None
    assert second.schedule is not None
    assert first.status == "optimal"
    assert np.array_equal(first.schedule.task_vm, second.schedule.task_vm)
    assert np.array_equal(first.schedule.task_start_s, second.schedule.task_start_s)


def test_a_target_gap_ends_the_route_early() -> None:
    result = solve(library_instance("hads/J60"), target_gap=0.1)
    assert result.status == "feasible"
    assert result.gap is not None
    assert 0 < result.gap <= 0.1


@pytest.mark.parametrize(
    ("name", "method"), [("burst-hads/ED200", "auto"), ("memory/m30", "interval"), ("memory/m30", "columns")]
)
def test_time_limits_are_observed(name: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = with_d_spot(library_instance(name))
    start = solve(instance, "lpt").schedule
    clock = fake_time(monkeypatch, look_s=0.05)
    solvers_take_all_their_time(monkeypatch, clock)
    result = solve(instance, method, time_limit_s=10, initial=start)
    assert result.runtime_s < 11.5  # thirty looks at the clock more
    assert result.schedule is not None
    assert result.bound is not None
    assert result.bound > 0


def too_small(**changes: Any) -> Instance:
    return library_instance("hads/J60").replace(**changes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"deadline_s": 310, "d_spot_s": 0, "limits": {"max_on_demand": 6}},
            r"even if tasks could be cut, 6 VMs .* rests on each of D_spot \(0 s.*\), limits.max_on_demand \(6\); .*",
        ),
        ({"markets": ["spot"], "d_spot_s": 90}, "no plan exists"),
    ],
)
def test_infeasibility_is_proved_and_explained(changes: dict[str, Any], said: str) -> None:
    result = solve(too_small(**changes))
    assert result.status == "infeasible"

    assert re.search(said, result.message), result.message


@pytest.mark.slow
def test_the_least_deadline_of_an_infeasible_instance_is_the_bound_s_and_a_plan_exists_at_the_other() -> None:
    instance = library_instance("hads/ED200").replace(deadline_s=400, d_spot_s=100, d_spot_rule=None)
    message = solve(instance).message
    said = (
        r"at least ([\d,]+) s with a D_spot of ([\d,]+) s, and a plan exists at ([\d,]+) s with a D_spot of ([\d,]+) s"
    )
    [numbers] = re.findall(said, message)
    least_s, least_d_spot_s, later_s, later_d_spot_s = (int(number.replace(",", "")) for number in numbers)
    enough = instance.replace(deadline_s=least_s, d_spot_s=least_d_spot_s)
    almost = instance.replace(deadline_s=least_s - 1, d_spot_s=least_d_spot_s - 1)
    assert math.isfinite(divisible_bound(enough).objective)
    assert math.isinf(divisible_bound(almost).objective)
    later = instance.replace(deadline_s=later_s, d_spot_s=later_d_spot_s)
    assert solve(later, "search", options={"moves": 1_000}).schedule is not None
    assert later_s <= 1.2 * least_s


def test_classes_collect_identical_tasks_and_cover_the_bag() -> None:
    instance = with_d_spot(library_instance("hads/ED200"))
    classes = task_classes(instance)
    assert sorted(np.concatenate(classes.tasks).tolist()) == list(range(instance.n_tasks))
    assert int(classes.size.sum()) == instance.n_tasks


@ONE_PROCESS
def test_the_window_holds_the_makespan_of_the_optimum() -> None:
    result, _ = found_by_auto()
    instance = result.instance
    assert result.schedule is not None
    window = makespan_window(instance, result.schedule.objective)
    assert window.earliest_s <= result.schedule.makespan_s <= window.latest_s
    assert window.latest_s < makespan_window(instance).latest_s
    assert not window.empty
    assert MakespanWindow(2, 1).empty


INTERRUPTED = """
import signal, sys, threading
from spotbag import library_instance, solve

signal.signal(signal.SIGINT, signal.default_int_handler)
plans = []

class Interrupted(threading.Event):  # when a solver is waited for, and there is a plan
    def wait(self, timeout=None):
        if timeout is not None and len(plans) == 1:
            plans.append("interrupted")
            signal.raise_signal(signal.SIGINT)
        return super().wait(timeout)

def note(point, planned):
    if point.best < float("inf") and not plans:
        plans.append(point)

threading.Event = Interrupted
result = solve(library_instance("memory/m20"), sys.argv[1], time_limit_s=600, on_progress=note)
print(result.interrupted, result.objective > 0, result.bound > 0)
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "columns", "interval"])
def test_an_interrupt_gives_the_best_plan_and_bound_so_far(method: str) -> None:
    """The signal comes while a solver runs in its thread; all that in a process of its own."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, method], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "True True True"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["memory/m10", "memory/never-two"])
def test_exact_plans_pass_the_checker_on_library_instances(name: str) -> None:
    result = solve(library_instance(name), "columns")
    assert result.status == "optimal"
    assert result.schedule is not None
    assert check(result.instance, result.schedule).feasible


@ONE_PROCESS
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_progress_is_reported_with_bound_and_best_plan(whole: bool) -> None:
    result, described = found_by_auto(whole)
    assert [point.iteration for point in described] == sorted(point.iteration for point in described)
    assert result.objective is not None
    assert described[-1].best == pytest.approx(result.objective)
    bounds = [point.bound for point in described if point.bound is not None]
    assert bounds == sorted(bounds)
    assert Run().target_gap == 0


def test_auto_proves_a_bag_however_long_the_search_before_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = fake_time(monkeypatch)

    def slow(*given: Any, **named: Any) -> Outcome:
        clock.now_s += 60  # as compiling on a busy machine
        return search(*given, **named)

    monkeypatch.setattr("spotbag.solvers.bags.route.search", slow)
    assert solve(tiny_instance(5, **FAMILIES["memory"]), "auto").status == "optimal"


@pytest.mark.slow
def test_columns_go_on_where_a_programme_outlasts_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[IntegerProgram] = []

    def outlasts_once(program: IntegerProgram, *given: Any, **named: Any) -> SolverAnswer[IntArray]:
        calls.append(program)
        if len(calls) == 1:
            raise LimitReached
        return solve_with_highs(program, *given, **named)

    monkeypatch.setattr("spotbag.solvers.bags.columns_method.solve_with_highs", outlasts_once)
    result = solve(library_instance("memory/m10"), "columns")
    assert result.status == "optimal"
    assert result.schedule is not None
    assert check(result.instance, result.schedule).feasible
    assert len(calls) > 1


def test_cp_sat_that_is_left_to_itself_has_its_last_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has told of the solution by `on_progress`; then it notices nothing any more."""
    reported: list[float] = []
    stop = threading.Event()
    solve_model = cp_model.CpSolver.solve

    def sleeps_afterwards(solver: cp_model.CpSolver, *given: Any) -> Any:
        status = solve_model(solver, *given)
        stop.set()
        time.sleep(1.0)
        return status

    monkeypatch.setattr(cp_model.CpSolver, "solve", sleeps_afterwards)
    limits = SolverLimits(on_progress=lambda objective, bound: reported.append(objective))
    with within(stop=stop):
        answer = solve_with_cp_sat(knapsack(), limits)
    assert answer.status == "feasible"
    assert answer.values is not None
    assert knapsack().value(answer.values) == pytest.approx(reported[-1])


@pytest.mark.parametrize("method", ["interval", "auto"])
def test_a_model_on_which_the_presolve_of_cp_sat_fails_is_solved(method: str) -> None:
    found = solve(tiny_state("memory", 488), method, survive="none", threads=1)
    assert found.status == "infeasible"
