"""The integer programme of Burst-HADS (equations 1 to 6) by both solvers: on tiny bags, and how far each gets.

``python -m spotbag_papers.bags.time_indexed`` prints the tables of the appendix of its paper.
"""

from __future__ import annotations

import time
from typing import Any, get_args

import numpy as np

from spotbag.core.limits import within
from spotbag.instances.instance import Instance
from spotbag.models.bags.time_indexed import estimate_size
from spotbag.schedules.method import Run
from spotbag.solvers.bags.time_indexed_method import TimeIndexedOptions, time_indexed
from spotbag.solvers.pyomo_model import Solver

from ..measuring import asked, print_table

_LIMIT_S = 60.0
_TASKS = 5
_HORIZONS_S = (20, 40, 80, 120)


def tiny_bag(seed: int, tasks: int = _TASKS, horizon_s: int = 20) -> Instance:
    """Return a bag of few tasks, on two VM types whose cores and memory may bind; times grow with a horizon."""
    random = np.random.default_rng(seed)
    names, longest_s = ("a", "b"), horizon_s // 3
    document: dict[str, Any] = {
        "name": f"tiny {seed}",
        "deadline_s": horizon_s,
        "d_spot_s": int(random.integers(2 * horizon_s // 3, horizon_s + 1)),
        "objective": {"goal": "balanced", "cost_scale_usd": 0.001, "makespan_scale_s": 10},
    }
    document["vm_types"] = [
        {
            "name": name,
            "vcpus": int(random.integers(1, 3)),
            "memory_mb": int(random.integers(2, 5)),
            "offers": {
                "spot": {"price_usd_per_hour": float(random.integers(1, 9)) / 10, "limit": 2},
                "on-demand": {"price_usd_per_hour": float(random.integers(9, 20)) / 10, "limit": 2},
            },
        }
        for name in names
    ]
    document["tasks"] = [
        {
            "id": f"t{number}",
            "memory_mb": int(random.integers(1, 3)),
            "runtime_s": {name: int(random.integers(1, longest_s + 1)) for name in names},
        }
        for number in range(tasks)
    ]
    return Instance(**document)


def answer(instance: Instance, solver: Solver, limit_s: float = _LIMIT_S) -> tuple[float | None, float | None, float]:
    """Objective of the best plan, what is proved, and seconds of processor time."""
    began = time.process_time()
    with within(limit_s):
        outcome = time_indexed(instance, TimeIndexedOptions(solver=solver), Run())
    objective = None if outcome.schedule is None else outcome.schedule.objective
    return objective, outcome.bound, time.process_time() - began


def main() -> None:
    """Print the results of both solvers on tiny bags, and on a bag whose times are longer and longer."""
    n_bags = asked(__doc__, bags=200).bags
    solvers: tuple[Solver, ...] = get_args(Solver)
    found = {solver: [answer(tiny_bag(seed), solver) for seed in range(n_bags)] for solver in solvers}
    # Two optima of the same bag may be different plans: only objectives are compared.
    alike = sum(
        mine[0] is its[0] is None or (mine[0] is not None and its[0] is not None and abs(mine[0] - its[0]) < 1e-6)
        for mine, its in zip(*found.values(), strict=True)
    )
    print_table(
        f"{n_bags} bags of {_TASKS} tasks, a horizon of {_HORIZONS_S[0]} s: the same answer of both in {alike}",
        ["solver", "plans", "no plan exists", "proved", "seconds for a bag"],
        [
            [
                solver,
                f"{sum(objective is not None for objective, _, _ in of)}",
                f"{sum(objective is None for objective, _, _ in of)}",
                f"{sum(_is_proved(objective, bound) for objective, bound, _ in of)}",
                f"{sum(seconds for _, _, seconds in of) / n_bags:.2f}",
            ]
            for solver, of in found.items()
        ],
        words=1,
    )
    rows = []
    for horizon_s in _HORIZONS_S:
        bag = tiny_bag(1, 10, horizon_s)
        size = estimate_size(bag)
        cells = []
        for solver in solvers:
            objective, bound, seconds = answer(bag, solver)
            cells.append(f"{seconds:.1f}" if _is_proved(objective, bound) else f"none in {_LIMIT_S:.0f}")
        rows.append([f"{horizon_s}", f"{size.columns:,}", f"{size.rows:,}", f"{size.nonzeros:,}", *cells])
    headings = ["horizon (s)", "columns", "rows", "nonzeros", *(f"{solver}, proof (s)" for solver in solvers)]
    print_table(
        "A bag of 10 tasks whose times grow with the horizon: seconds until the optimum is proved", headings, rows
    )


def _is_proved(objective: float | None, bound: float | None) -> bool:
    if bound is None:
        return False
    return objective is None or bound > objective - 1e-6 * max(1.0, objective)


if __name__ == "__main__":
    main()
