"""A cell of an experiment: what defines it, and the row that it comes to."""

from __future__ import annotations

import functools
import hashlib
import json
import platform
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ....core.errors import SpotbagError
from ....core.limits import LimitReached
from ....core.processes import usable_cores
from ....heuristics.bags.d_spot import with_d_spot
from ....instances.bags.generator import generate_instance
from ....instances.bags.scenarios import find_scenario
from ....instances.instance import Instance
from ....instances.library import library_instance
from ....replay.bags.policies import KIND
from ....replay.bags.runs import chosen_cloud, outcomes_of, replay_days
from ....schedules.schedule import Schedule
from ....schedules.schedule_files import format_schedule, parse_schedule_document, schedule_of_document
from ..comparison import Case, as_object, run_planned
from .rows import CLAIRVOYANT, VERSION

_KEPT = 4
_LEAST_VMS = 1
_MANY_REPLAYS = 10**9
_KB_A_MB = 1024


def _key(identity: Mapping[str, Any]) -> str:
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Where an instance comes from: it is made where, and when, it is needed.

    Attributes
    ----------
    label : str
        What it is called in the rows; with nothing else, its name in the library.
    text : str, optional
        The file's.
    parameters : mapping, optional
        Of the generator.
    """

    label: str
    text: str | None = None
    parameters: Mapping[str, Any] | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """What defines it."""
        if self.text is not None:
            return {"instance": self.label, "digest": hashlib.blake2b(self.text.encode(), digest_size=8).hexdigest()}
        return {"instance": self.label} | ({} if self.parameters is None else {"parameters": dict(self.parameters)})

    def instance(self) -> Instance:
        """Make it, or return the one that was made not long ago."""
        return _made(self.label, self.text, None if self.parameters is None else json.dumps(dict(self.parameters)))


@functools.lru_cache(maxsize=_KEPT)
def _made(label: str, text: str | None, parameters: str | None) -> Instance:
    if text is not None:
        return Instance.parse(text, label)
    if parameters is None:
        return library_instance(label)
    given = json.loads(parameters)
    per_vm, weight = given.pop("tasks_per_vm", None), given.pop("cost_weight", None)
    if per_vm is not None:
        given["limit"] = max(round(given["n_tasks"] / per_vm), _LEAST_VMS)
    made = generate_instance(**given, name=label.replace("/", "-"))
    if weight is not None:
        made = made.replace(objective=made.objective.model_copy(update={"cost_weight": weight}))
    return made


@dataclass(frozen=True, slots=True, eq=False)
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
    time_limit_s: float
    target_gap: float
    threads: int
    options: tuple[tuple[str, Any], ...]
    keeps_plan: bool

    @property
    def settings(self) -> dict[str, Any]:
        """What is asked of the method."""
        return {
            "time_limit_s": self.time_limit_s,
            "target_gap": self.target_gap,
            "threads": self.threads,
            "options": dict(self.options),
        }

    @property
    def key(self) -> str:
        """What its row is found by: the same for the same run."""
        return _key({**self.source.identity, "method": self.method, "seed": self.seed, **self.settings})

    @property
    def kind(self) -> str:
        """Cells of a kind take about the same time."""
        return self.method

    @property
    def name(self) -> str:
        """What it is called on a terminal."""
        return f"{self.source.label} by {self.method}"

    def run(self) -> Finished | None:
        """Make the run; None if it was interrupted."""
        start = time.perf_counter()
        plan, n_tasks = None, None
        _forget_peak()
        try:
            instance = self.source.instance()
            n_tasks = instance.n_tasks
            case = Case(self.source.label, instance, self.method, self.seed, dict(self.options))
            row, result = run_planned(case, self.time_limit_s, target_gap=self.target_gap, threads=self.threads)
            if row.interrupted:
                return None
            values = as_object(row)
            if self.keeps_plan and result is not None and result.schedule is not None:
                plan = format_schedule(result.schedule, result.method, result.survival)
        except LimitReached:
            return None
        except Exception as error:  # whatever goes wrong is a row: the others go on
            values = {"instance": self.source.label, "method": self.method, "seed": self.seed}
            values |= {"status": "error", "reason": _reason(error)}
        values.pop("interrupted", None)
        parameters = {} if self.source.parameters is None else {"parameters": dict(self.source.parameters)}
        taken = {"n_tasks": n_tasks, "cell_s": round(time.perf_counter() - start, 6), "peak_memory_mb": _peak_mb()}
        return Finished(
            self.key, {"cell": self.key, **values, **self.settings, **parameters, **taken, **_where()}, plan
        )


@dataclass(frozen=True, slots=True, eq=False)
class DaysCell:
    """Some days of a plan under a policy.

    Attributes
    ----------
    plan : PlanCell
        What makes the plan.
    scenario, cloud, policy : str
        As for ``spotbag replay``; without a cloud, it is that of the scenario or of the instance.
    seed, first_day, n_days : int
        Of the days, and which of them.
    """

    plan: PlanCell
    scenario: str
    cloud: str
    policy: str
    seed: int
    first_day: int
    n_days: int

    @property
    def key(self) -> str:
        """What its row is found by."""
        return _key({"plan": self.plan.key, **self._asked})

    @property
    def _asked(self) -> dict[str, Any]:
        asked = {"scenario": self.scenario, "policy": self.policy, "cloud": self.cloud}
        return asked | {"days_seed": self.seed, "first_day": self.first_day, "n_days": self.n_days}

    @property
    def kind(self) -> str:
        """Cells of a kind take about the same time."""
        return f"{self.plan.source.label} {self.policy}"

    @property
    def name(self) -> str:
        """What it is called on a terminal."""
        return f"{self.plan.name} under {self.policy}"

    def run(self, plan: str | None) -> Finished | None:
        """Replay the days of a plan, the text of a document; None if it was interrupted."""
        start = time.perf_counter()
        about = {
            "cell": self.key,
            "instance": self.plan.source.label,
            "method": self.plan.method,
            "seed": self.plan.seed,
        }
        try:
            values = {"status": "no-plan", "reason": "there is no plan to replay"}
            if plan is not None:
                days = self._days(_planned(self.plan.source, plan))
                if days is None:
                    return None
                values = days
        except LimitReached:
            return None
        except Exception as error:  # whatever goes wrong is a row: the others go on
            values = {"status": "error", "reason": _reason(error)}
        seconds = round(time.perf_counter() - start, 6)
        return Finished(self.key, {**about, **self._asked, **values, "cell_s": seconds, **_where()}, None)

    def compile(self, plan: str) -> None:
        """Compile the loops of replays, for cells that are each too short for that; policies without any need none."""
        schedule = _planned(self.plan.source, plan)
        scenario = find_scenario(self.scenario)
        cloud = chosen_cloud(self.cloud or None, schedule.instance, scenario)
        [make] = KIND.several([self.policy], 0)
        for _ in outcomes_of(schedule, make, scenario, range(1), self.seed, cloud, planned=_MANY_REPLAYS):
            pass

    def _days(self, schedule: Schedule) -> dict[str, Any] | None:
        bounds = self.policy == CLAIRVOYANT
        start = time.perf_counter()
        days = replay_days(
            schedule,
            [] if bounds else [self.policy],
            find_scenario(self.scenario),
            self.n_days,
            first_day=self.first_day,
            seed=self.seed,
            cloud=self.cloud or None,
            bounds=bounds,
        )
        if days.interrupted:
            return None
        outcomes = () if bounds else days.outcomes[0]
        costs = list(days.bounds_usd) if bounds else [_cost_if_done(day.cost_usd, day.makespan_s) for day in outcomes]
        makespans = [None] * len(costs) if bounds else [day.makespan_s for day in outcomes]
        return {
            "status": "replayed",
            "deadline_s": schedule.instance.deadline_s,
            "late_days": None if bounds else sum(not day.meets_deadline for day in outcomes),
            "runtime_s": round(time.perf_counter() - start, 6),
            "cost_usd": [None if cost is None else round(cost, 9) for cost in costs],
            "makespan_s": makespans,
        }


@dataclass(frozen=True, slots=True)
class Finished:
    """A cell that is done: its key, its row, and its plan if that is to be replayed."""

    key: str
    row: dict[str, Any]
    plan: str | None


def _cost_if_done(cost: float, makespan: float | None) -> float | None:
    """Return the cost of a day; none where tasks are left unfinished."""
    return None if makespan is None else cost


@functools.lru_cache(maxsize=_KEPT)
def _planned(source: Source, plan: str) -> Schedule:
    document = parse_schedule_document(plan)
    instance = with_d_spot(source.instance(), made_for_s=document.d_spot_s)
    return schedule_of_document(document, instance)


def _reason(error: Exception) -> str:
    if isinstance(error, SpotbagError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def _forget_peak() -> None:
    """Have Linux measure the most memory of this process from now on; elsewhere it is not measured."""
    with suppress(OSError), open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def _peak_mb() -> float | None:
    """Return the most memory that this process has had since `_forget_peak`."""
    with suppress(OSError), open("/proc/self/status", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / _KB_A_MB, 1)
    return None


@functools.cache
def _where() -> dict[str, str]:
    """Return with what, and on what kind of machine, cells are run; no name of a host."""
    about = f"{platform.system()} {platform.machine()}, {usable_cores()} cores, Python {platform.python_version()}"
    return {"version": VERSION, "machine": about}
