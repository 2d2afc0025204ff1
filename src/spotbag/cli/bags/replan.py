"""``spotbag replan``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from ...core.errors import input_error
from ...core.processes import interruptible
from ...core.text_files import source_name
from ..answers import Part
from ..arguments import InstanceOptions, MethodOptions
from ..console import busy, warn
from ..options import (
    Only,
    argument,
    duration_option,
    given_options,
    instance_argument,
    json_option,
    late_option,
    option,
)
from .solve import PlanFiles, Planned, exit_by_status, print_result

if TYPE_CHECKING:
    from ...instances.entries import RentalOffer
    from ...instances.instance import Instance
    from ...schedules.documents import ScheduleDocument
    from ...schedules.schedule import Schedule
    from ...schedules.state import State
    from ...solvers.bags.result import Result

EXAMPLE = "Example:  spotbag replan bag.json state.json --start plan.json --out next.json"

_ABSENT = MethodOptions(time_limit=0.05)


class _SinceThen(Part):
    """The moment of a state, and what was spent before it."""

    time_s: float
    spent_usd: float


class Replan(Planned, _SinceThen, kind="replan"):
    """``spotbag replan``: times and costs count from the moment of the state; before it, ``spent_usd`` was spent."""


def replan_command(
    *,
    instance: str = instance_argument(),
    state: str = argument(
        "STATE", "What has happened so far (JSON), or - for standard input; with --at, a trace.", file="read"
    ),
    at: float | None = duration_option("STATE is a trace, of a day or of a plan that was run: plan what is left then."),
    changes: InstanceOptions,
    planning: Annotated[MethodOptions, Only("method", "time_limit", "iterations", "seed", "threads")] = _ABSENT,
    start: str | None = option(
        "PLAN", "The plan that is being carried out (JSON): better plans in little time.", file="read"
    ),
    late: Literal["least"] | None = late_option(),
    files: Annotated[PlanFiles, Only("out", "gantt")],
    as_json: bool = json_option(),
) -> None:
    """Plan what is left of a bag that is under way, from its state.

    The times and the cost of the plan count from the moment of the state. Tasks that run stay where they run. Up to
    0.3 s it is a search that begins from --start; with more time, --method goes on from there. Exit code 0: there is a
    plan; 1: no feasible plan, with the reason; 2: bad input; 3: with --late, a plan that has tasks late; 130:
    interrupted.
    """
    from ...schedules.state import State

    files.check(as_json)
    planning.warn_of_idle(planning.one_method())
    problem = changes.load(instance, late)
    so_far = State.read(state) if at is None else _state_in_trace(state, at, problem)
    running = None if start is None else _read_running(start, problem, so_far)
    with interruptible():  # from here on there is an answer, which a signal asks for
        result = _replan(problem, so_far, running, planning)
        files.write(result)
        if as_json:
            Replan(time_s=so_far.time_s, spent_usd=so_far.spent_usd, **result.to_dict()).print_with_plan(result)
        else:
            with files.tables():
                print(
                    f"{problem.name} at {so_far.time_s:,g} s: {len(so_far.done):,} of {problem.n_tasks:,} tasks done, "
                    f"{len(so_far.running_ids):,} running, $ {so_far.spent_usd:.6f} spent; "
                    "times and costs count from now"
                )
                print_result(result, problem)
    exit_by_status(result)


def _state_in_trace(path: str, at_s: float, problem: Instance) -> State:
    """Return the state at a moment of a trace file, which has one trace of the bag."""
    from ...traces.bags.events import trace_state
    from ...traces.files import read_traces

    [trace, *others] = read_traces(path)
    if others:
        which = f"has {len(others) + 1} traces: one day under one policy has one"
        raise input_error(source_name(path), f"{which} ('spotbag replay ... --policy NAME --day K --trace FILE')")
    if trace.instance.get("name") != problem.name:
        raise input_error(source_name(path), f"is of {trace.instance.get('name')!r}, not of {problem.name!r}")
    found = trace_state(trace, at_s)
    unknown = [task for task in (*found.done, *found.running_ids) if task not in problem.task_index]
    if unknown:
        raise input_error(source_name(path), f"is of another bag {problem.name!r}, with a task {unknown[0]!r}")
    return found


def _read_running(path: str, problem: Instance, so_far: State) -> Schedule | None:
    from ...schedules.schedule_files import read_schedule_document

    return running_plan(read_schedule_document(path), source_name(path), problem, so_far)


def _replan(problem: Instance, so_far: State, running: Schedule | None, planning: MethodOptions) -> Result:
    """Plan the rest of a bag, and print the warnings of the plan."""
    from ...core.limits import ITERATIONS
    from ...solvers.bags.replan import LONG_S, replan
    from ...solvers.bags.warm_up import warm_up_replan

    limit_s = _ABSENT.time_limit if planning.time_limit is None else planning.time_limit
    assert limit_s is not None, "there is a limit if none is given"
    with busy(f"planning what is left of {problem.name}", limit_s):
        warm_up_replan()
        result = replan(
            problem,
            so_far,
            time_limit_s=limit_s,
            iterations=planning.iterations,
            start=running,
            method=planning.one_method(),
            seed=planning.seed,
            threads=planning.threads,
        )
    # In less time only the search comes to anything, whatever method is asked for.
    long = limit_s > LONG_S if planning.iterations is None else planning.iterations > LONG_S * ITERATIONS.second
    if "method" in given_options(planning, _ABSENT) and result.method == "search" and not long:
        warn([f"--method changes nothing up to {LONG_S:g} s: the plan is the search's"])
    warn(["interrupted: this is the best plan so far"] if result.interrupted else [])
    warn(result.warnings)
    return result


def running_plan(document: ScheduleDocument, source: str, problem: Instance, state: State) -> Schedule | None:
    """Return the plan that is being carried out as a start for planning anew; None if no remaining task fits it.

    It is but a hint: remaining tasks that it does not place, or places where they can no longer run, are left out.

    Parameters
    ----------
    document : ScheduleDocument
        The plan, of the whole bag or of an earlier state of it.
    source : str
        Its name in messages.
    problem : Instance
        The whole bag.
    state : State
        The present state.

    Raises
    ------
    InputError
        If it is a plan of another instance, or no plan.
    """
    import numpy as np

    from ...schedules.events import TaskWithdrawn
    from ...schedules.schedule import Schedule
    from ...schedules.schedule_files import another_instance, schedule_of_document

    if not any(row.id in problem.task_index for row in document.task_rows):
        raise input_error(source, another_instance(document.instance, problem, document.task_rows))
    remaining = state.remaining(problem)
    slot_cores = remaining.slots.cores
    offers = {(offer.vm_type.name, offer.market): offer for offer in remaining.offers if offer.listed_as is None}
    vms = {vm.id: offers[vm.type, vm.market] for vm in document.vms if (vm.type, vm.market) in offers}
    # VMs of types or markets that the bag no longer has are gone, with what would run on them.
    rows = {row.id: row for row in document.task_rows if row.vm in vms}
    groups = zip(remaining.task_ids, remaining.task_group.tolist(), strict=True)
    unplaced = [
        name
        for name, group in groups
        if name not in rows or not _can_run(remaining, group, rows[name], vms[rows[name].vm])
    ]
    if len(unplaced) == remaining.n_tasks:
        return None
    # What the bag no longer has, or cannot run where it was, is taken out of it: the plan of the rest is a hint.
    begun = any(row.start_s < 0 for row in document.task_rows)
    whole = document.deadline_s == problem.deadline_s and len(document.task_rows) == problem.n_tasks
    if whole and not unplaced and not begun:
        return schedule_of_document(document, problem, source)
    fits = state.advance(state.time_s, *map(TaskWithdrawn, unplaced)).remaining(problem)
    number = {name: index for index, name in enumerate(vms)}
    placed = [rows[name] for name in fits.task_ids]
    entries = [(number[row.vm], row.core // slot_cores, row.start_s, row.mode == "baseline") for row in placed]
    task_vm, core, start_s, baseline = np.array(entries, dtype=np.int64).T
    vm_offer = [offer.index for offer in vms.values()]
    return Schedule(fits, np.array(vm_offer), task_vm, core, start_s, baseline.astype(bool), tuple(vms))


def _can_run(remaining: Instance, group: int, row: Any, offer: RentalOffer) -> bool:
    """Tell if a remaining task can run where a plan places it."""
    from ...instances.entries import BASELINE, NEVER

    if row.core // remaining.slots.cores >= offer.vcpus or (row.mode and not offer.burstable):
        return False
    # Never where its memory or cores no longer fit, or where the bag has forbidden the market to it.
    return bool(remaining.duration_s[group, offer.index, BASELINE * (row.mode == "baseline")] < NEVER)
