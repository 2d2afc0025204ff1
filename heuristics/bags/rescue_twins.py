"""The rule of twins: every spot VM has one on demand, which goes on with what is lost in the same order."""

from __future__ import annotations

import numpy as np

from ...core.bill import unpaid_usd
from ...core.quantities import IntArray
from ...instances.durations import NEVER
from ...schedules.schedule import Schedule


class Twins:
    """The rule of twins: see `certify`."""

    def __init__(self, schedule: Schedule) -> None:
        instance = schedule.instance
        self._instance = instance
        self._vm_ids = schedule.vm_ids
        self._overhead_s = overhead = max(instance.boot_overhead_s, instance.migration_overhead_s)
        self.spot = np.flatnonzero(instance.offer_is_spot[schedule.vm_offer])
        self._offers = [instance.offers[index] for index in schedule.vm_offer.tolist()]
        loss = _longest_loss_s(schedule)
        core = np.concatenate([[0], np.cumsum(schedule.vm_vcpus)])[schedule.task_vm] + schedule.task_core
        binds = ~instance.memory_never_binds[[offer.type_index for offer in self._offers]][schedule.task_vm]
        # Tasks move together: those of a core, or of a VM where memory may bind.
        unit = np.where(binds, len(core) + int(schedule.vm_vcpus.sum()) + schedule.task_vm, core)
        on_spot = instance.offer_is_spot[schedule.vm_offer][schedule.task_vm]
        units, place = np.unique(unit[on_spot], return_inverse=True)
        self._unit = place
        self.task_vm, self.task_core = schedule.task_vm[on_spot], schedule.task_core[on_spot]
        self._start_s, self._end_s = schedule.task_start_s[on_spot], schedule.task_end_s[on_spot]
        end, longest = np.zeros((2, len(units)), dtype=np.int64)
        np.maximum.at(end, place, schedule.task_end_s[on_spot])
        np.maximum.at(longest, place, loss[on_spot])
        self.end_s = np.zeros(len(self._offers), dtype=np.int64)
        np.maximum.at(self.end_s, schedule.task_vm[on_spot], (end + longest + overhead)[place])
        self._planned_end_s = schedule.vm_end_s
        self._ready_s, self._paid_until_s = schedule.vm_ready_s, schedule.vm_paid_until_s
        self._planned_usd = schedule.cost_usd

    def missing(self) -> str:
        """Say what keeps the rule from being fulfilled; empty if nothing does."""
        instance = self._instance
        if not len(self.spot):
            return ""
        for vm in self.spot.tolist():
            if self._offers[vm].burstable or "on-demand" not in self._offers[vm].vm_type.offers:
                return f"no twin of {self._vm_ids[vm]!r} can be rented: its type is not a regular one on demand"
            if self.end_s[vm] > instance.deadline_s:
                return (
                    f"a twin of {self._vm_ids[vm]!r} could end at {self.end_s[vm]:,} s, after the deadline; end spot "
                    "earlier (d_spot_s), or allow a later deadline"
                )
        for vm_type in instance.vm_types:
            vms = [offer for offer in self._offers if offer.vm_type.name == vm_type.name]
            if any(offer.market == "spot" for offer in vms) and len(vms) > vm_type.offers["on-demand"].limit:
                limit = vm_type.offers["on-demand"].limit
                return f"the {len(vms)} VMs of {vm_type.name} are more than its limit of {limit} on demand"
        most = instance.limits.max_on_demand
        if most is not None and len(self._offers) > most:
            return f"all {len(self._offers)} VMs are more than limits.max_on_demand, {most}"
        return ""

    def start_s(self, task: IntArray, left_s: IntArray, at_s: int) -> IntArray:
        """Return when lost tasks start on the twins: what ran at once, all others so much later as that takes longer.

        Parameters
        ----------
        task, left_s : array of int
            Tasks, counted among those on spot VMs, and what is left of each on the twin, in seconds.
        at_s : int
            When their VMs go down.
        """
        ran = self._start_s[task] <= at_s
        later = np.zeros(int(self._unit.max(initial=-1)) + 1, dtype=np.int64)
        np.maximum.at(later, self._unit[task[ran]], left_s[ran] - (self._end_s[task[ran]] - at_s))
        start_s: IntArray = np.where(ran, at_s, self._start_s[task] + later[self._unit[task]]) + self._overhead_s
        return start_s

    def worst_cost_usd(self) -> float:
        """Return the most that the plan costs if each spot VM goes down at its worst moment, or never."""
        boot = self._instance.boot_overhead_s
        more = 0.0
        for vm in self.spot.tolist():
            offer, end_s = self._offers[vm], int(self.end_s[vm])
            planned_s, paid_s = int(self._planned_end_s[vm]), int(self._paid_until_s[vm])
            price = offer.vm_type.offers["on-demand"].price_usd_per_hour / 3600
            # The later it goes down, the longer it is paid for, and the shorter its twin.
            bills = [
                unpaid_usd(offer.price_usd_per_s, at_s, paid_s) + price * (end_s - at_s - boot)
                for at_s in (int(self._ready_s[vm]), planned_s - 1)
            ]
            planned_usd = unpaid_usd(offer.price_usd_per_s, planned_s, paid_s)
            more += max(*bills, planned_usd) - planned_usd
        return self._planned_usd + more

    @property
    def least_slack_s(self) -> int | None:
        """Seconds by which the twins end before the deadline, at least; None without spot VMs."""
        return int(self._instance.deadline_s - self.end_s[self.spot].max()) if len(self.spot) else None


def _longest_loss_s(schedule: Schedule) -> IntArray:
    """Most seconds by which each task ends later if it goes on from its last checkpoint, without an overhead."""
    instance = schedule.instance
    interval = schedule.checkpoint_interval_s
    period = np.where(np.isfinite(interval), interval + instance.dump_s[instance.task_group], np.inf)
    burstable = instance.offer_is_burstable[schedule.vm_offer[schedule.task_vm]]
    # With k of n checkpoints written, less than (k + 1)(interval + dump) has passed, and what is left is rounded up:
    # ceil(r - k interval) + passed - ceil(r + n dump) < 1 + interval + dump.
    most = np.where(np.isfinite(period) & ~burstable, np.ceil(period), float(NEVER))
    return np.minimum(schedule.task_duration_s - 1, most.astype(np.int64))
