"""The state of a replay in arrays, and how it changes: what `ReplayState` and `LiveState` say, compiled.

It is for replays without a record, under the policies of `policies_kernel`, of bags whose memory never binds. What it
comes to is the same to the last bit; `tests/replay/bags/test_compiled_engine.py` compares both on random days.
"""

# mypy: disable-error-code=no-any-return
# Fields of records have no types outside of compiled loops.
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.bill import blocks_of
from ...core.compiled import compiled_part, numbers_at, records_of
from ...core.quantities import SECONDS_PER_HOUR
from ...instances.durations import BASELINE, FULL_SPEED, NEVER
from ..vms import HIBERNATED, LAUNCHING, RUNNING, STOPPED, TERMINATED

NONE = -1
"""In place of a time, a VM or a task that there is not."""

# Events of the queue, in the order in which they are taken at the same time; those of `ReplayState` that matter here.
FINISH, START, RECALL, READY, INTERRUPT, TRIGGER, CYCLE_END, IDLE_LIMIT = range(8)

# Kinds of interruption, and of all other events of a day.
HIBERNATE, STOP, TERMINATE, RESUME, CAPACITY = range(5)

STATIC, HADS, BURST_HADS, RESCUE, ON_DEMAND = range(5)
"""Policies."""

# Why a replay ended.
DONE, TOO_MANY_VMS, TOO_MANY_EVENTS, NEEDS_RESCUE, REFUSED = range(5)

IDLE, BUSY, NEW = range(3)
"""What a VM was before it got a task."""

_KIND_BITS = 40
_NOISE_S = 1e-9
_SECONDS_PER_CREDIT = 60
_CREDIT_TOLERANCE = 1e-6

INT, REAL = np.int64, np.float64


def _record(reals: tuple[str, ...], *names: str) -> np.dtype[Any]:
    return np.dtype([(name, REAL if name in reals else INT) for name in names])


OFFERS = _record(
    ("usd_per_hour", "baseline", "first_credits", "most_credits", "credits_per_hour"),
    *("type", "spot", "burstable", "vcpus", "limit", "sustained", "usd_per_hour", "baseline", "first_credits"),
    *("most_credits", "credits_per_hour"),
)

GROUPS = _record(("interval_s", "dump_s"), "interval_s", "dump_s")

WORK = _record((), "full_s", "baseline_s", "runtime_s", "checkpoints")
"""Of a group on an offer: durations at both speeds, run time, checkpoints of a whole task."""

DAY = _record(("share",), "time_s", "type", "kind", "vm", "share", "notice_s", "vms", "by")

VMS = _record(
    ("credit_balance",),
    *("offer", "spot", "burstable", "vcpus", "state", "ready_s", "zero_s", "first_start_s", "drains_until_s"),
    *("drains_of_type", "interruption", "notice_s", "reclaimed", "halted_at_s", "hibernated_s", "stopped_s"),
    *("session_s", "sessions", "first_ready_s", "first_end_s", "first_lost", "worked_s", "billed_s", "first_billed_s"),
    *("terminated_s", "n_left", "disordered", "stranded", "epoch", "idle_epoch", "trigger_epoch", "trigger_s"),
    *("kinds", "at_full_speed", "at_baseline", "credit_balance", "credit_at_s", "longest_s", "longest_known"),
    *("restless", "rented_before"),
)

CORES = _record((), "running", "first", "last")
"""Of a core: the task that runs, and the first and the last that wait."""

TASKS = _record(
    ("saved", "written_s", "weight"),
    *("start_s", "end_s", "mode", "vm", "core", "next", "running", "group", "saved", "written_s", "written"),
    *("rank", "weight", "tie"),
)
"""What ``written`` of `Vm` has of a run; the last three are what they are sorted by."""

EVENTS = _record((), "time_s", "rank", "vm", "core", "epoch")

TYPES = _record((), "capacity", "struck_by")

QUEUES = _record((), "offer", "core", "first", "last", "tasks")
"""A core of the plan: its VM's offer, which core it is, its first and last task, and how many tasks it has."""

RESCUE_VMS = _record((), "offer", "vm")
"""A VM of a planned rescue: the offer of a new one, or the VM that there is."""

RESCUE_TASKS = _record((), "task", "place")
"""A task of a planned rescue, and which of its VMs it goes to."""

ARRAYS = (
    *("offers", "groups", "work", "cheapest", "queues", "day", "vms", "cores", "tasks", "events", "types", "rented"),
    *("helpers", "rescue_vms", "rescue_tasks", "lists", "scratch", "asked", "sketches"),
)
"""Arrays of a replay: records as above, ``work`` for each group and offer, ``cores`` for each VM and core; others are
of whole numbers. ``cheapest``: on-demand offers that are not burstable, by price; ``rented``: how many VMs there are of
each offer; ``helpers``: for each VM, which others its migration trigger counts on; the last four are room to work in.
"""

REPLAY = _record(
    ("cpu_time_saved_s",),
    *ARRAYS,
    *("n_offers", "n_groups", "n_tasks", "n_cheapest", "n_queues", "n_day", "most_vms", "most_cores", "most_events"),
    *("list_length", "sketch_length"),
    # The rescue of the survival certificate: whether it is known, and whether there is one.
    *(
        "rescue_known",
        "rescue_found",
        "n_rescue_vms",
        "n_rescue_tasks",
        "rescue_tried",
        "lost_types",
    ),
    # The instance, the policy and the billing.
    *("boot_s", "overhead_s", "cycle_s", "deadline_s", "max_spot", "max_on_demand", "takes_checkpoints"),
    *("policy", "spare_all", "recompute", "all_steal", "idle_limit_s", "minimum_s", "block_s"),
    # The clock, the fleet and the queues.
    *("now_s", "sequence", "n_events", "n_vms", "unfinished", "last_finish_s", "why", "stranded", "spot_rented"),
    *("on_demand_rented", "n_by_price", "first_restless", "n_restless", "first_ended", "n_ended", "n_chosen"),
    # The event that was taken from the queue last.
    *("time_s", "kind", "vm", "core", "epoch"),
    # Counts, as in `DayOutcome`.
    *("cpu_time_saved_s", "events_handled", "late_tasks", "hibernations", "resumes", "stops", "restarts", "reclaims"),
    *("resumes_in_time", "on_demand_started", "migrated_idle", "migrated_busy", "migrated_new", "hibernations_idle"),
    *("hibernations_busy", "hibernations_new", "busy_hibernations", "steal_attempts", "steals", "tasks_stolen"),
    *("checkpoints", "recoveries"),
)
"""A replay: where its arrays are in memory and how long they are, what does not change, its state."""

# Rows of `lists`.
BY_PRICE, RESTLESS, ENDED, L_IDLE, L_RESUMED, L_NOTICED, L_STRUCK, L_TRIGGER, L_TRIGGER_EPOCH = range(9)
L_CYCLE, L_CYCLE_EPOCH, L_FREE, L_BUSY, L_CHOSEN, L_VM = range(9, 15)
LISTS = 15

# Rows of `scratch`, each as long as there are tasks.
S_TASKS, S_ORDER, S_LEFT = range(3)
SCRATCH = 3


SKETCH = 5
"""Columns of `sketches` before those of the cores: VM, offer, zero of its uptime, longest task, spare time."""


# ------------------------------------------------------------- where things are in memory

offer_at = records_of(REPLAY, "offers", OFFERS)
group_at = records_of(REPLAY, "groups", GROUPS)
work_at = records_of(REPLAY, "work", WORK, "n_offers")
day_at = records_of(REPLAY, "day", DAY)
vm_at = records_of(REPLAY, "vms", VMS)
core_at = records_of(REPLAY, "cores", CORES, "most_cores")
task_at = records_of(REPLAY, "tasks", TASKS)
event_at = records_of(REPLAY, "events", EVENTS)
type_at = records_of(REPLAY, "types", TYPES)
queue_at = records_of(REPLAY, "queues", QUEUES)
rescue_vm_at = records_of(REPLAY, "rescue_vms", RESCUE_VMS)
rescue_task_at = records_of(REPLAY, "rescue_tasks", RESCUE_TASKS)


@compiled_part
def cheapest_at(r: Any, k: int) -> int:
    """Return an on-demand offer, by price."""
    return numbers_at(r.cheapest, 0, r.n_cheapest)[k]


@compiled_part
def rented_of(r: Any) -> Any:
    """Return how many VMs of each offer are rented."""
    return numbers_at(r.rented, 0, r.n_offers)


@compiled_part
def helpers_of(r: Any, v: int) -> Any:
    """Return on which VMs the migration trigger of a VM counts."""
    return numbers_at(r.helpers, v, r.most_vms)


@compiled_part
def list_of(r: Any, row: int) -> Any:
    """Return a list of VMs."""
    return numbers_at(r.lists, row, r.list_length)


@compiled_part
def scratch_of(r: Any, row: int) -> Any:
    """Return a list of tasks."""
    return numbers_at(r.scratch, row, r.n_tasks)


@compiled_part
def asked_of(r: Any, row: int) -> Any:
    """Return a number for each group."""
    return numbers_at(r.asked, row, r.n_groups)


@compiled_part
def sketch_at(r: Any, number: int) -> Any:
    """Return a sketch."""
    return numbers_at(r.sketches, number, r.sketch_length)


# ------------------------------------------------------------------------- the queue


@compiled_part
def _put_event(event: Any, time_s: int, rank: int, vm: int, core: int, epoch: int) -> None:
    event.time_s, event.rank, event.vm, event.core, event.epoch = time_s, rank, vm, core, epoch


@compiled_part
def _comes_later(event: Any, time_s: int, rank: int) -> bool:
    return event.time_s > time_s or (event.time_s == time_s and event.rank > rank)


@compiled_part
def _move_event(r: Any, place: int, source: int) -> None:
    event = event_at(r, source)
    _put_event(event_at(r, place), event.time_s, event.rank, event.vm, event.core, event.epoch)


@compiled_part
def push(r: Any, time_s: int, kind: int, vm: int, core: int, epoch: int) -> None:
    """Queue an event."""
    place = r.n_events
    if place == r.most_events:
        r.why = TOO_MANY_EVENTS
        return
    r.n_events += 1
    r.sequence += 1
    rank = (kind << _KIND_BITS) + r.sequence
    while place > 0:
        above = (place - 1) >> 1
        if not _comes_later(event_at(r, above), time_s, rank):
            break
        _move_event(r, place, above)
        place = above
    _put_event(event_at(r, place), time_s, rank, vm, core, epoch)


@compiled_part
def head_s(r: Any) -> int:
    """When the next event of the queue is; `NEVER` without any."""
    return event_at(r, 0).time_s if r.n_events else NEVER


@compiled_part
def head_kind(r: Any) -> int:
    """Kind of the next event of the queue."""
    return event_at(r, 0).rank >> _KIND_BITS


@compiled_part
def pop(r: Any) -> None:
    """Take the next event from the queue."""
    event = event_at(r, 0)
    r.time_s, r.kind, r.vm, r.core, r.epoch = event.time_s, event.rank >> _KIND_BITS, event.vm, event.core, event.epoch
    r.n_events -= 1
    n = r.n_events
    last = event_at(r, n)
    place = 0
    while True:
        below = 2 * place + 1
        if below >= n:
            break
        if below + 1 < n:
            right = event_at(r, below + 1)
            if not _comes_later(right, event_at(r, below).time_s, event_at(r, below).rank):
                below += 1
        if _comes_later(event_at(r, below), last.time_s, last.rank):
            break
        _move_event(r, place, below)
        place = below
    if place != n:
        _move_event(r, place, n)


# ----------------------------------------------------------------------------- work


@compiled_part
def speed_of(r: Any, offer: int, mode: int) -> float:
    """How fast a core is, against its full speed."""
    return offer_at(r, offer).baseline if mode == BASELINE else 1.0


@compiled_part
def checkpoints_of_work(r: Any, group: int, offer: int, work_s: float) -> int:
    """Checkpoints of so much work; see `WorkTable`."""
    if not (r.takes_checkpoints and offer_at(r, offer).spot):
        return 0
    return max(math.ceil((work_s - _NOISE_S) / group_at(r, group).interval_s) - 1, 0)


@compiled_part
def duration_of(r: Any, group: int, offer: int, mode: int, saved: float) -> int:
    """How long a task of a group occupies a core; see `WorkTable.duration_s`."""
    row = work_at(r, group, offer)
    whole_task = row.full_s if mode == FULL_SPEED else row.baseline_s
    if saved == 0.0 or whole_task >= NEVER:
        return whole_task
    work_s = row.runtime_s * (1.0 - saved)
    seconds = work_s + checkpoints_of_work(r, group, offer, work_s) * group_at(r, group).dump_s
    return math.ceil(seconds / speed_of(r, offer, mode) - _NOISE_S)


@compiled_part
def checkpoints_of(r: Any, task: int, offer: int, saved: float) -> int:
    """Checkpoints that a task takes if it runs to its end."""
    if not (r.takes_checkpoints and offer_at(r, offer).spot):
        return 0
    row = work_at(r, task_at(r, task).group, offer)
    if saved == 0.0:
        return row.checkpoints
    return checkpoints_of_work(r, task_at(r, task).group, offer, row.runtime_s * (1.0 - saved))


@compiled_part
def last_checkpoint(r: Any, v: int, task: int, until_s: int) -> tuple[float, float, int]:
    """Fraction saved of a task, and what its present run adds: seconds of work, checkpoints; see `ReplayState`."""
    vm, run = vm_at(r, v), task_at(r, task)
    saved = run.saved
    if not run.running or not vm.spot:
        return saved, 0.0, 0
    offer, mode = vm.offer, run.mode
    group = group_at(r, run.group)
    elapsed_s = uptime(r, v, r.now_s if until_s == NONE else until_s) - run.start_s
    speed = speed_of(r, offer, mode)
    regular = checkpoints_of(r, task, offer, saved)
    runtime_s = work_at(r, run.group, offer).runtime_s
    period_s = group.interval_s + group.dump_s
    done = min(regular, math.floor((elapsed_s * speed + _NOISE_S) / period_s)) if regular else 0
    seconds = done * group.interval_s
    in_time = vm.notice_s > 0 and vm.notice_s * speed + _NOISE_S >= group.dump_s
    if in_time and r.takes_checkpoints and (vm.state > RUNNING or until_s != NONE):
        worked_s = elapsed_s * speed - group.dump_s
        count = min(regular, math.floor((worked_s + _NOISE_S) / period_s)) if regular else 0
        since_s = worked_s - count * period_s
        if count < regular and since_s > group.interval_s + _NOISE_S:
            last_s, last = (count + 1) * group.interval_s, count + 1
        else:
            whole_s = count * group.interval_s
            last_s = max(float(math.floor(whole_s + since_s + _NOISE_S)), whole_s)
            last = count + int(last_s > whole_s + _NOISE_S)
        if (last_s, last) > (seconds, done):
            seconds, done = last_s, last
    if (run.written_s, run.written) > (seconds, done):
        seconds, done = run.written_s, run.written
    if done == 0:
        return saved, 0.0, 0
    return saved + seconds / runtime_s, seconds, done


@compiled_part
def stop_run(r: Any, v: int, task: int) -> None:
    """Take down what a task has saved that goes on elsewhere or later."""
    saved, saved_s, checkpoints = last_checkpoint(r, v, task, NONE)
    if checkpoints:
        task_at(r, task).saved = saved
        r.checkpoints += checkpoints
        r.cpu_time_saved_s += saved_s
    if saved > 0.0 and task_at(r, task).running:
        r.recoveries += 1


# ------------------------------------------------------------------------------ VMs


@compiled_part
def uptime(r: Any, v: int, now_s: int) -> int:
    """How long a VM has been running; negative while it is launching."""
    vm = vm_at(r, v)
    return (vm.halted_at_s if vm.state > RUNNING else now_s) - vm.zero_s


@compiled_part
def alive(r: Any, v: int) -> bool:
    """Whether a VM takes tasks."""
    return vm_at(r, v).state <= RUNNING and vm_at(r, v).drains_until_s == NONE


@compiled_part
def is_idle(r: Any, v: int) -> bool:
    """Whether a VM runs, takes tasks and has none."""
    vm = vm_at(r, v)
    return vm.state == RUNNING and vm.n_left == 0 and vm.drains_until_s == NONE


@compiled_part
def halted(r: Any, v: int) -> bool:
    """Whether a VM is hibernated or stopped."""
    return vm_at(r, v).state == HIBERNATED or vm_at(r, v).state == STOPPED


@compiled_part
def gives_tasks(r: Any, v: int) -> bool:
    """Whether tasks of a VM may be migrated."""
    return halted(r, v) or vm_at(r, v).drains_until_s != NONE or vm_at(r, v).reclaimed == 1


@compiled_part
def earliest_uptime(r: Any, v: int) -> int:
    """From when on a VM can run something."""
    return max(uptime(r, v, r.now_s), vm_at(r, v).first_start_s)


@compiled_part
def core_free(r: Any, v: int, core: int, from_s: int) -> int:
    """When a core is free for good, in uptime."""
    slot = core_at(r, v, core)
    last = slot.last if slot.last != NONE else slot.running
    return from_s if last == NONE else max(task_at(r, last).end_s, from_s)


@compiled_part
def span_of(r: Any, v: int) -> tuple[int, int, int]:
    """When the first core of a VM is free, which that is, and when all are."""
    from_s = earliest_uptime(r, v)
    first_s, end_s, which = NEVER, 0, 0
    for core in range(vm_at(r, v).vcpus):
        free_s = core_free(r, v, core, from_s)
        if free_s < first_s:
            first_s, which = free_s, core
        end_s = max(end_s, free_s)
    return first_s, which, end_s


@compiled_part
def longest_of(r: Any, v: int) -> int:
    """Longest run time on a VM of its unfinished tasks."""
    vm = vm_at(r, v)
    if not vm.longest_known:
        longest_s = 0
        for core in range(vm.vcpus):
            task = core_at(r, v, core).running
            if task != NONE:
                longest_s = max(longest_s, work_at(r, task_at(r, task).group, vm.offer).runtime_s)
            task = core_at(r, v, core).first
            while task != NONE:
                longest_s = max(longest_s, work_at(r, task_at(r, task).group, vm.offer).runtime_s)
                task = task_at(r, task).next
        vm.longest_s = longest_s
        vm.longest_known = 1
    return vm.longest_s


@compiled_part
def tasks_of(r: Any, v: int) -> int:
    """List the tasks of a VM in the first scratch row: those that run, then those that wait, by start; how many."""
    n = 0
    out = scratch_of(r, S_TASKS)
    for core in range(vm_at(r, v).vcpus):
        if core_at(r, v, core).running != NONE:
            out[n] = core_at(r, v, core).running
            n += 1
    return waiting_of(r, v, out, n)


@compiled_part
def waiting_of(r: Any, v: int, out: Any, n: int) -> int:
    """List the tasks that wait on a VM, by start and core; return how many there are, with ``n`` before."""
    vcpus = vm_at(r, v).vcpus
    heads = sketch_at(r, 0)
    for core in range(vcpus):
        heads[core] = core_at(r, v, core).first
    while True:
        best, best_s = NONE, NEVER
        for core in range(vcpus):
            if heads[core] != NONE and task_at(r, heads[core]).start_s < best_s:
                best, best_s = core, task_at(r, heads[core]).start_s
        if best == NONE:
            return n
        out[n] = heads[best]
        heads[best] = task_at(r, heads[best]).next
        n += 1


# -------------------------------------------------------------------------- credits


@compiled_part
def unbounded_credits(r: Any, v: int) -> float:
    """CPU credits of a burstable VM without its limits."""
    vm = vm_at(r, v)
    offer = offer_at(r, vm.offer)
    elapsed = max(uptime(r, v, r.now_s) - vm.credit_at_s, 0)
    spent = (vm.at_full_speed + vm.at_baseline * offer.baseline) / _SECONDS_PER_CREDIT
    return vm.credit_balance + (offer.credits_per_hour / SECONDS_PER_HOUR - spent) * elapsed


@compiled_part
def credits_of(r: Any, v: int) -> float:
    """CPU credits of a burstable VM."""
    return min(max(unbounded_credits(r, v), 0.0), offer_at(r, vm_at(r, v).offer).most_credits)


@compiled_part
def count_running(r: Any, v: int, mode: int, more: int) -> None:
    """Settle the credits, then change how many tasks run in a mode."""
    vm = vm_at(r, v)
    vm.credit_balance = credits_of(r, v)
    vm.credit_at_s = max(uptime(r, v, r.now_s), 0)
    if mode == FULL_SPEED:
        vm.at_full_speed += more
    else:
        vm.at_baseline += more


@compiled_part
def check_credits(r: Any, v: int) -> None:
    """Find tasks at full speed without credits."""
    if vm_at(r, v).at_full_speed and max(-unbounded_credits(r, v), 0.0) > _CREDIT_TOLERANCE:
        r.why = REFUSED


# ------------------------------------------------------------------- tasks and queues


@compiled_part
def unlink(r: Any, v: int, task: int) -> None:
    """Take a task out of the queue in which it waits."""
    slot = core_at(r, v, task_at(r, task).core)
    if slot.first == task:
        slot.first = task_at(r, task).next
        if slot.last == task:
            slot.last = NONE
        return
    before = slot.first
    while task_at(r, before).next != task:
        before = task_at(r, before).next
    task_at(r, before).next = task_at(r, task).next
    if slot.last == task:
        slot.last = before


@compiled_part
def take(r: Any, v: int, task: int) -> None:
    """Take a task from a VM, one that runs there or one that waits."""
    vm, run = vm_at(r, v), task_at(r, task)
    if vm.burstable:
        check_credits(r, v)
    if run.running:
        core_at(r, v, run.core).running = NONE
        run.running = run.written = 0
        run.written_s = 0.0
        if vm.burstable:
            count_running(r, v, run.mode, -1)
    else:
        unlink(r, v, task)
    vm.n_left -= 1
    vm.disordered = 1
    vm.longest_known = 0


@compiled_part
def enqueue(r: Any, v: int, core: int, task: int) -> None:
    """Let a task wait behind what waits for a core."""
    slot, run = core_at(r, v, core), task_at(r, task)
    run.vm, run.core, run.next, run.running = v, core, NONE, 0
    if slot.last == NONE:
        slot.first = task
    else:
        task_at(r, slot.last).next = task
    slot.last = task


@compiled_part
def append(r: Any, v: int, task: int, mode: int, duration_s: int, since_s: int) -> int:
    """Append a task to a VM by list scheduling, to start no earlier than ``since_s``; return its core."""
    start_s, core, _ = span_of(r, v)
    if since_s > start_s:
        start_s = since_s
        from_s, latest_s = earliest_uptime(r, v), NONE
        for other in range(vm_at(r, v).vcpus):
            free_s = core_free(r, v, other, from_s)
            if latest_s < free_s <= start_s:
                core, latest_s = other, free_s
    run = task_at(r, task)
    run.start_s, run.end_s, run.mode = start_s, start_s + duration_s, mode
    enqueue(r, v, core, task)
    return core


@compiled_part
def place(r: Any, v: int, task: int, mode: int) -> None:
    """Give a task to a VM."""
    vm = vm_at(r, v)
    group = task_at(r, task).group
    core = append(r, v, task, mode, duration_of(r, group, vm.offer, mode, task_at(r, task).saved), 0)
    vm.n_left += 1
    vm.longest_s = max(vm.longest_s, work_at(r, group, vm.offer).runtime_s)
    vm.idle_epoch += 1
    if vm.state == RUNNING and not vm.disordered:  # else it moves up soon
        start_or_await(r, v, core)


@compiled_part
def start_or_await(r: Any, v: int, core: int) -> None:
    """Start the first task that waits for a free core, now or when it is its time."""
    slot, vm = core_at(r, v, core), vm_at(r, v)
    if slot.first == NONE or slot.running != NONE or vm.drains_until_s != NONE:
        return
    start_s = vm.zero_s + task_at(r, slot.first).start_s
    if start_s <= r.now_s:
        start(r, v, core)
    else:
        push(r, start_s, START, v, core, 0)


@compiled_part
def start(r: Any, v: int, core: int) -> None:
    """Start the first task that waits for a core."""
    slot, vm = core_at(r, v, core), vm_at(r, v)
    task = slot.first
    run = task_at(r, task)
    slot.first = run.next
    if slot.first == NONE:
        slot.last = NONE
    slot.running = task
    run.running = 1
    push(r, vm.zero_s + run.end_s, FINISH, v, core, vm.epoch)
    if vm.burstable:
        count_running(r, v, run.mode, 1)


@compiled_part
def finish(r: Any, v: int, core: int) -> None:
    """End the task of a core, and start the next."""
    slot, vm = core_at(r, v, core), vm_at(r, v)
    task = slot.running
    run = task_at(r, task)
    slot.running = NONE
    run.running = 0
    vm.n_left -= 1
    vm.longest_known = 0
    r.unfinished -= 1
    r.last_finish_s = r.now_s
    r.events_handled += 1
    if vm.spot:
        r.checkpoints += checkpoints_of(r, task, vm.offer, run.saved)
    if vm.burstable:
        check_credits(r, v)
        count_running(r, v, run.mode, -1)
    run.saved = 0.0
    if r.now_s > r.deadline_s:
        r.late_tasks += 1
    if slot.first != NONE:
        start_or_await(r, v, core)


@compiled_part
def waits_at_full_speed(r: Any, tasks: Any, n: int) -> bool:
    """True if a task waits for full speed."""
    found = False
    for k in range(n):
        found = found or task_at(r, tasks[k]).mode == FULL_SPEED
    return found


@compiled_part
def slow_down_late(r: Any, v: int, tasks: Any, n: int) -> None:
    """If a start has passed, let all that waits go on at the baseline, once what runs at full speed has ended."""
    vm = vm_at(r, v)
    late, from_s = False, earliest_uptime(r, v)
    for k in range(n):
        late = late or task_at(r, tasks[k]).start_s < from_s
    if not late:
        return
    since_s = 0
    for core in range(vm.vcpus):
        task = core_at(r, v, core).running
        if task != NONE and task_at(r, task).mode == FULL_SPEED:
            since_s = max(since_s, task_at(r, task).end_s)
    for k in range(n):
        run = task_at(r, tasks[k])
        run.start_s, run.mode = since_s, BASELINE
        run.end_s = since_s + duration_of(r, run.group, vm.offer, BASELINE, run.saved)


@compiled_part
def list_anew(r: Any, v: int) -> None:
    """Schedule anew what waits on a VM from which tasks have been taken, in the same order.

    Where tasks are at full speed, what waits keeps its starts; if one of them has passed, it goes on at the baseline.
    """
    vm = vm_at(r, v)
    vm.disordered = 0
    out = scratch_of(r, S_ORDER)
    n = waiting_of(r, v, out, 0)
    keeps = vm.burstable and (vm.at_full_speed > 0 or waits_at_full_speed(r, out, n))
    if keeps:
        slow_down_late(r, v, out, n)
    for core in range(vm.vcpus):
        core_at(r, v, core).first = core_at(r, v, core).last = NONE
    for k in range(n):
        run = task_at(r, out[k])
        append(r, v, out[k], run.mode, run.end_s - run.start_s, run.start_s if keeps else 0)


@compiled_part
def move_up(r: Any, v: int) -> None:
    """Start or await what waits; list scheduling anew if tasks have been taken away."""
    if vm_at(r, v).disordered:
        list_anew(r, v)
    for core in range(vm_at(r, v).vcpus):
        start_or_await(r, v, core)


# ------------------------------------------------------------------- limits and VMs


@compiled_part
def present(r: Any, vm_type: int) -> int:
    """Spot VMs of a type that use its capacity."""
    n = 0
    for v in range(r.n_vms):
        vm = vm_at(r, v)
        if vm.spot and vm.state <= RUNNING and offer_at(r, vm.offer).type == vm_type:
            n += 1
    return n


@compiled_part
def can_start(r: Any, offer: int, in_market: int, of_offer: int) -> bool:
    """Whether limits and capacity allow one more VM of an offer."""
    entry = offer_at(r, offer)
    if rented_of(r)[offer] + of_offer >= entry.limit:
        return False
    cap = r.max_spot if entry.spot else r.max_on_demand
    if cap != NONE and (r.spot_rented if entry.spot else r.on_demand_rented) + in_market >= cap:
        return False
    if not entry.spot or type_at(r, entry.type).capacity == NONE:
        return True
    return type_at(r, entry.type).capacity - present(r, entry.type) > of_offer


@compiled_part
def request(r: Any, offer: int, first_start_s: int) -> int:
    """Request a VM; return which it is, or `NONE` if there is no room for it in the arrays."""
    entry = offer_at(r, offer)
    v = r.n_vms
    if v == r.most_vms:
        r.why = TOO_MANY_VMS
        return NONE
    r.n_vms += 1
    vm = vm_at(r, v)
    vm.offer, vm.spot, vm.burstable, vm.vcpus = offer, entry.spot, entry.burstable, entry.vcpus
    vm.state = LAUNCHING
    vm.ready_s = vm.zero_s = r.now_s + r.boot_s
    vm.first_start_s = first_start_s
    vm.drains_until_s = vm.session_s = vm.trigger_s = NONE
    vm.credit_balance = entry.first_credits
    vm.rented_before = rented_of(r)[offer]
    for core in range(entry.vcpus):
        slot = core_at(r, v, core)
        slot.running = slot.first = slot.last = NONE
    rented_of(r)[offer] += 1
    if entry.spot:
        r.spot_rented += 1
    else:
        r.on_demand_rented += 1
    order, position = list_of(r, BY_PRICE), r.n_by_price
    while position and offer_at(r, vm_at(r, order[position - 1]).offer).usd_per_hour > entry.usd_per_hour:
        order[position] = order[position - 1]
        position -= 1
    order[position] = v
    r.n_by_price += 1
    push(r, vm.ready_s, READY, v, 0, 0)
    return v


@compiled_part
def start_vm(r: Any, offer: int) -> int:
    """Request a VM during the day."""
    v = request(r, offer, r.overhead_s - r.boot_s)
    if v != NONE and not offer_at(r, offer).spot:
        r.on_demand_started += 1
    return v


@compiled_part
def give_back(r: Any, v: int) -> None:
    """Count a terminated VM against no limit any more."""
    order = list_of(r, BY_PRICE)
    position = 0
    while order[position] != v:
        position += 1
    r.n_by_price -= 1
    for k in range(position, r.n_by_price):
        order[k] = order[k + 1]
    rented_of(r)[vm_at(r, v).offer] -= 1
    if vm_at(r, v).spot:
        r.spot_rented -= 1
    else:
        r.on_demand_rented -= 1


_blocks_of = compiled_part(blocks_of)


@compiled_part
def end_session(r: Any, v: int, interrupted: int) -> None:
    """End what a VM is billed for, if it runs."""
    vm = vm_at(r, v)
    if vm.session_s != NONE:
        end_s = r.now_s
        seconds = end_s - vm.session_s
        billed_s = _blocks_of(seconds, r.block_s, r.minimum_s) * r.block_s
        if vm.sessions == 0:
            vm.first_ready_s, vm.first_end_s, vm.first_lost, vm.first_billed_s = (
                vm.session_s,
                end_s,
                interrupted,
                billed_s,
            )
        vm.sessions += 1
        vm.worked_s += seconds
        vm.billed_s += billed_s
        vm.session_s = NONE
    vm.drains_until_s = NONE
    vm.drains_of_type = 0


@compiled_part
def end_halt(r: Any, v: int) -> int:
    """Settle how long a VM was hibernated or stopped; return it."""
    vm = vm_at(r, v)
    pause_s = r.now_s - vm.halted_at_s
    if vm.state == HIBERNATED:
        vm.hibernated_s += pause_s
    else:
        vm.stopped_s += pause_s
    return pause_s


@compiled_part
def terminate(r: Any, v: int) -> None:
    """Terminate a VM."""
    vm, now_s = vm_at(r, v), r.now_s
    if halted(r, v):
        end_halt(r, v)
    else:
        vm.halted_at_s = now_s
    end_session(r, v, 0)
    vm.terminated_s = now_s if vm.sessions else max(now_s, vm.ready_s)
    vm.state = TERMINATED
    vm.epoch += 1
    give_back(r, v)


@compiled_part
def let_go(r: Any, v: int) -> None:
    """Terminate a VM, and have the policy asked about it."""
    terminate(r, v)
    list_of(r, ENDED)[r.n_ended] = v
    r.n_ended += 1


@compiled_part
def get_ready(r: Any, v: int) -> bool:
    """Let a VM run that was launching; False if its type has no room for it."""
    vm = vm_at(r, v)
    vm.state = RUNNING
    vm.session_s = r.now_s
    if vm.spot:
        of_type = type_at(r, offer_at(r, vm.offer).type)
        if of_type.capacity != NONE:
            before = 0
            for k in range(v):
                other = vm_at(r, k)
                if (
                    other.spot
                    and other.state <= RUNNING
                    and offer_at(r, other.offer).type == offer_at(r, vm.offer).type
                ):
                    before += 1
            if before >= of_type.capacity:
                vm.interruption = of_type.struck_by
                vm.notice_s = 0
                vm.drains_until_s = r.now_s
                return False
    move_up(r, v)
    return True


@compiled_part
def give_notice(r: Any, v: int, kind: int, notice_s: int, of_type: int) -> bool:
    """Let a VM drain; False if it drains already and is not interrupted earlier than it knows."""
    vm = vm_at(r, v)
    until_s = r.now_s + notice_s
    if vm.drains_until_s != NONE and vm.drains_until_s <= until_s:
        return False
    vm.interruption, vm.notice_s, vm.drains_of_type = kind, notice_s, of_type
    vm.idle_epoch += 1
    vm.drains_until_s = until_s
    if notice_s:
        vm.disordered = 1
        push(r, until_s, INTERRUPT, v, 0, 0)
    return True


@compiled_part
def interrupt(r: Any, v: int) -> None:
    """Take a VM away that runs."""
    vm = vm_at(r, v)
    kind, of_type = vm.interruption, vm.drains_of_type
    vm.halted_at_s = r.now_s
    end_session(r, v, 1)
    vm.epoch += 1
    vm.idle_epoch += 1
    vm.kinds = 0
    r.events_handled += 1
    if vm.n_left:
        r.busy_hibernations += 1
    if kind == HIBERNATE:
        vm.state = HIBERNATED
        r.hibernations += 1
    elif kind == STOP:
        vm.state = STOPPED
        r.stops += 1
    else:
        vm.state = TERMINATED
        r.reclaims += 1
        vm.reclaimed = 1
        vm.terminated_s = r.now_s
        give_back(r, v)
        return
    vm_type = offer_at(r, vm.offer).type
    capacity = type_at(r, vm_type).capacity
    if of_type and (capacity == NONE or capacity - present(r, vm_type) > 0):
        push(r, r.now_s, RECALL, v, 0, vm.epoch)


@compiled_part
def come_back(r: Any, v: int) -> None:
    """Let a VM resume, or boot again after it was stopped."""
    vm = vm_at(r, v)
    if vm.notice_s:
        for core in range(vm.vcpus):
            task = core_at(r, v, core).running
            if task != NONE:
                _, seconds, done = last_checkpoint(r, v, task, NONE)
                task_at(r, task).written_s, task_at(r, task).written = seconds, done
    pause_s = end_halt(r, v)
    vm.stranded = 0
    r.events_handled += 1
    if vm.trigger_s != NONE:
        r.resumes_in_time += 1
        vm.trigger_s = NONE
        vm.trigger_epoch += 1
    if vm.state == STOPPED:
        r.restarts += 1
        _restart(r, v, pause_s)
        return
    r.resumes += 1
    vm.zero_s += pause_s
    vm.state = RUNNING
    vm.session_s = r.now_s
    for core in range(vm.vcpus):
        task = core_at(r, v, core).running
        if task != NONE:
            push(r, vm.zero_s + task_at(r, task).end_s, FINISH, v, core, vm.epoch)
    move_up(r, v)


@compiled_part
def _restart(r: Any, v: int, pause_s: int) -> None:
    """Boot a VM that was stopped: what ran there waits again, before all else, with what is saved."""
    vm = vm_at(r, v)
    boot_s = r.boot_s
    uptime_s = uptime(r, v, r.now_s)
    for core in range(vm.vcpus):
        slot = core_at(r, v, core)
        task = slot.running
        if task != NONE:
            run = task_at(r, task)
            stop_run(r, v, task)
            take(r, v, task)
            vm.n_left += 1
            if not vm.burstable:  # else it is late: the credits for what is done once more are spent
                run.start_s = uptime_s
            run.end_s = run.start_s + duration_of(r, run.group, vm.offer, run.mode, run.saved)
            run.next = slot.first
            slot.first = task
            if slot.last == NONE:
                slot.last = task
    vm.state = LAUNCHING
    vm.ready_s = r.now_s + boot_s
    vm.zero_s += pause_s + boot_s
    vm.first_start_s = max(vm.first_start_s, uptime_s)
    if vm.disordered:
        list_anew(r, v)
    push(r, vm.ready_s, READY, v, 0, 0)


# ------------------------------------------------------------------------ decisions


@compiled_part
def leave_restless(r: Any, v: int) -> None:
    """Remember a VM from which tasks were taken: what waits there may move up."""
    if not vm_at(r, v).restless:
        vm_at(r, v).restless = 1
        list_of(r, RESTLESS)[(r.first_restless + r.n_restless) % r.most_vms] = v
        r.n_restless += 1


@compiled_part
def migrate(r: Any, task: int, source: int, target: int, mode: int) -> None:
    """Move an unfinished task of a VM that is interrupted or drains."""
    stop_run(r, source, task)
    kind = BUSY if vm_at(r, target).n_left else NEW if vm_at(r, target).state == LAUNCHING else IDLE
    take(r, source, task)
    first = not vm_at(r, source).kinds & (1 << kind)
    vm_at(r, source).kinds |= 1 << kind
    if kind == IDLE:
        r.migrated_idle += 1
        r.hibernations_idle += first
    elif kind == BUSY:
        r.migrated_busy += 1
        r.hibernations_busy += first
    else:
        r.migrated_new += 1
        r.hibernations_new += first
    place(r, target, task, mode)


@compiled_part
def steal(r: Any, task: int, victim: int, thief: int, mode: int) -> None:
    """Move a waiting task of a VM to another; what it leaves moves up."""
    take(r, victim, task)
    r.tasks_stolen += 1
    leave_restless(r, victim)
    place(r, thief, task, mode)


@compiled_part
def set_trigger(r: Any, v: int, time_s: int) -> None:
    """Set when the tasks of a VM are to be migrated; its helpers are set already."""
    vm = vm_at(r, v)
    time_s = max(time_s, r.now_s)
    if vm.trigger_s == time_s:
        return
    vm.trigger_s = time_s
    vm.trigger_epoch += 1
    push(r, time_s, TRIGGER, v, 0, vm.trigger_epoch)
