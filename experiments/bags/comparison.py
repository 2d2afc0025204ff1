"""Methods side by side on one or several instances: runs, what they are measured by, and their results.

A run is a row. Rows without a plan are counted, never averaged: a mean is one of the plans that were found.
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from statistics import fmean
from typing import Any, Literal, TypeAlias

from ...core.errors import ModelRefusal, SpotbagError
from ...core.json_documents import format_json
from ...core.limits import stop_point, watched_time
from ...core.quantities import OPTIMALITY_TOLERANCE, closes_gap, relative_gap
from ...core.record_lists import grouped_by
from ...heuristics.bags.d_spot import with_d_spot
from ...instances.bags.best_known import BestKnown
from ...instances.instance import Instance
from ...instances.library import library_instance
from ...schedules.documents import SurvivalVerdict
from ...solvers.bags.result import Result
from ...solvers.bags.solve import solve
from ...solvers.bags.warm_up import warm_up

COMPARISON_FORMAT = "spotbag.comparison/1"

RowStatus: TypeAlias = Literal["optimal", "feasible", "no-plan", "infeasible", "refused", "error"]


@dataclass(frozen=True, slots=True)
class Case:
    """A run that is to be made.

    Attributes
    ----------
    label : str
        What the instance is called in the rows.
    instance : Instance
        The problem.
    method : str
        A name that `spotbag.solve` takes.
    seed : int
        Of the random numbers.
    options : mapping
        Options of the method, by name.
    """

    label: str
    instance: Instance
    method: str
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """Result of one run of a method on an instance.

    Attributes
    ----------
    instance, method, seed
        Of the `Case`.
    status : str
        That of the result; ``refused`` if the method is not valid for the instance; ``error`` if it
        failed.
    objective, cost_usd, makespan_s : number or None
        Of the plan, if there is one.
    bound : float or None
        Proven lower bound of the objective; infinite if the instance is proved infeasible.
    bound_without : float or None
        That of plans that need not survive, where the other is one of plans that do.
    runtime_s : float or None
        Time of solving, without reading the instance and without compiling.
    reason : str
        Why there is no plan.
    interrupted : bool
        Whether the user ended the run.
    survives : {"survives", "does-not-survive", "not-shown"}, optional
        Verdict on what the plan survives, if that is asked for.
    warnings : tuple of str
        Of the result.
    ended_by_time : bool
        Whether a time limit, or a share of one, has ended some of the work: another run may have another result.
    """

    instance: str
    method: str
    seed: int
    status: RowStatus
    objective: float | None = None
    bound: float | None = None
    cost_usd: float | None = None
    makespan_s: int | None = None
    runtime_s: float | None = None
    reason: str = ""
    interrupted: bool = False
    survives: SurvivalVerdict | None = None
    warnings: tuple[str, ...] = ()
    ended_by_time: bool = False
    bound_without: float | None = None

    @property
    def bound_of_all(self) -> float | None:
        """Proven lower bound of all plans, whether they survive or not."""
        return self.bound if self.bound_without is None else self.bound_without


@dataclass(frozen=True, slots=True)
class Reference:
    """Best plan and bound of an instance, from all runs and the best known values: the measure of its plans.

    Attributes
    ----------
    instance : str
        Label of the instance.
    best, best_by : float and str, optional
        Smallest objective, and where it comes from.
    bound, bound_by : float and str, optional
        Largest bound, and where it comes from; infinite if the instance is proved infeasible.
    optimum : float, optional
        The best objective, if the bound proves it.
    contradiction : str
        What is wrong if the bound is above the best objective; empty otherwise.
    """

    instance: str
    best: float | None = None
    best_by: str = ""
    bound: float | None = None
    bound_by: str = ""
    optimum: float | None = None
    contradiction: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """All runs of a method on an instance; means and worst values are of the runs that found a plan.

    Attributes
    ----------
    instance, method : str
        Of the rows.
    runs, plans : int
        How many there are, and how many found a plan.
    statuses : dict of str to int
        How many runs ended how.
    objective_mean, objective_worst, cost_usd_mean, makespan_s_mean : float or None
        Over the seeds.
    bound_gap_mean, bound_gap_worst : float or None
        Relative gap to the best bound.
    optimum_gap_mean, optimum_gap_worst : float or None
        Relative gap to the optimum, if that is proved.
    runtime_s_mean, runtime_s_total : float or None
        Of the runs that the method did not refuse.
    reason : str
        Why a run found no plan.
    survives : dict of str to int
        How many plans have which verdict; see `Row`.
    ended_by_time : int
        Runs of which time has ended some of the work.
    """

    instance: str
    method: str
    runs: int
    plans: int
    statuses: dict[RowStatus, int]
    objective_mean: float | None
    objective_worst: float | None
    cost_usd_mean: float | None
    makespan_s_mean: float | None
    bound_gap_mean: float | None
    bound_gap_worst: float | None
    optimum_gap_mean: float | None
    optimum_gap_worst: float | None
    runtime_s_mean: float | None
    runtime_s_total: float | None
    reason: str
    survives: dict[SurvivalVerdict, int] = field(default_factory=dict)
    ended_by_time: int = 0

    @property
    def always_optimal(self) -> bool:
        """True if every run proved its plan optimal."""
        return self.statuses == {"optimal": self.runs}

    @property
    def gap_mean(self) -> float | None:
        """Mean gap to the optimum, or to the bound if no optimum is proved."""
        return self.bound_gap_mean if self.optimum_gap_mean is None else self.optimum_gap_mean

    @property
    def gap_worst(self) -> float | None:
        """Worst gap to the optimum, or to the bound if no optimum is proved."""
        return self.bound_gap_worst if self.optimum_gap_worst is None else self.optimum_gap_worst


@dataclass(frozen=True, slots=True)
class MethodTotal:
    """A method over all instances.

    Attributes
    ----------
    method : str
        Its name.
    instances, solved, optimal : int
        Instances that it was run on; those it found a plan for; those it proved optimal with every seed.
    gap_mean, gap_worst : float or None
        Gap to the optimum, or to the bound where no optimum is proved, over the instances solved.
    runtime_s : float
        Of all runs together.
    """

    method: str
    instances: int
    solved: int
    optimal: int
    gap_mean: float | None
    gap_worst: float | None
    runtime_s: float


# ---------------------------------------------------------------------------- runs


def run_case(
    case: Case,
    time_limit_s: float | None = None,
    *,
    target_gap: float = 0.0,
    threads: int = 1,
    on_result: Callable[[Result], None] | None = None,
) -> Row:
    """Run a method on a case; an error of the method becomes a row as well.

    Parameters
    ----------
    case : Case
        Which run.
    time_limit_s, target_gap, threads
        See `spotbag.solve`.
    on_result : callable, optional
        Called with the result, if there is one.

    Raises
    ------
    LimitReached
        If it is asked to stop before the run has begun.
    """
    warm_up([case.method])  # it is no part of the time of a run
    of_case = partial(Row, case.label, case.method, case.seed)
    stop_point()
    with watched_time() as clock:
        try:
            result = solve(
                case.instance,
                case.method,
                time_limit_s=time_limit_s,
                seed=case.seed,
                options=case.options,
                target_gap=target_gap,
                threads=threads,
            )
        except SpotbagError as error:  # a refusal may name what a heuristic has come to in time
            status: RowStatus = "refused" if isinstance(error, ModelRefusal) else "error"
            return of_case(status=status, reason=str(error), ended_by_time=clock.ended_work)
    if on_result is not None:
        on_result(result)
    plan = None if result.status == "late" else result.schedule  # what is compared is in time
    return of_case(
        status="no-plan" if result.status == "late" else result.status,
        objective=None if plan is None else result.objective,
        bound=result.bound,
        cost_usd=None if plan is None else plan.cost_usd,
        makespan_s=None if plan is None else plan.makespan_s,
        runtime_s=result.runtime_s,
        reason=result.message,
        interrupted=result.interrupted,
        survives=None if result.survival is None else result.survival.verdict,
        warnings=result.warnings,
        ended_by_time=clock.ended_work,
        bound_without=result.bound_without,
    )


def row_of(values: Mapping[str, Any]) -> Row:
    """Return a run by its row in an experiment; a proof that no plan exists is an infinite bound again."""
    known = {entry.name: values[entry.name] for entry in fields(Row) if entry.name in values}
    if known["status"] == "infeasible":
        known["bound"] = math.inf
    return Row(**known | {"warnings": tuple(known.get("warnings", ()))})


# ---------------------------------------------------------------------------- results of runs


def known_values(instances: Mapping[str, Instance], known: Mapping[str, BestKnown]) -> dict[str, BestKnown]:
    """Best known values, by label, of the instances that are exactly library instances.

    Parameters
    ----------
    instances : mapping
        Instance by its label.
    known : mapping
        Best known values by the name of the library instance.
    """
    return {
        label: known[instance.name]
        for label, instance in instances.items()
        if instance.name in known and same_problem(instance, library_instance(instance.name))
    }


def same_problem(one: Instance, other: Instance) -> bool:
    """True if two instances pose the same problem: with defaults filled in, without descriptions."""
    return _asked(one) == _asked(other)


def _asked(instance: Instance) -> dict[str, Any]:
    resolved = with_d_spot(instance)
    asked = resolved.model_dump(exclude={"name", "description", "provenance", "objective"})
    return asked | {
        "cost_weight": resolved.cost_weight,
        "cost_scale_usd": resolved.cost_scale_usd,
        "makespan_scale_s": resolved.makespan_scale_s,
    }


def make_references(rows: Iterable[Row], known: Mapping[str, BestKnown]) -> dict[str, Reference]:
    """Best objective and best bound of each instance, by label; see `Reference`.

    Parameters
    ----------
    rows : iterable of Row
        All runs.
    known : mapping
        Best known values by label; see `known_values`.
    """
    by_label = grouped_by(rows, lambda row: row.instance)
    return {label: _reference(label, mine, known.get(label)) for label, mine in by_label.items()}


def _reference(label: str, rows: Sequence[Row], entry: BestKnown | None) -> Reference:
    values = [(row.objective, row.method) for row in rows if row.objective is not None]
    bounds = [(row.bound_of_all, row.method) for row in rows if row.bound_of_all is not None]
    if entry is not None:
        values.append((entry.value, "best known"))
        bounds.append((entry.bound, "best known"))
    best, best_by = _first_of_best(values, min)
    bound, bound_by = _first_of_best(bounds, max)
    contradiction, optimum = "", None
    if best is not None and bound is not None:
        # A proof and a plan that contradict each other are a fault of ours, which must not hide in a mean.
        if bound > best + OPTIMALITY_TOLERANCE * abs(best):
            contradiction = (
                f"{label}: the bound {bound:.12g} of {bound_by} is above the plan of {best_by}, {best:.12g}; "
                "one of them is wrong, please report this"
            )
        elif closes_gap(best, bound):
            optimum = best
    return Reference(label, best, best_by, bound, bound_by, optimum, contradiction)


def _first_of_best(
    pairs: Sequence[tuple[float, str]], best_of: Callable[[Iterable[float]], float]
) -> tuple[float | None, str]:
    """The best value, and the first source that gives it, but for rounding: what was run goes before what is known."""
    if not pairs:
        return None, ""
    best = best_of(value for value, _ in pairs)
    # Two methods that find the same plan differ in the last digits: the first one gets the credit.
    noise = 0.0 if math.isinf(best) else OPTIMALITY_TOLERANCE * abs(best)
    return best, next(source for value, source in pairs if value == best or abs(value - best) <= noise)


def summarise(rows: Iterable[Row], references: Mapping[str, Reference]) -> list[Summary]:
    """Collect the runs of each method on each instance, in the order of the rows.

    Parameters
    ----------
    rows : iterable of Row
        All runs.
    references : mapping
        See `make_references`.
    """
    groups = grouped_by(rows, lambda row: (row.instance, row.method))
    return [_summary(mine, references[label]) for (label, _), mine in groups.items()]


def _summary(rows: Sequence[Row], reference: Reference) -> Summary:
    objectives = [row.objective for row in rows if row.objective is not None]
    costs = [row.cost_usd for row in rows if row.cost_usd is not None]
    makespans = [row.makespan_s for row in rows if row.makespan_s is not None]
    times = [row.runtime_s for row in rows if row.runtime_s is not None]
    to_bound = _gaps(objectives, reference.bound)
    to_optimum = _gaps(objectives, reference.optimum)
    return Summary(
        instance=rows[0].instance,
        method=rows[0].method,
        runs=len(rows),
        plans=len(objectives),
        statuses=dict(Counter(row.status for row in rows).most_common()),
        objective_mean=_mean(objectives),
        objective_worst=max(objectives, default=None),
        cost_usd_mean=_mean(costs),
        makespan_s_mean=_mean(makespans),
        bound_gap_mean=_mean(to_bound),
        bound_gap_worst=max(to_bound, default=None),
        optimum_gap_mean=_mean(to_optimum),
        optimum_gap_worst=max(to_optimum, default=None),
        runtime_s_mean=_mean(times),
        runtime_s_total=sum(times) if times else None,
        reason=next((row.reason for row in rows if row.objective is None and row.reason), ""),
        survives=dict(Counter(row.survives for row in rows if row.survives is not None).most_common()),
        ended_by_time=sum(row.ended_by_time for row in rows),
    )


def _gaps(objectives: Sequence[float], reference: float | None) -> list[float]:
    if reference is None or math.isinf(reference):
        return []
    gaps = [relative_gap(objective, reference) for objective in objectives]
    # Below zero by rounding: 0. Below it by more there is a contradiction, which is reported.
    return [0.0 if -OPTIMALITY_TOLERANCE <= gap < 0 else gap for gap in gaps if gap is not None]


def _mean(values: Sequence[float]) -> float | None:
    """Mean, and never outside of the values: the mean of equal ones is the same number."""
    if not values:
        return None
    return min(max(fmean(values), min(values)), max(values))


def total_by_method(summaries: Iterable[Summary]) -> list[MethodTotal]:
    """Add up each method over the instances, in the order of their first appearance."""
    return [_total(method, mine) for method, mine in grouped_by(summaries, lambda summary: summary.method).items()]


def _total(method: str, summaries: Sequence[Summary]) -> MethodTotal:
    means = [summary.gap_mean for summary in summaries if summary.gap_mean is not None]
    worst = [summary.gap_worst for summary in summaries if summary.gap_worst is not None]
    return MethodTotal(
        method=method,
        instances=len(summaries),
        solved=sum(summary.plans > 0 for summary in summaries),
        optimal=sum(summary.always_optimal for summary in summaries),
        gap_mean=_mean(means),
        gap_worst=max(worst, default=None),
        runtime_s=sum(summary.runtime_s_total or 0.0 for summary in summaries),
    )


# ---------------------------------------------------------------------------- files


def as_object(record: Row | Reference | Summary | MethodTotal) -> dict[str, Any]:
    """Return a record as a JSON object; what is not known, or infinite, is null."""
    pairs = asdict(record).items()
    return {name: None if isinstance(value, float) and math.isinf(value) else value for name, value in pairs}


def format_rows_csv(rows: Iterable[Row]) -> str:
    """Return rows as CSV with a heading; what is not known, or infinite, is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Row)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(as_object(row) | {"warnings": "; ".join(row.warnings)} for row in rows)
    return text.getvalue()


def format_rows_json(rows: Iterable[Row], **about: Any) -> str:
    """Return rows as a JSON text, one row to a line.

    Parameters
    ----------
    rows : iterable of Row
        All runs.
    **about
        What else the object says, e.g. the time limit.
    """
    return format_json({"format": COMPARISON_FORMAT, **about, "rows": [as_object(row) for row in rows]})


ROW_FORMATS: dict[str, Callable[..., str]] = {
    ".csv": lambda rows, **_: format_rows_csv(rows),
    ".json": format_rows_json,
}
"""Writers of rows, by the ending of the file."""
