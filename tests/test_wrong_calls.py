"""Wrong calls of public functions: the error is spotbag's own, or Python's on the number of arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import spotbag

WRONG: tuple[Any, ...] = (None, "x", 5, [], object(), math.nan)
OFFERS = {market: spotbag.Offer(price_usd_per_hour=0.36, limit=4) for market in ("spot", "on-demand")}
BAG = spotbag.Instance(
    name="b",
    deadline_s=900,
    d_spot_s=900,
    vm_types=(spotbag.VmType(name="a", vcpus=2, memory_mb=4000, offers=OFFERS),),
    tasks=[spotbag.Task(id=f"t{k}", memory_mb=800, runtime_s={"a": 100}) for k in range(4)],
)
PLAN = spotbag.Schedule(BAG, [0, 0], [0, 0, 1, 1], [0, 1, 0, 1], [0] * 4, [False] * 4, ("v", "w"))
STATE = spotbag.State.begin(PLAN).advance(10, spotbag.VmReady("v"), spotbag.TaskStarted("t0", "v", 0))
EVENTS = (
    *((kind, 1) for kind in (spotbag.TaskFinished, spotbag.TaskFailed, spotbag.TaskWithdrawn, spotbag.VmRequested)),
    *((kind, 1) for kind in (spotbag.VmReady, spotbag.VmHibernated, spotbag.VmResumed, spotbag.VmEnded, spotbag.Spent)),
    *((kind, 2) for kind in (spotbag.TaskSaved, spotbag.TaskExpected, spotbag.VmExpected, spotbag.VmDraining)),
    *((kind, 2) for kind in (spotbag.VmCredits, spotbag.VmPaid, spotbag.VmPriced)),
    (spotbag.TaskStarted, 3),
)


RIGHT = (
    "VmDraining ['v', None]",
    "VmDraining ['v', 5]",
    "TaskWithdrawn ['x']",
    "TaskExpected ['t0', 5]",
    "Spent [5]",
    *(f"{name} ['v', 5]" for name in ("VmCredits", "VmPaid", "VmPriced")),
)
"""Those of the values that are right there."""


def calls() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield calls with one argument that is wrong, by what they are."""
    for number, wrong in enumerate(WRONG):
        for kind, fields in EVENTS:
            known = ("t0" if kind.__name__.startswith("Task") else "v", "v", 0)
            for place in range(fields):
                values = [wrong if k == place else known[k] for k in range(fields)]
                yield f"{kind.__name__} {values}", lambda k=kind, v=values: STATE.advance(20, k(*v))
        alone = [spotbag.solve, spotbag.pareto_front, spotbag.audit, spotbag.estimate_d_spot, spotbag.replay_day]
        alone += [spotbag.read_instance, spotbag.read_stream, spotbag.read_platform, spotbag.library_instance]
        alone += [spotbag.State.begin, spotbag.State.read, spotbag.State.parse, spotbag.State.from_replay]
        alone += [spotbag.Instance.read, spotbag.Instance.parse, STATE.follow, STATE.remaining, STATE.waiting_ids]
        alone += [STATE.with_credits_of, PLAN.next_tasks]
        for function in alone:
            yield f"{function.__qualname__}({wrong!r})", lambda f=function, v=wrong: f(v)
        of_two: list[tuple[Callable[..., Any], Any]] = [(spotbag.replan, STATE), (spotbag.check, PLAN)]
        of_two += [(spotbag.read_schedule, BAG), (spotbag.Instance.from_document, "x"), (spotbag.export_plan, "out")]
        for function, other in of_two:
            yield f"{function.__qualname__}({wrong!r}, ...)", lambda f=function, v=wrong, o=other: f(v, o)
        if number != 2:
            yield f"planned(plan, {wrong!r})", lambda v=wrong: spotbag.State.planned(PLAN, v)
            yield f"advance({wrong!r})", lambda v=wrong: STATE.advance(v)
        for name in ("vm_types", "tasks", "deadline_s", "limits", "objective", "markets", "name"):
            if not (name == "deadline_s" and number == 2) and not (name == "name" and number == 1):
                yield f"replace({name}={wrong!r})", lambda n=name, v=wrong: BAG.replace(**{n: v})
        if wrong is None:
            continue
        yield f"check(bag, {wrong!r})", lambda v=wrong: spotbag.check(BAG, v)
        yield f"replan(bag, {wrong!r})", lambda v=wrong: spotbag.replan(BAG, v)
        for name in ("start", "stop", "survive", "time_limit_s", "seed", "threads", "method"):
            if number != 2 or name not in ("time_limit_s", "seed", "threads"):
                yield f"replan({name}={wrong!r})", lambda n=name, v=wrong: spotbag.replan(BAG, STATE, **{n: v})
        for name in ("initial", "on_progress", "stop", "goal", "budget_usd", "survive", "method", "near_least"):
            if number != 2 or name not in ("budget_usd", "near_least"):
                yield f"solve({name}={wrong!r})", lambda n=name, v=wrong: spotbag.solve(BAG, **{n: v})
        for name in ("survive", "state", "d_spot_s"):
            if number != 2 or name != "d_spot_s":
                yield f"check({name}={wrong!r})", lambda n=name, v=wrong: spotbag.check(BAG, PLAN, **{n: v})


def test_a_wrong_call_is_refused_by_an_error_of_spotbag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    leaks, accepted, n_calls = [], [], 0
    for name, call in calls():
        n_calls += 1
        try:
            call()
        except spotbag.SpotbagError:
            continue
        except Exception as error:
            leaks.append(f"{name}: {type(error).__name__}: {error}")
        else:
            accepted.append(name)
    assert n_calls > 300
    assert leaks == []
    assert sorted(accepted) == sorted(RIGHT)
