"""What all methods answer for tight bags that are under way, against all plans of them.

``python -m tests.helpers.tight_answers 1000`` prints how many answers are wrong, by kind.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from spotbag.audits.bags.plan import check
from spotbag.bounds.bags.lower_bounds import lower_bounds
from spotbag.core.errors import ModelRefusal
from spotbag.instances.instance import Instance
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.schedule_files import schedule_of_document
from spotbag.solvers.bags.pareto import ParetoFront, pareto_front
from spotbag.solvers.bags.replan import replan
from spotbag.solvers.bags.result import Result
from spotbag.solvers.bags.solve import solve
from tests.helpers.exhaustive import exhaustive_front, exhaustive_plan
from tests.helpers.tiny_states import TightBag, tight_bag

Front = list[tuple[int, float]]
Answer = TypeVar("Answer")

METHODS = ("auto", "search", "interval")
"""All that plan from a state."""

_AN_INSTANT_S = 1e-9
_SAME = 1e-9
"""Relative difference of two objectives that are the same but for rounding."""


def wrong_answers(bag: TightBag, limit_s: float = 20.0) -> Iterator[str]:
    """Say which answers for a tight bag are wrong: where, and of which kind.

    Parameters
    ----------
    bag : TightBag
        The bag, with all that is true of it.
    limit_s : float
        Time limit of each method.
    """
    left = bag.state.remaining(bag.instance)
    front = exhaustive_front(left)
    best = exhaustive_plan(left)
    objective = math.inf if best is None or best.objective is None else best.objective
    if front and not bag.front:
        yield "remaining: a plan that is late"
    elif bag.front and not front:
        yield "remaining: no plan is left"
    elif front:
        yield from _of_rounding(bag, left, front)
    yield from _of_bounds(left, front, objective)
    for method in METHODS:
        options = {"moves": 1000} if method == "search" else None
        answer = partial(solve, left, method, time_limit_s=limit_s, survive="none", options=options)
        yield from _of_result(method, front, objective, answer)
    for name, points in (("pareto", None), ("pareto of 2 points", 2)):
        yield from _of_front(name, front, partial(pareto_front, left, time_limit_s=limit_s, most_points=points))
    if best is not None:
        yield from _of_held_plan(left, front, schedule_of_document(best, left), objective)
    # With more time and no plan, re-planning is what `auto` does.
    for seconds, plan in dict.fromkeys([(0.05, None), (0.05, bag.plan), (1.0, bag.plan)]):
        name = f"replan {seconds:g} s" + ("" if plan is None else " with a plan")
        again = partial(replan, bag.instance, bag.state, time_limit_s=seconds, survive="none", start=plan)
        yield from _of_result(name, front, objective, again, needs_plan=plan is not None)


def _of_held_plan(left: Instance, front: Front, plan: Schedule, objective: float) -> Iterator[str]:
    """A plan that is handed over, and holds, is the answer of the first instant."""
    for method in METHODS:
        again = partial(solve, left, method, time_limit_s=_AN_INSTANT_S, survive="none", initial=plan)
        yield from _of_result(f"{method} with a plan", front, objective, again, needs_plan=True)
    fronts = partial(pareto_front, left, time_limit_s=_AN_INSTANT_S, initial=[plan])
    yield from _of_front("pareto with a plan", front, fronts, needs_point=True)


def _of_rounding(bag: TightBag, left: Instance, front: Front) -> Iterator[str]:
    """Costs are those of exact time but for a second of each VM at its ends; at whole moments, the same."""
    dearest = max(left.offer_price_usd_per_s) * (len(left.machines) + len(left.open_tasks))
    spare_s, spare_usd = (0, 0.0) if bag.state.time_s.is_integer() else (1, dearest)
    for rank in (0, -1):
        (end_s, usd), (exact_s, exact_usd) = front[rank], bag.front[rank]
        waits_s = bag.instance.deadline_s - left.deadline_s - bag.state.time_s
        same_plan = rank == 0 or not spare_s  # else another plan may be the cheapest one
        if same_plan and not exact_s <= end_s + waits_s <= exact_s + spare_s:
            yield "remaining: other ends"
        if rank == 0 and spare_s:  # a fastest plan may end a part of a second sooner, and cost more
            continue
        if not exact_usd * (1 - _SAME) - spare_usd <= usd <= exact_usd * (1 + _SAME) + spare_usd:
            yield "remaining: other costs"


def _of_bounds(left: Instance, front: Front, objective: float) -> Iterator[str]:
    """No bound is above what it bounds."""
    try:
        bounds = lower_bounds(left)
    except Exception as error:
        yield f"bounds: crash {type(error).__name__}"
        return
    if front:
        least = {"objective": objective, "$": front[-1][1], "s": front[0][0]}
        for bound in bounds:
            if bound.value > least[bound.unit] * (1 + _SAME):
                yield f"{bound.name}: " + ("false infinity" if math.isinf(bound.value) else "above the optimum")


def _of_result(
    name: str, front: Front, objective: float, answer: Callable[[], Result], needs_plan: bool = False
) -> Iterator[str]:
    result = _answered(answer)
    if not isinstance(result, Result):
        if result:
            yield f"{name}: {result}"
        return
    if not front:
        if result.schedule is not None:
            yield f"{name}: plan where none exists"
        return
    if result.status == "infeasible":
        yield f"{name}: false infeasible"
        return
    if result.bound is not None and result.bound > objective * (1 + _SAME):
        yield f"{name}: bound above the optimum"
    plan = result.schedule
    if plan is None:
        if needs_plan:
            yield f"{name}: no-plan"
        return
    if check(result.instance, plan).violations:
        yield f"{name}: plan breaks a rule"
    if plan.objective < objective * (1 - _SAME):
        yield f"{name}: plan below the optimum"
    if result.status == "optimal" and plan.objective > objective * (1 + 2 * _SAME):
        yield f"{name}: false optimal"
    if len(result.stages) == 2 and result.stages[1].bound is not None:
        end_s, usd = front[-1] if result.instance.goal == "cheapest" else front[0]
        second = end_s if result.instance.goal == "cheapest" else usd
        if result.stages[1].bound > second * (1 + _SAME):
            yield f"{name}: second bound above the optimum"


def _of_front(name: str, front: Front, answer: Callable[[], ParetoFront], needs_point: bool = False) -> Iterator[str]:
    found = _answered(answer)
    if not isinstance(found, ParetoFront):
        yield f"{name}: {found}"
        return
    if needs_point and not found.points:
        yield f"{name}: no point"
    if found.complete and len(found.points) != len(front):
        yield f"{name}: " + ("another number of points" if found.points else "false infeasible")
    for point in found.points:
        least = min(usd for end_s, usd in front if end_s <= point.makespan_s)
        if point.cost_usd < least * (1 - _SAME):
            yield f"{name}: point below the optimum"
        if point.bound_cost_usd > least * (1 + _SAME):
            yield f"{name}: bound above the optimum"
        same = [end_s for end_s, usd in front if usd <= point.cost_usd * (1 + 4e-9)]
        if point.proven and (point.cost_usd > least * (1 + 5e-9) or same[0] < point.makespan_s):
            yield f"{name}: false proof"


def _answered(answer: Callable[[], Answer]) -> Answer | str:
    """Return an answer, or what happened instead; nothing where it was refused."""
    try:
        return answer()
    except ModelRefusal:
        return ""
    except Exception as error:
        return f"crash {type(error).__name__}: {str(error)[:40]}"


def _main(first: int, last: int) -> None:
    kinds: Counter[str] = Counter()
    bags: Counter[str] = Counter()
    examples: dict[str, int] = {}
    for seed in range(first, last):
        bag = tight_bag(seed)
        wrong = set(wrong_answers(bag))
        kinds.update(wrong)
        bags.update(
            {"feasible": bool(bag.front), "of a plan": bag.plan is not None, "with a wrong answer": bool(wrong)}
        )
        for kind in wrong:
            examples.setdefault(kind, seed)
            print(f"{seed}: {kind}", flush=True)
    print(f"{last - first} bags: " + ", ".join(f"{count} {what}" for what, count in bags.items()))
    for kind, count in kinds.most_common():
        print(f"{count:6} {kind} (first {examples[kind]})")


if __name__ == "__main__":
    _main(*(map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (0, int(sys.argv[1]))))
