"""Entries of an instance document: tasks, VM types and their offers, limits, checkpoints, objective."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import Field

from ..core.errors import Issue
from ..core.quantities import (
    KB_PER_MB,
    MAX_SECONDS,
    SECONDS_PER_HOUR,
    Credits,
    Memory,
    Name,
    Price,
    RunTime,
    Scale,
    Seconds,
    VCpus,
)
from ..core.records import FROZEN, INTEGRAL, Record, Text

MAX_TASKS = 10_000_000
MAX_DURATIONS = 25_000_000
"""Most entries of a bag times offers: an instance of so many takes up to 2 GB to be planned."""

Market: TypeAlias = Literal["spot", "on-demand"]
MARKETS: tuple[Market, ...] = get_args(Market)

CloudName: TypeAlias = Literal["papers", "aws-terminate", "aws-stop", "aws-hibernate", "gcp", "azure"]
CLOUD_NAMES: tuple[CloudName, ...] = get_args(CloudName)
Goal: TypeAlias = Literal["cheapest", "fastest", "balanced"]
GOALS: tuple[Goal, ...] = get_args(Goal)
SurvivalLevel: TypeAlias = Literal["one-type", "blackout", "each"]
"""What goes down: all spot VMs of any one type, or of any types, at one moment; or any, each at a moment of its own."""
SURVIVAL_LEVELS: tuple[SurvivalLevel, ...] = get_args(SurvivalLevel)
SurvivalOption: TypeAlias = Literal[SurvivalLevel, "none"]
SURVIVAL_OPTIONS: tuple[SurvivalOption, ...] = get_args(SurvivalOption)

Architecture: TypeAlias = Literal["x86_64", "arm64"]
ARCHITECTURES: tuple[Architecture, ...] = get_args(Architecture)


class Offer(Record):
    """Price and limit of a VM type in one market.

    Attributes
    ----------
    price_usd_per_hour : float
        Price of one VM; billed by the second from the moment it is ready.
    limit : int
        Most VMs of this type that may be rented in this market at the same time; 0 if none may, such as while a quota
        is used up.
    """

    price_usd_per_hour: Price
    limit: Annotated[int, Field(ge=0, le=10**6), INTEGRAL]


class Burstable(Record):
    """CPU credits of a burstable VM type. One credit is one vCPU at full speed for one minute.

    Attributes
    ----------
    baseline_fraction : float
        Speed of a vCPU without credits, as a fraction of full speed, in (0, 1].
    credits_per_hour : float
        Credits that a VM earns in an hour, whatever it does.
    initial_credits : float
        Credits at the moment the VM is ready.
    max_credits : float, optional
        Most credits a VM can hold; 24 hours of earning if absent.
    """

    baseline_fraction: Annotated[float, Field(ge=1e-6, le=1)]
    credits_per_hour: Credits
    initial_credits: Credits = 0.0
    max_credits: Credits | None = None

    @property
    def credit_cap(self) -> float:
        """Most credits a VM can hold."""
        return 24 * self.credits_per_hour if self.max_credits is None else self.max_credits

    def credits_after(self, credits: float, seconds: float, at_full_speed: int = 0, at_baseline: int = 0) -> float:
        """Credits of a VM after some seconds with a number of busy cores; the balance is never below 0."""
        spent = (at_full_speed + at_baseline * self.baseline_fraction) / 60
        left = credits + (self.credits_per_hour / SECONDS_PER_HOUR - spent) * seconds
        return min(max(left, 0.0), self.credit_cap)


class VmType(Record):
    """A kind of VM and what the markets ask for it.

    Attributes
    ----------
    name : str
        E.g. ``c4.large``.
    vcpus : int
        Virtual cores; one task runs on one core.
    memory_mb : float
        Memory that the tasks running at the same time share (1 GB = 1024 MB).
    gflops : float, optional
        Computing power of the whole VM; ranks the types in the weighted round robin.
    speed : float
        Divides ``base_runtime_s`` of tasks that give no run times by type.
    offers : dict
        Market to `Offer`.
    burstable : Burstable, optional
        Present if the type is burstable.
    architecture : {"x86_64", "arm64"}, optional
        Of its processors. Tasks that ask for an architecture run only on types that state it.
    """

    name: Name
    vcpus: VCpus
    memory_mb: Memory
    offers: Annotated[dict[Market, Offer], Field(min_length=1), FROZEN]
    gflops: Annotated[float, Field(ge=1e-6, le=10**12)] | None = None
    speed: Annotated[float, Field(ge=1e-6, le=10**6)] = 1.0
    burstable: Burstable | None = None
    architecture: Architecture | None = None


class Task(Record):
    """A task, or several identical ones.

    Attributes
    ----------
    id : str
        Unique. With ``count`` k > 1 the tasks are called ``id#1`` .. ``id#k``.
    memory_mb : float
        Memory it needs while it runs.
    runtime_s : dict, optional
        VM type name to run time on one vCPU of it (of a burstable type: at full speed). A type left out cannot run it.
    base_runtime_s : float, optional
        Instead of ``runtime_s``: run time at speed 1, divided by the ``speed`` of each type.
    count : int
        How many identical tasks this is.
    command : str, optional
        What to execute; kept, never looked at.
    architecture : {"x86_64", "arm64"}, optional
        It runs only on VM types of this architecture; on all if absent.
    """

    id: Name
    memory_mb: Memory
    runtime_s: Annotated[dict[Name, RunTime], Field(min_length=1), FROZEN] | None = None
    base_runtime_s: RunTime | None = None
    count: Annotated[int, Field(ge=1, le=MAX_TASKS), INTEGRAL] = 1
    command: Text | None = None
    architecture: Architecture | None = None


class Checkpoints(Record):
    """Checkpoints of tasks on spot VMs (HADS, section 4.1).

    Attributes
    ----------
    overhead_fraction : float
        Most that checkpoints may add to the run time of a task; the paper's *ovh*.
    dump_base_s, dump_s_per_mb : float
        Time to write one checkpoint: ``dump_base_s + dump_s_per_mb * memory_mb``. If that is less than a microsecond,
        there is a checkpoint after every second of work.
    """

    overhead_fraction: Annotated[float, Field(ge=1e-6, le=10)]
    dump_base_s: Annotated[float, Field(ge=0, le=10**9)]
    dump_s_per_mb: Annotated[float, Field(ge=0, le=10**6)] = 0.0


class Limits(Record):
    """Most VMs of each market at the same time, over all types; no limit if absent."""

    max_spot: Annotated[int, Field(ge=0, le=10**9), INTEGRAL] | None = None
    max_on_demand: Annotated[int, Field(ge=0, le=10**9), INTEGRAL] | None = None

    def of(self, market: Market) -> int | None:
        """Limit of a market."""
        return self.max_spot if market == "spot" else self.max_on_demand


class Objective(Record):
    """Goal of a plan beside the deadline.

    Attributes
    ----------
    goal : {"cheapest", "fastest", "balanced"}, optional
        ``cheapest``: the least cost, and of the plans at that cost the one that ends first. ``fastest``: the least
        makespan, and of the plans that end by then the cheapest. ``balanced``, the papers' objective:
        ``cost_weight * cost / cost scale + (1 - cost_weight) * makespan / makespan scale``. If absent, `Instance.goal`
        says what counts.
    budget_usd : float, optional
        Most that a plan may cost; for the goal ``fastest`` only.
    cost_weight : float, optional
        In [0, 1]; the papers' alpha of the objective. 0.5 if absent; for the goal ``balanced`` only.
    cost_scale_usd, makespan_scale_s : float, optional
        Scales, for the goal ``balanced`` only; see `Instance.cost_scale_usd` and `Instance.makespan_scale_s` for the
        defaults.
    """

    goal: Goal | None = None
    budget_usd: Scale | None = None
    cost_weight: Annotated[float, Field(ge=0, le=1)] | None = None
    cost_scale_usd: Scale | None = None
    makespan_scale_s: Scale | None = None

    def issues_between_fields(self) -> list[Issue]:
        """Say which fields have no meaning for the goal."""
        return objective_issues(self)


WEIGHTS_AND_SCALES = ("cost_weight", "cost_scale_usd", "makespan_scale_s")
"""Fields of an objective for the goal ``balanced`` only."""


def objective_issues(objective: Objective, path: str = "") -> list[Issue]:
    """Fields of an objective that have no meaning for its goal."""
    goal = objective.goal
    issues = []
    if objective.budget_usd is not None and goal != "fastest":
        issues.append(Issue(path, "is for the goal 'fastest' only", "budget_usd", objective.budget_usd))
    if goal in ("cheapest", "fastest"):
        for name in WEIGHTS_AND_SCALES:
            value = getattr(objective, name)
            if value is not None:
                issues.append(Issue(path, f"is for the goal 'balanced' only; the goal is {goal!r}", name, value))
    return issues


class RunningTask(Record):
    """A task that runs on a machine, and stays there until it ends.

    Attributes
    ----------
    task : str
        Its id.
    core : int
        The core that it runs on.
    start_s : int
        When it started, before or at second 0; its duration there says when it ends.
    mode : {"burst", "baseline"}, optional
        On burstable machines: at full speed, or at the baseline; full speed if absent.
    """

    task: Name
    core: Annotated[int, Field(ge=0, lt=4096), INTEGRAL]
    start_s: Annotated[int, Field(ge=-MAX_SECONDS, le=0), INTEGRAL]
    mode: Literal["burst", "baseline"] | None = None


class Machine(Record):
    """A VM that exists already at second 0. A plan may go on using it, and need not.

    It counts in the limits whether the plan uses it or not. It costs its price from ``paid_until_s``, or from
    ``ready_s`` if that is later, until its last task ends.

    Attributes
    ----------
    id : str
        Unique. The VM of a plan with this id is this machine.
    type, market : str
        What was rented.
    ready_s : int
        When it can run tasks.
    paid_until_s : int
        Until then, nothing more is paid for it.
    open : bool
        Whether it takes more tasks than those that run there. A VM that is about to go, or is hibernated, does not.
    running : tuple of RunningTask
        What runs there; every plan has these tasks there, at most one on a core.
    credits : float, optional
        CPU credits of a burstable machine at second 0, or when it is ready; those of its type if absent.
    """

    id: Name
    type: Name
    market: Market
    ready_s: Seconds = 0
    paid_until_s: Seconds = 0
    open: bool = True
    running: Annotated[tuple[RunningTask, ...], Field(strict=False)] = ()
    credits: Credits | None = None


class KnownOptimum(Record):
    """Optimum of a hand-sized instance.

    Attributes
    ----------
    objective, cost_usd, makespan_s : number
        Value of the instance's objective, and what it is made of.
    derivation : str
        Why no plan is better.
    """

    objective: float
    cost_usd: float
    makespan_s: int
    derivation: Text


class Provenance(Record):
    """Origin of an instance.

    Attributes
    ----------
    source : str
        Paper and table, or who made it.
    notes : str, optional
        What is printed there and what is not.
    generator, seed : str and int, optional
        How to make it again.
    optimum : KnownOptimum, optional
        Of a hand-sized instance.
    """

    source: Text
    notes: Text | None = None
    generator: Text | None = None
    seed: int | None = None
    optimum: KnownOptimum | None = None


@dataclass(frozen=True, slots=True)
class RentalOffer:
    """A VM type in a market, as the schedulers see it.

    Attributes
    ----------
    index : int
        Position in `Instance.offers`.
    type_index, vm_type : int and VmType
        The VM type, and its position in `Instance.vm_types`.
    market : {"spot", "on-demand"}
        Who offers it.
    price_usd_per_hour : float
        Price of one VM.
    limit : int
        VMs that a plan may rent at once: the offer's limit and the market's, less the machines that exist; 0 if the
        instance does not allow the market.
    vcpus, memory_kb : int
        Cores of a VM, and its memory in whole KB.
    """

    index: int
    type_index: int
    vm_type: VmType
    market: Market
    price_usd_per_hour: float
    limit: int
    vcpus: int
    memory_kb: int

    @property
    def price_usd_per_s(self) -> float:
        """Price of one VM for a second."""
        return self.price_usd_per_hour / SECONDS_PER_HOUR

    @property
    def burstable(self) -> bool:
        """True if the VM type is burstable."""
        return self.vm_type.burstable is not None

    def __str__(self) -> str:
        return f"{self.vm_type.name} {self.market}"


def type_memory_kb(vm_type: VmType) -> int:
    """Memory of a VM in whole KB, rounded down."""
    return math.floor(vm_type.memory_mb * KB_PER_MB)


def expanded_ids(group: str, count: int) -> list[str]:
    """Ids of the tasks that an entry stands for, by its id and its count."""
    return [group] if count == 1 else [f"{group}#{k}" for k in range(1, count + 1)]
