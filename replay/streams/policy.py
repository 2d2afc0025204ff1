"""What a policy for streams is: answers to events, by decisions that the replay offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .engine import StreamReplay
    from .vm import StreamVm


class StreamPolicy:
    """Base of the policies for streams; what is not overridden does nothing.

    A policy is made for one replay and keeps what it knows in itself. Decisions are methods of `StreamReplay`:
    ``start_vm``, ``assign``, ``take_back``, ``suspend``, ``terminate``, ``wake_at``.

    Attributes
    ----------
    name : str
        What users call it.
    """

    name: str

    def begin(self, replay: StreamReplay) -> None:
        """Prepare, before anything happens."""

    def submitted(self, replay: StreamReplay, job: int) -> None:
        """Answer a job that arrives: its tasks belong to no VM yet."""

    def idle(self, replay: StreamReplay, vm: StreamVm) -> None:
        """Answer a VM that runs and has no task."""

    def finished(self, replay: StreamReplay, vm: StreamVm, task: int, took_s: int) -> None:
        """Answer a task that has finished, and how long it has been running."""

    def woken(self, replay: StreamReplay, datum: int) -> None:
        """Answer a time that was asked for."""

    def block_ended(self, replay: StreamReplay, vm: StreamVm) -> None:
        """Answer an idle VM at the end of a block: from now on, the next one is paid."""

    def counts(self, replay: StreamReplay) -> dict[str, int]:
        """Return what this policy counts in an ended replay beyond what all have, by name; part of the outcome."""
        return {}
