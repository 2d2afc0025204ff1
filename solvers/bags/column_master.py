"""The linear programme over VM columns, its duals, and the bound that any duals give."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ...bounds.bags.divisible_bound import DivisibleBound
from ...bounds.bags.pattern_master import MOST_NEW, PatternMaster
from ...core.limits import checkpoint, out_of_time
from ...core.quantities import FloatArray, IntArray, rounded_down
from ...instances.entries import RentalOffer, binding_limits, most_worth, one_limit_each
from ...instances.instance import Instance
from ...models.bags.task_classes import TaskClasses, usable_offers
from ...models.integer_program import IntegerProgram
from ...schedules.timing import objective_weights
from .vm_columns import MOST_TASKS_OF_A_VM, ColumnFinder, RelaxedTask, VmColumn, relaxed_tasks


@dataclass(frozen=True, slots=True)
class Priced:
    """Proof by duals.

    Attributes
    ----------
    cost : float
        Lower bound of the cost of all tasks, in units of the objective; minus infinity if a search was cut short.
    columns : list of VmColumn
        Columns that the linear programme lacks.
    saving : array of float, shape (n_offers,)
        Reduced cost of the best column of each offer, or a lower bound of it; at most 0.
    """

    cost: float
    columns: list[VmColumn]
    saving: FloatArray


def _by_core(instance: Instance, offer: RentalOffer) -> bool:
    """True if to make columns of cores: sets of tasks for a whole VM would be too many."""
    free = bool(instance.memory_never_binds[offer.type_index])
    return free and instance.n_tasks > MOST_TASKS_OF_A_VM


class ColumnMaster(PatternMaster):
    """Least cost of running all tasks by a moment, over fractions of columns.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    classes : TaskClasses
        Its classes.
    bound : DivisibleBound
        Its prices are the first duals, and its value the unit of the programme's objective.
    """

    def __init__(self, instance: Instance, classes: TaskClasses, bound: DivisibleBound) -> None:
        self.instance = instance
        self.classes = classes
        offers = usable_offers(instance)
        regular = [offer for offer in offers if not offer.burstable]
        self.finders = [
            ColumnFinder(k, instance, classes, offer, bound, _by_core(instance, offer))
            for k, offer in enumerate(regular)
        ]
        burstable = [offer for offer in offers if offer.burstable]
        self.relaxed: list[list[RelaxedTask]] = [relaxed_tasks(instance, classes, offer) for offer in burstable]
        self._cost_weight = objective_weights(instance)[0]
        self._burstable_vms = [min(offer.limit, instance.n_tasks) for offer in burstable]
        self._burstable_limit_s = [
            instance.time_limit_s(offer.market) - instance.boot_overhead_s for offer in burstable
        ]
        self._relaxed_price = [self._cost_weight * offer.price_usd_per_s for offer in burstable]
        self.group_limits = binding_limits(instance, regular)
        self._vms, self._columns_of_vm = (
            np.array([(finder.vms, finder.columns_of_vm) for finder in self.finders], dtype=float).reshape(-1, 2).T
        )
        self._one_limit_each = one_limit_each(self.group_limits)
        # Prices of the divisible bound are near the duals of this programme: few rounds are lost on the way there.
        prices = bound.task_price(instance)[classes.group].min(axis=1)
        self.first_duals: FloatArray = np.where(np.isfinite(prices), prices, 0.0)
        self.columns: list[VmColumn] = []
        self._known: dict[tuple[int, bytes], int] = {}
        # Columns of each offer, what the VMs of each limited group weigh, seconds of burstable VMs.
        most = [float(finder.vms * finder.columns_of_vm) for finder in self.finders]
        most += [*(most for _, most in self.group_limits), *np.zeros(len(burstable))]
        value = bound.objective or 1.0
        dear = 1e3 * float(self.first_duals.max(initial=0.0)) + 1e-4 * value
        super().__init__(classes.size, most, value, dear)
        self._first_burstable = len(classes) + len(most) - len(burstable)
        for row, price, tasks in zip(itertools.count(self._first_burstable), self._relaxed_price, self.relaxed):
            for task in tasks:
                self.add_column(price * task.seconds, [task.group_class, row], [1.0, task.seconds])
        self._n_fixed = self.n_columns

    def cost_of(self, column: VmColumn) -> float:
        """Cost of a column in units of the objective."""
        return self.finders[column.offer].rate * column.end_s

    def add(self, column: VmColumn) -> bool:
        """Add a column, or raise the end of a known one; return whether anything changed."""
        key = (column.offer, column.counts.tobytes())
        if key in self._known:
            return self._replace(self._known[key], column)
        self._known[key] = len(self.columns)
        finder = self.finders[column.offer]
        weights = np.array([weights[column.offer] for weights, _ in self.group_limits])
        counts = np.flatnonzero(weights)
        rows = len(self.classes) + np.r_[column.offer, len(self.finders) + counts]
        # A column of a core is its part of a VM in the limits of groups: the programme counts fractions anyway.
        of_vm = np.r_[1.0, weights[counts] / finder.columns_of_vm]
        self.add_pattern(self.cost_of(column), column.counts, rows.astype(int).tolist(), of_vm.tolist())
        self.columns.append(column)
        return True

    def _replace(self, position: int, column: VmColumn) -> bool:
        # Ends only rise: what is known is exact, or a lower bound that a longer search may have raised.
        known = self.columns[position]
        if column.end_s < known.end_s or (column.end_s == known.end_s and known.exact):
            return False
        self.columns[position] = column
        self.set_cost(self._n_fixed + position, self.cost_of(column))
        return column.end_s > known.end_s

    def make_exact(self, most_trials: int) -> None:
        """Find the least ends of the columns where they are not known."""
        for column in self.columns.copy():
            if not column.exact and not out_of_time():
                self.add(self.finders[column.offer].place(column, most_trials).column)

    def restrict(self, latest_s: int) -> None:
        """Allow only columns that end by a moment."""
        # Columns that end too late are not taken out: later parts of the window have a use for them.
        ends = np.array([column.end_s for column in self.columns])
        self.set_bounds(np.zeros(len(ends)), np.where(ends <= latest_s, np.inf, 0.0), self._n_fixed)
        for row, seconds in enumerate(self.burstable_seconds(latest_s), self._first_burstable):
            self.set_row_bounds(row, -np.inf, seconds)

    def burstable_seconds(self, latest_s: int) -> list[float]:
        """Rental seconds of each burstable offer, all its VMs together, by a moment."""
        limits = zip(self._burstable_vms, self._burstable_limit_s, strict=True)
        return [float(vms * min(latest_s, limit_s)) for vms, limit_s in limits]

    def fixed_prices(self, multipliers: FloatArray) -> FloatArray:
        """Price of having a column of each offer, by multipliers of all rows."""
        n_offers = len(self.finders)
        of_offers = multipliers[len(self.classes) :]
        fixed = of_offers[:n_offers].copy()
        for k, (weights, _) in enumerate(self.group_limits):
            fixed += of_offers[n_offers + k] * weights / self._columns_of_vm
        return fixed

    def price(self, duals: FloatArray, fixed: FloatArray, latest_s: int, most_trials: int) -> Priced:
        """Bound the cost by duals, and find columns that would lower it.

        Lagrangian bound: all tasks at their duals, less what the best columns save, for as many VMs as there are. For
        offers without a column better than ``-fixed``, that is what the best can save at most.
        """
        saving = np.zeros(len(self.finders))
        columns: list[VmColumn] = []
        complete = True
        for k, finder in enumerate(self.finders):
            checkpoint()
            # There is no bound without this offer: to price the others would take time for nothing.
            if not complete:
                break
            # Below the price of a column by more than rounding: those in use are at it, and would be found again.
            found = finder.find(
                duals, 0.0, latest_s, -float(fixed[k]) - 1e-13, most_columns=MOST_NEW,
                most_trials=most_trials, narrowing=True,
            )  # fmt: skip
            complete = complete and found.complete
            saving[k] = min(float(found.reduced.min(initial=0.0)), -float(fixed[k]))
            columns += found.columns
        cost = float(duals @ self.classes.size) + self._most_saved(saving)
        for tasks, price, seconds in zip(
            self.relaxed, self._relaxed_price, self.burstable_seconds(latest_s), strict=True
        ):
            best = min((price - duals[task.group_class] / task.seconds for task in tasks), default=0.0)
            cost += seconds * min(best, 0.0)
        cost = rounded_down(cost, abs(cost) + float(duals @ self.classes.size))
        return Priced(cost if complete else -np.inf, columns, saving)

    def least_prices(self, saving: FloatArray) -> FloatArray:
        """Price of having a column of each offer with which no reduced cost is negative, given the best savings.

        In a limited group a column may take the place of one that saves less: the least saving counts for all.
        """
        prices = -saving
        for weights, _ in self.group_limits:
            mine = np.flatnonzero(weights)
            least = (prices * self._columns_of_vm)[mine].min()
            prices[mine] = least / self._columns_of_vm[mine]
        return prices

    def _most_saved(self, saving: FloatArray) -> float:
        """Sum of the savings of all VMs, at most as many as a limited group allows."""
        saving = saving * self._columns_of_vm
        return float(saving @ most_worth(-saving, self._vms, self._one_limit_each))

    def counts_matrix(self, columns: list[VmColumn]) -> IntArray:
        """Counts of columns, shape (n_columns, n_classes)."""
        return np.array([column.counts for column in columns], dtype=np.int64).reshape(len(columns), len(self.classes))


@dataclass(frozen=True, slots=True)
class ColumnProgram:
    """The programme of some columns.

    Attributes
    ----------
    program : IntegerProgram
        The programme.
    picked : array of int
        Its column for each of those listed.
    relaxed : list of (list of int, list of float)
        By burstable offer: its columns of tasks there, and the VM seconds that each task takes.
    """

    program: IntegerProgram
    picked: IntArray
    relaxed: list[tuple[list[int], list[float]]] = field(default_factory=list)

    def burstable_seconds(self, values: IntArray) -> list[float]:
        """VM seconds of the tasks on burstable VMs, by offer."""
        return [float(np.dot(values[columns], seconds)) for columns, seconds in self.relaxed]


def column_program(master: ColumnMaster, first_s: int, listed: list[VmColumn], burstable: bool = True) -> ColumnProgram:
    """Best plan of the listed columns: each class is run, limits are kept, the makespan is the last end.

    Parameters
    ----------
    master : ColumnMaster
        Whose columns they are.
    first_s : int
        Makespan, from ready, that is paid in any case.
    listed : list of VmColumn
        The columns.
    burstable : bool
        Whether tasks may run on burstable VMs, which are relaxed.
    """
    instance = master.instance
    time_weight = objective_weights(instance)[1]
    program = IntegerProgram(constant=time_weight * (first_s + instance.boot_overhead_s))
    picked = np.array([_add_column(program, master.finders[c.offer], c) for c in listed], dtype=np.int64)
    made = ColumnProgram(program, picked)
    _add_all_tasks_run(made, master, listed, burstable)
    ends = np.array([column.end_s for column in listed], dtype=np.int64)
    offer_of = np.array([column.offer for column in listed], dtype=np.int64)
    steps = _add_makespan(program, instance, first_s, ends)
    rented: dict[int, list[int]] = {}
    for k, finder in enumerate(master.finders):
        mine = offer_of == k
        if mine.any():
            by_end = _add_vms_by_core if finder.columns_of_vm > 1 else _add_vms
            rented[k] = by_end(program, finder, picked[mine], ends[mine], steps)
    for weights, most in master.group_limits:
        together = {column: int(weights[k]) for k, mine in rented.items() if weights[k] for column in mine}
        if together:
            program.add_row([*together], [*together.values()], upper=int(most))
    return made


def _add_column(program: IntegerProgram, finder: ColumnFinder, column: VmColumn) -> int:
    """Column of the programme for a VM, which has a price, or for a core, whose VM has one."""
    if finder.columns_of_vm == 1:
        return program.add_column(finder.cost(column.end_s), upper=finder.vms)
    return program.add_column(upper=finder.vms * finder.columns_of_vm)


def _add_all_tasks_run(made: ColumnProgram, master: ColumnMaster, listed: list[VmColumn], burstable: bool) -> None:
    """Each class is run as often as it has tasks, on columns or, as a relaxation, on burstable VMs."""
    program, picked = made.program, made.picked
    counts = master.counts_matrix(listed)
    of_class: dict[int, list[int]] = {}
    for tasks in master.relaxed if burstable else ():
        columns: list[int] = []
        for task in tasks:
            price = objective_weights(master.instance)[0] * task.offer.price_usd_per_s
            columns.append(program.add_column(price * task.seconds, upper=int(master.classes.size[task.group_class])))
            of_class.setdefault(task.group_class, []).append(columns[-1])
        made.relaxed.append((columns, [task.seconds for task in tasks]))
    for index, size in enumerate(master.classes.size.tolist()):
        rows = np.flatnonzero(counts[:, index])
        extra = of_class.get(index, [])
        times = [*counts[rows, index].tolist(), *([1] * len(extra))]
        program.add_row([*picked[rows].tolist(), *extra], times, lower=size)


def _add_makespan(program: IntegerProgram, instance: Instance, first_s: int, ends: IntArray) -> dict[int, int]:
    """Steps of the makespan beyond its first moment: by moment, the column that says whether it is reached."""
    time_weight = objective_weights(instance)[1]
    moments = np.unique(ends[ends > first_s]).tolist()
    steps = {
        moment: program.add_column(time_weight * (moment - previous))
        for moment, previous in zip(moments, [first_s, *moments], strict=False)
    }
    for earlier, later in pairwise(steps.values()):
        program.add_row([earlier, later], [1, -1], lower=0)
    return steps


def _add_vms(
    program: IntegerProgram, finder: ColumnFinder, picked: IntArray, ends: IntArray, steps: dict[int, int]
) -> list[int]:
    """VMs by their columns: not more than there are, none ends after the makespan; return what counts them."""
    program.add_row(picked.tolist(), [1] * len(picked), upper=finder.vms)
    for moment in np.unique(ends).tolist():
        mine = picked[ends == moment].tolist()
        if moment in steps:
            program.add_row([*mine, steps[moment]], [*([1] * len(mine)), -finder.vms], upper=0)
    counted: list[int] = picked.tolist()
    return counted


def _add_vms_by_core(
    program: IntegerProgram, finder: ColumnFinder, picked: IntArray, ends: IntArray, steps: dict[int, int]
) -> list[int]:
    """Cores by their ends sit on VMs that end then or later, as in the pattern model; return what counts the VMs."""
    levels = np.unique(ends).tolist()
    most_cores = finder.vms * finder.columns_of_vm
    cores = [program.add_column(upper=most_cores) for _ in levels]
    vms = [
        program.add_column(finder.cost(level, previous), upper=finder.vms)
        for level, previous in zip(levels, [0, *levels], strict=False)
    ]
    for number, level in enumerate(levels):
        mine = picked[ends == level].tolist()
        members = [cores[number], *cores[number + 1 : number + 2], *mine]
        program.add_row(members, [1] + [-1] * (len(members) - 1), lower=0)
        # Hall's condition, which is enough for nested sets: see `models.bags.patterns`.
        program.add_row([cores[number], vms[number]], [1, -finder.columns_of_vm], upper=0)
        if level in steps:
            program.add_row([vms[number], steps[level]], [1, -finder.vms], upper=0)
    for earlier, later in pairwise(vms):
        program.add_row([earlier, later], [1, -1], lower=0)
    return vms[:1]
