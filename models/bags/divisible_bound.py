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

The machines of an offer that exist already are a pool of their own. Until h_v, machine v is paid for anyway: what runs
on it ends then, or it is paid in advance. Up to that moment its cores are free for F core seconds, and the pool has

    c_k S_k + F_k >= sum_i e_ik x_ik                (and likewise for memory)
    S_k <= sum_v max(0, min(T, L_k) - h_v)

It is solved by its Lagrangian dual: for any multipliers >= 0 of the last two rows and a split of each offer's price
into one for cores and one for memory, every task takes its cheapest offer, which is a lower bound; the best
multipliers are found by Kelley's cutting planes. Whatever the cutting planes miss, the bound stays a bound: it is
evaluated at the multipliers found, less what rounding may have added.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import NamedTuple

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
        Offers that may be used, as indices into ``instance.offers``; the columns of the prices. First those that may be
        rented, then those of which there are machines.
    core_price, memory_price : array of float, shape (n_used,)
        What a second of a core, and a KB of memory for a second, is worth on each offer, in units of the objective.
    end_s : float
        Makespan of the divisible optimum, from when rented VMs are ready.
    multipliers : array of float
        Where it was evaluated; a start for the bound of what is left of the instance later on.
    """

    objective: float
    makespan_s: int
    offers: IntArray
    core_price: FloatArray
    memory_price: FloatArray
    end_s: float
    multipliers: FloatArray

    def task_price(self, instance: Instance) -> FloatArray:
        """Price of each group on each offer used, shape (n_groups, n_used); infinite where it cannot run."""
        durations = instance.duration_s[:, self.offers, FULL_SPEED]
        able = durations < NEVER
        price = self.core_price + self.memory_price * instance.memory_kb[:, None]
        return np.where(able, np.where(able, durations, 0) * price, np.inf)


class _Pool(NamedTuple):
    """VMs of an offer: those that may be rented, or the machines that exist.

    Attributes
    ----------
    offer : RentalOffer
        The offer.
    vms : float
        How many they are.
    held_s : array of float, shape (n_machines,)
        Until when each of the machines is paid for anyway; of shape (0,) for VMs that may be rented.
    free_core_s, free_kb_s : float
        Core seconds, and KB for seconds, that they have until then.
    """

    offer: RentalOffer
    vms: float
    held_s: FloatArray
    free_core_s: float = 0.0
    free_kb_s: float = 0.0

    def most_s(self, moments_s: FloatArray, ready_s: float) -> FloatArray:
        """Seconds that all of them together can be paid for until each of some moments."""
        if len(self.held_s):
            held_s = np.sort(self.held_s)  # whole numbers, whose sums are exact
            n_held = np.searchsorted(held_s, moments_s)
            seconds: FloatArray = n_held * moments_s - np.concatenate([[0.0], np.cumsum(held_s)])[n_held]
            return seconds
        return self.vms * np.maximum(moments_s - ready_s, 0.0)


def divisible_bound(instance: Instance, start: FloatArray | None = None, most_cuts: int = _MAX_CUTS) -> DivisibleBound:
    """Compute the divisible bound of an instance with D_spot set; see the module.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    start : array of float, optional
        Multipliers near the best ones, such as those of the bound of a similar instance.
    most_cuts : int
        Most evaluations: fewer make a weaker bound.
    """
    least_s = makespan_lower_bound_s(instance)
    pools = _pools(instance)
    indices = np.array([pool.offer.index for pool in pools], dtype=np.int64)
    if least_s > instance.deadline_s or not pools:
        nothing = np.zeros(len(pools))
        objective = math.inf
        if least_s <= instance.deadline_s and not len(instance.open_tasks):
            objective = held_objective(instance) + objective_weights(instance)[1] * least_s
        return DivisibleBound(objective, least_s, indices, nothing, nothing, 0.0, np.zeros(0))
    return _Dual(instance, pools, least_s).solve(start, most_cuts)


def worst_objective(instance: Instance) -> float:
    """Objective that no plan of an instance with D_spot set exceeds: all VMs, until they must end."""
    cost_weight, time_weight = objective_weights(instance)
    worst = time_weight * instance.deadline_s + held_objective(instance)
    for offer in usable_offers(instance):
        seconds = instance.time_limit_s(offer.market) - instance.boot_overhead_s
        worst += cost_weight * offer.price_usd_per_s * min(offer.limit, instance.n_tasks) * seconds
    if instance.machines:
        left_s = np.maximum(instance.deadline_s - instance.machine_held_s, 0)
        worst += cost_weight * float((instance.offer_price_usd_per_s[instance.machine_offer] * left_s).sum())
    return worst * (1 + 1e-6)


def held_objective(instance: Instance) -> float:
    """What machines cost for the tasks that run on them, in units of the objective."""
    if not instance.machines:
        return 0.0
    price = instance.offer_price_usd_per_s[instance.machine_offer] * objective_weights(instance)[0]
    return float((price * (instance.machine_held_s - instance.machine_paid_until_s)).sum())


def _pools(instance: Instance) -> list[_Pool]:
    """VMs that may be rented, by offer, and then the machines that take tasks, by offer."""
    nobody = np.zeros(0)
    pools = [_Pool(offer, float(min(offer.limit, instance.n_tasks)), nobody) for offer in usable_offers(instance)]
    open_machines = instance.machine_open
    for index in np.unique(instance.machine_offer[open_machines]).tolist() if len(open_machines) else ():
        offer = instance.offers[index]
        mine = np.flatnonzero(open_machines & (instance.machine_offer == index))
        held_s = instance.machine_held_s[mine]
        until_s = np.minimum(held_s, instance.time_limit_s(offer.market))
        free_s = np.maximum(until_s[:, None] - instance.machine_core_free_s[mine, : offer.vcpus], 0).sum()
        ready_s = np.minimum(instance.machine_ready_s[mine], until_s)
        free_kb_s = float((until_s - ready_s).sum()) * offer.memory_kb
        pools.append(_Pool(offer, float(len(mine)), held_s.astype(float), float(free_s), free_kb_s))
    return pools


class _Dual:
    """The Lagrangian dual.

    Multipliers: one for each pool, then one for each limited market, then one for each memory that may bind, then one
    for each pool of machines: what a second of it is worth less than its price, where there is time that costs nothing.
    """

    def __init__(self, instance: Instance, pools: list[_Pool], least_s: int) -> None:
        self.least_s = least_s
        self.pools = pools
        self.offers = offers = [pool.offer for pool in pools]
        self.worst = worst_objective(instance)
        self.held = held_objective(instance)
        self.cost_weight, self.time_weight = objective_weights(instance)
        self.ready = instance.boot_overhead_s
        self.deadline = instance.deadline_s
        self.counts = instance.open_size.astype(float)
        indices = [offer.index for offer in offers]
        durations = instance.duration_s[:, indices, FULL_SPEED]
        self.able = (durations < NEVER) | (self.counts == 0)[:, None]
        self.durations = np.stack([least_work_s(instance, offer) for offer in offers], axis=1)
        self.memory_kb = instance.memory_kb.astype(float)
        self.price = self.cost_weight * np.array([offer.price_usd_per_s for offer in offers])
        self.cores = np.array(
            [float(pool.offer.vcpus) if len(pool.held_s) else effective_cores(pool.offer) for pool in pools]
        )
        self.sizes_kb = np.array([float(offer.memory_kb) for offer in offers])
        self.limits_s = np.array([instance.time_limit_s(offer.market) for offer in offers], dtype=float)
        self.free_core_s = np.array([pool.free_core_s for pool in pools])
        self.free_kb_s = np.array([pool.free_kb_s for pool in pools])
        rented = [pool.offer for pool in pools if not len(pool.held_s)]
        n_rented = len(rented)
        self.markets = [
            (
                np.array([k < n_rented and offer.market == market for k, offer in enumerate(offers)], dtype=float),
                float(cap),
            )
            for market, cap in binding_market_limits(instance, rented)
        ]
        free = instance.memory_never_binds
        self.memory_bound = [k for k, offer in enumerate(offers) if not free[offer.type_index]]
        self.machines = list(range(n_rented, len(pools)))
        self.size = len(offers) + len(self.markets) + len(self.memory_bound) + len(self.machines)
        moments = {float(least_s), float(self.deadline), float(self.ready), *self.limits_s.tolist()}
        for pool in pools:
            moments.update(pool.held_s.tolist())
        self.moments = sorted(moment for moment in moments if least_s <= moment <= self.deadline)

    def _split(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Price of a VM second for its cores, and for its memory."""
        n_offers = len(self.offers)
        total = self.price + theta[:n_offers]
        for (members, _), value in zip(self.markets, theta[n_offers:], strict=False):
            total = total + members * value
        if self.machines:
            total[self.machines] -= theta[self.size - len(self.machines) :]
            total = np.maximum(total, 0.0)
        memory = np.zeros(n_offers)
        first = n_offers + len(self.markets)
        memory[self.memory_bound] = theta[first : first + len(self.memory_bound)]
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
        if self.machines:
            value -= float(core_price @ self.free_core_s + memory_price @ self.free_kb_s)
            core_seconds = core_seconds - self.free_core_s / self.cores
        gradient = np.empty(self.size)
        gradient[:n_offers] = core_seconds
        for index, (members, _) in enumerate(self.markets):
            gradient[n_offers + index] = members @ core_seconds
        if self.memory_bound:
            memory_seconds = np.bincount(choice, weights=work * self.memory_kb, minlength=n_offers) / self.sizes_kb
            memory_seconds -= self.free_kb_s / self.sizes_kb
            first = n_offers + len(self.markets)
            gradient[first : first + len(self.memory_bound)] = (memory_seconds - core_seconds)[self.memory_bound]
        if self.machines:
            gradient[self.size - len(self.machines) :] = -core_seconds[self.machines]
        return value, gradient

    def time_rows(self) -> LinearRows:
        """The part with T, at the moments where it can be least."""
        n_offers = len(self.offers)
        constants = np.array([self.time_weight * moment for moment in self.moments])
        rows = np.zeros((len(self.moments), self.size))
        moments = np.array(self.moments, dtype=float)
        for k, pool in enumerate(self.pools):
            rows[:, k] = -pool.most_s(np.minimum(moments, self.limits_s[k]), self.ready)
        for position, (_, cap) in enumerate(self.markets):
            rows[:, n_offers + position] = -cap * np.maximum(moments - self.ready, 0.0)
        return LinearRows(constants, rows)

    def solve(self, start: FloatArray | None, most_cuts: int) -> DivisibleBound:
        """Maximise, and say what that proves."""
        best = self.maximum(start if start is not None and len(start) == self.size else None, most_cuts)
        return self._bound(best, best.value > self.worst)

    def maximum(self, start: FloatArray | None = None, most_cuts: int = _MAX_CUTS) -> Maximum:
        """Maximise by Kelley's cutting planes, in a box that grows while the multipliers press against it."""
        second, limits = self.time_rows(), self._limits()
        box = 10.0 * float(self.price.max() + self.time_weight)
        best: Maximum | None = None
        if start is not None:
            return maximise_concave(self.tasks, second, limits, 1e6 * box, most_cuts, _RELATIVE_TOLERANCE, start)
        if len(self.counts) > _MANY_GROUPS:
            # The prices of a sample are nearly those of the bag; what is left to be done is little.
            near = self._prices_of_sample()
            best = maximise_concave(self.tasks, second, limits, 1e6 * box, _FEW_CUTS, _RELATIVE_TOLERANCE, near)
            if best.value <= self.worst:
                return best
        while True:
            found = maximise_concave(self.tasks, second, limits, box, most_cuts, _RELATIVE_TOLERANCE)
            best = found if best is None or found.value > best.value else best
            infeasible = best.value > self.worst
            if infeasible or found.theta.max(initial=0.0) < 0.99 * box or box > 1e6 * (1 + self.worst):
                break
            box *= 100.0
        return best

    def _limits(self) -> LinearRows:
        """What the price for memory may be at most, and what the price of a machine may be less: total - that >= 0."""
        n_offers, n_machines = len(self.offers), len(self.machines)
        priced = [*self.memory_bound, *(k for k in self.machines if k not in self.memory_bound)]
        parts, totals = np.zeros((len(priced), self.size)), np.zeros(len(priced))
        for row, k in enumerate(priced):
            parts[row, k] = 1.0
            for position, (members, _) in enumerate(self.markets):
                parts[row, n_offers + position] = members[k]
            if row < len(self.memory_bound):
                parts[row, n_offers + len(self.markets) + row] = -1.0
            if k in self.machines:
                parts[row, self.size - n_machines + self.machines.index(k)] = -1.0
            totals[row] = self.price[k]
        return LinearRows(totals, parts)

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
            math.inf if infeasible else self.held + max(best.value, self.time_weight * self.least_s),
            self.least_s,
            np.array([offer.index for offer in self.offers], dtype=np.int64),
            for_cores / self.cores,
            for_memory / self.sizes_kb,
            self._end_s(best),
            best.theta,
        )

    def _end_s(self, best: Maximum) -> float:
        """Makespan of the divisible optimum: the moments weighted by the duals of their rows."""
        weights = best.row_weights
        total = float(weights.sum())
        return (float(weights @ np.array(self.moments)) / total if total > 0 else self.deadline) - self.ready
