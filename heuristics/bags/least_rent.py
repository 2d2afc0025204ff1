"""The start of the search where the cost alone counts: as few and as cheap VMs as the deadline needs.

The prices of the divisible bound say what a second of each offer is worth. Where that is more than it costs, the VMs
of an offer are too few, and each is to be used to its last second: it takes the tasks that would cost most more
elsewhere, and whole tasks fill its cores as in bin packing. On all other offers nothing is lost where cores end early,
if those of a VM end together: there, as few VMs as the tasks need share them longest first.
"""

from __future__ import annotations

import numpy as np

from ...bounds.bags.divisible_bound import DivisibleBound
from ...core.limits import checkpoint
from ...core.quantities import OPTIMALITY_TOLERANCE, FloatArray, IntArray
from ...instances.group_limits import VmsLeft
from ...instances.instance import Instance
from ...schedules.timing import objective_weights
from .core_loads import CoreLoads, by_size, core_level_s, core_seconds, empty_state, fill, rentable_vms

FILLED = (1.0, 0.97, 0.93, 0.88, 0.8)
"""Shares of the time that are given to tasks, until as many end early enough as must."""
_LAST = 3
"""Tasks of a full core that are chosen so as to leave no time."""


def least_rent_start(instance: Instance, bound: DivisibleBound, spare_vms: int) -> CoreLoads | None:
    """Make a first state without machines that is a plan; None if not all tasks find a place in this way.

    Where tasks on spot VMs must end early, these VMs are filled as far as lets all of them do so.

    Parameters
    ----------
    instance : Instance
        With D_spot set, and without machines.
    bound : DivisibleBound
        Of the instance.
    spare_vms : int
        Empty VMs of each offer that the search may open.
    """
    for filled in FILLED if instance.leaves_time else (1.0,):
        state = _start(instance, bound, spare_vms, filled)
        if state is not None and state.feasible():
            return state
    return None


def _start(instance: Instance, bound: DivisibleBound, spare_vms: int, filled: float) -> CoreLoads | None:
    """Make a first state with spot VMs that are filled up to a share of their time."""
    rent = _Rent(instance, bound, filled)
    scarce = bound.scarce
    worth = rent.core_price * rent.vcpus  # of a second of a VM
    for k in np.lexsort((rent.price / rent.vcpus, -scarce / np.maximum(worth, 1e-300))).tolist():
        rent.take(
            k,
            full=worth[k] > rent.price[k] * (1 + OPTIMALITY_TOLERANCE) and scarce[k] > OPTIMALITY_TOLERANCE * worth[k],
        )
    for k in np.argsort(rent.price / rent.vcpus, kind="stable").tolist():
        rent.take(k, full=False, all_that_fit=True)
    if rent.left.any():
        return None
    state = empty_state(instance, bound.offers, rent.opened, spare_vms)
    first_core = state.cores.first_of_vm[np.searchsorted(state.vm_column, np.arange(len(bound.offers)))]
    tasks = np.concatenate(rent.tasks)
    cores = np.concatenate([first_core[k] + cores for k, cores in zip(rent.columns, rent.cores, strict=True)])
    return state if fill(state, instance.open_tasks[tasks], cores) else None


class _Rent:
    """VMs rented so far by offer, and tasks without a place."""

    def __init__(self, instance: Instance, bound: DivisibleBound, filled: float) -> None:
        offers = [instance.offers[index] for index in bound.offers.tolist()]
        groups = instance.task_group[instance.open_tasks]
        self.offers = bound.offers
        self.vms_left = VmsLeft(instance)
        self.core_price = bound.core_price
        self.vcpus = np.array([offer.vcpus for offer in offers])
        self.price = np.array([offer.price_usd_per_s for offer in offers]) * objective_weights(instance)[0]
        last_s = np.array([instance.time_limit_s(offer.market) for offer in offers])
        level: FloatArray = (last_s - instance.ready_s[bound.offers]).astype(float)
        level = np.where(instance.offer_is_spot[bound.offers], filled * level, level)
        level = core_level_s(instance, bound.offers, np.minimum(level, bound.level_s))
        self.level = np.maximum(level, 1).astype(np.int64)
        self.rentable = rentable_vms(instance, bound.offers)
        self.opened = np.zeros(len(offers), dtype=np.int64)
        self.seconds = core_seconds(instance, bound.offers)[groups]
        price: FloatArray = np.where(self.seconds <= self.level, bound.task_price(instance)[groups], np.inf)
        self.price_of_task = price
        self.left = np.ones(len(groups), dtype=bool)
        self.open = np.ones(len(offers), dtype=bool)
        self.columns: list[int] = []
        self.tasks: list[IntArray] = []
        self.cores: list[IntArray] = []

    def take(self, k: int, full: bool, all_that_fit: bool = False) -> None:
        """Rent VMs of an offer, and put tasks there: of those that are left, the ones that cost most more elsewhere."""
        checkpoint()
        self.open[k] = all_that_fit
        most = min(int(self.rentable[k] - self.opened[k]), self.vms_left.of(int(self.offers[k])))
        tasks = np.flatnonzero(self.left & np.isfinite(self.price_of_task[:, k]))
        if not most or not len(tasks):
            return
        seconds = self.seconds[tasks, k]
        if not all_that_fit:
            more = self._more_elsewhere(tasks, k) / seconds
            order = np.argsort(-more, kind="stable")
            if full:
                room = most * int(self.vcpus[k] * self.level[k])
                wanted = int(np.searchsorted(np.cumsum(seconds[order]), room)) + 1
            else:
                wanted = int((more >= -OPTIMALITY_TOLERANCE * self.core_price[k]).sum())
            tasks, seconds = tasks[order[:wanted]], seconds[order[:wanted]]
        if not len(tasks):
            return
        core = self._shared(k, seconds, most)
        if core is None:
            core = self._filled(k, seconds, most)
        placed = core >= 0
        vms = -(-(int(core.max()) + 1) // int(self.vcpus[k]))
        self.left[tasks[placed]] = False
        self.columns.append(k)
        self.tasks.append(tasks[placed])
        self.cores.append(core[placed] + self.opened[k] * self.vcpus[k])
        self.opened[k] += vms
        self.vms_left.take(int(self.offers[k]), vms)

    def _more_elsewhere(self, tasks: IntArray, k: int) -> FloatArray:
        """Return by how much tasks cost more on the cheapest of the offers that are still to come."""
        others = np.flatnonzero(self.open)
        if not len(others):
            return np.full(len(tasks), np.inf)
        more: FloatArray = self.price_of_task[np.ix_(tasks, others)].min(axis=1) - self.price_of_task[tasks, k]
        return more

    def _shared(self, k: int, seconds: IntArray, most: int) -> IntArray | None:
        """Share tasks out to the cores of as few VMs as they need; None if they end too late on all."""
        vms = max(-(-int(seconds.sum()) // int(self.vcpus[k] * self.level[k])), 1)
        more = max(vms // 100, 1)
        while vms <= most:
            core, load = _longest_first(seconds, vms * int(self.vcpus[k]))
            if load.max() <= self.level[k]:
                return core
            vms, more = max(min(vms + more, most), vms + 1), 2 * more
        return None

    def _filled(self, k: int, seconds: IntArray, vms: int) -> IntArray:
        """Fill the cores of VMs to their last second; the core of each task, -1 where it has no place.

        The longest tasks are shared out to all cores, so that each ends with short ones: what runs last on a spot VM
        may have to be done again.
        """
        from .start_kernel import filled_cores

        n_cores = vms * int(self.vcpus[k])
        by_length = np.argsort(-seconds, kind="stable")
        longest, rest = np.split(by_length, [max(len(seconds) - _LAST * n_cores, 0)])
        core, load = np.full(len(seconds), -1, dtype=np.int64), np.zeros(n_cores, dtype=np.int64)
        if len(longest):
            core[longest], load = _longest_first(seconds[longest], n_cores)
            if load.max() > self.level[k]:
                core[longest], load, rest = -1, np.zeros_like(load), by_length
        chosen = np.full(len(rest), -1, dtype=np.int64)
        by_size(filled_cores, seconds[rest[::-1]], self.level[k] - load, chosen)
        core[rest[::-1]] = chosen
        return core


def _longest_first(seconds: IntArray, n_cores: int) -> tuple[IntArray, IntArray]:
    """Share tasks out to cores, longest first; the core of each task, and the load of each core."""
    from .start_kernel import least_loaded_core

    order, cores = np.argsort(-seconds, kind="stable"), np.arange(n_cores)
    core, chosen = np.empty(len(seconds), dtype=np.int64), np.zeros(len(seconds), dtype=np.int64)
    by_size(least_loaded_core, seconds[order], cores, np.zeros_like(cores), chosen)
    core[order] = chosen
    load: IntArray = np.bincount(core, weights=seconds, minlength=n_cores).astype(np.int64)
    return core, load


def compile_filling() -> None:
    """Have the loop at hand that fills cores: only where limits bind do many tasks ask for it."""
    from .start_kernel import filled_cores

    nothing = np.zeros(0, dtype=np.int64)
    filled_cores(nothing, nothing, nothing)
