"""Work in threads and processes that end when their limit is over, and interrupts as requests to stop."""

from __future__ import annotations

import atexit
import math
import os
import queue
import signal
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from .limits import LimitReached, Stop, current_limit, stop_point, within

if TYPE_CHECKING:
    from concurrent.futures import Future

    from .quantities import IntArray

_POLL_S = 0.05
_ASK_AGAIN_S = 0.01
_PARENT_POLL_S = 1.0

_QUEUED_A_WORKER = 2

_HARMLESS = ("Failed to kill subprocesses", "A worker stopped while some jobs were given to the executor")
"""Warnings of the executor: workers have no processes of their own, and one that has been idle for long is replaced."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""What asks a program to end: Ctrl-C, and whoever else wants it gone."""

_received: list[int] = []


def interrupt(number: int, frame: FrameType | None) -> None:
    """Handle a signal outside long work: count it, and raise KeyboardInterrupt."""
    _received.append(number)
    raise KeyboardInterrupt


def signals_received() -> int:
    """How many signals this process has taken as requests to stop, by `interrupt` or in long work."""
    return len(_received)


@contextmanager
def interruptible(stop: Stop | None = None, on_life: Callable[[], None] | None = None) -> Iterator[None]:
    """Have a caller's stop, Ctrl-C and SIGTERM end the work inside, all in the same way.

    A second signal does not wait for the work any longer, but raises KeyboardInterrupt. Signals are those of the main
    thread, and left alone where a program handles them by itself.

    Parameters
    ----------
    stop : Stop, optional
        What the caller sets to have the work ended.
    on_life : callable, optional
        See `spotbag.core.limits.Limit`.
    """
    signalled = _Signalled()
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in SIGNALS}
    taken = [number for number, handler in before.items() if handler in (signal.default_int_handler, interrupt)]
    try:
        for number in taken:
            signal.signal(number, signalled.ask)
        with within(stop=stop, on_life=on_life), within(stop=signalled if taken else None):
            yield
    finally:
        for number in taken:
            signal.signal(number, before[number])


class _Signalled:
    """A stop that a signal sets; not an Event, whose lock a second signal might find taken by the first."""

    def __init__(self) -> None:
        self._asked = False

    def is_set(self) -> bool:
        """Whether there was a signal."""
        return self._asked

    def ask(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if self._asked:
            interrupt(number, frame)
        self._asked = True
        _received.append(number)


Case = TypeVar("Case")
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


def any_left_behind() -> bool:
    """Whether some work that was asked to end still goes on."""
    return any(thread.is_alive() for thread, _ in _left_behind)


def run_in_thread(
    work: Callable[[], None],
    end: Callable[[], None],
    watch: Callable[[], None] | None = None,
    *,
    leave_after_s: float | None = None,
) -> bool:
    """Do some work in a thread, and ask it to end when the limit is over.

    Parameters
    ----------
    work : callable
        What to do. An exception in it is raised here.
    end : callable
        Makes the work end early; called from this thread, and again until the work ends: a solver that has not begun
        yet does not notice.
    watch : callable, optional
        Called in this thread now and then, and once more in the end. An exception in it ends the work and is raised.
    leave_after_s : float, optional
        Seconds after which work that was asked to end, and has not done so yet, is left to itself: solvers can take
        long until they notice. Nobody may touch then what it works on.

    Returns
    -------
    bool
        Whether it has ended; False if it was left to itself.
    """
    failures: list[BaseException] = []
    ended = threading.Event()

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)
        finally:
            ended.set()

    limit = current_limit()
    thread = threading.Thread(target=guarded, daemon=True)
    thread.start()
    # Not thread.join: interrupted, it can take a thread that is still running for one that has ended.
    over, asked_s = False, math.inf
    while not over:
        try:
            if failures or limit.over():
                end()
                asked_s = min(asked_s, time.monotonic())
            asked = asked_s < math.inf
            over = ended.wait(_ASK_AGAIN_S if asked else min(_POLL_S, max(limit.deadline - time.perf_counter(), 0.0)))
            if limit.on_life is not None and not failures:
                limit.on_life()
            if watch is not None and not failures:
                watch()
        except KeyboardInterrupt:  # a second interrupt waits for nothing
            end()
            _left_behind[:] = [entry for entry in _left_behind if entry[0].is_alive()] + [(thread, end)]
            raise
        except BaseException as error:  # of a callback: what runs must end before it is raised
            failures.append(error)
        if not over and leave_after_s is not None and time.monotonic() - asked_s >= leave_after_s:
            _left_behind[:] = [entry for entry in _left_behind if entry[0].is_alive()] + [(thread, end)]
            break
    if failures:
        raise failures[0]
    return over


def run_compiled(work: Callable[[], Done], halt: IntArray) -> Done:
    """Run a compiled loop that ends early once ``halt[0]`` is not 0.

    Parameters
    ----------
    work : callable
        Calls the loop.
    halt : array of int, shape (1,)
        Set when the limit is over.

    Raises
    ------
    LimitReached
        If it is.
    """
    limit = current_limit()
    if limit.deadline == math.inf and not limit.stops and limit.on_life is None:
        return work()
    results: list[Done] = []

    def end() -> None:
        halt[0] = 1

    run_in_thread(lambda: results.append(work()), end)
    if halt[0]:
        raise LimitReached
    return results[0]


def in_processes(
    work: Callable[[Case], Done], cases: Iterable[Case], workers: int, in_order: bool = True
) -> Iterator[Done]:
    """Do work on cases in processes of their own; whatever ends this ends them.

    Parameters
    ----------
    work : callable
        What is done with a case.
    cases : iterable
        The cases.
    workers : int
        Number of processes.
    in_order : bool
        Whether results come in the order of the cases, or as they are done.

    Raises
    ------
    LimitReached
        If it is asked to stop before all are done.
    """
    from concurrent.futures import FIRST_COMPLETED, wait

    from joblib.externals.loky import get_reusable_executor

    # For good, as a thread warns: where warnings are errors it would end, and what waits for it would wait for ever.
    for harmless in _HARMLESS:
        warnings.filterwarnings("ignore", harmless, UserWarning)
    stop_point()  # before any process begins
    _start_tracker()
    with _signals_held():
        executor = get_reusable_executor(max_workers=workers, initializer=_belong_to_parent)
    ended = False
    left = iter(cases)
    queued: deque[Future[Done]] = deque()
    try:
        while True:
            while len(queued) < _QUEUED_A_WORKER * workers:
                try:
                    case = next(left)
                    with _signals_held():
                        queued.append(executor.submit(work, case))
                except StopIteration:
                    break
            if not queued:
                break
            stop_point()
            done = wait([queued[0]] if in_order else queued, _POLL_S, FIRST_COMPLETED).done
            for future in [future for future in queued if future in done]:
                queued.remove(future)
                yield future.result()
        ended = True
    finally:
        if not ended:
            with _signals_held():  # a second interrupt would leave workers behind
                _forget_waiting(executor)
                executor.shutdown(wait=True, kill_workers=True)


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


def _belong_to_parent() -> None:
    """Ignore Ctrl-C, which reaches all processes of a terminal: the parent ends its workers. End if it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_after, args=(os.getppid(),), daemon=True).start()


def _end_after(parent: int) -> None:
    """End this process soon after its parent."""
    while os.getppid() == parent:
        time.sleep(_PARENT_POLL_S)
    os._exit(1)


def each(work: Callable[[Case], Done], cases: Iterable[Case], workers: int) -> Iterator[Done]:
    """Do work on cases, in their order: here, or in several processes.

    Parameters
    ----------
    work, cases
        See `in_processes`.
    workers : int
        Number of processes; with one, it is done in this process, when its result is asked for.

    Raises
    ------
    LimitReached
        If it is asked to stop before all are done. What that has cut short is not among the results.
    """
    return _here(work, cases) if workers == 1 else in_processes(work, cases, workers)


def _here(work: Callable[[Case], Done], cases: Iterable[Case]) -> Iterator[Done]:
    """Do work on cases in this process."""
    for case in cases:
        stop_point()
        done = work(case)
        stop_point()
        yield done
