"""Column generation: a master problem over patterns of tasks, which grows by those that gain at its duals.

By the patterns that single cores can run, its prices of tasks are a bound (`best_core_prices`). For offers j with n_j
VMs of c_j cores at price p_j a second, a core that runs pattern a for l seconds costs p_j / c_j l if no core waits for
others of its VM. Prices pi_g of the tasks, with gains

    nu_j = max(0, max_a pi a - p_j / c_j l(a)),

are a lower bound of the cost of all plans, pi N - sum_j n_j c_j nu_j, and the best of them are the duals of the linear
programme. Offers on which no task is worth its cost gain nothing, so that their patterns are not listed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...core.errors import ModelRefusal
from ...core.limits import checkpoint
from ...core.quantities import STEPWISE_ROUNDING, FloatArray, IntArray, rounded_down
from ...instances.entries import RentalOffer
from ...models.bags.core_patterns import OfferPatterns, enumerate_patterns
from ..programme import Programme

MOST_NEW = 12
"""Patterns of an offer that are added in a round."""

_MOST_ROUNDS = 300
_SMOOTHING = 0.5
"""Weight of the best multipliers so far: those of the last solution by themselves jump about."""


class PatternMaster(Programme):
    """Least cost of running all tasks over fractions of patterns: sets of tasks that a core, or a VM, can run.

    Rows: tasks of each class, at least all of them; then limits, such as on the cores of each offer and the
    VMs of each limited group; then those that are added. Columns: first, for each class, tasks that no pattern runs.

    Parameters
    ----------
    size : array of int, shape (n_classes,)
        Tasks of each class.
    most : sequence of float
        Right sides of the rows of limits.
    worst : float
        About what the objective is, above 0.
    dear : float
        Cost of a task that no pattern runs: more than any plan is worth.
    primal : bool
        See `Programme`.

    Attributes
    ----------
    least_gain : float
        What a pattern must gain above what is known, to be worth a column.
    """

    def __init__(
        self, size: IntArray, most: Sequence[float], worst: float, dear: float, *, primal: bool = False
    ) -> None:
        super().__init__(worst, primal=primal)
        self.size = size
        self.least_gain = STEPWISE_ROUNDING * worst
        self._signs = np.r_[np.ones(len(size)), -np.ones(len(most))]
        for number in size.tolist():
            self.add_row(lower=number)
        for limit in most:
            self.add_row(upper=limit)
        for index in range(len(size)):
            self.add_column(dear, [index], [1.0])

    def add_pattern(
        self, cost: float, counts: IntArray, rows: Sequence[int] = (), values: Sequence[float] = ()
    ) -> None:
        """Add the column of a pattern: its tasks of each class, and its entries in other rows."""
        nonzero = np.flatnonzero(counts)
        self.add_column(cost, np.r_[nonzero, np.array(rows, dtype=np.int64)], np.r_[counts[nonzero], values])

    @property
    def multipliers(self) -> FloatArray:
        """Duals of the last solution, all of which are at least 0; of rows that were added, with a lower bound."""
        duals = self.duals
        duals[: len(self._signs)] *= self._signs
        return np.maximum(duals, 0.0)

    def generate(
        self,
        price: Callable[[FloatArray, FloatArray], tuple[float, bool]],
        centre: FloatArray,
        done: Callable[[], bool],
        best: float = -math.inf,
    ) -> FloatArray:
        """Solve, and add patterns, until none gains or what is proved is enough; return the best multipliers.

        Parameters
        ----------
        price : callable
            Says for multipliers, and beside them all those of the last solution, what they prove, and adds patterns
            that gain by them; returns whether there are any.
        centre : array of float
            The best multipliers that are known, of all rows or of the first ones.
        done : callable
            Whether what is proved is enough, after each round.
        best : float
            What they prove.

        Raises
        ------
        ModelRefusal
            If the linear programme is not solved.
        """
        for _ in range(_MOST_ROUNDS):
            checkpoint()
            if not self.solve():
                raise ModelRefusal("a linear programme over patterns of tasks was not solved")
            multipliers, added = self.multipliers, False
            # Smoothed multipliers (Wentges, 1997) first; if no pattern gains by them, the last solution's own, as
            # only if none gains by these is there nothing left to be found.
            for weight in (_SMOOTHING, 0.0):
                between = weight * centre + (1 - weight) * multipliers[: len(centre)]
                value, added = price(between, multipliers)
                if value > best:
                    best, centre = value, between
                if added:
                    break
            if not added or done():
                break
        return centre


@dataclass(slots=True)
class OfferCores:
    """Patterns of the cores of an offer.

    Attributes
    ----------
    offer : RentalOffer
        The offer.
    seconds : array of int, shape (n_classes,)
        Duration of a task of each class.
    size : array of int, shape (n_classes,)
        Tasks of each class.
    most_s : int
        Latest end, from ready.
    price : float
        Of a second of a VM, in units of the objective.
    vms : int
        Most VMs.
    model : str
        Name of the model in messages.
    """

    offer: RentalOffer
    seconds: IntArray
    size: IntArray
    most_s: int
    price: float
    vms: int
    model: str
    _all: OfferPatterns | None = field(default=None, repr=False)

    @property
    def rate(self) -> float:
        """Price of a second of a core."""
        return self.price / self.offer.vcpus

    @property
    def able(self) -> IntArray:
        """Classes whose tasks can run, as indices."""
        return np.flatnonzero(self.seconds <= self.most_s)

    def losses(self, prices: FloatArray) -> FloatArray:
        """Cost of a task of each class here above its price; infinite where it cannot run."""
        return np.where(self.seconds <= self.most_s, self.rate * self.seconds - prices, np.inf)

    def patterns(self) -> OfferPatterns:
        """List all patterns.

        Raises
        ------
        ModelRefusal
            If there are too many.
        """
        if self._all is None:
            self._all = enumerate_patterns(self.seconds, self.size, self.most_s, self.offer, self.model)
        return self._all

    def cheap_patterns(self, prices: FloatArray, gain: float, slack: float) -> OfferPatterns:
        """List the patterns whose cost above prices and gain is at most a slack.

        Parameters
        ----------
        prices : array of float, shape (n_classes,)
            Prices of the tasks.
        gain : float
            What a core of the offer gains at most.
        slack : float
            The slack.
        """
        losses = self.losses(prices)[self.able]
        if (losses >= 0).all():
            whole = np.zeros(len(self.seconds))
            whole[self.able] = losses
            arguments = self.seconds, self.size, self.most_s, self.offer, self.model
            listed = enumerate_patterns(*arguments, whole, slack - gain)
        else:
            listed = self.patterns()
        lost = self.rate * listed.load_s + gain - listed.counts @ prices
        kept = np.flatnonzero(lost <= slack)
        return OfferPatterns(self.offer, listed.counts[kept], listed.load_s[kept])


@dataclass(frozen=True, slots=True)
class CorePrices:
    """Prices, and the bound that they prove.

    Attributes
    ----------
    of_tasks : array of float, shape (n_classes,)
        The prices pi.
    gains : array of float, shape (n_offers,)
        The gains nu of a core.
    bound : float
        Lower bound of the cost of all plans, less what rounding may have added.
    size : float
        Size of the terms of the bound, which rounding is relative to.
    """

    of_tasks: FloatArray
    gains: FloatArray
    bound: float
    size: float


def best_core_prices(offers: list[OfferCores], size: IntArray, worst: float) -> CorePrices:
    """Find the prices with about the best bound; whatever they are, they are valid.

    Parameters
    ----------
    offers : list of OfferCores
        The offers.
    size : array of int, shape (n_classes,)
        Tasks of each class.
    worst : float
        Cost that no plan exceeds, above 0. A larger bound says that there is no plan.

    Raises
    ------
    ModelRefusal
        If an offer has too many patterns, or the linear programme fails.
    """
    master = _Master(offers, size, worst)
    master.generate(master.price, np.zeros(master.n_rows), lambda: False)
    assert master.best is not None, "there was a round"
    return master.best


class _Master(PatternMaster):
    """The master problem: rows of classes and of offers."""

    def __init__(self, offers: list[OfferCores], size: IntArray, worst: float) -> None:
        self._offers = offers
        self._cores = np.array([offer.vms * offer.offer.vcpus for offer in offers], dtype=float)
        self.best: CorePrices | None = None
        super().__init__(size, self._cores.tolist(), worst, 2 * worst)
        for k, offer in enumerate(offers):  # to begin with, as many tasks of one class as a core can run
            for index in offer.able.tolist():
                counts = np.zeros(len(size), dtype=np.int64)
                counts[index] = min(offer.most_s // int(offer.seconds[index]), int(size[index]))
                self._add(k, counts)

    def _add(self, k: int, counts: IntArray) -> None:
        """Add the column of a pattern of an offer."""
        offer, nonzero = self._offers[k], np.flatnonzero(counts)
        cost = offer.rate * float(counts[nonzero] @ offer.seconds[nonzero])
        self.add_pattern(cost, counts, [len(self.size) + k], [1.0])

    def price(self, multipliers: FloatArray, _: FloatArray) -> tuple[float, bool]:
        """Evaluate the bound, and add patterns that gain more than is known; say whether there are any."""
        prices, known = multipliers[: len(self.size)], multipliers[len(self.size) :]
        gains, added = np.zeros(len(self._offers)), False
        for k, offer in enumerate(self._offers):
            if not (offer.losses(prices) < 0).any():
                continue
            patterns = offer.patterns()
            gain = patterns.counts @ prices - offer.rate * patterns.load_s
            gains[k] = max(float(gain.max(initial=0.0)), 0.0)
            least = float(known[k]) + self.least_gain
            if gains[k] > least:
                added = True
                many = min(MOST_NEW, len(gain))
                for row in np.argpartition(-gain, many - 1)[:many].tolist():
                    if gain[row] > least:
                        self._add(k, patterns.counts[row])
        worth, most = float(prices @ self.size), float(gains @ self._cores)
        found = CorePrices(prices, gains, rounded_down(worth - most, worth + most), worth + most)
        if self.best is None or found.bound > self.best.bound:
            self.best = found
        return found.bound, added
