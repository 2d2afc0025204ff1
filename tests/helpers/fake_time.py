"""Time that passes by what is done and not on the machine, for tests of time limits."""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import highspy
import pytest
from ortools.sat.python import cp_model

_RUN_S = 0.05
"""What a solver runs in fact, however much time it is given."""

_true_time = time.perf_counter


class Clock:
    """Stands in for ``time.perf_counter``; whoever is not of the project, such as a compiler, sees the true time.

    Attributes
    ----------
    now_s : float
        What it shows.
    look_s : float
        Seconds that pass each time that somebody looks at it.
    """

    def __init__(self, look_s: float) -> None:
        self.now_s = 0.0
        self.look_s = look_s

    def __call__(self) -> float:
        if not sys._getframe(1).f_globals["__name__"].startswith(("spotbag.", "spotbag_papers.")):
            return _true_time()
        self.now_s += self.look_s
        return self.now_s


def fake_time(monkeypatch: pytest.MonkeyPatch, look_s: float = 0.0) -> Clock:
    """Let time pass only at looks at the clock, and as a test says."""
    clock = Clock(look_s)
    monkeypatch.setattr("time.perf_counter", clock)
    return clock


def solvers_take_all_their_time(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    """Let HiGHS, for integer programmes, and CP-SAT use up their time limits, though they stop after a moment."""
    run, solve = highspy.Highs.run, cp_model.CpSolver.solve

    def run_highs(solver: Any) -> Any:
        _, until_s = solver.getOptionValue("time_limit")
        limit_s = until_s - solver.getRunTime()  # it counts the time of all runs
        if limit_s < math.inf and solver.getLp().integrality_:
            clock.now_s += limit_s
            solver.setOptionValue("time_limit", solver.getRunTime() + min(limit_s, _RUN_S))
        return run(solver)

    def solve_cp_sat(solver: cp_model.CpSolver, *arguments: Any) -> Any:
        limit_s = solver.parameters.max_time_in_seconds
        if limit_s < math.inf:
            clock.now_s += limit_s
            solver.parameters.max_time_in_seconds = min(limit_s, _RUN_S)
        return solve(solver, *arguments)

    monkeypatch.setattr(highspy.Highs, "run", run_highs)
    monkeypatch.setattr(cp_model.CpSolver, "solve", solve_cp_sat)
