"""Window of the makespans of plans better than a given one."""

from __future__ import annotations

import math

import numpy as np

from ...instances.instance import Instance
from ...models.bags.makespan_bounds import MakespanWindow, makespan_lower_bound_s
from ...models.bags.task_classes import offers_of_vms, usable_offers
from ...schedules.timing import objective_weights
from ..programme import MOST_COLUMNS, TOLERANCE
from .divisible_programme import DivisibleProgramme


def makespan_window(instance: Instance, at_most: float = math.inf) -> MakespanWindow:
    """Makespans of plans whose objective is at most a given one.

    Outside of the window, even tasks that may be cut cost more: least and largest T of the divisible linear programme
    with ``objective <= at_most``.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    at_most : float
        Objective of a plan that is known; infinite if there is none.
    """
    ready = 0 if instance.machines else instance.boot_overhead_s
    limits = [instance.time_limit_s(offer.market) - ready for offer in offers_of_vms(instance)]
    limits += [end_s for end_s in instance.running_end_s.tolist() if end_s <= instance.deadline_s]
    earliest = makespan_lower_bound_s(instance) - ready
    latest = max(limits, default=0)
    if math.isinf(at_most) or earliest > latest:
        return MakespanWindow(earliest, latest)
    time_weight = objective_weights(instance)[1]
    if time_weight > 0:
        latest = min(latest, math.floor(at_most * (1 + TOLERANCE) / time_weight) - ready)
    too_large = len(instance.tasks) * len(usable_offers(instance)) > MOST_COLUMNS
    if earliest > latest or instance.machines or too_large:  # the linear programme knows no machines
        return MakespanWindow(earliest, latest)
    return _divisible_window(instance, at_most, earliest, latest)


def _divisible_window(instance: Instance, at_most: float, earliest: int, latest: int) -> MakespanWindow:
    """Narrow a window by the divisible linear programme of plans up to an objective."""
    programme = DivisibleProgramme(instance, earliest, latest)
    n_offers = len(programme.offers)
    programme.set_bounds(np.zeros(n_offers), programme.vms * programme.limits_s, 1)
    scale = 1e4 / at_most  # far above the solver's absolute tolerances
    room = at_most * (1 + TOLERANCE) - programme.time_weight * programme.ready
    prices = np.r_[programme.time_weight, programme.price]
    programme.add_row(np.arange(1 + n_offers), prices * scale, upper=room * scale)
    for k in range(n_offers):
        programme.set_cost(1 + k, 0.0)
    slack_s = 1e-3 + 1e-6 * latest  # far above what the tolerances of the solver can be off
    for sign in (1.0, -1.0):
        programme.set_cost(0, sign)
        if programme.solve():
            found_s = sign * programme.objective
            earliest = max(earliest, math.ceil(found_s - slack_s)) if sign > 0 else earliest
            latest = min(latest, math.floor(found_s + slack_s)) if sign < 0 else latest
        elif programme.infeasible:
            return MakespanWindow(latest + 1, latest)
    return MakespanWindow(earliest, latest)
