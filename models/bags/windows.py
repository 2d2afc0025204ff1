"""Windows of makespans that a model looks at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MakespanWindow:
    """First and last makespan, counted from the moment the VMs are ready; from now if there are machines."""

    earliest_s: int
    latest_s: int

    @property
    def empty(self) -> bool:
        """True if there is no makespan left."""
        return self.earliest_s > self.latest_s
