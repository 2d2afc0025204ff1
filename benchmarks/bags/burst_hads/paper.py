"""The paper on Burst-HADS: Teylo et al., 2020."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...paper import Paper, Sensitivity, Setting
from .claims import burst_hads_claims
from .notes import burst_hads_notes
from .rows import burst_hads_rows
from .runs import BurstHadsDays, BurstHadsOptions, burst_hads_days, n_burst_hads_days
from .tables import STATED, TABLES


def _settings(options: BurstHadsOptions) -> Sequence[Setting[BurstHadsOptions]]:
    return [
        Setting("rates of the scenarios", "half", replace(options, rate_scale=0.5)),
        Setting("D_spot", "by Algorithm 1", replace(options, d_spot="estimated")),
        Setting("scales of the search", "of the instance", replace(options, scales="instance")),
    ]


BURST_HADS: Paper[BurstHadsOptions, BurstHadsDays] = Paper(
    name="Burst-HADS",
    runs_are="days of each cell",
    n_runs=n_burst_hads_days,
    replay=burst_hads_days,
    rows=burst_hads_rows,
    claims=burst_hads_claims,
    notes=burst_hads_notes,
    tables=TABLES,
    sensitivity=Sensitivity({}, _settings),
    headline=TABLES[0],
    plans=lambda days: (plan for rivals in days.rivals.values() for plan in rivals.plans),
    stated=STATED,
)
