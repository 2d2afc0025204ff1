"""Replays on hybrid platforms: malleable jobs that arrive over time, on clusters and clouds below a tree of agents."""

from .candidate import Candidate
from .cloud import CloudScheduler
from .cluster import ClusterScheduler
from .engine import PlatformReplay
from .front_door import PlatformRuns, platform_with_jobs, replay_platform, replay_platform_once
from .job import PlatformJob
from .job_sets import JobSet
from .outcome import JobResult, MachineBill, PlatformOutcome
from .policies import PLATFORM_POLICIES, PlatformPolicy, platform_policy
from .summary import PlatformSummary, summarise_platform
from .traces import platform_trace

__all__ = [
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
    "PlatformRuns",
    "PlatformSummary",
    "platform_policy",
    "platform_trace",
    "platform_with_jobs",
    "replay_platform",
    "replay_platform_once",
    "summarise_platform",
]
