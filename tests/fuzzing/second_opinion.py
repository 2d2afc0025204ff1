"""A second reading of files of tasks, by the modules of the standard library and by nothing of the first oracles.

Tables are read by `csv`, JSON by `json`, lengths of time are a `timedelta`, and numbers are a `Fraction`. What the
documentation says of a file (``docs/formats.md``, ``docs/howto/files.md``, and the manuals of the tools) is decided
here; what it leaves open is undecided, and a file in which anything is spelled oddly may be refused.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from fractions import Fraction
from itertools import product
from typing import Any

from tests.fuzzing.oracles.readings import DEFAULT_MEMORY_MB, LARGEST_MB, RefusalDueError, Task, UndecidedError, Verdict

MISSING = ("", "-", "NA")
ODD_WORDS = ("nan", "null", "none", "n/a", "true", "false", "undefined", "inf", "infinity", "unknown")
BYTES = {"b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
OF_TIME = {"ms": Fraction(1, 1000), "s": 1, "min": 60, "m": 60, "h": 3600, "d": 86400}
NUMBER = r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
Rows = list[dict[str, str]]


class Literal(str):
    """A number of a JSON document, by its letters."""


# ------------------------------------------------------------------ cells


def number_of(cell: str) -> Fraction:
    """Number that a cell says, or a refusal: ASCII digits, a point and an exponent."""
    if not re.fullmatch(rf"-?{NUMBER}", cell, re.ASCII):
        if re.fullmatch(r"[+-]?(\d+[.,]?\d*|\.\d+)([eE][+-]?\d+)?", cell, re.ASCII) and (
            "," not in cell or "+" in cell
        ):
            raise UndecidedError(f"a number that is spelled oddly: {cell[:40]!r}")
        raise RefusalDueError(f"{cell[:40]!r} is no number")
    if len(cell) > 30 or abs(int(cell.lower().partition("e")[2] or 0)) > 30:
        raise UndecidedError("a number of very many digits")
    return Fraction(cell)


def seconds_of(cell: str, unit: str) -> Fraction | None:
    """Seconds that a cell says, by a unit where it has none; nothing for a run time that is missing, or 0."""
    if cell in MISSING:
        return None
    if cell.lower() in ODD_WORDS:
        raise UndecidedError("a word for nothing")
    found: Fraction | timedelta
    if clock := re.fullmatch(r"(?:(\d+)(?:-| days? | days?, ))?(\d+):(\d\d):(\d\d)(?:\.(\d+))?", cell, re.ASCII):
        day, hours, minutes, whole, part = clock.groups()
        if int(minutes) > 59 or int(whole) > 59 or len(day or "") > 6 or len(hours) > 6 or part:
            raise UndecidedError("a clock that goes beyond its hours, or says parts of seconds")
        found = timedelta(days=int(day or 0), hours=int(hours), minutes=int(minutes), seconds=int(whole))
        return Fraction(int(found.total_seconds())) or None
    pieces = re.findall(rf"({NUMBER}) ?(ms|s|min|m|h|d)(?=[ \d]|$) ?", cell, re.ASCII)
    if pieces and "".join("".join(piece) for piece in pieces) == cell.replace(" ", ""):
        units = [piece[1] for piece in pieces]
        sizes = [OF_TIME[name] for name in units]
        odd = re.search(r"\d[eE]|\s$", cell) or (len(units) > 1 and "ms" in units)
        if odd or sizes != sorted(set(sizes), reverse=True):
            raise UndecidedError("units in another order")
        return sum((number_of(digits) * OF_TIME[name] for digits, name in pieces), Fraction(0)) or None
    if iso := re.fullmatch(r"P(?:(\d+)D)?T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?", cell, re.ASCII):
        days, hours, minutes, whole = (int(part or 0) for part in iso.groups())
        found = timedelta(days=days, hours=hours, minutes=minutes, seconds=whole)
        return Fraction(int(found.total_seconds())) or None
    if plain := re.fullmatch(rf"({NUMBER}) second\(s\)", cell, re.ASCII):
        return number_of(plain[1]) or None
    if len(cell) < 1000 and re.search(r"\d.*[A-DF-Za-df-z:]|[A-DF-Za-df-z:].*\d", cell):
        raise UndecidedError(f"words of which the documentation says nothing: {cell[:40]!r}")
    value = number_of(cell)
    if value < 0:
        raise RefusalDueError("a run time below 0")
    if not unit:
        raise RefusalDueError("a number without any unit")
    return value * OF_TIME[unit] or None


def memory_of(cell: str, unit: str) -> Fraction | None:
    """Megabytes that a cell says; nothing where none were measured."""
    if cell in MISSING:
        return None
    if cell.lower() in ODD_WORDS:
        raise UndecidedError("a word for nothing")
    if said := re.fullmatch(rf"({NUMBER}) ?([KMGT]B|[KMGT]i?|B|[MGK]bytes)", cell, re.ASCII):
        return number_of(said[1]) * BYTES[said[2][0].lower()] / 2**20 or None
    if len(cell) < 1000 and re.search(r"\d.*[A-DF-Za-df-z:]|[A-DF-Za-df-z:].*\d", cell):
        raise UndecidedError("words of which the documentation says nothing")
    value = number_of(cell)
    if value < 0:
        raise RefusalDueError("memory below 0")
    if not unit and cell != "0":
        raise (RefusalDueError if value else UndecidedError)("a number without any unit")
    return value * BYTES[unit or "m"] / 2**20 or None


def whole_of(cell: str, what: str) -> int:
    value = number_of(cell)
    if value.denominator != 1:
        raise RefusalDueError(f"{what} that are not whole")
    return int(value)


def cores_of(cell: str) -> int:
    """Cores of a task, one where nothing is said; parts of one are left to the reader."""
    if not cell:
        return 1
    if (
        cell in MISSING
        or cell.lower() in ODD_WORDS
        or not 1 <= number_of(cell) < 10**6
        or number_of(cell).denominator != 1
    ):
        raise UndecidedError("no number of cores")
    return int(number_of(cell))


# ------------------------------------------------------------------ files


def text_of(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UndecidedError("no UTF-8") from None
    if re.search(r"[^\t\r\n\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff]", text):
        raise UndecidedError("letters that cannot be seen, or are of other scripts")
    return text


def plain(heading: str) -> str:
    return re.sub(r"[ _-]+", "_", heading.strip().lower())


def rows_of_table(text: str, known: Callable[[str], bool], quoted: bool, doubts: set[str]) -> tuple[Rows, str]:
    """Rows of a table by its headings, and what divides their cells."""
    if said := re.match(r"sep=(.)[\r\n]", text):
        raise UndecidedError(f"a first line that says {said[1]!r}")
    if re.search(r"\r(?!\n)", text):
        raise UndecidedError("lines that end with CR alone, or cells of several lines")
    if not quoted and '"' in text:
        raise UndecidedError("quotation marks where nobody writes any")
    if re.search(r'[,;\t|\r\n] +"', text):
        raise UndecidedError("blanks before a quotation mark")
    ways = []
    for divider in ",;\t|":
        try:
            rows = [*csv.reader(io.StringIO(text, newline=""), delimiter=divider, strict=True)]
        except csv.Error:
            continue
        if any(not "".join(row).strip() and any("\n" in cell for cell in row) for row in rows):
            raise UndecidedError("a row of nothing but the end of a line in quotation marks")
        rows = [row for row in rows if any(cell.strip() for cell in row)]
        if rows and any(known(plain(heading)) for heading in rows[0]):
            ways.append((rows, divider))
    if len(ways) != 1:
        raise UndecidedError(f"{len(ways)} ways to divide the cells")
    rows, divider = ways[0]
    if '"' in text and not re.search(r'(^|[,;\t|\r\n])"', text):
        raise UndecidedError("quotation marks within cells")
    headings = [plain(heading) for heading in rows[0]]
    width = len(headings)
    if any(len(row) > width for row in rows) and headings[-1] in ("command", "cmd"):
        raise UndecidedError("what divides the cells, in a command at the end of a line")
    if any(len(row) < width or any(map(str.strip, row[width:])) for row in rows):
        raise RefusalDueError("a row of another width than the headings")
    if any(len(row) > width for row in rows):
        doubts.add("empty cells behind the last")
        rows = [row[:width] for row in rows]
    if twice := [name for name, times in Counter(name.replace("_", "") for name in headings).items() if times > 1]:
        raise UndecidedError(f"two columns called {twice}")
    empty = {place for place in range(len(headings)) if not any(row[place].strip() for row in rows[1:])}
    if any(cell != cell.strip() or "\n" in cell for row in rows for cell in row):
        doubts.add("blanks around cells, or lines in them")
    if any(heading != raw and heading != raw.lower() for heading, raw in zip(headings, rows[0], strict=True)):
        doubts.add("headings that are spelled oddly")
    if any(re.search(r"[A-Z].*\.|\[.*[A-Z]", heading) for heading in rows[0]):
        doubts.add("names of types in capitals")
    if "" in headings and headings.index("") not in empty:
        doubts.add("a column without a heading")
    names = [name for place, name in enumerate(headings) if place not in empty or known(name)]
    places = [place for place, name in enumerate(headings) if place not in empty or known(name)]
    return [dict(zip(names, (row[place].strip() for place in places), strict=True)) for row in rows[1:]], divider


def without_commas(rows: Rows, divider: str, of_numbers: Callable[[str], bool]) -> bool:
    """Write a point for decimal commas, and nothing for those between thousands; whether there are any."""
    cells = [(row, name) for row in rows for name in row if of_numbers(name) and re.search(r"\d", row[name])]
    with_comma = [(row, name) for row, name in cells if "," in row[name] and not re.search("days?, ", row[name])]
    if not with_comma:
        return False
    between = [
        re.fullmatch(r"-?\d{1,3}(,\d{3})+(\.\d+)?( ?[A-Za-z]+)?", row[name], re.ASCII) for row, name in with_comma
    ]
    decimal = [re.fullmatch(r"-?\d*,\d+([eE][+-]?\d+)?( ?[A-Za-z]+)?", row[name], re.ASCII) for row, name in with_comma]
    points = any("." in row[name] for row, name in cells)
    thousands = all(between) and divider in "\t|"
    if divider == "," or (all(between) and divider == ";") or (not thousands and (points or not all(decimal))):
        return True  # a comma is no number, wherever one is asked for
    for row, name in with_comma:
        row[name] = re.sub(r"(?<!\d),", "0,", row[name]).replace(",", "" if thousands else ".")
    return True


def json_of(text: str) -> Any:
    """Value of a JSON text; numbers stay as they are written."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise UndecidedError("a key that stands twice")
        return dict(pairs)

    def no_number(word: str) -> Any:
        raise UndecidedError(f"{word} in JSON")

    if re.search(r"\d{400}", text):
        raise UndecidedError("a number of hundreds of digits")
    if re.search(r"\\ud[89a-f]", text, re.IGNORECASE):
        raise UndecidedError("half a letter")
    try:
        return json.loads(
            text, object_pairs_hook=once, parse_int=Literal, parse_float=Literal, parse_constant=no_number
        )
    except RecursionError:
        raise UndecidedError("lists in lists in lists") from None
    except ValueError as error:
        raise RefusalDueError(f"no JSON: {error}") from None


def objects_of(text: str) -> list[dict[str, Any]]:
    """Objects of a list, or of lines."""
    try:
        found = json_of(text)
    except RefusalDueError:
        found = [json_of(line) for line in text.splitlines() if line.strip()]
    if isinstance(found, dict) and len(text.strip().splitlines()) > 1:
        raise UndecidedError("one object of several lines")
    found = [found] if isinstance(found, dict) else found  # one line
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise RefusalDueError("no list of objects")
    return found


def cells_of(entry: dict[str, Any]) -> dict[str, str]:
    """Cells of an object, as of a row; a list is a command."""
    cells = {}
    for name, value in entry.items():
        if isinstance(value, list) and all(type(word) is str for word in value):
            value = shlex.join(value)
        elif isinstance(value, bool | list | dict):
            raise UndecidedError(f"{name}: {value!r:.40}")
        if plain(name) in cells:
            raise UndecidedError("two columns of the same name")
        cells[plain(name)] = (value or "").strip()
    return cells


def note_width(rows: Rows, doubts: set[str]) -> None:
    if len(rows) * len(set().union(*rows)) > 1_000_000:
        doubts.add("objects of so many different keys that a table of them would be far larger than the file")


# ------------------------------------------------------------------ what tools say


@dataclass
class Tool:
    """Names of what a tool says of a task, by its manual; the first of several that says something counts."""

    ids: Sequence[str]
    runtimes: Sequence[tuple[str, str]]
    memories: Sequence[tuple[str, str]]
    cores: str
    state: str = ""
    taken: str = ""
    codes: Sequence[str] = ()
    command: str = ""
    others: str = ""
    words: str = ""
    needed: Sequence[str] = field(default=())
    nothing: Sequence[str] = ("",)


TOOLS = {
    "nextflow": Tool(
        ("name",), [("realtime", "ms")], [("peak_rss", "b"), ("rss", "b"), ("memory", "b")], "cpus", "status",
        "COMPLETED", ("exit",), "script", "hash duration %cpu task_id", "FAILED CANCELLED RUNNING ABORTED CACHED",
        ("task_id", "realtime", "hash"), ("", "-"),
    ),
    "sacct": Tool(
        ("jobid",), [("elapsedraw", "s"), ("elapsed", "")], [("maxrss", "b"), ("reqmem", "")], "alloccpus", "state",
        "COMPLETED", ("exitcode",), "", "jobname alloctres", "FAILED CANCELLED RUNNING PENDING TIMEOUT", ("jobid",),
    ),
    "joblog": Tool(
        ("seq",), [("jobruntime", "s")], [], "", "", "", ("exitval", "signal"), "command",
        "host starttime send receive",
        "", ("seq", "jobruntime", "exitval"),
    ),
    "snakemake": Tool(
        (), [("s", "s"), ("h:m:s", "")], [("max_rss", "m")], "threads", others="mean_load rule_name",
        needed=("s", "h:m:s", "max_rss"), nothing=MISSING,
    ),
    "htcondor": Tool(
        ("clusterid", "procid"), [("committedtime", "s"), ("remotewallclocktime", "s")],
        [("residentsetsize", "k"), ("memoryusage", "m"), ("requestmemory", "m")], "requestcpus", "jobstatus", "4",
        ("exitcode",), "cmd", "requestgpus", "1 2 3 5 6 7", ("clusterid", "procid", "remotewallclocktime"),
    ),
    "lsf": Tool(
        ("jobid",), [("run_time", "s")], [("max_mem", "")], "slots", "stat", "DONE", ("exit_code",), "command", "",
        "EXIT RUN PEND", ("jobid", "stat", "run_time"), ("", "-"),
    ),
}  # fmt: skip


def names_of(tool: Tool) -> set[str]:
    """All names that a tool may have in its heading, here."""
    named = {*tool.ids, *(name for name, _ in (*tool.runtimes, *tool.memories)), *tool.codes, *tool.others.split()}
    return {*named, tool.cores, tool.state, tool.command} - {""}


def left_out(tool: Tool, row: dict[str, str]) -> bool:
    """Whether a task failed, or has not ended."""
    state = row.get(tool.state, tool.taken)
    if state.split(" ")[0] != tool.taken:
        if state.split(" ")[0] in tool.words.split():
            return True
        raise UndecidedError(f"the state {state[:40]!r}")
    for name in tool.codes:
        code = row.get(name, "0")
        if tool is TOOLS["sacct"] and re.fullmatch(r"\d+:0", code):
            code = code[:-2]
        if code not in MISSING and not re.fullmatch(r"0|[1-9]\d{0,3}", code, re.ASCII):
            raise UndecidedError(f"the exit code {code[:40]!r}")
        if code not in MISSING and int(code):
            return True
    return False


def task_of(tool: Tool, row: dict[str, str], id_: str, measured: bool) -> Task | None:
    """Task that a row says; nothing if its run time is missing. A committed time of 0 may be one that is missing."""
    seconds = None
    for name, unit in tool.runtimes:
        if name in row and (seconds := seconds_of(row[name], unit)) is None and row[name] not in MISSING and measured:
            break
        if seconds is not None:
            break
    if seconds is None:
        return None
    memory = None
    for name, unit in tool.memories:
        cell = row.get(name, "")
        if per := name == "reqmem" and re.fullmatch(r"(\d+(?:\.\d+)?[KMGT]?)[nc]", cell):
            cell = per[1]
        memory = memory if memory is not None else memory_of(cell, unit)
    if row.get("requestgpus", "").lower() in ODD_WORDS:
        raise UndecidedError("a word for no GPU")
    if "gpu" in row.get("alloctres", "") or (
        row.get("requestgpus", "") not in MISSING and number_of(row["requestgpus"])
    ):
        raise RefusalDueError("GPUs")
    if cores_of(row.get(tool.cores, "")) > 1:
        raise UndecidedError("several cores: whether a type has them")
    return Task(id_, float(memory or DEFAULT_MEMORY_MB), {"*": float(seconds)}, 1, row.get(tool.command) or None, None)


def without_steps(rows: Rows, doubts: set[str]) -> Rows:
    """Jobs of sacct with the largest memory of their steps."""
    jobs = {row["jobid"]: dict(row) for row in rows if "." not in row["jobid"]}
    steps = [row for row in rows if "." in row["jobid"]]
    if steps and len(jobs) + len(steps) < len(rows):
        raise UndecidedError("a job that is there twice, and steps")
    if not steps:
        return [dict(row) for row in rows]
    orphans = Counter(row["jobid"].partition(".")[0] for row in steps) - Counter(dict.fromkeys(jobs, len(steps)))
    if orphans:
        raise UndecidedError("a step without its job")
    if len({row["jobid"] for row in steps}) < len(steps):
        doubts.add("a step that is there twice")
    for row in steps:
        job = jobs[row["jobid"].partition(".")[0]]
        try:
            if (memory_of(row.get("maxrss", ""), "b") or 0) > (memory_of(job.get("maxrss", ""), "b") or 0):
                job["maxrss"] = row["maxrss"]
        except RefusalDueError:
            raise UndecidedError("memory of a step that is no number") from None
    return [*jobs.values()]


def rows_of_tool(data: bytes, kind: str, doubts: set[str]) -> Rows:
    """Rows of what a tool says, as a table or as JSON."""
    tool, text = TOOLS[kind], text_of(data)
    names = names_of(tool)
    if kind in ("htcondor", "lsf") and text.lstrip()[:1] in ("[", "{"):
        found = json_of(text) if kind == "lsf" else objects_of(text)
        if isinstance(found, dict):
            if {key: type(value) for key, value in found.items()} != {"COMMAND": str, "JOBS": Literal, "RECORDS": list}:
                raise UndecidedError("other keys than bjobs writes")
            found = found["RECORDS"]
        if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
            raise RefusalDueError("no list of objects")
        rows, divider = [cells_of(entry) for entry in found], "\t"
        note_width(rows, doubts)
        if len({name for entry in found for name in entry}) > len(set().union(*rows)):
            doubts.add("keys that are spelled in two ways")
        named = [value for entry in found for key, value in entry.items() if key.lower() in (*tool.ids, tool.command)]
        if any("," in cell for row in rows for cell in row.values()) or any(
            type(value) is Literal and not re.fullmatch(r"0|[1-9]\d*", value) for value in named
        ):
            raise UndecidedError("commas in JSON, or a name that is an odd number")
    elif kind == "joblog":
        lines = [line for line in re.split(r"\r\n|\n|\r", text) if line.strip()]
        headings = [plain(heading) for heading in lines[0].split("\t")] if lines else []
        cells = [line.split("\t", max(len(headings) - 1, 0)) for line in lines[1:]]
        if len(set(headings)) < len(headings) or headings[-1:] != ["command"]:
            raise UndecidedError("columns in another order, or no command")
        if any(len(row) != len(headings) for row in cells):
            raise RefusalDueError("a row of another width than the headings")
        rows, divider = [dict(zip(headings, map(str.strip, row), strict=True)) for row in cells], "\t"
    else:
        rows, divider = rows_of_table(text, names.__contains__, False, doubts)
    given = set().union(*rows) if rows else set()
    if not set(tool.needed) <= given or not {name for name, _ in tool.runtimes} & given:
        raise UndecidedError("a file that may be of another tool")
    for name in given - names:
        if any(row.get(name) for row in rows):
            raise UndecidedError(f"a column that the tool does not make: {name[:40]}")
    of_numbers = {name for name, _ in (*tool.runtimes, *tool.memories)} | {tool.cores}
    if without_commas(rows, divider, of_numbers.__contains__):
        doubts.add("commas in numbers of a tool")
    if any(None in (row.get(name) for name in tool.needed) for row in rows):
        raise UndecidedError("a row that lacks what others have")
    return rows


def checked(tasks: Iterable[Task], doubts: set[str]) -> list[Task]:
    """Tasks that a bag may have, by their ids."""
    found = [*tasks]
    if not found:
        raise RefusalDueError("no tasks")
    if len({task.id for task in found}) < len(found):
        raise RefusalDueError("two tasks of the same id")
    for task in found:
        if (
            not task.id
            or len(task.id) > 200
            or not task.id.isprintable()
            or "#" in task.id
            or task.id != task.id.strip()
        ):
            raise UndecidedError("an id that may be none")
        if task.command is not None and (len(task.command) > 10_000 or not task.command.isprintable()):
            doubts.add("a very long command, or letters in it that cannot be seen")
        if task.memory_mb > LARGEST_MB or any(seconds > 1e9 for seconds in task.runtime_s.values()):
            doubts.add("a task that no VM of the bag can run")
        if task.memory_mb < 1e-3 or any(seconds < 1e-3 for seconds in task.runtime_s.values()):
            doubts.add("a task of nearly nothing")
    return found


def tasks_of_tool(data: bytes, kind: str, doubts: set[str], measured: bool, by_number: bool) -> list[Task]:
    """Tasks that a tool says have ended well."""
    tool, rows = TOOLS[kind], rows_of_tool(data, kind, doubts)
    found: list[Task] = []
    if any("gpu" in row.get("alloctres", "") or row.get("requestgpus", "0") not in ("", "0") for row in rows):
        doubts.add("GPUs of a task or step that may be left out")
    signs = {*MISSING} - {*tool.nothing}
    if any(row.get(name) in signs for row in rows for name, _ in (*tool.runtimes, *tool.memories)):
        doubts.add("a sign for nothing that the tool does not write")
    if kind == "sacct":
        rows = without_steps(rows, doubts)
    for row in rows:
        ids = ("task_id",) if by_number or not any(row.get("name", "x") for row in rows) else tool.ids
        id_ = ".".join(row.get(name, "") for name in ids) if ids else "bench"
        if left_out(tool, row):
            try:
                task_of(tool, row, id_, measured)
            except (RefusalDueError, UndecidedError):
                doubts.add("something odd of a task that is left out")
        elif task := task_of(tool, row, id_, measured):
            if "" in id_.split("."):
                raise UndecidedError("an id that is missing")
            found.append(task)
    if kind == "snakemake":
        longest = max((task.runtime_s["*"] for task in found), default=0.0)
        found = [task for task in found if task.runtime_s["*"] == longest]
        if any(task != found[0] for task in found):
            raise UndecidedError("two repetitions that are the longest")
        del found[1:]
    return checked(found, doubts)


def verdict(readings: Iterator[Callable[[set[str]], Any]]) -> Verdict:
    """Verdict of one or several ways to read a file."""
    judged = Verdict()
    for reading in readings:
        try:
            judged.readings.append(reading(judged.doubts))
        except RefusalDueError as due:
            judged.why = str(due)
        except UndecidedError as unknown:
            return Verdict(undecided=str(unknown))
    if judged.why and judged.readings:
        judged.doubts.add(judged.why)
    return judged


def second_bag_of_tool(data: bytes, kind: str) -> Verdict:
    """What a tool says of tasks."""
    ways = product((False, True) if kind == "htcondor" else (False,), (False, True) if kind == "nextflow" else (False,))
    judged = verdict((lambda doubts, way=way: tasks_of_tool(data, kind, doubts, *way)) for way in ways)  # type: ignore[misc]
    if kind == "nextflow" and not judged.readings and "same id" in judged.why:
        return Verdict(undecided="numbers of tasks that are not unique either")
    if kind == "nextflow" and len(judged.readings) == 2 and "same id" not in judged.why:
        del judged.readings[1]  # names are unique
    return judged
