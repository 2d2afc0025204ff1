"""``spotbag bound``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ...core.text_tables import number, words
from ..answers import Answer, Part
from ..arguments import InstanceOptions, MethodOptions
from ..console import NO_FEASIBLE_PLAN, print_rows, seconds, warn
from ..options import Only, instance_argument, json_option

if TYPE_CHECKING:
    from ...bounds.bags.lower_bounds import LowerBound
    from ...instances.instance import Instance

EXAMPLE = "Example:  spotbag bound burst-hads/J60 --markets spot"


class Bound(Part):
    """A lower bound; its value is null where it proves that no plan exists."""

    name: str
    value: float | None
    unit: str
    meaning: str
    runtime_s: float


class Bounds(Answer, kind="bound"):
    """``spotbag bound``."""

    instance: str
    status: Literal["bounded", "infeasible"]
    message: str
    deadline_s: int
    d_spot_s: int | None
    cost_weight: float
    cost_scale_usd: float
    makespan_scale_s: float
    warnings: tuple[str, ...]
    bounds: tuple[Bound, ...]


def bound_command(
    *,
    instance: str = instance_argument(),
    changes: InstanceOptions,
    planning: Annotated[MethodOptions, Only("time_limit")],
    as_json: bool = json_option(),
) -> None:
    """Show lower bounds that no plan can beat, whether it survives what --survive says or not.

    They are of objective, cost and makespan; with --time-limit, they are what was proved by then.

    Exit code 0: there are bounds; 1: proved that no plan exists, with the reason; 2: bad input.
    """
    from ...bounds.bags.lower_bounds import lower_bounds
    from ...core.limits import within
    from ...heuristics.bags.d_spot import d_spot_warning, with_d_spot
    from ...solvers.bags.infeasible import explain

    given = changes.load(instance)
    problem = with_d_spot(given)
    warning = d_spot_warning(given, problem)
    warn([warning] if warning else [])
    # Bounds look at the limit themselves, and hand over what they have proved by then.
    with within(planning.time_limit):
        bounds = lower_bounds(problem)
    # A lower bound of infinity is a proof that there is no plan.
    infeasible = any(math.isinf(bound.value) for bound in bounds)
    reason = explain(problem) if infeasible else ""
    if as_json:
        Bounds.of(
            problem,
            instance=problem.name,
            status="infeasible" if infeasible else "bounded",
            message=reason,
            warnings=(warning,) if warning else (),
            bounds=tuple(Bound.of(bound) for bound in bounds),
        ).print_json()
    elif infeasible:
        print(f"{problem.name}: {reason}")
    else:
        _print_bounds(problem, bounds)
    if infeasible:
        raise typer.Exit(NO_FEASIBLE_PLAN)


def _print_bounds(problem: Instance, bounds: Sequence[LowerBound]) -> None:
    from ...schedules.plan_text import goal_text

    best = max(bound.value for bound in bounds if bound.unit == "objective")
    least = {
        "cheapest": f"costs at least $ {best:.6f}",
        "fastest": f"takes at least {seconds(math.ceil(best))} s",
        "balanced": f"has an objective of at least {best:.6f}",
    }[problem.goal]
    print(f"{problem.name}: every plan {least}")
    print(f"goal: {goal_text(problem)}")
    print_rows(
        bounds,
        words("bound", "name"),
        number("value", lambda bound: seconds(int(bound.value)) if bound.unit == "s" else f"{bound.value:.6f}"),
        words("unit"),
        number("time (ms)", "runtime_s", ".1f", 1000, measured=True),
        words("what it says", "meaning"),
    )
