"""More spot VMs than were planned, for `on-time`: what ends earlier is interrupted less often."""

from __future__ import annotations

import math

from ....instances.entries import FULL_SPEED, NEVER
from ..interpreted import sort_tasks
from ..rows import NONE, Rows, VmRow
from ..rules import can_start, comes_before, duration_of, is_alive, rent_usd, usd_per_s
from .estimation import assign, new_sketch, start_on_sketch
from .on_time_rescue import rescue_s, still_out

GAIN_S = 20
"""How much earlier a task must end on another spot VM for it to move there."""

_LISTED = 32
"""Tasks that are listed for a new VM at first, ever twice as many while it takes them all."""


def takes_work(vm: VmRow) -> bool:
    """True if a VM is a spot VM that takes tasks, and not burstable."""
    return vm.spot == 1 and not vm.bursts and is_alive(vm)


def spread(r: Rows, interrupted: float, back: float) -> tuple[int, int]:
    """Find the new spot VM that is worth most to what would end last on other spot VMs.

    Work whose VM is interrupted before it ends is done on demand, in the end, if that VM is not back before the rescue
    must begin. The new VM is paid for while nothing runs on it yet, and runs as many tasks at a time as its cores and
    its memory hold. Interruptions and returns are those of a VM, for each second.

    Returns
    -------
    offer, n : int
        Of which offer it is, `NONE` if none is worth its rent; how many tasks it takes, the first of `Rows.left`.
    """
    first_s = r.now_s + r.start_overhead_s
    best, n_best, most_usd, most = NONE, 0, 0.0, _LISTED
    last = last_to_end(r, NONE)
    if not r.n_standby_offers or last == NONE:
        return NONE, 0
    if r.vms[r.tasks[last].vm].zero_s + r.tasks[last].end_s <= first_s + GAIN_S:
        return NONE, 0
    n = 0
    for offer in range(r.n_offers):
        if r.offers[offer].spot and not r.offers[offer].bursts and can_start(r, r.offers[offer]):
            if n == 0:
                n = list_last_first(r, most)
            taken, usd = worth_of(r, offer, n, interrupted, back)
            while taken == n and n == most:
                most *= 2
                n = list_last_first(r, most)
                taken, usd = worth_of(r, offer, n, interrupted, back)
            if usd > most_usd:
                best, n_best, most_usd = offer, taken, usd
    return best, n_best


def last_to_end(r: Rows, thief: int) -> int:
    """Return the task that ends last of those that wait on spot VMs, but for one; `NONE` if none waits."""
    last, last_s = NONE, NONE
    for v in range(r.n_vms):
        vm = r.vms[v]
        if not takes_work(vm) or vm.n_left <= 1 or v == thief:
            continue
        for core in range(vm.vcpus):
            task = r.cores[v][core].last
            if task != NONE:
                end_s = vm.zero_s + r.tasks[task].end_s
                if last == NONE or end_s > last_s or (end_s == last_s and (v, task) > (r.tasks[last].vm, last)):
                    last, last_s = task, end_s
    return last


def list_last_first(r: Rows, most: int) -> int:
    """List what waits on spot VMs and would end last, the last first, but no more than so much; return how much.

    Of each core, one is before another if it waits behind it: the last ones are sorted, and those before them follow.
    """
    n_last = 0
    for v in range(r.n_vms):
        vm = r.vms[v]
        if takes_work(vm) and vm.n_left > 1:
            for core in range(vm.vcpus):
                task = r.cores[v][core].last
                if task != NONE:
                    rank_by_end(r, task)
                    r.ordered[n_last] = task
                    n_last += 1
    sort_tasks(r, r.ordered, n_last)
    n = place = n_next = 0
    while n < most and (place < n_last or n_next):
        if n_next and (place == n_last or comes_before(r, r.listed[n_next - 1], r.ordered[place])):
            n_next -= 1
            task = r.listed[n_next]
        else:
            task = r.ordered[place]
            place += 1
        r.left[n] = task
        n += 1
        task = task_before(r, task)
        if task != NONE:
            rank_by_end(r, task)
            k = n_next
            while k and comes_before(r, r.listed[k - 1], task):
                r.listed[k] = r.listed[k - 1]
                k -= 1
            r.listed[k] = task
            n_next += 1
    return n


def rank_by_end(r: Rows, task: int) -> None:
    """Have a task sorted before those that end earlier."""
    run = r.tasks[task]
    run.rank, run.weight, run.tie = -r.vms[run.vm].zero_s - run.end_s, 0.0, -task


def task_before(r: Rows, task: int) -> int:
    """Return the task that waits before another for its core; `NONE` if it is the first."""
    run = r.tasks[task]
    before, after = NONE, r.cores[run.vm][run.core].first
    while after != task:
        before, after = after, r.tasks[after].next
    return before


def worth_of(r: Rows, offer: int, n: int, interrupted: float, back: float) -> tuple[int, float]:
    """Count the listed tasks that a new spot VM takes; return that, and its worth to them, less its rent."""
    r.n_chosen = r.n_spans = 0
    sketch = new_sketch(r, offer, r.now_s + r.start_overhead_s, 0)
    taken, usd, session_s = 0, 0.0, 0
    for k in range(n):
        task = r.left[k]
        run = r.tasks[task]
        end_s, duration_s = -run.rank, duration_of(r, run.group, offer, FULL_SPEED, run.saved)
        start_s = NONE if duration_s >= NEVER else start_on_sketch(r, sketch, run.group, duration_s)
        sooner_s = r.sketches[sketch].zero_s + start_s + duration_s
        if start_s == NONE or sooner_s > end_s - GAIN_S:
            break
        assign(r, sketch, run.group, start_s, duration_s)
        session_s = max(session_s, sooner_s - r.now_s - r.boot_overhead_s)
        there = r.vms[run.vm].offer_index
        rent = (run.end_s - run.start_s) * (usd_per_s(r, there) / r.offers[there].vcpus)
        risk = math.exp(-interrupted * (sooner_s - r.now_s)) - math.exp(-interrupted * (end_s - r.now_s))
        risk *= still_out(interrupted, back, r.standby_latest_s - end_s)
        usd += rent + risk * max(r.rescue_usd_per_s * rescue_s(r, task, r.standby_offers[0]) - rent, 0.0)
        taken += 1
    return taken, usd - rent_usd(r, offer, session_s)
