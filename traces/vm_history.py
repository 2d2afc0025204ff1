"""History of each VM and each task in a replay, from its trace."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ..core.quantities import SECONDS_PER_HOUR, STATED
from ..instances.entries import Market, RentalOffer
from ..instances.instance import Instance
from .trace import Trace

Ending: TypeAlias = Literal["finished", "migrated", "suspended", "unfinished"]
Span: TypeAlias = tuple[int, int]


@dataclass(slots=True)
class Interruption:
    """A VM is hibernated, or stopped, until it runs again or ends.

    Attributes
    ----------
    kind : {"hibernate", "stop"}
        What the cloud did.
    start_s : int
        Since when.
    restart_s : int, optional
        When it began to boot again, if it was stopped.
    end_s : int, optional
        When it ran again, or ended; None while the trace is read.
    """

    kind: Literal["hibernate", "stop"]
    start_s: int
    restart_s: int | None = None
    end_s: int | None = None

    @property
    def span(self) -> Span:
        """Span in which it did not run."""
        assert self.end_s is not None
        return self.start_s, self.end_s


@dataclass(slots=True)
class VmLife:
    """A VM from its request to its end.

    Attributes
    ----------
    name, vm_type, market : str
        What it is.
    launch_s : int
        When it was requested.
    ready_s, end_s : int, optional
        When it was ready; when it was terminated.
    interruptions : list of Interruption
        When it was hibernated or stopped.
    drained : list of (int, int)
        From when to when it had notice of an interruption.
    reclaimed_s : int, optional
        When the cloud has terminated it.
    """

    name: str
    vm_type: str
    market: Market
    launch_s: int
    ready_s: int | None = None
    end_s: int | None = None
    interruptions: list[Interruption] = field(default_factory=list)
    drained: list[Span] = field(default_factory=list)
    reclaimed_s: int | None = None

    @property
    def down(self) -> Interruption | None:
        """The interruption that lasts, while the trace is read."""
        return self.interruptions[-1] if self.interruptions and self.interruptions[-1].end_s is None else None


@dataclass(slots=True)
class Run:
    """A task on a core, from its start until it ends there.

    Attributes
    ----------
    task, vm, core : str, str and int
        What runs where.
    start_s : int
        When it started.
    baseline : bool
        Whether it runs in baseline mode.
    saved : float
        Fraction of the task that checkpoints had saved before.
    end_s : int
        When it finished, or when the interruption came that ended it.
    ending : {"finished", "migrated", "suspended", "unfinished"}
        How it ended; one that is migrated goes on elsewhere, one that is suspended may go on where it was.
    saved_after : float
        Fraction of the task that is saved at its end.
    preempted_s : int, optional
        When the policy told it to stop; it ends once its checkpoint is written, if one is.
    """

    task: str
    vm: str
    core: int
    start_s: int
    baseline: bool
    saved: float
    end_s: int = -1
    ending: Ending = "unfinished"
    saved_after: float = 0.0
    preempted_s: int | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """A task that changes its VM.

    Attributes
    ----------
    time_s, task, source, target : int and str
        What goes from where to where, and when.
    kind : {"idle", "busy", "new", "steal"}
        State of the target of a migration, or that it was a steal.
    saved : float
        Fraction of the task that checkpoints have saved.
    recovered, late : bool
        Whether a checkpoint of the run that has just ended counts; whether the task can no longer meet the deadline.
    next_run : int, optional
        The task's next run on the target, as an index into `History.runs`; None if it never starts there.
    """

    time_s: int
    task: str
    source: str
    target: str
    kind: Literal["idle", "busy", "new", "steal"]
    saved: float
    recovered: bool
    late: bool
    next_run: int | None


@dataclass(frozen=True, slots=True)
class History:
    """A replay, by VM and task.

    Attributes
    ----------
    instance : Instance
        What was replayed.
    vms : dict of str to VmLife
        In order of launch.
    runs : list of Run
        In order of start.
    moves : list of Move
        In order of time.
    first_vm : dict of str to str
        Where each task was at first; those that never started nor moved are missing.
    prices : dict of (str, str) to list of (int, float)
        Of each type and market: from when on an hour costs how much (USD).
    """

    instance: Instance
    vms: dict[str, VmLife]
    runs: list[Run]
    moves: list[Move]
    first_vm: dict[str, str]
    prices: dict[tuple[str, str], list[tuple[int, float]]]

    def offer_of(self, vm: str) -> RentalOffer:
        """Offer of a VM."""
        life = self.vms[vm]
        return next(o for o in self.instance.offers if (o.vm_type.name, o.market) == (life.vm_type, life.market))

    def cost_usd(self, vm: str, start_s: int, end_s: int) -> float:
        """Cost of a VM for a span of time at the prices of its moments, without minimum and blocks."""
        life = self.vms[vm]
        # A price that began before the span counts from its start on, and one that was over by then for no time.
        changes = [(max(at, start_s), usd / SECONDS_PER_HOUR) for at, usd in self.prices[life.vm_type, life.market]]
        ends = [*(at for at, _ in changes[1:]), end_s]
        return sum(max(min(end, end_s) - at, 0) * usd for (at, usd), end in zip(changes, ends, strict=True))

    def uptime_s(self, vm: str, start_s: int, end_s: int) -> int:
        """Seconds between two moments in which a VM was not interrupted."""
        return sum(end - start for start, end in awake(self.vms[vm], start_s, end_s))

    def spare_s(self, run: Run) -> int:
        """Seconds from the end of a run to when its task is due; below 0 if it is late."""
        group = self.instance.task_group[self.instance.task_index[run.task]]
        return int(self.instance.due_s[group]) - run.end_s

    def retained_uptime_s(self, run: Run) -> float:
        """Seconds of uptime of a run whose work counts: all if it finished, up to the last checkpoint if it moved."""
        if run.ending == "finished":
            return float(self.uptime_s(run.vm, run.start_s, run.end_s))
        if run.ending == "unfinished" or run.saved_after <= run.saved:
            return 0.0
        group = int(self.instance.task_group[self.instance.task_index[run.task]])
        offer = self.offer_of(run.vm)
        interval, dump = float(self.instance.checkpoint_interval_s[group]), float(self.instance.dump_s[group])
        work = (run.saved_after - run.saved) * float(self.instance.runtime_s[group, offer.type_index])
        burstable = offer.vm_type.burstable
        speed = burstable.baseline_fraction if burstable is not None and run.baseline else 1.0
        checkpoints = math.ceil(work / interval - STATED)  # the last one may come before the interval is over
        return (work + checkpoints * dump) / speed


def awake(life: VmLife, start_s: int, end_s: int) -> list[Span]:
    """Cut the interruptions of a VM out of a stretch of time; empty pieces are left out."""
    pieces, at = [], start_s
    for down, up in (interruption.span for interruption in life.interruptions):
        if up <= at:
            continue
        if down >= end_s:
            break
        pieces.append((at, down))
        at = up
    pieces.append((at, end_s))
    return [(start, end) for start, end in pieces if start < end]


def read_history(trace: Trace) -> History:
    """Put the events of a trace together.

    Raises
    ------
    SpotbagError
        If an event names a VM or a task that cannot be meant there; the auditor says more.
    """
    return _Reader(trace).history()


class _Reader:
    """Walks through the events once."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.instance = Instance.from_document(trace.instance, "instance of the trace")
        self.vms: dict[str, VmLife] = {}
        self.runs: list[Run] = []
        self.moves: list[dict[str, Any]] = []
        self.first_vm: dict[str, str] = {}
        self.running: dict[str, int] = {}
        self.move_of: dict[str, int] = {}
        self.next_run: dict[int, int] = {}
        self.stopped: dict[str, Run] = {}
        self.prices = {
            (offer.vm_type.name, str(offer.market)): [(0, offer.price_usd_per_s * SECONDS_PER_HOUR)]
            for offer in self.instance.offers
        }
        self.draining_since_s: dict[str, int] = {}

    def history(self) -> History:
        self.trace.follow(self._take)
        end_s = self._last_s()
        for index in self.running.values():
            run = self.runs[index]
            gone_s = self._gone_s(self.vms[run.vm])
            run.end_s = end_s if gone_s is None else max(gone_s, run.start_s)
        for life in self.vms.values():
            last_s = end_s if life.end_s is None else life.end_s
            self._end_drain(life, last_s)
            if life.down is not None:
                life.down.end_s = last_s
        for run in self.stopped.values():
            run.ending = "unfinished"
        moves = [
            Move(
                time_s=move["t"],
                task=move["task"],
                source=move["from"],
                target=move["to"],
                kind=move.get("kind", "steal"),
                saved=move["fraction"],
                recovered=move.get("recovered", False),
                late=move.get("late", False),
                next_run=self.next_run.get(index),
            )
            for index, move in enumerate(self.moves)
        ]
        return History(self.instance, self.vms, self.runs, moves, self.first_vm, self.prices)

    def _last_s(self) -> int:
        last_s: int = self.trace.end["t"]
        return last_s

    def _take(self, event: Mapping[str, Any]) -> None:
        kind, time_s = event["event"], event["t"]
        if kind == "launch":
            self.vms[event["vm"]] = VmLife(event["vm"], event["type"], event["market"], time_s)
            # A VM of no offer has no price, and the cost of its idle time could not be told.
            if not any((o.vm_type.name, o.market) == (event["type"], event["market"]) for o in self.instance.offers):
                raise KeyError(f"{event['type']} {event['market']}")
        elif kind == "start":
            self._start(event)
        elif kind == "finish":
            run = self.runs[self.running.pop(event["task"])]
            run.end_s, run.ending, run.saved_after = time_s, "finished", 1.0
        elif kind == "suspend":
            run = self.runs[self.running.pop(event["task"])]
            run.end_s, run.ending = time_s, "suspended"
        elif kind == "preempt":
            self.runs[self.running[event["task"]]].preempted_s = time_s
        elif kind == "preempted":
            self._stop(event["task"], time_s, event.get("saved", 0.0))
        elif kind in ("migrate", "steal"):
            self._move(event)
        elif kind == "price":
            self.prices[event["type"], event["market"]].append((time_s, event["usd_per_hour"]))
        elif kind not in ("submit", "wake", "capacity"):
            self._change(self.vms[event["vm"]], kind, time_s)

    def _change(self, life: VmLife, kind: str, time_s: int) -> None:
        if kind == "notice":
            self.draining_since_s.setdefault(life.name, time_s)
        elif kind == "ready" and life.ready_s is None:
            life.ready_s = time_s
        elif kind in ("hibernate", "stop"):
            self._end_drain(life, time_s)
            life.interruptions.append(Interruption("stop" if kind == "stop" else "hibernate", time_s))
        elif kind == "reclaim":
            self._end_drain(life, time_s)
            life.end_s = life.reclaimed_s = time_s
        elif kind in ("restart", "resume", "ready"):
            if life.down is None:
                raise KeyError(life.name)
            if kind == "restart":
                life.down.restart_s = time_s
                # A VM that was stopped boots with nothing in its memory: what ran there ended when it went down.
                for task in [task for task, index in self.running.items() if self.runs[index].vm == life.name]:
                    self._stop(task, life.down.start_s)
            else:
                life.down.end_s = time_s
        elif kind == "terminate":
            self._end_drain(life, time_s)
            life.end_s = time_s

    def _end_drain(self, life: VmLife, time_s: int) -> None:
        since_s = self.draining_since_s.pop(life.name, None)
        if since_s is not None:
            life.drained.append((since_s, time_s))

    def _gone_s(self, life: VmLife) -> int | None:
        """Time since which a VM is hibernated, stopped or terminated by the cloud; None if it is not."""
        return life.reclaimed_s if life.down is None else life.down.start_s

    def _stop(self, task: str, time_s: int, saved: float | None = None) -> None:
        """End the run of a task that goes on where it was; what it has saved may be known only then."""
        run = self.runs[self.running.pop(task)]
        run.end_s, run.ending = max(time_s, run.start_s), "suspended"
        self.stopped[task] = run
        if saved is not None:
            run.saved_after = saved

    def _start(self, event: Mapping[str, Any]) -> None:
        task, vm = event["task"], self.vms[event["vm"]].name
        if task not in self.instance.task_index or not 0 <= event["core"] < self._slots(vm):
            raise KeyError(task)
        self.first_vm.setdefault(task, vm)
        self.running[task] = len(self.runs)
        if task in self.move_of:
            self.next_run[self.move_of.pop(task)] = len(self.runs)
        saved = event.get("saved", 0.0)
        if task in self.stopped:
            self.stopped.pop(task).saved_after = saved
        self.runs.append(Run(task, vm, event["core"], event["t"], event.get("mode") == "baseline", saved))

    def _slots(self, vm: str) -> int:
        name = self.vms[vm].vm_type
        return next(offer.vcpus for offer in self.instance.offers if offer.vm_type.name == name)

    def _move(self, event: Mapping[str, Any]) -> None:
        task, source = event["task"], self.vms[event["from"]]
        if event["to"] not in self.vms:
            raise KeyError(event["to"])
        if task not in self.instance.task_index:
            raise KeyError(task)
        self.first_vm.setdefault(task, source.name)
        saved = event.get("saved", 0.0)
        if event["event"] == "steal" and task in self.move_of:
            saved = self.moves[self.move_of[task]]["fraction"]  # a steal does not repeat what is saved
        index = self.running.pop(task, None)
        if index is not None:
            run = self.runs[index]
            since = self._gone_s(source)
            if since is None and source.name not in self.draining_since_s:
                raise KeyError(source.name)
            run.end_s, run.ending = max(event["t"] if since is None else since, run.start_s), "migrated"
            run.saved_after = saved
        self.move_of[task] = len(self.moves)
        self.moves.append({**event, "fraction": saved})
