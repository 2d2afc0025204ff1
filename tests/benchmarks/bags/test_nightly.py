"""The figures of the project itself become a report."""

from __future__ import annotations

import json
from pathlib import Path

from spotbag.benchmarks.bags.nightly import run
from spotbag.reports.bags.experiment import experiment_report
from spotbag.reports.page import Listing


def test_nightly_figures_become_a_report(tmp_path: Path) -> None:
    run(tmp_path, ["tiny/boot", "tiny/two-cores"], ["greedy", "lpt"], time_limit_s=5)
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["instance"], row["method"]) for row in rows] == [
        (instance, method) for instance in ("tiny/boot", "tiny/two-cores") for method in ("greedy", "lpt")
    ]
    made = {section.title: section.blocks for section in experiment_report(tmp_path, "1").sections}
    [gaps] = made["Gaps"]
    assert isinstance(gaps, Listing)
    # The optimum of tiny/two-cores is 0.3, and the plan of the greedy 0.4.
    assert gaps.table.rows[2][6] == "25.000"
