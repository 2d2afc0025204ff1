"""A VM while it lives: its state, its clock, and the timetable of its cores."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

from ...core.quantities import SECONDS_PER_HOUR
from ...instances.durations import BASELINE, FULL_SPEED, NEVER
from ...instances.entries import RentalOffer
from ...schedules.timing import VmTimeline
from ..vms import HIBERNATED, LAUNCHING, RUNNING, STOPPED
from .plan import Run
from .work import Need, WorkTable, least_of

_SECONDS_PER_CREDIT = 60


class Vm:
    """A VM of a replay.

    Everything on it happens in its *uptime*, which stands still while it is hibernated, stopped or booting again: the
    timetable of its cores is exact whatever the day brings.

    Attributes
    ----------
    index, name, offer : int, str, RentalOffer
        Which VM it is; index in `ReplayState.vms`.
    state : int
        `LAUNCHING`, `RUNNING`, `HIBERNATED`, `STOPPED` or `TERMINATED`.
    ready_s : int
        When it is ready, also after it was stopped.
    zero_s : int
        Moment at which the uptime was 0, shifted by the time in which it stood still: ``uptime = now - zero_s``.
    drains_until_s : int or None
        Of a VM that runs and has notice of its interruption: when that comes. It starts nothing more.
    interruption : str or None
        What the last interruption was, or the one that it drains for is: ``hibernate``, ``stop`` or ``terminate``.
    notice_s : int
        How long the notice of that interruption was.
    reclaimed : bool
        Whether the cloud has terminated it.
    halted_at_s : int
        When it was interrupted last.
    hibernated_s, stopped_s : int
        Seconds in hibernation, and stopped, before the present ones.
    session_s : int or None
        Since when it runs and is billed; None if it does not.
    sessions : list of tuple of int, int and bool
        Earlier sessions: from when to when it ran, and whether the cloud ended it.
    running, waiting : list
        Of each core: what runs on it, what waits for it in order.
    dumps : dict of int to int
        Of each core whose task is preempted and writes a checkpoint: the uptime at which it was preempted.
    written : dict of int to tuple of float and int
        Of each core whose run has outlived an interruption with notice: what it had saved then, in seconds of its
        work, and the checkpoints that it had written.
    n_left : int
        Tasks on it that are not finished.
    disordered : bool
        Whether tasks have been taken away, so that those that wait can move up.
    stranded : bool
        For policies: whether it has tasks that should have been migrated and found no place.
    first_start_s : int
        Uptime before which it runs nothing: what is moved to a new VM must arrive.
    trigger_s : int or None
        When its tasks are to be migrated, if that is set.
    helpers : frozenset of int
        VMs that the migration is counted on when the trigger was computed.
    """

    __slots__ = (
        "_credit_at_s",
        "_credit_balance",
        "_last_start_s",
        "_least_waiting",
        "_longest_s",
        "_longest_valid",
        "_timeline",
        "burstable",
        "disordered",
        "drains_of_type",
        "drains_until_s",
        "dumps",
        "epoch",
        "first_start_s",
        "halted_at_s",
        "helpers",
        "hibernated_s",
        "idle_epoch",
        "index",
        "interruption",
        "memory_kb",
        "migration_kinds",
        "n_at_baseline",
        "n_at_full_speed",
        "n_left",
        "name",
        "notice_s",
        "offer",
        "offer_index",
        "ready_s",
        "reclaimed",
        "running",
        "session_s",
        "sessions",
        "spot",
        "state",
        "stopped_s",
        "stranded",
        "terminated_s",
        "trigger_epoch",
        "trigger_s",
        "waiting",
        "written",
        "zero_s",
    )

    def __init__(
        self, index: int, name: str, offer: RentalOffer, ready_s: int, first_start_s: int, memory_binds: bool
    ) -> None:
        self.index = index
        self.name = name
        self.offer = offer
        self.offer_index = offer.index
        self.spot = offer.market == "spot"
        self.burstable = offer.vm_type.burstable
        self.memory_kb = offer.memory_kb if memory_binds else None
        self.state: int = LAUNCHING
        self.ready_s = ready_s
        self.zero_s = ready_s
        self.first_start_s = first_start_s
        self.drains_until_s: int | None = None
        self.drains_of_type = False
        self.interruption: str | None = None
        self.notice_s = 0
        self.reclaimed = False
        self.halted_at_s = 0
        self.hibernated_s = 0
        self.stopped_s = 0
        self.session_s: int | None = None
        self.sessions: list[tuple[int, int, bool]] = []
        self.terminated_s = 0
        self.running: list[Run | None] = [None] * offer.vcpus
        self.waiting: list[deque[Run]] = []
        self.dumps: dict[int, int] = {}
        self.written: dict[int, tuple[float, int]] = {}
        self.n_left = 0
        self.disordered = False
        self.stranded = False
        # An event in the queue counts only if the epoch that it was made in has not ended.
        self.epoch = 0
        self.idle_epoch = 0
        self.trigger_epoch = 0
        self.trigger_s: int | None = None
        self.helpers: frozenset[int] = frozenset()
        self.migration_kinds: set[str] = set()
        self.n_at_full_speed = 0
        self.n_at_baseline = 0
        self._credit_balance = self.burstable.initial_credits if self.burstable is not None else 0.0
        self._credit_at_s = 0
        self._last_start_s: int | None = None
        self._least_waiting: dict[int, Need | None] = {}
        self._longest_s = 0
        self._longest_valid = False
        self._timeline: VmTimeline | None = None

    def copy(self) -> Vm:
        """Return a VM that goes on from here on its own."""
        twin = Vm.__new__(Vm)
        for name in Vm.__slots__:
            setattr(twin, name, getattr(self, name))
        twin.running = self.running.copy()
        twin.waiting = [queue.copy() for queue in self.waiting]
        twin.dumps = self.dumps.copy()
        twin.written = self.written.copy()
        twin.sessions = self.sessions.copy()
        twin.migration_kinds = self.migration_kinds.copy()
        twin._least_waiting = {}
        twin._timeline = None if self._timeline is None else self._timeline.copy()
        return twin

    # ------------------------------------------------------------------ states

    @property
    def alive(self) -> bool:
        """Whether it takes tasks: launching, or running without notice of an interruption."""
        return self.state <= RUNNING and self.drains_until_s is None

    @property
    def draining(self) -> bool:
        """Whether it runs and has notice of its interruption: what runs goes on, and nothing more starts."""
        return self.drains_until_s is not None

    @property
    def hibernated(self) -> bool:
        """Whether it is hibernated."""
        return self.state == HIBERNATED

    @property
    def halted(self) -> bool:
        """Whether it is hibernated or stopped: it may come back."""
        return self.state == HIBERNATED or self.state == STOPPED

    @property
    def gives_tasks(self) -> bool:
        """Whether its tasks may be migrated: it is hibernated or stopped, drains, or the cloud has terminated it."""
        return self.halted or self.drains_until_s is not None or self.reclaimed

    @property
    def busy(self) -> bool:
        """Whether it takes tasks and has some."""
        return self.state <= RUNNING and self.n_left > 0 and self.drains_until_s is None

    @property
    def executing(self) -> bool:
        """Whether it is executing a task at this moment."""
        return self.state == RUNNING and any(run is not None for run in self.running)

    @property
    def idle(self) -> bool:
        """Whether it runs, takes tasks and has none."""
        return self.state == RUNNING and self.n_left == 0 and self.drains_until_s is None

    def uptime_s(self, now_s: int) -> int:
        """How long it has been running; negative while it is launching."""
        return (self.halted_at_s if self.state > RUNNING else now_s) - self.zero_s

    # ------------------------------------------------------------------- tasks

    def waiting_runs(self) -> Iterator[tuple[Run, int]]:
        """Runs that wait, and their cores, in the order in which they are to start."""
        runs = [(run, core) for core, queue in enumerate(self.waiting) for run in queue]
        runs.sort(key=lambda pair: (pair[0].start_s, pair[1]))
        return iter(runs)

    def tasks(self) -> list[int]:
        """Unfinished tasks: those that run, by core, then those that wait, in the order in which they are to start."""
        return [run.task for run in self.running if run is not None] + [run.task for run, _ in self.waiting_runs()]

    def run_of(self, task: int) -> tuple[int, Run] | None:
        """Core and run of a task that is running (or was, when the VM was interrupted); None for one that waits."""
        for core, run in enumerate(self.running):
            if run is not None and run.task == task:
                return core, run
        return None

    def task_finished(self) -> None:
        """Forget which of its tasks is the longest."""
        self._longest_valid = False

    def task_added(self, runtime_s: int) -> None:
        """Take a task into account that has been appended."""
        self._longest_s = max(self._longest_s, runtime_s)

    def start_added(self, start_s: int) -> None:
        """Take a task into account that has been appended and waits for its start."""
        if self._last_start_s is not None and start_s > self._last_start_s:
            self._last_start_s = start_s
        if self._least_waiting:
            self._least_waiting.clear()

    def timetable_changed(self) -> None:
        """Forget what was derived from the order of the tasks."""
        self._longest_valid = False
        self._timeline = None
        self._last_start_s = None
        self._least_waiting.clear()

    def longest_s(self, work: WorkTable) -> int:
        """Return the longest run time on this VM of its unfinished tasks."""
        if not self._longest_valid:
            runtime_s = work.runtimes_s(self.offer_index)
            longest_s = 0
            for run in self.running:
                if run is not None and runtime_s[run.task] > longest_s:
                    longest_s = runtime_s[run.task]
            for queue in self.waiting:
                for run in queue:
                    if runtime_s[run.task] > longest_s:
                        longest_s = runtime_s[run.task]
            self._longest_s = longest_s
            self._longest_valid = True
        return self._longest_s

    def last_start_s(self) -> int:
        """Return the uptime at which the last of those that wait is to start; a time that has passed if none waits."""
        if self._last_start_s is None:
            self._last_start_s = max([queue[-1].start_s for queue in self.waiting if queue], default=-1)
        return self._last_start_s

    def least_waiting(self, work: WorkTable, offer: int, mode: int, saved: Mapping[int, float]) -> Need | None:
        """Return the least that those which wait ask of a VM of another offer, in each respect, or less than that.

        None if none of them can run there. It may count with tasks that have started since, but leaves none out.
        """
        if offer not in self._least_waiting:
            tasks = [run.task for queue in self.waiting for run in queue]
            self._least_waiting[offer] = least_of(
                [work.need(task, offer, mode, saved.get(task, 0.0)) for task in tasks]
            )
        return self._least_waiting[offer]

    def timeline(self, now_s: int, work: WorkTable) -> VmTimeline:
        """Cores and memory from now on, in uptime."""
        timeline = self._timeline
        if timeline is not None and timeline.earliest_core_s >= now_s - self.zero_s:
            return timeline  # busy on all cores: time need not pass
        uptime = max(self.uptime_s(now_s), self.first_start_s)
        if timeline is None:
            timeline = self._timeline = self._timetable(uptime, work)
        if timeline.earliest_core_s < uptime:
            timeline.advance(uptime)
        return timeline

    def _timetable(self, uptime: int, work: WorkTable) -> VmTimeline:
        """Timeline of all that is on the VM."""
        if self.memory_kb is None:
            last = [queue[-1] if queue else run for queue, run in zip(self.waiting, self.running, strict=True)]
            return VmTimeline.of_cores([uptime if run is None else run.end_s for run in last])
        timeline = VmTimeline(self.offer.vcpus, self.memory_kb, uptime)
        for core, queue in enumerate(self.waiting):
            run = self.running[core]
            for placed in queue if run is None else (run, *queue):
                timeline.place(core, placed.start_s, placed.end_s, work.memory_kb[work.group_of[placed.task]])
        return timeline

    def set_timeline(self, timeline: VmTimeline) -> None:
        """Keep a timeline that holds all unfinished tasks."""
        self._timeline = timeline

    # ----------------------------------------------------------------- credits

    def credits(self, now_s: int) -> float:
        """CPU credits of a burstable VM; earned all the time, spent by what runs."""
        assert self.burstable is not None
        return min(max(self._unbounded_credits(now_s), 0.0), self.burstable.credit_cap)

    def credits_lacking(self, now_s: int) -> float:
        """Credits that the tasks at full speed have spent without having them."""
        return max(-self._unbounded_credits(now_s), 0.0) if self.n_at_full_speed else 0.0

    def count_running(self, now_s: int, full_speed: int, baseline: int) -> None:
        """Settle the credits, then change how many tasks run in each mode."""
        self._credit_balance = self.credits(now_s)
        self._credit_at_s = max(self.uptime_s(now_s), 0)
        self.n_at_full_speed += full_speed
        self.n_at_baseline += baseline

    def _unbounded_credits(self, now_s: int) -> float:
        assert self.burstable is not None
        elapsed = max(self.uptime_s(now_s) - self._credit_at_s, 0)
        spent = (self.n_at_full_speed + self.n_at_baseline * self.burstable.baseline_fraction) / _SECONDS_PER_CREDIT
        return self._credit_balance + (self.burstable.credits_per_hour / SECONDS_PER_HOUR - spent) * elapsed


def take_task(vm: Vm, task: int, now_s: int) -> bool:
    """Take a task from a VM, one that runs there or one that waits; False if it is not there."""
    placed = vm.run_of(task)
    if placed is not None:
        core, run = placed
        vm.running[core] = None
        vm.dumps.pop(core, None)
        vm.written.pop(core, None)
        if vm.burstable is not None:
            burst = run.mode == FULL_SPEED
            vm.count_running(now_s, -int(burst), -int(not burst))
    elif not _take_from_queue(vm, task):
        return False
    vm.n_left -= 1
    vm.disordered = True
    vm.timetable_changed()
    return True


def _take_from_queue(vm: Vm, task: int) -> bool:
    for queue in vm.waiting:
        for place, run in enumerate(queue):
            if run.task == task:
                del queue[place]
                return True
    return False


def append_task(
    vm: Vm, timeline: VmTimeline, work: WorkTable, task: int, mode: int, duration_s: int, since_s: int = 0
) -> int | None:
    """Append a task to a VM by list scheduling; return its core, None if it cannot run there."""
    need_kb = work.memory_kb[work.group_of[task]]
    start_s = timeline.earliest_start_s(need_kb, duration_s, since_s)
    if start_s is None or duration_s >= NEVER:
        return None
    core = timeline.append(start_s, need_kb, duration_s)
    vm.start_added(start_s)
    vm.waiting[core].append(Run(start_s, start_s + duration_s, task, mode))
    return core


def move_up(vm: Vm, now_s: int, work: WorkTable, saved: Mapping[int, float]) -> None:
    """Schedule anew what waits on a VM from which tasks have been taken, in the same order.

    Where tasks are at full speed, the credits are there for the starts that were planned: what waits keeps them. If
    one of them has passed, all that waits goes on at the baseline, once what runs at full speed has ended.
    """
    vm.disordered = False
    uptime_s = max(vm.uptime_s(now_s), vm.first_start_s)
    timeline = VmTimeline(vm.offer.vcpus, vm.memory_kb, uptime_s)
    for core, running in enumerate(vm.running):
        if running is not None:
            timeline.place(core, running.start_s, running.end_s, work.memory_kb[work.group_of[running.task]])
    waiting, begun = [run for run, _ in vm.waiting_runs()], [run for run in vm.running if run is not None]
    for queue in vm.waiting:
        queue.clear()
    keeps = vm.burstable is not None and any(run.mode == FULL_SPEED for run in (*begun, *waiting))
    if keeps and any(run.start_s < uptime_s for run in waiting):
        since_s = max([run.end_s for run in begun if run.mode == FULL_SPEED], default=0)
        for place, run in enumerate(waiting):
            duration_s = work.duration_s(run.task, vm.offer_index, BASELINE, saved.get(run.task, 0.0))
            waiting[place] = Run(since_s, since_s + duration_s, run.task, BASELINE)
    for run in waiting:
        since_s = run.start_s if keeps else 0
        append_task(vm, timeline, work, run.task, run.mode, run.end_s - run.start_s, since_s)
    vm.set_timeline(timeline)
