"""Class dynamic programme: exact for up to three classes of identical tasks, without an integer-programming solver.

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
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...core.errors import ModelRefusal
from ...core.quantities import FloatArray, IntArray
from ...instances.entries import RentalOffer
from ...instances.instance import Instance
from ...schedules.evaluation import objective_weights
from ...schedules.schedule import Schedule
from .core_patterns import (
    BurstableMode,
    OfferPatterns,
    enumerate_patterns,
    offers_without_credits,
    require_free_memory,
    schedule_of_cores,
)
from .kelley import maximise_concave
from .makespan_window import MakespanWindow, makespan_window
from .task_classes import TaskClasses, task_classes
from .vm_limits import binding_market_limits

MOST_CLASSES = 3
"""Classes beyond which the programme refuses."""

MOST_COUNT_VECTORS = 50_000
"""Count vectors beyond which the programme refuses."""

MOST_STATES = 500_000
"""Count vectors times numbers of VMs of limited markets beyond which the programme refuses."""

MOST_PATTERNS = 60_000
"""Patterns of a core of one offer beyond which the programme refuses."""

MOST_TABLE_STEPS = 4_000_000_000
"""Count vectors times patterns times cores, over all offers, beyond which the programme refuses."""

_NAME = "the class programme"
_NEVER = 2**40
_NOISE = 1e-12
_PAIRS_AT_ONCE = 1_000_000
_MOST_CUTS = 200
_CUT_TOLERANCE = 1e-7
_FIRST_SLACK = 2e-4
_MORE_SLACK = 3.0
_LEAST_SIZE = 1e-6
_SAME_COST = 1e-11
_WORTH_OF_TASKS = 1e3


class ParetoPoint(NamedTuple):
    """A plan that no other beats in makespan and cost at once."""

    makespan_s: int
    cost_usd: float
    schedule: Schedule


@dataclass(frozen=True, slots=True)
class BestPlan:
    """What the programme found.

    Attributes
    ----------
    schedule : Schedule or None
        The best plan within the window; None if there is none below the objective that was given.
    bound : float
        Proven lower bound of the objective of all plans within the window, or the objective that was given if that is
        less; infinite if there is no plan.
    stopped, interrupted : bool
        Whether the search was stopped, and whether by the user.
    """

    schedule: Schedule | None
    bound: float
    stopped: bool = False
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class _VmTable:
    """What one VM of an offer can do: all useful VMs by their end.

    Attributes
    ----------
    offer, patterns : RentalOffer and OfferPatterns
        The offer, and what one core of it can run.
    ends_of_cores : list of arrays of int, each of the shape of the count vectors
        Least end of 1, 2, ... cores that run a count vector.
    counts : array of int, shape (n_vms, n_dimensions)
        Tasks of each class, and VMs of each limited market (1 or 0).
    end_s : array of int, shape (n_vms,)
        Their ends, ascending.
    price : float
        Of a second, in units of the dearest offer.
    vms : int
        Most VMs.
    """

    offer: RentalOffer
    patterns: OfferPatterns
    ends_of_cores: list[IntArray]
    counts: IntArray
    end_s: IntArray
    price: float
    vms: int


@dataclass(frozen=True, slots=True)
class _Prices:
    """Prices of tasks (and of VMs of limited markets, at most 0), and the bound that they prove.

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
class _Fleet:
    """VMs that run all tasks, as pairs of table and row, and their cost in units of the dearest offer."""

    cost: float
    vms: tuple[tuple[int, int], ...]


class _Stopped(Exception):  # noqa: N818  (it is no error)
    """The caller wants to stop."""


class ClassProgramme:
    """The programme of an instance.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    latest_s : int
        Latest end that will be asked for, from ready.
    burstable : {"refuse", "baseline"}
        Whether burstable offers are refused, or run all their tasks in baseline mode.
    without_offers : frozenset of int
        Offers that the caller has proved useless, as indices into ``instance.offers``.
    should_stop : callable, optional
        Asked now and then whether to stop.

    Raises
    ------
    ModelRefusal
        If memory can bind, a usable offer is burstable, or there are too many classes, count vectors or patterns.
    """

    def __init__(
        self,
        instance: Instance,
        latest_s: int,
        burstable: BurstableMode = "refuse",
        without_offers: frozenset[int] = frozenset(),
        should_stop: Callable[[], bool] | None = None,
    ) -> None:
        self.instance = instance
        self._should_stop = should_stop
        self.classes: TaskClasses = task_classes(instance)
        offers = offers_without_credits(instance, burstable, without_offers, _NAME)
        require_free_memory(instance, offers, _NAME)
        if len(self.classes) > MOST_CLASSES:
            raise ModelRefusal(
                f"{_NAME} takes up to {MOST_CLASSES} classes of identical tasks, and there are {len(self.classes)}; "
                f"'patterns' takes up to 40 of them, 'columns' up to 250, 'search' any number"
            )
        self._caps = binding_market_limits(instance, offers)
        most = np.array([*self.classes.size.tolist(), *(cap for _, cap in self._caps)], dtype=np.int64)
        self._shape = tuple((most + 1).tolist())
        self._refuse_many_states()
        self._most = most
        self._strides = np.array([math.prod(self._shape[k + 1 :]) for k in range(len(most))], dtype=np.int64)
        self._cost_unit = max((offer.price_usd_per_s for offer in offers), default=1.0)
        patterns = [self._patterns(offer, latest_s) for offer in offers]
        self._refuse_large_tables(patterns)
        self._tables = [self._vm_table(mine) for mine in patterns if len(mine.load_s)]
        self.ends_s: IntArray = np.unique(np.concatenate([np.zeros(0, np.int64), *(t.end_s for t in self._tables)]))

    def _refuse_many_states(self) -> None:
        vectors, states = math.prod((self.classes.size + 1).tolist()), math.prod(self._shape)
        sizes = " x ".join(str(size) for size in self.classes.size.tolist())
        others = "'patterns', 'columns' and 'search' do not count them"
        if vectors > MOST_COUNT_VECTORS:
            raise ModelRefusal(
                f"{_NAME} takes up to {MOST_COUNT_VECTORS:,} count vectors, and there are {vectors:,} of {sizes} "
                f"tasks; {others}"
            )
        if states > MOST_STATES:
            markets = " and ".join(f"{cap} {market}" for market, cap in self._caps)
            raise ModelRefusal(
                f"{_NAME} takes up to {MOST_STATES:,} states, and there are {states:,} of {sizes} tasks on up to "
                f"{markets} VMs; {others}"
            )

    # ----------------------------------------------------------------- tables

    def _patterns(self, offer: RentalOffer, latest_s: int) -> OfferPatterns:
        limit = self.instance.time_limit_s(offer.market) - self.instance.boot_overhead_s
        seconds = self.instance.sustained_s[self.classes.group, offer.index]
        return enumerate_patterns(seconds, self.classes.size, min(limit, latest_s), offer, MOST_PATTERNS, _NAME)

    def _refuse_large_tables(self, patterns: list[OfferPatterns]) -> None:
        if len(self.classes) == 1:
            return  # their tables are written down
        states = math.prod((self.classes.size + 1).tolist())
        steps = sum(states * len(mine.load_s) * (_useful_cores(mine, self.classes) - 1) for mine in patterns)
        if steps > MOST_TABLE_STEPS:
            raise ModelRefusal(
                f"{_NAME} would need {steps:,} steps to find the least ends of VMs ({states:,} count vectors, up to "
                f"{max(len(mine.load_s) for mine in patterns):,} patterns of a core); 'patterns' needs none of them"
            )

    def _vm_table(self, patterns: OfferPatterns) -> _VmTable:
        """Make the table of an offer, the empty VM left out."""
        offer = patterns.offer
        ends = self._ends_of_one_class(patterns) if len(self.classes) == 1 else self._ends_of_cores(patterns)
        whole = ends[-1]
        counts = np.argwhere((whole < _NEVER) & (whole > 0))
        end_s = whole[tuple(counts.T)]
        by_end = np.argsort(end_s, kind="stable")
        in_markets = [np.full((len(counts), 1), int(offer.market == market)) for market, _ in self._caps]
        return _VmTable(
            offer,
            patterns,
            ends,
            np.concatenate([counts, *in_markets], axis=1)[by_end],
            end_s[by_end],
            offer.price_usd_per_s / self._cost_unit,
            min(offer.limit, self.instance.n_tasks),
        )

    def _ends_of_cores(self, patterns: OfferPatterns) -> list[IntArray]:
        """Least ends of 1, 2, ... cores: Z_k(a) = min over patterns p of max(load of p, Z_k-1(a - p))."""
        shape = tuple((self.classes.size + 1).tolist())
        first = np.full(shape, _NEVER, dtype=np.int64)
        first[(0,) * len(shape)] = 0
        first[tuple(patterns.counts.T)] = patterns.load_s
        result = [first]
        for _ in range(_useful_cores(patterns, self.classes) - 1):
            self._stop_if_asked()
            more = result[-1].copy()
            for counts, load in zip(patterns.counts.tolist(), patterns.load_s.tolist(), strict=True):
                target = more[tuple(slice(count, None) for count in counts)]
                source = result[-1][tuple(slice(0, size - count) for count, size in zip(counts, shape, strict=True))]
                np.minimum(target, np.maximum(source, load), out=target)
            result.append(more)
        return result

    def _ends_of_one_class(self, patterns: OfferPatterns) -> list[IntArray]:
        """Least ends of one class of tasks: as many rounds as it takes."""
        each = int(patterns.load_s[0])
        tasks = np.arange(int(self.classes.size[0]) + 1)
        result = []
        for cores in range(1, _useful_cores(patterns, self.classes) + 1):
            ends = -(-tasks // cores) * each
            result.append(np.where(ends <= patterns.load_s[-1], ends, _NEVER))
        return result

    # ----------------------------------------------------------------- prices

    def _reduced(self, table: _VmTable, rows: int, of_counts: FloatArray, pay: bool) -> FloatArray:
        """Cost of the first VMs of a table less the prices of what they run."""
        value: FloatArray = -(table.counts[:rows] @ of_counts)
        if pay:
            value += table.end_s[:rows] * table.price
        return value

    def _rows_by(self, latest_s: int) -> list[int]:
        return [int(np.searchsorted(table.end_s, latest_s, side="right")) for table in self._tables]

    def _prices_of(self, multipliers: FloatArray, rows: list[int], pay: bool) -> tuple[_Prices, FloatArray]:
        """Evaluate the bound at prices, and a supergradient of the gains."""
        n_classes = len(self.classes)
        of_counts = multipliers * np.where(np.arange(len(multipliers)) < n_classes, 1.0, -1.0)
        gain, gradient = np.zeros(len(self._tables)), np.zeros(len(multipliers))
        for k, (table, n_rows) in enumerate(zip(self._tables, rows, strict=True)):
            if not n_rows:
                continue
            value = self._reduced(table, n_rows, of_counts, pay)
            best = int(value.argmin())
            if value[best] < 0:
                gain[k] = -value[best]
                gradient -= table.vms * table.counts[best]
        gradient[n_classes:] *= -1.0
        total = sum(table.vms * mine for table, mine in zip(self._tables, gain.tolist(), strict=True))
        return _Prices(of_counts, gain, float(of_counts @ self._most) - total), gradient

    def _best_prices(self, latest_s: int) -> _Prices | None:
        """Prices with about the best bound of the cost of plans that end by a moment; None if there is no such plan."""
        rows = self._rows_by(latest_s)
        worst = self._worst_cost(latest_s)
        signs = np.where(np.arange(len(self._most)) < len(self.classes), 1.0, -1.0)
        nothing = np.zeros((0, len(self._most)))

        def gains(multipliers: FloatArray) -> tuple[float, FloatArray]:
            prices, gradient = self._prices_of(multipliers, rows, pay=True)
            return prices.bound - float(prices.of_counts @ self._most), gradient

        box = 10.0 * latest_s
        while True:
            found = maximise_concave(
                gains,
                np.zeros(1),
                (signs * self._most).astype(float)[None, :],
                nothing,
                np.zeros(0),
                box,
                _MOST_CUTS,
                _CUT_TOLERANCE,
            )
            if found.value > worst * (1 + 1e-6):
                return None
            if found.theta.max(initial=0.0) < 0.99 * box or box > 1e6 * (1 + worst):
                return self._prices_of(found.theta, rows, pay=True)[0]
            box *= 100.0

    def _existence_prices(self, latest_s: int) -> _Prices | None:
        """Prices that tell best whether any plan ends by a moment; None if they prove that none does.

        If VMs are free, a plan has no cost, and its slack is what the bound lacks to 0: next to nothing where plans
        just begin to exist. That makes a search with these prices small there, while that for the cheapest plan finds
        no end.
        """
        rows = self._rows_by(latest_s)
        signs = np.where(np.arange(len(self._most)) < len(self.classes), 1.0, -1.0)
        target = (signs * self._most).astype(float)[None, :]
        best: list[_Prices] = []

        def gains(multipliers: FloatArray) -> tuple[float, FloatArray]:
            prices, gradient = self._prices_of(multipliers, rows, pay=False)
            # All prices 0 prove nothing, and the bound grows with their size: the tasks shall be worth something.
            if prices.of_counts @ self._most > 0.999 * _WORTH_OF_TASKS and (not best or prices.bound > best[0].bound):
                best[:] = [prices]
            return prices.bound - float(prices.of_counts @ self._most), gradient

        maximise_concave(
            gains,
            np.zeros(1),
            target,
            target,
            np.array([_WORTH_OF_TASKS]),
            10 * _WORTH_OF_TASKS,
            _MOST_CUTS,
            _CUT_TOLERANCE,
        )
        if not best:  # the cutting planes failed: any prices do
            even = np.where(signs > 0, _WORTH_OF_TASKS / float(self.classes.size.sum()), 0.0)
            best.append(self._prices_of(even, rows, pay=False)[0])
        return None if best[0].bound > 1e-6 else best[0]

    def _worst_cost(self, latest_s: int) -> float:
        """Cost of all VMs until a moment, or their limit."""
        return sum(table.vms * table.price * min(latest_s, int(table.end_s[-1])) for table in self._tables)

    # ----------------------------------------------------------------- search

    def _fleet_within(self, latest_s: int, prices: _Prices, slack: float, pay: bool = True) -> _Fleet | None:
        """Cheapest VMs that end by a moment, run all tasks and have at most some slack; None if there are none.

        Kept for each count vector is the least cost less prices of VMs that run it. Offers come one after the other,
        and for each of them layer after layer, each with one more VM.
        """
        rows = self._rows_by(latest_s)
        scale = 1.0 + abs(prices.bound) + float(np.abs(prices.of_counts) @ self._most)
        allowed = slack + 1e-10 * scale  # rounded up: nothing within the slack is lost to floating-point noise
        least = np.full(math.prod(self._shape), np.inf)
        least[0] = 0.0
        layers: list[_Layer] = []
        spent = 0.0
        for k in np.argsort(-prices.gain, kind="stable").tolist():  # offers whose limits bind come first: few choices
            table, gain = self._tables[k], float(prices.gain[k])
            value = self._reduced(table, rows[k], prices.of_counts, pay)
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
                fleet = self._cheapest_fleet(least, layers, prices) if self._reaches_all_tasks(layer) else None
                if fleet is not None and (not pay or fleet.cost <= prices.bound + _NOISE * scale):
                    return fleet  # there are many of them, and none is cheaper
            spent += table.vms * gain
            least[least > allowed - spent] = np.inf
        return self._cheapest_fleet(least, layers, prices)

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
        counts = self._counts_of(frontier)
        added = self._tables[table].counts[vms]
        shift = added @ self._strides
        partners = np.searchsorted(start, allowed - values, side="right")
        source_of, vm_of = np.full(len(least), -1, dtype=np.int64), np.zeros(len(least), dtype=np.int64)
        cuts = np.searchsorted(np.cumsum(partners), np.arange(_PAIRS_AT_ONCE, int(partners.sum()), _PAIRS_AT_ONCE))
        for some in np.split(np.arange(len(vms)), cuts):
            self._stop_if_asked()
            number = partners[some]
            total = int(number.sum())
            if not total:
                continue
            which = np.repeat(some, number)
            source = np.arange(total) - np.repeat(np.cumsum(number) - number, number)
            fits = np.ones(total, dtype=bool)
            for dimension, most in enumerate(self._most.tolist()):
                fits &= counts[source, dimension] + added[which, dimension] <= most
            which, source = which[fits], source[fits]
            reached = frontier[source] + shift[which]
            value = start[source] + values[which]
            better = np.flatnonzero(value < least[reached] - _NOISE * scale)
            # Of an index that is assigned to more than once the last value stays: the least one.
            better = better[np.argsort(-value[better], kind="stable")]
            least[reached[better]] = value[better]
            source_of[reached[better]] = frontier[source[better]]
            vm_of[reached[better]] = vms[which[better]]
        improved = np.flatnonzero(source_of >= 0)
        return _Layer(improved, source_of[improved], vm_of[improved], table) if len(improved) else None

    def _counts_of(self, states: IntArray) -> IntArray:
        """Count vectors of flat indices, shape (n_states, n_dimensions)."""
        return np.asarray(states[:, None] // self._strides % (self._most + 1))

    def _reaches_all_tasks(self, layer: _Layer) -> bool:
        n_classes = len(self.classes)
        first = int(self._strides[:n_classes] @ self._most[:n_classes])
        return bool(layer.reached[-1] >= first)  # they come last

    def _cheapest_fleet(self, least: FloatArray, layers: list[_Layer], prices: _Prices) -> _Fleet | None:
        """Choose among the count vectors with all tasks, and go back through the layers."""
        n_classes = len(self.classes)
        all_tasks = int(self._strides[:n_classes] @ self._most[:n_classes])
        ends = all_tasks + np.arange(math.prod(self._shape[n_classes:]))
        costs = least[ends] + self._counts_of(ends) @ prices.of_counts
        best = int(costs.argmin())
        if not math.isfinite(costs[best]):
            return None
        state, vms = int(ends[best]), []
        for layer in reversed(layers):
            place = int(np.searchsorted(layer.reached, state))
            if place < len(layer.reached) and layer.reached[place] == state:
                vms.append((layer.table, int(layer.vm[place])))
                state = int(layer.before[place])
        cost = sum(int(self._tables[k].end_s[row]) * self._tables[k].price for k, row in vms)
        return _Fleet(cost, tuple(vms))

    def _stop_if_asked(self) -> None:
        if self._should_stop is not None and self._should_stop():
            raise _Stopped

    def _cheapest_fleet_by(
        self, latest_s: int, expected_slack: float = 0.0, least_cost: float = 0.0
    ) -> tuple[_Fleet, float] | None:
        """Cheapest VMs that end by a moment, and their slack; None if there are none.

        The slack allowed grows until there is a plan. None costs less than ``least_cost``: no less slack will do.
        """
        prices = self._best_prices(latest_s)
        if prices is None:
            return None
        worst = self._worst_cost(latest_s) * (1 + 1e-9)
        size = max(prices.bound, _LEAST_SIZE * worst)
        first = _FIRST_SLACK * size
        slack = max(expected_slack, first, least_cost - prices.bound + first)
        existence: _Prices | None = None
        asked = False
        while True:
            fleet = self._fleet_within(latest_s, prices, slack)
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
                if self._fleet_within(latest_s, existence, -existence.bound, pay=False) is None:
                    return None
            slack *= _MORE_SLACK

    # -------------------------------------------------------------- read back

    def _makespan(self, fleet: _Fleet) -> int:
        """Last end, from ready."""
        return max(int(self._tables[k].end_s[row]) for k, row in fleet.vms)

    def _schedule(self, fleet: _Fleet) -> Schedule:
        cores = [
            (self._tables[k].offer, counts, load) for k, row in fleet.vms for counts, load in self._cores_of_vm(k, row)
        ]
        return schedule_of_cores(self.instance, self.classes, cores)

    def _cores_of_vm(self, k: int, row: int) -> list[tuple[IntArray, int]]:
        """Split the tasks of a VM into cores that end with it at the latest.

        From the last core on, each takes a pattern that leaves the others enough time.
        """
        table = self._tables[k]
        left, end = table.counts[row, : len(self.classes)].copy(), int(table.end_s[row])
        patterns = table.patterns
        candidates, loads = patterns.counts[patterns.load_s <= end], patterns.load_s[patterns.load_s <= end]
        result = []
        for others in reversed(table.ends_of_cores[:-1]):
            if others[tuple(left)] <= end:
                continue  # this core may stay idle
            fits = np.flatnonzero((candidates <= left).all(axis=1))
            place = fits[np.flatnonzero(others[tuple((left - candidates[fits]).T)] <= end)[0]]
            result.append((candidates[place], int(loads[place])))
            left = left - candidates[place]
        if left.any():
            result.append((left, int(table.ends_of_cores[0][tuple(left)])))
        return result

    # ----------------------------------------------------------- entry points

    def cheapest_by_makespan(self, latest_s: int) -> Schedule | None:
        """Return the cheapest plan that ends by a moment from ready; None if there is none.

        Parameters
        ----------
        latest_s : int
            The moment; not after that of the programme.
        """
        found = self._cheapest_fleet_by(latest_s)
        return None if found is None else self._schedule(found[0])

    def front(self) -> Iterator[ParetoPoint]:
        """Yield all nondominated points, from the cheapest to the fastest, each when it is proved.

        The cheapest plan by T gives one point and, just before its makespan, the next T.
        """
        ready = self.instance.boot_overhead_s
        after = self._cheapest_fleet_by(int(self.ends_s[-1])) if len(self.ends_s) else None
        while after is not None:
            fleet, slack = after
            # Where the cost stays the same, ever longer steps; back from where it does not, by halves.
            place, dearer, ties, after = self._place_of(fleet), -1, 0, None
            while place - dearer > 1:
                trial = max(place - 2 ** max(ties - 1, 0), 0) if dearer < 0 else (place + dearer) // 2
                found = self._cheapest_fleet_by(int(self.ends_s[trial]), 1.2 * slack, fleet.cost)
                if found is not None and found[0].cost <= fleet.cost * (1 + _SAME_COST):
                    fleet, slack = found
                    place, ties = self._place_of(fleet), ties + 1
                else:
                    dearer, after = trial, found
            yield self._point(fleet, self._makespan(fleet), ready)

    def _place_of(self, fleet: _Fleet) -> int:
        return int(np.searchsorted(self.ends_s, self._makespan(fleet)))

    def _point(self, fleet: _Fleet, makespan_s: int, ready: int) -> ParetoPoint:
        schedule = self._schedule(fleet)
        return ParetoPoint(makespan_s + ready, schedule.cost_usd, schedule)

    def best(self, window: MakespanWindow, at_most: float = math.inf, target_gap: float = 0.0) -> BestPlan:
        """Minimise the objective over the makespans of a window; see `best_plan`."""
        return _Sweep(self, window, at_most, target_gap).run()


class _Sweep:
    """Minimisation of the objective over the makespans of a window.

    Level by level: all plans whose objective is up to theta are searched, from the latest makespan down, makespans
    that are close together in one go. If there is none, theta is a bound, and the next level has a larger one.
    """

    def __init__(self, programme: ClassProgramme, window: MakespanWindow, at_most: float, target_gap: float) -> None:
        instance = programme.instance
        self.programme = programme
        ends = programme.ends_s
        self.ends = ends[(ends >= window.earliest_s) & (ends <= window.latest_s)]
        cost_weight, self.time_weight = objective_weights(instance)
        self.cost_weight = cost_weight * programme._cost_unit
        self.ready_value = self.time_weight * instance.boot_overhead_s
        self.cost_bounds = np.zeros(len(self.ends))
        self.prices: dict[int, _Prices | None] = {}
        self.at_most = at_most
        self.target_gap = target_gap
        self.best_value = at_most
        self.best: _Fleet | None = None
        self.bound = -math.inf

    def run(self) -> BestPlan:
        """Search."""
        stopped = interrupted = False
        try:
            if self.cost_weight == 0:
                self._fastest()
            elif len(self.ends):
                self._all_levels()
            else:
                self.bound = self.best_value
        except _Stopped:
            stopped = True
        except KeyboardInterrupt:
            stopped = interrupted = True
        schedule = None if self.best is None else self.programme._schedule(self.best)
        return BestPlan(schedule, min(self.bound, self.best_value), stopped, interrupted)

    def _value(self, makespan_s: float, cost: float) -> float:
        return self.ready_value + self.time_weight * makespan_s + self.cost_weight * cost

    def _values(self) -> FloatArray:
        """Lower bound of the objective for each makespan."""
        return np.asarray(self.ready_value + self.time_weight * self.ends + self.cost_weight * self.cost_bounds)

    def _take(self, fleet: _Fleet) -> None:
        value = self._value(self.programme._makespan(fleet), fleet.cost)
        if value < self.best_value:
            self.best, self.best_value = fleet, value

    def _fastest(self) -> None:
        """Cost does not count: the first makespan with a plan."""
        for end in self.ends.tolist():
            self.bound = self._value(end, 0.0)
            if self.bound >= self.best_value:
                break
            found = self.programme._cheapest_fleet_by(end)
            if found is not None:
                self._take(found[0])
                break
        self.bound = self.best_value

    def _all_levels(self) -> None:
        for place in {0, len(self.ends) // 2, len(self.ends) - 1}:
            self._improve_bounds(place)
        while True:  # the least bound shall be one by prices of its own
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
            found = self.programme._cheapest_fleet_by(int(self.ends[-1]))
            if found is None:
                self.bound = math.inf
                return
            self._take(found[0])
        most = self._value(int(self.ends[-1]), self.programme._worst_cost(int(self.ends[-1])))
        slack = _FIRST_SLACK * max(first, _LEAST_SIZE * most)
        while self.bound < self.best_value * (1 - self.target_gap):
            theta = min(first + slack, self.best_value)
            self._sweep(theta, slack / 2)
            self.bound = min(theta, self.best_value)
            slack *= _MORE_SLACK

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
            fleet = self.programme._fleet_within(end, prices, cost - prices.bound)
            if fleet is None:
                self._no_cheaper(last, cost)
                last = first - 1
            else:
                self._take(fleet)
                # Plans that end between the makespan of this one and `end` cost no less.
                last = int(np.searchsorted(self.ends, self.programme._makespan(fleet))) - 1
                self._no_cheaper(last, fleet.cost)

    def _no_cheaper(self, last: int, cost: float) -> None:
        """No plan that ends at a moment, or earlier, costs less."""
        mine = self.cost_bounds[: last + 1]
        np.maximum(mine, cost * (1 - _NOISE), out=mine)

    def _improve_bounds(self, place: int) -> None:
        """Find the prices of a makespan and evaluate their bound for all."""
        programme = self.programme
        programme._stop_if_asked()
        prices = self.prices[place] = programme._best_prices(int(self.ends[place]))
        if prices is None:
            self.cost_bounds[: place + 1] = np.inf
            return
        gains = np.zeros(len(self.ends))
        for table in programme._tables:
            value = -programme._reduced(table, len(table.end_s), prices.of_counts, pay=True)
            most = np.concatenate([[0.0], np.maximum.accumulate(np.maximum(value, 0.0))])
            gains += table.vms * most[np.searchsorted(table.end_s, self.ends, side="right")]
        worth = float(prices.of_counts @ programme._most)
        bounds = worth - gains - _NOISE * (abs(worth) + gains)
        np.maximum(self.cost_bounds, bounds, out=self.cost_bounds)


def best_plan(
    instance: Instance,
    window: MakespanWindow,
    at_most: float = math.inf,
    burstable: BurstableMode = "refuse",
    without_offers: frozenset[int] = frozenset(),
    should_stop: Callable[[], bool] | None = None,
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
    burstable, without_offers, should_stop
        See `ClassProgramme`.
    target_gap : float
        Relative gap between plan and bound that is good enough.

    Returns
    -------
    BestPlan
        Ctrl-C ends the search with the best plan so far.

    Raises
    ------
    ModelRefusal
        See `ClassProgramme`.
    """
    try:
        programme = ClassProgramme(instance, window.latest_s, burstable, without_offers, should_stop)
    except _Stopped:
        return BestPlan(None, -math.inf, stopped=True)
    except KeyboardInterrupt:
        return BestPlan(None, -math.inf, stopped=True, interrupted=True)
    return programme.best(window, at_most, target_gap)


def pareto_front(
    instance: Instance, burstable: BurstableMode = "refuse", without_offers: frozenset[int] = frozenset()
) -> list[ParetoPoint]:
    """Return every nondominated pair of makespan and cost, with a plan, from the fastest to the cheapest.

    Parameters
    ----------
    instance : Instance
        With D_spot set. Its objective does not matter.
    burstable, without_offers
        See `ClassProgramme`; `ClassProgramme.front` yields the points one by one.

    Raises
    ------
    ModelRefusal
        See `ClassProgramme`.
    """
    latest_s = makespan_window(instance).latest_s
    return list(ClassProgramme(instance, latest_s, burstable, without_offers).front())[::-1]


def _useful_cores(patterns: OfferPatterns, classes: TaskClasses) -> int:
    return min(patterns.offer.vcpus, int(classes.size.sum()))
