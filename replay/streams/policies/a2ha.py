"""The policy ``a2ha``: how many hosts for a bag whose run times nobody knows (Silva, Veiga, Ferreira 2011)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from ....core.errors import InputError, Issue
from ....core.quantities import NOISE, ExactSeconds
from ...engines import NONE
from ..state import StreamPolicy, StreamState, StreamVm

LongTasks: TypeAlias = Literal["untaken", "new", "total", "off"]
Rounding: TypeAlias = Literal["up", "nearest"]

TICK: Final = NONE
"""Datum of the wakes of Fig. 7: no VM."""


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
        Hosts that are created for a job that finds none; never more than it has tasks.
    budget_factor : float
        How many times the least possible payment the user will pay: hosts need work only for that part of each paid
        unit (*hostProcessingTime*, section 3.1).
    period_s : int
        How often the tasks that run are looked at (section 3.4).
    long_tasks : {"untaken", "new", "total", "off"}
        When a prediction creates no host at all (section 3.6). ``total``: if all hosts together would be more than half
        the number of tasks, which is what the text says. ``new``: if those created after the initial ones would be.
        ``untaken``: if those would be more than half of the tasks that the initial hosts leave, and one.
        ``off``: never.
    host_processing_time_s : int, optional
        Seconds of work that a prediction expects of a new host (*hostProcessingTime*, line 11 of Fig. 3): a paid unit
        less the time to boot if not given (section 4); section 3.1 has the whole unit. The budget factor divides it.
    rounding : {"up", "nearest"}
        How the number of hosts to create is rounded: ``up`` in line 14 of Fig. 5, ``nearest`` (halves up) in the text
        of section 3.3, where 23 hosts at a ratio of 0.4 are 9.

    Notes
    -----
    ``untaken``, the default, is a reading of Table 2, not of the text, which the table contradicts: more than 128 hosts
    do 256 tasks. For 1, 50 and 100 initial hosts it prints 129, 154 and 179 hosts, so 128, 104 and 79 are created
    later, which is ``floor((256 - initial) / 2) + 1``. Then each of them has two tasks to do, as section 3.6 wants it:
    "guaranteeing that the already allocated hosts will execute (at least) twice the charging unit". The simpler reading
    of the printed hosts, at most half of all tasks later (``new``), leads to 129, 178 and 228; that of the text to 128
    each time. As in the text, all hosts of a prediction are refused or none; smaller predictions may follow.

    The printed hours are not reached. The rows without the heuristic are of hosts that are ready at once: 256 hosts pay
    512 hours; with 5 minutes to boot they would pay more. The printed hours of the heuristic are near those of as many
    hosts that are all created at the start and ready at once. Here most are created over the first hour, by predictions
    that grow with the age of the tasks that run (section 3.4), and the rest mostly when the last tasks begin.
    """

    creation_ratio: float = 0.5
    increase_ratio: float = 0.5
    initial_hosts: int = 1
    budget_factor: float = 1.0
    period_s: int = 300
    long_tasks: LongTasks = "untaken"
    host_processing_time_s: int | None = None
    rounding: Rounding = "up"

    def __post_init__(self) -> None:
        issues = [
            Issue("", "must be from 0 to 1", name, value)
            for name, value in (("creation_ratio", self.creation_ratio), ("increase_ratio", self.increase_ratio))
            if not 0 <= value <= 1
        ]
        issues += [
            Issue("", "must be 1 or more", name, value)
            for name, value in (
                ("initial_hosts", self.initial_hosts),
                ("period_s", self.period_s),
                ("host_processing_time_s", self.host_processing_time_s),
            )
            if value is not None and value < 1
        ]
        if not 1 <= self.budget_factor < math.inf:
            rule = "must be 1 or more: less than the least payment is not enough"
            issues.append(Issue("", rule, "budget_factor", self.budget_factor))
        issues += [
            Issue("", f"must be one of {', '.join(known)}", name, value)
            for name, value, known in (
                ("long_tasks", self.long_tasks, get_args(LongTasks)),
                ("rounding", self.rounding, get_args(Rounding)),
            )
            if value not in known
        ]
        if issues:
            raise InputError("a2ha", issues)


@dataclass(slots=True, eq=False)
class _Host:
    """A host: until when it is to stay, and until when it counts on having work."""

    vm: StreamVm
    stays_until_s: ExactSeconds
    works_until_s: ExactSeconds


class A2ha(StreamPolicy):
    """Predict the number of hosts, after each finished task and periodically.

    Hosts are VMs of the first type of the stream; all jobs are one bag. Tasks are selected at random (section 3.2), by
    the seed of the draw: where all seeds have the same run times, each is another order of them.

    Notes
    -----
    Where the paper is silent, contradicts itself or is wrong:

    - Lines 11 and 12 of Fig. 7 add two averages and divide by a number of tasks; what is meant is the average over the
      finished tasks and those that run. It counts for the decision of that moment only. Before any task has finished,
      it is the average of those that run.
    - Line 14 of Fig. 5 rounds up (23 hosts at a ratio of 0.4 are 10), the text says 9: see ``rounding``.
    - A host counts on as many average tasks as fit from now to the end of what it is paid for, as if the one that it
      runs had just begun; one that boots, from when it is ready.
    - With a budget factor of 2, a host counts on work in the first half of what it is paid for ("processing tasks only
      during 30 minutes"), but still takes tasks in the second. What it stays longer is for work by half, too.
    - A host that takes on another unit does so when one ends: for a task as old as the average or older (section 3.5),
      and for any task if none has finished yet, if an average one does not fit into the first unit of a host, or if the
      last prediction was refused by section 3.6. With the refusal, the hosts also stay for two units at least, as long
      as they find work. A host without work stops with its unit.
    - The last host does not stop while there are tasks: nobody would be left to finish them, and to predict.
    - Hosts are created only for tasks that wait, one each at most, and hosts that boot or are free have theirs already:
      so never more are created than there are unfinished tasks, the "upper limit of the interval" of section 1.
      Without that, hosts whose units end soon count for no task (line 8 of Fig. 3), and when the bag is empty, others
      are created for what they run. A task may still be gone when its host is ready: such hosts never run any.
    - Where booting takes longer than a unit, the first unit of a host is so many that some of it is left.

    Parameters
    ----------
    settings : A2haSettings, optional
        Parameters.
    """

    name = "a2ha"
    summary = "predicts from finished tasks how many VMs of the first type to rent (Silva et al. 2011)"

    def __init__(self, settings: A2haSettings | None = None) -> None:
        self.settings = A2haSettings() if settings is None else settings
        self._ratio = self.settings.creation_ratio
        self._tasks: list[int] = []
        self._n_tasks = 0
        self._finished = 0
        self._total_s: ExactSeconds = 0
        self._hosts: dict[int, _Host] = {}
        self._initial = 0
        self._refused = False
        self._ticking = False
        self._interrupted = 0
        self._wasted_s: ExactSeconds = 0

    def begin(self, replay: StreamState) -> None:
        """Prepare the random selection, and what a unit is worth."""
        self._rng = np.random.default_rng([2011, replay.sampled.seed])
        stream = replay.stream
        self._first_unit_s = (stream.creation_overhead_s // stream.block_s + 1) * stream.block_s
        self._usable_s = self._first_unit_s - stream.creation_overhead_s
        self._expected_s = self.settings.host_processing_time_s or self._usable_s

    def counts(self, replay: StreamState) -> dict[str, ExactSeconds]:
        """Hosts in all, those that never ran a task, and what Table 1 counts."""
        return {
            "hosts": len(replay.vms),
            "unused_hosts": sum(vm.busy_s == 0 for vm in replay.vms),
            "interrupted_tasks": self._interrupted,
            "wasted_s": self._wasted_s,
            "continued_hosts": sum(vm.terminated_s - vm.requested_s > self._first_unit_s for vm in replay.vms),
        }

    # --------------------------------------------------------- tasks for hosts

    def submitted(self, replay: StreamState, job: int) -> None:
        """Put the tasks into the bag, in random order; if there is no host, create the initial ones."""
        tasks = replay.sampled.tasks(job)
        self._n_tasks += len(tasks)
        self._tasks.extend(tasks)
        self._rng.shuffle(self._tasks)
        if not self._hosts:
            initial = min(self.settings.initial_hosts, self._n_tasks - self._finished)
            self._initial += initial
            self._create(replay, initial)
        self._occupy(replay)
        self._tick_later(replay)

    def idle(self, replay: StreamState, vm: StreamVm) -> None:
        """Give the host the next task, unless its time is up: that is decided in a moment, at the same second."""
        if self._tasks and replay.now_s < self._hosts[vm.index].stays_until_s:
            replay.assign(self._tasks.pop(), vm)

    def _occupy(self, replay: StreamState) -> None:
        for host in self._hosts.values():
            if host.vm.idle:
                self.idle(replay, host.vm)

    # -------------------------------------------------------------- prediction

    def finished(self, replay: StreamState, vm: StreamVm, task: int, took_s: ExactSeconds) -> None:
        """Predict anew with the average of the finished tasks (Fig. 3, lines 1 to 4)."""
        self._finished += 1
        self._total_s += took_s
        self._predict(replay, self._total_s, self._finished)

    def woken(self, replay: StreamState, datum: int) -> None:
        """Look at the tasks that run (Fig. 7), or decide whether a host takes on another unit (section 3.5)."""
        if datum != TICK:
            self._time_is_up(replay, replay.vms[datum])
            return
        self._ticking = False
        running_s = [replay.now_s - host.vm.started_s for host in self._hosts.values() if host.vm.task is not None]
        sum_s, count = sum(running_s), len(running_s)
        # Line 10; the number of finished tasks, by which it divides, may be 0.
        if sum_s and (not self._finished or sum_s * self._finished > self._total_s * count):
            self._predict(replay, self._total_s + sum_s, self._finished + count)
        self._tick_later(replay)

    def _tick_later(self, replay: StreamState) -> None:
        if not self._ticking and self._finished < self._n_tasks:
            self._ticking = True
            period_s = self.settings.period_s
            replay.wake_at((replay.now_s // period_s + 1) * period_s, TICK)

    def _predict(self, replay: StreamState, total_s: ExactSeconds, count: int) -> None:
        """Create the hosts that are necessary if tasks take ``total_s / count`` (Fig. 3, lines 6 to 11, and Fig. 5)."""
        settings, now_s = self.settings, replay.now_s
        possible = 0
        for host in self._hosts.values():
            ready_s = host.vm.ready_s
            left_s = host.works_until_s - (now_s if ready_s < now_s else ready_s)
            if left_s > 0:
                possible += left_s * count // total_s
        missing = self._n_tasks - self._finished - possible
        necessary = math.floor(missing * total_s * settings.budget_factor / (count * self._expected_s) + 0.5)
        self._refused = False
        if necessary < 0:  # line 12
            return
        create = necessary
        if self._ratio != 1.0:
            share = necessary * self._ratio
            create = math.ceil(share - NOISE) if settings.rounding == "up" else math.floor(share + 0.5)
        self._ratio += (1.0 - self._ratio) * settings.increase_ratio  # line 16
        # Hosts whose unit ends soon count for nothing above, though they end what they run: no more than tasks wait.
        create = min(create, self._n_tasks - self._finished - len(self._hosts))
        if create <= 0:
            return
        if not self._too_many(replay, create):
            self._create(replay, create)
            return
        self._refused = True
        for host in self._hosts.values():
            self._let_stay(replay, host, host.vm.requested_s + self._first_unit_s + replay.stream.block_s)

    def _too_many(self, replay: StreamState, create: int) -> bool:
        """True if a number of further hosts are too many for the number of tasks (section 3.6)."""
        new = len(replay.vms) - self._initial + create
        match self.settings.long_tasks:
            case "untaken":
                return new > (self._n_tasks - self._initial) // 2 + 1
            case "new":
                return 2 * new > self._n_tasks
            case "total":
                return 2 * (len(self._hosts) + create) > self._n_tasks
            case "off":
                return False

    # ------------------------------------------------------------------- hosts

    def _create(self, replay: StreamState, count: int) -> None:
        for _ in range(count):
            vm = replay.start_vm(0)
            host = self._hosts[vm.index] = _Host(vm, vm.ready_s, vm.ready_s)
            self._let_stay(replay, host, vm.requested_s + self._first_unit_s)

    def _let_stay(self, replay: StreamState, host: _Host, until_s: ExactSeconds) -> None:
        """Let a host stay until a time, if it does not anyway; the first part of what that adds is for work."""
        if until_s > host.stays_until_s:
            added_s = until_s - host.stays_until_s
            # What is added inside a unit joins on the work in it, not on the rest in which the host may be idle.
            work_from_s = max(host.works_until_s, replay.now_s)
            host.works_until_s = work_from_s + int(added_s / self.settings.budget_factor)
            host.stays_until_s = until_s
            replay.wake_at(until_s, host.vm.index)

    def _time_is_up(self, replay: StreamState, vm: StreamVm) -> None:
        """Stop a host, or let it take on another unit (section 3.5)."""
        host = self._hosts.get(vm.index)
        if host is None or replay.now_s < host.stays_until_s:
            return
        if self._goes_on(replay, vm):
            self._let_stay(replay, host, replay.now_s + replay.stream.block_s)
        else:
            if vm.task is not None:
                self._interrupt(replay, vm)
            self._stop(replay, vm)
        self._occupy(replay)

    def _goes_on(self, replay: StreamState, vm: StreamVm) -> bool:
        if vm.task is None and not self._tasks:
            return False
        if len(self._hosts) == 1 or self._refused:
            return True
        if not self._finished or self._total_s > self._usable_s * self._finished:
            return True
        return vm.task is not None and (replay.now_s - vm.started_s) * self._finished >= self._total_s

    def _interrupt(self, replay: StreamState, vm: StreamVm) -> None:
        """Put the task of a host back into the bag; what it has done is lost."""
        self._interrupted += 1
        self._wasted_s += replay.now_s - vm.started_s
        task = replay.suspend(vm)
        replay.take_back(task, vm)
        self._tasks.insert(int(self._rng.integers(len(self._tasks) + 1)), task)

    def block_ended(self, replay: StreamState, vm: StreamVm) -> None:
        """Stop a host without a task: it would be paid for nothing."""
        self._stop(replay, vm)

    def _stop(self, replay: StreamState, vm: StreamVm) -> None:
        del self._hosts[vm.index]
        replay.terminate(vm)
