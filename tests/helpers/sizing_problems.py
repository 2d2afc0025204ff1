"""Jobs to be sized: by hand, at random with many ties, and the best counts by trying all."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

from spotbag.models.streams.sizing import SizingProblem, TypeChoice, all_tasks_finish, planning_cost_usd


def job(n_tasks: int, available_s: int, *types: tuple[float, object], overhead_s: int = 0) -> SizingProblem:
    """A job with types a, b, c, ... of a price and a run time (a decimal in quotes, or None); blocks of 600 s."""
    choices = tuple(
        TypeChoice(name, price, None if runtime is None else Fraction(str(runtime)))
        for name, (price, runtime) in zip("abcdefghijklmnop", types, strict=False)
    )
    return SizingProblem(n_tasks, available_s, overhead_s, 600, choices)


def random_job(seed: int, most_tasks: int = 300) -> SizingProblem:
    """A job with up to eight types; prices and run times are drawn from few values, so that ties are common."""
    numbers = random.Random(seed)
    style = numbers.randrange(3)
    types = []
    for position in range(numbers.choice([1, 2, 3, 3, 3, 5, 8])):
        if style == 0:
            runtime = Fraction(numbers.randint(1, 400))
        elif style == 1:
            runtime = Fraction(numbers.randint(1, 4000), numbers.choice([3, 7, 10]))
        else:
            runtime = Fraction(numbers.choice([10, 20, 30, 40, 60]))
        price = numbers.choice([numbers.randint(1, 9) / 10, numbers.randint(50, 500) / 1000, 0.1, 0.2])
        types.append(TypeChoice(f"t{position}", price, None if numbers.random() < 0.05 else runtime))
    return SizingProblem(
        n_tasks=numbers.randint(0, numbers.choice([5, 50, most_tasks])),
        available_s=numbers.randint(0, 1500),
        creation_overhead_s=numbers.choice([0, 15, 60]),
        block_s=numbers.choice([60, 600, 3600]),
        types=tuple(types),
    )


def best_by_trying_all(problem: SizingProblem) -> tuple[int, ...] | None:
    """Counts that are meant: least cost, fewest instances, most of the first types; None if there are none."""
    best: tuple[object, ...] | None = None
    for counts in itertools.product(range(problem.n_tasks + 1), repeat=len(problem.types)):
        if all_tasks_finish(problem, counts):
            cost = planning_cost_usd(problem, counts)
            order = (cost, sum(counts), tuple(-number for number in counts))
            if best is None or order < best[:3]:
                best = (*order, counts)
    return None if best is None else best[3]  # type: ignore[return-value]
