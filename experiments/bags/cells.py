"""A cell of an experiment: what defines it, and the row that it yields."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import platform
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...bounds.bags.divisible_bound import divisible_bound
from ...core.errors import InputError, Issue, SpotbagError
from ...core.limits import LimitReached
from ...core.plugins import Registry, Unusable
from ...core.processes import usable_cores
from ...core.quantities import KB_PER_MB
from ...heuristics.bags.d_spot import with_d_spot
from ...instances.bags.generator import generate_instance
from ...instances.entries import SurvivalOption
from ...instances.instance import Instance
from ...instances.library import library_instance
from ...schedules.schedule_files import format_schedule
from ...solvers.bags.result import Result
from . import comparison
from .comparison import Case, as_object
from .rows import VERSION

KEPT = 4
"""Instances, and plans, that a process keeps for the next cell."""
_LEAST_VMS = 1
_GENERATORS = Registry("generator", "spotbag.generators")


def key_of(identity: Mapping[str, Any]) -> str:
    """Return the key of what is defined so."""
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Origin of an instance, which is made where, and when, it is needed.

    Attributes
    ----------
    label : str
        What it is called in the rows; with nothing else, its name in the library.
    text : str, optional
        The file's.
    parameters : mapping, optional
        Of the generator.
    drawn : mapping
        Axis to value, if it is a cell that was drawn.
    settings : mapping
        Of its runs, in place of those of the experiment.
    """

    label: str
    text: str | None = None
    parameters: Mapping[str, Any] | None = None
    drawn: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> dict[str, Any]:
        """Definition of the source: label with digest of the text, or with parameters."""
        if self.text is not None:
            return {"instance": self.label, "digest": _digest(self.text)}
        return {"instance": self.label} | ({} if self.parameters is None else {"parameters": dict(self.parameters)})

    @property
    def made_of(self) -> tuple[str, str | None, str | None]:
        """Label, text and parameters of the source, by which a process finds an instance made before."""
        return self.label, self.text, None if self.parameters is None else json.dumps(dict(self.parameters))

    def instance(self) -> Instance:
        """Make the instance, or return the one made before."""
        return instance_made_of(*self.made_of)


@functools.lru_cache(maxsize=KEPT)
def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@functools.lru_cache(maxsize=KEPT)
def instance_made_of(label: str, text: str | None, parameters: str | None) -> Instance:
    """Make an instance; see `Source`."""
    if text is not None:
        return Instance.parse(text, label)
    if parameters is None:
        return library_instance(label)
    given = json.loads(parameters)
    return generator_of(given.pop("generator", None))(**given, name=label.replace("/", "-"))


def generator_of(name: str | None) -> Callable[..., Instance]:
    """Return the generator of instances: ``module:attribute``, or `family_instance` without a name.

    Raises
    ------
    InputError
        If there is no such function.
    """
    if name is None:
        return family_instance
    try:
        found = _GENERATORS.find(name)
    except Unusable as reason:
        raise InputError("generator", [Issue("", reason.rule, value=name)]) from reason.__cause__
    if found is None or not callable(found.what):
        raise InputError("generator", [Issue("", "must be module:function, such as my_bags:generate", value=name)])
    made: Callable[..., Instance] = found.what
    return made


def family_instance(
    *,
    tasks_per_vm: float | None = None,
    cost_weight: float | None = None,
    budget_factor: float | None = None,
    survive: SurvivalOption | None = None,
    **given: Any,
) -> Instance:
    """Generate an instance by `spotbag.generate_instance`, and what families say beside it."""
    if tasks_per_vm is not None:
        given["limit"] = max(round(given["n_tasks"] / tasks_per_vm), _LEAST_VMS)
    # Both together say how much can be rented: the limit of VMs is what follows.
    elif "deadline_s" in given and "tightness" in given:
        given.setdefault("limit", None)
    # Budgets and weights follow from the bag, which must be there first.
    made = generate_instance(**given)
    if cost_weight is not None:
        made = made.replace(objective=made.objective.model_copy(update={"cost_weight": cost_weight}))
    if survive is not None:
        made = made.replace(survive=survive)
    return made if budget_factor is None else _with_budget(made, budget_factor)


def _with_budget(instance: Instance, factor: float) -> Instance:
    """Return an instance with a multiple of the divisible bound of the cost as its budget; none without any plan."""
    least_usd = divisible_bound(with_d_spot(instance.with_goal("cheapest", None))).objective
    return instance if math.isinf(least_usd) else instance.with_goal("fastest", factor * least_usd)


@dataclass(frozen=True, eq=False)
class PlanCell:
    """A run of a method on an instance.

    Attributes
    ----------
    source : Source
        The instance.
    method, seed, time_limit_s, target_gap, threads
        See `spotbag.solve`.
    options : tuple of (str, value)
        Of the method.
    keeps_plan : bool
        Whether the plan is to be replayed.
    """

    source: Source
    method: str
    seed: int
    time_limit_s: float | None
    target_gap: float
    threads: int
    options: tuple[tuple[str, Any], ...]
    keeps_plan: bool
    plan_key: ClassVar[str] = ""
    """Key of the plan that it is about: none."""

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the method."""
        return {
            "time_limit_s": self.time_limit_s,
            "target_gap": self.target_gap,
            "threads": self.threads,
            "options": dict(self.options),
        }

    @functools.cached_property
    def key(self) -> str:
        """Key of the cell's row: equal for equal runs."""
        return key_of({**self.source.identity, "method": self.method, "seed": self.seed, **self.settings})

    @property
    def cells(self) -> tuple[PlanCell, ...]:
        """Cells of this unit of work: the cell alone."""
        return (self,)

    @property
    def kind(self) -> str:
        """Cells of a kind take about the same time."""
        return self.method

    @property
    def name(self) -> str:
        """Name of the cell on a terminal."""
        return f"{self.source.label} by {self.method}"

    def run(self, plan: str | None = None) -> list[Finished]:
        """Make the run. One that was cut short says so in its row; there is none if it had not begun."""
        start = time.perf_counter()
        results: list[Result] = []
        text, about_bag = None, {"n_tasks": None}
        # Else it would be that of the largest cell before.
        _forget_peak()
        try:
            instance = self.source.instance()
            about_bag = _about(instance)
            case = Case(self.source.label, instance, self.method, self.seed, dict(self.options))
            row = comparison.run_case(
                case,
                time_limit_s=self.time_limit_s,
                target_gap=self.target_gap,
                threads=self.threads,
                on_result=results.append,
            )
            values = as_object(row)
            if self.keeps_plan and results and results[0].schedule is not None:
                # Plans are kept only where days are to be replayed: thousands would fill a disk.
                text = format_schedule(results[0].schedule, results[0].method, results[0].survival)
        except LimitReached:
            return []
        except Exception as error:  # whatever goes wrong is a row: the others go on
            values = {"instance": self.source.label, "method": self.method, "seed": self.seed}
            values |= {"status": "error", "reason": reason_of(error)}
        # Only rows that were cut short say so: files of before have no such field.
        if not values.get("interrupted"):
            values.pop("interrupted", None)
        parameters = {} if self.source.parameters is None else {"parameters": dict(self.source.parameters)}
        drawn = {"drawn": dict(self.source.drawn)} if self.source.drawn else {}
        taken = {"cell_s": round(time.perf_counter() - start, 6), "peak_memory_mb": _peak_mb()}
        about = {**values, **self.settings, **parameters, **drawn, **about_bag, **taken, **where()}
        return [Finished(self.key, self.name, {"cell": self.key, **about}, text)]


@dataclass(frozen=True, slots=True)
class Finished:
    """A cell that is done: its key, its name, its row, and its plan if that is to be replayed."""

    key: str
    name: str
    row: dict[str, Any]
    plan: str | None


def reason_of(error: Exception) -> str:
    """Reason of a failure, for a row."""
    if isinstance(error, SpotbagError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def _about(instance: Instance) -> dict[str, Any]:
    """Return properties of an instance by which plans are judged."""
    binds = not all(instance.memory_never_binds)
    return {"n_tasks": instance.n_tasks, "goal": instance.goal, "memory_binds": binds, "survive": instance.survive}


def _forget_peak() -> None:
    """Have Linux measure the most memory of this process from now on; elsewhere it is not measured."""
    with suppress(OSError), open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def _peak_mb() -> float | None:
    """Return the most memory that this process has had since `_forget_peak`."""
    with suppress(OSError), open("/proc/self/status", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / KB_PER_MB, 1)
    return None


@functools.cache
def where() -> dict[str, str]:
    """Return with what, and on what kind of machine, cells are run; no name of a host."""
    about = f"{platform.system()} {platform.machine()}, {usable_cores()} cores, Python {platform.python_version()}"
    return {"version": VERSION, "machine": about}
