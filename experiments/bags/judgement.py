"""A method judged cell by cell: how far it is from the best bound, and whether another method has a better plan."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from ...core.errors import input_error
from ...core.quantities import SAME_COST, relative_gap
from ...core.record_lists import grouped_by
from .rows import CellRow, read_about, read_rows

Verdict: TypeAlias = Literal["held", "beaten", "beaten-second", "missed", "no-plan", "impossible"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
LEVELS = (0.001, 0.01, 0.03)
"""Gaps within which plans are counted."""
_MANY, _SOME = 1000, 60
_PERCENT = 100.0


@dataclass(frozen=True, slots=True)
class JudgedCell:
    """A run of the method, and the best plan of the others that meets the same demand.

    Attributes
    ----------
    instance, seed : str and int
        Of the run.
    drawn : dict
        Axis to value, if the instance was drawn.
    group : str
        For which gaps are summed up.
    verdict : str
        ``held``: no other plan is better. ``beaten``: one is, ``beaten-second``: in the second quantity of the goal,
        at the same first. ``missed``: there is no plan, though another method has one. ``no-plan``: no method has one.
        ``impossible``: that there is none is proved.
    cost_usd, makespan_s, gap, runtime_s : number or None
        Of the plan; the gap is to the best bound of all runs on the instance.
    baseline : str
        The other method with the best plan, if there is one.
    baseline_percent : float or None
        By how many percent of the plan's value that plan is better; below 0 if it is worse. Where they are equal in the
        first quantity, of the second.
    better_bound : str
        The other method with the best bound, if that is better.
    reason : str
        Why there is no plan.
    """

    instance: str
    seed: int
    drawn: dict[str, str]
    group: str
    verdict: Verdict
    cost_usd: float | None
    makespan_s: int | None
    gap: float | None
    runtime_s: float | None
    baseline: str
    baseline_percent: float | None
    better_bound: str
    reason: str

    @property
    def wanted_gap(self) -> float:
        """Gap for the group to reach."""
        return GROUPS[self.group]

    @property
    def wanting(self) -> bool:
        """True if another plan is better, or the gap too wide."""
        far = self.gap is not None and self.gap > self.wanted_gap
        return far or self.verdict in ("beaten", "beaten-second", "missed", "no-plan")

    @property
    def worst_first(self) -> tuple[bool, float]:
        """Order of cells: without a plan first, then by what is wanting of bound or other plan."""
        lost = max(self.baseline_percent or 0.0, 0.0) / _PERCENT
        return self.makespan_s is not None, -max(lost, (self.gap or 0.0) - self.wanted_gap)

    @property
    def short_name(self) -> str:
        """Name without those of the axes."""
        return " ".join([*self.instance.split(",")[:2], *self.drawn.values()]) if self.drawn else self.instance


GROUPS = {
    "memory never binds, 1,000 tasks or more": 0.001,
    "others from 60 tasks on": 0.01,
    "fewer than 60 tasks": 0.03,
}
"""Cells whose gaps are summed up together, and the gap that is wanted of them."""


@dataclass(frozen=True, slots=True)
class GroupGaps:
    """Gaps of the cells of a group.

    Attributes
    ----------
    group : str
        Which; see `GROUPS`.
    wanted : float
        Gap that is wanted.
    cells, plans : int
        Cells, but for those that are proved to have no plan; and those with a plan.
    within : tuple of int
        Plans within each of `LEVELS`.
    mean, worst : float or None
        Gaps.
    """

    group: str
    wanted: float
    cells: int
    plans: int
    within: tuple[int, ...]
    mean: float | None
    worst: float | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """Results of a method beside those of others.

    Attributes
    ----------
    method : str
        That is judged.
    cells : tuple of JudgedCell
        Those that have been run by it, in their order.
    verdicts : dict
        Verdict to number of cells.
    groups : tuple of GroupGaps
        Gaps by groups.
    """

    method: str
    cells: tuple[JudgedCell, ...]
    verdicts: dict[Verdict, int]
    groups: tuple[GroupGaps, ...]


def judge_experiment(folder: str | os.PathLike[str], method: str | None = None) -> Judgement:
    """Judge a method by the rows of an experiment: the others are its baselines.

    Parameters
    ----------
    folder : path
        Of the experiment; it may still be running.
    method : str, optional
        The first one of the experiment if absent.

    Raises
    ------
    InputError
        If the folder holds no experiment, or lines that are not rows; if the method is none of it.
    """
    methods = read_about(folder)["spec"].get("methods", [])
    chosen = method if method is not None else next(iter(methods), "")
    if chosen not in methods:
        raise input_error("method", f"{chosen!r} is none of the experiment, which has {', '.join(methods) or 'none'}")
    by_instance = grouped_by((row for _, row in read_rows(folder) if not row.policy), lambda row: row.instance)
    cells = [_judged(row, rows) for rows in by_instance.values() for row in rows if row.method == chosen]
    counted = Counter(cell.verdict for cell in cells)
    verdicts = {verdict: counted[verdict] for verdict in VERDICTS}
    groups = tuple(_gaps(group, cells) for group in GROUPS)
    return Judgement(chosen, tuple(cells), verdicts, groups)


def _judged(row: CellRow, rows: Sequence[CellRow]) -> JudgedCell:
    # A cheaper plan that does not survive is no better answer to a demand that asks for survival.
    others = [other for other in rows if other.method != row.method and _counts(other, row)]
    best = min(others, key=_quantities, default=None)
    verdict, percent = _verdict(row, best, rows)
    known = [(other.bound_if(row.survives == "survives"), other.method) for other in rows]
    bounds = [(bound, method) for bound, method in known if bound is not None]
    bound, bound_by = max(bounds, key=lambda pair: pair[0], default=(None, ""))
    # A bound of another method that is higher shows what the own one has missed.
    own = row.bound if row.bound is not None else -math.inf
    return JudgedCell(
        instance=row.instance,
        seed=row.seed,
        drawn=row.drawn,
        group=_group(row),
        verdict=verdict,
        cost_usd=row.costs_usd[0],
        makespan_s=row.makespans_s[0],
        gap=relative_gap(row.objective, bound),
        runtime_s=row.runtime_s,
        baseline="" if best is None else best.method,
        baseline_percent=percent,
        better_bound=bound_by if bound is not None and bound - own > SAME_COST * abs(bound) else "",
        reason=row.reason,
    )


def _quantities(row: CellRow) -> tuple[float, float]:
    """Return the first and second quantity of the goal: infinite without a plan."""
    cost_usd, makespan_s = row.costs_usd[0], row.makespans_s[0]
    if row.objective is None or cost_usd is None or makespan_s is None:
        return math.inf, math.inf
    return row.objective, {"cheapest": float(makespan_s), "fastest": cost_usd}.get(row.goal, 0.0)


def _counts(other: CellRow, row: CellRow) -> bool:
    """True if a plan meets the demand on another plan: it survives, where that was asked for or reached."""
    if other.objective is None:
        return False
    asked = row.survive not in (None, "none") or (row.survive is None and row.survives == "survives")
    return not asked or other.survives == "survives"


def _verdict(row: CellRow, best: CellRow | None, rows: Sequence[CellRow]) -> tuple[Verdict, float | None]:
    """Return the verdict, and by how many percent the best of the other plans is better."""
    if row.objective is None:
        if best is not None:
            return "missed", None
        # Proved by any method, it is true for all.
        return "impossible" if any(other.status == "infeasible" for other in rows) else "no-plan", None
    if best is None:
        return "held", None
    verdicts: tuple[Verdict, Verdict] = "beaten", "beaten-second"
    for verdict, mine, its in zip(verdicts, _quantities(row), _quantities(best), strict=True):
        if abs(mine - its) > SAME_COST * abs(mine):
            return verdict if its < mine else "held", _PERCENT * (1 - its / mine)
    return "held", 0.0


def _group(row: CellRow) -> str:
    """Return the group of `GROUPS` that an instance belongs to."""
    large, others, small = GROUPS
    n_tasks = row.n_tasks or 0
    if n_tasks >= _MANY and not row.memory_binds:
        return large
    return others if n_tasks >= _SOME else small


def _gaps(group: str, cells: Sequence[JudgedCell]) -> GroupGaps:
    mine = [cell for cell in cells if cell.group == group and cell.verdict != "impossible"]
    gaps = [cell.gap for cell in mine if cell.gap is not None]
    within = tuple(sum(gap <= level for gap in gaps) for level in LEVELS)
    mean = math.fsum(gaps) / len(gaps) if gaps else None
    return GroupGaps(group, GROUPS[group], len(mine), len(gaps), within, mean, max(gaps, default=None))
