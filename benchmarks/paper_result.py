"""Result of a comparison with a paper: rows of printed and measured numbers, plans, judged statements."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from spotbag.core.json_documents import format_json
from spotbag.core.statistics import Estimate

from .claims import Claim, Found, estimate_of

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
