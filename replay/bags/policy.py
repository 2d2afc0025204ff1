"""What a policy is: answers to events, by decisions that the replay offers."""

from __future__ import annotations

from .state import ReplayState
from .vm import Vm


class Policy:
    """Base of the policies; what is not overridden does nothing.

    Each replay has a policy of its own, which may keep what it knows in itself (see `spotbag.replay.policies`).
    Decisions are methods of `ReplayState`: ``migrate``, ``steal``, ``start_vm``, ``terminate``, ``set_trigger``.

    Attributes
    ----------
    name : str
        What users call it.
    summary : str
        One line.
    source : str
        Paper and algorithms.
    """

    name: str
    summary: str = ""
    source: str = ""

    def idle(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a VM that runs and has no task left."""

    def cycle_ended(self, replay: ReplayState, vm: Vm) -> None:
        """Answer an idle VM that has reached the end of its allocation cycle."""

    def hibernated(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a VM that has hibernated."""

    def trigger_reached(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a hibernated VM whose migration trigger time has come."""

    def resumed(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a VM that has resumed."""

    def finished(self, replay: ReplayState, vm: Vm, task: int) -> None:
        """Answer a task that has finished."""

    def terminated(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a VM that has been terminated."""
