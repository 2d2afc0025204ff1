"""What a replay comes to."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class VmBill:
    """A VM and what it cost.

    Attributes
    ----------
    name, type, market : str
        Which VM.
    ready_s, end_s : int
        From when to when it was rented.
    hibernated_s : int
        Seconds of that in hibernation.
    cost_usd : float
        Its bill.
    """

    name: str
    type: str
    market: str
    ready_s: int
    end_s: int
    hibernated_s: int
    cost_usd: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a day comes to under a policy.

    Attributes
    ----------
    policy : str
        The policy.
    cost_usd : float
        Bill of all VMs.
    makespan_s : int or None
        End of the last task; None if tasks are left unfinished.
    deadline_s : int
        By when all tasks were to end.
    late_tasks, unfinished_tasks : int
        Tasks that ended after the deadline; tasks that never ended.
    hibernations, resumes : int
        Hibernations and resumes of VMs, each VM counted.
    resumes_in_time : int
        Resumes before the migration trigger of a VM that has tasks.
    on_demand_started : int
        On-demand VMs started during the day, those of the plan not counted.
    migrations : dict of str to int
        Tasks migrated, by the state of the VM that took them: idle, busy, new.
    hibernations_by_migration : dict of str to int
        Hibernations after which some task migrated so; a hibernation may count for several kinds.
    busy_hibernations : int
        Hibernations of VMs that had tasks.
    steal_attempts, steals, tasks_stolen : int
        Attempts of idle VMs, those that took at least one task, and the tasks taken.
    checkpoints, recoveries : int
        Checkpoints written; tasks that went on from one elsewhere.
    cpu_time_saved_s : float
        Seconds of work that recoveries did not do again.
    events : int
        Events handled, for measuring the engine.
    bills : tuple of VmBill
        Bill of each VM.
    """

    policy: str
    cost_usd: float
    makespan_s: int | None
    deadline_s: int
    late_tasks: int = 0
    unfinished_tasks: int = 0
    hibernations: int = 0
    resumes: int = 0
    resumes_in_time: int = 0
    on_demand_started: int = 0
    migrations: dict[str, int] = field(default_factory=dict)
    hibernations_by_migration: dict[str, int] = field(default_factory=dict)
    busy_hibernations: int = 0
    steal_attempts: int = 0
    steals: int = 0
    tasks_stolen: int = 0
    checkpoints: int = 0
    recoveries: int = 0
    cpu_time_saved_s: float = 0.0
    events: int = 0
    bills: tuple[VmBill, ...] = ()

    @property
    def meets_deadline(self) -> bool:
        """Whether all tasks ended by the deadline."""
        return self.makespan_s is not None and self.makespan_s <= self.deadline_s
