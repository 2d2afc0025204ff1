"""Loading and compiling before there is work: what a service does when it starts."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from ...core.errors import SpotbagError
from ...core.limits import stopped
from ...core.processes import interruptible
from ...heuristics.bags.d_spot import with_d_spot
from ...instances.instance import Instance
from ...instances.library import library_instance
from ...models.bags.slack_fleets import SlackFleets
from ...schedules.state import State
from .goals import cheapest_by
from .methods import METHODS, find_method
from .replan import replan
from .solve import solve

_INSTANCES = ("tiny/two-cores", "tiny/memory-parts-them", "memory/m10")
_BY_SLACK = "hads/J60"
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
    with interruptible():
        for method in METHODS if methods is None else methods:
            if find_method(method).plugin:
                continue  # what it does with instances that nobody has asked about is not known
            for step in _STEPS.get(find_method(method).name, (method,)):
                if step not in _loaded:
                    _load(step)
                if stopped():  # what was cut short is to be done another time
                    return
                _loaded.add(step)


def _load(method: str) -> None:
    for name in _INSTANCES:
        instance = library_instance(name)
        with suppress(SpotbagError):  # a method that refuses one of them takes another
            little = instance.replace(tasks=instance.tasks[:_MOST_TASKS])
            solve(little, method, options=_LITTLE.get(method), time_limit_s=10.0)
            if method == "search":
                _replan(little)
    if method == "class-programme":  # more than three classes, where the cost alone counts
        instance = with_d_spot(library_instance(_BY_SLACK))
        SlackFleets(cheapest_by(instance, instance.deadline_s)).cheapest()


def _replan(instance: Instance) -> None:
    """Plan again once, from a state in which a task runs."""
    plan = solve(instance, "greedy", survive="none").schedule
    if plan is not None:
        state = State.planned(plan, int(plan.task_start_s.min()) + 1)
        replan(instance, state, time_limit_s=0.1, start=plan)
