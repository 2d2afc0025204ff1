"""Questions about the rescues of a plan: the rules answer them, in plain Python or in the compiled loop.

A plan becomes arrays (`PlanArrays`). Where a rescue fails, `obstacle` says why, and whether that is proved. `Twins` is
the rule by which every spot VM has one on demand, which goes on with what is lost in the same order.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ...core.bill import begun_s
from ...core.limits import ITERATIONS, LimitReached, count_work, current_limit
from ...core.processes import run_compiled
from ...core.quantities import NOISE, BoolArray, IntArray
from ...core.rows import TableField, dtype_of, enter, rows_of, tables_of
from ...core.wording import listed
from ...instances.entries import NEVER, RentalOffer, limits_of, most_worth, one_limit_each
from ...instances.instance import Instance
from ...schedules.method import LARGE_TASKS
from ...schedules.schedule import Schedule
from .rescue_rules import (
    COST,
    IN_ARRAYS,
    LOSS,
    MOST_TYPES,
    N_PACKINGS,
    QUICK,
    ROOM,
    SURVEY,
    OwnVmRow,
    RentalRow,
    Rows,
    SpotTaskRow,
    SpotVmRow,
    answer,
)


class Bag(NamedTuple):
    """All of a plan that a rescue is about: see `Rows`, of which these are the tables that are given."""

    rentals: Any
    orders: IntArray
    seconds: IntArray
    need_kb: IntArray
    tasks: Any
    spot_vms: Any
    own_vms: Any
    core_end: IntArray
    counted_end: IntArray
    counted_weights: IntArray
    group_weights: IntArray
    group_most: IntArray
    deadline: int


@dataclass(frozen=True, slots=True, eq=False)
class PlanArrays:
    """A plan, and what may be rented to rescue it.

    Attributes
    ----------
    instance : Instance
        The problem.
    regular : tuple of RentalOffer
        Regular VMs on demand, the cheapest for its work first: the rentals of ``bag``.
    bag : Bag
        What the rules of rescues are about.
    spot_task : array of int
        The spot tasks of ``bag``, as indices into ``instance.task_ids``.
    own_vm : array of int
        The regular on-demand VMs of the plan, which ``bag`` has as its own.
    burstable_end_s : array of int
        Ends of the burstable VMs on demand.
    burstable_weights : array of int, shape (n_groups, n_burstable)
        What they weigh in limits of several offers.
    """

    instance: Instance
    regular: tuple[RentalOffer, ...]
    bag: Bag
    spot_task: IntArray
    own_vm: IntArray
    burstable_end_s: IntArray
    burstable_weights: IntArray


def arrays_of(schedule: Schedule) -> PlanArrays:
    """Return a plan as arrays."""
    instance = schedule.instance
    on_demand = [offer for offer in instance.offers if offer.market == "on-demand" and not offer.burstable]
    regular = _cheapest_first(instance, [offer for offer in on_demand if offer.listed_as is None])
    rental_of = {offer.index: number for number, offer in enumerate(regular)}
    rental_of |= {offer.index: rental_of[offer.listed_as] for offer in on_demand if offer.listed_as is not None}
    strongest = np.argsort([-offer.vcpus for offer in regular], kind="stable")
    rented = [offer.index for offer in regular]
    is_spot = instance.offer_is_spot[schedule.vm_offer]
    spot_task = np.flatnonzero(is_spot[schedule.task_vm])
    own_vm = ints(vm for vm, index in enumerate(schedule.vm_offer.tolist()) if index in rental_of)
    own_vms, core_end = _own_vms(schedule, own_vm, rental_of)
    # A limit that no VM on demand counts in says nothing about a rescue.
    limits = [
        (weights, most)
        for weights, most in limits_of(instance.limits, instance.offers)
        if (weights * ~instance.offer_is_spot).any()
    ]
    of_groups = np.array([weights for weights, _ in limits], dtype=np.int64).reshape(-1, len(instance.offers))
    bag = Bag(
        rentals=_rentals(instance, regular),
        orders=np.array([np.arange(len(regular)), strongest]),
        seconds=np.ascontiguousarray(instance.offer_runtime_s[:, rented].T),
        need_kb=np.array(instance.memory_kb),
        tasks=_spot_tasks(schedule, spot_task),
        spot_vms=_spot_vms(schedule, np.flatnonzero(is_spot)),
        own_vms=own_vms,
        core_end=core_end,
        counted_end=schedule.vm_end_s[~is_spot],
        counted_weights=of_groups[:, schedule.vm_offer[~is_spot]],
        group_weights=of_groups[:, rented],
        group_most=ints(int(most) for _, most in limits),
        deadline=instance.deadline_s,
    )
    others = instance.offer_is_burstable[schedule.vm_offer] & ~is_spot
    burstable_weights = of_groups[:, schedule.vm_offer[others]]
    return PlanArrays(instance, tuple(regular), bag, spot_task, own_vm, schedule.vm_end_s[others], burstable_weights)


def _cheapest_first(instance: Instance, regular: list[RentalOffer]) -> list[RentalOffer]:
    """Return offers by what a core of each costs for the work that it can do, relative to the least time for that."""
    seconds = instance.offer_runtime_s[:, [offer.index for offer in regular]]
    least = seconds.min(axis=1, initial=NEVER)
    able = seconds < NEVER
    work = np.where(able, seconds, 0).sum(axis=0) / np.maximum(np.where(able, least[:, None], 0).sum(axis=0), 1)
    per_core = [offer.price_usd_per_s / offer.vcpus for offer in regular]
    return [regular[k] for k in np.argsort(per_core * work, kind="stable").tolist()]


def _rentals(instance: Instance, regular: list[RentalOffer]) -> Any:
    """Return the rentals of rescues as rows."""
    never_binds = [instance.memory_never_binds[offer.type_index] for offer in regular]
    rented = [offer.index for offer in regular]
    price, opening, paid, block = (of_offer[rented] for of_offer in instance.rents)
    return _records(
        RentalRow,
        vcpus=ints(offer.vcpus for offer in regular),
        limit=ints(offer.vm_type.offers["on-demand"].limit for offer in regular),
        size_kb=ints(-1 if free else offer.memory_kb for free, offer in zip(never_binds, regular, strict=True)),
        ready=instance.ready_s[rented],
        takeover=instance.takeover_s[rented],
        price=price,
        opening=opening,
        paid=paid,
        block=block,
    )


def _spot_tasks(schedule: Schedule, task: IntArray) -> Any:
    """Return the tasks of spot VMs as rows."""
    instance = schedule.instance
    group, offer_of = instance.task_group[task], schedule.vm_offer[schedule.task_vm[task]]
    type_index = _types(instance)[offer_of]
    speeds = np.array(
        [1.0 if vm_type.burstable is None else vm_type.burstable.baseline_fraction for vm_type in instance.vm_types]
    )
    interval = schedule.checkpoint_interval_s[task]
    taken = np.isfinite(interval)  # the rules divide by the period: one of no use where no checkpoints are taken
    return _records(
        SpotTaskRow,
        start=schedule.task_start_s[task],
        end=schedule.task_end_s[task],
        release=instance.release_s[group],
        due=instance.due_s[group],
        group=group,
        type_index=type_index,
        runtime=instance.runtime_s[group, type_index].astype(float),
        interval=np.where(taken, interval, 1.0),
        period=np.where(taken, interval + instance.dump_s[group], 1.0),
        checkpoints=np.where(taken, instance.checkpoint_count[group, type_index], 0.0).astype(np.int64),
        speed=np.where(schedule.task_baseline[task], speeds[type_index], 1.0),
    )


def _spot_vms(schedule: Schedule, spot: IntArray) -> Any:
    """Return the spot VMs of a plan as rows."""
    instance, rents, offer = schedule.instance, schedule.rents, schedule.vm_offer[spot]
    return _records(
        SpotVmRow,
        type_index=_types(instance)[offer],
        # From the end of the boot on, and not of the setup, a VM is billed: then its opening is paid.
        booted=rents.ready_s[spot] - (instance.ready_s - instance.boot_overhead_s)[offer],
        end=schedule.vm_end_s[spot],
        paid_until=rents.paid_until_s[spot],
        block=rents.block_s[spot],
        price=rents.usd_per_s[spot],
        opening=rents.opening_usd[spot],
    )


def _own_vms(schedule: Schedule, own_vm: IntArray, rental_of: Mapping[int, int]) -> tuple[Any, IntArray]:
    """Return the regular on-demand VMs of a plan as rows, and when each of their cores ends what is planned."""
    instance, rents = schedule.instance, schedule.rents
    first_core = np.concatenate([[0], np.cumsum(schedule.vm_vcpus)])
    core_end = np.repeat(schedule.vm_ready_s, schedule.vm_vcpus)
    np.maximum.at(core_end, first_core[schedule.task_vm] + schedule.task_core, schedule.task_end_s)
    # A machine that takes no more tasks has no cores for a rescue; it counts in the limits as long as it is there.
    closed = [machine >= 0 and not instance.machines[machine].open for machine in schedule.vm_machine.tolist()]
    cores = np.where(np.array(closed, dtype=bool), 0, schedule.vm_vcpus)[own_vm]
    own_cores = [
        core_end[first_core[vm] : first_core[vm] + n] for vm, n in zip(own_vm.tolist(), cores.tolist(), strict=True)
    ]
    rows = _records(
        OwnVmRow,
        rental=ints(rental_of[index] for index in schedule.vm_offer[own_vm].tolist()),
        end=schedule.vm_end_s[own_vm],
        paid_until=(rents.paid_until_s + begun_s(rents.block_s, schedule.vm_end_s, rents.paid_until_s))[own_vm],
        block=rents.block_s[own_vm],
        first_core=np.cumsum(cores) - cores,
        cores=cores,
        price=rents.usd_per_s[own_vm],
    )
    return rows, np.concatenate([np.zeros(0, dtype=np.int64), *own_cores])


def _types(instance: Instance) -> IntArray:
    """Return the type of each offer, as an index."""
    return ints(offer.type_index for offer in instance.offers)


def _records(row: type, **columns: Any) -> Any:
    """Return an array of rows from its columns."""
    records = np.zeros(len(next(iter(columns.values()))), dtype=dtype_of(row))
    for name, column in columns.items():
        records[name] = column
    return records


def ints(values: Iterable[int]) -> IntArray:
    """Return an array of whole numbers."""
    return np.array(list(values), dtype=np.int64)


_MOST_PLAIN_TASKS = 1_000
_MOMENTS_AT_A_TIME = 256
_LOADED_IN_S, _COMPILED_IN_S = 0.5, 2.0
"""Seconds of plain Python, in a process, that take as long as to load the compiled loop, and as to compile it."""
_SHARE_OF_LIMIT = 0.1
"""Share of the time left that plain Python may take; then it is the loop's turn, which takes little of it."""


class Lost(NamedTuple):
    """Lost tasks at a moment, longest first: index in ``Bag.tasks``, and what is left of it on each rental."""

    task: IntArray
    left: IntArray


class Packing(NamedTuple):
    """Places of lost tasks, in the order of `Lost`: arrays of `PlaceRow` and of `PackedVmRow`."""

    places: Any
    vms: Any


class Survey(NamedTuple):
    """Answer of a survey.

    Attributes
    ----------
    moments : list of tuple
        See `MomentRow`.
    status, second, work : int
        `DONE`, `OVER_BUDGET` or `FAILED`; from where to go on, or where there is no rescue; work done.
    lost, packing : Lost, Packing
        If only one moment was asked for: what is lost then, and where it goes.
    """

    moments: list[tuple[int, int, int, float]]
    status: int
    second: int
    work: int
    lost: Lost | None
    packing: Packing | None


class Questions:
    """Questions about the rescues of one plan.

    Plain Python answers them first where there are not many tasks: the loop takes some seconds to compile, and most of
    a second to load with what compiles it. Once as much time has gone by, or where the loop is at hand, it does. Both
    give the same answers.
    """

    def __init__(self, bag: Bag, n_types: int) -> None:
        self._bag, self._sizes = bag, _sizes(bag, n_types)
        self._given = bag._asdict()
        self._states = threading.local()

    def survey(
        self, down: BoolArray, since: int, until: int, patience: int, *, cheap: bool, at_once: bool, budget: int
    ) -> Survey:
        """Find rescues for the loss of VM types at any second from ``since`` to ``until``.

        A rescue serves later seconds, too, as long as it still ends by the deadline if it waits until then.

        Parameters
        ----------
        down : array of bool, shape (n_types,)
            The types that go down.
        since, until : int
            First and last second at which they may.
        patience : int
            Seconds that a rescue should be able to wait: the longer, the fewer rescues, and the dearer.
        cheap, at_once : bool
            Whether the rescues should cost little; whether one for second ``since`` is enough.
        budget : int
            Most work that may be done, as the number of places that are looked at.
        """
        span = {"since": since, "until": until, "patience": patience, "budget": budget}
        asked = self._ask(asked=SURVEY, down=down, cheap=cheap, at_once=at_once, **span)
        moments = asked.table("moments", asked.number("n_moments")).tolist()
        last = (asked.lost(), asked.packed()) if at_once else (None, None)
        return Survey(moments, asked.number("status"), asked.number("second"), asked.number("work"), *last)

    def lost_at(self, down: BoolArray, at_s: int) -> Lost:
        """Return the tasks that are lost if marked types go down, after the finishes and starts of that second."""
        return self._ask(asked=LOSS, down=down, since=at_s).lost()

    def room_at(self, at_s: int) -> IntArray:
        """Return the new VMs that may be requested at a second: of each rental; then their weights in groups."""
        room: IntArray = self._ask(asked=ROOM, since=at_s).table("room")
        return room

    def added_usd(self, down: BoolArray, lost: Lost, packing: Packing, at_s: int) -> float:
        """Return the most that the bill grows, whichever of the types that are marked go down at a second."""
        tables = {"lost": lost.task, "places": packing.places[None], "vms": packing.vms[None]}
        numbers = {"n_lost": len(lost.task), "packing": QUICK, "since": at_s, "until": at_s}
        asked = self._ask(asked=COST, down=down, n_vms=ints([len(packing.vms)]), **tables, **numbers)
        return float(asked.number("added"))

    def _ask(self, **question: Any) -> _State:
        """Return the state in which a question is answered."""
        kept = self._states.__dict__
        count_work(ITERATIONS.question_task * len(self._bag.tasks))
        # Twice: when the compiler has become worth its loading, it may turn out that the loop is not kept, and that
        # plain Python is the sooner one until it would be compiled.
        for mark_s in (_LOADED_IN_S, _COMPILED_IN_S):
            if len(self._bag.tasks) <= _MOST_PLAIN_TASKS and _spent.plain_s < mark_s and not _loop_is_sooner():
                plain = kept["plain"] = kept.get("plain") or _Plain(self._given, self._sizes)
                if plain.answers(question, mark_s - _spent.plain_s):
                    return plain
        compiled = kept.get("compiled") or _Compiled(self._given, self._sizes)
        compiled.answer(question)
        # Arrays of a large bag are too large to be kept for questions that may never come.
        if len(self._bag.tasks) < LARGE_TASKS:
            kept["compiled"] = compiled
        return compiled


def _sizes(bag: Bag, n_types: int) -> dict[str, Any]:
    """Return the lengths of the tables that the rules fill."""
    n_tasks, n_rentals = len(bag.tasks), len(bag.rentals)
    n_vms, n_cores = len(bag.own_vms) + n_tasks, len(bag.core_end)
    for rental in bag.rentals:
        vms, cores = min(int(rental["limit"]), n_tasks), min(int(rental["vcpus"]), n_tasks)
        # Where memory cannot bind, a VM is rented only once all cores of its kind have tasks: no more than one has
        # idle ones.
        n_cores += vms * cores if rental["size_kb"] >= 0 else min(vms * cores, n_tasks + cores)
    leaves = 2 << n_cores.bit_length()
    sizes: dict[str, Any] = {"halt": 1, "moments": _MOMENTS_AT_A_TIME, "n_vms": N_PACKINGS}
    sizes |= dict.fromkeys(("lost", "keys"), n_tasks) | dict.fromkeys(
        ("room", "free_vms"), n_rentals + len(bag.group_most)
    )
    sizes |= dict.fromkeys(("heap_sizes", "leaves", "own_leaves"), n_rentals)
    sizes |= dict.fromkeys(("core_free", "core_vm"), n_cores) | dict.fromkeys(("down", "type_number", "saved"), n_types)
    sizes |= {"left": (n_rentals, n_tasks), "places": (N_PACKINGS, n_tasks), "vms": (N_PACKINGS, n_vms)}
    sizes |= dict.fromkeys(("heaps", "leaf_core"), (n_rentals, n_cores))
    return sizes | {"trees": (n_rentals, leaves), "ends": (n_vms, MOST_TYPES)}


def compile_rescues() -> None:
    """Have the compiled loop at hand, by asking it about no plan."""
    loop()(np.zeros(1, dtype=dtype_of(Rows)))


def _rows_in(record: Any) -> Rows:
    """Return the rows that a record says the addresses of, which compiled loops alone can follow."""
    raise NotImplementedError


def _work_out(context: Any) -> int:
    """Answer the question of a record."""
    return answer(_rows_in(context[0]))


@cache
def loop() -> Any:
    """Return the compiled loop of the rules; made when it is first asked for, as what compiles it loads slowly."""
    from ...core.compiled_rows import compiled_rules, rows_from

    return compiled_rules(_work_out, "work_out_rescues", IN_ARRAYS | {_rows_in: rows_from(Rows)}, {})


class _State(ABC):
    """A plan, a question about its rescues, and the answer, in one of two forms."""

    @abstractmethod
    def number(self, name: str) -> Any:
        """Return a number."""

    @abstractmethod
    def table(self, name: str, n: int | None = None, part: int | None = None) -> Any:
        """Return the first entries of a table, or of a part of it, as an array; all of them without a number."""

    def lost(self) -> Lost:
        """Return the lost tasks."""
        lost = self.table("lost", self.number("n_lost"))
        rentals = range(len(self.table("leaves")))
        left = np.array([self.table("left", part=rental)[lost] for rental in rentals], dtype=np.int64)
        return Lost(lost, left.reshape(len(rentals), len(lost)))

    def packed(self) -> Packing:
        """Return the packing that was chosen."""
        p = self.number("packing")
        vms = self.table("vms", int(self.table("n_vms")[p]), p)
        return Packing(self.table("places", self.number("n_lost"), p), vms)


class _Plain(_State):
    """Lists of objects, for plain Python."""

    def __init__(self, given: Mapping[str, Any], sizes: Mapping[str, Any]) -> None:
        values: dict[str, Any] = {name: _blank(_TABLES[name], size) for name, size in sizes.items()}
        values |= {name: _lists(_TABLES[name], value) if name in _TABLES else value for name, value in given.items()}
        self._rows = Rows(**values)

    def answers(self, question: Mapping[str, Any], most_s: float) -> bool:
        """Answer a question within some seconds, and a share of the limit; return whether that could be done."""
        for name, value in question.items():
            if name in _TABLES:
                _fill(getattr(self._rows, name), _lists(_TABLES[name], value))
            else:
                setattr(self._rows, name, value)
        self._rows.halt = until = _Until(most_s)  # type: ignore[assignment]
        try:
            answer(self._rows)
        finally:
            _spent.plain_s += time.perf_counter() - until.began
        return not until.is_over

    def number(self, name: str) -> Any:
        return getattr(self._rows, name)

    def table(self, name: str, n: int | None = None, part: int | None = None) -> Any:
        values = getattr(self._rows, name)
        values = values[:n] if part is None else values[part][:n]
        kind = dtype_of(_TABLES[name].row)
        return np.array([_values_of(row) for row in values] if kind.names else values, dtype=kind)


class _Compiled(_State):
    """Arrays, for the compiled loop."""

    def __init__(self, given: Mapping[str, Any], sizes: Mapping[str, Any]) -> None:
        self._context = np.zeros(1, dtype=dtype_of(Rows))
        self._arrays: dict[str, Any] = {}
        row = self._context[0]
        tables = {name: np.empty(size, dtype=dtype_of(_TABLES[name].row)) for name, size in sizes.items()}
        for name, value in (tables | dict(given)).items():
            if name not in _TABLES:
                row[name] = value
                continue
            self._arrays[name] = array = np.ascontiguousarray(value, dtype=dtype_of(_TABLES[name].row))
            enter(row, name, array)

    def answer(self, question: Mapping[str, Any]) -> None:
        """Answer a question; of a large bag so that it can be ended."""
        row = self._context[0]
        for name, value in question.items():
            if name in _TABLES:
                _fill(self._arrays[name], value)
            else:
                row[name] = value
        halt = self._arrays["halt"]
        halt[0] = 0
        if len(self._arrays["tasks"]) < LARGE_TASKS:
            loop()(self._context)
        else:
            run_compiled(lambda: loop()(self._context), halt)

    def number(self, name: str) -> Any:
        return self._context[0][name].item()

    def table(self, name: str, n: int | None = None, part: int | None = None) -> Any:
        array = self._arrays[name] if part is None else self._arrays[name][part]
        return array[:n].copy()


_TABLES = {table.name: table for table in tables_of(Rows)}


def _lists(table: TableField, array: Any) -> list[Any]:
    """Return a table as lists of numbers, or of rows."""
    if table.row in (int, float):
        return array.tolist()  # type: ignore[no-any-return]
    return [rows_of(table.row, part) for part in array] if table.nested else rows_of(table.row, array)


def _blank(table: TableField, size: Any) -> list[Any]:
    """Return a table of zeros, or of rows of zeros."""
    if table.nested:
        return [_blank(table._replace(nested=False), size[1]) for _ in range(size[0])]
    return [table.row()] * size if table.row in (int, float) else [table.row() for _ in range(size)]


def _fill(table: Any, values: Any) -> None:
    """Put values into the first places of a table, or of its first parts."""
    if len(values) and isinstance(values[0], list | np.ndarray):
        for part, entries in zip(table, values, strict=False):
            _fill(part, entries)
    else:
        table[: len(values)] = values


def _values_of(row: Any) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in row.__slots__)


class _Spent:
    """Seconds of plain Python for rescues in this process."""

    plain_s = 0.0


_spent = _Spent()


class _Until:
    """The flag that ends plain Python where it has had its time: the compiled loop does not end in the middle."""

    def __init__(self, most_s: float) -> None:
        self.began = time.perf_counter()
        self.is_over = False
        self._limit = limit = current_limit()
        left_s = math.inf if limit.work is not None else limit.deadline - self.began
        self._is_short = left_s < _COMPILED_IN_S  # for a loop: it is answered so, or not in time
        self._deadline = self.began + min(most_s, left_s if self._is_short else _SHARE_OF_LIMIT * left_s)

    def __getitem__(self, place: int) -> bool:
        if self._limit.stopped() or (self._is_short and self._limit.over()):
            raise LimitReached
        self.is_over = time.perf_counter() > self._deadline
        return self.is_over


def _loop_is_sooner() -> bool:
    """Return the answer whether the loop is at hand, as far as that is known without loading its compiler first."""
    return ("numba" in sys.modules or _spent.plain_s >= _LOADED_IN_S) and _is_at_hand()


def _is_at_hand() -> bool:
    """Return the answer whether the loop is compiled, here or in the cache."""
    return bool(loop().signatures) or _is_kept()


@cache
def _is_kept() -> bool:
    from ...core.compiled import is_ready

    return is_ready(loop())


_STEPS = range(1, 30)


def loss_of(types: Sequence[str]) -> str:
    """Name the VMs of some types that go down."""
    return f"with spot VMs of {listed(types, 'type')} down for good"


def obstacle(plan: PlanArrays, types: Sequence[str], at_s: int, lost: Lost, room: IntArray) -> tuple[str, bool]:
    """Say why nothing can rescue what is lost of some types at a second, and whether that is proved.

    ``room`` is how many new VMs may be requested then: of each rental, and what they may weigh in each group.
    """
    takeover_s, own = plan.bag.rentals["takeover"], plan.bag.own_vms
    when = f"{loss_of(types)} at {at_s:,} s"
    alive = own[own["end"] > at_s]
    usable = np.zeros(len(plan.regular), dtype=bool)
    usable[alive["rental"]] = True
    # Within a group, another type might be taken instead of the strongest, and when a VM of the plan ends meanwhile.
    usable |= (plan.bag.rentals["limit"] > 0) & (plan.bag.group_weights <= plan.bag.group_most[:, None]).all(axis=0)
    if not usable.any():
        return f"{when}: no regular VM may be rented on demand then; raise limits.max_on_demand, or quotas", True
    # From here on, all that could be had is counted: what does not fit that fits no rescue, and is proved to be lost.
    first_s = int(takeover_s[usable].min())
    window_s = plan.instance.deadline_s - at_s - first_s
    rooms = [*_freed_rooms(plan, at_s, first_s)]
    for vm in alive:
        ends_s = plan.bag.core_end[vm["first_core"] :][: vm["cores"]]
        rooms.append(plan.instance.deadline_s - np.maximum(ends_s, at_s + takeover_s[vm["rental"]]))
    vcpus = plan.bag.rentals["vcpus"].astype(float)
    vms, left = np.split(np.maximum(room, 0).astype(float), [len(vcpus)])
    limits = one_limit_each([*zip(plan.bag.group_weights.astype(float), left.tolist(), strict=True)])
    vms = most_worth(vcpus, np.minimum(vms, len(lost.task)), limits)
    for cores in np.minimum(np.ceil(vms * vcpus - NOISE), len(lost.task)).astype(int).tolist():
        rooms.append(np.full(cores, window_s))
    room_s = np.maximum(np.concatenate([np.zeros(0, dtype=np.int64), *rooms]), 0)
    seconds = np.where(usable[:, None], lost.left, NEVER).min(axis=0)
    dates = plan.bag.tasks[lost.task]
    start_s = np.maximum(at_s + takeover_s[:, None], dates["release"])
    end_s = np.where(usable[:, None], start_s + lost.left, NEVER).min(axis=0)
    longest = int((end_s - dates["due"]).argmax())
    number = plan.spot_task[lost.task[longest]]
    task = plan.instance.task_ids[number]
    if not plan.instance.may_be_on_demand[plan.instance.task_group[number]]:
        return f"{when}: task {task!r} may not be on demand (markets), so nothing can rescue it", True
    if seconds[longest] >= NEVER:
        return f"{when}: task {task!r} can run on no regular VM that may be rented on demand then", True
    if end_s[longest] > dates["due"][longest]:
        text = f"task {task!r} takes {seconds[longest]:,} s more on demand and would end at {end_s[longest]:,} s; "
        return f"{when}: {text}end spot earlier (d_spot_s), allow checkpoints, or a later deadline", True
    remedy = "raise the limits of on-demand VMs, end spot earlier (d_spot_s), or allow a later deadline"
    work = int(seconds.sum())
    if work > room_s.sum():
        what = "core seconds" if int(plan.instance.cores.max()) == 1 else "seconds of tasks"
        text = f"{work:,} {what} are left to do on demand, and {int(room_s.sum()):,} can be had"
        return f"{when}: {text}; {remedy}", True
    lost_tasks = f"the {len(lost.task):,} tasks that are lost"
    if any(_transformed(seconds, window_s, k).sum() > _transformed(room_s, window_s, k).sum() for k in _STEPS):
        return f"{when}: {lost_tasks} do not fit the on-demand VMs that can be had; {remedy}", True
    return f"{when}: no way was found to do {lost_tasks} on demand by the deadline; {remedy}", False


def _freed_rooms(plan: PlanArrays, at_s: int, first_s: int) -> Iterator[IntArray]:
    """Time of cores that VMs rented when one of the plan ends have more: of another type, or it takes no more tasks.

    These have no task until ``first_s`` after that.
    """
    own, weights, vcpus = plan.bag.own_vms, plan.bag.group_weights, plan.bag.rentals["vcpus"]
    a_weight = np.where(weights > 0, vcpus / np.maximum(weights, 1), 0.0).max(axis=1, initial=0.0)
    freed = np.concatenate([weights[:, own["rental"]], plan.burstable_weights], axis=1)
    none = np.zeros_like(plan.burstable_end_s)
    most = np.maximum(np.ceil(a_weight @ freed - NOISE), np.concatenate([vcpus[own["rental"]], none])).astype(int)
    kept = np.concatenate([own["cores"], none])
    ends_s = np.concatenate([own["end"], plan.burstable_end_s]).tolist()
    for end_s, more in zip(ends_s, (most - kept).tolist(), strict=True):
        if end_s > at_s and more > 0:
            yield np.full(more, plan.instance.deadline_s - end_s - first_s)


def _transformed(seconds: IntArray, window_s: int, k: int) -> IntArray:
    """Apply the k-th dual-feasible function of Fekete and Schepers to fractions of a window, times k * window.

    A size x becomes x itself if (k + 1) x is whole, and the whole part of (k + 1) x over k else. It is superadditive:
    what fits together into some room does so after it is applied to both.
    """
    parts = (k + 1) * seconds
    return np.where(parts % window_s == 0, k * seconds, parts // window_s * window_s)


class Twins:
    """The rule of twins: each spot VM has one on demand, of its type, that goes on with what it loses (`certify`)."""

    def __init__(self, schedule: Schedule) -> None:
        instance = schedule.instance
        self._instance = instance
        self._vm_ids = schedule.vm_ids
        self._takeover_s = instance.takeover_s[schedule.vm_offer]
        self.spot = np.flatnonzero(instance.offer_is_spot[schedule.vm_offer])
        self._offers = [instance.offers[index] for index in schedule.vm_offer.tolist()]
        loss = _longest_loss_s(schedule)
        core = np.concatenate([[0], np.cumsum(schedule.vm_vcpus)])[schedule.task_vm] + schedule.task_core
        binds = ~instance.memory_never_binds[[offer.type_index for offer in self._offers]][schedule.task_vm]
        # A task that is late on a twin delays those after it on its core; where memory may bind, all of the VM.
        unit = np.where(binds, len(core) + int(schedule.vm_vcpus.sum()) + schedule.task_vm, core)
        on_spot = instance.offer_is_spot[schedule.vm_offer][schedule.task_vm]
        units, place = np.unique(unit[on_spot], return_inverse=True)
        self._unit = place
        self.task_vm, self.task_core = schedule.task_vm[on_spot], schedule.task_core[on_spot]
        stays = ~instance.may_be_on_demand[instance.task_group] & on_spot
        self._stays = [instance.task_ids[task] for task in np.flatnonzero(stays)[:1].tolist()]
        self._start_s, self._end_s = schedule.task_start_s[on_spot], schedule.task_end_s[on_spot]
        end, longest = np.zeros((2, len(units)), dtype=np.int64)
        np.maximum.at(end, place, schedule.task_end_s[on_spot])
        np.maximum.at(longest, place, loss[on_spot])
        self.end_s = np.zeros(len(self._offers), dtype=np.int64)
        np.maximum.at(self.end_s, self.task_vm, (end + longest)[place] + self._takeover_s[self.task_vm])
        self._planned_end_s = schedule.vm_end_s
        self._rents, self._vm_usd, self._planned_usd = schedule.rents, schedule.vm_cost_usd, schedule.cost_usd

    def missing(self) -> str:
        """Name the first reason why a spot VM has no twin, a VM of its type on demand, in time; empty if each has."""
        instance = self._instance
        if not len(self.spot):
            return ""
        if instance.has_dates:
            return "tasks have dates, which twins do not know"
        if self._stays:
            return f"task {self._stays[0]!r} may not be on demand (markets), so nothing can rescue it"
        for vm in self.spot.tolist():
            if self._offers[vm].burstable or "on-demand" not in self._offers[vm].vm_type.offers:
                return f"no twin of {self._vm_ids[vm]!r} can be rented: its type is not a regular one on demand"
            if self.end_s[vm] > instance.deadline_s:
                return (
                    f"a twin of {self._vm_ids[vm]!r} could end at {self.end_s[vm]:,} s, after the deadline; end spot "
                    "earlier (d_spot_s), or allow a later deadline"
                )
        for vm_type in instance.vm_types:
            vms = [offer for offer in self._offers if offer.vm_type.name == vm_type.name]
            if any(offer.market == "spot" for offer in vms) and len(vms) > vm_type.offers["on-demand"].limit:
                limit = vm_type.offers["on-demand"].limit
                return f"the {len(vms)} VMs of {vm_type.name} are more than its limit of {limit} on demand"
        for name, quota in instance.limits.of_groups():
            if sum(quota.weight(offer.vm_type, "on-demand") for offer in self._offers) > quota.most:
                return f"all {len(self._offers)} VMs, on demand, are more than {name}"
        return ""

    def start_s(self, task: IntArray, left_s: IntArray, at_s: int) -> IntArray:
        """Return when lost tasks start on the twins: what ran at once, all others so much later as that takes longer.

        Parameters
        ----------
        task, left_s : array of int
            Tasks, counted among those on spot VMs, and what is left of each on the twin, in seconds.
        at_s : int
            When their VMs go down.
        """
        ran = self._start_s[task] <= at_s
        later = np.zeros(int(self._unit.max(initial=-1)) + 1, dtype=np.int64)
        np.maximum.at(later, self._unit[task[ran]], left_s[ran] - (self._end_s[task[ran]] - at_s))
        start_s: IntArray = np.where(ran, at_s, self._start_s[task] + later[self._unit[task]])
        return start_s + self._takeover_s[self.task_vm[task]]

    def worst_cost_usd(self) -> float:
        """Return the most that the plan costs if each spot VM goes down at its worst moment, or never."""
        instance, offers = self._instance, self._instance.offers
        on_demand = {o.vm_type.name: o.index for o in offers if o.market == "on-demand" and o.listed_as is None}
        more = 0.0
        for vm in self.spot.tolist():
            end_s, planned_usd = int(self.end_s[vm]), float(self._vm_usd[vm])
            usd, opening_usd, ready_s, paid_until_s, block_s = (of_vm[vm].item() for of_vm in self._rents)
            offer = on_demand[self._offers[vm].vm_type.name]
            twin = [of_offer[offer].item() for of_offer in instance.rents]
            twin_paid_s = int(instance.ready_s[offer]) + twin[2]
            # The later it goes down, the longer it is paid for, and the shorter its twin; blocks, whole in any case.
            openings_usd = opening_usd + twin[1] + (block_s - 1) * usd + (twin[3] - 1) * twin[0]
            bills = [
                openings_usd + usd * max(at_s - paid_until_s, 0) + twin[0] * max(end_s - at_s - twin_paid_s, 0)
                for at_s in (ready_s, int(self._planned_end_s[vm]) - 1)
            ]
            more += max(*bills, planned_usd) - planned_usd
        return self._planned_usd + more

    @property
    def least_slack_s(self) -> int | None:
        """Seconds by which the twins end before the deadline, at least; None without spot VMs."""
        return int(self._instance.deadline_s - self.end_s[self.spot].max()) if len(self.spot) else None


def _longest_loss_s(schedule: Schedule) -> IntArray:
    """Most seconds by which each task ends later if it goes on from its last checkpoint, without an overhead."""
    instance = schedule.instance
    interval = schedule.checkpoint_interval_s
    period = np.where(np.isfinite(interval), interval + instance.dump_s[instance.task_group], np.inf)
    burstable = instance.offer_is_burstable[schedule.vm_offer[schedule.task_vm]]
    # With k of n checkpoints written, less than (k + 1)(interval + dump) has passed, and what is left is rounded up:
    # ceil(r - k interval) + passed - ceil(r + n dump) < 1 + interval + dump.
    most = np.where(np.isfinite(period) & ~burstable, np.ceil(period), float(NEVER))
    return np.minimum(schedule.task_duration_s - 1, most.astype(np.int64))
