"""A picture of a front of cost and makespan."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...core.errors import SpotbagError
from ...core.text_files import write_bytes
from ...core.wording import counted
from ...instances.instance import Instance
from ...schedules.evaluation import objective_value, objective_weights
from ...schedules.schedule import Schedule
from ...solvers.bags.pareto import FrontPoint, ParetoFront
from ..matplotlib_renderer import figure_bytes, new_figure
from ..picture_files import plotting_libraries, still_format

FRONT = "a front"

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FRONT_COLOUR = "#2F6DB5"
_BEST_COLOUR = "#C8442E"
_PLAN_COLOURS = ("#7A4FBF", "#3FA66B", "#D98A1F", "#1FA3A3", "#8C6D4F")
_PLAN_MARKERS = "sD^vP"
_MOST_TIMES_WIDER = 3.0


def best_point(front: ParetoFront) -> FrontPoint | None:
    """Return the point that minimises the objective of the instance; None unless that is its proven optimum.

    No plan is better than one of the front, whatever the weights.
    """
    if not front.complete:
        return None
    return min(front.points, key=lambda point: _objective(front.instance, point), default=None)


def write_pareto(front: ParetoFront, path: str | os.PathLike[str], plans: Mapping[str, Schedule] | None = None) -> None:
    """Draw a front as steps, its points filled if they are proven and hollow if not, and other plans beside it.

    Parameters
    ----------
    front : ParetoFront
        With at least one point.
    path : path
        Its ending says the format: ``.png``, ``.svg`` or ``.pdf``.
    plans : mapping of str to Schedule, optional
        Plans of the same instance, by the method that made them.

    Raises
    ------
    SpotbagError
        If the front has no points, the format is unknown, or the plotting library is missing.
    """
    kind = still_format(path, FRONT)
    if not front.points:
        raise SpotbagError("a front without points cannot be drawn")
    with plotting_libraries():
        figure = new_figure(9.5, 6)
    axes = figure.add_subplot()
    _set_limits(axes, front, plans or {})
    _draw_front(axes, front)
    _draw_plans(axes, front, plans or {})
    _draw_best(axes, front)
    axes.set_xlabel("makespan (s)")
    axes.set_ylabel("cost ($)")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.grid(color="#DDDDDD", linewidth=0.5)
    axes.set_axisbelow(True)
    figure.suptitle(f"{front.instance.name[:60]}: cost and makespan", fontsize=12, fontweight="bold", parse_math=False)
    axes.set_title(_subtitle(front), fontsize=9, color="#444444", parse_math=False)
    figure.legend(loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    write_bytes(path, figure_bytes(figure, kind))


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


def _set_limits(axes: Axes, front: ParetoFront, plans: Mapping[str, Schedule]) -> None:
    """Show the front and the plans beside it, unless one is so far off that it would squeeze the front to nothing."""
    for values, others, set_limits in (
        (
            [float(point.makespan_s) for point in front.points],
            [float(plan.makespan_s) for plan in plans.values()],
            axes.set_xlim,
        ),
        ([point.cost_usd for point in front.points], [plan.cost_usd for plan in plans.values()], axes.set_ylim),
    ):
        low, high = min(values), max(values)
        span = max(high - low, 0.1 * high, 1e-9)
        shown = [value for value in others if value <= high + _MOST_TIMES_WIDER * span]
        high = max([high, *shown])
        margin = 0.06 * (high - low) if high > low else span
        set_limits(max(low - margin, 0.0), high + margin)
    axes.locator_params(axis="x", integer=True)


def _draw_front(axes: Axes, front: ParetoFront) -> None:
    """Between two points the cost is that of the faster one; the lower bounds are drawn where they are less."""
    points = front.points
    makespans = [point.makespan_s for point in points]
    costs = [point.cost_usd for point in points]
    # Up to the right edge, where the cheapest plan is still the cheapest; up to the top, where nothing is faster.
    right, top = axes.get_xlim()[1], axes.get_ylim()[1]
    axes.step(
        [makespans[0], *makespans, max(right, makespans[-1])],
        [max(top, costs[0]), *costs, costs[-1]],
        where="post",
        color=_FRONT_COLOUR,
        linewidth=1.2,
        alpha=0.7,
        zorder=2,
    )
    size = 5.5 if len(points) <= 100 else 3.5
    for proven, face, label in ((True, _FRONT_COLOUR, "proven"), (False, "white", "not proven")):
        mine = [point for point in points if point.proven == proven]
        if mine:
            axes.plot(
                [point.makespan_s for point in mine],
                [point.cost_usd for point in mine],
                linestyle="none",
                marker="o",
                markersize=size,
                markerfacecolor=face,
                markeredgecolor=_FRONT_COLOUR,
                label=f"front, {label} ({len(mine)})",
                zorder=4,
            )
    apart = [point for point in points if not point.proven and point.bound_cost_usd < point.cost_usd]
    bottom = axes.get_ylim()[0]
    if apart:
        axes.vlines(
            [point.makespan_s for point in apart],
            [max(point.bound_cost_usd, bottom) for point in apart],
            [point.cost_usd for point in apart],
            color=_FRONT_COLOUR,
            linewidth=0.8,
            linestyle=":",
            label="down to the proven bound of the cost",
            zorder=1,
        )


def _draw_plans(axes: Axes, front: ParetoFront, plans: Mapping[str, Schedule]) -> None:
    """Mark other plans, those out of the picture in the legend only."""
    right, top = axes.get_xlim()[1], axes.get_ylim()[1]
    for number, (name, plan) in enumerate(plans.items()):
        style: dict[str, Any] = {
            "linestyle": "none",
            "marker": _PLAN_MARKERS[number % len(_PLAN_MARKERS)],
            "color": _PLAN_COLOURS[number % len(_PLAN_COLOURS)],
            "markeredgecolor": "white",
            "markersize": 8.5,
            "zorder": 3.5,  # under the front, which matters most
        }
        if plan.makespan_s > right or plan.cost_usd > top:
            axes.plot(
                [], [], label=f"{name}: {plan.makespan_s:,} s, $ {plan.cost_usd:.4g} (out of the picture)", **style
            )
            continue
        axes.plot([plan.makespan_s], [plan.cost_usd], label=name, **style)
        # Labels on the side where there is room, and one above the other where plans lie close together.
        left = plan.makespan_s > sum(axes.get_xlim()) / 2 + 0.3 * (right - axes.get_xlim()[0])
        axes.annotate(
            name,
            (plan.makespan_s, plan.cost_usd),
            xytext=(-8 if left else 8, 6 + 11 * _close_before(axes, list(plans.values()), number)),
            textcoords="offset points",
            ha="right" if left else "left",
            fontsize=8.5,
            color=style["color"],
            zorder=6,
            parse_math=False,
        )


def _close_before(axes: Axes, plans: list[Schedule], number: int) -> int:
    """How many of the plans before lie so close that their labels would overlap."""
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    plan = plans[number]
    return sum(
        abs(other.makespan_s - plan.makespan_s) < 0.07 * (right - left)
        and abs(other.cost_usd - plan.cost_usd) < 0.04 * (top - bottom)
        for other in plans[:number]
    )


def _draw_best(axes: Axes, front: ParetoFront) -> None:
    """Mark the optimum of the instance's objective, and draw where the objective is the same."""
    best = best_point(front)
    if best is None:
        return
    value = _objective(front.instance, best)
    axes.plot(
        [best.makespan_s],
        [best.cost_usd],
        linestyle="none",
        marker="*",
        markersize=16,
        color=_BEST_COLOUR,
        markeredgecolor="white",
        label=f"optimum of the objective ({value:.6g})",
        zorder=4.5,
    )
    cost_weight, time_weight = objective_weights(front.instance)
    if cost_weight > 0 and time_weight > 0 and len(front.points) > 1:
        limits = axes.get_xlim()
        costs = [best.cost_usd + (best.makespan_s - makespan) * time_weight / cost_weight for makespan in limits]
        axes.plot(
            limits,
            costs,
            color=_BEST_COLOUR,
            linewidth=0.9,
            linestyle="--",
            alpha=0.7,
            label="same objective",
            zorder=1.5,
        )
