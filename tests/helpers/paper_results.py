"""What the comparison with every paper must be: judged, documented, and none if the user stops it."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spotbag.core.limits import LimitReached
from spotbag_papers.page import MOST_LINES, PAGES, page_texts
from spotbag_papers.paper import Options, Paper, Runs, compare
from spotbag_papers.paper_tables import PublishedComparisonResult

DOCS = Path(__file__).parents[2] / "docs"
_REPLAYED: dict[str, Any] = {}
_COMPARED: dict[str, PublishedComparisonResult] = {}


def replayed(paper: Paper[Options, Runs], options: Options) -> Runs:
    """Return the runs of a paper; a process makes them once."""
    key = f"{paper.name} {options}"
    if key not in _REPLAYED:
        _REPLAYED[key] = paper.replay(options, lambda done, label: None)
    runs: Runs = _REPLAYED[key]
    return runs


def compared(paper: Paper[Options, Runs], options: Options) -> PublishedComparisonResult:
    """Return the comparison with a paper; a process makes it once."""
    key = f"{paper.name} {options}"
    if key not in _COMPARED:
        runs = replayed(paper, options)
        _COMPARED[key] = compare(replace(paper, replay=lambda *given: runs), options)
    return _COMPARED[key]


def demand_judged_claims(result: PublishedComparisonResult, number: int) -> None:
    """Demand so many claims, each with our numbers; one that does not hold has a reason."""
    assert len(result.claims) == number
    for claim in (*result.claims, *result.findings):
        assert claim.ours
    for claim in result.claims:
        assert claim.reason or claim.verdict == "holds", claim


def text_of_page(name: str, result: PublishedComparisonResult) -> str:
    """Return the page of a paper and its appendix as they were if all settings came to the same result."""
    page = PAGES[name]
    same = {setting.name: result for setting in page.paper.replays(page.options)}
    return "\n".join(page_texts(page, same).values())


def demand_page(name: str, result: PublishedComparisonResult) -> None:
    """Demand that the page of a paper is the present one but for numbers, that it is short, and has its pictures."""
    new, paths = text_of_page(name, result), [DOCS / file for file in PAGES[name].files.values()]
    path = paths[0]
    assert path.read_text(encoding="utf-8").count("\n") <= MOST_LINES
    written = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    headings = [re.findall(r"^#+ .*$", text, re.MULTILINE) for text in (written, new)]
    assert headings[0] == headings[1]
    for claim in (*result.claims, *result.findings):
        assert f"| {claim.statement} |" in new
        assert f"| {claim.statement} |" in written
    for note in result.notes:
        assert note in " ".join(new.split())
    for picture in re.findall(r"\]\(([^()]*\.png)\)", written):
        assert (path.parent / picture).is_file()


def demand_no_result_if_stopped(paper: Paper[Any, Any], options: Any) -> None:
    """Demand that there are no means of fewer runs."""
    stop = threading.Event()
    with pytest.raises(LimitReached):
        compare(paper, options, lambda done, label: stop.set(), stop)
