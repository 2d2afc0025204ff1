"""What tests have done by other processes, which can import this module whenever they were started."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from pathlib import Path

from spotbag.core.limits import stopped


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


def end_once(case: tuple[str, int]) -> int:
    """Double a number; the first process that has this case of number 3 is lost."""
    folder, number = case
    seen = Path(folder) / "seen"
    if number == 3 and not seen.exists():
        seen.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def end_after_the_next(case: tuple[str, int]) -> int:
    """Return a number; 0 only once the case of 1 has nearly ended."""
    folder, number = case
    seen = Path(folder) / "seen"
    if number:
        seen.touch()
    while not seen.exists():
        time.sleep(0.001)
    time.sleep(0 if number else 0.1)
    return number


def end_always(_: int) -> None:
    """End the process that does this."""
    os.kill(os.getpid(), signal.SIGKILL)


def wait_until_stopped(file: Path) -> None:
    """Wait until this is asked to stop, and say so in a file."""
    file.write_text("begun")
    while not stopped():
        time.sleep(0.001)
    file.write_text("stopped")


def say_raw(number: int) -> int:
    """Print what commands a terminal; return the number."""
    print("printed \x1b]0;all is well\x07")
    sys.stderr.writelines(["written \u009b31m\n"])
    warnings.warn("warned \u202e", stacklevel=1)
    return number
