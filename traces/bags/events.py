"""Events of states in a trace of a bag, and the state to which they lead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...core.errors import input_error, public
from ...core.quantities import SECONDS_PER_HOUR
from ...instances.clouds import Billing
from ...instances.instance import Instance
from ...schedules import events
from ...schedules.events import Event
from ...schedules.state import State
from ...schedules.vm_state import VmState, session_rules
from ..trace import Trace

_Record: TypeAlias = Mapping[str, Any]


@public
def trace_events(trace: Trace) -> list[tuple[float, Event]]:
    """Return the events of states that a trace has.

    Parameters
    ----------
    trace : Trace
        That of a replay of a bag, or of a plan of a whole bag that was run.

    Returns
    -------
    list of (float, Event)
        When something happened, and what, in that order: what the day brought, and what was decided, from the requests
        of the first VMs on. Moves, wake-up calls and triggers are no events of a state. What a checkpoint has saved of
        a task is told when the task goes on. Of an execution, a VM that was stopped or lost is hibernated until it is
        ready again: nothing starts there.

    Raises
    ------
    InputError
        If the trace is of a stream or a platform, or of a plan that began with machines or with tasks that ran.
    SpotbagError
        If an event names a VM or a task that cannot be meant there; see `spotbag audit`.
    """
    if trace.of_stream or trace.of_platform:
        raise input_error("trace", "is of a stream or a platform; states are of bags")
    return _Reader(trace).read()


@public
def trace_state(trace: Trace, time_s: float | None = None) -> State:
    """Return the state of a bag at a moment of a trace, from which the rest can be planned (`spotbag.replan`).

    A VM that launches is expected when it was ready in fact. Money is by prices and billing of sessions, as
    `State.advance` counts it: without what a cloud gives back of interrupted first hours, or charges for VMs that are
    down; a block in which the price changes has the new one.

    Parameters
    ----------
    trace : Trace
        That of a replay of a bag, or of a plan of a whole bag that was run.
    time_s : float, optional
        The moment; what happened at it has happened. The end of the trace if absent.

    Raises
    ------
    InputError
        If the trace is of a stream or a platform, or of a plan that began with machines or with tasks that ran.
    SpotbagError
        If an event names a VM or a task that cannot be meant there; see `spotbag audit`.
    """
    happened = trace_events(trace)
    until_s = trace.end["t"] if time_s is None else time_s
    if until_s > trace.end["t"]:
        raise input_error("trace", f"ends at {trace.end['t']:g} s, before {until_s:g} s")
    return State(instance=trace.instance["name"]).advance_through(happened, until_s)


class _Reader:
    """Walks through the records, and knows what runs where: of some, a record tells of the VM alone."""

    def __init__(self, trace: Trace) -> None:
        self.instance = Instance.from_document(trace.instance, "instance of the trace")
        if self.instance.machines:
            raise input_error(
                "trace",
                "is of a plan that was made from a state, with VMs that were there before: "
                "'spotbag import-log --state', or execution_state(..., since=state), goes on from that state",
            )
        self.trace = trace
        bill_of = None if trace.of_execution else Billing(**trace.run["billing"]).bill
        self.bills = {
            (offer.vm_type.name, str(offer.market)): bill if bill_of is None else bill_of(offer)
            for offer, bill in zip(self.instance.offers, self.instance.bills, strict=True)
            if offer.listed_as is None
        }
        self.setup_s = {vm_type.name: vm_type.setup_s for vm_type in self.instance.vm_types}
        self.ready_s = {event["vm"]: event["t"] for event in reversed(trace.events) if event["event"] == "ready"}
        """When each VM is ready for the first time."""
        self.last = {event["vm"]: event for event in trace.events if event["event"] in ("ready", "done")}
        """Last record of each VM that says that it is ready, or has done all that it had to do."""
        self.planned = {task["task"]: task for task in trace.run["plan"] if "task" in task}
        """Places of tasks in the last plan of an execution."""
        self.vms: dict[str, tuple[str, str]] = {}
        """Type and market of each VM that is rented."""
        self.began: dict[str, _Run] = {}
        """The run of each task that runs, also on a VM that is hibernated."""
        self.halted: dict[str, float] = {}
        """Since when a VM is hibernated or stopped."""
        self.set_up_s: dict[str, float] = {}
        """When each VM that is being set up takes tasks."""

    def read(self) -> list[tuple[float, Event]]:
        """Return the events of the trace, in its order."""
        happened: list[tuple[float, Event]] = []

        def end_setups(until_s: float) -> None:
            due = [(time_s, name) for name, time_s in self.set_up_s.items() if time_s <= until_s]
            for time_s, name in sorted(due):
                happened.extend((time_s, event) for event in self.set_up(name))

        def take(record: _Record) -> None:
            end_setups(record["t"])
            answer = _ANSWERS.get(record["event"])
            if answer is not None:
                happened.extend((record["t"], event) for event in answer(self, record))

        self.trace.follow(take)
        end_setups(self.trace.end["t"])
        return happened

    # ----------------------------------------------------------------------- VMs

    def launch(self, record: _Record) -> Iterator[Event]:
        """Request a VM, which is expected when it is ready in fact."""
        name, offer = record["vm"], (record["type"], record["market"])
        bill, setup_s = self.bills[offer], self.setup_s[record["type"]]
        self.vms[name] = offer
        ready_s = self.ready_s.get(name, record["t"] + self.instance.boot_overhead_s) + setup_s
        usd_per_hour = record.get("price_usd_per_hour", bill.usd * SECONDS_PER_HOUR)
        of = {"type": offer[0], "market": offer[1], "billing": session_rules(bill, setup_s)}
        yield events.VmRequested(
            VmState(id=name, status="launching", ready_s=float(ready_s), price_usd_per_hour=usd_per_hour, **of)
        )

    def ready(self, record: _Record) -> Iterator[Event]:
        """Have a VM take tasks, once it is set up."""
        name = record["vm"]
        if self.halted.pop(name, None) is not None:
            yield events.VmResumed(name)
        elif self.ready_s[name] == record["t"]:
            self.set_up_s[name] = record["t"] + self.setup_s[self.vms[name][0]]
            if self.set_up_s[name] == record["t"]:
                yield from self.set_up(name)

    def set_up(self, name: str) -> Iterator[Event]:
        """Have a VM that was being set up take tasks, or be billed for that at least."""
        if self.set_up_s.pop(name, None) is not None:
            yield events.VmReady(name)

    def notice(self, record: _Record) -> Iterator[Event]:
        """Have a VM drain."""
        yield from self.set_up(record["vm"])
        yield events.VmDraining(record["vm"], record["until_s"])

    def hibernate(self, record: _Record) -> Iterator[Event]:
        """Halt a VM; what runs there goes on when it resumes."""
        yield from self.set_up(record["vm"])
        self.halted[record["vm"]] = record["t"]
        yield events.VmHibernated(record["vm"])

    def stop(self, record: _Record) -> Iterator[Event]:
        """Halt a VM whose memory is lost."""
        self.forget(record["vm"])
        return self.hibernate(record)

    def resume(self, record: _Record) -> Iterator[Event]:
        """Have a VM go on, with what ran there."""
        name = record["vm"]
        down_s = record["t"] - self.halted.pop(name)
        yield events.VmResumed(name)
        for task, run in self.began.items():
            if run.started.vm == name:
                run.end_s += down_s
                yield run.started
                yield events.TaskExpected(task, run.end_s)

    def end(self, record: _Record) -> Iterator[Event]:
        """Let a VM go, unless it is gone, or will be started again."""
        name = record["vm"]
        if record["event"] == "done" and self.last[name] is not record:
            return
        if self.vms.pop(name, None) is not None:
            yield from self.set_up(name)
            self.forget(name)
            self.halted.pop(name, None)
            yield events.VmEnded(name)

    def forget(self, vm: str) -> None:
        """End the runs of the tasks on a VM."""
        self.began = {task: run for task, run in self.began.items() if run.started.vm != vm}

    # --------------------------------------------------------------------- tasks

    def start(self, record: _Record) -> Iterator[Event]:
        """Start a task, from what is saved of it."""
        task, core, cores = record["task"], record["core"], None
        if self.trace.of_execution:
            cores = tuple(self.planned[task].get("cores") or ())
        else:
            core *= self.instance.slots.cores
        yield from self.saved(record)
        # Of a task that runs on another core than planned, its other cores are not known.
        started = events.TaskStarted(
            task, record["vm"], core, record.get("mode"), cores if cores and cores[0] == core else None
        )
        self.began[task] = _Run(started, record["t"] + record.get("duration_s", 0))
        yield started

    def finish(self, record: _Record) -> Iterator[Event]:
        """Have a task done."""
        del self.began[record["task"]]
        yield events.TaskFinished(record["task"])

    def fail(self, record: _Record) -> Iterator[Event]:
        """Have a task wait again, with what is saved of it."""
        run = self.began.pop(record["task"], None)
        if run is not None and run.started.vm not in self.halted:
            yield events.TaskFailed(record["task"])
        yield from self.saved(record)

    def saved(self, record: _Record) -> Iterator[Event]:
        """Keep the fraction of a task that a record has as saved."""
        if record.get("saved"):
            yield events.TaskSaved(record["task"], record["saved"])

    # -------------------------------------------------------------------- market

    def price(self, record: _Record) -> Iterator[Event]:
        """Change the price of an offer, and of all its VMs."""
        offer, usd_per_hour = (record["type"], record["market"]), record["usd_per_hour"]
        self.bills[offer] = self.bills[offer]._replace(usd=usd_per_hour / SECONDS_PER_HOUR)
        yield events.OfferPriced(*offer, usd_per_hour)
        for name in [name for name, rented in self.vms.items() if rented == offer]:
            yield events.VmPriced(name, usd_per_hour)

    def capacity(self, record: _Record) -> Iterator[Event]:
        """Limit the spot VMs of a type."""
        yield events.TypeLimited(record["type"], record["vms"])


@dataclass(slots=True)
class _Run:
    """A start of a task, and when it is to end."""

    started: events.TaskStarted
    end_s: float


_ANSWERS: Mapping[str, Callable[[_Reader, _Record], Iterator[Event]]] = {
    "launch": _Reader.launch,
    "ready": _Reader.ready,
    "notice": _Reader.notice,
    "hibernate": _Reader.hibernate,
    "stop": _Reader.stop,
    "lost": _Reader.stop,
    "resume": _Reader.resume,
    "reclaim": _Reader.end,
    "terminate": _Reader.end,
    "done": _Reader.end,
    "start": _Reader.start,
    "finish": _Reader.finish,
    "fail": _Reader.fail,
    "cut-off": _Reader.fail,
    "preempted": _Reader.fail,
    "migrate": _Reader.fail,
    "steal": _Reader.fail,
    "price": _Reader.price,
    "capacity": _Reader.capacity,
}
"""Answers to records by their kinds; the other kinds are of no state."""
