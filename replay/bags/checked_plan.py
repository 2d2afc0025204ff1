"""A plan with what the checker says of it: asked once, however many policies and days the plan meets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...audits.bags.plan import check
from ...audits.facts import Violation
from ...core.errors import SpotbagError
from ...instances.instance import Instance
from ...schedules.schedule import Schedule
from ...schedules.timing import require_no_dates

_PHYSICAL_RULES = frozenset({"task-once", "vm", "placement", "run-time", "ready", "core", "memory", "limit", "credits"})
"""Rules of the checker without which a plan cannot be carried out; a deadline can also be missed."""


@dataclass(frozen=True, slots=True)
class CheckedPlan:
    """A plan that was checked.

    Attributes
    ----------
    schedule : Schedule
        The plan.
    broken : tuple of Violation
        Of the rules without which no cloud could carry it out, those that it breaks.
    """

    schedule: Schedule
    broken: tuple[Violation, ...]

    @property
    def instance(self) -> Instance:
        """Instance of the plan."""
        return self.schedule.instance

    def demand_possible(self) -> None:
        """Refuse a plan that no cloud could carry out.

        Raises
        ------
        SpotbagError
            If it is one.
        """
        if self.broken:
            more = f" (and {len(self.broken) - 1} more; 'spotbag check' lists all)" if len(self.broken) > 1 else ""
            raise SpotbagError(f"{self.instance.name}: the plan cannot be carried out: {self.broken[0]}{more}")


def checked(plan: Schedule | CheckedPlan) -> CheckedPlan:
    """Check a plan, unless it has been checked."""
    if isinstance(plan, CheckedPlan):
        return plan
    return with_verdict(plan, check(plan.instance, plan).violations)


def with_verdict(schedule: Schedule, violations: Iterable[Violation]) -> CheckedPlan:
    """Return a plan with all that the checker has found wrong in it; refuse one of tasks with dates.

    Raises
    ------
    InputError
        If tasks have dates: replays do not know them.
    """
    require_no_dates(schedule.instance, "a replay")
    return CheckedPlan(schedule, tuple(entry for entry in violations if entry.rule in _PHYSICAL_RULES))
