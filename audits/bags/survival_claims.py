"""Survival certificates that plans carry: whether they hold, and whether their rescues can be carried out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from fractions import Fraction

import numpy as np

from ...core.quantities import IntArray
from ...instances.entries import VmType
from ...schedules.documents import LOSSES, Rescue, RescueTask, RescueVm, Survival
from ..findings import Violation
from .plan_arrays import most_in_use, size_kb
from .survival import Judge, beyond_rescue
from .survival_losses import NEVER_S, Losses

_TOLERANCE = Fraction(1, 10**6)
_MOST_MOMENTS = 100


def false_claims(judge: Judge, claimed: Survival, cost_usd: float) -> Iterator[Violation]:
    """Find false claims of a certificate.

    Parameters
    ----------
    judge : Judge
        Of the plan.
    claimed : Survival
        What the plan says.
    cost_usd : float
        Cost and makespan of the plan.
    """
    losses, found = judge.losses, judge.judge(claimed.level)
    said = LOSSES[claimed.level]
    # A verdict is false only if the opposite is proved: a rescue that was not found proves nothing.
    if claimed.verdict == "survives" and found.verdict == "does-not-survive":
        where = f"{' and '.join(found.worst_types or ())} at {found.worst_at_s:,} s"
        message = f"the plan says that it survives {said}; it does not survive the loss of {where}: {found.reason}"
        yield Violation.of("survival-claim", claimed.level, message)
    if claimed.verdict == "does-not-survive" and found.verdict == "survives" and _rescued(judge, claimed):
        message = f"the plan says that it does not survive {said}; it does, for at most $ {found.worst_cost_usd:.4f}"
        yield Violation.of("survival-claim", claimed.level, message)
    if claimed.verdict == "survives":
        groups, together = losses.groups(claimed.level), losses.groups("blackout")
        # Stated costs and slack are compared with bounds, not with rescues found here: a better one may exist.
        yield from _cheaper_than_the_plan(losses, claimed)
        yield from _cheaper_than_can_be(losses, claimed.worst_cost_usd, groups, "worst_cost_usd")
        if found.verdict == "survives":
            yield from _later_than_said(losses, claimed.least_slack_s or 0, groups)
        yield from _cheaper_than_can_be(losses, claimed.blackout_cost_usd, together, "blackout_cost_usd")
        if claimed.blackout_cost_usd is not None and judge.judge("blackout").verdict == "does-not-survive":
            message = f"the plan states a bill for {LOSSES['blackout']}, which it does not survive"
            yield Violation.of("survival-claim", "blackout_cost_usd", message)
    # This plan is one without a demand as well, so the cheapest of those cannot cost more.
    without = claimed.cost_without_usd
    if without is not None and without > cost_usd * (1 + float(_TOLERANCE)):
        message = (
            f"the plan says that one that need not survive costs {without:.9g} $; it costs {cost_usd:.9g} $ itself"
        )
        yield Violation.of("survival-claim", "cost_without_usd", message, without - cost_usd, "USD")
    if claimed.spot_with is not None and losses.spot_types:
        message = f"the plan says what would bring spot VMs in; it has some of {' and '.join(losses.spot_types)}"
        yield Violation.of("survival-claim", "spot_with", message, len(losses.spot_types), "types")
    if claimed.rescue is not None:
        yield from _Stored(losses, claimed, claimed.rescue).violations()


def _rescued(judge: Judge, claimed: Survival) -> bool:
    """True if no moment is claimed to be beyond rescue, or a rescue is found for the claimed moment."""
    if claimed.worst_at_s is None or not claimed.worst_types:
        return True
    types = tuple(name for name in judge.losses.spot_types if name in claimed.worst_types)
    return not len(judge.losses.lost(types, claimed.worst_at_s).rows) or judge.rescues(types, claimed.worst_at_s)


def doubts(judge: Judge, claimed: Survival) -> Iterator[str]:
    """Claims of a certificate that are neither shown nor refuted."""
    found = judge.judge(claimed.level)
    if claimed.verdict != "survives" or found.verdict == "does-not-survive":
        return
    if found.verdict == "not-shown":
        yield f"the plan says that it survives {LOSSES[claimed.level]}; the checker could not show that: {found.reason}"
    elif _exceeds(found.worst_cost_usd, claimed.worst_cost_usd):
        yield (
            f"the plan says that it survives {LOSSES[claimed.level]} for $ {claimed.worst_cost_usd:.4f}; "
            f"the checker could only show $ {found.worst_cost_usd:.4f}"
        )


def _exceeds(usd: float | None, stated: float | None) -> bool:
    return usd is not None and stated is not None and usd > stated * (1 + float(_TOLERANCE))


def _cheaper_than_can_be(
    losses: Losses, stated: float | None, groups: Collection[tuple[str, ...]], name: str
) -> Iterator[Violation]:
    """Compare a bill that is stated with a bound: what is paid anyway, and what is left on the cheapest cores."""
    if stated is None:
        return
    for types in groups:
        usd, at_s = max((least_bill_usd(losses, types, at_s), at_s) for at_s in _some_moments_s(losses, types))
        if usd > Fraction(stated) * (1 + _TOLERANCE):
            message = (
                f"the plan says {name} {stated:.9g}; if spot VMs of {' and '.join(types)} go down at {at_s:,} s, it "
                f"comes to at least {float(usd):.9g}"
            )
            yield Violation.of("survival-claim", name, message, float(usd) - stated, "USD")
            return


def _cheaper_than_the_plan(losses: Losses, claimed: Survival) -> Iterator[Violation]:
    """Compare bills that are stated with that of a day on which nothing is lost."""
    planned_usd = losses.paid_usd()
    for name in ("worst_cost_usd", "blackout_cost_usd"):
        stated = getattr(claimed, name)
        if stated is not None and planned_usd > Fraction(stated) * (1 + _TOLERANCE):
            message = f"the plan says {name} {stated:.9g}; it comes to {float(planned_usd):.9g} if nothing is lost"
            yield Violation.of("survival-claim", name, message, float(planned_usd) - stated, "USD")


def _some_moments_s(losses: Losses, types: tuple[str, ...]) -> list[int]:
    """Moments at which claims are compared with bounds: all of few, some of many."""
    moments_s = losses.moments_s(types)
    chosen = np.unique(np.linspace(0, len(moments_s) - 1, min(len(moments_s), _MOST_MOMENTS)).round().astype(int))
    found: list[int] = moments_s[chosen].tolist()
    return found


def _later_than_said(losses: Losses, slack_s: int, groups: Collection[tuple[str, ...]]) -> Iterator[Violation]:
    """Find a moment at which a bound rules out a rescue with the claimed slack."""
    for types in groups:
        for at_s in _some_moments_s(losses, types) if slack_s > 0 else ():
            reason = beyond_rescue(losses, types, at_s, losses.instance.deadline_s - slack_s)
            if reason is not None:
                where = f"spot VMs of {' and '.join(types)} go down at {at_s:,} s"
                message = f"the plan says least_slack_s {slack_s:,}; no rescue ends so early if {where}: {reason}"
                yield Violation.of("survival-claim", "least_slack_s", message, slack_s)
                return


def least_bill_usd(losses: Losses, types: tuple[str, ...], at_s: int) -> Fraction:
    """Bound of the bill of a loss: every core-second at the price of the cheapest core, but for those paid anyway."""
    paid, lost = losses.paid_usd(types, at_s), losses.lost(types, at_s)
    if not losses.types:
        return paid
    prices = [found.usd_per_s for found in losses.types]
    for number in losses.on_demand:  # a VM of the plan may be cheaper than those of its type
        kind = losses.vm_kind[number]
        if kind is not None:
            prices[kind] = min(prices[kind], losses.sessions[number].usd_per_s)
    rates = [price / found.slots for price, found in zip(prices, losses.types, strict=True)]
    least = Fraction(0)
    for left_s in lost.left_s:
        least += min(
            (rate * seconds for rate, seconds in zip(rates, left_s, strict=True) if seconds < NEVER_S), default=0
        )
    for own in losses.fleet(at_s).own:
        end_s, free_from_s = losses.after_plan(own.number).from_s, losses.slot_end_s[own.number]
        least -= rates[own.type] * sum(max(end_s - max(from_s, at_s), 0) for from_s in free_from_s)
    return paid + max(least, Fraction(0))


class _Stored:
    """A rescue that a plan carries."""

    def __init__(self, losses: Losses, claimed: Survival, rescue: Rescue) -> None:
        self.losses, self.claimed, self.rescue = losses, claimed, rescue
        self.numbers = {vm.id: number for number, vm in enumerate(losses.plan.vms)}
        self.vms = {vm.id: vm for vm in rescue.vms}

    def violations(self) -> Iterator[Violation]:
        """Judge the rescue by all rules."""
        rescue, losses = self.rescue, self.losses
        types = set(rescue.types)
        if not any(types <= {*group} for group in losses.groups(self.claimed.level)):
            message = f"the rescue is one of {', '.join(rescue.types)}; the level is {self.claimed.level}"
            yield Violation.of("rescue-task", "", message, 1, "rescues")
        yield from self._vms()
        yield from self._limits()
        yield from self._tasks()
        for vm in self.vms.values():
            if vm.type in self.losses.type_number:
                yield from self._room(vm, self.losses.given[vm.type])
        yield from self._deadline()
        yield from self._costs()

    def _vms(self) -> Iterator[Violation]:
        losses, at_s = self.losses, self.rescue.at_s
        for name, count in Counter(vm.id for vm in self.rescue.vms).items():
            if count > 1:
                yield Violation.of("rescue-vm", name, f"{name} of the rescue is there {count} times", count - 1, "VMs")
        for vm in self.rescue.vms:
            wrong = ""
            if vm.type not in losses.type_number:
                wrong = f"is of type {vm.type}, which is not offered on demand, or burstable"
            elif vm.new and vm.id in self.numbers:
                wrong = "is called new, and is one of the plan"
            elif not vm.new:
                number = self.numbers.get(vm.id)
                if number is None:
                    wrong = "is no VM of the plan, and not called new"
                elif (own := losses.plan.vms[number]).type != vm.type or own.market != "on-demand":
                    wrong = f"is {own.type} {own.market} in the plan"
                elif losses.vm_end_s[number] <= at_s:
                    wrong = f"has ended at {losses.vm_end_s[number]:,} s in the plan"
                elif number in losses.closed:
                    wrong = "takes no more tasks"
            if wrong:
                yield Violation.of("rescue-vm", vm.id, f"{vm.id} of the rescue at {at_s:,} s {wrong}")

    def _requested_s(self, vm: RescueVm) -> int:
        """Time of the request for a new VM."""
        return vm.ready_s - self.losses.types[self.losses.type_number[vm.type]].ready_s

    def _limits(self) -> Iterator[Violation]:
        """Find limits and quotas that the rescue exceeds.

        The VMs on demand, of the plan and of the rescue, are counted whenever new ones are requested: at no other time
        are there more.
        """
        losses = self.losses
        # A VM of the plan may end later in the rescue, which puts tasks on it.
        own_end_s = {self.numbers[vm.id]: vm.end_s for vm in self.vms.values() if not vm.new and vm.id in self.numbers}
        new = [vm for vm in self.vms.values() if vm.new and vm.type in losses.type_number]
        for at_s in sorted({self._requested_s(vm) for vm in new}):
            counts = Counter(
                losses.plan.vms[number].type
                for number in losses.on_demand
                if max(int(losses.vm_end_s[number]), own_end_s.get(number, 0)) > at_s
            )
            rented = Counter(vm.type for vm in new if self._requested_s(vm) <= at_s < vm.end_s)
            counts.update(rented)
            for found in losses.types:
                count, over = counts[found.name], counts[found.name] - found.limit
                if over > 0 and rented[found.name]:  # else machines exceed it already, without the rescue
                    message = f"{count} {found.name} on demand at {at_s:,} s, {over} over the limit of {found.limit}"
                    yield Violation.of("rescue-limit", found.name, message, over, "VMs")
            for quota in losses.quotas:
                count = losses.on_demand_weight(quota, counts)
                if count > quota.most and losses.on_demand_weight(quota, rented):
                    over = count - quota.most
                    message = f"{count} {quota.unit} on demand at {at_s:,} s, {over} over the limit of {quota.most}"
                    yield Violation.of("rescue-limit", quota.name, message, over, quota.unit)

    def _tasks(self) -> Iterator[Violation]:
        losses, at_s, plan = self.losses, self.rescue.at_s, self.losses.plan
        lost = losses.lost(self.rescue.types, at_s)
        left_s = {plan.task_ids[row]: seconds for row, seconds in zip(lost.rows, lost.left_s, strict=True)}
        counts = Counter(task.id for task in self.rescue.tasks)
        for name in left_s:
            if not counts[name]:
                yield Violation.of("rescue-task", name, f"task {name!r} is lost, and not in the rescue")
        for name, count in counts.items():
            if name not in left_s:
                message = f"task {name!r} is in the rescue, and is not lost at {at_s:,} s"
                yield Violation.of("rescue-task", name, message, count, "tasks")
            elif count > 1:
                message = f"task {name!r} is {count} times in the rescue"
                yield Violation.of("rescue-task", name, message, count - 1, "tasks")
        for task in self.rescue.tasks:
            vm = self.vms.get(task.vm)
            if vm is None:
                message = f"task {task.id!r} is on {task.vm!r}, no VM of the rescue"
                yield Violation.of("rescue-vm", task.id, message, 1, "tasks")
            elif task.id in left_s and vm.type in losses.type_number:
                yield from self._task(task, vm, left_s[task.id][losses.type_number[vm.type]])

    def _task(self, task: RescueTask, vm: RescueVm, left_s: int) -> Iterator[Violation]:
        given_s = task.end_s - task.start_s
        if left_s >= NEVER_S:
            yield Violation.of("rescue-vm", task.id, f"task {task.id!r} cannot run on {vm.id}, a {vm.type}", 1, "tasks")
        elif given_s != left_s:
            message = (
                f"what is left of task {task.id!r} takes {left_s:,} s on {vm.id}, the rescue gives it {given_s:,} s"
            )
            yield Violation.of("rescue-time", task.id, message, abs(given_s - left_s))
        begin_s = self._requested_s(vm) if vm.new else self.rescue.at_s
        early_s = begin_s + self.losses.types[self.losses.type_number[vm.type]].takeover_s - task.start_s
        if early_s > 0:
            message = f"task {task.id!r} starts at {task.start_s:,} s, {early_s:,} s before it can go on on {vm.id}"
            yield Violation.of("rescue-time", task.id, message, early_s)

    def _on(self, vm: RescueVm) -> list[tuple[int, int, int, str]]:
        """Tasks on a VM, those of the plan included: start, end, first core and name."""
        losses, plan = self.losses, self.losses.plan
        found = [
            (task.start_s, task.end_s, task.core, task.id)
            for task in self.rescue.tasks
            if task.vm == vm.id and task.id in losses.bag.position
        ]
        own = -1 if vm.new else self.numbers.get(vm.id, -1)
        found += [
            (int(plan.task_start_s[row]), int(plan.task_end_s[row]), int(plan.task_core[row]), plan.task_ids[row])
            for row in np.flatnonzero(plan.task_vm == own).tolist()
        ]
        return sorted(found)

    def _room(self, vm: RescueVm, given: VmType) -> Iterator[Violation]:
        """Check the first cores of tasks, one task at a time on each, and the cores and the memory of all together."""
        bag, latest = self.losses.bag, dict[int, tuple[int, str]]()
        for start_s, end_s, core, name in self._on(vm):
            if core >= given.vcpus:
                message = f"task {name!r} is on core {core} of {vm.id}, which has cores 0 to {given.vcpus - 1}"
                yield Violation.of("rescue-core", name, message)
            before_s, before = latest.get(core, (start_s, ""))
            if before_s > start_s:
                over_s = min(before_s, end_s) - start_s
                message = f"tasks {before!r} and {name!r} overlap by {over_s:,} s on core {core} of {vm.id}"
                yield Violation.of("rescue-core", vm.id, message, over_s)
            latest[core] = max(latest.get(core, (0, "")), (end_s, name))
        if bag.cores.max() > 1:
            yield from self._too_much("rescue-core", vm, bag.cores, given.vcpus, 1, "cores")
        memory_kb = size_kb(given.memory_mb, given.reserved_mb)
        yield from self._too_much("rescue-memory", vm, bag.need_kb, memory_kb, 1024, "MB")

    def _too_much(
        self, rule: str, vm: RescueVm, needs: IntArray, size: int, one: int, unit: str
    ) -> Iterator[Violation]:
        """Find the moment at which the tasks on a VM need most, if that is more than it has."""
        entry, tasks = self.losses.bag.entry, self._on(vm)
        worst, worst_at_s = most_in_use((start_s, end_s, int(needs[entry(name)])) for start_s, end_s, _, name in tasks)
        if worst > size:
            over = (worst - size) / one
            message = f"{vm.id} needs {worst / one:.1f} {unit} at {worst_at_s:,} s, {over:.1f} {unit} too much"
            yield Violation.of(rule, vm.id, message, over, unit)

    def _deadline(self) -> Iterator[Violation]:
        losses = self.losses
        row_of = {name: row for row, name in enumerate(losses.plan.task_ids)}
        for task in self.rescue.tasks:
            if task.id not in row_of:
                continue
            row = row_of[task.id]
            late_s = task.end_s + int(losses.early_s[row]) - losses.instance.deadline_s
            if late_s > 0:
                message = f"task {task.id!r} of the rescue ends at {task.end_s:,} s, {late_s:,} s after the deadline"
                yield Violation.of("rescue-deadline", task.id, message, late_s)
            early_s = int(losses.release_s[row]) - task.start_s
            if early_s > 0:
                message = f"task {task.id!r} of the rescue starts at {task.start_s:,} s, {early_s:,} s too early"
                yield Violation.of("rescue-time", task.id, message, early_s)

    def _costs(self) -> Iterator[Violation]:
        losses, rescue = self.losses, self.rescue
        ends_s: dict[str, int] = {}
        # Bills are made anew of times that were checked above, and each stated figure is compared with its own.
        for task in rescue.tasks:
            ends_s[task.vm] = max(ends_s.get(task.vm, 0), task.end_s)
        total = losses.paid_usd(rescue.types, rescue.at_s)
        for vm in rescue.vms:
            if vm.type not in losses.type_number or (not vm.new and vm.id not in self.numbers):
                continue
            if vm.new:
                session = losses.rented(losses.type_number[vm.type], self._requested_s(vm))
                early_s, end_s = rescue.at_s - self._requested_s(vm), ends_s.get(vm.id, vm.ready_s)
            else:  # VMs of the plan are paid to their planned end in any case: only what comes after is added
                session = losses.after_plan(self.numbers[vm.id])
                early_s, end_s = abs(session.from_s - vm.ready_s), max(session.from_s, ends_s.get(vm.id, 0))
            if early_s > 0:
                message = f"{vm.id} of the rescue is paid from {vm.ready_s:,} s on, {early_s:,} s off"
                yield Violation.of("rescue-cost", vm.id, message, early_s)
            if vm.end_s != end_s:
                message = (
                    f"{vm.id} of the rescue says that it ends at {vm.end_s:,} s; its last task ends at {end_s:,} s"
                )
                yield Violation.of("rescue-cost", vm.id, message, abs(vm.end_s - end_s))
            usd = session.usd(end_s)
            total += usd
            if abs(Fraction(vm.cost_usd) - usd) > _TOLERANCE * usd:
                message = (
                    f"{vm.id} of the rescue says that it costs {vm.cost_usd:.9g} $; it comes to {float(usd):.9g} $"
                )
                yield Violation.of("rescue-cost", vm.id, message, abs(vm.cost_usd - float(usd)), "USD")
        stated = self.claimed.worst_cost_usd
        if stated is not None and total > Fraction(stated) * (1 + _TOLERANCE):
            message = f"the plan says worst_cost_usd {stated:.9g}; with its rescue it comes to {float(total):.9g}"
            yield Violation.of("rescue-cost", "worst_cost_usd", message, float(total) - stated, "USD")
