"""Equations of Thai et al. for the VMs of each type that finish a job by its deadline at least cost.

L. Thai, B. Varghese, A. Barker, "Minimising the Execution of Unknown Bag-of-Task Jobs with Deadlines on the Cloud"
(2015), section 3.1. For a job of n tasks with d seconds left until its deadline, VM types `it` of price
p_it for a block of Theta seconds, beta seconds to create a VM, and e_it seconds for a task:

    n_it = floor((d - beta) / e_it)                    tasks a VM finishes in time         (eq. 1)
    sum_it n_it ni_it                                  tasks all VMs finish                 (eq. 2)
    n <= sum_it n_it ni_it                             all tasks are done                   (eq. 3)
    sum_it p_it ni_it                                  price of a block of all VMs          (eq. 4)
    ceil(d / Theta) sum_it p_it ni_it                  cost                                 (eq. 5)
    min (eq. 5) subject to (eq. 3), ni_it >= 0 whole                                        (eq. 6)

A VM runs one task at a time, whatever its vCPUs. Eq. 5 charges every VM until the deadline, also one that
is idle before: it is a cost to plan with, and no bill.

Everything here is exact: run times are fractions, and prices are the decimals they are written as. In floating-point
numbers (0.7 - 0.1) / 0.1 is less than 6, and a task is lost.

Optima of eq. 6 are often many. The one that is meant is the cheapest with the fewest VMs and, among those, the
one with most VMs of the first type, then of the second, and so on: there is exactly one.

As an integer programme, built with PuLP, that optimum is the least by a list of *ranks*: cost, number of VMs, then
minus the VMs of the first type, of the second, and so on. Each is minimised in its turn, with the ranks before it fixed
at their optima. To a solver, 28.999999 is a whole number. If that changes an objective or a row by one, the solver can
trade it for a difference that matters: objectives of one rank have small coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ...core.bill import blocks_of
from ...core.errors import InputError, Issue, ModelRefusal
from ...core.quantities import MAX_SECONDS, as_written
from ...instances.streams.entries import MAX_JOB_TASKS, Job
from ...instances.streams.stream import Stream

LARGEST_PRICE = 2**27
"""Whole prices beyond which the programme refuses."""

_TOO_FINE = (
    "the integer programme cannot tell prices of so many digits apart; round them, or take the method dynamic-programme"
)


@dataclass(frozen=True, slots=True)
class TypeChoice:
    """A VM type that may be rented for a job.

    Attributes
    ----------
    name : str
        Of the type.
    price_usd_per_block : float
        p_it, read as the decimal that it is printed as.
    runtime_s : Fraction or None
        e_it, the average run time of a task; None if the type cannot run the application.
    """

    name: str
    price_usd_per_block: float
    runtime_s: Fraction | None

    @property
    def price(self) -> Fraction:
        """Price of a block in dollars, exactly as written."""
        return _as_written(self.price_usd_per_block)


# A catalogue has few prices, and each equation asks for all of them.
_as_written = lru_cache(as_written)


@dataclass(frozen=True, slots=True)
class SizingProblem:
    """A job for which VMs are to be created now.

    Attributes
    ----------
    n_tasks : int
        n, tasks that are left to run.
    available_s : int or Fraction
        d, from now to the deadline; not positive if that has passed.
    creation_overhead_s : int
        beta, from asking for a VM to its first task.
    block_s : int
        Theta, length of a paid block.
    types : tuple of TypeChoice
        The catalogue; its order decides between optima.

    Raises
    ------
    InputError
        With all that is wrong.
    """

    n_tasks: int
    available_s: int | Fraction
    creation_overhead_s: int
    block_s: int
    types: tuple[TypeChoice, ...]

    def __post_init__(self) -> None:
        issues = [
            Issue("", f"must be a whole number from {least:,} to {most:,}", name, value)
            for name, value, least, most in (
                ("n_tasks", self.n_tasks, 0, MAX_JOB_TASKS),
                ("creation_overhead_s", self.creation_overhead_s, 0, MAX_SECONDS),
                ("block_s", self.block_s, 1, MAX_SECONDS),
            )
            if not isinstance(value, int) or not least <= value <= most
        ]
        if not isinstance(self.available_s, int | Fraction) or not -MAX_SECONDS <= self.available_s <= MAX_SECONDS:
            rule = f"must be a whole number or a fraction from {-MAX_SECONDS:,} to {MAX_SECONDS:,}"
            issues.append(Issue("", rule, "available_s", self.available_s))
        names = [choice.name for choice in self.types]
        for index, choice in enumerate(self.types):
            where, price, runtime = f"types[{index}]", choice.price_usd_per_block, choice.runtime_s
            if choice.name in names[:index]:
                issues.append(Issue(where, "is there twice; give each type one name", "name", choice.name, choice.name))
            if not math.isfinite(price) or price < 0:
                issues.append(Issue(where, "must be a number >= 0", "price_usd_per_block", price, choice.name))
            if runtime is not None and runtime <= 0:
                rule = "must be greater than 0, or None for a type that cannot run the application"
                issues.append(Issue(where, rule, "runtime_s", float(runtime), choice.name))
        if issues:
            raise InputError("sizing problem", issues)


def problem_of_job(
    stream: Stream, job: Job, n_tasks: int | None = None, available_s: int | None = None
) -> SizingProblem:
    """Return the problem of a job at its submission, with its average run times, as if nothing were rented yet.

    Parameters
    ----------
    stream : Stream
        Where the job stands.
    job : Job
        The job.
    n_tasks, available_s : int, optional
        Instead of the job's tasks, and of the seconds from its submission to its deadline.

    Raises
    ------
    InputError
        If one of them is out of range.
    """
    averages = [(one, stream.average_s(job.application, one.name)) for one in stream.vm_types]
    return SizingProblem(
        n_tasks=job.n_tasks if n_tasks is None else n_tasks,
        available_s=job.deadline_s - job.submitted_s if available_s is None else available_s,
        creation_overhead_s=stream.creation_overhead_s,
        block_s=stream.block_s,
        types=tuple(TypeChoice(one.name, one.price_usd_per_block, average) for one, average in averages),
    )


def tasks_per_vm(problem: SizingProblem) -> tuple[int, ...]:
    """Number of tasks that a VM of each type finishes by the deadline (eq. 1).

    0 for a type that cannot finish one, because it is not ready in time, takes longer or cannot run the application.
    """
    left_s = max(problem.available_s - problem.creation_overhead_s, 0)
    return tuple(0 if choice.runtime_s is None else left_s // choice.runtime_s for choice in problem.types)


def tasks_finished(problem: SizingProblem, counts: Sequence[int]) -> int:
    """Number of tasks that VMs finish by the deadline (eq. 2)."""
    return sum(number * tasks for number, tasks in zip(counts, tasks_per_vm(problem), strict=True))


def all_tasks_finish(problem: SizingProblem, counts: Sequence[int]) -> bool:
    """True if VMs finish all tasks by the deadline (eq. 3)."""
    return tasks_finished(problem, counts) >= problem.n_tasks


def block_price_usd(problem: SizingProblem, counts: Sequence[int]) -> Fraction:
    """Price of one block of all VMs (eq. 4)."""
    prices = (number * choice.price for number, choice in zip(counts, problem.types, strict=True))
    return sum(prices, start=Fraction(0))


def paid_blocks(problem: SizingProblem) -> int:
    """Billed blocks of a VM in eq. 5: ``ceil(d / Theta)``, until the deadline."""
    return blocks_of(problem.available_s, problem.block_s)


def planning_cost_usd(problem: SizingProblem, counts: Sequence[int]) -> Fraction:
    """Cost of VMs that are all paid until the deadline (eq. 5): to plan with.

    If all tasks take their averages, the bill for the blocks that are started is no more.
    """
    return paid_blocks(problem) * block_price_usd(problem, counts)


@dataclass(frozen=True, slots=True)
class Covering:
    """Eq. 6 in whole numbers, without the types that finish no task.

    Attributes
    ----------
    n_tasks : int
        Tasks to be covered.
    positions : tuple of int
        Position of each type that is left in the catalogue.
    tasks : tuple of int
        What a VM covers, at least 1 and at most ``n_tasks``.
    prices : tuple of int
        Of a block, in the largest unit in which all are whole.
    """

    n_tasks: int
    positions: tuple[int, ...]
    tasks: tuple[int, ...]
    prices: tuple[int, ...]

    def covered(self, counts: Sequence[int]) -> bool:
        """True if VMs cover all tasks."""
        return sum(number * tasks for number, tasks in zip(counts, self.tasks, strict=True)) >= self.n_tasks

    def most_useful(self) -> tuple[int, ...]:
        """VMs of each type that cover all tasks alone: no optimum that is meant has more."""
        return tuple(-(-self.n_tasks // tasks) for tasks in self.tasks)

    def without_dominated(self) -> Covering:
        """Leave out types that no optimum that is meant rents, because another covers as much at no higher price.

        With the other in its place, all tasks are still covered, the cost is less, or the same with more of an earlier
        type.
        """
        retained: list[int] = []
        # Dominating types come first: the cheaper ones, of the same price those that cover more, then earlier ones. Of
        # the same price, an earlier type may still be kept after one that covers more.
        for i in sorted(range(len(self.tasks)), key=lambda i: (self.prices[i], -self.tasks[i], i)):
            dominated = any(
                self.tasks[j] >= self.tasks[i] and (self.prices[j] < self.prices[i] or j < i) for j in retained
            )
            if not dominated:
                retained.append(i)
        retained.sort()
        positions, tasks, prices = (
            tuple(values[i] for i in retained) for values in (self.positions, self.tasks, self.prices)
        )
        return Covering(self.n_tasks, positions, tasks, prices)

    def in_catalogue(self, counts: Sequence[int], n_types: int) -> tuple[int, ...]:
        """Counts of all types of the catalogue."""
        numbers = dict(zip(self.positions, counts, strict=True))
        return tuple(numbers.get(position, 0) for position in range(n_types))


def covering_of(problem: SizingProblem) -> Covering:
    """Eq. 6 of a problem in whole numbers.

    The factor ceil(d / Theta) is the same for all types, so it decides nothing and is left out.
    """
    finished = tasks_per_vm(problem)
    positions = tuple(position for position, tasks in enumerate(finished) if tasks > 0)
    prices = [problem.types[position].price for position in positions]
    unit = math.lcm(*(price.denominator for price in prices))
    whole = [int(price * unit) for price in prices]
    divisor = math.gcd(*whole) or 1
    return Covering(
        n_tasks=problem.n_tasks,
        positions=positions,
        tasks=tuple(min(finished[position], max(problem.n_tasks, 1)) for position in positions),
        prices=tuple(price // divisor for price in whole),
    )


def fastest_type(problem: SizingProblem) -> TypeChoice | None:
    """Type with the shortest run time, the cheaper of two, then the first; None if no type runs the application."""
    able = [choice for choice in problem.types if choice.runtime_s is not None]
    return min(able, key=lambda choice: (choice.runtime_s, choice.price), default=None)


def missing_s(problem: SizingProblem) -> int | None:
    """Seconds by which the deadline would have to be later for some type to finish a task; 0 if one does.

    None if no type runs the application. Where one task can be finished, all can: VMs are not limited.
    """
    fastest = fastest_type(problem)
    if fastest is None or fastest.runtime_s is None:
        return None
    return max(math.ceil(problem.creation_overhead_s + fastest.runtime_s - problem.available_s), 0)


@dataclass(frozen=True, slots=True)
class Objective:
    """Coefficients of the VMs of each type, and the value where it is known."""

    coefficients: tuple[int, ...]
    optimum: int | None = None

    def value(self, counts: Sequence[int]) -> int:
        """Value of counts."""
        return sum(number * cost for number, cost in zip(counts, self.coefficients, strict=True))


class SizingProgram:
    """Eq. 6 with one objective, as a PuLP problem: built, not solved.

    Attributes
    ----------
    problem : pulp.LpProblem
        For experts. Variables ``vms_0``, ``vms_1``, ... by position in the catalogue.
    variables : list of pulp.LpVariable
        In the order of the covering.

    Parameters
    ----------
    covering : Covering
        What is to be covered.
    most : sequence of int
        Upper limit of each count.
    objective : Objective
        To be minimised.
    fixed : sequence of Objective
        Ranks that keep their optima.
    """

    def __init__(
        self, covering: Covering, most: Sequence[int], objective: Objective, fixed: Sequence[Objective] = ()
    ) -> None:
        import pulp

        self.covering = covering
        self.fixed = tuple(fixed)
        self.problem = pulp.LpProblem("sizing", pulp.LpMinimize)
        self.variables = [
            self.problem.add_variable(f"vms_{position}", 0, limit, pulp.LpInteger)
            for position, limit in zip(covering.positions, most, strict=True)
        ]
        self.problem += self._sum(objective.coefficients), "cost"
        self.problem += self._sum(covering.tasks) >= covering.n_tasks, "tasks"
        for number, one in enumerate(fixed):
            self.problem += self._sum(one.coefficients) == one.optimum, f"optimum_{number}"

    def _sum(self, coefficients: Sequence[int]) -> Any:
        import pulp

        return pulp.LpAffineExpression(list(zip(self.variables, coefficients, strict=True)))

    def read_back(self) -> tuple[int, ...] | None:
        """Counts of the solution; None if there is none that keeps all rows in whole numbers."""
        values = [variable.value() for variable in self.variables]
        if any(value is None for value in values):
            return None
        # Whole within the tolerance of the solver only: rounded, the counts may miss a row that it took them to keep.
        counts = tuple(round(value) for value in values)
        exact = all(one.value(counts) == one.optimum for one in self.fixed)
        return counts if exact and min(counts, default=0) >= 0 and self.covering.covered(counts) else None


def ranks_of(covering: Covering) -> list[Objective]:
    """Cost, VMs, and minus the VMs of every type but the last, which the others decide.

    Raises
    ------
    ModelRefusal
        If the prices are too fine.
    """
    n_types, dearest = len(covering.tasks), max(covering.prices)
    if dearest > LARGEST_PRICE:
        raise ModelRefusal(f"{_TOO_FINE}: one is {dearest:,} times the unit that all are multiples of")
    of_types = [tuple(-int(i == k) for i in range(n_types)) for k in range(n_types - 1)]
    return [Objective(coefficients) for coefficients in (covering.prices, (1,) * n_types, *of_types)]


def inexact() -> ModelRefusal:
    """Refusal for counts that a solver takes for a solution, and that are none in whole numbers."""
    return ModelRefusal(_TOO_FINE)


def tightened(covering: Covering, most: Sequence[int], objective: Objective) -> tuple[int, ...]:
    """Upper limits of the counts of solutions whose objective is its optimum W.

    With u the least objective of a task, ``min_i w_i / a_i``, a solution of value W has
    ``sum_i (w_i - u a_i) x_i <= W - u n``, and every term is nonnegative: exact reduced costs.
    """
    assert objective.optimum is not None
    open_types = [i for i, limit in enumerate(most) if limit > 0]
    weights, tasks = objective.coefficients, covering.tasks
    if not open_types or min(weights[i] for i in open_types) < 0:
        return tuple(most)
    best = min(open_types, key=lambda i: Fraction(weights[i], tasks[i]))
    room = objective.optimum * tasks[best] - weights[best] * covering.n_tasks
    limits = list(most)
    for i in open_types:
        reduced = weights[i] * tasks[best] - weights[best] * tasks[i]
        if reduced > 0:
            limits[i] = min(limits[i], room // reduced)
    return tuple(limits)
