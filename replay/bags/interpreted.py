"""Parts of a replay as plain Python has them: the queue of events, the record, what grows, and questions to the policy.

Compiled loops have parts of the same names in `compiled_engine`, and the rules of a policy in place of the questions.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from ...instances.entries import NEVER
from .rows import NONE, SessionRow, SketchRow, or_none


def push(r: Any, time_s: int, kind: int, v: int, core: int, epoch: int) -> None:
    """Queue an event."""
    r.sequence += 1
    # The turn comes before what the event is about: those of the same time and kind keep their order.
    heappush(r.queue, (time_s, kind, r.sequence, v, core, epoch))


def pop(r: Any) -> tuple[int, int, int, int, int]:
    """Take the next event from the queue: when it is, its kind, VM, core and epoch."""
    time_s, kind, _, v, core, epoch = heappop(r.queue)
    return time_s, kind, v, core, epoch


def is_next(r: Any, first: int, last: int) -> bool:
    """True if the next event of the queue is of now or before, and of some kinds."""
    queue = r.queue
    if not queue:
        return False
    head = queue[0]
    return head[0] <= r.now_s and first <= head[1] <= last  # type: ignore[no-any-return]


def next_s(r: Any) -> int:
    """Time of the next event of the queue; `NEVER` without any."""
    return r.queue[0][0] if r.queue else NEVER


def note(r: Any, what: int, v: int, core: int, task: int, first: int, second: int, real: float) -> None:
    """Keep something on record, if there is one."""
    if r.recording:
        r.notes.append((r.now_s, what, v, core, task, first, second, real))


def add_vm(r: Any, offer: int) -> int:
    """Make room for one more VM; return which it is."""
    return r._add_vm(offer)  # type: ignore[no-any-return]


def add_session(r: Any, start_s: int, end_s: int, lost: int) -> int:
    """Add a session; return which it is."""
    r.sessions.append(SessionRow(start_s, end_s, lost))
    return len(r.sessions) - 1


def add_noticed(r: Any, v: int) -> None:
    """List a VM that has notice now, or earlier notice than another event of this moment has given it."""
    if r.n_noticed == len(r.noticed_now):
        r.noticed_now.append(NONE)
    r.noticed_now[r.n_noticed] = v
    r.n_noticed += 1


def add_helper(r: Any, v: int) -> None:
    """Add a VM that a migration trigger counts on."""
    r.helpers.append(v)
    r.n_helpers += 1


def add_sketch(r: Any) -> int:
    """Make room for one more sketch; return which it is."""
    if r.n_chosen == len(r.sketches):
        r.sketches.append(SketchRow())
        r.sketched.append([0] * len(r.heads))
        r.chosen.append(0)
    r.n_chosen += 1
    return r.n_chosen - 1  # type: ignore[no-any-return]


def refuse(r: Any, reason: int, v: int, task: int) -> None:
    """Refuse a decision that cannot be carried out, which is a mistake of the policy, or of the plan."""
    r._refuse(reason, v, task)


def plan_rescue(r: Any) -> None:
    """Find the rescue of the survival certificate for the loss of all VMs that give tasks."""
    r._plan_rescue()


def sort_tasks(r: Any, tasks: list[int], n: int) -> None:
    """Sort the first tasks of a list by rank, weight and tie."""
    rows = [r.tasks[task] for task in tasks[:n]]
    order = sorted([(row.rank, row.weight, row.tie, task) for row, task in zip(rows, tasks[:n], strict=True)])
    tasks[:n] = [entry[-1] for entry in order]


def make_room_for_standby(r: Any) -> None:
    """Make room for what `on-time` knows of tasks and VMs."""
    r._make_room_for_standby()


def pack(r: Any, first_s: int, last_s: int) -> tuple[int, int]:
    """Pack tasks onto on-demand VMs; see `latest_rescue`, which is compiled also for Python."""
    return r.packing.latest_rescue(r, first_s, last_s)  # type: ignore[no-any-return]


def pack_new_vms(r: Any, start_s: int) -> int:
    """Pack tasks onto new on-demand VMs; see `new_vms_from`, which is compiled also for Python."""
    return r.packing.new_vms_from(r, start_s)  # type: ignore[no-any-return]


# ---------------------------------------------------------------------- questions to the policy


def answer_finished(r: Any, vm: Any, task: int) -> None:
    """Ask about a task that has finished."""
    r.policy.finished(r, vm, task)


def answer_price_changed(r: Any, offer: int) -> None:
    """Ask about a new price of an offer."""
    r.policy.price_changed(r, r.instance.offers[offer])


def answer_capacity_changed(r: Any, vm_type: int) -> None:
    """Ask about a type of which there can be more, or fewer, spot VMs than before."""
    r.policy.capacity_changed(r, r.instance.vm_types[vm_type].name)


def answer_resumed(r: Any, vm: Any) -> None:
    """Ask about a VM that has resumed, or boots again."""
    r.policy.resumed(r, vm)
    # A policy in Python may change its limit as it answers, and the cycle of an idle VM is awaited next.
    r.idle_limit_s = or_none(r.policy.idle_limit_s)


def answer_idle(r: Any, vm: Any) -> None:
    """Ask about a VM that runs and has no task left."""
    r.policy.idle(r, vm)
    r.idle_limit_s = or_none(r.policy.idle_limit_s)


def answer_noticed(r: Any, vm: Any) -> None:
    """Ask about a VM that has notice of its interruption."""
    r.policy.noticed(r, vm)


def answer_hibernated(r: Any, vm: Any) -> None:
    """Ask about a VM that is hibernated or stopped."""
    r.policy.hibernated(r, vm)


def answer_lost(r: Any, vm: Any) -> None:
    """Ask about a VM that the cloud has terminated."""
    r.policy.lost(r, vm)


def answer_preempted(r: Any, vm: Any, task: int) -> None:
    """Ask about a preempted task whose checkpoint is written."""
    r.policy.preempted(r, vm, task)


def answer_trigger_reached(r: Any, vm: Any) -> None:
    """Ask about an interrupted VM whose migration trigger time has come."""
    r.policy.trigger_reached(r, vm)


def answer_cycle_ended(r: Any, vm: Any) -> None:
    """Ask about an idle VM at the end of its allocation cycle, or of the time for which it is kept."""
    r.policy.cycle_ended(r, vm)


def answer_woken(r: Any) -> None:
    """Ask at the start, and at times at which the policy has asked to be woken."""
    r.policy.woken(r)


def answer_terminated(r: Any, vm: Any) -> None:
    """Ask about a VM that the policy has terminated."""
    r.policy.terminated(r, vm)


QUESTIONS: dict[str, Callable[..., None]] = {
    name.removeprefix("answer_"): value for name, value in vars().items() if name.startswith("answer_")
}
"""Questions by the methods of `Policy` that answer them."""
