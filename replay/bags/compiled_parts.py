"""Parts of a replay as compiled loops have them: each takes the place of one of `interpreted`."""

from __future__ import annotations

from ...instances.entries import NEVER
from . import interpreted
from .policies.on_time_kernel import latest_rescue, new_vms_from
from .rows import (
    NEEDS_RESCUE,
    NONE,
    REFUSED,
    TOO_MANY_ENTRIES,
    TOO_MANY_EVENTS,
    TOO_MANY_VMS,
    EventRow,
    GaveUpError,
    Rows,
)
from .rules import comes_before, may_give

_KIND_BITS = 40


def give_up(r: Rows, why: int) -> None:
    """End the loop; see `GaveUpError`."""
    r.why = why
    raise GaveUpError


def push(r: Rows, time_s: int, kind: int, v: int, core: int, epoch: int) -> None:
    """Queue an event."""
    place = r.n_events
    if place == len(r.events):
        give_up(r, TOO_MANY_EVENTS)
    r.n_events += 1
    r.sequence += 1
    # One number orders events of the same time by kind, then by their turn, as the tuples of Python do.
    rank = (kind << _KIND_BITS) + r.sequence
    while place > 0:
        above = (place - 1) >> 1
        if not _comes_later(r.events[above], time_s, rank):
            break
        _move_event(r, place, above)
        place = above
    event = r.events[place]
    event.time_s, event.rank, event.vm, event.core, event.epoch = time_s, rank, v, core, epoch


def _comes_later(event: EventRow, time_s: int, rank: int) -> bool:
    return event.time_s > time_s or (event.time_s == time_s and event.rank > rank)


def _move_event(r: Rows, place: int, source: int) -> None:
    event, to = r.events[source], r.events[place]
    to.time_s, to.rank, to.vm, to.core, to.epoch = event.time_s, event.rank, event.vm, event.core, event.epoch


def pop(r: Rows) -> tuple[int, int, int, int, int]:
    """Take the next event from the queue: when it is, its kind, VM, core and epoch."""
    event = r.events[0]
    taken = event.time_s, event.rank >> _KIND_BITS, event.vm, event.core, event.epoch
    r.n_events -= 1
    n = r.n_events
    last = r.events[n]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= n:
            break
        if below + 1 < n:
            right = r.events[below + 1]
            if not _comes_later(right, r.events[below].time_s, r.events[below].rank):
                below += 1
        if _comes_later(r.events[below], last.time_s, last.rank):
            break
        _move_event(r, place, below)
        place = below
    # The last event goes into the gap that has sunk to its place.
    if place != n:
        _move_event(r, place, n)
    return taken


def is_next(r: Rows, first: int, last: int) -> bool:
    """True if the next event of the queue is of now or before, and of some kinds."""
    if r.n_events == 0 or r.events[0].time_s > r.now_s:
        return False
    kind = r.events[0].rank >> _KIND_BITS
    return first <= kind <= last


def next_s(r: Rows) -> int:
    """Time of the next event of the queue; `NEVER` without any."""
    return r.events[0].time_s if r.n_events else NEVER


def note(r: Rows, what: int, v: int, core: int, task: int, first: int, second: int, real: float) -> None:
    """Keep something on record, if there is one."""
    if not r.recording:
        return
    if r.n_notes == len(r.notes):
        give_up(r, TOO_MANY_ENTRIES)
    row = r.notes[r.n_notes]
    r.n_notes += 1
    row.time_s, row.what, row.vm, row.core, row.task = r.now_s, what, v, core, task
    row.first, row.second, row.real = first, second, real


def add_vm(r: Rows, offer: int) -> int:
    """Make room for one more VM; return which it is."""
    if r.n_vms == len(r.vms):
        give_up(r, TOO_MANY_VMS)
    return r.n_vms


def add_session(r: Rows, start_s: int, end_s: int, lost: int) -> int:
    """Add a session; return which it is."""
    if r.n_sessions == len(r.sessions):
        give_up(r, TOO_MANY_ENTRIES)
    row = r.sessions[r.n_sessions]
    row.start_s, row.end_s, row.lost, row.next = start_s, end_s, lost, NONE
    r.n_sessions += 1
    return r.n_sessions - 1


def add_noticed(r: Rows, v: int) -> None:
    """List a VM that has notice now, or earlier notice than another event of this moment has given it."""
    if r.n_noticed == len(r.noticed_now):
        give_up(r, TOO_MANY_VMS)
    r.noticed_now[r.n_noticed] = v
    r.n_noticed += 1


def add_helper(r: Rows, v: int) -> None:
    """Add a VM that a migration trigger counts on."""
    if r.n_helpers == len(r.helpers):
        give_up(r, TOO_MANY_ENTRIES)
    r.helpers[r.n_helpers] = v
    r.n_helpers += 1


def add_sketch(r: Rows) -> int:
    """Make room for one more sketch; return which it is."""
    if r.n_chosen == len(r.sketches):
        give_up(r, TOO_MANY_VMS)
    r.n_chosen += 1
    return r.n_chosen - 1


def refuse(r: Rows, reason: int, v: int, task: int) -> None:
    """Give up: Python says what is wrong."""
    give_up(r, REFUSED)


def plan_rescue(r: Rows) -> None:
    """Find the rescue of the survival certificate for the loss of all VMs that give tasks.

    The first time, if types go down as a whole; Python works it out, and the replay begins anew.
    """
    planned, types = r.rescue_tried == 0, 0
    r.rescue_tried, r.rescue_found = 1, 0
    for v in range(r.n_vms):
        if r.vms[v].n_left and may_give(r.vms[v]):
            types |= 1 << r.offers[r.vms[v].offer_index].type
    # The certificate knows types that go down as a whole: where some of their VMs go on, it has nothing to say.
    for v in range(r.n_vms):
        vm = r.vms[v]
        if vm.spot and vm.n_left and not may_give(vm) and types & (1 << r.offers[vm.offer_index].type):
            planned = False
    if planned and not r.rescue_given:
        r.lost_types = types
        give_up(r, NEEDS_RESCUE)
    # The day begins anew with the rescue that Python has found, and comes here again, in the same state.
    elif planned:
        r.rescue_found = int(r.rescue_given == 2)


def sort_tasks(r: Rows, tasks: list[int], n: int) -> None:
    """Sort the first tasks of a list by rank, weight and tie."""
    # By Shell's gaps: without recursion, and without room of its own.
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap:
        for k in range(gap, n):
            task, place = tasks[k], k
            while place >= gap and comes_before(r, task, tasks[place - gap]):
                tasks[place] = tasks[place - gap]
                place -= gap
            tasks[place] = task
        gap //= 3


def make_room_for_standby(r: Rows) -> None:
    """Make room for what `on-time` knows of tasks and VMs: there is some."""


IN_PLACE_OF = {interpreted.pack: latest_rescue, interpreted.pack_new_vms: new_vms_from} | {
    getattr(interpreted, part.__name__): part
    for part in (
        *(push, pop, is_next, next_s, note, add_vm, add_session, add_noticed, add_helper, add_sketch),
        *(refuse, plan_rescue, sort_tasks, make_room_for_standby),
    )
}
"""Parts of `interpreted`, and what compiled loops have in their places."""
