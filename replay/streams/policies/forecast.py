"""When tasks are expected to finish: what Thai et al. estimate of a VM and its queue (section 4.2.1)."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import TypeAlias

from ....core.bill import Bill, paid_until_s
from ....core.quantities import ExactSeconds
from ....instances.streams.stream import bills_of
from ..state import StreamState
from ..vm import StreamVm

Units: TypeAlias = int | float
"""A whole number of the unit of a forecast, or infinity."""


@dataclass(slots=True)
class _Queue:
    """Forecast of the queue of a VM when it was last gone through.

    Tasks leave a queue at its front; those that are left are delayed by as much as the end of the last one.
    """

    changes: int
    lessons: int
    totals: list[int]
    """Expected run time of the first so many tasks, from none to all."""
    spare: list[Units]
    """Time from the end of each task to its deadline, if the first task started at 0."""
    least_spare: list[Units]
    """Least of these of each task and those behind it; infinite behind the last one."""


@dataclass(slots=True)
class _Waiting:
    """Tasks that wait for a VM, whatever their expected run times."""

    changes: int
    n_tasks: int
    fresh: Counter[int]
    """Tasks that have not begun, by the place of their application."""
    begun: list[int]


class Forecast:
    """Expected run times, and what follows from them for the VMs of a replay, as whole numbers of a common unit.

    The unit is the least that makes all of them whole, so that sums are exact, and ties and deadlines are decided by no
    rounding. It changes with what is learnt: numbers are to be compared with those of the same moment only.

    Attributes
    ----------
    units_per_s : int
        Units of a second.
    held_until_s : dict of int to int or Fraction
        VMs that are kept busy by tasks nobody knows the run time of, and until when; by index.
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
        self._waiting: dict[int, _Waiting] = {}
        self.units_per_s = replay.sampled.ticks_per_s
        self.held_until_s: dict[int, ExactSeconds] = {}

    def learn(self, application: str, runtime_s: Sequence[Fraction | None]) -> None:
        """Expect tasks of an application to run so long on each type; None excludes the type."""
        place = self._places[application]
        self._known.add(place)
        self._lessons += 1
        for before, after in zip(self._exact[place], runtime_s, strict=True):
            if before != after:
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
        """Whether anything has been learnt about the application of a job."""
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
        expected = self.runtimes(replay.job_of[task])[vm.type_index]
        if task not in replay.suspended or expected == math.inf:
            return expected
        return max(expected - self.units(self._replay.done_s(task, vm)), 0)

    def next_start(self, vm: StreamVm) -> int:
        """When a VM is expected to start the first task of its queue."""
        now_s = self._replay.now_s
        if vm.task is None or vm.index in self.held_until_s:
            free_s = self.held_until_s.get(vm.index, vm.ready_s)
            return self.units(free_s if free_s > now_s else now_s)
        now, left = self.units(now_s), self.left(vm.task, vm)
        end = now if left == math.inf else self.units(vm.started_s) + int(left)
        return end if end > now else now

    def first_late_task(self, vm: StreamVm) -> int | None:
        """First task that waits for a VM and is expected to finish after its deadline."""
        queue, begun = self._queue(vm)
        delay = self.next_start(vm) - queue.totals[begun]
        if queue.least_spare[begun] >= delay:
            return None
        return next(task for task, spare in zip(vm.queue, queue.spare[begun:], strict=True) if spare < delay)

    def unchanged_until_s(self) -> float:
        """Return the first second at which the first late task of a VM may be another, if nothing happens before."""
        watched = (vm for vm in self._replay.alive.values() if vm.queue and vm.index not in self.held_until_s)
        latest = min(map(self._latest_start, watched), default=math.inf)
        return latest if latest == math.inf else latest // self.units_per_s + 1

    def _latest_start(self, vm: StreamVm) -> Units:
        """Latest start of a queue at which its first late task is what it is now: the others get late after it."""
        queue, begun = self._queue(vm)
        least, delay = queue.least_spare[begun], self.next_start(vm) - queue.totals[begun]
        if least < delay:
            in_time = itertools.takewhile(lambda spare: spare >= delay, queue.spare[begun:])
            least = min(in_time, default=math.inf)
        return least + queue.totals[begun]

    def free(self, vm: StreamVm) -> int:
        """When a VM is expected to have finished all it has."""
        waiting, column = self._waiting.get(vm.index), vm.type_index
        if waiting is None or (waiting.changes, waiting.n_tasks) != (vm.changes, len(vm.queue)):
            suspended, job_of = self._replay.suspended, self._replay.job_of
            fresh = Counter([self._of_job[job_of[task]] for task in vm.queue if task not in suspended])
            begun = [task for task in vm.queue if task in suspended]
            waiting = self._waiting[vm.index] = _Waiting(vm.changes, len(vm.queue), fresh, begun)
        times = [number * self._row(place)[column] for place, number in waiting.fresh.items()]
        times += [self.left(task, vm) for task in waiting.begun]
        return self.next_start(vm) + sum(int(time) for time in times if time < math.inf)

    def permissible_delay(self, vm: StreamVm) -> Units:
        """How long all tasks of a VM can be delayed without missing a deadline (section 4.2.1); infinite if idle."""
        queue, begun = self._queue(vm)
        start = self.next_start(vm)
        spare = queue.least_spare[begun]
        delay = spare if spare == math.inf else spare - start + queue.totals[begun]
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
            queue = self._queues[vm.index] = self._gone_through(vm)
        return queue, len(queue.spare) - len(vm.queue)

    def _gone_through(self, vm: StreamVm) -> _Queue:
        replay, units_per_s, column = self._replay, self.units_per_s, vm.type_index
        suspended, job_of, deadlines_s = replay.suspended, replay.job_of, self._deadlines_s
        expected = {place: self._row(place)[column] for place in {self._of_job[job_of[task]] for task in vm.queue}}
        total, totals = 0, [0]
        spare: list[Units] = []
        for task in vm.queue:
            job = job_of[task]
            left = self.left(task, vm) if task in suspended else expected[self._of_job[job]]
            if left == math.inf:  # a sample, in the time that the VM is held: in nobody's way afterwards
                spare.append(math.inf)
            else:
                total += int(left)
                spare.append(deadlines_s[job] * units_per_s - total)
            totals.append(total)
        least_spare = list(accumulate(reversed(spare), min, initial=math.inf))
        least_spare.reverse()
        return _Queue(vm.changes, self._lessons, totals, spare, least_spare)
