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
        Limits,
        Objective,
        Offer,
        SpotbagError,
        Task,
        VmType,
        generate_instance,
        library_instance,
        library_names,
        read_instance,
        write_instance,
    )
    from .replay import Policy, Timeline, audit, find_scenario, replay_day, replay_days
    from .schedules import Schedule, check, read_schedule, write_gantt, write_schedule
    from .solvers import ParetoFront, Result, pareto_front, solve

# Loaded when first asked for, so that importing the package costs next to nothing.
_ROOMS = {
    "heuristics": ("estimate_d_spot",),
    "instances": (
        "InputError",
        "Instance",
        "Limits",
        "Objective",
        "Offer",
        "SpotbagError",
        "Task",
        "VmType",
        "generate_instance",
        "library_instance",
        "library_names",
        "read_instance",
        "write_instance",
    ),
    "replay": ("Policy", "Timeline", "audit", "find_scenario", "replay_day", "replay_days"),
    "schedules": ("Schedule", "check", "read_schedule", "write_gantt", "write_schedule"),
    "solvers": ("ParetoFront", "Result", "pareto_front", "solve"),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__version__ = "0.1.0"

__all__ = [
    "InputError",
    "Instance",
    "Limits",
    "Objective",
    "Offer",
    "ParetoFront",
    "Policy",
    "Result",
    "Schedule",
    "SpotbagError",
    "Task",
    "Timeline",
    "VmType",
    "audit",
    "check",
    "estimate_d_spot",
    "find_scenario",
    "generate_instance",
    "library_instance",
    "library_names",
    "pareto_front",
    "read_instance",
    "read_schedule",
    "replay_day",
    "replay_days",
    "solve",
    "write_gantt",
    "write_instance",
    "write_schedule",
]


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_ROOM_OF[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
