"""Jobs, and what resources offer for them: candidates, and how they are compared (Caron & de Assuncao, section III)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from ...core.quantities import NOISE
from ...instances.platforms.entries import MalleableJob
from ..engines import NONE

NOWHERE: Final = NONE


def over_budget(cost: float, budget: float) -> float:
    """Excess of a cost above a budget.

    An excess of less than a billionth of the budget is arithmetic noise, and none: three times 0.1 does not exceed 0.3.
    """
    over = cost - budget
    return over if over > budget * NOISE else 0.0


@dataclass(slots=True, eq=False)
class PlatformJob:
    """A job, where it is, and its outcome so far.

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


class Candidate(NamedTuple):
    """Offer of a resource for a job.

    Attributes
    ----------
    resource : int
        Index of the resource that offers it.
    good : bool
        Whether deadline and budget are kept; see `is_good`.
    end_s : int
        When the job would end.
    cost : float
        What it would cost.
    displaced : tuple of int
        Jobs that would have to go elsewhere.
    machines : int
        Machines that it would run on, in a cloud; 0 on a cluster.
    last : bool
        Whether it goes behind all others, whatever its priority.
    """

    resource: int
    good: bool
    end_s: int
    cost: float
    displaced: tuple[int, ...] = ()
    machines: int = 0
    last: bool = False


def is_good(end_s: int, cost: float, job: PlatformJob) -> bool:
    """True if an end and a cost keep deadline and budget of a job: ``IsGood`` of section III.

    Its third condition, that no more work is displaced than the job has, holds for all candidates: Algorithms 1 (line
    21) and 2 (line 32) offer none otherwise, and ask for strictly less there, where ``IsGood`` would allow as much.
    """
    return end_s <= job.deadline_s and over_budget(cost, job.budget) == 0


Order: TypeAlias = tuple[float, ...]
"""The less, the better."""

Preference: TypeAlias = Callable[[Candidate, PlatformJob], Order]
"""Key by which candidates for a job are compared."""


def overspend(candidate: Candidate, job: PlatformJob) -> float:
    """``(cost - budget)+``."""
    return over_budget(candidate.cost, job.budget)


def delay_s(candidate: Candidate, job: PlatformJob) -> int:
    """``(makespan - deadline)+``."""
    return max(candidate.end_s - job.deadline_s, 0)


# The paper does not say which of several candidates it is that are alike in what it asks for: the one that is better in
# the other respect, then the one that displaces fewer jobs, then that of the first resource.


def cheapest(candidate: Candidate, job: PlatformJob) -> Order:
    """Least cost, then earliest end: line 7 of Algorithm 4, and policy A."""
    return candidate.cost, candidate.end_s, len(candidate.displaced), candidate.resource


def fastest(candidate: Candidate, job: PlatformJob) -> Order:
    """Earliest end, then least cost: policy B."""
    return candidate.end_s, candidate.cost, len(candidate.displaced), candidate.resource


def least_delay(candidate: Candidate, job: PlatformJob) -> Order:
    """Least delay, then least cost: strategy 1 of step 4, and candidate 2 of Algorithm 4 (lines 16-20)."""
    return delay_s(candidate, job), candidate.cost, candidate.end_s, len(candidate.displaced), candidate.resource


def least_overspend(candidate: Candidate, job: PlatformJob) -> Order:
    """Least overspend, then earliest end: strategy 2 of step 4, and candidate 1 of Algorithm 4 (lines 11-15).

    The paper's strategy 2 has ``P.budget - C.T.cost`` and minimises ``C.deadline``: cost and budget are swapped there,
    and the end is meant.
    """
    over = overspend(candidate, job)
    return over, candidate.end_s, candidate.cost, len(candidate.displaced), candidate.resource


def best(candidates: Sequence[Candidate], job: PlatformJob, preference: Preference) -> Candidate:
    """Return the best candidate, at least one; the first of those that are alike."""
    if len(candidates) == 1:
        return candidates[0]
    return min(candidates, key=lambda candidate: preference(candidate, job))


def choose(candidates: Sequence[Candidate], job: PlatformJob, preference: Preference) -> Candidate:
    """Return the cheapest good candidate; if none is good, the best of the bad ones (step 4)."""
    good = [candidate for candidate in candidates if candidate.good]
    return best(good, job, cheapest) if good else best(candidates, job, preference)
