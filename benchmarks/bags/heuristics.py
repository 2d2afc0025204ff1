"""Gaps and times of the heuristics: ``python -m spotbag_papers.bags.heuristics``.

Prints three tables, or that of ``--table``: the gap of the search to the proven bound (``gaps``), the heuristics where
memory binds (``memory``), and the cost of a move of the iterated local search (``moves``). Times are those of solving,
without reading, compiling and start-up; those of moves are of a processor.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.heuristics.bags.iterated_local_search import IlsOptions, LocalSearch
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance, library_names
from spotbag.schedules.method import Run
from spotbag.schedules.queues import Queue, queue_times
from spotbag.solvers.bags.result import Result
from spotbag.solvers.bags.solve import solve

from ..measuring import asked, print_table


def bag(n_tasks: int, limit: int, seed: int) -> Instance:
    """Distinct tasks of 60 to 900 s on the three regular types of Burst-HADS, spot only, ``limit`` VMs of each."""
    instance = generate_instance(
        n_tasks, runtime_s="uniform:60:900", limit=limit, seed=seed, tightness=0.3, d_spot_fraction=0.8, goal="balanced"
    )
    return with_d_spot(instance.replace(markets=["spot"]))


def gap_rows() -> Iterator[Sequence[str]]:
    """Gap of the search to the proven bound, three seeds each."""
    cases = [(10_000, 20), (100_000, 20), (1_000, 20), (1_000, 50), (1_000, 100)]
    for n_tasks, limit in cases:
        cores = limit * 8
        results = [solve(bag(n_tasks, limit, seed), "search", seed=seed, survive="none") for seed in (1, 2, 3)]
        gaps = [100 * (result.gap or 0.0) for result in results]
        seconds = [result.runtime_s for result in results]
        yield (
            f"{n_tasks:,}",
            f"{3 * limit}",
            f"{n_tasks / cores:.2f}",
            f"{np.mean(gaps):.4f}",
            f"{max(gaps):.4f}",
            f"{np.mean(seconds):.2f}",
            f"{max(seconds):.2f}",
        )


def memory_rows() -> Iterator[Sequence[str]]:
    """Objective of every heuristic where memory binds."""
    for name in library_names():
        if name.startswith("memory/"):
            results = [solve(library_instance(name), method) for method in ("greedy", "lpt", "ils", "search")]
            yield (name, *(_objective(result) for result in results), f"{100 * (results[-1].gap or 0.0):.2f}")


def _objective(result: Result) -> str:
    return "-" if result.objective is None else f"{result.objective:.6f}"


def move_rows() -> Iterator[Sequence[str]]:
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
        yield (
            f"{n_tasks:,}",
            str(len(search.offers)),
            f"{1e6 * per_move:.2f}",
            f"{1e6 * rebuilt:,.0f}",
            f"{rebuilt / per_move:,.0f}",
            f"{seconds:.2f}",
            _objective(full),
        )


def main() -> None:
    """Run as a command."""
    tables = {
        "gaps": (
            "gap of the search to the proven bound",
            ("tasks", "VMs", "tasks per core", "mean gap (%)", "worst gap (%)", "mean time (s)", "worst time (s)"),
            gap_rows,
        ),
        "memory": (
            "objective where memory binds",
            ("instance", "greedy", "lpt", "ils", "search", "gap of search (%)"),
            memory_rows,
        ),
        "moves": (
            "a move of the iterated local search",
            ("tasks", "VMs", "move (µs)", "all queues in Python (µs)", "ratio", "whole run (s)", "objective"),
            move_rows,
        ),
    }
    chosen = asked(__doc__, table=tables).table
    solve(bag(60, 5, 0), "search")  # compiles
    solve(bag(60, 5, 0), "ils")
    solve(library_instance("memory/m10"), "search")
    for name in chosen:
        title, headings, rows = tables[name]
        print_table(title, headings, rows(), words=1 if name == "memory" else 0)


if __name__ == "__main__":
    main()
