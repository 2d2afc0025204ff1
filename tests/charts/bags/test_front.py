"""Pictures of Pareto fronts."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from matplotlib.figure import Figure

from spotbag.charts.bags.plots import front_plot, plot_front, write_front
from spotbag.core.errors import SpotbagError
from spotbag.instances.bags.generator import generate_instance
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.bags.pareto import ParetoFront, pareto_front
from spotbag.solvers.bags.solve import solve
from tests.helpers.tiny_core_instances import few_classes_instance, hand_instance


@pytest.fixture(scope="module")
def front() -> ParetoFront:
    return pareto_front(few_classes_instance([3, 5, 4]))


@pytest.mark.parametrize("ending", ["svg", "html"])
def test_pictures(ending: str, front: ParetoFront, tmp_path: Path) -> None:
    plans = {method: plan for method in ("greedy", "lpt") if (plan := solve(front.instance, method).schedule)}
    path = tmp_path / f"front.{ending}"
    write_front(front, path, plans)
    data = path.read_text()
    write_front(front, path, plans)
    assert path.read_text() == data
    for text in ("makespan (s)", "cost ($)", "front, proven", "greedy", "optimum of the objective"):
        assert text in data


def test_a_picture_shows_what_is_not_proven(tmp_path: Path) -> None:
    instance = generate_instance(40, seed=1, name="bag", d_spot_fraction=0.8, goal="balanced")
    known = [solve(instance, "greedy").schedule, solve(instance, "lpt").schedule]
    front = pareto_front(instance, time_limit_s=1e-6, initial=[plan for plan in known if plan is not None])
    write_front(front, tmp_path / "front.svg")
    text = (tmp_path / "front.svg").read_text()
    assert "front, not proven" in text
    assert "front, proven" not in text
    assert "optimum of the objective" not in text
    nothing = pareto_front(hand_instance([8, 8, 8], deadline_s=12, d_spot_s=12))
    with pytest.raises(SpotbagError, match="without points"):
        write_front(nothing, tmp_path / "none.svg")
    with pytest.raises(SpotbagError, match=r"must end in \.png, \.svg, \.pdf, \.html"):
        write_front(front, tmp_path / "front.gif")


def test_a_front_is_drawn_onto_axes(front: ParetoFront) -> None:
    axes = Figure(figsize=(5, 3)).add_subplot()
    assert plot_front(front, axes) is axes
    [points] = [line for line in axes.get_lines() if str(line.get_label()).startswith("front, proven")]
    assert [tuple(point) for point in points.get_xydata()] == [
        (point.makespan_s, point.cost_usd) for point in front.points
    ]


def dear(front: ParetoFront) -> float:
    """A cost above all of a front that its picture still shows."""
    costs = [point.cost_usd for point in front.points]
    return max(costs) + 2 * (max(costs) - min(costs))


def of(makespan_s: float, cost_usd: float) -> Schedule:
    """What a picture of a front asks of a plan beside it."""
    return cast("Schedule", SimpleNamespace(makespan_s=round(makespan_s), cost_usd=cost_usd))


def test_the_name_of_the_dearest_plan_stays_within_the_picture(front: ParetoFront) -> None:
    axes = plot_front(
        front, Figure(figsize=(6, 2.5)).add_subplot(), {"dear": of(front.points[0].makespan_s, dear(front))}
    )
    [name] = [text for text in axes.texts if text.get_text() == "dear"]
    assert name.get_window_extent().y1 < axes.get_window_extent().y1


def test_a_plan_out_of_the_picture_does_not_squeeze_the_front(front: ParetoFront) -> None:
    alone = front_plot(front)
    beside = front_plot(front, {"far": of(100 * front.points[-1].makespan_s, dear(front))})
    assert (beside.x_range, beside.y_range) == (alone.x_range, alone.y_range)
