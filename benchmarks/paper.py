"""What all papers have in common: printed figures, options, rows of printed and measured numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Literal, TypeAlias, TypeVar

from ..core.json_documents import check_format, format_json, parse_json
from ..core.records import Record, validate_record
from ..core.statistics import Estimate
from .claims import Claim

PUBLISHED_COMPARISON_FORMAT = "spotbag.published-comparison/1"


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One quantity of a table.

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
    relation : {"=", ">", "<"}
        How the paper's value is to the printed one.
    ours : Estimate
        Mean of our days.
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
        """Return it as a JSON object."""
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
    """All that a command shows.

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
    """

    paper: str
    about: dict[str, Any]
    plans: tuple[PlanUsed, ...]
    rows: tuple[ComparisonRow, ...]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        from dataclasses import asdict

        return {
            "format": PUBLISHED_COMPARISON_FORMAT,
            "paper": self.paper,
            **self.about,
            "plans": [asdict(plan) for plan in self.plans],
            "claims": [claim.to_dict() for claim in self.claims],
            "notes": list(self.notes),
            "rows": [row.to_dict() for row in self.rows],
        }


NOTHING = Estimate(0, None, None)
"""The mean of no days."""


def exactly(value: float) -> Estimate:
    """A number that no day changes."""
    return Estimate(1, value, None)


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


RESULT_ENDINGS = (".csv", ".json")
"""How files of results may end."""


OnDays: TypeAlias = Callable[[int, str], None]
"""Told how many days have just been done, and of what."""


PUBLISHED_FORMAT: Literal["spotbag.published-figures/1"] = "spotbag.published-figures/1"


Relation: TypeAlias = Literal["=", ">", "<"]


_Document = TypeVar("_Document", bound=Record)


def read_figures(model: type[_Document], package: str, name: str) -> _Document:
    """Read a document of printed numbers that lies in this folder."""
    text = resources.files(package).joinpath(name).read_text(encoding="utf-8")
    document = parse_json(text, name)
    check_format(document, PUBLISHED_FORMAT, name)
    return validate_record(model, document, name)
