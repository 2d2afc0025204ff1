"""Common parts of the replays of all systems: states and bills of VMs, clock, queue of events, runs side by side."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, cast

from ..core.errors import InputError, Issue, SpotbagError
from ..core.limits import LimitReached, Stop, stop_point
from ..core.processes import NotImportable, Signalled, interruptible
from ..core.quantities import NONE as NONE  # stands for no time of a VM as well
from ..core.quantities import ExactSeconds, plain
from ..core.statistics import Estimate, estimate
from ..core.workers import Workers, by_workers, check_workers, in_this_process

LAUNCHING, RUNNING, HIBERNATED, STOPPED, TERMINATED = range(5)


class VmBill(NamedTuple):
    """A VM and what it cost.

    Attributes
    ----------
    name, type, market : str
        Which VM.
    ready_s, end_s : float
        From when to when it was rented.
    hibernated_s, stopped_s : int
        Seconds of that in hibernation, and stopped or booting again.
    cost_usd : float
        Its bill.
    """

    name: str
    type: str
    market: str
    ready_s: float
    end_s: float
    hibernated_s: int
    cost_usd: float
    stopped_s: int = 0


_EVENTS_A_LOOK = 20
"""Events between two looks at whether it is asked to stop."""

EventRecord: TypeAlias = dict[str, Any]

Result = TypeVar("Result")

Time = TypeVar("Time", bound=ExactSeconds)
"""Time of a clock: whole seconds, or fractions of them as well."""

QueuedEvent: TypeAlias = tuple[Time, int, int, int, int, int]
"""Time, kind (which orders events of the same time), sequence, and three numbers that the kind gives a meaning."""


class EventQueue(Generic[Time]):
    """A clock, a queue of events and a record of them: what the state of every replay has.

    Events come in the order of their times; at equal times by kind, then in the order in which they were queued.

    Parameters
    ----------
    policy_name : str
        Name of the policy, for messages.
    record : bool
        Whether to keep a record of every event and decision in `records`.

    Attributes
    ----------
    now_s : int or Fraction
        Time of the last event.
    records : list of dict or None
        Events and decisions, as in a trace file; None if no record is kept.
    counts : Counter
        How often what has happened.
    """

    def __init__(self, policy_name: str, record: bool) -> None:
        self.policy_name = policy_name
        self.now_s = cast("Time", 0)
        self.records: list[EventRecord] | None = [] if record else None
        self.counts: Counter[str] = Counter()
        self._events: list[QueuedEvent[Time]] = []
        self._sequence = 0

    def _push(self, time_s: Time, kind: int, index: int, datum: int = 0, epoch: int = 0) -> None:
        self._sequence += 1
        heapq.heappush(self._events, (time_s, kind, self._sequence, index, datum, epoch))

    def _happens(self, event: str, **fields: Any) -> None:
        """Count an event, and record it."""
        self.counts["events"] += 1
        self._note(event, **fields)

    def _note(self, event: str, **fields: Any) -> None:
        """Record an event or a decision, if a record is kept."""
        if self.records is not None:
            self.records.append({"record": "event", "t": plain(self.now_s), "event": event, **fields})

    def _demand(self, condition: bool, broken: str) -> None:
        """Refuse a decision that cannot be carried out: a mistake of the policy."""
        if not condition:
            raise SpotbagError(f"{self.policy_name} at {plain(self.now_s)} s: {broken}")


class EventLoop(ABC, Generic[Result]):
    """Handles events to the end."""

    def run(self) -> Result:
        """Go on to the end.

        Raises
        ------
        LimitReached
            If it is asked to stop before.
        """
        step = self.step
        while True:
            for _ in range(_EVENTS_A_LOOK):
                if not step():
                    return self.outcome()
            stop_point()

    @abstractmethod
    def step(self) -> bool:
        """Handle the next event; False if there is none, or all is done."""

    @abstractmethod
    def outcome(self) -> Result:
        """Return the outcome of an ended replay."""


# ------------------------------------------------------- runs side by side

Out = TypeVar("Out")
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Runs(Generic[Out]):
    """Policies side by side on the same runs.

    Attributes
    ----------
    policies : tuple of str
        The policies.
    outcomes : tuple of tuple
        Of each policy, one outcome a run.
    interrupted : bool
        Whether there are fewer runs than were asked for, or none; also if a signal came when all were done.
    """

    policies: tuple[str, ...]
    outcomes: tuple[tuple[Out, ...], ...]
    interrupted: bool = False

    @property
    def n_runs(self) -> int:
        """Number of runs of each policy."""
        return len(self.outcomes[0])


@dataclass(frozen=True, slots=True)
class Summary:
    """Runs of a policy in sum.

    Attributes
    ----------
    policy : str
        The policy.
    runs : int
        Runs replayed.
    means : dict of str to Estimate
        Of each metric, over all runs.
    """

    policy: str
    runs: int
    means: dict[str, Estimate]


def means_of(outcomes: Sequence[Out], metrics: Mapping[str, Callable[[Out], float]]) -> dict[str, Estimate]:
    """Estimate the mean of each metric over the outcomes of one policy."""
    return {name: estimate([float(metric(outcome)) for outcome in outcomes]) for name, metric in metrics.items()}


def by_name(*names: str) -> dict[str, Callable[[Any], float]]:
    """Return metrics that are fields of an outcome, by their names."""
    return {name: attrgetter(name) for name in names}


def check_runs(runs: int, workers: Workers, seed: int | None = None) -> None:
    """Refuse numbers of runs and of processes, and seeds, that are out of range.

    Parameters
    ----------
    runs : int
        How many.
    workers : int or distributed.Client
        Processes that replay them.
    seed : int, optional
        The first, where each run has a seed of its own and they count on from it.

    Raises
    ------
    InputError
        If one is out of range.
    """
    if runs < 1:
        raise InputError("replay", [Issue("", "must be 1 or more", "runs", runs)])
    check_workers(workers)
    if seed is not None and (seed < 0 or seed + runs > 2**64):
        rule = f"and those of all {runs} runs, which count on from it, must be from 0 to 2**64 - 1"
        raise InputError("replay", [Issue("", rule, "seed", seed)])


def outcomes_by_policy(rows: Sequence[Sequence[Out]], n_policies: int) -> tuple[tuple[Out, ...], ...]:
    """Turn rows of outcomes, one of each policy, into the outcomes of each policy; there may be no rows."""
    return tuple(zip(*rows, strict=True)) if rows else ((),) * n_policies


def replay_batches(
    work: Callable[[range], Iterable[Row]],
    numbers: range,
    *,
    workers: Workers,
    per_batch: int,
    on_run: Callable[[int], None] | None = None,
    stop: Stop | None = None,
) -> tuple[list[Row], bool]:
    """Replay runs, in this process one by one, in others in batches.

    Parameters
    ----------
    work : callable
        From the numbers (seeds, days) of some runs to a row for each, one after the other.
    numbers : range
        Those of all runs, at least one.
    workers : int or distributed.Client
        Processes, or a Dask cluster.
    per_batch : int
        Most runs in a batch.
    on_run : callable, optional
        Called with the number of runs that have just been done. An exception in it ends the work, and is raised here.
    stop : Stop, optional
        Ends it early; so do Ctrl-C and SIGTERM. What `on_run` was called with is among the rows.

    Returns
    -------
    rows : list
        In the order of the numbers.
    interrupted : bool
        Whether it was ended early.

    Raises
    ------
    InputError
        If other processes cannot import what is to be replayed.
    """
    done: list[Row] = []
    signalled = Signalled()
    with interruptible(stop):
        try:
            for rows in _in_batches(work, numbers, workers, per_batch):
                done += rows
                if on_run is not None:
                    on_run(len(rows))
                stop_point()
        except LimitReached:
            pass
        except NotImportable as error:
            rule = "cannot be imported in other processes: have them in a module that can, or replay in this one"
            raise InputError("replay", [Issue("", f"{rule} (workers=1)", "policies")]) from error
    return done, len(done) < len(numbers) or signalled.is_set()


def _in_batches(
    work: Callable[[range], Iterable[Row]], numbers: range, workers: Workers, per_batch: int
) -> Iterator[list[Row]]:
    """Replay runs; yield the rows of those that have just been done."""
    if in_this_process(workers):
        yield from ([row] for row in work(numbers))
    else:
        batches = [numbers[first : first + per_batch] for first in range(0, len(numbers), per_batch)]
        yield from by_workers(partial(_as_list, work), batches, workers)


def _as_list(work: Callable[[range], Iterable[Row]], numbers: range) -> list[Row]:
    return list(work(numbers))
