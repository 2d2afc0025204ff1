"""What a policy for job streams is: answers to events, by decisions that the replay offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .engine import JobReplay
    from .vm import JobVm


class JobPolicy:
    """Base of the policies for job streams; what is not overridden does nothing.

    A policy is made for one replay and keeps what it knows in itself. Decisions are methods of `JobReplay`:
    ``start_vm``, ``assign``, ``take_back``, ``suspend``, ``terminate``, ``wake_at``.

    Attributes
    ----------
    name : str
        What users call it.
    """

    name: str

    def begin(self, replay: JobReplay) -> None:
        """Prepare, before anything happens."""

    def submitted(self, replay: JobReplay, job: int) -> None:
        """Answer a job that arrives: its tasks belong to no VM yet."""

    def idle(self, replay: JobReplay, vm: JobVm) -> None:
        """Answer a VM that runs and has no task."""

    def finished(self, replay: JobReplay, vm: JobVm, task: int, took_s: int) -> None:
        """Answer a task that has finished, and how long it has been running."""

    def woken(self, replay: JobReplay, datum: int) -> None:
        """Answer a time that was asked for."""

    def block_ended(self, replay: JobReplay, vm: JobVm) -> None:
        """Answer an idle VM at the end of a block: from now on, the next one is paid."""

    def counts(self, replay: JobReplay) -> dict[str, int]:
        """Return what this policy counts in an ended replay beyond what all have, by name; part of the outcome."""
        return {}
