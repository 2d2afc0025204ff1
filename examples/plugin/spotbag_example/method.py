"""A method: all VMs of one type and market."""

from __future__ import annotations

from dataclasses import dataclass

from spotbag.plugins import (
    NEVER,
    Instance,
    Method,
    Outcome,
    Queue,
    RentalOffer,
    Run,
    checkpoint,
    ends_in_time,
    schedule_of_queues,
)


@dataclass(frozen=True)
class SingleType(Method):
    """Rent VMs of one type and market only: those that make the best plan.

    Attributes
    ----------
    most_vms : int
        VMs at most.
    """

    name = "single-type"
    summary = "VMs of one type and market only, tasks longest first"
    takes = "any instance with a type that can run all tasks; burstable VMs at the baseline"

    most_vms: int = 100

    def plan(self, instance: Instance, run: Run) -> Outcome:
        """Try each offer with ever more VMs; the best plan is kept in the incumbent of the run."""
        for offer in instance.offers:
            if not can_run_all(instance, offer):
                continue
            for vms in range(1, min(offer.limit, self.most_vms, instance.n_tasks) + 1):
                checkpoint()  # ends the work here if the time is over; what is in the incumbent is the answer then
                queues = longest_first(instance, offer, vms)
                if all(ends_in_time(instance, queue) for queue in queues):
                    run.incumbent.take(schedule_of_queues(instance, queues))
        plan = run.incumbent.schedule
        return Outcome(plan, explanation="" if plan else "no single type can do it in time")


def can_run_all(instance: Instance, offer: RentalOffer) -> bool:
    """True if VMs of an offer can run all tasks: each group of equal tasks has one row."""
    durations_s = instance.sustained_s[:, offer.index]
    return bool((durations_s < NEVER).all() and (instance.memory_kb <= offer.memory_kb).all())


def longest_first(instance: Instance, offer: RentalOffer, vms: int) -> list[Queue]:
    """Give each task, longest first, to the VM that has the least to do."""
    durations_s = instance.sustained_s[instance.task_group, offer.index].tolist()
    queues = [Queue(offer, []) for _ in range(vms)]
    load_s = [0] * vms
    for task in sorted(range(instance.n_tasks), key=lambda task: -durations_s[task]):
        least = load_s.index(min(load_s))
        queues[least].tasks.append(task)
        load_s[least] += durations_s[task]
    return queues
