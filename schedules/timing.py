"""List scheduling of tasks on one VM, with exact memory."""

from __future__ import annotations

from bisect import bisect_left, bisect_right


class VmTimeline:
    """The cores and memory of a VM over time; tasks are appended one by one.

    A task starts at the earliest time at which a core is free for good (nothing is put into gaps before tasks that
    are placed already) and the memory suffices for the whole time it runs. It goes to the core that has been idle for
    the shortest time then, the lowest-numbered one at a tie.

    Parameters
    ----------
    vcpus : int
        Number of cores.
    memory_kb : int, optional
        Memory; None if it cannot bind, which makes everything faster.
    ready_s : int
        When the VM is ready.

    Attributes
    ----------
    core_free_s : list of int
        When each core is free for good.
    earliest_core_s, end_s : int
        When the first core is free, before which no task starts; end of the last task.
    """

    __slots__ = ("_memory_kb", "_times", "_used_kb", "core_free_s", "earliest_core_s", "end_s")

    def __init__(self, vcpus: int, memory_kb: int | None, ready_s: int = 0) -> None:
        self.core_free_s = [ready_s] * vcpus
        self.earliest_core_s = ready_s
        self.end_s = ready_s
        self._memory_kb = memory_kb
        # Memory in use as a step function: _used_kb[k] from _times[k] until _times[k + 1], the last is 0 forever.
        self._times = [ready_s]
        self._used_kb = [0]

    @classmethod
    def of_cores(cls, core_free_s: list[int]) -> VmTimeline:
        """Return the timeline of a VM whose memory cannot bind, from when each of its cores is free for good."""
        timeline = cls.__new__(cls)
        timeline._memory_kb, timeline._times, timeline._used_kb = None, [], []
        timeline._set_cores(core_free_s)
        return timeline

    def earliest_start_s(self, memory_kb: int, duration_s: int, since_s: int = 0) -> int | None:
        """Earliest start of a task, not before ``since_s``; None if the VM's memory is too small for the task."""
        start = self.earliest_core_s if self.earliest_core_s > since_s else since_s
        if self._memory_kb is None:
            return start
        room = self._memory_kb - memory_kb
        if room < 0:
            return None
        times, used = self._times, self._used_kb
        step = bisect_right(times, start) - 1
        end = start + duration_s
        while step < len(times) and times[step] < end:
            if used[step] > room:
                start = times[step + 1]
                end = start + duration_s
            step += 1
        return start

    def append(self, start_s: int, memory_kb: int, duration_s: int) -> int:
        """Place a task at a start that `earliest_start_s` gave; return its core."""
        cores = self.core_free_s
        core = latest_s = -1
        for index, free_s in enumerate(cores):
            if free_s <= start_s and (core < 0 or free_s > latest_s):
                core, latest_s = index, free_s
        if core < 0:
            raise ValueError(f"no core is free at {start_s} s")
        end_s = cores[core] = start_s + duration_s
        self.earliest_core_s = min(cores)
        if end_s > self.end_s:
            self.end_s = end_s
        if self._memory_kb is not None:
            self._occupy(start_s, end_s, memory_kb)
        return core

    def place(self, core: int, start_s: int, end_s: int, memory_kb: int) -> None:
        """Enter a task that has its core and times already; of a core, in the order of time."""
        self.core_free_s[core] = end_s
        self._set_cores(self.core_free_s)
        if self._memory_kb is not None:
            self._occupy(max(start_s, self._times[0]), end_s, memory_kb)

    def advance(self, now_s: int) -> None:
        """Let time pass: nothing that is appended from now on starts earlier."""
        if self.earliest_core_s < now_s:
            self._set_cores([free_s if free_s > now_s else now_s for free_s in self.core_free_s])

    def copy(self) -> VmTimeline:
        """Return a timeline that goes on from here on its own."""
        twin = VmTimeline.__new__(VmTimeline)
        twin.core_free_s = self.core_free_s.copy()
        twin.earliest_core_s = self.earliest_core_s
        twin.end_s = self.end_s
        twin._memory_kb = self._memory_kb
        twin._times = self._times.copy()
        twin._used_kb = self._used_kb.copy()
        return twin

    def _set_cores(self, core_free_s: list[int]) -> None:
        self.core_free_s = core_free_s
        self.earliest_core_s = min(core_free_s)
        self.end_s = max(core_free_s)

    def _occupy(self, start_s: int, end_s: int, memory_kb: int) -> None:
        first = self._breakpoint(start_s)
        last = self._breakpoint(end_s)
        for step in range(first, last):
            self._used_kb[step] += memory_kb
        # No task starts before the first free core any more: what lies before it is forgotten.
        past = bisect_right(self._times, self.earliest_core_s) - 1
        if past > 0:
            del self._times[:past]
            del self._used_kb[:past]

    def _breakpoint(self, time_s: int) -> int:
        """Index of the step that begins at a time; a new one is inserted where none does."""
        step = bisect_left(self._times, time_s)
        if step == len(self._times) or self._times[step] != time_s:
            self._times.insert(step, time_s)
            self._used_kb.insert(step, self._used_kb[step - 1])
        return step
