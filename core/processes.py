"""Work in threads and processes that Ctrl-C ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

_POLL_S = 0.1


def run_interruptibly(work: Callable[[], None], stop: Callable[[], None]) -> bool:
    """Do some work in a thread; at Ctrl-C ask it to stop and wait for it.

    Parameters
    ----------
    work : callable
        What to do. An exception in it is raised here.
    stop : callable
        Makes the work end early; called from another thread, and again until the work ends: a solver that has not begun
        yet does not notice.

    Returns
    -------
    bool
        Whether the user interrupted it.
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

    thread = threading.Thread(target=guarded, daemon=True)
    interrupted = over = False
    thread.start()
    # Not thread.join: interrupted, it can take a thread that is still running for one that has ended.
    while not over:
        try:
            if interrupted:
                stop()
            over = ended.wait(_POLL_S)
        except KeyboardInterrupt:
            interrupted = True
    if failures:
        raise failures[0]
    return interrupted


Case = TypeVar("Case")
Done = TypeVar("Done")


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
    """
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor

    kind = "generator" if in_order else "generator_unordered"
    ended = False
    try:
        yield from Parallel(n_jobs=workers, batch_size=1, return_as=kind)(delayed(work)(case) for case in cases)
        ended = True
    finally:
        if not ended:
            get_reusable_executor().shutdown(wait=False, kill_workers=True)


def each(work: Callable[[Case], Done], cases: Iterable[Case], workers: int) -> Iterator[Done]:
    """Do work on cases, in their order: here, or in several processes.

    Parameters
    ----------
    work, cases
        See `in_processes`.
    workers : int
        Number of processes; with one, it is done in this process, when its result is asked for.
    """
    return map(work, cases) if workers == 1 else in_processes(work, cases, workers)
