"""Why our figures of the A2HA paper are not the printed ones, with the numbers that say so."""

from __future__ import annotations

from collections.abc import Iterator

from .a2ha_figures import A2haFigures
from .a2ha_runs import A2haRuns


def a2ha_notes(figures: A2haFigures, runs: A2haRuns) -> Iterator[str]:
    """Reasons, each with the paper's own numbers where they contradict each other."""
    yield "todo"
