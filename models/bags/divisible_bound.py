"""The divisible bound: tasks may be cut, VMs are paid for the work they do. A lower bound of the objective.

For offers k with n_k VMs of c_k cores and memory m_k, price p_k a second and time limit L_k, tasks i with duration
e_ik and memory r_i, time counted from the moment the VMs are ready:

    min wt T + wc sum_k p_k S_k                     (S_k: seconds of VMs of offer k that are paid)
    sum_k x_ik = 1                                  (the parts of a task)
    c_k S_k >= sum_i e_ik x_ik                      (cores)
    m_k S_k >= sum_i r_i e_ik x_ik                  (memory)
    S_k <= n_k min(T, L_k)                          (VMs of the offer)
    sum_{k in market} S_k <= n_market T             (VMs of the market)
    T0 <= T <= D                                    (combinatorial bound, deadline)

It is solved by its Lagrangian dual: for any multipliers >= 0 of the last two rows and a split of each offer's price
into one for cores and one for memory, every task takes its cheapest offer, which is a lower bound; the best
multipliers are found by Kelley's cutting planes. Whatever the cutting planes miss, the bound stays a bound: it is
evaluated at the multipliers found, less what rounding may have added.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np

from ...core.quantities import FloatArray, IntArray
from ...instances.durations import FULL_SPEED, NEVER
from ...instances.entries import RentalOffer
from ...instances.instance import Instance
from ...schedules.evaluation import objective_weights
from .kelley import LinearRows, Maximum, maximise_concave
from .makespan_bounds import makespan_lower_bound_s
from .task_classes import usable_offers
from .vm_limits import binding_market_limits, effective_cores, least_work_s

_MAX_CUTS = 400
_RELATIVE_TOLERANCE = 1e-9
_MANY_GROUPS = 5_000
_SAMPLE = 1_500
_FEW_CUTS = 25


@dataclass(frozen=True, slots=True)
class DivisibleBound:
    """A proven lower bound and the prices that prove it.

    Attributes
    ----------
    objective : float
        Lower bound of the objective; infinite if the instance is proved infeasible.
    makespan_s : int
        Combinatorial lower bound of the makespan.
    offers : array of int, shape (n_used,)
        Offers that may be used, as indices into ``instance.offers``; the columns of the prices.
    core_price, memory_price : array of float, shape (n_used,)
        What a second of a core, and a KB of memory for a second, is worth on each offer, in units of the objective.
    end_s : float
        Makespan of the divisible optimum, from ready.
    """

    objective: float
    makespan_s: int
    offers: IntArray
    core_price: FloatArray
    memory_price: FloatArray
    end_s: float

    def task_price(self, instance: Instance) -> FloatArray:
        """Price of each group on each offer used, shape (n_groups, n_used); infinite where it cannot run."""
        durations = instance.duration_s[:, self.offers, FULL_SPEED]
        able = durations < NEVER
        price = self.core_price + self.memory_price * instance.memory_kb[:, None]
        return np.where(able, np.where(able, durations, 0) * price, np.inf)


def divisible_bound(instance: Instance) -> DivisibleBound:
    """Compute the divisible bound of an instance with D_spot set; see the module."""
    least_s = makespan_lower_bound_s(instance)
    offers = usable_offers(instance)
    indices = np.array([offer.index for offer in offers], dtype=np.int64)
    if least_s > instance.deadline_s or not offers:
        nothing = np.zeros(len(offers))
        return DivisibleBound(math.inf, least_s, indices, nothing, nothing, 0.0)
    return _Dual(instance, offers, least_s).solve()


def worst_objective(instance: Instance) -> float:
    """Objective that no plan of an instance with D_spot set exceeds: all VMs, until they must end."""
    cost_weight, time_weight = objective_weights(instance)
    worst = time_weight * instance.deadline_s
    for offer in usable_offers(instance):
        seconds = instance.time_limit_s(offer.market) - instance.boot_overhead_s
        worst += cost_weight * offer.price_usd_per_s * min(offer.limit, instance.n_tasks) * seconds
    return worst * (1 + 1e-6)


class _Dual:
    """The Lagrangian dual.

    Multipliers: one for each offer, then one for each limited market, then one for each memory that may bind.
    """

    def __init__(self, instance: Instance, offers: list[RentalOffer], least_s: int) -> None:
        self.least_s = least_s
        self.worst = worst_objective(instance)
        self.offers = offers
        self.cost_weight, self.time_weight = objective_weights(instance)
        self.ready = instance.boot_overhead_s
        self.deadline = instance.deadline_s
        self.counts = instance.group_size.astype(float)
        indices = [offer.index for offer in offers]
        durations = instance.duration_s[:, indices, FULL_SPEED]
        self.able = durations < NEVER
        self.durations = np.stack([least_work_s(instance, offer) for offer in offers], axis=1)
        self.memory_kb = instance.memory_kb.astype(float)
        self.price = self.cost_weight * np.array([offer.price_usd_per_s for offer in offers])
        self.cores = np.array([effective_cores(offer) for offer in offers])
        self.sizes_kb = np.array([float(offer.memory_kb) for offer in offers])
        self.limits_s = np.array([instance.time_limit_s(offer.market) for offer in offers], dtype=float)
        self.vms = np.array([min(offer.limit, instance.n_tasks) for offer in offers], dtype=float)
        self.markets = [
            (np.array([offer.market == market for offer in offers], dtype=float), float(cap))
            for market, cap in binding_market_limits(instance, offers)
        ]
        free = instance.memory_never_binds
        self.memory_bound = [k for k, offer in enumerate(offers) if not free[offer.type_index]]
        self.size = len(offers) + len(self.markets) + len(self.memory_bound)
        moments = {float(least_s), float(self.deadline), *self.limits_s.tolist()}
        self.moments = sorted(moment for moment in moments if least_s <= moment <= self.deadline)

    def _split(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Price of a VM second for its cores, and for its memory."""
        n_offers = len(self.offers)
        total = self.price + theta[:n_offers]
        for (members, _), value in zip(self.markets, theta[n_offers:], strict=False):
            total = total + members * value
        memory = np.zeros(n_offers)
        memory[self.memory_bound] = theta[n_offers + len(self.markets) :]
        memory = np.minimum(memory, total)
        return total - memory, memory

    def tasks(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Cheapest price of all tasks, and its supergradient."""
        for_cores, for_memory = self._split(theta)
        core_price, memory_price = for_cores / self.cores, for_memory / self.sizes_kb
        unit = core_price + memory_price * self.memory_kb[:, None] if self.memory_bound else core_price
        prices = np.where(self.able, self.durations * unit, np.inf)
        choice = prices.argmin(axis=1)
        rows = np.arange(len(choice))
        value = float((self.counts * prices[rows, choice]).sum())
        work = self.counts * self.durations[rows, choice]
        n_offers = len(self.offers)
        core_seconds = np.bincount(choice, weights=work, minlength=n_offers) / self.cores
        gradient = np.empty(self.size)
        gradient[:n_offers] = core_seconds
        for index, (members, _) in enumerate(self.markets):
            gradient[n_offers + index] = members @ core_seconds
        if self.memory_bound:
            memory_seconds = np.bincount(choice, weights=work * self.memory_kb, minlength=n_offers) / self.sizes_kb
            gradient[n_offers + len(self.markets) :] = (memory_seconds - core_seconds)[self.memory_bound]
        return value, gradient

    def time_rows(self) -> LinearRows:
        """The part with T, at the moments where it can be least."""
        n_offers = len(self.offers)
        constants = np.array([self.time_weight * moment for moment in self.moments])
        rows = np.zeros((len(self.moments), self.size))
        for index, moment in enumerate(self.moments):
            rows[index, :n_offers] = -self.vms * (np.minimum(moment, self.limits_s) - self.ready)
            for position, (_, cap) in enumerate(self.markets):
                rows[index, n_offers + position] = -cap * (moment - self.ready)
        return LinearRows(constants, rows)

    def solve(self) -> DivisibleBound:
        """Maximise, and say what that proves."""
        best = self.maximum()
        return self._bound(best, best.value > self.worst)

    def maximum(self) -> Maximum:
        """Maximise by Kelley's cutting planes, in a box that grows while the multipliers press against it."""
        n_offers = len(self.offers)
        # The price for memory is part of the price of the VM second: total - memory >= 0.
        parts = np.zeros((len(self.memory_bound), self.size))
        totals = np.zeros(len(self.memory_bound))
        for row, k in enumerate(self.memory_bound):
            parts[row, k] = 1.0
            for position, (members, _) in enumerate(self.markets):
                parts[row, n_offers + position] = members[k]
            parts[row, n_offers + len(self.markets) + row] = -1.0
            totals[row] = self.price[k]
        second, limits = self.time_rows(), LinearRows(totals, parts)
        box = 10.0 * float(self.price.max() + self.time_weight)
        best: Maximum | None = None
        if len(self.counts) > _MANY_GROUPS:
            # The prices of a sample are nearly those of the bag; what is left to be done is little.
            near = self._prices_of_sample()
            best = maximise_concave(self.tasks, second, limits, 1e6 * box, _FEW_CUTS, _RELATIVE_TOLERANCE, near)
            if best.value <= self.worst:
                return best
        while True:
            found = maximise_concave(self.tasks, second, limits, box, _MAX_CUTS, _RELATIVE_TOLERANCE)
            best = found if best is None or found.value > best.value else best
            infeasible = best.value > self.worst
            if infeasible or found.theta.max(initial=0.0) < 0.99 * box or box > 1e6 * (1 + self.worst):
                break
            box *= 100.0
        return best

    def _prices_of_sample(self) -> FloatArray:
        """Multipliers of a sample of the groups, by size, each standing for those around it."""
        by_size = np.argsort(self.durations.sum(axis=1), kind="stable")
        blocks = np.array_split(by_size, _SAMPLE)
        middle = np.array([block[len(block) // 2] for block in blocks])
        sample = copy.copy(self)
        sample.counts = np.array([self.counts[block].sum() for block in blocks])
        sample.durations, sample.able = self.durations[middle], self.able[middle]
        sample.memory_kb = self.memory_kb[middle]
        return sample.maximum().theta

    def _bound(self, best: Maximum, infeasible: bool) -> DivisibleBound:
        """The bound that multipliers prove."""
        for_cores, for_memory = self._split(best.theta)
        return DivisibleBound(
            math.inf if infeasible else max(best.value, self.time_weight * self.least_s),
            self.least_s,
            np.array([offer.index for offer in self.offers], dtype=np.int64),
            for_cores / self.cores,
            for_memory / self.sizes_kb,
            self._end_s(best),
        )

    def _end_s(self, best: Maximum) -> float:
        """Makespan of the divisible optimum: the moments weighted by the duals of their rows."""
        weights = best.row_weights
        total = float(weights.sum())
        return (float(weights @ np.array(self.moments)) / total if total > 0 else self.deadline) - self.ready
