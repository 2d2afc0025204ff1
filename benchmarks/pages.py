"""The pages of the docs on the papers, which ``python -m spotbag_papers.generated --papers`` writes."""

from __future__ import annotations

from .page import Page
from .papers import PLACES, paper_named

_WORKERS = 2

PAGES: dict[str, Page] = {name: Page(paper := paper_named(name), paper.options(workers=_WORKERS)) for name in PLACES}
"""Pages by name."""
