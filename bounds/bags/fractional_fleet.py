"""Fleets: how many VMs of each offer a plan takes, and which tasks go to which offer, by a linear programme.

Tasks may be cut. For offers k with c_k cores, memory m_k, price p_k a second, time limit L_k and limit n_k, and groups
g of n_g tasks with duration e_gk and memory r_g, time counted from the moment the VMs are ready:

    min wt T + wc sum_k p_k S_k                     (S_k: seconds of VMs of offer k that are paid)
    sum_k p_k S_k <= B                              (budget)
    sum_k x_gk = n_g                                (tasks of the group on each offer)
    c_k S_k >= sum_g e_gk x_gk                      (cores)
    m_k S_k >= sum_g r_g e_gk x_gk                  (memory)
    60 I_k n_k + r_k S_k >= sum_g e_gk x_gk         (credits, on burstable VMs)
    S_k <= n_k min(T, L_k), sum_{k in market} S_k <= n_market T

Only the start of the search is made of it: nothing is proved by it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.capacities import lower_of, slots_of
from ...core.quantities import FloatArray, IntArray
from ...instances.entries import FULL_SPEED, NEVER, RentalOffer
from ...instances.group_limits import binding_limits
from ...instances.instance import Instance
from ...models.bags.least_rates import least_usd_per_s
from ...models.bags.makespan_bounds import makespan_lower_bound_s
from ...models.bags.task_classes import initial_work_s, sustained_cores, usable_offers
from ...schedules.timing import objective_weights
from ..programme import Programme


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
    offers = usable_offers(instance)
    n_groups, n_used = len(instance.tasks), len(offers)
    cost_weight, time_weight = objective_weights(instance)
    boot = instance.boot_overhead_s
    durations = instance.duration_s[:, [offer.index for offer in offers], FULL_SPEED]
    counts = instance.open_size.astype(float)
    most = np.array([min(offer.limit, instance.n_tasks) for offer in offers], dtype=np.int64)
    limits = (most if most_vms is None else most_vms).astype(float)
    last = np.array(
        [instance.time_limit_s(offer.market) - instance.ready_s[offer.index] for offer in offers], dtype=float
    )
    end = n_used  # columns: seconds of each offer, the makespan, and then the tasks by group and offer
    able = durations < NEVER
    group, used = np.nonzero(able)
    seconds = durations[group, used].astype(float)
    column = end + 1 + np.arange(len(group))
    rows: list[tuple[float, float, IntArray, FloatArray]] = []  # lower and upper limit, columns, coefficients
    for k, offer in enumerate(offers):
        mine = used == k
        needed = instance.memory_kb[group[mine]]
        of_cores = -seconds[mine] * slots_of(needed)
        rows.append((0.0, np.inf, np.r_[k, column[mine]], np.r_[float(offer.vcpus), of_cores]))
        if not instance.memory_never_binds[offer.type_index]:
            share = seconds[mine] * lower_of(needed) / lower_of(offer.memory_kb)
            rows.append((0.0, np.inf, np.r_[k, column[mine]], np.r_[1.0, -share]))
        if offer.burstable:
            at_start, sustained = limits[k] * initial_work_s(offer), sustained_cores(offer)
            rows.append((-at_start, np.inf, np.r_[k, column[mine]], np.r_[sustained, -seconds[mine]]))
        rows.append((-np.inf, 0.0, np.array([k, end]), np.array([1.0, -limits[k]])))
    for weights, most_of_group in binding_limits(instance, offers):
        mine = np.flatnonzero(weights)
        rows.append((-np.inf, 0.0, np.r_[mine, end], np.r_[weights[mine], -most_of_group]))
    usd = least_usd_per_s(instance, offers)
    if instance.objective.budget_usd is not None:
        rows.append((-np.inf, instance.objective.budget_usd, np.arange(n_used), usd))
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], np.arange(n_groups + 1))
    rows += [
        (counts[g], counts[g], column[order[first[g] : first[g + 1]]], np.ones(first[g + 1] - first[g]))
        for g in range(n_groups)
    ]
    least = max(makespan_lower_bound_s(instance) - boot, 0)
    lower = np.r_[np.zeros(n_used), float(least), np.zeros(len(group))]
    upper = np.r_[limits * last, float(instance.deadline_s - boot), counts[group]]
    costs = np.r_[usd * cost_weight, time_weight, np.zeros(len(group))]
    if least > upper[end]:
        return None
    programme = Programme()
    programme.add_columns(costs, lower, upper)
    low, high, columns, coefficients = zip(*rows, strict=True)
    row = np.repeat(np.arange(len(rows)), [*map(len, columns)])
    programme.add_rows(np.array(low), np.array(high), row, np.concatenate(columns), np.concatenate(coefficients))
    if not programme.solve():
        return None
    values = programme.values
    tasks = np.zeros((n_groups, n_used))
    tasks[group, used] = values[end + 1 :]
    return FractionalFleet(offers, most, values[:n_used] / max(values[end], 1.0), tasks)
