"""The plan that an exact method starts from."""

from __future__ import annotations

from dataclasses import replace

from ..heuristics.greedy import greedy
from ..heuristics.lpt import LptOptions, lpt
from ..heuristics.run import Run
from ..instances.problem import Instance
from ..schedules.schedule import Schedule

_TRIALS = 60


def starting_plan(instance: Instance, run: Run) -> Schedule | None:
    """Return the plan that the run was given, else the better one of the greedy and of longest task first."""
    if run.initial is not None:
        return run.initial
    quiet = replace(run, on_progress=None)
    plans = [greedy(instance).schedule, lpt(instance, LptOptions(trials=_TRIALS), quiet).schedule]
    return min((plan for plan in plans if plan is not None), key=lambda plan: plan.objective, default=None)
