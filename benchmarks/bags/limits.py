"""Accuracy and worth of time limits: ``python -m spotbag_papers.bags.limits``.

Generated bags of distinct tasks, a VM of each type and market for each 40 tasks; every method in a process that is
warm. The times say something on an idle machine only.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from spotbag.core.errors import ModelRefusal
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.instance import Instance
from spotbag.schedules.method import TracePoint
from spotbag.solvers.bags.methods import METHODS
from spotbag.solvers.bags.solve import solve
from spotbag.solvers.bags.warm_up import warm_up

from ..measuring import asked, print_table

SIZES = (20, 200, 1_000, 10_000, 100_000)
LIMITS_S = (0.05, 0.2, 1.0, 5.0, 20.0)
_TASKS_A_VM = 40
_LEAST_LIMIT = 5
_PERCENT = 100


def bag(n_tasks: int) -> Instance:
    """A bag of distinct tasks, with D_spot."""
    limit = max(n_tasks // _TASKS_A_VM, _LEAST_LIMIT)
    return with_d_spot(
        generate_instance(
            n_tasks,
            distinct=True,
            limit=limit,
            max_on_demand=4 * limit,
            name=f"{n_tasks}",
            d_spot_fraction=0.8,
            goal="balanced",
        )
    )


def allowed_s(limit_s: float) -> float:
    """Longest accepted time of a run with a limit: 50 ms and 5 % more."""
    return 1.05 * limit_s + 0.05


def rows(methods: Sequence[str], sizes: Sequence[int], limits_s: Sequence[float]) -> Iterator[Sequence[object]]:
    """Rows of bags, methods and limits: time taken, longest silence, gap."""
    for n_tasks in sizes:
        instance = bag(n_tasks)
        for method in methods:
            for limit_s in limits_s:
                reports = [time.perf_counter()]

                def report(_: TracePoint, __: int, reports: list[float] = reports) -> None:
                    reports.append(time.perf_counter())

                begin = time.perf_counter()
                try:
                    result = solve(instance, method, time_limit_s=limit_s, on_progress=report)
                except ModelRefusal:
                    yield n_tasks, method, limit_s, time.perf_counter() - begin, "", "", "refused"
                    break
                took_s = time.perf_counter() - begin
                silence_s = max(
                    after - before for before, after in zip(reports, [*reports[1:], begin + took_s], strict=True)
                )
                late_s = took_s - allowed_s(limit_s)
                gap = result.status if result.gap is None else f"{_PERCENT * result.gap:.3f}"
                yield n_tasks, method, limit_s, took_s, late_s if late_s > 0 else "", silence_s, gap
                if took_s < limit_s / 2:
                    break  # more time changes nothing


def main() -> None:
    """Run as a command."""
    given = asked(__doc__, methods=tuple(METHODS), sizes=SIZES, limits=LIMITS_S)
    warm_up(given.methods)
    times = {"limit (s)": "g", "taken (s)": ".3f", "too late (s)": ".3f", "longest silence (s)": ".2f"}
    columns = {"tasks": ",", "method": "", **times, "gap (%)": ""}
    print_table("time limits", columns, rows(given.methods, given.sizes, given.limits))


if __name__ == "__main__":
    main()
