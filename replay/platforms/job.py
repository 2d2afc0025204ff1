"""A malleable job while it is replayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...core.quantities import NOISE
from ...instances.platforms.entries import MalleableJob
from ..vms import NONE

NOWHERE: Final = NONE


def over_budget(cost: float, budget: float) -> float:
    """Excess of a cost above a budget.

    An excess of less than a billionth of the budget is arithmetic noise, and none: three times 0.1 does not exceed 0.3.
    """
    over = cost - budget
    return over if over > budget * NOISE else 0.0


@dataclass(slots=True, eq=False)
class PlatformJob:
    """A job, where it is, and what it has come to.

    Attributes
    ----------
    index, id : int and str
        Which job it is; the index is its place in the order of arrival.
    size : int
        Processor-minutes.
    priority : int
        A larger number goes first.
    arrival_s, deadline_s, budget : int, int, float
        As in `MalleableJob`.
    resource : int
        The resource on which it waits, runs or has run; `NOWHERE` before.
    start_s, end_s : int
        When it started and ended; `NONE` before.
    cost : float
        What it has been charged.
    turn : int
        How many jobs had joined the queue in which it waits when it did, which orders those of equal priority.
    behind_all : bool
        Whether it waits behind all others, whatever its priority.
    displaced : int
        How often another job has pushed it out of a queue.
    """

    index: int
    id: str
    size: int
    priority: int
    arrival_s: int
    deadline_s: int
    budget: float
    resource: int = NOWHERE
    start_s: int = NONE
    end_s: int = NONE
    cost: float = 0.0
    turn: int = 0
    behind_all: bool = False
    displaced: int = 0

    @classmethod
    def of(cls, index: int, job: MalleableJob) -> PlatformJob:
        """Take a job at its place in the order of arrival."""
        return cls(index, job.id, job.size_processor_minutes, job.priority, job.arrival_s, job.deadline_s, job.budget)
