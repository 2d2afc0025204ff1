"""The plan that an exact method starts from."""

from __future__ import annotations

from ..heuristics.greedy import greedy
from ..heuristics.lpt import LptOptions, lpt
from ..heuristics.outcome import HeuristicOutcome
from ..heuristics.run import Run
from ..instances.problem import Instance
from ..schedules.schedule import Schedule


def start_plan(instance: Instance, run: Run) -> HeuristicOutcome:
    """Return the best of the plan that the run was given, the greedy's and that of longest task first.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    run : Run
        Time limit and initial plan.
    """
    by_greedy = greedy(instance)
    by_length = lpt(instance, LptOptions(), run)
    plans = [plan for plan in (run.initial, by_greedy.schedule, by_length.schedule) if plan is not None]
    best: Schedule | None = min(plans, key=lambda plan: plan.objective, default=None)
    return HeuristicOutcome(best, by_greedy.explanation if best is None else "", interrupted=by_length.interrupted)
