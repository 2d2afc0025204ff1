"""What `on-time` brings: ``python -m spotbag.benchmarks.bags.on_time``.

Prints the mean regret of policies over the clairvoyant bound, in percent of the mean bound, with 95 % intervals of
paired days, and how many days are late. ``--runs 200``, ``--seed 2``, ``--methods auto,greedy,ils``, ``--scenarios``
and ``--bags`` choose others. Days on which VMs are interrupted one by one are those of a cloud that terminates them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import cache

from ...core.workers import each
from ...instances.bags.scenarios import find_scenario
from ...instances.library import library_instance
from ...replay.bags.runs import replay_days
from ...schedules.schedule import Schedule
from ...solvers.bags.solve import solve
from ..paper_tables import print_table

_POLICIES = ("hads", "burst-hads", "rescue", "on-time")
_BAGS = ",".join(f"{paper}/{job}" for paper in ("hads", "burst-hads") for job in ("J60", "J80", "J100", "ED200"))
_SCENARIOS = ",".join([f"hads/sc{number}" for number in range(1, 6)] + ["vms/stormy", "vms/shocks"])


@cache
def planned(name: str, method: str) -> Schedule:
    """Plan a bag."""
    plan = solve(library_instance(name), method).schedule
    assert plan is not None
    return plan


def row(cell: tuple[str, str, str, int, int]) -> Sequence[str]:
    """Replay the days of one bag, method and scenario."""
    name, method, where, runs, seed = cell
    cloud = "aws-terminate" if where.startswith("vms/") else None
    days = replay_days(planned(name, method), _POLICIES, find_scenario(where), runs, seed=seed, cloud=cloud)
    bounds = [bound for bound in days.bounds_usd if bound is not None]
    mean = sum(bounds) / len(bounds)
    summaries = days.summaries()
    shown = []
    for summary in summaries:
        regret = summary.regret_usd
        if regret.mean is None:  # late every day
            shown.append("")
            continue
        width = "" if regret.half_width is None else f" ± {100 * regret.half_width / mean:.0f}"
        shown.append(f"{100 * regret.mean / mean:.0f}{width}")
    return name, method, where, *shown, " ".join(str(summary.misses) for summary in summaries)


def cells(arguments: argparse.Namespace) -> Iterator[tuple[str, str, str, int, int]]:
    """What is replayed."""
    for name in arguments.bags.split(","):
        for method in arguments.methods.split(","):
            for where in arguments.scenarios.split(","):
                yield name, method, where, arguments.runs, arguments.seed


def main() -> None:
    """Print the table."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--bags", default=_BAGS)
    parser.add_argument("--methods", default="auto,greedy,ils")
    parser.add_argument("--scenarios", default=_SCENARIOS)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    found = list(each(row, list(cells(arguments)), arguments.workers))
    headings = ("bag", "plan by", "days", *(f"{policy} %" for policy in _POLICIES), "late")
    print_table("regret over the clairvoyant bound", headings, found, words=3)


if __name__ == "__main__":
    main()
