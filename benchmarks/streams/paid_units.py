"""Proofs of the least wall time within a budget: ``python -m spotbag_papers.streams.paid_units``.

Bags of the jobs of the A2HA paper as the library has them (``a2ha/...``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spotbag.instances.streams.draws import draw_jobs
from spotbag.instances.streams.stream_files import library_stream

from ..measuring import print_table
from .a2ha.runs import run_times_s
from .a2ha.settings import LONG_JOB, SHORT_JOBS
from .least_makespan import least_makespan_within
from .unit_bounds import fewest_paid_units

_PERCENT = 100


def bags(seed: int = 0) -> dict[str, list[int]]:
    """Run times of the four jobs, in whole seconds."""
    return {job: run_times_s(draw_jobs(library_stream(f"a2ha/{job}"), seed)) for job in (*SHORT_JOBS, LONG_JOB)}


def rows(time_limit_s: float = 30.0) -> Iterator[Sequence[object]]:
    """Wall time, bound and gap of each job for budgets from the fewest units on."""
    for name, bag in bags().items():
        fewest = fewest_paid_units(bag)
        # The long job is dear from the start: a host for each task pays little more than a third above the least.
        factors = (1.0, 1.02, 1.05, 1.1, 1.2, 1.3) if name == LONG_JOB else (1.0, 1.1, 1.5, 2.0, 4.0)
        for budget in dict.fromkeys(round(factor * fewest) for factor in factors):
            least = least_makespan_within(bag, budget_units=budget, time_limit_s=time_limit_s)
            assert least.gap is not None
            gap = _PERCENT * least.gap
            found = len(least.hosts), least.wall_s, least.lower_bound_s, gap, least.paid_units, least.runtime_s
            yield name, budget, *found


def main() -> None:
    """Print the table."""
    seconds = {"wall (s)": ",", "bound (s)": ",", "gap (%)": ".2f", "paid": "", "time (s)": ".1f"}
    columns = {"job": "", "budget": "", "hosts": "", **seconds}
    print_table("least wall time within a budget", columns, rows(), words=1)


if __name__ == "__main__":
    main()
