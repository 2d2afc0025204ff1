"""The policy of a fixed number of VMs of one type: tasks go round robin to idle VMs (Thai et al., 6.2.2)."""

from __future__ import annotations

from collections import deque

from ..state import StreamPolicy, StreamState, StreamVm


class FixedFleet(StreamPolicy):
    """Rent a fixed number of VMs of a type at the start, keep them to the end, and give every idle VM the next task.

    Parameters
    ----------
    name : str
        What users call it, e.g. ``medium.8``.
    type_index : int
        The type, in the order of the stream.
    count : int
        How many VMs.
    """

    def __init__(self, name: str, type_index: int, count: int) -> None:
        self.name = name
        self._type_index = type_index
        self._count = count
        self._tasks: deque[int] = deque()
        self._next = 0

    def begin(self, replay: StreamState) -> None:
        """Rent the VMs."""
        for _ in range(self._count):
            replay.start_vm(self._type_index)

    def submitted(self, replay: StreamState, job: int) -> None:
        """Give tasks to the VMs that are idle, in turns."""
        self._tasks.extend(replay.sampled.tasks(job))
        first = self._next
        for turn in range(first, first + self._count):
            vm = replay.vms[turn % self._count]
            if vm.idle and self._tasks:
                replay.assign(self._tasks.popleft(), vm)
                self._next = (turn + 1) % self._count

    def idle(self, replay: StreamState, vm: StreamVm) -> None:
        """Give the VM the next task."""
        if self._tasks:
            replay.assign(self._tasks.popleft(), vm)
