"""Results of an experiment so far: objective, gap, time and memory, by instance and method."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean

from ...core.quantities import relative_gap
from .rows import CellRow, read_about, read_rows


@dataclass(frozen=True, slots=True)
class RunResult:
    """The runs of a method on an instance.

    Attributes
    ----------
    instance, method : str
        Of the runs.
    n_tasks : int or None
        Of the instance, if it could be made.
    runs, plans : int
        How many runs there are, and how many found a plan.
    status : str
        Of the first run.
    objective : float or None
        Mean over the plans.
    gap : float or None
        Mean gap of the plans to the best bound of all runs on the instance, relative to the plan; of a plan that
        survives, to the best bound of such plans.
    runtime_s, peak_memory_mb : float or None
        Means over the runs; the memory is the most that the process had.
    ended_by_time : int
        Runs of which time has ended some of the work: made again, they may come to something else.
    """

    instance: str
    method: str
    n_tasks: int | None
    runs: int
    plans: int
    status: str
    objective: float | None
    gap: float | None
    runtime_s: float | None
    peak_memory_mb: float | None
    ended_by_time: int


def experiment_results(folder: str | os.PathLike[str]) -> list[RunResult]:
    """Return the results of the runs of an experiment, in their order.

    Parameters
    ----------
    folder : path
        Of the experiment; it may still be running.

    Raises
    ------
    InputError
        If it holds no experiment, or lines that are not rows.
    """
    read_about(folder)
    groups: dict[tuple[str, str], list[CellRow]] = {}
    bounds: dict[tuple[str, bool], float] = {}
    order: dict[str, None] = {}
    for _, row in read_rows(folder):
        if row.policy:
            continue
        groups.setdefault((row.instance, row.method), []).append(row)
        order.setdefault(row.instance)
        for survives in (False, True):
            bound, key = row.bound_if(survives), (row.instance, survives)
            bounds[key] = max(bounds.get(key, -math.inf), -math.inf if bound is None else bound)
    places = {instance: place for place, instance in enumerate(order)}
    ordered = sorted(groups.items(), key=lambda item: places[item[0][0]])
    return [_result(instance, method, rows, bounds) for (instance, method), rows in ordered]


def _result(instance: str, method: str, rows: list[CellRow], bounds: Mapping[tuple[str, bool], float]) -> RunResult:
    least = [bounds[instance, row.survives == "survives"] for row in rows]
    objectives = [row.objective for row in rows if row.objective is not None]
    return RunResult(
        instance=instance,
        method=method,
        n_tasks=rows[0].n_tasks,
        runs=len(rows),
        plans=len(objectives),
        status=rows[0].status,
        objective=_mean(objectives),
        gap=_mean(
            relative_gap(row.objective, bound) for row, bound in zip(rows, least, strict=True) if math.isfinite(bound)
        ),
        runtime_s=_mean([row.runtime_s for row in rows]),
        peak_memory_mb=_mean([row.peak_memory_mb for row in rows]),
        ended_by_time=sum(row.ended_by_time for row in rows),
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
