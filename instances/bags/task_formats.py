"""Files of tasks that people have: for each format a record of how it is recognised and what its columns hold.

A table is one of these whatever divides its cells. `task_documents` makes tables of files that are none.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, cast

from ...core.text_tables import delimiter_of, first_line_of
from ..columns import OF_TASKS, TaskRole, normal, spelled


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFormat:
    """Format of a file of tasks.

    Attributes
    ----------
    name, title : str
        Of its import; what it is, in messages.
    source : str
        What makes such a file.
    example : str
        File of an example.
    marks : tuple of set
        Headings by which it is recognised: all of any set.
    columns : dict
        Role to the headings that hold it. In a table of other tools, the first one counts that says something in a
        row; of ids, the first that is different in all rows. Headings are normal ones (`normal`).
    units : dict
        Heading to the unit of its plain numbers.
    done : set
        States of tasks that are taken, in capitals.
    not_done : set, optional
        States of tasks that are not; all others if absent.
    nothing : set
        Cells that stand for nothing.
    own : bool
        Whether people write it, so that each column is meant, and 0 too. In files of tools, columns that are not
        understood are left out, and a memory of 0 is one that was not measured.
    steps : str
        Heading of ids whose part after a point names a step of a job: rows of steps become part of that of the job.
    joined : tuple of str
        Two headings whose cells together, with a point between them, are the id.
    repeats : bool
        Whether several rows of an id are repetitions of one task, of which the longest counts.
    stage_in : tuple
        Heading and pattern of what names the stage of a task, in tables without a column of it.
    """

    name: str
    title: str
    source: str = ""
    example: str
    marks: tuple[frozenset[str], ...] = ()
    columns: Mapping[TaskRole, tuple[str, ...]]
    units: Mapping[str, str] = field(default_factory=dict)
    done: frozenset[str]
    not_done: frozenset[str] | None = None
    nothing: frozenset[str] = frozenset({""})
    own: bool = False
    steps: str = ""
    joined: tuple[str, ...] = ()
    repeats: bool = False
    stage_in: tuple[str, str] | None = None

    def role_of(self, heading: str) -> TaskRole | None:
        """Role of a normal heading."""
        return next((role for role, names in self.columns.items() if heading in names), None)


_DONE = frozenset({"COMPLETED", "COMPLETE", "DONE", "OK", "SUCCESS", "SUCCEEDED", "SUCCESSFUL", "FINISHED", "PASSED"})
_NOT_DONE = frozenset(
    [
        "ABORTED",
        "BOOT_FAIL",
        "CACHED",
        "CANCELED",
        "CANCELLED",
        "CRASHED",
        "DEADLINE",
        "ERROR",
        "EXIT",
        "EXITED",
        "FAIL",
        "FAILED",
        "FAILURE",
        "HELD",
        "IDLE",
        "KILLED",
        "NEW",
        "NODE_FAIL",
        "OOM",
        "OUT_OF_MEMORY",
        "PENDING",
        "PREEMPTED",
        "QUEUED",
        "REMOVED",
        "REQUEUED",
        "RUNNABLE",
        "RUNNING",
        "SKIPPED",
        "STARTING",
        "STOPPED",
        "SUBMITTED",
        "SUSPENDED",
        "TIMEOUT",
        "WAITING",
    ]
)


def _tool(
    name: str, title: str, source: str, marks: str, columns: str, units: str, done: str, **more: Any
) -> TaskFormat:
    """Return the format of a tool, of headings and other words between blanks."""
    states = {key: frozenset({"", *words.split()}) for key, words in more.items() if key == "nothing"}
    return TaskFormat(
        name=name,
        title=title,
        source=source,
        marks=tuple(frozenset(mark.split()) for mark in marks.split(",")),
        columns=cast("Mapping[TaskRole, tuple[str, ...]]", spelled(columns)),
        units={heading: unit for unit, headings in spelled(units).items() for heading in headings},
        done=frozenset(done.split()),
        **more | states,
    )


_OF_PEOPLE: dict[str, Any] = {"columns": OF_TASKS, "done": _DONE, "not_done": _NOT_DONE, "own": True}
CSV = TaskFormat(name="csv", title="a table of tasks", example="tasks.csv", **_OF_PEOPLE)
_FORMATS = (
    _tool(
        *("nextflow", "a trace of Nextflow", "nextflow run -with-trace"),
        "realtime task_id, realtime name, realtime process, hash native_id, hash task_id",
        "id: name task_id hash, stage: process, command: script, memory: peak_rss rss memory, runtime: realtime,"
        "cores: cpus, state: status, exit: exit",
        "ms: realtime, b: peak_rss rss memory",
        "COMPLETED",
        nothing="-",
        stage_in=("name", r"(?s)\A(.+?)(?: \(.*\))?\Z"),
        example="trace.txt",
    ),
    _tool(
        *("sacct", "the table of sacct -P", "sacct -P -o JobID,JobName,State,Elapsed,AllocCPUS,ReqMem,MaxRSS"),
        "jobid elapsed, jobid elapsedraw, jobidraw elapsed, jobidraw elapsedraw",
        "id: jobid jobidraw, command: submitline, memory: maxrss reqmem, runtime: elapsedraw elapsed,"
        "cores: alloccpus ncpus reqcpus, state: state, exit: exitcode",
        "s: elapsedraw",
        "COMPLETED",
        nothing="UNKNOWN INVALID",
        steps="jobid",
        example="sacct.txt",
    ),
    _tool(
        *("joblog", "a job log of GNU parallel", "parallel --joblog"),
        "seq jobruntime exitval",
        "id: seq, command: command, runtime: jobruntime, exit: exitval signal",
        "s: jobruntime",
        "",
        example="joblog.txt",
    ),
    _tool(
        *("snakemake", "benchmarks of Snakemake", "benchmark: in a rule; a file, or the folder of all"),
        "s h_m_s max_rss",
        "id: file, stage: rule_name rule, memory: max_rss, runtime: s h_m_s, cores: threads",
        "s: s, mb: max_rss",
        "",
        nothing="- NA NAN",
        repeats=True,
        example="benchmarks",
    ),
    _tool(
        *("htcondor", "a history of HTCondor", "condor_history -json, or -af:ht with the same attributes"),
        "clusterid remotewallclocktime, globaljobid remotewallclocktime, clusterid committedtime",
        "id: globaljobid clusterid, command: cmd, runtime: committedtime remotewallclocktime,"
        "memory: residentsetsize_raw residentsetsize memoryusage requestmemory,"
        "cores: requestcpus cpusprovisioned, state: jobstatus, exit: exitcode exitsignal",
        "kb: residentsetsize_raw residentsetsize, mb: memoryusage requestmemory, s: committedtime remotewallclocktime",
        "4 C COMPLETED",
        nothing="UNDEFINED",
        joined=("clusterid", "procid"),
        example="history.json",
    ),
    _tool(
        *(
            "lsf",
            "jobs of LSF",
            "bjobs -a -o \"jobid stat run_time max_mem slots exit_code command delimiter='|'\", or -json",
        ),
        "jobid stat run_time",
        "id: jobid, command: command, memory: max_mem mem, runtime: run_time, cores: slots nalloc_slot nreq_slot,"
        "state: stat, exit: exit_code",
        "s: run_time",
        "DONE",
        nothing="-",
        joined=("jobid", "jobindex"),
        example="bjobs.txt",
    ),
    _tool(
        *("batch", "jobs of AWS Batch", "aws batch describe-jobs"),
        "jobid jobname stopped_started",
        "id: jobid, command: command, memory: memory, runtime: stopped_started, cores: vcpus, state: status,"
        "exit: exitcode",
        "ms: stopped_started, mb: memory",
        "SUCCEEDED",
        example="jobs.json",
    ),
    TaskFormat(name="json", title="a list of tasks in JSON", example="tasks.json", **_OF_PEOPLE),
    CSV,
)
FORMATS: Mapping[str, TaskFormat] = MappingProxyType({form.name: form for form in _FORMATS})
"""By the names of their imports."""

_NOTHING_SAID = r"|-|\[\]|\{\}|none|null|\(null\)|n/a"
_INDEPENDENT = "a bag is of independent tasks, and the order of others would be lost"
_ONE_MACHINE = "a task runs on one core of one VM"
REFUSED: tuple[tuple[frozenset[str], re.Pattern[str], str], ...] = tuple(
    (frozenset(headings.split()), re.compile(harmless, re.IGNORECASE), why)
    for headings, harmless, why in (
        (
            "depends_on dependson depends dependency dependencies parent parents after afterok dagparentnodenames "
            "preceding predecessors requires",
            _NOTHING_SAID,
            _INDEPENDENT,
        ),
        (
            "gpu gpus ngpus n_gpus num_gpus gpu_num requestgpus gpusprovisioned accelerator accelerators "
            "acceleratorcount",
            _NOTHING_SAID + r"|0(\.0*)?|no|false",
            "VM types here have no GPUs",
        ),
        ("alloctres reqtres", r"(?!.*gpu).*", "VM types here have no GPUs"),
        ("nnodes allocnodes nodes nexec_host containers", _NOTHING_SAID + r"|0|1", _ONE_MACHINE),
        ("children_of_the_array", "", "an array has a run time for each child: list those (JOB:0, JOB:1, ...)"),
    )
)
"""Headings of what a bag cannot say, cells that ask for nothing, and why others are refused."""


def format_of_headings(headings: Collection[str]) -> TaskFormat:
    """Format of a table with some headings; that of tables of one's own if no other is recognised."""
    given = {normal(heading) for heading in headings}
    return next((form for form in FORMATS.values() if any(mark <= given for mark in form.marks)), CSV)


def format_of_table(text: str) -> TaskFormat:
    """Format of the text of a table, or of its beginning."""
    line = first_line_of(text)
    return format_of_headings([cell.strip().strip('"') for cell in line.split(delimiter_of(line))])


LogFormat: TypeAlias = Literal["swf", "gwf"]
FileKind: TypeAlias = Literal["table", "document", "instance", "wfformat", LogFormat]
"""Kinds of files with tasks: a table, JSON of which a table is made, an instance, or what has a reader of its own."""
_BATCH = re.compile(r'\{\s*"(?:jobs|jobSummaryList)"\s*:\s*\[')
_LSF = re.compile(r'\{[^{}\[\]]*"RECORDS"\s*:\s*\[')
_FORMAT = re.compile(r'\{\s*"format"\s*:|.*"format"\s*:\s*"spotbag\.', re.DOTALL)
_WORKFLOW = re.compile(r'"(?:schemaVersion|workflow)"\s*:')
_RECORD_IN_A_LINE = re.compile(r"\{.*\}[ \t]*\r?\n\s*\{")
_FLAT = re.compile(r'\{\s*"[^\n\[\]{}]*\}\s*\Z')
COLUMNS_OF_LOGS: Mapping[LogFormat, range] = {"swf": range(18, 19), "gwf": range(20, 30)}
"""Numbers of columns that a line may have; of GWF, the last ones may be missing."""
_NUMBERS_OF_LOGS = 11
"""Columns of a log, from the first on, that are numbers in both formats."""


def kind_of_file(head: str) -> FileKind:
    """Kind of a file, by its beginning."""
    from ...core.quantities import number_of  # which loads numpy, and the help of imports need not

    start = head.lstrip("\ufeff \t\r\n")
    if start.startswith("["):
        return "document"
    if start.startswith("{"):
        if _FORMAT.match(start):
            return "instance"
        if has_jobs_inside(start):
            return "document"
        if _WORKFLOW.search(start):
            return "wfformat"
        return "document" if _RECORD_IN_A_LINE.match(start) or _FLAT.match(start) else "instance"
    line = next(
        (line for line in io.StringIO(start, newline=None) if line.strip() and line.lstrip()[0] not in ";#"), ""
    )
    cells = line.strip("\n").split("\t") if "\t" in line and "," not in line else line.split()
    if any(number_of(cell.strip()) is None for cell in cells[:_NUMBERS_OF_LOGS]):
        return "table"
    return next((kind for kind, widths in COLUMNS_OF_LOGS.items() if len(cells) in widths), "table")


def has_jobs_inside(text: str) -> bool:
    """True if a text begins as an object of AWS Batch or LSF does, which holds a list of jobs."""
    return bool(_BATCH.match(text) or _LSF.match(text))
