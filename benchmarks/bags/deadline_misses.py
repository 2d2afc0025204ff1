"""Missed deadlines of policies, their causes and costs: ``python -m spotbag_papers.bags.deadline_misses``.

A thousand days of each scenario of HADS on each instance of both papers, the same days for every policy; each policy
also from the plan of the other paper. ``--days 60`` replays fewer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from spotbag.core.statistics import reduction_percent
from spotbag.instances.bags.scenarios import SCENARIOS, find_scenario
from spotbag.instances.library import library_instance
from spotbag.replay.bags.outcome import DayOutcome
from spotbag.replay.bags.runs import replay_days, trace_day
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.bags.solve import solve
from spotbag.traces.bags.lateness import CAUSES, cause_of_day

from ..claims import show
from ..measuring import asked, print_table

AS_PRINTED = "hads"
AS_READ = "hads+spare-time-spot"
"""HADS with spare time asked of all VMs, as Algorithm 7 is printed, and of spot VMs only."""

_WORKERS = 2
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
    outcomes : dict of str to sequence of DayOutcome
        The days of each scenario.
    causes : Counter of str
        Days that missed the deadline, by cause.
    """

    plan: str
    group: str
    policy: str
    outcomes: dict[str, Sequence[DayOutcome]] = field(default_factory=dict)
    causes: Counter[str] = field(default_factory=Counter)

    @property
    def days(self) -> list[DayOutcome]:
        """Number of days."""
        return [day for days in self.outcomes.values() for day in days]

    def missed(self, scenario: str) -> list[int]:
        """Return the numbers of the days of a scenario that missed the deadline."""
        return [number for number, day in enumerate(self.outcomes[scenario]) if not day.meets_deadline]

    def cells(self) -> list[str]:
        """Return the days of each scenario that missed the deadline, with the latest end; and all of them."""
        cells, total = [], 0
        for scenario, days in self.outcomes.items():
            missed = self.missed(scenario)
            total += len(missed)
            late = [days[number].makespan_s for number in missed]
            known = [end_s - days[0].deadline_s for end_s in late if end_s is not None]
            latest = "never" if len(known) < len(late) else f"{max(known, default=0):,} s"
            cells.append(f"{len(missed)} ({latest})" if missed else "0")
        return [*cells, f"{total:,} of {len(self.days):,}"]


def plans() -> Iterator[tuple[str, str, Schedule]]:
    """Plans in which a VM can hibernate, with names and groups: on-demand VMs alone miss no deadline."""
    for family, method in _PLANS:
        for job in _INSTANCES:
            name = f"{family}/{job}"
            instance, called, group = library_instance(name), f"{name} by {method}", _GROUPS[0]
            if name == _LATE_D_SPOT[0]:
                group = _GROUPS[1]
                instance, called = instance.replace(d_spot_s=_LATE_D_SPOT[1]), f"{called}, {group}"
            schedule = solve(instance, method).schedule
            assert schedule is not None
            assert instance.offer_is_spot[schedule.vm_offer].any()
            yield called, group, schedule


def replay_rows(n_days: int, scenarios: Sequence[str], seed: int = 0) -> Iterator[list[PolicyMisses]]:
    """Replay the days of all scenarios, plan by plan: a row for each policy."""
    for called, group, schedule in plans():
        rows = [PolicyMisses(called, group, policy) for policy in _POLICIES]
        for label in scenarios:
            scenario = find_scenario(label)
            days = replay_days(schedule, _POLICIES, scenario, n_days, seed=seed, workers=_WORKERS, bounds=False)
            for row, outcomes in zip(rows, days.outcomes, strict=True):
                row.outcomes[label] = outcomes
                for number in row.missed(label):
                    timeline = scenario.day(schedule.instance, seed, number)
                    cause = cause_of_day(trace_day(schedule, row.policy, timeline, day=number)[1])
                    assert cause is not None
                    row.causes[cause] += 1
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
    cells = []
    for scenario, days in printed.outcomes.items():
        mine, others = ([day.cost_usd for day in each] for each in (days, read.outcomes[scenario]))
        cells.append(show((-reduction_percent(mine, others)).estimate, 1))
    return cells


def main() -> None:
    """Print the tables."""
    n_days = asked(__doc__, days=1000).days
    scenarios = [name for name in SCENARIOS if name.startswith("hads/sc")]
    names = [name.removeprefix("hads/") for name in scenarios]
    rows: list[PolicyMisses] = []

    def lines() -> Iterator[Sequence[str]]:
        for of_plan in replay_rows(n_days, scenarios):
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
