"""The least wall time of a small bag within a budget of paid units, by CP-SAT."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...core.errors import SpotbagError
from ...heuristics.streams.packing import Packing, wall_s_of
from ...models.streams.paid_units import UnitsProblem
from ..backend import SolverLimits
from ..cp_sat import solve_cp_model

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


def best_plan(problem: UnitsProblem, packing: Packing, lower_bound_s: int, limits: SolverLimits) -> tuple[Packing, int]:
    """Improve a plan until it is proved or time is up.

    Parameters
    ----------
    problem : UnitsProblem
        The bag.
    packing : list of list of int
        A plan within the budget.
    lower_bound_s : int
        No plan ends earlier.
    limits : SolverLimits
        With what to work.

    Returns
    -------
    packing : list of list of int
        The best plan found.
    lower_bound_s : int
        No plan ends earlier.

    Notes
    -----
    Hosts are numbered by their longest task: host i runs task i, none longer, or nothing at all. That leaves one
    number for each plan.
    """
    from ortools.sat.python import cp_model

    times, boot_s = problem.run_times_s, problem.boot_s
    latest_s = wall_s_of(problem, packing)
    most_units = problem.largest_units(latest_s)
    model = cp_model.CpModel()
    wall = model.new_int_var(lower_bound_s, latest_s, "wall")
    on: dict[tuple[int, int], cp_model.IntVar] = {}
    paid = []
    for host in range(len(times)):
        for task in range(host, len(times)):
            on[host, task] = model.new_bool_var(f"task_{task}_on_{host}")
            if task > host:
                model.add_implication(on[host, task], on[host, host])
        units = model.new_int_var(0, most_units, f"units_{host}")
        end = boot_s * on[host, host] + sum(times[task] * on[host, task] for task in range(host, len(times)))
        model.add(end <= wall)
        model.add(end <= problem.unit_s * units)
        paid.append(units)
    for task in range(len(times)):
        model.add_exactly_one(on[host, task] for host in range(task + 1))
    model.add(sum(paid) <= problem.budget_units)
    model.minimize(wall)
    chosen = {(min(host), task) for host in packing for task in host}
    for key, variable in on.items():
        model.add_hint(variable, key in chosen)

    def read(value_of: Callable[[cp_model.IntVar], int]) -> Packing:
        hosts = [[task for task in range(host, len(times)) if value_of(on[host, task])] for host in range(len(times))]
        return [host for host in hosts if host]

    answer = solve_cp_model(model, limits, read, factor=1.0)
    if answer.status == "infeasible":
        raise SpotbagError("CP-SAT finds no plan where there is one; please report this")
    found = packing if answer.values is None else answer.values
    proved_s = wall_s_of(problem, found) if answer.status == "optimal" else math.ceil(answer.bound - 1e-6)
    return found, max(lower_bound_s, proved_s)
