"""A picture of plans for the days to come: what they cost on bad days, over what they cost on a quiet one."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from ...core.errors import SpotbagError
from ...core.wording import counted
from ...solvers.bags.candidates import QUIET
from ...solvers.bags.plan_choice import PlanChoice, PlanOnDays
from ..chart import Look
from ..matplotlib_renderer import axes_of_plot
from ..picture_files import picture_format, plotting_libraries, write_chart
from ..plot import Curve, Plot, Range

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CURVES: Sequence[tuple[str, str, str, Callable[[PlanOnDays], float | None]]] = (
    ("mean cost, with its 95 % interval", "#2F6DB5", "o", lambda plan: plan.cost_usd.mean),
    ("cost that 95 % of the days do not exceed", "#D98A1F", "s", lambda plan: plan.p95_usd),
    ("cost of the dearest day", "#C8442E", "^", lambda plan: plan.worst_usd),
)
_CHOSEN = "#3FA66B"
_NAMES = "#444444"
_NAMED = (QUIET, "greedy", "ils")


def plot_plan_choice(choice: PlanChoice, ax: Axes | None = None) -> Axes:
    """Draw the plans of a choice onto axes of matplotlib.

    Parameters
    ----------
    choice : PlanChoice
        With days of the report.
    ax : matplotlib.axes.Axes, optional
        Where; axes of a new figure if not given.

    Raises
    ------
    SpotbagError
        If there are no plans, or matplotlib is missing.
    """
    plot = plan_choice_plot(choice)
    with plotting_libraries():
        return axes_of_plot(plot, ax)


def write_plan_choice(choice: PlanChoice, path: str | os.PathLike[str]) -> None:
    """Draw the plans of a choice to a file.

    Parameters
    ----------
    choice : PlanChoice
        With days of the report.
    path : path
        Its ending says the format: ``.png``, ``.svg``, ``.pdf``, or ``.html``.

    Raises
    ------
    SpotbagError
        If there are no plans, the format is unknown, the file cannot be written or a plotting library is missing.
    """
    kind = picture_format(path)
    write_chart(plan_choice_plot(choice), path, kind)


def plan_choice_plot(choice: PlanChoice) -> Plot:
    """Lay out the picture: the mean, the 95th percentile and the dearest day of each plan over its quiet cost."""
    plans = choice.plans
    if not plans:
        raise SpotbagError("a choice without days of the report cannot be drawn")
    quiet = [plan.schedule.cost_usd for plan in plans]
    highest = max(value for *_, of in _CURVES for plan in plans if (value := of(plan)) is not None)
    costs = (0.0, 1.06 * highest)
    width = max(max(quiet) - min(quiet), 0.05 * max(quiet), 1e-9)
    quiet_range = (max(min(quiet) - 0.1 * width, 0.0), max(quiet) + 0.1 * width)
    days = counted(plans[0].days, "day")
    return Plot(
        f"{plans[0].schedule.instance.name[:60]}: plans for the days to come",
        f"{days} of {choice.scenario} under {choice.policy}, other than those on which the plan was chosen",
        [*_curves(plans, costs), *_level(quiet_range, costs)],
        "cost on a quiet day ($)",
        "cost on the days ($)",
        quiet_range,
        costs,
        whole=False,
    )


def _curves(plans: Sequence[PlanOnDays], costs: Range) -> Iterator[Curve]:
    """Each figure of all plans, with a line through those that cost more on a quiet day and less on the others."""
    chosen = next(plan for plan in plans if plan.chosen)
    place = chosen.schedule.cost_usd
    yield Curve(Look("chosen", _CHOSEN, line="-", width=6.0, layer=0.5), ((place, costs[0]), (place, costs[1])))
    for label, colour, sign, of in _CURVES:
        look = Look(label, colour, colour, 1.0, sign=sign, size=36.0, layer=3)
        yield Curve(look, tuple(_points(plans, of)), hover=tuple(_lines(plan) for plan in plans))
        yield Curve(Look("", colour, line="-", width=1.0), tuple(_points(list(_worth_their_care(plans)), of)))
    for plan in plans:
        if plan.name in _NAMED and plan.cost_usd.mean is not None:
            yield Curve(Look("", _NAMES, width=0), ((plan.schedule.cost_usd, plan.cost_usd.mean),), name=plan.name)
    ends: list[tuple[float, float] | None] = []
    for plan in plans:
        low, high = plan.cost_usd.low, plan.cost_usd.high
        if low is not None and high is not None:
            ends += [(plan.schedule.cost_usd, low), (plan.schedule.cost_usd, high), None]
    yield Curve(Look("", _CURVES[0][1], line="-", width=2.5, layer=2.5), tuple(ends))


def _points(
    plans: Sequence[PlanOnDays], of: Callable[[PlanOnDays], float | None]
) -> Iterator[tuple[float, float] | None]:
    for plan in plans:
        value = of(plan)
        yield None if value is None else (plan.schedule.cost_usd, value)


def _worth_their_care(plans: Sequence[PlanOnDays]) -> Iterator[PlanOnDays]:
    """Plans of which none that costs less on a quiet day costs less on average."""
    least = math.inf
    for plan in plans:
        if plan.loss_usd.mean is not None and plan.loss_usd.mean < least:
            least = plan.loss_usd.mean
            yield plan


def _level(quiet: Range, costs: Range) -> Iterator[Curve]:
    """Where a day costs what a quiet one costs."""
    high = min(quiet[1], costs[1])
    yield Curve(Look("cost on a quiet day", "#888888", line=":", width=1.0), ((quiet[0], quiet[0]), (high, high)))


def _lines(plan: PlanOnDays) -> tuple[str, ...]:
    mean = plan.cost_usd.mean
    return (
        plan.name,
        f"quiet day ${plan.schedule.cost_usd:.6f}",
        f"mean ${mean:.6f}" if mean is not None else "",
        f"late on {counted(plan.late_days, 'day')} of {plan.days}",
    )
