"""The trace of a replay on a hybrid platform: everything that happened, as records."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ...traces.trace import Trace
from .engine import PlatformReplay
from .outcome import PlatformOutcome


def platform_trace(replay: PlatformReplay, outcome: PlatformOutcome) -> Trace:
    """Return the trace of an ended replay that was made with ``record=True``."""
    assert replay.records is not None, "the replay keeps no record"
    run: dict[str, Any] = {
        "record": "run",
        "policy": replay.policy.name,
        "seed": replay.seed,
        "rules": asdict(replay.policy.rules),
        "displaces": replay.policy.displaces,
    }
    end: dict[str, Any] = {
        "record": "end",
        "t": replay.now_s,
        "finished": replay.finished,
        "cost": outcome.cost,
        "execution_time_s": outcome.execution_time_s,
        "delay_s": outcome.delay_s,
        "overspend": outcome.overspend,
        "late_jobs": outcome.late_jobs,
        "overspent_jobs": outcome.overspent_jobs,
        "machines": len(outcome.machines),
        "vm_hours": sum(machine.hours for machine in outcome.machines),
        "good": outcome.good,
        "bad": outcome.bad,
        "displaced": outcome.displaced,
        "stays": outcome.stays,
        "unwanted": outcome.unwanted,
    }
    return Trace(replay.platform.to_document(), run, replay.records, end)
