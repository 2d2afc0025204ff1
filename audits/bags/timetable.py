"""The auditor's timetable of a VM: which task is to start when on which of its cores, in the uptime of the VM."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ..facts import Share
from ..vm_books import RunBook


@dataclass(slots=True)
class Slot:
    """A task that waits for a core, with its need, usually of memory (`Slots`), and from when to when it is to run.

    ``ready_s`` is the moment before which it does not start, ``baseline_s`` how long it would take at the baseline, of
    a task at full speed on a burstable VM; ``slowed`` whether that is what it has been put to.
    """

    task: str
    core: int
    start_s: int
    end_s: int
    need: Share
    ready_s: int
    baseline_s: int | None = None
    slowed: bool = False
    missed: bool = False
    moves_up: bool = False


class Timetable:
    """Queue of a VM: planned tasks until they are taken away, then those appended from elsewhere.

    Tasks are appended by list scheduling: at the earliest time at which a core has nothing left to do and the memory
    suffices to the end of the task, on the core that has been idle for the shortest time then, the first at a tie.

    Parameters
    ----------
    n_cores, size : int and Share
        Of the VM: its cores, and how much it has of what tasks share.

    Attributes
    ----------
    disturbed : bool
        Whether tasks have been taken away, so that the others move up as soon as the VM is up.
    moved_up_s : int
        When they last did; -1 if others have been put before them since.
    preempted : bool
        Whether one was preempted since they moved up.
    early_s : int
        When they last moved up because it was the turn of another VM, which came later.
    unsure : bool
        Whether tasks came, or were stolen, when others had been taken away or preempted in the same second: whether
        these had moved up before is nowhere on record, or only for those VMs whose turn it was. So it is until nothing
        waits.
    """

    def __init__(self, n_cores: int, size: Share) -> None:
        self._size = size
        self._cores: list[deque[Slot]] = [deque() for _ in range(n_cores)]
        self._slots: dict[str, Slot] = {}
        self.disturbed = False
        self.moved_up_s = -1
        self.preempted = False
        self.early_s = -1
        self.unsure = False

    def plan(self, slot: Slot) -> None:
        """Enter a task of the plan; those of a core in the order of their starts."""
        self._cores[slot.core].append(slot)
        self._slots[slot.task] = slot

    def plan_first(self, slot: Slot) -> None:
        """Enter a task before all that wait for its core."""
        self._cores[slot.core].appendleft(slot)
        self._slots[slot.task] = slot
        self.moved_up_s = -1

    def plan_last(self, slot: Slot) -> None:
        """Enter a task behind all that wait for its core; it starts only when all have moved up."""
        slot.moves_up = True
        # What waits already comes first, so it is due no earlier than the last of that ends.
        queue = self._cores[slot.core]
        if queue and queue[-1].end_s > slot.start_s:
            slot.start_s, slot.end_s = queue[-1].end_s, queue[-1].end_s + slot.end_s - slot.start_s
        self.plan(slot)

    def is_due(self, task: str, now_s: int, held: Collection[int]) -> bool:
        """True if it is the turn of a task, on a core that is not held."""
        slot = self._slots.get(task)
        if slot is None or slot.moves_up or slot.core in held:
            return False
        return slot.start_s == now_s and self._cores[slot.core][0] is slot

    def take(self, task: str) -> Slot | None:
        """Take a task out; None if it does not wait here."""
        slot = self._slots.pop(task, None)
        if slot is not None:
            queue = self._cores[slot.core]
            if queue[0] is slot:
                queue.popleft()
            else:
                queue.remove(slot)
        self.unsure = self.unsure and bool(self._slots)
        return slot

    def append(self, slot: Slot, running: Collection[RunBook], now_s: int, zero_s: int, since_s: int = 0) -> None:
        """Enter a task that comes from elsewhere; nothing starts before ``now_s``, nor this one before ``since_s``.

        Nor does it before it is ready: ``zero_s`` is the moment at which the uptime was 0.
        """
        duration_s, since_s = slot.end_s - slot.start_s, max(since_s, slot.ready_s - zero_s)
        free_s = [now_s if not queue else max(queue[-1].end_s, now_s) for queue in self._cores]
        for run in running:
            if run.core < len(free_s):
                free_s[run.core] = max(free_s[run.core], run.due_uptime_s)
        start_s = self._room_from_s(max(min(free_s), since_s), slot.need, duration_s, running)
        # Of the cores that are free by then, the one that was free last has been idle for the shortest time.
        core = max(range(len(free_s)), key=lambda core: (free_s[core] <= start_s, free_s[core], -core))
        slot.core, slot.start_s, slot.end_s, slot.moves_up = core, start_s, start_s + duration_s, False
        self.plan(slot)

    def _room_from_s(self, since_s: int, need: Share, duration_s: int, running: Collection[RunBook]) -> int:
        """First time from which on the memory suffices for a task."""
        others = [(run.started_uptime_s, run.due_uptime_s, run.need) for run in running]
        for queue in self._cores:
            for slot in reversed(queue):  # sorted by their ends: what is before one that has ended has ended, too
                if slot.end_s <= since_s:
                    break
                others.append((slot.start_s, slot.end_s, slot.need))
        # If all fit at once, no moment needs a look; else memory gets free only when something ends.
        room = self._size - need
        if sum((other for _, _, other in others), Share()).within(room):
            return since_s
        starts_s = sorted({start_s for start_s, _, _ in others})
        for time_s in sorted({since_s, *(end_s for _, end_s, _ in others if end_s > since_s)}):
            moments = [time_s, *(start_s for start_s in starts_s if time_s < start_s < time_s + duration_s)]
            if all(
                sum((other for start_s, end_s, other in others if start_s <= moment < end_s), Share()).within(room)
                for moment in moments
            ):
                return time_s
        return max(end_s for _, end_s, _ in others)

    def move_up(self, time_s: int, running: Collection[RunBook], now_s: int, zero_s: int) -> None:
        """Append anew all that waits, in the same order, if tasks have been taken away.

        That is the order of the starts, and stays so for the second, whatever the new starts are.
        Where tasks are at full speed on a burstable VM, none starts earlier than it was to. If one should have started,
        all that waits goes on at the baseline, once what runs at full speed has ended.
        """
        if not self.disturbed:
            return
        self.disturbed = self.preempted = False
        waiting = list(self._slots.values())
        if self.moved_up_s != time_s:
            waiting.sort(key=lambda slot: (slot.start_s, slot.core))
        self.moved_up_s = time_s
        for queue in self._cores:
            queue.clear()
        keeps = self.keeps_starts(running)
        if keeps and any(slot.start_s < now_s for slot in waiting):
            until_s = max([run.due_uptime_s for run in running if run.burst], default=0)
            for slot in waiting:
                self._slow_down(slot, until_s)
        self._slots.clear()
        for slot in waiting:
            self.append(slot, running, now_s, zero_s, slot.start_s if keeps else 0)

    def keeps_starts(self, running: Collection[RunBook]) -> bool:
        """True if tasks are at full speed on a burstable VM, so that nothing may start earlier than it was to."""
        return any(run.burst for run in running) or any(slot.baseline_s is not None for slot in self._slots.values())

    def _slow_down(self, slot: Slot, since_s: int) -> None:
        duration_s = slot.end_s - slot.start_s
        if slot.baseline_s is not None:
            duration_s, slot.slowed = slot.baseline_s, True
        slot.start_s, slot.end_s, slot.baseline_s = since_s, since_s + duration_s, None

    def due(self, until_s: int, writing: Collection[int] = ()) -> Iterator[Slot]:
        """Yield the first tasks of the cores that should have started before a time, each once.

        Those of cores that write the checkpoint of a preempted task wait for its end, and the task itself until the
        others have moved up.
        """
        for core, queue in enumerate(self._cores):
            if core in writing or self.unsure:
                continue
            if queue and queue[0].start_s < until_s and not (queue[0].missed or queue[0].moves_up):
                queue[0].missed = True
                yield queue[0]

    def misses_all(self, free: Share, time_s: int) -> bool:
        """True if tasks wait, all are ready, and the given memory is enough for all; reported once for each task."""
        slots = self._slots.values()
        if not slots or any(slot.missed or slot.ready_s > time_s or not slot.need.within(free) for slot in slots):
            return False
        for slot in slots:
            slot.missed = True
        return True
