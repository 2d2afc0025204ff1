"""Limits of work: a time at which to end, a request to stop, and signs of life meanwhile.

Work runs inside a limit (`within`). Whatever takes long calls `checkpoint` in its loops, which raises `LimitReached`
when the limit is over; the caller that began it catches that and returns what was found. Limits nest: an inner one
is never over later than the outer one. A limit is that of a thread: other threads have none of their own.

Time is that of `clock_s`: of the machine, or, where a limit is one of iterations (`work_clock`), of the work
that is done. Loops say how much that is (`count_work`, and each `checkpoint` a little). Code that decides by
time asks that clock, so that the same iterations are the same work, however fast or busy the machine is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from numbers import Real
from typing import ClassVar, Protocol

from .errors import InputError, Issue


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
    simplex_begin, simplex_step, simplex_entry
        The beginning of a run of the simplex method, a step of it, and more of that for each entry of the matrix.
    row
        A row or column that is made and added to a linear programme by itself.
    look_entry
        An entry of the matrix of an integer programme, whenever HiGHS asks if it is to go on.
    cp_sat_second, presolve_variable
        A second of CP-SAT's deterministic time, and a variable that a round of its presolve looks at.
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
    simplex_begin: float = 250.0
    simplex_step: float = 5.0
    simplex_entry: float = 0.01
    row: float = 40.0
    look_entry: float = 7.0
    cp_sat_second: float = 6e6
    presolve_variable: float = 0.15
    bound_entry: float = 0.05
    knapsack_entry: float = 0.002
    state: float = 0.003
    pair: float = 0.05
    column_node: float = 0.5
    slack_step: float = 0.02
    question_task: float = 1.0


ITERATIONS = Iterations()
"""Iterations as they are counted."""

SIGN_OF_LIFE_S = 0.1
"""Seconds between two signs of life, if nothing else is reported meanwhile."""


class Stop(Protocol):
    """A caller's request to end the work, such as ``threading.Event``."""

    def is_set(self) -> bool:
        """True once the work is to end."""


def refuse_no_time_limit(seconds: object) -> None:
    """Refuse a value that is no time limit.

    Raises
    ------
    InputError
        If it is no positive number of seconds.
    """
    if not (isinstance(seconds, Real) and float(seconds) > 0):
        rule = "must be a positive number of seconds, such as 8 or 0.5"
        raise InputError("time limit", [Issue("", rule, value=seconds)])


def refuse_no_iterations(iterations: object) -> None:
    """Refuse a value that is no number of iterations.

    Raises
    ------
    InputError
        If it is no positive whole number.
    """
    number = float(iterations) if isinstance(iterations, Real) and not isinstance(iterations, bool) else 0.0
    if not (number.is_integer() and number >= 1):
        rule = "must be a positive whole number, such as 1_000_000"
        raise InputError("iterations", [Issue("", rule, value=iterations)])


class LimitReached(Exception):  # noqa: N818  (it is no error)
    """The limit is over; the answer is what was found so far."""


class Stopwatch:
    """A watch for the seconds of work, without those in which loops are compiled or loaded.

    That is done once on a machine or in a process: what else gets as much time as the work is not to have more of it
    then.

    Attributes
    ----------
    uncounted_s : float
        Seconds of compiling and loading in this process.
    """

    uncounted_s: ClassVar[float] = 0.0

    def __init__(self) -> None:
        self._begin = self._now()

    def seconds(self) -> float:
        """Return the seconds since the start."""
        return self._now() - self._begin

    @staticmethod
    def _now() -> float:
        # The clock of work does not go on while loops are compiled: there is nothing to be taken off.
        return clock_s() - (Stopwatch.uncounted_s if _current.get().work is None else 0.0)

    @staticmethod
    @contextmanager
    def stopped() -> Iterator[None]:
        """Stop all watches for what is done inside."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            Stopwatch.uncounted_s += time.perf_counter() - begin


@dataclass(slots=True)
class Clock:
    """Record of work that was cut short by time, and might have another result next time.

    Attributes
    ----------
    ended_work : bool
        True once time has cut work short.
    """

    ended_work: bool = False


@dataclass(slots=True, eq=False)
class Work:
    """A clock that counts work in place of time.

    Attributes
    ----------
    iterations : float
        Work that is done so far.
    """

    iterations: float = 0.0


@dataclass(frozen=True, slots=True)
class Limit:
    """Limit until which work may go on.

    Attributes
    ----------
    deadline : float
        Moment of `clock_s`.
    stops : tuple of Stop
        Whichever is set first ends the work.
    on_life : callable, optional
        Called now and then while the work goes on, at `checkpoint` and while a solver is waited for.
    clock : Clock, optional
        Hears of it when the time is over.
    work : Work, optional
        The clock, where it is not that of the machine.
    """

    deadline: float = math.inf
    stops: tuple[Stop, ...] = ()
    on_life: Callable[[], None] | None = None
    clock: Clock | None = None
    work: Work | None = None

    def now_s(self) -> float:
        """Return the moment of its clock."""
        return time.perf_counter() if self.work is None else self.work.iterations / ITERATIONS.second

    def stopped(self) -> bool:
        """True if the caller has asked to stop."""
        return any(stop.is_set() for stop in self.stops)

    def over(self) -> bool:
        """True if the time is over, or the caller has asked to stop."""
        # Asked first: work that was stopped has not run out of time, and its clock must not record that it has.
        if self.stopped():
            return True
        if self.deadline == math.inf or self.now_s() < self.deadline:
            return False
        self.ended_by_time()
        return True

    def ended_by_time(self) -> None:
        """Record work, or a part of it, as ended by time."""
        if self.clock is not None:
            self.clock.ended_work = True


_NO_LIMIT = Limit()
_current: ContextVar[Limit] = ContextVar("limit", default=_NO_LIMIT)


def current_limit() -> Limit:
    """Return the limit that holds here."""
    return _current.get()


@contextmanager
def _holding(limit: Limit) -> Iterator[None]:
    """Have a limit hold inside."""
    token = _current.set(limit)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def within(
    seconds: float | None = None,
    *,
    begin: float | None = None,
    stop: Stop | None = None,
    on_life: Callable[[], None] | None = None,
) -> Iterator[Limit]:
    """Limit the work inside.

    Parameters
    ----------
    seconds : float, optional
        How long it may take; no longer than the outer limit in any case.
    begin : float, optional
        Moment of `clock_s` from which they count; now if absent.
    stop : Stop, optional
        Ends it as well.
    on_life : callable, optional
        See `Limit`; that of the outer limit if absent.
    """
    outer = _current.get()
    deadline = outer.deadline
    if seconds is not None:
        deadline = min(deadline, (outer.now_s() if begin is None else begin) + seconds)
    stops = outer.stops if stop is None else (*outer.stops, stop)
    limit = replace(outer, deadline=deadline, stops=stops, on_life=on_life or outer.on_life)
    with _holding(limit):
        yield limit


@contextmanager
def work_clock() -> Iterator[Work]:
    """Have the time inside be that of work, which begins at 0, and no limit but requests to stop."""
    work = Work()
    with _holding(replace(_current.get(), deadline=math.inf, work=work)):
        yield work


@contextmanager
def own_work() -> Iterator[None]:
    """Have the work inside, which goes on beside other work, be counted by itself; both take as long as the longer."""
    outer = _current.get()
    if outer.work is None:
        yield
        return
    work = Work(outer.work.iterations)
    # Parts that go on beside each other each count from here; the outer work then stands where the longest ended.
    try:
        with _holding(replace(outer, work=work)):
            yield
    finally:
        outer.work.iterations = max(outer.work.iterations, work.iterations)


def clock_s() -> float:
    """Return the moment by which limits, and all that is decided by time, go: of the machine's clock, or of work."""
    return _current.get().now_s()


def count_work(iterations: float) -> None:
    """Count work that is done, where that is the clock."""
    work = _current.get().work
    if work is not None:
        work.iterations += iterations


def ended_by(stops: tuple[Stop, ...]) -> AbstractContextManager[None]:
    """Limit the work inside by some requests to stop, and by no time."""
    return _holding(Limit(stops=stops))


@contextmanager
def watched_time() -> Iterator[Clock]:
    """Have a clock hear whether time ends the work inside, or a part of it."""
    clock = Clock()
    with _holding(replace(_current.get(), clock=clock)):
        yield clock


def overtime(seconds: float) -> AbstractContextManager[None]:
    """Allow the work inside some seconds from now on, though the limit may be over; requests to stop hold as before.

    For what little must follow, so that the work that has been done is of use.
    """
    outer = _current.get()
    return _holding(replace(outer, deadline=max(outer.deadline, outer.now_s() + seconds)))


def sign_of_life() -> None:
    """Report progress of work that cannot end yet to whoever watches the limit."""
    limit = _current.get()
    if limit.on_life is not None:
        limit.on_life()


def checkpoint() -> None:
    """Give a sign of life, and end the work if its limit is over.

    Raises
    ------
    LimitReached
        If it is.
    """
    limit = _current.get()
    if limit.on_life is not None:
        limit.on_life()
    # Counted before the limit is looked at: a loop that counts nothing else ends by its checkpoints, too.
    if limit.work is not None:
        limit.work.iterations += ITERATIONS.checkpoint
    if limit.over():
        raise LimitReached


def stop_point() -> None:
    """Give a sign of life, and end the work if it was asked to stop: where a first answer matters more than time.

    Raises
    ------
    LimitReached
        If it was.
    """
    sign_of_life()
    if _current.get().stopped():
        raise LimitReached


def out_of_time() -> bool:
    """True if the current limit is over."""
    return _current.get().over()


def stopped() -> bool:
    """True if the caller has asked the current work to stop."""
    return _current.get().stopped()


def seconds_left() -> float | None:
    """Seconds until the limit here is over, at least 0; None without one."""
    limit = _current.get()
    return None if limit.deadline == math.inf else max(limit.deadline - limit.now_s(), 0.0)


def share_of_time(share: float) -> float | None:
    """Share of the seconds left to the current limit; None without one."""
    left = seconds_left()
    return None if left is None else share * left
