"""State of a plan that is carried out, and the instance that remains, for executors and replanning."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ..core.bill import paid_until_s, session_usd
from ..core.capacities import fits
from ..core.errors import InputError, Issue, public
from ..core.quantities import MAX_SECONDS, STATED, BoolArray, IntArray, Name, read_only
from ..core.record_lists import Records, picked, rows_of, with_fields
from ..core.records import FROZEN, FrozenDict, WholeDocument, duplicates, first_issues, made_all
from ..instances.entries import (
    BASELINE,
    FULL_SPEED,
    MAX_TASKS,
    NEVER,
    Burstable,
    Machine,
    RentalOffer,
    RunningTask,
    Slots,
    Task,
    duration_table,
    named_cores,
    offers_at_own_prices,
    offers_of_existing,
    wrong_cores,
)
from ..instances.instance import Instance, RunningTasks, held_s, machine_paid, rents_of
from .events import Draft, Event, VmRequested, events_of_words, have_happen, wrong_state
from .vm_state import TaskOnVm, VmState, VmStatus, billing_of, changed, several

if TYPE_CHECKING:
    from .schedule import Schedule


STATE_FORMAT: Literal["spotbag.state/1"] = "spotbag.state/1"


class State(WholeDocument):
    """Progress of a bag: finished and running tasks, rented VMs, money spent.

    All times are seconds since the bag was begun. A state never changes: `advance` returns the next one. Tasks that are
    neither done nor running wait.

    Attributes
    ----------
    instance : str
        Name of the instance.
    time_s : float
        The moment.
    spent_usd : float
        What has been spent until then.
    done : tuple of str
        Tasks that are finished.
    withdrawn : tuple of str
        Tasks that need not be done, whether the bag still has them or not.
    saved : dict of str to float
        Fraction of a task that is done already and need not be done again, in [0, 1): of a task that waits, by its last
        checkpoint; of one that runs, what was saved when it was started.
    vms : tuple of VmState
        VMs that are rented.
    gone : tuple of str
        Names of VMs that were rented, and are no more: no other VM gets one of them.

    Raises
    ------
    InputError
        With everything that is wrong.
    """

    FORMAT: ClassVar[str] = STATE_FORMAT
    SCHEMA: ClassVar[str] = "state.schema.json"
    most_entries: ClassVar[int] = MAX_TASKS
    format: Literal["spotbag.state/1"] = STATE_FORMAT
    instance: Name
    time_s: Annotated[float, Field(ge=0, le=MAX_SECONDS)] = 0.0
    spent_usd: Annotated[float, Field(ge=0)] = 0.0
    done: Annotated[tuple[Name, ...], Field(strict=False)] = ()
    withdrawn: Annotated[tuple[Name, ...], Field(strict=False)] = ()
    saved: Annotated[dict[Name, Annotated[float, Field(ge=0, lt=1)]], FROZEN] = Field(default_factory=FrozenDict)
    vms: Annotated[tuple[VmState, ...], Field(strict=False)] = ()
    gone: Annotated[tuple[Name, ...], Field(strict=False)] = ()

    # ------------------------------------------------------------------ making

    @classmethod
    @public
    def begin(cls, plan: Schedule) -> State:
        """Return the state in which the VMs of a plan have been requested, and nothing has run yet.

        Raises
        ------
        InputError
            If the plan was made from a state: see `follow`.
        """
        _refuse_from_state(plan)
        return cls._known(
            instance=plan.instance.name, time_s=0.0, vms=tuple(_requested(plan, 0.0, range(len(plan.vm_offer))))
        )

    @classmethod
    @public
    def planned(cls, plan: Schedule, time_s: float) -> State:
        """Return the state at a moment if all goes as planned, from the beginning; VMs end with their last task.

        Burstable VMs have the credits that the plan leaves them then.
        """
        _refuse_from_state(plan)
        if not 0 <= time_s <= MAX_SECONDS:
            raise wrong_state(f"cannot be at {time_s:g} s")
        # What happens at the moment itself has happened: tasks that end then are done, and those that start then run.
        ids, started = plan.instance.task_ids, plan.task_start_s <= time_s
        done = started & (plan.task_end_s <= time_s)
        running: dict[int, list[TaskOnVm]] = {}
        burstable = plan.instance.offer_is_burstable
        for task in np.flatnonzero(started & ~done).tolist():
            vm = int(plan.task_vm[task])
            mode: Literal["burst", "baseline"] | None = None
            if burstable[plan.vm_offer[vm]]:
                mode = "baseline" if plan.task_baseline[task] else "burst"
            running.setdefault(vm, []).append(
                TaskOnVm.model_construct(
                    task=ids[task],
                    core=int(plan.task_core[task]) * plan.instance.slots.cores,
                    start_s=float(plan.task_start_s[task]),
                    end_s=None,
                    mode=mode,
                    **several(plan.task_cores[task]),
                )
            )
        # A VM is terminated with its last task, but one that is still to boot has had none.
        there = (plan.vm_end_s > time_s) | (plan.vm_ready_s > time_s)
        alive = np.flatnonzero(there).tolist()
        vms = [
            vm.model_copy(
                update={"running": tuple(running.get(number, ())), "credits": _credits_at(plan, number, time_s)}
            )
            for number, vm in zip(alive, _requested(plan, 0.0, alive, time_s), strict=True)
        ]
        until_s = np.minimum(plan.vm_end_s, time_s)
        spent = float(plan.cost_until_usd(until_s).sum())
        # A session that begins at the moment itself has begun: what one costs at once is spent.
        begun = plan.vm_offer[(plan.vm_ready_s == time_s) & (plan.vm_end_s > time_s)]
        spent += math.fsum(session_usd(plan.instance.bills[offer], 0) for offer in begun.tolist())
        return cls._known(
            instance=plan.instance.name,
            time_s=float(time_s),
            spent_usd=spent,
            done=tuple([ids[task] for task in np.flatnonzero(done).tolist()]),
            vms=tuple(vms),
            gone=tuple(plan.vm_ids[number] for number in np.flatnonzero(~there).tolist()),
        )

    @classmethod
    @public
    def from_replay(cls, replay: Any) -> State:
        """Return the state of a replay at its present moment (`spotbag.replay.bags.state.ReplayState.remaining`)."""
        if not callable(getattr(replay, "remaining", None)):
            raise InputError(
                "replay", [Issue("", "must be the state of a replay, which policies are given", value=replay)]
            )
        found: State = replay.remaining()
        return found

    @classmethod
    def _known(cls, **fields: Any) -> State:
        """Make a state of fields that are known to be valid."""
        made: State = cls.model_construct(set(fields), format=STATE_FORMAT, **fields)
        return made

    def issues_between_fields(self) -> list[Issue]:
        """Faults between fields that are valid on their own."""
        return first_issues(self._issues())

    def _issues(self) -> Iterable[Issue]:
        yield from duplicates("done", "id", enumerate(self.done))
        yield from duplicates("withdrawn", "id", enumerate(self.withdrawn))
        yield from duplicates("gone", "name", enumerate(self.gone))
        yield from duplicates("vms", "id", ((index, vm.id) for index, vm in enumerate(self.vms)))
        gone = {*self.gone}
        for index, vm in enumerate(self.vms):
            if vm.id in gone:
                yield Issue(f"vms[{index}]", "is among those that are gone: no name is used twice", "id", vm.id, vm.id)
        done, withdrawn, seen = set(self.done), set(self.withdrawn), set[str]()
        for name in sorted(done & withdrawn):
            yield Issue("withdrawn", "is done as well", value=name)
        for index, vm in enumerate(self.vms):
            where, cores = f"vms[{index}]", set[int]()
            if vm.until_s is not None and vm.status != "draining":
                yield Issue(where, f"is of draining VMs; this one is {vm.status}", "until_s", vm.until_s, vm.id)
            if vm.running and vm.status in ("launching", "hibernated"):
                yield Issue(where, f"runs tasks, and is {vm.status}", "status", vm.status, vm.id)
            for entry in vm.running:
                if entry.task in done or entry.task in withdrawn or entry.task in seen:
                    what = "is done" if entry.task in done else "is withdrawn"
                    what = "runs twice" if entry.task in seen else what
                    yield Issue(where, f"{what}, and cannot run here", "running.task", entry.task, vm.id)
                if wrong_cores(entry):
                    rule = f"must be different ones of which core {entry.core} is the first"
                    yield Issue(where, rule, "running.cores", str([*named_cores(entry)]), vm.id)
                for core in named_cores(entry):
                    if core in cores:
                        yield Issue(where, "two tasks run on it", "running.core", core, vm.id)
                if entry.start_s > self.time_s:
                    rule = f"is after the moment of the state ({self.time_s:g} s)"
                    yield Issue(where, rule, "running.start_s", entry.start_s, vm.id)
                seen.add(entry.task)
                cores.update(named_cores(entry))

    # ------------------------------------------------------------------- going on

    @public
    def advance(self, time_s: float, *events: Event, **words: Any) -> State:
        """Return the state after what has happened since.

        Parameters
        ----------
        time_s : float
            The new moment.
        *events : Event
            What has happened, in the order in which it has (`spotbag.schedules.events`).
        **words
            The same as collections of names, as in earlier versions; they will go.

        Raises
        ------
        InputError
            If it cannot have happened: a VM or a task that is unknown there, a core that is taken, a time that runs
            backwards.
        """
        if words:
            events = (*events, *events_of_words(words))
        return self.advance_through(((time_s, event) for event in events), time_s)

    @public
    def advance_through(self, happened: Iterable[tuple[float, Event]], time_s: float) -> State:
        """Return the state at a moment after what has happened at several moments, such as those of a trace.

        Parameters
        ----------
        happened : iterable of (float, Event)
            When something has happened, and what, in that order, from the moment of this state on; see
            `spotbag.trace_events`.
        time_s : float
            The new moment. Events that come later are left out.

        Raises
        ------
        InputError
            As of `advance`.
        """
        vms = {vm.id: vm for vm in self.vms}
        done, withdrawn = dict.fromkeys(self.done), dict.fromkeys(self.withdrawn)
        after = Draft(self.time_s, self.spent_usd, vms, done, withdrawn, dict(self.saved), [*self.gone])
        _no_earlier(self.time_s, time_s, self.time_s)
        last_s = self.time_s
        for moment_s, event in happened:
            last_s = _no_earlier(last_s, moment_s, self.time_s)
            if moment_s <= time_s:
                after.time_s = float(moment_s)
                have_happen(event, after)
        after.time_s = float(time_s)
        for name in after.vms:
            after.settle(name)
        return self._known(
            instance=self.instance,
            time_s=after.time_s,
            spent_usd=float(after.spent_usd),
            done=tuple(after.done),
            withdrawn=tuple(after.withdrawn),
            saved=FrozenDict(after.saved),
            vms=tuple(after.vms.values()),
            gone=tuple(after.gone),
        )

    @public
    def follow(self, plan: Schedule) -> State:
        """Return the state in which the new VMs of a plan that was made from here have been requested.

        That is at the moment of this state: `advance` afterwards, not before.

        Raises
        ------
        InputError
            If there are, or were, VMs of their names.
        """
        new = _requested(plan, self.time_s, np.flatnonzero(plan.vm_machine < 0).tolist())
        return self.advance(self.time_s, *map(VmRequested, new))

    @public
    def with_credits_of(self, plan: Schedule) -> State:
        """Return the state in which VMs have the credits that a plan leaves them, where theirs are not known.

        That is known of VMs of a plan of the whole bag, whose times count as those of the state.
        """
        if plan.instance.machines or not plan.instance.offer_is_burstable[plan.vm_offer].any():
            return self
        of_plan = {name: number for number, name in enumerate(plan.vm_ids)}
        told: dict[str, VmState] = {}
        for vm in self.vms:
            number = of_plan.get(vm.id)
            if vm.credits is not None or vm.status not in ("running", "draining") or number is None:
                continue
            if plan.instance.offers[plan.vm_offer[number]].vm_type.name == vm.type:
                told[vm.id] = changed(vm, credits=_credits_at(plan, number, self.time_s))
        if not told:
            return self
        return self._known(**(self._fields() | {"vms": tuple(told.get(vm.id, vm) for vm in self.vms)}))

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in type(self).model_fields if name != "format"}

    # ------------------------------------------------------------- what is left

    @cached_property
    def running_ids(self) -> tuple[str, ...]:
        """Ids of the tasks that run."""
        return tuple([entry.task for vm in self.vms for entry in vm.running])

    @public
    def waiting_ids(self, instance: Instance) -> tuple[str, ...]:
        """Ids of the tasks that are neither done nor running nor withdrawn, in the order of the instance."""
        others = {*self.done, *self.running_ids, *self.withdrawn}
        return tuple([name for name in instance.task_ids if name not in others])

    @public
    def remaining(self, instance: Instance) -> Instance:
        """Return the instance that remains: the tasks that are not done, and the VMs that exist.

        Its times count from the moment of the state. Tasks that run are tasks of it, which every plan has where they
        run, but for those that would end after their VM is gone: these wait. What has been spent is spent; a budget is
        what is left of it.

        Plans are made in whole seconds. At a moment with a fraction of one, they count from the next moment that is
        whole seconds before the deadline, and thereby before D_spot; plans of a state ask for new VMs at that moment or
        later, and no credits are earned by a new VM before it. Durations are whole seconds, so whatever is ready or
        free in between can wait until the next such moment, and no task that would end by the deadline ends after it:
        no plan is late, and none is lost but one that needs credits of the second in which a task that runs ends, or a
        VM is ready. What is left of a task that runs is rounded up, and so is when a VM is ready; until when one is
        paid is rounded down. Costs count from that moment as well, which is less than a second after that of the state,
        and credits are those that a VM has by then.

        Raises
        ------
        InputError
            If the state is of another instance, the deadline has passed, or nothing is left.
        """
        rest = _Remaining(self, instance)
        left = rest.instance()
        if all(vm.until_s is None for vm in self.vms):
            return left
        ends_s = dict(zip(self.running_ids, left.running_end_s.tolist(), strict=True))
        vms = []
        for vm in self.vms:
            last_s = math.inf if vm.until_s is None else math.floor(vm.until_s - rest.now_s + STATED)
            vms.append(changed(vm, running=tuple(run for run in vm.running if ends_s[run.task] <= last_s)))
        return _Remaining(self._known(**(self._fields() | {"vms": tuple(vms)})), instance).instance()


def _no_earlier(last_s: float, moment_s: float, time_s: float) -> float:
    """Return a moment; refuse one that is before the last one, or before the time of a state."""
    if not time_s <= moment_s <= MAX_SECONDS:
        raise wrong_state(f"cannot go on to {moment_s:g} s: it is at {time_s:g} s")
    if moment_s < last_s:
        raise wrong_state(f"cannot go on from {last_s:g} s to {moment_s:g} s: events come in their order")
    return moment_s


def _refuse_from_state(plan: Schedule) -> None:
    if plan.instance.machines:
        raise InputError(
            "plan", [Issue("", "was made from a state, and begins there: state.follow(plan) goes on with it")]
        )


def _requested(plan: Schedule, at_s: float, numbers: Iterable[int], now_s: float | None = None) -> Iterable[VmState]:
    """VMs of a plan that are requested at a moment, or were and are looked at later."""
    offers, rules = plan.instance.offers, [*map(billing_of, plan.instance.bills)]
    for number in numbers:
        offer = offers[plan.vm_offer[number]]
        ready_s = at_s + float(plan.vm_ready_s[number])
        yield VmState.model_construct(
            id=plan.vm_ids[number],
            type=offer.vm_type.name,
            market=offer.market,
            status="running" if now_s is not None and ready_s <= now_s else "launching",
            ready_s=ready_s,
            paid_until_s=None,
            price_usd_per_hour=offer.price_usd_per_hour,
            billing=rules[offer.index],
            credits=None,
            running=(),
        )


def _credits_at(plan: Schedule, vm: int, time_s: float) -> float | None:
    """Credits of a burstable VM of a plan at a moment; None of others, and before it is ready: its first ones."""
    rules: Burstable | None = plan.instance.offers[plan.vm_offer[vm]].vm_type.burstable
    ready_s = int(plan.vm_ready_s[vm])
    if rules is None or time_s <= ready_s:
        return None
    tasks = np.flatnonzero(plan.task_vm == vm)
    starts, ends, baseline = plan.task_start_s[tasks], plan.task_end_s[tasks], plan.task_baseline[tasks]
    changes = np.concatenate([starts, ends])
    moments = [ready_s, *np.unique(changes[(changes > ready_s) & (changes < time_s)]).tolist(), time_s]
    balance = min(rules.initial_credits, rules.credit_cap)
    for since_s, until_s in itertools.pairwise(moments):
        runs = (starts <= since_s) & (ends > since_s)
        at_baseline = int((runs & baseline).sum())
        balance = rules.credits_after(balance, until_s - since_s, int(runs.sum()) - at_baseline, at_baseline)
    return balance


class _Remaining:
    """The instance that a state leaves of another: fields that are known to be valid, and arrays that follow."""

    def __init__(self, state: State, instance: Instance) -> None:
        self.state = state
        self.given = instance
        if state.instance != instance.name:
            raise wrong_state(f"is of the instance {state.instance!r}, not of {instance.name!r}")
        if instance.machines:
            rule = "is to be applied to the bag as it was at the beginning, not to what a state has left of it"
            raise wrong_state(rule)
        self.left_s = math.floor(instance.deadline_s - state.time_s + STATED)
        self.now_s = instance.deadline_s - self.left_s  # from when times count
        self.tasks = self._tasks()
        if not len(self.tasks):
            raise wrong_state("leaves nothing to be planned: all tasks are done or withdrawn")
        if self.left_s < 1:
            rule = (
                f"is at {state.time_s:g} s, and the deadline was {instance.deadline_s:,} s: "
                f"{len(self.tasks)} tasks are left; give the instance a later deadline"
            )
            raise wrong_state(rule)
        self.group = instance.task_group[self.tasks]
        self.saved = self._saved()
        listed = self._offers_in_slots()
        self.own_prices = tuple(offers_at_own_prices(listed, state.vms))
        self.offers = (*listed, *self.own_prices)
        self.bills = instance.bills_of(self.offers) if self.own_prices else instance.bills
        self.listed = [offer.index if offer.listed_as is None else offer.listed_as for offer in self.offers]
        self.offer_of = np.array(offers_of_existing(self.offers, state.vms), dtype=np.int64)

    def _offers_in_slots(self) -> tuple[RentalOffer, ...]:
        """Offers of the given instance as the tasks that are left count their cores, which may be by other slots."""
        given, group = self.given, self.group
        running = ((named_cores(run), vm.type) for vm in self.state.vms for run in vm.running)
        slots = Slots.of(given.cores[group], given.vm_types, running)
        self.slots = slots._replace(beside_memory=slots.shared and given.memory_beside_cores)
        if self.slots == given.slots:
            return given.offers
        sizes = [self.slots.of_type(offer.vm_type) for offer in given.offers]
        return tuple(
            replace(offer, vcpus=slots, memory_kb=size_kb)
            for offer, (slots, size_kb) in zip(given.offers, sizes, strict=True)
        )

    def _tasks(self) -> IntArray:
        """Indices of the open tasks in the given instance."""
        index, state = self.given.task_index, self.state
        left = np.ones(self.given.n_tasks, dtype=bool)
        try:
            left[np.array(picked(index, state.done), dtype=np.int64)] = False
            self.running = np.array(picked(index, state.running_ids), dtype=np.int64)
            picked(index, [*state.saved])
        except KeyError as error:
            raise wrong_state(
                f"names the task {error.args[0]!r}, which {self.given.name!r} does not have: TaskWithdrawn takes it out"
            ) from None
        left[[index[name] for name in state.withdrawn if name in index]] = False
        return np.flatnonzero(left)

    def _saved(self) -> dict[int, float]:
        """Saved fractions of tasks, by position among the open tasks."""
        index = self.given.task_index
        at = {int(task): position for position, task in enumerate(self.tasks)} if self.state.saved else {}
        wanted = ((at.get(index[name]), fraction) for name, fraction in self.state.saved.items() if fraction > 0)
        return {position: fraction for position, fraction in wanted if position is not None}

    def instance(self) -> Instance:
        """Return the instance of the rest."""
        given, group = self.given, self.group
        names = picked(given.task_ids, self.tasks.tolist())
        self.rows = self._rows(names)
        self.runtime_s, self.given_runtime_s = given.runtime_s[group], given.given_runtime_s[group]
        self.duration_s = given.duration_s[group][:, self.listed] if self.own_prices else given.duration_s[group]
        same_times = self._take_other_times()
        # Algorithm 1 of HADS knows whole bags only.
        kept_fields = (given.model_fields_set | {"format"}) - {"d_spot_rule", "machines"}
        fields: dict[str, Any] = {name: getattr(given, name) for name in kept_fields}
        fields["deadline_s"] = self.left_s
        if given.d_spot_s is not None:
            fields["d_spot_s"] = max(given.d_spot_s - self.now_s, 0)
        fields["tasks"] = Records(Task, tuple(self.rows))
        fields["objective"] = self._objective()
        # Unchecked, for speed: what remains of a valid instance is valid, and replanning has milliseconds.
        remaining = Instance.model_construct(set(fields), **{**_defaults(), **fields})
        for name, value in self._arrays(names, same_times).items():
            remaining.__dict__[name] = read_only(value) if isinstance(value, np.ndarray) else value
        # Machines come last: their running tasks need the durations above. Tables made without them are dropped.
        machines = self._machines(remaining)
        for name in _OF_MACHINES:
            remaining.__dict__.pop(name, None)
        remaining.__dict__.update(machines)
        remaining.model_fields_set.add("machines")
        self._share_offers(remaining)
        return remaining

    def _rows(self, names: Sequence[str]) -> list[Any]:
        """Entries of the open tasks, one for each: of those that stand for several, some may be done or saved."""
        rows: list[Any] = [*picked(rows_of(self.given.tasks), self.group.tolist())]
        if not self._single():
            rows = [with_fields(row, id=name, count=1) for row, name in zip(rows, names, strict=True)]
        return [self._dated(row) for row in rows] if self.given.has_dates else rows

    def _single(self) -> bool:
        """True if each entry of the bag stands for one task."""
        return self.given.n_tasks == len(self.given.tasks)

    def _take_other_times(self) -> bool:
        """Have tasks take less that are saved in part, and more that should have ended; False if any does."""
        for position, fraction in self.saved.items():
            self._take(position, 1 - fraction)
        # Saved work first: only then is known how long a task should take where it runs.
        overruns = self._overruns(self.duration_s)
        for position, (place, taken_s) in overruns.items():
            at = (position, *place)
            while self.duration_s[at] < taken_s:  # twice, where fewer checkpoints are taken than follows from it
                self._take(position, taken_s / int(self.duration_s[at]))
        return not (self.saved or overruns)

    def _take(self, position: int, times: float) -> None:
        """Multiply the run time of a task by a factor, on all types."""
        given, whole = self.given, self.runtime_s[position]
        able = whole < NEVER
        left = np.clip(np.ceil(np.where(able, whole, 0) * times - STATED), 1, MAX_SECONDS)
        left = np.where(able, left, NEVER)
        self.runtime_s[position] = left
        self.given_runtime_s[position] = np.where(able, left, np.inf)
        # The record and the arrays must tell the same: documents are written from one, plans made from the other.
        by_type = {
            vm_type.name: float(seconds)
            for vm_type, seconds in zip(given.vm_types, left.tolist(), strict=True)
            if seconds < NEVER
        }
        self.rows[position] = with_fields(self.rows[position], runtime_s=by_type, base_runtime_s=None)
        task, group = slice(position, position + 1), self.group[position : position + 1]
        memory_mb, allowed = given.given_memory_mb[group], given.in_market[group]
        self.duration_s[task] = duration_table(given.checkpoint, memory_mb, self.runtime_s[task], self.offers, allowed)

    def _arrays(self, names: Sequence[str], same_times: bool) -> dict[str, Any]:
        """Return arrays of the instance, made from those of the bag instead of derived from its fields."""
        given, group = self.given, self.group
        arrays: dict[str, Any] = {
            "n_tasks": len(names),
            "group_size": np.ones(len(names), dtype=np.int64),
            "group_ids": names,
            "task_ids": names,
            "task_group": np.arange(len(names)),
            "given_memory_mb": given.given_memory_mb[group],
            "needed_kb": given.needed_kb[group],
            "cores": given.cores[group],
            "slots": self.slots,
            "memory_kb": given.memory_kb[group],
            "checkpoint_interval_s": given.checkpoint_interval_s[group],
            "given_runtime_s": self.given_runtime_s,
            "runtime_s": self.runtime_s,
            "in_market": given.in_market[group],
            "duration_s": self.duration_s,
        }
        if self.slots != given.slots:
            arrays["memory_kb"] = self.slots.amount(arrays["cores"] // self.slots.cores, arrays["needed_kb"])
        if same_times:
            # Times are those of the whole bag, row by row, as long as no task takes another time than there.
            sustained_s = given.sustained_s[group]
            arrays["sustained_s"] = sustained_s[:, self.listed] if self.own_prices else sustained_s
            arrays["taken_from"] = (given, group) if self._single() and not given.has_dates else None
        if not given.has_dates:
            arrays["has_dates"] = False
        # Of what is rented, only how much of it may be depends on the machines, and prices of their own.
        if not self.own_prices:
            arrays |= {name: getattr(given, name) for name in _OF_OFFERS}
        return arrays

    def _dated(self, row: Any) -> Any:
        """Return an entry with dates that count from now: a release that has passed is none."""
        dates = {}
        if row.ready_s:
            dates["ready_s"] = row.ready_s - self.now_s if row.ready_s > self.now_s else None
        if row.deadline_s or row.deadline_s == 0:
            dates["deadline_s"] = row.deadline_s - self.now_s
        return with_fields(row, **dates) if dates else row

    def _overruns(self, duration_s: IntArray) -> dict[int, tuple[tuple[int, int], int]]:
        """Overdue tasks, by position, with the time that they now take.

        Returns
        -------
        dict
            Offer and mode, and the seconds from the start to the end that is expected. A task that takes longer where
            it runs takes longer everywhere.
        """
        found = {}
        for vm, number in zip(self.state.vms, self.offer_of.tolist(), strict=True):
            for entry in vm.running:
                if number < 0 or entry.end_s is None:
                    continue
                offer = self.offers[number]
                position = int(np.searchsorted(self.tasks, self.given.task_index[entry.task]))
                mode = BASELINE if offer.burstable and entry.mode == "baseline" else FULL_SPEED
                taken_s = math.ceil(entry.end_s - entry.start_s - STATED)
                if duration_s[position, offer.index, mode] < taken_s:
                    found[position] = ((offer.index, mode), taken_s)
        return found

    def _share_offers(self, remaining: Instance) -> None:
        """Take the tables of machines from an earlier state with as many machines of each offer, if there was one."""
        known: dict[tuple[Any, ...], dict[str, Any]] = self.given.__dict__.setdefault(_FLEETS, {})
        prices = tuple((offer.listed_as, offer.price_usd_per_hour) for offer in self.own_prices)
        fleet = np.bincount(remaining.machine_offer).tobytes(), prices, self.slots
        shared = known.get(fleet)
        if shared is None:
            if len(known) >= _MOST_FLEETS:
                known.clear()
            shared = known[fleet] = {name: getattr(remaining, name) for name in _OF_MACHINES}
        remaining.__dict__.update(shared)

    def _objective(self) -> Any:
        given, asked = self.given, self.given.objective
        if given.goal == "balanced":
            return asked.model_copy(
                update={
                    "goal": "balanced",
                    "cost_weight": given.cost_weight,
                    "cost_scale_usd": given.cost_scale_usd,
                    "makespan_scale_s": given.makespan_scale_s,
                }
            )
        if asked.budget_usd is not None:
            return asked.model_copy(update={"budget_usd": max(asked.budget_usd - self.state.spent_usd, 1e-6)})
        return asked

    def _machines(self, remaining: Instance) -> dict[str, Any]:
        """Fields of the remaining instance for its machines and running tasks, in arrays."""
        running, records, end_s = self._running_tasks(remaining)
        offer, n_vms = self.offer_of, len(self.state.vms)
        # Tasks that need more memory together than there is, as they were late: nothing joins them.
        left = np.array([entry.memory_kb for entry in self.offers], dtype=np.int64)[offer]
        np.subtract.at(left, running.machine, remaining.memory_kb[running.task])
        fields = self._machine_fields(records, fits(left))
        ready_s = np.array([entry["ready_s"] for entry in fields], dtype=np.int64)
        given_s = np.array([entry["paid_until_s"] for entry in fields], dtype=np.int64)
        rents = rents_of(self.bills)
        launching = np.array([entry["launching"] for entry in fields], dtype=bool)
        paid_until_s, opening_usd = machine_paid(rents, offer, ready_s, given_s, launching)
        # Arrays that an instance would derive from its machines, made here from the same numbers without a detour.
        waits = np.ones(len(self.tasks), dtype=bool)
        waits[running.task] = False
        ends_s = paid_until_s.copy()
        np.maximum.at(ends_s, running.machine, end_s)
        of_machine = np.array([entry.vcpus for entry in self.offers], dtype=np.int64)[offer]
        core_free_s = np.repeat(ready_s[:, None], int(of_machine.max(initial=1)), axis=1)
        # Rows have as many columns as the largest machine has cores; cores that a machine lacks are never free.
        core_free_s[np.arange(core_free_s.shape[1]) >= of_machine[:, None]] = NEVER
        core_free_s[running.machine, running.core] = np.maximum(end_s, 0)
        arrays = {
            "machine_core_free_s": core_free_s,
            "machine_offer": offer,
            "machine_open": np.array([entry["open"] for entry in fields], dtype=bool),
            "machine_ready_s": ready_s,
            "machine_paid_until_s": paid_until_s,
            "machine_opening_usd": opening_usd,
            "machine_held_s": held_s(rents, offer, paid_until_s, ends_s),
            "running_end_s": end_s,
        }
        if n_vms:
            arrays |= {"open_tasks": np.flatnonzero(waits), "open_size": waits.astype(np.int64)}
        return {
            "machines": tuple(made_all(Machine, fields, _MACHINE if launching.any() else _MACHINE - {"launching"})),
            "running": running,
            **{name: read_only(value) for name, value in arrays.items()},
        }

    def _running_tasks(self, remaining: Instance) -> tuple[RunningTasks, Sequence[RunningTask], IntArray]:
        """Return the running tasks, as arrays and as records, and their ends."""
        now, given, vms = self.now_s, self.given, self.state.vms
        entries = [entry for vm in vms for entry in vm.running]
        machine = np.repeat(np.arange(len(vms)), [len(vm.running) for vm in vms])
        # Open tasks are sorted, and those that run are among them: positions are found without a table of names.
        task = np.searchsorted(self.tasks, self.running)
        rows = zip(*map(_ENTRY, entries), strict=True) if entries else [()] * 5
        cores, since, expected, modes, named = rows
        core = np.array(cores, dtype=np.int64) // self.slots.cores
        since_s = np.array(since, dtype=float)
        expected_s = np.array(expected, dtype=float)  # NaN where nothing is expected
        baseline = np.array([mode == "baseline" for mode in modes], dtype=bool)
        where = self.offer_of[machine]
        mode = np.where(given.offer_is_burstable[np.array(self.listed)[where]] & baseline, BASELINE, FULL_SPEED)
        # VMs of no offer have index -1 here, which is wrong but harmless: they are refused just below.
        seconds = remaining.duration_s[task, where, mode]
        vcpus = np.array([entry.vcpus for entry in self.offers], dtype=np.int64)
        wrong = (seconds >= NEVER) | (core >= vcpus[where])
        if any(named):
            needs = given.cores[given.task_group[self.running]].tolist()
            whole = [self.offers[offer].vm_type.vcpus for offer in where.tolist()]
            wrong |= [
                bool(cores) and (len(cores) != need or max(cores) >= most)
                for cores, need, most in zip(named, needs, whole, strict=True)
            ]
        if wrong.any() or (self.offer_of < 0).any():
            self._refuse(self.offer_of, machine, entries, wrong)
        expected_s = np.where(np.isnan(expected_s), since_s + seconds, expected_s)
        # One that should have ended may end at any moment: the next whole second is as good as any.
        overdue = expected_s <= self.state.time_s + STATED
        left_s = np.maximum(np.ceil(expected_s - now - STATED), overdue).astype(np.int64)
        # A start that fits the end and the duration, in whole seconds; it may be off the real one by a fraction.
        start_s = np.minimum(left_s - seconds, 0)
        columns = zip(self.state.running_ids, cores, start_s.tolist(), modes, strict=True)
        fields: list[dict[str, Any]] = [dict(zip(_RUNNING, row, strict=True), cores=None) for row in columns]
        records = made_all(RunningTask, fields, _RUNNING)
        if any(named):
            records = [run.model_copy(update=several(cores)) for run, cores in zip(records, named, strict=True)]
        return RunningTasks(*map(read_only, (task, machine, core, start_s, baseline))), records, start_s + seconds

    def _machine_fields(self, records: Sequence[RunningTask], fits: BoolArray) -> list[dict[str, Any]]:
        """Fields of the machines; those that are too full take nothing more."""
        now = self.now_s
        own_usd = [None if one.listed_as is None else one.price_usd_per_hour for one in self.offers]
        fields: list[dict[str, Any]] = []
        first = 0
        for name, kind, market, status, ready_s, until_s, balance, runs in map(_VM, self.state.vms):
            after, offer = first + len(runs), self.offer_of[len(fields)]
            if ready_s <= now and status not in ("launching", "hibernated"):  # what its session so far has paid
                paid_s = paid_until_s(self.bills[offer], math.ceil(ready_s), math.floor(now))
                until_s = paid_s if until_s is None else max(until_s, paid_s)
            fields.append(
                {
                    "id": name,
                    "type": kind,
                    "market": market,
                    "ready_s": 0 if runs else max(math.ceil(ready_s - now - STATED), 0),
                    "paid_until_s": 0 if until_s is None else max(math.floor(until_s - now + STATED), 0),
                    "open": status in ("launching", "running") and bool(fits[len(fields)]),
                    "running": tuple(records[first:after]),
                    "credits": self._credits_now(offer, status, balance, runs),
                    "price_usd_per_hour": own_usd[offer],
                    "launching": status == "launching" and ready_s <= now + STATED,
                }
            )
            first = after
        return fields

    def _credits_now(
        self, offer: int, status: VmStatus, credits: float | None, runs: Sequence[TaskOnVm]
    ) -> float | None:
        """Credits at second 0 of the remaining instance, of a burstable VM whose credits are known."""
        rules = self.offers[offer].vm_type.burstable
        if rules is None or credits is None:
            return None
        if status not in ("running", "draining"):
            return credits
        at_baseline = sum(run.mode == "baseline" for run in runs)
        return rules.credits_after(credits, self.now_s - self.state.time_s, len(runs) - at_baseline, at_baseline)

    def _refuse(self, offer: IntArray, machine: IntArray, entries: Sequence[TaskOnVm], wrong: BoolArray) -> None:
        """Say which VM is the first that is not offered, or has a task that cannot run there."""
        vms = self.state.vms
        unknown, misplaced = np.flatnonzero(offer < 0).tolist(), np.flatnonzero(wrong).tolist()
        if unknown and not (misplaced and machine[misplaced[0]] < unknown[0]):
            vm = vms[unknown[0]]
            raise wrong_state(
                f"has the VM {vm.id!r}, but {self.given.name!r} has no {vm.market} offer of {vm.type}: a limit of 0 "
                "keeps the VMs of a type that is withdrawn"
            )
        entry, vm = entries[misplaced[0]], vms[int(machine[misplaced[0]])]
        on = f"cores {[*entry.cores]}" if entry.cores else f"core {entry.core}"
        raise wrong_state(f"has the task {entry.task!r} on {on} of {vm.id!r}, where it cannot run")


_ENTRY = attrgetter("core", "start_s", "end_s", "mode", "cores")
_MACHINE = {*Machine.model_fields}
_RUNNING = ("task", "core", "start_s", "mode")
_VM = attrgetter("id", "type", "market", "status", "ready_s", "paid_until_s", "credits", "running")
_OF_MACHINES = ("offers", "existing_vms", "group_limits")
_FLEETS, _MOST_FLEETS = "_offers_beside_machines", 100
_OF_OFFERS = ("offer_is_burstable", "offer_price_usd_per_s", "offer_is_spot", "bills", "rents")


@cache
def _defaults() -> Mapping[str, Any]:
    return {
        name: field.get_default(call_default_factory=True)
        for name, field in Instance.model_fields.items()
        if not field.is_required()
    }
