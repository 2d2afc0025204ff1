"""Result of all methods."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from ...core.quantities import closes_gap, relative_gap
from ...instances.instance import Instance
from ...schedules.documents import Lateness, Survival
from ...schedules.method import StepTaken, TracePoint
from ...schedules.schedule import Schedule

Status: TypeAlias = Literal["optimal", "feasible", "late", "no-plan", "infeasible"]

STATUS_MEANINGS: dict[Status, str] = {
    "optimal": "a plan that the checker passed, at a proven lower bound",
    "feasible": "a plan that the checker passed",
    "late": "a plan that the checker passed but for the tasks that it names, which are late; no plan in time was found",
    "no-plan": "no plan was found, by this method and in this time; this proves nothing about others",
    "infeasible": "proved: no plan exists",
}
"""Meaning of each status, and how it was earned."""


Quantity: TypeAlias = Literal["cost_usd", "makespan_s"]


@dataclass(frozen=True, slots=True)
class Stage:
    """A quantity that a goal makes least, after those before it.

    Attributes
    ----------
    quantity : {"cost_usd", "makespan_s"}
        What is made least.
    value : float
        Of the plan.
    bound : float or None
        Proven lower bound, of the second quantity among the plans at the least value of the first; None where that
        is not proved.
    proven : bool
        Whether the value is proved least.
    """

    quantity: Quantity
    value: float
    bound: float | None
    proven: bool


def stages_of(schedule: Schedule | None, bound: float, second_bound: float | None) -> tuple[Stage, ...]:
    """Quantities to be made least by the goal of a plan, in order, and what is proved of them; none of weighed ones."""
    if schedule is None or schedule.instance.goal == "balanced":
        return ()
    cost: tuple[Quantity, float] = "cost_usd", schedule.cost_usd
    makespan: tuple[Quantity, float] = "makespan_s", float(schedule.makespan_s)
    in_order = (cost, makespan) if schedule.instance.goal == "cheapest" else (makespan, cost)
    return tuple(
        Stage(quantity, value, proved, proved is not None and closes_gap(value, proved))
        for (quantity, value), proved in zip(in_order, (bound, second_bound), strict=True)
    )


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """Result of a method for an instance.

    Attributes
    ----------
    status : {"optimal", "feasible", "late", "no-plan", "infeasible"}
        See `STATUS_MEANINGS`.
    instance : Instance
        The instance as it was solved: D_spot is set if spot VMs are offered.
    method : str
        Name of the method.
    schedule : Schedule or None
        The plan.
    message : str
        Why there is no plan, or none in time: which task, which limit, by how much.
    warnings : tuple of str
        What a user should know about the plan.
    bound : float or None
        Proven lower bound of the objective, if the method has one: of plans that survive, where the plan was chosen so
        that it does.
    stages : tuple of Stage
        For the goals ``cheapest`` and ``fastest``: what was made least in which order. The first is the objective.
    survival : Survival or None
        What the plan survives and at what cost; None without a plan, or where ``survive`` is ``none``.
    late : Lateness or None
        Of a plan with the status ``late``: which tasks are late, by how much, what is proved, and what would save them.
    runtime_s : float
        Time it took, without reading the instance.
    seed : int
        Seed of the random numbers, if the method uses any.
    stats : mapping
        Figures of the method, by name.
    trace : tuple of TracePoint
        How a search converged: the points that were reported, without repetitions. The best objective of the last one
        is at most that of the plan.
    interrupted : bool
        Whether the user ended it; the plan is the best until then.
    steps : tuple of StepTaken
        What ran, when, for how long, and what it brought.
    bound_without : float or None
        Proven lower bound of all plans, whether they survive or not; None where `bound` is one of all plans.
    """

    status: Status
    instance: Instance
    method: str
    schedule: Schedule | None
    message: str = ""
    warnings: tuple[str, ...] = ()
    bound: float | None = None
    stages: tuple[Stage, ...] = ()
    survival: Survival | None = None
    late: Lateness | None = None
    runtime_s: float = 0.0
    seed: int = 0
    stats: Mapping[str, float] = field(default_factory=dict)
    trace: tuple[TracePoint, ...] = ()
    interrupted: bool = False
    steps: tuple[StepTaken, ...] = ()
    bound_without: float | None = None

    def __repr__(self) -> str:
        return (
            f"Result(instance={self.instance.name!r}, method={self.method!r}, status={self.status!r}, "
            f"objective={self.objective}, bound={self.bound}, runtime_s={self.runtime_s:.3f})"
        )

    @property
    def objective(self) -> float | None:
        """Objective of the plan."""
        return None if self.schedule is None else self.schedule.objective

    @property
    def gap(self) -> float | None:
        """Relative gap between plan and bound, if both are there."""
        return relative_gap(self.objective, self.bound)

    @property
    def gap_without(self) -> float | None:
        """Relative gap between plan and the bound of all plans, where that is another one."""
        return relative_gap(self.objective, self.bound_without)

    @property
    def bound_of_all(self) -> float | None:
        """Proven lower bound of all plans, whether they survive or not."""
        return self.bound if self.bound_without is None else self.bound_without

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a JSON object; numbers that are not known are null."""
        schedule = self.schedule
        return {
            "instance": self.instance.name,
            "status": self.status,
            "method": self.method,
            "goal": self.instance.goal,
            "budget_usd": self.instance.objective.budget_usd,
            "objective": self.objective,
            # JSON has no infinity; that no plan exists is said by the status.
            "bound": None if self.bound is None or math.isinf(self.bound) else self.bound,
            "gap": self.gap,
            "bound_without": self.bound_without,
            "gap_without": self.gap_without,
            "stages": [asdict(stage) for stage in self.stages],
            "cost_usd": None if schedule is None else schedule.cost_usd,
            "makespan_s": None if schedule is None else schedule.makespan_s,
            "deadline_s": self.instance.deadline_s,
            "d_spot_s": self.instance.d_spot_s,
            "survival": None if self.survival is None else self.survival.model_dump(mode="json"),
            "late": None if self.late is None else self.late.model_dump(mode="json"),
            "vms": [] if schedule is None else _vms(schedule),
            "message": self.message,
            "warnings": list(self.warnings),
            "runtime_s": self.runtime_s,
            "seed": self.seed,
            "stats": dict(self.stats),
            "interrupted": self.interrupted,
            "steps": [_step(step) for step in self.steps],
        }


def _step(step: StepTaken) -> dict[str, Any]:
    """Return a step as a JSON object; a missing plan or bound is null."""
    return {
        name: None if isinstance(value, float) and math.isinf(value) else value for name, value in asdict(step).items()
    }


def _vms(schedule: Schedule) -> list[dict[str, Any]]:
    tasks = [0] * len(schedule.vm_ids)
    for vm in schedule.task_vm.tolist():
        tasks[vm] += 1
    offers = schedule.instance.offers
    rows = zip(
        schedule.vm_ids, schedule.vm_offer.tolist(), schedule.vm_end_s.tolist(), schedule.vm_cost_usd, strict=True
    )
    return [
        {
            "id": name,
            "type": offers[offer].vm_type.name,
            "market": offers[offer].market,
            "tasks": tasks[index],
            "end_s": end,
            "cost_usd": float(cost),
        }
        for index, (name, offer, end, cost) in enumerate(rows)
    ]
