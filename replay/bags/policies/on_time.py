"""On time: a rescue on demand is ready for all that is left, and until it must begin, work is where it is cheapest."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from ....core.quantities import SECONDS_PER_HOUR
from ....instances.durations import FULL_SPEED, NEVER
from ....instances.entries import RentalOffer
from ...policy_names import Rule, Rules
from ...vms import RUNNING
from ..plan import Run
from ..policy import Policy
from ..rows import NONE
from ..rules import span
from ..state import ReplayState
from ..vm import Vm
from .migration import add_place, best_place, list_places
from .on_time_rescue import (
    LOST,
    WAITS,
    Packing,
    Place,
    Plan,
    Scene,
    Table,
    Task,
    cheapest_to_move,
    core_latest_s,
    longest_first,
    new_latest_s,
    pack,
    place_of_new,
    place_without,
    prices_from,
    takes_rescues,
)
from .on_time_spread import GAIN_S, best_spread

_WAITS_IF_BACK = 0.8
"""Chance that a VM is back before the rescue must begin, from which on its tasks wait for it."""

_ROOM = 0.1
"""Part of the time that is left for which a rescue must be able to wait, for work to leave on-demand VMs."""

_MOMENTS = 6
"""Moments at which a rescue for the sake of its cost is considered."""

_OTHER_PLACE = 0.25
"""Part of the outages after which what waits does not need on-demand VMs any more, for each type that is out."""


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

    Parameters
    ----------
    waits : bool
        Whether what is lost stays where it is while its VM is likely to be back in time.
    balances : bool
        Whether free cores of spot VMs take what would end last on others.
    spreads : bool
        Whether new spot VMs take what would end last, where that is worth their rent.
    relieves : bool
        Whether work leaves on-demand VMs, also planned work, for cheaper spot VMs; as it runs, if it saves often.
    starts_early : bool
        Whether on-demand VMs start before they must, where that is expected to be cheaper; for tasks that save often,
        once they fall behind the pace of the time.
    ends_idle : bool
        Whether idle VMs end when the time that is paid for does; at the end of their allocation cycle if not.

    Notes
    -----
    Without any of them no day is later: all are about cost. They are options so that each can be left out, to see what
    it brings (``python -m spotbag.benchmarks.bags.on_time --ablation``).
    """

    name = "on-time"
    summary = "keeps a rescue on demand ready for all that is left, and does of it what cannot wait"
    source = "HADS's migration trigger and Uniform Progress's safety net, for many tasks on many VMs"
    asks_for_law: ClassVar[bool] = True
    rules: ClassVar[Rules] = {
        "always-move": Rule({"waits": False}, "what is lost never waits for its VM"),
        "no-balance": Rule({"balances": False}, "free cores of spot VMs take nothing from others"),
        "no-spread": Rule({"spreads": False}, "no new spot VMs for what would end last"),
        "no-relief": Rule({"relieves": False}, "work stays on on-demand VMs"),
        "no-early": Rule({"starts_early": False}, "on-demand VMs start no earlier than they must"),
        "keep-idle": Rule({"ends_idle": False}, "idle VMs end at the end of their allocation cycle"),
    }

    waits: bool = True
    balances: bool = True
    spreads: bool = True
    relieves: bool = True
    starts_early: bool = True
    ends_idle: bool = True

    def __post_init__(self) -> None:
        """Begin without a rescue; have the name say what is left out."""
        self.name = self.name_with_options()
        self.plan = Plan()
        self.covered = False
        self._first_slack_s: int | None = None
        self._leaving: set[int] = set()
        self._table: Table | None = None
        self._scene: Scene | None = None
        self._followed: Plan | None = None
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
            self._let_go(replay, vm, self.ends_idle)

    def cycle_ended(self, replay: ReplayState, vm: Vm) -> None:
        """End an idle VM that has been kept."""
        if not self.ends_idle:
            self._let_go(replay, vm, True)

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
        if vm.n_left and vm.alive and any(slot.running == slot.first == NONE for slot in replay.cores[vm.index]):
            self._answer_once(replay)

    def preempted(self, replay: ReplayState, vm: Vm, task: int) -> None:
        """Have a task leave that has written its checkpoint."""
        self._answer(replay)
        self._leaving.discard(task)

    def _back(self, replay: ReplayState, vm_type: str) -> None:
        since_s = self._out.pop(vm_type, None)
        if since_s is not None:
            self._returns += 1
            self._out_s += replay.now_s - since_s

    # --------------------------------------------------------------------- answers

    def _answer_once(self, replay: ReplayState) -> None:
        """Answer what has happened in this moment, once for all VMs that it has happened to."""
        draining = sum(vm.draining for vm in replay.vms)
        if self._answered != (replay.now_s, replay.events_handled, draining):
            self._answer(replay)
            self._answered = replay.now_s, replay.events_handled, draining

    def _answer(self, replay: ReplayState) -> None:
        """Decide."""
        scene = self._look_anew(replay)
        self._renew(replay, scene)
        again_s = [replay.instance.deadline_s]
        if scene.any_lost:
            again_s.append(self._to_spot(replay, scene))
        if self.balances:
            self._balance(replay)
        if self.relieves and self.covered:
            again_s.append(self._relieve(replay))
        if scene.any_lost:
            self._fill(replay)
            if self.starts_early:
                again_s.append(self._early(replay))
        if self.spreads:
            self._spread(replay)
        again_s.append(self._end_idle(replay, replay.vms, self.ends_idle))
        self._secure(replay)
        self._wake(replay, min(again_s))

    def _let_go(self, replay: ReplayState, vm: Vm, idle: bool) -> None:
        """End a VM that nothing needs, if the rescue can do without it."""
        self._look_anew(replay)
        again_s = self._end_idle(replay, [vm], idle)
        self._secure(replay)
        self._wake(replay, again_s)

    def _known(self, replay: ReplayState) -> Table:
        if self._table is None:
            self._table = Table(replay)
        return self._table

    def _look_anew(self, replay: ReplayState) -> Scene:
        """See how things stand; decisions that follow are followed."""
        before = {} if self._scene is None else self._scene.by_task
        self._scene = Scene(replay, self._known(replay), before)
        self._followed = None
        return self._scene

    def _look(self) -> Scene:
        assert self._scene is not None
        return self._scene

    def _wake(self, replay: ReplayState, again_s: int) -> None:
        """Be asked again at a time, or when the rescue must begin."""
        time_s = min(again_s, self.plan.latest_s)
        if replay.now_s < time_s < replay.instance.deadline_s and not replay.now_s < self._wake_s <= time_s:
            replay.wake_at(time_s)
            self._wake_s = time_s

    # ------------------------------------------------------------------ the rescue

    def _renew(self, replay: ReplayState, scene: Scene) -> None:
        """Keep the rescue, or take one that may begin later."""
        self._drop(replay, scene)
        found = pack(replay, self._known(replay), scene.ordered, scene.places)
        if not found.left_out and (self.covered or _in_time(replay)):
            self._adopt(replay, found)
        elif not self.covered:
            self.plan = self._partial(replay, scene).plan(self._known(replay))

    def _adopt(self, replay: ReplayState, found: Packing) -> None:
        """Take a rescue of all that is left, if it is the first or may begin later."""
        if not self.covered or found.due_s > self.plan.latest_s:
            self.plan, self.covered = found.plan(self._known(replay)), True
        if self._first_slack_s is None and self._look().ordered:
            self._first_slack_s = _from_the_start(replay, self.plan.latest_s - replay.now_s)

    def _partial(self, replay: ReplayState, scene: Scene) -> Packing:
        """Rescue of what is lost and of any one type, or else of what is lost: there is none for all."""
        table = self._known(replay)
        types = {entry.vm.offer.vm_type.name for entry in scene.ordered if entry.kind != LOST}
        best: Packing | None = None
        for name in sorted(types):
            of_type = [entry for entry in scene.ordered if entry.kind == LOST or entry.vm.offer.vm_type.name == name]
            found = pack(replay, table, of_type, scene.places)
            if not found.left_out and (best is None or found.latest_s < best.latest_s):
                best = found
        return best or pack(replay, table, scene.lost(), scene.places)

    def _drop(self, replay: ReplayState, scene: Scene) -> None:
        """Forget tasks that are finished, or on on-demand VMs; work out anew when the rescue must begin."""
        if self._followed is not self.plan:
            self.plan.follow(replay, self._known(replay), scene.by_task)
            self.plan.match(replay, self._known(replay), scene.by_task)
            self._followed = self.plan

    def _secure(self, replay: ReplayState) -> None:
        """Do what of the rescue cannot wait any more."""
        while True:
            scene = self._look()
            if not scene.ordered:
                self.plan = Plan(latest_s=replay.instance.deadline_s)
                self.covered = self.covered or _in_time(replay)
                return
            self._drop(replay, scene)
            if self.covered and self.plan.latest_s > replay.now_s:
                return
            self._renew(replay, scene)
            if self.plan.latest_s > replay.now_s or not self._begin(replay, scene):
                break
        if self.plan.left_out:
            self._best_effort(replay, scene)

    def _begin(self, replay: ReplayState, scene: Scene) -> bool:
        """Start the VM, or move the task, that cannot wait any more; False if there is none."""
        table, by_task = self._known(replay), scene.by_task
        for new in self.plan.new:
            if new_latest_s(replay, table, by_task, new) <= replay.now_s and replay.can_start(new.offer):
                vm = self._start(replay, new.offer)
                self.plan.new.remove(new)
                for core, entries in enumerate(new.cores):
                    self.plan.cores[vm.index, core] = entries
                return True
        for (number, core), entries in self.plan.cores.items():
            target = replay.vms[number]
            if entries and core_latest_s(replay, by_task, entries, table.column[target.offer_index]) <= replay.now_s:
                chosen = min([by_task[task] for task in entries], key=cheapest_to_move)
                self._move(replay, chosen, target)
                self.plan.forget(chosen.task)
                got = _core_of(target, chosen.task)
                if got != core:
                    self.plan.swap(number, core, got)
                return True
        return False

    def _best_effort(self, replay: ReplayState, scene: Scene) -> None:
        """Move what is lost and has no place in any rescue to where it ends first."""
        list_places(replay)
        for entry in list(scene.by_task.values()):
            if entry.task not in self.plan.left_out or not entry.vm.gives_tasks or entry.vm.draining:
                continue
            end_s, place = best_place(replay, replay.tasks[entry.task].group, entry.saved)
            if place != NONE:
                new = place - len(replay.vms)
                target = replay.vms[place] if new < 0 else self._start(replay, replay.instance.offers[new])
                if new >= 0:
                    add_place(replay, target)
                self._move(replay, entry, target, late=end_s > replay.instance.deadline_s)

    # ----------------------------------------------------------- decisions, carried out

    def _start(self, replay: ReplayState, offer: RentalOffer) -> Vm:
        """Request a VM."""
        vm = replay.start_vm(offer)
        self._look().started(vm)
        if not vm.spot:
            self._followed = None
        return vm

    def _end(self, replay: ReplayState, vm: Vm) -> None:
        """Terminate a VM without tasks."""
        replay.terminate(vm)
        self._look().ended(vm)
        if not vm.spot:
            self._followed = None

    def _move(self, replay: ReplayState, entry: Task, target: Vm, late: bool = False) -> None:
        """Move an unfinished task, whatever it does, with what is saved of it."""
        if entry.vm.gives_tasks:
            replay.migrate(entry.task, entry.vm, target, late=late)
        else:
            if replay.tasks[entry.task].running:
                saves = self._saves_at_once(replay, entry.vm, entry.task)
                replay.preempt(entry.task, entry.vm, checkpoint=saves)
                if saves:
                    entry = self._task_there(replay, entry.vm, entry.task, replay.tasks[entry.task].saved)
            replay.steal(entry.task, entry.vm, target)
        self._look().moved(entry, target)
        self._followed = None

    def _saves_at_once(self, replay: ReplayState, vm: Vm, task: int) -> bool:
        """Whether a task that runs on an on-demand VM loses nothing if it leaves in this second."""
        placed = vm.run_of(task)
        if vm.spot or placed is None or not self._known(replay).saves_often(task):
            return False
        return replay.dump_s(task, vm.offer, placed[1].mode) == 0

    def _task_there(self, replay: ReplayState, vm: Vm, task: int, saved: float) -> Task:
        """What a rescue would have to do with a task of an on-demand VM that leaves it."""
        return Task(task, vm, WAITS, saved, self._known(replay).row(replay, task, saved))

    # ---------------------------------------------------------------- what is cheap

    def _rates(self, replay: ReplayState) -> tuple[float, float]:
        """Interruptions of a VM, and returns, for each second; as known, or by what has happened so far."""
        known = _known_rates(replay)
        if known is not None:
            return known
        half_s = replay.instance.deadline_s / 2
        types = sum([of_type.first != NONE for of_type in replay.types])
        out_s = self._out_s + sum(replay.now_s - since_s for since_s in self._out.values())
        up_s = max(types * replay.now_s - out_s, 0)
        return (1 + self._outages) / (half_s + up_s), (1 + self._returns) / (half_s + out_s)

    def _to_spot(self, replay: ReplayState, scene: Scene) -> int:
        """Move what is lost to spot VMs, unless it is likely to go on in time; return when that is less likely."""
        _, back = self._rates(replay)
        patience_s = -math.log(1 - _WAITS_IF_BACK) / back if back else math.inf
        left_s = self.plan.latest_s - replay.now_s
        again_s = replay.instance.deadline_s
        waits = self.waits and left_s > patience_s
        if waits:
            again_s = self.plan.latest_s - math.floor(patience_s)
        for entry in scene.lost():
            if not (waits and entry.vm.halted):
                self._move_to_spot(replay, entry)
        return again_s

    def _move_to_spot(self, replay: ReplayState, entry: Task) -> None:
        """Move what is lost to the spot VM where it is cheapest, if there is one."""
        _, target = self._best_spot(replay, entry, self.plan.latest_s)
        if target is not None:
            self._move(replay, entry, self._start(replay, target) if isinstance(target, RentalOffer) else target)

    def _best_spot(
        self, replay: ReplayState, entry: Task, latest_s: int, with_others: bool = False
    ) -> tuple[float, Vm | RentalOffer | None]:
        """The spot VM, or offer of a new one, where a task is cheapest, with what its next loss may cost.

        ``with_others`` says that others follow, which share the rent of a VM.
        """
        table, now_s = self._known(replay), replay.now_s
        until_s = latest_s if self.covered else replay.instance.deadline_s
        if table.saves_often(entry.task) and now_s + replay.start_overhead_s + table.between_s(entry.task) < until_s:
            until_s = replay.instance.deadline_s  # what runs is saved, and puts the rescue off
        interrupted, back = self._rates(replay)
        task, saved, work = entry.task, entry.saved, replay.work
        memory_kb = entry.row.memory_kb
        most_lost_s = math.inf if table.interval_s is None else table.interval_s[work.group_of[task]]
        work_usd_per_s = table.new[0].price_usd_per_s / table.new[0].vcpus if table.new else 0.0
        best: Vm | RentalOffer | None = None
        least = math.inf

        def risk(end_s: int, duration_s: int) -> float:
            chance = (1 - math.exp(-interrupted * (end_s - now_s))) * math.exp(-back * max(latest_s - end_s, 0))
            return chance * (min(duration_s, most_lost_s) + replay.start_overhead_s) * work_usd_per_s

        terms: dict[int, tuple[int, float]] = {}
        for vm in self._look().spot:
            if vm.disordered:  # what waits there moves up before more is appended
                continue
            known = terms.get(vm.offer_index)
            if known is None:
                duration_s = work.duration_s(task, vm.offer_index, FULL_SPEED, saved)
                known = terms[vm.offer_index] = duration_s, replay.price_usd_per_s(vm.offer)
            duration_s, usd_per_s = known
            if duration_s >= NEVER:
                continue
            span(replay, vm)
            start_s: int | None = vm.free_s
            if vm.most_kb != NONE:
                start_s = replay.timeline(vm).earliest_start_s(memory_kb, duration_s)
            if start_s is None:
                continue
            end_s = vm.zero_s + start_s + duration_s
            if end_s > until_s:
                continue
            if with_others:
                usd = duration_s * usd_per_s / vm.offer.vcpus
            else:
                usd = max(end_s - max(vm.zero_s + vm.ends_s, now_s), 0) * usd_per_s
            if usd < least:
                usd += risk(end_s, duration_s)
                if usd < least:
                    best, least = vm, usd
        for offer in table.spot:
            if not replay.can_start(offer):
                continue
            duration_s = work.duration_s(task, offer.index, FULL_SPEED, saved)
            end_s = now_s + replay.start_overhead_s + duration_s
            if duration_s >= NEVER or end_s > until_s:
                continue
            session_s = end_s - now_s - replay.instance.boot_overhead_s
            rent = replay.billing.billed_s(session_s) * replay.price_usd_per_s(offer)
            usd = rent / offer.vcpus if with_others else rent
            if usd < least:
                usd += risk(end_s, duration_s)
                if usd < least:
                    best, least = offer, usd
        return least, best

    def _balance(self, replay: ReplayState) -> None:
        """Let free cores of spot VMs take what would end last elsewhere."""
        for vm in [vm for vm in self._look().spot if vm.state == RUNNING]:
            while replay.timeline(vm).earliest_core_s <= vm.uptime_s(replay.now_s):
                if not self._take_last(replay, vm):
                    break

    def _take_last(self, replay: ReplayState, thief: Vm) -> bool:
        """Let a VM take the task that waits and would end last; False if none ends earlier there."""
        last: tuple[int, int, int] | None = None
        for vm in self._look().spot:
            if vm is not thief and vm.n_left > 1:
                for queue in vm.waiting:
                    if queue:
                        found = vm.zero_s + queue[-1].end_s, vm.index, queue[-1].task
                        if last is None or found > last:
                            last = found
        if last is None:
            return False
        end_s, _, task = last
        sooner_s = replay.end_if_placed_s(thief, task, None, replay.tasks[task].saved)
        if sooner_s is None or sooner_s > end_s - GAIN_S:
            return False
        self._move(replay, self._look().by_task[task], thief)
        return True

    def _spread(self, replay: ReplayState) -> None:
        """Start spot VMs for what would end last, while they are worth their rent."""
        interrupted, _ = self._rates(replay)
        while (spread := best_spread(replay, self._known(replay), self._look().spot, interrupted)) is not None:
            vm = self._start(replay, spread.offer)
            for end_s, task in spread.tasks:
                entry = self._look().by_task[task]
                sooner_s = replay.end_if_placed_s(vm, task, None, entry.saved)
                if sooner_s is None or sooner_s > end_s - GAIN_S:
                    break
                self._move(replay, entry, vm)
            if not vm.n_left:
                break

    def _relieve(self, replay: ReplayState) -> int:
        """Move to spot VMs what waits on on-demand VMs, or has just started there, while it can all be rescued.

        What runs, too, if it saves often, and is ahead of the pace of the time; return when that may be.
        """
        last: Packing | None = None
        again_s = replay.instance.deadline_s
        there = [vm for vm in replay.vms if not vm.spot and vm.memory_kb is None and vm.alive]
        for vm in sorted(there, key=lambda vm: (-vm.offer.price_usd_per_s / vm.offer.vcpus, vm.index)):
            while vm.n_left:
                found = self._relieve_one(replay, vm, self.plan.latest_s if last is None else last.due_s)
                if isinstance(found, int):
                    again_s = min(again_s, found)
                    break
                last = found
        if last is not None:
            self.plan = last.plan(self._known(replay))
        return again_s

    def _relieve_one(self, replay: ReplayState, vm: Vm, latest_s: int) -> Packing | int:
        """Move the last task of an on-demand VM to a spot VM, if that is cheaper.

        Return the rescue from then on; or when to ask again, if nothing is moved.
        """
        table, now_s, deadline_s = self._known(replay), replay.now_s, replay.instance.deadline_s
        run = _last_run(replay, vm, table)
        if run is None:
            return deadline_s
        often, dump_s = table.saves_often(run.task), 0
        saved, left_s = replay.tasks[run.task].saved, run.end_s - run.start_s
        done_s = vm.uptime_s(now_s) - run.start_s if vm.run_of(run.task) is not None else 0
        if done_s > 0:
            saved += (1 - saved) * done_s / left_s
            left_s -= done_s
            dump_s = replay.dump_s(run.task, vm.offer, run.mode)
            if (paid_s := _paid_until_s(replay, vm)) > now_s + dump_s:
                return paid_s - dump_s
        entry = self._task_there(replay, vm, run.task, saved)
        found = None
        if table.interval_s is None:  # what does not end before the rescue must begin is done again
            found = self._packed_without(replay, vm, entry)
            latest_s = min(latest_s, found.latest_s)
        usd, target = self._best_spot(replay, entry, latest_s, with_others=True)
        if target is None or usd >= left_s * replay.price_usd_per_s(vm.offer) / vm.offer.vcpus:
            return deadline_s
        found = found or self._packed_without(replay, vm, entry)
        if found.left_out:
            return deadline_s
        if not often:
            if found.latest_s < now_s + _ROOM * (deadline_s - now_s):
                return deadline_s
        elif run.task not in self._leaving:
            from_s = self._spare_from_s(replay, found.latest_s - now_s - dump_s)
            if from_s > now_s:
                return from_s
        if dump_s:
            return self._prepare_to_leave(replay, vm, run.task, dump_s, left_s)
        self._leaving.discard(run.task)
        self._move(replay, entry, self._start(replay, target) if isinstance(target, RentalOffer) else target)
        return found

    def _packed_without(self, replay: ReplayState, vm: Vm, entry: Task) -> Packing:
        """Look for a rescue of all that is left and of a task of an on-demand VM, which leaves it."""
        scene = self._look()
        places = [
            place_without(replay, place, vm, entry.task) if place.number == vm.index else place
            for place in scene.places
        ]
        tasks = scene.ordered.copy()
        insort(tasks, entry, key=longest_first)
        return pack(replay, self._known(replay), tasks, places)

    def _prepare_to_leave(self, replay: ReplayState, vm: Vm, task: int, dump_s: int, left_s: int) -> Packing | int:
        """Have a task of an on-demand VM write a checkpoint, after which it leaves; `preempted` is asked then.

        It is the only one there, and may go on there in time if there is no spot VM any more; the rescue of all others
        does without that VM. Return that rescue; the deadline if it cannot be.
        """
        table, scene, deadline_s = self._known(replay), self._look(), replay.instance.deadline_s
        others, ready_s = [place for place in scene.places if place.number != vm.index], replay.now_s + dump_s
        found = pack(replay, table, scene.ordered, others)
        if vm.n_left > 1 or found.left_out or found.latest_s <= ready_s or ready_s + left_s > deadline_s:
            return deadline_s
        replay.preempt(task, vm, checkpoint=True)
        self._leaving.add(task)
        scene.places = others
        self._followed = None
        return found

    def _spare_from_s(self, replay: ReplayState, slack_s: int) -> int:
        """From when on a rescue that can wait for so long leaves enough for a task to go to spot, and be lost there.

        That is when it can wait for as large a part of what it could at first as there is of the time, and for two
        starts of a VM besides (Uniform Progress). While the task goes on where it is, it can always wait for as long.
        """
        deadline_s = replay.instance.deadline_s
        if self._first_slack_s is None:  # all is on demand so far
            self._first_slack_s = _from_the_start(replay, slack_s)
        first_s = max(self._first_slack_s, 1)
        over_s = slack_s - 2 * replay.start_overhead_s * (1 - first_s / deadline_s)
        return deadline_s if over_s <= 0 else max(math.ceil(deadline_s * (1 - over_s / first_s)), replay.now_s)

    def _fill(self, replay: ReplayState, idle: bool = False) -> None:
        """Let free cores of on-demand VMs that run take what is lost, if the rest can still be rescued.

        Those of VMs that have nothing else to do only if that is asked for.
        """
        for vm in replay.vms:
            if (
                not takes_rescues(vm)
                or vm.state != RUNNING
                or vm.burstable is not None
                or (vm.n_left == 0 and not idle)
                or vm.disordered
            ):
                continue
            while self._fill_one(replay, vm):
                pass

    def _fill_one(self, replay: ReplayState, vm: Vm) -> bool:
        """Let a core of an on-demand VM that is free take the longest task that is lost, if it can; False if not."""
        table, scene = self._known(replay), self._look()
        place = next(place for place in scene.places if place.number == vm.index)
        if min(place.free_s) > replay.now_s:
            return False
        for entry in scene.lost():
            duration_s = entry.row.durations_s[place.column]
            end_s = replay.end_if_placed_s(vm, entry.task, None, entry.saved)
            if end_s is None or end_s != replay.now_s + duration_s or end_s > replay.instance.deadline_s:
                continue
            core = place.free_s.index(min(place.free_s))
            free_s, share_kb = list(place.free_s), list(place.share_kb)
            free_s[core], share_kb[core] = end_s, max(share_kb[core], entry.row.memory_kb)
            taken = place._replace(free_s=tuple(free_s), share_kb=tuple(share_kb))
            places = [taken if other.number == vm.index else other for other in scene.places]
            found = pack(replay, table, scene.others(entry.task), places)
            if found.left_out or found.latest_s <= replay.now_s:
                continue
            self._move(replay, entry, vm)
            self._replace(replay, found)
            return True
        return False

    def _replace(self, replay: ReplayState, found: Packing) -> None:
        """Take the rescue that was found for a decision that has just been carried out."""
        table, scene = self._known(replay), self._look()
        self.plan = found.plan(table)
        self.plan.follow(replay, table, scene.by_task)
        if any(self.plan.cores.values()):
            again = pack(replay, table, scene.ordered, scene.places)
            if not again.left_out:
                self._adopt(replay, again)

    def _early(self, replay: ReplayState) -> int:
        """Start on-demand VMs for what is lost, if that is cheapest now; return when it may be."""
        table, now_s, deadline_s = self._known(replay), replay.now_s, replay.instance.deadline_s
        scene = self._look()
        in_turn = [entry for entry in scene.by_task.values() if entry.kind == LOST]
        if not in_turn or not self.covered:
            return deadline_s
        again_s = deadline_s
        if any(table.saves_often(entry.task) for entry in in_turn):
            again_s = self._keep_pace(replay)
            in_turn = [entry for entry in in_turn if not table.saves_often(entry.task)]
            if not in_turn:
                return again_s
        out = len({entry.vm.offer.vm_type.name for entry in in_turn})
        _, back = self._rates(replay)
        left_s = max(self.plan.latest_s - now_s, 0)
        spot_usd = 0.0
        for entry in in_turn:
            offer = entry.vm.offer
            duration_s = replay.duration_s(entry.task, offer, None, entry.saved)
            spot_usd += duration_s * replay.price_usd_per_s(offer) / offer.vcpus
        lost = [entry for entry in scene.lost() if not table.saves_often(entry.task)]
        moments_s = [now_s + left_s * number // (_MOMENTS - 1) for number in range(_MOMENTS)]
        prices_usd = prices_from(replay, table, lost, moments_s)
        best_s, least = now_s, math.inf
        for at_s, price_usd in zip(moments_s, prices_usd, strict=True):
            if price_usd is not None:
                chance = math.exp(-_OTHER_PLACE * back * out * (at_s - now_s))
                usd = chance * price_usd + (1 - chance) * spot_usd
                if usd < least:
                    best_s, least = at_s, usd
        if best_s > now_s:
            return min(best_s, again_s)
        if prices_usd[0] is not None:
            self._start_early(replay, lost)
        return again_s

    def _keep_pace(self, replay: ReplayState) -> int:
        """Do on demand what is lost and saves often, once it falls behind; return when that will be.

        That is when the rescue can wait for a smaller part of what it could at first than there is of the time (Uniform
        Progress); but not before an outage has lasted as long as the start of a VM, in which nothing is done either.
        """
        table, first_s = self._known(replay), self._first_slack_s or 0
        lost = [entry for entry in self._look().lost() if table.saves_often(entry.task)]
        behind_s = math.ceil((self.plan.latest_s - first_s) / (1 - first_s / replay.instance.deadline_s))
        since_s = max([self._out.get(entry.vm.offer.vm_type.name, 0) for entry in lost], default=0)
        behind_s = max(behind_s, since_s + replay.start_overhead_s)
        if behind_s > replay.now_s:
            return behind_s
        for entry in lost:
            self._move_to_spot(replay, entry)  # also what would wait for its own VM
        self._fill(replay, idle=True)
        lost = [entry for entry in self._look().lost() if table.saves_often(entry.task)]
        if lost and prices_from(replay, table, lost, [replay.now_s])[0] is not None:
            self._start_early(replay, lost)
        return replay.instance.deadline_s

    def _start_early(self, replay: ReplayState, lost: list[Task]) -> None:
        """Start new VMs for what is lost, if it ends there in time and the rest can still be rescued."""
        table, scene, now_s = self._known(replay), self._look(), replay.now_s
        wanted = pack(replay, table, lost, [], window=(now_s, now_s)).plan(table)
        by_task = {entry.task: entry for entry in lost}
        lists = [
            sorted([by_task[task] for entries in new.cores for task in entries], key=longest_first)
            for new in wanted.new
        ]
        added: list[Place] = []
        for new, entries in zip(wanted.new, lists, strict=True):
            place = place_of_new(replay, table, new.offer, entries, len(replay.vms) + len(added))
            if place is None:
                return
            added.append(place)
        rest = [entry for entry in scene.ordered if entry.task not in by_task]
        found = pack(replay, table, rest, [*scene.places, *added], [new.offer for new in wanted.new])
        if found.left_out or found.latest_s <= now_s:
            return
        for new, entries in zip(wanted.new, lists, strict=True):
            vm = self._start(replay, new.offer)
            for entry in entries:
                self._move(replay, entry, vm)
        self._replace(replay, found)

    def _end_idle(self, replay: ReplayState, vms: Iterable[Vm], idle: bool) -> int:
        """End VMs that nothing needs once what is paid for is over, maybe idle ones, too; return when that is."""
        again_s = replay.instance.deadline_s
        for vm in list(vms):
            if vm.halted and not vm.n_left and not _kept_for_nothing(replay, vm):
                self._end(replay, vm)
            if not idle or not vm.idle:
                continue
            paid_s = _paid_until_s(replay, vm)
            if not vm.spot:  # it is no more than a rescue until it may start, and nothing else happens then
                paid_s = max(paid_s, vm.zero_s + vm.first_start_s)
            if paid_s > replay.now_s:
                again_s = min(again_s, paid_s)
                continue
            if vm.spot or self._can_go(replay, vm):
                self._end(replay, vm)
        return again_s

    def _can_go(self, replay: ReplayState, vm: Vm) -> bool:
        """Whether the rescue can do without an idle on-demand VM; if so, it does."""
        scene = self._look()
        if not scene.ordered:
            return True
        if not self.covered:
            return False
        others = [place for place in scene.places if place.number != vm.index]
        found = pack(replay, self._known(replay), scene.ordered, others)
        if found.left_out or found.latest_s <= replay.now_s + replay.start_overhead_s:
            return False
        self.plan = found.plan(self._known(replay))
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


def _from_the_start(replay: ReplayState, slack_s: int) -> int:
    """For how long a rescue could have waited at first, if it has been in step with the time until now."""
    deadline_s = replay.instance.deadline_s
    return slack_s * deadline_s // (deadline_s - replay.now_s)


def _paid_until_s(replay: ReplayState, vm: Vm) -> int:
    """Until when a VM is paid for, if that is by blocks."""
    if replay.billing.block_s == 1 or vm.session_s is None:
        return 0
    return vm.session_s + replay.billing.billed_s(replay.now_s - vm.session_s)


def _last_run(replay: ReplayState, vm: Vm, table: Table) -> Run | None:
    """Return the run that a VM ends last of those that wait, have just started, or save often."""
    uptime_s = vm.uptime_s(replay.now_s)
    last: Run | None = None
    for core, queue in enumerate(vm.waiting):
        run = queue[-1] if queue else vm.running[core]
        if run is None or core in vm.dumps:
            continue
        leaves = vm.burstable is None and table.saves_often(run.task)
        if (queue or run.start_s >= uptime_s or leaves) and (last is None or run.end_s > last.end_s):
            last = run
    return last


def _in_time(replay: ReplayState) -> bool:
    """Whether all tasks of on-demand VMs end in time as things stand."""
    deadline_s = replay.instance.deadline_s
    return all(vm.zero_s + replay.timeline(vm).end_s <= deadline_s for vm in replay.vms if not vm.spot and vm.n_left)


def _core_of(vm: Vm, task: int) -> int:
    """Core that has a task, which runs there or waits."""
    placed = vm.run_of(task)
    if placed is not None:
        return placed[0]
    return next(core for core, queue in enumerate(vm.waiting) for run in queue if run.task == task)
