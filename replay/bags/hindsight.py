"""The best that is found for a known day: what the clairvoyant bound is not above, and perhaps far below.

A bound says what no policy can beat, not what one could reach who knows the day. Here is something that was reached: a
plan made for the day itself and replayed on it, with or without tasks that are cut, or the outcome of a policy: the
cheapest of all that met the deadline. So the least that a day can cost lies between the bound and this reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...core.bill import unpaid_usd
from ...heuristics.bags.known_day import known_day_plan
from ...instances.bags.timeline import Timeline
from ...instances.clouds import Cloud
from ...instances.entries import FULL_SPEED, MARKETS, NEVER, VmsLeft
from ...instances.instance import Instance
from ...schedules.schedule import Schedule
from .engine import Replay
from .outcome import DayOutcome
from .plan import PlannedVm, PlanTables, ReplayPlan, replay_plan
from .policies.static import Static
from .rules import dump_of
from .state import Policy, ReplayState, Vm

_LEAST_S = 10
"""Seconds of work for which a task is cut; each checkpoint takes as long, or longer."""

_PLANS = 12


class Hindsight:
    """Plans for many known days of an instance.

    Parameters
    ----------
    plan : ReplayPlan
        Any plan of the instance. `Instance.markets` restricts it, not what is found here: a policy may start any VM.
    cloud : Cloud
        What interruptions are, and how VMs are billed.

    Notes
    -----
    What is found for a day depends on nothing but the day and the outcomes: not on days looked at before.
    """

    def __init__(self, plan: ReplayPlan, cloud: Cloud) -> None:
        self._cloud = cloud
        self._instance = _without_d_spot(plan.instance)
        # How long each spot VM is up is found out by a replay of all that may be rented, without tasks.
        vms = []
        for offer in self._instance.offers:
            if offer.market == "spot":
                limit = min(offer.limit, self._instance.n_tasks)
                cores = ((),) * offer.vcpus
                vms += [PlannedVm(f"{offer.index}-{number}", offer, cores) for number in range(limit)]
        self._empty = ReplayPlan(self._instance, tuple(vms), plan.schedule)

    def cheapest_usd(self, timeline: Timeline, outcomes: Iterable[DayOutcome] = ()) -> float | None:
        """Return the least cost found that meets the deadline; None if nothing is found that does.

        Parameters
        ----------
        timeline : Timeline
            The day.
        outcomes : iterable of DayOutcome
            What policies made of it, within the limits of the instance.
        """
        replayed = (self._replayed(schedule, policy, timeline) for schedule, policy in self.plans(timeline))
        return min((day.cost_usd for day in [*outcomes, *replayed] if day.meets_deadline), default=None)

    def plans(self, timeline: Timeline) -> Iterator[tuple[Schedule, Policy]]:
        """Plan for the day, in each of the ways in which VMs may be counted on; with what carries the plans out.

        VMs that hibernate can be counted on whenever they are up. Those that are stopped lose what is not saved, and
        those that are terminated are gone: they are counted on until then, or only until they have notice of it.
        """
        tried = []
        for time_of in self._times(timeline):
            if time_of in tried:
                continue
            tried.append(time_of)
            up_s = {offer: [seconds for seconds, _ in times] for offer, times in time_of.items()}
            schedule = known_day_plan(self._instance, up_s)
            if schedule is not None:
                yield schedule, Static()
                yield from with_cut_tasks(schedule, time_of, self._empty.tables)

    def _times(self, timeline: Timeline) -> Iterator[dict[int, Sequence[tuple[int, int]]]]:
        """Seconds for which the VMs of each spot offer are up by the deadline: in all, until gone, until notice.

        Each with the moment until which that is.
        """
        empty = Replay(self._empty, _Watch(), timeline, self._cloud)
        empty.run()
        watch, deadline_s = empty.policy, self._instance.deadline_s
        assert isinstance(watch, _Watch)
        spans: list[list[tuple[int, int]]] = []
        for vm in empty.state.vms:
            spans.append([(start, min(end, deadline_s)) for start, end, _ in vm.sessions if start < deadline_s])
        in_all = [(sum(end - start for start, end in of), of[-1][1] if of else 0) for of in spans]
        first = [of[0] if of else (0, 0) for of in spans]
        until_gone = [(end - start, end) for start, end in first]
        warned = [max(min(end, watch.warned_s.get(number, end)), start) for number, (start, end) in enumerate(first)]
        until_notice = [(end - start, end) for (start, _), end in zip(first, warned, strict=True)]
        for times in (in_all, until_gone, until_notice):
            by_offer: dict[int, Sequence[tuple[int, int]]] = {}
            for vm, time in zip(empty.state.vms, times, strict=True):
                by_offer[vm.offer.index] = [*by_offer.get(vm.offer.index, ()), time]
            yield by_offer

    def _replayed(self, schedule: Schedule, policy: Policy, timeline: Timeline) -> DayOutcome:
        return Replay(replay_plan(schedule), policy, timeline, self._cloud).run()


class _Watch(Policy):
    """Takes down when each VM first has notice; else it does nothing but keep the replay going until the deadline."""

    name = "watch"

    def __init__(self) -> None:
        self.warned_s: dict[int, int] = {}

    def woken(self, replay: ReplayState) -> None:
        """Stay until the deadline."""
        if replay.now_s < replay.instance.deadline_s:
            replay.wake_at(replay.instance.deadline_s)

    def noticed(self, replay: ReplayState, vm: Vm) -> None:
        """Count a plan."""
        self.warned_s.setdefault(vm.index, replay.now_s)


def _without_d_spot(instance: Instance) -> Instance:
    """Return the instance as whoever knows the day sees it: both markets, spot until the deadline, least cost."""
    both = instance.with_goal("cheapest").replace(markets=MARKETS)
    return both if both.d_spot_s is None else both.replace(d_spot_s=both.deadline_s)


# -------------------------------------------------------------------------- tasks that are cut
# Whole tasks never fill the time that a day leaves spot VMs, and none fits on a VM that goes down early. A task that
# the plan has on demand can be begun there, write a checkpoint just before the VM goes down, and go on elsewhere.


class CutTasks(Static):
    """Follow the plan, but move some tasks on demand when their time has come, with all that they have done.

    Parameters
    ----------
    cut_s : dict of int to int
        When each of these tasks begins to write its checkpoint.
    """

    name = "cut-tasks"
    summary = "follows the plan, and moves some tasks on demand at times that are given"

    def __init__(self, cut_s: Mapping[int, int]) -> None:
        self._cut_s = cut_s

    def woken(self, replay: ReplayState) -> None:
        """Have the tasks write their checkpoints; move at once what does not run."""
        due = {task for task, time_s in self._cut_s.items() if time_s == replay.now_s}
        for vm in list(replay.vms) if due else ():
            for task in sorted(due.intersection(vm.tasks())):
                if not vm.gives_tasks and vm.run_of(task) is not None:
                    replay.preempt(task, vm, checkpoint=True)
                if vm.gives_tasks or vm.run_of(task) is None:
                    _move(replay, vm, task)
        later = [time_s for time_s in self._cut_s.values() if time_s > replay.now_s]
        if later:
            replay.wake_at(min(later))

    def preempted(self, replay: ReplayState, vm: Vm, task: int) -> None:
        """Move a task whose checkpoint is written."""
        _move(replay, vm, task)


def _move(replay: ReplayState, source: Vm, task: int) -> None:
    """Move a task to where it adds least to the rent of on-demand VMs that are there; to a new one if none can."""
    saved = replay.saved_if_moved(source, task)
    best: tuple[float, int, Vm] | None = None
    for vm in replay.vms:
        end_s = replay.end_if_placed_s(vm, task, saved=saved) if vm.alive and not vm.spot else None
        if end_s is not None and end_s <= replay.instance.deadline_s:
            last_s = vm.zero_s + max(replay.timeline(vm).core_free_s)
            entry = (unpaid_usd(vm.offer.price_usd_per_s, end_s, last_s), end_s, vm)
            if best is None or entry[:2] < best[:2]:
                best = entry
    target = _new_vm(replay, task) if best is None else best[2]
    if target is None:
        return
    if source.gives_tasks:
        replay.migrate(task, source, target)
    else:
        replay.steal(task, source, target)


def _new_vm(replay: ReplayState, task: int) -> Vm | None:
    able = [
        offer
        for offer in replay.instance.offers
        if offer.market == "on-demand" and not offer.burstable and replay.can_start(offer)
        if replay.duration_s(task, offer) < NEVER
    ]
    return replay.start_vm(min(able, key=lambda offer: offer.price_usd_per_s / offer.vcpus)) if able else None


class _Core(NamedTuple):
    """A core of a spot VM: seconds that the plan leaves it, from when on, and until when."""

    left_s: int
    vm: int
    core: int
    from_s: int
    until_s: int


def with_cut_tasks(
    schedule: Schedule, time_of: Mapping[int, Sequence[tuple[int, int]]], tables: PlanTables
) -> Iterator[tuple[Schedule, CutTasks]]:
    """Let spot VMs begin tasks of on-demand VMs in the time that the plan leaves them: few tasks first, then more.

    Parameters
    ----------
    schedule : Schedule
        A plan for a known day.
    time_of : dict of int to sequence
        Of each spot offer, in the order of requests: for how many seconds a VM is up, and until when.
    tables : PlanTables
        Of the instance.

    Yields
    ------
    tuple
        A plan, in which these tasks stand on spot VMs as a whole, and what moves them.
    """
    instance = schedule.instance
    on_demand = ~instance.offer_is_spot[schedule.vm_offer][schedule.task_vm]
    # The tasks that end last come first: the VMs that they leave end earlier.
    last_first = np.argsort(-schedule.task_end_s, kind="stable")
    waiting = last_first[on_demand[last_first]].tolist()
    if not waiting or not tables.rows.takes_checkpoints:
        return
    vm_offer, cores = _spot_cores(schedule, time_of)
    cuts: list[tuple[int, _Core, int]] = []
    for core in sorted(cores, key=lambda core: (-core.left_s, core.vm, core.core)):
        offer = vm_offer[core.vm]
        for task in waiting:
            group = tables.group_of[task]
            dump_s = dump_of(tables.rows, group, offer, FULL_SPEED)
            if tables.rows.durations[group][offer].full_s < NEVER and core.left_s - dump_s > _LEAST_S:
                cuts.append((task, core, core.until_s - dump_s - 1))
                waiting.remove(task)
                break
    for number in sorted({-(-len(cuts) * step // _PLANS) for step in range(1, _PLANS + 1)} - {0}):
        task_vm, task_core = schedule.task_vm.copy(), schedule.task_core.copy()
        start_s = schedule.task_start_s.copy()
        for task, core, _ in cuts[:number]:
            task_vm[task], task_core[task], start_s[task] = core.vm, core.core, core.from_s
        used, renumbered = np.unique(task_vm, return_inverse=True)
        offers = np.array(vm_offer, dtype=np.int64)
        baseline = schedule.task_baseline & instance.offer_is_burstable[offers][task_vm]
        plan = Schedule(instance, offers[used], renumbered, task_core, start_s, baseline)
        yield plan, CutTasks({task: cut_s for task, _, cut_s in cuts[:number]})


def _spot_cores(schedule: Schedule, time_of: Mapping[int, Sequence[tuple[int, int]]]) -> tuple[list[int], list[_Core]]:
    """Offers of the VMs of a plan and of all further spot VMs within the limits; and the cores of spot VMs."""
    instance, boot_s = schedule.instance, schedule.instance.boot_overhead_s
    vm_offer = schedule.vm_offer.tolist()
    left = VmsLeft(instance, np.bincount(vm_offer, minlength=len(instance.offers)))
    full_speed = [index for index in time_of if not instance.offers[index].burstable]  # others would need credits
    for index in full_speed:
        times = time_of[index]
        more = min(max(left.of(index), 0), len(times) - vm_offer.count(index))
        vm_offer += [index] * more
        left.take(index, more)
    ends_s = {
        vm: [int(instance.ready_s[index])] * instance.offers[index].vcpus
        for vm, index in enumerate(vm_offer)
        if index in full_speed
    }
    columns = schedule.task_vm.tolist(), schedule.task_core.tolist(), schedule.task_end_s.tolist()
    for vm, core, end_s in zip(*columns, strict=True):
        if vm in ends_s:
            ends_s[vm][core] = max(ends_s[vm][core], end_s)
    cores, rank = [], dict.fromkeys(full_speed, 0)
    for vm, ends in ends_s.items():
        up_s, until_s = time_of[vm_offer[vm]][rank[vm_offer[vm]]]
        rank[vm_offer[vm]] += 1
        cores += [_Core(up_s - (end - boot_s), vm, core, end, until_s) for core, end in enumerate(ends)]
    return vm_offer, cores
