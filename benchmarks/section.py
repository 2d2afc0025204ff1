"""A section of the docs on a paper: its prose is a template beside the paper, its numbers come from the runs.

It is written between two marks, or at the end of a page without them; its pictures go beside the page. `spotbag.docs`
writes all sections.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import SpotbagError
from ..core.tables import Column, Table
from ..core.text_files import write_text
from .claims import verdict_in_words, verdicts_in_words
from .paper import Paper, PaperOptions, compare
from .paper_pictures import prepare_pictures, write_pictures
from .paper_result import PublishedComparisonResult
from .paper_tables import claims_table, docs_table, markdown_table

if TYPE_CHECKING:
    from jinja2 import Environment

_WIDTH = 120
_TEMPLATE = "section.md.j2"

Results = Mapping[str, PublishedComparisonResult]
"""By what the options are called; the first is what tables are of."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the docs.

    Attributes
    ----------
    page : str
        File in the folder of the docs.
    folder : str
        Of the paper, as a package below this one.
    paper : Paper
        The paper.
    options : mapping of str to PaperOptions
        Options by what they are called; with the first, the tables are made.
    facts : callable
        From the results to what the template needs beside them, by name.
    """

    page: str
    folder: str
    paper: Paper[Any, Any]
    options: Mapping[str, PaperOptions]
    facts: Callable[[Results], Mapping[str, Any]] = lambda results: {}

    @property
    def name(self) -> str:
        """What the section is called."""
        return self.folder.rpartition(".")[2]

    @property
    def marks(self) -> tuple[str, str]:
        """First and last line of the section, by which it is found."""
        return (
            f"<!-- written by spotbag.docs: {self.name} -->",
            f"<!-- end of what it writes: {self.name} -->",
        )


def section_text(section: Section, results: Results) -> str:
    """Return a section in Markdown."""
    result = next(iter(results.values()))

    def table(name: str, number: int = 1, scenarios: Collection[str] | None = None) -> str:
        """Return a table of the paper; several of a name are counted from 1."""
        found = [entry for entry in section.paper.tables if entry.name == name][number - 1]
        rows = [row for row in result.rows if scenarios is None or row.scenario in scenarios]
        return markdown_table(docs_table(found, rows))

    environment = _environment()
    stated = section.paper.stated
    template = resources.files(f"{__package__}.{section.folder}").joinpath(_TEMPLATE).read_text(encoding="utf-8")
    body = environment.from_string(template).render(
        result=result,
        results=results,
        table=table,
        claims=markdown_table(claims_table(result)),
        verdicts=f"Of {len(result.claims)} statements, {verdicts_in_words(result.claims)}",
        notes="\n".join(fill(f"{number}. {note}", "   ") for number, note in enumerate(result.notes, start=1)),
        by_options=markdown_table(_by_options(results)),
        stated="" if stated is None else markdown_table(stated.table(result.rows)),
        **section.facts(results),
    )
    begin, end = section.marks
    return f"{begin}\n\n{body.strip()}\n\n{end}\n"


def _environment() -> Environment:
    """Return what reads the templates.

    Raises
    ------
    SpotbagError
        If Jinja is not installed; it is only needed to write the docs.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ModuleNotFoundError:
        raise SpotbagError("the sections of the docs need jinja2: pip install 'spotbag[dev]'") from None
    environment = Environment(undefined=StrictUndefined, lstrip_blocks=True)
    environment.filters["fill"] = fill
    environment.filters["in_words"] = verdict_in_words
    return environment


def _by_options(results: Results) -> Table:
    """Return the verdict on each statement under each of the options."""
    lines = zip(*(result.claims for result in results.values()), strict=True)
    cells = [
        [line[0].statement]
        + [f"{claim.verdict}: {claim.ours}" if "misses" in claim.statement else claim.verdict for claim in line]
        for line in lines
    ]
    return Table([Column("the paper says"), *map(Column, results)], cells)


def fill(text: str, indent: str = "") -> str:
    """Break a paragraph into lines; all but the first begin with an indent."""
    text = " ".join(text.split())
    return textwrap.fill(text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def with_section(text: str, new: str) -> str:
    """Return a text with a new section in place of the old one, or at its end.

    The first and the last line of the section are the marks by which the old one is found.
    """
    lines = new.strip().splitlines()
    begin, end = lines[0], lines[-1]
    if begin not in text or end not in text:
        return f"{text.rstrip()}\n\n{new}" if text.strip() else new
    before, rest = text.split(begin, 1)
    return before + new.rstrip() + rest.split(end, 1)[1]


def results_of(section: Section) -> Results:
    """Replay a paper under all options of its section."""
    _environment()  # what is missing is said before the replays of many minutes, not after them
    return {name: compare(section.paper, options) for name, options in section.options.items()}


def write_section(section: Section, folder: Path) -> None:
    """Replay a paper, and write its section and the pictures that are in it."""
    prepare_pictures(str(folder))
    results = results_of(section)
    new = section_text(section, results)
    path = folder / section.page
    write_text(path, with_section(path.read_text(encoding="utf-8"), new))
    pictures = re.findall(r"\]\(([\w-]+)\.png\)", new)
    write_pictures(section.paper.pictures, next(iter(results.values())).rows, folder, pictures)


def is_stale(section: Section, folder: Path) -> bool:
    """Replay a paper, and say whether its section has other numbers or words now."""
    page = (folder / section.page).read_text(encoding="utf-8")
    return with_section(page, section_text(section, results_of(section))) != page
