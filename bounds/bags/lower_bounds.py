"""All lower bounds of an instance side by side, each in its own unit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ...core.errors import ModelRefusal
from ...core.limits import share_of_time, within
from ...core.quantities import least_whole_seconds
from ...instances.instance import Instance
from ...models.bags.makespan_bounds import makespan_lower_bound_s
from ...models.bags.task_classes import memory_is_free
from ..programme import Programme
from .configuration_bound import configuration_bound
from .core_pattern_bound import core_pattern_bound
from .divisible_bound import divisible_bound

Unit: TypeAlias = Literal["objective", "$", "s"]


@dataclass(frozen=True, slots=True)
class LowerBound:
    """A proven lower bound.

    Attributes
    ----------
    name : str
        What it is called.
    value : float
        In ``unit``; infinite if it proves that no plan exists.
    unit : {"objective", "$", "s"}
        Of the instance's objective, of the cost, or of the makespan.
    meaning : str
        What it says about all plans.
    runtime_s : float
        Time it took.
    """

    name: str
    value: float
    unit: Unit
    meaning: str
    runtime_s: float


_MEANINGS: dict[str, tuple[Unit, str]] = {
    "divisible bound": ("objective", "no plan has a smaller objective, even if tasks could be cut"),
    "configuration bound": ("objective", "likewise, and only tasks that fit a VM together run together"),
    "core-pattern bound": ("objective", "likewise, and a core runs whole tasks, none of which is cut"),
    "least cost": ("$", "no plan by the deadline costs less, whenever it ends (cost weight 1)"),
    "least makespan": ("s", "no plan ends sooner, whatever it costs (cost weight 0)"),
    "combinatorial makespan": ("s", "no plan ends sooner: its longest tasks, and how many of them share a core"),
}
"""Unit and meaning of each bound."""


def lower_bounds(instance: Instance) -> tuple[LowerBound, ...]:
    """Compute the bounds of the objective, then of the cost alone and of the makespan alone.

    The configuration bound and the core-pattern bound are among them only where the memory of a VM may bind; elsewhere
    the first is the divisible bound, and models of classes of tasks prove more than the second.

    Parameters
    ----------
    instance : Instance
        With D_spot set.

    Notes
    -----
    Each has its part of a limit of time, and is what was proved when that was over.
    """
    Programme()  # HiGHS is loaded before the clock runs

    binds = not memory_is_free(instance)
    cheap, quick = _with_cost_weight(instance, 1.0), _with_cost_weight(instance, 0.0)
    computed: dict[str, Callable[[], float]] = {
        "divisible bound": lambda: divisible_bound(instance).objective,
        "configuration bound": lambda: configuration_bound(instance).objective,
        "core-pattern bound": lambda: _by_core_patterns(instance),
        "least cost": lambda: _strongest(cheap, binds) * instance.cost_scale_usd,
        "least makespan": lambda: least_whole_seconds(_strongest(quick, binds) * instance.makespan_scale_s),
        "combinatorial makespan": lambda: _within_deadline(makespan_lower_bound_s(instance), instance),
    }
    wanted = [name for name in computed if binds or name not in ("configuration bound", "core-pattern bound")]
    bounds = []
    for number, name in enumerate(wanted):
        begin = time.perf_counter()
        with within(share_of_time(1 / (len(wanted) - number))):
            value = computed[name]()
        bounds.append(LowerBound(name, value, *_MEANINGS[name], time.perf_counter() - begin))
    return tuple(bounds)


def _with_cost_weight(instance: Instance, weight: float) -> Instance:
    if instance.goal == "balanced":  # scales that are not given do not depend on the weight
        scales = instance.objective.model_dump(include={"cost_scale_usd", "makespan_scale_s"}, exclude_none=True)
    else:
        scales = {"cost_scale_usd": 1.0, "makespan_scale_s": 1.0}
    return instance.replace(objective={"goal": "balanced", "cost_weight": weight} | scales)


def _strongest(instance: Instance, binds: bool) -> float:
    """The bound of an instance that knows most; the configuration bound is never below the divisible one."""
    return configuration_bound(instance).objective if binds else divisible_bound(instance).objective


def _by_core_patterns(instance: Instance) -> float:
    """The bound by core patterns; the configuration bound where it is not for the bag."""
    configurations = configuration_bound(instance)
    try:
        return core_pattern_bound(instance, configurations)
    except ModelRefusal:
        return configurations.objective


def _within_deadline(value_s: int, instance: Instance) -> float:
    """A makespan that all plans exceed after the deadline is one that no plan has."""
    return math.inf if value_s > instance.deadline_s else float(value_s)
