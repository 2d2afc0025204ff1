"""The divisible bound: tasks may be cut, VMs are paid for the work they do. A lower bound of the objective.

For offers k with n_k VMs of c_k cores and memory m_k, price p_k a second and time limit L_k, tasks i with duration
e_ik, memory r_i and q_i cores, time counted from the moment the VMs are ready:

    min wt T + wc sum_k p_k S_k                     (S_k: seconds of VMs of offer k that are paid)
    sum_k x_ik = 1                                  (the parts of a task)
    c_k S_k >= sum_i q_i e_ik x_ik                  (cores)
    m_k S_k >= sum_i r_i e_ik x_ik                  (memory)
    I_k n_k + b_k S_k >= sum_i e_ik x_ik            (credits)
    S_k <= n_k min(T, L_k)                          (VMs of the offer)
    sum_{k in market} S_k <= n_market T             (VMs of the market)
    sum_{k in R, i in W} a_ik x_ik <= A_R           (time on demand to do again what is lost at once)
    sum_k p_k S_k <= B                              (budget)
    T0 <= T <= D                                    (combinatorial bound, deadline)

A burstable VM does the work of its initial credits, I_k, and in each second that of b_k cores, by what it earns or at
the baseline (`sustained_cores`); e_ik is the least work of a task in either mode.

Where tasks have latest ends of their own, L_k is the mean of those of the tasks that may be the last ones on its cores
(`_Dual._end_with_last_tasks`).

The machines of an offer that exist already are a pool of their own. Until h_v, machine v is paid for anyway: what runs
on it ends then, or it is paid in advance. Up to that moment its cores are free for F core seconds, and the pool has

    c_k S_k + F_k >= sum_i q_i e_ik x_ik            (and likewise for memory)
    S_k <= sum_v max(0, min(T, L_k) - h_v)

Where what goes down must be done again in time (`RescuableInstance`), what goes down in the first second must be done
beside what is on demand anyway, for each set R of offers that go down at once and of those on demand; and all tasks W
that run for so long that none of them has ended or saved anything at some later second, in what is left of the time
then (`RescueTime`).

It is solved by its Lagrangian dual: for any multipliers >= 0 of the rows of T and of the budget, and a split of each
offer's price into ones for cores, memory and credits, every task takes its cheapest offer, which is a lower bound; the
best multipliers are found by Kelley's cutting planes. Whatever the cutting planes miss, the bound stays a bound: it is
evaluated at the multipliers found, less what rounding may have added.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import NamedTuple
from weakref import ref

import numpy as np

from ...core.bill import begun_s
from ...core.capacities import lower_of, slots_of
from ...core.limits import ITERATIONS, Work, count_work, current_limit, out_of_time
from ...core.quantities import OPTIMALITY_TOLERANCE, BoolArray, FloatArray, IntArray, at_most, rounded_down
from ...instances.entries import FULL_SPEED, NEVER, RentalOffer, binding_limits
from ...instances.instance import Instance, RescueTime
from ...models.bags.makespan_bounds import makespan_lower_bound_s
from ...models.bags.task_classes import (
    effective_cores,
    initial_work_s,
    least_usd_per_s,
    least_work_s,
    sustained_cores,
    usable_offers,
)
from ...schedules.timing import held_objective, held_usd, objective_weights
from ..programme import MOST_CUTS, LinearRows, Maximum, maximise_concave, maximise_in_boxes

_MANY_GROUPS = 5_000
_SAMPLE = 1_500
FEW_CUTS = 25
"""Evaluations from multipliers that are nearly the best ones."""
_NOTHING, _NO_PRICES = np.zeros(0), np.zeros((0, 0))
_LEAST_WORK, _BOUND = "_least_work_s_of_offers", "_divisible_bound"


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
    again_price : array of float, shape (n_groups, n_used), or (0, 0)
        What the time on demand is worth that it takes to do a task again, or to do it there.
    budget_price : float
        What a dollar of the budget is worth.
    scarce : array of float, shape (n_used,)
        What a second of one more VM of each offer is worth, for its cores or its credits; 0 if there are enough.
    level_s : array of float, shape (n_used,)
        For how long VMs of each offer are best used: as long as all cores of a burstable one can be at full speed, if
        these are worth something beside its credits; infinite for others.
    """

    objective: float
    makespan_s: int
    offers: IntArray
    core_price: FloatArray
    memory_price: FloatArray
    end_s: float
    multipliers: FloatArray
    again_price: FloatArray
    budget_price: float
    scarce: FloatArray
    level_s: FloatArray

    def task_price(self, instance: Instance) -> FloatArray:
        """Price of each group on each offer used, shape (n_groups, n_used); infinite where it cannot run."""
        durations = instance.duration_s[:, self.offers, FULL_SPEED]
        able = durations < NEVER
        of_task = np.where(able, durations, 0) * self.second_price(instance)
        if len(self.again_price):
            of_task = of_task + self.again_price
        return np.where(able, of_task, np.inf)

    def second_price(self, instance: Instance) -> FloatArray:
        """Price of a second of a core for each group on each offer used, with its memory, shape (n_groups, n_used)."""
        needed = instance.memory_kb[:, None]
        price: FloatArray = self.core_price * slots_of(needed) + self.memory_price * lower_of(needed)
        return price


class _Pools(NamedTuple):
    """VMs by offer: those that may be rented, and then the machines that take tasks.

    Attributes
    ----------
    offers : list of RentalOffer, length n_pools
        Offer of each pool.
    n_rented : int
        How many pools there are of VMs that may be rented; they come first.
    vms : array of float, shape (n_rented,)
        How many VMs they are.
    free_core_s, free_kb_s : array of float, shape (n_pools,)
        Core seconds, and KB for seconds, that the machines of a pool have until they are paid for anyway.
    pool : array of int, shape (n_machines,)
        Pool of each machine.
    held_s : array of int, shape (n_machines,)
        Until when it is paid for anyway.
    """

    offers: list[RentalOffer]
    n_rented: int
    vms: FloatArray
    free_core_s: FloatArray
    free_kb_s: FloatArray
    pool: IntArray
    held_s: IntArray

    def most_s(self, moments_s: FloatArray, ready_s: float) -> FloatArray:
        """Most billed seconds of all VMs of each pool until each of its moments, shape (n_pools, n_moments)."""
        most = np.zeros(moments_s.shape)
        most[: self.n_rented] = self.vms[:, None] * np.maximum(moments_s[: self.n_rented] - ready_s, 0.0)
        if len(self.pool):
            np.add.at(most, self.pool, np.maximum(moments_s[self.pool] - self.held_s[:, None], 0.0))
        return most


class _Known(NamedTuple):
    """The bound of an instance, whose copies have the same memory, by the clock of some work."""

    instance: ref[Instance]
    d_spot_s: int | None
    work: Work | None
    bound: DivisibleBound


def divisible_bound(instance: Instance, start: FloatArray | None = None, most_cuts: int = MOST_CUTS) -> DivisibleBound:
    """Compute the divisible bound of an instance with D_spot set; see the module. It is asked again and again.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    start : array of float, optional
        Multipliers near the best ones, such as those of the bound of a similar instance.
    most_cuts : int
        Most evaluations: fewer make a weaker bound.
    """
    if start is not None or most_cuts != MOST_CUTS:
        return _divisible_bound(instance, start, most_cuts)
    work = current_limit().work  # what another call has found costs this one the same
    known: _Known | None = instance.__dict__.get(_BOUND)
    if known is not None and known.instance() is instance and known[1:3] == (instance.d_spot_s, work):
        return known.bound
    bound = _divisible_bound(instance, start, most_cuts)
    if not out_of_time():  # else it may be weaker than it could be
        instance.__dict__[_BOUND] = _Known(ref(instance), instance.d_spot_s, work, bound)
    return bound


def _divisible_bound(instance: Instance, start: FloatArray | None, most_cuts: int) -> DivisibleBound:
    least_s = makespan_lower_bound_s(instance)
    pools = _pools(instance)
    indices = np.array([offer.index for offer in pools.offers], dtype=np.int64)
    if least_s > instance.deadline_s or not pools.offers:
        nothing = np.zeros(len(pools.offers))
        objective = math.inf
        if least_s <= instance.deadline_s and not len(instance.open_tasks):
            objective = held_objective(instance) + objective_weights(instance)[1] * least_s
        return DivisibleBound(
            objective, least_s, indices, nothing, nothing, 0.0, _NOTHING, _NO_PRICES, 0.0, nothing, nothing
        )
    return _Dual(instance, pools, least_s).solve(start, most_cuts)


def worst_objective(instance: Instance) -> float:
    """Greatest objective of a plan of an instance with D_spot set: all VMs, until they must end."""
    cost_weight, time_weight = objective_weights(instance)
    worst = time_weight * instance.deadline_s + held_objective(instance)
    for offer in usable_offers(instance):
        rents, k = instance.rents, offer.index
        seconds = instance.time_limit_s(offer.market) - int(instance.ready_s[k])
        usd = rents.opening_usd[k] + offer.price_usd_per_s * begun_s(rents.block_s[k], seconds, rents.paid_s[k])
        worst += cost_weight * usd * min(offer.limit, instance.n_tasks)
    if instance.machines:
        usd_per_s, _, _, block_s = (of_offer[instance.machine_offer] for of_offer in instance.rents)
        left_s = begun_s(block_s, instance.deadline_s, instance.machine_held_s)
        worst += cost_weight * float((usd_per_s * left_s + instance.machine_opening_usd).sum())
    # Above the objective of all plans for sure, as a bound that exceeds it counts as a proof that there is none.
    return worst * (1 + 1e-6)


def _pools(instance: Instance) -> _Pools:
    """Rentable VMs by offer, and then the machines that take tasks, by offer."""
    offers = usable_offers(instance)
    n_rented = len(offers)
    vms = np.array([min(offer.limit, instance.n_tasks) for offer in offers], dtype=float)
    if not instance.machines:
        nothing, nobody = np.zeros(n_rented), np.zeros(0, dtype=np.int64)
        return _Pools(offers, n_rented, vms, nothing, nothing, nobody, nobody)
    machines = np.flatnonzero(instance.machine_open)
    offer_of = instance.machine_offer[machines]
    kinds = np.flatnonzero(np.bincount(offer_of, minlength=len(instance.offers)))
    offers += [instance.offers[kind] for kind in kinds.tolist()]
    limits_s = np.array([instance.time_limit_s(offer.market) for offer in offers[n_rented:]], dtype=np.int64)
    pool = np.searchsorted(kinds, offer_of)
    held_s = instance.machine_held_s[machines]
    # What is paid beyond the latest end of a VM is of no use to anybody.
    until_s = np.minimum(held_s, limits_s[pool])
    free_s = np.maximum(until_s[:, None] - instance.machine_core_free_s[machines], 0).sum(axis=1)
    ready_s = np.minimum(instance.machine_ready_s[machines], until_s)
    sizes_kb = np.array([lower_of(offer.memory_kb) for offer in offers[n_rented:]], dtype=float)
    nothing, n_pools = np.zeros(n_rented), len(kinds)
    return _Pools(
        offers,
        n_rented,
        vms,
        np.concatenate([nothing, np.bincount(pool, free_s, n_pools)]),
        np.concatenate([nothing, np.bincount(pool, until_s - ready_s, n_pools) * sizes_kb]),
        n_rented + pool,
        held_s,
    )


def _least_work_s(instance: Instance, offers: IntArray) -> tuple[FloatArray, BoolArray]:
    """Core seconds that a task of each group does at least on some offers, and whether it can run there.

    Both of shape (n_groups, n_offers). Of what is left of a bag, from that bag: it is asked again and again.
    """
    if instance.taken_from is None:
        wanted = [instance.offers[index] for index in offers.tolist()]
        work_s = np.stack([least_work_s(instance, offer) for offer in wanted], axis=1)
        return work_s, instance.duration_s[:, offers, FULL_SPEED] < NEVER
    whole, groups = instance.taken_from
    known: tuple[FloatArray, BoolArray] | None = whole.__dict__.get(_LEAST_WORK)
    if known is None:
        known = whole.__dict__[_LEAST_WORK] = _least_work_s(whole, np.arange(len(whole.offers)))
    listed = [instance.offers[index].listed_as for index in offers.tolist()]
    taken = groups[:, None], np.array([own if same is None else same for own, same in zip(offers, listed, strict=True)])
    return known[0][taken], known[1][taken]


class _Rescue(NamedTuple):
    """The limits of `RescueTime`, by the moments at which they hold.

    Attributes
    ----------
    again_s : array of float, shape (n_groups, n_pools)
        Core seconds that a task takes.
    rank : array of int, shape (n_groups, n_pools)
        At how many of the moments it counts: at those until which it is whole.
    members : array of float, shape (n_sets, n_pools)
        1 for the pools that count together.
    moment : array of int, shape (n_sets,)
        Of each set, which of the moments.
    most_s : array of int, shape (n_sets,)
        Core seconds available.
    """

    again_s: FloatArray
    rank: IntArray
    members: FloatArray
    moment: IntArray
    most_s: IntArray

    @classmethod
    def of(cls, time: RescueTime, offers: IntArray) -> _Rescue:
        """Return the limits of some offers."""
        moments, moment = np.unique(time.from_s, return_inverse=True)
        rank = np.searchsorted(moments, time.whole_s[:, offers], side="right")
        again_s, members = time.again_s[:, offers].astype(float), time.members[:, offers].astype(float)
        return cls(again_s, rank, members, moment, time.most_s)

    def of_groups(self, groups: IntArray) -> _Rescue:
        """Return the limits with some groups alone."""
        return self._replace(again_s=self.again_s[groups], rank=self.rank[groups])

    def prices(self, multipliers: FloatArray) -> FloatArray:
        """Price of what a task of each group takes on each pool, shape (n_groups, n_pools)."""
        # What a second is worth for a task of a rank: the multipliers of all earlier moments.
        worth = np.zeros((self.moment.max() + 2, self.members.shape[1]))
        np.add.at(worth, self.moment + 1, np.maximum(multipliers, 0.0)[:, None] * self.members)
        prices: FloatArray = self.again_s * np.cumsum(worth, axis=0)[self.rank, np.arange(worth.shape[1])]
        return prices

    def taken_s(self, counts: FloatArray, choice: IntArray) -> FloatArray:
        """Core seconds that tasks on chosen pools take of each set."""
        rows, n_ranks = np.arange(len(choice)), int(self.moment.max()) + 2
        taken_s = counts * self.again_s[rows, choice]
        places = choice * n_ranks + self.rank[rows, choice]
        by_rank = np.bincount(places, weights=taken_s, minlength=self.members.shape[1] * n_ranks).reshape(-1, n_ranks)
        at_least = by_rank[:, ::-1].cumsum(axis=1)[:, ::-1]  # of tasks of a rank or a higher one
        found: FloatArray = (self.members * at_least[:, self.moment + 1].T).sum(axis=1)
        return found


class _Dual:
    """The Lagrangian dual, whose multipliers are in parts, in this order.

    Attributes
    ----------
    parts : dict of str to slice
        ``pools``: of the VMs of each pool; ``groups``: of each limit of several pools; ``memory``: what a second of a
        VM is worth for its memory, where that may bind; ``credits``: what a second of work is worth for its credits,
        where these may bind; ``budget``: of the budget, in the price of the dearest VM; ``machines``: what a second of
        each pool of machines is worth less than its price, where there is time that costs nothing; ``rescue``: of the
        time on demand.
    """

    def __init__(self, instance: Instance, pools: _Pools, least_s: int) -> None:
        self.least_s = least_s
        self.pools = pools
        self.offers = offers = pools.offers
        n_rented = pools.n_rented
        self.worst = worst_objective(instance)
        self.held = held_objective(instance)
        self.cost_weight, self.time_weight = objective_weights(instance)
        self.ready = instance.boot_overhead_s
        self.deadline = instance.deadline_s
        self.counts = instance.open_size.astype(float)
        indices = np.array([offer.index for offer in offers], dtype=np.int64)
        self.durations, able = _least_work_s(instance, indices)
        self.able = able | (self.counts == 0)[:, None]
        self.slots, self.memory_kb = slots_of(instance.memory_kb), lower_of(instance.memory_kb).astype(float)
        self.usd = np.array([offer.price_usd_per_s for offer in offers])
        self.usd[:n_rented] = least_usd_per_s(instance, offers[:n_rented], shared=True)
        self.dearest = float(self.usd.max()) or 1.0  # machines may cost nothing more
        self.price = self.cost_weight * self.usd
        self.cores = np.array(
            [effective_cores(offer) for offer in offers[:n_rented]]
            + [float(offer.vcpus) for offer in offers[n_rented:]]
        )
        self.sizes_kb = np.array([float(lower_of(offer.memory_kb)) for offer in offers])
        self.limits_s = np.array([instance.time_limit_s(offer.market) for offer in offers], dtype=float)
        self.free_core_s, self.free_kb_s = pools.free_core_s, pools.free_kb_s
        self.groups = [
            (np.pad(weights, (0, len(offers) - n_rented)), most)
            for weights, most in binding_limits(instance, offers[:n_rented])
        ]
        free = instance.memory_never_binds
        self.memory_bound = [k for k, offer in enumerate(offers) if not free[offer.type_index]]
        self.bursts = [k for k, offer in enumerate(offers[:n_rented]) if sustained_cores(offer) < self.cores[k]]
        if instance.has_dates or instance.leaves_time:
            self._end_with_last_tasks(instance)
        self.sustained = np.array([sustained_cores(offers[k]) for k in self.bursts])
        self.initial_work_s = np.array([initial_work_s(offers[k]) for k in self.bursts]) * pools.vms[self.bursts]
        budget = instance.objective.budget_usd
        self.budget = None if budget is None else (at_most(budget) - held_usd(instance)) / self.dearest
        self.machines = list(range(n_rented, len(offers)))
        time = instance.rescue_time
        self.rescue = None if time is None else _Rescue.of(time, indices)
        self._set_parts()
        # Between these moments, the seconds of every pool and group are convex in T, and the part with T is concave.
        moments = {float(least_s), float(self.deadline), *self.limits_s.tolist()}
        self.moments = sorted(moment for moment in moments if least_s <= moment <= self.deadline)

    def _end_with_last_tasks(self, instance: Instance) -> None:
        """Lower the limits of rented VMs to the mean of the latest ends of the tasks that may be last on them.

        A core does no work after its last task, and no task is the last one of two cores: all cores of an offer work no
        longer than until the latest ends of as many tasks. Where memory or credits are rows as well, these may be used
        until the VM ends, by its last task; then VMs are counted in place of cores.
        """
        shared = {*self.memory_bound, *self.bursts}
        for k, offer in enumerate(self.offers[: self.pools.n_rented]):
            by_core = k not in shared and self.cores[k] == offer.vcpus
            n_ends = int(self.pools.vms[k]) * (offer.vcpus if by_core else 1)
            latest_s = np.where(self.able[:, k] & (self.counts > 0), instance.latest_end_s[:, offer.index], 0)
            last = np.argsort(-latest_s)[:n_ends]
            tasks = self.counts[last] * (self.slots[last] if by_core else 1.0)
            taken = np.diff(np.minimum(np.cumsum(tasks), n_ends), prepend=0.0)
            used_s = float(taken @ np.maximum(latest_s[last] - self.ready, 0.0))
            self.limits_s[k] = min(self.limits_s[k], self.ready + math.nextafter(used_s / n_ends, math.inf))

    def _set_parts(self) -> None:
        """Say which multipliers are where; see the class."""
        sizes = {
            "pools": len(self.offers),
            "groups": len(self.groups),
            "memory": len(self.memory_bound),
            "credits": len(self.bursts),
            "budget": 0 if self.budget is None else 1,
            "machines": len(self.machines),
            "rescue": 0 if self.rescue is None else len(self.rescue.members),
        }
        ends = np.cumsum(list(sizes.values())).tolist()
        self.parts = {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}
        self.size = ends[-1]

    def _of_groups(self, theta: FloatArray) -> FloatArray:
        """Prices of a second of a VM of each pool for the limits of its groups."""
        of_groups = zip(self.groups, theta[self.parts["groups"]], strict=True)
        return sum((weights * value for (weights, _), value in of_groups), np.zeros(len(self.offers)))

    def _split(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Price of a core second of work, and of a KB for a second, on each offer."""
        total = self.price + theta[self.parts["pools"]] + self._of_groups(theta)
        if self.budget is not None:
            total = total + theta[self.parts["budget"]] * self.usd / self.dearest
        if self.machines:
            total[self.machines] -= theta[self.parts["machines"]]
            total = np.maximum(total, 0.0)
        memory = np.zeros(len(self.offers))
        memory[self.memory_bound] = theta[self.parts["memory"]]
        memory = np.minimum(memory, total)
        for_cores = total - memory
        credits = np.zeros(len(self.offers))
        if self.bursts:
            for_cores[self.bursts] -= self.sustained * theta[self.parts["credits"]]
            short = np.minimum(for_cores[self.bursts], 0.0)  # by rounding: then credits are worth so much less
            credits[self.bursts] = theta[self.parts["credits"]] + short / np.maximum(self.sustained, 1e-12)
            for_cores = np.maximum(for_cores, 0.0)
        return for_cores / self.cores + credits, memory / self.sizes_kb

    def _again_price(self, theta: FloatArray) -> FloatArray:
        """Price of the time on demand that a task of each group takes on each offer."""
        return _NO_PRICES if self.rescue is None else self.rescue.prices(theta[self.parts["rescue"]])

    def tasks(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Cheapest price of all tasks less what costs nothing, rounded down, and its supergradient.

        Prices are no larger than the multipliers allow but for a few roundings of each, whose effect is relative to the
        terms of the sum; what is taken off a multiplier of a machine makes no price larger.
        """
        count_work(ITERATIONS.bound_entry * self.durations.size)
        core_price, memory_price = self._split(theta)
        unit = core_price
        if self.memory_bound:
            unit = core_price * self.slots[:, None] + memory_price * self.memory_kb[:, None]
        prices = self.durations * unit
        if self.rescue is not None:
            prices = prices + self._again_price(theta)
        prices = np.where(self.able, prices, np.inf)
        choice = prices.argmin(axis=1)
        rows = np.arange(len(choice))
        value = float((self.counts * prices[rows, choice]).sum())
        work = self.counts * self.durations[rows, choice]
        n_offers = len(self.offers)
        core_seconds = np.bincount(choice, weights=work * self.slots, minlength=n_offers) / self.cores
        if self.machines:
            free = float(core_price @ self.free_core_s + memory_price @ self.free_kb_s)
            # A difference of large terms, to which its rounding is relative.
            value = rounded_down(value - free, value + free)
            core_seconds = core_seconds - self.free_core_s / self.cores
        parts, gradient = self.parts, np.empty(self.size)
        gradient[parts["pools"]] = core_seconds
        gradient[parts["groups"]] = [weights @ core_seconds for weights, _ in self.groups]
        if self.memory_bound:
            memory_seconds = np.bincount(choice, weights=work * self.memory_kb, minlength=n_offers) / self.sizes_kb
            memory_seconds -= self.free_kb_s / self.sizes_kb
            gradient[parts["memory"]] = (memory_seconds - core_seconds)[self.memory_bound]
        gradient[parts["credits"]] = (self.cores[self.bursts] - self.sustained) * core_seconds[self.bursts]
        gradient[parts["budget"]] = core_seconds @ (self.usd / self.dearest)
        gradient[parts["machines"]] = -core_seconds[self.machines]
        if self.rescue is not None:
            gradient[parts["rescue"]] = self.rescue.taken_s(self.counts, choice)
        return value, gradient

    def time_rows(self) -> LinearRows:
        """The part with T, at the moments between which it is nowhere less."""
        moments = np.array(self.moments, dtype=float)
        parts, rows = self.parts, np.zeros((len(moments), self.size))
        rows[:, parts["pools"]] = -self.pools.most_s(np.minimum(moments, self.limits_s[:, None]), self.ready).T
        caps = np.array([cap for _, cap in self.groups])
        rows[:, parts["groups"]] = -caps * np.maximum(moments - self.ready, 0.0)[:, None]
        rows[:, parts["credits"]] = -self.initial_work_s
        rows[:, parts["budget"]] = -(self.budget or 0.0)
        if self.rescue is not None:
            rows[:, parts["rescue"]] = -self.rescue.most_s
        return LinearRows(self.time_weight * moments, rows)

    def solve(self, start: FloatArray | None, most_cuts: int) -> DivisibleBound:
        """Maximise, and say what that proves."""
        if start is not None and len(start) != self.size:
            start, most_cuts = None, MOST_CUTS
        best = self.maximum(start, most_cuts)
        return self._bound(best, best.value > self.worst)

    def maximum(self, start: FloatArray | None = None, most_cuts: int = MOST_CUTS) -> Maximum:
        """Maximise by Kelley's cutting planes, in a box that grows while the multipliers press against it."""
        second, limits = self.time_rows(), self._limits()
        # Multipliers are prices of seconds: they are rarely ten times what a second costs.
        box = 10.0 * float(self.price.max() + self.time_weight) or 1.0  # where nothing costs, no multiplier gains
        best: Maximum | None = None
        if start is not None:
            return maximise_concave(self.tasks, second, limits, 1e6 * box, most_cuts, OPTIMALITY_TOLERANCE, start)
        if len(self.counts) > _MANY_GROUPS:
            # The prices of a sample are nearly those of the bag; what is left to be done is little.
            near = self._prices_of_sample()
            best = maximise_concave(self.tasks, second, limits, 1e6 * box, FEW_CUTS, OPTIMALITY_TOLERANCE, near)
            if best.value <= self.worst:
                return best
        last_box, tolerance = 1e6 * (1 + self.worst), OPTIMALITY_TOLERANCE
        found = maximise_in_boxes(self.tasks, second, limits, box, last_box, tolerance, self.worst, most_cuts)
        return found if best is None or found.value > best.value else best

    def _limits(self) -> LinearRows:
        """Highest prices for memory and credits, and how far below the price of a machine may be.

        No more is left of the price of a second of a VM than there is.
        """
        places = np.arange(self.size)
        rows = np.zeros((len(self.offers), self.size))
        rows[:, self.parts["pools"]] = np.eye(len(self.offers))
        rows[:, self.parts["groups"]] = np.array([weights for weights, _ in self.groups]).reshape(-1, len(rows)).T
        rows[:, self.parts["budget"]] = (self.usd / self.dearest)[:, None]
        rows[self.memory_bound, places[self.parts["memory"]]] = -1.0
        rows[self.bursts, places[self.parts["credits"]]] = -self.sustained
        rows[self.machines, places[self.parts["machines"]]] = -1.0
        shared = sorted({*self.memory_bound, *self.bursts, *self.machines})
        return LinearRows(self.price[shared], rows[shared])

    def _prices_of_sample(self) -> FloatArray:
        """Multipliers of a sample of the groups, by size, each standing for those around it."""
        by_size = np.argsort(self.durations.sum(axis=1), kind="stable")
        blocks = np.array_split(by_size, _SAMPLE)
        middle = np.array([block[len(block) // 2] for block in blocks])
        # What is of groups is that of the sample; prices, limits and the places of multipliers are those of the bag.
        sample = copy.copy(self)
        sample.counts = np.array([self.counts[block].sum() for block in blocks])
        sample.durations, sample.able = self.durations[middle], self.able[middle]
        sample.slots, sample.memory_kb = self.slots[middle], self.memory_kb[middle]
        if self.rescue is not None:
            sample.rescue = self.rescue.of_groups(middle)
        return sample.maximum().theta

    def _bound(self, best: Maximum, infeasible: bool) -> DivisibleBound:
        """The bound that multipliers prove."""
        core_price, memory_price = self._split(best.theta)
        credit_price, end_s = best.theta[self.parts["credits"]], self._end_s(best)
        scarce = best.theta[self.parts["pools"]].copy()
        scarce[self.bursts] += credit_price
        level_s = np.full(len(self.offers), math.inf)
        # By what is left of the price of a core second without credits, cores bind or do not.
        cores_bind = core_price[self.bursts] - credit_price > OPTIMALITY_TOLERANCE * core_price[self.bursts]
        spent = self.cores[self.bursts] - self.sustained
        of_vms = np.array([initial_work_s(self.offers[k]) for k in self.bursts])
        level_s[self.bursts] = np.where(cores_bind, of_vms / spent, math.inf)
        return DivisibleBound(
            math.inf if infeasible else self.held + max(best.value, self.time_weight * self.least_s),
            self.least_s,
            np.array([offer.index for offer in self.offers], dtype=np.int64),
            core_price,
            memory_price,
            end_s,
            best.theta,
            self._again_price(best.theta),
            float(best.theta[self.parts["budget"]].sum() / self.dearest),
            scarce,
            level_s,
        )

    def _end_s(self, best: Maximum) -> float:
        """Makespan of the divisible optimum: the moments weighted by the duals of their rows."""
        weights = best.row_weights
        total = float(weights.sum())
        return (float(weights @ np.array(self.moments)) / total if total > 0 else self.deadline) - self.ready
