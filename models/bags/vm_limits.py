"""What burstable VMs can do at most, and what a task asks of them at least: the ground of every relaxation of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...core.quantities import FloatArray
from ...instances.durations import BASELINE, FULL_SPEED, NEVER
from ...instances.entries import Market, RentalOffer
from ...instances.instance import Instance

LET_PASS_CREDITS = 2e-6
"""Credits that a plan may lack: what the checker lets pass, and rounding."""


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
    """Cores that a VM can keep at full speed for good; all of them where there are initial credits."""
    burstable = offer.vm_type.burstable
    return float(offer.vcpus) if burstable is None or burstable.initial_credits > 0 else sustained_cores(offer)


def sustained_cores(offer: RentalOffer) -> float:
    """Cores that a VM can keep at full speed from what it earns, or from what all of them do at the baseline.

    Every second of work at full speed spends 1/60 credit, in whatever mode it is done, and only where nothing runs but
    at the baseline may more be spent than there is. So the work of a VM is never more than what its initial credits
    are enough for (`initial_work_s`), and this for each second: the rest is no less than its balance.
    """
    burstable = offer.vm_type.burstable
    if burstable is None:
        return float(offer.vcpus)
    sustained = max(burstable.credits_per_hour / 60, offer.vcpus * burstable.baseline_fraction)
    return min(float(offer.vcpus), sustained)


def initial_work_s(offer: RentalOffer) -> float:
    """Core seconds of work at full speed that the initial credits of a VM of a burstable offer are enough for."""
    burstable = offer.vm_type.burstable
    assert burstable is not None, "others have no credits"
    return 60 * (min(burstable.initial_credits, burstable.credit_cap) + LET_PASS_CREDITS)


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
