"""All ways of doing a task that the clairvoyant bound tells apart, and what they take: written down, not searched."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from spotbag.instances.entries import NEVER
from spotbag.instances.instance import Instance

MOST_COUNTED = 6
"""More checkpoints than these on an offer are a share of the work there."""


class Part(NamedTuple):
    """Work on an offer: as a fraction of the task, at most ``most`` of it; core seconds for all of the task there."""

    offer: int
    most: float
    core_s: float


class Way(NamedTuple):
    """Parts of which the task can be made, those of an offer no more than ``most`` together, and what is written."""

    parts: list[Part]
    most: dict[int, float]
    written_s: dict[int, float]


def ways(problem: Instance, group: int, up_s: list[float]) -> Iterator[Way]:
    """Yield the ways of a group on a day on which offers are up for so many seconds."""
    offers = [k for k, offer in enumerate(problem.offers) if problem.offer_runtime_s[group, offer.index] < NEVER]
    work_s = {k: float(problem.offer_runtime_s[group, k]) for k in offers}
    if problem.checkpoint is None:
        offers = [k for k in offers if work_s[k] <= up_s[k]]
    offers = [k for k in offers if up_s[k] > 0]
    dump_s, interval_s = float(problem.dump_s[group]), float(problem.checkpoint_interval_s[group])
    if not dump_s:
        yield Way([Part(k, min(up_s[k] / work_s[k], 1.0), work_s[k]) for k in offers], {}, {})
        return
    saved_s = {k: interval_s if problem.offers[k].market == "spot" else work_s[k] for k in offers}
    number = {k: math.ceil(work_s[k] / saved_s[k]) for k in offers}
    counted = [k for k in offers if number[k] <= MOST_COUNTED]
    for last in offers:
        for written in product(*(range(number[k] + 1) for k in counted)):
            if sum(max(b - 1, 0) * saved_s[k] / work_s[k] for k, b in zip(counted, written, strict=True)) < 1:
                parts, most = [], {}
                for k, b in zip(counted, written, strict=True):
                    seconds = min(saved_s[k] * (b + (k == last)), up_s[k] - dump_s * b)
                    parts.append(Part(k, min(max(seconds, 0.0) / work_s[k], 1.0), work_s[k]))
                for k in set(offers) - set(counted):
                    rate = dump_s / saved_s[k]
                    of_last_s = saved_s[k] if k == last else 0.0
                    most[k] = min((up_s[k] + rate * of_last_s) / (1 + rate), up_s[k], work_s[k]) / work_s[k]
                    parts.append(Part(k, of_last_s / work_s[k], work_s[k]))
                    parts.append(Part(k, 1.0, work_s[k] * (1 + rate)))
                yield Way(parts, most, {k: dump_s * b for k, b in zip(counted, written, strict=True) if b})


def least_usd(problem: Instance, group: int, up_s: list[float], core_price: list[float]) -> float:
    """What a task costs at least if a second of a core of each offer has a price: each way by its cheapest parts."""
    least = math.inf
    for way in ways(problem, group, up_s):
        cost = sum(core_price[k] * seconds for k, seconds in way.written_s.items())
        undone, done = 1.0, dict.fromkeys(range(len(up_s)), 0.0)
        for part in sorted(way.parts, key=lambda part: part.core_s * core_price[part.offer]):
            k = part.offer
            share = max(min(undone, part.most, way.most.get(k, math.inf) - done[k]), 0.0)
            done[k] += share
            undone -= share
            cost += share * part.core_s * core_price[k]
        least = cost if undone < 1e-9 and cost < least else least
    return least
