"""Makespans that a plan better than a given one can have."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...instances.durations import FULL_SPEED
from ...instances.instance import Instance
from ...schedules.evaluation import objective_weights
from .makespan_bounds import makespan_lower_bound_s
from .task_classes import task_classes, usable_offers
from .vm_limits import effective_cores, least_work_s

_MOST_CELLS = 20_000
_SLACK = 1e-7


@dataclass(frozen=True, slots=True)
class MakespanWindow:
    """First and last makespan, counted from the moment the VMs are ready."""

    earliest_s: int
    latest_s: int

    @property
    def empty(self) -> bool:
        """Whether there is no makespan left."""
        return self.earliest_s > self.latest_s


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
    ready = instance.boot_overhead_s
    limits = [instance.time_limit_s(offer.market) - ready for offer in usable_offers(instance)]
    earliest = makespan_lower_bound_s(instance) - ready
    latest = max(limits, default=0)
    if math.isinf(at_most) or earliest > latest:
        return MakespanWindow(earliest, latest)
    time_weight = objective_weights(instance)[1]
    if time_weight > 0:
        latest = min(latest, math.floor(at_most * (1 + _SLACK) / time_weight) - ready)
    if earliest > latest:
        return MakespanWindow(earliest, latest)
    return _divisible_window(instance, at_most, earliest, latest)


def _divisible_window(instance: Instance, at_most: float, earliest: int, latest: int) -> MakespanWindow:
    import highspy

    offers = usable_offers(instance)
    classes = task_classes(instance)
    n_classes, n_offers = len(classes), len(offers)
    if n_classes * n_offers > _MOST_CELLS:
        return MakespanWindow(earliest, latest)
    cost_weight, time_weight = objective_weights(instance)
    ready = instance.boot_overhead_s
    infinity = highspy.kHighsInf
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    # Columns: tasks x of each class on each offer, paid seconds S of each offer, makespan T.
    for offer in offers:
        durations = instance.duration_s[classes.group, offer.index, FULL_SPEED]
        for index in range(n_classes):
            fits = durations[index] <= instance.time_limit_s(offer.market) - ready
            solver.addVar(0.0, infinity if fits else 0.0)
    for offer in offers:
        limit = instance.time_limit_s(offer.market) - ready
        solver.addVar(0.0, float(min(offer.limit, instance.n_tasks) * limit))
    makespan = n_offers * (n_classes + 1)
    solver.addVar(float(earliest), float(latest))
    for index in range(n_classes):
        columns = np.arange(n_offers) * n_classes + index
        solver.addRow(float(classes.size[index]), infinity, n_offers, columns.astype(np.int32), np.ones(n_offers))
    for k, offer in enumerate(offers):
        work = least_work_s(instance, offer)[classes.group]
        columns = np.append(np.arange(n_classes) + k * n_classes, n_offers * n_classes + k).astype(np.int32)
        solver.addRow(-infinity, 0.0, n_classes + 1, columns, np.append(work, -effective_cores(offer)))
        memory = work * instance.memory_kb[classes.group] / offer.memory_kb
        solver.addRow(-infinity, 0.0, n_classes + 1, columns, np.append(memory, -1.0))
        ends = np.array([n_offers * n_classes + k, makespan], dtype=np.int32)
        solver.addRow(-infinity, 0.0, 2, ends, np.array([1.0, -float(min(offer.limit, instance.n_tasks))]))
    for market in instance.markets:
        cap = instance.limits.of(market)
        mine = [n_offers * n_classes + k for k, offer in enumerate(offers) if offer.market == market]
        if cap is not None and mine:
            columns = np.array([*mine, makespan], dtype=np.int32)
            solver.addRow(-infinity, 0.0, len(columns), columns, np.append(np.ones(len(mine)), -float(cap)))
    prices = [cost_weight * offer.price_usd_per_s for offer in offers]
    paid = np.append(np.arange(n_offers) + n_offers * n_classes, makespan).astype(np.int32)
    scale = 1e4 / at_most  # far above the solver's absolute tolerances
    solver.addRow(
        -infinity,
        (at_most * (1 + _SLACK) - time_weight * ready) * scale,
        len(paid),
        paid,
        np.append(prices, time_weight) * scale,
    )
    solver.changeColCost(makespan, 1.0)
    solver.run()
    kinds = highspy.HighsModelStatus
    slack_s = 1e-3 + 1e-6 * latest  # far above what the tolerances of the solver can be off
    if solver.getModelStatus() == kinds.kInfeasible:
        return MakespanWindow(latest + 1, latest)
    if solver.getModelStatus() == kinds.kOptimal:
        earliest = max(earliest, math.ceil(solver.getObjectiveValue() - slack_s))
    solver.changeColCost(makespan, -1.0)
    solver.run()
    if solver.getModelStatus() == kinds.kOptimal:
        latest = min(latest, math.floor(-solver.getObjectiveValue() + slack_s))
    return MakespanWindow(earliest, latest)
