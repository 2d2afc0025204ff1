"""Sensitivity of the results to assumptions where Thai et al. are silent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...claims import show
from ...paper import Sensitivity, Setting
from ...paper_result import PublishedComparisonResult
from .settings import KNOWN, STREAM, UNKNOWN, ThaiOptions


def _number(policy: str, quantity: str, digits: int) -> Callable[[PublishedComparisonResult], str]:
    return lambda result: show(result.row("Table 3", quantity, STREAM, "", policy).ours, digits)


def _settings(options: ThaiOptions) -> Sequence[Setting[ThaiOptions]]:
    """Return settings that each change one thing; lengths of the sampling phase are not compared again."""
    base = replace(options, sampling_fractions=())
    return [
        *(
            Setting("scale of our run times", f"{100 * scale:g} %", replace(base, run_time_scale=scale))
            for scale in (0.9, 0.95, 1.05, 1.1)
        ),
        Setting("spread of our run times", "none", replace(base, run_time_spread=0.0)),
        Setting("spread of our run times", "half", replace(base, run_time_spread=0.5)),
        Setting("app2", "as long on all types", replace(base, sequential_app2=True)),
        Setting("creation of a VM", "0 s", replace(base, creation_overhead_s=0)),
        *(
            Setting("sampling phase", f"{100 * fraction:g} % of the time", replace(base, sampling_fraction=fraction))
            for fraction in (0.05, 0.2)
        ),
        Setting("existing VMs take new tasks", "in paid blocks only", replace(base, paid_blocks=True)),
        Setting("VMs of fixed settings end", "each for itself", replace(base, fixed_vms_end="each")),
        Setting("price of a block", "a sixth", replace(base, block_price="sixth")),
        Setting("draws", f"{options.runs} others", replace(base, seed=options.seed + options.runs)),
    ]


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
