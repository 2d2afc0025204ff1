"""Random plans and days: nothing is good about them but that a cloud could carry them out."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume

from spotbag.core.errors import InputError
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.bags.timeline import INTERRUPTIONS, Timeline, TimelineEvent
from spotbag.instances.clouds import INTERRUPTION_KINDS, PAPERS, Billing, Cloud
from spotbag.instances.entries import NEVER, RentalOffer, VmType
from spotbag.instances.instance import Instance
from spotbag.plugins import LAUNCHING, RUNNING, Policy, ReplayState, Vm
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.plan import replay_plan
from spotbag.replay.bags.policies import find_policy
from spotbag.schedules.queues import Queue, schedule_of_queues
from spotbag.schedules.schedule import Schedule
from tests.helpers.quotas import Quotas


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
    kinds = [(other.vm_type.name, other.market) for other in (*(queue.offer for queue in queues), offer)]
    few = sum(queue.offer.index == index for queue in queues) < offer.limit
    return few and Quotas(instance).allow(kinds, kinds[-1])


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


def random_cloud(rng: np.random.Generator) -> Cloud:
    """Any kind of interruption, with or without notice, billed in any way."""
    billing = Billing(
        minimum_s=int(rng.choice([0, 0, 20, 60])),
        block_s=int(rng.choice([1, 1, 7, 100])),
        first_hour_free=bool(rng.random() < 0.5),
        hibernated_usd_per_gb_hour=float(rng.choice([0, 0.01])),
        stopped_usd_per_gb_hour=float(rng.choice([0, 0.02])),
        boot_s=int(rng.choice([0, 0, 9])),
        fixed_usd=float(rng.choice([0, 0, 0.003])),
    )
    kind = INTERRUPTION_KINDS[int(rng.integers(3))]
    return Cloud(name="random", interruption=kind, notice_s=int(rng.choice([0, 0, 3, 10, 40])), billing=billing)


def random_cloud_day(instance: Instance, rng: np.random.Generator) -> Timeline:
    """Everything that may happen, at random moments, some of it at the same ones."""
    horizon = int(1.5 * instance.deadline_s)
    common = rng.integers(0, horizon, size=3)
    events = []
    for vm_type in instance.vm_types:
        if "spot" not in vm_type.offers:
            continue
        own = rng.integers(0, horizon, size=int(rng.integers(0, 6)))
        times = np.unique(np.concatenate([own, common[rng.random(3) < 0.4]])).tolist()
        down, disturbed = False, False
        for time_s in times:
            event = _anything_of(vm_type, int(time_s), down, disturbed, rng)
            events.append(event)
            if event.of_type:
                down = event.interrupts or event.vms == 0
                disturbed = event.kind != "resume"
            else:
                disturbed |= event.interrupts
            if rng.random() < 0.2:
                events.append(_price(vm_type, int(time_s), rng))
    events += _ages(instance, rng.spawn(1)[0], horizon)
    return Timeline(tuple(sorted(events, key=lambda event: event.time_s)), "random")


def _ages(instance: Instance, rng: np.random.Generator, horizon: int) -> list[TimelineEvent]:
    """On some days, ages at which some VMs go."""
    if rng.random() < 0.6:
        return []
    return [
        TimelineEvent(0, vm_type.name, kind, vm=vm, notice_s=notice_s, age_s=int(rng.integers(0, horizon)))
        for vm_type in instance.vm_types
        if "spot" in vm_type.offers
        for vm in (1, 2, 3, 5)
        for kind in [INTERRUPTIONS[int(rng.integers(4))]]
        for notice_s in [None if rng.random() < 0.5 else int(rng.choice([0, 2, 15, 50]))]
        if rng.random() < 0.7
    ]


def _anything_of(vm_type: VmType, time_s: int, down: bool, disturbed: bool, rng: np.random.Generator) -> TimelineEvent:
    notice_s = None if rng.random() < 0.5 else int(rng.choice([0, 2, 15, 50]))
    kind = INTERRUPTIONS[int(rng.integers(4))]
    what = rng.random()
    if what < 0.15:
        return TimelineEvent(time_s, vm_type.name, kind, vm=int(rng.integers(1, 4)), notice_s=notice_s)
    if what < 0.3:
        share = float(rng.choice([0.3, 0.5, 0.7, 1.0]))
        return TimelineEvent(time_s, vm_type.name, kind, share=share, notice_s=notice_s)
    if what < 0.4:
        return TimelineEvent(time_s, vm_type.name, "resume", vm=int(rng.integers(1, 4)))
    if what < 0.6:
        return TimelineEvent(time_s, vm_type.name, "capacity", vms=int(rng.integers(0, 3)), by=kind, notice_s=notice_s)
    if down or (disturbed and rng.random() < 0.6):
        return TimelineEvent(time_s, vm_type.name, "resume")
    return TimelineEvent(time_s, vm_type.name, kind, notice_s=notice_s)


def _price(vm_type: VmType, time_s: int, rng: np.random.Generator) -> TimelineEvent:
    market = list(vm_type.offers)[int(rng.integers(len(vm_type.offers)))]
    return TimelineEvent(time_s, vm_type.name, "price", market=market, usd_per_hour=float(rng.choice([0, 0.5, 2.25])))


class Anything(Policy):
    """Decides at random whatever is allowed: migrates, steals, starts and ends VMs, sets triggers, wakes.

    If it ``preempts``, it also stops tasks that run, and steals for VMs that are launching.
    """

    name = "anything"

    def __init__(self, seed: int, preempts: bool = False) -> None:
        self._rng = np.random.default_rng(seed)
        self._preempts = preempts
        self._wakes = 30

    def idle(self, replay: ReplayState, vm: Vm) -> None:
        """Steal for a VM that is idle, or launching."""
        stolen = 0
        for victim in replay.vms:
            if victim is not vm and victim.state <= RUNNING:
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
        self._do_anything(replay)

    def noticed(self, replay: ReplayState, vm: Vm) -> None:
        if self._rng.random() < 0.5:
            self._migrate(replay, vm)
        elif self._rng.random() < 0.5:
            replay.set_trigger(vm, replay.now_s + int(self._rng.integers(0, 20)))
        elif not vm.n_left:
            replay.terminate(vm)

    def lost(self, replay: ReplayState, vm: Vm) -> None:
        self.hibernated(replay, vm)

    def capacity_changed(self, replay: ReplayState, vm_type: str) -> None:
        self._do_anything(replay)

    def price_changed(self, replay: ReplayState, offer: RentalOffer) -> None:
        self._do_anything(replay)

    def preempted(self, replay: ReplayState, vm: Vm, task: int) -> None:
        if vm.run_of(task) is None and self._rng.random() < 0.5:
            able = [other for other in _thieves(replay) if replay.end_if_placed_s(other, task) is not None]
            if able and vm.state <= RUNNING and task in vm.tasks():
                thief = able[int(self._rng.integers(len(able)))]
                replay.steal(task, vm, thief)
                replay.report_attempt(thief, 1)

    def woken(self, replay: ReplayState) -> None:
        if self._wakes:
            self._wakes -= 1
            replay.wake_at(replay.now_s + int(self._rng.integers(1, 40)))
            self._do_anything(replay)

    def _do_anything(self, replay: ReplayState) -> None:
        rng = self._rng
        left = [other for other in replay.vms if other.gives_tasks and other.n_left]
        if left and rng.random() < 0.3:
            self._migrate(replay, left[int(rng.integers(len(left)))])
        running = [
            (vm, run.task)
            for vm in replay.vms
            if vm.state == RUNNING
            for core, run in enumerate(vm.running)
            if run is not None and core not in vm.dumps
        ]
        if self._preempts and running and rng.random() < 0.4:
            vm, task = running[int(rng.integers(len(running)))]
            replay.preempt(task, vm, checkpoint=replay.instance.checkpoint is not None and bool(rng.random() < 0.5))
        offers = [offer for offer in replay.instance.offers if replay.can_start(offer)]
        if self._preempts and offers and rng.random() < 0.1:
            replay.start_vm(offers[int(rng.integers(len(offers)))])
        thieves = _thieves(replay)
        if self._preempts and thieves and rng.random() < 0.3:
            self.idle(replay, thieves[int(rng.integers(len(thieves)))])

    def _migrate(self, replay: ReplayState, source: Vm) -> None:
        for task in source.tasks():
            offers = [offer for offer in replay.instance.offers if replay.can_start(offer)]
            if offers and self._rng.random() < 0.2:
                replay.start_vm(offers[int(self._rng.integers(len(offers)))])
            able = [vm for vm in replay.vms if vm.alive and replay.end_if_placed_s(vm, task) is not None]
            if able and self._rng.random() < 0.7:
                replay.migrate(task, source, able[int(self._rng.integers(len(able)))])


def _thieves(replay: ReplayState) -> list[Vm]:
    """VMs that are idle or launching, and have no tasks."""
    return [vm for vm in replay.vms if vm.idle or (vm.state == LAUNCHING and not vm.n_left)]


def random_replay(
    document: dict[str, Any], seed: int, policy: str, todays: bool, record: bool = False
) -> tuple[Replay, Timeline, Cloud]:
    """Return the replay of a random plan of an instance, with its day and its cloud; no example if there is no plan.

    ``todays`` is whether everything may happen that happens on today's clouds, or hibernations only.
    """
    rng = np.random.default_rng(seed)
    try:
        instance = with_d_spot(Instance.from_document(document, "random"))
    except InputError:
        assume(False)
    plan = random_plan(instance, rng)
    assume(plan is not None)
    assert plan is not None
    chosen = Anything(7, preempts=todays) if policy == "anything" else find_policy(policy)
    cloud = random_cloud(rng) if todays else PAPERS
    day = random_cloud_day(instance, rng) if todays else random_day(instance, rng)
    return Replay(replay_plan(plan), chosen, day, cloud, record=record), day, cloud
