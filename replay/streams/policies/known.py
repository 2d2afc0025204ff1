"""The policy ``known``: jobs whose run times are known on average (Thai et al., sections 3 and 5).

By Algorithm 1, a job goes to the VMs that exist, and what is left to new ones by Model 6.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from ....core.bill import billed_s
from ....models.streams.sizing import SizingProblem, TypeChoice
from ....solvers.streams.sizing import vms_of_job
from ...engines import NONE
from ..state import StreamPolicy, StreamState, StreamVm
from .forecast import Forecast, Units

REASSIGNMENT_PERIOD_S = 15
"""Seconds between two runs of Algorithm 3; the paper says "periodically"."""

PERIOD: Final = NONE
"""Datum of the wakes of Algorithm 3: no VM."""


class Known(StreamPolicy):
    """Rent by Algorithm 1 and Model 6 on the average run times, move late tasks by Algorithm 3.

    VMs are released at the end of a block if they have no task then.

    Attributes
    ----------
    new_blocks : bool
        Whether tasks are appended to existing VMs though another block must be paid for them.
    """

    name = "known"
    summary = "knows average run times; rents the cheapest VMs that suffice (Thai et al.)"
    new_blocks: ClassVar[bool] = True

    def __init__(self) -> None:
        self.forecast: Forecast
        self._watching = False

    def begin(self, replay: StreamState) -> None:
        """Take over the average run times of all applications."""
        self.forecast = Forecast(replay)
        for application in replay.stream.applications:
            averages = [replay.stream.average_s(application.name, name) for name in replay.stream.type_names]
            self.forecast.learn(application.name, averages)

    def submitted(self, replay: StreamState, job: int) -> None:
        """Schedule the job (Algorithm 1)."""
        self.schedule(replay, job, replay.sampled.tasks(job))

    def schedule(self, replay: StreamState, job: int, tasks: Iterable[int]) -> None:
        """Assign tasks of a job, and watch over them."""
        schedule_job(replay, self.forecast, job, tasks, self.new_blocks)
        self.watch(replay)

    def watch(self, replay: StreamState, idle_until_s: float = 0) -> None:
        """Perform Algorithm 3 from time to time while there are tasks that wait."""
        if not self._watching and any(vm.queue for vm in replay.alive.values()):
            self._watching = True
            replay.wake_each(REASSIGNMENT_PERIOD_S, PERIOD, idle_until_s)

    def woken(self, replay: StreamState, datum: int) -> None:
        """Perform Algorithm 3; where it moves nothing, neither does it before anything happens or gets late."""
        if datum == PERIOD:
            self._watching = False
            moved = reassign(replay, self.forecast)
            self.watch(replay, 0 if moved else self.forecast.unchanged_until_s())

    def block_ended(self, replay: StreamState, vm: StreamVm) -> None:
        """Release the VM: another block would be paid for nothing."""
        replay.terminate(vm)


class KnownPaidBlocks(Known):
    """Policy as ``known``, but existing VMs get tasks only within blocks that are paid: section 3.2 to the letter."""

    name = "known-paid-blocks"
    summary = "as known; VMs take new jobs in blocks that are paid anyhow only"
    new_blocks = False


# ---------------------------------------------------------------------- Algorithms 1 and 3


def schedule_job(
    replay: StreamState, forecast: Forecast, job: int, tasks: Iterable[int], new_blocks: bool = True
) -> None:
    """Assign tasks of a job to existing VMs, then to new ones (Algorithm 1).

    Parameters
    ----------
    replay : StreamState
        The replay.
    forecast : Forecast
        What the policy expects; it knows the job.
    job : int
        The job.
    tasks : iterable of int
        Those of its tasks that are to be assigned.
    new_blocks : bool
        Whether existing VMs may run into blocks that are not paid yet.
    """
    bag = _Bag(replay, tasks)
    runtimes = forecast.runtimes(job)
    # When each VM that can take tasks will be free.
    free = {vm.index: forecast.free(vm) for vm in replay.alive.values() if runtimes[vm.type_index] < math.inf}
    _use_existing(replay, forecast, job, bag, free, within_paid_blocks=True)
    if new_blocks:
        _use_existing(replay, forecast, job, bag, free, within_paid_blocks=False)
    if not bag:
        return
    counts = _model_6(replay, forecast, job, len(bag))
    if counts is None:
        _use_existing(replay, forecast, job, bag, free, within_paid_blocks=True, in_time=False)
        counts = _too_late(replay, forecast, job, len(bag))
    vms = [replay.start_vm(index) for index, count in enumerate(counts) for _ in range(count)]
    _fill(forecast, job, bag, vms)


class _Bag:
    """Tasks to be assigned; one that was suspended on a VM goes back there first, where it need not start anew."""

    def __init__(self, replay: StreamState, tasks: Iterable[int]) -> None:
        self._replay = replay
        self._tasks = deque(tasks)
        self._left = set(self._tasks)
        self._suspended_on: dict[int, deque[int]] = {}
        for task in self._tasks:
            if task in replay.suspended:
                self._suspended_on.setdefault(replay.suspended[task][0], deque()).append(task)

    def __len__(self) -> int:
        return len(self._left)

    def assign_one(self, vm: StreamVm) -> None:
        """Assign a task to a VM."""
        task = self._next(self._suspended_on.get(vm.index))
        if task is None:
            task = self._next(self._tasks)
        assert task is not None
        self._left.discard(task)
        self._replay.assign(task, vm)

    def _next(self, tasks: deque[int] | None) -> int | None:
        """Take the first that is still left."""
        while tasks:
            task = tasks.popleft()
            if task in self._left:
                return task
        return None


def _use_existing(
    replay: StreamState,
    forecast: Forecast,
    job: int,
    bag: _Bag,
    free: dict[int, int],
    within_paid_blocks: bool,
    in_time: bool = True,
) -> None:
    """Append tasks to existing VMs while they finish in time (line 3); the VM with the most slack comes first.

    The text (section 3.2) allows it as long as there is no "additional cost", the algorithm as long as the deadline is
    met: first what fits the blocks that are paid anyhow, then what needs another one. That one may be dear: of a VM
    that Model 6 would not rent for this job. Policies that keep to the text leave the second out. Of a job that no VM
    can finish in time, what is late anyhow fills paid blocks as well.
    """
    if not bag:
        return
    deadline = forecast.units(replay.jobs[job].deadline_s) if in_time else math.inf
    runtimes = forecast.runtimes(job)
    slack: list[tuple[Units, int]] = []
    for index, time in free.items():
        vm = replay.vms[index]
        until = forecast.paid_until(vm, time) if within_paid_blocks else deadline
        slack.append((time + runtimes[vm.type_index] - min(until, deadline), index))
    heapq.heapify(slack)
    given: dict[int, StreamVm] = {}
    while slack and bag and slack[0][0] <= 0:
        excess, index = slack[0]
        vm = given[index] = replay.vms[index]
        bag.assign_one(vm)
        heapq.heapreplace(slack, (excess + runtimes[vm.type_index], index))
    # The ends of all others are what they were, and to find one out takes long.
    free |= {index: forecast.free(vm) for index, vm in given.items()}


def _model_6(replay: StreamState, forecast: Forecast, job: int, n_tasks: int) -> Sequence[int] | None:
    """VMs of each type that Model 6 asks for (lines 5 and 6); None if none can finish a task by the deadline."""
    stream = replay.stream
    choices = tuple(
        TypeChoice(vm_type.name, vm_type.price_usd_per_block, expected)
        for vm_type, expected in zip(stream.vm_types, forecast.exact_runtime_s(job), strict=True)
    )
    left_s = max(replay.jobs[job].deadline_s - replay.now_s, 0)
    problem = SizingProblem(n_tasks, left_s, stream.creation_overhead_s, stream.block_s, choices)
    # Exact as the integer programme, and the same answer among equals; a replay asks for it too often for a solver.
    return vms_of_job(problem)


def _too_late(replay: StreamState, forecast: Forecast, job: int, n_tasks: int) -> Sequence[int]:
    """Choose VMs where none can finish a task by the deadline: of the fastest type, for as few blocks as a task needs.

    The paper leaves it open. Each VM is filled to the end of the block in which it finishes its first task. Fewer VMs
    would save what their creation takes of the blocks, and be later by far.
    """
    runtimes, stream = forecast.runtimes(job), replay.stream
    shortest = int(min(runtimes))
    overhead, fastest = forecast.units(stream.creation_overhead_s), runtimes.index(shortest)
    room = billed_s(forecast.bill(fastest), overhead + shortest) - overhead
    vms = -(-n_tasks // (room // shortest))
    return [vms if index == fastest else 0 for index in range(len(runtimes))]


def _fill(forecast: Forecast, job: int, bag: _Bag, vms: list[StreamVm]) -> None:
    """Deal the tasks to new VMs, each to where it finishes first: the even load that eq. 5 assumes."""
    runtimes = forecast.runtimes(job)
    ends = [(forecast.units(vm.ready_s) + runtimes[vm.type_index], place) for place, vm in enumerate(vms)]
    heapq.heapify(ends)
    while bag:
        end, place = ends[0]
        bag.assign_one(vms[place])
        heapq.heapreplace(ends, (end + runtimes[vms[place].type_index], place))


def reassign(replay: StreamState, forecast: Forecast) -> int:
    """Move from each VM the first task that is expected to be late, to the VM with the largest permissible delay.

    Only what waits is moved: a task that runs would lose what it has done. The task is the next that the receiver
    runs, which is what delays all others by its run time (line 5); and it must be in time there itself: "execute an
    additional task without resulting in a deadline violation". VMs that take samples neither give nor take.

    Returns
    -------
    int
        Tasks moved.
    """
    moved = 0
    delays: dict[int, Units] = {}
    vms = [vm for vm in replay.alive.values() if vm.index not in forecast.held_until_s]
    for vm in vms:
        task = forecast.first_late_task(vm) if vm.queue else None
        target = None if task is None else _target(replay, forecast, task, vm, vms, delays)
        if task is not None and target is not None:
            replay.take_back(task, vm)
            replay.assign(task, target, 0)
            # Of these two VMs, what was known of delays holds no more.
            delays.pop(vm.index, None)
            del delays[target.index]
            moved += 1
    return moved


def _target(
    replay: StreamState,
    forecast: Forecast,
    task: int,
    source: StreamVm,
    vms: list[StreamVm],
    delays: dict[int, Units],
) -> StreamVm | None:
    """VM with the largest permissible delay of those that can take a task (line 5); ``delays`` is what is known."""
    job = replay.job_of[task]
    runtimes, deadline = forecast.runtimes(job), forecast.units(replay.jobs[job].deadline_s)
    best, best_delay = None, -math.inf
    for vm in vms:
        expected = runtimes[vm.type_index]
        if vm is source or expected == math.inf:
            continue
        if vm.index not in delays:
            delays[vm.index] = forecast.permissible_delay(vm)
        delay = delays[vm.index]
        if delay >= expected and delay > best_delay and forecast.next_start(vm) + expected <= deadline:
            best, best_delay = vm, delay
    return best
