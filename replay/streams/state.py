"""State of the replay of a stream as a policy sees it, and may change it: jobs, tasks and VMs; and what it is asked."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from ...core.bill import paid_until_s
from ...core.quantities import ExactSeconds, exact_seconds, plain
from ...instances.entries import RentalOffer
from ...instances.streams.draws import SampledJobs
from ...instances.streams.stream import bills_of
from ..engines import LAUNCHING, NONE, RUNNING, TERMINATED, EventQueue


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


# Order of events at the same time; a job that arrives with the end of a block may still use the VM.
FINISH, READY, SUBMIT, WAKE, BLOCK_END = range(5)

# Where a task is, if not on a VM.
FUTURE, POOL, FINISHED = range(NONE, NONE - 3, -1)


@dataclass(slots=True)
class JobProgress:
    """Progress of a job.

    Attributes
    ----------
    id, n_tasks, deadline_s : str, int, int
        The job.
    finished, late_tasks : int
        Tasks that are finished; those of them that finished after the deadline of the job.
    late_s : int or Fraction
        By how much they were late, all together; a decimal number in outcomes, as all times.
    last_finish_s : int or Fraction
        When the last of them finished.
    """

    id: str
    n_tasks: int
    deadline_s: int
    finished: int = 0
    late_tasks: int = 0
    late_s: float | Fraction = 0
    last_finish_s: float | Fraction = 0

    def in_outcomes(self) -> JobProgress:
        """Return the progress with its times as outcomes have them."""
        return replace(self, late_s=plain(self.late_s), last_finish_s=plain(self.last_finish_s))

    def count(self, time_s: ExactSeconds) -> None:
        """Count a task that finishes."""
        self.finished += 1
        self.last_finish_s = time_s
        if time_s > self.deadline_s:
            self.late_tasks += 1
            self.late_s += time_s - self.deadline_s


class StreamState(EventQueue[ExactSeconds]):
    """The state of a replay of a stream: what a policy sees, and the decisions that it may take.

    VMs are of the on-demand market and run one task at a time (Thai et al., section 3.1). The clock counts from the
    first arrival; times are exact: whole numbers, or fractions where tasks take parts of a second. Policies do not see
    how long a task will run: only when it started, and how long it took.

    Parameters
    ----------
    policy_name : str
        Name of the policy.
    sampled : SampledJobs
        The stream, and how long each task runs.
    record : bool
        Whether to keep a record of every event and decision in `records`.

    Attributes
    ----------
    sampled, stream : SampledJobs, Stream
        What it was made with.
    jobs : tuple of Job
        In the order of their submission; policies name jobs by the position here.
    job_of : sequence of int
        Job of each task.
    vms : list of StreamVm
        All VMs so far, in the order of their requests.
    progress : list of JobProgress
        Of each job: what is finished, and how late.
    alive : dict of int to StreamVm
        Those of them that are not terminated, by index, in the same order.
    suspended : dict of int to (int, int or Fraction)
        Of tasks that were suspended: the VM on which they were, and for how many seconds they had run there.
    unfinished : int
        Tasks that are not finished, of all jobs.
    """

    def __init__(self, policy_name: str, sampled: SampledJobs, record: bool) -> None:
        super().__init__(policy_name, record)
        self.sampled = sampled
        self.stream = sampled.stream
        self.jobs = sampled.stream.jobs_by_submission
        self.job_of = sampled.job_of
        self.vms: list[StreamVm] = []
        self.alive: dict[int, StreamVm] = {}
        self.suspended: dict[int, tuple[int, ExactSeconds]] = {}
        self.unfinished = len(sampled.job_of)
        self.progress = [JobProgress(job.id, job.n_tasks, job.deadline_s) for job in self.jobs]
        self._bills = bills_of(sampled.stream)
        self._runtime_s = sampled.exact_runtime_s
        self._place = [FUTURE] * self.unfinished
        self._task_ids = sampled.instance.task_ids
        self._rented: Counter[int] = Counter()
        self._numbers: Counter[int] = Counter()
        self._restless: list[StreamVm] = []
        for index, job in enumerate(self.jobs):
            self._push(job.submitted_s, SUBMIT, index)

    def unfinished_ids(self) -> list[str]:
        """Ids of the tasks that are not finished, in the order of the stream."""
        return [self._task_ids[task] for task, place in enumerate(self._place) if place != FINISHED]

    # --------------------------------------------------- questions of policies

    def paid_until_s(self, vm: StreamVm, time_s: ExactSeconds) -> ExactSeconds:
        """End of the last block that is paid if the VM runs until a time; at least one block is."""
        return paid_until_s(self._bills[vm.type_index], vm.requested_s, time_s)

    def can_run(self, task: int, type_index: int) -> bool:
        """True if a task can run on VMs of a type at all."""
        return self._runtime_s[task][type_index] is not None

    def in_pool(self, task: int) -> bool:
        """True if a task is there, unfinished, and belongs to no VM."""
        return self._place[task] == POOL

    def done_s(self, task: int, vm: StreamVm) -> ExactSeconds:
        """Run time of a task on a VM when it was suspended there; if it starts there again, it goes on."""
        index, seconds = self.suspended.get(task, (vm.index, 0))
        return seconds if index == vm.index else 0

    # ---------------------------------------------------------------- decisions

    def start_vm(self, type_index: int) -> StreamVm:
        """Request a VM of a type; it is ready after the creation overhead, and billed from now on."""
        offer = self.sampled.instance.offers[type_index]
        self._demand(self._rented[type_index] < offer.limit, f"no more {offer} VM can be started")
        self._rented[type_index] += 1
        self._numbers[type_index] += 1
        name = f"{offer.vm_type.name}-{self._numbers[type_index]}"
        ready_s = self.now_s + self.stream.creation_overhead_s
        vm = StreamVm(len(self.vms), name, type_index, offer, self.now_s, ready_s)
        self.vms.append(vm)
        self.alive[vm.index] = vm
        self._push(ready_s, READY, vm.index)
        self._note("launch", vm=name, type=offer.vm_type.name, market=offer.market)
        return vm

    def assign(self, task: int, vm: StreamVm, position: int | None = None) -> None:
        """Let a task that belongs to no VM wait for one: last, or at a position (0: next)."""
        self._demand(self._place[task] == POOL, f"task {self._task_ids[task]!r} is not there to be assigned")
        self._demand(vm.alive, f"{vm.name} is terminated and takes no task")
        self._demand(self.can_run(task, vm.type_index), f"task {self._task_ids[task]!r} cannot run on {vm.name}")
        self._place[task] = vm.index
        vm.changes += 1
        if position is None or position >= len(vm.queue):
            position = None
            vm.queue.append(task)
        else:
            vm.queue.insert(position, task)
        where = {} if position is None else {"position": position}
        self._note("assign", task=self._task_ids[task], vm=vm.name, **where)
        if vm.state == RUNNING and vm.task is None:
            self._restless.append(vm)

    def take_back(self, task: int, vm: StreamVm) -> None:
        """Let a task that waits for a VM belong to none; what it has done there is kept while the VM lives."""
        self._demand(task in vm.queue, f"task {self._task_ids[task]!r} does not wait for {vm.name}")
        vm.queue.remove(task)
        vm.changes += 1
        self._place[task] = POOL
        self.counts["returns"] += 1
        self._note("return", task=self._task_ids[task], vm=vm.name)
        if vm.idle:
            self._restless.append(vm)

    def suspend(self, vm: StreamVm) -> int:
        """Stop the task that runs on a VM: it waits there as the next one, and goes on where it stopped; return it."""
        task = vm.task
        self._demand(task is not None, f"{vm.name} runs no task that could be suspended")
        assert task is not None
        ran_s = self.now_s - vm.started_s
        vm.busy_s += ran_s
        self.suspended[task] = (vm.index, self.done_s(task, vm) + ran_s)
        vm.task = None
        vm.run_epoch += 1
        vm.queue.insert(0, task)
        vm.changes += 1
        self.counts["suspensions"] += 1
        self._note("suspend", vm=vm.name, core=0, task=self._task_ids[task])
        self._restless.append(vm)
        return task

    def terminate(self, vm: StreamVm) -> None:
        """Terminate a VM without tasks."""
        self._demand(vm.alive, f"{vm.name} is terminated already")
        self._demand(vm.task is None and not vm.queue, f"{vm.name} has tasks left and cannot be terminated")
        self._terminate(vm)

    def wake_at(self, time_s: float | Fraction, datum: int = 0) -> None:
        """Have the policy called at a time, now if it has passed, with a number of its choice."""
        exact_s = time_s if isinstance(time_s, int | Fraction) else exact_seconds(time_s)
        self._push(max(exact_s, self.now_s), WAKE, 0, datum)

    def wake_each(self, period_s: int, datum: int, idle_until_s: float = 0) -> None:
        """Have the policy called at the next multiple of a period, with a number of its choice.

        Multiples are passed over that come before a time until which the policy does nothing unless something happens,
        and before anything happens: however long tasks run, no period is counted one by one.
        """
        next_event_s = self._events[0][0] if self._events else math.inf
        first_s = min(next_event_s, idle_until_s)
        if first_s < math.inf:
            self.wake_at(max(self.now_s // period_s + 1, int(-(-first_s // period_s))) * period_s, datum)

    def _terminate(self, vm: StreamVm) -> None:
        vm.state = TERMINATED
        vm.terminated_s = self.now_s
        del self.alive[vm.index]
        vm.idle_epoch += 1
        self._rented[vm.type_index] -= 1
        self._note("terminate", vm=vm.name)


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
