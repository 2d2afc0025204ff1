"""Questions about the rescues of a plan: the rules answer them, in plain Python or in the compiled loop."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ...core.limits import LimitReached, current_limit
from ...core.processes import run_compiled
from ...core.quantities import BoolArray, IntArray
from ...core.rows import TableField, dtype_of, enter, rows_of, tables_of
from .rescue_arrays import Bag, ints
from .rescue_rows import COST, LOSS, MOST_TYPES, N_PACKINGS, QUICK, ROOM, SURVEY, Rows
from .rescue_rules import answer

LARGE_TASKS = 20_000
"""Tasks of a large plan: its state is not kept, a question can be ended, and a rescue is not written into a record."""
_MOST_PLAIN_TASKS = 1_000
_MOMENTS_AT_A_TIME = 256
_LOADED_IN_S, _COMPILED_IN_S = 0.5, 2.0
"""Seconds of plain Python, in a process, that take as long as to load the compiled loop, and as to compile it."""
_SHARE_OF_LIMIT = 0.1
"""What plain Python may take of the time that is left; then it is the loop, which takes little of it."""


class Lost(NamedTuple):
    """Lost tasks at a moment, longest first: index in ``Bag.tasks``, and what is left of it on each rental."""

    task: IntArray
    left: IntArray


class Packing(NamedTuple):
    """Where lost tasks go, in the order of `Lost`: arrays of `PlaceRow` and of `PackedVmRow`."""

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
        self._given = {name: value for name, value in (bag._asdict() | bag.terms._asdict()).items() if name != "terms"}
        self._states = threading.local()

    def survey(
        self, down: BoolArray, since: int, until: int, patience: int, *, cheap: bool, at_once: bool, budget: int
    ) -> Survey:
        """Find a rescue for each moment from a second on; one serves later moments too, as long as it can wait.

        Parameters
        ----------
        down : array of bool, shape (n_types,)
            The types that go down.
        since, until : int
            First and last second that matter.
        patience : int
            Seconds by which it should be possible to carry a rescue out later.
        cheap, at_once : bool
            Whether its cost matters; whether only a rescue for the first second itself is asked for.
        budget : int
            Work to be done at most, in places that are looked at.
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
        """Return the new VMs that may be requested at a second: of each rental, and of all of them (the last entry)."""
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
        for mark_s in (_LOADED_IN_S, _COMPILED_IN_S):
            if len(self._bag.tasks) <= _MOST_PLAIN_TASKS and _spent.plain_s < mark_s and not _loop_is_sooner():
                plain = kept["plain"] = kept.get("plain") or _Plain(self._given, self._sizes)
                if plain.answers(question, mark_s - _spent.plain_s):
                    return plain
        compiled = kept.get("compiled") or _Compiled(self._given, self._sizes)
        compiled.answer(question)
        if len(self._bag.tasks) < LARGE_TASKS:
            kept["compiled"] = compiled
        return compiled


def _sizes(bag: Bag, n_types: int) -> dict[str, Any]:
    """Return the lengths of the tables that the rules fill."""
    n_tasks, n_rentals = len(bag.tasks), len(bag.rentals)
    n_vms, n_cores = len(bag.own_vms) + n_tasks, len(bag.core_end)
    for rental in bag.rentals:
        vms, cores = min(int(rental["limit"]), n_tasks), min(int(rental["vcpus"]), n_tasks)
        n_cores += vms * cores if rental["size_kb"] >= 0 else min(vms * cores, n_tasks + cores)
    leaves = 2 << n_cores.bit_length()
    sizes: dict[str, Any] = {"halt": 1, "moments": _MOMENTS_AT_A_TIME, "n_vms": N_PACKINGS}
    sizes |= dict.fromkeys(("lost", "keys"), n_tasks) | dict.fromkeys(("room", "free_vms"), n_rentals + 1)
    sizes |= dict.fromkeys(("heap_sizes", "leaves", "own_leaves"), n_rentals)
    sizes |= dict.fromkeys(("core_free", "core_vm"), n_cores) | dict.fromkeys(("down", "type_number", "saved"), n_types)
    sizes |= {"left": (n_rentals, n_tasks), "places": (N_PACKINGS, n_tasks), "vms": (N_PACKINGS, n_vms)}
    sizes |= dict.fromkeys(("heaps", "leaf_core"), (n_rentals, n_cores))
    return sizes | {"trees": (n_rentals, leaves), "ends": (n_vms, MOST_TYPES)}


def compile_rescues() -> None:
    """Have the compiled loop at hand, by asking it about no plan."""
    from .rescue_loops import LOOP

    LOOP(np.zeros(1, dtype=dtype_of(Rows)))


class _State:
    """A plan, a question about its rescues, and the answer, in one of two forms."""

    def number(self, name: str) -> Any:
        """Return a number."""
        raise NotImplementedError

    def table(self, name: str, n: int | None = None, part: int | None = None) -> Any:
        """Return the first entries of a table, or of a part of it, as an array; all of them without a number."""
        raise NotImplementedError

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
        from .rescue_loops import LOOP

        row = self._context[0]
        for name, value in question.items():
            if name in _TABLES:
                _fill(self._arrays[name], value)
            else:
                row[name] = value
        halt = self._arrays["halt"]
        halt[0] = 0
        if len(self._arrays["tasks"]) < LARGE_TASKS:
            LOOP(self._context)
        else:
            run_compiled(lambda: LOOP(self._context), halt)

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
        left_s = limit.deadline - self.began
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
    from .rescue_loops import LOOP

    return bool(LOOP.signatures) or _is_kept()


@cache
def _is_kept() -> bool:
    from ...core.compiled import is_ready
    from .rescue_loops import LOOP

    return is_ready(LOOP)
