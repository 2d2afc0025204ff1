"""Why what is lost at a second cannot be done on demand by the deadline, and whether that is proved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...core.quantities import IntArray
from ...core.wording import listed
from ...instances.durations import NEVER
from .rescue_arrays import PlanArrays
from .rescue_questions import Lost

_STEPS = range(1, 30)


def loss_of(types: Sequence[str]) -> str:
    """Say what goes down."""
    return f"with spot VMs of {listed(types, 'type')} down for good"


def obstacle(plan: PlanArrays, types: Sequence[str], at_s: int, lost: Lost, room: IntArray) -> tuple[str, bool]:
    """Say why nothing can rescue what is lost of some types at a second, and whether that is proved.

    ``room`` is how many new VMs may be requested then: of each rental, and of all of them.
    """
    begin_s = at_s + plan.bag.terms.overhead
    window_s = plan.instance.deadline_s - begin_s
    own = plan.bag.own_vms
    when = f"{loss_of(types)} at {at_s:,} s"
    alive = own[own["end"] > at_s]
    usable = np.zeros(len(plan.regular), dtype=bool)
    usable[alive["rental"]] = True
    cores = [plan.bag.core_end[vm["first_core"] :][: vm["cores"]] for vm in alive]
    rooms = [plan.instance.deadline_s - np.maximum(ends, begin_s) for ends in cores]
    left = int(room[-1])
    for rental in plan.bag.orders[1].tolist():
        vms = min(int(room[rental]), left, len(lost.task))
        if vms > 0:
            usable[rental] = True
            left -= vms
            rooms.append(np.full(min(vms * plan.regular[rental].vcpus, len(lost.task)), window_s))
    # With a cap, another type might be taken instead of the strongest, and when a VM of the plan ends meanwhile.
    usable |= (plan.bag.rentals["limit"] > 0) & (plan.bag.terms.most_on_demand > 0)
    if plan.bag.terms.most_on_demand < NEVER:
        rooms += _freed_rooms(plan, at_s)
    room_s = np.maximum(np.concatenate([np.zeros(0, dtype=np.int64), *rooms]), 0)
    if not usable.any():
        return f"{when}: no regular VM may be rented on demand then; raise limits.max_on_demand", True
    seconds = np.where(usable[:, None], lost.left, NEVER).min(axis=0)
    longest = int(seconds.argmax())
    task = plan.instance.task_ids[plan.spot_task[lost.task[longest]]]
    if seconds[longest] >= NEVER:
        return f"{when}: task {task!r} can run on no regular VM that may be rented on demand then", True
    if seconds[longest] > window_s:
        least_s = begin_s + int(seconds[longest])
        text = f"task {task!r} takes {seconds[longest]:,} s more on demand and would end at {least_s:,} s; "
        return f"{when}: {text}end spot earlier (d_spot_s), allow checkpoints, or a later deadline", True
    remedy = "raise the limits of on-demand VMs, end spot earlier (d_spot_s), or allow a later deadline"
    work = int(seconds.sum())
    if work > room_s.sum():
        text = f"{work:,} core seconds are left to do on demand, and {int(room_s.sum()):,} can be had"
        return f"{when}: {text}; {remedy}", True
    lost_tasks = f"the {len(lost.task):,} tasks that are lost"
    if any(_transformed(seconds, window_s, k).sum() > _transformed(room_s, window_s, k).sum() for k in _STEPS):
        return f"{when}: {lost_tasks} do not fit the on-demand VMs that can be had; {remedy}", True
    return f"{when}: no way was found to do {lost_tasks} on demand by the deadline; {remedy}", False


def _freed_rooms(plan: PlanArrays, at_s: int) -> Iterator[IntArray]:
    """Time of the cores that a VM of another type has more, if it is rented when one of the plan ends."""
    own, most = plan.bag.own_vms, max((offer.vcpus for offer in plan.regular), default=0)
    cores = np.concatenate([own["cores"], np.zeros_like(plan.burstable_end_s)])
    for end_s, kept in zip(np.concatenate([own["end"], plan.burstable_end_s]).tolist(), cores.tolist(), strict=True):
        if end_s > at_s and most > kept:
            yield np.full(most - kept, plan.instance.deadline_s - end_s - plan.bag.terms.overhead)


def _transformed(seconds: IntArray, window_s: int, k: int) -> IntArray:
    """Apply the k-th dual-feasible function of Fekete and Schepers to fractions of a window, times k * window.

    A size x becomes x itself if (k + 1) x is whole, and the whole part of (k + 1) x over k else. It is superadditive:
    what fits together into some room does so after it is applied to both.
    """
    parts = (k + 1) * seconds
    return np.where(parts % window_s == 0, k * seconds, parts // window_s * window_s)
