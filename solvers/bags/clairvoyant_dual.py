"""The Lagrangian dual of the clairvoyant bound on one day; see `clairvoyant_bound` for what it is the dual of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...bounds.programme import MOST_CUTS, TOLERANCE, Programme
from ...core.quantities import STEPWISE_ROUNDING, BoolArray, FloatArray
from ...models.bags.clairvoyant_kernel import Checkpoints, do_cheapest
from ...models.bags.rentable_time import RentableTime

_ROUGH = 1e-4
"""The search with checkpoints as a share of the work, which only comes before another, ends when the planes leave no
more than this to gain, relative to the bound."""

_LOOKS, _LEAST_LOOKS = 2000, 3
"""Groups that are looked at with checkpoints counted, and how often all of them are at least."""

_FIRST_BOX, _LAST_BOX, _PRICELESS = 3.0, 1e9, 1e4
"""Largest multipliers, relative to the dearest VM: first; when the search gives up; where prices hardly matter."""

_SIZE = 100.0
"""The tolerances of the solver are absolute: the master programme sees values of about this size."""


@dataclass(frozen=True, slots=True)
class Work:
    """Work that has to be done, and its needs, on any day.

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
        work = self.work
        per_s = float(work.prices.max()) or 1.0  # a scale: on a day on which VMs cost nothing any will do
        dear = np.zeros(self.size)
        dear[: self.n_columns] = per_s
        per_usd = _SIZE / self.demand(dear, counted=False)[0]
        scale = per_s * per_usd
        parts = np.zeros((len(work.memory_columns), self.size))
        rows = np.arange(len(parts))
        parts[rows, work.memory_columns] = 1.0
        parts[rows, self.n_columns + rows] = -1.0
        master = Master(
            self.supply_s * scale, parts, -work.prices[list(work.memory_columns)] / per_s, bool(work.groups)
        )
        theta, best, best_theta = np.zeros(self.size), -math.inf, np.zeros(self.size)
        master.set_box(box)
        # To count checkpoints takes long: first they are a share of the work.
        counted = not work.checkpoints.dump_s.any()
        raises = False
        looks = MOST_CUTS if counted else max(_LOOKS // len(work.counts), _LEAST_LOOKS)
        for _ in range(MOST_CUTS):
            demand, slope = self.demand(theta * per_s, counted=counted)
            master.add_work(demand * per_usd - float(slope @ theta) * scale, slope * scale)
            value = demand - float(self.supply_s @ theta) * per_s
            if work.groups:
                worth, used_s = self.limited(theta * per_s)
                master.add_worth(used_s * scale)
                value -= worth
            if raises:
                raises = False
                master.raise_work((value - best) * per_usd)
            if value > best:
                best, best_theta = value, theta
                if best > enough:
                    break
            found = master.best()
            if found is None:
                break
            limit, theta = found
            if counted:
                looks -= 1
                if looks <= 0:
                    break
            if limit - best * per_usd > (TOLERANCE if counted else _ROUGH) * abs(limit):
                continue
            if best_theta.max() >= 0.99 * box and box < last_box:
                box *= 100.0
                master.set_box(box)
            elif not counted:
                counted, raises, theta = True, True, best_theta
                continue
            elif not master.forget_raised():
                break
            found = master.best()
            if found is None:
                break
            theta = found[1]
        return best_theta * per_s


class Master(Programme):
    """Maximise ``f - supply @ theta - c`` over multipliers in a box, under planes above the work and below the limits.

    Parameters
    ----------
    supply : array of float, shape (n,)
        Seconds that multipliers take from the value whatever they are.
    parts, offsets : array of float, shape (m, n) and (m,)
        ``parts @ theta >= offsets`` holds.
    limited : bool
        Whether there are limits of groups, whose worth c is at least 0; without them c is 0.

    Notes
    -----
    Variables: the multipliers, f, c.
    """

    def __init__(self, supply: FloatArray, parts: FloatArray, offsets: FloatArray, limited: bool) -> None:
        super().__init__(presolve=False)
        self.n = len(supply)
        self.work_rows: list[tuple[int, float]] = []
        self.raised: list[int] = []
        self.add_columns(supply)
        self.add_column(-1.0, lower=-np.inf)
        self.add_column(1.0, upper=np.inf if limited else 0.0)
        self._variables = np.arange(self.n + 2)
        for part, offset in zip(parts, offsets.tolist(), strict=True):
            self.add_row(self._variables[: self.n], part, lower=offset)

    def set_box(self, box: float) -> None:
        """Set the upper limit of the multipliers."""
        self.set_bounds(np.zeros(self.n), np.full(self.n, box))

    def add_work(self, constant: float, slope: FloatArray) -> None:
        """Add the cut by which the work is worth no more than ``constant + slope @ theta``."""
        self.work_rows.append((self.n_rows, constant))
        self.add_row(self._variables, np.r_[-slope, 1.0, 0.0], upper=constant)

    def add_worth(self, slope: FloatArray) -> None:
        """Add the cut by which the limited seconds are worth no less than ``slope @ theta``."""
        self.add_row(self._variables, np.r_[-slope, 0.0, 1.0], lower=0.0)

    def raise_work(self, by: float) -> None:
        """Raise all planes above the work but the last: those of something less, near which the work may be."""
        for row, constant in self.work_rows[:-1]:
            self.set_row_bounds(row, -np.inf, constant + by)
            self.raised.append(row)

    def forget_raised(self) -> bool:
        """Leave out the planes that were raised; return whether there were any."""
        for row in self.raised:
            self.set_row_bounds(row, -np.inf, np.inf)
        there_were = bool(self.raised)
        self.raised = []
        return there_were

    def best(self) -> tuple[float, FloatArray] | None:
        """Return the value of the master programme and its multipliers; None if the solver fails."""
        if not self.solve():
            return None
        return -self.objective, np.maximum(self.values[: self.n], 0.0)
