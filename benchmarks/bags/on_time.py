"""Gain of `on-time`: ``python -m spotbag_papers.bags.on_time``.

Prints the mean regret of policies over the clairvoyant bound, in percent of the mean bound, with 95 % intervals of
paired days, and how many days are late; then the regret of `on-time` beside that of the better published policy of each
cell, and, by method, what part of it that is. With ``--summary``, only the latter. ``--runs 200``, ``--seed 2``,
``--methods auto,greedy,ils``, ``--scenarios`` and ``--bags`` choose others; ``--bags users`` those of `USER_BAGS`.

Days on which VMs are interrupted one by one are those of a cloud that terminates them; as if it billed the first hour
of VMs that it takes within it, too: else a policy that knows them could do all work on them, and the bound would be
almost nothing. ``--free-first-hour`` leaves that hour free.

``--ablation`` prints the mean regret of `on-time` with each of its ingredients left out, by scenario. ``--hindsight``
prints how much of a regret may be the bound's: what is found for who knows the day is above the bound as well; plans
are those of the first method.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

from spotbag.core.statistics import Estimate, estimate
from spotbag.core.workers import each
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.clouds import find_cloud
from spotbag.replay.bags.policies.on_time import OnTime
from spotbag.replay.bags.runs import Days, replay_days

from ..claims import show
from ..measuring import asked, print_table
from .user_bags import USER_BAGS, planned

_PUBLISHED = ("hads", "burst-hads")
_POLICIES = (*_PUBLISHED, "rescue", "on-time")
_VARIANTS = ("on-time", *(f"on-time+{rule}" for rule in OnTime.rules))
BAGS = tuple(f"{paper}/{job}" for paper in ("hads", "burst-hads") for job in ("J60", "J80", "J100", "ED200"))
_KNOWN_BAGS = ("hads/J60", "hads/J100", "burst-hads/ED200")
_FEW_BAGS = ("hads/J60", "burst-hads/J80", "hads/ED200")
METHODS = ("auto", "greedy", "ils")
BOTH_PAPERS = tuple(f"hads/sc{number}" for number in range(1, 6))
"""Scenarios of HADS that Burst-HADS has, too."""
SCENARIOS = (*BOTH_PAPERS, "vms/stormy", "vms/shocks")

_AWS = find_cloud("aws-terminate")
_TERMINATES = replace(_AWS, billing=replace(_AWS.billing, first_hour_free=False))


class Cell(NamedTuple):
    """A plan and the days that it meets, and of each policy its mean regret in percent and its late days."""

    bag: str
    method: str
    scenario: str
    regrets: list[Estimate]
    late: list[int]


def regrets(days: Days) -> list[Estimate]:
    """Mean regret of each policy in percent of the mean bound; none of one that is always late."""
    bounds = [bound for bound in days.bounds_usd if bound is not None]
    return [summary.regret_usd.scaled(100 * len(bounds) / sum(bounds)) for summary in days.summaries()]


def shown(regret: Estimate) -> str:
    """Text of a regret in a table."""
    return "" if regret.mean is None else show(regret, 0)


def _replayed(case: tuple[str, str, str, Sequence[str], Namespace]) -> Cell:
    """Replay the days of a plan in a scenario under some policies."""
    bag, method, scenario, policies, given = case
    cloud = (_AWS if given.free_first_hour else _TERMINATES) if scenario.startswith("vms/") else None
    plan = planned(bag, method)
    days = replay_days(plan, policies, find_scenario(scenario), given.runs, seed=given.seed, cloud=cloud)
    return Cell(bag, method, scenario, regrets(days), [summary.misses for summary in days.summaries()])


def _cells(given: Namespace, policies: Sequence[str]) -> list[Cell]:
    bags = given.bags or (_FEW_BAGS if given.ablation else BAGS)
    bags = tuple(USER_BAGS) if bags == ("users",) else bags
    return list(
        each(_replayed, list(product(bags, given.methods, given.scenarios, [policies], [given])), given.workers)
    )


def _print_comparison(given: Namespace) -> None:
    """Print the table of all policies, and the success of `on-time` against the published ones."""
    cells = _cells(given, _POLICIES)
    if not given.summary:
        rows = [(*cell[:3], *map(shown, cell.regrets), " ".join(map(str, cell.late))) for cell in cells]
        headings = ("bag", "plan by", "days", *(f"{policy} %" for policy in _POLICIES), "late")
        print_table("regret over the clairvoyant bound", headings, rows, words=3)
    of_plan: dict[tuple[str, str], dict[str, str]] = {}
    by_kind: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for cell in cells:
        *published, _, ours = (regret.mean for regret in cell.regrets)
        known = [percent for percent in published if percent is not None]
        if known and ours is not None:
            plan, kind = (cell.bag, cell.method), (cell.method, cell.scenario.partition("/")[0])
            of_plan.setdefault(plan, {})[cell.scenario] = f"{ours:.0f} / {min(known):.0f}"
            by_kind.setdefault(kind, []).append((ours, min(known)))
    where = list(dict.fromkeys(scenario for found in of_plan.values() for scenario in found))
    rows = [(*plan, *(found.get(scenario, "") for scenario in where)) for plan, found in of_plan.items()]
    headings = ("bag", "plan by", *(f"{scenario} %" for scenario in where))
    print_table("regret of on-time / of the better published policy", headings, rows, words=2)
    headings = ("plan by", "days of", "cells", "part of its mean regret", "mean part over the cells")
    print_table("on-time against the better published policy", headings, _parts(by_kind), words=2)


def _parts(by_kind: Mapping[tuple[str, str], Sequence[tuple[float, float]]]) -> Iterator[Sequence[str]]:
    """Part of the regret of the better published policy that `on-time` has, by who planned and the kind of days."""
    for kind, pairs in by_kind.items():
        ours, published = map(sum, zip(*pairs, strict=True))
        mean_part = sum(one / other for one, other in pairs) / len(pairs)
        yield *kind, str(len(pairs)), f"{ours / published:.2f}", f"{mean_part:.2f}"


def _print_ablation(given: Namespace) -> None:
    """Print the mean regret with each ingredient left out."""
    cells = _cells(given, _VARIANTS)
    rows = []
    for number, variant in enumerate(_VARIANTS):
        means = []
        for scenario in given.scenarios:
            percents = [cell.regrets[number].mean for cell in cells if cell.scenario == scenario]
            known = [percent for percent in percents if percent is not None]
            means.append(f"{sum(known) / len(known):.0f}" if known else "")
        rows.append((variant, *means, str(sum(cell.late[number] for cell in cells))))
    headings = ("policy", *(f"{scenario} %" for scenario in given.scenarios), "late")
    print_table("mean regret over the clairvoyant bound", headings, rows, words=1)


def _known(case: tuple[str, str, str, Namespace]) -> Sequence[str]:
    """Replay the days of a plan in a scenario, and plan each day for who knows it."""
    bag, method, where, given = case
    policies = (*_PUBLISHED, "on-time")
    days = replay_days(
        planned(bag, method), policies, find_scenario(where), given.runs, seed=given.seed, hindsight=True
    )
    pairs = [
        (bound, found)
        for bound, found in zip(days.bounds_usd, days.hindsight_usd, strict=True)
        if bound is not None and found is not None
    ]
    mean = sum(bound for bound, _ in pairs) / len(pairs)
    known = estimate([found - bound for bound, found in pairs]).scaled(100 / mean)
    return bag, where, f"{mean:.4f}", *map(shown, [*regrets(days), known])


def _print_hindsight(given: Namespace) -> None:
    """Print regrets beside that of plans for who knows the day."""
    cases = list(product(given.bags or _KNOWN_BAGS, given.methods[:1], given.scenarios, [given]))
    policies = (f"{policy} %" for policy in (*_PUBLISHED, "on-time", "hindsight"))
    rows = each(_known, cases, given.workers)
    print_table("regret over the clairvoyant bound", ("bag", "days", "mean bound $", *policies), rows, words=2)


def main() -> None:
    """Print the tables."""
    given = asked(
        __doc__,
        runs=50,
        seed=2,
        bags=(),
        methods=METHODS,
        scenarios=SCENARIOS,
        workers=1,
        summary=False,
        free_first_hour=False,
        ablation=False,
        hindsight=False,
    )
    chosen = _print_ablation if given.ablation else _print_hindsight if given.hindsight else _print_comparison
    chosen(given)


if __name__ == "__main__":
    main()
