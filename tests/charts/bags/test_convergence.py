"""Pictures of how a search converges."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from spotbag.charts.bags.plots import plot_convergence, write_convergence
from spotbag.core.errors import SpotbagError
from spotbag.instances.library import library_instance
from spotbag.solvers.bags.result import Result
from spotbag.solvers.bags.solve import solve

pytestmark = pytest.mark.xdist_group("convergence")  # one process searches


@pytest.fixture(scope="module")
def searched() -> Result:
    return solve(library_instance("hads/J60"), "search", options={"moves": 2000})


@pytest.mark.slow
def test_the_convergence_is_plotted(searched: Result, tmp_path: Path) -> None:
    result = solve(library_instance("burst-hads/J60"), "ils")
    write_convergence(result, tmp_path / "ils.svg")
    text = (tmp_path / "ils.svg").read_text()
    assert f">burst-hads/J60, ils, seed 0: objective {result.objective:.6g} with its burstable VMs<" in text
    for part in ("current", "best plan", "relaxed D_spot", "iteration", "objective (1)", "relaxed D_spot (s)"):
        assert f">{part}<" in text, part
    assert f">lower bound ({result.bound:.6g})<" in text
    write_convergence(searched, tmp_path / "search.html")
    text = (tmp_path / "search.html").read_text()
    assert f">hads/J60, search, seed 0: objective {searched.objective:.6g}<" in text
    assert "relaxed D_spot" not in text


def test_the_best_plan_falls_to_the_objective_and_the_bound_is_level(searched: Result) -> None:
    axes = Figure(figsize=(5, 3)).add_subplot()
    assert plot_convergence(searched, axes) is axes
    lines = {line.get_label().split(" (")[0]: list(line.get_ydata()) for line in axes.get_lines()}
    assert list(lines) == ["current", "best plan", "lower bound"]
    # A plan is the best one until the next; what was looked at is joined by straight lines.
    assert [line.get_drawstyle() for line in axes.get_lines()] == ["default", "steps-post", "default"]
    assert all(after <= before + 1e-12 for before, after in pairwise(lines["best plan"]))
    assert lines["best plan"][-1] == pytest.approx(searched.objective)
    assert set(lines["lower bound"]) == {searched.bound}
    assert len(lines["current"]) == len(searched.trace)


def test_what_has_no_picture_of_its_convergence_is_refused(searched: Result, tmp_path: Path) -> None:
    with pytest.raises(SpotbagError, match="greedy keeps no trace"):
        write_convergence(solve(library_instance("hads/J60"), "greedy"), tmp_path / "x.png")
    with pytest.raises(SpotbagError, match=r"must end in \.png, \.svg, \.pdf, \.html"):
        write_convergence(searched, tmp_path / "x.gif")
    assert list(tmp_path.iterdir()) == []
