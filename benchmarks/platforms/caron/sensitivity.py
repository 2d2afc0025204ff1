"""Sensitivity of the claims of Caron & de Assuncao to the assumptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ...paper import Sensitivity, Setting
from ...paper_result import PublishedComparisonResult
from .assumptions import Assumptions
from .settings import BUDGETS, GRID_BUDGETS, GRID_PROCESSORS, CaronOptions
from .tables import GRID, PAIR


def _lower_percent(result: PublishedComparisonResult, table: str, metric: str) -> str:
    """Percentage of the settings with the lower number, among those where two policies differ."""
    counts = dict.fromkeys(("lower", "higher", "open"), 0.0)
    for row in result.rows:
        if (row.table, row.scenario) == (table, metric) and row.quantity in counts:
            counts[row.quantity] += row.ours.mean or 0.0
    total = sum(counts.values())
    return f"{100 * counts['lower'] / total:.0f}" if total else "-"


_COLUMNS = {
    "cost lower (%)": partial(_lower_percent, table=GRID, metric="cost"),
    "time lower (%)": partial(_lower_percent, table=GRID, metric="execution_time_h"),
    "delay lower (%)": partial(_lower_percent, table=GRID, metric="delay_h"),
    "A cheaper than B (%)": partial(_lower_percent, table=PAIR, metric="cost"),
}

_FEW, _MANY = (25, 50, 100), (200, 400)

LEAST_EXPONENT = 0.75

_ASSUMED: Mapping[str, Mapping[str, Assumptions]] = {
    "machines of the cloud (printed: 8 processors)": {"2 processors": Assumptions(processors_per_vm=2)},
    "what a cloud promises": {"as it will be": Assumptions(estimates="exact")},
    "processors of the shortest run time": {"both clusters": Assumptions(deadline_clusters=2)},
    "time between arrivals (printed: 60 s)": {
        "30 s": Assumptions(mean_gap_s=30),
        "120 s": Assumptions(mean_gap_s=120),
    },
    "round robin": {"in turn, not drawn": Assumptions(round_robin="in turn")},
    "speed-up on p processors": {
        f"p^{exponent:g}": Assumptions(speed_up_exponent=exponent) for exponent in (0.9, LEAST_EXPONENT)
    },
}


def _settings(options: CaronOptions) -> Sequence[Setting[CaronOptions]]:
    """Settings of other replays, with the judged runs alone, and few trees: these stay as they are."""
    few_trees = {resources: (fan_outs[0], fan_outs[-1]) for resources, fan_outs in options.fan_outs.items()}
    return [
        Setting(assumption, value, replace(options, only_statements=True, fan_outs=few_trees, **changes))
        for assumption, value, changes in _changes()
    ]


def _changes() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for processors in GRID_PROCESSORS:
        yield "processors of each cluster", f"{processors}", {"processors": (processors,)}
    for numbers in (_FEW, _MANY):
        yield "jobs", f"{numbers[0]} to {numbers[-1]}", {"numbers": numbers}
    for low, high in GRID_BUDGETS:
        yield "budget for a processor-minute", f"{low:g} to {high:g}", {"budgets": ((low, high),)}
    for assumption, values in _ASSUMED.items():
        for value, assumed in values.items():
            yield assumption, value, {"assumptions": assumed, "budgets": (BUDGETS,)}


SENSITIVITY: Sensitivity[CaronOptions] = Sensitivity(_COLUMNS, _settings)
