"""Cost, makespan and objective of a plan: one function each."""

from __future__ import annotations

from ..core.bill import Bill, unpaid_usd
from ..core.errors import input_error
from ..core.quantities import FloatArray, IntArray
from ..instances.instance import Instance


def vm_cost_usd(instance: Instance, vm_offer: IntArray, vm_paid_until_s: IntArray, vm_end_s: IntArray) -> FloatArray:
    """Bill of each VM, shape (n_vms,): its price for every second from ready to the end of its last task.

    Burst-HADS, section III-A: charged from omega after the launch until it terminates. What is paid already for a
    machine that exists is not paid again.
    """
    return unpaid_usd(instance.offer_price_usd_per_s[vm_offer], vm_end_s, vm_paid_until_s)


def bills_of(instance: Instance) -> list[Bill]:
    """Return the bill of a VM of each offer on the cloud of an instance."""
    if instance.cloud is None:
        return [Bill(offer.price_usd_per_s) for offer in instance.offers]
    from ..instances.clouds import find_cloud  # here, since not all ask for it

    return list(map(find_cloud(instance.cloud).billing.bill, instance.offers))


def require_by_second(instance: Instance) -> None:
    """Refuse an instance whose cloud bills in a way that plans, bounds and certificates do not know.

    They know VMs that are billed by the second (`vm_cost_usd`). With a least that is billed of each VM, bounds hold,
    and so does the cost of plans whose VMs all run for so long: `plan_text.least_text` says where it does not. A first
    hour that is free of VMs that are taken away makes no plan or rescue dearer.

    Raises
    ------
    InputError
        If it bills in blocks, or has a fixed part.
    """
    if instance.cloud is None:
        return
    bills = bills_of(instance)
    block_s, fixed_usd = max(bill.block_s for bill in bills), max(bill.fixed_usd for bill in bills)
    parts = [f"in blocks of {block_s:,} s"] if block_s > 1 else []
    parts += [f"$ {fixed_usd:g} for each start of a VM"] if fixed_usd else []
    if parts:
        raise input_error(
            instance.name,
            f"is of the cloud {instance.cloud}, which bills {' and '.join(parts)}; plans, bounds and certificates know "
            "VMs that are billed by the second: leave cloud out, and see by "
            f"'spotbag replay --cloud {instance.cloud}' what a plan costs there",
        )


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


def held_objective(instance: Instance) -> float:
    """Cost of machines for the tasks that run on them, in units of the objective."""
    return objective_weights(instance)[0] * held_usd(instance)


def held_usd(instance: Instance) -> float:
    """Cost of machines for the tasks that run on them, in dollars."""
    if not instance.machines:
        return 0.0
    price = instance.offer_price_usd_per_s[instance.machine_offer]
    return float((price * (instance.machine_held_s - instance.machine_paid_until_s)).sum())
