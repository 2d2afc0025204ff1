"""What tests have done by other processes, which can import this module whenever they were started."""

from __future__ import annotations

import signal
import time


def slowly(number: int) -> int:
    """Return a number after a moment."""
    time.sleep(0.01)
    return number


def twice(number: int) -> int:
    """Double a number."""
    return 2 * number


def interrupt_handler(_: int) -> object:
    """Return what this process does at Ctrl-C."""
    return signal.getsignal(signal.SIGINT)
