"""What burstable VMs can do at most, and what a task asks of them at least: the ground of every relaxation of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...core.quantities import FloatArray
from ...instances.durations import BASELINE, FULL_SPEED, NEVER
from ...instances.entries import Market, RentalOffer
from ...instances.instance import Instance


def least_work_s(instance: Instance, offer: RentalOffer) -> FloatArray:
    """Core seconds at full speed that a task of each group does at least, shape (n_groups,); 0 where it cannot run.

    Rounded up once, a task at the baseline may do less work than its whole seconds at full speed.
    """
    full = instance.duration_s[:, offer.index, FULL_SPEED]
    work: FloatArray = np.where(full < NEVER, full, 0).astype(float)
    if offer.vm_type.burstable is None:
        return work
    slow = instance.duration_s[:, offer.index, BASELINE]
    at_baseline = np.where(slow < NEVER, slow, 0) * offer.vm_type.burstable.baseline_fraction
    least: FloatArray = np.where(slow < NEVER, np.minimum(work, at_baseline), work)
    return least


def effective_cores(offer: RentalOffer) -> float:
    """Cores that a VM can keep at full speed for good.

    Every second of work at full speed spends 1/60 credit, in whatever mode it is done. A burstable VM that starts
    without credits therefore does, in a second, no more work than it earns in credits, or than all its cores do at
    the baseline. With initial credits the bound takes the cores as they are.
    """
    burstable = offer.vm_type.burstable
    if burstable is None or burstable.initial_credits > 0:
        return float(offer.vcpus)
    sustained = max(burstable.credits_per_hour / 60, offer.vcpus * burstable.baseline_fraction)
    return min(float(offer.vcpus), sustained)


def binding_market_limits(instance: Instance, offers: Iterable[RentalOffer]) -> list[tuple[Market, int]]:
    """Return markets and their limits, where the limits of the given offers do not imply them."""
    counted = list(offers)
    result: list[tuple[Market, int]] = []
    for market in instance.markets:
        limit = instance.market_limit(market)
        vms = sum(min(offer.limit, instance.n_tasks) for offer in counted if offer.market == market)
        if limit is not None and limit < vms:
            result.append((market, limit))
    return result
