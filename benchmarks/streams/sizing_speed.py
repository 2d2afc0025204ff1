"""Times of sizing by both methods: ``python -m spotbag_papers.streams.sizing_speed``.

Types are drawn around what a core costs and does, so that none is far better than the others: the hard case for an
integer programme. Times are medians, without start-up.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator, Sequence
from fractions import Fraction

from spotbag.models.streams.sizing import SizingProblem, TypeChoice, covering_of
from spotbag.solvers.streams.sizing import SIZING_METHODS, size_job

from ..measuring import print_table

_REPEATS = 9


def problem(n_tasks: int, n_types: int, seed: int) -> SizingProblem:
    """Job of an hour; types of 1 to 16 cores whose price and speed deviate by up to a third."""
    numbers = random.Random(seed)
    types = []
    for position in range(n_types):
        cores = numbers.choice([1, 2, 4, 8, 16])
        price = round(0.05 * cores * numbers.uniform(0.8, 1.3), 4)
        runtime = Fraction(round(1600 / cores * numbers.uniform(0.8, 1.3)), 10)
        types.append(TypeChoice(f"type-{position}", price, runtime))
    return SizingProblem(n_tasks, 3600, 60, 3600, tuple(types))


def rows() -> Iterator[Sequence[object]]:
    """Median times of both methods."""
    for n_types in (3, 50, 500):
        for n_tasks in (100, 10_000, 100_000):
            problems = [problem(n_tasks, n_types, seed) for seed in range(_REPEATS)]
            retained = [len(covering_of(one).without_dominated().tasks) for one in problems]
            sizings = [[size_job(one, method) for one in problems] for method in SIZING_METHODS]
            same = sum(one.counts == other.counts for one, other in zip(*sizings, strict=True))
            times = [1000 * statistics.median(one.runtime_s for one in of) for of in sizings]
            yield n_types, n_tasks, statistics.median(retained), *times, f"{same} of {len(problems)}"


def main() -> None:
    """Print the table."""
    size_job(problem(10, 3, 0))  # loads the solver
    times = {"milp (ms)": ".1f", "dynamic programme (ms)": ".1f"}
    columns = {"types": "", "tasks": ",", "not dominated": ".0f", **times, "same counts": ""}
    print_table("sizing, medians", columns, rows())


if __name__ == "__main__":
    main()
