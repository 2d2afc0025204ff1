"""Limits of several offers together, of markets and of quotas: what they leave, and what they allow at most.

`Instance.group_limits` has them: weights of the VMs of each offer, and the most that the VMs of a plan may weigh.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..core.quantities import EXCESS, NOISE, FloatArray, IntArray
from .entries import Limits, RentalOffer

if TYPE_CHECKING:
    from .instance import Instance


class VmsLeft:
    """A count of the VMs that are left to be rented, of a plan of which some are.

    Parameters
    ----------
    instance : Instance
        The bag.
    rented : array of int, shape (n_offers,), optional
        VMs of each offer that are rented already; none if absent.
    """

    def __init__(self, instance: Instance, rented: IntArray | None = None) -> None:
        groups = instance.group_limits
        self._of_offer = [offer.limit for offer in instance.offers]
        self._of_group = [group.most for group in groups]
        self._groups_of: list[list[tuple[int, int]]] = [
            [(number, int(group.weights[index])) for number, group in enumerate(groups) if group.weights[index]]
            for index in range(len(self._of_offer))
        ]
        for index in () if rented is None else np.flatnonzero(rented).tolist():
            self.take(index, int(rented[index]))  # type: ignore[index]

    def of(self, offer: int) -> int:
        """Further VMs of an offer that may be rented; below 0 if there are too many."""
        left = self._of_offer[offer]
        for group, weight in self._groups_of[offer]:
            left = min(left, self._of_group[group] // weight)
        return left

    def take(self, offer: int, vms: int = 1) -> None:
        """Rent VMs of an offer."""
        self._of_offer[offer] -= vms
        for group, weight in self._groups_of[offer]:
            self._of_group[group] -= vms * weight


def limits_of(limits: Limits, offers: Iterable[RentalOffer]) -> list[tuple[FloatArray, float]]:
    """Return the limits of several offers as they are given, whatever exists: weights of some offers, and the most."""
    counted = list(offers)
    return [
        (np.array([float(quota.weight(offer.vm_type, offer.market)) for offer in counted]), float(quota.most))
        for _, quota in limits.of_groups()
    ]


def keeps_group_limits(instance: Instance, offers: IntArray, vms: IntArray) -> bool:
    """True if numbers of VMs of some offers keep the limits of groups.

    Parameters
    ----------
    instance : Instance
        The bag.
    offers : array of int, shape (n_used,)
        The offers.
    vms : array of int, shape (n_used,)
        How many of each are rented.
    """
    return all(group.weights[offers] @ vms <= group.most for group in instance.group_limits)


def binding_limits(instance: Instance, offers: Iterable[RentalOffer]) -> list[tuple[FloatArray, float]]:
    """Return limits of several of some offers that those of the offers do not imply.

    Returns
    -------
    list of (array of float of shape (n_used,), float)
        Weight of a VM of each of these offers, and the most that the VMs may weigh together: whole numbers.
    """
    counted = list(offers)
    indices = [offer.index for offer in counted]
    # No plan has more VMs of an offer than there are tasks: limits above that bind nothing, and only enlarge models.
    vms = np.array([min(offer.limit, instance.n_tasks) for offer in counted], dtype=np.int64)
    limits = ((group.weights[indices].astype(float), float(group.most)) for group in instance.group_limits)
    return [(weights, most) for weights, most in limits if weights @ vms > most]


def one_limit_each(limits: Sequence[tuple[FloatArray, float]]) -> list[tuple[FloatArray, float]]:
    """Return limits in which each offer counts in one only, a relaxation: in that which leaves fewest VMs of it."""
    # Weights are whole numbers: the 1 only keeps those that do not count from dividing by 0.
    alone = np.array([np.where(weights > 0, most / np.maximum(weights, 1), np.inf) for weights, most in limits])
    return [(np.where(alone.argmin(axis=0) == k, weights, 0), most) for k, (weights, most) in enumerate(limits)]


def most_within(values: FloatArray, vms: FloatArray, limits: Sequence[tuple[FloatArray, float]]) -> int:
    """Return a bound of what VMs are worth together within limits, if each is worth a whole number.

    Parameters
    ----------
    values, vms : array of float, shape (n_used,)
        See `most_worth`.
    limits : sequence of (array of float of shape (n_used,), float)
        See `binding_limits`.
    """
    worth = float(values @ most_worth(values, vms, one_limit_each(limits)))
    # Parts of VMs that come to a whole number together may be a rounding error below it.
    return math.floor(worth * (1 + EXCESS) + NOISE)


def most_worth(values: FloatArray, vms: FloatArray, limits: Sequence[tuple[FloatArray, float]]) -> FloatArray:
    """Return numbers of VMs, cut if need be, that are worth most within limits in which each offer counts once.

    Parameters
    ----------
    values : array of float, shape (n_used,)
        Worth of a VM of each offer.
    vms : array of float, shape (n_used,)
        Most VMs of each.
    limits : sequence of (array of float of shape (n_used,), float)
        See `one_limit_each`.
    """
    result = vms.copy()
    for weights, most in limits:
        mine = np.flatnonzero(weights)
        # The most worth for its weight first: taken in parts, that is optimal (Dantzig, 1957).
        mine = mine[np.argsort(-values[mine] / weights[mine], kind="stable")]
        need = (vms * weights)[mine]
        result[mine] = np.clip(most - (need.cumsum() - need), 0, need) / weights[mine]
    return result
