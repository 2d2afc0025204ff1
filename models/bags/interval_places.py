"""Interval model, first part: the VMs, modes and credits of an instance, and which tasks may take which of them.

A *place* is a task on a VM in a mode: at full speed, or at the baseline of a burstable VM. What no plan as good as one
that is known can take is left out before the model is built, and so is a mode that never helps.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core.errors import ModelRefusal
from ...core.limits import checkpoint
from ...core.quantities import BoolArray, at_most
from ...core.wording import counted
from ...instances.entries import BASELINE, FULL_SPEED, NEVER, RentalOffer
from ...instances.instance import Instance
from ...schedules.schedule import Schedule
from ...schedules.timing import held_objective, objective_weights, time_zero_s
from .configurations import ConfigurationBound
from .cpu_credits import CreditRole, credit_role, full_speed_possible, solver_credit_rules
from .task_classes import usable_offers

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

MAX_PLACES = 40_000
"""Most pairs of a task and a VM (and mode) that the model takes."""

MAX_CREDIT_STARTS = 400_000
"""Most starts by second on burstable VMs whose credits have to be planned."""


@dataclass(frozen=True, slots=True)
class IntervalSwitches:
    """Parts of the model without which it is right as well; to compare.

    Attributes
    ----------
    energy_cuts : bool
        Seconds of cores, of memory, and of tasks that cannot run together.
    symmetry : bool
        Identical VMs by their end, identical tasks by VM and start, spot before on-demand.
    fixing : bool
        With a start and a bound, leave out what no better plan does.
    """

    energy_cuts: bool = True
    symmetry: bool = True
    fixing: bool = True


class Busy(NamedTuple):
    """A core of a machine that is busy when the machine is ready: for how long, with how much memory, in which mode."""

    seconds: int
    need_kb: int
    mode: int


@dataclass(frozen=True, eq=False, slots=True)
class Kind:
    """Group of VMs that are alike: rentable ones of an offer, or machines that exist. Times count from ready.

    Attributes
    ----------
    offer : RentalOffer
        What they are.
    machines : tuple of int
        Machines, as indices into ``instance.machines``; none for VMs that may be rented.
    vms : int
        How many: of an offer, no more than there are tasks for them.
    ready_s : int
        When they are ready, from the start of the application.
    limit_s : int
        Seconds until they must end.
    free_s : int
        Seconds that cost nothing more: what runs there goes on until then, or it is paid.
    busy : tuple of Busy
        What runs there.
    usable : array of bool, shape (n_groups,)
        Groups of which a task can run there in time, and may in a plan as good as the start.
    credits : CreditRole
        What credits mean there.
    initial_credits : float or None
        Credits of a machine, if they are known.
    modes : array of bool, shape (n_groups, 2)
        Modes worth looking at: the baseline only where credits may be short.
    opening_usd : float
        Cost of each of them once it has a task.
    block_s : int
        Blocks that are billed.
    """

    offer: RentalOffer
    machines: tuple[int, ...]
    vms: int
    ready_s: int
    limit_s: int
    free_s: int
    busy: tuple[Busy, ...]
    usable: BoolArray
    credits: CreditRole
    initial_credits: float | None
    modes: BoolArray
    opening_usd: float = 0.0
    block_s: int = 1

    @property
    def busy_s(self) -> int:
        """Seconds until the last of what runs there ends."""
        return max((entry.seconds for entry in self.busy), default=0)

    @property
    def most_s(self) -> int:
        """Seconds until its last task ends at the latest, those that run there already included."""
        return max(self.limit_s, self.busy_s)

    @property
    def first_core_s(self) -> int:
        """Seconds until a core is free."""
        return min(entry.seconds for entry in self.busy) if len(self.busy) == self.offer.vcpus else 0


@dataclass(frozen=True, slots=True)
class Vm:
    """A VM that can be rented, or a machine.

    Attributes
    ----------
    kind : Kind
        What it is.
    end_s : IntVar
        Seconds from ready until its last task ends; 0 without any.
    paid_s : IntVar
        Seconds that it is paid: those after what costs nothing more. Where all cost something, the same variable.
    one_at_a_time : bool
        No two tasks can run together: their order is free.
    used : IntVar or None
        Whether it has a task; None where that costs nothing, and no limit counts it with VMs of other offers.
    """

    kind: Kind
    end_s: cp_model.IntVar
    paid_s: cp_model.IntVar
    one_at_a_time: bool
    used: cp_model.IntVar | None

    @property
    def offer(self) -> RentalOffer:
        """Offer of the VMs."""
        return self.kind.offer


@dataclass(frozen=True, slots=True)
class Place:
    """A task on a VM in a mode: where it would run, for how long, and whether it does."""

    task: int
    vm: int
    mode: int
    seconds: int
    present: cp_model.IntVar


class Choices:
    """VMs and modes that tasks may take, and their latest end, as known before any variable is made.

    Parameters
    ----------
    instance, bound, start, switches
        See `interval.IntervalModel`.

    Attributes
    ----------
    zero_s : int
        From when the time of the model counts: from when rented VMs are ready, or from now if there are machines.
    last_s : int
        Latest end of a plan as good as the start, from there.
    kinds : list of Kind
        VMs by kind: those of each usable offer in their order, then the machines.

    Raises
    ------
    ModelRefusal
        If there are too many places, or too many starts by second where credits are planned.
    """

    def __init__(
        self,
        instance: Instance,
        bound: ConfigurationBound | None,
        start: Schedule | None,
        switches: IntervalSwitches,
    ) -> None:
        self.instance = instance
        self.zero_s = time_zero_s(instance)
        latest_s, barred = instance.deadline_s, np.zeros((len(instance.tasks), len(instance.offers)), dtype=bool)
        # A plan as good as the start ends early enough, and puts no task where that alone would cost too much.
        if bound is not None and start is not None and switches.fixing:
            latest_s = bound.latest_makespan_s(instance, start.objective)
            barred = bound.barred(instance, start.objective)
        self._latest_s, self.last_s = latest_s, latest_s - self.zero_s
        self._at_most = math.inf if start is None or not switches.fixing else start.objective
        ready_s = instance.ready_s.tolist()
        offers = usable_offers(instance)
        paid_s, opening_usd = instance.rents.paid_s.tolist(), instance.rents.opening_usd.tolist()
        self.kinds = [
            self._kind(offer, (), ready_s[k], ~barred[:, k], paid_s[k], opening_usd[k])
            for k, offer in ((offer.index, offer) for offer in offers)
        ]
        self.kinds += self._machines()
        self._refuse_too_many_places()
        self._refuse_too_many_credit_starts()

    def _machines(self) -> list[Kind]:
        """Kinds of machines, one for all that can be exchanged.

        They are of one offer, run the same until the same moment, take more tasks or not, and have the same credits:
        the model has one place for each kind and number, not for each machine.
        """
        instance = self.instance
        alike: dict[tuple[Any, ...], list[int]] = {}
        running = instance.running
        needs_kb = instance.memory_kb[instance.task_group[running.task]].tolist()
        seconds = np.maximum(instance.running_end_s, 0).tolist()
        busy: list[list[Busy]] = [[] for _ in instance.machines]
        for number, *entry in zip(running.machine.tolist(), seconds, needs_kb, running.baseline.tolist(), strict=True):
            busy[number].append(Busy(entry[0], entry[1], BASELINE if entry[2] else FULL_SPEED))
        free_s = (instance.machine_held_s - instance.machine_ready_s).tolist()
        opening_usd = instance.machine_opening_usd.tolist()
        for number, machine in enumerate(instance.machines):
            runs = tuple(sorted(busy[number]))
            bill = free_s[number], opening_usd[number]
            key = (int(instance.machine_offer[number]), machine.open, machine.ready_s, *bill, runs)
            alike.setdefault((*key, machine.credits), []).append(number)
        return [
            self._kind(
                instance.offers[offer],
                tuple(numbers),
                ready_s,
                np.full(len(instance.tasks), is_open),
                *of_machines,
            )
            for (offer, is_open, ready_s, *of_machines), numbers in alike.items()
        ]

    def _kind(
        self,
        offer: RentalOffer,
        machines: tuple[int, ...],
        ready_s: int,
        allowed: BoolArray,
        free_s: int,
        opening_usd: float,
        busy: tuple[Busy, ...] = (),
        credits: float | None = None,
    ) -> Kind:
        """Groups of VMs that are alike, with the tasks and modes that are possible there."""
        instance = self.instance
        limit_s = min(instance.time_limit_s(offer.market), self._latest_s) - ready_s
        limit_s = min(limit_s, self._affordable_s(offer, ready_s, free_s))
        first_core_s = min(entry.seconds for entry in busy) if len(busy) == offer.vcpus else 0
        seconds = instance.duration_s[:, offer.index]
        begin_s = np.maximum(instance.release_s - ready_s, first_core_s)
        in_time = seconds <= (np.minimum(instance.due_s - ready_s, limit_s) - begin_s)[:, None]
        usable = in_time.any(axis=1) & allowed & (instance.open_size > 0)
        limit_s = max(limit_s, 0)
        role: CreditRole = "no credits"
        modes = in_time & usable[:, None]
        if offer.burstable:
            rules = solver_credit_rules(offer, limit_s, credits)
            role = credit_role(instance, offer, rules, usable, limit_s, [entry.seconds for entry in busy])
            if role == "never enough":
                modes[:, FULL_SPEED] = False
            elif role == "to be planned":
                modes[:, FULL_SPEED] &= full_speed_possible(instance, offer, rules, limit_s)
        # At full speed a task holds its core and memory for less time: nothing speaks for the baseline.
        if role in ("no credits", "always enough"):
            modes[:, BASELINE] = False
        vms = len(machines) or min(offer.limit, int(instance.open_size[usable].sum()))
        bill = opening_usd, int(instance.rents.block_s[offer.index])
        return Kind(offer, machines, vms, ready_s, limit_s, free_s, busy, usable, role, credits, modes, *bill)

    def _affordable_s(self, offer: RentalOffer, ready_s: int, free_s: int) -> int:
        """Seconds from ready after which a VM alone costs more than the whole start."""
        cost_weight, time_weight = objective_weights(self.instance)
        price = cost_weight * offer.price_usd_per_s
        if self._at_most == math.inf or price + time_weight == 0.0:
            return self.instance.deadline_s
        # Each second of the VM that ends last is paid as rent, beyond the free ones, and as makespan.
        spare = at_most(self._at_most) - held_objective(self.instance) - time_weight * ready_s
        return max(math.floor((spare + price * free_s) / (price + time_weight)), 0)

    def _refuse_too_many_places(self) -> None:
        """Refuse an instance with too many pairs of task and VM."""
        instance = self.instance
        places = sum(kind.vms * int((kind.modes.sum(axis=1) * instance.open_size).sum()) for kind in self.kinds)
        if places > MAX_PLACES:
            vms = counted(sum(kind.vms for kind in self.kinds), "VM")
            raise _too_many(instance, f"{places:,} intervals for {counted(len(instance.open_tasks), 'task')} on {vms}")

    def _refuse_too_many_credit_starts(self) -> None:
        """Refuse burstable VMs whose starts by second would be too many."""
        starts, names = 0, []
        for kind in self.kinds:
            if kind.credits == "to be planned" and kind.vms:
                seconds = np.minimum(self.instance.duration_s[:, kind.offer.index], NEVER)
                each = np.where(kind.modes, kind.limit_s - seconds + 1, 0)
                starts += kind.vms * int((each.sum(axis=1) * self.instance.open_size).sum())
                names.append(f"{counted(kind.vms, 'VM')} of {kind.offer} over {kind.limit_s} s")
        if starts > MAX_CREDIT_STARTS:
            raise ModelRefusal(
                f"the interval model plans CPU credits second by second, and would need {starts:,} starts "
                f"({', '.join(names)}; {counted(len(self.instance.open_tasks), 'task')}); its limit is "
                f"{MAX_CREDIT_STARTS:,}. "
                "A good plan to start from shortens the time; or leave the burstable types out, or give them neither "
                "credits_per_hour nor initial_credits, so that they run at the baseline only"
            )


class CreditAccount:
    """The credits of a burstable VM, second by second, added to a model as `spotbag.check` counts them (own).

    Parameters
    ----------
    model : CpModel
        Receives variables and constraints.
    index, vm, places : int, Vm, list of Place
        The VM, its index, and what can run there.
    task_starts : mapping of int to IntVar
        Start of each task.
    """

    def __init__(
        self,
        model: cp_model.CpModel,
        index: int,
        vm: Vm,
        places: list[Place],
        task_starts: Mapping[int, cp_model.IntVar],
    ) -> None:
        self._model, self._index, self._vm, self._places = model, index, vm, places
        self._limit_s = vm.kind.most_s
        self._rules = solver_credit_rules(vm.offer, self._limit_s, vm.kind.initial_credits)
        # Starts of each task and mode, tasks running in each mode, balance, and whether it is used up: by second.
        self._starts: dict[tuple[int, int], list[cp_model.IntVar]] = {}
        self._running: dict[int, list[cp_model.IntVar]] = {}
        self._balance: list[cp_model.IntVar] = []
        self._dry: dict[int, cp_model.IntVar] = {}
        self._add_starts(task_starts)
        self._add_running()
        self._add_balance()
        self._limit_total()

    def _add_starts(self, task_starts: Mapping[int, cp_model.IntVar]) -> None:
        """A literal for each second at which a task can start in a mode."""
        for place in self._places:
            checkpoint()
            moments = range(self._vm.kind.limit_s - place.seconds + 1)
            literals = [self._model.new_bool_var(f"start_{place.task}_{self._index}_{place.mode}_{t}") for t in moments]
            self._starts[place.task, place.mode] = literals
            self._model.add(sum(literals) == place.present)
            when = sum(t * literal for t, literal in enumerate(literals))
            self._model.add(task_starts[place.task] == when).only_enforce_if(place.present)

    def _add_running(self) -> None:
        """Running tasks in each mode at each second: those before, those that start, less those that end."""
        limit_s, vcpus = self._limit_s, self._vm.offer.vcpus
        begun: dict[int, list[list[cp_model.IntVar]]] = {m: [[] for _ in range(limit_s)] for m in (0, 1)}
        ended: dict[int, list[list[cp_model.IntVar]]] = {m: [[] for _ in range(limit_s)] for m in (0, 1)}
        for place in self._places:
            checkpoint()
            for t, literal in enumerate(self._starts[place.task, place.mode]):
                begun[place.mode][t].append(literal)
                if t + place.seconds < limit_s:
                    ended[place.mode][t + place.seconds].append(literal)
        gone = self._busy_that_end()
        for mode in (FULL_SPEED, BASELINE):
            self._running[mode] = [
                self._model.new_int_var(0, vcpus, f"running_{self._index}_{mode}_{t}") for t in range(limit_s)
            ]
            before: cp_model.IntVar | int = sum(entry.mode == mode for entry in self._vm.kind.busy)
            for t, running in enumerate(self._running[mode]):
                self._model.add(running == before + sum(begun[mode][t]) - sum(ended[mode][t]) - gone[t, mode])
                before = running

    def _busy_that_end(self) -> Counter[tuple[int, int]]:
        """Number of tasks that run there when the VM is ready, by the second at which they end, and their mode."""
        return Counter((entry.seconds, entry.mode) for entry in self._vm.kind.busy)

    def _add_balance(self) -> None:
        """The balance of each second: earned, less what the running tasks spend; what is over the cap is lost."""
        model, rules, limit_s = self._model, self._rules, self._limit_s
        self._balance = [
            model.new_int_var(0, rules.most if t else rules.initial, f"balance_{self._index}_{t}")
            for t in range(limit_s + 1)
        ]
        for t in range(limit_s):
            full, slow = self._running[FULL_SPEED][t], self._running[BASELINE][t]
            left = self._balance[t] + rules.earned - rules.full * full - rules.baseline * slow
            busy = sum(entry.mode == FULL_SPEED and entry.seconds > t for entry in self._vm.kind.busy)
            if busy or self._vm.offer.vcpus * rules.baseline > rules.earned:
                # Tasks at the baseline may spend what is not there, and so may those that run already, of which it is
                # known when they end; then no other task is at full speed.
                dry = model.new_bool_var(f"dry_{self._index}_{t}")
                self._dry[t] = dry
                model.add(full == busy).only_enforce_if(dry)
                model.add(self._balance[t + 1] == 0).only_enforce_if(dry)
                model.add(self._balance[t + 1] <= left).only_enforce_if(~dry)
            else:
                # No more than, not equal: what is over the cap is lost, and less than there is helps nobody.
                model.add(self._balance[t + 1] <= left)

    def _limit_total(self) -> None:
        """Balance of credits over the whole time, for the linear relaxation."""
        rules = self._rules
        at_full_speed = [place for place in self._places if place.mode == FULL_SPEED]
        spent = place_sum(at_full_speed, lambda place: place.seconds)
        self._model.add(rules.full * spent <= rules.initial + rules.earned * self._vm.end_s)

    def add_hint(self, here: list[tuple[Place, int]]) -> None:
        """Hint at the starts by second, the tasks running and the balance, for places and their starts."""
        begins = {(place.task, place.mode): begin for place, begin in here}
        for key, literals in self._starts.items():
            for t, literal in enumerate(literals):
                self._model.add_hint(literal, begins.get(key) == t)
        rules = self._rules
        balance = rules.initial
        self._model.add_hint(self._balance[0], balance)
        gone = self._busy_that_end()
        busy = [sum(entry.mode == mode for entry in self._vm.kind.busy) for mode in (FULL_SPEED, BASELINE)]
        for t in range(self._limit_s):
            busy = [number - gone[t, mode] for mode, number in enumerate(busy)]
            running = [*busy]
            for place, begin in here:
                running[place.mode] += begin <= t < begin + place.seconds
            for mode in (FULL_SPEED, BASELINE):
                self._model.add_hint(self._running[mode][t], running[mode])
            balance += rules.earned - rules.full * running[FULL_SPEED] - rules.baseline * running[BASELINE]
            if t in self._dry:
                self._model.add_hint(self._dry[t], balance < 0)
            balance = min(max(balance, 0), rules.most)
            self._model.add_hint(self._balance[t + 1], balance)


def refuse_too_many_tasks(instance: Instance) -> None:
    """Refuse at once a bag of which even one place for each task would be too many.

    Raises
    ------
    ModelRefusal
        With the numbers.
    """
    if instance.n_tasks > MAX_PLACES:
        raise _too_many(instance, f"more than {MAX_PLACES:,} intervals for {counted(instance.n_tasks, 'task')}")


def place_sum(places: list[Place], coefficient: Callable[[Place], int]) -> cp_model.LinearExpr:
    """Sum of the coefficients of the places that are taken."""
    return weighted_sum(places, [coefficient(place) for place in places])


def weighted_sum(places: list[Place], coefficients: list[int]) -> cp_model.LinearExpr:
    """Sum of the coefficients of the places that are taken, one for each place."""
    from ortools.sat.python import cp_model

    return cp_model.LinearExpr.weighted_sum([place.present for place in places], coefficients)


def _too_many(instance: Instance, need: str) -> ModelRefusal:
    return ModelRefusal(
        f"{instance.name}: the interval model would need {need}; its limit is {MAX_PLACES:,}. Lower the limits of the "
        "offers or split the bag, or use the search, which also gives a bound"
    )
