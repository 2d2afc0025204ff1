"""Least prices of a second of VMs whose bill has an opening: a minimum, a block, a fixed part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.capacities import lower_of, slots_of
from ...core.quantities import FloatArray
from ...instances.entries import FULL_SPEED, RentalOffer
from ...instances.instance import Instance


def least_usd_per_s(instance: Instance, offers: Sequence[RentalOffer], *, shared: bool = False) -> FloatArray:
    """Cost of a new VM of each offer for each second in which it has a task, at least, shape (n_offers,).

    The longer a VM runs, the less is its opening for a second of it. It runs no longer than it may, and has tasks no
    longer than all of them take, one after the other.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    offers : sequence of RentalOffer
        The offers.
    shared : bool
        If true, a second counts in which all cores, or all memory, are taken; otherwise one in which anything is.
    """
    indices = [offer.index for offer in offers]
    usd, opening_usd, paid_s, _ = (of_offer[indices] for of_offer in instance.rents)
    if not opening_usd.any():
        return np.asarray(usd)
    last_s = np.array([instance.time_limit_s(offer.market) for offer in offers]) - instance.ready_s[indices]
    seconds = instance.duration_s[:, indices, FULL_SPEED]
    work = np.where(seconds <= last_s, seconds, 0) * instance.open_size[:, None]
    most_s = work.sum(axis=0).astype(float)
    if shared:
        slots, needed_kb = slots_of(instance.memory_kb), lower_of(instance.memory_kb)
        by_cores = (work * slots[:, None]).sum(axis=0) / [offer.vcpus for offer in offers]
        by_memory = (work * needed_kb[:, None]).sum(axis=0) / [lower_of(offer.memory_kb) for offer in offers]
        most_s = np.where([offer.burstable for offer in offers], np.inf, np.maximum(by_cores, by_memory))
    else:
        most_s[[offer.burstable for offer in offers]] = np.inf  # at the baseline, tasks take longer
    most_s = np.maximum(np.minimum(most_s, last_s), 1e-9)
    least: FloatArray = (opening_usd + usd * np.maximum(most_s - paid_s, 0.0)) / most_s
    return least
