"""Costs of policies on clouds that hibernate, stop and terminate: ``python -m spotbag_papers.bags.clouds``.

The same thousand days for all of a bag: on those of burst-hads/sc5, types are taken away and are back; on those of
vms/shocks, VMs one by one, and several types together. First what an interruption is changes, and nothing else; then
all that a cloud does, its notice and its bills included. ``--days 60`` replays fewer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.clouds import CLOUDS, INTERRUPTION_KINDS, PAPERS, Cloud
from spotbag.replay.bags.runs import PolicySummary, replay_days

from ..claims import show
from ..measuring import asked, print_table
from .user_bags import planned

_BAGS = (("hads/J60", "greedy"), ("burst-hads/J60", "ils"))
_SCENARIOS = ("burst-hads/sc5", "vms/shocks")
_POLICIES = ("hads", "burst-hads", "rescue", "static")


def clouds() -> list[tuple[str, Cloud]]:
    """Clouds to compare, by what the table calls them."""
    kinds = [(f"papers, but VMs {kind}", PAPERS.replace(interruption=kind)) for kind in INTERRUPTION_KINDS[1:]]
    return [("papers", PAPERS), *kinds, *[(name, cloud) for name, cloud in CLOUDS.items() if name != PAPERS.name]]


def rows(days: int, workers: int) -> Iterator[Sequence[str]]:
    """Rows of the table, for each bag, scenario and cloud."""
    for name, method in _BAGS:
        schedule = planned(name, method, survive="none")
        for scenario in _SCENARIOS:
            for called, cloud in clouds():
                found = replay_days(schedule, _POLICIES, find_scenario(scenario), days, workers=workers, cloud=cloud)
                yield name, scenario, called, *map(_cell, found.summaries())


def _cell(summary: PolicySummary) -> str:
    """Cost, regret and days late, and in brackets on how many of them the bag is never done."""
    never = f" ({summary.unfinished:,})" if summary.unfinished else ""
    return f"{show(summary.cost_usd, 4)}; {show(summary.regret_usd, 4)}; {summary.misses:,}{never}"


def main() -> None:
    """Print the table."""
    given = asked(__doc__, days=1000, workers=2)
    header = ("bag", "days", "cloud", *_POLICIES)
    title = "Policies on clouds: mean cost; what it is above the day's bound ($); days late (of them never done)"
    print_table(title, header, rows(given.days, given.workers), words=len(header))


if __name__ == "__main__":
    main()
