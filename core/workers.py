"""Distribution of work on many cases: to this process, several of this machine, or a Dask cluster."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from .errors import InputError, Issue
from .limits import stop_point
from .processes import Executor, Processes

if TYPE_CHECKING:
    from distributed import Client

Workers: TypeAlias = "int | Client"
"""Workers for many cases: a number of processes of this machine (with 1, this process), or a Dask cluster."""

Case = TypeVar("Case")
Done = TypeVar("Done")


def check_workers(workers: Workers) -> None:
    """Refuse workers that are neither a number of processes nor a Dask client.

    Raises
    ------
    InputError
        If it is neither.
    """
    if isinstance(workers, int):
        rule = "must be 1 or more" if workers < 1 else ""
    elif "distributed" not in sys.modules or not isinstance(workers, sys.modules["distributed"].Client):
        rule = "must be a number of processes, or a Dask client (distributed.Client)"
    else:
        rule = "must not be asynchronous" if workers.asynchronous else ""
    if rule:
        raise InputError("replay", [Issue("", rule, "workers", workers)])


def in_this_process(workers: Workers) -> bool:
    """True if work is done in this process."""
    return isinstance(workers, int) and workers == 1


def by_workers(
    work: Callable[[Case], Done], cases: Iterable[Case], workers: Workers, in_order: bool = True
) -> Iterator[Done]:
    """Do work on cases in other processes, of this machine or of a Dask cluster; whatever ends this ends the work.

    What a process that is lost had to do is done once more.

    Parameters
    ----------
    work : callable
        What is done with a case.
    cases : iterable
        The cases.
    workers : int or distributed.Client
        Number of processes, or the cluster.
    in_order : bool
        Whether results come in the order of the cases, or as they are done.

    Raises
    ------
    LimitReached
        If it is asked to stop before all are done.
    InputError
        If `workers` is neither a number nor a client.
    SpotbagError
        If processes are lost again and again, or the cluster is.
    """
    check_workers(workers)
    stop_point()  # before any process begins
    executor: Executor
    if isinstance(workers, int):
        executor = Processes(work, workers)
    else:
        from .cluster import Cluster

        executor = Cluster(work, workers)
    left = iter(cases)
    queued: deque[Any] = deque()
    ended = False
    try:
        while True:
            # The executor holds no more than it can soon begin, so that a request to stop loses little work.
            queued += map(executor.submit, islice(left, max(executor.room() - len(queued), 0)))
            if not queued:
                break
            stop_point()
            # In order, only the first job is waited for; else whichever ends first is yielded first.
            for job in executor.wait([queued[0]] if in_order else list(queued)):
                queued.remove(job)
                yield executor.result(job)
        ended = True
    finally:
        if not ended:
            executor.end()


def each(work: Callable[[Case], Done], cases: Iterable[Case], workers: Workers) -> Iterator[Done]:
    """Do work on cases, in their order: here, or by several workers.

    Parameters
    ----------
    work, cases
        See `by_workers`.
    workers : int or distributed.Client
        Number of processes, or a Dask cluster; with one, it is done in this process, when its result is asked for.

    Raises
    ------
    LimitReached
        If it is asked to stop before all are done. What that has cut short is not among the results.
    """
    return _here(work, cases) if in_this_process(workers) else by_workers(work, cases, workers)


def _here(work: Callable[[Case], Done], cases: Iterable[Case]) -> Iterator[Done]:
    """Do work on cases in this process."""
    for case in cases:
        stop_point()
        done = work(case)
        stop_point()
        yield done
