"""Work stealing of HADS and Burst-HADS: an idle VM takes tasks that would start late elsewhere."""

from __future__ import annotations

from ....instances.entries import NEVER
from ..interpreted import note
from ..rows import NONE, NOTED, Rows, VmRow
from ..rules import duration_of, is_executing, last_start_of, list_waiting, longest_of, span, uptime_at
from ..rules import steal as take_over
from .migration import takes


def steal(r: Rows, thief: VmRow, spare_all: int) -> None:
    """Let an idle VM steal from regular VMs that execute tasks, on-demand ones first (HADS Algorithm 8).

    A burstable one takes one task only, at the baseline (Burst-HADS Algorithm 5, lines 7-10). Those may be stolen from
    that are busy, "active and executing tasks" (section 4.3.1): what has just been moved to a new VM is left there.
    """
    stolen = 0
    for spot in range(2):
        for price in range(r.n_prices):
            v = r.prices[price].first
            while v != NONE:
                victim = r.vms[v]
                v = victim.after
                if victim.n_left <= 1 or victim.spot != spot or victim.bursts or victim.index == thief.index:
                    continue
                uptime_s = r.now_s - victim.zero_s
                # Else all that waits there starts in the present cycle, and none of it may be stolen.
                if last_start_of(r, victim) >= uptime_s - uptime_s % r.cycle_s + r.cycle_s:
                    stolen += steal_from(r, thief, victim, spare_all)
                    if stolen and thief.bursts:
                        v = NONE
            if stolen and thief.bursts:
                break
        if stolen and thief.bursts:
            break
    r.steal_attempts += 1
    r.steals += stolen > 0
    note(r, NOTED.STEAL_ATTEMPT, thief.index, NONE, NONE, stolen, 0, 0.0)


def steal_from(r: Rows, thief: VmRow, victim: VmRow, spare_all: int) -> int:
    """Let an idle VM steal from one other; return how many tasks it takes.

    Those may be stolen that are to start after the current allocation cycle of their VM (HADS, section 4.3.5 and Fig.
    7). The paper's figure decides: the planned start counts, not the end.
    """
    offer = thief.offer_index
    mode = r.offers[offer].sustained
    span(r, thief)
    find_least(r, victim, offer, mode)
    # Cheap, and the end of it for most victims: nothing that waits there could end in time here.
    if exceeds(r, thief, victim.least_duration_s, victim.least_runtime_s, spare_all) or not is_executing(r, victim):
        return 0
    cycle_end_s = (max(uptime_at(victim, r.now_s), 0) // r.cycle_s + 1) * r.cycle_s
    stolen = 0
    n = list_waiting(r, victim, r.left, 0)
    for k in range(n):
        task = r.left[k]
        run = r.tasks[task]
        row = r.groups[run.group]
        if run.start_s < cycle_end_s or row.ready_s > r.now_s:  # what is not ready is not late for want of a core
            continue
        duration_s = duration_of(r, run.group, offer, mode, run.saved)
        runtime_s = r.durations[run.group][offer].runtime_s
        if duration_s >= NEVER or exceeds(r, thief, duration_s, runtime_s, spare_all):
            continue
        if takes(r, thief, duration_s, runtime_s, row.memory_kb, row.ready_s, row.due_s, spare_all):
            take_over(r, task, victim, thief, mode)
            stolen += 1
            if thief.bursts:
                break
            span(r, thief)
    return stolen


def find_least(r: Rows, victim: VmRow, offer: int, mode: int) -> None:
    """Find the least that the tasks which wait on a VM ask of one of another offer, or less than that.

    It may count with tasks that have started since, but leaves none out.
    """
    # Kept until what waits there changes: each idle VM of an offer asks each victim the same.
    if victim.least_of == offer:
        return
    victim.least_of = offer
    victim.least_duration_s = victim.least_runtime_s = NEVER
    for core in range(victim.vcpus):
        task = r.cores[victim.index][core].first
        while task != NONE:
            run = r.tasks[task]
            duration_s = duration_of(r, run.group, offer, mode, run.saved)
            if duration_s < NEVER:
                victim.least_duration_s = min(victim.least_duration_s, duration_s)
                victim.least_runtime_s = min(victim.least_runtime_s, r.durations[run.group][offer].runtime_s)
            task = run.next


def exceeds(r: Rows, vm: VmRow, duration_s: int, runtime_s: int, spare_all: int) -> bool:
    """True if a task asks for more than any that a VM may take, memory aside; see `takes`."""
    left_s = r.deadline_s - vm.zero_s - vm.free_s - duration_s
    if vm.spot or spare_all:
        left_s -= max(longest_of(r, vm), runtime_s) + r.start_overhead_s + 1
    return left_s < 0
