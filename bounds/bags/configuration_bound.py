"""A bound that knows which tasks fit a VM together: the divisible bound with the weightings of `simultaneous_tasks`.

The linear programme of `divisible_bound`, solved over one set of columns for each offer, with rows

    capacity S_k >= sum_i weight_i e_ik x_ik        (for each weighting of offer k)

that are generated where its solution breaks them. What is handed out is not what the solver says: the bound is worked
out again from the duals, which are first made feasible.
"""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np

from ...core.limits import LimitReached, checkpoint
from ...core.quantities import NEARLY, OPTIMALITY_TOLERANCE, FloatArray, IntArray
from ...instances.instance import Instance
from ...models.bags.configurations import ConfigurationBound, Proof
from ...models.bags.simultaneous_tasks import WEIGHT_UNITS, VmRoom, Weighting
from ..programme import MOST_COLUMNS, Programme
from .divisible_bound import divisible_bound
from .divisible_programme import DivisibleProgramme

_MOST_SETS = 60
"""Sets that are generated for a weighting."""

_ROUNDS_WITHOUT_GAIN = 3
_LEAST_GAIN = 1e-5
"""Rounds of cuts in a row that may raise the bound by no more than such a part of it."""


def configuration_bound(instance: Instance) -> ConfigurationBound:
    """Compute the bound of an instance with D_spot set; see the module.

    Too large a bag gets the divisible bound and no cuts, and so does one with machines.
    """
    divisible = divisible_bound(instance)
    too_large = len(instance.tasks) * len(divisible.offers) > MOST_COLUMNS
    if instance.machines or math.isinf(divisible.objective) or too_large:
        return ConfigurationBound(divisible.objective, divisible.makespan_s, {}, ())
    found: list[Proof] = []
    extra: dict[int, list[Weighting]] = {}
    try:
        programme = _Programme(instance, divisible.makespan_s)
        extra = programme.extra
        for prove in (programme.solve_with_cuts, programme.solve_cost_only):
            proof = prove()
            if proof is not None:
                found.append(proof)
    except LimitReached:  # what was proved until then holds
        pass
    values = [proof.value - proof.margin for proof in found]
    weightings = {offer: tuple(cuts) for offer, cuts in extra.items() if cuts}
    return ConfigurationBound(max([divisible.objective, *values]), divisible.makespan_s, weightings, tuple(found))


class _Programme(DivisibleProgramme):
    """The linear programme, and the weightings that were added to it."""

    def __init__(self, instance: Instance, makespan_s: int) -> None:
        ready = instance.boot_overhead_s
        super().__init__(instance, makespan_s - ready, instance.deadline_s - ready)
        self.extra: dict[int, list[Weighting]] = {offer.index: [] for offer in self.offers}
        self.known: dict[tuple[int, int, bytes], list[Weighting]] = {}

    def solve_with_cuts(self) -> Proof | None:
        """Add the strongest weightings until the solution keeps them all, or is hardly raised by them any more."""
        rooms = [VmRoom.of(self.instance, offer.index, self.able[:, k]) for k, offer in enumerate(self.offers)]
        proof, raised, rounds_left = None, -math.inf, _ROUNDS_WITHOUT_GAIN
        with suppress(LimitReached):  # the proof of the last round holds
            while rounds_left and self.solve():
                proof, rounds_left = self._proof(), rounds_left - 1
                if proof.value > raised + _LEAST_GAIN * abs(proof.value):
                    raised, rounds_left = proof.value, _ROUNDS_WITHOUT_GAIN
                values = self.values
                added = [self._separate(k, rooms[k], values) for k in range(len(self.offers))]
                if not any(added):
                    break
        return proof

    def _separate(self, k: int, room: VmRoom, values: FloatArray) -> bool:
        """Add the weighting of an offer that the solution breaks most; whether there is one."""
        checkpoint()
        offer = self.offers[k]
        if offer.burstable or room.memory_never_binds():
            return False
        first = self.column(k, 0)
        work, most_s = values[first : first + len(self.counts)] * self.work[:, k], float(values[1 + k])
        # What holds for VMs of one market, or zone, holds for all of their size: another one is looked for only where
        # none of those that are known is broken.
        alike = self.known.setdefault((room.vcpus, room.memory_kb, room.copies.tobytes()), [])
        broken = [one for one in alike if _breaks(work, one, most_s)]
        found = max(broken, key=lambda one: work @ one.weights / one.capacity) if broken else None
        if found is None:
            found = strongest_weighting(room, work)
            if found is None or not _breaks(work, found, most_s):
                return False
            alike.append(found)
        self.add_cut(k, found.weights / found.capacity, 1.0)
        self.extra[offer.index].append(found)
        return True

    def solve_cost_only(self) -> Proof | None:
        """Least cost whatever the makespan: it says how late a good plan may end."""
        self.set_cost(0, 0.0)
        return self._proof() if self.solve() else None

    def _proof(self) -> Proof:
        """Lagrangian of the duals, made feasible: no VM second may be worth more than it costs."""
        duals = np.maximum(self.duals, 0.0)
        n_groups, n_offers = len(self.counts), len(self.offers)
        of_time = duals[n_groups : n_groups + len(self.time_rows)]
        of_cuts = duals[n_groups + len(self.time_rows) :]
        total = self.price.copy()
        for (weights, _), value in zip(self.time_rows, of_time, strict=True):
            total += weights * value
        worth = np.zeros(n_offers)
        for (k, _, capacity), value in zip(self.cuts, of_cuts, strict=True):
            worth[k] += value * capacity
        shrink = np.where(worth > total, total / np.where(worth > 0, worth, 1.0), 1.0)
        prices = np.zeros((n_groups, n_offers))
        for (k, weights, _), value in zip(self.cuts, of_cuts, strict=True):
            prices[:, k] += value * shrink[k] * weights * self.work[:, k]
        prices = np.where(self.able, prices, np.inf)
        used_up = sum(value * number for (_, number), value in zip(self.time_rows, of_time, strict=True))
        # The proof is one of the whole objective, also if the multipliers come from the cost alone.
        slope = self.time_weight - used_up
        moment = self.least_s if slope >= 0 else self.most_s
        tasks = float(self.counts @ prices.min(axis=1))
        value = tasks + slope * moment + self.time_weight * self.ready
        margin = OPTIMALITY_TOLERANCE * (tasks + (self.time_weight + used_up) * moment + self.time_weight * self.ready)
        offers = np.array([offer.index for offer in self.offers], dtype=np.int64)
        return Proof(value, margin, slope, offers, prices)


def _breaks(work: FloatArray, weighting: Weighting, most_s: float) -> bool:
    """True if some work is more than a weighting allows in some seconds of VMs."""
    # A row that is broken by no more than the tolerance of the solver would be added again and again.
    return bool(work @ weighting.weights > weighting.capacity * most_s * (1 + NEARLY) + 1e-9)


def strongest_weighting(room: VmRoom, work: FloatArray) -> Weighting | None:
    """Weights of the VM under which some work weighs most.

    The linear programme ``max work @ w, w(set) <= 1 for every set that fits``; the sets are generated.

    Parameters
    ----------
    room : VmRoom
        The VM.
    work : array, shape (n_groups,)
        Seconds of work of each group, in parts of tasks.

    Returns
    -------
    Weighting or None
        None if there is no work, or too much to look at.
    """
    groups = np.flatnonzero((work > 1e-9) & (room.copies > 0))
    if not len(groups) or room.too_large():
        return None
    programme = Programme()
    programme.add_columns(-work[groups], upper=1.0)
    columns = np.arange(len(groups))
    weights = np.zeros(len(work), dtype=np.int64)
    for _ in range(_MOST_SETS):
        if not programme.solve():
            return None
        solution = programme.values
        weights[groups] = np.floor(np.clip(solution, 0.0, 1.0) * WEIGHT_UNITS + 1e-6).astype(np.int64)
        heaviest = room.heaviest_set(weights)
        if int(weights @ heaviest) <= WEIGHT_UNITS:
            break
        programme.add_row(columns, heaviest[groups], upper=1.0)
    return _lifted(room, weights)


def _lifted(room: VmRoom, weights: IntArray) -> Weighting:
    """Give tasks without weight what they can have: as much as the lightest one that needs no more memory."""
    order = np.argsort(room.need_kb, kind="stable")
    lifted = weights.copy()
    highest = 0
    for group in order.tolist():
        if room.copies[group] > 0:
            highest = max(highest, int(weights[group]))
            lifted[group] = highest
    plain, more = room.weighting(weights), room.weighting(lifted)
    return more if more.capacity <= plain.capacity else plain
