"""Early plans under `on-time`: ``python -m spotbag_papers.bags.near_least``.

For bags as users have them, the cheapest plan, and the fastest that costs at most 5 % more (`solve` with
``near_least``): what each costs on a quiet day, when it ends, and the mean regret of `on-time` from it over the
clairvoyant bound, in percent of the mean bound, on the same days. ``--share 0.05``, ``--days 40``, ``--seed 7501`` and
``--time-limit 20`` (seconds for a plan) choose others.
"""

from __future__ import annotations

from functools import partial
from itertools import chain

from spotbag.core.workers import each
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.replay.bags.runs import replay_days

from ..measuring import asked, print_table
from .on_time import BOTH_PAPERS, regrets, shown
from .user_bags import planned

_BAGS = ["user/300-distinct", "user/memory-binds", "user/burstable"]


def rows(name: str, share: float, days: int, seed: int, limit_s: float) -> list[list[str]]:
    """Return a line for each plan of a bag."""
    found = []
    for plan_name, near_least in (("cheapest", None), (f"within {share:.0%}", share)):
        plan = planned(name, time_limit_s=limit_s, near_least=near_least)
        replayed = [replay_days(plan, ["on-time"], find_scenario(where), days, seed=seed) for where in BOTH_PAPERS]
        cells = [shown(regrets(of)[0]).partition(" ")[0] for of in replayed]
        late = sum(of.summaries()[0].misses for of in replayed)
        found.append([name, plan_name, f"{plan.cost_usd:.3f}", f"{plan.makespan_s:,}", *cells, str(late)])
    return found


def main() -> None:
    """Print the table."""
    given = asked(__doc__, share=0.05, days=40, seed=7501, time_limit=20.0, workers=1)
    work = partial(rows, share=given.share, days=given.days, seed=given.seed, limit_s=given.time_limit)
    headings = ("bag", "plan", "quiet day $", "makespan (s)", *(f"{name} %" for name in BOTH_PAPERS), "late")
    lines = chain.from_iterable(each(work, _BAGS, given.workers))
    print_table("mean regret of on-time over the clairvoyant bound", headings, lines, words=2)


if __name__ == "__main__":
    main()
