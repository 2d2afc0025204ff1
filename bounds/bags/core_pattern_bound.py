"""A bound for tasks that are long for the VMs: whole tasks on each core, and memory as a share of the VM.

Every core of offer k runs a pattern, a_g tasks of each class g for l seconds, and its VM is paid for t >= l seconds, of
which each of its c_k cores bears one part in c_k. For a makespan of T seconds from the moment the VMs are ready,

    min wt (T + ready) + wc sum p_k / c_k t         (over the cores in use)
    sum a_g = n_g                                   (tasks of the class)
    sum w_jg e_gk a_g <= sum t / c_k                (for each weighting j of offer k: memory, and `simultaneous_tasks`)
    cores of offer k <= c_k n_k
    sum w_mk cores / c_k <= n_m                     (for each limit m of several offers, of weights w_mk)
    l <= t <= min(T, L_k)

is a relaxation: which cores make a VM, and when each task runs, is left open. On burstable VMs, tasks may be cut: for
S_k seconds of offer k, of which n_k min(T, L_k) are the most,

    sum e_gk x_gk <= cores S_k,   sum w_jg e_gk x_gk <= S_k,   sum e_gk x_gk <= 60 I_k n_k + r_k S_k

with the least work e_gk of a task, I_k initial credits and r_k cores that are sustained. The linear programme is solved
by generating patterns. For multipliers pi of the classes, mu of the weightings and sigma of such limits, the most that
a core can gain until T is a knapsack, which says for all T at once

    value(T) = wt (T + ready) + pi n - sigma n_m - sum_k c_k n_k max(0, gain_k(T) - sigma w_k / c_k)

less what the seconds and the initial credits of burstable VMs are worth above their price, pi being no more than a task
costs there,

and the bound is the least over T of the largest value that any multipliers gave. Values are worked out in whole
numbers, rounded against the bound.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...core.capacities import lower_of, slots_of
from ...core.errors import ModelRefusal
from ...core.limits import LimitReached, checkpoint
from ...core.quantities import NEARLY, TABLE_BYTES, BoolArray, FloatArray, IntArray
from ...instances.entries import FULL_SPEED, NEVER, RentalOffer, binding_limits
from ...instances.instance import Instance
from ...models.bags.configurations import ConfigurationBound
from ...models.bags.task_classes import (
    effective_cores,
    has_more_classes,
    initial_work_s,
    least_usd_per_s,
    least_work_s,
    sustained_cores,
    task_classes,
    usable_offers,
)
from ...schedules.timing import objective_weights
from .divisible_bound import divisible_bound, worst_objective
from .pattern_master import PatternMaster

if TYPE_CHECKING:
    from .core_knapsack_kernel import Knapsack

MOST_CELLS = TABLE_BYTES // 64
"""Classes times offers times seconds beyond which the bound is refused: eight numbers each, and knapsacks that take
long."""

_SCALE_BITS = 40
_LOADS = (1.0, 0.95, 0.85, 0.7, 0.5)
"""Patterns that are added in a round: the best ones up to these shares of the makespan."""


@dataclass(slots=True)
class _Pool:
    """All VMs of an offer, and what a task of each class takes there.

    ``weights`` has a row for each weighting, shape (n_weightings, n_classes), in parts of what the VM can do;
    ``work_s`` is what tasks ask of a core at least, if they may be cut.
    """

    offer: RentalOffer
    seconds: IntArray
    work_s: FloatArray
    weights: FloatArray
    most_s: int
    vms: int
    price: float

    @property
    def able(self) -> BoolArray:
        """Classes whose tasks can run there, as a mask."""
        return np.asarray(self.seconds <= self.most_s)


@dataclass(slots=True)
class _Cores(_Pool):
    """Patterns of the cores of an offer."""

    copies: IntArray
    groups: list[tuple[int, int]]
    """Limits of several offers that a VM counts in, and its weight there."""
    filled: Knapsack = field(init=False, repr=False)

    @property
    def number(self) -> int:
        """Number of cores."""
        return self.vms * self.offer.vcpus

    def gains(self, values: IntArray, most_s: int) -> IntArray:
        """Return the most that tasks of these values are worth on a core, up to each load, shape (most_s + 1,)."""
        from .core_knapsack_kernel import knapsack

        self.filled = knapsack(values, self.seconds, self.copies, most_s)
        return self.filled.best

    def pattern(self, load_s: int) -> IntArray:
        """Return the tasks of each class that the last gains at a load come from."""
        counts = np.zeros(len(self.seconds), dtype=np.int64)
        # From the last item back: whether one is taken holds as far as the items before it say.
        for (kind, part), taken in zip(self.filled.items[::-1], self.filled.taken[::-1], strict=True):
            if taken[load_s]:
                counts[kind] += part
                load_s -= part * int(self.seconds[kind])
        return counts


@dataclass(slots=True)
class _Burstable(_Pool):
    """Patterns of the burstable VMs of an offer, where tasks may be cut."""

    first_row: int = 0
    """Rows: of the cores, of the credits, and of each weighting."""

    @property
    def cores_and_sustained(self) -> tuple[float, float]:
        """Cores of a VM at full speed: at most, and those that its credits keep so for good."""
        return effective_cores(self.offer), sustained_cores(self.offer)

    @property
    def at_start_s(self) -> float:
        """Core seconds of work for which the initial credits of all VMs are good."""
        return self.vms * initial_work_s(self.offer)


def core_pattern_bound(instance: Instance, configurations: ConfigurationBound, at_most: float = math.inf) -> float:
    """Compute the bound of an instance with D_spot set; see the module.

    Parameters
    ----------
    instance : Instance
        Without machines.
    configurations : ConfigurationBound
        Its weightings are used, and its bound is the least that is returned.
    at_most : float
        Objective that need not be exceeded, such as that of a plan.

    Raises
    ------
    ModelRefusal
        If there are machines, or the bag is too large.
    """
    if math.isinf(configurations.objective):
        return configurations.objective
    programme: CorePatternProgramme | None = None
    with suppress(LimitReached):  # then what was proved until then
        programme = CorePatternProgramme(instance, configurations, at_most)
        programme.run()
    return configurations.objective if programme is None else max(programme.bound, configurations.objective)


class CorePattern(NamedTuple):
    """Pattern of a number of cores in a solution that need not be whole.

    Attributes
    ----------
    offer : RentalOffer
        Their offer.
    counts : array of int, shape (n_classes,)
        Tasks of each class on a core.
    end_s : int
        Until when their VMs are paid, from ready.
    number : float
        How many cores they are.
    """

    offer: RentalOffer
    counts: IntArray
    end_s: int
    number: float


def _too_many() -> ModelRefusal:
    return ModelRefusal("the bag has too many classes of tasks, or too many seconds, for the bound by core patterns")


class CorePatternProgramme(PatternMaster):
    """The linear programme, and the largest value of each makespan so far.

    Parameters
    ----------
    instance : Instance
        With D_spot set, without machines.
    configurations : ConfigurationBound
        Its weightings are used.
    at_most : float
        Objective that need not be exceeded, such as that of a plan: later makespans than it allows are left out.

    Attributes
    ----------
    classes : TaskClasses
        The classes of tasks.
    proved : array of int
        Of each makespan, what is proved so far, in whole numbers.
    """

    def __init__(self, instance: Instance, configurations: ConfigurationBound, at_most: float = math.inf) -> None:
        offers = usable_offers(instance)
        if instance.machines:
            raise ModelRefusal("the bound by core patterns knows no machines")
        if not offers:
            raise ModelRefusal("the bound by core patterns asks for VMs that may be rented")
        self.ready = instance.boot_overhead_s
        self.first = configurations.makespan_s - self.ready
        if has_more_classes(instance, MOST_CELLS // (len(offers) * max(self.first, 1))):
            raise _too_many()
        self.classes = classes = task_classes(instance)
        cost_weight, self.time_weight = objective_weights(instance)
        self.size = classes.size
        self.group_limits = binding_limits(instance, offers)
        self._make_pools(instance, configurations, offers, cost_weight)
        self.last = max(instance.time_limit_s(offer.market) for offer in offers) - self.ready
        self.worst = worst_objective(instance)
        # Prices of openings count for each second, and a VM may have tasks for few of them.
        largest = max(self.worst, *(pool.price * pool.most_s for pool in (*self.cores, *self.burstable)))
        # Sums of millions of values must fit 64 bits.
        self.scale = 2.0 ** (_SCALE_BITS - math.ceil(math.log2(largest)))
        rate = math.floor(self.time_weight * self.scale)
        self.ceiling = math.inf  # that no value of all exceeds
        self.at_most = at_most
        least, end = self._least_cost(), self.last
        if math.isfinite(at_most):
            room = math.ceil(at_most * self.scale) - least - 1
            self.last = min(end, (room // rate - self.ready) if rate else end) if room >= 0 else self.first - 1
        self.cut = self.last < end
        if len(classes) * len(offers) * self.last > MOST_CELLS:
            raise _too_many()
        self.of_time = rate * (np.arange(self.first, self.last + 1) + self.ready)
        self.proved = self.of_time + least  # of each makespan, in whole numbers
        for entry in self.cores:
            entry.most_s = min(entry.most_s, self.last)
        if len(self.proved):
            self._build()
            self.centre = self._divisible_duals(instance, classes.group)
            self._price(self.centre, self.last)

    def _make_pools(
        self, instance: Instance, configurations: ConfigurationBound, offers: list[RentalOffer], cost_weight: float
    ) -> None:
        """Make the pools of VMs that can be rented."""
        self.cores: list[_Cores] = []
        self.burstable: list[_Burstable] = []
        # Tasks of a class may weigh differently: what holds for the lightest holds for all.
        groups = [np.unique(instance.task_group[mine]) for mine in self.classes.tasks]
        of_slots, of_memory = slots_of(instance.memory_kb), lower_of(instance.memory_kb)
        for k, (offer, usd_per_s) in enumerate(zip(offers, least_usd_per_s(instance, offers).tolist(), strict=True)):
            of_groups = [of_memory / lower_of(offer.memory_kb)]
            of_groups += [of_slots / offer.vcpus] if instance.slots.beside_memory else []
            of_groups += [cut.weights / cut.capacity for cut in configurations.weightings.get(offer.index, ())]
            work = least_work_s(instance, offer)
            pool = (
                offer,
                instance.duration_s[self.classes.group, offer.index, FULL_SPEED],
                np.array([work[mine].min() for mine in groups]),
                np.array([[least[mine].min() for mine in groups] for least in of_groups]),
                instance.time_limit_s(offer.market) - self.ready,
                min(offer.limit, instance.n_tasks),
                cost_weight * usd_per_s,
            )
            if offer.burstable:
                self.burstable.append(_Burstable(*pool))
            else:
                limits = enumerate(self.group_limits)
                of_vm = [(row, int(weights[k])) for row, (weights, _) in limits if weights[k]]
                self.cores.append(_Cores(*pool, self.size, of_vm))

    def _least_cost(self) -> int:
        """Return the least cost of all tasks, each where it is cheapest, in whole numbers."""
        costs = [
            np.where(pool.able, pool.price / effective_cores(pool.offer) * pool.work_s, np.inf)
            for pool in (*self.cores, *self.burstable)
        ]
        cheapest = np.min(costs, axis=0)
        if not np.isfinite(cheapest).all():
            return 0  # no makespan is long enough, which the values will say
        each = np.maximum(np.floor(cheapest * self.scale).astype(np.int64) - 1, 0)
        return sum(cost * number for cost, number in zip(each.tolist(), self.size.tolist(), strict=True))

    @property
    def bound(self) -> float:
        """The least over all makespans; infinite if none is both long enough and within the limits."""
        least = float(self.proved.min()) / self.scale if len(self.proved) else math.inf
        return min(least, self.at_most) if self.cut else least

    def _build(self) -> None:
        most = [float(entry.number) for entry in self.cores] + [most for _, most in self.group_limits]
        super().__init__(self.classes.size, most, self.worst, 2 * self.worst, primal=True)
        self.first_weighting = []
        for entry in self.cores:
            self.first_weighting.append(self.n_rows)
            for _ in entry.weights:
                self.add_row(lower=0.0)
        for pool in self.burstable:
            pool.first_row = self.n_rows
            for least in (0.0, -pool.at_start_s / max(self.last, 1), *np.zeros(len(pool.weights))):
                self.add_row(lower=least)
        self.columns: list[tuple[int, IntArray, int]] = [(-1, self.size, 0)] * len(self.size)  # offer, counts, end
        self._build_burstable()
        self.known: set[tuple[int, int, bytes]] = set()
        for k, entry in enumerate(self.cores):
            for index in np.flatnonzero(entry.seconds <= entry.most_s).tolist():
                counts = np.zeros(len(self.size), dtype=np.int64)
                # Cores that are full of one class, half full, a quarter full ...: without them, the first multipliers
                # are wild.
                counts[index] = min(entry.most_s // int(entry.seconds[index]), int(self.size[index]))
                while counts[index]:
                    self._add(k, counts, int(counts @ np.where(counts > 0, entry.seconds, 0)))
                    counts[index] //= 2

    def _build_burstable(self) -> None:
        """Columns of burstable VMs: their seconds, and tasks of each class there."""
        self.paid: list[int] = []
        for pool in self.burstable:
            rows = np.arange(pool.first_row, pool.first_row + 2 + len(pool.weights))
            values = np.r_[pool.cores_and_sustained, np.ones(len(pool.weights))] / max(self.last, 1)
            self.paid.append(len(self.columns))
            self.add_column(pool.price, rows, values)
            self.columns.append((-1, self.size, 0))
            for index in np.flatnonzero(pool.able).tolist():
                work = pool.work_s[index] * np.r_[1.0, 1.0, pool.weights[:, index]] / max(self.last, 1)
                self.add_column(0.0, np.r_[index, rows], np.r_[1.0, -work])
                self.columns.append((-1, self.size, int(pool.seconds[index])))

    def _divisible_duals(self, instance: Instance, group: IntArray) -> FloatArray:
        """Multipliers of the divisible bound, in the order of the rows."""
        divisible = divisible_bound(instance)
        duals = np.zeros(self.n_rows)
        prices = divisible.task_price(instance)[group].min(axis=1)
        duals[: len(group)] = np.where(np.isfinite(prices), prices, 0.0)
        place = {int(offer): number for number, offer in enumerate(divisible.offers)}
        for entry, first in zip(self.cores, self.first_weighting, strict=True):
            price = divisible.memory_price[place[entry.offer.index]] * lower_of(entry.offer.memory_kb)
            duals[first] = min(price, entry.price) * max(self.last, 1)
        for pool in self.burstable:
            number = place[pool.offer.index]
            duals[pool.first_row] = divisible.core_price[number] * max(self.last, 1)
            price = divisible.memory_price[number] * lower_of(pool.offer.memory_kb)
            duals[pool.first_row + 2] = price * max(self.last, 1)
        return duals

    def _add(self, k: int, counts: IntArray, end_s: int) -> bool:
        """Add the column of a pattern whose VM is paid until a moment; say whether it is new."""
        key = k, end_s, counts.tobytes()
        if key in self.known:
            return False
        self.known.add(key)
        entry, nonzero = self.cores[k], np.flatnonzero(counts)
        vcpus = entry.offer.vcpus
        work = entry.weights[:, nonzero] @ (counts[nonzero] * entry.seconds[nonzero])
        rows, values = [len(self.size) + k], [1.0]
        for row, weight in entry.groups:
            rows.append(len(self.size) + len(self.cores) + row)
            values.append(weight / vcpus)
        rows += range(self.first_weighting[k], self.first_weighting[k] + len(work))
        values += ((end_s / vcpus - work) / max(self.last, 1)).tolist()
        self.add_pattern(entry.price / vcpus * end_s, counts, rows, values)
        self.columns.append((k, counts.copy(), end_s))
        return True

    def run(self) -> None:
        """Raise the values of all makespans to a level half of the way to what can be reached at most, again and again.

        From the earliest on: what ended in time before does so still, and the last solution stays feasible.
        """
        self.ceiling = self.at_most * self.scale
        while len(self.proved):
            before, ceiling = int(self.proved.min()), self.ceiling
            if before >= self.ceiling * (1 - NEARLY):
                return
            if math.isinf(self.ceiling):
                self._raise_value(self.first + int(self.proved.argmin()), before)
                continue
            level = (before + self.ceiling) / 2
            for place in np.flatnonzero(self.proved < level).tolist():
                if self.proved[place] < level:
                    self._raise_value(self.first + place, level)
                    if self.ceiling < level:
                        break
            if self.proved.min() <= before and self.ceiling >= ceiling:
                return

    def least_makespans(self, most: int) -> list[int]:
        """Return makespans, from ready, for which least is proved: at least a hundredth from each other."""
        found: list[int] = []
        apart = max(0.01 * self.last, 1)
        for place in np.argsort(self.proved, kind="stable").tolist():
            end_s = self.first + place
            if all(abs(end_s - other) >= apart for other in found):
                found.append(end_s)
                if len(found) == most:
                    break
        return found

    def cores_by(self, end_s: int) -> list[CorePattern]:
        """Return the cores of a solution of the linear programme of a makespan, by the patterns that are known."""
        self._raise_value(end_s)
        self._end_by(end_s)
        self.solve()
        numbers = self.values
        used = np.flatnonzero(numbers > NEARLY)
        used = used[[self.columns[column][0] >= 0 for column in used.tolist()]]
        of_columns = [(self.columns[column], float(numbers[column])) for column in used.tolist()]
        return [CorePattern(self.cores[k].offer, counts, until, number) for (k, counts, until), number in of_columns]

    def _end_by(self, end_s: int) -> None:
        """Leave out what ends later."""
        ends = np.array([end for _, _, end in self.columns])
        limits = np.where(ends > end_s, 0.0, np.inf)
        for pool, column in zip(self.burstable, self.paid, strict=True):
            limits[column] = float(pool.vms * min(end_s, pool.most_s))
        self.set_bounds(np.zeros(len(ends)), limits)

    def _raise_value(self, end_s: int, level: float = math.inf) -> None:
        """Solve the programme of a makespan, until its value is at a level or all that it can be."""
        self._end_by(end_s)
        place, added = end_s - self.first, True

        def price(multipliers: FloatArray, _: FloatArray) -> tuple[float, bool]:
            nonlocal added
            self.ceiling = min(self.ceiling, self._least_by(end_s) * self.scale)
            value, added = self._price(multipliers, end_s)
            return value, added

        def done() -> bool:
            return bool(self.proved[place] >= min(level, self._least_by(end_s) * self.scale * (1 - NEARLY)))

        self.centre = self.generate(price, self.centre, done)
        if not added:  # nor does the least of all values get beyond this one, by whatever is missing to the level
            self.ceiling = min(self.ceiling, float(self.proved[place]))

    def _least_by(self, end_s: int) -> float:
        """Objective of the last solution, which is one of a makespan."""
        return self.objective + self.time_weight * (end_s + self.ready)

    def _price(self, duals: FloatArray, end_s: int) -> tuple[int, bool]:
        """Add the patterns that gain by multipliers; return the value of a makespan, and whether there are any."""
        n_classes, n_cores = len(self.size), len(self.cores)
        scale = self.scale
        prices = np.floor(np.minimum(duals[:n_classes], 2 * self.worst) * scale).astype(np.int64)
        of_cores = duals[n_classes : n_classes + n_cores] * scale
        of_groups = np.ceil(duals[n_classes + n_cores :][: len(self.group_limits)] * scale).astype(np.int64)
        # Makespans that are too late for any plan of interest need no better value.
        low = np.flatnonzero(self.proved < self.ceiling)
        last_s = max(self.first + int(low[-1]) if len(low) else 0, end_s)
        if any((pool.able & (pool.seconds > end_s) & (pool.seconds <= last_s)).any() for pool in self.burstable):
            last_s = end_s  # else tasks too long for burstable VMs by end_s are priced there, and its value is weaker
        lost_a_second = []
        of_start = 0
        for pool in self.burstable:
            rows = duals[pool.first_row : pool.first_row + 2 + len(pool.weights)] / max(self.last, 1)
            worth_a_second = rows @ np.r_[pool.cores_and_sustained, np.ones(len(pool.weights))]
            lost_a_second.append(math.ceil(max(float(worth_a_second) - pool.price, 0.0) * scale) + 1)
            of_start += math.ceil(rows[1] * pool.at_start_s * scale) + 1
            costs = np.floor((rows[0] + rows[1] + rows[2:] @ pool.weights) * pool.work_s * scale) - 1
            able = pool.able & (pool.seconds <= last_s)
            prices = np.where(able, np.minimum(prices, np.maximum(costs, 0).astype(np.int64)), prices)
        total = -of_start + sum(
            price * number for price, number in zip(prices.tolist(), self.size.tolist(), strict=True)
        )
        total -= sum(price * int(most) for price, (_, most) in zip(of_groups.tolist(), self.group_limits, strict=True))
        if abs(total) > NEVER:
            return 0, False
        n_values = last_s - self.first + 1
        moments = np.arange(self.first, self.first + n_values)
        values = total + self.of_time[:n_values]
        size, added = float(abs(total)), False
        for pool, lost in zip(self.burstable, lost_a_second, strict=True):
            size += float(lost) * pool.vms * float(moments[-1])
            values -= lost * pool.vms * np.minimum(moments, pool.most_s)
        for k, (entry, first) in enumerate(zip(self.cores, self.first_weighting, strict=True)):
            checkpoint()
            vcpus = entry.offer.vcpus
            of_weights = duals[first : first + len(entry.weights)] / max(self.last, 1)
            share = of_weights.sum() / vcpus
            rate = math.floor((entry.price / vcpus - share) * scale) - 1
            able = entry.seconds <= entry.most_s
            seconds = np.where(able, entry.seconds, 0)
            held = np.floor(of_weights @ entry.weights * seconds * scale).astype(np.int64) - 1
            worth = np.where(able, prices - np.maximum(held, 0) - max(rate, 0) * seconds, -1)
            most_s = min(entry.most_s, int(moments[-1]))
            gains = entry.gains(worth, most_s) + max(-rate, 0) * np.arange(most_s + 1)
            of_core = sum(int(of_groups[row]) * weight for row, weight in entry.groups) // vcpus
            size += entry.number * float(gains[-1])
            values -= entry.number * np.maximum(gains[np.minimum(moments, most_s)] - of_core, 0)
            until = min(end_s, most_s)
            for load in sorted({int(part * until) for part in _LOADS}):
                if gains[load] - of_core > of_cores[k] + self.least_gain * scale:
                    counts = entry.pattern(load)
                    paid = int(counts @ seconds) if rate >= 0 else until
                    added |= self._add(k, counts, paid)
        if size > NEVER:  # multipliers far from any use, and sums beyond 64 bits
            return 0, added
        np.maximum(self.proved[:n_values], values, out=self.proved[:n_values])
        return int(values[end_s - self.first]), added
