"""The primary scheduling heuristic of HADS: greedy, in three phases (Algorithms 2 and 3).

The type of a new spot VM is chosen by weighted round robin.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import groupby, islice
from typing import Literal

import numpy as np

from ...core.limits import checkpoint, stop_point
from ...core.quantities import KB_PER_MB
from ...core.wording import counted
from ...instances.entries import FULL_SPEED, MARKETS, NEVER, RentalOffer, VmsLeft, type_memory_kb
from ...instances.instance import Instance
from ...schedules.method import MANY_TASKS, Outcome
from ...schedules.schedule import Schedule
from ...schedules.timing import VmTimeline


def interleaved_round_robin(weights: Sequence[int]) -> Iterator[int]:
    """Yield positions for ever, each as often as its weight says, interleaved as in the Linux Virtual Server.

    The weight asked for falls by the greatest common divisor with every round, and wraps to the largest; in each
    round the positions with at least that weight are drawn, in their order.

    Parameters
    ----------
    weights : sequence of int
        Positive weights; there must be at least one.
    """
    if not weights or min(weights) < 1:
        raise ValueError("weights must be positive, and at least one")
    step = math.gcd(*weights)
    asked = max(weights)
    while True:
        yield from (position for position, weight in enumerate(weights) if weight >= asked)
        asked -= step
        if asked <= 0:
            asked = max(weights)


def offer_weights(ranks: Sequence[float]) -> list[int]:
    """Integer weights 1 to 3 of ranks: ``ceil(2 (r - min) / (max - min)) + 1``, all 1 if the ranks are the same.

    HADS eq. 3 gives the rank, Gflops per price; that it becomes such a weight is in no paper, but it is what
    reproduces the VM mixes of HADS Table 9.
    """
    low, high = min(ranks), max(ranks)
    if not high > low:
        return [1] * len(ranks)
    return [math.ceil(2 * (rank - low) / (high - low)) + 1 for rank in ranks]


def offer_ranks(instance: Instance, offers: Sequence[RentalOffer]) -> list[float]:
    """Computing power per price of each offer (HADS eq. 3).

    If some VM type gives no ``gflops``, the power of all is taken to be their cores by the speed at which they run
    the tasks, relative to the fastest type for each task.
    """
    if all(offer.vm_type.gflops is not None for offer in offers):
        powers = [offer.vm_type.gflops or 0.0 for offer in offers]
    else:
        columns = [offer.type_index for offer in offers]
        runtime = instance.runtime_s[:, columns].astype(float)
        speed = np.where(runtime < NEVER, runtime.min(axis=1, keepdims=True) / runtime, 0.0)
        means = instance.group_size @ speed / instance.n_tasks
        powers = [offer.vcpus * float(mean) for offer, mean in zip(offers, means, strict=True)]
    return [power / offer.price_usd_per_s for power, offer in zip(powers, offers, strict=True)]


@dataclass(frozen=True, slots=True)
class GreedyOptions:
    """Options where the paper is silent or its authors' program differs.

    Attributes
    ----------
    phase1_order : {"price", "makespan"}
        Order in which phase 1 tries the selected VMs: by price as in Algorithm 2, line 6, or by their current end as
        in the authors' program. Ties go to the VM selected first.
    phase2_draws : int, optional
        Draws of the weighted round robin for a new spot VM; as many as there are spot types if absent (the authors'
        program). Line 20 of Algorithm 2 makes 1. A draw of a type whose limit is reached counts.
    type_limit : {"market", "shared"}
        Whether the limit of a VM type holds in each market, or for both together as in the authors' program.
    overhead_test : {"checkpoints", "paper"}
        What Algorithm 3 adds to a task on a spot VM when it tests the limit: the checkpoints that will be taken, or
        ``e * ovh`` (line 2), which is at least as much.
    """

    phase1_order: Literal["price", "makespan"] = "price"
    phase2_draws: int | None = None
    type_limit: Literal["market", "shared"] = "market"
    overhead_test: Literal["checkpoints", "paper"] = "checkpoints"


def greedy(instance: Instance, options: GreedyOptions | None = None) -> Outcome:
    """Plan by the primary scheduling heuristic of HADS (Algorithm 2).

    Tasks are taken by descending memory (line 2, stable). Each goes to a VM selected before (phase 1, lines 5-17),
    else to a new spot VM by weighted round robin (phase 2, lines 18-28), else to the cheapest new on-demand VM
    (phase 3, lines 29-35). Burstable types are not used; HADS does not know them.

    Parameters
    ----------
    instance : Instance
        With ``d_spot_s`` set if spot VMs are offered.
    options : GreedyOptions, optional
        Variants.

    Returns
    -------
    Outcome
        The plan, or why there is none. That the heuristic finds none does not prove that there is none.

    Notes
    -----
    A task ends strictly before the limit, as printed (Algorithm 3, line 4). Phase 3 as printed takes the cheapest
    on-demand VM without a test; here, the cheapest on which the task meets the deadline and the memory.
    """
    fleet = _Fleet(instance, options or GreedyOptions())
    burstable = sorted({offer.vm_type.name for offer in instance.offers if offer.burstable and offer.limit})
    warnings = (f"the greedy does not use burstable VM types: {', '.join(burstable)}",) if burstable else ()
    order = np.argsort(-instance.memory_kb[instance.task_group], kind="stable")
    groups = instance.task_group[order].tolist()
    # A first plan is worth more than the time that it takes, but of a large bag.
    look = stop_point if instance.n_tasks <= MANY_TASKS else checkpoint
    for task, group in zip(order.tolist(), groups, strict=True):
        look()
        placed = fleet.place_on_selected(task, group) or fleet.place_on_spot(task, group)
        if not placed and not fleet.place_on_demand(task, group):
            return Outcome(None, fleet.explain(task, group), warnings)
    return Outcome(fleet.schedule(), warnings=warnings)


class _VmsOfOffer:
    """The VMs selected of an offer, and when the first core of each is free.

    Parameters
    ----------
    limit_s : int
        When its VMs must end.
    """

    def __init__(self, limit_s: int) -> None:
        self.limit_s = limit_s
        self.vms: list[int] = []
        self.free_s = np.zeros(16, dtype=np.int64)
        self.none_before = NEVER  # there are none
        """A moment before which none is free."""

    def add(self, vm: int, ready_s: int) -> int:
        """Select a VM; return its position among those of the offer."""
        position = len(self.vms)
        if position == len(self.free_s):
            self.free_s = np.concatenate([self.free_s, np.zeros_like(self.free_s)])
        self.vms.append(vm)
        self.free_s[position] = ready_s
        self.none_before = 0
        return position

    def free_before(self, moment: int) -> Iterator[int]:
        """Free VMs before a moment, in the order in which they were selected."""
        fits = self.free_s[: len(self.vms)] < moment
        first = int(fits.argmax())
        if not fits[first]:
            self.none_before = moment
            return
        yield self.vms[first]
        for position in (first + 1 + np.flatnonzero(fits[first + 1 :])).tolist():
            yield self.vms[position]


class _Fleet:
    """The selected VMs and the plan so far.

    Phase 1 tests all of an offer at once on arrays; only where memory may bind is a VM then looked at more closely.
    """

    def __init__(self, instance: Instance, options: GreedyOptions) -> None:
        self.instance = instance
        self.options = options
        offers = [offer for offer in instance.offers if not offer.burstable]
        self.spot = [offer for offer in offers if offer.market == "spot" and offer.limit]
        self.on_demand = sorted(
            (offer for offer in offers if offer.market == "on-demand" and offer.limit),
            key=lambda offer: offer.price_usd_per_hour,
        )
        # The round robin's state lives on from task to task.
        weights = offer_weights(offer_ranks(instance, self.spot)) if self.spot else []
        self.draws_per_cycle = sum(weights)
        self.draws = (self.spot[position] for position in interleaved_round_robin(weights)) if weights else iter(())
        self.duration_s = instance.duration_s[:, :, FULL_SPEED]
        self.tested_s = self._tested_durations()
        self.memory_kb = instance.memory_kb.tolist()
        self.rented: Counter[int] = Counter()
        self.left = VmsLeft(instance)
        self.timelines: list[VmTimeline] = []
        self.vm_offer: list[int] = []
        self.place: list[tuple[_VmsOfOffer, int]] = []
        self.vms_of = {offer.index: _VmsOfOffer(self._limit_s(offer)) for offer in [*self.spot, *self.on_demand]}
        by_price = sorted([*self.spot, *self.on_demand], key=lambda offer: offer.price_usd_per_hour)
        self.by_price = [
            [(offer.index, self.vms_of[offer.index]) for offer in alike]
            for _, alike in groupby(by_price, key=lambda offer: offer.price_usd_per_hour)
        ]
        n_tasks = instance.n_tasks
        self.task_vm = np.zeros(n_tasks, dtype=np.int64)
        self.task_core = np.zeros(n_tasks, dtype=np.int64)
        self.task_start_s = np.zeros(n_tasks, dtype=np.int64)

    def _tested_durations(self) -> np.typing.NDArray[np.int64]:
        """Durations for the tests of Algorithm 3, shape (n_groups, n_offers)."""
        checkpoints = self.instance.checkpoint
        if self.options.overhead_test == "checkpoints" or checkpoints is None:
            return self.duration_s
        tested = self.duration_s.copy()
        for offer in self.spot:
            runtime = self.instance.offer_runtime_s[:, offer.index]
            with_overhead = np.ceil(runtime.astype(float) * (1 + checkpoints.overhead_fraction) * (1 - 1e-12))
            tested[:, offer.index] = np.where(runtime < NEVER, with_overhead, NEVER)
        return tested

    # ----------------------------------------------------------------- phases

    def place_on_selected(self, task: int, group: int) -> bool:
        """Phase 1: the first VM selected before that takes the task in time."""
        if self.options.phase1_order == "price":
            return any(self._try(vm, task, group) for vm in self._selected_by_price(group))
        first_to_end = sorted(range(len(self.vm_offer)), key=lambda vm: self.timelines[vm].end_s)
        return any(self._try(vm, task, group) for vm in first_to_end)

    def _selected_by_price(self, group: int) -> Iterator[int]:
        """VMs selected before on which a task may end in time: the cheapest first, at a tie the one selected first."""
        tested = self.tested_s[group].tolist()
        for alike in self.by_price:
            found = [
                vms.free_before(moment) for k, vms in alike if (moment := vms.limit_s - tested[k]) > vms.none_before
            ]
            if found:
                # VMs are numbered as they were selected: merged, those of several offers of one price come in that
                # order.
                yield from found[0] if len(found) == 1 else merge(*found)

    def place_on_spot(self, task: int, group: int) -> bool:
        """Phase 2: a new spot VM of the type that the weighted round robin draws."""
        if all(self.left.of(offer.index) <= 0 for offer in self.spot):
            return False
        tries = len(self.spot) if self.options.phase2_draws is None else self.options.phase2_draws
        tries = min(tries, self.draws_per_cycle)  # then every type has been drawn
        return any(self._rent(offer, task, group) for offer in islice(self.draws, tries))

    def place_on_demand(self, task: int, group: int) -> bool:
        """Phase 3: the cheapest new on-demand VM."""
        return any(self._rent(offer, task, group) for offer in self.on_demand)

    def _rent(self, offer: RentalOffer, task: int, group: int) -> bool:
        """Rent a VM for a task, if the limit of its type allows it and the task ends in time on it."""
        rented = self.rented[offer.index]
        if self.options.type_limit == "shared":
            rented = sum(
                self.rented[other.index] for other in self.instance.offers if other.type_index == offer.type_index
            )
        ready = int(self.instance.ready_s[offer.index])
        full = rented >= offer.limit or self.left.of(offer.index) <= 0
        if full or ready + self.tested_s[group, offer.index] >= self._limit_s(offer):
            return False
        self.rented[offer.index] += 1
        self.left.take(offer.index)
        vm = self._add_vm(offer)
        return self._try(vm, task, group)

    # ------------------------------------------------------------------ state

    def _limit_s(self, offer: RentalOffer) -> int:
        return self.instance.time_limit_s(offer.market)

    def _add_vm(self, offer: RentalOffer) -> int:
        vm = len(self.vm_offer)
        memory_kb = None if self.instance.memory_never_binds[offer.type_index] else offer.memory_kb
        ready = int(self.instance.ready_s[offer.index])
        self.timelines.append(VmTimeline(offer.vcpus, memory_kb, ready))
        self.vm_offer.append(offer.index)
        vms = self.vms_of[offer.index]
        self.place.append((vms, vms.add(vm, ready)))
        return vm

    def _try(self, vm: int, task: int, group: int) -> bool:
        """Append a task to a VM if it ends before the VM's limit (Algorithm 3)."""
        timeline = self.timelines[vm]
        offer, need_kb = self.vm_offer[vm], self.memory_kb[group]
        duration = int(self.duration_s[group, offer])
        start = timeline.earliest_start_s(need_kb, duration)
        if start is None or start + int(self.tested_s[group, offer]) >= self.vms_of[offer].limit_s:
            return False
        self.task_vm[task] = vm
        self.task_core[task] = timeline.append(start, need_kb, duration)
        self.task_start_s[task] = start
        vms, position = self.place[vm]
        vms.free_s[position] = timeline.earliest_core_s  # never earlier than before
        return True

    def schedule(self) -> Schedule:
        """Return the plan."""
        no_baseline = np.zeros(self.instance.n_tasks, dtype=bool)
        vm_offer = np.array(self.vm_offer, dtype=np.int64)
        return Schedule(self.instance, vm_offer, self.task_vm, self.task_core, self.task_start_s, no_baseline)

    def explain(self, task: int, group: int) -> str:
        """Say why a task found no place: which limit stands in the way, by how much."""
        name = self.instance.task_ids[task]
        reasons = []
        best_late = math.inf
        for vm, timeline in enumerate(self.timelines):
            offer = self.vm_offer[vm]
            tested = int(self.tested_s[group, offer])
            start = timeline.earliest_start_s(int(self.instance.memory_kb[group]), tested) if tested < NEVER else None
            if start is not None:
                best_late = min(best_late, start + tested - self.vms_of[offer].limit_s)
        if best_late < math.inf:
            late = counted(int(best_late) + 1, "second")  # the limit itself is too late
            reasons.append(f"on the VMs rented it would end {late} too late, at best")
        reasons += [reason for offer in [*self.spot, *self.on_demand] if (reason := self._obstacle(offer, group))]
        if not self.spot and not self.on_demand:
            reasons.append("no regular (non-burstable) VM type is offered in the markets allowed")
        left_out = [offer for offer in self.instance.offers if offer.burstable and offer.limit]
        reasons += [f"{offer}: burstable, which the greedy does not use" for offer in left_out]
        head = f"task {name!r} finds no place, with {counted(len(self.timelines), 'VM')} in use:"
        return "\n".join([head, *(f"  {reason}" for reason in reasons)])

    def _obstacle(self, offer: RentalOffer, group: int) -> str:
        """Why no new VM of an offer takes a task; empty if one does."""
        end = int(self.instance.ready_s[offer.index] + self.tested_s[group, offer.index])
        limit = self._limit_s(offer)
        if end >= NEVER:
            need_mb = self.instance.tasks[group].memory_mb
            if self.instance.needed_kb[group] > (size_kb := type_memory_kb(offer.vm_type)):
                return f"{offer}: it needs {need_mb:g} MB, the VM has {size_kb / KB_PER_MB:g} MB"
            if self.instance.cores[group] > offer.vm_type.vcpus:
                return f"{offer}: it needs {self.instance.cores[group]} cores, the VM has {offer.vm_type.vcpus}"
            if not self.instance.in_market[group, MARKETS.index(offer.market)]:
                return f"{offer}: it may not be in that market"
            return f"{offer}: it has no run time there"
        if end >= limit:
            what = "D_spot" if offer.market == "spot" else "the deadline"
            return f"{offer}: a new VM would end it at {end} s, not before {what} ({limit} s)"
        if self.rented[offer.index] >= offer.limit:
            return f"{offer}: {counted(offer.limit, 'VM')} rented, the limit"
        if self.left.of(offer.index) <= 0:
            group_limits = self.instance.group_limits
            rented = np.array([self.rented[other.index] for other in self.instance.offers])
            full = [
                limit.name for limit in group_limits if limit.weights @ rented + limit.weights[offer.index] > limit.most
            ]
            return f"{offer}: {full[0]} is used up"
        if self.options.type_limit == "shared":
            return f"{offer}: the limit of {counted(offer.limit, 'VM')}, shared by both markets, is reached"
        return ""
