"""Replays on hybrid platforms: malleable jobs that arrive over time, on clusters and clouds below a tree of agents."""

from ...instances.malleable_jobs import JobSet
from .bounds import RunBounds, bounds_of_runs, run_bounds
from .candidate import Candidate
from .cloud import CloudScheduler
from .cluster import ClusterScheduler
from .engine import PlatformReplay
from .front_door import PlatformRuns, platform_with_jobs, replay_platform, replay_platform_once
from .job import NOWHERE, PlatformJob
from .outcome import JobResult, MachineBill, PlatformOutcome
from .policies import PLATFORM_POLICIES, PlatformPolicy, PolicyFactory, platform_policy
from .rules import PlatformRules
from .summary import PlatformSummary, summarise_platform
from .traces import platform_trace

__all__ = [
    "NOWHERE",
    "PLATFORM_POLICIES",
    "Candidate",
    "CloudScheduler",
    "ClusterScheduler",
    "JobResult",
    "JobSet",
    "MachineBill",
    "PlatformJob",
    "PlatformOutcome",
    "PlatformPolicy",
    "PlatformReplay",
    "PlatformRules",
    "PlatformRuns",
    "PlatformSummary",
    "PolicyFactory",
    "RunBounds",
    "bounds_of_runs",
    "platform_policy",
    "platform_trace",
    "platform_with_jobs",
    "replay_platform",
    "replay_platform_once",
    "run_bounds",
    "summarise_platform",
]
