"""Claims of the A2HA paper about its results, judged by replays."""

from __future__ import annotations

from collections.abc import Iterator

from ...claims import Claim
from .prediction_claims import prediction_claims
from .printed import a2ha_figures
from .ratio_claims import ratio_claims
from .runs import A2haRuns
from .speedup_claims import speedup_claims
from .table_claims import table_claims


def a2ha_claims(runs: A2haRuns) -> Iterator[Claim]:
    """Judge the statements of sections 3 and 4 that a replay can judge, in their order."""
    figures = a2ha_figures()
    yield from prediction_claims(figures, runs)
    yield from ratio_claims(figures, runs)
    yield from speedup_claims(figures, runs)
    yield from table_claims(figures, runs)
