"""The problem: tasks, VM types and their market offers, limits, deadline, objective."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar, get_args

import numpy as np
import numpy.typing as npt
from pydantic import Field, TypeAdapter, ValidationError

from .errors import Issue
from .json_documents import INTEGRAL, Record, Text, WholeDocument, field_issues

IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
FloatArray: TypeAlias = npt.NDArray[np.float64]

Array = TypeVar("Array", bound=npt.NDArray[Any])

INSTANCE_FORMAT: Literal["spotbag.instance/1"] = "spotbag.instance/1"
MAX_TASKS = 10_000_000
MAX_SECONDS = 10**9
KB_PER_MB = 1024
SECONDS_PER_HOUR = 3600

Market: TypeAlias = Literal["spot", "on-demand"]
MARKETS: tuple[Market, ...] = get_args(Market)

Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f\x85\u2028\u2029]+$")]
_NAMES: TypeAdapter[str] = TypeAdapter(Name)
Seconds: TypeAlias = Annotated[int, Field(ge=0, le=MAX_SECONDS), INTEGRAL]
RunTime: TypeAlias = Annotated[float, Field(ge=1e-6, le=MAX_SECONDS)]
Memory: TypeAlias = Annotated[float, Field(ge=1e-6, le=10**9)]
Price: TypeAlias = Annotated[float, Field(ge=1e-9, le=10**6)]
Scale: TypeAlias = Annotated[float, Field(ge=1e-9, le=10**18)]
Credits: TypeAlias = Annotated[float, Field(ge=0, le=10**9)]


class Offer(Record):
    """What one market asks for a VM type.

    Attributes
    ----------
    price_usd_per_hour : float
        Price of one VM; billed by the second from the moment it is ready.
    limit : int
        Most VMs of this type that may be rented in this market at the same time.
    """

    price_usd_per_hour: Price
    limit: Annotated[int, Field(ge=1, le=10**6), INTEGRAL]


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
    """

    name: Name
    vcpus: Annotated[int, Field(ge=1, le=4096), INTEGRAL]
    memory_mb: Memory
    offers: Annotated[dict[Market, Offer], Field(min_length=1)]
    gflops: Annotated[float, Field(ge=1e-6, le=10**12)] | None = None
    speed: Annotated[float, Field(ge=1e-6, le=10**6)] = 1.0
    burstable: Burstable | None = None


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
    """

    id: Name
    memory_mb: Memory
    runtime_s: Annotated[dict[Name, RunTime], Field(min_length=1)] | None = None
    base_runtime_s: RunTime | None = None
    count: Annotated[int, Field(ge=1, le=MAX_TASKS), INTEGRAL] = 1
    command: Text | None = None


class Checkpoints(Record):
    """Checkpoints of tasks on spot VMs (HADS, section 4.1).

    Attributes
    ----------
    overhead_fraction : float
        Most that checkpoints may add to the run time of a task; the paper's *ovh*.
    dump_base_s, dump_s_per_mb : float
        Time to write one checkpoint: ``dump_base_s + dump_s_per_mb * memory_mb``.
    """

    overhead_fraction: Annotated[float, Field(ge=1e-6, le=10)]
    dump_base_s: Annotated[float, Field(ge=1e-6, le=10**9)]
    dump_s_per_mb: Annotated[float, Field(ge=0, le=10**6)] = 0.0


class Limits(Record):
    """Most VMs of each market at the same time, over all types; no limit if absent."""

    max_spot: Annotated[int, Field(ge=0, le=10**9), INTEGRAL] | None = None
    max_on_demand: Annotated[int, Field(ge=0, le=10**9), INTEGRAL] | None = None

    def of(self, market: Market) -> int | None:
        """Limit of a market."""
        return self.max_spot if market == "spot" else self.max_on_demand


class Objective(Record):
    """The objective: ``cost_weight * cost / cost scale + (1 - cost_weight) * makespan / makespan scale``.

    Attributes
    ----------
    cost_weight : float
        In [0, 1]; the papers' alpha of the objective.
    cost_scale_usd, makespan_scale_s : float, optional
        Scales; see `Instance.cost_scale_usd` and `Instance.makespan_scale_s` for the defaults.
    """

    cost_weight: Annotated[float, Field(ge=0, le=1)] = 0.5
    cost_scale_usd: Scale | None = None
    makespan_scale_s: Scale | None = None


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
    """Where an instance comes from.

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
        VMs that may be rented at once: the offer's limit and the market's; 0 if the instance does not allow the market.
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
        """Whether the VM type is burstable."""
        return self.vm_type.burstable is not None

    def __str__(self) -> str:
        return f"{self.vm_type.name} {self.market}"


class Instance(WholeDocument):
    """A bag of tasks, what can be rented, and what is asked of a plan.

    Attributes
    ----------
    deadline_s : int
        All tasks end by then, counted from the start of the application (D).
    d_spot_s : int, optional
        Spot VMs end by then. If absent, it is estimated (`spotbag.estimate_d_spot`).
    boot_overhead_s : int
        From the request of a VM until it is ready and billed (omega).
    migration_overhead_s : int
        To move a task to a newly started VM (the papers' alpha of HADS).
    allocation_cycle_s : int
        Length of an allocation cycle (AC).
    checkpoint : Checkpoints, optional
        Tasks on spot VMs take checkpoints if present.
    limits : Limits
        Most VMs of each market.
    markets : tuple of {"spot", "on-demand"}
        Markets that may be used.
    objective : Objective
        Weight and scales.
    vm_types : tuple of VmType
        The catalogue, in an order that decides ties.
    tasks : tuple of Task
        The bag; its order decides ties.

    Raises
    ------
    InputError
        With everything that is wrong, each with place, value and rule.

    Notes
    -----
    Times are whole seconds: run times given with fractions count rounded up. Memory counts in whole KB
    (1 MB = 1024 KB): needs rounded up, sizes rounded down. Arrays are read-only. In arrays by task, a task is a
    row of its *group*, the entry of ``tasks`` it belongs to: ``instance.runtime_s[instance.task_group]``.
    """

    most_entries: ClassVar[int] = MAX_TASKS
    format: Literal["spotbag.instance/1"] = INSTANCE_FORMAT
    name: Name
    description: Text | None = None
    provenance: Provenance | None = None
    deadline_s: Annotated[int, Field(ge=1, le=MAX_SECONDS), INTEGRAL]
    d_spot_s: Seconds | None = None
    boot_overhead_s: Seconds = 0
    migration_overhead_s: Seconds = 0
    allocation_cycle_s: Annotated[int, Field(ge=1, le=MAX_SECONDS), INTEGRAL] = 900
    checkpoint: Checkpoints | None = None
    limits: Limits = Limits()
    markets: Annotated[tuple[Market, ...], Field(strict=False, min_length=1)] = MARKETS
    objective: Objective = Objective()
    vm_types: Annotated[tuple[VmType, ...], Field(strict=False, min_length=1)]
    tasks: Annotated[tuple[Task, ...], Field(strict=False, min_length=1)]

    @classmethod
    def issues_of_fields(cls, error: ValidationError, fields: Mapping[str, Any]) -> list[Issue]:
        """Say what is wrong with the fields, and between whatever is valid on its own."""
        from .cross_checks import cross_issues_of_parts

        return field_issues(error, cls, fields) + cross_issues_of_parts(fields)

    def issues_between_fields(self) -> list[Issue]:
        """Say what is wrong between the parts."""
        from .cross_checks import cross_issues

        return cross_issues(self)

    # ------------------------------------------------------------------ tasks

    @cached_property
    def n_tasks(self) -> int:
        """Number of tasks, each counted."""
        return int(self.group_size.sum())

    @cached_property
    def group_size(self) -> IntArray:
        """Number of tasks of each group, shape (n_groups,)."""
        return _read_only(np.array([task.count for task in self.tasks], dtype=np.int64))

    @cached_property
    def task_group(self) -> IntArray:
        """Entry of ``tasks`` for each task, shape (n_tasks,)."""
        return _read_only(np.repeat(np.arange(len(self.tasks)), self.group_size))

    @cached_property
    def task_ids(self) -> tuple[str, ...]:
        """Id of each task, shape (n_tasks,)."""
        return tuple(name for task in self.tasks for name in expanded_ids(task))

    @cached_property
    def task_index(self) -> dict[str, int]:
        """Position of each task by its id."""
        return {name: index for index, name in enumerate(self.task_ids)}

    @cached_property
    def memory_kb(self) -> IntArray:
        """Memory need of each group in KB, rounded up, shape (n_groups,)."""
        return _read_only(whole(np.array([task.memory_mb for task in self.tasks]) * KB_PER_MB))

    @cached_property
    def given_runtime_s(self) -> FloatArray:
        """Run time of each group on each VM type as given, shape (n_groups, n_types); infinite if it cannot run."""
        names = [vm_type.name for vm_type in self.vm_types]
        speeds = [vm_type.speed for vm_type in self.vm_types]
        table = np.empty((len(self.tasks), len(names)))
        for row, task in enumerate(self.tasks):
            if task.runtime_s is not None:
                by_name = task.runtime_s
                table[row] = [by_name.get(name, math.inf) for name in names]
            else:
                base = task.base_runtime_s or math.inf
                table[row] = [base / speed for speed in speeds]
        return _read_only(table)

    @cached_property
    def runtime_s(self) -> IntArray:
        """Run time of each group on each VM type in whole seconds, shape (n_groups, n_types).

        `durations.NEVER` if it cannot run there.
        """
        from .durations import NEVER

        given = self.given_runtime_s
        fits = self.memory_kb[:, None] <= np.array([type_memory_kb(vm_type) for vm_type in self.vm_types])
        able = (given <= MAX_SECONDS) & fits
        return _read_only(np.where(able, whole(np.where(able, given, 1.0)), NEVER))

    # ----------------------------------------------------------------- offers

    @cached_property
    def offers(self) -> tuple[RentalOffer, ...]:
        """All offers, by catalogue order, spot before on-demand."""
        return tuple(self._offers())

    def _offers(self) -> Iterator[RentalOffer]:
        index = 0
        for type_index, vm_type in enumerate(self.vm_types):
            for market in MARKETS:
                offer = vm_type.offers.get(market)
                if offer is None:
                    continue
                cap = self.limits.of(market)
                limit = offer.limit if cap is None else min(cap, offer.limit)
                yield RentalOffer(
                    index=index,
                    type_index=type_index,
                    vm_type=vm_type,
                    market=market,
                    price_usd_per_hour=offer.price_usd_per_hour,
                    limit=limit if market in self.markets else 0,
                    vcpus=vm_type.vcpus,
                    memory_kb=type_memory_kb(vm_type),
                )
                index += 1

    @cached_property
    def duration_s(self) -> IntArray:
        """How long a task occupies a core, shape (n_groups, n_offers, 2); see `durations.duration_table`.

        The last axis is the mode: 0 full speed, 1 baseline (burstable types only).
        """
        from .durations import duration_table

        return _read_only(duration_table(self))

    @cached_property
    def sustained_s(self) -> IntArray:
        """How long a task occupies a core whatever the credits, shape (n_groups, n_offers); see `sustained_table`."""
        from .durations import sustained_table

        return _read_only(sustained_table(self))

    @cached_property
    def offer_is_burstable(self) -> BoolArray:
        """Which offers are of burstable types, shape (n_offers,)."""
        return _read_only(np.array([offer.burstable for offer in self.offers]))

    @cached_property
    def offer_price_usd_per_s(self) -> FloatArray:
        """Price of a VM of each offer for a second, shape (n_offers,)."""
        return _read_only(np.array([offer.price_usd_per_s for offer in self.offers]))

    @cached_property
    def offer_is_spot(self) -> BoolArray:
        """Which offers are spot, shape (n_offers,)."""
        return _read_only(np.array([offer.market == "spot" for offer in self.offers]))

    @cached_property
    def memory_never_binds(self) -> BoolArray:
        """Types on which any tasks that fill the cores fit the memory together, shape (n_types,)."""
        from .durations import memory_never_binds

        return _read_only(memory_never_binds(self))

    def time_limit_s(self, market: Market) -> int:
        """Latest end of a task on a VM of a market; never after the deadline.

        Raises
        ------
        ValueError
            For spot VMs while ``d_spot_s`` is not set.
        """
        if market == "on-demand":
            return self.deadline_s
        if self.d_spot_s is None:
            raise ValueError("d_spot_s is not set; estimate it first (spotbag.estimate_d_spot)")
        return self.d_spot_s

    # -------------------------------------------------------------- objective

    @cached_property
    def cost_scale_usd(self) -> float:
        """Scale of the cost: as given, else what the tasks would cost on ideal on-demand VMs.

        That is the sum over the tasks of their cheapest on-demand core-seconds (price / vCPUs * run time), or of any
        market for tasks that no on-demand offer can run: an objective of 1 reads as *ideal on-demand cost and the
        whole deadline*.
        """
        if self.objective.cost_scale_usd is not None:
            return self.objective.cost_scale_usd
        from .durations import ideal_cost_usd

        return ideal_cost_usd(self)

    @property
    def makespan_scale_s(self) -> float:
        """Scale of the makespan: as given, else the deadline."""
        given = self.objective.makespan_scale_s
        return float(self.deadline_s) if given is None else given

    @cached_property
    def rounding_fraction(self) -> float:
        """Fraction of the work that was added by rounding run times up to whole seconds."""
        counts = self.group_size[:, None]
        able = np.isfinite(self.given_runtime_s)
        given = np.where(able, self.given_runtime_s, 0.0)
        return float((np.where(able, whole(given), 0.0) * counts).sum() / (given * counts).sum() - 1)


def is_name(text: str) -> bool:
    """Whether a text can be an id or a name."""
    try:
        _NAMES.validate_python(text)
    except ValidationError:
        return False
    return True


def whole(values: FloatArray) -> IntArray:
    """Round up to whole numbers; an excess below 1e-12 of the value is arithmetic noise and is dropped."""
    return np.ceil(values * (1 - 1e-12)).astype(np.int64)


def type_memory_kb(vm_type: VmType) -> int:
    """Memory of a VM in whole KB, rounded down."""
    return math.floor(vm_type.memory_mb * KB_PER_MB)


def expanded_ids(task: Task) -> list[str]:
    """Ids of the tasks that an entry stands for."""
    return [task.id] if task.count == 1 else [f"{task.id}#{k}" for k in range(1, task.count + 1)]


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array
