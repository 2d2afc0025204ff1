"""Plots of a bag: fronts of cost and makespan, plans for the days to come, and how searches converge."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from ...core.errors import SpotbagError
from ...core.wording import counted
from ...instances.instance import Instance
from ...schedules.schedule import Schedule
from ...schedules.timing import objective_value, objective_weights
from ...solvers.bags.candidates import QUIET
from ...solvers.bags.plan_choice import PlanChoice, PlanOnDays
from ...solvers.bags.result import Result
from ..chart import Curve, Look, Plot, Range
from ..matplotlib_renderer import axes_of_plot
from ..picture_files import write_chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...solvers.bags.pareto import FrontPoint, ParetoFront

_FRONT_COLOUR = "#2F6DB5"
_BEST_COLOUR = "#C8442E"
_PLAN_COLOURS = ("#7A4FBF", "#3FA66B", "#D98A1F", "#1FA3A3", "#8C6D4F")
_PLAN_SIGNS = "sD^vP"
_STEPS = Look("", "#6D99CB", line="-", width=1.2, layer=2)
_BOUNDS = Look("down to the proven bound of the cost", _FRONT_COLOUR, line=":", width=0.8)
_SAME_OBJECTIVE = Look("same objective", "#D87C6D", line="--", width=0.9, layer=1.5)
_MOST_TIMES_WIDER = 3.0
"""Widths of the front up to which a plan beside it widens the picture: one farther off would squeeze the front."""
_MANY_POINTS = 100
"""Points of a front above which they are drawn small, so that they can be told apart."""


def best_point(front: ParetoFront) -> FrontPoint | None:
    """Return the point that minimises the objective of the instance; None unless that is its proven optimum.

    No plan is better than one of the front, whatever the weights.
    """
    if not front.complete:
        return None
    return min(front.points, key=lambda point: _objective(front.instance, point), default=None)


def plot_front(front: ParetoFront, ax: Axes | None = None, plans: Mapping[str, Schedule] | None = None) -> Axes:
    """Draw a front onto axes of matplotlib: its points are filled if they are proven, hollow if not.

    Parameters
    ----------
    front : ParetoFront
        With at least one point.
    ax : matplotlib.axes.Axes, optional
        Where; axes of a new figure if not given.
    plans : mapping of str to Schedule, optional
        Plans of the same instance that are drawn beside it, by the method that made them.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with title and legend.

    Raises
    ------
    SpotbagError
        If the front has no points, or matplotlib is missing.
    """
    return axes_of_plot(front_plot(front, plans), ax)


def write_front(front: ParetoFront, path: str | os.PathLike[str], plans: Mapping[str, Schedule] | None = None) -> None:
    """Draw a front to a file: its points are filled if they are proven, hollow if not.

    Parameters
    ----------
    front : ParetoFront
        With at least one point.
    path : path
        Its ending says the format: ``.png``, ``.svg``, ``.pdf``, or ``.html``, where pointing at a point says more.
    plans : mapping of str to Schedule, optional
        Plans of the same instance that are drawn beside it, by the method that made them.

    Raises
    ------
    SpotbagError
        If the front has no points, the format is unknown, the file cannot be written or a plotting library is missing.
    """
    write_chart(path, front_plot, front, plans)


def front_plot(front: ParetoFront, plans: Mapping[str, Schedule] | None = None) -> Plot:
    """Lay out the picture of a front.

    Parameters
    ----------
    front : ParetoFront
        With at least one point.
    plans : mapping of str to Schedule, optional
        Plans of the same instance, by the method that made them.

    Raises
    ------
    SpotbagError
        If the front has no points.
    """
    if not front.points:
        raise SpotbagError("a front without points cannot be drawn")
    plans = plans or {}
    makespans, costs = _ranges(front, list(plans.values()))
    return Plot(
        f"{front.instance.name[:60]}: cost and makespan",
        _front_subtitle(front),
        [
            *_front_curves(front, makespans, costs),
            *_plan_curves(plans, makespans, costs),
            *_best_curves(front, makespans),
        ],
        "makespan (s)",
        "cost ($)",
        makespans,
        costs,
    )


def _objective(instance: Instance, point: FrontPoint) -> float:
    return objective_value(instance, point.cost_usd, point.makespan_s)


def _front_subtitle(front: ParetoFront) -> str:
    instance = front.instance
    proven = sum(point.proven for point in front.points)
    extent = "the whole front" if front.complete else "not proved to be the whole front"
    limits = f"deadline {instance.deadline_s:,} s"
    if instance.d_spot_s is not None:
        limits += f", D_spot {instance.d_spot_s:,} s"
    found = f"{counted(len(front.points), 'point')}, {proven} proven"
    return f"{counted(instance.n_tasks, 'task')}, {limits}; {found}, {extent}"


def _ranges(front: ParetoFront, plans: list[Schedule]) -> tuple[Range, Range]:
    """Return the ranges of makespan and cost; a plan that one of them leaves out does not widen the other."""
    points = front.points
    makespans = _shown([point.makespan_s for point in points], [plan.makespan_s for plan in plans])
    costs = _shown([point.cost_usd for point in points], [plan.cost_usd for plan in plans])
    # Each plan that is left out may let the other axis be shorter, until none is.
    inside = [plan for plan in plans if plan.makespan_s <= makespans[1] and plan.cost_usd <= costs[1]]
    return (makespans, costs) if len(inside) == len(plans) else _ranges(front, inside)


def _shown(values: list[float], others: list[float]) -> Range:
    """Ranges of the front and the plans beside it, but for plans so far off that they would squeeze it to nothing."""
    low, high = min(values), max(values)
    span = max(high - low, 0.1 * high, 1e-9)
    high = max([high, *(value for value in others if value <= high + _MOST_TIMES_WIDER * span)])
    margin = 0.06 * (high - low) if high > low else span
    return max(low - margin, 0.0), high + margin


def _place(what: FrontPoint | Schedule) -> tuple[float, float]:
    return float(what.makespan_s), float(what.cost_usd)


def _place_lines(name: str, what: FrontPoint | Schedule) -> tuple[str, ...]:
    return name, f"makespan {what.makespan_s:,} s", f"cost ${what.cost_usd:.6f}"


def _front_curves(front: ParetoFront, makespans: Range, costs: Range) -> Iterator[Curve]:
    """Between two points the cost is that of the faster one; the lower bounds are drawn where they are less."""
    points = front.points
    # Up to the right edge, where the cheapest plan is still the cheapest; up to the top, where nothing is faster.
    corners = ((points[0].makespan_s, costs[1]), *map(_place, points), (makespans[1], points[-1].cost_usd))
    yield Curve(_STEPS, corners, steps=True)
    size = 30.0 if len(points) <= _MANY_POINTS else 12.0
    for proven, colour, label in ((True, _FRONT_COLOUR, "proven"), (False, "#FFFFFF", "not proven")):
        mine = [point for point in points if point.proven == proven]
        if mine:
            name = f"front, {label}"
            look = Look(f"{name} ({len(mine)})", colour, _FRONT_COLOUR, 1.0, sign="o", size=size, layer=4)
            yield Curve(look, tuple(map(_place, mine)), hover=tuple(_place_lines(name, point) for point in mine))
    apart = [point for point in points if not point.proven and point.bound_cost_usd < point.cost_usd]
    if apart:
        ends = [(_place(point), (point.makespan_s, max(point.bound_cost_usd, costs[0])), None) for point in apart]
        yield Curve(_BOUNDS, tuple(end for three in ends for end in three))


def _plan_curves(plans: Mapping[str, Schedule], makespans: Range, costs: Range) -> Iterator[Curve]:
    """Mark other plans, those out of the picture in the legend only."""
    drawn: list[tuple[float, float]] = []
    for number, (name, plan) in enumerate(plans.items()):
        makespan_s, cost_usd = place = _place(plan)
        colour, sign = _PLAN_COLOURS[number % len(_PLAN_COLOURS)], _PLAN_SIGNS[number % len(_PLAN_SIGNS)]
        outside = makespan_s > makespans[1] or cost_usd > costs[1]
        label = f"{name}: {plan.makespan_s:,} s, $ {plan.cost_usd:.4g} (out of the picture)" if outside else name
        look = Look(label, colour, "white", 1.0, sign=sign, size=72.0, layer=3.5)  # under the front, which matters most
        if outside:
            yield Curve(look, ())
            continue
        close = sum(
            abs(other_s - makespan_s) < 0.07 * (makespans[1] - makespans[0])
            and abs(other_usd - cost_usd) < 0.04 * (costs[1] - costs[0])
            for other_s, other_usd in drawn
        )
        drawn.append(place)
        yield Curve(look, (place,), name=name, line=close, hover=(_place_lines(name, plan),))


def _best_curves(front: ParetoFront, makespans: Range) -> Iterator[Curve]:
    """Mark the optimum of the instance's objective, and draw where the objective is the same."""
    best = best_point(front)
    if best is None:
        return
    label = f"optimum of the objective ({_objective(front.instance, best):.6g})"
    look = Look(label, _BEST_COLOUR, "white", 1.0, sign="*", size=256.0, layer=4.5)
    yield Curve(look, (_place(best),), hover=(_place_lines(label, best),))
    cost_weight, time_weight = objective_weights(front.instance)
    if cost_weight > 0 and time_weight > 0 and len(front.points) > 1:
        per_s = time_weight / cost_weight
        costs = [best.cost_usd + (best.makespan_s - makespan_s) * per_s for makespan_s in makespans]
        yield Curve(_SAME_OBJECTIVE, tuple(zip(makespans, costs, strict=True)))


# ------------------------------------------------------------------------- plans for the days to come

_CURVES: Sequence[tuple[str, str, str, Callable[[PlanOnDays], float | None]]] = (
    ("mean cost, with its 95 % interval", "#2F6DB5", "o", lambda plan: plan.cost_usd.mean),
    ("cost that 95 % of the days do not exceed", "#D98A1F", "s", lambda plan: plan.p95_usd),
    ("cost of the dearest day", "#C8442E", "^", lambda plan: plan.worst_usd),
)
_CHOSEN = "#3FA66B"
_NAMES = "#444444"
_NAMED = (QUIET, "greedy", "ils")


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
    write_chart(path, plan_choice_plot, choice)


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
        [*_choice_curves(plans, costs), *_quiet_line(quiet_range, costs)],
        "cost on a quiet day ($)",
        "cost on the days ($)",
        quiet_range,
        costs,
        whole=False,
    )


def _choice_curves(plans: Sequence[PlanOnDays], costs: Range) -> Iterator[Curve]:
    """Each figure of all plans, with a line through those that cost more on a quiet day and less on the others."""
    chosen = next(plan for plan in plans if plan.chosen)
    place = chosen.schedule.cost_usd
    yield Curve(Look("chosen", _CHOSEN, line="-", width=6.0, layer=0.5), ((place, costs[0]), (place, costs[1])))
    for label, colour, sign, of in _CURVES:
        look = Look(label, colour, colour, 1.0, sign=sign, size=36.0, layer=3)
        yield Curve(look, tuple(_choice_points(plans, of)), hover=tuple(_cost_lines(plan) for plan in plans))
        yield Curve(Look("", colour, line="-", width=1.0), tuple(_choice_points(list(_worth_their_care(plans)), of)))
    for plan in plans:
        if plan.name in _NAMED and plan.cost_usd.mean is not None:
            yield Curve(Look("", _NAMES, width=0), ((plan.schedule.cost_usd, plan.cost_usd.mean),), name=plan.name)
    ends: list[tuple[float, float] | None] = []
    for plan in plans:
        low, high = plan.cost_usd.low, plan.cost_usd.high
        if low is not None and high is not None:
            ends += [(plan.schedule.cost_usd, low), (plan.schedule.cost_usd, high), None]
    yield Curve(Look("", _CURVES[0][1], line="-", width=2.5, layer=2.5), tuple(ends))


def _choice_points(
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


def _quiet_line(quiet: Range, costs: Range) -> Iterator[Curve]:
    """Line on which a day costs as much as a quiet one."""
    high = min(quiet[1], costs[1])
    yield Curve(Look("cost on a quiet day", "#888888", line=":", width=1.0), ((quiet[0], quiet[0]), (high, high)))


def _cost_lines(plan: PlanOnDays) -> tuple[str, ...]:
    mean = plan.cost_usd.mean
    return (
        plan.name,
        f"quiet day ${plan.schedule.cost_usd:.6f}",
        f"mean ${mean:.6f}" if mean is not None else "",
        f"late on {counted(plan.late_days, 'day')} of {plan.days}",
    )


# ------------------------------------------------------------------------- convergence

_CURRENT = Look("current", "#9AA5B5", line="-", width=1.0)
_BEST = Look("best plan", "#4C8EDA", line="-", layer=2)
_RELAXED = Look("relaxed D_spot", "#7A4FBF", line=":", layer=1.5)


def plot_convergence(result: Result, ax: Axes | None = None) -> Axes:
    """Draw the objective of the current and of the best plan over the iterations onto axes of matplotlib.

    Parameters
    ----------
    result : Result
        Of a search.
    ax : matplotlib.axes.Axes, optional
        Where; axes of a new figure if not given. Where D_spot is relaxed, it has an axis of its own at the right.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with title and legend.

    Raises
    ------
    SpotbagError
        If the method keeps no trace, or matplotlib is missing.
    """
    return axes_of_plot(convergence_plot(result), ax)


def write_convergence(result: Result, path: str | os.PathLike[str]) -> None:
    """Draw the objective of the current and of the best plan over the iterations, with the bound and D_spot if known.

    Parameters
    ----------
    result : Result
        Of a search.
    path : path
        Its ending says the format: ``.png``, ``.svg``, ``.pdf`` or ``.html``.

    Raises
    ------
    SpotbagError
        If the method keeps no trace, the format is unknown, the file cannot be written or a plotting library is
        missing.
    """
    write_chart(path, convergence_plot, result)


def convergence_plot(result: Result) -> Plot:
    """Lay out the picture of how a search converged.

    Parameters
    ----------
    result : Result
        Of a search.

    Raises
    ------
    SpotbagError
        If the method keeps no trace.
    """
    trace = result.trace
    if not trace:
        raise SpotbagError(f"{result.method} keeps no trace of its convergence; ils and search do but for budgets")
    last = float(trace[-1].iteration)
    current = [(float(point.iteration), point.current) if math.isfinite(point.current) else None for point in trace]
    # The first point of each level: what lies between them is level.
    levels = [next(points) for _, points in groupby(trace, key=lambda point: point.best)]
    better = [(float(point.iteration), point.best) for point in levels if math.isfinite(point.best)]
    best = [*better, (last, better[-1][1])] if better else []
    said = tuple(("best plan", f"iteration {at:,.0f}", f"objective {value:.6g}") for at, value in better)
    curves = [Curve(_CURRENT, tuple(current)), Curve(_BEST, tuple(best), steps=True, hover=said)]
    x_range = _with_margin([0.0 if len(trace) == 1 else float(trace[0].iteration), max(last, 1.0)])
    if result.bound is not None:
        look = Look(f"lower bound ({result.bound:.6g})", "#3FA66B", line="--", layer=3)
        curves.append(Curve(look, tuple((at, result.bound) for at in x_range)))
    d_spots = [float(point.d_spot_s) for point in trace if point.d_spot_s is not None]
    relaxed = len(d_spots) == len(trace) and len(set(d_spots)) > 1
    if relaxed:
        points = tuple(zip((float(point.iteration) for point in trace), d_spots, strict=True))
        curves.append(Curve(_RELAXED, points, steps=True, beside=True))
    values = [point[1] for curve in curves if not curve.beside for point in curve.points if point is not None]
    return Plot(
        _convergence_title(result),
        "",
        curves,
        "iteration",
        "objective (1)",
        x_range,
        _with_margin(values or [0.0, 1.0]),
        "relaxed D_spot (s)" if relaxed else "",
        _with_margin(d_spots) if relaxed else None,
        (9.0, 4.5),
    )


def _with_margin(values: Sequence[float]) -> Range:
    low, high = min(values), max(values)
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 0.05
    return low - margin, high + margin


def _convergence_title(result: Result) -> str:
    objective = "no plan" if result.objective is None else f"objective {result.objective:.6g}"
    schedule = result.schedule
    burstable = schedule is not None and bool(result.instance.offer_is_burstable[schedule.vm_offer].any())
    if burstable and schedule is not None and schedule.objective > result.trace[-1].best + 1e-9:
        objective += " with its burstable VMs"  # they are added after the search that is drawn
    return f"{result.instance.name[:60]}, {result.method}, seed {result.seed}: {objective}"
