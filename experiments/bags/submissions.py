"""Rows that are submitted for a suite, each with the plan or the traces that it rests on, and their check.

Nothing that a row says is believed: the checker works out what its plan comes to, the auditor what its traces do, and
what they find must be what the row says.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field

from ...audits.auditor import audit_traces
from ...audits.bags.plan import check
from ...core.errors import InputError, Issue, SpotbagError, input_error
from ...core.json_documents import parse_json
from ...core.quantities import SAME_COST
from ...core.records import Record, validate_record
from ...core.text_files import read_text, source_name
from ...heuristics.bags.d_spot import with_d_spot
from ...instances.bags.scenarios import find_scenario
from ...instances.instance import Instance
from ...replay.bags.plan import checked
from ...replay.bags.record import billing_record
from ...replay.bags.runs import trace_day
from ...schedules.schedule_files import parse_schedule_document, schedule_of_document
from ...traces.files import parse_traces, trace_lines
from ...traces.trace import Trace
from .rows import CLAIRVOYANT, PLANS, read_rows
from .suite import SuiteDocument, cloud_of, days_sha256, find_suite

SUBMISSION_FORMAT: Literal["spotbag.submission/1"] = "spotbag.submission/1"


class SubmittedRow(Record):
    """A row: a plan and what it comes to, or days under a policy.

    Attributes
    ----------
    suite, suite_sha256 : str
        Of which suite it is, and the digest of that.
    entry : str
        What is submitted: a method, a policy.
    instance, seed : str and int
        Of the run.
    cost_usd : float or list of float
        Of the plan, or of each day.
    makespan_s, objective : number, optional
        Of the plan.
    plan : mapping, optional
        The plan, of the format ``spotbag.schedule/1``.
    scenario, policy : str
        Of the days.
    late_days : int, optional
        Days that miss the deadline.
    traces : list of mapping, optional
        Records of the days' traces, of the format ``spotbag.trace/2``.
    """

    format: Literal["spotbag.submission/1"] = SUBMISSION_FORMAT
    suite: str
    suite_sha256: str
    entry: Annotated[str, Field(min_length=1, max_length=200)]
    instance: str
    seed: int = 0
    cost_usd: float | list[float | None]
    makespan_s: int | None = None
    objective: float | None = None
    plan: Mapping[str, Any] | None = None
    scenario: str = ""
    policy: str = ""
    late_days: int | None = None
    traces: list[Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class CheckedRow:
    """A row, and what was found of it.

    Attributes
    ----------
    source : str
        File and line.
    entry, instance, scenario, days : str
        What it is of; ``days`` is the set of the suite that the days are.
    value : float or None
        What it counts, worked out anew, less is better: the objective of the plan, or the mean cost of the days with
        what late ones count more. None if the row is refused.
    late_days : int
        Days that miss the deadline.
    reason : str
        Why the row is refused; empty if it is not.
    """

    source: str
    entry: str = ""
    instance: str = ""
    scenario: str = ""
    days: str = ""
    value: float | None = None
    late_days: int = 0
    reason: str = ""


# ---------------------------------------------------------------------------- making


def submitted_lines(folder: str | os.PathLike[str], suite: str, name: str = "") -> Iterator[str]:
    """Yield the lines of a submission, made of the rows of an experiment and its plans; days are replayed again.

    Rows of other instances than those of the suite, of bounds and without a plan are left out.

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
        If it holds no experiment, or there is no such suite.
    """
    found = find_suite(suite)
    head = {"format": SUBMISSION_FORMAT, "suite": suite, "suite_sha256": found.sha256}
    plans: dict[tuple[str, str, int], str] = {}
    for _, row in read_rows(folder, dict):
        if row["instance"] not in found.instances or row.get("policy") == CLAIRVOYANT:
            continue
        key = row["instance"], row["method"], row["seed"]
        about = head | {"entry": f"{name}{row['method']}", "instance": row["instance"], "seed": row["seed"]}
        if not row.get("policy"):
            path = os.path.join(folder, PLANS, f"{row['cell']}.json")
            if os.path.isfile(path):
                plans[key] = read_text(path)
                values = {field: row[field] for field in ("cost_usd", "makespan_s", "objective")}
                yield json.dumps(about | values | {"plan": json.loads(plans[key])})
        elif key in plans and row.get("status") == "replayed":
            days = {field: row[field] for field in ("scenario", "policy", "late_days", "cost_usd")}
            about["entry"] += f" under {row['policy']}"
            yield json.dumps(about | days | {"traces": list(_traces(found, plans[key], row))})


def _traces(suite: SuiteDocument, plan: str, row: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the records of the traces of the days of a row."""
    document = parse_schedule_document(plan)
    instance = with_d_spot(suite.instance(row["instance"]), made_for_s=document.d_spot_s)
    ready, scenario = checked(schedule_of_document(document, instance)), find_scenario(row["scenario"])
    days = range(row["first_day"], row["first_day"] + row["n_days"])
    replayed = partial(trace_day, ready, row["policy"], cloud=cloud_of(instance, row["scenario"]), law=scenario.law)
    traces = (replayed(scenario.day(instance, row["days_seed"], day), day=day)[1] for day in days)
    return map(json.loads, trace_lines(traces))


# ---------------------------------------------------------------------------- checking


def check_submission(path: str | os.PathLike[str]) -> list[CheckedRow]:
    """Check the rows of a submission, each by itself.

    Parameters
    ----------
    path : path
        A file of lines; ``-`` for standard input.

    Raises
    ------
    InputError
        If the file cannot be read, or is empty.
    """
    source, lines = source_name(path), read_text(path).splitlines()
    return [checked_row(line, f"{source}, line {number}") for number, line in enumerate(lines, start=1)]


def checked_row(text: str, source: str) -> CheckedRow:
    """Check a row; what is wrong with it is the reason for which it is refused."""
    about: dict[str, Any] = {"source": source}
    try:
        row = validate_record(SubmittedRow, parse_json(text, source), source)
        about |= {"entry": row.entry, "instance": row.instance, "scenario": row.scenario}
        suite = find_suite(row.suite)
        if row.suite_sha256 != suite.sha256:
            rule = f"is not that of {suite.name}, {suite.sha256[:12]}...: the row is of another version of the suite"
            raise InputError(source, [Issue("", rule, "suite_sha256", row.suite_sha256)])
        if (row.plan is None) == (row.traces is None):
            raise input_error(source, "must have a plan or traces, and not both")
        return CheckedRow(**about, **(_of_plan if row.traces is None else _of_days)(row, suite, source))
    except SpotbagError as error:
        return CheckedRow(**about, reason=str(error))


def _of_plan(row: SubmittedRow, suite: SuiteDocument, source: str) -> dict[str, Any]:
    """Figures of a plan."""
    instance = suite.instance(row.instance)
    document = parse_schedule_document(json.dumps(row.plan), source)
    if document.instance != instance.name:
        raise input_error(source, f"has a plan of another bag, {document.instance!r}, not of {instance.name!r}")
    report = check(instance, document)
    if not report.feasible:
        said = report.violations[0] if report.violations else "it has late tasks"
        raise input_error(source, f"has a plan that cannot be carried out: {said}")
    found = {"cost_usd": report.cost_usd, "makespan_s": report.makespan_s, "objective": report.objective}
    _demand_same(source, {name: (getattr(row, name), value) for name, value in found.items()})
    return {"value": report.objective}


def _of_days(row: SubmittedRow, suite: SuiteDocument, source: str) -> dict[str, Any]:
    """Figures of days: as many as a set of the suite has, each audited."""
    traces = parse_traces("\n".join(map(json.dumps, row.traces or ())), source)
    instance = suite.instance(row.instance)
    events = [trace.run["timeline"]["events"] for trace in traces]
    days = suite.set_of_days(row.instance, row.scenario, days_sha256(events))
    for number, (trace, report) in enumerate(
        zip(traces, audit_traces(traces, given=_given(instance, traces)), strict=True)
    ):
        _demand_rules(trace, instance, row, f"{source}, day {number}")
        if report.findings:
            raise input_error(f"{source}, day {number}", f"cannot have happened so: {report.findings[0].message}")
    costs = [trace.end["cost_usd"] if trace.end["makespan_s"] is not None else None for trace in traces]
    late = sum(_is_late(trace, instance) for trace in traces)
    if not isinstance(row.cost_usd, list) or len(row.cost_usd) != len(costs):
        raise input_error(source, f"must have a cost_usd for each of {len(costs)} days")
    pairs = zip(row.cost_usd, costs, strict=True)
    _demand_same(
        source, {"late_days": (row.late_days, late)} | {f"cost_usd[{k}]": pair for k, pair in enumerate(pairs)}
    )
    usd = [trace.end["cost_usd"] + suite.late_usd[row.instance] * _is_late(trace, instance) for trace in traces]
    return {"value": math.fsum(usd) / len(usd), "days": days, "late_days": late}


def _given(instance: Instance, traces: Sequence[Trace]) -> Instance:
    """The instance with the D_spot that the plan of the traces was made for, which is the method's own choice."""
    d_spot_s = traces[0].instance.get("d_spot_s")
    return instance if d_spot_s is None else instance.replace(d_spot_s=d_spot_s)


def _demand_rules(trace: Trace, instance: Instance, row: SubmittedRow, source: str) -> None:
    """Refuse a trace of another cloud or policy than it must be, or of a baseline that the day does not meet."""
    cloud = cloud_of(instance, row.scenario)
    rules = {"name": cloud.name, "interruption": cloud.interruption, "notice_s": cloud.notice_s}
    wanted = {"policy": row.policy, "cloud": rules, "billing": billing_record(cloud.billing), "hibernation": True}
    for name, value in wanted.items():
        if trace.run.get(name) != value:
            raise input_error(source, f"is of another {name}: {trace.run.get(name)}, not {value}")


def _is_late(trace: Trace, instance: Instance) -> bool:
    makespan_s = trace.end["makespan_s"]
    return makespan_s is None or makespan_s > instance.deadline_s


def _demand_same(source: str, pairs: Mapping[str, tuple[float | None, float | None]]) -> None:
    """Refuse a row that says something else than was found."""
    for name, (said, found) in pairs.items():
        same = (
            said == found
            if said is None or found is None
            else math.isclose(said, found, rel_tol=SAME_COST, abs_tol=1e-9)
        )
        if not same:
            raise input_error(source, f"says {name} {said}, but comes to {found}")
