"""The trace of a replay: everything that happened, as records."""

from __future__ import annotations

from typing import Any

from ..traces.trace import Trace
from .engine import Replay
from .outcome import Outcome


def trace_of(replay: Replay, outcome: Outcome, day: int = 0, hibernation: bool = True) -> Trace:
    """Return the trace of an ended replay that was made with ``record=True``.

    Parameters
    ----------
    replay : Replay
        The replay.
    outcome : Outcome
        What it came to.
    day : int
        Number of the day.
    hibernation : bool
        Whether VMs could hibernate at all: not in the on-demand baseline.
    """
    assert replay.records is not None, "the replay keeps no record"
    billing = replay.billing
    run: dict[str, Any] = {
        "record": "run",
        "policy": replay.policy.name,
        "day": day,
        "timeline": {
            "name": replay.day.name,
            "events": [
                {"time_s": event.time_s, "type": event.vm_type, "event": event.kind} for event in replay.day.events
            ],
        },
        "billing": {
            "first_hour_free": billing.first_hour_free,
            "hibernated_usd_per_gb_hour": billing.hibernated_usd_per_gb_hour,
        },
        "hibernation": hibernation,
    }
    end: dict[str, Any] = {
        "record": "end",
        "t": replay.now_s,
        "cost_usd": outcome.cost_usd,
        "makespan_s": outcome.makespan_s,
        "finished": replay.instance.n_tasks - outcome.unfinished_tasks,
        "late_tasks": outcome.late_tasks,
        "unfinished": replay.unfinished_ids(),
        "hibernations": outcome.hibernations,
        "resumes": outcome.resumes,
        "on_demand_started": outcome.on_demand_started,
        "migrations": outcome.migrations,
        "steal_attempts": outcome.steal_attempts,
        "steals": outcome.steals,
        "tasks_stolen": outcome.tasks_stolen,
        "checkpoints": outcome.checkpoints,
        "recoveries": outcome.recoveries,
        "cpu_time_saved_s": outcome.cpu_time_saved_s,
    }
    return Trace(replay.instance.to_document(), run, replay.records, end)
