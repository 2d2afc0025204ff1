"""An adversary of `on-time`: bags whose rescue has no second to spare, and events in the worst ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from spotbag.core.errors import InputError
from spotbag.instances.bags.timeline import Timeline, TimelineEvent
from spotbag.instances.clouds import Cloud
from spotbag.instances.instance import Instance
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.plan import ReplayPlan, replay_plan
from spotbag.replay.bags.policies.on_time import OnTime
from spotbag.schedules.queues import Queue, queue_times
from spotbag.schedules.schedule import Schedule

from .random_days import _anything_of, _price, random_cloud
from .rescues import may_be_rented

_MOST_BLOWS = 5
_LONG_S = 10**6


@dataclass
class AdverseDay:
    """A day that `on-time` has met."""

    plan: ReplayPlan
    replay: Replay
    covered: bool
    """Whether there was a rescue at 0 s."""
    latest_s: list[int]
    """When the rescue would have had to begin, as things stood."""


def adverse_days(seed: int, dates: bool = False) -> Iterator[AdverseDay]:
    """Replay a random bag again and again; each time, something more happens in one of its worst seconds."""
    rng = np.random.default_rng([40, seed])
    schedule = _tight(rng, np.random.default_rng([41, seed]) if dates else None)
    if schedule is None:
        return
    plan = replay_plan(schedule)
    types = [vm_type for vm_type in plan.instance.vm_types if "spot" in vm_type.offers]
    cloud, law, options = random_cloud(rng), _law(rng), _options(rng)
    events: list[TimelineEvent] = []
    down = dict.fromkeys((vm_type.name for vm_type in types), False)
    disturbed = down.copy()
    for _ in range(int(rng.integers(1, _MOST_BLOWS + 1))):
        day = _replayed(plan, Timeline(tuple(events)), cloud, law, OnTime(**options))
        yield day
        last_s = events[-1].time_s if events else -1
        moments = [at_s for at_s in day.latest_s if last_s + 1 < at_s <= plan.instance.deadline_s]
        if not moments:
            return
        at_s = int(rng.choice(moments)) + int(rng.integers(-1, 2)) if rng.random() < 0.9 else last_s + 1
        if not events and rng.random() < 0.5:
            at_s = 0
        if not events and rng.random() < 0.6:
            events += [TimelineEvent(at_s, vm_type.name, "terminate") for vm_type in types]
            down = disturbed = dict.fromkeys(down, True)
            continue
        for vm_type in types:
            if rng.random() < 0.6:
                event = _anything_of(vm_type, at_s, down[vm_type.name], disturbed[vm_type.name], rng)
                events.append(event)
                if event.of_type:
                    down[vm_type.name] = event.interrupts or event.vms == 0
                    disturbed[vm_type.name] = event.kind != "resume"
                else:
                    disturbed[vm_type.name] |= event.interrupts
                if rng.random() < 0.1:
                    events.append(_price(vm_type, at_s, rng))
    yield _replayed(plan, Timeline(tuple(events)), cloud, law, OnTime(**options))


def _replayed(plan: ReplayPlan, day: Timeline, cloud: Cloud, law: object, policy: OnTime) -> AdverseDay:
    replay = Replay(plan, policy, day, cloud, record=True, law=law)
    covered: bool | None = None
    latest_s = set()
    while replay.step():
        covered = bool(replay.state.covered) if covered is None else covered
        if replay.state.unfinished:
            latest_s |= {replay.state.standby_latest_s, replay.state.now_s}
    return AdverseDay(plan, replay, bool(covered), sorted(latest_s))


def _law(rng: np.random.Generator) -> object:
    if rng.random() < 0.4:
        return None
    rates = rng.choice([0.0, 1.0, 5.0, 30.0], 2)
    return {"type_interruptions_per_deadline": float(rates[0]), "type_resumes_per_deadline": float(rates[1])}


def _options(rng: np.random.Generator) -> dict[str, Any]:
    left_out = rng.choice(sorted(OnTime.rules), int(rng.integers(3)), replace=False) if rng.random() < 0.3 else []
    return {option: False for rule in left_out for option in OnTime.rules[rule].options}


def _tight(rng: np.random.Generator, dates: np.random.Generator | None) -> Schedule | None:
    """Return a plan with about the least deadline with which there is a rescue of all of it at 0 s."""
    instance = _crowded(rng) if rng.random() < 0.4 else _bag(rng)
    if instance is None:
        return None
    schedule = _plan(instance, rng)
    if schedule is None:
        return None
    n_entries = len(schedule.instance.to_document()["tasks"])
    parts = None if dates is None else dates.choice([0.0, 0.0, 0.1, 0.5, 0.9, 1.0], (2, n_entries))

    def covered(deadline_s: int) -> bool:
        dated = with_dates(schedule, deadline_s, parts)
        replay = Replay(replay_plan(dated), OnTime(relieves=False, spreads=False))
        replay.step()
        return replay.state.covered == 1

    least_s = schedule.makespan_s
    high_s = least_s
    while not covered(high_s):
        least_s, high_s = high_s + 1, 2 * high_s
        if high_s > 8 * schedule.makespan_s:
            return None
    while least_s < high_s:
        middle_s = (least_s + high_s) // 2
        if covered(middle_s):
            high_s = middle_s
        else:
            least_s = middle_s + 1
    return with_dates(schedule, high_s + int(rng.choice([0, 0, 1, 3, high_s // 10, high_s])), parts)


def with_dates(schedule: Schedule, deadline_s: int, parts: Any = None) -> Schedule:
    """Return a plan with another deadline, and with dates: parts of the time before and after tasks are planned."""
    document, group = schedule.instance.to_document(), schedule.instance.task_group
    document |= {"deadline_s": deadline_s, "d_spot_s": deadline_s}
    for number, task in enumerate(document["tasks"] if parts is not None else ()):
        start_s, end_s = (
            int(schedule.task_start_s[group == number].min()),
            int(schedule.task_end_s[group == number].max()),
        )
        task["ready_s"] = int(parts[0][number] * start_s)
        task["deadline_s"] = deadline_s - int(parts[1][number] * max(deadline_s - end_s, 0))
    instance = Instance.from_document(document, "with dates")
    places = schedule.task_vm, schedule.task_core, schedule.task_start_s, schedule.task_baseline
    return Schedule(instance, schedule.vm_offer, *places)


def _crowded(rng: np.random.Generator) -> Instance:
    """Seven to forty tasks of one type of VM with few on-demand VMs, and less memory than what its cores could run."""
    n_tasks = int(rng.integers(7, 41))
    kind = _vm_type("type0", rng, n_tasks)
    kind["vcpus"], kind["speed"] = int(rng.choice([2, 2, 3])), 1.0
    kind["offers"]["spot"]["limit"], kind["offers"]["on-demand"]["limit"] = 3, int(rng.choice([1, 1, 2]))
    tasks = [
        {
            "id": f"t{number}",
            "memory_mb": int(rng.choice([100, 200, 200, 200, 400, 700])),
            "base_runtime_s": int(rng.integers(10, 31)),
        }
        for number in range(n_tasks)
    ]
    document = {
        "format": "spotbag.instance/1",
        "name": "crowded",
        "deadline_s": _LONG_S,
        "d_spot_s": _LONG_S,
        "migration_overhead_s": int(rng.choice([0, 0, 2])),
        "allocation_cycle_s": 30,
        "vm_types": [kind],
        "tasks": tasks,
    }
    return Instance.from_document(document, "crowded")


def _bag(rng: np.random.Generator) -> Instance | None:
    """Seven to forty tasks, at times two hundred; mostly, not all that cores could run fits the memory of their VM."""
    n_tasks = (
        200 if rng.random() < 0.01 else int(rng.integers(7, 16)) if rng.random() < 0.7 else int(rng.integers(7, 41))
    )
    binds = rng.random() < 0.7
    names = [f"type{number}" for number in range(int(rng.integers(1, 4)))]
    kinds = [_vm_type(name, rng, n_tasks) for name in names]
    if rng.random() < 0.3:
        kinds.append(_burstable(rng))
        names.append("burst")
    document: dict[str, Any] = {
        "format": "spotbag.instance/1",
        "name": "adverse",
        "deadline_s": _LONG_S,
        "d_spot_s": _LONG_S,
        "boot_overhead_s": int(rng.choice([0, 0, 3, 10])),
        "migration_overhead_s": int(rng.choice([0, 2, 5])),
        "allocation_cycle_s": 30,
        "vm_types": kinds,
        "tasks": [
            {
                "id": f"t{number}",
                "memory_mb": int(rng.choice([100, 200, 300, 400, 500, 700, 900])) if binds else 1,
                "base_runtime_s": int(rng.integers(1, 61)),
            }
            for number in range(n_tasks)
        ],
    }
    if rng.random() < 0.6:
        dump_s = float(rng.choice([0, 0.5, 0.75, 1, 2, 3]))
        document["checkpoint"] = {"overhead_fraction": float(rng.choice([0.05, 0.1, 0.3])), "dump_base_s": dump_s}
    if rng.random() < 0.4:
        document["limits"] = {"max_on_demand": int(rng.integers(1, 5)), "max_spot": int(rng.integers(1, 6))}
    try:
        return Instance.from_document(document, "adverse")
    except InputError:  # nothing to rent
        return None


def _vm_type(name: str, rng: np.random.Generator, n_tasks: int) -> dict[str, Any]:
    most = 4 if n_tasks < 50 else 12
    offers = {"spot": {"price_usd_per_hour": float(rng.choice([0.3, 1.0, 2.0])), "limit": int(rng.integers(1, most))}}
    if name == "type0" or rng.random() < 0.6:
        offers["on-demand"] = {
            "price_usd_per_hour": float(rng.choice([2.5, 3.0, 6.0])),
            "limit": int(rng.integers(1, most)),
        }
    vcpus = int(rng.integers(1, 5))
    speed = float(rng.choice([0.5, 1.0, 1.0, 1.7]))
    return {"name": name, "vcpus": vcpus, "memory_mb": 1000, "speed": speed, "offers": offers}


def _burstable(rng: np.random.Generator) -> dict[str, Any]:
    offers = {
        market: {"price_usd_per_hour": price, "limit": 2}
        for market, price in (("on-demand", 1.0), ("spot", 0.3))
        if market == "on-demand" or rng.random() < 0.5
    }
    burstable = {
        "baseline_fraction": float(rng.choice([0.2, 0.5])),
        "credits_per_hour": int(rng.choice([0, 12, 36])),
        "initial_credits": float(rng.choice([0, 0.5, 2])),
        "max_credits": 100,
    }
    return {
        "name": "burst",
        "vcpus": int(rng.integers(1, 3)),
        "memory_mb": 1000,
        "offers": offers,
        "burstable": burstable,
    }


def _plan(instance: Instance, rng: np.random.Generator) -> Schedule | None:
    """Tasks on a few random VMs; those of burstable VMs at the baseline, or at full speed once there are credits."""
    usable = [offer for offer in instance.offers if offer.limit]
    queues: list[Queue] = []
    for _ in range(int(rng.integers(1, 5 if instance.n_tasks < 50 else 20))):
        offer = usable[int(rng.integers(len(usable)))]
        if offer.market != "spot" and rng.random() < 0.5:
            offer = usable[int(rng.integers(len(usable)))]
        if may_be_rented(instance, offer, queues):
            queues.append(Queue(offer, []))
    for task in range(instance.n_tasks):
        queues[int(rng.integers(len(queues)))].tasks.append(task)
    queues = [queue for queue in queues if queue.tasks]
    if all(queue.offer.market != "spot" for queue in queues):
        return None
    task_vm, task_core, start_s = (np.zeros(instance.n_tasks, np.int64) for _ in range(3))
    baseline = np.zeros(instance.n_tasks, np.bool_)
    for number, queue in enumerate(queues):
        task_vm[queue.tasks] = number
        burst = queue.offer.vm_type.burstable
        if burst is not None and burst.credits_per_hour and rng.random() < 0.7:
            _at_full_speed(instance, queue, start_s)
            continue
        for task, (core, start, _) in zip(queue.tasks, queue_times(instance, queue), strict=True):
            task_core[task], start_s[task], baseline[task] = core, start, queue.offer.burstable
    offers = [queue.offer.index for queue in queues]
    return Schedule(instance, offers, task_vm, task_core, start_s, baseline)  # type: ignore[arg-type]


def _at_full_speed(instance: Instance, queue: Queue, start_s: Any) -> None:
    """Let tasks of a burstable VM run one after the other, each once there are credits for it."""
    burst = queue.offer.vm_type.burstable
    assert burst is not None
    at_s, there = instance.boot_overhead_s, float(burst.initial_credits or 0)
    for task in queue.tasks:
        group = int(instance.task_group[task])
        seconds = int(instance.duration_s[group, queue.offer.index, 0])
        needed = max(seconds * (1 / 60 - burst.credits_per_hour / 3600), 0.0)
        if there < needed:
            wait_s = int((needed - there) * 3600 / burst.credits_per_hour) + 1
            at_s, there = at_s + wait_s, there + wait_s * burst.credits_per_hour / 3600
        start_s[task] = at_s
        at_s, there = at_s + seconds, there - needed
