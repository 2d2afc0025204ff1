"""The weighted round robin by which HADS chooses the type of a new spot VM."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ...instances.durations import NEVER
from ...instances.entries import RentalOffer
from ...instances.instance import Instance


def interleaved_round_robin(weights: Sequence[int]) -> Iterator[int]:
    """Yield positions for ever, each as often as its weight says, interleaved as in the Linux Virtual Server.

    The weight asked for falls by the greatest common divisor with every round, and wraps to the largest; in each
    round the positions with at least that weight are drawn, in their order.

    Parameters
    ----------
    weights : sequence of int
        Positive weights; there must be at least one.
    """
    if not weights or min(weights) < 1:
        raise ValueError("weights must be positive, and at least one")
    step = math.gcd(*weights)
    asked = max(weights)
    while True:
        yield from (position for position, weight in enumerate(weights) if weight >= asked)
        asked -= step
        if asked <= 0:
            asked = max(weights)


def offer_weights(ranks: Sequence[float]) -> list[int]:
    """Integer weights 1 to 3 of ranks: ``ceil(2 (r - min) / (max - min)) + 1``, all 1 if the ranks are the same.

    HADS eq. 3 gives the rank, Gflops per price; that it becomes such a weight is in no paper, but it is what
    reproduces the VM mixes of HADS Table 9.
    """
    low, high = min(ranks), max(ranks)
    if not high > low:
        return [1] * len(ranks)
    return [math.ceil(2 * (rank - low) / (high - low)) + 1 for rank in ranks]


def offer_ranks(instance: Instance, offers: Sequence[RentalOffer]) -> list[float]:
    """Computing power per price of each offer (HADS eq. 3).

    If some VM type gives no ``gflops``, the power of all is taken to be their cores by the speed at which they run
    the tasks, relative to the fastest type for each task.
    """
    if all(offer.vm_type.gflops is not None for offer in offers):
        powers = [offer.vm_type.gflops or 0.0 for offer in offers]
    else:
        columns = [offer.type_index for offer in offers]
        runtime = instance.runtime_s[:, columns].astype(float)
        speed = np.where(runtime < NEVER, runtime.min(axis=1, keepdims=True) / runtime, 0.0)
        means = instance.group_size @ speed / instance.n_tasks
        powers = [offer.vcpus * float(mean) for offer, mean in zip(offers, means, strict=True)]
    return [power / offer.price_usd_per_s for power, offer in zip(powers, offers, strict=True)]
