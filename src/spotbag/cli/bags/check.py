"""``spotbag check``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import typer

from ...core.text_tables import Column, Table
from ...core.wording import counted
from ..answers import Answer
from ..arguments import InstanceOptions
from ..console import LATE, NO_FEASIBLE_PLAN, print_facts, print_table, seconds, warn
from ..options import argument, instance_argument, json_option, late_option, state_option

if TYPE_CHECKING:
    from ...audits.bags.plan import CheckReport
    from ...audits.findings import Violation
    from ...instances.instance import Instance
    from ...schedules.documents import Lateness, ScheduleDocument, Survival
    from ...schedules.state import State

EXAMPLE = "Example:  spotbag check burst-hads/J60 plan.json"

_SHOWN_OF_RULE = 3


class Check(Answer, kind="check"):
    """``spotbag check``."""

    instance: str
    status: Literal["feasible", "late", "infeasible"]
    cost_usd: float
    makespan_s: int
    objective: float
    deadline_s: int
    d_spot_s: int | None
    survival: Survival | None
    late: Lateness | None
    violations: tuple[Violation, ...]
    notes: tuple[str, ...]

    @classmethod
    def of_report(cls, problem: Instance, report: CheckReport) -> Check:
        """Make the answer of a report on a plan for an instance."""
        return cls.of(report, problem, instance=problem.name, status=report.status, late=report.late)


def judged(problem: Instance, plan: ScheduleDocument, state: State | None) -> tuple[Instance, CheckReport]:
    """Check a plan for an instance, or for what a state has left of it; return what it is for, and the report."""
    from ...audits.bags.plan import check
    from ...heuristics.bags.d_spot import with_d_spot

    problem = with_d_spot(problem if state is None else state.remaining(problem), made_for_s=plan.d_spot_s)
    return problem, check(problem, plan, survive=None if problem.survive == "none" else problem.survive)


def check_command(
    *,
    instance: str = instance_argument(),
    plan: str = argument("PLAN", "A plan (JSON), or - for standard input.", file="read"),
    changes: InstanceOptions,
    state: str | None = state_option(),
    late: Literal["least"] | None = late_option(),
    as_json: bool = json_option(),
) -> None:
    """Check a plan against an instance, by code that shares nothing with what makes plans.

    Broken rules are listed with their amounts; what the plan survives is judged with --survive, or if the plan says it.
    With --state, the times and the cost of the plan count from its moment on.
    With --late, a plan that breaks no rule but has tasks after the deadline is late, not infeasible.
    Exit code 0: feasible, and shown to survive what was asked for; 1: not so; 2: bad input; 3: late.
    """
    from ...schedules.schedule_files import another_instance, read_schedule_document

    problem = changes.load(instance, late)
    so_far = None
    if state is not None:
        from ...schedules.state import State

        so_far = State.read(state)
    document = read_schedule_document(plan)
    problem, report = judged(problem, document, so_far)
    # Without a word about survival, a plan need not show any.
    asked = None if problem.survive == "none" else problem.survive
    shown = asked is None or (report.survival is not None and report.survival.verdict == "survives")
    if as_json:
        Check.of_report(problem, report).print_json()
    # A plan for another bag breaks a rule for every task: one line says more than thousands.
    elif any(violation.rule == "task-once" for violation in report.violations) and (
        document.instance != problem.name or not {row.id for row in document.task_rows}.intersection(problem.task_ids)
    ):
        print(
            f"{problem.name}: not feasible: {plan} {another_instance(document.instance, problem, document.task_rows)}"
        )
        print(f"(--json lists all {counted(len(report.violations), 'violation')})")
    else:
        _print_report(problem, report, None if so_far is None else so_far.spent_usd)
    if report.violations or not shown:
        raise typer.Exit(NO_FEASIBLE_PLAN)
    if report.late is not None:
        raise typer.Exit(LATE)


def _print_report(problem: Instance, report: CheckReport, spent_usd: float | None) -> None:
    """Print the verdict on a plan, its figures, and the violations, if there are any."""
    from ...audits.bags.plan import CLAIMS
    from ...schedules.plan_text import checked_lines, late_lines, late_table

    found = report.violations
    warn(report.notes)
    broken = counted(len(found), "violation")
    # A plan whose cost is stated wrongly can still be carried out.
    only_claims = {violation.rule for violation in found} <= CLAIMS
    verdict = f"feasible, but not what it claims ({broken})" if only_claims else f"not feasible, {broken}"
    print(f"{problem.name}: {verdict if found else report.status}")
    facts = [] if spent_usd is None else [("spent", f"$ {spent_usd:.6f} before")]
    facts += [] if report.late is None else late_lines(report.late)
    facts += [("cost", f"$ {report.cost_usd:.6f}"), ("makespan", f"{seconds(report.makespan_s)} s")]
    facts += [("objective", f"{report.objective:.6f}")] if problem.goal == "balanced" else []
    facts += [] if report.survival is None else checked_lines(report.survival, report.certificate)
    print_facts(facts, 10)
    if report.late is not None:
        print()
        print_table(late_table(report.late))
    if found:
        print()
        _print_violations(found)


def _print_violations(found: Sequence[Violation]) -> None:
    """Print the first violations of each rule, and how many more there are."""
    columns = [Column("rule"), Column("amount", True), Column("unit"), Column("what")]
    rows, counts = [], Counter(violation.rule for violation in found)
    for rule, count in counts.items():
        of_rule = [violation for violation in found if violation.rule == rule]
        # One more takes no more room than to say that there is one more.
        shown = of_rule[: _SHOWN_OF_RULE + (count == _SHOWN_OF_RULE + 1)]
        rows += [(rule, f"{entry.amount:g}", entry.unit, entry.message) for entry in shown]
        if len(shown) < count:
            rows.append((rule, "", "", f"... and {count - len(shown)} more"))
    print_table(Table(columns, rows))
    if len(rows) < len(found):
        print("(--json lists all)")
