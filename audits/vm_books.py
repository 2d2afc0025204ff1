"""The auditor's book of one VM: its clock, its sessions, its memory, its credits."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

from .facts import Share, TypeFacts, Work

State: TypeAlias = Literal["launching", "up", "hibernated", "stopped", "terminated"]

RANKS = {
    "finish": 0,
    "preempted": 0,
    "price": 1,
    "capacity": 2,
    "resume": 2,
    "restart": 2,
    "ready": 3,
    "notice": 4,
    "hibernate": 5,
    "stop": 5,
    "reclaim": 5,
    "trigger": 6,
    "submit": 7,
    "cycle-end": 8,
    "idle-limit": 9,
    "wake": 10,
    "block-end": 11,
}
"""Order of what happens by itself at equal times; everything else follows from one of these."""

LAST_RANK = max(RANKS.values())

Saves: TypeAlias = tuple[int, Fraction, Fraction]
"""Number of checkpoints of a run, the fraction of the task that they save, and the work."""
NOTHING_SAVED: Saves = (0, Fraction(0), Fraction(0))


@dataclass(slots=True)
class RunBook:
    """A run of a task on a core: from its start to its finish, or to a hibernation that it does not outlast."""

    task: str
    core: int
    started_uptime_s: int
    work: Work
    burst: bool
    need: Share
    preempted_uptime_s: int | None = None
    stops_uptime_s: int = 0
    writes: bool = False
    written: Saves = NOTHING_SAVED

    @property
    def due_uptime_s(self) -> int:
        """Uptime of the VM at which the run finishes, or stops if it has been preempted."""
        return self.started_uptime_s + self.work.duration_s if self.preempted_uptime_s is None else self.stops_uptime_s


@dataclass(slots=True)
class Session:
    """A time in which a VM is up, and billed.

    Attributes
    ----------
    start_s, end_s : int
        From when to when; None for one that has not ended.
    cut : bool
        Whether it was the cloud that ended it.
    last_usd_per_s : Fraction
        The price when it ended.
    """

    start_s: int
    end_s: int | None = None
    cut: bool = False
    last_usd_per_s: Fraction = Fraction(0)


@dataclass(slots=True, eq=False)
class VmBook:
    """A VM, as far as the events so far describe it."""

    name: str
    type: TypeFacts
    market: str
    launched_s: int
    state: State = "launching"
    sessions: list[Session] = field(default_factory=list)
    up_before_s: int = 0
    halted_since_s: int = 0
    hibernated_s: int = 0
    stopped_s: int = 0
    noticed_s: int | None = None
    drains_until_s: int | None = None
    notice_s: int = 0
    terminated_s: int | None = None
    ended_from: State | None = None
    reclaimed: bool = False
    runs: dict[str, RunBook] = field(default_factory=dict)
    cores: dict[int, str] = field(default_factory=dict)
    used: Share = field(default_factory=Share)
    busy_s: int = 0
    tasks: set[str] = field(default_factory=set)
    first_start_uptime_s: int = 0
    reported_cycle_uptime_s: int = -1
    stolen: int = 0
    stole_s: int = -1
    trigger_set_s: int | None = None
    idle_since_uptime_s: int | None = None
    became_idle_uptime_s: int = 0
    balance: Fraction = Fraction(0)
    balance_at_uptime_s: int = 0
    lacking: Fraction = Fraction(0)
    lacking_at_s: int = 0

    @property
    def ready_s(self) -> int | None:
        """Time of the first start of the VM; None if it never was ready."""
        return self.sessions[0].start_s if self.sessions else None

    @property
    def halted(self) -> bool:
        """True if the VM is hibernated or stopped."""
        return self.state in ("hibernated", "stopped")

    @property
    def draining(self) -> bool:
        """True if the VM is up, and has a notice of its interruption."""
        return self.state == "up" and self.drains_until_s is not None

    @property
    def condition(self) -> str:
        """State of the VM in messages."""
        if self.state == "terminated":
            return "reclaimed" if self.reclaimed else "terminated"
        return "draining" if self.draining else self.state

    def uptime_s(self, now_s: int) -> int:
        """Uptime of the VM at a time, in seconds."""
        return self.up_before_s + (now_s - self.sessions[-1].start_s if self.state == "up" else 0)

    def make_ready(self, now_s: int) -> None:
        """Start the clock, or let it go on."""
        # A VM has its initial credits once, however often it boots or resumes.
        if not self.sessions and self.type.credits is not None:
            self.balance = self.type.credits.initial
        self.state = "up"
        self.sessions.append(Session(now_s))

    def halt(self, state: Literal["hibernated", "stopped"], now_s: int) -> None:
        """Stop the clock."""
        self._end_session(now_s, cut=True)
        self.state, self.halted_since_s = state, now_s

    def reclaim(self, now_s: int) -> None:
        """Let the cloud end the VM; what ran is where it was."""
        self._end_session(now_s, cut=True)
        self.ended_from, self.state, self.terminated_s, self.reclaimed = self.state, "terminated", now_s, True

    def resume(self, now_s: int) -> None:
        """Let the clock of a hibernated VM go on."""
        self._count_halt(now_s)
        self.make_ready(now_s)

    def restart(self, now_s: int) -> None:
        """Boot a stopped VM again."""
        self._count_halt(now_s)
        self.state, self.launched_s = "launching", now_s

    def terminate(self, now_s: int) -> None:
        """End the VM."""
        ended_from = self.state
        if self.state == "up":
            self._end_session(now_s, cut=False)
        self._count_halt(now_s)
        self.ended_from, self.state, self.terminated_s = ended_from, "terminated", now_s

    def _end_session(self, now_s: int, cut: bool) -> None:
        self.settle_credits(now_s)
        self.up_before_s = self.uptime_s(now_s)
        session = self.sessions[-1]
        session.end_s, session.cut = now_s, cut
        # Tasks can prepare only for an interruption that comes when it was announced.
        knew = cut and self.noticed_s is not None and self.drains_until_s == now_s
        self.notice_s = now_s - (self.noticed_s or 0) if knew else 0
        self.noticed_s = self.drains_until_s = None

    def _count_halt(self, now_s: int) -> None:
        if self.state == "hibernated":
            self.hibernated_s += now_s - self.halted_since_s
        elif self.state == "stopped":
            self.stopped_s += now_s - self.halted_since_s

    def begin(self, run: RunBook, now_s: int) -> None:
        """Put a task on a core."""
        self.settle_credits(now_s)
        self.runs[run.task] = run
        self.cores[run.core] = run.task
        self.used += run.need

    def leave(self, task: str, now_s: int) -> RunBook:
        """Take a task off its core."""
        self.settle_credits(now_s)
        run = self.runs.pop(task)
        self.busy_s += self.uptime_s(now_s) - run.started_uptime_s
        # In a trace that is wrong, another task may be on record on the core by now.
        if self.cores.get(run.core) == task:
            del self.cores[run.core]
        self.used -= run.need
        return run

    def settle_credits(self, now_s: int) -> None:
        """Bring the CPU credits up to date; note what tasks at full speed lacked.

        A vCPU at full speed spends a credit a minute, one at the baseline its fraction of that. Without credits a VM
        runs at the baseline, so only tasks at full speed can lack any.
        """
        rules = self.type.credits
        if rules is None or not self.sessions or self.state == "terminated":
            return
        uptime = self.uptime_s(now_s)
        seconds = uptime - self.balance_at_uptime_s
        if not seconds:
            return
        self.balance_at_uptime_s = uptime
        at_full = sum(run.burst for run in self.runs.values())
        spent_per_s = (at_full + (len(self.runs) - at_full) * rules.baseline) / 60
        self.balance = min(self.balance + (rules.earned_per_s - spent_per_s) * seconds, rules.cap)
        if self.balance < 0:
            if at_full:
                self.lacking_at_s = self.lacking_at_s if self.lacking else now_s
                self.lacking -= self.balance
            self.balance = Fraction(0)

    @property
    def idle_s(self) -> int:
        """Uptime of the VM without a running task, with one core, after its termination; 0 before."""
        return self.uptime_s(0) - self.busy_s if self.terminated_s is not None else 0
