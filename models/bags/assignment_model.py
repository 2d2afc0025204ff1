"""A core for each task, and a makespan that no core exceeds: R||Cmax, as textbooks have it, for CP-SAT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.errors import ModelRefusal
from ...core.limits import checkpoint
from ...core.quantities import IntArray
from ...instances.entries import FULL_SPEED, NEVER, binding_limits
from ...instances.instance import Instance
from ...schedules.schedule import Schedule, plan_of_places
from ...schedules.timing import objective_weights
from .task_classes import memory_is_free, usable_offers

MOST_PAIRS = 2_000_000
"""Pairs of a task and a core."""


def n_pairs(instance: Instance) -> int:
    """Pairs of a task and a core of a VM that may be rented."""
    return instance.n_tasks * sum(offer.vcpus * min(offer.limit, instance.n_tasks) for offer in usable_offers(instance))


def is_assignment(instance: Instance) -> bool:
    """True if which core each task is on says all: see `AssignmentModel`."""
    offers = usable_offers(instance)
    known = memory_is_free(instance) and not (instance.machines or instance.has_dates or instance.has_setups)
    alike = not (any(offer.burstable for offer in offers) or binding_limits(instance, offers))
    by_time = objective_weights(instance)[0] == 0 and instance.objective.budget_usd is None
    return known and alike and by_time and instance.rescue_time is None


class AssignmentModel:
    """The model, whose objective is the makespan from when VMs are ready; nothing breaks its symmetry.

    Attributes
    ----------
    model : CpModel
        The model.
    factor, constant : float
        The objective of the bag is that of the model divided by ``factor``, plus ``constant``.

    Parameters
    ----------
    instance : Instance
        With D_spot set, and new VMs that are ready at the same time, none of them burstable, whose memory never binds.
        The makespan alone counts, without a budget, limits of several offers, or too little time to do tasks again.
    first_s, last_s : int
        The earliest and the latest end.

    Raises
    ------
    ModelRefusal
        If the instance is another, or too large.
    """

    def __init__(self, instance: Instance, first_s: int, last_s: int) -> None:
        if not is_assignment(instance):
            raise ModelRefusal(
                "the assignment model is of bags of which the makespan alone counts, on new VMs whose memory never "
                "binds, none of them burstable, with limits of each offer alone and no budget"
            )
        if n_pairs(instance) > MOST_PAIRS:
            raise ModelRefusal(f"the assignment model has at most {MOST_PAIRS:,} pairs of a task and a core")
        offers, time_weight = usable_offers(instance), objective_weights(instance)[1]
        self._instance, ready_s = instance, instance.boot_overhead_s
        self.factor, self.constant = 1 / time_weight, time_weight * ready_s
        vms = np.array([min(offer.limit, instance.n_tasks) for offer in offers])
        self._vm_offer = np.repeat([offer.index for offer in offers], vms)
        vcpus = np.array([offer.vcpus for offer in offers])
        self._core_vm = np.repeat(np.arange(len(self._vm_offer)), np.repeat(vcpus, vms))
        columns = self._vm_offer[self._core_vm]
        seconds = instance.duration_s[:, columns, FULL_SPEED]
        latest_s = np.minimum(instance.latest_end_s[:, columns], last_s) - ready_s
        self._seconds = np.where(seconds <= latest_s, seconds, NEVER)[instance.task_group]
        from ortools.sat.python import cp_model  # here, since it takes a second, and few bags have such a model

        self.model = cp_model.CpModel()
        last = self.model.new_int_var(first_s - ready_s, last_s - ready_s, "makespan")
        self._on: list[dict[int, Any]] = []
        for row in self._seconds.tolist():
            checkpoint()
            self._on.append({core: self.model.new_bool_var("") for core, own in enumerate(row) if own < NEVER})
            self.model.add_exactly_one(self._on[-1].values())
        for core, column in enumerate(self._seconds.T.tolist()):
            checkpoint()
            tasks = [task for task, own in enumerate(column) if own < NEVER]
            of_core = [self._on[task][core] for task in tasks]
            load = cp_model.LinearExpr.weighted_sum(of_core, [column[task] for task in tasks])
            self.model.add(load <= last)
            limit_s = instance.time_limit_s(instance.offers[columns[core]].market) - ready_s
            if limit_s < last_s - ready_s:
                self.model.add(load <= limit_s)
        self.model.minimize(last)

    def schedule(self, value: Callable[[Any], int]) -> Schedule:
        """Return the plan of a solution: on each core longest task first."""
        core = np.array([next(core for core, chosen in of.items() if value(chosen)) for of in self._on], dtype=np.int64)
        seconds = self._seconds[np.arange(len(core)), core]
        order = np.lexsort((-seconds, core))
        before = np.cumsum(seconds[order]) - seconds[order]
        first = np.searchsorted(core[order], core[order])
        start_s = np.empty_like(core)
        start_s[order] = self._instance.boot_overhead_s + before - before[first]
        vm: IntArray = self._core_vm[core]
        of_vm = core - np.searchsorted(self._core_vm, vm)
        return plan_of_places(self._instance, np.arange(len(core)), vm, of_vm, start_s, self._vm_offer)
