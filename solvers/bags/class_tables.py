"""Class programme, first part: what one VM of each offer can run, and how soon, for all vectors of counts.

A *count vector* says how many tasks of each class run, and a *state* also how many VMs of each limited group do.
Z*_j(a), the least end of one VM of offer j that runs a_g tasks of each class, is a (min, max)-combination of its cores.
A burstable VM whose credits are to be planned ends no sooner than it has earned what its tasks spend at full speed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...core.errors import ModelRefusal
from ...core.limits import ITERATIONS, checkpoint, count_work
from ...core.quantities import TABLE_BYTES, FloatArray, IntArray
from ...core.wording import counted
from ...instances.entries import FULL_SPEED, NEVER, RentalOffer, binding_limits
from ...instances.instance import Instance
from ...models.bags.core_patterns import BurstableMode, OfferPatterns, enumerate_patterns, require_free_memory
from ...models.bags.cpu_credits import (
    CreditRules,
    credit_role,
    credit_rules,
    credits_count_at_the_end,
    end_with_credits_s,
)
from ...models.bags.task_classes import TaskClasses, memory_is_free, task_classes, usable_offers

MOST_COUNT_VECTORS = 50_000
"""Count vectors beyond which the programme refuses."""

MOST_STATES = 500_000
"""Count vectors times numbers of VMs of limited groups beyond which the programme refuses."""

MOST_TABLE_STEPS = 4_000_000_000
"""Count vectors times patterns times cores, over all offers, beyond which the programme refuses."""

MOST_TABLE_CELLS = TABLE_BYTES // 8
"""Count vectors times cores, over all offers, beyond which the programme refuses: 8 bytes each."""

_FEW_STATES = 10_000
"""States up to which the programme is done in about a tenth of a second, and no search is worth its time."""

_NAME = "the class programme"


@dataclass(frozen=True, slots=True)
class VmTable:
    """Table of the useful VMs of an offer, by their end.

    Attributes
    ----------
    offer, patterns : RentalOffer and OfferPatterns
        The offer, and what one core of it can run.
    ends_of_cores : list of arrays of int, each of the shape of the count vectors
        Least end of 1, 2, ... cores that run a count vector.
    counts : array of int, shape (n_vms, n_dimensions)
        Tasks of each class, and VMs of each limited group (1 or 0).
    end_s : array of int, shape (n_vms,)
        Their ends, ascending.
    cost : array of float, shape (n_vms,)
        What they cost, in units of the dearest offer for a second.
    vms : int
        Most VMs.
    at_full_speed : bool
        Whether it is burstable and runs its tasks at full speed.
    """

    offer: RentalOffer
    patterns: OfferPatterns
    ends_of_cores: list[IntArray]
    counts: IntArray
    end_s: IntArray
    cost: FloatArray
    vms: int
    at_full_speed: bool


def require_few_count_vectors(instance: Instance) -> TaskClasses:
    """Return the classes of identical tasks of a bag that is small enough, as far as that shows without any table.

    Raises
    ------
    ModelRefusal
        If there are too many count vectors, or VMs are set up after the boot.
    """
    if instance.has_setups:
        raise ModelRefusal(f"{_NAME} knows no setup_s of VM types; 'search' and 'interval' do")
    classes = task_classes(instance)
    _refuse_beyond(
        MOST_COUNT_VECTORS, count_vectors(classes), "count vectors", f"{len(classes.size)} classes of identical tasks"
    )
    return classes


def _refuse_beyond(most: int, number: int, what: str, of: str) -> None:
    """Refuse a programme that has too many of something."""
    if number > most:
        said = f"{number:,}" if number < NEVER else f"more than {NEVER:,}"
        raise ModelRefusal(
            f"{_NAME} takes up to {most:,} {what}, and there are {said} of {of}; 'patterns', 'columns' and 'search' do "
            "not count them"
        )


def count_vectors(classes: TaskClasses) -> int:
    """Return the number of count vectors of some classes."""
    return math.prod((classes.size + 1).tolist())


def has_small_class_programme(instance: Instance) -> bool:
    """True if the programme is rather done than a search; that it refuses credits is left open.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    """
    if not memory_is_free(instance):
        return False
    most = [most for _, most in binding_limits(instance, usable_offers(instance))]
    return count_vectors(task_classes(instance)) * math.prod(each + 1 for each in most) <= _FEW_STATES


class ClassTables:
    """The tables of an instance, and how states are numbered.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    latest_s : int
        Latest end that will be asked for, from ready.
    burstable : {"refuse", "baseline"}
        Whether burstable offers are refused where their credits are not simply counted at the end of a VM
        (`cpu_credits.credits_count_at_the_end`), or all of them run all their tasks in baseline mode.

    Attributes
    ----------
    classes : TaskClasses
        The classes of identical tasks.
    most : array of int, shape (n_dimensions,)
        Tasks of each class, then the limit of each market that can bind.
    strides : array of int, shape (n_dimensions,)
        What one more of a dimension adds to the flat index of a state.
    cost_unit : float
        Price of a second of the dearest offer (USD), in which costs are counted.
    vm_tables : list of VmTable
        One for each offer that can run a task in time.
    ends_s : array of int
        All ends that one VM can have, ascending.

    Raises
    ------
    ModelRefusal
        If memory can bind, the credits of a burstable offer must be followed, or there are too many count vectors
        or patterns.
    LimitReached
        If the limit is over.
    """

    def __init__(self, instance: Instance, latest_s: int, burstable: BurstableMode = "refuse") -> None:
        self.instance = instance
        self.classes = require_few_count_vectors(instance)
        self._latest_s = latest_s
        self._full_speed: dict[int, CreditRules | None] = {}  # burstable offers at full speed; None if credits abound
        offers = usable_offers(instance)
        if burstable == "refuse":
            self._plan_credits(offers)
        require_free_memory(instance, offers, _NAME)
        self._group_limits = binding_limits(instance, offers)
        most = np.array([*self.classes.size.tolist(), *(most for _, most in self._group_limits)], dtype=np.int64)
        self._shape = tuple((most + 1).tolist())
        limits = f" within {counted(len(self._group_limits), 'limit')} of groups" if self._group_limits else ""
        _refuse_beyond(
            MOST_STATES,
            self.n_states,
            "states",
            f"{len(self.classes.size)} classes of identical tasks{limits}",
        )
        self.most = most
        self.strides = np.array([math.prod(self._shape[k + 1 :]) for k in range(len(most))], dtype=np.int64)
        # In units of the dearest offer costs are about as large as seconds, whatever the currency: tolerances fit them.
        self.cost_unit = max((offer.price_usd_per_s for offer in offers), default=1.0)
        weights = np.array([weights for weights, _ in self._group_limits], dtype=np.int64).reshape(-1, len(offers)).T
        patterns = [self._patterns(offer) for offer in offers]
        self._refuse_large_tables(patterns)
        self.vm_tables = [
            self._vm_table(mine, own) for mine, own in zip(patterns, weights, strict=True) if len(mine.load_s)
        ]
        self.ends_s: IntArray = np.unique(np.concatenate([np.zeros(0, np.int64), *(t.end_s for t in self.vm_tables)]))

    # ----------------------------------------------------------------- sizes

    def _refuse_large_tables(self, patterns: list[OfferPatterns]) -> None:
        """Refuse tables that take too much memory, or too long: one for each number of cores, and a list of all VMs."""
        vectors, cores = count_vectors(self.classes), [_useful_cores(mine, self.classes) for mine in patterns]
        cells = sum(vectors * (number + len(self.most) + 2) for number in cores)
        of = f"{vectors:,} count vectors on up to {max(cores, default=0):,} cores of {len(patterns):,} offers"
        _refuse_beyond(MOST_TABLE_CELLS, cells, "cells for the least ends of VMs", of)
        if len(self.classes) > 1:  # the tables of one class follow from a formula
            each = [len(mine.load_s) * (number - 1) for mine, number in zip(patterns, cores, strict=True)]
            _refuse_beyond(MOST_TABLE_STEPS, vectors * sum(each), "steps to find the least ends of VMs", of)

    # ---------------------------------------------------------------- tables

    def _most_s(self, offer: RentalOffer) -> int:
        """Latest end of a VM of an offer, from ready."""
        return min(self.instance.time_limit_s(offer.market) - self.instance.boot_overhead_s, self._latest_s)

    def _seconds(self, offer: RentalOffer) -> IntArray:
        """Duration of a task of each class on an offer."""
        if offer.index in self._full_speed:
            return np.asarray(self.instance.duration_s[self.classes.group, offer.index, FULL_SPEED])
        return np.asarray(self.instance.sustained_s[self.classes.group, offer.index])

    def _patterns(self, offer: RentalOffer) -> OfferPatterns:
        latest_s = self.instance.latest_end_s[self.classes.group, offer.index] - self.instance.boot_overhead_s
        seconds, most = self._seconds(offer), np.minimum(latest_s, self._most_s(offer))
        return enumerate_patterns(seconds, self.classes.size, most, offer, _NAME)

    def _plan_credits(self, offers: list[RentalOffer]) -> None:
        """Choose the mode of the VMs of each burstable offer; the baseline where no task gains by full speed."""
        refused: list[str] = []
        for offer in offers:
            if not offer.burstable:
                continue
            most = max(self._most_s(offer), 0)
            shortest = self.instance.duration_s[:, offer.index].min(axis=1)
            rules = credit_rules(offer, most)
            role = credit_role(self.instance, offer, rules, shortest <= most, most)
            if role == "always enough":
                self._full_speed[offer.index] = None
            elif role == "to be planned":
                if credits_count_at_the_end(self.instance, offer, self.classes.group, most):
                    self._full_speed[offer.index] = rules
                else:
                    refused.append(offer.vm_type.name)
        if refused:
            raise ModelRefusal(
                f"{_NAME} counts CPU credits at the end of a VM only, and those of {', '.join(sorted(set(refused)))} "
                f"must be followed (a cap that binds, or a baseline above what is earned); with all tasks there in "
                f"baseline mode its optimum is one among such plans only"
            )

    def _vm_table(self, patterns: OfferPatterns, weights: IntArray) -> VmTable:
        """Make the table of an offer, the empty VM left out; a VM has these weights in the limits of groups."""
        offer = patterns.offer
        ends = self._ends_of_one_class(patterns) if len(self.classes) == 1 else self._ends_of_cores(patterns)
        whole = self._end_with_credits(offer, ends[-1])
        counts = np.argwhere((whole < NEVER) & (whole > 0))
        end_s = whole[tuple(counts.T)]
        by_end = np.argsort(end_s, kind="stable")
        return VmTable(
            offer,
            patterns,
            ends,
            np.concatenate([counts, np.tile(weights, (len(counts), 1))], axis=1)[by_end],
            end_s[by_end],
            self.instance.rents.cost_usd(offer.index, end_s[by_end]) / self.cost_unit,
            min(offer.limit, self.instance.n_tasks),
            offer.index in self._full_speed,
        )

    def _end_with_credits(self, offer: RentalOffer, ends: IntArray) -> IntArray:
        """Least ends of a VM by those of its cores: not before it has earned the credits that are spent."""
        rules = self._full_speed.get(offer.index)
        if rules is None:
            return ends
        result = np.full(ends.shape, NEVER, dtype=np.int64)
        counts = np.argwhere(ends < NEVER)
        last = np.maximum(ends[tuple(counts.T)], end_with_credits_s(rules, counts @ self._seconds(offer)))
        result[tuple(counts.T)] = np.where(last <= self._most_s(offer), last, NEVER)
        return result

    def _ends_of_cores(self, patterns: OfferPatterns) -> list[IntArray]:
        """Least ends of 1, 2, ... cores: Z_k(a) = min over patterns p of max(load of p, Z_k-1(a - p))."""
        shape = tuple((self.classes.size + 1).tolist())
        first = np.full(shape, NEVER, dtype=np.int64)
        first[(0,) * len(shape)] = 0
        first[tuple(patterns.counts.T)] = patterns.load_s
        result = [first]
        for _ in range(_useful_cores(patterns, self.classes) - 1):
            more = result[-1].copy()
            for counts, load in zip(patterns.counts.tolist(), patterns.load_s.tolist(), strict=True):
                checkpoint()
                count_work(ITERATIONS.state * more.size)
                target = more[tuple(slice(count, None) for count in counts)]
                source = result[-1][tuple(slice(0, size - count) for count, size in zip(counts, shape, strict=True))]
                np.minimum(target, np.maximum(source, load), out=target)
            result.append(more)
        return result

    def _ends_of_one_class(self, patterns: OfferPatterns) -> list[IntArray]:
        """Least ends of one class of tasks: as many rounds as it takes."""
        each = int(patterns.load_s[0])
        tasks = np.arange(int(self.classes.size[0]) + 1)
        result = []
        for cores in range(1, _useful_cores(patterns, self.classes) + 1):
            ends = -(-tasks // cores) * each
            result.append(np.where(ends <= patterns.load_s[-1], ends, NEVER))
        return result

    # ---------------------------------------------------------------- states

    @property
    def n_states(self) -> int:
        """Number of states, the empty one included."""
        return math.prod(self._shape)

    @property
    def first_with_all_tasks(self) -> int:
        """Flat index from which on all tasks run: those states come last."""
        n_classes = len(self.classes)
        return int(self.strides[:n_classes] @ self.most[:n_classes])

    def counts_of(self, states: IntArray) -> IntArray:
        """Count vectors of flat indices, shape (n_states, n_dimensions)."""
        return np.asarray(states[:, None] // self.strides % (self.most + 1))

    # -------------------------------------------------------------- read back

    def cores_of_vm(self, k: int, row: int) -> list[tuple[IntArray, int]]:
        """Split the tasks of a VM into cores that end with it at the latest.

        From the last core on, each takes a pattern that leaves the others enough time.
        """
        table = self.vm_tables[k]
        left, end = table.counts[row, : len(self.classes)].copy(), int(table.end_s[row])
        patterns = table.patterns
        # The tables hold ends, not ways to them: what a core runs is found again, for the few VMs of a plan.
        candidates, loads = patterns.counts[patterns.load_s <= end], patterns.load_s[patterns.load_s <= end]
        result = []
        for others in reversed(table.ends_of_cores[:-1]):
            if others[tuple(left)] <= end:
                continue  # this core may stay idle
            fits = np.flatnonzero((candidates <= left).all(axis=1))
            place = fits[np.flatnonzero(others[tuple((left - candidates[fits]).T)] <= end)[0]]
            result.append((candidates[place], int(loads[place])))
            left = left - candidates[place]
        if left.any():
            result.append((left, int(table.ends_of_cores[0][tuple(left)])))
        return result


def _useful_cores(patterns: OfferPatterns, classes: TaskClasses) -> int:
    return min(patterns.offer.vcpus, int(classes.size.sum()))
