"""A VM as policies see it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from ...instances.entries import Burstable, RentalOffer
from ...schedules.timing import VmTimeline
from ..vms import HIBERNATED
from .outcome import sessions_of
from .plan import Run
from .rows import HIBERNATE, MIGRATION_KINDS, NONE, STOP, TERMINATE, MigrationKind, Rows, TaskRow, VmRow
from .rules import (
    credits_of,
    is_alive,
    is_executing,
    is_halted,
    is_idle,
    last_start_of,
    list_waiting,
    longest_of,
    may_give,
    unbounded_credits,
    uptime_at,
)
from .tables import WorkTable

_INTERRUPTIONS = {HIBERNATE: "hibernate", STOP: "stop", TERMINATE: "terminate"}


class Vm(VmRow):
    """A VM of a replay: its row (see `VmRow`), in the words of policies, which change it by decisions alone.

    Everything on it happens in its *uptime*, which stands still while it is hibernated, stopped or booting again: the
    timetable of its cores is exact whatever the day brings.

    Attributes
    ----------
    index, name, offer, offer_index, spot : int, str, RentalOffer, int, int
        Which VM it is; index in `ReplayState.vms`. Whether it is a spot VM: 1 if so, else 0, as all such fields.
    state : int
        `LAUNCHING`, `RUNNING`, `HIBERNATED`, `STOPPED` or `TERMINATED`.
    ready_s, terminated_s : int
        When it is ready, also after it was stopped; when it was terminated.
    zero_s : int
        Moment at which the uptime was 0, shifted by the time in which it stood still: ``uptime = now - zero_s``.
    notice_s, drains_of_type : int
        How long the notice of the last interruption was, or of the one that it drains for; whether the whole type goes.
    reclaimed : int
        Whether the cloud has terminated it.
    halted_at_s : int
        When it was interrupted last.
    hibernated_s, stopped_s : int
        Seconds in hibernation, and stopped, before the present ones.
    n_left : int
        Tasks on it that are not finished.
    n_at_full_speed, n_at_baseline : int
        Of a burstable VM: how many tasks run in each mode.
    disordered : int
        Whether tasks have been taken away, so that those that wait can move up.
    stranded : int
        For policies: whether it has tasks that should have been migrated and found no place.
    first_start_s : int
        Uptime before which it runs nothing: what is moved to a new VM must arrive.
    epoch, idle_epoch, trigger_epoch : int
        How often it has been interrupted or ended; has begun or ceased to be idle; has got another migration trigger.
    """

    __slots__ = ("_known_retimings", "_known_timeline", "_replay", "_runs", "_runs_of", "name", "offer")

    def __init__(
        self, index: int, name: str, offer: RentalOffer, ready_s: int, first_start_s: int, memory_binds: bool
    ) -> None:
        super().__init__()
        self.index, self.name, self.offer, self.offer_index = index, name, offer, offer.index
        self.ready_s = self.zero_s = ready_s
        self.first_start_s, self.vcpus = first_start_s, offer.vcpus
        self.spot, self.bursts = int(offer.market == "spot"), int(offer.burstable)
        self.most_kb = offer.memory_kb if memory_binds else NONE
        # Its tables without the VMs: else all would keep each other in memory until somebody looks for such circles.
        self._replay: Rows
        self._runs_of = -1
        self._runs: tuple[list[Run | None], list[deque[Run]]] = ([], [])
        self._known_timeline: VmTimeline | None = None
        self._known_retimings = -1

    def copy(self) -> Vm:
        """Return a VM that goes on from here on its own."""
        twin = Vm.__new__(Vm)
        for name in (*VmRow.__slots__, *Vm.__slots__):
            setattr(twin, name, getattr(self, name))
        twin._known_timeline = None if self._known_timeline is None else self._known_timeline.copy()
        return twin

    # ------------------------------------------------------------------ states

    @property
    def burstable(self) -> Burstable | None:
        """What bursts it has, if it has any."""
        return self.offer.vm_type.burstable

    @property
    def memory_kb(self) -> int | None:
        """Its memory; None where that never binds."""
        return None if self.most_kb == NONE else self.most_kb

    @property
    def drains_until_s(self) -> int | None:
        """Of a VM that runs and has notice of its interruption: when that comes. It starts nothing more."""
        return None if self.gone_s == NONE else self.gone_s

    @property
    def interruption(self) -> str | None:
        """Kind of the last interruption, or of the one that it drains for: ``hibernate``, ``stop``, ``terminate``."""
        return _INTERRUPTIONS.get(self.interrupted_by)

    @property
    def trigger_s(self) -> int | None:
        """When its tasks are to be migrated, if that is set."""
        return None if self.trigger_at_s == NONE else self.trigger_at_s

    @property
    def helpers(self) -> frozenset[int]:
        """VMs that the migration is counted on when the trigger was computed."""
        return frozenset(self._replay.helpers[self.first_helper : self.first_helper + self.n_helpers])

    @property
    def migration_kinds(self) -> set[MigrationKind]:
        """Kinds of VMs that its tasks were migrated to since its last interruption."""
        return {kind for bit, kind in enumerate(MIGRATION_KINDS) if self.kinds >> bit & 1}

    @property
    def session_s(self) -> int | None:
        """Since when it runs and is billed; None if it does not."""
        return None if self.session_from_s == NONE else self.session_from_s

    @property
    def sessions(self) -> list[tuple[int, int, bool]]:
        """Earlier sessions: from when to when it ran, and whether the cloud ended it."""
        return sessions_of(self._replay.sessions, self.first_session)

    @property
    def alive(self) -> bool:
        """True if it takes tasks: launching, or running without notice of an interruption."""
        return is_alive(self)

    @property
    def draining(self) -> bool:
        """True if it runs and has notice of its interruption: what runs goes on, and nothing more starts."""
        return self.gone_s != NONE

    @property
    def hibernated(self) -> bool:
        """True if it is hibernated."""
        return self.state == HIBERNATED

    @property
    def halted(self) -> bool:
        """True if it is hibernated or stopped: it may come back."""
        return is_halted(self)

    @property
    def gives_tasks(self) -> bool:
        """True if its tasks may be migrated: it is hibernated or stopped, drains, or the cloud has terminated it."""
        return may_give(self)

    @property
    def busy(self) -> bool:
        """True if it takes tasks and has some."""
        return self.n_left > 0 and is_alive(self)

    @property
    def executing(self) -> bool:
        """True if it is executing a task at this moment."""
        return is_executing(self._replay, self)

    @property
    def idle(self) -> bool:
        """True if it runs, takes tasks and has none."""
        return is_idle(self)

    def uptime_s(self, now_s: int) -> int:
        """How long it has been running; negative while it is launching."""
        return uptime_at(self, now_s)

    # ------------------------------------------------------------------- tasks

    @property
    def running(self) -> list[Run | None]:
        """Of each core: what runs on it."""
        return self._present_runs()[0]

    @property
    def waiting(self) -> list[deque[Run]]:
        """Of each core: what waits for it, in order."""
        return self._present_runs()[1]

    def _present_runs(self) -> tuple[list[Run | None], list[deque[Run]]]:
        if self._runs_of != self.changes:
            rows = self._replay.tasks
            running: list[Run | None] = []
            waiting: list[deque[Run]] = []
            for slot in self._replay.cores[self.index]:
                running.append(None if slot.running == NONE else _run(rows, slot.running))
                queue: deque[Run] = deque()
                task = slot.first
                while task != NONE:
                    queue.append(_run(rows, task))
                    task = rows[task].next
                waiting.append(queue)
            self._runs, self._runs_of = (running, waiting), self.changes
        return self._runs

    @property
    def dumps(self) -> dict[int, int]:
        """Of each core whose task is preempted and writes a checkpoint: the uptime at which it was preempted."""
        replay = self._replay
        tasks = ((core, slot.running) for core, slot in enumerate(replay.cores[self.index]) if slot.running != NONE)
        found = {core: replay.tasks[task].dumping_s for core, task in tasks}
        return {core: begun_s for core, begun_s in found.items() if begun_s != NONE}

    @property
    def written(self) -> dict[int, tuple[float, int]]:
        """Of each core whose run has outlived an interruption with notice: what it had saved then.

        In seconds of its work, and the checkpoints that it had written.
        """
        tasks = self._replay.tasks
        rows = {core: tasks[run.task] for core, run in enumerate(self.running) if run is not None}
        return {core: (row.written_s, row.written) for core, row in rows.items() if row.written}

    def waiting_runs(self) -> Iterator[tuple[Run, int]]:
        """Runs that wait, and their cores, in the order in which they are to start."""
        runs = [(run, core) for core, queue in enumerate(self.waiting) for run in queue]
        runs.sort(key=lambda pair: (pair[0].start_s, pair[1]))
        return iter(runs)

    def tasks(self) -> list[int]:
        """Unfinished tasks: those that run, by core, then those that wait, in the order in which they are to start."""
        if not self.n_left:
            return []
        out = self._replay.ordered
        running = [slot.running for slot in self._replay.cores[self.index] if slot.running != NONE]
        return running + out[: list_waiting(self._replay, self, out, 0)]

    def run_of(self, task: int) -> tuple[int, Run] | None:
        """Core and run of a task that is running (or was, when the VM was interrupted); None for one that waits."""
        rows = self._replay.tasks
        running = 0 <= task < len(rows) and rows[task].vm == self.index and rows[task].running
        return (rows[task].core, _run(rows, task)) if running else None

    def longest_s(self, work: WorkTable) -> int:
        """Return the longest run time on this VM of its unfinished tasks."""
        return longest_of(self._replay, self)

    def last_start_s(self) -> int:
        """Return the uptime at which the last of those that wait is to start; a time that has passed if none waits."""
        return last_start_of(self._replay, self)

    def timeline(self, now_s: int, work: WorkTable) -> VmTimeline:
        """Cores and memory from now on, in uptime."""
        timeline = self._known_timeline if self._known_retimings == self.retimings else None
        if timeline is not None and timeline.earliest_core_s >= now_s - self.zero_s:
            return timeline  # busy on all cores: time need not pass
        uptime_s = max(self.uptime_s(now_s), self.first_start_s)
        if timeline is None:
            timeline = self._known_timeline = self._timetable(uptime_s)
            self._known_retimings = self.retimings
        if timeline.earliest_core_s < uptime_s:
            timeline.advance(uptime_s)
        return timeline

    def _timetable(self, uptime_s: int) -> VmTimeline:
        """Timeline of all that is on the VM."""
        replay, slots = self._replay, self._replay.cores[self.index]
        if self.most_kb == NONE:
            last = [slot.last if slot.last != NONE else slot.running for slot in slots]
            return VmTimeline.of_cores([uptime_s if task == NONE else replay.tasks[task].end_s for task in last])
        timeline = self._timeline_of_running(uptime_s)
        for core, slot in enumerate(slots):
            task = slot.first
            while task != NONE:
                row = replay.tasks[task]
                timeline.place(core, row.start_s, row.end_s, self._kb_of(task))
                task = row.next
        return timeline

    def _timeline_of_running(self, uptime_s: int) -> VmTimeline:
        timeline = VmTimeline(self.vcpus, self.memory_kb, uptime_s)
        for core, slot in enumerate(self._replay.cores[self.index]):
            if slot.running != NONE:
                row = self._replay.tasks[slot.running]
                timeline.place(core, row.start_s, row.end_s, self._kb_of(slot.running))
        return timeline

    def _kb_of(self, task: int) -> int:
        return self._replay.groups[self._replay.tasks[task].group].memory_kb

    def _begin_timeline(self, now_s: int) -> None:
        """Begin the timeline anew with what runs."""
        self._known_timeline = self._timeline_of_running(max(self.uptime_s(now_s), self.first_start_s))
        self._known_retimings = self.retimings

    # ----------------------------------------------------------------- credits

    def credits(self, now_s: int) -> float:
        """CPU credits of a burstable VM; earned all the time, spent by what runs."""
        return credits_of(self._replay, self, now_s)

    def credits_lacking(self, now_s: int) -> float:
        """Credits that the tasks at full speed have spent without having them."""
        return max(-unbounded_credits(self._replay, self, now_s), 0.0) if self.n_at_full_speed else 0.0


def _run(rows: list[TaskRow], task: int) -> Run:
    row = rows[task]
    return Run(row.start_s, row.end_s, task, row.mode)
