"""The loop of a replay: all that happens in a second happens first, then the policy is asked. See `Replay`.

Like `rules`, plain functions over rows, of which compiled loops are made. What policies answer is in `interpreted`.
"""

from __future__ import annotations

import math

from ...core.quantities import NOISE
from ...instances.entries import NEVER
from ..engines import LAUNCHING, RUNNING, TERMINATED
from .interpreted import (
    add_noticed,
    answer_capacity_changed,
    answer_cycle_ended,
    answer_finished,
    answer_hibernated,
    answer_idle,
    answer_lost,
    answer_noticed,
    answer_preempted,
    answer_price_changed,
    answer_resumed,
    answer_terminated,
    answer_trigger_reached,
    answer_woken,
    is_next,
    next_s,
    note,
    pop,
    push,
    sort_tasks,
)
from .rows import (
    CAPACITY,
    CYCLE_END,
    FINISH,
    IDLE_LIMIT,
    INTERRUPT,
    NONE,
    NOTED,
    OLD,
    OLD_NOTICED,
    PRICE,
    READY,
    RECALL,
    RESUME,
    START,
    TRIGGER,
    WAKE,
    DayRow,
    Rows,
    VmRow,
)
from .rules import (
    come_back,
    drop_trigger,
    finish,
    get_ready,
    give_notice,
    interrupt,
    is_halted,
    is_idle,
    last_checkpoint,
    leave_restless,
    list_idle,
    may_give,
    move_up,
    planned_start,
    put_behind,
    request,
    room_of,
    terminate,
    uptime_at,
)


def request_plan(r: Rows) -> None:
    """Request the VMs of the plan, with their tasks."""
    v = NONE
    for k in range(r.n_queues):
        queue = r.queues[k]
        if queue.core == 0:
            v = request(r, queue.offer, r.offers[queue.offer].setup_s)
        slot = r.cores[v][queue.core]
        slot.first, slot.last = queue.first, queue.last
        r.vms[v].n_left += queue.tasks


def await_start(r: Rows) -> None:
    """Have the policy asked at the start, if it wants to."""
    if r.wants_woken:
        push(r, 0, WAKE, 0, 0, 0)


def go_through(r: Rows) -> None:
    """Go through a day to its end."""
    request_plan(r)
    await_start(r)
    while step(r, r.days[r.next_day].time_s if r.next_day < r.n_days else NEVER, r.last_call_s):
        pass


def end(r: Rows) -> None:
    """End all VMs with the bag (both papers), or when nothing can happen any more."""
    if r.over:
        return
    r.over = 1
    for v in range(r.n_vms):
        vm = r.vms[v]
        if vm.n_left:
            for core in range(vm.vcpus):
                task = r.cores[v][core].running
                if task != NONE:  # on a VM that never comes back: what it has written is written
                    r.checkpoints += last_checkpoint(r, vm, task, NONE)[2]
        if vm.state != TERMINATED:
            terminate(r, vm)


def step(r: Rows, day_s: int, last_call_s: int) -> bool:
    """Handle the events of the next moment, and ask the policy; False if there are none, or the bag is done.

    ``day_s`` is when the day has its next event, if it has one, ``last_call_s`` until when policies are woken.
    """
    queue_s = next_s(r)
    if r.unfinished == 0 or (queue_s >= NEVER and day_s >= NEVER):
        end(r)
        return False
    # A second in which nothing counts any more did not happen: the clock is put back below.
    before_s = r.now_s
    now_s = r.now_s = min(queue_s, day_s)
    r.n_idle = r.n_finished = r.n_preempted = 0
    happened = False
    while is_next(r, FINISH, START):
        time_s, kind, v, core, epoch = pop(r)
        vm = r.vms[v]
        if kind == START:
            happened |= planned_start(r, vm, core, time_s)
            continue
        task = r.cores[v][core].running
        # Events are never taken out of the queue. One counts if its VM was not interrupted since, and its task still
        # ends then: a checkpoint of a preemption, or a longer rest, has moved the end.
        if vm.epoch != epoch or task == NONE or vm.zero_s + r.tasks[task].end_s != time_s:
            continue
        if kind == FINISH:
            if r.tasks[task].dumping_s != NONE:
                continue
            happened = True
            finish(r, vm, core)
        elif r.tasks[task].dumping_s != NONE:
            happened = True
            list_preempted(r, vm, core)
    if r.unfinished == 0:
        return True
    # Most seconds are one task that ends, and none of the lists below is needed for that.
    alone = day_s != now_s and next_s(r) > now_s and r.n_preempted == 0
    if alone and r.n_idle <= 1 and r.n_finished == 0:  # as most moments are
        if not happened:
            r.now_s = before_s
        elif r.n_idle:
            ask_idle(r, r.vms[r.idle_now[0]])
            settle(r)
        return True
    forget_moment(r)
    if not alone:
        happened |= go_on(r, last_call_s)
    if happened:
        ask(r)
    else:
        r.now_s = before_s
    return True


def go_on(r: Rows, last_call_s: int) -> bool:
    """Let everything else happen at the present moment, but tasks that end and start; False if nothing does."""
    first = last = r.next_day
    while last < r.n_days and r.days[last].time_s == r.now_s:
        last += 1
    r.next_day = last
    happened = last > first
    # Prices and capacity before VMs that come back, which these make room for; returns before notices, so that a type
    # that is back for a second only loses its VMs again.
    for k in range(first, last):
        change_price(r, r.days[k])
    for k in range(first, last):
        give_capacity(r, r.days[k])
    while is_next(r, RECALL, RECALL):
        _, _, v, _, epoch = pop(r)
        if r.vms[v].epoch == epoch:
            return_if_room(r, r.vms[v])
    if r.n_back:
        happened = True
        bring_back(r)
    start_due(r)
    while is_next(r, READY, READY):
        _, _, v, _, _ = pop(r)
        vm = r.vms[v]
        if vm.state == LAUNCHING and vm.ready_s == r.now_s:
            happened = True
            if not get_ready(r, vm):
                list_struck(r, vm)
            elif vm.n_left == 0:
                list_idle(r, vm)
            start_due(r)
    queued = next_s(r) <= r.now_s  # what strikes queue comes later
    for k in range(first, last):
        if r.days[k].notice_s > 0:
            strike(r, r.days[k])
    happened |= queued and grow_old(r, OLD_NOTICED)
    for k in range(first, last):
        if r.days[k].notice_s == 0:
            strike(r, r.days[k])
    if queued:
        happened |= grow_old(r, OLD)
        while is_next(r, INTERRUPT, INTERRUPT):
            _, _, v, _, _ = pop(r)
            if r.vms[v].gone_s == r.now_s:
                list_struck(r, r.vms[v])
        while is_next(r, TRIGGER, WAKE):
            _, kind, v, _, epoch = pop(r)
            list_timer(r, kind, v, epoch, last_call_s)
    # All that are struck go together, in the order of requests, however they were found.
    if r.n_struck:
        happened = True
        sort_numbers(r.struck_now, r.n_struck)
        for k in range(r.n_struck):
            r.vms[r.struck_now[k]].listed = 0
            interrupt(r, r.vms[r.struck_now[k]])
    # A timer that no longer counts is no event.
    return happened or r.n_unused > 0 or r.n_triggered > 0 or r.woken != 0


# -------------------------------------------------------- what the policy is to be asked about


def forget_moment(r: Rows) -> None:
    """Begin a moment in which more may happen than that tasks end."""
    r.n_back = r.n_noticed = r.n_struck = r.n_triggered = r.n_cycles = r.n_unused = 0
    r.n_priced = r.n_types_now = r.woken = 0


def list_preempted(r: Rows, vm: VmRow, core: int) -> None:
    """Have the task of a core wait behind what waits there; list it."""
    insert(r.preempted_on, r.preempted_now, 0, r.n_preempted, vm.index, put_behind(r, vm, core))
    r.n_preempted += 1


def list_timer(r: Rows, kind: int, v: int, epoch: int, last_call_s: int) -> None:
    """List a migration trigger, the end of an allocation cycle or of an idle limit, or a wake-up call, if it counts."""
    if kind == WAKE:
        r.woken |= r.now_s <= last_call_s
    elif kind == TRIGGER:
        if r.vms[v].trigger_epoch == epoch and may_give(r.vms[v]):
            insert(r.triggered_now, r.trigger_epochs, 0, r.n_triggered, v, epoch)
            r.n_triggered += 1
    elif r.vms[v].idle_epoch == epoch and is_idle(r.vms[v]):
        insert(r.unused_now, r.unused_epochs, 0 if kind == CYCLE_END else r.n_cycles, r.n_unused, v, epoch)
        r.n_unused += 1
        r.n_cycles += kind == CYCLE_END


# --------------------------------------------------------------------------- the day


def bring_back(r: Rows) -> None:
    """Let the VMs come back that are listed."""
    sort_numbers(r.back_now, r.n_back)
    for k in range(r.n_back):
        vm = r.vms[r.back_now[k]]
        vm.listed = 0
        r.types[r.offers[vm.offer_index].type].returning = 0
        come_back(r, vm)


def change_price(r: Rows, event: DayRow) -> None:
    """Change the price of an offer from now on."""
    if event.kind == PRICE and event.offer != NONE:
        r.offers[event.offer].now_usd_per_hour = event.usd_per_hour
        r.priced_now[r.n_priced] = event.offer
        r.n_priced += 1
        note(r, NOTED.PRICE, NONE, NONE, NONE, event.offer, 0, event.usd_per_hour)


def give_capacity(r: Rows, event: DayRow) -> None:
    """Raise the capacity of a type that is back, wholly or in part; list the VMs that come back."""
    of_type = r.types[event.type]
    if event.kind == RESUME:
        if event.vm == NONE:
            of_type.capacity = NONE
    elif event.kind == CAPACITY and of_type.capacity != NONE and event.vms >= of_type.capacity:
        of_type.capacity = event.vms
        note(r, NOTED.CAPACITY, NONE, NONE, NONE, event.type, event.vms, 0.0)
    else:
        return
    if event.vm == NONE:
        r.types_now[r.n_types_now] = event.type
        r.n_types_now += 1
    number, v = 0, of_type.first
    while v != NONE and room_of(r, event.type) > of_type.returning:
        number += 1
        if event.vm == NONE or event.vm == number:
            return_if_room(r, r.vms[v])
        v = r.vms[v].after_of_type


def return_if_room(r: Rows, vm: VmRow) -> None:
    """List a VM that is halted as one that comes back, if there is room for it."""
    of_type = r.types[r.offers[vm.offer_index].type]
    if is_halted(vm) and not vm.listed and room_of(r, r.offers[vm.offer_index].type) > of_type.returning:
        vm.listed = 1
        of_type.returning += 1
        r.back_now[r.n_back] = vm.index
        r.n_back += 1


def list_struck(r: Rows, vm: VmRow) -> None:
    """List a VM as one that is interrupted now."""
    if not vm.listed:
        vm.listed = 1
        r.struck_now[r.n_struck] = vm.index
        r.n_struck += 1


def grow_old(r: Rows, kind: int) -> bool:
    """Strike VMs that have reached the age at which the day takes them away; False if there are none."""
    happened = False
    while is_next(r, kind, kind):
        _, _, _, place, _ = pop(r)
        strike(r, r.days[place])
        happened = True
    return happened


def strike(r: Rows, event: DayRow) -> None:
    """Give notice to the VMs that an event takes away; list those that have it, and those that go at once."""
    if event.kind == RESUME or event.kind == PRICE:
        return
    # Those VMs are spared that were requested first, as many as stay.
    of_type, kind, stay = r.types[event.type], event.kind, 0
    if event.kind == CAPACITY:
        if of_type.capacity != event.vms:
            of_type.capacity = event.vms
            note(r, NOTED.CAPACITY, NONE, NONE, NONE, event.type, event.vms, 0.0)
        of_type.struck_by = kind = event.by
        stay = event.vms
    elif event.share >= 0:
        running, v = 0, of_type.first
        while v != NONE:
            running += r.vms[v].state == RUNNING and r.vms[v].gone_s == NONE
            v = r.vms[v].after_of_type
        stay = running - math.ceil(event.share * running - NOISE)
    elif event.vm == NONE:
        of_type.capacity = 0
        of_type.struck_by = kind
    whole_type = event.vm == NONE and event.share < 0
    if whole_type:
        ask_about_type(r, event.type)
    number, v = 0, of_type.first
    while v != NONE:
        # A day numbers all VMs that there have been of a type; a share is of those that run, and a capacity of those
        # that take room.
        vm = r.vms[v]
        v = vm.after_of_type
        if event.vm != NONE:
            number += 1
            if number != event.vm:
                continue
        elif event.share >= 0:
            if vm.state != RUNNING or vm.gone_s != NONE:
                continue
            number += 1
            if number <= stay:
                continue
        else:
            number += vm.state <= RUNNING
            if vm.state > RUNNING or number <= stay:
                continue
        if vm.state == RUNNING and give_notice(r, vm, kind, event.notice_s, int(whole_type)):
            if event.notice_s == 0:
                list_struck(r, vm)
            else:
                add_noticed(r, vm.index)


def ask_about_type(r: Rows, vm_type: int) -> None:
    """Have the policy asked about a type once."""
    for k in range(r.n_types_now):
        if r.types_now[k] == vm_type:
            return
    r.types_now[r.n_types_now] = vm_type
    r.n_types_now += 1


# --------------------------------------------------------------------- the questions


def ask(r: Rows) -> None:
    """Ask the policy about all that has happened, each time settling what its decisions cause at once.

    In this order: tasks that have finished, prices, capacity, VMs that are back, idle ones, those that have notice,
    those that were interrupted, preempted tasks, migration triggers, VMs that are not used, and its wake-up call.
    """
    # What waits on these VMs moves up after the policy has been asked, which may have the task elsewhere.
    for k in range(r.n_preempted):
        r.vms[r.preempted_on[k]].held += 1
    if r.n_finished:
        ask_about_finished(r)
    for k in range(r.n_priced):
        answer_price_changed(r, r.priced_now[k])
        settle(r)
    for k in range(r.n_types_now):
        answer_capacity_changed(r, r.types_now[k])
        settle(r)
    if r.n_back:
        ask_about_returns(r)
    if r.n_idle:
        sort_numbers(r.idle_now, r.n_idle)
        for k in range(r.n_idle):
            ask_idle(r, r.vms[r.idle_now[k]])
            settle(r)
    if r.n_noticed:
        ask_about_notices(r)
    for k in range(r.n_struck):
        vm = r.vms[r.struck_now[k]]
        if is_halted(vm):
            answer_hibernated(r, vm)
        elif vm.reclaimed:
            answer_lost(r, vm)
        settle(r)
    if r.n_preempted:
        ask_about_preempted(r)
    if r.n_triggered:
        ask_about_triggers(r)
    if r.n_unused:
        ask_about_unused(r)
    if r.woken:
        note(r, NOTED.WAKE, NONE, NONE, NONE, 0, 0, 0.0)
        answer_woken(r)
        settle(r)


def ask_about_returns(r: Rows) -> None:
    """Ask about VMs that have resumed, or boot again."""
    for k in range(r.n_back):
        vm = r.vms[r.back_now[k]]
        if vm.state <= RUNNING:
            answer_resumed(r, vm)
            settle(r)
            if is_idle(vm):
                await_cycle_end(r, vm)


def ask_about_notices(r: Rows) -> None:
    """Ask about VMs that have notice of their interruption."""
    sort_numbers(r.noticed_now, r.n_noticed)
    for k in range(r.n_noticed):
        vm = r.vms[r.noticed_now[k]]
        if vm.gone_s != NONE:
            answer_noticed(r, vm)
            settle(r)


def ask_about_triggers(r: Rows) -> None:
    """Ask about interrupted VMs whose migration trigger time has come."""
    for k in range(r.n_triggered):
        vm = r.vms[r.triggered_now[k]]
        # An earlier answer of this second may have set it anew, or migrated the tasks.
        if vm.trigger_epoch == r.trigger_epochs[k] and may_give(vm):
            drop_trigger(r, vm)
            r.events_handled += 1
            note(r, NOTED.TRIGGER, vm.index, NONE, NONE, 0, 0, 0.0)
            answer_trigger_reached(r, vm)
            settle(r)


def ask_about_unused(r: Rows) -> None:
    """Ask about idle VMs at the ends of their allocation cycles, and of the time for which they are kept."""
    for k in range(r.n_unused):
        vm = r.vms[r.unused_now[k]]
        if vm.idle_epoch == r.unused_epochs[k] and is_idle(vm):
            r.events_handled += 1
            what = NOTED.CYCLE_END if k < r.n_cycles else NOTED.IDLE_LIMIT
            note(r, what, vm.index, NONE, NONE, r.idle_limit_s, 0, 0.0)
            answer_cycle_ended(r, vm)
            settle(r)


def ask_about_finished(r: Rows) -> None:
    """Ask about tasks that have finished, by VM and core."""
    if r.n_finished > 1:
        for k in range(r.n_finished):
            run = r.tasks[r.finished_now[k]]
            run.rank, run.weight, run.tie = run.ended_on, float(run.core), k
        sort_tasks(r, r.finished_now, r.n_finished)
    for k in range(r.n_finished):
        task = r.finished_now[k]
        answer_finished(r, r.vms[r.tasks[task].ended_on], task)
        settle(r)


def ask_about_preempted(r: Rows) -> None:
    """Ask about preempted tasks whose checkpoints are written; what waits on their VMs moves up after that."""
    for k in range(r.n_preempted):
        task, vm = r.preempted_now[k], r.vms[r.preempted_on[k]]
        if r.tasks[task].vm == vm.index and not r.tasks[task].running:
            answer_preempted(r, vm, task)
        vm.held -= 1
        if not vm.held:
            leave_restless(r, vm)
        settle(r)


def ask_idle(r: Rows, vm: VmRow) -> None:
    """Ask about a VM if it is idle; await the end of its allocation cycle if it stays so."""
    if is_idle(vm):
        answer_idle(r, vm)
        if is_idle(vm):
            await_cycle_end(r, vm)


def settle(r: Rows) -> None:
    """Let the policy answer for VMs that it has terminated; let what waits move up where tasks were taken away."""
    # Answers may end more VMs and take more tasks away: it goes on until nothing is left to be answered.
    while r.first_ended < r.n_ended or r.n_restless:
        if r.first_ended < r.n_ended:
            r.first_ended += 1
            answer_terminated(r, r.vms[r.ended[r.first_ended - 1]])
            continue
        vm = r.vms[r.restless[r.first_restless]]
        r.first_restless += 1
        r.n_restless -= 1
        vm.restless -= 1
        if vm.held:
            continue
        # Of VMs that drain or are gone nothing starts, so nothing moves up.
        if vm.disordered and vm.state == RUNNING and vm.gone_s == NONE:
            move_up(r, vm)
        ask_idle(r, vm)
    start_due(r)


def start_due(r: Rows) -> None:
    """Start tasks that only waited for all others of the moment to free their memory."""
    while is_next(r, START, START):
        time_s, _, v, core, _ = pop(r)
        planned_start(r, r.vms[v], core, time_s)


def await_cycle_end(r: Rows, vm: VmRow) -> None:
    """Await the end of the allocation cycle of an idle VM; the event comes once for each time that it is idle.

    So does the end of the time for which the policy keeps it, if it has a limit.
    """
    vm.idle_epoch += 1
    # Rounded up: at the very end of a cycle, that one is meant, and never the zeroth of a VM that was ready just now.
    cycles = max(-(-uptime_at(vm, r.now_s) // r.cycle_s), 1)
    push(r, vm.zero_s + cycles * r.cycle_s, CYCLE_END, vm.index, 0, vm.idle_epoch)
    if r.idle_limit_s != NONE:
        push(r, r.now_s + r.idle_limit_s, IDLE_LIMIT, vm.index, 0, vm.idle_epoch)


# ----------------------------------------------------------------------------- lists


def sort_numbers(values: list[int], n: int) -> None:
    """Sort the first numbers of a list."""
    # By insertion: a handful of VMs, nearly in order.
    for k in range(1, n):
        value, place = values[k], k
        while place and values[place - 1] > value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value


def insert(firsts: list[int], seconds: list[int], start: int, n: int, first: int, second: int) -> None:
    """Insert a pair in order, behind those before the start."""
    place = n
    while place > start and (firsts[place - 1] > first or (firsts[place - 1] == first and seconds[place - 1] > second)):
        firsts[place], seconds[place] = firsts[place - 1], seconds[place - 1]
        place -= 1
    firsts[place], seconds[place] = first, second
