"""Results of comparisons with papers: rows of printed and measured numbers, judged statements; and their tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from spotbag.core.json_documents import format_json
from spotbag.core.statistics import Estimate
from spotbag.core.text_tables import Column, Table

from .claims import Claim, Found, estimate_of, show
from .data_files import read_toml
from .statistics import Quantity, Sample

PUBLISHED_COMPARISON_FORMAT = "spotbag.published-comparison/1"
RESULT_ENDINGS = (".csv", ".json")
"""Endings that files of results may have."""

Relation: TypeAlias = Literal["=", ">", "<"]


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """Quantity of a table, printed and measured.

    Attributes
    ----------
    table : str
        Of the paper, e.g. ``Table 10``.
    job, scenario, policy : str
        Of which job, in which scenario (empty without hibernation), under which policy.
    quantity : str
        Name with its unit, e.g. ``cost_usd``.
    printed : float or None
        What the paper prints; None if it prints nothing.
    ours : Estimate
        Mean of our days.
    relation : {"=", ">", "<"}
        How the paper's value is to the printed one.
    """

    table: str
    job: str
    scenario: str
    policy: str
    quantity: str
    printed: float | None
    ours: Estimate
    relation: Relation = "="

    def to_dict(self) -> dict[str, Any]:
        """Row as a JSON object."""
        # Keys are in the order of the columns of files, which is not that of the fields.
        pairs = {"table": self.table, "job": self.job, "scenario": self.scenario, "policy": self.policy}
        pairs |= {"quantity": self.quantity}
        return pairs | {"relation": self.relation, "printed": self.printed} | self.ours.to_dict()


@dataclass(frozen=True, slots=True)
class PlanUsed:
    """A plan that was replayed.

    Attributes
    ----------
    job, method : str
        Of which job, by which method.
    d_spot_s : int or None
        D_spot.
    d_spot_source : str
        Where it comes from.
    vms : dict of str to int
        VMs by type, e.g. ``c3.large``; on-demand ones are marked so.
    makespan_s : int
        Of the plan.
    cost_usd : float
        Of the plan.
    """

    job: str
    method: str
    d_spot_s: int | None
    d_spot_source: str
    vms: dict[str, int]
    makespan_s: int
    cost_usd: float


@dataclass(frozen=True, slots=True)
class PublishedComparisonResult:
    """Result of a comparison command.

    Attributes
    ----------
    paper : str
        Which paper.
    about : dict
        Days, seed, rate scale and the like.
    plans : tuple of PlanUsed
        The plans.
    rows : tuple of ComparisonRow
        All figures.
    claims : tuple of Claim
        The paper's statements.
    notes : tuple of str
        Why figures may differ.
    findings : tuple of Claim
        What was found besides, which no sentence of the paper says.
    """

    paper: str
    about: dict[str, Any]
    plans: tuple[PlanUsed, ...]
    rows: tuple[ComparisonRow, ...]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...] = field(default=())
    findings: tuple[Claim, ...] = field(default=())

    def row(self, table: str, quantity: str, job: str, scenario: str = "", policy: str = "") -> ComparisonRow:
        """Return the row of a quantity."""
        key = (table, quantity, job, scenario, policy)
        return next(row for row in self.rows if (row.table, row.quantity, row.job, row.scenario, row.policy) == key)

    def mean(self, table: str, quantity: str, job: str, scenario: str = "", policy: str = "") -> float:
        """Return our mean of a quantity, of which there is one."""
        mean = self.row(table, quantity, job, scenario, policy).ours.mean
        assert mean is not None, (table, quantity, job, scenario, policy)
        return mean

    def to_dict(self) -> dict[str, Any]:
        """Result as a JSON object."""
        return {
            "format": PUBLISHED_COMPARISON_FORMAT,
            "paper": self.paper,
            **self.about,
            "plans": [asdict(plan) for plan in self.plans],
            "claims": [{"paper": self.paper, **asdict(claim)} for claim in self.claims],
            "findings": [{"paper": self.paper, **asdict(finding)} for finding in self.findings],
            "notes": list(self.notes),
            "rows": [row.to_dict() for row in self.rows],
        }


def row_of(
    table: str,
    job: str,
    scenario: str,
    policy: str,
    quantity: str,
    ours: Found,
    printed: float | None = None,
    relation: Relation = "=",
) -> ComparisonRow:
    """Make a row of a number of ours: with an interval, exact, or none."""
    return ComparisonRow(table, job, scenario, policy, quantity, printed, estimate_of(ours), relation)


def format_rows_csv(rows: Iterable[ComparisonRow]) -> str:
    """Return rows as CSV with a heading; what is not known is empty."""
    entries = [row.to_dict() for row in rows]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(entries[0]) if entries else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(entries)
    return text.getvalue()


def format_result(result: PublishedComparisonResult, ending: str) -> str:
    """Return a result as the text of a file ending in .csv (rows only) or .json."""
    return format_rows_csv(result.rows) if ending == ".csv" else format_json(result.to_dict())


# ---------------------------------------------------------------------------- tables


_UNKNOWN = "-"

Subject = TypeVar("Subject")


@dataclass(frozen=True, slots=True)
class Lead:
    """Leading column of a table: a heading, and a text that names places of a row in braces.

    Beside ``job``, ``scenario`` and ``policy`` these are the words of the first two (``job_words``,
    ``scenario_words``), and what a scenario is called elsewhere (``said``).
    """

    heading: str
    template: str
    words: Mapping[str, str] = field(default_factory=dict)

    def text(self, row: ComparisonRow) -> str:
        """Text for a row."""
        return self.template.format(
            job=row.job,
            scenario=row.scenario,
            policy=row.policy,
            job_words=row.job.split(),
            scenario_words=row.scenario.split(),
            said=self.words.get(row.scenario, row.scenario),
        )


@dataclass(frozen=True, slots=True)
class PaperColumn:
    """A quantity of a table.

    Attributes
    ----------
    heading : str
        With its unit.
    quantity : str
        Which.
    digits : int
        Decimals.
    policy : str
        Of which policy; empty if each line has its own.
    printed : bool
        Whether the paper's number is shown.
    """

    heading: str
    quantity: str
    digits: int
    policy: str = ""
    printed: bool = True


Quantities: TypeAlias = Mapping[str, Callable[[Subject], Found]]
"""Numbers of ours, by the names that rows, columns of tables and printed records have for them."""


def measured(
    place: tuple[str, str, str, str], quantities: Quantities[Subject], subject: Subject, printed: object = None
) -> Iterator[ComparisonRow]:
    """Return a row for each quantity, in a place: table, job, scenario and policy."""
    for name, of in quantities.items():
        yield row_of(*place, name, of(subject), getattr(printed, name, None))


def means(
    metrics: Mapping[str, Callable[[Any], float]] | Iterable[Quantity[Any]],
) -> Quantities[Sample[Any]]:
    """Make quantities of a sample that are means of numbers of its runs, by names that are given or their own."""
    named = metrics.items() if isinstance(metrics, Mapping) else ((quantity.name, quantity) for quantity in metrics)
    return {name: partial(Sample.mean, metric=metric) for name, metric in named}


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table of a paper.

    Attributes
    ----------
    name, title : str
        Name of its rows, and what stands above it.
    columns : sequence of PaperColumn
        Its quantities.
    leads : sequence of Lead
        What distinguishes the lines, left of the quantities; rows with the same texts make a line. On the console, one
        that is the same in all lines is left out.
    """

    name: str
    title: str
    columns: Sequence[PaperColumn]
    leads: Sequence[Lead] = (Lead("job", "{job}"), Lead("scenario", "{scenario}"))

    def lines(self, rows: Iterable[ComparisonRow]) -> Iterator[Line]:
        """Return the lines that the rows of this table make."""
        found: dict[tuple[str, ...], list[ComparisonRow]] = {}
        for row in rows:
            if row.table == self.name:
                found.setdefault(tuple(lead.text(row) for lead in self.leads), []).append(row)
        for leads, entries in found.items():
            # A column that names no policy has the row of whichever the line is of.
            known = {(policy, row.quantity): row for row in entries for policy in ("", row.policy)}
            yield Line(leads, entries[0].job, [known.get((column.policy, column.quantity)) for column in self.columns])


class Line(NamedTuple):
    """A line of a table: what it begins with, its job, and the row of each column, None where there is none."""

    leads: tuple[str, ...]
    job: str
    rows: list[ComparisonRow | None]


def console_table(table: PaperTable, rows: Iterable[ComparisonRow]) -> Table:
    """Return a table with a column for printed numbers and one for ours; jobs are divided."""
    lines = list(table.lines(rows))
    ours = " ours" if any(column.printed for column in table.columns) else ""
    differences = [len(set(texts)) > 1 for texts in zip(*(line.leads for line in lines), strict=True)]
    # In a single line nothing differs: it is shown with all its leads.
    shown = [place for place, differs in enumerate(differences) if differs] or range(len(table.leads))
    columns = [Column(table.leads[place].heading) for place in shown]
    for column in table.columns:
        columns += [Column(f"{column.heading} paper", True)] if column.printed else []
        columns.append(Column(f"{column.heading}{ours}", True))
    cells: list[list[str]] = []
    for number, line in enumerate(lines):
        if number and line.job != lines[number - 1].job and len(shown) > 1:
            cells.append([])
        cells.append([line.leads[place] for place in shown])
        for column, row in zip(table.columns, line.rows, strict=True):
            if column.printed:
                cells[-1].append(_UNKNOWN if row is None else printed_text(row, column.digits))
            cells[-1].append(_UNKNOWN if row is None else show(row.ours, column.digits).replace(" ", ""))
    return Table(columns, cells)


def docs_table(table: PaperTable, rows: Iterable[ComparisonRow]) -> Table:
    """Return a table whose cells are ``printed / ours``, or ours alone where nothing is printed."""
    columns = [Column(lead.heading) for lead in table.leads]
    columns += [Column(column.heading, True) for column in table.columns]
    cells = [
        [*line.leads, *(_cell(row, column.digits) for row, column in zip(line.rows, table.columns, strict=True))]
        for line in table.lines(rows)
        # Tables may share a name: lines that have none of the columns belong to another one.
        if any(line.rows)
    ]
    return Table(columns, cells)


def _cell(row: ComparisonRow | None, digits: int) -> str:
    if row is None:
        return _UNKNOWN
    ours = show(row.ours, digits)
    return ours if row.printed is None else f"{printed_text(row, digits)} / {ours}"


def printed_text(row: ComparisonRow, digits: int) -> str:
    """Printed value of a row."""
    if row.printed is None:
        return _UNKNOWN
    return ("" if row.relation == "=" else f"{row.relation} ") + f"{row.printed:,.{digits}f}"


@dataclass(frozen=True, slots=True)
class StatedNumbers:
    """Numbers in the text of a paper that also follow from one of its tables.

    Attributes
    ----------
    title : str
        What they are.
    text, follows : str
        Tables of the rows: as stated, and as they follow.
    source : str
        From what they follow, as a heading.
    digits, text_digits : int
        Decimals, and those of the text.
    wording : mapping of str to str
        Each quantity in words; ``{policy}`` is that of the row.
    """

    title: str
    text: str
    follows: str
    source: str
    digits: int
    text_digits: int
    wording: Mapping[str, str]

    def table(self, rows: Sequence[ComparisonRow]) -> Table:
        """Return the stated numbers beside those that follow, and ours."""
        follows = {(row.policy, row.quantity): row for row in rows if row.table == self.follows}
        cells = [
            [
                self.wording[row.quantity].format(policy=row.policy),
                printed_text(row, self.text_digits),
                printed_text(follows[row.policy, row.quantity], self.digits),
                show(row.ours, self.digits),
            ]
            for row in rows
            if row.table == self.text
        ]
        return Table([Column(self.title), *(Column(name, True) for name in ("text", self.source, "ours"))], cells)


class PaperTables(NamedTuple):
    """The tables of a paper: all, what one screen shows, and the numbers of its text that also follow from a table."""

    all: Sequence[PaperTable]
    headline: PaperTable
    stated: StatedNumbers | None = None

    @classmethod
    def read(cls, package: str) -> PaperTables:
        """Read the tables that stand in ``tables.toml`` of a package.

        Columns are those of `PaperColumn`; a table may say for all of them which policy they are of, and that nothing
        is printed. Leads are headings with the templates of `Lead`. A table that is not ``full`` is a headline alone.
        """
        given = read_toml(package, "tables.toml")
        words = given.get("words", {})
        made = []
        for table in given["tables"]:
            common = {key: table[key] for key in ("policy", "printed") if key in table}
            leads = [Lead(heading, text, words) for heading, text in table["leads"].items()]
            # What a column says goes before what its table says of all.
            columns = [PaperColumn(**common | column) for column in table["columns"]]
            made.append((PaperTable(table["name"], table["title"], columns, leads), table.get("full", True)))
        headline = next(table for table, _ in made if table.name == given["headline"])
        stated = StatedNumbers(**given["stated"]) if "stated" in given else None
        return cls([table for table, full in made if full], headline, stated)


def claims_table(claims: Sequence[Claim]) -> Table:
    """Statements of a paper with their verdicts; their numbers lead to the reasons."""
    cells = [
        [
            str(number),
            claim.statement,
            (f"{claim.uncounted}: " if claim.uncounted else "") + claim.verdict,
            claim.printed or _UNKNOWN,
            claim.ours,
            claim.source,
        ]
        for number, claim in enumerate(claims, start=1)
    ]
    headings = ("#", "the paper says", "verdict", "printed", "ours", "where")
    return Table([Column(heading, heading == "#") for heading in headings], cells)


def findings_table(findings: Sequence[Claim]) -> Table:
    """Table of findings beyond the paper."""
    cells = [[finding.statement, finding.verdict, finding.ours] for finding in findings]
    return Table([*map(Column, ("asked besides", "verdict", "ours"))], cells)


def markdown_lines(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Return a table in Markdown, line by line; blank rows are left out."""
    yield _line([column.heading for column in columns])
    yield "|" + "|".join("---:" if column.numeric else "---" for column in columns) + "|"
    yield from (_line(row) for row in rows if row)


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def markdown_table(table: Table) -> str:
    """Return a table in Markdown."""
    return "\n".join(markdown_lines(table.columns, table.rows))
