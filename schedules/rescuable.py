"""Time to do again what spot VMs may lose: instances whose plans leave it, and plans in the order that leaves most.

What a plan that survives must keep is a property of the instance, so that bounds and methods see it as they see any
other limit; which order of tasks keeps it is known of a plan only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeVar, cast

import numpy as np

from ..core.quantities import MAX_SECONDS, NOISE, BoolArray, FloatArray, IntArray, read_only
from ..core.record_lists import grouped_by
from ..instances.entries import BASELINE, FULL_SPEED, NEVER, RentalOffer, due_s, limits_of, most_within
from ..instances.instance import Instance, RescueTime, TableOfBag
from .schedule import Schedule

Kind = TypeVar("Kind", bound=Instance)

LOST_AT_ONCE: Mapping[str, Literal["pool", "type"]] = {"one-pool": "pool", "one-type": "type"}
"""Spot VMs that are lost at one moment at some levels; at the others, all of them."""
_OF_LATEST = {"duration_s", "sustained_s", "latest_end_s", "rescue_time"}
"""Properties that follow from the latest ends of tasks."""
_MOMENTS = 4
"""Most moments after the first second for which `rescue_time` has a limit, of each set of offers."""


class RescuableInstance(Instance):
    """An instance in which each task on a spot VM can be done again on demand if it is lost in its last second.

    All plans that survive the loss of a type keep that. So a bound of these plans is one of all that survive, and a
    task that has no time for it on any spot VM is never there.

    Attributes
    ----------
    rescued_by_s : int
        By when what is lost is done again: the deadline of the bag, also where a plan is to end earlier.
    lost_at_once : {"pool", "type", "market"}
        What goes down at one moment: all spot VMs of a type, or of all types.
    rescue_share : float
        Share of the time on demand that heuristics may count on: not all of it can be filled with whole tasks. Bounds
        count on all of it.
    """

    leaves_time: ClassVar[bool] = True
    rescued_by_s: int
    lost_at_once: Literal["pool", "type", "market"]
    rescue_share: float = 1.0

    @classmethod
    def of(cls, instance: Instance, lost_at_once: Literal["pool", "type", "market"]) -> RescuableInstance:
        """Return an instance as one of this kind; spot VMs end early enough for the shortest task to be done again."""
        made = _made_of(cls, instance, rescued_by_s=instance.deadline_s, lost_at_once=lost_at_once)
        spot = instance.offer_is_spot
        if not spot.any():
            return made
        latest_s = int(made.latest_end_s[:, spot].max())
        # A D_spot after the latest end of any task would promise heuristics time that no plan can use.
        return made.replace(d_spot_s=max(latest_s, 0)) if latest_s < made.time_limit_s("spot") else made

    def counting_on(self, rescue_share: float) -> RescuableInstance:
        """Return the instance with another share of the time on demand."""
        if rescue_share == self.rescue_share:
            return self
        made = self.model_copy()
        made.__dict__.update(self.__dict__ | {"rescue_share": rescue_share})
        return made

    @cached_property
    def latest_end_s(self) -> IntArray:
        """Latest end of a task of each group on each offer, shape (n_groups, n_offers); negative where it never is."""
        latest = np.array(super().latest_end_s)
        if not self.offer_is_spot.any():
            return read_only(latest)
        for offer in self.offers:
            if offer.market == "spot":
                latest[:, offer.index] = np.minimum(latest[:, offer.index], self._latest_end_on(offer))
        return read_only(latest)

    def _latest_end_on(self, offer: RentalOffer) -> IntArray:
        """Latest end of a task of each group on a spot offer that can be done again whenever it is lost.

        The worst moments are its last second, and the last one before its first checkpoint or before its last one is
        complete: from one checkpoint to the next, what is left falls as evenly as time goes by.
        """
        begin_s = self._redone_by_s + 1
        count = self.checkpoint_count[:, offer.type_index]
        latest: IntArray = begin_s - self._redone_after_s(offer.type_index, count)
        speed = 1.0 if offer.vm_type.burstable is None else offer.vm_type.burstable.baseline_fraction
        mode = FULL_SPEED if offer.vm_type.burstable is None else BASELINE
        duration_s = np.minimum(self._any_duration_s[:, offer.index, mode], MAX_SECONDS)
        period_s = np.where(count > 0, self.checkpoint_interval_s + self.dump_s, 0.0) / speed
        for done in (np.zeros_like(count), np.maximum(count - 1, 0)):
            lost_after_s = np.ceil((done + 1) * period_s - NOISE).astype(np.int64)
            before = begin_s - self._redone_after_s(offer.type_index, done) - lost_after_s + duration_s
            latest = np.where((count > 0) & (self._least_on_demand_s < NEVER), np.minimum(latest, before), latest)
        return latest

    @cached_property
    def least_deadline_s(self) -> IntArray:
        """Deadline from which a task of each group may be on some spot VM, shape (n_groups,); `NEVER` if on none.

        It moves no earlier deadline that a task has of its own.
        """
        least, by_deadline = np.full(len(self.tasks), NEVER), self._redone_by_s == self.rescued_by_s
        for offer in self.offers:
            if offer.market == "spot" and (offer.limit or self.machines):
                seconds = self._any_duration_s[:, offer.index, FULL_SPEED]
                early_s = self._latest_end_on(offer) - seconds - self._first_s[:, offer.index]
                able = (seconds < NEVER) & (self._least_on_demand_s < NEVER) & by_deadline
                least = np.where(able, np.minimum(least, self.rescued_by_s - early_s), least)
        return read_only(least)

    @cached_property
    def rescue_time(self) -> RescueTime | None:
        """Core seconds on demand that limit what may be lost at once; None where all could be lost, and from a state.

        A linear limit for each set of offers that go down at one moment, and for some moments t of loss: what is then
        lost as a whole fits into the cores that may be rented, from t and the overhead on until the deadline. All
        tasks of the set are lost as a whole as long as none can have ended or written a checkpoint. In the first
        second, the plan's own tasks on demand take from the same cores; later, how much of them is left is not known.
        """
        if self.machines:
            return None
        spot, own = self.offer_is_spot, ~self.offer_is_spot & ~self.offer_is_burstable
        least_s = np.where(self._least_on_demand_s < NEVER, self._least_on_demand_s, 0)
        period_s = np.ceil(np.minimum(self.checkpoint_interval_s + self.dump_s, float(NEVER))).astype(np.int64)
        run_s = self.duration_s[:, :, FULL_SPEED]
        whole_s = np.where(run_s < NEVER, np.minimum(run_s, period_s[:, None]), 0)
        again_s = np.zeros(run_s.shape, dtype=np.int64)
        again_s[:, spot] = least_s[:, None]
        again_s[:, own] = np.minimum(run_s[:, own], MAX_SECONDS)
        regular = [offer.index for offer in _regular_offers(self)]
        takeover_s = int(self.takeover_s[regular].min(initial=self.rescued_by_s))
        first_s = int(self.ready_s[regular].min(initial=self.rescued_by_s))
        cores, left_s = self._most_cores_on_demand(), max(self.rescued_by_s - first_s, 0)
        sets: list[tuple[BoolArray, int, int]] = []
        for lost in self._lost_at_once():
            # Where all tasks of the bag fit, the limit never binds, and only makes models larger.
            if self.rescue_share * cores * left_s < int(least_s @ self.group_size):
                sets.append((lost | own, 0, cores * left_s))
            # Work that may be lost as a whole at a moment or later: the limit can bind where it exceeds the time left.
            begin_s = int(self.ready_s[lost].min(initial=self.rescued_by_s))
            longest_s = whole_s[:, lost].max(axis=1, initial=0)
            moments, group_moment = np.unique(longest_s, return_inverse=True)
            work_s = np.bincount(group_moment, least_s * self.group_size)[::-1].cumsum()[::-1]
            most_s = cores * np.maximum(self.rescued_by_s - begin_s - moments + 1 - takeover_s, 0)
            short = np.flatnonzero((moments > 0) & (self.rescue_share * most_s < work_s))
            # A few moments, evenly apart: each is another row of every model, and neighbours say nearly the same.
            chosen = short[np.unique(np.linspace(0, len(short) - 1, _MOMENTS).astype(int))] if len(short) else short
            sets += [(lost, int(moments[at]), int(most_s[at])) for at in chosen.tolist()]
        if not sets:
            return None
        members, from_s, most_s = (np.array(column, dtype=np.int64) for column in zip(*sets, strict=True))
        return RescueTime(again_s, whole_s, members, from_s, most_s, (self.rescue_share * most_s).astype(np.int64))

    def _lost_at_once(self) -> list[BoolArray]:
        """Sets of offers that are interrupted at one moment, as masks of shape (n_offers,)."""
        spot = self.offer_is_spot
        if self.lost_at_once == "market":
            return [spot]
        pools = [vm_type.name if self.lost_at_once == "pool" else vm_type.instance_type for vm_type in self.vm_types]
        types = np.array([pools.index(pools[offer.type_index]) for offer in self.offers])
        return [spot & (types == number) for number in np.unique(types[spot]).tolist()]

    def _most_cores_on_demand(self) -> int:
        """Cores of regular VMs on demand, as many as may be rented."""
        offers = _regular_offers(self)
        vcpus = np.array([float(offer.vcpus) for offer in offers])
        vms = np.array([float(min(offer.vm_type.offers["on-demand"].limit, self.n_tasks)) for offer in offers])
        return most_within(vcpus, vms, limits_of(self.limits, offers))

    @cached_property
    def _on_demand_s(self) -> Mapping[int, IntArray]:
        return on_demand_s(self)

    @cached_property
    def _least_on_demand_s(self) -> IntArray:
        """Least time of a task of each group on a regular VM on demand; `NEVER` if it can run on none."""
        least: IntArray = np.min([*self._on_demand_s.values(), np.full(len(self.tasks), NEVER)], axis=0)
        return least

    @property
    def _first_s(self) -> IntArray:
        """Earliest start of a task of each group on a VM of each offer, shape (n_groups, n_offers)."""
        ready_s = np.zeros_like(self.ready_s) if self.machines else self.ready_s
        return np.maximum(ready_s, self.release_s[:, None])

    @property
    def _redone_by_s(self) -> IntArray:
        """Second by which a task of each group that is lost must be done again, shape (n_groups,)."""
        if not self.has_dates:
            return np.full(len(self.tasks), self.rescued_by_s)
        return np.array([due_s(task, self.rescued_by_s) for task in self.task_rows], dtype=np.int64)

    def _redone_after_s(self, type_index: int, done: FloatArray) -> IntArray:
        """Seconds until a task of each group is done that is lost after ``done`` checkpoints, shape (n_groups,)."""
        return redone_after_s(self._on_demand_s, done, self.checkpoint_interval_s, self.runtime_s[:, type_index])

    @TableOfBag
    def _any_duration_s(self) -> IntArray:
        """Durations, also where no rescue would be possible; what `super` works out would be kept by its own name."""
        found: IntArray = Instance.__dict__["duration_s"].func(self)
        return found

    @cached_property
    def duration_s(self) -> IntArray:
        """Seconds for which a task occupies a core, shape (n_groups, n_offers, 2), where a rescue would be possible.

        `NEVER` where it could not be done again; tasks that run already are where they are.
        """
        table = np.array(self._any_duration_s)
        for mode in (FULL_SPEED, BASELINE):
            late = (table[:, :, mode] + self._first_s > self.latest_end_s) & self.offer_is_spot
            late[self.task_group[self.running.task]] = False
            table[:, :, mode][late] = NEVER
        return read_only(table)


def _regular_offers(instance: Instance) -> list[RentalOffer]:
    """Offers on demand of which there may be VMs that are not burstable."""
    return [
        offer
        for offer in instance.offers
        if offer.market == "on-demand" and not offer.burstable and offer.listed_as is None
        if instance.machines or instance.limits.most_vms(offer.vm_type, "on-demand")
    ]


def on_demand_s(instance: Instance) -> Mapping[int, IntArray]:
    """Least times of a task of each group on regular VMs on demand that there may be, shape (n_groups,).

    The keys are when these VMs can run moved tasks; `NEVER` is the time where none can.
    """
    indices = (offer.index for offer in _regular_offers(instance))
    by_takeover = grouped_by(indices, lambda index: int(instance.takeover_s[index]))
    return {seconds: instance.offer_runtime_s[:, of].min(axis=1) for seconds, of in by_takeover.items()}


def redone_after_s(
    on_demand: Mapping[int, IntArray], done: FloatArray, interval_s: FloatArray, runtime_s: IntArray
) -> IntArray:
    """Seconds from a loss until tasks with some checkpoints written can be done on demand; `NEVER` if on no VM.

    Parameters
    ----------
    on_demand : mapping
        Least times of these tasks; see `on_demand_s`.
    done, interval_s, runtime_s : arrays
        Checkpoints written, the work between two of them, and the run time where they were written.
    """
    # Where none is taken, the interval is infinite, and 0 times that would be no number.
    saved = np.where(done > 0, done * np.where(done > 0, interval_s, 0.0), 0.0) / runtime_s
    after = np.full(len(runtime_s), NEVER)
    for takeover_s, least_s in on_demand.items():
        left = np.ceil(np.where(least_s < NEVER, least_s, 0) * (1.0 - saved) - NOISE).astype(np.int64)
        after = np.where(least_s < NEVER, np.minimum(after, takeover_s + left), after)
    return after


def of_bag(instance: Instance) -> Instance:
    """Return the instance whose plans need not leave that time, with the D_spot of one whose plans must."""
    if not isinstance(instance, RescuableInstance):
        return instance
    return _made_of(Instance, instance)


def _made_of(kind: type[Kind], instance: Instance, **fields: Any) -> Kind:
    """Return an instance as one of a kind, with what is known of it already but for latest ends of tasks."""
    names = (instance.model_fields_set | {"format"}) & kind.model_fields.keys()
    made = cast("Kind", kind.model_construct(**{name: getattr(instance, name) for name in names}, **fields))
    computed = instance.__dict__.keys() - type(instance).model_fields.keys() - _OF_LATEST
    # Tables of durations of a large bag take seconds, and are the same for both kinds.
    made.__dict__.update({name: instance.__dict__[name] for name in computed})
    return made


# ---------------------------------------------------------------------------------------------------------------- plans


def rescuable(schedule: Schedule) -> Schedule | None:
    """Return the plan if all tasks that are lost with spot VMs can be done again on demand by the deadline.

    Where the order of the tasks on each core is what forbids it, the plan with the longest tasks first; None if neither
    leaves the time.
    """
    if not _fits_on_demand(schedule):
        return None
    if _in_time(schedule):
        return schedule
    ordered = longest_first_order(schedule)
    return ordered if _in_time(ordered) else None


def _in_time(schedule: Schedule) -> bool:
    """True if each task, but for those that run already, ends early enough."""
    instance = schedule.instance
    latest_s = instance.latest_end_s[instance.task_group, schedule.vm_offer[schedule.task_vm]]
    late = schedule.task_end_s > latest_s
    late[instance.running.task] = False
    return not late.any()


def _fits_on_demand(schedule: Schedule) -> bool:
    """True if on-demand VMs have time for all tasks lost at once before any has ended."""
    time = schedule.instance.rescue_time
    if time is None:
        return True
    places = schedule.instance.task_group, schedule.vm_offer[schedule.task_vm]
    counts = (time.whole_s[places] >= time.from_s[:, None]) * time.members[:, places[1]]
    return bool((counts @ time.again_s[places] <= time.most_s).all())


def longest_first_order(schedule: Schedule) -> Schedule:
    """Return the plan with the tasks of each spot core in the order in which they can be lost latest.

    What would take longest on demand comes first: by the argument of the earliest due date, if any order lets every
    task be done again after it is lost just before its end, this one does. Cores end when they did, so that the plan
    costs and takes the same. Where memory may bind or tasks have dates, on burstable VMs, and on cores with gaps,
    nothing is changed; nor are tasks that run already.
    """
    base_s = core_base_s(schedule)
    rows, core = _movable(schedule, base_s)
    if not len(rows):
        return schedule
    left = redone_at_end_s(schedule)[rows]
    order = np.lexsort((schedule.task_start_s[rows], -left, core))
    rows, core = rows[order], core[order]
    before = np.cumsum(schedule.task_duration_s[rows]) - schedule.task_duration_s[rows]
    first = np.searchsorted(core, core)
    start = schedule.task_start_s.copy()
    start[rows] = base_s[core] + before - before[first]
    return replace(schedule, task_start_s=start)


def first_core(schedule: Schedule) -> IntArray:
    """Number of the first core of each VM, among all cores."""
    first: IntArray = np.cumsum(schedule.vm_vcpus) - schedule.vm_vcpus
    return first


def core_base_s(schedule: Schedule) -> IntArray:
    """Seconds from which each core can begin tasks, shape (n_cores,): VM ready, and what runs there already ended."""
    base_s = np.repeat(schedule.vm_ready_s, schedule.vm_vcpus)
    runs = schedule.instance.running.task
    core = first_core(schedule)[schedule.task_vm[runs]] + schedule.task_core[runs]
    np.maximum.at(base_s, core, schedule.task_end_s[runs])
    return base_s


def _movable(schedule: Schedule, base_s: IntArray) -> tuple[IntArray, IntArray]:
    """Tasks of spot VMs whose order is free, and their cores."""
    instance = schedule.instance
    types = np.array([offer.type_index for offer in instance.offers])[schedule.vm_offer]
    free = instance.memory_never_binds[types] & instance.offer_is_spot[schedule.vm_offer]
    free &= ~instance.offer_is_burstable[schedule.vm_offer]
    movable = free[schedule.task_vm]
    movable[instance.running.task] = False
    movable &= not instance.has_dates
    rows = np.flatnonzero(movable)
    core = first_core(schedule)[schedule.task_vm[rows]] + schedule.task_core[rows]
    busy = np.bincount(core, weights=schedule.task_duration_s[rows], minlength=len(base_s))
    end = np.zeros(len(busy), dtype=np.int64)
    np.maximum.at(end, core, schedule.task_end_s[rows])
    whole: BoolArray = busy == end - base_s
    return rows[whole[core]], core[whole[core]]


def redone_at_end_s(schedule: Schedule) -> IntArray:
    """Seconds until each task of a spot VM would be done if it were lost just before its end, shape (n_tasks,)."""
    instance = schedule.instance
    types = np.array([offer.type_index for offer in instance.offers])[schedule.vm_offer[schedule.task_vm]]
    group, interval = instance.task_group, schedule.checkpoint_interval_s
    written = np.where(np.isfinite(interval), instance.checkpoint_count[group, types], 0.0)
    on_demand = {takeover_s: run_s[group] for takeover_s, run_s in on_demand_s(instance).items()}
    return redone_after_s(on_demand, written, interval, instance.runtime_s[group, types])
