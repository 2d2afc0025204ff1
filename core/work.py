"""Numbers of iterations for which work counts, where work is the clock (`limits.work_clock`): all in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Iterations:
    """About the microseconds that an idle core takes for each.

    Attributes
    ----------
    second
        A second of the limits and shares that are stated in seconds.
    checkpoint
        What is done between two checkpoints, beside what is counted by itself.
    move, plain_move, queues_move
        A move of core loads, the same in plain Python, and a move of tasks in queues.
    place
        A place for a task of a few whose plans are all looked at.
    queued_task
        A task that is put behind others on a VM, where tasks may be late.
    simplex_step, simplex_entry
        A step of the simplex method, and more of it for each entry of the matrix.
    look_entry
        An entry of the matrix of an integer programme, whenever HiGHS asks if it is to go on.
    cp_sat_second
        A second of CP-SAT's deterministic time.
    bound_entry
        A run time that the divisible bound looks at.
    knapsack_entry, state, pair
        An entry of the table of a knapsack, a state of one of ends, and a pair of a state and a VM.
    column_node, slack_step
        A node of the search for columns, and a step of the search by slack.
    question_task
        A task of a plan whose rescue is asked about, however that is answered, and whatever it takes.
    """

    second: int = 1_000_000
    checkpoint: float = 5.0
    move: float = 0.15
    plain_move: float = 30.0
    place: float = 30.0
    queues_move: float = 1.5
    queued_task: float = 4.0
    simplex_step: float = 5.0
    simplex_entry: float = 0.01
    look_entry: float = 7.0
    cp_sat_second: float = 6e6
    bound_entry: float = 0.05
    knapsack_entry: float = 0.002
    state: float = 0.003
    pair: float = 0.05
    column_node: float = 0.5
    slack_step: float = 0.02
    question_task: float = 1.0


ITERATIONS = Iterations()
"""Iterations as they are counted."""
