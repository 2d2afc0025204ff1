"""The problem: tasks, VM types and their market offers, limits, deadline, objective; read and written as JSON."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, TypeVar

import numpy as np
from pydantic import ConfigDict, Field

from ..core.bill import Bill, Rents, begun_s, billed_s, session_usd
from ..core.errors import Issue, input_error, public
from ..core.quantities import (
    EXCESS,
    KB_PER_MB,
    LEAST_PRICE,
    MAX_SECONDS,
    BoolArray,
    FloatArray,
    IntArray,
    Name,
    Seconds,
    read_only,
    whole,
)
from ..core.record_lists import LongList, rows_of
from ..core.records import INTEGRAL, FrozenDict, Text, WholeDocument, concerns, inner_issues
from .entries import (
    BASELINE,
    FULL_SPEED,
    MARKETS,
    MAX_TASKS,
    NEVER,
    RESERVED,
    WEIGHTS_AND_SCALES,
    BillingRules,
    Checkpoints,
    CloudName,
    Goal,
    GroupLimit,
    Limits,
    Machine,
    Market,
    Objective,
    Provenance,
    Quota,
    RentalOffer,
    Slots,
    SurvivalOption,
    Task,
    VmType,
    checkpoint_count,
    checkpoint_interval_s,
    due_s,
    dump_s,
    duration_table,
    given_runtime_s,
    memory_never_binds,
    named_cores,
    offers_at_own_prices,
    offers_of_existing,
    type_memory_kb,
    withdrawn,
)
from .instance_checks import (
    core_issues,
    cross_issues_of_parts,
    header_issues,
    machine_issues,
    market_issues,
    quota_issues,
    size_issues,
    task_issues,
    type_issues,
    with_pools,
)

Value = TypeVar("Value")

INSTANCE_FORMAT: Literal["spotbag.instance/1"] = "spotbag.instance/1"
_FEW_TASKS = 100
"""Entries that are checked faster one by one than by arrays."""


class TableOfBag(cached_property[Value]):
    """A computed property that tasks, VM types, machines and checkpoints alone decide: copies with others share it."""


class RunningTasks(NamedTuple):
    """Running tasks at second 0, on machines, as arrays of shape (n_running,).

    Attributes
    ----------
    task, machine, core, start_s : array of int
        Which task, on which machine and core, since when (before or at second 0).
    baseline : array of bool
        Those in baseline mode.
    """

    task: IntArray
    machine: IntArray
    core: IntArray
    start_s: IntArray
    baseline: BoolArray

    @classmethod
    def of_rows(cls, rows: Sequence[tuple[int, ...]]) -> RunningTasks:
        """Make the arrays of tuples of what they hold, one for each task."""
        columns = np.fromiter(chain.from_iterable(rows), np.int64, 5 * len(rows)).reshape(-1, 5).T
        return cls(*map(read_only, (*columns[:4], columns[4] > 0)))


class RescueTime(NamedTuple):
    """Limits of the on-demand time in which lost tasks are done again: how much there is, and what takes of it.

    Attributes
    ----------
    again_s : array of int, shape (n_groups, n_offers)
        Core seconds that a task takes, if it is on an offer: its own on demand, or the least that it takes again.
    whole_s : array of int, shape (n_groups, n_offers)
        Seconds that a task runs at least until it has ended there or has saved something.
    members : array of int, shape (n_sets, n_offers)
        1 for the offers that count together: those that go down at one moment; in the first second, also those on
        demand.
    from_s : array of int, shape (n_sets,)
        Of each set, tasks count that are whole for so long: until then, from when VMs are ready, all are lost at once.
    most_s, counted_s : array of int, shape (n_sets,)
        Core seconds available from then on, and those that heuristics may count on.
    """

    again_s: IntArray
    whole_s: IntArray
    members: IntArray
    from_s: IntArray
    most_s: IntArray
    counted_s: IntArray


def rents_of(bills: Sequence[Bill]) -> Rents:
    """Return bills as arrays."""
    openings = [(bill, int(bill.block_s > 1)) for bill in bills]  # the first block is one
    rows = [
        (bill.usd, session_usd(bill, least), billed_s(bill, least) - bill.lead_s, bill.block_s)
        for bill, least in openings
    ]
    usd_per_s, opening_usd, paid_s, block_s = map(np.array, zip(*rows, strict=True))
    return Rents(*map(read_only, (usd_per_s, opening_usd.astype(float), paid_s, block_s)))


def machine_paid(
    rents: Rents, offer: IntArray, ready_s: IntArray, given_s: IntArray, launching: BoolArray
) -> tuple[IntArray, FloatArray]:
    """Times from which machines cost their price, and what they cost before.

    One that launches, or gets ready later, is as if rented: with a minimum of 60 s, a machine that is ready at 30 s
    costs its price from 90 s on, and before that the 60 s. Of one that is ready, the minimum is paid.

    Parameters
    ----------
    rents : Rents
        Of all offers.
    offer, ready_s, given_s : array of int, shape (n_machines,)
        Offer of each, when it is ready, and until when nothing more is paid.
    launching : array of bool, shape (n_machines,)
        Those that launch still, though they are taken to be ready at second 0.
    """
    new = ((ready_s > 0) | launching) & (given_s <= ready_s)
    until_s = np.maximum(given_s, ready_s) + np.where(new, rents.paid_s[offer], 0)
    return read_only(until_s), read_only(np.where(new, rents.opening_usd[offer], 0.0))


def held_s(rents: Rents, offer: IntArray, paid_until_s: IntArray, ends_s: IntArray) -> IntArray:
    """Time until which machines are paid for if they end at some moments: whole blocks."""
    held: IntArray = paid_until_s + begun_s(rents.block_s[offer], ends_s, paid_until_s)
    return held


class Instance(WholeDocument):
    """A bag of tasks, what can be rented, and what is asked of a plan.

    Attributes
    ----------
    name : str
        What it is called.
    description : str, optional
        For people.
    provenance : Provenance, optional
        Where it comes from.
    deadline_s : int
        All tasks end by then, counted from the start of the application (D).
    d_spot_s : int, optional
        Spot VMs end by then. If absent, it is chosen so that the plan survives what ``survive`` says, or by
        ``d_spot_rule``.
    d_spot_rule : {"paper"}, optional
        Where ``d_spot_s`` is absent: ``paper`` is Algorithm 1 of HADS (`spotbag.estimate_d_spot`).
    survive : {"one-type", "one-pool", "blackout", "each", "none"}, optional
        What a plan must be able to lose and still be done by the deadline: any one spot type, in all zones or in one;
        any of them at once; or any VMs, each at a moment of its own. If absent, ``one-type`` where there is such a
        plan.
    late : {"least"}, optional
        Where no plan ends all tasks in time: a plan with as few late as can be, by weight, then as little late as can
        be, and then the best one by the objective. Without it there is none, and tasks that take longer than the
        deadline are refused.
    cloud : str, optional
        Whose rules hold: how VMs are taken away, and how they are billed (`spotbag.instances.clouds`); ``papers`` if
        absent.
    billing : BillingRules, optional
        What is billed otherwise than the cloud does.
    boot_overhead_s : int
        From the request of a VM until it is ready and billed (omega).
    migration_overhead_s : int
        To move a task to a newly started VM (the papers' alpha of HADS).
    allocation_cycle_s : int
        Length of an allocation cycle (AC).
    checkpoint : Checkpoints, optional
        Tasks on spot VMs take checkpoints if present.
    limits : Limits
        Most VMs of each market, and of quotas.
    markets : tuple of {"spot", "on-demand"}
        Markets that may be used.
    objective : Objective
        The goal, or weight and scales.
    vm_types : tuple of VmType
        The catalogue, in an order that decides ties.
    tasks : sequence of Task
        The bag; its order decides ties.
    machines : tuple of Machine
        VMs that exist at second 0, for a bag of which a part is done (`State.remaining`). They count in the limits.
        Tasks that run on them are tasks of the bag, which every plan has where they run.

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

    model_config = ConfigDict(ignored_types=(TableOfBag,))
    FORMAT: ClassVar[str] = INSTANCE_FORMAT
    SCHEMA: ClassVar[str] = "instance.schema.json"
    most_entries: ClassVar[int] = MAX_TASKS
    LONG_LIST: ClassVar[str] = "tasks"
    leaves_time: ClassVar[bool] = False
    """True if tasks on spot VMs must leave time to be done again; see `spotbag.schedules.rescuable`."""
    format: Literal["spotbag.instance/1"] = INSTANCE_FORMAT
    name: Name
    description: Text | None = None
    provenance: Provenance | None = None
    deadline_s: Annotated[int, Field(ge=1, le=MAX_SECONDS), INTEGRAL]
    d_spot_s: Seconds | None = None
    d_spot_rule: Literal["paper"] | None = None
    survive: SurvivalOption | None = None
    late: Literal["least"] | None = None
    cloud: CloudName | None = None
    billing: BillingRules | None = None
    boot_overhead_s: Seconds = 0
    migration_overhead_s: Seconds = 0
    allocation_cycle_s: Annotated[int, Field(ge=1, le=MAX_SECONDS), INTEGRAL] = 900
    checkpoint: Checkpoints | None = None
    limits: Limits = Limits()
    markets: Annotated[tuple[Market, ...], Field(strict=False, min_length=1)] = MARKETS
    objective: Objective = Objective()
    vm_types: Annotated[tuple[VmType, ...], Field(strict=False, min_length=1)]
    tasks: Annotated[Sequence[Task], LongList(min_length=1)]
    machines: Annotated[tuple[Machine, ...], Field(strict=False)] = ()

    def replace(self, /, **changes: Any) -> Self:
        """Return a copy with some fields changed.

        Fields are checked again, and between them whatever reads a field that is changed: all else was checked before.
        VM types that are withdrawn, of which ``vm_types`` has others left, stay in the catalogue with limits of 0 where
        run times name them or machines are of them: so tasks that are done, and VMs that are there, are what they were.

        Raises
        ------
        InputError
            With everything that is wrong then, as if the copy were made anew.
        """
        types = changes.get("vm_types")
        if isinstance(types, list | tuple) and all(isinstance(vm_type, VmType) for vm_type in types):
            left, before = ({vm_type.name for vm_type in some} for some in (types, self.vm_types))
            named = {name for task in self.task_rows for name in task.runtime_s or ()}
            named |= {machine.type for machine in self.machines}
            gone = [vm_type for vm_type in self.vm_types if {vm_type.name, vm_type.instance_type} & (named - left)]
            gone = [vm_type for vm_type in gone if vm_type.name not in left]
            if left & before:
                changes["vm_types"] = (*types, *map(withdrawn, gone))
        made = super().replace(**changes)
        if not concerns(changes.keys(), "tasks", "vm_types", "machines", "checkpoint"):
            # Of a large bag, they take a second: questions with other moments, limits or goals are asked one by one.
            kind, known = type(self), [*vars(self).items()]  # other threads may add to them meanwhile
            made.__dict__.update({name: of for name, of in known if isinstance(getattr(kind, name, None), TableOfBag)})
        return made

    @classmethod
    def _meant(cls, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the fields of an instance, in which a type in several zones is a pool in each."""
        return with_pools(document)

    @classmethod
    def issues_of_parts(cls, fields: Mapping[str, Any]) -> Iterator[Issue]:
        """Faults between the fields of a faulty document that are valid on their own."""
        return cross_issues_of_parts(fields)

    def issues_of_changes(self, changed: Collection[str]) -> Iterator[Issue]:
        """Faults between the fields, as far as they depend on those that are changed."""
        if concerns(changed, "machines", "vm_types", "tasks"):
            yield from machine_issues(self.machines, self.vm_types, self.task_rows)
        if concerns(changed, "deadline_s", "d_spot_s", "boot_overhead_s"):
            # What exists already need not boot: then whether the time suffices is for the plan to say.
            yield from header_issues(self.deadline_s, self.d_spot_s, 0 if self.machines else self.boot_overhead_s)
        if concerns(changed, "objective"):
            yield from inner_issues("objective", self.objective, "")
        if concerns(changed, "vm_types", "limits", "markets", "machines") and not self.machines:
            yield from market_issues(self.vm_types, self.limits, self.markets)
        if concerns(changed, "limits"):
            yield from quota_issues(self.vm_types, self.limits.quotas)
        if concerns(changed, "vm_types"):
            yield from type_issues(list(enumerate(self.vm_types)))
        if concerns(changed, "vm_types", "tasks", "machines") and int(self.cores.max()) > 1:
            yield from core_issues(self.vm_types, self.cores, self.runtime_s)
        if concerns(changed, "tasks", "vm_types"):
            too_large = list(size_issues(len(self.task_rows), self.vm_types))
            yield from too_large
            if too_large:  # then a look at each task on each type would take long, too
                return
        of_tasks = "tasks", "vm_types", "deadline_s", "boot_overhead_s", "late"
        if concerns(changed, *of_tasks) and not self._tasks_are_right():
            without = self.machines or self.late is not None
            span_s = None if without else (self.boot_overhead_s, self.deadline_s)
            yield from task_issues(list(enumerate(self.task_rows)), self.vm_types, span_s)

    def _tasks_are_right(self) -> bool:
        """True if arrays show that `task_issues` would find nothing; False if a closer look is needed."""
        if len(self.tasks) < _FEW_TASKS or self.has_dates or not self.in_market.all():
            return False
        if len({vm_type.name for vm_type in self.vm_types}) < len(self.vm_types) or self.n_tasks > MAX_TASKS:
            return False
        # The ids of copies have a "#": only an entry that has one can be called like a copy of another.
        if len(set(self.group_ids)) < len(self.tasks) or (self.group_size.max() > 1 and "#" in "".join(self.group_ids)):
            return False
        n_given = np.fromiter((len(task.runtime_s or ()) for task in self.task_rows), np.int64, len(self.tasks))
        has_base = np.fromiter((bool(task.base_runtime_s) for task in self.task_rows), bool, len(self.tasks))
        of_type = {vm_type.instance_type: index for index, vm_type in enumerate(self.vm_types)}
        given = np.isfinite(self.given_runtime_s)
        # Pools of a type share its run times, so that one of them stands for all: a name too many is of no type.
        if (has_base == (n_given > 0)).any() or (given[:, [*of_type.values()]].sum(axis=1) != n_given)[~has_base].any():
            return False
        fits = self.needed_kb[:, None] <= np.array([type_memory_kb(vm_type) for vm_type in self.vm_types])
        fits &= self.cores[:, None] <= np.array([vm_type.vcpus for vm_type in self.vm_types])
        shortest_s = np.where(given & fits, self.given_runtime_s, np.inf).min(axis=1)
        longest_s = self.deadline_s - self.boot_overhead_s if self.late is None else MAX_SECONDS
        return bool((np.ceil(shortest_s * (1 - EXCESS)) <= (longest_s if longest_s > 0 else MAX_SECONDS)).all())

    # ------------------------------------------------------------------ tasks

    @property
    def task_rows(self) -> Sequence[Any]:
        """The entries of the bag, or rows of them; see `rows_of`."""
        return rows_of(self.tasks)

    @cached_property
    def taken_from(self) -> tuple[Instance, IntArray] | None:
        """Another instance that has the entries of ``tasks`` as they are, and which they are there; None otherwise."""
        return None

    @TableOfBag
    def n_tasks(self) -> int:
        """Number of tasks, each counted."""
        return int(self.group_size.sum())

    @TableOfBag
    def group_size(self) -> IntArray:
        """Number of tasks of each group, shape (n_groups,)."""
        return read_only(np.array([task.count or 1 for task in self.task_rows], dtype=np.int64))

    @TableOfBag
    def group_ids(self) -> tuple[str, ...]:
        """Id of each group, shape (n_groups,)."""
        return tuple([task.id for task in self.task_rows])

    @TableOfBag
    def task_group(self) -> IntArray:
        """Entry of ``tasks`` for each task, shape (n_tasks,)."""
        return read_only(np.repeat(np.arange(len(self.tasks)), self.group_size))

    @TableOfBag
    def task_ids(self) -> tuple[str, ...]:
        """Id of each task, shape (n_tasks,)."""
        if self.n_tasks == len(self.tasks):
            return self.group_ids
        entries = zip(self.group_ids, self.group_size.tolist(), strict=True)
        copies = ([group] if count == 1 else [f"{group}#{k}" for k in range(1, count + 1)] for group, count in entries)
        return tuple(chain.from_iterable(copies))

    @TableOfBag
    def has_dates(self) -> bool:
        """True if any task has a release or a deadline of its own."""
        return any(task.ready_s or task.deadline_s or task.deadline_s == 0 for task in self.task_rows)

    @TableOfBag
    def release_s(self) -> IntArray:
        """Earliest start of a task of each group, shape (n_groups,)."""
        if not self.has_dates:
            # A view of one number: a bag of a million tasks without dates needs no memory for them.
            return np.broadcast_to(np.int64(0), len(self.tasks))
        return read_only(np.array([task.ready_s or 0 for task in self.task_rows], dtype=np.int64))

    @cached_property
    def due_s(self) -> IntArray:
        """Latest end of a task of each group, shape (n_groups,): its deadline, or that of the bag if it is earlier."""
        if not self.has_dates:
            return np.broadcast_to(np.int64(self.deadline_s), len(self.tasks))
        return read_only(np.array([due_s(task, self.deadline_s) for task in self.task_rows], dtype=np.int64))

    @TableOfBag
    def in_market(self) -> BoolArray:
        """Mask of the markets that a task of each group may be on, shape (n_groups, n_markets), by `MARKETS`."""
        named = [task.markets or None for task in self.task_rows]
        if not any(named):
            return np.broadcast_to(np.True_, (len(named), len(MARKETS)))
        return read_only(np.array([[markets is None or market in markets for market in MARKETS] for markets in named]))

    @property
    def may_be_on_demand(self) -> BoolArray:
        """Mask of the groups whose tasks may be on demand, shape (n_groups,): all others are lost with their VM."""
        return self.in_market[:, MARKETS.index("on-demand")]

    @TableOfBag
    def weight(self) -> FloatArray:
        """Weight of a task of each group among those that are late, shape (n_groups,)."""
        return read_only(np.array([task.weight or 1.0 for task in self.task_rows]))

    @TableOfBag
    def has_commands(self) -> bool:
        """True if any task has a command."""
        return any(task.command for task in self.task_rows)

    @property
    def task_commands(self) -> Sequence[str | None]:
        """Command of each task, shape (n_tasks,); None for a task without one."""
        # Most bags have none, and what is left of one has none either.
        whole = self if self.taken_from is None else self.taken_from[0]
        if not whole.has_commands:
            return [None] * self.n_tasks
        commands = [task.command or None for task in self.task_rows]
        if self.n_tasks == len(commands):
            return commands
        return [commands[group] for group in self.task_group.tolist()]

    @TableOfBag
    def task_index(self) -> Mapping[str, int]:
        """Position of each task by its id."""
        return FrozenDict(zip(self.task_ids, range(self.n_tasks), strict=True))

    @TableOfBag
    def given_memory_mb(self) -> FloatArray:
        """Memory need of each group as given, shape (n_groups,)."""
        return read_only(np.array([task.memory_mb for task in self.task_rows]))

    @TableOfBag
    def needed_kb(self) -> IntArray:
        """Memory need of each group in KB, rounded up, shape (n_groups,)."""
        return read_only(whole(self.given_memory_mb * KB_PER_MB))

    @TableOfBag
    def cores(self) -> IntArray:
        """Cores of a task of each group, shape (n_groups,)."""
        return read_only(np.array([task.cores or 1 for task in self.task_rows], dtype=np.int64))

    @TableOfBag
    def slots(self) -> Slots:
        """Slots of the bag; see there."""
        running = ((named_cores(run), machine.type) for machine in self.machines for run in machine.running)
        slots = Slots.of(self.cores, self.vm_types, running)
        return slots._replace(beside_memory=slots.shared and self.memory_beside_cores)

    @TableOfBag
    def memory_beside_cores(self) -> bool:
        """True if tasks that fit the cores of a VM may not fit its memory."""
        order = np.argsort(-self.needed_kb / self.cores, kind="stable")
        kb_for_core, all_cores = self.needed_kb[order] / self.cores[order], (self.cores * self.group_size)[order]
        for index, vm_type in enumerate(self.vm_types):
            most = np.where(self.runtime_s[order, index] < NEVER, all_cores, 0)
            # At most as much memory as of the tasks that need most for each core, of the last one a part.
            taken = np.clip(vm_type.vcpus - (np.cumsum(most) - most), 0, most)
            if float(taken @ kb_for_core) * (1 - EXCESS) > type_memory_kb(vm_type):
                return True
        return False

    @TableOfBag
    def memory_kb(self) -> IntArray:
        """Need of a task of each group, of what tasks on a VM share, shape (n_groups,): memory in KB, slots, or both.

        Both are in one number; see `spotbag.core.capacities`.
        """
        return read_only(self.slots.amount(self.cores // self.slots.cores, self.needed_kb))

    @TableOfBag
    def given_runtime_s(self) -> FloatArray:
        """Run time of each group on each VM type as given, shape (n_groups, n_types); infinite if it cannot run."""
        return read_only(given_runtime_s(self.task_rows, self.vm_types))

    @TableOfBag
    def runtime_s(self) -> IntArray:
        """Run time of each group on each VM type in whole seconds, shape (n_groups, n_types).

        `durations.NEVER` if it cannot run there.
        """
        given = self.given_runtime_s
        fits = self.needed_kb[:, None] <= np.array([type_memory_kb(vm_type) for vm_type in self.vm_types])
        fits &= self.cores[:, None] <= np.array([vm_type.vcpus for vm_type in self.vm_types])
        fits &= self.cores[:, None] <= np.array([vm_type.vcpus for vm_type in self.vm_types])
        able = (given <= MAX_SECONDS) & fits
        return read_only(np.where(able, whole(np.where(able, given, 1.0)), NEVER))

    # ----------------------------------------------------------------- offers

    @cached_property
    def offers(self) -> tuple[RentalOffer, ...]:
        """Offers in the order of the catalogue, spot before on-demand; then those of machines at own prices."""
        listed = [*self._listed_offers()]
        return (*listed, *offers_at_own_prices(listed, self.machines))

    def _listed_offers(self) -> Iterator[RentalOffer]:
        index = 0
        existing = self.existing_vms
        quotas = [(quota, self._left_of(quota)) for _, quota in self.limits.of_groups()]
        for type_index, vm_type in enumerate(self.vm_types):
            for market in MARKETS:
                offer = vm_type.offers.get(market)
                if offer is None:
                    continue
                # Below 0 where a limit was lowered since machines were rented: they may stay, and none may be added.
                limit = max(offer.limit - existing[vm_type.name, market], 0)
                weights = ((quota.weight(vm_type, market), left) for quota, left in quotas)
                limit = min([limit, *(left // weight for weight, left in weights if weight)])
                slots, memory_kb = self.slots.of_type(vm_type)
                yield RentalOffer(
                    index=index,
                    type_index=type_index,
                    vm_type=vm_type,
                    market=market,
                    price_usd_per_hour=offer.price_usd_per_hour,
                    limit=limit if market in self.markets else 0,
                    vcpus=slots,
                    memory_kb=memory_kb,
                )
                index += 1

    def _left_of(self, quota: Quota) -> int:
        """Part of a quota that the machines that exist leave."""
        weights = {vm_type.name: quota.weight(vm_type, quota.market) for vm_type in self.vm_types}
        there = sum(weights[machine.type] for machine in self.machines if machine.market == quota.market)
        return max(quota.most - there, 0)

    @cached_property
    def group_limits(self) -> tuple[GroupLimit, ...]:
        """Limits of several offers together: of markets, and quotas."""
        return tuple(
            GroupLimit(
                name,
                read_only(np.array([quota.weight(offer.vm_type, offer.market) for offer in self.offers])),
                self._left_of(quota),
            )
            for name, quota in self.limits.of_groups()
        )

    @cached_property
    def existing_vms(self) -> Counter[tuple[str, str]]:
        """Numbers of existing machines, by type and market."""
        return Counter((machine.type, machine.market) for machine in self.machines)

    @cached_property
    def machine_open(self) -> BoolArray:
        """Mask of the machines that take more tasks than those that run there, shape (n_machines,)."""
        return read_only(np.array([machine.open for machine in self.machines], dtype=bool))

    @cached_property
    def machine_offer(self) -> IntArray:
        """Offer of each machine, shape (n_machines,), as an index into ``offers``."""
        return read_only(np.array(offers_of_existing(self.offers, self.machines), dtype=np.int64))

    @cached_property
    def machine_ready_s(self) -> IntArray:
        """Times from which each machine can run tasks, shape (n_machines,)."""
        return read_only(np.array([machine.ready_s for machine in self.machines], dtype=np.int64))

    @cached_property
    def machine_paid_until_s(self) -> IntArray:
        """Time from which each machine costs its price, shape (n_machines,)."""
        return self._machine_paid[0]

    @cached_property
    def machine_opening_usd(self) -> FloatArray:
        """Cost of each machine once it is used, shape (n_machines,): of those that get ready later, as if rented."""
        return self._machine_paid[1]

    @cached_property
    def _machine_paid(self) -> tuple[IntArray, FloatArray]:
        given_s = np.array([machine.paid_until_s for machine in self.machines], dtype=np.int64)
        launching = np.array([machine.launching for machine in self.machines], dtype=bool)
        return machine_paid(self.rents, self.machine_offer, self.machine_ready_s, given_s, launching)

    @cached_property
    def running(self) -> RunningTasks:
        """The tasks that run on machines."""
        index = self.task_index if any(machine.running for machine in self.machines) else {}
        rows = [
            (index[entry.task], number, entry.core // self.slots.cores, entry.start_s, entry.mode == "baseline")
            for number, machine in enumerate(self.machines)
            for entry in machine.running
        ]
        return RunningTasks.of_rows(rows)

    @property
    def running_slots(self) -> list[tuple[int, ...]]:
        """Slots of each of the tasks that `running` has: those of the cores that are named of it."""
        return [self.slots.slots_of(named_cores(run)) for machine in self.machines for run in machine.running]

    @cached_property
    def open_tasks(self) -> IntArray:
        """Indices of the tasks to place, ascending: all but those that run on machines."""
        if not self.machines:
            return read_only(np.arange(self.n_tasks))
        return read_only(np.setdiff1d(np.arange(self.n_tasks), self.running.task, assume_unique=True))

    @cached_property
    def open_size(self) -> IntArray:
        """Number of tasks of each group that are to be placed, shape (n_groups,)."""
        if not self.machines:
            return self.group_size
        return read_only(np.bincount(self.task_group[self.open_tasks], minlength=len(self.tasks)))

    @cached_property
    def running_end_s(self) -> IntArray:
        """End of each of the tasks that `running` has."""
        tasks = self.running
        mode = np.where(tasks.baseline, BASELINE, FULL_SPEED)
        seconds = self.duration_s[self.task_group[tasks.task], self.machine_offer[tasks.machine], mode]
        return read_only(tasks.start_s + seconds)

    @cached_property
    def machine_core_free_s(self) -> IntArray:
        """Times from which each core of a machine is free, shape (n_machines, most cores); `NEVER` beyond its cores."""
        vcpus = np.array([self.offers[index].vcpus for index in self.machine_offer.tolist()], dtype=np.int64)
        free = np.repeat(self.machine_ready_s[:, None], int(vcpus.max(initial=1)), axis=1)
        free[np.arange(free.shape[1]) >= vcpus[:, None]] = NEVER
        # A task that is overdue may end at any moment: its core is free now at the earliest, and not before now.
        free[self.running.machine, self.running.core] = np.maximum(self.running_end_s, 0)
        return read_only(free)

    @cached_property
    def machine_held_s(self) -> IntArray:
        """Time until which each machine is paid for anyway, shape (n_machines,): as it is, or by what runs on it."""
        ends_s = self.machine_paid_until_s.copy()
        np.maximum.at(ends_s, self.running.machine, self.running_end_s)
        return read_only(held_s(self.rents, self.machine_offer, self.machine_paid_until_s, ends_s))

    @TableOfBag
    def duration_s(self) -> IntArray:
        """Seconds for which a task occupies a core, shape (n_groups, n_offers, 2); see `durations.duration_table`.

        The last axis is the mode: 0 full speed, 1 baseline (burstable types only).
        """
        return read_only(
            duration_table(self.checkpoint, self.given_memory_mb, self.runtime_s, self.offers, self.in_market)
        )

    @TableOfBag
    def offer_runtime_s(self) -> IntArray:
        """Run time of each group on each offer, without checkpoints, shape (n_groups, n_offers).

        `durations.NEVER` if it cannot run there, or may not.
        """
        of_type = self.runtime_s[:, [offer.type_index for offer in self.offers]]
        allowed = self.in_market[:, [MARKETS.index(offer.market) for offer in self.offers]]
        return read_only(np.where(allowed, of_type, NEVER))

    @cached_property
    def sustained_s(self) -> IntArray:
        """Seconds for which a task occupies a core without any credits, shape (n_groups, n_offers).

        On burstable VMs at the baseline, on all others at full speed.
        """
        return read_only(
            np.where(self.offer_is_burstable, self.duration_s[:, :, BASELINE], self.duration_s[:, :, FULL_SPEED])
        )

    @cached_property
    def offer_is_burstable(self) -> BoolArray:
        """Mask of the offers of burstable types, shape (n_offers,)."""
        return read_only(np.array([offer.burstable for offer in self.offers]))

    @cached_property
    def offer_price_usd_per_s(self) -> FloatArray:
        """Price of a VM of each offer for a second, shape (n_offers,)."""
        return read_only(np.array([offer.price_usd_per_s for offer in self.offers]))

    @cached_property
    def has_setups(self) -> bool:
        """True if VMs of any type are set up after the boot."""
        return any(vm_type.setup_s for vm_type in self.vm_types)

    @cached_property
    def ready_s(self) -> IntArray:
        """Time from which a VM of each offer that is rented now can run tasks, shape (n_offers,)."""
        return read_only(np.array([self.boot_overhead_s + offer.vm_type.setup_s for offer in self.offers]))

    @cached_property
    def takeover_s(self) -> IntArray:
        """Seconds from a loss until a VM of each offer can run a task that is moved to it, shape (n_offers,)."""
        return read_only(np.maximum(self.ready_s, self.migration_overhead_s))

    @cached_property
    def bills(self) -> tuple[Bill, ...]:
        """Bill of a VM of each offer from when it can run tasks, by its cloud."""
        return self.bills_of(self.offers)

    def bills_of(self, offers: Sequence[RentalOffer]) -> tuple[Bill, ...]:
        """Bill of a VM of each of some offers, from when it can run tasks: its setup is billed with each session."""
        if self.cloud is None and self.billing is None:
            return tuple([Bill(offer.price_usd_per_s, lead_s=offer.vm_type.setup_s) for offer in offers])
        from .clouds import cloud_of  # here, since not all ask for it

        bills = map(cloud_of(self.cloud, self.billing).billing.bill, offers)
        return tuple(
            bill._replace(lead_s=bill.lead_s + offer.vm_type.setup_s) for bill, offer in zip(bills, offers, strict=True)
        )

    @cached_property
    def rents(self) -> Rents:
        """Bills of the VMs of each offer, as arrays of shape (n_offers,)."""
        return rents_of(self.bills)

    @cached_property
    def offer_is_spot(self) -> BoolArray:
        """Mask of the spot offers, shape (n_offers,)."""
        return read_only(np.array([offer.market == "spot" for offer in self.offers]))

    @TableOfBag
    def memory_never_binds(self) -> BoolArray:
        """Types on which any tasks that fill the cores fit the memory together, shape (n_types,)."""
        # Where the tasks of a whole bag fit, so do those that are left of it.
        whole = None if self.taken_from is None else self.taken_from[0]
        same = whole is not None and whole.vm_types is self.vm_types and whole.slots == self.slots
        known = whole.memory_never_binds if whole is not None and same else None
        sizes = [self.slots.of_type(vm_type) for vm_type in self.vm_types]
        return read_only(memory_never_binds(sizes, self.memory_kb, self.runtime_s, self.group_size, known))

    @TableOfBag
    def checkpoint_interval_s(self) -> FloatArray:
        """Work between two checkpoints of each group on a spot VM, shape (n_groups,); infinite without checkpoints."""
        return read_only(checkpoint_interval_s(self.checkpoint, self.given_memory_mb))

    @TableOfBag
    def dump_s(self) -> FloatArray:
        """Time to write one checkpoint of each group, shape (n_groups,)."""
        return read_only(dump_s(self.checkpoint, self.given_memory_mb))

    @TableOfBag
    def checkpoint_count(self) -> FloatArray:
        """Checkpoints of each group on a spot VM of each type, shape (n_groups, n_types)."""
        return read_only(checkpoint_count(self.checkpoint, self.given_memory_mb, self.runtime_s))

    @cached_property
    def latest_end_s(self) -> IntArray:
        """Latest end of a task of each group on each offer, shape (n_groups, n_offers)."""
        on_spot_s = self.deadline_s if self.d_spot_s is None else self.d_spot_s
        limits = np.where(self.offer_is_spot, on_spot_s, self.deadline_s)
        if self.has_dates:
            return read_only(np.minimum(limits, self.due_s[:, None]))
        return np.broadcast_to(limits, (len(self.tasks), len(limits)))

    @cached_property
    def rescue_time(self) -> RescueTime | None:
        """The time on demand that what is lost must fit, where it must; see `spotbag.schedules.rescuable`."""
        return None

    def time_limit_s(self, market: Market) -> int:
        """Latest end of a task on a VM of a market; never after the deadline.

        Raises
        ------
        InputError
            For spot VMs while ``d_spot_s`` is not set.
        """
        if market == "on-demand":
            return self.deadline_s
        if self.d_spot_s is None:
            raise input_error(self.name, "d_spot_s is not set; estimate it first (spotbag.estimate_d_spot)")
        return self.d_spot_s

    # -------------------------------------------------------------- objective

    @property
    def goal(self) -> Goal:
        """Goal of the plan: the given one; else ``balanced`` with a weight or a scale, ``cheapest`` without."""
        objective = self.objective
        if objective.goal is not None:
            return objective.goal
        weighted = any(getattr(objective, name) is not None for name in WEIGHTS_AND_SCALES)
        return "balanced" if weighted else "cheapest"

    @public
    def with_goal(self, goal: Goal | None = None, budget_usd: float | None = None) -> Instance:
        """Return the instance with another goal, or another budget; weights stay where they have a meaning.

        Raises
        ------
        InputError
            If the goal is unknown, or has no use for a budget.
        """
        return self.replace(objective=self.objective_with(goal, budget_usd=budget_usd))

    @public
    def objective_with(self, goal: str | None = None, **values: float | None) -> dict[str, Any]:
        """Return the fields of the objective with another goal, or other values of its other fields.

        Of its own values, those stay that have a meaning for the goal. If none is given, a weight or a scale makes it
        ``balanced``.
        """
        given = {name: value for name, value in values.items() if value is not None}
        if goal is None:
            goal = "balanced" if given.keys() & WEIGHTS_AND_SCALES else self.goal
        kept = {"fastest": {"budget_usd"}, "balanced": {*WEIGHTS_AND_SCALES}}.get(goal, set())
        return self.objective.model_dump(include=kept, exclude_none=True) | given | {"goal": goal}

    @property
    def cost_weight(self) -> float:
        """Weight of the cost in the objective: 1 for the goal ``cheapest``, 0 for ``fastest``, else 0.5 or as given."""
        if self.goal != "balanced":
            return 1.0 if self.goal == "cheapest" else 0.0
        return 0.5 if self.objective.cost_weight is None else self.objective.cost_weight

    @cached_property
    def cost_scale_usd(self) -> float:
        """Scale of the cost: as given, else what the tasks would cost on ideal on-demand VMs.

        The goals ``cheapest`` and ``fastest`` have no scales: the objective is a number of dollars, or of seconds.

        That is the sum over the tasks of their cheapest on-demand core-seconds (price / vCPUs * run time), or of any
        market for tasks that no on-demand offer can run: an objective of 1 reads as *ideal on-demand cost and the
        whole deadline*.

        Raises
        ------
        InputError
            If it must be given, since capacity that is reserved costs nothing.
        """
        if self.goal != "balanced":
            return 1.0
        if self.objective.cost_scale_usd is not None:
            return self.objective.cost_scale_usd
        free = [
            offer for offer in self.offers if offer.vm_type.zone == RESERVED and offer.price_usd_per_hour <= LEAST_PRICE
        ]
        if free:
            name = free[0].vm_type.name
            rule = f"is needed for goal balanced where capacity costs nothing ({name}): costs are told in parts of it"
            raise input_error(self.name, f"objective: cost_scale_usd (--cost-scale) {rule}")
        return self._ideal_cost_usd()

    def _ideal_cost_usd(self) -> float:
        listed = [offer for offer in self.offers if offer.listed_as is None]
        usd = np.full((len(self.tasks), len(listed)), np.inf)
        for offer in listed:
            seconds = self.offer_runtime_s[:, offer.index]
            core_usd = self.cores * (offer.price_usd_per_s / offer.vm_type.vcpus)
            usd[:, offer.index] = np.where(seconds < NEVER, seconds * core_usd, np.inf)
        cheapest = usd.min(axis=1)
        is_spot = self.offer_is_spot[: len(listed)]
        if not is_spot.all():
            on_demand = usd[:, ~is_spot].min(axis=1)
            cheapest = np.where(np.isfinite(on_demand), on_demand, cheapest)
        return float((cheapest * self.group_size).sum())

    @property
    def makespan_scale_s(self) -> float:
        """Scale of the makespan: as given, else the deadline; 1 for the goals ``cheapest`` and ``fastest``."""
        if self.goal != "balanced":
            return 1.0
        given = self.objective.makespan_scale_s
        return float(self.deadline_s) if given is None else given

    @cached_property
    def rounding_fraction(self) -> float:
        """Fraction of the work that was added by rounding run times up to whole seconds."""
        counts = self.group_size[:, None]
        able = np.isfinite(self.given_runtime_s)
        given = np.where(able, self.given_runtime_s, 0.0)
        return float((np.where(able, whole(given), 0.0) * counts).sum() / (given * counts).sum() - 1)


ROUNDING_WARNING_FRACTION = 0.01


def read_instance(path: str | os.PathLike[str]) -> Instance:
    """Read an instance from a JSON file, or from standard input for ``-``.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    return Instance.read(path)


def write_instance(instance: Instance, path: str | os.PathLike[str]) -> None:
    """Write an instance as a JSON file; reading it gives the same instance.

    Raises
    ------
    SpotbagError
        If the file cannot be written.
    """
    instance.write(path)


def instance_warnings(instance: Instance) -> list[str]:
    """Warnings about the reading of an instance: run times that rounding up makes much longer."""
    added = instance.rounding_fraction
    if added <= ROUNDING_WARNING_FRACTION:
        return []
    return [
        f"{instance.name}: run times count in whole seconds; rounding them up adds {100 * added:.1f} % to the work "
        "(give them in a smaller unit, and the deadline with them, if that matters)"
    ]
