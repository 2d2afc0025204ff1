"""Reasons for which no plan exists, and by how much: until when, and of what weight, tasks are late in every plan."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ...core.capacities import lower_of, slots_of
from ...core.errors import InputError
from ...core.limits import LimitReached, checkpoint
from ...core.quantities import MAX_SECONDS, NEARLY, FloatArray, IntArray, at_most
from ...core.wording import counted, listed
from ...instances.entries import (
    FULL_SPEED,
    MARKETS,
    NEVER,
    Limits,
    Objective,
    RentalOffer,
    VmType,
    binding_limits,
    most_within,
    most_worth,
    one_limit_each,
)
from ...instances.instance import Instance
from ...models.bags.makespan_bounds import makespan_lower_bound_s
from ...models.bags.task_classes import usable_offers
from ...schedules.lateness import lost_tasks
from .divisible_bound import divisible_bound

WAY_OUT = "; --late least gives the best that can still be done"
_NAMED = 3
_MOST_OFFERS = 12
"""Offers of which it is asked one by one whether more of their VMs would do."""


def explain_infeasibility(instance: Instance) -> str:
    """Say why no plan exists, for an instance whose bound is infinite: what it rests on, and the least deadline.

    The reason is one that the bounds prove; an instance can have more.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    """
    exist = any(machine.open for machine in instance.machines)
    if not usable_offers(instance) and not exist and len(instance.open_tasks):
        machines = ", and no VM that exists takes more tasks" if instance.machines else ""
        return f"no plan exists: no VM may be rented, or none is ready before it must end{machines}"
    reason = _late_machine(instance) or _over_budget(instance)
    if instance.objective.budget_usd is not None and reason:
        return f"no plan exists: {reason}"
    least = makespan_lower_bound_s(instance)
    if least > instance.deadline_s and not reason:
        on = "that exist or may be rented" if exist else "that may be rented"
        reason = f"the tasks take at least {least:,} s on all VMs {on}, and the deadline is {instance.deadline_s:,} s"
    try:
        enough_s = least_deadline_s(instance)
        if enough_s is None:
            on = "that exists or may be rented" if exist else "that may be rented"
            return f"no plan exists: some tasks fit no VM {on}, whatever the deadline"
        relief = listed(list(_reliefs(instance)), "limits") if not reason else ""
    except LimitReached:
        return f"no plan exists: {reason or 'even tasks that could be cut would not fit the limits'}"
    if not reason:
        vms = _most_vms(instance) + sum(machine.open for machine in instance.machines)
        reason = (
            f"even if tasks could be cut, {counted(vms, 'VM')} would need longer than the deadline "
            f"({instance.deadline_s:,} s) and the limits allow"
        )
        reason += f"; that rests on each of {relief}" if relief else ""
    by = deadlines_in_words(instance, enough_s)
    return f"no plan exists: {reason}; the least deadline that would do is at least {by}"


def _late_machine(instance: Instance) -> str:
    """Say which of the tasks that run already ends after the deadline, if one does."""
    ends_s = instance.running_end_s
    if not len(ends_s) or ends_s.max() <= instance.deadline_s:
        return ""
    last = int(ends_s.argmax())
    task, machine = instance.running.task[last], instance.running.machine[last]
    return (
        f"task {instance.task_ids[task]!r}, which runs on {instance.machines[machine].id}, ends at {ends_s[last]:,} s, "
        f"and the deadline is {instance.deadline_s:,} s"
    )


def _over_budget(instance: Instance) -> str:
    """Name the least cost of all plans where the budget is below; nothing elsewhere."""
    budget = instance.objective.budget_usd
    if budget is None:
        return ""
    least = divisible_bound(instance.replace(objective=Objective(goal="cheapest"))).objective
    if not at_most(budget) < least < math.inf:
        return ""
    return f"each plan costs at least $ {least:.6f}, and the budget is $ {budget:g}"


def deadlines_in_words(instance: Instance, deadline_s: int) -> str:
    """Say a later deadline, with the D_spot that is as much later."""
    d_spot_s = instance.d_spot_s
    if d_spot_s is None or d_spot_s == instance.deadline_s:
        return f"{deadline_s:,} s"
    return f"{deadline_s:,} s with a D_spot of {d_spot_s + deadline_s - instance.deadline_s:,} s"


def with_deadline(instance: Instance, deadline_s: int) -> Instance:
    """Return an instance with another deadline, and with D_spot as much later."""
    changes = {"deadline_s": deadline_s}
    if instance.d_spot_s is not None:
        changes["d_spot_s"] = instance.d_spot_s + deadline_s - instance.deadline_s
    return instance.replace(**changes)


def types_with(types: Sequence[VmType], offer: RentalOffer, **changes: float) -> tuple[VmType, ...]:
    """Return VM types with changed fields of an offer, such as another limit."""
    own = types[offer.type_index]
    changed = own.offers[offer.market].model_copy(update=changes)
    other = own.model_copy(update={"offers": {**own.offers, offer.market: changed}})
    return (*types[: offer.type_index], other, *types[offer.type_index + 1 :])


def with_more_vms(instance: Instance, offer: RentalOffer, vms: int) -> Instance:
    """Return an instance in which more VMs of an offer may be rented, by the limits of its groups as well."""
    quotas = [quota.raised(vms * quota.weight(offer.vm_type, offer.market)) for _, quota in instance.limits.of_groups()]
    types = types_with(instance.vm_types, offer, limit=offer.vm_type.offers[offer.market].limit + vms)
    return instance.replace(vm_types=types, limits=Limits(quotas=tuple(quotas)))


def why_late(instance: Instance, message: str = "") -> str:
    """Add to a message the tasks that cannot be in time even alone, if there are any."""
    found = lost_tasks(instance)
    if not found:
        return message
    ids: dict[int, str] = {}
    for task in reversed(instance.open_tasks.tolist()):
        ids[int(instance.task_group[task])] = instance.task_ids[task]
    found.sort(key=lambda lost: lost.since_s)
    said = [
        f"{ids[lost.group]!r} takes {lost.run_s:,} s on {instance.offers[lost.offer]}"
        + (f" and ends there after {lost.needed_s:,} s" if lost.needed_s > lost.run_s else "")
        + f", {-lost.since_s:,} s too late"
        for lost in found[:_NAMED]
    ]
    number = int(sum(instance.open_size[lost.group] for lost in found))
    more = "" if len(found) <= _NAMED else ", ..."
    lost_text = f"{counted(number, 'task')} cannot be in time even alone: {', '.join(said)}{more}"
    return "; ".join(filter(None, (message, lost_text)))


def with_way_out(instance: Instance, message: str) -> str:
    """Add to a message on a bag without a plan its lost tasks, and the way out where there is one."""
    message = why_late(instance, message)
    refused = instance.objective.budget_usd is not None or instance.survive not in (None, "none")
    return message if instance.late or refused else message + WAY_OUT


def least_deadline_s(instance: Instance) -> int | None:
    """Deadline before which the bounds prove that no plan exists, D_spot being as much later; None if none would do.

    Raises
    ------
    LimitReached
        If the time is over.
    """
    most = MAX_SECONDS
    low, high = instance.deadline_s, instance.deadline_s + 1
    while not _may_be_feasible_by(instance, min(high, most)):
        if high >= most:
            return None
        # Steps of four times until no proof is found any more; then halves.
        low, high = high, instance.deadline_s + 4 * (high - instance.deadline_s)
    high = min(high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _may_be_feasible_by(instance, middle) else (middle, high)
    return max(high, makespan_lower_bound_s(with_deadline(instance, high)))


def _may_be_feasible_by(instance: Instance, deadline_s: int) -> bool:
    with suppress(InputError):  # of what a state leaves, a task may take longer than that: no new bag may have one
        return _may_be_feasible(with_deadline(instance, deadline_s))
    return False


def _may_be_feasible(instance: Instance) -> bool:
    bound = divisible_bound(instance).objective
    checkpoint()  # a bound that was cut short says nothing
    return math.isfinite(bound)


def _most_vms(instance: Instance) -> int:
    """Most VMs that may be rented and can be of use."""
    offers = usable_offers(instance)
    vms = np.array([float(min(offer.limit, instance.n_tasks)) for offer in offers])
    return most_within(np.ones(len(vms)), vms, binding_limits(instance, offers))


def _reliefs(instance: Instance) -> Iterator[str]:
    """Limits and estimates without any one of which the bounds would not prove that no plan exists."""
    changes: list[tuple[str, dict[str, Any]]] = []
    if instance.d_spot_s is not None and instance.d_spot_s < instance.deadline_s:
        by = ", by the rule of HADS unless given" if instance.d_spot_rule == "paper" else ""
        changes.append((f"D_spot ({instance.d_spot_s:,} s{by})", {"d_spot_s": instance.deadline_s}))
    if len(instance.markets) < len(MARKETS):
        changes.append((f"the markets ({instance.markets[0]} only)", {"markets": MARKETS}))
    groups = [*instance.limits.of_groups()]
    for number, (limit, _) in enumerate(groups):
        others = [quota for _, quota in groups[:number] + groups[number + 1 :]]
        changes.append((limit, {"limits": Limits(quotas=tuple(others))}))
    for offer in instance.offers[:_MOST_OFFERS]:
        used_up = not offer.limit and offer.listed_as is None and offer.index in instance.machine_offer
        if (offer.limit or used_up) and offer.limit < instance.n_tasks:
            own = offer.vm_type.offers[offer.market]
            lifted_to = types_with(instance.vm_types, offer, limit=instance.n_tasks + len(instance.machines))
            changes.append((f"the limit of {offer} ({own.limit})", {"vm_types": lifted_to}))
    # Without spot VMs there is no D_spot; what brings them in needs one.
    latest = {"d_spot_s": instance.deadline_s} if instance.d_spot_s is None else {}
    for name, change in changes:
        if _may_be_feasible(instance.replace(**(latest | change))):
            yield name


_STEPS = (0.5, 0.8, 1.25, 2.0)
_ROUNDS = 3
"""Factors by which the price of each offer is changed in turn, and how often."""


def late_weight_bound(instance: Instance) -> float:
    """Return a proven lower bound of the weight of late tasks, by tasks that may be cut, and by tasks on each core.

    What runs late already, and what is lost even alone, is late in every plan. All others fill, by prices of the time
    of each offer, at most the worth of all time until they are due: of what they weigh, most fits by weight for worth.
    """
    weights, open_size = instance.weight, instance.open_size.copy()
    group = instance.task_group[instance.running.task]
    certain = float(weights[group][instance.running_end_s > instance.due_s[group]].sum())
    for lost in lost_tasks(instance):
        certain += float(weights[lost.group] * open_size[lost.group])
        open_size[lost.group] = 0
    rest = np.flatnonzero(open_size)
    if not len(rest):
        return certain
    weight, count = weights[rest], open_size[rest]
    seconds = instance.duration_s[rest, :, FULL_SPEED]
    most = min(_most_in_time(instance, seconds, weight, count, rest))
    late = max(float(weight @ count) - most, 0.0)
    if (weights == np.floor(weights)).all():
        # Whole weights have a whole sum, which the bound may be above by rounding alone.
        late = float(np.ceil(late * (1 - NEARLY) - NEARLY))
    return certain + late


def _most_in_time(
    instance: Instance, seconds: IntArray, weight: FloatArray, count: IntArray, groups: IntArray
) -> Iterator[float]:
    """Upper bounds of the weight in time: by the time of cores, by that of memory, by tasks on each core."""
    able, offers, boot_s = seconds < NEVER, instance.offers, instance.boot_overhead_s
    cores, size_kb = np.array([(offer.vcpus, lower_of(offer.memory_kb)) for offer in offers]).T
    latest_s = instance.latest_end_s[groups].max(axis=0)
    limits = np.array([float(min(offer.limit, instance.n_tasks)) for offer in offers])
    vm_s = np.maximum(latest_s - boot_s, 0).astype(float)
    free_s = [
        instance.machine_core_free_s[(instance.machine_offer == offer) & instance.machine_open]
        for offer in range(len(offers))
    ]
    core_s, machine_s = np.zeros(len(offers)), np.zeros(len(offers))  # of machines, of all cores and of all VMs
    for offer, rows in enumerate(free_s):
        left = np.maximum(latest_s[offer] - rows, 0)
        core_s[offer], machine_s[offer] = left.sum(), left.max(axis=1, initial=0).sum()
    needed = instance.memory_kb[groups][:, None]
    for used, a_vm, there in (
        (seconds * np.where(able, slots_of(needed), 1), cores * vm_s, core_s),
        (seconds * np.where(able, lower_of(needed), 1), size_kb * vm_s, size_kb * machine_s),
    ):
        yield _by_prices(instance, np.where(able, used, np.inf), a_vm, there, limits, weight, count)
    number = 0
    for offer, rows in enumerate(free_s):
        # No core ends more tasks than the shortest ones.
        order = np.argsort(seconds[:, offer], kind="stable")
        order = order[able[order, offer]]
        ends_s = np.repeat(seconds[order, offer], count[order]).cumsum()
        number += int(limits[offer] * cores[offer] * np.searchsorted(ends_s, vm_s[offer], "right"))
        number += int(np.searchsorted(ends_s, latest_s[offer] - rows.ravel(), "right").sum())
    yield float(np.sort(np.repeat(weight, count))[::-1][:number].sum())


def _by_prices(
    instance: Instance,
    used: FloatArray,
    a_vm: FloatArray,
    there: FloatArray,
    vms: FloatArray,
    weight: FloatArray,
    count: IntArray,
) -> float:
    """Least upper bound, by some prices, of what fits: tasks use so much of an offer, and a VM and machines have it."""
    limits = one_limit_each(binding_limits(instance, instance.offers))

    def bound(prices: FloatArray) -> float:
        values = prices * a_vm
        worth = float(prices @ there) + float(values @ most_worth(values, vms, limits))
        each = (used * prices).min(axis=1)
        order = np.argsort(each / weight, kind="stable")
        filled = (each * count)[order].cumsum()
        whole = int(np.searchsorted(filled, worth, "right"))
        fits = float((weight * count)[order[:whole]].sum())
        if whole < len(order):
            spare = worth - (filled[whole - 1] if whole else 0.0)
            fits += float(weight[order[whole]] * spare / each[order[whole]])
        return fits

    # Any prices prove a bound. To begin with, offers cost as much as they are fast for the tasks, on the average.
    able = np.isfinite(used)
    least = used.min(axis=1, keepdims=True)
    speed = np.where(able, np.where(np.isfinite(least), least, 1.0) / np.where(able, used, 1.0), 0.0)
    prices = np.where(able.any(axis=0), speed.sum(axis=0) / np.maximum(able.sum(axis=0), 1), 1.0)
    found = bound(prices)
    for _ in range(_ROUNDS if found < weight @ count else 0):  # where all fits by far, prices change little
        for offer in range(len(prices)):
            for step in _STEPS:
                tried = prices.copy()
                tried[offer] *= step
                other = bound(tried)
                if other < found:
                    prices, found = tried, other
    return found
