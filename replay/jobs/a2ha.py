"""The policy ``a2ha``: how many hosts for a bag whose run times nobody knows (Silva, Veiga, Ferreira 2011)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from ...instances.errors import InputError, Issue
from .policy import JobPolicy

if TYPE_CHECKING:
    from .engine import JobReplay
    from .vm import JobVm

TICK: Final = -1
"""Datum of the wakes of Fig. 7."""

_NOISE = 1e-9


@dataclass(frozen=True, slots=True)
class A2haSettings:
    """Parameters of the heuristic.

    Attributes
    ----------
    creation_ratio : float
        Fraction of the hosts that are found necessary that is created at first (*creationRatio*, section 3.3).
    increase_ratio : float
        How fast that fraction grows to 1 (*increaseRatio*).
    initial_hosts : int
        Hosts that are created at the start.
    budget_factor : float
        How many times the least possible payment the user will pay: hosts need work only for that part of each paid
        unit (*hostProcessingTime*, section 3.1).
    period_s : int
        How often the tasks that run are looked at (section 3.4).
    long_tasks : {"new", "total", "off"}
        What must not exceed half the number of tasks (section 3.6): the new hosts, which is what fits the hosts of
        Table 2 (129, 154, 179), or all hosts, which is what the text says; or nothing.
    """

    creation_ratio: float = 0.5
    increase_ratio: float = 0.5
    initial_hosts: int = 1
    budget_factor: float = 1.0
    period_s: int = 300
    long_tasks: Literal["new", "total", "off"] = "new"

    def __post_init__(self) -> None:
        issues = [
            Issue("", "must be from 0 to 1", name, value)
            for name, value in (("creation_ratio", self.creation_ratio), ("increase_ratio", self.increase_ratio))
            if not 0 <= value <= 1
        ]
        issues += [
            Issue("", "must be 1 or more", name, value)
            for name, value in (("initial_hosts", self.initial_hosts), ("period_s", self.period_s))
            if value < 1
        ]
        if not 1 <= self.budget_factor < math.inf:
            issues.append(
                Issue(
                    "",
                    "must be 1 or more: less than the least payment is not enough",
                    "budget_factor",
                    self.budget_factor,
                )
            )
        if issues:
            raise InputError("a2ha", issues)


class A2ha(JobPolicy):
    """Predict how many hosts are needed, after each finished task and periodically.

    Hosts are VMs of the first type of the stream; all jobs are one bag. Tasks are selected at random (section 3.2).

    Notes
    -----
    Where the paper is silent, contradicts itself or is wrong:

    - Lines 11 and 12 of Fig. 7 add two averages and divide by a number of tasks; what is meant is the average over the
      finished tasks and those that run. It counts for the decision of that moment only.
    - Line 14 of Fig. 5 rounds up (23 hosts at a ratio of 0.4 are 10), the text says 9.
    - A host that takes on another unit does so when one ends: for a task older than the average (section 3.5), and for
      any task if no fresh host could finish an average one within a unit, or if section 3.6 has refused hosts: tasks
      would be restarted for ever.
    - The last host does not stop while there are tasks: nobody would be left to finish them, and to predict.

    Parameters
    ----------
    settings : A2haSettings
        Parameters.
    seed : int
        Of the random selection.
    """

    name = "a2ha"

    def __init__(self, settings: A2haSettings | None = None, seed: int = 0) -> None:
        self.settings = A2haSettings() if settings is None else settings
        self._rng = np.random.default_rng([seed, 2011])
        self._ratio = self.settings.creation_ratio
        self._tasks: list[int] = []
        self._n_tasks = 0
        self._finished = 0
        self._total_s = 0
        self._hosts: list[JobVm] = []
        self._unit_end_s: dict[int, int] = {}
        self._started = 0
        self._refused = False
        self._ticking = False
        self.interrupted = 0
        self.wasted_s = 0
        self.continued: set[int] = set()

    def begin(self, replay: JobReplay) -> None:
        """Create the first hosts."""
        for _ in range(self.settings.initial_hosts):
            self._create(replay)

    def submitted(self, replay: JobReplay, job: int) -> None:
        """Put the tasks into the bag, in random order."""
        tasks = replay.drawn.tasks(job)
        self._n_tasks += len(tasks)
        self._tasks.extend(tasks)
        self._rng.shuffle(self._tasks)
        self._occupy(replay)
        self._tick_later(replay)

    def idle(self, replay: JobReplay, vm: JobVm) -> None:
        """Give the host the next task; none is left is no reason to end before the unit does."""
        if self._tasks:
            replay.assign(self._tasks.pop(), vm)

    def _occupy(self, replay: JobReplay) -> None:
        """Give tasks to idle hosts; if there is no host at all, create one."""
        for vm in self._hosts:
            if self._tasks and vm.idle:
                replay.assign(self._tasks.pop(), vm)
        if not self._hosts and self._tasks:
            self._create(replay)

    # -------------------------------------------------------------- prediction

    def finished(self, replay: JobReplay, vm: JobVm, task: int, took_s: int) -> None:
        """Predict anew with the average of the finished tasks (Fig. 3, lines 1 to 4)."""
        self._finished += 1
        self._total_s += took_s
        self._predict(replay, self._total_s / self._finished)

    def woken(self, replay: JobReplay, datum: int) -> None:
        """Look at the tasks that run (Fig. 7), or decide whether a host takes on another unit (section 3.5)."""
        if datum != TICK:
            self._unit_ended(replay, replay.vms[datum])
            return
        self._ticking = False
        running_s = [replay.now_s - vm.started_s for vm in self._hosts if vm.task is not None]
        total_s, count = sum(running_s), len(running_s)
        # Line 10, without divisions: the average of those that run is above the average of those that are finished.
        if (count and total_s * self._finished > self._total_s * count) or (count and total_s and not self._finished):
            self._predict(replay, (self._total_s + total_s) / (self._finished + count))
        self._tick_later(replay)

    def _tick_later(self, replay: JobReplay) -> None:
        if not self._ticking and self._hosts and self._finished < self._n_tasks:
            self._ticking = True
            period_s = self.settings.period_s
            replay.wake_at((replay.now_s // period_s + 1) * period_s, TICK)

    def _predict(self, replay: JobReplay, average_s: float) -> None:
        """Create the hosts that are necessary (Fig. 3, lines 6 to 11, and Fig. 5)."""
        settings = self.settings
        possible = sum(self._possible_tasks(replay, vm, average_s) for vm in self._hosts)
        missing_s = (self._n_tasks - self._finished - possible) * average_s
        usable_s = replay.stream.block_s - replay.stream.creation_overhead_s
        necessary = math.floor(missing_s * settings.budget_factor / usable_s + 0.5)
        if necessary < 0:  # line 12
            return
        create = necessary if self._ratio == 1.0 else math.ceil(necessary * self._ratio - _NOISE)
        self._ratio += (1.0 - self._ratio) * settings.increase_ratio  # line 16
        if not create:
            return
        if self._too_many(create):
            self._refused = True
            for vm in self._hosts:
                self._extend(replay, vm, vm.requested_s + 2 * replay.stream.block_s)
            return
        for _ in range(create):
            self._create(replay)

    def _possible_tasks(self, replay: JobReplay, vm: JobVm, average_s: float) -> int:
        """Tasks that a host can do to the end of what it is paid for, the running one included (line 8)."""
        left_s = self._unit_end_s[vm.index] - max(replay.now_s, vm.ready_s)
        return max(math.floor(left_s / average_s + _NOISE), 0)

    def _too_many(self, create: int) -> bool:
        """Whether so many more hosts are too many for the number of tasks (section 3.6)."""
        rule = self.settings.long_tasks
        if rule == "off":
            return False
        hosts = create + (self._started - self.settings.initial_hosts if rule == "new" else len(self._hosts))
        return 2 * hosts > self._n_tasks

    # ------------------------------------------------------------------- hosts

    def _create(self, replay: JobReplay) -> None:
        vm = replay.start_vm(0)
        self._started += 1
        self._hosts.append(vm)
        self._unit_end_s[vm.index] = 0
        self._extend(replay, vm, vm.requested_s + replay.stream.block_s)

    def _extend(self, replay: JobReplay, vm: JobVm, until_s: int) -> None:
        if until_s > self._unit_end_s[vm.index]:
            self._unit_end_s[vm.index] = until_s
            replay.wake_at(until_s, vm.index)

    def _unit_ended(self, replay: JobReplay, vm: JobVm) -> None:
        """Stop a host, or let it take on another unit (section 3.5)."""
        if not vm.alive or replay.now_s < self._unit_end_s[vm.index]:
            return
        if vm.task is not None and self._to_be_continued(replay, vm):
            self.continued.add(vm.index)
            self._extend(replay, vm, replay.now_s + replay.stream.block_s)
            return
        if vm.task is not None:
            self.interrupted += 1
            self.wasted_s += replay.now_s - vm.started_s
            task = replay.suspend(vm)
            replay.take_back(task, vm)
            self._tasks.insert(int(self._rng.integers(len(self._tasks) + 1)), task)
        self._stop(replay, vm)
        self._occupy(replay)

    def _to_be_continued(self, replay: JobReplay, vm: JobVm) -> bool:
        usable_s = replay.stream.block_s - replay.stream.creation_overhead_s
        average_s = self._total_s / self._finished if self._finished else math.inf
        old_enough = replay.now_s - vm.started_s >= average_s
        return old_enough or average_s > usable_s or self._refused or len(self._hosts) == 1

    def block_ended(self, replay: JobReplay, vm: JobVm) -> None:
        """Stop a host without a task, unless it was told to stay (section 3.6)."""
        if replay.now_s >= self._unit_end_s[vm.index]:
            self._stop(replay, vm)

    def _stop(self, replay: JobReplay, vm: JobVm) -> None:
        self._hosts.remove(vm)
        replay.terminate(vm)
