"""Window of the makespans of plans better than a given one."""

from __future__ import annotations

import math

import numpy as np

from ...instances.entries import FULL_SPEED
from ...instances.instance import Instance
from ...models.bags.makespan_bounds import makespan_lower_bound_s
from ...models.bags.task_classes import effective_cores, least_work_s, offers_of_vms, task_classes, usable_offers
from ...models.bags.windows import MakespanWindow
from ...schedules.timing import objective_weights
from ..programme import MOST_COLUMNS, TOLERANCE, Programme


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
    if earliest > latest or instance.machines:  # the linear programme knows none
        return MakespanWindow(earliest, latest)
    return _divisible_window(instance, at_most, earliest, latest)


def _divisible_window(instance: Instance, at_most: float, earliest: int, latest: int) -> MakespanWindow:
    """Narrow a window by the divisible linear programme."""
    if len(task_classes(instance)) * len(usable_offers(instance)) > MOST_COLUMNS:
        return MakespanWindow(earliest, latest)
    programme = _DivisibleProgramme(instance, at_most, earliest, latest)
    slack_s = 1e-3 + 1e-6 * latest  # far above what the tolerances of the solver can be off
    least = programme.least_times(1.0)
    if programme.infeasible:
        return MakespanWindow(latest + 1, latest)
    if least is not None:
        earliest = max(earliest, math.ceil(least - slack_s))
    least_negative = programme.least_times(-1.0)
    if least_negative is not None:
        latest = min(latest, math.floor(-least_negative + slack_s))
    return MakespanWindow(earliest, latest)


class _DivisibleProgramme(Programme):
    """Plans of tasks that may be cut, up to an objective; columns x of tasks, S of paid seconds, T of the makespan."""

    def __init__(self, instance: Instance, at_most: float, earliest: int, latest: int) -> None:
        super().__init__()
        self._instance = instance
        self._offers = usable_offers(instance)
        self._classes = task_classes(instance)
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
            seconds = instance.duration_s[self._classes.group, offer.index, FULL_SPEED]
            self.add_columns(np.zeros(len(seconds)), upper=np.where(seconds <= limit, np.inf, 0.0))
        self.add_columns(np.zeros(len(limits)), upper=np.array(self._most_vms) * limits)
        self.add_column(0.0, lower=float(earliest), upper=float(latest))

    def _add_all_tasks_run(self) -> None:
        """The parts of the tasks of a class add up to at least all of them."""
        n_classes, n_offers = len(self._classes), len(self._offers)
        for index, size in enumerate(self._classes.size.tolist()):
            columns = np.arange(n_offers) * n_classes + index
            self.add_row(columns, np.ones(n_offers), lower=float(size))

    def _add_vms_hold_the_work(self) -> None:
        """Cores, memory and makespan: the work of an offer within its paid seconds, and these by the makespan."""
        instance, n_classes = self._instance, len(self._classes)
        for k, offer in enumerate(self._offers):
            work = least_work_s(instance, offer)[self._classes.group]
            columns = np.append(np.arange(n_classes) + k * n_classes, self._first_paid + k)
            self.add_row(columns, np.append(work, -effective_cores(offer)), upper=0.0)
            memory = work * instance.memory_kb[self._classes.group] / offer.memory_kb
            self.add_row(columns, np.append(memory, -1.0), upper=0.0)
            ends = np.array([self._first_paid + k, self._makespan])
            self.add_row(ends, np.array([1.0, -self._most_vms[k]]), upper=0.0)

    def _add_market_limits(self) -> None:
        """No more VM seconds of a market than its limit gives by the makespan."""
        for market in self._instance.markets:
            cap = self._instance.limits.of(market)
            mine = [self._first_paid + k for k, offer in enumerate(self._offers) if offer.market == market]
            if cap is not None and mine:
                self.add_row(np.array([*mine, self._makespan]), np.append(np.ones(len(mine)), -float(cap)), upper=0.0)

    def _add_objective_is_at_most(self, at_most: float) -> None:
        """The objective, up to that of the plan that is known."""
        cost_weight, time_weight = objective_weights(self._instance)
        prices = [cost_weight * offer.price_usd_per_s for offer in self._offers]
        scale = 1e4 / at_most  # far above the solver's absolute tolerances
        room = at_most * (1 + TOLERANCE) - time_weight * self._instance.boot_overhead_s
        columns = np.append(np.arange(len(self._offers)) + self._first_paid, self._makespan)
        self.add_row(columns, np.append(prices, time_weight) * scale, upper=room * scale)

    def least_times(self, sign: float) -> float | None:
        """Minimise the makespan times 1 or -1; None if the solver finds no optimum."""
        self.set_cost(self._makespan, sign)
        return self.objective if self.solve() else None
