"""Bags of tasks from WfFormat, the JSON of workflows of WfCommons (versions 1.4 and 1.5)."""

from __future__ import annotations

import os
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from ...core.errors import InputError, Issue, input_error
from ...core.json_documents import parse_json
from ...core.records import LimitedRecord, validate_record
from ...core.text_files import read_text, source_name
from ..entries import MAX_TASKS
from .imported import Asked, Imported, grouped, make_instance

_BYTES_PER_MB = 1024**2


class _Theirs(LimitedRecord):
    """Their documents hold more than is read."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", allow_inf_nan=False)


class _Command(_Theirs):
    program: str | None = None
    arguments: list[str] = Field(default_factory=list)

    def text(self) -> str:
        """The command as a line."""
        return " ".join([self.program or "", *self.arguments]).strip()


class _Task(_Theirs):
    """A task of version 1.4, or its part in the specification or the execution of version 1.5."""

    name: str | None = None
    id: str | None = None
    parents: list[str] = Field(default_factory=list)
    children: list[str] = Field(default_factory=list)
    runtime_s: Annotated[float | None, Field(alias="runtimeInSeconds")] = None
    cores: float | None = None
    core_count: Annotated[float | None, Field(alias="coreCount")] = None
    memory_bytes: Annotated[float | None, Field(alias="memoryInBytes")] = None
    command: _Command | None = None

    @property
    def key(self) -> str:
        """What other tasks call it."""
        return self.id or self.name or ""


class _Tasks(_Theirs):
    tasks: list[_Task] = Field(default_factory=list)


class _Workflow(_Theirs):
    tasks: list[_Task] = Field(default_factory=list)
    specification: _Tasks | None = None
    execution: _Tasks | None = None


class _Document(_Theirs):
    name: str
    version: Annotated[str, Field(alias="schemaVersion")]
    workflow: _Workflow


def instance_of_wfformat(path: str | os.PathLike[str], asked: Asked, *, split_cores: bool = False) -> Imported:
    """Read a bag of tasks from a workflow whose tasks do not depend on each other.

    Parameters
    ----------
    path : path
        The JSON, or ``-`` for standard input.
    asked : Asked
        Deadline and VM types.
    split_cores : bool
        Make a task for each core of those that have several, instead of refusing them.

    Raises
    ------
    InputError
        With everything that is wrong; if tasks depend on each other.
    SpotbagError
        If the VM types cannot be had.
    """
    source = source_name(path)
    document = validate_record(_Document, parse_json(read_text(path), source, most_keys=MAX_TASKS), source)
    workflow = document.workflow
    if workflow.specification is not None and workflow.execution is None:
        raise input_error(source, "has no execution: without workflow.execution, no run time of a task is known")
    specified = workflow.tasks if workflow.specification is None else workflow.specification.tasks
    executed = workflow.tasks if workflow.execution is None else workflow.execution.tasks
    if not executed:
        raise input_error(source, "has no tasks")
    _refuse_dependencies(specified, source)
    tasks, issues, split = _tasks(executed, asked.memory_mb, split_cores)
    if issues:
        raise InputError(source, grouped(issues))
    warnings = [f"{source}: {split:,} tasks of several cores became a task for each core"] if split else []
    made_from = f"WfFormat {document.version} file {os.path.basename(source)}: {document.name}"
    return make_instance(tasks, asked, source, made_from, lambda index: ("task", str(index + 1)), warnings)


def _refuse_dependencies(tasks: list[_Task], source: str) -> None:
    edges = {(parent, task.key) for task in tasks for parent in task.parents}
    edges |= {(task.key, child) for task in tasks for child in task.children}
    if edges:
        parent, child = min(edges)
        raise input_error(
            source,
            f"has {len(edges):,} dependencies between its {len(tasks):,} tasks ({child!r} waits for {parent!r}, for "
            "example); a bag is of independent tasks, and the order of others would be lost",
        )


def _tasks(
    executed: list[_Task], memory_mb: float | None, split_cores: bool
) -> tuple[list[dict[str, Any]], list[Issue], int]:
    made, issues, split = [], [], 0
    for number, task in enumerate(executed, 1):
        where, name = f"task {number}", task.key
        cores = task.core_count or task.cores or 1
        memory = memory_mb if not task.memory_bytes else task.memory_bytes / _BYTES_PER_MB
        if task.runtime_s is None or task.runtime_s <= 0:
            issues.append(Issue(where, "must be greater than 0", "runtimeInSeconds", task.runtime_s, name))
        if memory is None:
            rule = "is missing (--memory 1GB is for tasks that do not say)"
            issues.append(Issue(where, rule, "memoryInBytes", item=name))
        if cores > 1 and not split_cores:
            rule = "is more than one; --multi-core split makes a task for each core"
            issues.append(Issue(where, rule, "coreCount", cores, name))
        entry: dict[str, Any] = {"id": name, "memory_mb": memory, "base_runtime_s": task.runtime_s}
        if cores > 1:
            split += 1
            entry["memory_mb"] = None if memory is None else memory / round(cores)
            entry["count"] = round(cores)
        if task.command is not None and task.command.text():
            entry["command"] = task.command.text()
        made.append(entry)
    return made, issues, split
