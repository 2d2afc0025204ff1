"""Share of a regret that may be the bound's: ``python -m spotbag_papers.bags.hindsight``.

Prints how far policies are above the clairvoyant bound, in percent of the mean bound, with 95 % intervals of paired
days, and how far what is found for the known days is above it: a policy that knew each day would have no larger regret.
``--runs 100``, ``--seed 3``, ``--method greedy``, ``--scenarios`` and ``--bags`` choose others.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from spotbag.core.statistics import Estimate, estimate
from spotbag.core.workers import each
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.replay.bags.runs import replay_days

from ..paper_tables import print_table
from .on_time import planned

_POLICIES = ("hads", "burst-hads", "on-time")
_BAGS = "hads/J60,hads/J100,burst-hads/ED200"
_SCENARIOS = "hads/sc2,hads/sc4,hads/sc5"


def row(cell: tuple[str, str, str, int, int]) -> Sequence[str]:
    """Replay the days of one bag, method and scenario."""
    name, method, where, runs, seed = cell
    days = replay_days(planned(name, method), _POLICIES, find_scenario(where), runs, seed=seed, hindsight=True)
    pairs = [
        (bound, found)
        for bound, found in zip(days.bounds_usd, days.hindsight_usd, strict=True)
        if bound is not None and found is not None
    ]
    mean = sum(bound for bound, _ in pairs) / len(pairs)
    regrets = [summary.regret_usd for summary in days.summaries()]
    cells = [_percent(regret, mean) for regret in [*regrets, estimate([found - bound for bound, found in pairs])]]
    return name, where, f"{mean:.4f}", *cells


def _percent(regret: Estimate, mean: float) -> str:
    if regret.mean is None:  # late every day
        return ""
    width = "" if regret.half_width is None else f" ± {100 * regret.half_width / mean:.0f}"
    return f"{100 * regret.mean / mean:.0f}{width}"


def cells(arguments: argparse.Namespace) -> Iterator[tuple[str, str, str, int, int]]:
    """Cells to replay."""
    for name in arguments.bags.split(","):
        for where in arguments.scenarios.split(","):
            yield name, arguments.method, where, arguments.runs, arguments.seed


def main() -> None:
    """Print the table."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--bags", default=_BAGS)
    parser.add_argument("--method", default="auto")
    parser.add_argument("--scenarios", default=_SCENARIOS)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    found = list(each(row, list(cells(arguments)), arguments.workers))
    headings = ("bag", "days", "mean bound $", *(f"{policy} %" for policy in _POLICIES), "hindsight %")
    print_table("regret over the clairvoyant bound", headings, found, words=2)


if __name__ == "__main__":
    main()
