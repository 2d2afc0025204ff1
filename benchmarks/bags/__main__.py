"""The tables of docs/replay.md on the papers: ``python -m spotbag.benchmarks.published``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..claims import show
from ..paper import ComparisonRow, PublishedComparisonResult
from ..paper_tables import print_table
from .burst_hads.rows import BOTH, bench_burst_hads
from .hads.rows import bench_hads
from .paper_days import DayOptions

_WORKERS = 2

_HADS = (
    ("hibernations", "hads", "hibernations", 2),
    ("makespan (s)", "hads", "makespan_s", 0),
    ("cost ($)", "hads", "cost_usd", 3),
    ("saving (%)", "hads", "saving_percent", 1),
)
_BURST_HADS = (
    ("Burst-HADS ($)", "burst-hads", "cost_usd", 3),
    ("HADS ($)", "hads", "cost_usd", 3),
    ("Burst-HADS (s)", "burst-hads", "makespan_s", 0),
    ("HADS (s)", "hads", "makespan_s", 0),
    ("shorter by (%)", BOTH, "makespan_reduction_percent", 1),
)

_Columns = Sequence[tuple[str, str, str, int]]


def _table(result: PublishedComparisonResult, name: str, columns: _Columns) -> Iterator[Sequence[str]]:
    """Printed and our numbers of a table, as ``printed / ours``."""
    rows: dict[tuple[str, str], dict[tuple[str, str], ComparisonRow]] = {}
    for row in result.rows:
        if row.table == name:
            rows.setdefault((row.job, row.scenario), {})[row.policy, row.quantity] = row
    for (job, scenario), found in rows.items():
        cells = []
        for _, policy, quantity, digits in columns:
            row = found[policy, quantity]
            cells.append(f"{row.printed:,.{digits}f} / {show(row.ours, digits)}")
        yield job, scenario, *cells


def _claims(result: PublishedComparisonResult) -> Iterator[Sequence[str]]:
    for claim in result.claims:
        yield claim.statement, claim.verdict, claim.ours, claim.reason


def _verdicts(results: Sequence[PublishedComparisonResult]) -> Iterator[Sequence[str]]:
    """The same claims under several options."""
    for claims in zip(*(result.claims for result in results), strict=True):
        yield (
            claims[0].statement,
            *(f"{claim.verdict}: {claim.ours}" if "misses" in claim.statement else claim.verdict for claim in claims),
        )


def main() -> None:
    """Print the tables."""
    options = [
        DayOptions(workers=_WORKERS),
        DayOptions(workers=_WORKERS, rate_scale=0.5),
        DayOptions(workers=_WORKERS, d_spot="estimated"),
    ]
    variants = ("as printed", "--rate-scale 0.5", "--d-spot estimated")
    hads = [bench_hads(entry) for entry in options]
    print_table("HADS, claims", ("the paper says", "on our days it", "our numbers", "why"), _claims(hads[0]))
    print_table(
        "HADS, Table 10", ("job", "scenario", *(column[0] for column in _HADS)), _table(hads[0], "Table 10", _HADS)
    )
    print_table("HADS, claims by options", ("the paper says", *variants), _verdicts(hads))
    burst = [bench_burst_hads(entry) for entry in options] + [bench_burst_hads(options[0], "instance")]
    print_table("Burst-HADS, claims", ("the paper says", "on our days it", "our numbers", "why"), _claims(burst[0]))
    columns = ("job", "scenario", *(column[0] for column in _BURST_HADS))
    print_table("Burst-HADS, Table VI", columns, _table(burst[0], "Table VI", _BURST_HADS))
    print_table("Burst-HADS, claims by options", ("the paper says", *variants, "--scales instance"), _verdicts(burst))


if __name__ == "__main__":
    main()
