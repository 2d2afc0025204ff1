"""Number of VMs of each type for a job: the optimum of eq. 6, and how its billed blocks are used."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from ...bounds.programme import own_scheduler
from ...core.errors import SpotbagError
from ...core.quantities import plain
from ...core.wording import counted
from ...instances.entries import NEVER
from ...models.streams.sizing import (
    Covering,
    Objective,
    SizingProblem,
    SizingProgram,
    all_tasks_finish,
    covering_of,
    fastest_type,
    inexact,
    missing_s,
    paid_blocks,
    planning_cost_usd,
    ranks_of,
    tasks_per_vm,
    tightened,
)

SizingMethod: TypeAlias = Literal["milp", "dynamic-programme"]
SizingStatus: TypeAlias = Literal["optimal", "feasible", "infeasible"]

SIZING_METHODS: tuple[SizingMethod, ...] = ("milp", "dynamic-programme")

MOST_EARLIER_ENDS = 100
"""Ends of blocks that `earlier_and_cheaper` looks at."""


@dataclass(frozen=True, slots=True)
class VmUse:
    """VMs of a type that run as many tasks.

    Attributes
    ----------
    vm_type : str
        The type.
    vms, tasks_each : int
        How many VMs, and tasks of each.
    runs_s : float
        From asking for a VM to the end of its last task: ``beta + tasks_each e``.
    full_blocks : int
        Paid blocks that are used from end to end; creating the VM counts as use.
    last_block_use : float
        Used part of the block after those, in which the last task ends; 0 if it ends with a block.
    idle_blocks : int
        Blocks after that one: eq. 5 charges them, and nothing happens in them.
    """

    vm_type: str
    vms: int
    tasks_each: int
    runs_s: float
    full_blocks: int
    last_block_use: float
    idle_blocks: int

    @property
    def started_blocks(self) -> int:
        """Number of blocks begun by the end of the last task."""
        return self.full_blocks + (self.last_block_use > 0)

    @property
    def block_use(self) -> list[float]:
        """Used part of each block that eq. 5 charges, 0 to 1."""
        last = [self.last_block_use] if self.last_block_use else []
        return [1.0] * self.full_blocks + last + [0.0] * self.idle_blocks


@dataclass(frozen=True, slots=True)
class Sizing:
    """VMs to be created for a job.

    Attributes
    ----------
    status : str
        ``optimal``: no counts are cheaper, nor as cheap with fewer VMs; ``feasible``: all tasks finish, and time
        was up before that was proved; ``infeasible``: no type finishes a task by the deadline.
    method : str
        ``milp`` or ``dynamic-programme``.
    reasons : tuple of str
        Why it is infeasible and what would help, and which types were left out for what reason.
    counts : dict of str to int
        VMs of each type, in the order of the catalogue.
    tasks_per_vm : dict of str to int
        Tasks that a VM of each type finishes in time (eq. 1).
    paid_blocks : int
        Blocks of each VM that eq. 5 charges: until the deadline.
    cost_usd : float
        Eq. 5: a cost to plan with, which charges every VM until the deadline.
    started_cost_usd : float
        Cost if only blocks are charged that have begun when the last task of their VM ends.
    uses : tuple of VmUse
        How long the VMs run if the tasks are spread so that all are done as early as possible.
    missing_s : int or None
        Seconds by which the deadline would have to be later, 0 if it is late enough; None if no type runs the
        application.
    fastest : str or None
        Type with the shortest run time, for those who must create one even if it is late.
    runtime_s : float
        Time that solving took.
    """

    status: SizingStatus
    method: SizingMethod
    reasons: tuple[str, ...]
    counts: dict[str, int]
    tasks_per_vm: dict[str, int]
    paid_blocks: int
    cost_usd: float
    started_cost_usd: float
    uses: tuple[VmUse, ...]
    missing_s: int | None
    fastest: str | None
    runtime_s: float = field(compare=False)

    @property
    def n_vms(self) -> int:
        """VMs of all types."""
        return sum(self.counts.values())


def size_job(problem: SizingProblem, method: SizingMethod = "milp", time_limit_s: float | None = None) -> Sizing:
    """Find the VMs of eq. 6: least planning cost, then fewest VMs, then most of the first types.

    Parameters
    ----------
    problem : SizingProblem
        The job.
    method : {"milp", "dynamic-programme"}
        An integer programme solved with HiGHS, or a dynamic programme. Both give the same counts.
    time_limit_s : float, optional
        For the integer programme; the dynamic programme takes milliseconds.

    Returns
    -------
    Sizing
        Its cost is that of eq. 5, which charges until the deadline; bills count the blocks that were started.

    Raises
    ------
    ModelRefusal
        If the prices have too many digits for the integer programme.
    """
    if method not in SIZING_METHODS:
        raise SpotbagError(f"method {method!r} is unknown; there are {' and '.join(SIZING_METHODS)}")
    began = time.perf_counter()
    status: SizingStatus = "optimal"
    counts: tuple[int, ...] | None
    if method == "milp" and problem.n_tasks:
        covering = covering_of(problem).without_dominated()
        counts = None
        if covering.tasks:
            of_covering, proved = _solve_program(covering, time_limit_s)
            counts = covering.in_catalogue(of_covering, len(problem.types))
            status = "optimal" if proved else "feasible"
    else:
        counts = vms_of_job(problem)
    if counts is None:
        status, counts = "infeasible", (0,) * len(problem.types)
    return _sizing(problem, method, status, counts, time.perf_counter() - began)


def vms_of_job(problem: SizingProblem) -> tuple[int, ...] | None:
    """Return the VMs of each type that eq. 6 asks for, by the dynamic programme; None if none can finish in time."""
    covering = covering_of(problem)
    if problem.n_tasks and not covering.tasks:
        return None
    return covering.in_catalogue(cheapest_counts(covering), len(problem.types))


def earlier_and_cheaper(problem: SizingProblem, sizing: Sizing) -> tuple[int, Sizing] | None:
    """Find an earlier end of a block by which the job costs less: eq. 5 pays every VM until the deadline.

    Parameters
    ----------
    problem : SizingProblem
        The job.
    sizing : Sizing
        What it needs by its deadline.

    Returns
    -------
    (int, Sizing) or None
        Seconds from now to the cheapest of the ends of the first `MOST_EARLIER_ENDS` blocks, the latest of equals; None
        if none of them is cheaper.
    """
    if sizing.status == "infeasible":
        return None
    best: tuple[int, Sizing] | None = None
    for block in range(1, min(sizing.paid_blocks, MOST_EARLIER_ENDS + 1)):
        earlier_s = block * problem.block_s
        found = size_job(replace(problem, available_s=earlier_s), method="dynamic-programme")
        least_usd = sizing.cost_usd if best is None else best[1].cost_usd
        if found.status == "optimal" and (found.cost_usd < least_usd or (best and found.cost_usd == least_usd)):
            best = earlier_s, found
    return best


def _solve_program(covering: Covering, time_limit_s: float | None) -> tuple[tuple[int, ...], bool]:
    """Counts by HiGHS, and whether they are proved to be those that are meant."""
    until = None if time_limit_s is None else time.perf_counter() + time_limit_s
    most = covering.most_useful()
    cheapest = min(range(len(most)), key=lambda i: most[i] * covering.prices[i])
    counts = tuple(number if i == cheapest else 0 for i, number in enumerate(most))
    fixed: list[Objective] = []
    for rank in ranks_of(covering):
        if not any(cost and limit for cost, limit in zip(rank.coefficients, most, strict=True)):
            continue  # limits leave no choice
        left = None if until is None else until - time.perf_counter()
        if left is not None and left <= 0:
            return counts, False
        program = SizingProgram(covering, most, rank, fixed)
        proved = _minimise(program, left)
        found = program.read_back()
        if found is not None and rank.value(found) <= rank.value(counts):
            counts = found
        elif proved:
            raise inexact()
        if not proved:
            if until is None:  # nothing but its tolerances can have stopped it
                raise inexact()
            return counts, False
        fixed.append(Objective(rank.coefficients, rank.value(counts)))
        most = tightened(covering, most, fixed[-1])
    return counts, True


def _minimise(program: SizingProgram, time_limit_s: float | None) -> bool:
    """Solve with HiGHS in this process; say whether the optimum was proved."""
    import pulp

    own_scheduler()
    solver = pulp.HiGHS(
        msg=False,
        threads=1,
        gapRel=0.0,
        gapAbs=0.0,
        timeLimit=time_limit_s,
        mip_feasibility_tolerance=1e-9,
        mip_heuristic_run_feasibility_jump=False,  # for few types it takes far longer than all the rest
    )
    program.problem.solve(solver)
    proved: bool = program.problem.sol_status == pulp.LpSolutionOptimal
    return proved


def _sizing(
    problem: SizingProblem, method: SizingMethod, status: SizingStatus, counts: tuple[int, ...], seconds: float
) -> Sizing:
    """Sizing of counts in the order of the catalogue, which must satisfy eq. 3 exactly, whatever a solver tolerates."""
    if status != "infeasible" and not all_tasks_finish(problem, counts):
        raise SpotbagError(f"method {method} leaves tasks that do not finish by the deadline; please report this")
    names = [choice.name for choice in problem.types]
    uses = tuple(_uses(problem, counts)) if status != "infeasible" else ()
    prices = {choice.name: choice.price for choice in problem.types}
    started = sum((use.vms * use.started_blocks * prices[use.vm_type] for use in uses), start=Fraction(0))
    fastest = fastest_type(problem)
    return Sizing(
        status=status,
        method=method,
        reasons=tuple(_reasons(problem, status)),
        counts=dict(zip(names, counts, strict=True)),
        tasks_per_vm=dict(zip(names, tasks_per_vm(problem), strict=True)),
        paid_blocks=paid_blocks(problem),
        cost_usd=float(planning_cost_usd(problem, counts)),
        started_cost_usd=float(started),
        uses=uses,
        missing_s=missing_s(problem),
        fastest=None if fastest is None else fastest.name,
        runtime_s=seconds,
    )


def _reasons(problem: SizingProblem, status: SizingStatus) -> list[str]:
    """Why there is no answer, and why types are left out."""
    reasons = []
    left_s = problem.available_s - problem.creation_overhead_s
    fastest, missing = fastest_type(problem), missing_s(problem)
    if status == "infeasible" and (fastest is None or fastest.runtime_s is None):
        return ["no type can run the application, whatever the deadline; give the run time of a task on some type"]
    if status == "infeasible" and fastest is not None and fastest.runtime_s is not None:
        if left_s <= 0:
            cause = (
                f"no VM is ready before the deadline: it is {plain(problem.available_s):,} s away, and creating one "
                f"takes {problem.creation_overhead_s:,} s"
            )
        else:
            cause = (
                f"no type finishes a task by the deadline: {plain(left_s):,} s are left when a VM is ready, and a task "
                f"takes {_seconds(fastest.runtime_s)} s on the fastest type, {fastest.name}"
            )
        reasons.append(f"{cause}; the deadline would have to be at least {missing:,} s later")
    if problem.n_tasks == 0:
        reasons.append("no tasks are left: nothing is to be rented")
    for choice in problem.types:
        if choice.runtime_s is None:
            reasons.append(f"{choice.name} is left out: it cannot run the application")
        elif status != "infeasible" and choice.runtime_s > max(left_s, 0) and problem.n_tasks:
            reasons.append(
                f"{choice.name} is left out: a task takes {_seconds(choice.runtime_s)} s, and "
                f"{counted(max(math.floor(left_s), 0), 'second')} are left when a VM is ready"
            )
    return reasons


def _seconds(value: Fraction) -> str:
    """Seconds for a message: whole ones as they are, others with up to three decimals."""
    return f"{float(value):,.3f}".rstrip("0").rstrip(".")


def _uses(problem: SizingProblem, counts: tuple[int, ...]) -> list[VmUse]:
    """VMs by what they run if all tasks are done as early as possible.

    The tasks are the n earliest places for one: the k-th task of a VM ends k e after it is ready. Among places
    that end at the same time, the first types take the task.
    """
    rented = [(choice, number) for choice, number in zip(problem.types, counts, strict=True) if number]
    loads = _even_loads(problem, [(choice.runtime_s or Fraction(0), number) for choice, number in rented])
    uses = []
    for (choice, _), of_type in zip(rented, loads, strict=True):
        for vms, tasks in of_type:
            runs = problem.creation_overhead_s + tasks * (choice.runtime_s or Fraction(0))
            full, rest = divmod(runs, problem.block_s)
            uses.append(
                VmUse(
                    vm_type=choice.name,
                    vms=vms,
                    tasks_each=tasks,
                    runs_s=float(runs),
                    full_blocks=full,
                    last_block_use=float(Fraction(rest) / problem.block_s),
                    idle_blocks=paid_blocks(problem) - full - (rest > 0),
                )
            )
    return uses


def _even_loads(problem: SizingProblem, rented: list[tuple[Fraction, int]]) -> list[list[tuple[int, int]]]:
    """VMs of each rented type (run time, VMs) with their tasks, the longer ones first."""
    scale = math.lcm(*(runtime.denominator for runtime, _ in rented))
    whole = [(int(runtime * scale), number) for runtime, number in rented]
    # In whole units of time, as exact as fractions and far quicker: halving asks for all types again and again.
    low, high = 0, math.floor((problem.available_s - problem.creation_overhead_s) * scale)
    while rented and high - low > 1:  # all tasks are done by high, and not by low
        middle = (low + high) // 2
        done = sum(number * (middle // runtime) for runtime, number in whole)
        low, high = (low, middle) if done >= problem.n_tasks else (middle, high)
    left = problem.n_tasks - sum(number * ((high - 1) // runtime) for runtime, number in whole)
    loads = []
    for runtime, number in whole:
        before = (high - 1) // runtime
        more = min(number, left) if high % runtime == 0 else 0
        left -= more
        loads.append([(some, tasks) for some, tasks in ((more, before + 1), (number - more, before)) if some])
    return loads


def cheapest_counts(covering: Covering) -> tuple[int, ...]:
    """Counts of the optimum that is meant: least cost, fewest VMs, most of the first types.

    Parameters
    ----------
    covering : Covering
        With at least one type, unless there are no tasks.
    """
    counts = [0] * len(covering.tasks)
    if covering.n_tasks == 0:
        return tuple(counts)
    weights = _weights(covering)
    least = _least_weights(covering, weights)
    left, position = covering.n_tasks, 0
    while left > 0:
        after = max(left - covering.tasks[position], 0)
        # Of all optima the one with most VMs of the first types: go on to the next type only when none has one more.
        if int(least[left]) == weights[position] + int(least[after]):
            counts[position] += 1
            left = after
        else:
            position += 1
    return tuple(counts)


def _weights(covering: Covering) -> list[int]:
    """Price and one VM of each type as one number."""
    more_than_any_count = max(covering.most_useful()) + 1
    return [price * more_than_any_count + 1 for price in covering.prices]


def _least_weights(covering: Covering, weights: list[int]) -> Any:
    """f(0), f(1), ..., f(n)."""
    n_tasks = covering.n_tasks
    order = sorted(range(len(weights)), key=lambda i: (Fraction(weights[i], covering.tasks[i]), i))
    best = order[0]
    heaviest = (n_tasks // covering.tasks[best] + 1) * weights[best] + max(weights) * (n_tasks + 1)
    # Prices of many digits: Python's own integers, slower and just as exact.
    kind: Any = np.int64 if heaviest < NEVER else object
    least = -(-np.arange(n_tasks + 1, dtype=kind) // covering.tasks[best]) * weights[best]
    for i in order[1:]:
        if least[covering.tasks[i]] > weights[i]:
            least[1:] = _with_one_more_type(least[1:], covering.tasks[i], weights[i])
    return least


def _with_one_more_type(least: Any, tasks: int, weight: int) -> Any:
    """f(1), ..., f(n) with one more type."""
    rows = -(-len(least) // tasks)
    table = np.empty((rows + 1) * tasks, dtype=least.dtype)
    table[:tasks] = 0  # nothing is left to be covered
    table[tasks : tasks + len(least)] = least
    table[tasks + len(least) :] = least[-1]
    by_rows = table.reshape(rows + 1, tasks)
    added = np.arange(rows + 1, dtype=least.dtype)[:, None] * weight
    by_rows -= added
    np.minimum.accumulate(by_rows, axis=0, out=by_rows)
    by_rows += added
    return table[tasks : tasks + len(least)]
