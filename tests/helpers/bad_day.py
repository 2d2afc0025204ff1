"""A day written by hand: hibernations, a resume, migrations of each kind, a steal, recoveries, a stranded task."""

from __future__ import annotations

from typing import Any

from spotbag.instances.instance import Instance
from spotbag.traces.trace import Trace

DEADLINE_S = 2400
D_SPOT_S = 1900


def bad_day_instance() -> Instance:
    """Tasks of 400 s on every type; checkpoints of 10 s after every 100 s of work: 430 s on a spot VM."""

    def vm_type(name: str, **offers: float) -> dict[str, Any]:
        names = {"spot": "spot", "on_demand": "on-demand"}
        prices = {names[market]: {"price_usd_per_hour": price, "limit": 5} for market, price in offers.items()}
        return {"name": name, "vcpus": 2, "memory_mb": 4096, "offers": prices}

    burst = {"baseline_fraction": 0.2, "credits_per_hour": 24}
    document = {
        "format": "spotbag.instance/1",
        "name": "tests/bad-day",
        "deadline_s": DEADLINE_S,
        "d_spot_s": D_SPOT_S,
        "boot_overhead_s": 30,
        "checkpoint": {"overhead_fraction": 0.1, "dump_base_s": 10},
        "vm_types": [
            vm_type("a.large", spot=0.036, on_demand=0.108),
            vm_type("b.large", spot=0.072, on_demand=0.144),
            vm_type("c.large", spot=0.036),
            {**vm_type("t.large", on_demand=0.09), "burstable": burst},
        ],
        "tasks": [{"id": "t", "memory_mb": 100, "base_runtime_s": 400, "count": 16}],
    }
    return Instance.from_document(document, "bad day")


_DAY = """
0 launch a-1 a.large spot | 0 launch a-2 a.large spot | 0 launch b-1 b.large spot | 0 launch b-2 b.large spot
0 launch c-1 c.large spot
30 ready a-1 | 30 ready a-2 | 30 ready b-1 | 30 ready b-2 | 30 ready c-1
30 start a-1 0 t#1 430 | 30 start a-1 1 t#2 430 | 30 start a-2 0 t#7 430 | 30 start a-2 1 t#8 430
30 start b-1 0 t#9 430 | 30 start b-1 1 t#10 430 | 30 start b-2 0 t#11 430 | 30 start b-2 1 t#12 430
30 start c-1 0 t#16 430
100 hibernate c-1 | 100 trigger-set c-1 1800
250 hibernate a-1 | 250 hibernate a-2 | 250 trigger-set a-1 1200 | 250 trigger-set a-2 1300
350 resume a-1 | 350 resume a-2
460 finish b-1 0 t#9 | 460 finish b-1 1 t#10 | 460 steal-attempt b-1 0
460 finish b-2 0 t#11 | 460 finish b-2 1 t#12 | 460 start b-2 0 t#13 430 | 460 start b-2 1 t#14 430
560 finish a-1 0 t#1 | 560 finish a-1 1 t#2 | 560 finish a-2 0 t#7 | 560 finish a-2 1 t#8
560 start a-1 0 t#3 430 | 560 start a-1 1 t#4 430
560 steal t#6 a-1 a-2 | 560 steal-attempt a-2 1 | 560 start a-2 0 t#6 430
700 hibernate a-1 | 700 hibernate a-2 | 700 trigger-set a-1 1000 | 700 trigger-set a-2 1000
890 finish b-2 0 t#13 | 890 finish b-2 1 t#14 | 890 start b-2 0 t#15 430
930 cycle-end b-1 | 930 steal-attempt b-1 0 | 930 terminate b-1
1000 trigger a-1 | 1000 migrate t#3 a-1 b-2 busy 0.25
1000 launch o-1 a.large on-demand | 1000 migrate t#4 a-1 o-1 new 0.25 | 1000 migrate t#5 a-1 o-1 busy
1000 trigger a-2 | 1000 launch p-1 t.large on-demand | 1000 migrate t#6 a-2 p-1 new 0.25 late
1000 start b-2 1 t#3 320 0.25
1030 ready o-1 | 1030 ready p-1
1030 start o-1 0 t#4 300 0.25 | 1030 start o-1 1 t#5 400 | 1030 start p-1 0 t#6 1500 0.25 baseline
1100 resume a-1 | 1100 resume a-2 | 1100 steal-attempt a-1 0 | 1100 steal-attempt a-2 0
1320 finish b-2 0 t#15 | 1320 finish b-2 1 t#3
1330 finish o-1 0 t#4
1430 finish o-1 1 t#5 | 1430 cycle-end a-1 | 1430 terminate a-1 | 1430 cycle-end a-2 | 1430 terminate a-2
1800 trigger c-1 | 1800 stranded c-1 1
1830 cycle-end b-2 | 1830 terminate b-2
1930 cycle-end o-1 | 1930 terminate o-1
2530 finish p-1 0 t#6
2530 terminate c-1 | 2530 terminate p-1
"""


_PLAN = """
a-1 a.large | t#1 30, t#3 460, t#5 890 | t#2 30, t#4 460, t#6 890
a-2 a.large | t#7 30 | t#8 30
b-1 b.large | t#9 30 | t#10 30
b-2 b.large | t#11 30, t#13 460, t#15 890 | t#12 30, t#14 460
c-1 c.large | t#16 30 |
"""


def _planned(line: str) -> dict[str, Any]:
    """A spot VM of the plan: its name and type, then its cores."""
    head, *cores = line.split("|")
    name, vm_type = head.split()
    tasks = [[entry.split() for entry in core.split(",") if entry.strip()] for core in cores]
    return {
        "vm": name,
        "type": vm_type,
        "market": "spot",
        "cores": [[{"task": task, "start_s": int(start)} for task, start in core] for core in tasks],
    }


def bad_day() -> Trace:
    """The day's trace; task t#16 is never finished, t#6 is late."""
    instance = bad_day_instance()
    events = [_event(words.split()) for line in _DAY.strip().splitlines() for words in line.split("|")]
    types = [("c.large", (100,), ()), ("a.large", (250, 700), (350, 1100))]
    moments = [
        (t, name, kind)
        for name, *both in types
        for kind, ts in zip(("hibernate", "resume"), both, strict=True)
        for t in ts
    ]
    timeline = [{"time_s": t, "type": name, "event": kind} for t, name, kind in sorted(moments)]
    run = {
        "record": "run",
        "policy": "hads",
        "day": 3,
        "plan": [_planned(line) for line in _PLAN.strip().splitlines()],
        "timeline": {"name": "by hand", "events": timeline},
        "billing": {"first_hour_free": False, "hibernated_usd_per_gb_hour": 0.0},
        "hibernation": True,
    }
    # a: 900 s of uptime each, b-1: 900 s, b-2: 1800 s, c-1: 70 s, o-1: 900 s, p-1: 1500 s
    cost = 2 * 900 * 1e-5 + (900 + 1800) * 2e-5 + 70 * 1e-5 + 900 * 3e-5 + 1500 * 2.5e-5
    end = {
        "record": "end",
        "t": 2530,
        "cost_usd": cost,
        "makespan_s": None,
        "finished": 15,
        "late_tasks": 1,
        "unfinished": ["t#16"],
        "hibernations": 5,
        "resumes": 4,
        "on_demand_started": 2,
        "migrations": {"idle": 0, "busy": 2, "new": 2},
        "steal_attempts": 5,
        "steals": 1,
        "tasks_stolen": 1,
        "checkpoints": 38,
        "recoveries": 3,
        "cpu_time_saved_s": 300.0,
    }
    return Trace(instance.to_document(), run, events, end)


def quiet_day() -> Trace:
    """One task on one VM, nothing happens."""
    instance = bad_day_instance().replace(tasks=({"id": "only", "memory_mb": 100, "base_runtime_s": 400},))
    day = """0 launch a-1 a.large spot | 30 ready a-1 | 30 start a-1 0 only 430
             460 finish a-1 0 only | 460 terminate a-1"""
    events = [_event(words.split()) for line in day.splitlines() for words in line.split("|")]
    trace = bad_day()
    none = dict.fromkeys(trace.end, 0) | {"record": "end", "migrations": {"idle": 0, "busy": 0, "new": 0}}
    end = {**none, "t": 460, "cost_usd": 430e-5, "makespan_s": 460, "finished": 1, "unfinished": [], "checkpoints": 3}
    run = {**trace.run, "day": 0, "policy": "static", "timeline": {"name": "quiet", "events": []}}
    run["plan"] = [_planned("a-1 a.large | only 30 |")]
    return Trace(instance.to_document(), run, events, end)


def _event(words: list[str]) -> dict[str, Any]:
    event: dict[str, Any] = {"record": "event", "t": int(words[0]), "event": words[1]}
    kind, rest = words[1], words[2:]
    if kind == "launch":
        return event | dict(zip(("vm", "type", "market"), rest, strict=True))
    if kind in ("start", "finish"):
        event |= {"vm": rest[0], "core": int(rest[1]), "task": rest[2]}
        if kind == "start":
            event |= {"duration_s": int(rest[3])} | ({"saved": float(rest[4])} if len(rest) > 4 else {})
            event |= {"mode": rest[5]} if len(rest) > 5 else {}
        return event
    if kind in ("migrate", "steal"):
        event |= dict(zip(("task", "from", "to", "kind"), rest, strict=False))
        event |= {"saved": float(rest[4]), "recovered": True} if len(rest) > 4 else {}
        return event | ({"late": True, "mode": "baseline"} if "late" in rest else {})
    number = {"trigger-set": "at_s", "steal-attempt": "stolen", "stranded": "tasks"}.get(kind)
    return event | {"vm": rest[0]} | ({number: int(rest[1])} if number else {})
