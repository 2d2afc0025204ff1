"""Prices of tasks by what single cores can run: a linear programme over patterns, by column generation.

For offers j with n_j VMs of c_j cores at price p_j a second, a core that runs pattern a for l seconds costs p_j / c_j l
if no core waits for others of its VM. Prices pi_g of the tasks, with gains

    nu_j = max(0, max_a pi a - p_j / c_j l(a)),

are a lower bound of the cost of all plans, pi N - sum_j n_j c_j nu_j, and the best of them are the duals of the linear
programme. Offers on which no task is worth its cost gain nothing, so that their patterns are not listed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...core.quantities import FloatArray, IntArray, rounded_down
from ...instances.entries import RentalOffer
from ...models.bags.core_patterns import OfferPatterns, enumerate_patterns
from .pattern_master import MOST_NEW, PatternMaster


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
