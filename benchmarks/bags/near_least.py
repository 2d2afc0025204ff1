"""Early plans under `on-time`: ``python -m spotbag_papers.bags.near_least``.

For bags as users have them, the cheapest plan, and the fastest that costs at most 5 % more (`solve` with
``near_least``): what each costs on a quiet day, when it ends, and the mean regret of `on-time` from it over the
clairvoyant bound, in percent of the mean bound, on the same days. ``--share 0.05``, ``--days 40``, ``--seed 7501`` and
``--time-limit 20`` (seconds for a plan) choose others.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial

from spotbag.core.workers import each
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.replay.bags.runs import replay_days
from spotbag.solvers.bags.solve import solve

from ..paper_tables import print_table
from .user_bags import named_bag

_SCENARIOS = [f"hads/sc{number}" for number in range(1, 6)]
_BAGS = ["user/300-distinct", "user/memory-binds", "user/burstable"]


def rows(name: str, share: float, days: int, seed: int, limit_s: float) -> list[list[str]]:
    """Return a line for each plan of a bag."""
    instance, found = named_bag(name), []
    for plan_name, near_least in (("cheapest", None), (f"within {share:.0%}", share)):
        plan = solve(instance, time_limit_s=limit_s, near_least=near_least).schedule
        assert plan is not None
        cells = []
        late = 0
        for scenario in _SCENARIOS:
            replayed = replay_days(plan, ["on-time"], find_scenario(scenario), days, seed=seed)
            bounds = [bound for bound in replayed.bounds_usd if bound is not None]
            [summary] = replayed.summaries()
            assert summary.regret_usd.mean is not None
            cells.append(f"{100 * summary.regret_usd.mean * len(bounds) / sum(bounds):.0f}")
            late += summary.misses
        found.append([name, plan_name, f"{plan.cost_usd:.3f}", f"{plan.makespan_s:,}", *cells, str(late)])
    return found


def main() -> None:
    """Print the table."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--days", type=int, default=40)
    parser.add_argument("--seed", type=int, default=7501)
    parser.add_argument("--time-limit", type=float, default=20.0)
    parser.add_argument("--workers", type=int, default=1)
    asked = parser.parse_args()
    work = partial(rows, share=asked.share, days=asked.days, seed=asked.seed, limit_s=asked.time_limit)

    def lines() -> Iterator[list[str]]:
        for of_bag in each(work, _BAGS, asked.workers):
            yield from of_bag

    headings = ("bag", "plan", "quiet day $", "makespan (s)", *(f"{name} %" for name in _SCENARIOS), "late")
    print_table("mean regret of on-time over the clairvoyant bound", headings, lines(), words=2)


if __name__ == "__main__":
    main()
