"""Random plans and days: nothing is good about them but that a cloud could carry them out."""

from __future__ import annotations

import numpy as np

from spotbag.instances.bags.timeline import Timeline, TimelineEvent
from spotbag.instances.durations import NEVER
from spotbag.instances.instance import Instance
from spotbag.replay.bags.policy import Policy
from spotbag.replay.bags.state import ReplayState
from spotbag.replay.bags.vm import Vm
from spotbag.replay.vms import HIBERNATED
from spotbag.schedules.queues import Queue, schedule_of_queues
from spotbag.schedules.schedule import Schedule


def random_plan(instance: Instance, rng: np.random.Generator) -> Schedule | None:
    """Tasks on random VMs within the limits, whatever the deadline; None if a task finds no VM."""
    queues: list[Queue] = []
    for task in rng.permutation(instance.n_tasks).tolist():
        able = instance.sustained_s[int(instance.task_group[task])] < NEVER
        rented = [queue for queue in queues if able[queue.offer.index]]
        new = [offer for offer in instance.offers if able[offer.index] and _allowed(instance, queues, offer.index)]
        if new and (not rented or rng.random() < 0.4):
            rented = [Queue(new[int(rng.integers(len(new)))], [])]
            queues += rented
        if not rented:
            return None
        rented[int(rng.integers(len(rented)))].tasks.append(task)
    return schedule_of_queues(instance, queues)


def _allowed(instance: Instance, queues: list[Queue], index: int) -> bool:
    offer = instance.offers[index]
    cap = instance.limits.of(offer.market)
    in_market = sum(queue.offer.market == offer.market for queue in queues)
    return sum(queue.offer.index == index for queue in queues) < offer.limit and (cap is None or in_market < cap)


def random_day(instance: Instance, rng: np.random.Generator) -> Timeline:
    """Types hibernate and resume at random moments, some at the same ones, some for ever."""
    horizon = 1.5 * instance.deadline_s
    common = rng.integers(0, int(horizon), size=4)
    events = []
    for vm_type in instance.vm_types:
        if "spot" in vm_type.offers:
            own = rng.integers(0, int(horizon), size=int(rng.integers(0, 5)))
            times = np.unique(np.concatenate([own, common[rng.random(4) < 0.3]]))
            events += [
                TimelineEvent(int(time), vm_type.name, "resume" if number % 2 else "hibernate")
                for number, time in enumerate(times)
            ]
    return Timeline(tuple(sorted(events, key=lambda event: (event.time_s, event.kind == "hibernate"))), "random")


class Anything(Policy):
    """Decides at random whatever is allowed: migrates, steals, starts and terminates VMs, sets triggers."""

    name = "anything"

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def idle(self, replay: ReplayState, vm: Vm) -> None:
        stolen = 0
        for victim in replay.vms:
            if victim is not vm and victim.executing:
                for run, _ in list(victim.waiting_runs()):
                    if self._rng.random() < 0.3 and replay.end_if_placed_s(vm, run.task) is not None:
                        replay.steal(run.task, victim, vm)
                        stolen += 1
        replay.report_attempt(vm, stolen)

    def cycle_ended(self, replay: ReplayState, vm: Vm) -> None:
        if self._rng.random() < 0.5:
            replay.terminate(vm)

    def hibernated(self, replay: ReplayState, vm: Vm) -> None:
        if self._rng.random() < 0.5:
            replay.set_trigger(vm, replay.now_s + int(self._rng.integers(0, 60)))
        else:
            self._migrate(replay, vm)

    def trigger_reached(self, replay: ReplayState, vm: Vm) -> None:
        self._migrate(replay, vm)

    def finished(self, replay: ReplayState, vm: Vm, task: int) -> None:
        hibernated = [other for other in replay.vms if other.state == HIBERNATED]
        if hibernated and self._rng.random() < 0.3:
            self._migrate(replay, hibernated[int(self._rng.integers(len(hibernated)))])

    def _migrate(self, replay: ReplayState, source: Vm) -> None:
        for task in source.tasks():
            offers = [offer for offer in replay.instance.offers if replay.can_start(offer)]
            if offers and self._rng.random() < 0.2:
                replay.start_vm(offers[int(self._rng.integers(len(offers)))])
            able = [vm for vm in replay.vms if vm.alive and replay.end_if_placed_s(vm, task) is not None]
            if able and self._rng.random() < 0.7:
                replay.migrate(task, source, able[int(self._rng.integers(len(able)))])
