"""The auditor's book of one VM: its clock, its bill, its memory, its credits, the day it should have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from .facts import TypeFacts, Work

State: TypeAlias = Literal["launching", "up", "hibernated", "terminated"]

RANKS = {
    "finish": 0,
    "resume": 1,
    "ready": 2,
    "hibernate": 3,
    "trigger": 4,
    "submit": 5,
    "wake": 6,
    "cycle-end": 7,
    "block-end": 7,
    "idle-limit": 8,
}
"""Order of what happens by itself at equal times; everything else follows from one of these."""

_FIRST_HOUR_S = 3600


@dataclass(slots=True)
class RunBook:
    """A run of a task on a core: from its start to its finish, or to a hibernation that it does not outlast."""

    task: str
    core: int
    started_uptime_s: int
    work: Work
    burst: bool
    memory_kb: int

    @property
    def due_uptime_s(self) -> int:
        """Uptime of the VM at which the run finishes."""
        return self.started_uptime_s + self.work.duration_s


@dataclass(frozen=True, slots=True)
class Expected:
    """A hibernation or resume that a VM should have."""

    time_s: int
    kind: str


@dataclass(slots=True, eq=False)
class VmBook:
    """A VM, as far as the events so far describe it."""

    name: str
    type: TypeFacts
    market: str
    launched_s: int
    state: State = "launching"
    ready_s: int | None = None
    hibernated_since_s: int = 0
    hibernated_s: int = 0
    first_hibernation_uptime_s: int | None = None
    terminated_s: int | None = None
    ended_from: State | None = None
    runs: dict[str, RunBook] = field(default_factory=dict)
    cores: dict[int, str] = field(default_factory=dict)
    used_kb: int = 0
    busy_s: int = 0
    tasks: set[str] = field(default_factory=set)
    first_start_uptime_s: int = 0
    reported_cycle_uptime_s: int = -1
    stolen: int = 0
    trigger_at_s: int | None = None
    trigger_set_s: int | None = None
    idle_since_uptime_s: int | None = None
    became_idle_uptime_s: int = 0
    expected: list[Expected] = field(default_factory=list)
    met: int = 0
    balance: Fraction = Fraction(0)
    balance_at_uptime_s: int = 0
    lacking: Fraction = Fraction(0)
    lacking_at_s: int = 0

    def uptime_s(self, now_s: int) -> int:
        """Seconds that the VM has been up, without hibernations."""
        if self.ready_s is None:
            return 0
        until = self.hibernated_since_s if self.state == "hibernated" else now_s
        if self.terminated_s is not None:
            until = self.terminated_s
        return until - self.ready_s - self.hibernated_s

    def busy_at(self, now_s: int) -> bool:
        """Whether a task runs on it that did not start at this very moment."""
        uptime = self.uptime_s(now_s)
        return any(run.started_uptime_s < uptime for run in self.runs.values())

    def make_ready(self, now_s: int) -> None:
        """Start the clock."""
        self.state, self.ready_s = "up", now_s
        if self.type.credits is not None:
            self.balance = self.type.credits.initial

    def hibernate(self, now_s: int) -> None:
        """Stop the clock."""
        uptime = self.uptime_s(now_s)
        self.settle_credits(now_s)
        if self.first_hibernation_uptime_s is None:
            self.first_hibernation_uptime_s = uptime
        self.state, self.hibernated_since_s = "hibernated", now_s

    def resume(self, now_s: int) -> None:
        """Let the clock go on."""
        self.hibernated_s += now_s - self.hibernated_since_s
        self.state = "up"

    def terminate(self, now_s: int) -> None:
        """End the VM."""
        self.settle_credits(now_s)
        if self.state == "hibernated":
            self.hibernated_s += now_s - self.hibernated_since_s
        self.ended_from = self.state
        self.state, self.terminated_s = "terminated", now_s

    def begin(self, run: RunBook, now_s: int) -> None:
        """Put a task on a core."""
        self.settle_credits(now_s)
        self.runs[run.task] = run
        self.cores[run.core] = run.task
        self.used_kb += run.memory_kb

    def leave(self, task: str, now_s: int) -> RunBook:
        """Take a task off its core."""
        self.settle_credits(now_s)
        run = self.runs.pop(task)
        self.busy_s += self.uptime_s(now_s) - run.started_uptime_s
        if self.cores.get(run.core) == task:
            del self.cores[run.core]
        self.used_kb -= run.memory_kb
        return run

    def settle_credits(self, now_s: int) -> None:
        """Bring the CPU credits up to date; note what tasks at full speed lacked.

        A vCPU at full speed spends a credit a minute, one at the baseline its fraction of that. Without credits a VM
        runs at the baseline, so only tasks at full speed can lack any.
        """
        rules = self.type.credits
        if rules is None or self.ready_s is None or self.state == "terminated":
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
        """Seconds that the VM has been up without running a task, on VMs with one core; once it is terminated."""
        return self.uptime_s(0) - self.busy_s if self.terminated_s is not None else 0

    def billed_s(self, billing: Mapping[str, Any]) -> int:
        """Seconds on the bill, not counting blocks, once the VM is terminated."""
        since = self.launched_s if billing.get("from_request", False) else self.ready_s
        if since is None or self.terminated_s is None:
            return 0
        billed = self.terminated_s - since - self.hibernated_s
        free = self.first_hibernation_uptime_s
        if billing.get("first_hour_free", False) and free is not None and free < _FIRST_HOUR_S:
            billed -= free
        return billed

    def blocks(self, billing: Mapping[str, Any]) -> int:
        """Started blocks on the bill, at least one; none if it goes by the second."""
        block_s = billing.get("block_s")
        return 0 if block_s is None else max(-(-self.billed_s(billing) // block_s), 1)

    def cost_usd(self, billing: Mapping[str, Any], hibernated_usd_per_gb_s: Fraction) -> Fraction:
        """What the VM costs, once it is terminated."""
        block_s = billing.get("block_s")
        seconds = self.billed_s(billing) if block_s is None else self.blocks(billing) * block_s
        price = self.type.price_usd_per_s.get(self.market, Fraction(0))
        return price * seconds + hibernated_usd_per_gb_s * self.type.memory_gb * self.hibernated_s


def expected_day(events: Sequence[tuple[int, str]], ready_s: int) -> list[Expected]:
    """Hibernations and resumes of a spot VM that is ready at a time.

    Parameters
    ----------
    events : sequence of (int, str)
        Time and kind of those of its type over the day.
    ready_s : int
        A VM whose type is down at that time hibernates at once.
    """
    # At the same second a type resumes first, then VMs are ready, then types hibernate.
    before = [kind for time_s, kind in events if time_s < ready_s or (time_s == ready_s and kind == "resume")]
    rest = [Expected(*event) for event in events if event[0] >= ready_s and event != (ready_s, "resume")]
    return [Expected(ready_s, "hibernate"), *rest] if before and before[-1] == "hibernate" else rest
