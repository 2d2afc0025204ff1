"""The Lagrangian dual of the clairvoyant bound on one day; see `clairvoyant_bound` for what it is the dual of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...bounds.programme import TOLERANCE, LinearRows, maximise_concave, maximise_in_boxes
from ...core.quantities import STEPWISE_ROUNDING, BoolArray, FloatArray
from ...models.bags.clairvoyant_kernel import Checkpoints, do_cheapest
from ...models.bags.rentable_time import RentableTime

_MANY_GROUPS, _LOOKS = 500, 4
"""Groups from which on the search takes checkpoints for a share of the work, and how often it counts them at last."""

_FIRST_BOX, _LAST_BOX, _PRICELESS = 3.0, 1e9, 1e4
"""Largest multipliers, relative to the dearest VM: first; when the search gives up; where prices hardly matter."""

_SIZE = 100.0
"""The tolerances of the solver are absolute: the master programme sees values of about this size."""


@dataclass(frozen=True, slots=True)
class Work:
    """Work to be done on any day, and its needs.

    Attributes
    ----------
    counts : array of float, shape (n_groups,)
        Tasks of each group of tasks that are alike.
    needs : array of float, shape (2, n_groups)
        Cores of one of them, and its memory.
    able, work_s : array of bool and float, shape (n_groups, n_columns)
        Where they can run, and the core seconds of one there, without checkpoints.
    checkpoints : Checkpoints
        What has to be written of tasks that are cut.
    prices, limits, cores, sizes_kb : array of float, shape (n_columns,)
        Of the VMs of each column: price of a second, most at the same time, cores, memory.
    memory_columns : array of int, shape (n_memory,)
        Columns on which memory may bind.
    groups : sequence of (array of float of shape (n_columns,), float)
        Weights of VMs in each limit of several offers that matters, and the most that they weigh together.
    """

    counts: FloatArray
    needs: FloatArray
    able: BoolArray
    work_s: FloatArray
    checkpoints: Checkpoints
    prices: FloatArray
    limits: FloatArray
    cores: FloatArray
    sizes_kb: FloatArray
    memory_columns: Sequence[int]
    groups: Sequence[tuple[FloatArray, float]]


class Dual:
    """The dual of a day.

    Parameters
    ----------
    work : Work
        What has to be done.
    time : RentableTime
        When VMs can work.
    shares : array of float, shape (n_groups, n_columns)
        Most of a task that each column can do; every task can be done.
    up_s : array of float, shape (n_columns,)
        Seconds that a task can be on each column.

    Notes
    -----
    Multipliers theta, in $ per second: one for the VM seconds of each column; then, for each memory that may bind, the
    part of the price of a VM second that it bears.
    """

    def __init__(self, work: Work, time: RentableTime, shares: FloatArray, up_s: FloatArray) -> None:
        self.work = work
        self.time = time
        self.shares = shares
        self.up_s = up_s
        self.n_columns = len(work.prices)
        self.size = self.n_columns + len(work.memory_columns)
        limited = np.zeros(self.n_columns, dtype=bool)
        for weights, _ in work.groups:
            limited |= weights > 0
        self.supply_s = np.zeros(self.size)
        self.supply_s[: self.n_columns] = np.where(limited, 0.0, work.limits * time.up_s)

    def demand(self, theta: FloatArray, free: bool = False, counted: bool = True) -> tuple[float, FloatArray]:
        """F: what all tasks cost, and its supergradient.

        With ``free`` VMs cost no more than the multipliers; checkpoints that are not ``counted`` are a share of the
        work, and F is less.
        """
        work = self.work
        total = theta[: self.n_columns] if free else work.prices + theta[: self.n_columns]
        for_memory = np.zeros(self.n_columns)
        for_memory[work.memory_columns] = theta[self.n_columns :]
        for_memory = np.minimum(for_memory, total)
        value, core_s, memory_kb_s = do_cheapest(
            work.counts,
            work.work_s,
            self.shares,
            work.needs,
            work.checkpoints,
            counted,
            self.up_s,
            (total - for_memory) / work.cores,
            for_memory / work.sizes_kb,
        )
        used_s = core_s / work.cores
        return value, np.concatenate([used_s, (memory_kb_s / work.sizes_kb - used_s)[work.memory_columns]])

    def limited(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Greatest worth of the VM seconds of limited groups, and those seconds: VMs dearest for their weight first."""
        used_s = np.zeros(self.size)
        for weights, most in self.work.groups:
            mine = np.flatnonzero(weights)
            ranked = mine[np.argsort(-theta[mine] / weights[mine], kind="stable")]
            need = self.time.up[:, ranked] * (self.work.limits * weights)[ranked]
            taken = np.clip(most - (np.cumsum(need, axis=1) - need), 0.0, need)
            used_s[ranked] = (self.time.span_s @ taken) / weights[ranked]
        return float(theta @ used_s), used_s

    def worth(self, theta: FloatArray) -> float:
        """C: what all VM seconds within the limits are worth."""
        return float(self.supply_s @ theta) + self.limited(theta)[0]

    def proved(self, theta: FloatArray, noise: float) -> float:
        """The bound that multipliers prove, if the work may be less by a fraction ``noise``."""
        return self.demand(theta)[0] * (1 - noise) - self.worth(theta) * (1 + STEPWISE_ROUNDING)

    def scarcity(self) -> float:
        """Least ratio of the time that tasks need to that in which VMs can work, where it is above 1."""
        theta = self._maximise(math.inf, _PRICELESS, _PRICELESS)
        needed, there_is = self.demand(theta, free=True)[0], self.worth(theta)
        return needed / there_is if there_is > 0 else math.inf

    def maximise(self, enough: float) -> FloatArray:
        """Find the best multipliers, or some that prove more than ``enough``."""
        return self._maximise(enough, _FIRST_BOX, _LAST_BOX)

    def _maximise(self, enough: float, box: float, last_box: float) -> FloatArray:
        """Find the best multipliers; to count checkpoints takes long: first they are a share of the work."""
        work = self.work
        per_s = float(work.prices.max()) or 1.0  # a scale: on a day on which VMs cost nothing any will do
        dear = np.zeros(self.size)
        dear[: self.n_columns] = per_s
        per_usd = _SIZE / self.demand(dear, counted=False)[0]
        parts = np.zeros((len(work.memory_columns), self.size))
        rows = np.arange(len(parts))
        parts[rows, work.memory_columns], parts[rows, self.n_columns + rows] = 1.0, -1.0
        supply = LinearRows(np.zeros(1), -self.supply_s[None, :] * per_s * per_usd)
        limits = LinearRows(work.prices[work.memory_columns] / per_s, parts)

        def value(counted: bool, theta: FloatArray) -> tuple[float, FloatArray]:
            demand, slope = self.demand(theta * per_s, counted=counted)
            worth, used_s = self.limited(theta * per_s)
            return (demand - worth) * per_usd, (slope - used_s) * per_s * per_usd

        counted = not work.checkpoints.dump_s.any() or len(work.counts) <= _MANY_GROUPS
        terms = partial(value, counted), supply, limits
        found = maximise_in_boxes(*terms, box, last_box, enough=enough * per_usd)
        if not counted:
            terms = partial(value, True), supply, limits
            found = maximise_concave(*terms, last_box, _LOOKS, TOLERANCE, found.theta)
        return found.theta * per_s
