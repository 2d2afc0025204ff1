"""Loading and compiling before there is work: what a service does when it starts."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from ...core.errors import SpotbagError
from ...core.limits import stopped
from ...core.processes import interruptible
from ...heuristics.bags.d_spot import with_d_spot
from ...heuristics.bags.rescue_questions import compile_rescues
from ...instances.entries import SurvivalOption
from ...instances.library import library_instance
from ...models.bags.slack_fleets import SlackFleets
from ...schedules.schedule import Schedule
from ...schedules.state import State
from .goals import cheapest_by
from .methods import METHODS, find_method
from .replan import replan
from .solve import solve

_INSTANCES = ("tiny/two-cores", "tiny/memory-parts-them", "memory/m10")
_BY_SLACK = "hads/J60"
_STATES = ("hads/J60", "memory/m10")
_LITTLE_S, _MOST_KERNELS = 0.02, 6
_MOST_TASKS = 5
_loaded: set[str] = set()
_LITTLE: dict[str, dict[str, Any]] = {"ils": {"max_iteration": 1}, "search": {"moves": 1}}
_STEPS = {"auto": ("auto", "search", "columns", "interval", "patterns", "class-programme", "core-counts")}


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
        compile_rescues()
        names = [*(METHODS if methods is None else methods)]
        for method in names:
            if find_method(method).plugin:
                continue  # what it does with instances that nobody has asked about is not known
            for step in _STEPS.get(find_method(method).name, (method,)):
                if step not in _loaded:
                    _load(step)
                if stopped():  # what was cut short is to be done another time
                    return
                _loaded.add(step)
        if methods is None or "search" in names:
            warm_up_replan()
        gc.collect()
        gc.freeze()  # what is loaded stays: to look through it again and again takes longer than to plan anew


def warm_up_replan() -> None:
    """Load and compile what `replan` needs: with and without a plan, and where memory binds."""
    if "replan" in _loaded:
        return
    for name in _STATES:
        instance = with_d_spot(library_instance(name))
        plan = solve(instance, "greedy", survive="none").schedule
        if stopped():
            return
        assert plan is not None, "the greedy plans them"
        state = State.planned(plan, instance.boot_overhead_s + 1)
        calls: list[tuple[Schedule | None, SurvivalOption]] = [(None, "none"), (plan, "none"), (plan, "one-type")]
        for start, survive in calls:
            for _ in range(_MOST_KERNELS):  # a call whose time is over once a kernel is compiled does not go on
                result = replan(instance, state, time_limit_s=_LITTLE_S, start=start, survive=survive)
                if result.interrupted:
                    return
                if result.runtime_s < 2 * _LITTLE_S:
                    break
    _loaded.add("replan")


def _load(method: str) -> None:
    for name in _INSTANCES:
        instance = library_instance(name)
        with suppress(SpotbagError):  # a method that refuses one of them takes another
            little = instance.replace(tasks=instance.tasks[:_MOST_TASKS])
            solve(little, method, options=_LITTLE.get(method), time_limit_s=10.0)
    if method == "class-programme":  # many classes, where the cost alone counts
        instance = with_d_spot(library_instance(_BY_SLACK))
        SlackFleets(cheapest_by(instance, instance.deadline_s)).cheapest()
