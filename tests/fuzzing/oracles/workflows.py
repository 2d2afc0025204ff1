"""What workflows of WfFormat say."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from tests.fuzzing.oracles.json_values import (
    NUMERIC,
    JsonObject,
    as_float,
    json_of,
    member,
    note_null,
)
from tests.fuzzing.oracles.readings import (
    DEFAULT_MEMORY_MB,
    LARGEST_MB,
    MOST_TASKS,
    NAME,
    RefusalDueError,
    Task,
    UndecidedError,
    Verdict,
    checked_name,
    in_bounds,
    verdict_of,
    whole_of,
)


def bag_of_wfformat(data: bytes, split_cores: bool) -> Verdict:
    """Return what a workflow of WfFormat 1.4 to 1.6 says, if its tasks do not depend on each other."""

    def read(doubts: set[str]) -> list[Any]:
        whole = json_of(data, doubts)
        version = member(whole, "schemaVersion", (str, Decimal))
        if str(version) not in ("1.4", "1.5", "1.6"):
            raise RefusalDueError(f"schemaVersion {version}")
        if not isinstance(version, str):
            doubts.add("schemaVersion as a number")
        if not isinstance(whole.get("name"), str) or not whole["name"]:
            doubts.add("a workflow without a name")
        workflow = member(whole, "workflow", dict)
        if str(version) == "1.4":
            return _bag_of_1_4(workflow, split_cores, doubts)
        if "tasks" in workflow:
            doubts.add("members of another version")
        names = _specified(member(workflow, "specification", dict), doubts)
        execution = member(workflow, "execution", dict)
        if not isinstance(execution.get("makespanInSeconds"), NUMERIC) or not isinstance(
            execution.get("executedAt"), str
        ):
            doubts.add("an execution without makespanInSeconds or executedAt")
        runs = {}
        for run in member(execution, "tasks", list):
            name = member(run, "id", str)
            if name in runs:
                raise RefusalDueError(f"{name!r} was run twice")
            runs[name] = run
        if runs.keys() != set(names):
            raise RefusalDueError("specification and execution have different tasks")
        in_order = list(runs) if list(runs) == names else None
        if in_order is None:
            doubts.add("specification and execution in different orders")
        return [
            in_bounds(_told(_task_of_run(name, runs[name], split_cores, parted, doubts) for name in order))
            for order in (names, list(runs))
            for parted in (False, True)
        ]

    return verdict_of(read)


def _specified(specification: Any, doubts: set[str]) -> list[str]:
    names: list[str] = []
    read: list[tuple[str, str]] = []
    written: list[tuple[str, str]] = []
    for task in member(specification, "tasks", list):
        names.append(member(task, "id", str))
        if member(task, "parents", list) or member(task, "children", list):
            raise RefusalDueError("tasks that depend on each other")
        if not isinstance(task.get("name"), str) or not task["name"]:
            doubts.add("a task without a name")
        if task.keys() & {"runtimeInSeconds", "memoryInBytes", "coreCount", "command"}:
            doubts.add("members of another place")
        for key, files in (("inputFiles", read), ("outputFiles", written)):
            note_null(task, key, doubts)
            for file in member(task, key, list, needed=False) or []:
                if not isinstance(file, str):
                    raise RefusalDueError("a file that is no text")
                files.append((file, names[-1]))
    if any(file == other and reader != writer for file, reader in read for other, writer in written):
        raise RefusalDueError("a task reads what another one writes")
    if len(set(names)) < len(names):
        raise RefusalDueError("a task is specified twice")
    return names


def _bag_of_1_4(workflow: Any, split_cores: bool, doubts: set[str]) -> list[Any]:
    """Return the bag of a workflow of version 1.4, where tasks say all of themselves, with an id or only a name."""
    if not isinstance(workflow.get("makespanInSeconds"), NUMERIC) or not isinstance(workflow.get("executedAt"), str):
        doubts.add("an execution without makespanInSeconds or executedAt")
    if "specification" in workflow or "execution" in workflow:
        doubts.add("members of another version")
    tasks = member(workflow, "tasks", list)
    files: dict[str, list[tuple[str, int]]] = {"input": [], "output": []}
    for number, task in enumerate(tasks):
        if not isinstance(task, JsonObject):
            raise RefusalDueError("a task that is no object")
        name = task.get("name")
        if not isinstance(name, str) or not NAME.fullmatch(name):
            doubts.add("a task without a name")
        if task.get("type") not in ("compute", "transfer", "auxiliary"):
            doubts.add("a task without a type")
        if "coreCount" in task:
            raise UndecidedError("coreCount in version 1.4, which calls it cores")
        for key in ("parents", "children"):
            if member(task, key, list, needed=key == "parents"):
                raise RefusalDueError("tasks that depend on each other")
        for file in member(task, "files", list, needed=False) or []:
            link = member(file, "link", str)
            if link not in files:
                raise RefusalDueError(f"link {link!r:.50}")
            files[link].append((member(file, "name", str), number))
        for key in ("children", "files", "id"):
            note_null(task, key, doubts)
    if any(file == other and one != two for file, one in files["input"] for other, two in files["output"]):
        raise RefusalDueError("a task reads what another one writes")
    readings, dues = [], []
    for name_of in (
        lambda task: task.get("id"),
        lambda task: task.get("name"),
        lambda task: task.get("id") or task.get("name"),
        lambda task: f"{task.get('name')}_{task.get('id')}",
    ):
        for parted in (False, True):
            try:
                named = [(checked_name(name_of(task), "id"), task) for task in tasks]
                readings.append(
                    in_bounds(
                        _told(_task_of_run(name, task, split_cores, parted, doubts, "cores") for name, task in named)
                    )
                )
            except RefusalDueError as due:
                dues.append(due)
    if not readings:
        raise dues[0]
    if dues:
        doubts.add("ids or names that are missing, or not of one task only")
    return readings


def _told(tasks: Iterable[Task | None]) -> list[Task]:
    return [task for task in tasks if task is not None]


def _task_of_run(
    name: str, run: Any, split_cores: bool, parted: bool, doubts: set[str], of_cores: str = "coreCount"
) -> Task | None:
    """Return a task, or None without a run time; the memory asked for may be of each core, or parted among them."""
    if of_cores == "coreCount" and run.keys() & {"parents", "children", "inputFiles", "outputFiles", "files"}:
        doubts.add("members of another place")
    for key in ("memoryInBytes", of_cores, "command"):
        note_null(run, key, doubts)
    runtime_s = as_float(member(run, "runtimeInSeconds", NUMERIC, needed=False) or 0)
    if not runtime_s:
        doubts.add("a task without a run time, which is left out")
        return None
    cores = member(run, of_cores, NUMERIC, needed=False)
    count = 1 if cores is None else whole_of(Decimal(cores), 1, MOST_TASKS, of_cores)
    if count > 1 and not split_cores:
        raise UndecidedError("several cores: whether a type has them")
    size = member(run, "memoryInBytes", NUMERIC, needed=False)
    memory_mb = DEFAULT_MEMORY_MB / (count if parted else 1)
    if size and not as_float(size):
        doubts.add("memory of less than any number but 0")
    elif size:
        memory_mb = as_float(size) / 2**20 / count
    if memory_mb > LARGEST_MB:
        doubts.add("memory that no type has")
    return Task(checked_name(name, "id"), memory_mb, {"*": runtime_s}, count, _command(run, doubts), None)


def _command(run: Any, doubts: set[str]) -> str | None:
    command = member(run, "command", dict, needed=False)
    if command is None:
        return None
    note_null(command, "program", doubts)
    note_null(command, "arguments", doubts)
    program = member(command, "program", str, needed=False)
    words = member(command, "arguments", list, needed=False) or []
    if not all(isinstance(word, str) for word in words):
        raise RefusalDueError("arguments that are no texts")
    if not program:
        if words:
            raise UndecidedError("arguments without a program")
        doubts.add("a command without a program")
        return None
    if not all(words):
        doubts.add("an empty argument")
    return " ".join([program, *words]).strip() or None
