"""The rescue that `on-time` keeps ready: what is left of a bag, which VMs may take it, and when that must begin.

Plain functions over rows, as rules are. A task is *open* while it is unfinished and no on-demand VM has it. The rescue
says for each open task where it goes: to a core of an on-demand VM, or of a new one (`StandbyRow`). The packing at the
end of this file is compiled for replays in Python, too: see `interpreted.pack`.
"""

from __future__ import annotations

import math

from ....core.capacities import UNLIMITED, fits, larger
from ....core.quantities import NOISE, SECONDS_PER_HOUR
from ....instances.entries import FULL_SPEED, NEVER
from ..interpreted import make_room_for_standby, pack, pack_new_vms, sort_tasks
from ..rows import FIRST_NEW, LEFT_OUT, NONE, Rows, StandbyVmRow, VmRow
from ..rules import (
    can_start,
    core_free,
    count_planned,
    duration_of,
    earliest_uptime,
    forget_planned,
    is_alive,
    list_tasks,
    list_waiting,
    may_give,
    rent_usd,
    saved_now,
)

_OFTEN = 0.01
"""Part of the time until the deadline within which a task writes a checkpoint that saves often."""

# ------------------------------------------------------------------------- open tasks


def look(r: Rows) -> bool:
    """See which tasks are open, and what each asks of on-demand VMs; say whether any is where it cannot go on."""
    make_room_for_standby(r)
    n, lost, changed = 0, False, False
    for v in range(r.n_vms):
        vm = r.vms[v]
        # One more than its changes: rows of VMs begin with 0, and so with none seen.
        known = vm.seen == vm.changes + 1
        changed = changed or not known
        vm.seen = vm.changes + 1
        if not vm.spot or not vm.n_left:
            continue
        stuck, drains = may_give(vm), vm.gone_s != NONE
        for core in range(vm.vcpus):
            slot = r.cores[v][core]
            if slot.running != NONE:
                n = see(r, vm, slot.running, n)
                lost = lost or (stuck and not drains)
            task = slot.first
            lost = lost or (stuck and task != NONE)
            # What waits asks for what it asked when the VM was last seen; only what runs saves more.
            while task != NONE and not known:
                n = see(r, vm, task, n)
                task = r.tasks[task].next
    if changed or n:
        leave_out_closed(r)
        insert_open(r, n)
    r.rescuers_known = r.standby_followed = 0
    return lost


def see(r: Rows, vm: VmRow, task: int, n: int) -> int:
    """Learn the need of a task of a spot VM on demand; list it if it has no place among those that are open."""
    run, entry = r.tasks[task], r.standby[task]
    saved = saved_now(r, vm, task) if run.running and r.takes_checkpoints else run.saved
    learn(r, task, saved)
    if entry.listed != 1:
        entry.listed = 0
        r.listed[n] = task
        n += 1
    return n


def learn(r: Rows, task: int, saved: float) -> None:
    """Find out how long a task takes on on-demand VMs from where it is saved."""
    entry = r.standby[task]
    if entry.known and entry.saved == saved:
        return
    least_s = NEVER
    for column in range(r.n_columns):
        index = r.columns[column]
        duration_s = duration_of(r, r.tasks[task].group, index, r.offers[index].sustained, saved)
        r.need_s[task * r.n_columns + column] = duration_s
        least_s = min(least_s, duration_s)
    r.need_least_s[task] = least_s
    group = r.groups[r.tasks[task].group]
    r.need_kb[task], r.need_ready_s[task], r.need_after_s[task] = (
        group.memory_kb,
        group.ready_s,
        r.deadline_s - group.due_s,
    )
    # Its place among those that are open has changed.
    if not entry.known or entry.order != -least_s:
        entry.listed = 0
    entry.known, entry.saved, entry.order = 1, saved, -least_s


def leave_out_closed(r: Rows) -> None:
    """Leave out, of the open tasks, what is finished, or on on-demand VMs, and what is to be inserted anew."""
    kept = 0
    for k in range(r.n_open):
        task = r.open_tasks[k]
        v, entry = r.tasks[task].vm, r.standby[task]
        if v == NONE or not r.vms[v].spot:
            entry.listed, entry.vm = 0, NONE
        if entry.listed:
            r.open_tasks[kept] = task
            kept += 1
    r.n_open = kept


def insert_open(r: Rows, n: int) -> None:
    """Insert listed tasks into those that are open, those due last first, and the longest of them."""
    if n > 1:
        for k in range(n):
            task = r.listed[k]
            run = r.tasks[task]
            run.rank, run.weight, run.tie = r.need_after_s[task], float(r.standby[task].order), task
        sort_tasks(r, r.listed, n)
    # Merged from behind, as both lists are in order: what is there moves once, and to its last place.
    there = r.n_open - 1
    r.n_open += n
    for k in range(n - 1, -1, -1):
        task = r.listed[k]
        r.standby[task].listed = 1
        while there >= 0 and goes_before(r, task, r.open_tasks[there]):
            r.open_tasks[there + k + 1] = r.open_tasks[there]
            there -= 1
        r.open_tasks[there + k + 1] = task


def goes_before(r: Rows, task: int, other: int) -> bool:
    """True if a task is packed before another: if it is due later, or takes longer, by least durations on demand."""
    after, others_after = r.need_after_s[task], r.need_after_s[other]
    order, others = r.standby[task].order, r.standby[other].order
    return after < others_after or (after == others_after and (order < others or (order == others and task < other)))


def is_lost(r: Rows, task: int) -> bool:
    """True if an open task is where it cannot go on."""
    vm = r.vms[r.tasks[task].vm]
    return may_give(vm) and not (r.tasks[task].running and vm.gone_s != NONE)


def moves_before(r: Rows, task: int, other: int) -> bool:
    """True if a task of the work of a core is moved before another: what is due first, and of that what is released.

    Then what is cheaper to move: what is lost before what waits before what runs; longest first.
    """
    after, others_after = r.need_after_s[task], r.need_after_s[other]
    if after != others_after:
        return after > others_after
    early, others_early = r.need_ready_s[task] > r.now_s, r.need_ready_s[other] > r.now_s
    if early != others_early:
        return others_early
    kind, others = kind_of(r, task), kind_of(r, other)
    return kind < others or (kind == others and goes_before(r, task, other))


def kind_of(r: Rows, task: int) -> int:
    """State of an open task: 0 if it is lost, 1 if it waits, 2 if it runs."""
    return 0 if is_lost(r, task) else 1 + r.tasks[task].running


def saves_often(r: Rows, task: int) -> bool:
    """True if hardly anything of a task is lost with its VM: what it does on spot VMs puts the rescue off."""
    return r.takes_checkpoints == 1 and between_s(r, task) <= _OFTEN * r.deadline_s


def between_s(r: Rows, task: int) -> float:
    """Seconds from one checkpoint of a task to the next."""
    group = r.groups[r.tasks[task].group]
    return group.interval_s + group.dump_s


def rescue_s(r: Rows, task: int, offer: int) -> int:
    """Return the duration of an open task on an on-demand offer, from where it is saved."""
    return r.need_s[task * r.n_columns + r.column_of[offer]]


# --------------------------------------------------------------- VMs that a rescue may use


def list_rescuers(r: Rows, without: int, leaving: int) -> None:
    """List the on-demand VMs that a rescue may use, and when each of their cores is free.

    Without one of them, or, if a task of it leaves, with that VM as it is without the task.
    """
    make_room_for_standby(r)
    r.n_rescuers = 0
    r.rescuers_known = int(without == NONE)
    for v in range(r.n_vms):
        if takes_rescues(r, r.vms[v]) and (v != without or leaving != NONE):
            list_rescuer(r, r.vms[v], leaving if v == without else NONE)


def takes_rescues(r: Rows, vm: VmRow) -> bool:
    """True if a rescue may use a VM: on-demand, alive; no credits are spent on it that others count on.

    While a task writes a checkpoint there to leave, nothing is known of what its core does next.
    """
    if vm.spot or not is_alive(vm) or (vm.n_at_full_speed and vm.bursts):
        return False
    for core in range(vm.vcpus):
        slot = r.cores[vm.index][core]
        if slot.running != NONE and r.tasks[slot.running].dumping_s != NONE:
            return False
        task = slot.first if vm.bursts else NONE
        while task != NONE:
            if r.tasks[task].mode == FULL_SPEED:
                return False
            task = r.tasks[task].next
    return True


def list_rescuer(r: Rows, vm: VmRow, leaving: int) -> None:
    """List an on-demand VM, as it is once what waits there has moved up."""
    first = add_rescuer(r, vm.index, vm.offer_index)
    from_s = earliest_uptime(r, vm)
    for core in range(vm.vcpus):
        r.rescuer_free_s[first + core] = vm.zero_s + core_free(r, r.cores[vm.index][core], from_s)
    if vm.most_kb != NONE:
        for core in range(vm.vcpus):
            r.rescuer_kb[first + core] = largest_kb(r, vm, core)
    elif leaving != NONE or vm.disordered:
        list_moved_up(r, vm, first, leaving)


def add_rescuer(r: Rows, v: int, offer: int) -> int:
    """List another VM, existing or new; return the place of its first core."""
    r.rescuers[r.n_rescuers], r.rescuer_offers[r.n_rescuers] = v, offer
    r.n_rescuers += 1
    first = (r.n_rescuers - 1) * r.most_cores
    for core in range(r.offers[offer].vcpus):
        r.rescuer_kb[first + core] = 0
    return first


def largest_kb(r: Rows, vm: VmRow, core: int) -> int:
    """Memory of the largest task of a core."""
    slot = r.cores[vm.index][core]
    kb = 0 if slot.running == NONE else r.groups[r.tasks[slot.running].group].memory_kb
    task = slot.first
    while task != NONE:
        kb = larger(kb, r.groups[r.tasks[task].group].memory_kb)
        task = r.tasks[task].next
    return kb


def list_moved_up(r: Rows, vm: VmRow, first: int, leaving: int) -> None:
    """List when each core of a VM whose memory never binds is free once what waits has moved up, without a task."""
    # As `append` will have it when what waits moves up; nothing is kept of it, as the task may stay.
    from_s = earliest_uptime(r, vm)
    for core in range(vm.vcpus):
        task = r.cores[vm.index][core].running
        gone = task in (NONE, leaving)
        r.rescuer_free_s[first + core] = vm.zero_s + (from_s if gone else r.tasks[task].end_s)
    n = list_waiting(r, vm, r.ordered, 0)
    for k in range(n):
        run = r.tasks[r.ordered[k]]
        if r.ordered[k] != leaving:
            best = first_free(r, first, vm.vcpus)
            free_s = max(r.rescuer_free_s[best], vm.zero_s + from_s, r.groups[run.group].ready_s)
            for core in range(first, first + vm.vcpus):  # the one that is idle for the shortest time then
                if r.rescuer_free_s[best] < r.rescuer_free_s[core] <= free_s:
                    best = core
            r.rescuer_free_s[best] = free_s + run.end_s - run.start_s


def first_free(r: Rows, first: int, n_cores: int) -> int:
    """Place of the core of a VM that is free first."""
    best = first
    for place in range(first + 1, first + n_cores):
        if r.rescuer_free_s[place] < r.rescuer_free_s[best]:
            best = place
    return best


def in_time(r: Rows) -> bool:
    """True if all tasks of on-demand VMs end in time as things stand."""
    for v in range(r.n_vms):
        vm = r.vms[v]
        if not vm.spot:
            n = list_tasks(r, vm, r.ordered)
            for k in range(n):
                run = r.tasks[r.ordered[k]]
                if vm.zero_s + run.end_s > r.groups[run.group].due_s:
                    return False
    return True


# ---------------------------------------------------------------------- looking for one


def pack_all(r: Rows, first_s: int) -> tuple[int, int]:
    """Look for a rescue of all open tasks on all VMs that may be used; see `latest_rescue`."""
    if not r.rescuers_known:
        list_rescuers(r, NONE, NONE)
    return pack_open(r, NONE, NONE, first_s)


def pack_without(r: Rows, vm: VmRow, leaving: int, first_s: int) -> tuple[int, int]:
    """Look for a rescue of all open tasks that does without a VM, or if a task leaves it, of that task as well."""
    list_rescuers(r, vm.index, leaving)
    return pack_open(r, leaving, NONE, first_s)


def pack_open(r: Rows, extra: int, missing: int, first_s: int) -> tuple[int, int]:
    """Look for a rescue of the open tasks, with one more or without one of them, on listed VMs."""
    n = 0
    for k in range(r.n_open):
        task = r.open_tasks[k]
        if extra != NONE and goes_before(r, extra, task):
            r.packed[n] = extra
            n += 1
            extra = NONE
        if task != missing:
            r.packed[n] = task
            n += 1
    if extra != NONE:
        r.packed[n] = extra
        n += 1
    return pack_listed(r, n, first_s, r.deadline_s)


def pack_listed(r: Rows, n: int, first_s: int, last_s: int) -> tuple[int, int]:
    """Look for a rescue of listed tasks that can wait until one moment, and as long as possible until another."""
    r.n_packed = n
    r.n_found_new = 0
    if n == 0:
        return r.deadline_s, 0
    return pack(r, first_s, last_s)


def pack_one_type(r: Rows) -> int:
    """Look for a rescue of what is lost and of any one type, or else of what is lost: there is none for all.

    Return when it must begin.
    """
    if not r.rescuers_known:
        list_rescuers(r, NONE, NONE)
    best, best_s = NONE, NEVER
    for vm_type in range(len(r.types)):
        if list_lost(r, vm_type):
            due_s, left_out = pack_listed(r, r.n_packed, r.now_s, r.deadline_s)
            if left_out == 0 and due_s < best_s:
                best, best_s = vm_type, due_s
    list_lost(r, best)
    return pack_listed(r, r.n_packed, r.now_s, r.deadline_s)[0]


def list_lost(r: Rows, vm_type: int) -> bool:
    """List the open tasks that are lost, and the others of a type, to be packed; say whether there are others."""
    n, others = 0, False
    for k in range(r.n_open):
        task = r.open_tasks[k]
        lost = is_lost(r, task)
        of_type = vm_type == r.offers[r.vms[r.tasks[task].vm].offer_index].type
        others = others or (of_type and not lost)
        if lost or of_type:
            r.packed[n] = task
            n += 1
    r.n_packed = n
    return others


def price_from(r: Rows, start_s: int) -> float:
    """Price of new VMs for listed tasks, requested at some moment; less than 0 if they do not suffice."""
    n_new = pack_new_vms(r, start_s)
    usd = 0.0 if n_new >= 0 else -1.0
    for k in range(n_new):
        session_s = r.start_overhead_s - r.boot_overhead_s + r.found_longest_s[k]
        usd += rent_usd(r, r.found_new[k], session_s)
    return usd


def late_chance(interrupted: float, back: float, work_s: int, slack_s: int) -> float:
    """Probability of the outages of a VM to take longer than there is slack, until it has worked for some time.

    The VM goes and returns by chance, at rates for each second. So there are N outages while it works, and they take
    longer than the slack where at most N - 1 returns fall into it, put side by side: both numbers are Poisson's.
    """
    mean_outages, mean_returns = interrupted * max(work_s, 0), back * max(slack_s, 0)
    outages, returns = math.exp(-mean_outages), math.exp(-mean_returns)  # probability of none
    no_more, number = outages, 0  # outages are no more than that, with this probability
    chance = part = returns * (1 - no_more)
    while part > NOISE * chance:
        number += 1
        outages *= mean_outages / number
        returns *= mean_returns / number
        no_more += outages
        part = returns * max(1 - no_more, 0.0)
        chance += part
    return chance


def first_usd_per_s(r: Rows, offer: int) -> float:
    """Price of a core of an offer when the day began, for a second."""
    return r.offers[offer].usd_per_hour / SECONDS_PER_HOUR / r.offers[offer].vcpus


# -------------------------------------------------------------- the rescue that is kept


def keep(r: Rows, due_s: int) -> None:
    """Keep the rescue that was found last."""
    for k in range(r.n_open):
        r.standby[r.open_tasks[k]].vm = NONE
    for k in range(r.n_packed):
        entry, place = r.standby[r.packed[k]], r.found[k] // r.most_cores
        entry.core = r.found[k] % r.most_cores
        if r.found[k] == NONE:
            entry.vm = LEFT_OUT
        elif place < r.n_rescuers:
            entry.vm = r.rescuers[place]
        else:
            # VMs that are not requested have no index: numbers from this one downwards stand for them.
            entry.vm = FIRST_NEW - (place - r.n_rescuers)
    r.n_standby_vms = r.n_found_new
    for k in range(r.n_found_new):
        r.standby_vms[k].offer, r.standby_vms[k].longest_s = r.found_new[k], 0
    r.standby_latest_s, r.standby_followed = due_s, 0


def follow(r: Rows) -> None:
    """Work out anew when the rescue must begin, as tasks are not open any more; give its work to what is free first."""
    if not r.standby_followed:
        sum_up(r)
        if match_all(r):
            sum_up(r)
        r.standby_followed = 1


def sum_up(r: Rows) -> None:
    """Sum up the work of each core of the rescue, and when it must begin at the latest."""
    for v in range(r.n_vms):
        if not r.vms[v].spot:
            for core in range(r.vms[v].vcpus):
                r.cores[v][core].standby_s = 0
    for k in range(r.n_standby_vms):
        for core in range(r.most_cores):
            r.standby_work_s[k * r.most_cores + core] = 0
    for k in range(r.n_open):
        task = r.open_tasks[k]
        entry = r.standby[task]
        if entry.vm >= 0:
            slot = r.cores[entry.vm][entry.core]
            slot.standby_s = max(slot.standby_s, r.need_after_s[task]) + rescue_s(r, task, r.vms[entry.vm].offer_index)
        elif entry.vm <= FIRST_NEW:
            place = FIRST_NEW - entry.vm
            work_s = rescue_s(r, task, r.standby_vms[place].offer)
            core = place * r.most_cores + entry.core
            r.standby_work_s[core] = max(r.standby_work_s[core], r.need_after_s[task]) + work_s
    latest_s = r.deadline_s
    for v in range(r.n_vms):
        if not r.vms[v].spot:
            for core in range(r.vms[v].vcpus):
                latest_s = min(latest_s, r.deadline_s - r.cores[v][core].standby_s)
    for k in range(r.n_standby_vms):
        new, new.longest_s = r.standby_vms[k], 0
        for core in range(r.most_cores):
            new.longest_s = max(new.longest_s, r.standby_work_s[k * r.most_cores + core])
        if new.longest_s:
            latest_s = min(latest_s, new_latest_s(r, new))
    r.standby_latest_s = latest_s


def new_latest_s(r: Rows, new: StandbyVmRow) -> int:
    """Latest time for the request of a new VM of the rescue."""
    return r.deadline_s - new.longest_s - r.start_overhead_s


def match_all(r: Rows) -> bool:
    """Give the most work of each VM to the core that is free first; say whether any work has another core then.

    What waits there may have moved up.
    """
    changed = False
    for v in range(r.n_vms):
        vm = r.vms[v]
        # Where memory may bind, a core has a share of it for its work, and keeps that work.
        if not vm.spot and vm.most_kb == NONE and vm.n_left and is_alive(vm):
            changed = match(r, vm) or changed
    if changed:
        for k in range(r.n_open):
            entry = r.standby[r.open_tasks[k]]
            if entry.vm >= 0 and r.vms[entry.vm].matched:
                entry.core = r.cores[entry.vm][entry.core].standby_core
    return changed


def match(r: Rows, vm: VmRow) -> bool:
    """Match the cores of a VM with the work that the rescue has for it; say whether any work has another core then."""
    cores, from_s = r.cores[vm.index], earliest_uptime(r, vm)
    vm.matched, work_s = 0, 0
    for core in range(vm.vcpus):
        work_s += cores[core].standby_s
    if work_s == 0:
        return False
    for core in range(vm.vcpus):
        cores[core].standby_core = NONE
        r.heads[core] = core_free(r, cores[core], from_s)
    for _ in range(vm.vcpus):
        first = most = NONE
        for core in range(vm.vcpus):
            if r.heads[core] < NEVER and (first == NONE or r.heads[core] < r.heads[first]):
                first = core
            if cores[core].standby_core == NONE and (most == NONE or cores[core].standby_s > cores[most].standby_s):
                most = core
        cores[most].standby_core = first
        r.heads[first] = NEVER
        vm.matched |= int(first != most and cores[most].standby_s > 0)
    return vm.matched == 1


def swap(r: Rows, v: int, core: int, other: int) -> None:
    """Let two cores of a VM change the work that the rescue has for them."""
    for k in range(r.n_open):
        entry = r.standby[r.open_tasks[k]]
        if entry.vm == v and (entry.core == core or entry.core == other):
            entry.core = core + other - entry.core


# ------------------------------------------------------- the packing, always compiled


def latest_rescue(r: Rows, first_s: int, last_s: int) -> tuple[int, int]:
    """Pack listed tasks onto on-demand VMs so that all may wait for as long as can be found.

    Those that are due last first, and the longest of them, each onto the core of the first VM that takes it which is
    free first; VMs that are there come first, then new ones. A core does last what is packed first: the work of a core
    is all the time from its latest start to the deadline of the bag, and nothing of it is not released by its own
    latest start. The latest start is looked for from that of the rescue that is known. Where memory may bind,
    each core of a VM has a share of its memory for its largest task: whatever starts when, all of it fits.

    Parameters
    ----------
    r : Rows
        Tasks are those of ``packed``, in the order of packing; VMs that are there are the ``rescuers``.
    first_s, last_s : int
        The first and the last start to look at.

    Returns
    -------
    due_s : int
        When the first VM or task of the packing must start: if nothing is done before, all tasks still end in time.
    left_out : int
        Tasks without a place. Where no rescue was known before, there may be some, and the others have places.

    Notes
    -----
    Where each task goes is in ``found``: the place of the VM, among rescuers and then new ones, times ``most_cores``,
    and its core; `NONE` without a place. The offer of each new VM is in ``found_new``.
    """
    due_s, least = first_s - 1, r.n_packed
    if first_s > last_s:  # after the deadline nothing has a place
        for k in range(r.n_packed):
            r.found[k] = NONE
    low_s, high_s, start_s, step_s, was_good = first_s, last_s, first_s, 0, True
    while low_s <= high_s:
        begin_with_rescuers(r, start_s)
        go_on = start_s == first_s and not r.covered
        n_new, left_out = pack_from(r, r.n_rescuers, start_s + r.start_overhead_s, go_on)
        good = left_out == 0
        if good or go_on:
            keep_found(r, r.n_rescuers, n_new)
            least, due_s = left_out, due_of_packing(r, n_new)
        if go_on and not good:
            break
        if good:
            low_s = max(start_s, due_s) + 1
        else:
            high_s = start_s - 1
        # First where the rescue has begun that is known, then ever farther from there, at last in the middle.
        if start_s == first_s:
            start_s, step_s = r.standby_latest_s, 1
        elif step_s and (step_s == 1 or good == was_good):
            start_s = low_s + step_s - 1 if good else high_s - step_s + 1
            step_s *= 2
        else:
            start_s, step_s = (low_s + high_s) // 2, 0
        start_s, was_good = min(max(start_s, low_s), high_s), good
    return due_s, least


def due_of_packing(r: Rows, n_new: int) -> int:
    """Latest start of the first VM or task of a packing."""
    due_s = r.deadline_s
    for k in range(r.n_rescuers + n_new):
        work_s = most_work_s(r, k)
        if work_s:
            due_s = min(due_s, r.deadline_s - work_s - (r.start_overhead_s if k >= r.n_rescuers else 0))
    return due_s


def new_vms_from(r: Rows, start_s: int) -> int:
    """Pack listed tasks onto new on-demand VMs only, from a moment on; see `latest_rescue`.

    Return how many VMs it takes, `NONE` if a task has no place. The offer of each is in ``found_new``, the work of its
    core that has most in ``found_longest_s``.
    """
    n_new, left_out = pack_from(r, 0, start_s + r.start_overhead_s, False)
    if left_out:
        return NONE
    keep_found(r, 0, n_new)
    for k in range(n_new):
        r.found_longest_s[k] = most_work_s(r, k)
    return n_new


def keep_found(r: Rows, n_there: int, n_new: int) -> None:
    """Keep a packing: it is the last that is good."""
    for k in range(r.n_packed):
        r.found[k] = r.placed[k]
    r.n_found_new = n_new
    for k in range(n_new):
        r.found_new[k] = r.packed_vms[n_there + k].offer


def most_work_s(r: Rows, k: int) -> int:
    """Largest packed work of a core of a VM."""
    most_s = 0
    for core in cores_of(r, k):
        most_s = max(most_s, r.packed_cores[core].work_s)
    return most_s


def cores_of(r: Rows, k: int) -> range:
    """Places of the cores of a VM."""
    return range(k * r.most_cores, k * r.most_cores + r.offers[r.packed_vms[k].offer].vcpus)


def begin_with_rescuers(r: Rows, start_s: int) -> None:
    """Begin a packing with the VMs that are there, which take tasks from a moment on."""
    for k in range(r.n_rescuers):
        vm = r.packed_vms[k]
        vm.offer, vm.used_kb, vm.free_s = r.rescuer_offers[k], 0, NEVER
        for core in cores_of(r, k):
            row = r.packed_cores[core]
            row.end_s, row.kb, row.work_s = max(r.rescuer_free_s[core], start_s), r.rescuer_kb[core], 0
            vm.used_kb += row.kb
            vm.free_s = min(vm.free_s, row.end_s)


def pack_from(r: Rows, n_there: int, ready_s: int, go_on: bool) -> tuple[int, int]:
    """Pack tasks onto VMs that are there and new ones that are ready at some time.

    Return how many new ones, and how many tasks have no place; unless it is to go on, there may be more of them.
    """
    n_vms, left_out = n_there, 0
    forget_planned(r)
    for j in range(r.n_packed):
        task = r.packed[j]
        r.placed[j] = NONE
        most_s = r.deadline_s - r.need_least_s[task]
        for k in range(n_vms):
            # Most VMs are full, and are passed over by when their first core is free.
            if r.packed_vms[k].free_s <= most_s and put_on(r, j, task, k):
                break
        if r.placed[j] == NONE and n_vms - n_there < len(r.found_new):
            n_vms += open_for(r, j, task, n_vms, ready_s)
        if r.placed[j] == NONE:
            left_out += 1
            if not go_on:
                break
    forget_planned(r)
    return n_vms - n_there, left_out


def put_on(r: Rows, j: int, task: int, k: int) -> bool:
    """Put a task onto the core of a VM that is free first of those with memory for it, if it ends in time there."""
    vm = r.packed_vms[k]
    length_s = r.need_s[task * r.n_columns + r.column_of[vm.offer]]
    if vm.free_s + length_s > r.deadline_s:
        return False
    offer = r.offers[vm.offer]
    kb, room_kb = r.need_kb[task], UNLIMITED
    if offer.memory_kb != NONE:
        room_kb = offer.memory_kb - vm.used_kb
    after_s, most_s = r.need_after_s[task], r.deadline_s - length_s - r.need_ready_s[task]
    dated = after_s > 0 or most_s < r.deadline_s - length_s
    best, best_s = NONE, r.deadline_s - length_s + 1
    for core in cores_of(r, k):
        row = r.packed_cores[core]
        end_s = row.end_s
        if dated:
            # Work is counted back from the deadline: a task that is due earlier leaves a gap behind it.
            work_s = max(row.work_s, after_s)
            end_s += work_s - row.work_s if work_s <= most_s else NEVER
        if end_s < best_s and fits(room_kb + row.kb - larger(kb, row.kb)):
            best, best_s = core, end_s
    if best == NONE:
        return False
    row = r.packed_cores[best]
    length_s += max(after_s - row.work_s, 0)
    row.end_s += length_s
    row.work_s += length_s
    vm.used_kb += larger(kb, row.kb) - row.kb
    row.kb = larger(kb, row.kb)
    vm.free_s = row.end_s
    for core in cores_of(r, k):
        vm.free_s = min(vm.free_s, r.packed_cores[core].end_s)
    r.placed[j] = best
    return True


def open_for(r: Rows, j: int, task: int, k: int, ready_s: int) -> int:
    """Put a task onto a new VM, the first that there can be on which it ends in time; return how many it is, 1 or 0."""
    for m in range(r.n_standby_offers):
        index = r.standby_offers[m]
        offer = r.offers[index]
        length_s = r.need_s[task * r.n_columns + r.column_of[index]]
        if max(ready_s, r.need_ready_s[task]) + length_s > r.deadline_s - r.need_after_s[task]:
            continue
        if not can_start(r, offer):
            continue
        if offer.memory_kb != NONE and not fits(offer.memory_kb - r.need_kb[task]):
            continue
        count_planned(r, offer)
        vm = r.packed_vms[k]
        vm.offer, vm.used_kb, vm.free_s = index, 0, ready_s
        for core in cores_of(r, k):
            row = r.packed_cores[core]
            row.end_s, row.kb, row.work_s = ready_s, 0, 0
        put_on(r, j, task, k)
        return 1
    return 0
