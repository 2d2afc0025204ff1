"""Facts proved by the bound of configurations, and what they rule out, for models."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...core.quantities import OPTIMALITY_TOLERANCE, BoolArray, FloatArray, IntArray
from ...instances.instance import Instance
from .simultaneous_tasks import Weighting


@dataclass(frozen=True, slots=True)
class ConfigurationBound:
    """A proven lower bound, the cuts that prove it, and what it rules out.

    Attributes
    ----------
    objective : float
        Lower bound of the objective; infinite if the instance is proved infeasible.
    makespan_s : int
        Lower bound of the makespan.
    weightings : dict of int to tuple of Weighting
        Cuts of each offer, by its index in ``instance.offers``.
    proofs : tuple of Proof
        Multipliers, from which `barred` and `latest_makespan_s` follow.
    """

    objective: float
    makespan_s: int
    weightings: dict[int, tuple[Weighting, ...]]
    proofs: tuple[Proof, ...]

    def barred(self, instance: Instance, objective: float) -> BoolArray:
        """Offers unused for a group by all plans below an objective, shape (n_groups, n_offers): reduced costs."""
        result = np.zeros((len(instance.tasks), len(instance.offers)), dtype=bool)
        for proof in self.proofs:
            # A plan that has a task where its price is above its least one costs that much more than the bound.
            spare = objective - proof.value + proof.margin + OPTIMALITY_TOLERANCE * abs(objective)
            with np.errstate(invalid="ignore"):
                result[:, proof.offers] |= proof.prices - proof.prices.min(axis=1)[:, None] > spare
        return result

    def latest_makespan_s(self, instance: Instance, objective: float) -> int:
        """Greatest makespan of a plan below an objective."""
        latest = instance.deadline_s
        for proof in self.proofs:
            if proof.slope > OPTIMALITY_TOLERANCE:
                rest = proof.value - proof.slope * self.makespan_s  # without the makespan
                spare = objective - rest + proof.margin + OPTIMALITY_TOLERANCE * abs(objective)
                latest = min(latest, math.floor(spare / proof.slope))
        return max(latest, self.makespan_s)


@dataclass(frozen=True, slots=True)
class Proof:
    """Multipliers of the linear programme: the objective is at least ``value``, and more for what they make dear.

    Attributes
    ----------
    value : float
        Lower bound.
    margin : float
        What rounding may have added to it.
    slope : float
        What each second of makespan after the least adds to it, if positive.
    offers : array of int
        Columns of the prices.
    prices : array, shape (n_groups, n_columns)
        Price of a task of each group on each offer; infinite where it cannot run.
    """

    value: float
    margin: float
    slope: float
    offers: IntArray
    prices: FloatArray
