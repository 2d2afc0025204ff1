"""Fleets: how many VMs of each offer a plan takes, and which tasks go to which offer, by a linear programme.

Tasks may be cut. For offers k with c_k cores, memory m_k, price p_k a second, time limit L_k and limit n_k, and groups
g of n_g tasks with duration e_gk and memory r_g, time counted from the moment the VMs are ready:

    min wt T + wc sum_k p_k S_k                     (S_k: seconds of VMs of offer k that are paid)
    sum_k p_k S_k <= B                              (budget)
    sum_k x_gk >= n_g                               (tasks of the group on each offer)
    c_k S_k >= sum_g e_gk x_gk                      (cores)
    m_k S_k >= sum_g r_g e_gk x_gk                  (memory)
    60 I_k n_k + r_k S_k >= sum_g e_gk x_gk         (credits, on burstable VMs)
    S_k <= n_k min(T, L_k), sum_{k in market} S_k <= n_market T

Only the start of the search is made of it: nothing is proved by it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.quantities import FloatArray, IntArray
from ...instances.entries import RentalOffer
from ...instances.instance import Instance
from ...models.bags.makespan_bounds import makespan_lower_bound_s
from ...models.bags.task_classes import initial_work_s, least_usd_per_s, sustained_cores
from .divisible_programme import DivisibleProgramme


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
