"""The paper on Burst-HADS: Teylo et al., 2020."""

from __future__ import annotations

from ...paper import Paper
from .claims import burst_hads_claims, burst_hads_findings
from .notes import burst_hads_notes
from .runs import BurstHadsDays, BurstHadsOptions, burst_hads_days, n_burst_hads_days
from .sensitivity import SENSITIVITY
from .tables import HEADLINE, STATED, TABLES, burst_hads_rows

BURST_HADS: Paper[BurstHadsOptions, BurstHadsDays] = Paper(
    name="Burst-HADS",
    runs_are="days of each cell",
    n_runs=n_burst_hads_days,
    replay=burst_hads_days,
    rows=burst_hads_rows,
    claims=burst_hads_claims,
    findings=burst_hads_findings,
    notes=burst_hads_notes,
    tables=TABLES,
    headline=HEADLINE,
    sensitivity=SENSITIVITY,
    plans=lambda days: (plan for rivals in days.rivals.values() for plan in rivals.plans),
    stated=STATED,
)
