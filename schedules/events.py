"""Events of a bag that is carried out, from which a state makes the next one."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal, TypeAlias

from ..core.errors import FAILURES, InputError, Issue, blame
from ..core.quantities import MAX_PRICE_USD_PER_HOUR, MAX_SECONDS, is_name
from ..instances.entries import Cores, named_cores, wrong_cores
from .vm_state import TaskOnVm, VmState, changed, cost_between_usd, session_so_far_usd, several

Mode: TypeAlias = Literal["burst", "baseline"]


def wrong_state(rule: str) -> InputError:
    """Return the error of a state that is not as it would have to be."""
    return InputError("state", [Issue("", rule)])


@dataclass(slots=True)
class Draft:
    """The next state, to which events happen one after the other.

    Attributes
    ----------
    time_s, spent_usd : float
        Its moment, and what was spent until then.
    vms : dict of str to VmState
        VMs that are rented, by their names.
    done : dict of str
        Tasks that are finished, in the order in which they were.
    withdrawn : dict of str
        Tasks that need not be done any more.
    saved : dict of str to float
        Fraction of a task that is done already.
    gone : list of str
        Names of VMs that are rented no more.
    settled_s : dict of str to float
        Of each VM, the moment up to which its cost is in ``spent_usd``.
    vm_of : dict of str to str
        VM on which a task runs, of each that does.
    """

    time_s: float
    spent_usd: float
    vms: dict[str, VmState]
    done: dict[str, None]
    withdrawn: dict[str, None]
    saved: dict[str, float]
    gone: list[str]
    settled_s: dict[str, float] = field(init=False)
    vm_of: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        """Settle all VMs, and find out what runs where."""
        self.settled_s = dict.fromkeys(self.vms, self.time_s)
        self.vm_of = {run.task: name for name, vm in self.vms.items() for run in vm.running}

    def add(self, vm: VmState) -> None:
        """Add a VM, with the tasks that run on it."""
        self.vms[vm.id], self.settled_s[vm.id] = vm, self.time_s
        self.vm_of |= {run.task: vm.id for run in vm.running}

    def settle(self, name: str) -> VmState:
        """Add the cost of a VM until the moment to the amount spent; return the VM."""
        vm = self.vms.get(name)
        if vm is None:
            raise wrong_state(f"has no VM {name!r} (VMs: {', '.join(self.vms) or 'none'})")
        since_s, self.settled_s[name] = self.settled_s[name], self.time_s
        if since_s < self.time_s:
            self.spent_usd += cost_between_usd(vm, since_s, self.time_s)
            # Credits that were left are no use to a plan, and those of its type may be spent by then as well.
            if vm.credits != 0 and vm.status in ("running", "draining"):
                vm = self.vms[name] = changed(vm, credits=0.0)
        return vm

    def change(self, name: str, **fields: Any) -> VmState:
        """Change a VM, and return it as it was."""
        before = self.settle(name)
        # When a VM goes is known only while it drains.
        if fields.get("status", "draining") != "draining":
            fields["until_s"] = None
        after = self.vms[name] = changed(before, **fields)
        if "running" in fields:
            for run in before.running:
                self.vm_of.pop(run.task, None)
            self.vm_of |= {run.task: name for run in after.running}
        return before

    def begin(self, name: str, at_s: float, **fields: Any) -> None:
        """Begin a session of a VM, which is billed until the moment of the state at once."""
        self.change(name, status="running", ready_s=at_s, **fields)
        self.spent_usd += session_so_far_usd(self.vms[name], self.time_s)

    def where(self, task: str) -> VmState | None:
        """Return the VM on which a task runs; None if it runs nowhere."""
        name = self.vm_of.get(task)
        return None if name is None else self.vms[name]

    def stop(self, task: str) -> None:
        """Take a task away from where it runs."""
        vm = self.where(task)
        if vm is None:
            raise wrong_state(f"does not run the task {task!r}")
        self.change(vm.id, running=tuple(run for run in vm.running if run.task != task))


@dataclass(frozen=True, slots=True)
class TaskStarted:
    """A task has started on a core of a VM, or on several; on a burstable one, at full speed unless at the baseline.

    Of several, ``core`` is the first of ``cores``; where these are not told, plans give it those that are free.
    """

    task: str
    vm: str
    core: int
    mode: Mode | None = None
    cores: Cores | None = None

    def happen(self, after: Draft) -> None:
        """Have the VM run the task; a VM that was launching is ready."""
        if self.mode not in ("burst", "baseline", None):
            raise wrong_state(
                f"cannot have the mode {self.mode!r} for {self.task!r}: modes are burst or baseline, of started tasks"
            )
        if self.task in after.done or self.task in after.withdrawn:
            what = "done" if self.task in after.done else "withdrawn"
            raise wrong_state(f"cannot have the task {self.task!r} started: it is {what}")
        vm = after.vms.get(self.vm)
        if vm is None:
            raise wrong_state(f"has no VM {self.vm!r} on which the task {self.task!r} could start")
        if vm.status == "hibernated":
            raise wrong_state(f"cannot have the task {self.task!r} started on {self.vm!r}, which is hibernated")
        run = TaskOnVm(task=self.task, core=self.core, start_s=after.time_s, mode=self.mode, **several(self.cores))
        taken = {core: other.task for other in vm.running for core in named_cores(other)}
        core = next((core for core in named_cores(run) if core in taken), self.core)
        if core in taken or wrong_cores(run) or after.where(self.task) is not None:
            # Several of these may be wrong: the core that is taken says most, so it is told first.
            what = f"its cores {[*named_cores(run)]} are not different ones of which that is the first"
            what = "it runs already" if after.where(self.task) is not None else what
            what = f"core {core} of {self.vm!r} runs {taken[core]!r}" if core in taken else what
            raise wrong_state(f"cannot have the task {self.task!r} started on core {self.core} of {self.vm!r}: {what}")
        # A task that starts shows that its VM is up, though nobody has said so: it is billed from now on at the latest.
        if vm.status == "launching":
            after.begin(self.vm, vm.ready_s if vm.billing is None else min(vm.ready_s, after.time_s))
        after.change(self.vm, running=(*vm.running, run))


@dataclass(frozen=True, slots=True)
class TaskFinished:
    """A task that ran is done."""

    task: str

    def happen(self, after: Draft) -> None:
        """Have the task done."""
        after.stop(self.task)
        after.done[self.task] = None
        after.saved.pop(self.task, None)


@dataclass(frozen=True, slots=True)
class TaskFailed:
    """A task that ran has ended without being done, and waits again."""

    task: str

    def happen(self, after: Draft) -> None:
        """Have the task wait."""
        after.stop(self.task)


@dataclass(frozen=True, slots=True)
class TaskWithdrawn:
    """A task need not be done any more, whether it waits, runs or is done; the bag may have it or not."""

    task: str

    def happen(self, after: Draft) -> None:
        """Have the task run nowhere, and wait for nothing."""
        _refuse_no_name(self.task)
        if after.where(self.task) is not None:
            after.stop(self.task)
        after.done.pop(self.task, None)
        after.saved.pop(self.task, None)
        after.withdrawn[self.task] = None


@dataclass(frozen=True, slots=True)
class TaskSaved:
    """A fraction of a task that waits is saved, and need not be done again."""

    task: str
    fraction: float

    def happen(self, after: Draft) -> None:
        """Keep the fraction."""
        _refuse_no_name(self.task)
        if not 0 <= self.fraction < 1:
            raise wrong_state(
                f"cannot have {self.fraction:g} of the task {self.task!r} saved: it is a fraction from 0 to less than 1"
            )
        if self.task not in after.done and self.task not in after.withdrawn:
            after.saved[self.task] = self.fraction


@dataclass(frozen=True, slots=True)
class TaskExpected:
    """A task that runs is expected to end at another moment than by its run time."""

    task: str
    end_s: float

    def happen(self, after: Draft) -> None:
        """Keep the moment."""
        vm = after.where(self.task)
        if vm is None:
            raise wrong_state(f"does not run the task {self.task!r}")
        _refuse_no_moment(self.end_s, f"cannot have the task {self.task!r} end at")
        running = tuple(
            run.model_copy(update={"end_s": float(self.end_s)}) if run.task == self.task else run for run in vm.running
        )
        after.change(vm.id, running=running)


@dataclass(frozen=True, slots=True)
class VmRequested:
    """A VM has been requested."""

    vm: VmState

    def happen(self, after: Draft) -> None:
        """Add a rented VM, whose name no other has or had."""
        if self.vm.id in after.vms:
            raise wrong_state(f"has a VM {self.vm.id!r} already")
        if self.vm.id in after.gone:
            raise wrong_state(f"had a VM {self.vm.id!r}, which is gone: another one needs another name")
        after.add(self.vm)


@dataclass(frozen=True, slots=True)
class VmExpected:
    """A VM that launches is expected to be ready at another moment."""

    vm: str
    ready_s: float

    def happen(self, after: Draft) -> None:
        """Keep the moment."""
        _refuse_no_moment(self.ready_s, f"cannot have the VM {self.vm!r} ready at")
        # An unknown name is found by the change: then that is said, and not what follows from it.
        before = after.change(self.vm, ready_s=float(self.ready_s))
        if before.status != "launching":
            raise wrong_state(f"cannot have the VM {self.vm!r} ready later: it is {before.status}")


@dataclass(frozen=True, slots=True)
class VmReady:
    """A VM is ready."""

    vm: str

    def happen(self, after: Draft) -> None:
        """Have the VM take tasks, and bill it from now on if it was launching."""
        if after.change(self.vm, status="running").status == "launching":
            after.begin(self.vm, after.time_s)


@dataclass(frozen=True, slots=True)
class VmDraining:
    """A VM takes no more tasks, and finishes those that run; if its end is known, those that end by then."""

    vm: str
    until_s: float | None = None

    def happen(self, after: Draft) -> None:
        """Have the VM take no more tasks."""
        if self.until_s is not None:
            _refuse_no_moment(self.until_s, f"cannot have the VM {self.vm!r} drain until")
        after.change(self.vm, status="draining", until_s=None if self.until_s is None else float(self.until_s))


@dataclass(frozen=True, slots=True)
class VmHibernated:
    """A VM hibernates; what ran there waits again."""

    vm: str

    def happen(self, after: Draft) -> None:
        """Have the VM do nothing."""
        after.change(self.vm, status="hibernated", running=())


@dataclass(frozen=True, slots=True)
class VmResumed:
    """A VM that hibernated goes on."""

    vm: str

    def happen(self, after: Draft) -> None:
        """Have the VM take tasks again, and bill it from now on: what it was paid until was paid for what has ended."""
        if after.change(self.vm, status="running").status == "hibernated":
            after.begin(self.vm, after.time_s, paid_until_s=None)


@dataclass(frozen=True, slots=True)
class VmEnded:
    """A VM was terminated or taken away; what ran there waits again."""

    vm: str

    def happen(self, after: Draft) -> None:
        """Have the VM no more, and its name by no other."""
        after.change(self.vm, running=())
        del after.vms[self.vm]
        after.gone.append(self.vm)


@dataclass(frozen=True, slots=True)
class VmCredits:
    """CPU credits of a burstable VM now; of one of which that is not told, a plan counts on none."""

    vm: str
    credits: float

    def happen(self, after: Draft) -> None:
        """Keep the credits."""
        if not 0 <= self.credits < math.inf:
            raise wrong_state(f"cannot have {self.credits:g} credits on {self.vm!r}")
        after.change(self.vm, credits=float(self.credits))


@dataclass(frozen=True, slots=True)
class VmPaid:
    """A VM is paid until a moment that is later than now."""

    vm: str
    until_s: float

    def happen(self, after: Draft) -> None:
        """Keep the moment."""
        _refuse_no_moment(self.until_s, f"cannot be paid for {self.vm!r} until")
        after.change(self.vm, paid_until_s=float(self.until_s))


@dataclass(frozen=True, slots=True)
class VmPriced:
    """A VM that is rented has another price from now on."""

    vm: str
    price_usd_per_hour: float

    def happen(self, after: Draft) -> None:
        """Keep the price."""
        if not 0 <= self.price_usd_per_hour <= MAX_PRICE_USD_PER_HOUR:
            raise wrong_state(f"cannot have a price of $ {self.price_usd_per_hour:g} an hour for {self.vm!r}")
        after.change(self.vm, price_usd_per_hour=float(self.price_usd_per_hour))


@dataclass(frozen=True, slots=True)
class Spent:
    """Amount spent by now, by the bill, in place of what follows from the prices and the billing of VMs."""

    usd: float

    def happen(self, after: Draft) -> None:
        """Keep the sum."""
        if not 0 <= self.usd < math.inf:
            raise wrong_state(f"cannot have spent $ {self.usd:g}")
        for name in after.vms:
            after.settle(name)
        after.spent_usd = float(self.usd)


@dataclass(frozen=True, slots=True)
class OfferPriced:
    """VMs of a type have another price in a market from now on; plans are asked for with a bag that says so."""

    type: str
    market: str
    price_usd_per_hour: float

    def happen(self, after: Draft) -> None:
        """Change nothing that is rented."""


@dataclass(frozen=True, slots=True)
class TypeLimited:
    """Limit of the spot VMs of a type from now on; None if any number that the limits of the bag allow."""

    type: str
    vms: int | None = None

    def happen(self, after: Draft) -> None:
        """Change nothing that is rented."""


Event: TypeAlias = (
    TaskStarted
    | TaskFinished
    | TaskFailed
    | TaskWithdrawn
    | TaskSaved
    | TaskExpected
    | VmRequested
    | VmExpected
    | VmReady
    | VmDraining
    | VmHibernated
    | VmResumed
    | VmEnded
    | VmCredits
    | VmPaid
    | VmPriced
    | Spent
    | OfferPriced
    | TypeLimited
)


def have_happen(event: Event, after: Draft) -> None:
    """Have an event happen; say which of its fields is of no type that it takes if it cannot be understood."""
    try:
        event.happen(after)
    except FAILURES as error:
        if is_dataclass(event):
            blame(type(event), tuple(getattr(event, entry.name) for entry in fields(event)), {}, error)
        raise


def _refuse_no_name(task: object) -> None:
    if not (isinstance(task, str) and is_name(task)):
        raise wrong_state(f"cannot have a task of the name {task!r}")


def _refuse_no_moment(moment_s: float, what: str) -> None:
    if not 0 <= moment_s <= MAX_SECONDS:
        raise wrong_state(f"{what} {moment_s:g} s")


_NAMES: Mapping[str, type[Any]] = {
    "finished": TaskFinished,
    "failed": TaskFailed,
    "ready": VmReady,
    "resumed": VmResumed,
    "draining": VmDraining,
    "credits": VmCredits,
    "paid_until_s": VmPaid,
    "hibernated": VmHibernated,
    "ended": VmEnded,
    "requested": VmRequested,
    "saved": TaskSaved,
}
"""Words of earlier versions for collections of names, or names and amounts, in the order in which they happened."""


def events_of_words(words: Mapping[str, Any]) -> Iterable[Event]:
    """Return the events that stand behind the words of earlier versions."""
    for word in words:
        if word not in (*_NAMES, "started", "modes", "spent_usd"):
            raise TypeError(f"advance() got an unexpected keyword argument {word!r}")
    text = f"advance({', '.join(f'{word}=...' for word in words)}) will go: hand in events, such as VmReady(name)"
    warnings.warn(text, DeprecationWarning, stacklevel=4)
    # Words have no order of their own: all of a word happen before those of the next one in `_NAMES`.
    events: list[Event] = []
    try:
        for word, kind in _NAMES.items():
            given = words.get(word) or ()
            events += [kind(*entry) for entry in given.items()] if isinstance(given, Mapping) else map(kind, given)
        modes = dict(words.get("modes") or {})
        for task, (vm, core) in (words.get("started") or {}).items():
            events.append(TaskStarted(task, vm, core, modes.pop(task, None)))
    except FAILURES:
        raise wrong_state(f"cannot be advanced by what is no collection of names: {text}") from None
    for task, mode in modes.items():
        raise wrong_state(f"cannot have the mode {mode!r} for {task!r}: modes are burst or baseline, of started tasks")
    if words.get("spent_usd") is not None:
        events.append(Spent(words["spent_usd"]))
    return events
