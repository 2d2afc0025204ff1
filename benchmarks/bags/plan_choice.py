"""Gain of choosing a plan by drawn days: ``python -m spotbag_papers.bags.plan_choice``.

For each bag and scenario, and for each policy, a plan is chosen on some days. On other days the same policies replay
it, and three plans beside it: the one that is best on a quiet day, that of HADS's greedy, and that of Burst-HADS's
iterated local search. Each plan counts under the policy that is best for it, by its mean cost on the days of the
choice. Printed are mean costs and, in percent of the mean of the other plan, what the chosen one costs less on the same
days, with 95 % intervals. ``--days 200``, ``--seed 3``, ``--bags``, ``--scenarios``, ``--policies`` and ``--workers``
choose others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product

from spotbag.core.statistics import estimate
from spotbag.core.workers import each
from spotbag.experiments.bags.plan_choice import choose_plan
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.library import library_instance
from spotbag.replay.bags.outcome import DayOutcome
from spotbag.replay.bags.runs import replay_days
from spotbag.schedules.schedule import Schedule

from ..claims import show
from ..measuring import asked, print_table
from ..statistics import reduction_percent
from .user_bags import planned

_OTHERS = {"quiet": "auto", "greedy": "greedy", "ils": "ils"}
_PLANNING_S = 20.0


def row(cell: tuple[str, str], days: int, seed: int, policies: Sequence[str]) -> Sequence[str]:
    """Choose plans of one bag for one scenario, and compare them."""
    name, where = cell
    choices = {
        policy: choose_plan(library_instance(name), find_scenario(where), policy, days, seed=seed).schedule
        for policy in policies
    }
    chosen_plans = {policy: plan for policy, plan in choices.items() if plan is not None}
    policy, chosen, *lates = _best(chosen_plans, where, days, seed)
    cells = [f"{show(estimate(chosen), 4)} ({policy}, {chosen_plans[policy].cost_usd:.4f})"]
    for method in _OTHERS.values():
        plan = planned(name, method, time_limit_s=_PLANNING_S)
        policy, costs, late = _best(dict.fromkeys(policies, plan), where, days, seed)
        cells += [f"{show(estimate(costs), 4)} ({policy})", show(reduction_percent(chosen, costs).estimate, 1)]
        lates.append(late)
    return name, where, *cells, " ".join(map(str, lates))


def _best(plans: Mapping[str, Schedule], where: str, days: int, seed: int) -> tuple[str, list[float], int]:
    """The policy that is best for a plan made for it, its costs on the days of the report, and how many are late."""

    def outcomes(policy: str, seed: int) -> tuple[DayOutcome, ...]:
        return replay_days(plans[policy], [policy], find_scenario(where), days, seed=seed, bounds=False).outcomes[0]

    def late_and_dear(policy: str) -> tuple[int, float]:
        some = outcomes(policy, seed + 1)
        return sum(not day.meets_deadline for day in some), sum(day.cost_usd for day in some)

    # Plans, policies and reported costs are of three sets of days: none is judged by days that it was chosen on.
    policy = min(plans, key=late_and_dear)
    found = outcomes(policy, seed + 2)
    return policy, [day.cost_usd for day in found], sum(not day.meets_deadline for day in found)


def main() -> None:
    """Print the table."""
    given = asked(
        __doc__,
        days=200,
        seed=3,
        bags=("hads/J60", "hads/J100", "hads/ED200", "burst-hads/J60", "burst-hads/J80", "burst-hads/J100"),
        scenarios=("hads/sc1", "hads/sc2", "hads/sc4"),
        policies=("hads", "burst-hads", "on-time"),
        workers=1,
    )
    work = partial(row, days=given.days, seed=given.seed, policies=given.policies)
    headings = ("bag", "days", "chosen $", *(name for other in _OTHERS for name in (f"{other} $", "less %")), "late")
    found = each(work, list(product(given.bags, given.scenarios)), given.workers)
    print_table("mean cost of plans, each under its best policy", headings, found, words=2)


if __name__ == "__main__":
    main()
