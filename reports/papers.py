"""The report on a paper: its figures beside ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from ..charts.chart import Curve, Plot, look_of, range_around
from ..core.errors import input_error
from ..core.record_lists import grouped_by
from ..core.text_tables import Table, number, table_of, words
from ..core.wording import counted
from .page import Block, Facts, Graph, Listing, Paragraph, Report, Section

PAPER_FORMAT = "spotbag.published-comparison/1"


class PaperRow(msgspec.Struct, frozen=True):
    """A quantity: what is printed of it, and the mean of our runs with its interval."""

    table: str
    job: str
    scenario: str
    policy: str
    quantity: str
    printed: float | None
    mean: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    relation: str = "="

    def place(self, with_policy: bool) -> str:
        """Return the policy, job and scenario that the row is about."""
        parts = [self.job, self.scenario, *([self.policy] if with_policy else [])]
        return ", ".join(part for part in parts if part) or "-"


class PaperClaim(msgspec.Struct, frozen=True):
    """A statement of a paper, and what our runs say."""

    statement: str
    verdict: str
    ours: str
    printed: str = ""
    source: str = ""
    reason: str = ""


class PaperDocument(msgspec.Struct, frozen=True):
    """A file of ``spotbag bench --out FILE.json``, as far as a report shows it."""

    paper: str
    rows: tuple[PaperRow, ...]
    runs: int = 0
    seed: int = 0
    claims: tuple[PaperClaim, ...] = ()
    findings: tuple[PaperClaim, ...] = ()
    notes: tuple[str, ...] = ()


def parse_paper(text: str, source: str) -> PaperDocument:
    """Read the result of a comparison with a paper.

    Raises
    ------
    InputError
        If it is not of the format.
    """
    try:
        return msgspec.json.decode(text, type=PaperDocument)
    except msgspec.MsgspecError as error:
        raise input_error(source, f"is no {PAPER_FORMAT}: {error}") from None


def paper_report(paper: PaperDocument, version: str) -> Report:
    """Report on a paper: the statements, and its figures beside ours.

    Parameters
    ----------
    paper : PaperDocument
        Result of the comparison.
    version : str
        Of spotbag, which writes the report.
    """
    verdicts = Counter(claim.verdict for claim in paper.claims)
    facts = [
        ("runs of each cell", f"{paper.runs:,}"),
        ("seed", str(paper.seed)),
        *((verdict, counted(claims, "statement")) for verdict, claims in verdicts.most_common()),
        ("report by", f"spotbag {version}"),
    ]
    return Report(
        f"{paper.paper}: the printed figures beside ours",
        f"{counted(len(paper.rows), 'figure')}, {counted(len(paper.claims), 'statement')}",
        [
            Section("What was run", [Facts(facts)]),
            Section("What the paper says", _claims(paper.claims)),
            Section("Printed and ours", paper_blocks(paper)),
            Section("What else was found", _claims(paper.findings)),
            Section("Why figures may differ", [Paragraph(note) for note in paper.notes]),
        ],
    )


def _claims(claims: Sequence[PaperClaim]) -> list[Block]:
    table = table_of(
        enumerate(claims, 1),
        number("#", lambda row: row[0]),
        words("statement", lambda row: row[1].statement),
        words("printed", lambda row: row[1].printed or "-"),
        words("ours", lambda row: row[1].ours),
        words("verdict", lambda row: row[1].verdict),
        words("where", lambda row: row[1].source or "-"),
    )
    return [Listing("", table)] if claims else []


def paper_blocks(paper: PaperDocument) -> list[Block]:
    """Return a graph and a table of the figures of a paper and ours."""
    groups = grouped_by(paper.rows, lambda row: f"{row.table}: {_unit(row.quantity)}")
    # A picture of what stands alone shows no difference; the table has it.
    pairs = {name: sum(row.printed is not None and row.mean is not None for row in groups[name]) for name in groups}
    wanted = sorted((name for name in groups if pairs[name] > 1), key=lambda name: -pairs[name])
    plots = {name: _beside(groups[name]) for name in wanted}
    about = "Hollow is what the paper prints, filled the mean of our runs with its interval of 95 %."
    drawn: list[Block] = [Graph(f"{paper.paper}: printed and ours", about, plots)] if plots else []
    return [*drawn, Listing(f"All figures of {paper.paper}", _rows(paper.rows))]


def _unit(quantity: str) -> str:
    """Return the name of a quantity as people read it."""
    for ending, unit in (("_usd", "$"), ("_s", "s"), ("_percent", "%")):
        if quantity.endswith(ending):
            return f"{quantity.removesuffix(ending).replace('_', ' ')} ({unit})"
    return quantity.replace("_", " ")


def _beside(rows: Sequence[PaperRow]) -> Plot:
    """Return the plot of the printed figures and ours, side by side."""
    rows = [row for row in rows if row.printed is not None or row.mean is not None]
    # Where all figures are of one policy, its name would only fill the axis.
    with_policy = len({row.policy for row in rows}) > 1
    names = tuple(row.place(with_policy) for row in rows)
    printed = [(at, row.printed) for at, row in enumerate(rows) if row.printed is not None]
    ours = [
        (at, row.mean, 0.0 if row.high is None else row.high - row.mean)
        for at, row in enumerate(rows)
        if row.mean is not None
    ]
    curves = [
        Curve(
            replace(look_of(1, "paper"), colour="white", edge=look_of(1, "").colour, edge_width=2.0, size=60.0),
            tuple((at, value) for at, value in printed),
            hover=tuple((names[at], f"paper: {value:,.4g}") for at, value in printed),
        ),
        Curve(
            look_of(0, "ours"),
            tuple((at, mean) for at, mean, _ in ours),
            hover=tuple((names[at], f"ours: {mean:,.4g}") for at, mean, _ in ours),
            spans=tuple(half for *_, half in ours),
        ),
    ]
    ends = [value for _, value in printed] + [mean + side * half for _, mean, half in ours for side in (-1, 1)]
    places = (-0.5, len(names) - 0.5)
    return Plot("", "", curves, "", "", places, range_around(ends, zero=True), whole=False, x_names=names)


def _rows(rows: Sequence[PaperRow]) -> Table:
    def interval(row: PaperRow) -> str | None:
        return None if row.low is None or row.high is None else f"{_figure(row.low)} to {_figure(row.high)}"

    return table_of(
        rows,
        words("table"),
        words("job", lambda row: row.job or "-"),
        words("scenario", lambda row: row.scenario or "-"),
        words("policy", lambda row: row.policy or "-"),
        words("quantity", lambda row: _unit(row.quantity)),
        number("paper", lambda row: _figure(row.printed)),
        number("ours", lambda row: _figure(row.mean)),
        words("interval of 95 %", interval),
        number("difference (%)", _difference),
    )


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:,.5g}"


def _difference(row: PaperRow) -> str:
    """Say by how much our mean is above the printed figure, in percent of that."""
    if row.printed is None or row.mean is None or row.printed == 0 or row.relation != "=":
        return "-"
    return f"{100 * (row.mean - row.printed) / abs(row.printed):+.1f}"
