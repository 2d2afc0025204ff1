"""Sets of tasks that can run on a VM together, as weights: cuts that see more of its memory than kilobyte-seconds.

If every set of tasks that fits a VM at one instant (by cores and by memory) weighs at most W, then in a VM time of S
seconds the tasks that it ran, each weighing w for its duration e, have ``sum w e <= W S``. Weights of 1 and W = cores
say what the cores can do, weights of the memory need and W = memory what the memory can do; both are weak together:
three tasks of 1.5 GB leave a VM of two cores and 4 GB idle in a way that neither sees. The strongest weights are the
duals of the fractional cover by such sets (the configuration linear programme of Gilmore and Gomory, 1961; with weights
that need not come from it, the dual feasible functions of bin packing). Here any weights may be proposed, rounded to
integers: their W is then worked out exactly, so that the cut holds whatever the weights are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...core.capacities import lower_of, slots_of
from ...core.limits import ITERATIONS, checkpoint, count_work
from ...core.quantities import TABLE_BYTES, BoolArray, IntArray
from ...instances.instance import Instance

WEIGHT_UNITS = 360
"""Weights are rounded down to multiples of 1/360 of a VM: all fractions with denominators up to 6 are among them."""


@dataclass(frozen=True, slots=True)
class Weighting:
    """Weights of the tasks on a VM, and the most that tasks running at the same time weigh.

    Attributes
    ----------
    weights : array of int, shape (n_groups,)
        Of a task of each group; 0 for those that cannot run there.
    capacity : int
        Largest weight of a set of tasks that fits the VM at one instant.
    """

    weights: IntArray
    capacity: int


@dataclass(frozen=True, slots=True)
class VmRoom:
    """A VM at one instant, and the tasks that could be on it.

    Attributes
    ----------
    vcpus, memory_kb : int
        Of the VM.
    need_kb, slots, copies : array of int, shape (n_groups,)
        Memory and cores of a task of each group, and how many of them may be on the VM; 0 copies if they cannot run
        there.
    """

    vcpus: int
    memory_kb: int
    need_kb: IntArray
    slots: IntArray
    copies: IntArray

    @classmethod
    def of(cls, instance: Instance, offer_index: int, usable: BoolArray) -> VmRoom:
        """A VM of an offer, and the groups that may use it, shape (n_groups,)."""
        offer = instance.offers[offer_index]
        copies, need = np.where(usable, instance.open_size, 0), instance.memory_kb
        return cls(offer.vcpus, lower_of(offer.memory_kb), lower_of(need), slots_of(need), copies)

    def one_at_a_time(self) -> bool:
        """True if no two tasks can ever run together."""
        smallest = [np.sort(np.repeat(of, np.minimum(self.copies, 2)))[:2] for of in (self.need_kb, self.slots)]
        short = (sum(of.tolist()) > most for of, most in zip(smallest, (self.memory_kb, self.vcpus), strict=True))
        return len(smallest[0]) < 2 or any(short)

    def memory_never_binds(self) -> bool:
        """True if the largest tasks fit, as many as there are cores."""
        return self._all_fit(self.need_kb, self.memory_kb) and self._all_fit(self.slots, self.vcpus)

    def _all_fit(self, needs: IntArray, size: int) -> bool:
        largest = np.sort(np.repeat(needs, np.minimum(self.copies, self.vcpus)))[::-1][: self.vcpus]
        return int(largest.sum()) <= size

    def heaviest_set(self, weights: IntArray) -> IntArray:
        """Find the tasks that fit together and weigh most, by dynamic programming over cores and weight.

        Parameters
        ----------
        weights : array of int, shape (n_groups,)
            Small nonnegative integers.

        Returns
        -------
        array of int, shape (n_groups,)
            How many tasks of each group.
        """
        groups = [int(g) for g in np.flatnonzero((self.copies > 0) & (weights > 0))]
        top = np.sort(np.repeat(weights[groups], np.minimum(self.copies[groups], self.vcpus)))[::-1]
        most = int(top[: self.vcpus].sum())
        # least[cores, weight]: least memory of tasks of so many cores and that weight together.
        least = np.full((self.vcpus + 1, most + 1), np.inf)
        least[0, 0] = 0.0
        stages: list[tuple[int, npt.NDArray[np.uint16]]] = []
        for group in groups:
            checkpoint()
            weight, need, slots = int(weights[group]), float(self.need_kb[group]), int(self.slots[group])
            new, taken = least.copy(), np.zeros(least.shape, dtype=np.uint16)
            numbers = range(1, min(int(self.copies[group]), self.vcpus // slots) + 1)
            count_work(ITERATIONS.knapsack_entry * least.size * (1 + len(numbers)))
            for number in numbers:
                if number * weight > most:
                    break
                reached = least[: -number * slots, : most + 1 - number * weight] + number * need
                target = new[number * slots :, number * weight :]
                # Of all sets with these cores and this weight, the one with the least memory leaves room for all that
                # any other does.
                better = (reached < target) & (reached <= self.memory_kb)
                target[better] = reached[better]
                taken[number * slots :, number * weight :][better] = number
            stages.append((group, taken))
            least = new
        best_weight = int(np.flatnonzero(np.isfinite(least).any(axis=0))[-1])
        cores, weight = int(np.flatnonzero(np.isfinite(least[:, best_weight]))[0]), best_weight
        result = np.zeros(len(self.copies), dtype=np.int64)
        for group, taken in reversed(stages):
            number = int(taken[cores, weight])
            result[group] = number
            cores, weight = cores - number * int(self.slots[group]), weight - number * int(weights[group])
        return result

    def weighting(self, weights: IntArray) -> Weighting:
        """Return some weights with the most that fits of them."""
        weights = np.where(self.copies > 0, weights, 0)
        return Weighting(weights, int(weights @ self.heaviest_set(weights)))

    def too_large(self) -> bool:
        """True if the dynamic programme would need too much memory."""
        return int((self.copies > 0).sum()) * (self.vcpus + 1) * WEIGHT_UNITS * 2 > TABLE_BYTES // 8
