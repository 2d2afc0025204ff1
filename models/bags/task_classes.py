"""Classes of identical tasks, the VMs that may take them, and the bounds of what both need, have and cost.

Tasks are identical that take as long on every offer, and are as large wherever memory may bind. What burstable VMs can
do at most, and a task asks of them at least, is the ground of every relaxation of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.capacities import lower_of, slots_of
from ...core.errors import ModelRefusal
from ...core.quantities import FloatArray, IntArray
from ...instances.entries import BASELINE, FULL_SPEED, LACKING_CREDITS, NEVER, SECONDS_PER_CREDIT, RentalOffer
from ...instances.instance import Instance

MOST_CLASSES = 40
"""Classes that models of what a core runs take."""
MOST_CLASSES_OF_COLUMNS = 250
"""Classes that a model of what a VM runs takes."""


LET_PASS_CREDITS = 2 * LACKING_CREDITS
"""Credits that a plan may lack: what the checker lets pass, and rounding."""


@dataclass(frozen=True, slots=True)
class TaskClasses:
    """The bag by classes.

    Attributes
    ----------
    size : array of int, shape (n_classes,)
        Tasks of each class.
    group : array of int, shape (n_classes,)
        A group that stands for the class.
    tasks : tuple of arrays of int
        Tasks of each class, as indices into ``instance.task_ids``.
    """

    size: IntArray
    group: IntArray
    tasks: tuple[IntArray, ...]

    def __len__(self) -> int:
        return len(self.size)


def usable_offers(instance: Instance) -> list[RentalOffer]:
    """Rentable offers on which there is time to run some task."""
    ready_s = instance.ready_s.tolist()
    return [
        offer for offer in instance.offers if offer.limit and instance.time_limit_s(offer.market) > ready_s[offer.index]
    ]


def offers_of_vms(instance: Instance) -> list[RentalOffer]:
    """Rentable offers on which there is time to run some task, and those of machines."""
    usable = {offer.index for offer in usable_offers(instance)} | {*instance.machine_offer.tolist()}
    return [instance.offers[index] for index in sorted(usable)]


def memory_is_free(instance: Instance) -> bool:
    """True if memory can bind on no VM that may be rented, and on no machine."""
    return all(bool(instance.memory_never_binds[offer.type_index]) for offer in offers_of_vms(instance))


def has_more_classes(instance: Instance, most: int) -> bool:
    """True if tasks take more different times on one offer than there may be classes; False proves nothing."""
    seconds = instance.duration_s[instance.open_size > 0, :, FULL_SPEED]
    return len(seconds) > most and any(
        len(np.unique(seconds[:, offer.index])) > most for offer in offers_of_vms(instance)
    )


def task_classes(instance: Instance, *, from_state: bool = False) -> TaskClasses:
    """Collect the identical tasks of an instance with D_spot set, in the order of their first appearance.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    from_state : bool
        Whether the caller knows machines: tasks that run on them are in no class.

    Raises
    ------
    ModelRefusal
        If there are machines, and the caller knows VMs without tasks only.
    """
    if instance.machines and not from_state:
        raise ModelRefusal("models of classes of identical tasks plan bags from their beginning")
    offers = offers_of_vms(instance)
    parts = [instance.duration_s[:, [offer.index for offer in offers]].reshape(len(instance.tasks), -1)]
    # Where memory can bind nowhere, tasks of any size are alike: fewer classes make all models smaller.
    if not memory_is_free(instance):
        parts.append(instance.memory_kb[:, None])
    rows = np.concatenate(parts, axis=1)
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    class_of_task = rank[inverse.reshape(-1)][instance.task_group[instance.open_tasks]]
    by_class = instance.open_tasks[np.argsort(class_of_task, kind="stable")]
    size = np.bincount(class_of_task, minlength=len(order))
    tasks = np.split(by_class, np.cumsum(size)[:-1])
    # From a state, groups may be left of which no task is open.
    kept = np.flatnonzero(size)
    return TaskClasses(size[kept], first[order][kept], tuple([tasks[index] for index in kept.tolist()]))


def least_work_s(instance: Instance, offer: RentalOffer) -> FloatArray:
    """Core seconds at full speed that a task of each group does at least, shape (n_groups,); 0 where it cannot run.

    Durations are rounded up in each mode: whole seconds at the baseline, times its speed, may be less work than
    whole seconds at full speed.
    """
    full = instance.duration_s[:, offer.index, FULL_SPEED]
    work: FloatArray = np.where(full < NEVER, full, 0).astype(float)
    if offer.vm_type.burstable is None:
        return work
    slow = instance.duration_s[:, offer.index, BASELINE]
    at_baseline = np.where(slow < NEVER, slow, 0) * offer.vm_type.burstable.baseline_fraction
    least: FloatArray = np.where(slow < NEVER, np.minimum(work, at_baseline), work)
    return least


def effective_cores(offer: RentalOffer) -> float:
    """Number of cores at full speed for good of a VM; all of them where there are initial credits."""
    burstable = offer.vm_type.burstable
    return float(offer.vcpus) if burstable is None or burstable.initial_credits > 0 else sustained_cores(offer)


def sustained_cores(offer: RentalOffer) -> float:
    """Number of cores at full speed from what a VM earns, or from what all cores do at the baseline.

    Every second of work at full speed spends 1/60 credit, in whatever mode it is done, and only where nothing runs but
    at the baseline may more be spent than there is. So the work of a VM is never more than what its initial credits
    are enough for (`initial_work_s`), and this for each second: the rest is no less than its balance.
    """
    burstable = offer.vm_type.burstable
    if burstable is None:
        return float(offer.vcpus)
    sustained = max(burstable.credits_per_hour / SECONDS_PER_CREDIT, offer.vcpus * burstable.baseline_fraction)
    return min(float(offer.vcpus), sustained)


def initial_work_s(offer: RentalOffer) -> float:
    """Core seconds of work at full speed that the initial credits of a VM of a burstable offer are enough for."""
    burstable = offer.vm_type.burstable
    assert burstable is not None, "others have no credits"
    return SECONDS_PER_CREDIT * (min(burstable.initial_credits, burstable.credit_cap) + LET_PASS_CREDITS)


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
    # An offer that no task fits has no seconds: its price is huge then, and never asked for.
    most_s = np.maximum(np.minimum(most_s, last_s), 1e-9)
    least: FloatArray = (opening_usd + usd * np.maximum(most_s - paid_s, 0.0)) / most_s
    return least
