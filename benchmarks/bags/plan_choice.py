"""Gain of choosing a plan by drawn days: ``python -m spotbag_papers.bags.plan_choice``.

For each bag and scenario, and for each policy, a plan is chosen on some days. On other days the same policies replay
it, and three plans beside it: the one that is best on a quiet day, that of HADS's greedy, and that of Burst-HADS's
iterated local search. Each plan counts under the policy that is best for it, by its mean cost on the days of the
choice. Printed are mean costs and, in percent of the mean of the other plan, what the chosen one costs less on the same
days, with 95 % intervals. ``--days 200``, ``--seed 3``, ``--bags``, ``--scenarios``, ``--policies`` and ``--workers``
choose others.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial

import numpy as np

from spotbag.core.quantities import FloatArray
from spotbag.core.statistics import estimate, reduction_percent
from spotbag.core.workers import each
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.library import library_instance
from spotbag.replay.bags.plan_choice import choose_plan
from spotbag.replay.bags.runs import replay_days
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.bags.candidates import QUIET
from spotbag.solvers.bags.solve import solve

from ..paper_tables import print_table

_BAGS = "hads/J60,hads/J100,hads/ED200,burst-hads/J60,burst-hads/J80,burst-hads/J100"
_SCENARIOS = "hads/sc1,hads/sc2,hads/sc4"
_POLICIES = "hads,burst-hads,on-time"
_OTHERS = {QUIET: "auto", "greedy": "greedy", "ils": "ils"}
_PLANNING_S = 20.0


def row(cell: tuple[str, str], days: int, seed: int, policies: Sequence[str]) -> Sequence[str]:
    """Choose plans of one bag for one scenario, and compare them."""
    name, where = cell
    bag, scenario = library_instance(name), find_scenario(where)
    for_policy = {policy: choose_plan(bag, scenario, policy, days, seed=seed) for policy in policies}
    plans: dict[str, dict[str, Schedule]] = {"chosen": {}}
    for policy, choice in for_policy.items():
        assert choice.schedule is not None
        plans["chosen"][policy] = choice.schedule
    for other, method in _OTHERS.items():
        plan = solve(bag, method, time_limit_s=_PLANNING_S).schedule
        assert plan is not None
        plans[other] = dict.fromkeys(policies, plan)
    best = {label: _best(made, where, days, seed) for label, made in plans.items()}
    chosen_policy, chosen, late = best["chosen"]
    cells = [f"{_mean(chosen)} ({chosen_policy}, {plans['chosen'][chosen_policy].cost_usd:.4f})"]
    lates = [late]
    for other in _OTHERS:
        policy, costs, late = best[other]
        less = reduction_percent(chosen.tolist(), costs.tolist()).estimate
        assert less.mean is not None
        assert less.half_width is not None
        cells += [f"{_mean(costs)} ({policy})", f"{less.mean:.1f} ± {less.half_width:.1f}"]
        lates.append(late)
    return name, where, *cells, " ".join(map(str, lates))


def _best(plans: dict[str, Schedule], where: str, days: int, seed: int) -> tuple[str, FloatArray, int]:
    """The policy that is best for a plan made for it, its costs on the days of the report, and how many are late."""
    on_some = {policy: _costs(plan, policy, where, days, seed + 1) for policy, plan in plans.items()}
    policy = min(on_some, key=lambda policy: (on_some[policy][1], on_some[policy][0].mean()))
    return policy, *_costs(plans[policy], policy, where, days, seed + 2)


def _costs(plan: Schedule, policy: str, where: str, days: int, seed: int) -> tuple[FloatArray, int]:
    outcomes = replay_days(plan, [policy], find_scenario(where), days, seed=seed, bounds=False).outcomes[0]
    return np.array([day.cost_usd for day in outcomes]), sum(not day.meets_deadline for day in outcomes)


def _mean(costs: FloatArray) -> str:
    found = estimate(costs.tolist())
    return f"{found.mean:.4f} ± {found.half_width:.4f}"


def main() -> None:
    """Print the table."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--days", type=int, default=200)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--bags", default=_BAGS)
    parser.add_argument("--scenarios", default=_SCENARIOS)
    parser.add_argument("--policies", default=_POLICIES)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    cells = [(bag, where) for bag in arguments.bags.split(",") for where in arguments.scenarios.split(",")]
    work = partial(row, days=arguments.days, seed=arguments.seed, policies=arguments.policies.split(","))
    found = list(each(work, cells, arguments.workers))
    less = "less %"
    headings = ("bag", "days", "chosen $", "quiet $", less, "greedy $", less, "ils $", less, "late")
    print_table("mean cost of plans, each under its best policy", headings, found, words=2)


if __name__ == "__main__":
    main()
