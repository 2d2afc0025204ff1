"""Policies for streams: answers to events, by decisions that the replay offers."""

from __future__ import annotations

from collections.abc import Mapping

from ...core.quantities import ExactSeconds
from .state import StreamState, StreamVm


class StreamPolicy:
    """Base of the policies for streams; what is not overridden does nothing.

    Each replay has a policy of its own, which may keep what it knows in itself (see `spotbag.replay.policies`).
    Decisions are methods of `StreamState`: ``start_vm``, ``assign``, ``take_back``, ``suspend``, ``terminate``,
    ``wake_at``.

    Attributes
    ----------
    name : str
        What users call it.
    summary : str
        One line.
    """

    name: str
    summary: str = ""

    def begin(self, replay: StreamState) -> None:
        """Prepare, before anything happens."""

    def submitted(self, replay: StreamState, job: int) -> None:
        """Answer a job that arrives: its tasks belong to no VM yet."""

    def idle(self, replay: StreamState, vm: StreamVm) -> None:
        """Answer a VM that runs and has no task."""

    def finished(self, replay: StreamState, vm: StreamVm, task: int, took_s: ExactSeconds) -> None:
        """Answer a task that has finished, and how long it has been running."""

    def woken(self, replay: StreamState, datum: int) -> None:
        """Answer a time that was asked for."""

    def block_ended(self, replay: StreamState, vm: StreamVm) -> None:
        """Answer an idle VM at the end of a block: from now on, the next one is paid."""

    def counts(self, replay: StreamState) -> Mapping[str, ExactSeconds]:
        """Return the counts of a policy in an ended replay beyond those that all have, by name; part of the outcome."""
        return {}
