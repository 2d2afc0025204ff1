"""Pictures of how a search converges."""

from __future__ import annotations

from pathlib import Path

import pytest

from spotbag.charts.bags.convergence import write_convergence
from spotbag.core.errors import SpotbagError
from spotbag.instances.library import library_instance
from spotbag.solvers.bags.solve import solve


def test_the_convergence_is_plotted(tmp_path: Path) -> None:
    result = solve(library_instance("burst-hads/J60"), "ils")
    write_convergence(result, tmp_path / "ils.svg")
    assert (tmp_path / "ils.svg").read_text().startswith("<?xml")
    write_convergence(solve(library_instance("hads/J60"), "search"), tmp_path / "search.png")
    assert (tmp_path / "search.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(SpotbagError, match="greedy keeps no trace"):
        write_convergence(solve(library_instance("hads/J60"), "greedy"), tmp_path / "x.png")
    with pytest.raises(SpotbagError, match=r"is \.png, \.svg or \.pdf"):
        write_convergence(result, tmp_path / "x.html")
