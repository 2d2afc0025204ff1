"""Classes and functions from which methods and policies of one's own are made.

A method makes a plan of a bag: a `Method`, or a function of an instance and a `Run` that returns an `Outcome`. A policy
decides in replays: a `Policy` for bags, a `StreamPolicy` for streams, a `PlatformPolicy` for platforms. They are given
as they are to `spotbag.solve`, `spotbag.replay_days` and the like; as ``module:attribute`` on the command line; or, of
an installed distribution, by the names of its entry points in the groups ``spotbag.methods`` and ``spotbag.policies``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .core.errors import InputError, ModelRefusal, SpotbagError
    from .core.limits import LimitReached, checkpoint, out_of_time, seconds_left
    from .core.plugins import PluginError, PluginWarning
    from .instances.entries import BASELINE, FULL_SPEED, NEVER, RentalOffer
    from .instances.instance import Instance
    from .replay.bags.policy import Policy
    from .replay.bags.state import ReplayState, Vm
    from .replay.engines import HIBERNATED, LAUNCHING, RUNNING, STOPPED, TERMINATED
    from .replay.platforms.candidate import NOWHERE, Candidate, PlatformJob
    from .replay.platforms.local_scheduler import PlatformRules
    from .replay.platforms.policy import PlatformPolicy
    from .replay.platforms.state import PlatformState
    from .replay.policies import Rule
    from .replay.streams.policy import StreamPolicy
    from .replay.streams.state import StreamState, StreamVm
    from .schedules.method import Incumbent, Method, MethodFunction, Outcome, Run, TracePoint
    from .schedules.queues import Queue, ends_in_time, queues_of_schedule, schedule_of_queues
    from .schedules.schedule import Schedule
    from .schedules.timing import VmTimeline

# Loaded when first asked for: a method needs none of the replays, and no system another.
_MODULES = {
    "core.errors": (
        "InputError",
        "ModelRefusal",
        "SpotbagError",
    ),
    "core.limits": (
        "LimitReached",
        "checkpoint",
        "out_of_time",
        "seconds_left",
    ),
    "core.plugins": (
        "PluginError",
        "PluginWarning",
    ),
    "instances.entries": (
        "BASELINE",
        "FULL_SPEED",
        "NEVER",
        "RentalOffer",
    ),
    "instances.instance": ("Instance",),
    "replay.bags.policy": ("Policy",),
    "replay.bags.state": (
        "ReplayState",
        "Vm",
    ),
    "replay.platforms.candidate": (
        "NOWHERE",
        "Candidate",
        "PlatformJob",
    ),
    "replay.platforms.local_scheduler": ("PlatformRules",),
    "replay.platforms.policy": ("PlatformPolicy",),
    "replay.platforms.state": ("PlatformState",),
    "replay.policies": ("Rule",),
    "replay.streams.policy": ("StreamPolicy",),
    "replay.streams.state": (
        "StreamState",
        "StreamVm",
    ),
    "replay.engines": (
        "HIBERNATED",
        "LAUNCHING",
        "RUNNING",
        "STOPPED",
        "TERMINATED",
    ),
    "schedules.method": (
        "Incumbent",
        "Method",
        "MethodFunction",
        "Outcome",
        "Run",
        "TracePoint",
    ),
    "schedules.queues": (
        "Queue",
        "ends_in_time",
        "queues_of_schedule",
        "schedule_of_queues",
    ),
    "schedules.schedule": ("Schedule",),
    "schedules.timing": ("VmTimeline",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "BASELINE",
    "FULL_SPEED",
    "HIBERNATED",
    "LAUNCHING",
    "NEVER",
    "NOWHERE",
    "RUNNING",
    "STOPPED",
    "TERMINATED",
    "Candidate",
    "Incumbent",
    "InputError",
    "Instance",
    "LimitReached",
    "Method",
    "MethodFunction",
    "ModelRefusal",
    "Outcome",
    "PlatformJob",
    "PlatformPolicy",
    "PlatformRules",
    "PlatformState",
    "PluginError",
    "PluginWarning",
    "Policy",
    "Queue",
    "RentalOffer",
    "ReplayState",
    "Rule",
    "Run",
    "Schedule",
    "SpotbagError",
    "StreamPolicy",
    "StreamState",
    "StreamVm",
    "TracePoint",
    "Vm",
    "VmTimeline",
    "checkpoint",
    "ends_in_time",
    "out_of_time",
    "queues_of_schedule",
    "schedule_of_queues",
    "seconds_left",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULE_OF[name]}", __package__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
