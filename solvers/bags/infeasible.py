"""Why no plan exists, and a deadline by which one does."""

from __future__ import annotations

from contextlib import suppress

from ...bounds.bags.infeasibility import deadlines_in_words, explain_infeasibility, least_deadline_s, with_deadline
from ...core.limits import LimitReached, checkpoint, within
from ...core.wording import first_names
from ...instances.instance import Instance
from ...models.bags.makespan_bounds import without_time
from ...schedules.method import Run
from ...schedules.schedule import Schedule
from .budget import BUDGET

_LATEST, _STEPS = 16, 500
"""Times the least deadline up to which a plan is looked for, and the part of a deadline to which one is found."""


def explain(instance: Instance) -> str:
    """Say why no plan exists, the least deadline that the bounds leave open, and one by which a plan is found.

    Parameters
    ----------
    instance : Instance
        With D_spot set, whose bound is infinite. Where tasks have dates, there is more to move than the deadline.
    """
    if instance.has_dates:
        late = [instance.group_ids[group] for group in without_time(instance).nonzero()[0]]
        reason = (
            f"even alone, {first_names(late)} cannot end in time" if late else "the tasks do not fit the VMs in time"
        )
        return f"no plan exists that keeps the dates of all tasks: {reason}"
    said = explain_infeasibility(instance)
    if "least deadline" not in said:
        return said
    found_s = None
    try:
        with within(BUDGET.least_s):
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


def _has_plan(instance: Instance, deadline_s: int) -> bool:
    return simple_plan(with_deadline(instance, deadline_s), Run()) is not None


def _deadline_with_plan_s(instance: Instance, least_s: int) -> int | None:
    """Deadline for which quick methods find a plan: the least of some."""
    if _has_plan(instance, least_s):
        return least_s
    low, high = least_s, least_s + max(least_s // 32, 1)
    while not _has_plan(instance, high):
        # Ever longer steps: a plan is often found near the least deadline, and else only far from it.
        low, high = high, least_s + 2 * (high - least_s)
        if high > _LATEST * least_s:
            return None
    return deadline_with_plan_s(instance, low, high)


def deadline_with_plan_s(instance: Instance, low_s: int, high_s: int) -> int:
    """Deadline for which a quick method finds a plan, the least of some between one too early and one late enough.

    Once the time is over, it is the least so far.
    """
    step_s = max(low_s // _STEPS, 1)
    with suppress(LimitReached):
        while high_s - low_s > step_s:
            checkpoint()
            middle = (low_s + high_s) // 2
            low_s, high_s = (low_s, middle) if _has_plan(instance, middle) else (middle, high_s)
    return high_s


def simple_plan(instance: Instance, run: Run) -> Schedule | None:
    """Return the first plan, or else that of longest task first; None if both find none.

    They know neither machines nor dates: with these, the tasks are placed one after the other.
    """
    from ...heuristics.bags.first_plans import first_plan  # here, so that no method loads another one for nothing
    from ...heuristics.bags.listed_plans import listed_plan
    from ...heuristics.bags.lpt import LptOptions, lpt

    if instance.machines or instance.has_dates:
        return listed_plan(instance)
    return first_plan(instance).schedule or lpt(instance, LptOptions(), run).schedule
