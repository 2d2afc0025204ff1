"""Requests to stop that come after a certain amount of work."""

from __future__ import annotations

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
