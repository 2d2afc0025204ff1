"""Rescues by twins: what a spot VM loses is done on a VM of the same type on demand, in the order of the plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from fractions import Fraction

import numpy as np

from ...core.quantities import IntArray
from .bill import bill_usd
from .survival_losses import AvailableVms, Losses, RescueType


class Twins:
    """Twins of the spot VMs of a plan.

    A task that runs when its VM goes down has a *loss*: what is left of it, less what it would still have taken. All
    that comes after it on its core is late by the overhead and that loss, or by less; where memory may bind, all that
    comes after it on the VM.
    """

    def __init__(self, losses: Losses) -> None:
        self.losses = losses
        self._longest_s: dict[tuple[int, str, int, int], int] = {}

    def _type(self, vm: int) -> RescueType:
        """Type of the twin of a VM."""
        return self.losses.types[self.losses.type_number[self.losses.market_type[vm][0]]]

    def _loss_s(self, row: int, at_s: int) -> int:
        name = self.losses.market_type[int(self.losses.plan.task_vm[row])][0]
        left_s = self.losses.left_s(row, at_s)[self.losses.type_number[name]]
        return max(left_s - (int(self.losses.plan.task_end_s[row]) - at_s), 0)

    def _moments_s(self, row: int) -> list[int]:
        """Seconds before a task or one of its checkpoints ends: the loss is largest at one of them."""
        start_s, end_s = int(self.losses.plan.task_start_s[row]), int(self.losses.plan.task_end_s[row])
        marks_s = [start_s + mark_s for mark_s in self.losses.marks_s(row) if 0 < start_s + mark_s < end_s]
        return [*(mark_s - 1 for mark_s in marks_s), end_s - 1]

    def _longest_loss_s(self, row: int) -> int:
        """Longest loss of a task, whenever its VM goes down."""
        losses, plan = self.losses, self.losses.plan
        seconds = int(plan.task_end_s[row] - plan.task_start_s[row])
        name = losses.market_type[int(plan.task_vm[row])][0]
        key = int(losses.entry[row]), name, int(plan.task_mode[row]), seconds
        if key not in self._longest_s:
            moments_s = self._moments_s(row)[-self._late_moments(row) :]
            self._longest_s[key] = max(self._loss_s(row, at_s) for at_s in moments_s)
        return self._longest_s[key]

    def _late_moments(self, row: int) -> int:
        """Number of checkpoints at the end of a task one of which has the longest loss.

        From one checkpoint to the next, the loss grows by what passes less what is saved, but that both are rounded up:
        so an earlier one is longer by less than two seconds. If both are whole and equal, all are the same.
        """
        grows_s, whole = self.losses.growth_of_loss_s(row)
        if grows_s > 0:
            return int(2 / grows_s) + 3
        return 2 if whole and not grows_s else len(self.losses.marks_s(row)) + 1

    def _last_ends_s(self, rows: IntArray) -> IntArray:
        """End of what a loss makes late, for rows that are all tasks of some VMs."""
        plan, losses = self.losses.plan, self.losses
        cores: dict[tuple[int, int], int] = {}
        places = list(zip(plan.task_vm[rows].tolist(), plan.task_core[rows].tolist(), strict=True))
        for place, end_s in zip(places, plan.task_end_s[rows].tolist(), strict=True):
            cores[place] = max(cores.get(place, 0), end_s)
        # The twin runs the tasks of a first core one after the other in a slot. So a loss makes late only what follows
        # on that core, unless memory or cores may bind, or slots are fewer than first cores: then, all of the VM.
        used = Counter(vm for vm, _ in cores)
        types = {vm: self._type(vm) for vm in used}
        waits = {vm for vm, found in types.items() if found.may_bind or used[vm] > found.slots}
        return np.array([int(losses.vm_end_s[vm]) if vm in waits else cores[vm, core] for vm, core in places])

    def lack(self) -> str | None:
        """Reason against the twin rule, for spot VMs that go down one by one at any moments; None if it holds."""
        losses = self.losses
        if losses.dated and losses.spot_types:
            return "tasks have dates, which twins do not know"
        spot = [number for number in range(len(losses.market_type)) if losses.vm_end_s[number] > 0]
        counts = Counter(losses.market_type[number][0] for number in spot)
        for name in losses.spot_types:
            kind = losses.type_number.get(name)
            if kind is None:
                return f"spot VMs of {name} have no twins: the type is burstable, or not offered on demand"
            if counts[name] > losses.types[kind].limit:
                limit = losses.types[kind].limit
                return f"{counts[name]} VMs of {name} would be needed on demand at once, and the limit is {limit}"
        for quota in losses.quotas if losses.spot_types else ():
            needed = losses.on_demand_weight(quota, counts)
            if needed > quota.most:
                return f"{needed} {quota.unit} would be needed on demand at once, and the limit is {quota.most}"
        rows = losses.rows_of(losses.spot_types)
        for row in rows[losses.stays[rows]].tolist():
            return f"task {losses.plan.task_ids[row]!r} may not be on demand (markets), where its twin would be"
        for row, last_s in zip(rows.tolist(), self._last_ends_s(rows).tolist(), strict=True):
            takeover_s = self._type(int(losses.plan.task_vm[row])).takeover_s
            late = last_s + self._longest_loss_s(row) + takeover_s - losses.instance.deadline_s
            if late > 0:
                name = losses.plan.task_ids[row]
                return f"if its VM goes down while task {name!r} runs, a twin of the VM may end {late:,} s late"
        return None

    def worst_usd(self) -> Fraction:
        """Highest cost of spot VMs and twins where the twin rule holds."""
        losses = self.losses
        worst_s: dict[int, tuple[int, int, int]] = {}  # first and last moment of each VM, and its longest loss
        for row in losses.rows_of(losses.spot_types).tolist():
            vm, moments_s = int(losses.plan.task_vm[row]), self._moments_s(row)
            first, last, longest = worst_s.get(vm, (moments_s[0], moments_s[-1], 0))
            worst_s[vm] = min(first, moments_s[0]), max(last, moments_s[-1]), max(longest, self._longest_loss_s(row))
        total, by_the_second = Fraction(0), losses.rules._replace(block_s=1)
        for vm, (first, last, loss_s) in worst_s.items():
            spot = losses.sessions[vm]._replace(rules=by_the_second)
            kind = losses.type_number[losses.market_type[vm][0]]
            end_s = losses.types[kind].takeover_s + int(losses.vm_end_s[vm]) + loss_s
            # Between the first moment and the last one, a bill by the second is at most a convex function of the
            # moment; blocks are paid to their ends.
            bills = []
            for at_s in (first, min(max(spot.from_s, first), last), last):
                twin = losses.rented(kind, at_s)._replace(rules=by_the_second)
                bills.append(spot.usd(at_s) + twin.usd(end_s))
            blocks_usd = (losses.rules.block_s - 1) * (spot.usd_per_s + losses.types[kind].usd_per_s)
            total += max(max(bills) + blocks_usd, losses.vm_usd(vm))
        return total

    def usd_at(self, types: Collection[str], fleet: AvailableVms) -> Fraction | None:
        """Bill of twins if all spot VMs of some types go down at once; None if they end late, or beyond the limits."""
        losses, at_s, plan = self.losses, fleet.at_s, self.losses.plan
        if losses.dated or any(name not in losses.type_number for name in types):
            return None
        rows = losses.rows_of(types)
        ends_s: dict[int, int] = {}
        for row, last_s in zip(rows.tolist(), self._last_ends_s(rows).tolist(), strict=True):
            if int(plan.task_end_s[row]) <= at_s:
                continue
            if losses.stays[row]:
                return None
            vm = int(plan.task_vm[row])
            loss_s = self._loss_s(row, at_s) if int(plan.task_start_s[row]) <= at_s else 0
            end_s = max(int(losses.vm_end_s[vm]), last_s + loss_s) + self._type(vm).takeover_s
            ends_s[vm] = max(ends_s.get(vm, 0), end_s)
        counts = Counter(losses.type_number[losses.market_type[vm][0]] for vm in ends_s)
        if not fleet.may_be_had(counts) or max(ends_s.values()) > losses.instance.deadline_s:
            return None
        return bill_usd(
            (losses.rented(losses.type_number[losses.market_type[vm][0]], at_s), end_s) for vm, end_s in ends_s.items()
        )
