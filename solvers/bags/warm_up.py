"""Loading and compiling before there is work: what a service does when it starts."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, get_args

from ...core.errors import SpotbagError
from ...core.limits import Stopwatch, stopped
from ...core.processes import interruptible
from ...heuristics.bags.d_spot import with_d_spot
from ...heuristics.bags.first_plans import compile_filling
from ...heuristics.bags.rescue_questions import compile_rescues
from ...instances.entries import Goal, SurvivalOption
from ...instances.instance import Instance
from ...instances.library import library_instance
from ...models.bags.task_classes import MOST_CLASSES
from ...schedules.events import VmEnded
from ...schedules.method import LARGE_TASKS
from ...schedules.schedule import Schedule
from ...schedules.state import State
from .goals import cheapest_by
from .methods import METHODS, find_method
from .replan import replan
from .slack_fleets import SlackFleets
from .solve import solve

_plan = partial(solve, threads=1)  # the same steps each time

_INSTANCES = ("tiny/two-cores", "tiny/memory-parts-them", "memory/m10")
_BY_SLACK, _BY_LATEST_ENDS = "hads/J60", "distinct/200"
_STATES = ("hads/J60", "memory/m10")
_LITTLE_S, _MOST_CALLS = 0.02, 8
_MOST_TASKS = 5
_loaded: set[str] = set()
_LITTLE: dict[str, dict[str, Any]] = {"ils": {"max_iteration": 1}, "search": {"moves": 1}}
_STEPS = {"auto": ("auto", "search", "columns", "interval", "patterns", "class-programme")}


def warm_up(methods: Iterable[str] | None = None) -> None:
    """Load and compile all that methods need, so that the first call of `solve` takes no longer than others.

    With ``search``, or all methods, so does the first call of `replan`.

    Ctrl-C ends it as it ends `solve`.

    Parameters
    ----------
    methods : iterable of str, optional
        Names of methods; all that are built in if absent. Others are loaded, and not run.

    Raises
    ------
    InputError
        If there is no method of a name.
    """
    with interruptible(told=False):
        names = [*(METHODS if methods is None else methods)]
        steps = steps_of(names)
        if methods is None or "search" in names:
            steps["replan"] = _replan_all
        for name, step in steps.items():
            if name in _loaded:
                continue
            step()
            if stopped():  # what was cut short is to be done another time
                return
            _loaded.add(name)
        gc.collect()
        gc.freeze()  # what is loaded stays: to look through it again and again takes longer than to plan anew


def steps_of(methods: Iterable[str]) -> dict[str, Callable[[], None]]:
    """Return the steps that load and compile all that methods need for `solve`, by name."""
    found = [find_method(method) for method in methods]
    built_in = [method.name for method in found if not method.plugin]  # what others do with a bag is not known
    steps: dict[str, Callable[[], None]] = {"certificates": compile_rescues}
    for name in dict.fromkeys(step for method in built_in for step in _STEPS.get(method, (method,))):
        steps[name] = partial(_load, name)
    if "search" in steps:
        steps["bags of many tasks"] = _plan_many
    return steps


def warm_up_replan() -> None:
    """Load and compile what `replan` needs."""
    if "replan" not in _loaded:
        _replan_all()
        if not stopped():
            _loaded.add("replan")


def _replan_all() -> None:
    """Plan anew with and without a plan, before and after the loss of a VM, and where memory binds."""
    for name in _STATES:
        instance = with_d_spot(library_instance(name))
        plan = _plan(instance, "greedy", survive="none").schedule
        if stopped():
            return
        assert plan is not None, "the greedy plans them"
        planned = State.planned(plan, instance.boot_overhead_s + 1)
        lost = planned.advance(planned.time_s + 1, VmEnded(plan.vm_ids[0]))
        asked: list[tuple[State, Schedule | None, SurvivalOption]] = [
            (planned, None, "none"),
            (planned, plan, "none"),
            (planned, plan, "one-type"),
            (lost, plan, "none"),
        ]
        for state, start, survive in asked:
            for _ in range(_MOST_CALLS):  # a call whose time is over once a loop is compiled does not go on
                before_s = Stopwatch.uncounted_s
                result = replan(instance, state, time_limit_s=_LITTLE_S, start=start, survive=survive)
                if result.interrupted:
                    return
                if Stopwatch.uncounted_s == before_s and result.runtime_s < 2 * _LITTLE_S:
                    break


def _load(method: str) -> None:
    """Plan little by a method."""
    for name in _INSTANCES:
        instance = library_instance(name)
        with suppress(SpotbagError):  # a method that refuses one of them takes another
            little = instance.replace(tasks=instance.tasks[:_MOST_TASKS])
            _plan(little, method, options=_LITTLE.get(method), time_limit_s=10.0)
    if method == "search":  # plans that leave time to do again what is lost
        instance = library_instance(_BY_LATEST_ENDS).replace(d_spot_s=None)
        _plan(instance, method, options=_LITTLE[method], goal="cheapest", survive="one-type", time_limit_s=10.0)
    if method == "class-programme":  # many classes, where the cost alone counts
        instance = with_d_spot(library_instance(_BY_SLACK))
        SlackFleets(cheapest_by(instance, instance.deadline_s)).cheapest()


def _plan_many() -> None:
    """Plan as many tasks as it takes for the search to begin in compiled loops."""
    # Of fewer classes, patterns are tried one after the other, which takes longer than all that is compiled.
    n_classes = MOST_CLASSES + 1
    offers = {"spot": {"price_usd_per_hour": 1.0, "limit": 1}, "on-demand": {"price_usd_per_hour": 2.0, "limit": 1}}
    document = {
        "format": "spotbag.instance/1",
        "name": "many tasks",
        "deadline_s": 50_000,
        "d_spot_s": 25_000,
        "vm_types": [{"name": "one", "vcpus": 64, "memory_mb": 1024, "offers": offers}],
        "tasks": [
            {
                "id": f"{longer_s}",
                "memory_mb": 1,
                "base_runtime_s": 60 + longer_s,
                "count": LARGE_TASKS // n_classes + 1,
            }
            for longer_s in range(n_classes)
        ],
    }
    instance = Instance.from_document(document, "many tasks")
    compile_filling()
    for goal in get_args(Goal):
        _plan(instance, "search", options=_LITTLE["search"], goal=goal, survive="none")
    chosen = instance.replace(d_spot_s=None)
    # A certificate that is worked out to its end takes longer than all else.
    _plan(chosen, "search", options=_LITTLE["search"], goal="cheapest", survive="one-type", time_limit_s=0.5)
