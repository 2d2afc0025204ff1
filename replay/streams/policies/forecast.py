"""When tasks are expected to finish: what Thai et al. estimate of a VM and its queue (section 4.2.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from ..state import StreamState
from ..vm import StreamVm


@dataclass(slots=True)
class _Checked:
    """A queue in which no task was expected to be late.

    Tasks leave a queue at its front; those that are left are delayed by as much as the end of the last one.
    """

    changes: int
    lessons: int
    total_s: list[float]
    """Expected run time of the first so many tasks, from none to all."""
    free_s: float
    least_slack_s: float


class Forecast:
    """Expected run times, and what follows from them for the VMs of a replay.

    Attributes
    ----------
    held_until_s : dict of int to int
        VMs that are kept busy by tasks nobody knows the run time of, and until when; by index.
    """

    def __init__(self, replay: StreamState) -> None:
        self._replay = replay
        self._exact: list[list[Fraction | None]] = [[None] * len(replay.stream.vm_types) for _ in replay.jobs]
        self._seconds = [[math.inf] * len(replay.stream.vm_types) for _ in replay.jobs]
        self._known: set[str] = set()
        self._lessons = 0
        self._checked: dict[int, _Checked] = {}
        self.held_until_s: dict[int, int] = {}

    def learn(self, application: str, runtime_s: list[Fraction | None]) -> None:
        """Expect tasks of an application to run so long on each type; None excludes the type."""
        self._known.add(application)
        self._lessons += 1
        for index, job in enumerate(self._replay.jobs):
            if job.application == application:
                self._exact[index] = runtime_s
                self._seconds[index] = [math.inf if value is None else float(value) for value in runtime_s]

    def knows(self, job: int) -> bool:
        """Whether anything has been learnt about the application of a job."""
        return self._replay.jobs[job].application in self._known

    def runtime_s(self, job: int, type_index: int) -> float:
        """Expected run time of a task of a job on a type; infinite if the type is not to be used."""
        return self._seconds[job][type_index]

    def exact_runtime_s(self, job: int) -> list[Fraction | None]:
        """Expected run time of a task of a job on each type, exactly."""
        return self._exact[job]

    def left_s(self, task: int, vm: StreamVm) -> float:
        """Expected run time of what is left of a task on a VM."""
        expected = self._seconds[self._replay.job_of[task]][vm.type_index]
        return max(expected - self._replay.done_s(task, vm), 0.0)

    def next_start_s(self, vm: StreamVm) -> float:
        """When a VM is expected to start the first task of its queue."""
        now_s = self._replay.now_s
        if vm.index in self.held_until_s:
            return max(self.held_until_s[vm.index], now_s)
        if vm.task is None:
            return max(vm.ready_s, now_s)
        return max(vm.started_s + self.left_s(vm.task, vm), now_s)

    def finish_times_s(self, vm: StreamVm) -> list[tuple[int, float]]:
        """Unfinished tasks of a VM, and when each is expected to finish: the one that runs first."""
        clock = self.next_start_s(vm)
        result = []
        if vm.task is not None and vm.index not in self.held_until_s:
            result.append((vm.task, clock))
        seconds, job_of, column = self._seconds, self._replay.job_of, vm.type_index
        suspended = self._replay.suspended
        for task in vm.queue:
            expected = self.left_s(task, vm) if task in suspended else seconds[job_of[task]][column]
            if expected < math.inf:  # a sample, in the time that the VM is held, is in nobody's way afterwards
                clock += expected
                result.append((task, clock))
        return result

    def first_late_task(self, vm: StreamVm) -> int | None:
        """First task that waits for a VM and is expected to finish after its deadline.

        The queue is gone through only if it has changed or the VM is so late that it matters.
        """
        checked = self._checked.get(vm.index)
        if checked is not None and checked.changes == vm.changes and checked.lessons == self._lessons:
            begun = len(checked.total_s) - 1 - len(vm.queue)
            free_s = self.next_start_s(vm) + checked.total_s[-1] - checked.total_s[begun]
            if free_s - checked.free_s <= checked.least_slack_s:
                return None
        jobs, job_of = self._replay.jobs, self._replay.job_of
        slack_s, clock, left = math.inf, self.next_start_s(vm), [self.left_s(task, vm) for task in vm.queue]
        for task, seconds in zip(vm.queue, left, strict=True):
            clock += seconds
            slack_s = min(slack_s, jobs[job_of[task]].deadline_s - clock)
            if slack_s < 0:
                return task
        total_s = list(accumulate(left, initial=0.0))
        self._checked[vm.index] = _Checked(vm.changes, self._lessons, total_s, clock, slack_s)
        return None

    def free_s(self, vm: StreamVm) -> float:
        """When a VM is expected to have finished all it has."""
        finish = self.finish_times_s(vm)
        return finish[-1][1] if finish else self.next_start_s(vm)

    def permissible_delay_s(self, vm: StreamVm) -> float:
        """How long all tasks of a VM can be delayed without missing a deadline (section 4.2.1); infinite if idle."""
        jobs, job_of = self._replay.jobs, self._replay.job_of
        finish = self.finish_times_s(vm)
        return min((jobs[job_of[task]].deadline_s - end_s for task, end_s in finish), default=math.inf)
