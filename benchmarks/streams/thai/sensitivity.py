"""Sensitivity of the results to assumptions where Thai et al. are silent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...claims import show
from ...paper import Change, Sensitivity, Setting, changed
from ...paper_result import PublishedComparisonResult
from .settings import KNOWN, STREAM, UNKNOWN, ThaiOptions


def _number(policy: str, quantity: str, digits: int) -> Callable[[PublishedComparisonResult], str]:
    return lambda result: show(result.row("Table 3", quantity, STREAM, "", policy).ours, digits)


def _settings(options: ThaiOptions) -> Sequence[Setting[ThaiOptions]]:
    """Return settings that each change one thing; lengths of the sampling phase are not compared again."""
    changes: list[Change] = [
        *(
            ("scale of our run times", f"{100 * scale:g} %", {"run_time_scale": scale})
            for scale in (0.9, 0.95, 1.05, 1.1)
        ),
        ("spread of our run times", "none", {"run_time_spread": 0.0}),
        ("spread of our run times", "half", {"run_time_spread": 0.5}),
        ("app2", "as long on all types", {"sequential_app2": True}),
        ("creation of a VM", "0 s", {"creation_overhead_s": 0}),
        *(("sampling phase", f"{100 * part:g} % of the time", {"sampling_fraction": part}) for part in (0.05, 0.2)),
        ("existing VMs take new tasks", "in paid blocks only", {"paid_blocks": True}),
        ("VMs of fixed settings end", "each for itself", {"fixed_vms_end": "each"}),
        ("price of a block", "a sixth", {"block_price": "sixth"}),
        ("draws", f"{options.runs} others", {"seed": options.seed + options.runs}),
    ]
    return changed(replace(options, sampling_fractions=()), options.runs, changes)


SENSITIVITY = Sensitivity(
    {
        "known ($)": _number(KNOWN, "cost_usd", 3),
        "unknown ($)": _number(UNKNOWN, "cost_usd", 3),
        "large.4 ($)": _number("large.4", "cost_usd", 3),
        "late, known": _number(KNOWN, "late_tasks", 1),
        "late, unknown": _number(UNKNOWN, "late_tasks", 1),
        "late, large.5": _number("large.5", "late_tasks", 1),
    },
    _settings,
)
