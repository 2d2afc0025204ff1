"""Bags of tasks from WfFormat, the JSON of workflows of WfCommons (versions 1.4 to 1.6)."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from ...core.errors import InputError, Issue, input_error
from ...core.json_documents import parse_json
from ...core.quantities import Name
from ...core.records import LimitedRecord, duplicates_anywhere, validate_record
from ...core.text_files import read_text, source_name
from ...core.wording import counted, listed
from ..entries import MAX_TASKS
from .imported import Asked, Imported, MultiCore, grouped, make_instance, several_cores

_BYTES_PER_MB = 1024**2
_NUMBERED = re.compile(r"_(?:ID)?[0-9]+$", re.IGNORECASE)
_SHOWN_STAGES = 8


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


class _Specified(_Theirs):
    """A task of the specification of version 1.5 and later."""

    id: str
    name: str | None = None
    category: str | None = None
    parents: list[str] | None = None
    children: list[str] | None = None
    read_files: list[str] = Field(alias="inputFiles", default_factory=list)
    written_files: list[str] = Field(alias="outputFiles", default_factory=list)

    @property
    def stage(self) -> str:
        """Stage of the task: its category, or its name without a number of its own."""
        return self.category or _NUMBERED.sub("", self.name or self.id)


class _Executed(_Theirs):
    """A task of the execution of version 1.5 and later."""

    id: str
    runtime_s: Annotated[float | None, Field(alias="runtimeInSeconds")] = None
    core_count: Annotated[float | None, Field(alias="coreCount")] = None
    memory_bytes: Annotated[float | None, Field(alias="memoryInBytes")] = None
    command: _Command | None = None


class _Task(_Theirs):
    """A task of version 1.4, which says both; tasks are called by their names if one has no id."""

    name: Name
    id: str | None = None
    category: str | None = None
    parents: list[str] | None = None
    children: list[str] | None = None
    files: list[_File] = Field(default_factory=list)
    runtime_s: Annotated[float | None, Field(alias="runtimeInSeconds")] = None
    core_count: Annotated[float | None, Field(alias="cores")] = None
    memory_bytes: Annotated[float | None, Field(alias="memoryInBytes")] = None
    command: _Command | None = None

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
    name: str
    version: Annotated[Literal["1.4", "1.5", "1.6"], Field(alias="schemaVersion")]
    workflow: _Workflow


def instance_of_wfformat(
    path: str | os.PathLike[str], asked: Asked, *, stage: str | None = None, multi_core: MultiCore = "refuse"
) -> Imported:
    """Read a bag of tasks from a workflow, or from a stage of one, whose tasks do not depend on each other.

    Parameters
    ----------
    path : path
        The JSON, or ``-`` for standard input.
    asked : Asked
        Deadline and VM types.
    stage : str, optional
        Category of the tasks that are taken, or their name without a number.
    multi_core : {"refuse", "split", "skip"}
        What is done with tasks of several cores: an error, a task for each core, or nothing is made of them.

    Raises
    ------
    InputError
        With everything that is wrong; if tasks depend on each other.
    SpotbagError
        If the VM types cannot be had.
    """
    source = source_name(path)
    document = validate_record(_Document, parse_json(read_text(path), source, most_keys=MAX_TASKS), source)
    specified, executed = _two_parts(document, source)
    issues = [*_issues_of_parts(specified, executed)]
    if issues:
        raise InputError(source, grouped(issues))
    warnings: list[str] = []
    edges = _dependencies(specified)
    if stage is not None:
        of_stage = {task.id for task in specified if stage in (task.stage, task.name)}
        if not of_stage:
            raise input_error(source, f"has no stage {stage!r} ({_stages(specified)})")
        cut = sum((parent in of_stage) != (child in of_stage) for parent, child in edges)
        edges = {(parent, child) for parent, child in edges if parent in of_stage and child in of_stage}
        executed = [task for task in executed if task.id in of_stage]
        specified = [task for task in specified if task.id in of_stage]
        warnings += [f"{source}: {cut:,} dependencies on tasks of other stages, which are not planned"] if cut else []
    _refuse(edges, specified, source)
    tasks, numbers, issues, said = _tasks(executed, asked.memory_mb, multi_core)
    if issues:
        raise InputError(source, grouped(issues))
    if not tasks:
        raise input_error(source, f"has no task that can be planned: {'; '.join(said)}")
    made_from = f"WfFormat {document.version} file {os.path.basename(source)}: {document.name}"
    warnings += [f"{source}: {text}" for text in said]
    return make_instance(tasks, asked, source, made_from, lambda index: ("task", str(numbers[index])), warnings)


def _stages(tasks: Sequence[_Specified]) -> str:
    counts = Counter(task.stage for task in tasks)
    more = " ..." if len(counts) > _SHOWN_STAGES else ""
    return ", ".join(f"{name}: {count:,}" for name, count in [*counts.items()][:_SHOWN_STAGES]) + more


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
    for number, task in enumerate(specified, 1):
        missing = [name for name, links in (("parents", task.parents), ("children", task.children)) if links is None]
        if missing:
            rule = "is missing: whether a task depends on others must be said"
            yield Issue(f"task {number}", rule, " and ".join(missing), item=task.id)
    yield from duplicates_anywhere("id", ((f"task {number}", task.id) for number, task in enumerate(specified, 1)))
    ran, meant = {task.id for task in executed}, {task.id for task in specified}
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


def _refuse(edges: set[tuple[str, str]], tasks: Sequence[_Specified], source: str) -> None:
    """Refuse dependencies."""
    if edges:
        parent, child = min(edges)
        raise input_error(
            source,
            f"has {len(edges):,} dependencies between its {len(tasks):,} tasks ({child!r} waits for {parent!r}, for "
            "example); a bag is of independent tasks, and the order of others would be lost; --stage NAME takes those "
            f"of a stage ({_stages(tasks)})",
        )


def _tasks(
    executed: Sequence[_Executed], memory_mb: float | None, multi_core: MultiCore
) -> tuple[list[dict[str, Any]], list[int], list[Issue], list[str]]:
    """Tasks, their numbers in the file, what is wrong with them, and what was left out or split."""
    made, numbers, issues, several = [], [], [], []
    left: dict[str, list[int]] = {"without a run time": [], "of several cores": []}
    for number, task in enumerate(executed, 1):
        where, name = f"task {number}", task.id
        if not task.runtime_s:
            left["without a run time"].append(number)
            continue
        cores = 1 if task.core_count is None else task.core_count
        memory = task.memory_bytes / _BYTES_PER_MB if task.memory_bytes else memory_mb  # 0 is what was not measured
        if task.runtime_s < 0:
            issues.append(Issue(where, "must be greater than 0", "runtimeInSeconds", task.runtime_s, name))
        if task.memory_bytes is not None and task.memory_bytes < 0:
            issues.append(Issue(where, "must not be negative", "memoryInBytes", task.memory_bytes, name))
        if not (cores == int(cores) and 1 <= cores <= MAX_TASKS):
            rule = f"must be a whole number of cores from 1 to {MAX_TASKS:,}"
            issues.append(Issue(where, rule, "coreCount", cores, name))
        entry: dict[str, Any] = {"id": name, "memory_mb": memory, "base_runtime_s": task.runtime_s}
        if cores > 1:
            several.append((number, int(cores)))
            if multi_core == "skip":
                left["of several cores"].append(number)
                continue
        if memory is None:
            rule = "is missing (--memory 1GB is for tasks that do not say)"
            issues.append(Issue(where, rule, "memoryInBytes", item=name))
        if cores > 1:
            entry["memory_mb"] = None if memory is None else memory / int(cores)
            entry["count"] = int(cores)
        if task.command is not None and task.command.text():
            entry["command"] = task.command.text()
        made.append(entry)
        numbers.append(number)
    if several and multi_core == "refuse":
        issues.append(Issue("", several_cores(len(several), "task", f"task {several[0][0]}", several[0][1])))
    said = [
        f"{counted(len(of), 'task')} {what} left out (the first is task {of[0]})" for what, of in left.items() if of
    ]
    if several and multi_core == "split":
        said.append(f"{counted(len(several), 'task')} of several cores became a task for each core")
    return made, numbers, issues, said
