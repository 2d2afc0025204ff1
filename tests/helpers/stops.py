"""Requests to stop that come after a certain amount of work, and signals to a command."""

from __future__ import annotations

import signal
from dataclasses import dataclass


@dataclass
class StopAt:
    """Says that the work is to end from its ``looks``-th question on."""

    looks: int
    asked: int = 0

    def is_set(self) -> bool:
        """Count a question, and say whether it is late enough."""
        self.asked += 1
        return self.asked >= self.looks


def interrupt_command() -> None:
    """Do to a command of this process what Ctrl-C does to one of its own (test runners have other uses for that)."""
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL, "no command is running"
    signal.raise_signal(signal.SIGTERM)
