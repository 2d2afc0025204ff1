"""Headings of tables: what columns of tasks, and of jobs that arrive, may be called, and the units in their names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias, TypeVar, cast

TaskRole: TypeAlias = Literal[
    "id",
    "command",
    "memory",
    "runtime",
    "count",
    "architecture",
    "ready",
    "deadline",
    "weight",
    "cores",
    "state",
    "exit",
    "stage",
]
JobRole: TypeAlias = Literal[
    "id", "arrival", "runtime", "count", "deadline", "within", "application", "budget", "priority"
]
RoleOf = TypeVar("RoleOf", bound=str)

COMMENTS = "note", "notes", "comment", "comments", "remark", "remarks", "description"
"""Columns that are for people: nothing is made of them, and nothing could be."""


def spelled(text: str) -> dict[str, tuple[str, ...]]:
    """Words by what stands before their colon: ``id: name task_id, memory: rss``."""
    return {key.strip(): tuple(words.split()) for key, _, words in (part.partition(":") for part in text.split(","))}


_RUN_TIME = "runtime run_time duration elapsed elapsed_time walltime wall_time"
OF_TASKS = cast(
    "Mapping[TaskRole, tuple[str, ...]]",
    spelled(
        "id: id task task_id taskid name task_name job job_id job_name,"
        "command: command cmd command_line commandline script,"
        "memory: memory mem ram memory_usage max_memory peak_memory max_rss rss peak_rss maxrss,"
        f"runtime: {_RUN_TIME} time wall,"
        "count: count copies n number tasks repeat repetitions,"
        "architecture: architecture arch cpu_architecture,"
        "ready: ready release earliest_start, deadline: deadline due latest_end, weight: weight,"
        "cores: cores cpus ncpus vcpus threads slots n_cores num_cores core_count,"
        "state: status state,"
        "exit: exit exit_code exitcode exit_status exitval returncode return_code,"
        "stage: stage process rule"
    ),
)
OF_JOBS = cast(
    "Mapping[JobRole, tuple[str, ...]]",
    spelled(
        "id: id job job_id jobid name job_name,"
        "arrival: arrival arrival_time arrived submitted submit submit_time submission_time timestamp time date "
        "datetime created_at epoch,"
        f"runtime: {_RUN_TIME} service_time,"
        "count: count tasks n_tasks number n copies,"
        "deadline: deadline due due_time due_date,"
        "within: within time_to_deadline relative_deadline time_limit timelimit,"
        "application: application app class program executable,"
        "budget: budget max_cost, priority: priority prio"
    ),
)
"""Roles to the normal headings of their columns (`normal`), in tables that people write."""


def normal(heading: str) -> str:
    """Return a heading in small letters, with ``_`` between its words."""
    return re.sub(r"[\s\-_.:/]+", "_", heading.strip().lower()).strip("_")


def meaning(
    heading: str, spellings: Mapping[RoleOf, tuple[str, ...]], units: Mapping[RoleOf, Mapping[str, float]]
) -> tuple[RoleOf, float | None] | None:
    """Role of a heading, and the factor of its unit, of those of the role; None for no unit, or no role."""
    name = re.sub(r"[\[\](){}]", "_", normal(heading)).replace("__", "_").strip("_")
    head, _, unit = name.rpartition("_")
    for role, names in spellings.items():
        if name in names:
            return role, None
        if head in names and unit in units.get(role, ()):
            return role, units[role][unit]
    return None
