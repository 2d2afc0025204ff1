"""Planning a bag as the command line says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.errors import input_error
from ..arguments import InstanceOptions, MethodOptions
from ..console import progress, seconds

if TYPE_CHECKING:
    from ...instances.instance import Instance
    from ...schedules.documents import ScheduleDocument
    from ...schedules.schedule import Schedule
    from ...solvers.bags.result import Result


VERDICTS = {"survives": "yes", "does-not-survive": "no", "not-shown": "not shown"}
"""Verdicts on survival as the cells of tables have them."""


def plan_by(problem: Instance, planning: MethodOptions, near_least: float | None = None) -> Result:
    """Plan an instance by the method, and within the limits, that the command line gives; see `solve`."""
    from ...heuristics.bags.d_spot import with_d_spot
    from ...solvers.bags.solve import solve

    method, options = planning.one_method(), planning.options
    planning.warn_of_idle(method)
    start = None
    if planning.initial is not None:
        from ...schedules.schedule_files import read_schedule

        start = read_schedule(planning.initial, with_d_spot(problem))
    with progress(f"planning {problem.name} by {method}", planning.time_limit) as show:
        return solve(
            problem,
            method,
            time_limit_s=planning.time_limit,
            iterations=planning.iterations,
            target_gap=planning.target_gap,
            seed=planning.seed,
            threads=planning.threads,
            initial=start,
            options=options,
            on_progress=show,
            near_least=near_least,
        )


def schedule_by_instance(
    document: ScheduleDocument, instance: str, source: str, changes: InstanceOptions, state: str | None = None
) -> Schedule:
    """Derive a plan from its instance, with the time limits that it was made for unless the command line has others.

    With a state, it is a plan for what that leaves of the instance.
    """
    from ...heuristics.bags.d_spot import with_d_spot
    from ...schedules.schedule_files import another_instance, schedule_of_document

    problem = changes.load(instance, None if document.late is None else "least")
    if state is not None:
        from ...schedules.state import State

        problem = State.read(state).remaining(problem)
    if document.instance != problem.name and {row.id for row in document.task_rows}.isdisjoint(problem.task_ids):
        raise input_error(source, another_instance(document.instance, problem, document.task_rows))
    limits: dict[str, Any] = {}
    if changes.deadline is None and document.deadline_s is not None and document.deadline_s >= 1:
        limits["deadline_s"] = document.deadline_s
    if changes.d_spot is None and document.d_spot_s is not None and document.d_spot_s >= 0:
        limits["d_spot_s"] = min(document.d_spot_s, limits.get("deadline_s", problem.deadline_s))
    return schedule_of_document(document, with_d_spot(problem.replace(**limits)), source)


def schedule_or_none(
    document: ScheduleDocument, instance: str | None, source: str, changes: InstanceOptions, state: str | None = None
) -> Schedule | None:
    """Derive a plan from the instance that is named, or else a library instance of its name; None if there is none."""
    from ...instances.library import library_names

    if instance is None and document.instance not in library_names():
        return None
    return schedule_by_instance(document, instance or document.instance, source, changes, state)


def d_spot_text(given: Instance, d_spot_s: int, by_paper: bool, deadline_s: int | None = None) -> str:
    """Return D_spot in words, with its source: the instance, the rule of the paper, the deadline, or survival.

    Of what a state leaves, ``deadline_s`` is the deadline, whose times count from the moment of the state.
    """
    chosen = "the deadline" if d_spot_s == (deadline_s or given.deadline_s) else "chosen so that the plan survives"
    source = (
        "given" if given.d_spot_s is not None else "by the rule of HADS" if by_paper and not given.machines else chosen
    )
    return f"{seconds(d_spot_s)} s ({source})"
