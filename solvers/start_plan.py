"""The plan that an exact method starts from."""

from __future__ import annotations

from ..heuristics.greedy import greedy
from ..heuristics.lpt import LptOptions, lpt
from ..instances.instance import Instance
from ..schedules.method import HeuristicOutcome, Run


def start_plan(instance: Instance, run: Run) -> HeuristicOutcome:
    """Return the plan that the run was given, else the better one of the greedy's and of longest task first.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    run : Run
        Time limit and initial plan.
    """
    if run.initial is not None:
        return HeuristicOutcome(run.initial)
    by_greedy = greedy(instance)
    by_length = lpt(instance, LptOptions(), run)
    plans = [plan for plan in (by_greedy.schedule, by_length.schedule) if plan is not None]
    best = min(plans, key=lambda plan: plan.objective, default=None)
    return HeuristicOutcome(best, by_greedy.explanation if best is None else "", interrupted=by_length.interrupted)
