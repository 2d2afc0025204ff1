"""More spot VMs than were planned, for `on-time`: what ends earlier is interrupted less often."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ....instances.durations import FULL_SPEED, NEVER
from ....instances.entries import RentalOffer
from ....schedules.timing import VmTimeline
from ..rows import NONE
from ..state import ReplayState
from ..vm import Vm
from .on_time_rescue import Table

GAIN_S = 20
"""How much earlier a task must end on another spot VM for it to move there."""


class Spread(NamedTuple):
    """A new spot VM that pays, and what it takes: when each task would end where it is, and the task."""

    offer: RentalOffer
    tasks: list[tuple[int, int]]


def best_spread(replay: ReplayState, table: Table, spot: Sequence[Vm], interrupted: float) -> Spread | None:
    """Find the new spot VM that is worth most to what would end last on other spot VMs; None if none is worth its rent.

    Work whose VM is interrupted before it ends is done on demand, in the end. The new VM is paid for while
    nothing runs on it yet, and runs as many tasks at a time as its cores and its memory hold.
    """
    now_s, work = replay.now_s, replay.work
    first_s = now_s + replay.start_overhead_s
    busy = [vm for vm in spot if vm.n_left > 1]
    last_s = max([vm.zero_s + _last_end_s(replay, vm) for vm in busy], default=0)
    if last_s <= first_s + GAIN_S or not table.new:
        return None
    offers = [offer for offer in table.spot if replay.can_start(offer)]
    if not offers:
        return None
    waiting = []
    for vm in busy:
        zero_s, core_usd = vm.zero_s, replay.price_usd_per_s(vm.offer) / vm.offer.vcpus
        for slot in replay.cores[vm.index]:
            task = slot.first
            while task != NONE:
                run = replay.tasks[task]
                waiting.append((zero_s + run.end_s, task, (run.end_s - run.start_s) * core_usd))
                task = run.next
    waiting.sort(reverse=True)
    work_usd_per_s = table.new[0].price_usd_per_s / table.new[0].vcpus
    column = table.column[table.new[0].index]
    best: Spread | None = None
    most = 0.0
    for offer in offers:
        timeline = VmTimeline(offer.vcpus, offer.memory_kb if table.binds_spot[offer.index] else None, first_s)
        taken = []
        usd = 0.0
        for end_s, task, rent in waiting:
            saved = replay.tasks[task].saved
            duration_s = work.duration_s(task, offer.index, FULL_SPEED, saved)
            memory_kb = replay.memory_kb(task)
            start_s = None if duration_s >= NEVER else timeline.earliest_start_s(memory_kb, duration_s)
            if start_s is None or start_s + duration_s > end_s - GAIN_S:
                break
            timeline.append(start_s, memory_kb, duration_s)
            sooner_s = start_s + duration_s
            taken.append((end_s, task))
            risk = math.exp(-interrupted * (sooner_s - now_s)) - math.exp(-interrupted * (end_s - now_s))
            on_demand_usd = work_usd_per_s * table.row(replay, task, saved).durations_s[column]
            usd += rent + risk * max(on_demand_usd - rent, 0.0)
        session_s = timeline.end_s - now_s - replay.instance.boot_overhead_s
        usd -= replay.billing.billed_s(session_s) * replay.price_usd_per_s(offer)
        if taken and usd > most:
            best, most = Spread(offer, taken), usd
    return best


def _last_end_s(replay: ReplayState, vm: Vm) -> int:
    """When the last of the tasks that wait on a VM ends, in uptime; long ago if none waits."""
    last = [slot.last for slot in replay.cores[vm.index] if slot.last != NONE]
    return max([replay.tasks[task].end_s for task in last], default=-replay.now_s)
