"""The rules of a replay: tasks start and end, VMs come, are interrupted and go, decisions are carried out.

They are plain functions over rows (see `rows`), which Python runs as they stand, and of which compiled loops are made
for many days (`compiled_engine`). What each of the two does in its own way is in `interpreted`. What may not be done is
refused in `ReplayState`, where policies ask for it.
"""

from __future__ import annotations

import math
from typing import Any

from ...core.bill import Bill, billed_s, cost_usd, is_free, paid_until_s, session_usd
from ...core.capacities import fits
from ...core.quantities import NOISE, SECONDS_PER_HOUR
from ...instances.entries import BASELINE, FULL_SPEED, LACKING_CREDITS, NEVER, SECONDS_PER_CREDIT
from ..engines import HIBERNATED, LAUNCHING, RUNNING, STOPPED, TERMINATED
from .interpreted import add_session, add_vm, note, push, refuse, sort_tasks
from .rows import (
    BUSY,
    FINISH,
    HIBERNATE,
    IDLE,
    INTERRUPT,
    LATE,
    MODE_SHIFT,
    NEW,
    NONE,
    NOTED,
    OLD,
    OLD_NOTICED,
    PREEMPTED,
    READY,
    RECALL,
    RECOVERED,
    REFUSAL,
    START,
    STOP,
    TRIGGER,
    CoreRow,
    OfferRow,
    Rows,
    VmRow,
)

# ----------------------------------------------------------------------------- work


def speed_of(r: Rows, offer: int, mode: int) -> float:
    """Speed of a core of an offer in a mode, as a part of its full speed."""
    return r.offers[offer].baseline if mode == BASELINE else 1.0


def checkpoints_of_work(r: Rows, group: int, offer: int, work_s: float) -> int:
    """Number of checkpoints in some work: one after every interval, none at or after the end (HADS eq. 1 and 2)."""
    if not (r.takes_checkpoints and r.offers[offer].spot):
        return 0
    # The quotient may be above a whole number by noise alone, which would add a checkpoint that nobody writes.
    return max(math.ceil((work_s - NOISE) / r.groups[group].interval_s) - 1, 0)


def duration_of(r: Rows, group: int, offer: int, mode: int, saved: float) -> int:
    """Seconds for which the rest of a task of a group occupies a core of an offer; `NEVER` if it cannot run there.

    ``saved`` is a fraction of the task, not seconds, since the rest may be done on another type: one that is faster for
    the whole task is as much faster for the rest.
    """
    row = r.durations[group][offer]
    whole_task = row.full_s if mode == FULL_SPEED else row.baseline_s
    if saved == 0.0 or whole_task >= NEVER:
        return whole_task
    work_s = row.runtime_s * (1.0 - saved)
    seconds = work_s + checkpoints_of_work(r, group, offer, work_s) * r.groups[group].dump_s
    return math.ceil(seconds / speed_of(r, offer, mode) - NOISE)


def dump_of(r: Rows, group: int, offer: int, mode: int) -> int:
    """Seconds for which a task of a group writes a checkpoint on an offer, rounded up."""
    return math.ceil(r.groups[group].dump_s / speed_of(r, offer, mode) - NOISE)


def checkpoints_of(r: Rows, task: int, offer: int, saved: float) -> int:
    """Number of checkpoints of a task on an offer if it runs to its end."""
    if not (r.takes_checkpoints and r.offers[offer].spot):
        return 0
    row = r.durations[r.tasks[task].group][offer]
    if saved == 0.0:
        return row.checkpoints
    return checkpoints_of_work(r, r.tasks[task].group, offer, row.runtime_s * (1.0 - saved))


def saved_by_one_more(r: Rows, task: int, offer: int, saved: float, worked_s: float) -> tuple[float, int]:
    """Seconds of work saved, and checkpoints written, if a task writes one after ``worked_s`` with earlier checkpoints.

    In whole seconds since the last regular checkpoint. One that is being written then is the last: it saves what it
    would have saved.
    """
    group = r.groups[r.tasks[task].group]
    period_s = group.interval_s + group.dump_s
    regular = checkpoints_of(r, task, offer, saved)
    count = min(regular, math.floor((worked_s + NOISE) / period_s)) if regular else 0
    since_s = worked_s - count * period_s
    if count < regular and since_s > group.interval_s + NOISE:
        return (count + 1) * group.interval_s, count + 1
    whole_s = count * group.interval_s
    seconds = max(float(math.floor(whole_s + since_s + NOISE)), whole_s)
    return seconds, count + int(seconds > whole_s + NOISE)


def last_checkpoint(r: Rows, vm: VmRow, task: int, until_s: int) -> tuple[float, float, int]:
    """Fraction saved of a task, and what its present run adds to that: seconds of work, checkpoints.

    What is written stays written: of the regular checkpoints, the one of a notice, and those of notices that the run
    has outlived, as its VM has resumed, that counts which saves most. ``until_s`` asks for what they will be when the
    VM is interrupted, which drains until then; `NONE` for what they are now.
    """
    run = r.tasks[task]
    saved = run.saved
    if not run.running or not vm.spot:
        return saved, 0.0, 0
    offer = vm.offer_index
    group = r.groups[run.group]
    elapsed_s = uptime_at(vm, r.now_s if until_s == NONE else until_s) - run.start_s
    # While it writes the checkpoint of a preemption, its work stands still.
    if run.dumping_s != NONE:
        elapsed_s = run.dumping_s - run.start_s
    speed = speed_of(r, offer, run.mode)
    regular = checkpoints_of(r, task, offer, saved)
    done = 0
    if regular:
        done = min(regular, math.floor((elapsed_s * speed + NOISE) / (group.interval_s + group.dump_s)))
    seconds = done * group.interval_s if done else 0.0
    # A VM that had no notice, or a core that was busy with a checkpoint anyhow, writes no last one.
    knew = vm.notice_s > 0 and run.dumping_s == NONE and (vm.state > RUNNING or until_s != NONE)
    if knew and r.takes_checkpoints and vm.notice_s * speed + NOISE >= group.dump_s:
        last_s, last = saved_by_one_more(r, task, offer, saved, elapsed_s * speed - group.dump_s)
        if last_s > seconds or (last_s == seconds and last > done):
            seconds, done = last_s, last
    if run.written_s > seconds or (run.written_s == seconds and run.written > done):
        seconds, done = run.written_s, run.written
    if done == 0:
        return saved, 0.0, 0
    return saved + seconds / r.durations[run.group][offer].runtime_s, seconds, done


def saved_now(r: Rows, vm: VmRow, task: int) -> float:
    """Fraction of a task that is saved if it leaves a VM now that is interrupted or drains."""
    return last_checkpoint(r, vm, task, NONE)[0]


def take_down(r: Rows, task: int, saved: float, saved_s: float, checkpoints: int) -> int:
    """Take down what a task has saved in its run; say whether it goes on from that."""
    run = r.tasks[task]
    if checkpoints:
        run.saved = saved
        r.checkpoints += checkpoints
        r.cpu_time_saved_s += saved_s
    recovered = int(saved > 0.0 and run.running == 1)
    r.recoveries += recovered
    return recovered


# ------------------------------------------------------------------------------ VMs


def uptime_at(vm: VmRow, now_s: int) -> int:
    """Seconds for which a VM has been running at a moment; negative while it is launching."""
    return (vm.halted_at_s if vm.state > RUNNING else now_s) - vm.zero_s


def is_alive(vm: VmRow) -> bool:
    """True if a VM takes tasks: it is launching, or running without notice of an interruption."""
    return vm.state <= RUNNING and vm.gone_s == NONE


def is_idle(vm: VmRow) -> bool:
    """True if a VM runs, takes tasks and has none."""
    return vm.state == RUNNING and vm.n_left == 0 and vm.gone_s == NONE


def is_halted(vm: VmRow) -> bool:
    """True if a VM is hibernated or stopped: it may come back."""
    return vm.state == HIBERNATED or vm.state == STOPPED


def may_give(vm: VmRow) -> bool:
    """True if tasks of a VM may be migrated: it is halted, it drains, or the cloud has terminated it."""
    return vm.gone_s != NONE or vm.state == HIBERNATED or vm.state == STOPPED or vm.reclaimed == 1


def must_give(r: Rows, vm: VmRow, reason: int) -> None:
    """Refuse a decision about a VM whose tasks may not be migrated."""
    if not may_give(vm):
        refuse(r, reason, vm.index, NONE)


def is_executing(r: Rows, vm: VmRow) -> bool:
    """True if a VM is executing a task at this moment."""
    if vm.state == RUNNING:
        for core in range(vm.vcpus):
            if r.cores[vm.index][core].running != NONE:
                return True
    return False


def earliest_uptime(r: Rows, vm: VmRow) -> int:
    """Uptime from which a VM can run tasks."""
    return max(uptime_at(vm, r.now_s), vm.first_start_s)


def core_free(r: Rows, slot: CoreRow, from_s: int) -> int:
    """Uptime from which a core stays free."""
    last = slot.last if slot.last != NONE else slot.running
    return from_s if last == NONE else max(r.tasks[last].end_s, from_s)


def span(r: Rows, vm: VmRow) -> None:
    """Find out when the first core of a VM is free, which that is, and when all are."""
    from_s = (vm.halted_at_s if vm.state > RUNNING else r.now_s) - vm.zero_s
    # Asked at each offer of a task to a VM, and most VMs are busy: the answer is kept until the timetable changes.
    if vm.spanned and vm.free_s >= from_s:
        return  # busy on all cores: time need not pass
    from_s = max(from_s, vm.first_start_s)
    first_s, ends_s, which = NEVER, 0, 0
    cores = r.cores[vm.index]
    for core in range(vm.vcpus):
        free_s = core_free(r, cores[core], from_s)
        if free_s < first_s:
            first_s, which = free_s, core
        ends_s = max(ends_s, free_s)
    vm.free_s, vm.free_core, vm.ends_s, vm.spanned = first_s, which, ends_s, 1


def retime(vm: VmRow) -> None:
    """Forget values derived from the order of the tasks of a VM."""
    vm.changes += 1
    vm.longest_known = vm.spanned = vm.timed = 0
    vm.least_of = NONE


def longest_of(r: Rows, vm: VmRow) -> int:
    """Longest run time on a VM of its unfinished tasks."""
    if not vm.longest_known:
        longest_s = 0
        for core in range(vm.vcpus):
            slot = r.cores[vm.index][core]
            if slot.running != NONE:
                longest_s = max(longest_s, runtime_of(r, slot.running, vm.offer_index))
            task = slot.first
            while task != NONE:
                longest_s = max(longest_s, runtime_of(r, task, vm.offer_index))
                task = r.tasks[task].next
        vm.longest_run_s = longest_s
        vm.longest_known = 1
    return vm.longest_run_s


def runtime_of(r: Rows, task: int, offer: int) -> int:
    """Run time of a whole task on an offer at full speed, without checkpoints."""
    return r.durations[r.tasks[task].group][offer].runtime_s


def last_start_of(r: Rows, vm: VmRow) -> int:
    """Uptime at which the last of those that wait is to start; a time that has passed if none waits."""
    if not vm.timed:
        last_s = NONE
        for core in range(vm.vcpus):
            last = r.cores[vm.index][core].last
            if last != NONE:
                last_s = max(last_s, r.tasks[last].start_s)
        vm.last_wait_s, vm.timed = last_s, 1
    return vm.last_wait_s


def list_tasks(r: Rows, vm: VmRow, out: list[int]) -> int:
    """List the tasks of a VM: those that run, by core, then those that wait, by start; return how many there are."""
    n = 0
    for core in range(vm.vcpus):
        task = r.cores[vm.index][core].running
        if task != NONE:
            out[n] = task
            n += 1
    return list_waiting(r, vm, out, n)


def list_waiting(r: Rows, vm: VmRow, out: list[int], n: int) -> int:
    """List the tasks that wait on a VM, by start and core; return how many there are, with ``n`` before."""
    heads, cores = r.heads, r.cores[vm.index]
    for core in range(vm.vcpus):
        heads[core] = cores[core].first
    # The queue of each core is in order already, so the next of all is the first of one of them; a tie goes to the
    # lower core.
    while True:
        best, best_s = NONE, NEVER
        for core in range(vm.vcpus):
            if heads[core] != NONE and r.tasks[heads[core]].start_s < best_s:
                best, best_s = core, r.tasks[heads[core]].start_s
        if best == NONE:
            return n
        out[n] = heads[best]
        heads[best] = r.tasks[heads[best]].next
        n += 1


def comes_before(r: Rows, task: int, other: int) -> bool:
    """Order of tasks: whether one is sorted before another, by rank, weight and tie."""
    run, than = r.tasks[task], r.tasks[other]
    return (run.rank, run.weight, run.tie) < (than.rank, than.weight, than.tie)


# --------------------------------------------------------------------------- memory
# Nothing is kept: what runs and waits is listed at each question, which asks little where memory binds seldom. Of the
# list, only what ends after the question's moment counts, and tasks go to the ends of queues: that is little, too.


def earliest_start(r: Rows, vm: VmRow, kb: int, duration_s: int, since_s: int) -> int:
    """Earliest start of a task on a VM whose memory may bind, from a moment on; `NONE` if it is too small."""
    span(r, vm)
    from_s, n_spans = max(vm.free_s, since_s), r.n_spans
    start_s = earliest_among(r, list_spans(r, vm, from_s), from_s, vm.most_kb - kb, duration_s)
    r.n_spans = n_spans
    return start_s


def list_spans(r: Rows, vm: VmRow, from_s: int) -> int:
    """List when the tasks of a VM take how much memory from a moment on; return the first of the list."""
    first = NONE
    for core in range(vm.vcpus):
        slot = r.cores[vm.index][core]
        task = slot.running if slot.running != NONE else slot.first
        while task != NONE:
            run = r.tasks[task]
            if run.end_s > from_s:
                first = add_span(r, run.start_s, run.end_s, r.groups[run.group].memory_kb, first)
            task = slot.first if run.running else run.next
    return first


def add_span(r: Rows, start_s: int, end_s: int, kb: int, after: int) -> int:
    """Put a span before others; return where it is."""
    row = r.spans[r.n_spans]
    row.start_s, row.end_s, row.kb, row.next = start_s, end_s, kb, after
    r.n_spans += 1
    return r.n_spans - 1


def without_ended(r: Rows, first: int, from_s: int) -> int:
    """Drop the spans that end by a moment from a list; return its first."""
    before, k = NONE, first
    while k != NONE:
        after = r.spans[k].next
        if r.spans[k].end_s > from_s:
            before = k
        elif before == NONE:
            first = after
        else:
            r.spans[before].next = after
        k = after
    return first


def earliest_among(r: Rows, first: int, start_s: int, room_kb: int, duration_s: int) -> int:
    """First moment from which there is room for some time beside what is listed; `NONE` if there is none."""
    if not fits(room_kb):
        return NONE
    spans = r.spans
    while True:
        blocked_s = NONE
        if not fits(room_kb - used_at(r, first, start_s)):
            blocked_s = start_s
        k = first
        while k != NONE:
            from_s = spans[k].start_s
            later = max(blocked_s, start_s) < from_s < start_s + duration_s
            if later and not fits(room_kb - used_at(r, first, from_s)):
                blocked_s = from_s
            k = spans[k].next
        if blocked_s == NONE:
            return start_s
        start_s, k = NEVER, first  # when less is used than there, for the first time
        while k != NONE:
            if blocked_s < spans[k].end_s < start_s:
                start_s = spans[k].end_s
            k = spans[k].next


def used_at(r: Rows, first: int, time_s: int) -> int:
    """Memory of the listed tasks at a moment."""
    kb, k = 0, first
    while k != NONE:
        row = r.spans[k]
        if row.start_s <= time_s < row.end_s:
            kb += row.kb
        k = row.next
    return kb


def end_if_placed(r: Rows, vm: VmRow, group: int, mode: int, saved: float) -> int:
    """End of a task on a VM if it were appended now; `NEVER` if it cannot run there."""
    duration_s = duration_of(r, group, vm.offer_index, mode, saved)
    if duration_s >= NEVER:
        return NEVER
    span(r, vm)
    row = r.groups[group]
    start_s = max(vm.free_s, row.ready_s - vm.zero_s)
    if vm.most_kb != NONE:
        start_s = earliest_start(r, vm, row.memory_kb, duration_s, start_s)
        if start_s == NONE:
            return NEVER
    return vm.zero_s + start_s + duration_s


# -------------------------------------------------------------------------- credits


def unbounded_credits(r: Rows, vm: VmRow, now_s: int) -> float:
    """CPU credits of a burstable VM at a moment, without its limits."""
    offer = r.offers[vm.offer_index]
    elapsed = max(uptime_at(vm, now_s) - vm.credit_at_s, 0)
    spent = (vm.n_at_full_speed + vm.n_at_baseline * offer.baseline) / SECONDS_PER_CREDIT
    return vm.credit_balance + (offer.credits_per_hour / SECONDS_PER_HOUR - spent) * elapsed


def credits_of(r: Rows, vm: VmRow, now_s: int) -> float:
    """CPU credits of a burstable VM at a moment; earned all the time, spent by what runs."""
    return min(max(unbounded_credits(r, vm, now_s), 0.0), r.offers[vm.offer_index].most_credits)


def count_running(r: Rows, vm: VmRow, mode: int, more: int) -> None:
    """Settle the credits, then change how many tasks run in a mode."""
    # Credits grow or fall by a rate that depends on what runs: what the old rate has come to is settled first.
    vm.credit_balance = credits_of(r, vm, r.now_s)
    vm.credit_at_s = max(uptime_at(vm, r.now_s), 0)
    if mode == FULL_SPEED:
        vm.n_at_full_speed += more
    else:
        vm.n_at_baseline += more


def check_credits(r: Rows, vm: VmRow) -> None:
    """Refuse a policy, or a plan, that runs tasks at full speed without credits."""
    if vm.n_at_full_speed and max(-unbounded_credits(r, vm, r.now_s), 0.0) > LACKING_CREDITS:
        refuse(r, REFUSAL.NO_CREDITS, vm.index, NONE)


# ------------------------------------------------------------------- tasks and queues


def take(r: Rows, vm: VmRow, task: int) -> None:
    """Take a task from a VM, one that runs there or one that waits."""
    run = r.tasks[task]
    if vm.bursts:
        check_credits(r, vm)
    if run.running:
        r.cores[vm.index][run.core].running = NONE
        run.running = run.written = 0
        run.written_s = 0.0
        run.dumping_s = NONE
        if vm.bursts:
            count_running(r, vm, run.mode, -1)
    else:
        unlink(r, r.cores[vm.index][run.core], task)
    run.vm = NONE
    vm.n_left -= 1
    vm.disordered = 1
    retime(vm)


def unlink(r: Rows, slot: CoreRow, task: int) -> None:
    """Take a task out of the queue in which it waits."""
    after = r.tasks[task].next
    if slot.first == task:
        slot.first = after
        if slot.last == task:
            slot.last = NONE
        return
    before = slot.first
    while r.tasks[before].next != task:
        before = r.tasks[before].next
    r.tasks[before].next = after
    # Queues are linked one way, as most tasks leave them at the front, when they start.
    if slot.last == task:
        slot.last = before


def enqueue(r: Rows, vm: VmRow, core: int, task: int) -> None:
    """Let a task wait behind what waits for a core."""
    slot, run = r.cores[vm.index][core], r.tasks[task]
    run.vm, run.core, run.next, run.running = vm.index, core, NONE, 0
    if slot.last == NONE:
        slot.first = task
    else:
        r.tasks[slot.last].next = task
    slot.last = task
    vm.changes += 1
    # Grows with each change, so that it orders what was listed in one second, whatever starts that has got.
    run.turn = vm.changes
    vm.spanned = 0
    vm.least_of = NONE
    if vm.timed:
        vm.last_wait_s = max(vm.last_wait_s, run.start_s)


def append(r: Rows, vm: VmRow, task: int, mode: int, duration_s: int, since_s: int) -> int:
    """Append a task to a VM by list scheduling, to start no earlier than it is ready, or ``since_s``; return its core.

    It goes to the core that has been idle for the shortest time then, the first of several. `NONE` if it cannot run
    there.
    """
    run = r.tasks[task]
    span(r, vm)
    row = r.groups[run.group]
    kb, start_s = row.memory_kb, max(vm.free_s, since_s, row.ready_s - vm.zero_s)
    if vm.most_kb != NONE:
        start_s = earliest_start(r, vm, kb, duration_s, start_s)
    if start_s == NONE or duration_s >= NEVER:
        return NONE
    which = vm.free_core
    # Several cores may be free then; the choice among them is that of plans (`VmTimeline`).
    if start_s > vm.free_s:
        from_s, latest_s = earliest_uptime(r, vm), NONE
        for core in range(vm.vcpus):
            free_s = core_free(r, r.cores[vm.index][core], from_s)
            if latest_s < free_s <= start_s:
                which, latest_s = core, free_s
    run.start_s, run.end_s, run.mode = start_s, start_s + duration_s, mode
    enqueue(r, vm, which, task)
    return which


def place(r: Rows, vm: VmRow, task: int, mode: int) -> None:
    """Give a task to a VM."""
    run = r.tasks[task]
    core = append(r, vm, task, mode, duration_of(r, run.group, vm.offer_index, mode, run.saved), 0)
    if core == NONE:
        refuse(r, REFUSAL.NO_PLACE, vm.index, task)
    vm.n_left += 1
    vm.longest_run_s = max(vm.longest_run_s, runtime_of(r, task, vm.offer_index))
    # It is idle no more: what the queue has for the end of its cycle does not count.
    vm.idle_epoch += 1
    if vm.state == RUNNING and not vm.disordered:  # else what waits there moves up soon, and starts then
        start_or_await(r, vm, core)


def start_or_await(r: Rows, vm: VmRow, core: int) -> None:
    """Start the first task that waits for a free core of a VM that runs, now or when it is its time."""
    slot = r.cores[vm.index][core]
    if slot.first == NONE or slot.running != NONE or vm.gone_s != NONE:
        return
    start_s = vm.zero_s + r.tasks[slot.first].start_s
    # Where memory binds, what else finishes at this moment must free its memory first.
    if start_s <= r.now_s and vm.most_kb == NONE:
        start(r, vm, core)
    else:
        push(r, start_s, START, vm.index, core, 0)


def start(r: Rows, vm: VmRow, core: int) -> None:
    """Start the first task that waits for a core."""
    slot = r.cores[vm.index][core]
    task = slot.first
    run = r.tasks[task]
    slot.first = run.next
    if slot.first == NONE:
        slot.last = NONE
    slot.running = task
    run.running = 1
    vm.changes += 1
    # The epoch of the VM goes with it: after an interruption, this end never comes.
    push(r, vm.zero_s + run.end_s, FINISH, vm.index, core, vm.epoch)
    if vm.bursts:
        count_running(r, vm, run.mode, 1)
    if r.recording:  # asked here, as tasks start and end more often than anything else happens
        note(r, NOTED.START, vm.index, core, task, run.end_s - run.start_s, run.mode, run.saved)


def planned_start(r: Rows, vm: VmRow, core: int, time_s: int) -> bool:
    """Start the task that was to start at a moment; False if it has moved since."""
    slot = r.cores[vm.index][core]
    if (
        vm.state != RUNNING
        or vm.gone_s != NONE
        or slot.running != NONE
        or slot.first == NONE
        or vm.zero_s + r.tasks[slot.first].start_s != time_s
    ):
        return False
    start(r, vm, core)
    return True


def finish(r: Rows, vm: VmRow, core: int) -> None:
    """End the task of a core, and start the next one there.

    The policy is asked later about what is listed here: the task, if it has an answer to finished ones, and the VM, if
    that was its last task.
    """
    slot = r.cores[vm.index][core]
    task = slot.running
    run = r.tasks[task]
    slot.running = NONE
    run.running = run.written = 0
    run.written_s = 0.0
    run.vm, run.ended_on = NONE, vm.index
    vm.n_left -= 1
    vm.changes += 1
    vm.longest_known = 0  # it may have been the longest
    r.unfinished -= 1
    r.last_finish_s = r.now_s
    r.events_handled += 1
    if vm.spot:
        r.checkpoints += checkpoints_of(r, task, vm.offer_index, run.saved)
    if vm.bursts:
        check_credits(r, vm)
        count_running(r, vm, run.mode, -1)
    run.saved = 0.0
    if r.now_s > r.groups[run.group].due_s:
        r.late_tasks += 1
        r.late_weight += r.groups[run.group].weight
    if r.recording:
        note(r, NOTED.FINISH, vm.index, core, task, 0, 0, 0.0)
    if slot.first != NONE:
        start_or_await(r, vm, core)
    # Most policies have no answer to it, and then nothing is listed for them.
    if r.wants_finished:
        r.finished_now[r.n_finished] = task
        r.n_finished += 1
    if vm.n_left == 0:
        list_idle(r, vm)


def list_idle(r: Rows, vm: VmRow) -> None:
    """List a VM as idle."""
    vm.idle_epoch += 1
    r.idle_now[r.n_idle] = vm.index
    r.n_idle += 1


def put_behind(r: Rows, vm: VmRow, core: int) -> int:
    """Let the task of a core wait behind what waits there, with what is saved; return which task it is."""
    slot = r.cores[vm.index][core]
    task = slot.running
    run = r.tasks[task]
    offer, begun_s = vm.offer_index, run.dumping_s
    if begun_s == NONE:
        saved, saved_s, done = last_checkpoint(r, vm, task, NONE)
    else:
        saved_s, done = saved_by_one_more(
            r, task, offer, run.saved, (begun_s - run.start_s) * speed_of(r, offer, run.mode)
        )
        saved = run.saved + saved_s / runtime_of(r, task, offer)
    take_down(r, task, saved, saved_s, done)
    take(r, vm, task)
    vm.n_left += 1
    last_s = r.tasks[slot.last].end_s if slot.last != NONE else 0
    run.start_s = max(last_s, uptime_at(vm, r.now_s))
    run.end_s = run.start_s + duration_of(r, run.group, offer, run.mode, run.saved)
    enqueue(r, vm, core, task)
    note(r, NOTED.PREEMPTED, vm.index, core, task, 0, 0, saved)
    return task


def slow_down_late(r: Rows, vm: VmRow, tasks: list[int], n: int) -> None:
    """Move the tasks that wait on a burstable VM to the baseline, if the planned start of one has passed.

    Credits were planned for the starts as they were, and may be too few for others; the baseline needs none. The tasks
    start once those that run at full speed have ended.

    Parameters
    ----------
    tasks, n : list of int and int
        The tasks that wait, in order: the first ``n`` of the list.
    """
    late, from_s = False, earliest_uptime(r, vm)
    for k in range(n):
        late = late or r.tasks[tasks[k]].start_s < from_s
    if not late:
        return
    since_s = 0
    for core in range(vm.vcpus):
        task = r.cores[vm.index][core].running
        if task != NONE and r.tasks[task].mode == FULL_SPEED:
            since_s = max(since_s, r.tasks[task].end_s)
    for k in range(n):
        run = r.tasks[tasks[k]]
        run.start_s, run.mode = since_s, BASELINE
        run.end_s = since_s + duration_of(r, run.group, vm.offer_index, BASELINE, run.saved)


def list_anew(r: Rows, vm: VmRow) -> None:
    """Schedule anew what waits on a VM from which tasks have been taken, in the same order.

    That is the order of the starts, and stays so for the second: where memory binds, the new starts may be in another
    order, and tasks would change places with each answer of the policy that takes some away.

    Where tasks are at full speed, the credits are there for the starts that were planned: what waits keeps them. If
    one of them has passed, all that waits goes on at the baseline, once what runs at full speed has ended.
    """
    vm.disordered = 0
    out = r.ordered
    n = list_waiting(r, vm, out, 0)
    if vm.listed_anew_s == r.now_s:
        for k in range(n):
            run = r.tasks[out[k]]
            run.rank, run.weight, run.tie = run.turn, 0.0, k
        sort_tasks(r, out, n)
    vm.listed_anew_s = r.now_s
    keeps = False
    if vm.bursts:
        keeps = vm.n_at_full_speed > 0
        for k in range(n):
            keeps = keeps or r.tasks[out[k]].mode == FULL_SPEED
    if keeps:
        slow_down_late(r, vm, out, n)
    # All leave before the first joins, since the memory of those that are still there would stand in the way.
    for core in range(vm.vcpus):
        slot = r.cores[vm.index][core]
        slot.first = slot.last = NONE
    retime(vm)
    for k in range(n):
        run = r.tasks[out[k]]
        append(r, vm, out[k], run.mode, run.end_s - run.start_s, run.start_s if keeps else 0)


def move_up(r: Rows, vm: VmRow) -> None:
    """Start or await what waits; list scheduling anew, in the same order, if tasks have been taken away."""
    if vm.disordered:
        list_anew(r, vm)
    for core in range(vm.vcpus):
        start_or_await(r, vm, core)


# ------------------------------------------------------------------- limits and VMs


def room_of(r: Rows, vm_type: int) -> int:
    """Number of further spot VMs of a type that there can be; `NEVER` without a limit."""
    of_type = r.types[vm_type]
    return NEVER if of_type.capacity == NONE else of_type.capacity - of_type.present


def can_start(r: Rows, offer: OfferRow) -> bool:
    """True if limits and capacity allow one more VM of an offer, besides those that are planned."""
    for k in range(offer.first_limit, offer.first_limit + offer.n_limits):
        member = r.members[k]
        limit = r.limits[member.limit]
        if limit.used + limit.planned + member.weight > limit.most:
            return False
    return not offer.spot or room_of(r, offer.type) > 0


def count_rented(r: Rows, offer: OfferRow, more: int) -> None:
    """Count VMs of an offer against its limits, or against none any more."""
    offer.rented += more
    for k in range(offer.first_limit, offer.first_limit + offer.n_limits):
        r.limits[r.members[k].limit].used += more * r.members[k].weight


def count_planned(r: Rows, offer: OfferRow) -> None:
    """Count a VM that is planned against the limits of its offer."""
    for k in range(offer.first_limit, offer.first_limit + offer.n_limits):
        r.limits[r.members[k].limit].planned += r.members[k].weight


def forget_planned(r: Rows) -> None:
    """Have no VM planned any more."""
    for k in range(r.n_limits):
        r.limits[k].planned = 0


def request(r: Rows, offer_index: int, first_start_s: int) -> int:
    """Request a VM; return which it is."""
    # Loops have rows for VMs from the start, of zeros: what does not begin with zero is set here, for Python as well.
    v = add_vm(r, offer_index)
    r.n_vms += 1
    vm, offer = r.vms[v], r.offers[offer_index]
    vm.index, vm.offer_index, vm.spot, vm.bursts = v, offer_index, offer.spot, offer.bursts
    vm.vcpus, vm.most_kb, vm.state, vm.first_start_s = offer.vcpus, offer.memory_kb, LAUNCHING, first_start_s
    vm.ready_s = vm.since_s = vm.zero_s = r.now_s + r.boot_overhead_s
    vm.gone_s = vm.interrupted_by = vm.session_from_s = vm.trigger_at_s = vm.first_session = vm.last_session = NONE
    vm.listed_anew_s = vm.least_of = vm.after = vm.after_of_type = vm.after_bursting = NONE
    vm.credit_balance = offer.first_credits
    vm.rented_before = offer.rented
    for core in range(offer.vcpus):
        slot = r.cores[v][core]
        slot.running = slot.first = slot.last = NONE
        slot.standby_s = slot.standby_core = 0
    count_rented(r, offer, 1)
    # VMs are looked for by price again and again: they are in a list for each, from which those that end are taken.
    of_price = r.prices[offer.price_class]
    vm.before, of_price.last = of_price.last, v
    if vm.before == NONE:
        of_price.first = v
    else:
        r.vms[vm.before].after = v
    if offer.bursts:
        if r.last_bursting == NONE:
            r.first_bursting = v
        else:
            r.vms[r.last_bursting].after_bursting = v
        r.last_bursting = v
    if offer.spot:
        of_type = r.types[offer.type]
        of_type.present += 1
        if of_type.last == NONE:
            of_type.first = v
        else:
            r.vms[of_type.last].after_of_type = v
        of_type.last = v
    push(r, vm.ready_s, READY, v, 0, 0)
    note(r, NOTED.LAUNCH, v, NONE, NONE, offer_index, 0, 0.0)
    return v


def start_vm(r: Rows, offer_index: int) -> int:
    """Request a VM during the day; tasks moved to it start after the longer of migration, and boot and setup."""
    v = request(r, offer_index, r.offers[offer_index].moved_start_s)
    r.on_demand_started += not r.offers[offer_index].spot
    return v


def give_back(r: Rows, vm: VmRow) -> None:
    """Count a terminated VM against no limit any more."""
    offer = r.offers[vm.offer_index]
    of_price = r.prices[offer.price_class]
    if vm.before == NONE:
        of_price.first = vm.after
    else:
        r.vms[vm.before].after = vm.after
    if vm.after == NONE:
        of_price.last = vm.before
    else:
        r.vms[vm.after].before = vm.before
    count_rented(r, offer, -1)


def end_session(r: Rows, vm: VmRow, interrupted: int) -> None:
    """End the session of a VM, if it runs."""
    if vm.session_from_s != NONE:
        put_on_bill(r, vm, r.now_s - vm.session_from_s, interrupted)
        session = add_session(r, vm.session_from_s, r.now_s, interrupted)
        if vm.last_session == NONE:
            vm.first_session = session
        else:
            r.sessions[vm.last_session].next = session
        vm.last_session = session
        vm.session_from_s = NONE
    vm.gone_s = NONE
    vm.drains_of_type = 0


def put_on_bill(r: Rows, vm: VmRow, seconds: int, interrupted: int) -> None:
    """Put a session on the bill of a VM."""
    bill: Any = r.offers[vm.offer_index]  # has the fields of a `Bill`
    vm.ran_s += seconds
    # Only of the first session can an interruption be free of charge.
    if not (interrupted and vm.first_session == NONE and is_free(bill, seconds)):
        vm.n_paid += 1
        vm.billed_s += billed_s(bill, seconds)
        vm.cost_usd = cost_usd(bill, vm.billed_s, vm.n_paid)


def end_halt(r: Rows, vm: VmRow) -> int:
    """Add the pause of a VM that was hibernated or stopped to its seconds; return it."""
    pause_s = r.now_s - vm.halted_at_s
    if vm.state == HIBERNATED:
        vm.hibernated_s += pause_s
    else:
        vm.stopped_s += pause_s
    return pause_s


def terminate(r: Rows, vm: VmRow) -> None:
    """Terminate a VM."""
    if is_halted(vm):
        end_halt(r, vm)
    else:
        vm.halted_at_s = r.now_s
        if vm.spot:
            r.types[r.offers[vm.offer_index].type].present -= 1
    end_session(r, vm, 0)
    # One that was never ready is never billed.
    vm.terminated_s = max(r.now_s, vm.ready_s) if vm.last_session == NONE else r.now_s
    vm.state = TERMINATED
    # What the queue still has for it finds another epoch, and is passed over when its time comes.
    vm.epoch += 1
    give_back(r, vm)
    note(r, NOTED.TERMINATE, vm.index, NONE, NONE, 0, 0, 0.0)


def let_go(r: Rows, vm: VmRow) -> None:
    """Terminate a VM without tasks, and have the policy asked about it."""
    if vm.state == TERMINATED or vm.n_left:
        refuse(r, REFUSAL.ENDED_ALREADY if vm.state == TERMINATED else REFUSAL.HAS_TASKS, vm.index, NONE)
    terminate(r, vm)
    r.ended[r.n_ended] = vm.index
    r.n_ended += 1


def get_ready(r: Rows, vm: VmRow) -> bool:
    """Let a VM run that was launching; False if its type has no room for it, so that it is interrupted now."""
    vm.state = RUNNING
    vm.session_from_s = r.now_s
    note(r, NOTED.READY, vm.index, NONE, NONE, 0, 0, 0.0)
    if vm.spot and r.n_aged and vm.since_s == r.now_s:
        await_age(r, vm)
    # Capacity counts VMs by the order of requests, those that boot among them: of too many, the last ones go.
    if vm.spot and r.types[r.offers[vm.offer_index].type].capacity != NONE:
        of_type = r.types[r.offers[vm.offer_index].type]
        before, k = 0, of_type.first
        while k != vm.index:
            before += r.vms[k].state <= RUNNING
            k = r.vms[k].after_of_type
        if before >= of_type.capacity:
            vm.interrupted_by = of_type.struck_by
            vm.notice_s = 0
            vm.gone_s = r.now_s  # so that nothing else of this second gives it notice
            return False
    move_up(r, vm)
    return True


def await_age(r: Rows, vm: VmRow) -> None:
    """Await the age at which the day interrupts a VM, which is ready for the first time; nothing if it gives none."""
    vm_type, number, low, high = r.offers[vm.offer_index].type, 1, 0, r.n_aged
    k = r.types[vm_type].first
    while k != vm.index:
        number += 1
        k = r.vms[k].after_of_type
    # Those events stand first, by type and number; see `day_table`.
    while low < high:
        place = (low + high) >> 1
        event = r.days[place]
        if event.type < vm_type or (event.type == vm_type and event.vm < number):
            low = place + 1
        else:
            high = place
    if low < r.n_aged and r.days[low].type == vm_type and r.days[low].vm == number:
        kind = OLD_NOTICED if r.days[low].notice_s else OLD
        push(r, r.now_s + r.days[low].age_s, kind, vm.index, low, 0)


def give_notice(r: Rows, vm: VmRow, kind: int, notice_s: int, of_type: int) -> bool:
    """Let a VM drain until its interruption; False if it has notice of one that is no later."""
    until_s = r.now_s + notice_s
    # The interruption that comes first is the one that happens, and its kind stays.
    if vm.gone_s != NONE and vm.gone_s <= until_s:
        return False
    vm.interrupted_by, vm.notice_s, vm.drains_of_type = kind, notice_s, of_type
    vm.idle_epoch += 1
    vm.gone_s = until_s
    if notice_s:
        vm.disordered = 1  # what is to start meanwhile does not
        push(r, until_s, INTERRUPT, vm.index, 0, 0)
        note(r, NOTED.NOTICE, vm.index, NONE, NONE, until_s, 0, 0.0)
    return True


def interrupt(r: Rows, vm: VmRow) -> None:
    """Take a running VM away: hibernate, stop or terminate it, as its interruption says."""
    kind, of_type = vm.interrupted_by, vm.drains_of_type
    vm.halted_at_s = r.now_s
    end_session(r, vm, 1)
    vm.epoch += 1  # what the queue has for it no longer counts
    vm.idle_epoch += 1
    vm.kinds = 0  # migrations are counted for each interruption
    r.types[r.offers[vm.offer_index].type].present -= 1
    r.events_handled += 1
    if vm.n_left:
        r.busy_hibernations += 1
    if kind == HIBERNATE:
        vm.state, what = HIBERNATED, NOTED.HIBERNATE
        r.hibernations += 1
    elif kind == STOP:
        vm.state, what = STOPPED, NOTED.STOP
        r.stops += 1
    else:
        vm.state, what, vm.reclaimed, vm.terminated_s = TERMINATED, NOTED.RECLAIM, 1, r.now_s
        r.reclaims += 1
        give_back(r, vm)
    note(r, what, vm.index, NONE, NONE, 0, 0, 0.0)
    # The type may have got room again while the VM drained: then the event that brings others back has passed it by.
    if vm.state != TERMINATED and of_type and room_of(r, r.offers[vm.offer_index].type) > 0:
        push(r, r.now_s, RECALL, vm.index, 0, vm.epoch)


def come_back(r: Rows, vm: VmRow) -> None:
    """Let a VM resume, or boot again after it was stopped."""
    cores = r.cores[vm.index]
    # A checkpoint that was written in the notice is there still, though the run goes on as if nothing had been.
    if vm.notice_s:
        for core in range(vm.vcpus):
            task = cores[core].running
            if task != NONE:
                _, seconds, done = last_checkpoint(r, vm, task, NONE)
                r.tasks[task].written_s, r.tasks[task].written = seconds, done
    pause_s = end_halt(r, vm)
    vm.stranded = 0
    if r.has_releases:
        vm.disordered = 1  # what was not ready may be by now: it has less time to wait
    r.types[r.offers[vm.offer_index].type].present += 1
    r.events_handled += 1
    if vm.trigger_at_s != NONE:
        r.resumes_in_time += 1
        drop_trigger(r, vm)
    if vm.state == STOPPED:
        r.restarts += 1
        note(r, NOTED.RESTART, vm.index, NONE, NONE, 0, 0, 0.0)
        restart(r, vm, pause_s)
        return
    r.resumes += 1
    note(r, NOTED.RESUME, vm.index, NONE, NONE, 0, 0, 0.0)
    vm.zero_s += pause_s
    vm.state = RUNNING
    vm.session_from_s = r.now_s
    for core in range(vm.vcpus):
        task = cores[core].running
        if task != NONE:
            run = r.tasks[task]
            kind = FINISH if run.dumping_s == NONE else PREEMPTED
            push(r, vm.zero_s + run.end_s, kind, vm.index, core, vm.epoch)
    move_up(r, vm)


def restart(r: Rows, vm: VmRow, pause_s: int) -> None:
    """Boot a VM that was stopped: what ran there waits again, before all else, with what is saved."""
    uptime_s = uptime_at(vm, r.now_s)
    for core in range(vm.vcpus):
        slot = r.cores[vm.index][core]
        task = slot.running
        if task != NONE:
            run = r.tasks[task]
            saved, saved_s, done = last_checkpoint(r, vm, task, NONE)
            take_down(r, task, saved, saved_s, done)
            take(r, vm, task)
            vm.n_left += 1
            if not vm.bursts:  # else it is late: the credits for what is done once more are spent
                run.start_s = uptime_s
            run.end_s = run.start_s + duration_of(r, run.group, vm.offer_index, run.mode, run.saved)
            run.vm, run.next = vm.index, slot.first
            slot.first, vm.listed_anew_s = task, NONE
            if slot.last == NONE:
                slot.last = task
    vm.state = LAUNCHING
    vm.ready_s = r.now_s + r.boot_overhead_s
    # Its uptime stands still until then.
    vm.zero_s += pause_s + r.boot_overhead_s
    vm.first_start_s = max(vm.first_start_s, uptime_s)
    retime(vm)
    if vm.disordered:
        list_anew(r, vm)
    push(r, vm.ready_s, READY, vm.index, 0, 0)


# ---------------------------------------------------------------------------- bills


def rent_usd(r: Rows, offer: int, session_s: int) -> float:
    """Cost of a session of a new VM at the present price of its offer."""
    row = r.offers[offer]
    usd = usd_per_s(r, offer) * row.unit_s
    terms = row.unit_s, row.block_s, row.least_s, row.fixed_usd, row.free_until_s, row.lead_s
    return session_usd(Bill(usd, *terms), session_s)


def paid_until(r: Rows, vm: VmRow) -> int:
    """Time until which a VM is paid for, if that is by blocks."""
    bill: Any = r.offers[vm.offer_index]
    if bill.block_s == 1 or vm.session_from_s == NONE:
        return 0
    paid_s: int = paid_until_s(bill, vm.session_from_s, r.now_s)  # type: ignore[assignment]  # of whole seconds
    return paid_s


def usd_per_s(r: Rows, offer: int) -> float:
    """Price of a VM of an offer now, for a second."""
    return r.offers[offer].now_usd_per_hour / SECONDS_PER_HOUR


# ------------------------------------------------------------------------ decisions


def leave_restless(r: Rows, vm: VmRow) -> None:
    """Remember a VM from which tasks were taken: what waits there may move up."""
    vm.restless += 1
    # Taken from the front, added at the end; moved to the front of its table when that is full.
    if r.first_restless + r.n_restless == r.most_listed or r.n_restless == 0:
        for k in range(r.n_restless):
            r.restless[k] = r.restless[r.first_restless + k]
        r.first_restless = 0
    r.restless[r.first_restless + r.n_restless] = vm.index
    r.n_restless += 1


def migrate(r: Rows, task: int, source: VmRow, target: VmRow, mode: int, late: int) -> None:
    """Move an unfinished task of a VM that is interrupted or drains; one that ran goes on from its last checkpoint."""
    must_give(r, source, REFUSAL.NOTHING_LOST)
    saved, saved_s, done = last_checkpoint(r, source, task, NONE)
    recovered = take_down(r, task, saved, saved_s, done)
    # Before it is placed there: by itself, it would make any VM a busy one.
    kind = BUSY if target.n_left else NEW if target.state == LAUNCHING else IDLE
    take(r, source, task)
    first = int(not source.kinds & (1 << kind))
    source.kinds |= 1 << kind
    if kind == IDLE:
        r.migrated_idle += 1
        r.hibernations_idle += first
    elif kind == BUSY:
        r.migrated_busy += 1
        r.hibernations_busy += first
    else:
        r.migrated_new += 1
        r.hibernations_new += first
    bits = kind + RECOVERED * recovered + LATE * late + (mode << MODE_SHIFT)
    note(r, NOTED.MIGRATE, source.index, NONE, task, target.index, bits, saved)
    place(r, target, task, mode)


def steal(r: Rows, task: int, victim: VmRow, thief: VmRow, mode: int) -> None:
    """Move a waiting task of a VM to another; what it leaves moves up."""
    take(r, victim, task)
    r.tasks_stolen += 1
    note(r, NOTED.STEAL, victim.index, NONE, task, thief.index, mode, 0.0)
    if not victim.restless:
        leave_restless(r, victim)
    place(r, thief, task, mode)


def preempt(r: Rows, task: int, vm: VmRow, checkpoint: int) -> None:
    """Stop a running task, which then waits behind what waits on its core, with what is saved of it.

    With a checkpoint, for which its core stays busy, its work up to now is saved then.
    """
    run = r.tasks[task]
    core = run.core
    r.preemptions += 1
    uptime_s = uptime_at(vm, r.now_s)
    dump_s = 0
    if checkpoint:
        dump_s = dump_of(r, run.group, vm.offer_index, run.mode)
    note(r, NOTED.PREEMPT, vm.index, core, task, checkpoint, r.now_s + dump_s, 0.0)
    if checkpoint:
        run.dumping_s = uptime_s
    if dump_s:
        late = uptime_s + dump_s > run.end_s
        run.end_s = uptime_s + dump_s
        retime(vm)
        push(r, r.now_s + dump_s, PREEMPTED, vm.index, core, vm.epoch)
        if not late:
            return
        vm.disordered = 1  # what waits for its memory waits longer
    else:
        put_behind(r, vm, core)
    if not vm.restless:
        leave_restless(r, vm)


def set_trigger(r: Rows, vm: VmRow, time_s: int) -> None:
    """Set, or set anew, when the tasks of a VM are to be migrated; now if that has passed."""
    must_give(r, vm, REFUSAL.NO_TRIGGER)
    time_s = max(time_s, r.now_s)
    if vm.trigger_at_s == time_s:
        return
    if vm.trigger_at_s == NONE:
        r.n_triggers += 1
    vm.trigger_at_s = time_s
    vm.trigger_epoch += 1
    push(r, time_s, TRIGGER, vm.index, 0, vm.trigger_epoch)
    note(r, NOTED.TRIGGER_SET, vm.index, NONE, NONE, time_s, 0, 0.0)


def drop_trigger(r: Rows, vm: VmRow) -> None:
    """Take a migration trigger back, or note that it has come."""
    vm.trigger_at_s = NONE
    vm.trigger_epoch += 1
    r.n_triggers -= 1


def counts_on(r: Rows, vm: VmRow, helper: int) -> bool:
    """True if the migration trigger of a VM counts on another."""
    for k in range(vm.first_helper, vm.first_helper + vm.n_helpers):  # noqa: SIM110 (loops over generators do not compile)
        if r.helpers[k] == helper:
            return True
    return False
