"""The paper of Caron and de Assuncao, 2016; its own numbers are lost with its pictures."""

from __future__ import annotations

from ...paper import Paper
from .claims import caron_claims
from .findings import caron_findings
from .notes import caron_notes
from .pictures import PICTURES
from .runs import CaronRuns, caron_runs, n_caron_runs
from .sensitivity import SENSITIVITY
from .settings import CaronOptions
from .tables import AGAINST_ROUND_ROBIN, TABLES, caron_rows

CARON: Paper[CaronOptions, CaronRuns] = Paper(
    name="Caron & de Assuncao",
    runs_are="draws of each set of jobs",
    n_runs=n_caron_runs,
    replay=caron_runs,
    rows=caron_rows,
    claims=caron_claims,
    findings=caron_findings,
    notes=caron_notes,
    tables=TABLES,
    headline=AGAINST_ROUND_ROBIN,
    sensitivity=SENSITIVITY,
    pictures=PICTURES,
)
