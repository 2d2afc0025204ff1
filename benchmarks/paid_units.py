"""How far the least wall time within a budget is proved: ``python -m spotbag.benchmarks.paid_units``.

Bags like those of the A2HA paper, drawn anew: it publishes no run times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..models.paid_units import fewest_paid_units
from ..solvers.paid_units import least_makespan_within
from .heuristics import print_table

_PERCENT = 100


def bags(seed: int = 0) -> dict[str, list[int]]:
    """Run times of the four jobs, in whole seconds."""
    rng = np.random.default_rng([seed, 2011])
    image = rng.gamma((220 / 125) ** 2, 125**2 / 220, 256)
    # Median 25 s, mean 60 s: a lognormal distribution with few tasks of more than 15 minutes, none of more than 30.
    outsystems = np.minimum(rng.lognormal(np.log(25), np.sqrt(2 * np.log(60 / 25)), 1480), 1700)
    drawn = {
        "image": image,
        "synthetic": rng.normal(150, 30, 256),
        "outsystems": outsystems,
        "long": rng.normal(5400, 1200, 256),
    }
    return {name: [max(round(one), 1) for one in values.tolist()] for name, values in drawn.items()}


def rows(time_limit_s: float = 30.0) -> Iterator[Sequence[str]]:
    """Wall time, bound and gap of each job for budgets from the fewest units on."""
    for name, run_times_s in bags().items():
        fewest = fewest_paid_units(run_times_s)
        # The long job is dear from the start: a host for each task pays little more than a third above the least.
        factors = (1.0, 1.02, 1.05, 1.1, 1.2, 1.3) if name == "long" else (1.0, 1.1, 1.5, 2.0, 4.0)
        for budget in dict.fromkeys(round(factor * fewest) for factor in factors):
            least = least_makespan_within(run_times_s, budget_units=budget, time_limit_s=time_limit_s)
            assert least.gap is not None
            yield (
                name,
                f"{budget}",
                f"{len(least.hosts)}",
                f"{least.wall_s:,}",
                f"{least.lower_bound_s:,}",
                f"{_PERCENT * least.gap:.2f}",
                f"{least.paid_units}",
                f"{least.runtime_s:.1f}",
            )


def main() -> None:
    """Print the table."""
    headings = ("job", "budget", "hosts", "wall (s)", "bound (s)", "gap (%)", "paid", "time (s)")
    print_table("least wall time within a budget", headings, rows())


if __name__ == "__main__":
    main()
