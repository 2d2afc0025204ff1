"""CPU credits of a burstable VM in integers, and whether they matter at all.

A VM earns ``credits_per_hour``; a core at full speed spends 60 an hour, one at the baseline its fraction of that. In
units of 1/3600 credit all of these are per second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from ...core.quantities import BoolArray
from ...instances.durations import BASELINE, FULL_SPEED
from ...instances.entries import RentalOffer
from ...instances.instance import Instance

CREDIT_SCALE_LIMIT = 10**7
"""Most parts of 1/3600 credit that are counted. Finer decimals are rounded in favour of the plan, together by less than
the 1e-6 credits that the checker lets pass: a bound stays a bound and a plan stays a plan."""

_FULL_PER_S = 60

CreditRole: TypeAlias = Literal["no credits", "always enough", "never enough", "to be planned"]


@dataclass(frozen=True, slots=True)
class CreditRules:
    """Credits of a VM in ``scale`` parts of 1/3600 credit.

    Attributes
    ----------
    scale : int
        Parts of 1/3600 credit.
    earned, full, baseline : int
        Earned in a second, and spent in a second by a core at full speed and at the baseline.
    initial, most : int
        Balance when the VM is ready, and the largest.
    """

    scale: int
    earned: int
    full: int
    baseline: int
    initial: int
    most: int


def credit_rules(offer: RentalOffer, horizon_s: int) -> CreditRules:
    """Credits of a VM of a burstable offer over a time, in integers.

    More than the cores can spend in that time is worth nothing: the balance is capped there.
    """
    burstable = offer.vm_type.burstable
    assert burstable is not None
    rates = [
        _decimal(burstable.credits_per_hour),
        _FULL_PER_S * _decimal(burstable.baseline_fraction),
        3600 * _decimal(burstable.initial_credits),
        3600 * _decimal(burstable.credit_cap),
    ]
    scale = min(math.lcm(*(rate.denominator for rate in rates)), CREDIT_SCALE_LIMIT)
    earned, baseline, initial, cap = (rate * scale for rate in rates)
    most = min(math.ceil(cap), scale * _FULL_PER_S * offer.vcpus * max(horizon_s, 1))
    return CreditRules(
        scale=scale,
        earned=math.ceil(earned),
        full=_FULL_PER_S * scale,
        baseline=math.floor(baseline),
        initial=min(math.ceil(initial), most),
        most=most,
    )


def full_speed_possible(instance: Instance, offer: RentalOffer, horizon_s: int) -> BoolArray:
    """Groups of which a task could ever run at full speed on a burstable VM, and gain by it, shape (n_groups,).

    Alone on the VM, as late as it can start, with all credits earned until then. At a baseline as fast as full speed
    nothing is gained.
    """
    rules = credit_rules(offer, horizon_s)
    result = np.zeros(len(instance.tasks), dtype=bool)
    for group in range(len(instance.tasks)):
        seconds = int(instance.duration_s[group, offer.index, FULL_SPEED])
        if seconds <= horizon_s and seconds < int(instance.duration_s[group, offer.index, BASELINE]):
            saved = min(rules.most, rules.initial + rules.earned * (horizon_s - seconds))
            result[group] = saved + (rules.earned - rules.full) * seconds >= 0
    return result


def credit_role(instance: Instance, offer: RentalOffer, usable: BoolArray, horizon_s: int) -> CreditRole:
    """What credits mean on the VMs of an offer.

    "always enough": even if all cores work at full speed all the time, or every task runs there at full speed.
    "never enough": no task can run at full speed, or gain by it.

    Parameters
    ----------
    usable : array of bool, shape (n_groups,)
        Groups that may run there.
    horizon_s : int
        Seconds from ready until the VM must end.
    """
    if not offer.burstable:
        return "no credits"
    if not (full_speed_possible(instance, offer, horizon_s) & usable).any():
        return "never enough"
    rules = credit_rules(offer, horizon_s)
    cores = min(offer.vcpus, int(instance.group_size[usable].sum()))
    seconds = np.where(usable, instance.duration_s[:, offer.index, FULL_SPEED], 0)
    everything = int((seconds * instance.group_size).sum()) * rules.full
    enough = rules.initial >= min(everything, max(cores * rules.full - rules.earned, 0) * horizon_s)
    return "always enough" if enough else "to be planned"


def _decimal(value: float) -> Fraction:
    """A number as it was written."""
    return Fraction(repr(float(value)))
