"""Makespans that a plan better than a given one can have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...core.linear_programs import run_linear_program
from ...core.quantities import FloatArray, IntArray
from ...instances.durations import FULL_SPEED
from ...instances.instance import Instance
from ...schedules.evaluation import objective_weights
from .makespan_bounds import makespan_lower_bound_s
from .task_classes import offers_of_vms, task_classes, usable_offers
from .vm_limits import effective_cores, least_work_s

if TYPE_CHECKING:
    import highspy

_MOST_CELLS = 20_000
_SLACK = 1e-7


@dataclass(frozen=True, slots=True)
class MakespanWindow:
    """First and last makespan, counted from the moment the VMs are ready; from now if there are machines."""

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
    ready = 0 if instance.machines else instance.boot_overhead_s
    limits = [instance.time_limit_s(offer.market) - ready for offer in offers_of_vms(instance)]
    limits += [end_s for end_s in instance.running_end_s.tolist() if end_s <= instance.deadline_s]
    earliest = makespan_lower_bound_s(instance) - ready
    latest = max(limits, default=0)
    if math.isinf(at_most) or earliest > latest:
        return MakespanWindow(earliest, latest)
    time_weight = objective_weights(instance)[1]
    if time_weight > 0:
        latest = min(latest, math.floor(at_most * (1 + _SLACK) / time_weight) - ready)
    if earliest > latest or instance.machines:  # the linear programme knows none
        return MakespanWindow(earliest, latest)
    return _divisible_window(instance, at_most, earliest, latest)


def _divisible_window(instance: Instance, at_most: float, earliest: int, latest: int) -> MakespanWindow:
    """Narrow a window by the divisible linear programme."""
    import highspy

    if len(task_classes(instance)) * len(usable_offers(instance)) > _MOST_CELLS:
        return MakespanWindow(earliest, latest)
    programme = _DivisibleProgramme(instance, at_most, earliest, latest)
    kinds = highspy.HighsModelStatus
    slack_s = 1e-3 + 1e-6 * latest  # far above what the tolerances of the solver can be off
    status, least = programme.solve(1.0)
    if status == kinds.kInfeasible:
        return MakespanWindow(latest + 1, latest)
    if status == kinds.kOptimal:
        earliest = max(earliest, math.ceil(least - slack_s))
    status, least_negative = programme.solve(-1.0)
    if status == kinds.kOptimal:
        latest = min(latest, math.floor(-least_negative + slack_s))
    return MakespanWindow(earliest, latest)


class _DivisibleProgramme:
    """Plans of tasks that may be cut, up to an objective; columns x of tasks, S of paid seconds, T of the makespan."""

    def __init__(self, instance: Instance, at_most: float, earliest: int, latest: int) -> None:
        import highspy

        self._instance = instance
        self._offers = usable_offers(instance)
        self._classes = task_classes(instance)
        self._infinity = highspy.kHighsInf
        self._solver = highspy.Highs()
        self._solver.setOptionValue("output_flag", False)
        n_cells = len(self._offers) * len(self._classes)
        self._first_paid = n_cells
        self._makespan = n_cells + len(self._offers)
        self._most_vms = [float(min(offer.limit, instance.n_tasks)) for offer in self._offers]
        self._add_columns(earliest, latest)
        self._add_all_tasks_run()
        self._add_vms_hold_the_work()
        self._add_market_limits()
        self._add_objective_is_at_most(at_most)

    def _add_columns(self, earliest: int, latest: int) -> None:
        """Tasks of each class on each offer, paid seconds of each offer, makespan."""
        instance = self._instance
        limits = [instance.time_limit_s(offer.market) - instance.boot_overhead_s for offer in self._offers]
        for offer, limit in zip(self._offers, limits, strict=True):
            for seconds in instance.duration_s[self._classes.group, offer.index, FULL_SPEED].tolist():
                self._solver.addVar(0.0, self._infinity if seconds <= limit else 0.0)
        for vms, limit in zip(self._most_vms, limits, strict=True):
            self._solver.addVar(0.0, vms * limit)
        self._solver.addVar(float(earliest), float(latest))

    def _add_all_tasks_run(self) -> None:
        """The parts of the tasks of a class add up to at least all of them."""
        n_classes, n_offers = len(self._classes), len(self._offers)
        for index, size in enumerate(self._classes.size.tolist()):
            columns = np.arange(n_offers) * n_classes + index
            self._add_row(columns, np.ones(n_offers), lower=float(size))

    def _add_vms_hold_the_work(self) -> None:
        """Cores, memory and makespan: the work of an offer within its paid seconds, and these by the makespan."""
        instance, n_classes = self._instance, len(self._classes)
        for k, offer in enumerate(self._offers):
            work = least_work_s(instance, offer)[self._classes.group]
            columns = np.append(np.arange(n_classes) + k * n_classes, self._first_paid + k)
            self._add_row(columns, np.append(work, -effective_cores(offer)), upper=0.0)
            memory = work * instance.memory_kb[self._classes.group] / offer.memory_kb
            self._add_row(columns, np.append(memory, -1.0), upper=0.0)
            ends = np.array([self._first_paid + k, self._makespan])
            self._add_row(ends, np.array([1.0, -self._most_vms[k]]), upper=0.0)

    def _add_market_limits(self) -> None:
        """No more VM seconds of a market than its limit gives by the makespan."""
        for market in self._instance.markets:
            cap = self._instance.limits.of(market)
            mine = [self._first_paid + k for k, offer in enumerate(self._offers) if offer.market == market]
            if cap is not None and mine:
                self._add_row(np.array([*mine, self._makespan]), np.append(np.ones(len(mine)), -float(cap)), upper=0.0)

    def _add_objective_is_at_most(self, at_most: float) -> None:
        """The objective, up to that of the plan that is known."""
        cost_weight, time_weight = objective_weights(self._instance)
        prices = [cost_weight * offer.price_usd_per_s for offer in self._offers]
        scale = 1e4 / at_most  # far above the solver's absolute tolerances
        room = at_most * (1 + _SLACK) - time_weight * self._instance.boot_overhead_s
        columns = np.append(np.arange(len(self._offers)) + self._first_paid, self._makespan)
        self._add_row(columns, np.append(prices, time_weight) * scale, upper=room * scale)

    def _add_row(
        self, columns: IntArray, coefficients: FloatArray, *, lower: float | None = None, upper: float | None = None
    ) -> None:
        low = -self._infinity if lower is None else lower
        high = self._infinity if upper is None else upper
        self._solver.addRow(low, high, len(columns), columns.astype(np.int32), coefficients)

    def solve(self, sign: float) -> tuple[highspy.HighsModelStatus, float]:
        """Minimise the makespan times 1 or -1; return the status and the value."""
        self._solver.changeColCost(self._makespan, sign)
        run_linear_program(self._solver)
        return self._solver.getModelStatus(), self._solver.getObjectiveValue()
