"""The front of cost and makespan: every plan that no other beats in both, each proven or marked as not proven."""

from __future__ import annotations

import math
import time
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from ...audits.bags.plan import check
from ...core.errors import InputError, Issue, ModelRefusal, SpotbagError
from ...core.limits import LimitReached, Stop, stopped, within
from ...core.processes import default_threads, interruptible
from ...core.quantities import SAME_COST, least_whole_seconds
from ...heuristics.bags.d_spot import d_spot_warning, with_d_spot
from ...instances.instance import Instance
from ...models.bags.makespan_bounds import makespan_lower_bound_s
from ...models.bags.task_classes import offers_of_vms
from ...schedules.lateness import require_in_time
from ...schedules.schedule import Schedule
from ...schedules.timing import require_no_dates
from .budget import BUDGET
from .class_dynamic_programme import ClassProgramme
from .class_tables import ClassTables
from .goals import cheapest_by, plan_of
from .infeasible import explain
from .solve import refuse_wrong, solve, start_of


class Gap(NamedTuple):
    """Moments at which the least cost is not known, all between two neighbouring plans."""

    first_s: int
    last_s: int

    @property
    def width_s(self) -> int:
        """Number of moments."""
        return self.last_s - self.first_s + 1


class FrontFacts:
    """Nondominated plans, and lower bounds of the least cost ``cost(t)`` of plans that end by t.

    ``cost(t)`` does not increase with t, so that a bound holds for all earlier moments as well. What is proved follows
    from plans and bounds alone: a bound that was not reached, at whatever moment, makes no later conclusion wrong.

    Parameters
    ----------
    earliest_s, latest_s : int
        No plan ends before the first, nor after the second.
    """

    def __init__(self, earliest_s: int, latest_s: int) -> None:
        self.earliest_s = earliest_s
        self.latest_s = latest_s
        self.plans: list[Schedule] = []  # from the fastest to the cheapest
        self._makespans: list[int] = []
        # Moments at which a bound is better than those of all later moments, and these bounds.
        self._moments: list[int] = []
        self._bounds: list[float] = []

    def add_plan(self, plan: Schedule) -> bool:
        """Keep a plan if no other is as fast and as cheap; tell whether it was kept."""
        makespan, cost = plan.makespan_s, plan.cost_usd
        if cost >= self.least_cost_usd(makespan) * (1 - SAME_COST):
            return False
        first = bisect_left(self._makespans, makespan)
        last = first
        while last < len(self.plans) and self.plans[last].cost_usd >= cost * (1 - SAME_COST):
            last += 1
        self.plans[first:last] = [plan]
        self._makespans[first:last] = [makespan]
        return True

    def add_bound(self, moment_s: int, cost_usd: float) -> None:
        """Keep a bound of the cost of plans that end by a moment; with `math.inf` there is none."""
        cost_usd = float(cost_usd)  # comparisons with numpy's numbers give booleans that JSON does not know
        known = self.least_cost_usd(moment_s)
        if cost_usd >= known * (1 - SAME_COST):
            cost_usd = known  # there is a plan that costs as much: above it or below, they differ by rounding only
        place = bisect_left(self._moments, moment_s)
        if place < len(self._moments) and self._bounds[place] >= cost_usd:
            return
        end = bisect_right(self._moments, moment_s)
        start = place
        while start and self._bounds[start - 1] <= cost_usd:
            start -= 1
        self._moments[start:end] = [moment_s]
        self._bounds[start:end] = [cost_usd]

    def least_cost_usd(self, moment_s: int) -> float:
        """Cost of the cheapest plan known that ends by a moment; infinite if there is none."""
        plan = self.plan_by(moment_s)
        return math.inf if plan is None else plan.cost_usd

    def plan_by(self, moment_s: int) -> Schedule | None:
        """Return the cheapest plan known that ends by a moment."""
        place = bisect_right(self._makespans, moment_s)
        return self.plans[place - 1] if place else None

    def plan_after(self, moment_s: int) -> Schedule | None:
        """Return the fastest plan of the front that ends after a moment."""
        place = bisect_right(self._makespans, moment_s)
        return self.plans[place] if place < len(self.plans) else None

    def bound_usd(self, moment_s: int) -> float:
        """Proven lower bound of the cost of all plans that end by a moment."""
        if moment_s < self.earliest_s:
            return math.inf
        place = bisect_left(self._moments, moment_s)
        return self._bounds[place] if place < len(self._bounds) else 0.0

    def is_least(self, plan: Schedule) -> bool:
        """True if no plan that is as fast is proved to be cheaper."""
        return self.bound_usd(plan.makespan_s) >= plan.cost_usd

    def is_proven(self, plan: Schedule) -> bool:
        """True if a plan is proved to be the cheapest by its makespan, and every faster one to cost more."""
        return self.is_least(plan) and self.bound_usd(plan.makespan_s - 1) > plan.cost_usd * (1 + SAME_COST)

    def gaps(self) -> list[Gap]:
        """Return all moments at which the least cost is not known; none if the front is complete."""
        starts = [self.earliest_s, *self._makespans]
        ends = [*(makespan - 1 for makespan in self._makespans), self.latest_s]
        costs = [math.inf, *(plan.cost_usd for plan in self.plans)]
        result = []
        for start, end, cost in zip(starts, ends, costs, strict=True):
            proved = bisect_right(self._bounds, -cost, key=lambda bound: -bound)  # bounds of at least the cost
            first = max(start, self._moments[proved - 1] + 1) if proved else start
            if first <= end:
                result.append(Gap(first, end))
        return result


def same_cost(one: Schedule, other: Schedule) -> bool:
    """True if two plans cost the same but for rounding."""
    return abs(one.cost_usd - other.cost_usd) <= SAME_COST * one.cost_usd


class Answer(NamedTuple):
    """A plan of the instance, a proven lower bound of the cost (or of the makespan), and how the question ended."""

    plan: Schedule | None
    bound: float
    message: str = ""


class FrontOracle(Protocol):
    """Finds cheap plans, and bounds of their cost."""

    def cheapest(self, moment_s: int, limit_s: float, initial: Schedule | None) -> Answer:
        """Find the cheapest plan that ends by a moment; ``initial`` is one that does."""

    def fastest(self, limit_s: float, initial: Schedule | None) -> Answer | None:
        """Find the fastest plan, with a bound of the makespan; None if it is no easier than to ask for the cost."""


class ProgrammeOracle:
    """The class dynamic programme: all its answers are optimal.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    latest_s : int
        Latest moment that will be asked for.

    Raises
    ------
    ModelRefusal
        See `ClassTables`.
    """

    def __init__(self, instance: Instance, latest_s: int) -> None:
        self._ready_s = instance.boot_overhead_s
        self.programme = ClassProgramme(ClassTables(instance, latest_s - self._ready_s))

    def cheapest(self, moment_s: int, limit_s: float, initial: Schedule | None) -> Answer:
        """Find the cheapest plan; the limit is that of the whole run."""
        plan = self.programme.cheapest_by_makespan(moment_s - self._ready_s)
        return Answer(plan, math.inf if plan is None else plan.cost_usd)

    def fastest(self, limit_s: float, initial: Schedule | None) -> Answer | None:
        """Leave the fastest plan to questions for the cost."""
        return None


class SolveOracle:
    """`solve` by the method that it chooses itself, for each moment as a deadline.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    seed, threads : int
        See `solve`.
    """

    def __init__(self, instance: Instance, seed: int, threads: int) -> None:
        self._instance = instance
        self._seed = seed
        self._threads = threads

    def cheapest(self, moment_s: int, limit_s: float, initial: Schedule | None) -> Answer:
        """Minimise the cost with the moment as the deadline; the objective is the cost itself."""
        return self._ask(cheapest_by(self._instance, moment_s), limit_s, initial)

    def fastest(self, limit_s: float, initial: Schedule | None) -> Answer | None:
        """Minimise the makespan; the objective is the makespan itself."""
        objective = {"goal": "balanced", "cost_weight": 0.0, "makespan_scale_s": 1.0}
        return self._ask(self._instance.replace(objective=objective), limit_s, initial)

    def _ask(self, question: Instance, limit_s: float, initial: Schedule | None) -> Answer:
        result = solve(question, "auto", time_limit_s=limit_s, seed=self._seed, threads=self._threads, initial=initial)
        bound = -math.inf if result.bound is None else result.bound
        plan = None if result.schedule is None else plan_of(self._instance, result.schedule)
        return Answer(plan, bound, result.message)


FrontMethod: TypeAlias = Literal["auto", "class-programme", "epsilon-constraint"]

DEFAULT_TIME_LIMIT_S = 60.0
"""Time limit if none is given."""

_SPREAD = 16
"""Parts of the makespans of which each is looked at before any of them is worked out."""


@dataclass(frozen=True, slots=True)
class FrontPoint:
    """A plan of the front.

    Attributes
    ----------
    makespan_s : int
        End of its last task, from the start.
    cost_usd : float
        Bill of all its VMs.
    schedule : Schedule
        The plan.
    proven : bool
        Whether it is proved that no plan as fast is cheaper, and that every faster plan costs more.
    bound_cost_usd : float
        Proven lower bound of the cost of plans that are as fast.
    """

    makespan_s: int
    cost_usd: float
    schedule: Schedule
    proven: bool
    bound_cost_usd: float


@dataclass(frozen=True, slots=True)
class ParetoFront:
    """The front of an instance.

    Attributes
    ----------
    instance : Instance
        With D_spot set.
    points : tuple of FrontPoint
        From the fastest to the cheapest; none of them beats another.
    complete : bool
        Whether these are proved to be all points of the front; with no points, that no plan exists.
    proven : bool
        Whether all points are proven.
    runtime_s : float
        Time it took.
    method : str
        "class-programme", "epsilon-constraint", or both with a plus.
    message : str
        Why there is no point.
    warnings : tuple of str
        What a user should know.
    interrupted : bool
        Whether the user ended it; the points are those until then.
    """

    instance: Instance
    points: tuple[FrontPoint, ...]
    complete: bool
    proven: bool
    runtime_s: float
    method: str
    message: str = ""
    warnings: tuple[str, ...] = ()
    interrupted: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the front as a JSON object, without the plans."""
        return {
            "instance": self.instance.name,
            "status": self._status(),
            "method": self.method,
            "complete": self.complete,
            "proven": self.proven,
            "deadline_s": self.instance.deadline_s,
            "d_spot_s": self.instance.d_spot_s,
            "points": [
                {
                    "makespan_s": point.makespan_s,
                    "cost_usd": point.cost_usd,
                    "bound_cost_usd": point.bound_cost_usd,
                    "proven": point.proven,
                    "vms": point.schedule.vm_counts(),
                }
                for point in self.points
            ],
            "message": self.message,
            "warnings": list(self.warnings),
            "runtime_s": self.runtime_s,
            "interrupted": self.interrupted,
        }

    def _status(self) -> str:
        if not self.points:
            return "infeasible" if self.complete else "no-plan"
        return "complete" if self.complete else "proven" if self.proven else "feasible"


def pareto_front(
    instance: Instance,
    *,
    time_limit_s: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    most_points: int | None = None,
    on_point: Callable[[FrontPoint, int], None] | None = None,
    initial: Iterable[Schedule] = (),
    method: FrontMethod = "auto",
    stop: Stop | None = None,
) -> ParetoFront:
    """Find the plans that no other plan beats in cost and makespan.

    The front is worked out by the epsilon-constraint method: the least cost for a limit of the makespan, limit after
    limit. Where the class dynamic programme takes the instance, it does it: few classes of identical tasks,
    memory that never binds, CPU credits that count at the end of a VM only. Else `solve` does, with the limit as the
    deadline. D_spot stays that of the instance, or the limit if that is earlier. Every answer, proved or not, is kept
    as what it is: a plan, and a bound that holds for all earlier limits; what is proved follows from these alone.

    Parameters
    ----------
    instance : Instance
        The problem; its objective does not matter.
    time_limit_s : float, optional
        For all together; 60 s if absent. The points so far are returned when it is over.
    seed, threads : int, optional
        See `solve`.
    most_points : int, optional
        At most so many points, evenly spread over the makespans; else all of them, as far as the time goes.
    on_point : callable, optional
        Called with every plan that enters the front, and the number of points then. Later ones may beat it.
    initial : iterable of Schedule
        Plans of the instance that are known; none of them beats a point.
    method : {"auto", "class-programme", "epsilon-constraint"}
        Both, the class programme first; or one of them alone.
    stop : Stop, optional
        See `solve`.

    Returns
    -------
    ParetoFront
        A stop, Ctrl-C or SIGTERM returns the points so far.

    Raises
    ------
    InputError
        If a limit is out of its range, D_spot can be neither read nor estimated, or an initial plan breaks a rule.
    ModelRefusal
        If the class programme alone is asked for, and refuses the instance.
    """
    threads = default_threads() if threads is None else threads
    require_in_time(instance)
    _check_arguments(time_limit_s, seed, threads, most_points, method)
    require_no_dates(instance, "a front", "leave these out for it, or ask 'spotbag solve' for a plan by a deadline")
    begin = time.perf_counter()
    limit_s = DEFAULT_TIME_LIMIT_S if time_limit_s is None else time_limit_s
    resolved = with_d_spot(instance)
    latest_s = max((resolved.time_limit_s(offer.market) for offer in offers_of_vms(resolved)), default=0)
    latest_s = max(latest_s, int(resolved.running_end_s.max(initial=0)))
    facts = FrontFacts(makespan_lower_bound_s(resolved), min(latest_s, resolved.deadline_s))
    walk = _Walk(facts, most_points, on_point)
    methods: list[str] = []
    with interruptible(stop) as limit, within(limit_s, begin=begin), suppress(LimitReached):
        for plan in initial:
            walk.take(latest_s, start_of(resolved, plan), 0.0)
        if facts.gaps() and method != "epsilon-constraint":
            share = 1.0 if method == "class-programme" else BUDGET.half
            try:
                with within(share * limit_s, begin=begin):
                    _by_programme(resolved, walk, begin + share * limit_s)
                methods.append("class-programme")
            except ModelRefusal:
                if method == "class-programme":
                    raise
        if method != "class-programme" and not walk.finished(begin + limit_s):
            methods.append("epsilon-constraint")
            walk.run(SolveOracle(resolved, seed, threads), begin + limit_s)
    points = tuple(_front_point(facts, plan) for plan in walk.chosen())
    return ParetoFront(
        resolved,
        points,
        complete=not facts.gaps() and len(points) == len(facts.plans),
        proven=all(point.proven for point in points) and (bool(points) or not facts.gaps()),
        runtime_s=time.perf_counter() - begin,
        method=" + ".join(methods) or "bounds",
        message="" if points else _reason(resolved, facts, walk),
        warnings=tuple(text for text in [d_spot_warning(instance, resolved)] if text),
        interrupted=limit.stopped(),
    )


def _check_arguments(time_limit_s: float | None, seed: int, threads: int, most_points: int | None, method: str) -> None:
    refuse_wrong(time_limit_s, seed, threads)
    if most_points is not None and most_points < 2:
        raise InputError("number of points", [Issue("", "must be at least 2", value=most_points)])
    if method not in ("auto", "class-programme", "epsilon-constraint"):
        known = "known: auto, class-programme, epsilon-constraint"
        raise InputError("method of the front", [Issue("", f"is unknown ({known})", value=method)])


def _by_programme(instance: Instance, walk: _Walk, end: float) -> None:
    """Let the class programme find the front: all points one by one, or those at evenly spread makespans."""
    facts = walk.facts
    try:
        oracle = ProgrammeOracle(instance, facts.latest_s)
        if walk.most_points is not None:
            walk.run(oracle, end)
            return
        moment = facts.latest_s
        for point in oracle.programme.front():
            # It is yielded when every faster plan is proved to cost more; the next point tells by how much.
            facts.add_bound(point.makespan_s - 1, math.nextafter(point.cost_usd * (1 + SAME_COST), math.inf))
            walk.take(moment, point.schedule, point.cost_usd)
            moment = point.makespan_s - 1
        facts.add_bound(moment, math.inf)
    except LimitReached:
        return


def _front_point(facts: FrontFacts, plan: Schedule) -> FrontPoint:
    bound = min(facts.bound_usd(plan.makespan_s), plan.cost_usd)
    return FrontPoint(plan.makespan_s, plan.cost_usd, plan, facts.is_proven(plan), bound)


def _reason(instance: Instance, facts: FrontFacts, walk: _Walk) -> str:
    """Why there is no point."""
    if facts.gaps():
        return walk.message or "no plan was found until the time was over; this proves nothing"
    if walk.message.startswith("no plan exists"):
        return walk.message
    return explain(instance)


class _Walk:
    """Questions for the least cost by a moment, one after the other, until nothing is open or the time is over.

    First the makespans are halved until no gap is wider than a part of them, so that the points are evenly spread
    whenever the time ends. Then each gap is worked out from its end: the answer just before a point is the next point,
    or proves that there is none. What was not proved is asked again with more time, as long as there is any.
    """

    def __init__(
        self,
        facts: FrontFacts,
        most_points: int | None,
        on_point: Callable[[FrontPoint, int], None] | None,
    ) -> None:
        self.facts = facts
        self.most_points = most_points
        self.message = ""
        self._on_point = on_point
        self._end = 0.0  # of the time, on the clock
        self._parts = _SPREAD if most_points is None else most_points - 1
        self._asked: dict[int, float] = {}  # moments with the seconds that they were given
        self._ties: Counter[int] = Counter()  # by makespan of a point: how often it turned out as cheap, but faster
        self._overrun_s = 0.0

    def finished(self, end: float | None = None) -> bool:
        """True if nothing is left to be asked, or no time up to a moment of the clock."""
        if end is not None:
            self._end = end
        if stopped() or self._left_s() <= 0:
            return True
        if self.most_points is None or not self.facts.plans:
            return not self.facts.gaps()
        return not self._wide_gaps() and all(self.facts.is_proven(plan) for plan in self.chosen())

    def run(self, oracle: FrontOracle, end: float) -> None:
        """Ask an oracle, up to a moment of the clock."""
        self._end = end
        self._asked.clear()
        facts = self.facts
        if not facts.plans or not facts.is_least(facts.plans[-1]):
            self._ask(oracle, facts.latest_s, self._share_s())
        if not facts.plans and not self.finished():
            self._ask(oracle, facts.latest_s, self._left_s())
        if not facts.plans:
            return
        if not self.finished() and facts.gaps() and facts.gaps()[0].last_s < facts.plans[0].makespan_s:
            self._ask_for_fastest(oracle)
        while not self.finished():
            moment = self._next_moment()
            limit = self._share_s()
            if moment is None:
                moment, limit = self._once_more()
            if moment is None:
                return
            self._ask(oracle, moment, limit)

    def take(self, moment_s: int, plan: Schedule | None, bound_usd: float) -> None:
        """Keep an answer."""
        facts = self.facts
        beside = facts.plan_after(moment_s)
        if plan is not None:
            violations = check(plan.instance, plan).violations
            if violations:
                raise SpotbagError(f"a plan of the front breaks a rule; please report this: {violations[0]}")
            new = facts.add_plan(plan)
            facts.add_bound(moment_s, bound_usd)
            if new and self._on_point is not None:
                self._on_point(_front_point(facts, plan), len(facts.plans))
            if beside is not None and same_cost(beside, plan):
                self._ties[plan.makespan_s] = self._ties[beside.makespan_s] + 1
        else:
            facts.add_bound(moment_s, bound_usd)

    def chosen(self) -> list[Schedule]:
        """Plans of the front, or as many of them as are wanted: about evenly spread, rather proven ones."""
        plans, most = self.facts.plans, self.most_points
        if most is None or len(plans) <= most:
            return list(plans)
        fastest, slowest = plans[0].makespan_s, plans[-1].makespan_s
        step = (slowest - fastest) / (most - 1)
        rest, result = plans[1:-1], [plans[0], plans[-1]]
        for number in range(1, most - 1):
            target = fastest + number * step
            nearest = min(
                rest, key=lambda plan: abs(plan.makespan_s - target) + (0 if self.facts.is_proven(plan) else step / 2)
            )
            rest.remove(nearest)
            result.append(nearest)
        return sorted(result, key=lambda plan: plan.makespan_s)

    # ------------------------------------------------------------- which moment

    def _next_moment(self) -> int | None:
        """Choose a moment that was not asked for."""
        wide = self._wide_gaps()
        candidates = [_middle(gap) for gap in wide]
        candidates += [gap.last_s for gap in wide]
        gaps = self.facts.gaps()
        if gaps and gaps[0].last_s < self.facts.plans[0].makespan_s:
            candidates.append(_middle(gaps[0]))  # whether anything is faster is found by halves
        if self.most_points is None:
            # What was asked in vain in a gap should be asked again there with more time, not somewhere beside it.
            candidates += [self._step(gap) for gap in gaps if not self._asked_within(gap)]
        else:
            candidates += self._moments_of_chosen(gaps)
        return next((moment for moment in candidates if moment not in self._asked), None)

    def _wide_gaps(self) -> list[Gap]:
        """Wide gaps, above a part of all makespans, widest first."""
        facts = self.facts
        fastest, slowest = facts.plans[0].makespan_s, facts.plans[-1].makespan_s
        step = max((slowest - fastest) / self._parts, 1.0)
        # Beyond the cheapest plan nothing but another cheapest one can be.
        gaps = [gap for gap in facts.gaps() if gap.last_s < slowest and gap.width_s > step]
        return sorted(gaps, key=lambda gap: -gap.width_s)

    def _step(self, gap: Gap) -> int:
        """Last moment of a gap; the more often the point after it got faster at the same cost, the longer a step."""
        after = self.facts.plan_after(gap.last_s)
        ties = 0 if after is None else min(self._ties[after.makespan_s], 30)
        return gap.last_s - min((1 << ties) - 1, (gap.last_s - gap.first_s) // 2)

    def _moments_of_chosen(self, gaps: list[Gap]) -> list[int]:
        """Moments to ask for, which prove the points that are wanted."""
        open_before = {gap.last_s + 1: gap for gap in gaps}
        result = []
        for plan in self.chosen():
            if not self.facts.is_least(plan):
                result.append(plan.makespan_s)
            elif not self.facts.is_proven(plan) and plan.makespan_s in open_before:
                result.append(self._step(open_before[plan.makespan_s]))
        return result

    def _asked_within(self, gap: Gap) -> list[int]:
        return [moment for moment in self._asked if gap.first_s <= moment <= gap.last_s]

    def _once_more(self) -> tuple[int | None, float]:
        """Choose a moment that was asked for in vain, and twice the time, or what is left of it."""
        wanted = [moment for gap in self.facts.gaps() for moment in self._asked_within(gap)]
        if self.most_points is not None:
            chosen = {plan.makespan_s for plan in self.chosen() if not self.facts.is_proven(plan)}
            wanted = [moment for moment in wanted if moment in chosen or moment + 1 in chosen]
        if not wanted:
            return None, 0.0
        moment = min(wanted, key=lambda moment: (self._asked[moment], moment))
        limit = min(max(2 * self._asked[moment], self._share_s()), self._left_s())
        return (moment, limit) if limit > self._asked[moment] else (None, 0.0)

    # -------------------------------------------------------------------- asking

    def _left_s(self) -> float:
        return self._end - time.perf_counter() - self._overrun_s

    def _share_s(self) -> float:
        """Seconds for the next question: as much for all that are to be expected."""
        expected = max(2 * self._parts + 2 - len(self._asked), 2 * len(self.facts.gaps()), 2)
        return max(self._left_s() / expected, BUDGET.least_question_s)

    def _ask(self, oracle: FrontOracle, moment_s: int, limit_s: float) -> None:
        limit_s = max(limit_s, BUDGET.least_question_s)
        self._asked[moment_s] = limit_s
        begin = time.perf_counter()
        answer = oracle.cheapest(moment_s, limit_s, self.facts.plan_by(moment_s))
        self._overrun_s = max(self._overrun_s, time.perf_counter() - begin - limit_s)
        self.message = answer.message or self.message
        self.take(moment_s, answer.plan, answer.bound)

    def _ask_for_fastest(self, oracle: FrontOracle) -> None:
        answer = oracle.fastest(self._share_s(), self.facts.plans[0])
        if answer is None:
            return
        if answer.plan is not None:
            self.take(answer.plan.makespan_s, answer.plan, 0.0)
        if math.isfinite(answer.bound):
            self.facts.add_bound(int(least_whole_seconds(answer.bound)) - 1, math.inf)


def _middle(gap: Gap) -> int:
    return (gap.first_s + gap.last_s) // 2
