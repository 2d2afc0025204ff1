"""CPU credits of a burstable VM in integers, and whether they matter at all.

A VM earns ``credits_per_hour``; a core at full speed spends 60 an hour, one at the baseline its fraction of that. In
units of 1/3600 credit all of these are per second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from ...core.quantities import BoolArray, IntArray, as_written
from ...instances.entries import BASELINE, FULL_SPEED, SECONDS_PER_CREDIT, RentalOffer
from ...instances.instance import Instance

_LEAST_SCALE = 10**7
_LARGEST_BALANCE = 2**58
_SCALE_OF_TOLERANCE = Fraction(10**6, 3600)
"""The scale at which one part is 1e-6 credits, which is what the checker lets pass."""

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


def credit_rules(
    offer: RentalOffer, horizon_s: int, most_scale: int | None = None, initial_credits: float | None = None
) -> CreditRules:
    """Credits of a VM of a burstable offer over a time, in integers.

    More than the cores can spend in that time is worth nothing: the balance is capped there.

    Parameters
    ----------
    offer : RentalOffer
        A burstable one.
    horizon_s : int
        The time, in seconds.
    most_scale : int, optional
        Most parts of 1/3600 credit that are counted; decimals that are finer are rounded in favour of the plan. Nothing
        is rounded if absent.
    initial_credits : float, optional
        Credits of a machine that exists, instead of those of the type; a balance above the cap is at the cap.
    """
    burstable = offer.vm_type.burstable
    assert burstable is not None
    if initial_credits is None:
        initial_credits = burstable.initial_credits
    rates = [
        as_written(burstable.credits_per_hour),
        SECONDS_PER_CREDIT * as_written(burstable.baseline_fraction),
        3600 * as_written(initial_credits),
        3600 * as_written(burstable.credit_cap),
    ]
    scale = math.lcm(*(rate.denominator for rate in rates))
    if most_scale is not None:
        scale = min(scale, most_scale)
    earned, baseline, initial, cap = (rate * scale for rate in rates)
    most = min(math.ceil(cap), scale * SECONDS_PER_CREDIT * offer.vcpus * max(horizon_s, 1))
    # In favour of the plan, so that a bound stays one: what is earned is rounded up, what is spent at the baseline
    # down.
    return CreditRules(
        scale=scale,
        earned=math.ceil(earned),
        full=SECONDS_PER_CREDIT * scale,
        baseline=math.floor(baseline),
        initial=min(math.ceil(initial), most),
        most=most,
    )


def solver_credit_rules(offer: RentalOffer, horizon_s: int, initial_credits: float | None = None) -> CreditRules:
    """Credits as `credit_rules` has them, in integers that a solver can take.

    What is rounded, less than a part in each second for what is earned and for what each core spends, amounts to less
    than the checker lets pass: a bound stays a bound, and a plan stays a plan.
    """
    seconds = max(horizon_s, 1)
    fine_enough = math.ceil((offer.vcpus + 1) * (seconds + 1) * _SCALE_OF_TOLERANCE)
    largest = _LARGEST_BALANCE // (SECONDS_PER_CREDIT * offer.vcpus * seconds)
    return credit_rules(offer, horizon_s, max(_LEAST_SCALE, min(fine_enough, largest)), initial_credits)


def full_speed_possible(instance: Instance, offer: RentalOffer, rules: CreditRules, horizon_s: int) -> BoolArray:
    """Groups of which a task could ever run at full speed on a burstable VM, and gain by it, shape (n_groups,).

    Alone on the VM, as late as it can start, with all credits earned until then. At a baseline as fast as full speed
    nothing is gained. The rules are those of the model that asks: what they round it can use.
    """
    result = np.zeros(len(instance.tasks), dtype=bool)
    for group in range(len(instance.tasks)):
        seconds = int(instance.duration_s[group, offer.index, FULL_SPEED])
        if seconds <= horizon_s and seconds < int(instance.duration_s[group, offer.index, BASELINE]):
            saved = min(rules.most, rules.initial + rules.earned * (horizon_s - seconds))
            result[group] = saved + (rules.earned - rules.full) * seconds >= 0
    return result


def credit_role(
    instance: Instance,
    offer: RentalOffer,
    rules: CreditRules,
    usable: BoolArray,
    horizon_s: int,
    busy_s: Sequence[int] = (),
) -> CreditRole:
    """Role of CPU credits on the VMs of a burstable offer.

    "always enough": even if all cores work at full speed all the time, or every task runs there at full speed.
    "never enough": no task can run at full speed, or gain by it.

    Parameters
    ----------
    rules : CreditRules
        Of a VM of the offer, as the model that asks counts them.
    usable : array of bool, shape (n_groups,)
        Groups that may run there.
    horizon_s : int
        Seconds from ready until the VM must end.
    busy_s : sequence of int
        For how long each task that runs there already goes on.
    """
    if not (full_speed_possible(instance, offer, rules, horizon_s) & usable).any():
        return "never enough"
    cores = min(offer.vcpus, int(instance.open_size[usable].sum()) + len(busy_s))
    seconds = np.where(usable, instance.duration_s[:, offer.index, FULL_SPEED], 0)
    everything = (int((seconds * instance.open_size).sum()) + sum(busy_s)) * rules.full
    # Enough for every task at full speed, or for all cores to the end beside what is earned: the lesser of both.
    enough = rules.initial >= min(everything, max(cores * rules.full - rules.earned, 0) * horizon_s)
    return "always enough" if enough else "to be planned"


def credits_count_at_the_end(instance: Instance, offer: RentalOffer, groups: IntArray, horizon_s: int) -> bool:
    """True if plans of a burstable VM need only full speed, and only as many credits as they spend until its end.

    So it is if the cap cannot bind, all cores at the baseline spend no more than is earned, and no task spends less at
    the baseline than at full speed. Then the balance never falls while nothing runs at full speed, and any plan of the
    VM remains one with all its tasks at full speed: no core works longer, no more is spent. Let every core wait first
    and work without a break up to the end of the VM. Of all plans with that end, it has then spent least at every
    moment; and what is spent is convex in time, what is earned is linear, so the balance is least at the beginning or
    at the end.

    Parameters
    ----------
    groups : array of int
        Groups that stand for the tasks.
    horizon_s : int
        Seconds from ready until the VM must end.
    """
    rules = credit_rules(offer, horizon_s)
    none_saves = all(
        at_baseline > horizon_s or at_full * rules.full <= at_baseline * rules.baseline
        for at_full, at_baseline in instance.duration_s[groups, offer.index].tolist()
    )
    return end_says_all(offer, horizon_s) and none_saves


def end_says_all(offer: RentalOffer, horizon_s: int) -> bool:
    """True if tasks at full speed have their credits if a VM has earned at its end what they have spent by then.

    The cap cannot bind, and cores at the baseline would spend no more than is earned.
    """
    rules = credit_rules(offer, horizon_s)
    never_capped = rules.most >= min(rules.initial + rules.earned * horizon_s, rules.full * offer.vcpus * horizon_s)
    return never_capped and offer.vcpus * rules.baseline <= rules.earned


def end_with_credits_s(rules: CreditRules, work_s: IntArray) -> IntArray:
    """Least seconds from ready until a VM has earned what its tasks spend at full speed, for sums of their seconds."""
    lacking = np.maximum(work_s.astype(object) * rules.full - rules.initial, 0)  # whole numbers of any size
    ends: IntArray = (-(-lacking // rules.earned)).astype(np.int64)
    return ends
