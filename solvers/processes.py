"""Work in several processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Case = TypeVar("Case")
Done = TypeVar("Done")


def in_processes(
    work: Callable[[Case], Done], cases: Iterable[Case], jobs: int, in_order: bool = True
) -> Iterator[Done]:
    """Do work on cases in processes of their own; whatever ends this ends them.

    Parameters
    ----------
    work : callable
        What is done with a case.
    cases : iterable
        The cases.
    jobs : int
        Number of processes.
    in_order : bool
        Whether results come in the order of the cases, or as they are done.
    """
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor

    kind = "generator" if in_order else "generator_unordered"
    ended = False
    try:
        yield from Parallel(n_jobs=jobs, batch_size=1, return_as=kind)(delayed(work)(case) for case in cases)
        ended = True
    finally:
        if not ended:
            get_reusable_executor().shutdown(wait=False, kill_workers=True)
