"""A bound of the makespan where it alone counts: tasks may be cut, but a core has no more of them than fit it.

For cores of offer k, n_k in all, the least T with

    sum_k x_gk = n_g                                (the parts of tasks of group g)
    sum_g e_gk x_gk <= n_k T                        (seconds)
    sum_g x_gk <= n_k N_k(T)                        (the most tasks that end on one core by T: the shortest)

is a linear programme for each N(T). Its multipliers pi of the groups say more than its value: with G_k(T) the most that
a core can gain by them until T, which is a knapsack, no plan of whole tasks ends by a T with

    sum_g pi_g n_g > sum_k n_k G_k(T).

The last T is looked for that the multipliers of its programme refute: then no plan ends before it either. Gains are
worked out in whole numbers, so that whatever the programme misses, the bound stays a bound.
"""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np

from ...core.errors import ModelRefusal
from ...core.limits import LimitReached, checkpoint
from ...core.quantities import NEARLY, TABLE_BYTES, IntArray, rounded_down
from ...instances.entries import FULL_SPEED, RentalOffer
from ...instances.instance import Instance
from ...models.bags.task_classes import usable_offers
from ...schedules.timing import objective_weights
from ..programme import Programme
from .divisible_bound import divisible_bound

_MOST_COLUMNS = 40_000
"""Pairs of a group and an offer beyond which the programme would take seconds."""
_UNIT = 2**32
"""Whole number that stands for the largest multiplier."""


def counted_bound(instance: Instance) -> float:
    """Compute the bound of an instance with D_spot set; see the module.

    Raises
    ------
    ModelRefusal
        If the cost counts too, tasks have different numbers of cores, VMs exist already or are burstable, or the bag
        is too large.
    """
    offers = usable_offers(instance)
    cost_weight, time_weight = objective_weights(instance)
    if cost_weight or instance.machines or instance.slots.shared or any(offer.burstable for offer in offers):
        raise ModelRefusal("the bound by counts is of the makespan alone, for tasks of one core on new, steady VMs")
    n_items = sum(number.bit_length() for number in instance.open_size.tolist())
    n_pairs, n_entries = len(instance.open_size) * len(offers), n_items * (instance.deadline_s + 1)
    if n_pairs > _MOST_COLUMNS or n_entries > TABLE_BYTES:
        raise ModelRefusal("the bag has too many tasks, or too many seconds, for the bound by counts")
    known = divisible_bound(instance)
    if math.isinf(known.objective):
        return known.objective
    cores = _Cores(instance, offers)
    # No plan ends by a moment that is refuted, and so none before it: steps double up to the first that is not, and
    # then the middle of what is left is asked.
    refuted_s = max(known.makespan_s, math.ceil(known.objective / time_weight * (1 - NEARLY))) - 1
    open_s, step_s = instance.deadline_s + 1, 1
    with suppress(LimitReached):  # then what was proved until then
        while refuted_s + 1 < open_s:
            end_s = (refuted_s + open_s) // 2 if open_s <= instance.deadline_s else min(refuted_s + step_s, open_s - 1)
            if cores.cannot_end_by(end_s):
                refuted_s, step_s = end_s, 2 * step_s
            else:
                open_s = end_s
    if refuted_s >= instance.deadline_s:
        return math.inf
    least = time_weight * (refuted_s + 1)
    return max(known.objective, rounded_down(least, least))


class _Cores:
    """All cores of each offer, and the programme of what they run.

    Parameters
    ----------
    instance, offers
        The bag, and the offers on which some task has time.

    Attributes
    ----------
    size : array of int, shape (n_groups,)
        Tasks of each group.
    seconds : array of int, shape (n_offers, n_groups)
        Time that a task takes.
    number, ready_s, limit_s : array of int, shape (n_offers,)
        Cores of each offer, and from when until when they can run tasks.
    """

    def __init__(self, instance: Instance, offers: list[RentalOffer]) -> None:
        index = [offer.index for offer in offers]
        groups = np.flatnonzero(instance.open_size)
        self.size = instance.open_size[groups]
        self.seconds = np.ascontiguousarray(instance.duration_s[groups][:, index, FULL_SPEED].T)
        self.number = np.array([offer.vcpus * min(offer.limit, instance.n_tasks) for offer in offers])
        self.ready_s = instance.ready_s[index]
        self.limit_s = np.array([instance.time_limit_s(offer.market) for offer in offers])
        n_offers, n_groups = self.seconds.shape
        offer, group = np.nonzero(self.seconds <= (self.limit_s - self.ready_s)[:, None])
        n_parts, most_s = len(group), float(instance.deadline_s)
        part, of_offers = np.arange(n_parts), np.arange(n_offers)
        self.programme = Programme(most_s)
        # Columns: part of a group on an offer; the makespan; what is not run, so that there is always a solution.
        self.programme.add_columns(np.r_[np.zeros(n_parts), 1.0, np.full(n_groups, most_s)])
        columns = [part, part, part, np.full(n_offers, n_parts), n_parts + 1 + np.arange(n_groups)]
        # Rows: all parts of a group; seconds of the cores of an offer; tasks on them, at most as many as are set later.
        rows = [group, n_groups + offer, n_groups + n_offers + offer, n_groups + of_offers, np.arange(n_groups)]
        ones = np.ones(n_parts)
        values = [
            ones,
            self.seconds[offer, group] / self.number[offer],
            ones,
            np.full(n_offers, -1.0),
            np.ones(n_groups),
        ]
        lower = np.r_[self.size, np.full(2 * n_offers, -np.inf)]
        upper = np.r_[self.size, -self.ready_s, np.full(n_offers, np.inf)]
        self.programme.add_rows(lower, upper, np.concatenate(rows), np.concatenate(columns), np.concatenate(values))

    def cannot_end_by(self, end_s: int) -> bool:
        """True if the multipliers of the programme of a moment prove that no plan ends by it."""
        first_row = len(self.size) + len(self.number)
        for row, most in enumerate((self.most_tasks(end_s) * self.number).tolist(), first_row):
            self.programme.set_row_bounds(row, -np.inf, most)
        if not self.programme.solve():
            return False
        duals = np.maximum(self.programme.duals[: len(self.size)], 0.0)
        worth = np.floor(duals / max(float(duals.max()), NEARLY) * _UNIT).astype(np.int64)
        from .core_knapsack_kernel import knapsack  # what loads a compiler, which few bags ask for

        gained = 0
        of_offers = zip(self.seconds, self.number.tolist(), self.left_s(end_s).tolist(), strict=True)
        for seconds, number, left_s in of_offers:
            checkpoint()
            gained += number * int(knapsack(worth, seconds, self.size, left_s).best[-1])
        return gained < int(worth @ self.size)

    def left_s(self, end_s: int) -> IntArray:
        """Return the seconds that a core of each offer has for tasks until a moment."""
        seconds: IntArray = np.maximum(np.minimum(end_s, self.limit_s) - self.ready_s, 0)
        return seconds

    def most_tasks(self, end_s: int) -> IntArray:
        """Return the most tasks that one core of each offer ends by a moment: the shortest ones."""
        most = []
        for seconds, left_s in zip(self.seconds, self.left_s(end_s).tolist(), strict=True):
            able = np.flatnonzero(seconds <= left_s)
            order = able[np.argsort(seconds[able], kind="stable")]
            ends_s = np.cumsum(np.repeat(seconds[order], self.size[order]))
            most.append(np.searchsorted(ends_s, left_s, side="right"))
        return np.array(most)
