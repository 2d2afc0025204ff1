"""A VM of a stream: it runs one task at a time, from a queue."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...core.quantities import ExactSeconds
from ...instances.entries import RentalOffer
from ..vms import LAUNCHING, RUNNING, TERMINATED


@dataclass(slots=True, eq=False)
class StreamVm:
    """A VM while it lives.

    Attributes
    ----------
    index, name, type_index, offer : int, str, int, RentalOffer
        Which VM it is; index in `StreamState.vms`, type in the order of the stream.
    requested_s, ready_s : int or Fraction
        When it was asked for, and billed from; when it can run tasks.
    state : int
        `LAUNCHING`, `RUNNING` or `TERMINATED`, as of all VMs.
    task, started_s : int or None, and int or Fraction
        The task that runs, and since when.
    queue : list of int
        Tasks that wait, in order.
    busy_s : int or Fraction
        Seconds in which it has run tasks, the present one not counted.
    terminated_s : int or Fraction
        When it ended.
    changes : int
        How often its queue has changed other than by a start.
    """

    index: int
    name: str
    type_index: int
    offer: RentalOffer
    requested_s: ExactSeconds
    ready_s: ExactSeconds
    state: int = LAUNCHING
    task: int | None = None
    started_s: ExactSeconds = 0
    queue: list[int] = field(default_factory=list)
    busy_s: ExactSeconds = 0
    terminated_s: ExactSeconds = 0
    changes: int = 0
    # An event in the queue counts only if the epoch that it was made in has not ended.
    run_epoch: int = 0
    idle_epoch: int = 0

    @property
    def alive(self) -> bool:
        """True if it can take tasks: running, or launching."""
        return self.state != TERMINATED

    @property
    def idle(self) -> bool:
        """True if it runs and has no task."""
        return self.state == RUNNING and self.task is None and not self.queue

    @property
    def tasks(self) -> list[int]:
        """Unfinished tasks: the one that runs, then those that wait."""
        return self.queue.copy() if self.task is None else [self.task, *self.queue]
