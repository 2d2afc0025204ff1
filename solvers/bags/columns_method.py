"""The method ``columns``: branching on the makespan, column generation, enumeration of all columns within the gap.

For a makespan in [a, b], every plan costs at least ``wt a`` plus the least cost of running all tasks by b over
fractions of columns. Parts of the window are done whose bound reaches the best plan, or is held below it by tasks on
burstable VMs, which are relaxed; the others are split. Where the gap is small enough, all columns whose reduced cost is
within it are listed, and an integer programme picks the best of them: a plan better than the best so far can have no
other columns.
"""

from __future__ import annotations

import heapq
import math
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from ...audits.bags.plan import check
from ...bounds.bags.divisible_bound import divisible_bound, worst_objective
from ...bounds.bags.divisible_programme import makespan_window
from ...core.errors import ModelRefusal
from ...core.limits import LimitReached, checkpoint, seconds_left, within
from ...core.quantities import NEARLY, OPTIMALITY_TOLERANCE, FloatArray, IntArray
from ...instances.instance import Instance
from ...models.bags.task_classes import MOST_CLASSES_OF_COLUMNS, task_classes
from ...schedules.method import Outcome, Run
from ...schedules.timing import objective_weights
from ..backend import SolverLimits
from ..highs import solve_with_highs
from .budget import BUDGET
from .column_master import ColumnMaster, ColumnProgram, column_program
from .exact_method import ModelTrace, exact_outcome, start_plan
from .vm_columns import VmColumn, plan_of_columns

_MOST_LISTED = 1_000, 40_000  # columns: while a part can be split, at one makespan
_PROGRAM_SHARE = 0.15
_TRIALS = (200, 5_000)


@dataclass(order=True, slots=True)
class _Part:
    """A part of the window of makespans, with its bound, and the cost by its end if that is known."""

    bound: float
    first_s: int
    last_s: int = field(compare=False)
    cost: float | None = field(compare=False, default=None)
    duals: FloatArray | None = field(compare=False, default=None)
    held: bool = field(compare=False, default=False)
    """Bound held by tasks on burstable VMs, which are relaxed: parts of the part have no better one."""


def columns(instance: Instance, run: Run) -> Outcome:
    """Plan by VM columns.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    run : Run
        Limits, and perhaps a plan to start from.

    Raises
    ------
    ModelRefusal
        If there are too many classes of tasks.
    """
    search = _ColumnSearch(instance, run)
    with suppress(LimitReached):
        search.go()
    return search.outcome()


class _ColumnSearch:
    """Best plan, parts that are open, and the linear programme."""

    def __init__(self, instance: Instance, run: Run) -> None:
        self.instance = instance
        self.run = run
        self.classes = task_classes(instance)
        if len(self.classes) > MOST_CLASSES_OF_COLUMNS:
            raise ModelRefusal(
                f"columns take up to {MOST_CLASSES_OF_COLUMNS} classes of identical tasks, and there are "
                f"{len(self.classes)}; 'search' takes any number"
            )
        begin = start_plan(instance, run)
        self.start = self.best = begin.schedule
        self.trace = ModelTrace(run, self.start)
        self._worst = worst_objective(instance)
        self.ready = instance.boot_overhead_s
        self.time_weight = objective_weights(instance)[1]
        window = makespan_window(instance, math.inf if self.best is None else self.best.objective)
        bound = divisible_bound(instance)
        self.open: list[_Part] = []
        self.stuck: list[_Part] = []  # parts that nothing more can be done about
        self._pool_solved = 0
        self._window = window
        if not window.empty and math.isfinite(bound.objective):
            # Where time does not count, plans by the last moment are all that is needed: none has to end earlier.
            first_s = window.latest_s if self.time_weight == 0 else window.earliest_s
            self.open.append(_Part(bound.objective, first_s, window.latest_s))
            self.master = ColumnMaster(instance, self.classes, bound)

    @property
    def at_most(self) -> float:
        """Objective of the best plan; without one, what no plan exceeds."""
        return self._worst if self.best is None else self.best.objective

    @property
    def to_beat(self) -> float:
        """Objective below which a plan counts as better."""
        return self.at_most * (1 - OPTIMALITY_TOLERANCE)

    @property
    def bound(self) -> float:
        """Proven bound: outside of the open parts no plan is better than the best."""
        return min([part.bound for part in (*self.open, *self.stuck)] + [self.at_most])

    def go(self) -> None:
        """Work on the part with the least bound until none is left, or the gap or the time is."""
        while self.open:
            checkpoint()
            if self.best is not None and self.run.answered(self.at_most, self.bound):
                return
            part = heapq.heappop(self.open)
            if part.bound >= self.to_beat:
                continue
            try:
                self._work_on(part)
            except BaseException:
                heapq.heappush(self.open, part)  # it stays open
                raise
            self.trace.improved(self.at_most, self.bound)

    def _work_on(self, part: _Part) -> None:
        """Bound a part; then close it by enumeration, or split it."""
        if part.cost is None:
            self._generate(part)
            self._choose_from_pool()
            if part.bound >= self.to_beat:
                return
        if self._solved_by_listing(part):
            return
        if part.held or part.first_s == part.last_s or part.cost is None or part.cost == -math.inf:
            self.stuck.append(part)
            return
        middle = (part.first_s + part.last_s) // 2
        heapq.heappush(self.open, _Part(part.bound, part.first_s, middle, duals=part.duals))
        later = self.time_weight * (middle + 1 + self.ready) + part.cost
        heapq.heappush(self.open, replace(part, bound=max(later, part.bound), first_s=middle + 1))

    def _generate(self, part: _Part) -> None:
        """Column generation for plans that end by the end of a part; raises its bound."""
        at_first = self.time_weight * (part.first_s + self.ready)
        part.cost, part.duals = -math.inf, self.master.first_duals if part.duals is None else part.duals
        for trials in _TRIALS:  # with rough ends first: most of the way is then fast
            if trials > _TRIALS[0]:
                self.master.make_exact(trials)
            self.master.restrict(part.last_s)
            try:
                self._converge(part, at_first, trials)
            finally:  # what the duals prove holds, also if there is no time to go on
                part.bound = max(part.bound, at_first + part.cost)
            if part.bound >= self.at_most:
                return

    def _converge(self, part: _Part, at_first: float, trials: int) -> None:
        """Add columns until the linear programme over all of them is solved; its bound is the cost of the part.

        It ends as well where the part, which costs ``at_first`` for its earliest makespan, cannot beat the best plan.
        ``trials`` is the most nodes to find the least end of a set of tasks.
        """
        master = self.master
        assert part.cost is not None, "nothing is proved yet"
        assert part.duals is not None, "a part starts from some duals"

        def price(at: FloatArray, multipliers: FloatArray) -> tuple[float, bool]:
            priced = master.price(at, master.fixed_prices(multipliers), part.last_s, trials)
            assert part.cost is not None, "nothing is proved yet"
            if priced.cost > part.cost:
                part.cost, part.duals = priced.cost, at
            added = [master.add(column) for column in priced.columns]
            return priced.cost, any(added)

        def done() -> bool:
            assert part.cost is not None, "something is priced"
            value = master.objective
            return value - part.cost <= NEARLY * abs(value) or at_first + part.cost >= self.at_most

        with suppress(ModelRefusal):  # what the duals prove so far holds
            master.generate(price, part.duals, done, part.cost)

    def _solved_by_listing(self, part: _Part) -> bool:
        """List all columns that a better plan of a part can have, and let an integer programme choose."""
        if part.duals is None or part.cost is None or part.cost == -math.inf:
            return False
        at_first = self.time_weight * (part.first_s + self.ready)
        nothing = np.zeros(len(self.master.finders))
        priced = self.master.price(part.duals, nothing, part.last_s, _TRIALS[-1])
        # Bound and prices must come from the same savings; prices that were cut short are lower, which lists more.
        slack = self.at_most - (at_first + (priced.cost if math.isfinite(priced.cost) else part.cost))
        listed: list[VmColumn] = []
        most = _MOST_LISTED[part.first_s == part.last_s]
        prices = self.master.least_prices(priced.saving)
        for finder, price in zip(self.master.finders, prices.tolist(), strict=True):
            checkpoint()
            found = finder.find(
                part.duals, price, part.last_s, slack, most_columns=most + 1 - len(listed),
                most_trials=_TRIALS[0], narrowing=False,
            )  # fmt: skip
            listed += found.columns
            if not found.complete or len(listed) > most:
                return False
        listed = [c if c.exact else self._with_end(c) for c in listed]
        return self._choose(part, [c for c in listed if c.end_s <= part.last_s])

    def _with_end(self, column: VmColumn) -> VmColumn:
        """Return a column with its least end."""
        checkpoint()
        return self.master.finders[column.offer].place(column, _TRIALS[-1]).column

    def _choose_from_pool(self) -> None:
        """Look for a better plan of the columns that were generated so far, whenever they are twice as many."""
        if len(self.master.columns) < 2 * self._pool_solved:
            return
        self._pool_solved = len(self.master.columns)
        everything = _Part(0.0, self._window.earliest_s, self._window.latest_s)
        self._choose(everything, self.master.columns.copy())

    def _choose(self, part: _Part, listed: list[VmColumn], burstable: bool = True) -> bool:
        """Best plan of the listed columns with a makespan in a part; whether that was proved."""
        while True:
            made = column_program(self.master, part.first_s, listed, burstable)
            limits = SolverLimits.of_run(self.run)
            try:
                with within(_share_s()):
                    answer = solve_with_highs(made.program, limits, better_than=self.to_beat)
            except LimitReached:  # that of this programme, or of the whole run
                checkpoint()
                return False
            longer = False
            if answer.values is not None and made.program.value(answer.values) < self.at_most * (
                1 - OPTIMALITY_TOLERANCE
            ):
                longer = self._take(listed, answer.values[made.picked])
            if answer.status == "infeasible":
                return True
            part.bound = max(part.bound, answer.bound)
            if part.bound >= self.to_beat:
                return True
            if not longer:
                part.held = answer.status == "optimal" and self._is_held(part, listed, made, answer.values)
                if part.held:  # then no plan of it is better than the best one without burstable VMs
                    self._choose(replace(part), listed, burstable=False)
                return False
            checkpoint()
            listed = [column for column in listed if column.end_s <= part.last_s]  # again, with what is known now

    def _is_held(self, part: _Part, listed: list[VmColumn], made: ColumnProgram, values: IntArray | None) -> bool:
        """Tasks on burstable VMs hold the bound of a part if they fit by the makespan that they belong to."""
        if values is None:
            return False
        last_s = max([part.first_s, *(listed[k].end_s for k in np.flatnonzero(values[made.picked]).tolist())])
        used = made.burstable_seconds(values)
        return any(used) and all(map(float.__le__, used, self.master.burstable_seconds(last_s)))

    def _take(self, listed: list[VmColumn], picked: IntArray) -> bool:
        """Keep the plan of the picked columns if it is better; say whether one takes longer than was known."""
        chosen = []
        longer = False
        for position in np.flatnonzero(picked).tolist():
            column = listed[position]
            finder = self.master.finders[column.offer]
            placed = finder.place(column)
            if not placed.column.exact:
                return False
            longer = longer or placed.column.end_s > column.end_s
            listed[position] = placed.column
            chosen += [(finder, placed)] * int(picked[position])
        plan = plan_of_columns(self.instance, self.classes, chosen)
        if plan is not None and plan.objective < self.at_most and check(self.instance, plan).feasible:
            self.best = plan
            self.run.incumbent.take(plan)
        return longer

    def outcome(self) -> Outcome:
        """Result of the search, so far."""
        explanation = "no plan was found until the time was over"
        proved = (
            math.inf if self.best is None and self.bound >= self._worst * (1 - OPTIMALITY_TOLERANCE) else self.bound
        )
        return exact_outcome(self.instance, self.start, self.best, proved, explanation)


def _share_s() -> float | None:
    """Seconds for one integer programme: a part of the time that is left."""
    left = seconds_left()
    return max(BUDGET.least_s, _PROGRAM_SHARE * (100.0 if left is None else min(left, 100.0)))
