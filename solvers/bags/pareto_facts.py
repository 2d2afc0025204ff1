"""Facts of a front: plans, and proven bounds of the least cost by a moment."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import NamedTuple

from ...core.quantities import SAME_COST
from ...schedules.schedule import Schedule


class Gap(NamedTuple):
    """Moments at which the least cost is not known, all between two neighbouring plans."""

    first_s: int
    last_s: int

    @property
    def width_s(self) -> int:
        """Number of moments."""
        return self.last_s - self.first_s + 1


class FrontFacts:
    """Nondominated plans, and lower bounds of the least cost ``cost(t)`` of plans that end by t.

    ``cost(t)`` does not increase with t, so that a bound holds for all earlier moments as well. What is proved follows
    from plans and bounds alone: a bound that was not reached, at whatever moment, makes no later conclusion wrong.

    Parameters
    ----------
    earliest_s, latest_s : int
        No plan ends before the first, nor after the second.
    """

    def __init__(self, earliest_s: int, latest_s: int) -> None:
        self.earliest_s = earliest_s
        self.latest_s = latest_s
        self.plans: list[Schedule] = []  # from the fastest to the cheapest
        self._makespans: list[int] = []
        # Moments at which a bound is better than those of all later moments, and these bounds.
        self._moments: list[int] = []
        self._bounds: list[float] = []

    def add_plan(self, plan: Schedule) -> bool:
        """Keep a plan if no other is as fast and as cheap; tell whether it was kept."""
        makespan, cost = plan.makespan_s, plan.cost_usd
        if cost >= self.least_cost_usd(makespan) * (1 - SAME_COST):
            return False
        first = bisect_left(self._makespans, makespan)
        last = first
        while last < len(self.plans) and self.plans[last].cost_usd >= cost * (1 - SAME_COST):
            last += 1
        self.plans[first:last] = [plan]
        self._makespans[first:last] = [makespan]
        return True

    def add_bound(self, moment_s: int, cost_usd: float) -> None:
        """Keep a bound of the cost of plans that end by a moment; with `math.inf` there is none."""
        cost_usd = float(cost_usd)  # comparisons with numpy's numbers give booleans that JSON does not know
        known = self.least_cost_usd(moment_s)
        if cost_usd >= known * (1 - SAME_COST):
            cost_usd = known  # there is a plan that costs as much: above it or below, they differ by rounding only
        place = bisect_left(self._moments, moment_s)
        if place < len(self._moments) and self._bounds[place] >= cost_usd:
            return
        end = bisect_right(self._moments, moment_s)
        start = place
        while start and self._bounds[start - 1] <= cost_usd:
            start -= 1
        self._moments[start:end] = [moment_s]
        self._bounds[start:end] = [cost_usd]

    def least_cost_usd(self, moment_s: int) -> float:
        """Cost of the cheapest plan known that ends by a moment; infinite if there is none."""
        plan = self.plan_by(moment_s)
        return math.inf if plan is None else plan.cost_usd

    def plan_by(self, moment_s: int) -> Schedule | None:
        """Return the cheapest plan known that ends by a moment."""
        place = bisect_right(self._makespans, moment_s)
        return self.plans[place - 1] if place else None

    def plan_after(self, moment_s: int) -> Schedule | None:
        """Return the fastest plan of the front that ends after a moment."""
        place = bisect_right(self._makespans, moment_s)
        return self.plans[place] if place < len(self.plans) else None

    def bound_usd(self, moment_s: int) -> float:
        """Proven lower bound of the cost of all plans that end by a moment."""
        if moment_s < self.earliest_s:
            return math.inf
        place = bisect_left(self._moments, moment_s)
        return self._bounds[place] if place < len(self._bounds) else 0.0

    def is_least(self, plan: Schedule) -> bool:
        """True if no plan that is as fast is proved to be cheaper."""
        return self.bound_usd(plan.makespan_s) >= plan.cost_usd

    def is_proven(self, plan: Schedule) -> bool:
        """True if a plan is proved to be the cheapest by its makespan, and every faster one to cost more."""
        return self.is_least(plan) and self.bound_usd(plan.makespan_s - 1) > plan.cost_usd * (1 + SAME_COST)

    def gaps(self) -> list[Gap]:
        """Return all moments at which the least cost is not known; none if the front is complete."""
        starts = [self.earliest_s, *self._makespans]
        ends = [*(makespan - 1 for makespan in self._makespans), self.latest_s]
        costs = [math.inf, *(plan.cost_usd for plan in self.plans)]
        result = []
        for start, end, cost in zip(starts, ends, costs, strict=True):
            proved = bisect_right(self._bounds, -cost, key=lambda bound: -bound)  # bounds of at least the cost
            first = max(start, self._moments[proved - 1] + 1) if proved else start
            if first <= end:
                result.append(Gap(first, end))
        return result


def same_cost(one: Schedule, other: Schedule) -> bool:
    """True if two plans cost the same but for rounding."""
    return abs(one.cost_usd - other.cost_usd) <= SAME_COST * one.cost_usd
