"""Keeping the best plans known for the library instances: an entry is replaced only by a better one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from ...audits.bags.plan import check
from ...core.errors import SpotbagError
from ...core.limits import Stop
from ...core.quantities import REORDERED
from ...core.text_files import write_text
from ...heuristics.bags.d_spot import with_d_spot
from ...instances.bags.best_known import (
    BestKnown,
    best_known,
    best_known_path,
    best_known_plan_path,
    bound_closes_gap,
    bound_contradicts,
    format_best_known,
)
from ...instances.instance import Instance
from ...instances.library import library_instance
from ...schedules.schedule import Schedule
from ...schedules.schedule_files import read_schedule, write_schedule
from ...solvers.bags.result import Result
from ...solvers.bags.solve import solve

MOST_TASKS_OF_A_PLAN = 1000
"""Plans of larger bags are not kept: the package stays small."""

_Plan: TypeAlias = tuple[float, float, int, str]
"""Objective, cost and makespan of a plan, and the method that made it."""
Change: TypeAlias = Literal["new", "better plan", "better bound", "better plan and bound", "none", "no plan", "error"]


@dataclass(frozen=True, slots=True)
class Update:
    """Change of an entry by a new run on its instance.

    Attributes
    ----------
    instance : str
        Name of the library instance.
    before, after : BestKnown or None
        The entry; None if there is none.
    change : str
        What became better; ``none`` if nothing did. With ``no plan`` and ``error`` the entry is left alone.
    message : str
        Why there is no plan, or what contradicts what.
    runtime_s : float
        Time of solving.
    interrupted : bool
        Whether the user ended it.
    """

    instance: str
    before: BestKnown | None
    after: BestKnown | None
    change: Change
    message: str = ""
    runtime_s: float = 0.0
    interrupted: bool = False


def update_best_known(
    names: Iterable[str],
    *,
    version: str,
    method: str = "auto",
    time_limit_s: float | None = 60.0,
    seed: int = 0,
    file: str | os.PathLike[str] | None = None,
    stop: Stop | None = None,
) -> Iterator[Update]:
    """Solve library instances again, from their best plans, and keep what is better; one update for each.

    The file is written after each change, so that an interrupt loses nothing. The plan is written before the entry:
    if only that happens, the stored plan is better than its entry says, which the next update puts right.

    Parameters
    ----------
    names : iterable of str
        Library instances.
    version : str
        Version of spotbag, for the entries that change.
    method : str
        One of `spotbag.solvers.bags.methods.METHODS`.
    time_limit_s : float, optional
        For each instance.
    seed : int
        Of the random numbers.
    file : path, optional
        Where the entries are; the file of the package if absent. A file that does not exist begins empty.
    stop : Stop, optional
        See `spotbag.solve`: the update that it cuts short is the last.

    Raises
    ------
    InputError
        If the file, or a name, is wrong.
    """
    path = best_known_path() if file is None else Path(file)
    entries = best_known(path) if path.exists() else {}
    for name in names:
        before = entries.get(name)
        instance = with_d_spot(library_instance(name))
        try:
            start = stored_plan(instance, before, path)
            result = solve(instance, method, time_limit_s=time_limit_s, seed=seed, initial=start, stop=stop)
            after = better_entry(before, result, version)
        except SpotbagError as error:  # also a refusal of the method
            yield Update(name, before, before, "error", str(error))
            continue
        change = _change(before, after)
        if after is not None and change != "none":
            if result.schedule is not None and (before is None or after.value < before.value):
                _write_plan(result.schedule, after, path)
            entries[name] = after
            write_text(path, format_best_known(entries.values()))
        yield Update(name, before, after, change, result.message, result.runtime_s, result.interrupted)
        if result.interrupted:
            return


def better_entry(before: BestKnown | None, result: Result, version: str) -> BestKnown | None:
    """Return the entry with what the result has better: a smaller value, a larger bound; the same entry if nothing.

    Parameters
    ----------
    before : BestKnown or None
        The entry so far.
    result : Result
        Of the library instance, under its own objective.
    version : str
        Version of spotbag, for an entry that changes.

    Raises
    ------
    SpotbagError
        If a plan breaks a rule or a bound is above a value: then something is wrong, and no entry is made of it.
    """
    plan = None if before is None else (before.value, before.cost_usd, before.makespan_s, before.method)
    if result.schedule is not None and (before is None or _smaller(result.schedule.objective, before.value)):
        plan = _checked_plan(result, result.schedule)
    if plan is None:
        return None
    value, cost_usd, makespan_s, method = plan
    # Whatever a plan costs, it is not less than nothing.
    bound, bound_method = (0.0, result.method) if before is None else (before.bound, before.bound_method)
    of_all = result.bound_of_all
    if of_all is not None and (before is None or _smaller(bound, of_all)):
        bound, bound_method = max(of_all, bound), result.method
    if bound_contradicts(value, bound):
        raise SpotbagError(
            f"{result.instance.name}: the bound {bound:.12g} of {bound_method} is above the plan of {method}, "
            f"{value:.12g}; one of them is wrong, please report this"
        )
    entry = BestKnown(
        instance=result.instance.name,
        value=value,
        bound=min(bound, value),  # above it by rounding only
        status="optimal" if bound_closes_gap(value, bound) else "feasible",
        cost_usd=cost_usd,
        makespan_s=makespan_s,
        method=method,
        bound_method=bound_method,
        version=version,
    )
    return before if before is not None and _change(before, entry) == "none" else entry


def stored_plan(
    instance: Instance, entry: BestKnown | None, file: str | os.PathLike[str] | None = None
) -> Schedule | None:
    """Read the best plan of a library instance, if it is kept.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    entry : BestKnown or None
        Its entry.
    file : path, optional
        Where the entries are; the file of the package if absent.

    Raises
    ------
    SpotbagError
        If the plan is not feasible for the instance, or worse than its entry says.
    """
    path = best_known_plan_path(instance.name, file)
    if entry is None or not path.exists():
        return None
    plan = read_schedule(path, instance)
    report = check(instance, plan)
    if not report.feasible:
        raise SpotbagError(
            f"{path}: the plan breaks a rule of {instance.name}: {report.violations[0]}; remove its entry to begin anew"
        )
    if _smaller(entry.value, report.objective):
        raise SpotbagError(
            f"{path}: the plan has an objective of {report.objective:.12g}, its entry says {entry.value:.12g}; "
            "remove the entry to begin anew"
        )
    return plan


def _checked_plan(result: Result, schedule: Schedule) -> _Plan:
    """Return the figures of a plan, after its check by the independent checker."""
    report = check(result.instance, schedule)
    if not report.feasible:
        raise SpotbagError(
            f"{result.method} made a plan that breaks a rule; please report this: {report.violations[0]}"
        )
    return schedule.objective, schedule.cost_usd, schedule.makespan_s, result.method


def _smaller(one: float, other: float) -> bool:
    """True if a number is smaller by more than the noise of another order of summation."""
    return other - one > REORDERED * abs(one)


def _change(before: BestKnown | None, after: BestKnown | None) -> Change:
    if after is None:
        return "no plan"
    if before is None:
        return "new"
    plan, bound = _smaller(after.value, before.value), _smaller(before.bound, after.bound)
    if plan and bound:
        return "better plan and bound"
    return "better plan" if plan else "better bound" if bound else "none"


def _write_plan(schedule: Schedule, entry: BestKnown, file: Path) -> None:
    """Keep the plan of a bag that is not too large, beside the entries."""
    path = best_known_plan_path(entry.instance, file)
    if schedule.instance.n_tasks <= MOST_TASKS_OF_A_PLAN:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_schedule(schedule, path, entry.method)
