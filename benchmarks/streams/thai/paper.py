"""The paper of Thai, Varghese and Barker, 2015."""

from __future__ import annotations

from ...paper import Paper
from .claims import thai_claims, thai_findings
from .notes import thai_notes
from .pictures import PICTURES
from .runs import ThaiRuns, n_thai_runs, thai_runs
from .sensitivity import SENSITIVITY
from .settings import ThaiOptions
from .tables import STATED, TABLES, thai_rows

THAI: Paper[ThaiOptions, ThaiRuns] = Paper(
    name="Thai et al.",
    runs_are="draws of the run times",
    n_runs=n_thai_runs,
    replay=thai_runs,
    rows=thai_rows,
    claims=thai_claims,
    notes=thai_notes,
    findings=thai_findings,
    tables=TABLES,
    headline=TABLES[0],
    sensitivity=SENSITIVITY,
    pictures=PICTURES,
    stated=STATED,
)
