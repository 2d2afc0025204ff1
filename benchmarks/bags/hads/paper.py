"""The paper on HADS: Teylo et al., Cluster Computing 2020."""

from __future__ import annotations

from ...paper import Paper
from .claims import hads_claims
from .findings import hads_findings
from .notes import hads_notes
from .runs import HadsDays, HadsOptions, hads_days, n_hads_days
from .sensitivity import SENSITIVITY
from .tables import MEANS_OF_TABLE_10, TABLES, hads_rows

HADS: Paper[HadsOptions, HadsDays] = Paper(
    name="HADS",
    runs_are="days of each cell",
    n_runs=n_hads_days,
    replay=hads_days,
    rows=hads_rows,
    claims=hads_claims,
    findings=hads_findings,
    notes=hads_notes,
    tables=TABLES,
    headline=MEANS_OF_TABLE_10,
    sensitivity=SENSITIVITY,
    plans=lambda days: (baseline.plan for baseline in days.baselines.values()),
)
