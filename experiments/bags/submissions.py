"""Submitted rows of a suite, each with the plan, and the traces of days, on which it rests; their check and ranking.

Nothing that a row says is believed: the checker works out the figures of its plan, the auditor those of its traces,
days under a policy of spotbag's own are replayed, and what they find must be what the row says.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import Field

from ...audits.auditor import audit_traces
from ...audits.bags.plan import CheckReport, check
from ...core.errors import InputError, Issue, SpotbagError, input_error
from ...core.json_documents import check_format, parse_json
from ...core.quantities import NOISE, SAME_COST
from ...core.record_lists import grouped_by
from ...core.records import Record, validate_record
from ...core.statistics import CONFIDENCE, holm_adjusted
from ...core.text_files import read_text, source_name
from ...instances.bags.scenarios import find_scenario
from ...instances.bags.timeline import TIMELINE_FORMAT, Timeline, timeline_of_document
from ...instances.instance import Instance
from ...replay.bags.plan import CheckedPlan, checked
from ...replay.bags.policies import KIND
from ...replay.bags.runs import is_baseline, trace_day
from ...schedules.documents import ScheduleDocument
from ...schedules.schedule_files import schedule_document_of, schedule_of_document
from ...traces.files import numbered_lines, trace_records, traces_of_records
from ...traces.trace import Trace
from .rows import CLAIRVOYANT, PLANS, ROWS, CellRow, read_about, read_rows
from .suite import SuiteDocument, cloud_of, days_sha256, drawn_days, find_suite

SUBMISSION_FORMAT: Literal["spotbag.submission/1"] = "spotbag.submission/1"
_ROW, _PLAN, _TRACES = "the row", "the plan", "the traces"
"""Names of parts of a row in messages."""
_OF_PLAN: tuple[str, ...] = ("cost_usd", "makespan_s", "objective")
_OF_DAYS = ("scenario", "policy", "late_days", "cost_usd")
"""Fields that a row has from that of the experiment."""


class SubmittedRow(Record):
    """A row.

    Attributes
    ----------
    suite, suite_sha256 : str
        Of which suite it is, and the digest of that.
    entry : str
        What is submitted: a method, a policy. It is a name only.
    instance : str
        A name of the suite.
    seed : int
        Of the run.
    plan : mapping
        The plan, of the format ``spotbag.schedule/1``.
    """

    format: Literal["spotbag.submission/1"] = SUBMISSION_FORMAT
    suite: str
    suite_sha256: str
    entry: Annotated[str, Field(min_length=1, max_length=200)]
    instance: str
    seed: int = 0
    plan: dict[str, Any]


class PlanRow(SubmittedRow):
    """A plan and its figures.

    Attributes
    ----------
    cost_usd, objective : float
        Cost and objective of the plan.
    makespan_s : int
        Its makespan.
    """

    cost_usd: float
    makespan_s: int
    objective: float


class DaysRow(SubmittedRow):
    """Days of a plan under a policy, and their figures.

    Attributes
    ----------
    scenario : str
        Of the days.
    policy : str
        Name of the policy; one of spotbag's own has the days replayed.
    late_days : int
        Days that miss the deadline.
    cost_usd : list of float
        Of each day; null of one on which tasks are not done.
    traces : list of mapping
        Records of the days' traces, of the format ``spotbag.trace/2``.
    """

    scenario: str
    policy: str
    late_days: int
    cost_usd: list[float | None]
    traces: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class CheckedRow:
    """A row, and what was found of it.

    Attributes
    ----------
    source : str
        File and line.
    suite, entry, instance, scenario, days : str
        What it is of; ``days`` is the set of the suite that the days are.
    seed : int
        Of the run.
    value : float or None
        What it counts, worked out anew, less is better: the objective of the plan, or the mean cost of the days with
        what late ones count more. None if the row is refused.
    late_days : int
        Days that miss the deadline.
    reason : str
        Why the row is refused; empty if it is not.
    """

    source: str
    suite: str = ""
    entry: str = ""
    instance: str = ""
    scenario: str = ""
    days: str = ""
    seed: int = 0
    value: float | None = None
    late_days: int = 0
    reason: str = ""


# ---------------------------------------------------------------------------- making


def submitted_lines(folder: str | os.PathLike[str], suite: str, name: str = "") -> Iterator[tuple[str, CheckedRow]]:
    """Yield the lines of a submission, made of the rows of an experiment and its plans, each with its check.

    Days are replayed again; a row of which they cannot be is an empty line with the reason. Rows of other instances
    than those of the suite, of bounds, of the on-demand baseline, which meets no day, and without a plan are left out.

    Parameters
    ----------
    folder : path
        Of the experiment.
    suite : str
        Of which suite it is.
    name : str
        What stands before the names of methods and policies; nothing if absent.

    Raises
    ------
    InputError
        If it holds no experiment, or lines or plans that are none; if there is no such suite.
    """
    read_about(folder)
    found = find_suite(suite)
    head = {"format": SUBMISSION_FORMAT, "suite": suite, "suite_sha256": found.sha256}
    plans: dict[tuple[str, str, int], dict[str, Any]] = {}
    for number, row in read_rows(folder):
        key, entry, made = (row.instance, row.method, row.seed), f"{name}{row.method}", _OF_PLAN
        if row.instance not in found.instances or row.policy == CLAIRVOYANT or is_baseline(row.policy):
            continue
        path = Path(folder, PLANS, f"{row.cell}.json")
        if not row.policy and path.is_file():
            plans[key] = parse_json(read_text(path), str(path))
        elif row.status == "replayed" and key in plans:
            entry, made = f"{entry} under {row.policy}", _OF_DAYS
        else:
            continue
        about = {"entry": entry, "instance": row.instance, "seed": row.seed, "plan": plans[key]}
        document = head | {field: getattr(row, field) for field in made} | about
        source = f"{Path(folder, ROWS)}, line {number}"
        try:
            if row.policy:
                document["traces"] = list(trace_records(_traces(found.instance(row.instance), row, plans[key])))
        except SpotbagError as error:
            yield "", CheckedRow(source, suite, entry, row.instance, reason=str(error))
            continue
        line = json.dumps(document)
        yield line, checked_row(line, source)


def _traces(instance: Instance, row: CellRow, document: Mapping[str, Any]) -> Iterator[Trace]:
    """Yield the traces of the days of a row."""
    plan = checked(schedule_of_document(schedule_document_of(document, _PLAN), instance))
    days = drawn_days(instance, row.scenario, row.days_seed, row.first_day + row.n_days)
    for day, timeline in list(enumerate(days))[row.first_day :]:
        yield _replayed(plan, row.policy, row.scenario, timeline, day)


def _replayed(plan: CheckedPlan, policy: str, scenario: str, timeline: Timeline, day: int) -> Trace:
    """Return the trace of a day."""
    cloud, law = cloud_of(plan.instance, scenario), find_scenario(scenario).law
    return trace_day(plan, policy, timeline, cloud=cloud, day=day, law=law)[1]


# ---------------------------------------------------------------------------- checking


def check_submissions(paths: Iterable[str | os.PathLike[str]]) -> list[CheckedRow]:
    """Check the rows of submissions, each by itself; of two rows of the same, the second is refused.

    Parameters
    ----------
    paths : iterable of path
        Files of lines; ``-`` for standard input.

    Raises
    ------
    InputError
        If a file cannot be read, is empty, or has no line that is a row.
    """
    rows: list[CheckedRow] = []
    first: dict[tuple[Any, ...], str] = {}
    for path in paths:
        source = source_name(path)
        of_file = [checked_row(line, f"{source}, line {number}") for number, line in numbered_lines(read_text(path))]
        if not any(row.entry for row in of_file):
            raise input_error(source, f"holds no row of a submission; {of_file[0].reason}")
        for row in of_file:
            key = row.suite, row.entry, row.instance, row.scenario, row.days, row.seed
            if not row.reason and key in first:
                reason = f"is a second row of {row.entry!r} with seed {row.seed} on the same; the first is {first[key]}"
                row = replace(row, value=None, late_days=0, reason=reason)
            elif not row.reason:
                first[key] = row.source
            rows.append(row)
    return rows


def checked_row(text: str, source: str) -> CheckedRow:
    """Check a row; what is wrong with it is the reason for which it is refused."""
    found = CheckedRow(source)
    try:
        document = parse_json(text, _ROW)
        check_format(document, SUBMISSION_FORMAT, _ROW)
        row = validate_record(DaysRow if "traces" in document else PlanRow, document, _ROW)
        scenario = row.scenario if isinstance(row, DaysRow) else ""
        found = CheckedRow(source, row.suite, row.entry, row.instance, scenario, seed=row.seed)
        suite = find_suite(row.suite)
        if row.suite_sha256 != suite.sha256:
            rule = f"is not that of {suite.name}, {suite.sha256[:12]}...: the row is of another version of the suite"
            raise InputError(_ROW, [Issue("", rule, "suite_sha256", row.suite_sha256)])
        instance = suite.instance(row.instance)
        plan, report = _checked_plan(row, instance)
        if isinstance(row, DaysRow):
            return _of_days(row, suite, checked(schedule_of_document(plan, instance)), found)
        _demand_same({name: (getattr(row, name), getattr(report, name)) for name in _OF_PLAN})
        return replace(found, value=report.objective)
    except SpotbagError as error:
        return replace(found, reason=str(error))


def _checked_plan(row: SubmittedRow, instance: Instance) -> tuple[ScheduleDocument, CheckReport]:
    """Return the plan of a row, and what the checker found of it."""
    document = schedule_document_of(row.plan, _PLAN)
    if document.instance != instance.name:
        raise SpotbagError(f"has a plan of another bag, {document.instance!r}, not of {instance.name!r}")
    report = check(instance, document)
    if not report.feasible:
        said = report.violations[0] if report.violations else "it has late tasks"
        raise SpotbagError(f"has a plan that cannot be carried out: {said}")
    return document, report


def _of_days(row: DaysRow, suite: SuiteDocument, plan: CheckedPlan, found: CheckedRow) -> CheckedRow:
    """Check days: as many as a set of the suite has, each audited, all of the same plan."""
    instance, traces = plan.instance, traces_of_records(enumerate(row.traces, start=1), _TRACES)
    if any(trace.of_stream or trace.of_platform or trace.of_execution for trace in traces):
        raise SpotbagError("has traces of something else than replays of a bag")
    days = suite.set_of_days(
        row.instance, row.scenario, days_sha256([trace.run["timeline"]["events"] for trace in traces])
    )
    # Policies of others cannot be replayed here: their days are audited, and must be those of the suite.
    own = row.policy.partition("+")[0] in KIND.built_in
    for day, (trace, report) in enumerate(zip(traces, audit_traces(traces, given=instance), strict=True)):
        timeline = timeline_of_document({"format": TIMELINE_FORMAT, **trace.run["timeline"]}, _TRACES)
        replayed = _replayed(plan, row.policy if own else "static", row.scenario, timeline, day)
        # What a trace says of its day is not believed: the day is replayed, and both must begin alike.
        for name, value in (replayed.run | {"policy": row.policy}).items():
            if trace.run.get(name) != value:
                said = "" if name == "plan" else f": {trace.run.get(name)}, not {value}"
                raise SpotbagError(f"day {day} is of another {name}{said}")
        if report.findings:
            raise SpotbagError(f"day {day} cannot have happened so: {report.findings[0].message}")
        figures = ("cost_usd", "makespan_s") if own else ()
        pairs = {f"{name} of day {day}": (trace.end[name], replayed.end[name]) for name in figures}
        _demand_same(pairs, row.policy)
    ends = [trace.end for trace in traces]
    late = sum(bool(end["late_tasks"] or end["unfinished"]) for end in ends)
    costs = [None if end["makespan_s"] is None else end["cost_usd"] for end in ends]
    pairs = {"number of days": (len(row.cost_usd), len(ends)), "late_days": (row.late_days, late)}
    of_days = enumerate(zip(row.cost_usd, costs, strict=False))
    _demand_same(pairs | {f"cost_usd[{day}]": pair for day, pair in of_days})
    usd = math.fsum(end["cost_usd"] for end in ends) + suite.late_usd[row.instance] * late
    return replace(found, days=days, value=usd / len(ends), late_days=late)


def _demand_same(pairs: Mapping[str, tuple[float | None, float | None]], what: str = "it") -> None:
    """Refuse a row that says something else than was found."""
    for name, (said, found) in pairs.items():
        if said is None or found is None:
            same = said is found
        else:
            same = math.isclose(said, found, rel_tol=SAME_COST, abs_tol=1e-9)
        if not same:
            raise SpotbagError(f"says {name} {said}, but {what} comes to {found}")


# ------------------------- entries ranked across instances


_Values: TypeAlias = Mapping[str, float]
"""Values of entries on an instance, by their names; those that count as equal are equal."""


@dataclass(frozen=True, slots=True)
class RankedEntry:
    """An entry among all that have the same instances.

    Attributes
    ----------
    entry : str
        Its name.
    mean_rank : float
        Over the instances, 1 is best; equals share their ranks.
    best : int
        Instances on which no other is better.
    above_percent : float
        By how much its value is above the best one of each instance, by the geometric mean.
    late_days : int
        Of all its days on these instances.
    """

    entry: str
    mean_rank: float
    best: int
    above_percent: float
    late_days: int


@dataclass(frozen=True, slots=True)
class EntryPair:
    """Two entries on the instances that both have, the better one first.

    Attributes
    ----------
    better, other : str
        Their names.
    wins, ties, losses : int
        Instances.
    p_value, p_holm : float or None
        Of Wilcoxon's signed-rank test of the logarithms of the ratios, two-sided; and adjusted for the number of
        pairs. None if all are equal.
    apart : bool
        Whether their mean ranks are more than the critical difference apart.
    """

    better: str
    other: str
    wins: int
    ties: int
    losses: int
    p_value: float | None
    p_holm: float | None
    apart: bool


@dataclass(frozen=True, slots=True)
class Ranking:
    """Compared entries: plans, or days of a set.

    Attributes
    ----------
    suite, what : str
        The suite, and ``plans`` or the name of the set of days.
    instances : tuple of str
        Those that all entries have; with the scenario, of days.
    left_out : tuple of str
        Instances that some entry does not have.
    entries : tuple of RankedEntry
        The best first.
    friedman_p : float or None
        Of Friedman's test that all are alike; None for fewer than three entries, or if all are equal.
    critical_difference : float or None
        Of Nemenyi's test: mean ranks that are less apart may be so by chance (5 %).
    pairs : tuple of EntryPair
        All of them.
    """

    suite: str
    what: str
    instances: tuple[str, ...]
    left_out: tuple[str, ...]
    entries: tuple[RankedEntry, ...]
    friedman_p: float | None
    critical_difference: float | None
    pairs: tuple[EntryPair, ...]


def rankings(rows: Iterable[CheckedRow]) -> list[Ranking]:
    """Rank the entries of rows that were not refused: a table for the plans of a suite, and one for each set of days.

    Of several seeds of an entry on an instance, the mean counts.

    Raises
    ------
    InputError
        If there is no instance that all entries of a table have.
    """
    tables = grouped_by((row for row in rows if not row.reason), lambda row: (row.suite, row.days or "plans"))
    return [_ranking(suite, what, of_table) for (suite, what), of_table in tables.items()]


def _ranking(suite: str, what: str, rows: Sequence[CheckedRow]) -> Ranking:
    from scipy.stats import friedmanchisquare, rankdata, studentized_range

    table, names = _table(rows), list(dict.fromkeys(row.entry for row in rows))
    # Ranks are compared over the same instances only.
    common = [place for place, values in table.items() if len(values) == len(names)]
    if not common:
        lacking = {name: sum(name not in values for values in table.values()) for name in names}
        said = ", ".join(f"{name!r} lacks {n} of {len(table)}" for name, n in lacking.items() if n)
        raise input_error(f"{suite}, {what}", f"no instance has a row of each entry; {said}")
    values = np.array([[table[place][name] for name in names] for place in common])
    ranks, ratios = rankdata(values, axis=1), values / values.min(axis=1, keepdims=True)
    entries = [
        RankedEntry(
            entry=name,
            mean_rank=float(ranks[:, k].mean()),
            best=int((ratios[:, k] == 1).sum()),
            above_percent=100 * math.expm1(float(np.log(ratios[:, k]).mean())),
            late_days=sum(row.late_days for row in rows if row.entry == name and _place(row) in common),
        )
        for k, name in enumerate(names)
    ]
    entries.sort(key=lambda entry: entry.mean_rank)
    difference, friedman, k = None, None, len(names)
    if k > 1 and len(common) > 1:
        # Demsar (2006): the critical difference of Nemenyi's test.
        width = float(studentized_range.ppf(CONFIDENCE, k, math.inf)) / math.sqrt(2)
        difference = width * math.sqrt(k * (k + 1) / (6 * len(common)))
        if k > 2 and np.ptp(ranks, axis=1).any():
            friedman = float(friedmanchisquare(*values.T).pvalue)
    return Ranking(
        suite=suite,
        what=what,
        instances=tuple(common),
        left_out=tuple(place for place in table if place not in common),
        entries=tuple(entries),
        friedman_p=friedman,
        critical_difference=difference,
        pairs=_pairs(entries, table, difference),
    )


def _place(row: CheckedRow) -> str:
    return f"{row.instance} {row.scenario}".rstrip()


def _table(rows: Iterable[CheckedRow]) -> dict[str, _Values]:
    """Return the values of entries on each instance: means over seeds, put equal to the least that is as good."""
    table: dict[str, _Values] = {}
    for place, of_place in grouped_by(rows, _place).items():
        by_entry = grouped_by(of_place, lambda row: row.entry)
        means = {entry: fmean(row.value for row in mine if row.value is not None) for entry, mine in by_entry.items()}
        least, values = -math.inf, dict[str, float]()
        # What costs nothing counts as next to nothing: there are no ratios to 0.
        for value, entry in sorted((max(mean, NOISE), entry) for entry, mean in means.items()):
            if not math.isclose(value, least, rel_tol=SAME_COST):
                least = value
            values[entry] = least
        table[place] = values
    return table


def _pairs(
    entries: Sequence[RankedEntry], table: Mapping[str, _Values], difference: float | None
) -> tuple[EntryPair, ...]:
    from scipy.stats import wilcoxon

    pairs = list(combinations(entries, 2))
    logs = [_log_ratios(one.entry, other.entry, table.values()) for one, other in pairs]
    # All ties: the test is not defined, and nothing speaks for a difference.
    tests = [float(wilcoxon(each).pvalue) if any(each) else 1.0 for each in logs]
    return tuple(
        EntryPair(
            better=one.entry,
            other=other.entry,
            wins=sum(log < 0 for log in each),
            ties=sum(log == 0 for log in each),
            losses=sum(log > 0 for log in each),
            p_value=test if any(each) else None,
            p_holm=holm if any(each) else None,
            apart=difference is not None and other.mean_rank - one.mean_rank > difference,
        )
        for (one, other), each, test, holm in zip(pairs, logs, tests, holm_adjusted(tests), strict=True)
    )


def _log_ratios(one: str, other: str, table: Iterable[_Values]) -> list[float]:
    """Logarithms of the ratios of two entries on the instances that both have."""
    # A pair has more instances in common than all entries together.
    both = [values for values in table if one in values and other in values]
    return [math.log(values[one]) - math.log(values[other]) for values in both]
