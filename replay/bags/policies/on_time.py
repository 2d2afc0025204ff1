"""On time: a rescue on demand is ready for all that is left, and until it must begin, work is where it is cheapest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ....core.capacities import larger
from ....instances.entries import FULL_SPEED, NEVER
from ...engines import HIBERNATED, RUNNING
from ...policies import Rule, Rules
from ..interpreted import push, sort_tasks
from ..rows import FIRST_NEW, LEFT_OUT, NONE, WAKE, Rows, VmRow
from ..rules import (
    can_start,
    comes_before,
    count_rented,
    dump_of,
    duration_of,
    earliest_start,
    end_if_placed,
    is_alive,
    is_halted,
    is_idle,
    let_go,
    may_give,
    migrate,
    paid_until,
    preempt,
    rent_usd,
    span,
    start_vm,
    steal,
    uptime_at,
    usd_per_s,
)
from ..state import RulePolicy
from .migration import add_place, assign, best_place, core_on_sketch, list_places, new_sketch, start_on_sketch
from .on_time_rescue import (
    add_rescuer,
    between_s,
    first_free,
    first_usd_per_s,
    follow,
    in_time,
    insert_open,
    is_lost,
    keep,
    late_chance,
    learn,
    leave_out_closed,
    list_rescuers,
    look,
    moves_before,
    new_latest_s,
    pack_all,
    pack_listed,
    pack_one_type,
    pack_open,
    pack_without,
    price_from,
    rescue_s,
    saves_often,
    sum_up,
    swap,
    takes_rescues,
)

_WAITS_IF_BACK = 0.8
"""Chance that a VM is back before the rescue must begin, from which on its tasks wait for it."""

_ROOM = 0.1
"""Part of the time that is left for which a rescue must be able to wait, for work to leave on-demand VMs."""

_MOMENTS = 6
"""Moments at which a rescue for the sake of its cost is considered."""

_OTHER_PLACE = 0.25
"""Part of the outages after which what waits does not need on-demand VMs any more, for each type that is out."""

_GAIN_S = 20
"""Seconds by which a task must end earlier on another spot VM for it to move there."""

_LISTED = 32
"""Tasks that are listed for a new VM at first, ever twice as many while it takes them all."""


@dataclass(kw_only=True, eq=False)
class OnTime(RulePolicy):
    """Keep a rescue on demand ready for all that is left, and do no more of it than must be done now.

    At all times there is a rescue plan for all tasks that are not on on-demand VMs, each from its last written
    checkpoint: on which core of which on-demand VM, new ones within the limits. Of it follows the latest start of each
    new VM, and of each task. When one has come, that one VM is started, or that one task is moved; all else goes on.
    So no interruption can make the bag late, if there is such a plan when the bag begins and on-demand VMs are to be
    had; where there is none, tasks that were lost come first. Until then, work is done where it is cheapest: what is
    lost goes to other spot VMs, or waits if its VM is likely to be back in time; free cores take what would end
    last; idle VMs end when the time that is paid for does.

    Tasks with dates are kept to their own deadlines in the same way. Each core of the rescue does first what is due
    first, and a core takes a task only if it is released by its latest start there: where only another order would be
    in time, no rescue is found.

    Parameters
    ----------
    waits : bool
        Whether what is lost stays where it is while its VM is likely to be back in time.
    balances : bool
        Whether free cores of spot VMs take what would end last on others.
    spreads : bool
        Whether new spot VMs take what would end last, where that is worth their rent.
    relieves : bool
        Whether work leaves on-demand VMs, also planned work, for cheaper spot VMs; as it runs, if it saves often.
    starts_early : bool
        Whether on-demand VMs start before they must, where that is expected to be cheaper; for tasks that save often,
        once they fall behind the pace of the time.
    ends_idle : bool
        Whether idle VMs end when the time that is paid for does; at the end of their allocation cycle if not.

    Notes
    -----
    Without any of them no day is later: all are about cost. They are options so that each can be left out, to see what
    it brings (``python -m spotbag_papers.bags.on_time --ablation``).
    """

    name = "on-time"
    summary = "keeps a rescue on demand ready for all that is left, and does of it what cannot wait"
    source = "HADS's migration trigger and Uniform Progress's safety net, for many tasks on many VMs"
    asks_for_law: ClassVar[bool] = True
    rules: ClassVar[Rules] = {
        "always-move": Rule({"waits": False}, "what is lost never waits for its VM"),
        "no-balance": Rule({"balances": False}, "free cores of spot VMs take nothing from others"),
        "no-spread": Rule({"spreads": False}, "no new spot VMs for what would end last"),
        "no-relief": Rule({"relieves": False}, "work stays on on-demand VMs"),
        "no-early": Rule({"starts_early": False}, "on-demand VMs start no earlier than they must"),
        "keep-idle": Rule({"ends_idle": False}, "idle VMs end at the end of their allocation cycle"),
    }

    waits: bool = True
    balances: bool = True
    spreads: bool = True
    relieves: bool = True
    starts_early: bool = True
    ends_idle: bool = True

    def row_options(self) -> dict[str, int]:
        """Return the parameters as the rules read them."""
        options = {"waits": self.waits, "balances": self.balances, "spreads": self.spreads}
        options |= {"relieves": self.relieves, "starts_early": self.starts_early, "ends_idle": self.ends_idle}
        return {name: int(value) for name, value in options.items()}


# --------------------------------------------------------------------------- questions


def on_finish(r: Rows, vm: VmRow, task: int) -> None:
    """Use a core that is free on a VM that goes on."""
    # A VM that has nothing left is idle, which is a question of its own in the same second.
    if vm.n_left and is_alive(vm):
        for core in range(vm.vcpus):
            slot = r.cores[vm.index][core]
            if slot.running == NONE and slot.first == NONE:
                answer_once(r)
                return


def on_idle(r: Rows, vm: VmRow) -> None:
    """Look for work for a VM, and end it if there is none."""
    answer_once(r)
    if is_idle(vm):
        end_alone(r, vm, r.ends_idle)


def on_cycle_end(r: Rows, vm: VmRow) -> None:
    """End an idle VM that has been kept."""
    if not r.ends_idle:
        end_alone(r, vm, 1)


def on_notice(r: Rows, vm: VmRow) -> None:
    """Look after what will be lost."""
    answer_once(r)


def on_loss(r: Rows, vm: VmRow) -> None:
    """Look after what is lost, or out for a while."""
    of_type = r.types[r.offers[vm.offer_index].type]
    if not of_type.is_out:
        of_type.is_out, of_type.out_since_s = 1, r.now_s
        r.outages += 1
        r.spread_known = 0
    answer_once(r)


def on_return(r: Rows, vm: VmRow) -> None:
    """Balance the tasks with another VM."""
    count_return(r, r.offers[vm.offer_index].type)
    answer_once(r)


def on_capacity(r: Rows, vm_type: int) -> None:
    """Use a type that is back."""
    count_return(r, vm_type)
    answer(r)


def on_saved(r: Rows, vm: VmRow, task: int) -> None:
    """Have a task leave that has written its checkpoint."""
    # The mark stays for this answer: the checkpoint is written, so the pace of the time is not asked once more.
    answer(r)
    r.standby[task].leaving = 0


def count_return(r: Rows, vm_type: int) -> None:
    """Count a type that is back, if it was out."""
    of_type = r.types[vm_type]
    # What new VMs are worth depends on the types that there are: it is to be found anew.
    r.spread_known = 0
    if of_type.is_out:
        of_type.is_out = 0
        r.returns += 1
        r.out_s += r.now_s - of_type.out_since_s


# --------------------------------------------------------------------------- decisions


def answer_once(r: Rows) -> None:
    """Answer the events of this moment, once for all VMs."""
    # Notices are not among the events that are counted, so VMs that drain are.
    draining = 0
    for v in range(r.n_vms):
        draining += r.vms[v].gone_s != NONE
    if r.answered_s == r.now_s and r.answered_events == r.events_handled and r.answered_draining == draining:
        return
    answer(r)
    r.answered_s, r.answered_events, r.answered_draining = r.now_s, r.events_handled, draining


def answer(r: Rows) -> None:
    """Decide."""
    lost = look(r)
    renew(r)
    again_s = r.deadline_s
    if lost:
        again_s = min(again_s, to_spot(r))
    if r.balances:
        balance(r)
    if r.relieves and r.covered:
        again_s = min(again_s, relieve(r))
    if lost:
        fill(r, 0)
        if r.starts_early:
            again_s = min(again_s, early(r))
    if r.spreads:
        spread_all(r)
    # Last, so that no VM ends that the decisions above have just given work.
    for v in range(r.n_vms):
        again_s = min(again_s, end_unused(r, r.vms[v], r.ends_idle))
    secure(r)
    wake(r, again_s)


def end_alone(r: Rows, vm: VmRow, idle: int) -> None:
    """End a VM that nothing needs, if the rescue can do without it."""
    look(r)
    again_s = end_unused(r, vm, idle)
    secure(r)
    wake(r, again_s)


def wake(r: Rows, again_s: int) -> None:
    """Be asked again at a time, or when the rescue must begin."""
    time_s = min(again_s, r.standby_latest_s)
    # Calls are never taken back: where one comes earlier, its answer asks for the next.
    if r.now_s < time_s < r.deadline_s and not r.now_s < r.wake_s <= time_s:
        push(r, time_s, WAKE, 0, 0, 0)
        r.wake_s = time_s


# -------------------------------------------------------------------------- the rescue


def renew(r: Rows) -> None:
    """Keep the rescue, or take one that may begin later."""
    follow(r)
    # Of what can be packed, only a rescue is of use that may begin later than the one at hand.
    due_s, left_out = pack_all(r, max(r.standby_latest_s + 1, r.now_s) if r.covered else r.now_s)
    if left_out == 0 and (r.covered or in_time(r)):
        keep(r, due_s)
        r.covered = 1
    elif not r.covered:
        keep(r, pack_one_type(r))
    if r.covered and r.first_slack_s == NONE and r.n_open:
        r.first_slack_s = from_the_start(r, r.standby_latest_s - r.now_s)


def from_the_start(r: Rows, slack_s: int) -> int:
    """Seconds for which a rescue could have waited at first, if it has been in step with the time until now."""
    return slack_s * r.deadline_s // (r.deadline_s - r.now_s)


def secure(r: Rows) -> None:
    """Begin the parts of the rescue that cannot wait any more."""
    # Each round begins one part, after which the others may be able to wait again.
    while r.n_open:
        follow(r)
        if r.covered and r.standby_latest_s > r.now_s:
            return
        renew(r)
        if r.standby_latest_s > r.now_s or not begin(r):
            do_best(r)
            return
    if not r.n_open:
        r.n_standby_vms, r.standby_latest_s = 0, r.deadline_s
        r.covered = int(r.covered or in_time(r))


def begin(r: Rows) -> bool:
    """Start the VM, or move the task, that cannot wait any more; False if there is none."""
    if not r.standby_followed:
        sum_up(r)
    for place in range(r.n_standby_vms):
        new = r.standby_vms[place]
        if new.longest_s and new_latest_s(r, new) <= r.now_s and can_start(r, r.offers[new.offer]):
            v = start(r, new.offer)
            # Its tasks wait where they are until their own latest start on the VM, which may never come.
            new.longest_s = 0
            for k in range(r.n_open):
                if r.standby[r.open_tasks[k]].vm == FIRST_NEW - place:
                    r.standby[r.open_tasks[k]].vm = v
            return True
    for v in range(r.n_vms):
        vm = r.vms[v]
        for core in range(0 if vm.spot else vm.vcpus):
            work_s = r.cores[v][core].standby_s
            if work_s and r.deadline_s - work_s <= r.now_s:
                task = first_to_move(r, v, core)
                move(r, task, vm, 0)
                # List scheduling chooses the core: where it is another one, the two change the work that they are to
                # do.
                if r.tasks[task].core != core:
                    swap(r, v, core, r.tasks[task].core)
                return True
    return False


def first_to_move(r: Rows, v: int, core: int) -> int:
    """Return the task that is the cheapest to move of those that a rescue has for a core."""
    best = NONE
    for k in range(r.n_open):
        task = r.open_tasks[k]
        entry = r.standby[task]
        if entry.vm == v and entry.core == core and (best == NONE or moves_before(r, task, best)):
            best = task
    return best


def do_best(r: Rows) -> None:
    """Move lost tasks without a place in any rescue to where they end first, longest tasks first."""
    n = 0
    for k in range(r.n_open):
        task = r.open_tasks[k]
        source = r.vms[r.tasks[task].vm]
        # What still runs on a VM that drains may end there.
        if r.standby[task].vm == LEFT_OUT and may_give(source) and source.gone_s == NONE:
            r.left[n] = task
            n += 1
    if n:
        list_places(r)
    for k in range(n):
        task = r.left[k]
        end_s, place = best_place(r, r.tasks[task].group, r.standby[task].saved)
        if place >= r.n_vms:
            place = start(r, place - r.n_vms)
            add_place(r, r.vms[place])
        if place != NONE:
            move(r, task, r.vms[place], int(end_s > r.groups[r.tasks[task].group].due_s))


# --------------------------------------------------------------- decisions, carried out


def start(r: Rows, offer: int) -> int:
    """Request a VM."""
    # Another VM that rescues may use: what was listed of them is no longer all.
    if not r.offers[offer].spot:
        r.rescuers_known = r.standby_followed = 0
    return start_vm(r, offer)


def end(r: Rows, vm: VmRow) -> None:
    """Terminate a VM without tasks."""
    if not vm.spot:
        r.rescuers_known = r.standby_followed = 0
    # One more of an offer that was used up can be started then, and may be worth its rent.
    elif not can_start(r, r.offers[vm.offer_index]):
        r.spread_known = 0
    let_go(r, vm)


def move(r: Rows, task: int, target: VmRow, late: int) -> None:
    """Move an unfinished task, whatever it does, with what is saved of it."""
    run, mode = r.tasks[task], r.offers[target.offer_index].sustained
    source = r.vms[run.vm]
    # Tasks that move among spot VMs which go on end no later: no new VM is worth more by that.
    if may_give(source) or not source.spot:
        r.spread_known = 0
    if may_give(source):
        migrate(r, task, source, target, mode, late)
    else:
        if run.running:
            # Only what waits can be taken away.
            preempt(r, task, source, int(saves_at_once(r, source, task)))
        steal(r, task, source, target, mode)
    if not (source.spot and target.spot):
        r.rescuers_known = 0
    r.standby_followed = 0
    if not target.spot:
        leave_out_closed(r)
        return
    learn(r, task, run.saved)
    if not r.standby[task].listed:
        leave_out_closed(r)
        r.listed[0] = task
        insert_open(r, 1)


def saves_at_once(r: Rows, vm: VmRow, task: int) -> bool:
    """Return True if a task of an on-demand VM loses nothing if it leaves in this second."""
    run = r.tasks[task]
    return not vm.spot and saves_often(r, task) and dump_of(r, run.group, vm.offer_index, run.mode) == 0


# ----------------------------------------------------------------------- what is cheap


def rates(r: Rows) -> tuple[float, float]:
    """Interruptions of a VM, and returns, for each second; as known, or by what has happened so far."""
    if r.knows_rates:
        return r.interrupted_per_s, r.back_per_s
    types, out_s = 0, r.out_s
    for k in range(len(r.types)):
        types += r.types[k].first != NONE
        if r.types[k].is_out:
            out_s += r.now_s - r.types[k].out_since_s
    # As if one outage and one return had been seen before, in half the time of the bag: few events say little.
    half_s, up_s = r.deadline_s / 2, max(types * r.now_s - out_s, 0)
    return (1 + r.outages) / (half_s + up_s), (1 + r.returns) / (half_s + out_s)


def to_spot(r: Rows) -> int:
    """Move lost tasks to spot VMs, unless they are likely to go on in time; return when that is less likely."""
    _, back = rates(r)
    # Returns that come at random: in so long, the VM is back with that chance.
    patience_s = -math.log(1 - _WAITS_IF_BACK) / back if back > 0 else math.inf
    again_s = r.deadline_s
    waits = r.waits == 1 and r.standby_latest_s - r.now_s > patience_s
    if waits:
        again_s = r.standby_latest_s - math.floor(patience_s)
    n = list_lost_tasks(r, 0, r.left)
    for k in range(n):
        if not (waits and is_halted(r.vms[r.tasks[r.left[k]].vm])):
            to_best_spot(r, r.left[k])
    return again_s


def list_lost_tasks(r: Rows, often: int, out: list[int]) -> int:
    """List lost tasks, longest first, or only those that save often; return their number."""
    n = 0
    for k in range(r.n_open):
        if is_lost(r, r.open_tasks[k]) and (saves_often(r, r.open_tasks[k]) or not often):
            out[n] = r.open_tasks[k]
            n += 1
    return n


def to_best_spot(r: Rows, task: int) -> None:
    """Move a lost task to the spot VM where it is cheapest, if there is one."""
    _, place = best_spot(r, task, r.standby[task].saved, r.standby_latest_s, 0)
    move_to(r, task, place)


def move_to(r: Rows, task: int, place: int) -> None:
    """Move a task to a VM, or to a new one of an offer, which is given behind all VMs; nowhere if it is `NONE`."""
    if place >= r.n_vms:
        place = start(r, place - r.n_vms)
    if place != NONE:
        move(r, task, r.vms[place], 0)


def best_spot(r: Rows, task: int, saved: float, latest_s: int, with_others: int) -> tuple[float, int]:
    """Return the cost of a task on the spot VM where it is cheapest, with that of its next loss; and which VM it is.

    Behind all VMs the offer of a new one; `NONE` if it ends in time on none. ``with_others`` says that others follow,
    which share the rent of a VM.
    """
    group = r.tasks[task].group
    ready_s, due_s = r.groups[group].ready_s, r.groups[group].due_s
    until_s = min(latest_s, due_s) if r.covered else due_s
    if saves_often(r, task) and r.now_s + r.start_overhead_s + between_s(r, task) < until_s:
        until_s = due_s  # what runs is saved, and puts the rescue off
    best, least = NONE, math.inf
    r.stamp += 1
    for v in range(r.n_vms):
        vm = r.vms[v]
        if not takes_work(vm) or vm.disordered:  # what waits there moves up before more is appended
            continue
        offer = r.offers[vm.offer_index]
        # The VMs of an offer take equally long: that is found out once for all of them.
        if offer.stamp != r.stamp:
            offer.stamp = r.stamp
            offer.least_duration_s = duration_of(r, group, vm.offer_index, FULL_SPEED, saved)
        duration_s = offer.least_duration_s
        if duration_s >= NEVER:
            continue
        span(r, vm)
        start_s = max(vm.free_s, ready_s - vm.zero_s)
        if vm.most_kb != NONE:
            start_s = earliest_start(r, vm, r.groups[group].memory_kb, duration_s, ready_s - vm.zero_s)
        end_s = vm.zero_s + start_s + duration_s
        if start_s == NONE or end_s > until_s:
            continue
        if with_others:
            usd = duration_s * usd_per_s(r, vm.offer_index) / vm.vcpus
        else:
            usd = max(end_s - max(vm.zero_s + vm.ends_s, r.now_s), 0) * usd_per_s(r, vm.offer_index)
        # A risk only adds to the cost, and takes long to find: it is asked of places that are the best without it.
        if usd < least:
            usd += risk_usd(r, task, latest_s, end_s, duration_s)
            if usd < least:
                best, least = v, usd
    for index in range(r.n_offers):
        offer = r.offers[index]
        if not offer.spot or offer.bursts or not can_start(r, offer):
            continue
        duration_s = duration_of(r, group, index, FULL_SPEED, saved)
        end_s = max(r.now_s + r.start_overhead_s, ready_s) + duration_s
        if duration_s >= NEVER or end_s > until_s:
            continue
        usd = rent_usd(r, index, end_s - r.now_s - r.boot_overhead_s)
        if with_others:
            usd /= offer.vcpus
        if usd < least:
            usd += risk_usd(r, task, latest_s, end_s, duration_s)
            if usd < least:
                best, least = r.n_vms + index, usd
    return least, best


def risk_usd(r: Rows, task: int, latest_s: int, end_s: int, duration_s: int) -> float:
    """Return the expected cost of the next loss of a task that ends at some moment on a spot VM."""
    interrupted, back = rates(r)
    lost_s = float(duration_s)
    if r.takes_checkpoints:
        lost_s = min(lost_s, r.groups[r.tasks[task].group].interval_s)
    chance = (1 - math.exp(-interrupted * (end_s - r.now_s))) * math.exp(-back * max(latest_s - end_s, 0))
    return chance * (lost_s + r.start_overhead_s) * r.rescue_usd_per_s


def balance(r: Rows) -> None:
    """Let free cores of spot VMs take what would end last elsewhere."""
    last, known = NONE, False
    for v in range(r.n_vms):
        thief = r.vms[v]
        while takes_work(thief) and thief.state == RUNNING:
            span(r, thief)
            if thief.free_s > uptime_at(thief, r.now_s):
                break
            if not known:
                last, known = last_to_end(r, NONE), True
            task = last if last == NONE or r.tasks[last].vm != v else last_to_end(r, v)
            if task == NONE:
                break
            run = r.tasks[task]
            end_s = r.vms[run.vm].zero_s + run.end_s
            if end_if_placed(r, thief, run.group, FULL_SPEED, run.saved) > end_s - _GAIN_S:
                break
            move(r, task, thief, 0)
            known = False


def spread_all(r: Rows) -> None:
    """Start spot VMs for what would end last, while they are worth their rent.

    What is worth it is found at once: as time passes, what would end last ends no later, and a new VM does.
    """
    interrupted, back = rates(r)
    going_on = not r.spread_known
    while going_on:
        offer, n = spread(r, interrupted, back)
        if offer == NONE:
            r.spread_known = 1
            return
        v = start(r, offer)
        going_on = False
        for k in range(n):
            run = r.tasks[r.left[k]]
            end_s = r.vms[run.vm].zero_s + run.end_s
            # The VM as it is may take fewer than its sketch did: moves of before have changed what it has.
            sooner_s = end_if_placed(r, r.vms[v], run.group, FULL_SPEED, r.standby[r.left[k]].saved)
            if sooner_s > end_s - _GAIN_S:
                break
            move(r, r.left[k], r.vms[v], 0)
            going_on = True


# ------------------------------------------------------------------------------ relief


def relieve(r: Rows) -> int:
    """Move to spot VMs what waits on on-demand VMs, or has just started there, while it can all be rescued.

    What runs, too, if it saves often, and is ahead of the pace of the time; return when that may be.
    """
    n, again_s = 0, r.deadline_s
    for v in range(r.n_vms):  # the dearest first
        vm = r.vms[v]
        if vm.spot or vm.most_kb != NONE or not is_alive(vm):
            continue
        usd, place = first_usd_per_s(r, vm.offer_index), n
        while place:
            other = r.vms[r.busy_vms[place - 1]]
            if first_usd_per_s(r, other.offer_index) >= usd:
                break
            r.busy_vms[place] = other.index
            place -= 1
        r.busy_vms[place] = v
        n += 1
    for k in range(n):
        vm = r.vms[r.busy_vms[k]]
        while vm.n_left:
            moved, time_s = relieve_one(r, vm)
            if not moved:
                again_s = min(again_s, time_s)
                break
    return again_s


def relieve_one(r: Rows, vm: VmRow) -> tuple[bool, int]:
    """Move the last task of an on-demand VM to a spot VM, if that is cheaper; if not, return when to ask again."""
    task = last_task(r, vm)
    if task == NONE:
        return False, r.deadline_s
    run, offer = r.tasks[task], vm.offer_index
    often, dump_s, saved, left_s = saves_often(r, task), 0, run.saved, run.end_s - run.start_s
    done_s = uptime_at(vm, r.now_s) - run.start_s if run.running else 0
    if done_s > 0:
        saved += (1 - saved) * done_s / left_s
        left_s -= done_s
        dump_s = dump_of(r, run.group, offer, run.mode)
        paid_s = paid_until(r, vm)
        # What is paid for is used to its end, with the checkpoint in its last seconds.
        if paid_s > r.now_s + dump_s:
            return False, paid_s - dump_s
    learn(r, task, saved)
    due_s, left_out, until_s, from_s = 0, 0, r.standby_latest_s, r.now_s
    if not often:
        from_s += math.ceil(_ROOM * (r.deadline_s - r.now_s))
    if not r.takes_checkpoints:  # what does not end before the rescue must begin is done again
        due_s, left_out = pack_without(r, vm, task, from_s)
        until_s = min(until_s, due_s)
    usd, place = best_spot(r, task, saved, until_s, 1)
    if place == NONE or usd >= left_s * usd_per_s(r, offer) / vm.vcpus:
        return False, r.deadline_s
    if r.takes_checkpoints:
        due_s, left_out = pack_without(r, vm, task, from_s)
    if left_out:
        return False, r.deadline_s
    if often and not r.standby[task].leaving:
        from_s = spare_from(r, due_s - r.now_s - dump_s)
        if from_s > r.now_s:
            return False, from_s
    if dump_s:
        return prepare_to_leave(r, vm, task, dump_s, left_s)
    r.standby[task].leaving = 0
    keep(r, due_s)
    move_to(r, task, place)
    return True, r.now_s


def last_task(r: Rows, vm: VmRow) -> int:
    """Return the task that a VM ends last of those that wait, have just started, or save often."""
    last, last_s = NONE, NONE
    for core in range(vm.vcpus):
        slot = r.cores[vm.index][core]
        task = slot.last if slot.last != NONE else slot.running
        # A core whose task writes a checkpoint to leave is about to be free for what waits there.
        if task == NONE or (slot.running != NONE and r.tasks[slot.running].dumping_s != NONE):
            continue
        leaves = slot.last != NONE or r.tasks[task].start_s >= uptime_at(vm, r.now_s)
        if (leaves or (not vm.bursts and saves_often(r, task))) and r.tasks[task].end_s > last_s:
            last, last_s = task, r.tasks[task].end_s
    return last


def prepare_to_leave(r: Rows, vm: VmRow, task: int, dump_s: int, left_s: int) -> tuple[bool, int]:
    """Have a task of an on-demand VM write a checkpoint, after which it leaves; `on_saved` is asked then.

    It is the only one there, and may go on there in time if there is no spot VM any more; the rescue of all others
    does without that VM. If it cannot be, return when to ask again.
    """
    ready_s = r.now_s + dump_s
    due_s, left_out = pack_without(r, vm, NONE, ready_s + 1)
    if vm.n_left > 1 or left_out or ready_s + left_s > r.groups[r.tasks[task].group].due_s:
        return False, r.deadline_s
    keep(r, due_s)
    preempt(r, task, vm, 1)
    r.standby[task].leaving = 1
    return True, r.now_s


def spare_from(r: Rows, slack_s: int) -> int:
    """Time from which a rescue that can wait for so long leaves enough for a task to go to spot, and be lost there.

    That is when it can wait for as large a part of what it could at first as there is of the time, and for two
    starts of a VM besides (Uniform Progress). While the task goes on where it is, it can always wait for as long.
    """
    if r.first_slack_s == NONE:  # all is on demand so far
        r.first_slack_s = from_the_start(r, slack_s)
    first_s = max(r.first_slack_s, 1)
    over_s = slack_s - 2 * r.start_overhead_s * (1 - first_s / r.deadline_s)
    if over_s <= 0:
        return r.deadline_s
    # Solved for t: over / first slack = 1 - t / deadline; the slack stays as it is meanwhile.
    return max(math.ceil(r.deadline_s * (1 - over_s / first_s)), r.now_s)


# ----------------------------------------------------------------- early, on demand


def fill(r: Rows, idle: int) -> None:
    """Let free cores of on-demand VMs that run take what is lost, if the rest can still be rescued.

    Those of VMs that have nothing else to do only if that is asked for.
    """
    for v in range(r.n_vms):
        vm = r.vms[v]
        if vm.state != RUNNING or vm.bursts or vm.disordered or (vm.n_left == 0 and not idle):
            continue
        if takes_rescues(r, vm):
            while fill_one(r, vm):
                pass


def fill_one(r: Rows, vm: VmRow) -> bool:
    """Let a core of an on-demand VM that is free take the longest task that is lost, if it can; False if not."""
    if not r.rescuers_known:
        list_rescuers(r, NONE, NONE)
    place = 0
    while r.rescuers[place] != vm.index:
        place += 1
    core = first_free(r, place * r.most_cores, vm.vcpus)
    free_s, kb = r.rescuer_free_s[core], r.rescuer_kb[core]
    if free_s > r.now_s:
        return False
    for k in range(r.n_open):
        task = r.open_tasks[k]
        if not is_lost(r, task):
            continue
        run = r.tasks[task]
        end_s = r.now_s + rescue_s(r, task, vm.offer_index)
        sustained = r.offers[vm.offer_index].sustained
        placed_s = end_if_placed(r, vm, run.group, sustained, r.standby[task].saved)
        # Where memory makes it wait, or another core is free first, it is not what this core would do.
        if end_s > r.groups[run.group].due_s or placed_s != end_s:
            continue
        # Looked for as if it were there already: all others must be rescued without this core until then.
        r.rescuer_free_s[core], r.rescuer_kb[core] = end_s, larger(kb, r.groups[run.group].memory_kb)
        due_s, left_out = pack_open(r, NONE, task, r.now_s + 1)
        r.rescuer_free_s[core], r.rescuer_kb[core] = free_s, kb
        if left_out:
            continue
        keep(r, due_s)
        move(r, task, vm, 0)
        pack_again(r)
        return True
    return False


def pack_again(r: Rows) -> None:
    """Look, after a decision, for a rescue that may begin later than the one with which the decision was found."""
    follow(r)
    for k in range(r.n_open):
        if r.standby[r.open_tasks[k]].vm >= 0:
            due_s, left_out = pack_all(r, r.standby_latest_s + 1)
            if left_out == 0:
                keep(r, due_s)
            return


def early(r: Rows) -> int:
    """Start on-demand VMs for what is lost, if that is cheapest now; return when it may be."""
    again_s = r.deadline_s
    if not r.covered:
        return again_s
    if list_lost_tasks(r, 1, r.left):
        again_s = keep_pace(r)
    n, types, spot_usd = 0, 0, 0.0
    for k in range(r.n_open):
        task = r.open_tasks[k]
        if is_lost(r, task) and not saves_often(r, task):
            r.packed[n] = task
            n += 1
            index = r.vms[r.tasks[task].vm].offer_index
            offer = r.offers[index]
            # Each type that is out may come back by itself, and take the work.
            types |= 1 << offer.type
            duration_s = duration_of(r, r.tasks[task].group, index, offer.sustained, r.standby[task].saved)
            spot_usd += duration_s * usd_per_s(r, index) / offer.vcpus
    if not n:
        return again_s
    out = 0
    while types:
        out += types & 1
        types >>= 1
    r.n_packed = n
    _, back = rates(r)
    left_s = max(r.standby_latest_s - r.now_s, 0)
    best_s, least, at_once = r.now_s, math.inf, False
    for number in range(_MOMENTS):
        at_s = r.now_s + left_s * number // (_MOMENTS - 1)
        price_usd = price_from(r, at_s)
        at_once = at_once or (number == 0 and price_usd >= 0)
        if price_usd >= 0:
            chance = math.exp(-_OTHER_PLACE * back * out * (at_s - r.now_s))
            # New VMs are rented then only if no type has come back; if one has, the tasks are done at the price of spot
            # VMs.
            usd = chance * price_usd + (1 - chance) * spot_usd
            if usd < least:
                best_s, least = at_s, usd
    if best_s > r.now_s:
        return min(best_s, again_s)
    if at_once:
        start_early(r)
    return again_s


def keep_pace(r: Rows) -> int:
    """Do on demand what is lost and saves often, once it falls behind; return when that will be.

    That is when the rescue can wait for a smaller part of what it could at first than there is of the time (Uniform
    Progress); but not before an outage has lasted as long as the start of a VM, in which nothing is done either.
    """
    first_s = max(r.first_slack_s, 0)
    n, since_s = list_lost_tasks(r, 1, r.left), 0
    for k in range(n):
        of_type = r.types[r.offers[r.vms[r.tasks[r.left[k]].vm].offer_index].type]
        if of_type.is_out:
            since_s = max(since_s, of_type.out_since_s)
    # Solved for t: (latest start - t) / first slack = 1 - t / deadline.
    behind_s = math.ceil((r.standby_latest_s - first_s) / (1 - first_s / r.deadline_s))
    behind_s = max(behind_s, since_s + r.start_overhead_s)
    if behind_s > r.now_s:
        return behind_s
    for k in range(n):
        to_best_spot(r, r.left[k])  # also what would wait for its own VM
    fill(r, 1)
    r.n_packed = list_lost_tasks(r, 1, r.packed)
    if r.n_packed and price_from(r, r.now_s) >= 0:
        start_early(r)
    return r.deadline_s


def start_early(r: Rows) -> None:
    """Start new VMs for listed tasks that are lost, if they end there in time and the rest can still be rescued."""
    n_lost = r.n_packed
    for k in range(r.n_open):
        r.standby[r.open_tasks[k]].place = NONE
    r.n_rescuers = 0
    pack_listed(r, n_lost, r.now_s, r.now_s)
    n_new = r.n_found_new
    for k in range(n_lost):
        r.listed[k] = r.packed[k]
        r.standby[r.packed[k]].place = r.found[k] // r.most_cores
    for place in range(n_new):
        r.left[place] = r.found_new[place]
    list_rescuers(r, NONE, NONE)
    r.rescuers_known = 0
    for place in range(n_new):
        if not list_new(r, r.left[place], place, n_lost):
            return
    n = 0
    for k in range(r.n_open):
        if r.standby[r.open_tasks[k]].place == NONE:
            r.packed[n] = r.open_tasks[k]
            n += 1
    for place in range(n_new):
        # The rest is packed within limits that these VMs use as well.
        count_rented(r, r.offers[r.left[place]], 1)
    due_s, left_out = pack_listed(r, n, r.now_s + 1, r.deadline_s)
    for place in range(n_new):
        count_rented(r, r.offers[r.left[place]], -1)
    if left_out:
        return
    for place in range(n_new):
        r.left[place] = start(r, r.left[place])
    keep(r, due_s)
    for k in range(n_lost):
        move(r, r.listed[k], r.vms[r.left[r.standby[r.listed[k]].place]], 0)
    pack_again(r)


def list_new(r: Rows, offer: int, place: int, n_lost: int) -> bool:
    """List a new VM among those that a rescue may use, with the tasks that go there; False if one ends late there.

    That is the timetable which they will have: where memory binds, some wait for the memory of others.
    """
    r.n_chosen = r.n_spans = 0
    sketch = new_sketch(r, offer, r.now_s + r.start_overhead_s, 0)
    first = add_rescuer(r, r.n_vms + place, offer)
    for k in range(n_lost):
        task = r.listed[k]
        if r.standby[task].place == place:
            group, duration_s = r.tasks[task].group, rescue_s(r, task, offer)
            start_s, zero_s = start_on_sketch(r, sketch, group, duration_s), r.sketches[sketch].zero_s
            dates = r.groups[group]
            if start_s == NONE or not dates.ready_s - zero_s <= start_s <= dates.due_s - zero_s - duration_s:
                return False
            core = first + core_on_sketch(r, sketch, start_s)
            r.rescuer_kb[core] = larger(r.rescuer_kb[core], r.groups[group].memory_kb)
            assign(r, sketch, group, start_s, duration_s)
    for core in range(r.offers[offer].vcpus):
        r.rescuer_free_s[first + core] = r.sketches[sketch].zero_s + r.sketched[sketch][core]
    return True


# ------------------------------------------------------------------------- idle VMs


def end_unused(r: Rows, vm: VmRow, idle: int) -> int:
    """End a VM that nothing needs once what is paid for is over, maybe an idle one, too; return when that is."""
    costs = r.hibernated_costs if vm.state == HIBERNATED else r.stopped_costs
    # Nothing of it is waited for, and its memory or disk is on the bill.
    if is_halted(vm) and not vm.n_left and costs:
        end(r, vm)
    if not idle or not is_idle(vm):
        return r.deadline_s
    paid_s = paid_until(r, vm)
    if not vm.spot:  # it is no more than a rescue until it may start, and nothing else happens then
        paid_s = max(paid_s, vm.zero_s + vm.first_start_s)
    if paid_s > r.now_s:
        return paid_s
    if vm.spot or can_go(r, vm):
        end(r, vm)
    return r.deadline_s


def can_go(r: Rows, vm: VmRow) -> bool:
    """Have the rescue do without an idle on-demand VM; False if it cannot."""
    if not r.n_open or not r.covered:
        return r.n_open == 0
    due_s, left_out = pack_without(r, vm, NONE, r.now_s + r.start_overhead_s + 1)
    if left_out:
        return False
    keep(r, due_s)
    return True


# ------------------------------------------------------------- more spot VMs than were planned


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
    if r.vms[r.tasks[last].vm].zero_s + r.tasks[last].end_s <= first_s + _GAIN_S:
        return NONE, 0
    n = 0
    for offer in range(r.n_offers):
        if r.offers[offer].spot and not r.offers[offer].bursts and can_start(r, r.offers[offer]):
            if n == 0:
                n = list_last_first(r, most)
            taken, usd = worth_of(r, offer, n, interrupted, back)
            # It took all of the list: the VM may have room for more than was listed.
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
    """List waiting tasks of spot VMs that would end last, the last first, up to a number; return how many there are.

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
        waits = r.groups[run.group].ready_s > r.sketches[sketch].zero_s + start_s
        if start_s == NONE or waits or sooner_s > end_s - _GAIN_S:
            break
        assign(r, sketch, run.group, start_s, duration_s)
        session_s = max(session_s, sooner_s - r.now_s - r.boot_overhead_s)
        there = r.vms[run.vm].offer_index
        rent = (run.end_s - run.start_s) * (usd_per_s(r, there) / r.offers[there].vcpus)
        # By how much it is less likely to be done on demand in the end: on the new VM the task has more slack, too.
        risk = late_chance(interrupted, back, end_s - r.now_s, r.standby_latest_s - end_s)
        risk -= late_chance(interrupted, back, sooner_s - r.now_s, r.standby_latest_s - sooner_s)
        usd += rent + risk * max(r.rescue_usd_per_s * rescue_s(r, task, r.standby_offers[0]) - rent, 0.0)
        taken += 1
    return taken, usd - rent_usd(r, offer, session_s)


OnTime.answers = {
    "woken": answer,
    "finished": on_finish,
    "idle": on_idle,
    "cycle_ended": on_cycle_end,
    "noticed": on_notice,
    "hibernated": on_loss,
    "lost": on_loss,
    "resumed": on_return,
    "capacity_changed": on_capacity,
    "preempted": on_saved,
}
