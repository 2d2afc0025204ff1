"""The loop of a replay, compiled: all that happens in a second happens first, then the policy is asked."""

# mypy: disable-error-code=no-any-return
# Fields of records have no types outside of compiled loops.
from __future__ import annotations

import math
from typing import Any

from ...core.compiled import compiled, compiled_part, inlined_part
from ...instances.durations import NEVER
from ..vms import LAUNCHING, RUNNING, TERMINATED
from .policies_kernel import cycle_ended, hibernated, idle, lost, noticed, resumed, terminated, trigger_reached
from .state_kernel import (
    CAPACITY,
    CYCLE_END,
    DONE,
    ENDED,
    IDLE_LIMIT,
    INTERRUPT,
    L_CYCLE,
    L_CYCLE_EPOCH,
    L_IDLE,
    L_NOTICED,
    L_RESUMED,
    L_STRUCK,
    L_TRIGGER,
    L_TRIGGER_EPOCH,
    NONE,
    READY,
    RECALL,
    RESTLESS,
    RESUME,
    START,
    TOO_MANY_VMS,
    TRIGGER,
    come_back,
    core_at,
    day_at,
    finish,
    get_ready,
    give_notice,
    gives_tasks,
    halted,
    head_kind,
    head_s,
    interrupt,
    is_idle,
    last_checkpoint,
    list_of,
    move_up,
    offer_at,
    pop,
    present,
    push,
    queue_at,
    request,
    start,
    task_at,
    terminate,
    type_at,
    uptime,
    vm_at,
)

_NOISE = 1e-9


@compiled
def replay(context: Any) -> int:
    """Go through a day to its end; return why it ended."""
    r = context[0]
    _request_plan(r)
    k = 0
    while r.why == DONE and r.unfinished:
        day_s = day_at(r, k).time_s if k < r.n_day else NEVER
        if r.n_events == 0 and day_s == NEVER:
            break
        k = _step(r, k, day_s)
    if r.why == DONE:
        _end(r)
    return r.why


@inlined_part
def _request_plan(r: Any) -> None:
    """Request the VMs of the plan, with their tasks."""
    v = NONE
    for k in range(r.n_queues):
        queue = queue_at(r, k)
        if queue.core == 0:
            v = request(r, queue.offer, 0)
            if v == NONE:
                return
        slot = core_at(r, v, queue.core)
        slot.first, slot.last = queue.first, queue.last
        vm_at(r, v).n_left += queue.tasks


@inlined_part
def _end(r: Any) -> None:
    """End all VMs with the bag, or when nothing can happen any more."""
    for v in range(r.n_vms):
        if vm_at(r, v).n_left:
            for core in range(vm_at(r, v).vcpus):
                task = core_at(r, v, core).running
                if task != NONE:
                    r.checkpoints += last_checkpoint(r, v, task, NONE)[2]
        if vm_at(r, v).state != TERMINATED:
            terminate(r, v)


@inlined_part
def _step(r: Any, k: int, day_s: int) -> int:
    """Handle all that happens at the next moment, and ask the policy; return the next event of the day."""
    idle_vms = list_of(r, L_IDLE)
    before_s = r.now_s
    r.now_s = min(head_s(r), day_s)
    now_s = r.now_s
    n_idle = 0
    happened = False
    while r.n_events and head_s(r) <= now_s and head_kind(r) <= START:
        pop(r)
        v, core = r.vm, r.core
        vm = vm_at(r, v)
        if r.kind == START:
            happened |= _planned_start(r, v, core, r.time_s)
            continue
        task = core_at(r, v, core).running
        if vm.epoch != r.epoch or task == NONE or vm.zero_s + task_at(r, task).end_s != r.time_s:
            continue
        happened = True
        finish(r, v, core)
        if vm.n_left == 0:
            vm.idle_epoch += 1
            idle_vms[n_idle] = v
            n_idle += 1
    if r.unfinished == 0:
        return k
    if day_s != now_s and head_s(r) > now_s and n_idle <= 1:  # as most moments are
        if not happened:
            r.now_s = before_s
        elif n_idle:
            _ask_idle(r, idle_vms[0])
            _settle(r)
        return k
    return _go_on(r, k, n_idle, happened, before_s)


@inlined_part
def _go_on(r: Any, k: int, n_idle: int, happened: bool, before_s: int) -> int:
    """Let everything else happen at the present moment, then ask the policy; return the next event of the day."""
    now_s = r.now_s
    last = k
    while last < r.n_day and day_at(r, last).time_s == now_s:
        last += 1
    happened |= last > k
    back = list_of(r, L_RESUMED)
    n_back = _give_capacity(r, k, last, back) if last > k else 0
    while r.n_events and head_s(r) <= now_s and head_kind(r) == RECALL:
        pop(r)
        v = r.vm
        if vm_at(r, v).epoch == r.epoch and halted(r, v) and not _holds(back, n_back, v):
            room = _room(r, offer_at(r, vm_at(r, v).offer).type, back, n_back)
            if room > 0:
                back[n_back] = v
                n_back += 1
    _sort(back, n_back)
    for position in range(n_back):
        happened = True
        come_back(r, back[position])
    struck = list_of(r, L_STRUCK)
    n_struck = 0
    _start_due(r)
    idle_vms = list_of(r, L_IDLE)
    while r.n_events and head_s(r) <= now_s and head_kind(r) == READY:
        pop(r)
        v = r.vm
        vm = vm_at(r, v)
        if vm.state == LAUNCHING and vm.ready_s == now_s:
            happened = True
            if not get_ready(r, v):
                n_struck = _add(struck, n_struck, v)
            elif vm.n_left == 0:
                vm.idle_epoch += 1
                idle_vms[n_idle] = v
                n_idle += 1
            _start_due(r)
    n_noticed = 0
    if last > k:
        n_noticed, n_struck = _strike(r, k, last, n_struck)
    while r.n_events and head_s(r) <= now_s and head_kind(r) == INTERRUPT:
        pop(r)
        if vm_at(r, r.vm).drains_until_s == now_s:
            n_struck = _add(struck, n_struck, r.vm)
    n_triggers = n_cycles = n_ends = 0
    triggers, cycles = list_of(r, L_TRIGGER), list_of(r, L_CYCLE)
    while r.n_events and head_s(r) <= now_s and head_kind(r) >= TRIGGER:
        pop(r)
        v = r.vm
        if r.kind == TRIGGER:
            if vm_at(r, v).trigger_epoch == r.epoch and gives_tasks(r, v):
                n_triggers = _insert(triggers, list_of(r, L_TRIGGER_EPOCH), 0, n_triggers, v, r.epoch)
        elif vm_at(r, v).idle_epoch == r.epoch and is_idle(r, v):
            n_cycles = _insert(
                cycles, list_of(r, L_CYCLE_EPOCH), 0 if r.kind == CYCLE_END else n_ends, n_cycles, v, r.epoch
            )
            if r.kind == CYCLE_END:
                n_ends = n_cycles
    if n_struck:
        happened = True
        _sort(struck, n_struck)
        for position in range(n_struck):
            interrupt(r, struck[position])
    if not (happened or n_triggers or n_cycles):
        r.now_s = before_s
        return last
    if last > k:
        _settle(r)  # policies are asked about prices and capacity, and do nothing
    _ask(r, n_back, n_idle, n_noticed, n_struck, n_triggers, n_cycles)
    return last


# --------------------------------------------------------------------------- the day


@compiled_part
def _spot_vm(r: Any, v: int, vm_type: int) -> bool:
    """Whether a VM is a spot VM of a type."""
    return vm_at(r, v).spot == 1 and offer_at(r, vm_at(r, v).offer).type == vm_type


@compiled_part
def _room(r: Any, vm_type: int, back: Any, n_back: int) -> int:
    """How many more spot VMs of a type there can be, after some that come back."""
    capacity = type_at(r, vm_type).capacity
    if capacity == NONE:
        return NEVER
    for place in range(n_back):
        capacity -= offer_at(r, vm_at(r, back[place]).offer).type == vm_type
    return capacity - present(r, vm_type)


@inlined_part
def _give_capacity(r: Any, first: int, last: int, back: Any) -> int:
    """Raise the capacity of types that are back, wholly or in part; list the VMs that come back; return how many."""
    n_back = 0
    for k in range(first, last):
        event = day_at(r, k)
        of_type = type_at(r, event.type)
        if event.kind == RESUME and event.vm == NONE:
            of_type.capacity = NONE
        elif event.kind == CAPACITY:
            if of_type.capacity == NONE or event.vms < of_type.capacity:
                continue
            of_type.capacity = event.vms
        elif event.kind != RESUME:
            continue
        number = 0
        for v in range(r.n_vms):
            if _spot_vm(r, v, event.type):
                number += 1
                if event.vm != NONE and event.vm != number:
                    continue
                if halted(r, v) and not _holds(back, n_back, v) and _room(r, event.type, back, n_back) > 0:
                    back[n_back] = v
                    n_back += 1
    return n_back


@inlined_part
def _strike(r: Any, first: int, last: int, n_struck: int) -> tuple[int, int]:
    """Give notice to the VMs that events take away; list those that have it, and those that go at once."""
    n_noticed = 0
    for with_notice in (True, False):
        for k in range(first, last):
            event = day_at(r, k)
            if event.kind == RESUME or (event.notice_s > 0) != with_notice:
                continue
            of_type = event.vm == NONE and event.share < 0
            kind, present_before, number, running = event.kind, 0, 0, 0
            if event.kind == CAPACITY:
                type_at(r, event.type).capacity = event.vms
                type_at(r, event.type).struck_by = kind = event.by
            elif of_type:
                type_at(r, event.type).capacity = 0
                type_at(r, event.type).struck_by = kind
            elif event.share >= 0:
                for v in range(r.n_vms):
                    if (
                        _spot_vm(r, v, event.type)
                        and vm_at(r, v).state == RUNNING
                        and vm_at(r, v).drains_until_s == NONE
                    ):
                        running += 1
                running -= math.ceil(event.share * running - _NOISE)  # so many of them stay
            for v in range(r.n_vms):
                vm = vm_at(r, v)
                if not _spot_vm(r, v, event.type):
                    continue
                number += 1
                if event.kind == CAPACITY:
                    if vm.state > RUNNING:
                        continue
                    present_before += 1
                    if present_before <= event.vms:
                        continue
                elif event.vm != NONE:
                    if number != event.vm:
                        continue
                elif event.share >= 0:
                    if vm.state != RUNNING or vm.drains_until_s != NONE:
                        continue
                    running -= 1
                    if running >= 0:
                        continue
                if vm.state == RUNNING and give_notice(r, v, kind, event.notice_s, int(of_type)):
                    if not with_notice:
                        n_struck = _add(list_of(r, L_STRUCK), n_struck, v)
                    elif n_noticed < r.list_length:
                        list_of(r, L_NOTICED)[n_noticed] = v
                        n_noticed += 1
                    else:
                        r.why = TOO_MANY_VMS
    return n_noticed, n_struck


# --------------------------------------------------------------------- the questions


@inlined_part
def _ask(r: Any, n_back: int, n_idle: int, n_noticed: int, n_struck: int, n_triggers: int, n_cycles: int) -> None:
    """Ask the policy about all that has happened, each time settling what its decisions cause at once."""
    for k in range(n_back):
        v = list_of(r, L_RESUMED)[k]
        if vm_at(r, v).state <= RUNNING:
            resumed(r, v)
            _settle(r)
            if is_idle(r, v):
                _await_cycle_end(r, v)
    _sort(list_of(r, L_IDLE), n_idle)
    for k in range(n_idle):
        _ask_idle(r, list_of(r, L_IDLE)[k])
        _settle(r)
    _sort(list_of(r, L_NOTICED), n_noticed)
    for k in range(n_noticed):
        v = list_of(r, L_NOTICED)[k]
        if vm_at(r, v).drains_until_s != NONE:
            noticed(r, v)
            _settle(r)
    for k in range(n_struck):
        v = list_of(r, L_STRUCK)[k]
        if halted(r, v):
            hibernated(r, v)
        elif vm_at(r, v).reclaimed:
            lost(r, v)
        _settle(r)
    for k in range(n_triggers):
        v = list_of(r, L_TRIGGER)[k]
        vm = vm_at(r, v)
        if vm.trigger_epoch == list_of(r, L_TRIGGER_EPOCH)[k] and gives_tasks(r, v):
            vm.trigger_s = NONE
            vm.trigger_epoch += 1
            r.events_handled += 1
            trigger_reached(r, v)
            _settle(r)
    for k in range(n_cycles):
        v = list_of(r, L_CYCLE)[k]
        if vm_at(r, v).idle_epoch == list_of(r, L_CYCLE_EPOCH)[k] and is_idle(r, v):
            r.events_handled += 1
            cycle_ended(r, v)
            _settle(r)


@compiled_part
def _ask_idle(r: Any, v: int) -> None:
    if is_idle(r, v):
        idle(r, v)
        if is_idle(r, v):
            _await_cycle_end(r, v)


@compiled_part
def _settle(r: Any) -> None:
    """Let the policy answer for VMs that it has terminated; let what waits move up where tasks were taken away."""
    while r.first_ended < r.n_ended or r.n_restless:
        if r.first_ended < r.n_ended:
            r.first_ended += 1
            terminated(r, list_of(r, ENDED)[r.first_ended - 1])
            continue
        v = list_of(r, RESTLESS)[r.first_restless]
        r.first_restless = (r.first_restless + 1) % r.most_vms
        r.n_restless -= 1
        vm_at(r, v).restless = 0
        if vm_at(r, v).disordered and vm_at(r, v).state == RUNNING and vm_at(r, v).drains_until_s == NONE:
            move_up(r, v)
        _ask_idle(r, v)
    _start_due(r)


@compiled_part
def _start_due(r: Any) -> None:
    """Start tasks of which it is the time."""
    while r.n_events and head_kind(r) == START and head_s(r) <= r.now_s:
        pop(r)
        _planned_start(r, r.vm, r.core, r.time_s)


@compiled_part
def _planned_start(r: Any, v: int, core: int, time_s: int) -> bool:
    """Start what was to start at a moment; False if it has moved since."""
    vm, slot = vm_at(r, v), core_at(r, v, core)
    if (
        vm.state != RUNNING
        or vm.drains_until_s != NONE
        or slot.running != NONE
        or slot.first == NONE
        or vm.zero_s + task_at(r, slot.first).start_s != time_s
    ):
        return False
    start(r, v, core)
    return True


@compiled_part
def _await_cycle_end(r: Any, v: int) -> None:
    """Await the end of the allocation cycle of an idle VM, and of the time for which the policy keeps it."""
    vm, now_s = vm_at(r, v), r.now_s
    vm.idle_epoch += 1
    cycles = max(-(-uptime(r, v, now_s) // r.cycle_s), 1)
    push(r, vm.zero_s + cycles * r.cycle_s, CYCLE_END, v, 0, vm.idle_epoch)
    if r.idle_limit_s != NONE:
        push(r, now_s + r.idle_limit_s, IDLE_LIMIT, v, 0, vm.idle_epoch)


# ----------------------------------------------------------------------------- lists


@compiled_part
def _holds(values: Any, n: int, value: int) -> bool:
    for k in range(n):  # noqa: SIM110 (loops over generators do not compile)
        if values[k] == value:
            return True
    return False


@compiled_part
def _add(values: Any, n: int, value: int) -> int:
    """Add a value that is not there yet; return how many there are then."""
    for k in range(n):
        if values[k] == value:
            return n
    values[n] = value
    return n + 1


@compiled_part
def _sort(values: Any, n: int) -> None:
    for k in range(1, n):
        value, place = values[k], k
        while place and values[place - 1] > value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value


@compiled_part
def _insert(values: Any, epochs: Any, first: int, n: int, value: int, epoch: int) -> int:
    """Insert a value in order, behind the first ones and its equals, with its epoch; how many are there then."""
    place = n
    while place > first and values[place - 1] > value:
        values[place], epochs[place] = values[place - 1], epochs[place - 1]
        place -= 1
    values[place], epochs[place] = value, epoch
    return n + 1
