"""On time: a rescue on demand is ready for all that is left, and until it must begin, work is where it is cheapest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np

from ....core.quantities import SECONDS_PER_HOUR
from ....instances.durations import FULL_SPEED, NEVER
from ....instances.entries import RentalOffer
from ...vms import RUNNING
from ..plan import Run
from ..policy import Policy
from ..state import ReplayState
from ..vm import Vm
from .migration import Places

_LOST, _WAITS, _RUNS = range(3)
"""What a task does that no on-demand VM will finish: it is where it cannot go on, it waits, it runs."""

_WAITS_IF_BACK = 0.8
"""Chance that a VM is back before the rescue must begin, from which on its tasks wait for it."""

_GAIN_S = 20
"""How much earlier a task must end on another spot VM for it to move there."""

_ROOM = 0.1
"""Part of the time that is left for which a rescue must be able to wait, for work to leave on-demand VMs."""

_MOMENTS = 6
"""Moments at which a rescue for the sake of its cost is considered."""

_OTHER_PLACE = 0.25
"""Part of the outages after which what waits does not need on-demand VMs any more, for each type that is out."""

_Core: TypeAlias = tuple[int, int]


class _Task(NamedTuple):
    """A task that no on-demand VM will finish, as things stand."""

    task: int
    vm: Vm
    kind: int
    saved: float
    durations_s: tuple[int, ...]
    memory_kb: int


@dataclass(slots=True)
class _New:
    """A VM that a rescue would request, and the tasks of its cores."""

    offer: RentalOffer
    cores: list[list[int]]


@dataclass(slots=True)
class _Plan:
    """A rescue: tasks by cores of on-demand VMs that are there, and of new ones. Nothing of it is done yet."""

    cores: dict[_Core, list[int]] = field(default_factory=dict)
    new: list[_New] = field(default_factory=list)
    latest_s: int = -1
    left_out: frozenset[int] = frozenset()


class _Table:
    """What never changes in a replay: on-demand offers, durations on them."""

    def __init__(self, replay: ReplayState) -> None:
        work = replay.work
        on_demand = [offer for offer in replay.instance.offers if offer.market == "on-demand"]
        self.column = {offer.index: number for number, offer in enumerate(on_demand)}
        self._offers = [(offer.index, work.sustained[offer.index]) for offer in on_demand]
        self._rows: dict[tuple[int, float], tuple[int, ...]] = {}
        self.new = sorted(
            (offer for offer in on_demand if not offer.burstable), key=lambda offer: self._dear(replay, offer)
        )
        self.binds = {offer.index: not replay.instance.memory_never_binds[offer.type_index] for offer in on_demand}
        spot = [offer for offer in replay.instance.offers if offer.market == "spot"]
        self.spot = [offer for offer in spot if not offer.burstable]
        self.interval_s = replay.instance.checkpoint_interval_s.tolist() if work.takes_checkpoints else None

    @staticmethod
    def _dear(replay: ReplayState, offer: RentalOffer) -> tuple[float, int]:
        """Price of the whole bag on an offer."""
        times_s = [time_s for time_s in replay.work.runtimes_s(offer.index) if time_s < NEVER]
        if not times_s:
            return math.inf, offer.index
        return offer.price_usd_per_hour * sum(times_s) / len(times_s) / offer.vcpus, offer.index

    def durations_s(self, replay: ReplayState, task: int, saved: float) -> tuple[int, ...]:
        """How long a task takes on each on-demand offer."""
        key = replay.work.group_of[task], saved
        row = self._rows.get(key)
        if row is None:
            duration_s = replay.work.duration_s
            row = tuple([duration_s(task, index, mode, saved) for index, mode in self._offers])
            self._rows[key] = row
        return row


class _Place(NamedTuple):
    """An on-demand VM that a rescue may use: a number, its column, its memory or -1, when each core is free."""

    number: int
    column: int
    memory_kb: int
    free_s: tuple[int, ...]
    share_kb: tuple[int, ...]


def _open_tasks(replay: ReplayState, table: _Table) -> list[_Task]:
    """All tasks that are unfinished, and not on an on-demand VM."""
    found = []
    for vm in replay.vms:
        if not vm.spot or not vm.n_left:
            continue
        stuck = vm.gives_tasks
        for run in vm.running:
            if run is not None:
                saved = replay.saved_if_moved(vm, run.task)
                kind = _LOST if stuck and not vm.draining else _RUNS
                found.append(_task(replay, table, run.task, vm, kind, saved))
        for queue in vm.waiting:
            for run in queue:
                saved = replay.saved.get(run.task, 0.0)
                found.append(_task(replay, table, run.task, vm, _LOST if stuck else _WAITS, saved))
    return found


def _task(replay: ReplayState, table: _Table, task: int, vm: Vm, kind: int, saved: float) -> _Task:
    return _Task(task, vm, kind, saved, table.durations_s(replay, task, saved), replay.memory_kb(task))


def _place(replay: ReplayState, table: _Table, vm: Vm) -> _Place:
    """Return what a rescue may use of an on-demand VM."""
    zero_s = vm.zero_s
    free_s = tuple([zero_s + core_s for core_s in replay.timeline(vm).core_free_s])
    if not table.binds[vm.offer_index]:
        return _Place(vm.index, table.column[vm.offer_index], -1, free_s, (0,) * len(free_s))
    shares = []
    for run, queue in zip(vm.running, vm.waiting, strict=True):
        there = [*queue] if run is None else [run, *queue]
        shares.append(max([replay.memory_kb(entry.task) for entry in there], default=0))
    return _Place(vm.index, table.column[vm.offer_index], vm.offer.memory_kb, free_s, tuple(shares))


def _takes_rescues(vm: Vm) -> bool:
    """Whether a rescue may use a VM: on-demand, alive; no credits are spent on it that others count on."""
    if vm.spot or not vm.alive:
        return False
    if vm.burstable is None:
        return True
    return not vm.n_at_full_speed and all(run.mode != FULL_SPEED for queue in vm.waiting for run in queue)


def _left(replay: ReplayState, offer: RentalOffer) -> int:
    """How many more VMs of an on-demand offer there may be, the market left aside."""
    return offer.vm_type.offers[offer.market].limit - replay.fleet.rented(offer)


def _pack(
    replay: ReplayState,
    table: _Table,
    tasks: Sequence[_Task],
    places: Sequence[_Place],
    started: Sequence[RentalOffer] = (),
    window: tuple[int, int] | None = None,
) -> _Plan:
    """Find a rescue that may begin as late as can be had; `_Plan.left_out` says what it has no place for.

    ``started`` are offers of which a VM more is there than in the replay; they are among the places.
    """
    from .on_time_kernel import latest_rescue

    now_s, deadline_s = replay.now_s, replay.instance.deadline_s
    if not tasks:
        return _Plan(latest_s=deadline_s)
    first_s, last_s = (now_s, deadline_s) if window is None else window
    ordered = sorted(tasks, key=_longest_first)
    cap = replay.instance.limits.of("on-demand")
    market_left = len(tasks) if cap is None else cap - replay.fleet.rented_of("on-demand") - len(started)
    offers = [
        (
            table.column[offer.index],
            offer.memory_kb if table.binds[offer.index] else -1,
            offer.vcpus,
            min(_left(replay, offer) - sum(other is offer for other in started), len(tasks)),
        )
        for offer in table.new
    ]
    cores = [pair for place in places for pair in zip(place.free_s, place.share_kb, strict=True)]
    latest_s, left_out, core_of, opened = latest_rescue(
        np.array([entry.durations_s for entry in ordered], np.int64),
        np.array([entry.memory_kb for entry in ordered], np.int64),
        np.array([(place.column, place.memory_kb, len(place.free_s)) for place in places], np.int64).reshape(-1, 3),
        np.array(cores, np.int64).reshape(-1, 2),
        np.array(offers, np.int64).reshape(-1, 4),
        market_left,
        first_s,
        last_s,
        replay.start_overhead_s,
        deadline_s,
    )
    plan = _Plan(latest_s=latest_s)
    lists: list[list[int]] = []
    for place in places:
        for core in range(len(place.free_s)):
            lists.append([])
            plan.cores[place.number, core] = lists[-1]
    for position in opened.tolist():
        offer = table.new[position]
        plan.new.append(_New(offer, [[] for _ in range(offer.vcpus)]))
        lists += plan.new[-1].cores
    for entry, core in zip(ordered, core_of.tolist(), strict=True):
        if core >= 0:
            lists[core].append(entry.task)
    if left_out:
        plan.left_out = frozenset(
            [entry.task for entry, core in zip(ordered, core_of.tolist(), strict=True) if core < 0]
        )
    return plan


def _longest_first(entry: _Task) -> tuple[int, int]:
    return -min(entry.durations_s, default=NEVER), entry.task


@dataclass(kw_only=True, eq=False)
class OnTime(Policy):
    """Keep a rescue on demand ready for all that is left, and do no more of it than must be done now.

    At all times there is a rescue plan for all tasks that are not on on-demand VMs, each from its last written
    checkpoint: on which core of which on-demand VM, new ones within the limits. Of it follows the latest start of each
    new VM, and of each task. When one has come, that one VM is started, or that one task is moved; all else goes on.
    So no interruption can make the bag late, if there is such a plan when the bag begins and on-demand VMs are to be
    had; where there is none, tasks that were lost come first. Until then, work is done where it is cheapest: what is
    lost goes to other spot VMs, or waits if its VM is likely to be back in time; free cores take what would end
    last; idle VMs end when the time that is paid for does.
    """

    name = "on-time"
    summary = "keeps a rescue on demand ready for all that is left, and does of it what cannot wait"
    source = "HADS's migration trigger and Uniform Progress's safety net, for many tasks on many VMs"
    asks_for_law: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Begin without a rescue."""
        self.plan = _Plan()
        self.covered = False
        self._table: _Table | None = None
        self._answered: tuple[int, int, int] | None = None
        self._wake_s = -1
        self._out: dict[str, int] = {}
        self._outages = 0
        self._returns = 0
        self._out_s = 0

    # ------------------------------------------------------------------- questions

    def woken(self, replay: ReplayState) -> None:
        """Begin; later, do what cannot wait any more."""
        self._answer(replay)

    def idle(self, replay: ReplayState, vm: Vm) -> None:
        """Look for work for a VM, and end it if there is none."""
        self._answer_once(replay)
        if vm.idle:
            self._end_idle(replay, [vm])
            self._secure(replay)

    def noticed(self, replay: ReplayState, vm: Vm) -> None:
        """Look after what will be lost."""
        self._answer_once(replay)

    def hibernated(self, replay: ReplayState, vm: Vm) -> None:
        """Look after what is lost, or out for a while."""
        if vm.offer.vm_type.name not in self._out:
            self._out[vm.offer.vm_type.name] = replay.now_s
            self._outages += 1
        self._answer_once(replay)

    def lost(self, replay: ReplayState, vm: Vm) -> None:
        """Look after what is lost."""
        self.hibernated(replay, vm)

    def resumed(self, replay: ReplayState, vm: Vm) -> None:
        """Balance what is there with a VM more."""
        self._back(replay, vm.offer.vm_type.name)
        self._answer_once(replay)

    def capacity_changed(self, replay: ReplayState, vm_type: str) -> None:
        """Use a type that is back."""
        self._back(replay, vm_type)
        self._answer(replay)

    def finished(self, replay: ReplayState, vm: Vm, task: int) -> None:
        """Use a core that is free on a VM that goes on."""
        if (
            vm.n_left
            and vm.alive
            and any(run is None and not queue for run, queue in zip(vm.running, vm.waiting, strict=True))
        ):
            self._answer_once(replay)

    def _back(self, replay: ReplayState, vm_type: str) -> None:
        since_s = self._out.pop(vm_type, None)
        if since_s is not None:
            self._returns += 1
            self._out_s += replay.now_s - since_s

    # --------------------------------------------------------------------- answers

    def _answer_once(self, replay: ReplayState) -> None:
        """Answer what has happened in this moment, once for all VMs that it has happened to."""
        draining = sum(vm.draining for vm in replay.vms)
        if self._answered != (replay.now_s, replay.counts["events"], draining):
            self._answer(replay)
            self._answered = replay.now_s, replay.counts["events"], draining

    def _answer(self, replay: ReplayState) -> None:
        """Decide."""
        table = self._known(replay)
        tasks = _open_tasks(replay, table)
        self._renew(replay, tasks)
        again_s = [replay.instance.deadline_s]
        if any(entry.kind == _LOST for entry in tasks):
            again_s.append(self._to_spot(replay, tasks))
        self._balance(replay)
        if self.covered and not any(entry.kind == _LOST for entry in tasks):
            self._relieve(replay)
        if any(entry.kind == _LOST for entry in tasks):
            self._fill(replay)
            again_s.append(self._early(replay))
        again_s.append(self._end_idle(replay, replay.vms))
        self._secure(replay)
        self._wake(replay, min(again_s))

    def _known(self, replay: ReplayState) -> _Table:
        if self._table is None:
            self._table = _Table(replay)
        return self._table

    def _wake(self, replay: ReplayState, again_s: int) -> None:
        """Be asked again at a time, or when the rescue must begin."""
        time_s = min(again_s, self.plan.latest_s)
        if replay.now_s < time_s < replay.instance.deadline_s and not replay.now_s < self._wake_s <= time_s:
            replay.wake_at(time_s)
            self._wake_s = time_s

    # ------------------------------------------------------------------ the rescue

    def _renew(self, replay: ReplayState, tasks: Sequence[_Task]) -> None:
        """Keep the rescue, or take one that may begin later."""
        self._drop(replay, tasks)
        places = self._places(replay)
        found = _pack(replay, self._known(replay), tasks, places)
        if not found.left_out and (self.covered or _in_time(replay)):
            self._adopt(replay, found, tasks)
        elif not self.covered:
            self.plan = self._partial(replay, tasks, places)
            self._measure(replay, self.plan, tasks)

    def _adopt(self, replay: ReplayState, found: _Plan, tasks: Sequence[_Task]) -> None:
        """Take a rescue of all that is left, if it is the first or may begin later."""
        self._measure(replay, found, tasks)
        if not self.covered or found.latest_s > self.plan.latest_s:
            self.plan, self.covered = found, True

    def _partial(self, replay: ReplayState, tasks: Sequence[_Task], places: Sequence[_Place]) -> _Plan:
        """Rescue of what is lost and of any one type, or else of what is lost: there is none for all."""
        lost = [entry for entry in tasks if entry.kind == _LOST]
        types = {entry.vm.offer.vm_type.name for entry in tasks if entry.kind != _LOST}
        best: _Plan | None = None
        for name in sorted(types):
            of_type = [entry for entry in tasks if entry.kind == _LOST or entry.vm.offer.vm_type.name == name]
            found = _pack(replay, self._known(replay), of_type, places)
            if not found.left_out and (best is None or found.latest_s < best.latest_s):
                best = found
        return best or _pack(replay, self._known(replay), lost, places)

    def _places(self, replay: ReplayState) -> list[_Place]:
        table = self._known(replay)
        return [_place(replay, table, vm) for vm in replay.vms if _takes_rescues(vm)]

    def _drop(self, replay: ReplayState, tasks: Sequence[_Task]) -> None:
        """Forget tasks that are finished, or on on-demand VMs; work out anew when the rescue must begin."""
        there = {entry.task for entry in tasks}
        for entries in self.plan.cores.values():
            entries[:] = [task for task in entries if task in there]
        for new in self.plan.new:
            for entries in new.cores:
                entries[:] = [task for task in entries if task in there]
        self.plan.new = [new for new in self.plan.new if any(new.cores)]
        self._measure(replay, self.plan, tasks)
        self._match(replay, tasks)

    def _match(self, replay: ReplayState, tasks: Sequence[_Task]) -> None:
        """Give the most work of each VM to the core that is free first: what waits there may have moved up."""
        by_task = {entry.task: entry for entry in tasks}
        for number in {number for (number, _), entries in self.plan.cores.items() if entries}:
            vm = replay.vms[number]
            if vm.memory_kb is None and vm.n_left:
                column = self._known(replay).column[vm.offer_index]
                free_s = replay.timeline(vm).core_free_s
                lists = [self.plan.cores.get((number, core), []) for core in range(vm.offer.vcpus)]
                lists.sort(key=lambda entries: -_work_s(by_task, entries, column))
                for core, entries in zip(sorted(range(vm.offer.vcpus), key=free_s.__getitem__), lists, strict=True):
                    self.plan.cores[number, core] = entries

    def _measure(self, replay: ReplayState, plan: _Plan, tasks: Sequence[_Task]) -> None:
        """Set when a rescue must begin at the latest."""
        rows = {entry.task: entry.durations_s for entry in tasks}
        column = self._known(replay).column
        latest_s = replay.instance.deadline_s
        for (number, _), entries in plan.cores.items():
            if entries:
                at = column[replay.vms[number].offer_index]
                latest_s = min(latest_s, self._core_latest_s(replay, entries, rows, at))
        for new in plan.new:
            latest_s = min(latest_s, self._new_latest_s(replay, new, rows))
        plan.latest_s = latest_s

    def _core_latest_s(
        self, replay: ReplayState, entries: Iterable[int], rows: dict[int, tuple[int, ...]], column: int
    ) -> int:
        return replay.instance.deadline_s - sum([rows[task][column] for task in entries])

    def _new_latest_s(self, replay: ReplayState, new: _New, rows: dict[int, tuple[int, ...]]) -> int:
        column = self._known(replay).column[new.offer.index]
        latest_s = min(self._core_latest_s(replay, entries, rows, column) for entries in new.cores)
        return latest_s - replay.start_overhead_s

    def _secure(self, replay: ReplayState) -> None:
        """Do what of the rescue cannot wait any more."""
        while True:
            tasks = _open_tasks(replay, self._known(replay))
            if not tasks:
                self.plan = _Plan(latest_s=replay.instance.deadline_s)
                self.covered = self.covered or _in_time(replay)
                return
            self._drop(replay, tasks)
            if self.covered and self.plan.latest_s > replay.now_s:
                return
            self._renew(replay, tasks)
            if self.plan.latest_s > replay.now_s or not self._begin(replay, tasks):
                break
        if self.plan.left_out:
            self._best_effort(replay, tasks)

    def _begin(self, replay: ReplayState, tasks: Sequence[_Task]) -> bool:
        """Start the VM, or move the task, that cannot wait any more; False if there is none."""
        rows = {entry.task: entry.durations_s for entry in tasks}
        column = self._known(replay).column
        for new in self.plan.new:
            if self._new_latest_s(replay, new, rows) <= replay.now_s and replay.can_start(new.offer):
                vm = replay.start_vm(new.offer)
                self.plan.new.remove(new)
                for core, entries in enumerate(new.cores):
                    self.plan.cores[vm.index, core] = entries
                return True
        by_task = {entry.task: entry for entry in tasks}
        for (number, core), entries in self.plan.cores.items():
            target = replay.vms[number]
            if entries and self._core_latest_s(replay, entries, rows, column[target.offer_index]) <= replay.now_s:
                chosen = min([by_task[task] for task in entries], key=_cheapest_to_move)
                self._move(replay, chosen, target, core)
                return True
        return False

    def _move(self, replay: ReplayState, entry: _Task, target: Vm, core: int | None = None) -> None:
        """Move a task to an on-demand VM; what the rescue has on the core that it gets changes places."""
        _move(replay, entry, target)
        for entries in self.plan.cores.values():
            if entry.task in entries:
                entries.remove(entry.task)
        for new in self.plan.new:
            for entries in new.cores:
                if entry.task in entries:
                    entries.remove(entry.task)
        if core is not None:
            got = _core_of(target, entry.task)
            if got != core:
                lists = self.plan.cores
                here, there = lists.get((target.index, core), []), lists.get((target.index, got), [])
                lists[target.index, core], lists[target.index, got] = there, here

    def _best_effort(self, replay: ReplayState, tasks: Sequence[_Task]) -> None:
        """Move what is lost and has no place in any rescue to where it ends first."""
        places = Places(replay)
        for entry in tasks:
            if entry.task not in self.plan.left_out or not entry.vm.gives_tasks or entry.vm.draining:
                continue
            best = places.best(entry.task, entry.saved)
            if best is not None:
                end_s, place = best
                target = replay.start_vm(place) if isinstance(place, RentalOffer) else place
                replay.migrate(entry.task, entry.vm, target, late=end_s > replay.instance.deadline_s)
                places.add(target)

    # ---------------------------------------------------------------- what is cheap

    def _rates(self, replay: ReplayState) -> tuple[float, float]:
        """Interruptions of a VM, and returns, for each second; as known, or by what has happened so far."""
        known = _known_rates(replay)
        if known is not None:
            return known
        half_s = replay.instance.deadline_s / 2
        types = len({vm.offer.vm_type.name for vm in replay.vms if vm.spot})
        out_s = self._out_s + sum(replay.now_s - since_s for since_s in self._out.values())
        up_s = max(types * replay.now_s - out_s, 0)
        return (1 + self._outages) / (half_s + up_s), (1 + self._returns) / (half_s + out_s)

    def _to_spot(self, replay: ReplayState, tasks: Sequence[_Task]) -> int:
        """Move what is lost to spot VMs, unless it is likely to go on in time; return when that is less likely."""
        interrupted, back = self._rates(replay)
        patience_s = -math.log(1 - _WAITS_IF_BACK) / back if back else math.inf
        left_s = self.plan.latest_s - replay.now_s
        again_s = replay.instance.deadline_s
        waits = left_s > patience_s
        if waits:
            again_s = self.plan.latest_s - math.floor(patience_s)
        for entry in sorted(tasks, key=_longest_first):
            if entry.kind == _LOST and not (waits and entry.vm.halted):
                _, target = self._best_spot(replay, entry, interrupted)
                if target is not None:
                    vm = replay.start_vm(target) if isinstance(target, RentalOffer) else target
                    replay.migrate(entry.task, entry.vm, vm)
        return again_s

    def _best_spot(
        self, replay: ReplayState, entry: _Task, interrupted: float, with_others: bool = False
    ) -> tuple[float, Vm | RentalOffer | None]:
        """The spot VM, or offer of a new one, where a task is cheapest, with what its next loss may cost.

        ``with_others`` says that others follow, which share the rent of a new VM.
        """
        table, now_s, deadline_s = self._known(replay), replay.now_s, replay.instance.deadline_s
        best: Vm | RentalOffer | None = None
        least = math.inf
        work_usd_per_s = table.new[0].price_usd_per_s / table.new[0].vcpus if table.new else 0.0

        def risk(end_s: int, duration_s: int) -> float:
            lost_s = duration_s
            if table.interval_s is not None:
                lost_s = min(duration_s, table.interval_s[replay.work.group_of[entry.task]])
            return (1 - math.exp(-interrupted * (end_s - now_s))) * lost_s * work_usd_per_s

        for vm in replay.vms:
            if not vm.spot or not vm.alive or vm.burstable is not None:
                continue
            end_s = replay.end_if_placed_s(vm, entry.task, None, entry.saved)
            if end_s is None or end_s > deadline_s:
                continue
            longer_s = max(end_s - max(vm.zero_s + replay.timeline(vm).end_s, now_s), 0)
            duration_s = replay.duration_s(entry.task, vm.offer, None, entry.saved)
            usd = longer_s * replay.price_usd_per_s(vm.offer) + risk(end_s, duration_s)
            if usd < least:
                best, least = vm, usd
        for offer in table.spot:
            if not replay.can_start(offer):
                continue
            duration_s = replay.duration_s(entry.task, offer, None, entry.saved)
            end_s = now_s + replay.start_overhead_s + duration_s
            if duration_s >= NEVER or end_s > deadline_s:
                continue
            session_s = end_s - now_s - replay.instance.boot_overhead_s
            rent = replay.billing.billed_s(session_s) * replay.price_usd_per_s(offer)
            usd = (rent / offer.vcpus if with_others else rent) + risk(end_s, duration_s)
            if usd < least:
                best, least = offer, usd
        return least, best

    def _balance(self, replay: ReplayState) -> None:
        """Let free cores of spot VMs take what would end last elsewhere."""
        free = [vm for vm in replay.vms if vm.spot and vm.alive and vm.state == RUNNING and vm.burstable is None]
        for vm in free:
            while replay.timeline(vm).earliest_core_s <= vm.uptime_s(replay.now_s):
                if not self._take_last(replay, vm):
                    break

    def _take_last(self, replay: ReplayState, thief: Vm) -> bool:
        """Let a VM take the task that waits and would end last; False if none ends earlier there."""
        last: tuple[int, int, int] | None = None
        for vm in replay.vms:
            if vm is not thief and vm.spot and vm.alive and vm.n_left > 1 and vm.burstable is None:
                for queue in vm.waiting:
                    if queue:
                        found = vm.zero_s + queue[-1].end_s, vm.index, queue[-1].task
                        if last is None or found > last:
                            last = found
        if last is None:
            return False
        end_s, number, task = last
        sooner_s = replay.end_if_placed_s(thief, task, None, replay.saved.get(task, 0.0))
        if sooner_s is None or sooner_s > end_s - _GAIN_S:
            return False
        replay.steal(task, replay.vms[number], thief)
        return True

    def _relieve(self, replay: ReplayState) -> None:
        """Move to spot VMs what waits on on-demand VMs, or has just started there, while it can all be rescued."""
        table = self._known(replay)
        interrupted, _ = self._rates(replay)
        regular = [
            vm for vm in replay.vms if not vm.spot and vm.burstable is None and vm.memory_kb is None and vm.alive
        ]
        tasks = _open_tasks(replay, table) if any(vm.n_left for vm in regular) else []
        for vm in sorted(regular, key=lambda vm: (-vm.offer.price_usd_per_s / vm.offer.vcpus, vm.index)):
            while vm.n_left:
                entry = self._relieve_one(replay, vm, tasks, interrupted)
                if entry is None:
                    break
                tasks.append(entry)

    def _relieve_one(self, replay: ReplayState, vm: Vm, tasks: Sequence[_Task], interrupted: float) -> _Task | None:
        """Move the last task of an on-demand VM to a spot VM, if that is cheaper; return it."""
        table = self._known(replay)
        uptime_s = vm.uptime_s(replay.now_s)
        last: tuple[int, Run] | None = None
        for core, queue in enumerate(vm.waiting):
            run = queue[-1] if queue else vm.running[core]
            if run is not None and (queue or run.start_s >= uptime_s) and (last is None or run.end_s > last[0]):
                last = run.end_s, run
        if last is None:
            return None
        _, run = last
        entry = _task(replay, table, run.task, vm, _WAITS, replay.saved.get(run.task, 0.0))
        usd, target = self._best_spot(replay, entry, interrupted, with_others=True)
        if target is None or usd >= (run.end_s - run.start_s) * replay.price_usd_per_s(vm.offer) / vm.offer.vcpus:
            return None
        places = self._places(replay)
        for number, place in enumerate(places):
            if place.number == vm.index:
                places[number] = place._replace(free_s=_free_without(replay, vm, run.task))
        found = _pack(replay, table, [*tasks, entry], places)
        if found.left_out or found.latest_s < replay.now_s + _ROOM * (replay.instance.deadline_s - replay.now_s):
            return None
        spot = replay.start_vm(target) if isinstance(target, RentalOffer) else target
        _move(replay, entry, spot)
        self._measure(replay, found, [*tasks, entry])
        self.plan = found
        return entry._replace(vm=spot)

    def _fill(self, replay: ReplayState) -> None:
        """Let free cores of on-demand VMs that run take what is lost, if the rest can still be rescued."""
        table = self._known(replay)
        for vm in replay.vms:
            if not _takes_rescues(vm) or vm.state != RUNNING or vm.burstable is not None or vm.n_left == 0:
                continue
            while True:
                place = _place(replay, table, vm)
                if min(place.free_s) > replay.now_s or not self._fill_one(replay, vm, place):
                    break

    def _fill_one(self, replay: ReplayState, vm: Vm, place: _Place) -> bool:
        table = self._known(replay)
        tasks = _open_tasks(replay, table)
        for entry in sorted(tasks, key=_longest_first):
            if entry.kind != _LOST:
                continue
            duration_s = entry.durations_s[place.column]
            end_s = replay.end_if_placed_s(vm, entry.task, None, entry.saved)
            if end_s is None or end_s != replay.now_s + duration_s or end_s > replay.instance.deadline_s:
                continue
            core = place.free_s.index(min(place.free_s))
            free_s, share_kb = list(place.free_s), list(place.share_kb)
            free_s[core], share_kb[core] = end_s, max(share_kb[core], entry.memory_kb)
            taken = place._replace(free_s=tuple(free_s), share_kb=tuple(share_kb))
            others = [taken if other.number == vm.index else other for other in self._places(replay)]
            rest = [other for other in tasks if other.task != entry.task]
            found = _pack(replay, table, rest, others)
            if found.left_out or found.latest_s <= replay.now_s:
                continue
            _move(replay, entry, vm)
            self._replace(replay, found)
            return True
        return False

    def _replace(self, replay: ReplayState, found: _Plan) -> None:
        """Take the rescue that was found for a decision that has just been carried out."""
        self.plan = found
        tasks = _open_tasks(replay, self._known(replay))
        self._measure(replay, found, tasks)
        if any(found.cores.values()):
            again = _pack(replay, self._known(replay), tasks, self._places(replay))
            if not again.left_out:
                self._adopt(replay, again, tasks)

    def _early(self, replay: ReplayState) -> int:
        """Start on-demand VMs for what is lost, if that is cheapest now; return when it may be."""
        table, now_s, deadline_s = self._known(replay), replay.now_s, replay.instance.deadline_s
        tasks = _open_tasks(replay, table)
        lost = [entry for entry in tasks if entry.kind == _LOST]
        if not lost or not self.covered:
            return deadline_s
        out = len({entry.vm.offer.vm_type.name for entry in lost})
        _, back = self._rates(replay)
        left_s = max(self.plan.latest_s - now_s, 0)
        spot_usd = 0.0
        for entry in lost:
            offer = entry.vm.offer
            duration_s = replay.duration_s(entry.task, offer, None, entry.saved)
            spot_usd += duration_s * replay.price_usd_per_s(offer) / offer.vcpus
        best_s, least = now_s, math.inf
        now: _Plan | None = None
        for number in range(_MOMENTS):
            at_s = now_s + left_s * number // (_MOMENTS - 1)
            plan = _pack(replay, table, lost, [], window=(at_s, at_s))
            if plan.left_out:
                continue
            if number == 0:
                now = plan
            chance = math.exp(-_OTHER_PLACE * back * out * (at_s - now_s))
            usd = chance * self._usd(replay, plan, lost) + (1 - chance) * spot_usd
            if usd < least:
                best_s, least = at_s, usd
        if now is None or best_s > now_s:
            return best_s if best_s > now_s else deadline_s
        self._start_early(replay, now, tasks, lost)
        return deadline_s

    def _usd(self, replay: ReplayState, plan: _Plan, tasks: Sequence[_Task]) -> float:
        """What the new VMs of a rescue cost."""
        rows = {entry.task: entry.durations_s for entry in tasks}
        usd = 0.0
        for new in plan.new:
            column = self._known(replay).column[new.offer.index]
            work_s = max(sum([rows[task][column] for task in entries]) for entries in new.cores)
            session_s = replay.start_overhead_s - replay.instance.boot_overhead_s + work_s
            usd += replay.billing.billed_s(session_s) * replay.price_usd_per_s(new.offer)
        return usd

    def _start_early(self, replay: ReplayState, plan: _Plan, tasks: Sequence[_Task], lost: Sequence[_Task]) -> None:
        """Start the VMs of a rescue of what is lost, if the rest can still be rescued."""
        table, first_s = self._known(replay), replay.now_s + replay.start_overhead_s
        by_task = {entry.task: entry for entry in lost}
        added = []
        for number, new in enumerate(plan.new):
            column = table.column[new.offer.index]
            binds = table.binds[new.offer.index]
            added.append(
                _Place(
                    len(replay.vms) + number,
                    column,
                    new.offer.memory_kb if binds else -1,
                    tuple(
                        [first_s + sum(by_task[task].durations_s[column] for task in entries) for entries in new.cores]
                    ),
                    tuple([max([by_task[task].memory_kb for task in entries], default=0) for entries in new.cores]),
                )
            )
        rest = [entry for entry in tasks if entry.kind != _LOST]
        found = _pack(replay, table, rest, [*self._places(replay), *added], [new.offer for new in plan.new])
        if found.left_out or found.latest_s <= replay.now_s:
            return
        for new in plan.new:
            vm = replay.start_vm(new.offer)
            for task in sorted(
                [task for entries in new.cores for task in entries], key=lambda task: _longest_first(by_task[task])
            ):
                _move(replay, by_task[task], vm)
        self._replace(replay, found)

    def _end_idle(self, replay: ReplayState, vms: Iterable[Vm]) -> int:
        """End VMs that nothing needs once what is paid for is over; return when that is."""
        again_s = replay.instance.deadline_s
        for vm in list(vms):
            if vm.halted and not vm.n_left and not _kept_for_nothing(replay, vm):
                replay.terminate(vm)
            if not vm.idle:
                continue
            paid_s = (
                vm.session_s + replay.billing.billed_s(replay.now_s - vm.session_s) if vm.session_s is not None else 0
            )
            if replay.billing.block_s > 1 and paid_s > replay.now_s:
                again_s = min(again_s, paid_s)
                continue
            if vm.spot or self._can_go(replay, vm):
                replay.terminate(vm)
        return again_s

    def _can_go(self, replay: ReplayState, vm: Vm) -> bool:
        """Whether the rescue can do without an idle on-demand VM; if so, it does."""
        if vm.uptime_s(replay.now_s) < vm.first_start_s:
            return False
        table = self._known(replay)
        tasks = _open_tasks(replay, table)
        if not tasks:
            return True
        if not self.covered:
            return False
        found = _pack(replay, table, tasks, [place for place in self._places(replay) if place.number != vm.index])
        if found.left_out or found.latest_s <= replay.now_s + replay.start_overhead_s:
            return False
        self._measure(replay, found, tasks)
        self.plan = found
        return True


def _known_rates(replay: ReplayState) -> tuple[float, float] | None:
    """Interruptions and returns of a VM for each second, if the scenario says so."""
    law = replay.scenario_law
    if not isinstance(law, Mapping):
        return None
    if "type_resumes_per_deadline" in law:
        deadline_s = replay.instance.deadline_s
        return law["type_interruptions_per_deadline"] / deadline_s, law["type_resumes_per_deadline"] / deadline_s
    if "mean_outage_s" in law:
        per_hour = law["vm_interruptions_per_hour"] + law["type_interruptions_per_hour"]
        outage_s = law["mean_outage_s"]
        return per_hour / SECONDS_PER_HOUR, 1 / outage_s if outage_s else 0.0
    return None


def _kept_for_nothing(replay: ReplayState, vm: Vm) -> bool:
    """Whether a VM that is hibernated or stopped costs nothing until it comes back."""
    billing = replay.billing
    return not (billing.hibernated_usd_per_gb_hour if vm.hibernated else billing.stopped_usd_per_gb_hour)


def _free_without(replay: ReplayState, vm: Vm, task: int) -> tuple[int, ...]:
    """When each core of a VM would be free for good without a task, once what waits has moved up."""
    from_s = max(vm.uptime_s(replay.now_s), vm.first_start_s)
    free_s = [from_s if run is None or run.task == task else run.end_s for run in vm.running]
    for run, _ in vm.waiting_runs():
        if run.task != task:
            core = free_s.index(min(free_s))
            free_s[core] = max(free_s[core], from_s) + run.end_s - run.start_s
    return tuple([vm.zero_s + core_s for core_s in free_s])


def _in_time(replay: ReplayState) -> bool:
    """Whether all tasks of on-demand VMs end in time as things stand."""
    deadline_s = replay.instance.deadline_s
    return all(vm.zero_s + replay.timeline(vm).end_s <= deadline_s for vm in replay.vms if not vm.spot and vm.n_left)


def _cheapest_to_move(entry: _Task) -> tuple[int, int, int]:
    """What is lost before what waits before what runs; longest first."""
    return entry.kind, -min(entry.durations_s, default=NEVER), entry.task


def _move(replay: ReplayState, entry: _Task, target: Vm) -> None:
    """Move an unfinished task, whatever it does, with what is saved of it."""
    if entry.vm.gives_tasks:
        replay.migrate(entry.task, entry.vm, target)
        return
    if entry.vm.run_of(entry.task) is not None:
        replay.preempt(entry.task, entry.vm)
    replay.steal(entry.task, entry.vm, target)


def _work_s(by_task: Mapping[int, _Task], tasks: Iterable[int], column: int) -> int:
    """Work of tasks on an on-demand type."""
    return sum([by_task[task].durations_s[column] for task in tasks])


def _core_of(vm: Vm, task: int) -> int:
    """Core that has a task, which runs there or waits."""
    placed = vm.run_of(task)
    if placed is not None:
        return placed[0]
    return next(core for core, queue in enumerate(vm.waiting) for run in queue if run.task == task)
