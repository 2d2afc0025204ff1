"""A report as one page that stands alone: sections of facts, tables, lines and charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias

from ..charts.chart import Chart, Plot
from ..charts.page import drawing_script, figure, text_of
from ..core.text_tables import Table
from ..core.wording import counted, printable

if TYPE_CHECKING:
    from jinja2 import Environment

MAX_BYTES = 5_000_000
"""Most that a page may have."""

MAX_ROWS = 2_000
"""Rows of a table that are shown; of longer ones, only the first."""

_MAX_BARS = 20_000
_LONG = 34
"""Texts of more characters are broken into lines, where they are cells of a table."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading within a section.

    Attributes
    ----------
    title : str
        What it says.
    """

    title: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values.

    Attributes
    ----------
    rows : sequence of (str, str)
        What, and how much.
    """

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Listing:
    """A table that sorts and filters.

    Attributes
    ----------
    title : str
        What it lists.
    table : Table
        Its rows, as they stand at first.
    """

    title: str
    table: Table


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of text, one below the other.

    Attributes
    ----------
    lines : sequence of str
        The lines.
    """

    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A text.

    Attributes
    ----------
    text : str
        The text.
    warning : bool
        Whether it says that something is wrong.
    """

    text: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """Plots of which the reader chooses one to see.

    Attributes
    ----------
    title, about : str
        What they show, and how to read it.
    plots : mapping of str to Plot
        By what is chosen; a single one may have no name.
    """

    title: str
    about: str
    plots: Mapping[str, Plot]


Block: TypeAlias = Heading | Facts | Listing | Lines | Paragraph | Graph | Chart


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a report.

    Attributes
    ----------
    title : str
        Its heading.
    blocks : sequence of Block
        What stands in it.
    """

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Report:
    """A report.

    Attributes
    ----------
    title, subtitle : str
        What it is about.
    sections : sequence of Section
        Those without blocks are left out.
    """

    title: str
    subtitle: str
    sections: Sequence[Section]


def report_page(report: Report) -> bytes:
    """Make the page of a report: HTML that stands alone, of at most `MAX_BYTES`.

    What is too large for that is left out, the largest first, and the page says so.

    Parameters
    ----------
    report : Report
        What it says.
    """
    sections = [(section.title, [*section.blocks]) for section in report.sections if section.blocks]
    made = [[_rendered(block) for block in blocks] for _, blocks in sections]
    # What is largest goes first, until the rest fits.
    while True:
        page = _page(report, [(title, parts) for (title, _), parts in zip(sections, made, strict=True)], sections)
        if len(page) <= MAX_BYTES:
            return page
        at, place = max(
            ((at, place) for at, parts in enumerate(made) for place in range(len(parts))),
            key=lambda found: len(made[found[0]][found[1]]),
        )
        block = sections[at][1][place]
        note = Paragraph(f"{_name(block)} is left out: with it, the page would have more than {MAX_BYTES // 10**6} MB.")
        sections[at][1][place], made[at][place] = note, _rendered(note)


def _page(report: Report, parts: list[tuple[str, list[str]]], sections: list[tuple[str, list[Block]]]) -> bytes:
    blocks = [block for _, inside in sections for block in inside]
    charts: list[Chart | Plot] = [block for block in blocks if isinstance(block, Chart)]
    charts += [plot for block in blocks if isinstance(block, Graph) for plot in block.plots.values()]
    page = (
        _environment()
        .get_template("report.html.j2")
        .render(
            report=report,
            sections=parts,
            style=text_of("page.css") + _text("report.css"),
            script=(drawing_script(*charts) if charts else "") + _text("report.js"),
        )
    )
    return page.encode("utf-8")


def _rendered(block: Block) -> str:
    """Return the HTML of a block."""
    # So many bars would make the whole page slow.
    if isinstance(block, Chart) and sum(len(panel.bars) for panel in block.panels) > _MAX_BARS:
        block = Paragraph(f"{_name(block)} is left out: it has more than {counted(_MAX_BARS, 'bar')}.")
    given: dict[str, Any] = {"block": block, "kind": type(block).__name__}
    if isinstance(block, Chart):
        given["figure"] = figure(block)
    elif isinstance(block, Listing):
        rows = block.table.filled_rows
        given |= {"rows": rows[:MAX_ROWS], "more": max(len(rows) - MAX_ROWS, 0), "kinds": _cell_kinds(block.table)}
    elif isinstance(block, Graph):
        given["figures"] = [figure(plot) for plot in block.plots.values()]
    return _environment().get_template("block.html.j2").render(given)


def _cell_kinds(table: Table) -> list[str]:
    """Say of each column whether it holds numbers, or texts that may be broken into lines."""
    # Long texts would push all other columns out of the page.
    longest = [max((len(cell) for cell in table.cells(at)), default=0) for at in range(len(table.columns))]
    return [
        "number" if column.numeric else "long" if length > _LONG else ""
        for column, length in zip(table.columns, longest, strict=True)
    ]


def _name(block: Block) -> str:
    if isinstance(block, Chart):
        return "The Gantt chart"
    title = getattr(block, "title", "")
    return f"The part {title!r}" if title else "A part"


def _text(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_text),
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return environment
