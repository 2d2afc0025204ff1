"""The least wall time of a bag of known run times on hosts that are paid by started units: what no heuristic beats.

Sets of tasks that share a host are columns: they give weights that refute a time, and plans.

For a time W, with x_c hosts that run the set c and pay k_c units,

    min sum_c k_c x_c
    sum_{c has j} x_c + s_{j-1} - s_j >= 1      tasks j, longest first
    x_c, s_j >= 0

where s_j carries places for task j that are left over down to the next task, which is no longer. Its duals are weights
for `unit_bounds.refutes`; a knapsack finds the sets that it lacks. In whole numbers, its solutions are
plans: there are at least j places for the j longest tasks, so giving the longest task the longest place and so on fits.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from spotbag.bounds.programme import Programme
from spotbag.core.bill import blocks_of
from spotbag.core.limits import LimitReached, Stop, stopped, within
from spotbag.core.processes import interruptible
from spotbag.core.quantities import OPTIMALITY_TOLERANCE, IntArray
from spotbag.models.integer_program import IntegerProgram
from spotbag.solvers.backend import SolverLimits
from spotbag.solvers.highs import solve_with_highs

from .unit_bounds import (
    Heaviest,
    UnitsProblem,
    fewest_paid_units,
    refutes,
    simple_bound_s,
    units_of,
)

Packing = list[list[int]]
"""Tasks of each host, as positions in the run times of the problem."""

_WEIGHT = 1_000_000
"""Whole number that stands for a dual of 1, the price of a unit."""

_ROUNDS = 8
"""Knapsacks for the duals of a master, each without the tasks of the columns that were found before."""


class SharedHosts:
    """Columns of a bag; what is found for one time is kept for others.

    Parameters
    ----------
    problem : UnitsProblem
        The bag.
    until : float
        When to stop, as of ``time.perf_counter``.
    """

    def __init__(self, problem: UnitsProblem, until: float) -> None:
        self._problem = problem
        self._until = until
        self._busy_s: dict[tuple[int, ...], int] = {}
        self.add((task,) for task in range(len(problem.run_times_s)))

    def add(self, sets: Iterable[Iterable[int]]) -> int:
        """Keep sets of tasks; say how many were new."""
        before = len(self._busy_s)
        for tasks in sets:
            key = tuple(sorted(tasks))
            self._busy_s[key] = sum(self._problem.run_times_s[task] for task in key)
        return len(self._busy_s) - before

    def refuted(self, wall_s: int) -> bool | None:
        """True if fractions of columns prove that no plan within the budget ends by a time; None out of time."""
        problem = self._problem
        rooms = problem.rooms_s(wall_s)
        master = _Master(len(problem.run_times_s))
        master.add(self._columns(wall_s))
        while True:
            try:
                with within(max(self._until - time.perf_counter(), 0.0)):
                    if not master.solve():
                        return None
            except LimitReached:
                return None
            if master.objective <= problem.budget_units + OPTIMALITY_TOLERANCE:
                return False
            weights = [int(max(dual, 0.0) * _WEIGHT) for dual in master.duals]
            found: set[tuple[int, ...]] = set()
            for round_ in range(_ROUNDS):
                heaviest = Heaviest(problem.run_times_s, weights, rooms[-1])
                if round_ == 0 and refutes(problem, wall_s, weights, heaviest.best):
                    return True
                # A set is worth adding if its weight is above the price of its units: its reduced cost is negative.
                worth = [
                    heaviest.tasks(room)
                    for units, room in enumerate(rooms, start=1)
                    if heaviest.best[room] > units * _WEIGHT
                ]
                if not worth:
                    break
                found.update(worth)
                for task in {task for tasks in worth for task in tasks}:
                    # The next knapsacks look for sets of other tasks: many columns from one solution of the master.
                    weights[task] = 0
            known = self._busy_s.keys()
            new = [tasks for tasks in sorted(found) if tasks not in known]
            if not new:
                return False
            self.add(new)
            master.add([(tasks, problem.units_of(self._busy_s[tasks])) for tasks in new])

    def plan(self, wall_s: int, until: float) -> Packing | None:
        """Plan of the columns that ends by a time within the budget; None if none was found in time."""
        n_tasks, columns = len(self._problem.run_times_s), self._columns(wall_s)
        program = IntegerProgram()
        for _, units in columns:
            program.add_column(float(units), upper=n_tasks)
        for _ in range(n_tasks - 1):
            program.add_column(upper=n_tasks)
        of_task: list[list[int]] = [[] for _ in range(n_tasks)]
        for column, (tasks, _) in enumerate(columns):
            for task in tasks:
                of_task[task].append(column)
        for task, mine in enumerate(of_task):
            before, after = ([len(columns) + k] if 0 <= k < n_tasks - 1 else [] for k in (task - 1, task))
            coefficients = [1] * (len(mine) + len(before)) + [-1] * len(after)
            program.add_row([*mine, *before, *after], coefficients, lower=1)
        try:
            with within(max(until - time.perf_counter(), 0.0)):
                answer = solve_with_highs(program, SolverLimits(), enough=float(self._problem.budget_units))
        except LimitReached:
            return None
        if answer.values is None or program.value(answer.values) > self._problem.budget_units + 0.5:
            return None
        return _packing(n_tasks, [tasks for tasks, _ in columns], answer.values)

    def _columns(self, wall_s: int) -> list[tuple[tuple[int, ...], int]]:
        """Columns: sets of tasks that end by a time, with the units of their host."""
        room_s = wall_s - self._problem.boot_s
        return [(tasks, self._problem.units_of(busy_s)) for tasks, busy_s in self._busy_s.items() if busy_s <= room_s]


class _Master(Programme):
    """The programme of the module."""

    def __init__(self, n_tasks: int) -> None:
        super().__init__()
        for _ in range(n_tasks):
            self.add_row(lower=1.0)
        for task in range(n_tasks - 1):
            self.add_column(0.0, [task, task + 1], [-1.0, 1.0])

    def add(self, columns: Iterable[tuple[tuple[int, ...], int]]) -> None:
        """Add columns with their units."""
        for tasks, units in columns:
            self.add_column(float(units), tasks, np.ones(len(tasks)))


def _packing(n_tasks: int, sets: list[tuple[int, ...]], values: IntArray) -> Packing:
    """Plan of whole numbers of hosts that run each set."""
    places: list[tuple[int, int]] = []
    hosts = 0
    for tasks, value in zip(sets, values.tolist(), strict=False):
        for _ in range(value):
            places += [(task, hosts) for task in tasks]
            hosts += 1
    packing: Packing = [[] for _ in range(hosts)]
    for task, (_, host) in zip(range(n_tasks), sorted(places), strict=False):
        packing[host].append(task)
    return [host for host in packing if host]


PaidUnitsStatus: TypeAlias = Literal["optimal", "feasible", "infeasible"]

_MOST_FOR_COLUMNS = 20_000_000
"""Tasks times seconds of the largest room beyond which columns are not made: a knapsack would take too long."""

_MOST_UNITS_FOR_COLUMNS = 20_000
"""Budget beyond which columns are not made: whether weights refute a time is seen unit by unit."""

_SEARCH_SHARE = 0.2
"""Part of the time limit that has passed when packing ends."""

_BOUND_SHARE = 1 - _SEARCH_SHARE
"""Part of the time limit that has passed when the bound is raised no more."""

_PLAN_SHARE = 0.1
"""Part of the time limit that one attempt to make a plan of columns takes at most."""


@dataclass(frozen=True, slots=True)
class LeastMakespan:
    """A plan for a bag within a budget, and what no plan can beat.

    Attributes
    ----------
    status : str
        ``optimal``: no plan within the budget ends earlier; ``feasible``: none ends before ``lower_bound_s``;
        ``infeasible``: no plan pays so little.
    hosts : tuple of tuple of int
        Tasks of each host, as positions in the run times; all hosts are requested at time 0.
    wall_s : int or None
        From the requests to the end of the last task; None if infeasible.
    paid_units : int or None
        What the plan pays; None if infeasible.
    lower_bound_s : int or None
        No plan within the budget ends earlier; None if infeasible.
    fewest_units : int
        What any plan pays at least.
    runtime_s : float
        Time that the search took.
    """

    status: PaidUnitsStatus
    hosts: tuple[tuple[int, ...], ...]
    wall_s: int | None
    paid_units: int | None
    lower_bound_s: int | None
    fewest_units: int
    runtime_s: float = field(compare=False)

    @property
    def gap(self) -> float | None:
        """Greatest share of the wall time by which a plan could end earlier; None if infeasible."""
        if self.wall_s is None or self.lower_bound_s is None:
            return None
        return (self.wall_s - self.lower_bound_s) / self.wall_s if self.wall_s else 0.0


def least_makespan_within(
    run_times_s: Sequence[int],
    unit_s: int = 3600,
    boot_s: int = 300,
    budget_units: int = 1,
    *,
    time_limit_s: float = 10.0,
    stop: Stop | None = None,
) -> LeastMakespan:
    """Find the least wall time of any plan that pays at most a number of units.

    Parameters
    ----------
    run_times_s : sequence of int
        Whole seconds of each task.
    unit_s, boot_s : int
        A host is paid by started units from its request, and ready after the boot time.
    budget_units : int
        Units that all hosts may pay together.
    time_limit_s : float
        When to stop with what is found. What can be proved at once takes less.
    stop : Stop, optional
        Ends it before that; so do Ctrl-C and SIGTERM.

    Returns
    -------
    LeastMakespan
        A plan, and a bound that holds for every plan.
    """
    began = time.perf_counter()
    fewest = fewest_paid_units(run_times_s, unit_s, boot_s)
    if budget_units < fewest:
        return LeastMakespan("infeasible", (), None, None, None, fewest, time.perf_counter() - began)
    if not run_times_s:
        return LeastMakespan("optimal", (), 0, 0, 0, 0, time.perf_counter() - began)
    order = sorted(range(len(run_times_s)), key=lambda task: -run_times_s[task])
    # More is never paid than by a host for each task.
    most = sum(units_of(run_time, unit_s, boot_s) for run_time in run_times_s)
    problem = UnitsProblem(tuple(run_times_s[task] for task in order), unit_s, boot_s, min(budget_units, most))
    search = _Search(problem, began, time_limit_s)
    # Whatever is under way when the time is over, the best plan and the bound so far are kept.
    with suppress(LimitReached), interruptible(stop, told=False), within(time_limit_s, begin=began):
        search.run()
    return LeastMakespan(
        status="optimal" if search.wall_s == search.bound_s else "feasible",
        hosts=tuple(sorted(tuple(sorted(order[task] for task in host)) for host in search.packing)),
        wall_s=search.wall_s,
        paid_units=paid_units_of(problem, search.packing),
        lower_bound_s=search.bound_s,
        fewest_units=fewest,
        runtime_s=time.perf_counter() - began,
    )


def least_units_by(
    run_times_s: Sequence[int], unit_s: int, boot_s: int, wall_s: int, known_units: int
) -> tuple[int, int]:
    """Find the least payment of a plan that ends by a time.

    Parameters
    ----------
    run_times_s : sequence of int
        Whole seconds of each task.
    unit_s, boot_s : int
        As for `least_makespan_within`.
    wall_s : int
        When the last task must have ended.
    known_units : int
        What some plan pays that ends by then.

    Returns
    -------
    tuple of (int, int)
        The least payment that was found, and one that no plan is below. Packings and simple bounds only: that is no
        search, and a moment.
    """
    longest_first = tuple(sorted(run_times_s, reverse=True))

    def problem(units: int) -> UnitsProblem:
        return UnitsProblem(longest_first, unit_s, boot_s, units)

    units = range(fewest_paid_units(run_times_s, unit_s, boot_s), known_units)
    bound = bisect_left(units, True, key=lambda budget: simple_bound_s(problem(budget)) <= wall_s)
    found = bisect_left(
        units, True, lo=bound, key=lambda budget: packed_by(problem(budget), wall_s, lambda: False) is not None
    )
    return units.start + found, units.start + bound


class _Search:
    """Plan and bound of a bag, and how they come together."""

    def __init__(self, problem: UnitsProblem, began: float, time_limit_s: float) -> None:
        self._problem = problem
        self._began = began
        self._limit_s = time_limit_s
        self.packing: Packing = [list(range(len(problem.run_times_s)))]
        self.wall_s = wall_s_of(problem, self.packing)
        self.bound_s = simple_bound_s(problem)

    def _until(self, share: float) -> float:
        return self._began + share * self._limit_s

    def _soon(self, share: float) -> float:
        """Time at which an attempt to make a plan of columns ends."""
        return min(self._until(share), time.perf_counter() + _PLAN_SHARE * self._limit_s)

    def _keep(self, packing: Packing | None) -> bool:
        if packing is None or paid_units_of(self._problem, packing) > self._problem.budget_units:
            return False
        wall_s = wall_s_of(self._problem, packing)
        if wall_s < self.wall_s:
            self.packing, self.wall_s = packing, wall_s
        return True

    def run(self) -> None:
        """Close the gap as far as time allows."""
        # A host for each task may be dear, but no plan ends earlier.
        self._keep([[task] for task in range(len(self._problem.run_times_s))])
        self._pack()
        if self.wall_s > self.bound_s and self._columns_are_few_enough():
            self._share()

    def _columns_are_few_enough(self) -> bool:
        """True if a knapsack over all tasks and rooms takes little of the time."""
        problem = self._problem
        most = len(problem.run_times_s) * problem.room_s(problem.budget_units, self.wall_s)
        return most <= _MOST_FOR_COLUMNS and problem.budget_units <= _MOST_UNITS_FOR_COLUMNS

    def _pack(self) -> None:
        """Look for plans that end a little after the bound, then later and later, then between."""
        until = self._until(_SEARCH_SHARE)

        def out_of_time() -> bool:
            return stopped() or time.perf_counter() > until

        low, step = self.bound_s, 1
        while self.wall_s > low and not out_of_time():
            target_s = min(self.bound_s + step - 1, self.wall_s - 1)
            if self._keep(packed_by(self._problem, target_s, out_of_time)):
                break
            low, step = target_s + 1, 4 * step
        # Hosts that end with a unit waste nothing: such times can be easier than later ones.
        unit_s = self._problem.unit_s
        for target_s in range(blocks_of(self.bound_s, unit_s) * unit_s, self.wall_s, unit_s):
            if out_of_time() or self._keep(packed_by(self._problem, target_s, out_of_time)):
                break
        low = min(low, self.wall_s)
        while self.wall_s > low and not out_of_time():
            middle = (low + self.wall_s) // 2
            if not self._keep(packed_by(self._problem, middle, out_of_time)):
                low = middle + 1

    def _share(self) -> None:
        """Raise the bound by columns, and look for plans made of them."""
        hosts = SharedHosts(self._problem, self._until(_BOUND_SHARE))
        hosts.add(self.packing)
        high = self.wall_s
        while self.bound_s < high:
            middle = (self.bound_s + high) // 2
            refuted = hosts.refuted(middle)
            if refuted is None:
                break
            if refuted:
                self.bound_s = middle + 1
            else:
                self._keep(hosts.plan(middle, self._soon(_BOUND_SHARE)))
                high = min(middle, self.wall_s)
        target_s, until = self.bound_s, self._until(1.0)
        while self.wall_s > target_s and time.perf_counter() < until and not stopped():
            if self._keep(hosts.plan(target_s, self._soon(1.0))):
                break
            target_s += max((self.wall_s - target_s) // 4, 1)


# ------------------------------------------------------------------------- packing: plans by a time, within a budget

_REPAIRS_A_HOST = 12
"""Moves and swaps before an overfull packing is given up."""

_PARTNERS = 32
"""Hosts with the most room that an overfull one may give a task to."""

_FILLED_UNITS = 4
"""Sizes of a host that filling chooses among: the largest ones."""

_MOST_FILLING = 10**11
"""Tasks squared times seconds beyond which filling takes too long; a machine word does 64 of them at once."""


def paid_units_of(problem: UnitsProblem, packing: Packing) -> int:
    """Billed units of a packing."""
    return sum(problem.units_of(_busy_s(problem, host)) for host in packing)


def wall_s_of(problem: UnitsProblem, packing: Packing) -> int:
    """Time at which the last task of a packing ends."""
    return problem.boot_s + max(_busy_s(problem, host) for host in packing)


def _busy_s(problem: UnitsProblem, host: Sequence[int]) -> int:
    return sum(problem.run_times_s[task] for task in host)


def packed_by(problem: UnitsProblem, wall_s: int, out_of_time: Callable[[], bool]) -> Packing | None:
    """Look for a plan within the budget that ends by a time; None if none was found, which proves nothing."""
    for attempt, units in enumerate(_mixes(problem, wall_s)):
        packing = _levelled(problem, [problem.room_s(one, wall_s) for one in units], out_of_time)
        if packing is None and attempt == 0:
            packing = _filled(problem, wall_s, out_of_time)
        if packing is not None or out_of_time():
            return packing
    return None


def _mixes(problem: UnitsProblem, wall_s: int) -> list[list[int]]:
    """Units of the hosts: with the most room, as few and as many hosts as have room for all tasks."""
    capacity = problem.capacity_s(wall_s)
    enough = np.flatnonzero(capacity >= sum(problem.run_times_s))
    if not len(enough):
        return []
    largest = problem.units_until(wall_s)
    numbers = dict.fromkeys(int(one) + 1 for one in (capacity.argmax(), enough[0], enough[-1]))
    return [_spread(problem.budget_units, hosts, largest) for hosts in numbers]


def _spread(budget_units: int, hosts: int, largest: int) -> list[int]:
    """Units of each host, as even as possible, none more than it can use."""
    each, more = divmod(min(budget_units, hosts * largest), hosts)
    return [each + 1] * more + [each] * (hosts - more)


def _levelled(problem: UnitsProblem, rooms_s: Sequence[int], out_of_time: Callable[[], bool]) -> Packing | None:
    """Longest tasks first, each where most room is left; then moves and swaps until nothing exceeds its room."""
    times = problem.run_times_s
    left = np.array(rooms_s, dtype=np.int64)
    packing: Packing = [[] for _ in rooms_s]
    for task, seconds in enumerate(times):
        host = int(left.argmax())
        packing[host].append(task)
        left[host] -= seconds
    for _ in range(_REPAIRS_A_HOST * len(rooms_s)):
        worst = int(left.argmin())
        if left[worst] >= 0:
            return [host for host in packing if host]
        if out_of_time() or not _relieve(times, packing, left, worst):
            return None
    return None


def _relieve(times: Sequence[int], packing: Packing, left: IntArray, worst: int) -> bool:
    """Move a task of an overfull host, or swap it for a shorter one, so that what exceeds the rooms becomes least."""
    mine = np.array([times[task] for task in packing[worst]], dtype=np.int64)
    best: tuple[float, int, int, int] | None = None
    for host in np.argsort(-left, kind="stable")[:_PARTNERS].tolist():
        if left[host] <= left[worst]:  # the overfull one itself, or one as full
            continue
        theirs = np.array([0] + [times[task] for task in packing[host]], dtype=np.int64)
        shift = mine[:, None] - theirs[None, :]
        after_mine, after_theirs = left[worst] + shift, left[host] - shift
        excess = np.maximum(-after_mine, 0) + np.maximum(-after_theirs, 0)
        before = max(-left[worst], 0) + max(-left[host], 0)
        # Where nothing is gained, level the two: squares decide between changes of the same excess.
        spread = after_mine.astype(float) ** 2 + after_theirs.astype(float) ** 2
        spread_before = float(left[worst]) ** 2 + float(left[host]) ** 2
        gain = (before - excess) + (spread_before - spread) / (1.0 + spread_before + spread)
        gain[(excess > before) | ((excess == before) & (spread >= spread_before))] = -np.inf
        at = int(gain.argmax())
        value = float(gain.flat[at])
        if value > -np.inf and (best is None or value > best[0]):
            best = (value, host, at // len(theirs), at % len(theirs))
            if excess.flat[at] == 0 and before > 0:
                break
    if best is None:
        return False
    _, host, given, taken = best
    task = packing[worst].pop(given)
    left[worst] += times[task]
    left[host] -= times[task]
    if taken:
        other = packing[host].pop(taken - 1)
        packing[worst].append(other)
        left[worst] -= times[other]
        left[host] += times[other]
    packing[host].append(task)
    return True


def _filled(problem: UnitsProblem, wall_s: int, out_of_time: Callable[[], bool]) -> Packing | None:
    """Host by host: the longest task left, and those that fill its room best; of several rooms, the least per unit."""
    largest = problem.largest_units(wall_s)
    options = [problem.room_s(units, wall_s) for units in range(max(largest - _FILLED_UNITS, 0) + 1, largest + 1)]
    if len(problem.run_times_s) ** 2 * max(options, default=0) > _MOST_FILLING:
        return None
    waiting = list(range(len(problem.run_times_s)))
    packing: Packing = []
    paid = 0
    while waiting:
        if out_of_time():
            return None
        first, rest = waiting[0], waiting[1:]
        longest_s = problem.run_times_s[first]
        best: tuple[float, int, list[int]] | None = None
        for room in options:
            if room < longest_s:
                continue
            host = [first, *_fullest([(problem.run_times_s[task], task) for task in rest], room - longest_s)]
            busy = _busy_s(problem, host)
            value = problem.units_of(busy) / busy
            if best is None or value < best[0]:
                best = (value, problem.units_of(busy), host)
        if best is None:
            return None
        paid += best[1]
        if paid > problem.budget_units:
            return None
        packing.append(best[2])
        taken = set(best[2])
        waiting = [task for task in waiting if task not in taken]
    return packing


def _fullest(tasks: Sequence[tuple[int, int]], room_s: int) -> list[int]:
    """Tasks (run time, number), longest first, whose run times come closest to a room without exceeding it."""
    start = bisect_left(tasks, -room_s, key=lambda entry: -entry[0])
    fitting = tasks[start:]
    # Seconds that can be filled are bits of a whole number: with one more task, they are shifted by its run time.
    in_room = (1 << (room_s + 1)) - 1
    reached = [1]  # bit s of entry i: seconds s can be filled with the first i tasks
    for seconds, _ in fitting:
        reached.append((reached[-1] | reached[-1] << seconds) & in_room)
        if reached[-1] >> room_s:
            break
    filled = reached[-1].bit_length() - 1
    found = []
    for index in range(len(reached) - 1, 0, -1):
        if not reached[index - 1] >> filled & 1:
            seconds, task = fitting[index - 1]
            found.append(task)
            filled -= seconds
    return found
