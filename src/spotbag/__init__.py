"""Plan bags of independent tasks on spot, on-demand and burstable VMs.

>>> import spotbag
>>> result = spotbag.solve(spotbag.library_instance("burst-hads/J60"))
>>> result.status
'optimal'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .heuristics import estimate_d_spot
    from .instances import (
        InputError,
        Instance,
        JobStream,
        Limits,
        Objective,
        Offer,
        Platform,
        SpotbagError,
        Task,
        VmType,
        draw_malleable_jobs,
        generate_instance,
        job_stream_names,
        library_instance,
        library_job_stream,
        library_names,
        library_platform,
        platform_names,
        read_instance,
        read_job_stream,
        read_platform,
        write_instance,
        write_job_stream,
        write_platform,
    )
    from .models import SizingProblem, TypeChoice, problem_of_job
    from .replay import Policy, Timeline, audit, find_scenario, replay_day, replay_days
    from .replay.jobs import JobPolicy, replay_jobs
    from .replay.platforms import PlatformPolicy, replay_platform
    from .schedules import Schedule, check, read_schedule, write_gantt, write_schedule
    from .solvers import ParetoFront, Result, pareto_front, size_job, solve
    from .solvers.platform_bound import platform_bound

# Loaded when first asked for, so that importing the package costs next to nothing.
_ROOMS = {
    "heuristics": ("estimate_d_spot",),
    "instances": (
        "InputError",
        "Instance",
        "JobStream",
        "Limits",
        "Objective",
        "Offer",
        "Platform",
        "SpotbagError",
        "Task",
        "VmType",
        "draw_malleable_jobs",
        "generate_instance",
        "job_stream_names",
        "library_instance",
        "library_job_stream",
        "library_names",
        "library_platform",
        "platform_names",
        "read_instance",
        "read_job_stream",
        "read_platform",
        "write_instance",
        "write_job_stream",
        "write_platform",
    ),
    "models": ("SizingProblem", "TypeChoice", "problem_of_job"),
    "replay": ("Policy", "Timeline", "audit", "find_scenario", "replay_day", "replay_days"),
    "replay.jobs": ("JobPolicy", "replay_jobs"),
    "replay.platforms": ("PlatformPolicy", "replay_platform"),
    "schedules": ("Schedule", "check", "read_schedule", "write_gantt", "write_schedule"),
    "solvers": ("ParetoFront", "Result", "pareto_front", "size_job", "solve"),
    "solvers.platform_bound": ("platform_bound",),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__version__ = "0.1.0"

__all__ = [
    "InputError",
    "Instance",
    "JobPolicy",
    "JobStream",
    "Limits",
    "Objective",
    "Offer",
    "ParetoFront",
    "Platform",
    "PlatformPolicy",
    "Policy",
    "Result",
    "Schedule",
    "SizingProblem",
    "SpotbagError",
    "Task",
    "Timeline",
    "TypeChoice",
    "VmType",
    "audit",
    "check",
    "draw_malleable_jobs",
    "estimate_d_spot",
    "find_scenario",
    "generate_instance",
    "job_stream_names",
    "library_instance",
    "library_job_stream",
    "library_names",
    "library_platform",
    "pareto_front",
    "platform_bound",
    "platform_names",
    "problem_of_job",
    "read_instance",
    "read_job_stream",
    "read_platform",
    "read_schedule",
    "replay_day",
    "replay_days",
    "replay_jobs",
    "replay_platform",
    "size_job",
    "solve",
    "write_gantt",
    "write_instance",
    "write_job_stream",
    "write_platform",
    "write_schedule",
]


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_ROOM_OF[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
