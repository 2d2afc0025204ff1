"""The annealing, for every state that moves change: temperatures, runs, steps, and when the clock is looked at.

What a move is, a compiled loop knows: `annealing_kernel` for core loads, `assignment_kernel` for the tasks of VMs in
their order. A search makes runs, in each of which the temperature falls; a run is made of steps, between which the
state is put in order, and the clock and the user are heard.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ...core.limits import ITERATIONS, LimitReached, clock_s, count_work, current_limit, stopped
from ...core.quantities import FloatArray
from ...instances.entries import NEVER
from ...instances.instance import Instance
from ...schedules.method import LARGE_TASKS, MANY_TASKS, Run, TracePoint
from ...schedules.schedule import Schedule
from .core_loads import CoreLoads
from .fewer_vms import close_vms

if TYPE_CHECKING:
    from .annealing_kernel import Cooling
    from .assignments import Assignments


class Found:
    """The best plan so far, and the iteration at which the search last said where it stands."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.iteration = 0
        self.bound = -np.inf
        if run.incumbent.objective == np.inf:
            run.incumbent.schedule = run.initial

    @property
    def best(self) -> Schedule | None:
        """The best plan, whoever has found it."""
        return self.run.incumbent.schedule

    @property
    def objective(self) -> float:
        """Objective of the best plan; infinite without one."""
        return np.inf if self.best is None else self.best.objective

    @property
    def proven(self) -> float | None:
        """The bound, if there is one."""
        return None if self.bound == -np.inf else self.bound

    def take(self, schedule: Schedule | None) -> None:
        """Keep a plan if it is the best, and what must be can be done again."""
        # A sum of the same costs in another order is no better plan.
        if schedule is not None and schedule.objective < self.objective - 1e-12:
            self.run.incumbent.take(schedule)

    def raise_bound(self, bound: float) -> None:
        """Keep a proven bound."""
        self.bound = bound
        self.run.incumbent.raise_bound(bound)

    def step(self, iteration: int, planned: int, current: float, best: float) -> None:
        """Report where the search stands."""
        self.iteration = iteration
        self.run.report(TracePoint(iteration, current, min(best, self.objective), bound=self.bound), planned)


_STEPS = 20
"""Steps of a run, at least; where the time is given, as many as there is time for."""
STEP_MOVES, _STEP_S, _LEAST_STEP_S = 25_000, 0.02, 0.002
"""Most moves of a step where they are counted; most and least seconds of one where the clock decides."""
_FIRST_MOVES = 2_000
"""Moves of the first step while nobody knows how fast the machine is."""
_IDLE_RUNS_A_TASK = 2
"""Runs after the last that found a better plan, for each task: of a tiny bag, more would find nothing."""
_DEALS, _DEALING_TASKS = 16, 100
"""Moves of which one deals the tasks of two VMs anew, and most tasks for which that is done."""
_TASK_PENALTY = (0.3, 10.0)
"""First and last penalty for a second by which a task ends too late, in dearest prices of a second of a core."""
_BALANCE = (1e-3, 4.0)
"""Weight of squared loads, in units of the objective and of the makespan; where that alone counts, up to the second."""
GOLDEN = (math.sqrt(5) - 1) / 2
_SPEEDS = "_moves_a_second_of_kernels"


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Options of the search: its effort, and how its temperatures follow from the bag.

    Attributes
    ----------
    moves : int, optional
        Moves tried; by the number of tasks if absent.
    heat : float
        First temperature of a run: what this part of the mean time of a task costs, over the number of tasks.
    cooling : float
        Last temperature of a run, as a part of the first.
    reheat : int
        How many times as hot as the first run another one may be.
    """

    moves: int | None = None
    heat: float = 0.5
    cooling: float = 0.02
    reheat: int = 40

    def temperatures(self, instance: Instance, run: int, cooler: float = 1.0) -> tuple[float, float]:
        """First and last temperature of a run, in units of a `Walk`.

        Runs that follow the first begin at temperatures from a quarter of its first one to the hottest, spread
        evenly however many there are.
        """
        n_open = max(len(instance.open_tasks), 1)
        seconds = instance.sustained_s.min(axis=1)[instance.task_group[instance.open_tasks]]
        seconds = seconds[seconds < NEVER]
        mean_s = float(seconds.mean()) if len(seconds) else 1.0
        hot = cooler * self.heat * mean_s / n_open
        if run:
            hot *= 0.25 * (4 * self.reheat) ** (run * GOLDEN % 1)
        return max(hot, 1e-9), max(self.cooling * hot, 1e-12)


class Walk(Protocol):
    """A state that moves change, and the best one that it has come by.

    Attributes
    ----------
    unit : float
        Objective of a second of makespan and of a VM of the mean price: the unit of temperatures.
    best : float
        Objective of the best state in time; infinite without one.
    """

    unit: float

    @property
    def best(self) -> float:
        """Objective of the best state in time; infinite without one."""

    def settle(self, share: float) -> float:
        """Put the state in order after a share of a run, and return its objective with penalties."""

    def move(self, cooling: Cooling) -> None:
        """Try a number of moves."""


def cooled(walk: Walk, temperatures: tuple[float, float], steps: Steps) -> Iterator[tuple[float, float]]:
    """Carry out a run step by step; yields its share and the objective with penalties, first those of the start.

    Parameters
    ----------
    walk : Walk
        The state.
    temperatures : tuple of float
        The first and the last one, in units of the walk.
    steps : Steps
        Moves of each step.
    """
    from .annealing_kernel import Cooling

    hot, cold = temperatures
    yield 0.0, walk.settle(0.0)
    for moves, before, after in steps:
        first, last = (walk.unit * hot * (cold / hot) ** share for share in (before, after))
        walk.move(Cooling(moves, first, last))
        steps.moved()
        yield after, walk.settle(after)


def random_state(seed: int, run: int) -> int:
    """First state of the random numbers of a run."""
    # The generator of the loops never leaves 0, and takes each number up to its modulus less 1 otherwise.
    return (seed * 7919 + run) % 2147483646 + 1


def is_idle(instance: Instance, runs: int) -> bool:
    """True if a number of runs without a better plan are enough for a bag."""
    return runs > _IDLE_RUNS_A_TASK * instance.n_tasks


class LoadsWalk:
    """Core loads: which task is on which core; between steps, cores are grouped anew into VMs.

    A dollar beyond the budget is charged at ``rate``.
    """

    def __init__(self, state: CoreLoads, random: int, *, plain: bool = False, rate: float = 0.0) -> None:
        from .annealing_kernel import anneal

        self.state = state
        state.charge(rate)
        self._rate = rate
        self.unit = _unit(state.objective.time_weight, state.objective.vm_price)
        self.best = math.inf
        self._kernel = getattr(anneal, "py_func", anneal) if plain else anneal
        self._iterations_a_move = ITERATIONS.plain_move if plain else ITERATIONS.move
        self._random = np.array([random], dtype=np.int64)
        self._task_penalty = state.objective.task_penalty
        few = len(state.instance.open_tasks) <= _DEALING_TASKS
        # A deal knows nothing but loads.
        loads_alone = not (len(state.cores.latest) or len(state.cores.credits) or state.objective.budget < math.inf)
        self._deals = _DEALS if few and loads_alone else 0
        self._value = math.inf
        self._share = 0.0
        self._tasks, self._number = state.core_tasks.copy(), state.core_count.copy()

    def settle(self, share: float) -> float:
        """Group the cores anew, and keep the state if it is the best.

        Tasks that are late, and what is beyond the budget, count for more and more.
        """
        state, self._share = self.state, share
        first, last = _TASK_PENALTY
        grown = (last / first) ** share
        state.objective = state.objective._replace(task_penalty=self._task_penalty * first * grown)
        state.charge(self._rate * grown)
        state.regroup()
        self._value = state.value()
        if self._value < self.best - 1e-12 and state.feasible():
            self.best = self._value
            self._tasks, self._number = state.core_tasks.copy(), state.core_count.copy()
        return self._value

    def move(self, cooling: Cooling) -> None:
        """Try a number of moves."""
        from .annealing_kernel import Snapshot

        state = self.state
        # The loop counts no VM that ends too late: its penalty alone keeps it from being better than a plan. So there
        # must be one, and before, the states between the steps are looked at; and those alone where a copy takes
        # long.
        wanted = state.instance.n_tasks <= MANY_TASKS and self.best < math.inf
        count_work(self._iterations_a_move * cooling.moves)
        snapshot = Snapshot(wanted, self._tasks, self._number)
        balance, last = _BALANCE
        if len(state.cores.worth):
            balance *= (last / balance) ** self._share
        balance *= self.unit / max(int(state.vm_end.max()), 1)
        plan, cooling = state.plan(self._random), cooling._replace(deals=self._deals)
        self._value, self.best = self._kernel(
            state.cores, state.objective, balance, plan, cooling, snapshot, self._value, self.best
        )

    def to_best(self) -> None:
        """Go back to the best state, if there is one."""
        if self.best < math.inf:
            self.state.restore(self._tasks, self._number)

    def schedule(self) -> Schedule | None:
        """Return the best plan, without VMs that are not worth their opening if there is time; None without one."""
        self.to_best()
        if self.best == math.inf or not self.state.feasible():
            return None
        plan = self.state.schedule()
        # Moves take tasks one by one, and an opening is saved only with the last of them.
        if len(self.state.objective.vm_bill) and self.state.instance.n_tasks <= LARGE_TASKS:
            with suppress(LimitReached):
                if close_vms(self.state):
                    return self.state.schedule()
        return plan


def _unit(time_weight: float, vm_price: FloatArray) -> float:
    """Rough worth of a second of one VM; 1 where nothing costs, and all plans in time are worth the same."""
    return time_weight + float(vm_price.mean()) or 1.0


class QueuesWalk:
    """The tasks of each VM in the order of their starts.

    Of the price of a VM, ``mean_share`` is charged for the mean end of its cores and not for the last; of a dollar
    beyond the budget, ``rate``.
    """

    def __init__(self, state: Assignments, random: int, mean_share: float = 0.0, rate: float = 0.0) -> None:
        self.state = state
        state.charge(rate)
        self.unit = _unit(state.objective.time_weight, state.objective.vm_price)
        self._mean_share = mean_share
        self._best = state.best(math.inf)
        state.plan.random[0] = random

    @property
    def best(self) -> float:
        """Objective of the best state in time; infinite without one."""
        return float(self._best.value[0]) + self.state.offset

    def settle(self, share: float) -> float:
        """Leave all as it is: the loop has kept the best state."""
        return self.best

    def move(self, cooling: Cooling) -> None:
        """Try a number of moves."""
        from .assignment_kernel import anneal_assignments

        state = self.state
        count_work(ITERATIONS.queues_move * cooling.moves)
        anneal_assignments(
            state.fleet,
            state.objective,
            state.credit_price,
            state.plan,
            state.alike,
            cooling,
            self._mean_share,
            self._best,
        )

    def schedule(self) -> Schedule | None:
        """Return the best plan; None without one."""
        best = self._best
        return self.state.schedule(best.tasks, best.number, best.slow) if self.best < math.inf else None


class Steps:
    """Moves of the steps of a run, and its shares before and after each.

    The number of moves is given, or, until a moment, estimated by the steps before; then the caller that carries a step
    out says when its moves have ended: what follows them is not theirs.

    Parameters
    ----------
    moves : float
        Moves of the run, at most.
    until : float
        Moment at which it ends, if not before.
    bag, kernel : Instance and str, optional
        Bag of which it is known how many moves a second a loop makes, from the last search of any of its states.
    """

    def __init__(self, moves: float, until: float = math.inf, bag: Instance | None = None, kernel: str = "") -> None:
        # All states of a bag go on with what is known of it, as each of them is asked once.
        given = bag if bag is None or bag.taken_from is None else bag.taken_from[0]
        known = given is not None and current_limit().work is None  # the clock of work has nothing from call to call
        self._speeds: dict[str, float] = given.__dict__.setdefault(_SPEEDS, {}) if known else {}
        self._moves, self._until, self._kernel = moves, until, kernel
        self._moved = 0.0

    def moved(self) -> None:
        """The moves of the step have ended."""
        self._moved = clock_s()

    def __iter__(self) -> Iterator[tuple[int, float, float]]:
        """Go through the steps."""
        if self._until < math.inf:
            yield from self._by_clock()
            return
        moves = int(self._moves)
        n_steps = max(_STEPS, -(-moves // STEP_MOVES))
        ends = [moves * step // n_steps for step in range(n_steps + 1)]
        for first, last in itertools.pairwise(ends):
            yield last - first, first / max(moves, 1), last / max(moves, 1)

    def _by_clock(self) -> Iterator[tuple[int, float, float]]:
        begin = clock_s()
        until, total = self._until, max(self._until - begin, 1e-9)
        step_s = min(max(total / _STEPS, _LEAST_STEP_S), _STEP_S)
        between_s = after = 0.0
        done = 0
        while done < self._moves and not stopped():
            now = clock_s()
            left = until - now - between_s
            if left < step_s / 10:
                return
            share = min(max((now - begin) / total, done / self._moves, after), 1.0)
            speed = self._speeds.get(self._kernel)
            if speed is None:  # the first step of a bag does not cool
                moves, after = _FIRST_MOVES, share
            else:
                moves = max(int(min(speed * min(step_s, left), self._moves - done)), 1)
                after = min(share + max(moves / speed / total, moves / self._moves), 1.0)
            from_s = clock_s()
            yield moves, share, after
            done += moves
            self._speeds[self._kernel] = moves / max(self._moved - from_s, 1e-9)
            # What a step takes beside its moves is left free at the end of the run; it is soon forgotten if it was an
            # accident.
            between_s = max(clock_s() - self._moved, between_s / 2)
