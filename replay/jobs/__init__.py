"""Replays of job streams: jobs that arrive over time, on VMs that a policy rents."""

from .a2ha import A2haSettings
from .engine import JobReplay
from .front_door import JobRuns, replay_jobs, replay_jobs_once
from .outcome import JobOutcome, JobProgress, violation_cost_usd
from .policies import job_policy
from .policy import JobPolicy
from .summary import JobSummary, summarise_jobs
from .traces import job_trace
from .unknown import Sampling
from .vm import JobVm

__all__ = [
    "A2haSettings",
    "JobOutcome",
    "JobPolicy",
    "JobProgress",
    "JobReplay",
    "JobRuns",
    "JobSummary",
    "JobVm",
    "Sampling",
    "job_policy",
    "job_trace",
    "replay_jobs",
    "replay_jobs_once",
    "summarise_jobs",
    "violation_cost_usd",
]
