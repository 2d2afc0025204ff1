"""Tables of tasks, made of JSON: lists of tasks, jobs of AWS Batch and LSF, and workflows."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from ...core.errors import InputError, Issue, input_error
from ...core.json_documents import parse_json, parse_value
from ...core.records import TheirRecord, duplicates_anywhere, validate_record
from ...core.wording import listed
from ..entries import MAX_TASKS
from ..table_formats import (
    CSV,
    FORMATS,
    HEAD,
    MadeTable,
    TableFormat,
    format_of_headings,
    has_jobs_inside,
    kind_of_file,
)
from .imported import grouped

_FEW_CELLS, _CELLS_PER_VALUE = 1_000_000, 16
"""Cells that a table may have, and more for each value in a document: most of them would be empty beyond that."""


def table_of_document(text: str, source: str, kind: str | None) -> tuple[TableFormat, MadeTable]:
    """Make a table of JSON, and say of which format it is.

    Parameters
    ----------
    text, source : str
        The JSON, and its name in messages.
    kind : str, optional
        Name of the format that it must have.

    Raises
    ------
    InputError
        With everything that is wrong.
    """
    if "wfformat" in (kind, kind_of_file(text[:HEAD])):
        return FORMATS["wfformat"], table_of_workflow(text, source)
    table = table_of_records(_records(text, source), source)
    form = format_of_headings(table.first)
    return (FORMATS["json"] if form is CSV else form), table


def _records(text: str, source: str) -> list[Mapping[str, Any]]:
    """Objects of a list, of lines, of AWS Batch or of LSF."""
    start = text.lstrip()
    lines = [line for line in text.splitlines() if line.strip()]
    if start.startswith("["):
        document = {"tasks": parse_value(text, source, most_keys=MAX_TASKS)}
    elif kind_of_file(text[:HEAD]) != "document":
        parse_json(text, source)
        rule = (
            "is a JSON object, and no list of tasks, of jobs of AWS Batch or of LSF; a list has an object for each task"
        )
        raise input_error(source, f'{rule}: [{{"id": "a", "runtime": "90s", "memory": "2GB"}}, ...]')
    elif not has_jobs_inside(start) and all(
        line.lstrip().startswith("{") and line.rstrip().endswith("}") for line in lines
    ):
        document = {"tasks": parse_value("[" + ",\n".join(lines) + "]", source, most_keys=MAX_TASKS)}
    else:
        document = parse_json(text, source, most_keys=MAX_TASKS)
    key = next((key for key in ("tasks", "jobs", "jobSummaryList", "RECORDS") if key in document), "")
    found = document.get(key)
    if not isinstance(found, list) or not found:
        raise input_error(source, "has no tasks")
    if key == "jobs" and isinstance(found[0], dict) and "job_id" in found[0]:
        raise input_error(
            source, f"is JSON of Slurm, which is not read: {FORMATS['sacct'].source} makes a table that is"
        )
    numbered = enumerate(found, 1)
    wrong = [
        Issue(f"task {number}", "must be an object", value=one) for number, one in numbered if type(one) is not dict
    ]
    if wrong:
        raise InputError(source, grouped(wrong))
    return [_batch_job(job) for job in found] if key.startswith("job") else found


def _cell(value: Any) -> str:
    """Text of a value, as a cell of a table has it."""
    if value is None or value in ([], {}):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "" if value.startswith("/Expr(") else value.strip()  # HTCondor: not evaluated
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return shlex.join(value)
    return json.dumps(value)


def _batch_job(job: Mapping[str, Any]) -> dict[str, Any]:
    """Facts of a job of AWS Batch, whose machine is described in one of three places."""
    made = {key: job.get(key) for key in ("jobId", "jobName", "status", "dependsOn")}
    attempts = _objects(job.get("attempts"))
    # The times of a job that was tried again include those of the attempts that failed.
    run = attempts[-1] if len(attempts) > 1 and "stoppedAt" in attempts[-1] else job
    began, ended = (run.get(key, "") for key in ("startedAt", "stoppedAt"))
    timed = {type(began), type(ended)} <= {int, float}
    made["stopped started"] = ended - began if timed else None
    container = _object(job.get("container"))
    pod = _object(_object(job.get("eksProperties")).get("podProperties"))
    tasks = _objects(_object(job.get("ecsProperties")).get("taskProperties"))
    many = [*_objects(pod.get("containers")), *(one for task in tasks for one in _objects(task.get("containers")))]
    container = container or (many[0] if many else {})
    needs = {str(one.get("type")): one.get("value") for one in _objects(container.get("resourceRequirements"))}
    resources = _object(container.get("resources"))
    limits = {**_object(resources.get("requests")), **_object(resources.get("limits"))}
    made["vcpus"] = _amount(needs.get("VCPU", limits.get("cpu", container.get("vcpus"))))
    made["memory"] = _amount(needs.get("MEMORY", limits.get("memory", container.get("memory"))))
    made["gpus"] = _amount(needs.get("GPU", limits.get("nvidia.com/gpu")))
    made["exitCode"], made["command"] = container.get("exitCode"), container.get("command")
    made["nodes"] = _object(job.get("nodeProperties")).get("numNodes")
    array = _object(job.get("arrayProperties"))
    made["children of the array"] = array.get("size") if "index" not in array else None
    made["containers"] = len(many) if len(many) > 1 else None
    return made


def _amount(value: Any) -> Any:
    """Amount of a resource; what is none shall not pass for one that is not said."""
    return value if value is None or (_cell(value) and not isinstance(value, list)) else json.dumps(value)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> Sequence[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def table_of_records(records: Sequence[Mapping[str, Any]], source: str, issues: Sequence[Issue] = ()) -> MadeTable:
    """Make a table of records, with a column for each key."""
    given = dict.fromkeys(key for record in records for key in record)
    if len(given) * len(records) > _FEW_CELLS + _CELLS_PER_VALUE * sum(map(len, records)):
        rule = f"has {len(records):,} objects with {len(given):,} different keys: leave out what is not of tasks"
        raise input_error(source, rule)
    rows = [(number, [_cell(record.get(key)) for key in given]) for number, record in enumerate(records, 1)]
    return MadeTable(source, [*given], rows, issues=[*issues])


# WfCommons numbers the tasks of a stage, "blastall_00000042" or "blastall_ID000042": the rest is its name.
_NUMBERED = re.compile(r"_(?:ID)?[0-9]+$", re.IGNORECASE)


class _Command(TheirRecord):
    program: str | None = None
    arguments: list[str] = Field(default_factory=list)

    def text(self) -> str:
        """The command as a line."""
        return " ".join([self.program, *self.arguments] if self.program else self.arguments)


class _File(TheirRecord):
    """A file of a task of version 1.4."""

    name: str
    link: Literal["input", "output"]


class _Linked(TheirRecord):
    category: str | None = None
    parents: list[str] | None = None
    children: list[str] | None = None


class _Measured(TheirRecord):
    runtime_s: Annotated[float | None, Field(alias="runtimeInSeconds", ge=0)] = None
    memory_bytes: Annotated[float | None, Field(alias="memoryInBytes", ge=0)] = None
    command: _Command | None = None


class _Specified(_Linked):
    """A task of the specification of version 1.5 and later."""

    id: str
    name: str | None = None
    read_files: list[str] = Field(alias="inputFiles", default_factory=list)
    written_files: list[str] = Field(alias="outputFiles", default_factory=list)


class _Executed(_Measured):
    """A task of the execution of version 1.5 and later."""

    id: str
    cores: Annotated[float | None, Field(alias="coreCount", ge=1)] = None


class _Task(_Linked, _Measured):
    """A task of version 1.4, which says both; tasks are called by their names if one has no id."""

    name: str
    id: str | None = None
    files: list[_File] = Field(default_factory=list)
    cores: Annotated[float | None, Field(ge=1)] = None

    def parts(self, by_name: bool) -> tuple[_Specified, _Executed]:
        """Return the facts of a task that later versions have in two places."""
        files = {link: [file.name for file in self.files if file.link == link] for link in ("input", "output")}
        facts = dict(self) | {
            "id": self.name if by_name or self.id is None else self.id,
            "children": self.children or [],
            "read_files": files["input"],
            "written_files": files["output"],
        }
        return _Specified.model_construct(**facts), _Executed.model_construct(**facts)


class _Specification(TheirRecord):
    tasks: list[_Specified] = Field(default_factory=list)


class _Execution(TheirRecord):
    tasks: list[_Executed] = Field(default_factory=list)


class _Workflow(TheirRecord):
    tasks: list[_Task] | None = None
    specification: _Specification | None = None
    execution: _Execution | None = None


class _Document(TheirRecord):
    version: Annotated[Literal["1.4", "1.5", "1.6"], Field(alias="schemaVersion")]
    workflow: _Workflow


def table_of_workflow(text: str, source: str) -> MadeTable:
    """Make a table of the tasks of a workflow as they were executed, which says what waits for what.

    Raises
    ------
    InputError
        With everything that is wrong.
    """
    document = validate_record(_Document, parse_json(text, source, most_keys=MAX_TASKS), source)
    specified, executed = _two_parts(document, source)
    issues = [*_issues_of_parts(specified, executed)]
    if issues:
        raise InputError(source, grouped(issues))
    of_id = {task.id: task for task in specified}
    rows = []
    for number, task in enumerate(executed, 1):
        name, category = of_id[task.id].name or task.id, of_id[task.id].category
        measured = ["" if value is None else repr(value) for value in (task.runtime_s, task.memory_bytes, task.cores)]
        command = task.command.text().strip() if task.command else ""
        rows.append((number, [task.id, category or _NUMBERED.sub("", name), name, *measured, command]))
    headings = ["id", "stage", "name", "runtimeInSeconds", "memoryInBytes", "coreCount", "command"]
    numbers = {task.id: number for number, task in enumerate(executed, 1)}
    waits = sorted((numbers[child], numbers[parent]) for parent, child in _dependencies(specified))
    return MadeTable(source, headings, rows, waits=waits)


def _two_parts(document: _Document, source: str) -> tuple[list[_Specified], list[_Executed]]:
    """Tasks as they are specified, and as they were executed."""
    workflow = document.workflow
    specified: list[_Specified] = []
    executed: list[_Executed] = []
    if document.version == "1.4":
        if workflow.tasks is None or workflow.specification is not None or workflow.execution is not None:
            raise input_error(source, "is no workflow of version 1.4, which has workflow.tasks and nothing beside it")
        by_name = any(task.id is None for task in workflow.tasks)
        for task in workflow.tasks:
            one, other = task.parts(by_name)
            specified.append(one)
            executed.append(other)
    else:
        if workflow.specification is not None and workflow.execution is None:
            raise input_error(source, "has no execution: without workflow.execution, no run time of a task is known")
        if workflow.specification is None or workflow.execution is None or workflow.tasks is not None:
            raise input_error(
                source,
                f"is no workflow of version {document.version}, which has workflow.specification, with all "
                "dependencies, and workflow.execution, and no workflow.tasks beside them",
            )
        specified, executed = workflow.specification.tasks, workflow.execution.tasks
    if not executed:
        raise input_error(source, "has no tasks")
    return specified, executed


def _issues_of_parts(specified: Sequence[_Specified], executed: Sequence[_Executed]) -> Iterator[Issue]:
    """Return the faults of dependencies, and contradictions between the two parts."""
    ran, meant = {task.id for task in executed}, {task.id for task in specified}
    for number, task in enumerate(specified, 1):
        missing = [name for name, links in (("parents", task.parents), ("children", task.children)) if links is None]
        if missing:
            rule = "is missing: whether a task depends on others must be said"
            yield Issue(f"task {number}", rule, " and ".join(missing), item=task.id)
        unknown = {*(task.parents or ()), *(task.children or ())} - meant
        if unknown:
            yield Issue(
                f"task {number}", f"depends on {listed(sorted(unknown), 'task')}, which is not there", item=task.id
            )
    # Both parts are of the same tasks: an id that is there twice makes its part the longer one.
    longer: Sequence[_Specified | _Executed] = executed if len(executed) > len(specified) else specified
    yield from duplicates_anywhere("id", ((f"task {number}", task.id) for number, task in enumerate(longer, 1)))
    for names, other, of in ((meant - ran, "execution", "specification"), (ran - meant, "specification", "execution")):
        if names:
            rule = f"lacks {listed(sorted(names), 'task')} of the {of}"
            yield Issue(f"workflow.{other}", rule)


def _dependencies(tasks: Sequence[_Specified]) -> set[tuple[str, str]]:
    """Pairs of tasks of which the second waits for the first."""
    edges = {(parent, task.id) for task in tasks for parent in task.parents or ()}
    edges |= {(task.id, child) for task in tasks for child in task.children or ()}
    # A task that reads what another writes waits for it, whether the document says so or not.
    writers = {file: task.id for task in tasks for file in task.written_files}
    return edges | {
        (writers[file], task.id) for task in tasks for file in task.read_files if writers.get(file, task.id) != task.id
    }
