"""Expected ends of tasks, as Thai et al. estimate them of a VM and its queue (section 4.2.1)."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from ....core.bill import Bill, paid_until_s
from ....core.quantities import ExactSeconds
from ....instances.streams.stream import bills_of
from ..state import StreamState, StreamVm

Units: TypeAlias = int | float
"""A whole number of the unit of a forecast, or infinity."""


class _Part(NamedTuple):
    """Tasks of a job that follow each other in a queue, all as long as each other; or one that has begun."""

    application: int
    deadline_s: int
    task: int
    begun: bool


class _Sums(NamedTuple):
    """Running sums of the parts of a queue, in order, and another number behind the last of them."""

    totals: list[int]
    """Expected run time of all parts before one."""
    spare: list[Units]
    """Time from the end of a part to its deadline, if the first of the queue started at 0."""
    least_spare: list[Units]
    """Least of these of a part and those behind it."""


@dataclass(slots=True)
class _Queue:
    """Forecast of the queue of a VM when it was last gone through.

    Tasks leave a queue at its front; those that are left are delayed by as much as the end of the last one.
    """

    changes: int
    lessons: int
    units_per_s: int
    parts: list[_Part]
    first: list[int]
    """Place of the first task of each part, and behind the last."""
    times: list[Units]
    """Expected run time of each task of a part; infinite of samples, which run in the time that the VM is held."""
    total: int
    """Expected run time of all tasks but samples."""
    least_spare: Units
    """Least time from the end of a task to its deadline, if the first started at 0."""
    _sums: _Sums | None = None

    def part_of(self, place: int) -> int:
        """Return the part with a task that was some places behind the first."""
        return bisect_right(self.first, place) - 1 if place else 0

    def behind(self, place: int) -> tuple[int, Units]:
        """Return the expected run time of all tasks before a place, and the least spare time from there on."""
        if not place:
            return 0, self.least_spare
        sums, part = self.sums(), self.part_of(place)
        total = sums.totals[part]
        if place > self.first[part] and self.times[part] < math.inf:
            total += (place - self.first[part]) * int(self.times[part])
        return total, sums.least_spare[part]

    def sums(self) -> _Sums:
        """Add up the parts, if they are not added up yet."""
        if self._sums is None:
            total, totals = 0, [0]
            spare: list[Units] = []
            for part, time, first, after in zip(self.parts, self.times, self.first, self.first[1:], strict=False):
                if time < math.inf:
                    total += (after - first) * int(time)
                spare.append(part.deadline_s * self.units_per_s - total if time < math.inf else math.inf)
                totals.append(total)
            spare.append(math.inf)
            # From behind, as each needs the least of all behind it.
            least_spare = list(accumulate(reversed(spare), min))
            self._sums = _Sums(totals, spare, least_spare[::-1])
        return self._sums

    def first_late(self, place: int, delay: int) -> tuple[int, Units]:
        """Return the place of the first task that is late if all are delayed, and the least spare time before it.

        It is looked for from a place on, and there is one.
        """
        sums, part, least = self.sums(), self.part_of(place), math.inf
        while sums.spare[part] >= delay:
            least = min(least, sums.spare[part])
            part += 1
        first, time = self.first[part], int(self.times[part])
        spare_of_none = self.parts[part].deadline_s * self.units_per_s - sums.totals[part]
        in_time = max(spare_of_none - delay, 0) // time if time else 0
        late = max(place, first + in_time)
        return late, min(least, spare_of_none - in_time * time) if late > max(place, first) else least


class Forecast:
    """Expected run times, and what follows from them for the VMs of a replay, as whole numbers of a common unit.

    The unit is the least that makes all of them whole, so that sums are exact, and ties and deadlines are decided by no
    rounding. It changes with what is learnt: numbers are to be compared with those of the same moment only.

    Attributes
    ----------
    units_per_s : int
        Units of a second.
    held_until_s : dict of int to int or Fraction
        VMs that are kept busy by tasks of unknown run time, and until when; by index.
    """

    def __init__(self, replay: StreamState) -> None:
        self._replay = replay
        self._bills = bills_of(replay.stream)
        n_types = len(replay.stream.vm_types)
        places = {application.name: place for place, application in enumerate(replay.stream.applications)}
        self._places = places
        self._of_job = [places[job.application] for job in replay.jobs]
        self._deadlines_s = [job.deadline_s for job in replay.jobs]
        self._exact: list[Sequence[Fraction | None]] = [[None] * n_types for _ in places]
        self._rows: list[list[Units]] = [[math.inf] * n_types for _ in places]
        self._units_of_row = [1 for _ in places]
        self._denominators: dict[int, int] = {}
        self._known: set[int] = set()
        self._lessons = 0
        self._queues: dict[int, _Queue] = {}
        self.units_per_s = replay.sampled.ticks_per_s
        self.held_until_s: dict[int, ExactSeconds] = {}

    def learn(self, application: str, runtime_s: Sequence[Fraction | None]) -> None:
        """Expect tasks of an application to run so long on each type; None excludes the type."""
        place = self._places[application]
        self._known.add(place)
        self._lessons += 1
        for before, after in zip(self._exact[place], runtime_s, strict=True):
            # Most types have learnt nothing new, and hand in what they had.
            if before is not after and before != after:
                self._count_denominator(before, -1)
                self._count_denominator(after, 1)
        self._exact[place] = runtime_s
        self._units_of_row[place] = 0
        self.units_per_s = math.lcm(self._replay.sampled.ticks_per_s, *self._denominators)

    def _count_denominator(self, value: Fraction | None, times: int) -> None:
        if value is not None:
            number = self._denominators.get(value.denominator, 0) + times
            if number:
                self._denominators[value.denominator] = number
            else:
                del self._denominators[value.denominator]

    def knows(self, job: int) -> bool:
        """True if anything has been learnt about the application of a job."""
        return self._of_job[job] in self._known

    def exact_runtime_s(self, job: int) -> Sequence[Fraction | None]:
        """Expected run time of a task of a job on each type, in seconds."""
        return self._exact[self._of_job[job]]

    def runtimes(self, job: int) -> list[Units]:
        """Expected run time of a task of a job on each type; infinite if the type is not to be used."""
        return self._row(self._of_job[job])

    def _row(self, place: int) -> list[Units]:
        if self._units_of_row[place] != self.units_per_s:
            self._units_of_row[place] = self.units_per_s
            self._rows[place] = [
                math.inf if value is None else value.numerator * (self.units_per_s // value.denominator)
                for value in self._exact[place]
            ]
        return self._rows[place]

    def units(self, seconds: ExactSeconds) -> int:
        """Return a time of the replay in the unit."""
        if type(seconds) is int:
            return seconds * self.units_per_s
        return seconds.numerator * self.units_per_s // seconds.denominator

    def left(self, task: int, vm: StreamVm) -> Units:
        """Expected run time of what is left of a task on a VM."""
        replay = self._replay
        expected = self._row(self._of_job[replay.job_of[task]])[vm.type_index]
        if task not in replay.suspended or expected == math.inf:
            return expected
        return max(expected - self.units(self._replay.done_s(task, vm)), 0)

    def next_start(self, vm: StreamVm) -> int:
        """Expected start of the first task of the queue of a VM."""
        now_s = self._replay.now_s
        if vm.task is None or vm.index in self.held_until_s:
            free_s = self.held_until_s.get(vm.index, vm.ready_s)
            return self.units(free_s if free_s > now_s else now_s)
        # One that runs longer than expected is expected to end at any moment.
        now, left = self.units(now_s), self.left(vm.task, vm)
        end = now if left == math.inf else self.units(vm.started_s) + int(left)
        return end if end > now else now

    def first_late_task(self, vm: StreamVm) -> int | None:
        """First task that waits for a VM and is expected to finish after its deadline."""
        queue, begun = self._queue(vm)
        total, least = queue.behind(begun)
        delay = self.next_start(vm) - total
        return None if least >= delay else vm.queue[queue.first_late(begun, delay)[0] - begun]

    def unchanged_until_s(self) -> float:
        """Return the first second at which the first late task of a VM may be another, if nothing happens before."""
        watched = (vm for vm in self._replay.alive.values() if vm.queue and vm.index not in self.held_until_s)
        latest = min(map(self._latest_start, watched), default=math.inf)
        return latest if latest == math.inf else latest // self.units_per_s + 1

    def _latest_start(self, vm: StreamVm) -> Units:
        """Latest start of a queue at which its first late task is what it is now: the others get late after it."""
        queue, begun = self._queue(vm)
        total, least = queue.behind(begun)
        delay = self.next_start(vm) - total
        return (least if least >= delay else queue.first_late(begun, delay)[1]) + total

    def free(self, vm: StreamVm) -> int:
        """Expected end of all tasks of a VM."""
        queue, begun = self._queue(vm)
        return self.next_start(vm) + queue.total - queue.behind(begun)[0]

    def permissible_delay(self, vm: StreamVm) -> Units:
        """Longest delay of all tasks of a VM without a missed deadline (section 4.2.1); infinite if idle."""
        queue, begun = self._queue(vm)
        total, spare = queue.behind(begun)
        start = self.next_start(vm)
        delay = spare if spare == math.inf else spare - start + total
        if vm.task is None or vm.index in self.held_until_s:
            return delay
        return min(delay, self._deadlines_s[self._replay.job_of[vm.task]] * self.units_per_s - start)

    def paid_until(self, vm: StreamVm, time: int) -> int:
        """End of the last block that is paid if a VM runs until a time."""
        return int(paid_until_s(self.bill(vm.type_index), self.units(vm.requested_s), time))

    def bill(self, type_index: int) -> Bill:
        """Bill of a VM of a type, in units."""
        bill = self._bills[type_index]
        return bill._replace(block_s=self.units(bill.block_s), least_s=self.units(bill.least_s))

    def _queue(self, vm: StreamVm) -> tuple[_Queue, int]:
        """Forecast of the queue of a VM, and number of its tasks that have begun since the forecast was made."""
        queue = self._queues.get(vm.index)
        if queue is None or queue.changes != vm.changes or queue.lessons != self._lessons:
            queue = self._queues[vm.index] = self._gone_through(vm, queue)
        return queue, queue.first[-1] - len(vm.queue)

    def _gone_through(self, vm: StreamVm, before: _Queue | None) -> _Queue:
        # The same queue, less what has begun: its parts stand, and only their times are new.
        if before is None or before.changes != vm.changes:
            parts, first = self._parts(vm.queue)
        else:
            parts, first = before.parts, before.first
            begun = first[-1] - len(vm.queue)
            if begun:
                passed = before.part_of(begun)
                parts, first = parts[passed:], [0, *(place - begun for place in first[passed + 1 :])]
        units_per_s, column, row = self.units_per_s, vm.type_index, self._row
        total, least = 0, math.inf
        times: list[Units] = []
        for number, (application, deadline_s, task, begun) in enumerate(parts, start=1):
            time = self.left(task, vm) if begun else row(application)[column]
            times.append(time)
            if time < math.inf:
                total += (first[number] - first[number - 1]) * int(time)
                least = min(least, deadline_s * units_per_s - total)
        return _Queue(vm.changes, self._lessons, units_per_s, parts, first, times, total, least)

    def _parts(self, tasks: list[int]) -> tuple[list[_Part], list[int]]:
        """Parts of a queue, and the place of the first task of each and behind the last."""
        suspended, job_of = self._replay.suspended, self._replay.job_of
        parts: list[_Part] = []
        first: list[int] = []
        last: int | None = None
        for place, task in enumerate(tasks):
            job, begun = job_of[task], task in suspended
            if job != last or begun:
                parts.append(_Part(self._of_job[job], self._deadlines_s[job], task, begun))
                first.append(place)
                # A task with a rest of its own is as long as no other, and a part by itself.
                last = None if begun else job
        return parts, [*first, len(tasks)]
