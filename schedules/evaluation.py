"""Cost, makespan and objective of a plan: one function each."""

from __future__ import annotations

import numpy as np

from ..core.quantities import FloatArray, IntArray
from ..instances.instance import Instance


def vm_cost_usd(instance: Instance, vm_offer: IntArray, vm_paid_until_s: IntArray, vm_end_s: IntArray) -> FloatArray:
    """Bill of each VM, shape (n_vms,): its price for every second from ready to the end of its last task.

    Burst-HADS, section III-A: charged from omega after the launch until it terminates. What is paid already for a
    machine that exists is not paid again.
    """
    paid_s: IntArray = np.maximum(vm_end_s - vm_paid_until_s, 0)
    return instance.offer_price_usd_per_s[vm_offer] * paid_s


def makespan_s(task_end_s: IntArray) -> int:
    """End of the last task, counted from the start of the application."""
    return int(task_end_s.max(initial=0))


def objective_weights(instance: Instance) -> tuple[float, float]:
    """Value of a dollar and of a second of makespan, in units of the objective."""
    weight = instance.cost_weight
    return weight / instance.cost_scale_usd, (1 - weight) / instance.makespan_scale_s


def objective_value(instance: Instance, cost_usd: float, makespan_s: float) -> float:
    """Weighted sum of cost and makespan, both in units of their scales (Burst-HADS eq. 1 and 8).

    For the goals ``cheapest`` and ``fastest``, the cost or the makespan itself.
    """
    weight = instance.cost_weight
    return weight * cost_usd / instance.cost_scale_usd + (1 - weight) * makespan_s / instance.makespan_scale_s
