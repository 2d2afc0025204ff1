"""Use of the resources of a hybrid platform."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...instances.platforms.capacity import Capacity
from ...instances.platforms.entries import SLOT_S, VM_HOUR_S, Cloud, Resource
from ...instances.platforms.platform import Platform
from .outcome import PlatformOutcome


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """Use of a resource in a run.

    Attributes
    ----------
    resource, kind : str
        Which resource of which kind.
    jobs, late_jobs : int
        Jobs that ran there; those of them that ended after their deadline.
    work_processor_minutes : int
        What these jobs are together.
    available_processor_minutes : int
        Of a cluster, all from the minute of the first arrival until the last job of the platform has ended; of a
        cloud, those that were paid.
    machines, vm_hours : int
        Machines rented and hours paid; 0 on a cluster.
    cost : float
        What was paid, in the unit of cost.
    """

    resource: str
    kind: str
    jobs: int
    late_jobs: int
    work_processor_minutes: int
    available_processor_minutes: int
    machines: int
    vm_hours: int
    cost: float

    @property
    def use(self) -> float | None:
        """Part of what was available that was used; None if nothing was."""
        available = self.available_processor_minutes
        return self.work_processor_minutes / available if available else None


def resource_use(platform: Platform, outcome: PlatformOutcome) -> list[ResourceUse]:
    """Return the use of each resource, in the order of the platform.

    Parameters
    ----------
    platform : Platform
        With the jobs of the run.
    outcome : PlatformOutcome
        Of the run.
    """
    size = {job.id: job.size_processor_minutes for job in platform.jobs}
    first_slot = min(job.arrival_s for job in platform.jobs) // SLOT_S
    return [_use(resource, size, outcome, first_slot) for resource in platform.resources]


def _use(resource: Resource, size: dict[str, int], outcome: PlatformOutcome, first_slot: int) -> ResourceUse:
    jobs = [job for job in outcome.jobs if job.resource == resource.id]
    machines = [machine for machine in outcome.machines if machine.resource == resource.id]
    vm_hours = sum(machine.hours for machine in machines)
    return ResourceUse(
        resource=resource.id,
        kind=resource.kind,
        jobs=len(jobs),
        late_jobs=sum(job.delay_s > 0 for job in jobs),
        work_processor_minutes=sum(size[job.id] for job in jobs),
        available_processor_minutes=(
            vm_hours * resource.processors_per_vm * (VM_HOUR_S // SLOT_S)
            if isinstance(resource, Cloud)
            else _between(Capacity(resource), first_slot, -(-outcome.end_s // SLOT_S))
        ),
        machines=len(machines),
        vm_hours=vm_hours,
        cost=math.fsum(job.cost for job in jobs),
    )


def _between(capacity: Capacity, first_slot: int, end_slot: int) -> int:
    """Processor-minutes of a cluster in a span of minutes."""
    return capacity.by(end_slot) - capacity.by(first_slot)
