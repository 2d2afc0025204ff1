"""The linear programme of tasks that may be cut, which bounds, windows of makespans and first fleets are made of.

For offers k with c_k cores, memory m_k, price p_k a second, time limit L_k and limit n_k, and groups g of n_g tasks
with duration e_gk and memory r_g, time counted from the moment the VMs are ready:

    min wt T + wc sum_k p_k S_k                     (S_k: seconds of VMs of offer k that are paid)
    sum_k x_gk >= n_g                               (tasks of the group on each offer)
    c_k S_k >= sum_g e_gk x_gk                      (cores)
    m_k S_k >= sum_g r_g e_gk x_gk                  (memory)
    S_k <= n_k min(T, L_k), sum_{k in market} S_k <= n_market T

A fleet, how many VMs of each offer a plan takes and which tasks go to which offer, is also within the budget B, and the
credits of burstable VMs:

    sum_k p_k S_k <= B
    60 I_k n_k + r_k S_k >= sum_g e_gk x_gk

Only the start of the search is made of it: nothing is proved by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...core.capacities import lower_of, slots_of
from ...core.limits import checkpoint
from ...core.quantities import BoolArray, FloatArray, IntArray
from ...instances.entries import FULL_SPEED, RentalOffer
from ...instances.instance import Instance
from ...models.bags.makespan_bounds import MakespanWindow, makespan_lower_bound_s
from ...models.bags.task_classes import (
    effective_cores,
    initial_work_s,
    least_usd_per_s,
    least_work_s,
    offers_of_vms,
    sustained_cores,
    usable_offers,
)
from ...schedules.timing import objective_weights
from ..programme import MOST_COLUMNS, TOLERANCE, Programme


class DivisibleProgramme(Programme):
    """Plans of new VMs, with times from when these are ready.

    Columns: makespan, VM seconds of each offer, tasks of each group on each offer. Rows: all tasks run; VM seconds by
    the makespan, and within the limits of groups; cuts, by which the work of an offer fits its VM seconds.

    Where ``vms`` are given, they are there of each offer in place of its limit.
    """

    def __init__(self, instance: Instance, least_s: int, most_s: int, vms: IntArray | None = None) -> None:
        super().__init__()
        self.instance = instance
        self.ready = instance.boot_overhead_s
        self.least_s, self.most_s = least_s, most_s
        self.cost_weight, self.time_weight = objective_weights(instance)
        self.offers = usable_offers(instance)
        self.counts = instance.group_size.astype(float)
        self.limits_s = np.array([instance.time_limit_s(offer.market) for offer in self.offers])
        self.limits_s -= instance.ready_s[[offer.index for offer in self.offers]]
        self.work, self.able = self._work()
        self.price = self.cost_weight * least_usd_per_s(instance, self.offers)
        self.limits = np.array([min(offer.limit, instance.n_tasks) for offer in self.offers], dtype=np.int64)
        self.vms = (self.limits if vms is None else vms).astype(float)
        self.cuts: list[tuple[int, FloatArray, float]] = []  # offer, weights, capacity
        # Rows with the makespan: weights of the offers, coefficient of the makespan.
        self.time_rows: list[tuple[FloatArray, float]] = [*zip(np.eye(len(self.vms)), self.vms.tolist(), strict=True)]
        self._build()

    def _work(self) -> tuple[FloatArray, BoolArray]:
        """Least seconds of work of each group on each offer, shape (n_groups, n_used), and where it can run."""
        seconds = self.instance.duration_s[:, [offer.index for offer in self.offers], FULL_SPEED]
        able = seconds <= self.limits_s
        work = np.stack([least_work_s(self.instance, offer) for offer in self.offers], axis=1)
        return np.where(able, work, 0.0), able

    def _build(self) -> None:
        """Columns, the tasks' parts, the limits of VMs and groups, and the plain cuts for cores and memory."""
        n_groups, n_offers = self.work.shape
        self.add_column(self.time_weight, lower=float(self.least_s), upper=float(max(self.most_s, self.least_s)))
        self.add_columns(self.price)
        self.add_columns(np.zeros(n_offers * n_groups), upper=np.where(self.able, self.counts[:, None], 0.0).T.ravel())
        for group in range(n_groups):
            checkpoint()
            members = [self.column(k, group) for k in range(n_offers)]
            self.add_row(members, np.ones(n_offers), lower=float(self.counts[group]))
        indices = [offer.index for offer in self.offers]
        limits = [(group.weights[indices].astype(float), float(group.most)) for group in self.instance.group_limits]
        self.time_rows += [(weights, most) for weights, most in limits if weights.any()]
        for weights, most in self.time_rows:
            mine = np.flatnonzero(weights)
            self.add_row(np.r_[0, 1 + mine], np.r_[most, -weights[mine]], lower=0.0)
        for k, offer in enumerate(self.offers):
            self.add_cut(k, slots_of(self.instance.memory_kb).astype(float), effective_cores(offer))
            self.add_cut(k, lower_of(self.instance.memory_kb) / lower_of(offer.memory_kb), 1.0)

    def column(self, k: int, group: int) -> int:
        """Column of the tasks of a group on an offer."""
        return 1 + len(self.offers) + k * len(self.counts) + group

    def add_cut(self, k: int, weights: FloatArray, capacity: float) -> None:
        """Add the row by which the weighted work of an offer fits its VM seconds times a capacity."""
        groups = np.flatnonzero(self.able[:, k] & (weights > 0))
        self.add_row(
            np.r_[1 + k, self.column(k, 0) + groups],
            np.r_[capacity, -weights[groups] * self.work[groups, k]],
            lower=0.0,
        )
        self.cuts.append((k, weights, capacity))


@dataclass(frozen=True, slots=True)
class FractionalFleet:
    """Result of the linear programme.

    Attributes
    ----------
    offers : list of RentalOffer
        Those that may be rented.
    limits : array of int, shape (n_used,)
        Most VMs of each offer.
    vms : array of float, shape (n_used,)
        VMs of each offer: its seconds over the makespan.
    tasks : array of float, shape (n_groups, n_used)
        Tasks of each group on each offer.
    """

    offers: list[RentalOffer]
    limits: IntArray
    vms: FloatArray
    tasks: FloatArray


def fractional_fleet(instance: Instance, most_vms: IntArray | None = None) -> FractionalFleet | None:
    """Solve the linear programme of an instance without machines; None if it has no solution.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    most_vms : array of int, shape (n_used,), optional
        VMs of each offer in place of its limit.
    """
    boot_s, deadline_s = instance.boot_overhead_s, instance.deadline_s
    least_s = max(makespan_lower_bound_s(instance), boot_s)
    if least_s > deadline_s:
        return None
    programme = DivisibleProgramme(instance, least_s - boot_s, deadline_s - boot_s, most_vms)
    offers, n_used = programme.offers, len(programme.offers)
    programme.set_bounds(np.zeros(n_used), programme.vms * programme.limits_s, 1)
    for k, offer in enumerate(offers):
        if offer.burstable:
            able = np.flatnonzero(programme.able[:, k])
            columns = np.r_[1 + k, programme.column(k, 0) + able]
            entries = np.r_[sustained_cores(offer), -programme.work[able, k]]
            programme.add_row(columns, entries, lower=-programme.vms[k] * initial_work_s(offer))
    budget_usd = instance.objective.budget_usd
    if budget_usd is not None:
        programme.add_row(np.arange(1, 1 + n_used), least_usd_per_s(instance, offers), upper=budget_usd)
    if not programme.solve():
        return None
    makespan_s, of_offers, of_tasks = np.split(programme.values, [1, 1 + n_used])
    tasks = of_tasks.reshape(n_used, -1).T
    return FractionalFleet(offers, programme.limits, of_offers / max(float(makespan_s[0]), 1.0), tasks)


def makespan_window(instance: Instance, at_most: float = math.inf) -> MakespanWindow:
    """Makespans of plans whose objective is at most a given one.

    Outside of the window, even tasks that may be cut cost more: least and largest T of the divisible linear programme
    with ``objective <= at_most``.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    at_most : float
        Objective of a plan that is known; infinite if there is none.
    """
    ready = 0 if instance.machines else instance.boot_overhead_s
    limits = [instance.time_limit_s(offer.market) - ready for offer in offers_of_vms(instance)]
    limits += [end_s for end_s in instance.running_end_s.tolist() if end_s <= instance.deadline_s]
    earliest = makespan_lower_bound_s(instance) - ready
    latest = max(limits, default=0)
    if math.isinf(at_most) or earliest > latest:
        return MakespanWindow(earliest, latest)
    time_weight = objective_weights(instance)[1]
    if time_weight > 0:
        latest = min(latest, math.floor(at_most * (1 + TOLERANCE) / time_weight) - ready)
    too_large = len(instance.tasks) * len(usable_offers(instance)) > MOST_COLUMNS
    if earliest > latest or instance.machines or too_large:  # the linear programme knows no machines
        return MakespanWindow(earliest, latest)
    return _divisible_window(instance, at_most, earliest, latest)


def _divisible_window(instance: Instance, at_most: float, earliest: int, latest: int) -> MakespanWindow:
    """Narrow a window by the divisible linear programme of plans up to an objective."""
    programme = DivisibleProgramme(instance, earliest, latest)
    n_offers = len(programme.offers)
    programme.set_bounds(np.zeros(n_offers), programme.vms * programme.limits_s, 1)
    scale = 1e4 / at_most  # far above the solver's absolute tolerances
    room = at_most * (1 + TOLERANCE) - programme.time_weight * programme.ready
    prices = np.r_[programme.time_weight, programme.price]
    programme.add_row(np.arange(1 + n_offers), prices * scale, upper=room * scale)
    for k in range(n_offers):
        programme.set_cost(1 + k, 0.0)
    slack_s = 1e-3 + 1e-6 * latest  # far above what the tolerances of the solver can be off
    for sign in (1.0, -1.0):
        programme.set_cost(0, sign)
        if programme.solve():
            found_s = sign * programme.objective
            earliest = max(earliest, math.ceil(found_s - slack_s)) if sign > 0 else earliest
            latest = min(latest, math.floor(found_s + slack_s)) if sign < 0 else latest
        elif programme.infeasible:
            return MakespanWindow(latest + 1, latest)
    return MakespanWindow(earliest, latest)
