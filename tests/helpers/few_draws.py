"""The pages on the papers with means of few draws: each number that a page has, in a tenth of the time.

``python -m tests.helpers.few_draws`` writes them beside the tests of the papers. Whoever changes what a paper's replays
come to on purpose writes them and the pages of the docs anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from spotbag_papers.page import PAGES, page_texts, results_of

FOLDER = Path(__file__).parents[1] / "benchmarks" / "few_draws"

_FIRST_LINE = "<!-- Written by `python -m tests.helpers.few_draws`: means of few draws, which only tests compare. -->"

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "hads": {"runs": 3},
    "burst-hads": {"runs": 2},
    "thai": {"runs": 3},
    "uniform-progress": {"runs": 2, "fractions": (0.7, 0.8), "changeovers_h": (0.2, 0.4)},
    "a2ha": {"runs": 2, "optimum_runs": 1},
    "caron": {"runs": 2, "grid_draws": 1, "numbers": (25, 200), "processors": (64, 256)},
}
"""What is smaller than on the pages of the docs, by the name of the paper."""


def page_of_few_draws(name: str) -> str:
    """Return the page of a paper and its appendix with the means of few draws."""
    page = replace(PAGES[name], options=replace(PAGES[name].options, workers=1, **OPTIONS[name]))
    rest = [text.partition("\n")[2] for text in page_texts(page, results_of(page)).values()]
    return f"{_FIRST_LINE}\n{''.join(rest)}"


if __name__ == "__main__":
    for paper in PAGES:
        (FOLDER / f"{paper}.md").write_text(page_of_few_draws(paper), encoding="utf-8")
