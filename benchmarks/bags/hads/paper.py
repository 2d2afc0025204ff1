"""The paper on HADS: Teylo et al., Cluster Computing 2020."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...paper import Paper, Sensitivity, Setting
from ..paper_days import DayOptions
from .claims import hads_claims
from .notes import hads_notes
from .rows import hads_rows
from .runs import HadsDays, hads_days, n_hads_days
from .tables import TABLES


def _settings(options: DayOptions) -> Sequence[Setting[DayOptions]]:
    return [
        Setting("rates of the scenarios", "half", replace(options, rate_scale=0.5)),
        Setting("D_spot", "by Algorithm 1", replace(options, d_spot="estimated")),
    ]


HADS: Paper[DayOptions, HadsDays] = Paper(
    name="HADS",
    runs_are="days of each cell",
    n_runs=n_hads_days,
    replay=hads_days,
    rows=hads_rows,
    claims=hads_claims,
    notes=hads_notes,
    tables=TABLES,
    sensitivity=Sensitivity({}, _settings),
    headline=TABLES[0],
    plans=lambda days: (baseline.plan for baseline in days.baselines.values()),
)
