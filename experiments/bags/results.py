"""Results of an experiment so far, by instance and method; what differs between two; a method judged cell by cell."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, TypeAlias, get_args

from ...core.errors import input_error
from ...core.quantities import SAME, SAME_COST, relative_gap
from ...core.record_lists import grouped_by
from ...core.statistics import Estimate, estimate
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
        Runs of which time has ended some of the work: made again, they may have other results.
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
    by_instance = grouped_by((row for _, row in read_rows(folder) if not row.policy), lambda row: row.instance)
    return [
        _result(instance, method, mine, rows)
        for instance, rows in by_instance.items()
        for method, mine in grouped_by(rows, lambda row: row.method).items()
    ]


def _result(instance: str, method: str, rows: list[CellRow], of_instance: list[CellRow]) -> RunResult:
    known = {survives: [row.bound_if(survives) for row in of_instance] for survives in (False, True)}
    bounds = {
        survives: max((bound for bound in of if bound is not None), default=-math.inf) for survives, of in known.items()
    }
    least = [bounds[row.survives == "survives"] for row in rows]
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


# ------------------------------------------------------------------------- differences

_PERCENT = 100.0
_Plan: TypeAlias = tuple[str, str, int]
_Days: TypeAlias = tuple[str, str, int, str, str, str, int, int]


@dataclass(frozen=True, slots=True)
class StatusChange:
    """A change of status, and the number of runs that have it."""

    before: str
    after: str
    runs: int


@dataclass(frozen=True, slots=True)
class MethodChange:
    """A method, before and after, on the same instances and seeds.

    Attributes
    ----------
    method : str
        Its name.
    runs : int
        Pairs of runs.
    ended_by_time : int
        Pairs of which time has ended some of the work of one: they may differ though nothing has changed.
    better, same, worse : int
        Pairs in which both have a plan, by the objective.
    objective_percent : Estimate
        Change of the objective; over instances, of each of which the mean over the seeds counts. Below 0 is better.
    bound_percent : Estimate
        The same of the lower bound. Above 0 is better.
    time_percent : Estimate
        The same of the time, by geometric means.
    statuses : tuple of StatusChange
        How often which status became which other.
    """

    method: str
    runs: int
    ended_by_time: int
    better: int
    same: int
    worse: int
    objective_percent: Estimate
    bound_percent: Estimate
    time_percent: Estimate
    statuses: tuple[StatusChange, ...]


@dataclass(frozen=True, slots=True)
class PolicyDifference:
    """A policy, before and after, on the same days.

    Attributes
    ----------
    replayed, policy : str
        Instance, method, scenario and cloud, in words; and the policy.
    days : int
        Pairs of days on which all tasks end.
    cost_usd, cost_before_usd : Estimate
        Difference of the cost, day by day, below 0 is better; and the cost before.
    late_before, late_after : int
        Days that are too late.
    """

    replayed: str
    policy: str
    days: int
    cost_usd: Estimate
    cost_before_usd: Estimate
    late_before: int
    late_after: int


@dataclass(frozen=True, slots=True)
class RunChange:
    """A run that changed; if time has ended some of the work, before or after, that alone may be why."""

    instance: str
    method: str
    seed: int
    before: float
    after: float
    ended_by_time: bool

    @property
    def percent(self) -> float:
        """Change of the objective; below 0 is better."""
        return _PERCENT * (self.after / self.before - 1)


@dataclass(frozen=True, slots=True)
class Differences:
    """Two experiments side by side.

    Attributes
    ----------
    methods, policies : tuple
        What they came to.
    changes : tuple of RunChange
        Runs whose objective changed, the greatest changes first.
    only_before, only_after : int
        Rows that the other does not have.
    settings : tuple of str
        In what the two asked for something else.
    """

    methods: tuple[MethodChange, ...]
    policies: tuple[PolicyDifference, ...]
    changes: tuple[RunChange, ...]
    only_before: int
    only_after: int
    settings: tuple[str, ...]


def compare_experiments(old: str | os.PathLike[str], new: str | os.PathLike[str]) -> Differences:
    """Compare the rows of two experiments that ran the same cells, whatever else they ran.

    Parameters
    ----------
    old, new : path
        Their folders.

    Raises
    ------
    InputError
        If one holds no experiment, or lines that are not rows.
    """
    spec_before, spec_after = read_about(old)["spec"], read_about(new)["spec"]
    (plans_before, days_before), (plans_after, days_after) = _read(old), _read(new)
    methods, changes = _methods(plans_before, plans_after)
    names = sorted(spec_before.keys() | spec_after.keys() - {"description"})
    other = [name for name in names if spec_before.get(name) != spec_after.get(name)]
    return Differences(
        methods=methods,
        policies=_policies(days_before, days_after),
        changes=changes,
        only_before=len(plans_before.keys() - plans_after.keys()) + len(days_before.keys() - days_after.keys()),
        only_after=len(plans_after.keys() - plans_before.keys()) + len(days_after.keys() - days_before.keys()),
        settings=tuple(other),
    )


def _read(folder: str | os.PathLike[str]) -> tuple[dict[_Plan, CellRow], dict[_Days, CellRow]]:
    """Read the rows of plans, and those of their days, by what two experiments have in common of each."""
    plans, days = dict[_Plan, CellRow](), dict[_Days, CellRow]()
    for _, row in read_rows(folder):
        plan = row.instance, row.method, row.seed
        if row.policy:
            days[(*plan, row.scenario, row.cloud, row.policy, row.days_seed, row.first_day)] = row
        else:
            plans[plan] = row
    return plans, days


def _methods(
    before: dict[_Plan, CellRow], after: dict[_Plan, CellRow]
) -> tuple[tuple[MethodChange, ...], tuple[RunChange, ...]]:
    pairs = ((row, after[key]) for key, row in before.items() if key in after)
    found, changes = [], []
    for method, rows in grouped_by(pairs, lambda pair: pair[0].method).items():
        # An objective of 0 has no change in percent.
        both = [(one, two) for one, two in rows if one.objective and two.objective]
        moved = [
            RunChange(one.instance, method, one.seed, one.objective, two.objective, _by_time(one, two))
            for one, two in both
            if one.objective is not None and two.objective is not None and _moved(one.objective, two.objective)
        ]
        changes += moved
        statuses = Counter((one.status, two.status) for one, two in rows if one.status != two.status)
        found.append(
            MethodChange(
                method=method,
                runs=len(rows),
                ended_by_time=sum(_by_time(one, two) for one, two in rows),
                better=sum(change.percent < 0 for change in moved),
                same=len(both) - len(moved),
                worse=sum(change.percent > 0 for change in moved),
                objective_percent=_change(both, lambda row: row.objective),
                bound_percent=_change(rows, lambda row: row.bound),
                time_percent=_times(rows),
                statuses=tuple(StatusChange(*pair, runs) for pair, runs in statuses.most_common()),
            )
        )
    return tuple(found), tuple(sorted(changes, key=lambda change: -abs(change.percent)))


def _by_time(one: CellRow, two: CellRow) -> bool:
    return one.ended_by_time or two.ended_by_time


def _moved(one: float, two: float) -> bool:
    return abs(two - one) > SAME * abs(one)


def _ratios(pairs: Iterable[tuple[CellRow, CellRow]], of: Callable[[CellRow], float | None]) -> dict[str, list[float]]:
    """Logarithms of the ratios of a number, by instance."""
    found: dict[str, list[float]] = {}
    for one, two in pairs:
        old, new = of(one), of(two)
        if old is not None and new is not None and old > 0 and new > 0:
            found.setdefault(one.instance, []).append(math.log(new / old))
    return found


def _change(pairs: Sequence[tuple[CellRow, CellRow]], of: Callable[[CellRow], float | None]) -> Estimate:
    by_instance = _ratios(pairs, of).values()
    return estimate([_PERCENT * math.expm1(math.fsum(each) / len(each)) for each in by_instance])


def _times(pairs: Sequence[tuple[CellRow, CellRow]]) -> Estimate:
    """Return the change of the geometric mean of times; its interval is as wide as that of the logarithms."""
    logs = estimate([math.fsum(each) / len(each) for each in _ratios(pairs, lambda row: row.runtime_s).values()])
    if logs.mean is None:
        return logs
    mean = _PERCENT * math.expm1(logs.mean)
    if logs.half_width is None:
        return Estimate(logs.n, mean, None)
    return Estimate(logs.n, mean, _PERCENT * math.exp(logs.mean) * math.sinh(logs.half_width))


def _policies(before: dict[_Days, CellRow], after: dict[_Days, CellRow]) -> tuple[PolicyDifference, ...]:
    pairs = ((row, after[key]) for key, row in before.items() if key in after)
    found = []
    for (replayed, policy), rows in grouped_by(pairs, lambda pair: (pair[0].replayed, pair[0].policy)).items():
        costs = [
            (one, two)
            for first, second in rows
            for one, two in zip(first.costs_usd, second.costs_usd, strict=False)
            if one is not None and two is not None
        ]
        found.append(
            PolicyDifference(
                replayed=replayed,
                policy=policy,
                days=len(costs),
                cost_usd=estimate([two - one for one, two in costs]),
                cost_before_usd=estimate([one for one, _ in costs]),
                late_before=sum(first.late_days or 0 for first, _ in rows),
                late_after=sum(second.late_days or 0 for _, second in rows),
            )
        )
    return tuple(found)


# ------------------------- a method judged cell by cell


Verdict: TypeAlias = Literal["held", "beaten", "beaten-second", "missed", "no-plan", "impossible"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
LEVELS = (0.001, 0.01, 0.03)
"""Gaps within which plans are counted."""
_MANY, _SOME = 1000, 60


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
