"""What the comparison with every paper must be: judged, documented, and none if the user stops it."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from spotbag.benchmarks.paper import Paper, compare
from spotbag.benchmarks.paper_result import PublishedComparisonResult
from spotbag.core.limits import LimitReached

DOCS = Path(__file__).parents[2] / "docs"


def demand_judged_claims(result: PublishedComparisonResult, number: int) -> None:
    """Demand so many claims, each with our numbers; one that does not hold has a reason."""
    assert len(result.claims) == number
    for claim in result.claims:
        assert claim.ours
        assert (claim.reason == "") == (claim.verdict == "holds"), claim


def demand_docs(result: PublishedComparisonResult, page: str, marks: tuple[str, str], pictures: Iterable[str]) -> None:
    """Demand that the section of a page has all claims, and pictures that are there."""
    text = (DOCS / page).read_text(encoding="utf-8")
    written = text[text.index(marks[0]) : text.index(marks[1])]
    for claim in result.claims:
        assert f"| {claim.statement} |" in written
    for name in pictures:
        assert f"]({name}.png)" in written
        assert (DOCS / f"{name}.png").is_file()


def demand_no_result_if_stopped(paper: Paper[Any, Any], options: Any) -> None:
    """Demand that there are no means of fewer runs."""
    stop = threading.Event()
    with pytest.raises(LimitReached):
        compare(paper, options, lambda done, label: stop.set(), stop)
