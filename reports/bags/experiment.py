"""The report on an experiment: methods on instances, policies on days."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ...charts.bags.plan import plan_chart
from ...core.errors import SpotbagError, input_error
from ...core.json_documents import format_json, format_of
from ...core.text_files import read_text
from ...core.wording import counted
from ...experiments.bags.comparison import Row
from ...experiments.bags.rows import ABOUT, CLAIRVOYANT, CellRow, not_a_row, read_about, read_rows
from ...heuristics.bags.d_spot import with_d_spot
from ...instances.library import library_instance, library_names
from ...schedules.documents import SCHEDULE_FORMAT
from ...schedules.schedule_files import parse_schedule_document, schedule_of_document
from ..page import Block, Facts, Heading, Lines, Paragraph, Report, Section
from ..papers import PAPER_FORMAT, paper_blocks, parse_paper
from .method_runs import method_sections
from .policy_days import Days, policy_sections

_FIELDS = {field.name for field in fields(Row)} - {"interrupted", "survives", "warnings"}
_MOST_PLANS = 6
_MOST_FILES = 200


@dataclass(slots=True)
class _Rows:
    """Contents of the file of rows, gathered while the file is read."""

    lines: int = 0
    seconds: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter)
    versions: dict[str, None] = field(default_factory=dict)
    machines: dict[str, None] = field(default_factory=dict)
    runs: list[Row] = field(default_factory=list)
    groups: dict[str, dict[str, Days]] = field(default_factory=dict)

    def add(self, line: CellRow) -> None:
        """Take in a line."""
        self.lines += 1
        self.seconds += line.runtime_s or 0.0
        self.versions.setdefault(line.version)
        self.machines.setdefault(line.machine)
        if not line.policy:
            if not line.method or isinstance(line.cost_usd, list) or isinstance(line.makespan_s, list):
                raise ValueError("it is neither of one run of a method nor of a policy")
            run = {name: getattr(line, name) for name in _FIELDS} | {"status": line.status or "feasible"}
            self.statuses[run["status"]] += 1
            self.runs.append(Row(**run))
            return
        self.statuses[(line.status or "feasible") if line.reason else "replayed"] += 1
        if line.reason and line.cost_usd is None:
            return
        name = ", ".join(part for part in (line.instance, line.method, line.scenario, line.cloud) if part)
        days = self.groups.setdefault(name, {}).setdefault(line.policy, Days(is_bound=line.policy == CLAIRVOYANT))
        days.add(line.costs_usd, line.makespans_s, line.deadline_s)


def experiment_report(folder: str | os.PathLike[str], version: str) -> Report:
    """Report on what an experiment has come to so far.

    Parameters
    ----------
    folder : path
        Where its rows are; plans and comparisons with papers that lie there as well are shown with them.
    version : str
        Of spotbag, which writes the report.

    Raises
    ------
    InputError
        If the folder holds no experiment, or rows that cannot be read.
    """
    place = Path(folder)
    about = read_about(place)
    spec = about["spec"]
    try:
        asked = format_json(spec).splitlines()
    except RecursionError:
        raise input_error(str(place / ABOUT), "is nested too deeply") from None
    rows = _read_rows(place)
    description = spec.get("description")
    return Report(
        f"Experiment {place.resolve().name}",
        ", ".join([counted(rows.lines, "row"), *([f"{description}"] if description else [])]),
        [
            Section("What was run", [Facts(_about(about, rows, version)), Lines(asked)]),
            *method_sections(rows.runs),
            *policy_sections(rows.groups),
            *_of_files(place),
        ],
    )


def _read_rows(folder: Path) -> _Rows:
    """Read rows; a last line that was cut is left out."""
    rows = _Rows()
    for number, line in read_rows(folder):
        try:
            rows.add(line)
        except ValueError as error:
            raise not_a_row(folder, number, error) from None
    return rows


def _about(about: Mapping[str, Any], rows: _Rows, version: str) -> list[tuple[str, str]]:
    return [
        ("rows", f"{rows.lines:,}"),
        ("ended as", ", ".join(f"{number:,} {status}" for status, number in rows.statuses.most_common()) or "-"),
        ("time of all", f"{rows.seconds:,.1f} s"),
        ("spotbag", _listed(rows.versions) or str(about.get("version", "-"))),
        ("machine", _listed(rows.machines) or "-"),
        ("report by", f"spotbag {version}"),
    ]


def _listed(names: Iterable[str]) -> str:
    return "; ".join(name for name in names if name)


# ------------------------------------------------------------------------- files


def _of_files(folder: Path) -> list[Section]:
    """Sections on plans and on comparisons with papers that lie in the folder."""
    plans: list[Block] = []
    papers: list[Block] = []
    for path in sorted(folder.rglob("*.json"))[:_MOST_FILES]:
        text = read_text(path)
        kind = format_of(text)
        if kind == PAPER_FORMAT:
            papers += paper_blocks(parse_paper(text, str(path)))
        elif kind == SCHEDULE_FORMAT and len(plans) < 2 * _MOST_PLANS:
            plans += [Heading(path.relative_to(folder).as_posix()), _gantt(text, str(path))]
    return [Section("Plans", plans), Section("The papers' figures beside ours", papers)]


def _gantt(text: str, source: str) -> Block:
    """Return the Gantt chart of a plan, or why there is none."""
    document = parse_schedule_document(text, source)
    if document.instance not in library_names():
        return Paragraph(f"A plan for {document.instance}, which is not of the library; a report on it alone shows it.")
    problem = with_d_spot(library_instance(document.instance), made_for_s=document.d_spot_s)
    try:
        return plan_chart(schedule_of_document(document, problem, source), document.method, document.survival)
    except SpotbagError as error:
        return Paragraph(f"{error}", True)
