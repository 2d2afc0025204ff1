"""Outcome of the replay of a hybrid platform, and the use of its resources."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from ...instances.platforms.capacity import Capacity
from ...instances.platforms.entries import SLOT_S, VM_HOUR_S, Cloud, Resource
from ...instances.platforms.job_draws import JobSet
from ...instances.platforms.platform import Platform
from ...traces.trace import Trace
from .candidate import over_budget
from .state import PlatformState


@dataclass(frozen=True, slots=True)
class JobResult:
    """Outcome of a job.

    Attributes
    ----------
    id, resource : str
        Which job ran where.
    arrival_s, start_s, end_s, deadline_s : int
        Its times.
    cost, budget : float
        What it was charged, and what it might have cost.
    displaced : int
        How often it was pushed out of a queue.
    """

    id: str
    resource: str
    arrival_s: int
    start_s: int
    end_s: int
    deadline_s: int
    cost: float
    budget: float
    displaced: int

    @property
    def execution_time_s(self) -> int:
        """Seconds from the arrival to the end."""
        return self.end_s - self.arrival_s

    @property
    def delay_s(self) -> int:
        """Seconds by which it is late."""
        return max(self.end_s - self.deadline_s, 0)

    @property
    def overspend(self) -> float:
        """Cost above the budget."""
        return over_budget(self.cost, self.budget)


@dataclass(frozen=True, slots=True)
class MachineBill:
    """A machine of a cloud: what it is, when it was rented, and what it cost.

    Attributes
    ----------
    name, resource : str
        Which machine of which cloud.
    launched_s, terminated_s : int
        When it was rented and given back.
    hours : int
        Hours paid.
    cost : float
        What they cost.
    """

    name: str
    resource: str
    launched_s: int
    terminated_s: int
    hours: int
    cost: float


@dataclass(frozen=True, slots=True)
class PlatformOutcome:
    """Outcome of the jobs of a platform under a policy.

    Attributes
    ----------
    policy, seed : str and int
        Name of the policy, and seed of its draws.
    cost : float
        What all jobs cost, in the unit of cost; the machines of clouds to the end of their last hour.
    execution_time_s : int
        From arrival to end, summed over the jobs: the paper's total job execution time.
    delay_s : int
        Seconds after the deadline, summed over the jobs that are late.
    overspend : float
        By how much jobs exceed their budgets, summed.
    late_jobs, overspent_jobs : int
        Jobs that end after their deadline; that cost more than their budget.
    jobs : tuple of JobResult
        In the order of arrival.
    machines : tuple of MachineBill
        Of clouds, in the order in which they were rented.
    good, bad : int
        Placements on good and on bad candidates.
    displaced, stays, unwanted : int
        Jobs pushed out of queues; those of them that no other resource took; new jobs that none offered to run.
    placements : int
        How often a resource was looked for.
    messages, comparisons : int
        Sent between the scheduler, agents and resources for that; candidates that were compared.
    events : int
        Events handled, for measuring the engine.
    """

    policy: str
    seed: int
    cost: float
    execution_time_s: int
    delay_s: int
    overspend: float
    late_jobs: int
    overspent_jobs: int
    jobs: tuple[JobResult, ...]
    machines: tuple[MachineBill, ...]
    good: int
    bad: int
    displaced: int
    stays: int
    unwanted: int
    placements: int
    messages: int
    comparisons: int
    events: int

    @property
    def end_s(self) -> int:
        """End of the last job."""
        return max(job.end_s for job in self.jobs)


TOTALS = ("cost", "execution_time_s", "delay_s", "overspend", "late_jobs", "overspent_jobs")
PLACED = ("good", "bad", "displaced", "stays", "unwanted")
"""Sums over all jobs, and counts of placements: so they are called wherever a run is told of."""

_OF_JOBS = tuple(entry.name for entry in fields(JobResult) if entry.name != "resource")
_OF_MACHINES = tuple(entry.name for entry in fields(MachineBill) if entry.name not in ("resource", "cost"))


def platform_outcome(state: PlatformState) -> PlatformOutcome:
    """Return the outcome of an ended replay."""
    ids = [scheduler.id for scheduler in state.schedulers]
    jobs = tuple(
        JobResult(resource=ids[job.resource], **{name: getattr(job, name) for name in _OF_JOBS}) for job in state.jobs
    )
    counts = state.counts
    return PlatformOutcome(
        policy=state.policy_name,
        seed=state.seed,
        cost=math.fsum(job.cost for job in jobs),
        execution_time_s=sum(job.execution_time_s for job in jobs),
        delay_s=sum(job.delay_s for job in jobs),
        overspend=math.fsum(job.overspend for job in jobs),
        late_jobs=sum(job.delay_s > 0 for job in jobs),
        overspent_jobs=sum(job.overspend > 0 for job in jobs),
        jobs=jobs,
        machines=tuple(
            MachineBill(
                resource=ids[machine.resource],
                cost=machine.hours * state.cost_per_vm_hour(machine.resource),
                **{name: getattr(machine, name) for name in _OF_MACHINES},
            )
            for machine in state.machines
        ),
        placements=counts["placements"],
        # Agents count for themselves, as they know no replay; policies without them count in its state.
        messages=counts["messages"] + state.tree.messages,
        comparisons=counts["comparisons"] + state.tree.comparisons,
        events=counts["events"],
        **{name: counts[name] for name in PLACED},
    )


def platform_trace(state: PlatformState, outcome: PlatformOutcome, job_set: JobSet | None = None) -> Trace:
    """Return the trace of an ended replay that was made with ``record=True``.

    Parameters
    ----------
    state : PlatformState
        That of the replay.
    outcome : PlatformOutcome
        That of the replay.
    job_set : JobSet, optional
        Which jobs were drawn for the platform by the seed; none if they are its own.
    """
    assert state.records is not None, "the replay keeps no record"
    run: dict[str, Any] = {
        "record": "run",
        "policy": state.policy_name,
        "seed": state.seed,
        "job_set": None if job_set is None else asdict(job_set),
        "rules": asdict(state.rules),
        "displaces": state.displaces,
    }
    end: dict[str, Any] = {
        "record": "end",
        "t": state.now_s,
        "finished": state.finished,
        **{name: getattr(outcome, name) for name in TOTALS},
        "machines": len(outcome.machines),
        "vm_hours": sum(machine.hours for machine in outcome.machines),
        **{name: getattr(outcome, name) for name in PLACED},
    }
    return Trace(state.platform.to_document(), run, state.records, end)


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
        Size of these jobs together.
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
    """Return the use of a resource, by the sizes of jobs (processor-minutes) and the slot of the first arrival."""
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
