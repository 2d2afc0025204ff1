"""The paper on A2HA: Silva, Veiga and Ferreira, 2011."""

from __future__ import annotations

from ...paper import Paper
from .claims import a2ha_claims
from .notes import a2ha_notes
from .pictures import PICTURES
from .printed import a2ha_figures
from .rows import a2ha_rows
from .runs import A2haOptions, A2haRuns, a2ha_runs, n_a2ha_runs
from .tables import TABLES

A2HA: Paper[A2haOptions, A2haRuns] = Paper(
    name="A2HA",
    runs_are="orderings of the tasks",
    n_runs=n_a2ha_runs,
    replay=lambda options, on_runs: a2ha_runs(a2ha_figures().long_cases, options, on_runs),
    rows=a2ha_rows,
    claims=a2ha_claims,
    notes=a2ha_notes,
    tables=TABLES,
    headline=TABLES[0],
    pictures=PICTURES,
)
