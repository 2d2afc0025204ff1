"""Gain of column generation over the divisible bound: ``python -m spotbag_papers.bags.columns``.

Bags of distinct tasks with few of them to a core, and the bags whose memory binds: the gap of the search's plan to the
divisible bound, and that of the best plan to the best bound after 20 s of columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spotbag.core.quantities import relative_gap
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance, library_names
from spotbag.solvers.bags.solve import solve

from ..measuring import print_table
from .heuristics import bag

_SECONDS = 20.0


def instances() -> Iterator[tuple[str, Instance]]:
    """Name and instance of each row."""
    for n_tasks, limit in ((20, 3), (40, 3), (40, 5), (60, 3), (100, 5)):
        yield f"{n_tasks} distinct tasks on {8 * limit} cores", bag(n_tasks, limit, seed=1)
    for name in library_names():
        if name.startswith("memory/"):
            yield name, with_d_spot(library_instance(name))


def rows() -> Iterator[Sequence[object]]:
    """Gaps before and after."""
    solve(library_instance("tiny/two-cores"), "columns")  # what is compiled at first does not count
    for name, instance in instances():
        before = solve(instance, "search")
        after = solve(instance, "columns", time_limit_s=_SECONDS, initial=before.schedule)
        better = relative_gap(before.objective, after.objective)
        gaps = (before.gap, after.gap, better)
        yield name, *(None if gap is None else 100 * gap for gap in gaps), after.runtime_s


def main() -> None:
    """Print the table."""
    gaps = dict.fromkeys(("gap of search (%)", "gap after columns (%)", "better plan by (%)"), ".2f")
    print_table("columns, 20 s from the plan of the search", {"bag": "", **gaps, "time (s)": ".1f"}, rows(), words=1)


if __name__ == "__main__":
    main()
