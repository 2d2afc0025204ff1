"""Why no plan exists, and a deadline by which one does."""

from __future__ import annotations

from ...core.limits import LimitReached, within
from ...instances.instance import Instance
from ...models.bags.infeasibility import deadlines_in_words, explain_infeasibility, least_deadline_s, with_deadline

_LOOK_S = 1.0
_MOST_PLANS = 14
_LATEST = 16
"""Times the least deadline up to which a plan is looked for."""


def explain(instance: Instance) -> str:
    """Say why no plan exists, the least deadline that the bounds leave open, and one by which a plan is found.

    Parameters
    ----------
    instance : Instance
        With D_spot set, whose bound is infinite.
    """
    said = explain_infeasibility(instance)
    if "least deadline" not in said:
        return said
    found_s = None
    try:
        with within(_LOOK_S):
            least_s = least_deadline_s(instance)
            assert least_s is not None
            found_s = _deadline_with_plan_s(instance, least_s)
    except LimitReached:
        return said
    if found_s is None:
        return said
    return (
        f"{said}, and a plan exists {'then' if found_s == least_s else f'at {deadlines_in_words(instance, found_s)}'}"
    )


def _deadline_with_plan_s(instance: Instance, least_s: int) -> int | None:
    """Deadline for which quick methods find a plan: the least of some."""
    if _has_plan(with_deadline(instance, least_s)):
        return least_s
    low, high = least_s, least_s + max(least_s // 32, 1)
    for _ in range(_MOST_PLANS):
        if _has_plan(with_deadline(instance, high)):
            break
        low, high = high, least_s + 2 * (high - least_s)
        if high > _LATEST * least_s:
            return None
    else:
        return None
    for _ in range(_MOST_PLANS):
        if high - low <= max(least_s // 500, 1):
            break
        middle = (low + high) // 2
        low, high = (low, middle) if _has_plan(with_deadline(instance, middle)) else (middle, high)
    return high


def _has_plan(instance: Instance) -> bool:
    """Whether the greedy finds a plan, or longest task first; from a state, one task after the other."""
    from ...heuristics.bags.assignments import listed_plan
    from ...heuristics.bags.greedy import greedy
    from ...heuristics.bags.lpt import LptOptions, lpt
    from ...schedules.method import Run

    if instance.machines:
        return listed_plan(instance) is not None
    return greedy(instance).schedule is not None or lpt(instance, LptOptions(), Run()).schedule is not None
