"""Class programme, second part: the cheapest fleet that ends by a moment, searched within a slack that prices allow.

A *fleet* is a list of VMs that together run all tasks. It is built by adding one VM after the other to a state. Prices
of the tasks say how much a VM wastes, its slack; what wastes more than a better plan can is dropped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...bounds.programme import MOST_CUTS, TOLERANCE, LinearRows, maximise_concave, maximise_in_boxes
from ...core.limits import ITERATIONS, checkpoint, count_work
from ...core.quantities import NEARLY, STEPWISE_ROUNDING, TABLE_BYTES, FloatArray, IntArray
from ...models.bags.core_patterns import schedule_of_cores
from ...schedules.schedule import Schedule
from .class_tables import ClassTables, VmTable

FIRST_SLACK = 5e-5
"""First slack that is searched, relative to the bound."""

MORE_SLACK = 3.0
"""Factor by which the slack grows if nothing was found within it."""

_PAIRS_AT_ONCE = TABLE_BYTES // 256
"""Pairs of a state and a VM whose sums are worked out at once: some thirty numbers each, with all that is between."""
_WORTH_OF_TASKS = 1e3


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of tasks (and of VMs of limited groups, at most 0), and the bound that they prove.

    Attributes
    ----------
    of_counts : array of float, shape (n_dimensions,)
        The prices pi.
    gain : array of float, shape (n_tables,)
        The gains nu.
    bound : float
        LB.
    """

    of_counts: FloatArray
    gain: FloatArray
    bound: float


@dataclass(frozen=True, slots=True)
class _Layer:
    """Count vectors that were reached by one more VM: from which, and by which."""

    reached: IntArray
    before: IntArray
    vm: IntArray
    table: int


@dataclass(frozen=True, slots=True)
class Fleet:
    """Fleet of VMs for all tasks, as pairs of table and row, and its cost in units of the dearest offer."""

    cost: float
    vms: tuple[tuple[int, int], ...]


class FleetSearch:
    """Prices, and the search that they keep small; costs are in units of the dearest offer.

    Parameters
    ----------
    tables : ClassTables
        What one VM can do.
    """

    def __init__(self, tables: ClassTables) -> None:
        self.tables = tables
        self._most = tables.most
        self._vm_tables = tables.vm_tables
        # Tasks are worth something, VMs of limited groups cost something.
        self._signs = np.where(np.arange(len(tables.most)) < len(tables.classes), 1.0, -1.0)

    # ----------------------------------------------------------------- prices

    def reduced_costs(self, table: VmTable, rows: int, of_counts: FloatArray, pay: bool) -> FloatArray:
        """Cost of the first VMs of a table less the prices of what they run."""
        value: FloatArray = -(table.counts[:rows] @ of_counts)
        if pay:
            value += table.cost[:rows]
        return value

    def _rows_by(self, latest_s: int) -> list[int]:
        return [int(np.searchsorted(table.end_s, latest_s, side="right")) for table in self._vm_tables]

    def _prices_of(self, multipliers: FloatArray, rows: list[int], pay: bool) -> tuple[Prices, FloatArray]:
        """Evaluate the bound at prices, and a supergradient of the gains."""
        n_classes = len(self.tables.classes)
        of_counts = multipliers * self._signs
        gain, gradient = np.zeros(len(self._vm_tables)), np.zeros(len(multipliers))
        for k, (table, n_rows) in enumerate(zip(self._vm_tables, rows, strict=True)):
            if not n_rows:
                continue
            value = self.reduced_costs(table, n_rows, of_counts, pay)
            best = int(value.argmin())
            if value[best] < 0:
                gain[k] = -value[best]
                gradient -= table.vms * table.counts[best]
        gradient[n_classes:] *= -1.0
        total = sum(table.vms * mine for table, mine in zip(self._vm_tables, gain.tolist(), strict=True))
        return Prices(of_counts, gain, float(of_counts @ self._most) - total), gradient

    def best_prices(self, latest_s: int) -> Prices | None:
        """Prices with about the best bound of the cost of plans that end by a moment; None if there is no such plan.

        The bound is concave in the prices: what tasks are worth, less what VMs of limited groups are, is linear
        (``worth``); what VMs gain at these prices is evaluated with a gradient (``gains``).
        """
        rows = self._rows_by(latest_s)
        worst = self.worst_cost(latest_s)
        worth = LinearRows(np.zeros(1), (self._signs * self._most).astype(float)[None, :])
        unlimited = LinearRows(np.zeros(0), np.zeros((0, len(self._most))))

        def gains(multipliers: FloatArray) -> tuple[float, FloatArray]:
            prices, gradient = self._prices_of(multipliers, rows, pay=True)
            return prices.bound - float(prices.of_counts @ self._most), gradient

        # No plan costs more than all VMs until then: a bound above that (and rounding) proves that there is none.
        most = worst * (1 + 1e-6)
        # A VM for a single task costs about ``latest_s`` at most, so the task is worth no more unless limits bind,
        # which can raise prices beyond all costs. So the box of prices grows where they are at its end.
        found = maximise_in_boxes(gains, worth, unlimited, 10.0 * latest_s, 1e6 * (1 + worst), enough=most)
        return None if found.value > most else self._prices_of(found.theta, rows, pay=True)[0]

    def _existence_prices(self, latest_s: int) -> Prices | None:
        """Return the prices that best tell a moment by which some plan ends; None if they prove that none does.

        If VMs are free, a plan has no cost, and its slack is what the bound lacks to 0: next to nothing where plans
        just begin to exist. That makes a search with these prices small there, while that for the cheapest plan finds
        no end.
        """
        rows = self._rows_by(latest_s)
        target = (self._signs * self._most).astype(float)[None, :]
        best: list[Prices] = []

        def gains(multipliers: FloatArray) -> tuple[float, FloatArray]:
            prices, gradient = self._prices_of(multipliers, rows, pay=False)
            # All prices 0 prove nothing, and the bound grows with their size: the tasks must be worth something.
            if prices.of_counts @ self._most > 0.999 * _WORTH_OF_TASKS and (not best or prices.bound > best[0].bound):
                best[:] = [prices]
            return prices.bound - float(prices.of_counts @ self._most), gradient

        worth, enough = LinearRows(np.zeros(1), target), LinearRows(np.array([-_WORTH_OF_TASKS]), target)
        maximise_concave(gains, worth, enough, 10 * _WORTH_OF_TASKS, MOST_CUTS, TOLERANCE)
        if not best:  # the cutting planes failed: any prices do
            even = np.where(self._signs > 0, _WORTH_OF_TASKS / float(self.tables.classes.size.sum()), 0.0)
            best.append(self._prices_of(even, rows, pay=False)[0])
        return None if best[0].bound > 1e-6 else best[0]

    def worst_cost(self, latest_s: int) -> float:
        """Cost of all VMs until a moment, or their limit."""
        rows = zip(self._vm_tables, self._rows_by(latest_s), strict=True)
        return float(sum(table.vms * table.cost[number - 1] for table, number in rows if number))

    # ----------------------------------------------------------------- search

    def fleet_within(self, latest_s: int, prices: Prices, slack: float, pay: bool = True) -> Fleet | None:
        """Cheapest VMs that end by a moment, run all tasks and have at most some slack; None if there are none.

        Stored for each count vector is the least cost less prices of VMs that run it. Offers come one after the other,
        and for each of them layer after layer, each with one more VM.
        """
        rows = self._rows_by(latest_s)
        scale = 1.0 + abs(prices.bound) + float(np.abs(prices.of_counts) @ self._most)
        allowed = slack + 1e-10 * scale  # rounded up: nothing within the slack is lost to floating-point noise
        least = np.full(self.tables.n_states, np.inf)
        least[0] = 0.0
        layers: list[_Layer] = []
        spent = 0.0
        for k in np.argsort(-prices.gain, kind="stable").tolist():  # offers whose limits bind come first: few choices
            table, gain = self._vm_tables[k], float(prices.gain[k])
            value = self.reduced_costs(table, rows[k], prices.of_counts, pay)
            retained = np.flatnonzero(value + gain <= allowed)
            retained = retained[np.argsort(value[retained], kind="stable")]
            frontier = np.flatnonzero(least <= allowed - spent)
            for number in range(1, table.vms + 1):
                if not len(retained):
                    break
                layer = self._one_more_vm(
                    least, frontier, k, retained, value[retained], allowed - spent - number * gain, scale
                )
                if layer is None:
                    break
                layers.append(layer)
                frontier = layer.reached
                complete = layer.reached[-1] >= self.tables.first_with_all_tasks
                fleet = self._cheapest_fleet(least, layers, prices) if complete else None
                if fleet is not None and (not pay or fleet.cost <= prices.bound + STEPWISE_ROUNDING * scale):
                    return fleet  # there are many of them, and none is cheaper
            spent += table.vms * gain
            least[least > allowed - spent] = np.inf
        fleet = self._cheapest_fleet(least, layers, prices)
        # VMs of a limited group that are not rented are slack too, and dearer fleets may be left that have more of it
        # than is allowed: some of those that cost as much were dropped, so that none of them is known to be cheapest.
        return None if fleet is not None and pay and fleet.cost > prices.bound + allowed else fleet

    def _one_more_vm(
        self,
        least: FloatArray,
        frontier: IntArray,
        table: int,
        vms: IntArray,
        values: FloatArray,
        allowed: float,
        scale: float,
    ) -> _Layer | None:
        """Add each VM to each count vector of the frontier; None if that improves nothing."""
        order = np.argsort(least[frontier], kind="stable")
        frontier = frontier[order]
        start = least[frontier]
        counts = self.tables.counts_of(frontier)
        added = self._vm_tables[table].counts[vms]
        shift = added @ self.tables.strides
        partners = np.searchsorted(start, allowed - values, side="right")
        source_of, vm_of = np.full(len(least), -1, dtype=np.int64), np.zeros(len(least), dtype=np.int64)
        cuts = np.searchsorted(np.cumsum(partners), np.arange(_PAIRS_AT_ONCE, int(partners.sum()), _PAIRS_AT_ONCE))
        for some in np.split(np.arange(len(vms)), cuts):
            checkpoint()
            number = partners[some]
            total = int(number.sum())
            if not total:
                continue
            count_work(ITERATIONS.pair * total)
            which = np.repeat(some, number)
            source = np.arange(total) - np.repeat(np.cumsum(number) - number, number)
            fits = np.ones(total, dtype=bool)
            for dimension, most in enumerate(self._most.tolist()):
                fits &= counts[source, dimension] + added[which, dimension] <= most
            which, source = which[fits], source[fits]
            reached = frontier[source] + shift[which]
            value = start[source] + values[which]
            better = np.flatnonzero(value < least[reached] - STEPWISE_ROUNDING * scale)
            # Of an index that is assigned to more than once the last value stays: the least one.
            better = better[np.argsort(-value[better], kind="stable")]
            least[reached[better]] = value[better]
            source_of[reached[better]] = frontier[source[better]]
            vm_of[reached[better]] = vms[which[better]]
        improved = np.flatnonzero(source_of >= 0)
        return _Layer(improved, source_of[improved], vm_of[improved], table) if len(improved) else None

    def _cheapest_fleet(self, least: FloatArray, layers: list[_Layer], prices: Prices) -> Fleet | None:
        """Choose among the count vectors with all tasks, and go back through the layers."""
        ends = np.arange(self.tables.first_with_all_tasks, self.tables.n_states)
        costs = least[ends] + self.tables.counts_of(ends) @ prices.of_counts
        best = int(costs.argmin())
        if not math.isfinite(costs[best]):
            return None
        state, vms = int(ends[best]), []
        for layer in reversed(layers):
            place = int(np.searchsorted(layer.reached, state))
            if place < len(layer.reached) and layer.reached[place] == state:
                vms.append((layer.table, int(layer.vm[place])))
                state = int(layer.before[place])
        cost = float(sum(self._vm_tables[k].cost[row] for k, row in vms))
        return Fleet(cost, tuple(vms))

    def cheapest_by(
        self, latest_s: int, expected_slack: float = 0.0, least_cost: float = 0.0
    ) -> tuple[Fleet, float] | None:
        """Cheapest VMs that end by a moment, and their slack; None if there are none.

        The slack allowed grows until there is a plan. None costs less than ``least_cost``: no less slack will do.
        """
        prices = self.best_prices(latest_s)
        if prices is None:
            return None
        worst = self.worst_cost(latest_s) * (1 + 1e-9)
        size = max(prices.bound, NEARLY * worst)
        first = FIRST_SLACK * size
        slack = max(expected_slack, first, least_cost - prices.bound + first)
        existence: Prices | None = None
        asked = False
        while True:
            fleet = self.fleet_within(latest_s, prices, slack)
            if fleet is not None:
                return fleet, fleet.cost - prices.bound
            if prices.bound + slack > worst:
                return None
            if existence is None:
                existence = self._existence_prices(latest_s)
            if existence is None:
                return None
            # Whether there is any plan is asked as soon as that is no harder than to go on.
            if not asked and -existence.bound / _WORTH_OF_TASKS <= slack / size:
                asked = True
                if self.fleet_within(latest_s, existence, -existence.bound, pay=False) is None:
                    return None
            slack *= MORE_SLACK

    # ------------------------------------------------------- plans of fleets

    def makespan_s(self, fleet: Fleet) -> int:
        """Seconds from when VMs are ready until the last VM of a fleet ends."""
        return max(int(self._vm_tables[k].end_s[row]) for k, row in fleet.vms)

    def schedule(self, fleet: Fleet) -> Schedule:
        """Make the plan of a fleet."""
        cores, at_full_speed = [], []
        for k, row in fleet.vms:
            table, mine = self._vm_tables[k], self.tables.cores_of_vm(k, row)
            if table.at_full_speed:
                at_full_speed.append((table.offer, int(table.end_s[row]), [counts for counts, _ in mine]))
            else:
                cores += [(table.offer, counts, load) for counts, load in mine]
        return schedule_of_cores(self.tables.instance, self.tables.classes, cores, at_full_speed)
