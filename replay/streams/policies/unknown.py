"""The policy ``unknown``: the first job of each application is sampled (Thai et al., section 4)."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction

from ....core.errors import InputError, Issue
from ....core.quantities import ExactSeconds, as_written
from ..state import StreamState, StreamVm
from .forecast import Forecast
from .known import PERIOD, Known


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling of policies that know nothing at first.

    Attributes
    ----------
    fraction : float
        Length of the sampling phase as a fraction of the time to the deadline (section 4.1).
    samples_per_vm : int
        Tasks that each VM of a sampling phase is given: "around 10 tasks should be enough" (section 4.2.2).
    """

    fraction: float = 0.1
    samples_per_vm: int = 10

    def __post_init__(self) -> None:
        issues = []
        if not 0 < self.fraction < 1:
            issues.append(Issue("", "must be above 0 and below 1", "sampling_fraction", self.fraction))
        if self.samples_per_vm < 1:
            issues.append(Issue("", "must be 1 or more", "samples_per_vm", self.samples_per_vm))
        if issues:
            raise InputError("unknown", issues)


@dataclass(slots=True)
class _Sample:
    """A VM of a sampling phase."""

    vm: StreamVm
    until_s: ExactSeconds
    tasks: set[int] = field(default_factory=set)
    took_s: list[ExactSeconds] = field(default_factory=list)
    time_is_up: bool = False
    ended: bool = False


class Unknown(Known):
    """Sample the first job of each application on all types, then go on as if its run times were known.

    Notes
    -----
    Jobs wait in a queue: one is scheduled, or sampled, at a time (sections 3.2 and 4.2.1).

    Where the paper is silent: the sampling duration counts from when the VM of a sample can run, so that the creation
    overhead does not eat it up (section 4.1 wants it "taken into account"); each VM ends its samples for itself, so
    that one that existed before goes on with its own tasks at once. Tasks that were cut off go back to the job with all
    others; one that is then given to the same VM again goes on where it stopped. If no task at all has finished in
    time, the phase lasts until the first one does.

    Parameters
    ----------
    sampling : Sampling, optional
        How long, and how many tasks.
    """

    name = "unknown"
    summary = "samples each application first, then goes on as known (Thai et al.)"

    def __init__(self, sampling: Sampling | None = None) -> None:
        super().__init__()
        self.sampling = Sampling() if sampling is None else sampling
        self._jobs: deque[int] = deque()
        self._sampled_job: int | None = None
        self._samples: dict[int, _Sample] = {}

    def begin(self, replay: StreamState) -> None:
        """Know nothing."""
        self.forecast = Forecast(replay)

    def submitted(self, replay: StreamState, job: int) -> None:
        """Schedule or sample the job when it is its turn."""
        self._jobs.append(job)
        self._next_jobs(replay)

    def _next_jobs(self, replay: StreamState) -> None:
        while self._jobs and self._sampled_job is None:
            job = self._jobs.popleft()
            if self.forecast.knows(job):
                self.schedule(replay, job, replay.sampled.tasks(job))
            else:
                self._assign_sampling(replay, job)

    # ---------------------------------------------------------- sampling phase

    def _assign_sampling(self, replay: StreamState, job: int) -> None:
        """Give tasks of a job to one VM of each type (Algorithm 2)."""
        self._sampled_job = job
        tasks = replay.sampled.tasks(job)
        duration_s = math.ceil(as_written(self.sampling.fraction) * (replay.jobs[job].deadline_s - replay.now_s))
        types = self._types_to_sample(replay, tasks)
        vms = [self._vm_of(replay, index, duration_s) or replay.start_vm(index) for index in types]
        self._samples = {vm.index: _Sample(vm, max(vm.ready_s, replay.now_s) + duration_s) for vm in vms}
        # Dealt in turns, so that a small job is sampled on every type.
        for place, task in zip(range(self.sampling.samples_per_vm * len(vms)), tasks, strict=False):
            self._samples[vms[place % len(vms)].index].tasks.add(task)
        for index, sample in self._samples.items():
            if sample.vm.task is not None:
                replay.suspend(sample.vm)
            for position, task in enumerate(sorted(sample.tasks)):
                replay.assign(task, sample.vm, position)
            self.forecast.held_until_s[index] = sample.until_s
            replay.wake_at(sample.until_s, index)

    def _types_to_sample(self, replay: StreamState, tasks: range) -> list[int]:
        """All types that can run the job; of a job with fewer tasks than that, as many of the cheapest."""
        prices = [vm_type.price_usd_per_block for vm_type in replay.stream.vm_types]
        able = [index for index in range(len(prices)) if replay.can_run(tasks[0], index)]
        # Chosen by their prices, but dealt samples in the order of the stream.
        return sorted(sorted(able, key=lambda index: prices[index])[: len(tasks)])

    def _vm_of(self, replay: StreamState, type_index: int, duration_s: int) -> StreamVm | None:
        """VM of a type with the largest permissible delay, if that suffices for the samples (lines 2 to 13)."""
        best, best_delay, duration = None, 0.0, self.forecast.units(duration_s)
        for vm in replay.alive.values():
            if vm.type_index == type_index:
                delay = self.forecast.permissible_delay(vm)
                if delay >= duration and delay > best_delay:
                    best, best_delay = vm, delay
        return best

    def finished(self, replay: StreamState, vm: StreamVm, task: int, took_s: ExactSeconds) -> None:
        """Note the run time of a sample (section 4.3)."""
        sample = self._samples.get(vm.index)
        if sample is None or task not in sample.tasks:
            return
        sample.tasks.discard(task)
        sample.took_s.append(took_s)
        self._end_samples(replay)

    def woken(self, replay: StreamState, datum: int) -> None:
        """End the samples of a VM whose time is up, or perform Algorithm 3."""
        if datum == PERIOD:
            super().woken(replay, datum)
            return
        sample = self._samples.get(datum)
        if sample is not None and replay.now_s >= sample.until_s:
            sample.time_is_up = True
            self._end_samples(replay)

    def _end_samples(self, replay: StreamState) -> None:
        """End samples that have run long enough; the phase ends with its last VM."""
        if not any(sample.took_s for sample in self._samples.values()):
            return
        for sample in self._samples.values():
            if not sample.ended and (sample.time_is_up or not sample.tasks):
                self._end_sample(replay, sample)
        if all(sample.ended for sample in self._samples.values()):
            self._end_phase(replay)

    def _end_sample(self, replay: StreamState, sample: _Sample) -> None:
        """End a sample, tasks that are run for their times to be known: unfinished ones wait again, the VM goes on."""
        sample.ended = True
        del self.forecast.held_until_s[sample.vm.index]
        if sample.vm.task in sample.tasks:
            replay.suspend(sample.vm)
        for task in sorted(sample.tasks):
            replay.take_back(task, sample.vm)

    def _end_phase(self, replay: StreamState) -> None:
        """Learn the averages, schedule what is left of the job, and go on with the next (section 4.3)."""
        job = self._sampled_job
        assert job is not None
        averages: list[Fraction | None] = [None] * len(replay.stream.vm_types)
        for sample in self._samples.values():
            if sample.took_s:
                averages[sample.vm.type_index] = Fraction(sum(sample.took_s)) / len(sample.took_s)
        self.forecast.learn(replay.jobs[job].application, averages)
        self._samples, self._sampled_job = {}, None
        self.schedule(replay, job, [task for task in replay.sampled.tasks(job) if replay.in_pool(task)])
        self._next_jobs(replay)


class UnknownPaidBlocks(Unknown):
    """Policy as ``unknown``, but existing VMs get tasks only within blocks that are paid: section 3.2 to the letter."""

    name = "unknown-paid-blocks"
    summary = "as unknown; VMs take new jobs in blocks that are paid anyhow only"
    new_blocks = False


class UnknownLearning(UnknownPaidBlocks):
    """Policy as ``unknown-paid-blocks``, but what every task took counts, not only the samples: our own variation.

    A phase that is cut off sees the short tasks of a job rather than the long ones, and few of them; what runs later
    corrects that, for the forecasts of Algorithm 3 and for later jobs of the same application.
    """

    name = "unknown-learning"
    summary = "as unknown-paid-blocks; every finished task is a sample"

    def begin(self, replay: StreamState) -> None:
        """Know nothing."""
        super().begin(replay)
        names, n_types = [application.name for application in replay.stream.applications], len(replay.stream.vm_types)
        self._took: dict[str, list[tuple[ExactSeconds, int]]] = {name: [(0, 0)] * n_types for name in names}
        self._averages: dict[str, list[Fraction | None]] = {name: [None] * n_types for name in names}

    def finished(self, replay: StreamState, vm: StreamVm, task: int, took_s: ExactSeconds) -> None:
        """Learn from the task."""
        job = replay.job_of[task]
        application = replay.jobs[job].application
        took, averages = self._took[application], self._averages[application]
        total_s, count = took[vm.type_index]
        total_s, count = took[vm.type_index] = total_s + took_s, count + 1
        averages[vm.type_index] = Fraction(total_s, count)
        super().finished(replay, vm, task, took_s)
        if self.forecast.knows(job):
            self.forecast.learn(application, averages.copy())
