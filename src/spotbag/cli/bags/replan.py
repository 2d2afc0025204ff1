"""``spotbag replan``."""

from __future__ import annotations

import sys
from contextlib import nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Annotated

import typer

from ...core.processes import interruptible
from ..answers import Part
from ..arguments import (
    STANDARD_OUTPUT,
    InstanceArgument,
    InstanceOptions,
    JsonOption,
    MethodOptions,
    Only,
    PlanGanttOption,
    PlanOutOption,
    warn,
)
from ..progress import NO_FEASIBLE_PLAN, busy
from .solve import PlanFiles, Planned, print_result

if TYPE_CHECKING:
    from ...instances.instance import Instance
    from ...schedules.schedule import Schedule
    from ...schedules.state import State

EXAMPLE = "Example:  spotbag replan bag.json state.json --start plan.json --out next.json"

_ABSENT = MethodOptions(time_limit=0.05)


class _SinceThen(Part):
    """The moment of a state, and what was spent before it."""

    time_s: float
    spent_usd: float


class Replan(Planned, _SinceThen, kind="replan"):
    """``spotbag replan``: times and costs count from the moment of the state; before it, ``spent_usd`` was spent."""


def replan_command(
    instance: InstanceArgument,
    state: Annotated[
        str,
        typer.Argument(
            metavar="STATE", help="What has happened so far (JSON), or - for standard input.", show_default=False
        ),
    ],
    changes: InstanceOptions,
    planning: Annotated[MethodOptions, Only("method", "time_limit", "seed", "threads")] = _ABSENT,
    start: Annotated[
        str | None,
        typer.Option(
            "--start", metavar="PLAN", help="The plan that is being carried out (JSON): better plans in little time."
        ),
    ] = None,
    out: PlanOutOption = None,
    gantt: PlanGanttOption = None,
    as_json: JsonOption = False,
) -> None:
    """Plan what is left of a bag that is under way: from its state, within milliseconds.

    The times and the cost of the plan count from the moment of the state. Tasks that run stay where they run. Up to
    0.3 s it is a search that begins from --start; with more time, --method goes on from there. Exit code 0: there is a
    plan; 1: no feasible plan, with the reason; 2: bad input; 130: interrupted.
    """
    from ...schedules.state import State
    from ...solvers.bags.replan import LONG_S, replan
    from ...solvers.bags.warm_up import warm_up_replan

    files = PlanFiles(out, gantt)
    files.check(as_json, instance, state, start)
    method = planning.one_method()
    planning.warn_of_idle(method)
    problem = changes.load(instance)
    so_far = State.read(state)
    limit_s = 0.05 if planning.time_limit is None else planning.time_limit
    running = None if start is None else _running(start, problem, so_far)
    with interruptible():  # from here on there is an answer, which a signal asks for
        with busy(f"planning what is left of {problem.name}", limit_s):
            warm_up_replan()
            result = replan(
                problem,
                so_far,
                time_limit_s=limit_s,
                start=running,
                method=method,
                seed=planning.seed,
                threads=planning.threads,
            )
        if "--method" in planning.given(_ABSENT) and result.method == "search" and limit_s <= LONG_S:
            warn([f"--method changes nothing up to {LONG_S:g} s: the plan is the search's"])
        if result.interrupted:
            warn(["interrupted: this is the best plan so far"])
        warn(result.warnings)
        files.write(result)
        if as_json:
            Replan(time_s=so_far.time_s, spent_usd=so_far.spent_usd, **result.to_dict()).print_with_plan(result)
        else:
            with redirect_stdout(sys.stderr) if out == STANDARD_OUTPUT else nullcontext():
                print(
                    f"{problem.name} at {so_far.time_s:,g} s: {len(so_far.done):,} of {problem.n_tasks:,} tasks done, "
                    f"{len(so_far.running_ids):,} running, $ {so_far.spent_usd:.6f} spent; "
                    "times and costs count from now"
                )
                print_result(result, problem)
    if result.schedule is None:
        raise typer.Exit(NO_FEASIBLE_PLAN)


def _running(path: str, problem: Instance, state: State) -> Schedule:
    """Read the plan that is being carried out: of the bag, or of an earlier state of it, as one for what is left.

    Raises
    ------
    InputError
        If it has no place for a task that is left, or one that there is not.
    """
    import numpy as np

    from ...core.errors import InputError, Issue, input_error
    from ...core.text_files import source_name
    from ...instances.entries import BASELINE, NEVER
    from ...schedules.schedule import Schedule
    from ...schedules.schedule_files import another_instance, read_schedule_document, schedule_of_document

    document, source = read_schedule_document(path), source_name(path)
    remaining = state.remaining(problem)
    offers = {(offer.vm_type.name, offer.market): offer.index for offer in remaining.offers if offer.listed_as is None}
    names = tuple(vm.id for vm in document.vms)
    number = {name: index for index, name in enumerate(names)}
    rows = {row.id: (index, row) for index, row in enumerate(document.task_rows)}
    left = [name for name in remaining.task_ids if name not in rows]
    if len(left) == remaining.n_tasks:
        raise input_error(source, another_instance(document.instance, remaining, document.task_rows))
    issues = [Issue("tasks", f"has no place for the task {name!r}, which is left") for name in left[:3]]
    issues += [
        Issue(f"vms[{index}]", "is not offered by the instance", value=f"{vm.type} {vm.market}", item=vm.id)
        for index, vm in enumerate(document.vms)
        if (vm.type, vm.market) not in offers
    ]
    if len(number) < len(names):
        issues.append(Issue("vms", "two have the same id"))
    if issues:
        raise InputError(source, issues)
    placed = [rows[name] for name in remaining.task_ids]
    for group, (index, row) in zip(remaining.task_group.tolist(), placed, strict=True):
        vm = number.get(row.vm)
        offer = None if vm is None else remaining.offers[offers[document.vms[vm].type, document.vms[vm].market]]
        mode = BASELINE * (row.mode == "baseline")
        if (
            offer is None
            or row.core >= offer.vcpus
            or (row.mode and not offer.burstable)
            or remaining.duration_s[group, offer.index, mode] >= NEVER
        ):
            issues.append(Issue(f"tasks[{index}]", "is on a VM or core where it cannot run", "vm", row.vm, row.id))
    if issues:
        raise InputError(source, issues)
    begun = any(row.start_s < 0 for row in document.task_rows)
    if document.deadline_s == problem.deadline_s and len(document.task_rows) == problem.n_tasks and not begun:
        return schedule_of_document(document, problem, source)
    vm_offer = np.array([offers[vm.type, vm.market] for vm in document.vms], dtype=np.int64)
    entries = [(number[row.vm], row.core, row.start_s, row.mode == "baseline") for _, row in placed]
    task_vm, core, start_s, baseline = np.array(entries, dtype=np.int64).T
    return Schedule(remaining, vm_offer, task_vm, core, start_s, baseline.astype(bool), names)
