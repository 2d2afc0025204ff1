"""Traces of hybrid platforms of the library."""

from __future__ import annotations

from typing import Any

from spotbag.instances.platforms.job_draws import draw_malleable_jobs
from spotbag.instances.platforms.platform import Platform
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.replay.platforms.runs import replay_platform_once
from spotbag.traces.trace import Trace


def tiny(policy: str = "money-saving") -> Trace:
    """Trace of the platform that is small enough for a hand."""
    return replay_platform_once(library_platform("tiny/hybrid"), policy)[1]


def with_sampled_jobs(name: str, number: int, kind: Any, mean_gap_s: float) -> Platform:
    """Platform of the library with jobs."""
    platform = library_platform(name)
    return platform.with_jobs(draw_malleable_jobs(number, kind, 3, max_processors=64, mean_gap_s=mean_gap_s))
