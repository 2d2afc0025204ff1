"""Gain of `on-time`: ``python -m spotbag_papers.bags.on_time``.

Prints the mean regret of policies over the clairvoyant bound, in percent of the mean bound, with 95 % intervals of
paired days, and how many days are late; then the regret of `on-time` beside that of the better published policy of each
cell, and, by who planned, what part of it that is. With ``--summary``, only the latter. ``--runs 200``, ``--seed 2``,
``--methods auto,greedy,ils``, ``--scenarios`` and ``--bags`` choose others; ``--bags users`` those of `USER_BAGS`.

Days on which VMs are interrupted one by one are those of a cloud that terminates them; as if it billed the first hour
of VMs that it takes within it, too: else the bound is that of one who knows them, has all work done on them, and pays
almost nothing. ``--free-first-hour`` leaves that hour free.

``--ablation`` prints the mean regret of `on-time` with each of its ingredients left out, by scenario.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from spotbag.core.workers import each
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.clouds import find_cloud
from spotbag.replay.bags.policies.on_time import OnTime
from spotbag.replay.bags.runs import replay_days
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.bags.solve import solve

from ..paper_tables import print_table
from .user_bags import USER_BAGS, named_bag

_PUBLISHED = ("hads", "burst-hads")
_POLICIES = (*_PUBLISHED, "rescue", "on-time")
_VARIANTS = ("on-time", *(f"on-time+{rule}" for rule in OnTime.rules))
BAGS = ",".join(f"{paper}/{job}" for paper in ("hads", "burst-hads") for job in ("J60", "J80", "J100", "ED200"))
_FEW_BAGS = "hads/J60,burst-hads/J80,hads/ED200"
SCENARIOS = ",".join([f"hads/sc{number}" for number in range(1, 6)] + ["vms/stormy", "vms/shocks"])

_AWS = find_cloud("aws-terminate")
_TERMINATES = replace(_AWS, billing=replace(_AWS.billing, first_hour_free=False))


class Cell(NamedTuple):
    """A plan, the days that it meets, and the policies that answer."""

    bag: str
    method: str
    scenario: str
    runs: int
    seed: int
    policies: Sequence[str]
    free_first_hour: bool


class Regret(NamedTuple):
    """Mean regret of a policy in percent of the mean bound, its half-width, and late days; None if all are late."""

    percent: float | None
    half_width: float | None
    late: int

    def __str__(self) -> str:
        """Text of the regret in a table."""
        if self.percent is None:
            return ""
        return f"{self.percent:.0f}" + ("" if self.half_width is None else f" ± {self.half_width:.0f}")


@cache
def planned(name: str, method: str) -> Schedule:
    """Plan a bag."""
    plan = solve(named_bag(name), method).schedule
    assert plan is not None
    return plan


def regrets(cell: Cell) -> list[Regret]:
    """Replay the days of a cell."""
    cloud = (_AWS if cell.free_first_hour else _TERMINATES) if cell.scenario.startswith("vms/") else None
    plan, scenario = planned(cell.bag, cell.method), find_scenario(cell.scenario)
    days = replay_days(plan, cell.policies, scenario, cell.runs, seed=cell.seed, cloud=cloud)
    bounds = [bound for bound in days.bounds_usd if bound is not None]
    percent = 100 / (sum(bounds) / len(bounds))
    found = []
    for summary in days.summaries():
        mean, half_width = summary.regret_usd.mean, summary.regret_usd.half_width
        found.append(
            Regret(
                None if mean is None else mean * percent,
                None if half_width is None else half_width * percent,
                summary.misses,
            )
        )
    return found


def cells(arguments: argparse.Namespace, policies: Sequence[str]) -> Iterator[Cell]:
    """Cells to replay."""
    for name in arguments.bags.split(","):
        for method in arguments.methods.split(","):
            for where in arguments.scenarios.split(","):
                yield Cell(name, method, where, arguments.runs, arguments.seed, policies, arguments.free_first_hour)


def print_comparison(arguments: argparse.Namespace) -> None:
    """Print the table of all policies, and how `on-time` does against the published ones."""
    replayed = list(cells(arguments, _POLICIES))
    found = list(each(regrets, replayed, arguments.workers))
    if not arguments.summary:
        rows = [
            (cell.bag, cell.method, cell.scenario, *map(str, row), " ".join(str(entry.late) for entry in row))
            for cell, row in zip(replayed, found, strict=True)
        ]
        headings = ("bag", "plan by", "days", *(f"{policy} %" for policy in _POLICIES), "late")
        print_table("regret over the clairvoyant bound", headings, rows, words=3)
    regret_of: dict[tuple[str, str], dict[str, tuple[float, float]]] = {}
    for cell, row in zip(replayed, found, strict=True):
        published = [entry.percent for entry in row[: len(_PUBLISHED)] if entry.percent is not None]
        ours = row[-1].percent
        if published and ours is not None:
            regret_of.setdefault((cell.bag, cell.method), {})[cell.scenario] = ours, min(published)
    print_summary(regret_of)


def print_summary(regret_of: Mapping[tuple[str, str], Mapping[str, tuple[float, float]]]) -> None:
    """Print the regret of `on-time` beside that of the better published policy, and what part of it that is."""
    scenarios = list(dict.fromkeys(scenario for of_plan in regret_of.values() for scenario in of_plan))
    rows = [
        (
            *plan,
            *(f"{of_plan[where][0]:.0f} / {of_plan[where][1]:.0f}" if where in of_plan else "" for where in scenarios),
        )
        for plan, of_plan in regret_of.items()
    ]
    headings = ("bag", "plan by", *(f"{where} %" for where in scenarios))
    print_table("regret of on-time / of the better published policy", headings, rows, words=2)
    by_kind: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for (_, method), of_plan in regret_of.items():
        for where, percent in of_plan.items():
            by_kind.setdefault((method, where.partition("/")[0]), []).append(percent)
    parts = []
    for key, cells_of in by_kind.items():
        ours, published = (sum(cell[side] for cell in cells_of) for side in (0, 1))
        mean_part = sum(one / other for one, other in cells_of) / len(cells_of)
        parts.append((*key, str(len(cells_of)), f"{ours / published:.2f}", f"{mean_part:.2f}"))
    headings = ("plan by", "days of", "cells", "part of its mean regret", "mean part over the cells")
    print_table("on-time against the better published policy", headings, parts, words=2)


def print_ablation(arguments: argparse.Namespace) -> None:
    """Print the mean regret with each ingredient left out."""
    replayed = list(cells(arguments, _VARIANTS))
    found = list(each(regrets, replayed, arguments.workers))
    scenarios = list(dict.fromkeys(cell.scenario for cell in replayed))
    rows = []
    for number, variant in enumerate(_VARIANTS):
        shown = []
        for where in scenarios:
            of_days = [row[number].percent for cell, row in zip(replayed, found, strict=True) if cell.scenario == where]
            known = [percent for percent in of_days if percent is not None]
            shown.append(f"{sum(known) / len(known):.0f}" if known else "")
        rows.append((variant, *shown, str(sum(row[number].late for row in found))))
    headings = ("policy", *(f"{where} %" for where in scenarios), "late")
    print_table("mean regret over the clairvoyant bound", headings, rows, words=1)


def main() -> None:
    """Print the table."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--bags")
    parser.add_argument("--methods", default="auto,greedy,ils")
    parser.add_argument("--scenarios", default=SCENARIOS)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--free-first-hour", action="store_true")
    parser.add_argument("--ablation", action="store_true")
    arguments = parser.parse_args()
    if arguments.bags == "users":
        arguments.bags = ",".join(USER_BAGS)
    arguments.bags = arguments.bags or (_FEW_BAGS if arguments.ablation else BAGS)
    if arguments.ablation:
        print_ablation(arguments)
    else:
        print_comparison(arguments)


if __name__ == "__main__":
    main()
