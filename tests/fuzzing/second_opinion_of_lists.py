"""A second reading of tables of one's own, lists of tasks in JSON, jobs of AWS Batch and workflows of WfCommons."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from tests.fuzzing.oracles.readings import (
    ARCHITECTURE_OF,
    DEFAULT_MEMORY_MB,
    RefusalDueError,
    Task,
    UndecidedError,
    Verdict,
)
from tests.fuzzing.second_opinion import (
    MISSING,
    ODD_WORDS,
    Literal,
    Rows,
    cells_of,
    checked,
    cores_of,
    json_of,
    memory_of,
    note_width,
    number_of,
    objects_of,
    plain,
    rows_of_table,
    seconds_of,
    text_of,
    verdict,
    whole_of,
    without_commas,
)

WORDS = {
    "id": "id task task_id name task_name job job_id job_name",
    "command": "command cmd command_line script",
    "count": "count copies n number tasks repeat repetitions",
    "architecture": "architecture arch",
    "cores": "cores cpus ncpus vcpus threads slots",
    "state": "status state",
    "exit": "exit exit_code exit_status exitval returncode",
    "other": "market markets preemptible interruptible spot capacity_type provisioning_model stage process rule weight",
    "note": "note notes comment comments remark remarks description descriptions",
}
ROLE_OF = {word: role for role, words in WORDS.items() for word in words.split()}
UNITS = ("min", "minutes", "seconds", "hours", "days")
MEMORY = re.compile(r"(?:memory|mem|ram|rss|(?:peak|max)_(?:rss|memory))(?:_([kmg]?b))?", re.ASCII)
RUNTIME = re.compile(r"(?:runtime|run_time|duration|elapsed|walltime|time)(?:_(s|min|h))?(?:\[(.+)\])?", re.ASCII)
ARCHITECTURES = dict.fromkeys(("x86_64", "x86-64", "amd64", "x64", "intel"), "x86_64") | dict.fromkeys(
    ("arm64", "aarch64", "arm", "graviton"), "arm64"
)


def role_of(heading: str, types: Sequence[str]) -> tuple[str, str] | None:
    """What a column holds, and the unit of its heading; run times on a type are of the role of that type."""
    if heading in ROLE_OF:
        return ROLE_OF[heading], ""
    if said := MEMORY.fullmatch(heading):
        return "memory", (said[1] or "").removesuffix("b") or ("b" if said[1] else "")
    if said := RUNTIME.fullmatch(heading):
        return (said[2] or "*", said[1] or "") if (said[2] or "*") in ("*", *types) else None
    for name in types:
        if said := re.fullmatch(rf"{re.escape(name)}(?:_(s|min|h))?", heading, re.ASCII):
            return name, said[1] or ""
    return None


def tasks_of_rows(rows: Rows, divider: str, types: Sequence[str], doubts: set[str]) -> list[Task]:
    """Tasks of a table whose headings are those of the documentation."""
    headings = list(dict.fromkeys(name for row in rows for name in row))
    roles = {name: role for name in headings if (role := role_of(name, types))}
    for name in headings:
        if roles.get(name, ("",))[0] == "other" and any(row.get(name) for row in rows):
            raise UndecidedError("a market, or another column of which readings have nothing")
        if name not in roles and (MEMORY.match(name) or RUNTIME.match(name) or name in UNITS):
            doubts.add("a column that may hold memory or run times in another unit, if it has any")
        if name not in roles and any(row.get(name) for row in rows):
            if all(row.get(name, "").lower() in (*MISSING, *ODD_WORDS, "0", "no") for row in rows):
                raise UndecidedError("a column that asks for nothing")
            if "." in name or name in UNITS:
                raise UndecidedError("a point in a heading, or a unit for one")
            if re.fullmatch(r"[a-z]+", name):
                raise RefusalDueError(f"a column that is not understood: {name[:40]}")
            raise UndecidedError(f"a column of which the documentation says nothing: {name[:40]}")
    kinds = [role for role, _ in roles.values() if role != "note"]
    if len(set(kinds)) < len(kinds):
        raise UndecidedError("two columns of the same role")
    by_type = [name for name in types if name in kinds]
    if "*" in kinds and by_type:
        raise UndecidedError("run times of each type, and of all")
    if "*" not in kinds and len(by_type) < max(len(types), 1):
        raise RefusalDueError("no column of run times, or none of a type")
    of_numbers = [name for name, (role, _) in roles.items() if role in ("memory", "*", "count", "cores", *types)]
    if without_commas(rows, divider, of_numbers.__contains__) and divider == "json":
        raise UndecidedError("commas in JSON")
    name_of = {role: name for name, (role, _) in roles.items()}
    found = []
    for number, row in enumerate(rows, 1):
        cells = {role: row.get(name, "") for role, name in name_of.items()}
        try:
            task = task_of(cells, dict(roles.values()), number, by_type or ["*"])
        except RefusalDueError:
            if not left_out(cells):
                raise
            task = None
        if task is None or left_out(cells):
            doubts.add("a task that is left out")
            if "id" not in cells:
                raise UndecidedError("numbers of tasks where some are left out")
            continue
        found.append(task)
    return checked(found, doubts)


def left_out(cells: dict[str, str]) -> bool:
    state, code = cells.get("state", "").lower(), cells.get("exit", "")
    if state not in ("", "completed", "done", "ok", "failed") or not re.fullmatch(r"|0|[1-9]\d{0,3}", code, re.ASCII):
        raise UndecidedError("a state, or the code of an exit, of which the documentation says nothing")
    return state == "failed" or code not in ("", "0")


def task_of(cells: dict[str, str], units: dict[str, str], number: int, types: Sequence[str]) -> Task | None:
    """Task of the cells of a row by their roles; nothing if it has no run time."""
    seconds = {name: seconds_of(cells[name], units[name]) for name in types}
    if any(cells[name] and seconds[name] is None for name in types) and len(types) > 1:
        raise UndecidedError("a run time of 0, or a word for none, on one of several types")
    if not any(seconds.values()):
        return None
    if any(value and value > 10**9 for value in seconds.values()):
        raise UndecidedError("a run time that is too long, on a type that may not count")
    if cores_of(cells.get("cores", "")) > 1:
        raise UndecidedError("several cores: whether a type has them")
    count = whole_of(cells["count"], "tasks") if cells.get("count") else 1
    if not 1 <= count <= 10_000_000:
        raise RefusalDueError("no such number of tasks")
    architecture = cells.get("architecture", "").lower() or None
    if architecture and architecture not in ARCHITECTURES:
        raise RefusalDueError("another architecture")
    if re.fullmatch(r"0[.0]*", cells.get("memory", "")):
        raise UndecidedError("memory of 0, which a tool did not measure, and nobody writes")
    if cells.get("memory") in ("-", "NA"):
        raise UndecidedError("a sign for no memory in a table of one's own")
    memory = float(memory_of(cells.get("memory", ""), units.get("memory", "")) or DEFAULT_MEMORY_MB)
    known = ARCHITECTURES[architecture] if architecture else None
    runs = {
        name: float(value)
        for name, value in seconds.items()
        if value and known in (None, ARCHITECTURE_OF.get(name, known))
    }
    if not runs:
        raise UndecidedError("a task that no type can run")
    return Task(cells.get("id", f"t{number}"), memory, runs, count, cells.get("command") or None, known)


def second_bag_of_csv(data: bytes, types: Sequence[str]) -> Verdict:
    """Tasks in a CSV file."""

    def read(doubts: set[str]) -> list[Task]:
        text = text_of(data)
        rows, divider = rows_of_table(text, lambda name: bool(role_of(name, types)) or name in UNITS, True, doubts)
        return tasks_of_rows(rows, divider, types, doubts)

    return verdict(iter([read]))


def second_bag_of_list(data: bytes) -> Verdict:
    """Tasks in a list of objects, or of lines."""

    def read(doubts: set[str]) -> list[Task]:
        entries = objects_of(text_of(data))
        if any(type(entry.get(name)) is Literal for entry in entries for name in ("id", "command")):
            raise UndecidedError("a number for a name")
        if len(entries) == 1 and "[" in text_of(data):
            doubts.add("one object that has a list, or a bracket in a text")
        if len({name for entry in entries for name in entry}) > len(
            {plain(name) for entry in entries for name in entry}
        ):
            doubts.add("keys that are spelled in two ways")
        rows = [cells_of(entry) for entry in entries]
        note_width(rows, doubts)
        return tasks_of_rows(rows, "json", (), doubts)

    return verdict(iter([read]))


# ------------------------------------------------------------------ documents


def value_of(entry: Any, keys: str, kind: Any, name: str) -> Any:
    """Value of an object that has no other keys than some, of a kind or missing."""
    if not isinstance(entry, dict) or not set(entry) <= set(keys.split()):
        raise UndecidedError(f"no object of {keys}")
    value = entry.get(name)
    if value is not None and type(value) is not kind:
        raise UndecidedError(f"{name} is of another kind")
    return value


JOB = "jobId jobName status startedAt stoppedAt dependsOn container"
CONTAINER = "command exitCode resourceRequirements vcpus memory"


def batch_task(job: Any) -> Task | None:
    """Task of a job of AWS Batch; times are milliseconds, memory is MiB."""
    container = value_of(job, JOB, dict, "container") or {}
    needs = value_of(container, CONTAINER, list, "resourceRequirements") or []
    if value_of(job, JOB, list, "dependsOn"):
        raise RefusalDueError("a job that waits for another")
    said = {value_of(need, "type value", str, "type"): value_of(need, "type value", str, "value") for need in needs}
    if any(value is not None and (value != value.strip() or value in MISSING) for value in said.values()):
        raise UndecidedError("blanks around a number, or a word for none, which Batch does not write")
    if len(said) < len(needs) or not set(said) <= {"VCPU", "MEMORY", "GPU"} or None in said.values():
        raise UndecidedError("needs that are none of Batch")
    if (gpus := said.get("GPU", "0")) != "0":
        raise (RefusalDueError if number_of(gpus) else UndecidedError)("GPUs, or another word for none")
    begin, end = (value_of(job, JOB, Literal, name) for name in ("startedAt", "stoppedAt"))
    memory = said.get("MEMORY", value_of(container, CONTAINER, Literal, "memory"))
    cores = said.get("VCPU", value_of(container, CONTAINER, Literal, "vcpus"))
    if begin is None or end is None:
        return None
    span = (number_of(end) - number_of(begin)) / 1000
    if span <= 0 or number_of(begin) < 10**12:
        raise UndecidedError("times that are none")
    if cores is not None and number_of(cores) > 1:
        raise UndecidedError("several cores: whether a type has them")
    if (cores is not None and number_of(cores) <= 0) or not re.fullmatch(r"\d+", begin + end):
        raise UndecidedError("no number of cores, or parts of milliseconds")
    words = value_of(container, CONTAINER, list, "command")
    command = cells_of({"command": words})["command"] if words else None
    if type(job.get("jobId")) is not str:
        raise UndecidedError("an id that is none")
    mb = memory_of(memory or "", "m")
    return Task(job["jobId"], float(mb or DEFAULT_MEMORY_MB), {"*": float(span)}, 1, command, None)


def second_bag_of_batch(data: bytes) -> Verdict:
    """Jobs of AWS Batch."""

    def read(doubts: set[str]) -> list[Task]:
        jobs = value_of(json_of(text_of(data)), "jobs", list, "jobs") or []
        found = []
        for job in jobs:
            status = value_of(job, JOB, str, "status")
            code = value_of(value_of(job, JOB, dict, "container") or {}, CONTAINER, Literal, "exitCode") or "0"
            if status not in ("SUCCEEDED", "FAILED", "RUNNING") or not re.fullmatch(r"0|[1-9]\d*", code, re.ASCII):
                raise UndecidedError("a status, or the code of an exit, that is none of Batch")
            try:
                task = batch_task(job)
            except RefusalDueError:
                if status == "SUCCEEDED" and code == "0":
                    raise
                task = None
                doubts.add("something odd of a job that is left out")
            if task and status == "SUCCEEDED" and code == "0":
                found.append(task)
        return checked(found, doubts)

    return verdict(iter([read]))


TASK = (
    "id name parents children inputFiles outputFiles files type runtimeInSeconds memoryInBytes cores coreCount command"
)


def second_bag_of_workflow(data: bytes, split: bool) -> Verdict:
    """Tasks of a workflow whose tasks do not wait for each other."""

    def read(doubts: set[str]) -> list[Task]:
        document = json_of(text_of(data))
        if "\\u" in text_of(data):
            doubts.add("letters that are written by their numbers")
        version = value_of(document, "name schemaVersion workflow", str, "schemaVersion")
        if version not in ("1.4", "1.5", "1.6"):
            raise RefusalDueError("another version") if version else UndecidedError("no version")
        if len(str(document.get("name"))) > 1000:
            doubts.add("a very long name")
        parts = value_of(document, "name schemaVersion workflow", dict, "workflow")
        if type(document.get("name")) is not str or parts is None:
            raise UndecidedError("no workflow")
        if version != "1.4":
            keys = "specification execution"
            specified = value_of(value_of(parts, keys, dict, "specification"), "tasks", list, "tasks")
            execution, names = value_of(parts, keys, dict, "execution"), "makespanInSeconds executedAt tasks"
            runs = value_of(execution, names, list, "tasks")
            for_each = {value_of(entry, TASK, str, "id"): entry for entry in runs or []}
            if not runs or not specified or len(for_each) < len(runs):
                raise UndecidedError("entries without an id, or the same one")
            ids = [value_of(entry, TASK, str, "id") for entry in specified]
            if any("children" not in entry for entry in specified):
                raise UndecidedError("a task without children")
            if not all(type(name) is str for name in (*ids, *for_each)) or len(set(ids)) < len(ids):
                raise UndecidedError("an id that is none")
            if set(ids) != set(for_each):
                raise RefusalDueError("a specification and an execution of other tasks")
            tasks = [entry | for_each[entry["id"]] for entry in specified]
        else:
            tasks = value_of(parts, "makespanInSeconds executedAt tasks", list, "tasks") or []
        if not_independent(tasks):
            raise RefusalDueError("dependencies")
        return checked((task for entry in tasks if (task := flow_task(entry, split, doubts))), doubts)

    return verdict(iter([read]))


def not_independent(tasks: Sequence[Any]) -> bool:
    """Whether a task waits for another, by what stands there or by a file."""
    ids = {entry.get("id") for entry in tasks if isinstance(entry, dict) and type(entry.get("id")) is str}
    made: dict[str, str] = {}
    used: list[tuple[str, str]] = []
    for entry in tasks:
        if None in [value_of(entry, TASK, str, name) for name in ("id", "name")] or "parents" not in entry:
            raise UndecidedError("a task without an id, a name, or parents")
        for name in ("parents", "children"):
            others = value_of(entry, TASK, list, name) or []
            if not all(type(other) is str for other in others) or not set(others) <= ids - {entry["id"]}:
                raise UndecidedError("parents or children that are none")
            if others:
                return True
        for file in value_of(entry, TASK, list, "files") or []:
            link, name = (value_of(file, "name sizeInBytes link", str, key) for key in ("link", "name"))
            if link not in ("input", "output") or name is None:
                raise UndecidedError("a file that is none")
            used += [(entry["id"], name)] * (link == "input")
            made |= {name: entry["id"]} if link == "output" else {}
        for key in ("inputFiles", "outputFiles"):
            files = value_of(entry, TASK, list, key) or []
            if not all(type(file) is str for file in files):
                raise UndecidedError("a file that is none")
            used += [(entry["id"], file) for file in files if key == "inputFiles"]
            made |= {file: entry["id"] for file in files if key == "outputFiles"}
    return any(made.get(name, user) != user for user, name in used)


def flow_task(entry: dict[str, Any], split: bool, doubts: set[str]) -> Task | None:
    """Task of a workflow; memory is bytes."""
    spans, bytes_, cores = (
        [value_of(entry, TASK, Literal, name) for name in names.split()]
        for names in ("runtimeInSeconds", "memoryInBytes", "cores coreCount")
    )
    numbers = [number_of(cell) for cell in (*spans, *bytes_, *cores) if cell is not None]
    if any(number < 0 for number in numbers):
        raise RefusalDueError("numbers below 0")
    if None not in cores:
        raise UndecidedError("cores twice")
    wanted = next((number_of(cell) for cell in cores if cell is not None), Fraction(1))
    if spans[0] is None or not number_of(spans[0]):
        doubts.add("a task without a run time")
        return None
    if wanted.denominator != 1 or not wanted:
        raise RefusalDueError("parts of cores, or none")
    if wanted > 1 and not split:
        raise UndecidedError("several cores: whether a type has them")
    command = value_of(entry, TASK, dict, "command") or {}
    if None in (*command.values(), *entry.values()):
        doubts.add("a value of null")
    words = [value_of(command, "program arguments", str, "program") or ""]
    words += value_of(command, "program arguments", list, "arguments") or []
    if not all(type(word) is str for word in words):
        raise UndecidedError("words of a command that are none")
    if wanted > 10_000_000:
        raise RefusalDueError("more cores than a bag may have tasks")
    if wanted > 1 and not number_of(bytes_[0] or "0"):
        raise UndecidedError("memory that is not said, of each core or of all")
    memory = (number_of(bytes_[0] or "0") / 2**20 or Fraction(DEFAULT_MEMORY_MB)) / wanted
    runs = {"*": float(number_of(spans[0]))}
    return Task(entry["id"], float(memory), runs, int(wanted), " ".join(words).strip() or None, None)
