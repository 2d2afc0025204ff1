"""Tasks of WfFormat, the JSON of workflows of WfCommons (versions 1.4 to 1.6), as a table of tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from ...core.errors import InputError, Issue, input_error
from ...core.json_documents import parse_json
from ...core.records import LimitedRecord, duplicates_anywhere, validate_record
from ...core.wording import listed
from ..entries import MAX_TASKS
from ..table_formats import MadeTable
from .imported import grouped

_NUMBERED = re.compile(r"_(?:ID)?[0-9]+$", re.IGNORECASE)


class _Theirs(LimitedRecord):
    """A part of a WfCommons document, of which only some keys are read."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", allow_inf_nan=False)


class _Command(_Theirs):
    program: str | None = None
    arguments: list[str] = Field(default_factory=list)

    def text(self) -> str:
        """The command as a line."""
        return " ".join([self.program, *self.arguments] if self.program else self.arguments)


class _File(_Theirs):
    """A file of a task of version 1.4."""

    name: str
    link: Literal["input", "output"]


class _Linked(_Theirs):
    category: str | None = None
    parents: list[str] | None = None
    children: list[str] | None = None


class _Measured(_Theirs):
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


class _Specification(_Theirs):
    tasks: list[_Specified] = Field(default_factory=list)


class _Execution(_Theirs):
    tasks: list[_Executed] = Field(default_factory=list)


class _Workflow(_Theirs):
    tasks: list[_Task] | None = None
    specification: _Specification | None = None
    execution: _Execution | None = None


class _Document(_Theirs):
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
    writers = {file: task.id for task in tasks for file in task.written_files}
    return edges | {
        (writers[file], task.id) for task in tasks for file in task.read_files if writers.get(file, task.id) != task.id
    }
