"""Missed deadlines of policies, their causes and costs: ``python -m spotbag_papers.bags.deadline_misses``.

A thousand days of each scenario of HADS on each instance of both papers, the same days for every policy; each policy
also from the plan of the other paper. ``--days 60`` replays fewer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from spotbag.instances.bags.scenarios import SCENARIOS, find_scenario
from spotbag.instances.library import library_instance
from spotbag.schedules.schedule import Schedule
from spotbag.traces.bags.lateness import CAUSES

from ..claims import show
from ..measuring import asked, print_table
from .paper_days import Cell, DayOptions, cost_usd, make_plan, miss_causes, replay_cell

AS_PRINTED = "hads"
AS_READ = "hads+spare-time-spot"
"""HADS with spare time asked of all VMs, as Algorithm 7 is printed, and of spot VMs only."""

_PLANS = (("hads", "greedy"), ("burst-hads", "ils"))
"""Families of instances, and the method of their plans."""
_INSTANCES = ("J60", "J80", "J100", "ED200")
_LATE_D_SPOT = ("hads/ED200", 1888)
"""The instance that Algorithm 1 leaves no time for spot VMs; D_spot as the makespan of Table 9 (31:27) needs it."""
_GROUPS = ("D_spot of Algorithm 1", f"D_spot {_LATE_D_SPOT[1]:,} s")
_POLICIES = (AS_PRINTED, AS_READ, "hads+trigger-once", "burst-hads", "static")


@dataclass(frozen=True, slots=True)
class PolicyMisses:
    """A policy on the days of all scenarios, from one plan.

    Attributes
    ----------
    plan, group, policy : str
        What the plan is called, what it has for D_spot, and the policy.
    days : dict of str to Cell
        By scenario.
    causes : Counter of str
        Days that missed the deadline, by cause.
    """

    plan: str
    group: str
    policy: str
    days: dict[str, Cell] = field(default_factory=dict)
    causes: Counter[str] = field(default_factory=Counter)

    def cells(self) -> list[str]:
        """Return the days of each scenario that missed the deadline, with the latest end; and all of them."""
        cells = []
        for cell in self.days.values():
            late = cell.late_days
            known = [day.makespan_s - day.deadline_s for day in late if day.makespan_s is not None]
            latest = "never" if len(known) < len(late) else f"{max(known, default=0):,} s"
            cells.append(f"{len(late)} ({latest})" if late else "0")
        missed = sum(len(cell.late_days) for cell in self.days.values())
        days = sum(len(cell.runs) for cell in self.days.values())
        return [*cells, f"{missed:,} of {days:,}"]


def plans() -> Iterator[tuple[str, str, Schedule]]:
    """Plans in which a VM can hibernate, with names and groups: on-demand VMs alone miss no deadline."""
    for family, method in _PLANS:
        for job in _INSTANCES:
            name = f"{family}/{job}"
            instance, called, group = library_instance(name), f"{name} by {method}", _GROUPS[0]
            if name == _LATE_D_SPOT[0]:
                group = _GROUPS[1]
                instance, called = instance.replace(d_spot_s=_LATE_D_SPOT[1]), f"{called}, {group}"
            schedule = make_plan(instance, method)
            assert instance.offer_is_spot[schedule.vm_offer].any()
            yield called, group, schedule


def replay_rows(options: DayOptions, scenarios: Sequence[str]) -> Iterator[list[PolicyMisses]]:
    """Replay the days of all scenarios, plan by plan: a row for each policy."""
    for called, group, schedule in plans():
        rows = [PolicyMisses(called, group, policy) for policy in _POLICIES]
        for label in scenarios:
            scenario = find_scenario(label)
            cells = replay_cell(called, label, scenario, schedule, _POLICIES, options, lambda done, of: None)
            for row, cell in zip(rows, cells, strict=True):
                row.days[label] = cell
                row.causes.update(miss_causes(cell, schedule, scenario, options.seed))
        yield rows


def cause_lines(rows: Sequence[PolicyMisses]) -> Iterator[tuple[str, ...]]:
    """Yield the days by cause, a column for each policy: of the plans with the one D_spot, then with the other."""
    for group in _GROUPS:
        for cause in CAUSES:
            numbers = (
                sum(row.causes[cause] for row in rows if (row.group, row.policy) == (group, policy))
                for policy in _POLICIES
            )
            yield (group, cause, *(f"{number:,}" for number in numbers))


def price_cells(printed: PolicyMisses, read: PolicyMisses) -> list[str]:
    """Percentage by which the printed rule is dearer, in each scenario: of the mean costs, with its interval."""
    pairs = zip(printed.days.values(), read.days.values(), strict=True)
    return [show((-mine.reduction_percent(other, cost_usd)).estimate, 1) for mine, other in pairs]


def main() -> None:
    """Print the tables."""
    n_days = asked(__doc__, days=1000).days
    options = DayOptions(runs=n_days, workers=2)
    scenarios = [name for name in SCENARIOS if name.startswith("hads/sc")]
    names = [name.removeprefix("hads/") for name in scenarios]
    rows: list[PolicyMisses] = []

    def lines() -> Iterator[Sequence[str]]:
        for of_plan in replay_rows(options, scenarios):
            rows.extend(of_plan)
            yield from ((row.plan, row.policy, *row.cells()) for row in of_plan)

    title = f"days of {n_days:,} that miss the deadline (the latest end after it)"
    print_table(title, ("plan", "policy", *names, "all"), lines(), words=2)
    title = "days that miss it, by what decided about the task that ended last"
    print_table(title, ("plans", "days by cause", *_POLICIES), cause_lines(rows), words=2)
    by_name = {(row.plan, row.policy): row for row in rows}
    pairs = [(by_name[plan, AS_PRINTED], by_name[plan, AS_READ]) for plan in dict.fromkeys(row.plan for row in rows)]
    prices = [(printed.plan, *price_cells(printed, read)) for printed, read in pairs]
    title = f"cost of {AS_PRINTED} above that of {AS_READ} (%), the same days"
    print_table(title, ("extra cost (%)", *names), prices, words=1)


if __name__ == "__main__":
    main()
