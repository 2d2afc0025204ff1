"""Class dynamic programme: exact for few classes of identical tasks, without an integer-programming solver.

Time counts from the moment the VMs are ready. For offers j with n_j VMs of c_j cores at price p_j a second, and classes
g with N_g tasks:

    Z*_j(a)   least end of one VM of offer j that runs a_g tasks of each class: (min, max)-combination of its cores
    cost(T)   least cost of plans that end by T: VMs (j, a) with Z*_j(a) <= T that together run N, at most n_j of each j

The plans of ``cost(T)`` are searched by adding one VM after the other to a vector of tasks that already run. That is
kept small by prices pi_g of the tasks. With nu_j = max(0, max_a pi a - p_j Z*_j(a)), what a VM of offer j can gain at
most,

    cost(T) >= LB(T) = pi N - sum_j n_j nu_j,

and every plan costs LB(T) and the *slack* of its VMs, p_j Z*_j(a) + nu_j - pi a >= 0 each (and nu_j for each VM that it
does not rent). A plan of cost up to LB(T) + s has no VM, and no set of VMs, of more slack than s: whatever has more is
dropped. The best prices are found by cutting planes in as many dimensions as there are classes; any prices are valid.
A limit of a market is one more class: each VM of the market takes one of it, at a price below 0.

cost(T) is a nonincreasing step function of T; this is how the objective is minimised and the Pareto front is walked.
`class_tables` finds Z*, `class_fleets` cost(T); the objective and the front are here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...core.limits import LimitReached, checkpoint
from ...core.quantities import NEARLY, SAME_COST, STEPWISE_ROUNDING, FloatArray
from ...instances.instance import Instance
from ...models.bags.core_patterns import BurstableMode
from ...models.bags.makespan_bounds import MakespanWindow
from ...schedules.schedule import Schedule
from ...schedules.timing import objective_weights
from .class_fleets import FIRST_SLACK, MORE_SLACK, Fleet, FleetSearch, Prices
from .class_tables import ClassTables


class ParetoPoint(NamedTuple):
    """A plan that no other beats in makespan and cost at once."""

    makespan_s: int
    cost_usd: float
    schedule: Schedule


@dataclass(frozen=True, slots=True)
class BestPlan:
    """Result of the programme.

    Attributes
    ----------
    schedule : Schedule or None
        The best plan within the window; None if there is none below the objective that was given.
    bound : float
        Proven lower bound of the objective of all plans within the window, or the objective that was given if that is
        less; infinite if there is no plan.
    stopped : bool
        Whether the limit was reached before the end.
    """

    schedule: Schedule | None
    bound: float
    stopped: bool = False


class ClassProgramme:
    """The programme of an instance, for its front.

    Parameters
    ----------
    tables : ClassTables
        Its tables.
    """

    def __init__(self, tables: ClassTables) -> None:
        self.instance = tables.instance
        self.tables = tables
        self.fleets = FleetSearch(tables)

    def cheapest_by_makespan(self, latest_s: int) -> Schedule | None:
        """Return the cheapest plan that ends by a moment from ready; None if there is none.

        Parameters
        ----------
        latest_s : int
            The moment; not after that of the programme.
        """
        found = self.fleets.cheapest_by(latest_s)
        return None if found is None else self.fleets.schedule(found[0])

    def front(self) -> Iterator[ParetoPoint]:
        """Yield all nondominated points, from the cheapest to the fastest, each when it is proved.

        The cheapest plan by T gives one point and, just before its makespan, the next T.
        """
        ready = self.instance.boot_overhead_s
        after = self.fleets.cheapest_by(int(self.tables.ends_s[-1])) if len(self.tables.ends_s) else None
        while after is not None:
            fleet, slack = after
            # Where the cost stays the same, ever longer steps; back from where it does not, by halves.
            place, dearer, ties, after = self._place_of(fleet), -1, 0, None
            while place - dearer > 1:
                trial = max(place - 2 ** max(ties - 1, 0), 0) if dearer < 0 else (place + dearer) // 2
                found = self.fleets.cheapest_by(int(self.tables.ends_s[trial]), 1.2 * slack, fleet.cost)
                if found is not None and found[0].cost <= fleet.cost * (1 + SAME_COST):
                    fleet, slack = found
                    place, ties = self._place_of(fleet), ties + 1
                else:
                    dearer, after = trial, found
            schedule = self.fleets.schedule(fleet)
            yield ParetoPoint(self.fleets.makespan_s(fleet) + ready, schedule.cost_usd, schedule)

    def _place_of(self, fleet: Fleet) -> int:
        return int(np.searchsorted(self.tables.ends_s, self.fleets.makespan_s(fleet)))


class _Sweep:
    """Minimisation of the objective over the makespans of a window.

    Level by level: all plans whose objective is up to theta are searched, from the latest makespan down, makespans
    that are close together in one go. If there is none, theta is a bound, and the next level has a larger one.
    """

    def __init__(self, fleets: FleetSearch, window: MakespanWindow, at_most: float, target_gap: float) -> None:
        self.fleets = fleets
        self.tables = fleets.tables
        instance = self.tables.instance
        ends = self.tables.ends_s
        self.ends = ends[(ends >= window.earliest_s) & (ends <= window.latest_s)]
        cost_weight, self.time_weight = objective_weights(instance)
        self.cost_weight = cost_weight * self.tables.cost_unit
        self.ready_value = self.time_weight * instance.boot_overhead_s
        self.cost_bounds = np.zeros(len(self.ends))
        self.prices: dict[int, Prices | None] = {}
        self.at_most = at_most
        self.target_gap = target_gap
        self.best_value = at_most
        self.best: Fleet | None = None
        self.bound = -math.inf

    def run(self) -> BestPlan:
        """Search."""
        stopped = False
        try:
            if self.cost_weight == 0:
                self._fastest()
            elif len(self.ends):
                self._all_levels()
            else:
                self.bound = self.best_value
        except LimitReached:
            stopped = True
        schedule = None if self.best is None else self.fleets.schedule(self.best)
        return BestPlan(schedule, min(self.bound, self.best_value), stopped)

    def _value(self, makespan_s: float, cost: float) -> float:
        return self.ready_value + self.time_weight * makespan_s + self.cost_weight * cost

    def _values(self) -> FloatArray:
        """Lower bound of the objective for each makespan."""
        return np.asarray(self.ready_value + self.time_weight * self.ends + self.cost_weight * self.cost_bounds)

    def _take(self, fleet: Fleet) -> None:
        value = self._value(self.fleets.makespan_s(fleet), fleet.cost)
        if value < self.best_value:
            self.best, self.best_value = fleet, value

    def _fastest(self) -> None:
        """Cost does not count: the first makespan with a plan."""
        for end in self.ends.tolist():
            self.bound = self._value(end, 0.0)
            if self.bound >= self.best_value:
                break
            found = self.fleets.cheapest_by(end)
            if found is not None:
                self._take(found[0])
                break
        self.bound = self.best_value

    def _all_levels(self) -> None:
        """Search level by level, from the least bound of all makespans up."""
        for place in {0, len(self.ends) // 2, len(self.ends) - 1}:
            self._improve_bounds(place)
        while True:  # the least bound must be one by prices of its own
            place = int(self._values().argmin())
            if place in self.prices:
                break
            self._improve_bounds(place)
        first = float(self._values().min())
        if not math.isfinite(first):
            self.bound = self.best_value
            return
        self.bound = first
        if not math.isfinite(self.at_most):
            found = self.fleets.cheapest_by(int(self.ends[-1]))
            if found is None:
                self.bound = math.inf
                return
            self._take(found[0])
        most = self._value(int(self.ends[-1]), self.fleets.worst_cost(int(self.ends[-1])))
        slack = FIRST_SLACK * max(first, NEARLY * most)
        while self.bound < self.best_value * (1 - self.target_gap):
            theta = min(first + slack, self.best_value)
            self._sweep(theta, slack / 2)
            self.bound = min(theta, self.best_value)
            slack *= MORE_SLACK

    def _sweep(self, theta: float, together: float) -> None:
        """Search all plans up to an objective, except those known not to be better than the best."""
        last = len(self.ends) - 1
        while last >= 0:
            limit = min(theta, self.best_value)
            still_open = np.flatnonzero(self._values()[: last + 1] <= limit)
            if not len(still_open):
                return
            last = int(still_open[-1])
            if last not in self.prices:
                self._improve_bounds(last)
                continue
            prices, end = self.prices[last], int(self.ends[last])
            if prices is None:
                return  # no plan ends by then, nor earlier
            near = still_open[self.time_weight * (end - self.ends[still_open]) <= together]
            first = int(near[0])
            # What a plan may cost if it ends at the first of them.
            cost = (limit - self.ready_value - self.time_weight * int(self.ends[first])) / self.cost_weight
            fleet = self.fleets.fleet_within(end, prices, cost - prices.bound)
            if fleet is None:
                self._no_cheaper(last, cost)
                last = first - 1
            else:
                self._take(fleet)
                # Plans that end between the makespan of this one and `end` cost no less.
                last = int(np.searchsorted(self.ends, self.fleets.makespan_s(fleet))) - 1
                self._no_cheaper(last, fleet.cost)

    def _no_cheaper(self, last: int, cost: float) -> None:
        """No plan that ends at a moment, or earlier, costs less."""
        mine = self.cost_bounds[: last + 1]
        np.maximum(mine, cost * (1 - STEPWISE_ROUNDING), out=mine)

    def _improve_bounds(self, place: int) -> None:
        """Find the prices of a makespan and evaluate their bound for all."""
        checkpoint()
        prices = self.prices[place] = self.fleets.best_prices(int(self.ends[place]))
        if prices is None:
            self.cost_bounds[: place + 1] = np.inf
            return
        gains = np.zeros(len(self.ends))
        for table in self.tables.vm_tables:
            value = -self.fleets.reduced_costs(table, len(table.end_s), prices.of_counts, pay=True)
            most = np.concatenate([[0.0], np.maximum.accumulate(np.maximum(value, 0.0))])
            gains += table.vms * most[np.searchsorted(table.end_s, self.ends, side="right")]
        worth = float(prices.of_counts @ self.tables.most)
        bounds = worth - gains - STEPWISE_ROUNDING * (abs(worth) + gains)
        np.maximum(self.cost_bounds, bounds, out=self.cost_bounds)


def best_plan(
    instance: Instance,
    window: MakespanWindow,
    at_most: float = math.inf,
    burstable: BurstableMode = "refuse",
    target_gap: float = 0.0,
) -> BestPlan:
    """Minimise the objective over the makespans of a window.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    window : MakespanWindow
        Makespans to look at, from ready.
    at_most : float
        Objective of a plan that is known: only better ones are looked for.
    burstable
        See `ClassTables`.
    target_gap : float
        Relative gap between plan and bound that is good enough.

    Returns
    -------
    BestPlan
        The best plan so far if the limit is reached before the end.

    Raises
    ------
    ModelRefusal
        See `ClassTables`.
    """
    try:
        tables = ClassTables(instance, window.latest_s, burstable)
    except LimitReached:
        return BestPlan(None, -math.inf, stopped=True)
    return _Sweep(FleetSearch(tables), window, at_most, target_gap).run()
