"""``spotbag check``."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from ...core.tables import Column, Table
from ..arguments import (
    InstanceArgument,
    InstanceOptions,
    JsonOption,
    print_json,
    refuse_two_from_standard_input,
    warn,
)
from ..exit_codes import NO_FEASIBLE_PLAN
from ..tables import print_table, seconds

EXAMPLE = "Example:  spotbag check burst-hads/J60 plan.json"

_SHOWN = 40


def check_command(
    instance: InstanceArgument,
    plan: Annotated[
        str, typer.Argument(metavar="PLAN", help="A plan (JSON), or - for standard input.", show_default=False)
    ],
    changes: InstanceOptions,
    as_json: JsonOption = False,
) -> None:
    """Check a plan against an instance, by code that shares nothing with what makes plans.

    Every broken rule is listed with its amount. Exit code 0: feasible; 1: not feasible; 2: bad input.
    """
    from ...audits.bags.plan import check
    from ...core.wording import counted
    from ...heuristics.bags.d_spot import with_d_spot
    from ...schedules.schedule_files import read_schedule_document

    refuse_two_from_standard_input(instance, plan)
    problem = changes.load(instance)
    document = read_schedule_document(plan)
    problem = with_d_spot(problem)
    report = check(problem, document)
    if as_json:
        print_json(
            "check",
            {
                "instance": problem.name,
                "status": "feasible" if report.feasible else "infeasible",
                "cost_usd": report.cost_usd,
                "makespan_s": report.makespan_s,
                "objective": report.objective,
                "deadline_s": problem.deadline_s,
                "d_spot_s": problem.d_spot_s,
                "violations": [dataclasses.asdict(violation) for violation in report.violations],
                "notes": list(report.notes),
            },
        )
    else:
        warn(report.notes)
        broken = counted(len(report.violations), "violation")
        only_claims = {violation.rule for violation in report.violations} == {"claim"}
        verdict = f"feasible, but not what it claims ({broken})" if only_claims else f"not feasible, {broken}"
        verdict = "feasible" if report.feasible else verdict
        print(f"{problem.name}: {verdict}")
        print(f"  cost       $ {report.cost_usd:.6f}")
        print(f"  makespan   {seconds(report.makespan_s)} s")
        print(f"  objective  {report.objective:.6f}")
        if report.violations:
            print()
            columns = [Column("rule"), Column("amount", True), Column("unit"), Column("what")]
            rows = [
                (entry.rule, f"{entry.amount:g}", entry.unit, entry.message) for entry in report.violations[:_SHOWN]
            ]
            print_table(Table(columns, rows))
            if len(report.violations) > _SHOWN:
                print(f"... and {len(report.violations) - _SHOWN} more (--json lists all)")
    if not report.feasible:
        raise typer.Exit(NO_FEASIBLE_PLAN)
