"""The page of the docs on a paper: its prose is a template beside the paper, its numbers come from the runs.

All pages have the headings of ``page.md.j2``, in its order; the template of a paper fills its blocks.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.text_files import write_text
from ..core.text_tables import Column, Table
from .claims import FITTED, WORDS, Claim, Verdict, verdict_in_words, verdicts_in_words
from .paper import Paper, PaperOptions, compare
from .paper_pictures import prepare_pictures, write_pictures
from .paper_result import PublishedComparisonResult
from .paper_tables import claims_table, docs_table, findings_table, markdown_table

if TYPE_CHECKING:
    from jinja2 import Environment

_WIDTH = 120
_TEMPLATE = "page.md.j2"
FOLDER = "papers"
"""Folder of the pages in the docs."""

Results = Mapping[str, PublishedComparisonResult]
"""By the names of the settings; the first, without an assumption, is that of the page."""


@dataclass(frozen=True, slots=True)
class Page:
    """The page of a paper.

    Attributes
    ----------
    name : str
        Of the paper, as in ``spotbag bench``.
    folder : str
        Of the paper, as a package below this one.
    paper : Paper
        The paper.
    options : PaperOptions
        How it is replayed.
    facts : callable
        From the results to what the template needs beside them, by name.
    """

    name: str
    folder: str
    paper: Paper[Any, Any]
    options: PaperOptions
    facts: Callable[[Results], Mapping[str, Any]] = lambda results: {}

    @property
    def file(self) -> str:
        """File of the page in the folder of the docs."""
        return f"{FOLDER}/{self.name}.md"


def page_text(page: Page, results: Results) -> str:
    """Return a page in Markdown."""
    result = next(iter(results.values()))

    def table(name: str, number: int = 1, scenarios: Collection[str] | None = None) -> str:
        """Return a table of the paper; several of a name are counted from 1."""
        found = [entry for entry in page.paper.tables if entry.name == name][number - 1]
        rows = [row for row in result.rows if scenarios is None or row.scenario in scenarios]
        return markdown_table(docs_table(found, rows))

    stated = page.paper.stated
    body = (
        _environment(page)
        .get_template("paper")
        .render(
            name=page.name,
            folder=page.folder.replace(".", "/"),
            runs_are=page.paper.runs_are,
            result=result,
            results=results,
            table=table,
            verdicts=verdicts_in_words(result.claims),
            fitted=any(claim.fitted for claim in result.claims),
            claims=markdown_table(claims_table(result.claims)),
            reasons="\n".join(_reasons(result.claims)),
            findings=markdown_table(findings_table(result.findings)) if result.findings else "",
            notes="\n".join(fill(f"{number}. {note}", "   ") for number, note in enumerate(result.notes, start=1)),
            stated="" if stated is None else markdown_table(stated.table(result.rows)),
            sensitivity=markdown_table(sensitivity_table(page.paper, page.options, results)),
            **page.facts(results),
        )
    )
    return re.sub(r"\n{3,}", "\n\n", body).strip() + "\n"


def _environment(page: Page) -> Environment:
    """Return the environment with the page's templates."""
    from jinja2 import DictLoader, Environment, StrictUndefined

    packages = {_TEMPLATE: __package__, "paper": f"{__package__}.{page.folder}"}
    templates = {
        name: resources.files(package).joinpath(_TEMPLATE).read_text(encoding="utf-8")
        for name, package in packages.items()
    }
    environment = Environment(loader=DictLoader(templates), undefined=StrictUndefined, lstrip_blocks=True)
    environment.filters["fill"] = fill
    environment.filters["in_words"] = verdict_in_words
    return environment


def _reasons(claims: Sequence[Claim]) -> Iterator[str]:
    """Reasons against statements, as items that begin with their numbers."""
    for number, claim in enumerate(claims, start=1):
        if claim.reason:
            yield fill(f"- **{number}**: {claim.reason[:1].upper()}{claim.reason[1:]}.", "  ")


def sensitivity_table(paper: Paper[Any, Any], options: PaperOptions, results: Results) -> Table:
    """Table of the effects of other assumptions.

    A result is compared with that of the page's own assumptions with as many runs.
    """
    columns = paper.sensitivity.columns
    cells = []
    own: dict[int, PublishedComparisonResult] = {}
    for setting in paper.sensitivity.replays(options):
        result = results[setting.name]
        base = own.setdefault(setting.options.runs, result)
        numbers = [number(result) for number in columns.values()]
        changes = "-" if base is result else _changes(base.claims, result.claims)
        cells.append([setting.assumption or "as on this page", setting.value, *numbers, changes])
    headings = [Column(heading, True) for heading in columns]
    return Table([Column("assumption"), Column("value"), *headings, Column("verdicts that change")], cells)


_SHORT: Mapping[Verdict, str] = {"holds": "holds", "does not hold": "does not", "not decided": "open"}


def _changes(before: Sequence[Claim], after: Sequence[Claim]) -> str:
    """Numbers of the statements whose verdict is another one, and which."""
    changed: dict[Verdict, list[str]] = {}
    for number, (claim, other) in enumerate(zip(before, after, strict=True), start=1):
        if claim.verdict != other.verdict:
            changed.setdefault(other.verdict, []).append(str(number))
    return "; ".join(f"{_SHORT[verdict]}: {', '.join(numbers)}" for verdict, numbers in changed.items()) or "none"


def fill(text: str, indent: str = "") -> str:
    """Break a paragraph into lines; all but the first begin with an indent."""
    text = " ".join(text.split())
    return textwrap.fill(text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def results_of(page: Page) -> Results:
    """Replay a paper, as its page assumes and in all other settings."""
    _environment(page)  # what is missing is said before the replays of many minutes, not after them
    replays = page.paper.sensitivity.replays(page.options)
    return {setting.name: compare(page.paper, setting.options) for setting in replays}


def write_page(page: Page, docs: Path) -> None:
    """Replay a paper, and write its page and the pictures that are in it."""
    folder = docs / FOLDER
    prepare_pictures(str(folder))
    results = results_of(page)
    text = page_text(page, results)
    write_text(docs / page.file, text)
    pictures = re.findall(r"\]\(([\w-]+)\.png\)", text)
    write_pictures(page.paper.pictures, next(iter(results.values())).rows, folder, pictures)


def is_stale(page: Page, docs: Path) -> bool:
    """Replay a paper, and say whether its page has other numbers or words now."""
    path = docs / page.file
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    return page_text(page, results_of(page)) != before


def index_text(docs: Path, pages: Iterable[Page]) -> str:
    """Return the page that leads to all others, with the verdicts that stand in them."""
    rows: list[list[str]] = []
    counts: list[list[int]] = []
    for page in pages:
        path = docs / page.file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        title = re.search(r"^# (.*)$", text, re.MULTILINE)
        verdicts = Counter(_VERDICT.findall(text.partition("\n## Verdicts\n")[2].partition("\n### ")[0]))
        fitted = sum(number for verdict, number in verdicts.items() if verdict.startswith(FITTED))
        counts.append([*(verdicts[word] for word in WORDS), fitted])
        rows.append([f"[{title[1] if title else page.paper.name}]({page.name}.md)", *map(str, counts[-1])])
    rows.append(["all", *map(str, map(sum, zip(*counts, strict=True)))])
    columns = [Column("paper"), *(Column(word, True) for word in (*WORDS, "fitted"))]
    return _INDEX + markdown_table(Table(columns, rows)) + "\n"


_VERDICT = re.compile(r"^\| \d+ \| [^|]* \| ([^|]+) \|", re.MULTILINE)

_INDEX = """\
<!-- Written by `python -m spotbag.generated` from the pages themselves. -->

# The papers

What five papers say, beside what our replays say. All pages have the same order: what the paper says, what is
implemented and where, decisions, tables, verdicts with their reasons, and what other assumptions change.

```bash
python -m spotbag.generated --papers    # replay all papers, and write their pages: minutes
```

How many statements of each paper hold; *fitted* are those that rest on inputs which were fitted to the same numbers,
and are in no other column. Each page has its own rules of what holds: the sums count statements, no more.

"""
