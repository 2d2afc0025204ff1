"""What policies cost on clouds that hibernate, stop and terminate: ``python -m spotbag.benchmarks.bags.clouds``.

The same thousand days for all: types are taken away, and are back, at the moments of burst-hads/sc5. First what an
interruption is changes, and nothing else; then all that a cloud does, its notice and its bills included. ``--days 60``
replays fewer.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from ...instances.bags.scenarios import find_scenario
from ...instances.clouds import CLOUDS, INTERRUPTION_KINDS, PAPERS, Cloud
from ...instances.library import library_instance
from ...replay.bags.runs import replay_days
from ...solvers.bags.solve import solve
from ..claims import show
from ..paper_tables import print_table

_DAYS, _WORKERS = 1000, 2
_BAGS = (("hads/J60", "greedy"), ("burst-hads/J60", "ils"))
_SCENARIO = "burst-hads/sc5"
_POLICIES = ("hads", "burst-hads", "rescue", "static")


def clouds() -> list[tuple[str, Cloud]]:
    """Clouds to compare, by what the table calls them."""
    kinds = [(f"papers, but VMs {kind}", PAPERS.replace(interruption=kind)) for kind in INTERRUPTION_KINDS[1:]]
    return [("papers", PAPERS), *kinds, *[(name, cloud) for name, cloud in CLOUDS.items() if name != PAPERS.name]]


def rows(days: int, workers: int) -> Iterator[Sequence[str]]:
    """One row for each bag, cloud and policy."""
    for name, method in _BAGS:
        schedule = solve(library_instance(name), method, survive="none").schedule
        assert schedule is not None
        for called, cloud in clouds():
            found = replay_days(schedule, _POLICIES, find_scenario(_SCENARIO), days, workers=workers, cloud=cloud)
            for summary in found.summaries():
                yield (
                    name,
                    called,
                    summary.policy,
                    show(summary.cost_usd, 4),
                    f"{summary.misses:,}",
                    f"{summary.unfinished:,}",
                    show(summary.regret_usd, 4),
                )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=_DAYS, help="days of each bag and cloud")
    parser.add_argument("--workers", type=int, default=_WORKERS, help="processes")
    asked = parser.parse_args(arguments)
    header = (
        "bag",
        "cloud",
        "policy",
        "cost ($)",
        "days late",
        "of them never done",
        "cost above the bound ($)",
    )
    print_table("Policies on clouds", header, rows(asked.days, asked.workers))


if __name__ == "__main__":
    main()
