"""Linear programmes solved by HiGHS within the limit that holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .limits import LimitReached, checkpoint, current_limit, seconds_left
from .processes import run_in_thread

if TYPE_CHECKING:
    import highspy

_LEAVE_AFTER_S = 0.02
_LARGE = 5_000
"""Entries of a matrix from which on a solver is watched while it runs."""


def run_linear_program(solver: highspy.Highs) -> None:
    """Solve what a HiGHS solver holds, from where it stands.

    Parameters
    ----------
    solver : highspy.Highs
        With a linear programme. Its status says how it ended.

    Raises
    ------
    LimitReached
        If the limit was over before; nobody may touch the solver then.
    """
    import highspy

    checkpoint()
    left = seconds_left()
    # The time limit of HiGHS is one of all runs of a solver together.
    solver.setOptionValue("time_limit", highspy.kHighsInf if left is None else solver.getRunTime() + left)
    limit = current_limit()
    if solver.getNumNz() < _LARGE or not (limit.stops or limit.on_life):
        solver.run()
    else:
        _run_watched(solver)
    if solver.getModelStatus() in (highspy.HighsModelStatus.kTimeLimit, highspy.HighsModelStatus.kInterrupt):
        limit.ended_by_time()  # by the clock of HiGHS, which may be a little ahead of ours
        raise LimitReached


def _run_watched(solver: Any) -> None:
    """Run a solver in a thread that a request to stop ends."""
    stopped = False

    def watch(event: Any) -> None:
        event.interrupt(stopped)

    def end() -> None:
        nonlocal stopped
        stopped = True

    solver.cbSimplexInterrupt.subscribe(watch)
    if not run_in_thread(solver.run, end, leave_after_s=_LEAVE_AFTER_S):
        raise LimitReached
    solver.cbSimplexInterrupt.unsubscribe(watch)
