"""The report on a plan."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...audits.bags.plan import CLAIMS, CheckReport, check
from ...bounds.bags.lower_bounds import LowerBound, lower_bounds
from ...charts.bags.plan import plan_chart
from ...core.limits import within
from ...core.quantities import closes_gap, relative_gap
from ...core.text_tables import Table, number, table_of, words
from ...core.wording import counted
from ...heuristics.bags.d_spot import with_d_spot
from ...instances.bags.best_known import BestKnown, best_known
from ...instances.instance import Instance
from ...instances.library import library_instance
from ...schedules.documents import Rescue, ScheduleDocument
from ...schedules.plan_text import checked_lines, goal_text, rented_table
from ...schedules.schedule import Schedule
from ...solvers.bags.result import STATUS_MEANINGS
from ..page import Block, Facts, Listing, Paragraph, Report, Section

BOUNDS_WITHIN_S = 20.0
"""Time that the bounds may take."""


def plan_report(
    schedule: Schedule, document: ScheduleDocument, version: str, answer: Mapping[str, Any] | None = None
) -> Report:
    """Report on a plan: what it costs and how far that is from the least, what it rents and runs, what it survives.

    Parameters
    ----------
    schedule : Schedule
        The plan, as its instance has it.
    document : ScheduleDocument
        The plan, as it was written.
    version : str
        Of spotbag, which judges it.
    answer : mapping, optional
        What ``spotbag solve --json`` has printed of it.
    """
    instance = schedule.instance
    checked = check(instance, document)
    method = document.method or (answer or {}).get("method")
    with within(BOUNDS_WITHIN_S):
        bounds = lower_bounds(instance)
    maker = method if _can_be_run(checked) else "NOT FEASIBLE"
    size = f"{counted(instance.n_tasks, 'task')} on {counted(len(schedule.vm_ids), 'VM')}"
    return Report(
        f"Plan for {instance.name}",
        f"{size}{f', by {method}' if method else ''}; judged by spotbag {version}",
        [
            Section("The plan", [*_verdict(checked), Facts(_facts(schedule, checked, bounds, answer))]),
            Section("Gantt chart", [plan_chart(schedule, maker, document.survival)]),
            Section("VMs and bill", [Listing("By offer", rented_table(schedule)), Listing("VM by VM", _vms(schedule))]),
            Section("What it survives", _survival(checked)),
            Section("How good it can be", [Listing("Lower bounds, which no plan can beat", _bounds(bounds))]),
            Section("Tasks", [Listing("", _tasks(schedule))]),
        ],
    )


def _can_be_run(checked: CheckReport) -> bool:
    """True if the plan breaks no rule but claims of its own, such as its cost."""
    return {broken.rule for broken in checked.violations} <= CLAIMS


def _verdict(checked: CheckReport) -> list[Block]:
    """The violations found by the checker in the plan, if any."""
    if not checked.violations:
        return []
    columns = words("rule"), number("amount", form="g"), words("unit"), words("what", "message")
    text = "is not what it claims" if _can_be_run(checked) else "is not feasible"
    return [
        Paragraph(f"The checker says that the plan {text}.", True),
        Listing("Broken rules", table_of(checked.violations, *columns)),
    ]


def _facts(
    schedule: Schedule, checked: CheckReport, bounds: Sequence[LowerBound], answer: Mapping[str, Any] | None
) -> list[tuple[str, str]]:
    instance = schedule.instance
    share = 100 * schedule.makespan_s / instance.deadline_s
    # Whichever is highest: each of them holds for all plans.
    known = [bound.value for bound in bounds if bound.unit == "objective" and not math.isinf(bound.value)]
    survivors = None
    if answer is not None and answer.get("bound") is not None:
        if answer.get("bound_without") is not None:
            survivors = answer["bound"]
        known.append(answer["bound"] if survivors is None else answer["bound_without"])
    best = _best_known(instance)
    if best is not None:
        known.append(best.bound)
    bound = max(known, default=None)
    # Where it must survive, a plan is optimal if none that survives is better, whatever others come to.
    gap = relative_gap(schedule.objective, bound)
    proved = [closes_gap(schedule.objective, value) for value in (bound, survivors) if value is not None]
    optimal = _can_be_run(checked) and any(proved)
    status = "late" if checked.late else "optimal" if optimal else "feasible"
    unit = {"cheapest": "$ {:.6f}", "fastest": "{:,.0f} s", "balanced": "{:.6f}"}[instance.goal]
    rows = [
        ("status", f"{status}: {STATUS_MEANINGS[status]}" if _can_be_run(checked) else "not feasible"),  # type: ignore[index]
        ("goal", goal_text(instance)),
        ("cost", f"$ {schedule.cost_usd:.6f}"),
        ("makespan", f"{schedule.makespan_s:,} s ({share:.0f} % of the deadline)"),
        ("deadline", f"{instance.deadline_s:,} s"),
        ("D_spot", "-" if instance.d_spot_s is None else f"{instance.d_spot_s:,} s: spot VMs end by then"),
        ("objective", unit.format(schedule.objective)),
        ("bound", "-" if bound is None else f"{unit.format(bound)}: no plan has less"),
        ("gap", "-" if gap is None else f"{100 * max(gap, 0):.3f} % of the objective at most"),
    ]
    if survivors is not None:
        above = relative_gap(schedule.objective, survivors)
        text = f"{unit.format(survivors)}: gap {100 * max(above or 0.0, 0):.3f} % at most"
        rows.append(("bound of plans that survive", text))
    if best is not None:
        rows.append(("best known", f"{unit.format(best.value)} by {best.method} ({best.status})"))
    if answer is not None:
        rows += [("time", f"{answer['runtime_s']:.3f} s"), ("seed", str(answer["seed"]))]
        rows += [("warning", text) for text in answer["warnings"]]
    return rows


def _best_known(instance: Instance) -> BestKnown | None:
    """Return the best known values of an instance, if the library has it just as it is."""
    entry = best_known().get(instance.name)
    # A bag of the same name with another deadline has other best plans.
    if entry is None or with_d_spot(library_instance(instance.name)).to_document() != instance.to_document():
        return None
    return entry


def _vms(schedule: Schedule) -> Table:
    offers = [schedule.instance.offers[offer] for offer in schedule.vm_offer.tolist()]
    tasks = np.bincount(schedule.task_vm, minlength=len(schedule.vm_ids))
    numbers = (tasks, schedule.vm_ready_s, schedule.vm_end_s, schedule.vm_cost_usd)
    return table_of(
        zip(schedule.vm_ids, offers, *(column.tolist() for column in numbers), strict=True),
        words("VM", lambda row: row[0]),
        words("type", lambda row: row[1].vm_type.name),
        words("market", lambda row: row[1].market),
        number("cores", lambda row: row[1].vm_type.vcpus),
        number("tasks", lambda row: row[2], ","),
        number("ready (s)", lambda row: row[3], ","),
        number("last end (s)", lambda row: row[4], ","),
        number("cost ($)", lambda row: row[5], ".6f"),
    )


def _survival(checked: CheckReport) -> list[Block]:
    """The checker's verdict on the certificate, and the rescue of the worst moment."""
    if checked.survival is None:
        return [Paragraph("The plan says nothing of what it survives: 'spotbag check --survive LEVEL' judges that.")]
    lines = checked_lines(checked.survival, checked.certificate)
    blocks: list[Block] = [Facts([(name or "besides", text) for name, text in lines])]
    rescue = next((found.rescue for found in (checked.certificate, checked.survival) if found and found.rescue), None)
    return blocks if rescue is None else [*blocks, *_rescue(rescue)]


def _rescue(rescue: Rescue) -> list[Block]:
    tasks = Counter(task.vm for task in rescue.tasks)
    table = table_of(
        rescue.vms,
        words("VM", "id"),
        words("type"),
        words("rented", lambda vm: "new" if vm.new else "of the plan"),
        number("tasks", lambda vm: tasks[vm.id], ","),
        number("paid from (s)", "ready_s", ","),
        number("last end (s)", "end_s", ","),
        number("cost ($)", "cost_usd", ".6f"),
    )
    lost = f"{counted(len(rescue.tasks), 'task')} of {', '.join(rescue.types)}"
    text = f"The worst moment is {rescue.at_s:,} s: {lost} would go on, on demand, as this table says."
    return [Paragraph(text), Listing("The rescue at the worst moment", table)]


def _bounds(bounds: Sequence[LowerBound]) -> Table:
    return table_of(
        bounds,
        words("bound", "name"),
        number("value", lambda bound: f"{bound.value:,.0f}" if bound.unit == "s" else f"{bound.value:.6f}"),
        words("unit"),
        words("what it says", "meaning"),
    )


def _tasks(schedule: Schedule) -> Table:
    instance = schedule.instance
    memory = np.repeat([task.memory_mb for task in instance.tasks], instance.group_size)
    columns = schedule.task_vm, schedule.task_core, schedule.task_start_s, schedule.task_end_s, memory
    return table_of(
        zip(instance.task_ids, *(column.tolist() for column in columns), strict=True),
        words("task", lambda row: row[0]),
        words("VM", lambda row: schedule.vm_ids[row[1]]),
        number("core", lambda row: row[2]),
        number("start (s)", lambda row: row[3], ","),
        number("end (s)", lambda row: row[4], ","),
        number("run time (s)", lambda row: row[4] - row[3], ","),
        number("memory (MB)", lambda row: row[5], "g"),
    )
