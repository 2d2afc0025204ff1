"""The page of the docs on a paper: its verdicts, and an appendix with all that they come from.

The prose is a template beside the paper, its numbers come from the runs. All pages have the headings of ``page.md.j2``
and ``appendix.md.j2``, in their order; the template of a paper fills their blocks.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from spotbag.core.text_files import write_text
from spotbag.core.text_tables import Column, Table

from .claims import ABOUT, UNCOUNTED, WORDS, Claim, Verdict, verdict_in_words, verdicts_in_words
from .paper import Paper, PaperOptions, Results, Setting, by_environment, column, compare
from .paper_pictures import prepare_pictures, write_pictures
from .paper_tables import PublishedComparisonResult, claims_table, docs_table, findings_table, markdown_table
from .papers import PLACES, paper_named

_WIDTH = 120
FOLDER = "papers"
"""Folder of the pages in the docs."""

MOST_LINES = 60
"""Most lines of a page before its appendix."""


@dataclass(frozen=True, slots=True)
class Page:
    """The page of a paper.

    Attributes
    ----------
    paper : Paper
        The paper.
    options : PaperOptions
        How it is replayed.
    """

    paper: Paper[Any, Any]
    options: PaperOptions

    @property
    def name(self) -> str:
        """Name of the paper in ``spotbag bench``."""
        return self.paper.key

    @property
    def files(self) -> dict[str, str]:
        """Files in the folder of the docs, by their templates."""
        return {
            "page.md.j2": f"{FOLDER}/{self.name}.md",
            "appendix.md.j2": f"{FOLDER}/{self.name}-appendix.md",
        }


# Results do not depend on how many processes there are; two are what every machine of ours has.
PAGES: Mapping[str, Page] = {name: Page(paper := paper_named(name), paper.options(workers=2)) for name in PLACES}
"""The pages of the docs by name, which ``python -m spotbag_papers.generated --papers`` writes."""


def page_texts(page: Page, results: Results) -> dict[str, str]:
    """Return a page and its appendix in Markdown, by their files in the folder of the docs."""
    from jinja2 import DictLoader, Environment, StrictUndefined

    packages = {**dict.fromkeys(page.files, str(__package__)), "paper": page.paper.package}
    templates = {
        name: resources.files(package).joinpath("page.md.j2" if name == "paper" else name).read_text(encoding="utf-8")
        for name, package in packages.items()
    }
    # A name that nothing fills is an error, not a gap in the text.
    environment = Environment(loader=DictLoader(templates), undefined=StrictUndefined, lstrip_blocks=True)
    environment.filters["fill"] = fill
    environment.filters["line"] = lambda text: " ".join(text.split())
    environment.filters["in_words"] = verdict_in_words
    values = _values(page, results)
    texts = {}
    for base, file in page.files.items():
        body = environment.get_template("paper").render(base=base, **values)
        # Blocks that a paper leaves empty leave blank lines behind.
        texts[file] = re.sub(r"\n{3,}", "\n\n", body).strip() + "\n"
    return texts


def _values(page: Page, results: Results) -> dict[str, Any]:
    """Return the values that the templates name."""
    result = next(iter(results.values()))

    def table(name: str, number: int = 1, scenarios: Collection[str] | None = None) -> str:
        """Return a table of the paper; several of a name are counted from 1."""
        found = [entry for entry in page.paper.tables.all if entry.name == name][number - 1]
        rows = [row for row in result.rows if scenarios is None or row.scenario in scenarios]
        return markdown_table(docs_table(found, rows))

    def mean(*place: Any, of: PublishedComparisonResult = result) -> str:
        """Return a mean of the result of a setting; see `column`."""
        return column(*place)(of)

    columns, environments = page.paper.columns, by_environment(results)
    headings = [Column("environment"), *(Column(name, True) for name in environments)]
    beside = [[heading, *(number(other) for other in environments.values())] for heading, number in columns.items()]
    stated = page.paper.tables.stated
    shown, firm = _verdicts(page, results)
    return {
        "about": ABOUT,
        "name": page.name,
        "folder": page.paper.package.partition(".")[2].replace(".", "/"),
        "runs_are": page.paper.runs_are,
        "result": result,
        "results": results,
        "table": table,
        "mean": mean,
        "columns": columns,
        "by_environment": environments,
        "environments": markdown_table(Table(headings, beside)),
        "verdicts": verdicts_in_words(result.claims),
        "uncounted": any(claim.uncounted for claim in result.claims),
        "shown": markdown_table(shown),
        "firm": firm,
        "claims": markdown_table(claims_table(result.claims)),
        "reasons": "\n".join(_reasons(result.claims)),
        "findings": markdown_table(findings_table(result.findings)) if result.findings else "",
        "bibtex": bibtex(page.name),
        "notes": "\n".join(fill(f"{number}. {note}", "   ") for number, note in enumerate(result.notes, start=1)),
        "stated": "" if stated is None else markdown_table(stated.table(result.rows)),
        "sensitivity": markdown_table(sensitivity_table(page, results)),
        **page.paper.facts(results),
    }


def bibtex(name: str) -> str:
    """Return the BibTeX of a paper, and that of spotbag."""
    entries = resources.files(str(__package__)).joinpath("papers.bib").read_text(encoding="utf-8").strip().split("\n\n")
    known = {entry.partition("{")[2].partition(",")[0]: entry for entry in entries}
    return f"{known[name]}\n\n{known['spotbag']}"


def _reasons(claims: Sequence[Claim]) -> Iterator[str]:
    """Reasons against statements, as items that begin with their numbers."""
    for number, claim in enumerate(claims, start=1):
        if claim.reason:
            yield fill(f"- **{number}**: {claim.reason[:1].upper()}{claim.reason[1:]}.", "  ")


# ---------------------------------------------------------------------------- verdicts, and what turns them


class Compared(NamedTuple):
    """A setting, its result, and the verdicts that are others in it, by the numbers of the statements."""

    setting: Setting[Any]
    result: PublishedComparisonResult
    others: dict[int, Verdict]


def compared(page: Page, results: Results) -> Iterator[Compared]:
    """Compare results with that of the page's own assumptions with as many runs."""
    own: dict[int, PublishedComparisonResult] = {}
    for setting in page.paper.replays(page.options):
        result = results[setting.name]
        # Of so many runs the page's own assumptions are the first: `replays` puts them before all others.
        claims = zip(own.setdefault(setting.options.runs, result).claims, result.claims, strict=True)
        pairs = enumerate(claims, start=1)
        others = {number: other.verdict for number, (claim, other) in pairs if claim.verdict != other.verdict}
        yield Compared(setting, result, others)


_NAMED = 2
"""Settings that are named where a verdict turns; the others are in the appendix."""


def _verdicts(page: Page, results: Results) -> tuple[Table, str]:
    """Return the statements that do not hold, or turn, and the others in words.

    Beside the page's own, each environment has a column.
    """
    result, settings = next(iter(results.values())), list(compared(page, results))
    environments = [one.setting for one in settings if one.setting.environment]
    others = [one.result.claims for one in settings if one.setting.environment]
    cells, firm = [], []
    for number, claim in enumerate(result.claims, start=1):
        turned = [one.setting for one in settings if number in one.others]
        beside = [claims[number - 1] for claims in others]
        if claim.uncounted:
            continue
        if claim.verdict == "holds" and not turned:
            firm.append(f"**{number}** {claim.statement}" + (f" ({claim.printed})" if claim.printed else ""))
            continue
        # Where the page's own verdict holds, the reason is that of an environment in which it does not.
        why = next((one.why for one in (claim, *beside) if one.verdict != "holds" and one.why), "")
        cells.append(
            [
                str(number),
                claim.statement,
                claim.printed or "-",
                *(f"{one.verdict}: {one.ours}" for one in (claim, *beside)),
                why or "-",
                _some([setting.name for setting in turned if not setting.environment]),
            ]
        )
    columns = [Column("#", True), Column("the paper says"), Column("printed")]
    names = ["as printed", *(setting.value for setting in environments)] if environments else ["ours"]
    return Table([*columns, *map(Column, names), Column("why"), Column("turns with")], cells), "; ".join(firm)


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return "; ".join([*names[:_NAMED], *([f"{more} more"] if more > 0 else [])]) or "-"


def sensitivity_table(page: Page, results: Results) -> Table:
    """Table of the effects of other assumptions."""
    columns = page.paper.columns
    cells = [
        [
            setting.assumption or "as on this page",
            setting.value,
            *(number(result) for number in columns.values()),
            _changes(others) if setting.assumption else "-",
        ]
        for setting, result, others in compared(page, results)
    ]
    headings = [Column(heading, True) for heading in columns]
    return Table([Column("assumption"), Column("value"), *headings, Column("verdicts that change")], cells)


_SHORT: Mapping[Verdict, str] = {"holds": "holds", "does not hold": "does not", "not decided": "open"}


def _changes(others: Mapping[int, Verdict]) -> str:
    """Numbers of the statements whose verdict is another one, and which."""
    changed: dict[Verdict, list[str]] = {}
    for number, verdict in others.items():
        changed.setdefault(verdict, []).append(str(number))
    return "; ".join(f"{_SHORT[verdict]}: {', '.join(numbers)}" for verdict, numbers in changed.items()) or "none"


def fill(text: str, indent: str = "") -> str:
    """Break a paragraph into lines; all but the first begin with an indent."""
    text = " ".join(text.split())
    return textwrap.fill(text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


# ---------------------------------------------------------------------------- files


def results_of(page: Page) -> Results:
    """Replay a paper, as its page assumes and in all other settings."""
    import jinja2  # noqa: F401 - a missing package is reported before the replays of many minutes, not after them

    replays = page.paper.replays(page.options)
    return {setting.name: compare(page.paper, setting.options) for setting in replays}


def write_page(page: Page, docs: Path) -> None:
    """Replay a paper, and write its page, the appendix, and the pictures that are in them."""
    folder = docs / FOLDER
    # First: a folder that cannot be written is reported before the replays of many minutes.
    prepare_pictures(str(folder))
    results = results_of(page)
    for file, text in page_texts(page, results).items():
        write_text(docs / file, text)
        pictures = re.findall(r"\]\(([\w-]+)\.png\)", text)
        write_pictures(page.paper.pictures, next(iter(results.values())).rows, folder, pictures)


def is_stale(page: Page, docs: Path) -> bool:
    """Replay a paper, and say whether its page has other numbers or words now."""
    # Pictures are not compared: their bytes differ by versions of the plotting library.
    paths = {docs / file: text for file, text in page_texts(page, results_of(page)).items()}
    return any(not path.is_file() or path.read_text(encoding="utf-8") != text for path, text in paths.items())


def index_text(docs: Path, pages: Iterable[Page]) -> str:
    """Return the page that leads to all others, with the verdicts that stand in their appendices."""
    rows: list[list[str]] = []
    counts: list[list[int]] = []
    for page in pages:
        # Verdicts are read from the text: the index is checked in seconds, replays take minutes.
        path = docs / page.files["appendix.md.j2"]
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        title = re.search(r"^# (.*): appendix$", text, re.MULTILINE)
        verdicts = Counter(_VERDICT.findall(text.partition("\n## Verdicts\n")[2].partition("\n### ")[0]))
        apart = [sum(n for verdict, n in verdicts.items() if verdict.startswith(f"{word}: ")) for word in UNCOUNTED]
        counts.append([*(verdicts[word] for word in WORDS), *apart])
        rows.append([f"[{title[1] if title else page.paper.name}]({page.name}.md)", *map(str, counts[-1])])
    rows.append(["all", *map(str, map(sum, zip(*counts, strict=True)))])
    columns = [Column("paper"), *(Column(word, True) for word in (*WORDS, *UNCOUNTED))]
    return _INDEX + markdown_table(Table(columns, rows)) + "\n"


_VERDICT = re.compile(r"^\| \d+ \| [^|]* \| ([^|]+) \|", re.MULTILINE)

_INDEX = """\
<!-- Written by `python -m spotbag_papers.generated` from the pages themselves. -->

# The papers

What the papers say, beside what our replays say. A page has the verdicts; its appendix has what is implemented and
where, decisions, tables, all statements with their reasons, and what other assumptions change.

```bash
python -m spotbag_papers.generated --papers    # replay all papers, and write their pages: minutes
```

How many statements of each paper hold. *Fitted* are those that rest on inputs which were fitted to the same numbers,
*arithmetic* those that arithmetic or a definition decides; they are in no other column. Each page has its own rules of
what holds: the sums count statements, no more.

"""
