"""D_spot: how late spot VMs may run so that a hibernated VM's tasks can still be done elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from ...core.errors import input_error
from ...instances.entries import NEVER, Quota, VmType
from ...instances.instance import Instance
from ...schedules.timing import VmTimeline, require_no_dates


def with_d_spot(instance: Instance, rule: Literal["paper"] | None = None, made_for_s: int | None = None) -> Instance:
    """Return the instance with ``d_spot_s`` set, if spot VMs can be rented or exist.

    That is: as given; else estimated by Algorithm 1 of HADS where the rule of the instance is ``paper``; else that of
    a plan; else the deadline, which keeps no plan out: what a plan must survive is then asked of the plan itself.

    Parameters
    ----------
    instance : Instance
        The problem.
    rule : {"paper"}, optional
        Instead of that of the instance.
    made_for_s : int, optional
        D_spot that a plan, which is read for the instance, was made for; without meaning if negative.

    Raises
    ------
    InputError
        If it must be estimated and cannot be; see `estimate_d_spot`.
    """
    if instance.d_spot_s is not None or not spot_offers(instance):
        return instance
    if (rule or instance.d_spot_rule) == "paper":
        return instance.replace(d_spot_s=estimate_d_spot(instance))
    latest_s = instance.deadline_s if made_for_s is None or made_for_s < 0 else made_for_s
    return instance.replace(d_spot_s=min(latest_s, instance.deadline_s))


def spot_offers(instance: Instance) -> list[int]:
    """Spot offers, as indices into ``instance.offers``, that a plan can have VMs of: new ones, or machines."""
    exist = set(instance.machine_offer.tolist())
    return [
        offer.index for offer in instance.offers if offer.market == "spot" and (offer.limit or offer.index in exist)
    ]


def d_spot_warning(given: Instance, resolved: Instance) -> str:
    """Say so if an estimated D_spot shuts out all spot VMs; empty otherwise.

    Parameters
    ----------
    given, resolved : Instance
        Before and after `with_d_spot`.
    """
    if given.d_spot_s is not None or resolved.d_spot_s is None or resolved.machines:
        return ""
    spot = spot_offers(resolved)
    shortest = int((resolved.duration_s[:, spot].min(axis=(0, 2)) + resolved.ready_s[spot]).min())
    if shortest <= resolved.d_spot_s:
        return ""
    return (
        f"D_spot is estimated at {resolved.d_spot_s} s, too early for any task on a spot VM, so none is used. "
        "The estimate keeps enough time to do the longest tasks again on demand; give d_spot_s (--d-spot) "
        "if you accept less, or raise limits.max_on_demand"
    )


def estimate_d_spot(instance: Instance) -> int:
    """Estimate D_spot (HADS Algorithm 1, compute_Dspot).

    The tasks are spread over as many on-demand VMs as may run at once: ``n = ceil(|B| / max_on_demand)`` each (line
    1). The n longest (line 2) on the slowest VM (line 3) take ``mkp_w`` (line 7), and
    ``D_spot = max(D - (mkp_w + alpha), 0)`` (line 8), with alpha the migration overhead.

    Returns
    -------
    int
        D_spot in seconds from the start of the application.

    Raises
    ------
    InputError
        If there is no on-demand offer, or a limit of none, or a task may not be on demand: there is nowhere to migrate
        to; or if tasks have dates. Give ``d_spot_s`` then.

    Notes
    -----
    The paper does not say which VM is the slowest and how the makespan is got. Here: the type on which its own n
    longest tasks take longest, by list scheduling, longest task first, on all cores and with its memory. Burstable
    types do not count; they are no target of the paper's migrations (unless there are no others, at the baseline).
    Without ``limits.max_on_demand``, the limits of the on-demand offers together stand for it. No more VMs than quotas
    allow are counted on. Tasks run without checkpoints on the VMs they would be migrated to. ``markets`` does not
    matter: it restricts the plan, not what may rescue it.
    """
    require_no_dates(instance, "Algorithm 1 of HADS", "give d_spot_s (--d-spot)")
    regular = [offer for offer in instance.offers if not offer.burstable]
    cap, quotas = instance.limits.max_on_demand, instance.limits.quotas
    # Quotas may allow fewer VMs than the limit does; without a limit, those of all offers stand for it.
    if cap is None or quotas:
        within_quotas = _vms_within(quotas, [kind for kind in instance.vm_types if "on-demand" in kind.offers])
        cap = within_quotas if cap is None else min(cap, within_quotas)
    if cap == 0 or not any(offer.market == "on-demand" for offer in instance.offers):
        raise input_error(
            instance.name, "D_spot cannot be estimated: no on-demand VM may be rented to migrate to; give d_spot_s"
        )
    stays = np.flatnonzero(~instance.may_be_on_demand)
    if len(stays):
        name = instance.group_ids[stays[0]]
        rule = f"D_spot cannot be estimated: task {name!r} may not be on demand (markets), so nothing can rescue it"
        raise input_error(instance.name, f"{rule}; give d_spot_s")
    longest = math.ceil(instance.n_tasks / cap)
    types = {offer.type_index for offer in regular} or {offer.type_index for offer in instance.offers}
    worst = max(_makespan_of_longest(instance, type_index, longest) for type_index in types)
    return max(instance.deadline_s - (worst + instance.migration_overhead_s), 0)


def _vms_within(quotas: Sequence[Quota], vm_types: Sequence[VmType]) -> int:
    """Return a number of VMs on demand that limits of types and quotas allow: those first that count least."""
    weights = [[quota.weight(vm_type, "on-demand") for quota in quotas] for vm_type in vm_types]
    left, vms = [quota.most for quota in quotas], 0
    for row, vm_type in sorted(zip(weights, vm_types, strict=True), key=lambda pair: max(pair[0], default=0)):
        limit = vm_type.offers["on-demand"].limit
        taken = min([limit, *(most // weight for weight, most in zip(row, left, strict=True) if weight)])
        left = [most - taken * weight for weight, most in zip(row, left, strict=True)]
        vms += taken
    return vms


def _makespan_of_longest(instance: Instance, type_index: int, count: int) -> int:
    """Makespan of the longest tasks of a VM type on one VM of it, longest first, once that is set up."""
    vm_type = instance.vm_types[type_index]
    runtime = instance.runtime_s[:, type_index].astype(float)
    if vm_type.burstable is not None:
        runtime = np.ceil(runtime / vm_type.burstable.baseline_fraction)
    able = np.flatnonzero(instance.runtime_s[:, type_index] < NEVER)
    by_length = able[np.argsort(-runtime[able], kind="stable")]
    groups = np.repeat(by_length, instance.group_size[by_length])[:count]
    offer = next(offer for offer in instance.offers if offer.type_index == type_index)
    memory_kb = None if instance.memory_never_binds[type_index] else offer.memory_kb
    timeline = VmTimeline(vm_type.vcpus, memory_kb)
    for group in groups.tolist():
        need_kb, seconds = int(instance.memory_kb[group]), int(runtime[group])
        start = timeline.earliest_start_s(need_kb, seconds)
        assert start is not None, "a task with a run time on a type fits its memory"
        timeline.append(start, need_kb, seconds)
    return vm_type.setup_s + timeline.end_s
