"""Cheapest fleets by their slack: for some classes of identical tasks, where the cost alone counts.

The prices of `CorePrices` leave little to the slack of a plan, what its VMs cost above the prices of their tasks. A VM
of offer j that ends at z and runs a has slack p_j z + c_j nu_j - pi a >= 0: what its cores wait for the last of them,
and what its tasks cost there above their prices. A plan costs the bound of the prices and the slack of its VMs; those
not rented have c_j nu_j each. So a plan within a slack s of the bound has no VM, and no set of VMs, of more, and

1. what one VM can run within s is listed: patterns of cores with about the same load;
2. offer by offer, one more VM is added to what already runs, as in `class_fleets`, but in a hash table: few sets of
   tasks are reached within s. What is left has to run on the offers to come, at the least cost of each task there;
3. on the last offer, the one with most to choose from, the search is depth first: the next VM runs a task of the first
   class that is left. What was refuted once, tasks left and number of VMs, is not tried again.

It begins with a small s. If there is no plan, the bound rises by s, and s grows.

Limits of markets are no part of the prices, and of the search only from the first plan on that breaks one: what this
plan costs is a bound, and from then on, what is reached counts the VMs of limited groups beside the tasks.

Burstable VMs are left out: a task costs at least its work in core seconds at full speed there, which is far above its
price as a rule. Up to that slack, no plan has a task there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...bounds.bags.pattern_master import OfferCores, best_core_prices
from ...core.errors import ModelRefusal
from ...core.limits import ITERATIONS, LimitReached, checkpoint
from ...core.processes import run_compiled
from ...core.quantities import NEARLY, STEPWISE_ROUNDING, TABLE_BYTES, FloatArray, IntArray
from ...instances.entries import FULL_SPEED, RentalOffer, binding_limits, keeps_group_limits
from ...instances.instance import Instance
from ...models.bags.core_patterns import require_free_memory, schedule_of_cores
from ...models.bags.task_classes import effective_cores, least_work_s, task_classes, usable_offers
from ...schedules.schedule import Schedule
from ...schedules.timing import objective_weights
from . import slack_kernel as kernel
from .class_dynamic_programme import BestPlan
from .class_fleets import FIRST_SLACK, MORE_SLACK
from .class_tables import MOST_TABLE_STEPS

MOST_ROWS = TABLE_BYTES // 64
"""Rows of a table beyond which the search ends: eight numbers each, of sets of tasks of one VM for each core."""

_LEAST_TABLE = 1 << 12
_MOST_BITS = 62 - kernel.VM_BITS
_MOST_VMS = (1 << kernel.VM_BITS) - 1
_NAME = "the search by slack"


@dataclass(frozen=True, slots=True)
class _Listed:
    """Sets of tasks that a VM of an offer can run within a slack, by slack.

    ``counts`` are tasks by class and ``packed`` the same as one integer; ``cores`` are rows of ``patterns``.
    """

    counts: IntArray
    packed: IntArray
    slack: FloatArray
    end_s: IntArray
    cores: IntArray
    patterns: IntArray
    loads_s: IntArray


@dataclass(frozen=True, slots=True)
class _Layer:
    """Sets of tasks that were reached by one more VM: ascending, from which, and by which VM of an offer."""

    offer: int
    reached: IntArray
    before: IntArray
    vm: IntArray


class SlackFleets:
    """The search of an instance whose objective is its cost.

    Parameters
    ----------
    instance : Instance
        With D_spot set.

    Attributes
    ----------
    bound : float
        What the prices prove: a lower bound of the objective of all plans. Infinite if there is no plan.

    Raises
    ------
    ModelRefusal
        If memory can bind, tasks may be cheap on burstable VMs, the makespan is worth something, or there are too many
        classes, tasks, VMs or patterns.
    """

    def __init__(self, instance: Instance) -> None:
        cost_weight, time_weight = objective_weights(instance)
        if time_weight > 0:
            raise ModelRefusal(f"{_NAME} is for objectives that are a cost alone")
        usable = usable_offers(instance)
        require_free_memory(instance, usable, _NAME)
        self._group_limits = [
            (weights.astype(np.int64), int(most))
            for weights, most in binding_limits(instance, (offer for offer in usable if not offer.burstable))
        ]
        self.instance = instance
        self.classes = task_classes(instance)
        self._size = self.classes.size
        self._fields = _fields(self._size)
        self._counted: list[tuple[IntArray, int]] = []
        self._hard_first = self._longest_first(usable)
        self.offers = [
            OfferCores(
                offer,
                instance.sustained_s[self.classes.group, offer.index],
                self._size,
                instance.time_limit_s(offer.market) - instance.boot_overhead_s,
                cost_weight * offer.price_usd_per_s,
                min(offer.limit, instance.n_tasks),
                _NAME,
            )
            for offer in usable
            if not offer.burstable
        ]
        if any(offer.vms > _MOST_VMS for offer in self.offers):
            raise ModelRefusal(f"{_NAME} takes up to {_MOST_VMS} VMs of an offer")
        # All VMs until their latest end: no plan without burstable ones costs more.
        self._worst = worst = sum(offer.price * offer.vms * offer.most_s for offer in self.offers) * (1 + 1e-6)
        if not worst > 0:
            raise ModelRefusal(f"{_NAME} takes VMs that cost something")
        self.prices = best_core_prices(self.offers, self._size, worst)
        self._scale = max(self.prices.bound, NEARLY * worst)
        self._rounding = STEPWISE_ROUNDING * max(self.prices.size, self._scale)
        # Up to this slack no plan has a task on a burstable VM: so far the search is of all plans.
        burstable = [offer for offer in usable if offer.burstable]
        self._most_slack = min([math.inf, *(self._least_slack_there(offer, cost_weight) for offer in burstable)])
        if self._most_slack <= 0:
            raise ModelRefusal(f"{_NAME} knows no CPU credits, and tasks may be cheap on burstable VMs")
        self.bound = self.prices.bound
        # The prices prove more than any plan on other VMs costs: there is none, but perhaps one with burstable VMs.
        if self.bound > worst:
            self.bound = math.inf if math.isinf(self._most_slack) else -math.inf

    def _longest_first(self, usable: list[RentalOffer]) -> IntArray:
        """Classes by their shortest duration, the longest first: tasks that are hard to place."""
        seconds = self.instance.duration_s[self.classes.group][:, [offer.index for offer in usable]]
        return np.argsort(-seconds.reshape(len(self.classes), -1).min(axis=1, initial=2**40), kind="stable")

    def _least_slack_there(self, offer: RentalOffer, cost_weight: float) -> float:
        """Least cost of a task on a burstable VM above its price."""
        group = self.classes.group
        most_s = self.instance.time_limit_s(offer.market) - self.instance.boot_overhead_s
        able = self.instance.duration_s[group, offer.index, FULL_SPEED] <= most_s
        work = least_work_s(self.instance, offer)[group] / effective_cores(offer)
        above = cost_weight * offer.price_usd_per_s * work - self.prices.of_tasks
        return float(above[able].min(initial=math.inf))

    def cheapest(
        self,
        at_most: float = math.inf,
        target_gap: float = 0.0,
        threshold: float = -math.inf,
        on_bound: Callable[[float], None] = lambda bound: None,
    ) -> BestPlan:
        """Return the cheapest plan.

        Parameters
        ----------
        at_most : float
            Objective of a plan that is known: only better ones are looked for.
        target_gap : float
            Relative gap between plan and bound that is good enough.
        threshold : float
            If it is finite: whether there is a plan of at most this is all that is asked.
        on_bound : callable
            Told of every better bound.

        Returns
        -------
        BestPlan
            The best bound so far if the limit is reached, or the search becomes too large.
        """
        bound = min(self.bound, at_most)
        if not math.isfinite(bound):
            return BestPlan(None, bound)
        slack, lowest = FIRST_SLACK * self._scale, self.prices.bound
        enough, any_will_do = at_most - lowest, math.isfinite(threshold)
        if any_will_do:
            enough = min(enough, threshold - lowest + 4 * self._rounding)
        try:
            while bound < at_most * (1 - target_gap) and bound <= lowest + enough:
                on_bound(bound)
                within = min(slack, enough, self._most_slack, self._worst - lowest)
                found = self._within(within, any_will_do)
                if found is not None:
                    cost, schedule = found
                    if not any_will_do:
                        bound = min(cost - 4 * self._rounding, at_most)
                    vms = np.bincount(schedule.vm_offer, minlength=len(self.instance.offers))
                    if keeps_group_limits(self.instance, np.arange(len(vms)), vms):
                        return BestPlan(schedule, bound)
                    self._count_vms_of_groups()
                    continue
                bound = min(lowest + within, at_most)
                if within == self._worst - lowest:  # no plan without burstable VMs costs more
                    return BestPlan(None, min(lowest + self._most_slack, at_most))
                if within in (enough, self._most_slack):
                    break
                slack *= MORE_SLACK
        except (LimitReached, ModelRefusal):
            return BestPlan(None, bound, stopped=True)
        return BestPlan(None, bound)

    # ----------------------------------------------------------------- search

    def _count_vms_of_groups(self) -> None:
        """Have the sets of tasks that are reached tell, from now on, what their VMs weigh in each limited group."""
        self._fields = _fields(np.append(self._size, [most for _, most in self._group_limits]))
        self._counted = self._group_limits

    def _within(self, slack: float, any_will_do: bool = False) -> tuple[float, Schedule] | None:
        """Cheapest plan within a slack, or any, and its cost; None if there is none."""
        allowed = slack + self._rounding
        listed = [self._list_vms(k, allowed) for k in range(len(self.offers))]
        unrented = self._unrented()
        used = [k for k, mine in enumerate(listed) if len(mine.slack) or unrented[k] > 0]
        if not used:
            return None
        # The offer with most to choose from comes last, where sets of tasks are not kept but searched depth first.
        used.sort(key=lambda k: len(listed[k].slack))
        reached = _new_table(_LEAST_TABLE, np.inf)
        kernel.reach_nothing(reached)
        layers: list[_Layer] = []
        for place, k in enumerate(used[:-1]):
            checkpoint()
            reached = self._one_offer(reached, layers, k, used[place + 1 :], listed[k], allowed)
        found = _LastSearch(self, used[-1], listed[used[-1]], reached, allowed).go(any_will_do)
        if found is None:
            return None
        state, vms = found
        fleet = [(used[-1], row) for row in vms]
        for layer in reversed(layers):
            place = int(np.searchsorted(layer.reached, state))
            if place < len(layer.reached) and layer.reached[place] == state:
                fleet.append((layer.offer, int(layer.vm[place])))
                state = int(layer.before[place])
        return self._plan(fleet, listed)

    def _unrented(self) -> FloatArray:
        """Slack of a VM of each offer that is not rented."""
        return np.array([offer.offer.vcpus for offer in self.offers]) * self.prices.gains

    def _pack(self, counts: IntArray) -> IntArray:
        packed: IntArray = (counts << self._fields.shift[: len(self._size)]).sum(axis=1)
        return packed

    def _unpack(self, packed: IntArray) -> IntArray:
        n_classes = len(self._size)
        counts: IntArray = (packed[:, None] >> self._fields.shift[:n_classes]) & self._fields.mask[:n_classes]
        return counts

    def _packed_vm(self, k: int) -> int:
        """Packed weights of a single VM of an offer, where VMs of its groups are counted."""
        of_groups = self._fields.shift[len(self._size) :].tolist()
        counted = zip(self._counted, of_groups, strict=True)
        return sum(int(weights[k]) << shift for (weights, _), shift in counted)

    def _most_vms(self, k: int, packed: IntArray) -> IntArray:
        """Most VMs of an offer beside each of some sets of tasks that run, by its limit and those of its groups."""
        most = np.full(len(packed), self.offers[k].vms)
        fields = self._fields
        of_groups = zip(self._counted, fields.shift[len(self._size) :], fields.mask[len(self._size) :], strict=True)
        for (weights, limit), shift, mask in of_groups:
            if weights[k]:
                most = np.minimum(most, (limit - ((packed >> shift) & mask)) // weights[k])
        return most

    def _list_vms(self, k: int, allowed: float) -> _Listed:
        """List the sets of tasks that a VM of an offer can run within a slack."""
        offer, prices, gain = self.offers[k], self.prices.of_tasks, float(self.prices.gains[k])
        patterns = offer.cheap_patterns(prices, gain, allowed)
        counts = np.concatenate([np.zeros((1, len(self._size)), dtype=np.int64), patterns.counts])
        loads = np.concatenate([[0], patterns.load_s])
        cores = kernel.Cores(loads, self._pack(counts), counts @ prices)
        n_cores, most, found = offer.offer.vcpus, _LEAST_TABLE, kernel.FULL
        while found == kernel.FULL:
            table = kernel.Columns(
                np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64), np.zeros(most),
                np.zeros((most, n_cores), dtype=np.int64), np.full(2 * most, -1, dtype=np.int64),
            )  # fmt: skip
            terms = cores, offer.price, n_cores * gain, allowed, self._fields, table
            found = _run(partial(kernel.list_columns, *terms), most * n_cores)
            most *= 4
        packed, end_s = table.packed[:found], table.end_s[:found]
        listed = self._unpack(packed)
        slack = offer.price * end_s + n_cores * gain - listed @ prices
        order = np.argsort(slack, kind="stable")
        return _Listed(
            listed[order], packed[order], slack[order], end_s[order], table.cores[:found][order], counts, loads
        )

    def _losses(self, offers: list[int]) -> FloatArray:
        """Least cost of a task of each class above its price on some offers; much where none can run it."""
        losses: FloatArray = np.min([self.offers[k].losses(self.prices.of_tasks) for k in offers], axis=0)
        return np.where(np.isfinite(losses), losses, self._scale)

    def _one_offer(
        self,
        reached: kernel.Reached,
        layers: list[_Layer],
        k: int,
        to_come: list[int],
        listed: _Listed,
        allowed: float,
    ) -> kernel.Reached:
        """Add the VMs of an offer to the sets of tasks that were reached, and drop those that lead to nothing."""
        vms, unrented = self.offers[k].vms, self._unrented()
        later = float(sum(self.offers[j].vms * unrented[j] for j in to_come))
        live = reached.packed[reached.packed >= 0]
        # As if none of its VMs were rented; each one that is takes its part back.
        reached.value[:] += vms * unrented[k]
        losses, beyond = self._losses([k, *to_come]), self._losses(to_come)
        packed = listed.packed + self._packed_vm(k)
        one = kernel.Sets(packed, listed.slack - unrented[k], listed.counts @ losses, listed.counts @ beyond)
        spared = float((one.beyond - listed.slack).max(initial=-unrented[k]))
        frontier, count = live, len(live)
        for number in range(1, vms + 1):
            if not len(one.packed):
                break
            layer = len(layers) + 1
            left = self._size - self._unpack(frontier)
            before = kernel.Sets(frontier, kernel.values_of(reached, frontier), left @ losses, left @ beyond)
            others = vms - number
            step = kernel.Step(allowed, later, others * float(unrented[k]), others * spared, layer)
            terms = before, one, step, self._fields
            while (added := _run(partial(kernel.add_vm, reached, count, *terms), len(reached.packed))) == kernel.FULL:
                reached = _larger(reached, np.inf)
                count = int((reached.packed >= 0).sum())
            count = added
            improved = np.flatnonzero(reached.layer == layer)
            if not len(improved):
                break
            improved = improved[np.argsort(reached.packed[improved])]
            frontier = reached.packed[improved]
            layers.append(_Layer(k, frontier, reached.before[improved], reached.column[improved]))
        rows = np.flatnonzero(reached.packed >= 0)
        # What is left runs on the offers to come, at what it loses there at least: sets for which that is too much go.
        rest = (self._size - self._unpack(reached.packed[rows])) @ beyond + later
        rows = rows[reached.value[rows] + np.maximum(rest, 0.0) <= allowed]
        smaller = _new_table(max(_LEAST_TABLE, 1 << int(4 * len(rows)).bit_length()), np.inf)
        kernel.copy_reached(reached, rows, smaller)
        return smaller

    # -------------------------------------------------------------- read back

    def _plan(self, fleet: list[tuple[int, int]], listed: list[_Listed]) -> tuple[float, Schedule]:
        """Make the plan of VMs, as pairs of offer and row."""
        cores = []
        cost = 0.0
        for k, row in fleet:
            mine, offer = listed[k], self.offers[k]
            cost += offer.price * int(mine.end_s[row])
            for pattern in mine.cores[row].tolist():
                if pattern:
                    cores.append((offer.offer, mine.patterns[pattern], int(mine.loads_s[pattern])))
        return cost, schedule_of_cores(self.instance, self.classes, cores)


class _LastSearch:
    """Depth first on the last offer, from all sets of tasks that the others were found to run."""

    def __init__(self, fleets: SlackFleets, k: int, listed: _Listed, reached: kernel.Reached, allowed: float) -> None:
        self._rounding, self._allowed = fleets._rounding, allowed
        offer, fields, gains = fleets.offers[k], fleets._fields, fleets.prices.gains
        self._unrented = float(gains[k]) * offer.offer.vcpus
        order = fleets._hard_first
        self._fields = kernel.Fields(fields.shift[order], fields.mask[order], fields.bias, fields.guard)
        first = (listed.counts[:, order] > 0).argmax(axis=1) if len(listed.slack) else np.zeros(0, dtype=np.int64)
        # Of VMs that waste the same, those that run most come first.
        self._rows = np.lexsort((-listed.counts.sum(axis=1), listed.slack, first))
        self._slack = listed.slack[self._rows]
        starts = np.searchsorted(first[self._rows], np.arange(len(order) + 1))
        seconds = np.where(offer.seconds <= offer.most_s, offer.seconds, -1)[order]
        self._last = kernel.LastOffer(
            seconds, fleets.prices.of_tasks[order], offer.price, self._unrented, offer.offer.vcpus, offer.most_s, starts
        )
        place = np.full(4 << len(self._rows).bit_length(), -1, dtype=np.int64)
        packed, nothing = listed.packed[self._rows], np.zeros((0, 1), dtype=np.int64)
        self._columns = kernel.Columns(packed, nothing[:, 0].copy(), self._slack, nothing, place)
        kernel.index_columns(self._columns)
        live = np.flatnonzero(reached.packed >= 0)
        self._states = reached.packed[live]
        self._rests = fleets._pack(fleets._size - fleets._unpack(self._states))
        self._vms = fleets._most_vms(k, self._states)
        self._values = reached.value[live] + (offer.vms - self._vms) * self._unrented
        self._refuted = _new_table(_LEAST_TABLE, -np.inf)

    def go(self, any_will_do: bool) -> tuple[int, list[int]] | None:
        """Return the tasks of the other offers, and the VMs of the last one as rows of its list; None without a plan.

        Of the plan with the least slack, or of any plan.
        """
        least = self._values + kernel.least_slacks_of_rest(self._rests, self._vms, self._last, self._fields)
        best: tuple[int, list[int]] | None = None
        for place in np.argsort(least, kind="stable").tolist():
            while least[place] <= self._allowed:
                most = int(self._vms[place])
                vms = self._run(int(self._rests[place]), most, self._allowed - float(self._values[place]))
                if vms is None:
                    break
                spent = float(self._values[place] + self._slack[vms].sum()) + (most - len(vms)) * self._unrented
                # What is no better but for rounding would be found again and again.
                self._allowed = spent - 2 * self._rounding
                best = int(self._states[place]), self._rows[vms].tolist()
                if any_will_do:
                    return best
            if least[place] > self._allowed:
                break
        return best

    def _run(self, rest: int, most_vms: int, allowed: float) -> IntArray | None:
        """Fleet for some tasks within a slack; None if there is none."""
        picked, known = np.zeros(most_vms, dtype=np.int64), np.zeros(1, dtype=np.int64)
        asked, found = kernel.Rest(rest, most_vms, allowed), kernel.FULL
        while found == kernel.FULL:
            known[0] = int((self._refuted.packed >= 0).sum())
            terms = self._last, self._columns, self._refuted, known, self._fields, picked
            found = _run(partial(kernel.run_rest, asked, *terms), len(self._refuted.packed))
            if found == kernel.FULL:
                self._refuted = _larger(self._refuted, -np.inf)
        return None if found == kernel.REFUTED else picked[:found]


def _run(loop: Callable[[IntArray], int], rows: int) -> int:
    """Run a compiled loop, which says if its table with a number of rows is full; refuse what is too much."""
    halt = np.array([0, MOST_TABLE_STEPS // 2])
    found = run_compiled(lambda: loop(halt), halt, ITERATIONS.slack_step)
    if found == kernel.HALTED or (found == kernel.FULL and rows >= MOST_ROWS):
        raise ModelRefusal(f"{_NAME} grows too large")
    return found


def _fields(most: IntArray) -> kernel.Fields:
    """Return the fields in which counts up to some numbers are packed: classes, then weights in limited groups."""
    bits = np.array([int(number).bit_length() for number in most.tolist()], dtype=np.int64)
    if bits.sum() + len(bits) > _MOST_BITS:
        raise ModelRefusal(
            f"{_NAME} packs counts into {_MOST_BITS} bits, and those of {len(most)} classes of identical tasks and "
            f"limited groups take {int(bits.sum()) + len(bits)}"
        )
    shift = np.concatenate([[0], np.cumsum(bits + 1)[:-1]])
    guard = sum(1 << int(place + width) for place, width in zip(shift, bits, strict=True))
    mask = (1 << bits) - 1
    return kernel.Fields(shift, mask, int(((mask - most) << shift).sum()), guard)


def _new_table(size: int, value: float) -> kernel.Reached:
    """Make an empty table of a size that is a power of 2."""
    numbers = [np.zeros(size, dtype=np.int64) for _ in range(3)]
    return kernel.Reached(np.full(size, -1, dtype=np.int64), np.full(size, value), *numbers)


def _larger(table: kernel.Reached, value: float) -> kernel.Reached:
    """Return a table with more room and the same entries."""
    larger = _new_table(4 * len(table.packed), value)
    kernel.copy_reached(table, np.flatnonzero(table.packed >= 0), larger)
    return larger
