"""Numbers in the prose of the page on Thai et al."""

from __future__ import annotations

from typing import Any

from ...claims import ABOUT, show
from ...page import Results
from .claims import NO_IDLE_PERCENT
from .printed import thai_figures
from .settings import KNOWN, STREAM, UNKNOWN


def thai_facts(results: Results) -> dict[str, Any]:
    """Return the meaning of words in verdicts, and the late tasks by the spread of the run times."""
    figures = thai_figures()
    page = next(iter(results.values()))
    spreads = {
        "with no spread": results["spread of our run times: none"],
        "with half of ours": results["spread of our run times: half"],
        "with ours": page,
    }
    late = {
        words: [show(result.row("Table 3", "late_tasks", STREAM, "", policy).ours, 1) for policy in (KNOWN, UNKNOWN)]
        for words, result in spreads.items()
    }
    return {
        "about_points": ABOUT.points,
        "about_percent": ABOUT.percent,
        "no_idle_percent": NO_IDLE_PERCENT,
        "printed_late": [figures.approach(policy).late_tasks for policy in (KNOWN, UNKNOWN)],
        "late_by_spread": late,
        "n_fixed": len(figures.fixed),
    }
