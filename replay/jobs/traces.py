"""The trace of a replay of a job stream: everything that happened, as records."""

from __future__ import annotations

from typing import Any

from ...traces.trace import Trace
from ...traces.vm_records import MIGRATION_KINDS
from .engine import JobReplay
from .outcome import JobOutcome


def job_trace(replay: JobReplay, outcome: JobOutcome) -> Trace:
    """Return the trace of an ended replay that was made with ``record=True``."""
    assert replay.records is not None, "the replay keeps no record"
    stream = replay.stream
    run: dict[str, Any] = {
        "record": "run",
        "policy": replay.policy.name,
        "day": replay.drawn.seed,
        "timeline": {"name": "no hibernations", "events": []},
        "billing": {
            "first_hour_free": False,
            "hibernated_usd_per_gb_hour": 0.0,
            "block_s": stream.block_s,
            "from_request": True,
        },
        "hibernation": True,
        "jobs": [
            {
                "id": job.id,
                "application": job.application,
                "submitted_s": job.submitted_s,
                "deadline_s": job.deadline_s,
                "n_tasks": job.n_tasks,
            }
            for job in replay.jobs
        ],
    }
    nothing = dict.fromkeys(("hibernations", "resumes", "steal_attempts", "steals", "tasks_stolen"), 0)
    end: dict[str, Any] = {
        "record": "end",
        "t": replay.now_s,
        "cost_usd": outcome.cost_usd,
        "makespan_s": outcome.makespan_s,
        "finished": outcome.n_tasks - outcome.unfinished_tasks,
        "late_tasks": outcome.late_tasks,
        "unfinished": replay.unfinished_ids(),
        **nothing,
        "on_demand_started": len(replay.vms),
        "migrations": dict.fromkeys(MIGRATION_KINDS, 0),
        "checkpoints": 0,
        "recoveries": 0,
        "cpu_time_saved_s": 0.0,
        "late_s": outcome.late_s,
        "idle_s": outcome.idle_s,
        "blocks": outcome.blocks,
        "suspensions": outcome.suspensions,
        "returns": outcome.returns,
    }
    return Trace(replay.drawn.instance.to_document(), run, replay.records, end)
