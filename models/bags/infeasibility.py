"""Why no plan exists, and by how much."""

from __future__ import annotations

import math

from ...core.limits import LimitReached, checkpoint
from ...core.quantities import MAX_SECONDS
from ...core.wording import counted
from ...instances.instance import Instance
from .divisible_bound import divisible_bound
from .makespan_bounds import makespan_lower_bound_s
from .task_classes import usable_offers


def explain_infeasibility(instance: Instance) -> str:
    """Say why no plan exists, for an instance whose bound is infinite.

    The reason is one that the bounds prove; an instance can have more.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    """
    if not usable_offers(instance):
        return "no plan exists: no VM may be rented, or none is ready before it must end"
    least = makespan_lower_bound_s(instance)
    if least > instance.deadline_s:
        return (
            f"no plan exists: the tasks take at least {least:,} s on all VMs that may be rented, and the deadline is "
            f"{instance.deadline_s:,} s"
        )
    try:
        enough = _least_extra_s(instance)
    except LimitReached:
        return "no plan exists: even tasks that could be cut would not fit the limits"
    where = "the deadline" if instance.d_spot_s is None else "the deadline and D_spot"
    if enough is None:
        return "no plan exists: some tasks fit no VM that may be rented, whatever the deadline"
    vms = sum(min(offer.limit, instance.n_tasks) for offer in usable_offers(instance))
    return (
        f"no plan exists: even if tasks could be cut, {counted(vms, 'VM')} would need {where} to be at least "
        f"{enough:,} s later, or the limits to be higher"
    )


def _least_extra_s(instance: Instance) -> int | None:
    """Least delay of the deadline, and of D_spot, with which the divisible bound is finite."""

    def feasible(extra: int) -> bool:
        changes: dict[str, int] = {"deadline_s": instance.deadline_s + extra}
        if instance.d_spot_s is not None:
            changes["d_spot_s"] = instance.d_spot_s + extra
        bound = divisible_bound(instance.replace(**changes)).objective
        checkpoint()  # a bound that was cut short says nothing
        return math.isfinite(bound)

    most = MAX_SECONDS - instance.deadline_s
    high = 1
    while not feasible(min(high, most)):
        if high >= most:
            return None
        high *= 4
    low, high = 0, min(high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if feasible(middle) else (middle, high)
    return high
