"""What `static`, `hads`, `burst-hads` and `rescue` decide, compiled; see `policies`, where each line has its source."""

# mypy: disable-error-code=no-any-return
# Fields of records have no types outside of compiled loops.
from __future__ import annotations

import math
from typing import Any

from ...core.compiled import compiled_part, inlined_part
from ...instances.durations import FULL_SPEED, NEVER
from ..vms import RUNNING
from .state_kernel import (
    BURST_HADS,
    BY_PRICE,
    HADS,
    L_BUSY,
    L_CHOSEN,
    L_FREE,
    L_VM,
    NEEDS_RESCUE,
    NONE,
    ON_DEMAND,
    REFUSED,
    RESCUE,
    S_LEFT,
    S_TASKS,
    SKETCH,
    STATIC,
    TERMINATE,
    TOO_MANY_VMS,
    alive,
    asked_of,
    can_start,
    cheapest_at,
    core_at,
    core_free,
    credits_of,
    duration_of,
    earliest_uptime,
    gives_tasks,
    halted,
    helpers_of,
    is_idle,
    last_checkpoint,
    let_go,
    list_of,
    longest_of,
    migrate,
    offer_at,
    rescue_task_at,
    rescue_vm_at,
    scratch_of,
    set_trigger,
    sketch_at,
    span_of,
    start_vm,
    steal,
    task_at,
    tasks_of,
    vm_at,
    waiting_of,
    work_at,
)

_BURST_PERIOD_S = 60

# Columns of a sketch: a VM as it would be with the tasks that are assigned to it; see `_Estimate`.
_VM, _OFFER, _ZERO, _LONGEST, _SPARE = range(SKETCH)
_FREE = SKETCH


# ----------------------------------------------------------------- where a task may go


@compiled_part
def _may_take(
    r: Any, first_s: int, end_s: int, zero_s: int, spare: int, longest_s: int, duration_s: int, runtime_s: int
) -> bool:
    """Whether a VM may take a task; see `start_in_time_s`."""
    left_s = r.deadline_s - zero_s - max(first_s + duration_s, end_s)
    if spare:
        left_s -= max(longest_s, runtime_s) + r.overhead_s + 1
    return left_s >= 0


@compiled_part
def _may_migrate(r: Any, v: int, task: int, saved: float, mode: int, spare_all: int) -> bool:
    """Whether a task may go to a VM that is there (HADS Algorithm 7)."""
    vm = vm_at(r, v)
    group = task_at(r, task).group
    duration_s = duration_of(r, group, vm.offer, mode, saved)
    if duration_s >= NEVER:
        return False
    spare = vm.spot or spare_all
    longest_s = longest_of(r, v) if spare else 0
    first_s, _, end_s = span_of(r, v)
    runtime_s = work_at(r, group, vm.offer).runtime_s
    return _may_take(r, first_s, end_s, vm.zero_s, spare, longest_s, duration_s, runtime_s)


@compiled_part
def _saved_now(r: Any, v: int, task: int) -> float:
    """Fraction of a task that is saved if it leaves a VM r."""
    return last_checkpoint(r, v, task, NONE)[0]


# ------------------------------------------------------------------------ migrations


@inlined_part
def _list_targets(r: Any, to_burstable: int) -> tuple[int, int]:
    """List the VMs that run, idle ones and busy ones, spot before on-demand, each by price; see `Targets`."""
    by_price, free, busy = list_of(r, BY_PRICE), list_of(r, L_FREE), list_of(r, L_BUSY)
    n_free = n_busy = 0
    for spot in (1, 0):
        for position in range(r.n_by_price):
            v = by_price[position]
            vm = vm_at(r, v)
            if vm.spot != spot or not alive(r, v):
                continue
            if vm.n_left == 0:
                if vm.state == RUNNING and (to_burstable or not vm.burstable):
                    free[n_free] = v
                    n_free += 1
            elif not vm.burstable:
                busy[n_busy] = v
                n_busy += 1
    return n_free, n_busy


@compiled_part
def _insert_busy(r: Any, v: int, n_busy: int) -> int:
    """Add a VM to the busy ones; return where."""
    busy, vm = list_of(r, L_BUSY), vm_at(r, v)
    price = offer_at(r, vm.offer).usd_per_hour
    place = n_busy
    while place:
        k = busy[place - 1]
        other = vm_at(r, k)
        other_price = offer_at(r, other.offer).usd_per_hour
        after = other.spot < vm.spot or (
            other.spot == vm.spot and (other_price > price or (other_price == price and k > v))
        )
        if not after:
            break
        busy[place] = k
        place -= 1
    busy[place] = v
    return place


@compiled_part
def _migrate_tasks(r: Any, source: int, n_tasks: int, to_burstable: int, spare_all: int, burst_first: int) -> None:
    """Migrate the tasks in the first scratch row (HADS Algorithm 6, Burst-HADS Algorithm 4); see `migrate_tasks`."""
    tasks, left = scratch_of(r, S_TASKS), scratch_of(r, S_LEFT)
    free, busy, asked_idle = list_of(r, L_FREE), list_of(r, L_BUSY), asked_of(r, 0)
    asked_busy = asked_of(r, 1)
    n_free, n_busy = _list_targets(r, to_burstable)
    n_left = 0
    asked_idle[:] = 0
    asked_busy[:] = 0
    for k in range(n_tasks):
        task = tasks[k]
        group = task_at(r, task).group
        saved = _saved_now(r, source, task)
        if burst_first and _to_idle_burstable(r, source, task, saved):
            continue
        placed = False
        # What has turned down a whole task turns down each that is like it: VMs only fill up.
        whole_task = saved == 0.0
        place = asked_idle[group] if whole_task else 0
        while place < n_free:
            v = free[place]
            if is_idle(r, v) and _may_migrate(r, v, task, saved, offer_at(r, vm_at(r, v).offer).sustained, spare_all):
                migrate(r, task, source, v, offer_at(r, vm_at(r, v).offer).sustained)
                for other in range(place, n_free - 1):
                    free[other] = free[other + 1]
                n_free -= 1
                for other in range(r.n_groups):
                    if asked_idle[other] > place:
                        asked_idle[other] -= 1
                if not vm_at(r, v).burstable:
                    position = _insert_busy(r, v, n_busy)
                    n_busy += 1
                    for other in range(r.n_groups):
                        asked_busy[other] = min(asked_busy[other], position)
                placed = True
                break
            place += 1
        if whole_task:
            asked_idle[group] = place
        if placed:
            continue
        place = asked_busy[group] if whole_task else 0
        while place < n_busy:
            v = busy[place]
            if _may_migrate(r, v, task, saved, offer_at(r, vm_at(r, v).offer).sustained, spare_all):
                migrate(r, task, source, v, offer_at(r, vm_at(r, v).offer).sustained)
                placed = True
                break
            place += 1
        if whole_task:
            asked_busy[group] = place
        if placed:
            continue
        v = _to_new_vm(r, source, task, saved)
        if v == NONE:
            left[n_left] = task
            n_left += 1
        else:
            position = _insert_busy(r, v, n_busy)
            n_busy += 1
            for other in range(r.n_groups):
                asked_busy[other] = min(asked_busy[other], position)
        if r.why:
            return
    if n_left:
        n = _list_places(r)
        _migrate_anyway(r, source, left, n_left, n)


@inlined_part
def _to_new_vm(r: Any, source: int, task: int, saved: float) -> int:
    """Migrate a task to a new on-demand VM, the cheapest that ends it in time; `NONE` if there is none."""
    now_s = r.now_s
    for k in range(r.n_cheapest):
        offer = cheapest_at(r, k)
        duration_s = duration_of(r, task_at(r, task).group, offer, FULL_SPEED, saved)
        if now_s + duration_s + r.overhead_s <= r.deadline_s and can_start(r, offer, 0, 0):
            v = start_vm(r, offer)
            if v != NONE:
                migrate(r, task, source, v, FULL_SPEED)
            return v
    return NONE


@compiled_part
def _list_places(r: Any) -> int:
    """List where tasks could go at a moment; see `Places`. Return how many there are."""
    by_price, places = list_of(r, BY_PRICE), list_of(r, L_VM)
    n = 0
    for position in range(r.n_by_price):
        v = by_price[position]
        if alive(r, v) and (not vm_at(r, v).burstable or is_idle(r, v)):
            places[n] = v
            n += 1
    return n


@compiled_part
def _migrate_anyway(r: Any, source: int, tasks: Any, n_tasks: int, n_places: int) -> int:
    """Migrate tasks to where they end first; return how many places there are then. See `migrate_anyway`."""
    places = list_of(r, L_VM)
    left = 0
    for k in range(n_tasks):
        task = tasks[k]
        saved = _saved_now(r, source, task)
        group = task_at(r, task).group
        best_s, best_spot, best, best_offer = NEVER, 2, NONE, NONE
        for place in range(n_places):
            v = places[place]
            vm = vm_at(r, v)
            if vm.burstable and vm.n_left:
                continue
            duration_s = duration_of(r, group, vm.offer, offer_at(r, vm.offer).sustained, saved)
            if duration_s >= NEVER:
                continue
            end_s = vm.zero_s + span_of(r, v)[0] + duration_s
            if best == NONE or (end_s, vm.spot, v) < (best_s, best_spot, best):
                best_s, best_spot, best = end_s, vm.spot, v
        number = best
        for position in range(r.n_cheapest):
            offer = cheapest_at(r, position)
            duration_s = duration_of(r, group, offer, FULL_SPEED, saved)
            if duration_s < NEVER and can_start(r, offer, 0, 0):
                end_s = r.now_s + r.overhead_s + duration_s
                if number == NONE or (end_s, 0, r.n_vms + offer) < (best_s, best_spot, number):
                    best_s, best_spot, number, best_offer = end_s, 0, r.n_vms + offer, offer
        if number == NONE:
            left += 1
            continue
        if best_offer != NONE:
            best = start_vm(r, best_offer)
            if best == NONE:
                return n_places
            places[n_places] = best
            n_places += 1
        migrate(r, task, source, best, offer_at(r, vm_at(r, best).offer).sustained)
    if left:
        vm_at(r, source).stranded = 1
        r.stranded = 1
    return n_places


@compiled_part
def _retry_stranded(r: Any) -> None:
    """Try again to place the tasks that have stayed on interrupted VMs because nothing could take them."""
    if not r.stranded:
        return
    r.stranded = 0
    n_places = _list_places(r)
    for v in range(r.n_vms):
        if vm_at(r, v).stranded and gives_tasks(r, v):
            vm_at(r, v).stranded = 0
            n = tasks_of(r, v)
            n_places = _migrate_anyway(r, v, scratch_of(r, S_TASKS), n, n_places)
            if r.why:
                return


@compiled_part
def _tasks_to_leave(r: Any, v: int) -> int:
    """Keep of the tasks in the first scratch row those that gain nothing by staying; how many. See `tasks_to_leave`."""
    vm, tasks = vm_at(r, v), scratch_of(r, S_TASKS)
    n, kept = tasks_of(r, v), 0
    for k in range(n):
        task = tasks[k]
        run = task_at(r, task)
        if run.running and vm.drains_until_s != NONE:
            if vm.state == RUNNING and vm.zero_s + run.end_s <= vm.drains_until_s:
                stays = 1.0
            else:
                stays = last_checkpoint(r, v, task, vm.drains_until_s)[0]
            if stays > _saved_now(r, v, task):
                continue
        tasks[kept] = task
        kept += 1
    return kept


# ------------------------------------------------------------------------- stealing


@compiled_part
def _steal(r: Any, thief: int, spare_all: int) -> None:
    """Let an idle VM steal from regular VMs that execute tasks (HADS Algorithm 8); see `stealing.steal`."""
    r.steal_attempts += 1
    stolen = _stolen(r, thief, spare_all)
    if stolen:
        r.steals += 1


@inlined_part
def _stolen(r: Any, thief: int, spare_all: int) -> int:
    now_s, cycle_s = r.now_s, r.cycle_s
    by_price = list_of(r, BY_PRICE)
    mode = offer_at(r, vm_at(r, thief).offer).sustained
    out = scratch_of(r, S_LEFT)
    stolen = 0
    for spot in (0, 1):
        for position in range(r.n_by_price):
            v = by_price[position]
            vm = vm_at(r, v)
            if vm.spot != spot or vm.n_left <= 1 or v == thief or vm.burstable:
                continue
            uptime_s = now_s - vm.zero_s
            last_s, executing = NONE, False
            for core in range(vm.vcpus):
                slot = core_at(r, v, core)
                if slot.last != NONE:
                    last_s = max(last_s, task_at(r, slot.last).start_s)
                executing |= slot.running != NONE
            # Halted VMs have no tasks that may be stolen: they do not execute.
            if not executing or vm.state != RUNNING or last_s - uptime_s < cycle_s - uptime_s % cycle_s:
                continue
            cycle_end_s = (max(uptime_s, 0) // cycle_s + 1) * cycle_s
            n = waiting_of(r, v, out, 0)
            for k in range(n):
                task = out[k]
                if task_at(r, task).start_s < cycle_end_s:
                    continue
                if _may_migrate(r, thief, task, task_at(r, task).saved, mode, spare_all):
                    steal(r, task, v, thief, mode)
                    stolen += 1
                    if vm_at(r, thief).burstable:
                        return stolen
    return stolen


# ----------------------------------------------------------------------------- HADS


@inlined_part
def _estimate(r: Any, v: int, spare_all: int) -> int:
    """When the tasks of a hibernated VM would have ended elsewhere (HADS Algorithm 4); its helpers are set."""
    tasks = scratch_of(r, S_TASKS)
    n_tasks = tasks_of(r, v)
    by_price, others = list_of(r, BY_PRICE), list_of(r, L_FREE)
    helpers = helpers_of(r, v)
    helpers[:] = 0
    n_others = 0
    for busy in (False, True):
        for position in range(r.n_by_price):
            k = by_price[position]
            if k == v or not alive(r, k) or (vm_at(r, k).n_left > 0) != busy:
                continue
            if vm_at(r, k).burstable and (busy or not is_idle(r, k)):
                continue
            others[n_others] = k
            n_others += 1
    r.n_chosen = 0
    asked = asked_of(r, 0)
    asked[:] = 0
    latest_s = r.now_s
    for k in range(n_tasks):
        task = tasks[k]
        latest_s = max(latest_s, _sketched_end(r, v, task, others, n_others, asked, spare_all))
        if r.why:
            return latest_s
    return latest_s


@compiled_part
def _sketched_end(r: Any, v: int, task: int, others: Any, n_others: int, asked: Any, spare_all: int) -> int:
    """Assign a task to the first VM that may take it, or to a new one; return when it ends. See `_Estimate.end_s`."""
    chosen = list_of(r, L_CHOSEN)
    group = task_at(r, task).group
    saved = _saved_now(r, v, task)
    for k in range(r.n_chosen):
        sketch = sketch_at(r, chosen[k])
        offer = sketch[_OFFER]
        if offer_at(r, offer).burstable:
            continue
        duration_s = duration_of(r, group, offer, offer_at(r, offer).sustained, saved)
        if duration_s < NEVER and _sketch_takes(r, sketch, task, duration_s):
            return _assign(r, sketch, group, duration_s)
    whole_task = saved == 0.0
    place = asked[group] if whole_task else 0
    while place < n_others:
        other = others[place]
        vm = vm_at(r, other)
        mode = offer_at(r, vm.offer).sustained
        if not helpers_of(r, v)[other] and _may_migrate(r, other, task, saved, mode, spare_all):
            if whole_task:
                asked[group] = place
            helpers_of(r, v)[other] = 1
            spare = vm.spot or spare_all
            sketch = _sketch(r, other, vm.offer, vm.zero_s, longest_of(r, other) if spare else 0, spare)
            from_s = earliest_uptime(r, other)
            for core in range(vm.vcpus):
                sketch[_FREE + core] = core_free(r, other, core, from_s)
            return _assign(r, sketch, group, duration_of(r, group, vm.offer, mode, saved))
        place += 1
    if whole_task:
        asked[group] = n_others
    for position in range(r.n_cheapest):
        offer = cheapest_at(r, position)
        duration_s = duration_of(r, group, offer, FULL_SPEED, saved)
        new = of_offer = 0
        for k in range(r.n_chosen):
            if sketch_at(r, chosen[k])[_VM] == NONE:
                new += 1
                of_offer += sketch_at(r, chosen[k])[_OFFER] == offer
        if duration_s >= NEVER or not can_start(r, offer, new, of_offer):
            continue
        runtime_s = work_at(r, group, offer).runtime_s
        if _may_take(r, 0, 0, r.now_s, spare_all, 0, duration_s, runtime_s):
            if r.n_chosen >= r.most_vms:
                r.why = TOO_MANY_VMS
                return r.now_s
            sketch = _sketch(r, NONE, offer, r.now_s, 0, spare_all)
            sketch[_FREE : _FREE + offer_at(r, offer).vcpus] = 0
            return _assign(r, sketch, group, duration_s)
    shortest_s = NEVER
    for position in range(r.n_cheapest):
        offer = cheapest_at(r, position)
        shortest_s = min(shortest_s, duration_of(r, group, offer, FULL_SPEED, saved))
    if shortest_s >= NEVER:
        for offer in range(r.n_offers):
            shortest_s = min(shortest_s, duration_of(r, group, offer, offer_at(r, offer).sustained, saved))
    return r.now_s + shortest_s


@compiled_part
def _sketch(r: Any, v: int, offer: int, zero_s: int, longest_s: int, spare: int) -> Any:
    """Choose a VM: those chosen are kept by price, the one that comes later after others of its price."""
    chosen = list_of(r, L_CHOSEN)
    number = r.n_chosen + 1  # the first sketch has another use
    place = r.n_chosen
    price = offer_at(r, offer).usd_per_hour
    while place and offer_at(r, sketch_at(r, chosen[place - 1])[_OFFER]).usd_per_hour > price:
        chosen[place] = chosen[place - 1]
        place -= 1
    chosen[place] = number
    r.n_chosen += 1
    sketch = sketch_at(r, number)
    sketch[_VM], sketch[_OFFER], sketch[_ZERO], sketch[_LONGEST], sketch[_SPARE] = v, offer, zero_s, longest_s, spare
    return sketch


@compiled_part
def _sketch_takes(r: Any, sketch: Any, task: int, duration_s: int) -> bool:
    """Whether a VM may take a task with what is assigned to it already."""
    first_s, end_s = NEVER, 0
    for core in range(offer_at(r, sketch[_OFFER]).vcpus):
        first_s = min(first_s, sketch[_FREE + core])
        end_s = max(end_s, sketch[_FREE + core])
    runtime_s = work_at(r, task_at(r, task).group, sketch[_OFFER]).runtime_s
    return _may_take(r, first_s, end_s, sketch[_ZERO], sketch[_SPARE], sketch[_LONGEST], duration_s, runtime_s)


@compiled_part
def _assign(r: Any, sketch: Any, group: int, duration_s: int) -> int:
    """Assign a task; return when it ends."""
    first_s, which = NEVER, 0
    for core in range(offer_at(r, sketch[_OFFER]).vcpus):
        if sketch[_FREE + core] < first_s:
            first_s, which = sketch[_FREE + core], core
    sketch[_FREE + which] = first_s + duration_s
    sketch[_LONGEST] = max(sketch[_LONGEST], work_at(r, group, sketch[_OFFER]).runtime_s)
    return sketch[_ZERO] + first_s + duration_s


@compiled_part
def _aim(r: Any, v: int, at_latest_s: int) -> None:
    """Set the migration trigger of a VM (eq. 4)."""
    now_s = r.now_s
    duration_s = _estimate(r, v, r.spare_all) - now_s
    set_trigger(r, v, min(r.deadline_s - (duration_s + r.overhead_s), at_latest_s))


@compiled_part
def _count_anew(r: Any, gone: int) -> None:
    """Compute the triggers anew that had counted on a VM."""
    if r.recompute:
        for v in range(r.n_vms):
            if vm_at(r, v).trigger_s != NONE and helpers_of(r, v)[gone]:
                _aim(r, v, vm_at(r, v).trigger_s)


@compiled_part
def _migrate_all(r: Any, v: int, n_tasks: int) -> None:
    if n_tasks:
        _migrate_tasks(r, v, n_tasks, 1, r.spare_all, 0)


# ----------------------------------------------------------------------- Burst-HADS


@compiled_part
def _migrate_by_rank(r: Any, v: int, n_tasks: int) -> None:
    """Migrate tasks, those with checkpoints first, then others that ran, then those that wait (Algorithm 4)."""
    tasks = scratch_of(r, S_TASKS)
    for k in range(n_tasks):
        run = task_at(r, tasks[k])
        saved = _saved_now(r, v, tasks[k])
        run.rank = int(saved == 0.0) if run.running else 2
        run.weight = -(1.0 - saved) * work_at(r, run.group, vm_at(r, v).offer).runtime_s
        run.tie = tasks[k]
    _sort_tasks(r, tasks, n_tasks)
    _migrate_tasks(r, v, n_tasks, 0, 0, 1)


@compiled_part
def _sort_tasks(r: Any, tasks: Any, n_tasks: int) -> None:
    """Sort tasks by rank, weight and tie."""
    gap = 1
    while gap < n_tasks // 3:
        gap = 3 * gap + 1
    while gap:
        for k in range(gap, n_tasks):
            task = tasks[k]
            place = k
            while place >= gap and _comes_before(task_at(r, task), task_at(r, tasks[place - gap])):
                tasks[place] = tasks[place - gap]
                place -= gap
            tasks[place] = task
        gap //= 3


@compiled_part
def _comes_before(run: Any, other: Any) -> bool:
    if run.rank != other.rank:
        return run.rank < other.rank
    if run.weight != other.weight:
        return run.weight < other.weight
    return run.tie < other.tie


@inlined_part
def _to_idle_burstable(r: Any, source: int, task: int, saved: float) -> bool:
    """Attempt 1: an idle burstable VM with the credits to run the task at full speed (lines 4-15)."""
    for v in range(r.n_vms):
        if not vm_at(r, v).burstable or not is_idle(r, v):
            continue
        duration_s = duration_of(r, task_at(r, task).group, vm_at(r, v).offer, FULL_SPEED, saved)
        if duration_s >= NEVER:
            continue
        if credits_of(r, v) > math.ceil(duration_s / _BURST_PERIOD_S) and _may_migrate(
            r, v, task, saved, FULL_SPEED, 0
        ):
            migrate(r, task, source, v, FULL_SPEED)
            return True
    return False


@compiled_part
def _end_burstable_vms(r: Any) -> None:
    """Terminate idle burstable VMs when no spot VM is left that has tasks or may come back."""
    any_idle = False
    for v in range(r.n_vms):
        if vm_at(r, v).burstable and is_idle(r, v):
            any_idle = True
        if vm_at(r, v).spot and (vm_at(r, v).n_left or halted(r, v)):
            return
    if any_idle:
        for v in range(r.n_vms):
            if vm_at(r, v).burstable and is_idle(r, v):
                let_go(r, v)


# --------------------------------------------------------------------------- rescue


@compiled_part
def _answer(r: Any, v: int) -> None:
    """Rescue the tasks that VMs lose, this one and all others; see `Rescue`."""
    if vm_at(r, v).n_left == 0:
        _end_halted(r, v)
    else:
        _rescue(r)


@compiled_part
def _rescue(r: Any) -> None:
    """Rescue the tasks of all VMs that give them, as planned the first time."""
    types = 0
    for v in range(r.n_vms):
        if vm_at(r, v).n_left and gives_tasks(r, v):
            types |= 1 << offer_at(r, vm_at(r, v).offer).type
    planned = not r.rescue_tried
    r.rescue_tried = 1
    if planned:
        for v in range(r.n_vms):
            vm = vm_at(r, v)
            if vm.spot and vm.n_left and not gives_tasks(r, v) and types & (1 << offer_at(r, vm.offer).type):
                planned = False
    if planned and not r.rescue_known:
        r.why, r.lost_types = NEEDS_RESCUE, types
    elif not planned or not r.rescue_found:
        _to_where_they_end_first(r)
    else:
        _carry_out(r)


@compiled_part
def _carry_out(r: Any) -> None:
    """Request the VMs of a rescue and move the tasks, by their starts."""
    places = list_of(r, L_FREE)
    for k in range(r.n_rescue_vms):
        entry = rescue_vm_at(r, k)
        places[k] = entry.vm
        if entry.vm == NONE:
            if not can_start(r, entry.offer, 0, 0):
                r.why = REFUSED
                return
            places[k] = start_vm(r, entry.offer)
            if places[k] == NONE:
                return
    rows = list_of(r, L_BUSY)
    n = 0
    for v in range(r.n_vms):
        if vm_at(r, v).n_left and gives_tasks(r, v):
            rows[n] = v
            n += 1
    for k in range(r.n_rescue_tasks):
        task = rescue_task_at(r, k).task
        target = places[rescue_task_at(r, k).place]
        if not gives_tasks(r, task_at(r, task).vm) or not alive(r, target):
            r.why = REFUSED
            return
        migrate(r, task, task_at(r, task).vm, target, offer_at(r, vm_at(r, target).offer).sustained)
    for k in range(n):
        _end_halted(r, rows[k])


@compiled_part
def _to_where_they_end_first(r: Any) -> None:
    """Move the tasks of the VMs that give them to where each ends first, longest first."""
    tasks = scratch_of(r, S_TASKS)
    lost = list_of(r, L_BUSY)
    n_lost, n_places = 0, _list_places(r)
    for v in range(r.n_vms):
        if vm_at(r, v).n_left and gives_tasks(r, v):
            lost[n_lost] = v
            n_lost += 1
    for place in range(n_lost):
        v = lost[place]
        n = tasks_of(r, v)
        for k in range(n):
            run = task_at(r, tasks[k])
            run.rank, run.tie = 0, k
            run.weight = -work_at(r, run.group, vm_at(r, v).offer).runtime_s
        _sort_tasks(r, tasks, n)
        n_places = _migrate_anyway(r, v, tasks, n, n_places)
        if r.why:
            return
    for place in range(n_lost):
        _end_halted(r, lost[place])


@compiled_part
def _end_halted(r: Any, v: int) -> None:
    """Terminate a VM that has no task left and waits to come back."""
    if halted(r, v) and vm_at(r, v).n_left == 0:
        let_go(r, v)


# ------------------------------------------------------------------------- handlers


@inlined_part
def idle(r: Any, v: int) -> None:
    """Answer a VM that runs and has no task left."""
    if r.policy == STATIC:
        let_go(r, v)
    elif r.policy == RESCUE:
        _retry_stranded(r)
        if is_idle(r, v):
            let_go(r, v)
    elif r.policy != ON_DEMAND:
        _retry_stranded(r)
        if is_idle(r, v) and (r.policy == BURST_HADS or vm_at(r, v).spot or r.all_steal):
            _steal(r, v, r.spare_all)
        if r.policy == BURST_HADS:
            _end_burstable_vms(r)


@inlined_part
def cycle_ended(r: Any, v: int) -> None:
    """Answer an idle VM that has reached the end of its allocation cycle, or has been idle for long."""
    policy = r.policy
    if policy in (HADS, ON_DEMAND) or (policy == BURST_HADS and not vm_at(r, v).burstable):
        let_go(r, v)


@inlined_part
def noticed(r: Any, v: int) -> None:
    """Answer a VM that has notice of its interruption."""
    policy = r.policy
    if policy == HADS:
        _count_anew(r, v)
        if vm_at(r, v).interruption == TERMINATE:
            _migrate_all(r, v, _tasks_to_leave(r, v))
    elif policy == BURST_HADS:
        _migrate_by_rank(r, v, _tasks_to_leave(r, v))
    elif policy == RESCUE:
        _answer(r, v)


@inlined_part
def hibernated(r: Any, v: int) -> None:
    """Answer a VM that is hibernated or stopped."""
    policy = r.policy
    if policy == STATIC:
        if not vm_at(r, v).n_left:
            let_go(r, v)
    elif policy == HADS:
        _count_anew(r, v)
        if vm_at(r, v).n_left:
            _aim(r, v, NEVER)
    elif policy == BURST_HADS:
        _migrate_by_rank(r, v, tasks_of(r, v))
    elif policy == RESCUE:
        _answer(r, v)


@inlined_part
def lost(r: Any, v: int) -> None:
    """Answer a VM that the cloud has terminated."""
    policy = r.policy
    if policy == HADS:
        _retry_stranded(r)
        _count_anew(r, v)
        _migrate_all(r, v, tasks_of(r, v))
    elif policy == BURST_HADS:
        _retry_stranded(r)
        _migrate_by_rank(r, v, tasks_of(r, v))
        _end_burstable_vms(r)
    elif policy == RESCUE:
        _answer(r, v)


@inlined_part
def trigger_reached(r: Any, v: int) -> None:
    """Answer an interrupted VM whose migration trigger time has come."""
    if r.policy == HADS:
        _migrate_all(r, v, tasks_of(r, v))


@inlined_part
def resumed(r: Any, v: int) -> None:
    """Answer a VM that has resumed, or boots again after it was stopped."""
    if r.policy == RESCUE:
        _retry_stranded(r)
    elif r.policy in (HADS, BURST_HADS):
        _retry_stranded(r)
        if is_idle(r, v):
            _steal(r, v, r.spare_all)
        if r.policy == BURST_HADS:
            _end_burstable_vms(r)


@inlined_part
def terminated(r: Any, v: int) -> None:
    """Answer a VM that the policy has terminated."""
    policy = r.policy
    if policy == HADS:
        _retry_stranded(r)
        _count_anew(r, v)
    elif policy == BURST_HADS:
        _retry_stranded(r)
        _end_burstable_vms(r)
    elif policy == RESCUE:
        _retry_stranded(r)
