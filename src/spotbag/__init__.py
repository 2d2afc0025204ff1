"""Plan bags of independent tasks on spot, on-demand and burstable VMs.

>>> import spotbag
>>> result = spotbag.solve(spotbag.library_instance("burst-hads/J60"), time_limit_s=60)
>>> result.status
'optimal'
"""

from __future__ import annotations

from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .audits.auditor import audit
    from .audits.bags.plan import check
    from .charts.bags.convergence import plot_convergence, write_convergence
    from .charts.bags.execution import write_execution
    from .charts.bags.front import plot_front, write_front
    from .charts.bags.plan import plot_gantt, write_gantt
    from .charts.replay import plot_replay, write_replay
    from .core.errors import InputError, SpotbagError
    from .executors.execution_state import execution_state
    from .executors.logs import read_log
    from .executors.shell import export_plan
    from .heuristics.bags.d_spot import estimate_d_spot
    from .instances.bags.csv_tasks import read_tasks
    from .instances.bags.generator import generate_instance
    from .instances.bags.scenarios import find_scenario
    from .instances.bags.timeline import Timeline
    from .instances.entries import Limits, Objective, Offer, Task, VmType
    from .instances.instance import Instance, read_instance, write_instance
    from .instances.library import library_instance, library_names, platform_names, stream_names
    from .instances.platforms.job_draws import draw_malleable_jobs
    from .instances.platforms.platform import Platform
    from .instances.platforms.platform_files import library_platform, read_platform, write_platform
    from .instances.streams.stream import Stream
    from .instances.streams.stream_files import library_stream, read_stream, write_stream
    from .models.streams.sizing import SizingProblem, TypeChoice, problem_of_job
    from .replay.bags.live import Decided, EndVm, LaunchVm, LivePolicy, MoveTask, StartTask, StopTask
    from .replay.bags.plan_choice import choose_plan
    from .replay.bags.policy import Policy
    from .replay.bags.runs import replay_day, replay_days, trace_day
    from .replay.platforms.policy import PlatformPolicy
    from .replay.platforms.runs import replay_platform
    from .replay.streams.policy import StreamPolicy
    from .replay.streams.runs import replay_stream
    from .schedules.documents import PlacedTask
    from .schedules.events import (
        OfferPriced,
        Spent,
        TaskExpected,
        TaskFailed,
        TaskFinished,
        TaskSaved,
        TaskStarted,
        TaskWithdrawn,
        TypeLimited,
        VmCredits,
        VmDraining,
        VmEnded,
        VmExpected,
        VmHibernated,
        VmPaid,
        VmPriced,
        VmReady,
        VmRequested,
        VmResumed,
    )
    from .schedules.schedule import Schedule
    from .schedules.schedule_files import read_schedule, write_schedule
    from .schedules.state import State
    from .schedules.vm_state import TaskOnVm, VmState
    from .solvers.bags.pareto import ParetoFront, pareto_front
    from .solvers.bags.plan_choice import PlanChoice, PlanOnDays
    from .solvers.bags.replan import replan
    from .solvers.bags.result import Result
    from .solvers.bags.solve import solve
    from .solvers.bags.warm_up import warm_up
    from .solvers.platforms.bound import platform_bound
    from .solvers.streams.sizing import size_job
    from .traces.bags.execution import Execution, PlannedTask, TaskRun, VmRun
    from .traces.files import read_traces
    from .traces.stories import describe_trace
    from .traces.trace import Trace

# Loaded when first asked for, so that importing the package costs next to nothing.
_MODULES = {
    "audits.auditor": ("audit",),
    "audits.bags.plan": ("check",),
    "charts.bags.convergence": (
        "plot_convergence",
        "write_convergence",
    ),
    "charts.bags.execution": ("write_execution",),
    "charts.bags.front": (
        "plot_front",
        "write_front",
    ),
    "charts.bags.plan": (
        "plot_gantt",
        "write_gantt",
    ),
    "charts.replay": (
        "plot_replay",
        "write_replay",
    ),
    "core.errors": (
        "InputError",
        "SpotbagError",
    ),
    "executors.execution_state": ("execution_state",),
    "executors.logs": ("read_log",),
    "executors.shell": ("export_plan",),
    "heuristics.bags.d_spot": ("estimate_d_spot",),
    "instances.bags.csv_tasks": ("read_tasks",),
    "instances.bags.generator": ("generate_instance",),
    "instances.bags.scenarios": ("find_scenario",),
    "instances.bags.timeline": ("Timeline",),
    "instances.entries": (
        "Limits",
        "Objective",
        "Offer",
        "Task",
        "VmType",
    ),
    "instances.instance": (
        "Instance",
        "read_instance",
        "write_instance",
    ),
    "instances.library": (
        "library_instance",
        "library_names",
        "platform_names",
        "stream_names",
    ),
    "instances.platforms.job_draws": ("draw_malleable_jobs",),
    "instances.platforms.platform": ("Platform",),
    "instances.platforms.platform_files": (
        "library_platform",
        "read_platform",
        "write_platform",
    ),
    "instances.streams.stream": ("Stream",),
    "instances.streams.stream_files": (
        "library_stream",
        "read_stream",
        "write_stream",
    ),
    "models.streams.sizing": (
        "SizingProblem",
        "TypeChoice",
        "problem_of_job",
    ),
    "replay.bags.live": (
        "Decided",
        "EndVm",
        "LaunchVm",
        "LivePolicy",
        "MoveTask",
        "StartTask",
        "StopTask",
    ),
    "replay.bags.plan_choice": ("choose_plan",),
    "replay.bags.policy": ("Policy",),
    "replay.bags.runs": (
        "replay_day",
        "replay_days",
        "trace_day",
    ),
    "replay.platforms.policy": ("PlatformPolicy",),
    "replay.platforms.runs": ("replay_platform",),
    "replay.streams.policy": ("StreamPolicy",),
    "replay.streams.runs": ("replay_stream",),
    "schedules.documents": ("PlacedTask",),
    "schedules.events": (
        "OfferPriced",
        "Spent",
        "TaskExpected",
        "TaskFailed",
        "TaskFinished",
        "TaskSaved",
        "TaskStarted",
        "TaskWithdrawn",
        "TypeLimited",
        "VmCredits",
        "VmDraining",
        "VmEnded",
        "VmExpected",
        "VmHibernated",
        "VmPaid",
        "VmPriced",
        "VmReady",
        "VmRequested",
        "VmResumed",
    ),
    "schedules.schedule": ("Schedule",),
    "schedules.schedule_files": (
        "read_schedule",
        "write_schedule",
    ),
    "schedules.state": ("State",),
    "schedules.vm_state": (
        "TaskOnVm",
        "VmState",
    ),
    "solvers.bags.pareto": (
        "ParetoFront",
        "pareto_front",
    ),
    "solvers.bags.plan_choice": (
        "PlanChoice",
        "PlanOnDays",
    ),
    "solvers.bags.replan": ("replan",),
    "solvers.bags.result": ("Result",),
    "solvers.bags.solve": ("solve",),
    "solvers.bags.warm_up": ("warm_up",),
    "solvers.platforms.bound": ("platform_bound",),
    "solvers.streams.sizing": ("size_job",),
    "traces.bags.execution": (
        "Execution",
        "PlannedTask",
        "TaskRun",
        "VmRun",
    ),
    "traces.files": ("read_traces",),
    "traces.stories": ("describe_trace",),
    "traces.trace": ("Trace",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__version__ = "0.1.0"

__all__ = [
    "Decided",
    "EndVm",
    "Execution",
    "InputError",
    "Instance",
    "LaunchVm",
    "Limits",
    "LivePolicy",
    "MoveTask",
    "Objective",
    "Offer",
    "OfferPriced",
    "ParetoFront",
    "PlacedTask",
    "PlanChoice",
    "PlanOnDays",
    "PlannedTask",
    "Platform",
    "PlatformPolicy",
    "Policy",
    "Result",
    "Schedule",
    "SizingProblem",
    "Spent",
    "SpotbagError",
    "StartTask",
    "State",
    "StopTask",
    "Stream",
    "StreamPolicy",
    "Task",
    "TaskExpected",
    "TaskFailed",
    "TaskFinished",
    "TaskOnVm",
    "TaskRun",
    "TaskSaved",
    "TaskStarted",
    "TaskWithdrawn",
    "Timeline",
    "Trace",
    "TypeChoice",
    "TypeLimited",
    "VmCredits",
    "VmDraining",
    "VmEnded",
    "VmExpected",
    "VmHibernated",
    "VmPaid",
    "VmPriced",
    "VmReady",
    "VmRequested",
    "VmResumed",
    "VmRun",
    "VmState",
    "VmType",
    "audit",
    "check",
    "choose_plan",
    "describe_trace",
    "draw_malleable_jobs",
    "estimate_d_spot",
    "execution_state",
    "export_plan",
    "find_scenario",
    "generate_instance",
    "library_instance",
    "library_names",
    "library_platform",
    "library_stream",
    "pareto_front",
    "platform_bound",
    "platform_names",
    "plot_convergence",
    "plot_front",
    "plot_gantt",
    "plot_replay",
    "problem_of_job",
    "read_instance",
    "read_log",
    "read_platform",
    "read_schedule",
    "read_stream",
    "read_tasks",
    "read_traces",
    "replan",
    "replay_day",
    "replay_days",
    "replay_platform",
    "replay_stream",
    "size_job",
    "solve",
    "stream_names",
    "trace_day",
    "warm_up",
    "write_convergence",
    "write_execution",
    "write_front",
    "write_gantt",
    "write_instance",
    "write_platform",
    "write_replay",
    "write_schedule",
    "write_stream",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
    if isinstance(found, FunctionType):
        from .core.errors import public

        found = public(found)
        found.__module__ = __name__  # by which processes find it
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
