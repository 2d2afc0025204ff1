"""Work in threads, processes and clusters that ends when its limit is over, and interrupts as requests to stop."""

from __future__ import annotations

import atexit
import gc
import math
import os
import queue
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from .errors import InputError, Issue, SpotbagError
from .limits import (
    ITERATIONS,
    Limit,
    LimitReached,
    Stop,
    count_work,
    current_limit,
    ended_by,
    seconds_left,
    within,
)
from .plugins import PluginWarning
from .wording import PrintableStream

if TYPE_CHECKING:
    from concurrent.futures import Future
    from typing import TextIO

    from .quantities import IntArray

COMPILING = "compiling"
"""Name of threads that compile loops."""
NOT_KEPT = "compiled code cannot be kept"
"""Beginning of the warning that each process compiles anew."""

POLL_S = 0.05
_ASK_AGAIN_S = 0.01
_PARENT_POLL_S = 1.0

QUEUED_A_WORKER = 2

MOST_LOSSES = 3
"""Most times that the work of a process that is lost is done again."""

_HARMLESS = ("Failed to kill subprocesses", "A worker stopped while some jobs were given to the executor")
"""Warnings of the executor: workers have no processes of their own, and one that has been idle for long is replaced."""

_FEEDER_S = 2.0
"""How long the thread that hands work over to other processes is waited for, when these have ended."""

THREADS = "SPOTBAG_THREADS"
"""Environment variable with the number of threads where none is asked for; one for each usable core without it."""
_LIBRARIES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_ONE_THREAD = dict.fromkeys((THREADS, *_LIBRARIES), "1")
"""Environment of worker processes, which would take a thread for each core otherwise: the workers share the cores."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Signals that ask a program to end: Ctrl-C, and that of other programs."""

_received: list[int] = []


def usable_cores() -> int:
    """Number of cores on which this process may run."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_threads() -> int:
    """Number of parallel threads where none is asked for.

    Raises
    ------
    InputError
        If the environment variable has no such number.
    """
    given = os.environ.get(THREADS)
    if given is None:
        return usable_cores()
    if not (given.isdecimal() and int(given) >= 1):
        raise InputError(THREADS, [Issue("", "must be a whole number from 1 on, such as 1", value=given)])
    return int(given)


def interrupt(number: int, frame: FrameType | None) -> None:
    """Handle a signal outside long work: count it, and raise KeyboardInterrupt."""
    _received.append(number)
    raise KeyboardInterrupt


class Signalled:
    """A stop that signals set, from its making on; not an Event, whose lock a second signal might find taken."""

    def __init__(self) -> None:
        self._before = len(_received)

    def is_set(self) -> bool:
        """True once a signal to end has come."""
        return len(_received) > self._before

    def ask(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal: the first is a request, which the work may take its time to answer."""
        if self.is_set():
            interrupt(number, frame)
        _received.append(number)


class _AsyncioInterrupted:
    """A stop that Ctrl-C sets under ``asyncio.run``, from its making on.

    That has a handler of its own, which cancels its main task: what works in a thread for it would keep the program
    from ending, and what works in the main thread, the task. Only a private count of the runner says that Ctrl-C came.
    """

    def __init__(self) -> None:
        handler = signal.getsignal(signal.SIGINT)
        self._runner = getattr(getattr(handler, "func", None), "__self__", None)
        self._before = self._count()

    def _count(self) -> int:
        return getattr(self._runner, "_interrupt_count", 0)

    def is_set(self) -> bool:
        """True once Ctrl-C has come."""
        return self._count() > self._before


@contextmanager
def signals_to(
    handler: Callable[[int, FrameType | None], None],
    takes: Callable[[Any], bool],
    afterwards: Callable[[int, FrameType | None], None] | None = None,
) -> Iterator[bool]:
    """Have a function handle signals inside; gives whether there are any for it.

    Parameters
    ----------
    handler : callable
        The function.
    takes : callable
        Whether it takes the place of a handler. Signals are those of the main thread.
    afterwards : callable, optional
        Handles them after that; the handler of before if absent.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in SIGNALS}
    taken = {number: other for number, other in before.items() if takes(other)}
    try:
        for number in taken:
            signal.signal(number, handler)
        yield bool(taken)
    finally:
        for number, other in taken.items():
            signal.signal(number, afterwards or other)


@contextmanager
def interruptible(
    stop: Stop | None = None, on_life: Callable[[], None] | None = None, *, told: bool = True
) -> Iterator[Limit]:
    """Have a caller's stop, Ctrl-C and SIGTERM end the work inside, all in the same way; gives the limit of the work.

    Whether the work was asked to stop is to be read from this limit after the work, not inside: a signal that comes
    after that is the caller's, so that none is lost. A second signal does not wait for the work any longer, but raises
    KeyboardInterrupt. Signals are left alone where a program handles them by itself; Ctrl-C under
    ``asyncio.run``, which does, ends the work as well, in any thread.

    Parameters
    ----------
    stop : Stop, optional
        What the caller sets to have the work ended.
    on_life : callable, optional
        See `spotbag.core.limits.Limit`.
    told : bool
        Whether the answer says that the work was asked to stop. Where it has no word for that, a signal is a
        KeyboardInterrupt once the work has ended.
    """
    signalled = Signalled()
    usual = (signal.default_int_handler, interrupt)
    with (
        signals_to(signalled.ask, lambda handler: handler in usual) as taken,
        within(stop=stop, on_life=on_life),
        within(stop=signalled if taken else _AsyncioInterrupted()) as limit,
    ):
        yield limit
    if taken and signalled.is_set() and not told:
        raise KeyboardInterrupt


@contextmanager
def ended_at_once() -> Iterator[None]:
    """Have a signal be a KeyboardInterrupt inside, though this is amid work that is `interruptible`."""
    with signals_to(interrupt, lambda handler: getattr(handler, "__func__", None) is Signalled.ask):
        yield


Done = TypeVar("Done")

_left_behind: list[tuple[threading.Thread, Callable[[], None]]] = []


@atexit.register
def wait_for_left_behind() -> None:
    """Wait for work that was asked to end and has not done so yet: no thread may outlive what it works on."""
    while _left_behind:
        thread, end = _left_behind.pop()
        while thread.is_alive():
            end()  # again: what had not begun yet did not hear of it
            thread.join(_ASK_AGAIN_S)


def left_behind() -> set[str]:
    """Return the names of threads with work that was asked to end and still goes on."""
    return {thread.name for thread, _ in _left_behind if thread.is_alive()}


def leave_behind(thread: threading.Thread, end: Callable[[], None]) -> None:
    """Leave a thread to itself that was asked to end and has not done so yet; the end of the process waits for it."""
    _left_behind[:] = [entry for entry in _left_behind if entry[0].is_alive()]
    _left_behind.append((thread, end))


def run_in_thread(
    work: Callable[[], None],
    end: Callable[[], None],
    watch: Callable[[], None] | None = None,
    *,
    leave_after_s: float | None = None,
    name: str | None = None,
) -> bool:
    """Run work in a thread, and ask it to end when the limit is over; see `run_in_threads`."""
    return run_in_threads((work,), end, watch, leave_after_s=leave_after_s, name=name)


class _Threads:
    """Threads of several kinds of work, and what has failed in them.

    Attributes
    ----------
    failures : list of BaseException
        Exceptions of the work.
    ended : Event
        Set once all have ended: a join that is interrupted can take a thread that still runs for one that has ended.
    """

    def __init__(self, works: Sequence[Callable[[], None]], end: Callable[[], None], name: str | None) -> None:
        self.failures: list[BaseException] = []
        self.ended = threading.Event()
        self._end, self._going_on, self._last = end, list(works), threading.Lock()
        self._threads = [threading.Thread(target=self._do, args=(work,), name=name, daemon=True) for work in works]
        for thread in self._threads:
            thread.start()

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            self.failures.append(error)
        finally:
            with self._last:
                self._going_on.remove(work)
                if not self._going_on:
                    self.ended.set()

    def leave(self) -> None:
        """Leave the threads to themselves: they are remembered, for the end of the process to wait for them."""
        for thread in self._threads:
            leave_behind(thread, self._end)


def run_in_threads(
    works: Sequence[Callable[[], None]],
    end: Callable[[], None],
    watch: Callable[[], None] | None = None,
    *,
    leave_after_s: float | None = None,
    name: str | None = None,
) -> bool:
    """Do several kinds of work in a thread each, and ask all of them to end when the limit is over.

    Parameters
    ----------
    works : sequence of callable
        What to do. An exception in one ends the others, and is raised here.
    end : callable
        Makes the work end early; called from this thread, and again until the work ends: a solver that has not begun
        yet does not notice.
    watch : callable, optional
        Called in this thread now and then, and once more in the end. An exception in it ends the work and is raised.
    leave_after_s : float, optional
        Seconds after which work that was asked to end, and has not done so yet, is left to itself: solvers can take
        long until they notice. Nobody may touch then what it works on.
    name : str, optional
        Of the threads; see `left_behind`.

    Returns
    -------
    bool
        Whether all have ended; False if some were left to themselves.
    """
    limit = current_limit()
    threads = _Threads(works, end, name)
    failures, over, asked_s = threads.failures, False, math.inf
    while not over:
        try:
            if failures or limit.over():
                end()
                asked_s = min(asked_s, time.monotonic())
            asked = asked_s < math.inf
            over = threads.ended.wait(_ASK_AGAIN_S if asked else min(POLL_S, max(limit.deadline - limit.now_s(), 0.0)))
            if limit.on_life is not None and not failures:
                limit.on_life()
            if watch is not None and not failures:
                watch()
        except KeyboardInterrupt:  # a second interrupt waits for nothing
            end()
            threads.leave()
            raise
        except BaseException as error:  # of a callback: what runs must end before it is raised
            failures.append(error)
        # Work that does not look at its limit, such as a compiled loop, is left to end on its own.
        if not over and leave_after_s is not None and time.monotonic() - asked_s >= leave_after_s:
            threads.leave()
            break
    if failures:
        raise failures[0]
    return over


def run_compiled(work: Callable[[], Done], halt: IntArray, iterations_a_step: float = 0.0) -> Done:
    """Run a compiled loop that ends early once ``halt[0]`` is not 0.

    Parameters
    ----------
    work : callable
        Calls the loop.
    halt : array of int, shape (2,)
        Set when the limit is over; and how many steps the loop may still make, which it counts down. A loop that does
        not count has the first alone.
    iterations_a_step : float
        Iterations that a step counts for, where work is the clock.

    Raises
    ------
    LimitReached
        If it is.
    """
    limit, left_s, given = current_limit(), seconds_left(), int(halt[-1])
    if limit.work is not None and left_s is not None and iterations_a_step:
        halt[1] = min(given, int(left_s * ITERATIONS.second / iterations_a_step))
    most = int(halt[-1])
    results: list[Done] = []

    def end() -> None:
        halt[0] = 1

    def run() -> None:
        with ended_by(limit.stops):  # to compile it may take longer than anybody wants to wait
            results.append(work())

    if limit.deadline == math.inf and not limit.stops and limit.on_life is None:
        results.append(work())
    else:
        run_in_thread(run, end)
    steps = most - int(halt[-1])
    count_work(iterations_a_step * steps)
    if halt[0] or (most < given and most < steps):
        raise LimitReached
    halt[1:] = given - steps
    return results[0]


class NotImportable(SpotbagError):  # noqa: N818 (by what is wrong)
    """Other processes cannot import what is handed over to them."""


class Executor(Protocol):
    """Does work on cases elsewhere; its jobs are of its own kind."""

    def room(self) -> int:
        """Number of jobs that the executor may hold at a time."""

    def submit(self, case: Any) -> Any:
        """Hand over a case; return the job."""

    def wait(self, jobs: Sequence[Any]) -> Sequence[Any]:
        """Wait a moment until one of some jobs is done; return those that are."""

    def result(self, job: Any) -> Any:
        """Return the result of a job that is done, or raise its error."""

    def end(self) -> None:
        """End the jobs that are not done."""


@dataclass(eq=False, slots=True)
class _Job:
    """A case in another process."""

    case: Any
    future: Future[Any]


class Processes:
    """Does work on cases in processes of this machine, as an `Executor`.

    Parameters
    ----------
    work : callable
        What is done with a case.
    workers : int
        Number of processes.
    """

    def __init__(self, work: Callable[[Any], Any], workers: int) -> None:
        # For good, as a thread warns: where warnings are errors it would end, and what waits for it would never go on.
        for harmless in _HARMLESS:
            warnings.filterwarnings("ignore", harmless, UserWarning)
        _start_tracker()
        self._work = work
        self._workers = workers
        self._path = tuple(sys.path)  # processes that had another one are replaced
        self._pool: Any = None
        self._jobs: list[_Job] = []
        self._losses = 0

    def room(self) -> int:
        """Number of jobs that the pool may hold at a time."""
        return QUEUED_A_WORKER * self._workers

    def submit(self, case: Any) -> _Job:
        """Hand over a case; return the job."""
        job = _Job(case, self._future(case))
        self._jobs.append(job)
        return job

    def _future(self, case: Any) -> Future[Any]:
        """Hand over a case, to new processes if one has been lost."""
        from joblib.externals.loky import get_reusable_executor

        with _signals_held():
            self._pool = get_reusable_executor(
                max_workers=self._workers,
                initializer=_belong_to_parent,
                initargs=(self._path, isinstance(sys.stderr, PrintableStream)),
                env=_ONE_THREAD,
            )
            return cast("Future[Any]", self._pool.submit(self._work, case))

    def wait(self, jobs: Sequence[_Job]) -> Sequence[_Job]:
        """Wait a moment until one of some jobs is done; return those that are."""
        from concurrent.futures import FIRST_COMPLETED, wait

        wait([job.future for job in jobs], POLL_S, FIRST_COMPLETED)
        done = [job for job in jobs if job.future.done()]
        lost = [job for job in done if _is_lost(job)]
        if not lost:
            return done
        self._losses += 1
        if self._losses > MOST_LOSSES:
            raise lost_again_and_again(self._losses) from lost[0].future.exception()
        wait([job.future for job in self._jobs])  # all processes end with the one that was lost
        for job in filter(_is_lost, self._jobs):
            job.future = self._future(job.case)
        return []

    def result(self, job: _Job) -> Any:
        """Return the result of a job that is done, or raise its error."""
        from joblib.externals.loky.process_executor import BrokenProcessPool

        self._jobs.remove(job)
        self._losses = 0
        try:
            return job.future.result()
        except BrokenProcessPool as error:
            raise NotImportable(str(error)) from error

    def end(self) -> None:
        """End the processes."""
        with _signals_held():  # a second interrupt would leave workers behind
            if self._pool is not None:
                _forget_waiting(self._pool)
                feeder = getattr(self._pool._call_queue, "_thread", None)
                self._pool.shutdown(wait=True, kill_workers=True)
                # Loky does not wait for the thread that hands work over. An interrupted program ends at once: a
                # semaphore that the thread removes just then would be reported as one that was left behind.
                if feeder is not None:
                    feeder.join(_FEEDER_S)


def lost_again_and_again(times: int) -> SpotbagError:
    """Error for processes that end, time after time, before their work is done."""
    return SpotbagError(f"processes were lost {times} times in a row: if they lack memory, have fewer of them")


def _is_lost(job: _Job) -> bool:
    """True if the process of a job ended before the job did."""
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    return job.future.done() and isinstance(job.future.exception(), TerminatedWorkerError)


def _forget_waiting(executor: Any) -> None:
    """Take back the numbers of work that no worker has got yet: loky looks for it once more after it has dropped it."""
    with suppress(queue.Empty):
        while True:
            executor._work_ids.get(block=False)


def _start_tracker() -> None:
    """Start the process by which Python finds what workers leave behind; its start ends a hold of signals."""
    if hasattr(signal, "pthread_sigmask"):
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep the collector of garbage waiting, which may take longer than what is done inside.

    What is thrown away meanwhile is found once the caller makes something.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@contextmanager
def _signals_held() -> Iterator[None]:
    """Hold signals back for a moment: a process that begins meanwhile never receives any.

    Ctrl-C reaches all processes of a terminal, and also one that has not yet come to `_belong_to_parent`.
    """
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _belong_to_parent(path: Sequence[str], made_safe: bool) -> None:
    """Find modules where the parent does, leave warnings of plug-ins and of compiling to it, and end if it is gone.

    What plug-ins print goes to standard error, made safe where the parent does that: standard output may be the answer
    of a command. Ctrl-C, which reaches all processes of a terminal, is ignored: the parent ends its workers.
    """
    sys.path[:] = path
    warnings.simplefilter("ignore", PluginWarning)
    warnings.filterwarnings("ignore", NOT_KEPT)
    if made_safe and sys.stderr is not None:
        sys.stderr = cast("TextIO", PrintableStream(sys.stderr))
    sys.stdout = sys.stderr
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_after, args=(os.getppid(),), daemon=True).start()


def _end_after(parent: int) -> None:
    """Exit from this process soon after its parent has ended."""
    while os.getppid() == parent:
        time.sleep(_PARENT_POLL_S)
    os._exit(1)
