"""What files of workflow engines, schedulers and shells say of the tasks that ran.

Written from the manuals of the tools: the fields of a trace of Nextflow, of ``sacct``, of ``parallel --joblog``, of
benchmarks of Snakemake, of ``condor_history``, of ``bjobs -o``, and of ``aws batch describe-jobs``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tests.fuzzing.oracles.json_values import JsonObject, json_of
from tests.fuzzing.oracles.readings import (
    DEFAULT_MEMORY_MB,
    LARGEST_MB,
    RefusalDueError,
    Task,
    UndecidedError,
    Verdict,
    cells_of,
    checked_name,
    decoded,
    in_bounds,
    lines_of,
    number_of,
    verdict_of,
)

Cells = Mapping[str, str]
_MB = {"": Decimal(1) / 2**20, "k": Decimal(1) / 1024, "m": Decimal(1), "g": Decimal(1024), "t": Decimal(2**20)}


@dataclass(frozen=True)
class Tool:
    """Fields of a tool, in small letters: of several the first that says something counts."""

    needed: tuple[str, ...]
    """Of each, or of those parted by a bar, one."""
    name: Callable[[Cells], str]
    runtime: tuple[str, ...]
    memory: tuple[str, ...] = ()
    cores: tuple[str, ...] = ()
    state: tuple[str, str] = ("no state", "")
    codes: tuple[str, ...] = ()
    command: str = "no command"
    refused: tuple[str, ...] = ()
    units: Mapping[str, Decimal] = field(default_factory=dict)
    nothing: tuple[str, ...] = ("",)


def _first(*names: str) -> Callable[[Cells], str]:
    return lambda row: next((row[name] for name in names if row.get(name)), "")


TOOLS: dict[str, Tool] = {
    "nextflow": Tool(
        ("realtime",), _first("name", "task_id", "hash"), ("realtime",), ("peak_rss", "rss", "memory"), ("cpus",),
        ("status", "COMPLETED"), ("exit",), "script",
        units={"realtime": Decimal("0.001"), "peak_rss": _MB[""], "rss": _MB[""], "memory": _MB[""]}, nothing=("", "-"),
    ),
    "sacct": Tool(
        ("jobid", "elapsed"), _first("jobid"), ("elapsed",), ("maxrss", "reqmem"), ("alloccpus",),
        ("state", "COMPLETED"), ("exitcode",), refused=("alloctres",), units={"maxrss": _MB[""]},
        nothing=("", "UNKNOWN", "INVALID"),
    ),
    "joblog": Tool(
        ("seq", "jobruntime", "exitval"), _first("seq"), ("jobruntime",), codes=("exitval", "signal"),
        command="command", units={"jobruntime": Decimal(1)},
    ),
    "snakemake": Tool(
        ("s", "h:m:s", "max_rss"), lambda _: "bench", ("s", "h:m:s"), ("max_rss",), ("threads",),
        units={"s": Decimal(1), "max_rss": Decimal(1)}, nothing=("", "-", "NA", "NAN"),
    ),
    "htcondor": Tool(
        ("clusterid", "remotewallclocktime|committedtime"),
        lambda row: f"{row['clusterid']}.{row['procid']}" if "procid" in row else row["clusterid"],
        ("committedtime", "remotewallclocktime"), ("residentsetsize", "memoryusage", "requestmemory"),
        ("requestcpus",), ("jobstatus", "4"), ("exitcode",), "cmd", ("requestgpus",),
        {"residentsetsize": _MB["k"], "memoryusage": Decimal(1), "requestmemory": Decimal(1),
         "committedtime": Decimal(1), "remotewallclocktime": Decimal(1)}, ("", "UNDEFINED"),
    ),
    "lsf": Tool(
        ("jobid", "stat", "run_time"), _first("jobid"), ("run_time",), ("max_mem",), ("slots",), ("stat", "DONE"),
        ("exit_code",), "command", units={"run_time": Decimal(1)}, nothing=("", "-"),
    ),
}  # fmt: skip


def bag_of_tool(data: bytes, kind: str) -> Verdict:
    """Return what a table of a tool says."""

    def read(doubts: set[str]) -> list[Any]:
        text = decoded(data, doubts)
        if "\x00" in text or re.match(r"[\s,;|]*[\r\n]", text):
            doubts.add("NUL, or empty lines before the headings")
        dividers = ",;\t|"
        if said := re.match(r'"?sep=([,;\t|])"?[ ,;\t]*(?:\r\n?|\n)', text, re.IGNORECASE):
            doubts.add("a first line that says what divides the cells")
            dividers, text = said[1], text[said.end() :]
        if text.lstrip()[:1] in ("[", "{"):
            return [_of_rows(_objects(text.encode("utf-8", "surrogatepass"), doubts), kind, doubts)]
        readings, whys = [], []
        for divider in dividers:
            own = set(doubts)
            try:
                rows = _rows(text, divider, own)
                if rows is None or not _is_of(kind, rows[0]):
                    continue
                usual = {"nextflow": "\t", "joblog": "\t", "snakemake": "\t", "htcondor": "\t"}.get(kind, "|")
                if divider != usual:
                    own.add("cells divided in another way than the tool does")
                readings.append(_of_rows(rows, kind, own))
                doubts |= own
            except RefusalDueError as due:
                whys.append(str(due))
        if not readings and kind == "htcondor":
            cells = [line.split() for line in lines_of(text, doubts) if line.strip()]
            doubts.add("cells that blanks divide, of which none may have any")
            if len(cells) > 1 and all(len(row) == len(cells[0]) for row in cells):
                headings = [_flat(heading) for heading in cells[0]]
                rows = [dict(zip(headings, row, strict=True)) for row in cells[1:]]
                readings.append(_of_rows(rows, kind, doubts))
        if not readings:
            raise RefusalDueError("; ".join(whys) or "not the headings of the tool")
        return readings

    return verdict_of(read)


def _rows(text: str, divider: str, doubts: set[str]) -> list[dict[str, str]] | None:
    """Divide a text into rows by headings; tools that divide by tabs or bars quote nothing."""
    if divider in "\t|":
        lines = [line for line in lines_of(text, doubts) if line.strip(" \t|")]
        width = len(lines[0].split(divider)) if lines else 0
        rows = [line.split(divider, max(width - 1, 0)) for line in lines]
        if any(len(line.split(divider)) > width for line in lines):
            doubts.add("what divides cells in the last of them")
    else:
        rows = [row for row in cells_of(text, divider, doubts) if any(cell.strip() for cell in row)]
    if not rows or len(rows[0]) < 2:
        return None
    bare = [[cell.strip() for cell in row] for row in rows]
    if any(cell.strip(" \t") != cell.strip() for row in rows for cell in row):
        raise UndecidedError("blanks of other kinds")
    headings = [_flat(heading) for heading in bare[0]]
    if any(not re.fullmatch(r"[A-Za-z_%:]+", heading) for heading in bare[0]) or bare[0] != rows[0]:
        doubts.add("a heading in unusual letters")
    if any(re.search(r"_(s|min|h|[kmg]?b)$", heading) for heading in headings):
        doubts.add("a column with a unit in its heading, which no tool makes")
    if len(set(headings)) < len(headings):
        doubts.add("two columns of one heading")
        if any(headings.count(name) > 1 for tool in TOOLS.values() for name in (*tool.needed, *tool.memory)):
            raise UndecidedError("two columns of one heading")
    for row in bare[1:]:
        if len(row) != len(headings):
            raise RefusalDueError(f"{len(row)} cells for {len(headings)} headings")
    if len(bare) == 1:
        raise RefusalDueError("no rows")
    return [dict(zip(headings, row, strict=True)) for row in bare[1:]]


def _flat(heading: str) -> str:
    return (
        "h:m:s"
        if re.fullmatch(r"\s*h[\s:._-]+m[\s:._-]+s\s*", heading, re.IGNORECASE)
        else re.sub(r"[\s.\-_]+", "_", heading.strip().lower()).strip("_")
    )


def _objects(data: bytes, doubts: set[str]) -> list[dict[str, str]]:
    """Read a list of objects as rows, whose cells are the texts of values."""
    found = json_of(data, doubts)
    if isinstance(found, JsonObject):
        doubts.add("an object in the place of a list")
        found = next((found[key] for key in ("RECORDS", "jobs") if isinstance(found.get(key), list)), [found])
    if not isinstance(found, list) or not found or not all(isinstance(one, JsonObject) for one in found):
        raise RefusalDueError("no list of objects")
    if any(one.twice for one in found):
        raise RefusalDueError("a key stands twice")
    headings = {key: _flat(key) for one in found for key in one}
    if len(set(headings.values())) < len(headings):
        raise UndecidedError("two keys that are nearly the same")
    if len(headings) * len(found) > 1_000_000:
        raise UndecidedError("a table that may be far larger than its file")
    return [{flat: text_of(one.get(key)) for key, flat in headings.items()} for one in found]


def text_of(value: Any) -> str:
    """Text of a value of JSON."""
    if value is None or value == [] or value == {}:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Decimal) and (not float(value) or float(value) in (float("inf"), float("-inf"))):
        raise UndecidedError("a number that is 0 or nearly so, or without end, and its text")
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return shlex.join(value)
    if not isinstance(value, int | Decimal):
        raise UndecidedError("an object, or a list of others than texts, in a cell")
    if isinstance(value, int) and abs(value) >= 10**400:
        raise UndecidedError("a whole number of hundreds of digits")
    return str(value) if isinstance(value, int) else repr(float(value))


_WITH_UNIT = re.compile(r"(?:mem|memory|ram|rss|run_?time|elapsed|wall_?time|duration)_(?:[kmg]b|s|min|h)")


def _is_of(kind: str, row: Cells) -> bool:
    return all(set(either.split("|")) & row.keys() for either in TOOLS[kind].needed)


def _of_rows(rows: Sequence[Cells], kind: str, doubts: set[str]) -> list[Task]:
    tool = TOOLS[kind]
    if not _is_of(kind, rows[0]):
        raise RefusalDueError("not the headings of the tool")
    if any(_WITH_UNIT.fullmatch(heading) and any(row[heading] for row in rows) for heading in rows[0]):
        raise UndecidedError("a column that the tool does not have, and that may count")
    if kind == "sacct":
        rows = _jobs(rows, doubts)
    tasks = []
    for row in rows:
        task = _task(row, tool, kind, doubts)
        if task is not None:
            tasks.append(task)
    if kind == "snakemake" and tasks:
        tasks = [max(tasks, key=lambda task: task.runtime_s["*"])]
    if kind == "nextflow" and any(not row.get("name", row.get("task_id", "x")) for row in rows):
        raise UndecidedError("a task without a name or a number, which Nextflow gives to all")
    if kind == "nextflow" and len({task.id for task in tasks}) < len(tasks):
        raise UndecidedError("names that are not different")
    return in_bounds(tasks)


def _jobs(rows: Sequence[Cells], doubts: set[str]) -> list[Cells]:
    """Join the steps of jobs: 101.batch is part of 101."""
    jobs: dict[str, dict[str, str]] = {}
    steps: list[Cells] = []
    for row in rows:
        if re.fullmatch(r"\d+(_[^.]+)?(\+\d+)?\..+", row["jobid"], re.ASCII):
            steps.append(row)
        elif row["jobid"] in jobs:
            raise UndecidedError("a job twice")
        else:
            jobs[row["jobid"]] = dict(row)
    for row in steps:
        name = row["jobid"].split(".")[0]
        if name not in jobs:
            raise UndecidedError("a step without its job")
        if "maxrss" in row:
            cells = [jobs[name]["maxrss"], row["maxrss"]]
            amounts = [_amount(cell, _MB[""], set()) for cell in cells]
            if any((amount is None and cell) or (amount or 0) < 0 for amount, cell in zip(amounts, cells, strict=True)):
                raise UndecidedError("memory of a step that is no amount")
            jobs[name]["maxrss"] = max(cells, key=lambda cell: _amount(cell, _MB[""], set()) or 0)
    return [*jobs.values()]


def _task(row: Cells, tool: Tool, kind: str, doubts: set[str]) -> Task | None:
    state, done = tool.state
    word = row.get(state, "").split(" ")[0].upper().rstrip("+")
    if word and word != done:
        if kind != "htcondor" or word not in ("C", "COMPLETED"):
            return None
        doubts.add("a state in letters")
    for code in tool.codes:
        if (bad := row.get(code, "")) not in ("", "-", "0", "0:0", "0.0") and bad.upper() not in tool.nothing:
            return None
    for key in _WAITS & row.keys():
        if row[key]:
            doubts.add("dependencies, or words for none")
            if not re.fullmatch(r"-|\[\]|\{\}|none|null|\(null\)|n/a", row[key], re.IGNORECASE):
                raise RefusalDueError("dependencies")
    for key in tool.refused:
        cell = row.get(key, "").lower()
        if (key == "alloctres" and "gpu" in cell) or (key != "alloctres" and cell not in ("", "0")):
            doubts.add("words for no GPU")
            if not re.fullmatch(r"-|\[\]|\{\}|none|null|\(null\)|n/a|no|false|0\.0*", cell):
                raise RefusalDueError("GPUs")
    runtime_s = _first_amount(row, tool, tool.runtime, _seconds, doubts)
    if not runtime_s:
        doubts.add("a row without a run time")
        return None
    cores = 1
    for key in tool.cores:
        if row.get(key, "") not in ("", "-"):
            count = number_of(re.sub(r"^(\d+)m$", r"\g<1>e-3", row[key]), doubts)
            doubts |= {"a part of a core"} if count != 1 else set()
            if count > 1 or count < 0:
                raise UndecidedError("several cores: whether a type has them")
    memory = _first_amount(row, tool, tool.memory, _amount if kind != "sacct" else _amount_of_slurm, doubts)
    memory_mb = float(memory) if memory else DEFAULT_MEMORY_MB
    if memory_mb > LARGEST_MB:
        doubts.add("memory that no type has")
    if kind == "htcondor" and not re.fullmatch(r"\w+(\.\w+)?", tool.name(row)):
        raise UndecidedError("an id of unusual parts")
    name = checked_name(tool.name(row), "id")
    command = row.get(tool.command, "")
    if "\0" in command and kind != "joblog":
        raise UndecidedError("NUL in a command, which no shell could have run")
    command = command.replace("\0", "\n").strip()
    return Task(name, memory_mb, {"*": float(runtime_s)}, cores, command or None, None)


_WAITS = {"depends_on", "parents"}


def _first_amount(
    row: Cells,
    tool: Tool,
    keys: Sequence[str],
    read: Callable[[str, Decimal | None, set[str]], Decimal | None],
    doubts: set[str],
) -> Decimal | None:
    """Return the first amount that is said and is not 0."""
    for key in keys:
        cell = row.get(key, "")
        if cell.upper() in tool.nothing:
            continue
        if "," in cell:
            raise UndecidedError("a comma in a number")
        amount = read(cell, tool.units.get(key), doubts)
        if amount is None or amount < 0:
            raise RefusalDueError(f"{key} {cell!r}")
        if amount and not float(amount):
            raise UndecidedError("a number that is nearly 0")
        if amount:
            return amount
    return None


def _amount_of_slurm(cell: str, unit: Decimal | None, doubts: set[str]) -> Decimal | None:
    return _amount(cell[:-1] if cell[-1:] in ("n", "c") else cell, unit, doubts)


def _amount(cell: str, unit: Decimal | None, doubts: set[str]) -> Decimal | None:
    found = re.fullmatch(r"(.*?)\s*([kmgt](?:i?b?|bytes)|bytes|b)?", cell, re.IGNORECASE | re.DOTALL)
    assert found
    own = (found[2] or "").lower()
    if own:
        unit = _MB[own[0] if own[0] != "b" else ""]
    try:
        number = number_of(found[1], doubts)
    except RefusalDueError:
        return None
    if number and not float(number):
        raise UndecidedError("a number that is nearly 0")
    if unit is None:
        doubts |= {"a zero in unusual letters"} if cell != "0" else set()
        return Decimal(0) if number == 0 else None
    return number * unit


_UNITS = {"ms": Decimal("0.001"), "s": Decimal(1), "m": Decimal(60), "h": Decimal(3600), "d": Decimal(86400)}


def _seconds(cell: str, unit: Decimal | None, doubts: set[str]) -> Decimal | None:
    if found := re.fullmatch(r"(?:(\d+)(?:-| days?,? +))?(\d+):(\d\d?):(\d\d?(?:\.\d+)?)", cell, re.ASCII):
        days, hours, minutes, seconds = (Decimal(part or 0) for part in found.groups())
        if minutes > 59 or seconds >= 60:
            return None
        return days * 86400 + hours * 3600 + minutes * 60 + seconds
    if found := re.fullmatch(r"(\d+):(\d+(?:\.\d+)?)", cell, re.ASCII):
        if int(found[1]) > 59 or Decimal(found[2]) >= 60:
            return None
        if len(found[1]) > 2:
            doubts.add("minutes of three digits")
        return Decimal(found[1]) * 60 + Decimal(found[2])
    if found := re.fullmatch(r"P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?", cell, re.ASCII):
        doubts.add("a duration of ISO 8601")
        days, hours, minutes, seconds = (Decimal(part or 0) for part in found.groups())
        return days * 86400 + hours * 3600 + minutes * 60 + seconds
    own_units = r"ms|s(?:ec(?:ond)?(?:s|\(s\))?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?|d(?:ays?)?"
    part = rf"([^a-zA-Z()\s][^a-zA-Z()]*?(?:[eE][+-]?\d+)?)\s*({own_units})\s*"
    if re.fullmatch(f"(?:{part})+", cell, re.IGNORECASE):
        parts = [(number, own.lower()) for number, own in re.findall(part, cell, re.IGNORECASE)]
        if len(parts) > 1:
            doubts.add("several units of time")
            if any(not re.fullmatch(r"\s*(\d+(\.\d*)?|\.\d+)", number, re.ASCII) for number, _ in parts):
                return None
        try:
            return sum(
                (number_of(number.strip(), doubts) * _UNITS["ms" if own == "ms" else own[0]] for number, own in parts),
                Decimal(0),
            )
        except RefusalDueError:
            return None
    if unit is None:
        return None
    try:
        return number_of(cell, doubts) * unit
    except RefusalDueError:
        return None


def bag_of_batch(data: bytes) -> Verdict:
    """Return what ``aws batch describe-jobs`` prints of jobs."""

    def read(doubts: set[str]) -> list[Any]:
        whole = json_of(data, doubts)
        if not isinstance(whole, JsonObject) or len(whole) != 1 or not isinstance(whole.get("jobs"), list):
            raise UndecidedError("not a list of jobs alone")
        return [in_bounds([task for job in whole["jobs"] if (task := _job(job, doubts)) is not None])]

    return verdict_of(read)


def _job(job: Any, doubts: set[str]) -> Task | None:
    """Read a job; what is not as the manual has it is left open."""
    container = job.get("container") if isinstance(job, JsonObject) else None
    listed = container.get("resourceRequirements") or [] if isinstance(container, JsonObject) else None
    if not isinstance(container, JsonObject) or not isinstance(listed, list):
        raise UndecidedError("a job without a container")
    holders = [job, container, *listed]
    if not all(isinstance(one, JsonObject) for one in holders) or any(one.twice for one in holders):
        raise UndecidedError("what stands twice, or is no object")
    needs = {str(one.get("type")): one.get("value") for one in listed}
    status, code = job.get("status"), container.get("exitCode")
    members = {"jobId", "jobName", "status", "startedAt", "stoppedAt", "dependsOn", "container"}
    if status not in ("SUCCEEDED", "FAILED", "RUNNING") or type(code) is not int or job.keys() != members:
        raise UndecidedError("members of another kind")
    if status != "SUCCEEDED" or code:
        return None
    began, ended, command = job["startedAt"], job["stoppedAt"], container.get("command")
    cores, memory = needs.get("VCPU", container.get("vcpus")), needs.get("MEMORY", container.get("memory"))
    words = all(isinstance(word, str) for word in command) if isinstance(command, list) else False
    if type(began) is not int or type(ended) is not int or not words or not isinstance(memory, str | int | Decimal):
        raise UndecidedError("members of another kind")
    if not isinstance(job["dependsOn"], list):
        raise UndecidedError("members of another kind")
    if ended == began:
        doubts.add("a job that took no time")
        return None
    if ended < began or job["dependsOn"] or needs.get("GPU"):
        doubts.add("words for nothing")
        if ended < began or (isinstance(job["dependsOn"], list) and job["dependsOn"]) or needs.get("GPU") == "1":
            raise RefusalDueError("a time below 0, a dependency, or a GPU")
        raise UndecidedError("words for nothing")
    if any("\0" in word for word in command):
        raise UndecidedError("NUL in a command, which no shell could have run")
    count = number_of(str(cores), doubts) if isinstance(cores, str | int | Decimal) else Decimal(-1)
    if count < 0 or count > 1 or isinstance(cores, bool) or isinstance(memory, bool):
        kept = isinstance(cores, bool) or cores is None or count > 1
        raise UndecidedError("several cores") if kept else RefusalDueError("cores")
    if memory == "":
        raise UndecidedError("an empty text for a whole number")
    amount = _amount(str(memory).strip(), Decimal(1), doubts)
    if amount is None or amount < 0:
        raise RefusalDueError("memory")
    memory_mb = float(amount) or DEFAULT_MEMORY_MB
    if memory_mb > LARGEST_MB:
        doubts.add("memory that no type has")
    if not isinstance(job["jobId"], str):
        raise UndecidedError("an id that is no text")
    name = checked_name(text_of(job["jobId"]), "id")
    return Task(name, memory_mb, {"*": (ended - began) / 1000}, 1, shlex.join(command) or None, None)


def bag_of_list(data: bytes) -> Verdict:
    """Return what a list of tasks in JSON says, or a file with one in each line."""

    def read(doubts: set[str]) -> list[Any]:
        text = decoded(data, doubts)
        if text.lstrip()[:1] != "[":
            doubts.add("an object in each line")
            lines = [line for line in re.split(r"\r\n|\n|\r", text) if line.strip()]
            if any(json_of(line.encode("utf-8", "surrogatepass"), doubts) is None for line in lines):
                raise RefusalDueError("a line of null")
            text = f"[{','.join(lines)}]"
        found = json_of(text.encode("utf-8", "surrogatepass"), doubts)
        if not isinstance(found, list) or not found or not all(isinstance(one, JsonObject) for one in found):
            raise RefusalDueError("no list of objects")
        if any(one.twice for one in found):
            raise RefusalDueError("a key stands twice")
        return [in_bounds([task for n, one in enumerate(found, 1) if (task := _listed(one, n, doubts)) is not None])]

    return verdict_of(read)


def _listed(one: JsonObject, number: int, doubts: set[str]) -> Task | None:
    cells = {key: text_of(value) for key, value in one.items()}
    if any(value for key, value in cells.items() if key not in ("id", "memory_mb", "runtime", "count", "command")):
        raise UndecidedError("other keys, which may mean something")
    if not isinstance(one.get("id"), str) or not cells.get("runtime"):
        raise UndecidedError("a task without an id or a run time, which others may have")
    runtime_s = _seconds(cells["runtime"], None, doubts)
    if runtime_s is None or runtime_s < 0:
        raise RefusalDueError(f"run time {cells['runtime']!r:.50}")
    if runtime_s == 0:
        raise UndecidedError("a task that takes no time")
    memory: Decimal | None = Decimal(int(DEFAULT_MEMORY_MB))
    if cells.get("memory_mb"):
        memory = _amount(cells["memory_mb"], Decimal(1), doubts)
    if memory is None or memory < 0:
        raise RefusalDueError("memory")
    if not memory:
        doubts.add("memory of 0, which was not measured")
        memory = Decimal(int(DEFAULT_MEMORY_MB))
    if memory > LARGEST_MB:
        doubts.add("memory that no type has")
    count = number_of(cells["count"], doubts) if cells.get("count") else Decimal(1)
    if count != count.to_integral_value() or not 1 <= count <= 10_000_000:
        raise RefusalDueError("count")
    command = cells.get("command") or None
    return Task(checked_name(cells["id"], "id"), float(memory), {"*": float(runtime_s)}, int(count), command, None)
