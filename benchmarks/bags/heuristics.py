"""Gaps and times of the heuristics: ``python -m spotbag_papers.bags.heuristics``.

Prints four tables, or that of ``--table``: the gap of the search to the proven bound (``gaps``), the heuristics where
memory binds (``memory``), the cost of a move of the iterated local search (``moves``), and what 20 s of column
generation gain over the divisible bound and the plan of the search (``columns``), of bags with few tasks to a core and
those whose memory binds. Times are those of solving, without reading, compiling and start-up; those of moves are of a
processor.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from spotbag.core.quantities import relative_gap
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.heuristics.bags.iterated_local_search import IlsOptions, LocalSearch
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance, library_names
from spotbag.schedules.method import Run
from spotbag.schedules.queues import Queue, queue_times
from spotbag.solvers.bags.solve import solve

from ..measuring import asked, print_table

_COLUMNS_S = 20.0


def bag(n_tasks: int, limit: int, seed: int) -> Instance:
    """Distinct tasks of 60 to 900 s on the three regular types of Burst-HADS, spot only, ``limit`` VMs of each."""
    instance = generate_instance(
        n_tasks, runtime_s="uniform:60:900", limit=limit, seed=seed, tightness=0.3, d_spot_fraction=0.8, goal="balanced"
    )
    return with_d_spot(instance.replace(markets=["spot"]))


def gap_rows() -> Iterator[Sequence[object]]:
    """Gap of the search to the proven bound, three seeds each."""
    cases = [(10_000, 20), (100_000, 20), (1_000, 20), (1_000, 50), (1_000, 100)]
    for n_tasks, limit in cases:
        cores = limit * 8
        results = [solve(bag(n_tasks, limit, seed), "search", seed=seed, survive="none") for seed in (1, 2, 3)]
        gaps = [100 * (result.gap or 0.0) for result in results]
        seconds = [result.runtime_s for result in results]
        means = np.mean(gaps), max(gaps), np.mean(seconds), max(seconds)
        yield n_tasks, 3 * limit, n_tasks / cores, *means


def memory_rows() -> Iterator[Sequence[object]]:
    """Objective of every heuristic where memory binds."""
    for name in library_names():
        if name.startswith("memory/"):
            results = [solve(library_instance(name), method) for method in ("greedy", "lpt", "ils", "search")]
            yield name, *(result.objective for result in results), 100 * (results[-1].gap or 0.0)


def column_rows() -> Iterator[Sequence[object]]:
    """Gap of the search's plan to the divisible bound, and of the best plan to the best bound after 20 s of columns."""
    solve(library_instance("tiny/two-cores"), "columns")  # what is compiled at first does not count
    sizes = ((20, 3), (40, 3), (40, 5), (60, 3), (100, 5))
    bags = {f"{n_tasks} distinct tasks on {8 * limit} cores": bag(n_tasks, limit, seed=1) for n_tasks, limit in sizes}
    bags |= {name: with_d_spot(library_instance(name)) for name in library_names() if name.startswith("memory/")}
    for name, instance in bags.items():
        before = solve(instance, "search")
        after = solve(instance, "columns", time_limit_s=_COLUMNS_S, initial=before.schedule)
        gaps = before.gap, after.gap, relative_gap(before.objective, after.objective)
        yield name, *(None if gap is None else 100 * gap for gap in gaps), after.runtime_s


def move_rows() -> Iterator[Sequence[object]]:
    """Cost of a move of the iterated local search, against rebuilding all queues in Python after each move."""
    for n_tasks in (50, 100, 200, 500, 1000, 2000, 5000):
        # As many VMs as keep the tasks of a VM few, as in the papers' jobs.
        instance = bag(n_tasks, limit=max(2, n_tasks // 60), seed=1)
        instance = instance.replace(deadline_s=4 * instance.deadline_s, d_spot_s=4 * instance.deadline_s)
        result = solve(instance, "greedy")
        assert result.schedule is not None
        options = IlsOptions()
        search = LocalSearch(instance, result.schedule, options, Run(seed=1))
        moves = max(int(options.swap_rate * n_tasks), 1) * options.max_attempt
        rounds = max(2, 100_000 // moves)
        begin = time.process_time()
        for _ in range(rounds):
            search.local_search()
        per_move = (time.process_time() - begin) / rounds / moves
        queues = [
            Queue(offer, search.vm_tasks[vm, : search.vm_count[vm]].tolist()) for vm, offer in enumerate(search.offers)
        ]
        repeats = max(1, 2000 // n_tasks)
        begin = time.process_time()
        for _ in range(repeats):
            for queue in queues:
                queue_times(instance, queue)
        rebuilt = (time.process_time() - begin) / repeats
        begin = time.process_time()
        full = solve(instance, "ils", options={"burst_rate": 0.0})
        seconds = time.process_time() - begin
        times = 1e6 * per_move, 1e6 * rebuilt, rebuilt / per_move, seconds
        yield n_tasks, len(search.offers), *times, full.objective


def main() -> None:
    """Run as a command."""
    objectives = dict.fromkeys(("greedy", "lpt", "ils", "search"), ".6f")
    gaps = {"mean gap (%)": ".4f", "worst gap (%)": ".4f", "mean time (s)": ".2f", "worst time (s)": ".2f"}
    better = dict.fromkeys(("gap of search (%)", "gap after columns (%)", "better plan by (%)"), ".2f")
    moves = {"move (µs)": ".2f", "all queues in Python (µs)": ",.0f", "ratio": ",.0f", "whole run (s)": ".2f"}
    tables: dict[str, tuple[str, dict[str, str], Callable[[], Iterator[Sequence[object]]]]] = {
        "gaps": (
            "gap of the search to the proven bound",
            {"tasks": ",", "VMs": "", "tasks per core": ".2f", **gaps},
            gap_rows,
        ),
        "memory": (
            "objective where memory binds",
            {"instance": "", **objectives, "gap of search (%)": ".2f"},
            memory_rows,
        ),
        "moves": (
            "a move of the iterated local search",
            {"tasks": ",", "VMs": "", **moves, "objective": ".6f"},
            move_rows,
        ),
        "columns": (
            "columns, 20 s from the plan of the search",
            {"bag": "", **better, "time (s)": ".1f"},
            column_rows,
        ),
    }
    chosen = asked(__doc__, table=tables).table
    solve(bag(60, 5, 0), "search")  # compiles
    solve(bag(60, 5, 0), "ils")
    solve(library_instance("memory/m10"), "search")
    for name in chosen:
        title, columns, rows = tables[name]
        print_table(title, columns, rows(), words=1 if name in ("memory", "columns") else 0)


if __name__ == "__main__":
    main()
