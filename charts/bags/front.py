"""A picture of a front of cost and makespan."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ...core.errors import SpotbagError
from ...core.wording import counted
from ...instances.instance import Instance
from ...schedules.schedule import Schedule
from ...schedules.timing import objective_value, objective_weights
from ...solvers.bags.pareto import FrontPoint, ParetoFront
from ..chart import Look
from ..matplotlib_renderer import axes_of_plot
from ..picture_files import picture_format, plotting_libraries, write_chart
from ..plot import Curve, Plot, Range

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FRONT_COLOUR = "#2F6DB5"
_BEST_COLOUR = "#C8442E"
_PLAN_COLOURS = ("#7A4FBF", "#3FA66B", "#D98A1F", "#1FA3A3", "#8C6D4F")
_PLAN_SIGNS = "sD^vP"
_STEPS = Look("", "#6D99CB", line="-", width=1.2, layer=2)
_BOUNDS = Look("down to the proven bound of the cost", _FRONT_COLOUR, line=":", width=0.8)
_SAME_OBJECTIVE = Look("same objective", "#D87C6D", line="--", width=0.9, layer=1.5)
_MOST_TIMES_WIDER = 3.0
_MANY_POINTS = 100


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
    plot = front_plot(front, plans)
    with plotting_libraries():
        return axes_of_plot(plot, ax)


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
    kind = picture_format(path)
    write_chart(front_plot(front, plans), path, kind)


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
        _subtitle(front),
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


def _subtitle(front: ParetoFront) -> str:
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
    inside = [plan for plan in plans if plan.makespan_s <= makespans[1] and plan.cost_usd <= costs[1]]
    return (makespans, costs) if len(inside) == len(plans) else _ranges(front, inside)


def _shown(values: list[float], others: list[float]) -> Range:
    """Where the front and the plans beside it lie, but for plans so far off that they would squeeze it to nothing."""
    low, high = min(values), max(values)
    span = max(high - low, 0.1 * high, 1e-9)
    high = max([high, *(value for value in others if value <= high + _MOST_TIMES_WIDER * span)])
    margin = 0.06 * (high - low) if high > low else span
    return max(low - margin, 0.0), high + margin


def _place(what: FrontPoint | Schedule) -> tuple[float, float]:
    return float(what.makespan_s), float(what.cost_usd)


def _lines(name: str, what: FrontPoint | Schedule) -> tuple[str, ...]:
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
            yield Curve(look, tuple(map(_place, mine)), hover=tuple(_lines(name, point) for point in mine))
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
        yield Curve(look, (place,), name=name, line=close, hover=(_lines(name, plan),))


def _best_curves(front: ParetoFront, makespans: Range) -> Iterator[Curve]:
    """Mark the optimum of the instance's objective, and draw where the objective is the same."""
    best = best_point(front)
    if best is None:
        return
    label = f"optimum of the objective ({_objective(front.instance, best):.6g})"
    look = Look(label, _BEST_COLOUR, "white", 1.0, sign="*", size=256.0, layer=4.5)
    yield Curve(look, (_place(best),), hover=(_lines(label, best),))
    cost_weight, time_weight = objective_weights(front.instance)
    if cost_weight > 0 and time_weight > 0 and len(front.points) > 1:
        per_s = time_weight / cost_weight
        costs = [best.cost_usd + (best.makespan_s - makespan_s) * per_s for makespan_s in makespans]
        yield Curve(_SAME_OBJECTIVE, tuple(zip(makespans, costs, strict=True)))
