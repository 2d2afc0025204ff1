"""Hand-sized bags, plans and days for the replay: a second of a spot VM costs $0.001, of an on-demand VM $0.003."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spotbag.instances.bags.timeline import Timeline, TimelineEvent
from spotbag.instances.instance import Instance
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.outcome import DayOutcome
from spotbag.replay.bags.plan import replay_plan
from spotbag.replay.bags.policies import find_policy
from spotbag.schedules.schedule import Schedule

SPOT_USD_PER_S = 0.001
ON_DEMAND_USD_PER_S = 0.003

CHECKPOINTS = {"overhead_fraction": 0.1, "dump_base_s": 5}
"""Five seconds to write one, after every 50 seconds of work."""


def vm_type(
    name: str,
    vcpus: int = 1,
    memory_mb: float = 1024,
    spot: int = 5,
    on_demand: int = 5,
    on_demand_usd_per_s: float = ON_DEMAND_USD_PER_S,
    burstable: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """A VM type; ``spot`` and ``on_demand`` are the limits, 0 for no offer."""
    offers: dict[str, Any] = {}
    if spot:
        offers["spot"] = {"price_usd_per_hour": 3600 * SPOT_USD_PER_S, "limit": spot}
    if on_demand:
        offers["on-demand"] = {"price_usd_per_hour": 3600 * on_demand_usd_per_s, "limit": on_demand}
    made: dict[str, Any] = {"name": name, "vcpus": vcpus, "memory_mb": memory_mb, "offers": offers}
    return made if burstable is None else made | {"burstable": dict(burstable)}


def bag(runtimes_s: Mapping[str, Mapping[str, float]], types: Sequence[Mapping[str, Any]], **fields: Any) -> Instance:
    """An instance: run times of each task by VM type; cycles of 100 s, 10 s to move a task to a new VM.

    Of some tasks, ``memory_mb`` has the memory, and ``dates`` their dates and weight.
    """
    memory, dates = fields.pop("memory_mb", {}), fields.pop("dates", {})
    document: dict[str, Any] = {
        "format": "spotbag.instance/1",
        "name": "day",
        "deadline_s": 400,
        "d_spot_s": 400,
        "migration_overhead_s": 10,
        "allocation_cycle_s": 100,
        "vm_types": list(types),
        "tasks": [
            {"id": name, "memory_mb": memory.get(name, 1), "runtime_s": dict(by_type), **dates.get(name, {})}
            for name, by_type in runtimes_s.items()
        ],
    }
    return Instance.from_document(document | fields, "day")


def plan(instance: Instance, vms: Sequence[str], places: Mapping[str, tuple[int, int, int]]) -> Schedule:
    """A plan: offers such as ``"a spot"``, and VM, core and start of each task; burstable VMs run at the baseline."""
    offers = {str(offer): offer.index for offer in instance.offers}
    vm_offer = np.array([offers[name] for name in vms])
    vm, core, start = (np.array([places[name][column] for name in instance.task_ids]) for column in range(3))
    return Schedule(instance, vm_offer, vm, core, start, instance.offer_is_burstable[vm_offer][vm])


def day(**events: Sequence[int]) -> Timeline:
    """A day: of each VM type, when it hibernates, resumes, hibernates, and so on."""
    moments = [
        TimelineEvent(time, name, "resume" if index % 2 else "hibernate")
        for name, times in events.items()
        for index, time in enumerate(times)
    ]
    return Timeline(tuple(sorted(moments, key=lambda event: (event.time_s, event.kind == "hibernate"))), "by hand")


def live(schedule: Schedule, policy: str, timeline: Timeline) -> tuple[DayOutcome, list[dict[str, Any]]]:
    """Replay a day; return what it came to, and the records of what happened."""
    run = Replay(replay_plan(schedule), find_policy(policy), timeline, record=True)
    outcome = run.run()
    assert run.state.records is not None
    return outcome, run.state.records


def moments(records: Sequence[Mapping[str, Any]], event: str, **fields: Any) -> list[int]:
    """When an event happened, with the given fields."""
    return [
        record["t"]
        for record in records
        if record["event"] == event and all(record.get(name) == value for name, value in fields.items())
    ]
