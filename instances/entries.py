"""Entries of an instance document: tasks, VM types and their offers, limits, checkpoints, objective.

The time for which a task occupies a core of an offer is defined here, once for all methods, and what limits of several
offers leave and allow.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias, get_args

import numpy as np
from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from ..core.capacities import Number, lower_of, packed, upper_of
from ..core.errors import Issue
from ..core.quantities import (
    EXCESS,
    KB_PER_MB,
    LEAST_DUMP_S,
    MAX_SECONDS,
    NOISE,
    SECONDS_PER_HOUR,
    BoolArray,
    Credits,
    FloatArray,
    IntArray,
    Memory,
    Name,
    OwnPrice,
    Price,
    RunTime,
    Scale,
    Seconds,
    VCpus,
    whole,
)
from ..core.records import FROZEN, INTEGRAL, FrozenDict, Record, Text
from .table_formats import COLUMNS, OF_TASKS

MAX_TASKS = 10_000_000
MAX_DURATIONS = 25_000_000
"""Most entries of a bag times offers: an instance of that size takes up to 2 GB to be planned."""

Market: TypeAlias = Literal["spot", "on-demand"]
MARKETS: tuple[Market, ...] = get_args(Market)

CloudName: TypeAlias = Literal["papers", "aws-terminate", "aws-stop", "aws-hibernate", "gcp", "azure"]
CLOUD_NAMES: tuple[CloudName, ...] = get_args(CloudName)
Goal: TypeAlias = Literal["cheapest", "fastest", "balanced"]
GOALS: tuple[Goal, ...] = get_args(Goal)
SurvivalLevel: TypeAlias = Literal["one-type", "one-pool", "blackout", "each"]
"""Loss that a plan survives: all spot VMs of any one type, of a type in any one zone, or of any types, at one moment;
or any, each at a moment of its own."""
SURVIVAL_LEVELS: tuple[SurvivalLevel, ...] = get_args(SurvivalLevel)
SurvivalOption: TypeAlias = Literal[SurvivalLevel, "none"]
SURVIVAL_OPTIONS: tuple[SurvivalOption, ...] = get_args(SurvivalOption)

Architecture: TypeAlias = Literal["x86_64", "arm64"]


def _refused(why: str) -> str:
    return f"cannot be planned: {why} (without the key it is planned as if that were not so)"


_REFUSED_KEYS: Mapping[str, str] = {
    **{name: _refused(said["why"]) for said in COLUMNS["refused"] for name in said["headings"].split()},
    **{name: "are called cores here" for name in OF_TASKS["cores"] if name != "cores"},
    **dict.fromkeys(OF_TASKS["state"], _refused("a bag has the tasks that are to be run, and no others")),
    **dict.fromkeys(OF_TASKS["market"], 'is called markets here: ["on-demand"] of a task that must not be preempted'),
}


RESERVED = "reserved"
"""Market of an offer of a document that is a pool of the instance, ``type@reserved``, with VMs on demand."""


def _without_reserved(offers: Any) -> Any:
    """Refuse a market of reserved capacity where no instance makes a pool of it."""
    if isinstance(offers, Mapping) and RESERVED in offers:
        raise PydanticCustomError(
            RESERVED,
            "are of no market 'reserved' but in a document of an instance, which makes a pool of it: give a VM type of "
            "the name 'TYPE@reserved' and the zone 'reserved', offered on-demand",
        )
    return offers


class Offer(Record):
    """Price and limit of a VM type in one market.

    Attributes
    ----------
    price_usd_per_hour : float
        Price of one VM, billed as its cloud does from the moment it is ready.
    limit : int
        Most VMs of this type that may be rented in this market at the same time; 0 if none may, such as while a quota
        is used up.
    """

    price_usd_per_hour: Price
    limit: Annotated[int, Field(ge=0, le=10**6), INTEGRAL]


SECONDS_PER_CREDIT = 60
"""Seconds for which one CPU credit lasts at full speed on one vCPU (Burst-HADS, section III-E)."""

LACKING_CREDITS = 1e-6
"""Credits that a VM may lack where replays and checkers ask whether it has enough: rounding."""


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
        spent = (at_full_speed + at_baseline * self.baseline_fraction) / SECONDS_PER_CREDIT
        left = credits + (self.credits_per_hour / SECONDS_PER_HOUR - spent) * seconds
        return min(max(left, 0.0), self.credit_cap)


class VmType(Record):
    """A kind of VM and what the markets ask for it.

    Attributes
    ----------
    name : str
        E.g. ``c4.large``.
    vcpus : int
        Virtual cores; a task has as many of them as it needs.
    memory_mb : float
        Memory that the tasks running at the same time share (1 GB = 1024 MB).
    gflops : float, optional
        Computing power of the whole VM; ranks the types in the weighted round robin.
    speed : float
        Divides ``base_runtime_s`` of tasks that give no run times by type.
    offers : dict
        Market to `Offer`: spot and on-demand; in documents also reserved, which is read as a pool ``TYPE@reserved`` of
        VMs on demand.
    burstable : Burstable, optional
        Present if the type is burstable.
    architecture : {"x86_64", "arm64"}, optional
        Of its processors. Tasks that ask for an architecture run only on types that state it.
    reserved_mb : float
        Of its memory, what tasks cannot have: the system's.
    setup_s : int
        Seconds after the boot before its first task, in which images are pulled and data staged: they are billed.
    zone : str, optional
        Of a pool, whose name is that of the type and of its zone, ``c6i.large@us-east-1a``; tasks have run times on
        the type.
    zones : dict, optional
        Zone to the price of a spot VM there: the type is read as a pool in each.
    """

    _refused_keys: ClassVar[Mapping[str, str]] = {name: why for name, why in _REFUSED_KEYS.items() if "GPUs" in why}
    name: Name
    vcpus: VCpus
    memory_mb: Memory
    offers: Annotated[dict[Market, Offer], Field(min_length=1), FROZEN, BeforeValidator(_without_reserved)]
    gflops: Annotated[float, Field(ge=1e-6, le=10**12)] | None = None
    speed: Annotated[float, Field(ge=1e-6, le=10**6)] = 1.0
    burstable: Burstable | None = None
    architecture: Architecture | None = None
    reserved_mb: Annotated[float, Field(ge=0)] = 0.0
    setup_s: Seconds = 0
    zone: Name | None = None
    zones: Annotated[dict[Name, Price], Field(min_length=1), FROZEN] | None = None

    @property
    def instance_type(self) -> str:
        """Name of the type: that of a pool without its zone."""
        return self.name if self.zone is None else self.name.removesuffix(f"@{self.zone}")


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
    ready_s : int, optional
        Its release: it starts no earlier; 0 if absent.
    deadline_s : int, optional
        It ends by then, and by the deadline of the bag. Of what a state leaves, it is below 0 if it has passed.
    weight : float, optional
        What it counts among tasks that are late; 1 if absent.
    markets : tuple of {"spot", "on-demand"}, optional
        It runs only on VMs of these markets; on all if absent. Of tasks that may not be on demand, no plan survives the
        loss.
    cores : int
        Cores of one VM that it has for as long as it runs; they need not be neighbours.
    """

    _refused_keys: ClassVar[Mapping[str, str]] = _REFUSED_KEYS
    id: Name
    memory_mb: Memory
    runtime_s: Annotated[dict[Name, RunTime], Field(min_length=1), FROZEN] | None = None
    base_runtime_s: RunTime | None = None
    count: Annotated[int, Field(ge=1, le=MAX_TASKS), INTEGRAL] = 1
    command: Text | None = None
    architecture: Architecture | None = None
    ready_s: Seconds | None = None
    deadline_s: Annotated[int, Field(ge=-MAX_SECONDS, le=MAX_SECONDS), INTEGRAL] | None = None
    weight: Annotated[float, Field(ge=1e-6, le=10**6)] | None = None
    markets: Annotated[tuple[Market, ...], Field(strict=False, min_length=1)] | None = None
    cores: VCpus = 1


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


class Quota(Record):
    """A limit of VMs of several types together, in one market, as clouds have them for an account.

    Attributes
    ----------
    market : {"spot", "on-demand"}
        It counts the VMs of this market.
    types : tuple of str, optional
        Names of VM types, or patterns of them: ``*`` is anything, ``?`` one character; all types if absent.
        Pools are ``type@zone``.
    vcpus, vms : int, optional
        One of the two: the most vCPUs that the VMs have together, or the most VMs, at the same time.
    """

    market: Market
    types: Annotated[tuple[Name, ...], Field(strict=False, min_length=1)] | None = None
    vcpus: Annotated[int, Field(ge=0, le=10**9), INTEGRAL] | None = None
    vms: Annotated[int, Field(ge=0, le=10**9), INTEGRAL] | None = None

    @property
    def most(self) -> int:
        """The most vCPUs or VMs."""
        return (self.vms or 0) if self.vcpus is None else self.vcpus

    def raised(self, more: int) -> Quota:
        """Return the limit, raised by a number of vCPUs or VMs."""
        return self.model_copy(update={"vms" if self.vcpus is None else "vcpus": self.most + more})

    def weight(self, vm_type: VmType, market: Market) -> int:
        """Return the weight of a VM: its vCPUs, or 1; 0 if no quota counts VMs like this one."""
        if market != self.market or not (self.types is None or any(matches(vm_type.name, one) for one in self.types)):
            return 0
        return 1 if self.vcpus is None else vm_type.vcpus

    def __str__(self) -> str:
        types = "" if self.types is None else f" of {', '.join(self.types)}"
        return f"{self.most} {'VMs' if self.vcpus is None else 'vCPUs'}{types} {self.market}"


def matches(name: str, pattern: str) -> bool:
    """True if a name fits a pattern, in which ``*`` is anything and ``?`` one character."""
    # To fnmatch brackets are sets of letters, which patterns here do not have.
    return fnmatchcase(name, pattern.replace("[", "[[]"))


class Limits(Record):
    """Most VMs at the same time, over several types.

    Attributes
    ----------
    max_spot, max_on_demand : int, optional
        Of the spot market, and on demand; no limit if absent.
    quotas : tuple of Quota
        Limits of groups of types.
    """

    _refused_keys: ClassVar[Mapping[str, str]] = {
        f"max_{name}_vcpus": f'is said by quotas: [{{"market": "{market}", "vcpus": ...}}]'
        for name, market in (("spot", "spot"), ("on_demand", "on-demand"))
    }
    max_spot: Annotated[int, Field(ge=0, le=10**9), INTEGRAL] | None = None
    max_on_demand: Annotated[int, Field(ge=0, le=10**9), INTEGRAL] | None = None
    quotas: Annotated[tuple[Quota, ...], Field(strict=False)] = ()

    def of_groups(self) -> Iterator[tuple[str, Quota]]:
        """All limits of VMs of several types, with their names; those of markets are quotas of all types."""
        if self.max_spot is not None:
            yield f"limits.max_spot ({self.max_spot})", Quota(market="spot", vms=self.max_spot)
        if self.max_on_demand is not None:
            yield f"limits.max_on_demand ({self.max_on_demand})", Quota(market="on-demand", vms=self.max_on_demand)
        for number, quota in enumerate(self.quotas):
            yield f"limits.quotas[{number}] ({quota})", quota

    def most_vms(self, vm_type: VmType, market: Market) -> int:
        """Return the most VMs of a type in a market, where it is offered: by the limits of its offer and its groups."""
        weights = ((quota.weight(vm_type, market), quota.most) for _, quota in self.of_groups())
        return min([vm_type.offers[market].limit, *(most // weight for weight, most in weights if weight)])


class GroupLimit(NamedTuple):
    """A limit of what a plan may rent of several offers together.

    Attributes
    ----------
    name : str
        Its name among the limits, with its value.
    weights : array of int, shape (n_offers,)
        Weight of a VM of each offer; 0 for those that do not count.
    most : int
        Most that the VMs of a plan may weigh: less the machines that exist.
    """

    name: str
    weights: IntArray
    most: int


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
        weights = WEIGHTS_AND_SCALES if self.goal in ("cheapest", "fastest") else ()
        wrong = {} if self.goal == "fastest" else {"budget_usd": "is for the goal 'fastest' only"}
        wrong |= dict.fromkeys(weights, f"is for the goal 'balanced' only; the goal is {self.goal!r}")
        given = ((name, rule, getattr(self, name)) for name, rule in wrong.items())
        return [Issue("", rule, name, value) for name, rule, value in given if value is not None]


WEIGHTS_AND_SCALES = ("cost_weight", "cost_scale_usd", "makespan_scale_s")
"""Fields of an objective for the goal ``balanced`` only."""


class BillingRules(Record):
    """Rules of a bill that differ from those of the cloud.

    Attributes
    ----------
    minimum_s, block_s : int, optional
        What each session of a VM is billed at least, and in blocks of how many seconds.
    boot_s : int, optional
        Seconds before each session that are billed with it: of the boot, or in which images are pulled and data staged.
    fixed_usd : float, optional
        What each session costs whatever its length.
    """

    minimum_s: Seconds | None = None
    boot_s: Seconds | None = None
    block_s: Annotated[int, Field(ge=1, le=MAX_SECONDS), INTEGRAL] | None = None
    fixed_usd: Annotated[float, Field(ge=0, le=10**6)] | None = None


Core: TypeAlias = Annotated[int, Field(ge=0, lt=4096), INTEGRAL]
Cores: TypeAlias = Annotated[tuple[Core, ...], Field(strict=False, min_length=1)]


def named_cores(run: Any) -> tuple[int, ...]:
    """Named cores of a running task (`RunningTask`, `TaskOnVm`): all of them, or the first alone."""
    return run.cores or (run.core,)


def wrong_cores(run: Any) -> bool:
    """True if the cores that are named of a task that runs do not begin with its core, or name one twice."""
    named = named_cores(run)
    return named[0] != run.core or len({*named}) < len(named)


class RunningTask(Record):
    """A task that runs on a machine, and stays there until it ends.

    Attributes
    ----------
    task : str
        Its id.
    core : int
        The core that it runs on; the first of several.
    start_s : int
        When it started, before or at second 0; its duration there says when it ends.
    mode : {"burst", "baseline"}, optional
        On burstable machines: at full speed, or at the baseline; full speed if absent.
    cores : tuple of int, optional
        All cores of a task that has several; ``core`` is the first. If absent, plans give it those that are free.
    """

    task: Name
    core: Core
    start_s: Annotated[int, Field(ge=-MAX_SECONDS, le=0), INTEGRAL]
    mode: Literal["burst", "baseline"] | None = None
    cores: Cores | None = None


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
    price_usd_per_hour : float, optional
        At which it is rented, where that is not the price of its type in its market.
    launching : bool
        Whether it launches still, though it is taken to be ready at second 0: what a session costs when it begins is to
        be paid yet. Of machines that get ready later, that is so without this.
    """

    id: Name
    type: Name
    market: Market
    ready_s: Seconds = 0
    paid_until_s: Seconds = 0
    open: bool = True
    running: Annotated[tuple[RunningTask, ...], Field(strict=False)] = ()
    credits: Credits | None = None
    price_usd_per_hour: OwnPrice | None = None
    launching: bool = False


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
        VMs that a plan may rent at once: by the offer's limit and those of its groups, less the machines that exist; 0
        if the instance does not allow the market.
    vcpus, memory_kb : int
        Slots of a VM, which are its cores where no task has several, and what its tasks share: its memory in whole KB,
        its slots, or both in one number; see `Slots`.
    listed_as : int, optional
        Of VMs that exist at a price of their own: the offer that is the same but for the price. None may be rented.
    """

    index: int
    type_index: int
    vm_type: VmType
    market: Market
    price_usd_per_hour: float
    limit: int
    vcpus: int
    memory_kb: int
    listed_as: int | None = None

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


def offers_at_own_prices(listed: Sequence[RentalOffer], vms: Sequence[Any]) -> Iterator[RentalOffer]:
    """Offers beyond those that are listed: of VMs that exist at a price of their own, one for each price."""
    known = {(offer.vm_type.name, offer.market): offer for offer in listed}
    found: set[tuple[int, float]] = set()
    for vm in vms:
        offer, price = known.get((vm.type, vm.market)), vm.price_usd_per_hour
        if offer is None or price is None or price == offer.price_usd_per_hour or (offer.index, price) in found:
            continue
        index = len(listed) + len(found)
        found.add((offer.index, price))
        yield replace(offer, index=index, price_usd_per_hour=price, limit=0, listed_as=offer.index)


def offers_of_existing(offers: Sequence[RentalOffer], vms: Sequence[Any]) -> list[int]:
    """Offer of each VM that exists, at its own price if it has one; -1 if it is of none."""
    at_price = {
        (offer.vm_type.name, offer.market, None if offer.listed_as is None else offer.price_usd_per_hour): offer.index
        for offer in offers
    }
    listed = [at_price.get((vm.type, vm.market, None), -1) for vm in vms]
    return [
        at_price.get((vm.type, vm.market, vm.price_usd_per_hour), index) for vm, index in zip(vms, listed, strict=True)
    ]


def withdrawn(vm_type: VmType, above_usd_per_hour: float = -1.0) -> VmType:
    """Return a VM type of which none may be rented any more, or none in markets where it is dearer than a price."""
    offers = {
        market: offer.model_copy(update={"limit": 0}) if offer.price_usd_per_hour > above_usd_per_hour else offer
        for market, offer in vm_type.offers.items()
    }
    return vm_type.model_copy(update={"offers": FrozenDict(offers)})


def type_memory_kb(vm_type: VmType) -> int:
    """Memory of a VM for tasks in whole KB, rounded down; what is reserved, rounded up."""
    return math.floor(vm_type.memory_mb * KB_PER_MB) - math.ceil(vm_type.reserved_mb * KB_PER_MB * (1 - EXCESS))


class Slots(NamedTuple):
    """Slots: the cores of VMs as plans and replays count them.

    A VM has a slot for as many cores as divide the needs of all tasks. Where all tasks need the same number, each runs
    in a slot of its own, and nothing else is known of cores. Where they do not, slots are what tasks on a VM share, as
    they share memory elsewhere: each needs some (`Instance.memory_kb`), a VM has so many (`RentalOffer.memory_kb`), and
    a task stands in the queue of one, its first. Where memory may bind beside them, both are in one number
    (`core.capacities`).

    Attributes
    ----------
    cores : int
        Cores of a slot.
    shared : bool
        Whether tasks need different numbers of them.
    beside_memory : bool
        Whether they do, and memory may bind, too (`memory_beside_cores`).
    """

    cores: int = 1
    shared: bool = False
    beside_memory: bool = False

    @classmethod
    def of(
        cls, cores: IntArray, vm_types: Sequence[VmType] = (), running: Iterable[tuple[tuple[int, ...], str]] = ()
    ) -> Slots:
        """Return the slots of a bag, by the cores of its tasks and, of each that runs, its named cores and VM type."""
        if int(cores.max(initial=1)) == 1:
            return cls()
        runs, vcpus = [*running], {vm_type.name: vm_type.vcpus for vm_type in vm_types}
        size = math.gcd(*np.unique(cores).tolist(), *(named[0] for named, _ in runs))
        for named, name in runs:
            # Cores of a VM that make no whole slot are in none: where a task is on one, or has parts of slots, each
            # core is a slot.
            parts = len(named) > 1 and len({core // size for core in named}) * size > len(named)
            if parts or named[0] >= vcpus[name] // size * size:
                return cls(1, bool((cores != 1).any()))
        return cls(size, bool((cores != size).any()))

    def cores_of(self, slots: Iterable[int]) -> tuple[int, ...]:
        """All cores of some slots."""
        return tuple(slot * self.cores + core for slot in slots for core in range(self.cores))

    def slots_of(self, cores: Iterable[int]) -> tuple[int, ...]:
        """Slots of some cores, in their order."""
        return tuple(dict.fromkeys(core // self.cores for core in cores))

    def of_type(self, vm_type: VmType) -> tuple[int, int]:
        """Slots of a VM, and the size of what its tasks share: its memory in KB, or its slots."""
        slots = max(vm_type.vcpus // self.cores, 1)  # where there is none, no task can run
        return slots, self.amount(slots, type_memory_kb(vm_type))

    @property
    def count_memory(self) -> bool:
        """True if memory is among what tasks share."""
        return self.beside_memory or not self.shared

    def amount(self, slots: Number, memory_kb: Number) -> Number:
        """Number of the shared quantities for slots and memory, of a VM or of a task."""
        if self.beside_memory:
            return packed(slots, memory_kb)
        return slots if self.shared else memory_kb


NEVER = 2**61
"""Duration of a task that cannot run on an offer: beyond every deadline, and safe to add to a time."""

FULL_SPEED = 0
BASELINE = 1


def given_runtime_s(tasks: Sequence[Any], vm_types: Sequence[VmType]) -> FloatArray:
    """Run time of each group on each VM type as given, shape (n_groups, n_types); infinite if it cannot run.

    Those of a pool are those of its type. A task that asks for an architecture has no run time on types of another,
    whatever is given.

    Parameters
    ----------
    tasks : sequence
        Entries of the bag, or rows of them (`core.record_lists.Records.rows`).
    vm_types : sequence of VmType
        The catalogue.
    """
    names = [vm_type.instance_type for vm_type in vm_types]
    table = np.empty((len(tasks), len(names)))
    given = np.fromiter((bool(task.runtime_s) for task in tasks), bool, len(tasks))
    by_name = [task.runtime_s for task in tasks if task.runtime_s]
    times: Iterable[float]
    try:
        times = itertools.chain.from_iterable(map(_values_of(names), by_name))
        table[given] = np.fromiter(times, float, len(by_name) * len(names)).reshape(-1, len(names))
    except KeyError:  # not every type can run every task
        times = (runtime_s.get(name, math.inf) for runtime_s in by_name for name in names)
        table[given] = np.fromiter(times, float, len(by_name) * len(names)).reshape(-1, len(names))
    base_s = np.fromiter((task.base_runtime_s or math.inf for task in tasks if not task.runtime_s), float)
    table[~given] = base_s[:, None] / np.array([vm_type.speed for vm_type in vm_types])
    asked = [task.architecture or None for task in tasks]
    for architecture in {*asked} - {None}:
        rows = np.fromiter((name == architecture for name in asked), bool, len(asked))
        table[np.ix_(rows, np.array([vm_type.architecture != architecture for vm_type in vm_types]))] = np.inf
    return table


def due_s(task: Any, deadline_s: int) -> int:
    """Second by which a task, an entry of a bag or a row of it, must end: the deadline of the bag, or its own."""
    own_s = task.deadline_s
    # In rows, what is not given is UNSET, which is false as 0 is, and not equal to it.
    return min(own_s, deadline_s) if own_s or own_s == 0 else deadline_s


def _values_of(names: Sequence[str]) -> Callable[[Mapping[str, float]], tuple[float, ...]]:
    """Return a function that looks up the values of some keys."""
    if len(names) > 1:
        return operator.itemgetter(*names)
    return lambda values: tuple(values[name] for name in names)


def checkpoint_interval_s(checkpoint: Checkpoints | None, memory_mb: FloatArray) -> FloatArray:
    """Work between two checkpoints of each group on a spot VM, shape (n_groups,); infinite without checkpoints.

    HADS eq. 1 and 2 together: ``n_ckp = e * ovh / dump`` and ``interval = e / n_ckp`` give ``dump / ovh`` for every
    run time. The paper leaves the rounding of ``n_ckp`` open; see `checkpoint_count`. If a checkpoint
    takes no time, less than a microsecond, there is one after every second.
    """
    if checkpoint is None:
        return np.full(len(memory_mb), np.inf)
    dump = dump_s(checkpoint, memory_mb)
    interval: FloatArray = np.where(dump < LEAST_DUMP_S, 1.0, dump / checkpoint.overhead_fraction)
    return interval


def dump_s(checkpoint: Checkpoints | None, memory_mb: FloatArray) -> FloatArray:
    """Time to write one checkpoint of each group, shape (n_groups,) (HADS, section 5.3.5)."""
    if checkpoint is None:
        return np.zeros(len(memory_mb))
    seconds: FloatArray = checkpoint.dump_base_s + checkpoint.dump_s_per_mb * memory_mb
    return seconds


def checkpoint_count(checkpoint: Checkpoints | None, memory_mb: FloatArray, runtime_s: IntArray) -> FloatArray:
    """Checkpoints of each group on a spot VM of each type, shape (n_groups, n_types).

    One after every interval of work, none at or after the end of the task: ``ceil(e / interval) - 1``.
    """
    work = np.where(runtime_s < NEVER, runtime_s, 1).astype(float)
    intervals = work / checkpoint_interval_s(checkpoint, memory_mb)[:, None]
    counts: FloatArray = np.maximum(np.ceil(intervals * (1 - EXCESS)) - 1, 0.0)
    return counts


def duration_table(
    checkpoint: Checkpoints | None,
    memory_mb: FloatArray,
    runtime_s: IntArray,
    offers: Sequence[RentalOffer],
    in_market: BoolArray,
) -> IntArray:
    """Seconds a task of each group occupies a core, shape (n_groups, n_offers, 2).

    Run time, on spot VMs plus the checkpoints, in baseline mode divided by the baseline; rounded up once.
    The last axis is the mode, `FULL_SPEED` or `BASELINE`. `NEVER` where it cannot run, or may not (`in_market`).

    Notes
    -----
    HADS, section 4.1 adds ``e * ovh`` to every task on a spot VM; that is the upper bound of what is added here,
    which is the time of the checkpoints that are taken.
    """
    able = runtime_s < NEVER
    work = np.where(able, runtime_s, 1).astype(float)
    with_checkpoints = (
        work + checkpoint_count(checkpoint, memory_mb, runtime_s) * dump_s(checkpoint, memory_mb)[:, None]
    )
    table = np.full((len(memory_mb), len(offers), 2), NEVER, dtype=np.int64)
    for offer in offers:
        column = offer.type_index
        seconds = (with_checkpoints if offer.market == "spot" else work)[:, column]
        speeds = {FULL_SPEED: 1.0}
        if offer.vm_type.burstable is not None:
            speeds[BASELINE] = offer.vm_type.burstable.baseline_fraction
        for mode, speed in speeds.items():
            usable = able[:, column] & in_market[:, MARKETS.index(offer.market)] & (seconds <= MAX_SECONDS * speed)
            table[:, offer.index, mode] = np.where(usable, whole(np.where(usable, seconds, 0.0) / speed), NEVER)
    return table


def memory_never_binds(
    sizes: Sequence[tuple[int, int]],
    memory_kb: IntArray,
    runtime_s: IntArray,
    group_size: IntArray,
    known: BoolArray | None = None,
) -> BoolArray:
    """Types whose memory holds their largest tasks, one in each slot, shape (n_types,); the other arrays by group.

    Of types that are known to be some, nothing is worked out. ``sizes`` has the slots and the memory of each
    (`Slots.of_type`).
    """
    result = np.zeros(len(sizes), dtype=bool) if known is None else known.copy()
    if result.all():
        return result
    memory = np.repeat(memory_kb, group_size)
    parts = [lower_of, upper_of] if upper_of(memory_kb).any() else [lower_of]
    for index, (slots, size_kb) in enumerate(sizes):
        if result[index]:
            continue
        able = memory[np.repeat(runtime_s[:, index], group_size) < NEVER]
        # Only the largest, one for each slot, can be there together: sorting the others would take most of the time.
        largest = (np.partition(part(able), -slots)[-slots:] if able.size > slots else part(able) for part in parts)
        result[index] = all(int(of.sum()) <= part(size_kb) for part, of in zip(parts, largest, strict=True))
    return result


# ------------------------------------------------------------------------------------------- limits of several offers


class _Bag(Protocol):
    """Offers of an instance, and the limits of several of them."""

    @property
    def offers(self) -> Sequence[RentalOffer]: ...
    @property
    def group_limits(self) -> Sequence[GroupLimit]: ...
    @property
    def n_tasks(self) -> int: ...


class VmsLeft:
    """A count of the VMs that are left to be rented, of a plan of which some are.

    Parameters
    ----------
    instance : Instance
        The bag.
    rented : array of int, shape (n_offers,), optional
        VMs of each offer that are rented already; none if absent.
    """

    def __init__(self, instance: _Bag, rented: IntArray | None = None) -> None:
        groups = instance.group_limits
        self._of_offer = [offer.limit for offer in instance.offers]
        self._of_group = [group.most for group in groups]
        self._groups_of: list[list[tuple[int, int]]] = [
            [(number, int(group.weights[index])) for number, group in enumerate(groups) if group.weights[index]]
            for index in range(len(self._of_offer))
        ]
        for index in () if rented is None else np.flatnonzero(rented).tolist():
            self.take(index, int(rented[index]))  # type: ignore[index]

    def of(self, offer: int) -> int:
        """Further VMs of an offer that may be rented; below 0 if there are too many."""
        left = self._of_offer[offer]
        for group, weight in self._groups_of[offer]:
            left = min(left, self._of_group[group] // weight)
        return left

    def take(self, offer: int, vms: int = 1) -> None:
        """Rent VMs of an offer."""
        self._of_offer[offer] -= vms
        for group, weight in self._groups_of[offer]:
            self._of_group[group] -= vms * weight


def limits_of(limits: Limits, offers: Iterable[RentalOffer]) -> list[tuple[FloatArray, float]]:
    """Return the limits of several offers as they are given, whatever exists: weights of some offers, and the most."""
    counted = list(offers)
    return [
        (np.array([float(quota.weight(offer.vm_type, offer.market)) for offer in counted]), float(quota.most))
        for _, quota in limits.of_groups()
    ]


def keeps_group_limits(instance: _Bag, offers: IntArray, vms: IntArray) -> bool:
    """True if numbers of VMs of some offers keep the limits of groups.

    Parameters
    ----------
    instance : Instance
        The bag.
    offers : array of int, shape (n_used,)
        The offers.
    vms : array of int, shape (n_used,)
        How many of each are rented.
    """
    return all(group.weights[offers] @ vms <= group.most for group in instance.group_limits)


def binding_limits(instance: _Bag, offers: Iterable[RentalOffer]) -> list[tuple[FloatArray, float]]:
    """Return limits of several of some offers that those of the offers do not imply.

    Returns
    -------
    list of (array of float of shape (n_used,), float)
        Weight of a VM of each of these offers, and the most that the VMs may weigh together: whole numbers.
    """
    counted = list(offers)
    indices = [offer.index for offer in counted]
    # No plan has more VMs of an offer than there are tasks: limits above that bind nothing, and only enlarge models.
    vms = np.array([min(offer.limit, instance.n_tasks) for offer in counted], dtype=np.int64)
    limits = ((group.weights[indices].astype(float), float(group.most)) for group in instance.group_limits)
    return [(weights, most) for weights, most in limits if weights @ vms > most]


def one_limit_each(limits: Sequence[tuple[FloatArray, float]]) -> list[tuple[FloatArray, float]]:
    """Return limits in which each offer counts in one only, a relaxation: in that which leaves fewest VMs of it."""
    # Weights are whole numbers: the 1 only keeps those that do not count from dividing by 0.
    alone = np.array([np.where(weights > 0, most / np.maximum(weights, 1), np.inf) for weights, most in limits])
    return [(np.where(alone.argmin(axis=0) == k, weights, 0), most) for k, (weights, most) in enumerate(limits)]


def most_within(values: FloatArray, vms: FloatArray, limits: Sequence[tuple[FloatArray, float]]) -> int:
    """Return a bound of what VMs are worth together within limits, if each is worth a whole number.

    Parameters
    ----------
    values, vms : array of float, shape (n_used,)
        See `most_worth`.
    limits : sequence of (array of float of shape (n_used,), float)
        See `binding_limits`.
    """
    worth = float(values @ most_worth(values, vms, one_limit_each(limits)))
    # Parts of VMs that come to a whole number together may be a rounding error below it.
    return math.floor(worth * (1 + EXCESS) + NOISE)


def most_worth(values: FloatArray, vms: FloatArray, limits: Sequence[tuple[FloatArray, float]]) -> FloatArray:
    """Return numbers of VMs, cut if need be, that are worth most within limits in which each offer counts once.

    Parameters
    ----------
    values : array of float, shape (n_used,)
        Worth of a VM of each offer.
    vms : array of float, shape (n_used,)
        Most VMs of each.
    limits : sequence of (array of float of shape (n_used,), float)
        See `one_limit_each`.
    """
    result = vms.copy()
    for weights, most in limits:
        mine = np.flatnonzero(weights)
        # The most worth for its weight first: taken in parts, that is optimal (Dantzig, 1957).
        mine = mine[np.argsort(-values[mine] / weights[mine], kind="stable")]
        need = (vms * weights)[mine]
        result[mine] = np.clip(most - (need.cumsum() - need), 0, need) / weights[mine]
    return result
