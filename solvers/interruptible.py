"""Solvers run in a thread, so that Ctrl-C reaches us and not them."""

from __future__ import annotations

import threading
from collections.abc import Callable

_POLL_S = 0.1


def run_interruptibly(work: Callable[[], None], stop: Callable[[], None]) -> bool:
    """Do some work in a thread; at Ctrl-C ask it to stop and wait for it.

    Parameters
    ----------
    work : callable
        What to do. An exception in it is raised here.
    stop : callable
        Makes the work end early; called from another thread.

    Returns
    -------
    bool
        Whether the user interrupted it.
    """
    failures: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=guarded, daemon=True)
    interrupted = False
    thread.start()
    while thread.is_alive():
        try:
            thread.join(_POLL_S)
        except KeyboardInterrupt:
            interrupted = True
            stop()
    if failures:
        raise failures[0]
    return interrupted
