"""Assignments: plans as the tasks of each VM in their order, for VMs whose memory may bind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...core.capacities import lower_of, upper_of
from ...core.quantities import SECONDS_PER_HOUR, BoolArray, FloatArray, IntArray
from ...instances.entries import SECONDS_PER_CREDIT, VmsLeft
from ...instances.instance import Instance
from ...schedules.queues import Queue, queues_of_schedule
from ...schedules.schedule import Schedule, plan_of_places
from ...schedules.timing import objective_weights, time_zero_s, vm_rents
from .core_loads import SPARE_VMS, bills_of, charged, latest_ends_s

if TYPE_CHECKING:
    from .annealing_kernel import Objective
    from .assignment_kernel import AssignmentState, BestAssignment, Fleet

_CREDIT_SECONDS = 300
"""Seconds, of the makespan and of the dearest VM, that a lacking credit counts as."""

_NEAR, _ALIKE = 60, 12
"""Tasks nearest in time, and of these the nearest in memory too, that a task is exchanged with most often."""


@dataclass(slots=True)
class Assignments:
    """VMs, and the tasks of each in the order of their starts.

    Times count from ready; if there are machines, from second 0.

    Attributes
    ----------
    fleet : Fleet
        The VMs, as the compiled loops take them.
    vm_machine : array of int, shape (n_vms,)
        Machine that a VM is, or -1.
    objective : Objective
        What they cost.
    credit_price : float
        Penalty for a credit that is lacking.
    offset : float
        What the objective is more than that of the compiled loops.
    zero_s : int
        Second from which times count.
    plan : AssignmentState
        The tasks of each VM; changed in place.
    alike : array of int, shape (n_tasks, n_alike)
        Tasks that take about as long as each one, and as much memory.
    """

    instance: Instance
    fleet: Fleet
    vm_machine: IntArray
    objective: Objective
    credit_price: float
    offset: float
    zero_s: int
    plan: AssignmentState
    alike: IntArray

    def charge(self, rate: float) -> None:
        """Charge the cost above the budget of the instance, if there is one, at so much for a dollar."""
        self.objective = charged(self.objective, self.instance, self.fleet.offer, self.vm_machine, rate)

    def best(self, objective: float) -> BestAssignment:
        """Make the place for what is better than an objective."""
        from .assignment_kernel import BestAssignment

        plan = self.plan
        return BestAssignment(
            plan.tasks.copy(), plan.number.copy(), plan.slow.copy(), np.array([objective - self.offset])
        )

    def schedule(self, tasks: IntArray, number: IntArray, slow: BoolArray) -> Schedule | None:
        """Make the plan of these tasks in this order; None if it ends too late."""
        from .assignment_kernel import set_starts

        instance, fleet = self.instance, self.fleet
        task_vm, task_core, start_s = (np.zeros(instance.n_tasks, dtype=np.int64) for _ in range(3))
        set_starts(fleet, tasks, number, slow, start_s, task_core)
        for vm, count in enumerate(number.tolist()):
            task_vm[tasks[vm, :count]] = vm
        open_tasks, vm_offer = instance.open_tasks, fleet.offer[task_vm]
        baseline = slow & instance.offer_is_burstable[vm_offer]
        ends_s = start_s + fleet.durations[baseline.astype(np.int64), vm_offer, np.arange(len(slow))]
        latest_s = self.objective.vm_limit[task_vm]
        # Where tasks may be late, that is charged, and forbidden only beyond the end of their VM.
        if len(fleet.latest) and not len(fleet.late):
            latest_s = np.minimum(latest_s, fleet.latest[vm_offer, np.arange(len(slow))])
        if (ends_s > latest_s)[open_tasks].any():
            return None
        new = len(instance.machines) + np.arange(len(number))
        places = np.where(self.vm_machine < 0, new, self.vm_machine)[task_vm[open_tasks]]
        offers = np.concatenate([instance.machine_offer, fleet.offer])
        cores, starts_s = task_core[open_tasks], start_s[open_tasks] + self.zero_s
        return plan_of_places(instance, open_tasks, places, cores, starts_s, offers, baseline[open_tasks])


def assignments_of(schedule: Schedule, spare_vms: int = SPARE_VMS) -> Assignments:
    """Make the state of a plan, with ``spare_vms`` empty VMs of each offer beside it, as far as the limits allow.

    Machines that take tasks are there as well.
    """
    instance = schedule.instance
    queues = queues_of_schedule(schedule)
    for machine in {*np.flatnonzero([entry.open for entry in instance.machines]).tolist()} - {
        queue.machine for queue in queues
    }:
        queues.append(Queue(instance.offers[instance.machine_offer[machine]], [], machine))
    left = VmsLeft(instance)
    for queue in queues:
        if queue.machine < 0:
            left.take(queue.offer.index)
    # In turns: where the limit of a group is reached, all offers have had as many.
    for market in instance.markets:
        for _ in range(spare_vms):
            for offer in instance.offers:
                if offer.market == market and left.of(offer.index) > 0:
                    left.take(offer.index)
                    queues.append(Queue(offer, []))
    return assignments_of_queues(instance, queues, schedule.task_baseline)


def assignments_of_queues(instance: Instance, queues: list[Queue], slow: BoolArray) -> Assignments:
    """Make the state of queues; tasks that are ``slow`` run at the baseline on burstable VMs."""
    from .annealing_kernel import Objective
    from .assignment_kernel import Fleet

    closed = {number for number, machine in enumerate(instance.machines) if not machine.open}
    queues = [queue for queue in queues if queue.machine not in closed]
    vm_offer = np.array([queue.offer.index for queue in queues], dtype=np.int64)
    vm_machine = np.array([queue.machine for queue in queues], dtype=np.int64)
    vm_vcpus = np.array([queue.offer.vcpus for queue in queues], dtype=np.int64)
    cost_weight, time_weight = objective_weights(instance)
    zero_s = time_zero_s(instance)
    rents = vm_rents(instance, vm_offer, vm_machine)
    prices, vm_bill = bills_of(rents, cost_weight, zero_s)
    vm_free = rents.paid_until_s - zero_s
    binds = ~instance.memory_never_binds
    core_start, held_kb, core_runs = _cores(instance, vm_machine, rents.ready_s - zero_s, int(vm_vcpus.max()))
    latest = latest_ends_s(instance, np.arange(len(instance.offers)))
    fleet = Fleet(
        durations=np.ascontiguousarray(instance.duration_s[instance.task_group].transpose(2, 1, 0)),
        latest=latest,
        release=_releases_s(instance, zero_s),
        late=np.zeros((0, 0)),
        memory_kb=instance.memory_kb[instance.task_group],
        offer=vm_offer,
        vcpus=vm_vcpus,
        size_kb=np.array(
            [queue.offer.memory_kb if binds[queue.offer.type_index] else -1 for queue in queues], dtype=np.int64
        ),
        core_start=core_start,
        held_kb=held_kb,
        core_runs=core_runs,
        bursts=instance.offer_is_burstable[vm_offer],
        credits=_credits(instance, queues, core_start),
    )
    # As with core loads: no second that is saved elsewhere is worth a second too late.
    penalty = 20 * (time_weight + float(prices.max()) * len(queues))
    return Assignments(
        instance=instance,
        fleet=fleet,
        vm_machine=vm_machine,
        objective=Objective(
            vm_price=prices,
            vm_free=vm_free,
            vm_limit=np.array([instance.time_limit_s(queue.offer.market) - zero_s for queue in queues], dtype=np.int64),
            time_weight=time_weight,
            penalty=penalty,
            task_penalty=penalty if len(latest) else 0.0,
            vm_bill=vm_bill,
        ),
        credit_price=_CREDIT_SECONDS * (time_weight + float(prices.max())),
        offset=time_weight * zero_s - float(prices @ vm_free),
        zero_s=zero_s,
        plan=_placed(instance, queues, slow),
        alike=_alike(instance),
    )


def _placed(instance: Instance, queues: list[Queue], slow: BoolArray) -> AssignmentState:
    """Return the tasks of queues as the compiled loop changes them, with room for more; its ends are not set."""
    from .assignment_kernel import AssignmentState

    n_vms, n_tasks = len(queues), instance.n_tasks
    # Moves need free places, and a VM without one refuses tasks.
    capacity = min(max(2 * max(len(queue.tasks) for queue in queues), 8 + 8 * n_tasks // n_vms), n_tasks)
    vm_tasks = np.zeros((n_vms, capacity), dtype=np.int64)
    vm_count = np.array([len(queue.tasks) for queue in queues], dtype=np.int64)
    task_vm = np.zeros(n_tasks, dtype=np.int64)
    for vm, queue in enumerate(queues):
        vm_tasks[vm, : vm_count[vm]] = queue.tasks
        task_vm[queue.tasks] = vm
    return AssignmentState(
        tasks=vm_tasks,
        number=vm_count,
        vm=task_vm,
        slow=slow.copy(),
        open=instance.open_tasks,
        end=np.zeros(n_vms, dtype=np.int64),
        total=np.zeros(n_vms, dtype=np.int64),
        lacking=np.zeros(n_vms),
        late=np.zeros(n_vms, dtype=np.int64),
        charged=np.zeros(n_vms),
        random=np.ones(1, dtype=np.int64),
    )


def _cores(
    instance: Instance, vm_machine: IntArray, ready_s: IntArray, most_cores: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Return when each core is free, and until then the memory held and what runs there, as `Fleet` has them."""
    core_start = np.repeat(ready_s[:, None], most_cores, axis=1)
    held_kb, core_runs = np.zeros_like(core_start), np.full_like(core_start, 3)
    exists = np.flatnonzero(vm_machine >= 0)
    if len(exists):
        running, free_s = instance.running, instance.machine_core_free_s
        width = min(most_cores, free_s.shape[1])
        core_start[exists, :width] = free_s[vm_machine[exists], :width]
        held = np.zeros_like(free_s)
        held[running.machine, running.core] = instance.memory_kb[instance.task_group[running.task]]
        held_kb[exists, :width] = held[vm_machine[exists], :width]
        runs = np.full_like(free_s, 3)
        runs[running.machine, running.core] = np.where(running.baseline, 0, 2)
        core_runs[exists, :width] = runs[vm_machine[exists], :width]
    return core_start, held_kb, core_runs


def _releases_s(instance: Instance, zero_s: int) -> IntArray:
    """Earliest start of each task, from where times count; nothing where none has one."""
    if not instance.has_dates:
        return np.zeros(0, dtype=np.int64)
    return np.maximum(instance.release_s[instance.task_group] - zero_s, 0)


def _credits(instance: Instance, queues: list[Queue], core_start: IntArray) -> FloatArray:
    """Credits of the VMs that burst, as `Fleet` has them."""
    credits = np.zeros((len(queues), 6))
    for vm, queue in enumerate(queues):
        burstable = queue.offer.vm_type.burstable
        if burstable is None:
            continue
        machine = instance.machines[queue.machine] if queue.machine >= 0 else None
        known = None if machine is None else machine.credits
        credits[vm] = (
            min(burstable.initial_credits if known is None else known, burstable.credit_cap),
            burstable.credit_cap,
            burstable.credits_per_hour / SECONDS_PER_HOUR,
            1 / SECONDS_PER_CREDIT,
            burstable.baseline_fraction / SECONDS_PER_CREDIT,
            core_start[vm, 0] if machine is None else machine.ready_s,
        )
    return credits


def _alike(instance: Instance) -> IntArray:
    """Similar open tasks of each task: those that take about as long, and of these those whose memory is most alike."""
    open_tasks = instance.open_tasks
    n_open = len(open_tasks)
    groups = instance.task_group[open_tasks]
    seconds = np.log(np.maximum(instance.sustained_s.min(axis=1)[groups], 1))
    amounts = (part(instance.memory_kb) for part in (lower_of, upper_of))
    shares = [amount[groups] / max(float(amount.max()), 1.0) for amount in amounts]
    order = np.argsort(seconds, kind="stable")
    near = min(_NEAR, n_open - 1)
    alike = np.zeros((instance.n_tasks, max(min(_ALIKE, near), 1)), dtype=np.int64)
    if near < 1:
        alike[open_tasks] = open_tasks[:, None]
        return alike
    # A window around each task in the order of lengths; the first and the last tasks have it on one side.
    place = np.clip(np.arange(n_open)[:, None] - near // 2, 0, n_open - 1 - near) + np.arange(near + 1)
    others = order[place]
    far = sum(np.abs(of[others] - of[order][:, None]) for of in (seconds, *shares, *_dates(instance, groups)))
    far[others == order[:, None]] = np.inf
    nearest = np.argsort(far, axis=1, kind="stable")[:, : alike.shape[1]]
    alike[open_tasks[order]] = open_tasks[np.take_along_axis(others, nearest, axis=1)]
    return alike


def _dates(instance: Instance, groups: IntArray) -> list[FloatArray]:
    """Releases and latest ends of some groups, as parts of the deadline; nothing where there are none."""
    dates = [instance.release_s, instance.due_s] if instance.has_dates else []
    return [of[groups] / instance.deadline_s for of in dates]
