"""The replay of a stream: jobs arrive, a policy rents VMs and assigns the tasks to them."""

from __future__ import annotations

import heapq

from ...core.quantities import ExactSeconds, plain
from ...instances.streams.draws import SampledJobs
from ..engines import LAUNCHING, RUNNING, EventLoop
from .outcome import StreamOutcome, stream_outcome
from .state import BLOCK_END, FINISH, FINISHED, POOL, READY, SUBMIT, WAKE, StreamPolicy, StreamState, StreamVm


class StreamReplay(StreamState, EventLoop[StreamOutcome]):
    """A replay of a stream: its state, the policy, and the events that happen.

    Parameters
    ----------
    policy : StreamPolicy
        Answers to events; made afresh for each replay.
    sampled, record
        See `StreamState`.

    Attributes
    ----------
    policy : StreamPolicy
        What it was made with; what else it knows is in `StreamState`.
    """

    def __init__(self, sampled: SampledJobs, policy: StreamPolicy, record: bool = False) -> None:
        super().__init__(policy.name, sampled, record)
        self.policy = policy
        policy.begin(self)

    def step(self) -> bool:
        """Handle the next event; False if there is none, or all jobs are done."""
        if self.unfinished == 0 or not self._events:
            self._end()
            return False
        time, kind, _, index, datum, epoch = heapq.heappop(self._events)
        if kind == FINISH:
            vm = self.vms[index]
            # An end that a suspension has overtaken did not happen: the clock does not move to it.
            if vm.run_epoch == epoch:
                self.now_s = time
                self._finish(vm)
        elif kind == READY:
            vm = self.vms[index]
            if vm.state == LAUNCHING:
                self.now_s = time
                self._ready(vm)
        elif kind == SUBMIT:
            self.now_s = time
            self._submit(index)
        elif kind == WAKE:
            self.now_s = time
            self._wake(datum)
        else:
            self._block_end(self.vms[index], epoch, time)
        if self._restless:
            self._settle()
        return True

    def _finish(self, vm: StreamVm) -> None:
        task = vm.task
        assert task is not None
        ran_s = self.now_s - vm.started_s
        took_s = ran_s + self.done_s(task, vm)
        vm.busy_s += ran_s
        vm.task = None
        vm.run_epoch += 1
        self._place[task] = FINISHED
        self.unfinished -= 1
        self.suspended.pop(task, None)
        self.progress[self.job_of[task]].count(self.now_s)
        self._happens("finish", vm=vm.name, core=0, task=self._task_ids[task])
        self._restless.append(vm)
        if self.unfinished:
            self.policy.finished(self, vm, task, took_s)

    def _ready(self, vm: StreamVm) -> None:
        vm.state = RUNNING
        self._happens("ready", vm=vm.name)
        self._restless.append(vm)

    def _submit(self, job: int) -> None:
        for task in self.sampled.tasks(job):
            self._place[task] = POOL
        self._happens("submit", job=self.jobs[job].id)
        self.policy.submitted(self, job)

    def _wake(self, datum: int) -> None:
        self._happens("wake")
        self.policy.woken(self, datum)

    def _block_end(self, vm: StreamVm, epoch: int, time_s: ExactSeconds) -> None:
        if vm.idle_epoch != epoch or not vm.idle:
            return
        self.now_s = time_s
        self._happens("block-end", vm=vm.name)
        self.policy.block_ended(self, vm)

    def _settle(self) -> None:
        """Let VMs that are free start what waits for them; let the policy answer for those that have nothing."""
        while self._restless:
            vm = self._restless.pop(0)
            if vm.state == RUNNING and vm.task is None and not vm.queue and self.unfinished:
                self.policy.idle(self, vm)
            if vm.state == RUNNING and vm.task is None:
                if vm.queue:
                    self._start(vm)
                else:
                    vm.idle_epoch += 1
                    self._push(self.paid_until_s(vm, self.now_s), BLOCK_END, vm.index, 0, vm.idle_epoch)

    def _start(self, vm: StreamVm) -> None:
        task = vm.queue.pop(0)
        vm.task = task
        vm.started_s = self.now_s
        vm.idle_epoch += 1
        done_s = self.done_s(task, vm)
        runtime_s = self._runtime_s[task][vm.type_index]
        assert runtime_s is not None
        left_s = runtime_s - done_s
        if done_s == 0:
            self.suspended.pop(task, None)  # what it has done elsewhere is lost when it starts anew
        self._push(self.now_s + left_s, FINISH, vm.index, 0, vm.run_epoch)
        self._note("start", vm=vm.name, core=0, task=self._task_ids[task], duration_s=plain(left_s))

    def _end(self) -> None:
        """End all VMs with the last job, or when nothing can happen any more."""
        for vm in list(self.alive.values()):
            self._terminate(vm)

    def outcome(self) -> StreamOutcome:
        """Return the outcome of an ended replay."""
        return stream_outcome(self, self.policy.counts(self))
