"""Share of a regret that may be the bound's: ``python -m spotbag_papers.bags.hindsight``.

Prints how far policies are above the clairvoyant bound, in percent of the mean bound, with 95 % intervals of paired
days, and how far what is found for the known days is above it: a policy that knew each day would have no larger regret.
``--runs 100``, ``--seed 3``, ``--method greedy``, ``--scenarios`` and ``--bags`` choose others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product

from spotbag.core.statistics import estimate
from spotbag.core.workers import each
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.replay.bags.runs import replay_days

from ..measuring import asked, print_table
from .on_time import regrets, shown
from .user_bags import planned

_POLICIES = ("hads", "burst-hads", "on-time")


def row(cell: tuple[str, str], method: str, runs: int, seed: int) -> Sequence[str]:
    """Replay the days of one bag and scenario."""
    name, where = cell
    days = replay_days(planned(name, method), _POLICIES, find_scenario(where), runs, seed=seed, hindsight=True)
    pairs = [
        (bound, found)
        for bound, found in zip(days.bounds_usd, days.hindsight_usd, strict=True)
        if bound is not None and found is not None
    ]
    mean = sum(bound for bound, _ in pairs) / len(pairs)
    known = estimate([found - bound for bound, found in pairs]).scaled(100 / mean)
    return name, where, f"{mean:.4f}", *map(shown, [*regrets(days), known])


def main() -> None:
    """Print the table."""
    given = asked(
        __doc__,
        runs=50,
        seed=2,
        bags=("hads/J60", "hads/J100", "burst-hads/ED200"),
        method="auto",
        scenarios=("hads/sc2", "hads/sc4", "hads/sc5"),
        workers=1,
    )
    work = partial(row, method=given.method, runs=given.runs, seed=given.seed)
    headings = ("bag", "days", "mean bound $", *(f"{policy} %" for policy in _POLICIES), "hindsight %")
    found = each(work, list(product(given.bags, given.scenarios)), given.workers)
    print_table("regret over the clairvoyant bound", headings, found, words=2)


if __name__ == "__main__":
    main()
