"""Results of ``auto`` on the library, a minute each: ``python -m spotbag_papers.bags.library_minute``.

From scratch, with one thread, as ``spotbag compare INSTANCE... --methods auto --time-limit 60`` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spotbag.instances.library import library_instance, library_names
from spotbag.solvers.bags.solve import solve
from spotbag.solvers.bags.warm_up import warm_up

from ..measuring import print_table

_SECONDS = 60.0


def rows(names: Sequence[str]) -> Iterator[Sequence[object]]:
    """Status, objective, gap and time of each instance."""
    for name in names:
        result = solve(library_instance(name), time_limit_s=_SECONDS)
        gap = None if result.gap is None else 100 * result.gap
        yield name, result.status, result.objective, gap, result.runtime_s


def main() -> None:
    """Print the table."""
    warm_up(["auto"])
    columns = {"instance": "", "status": "", "objective": ".6f", "gap to the bound (%)": ".2f", "time (s)": ".1f"}
    print_table("the library, a minute each", columns, rows(library_names()), words=2)


if __name__ == "__main__":
    main()
