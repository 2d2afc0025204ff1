"""Interval model, first part: the VMs, modes and credits of an instance, and which tasks may take which of them.

A *place* is a task on a VM in a mode: at full speed, or at the baseline of a burstable VM. What no plan as good as one
that is known can take is left out before the model is built, and so is a mode that never helps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...core.errors import ModelRefusal
from ...core.limits import checkpoint
from ...core.quantities import BoolArray, IntArray
from ...core.wording import counted
from ...instances.durations import BASELINE, FULL_SPEED, NEVER
from ...instances.entries import RentalOffer
from ...instances.instance import Instance
from ...schedules.schedule import Schedule
from .configuration_bound import ConfigurationBound
from .cpu_credits import CreditRole, credit_role, full_speed_possible, solver_credit_rules

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

MAX_PLACES = 40_000
"""Most pairs of a task and a VM (and mode) that the model takes."""

MAX_CREDIT_STARTS = 400_000
"""Most starts by second on burstable VMs whose credits have to be planned."""


@dataclass(frozen=True, slots=True)
class IntervalSwitches:
    """What can be left out of the model without making it wrong; to compare.

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


@dataclass(frozen=True, slots=True)
class Vm:
    """A VM that can be rented.

    Attributes
    ----------
    offer : RentalOffer
        What it is.
    number : int
        Among the VMs of its offer.
    limit_s : int
        Seconds from ready until it must end.
    paid_s : IntVar
        Seconds it is paid.
    one_at_a_time : bool
        No two tasks can run together: their order is free.
    credits : CreditRole
        What credits mean on it.
    """

    offer: RentalOffer
    number: int
    limit_s: int
    paid_s: cp_model.IntVar
    one_at_a_time: bool
    credits: CreditRole


@dataclass(frozen=True, slots=True)
class Place:
    """A task on a VM in a mode: where it would run, for how long, and whether it does."""

    task: int
    vm: int
    mode: int
    seconds: int
    present: cp_model.IntVar


class Choices:
    """What the tasks may take, as far as it is known before any variable is made.

    Parameters
    ----------
    instance, bound, start, without_offers, switches
        See `interval.IntervalModel`.

    Attributes
    ----------
    ready : int
        Seconds until a VM is ready; all other times count from there.
    last_s : int
        Latest end of a plan as good as the start.
    limits_s : array of int, shape (n_offers,)
        When the VMs of each offer must end.
    usable : array of bool, shape (n_groups, n_offers)
        Offers on which a task of each group can run in time, and may in a plan as good as the start.
    roles : list of CreditRole
        What credits mean on the VMs of each offer.
    modes : array of bool, shape (n_groups, n_offers, 2)
        Modes worth looking at: the baseline only where credits may be short.
    vm_counts : list of int
        VMs of each offer: no more than there are tasks for them.

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
        without_offers: frozenset[int],
        switches: IntervalSwitches,
    ) -> None:
        self.instance = instance
        self.ready = instance.boot_overhead_s
        latest_s, barred = instance.deadline_s, np.zeros((len(instance.tasks), len(instance.offers)), dtype=bool)
        if bound is not None and start is not None and switches.fixing:
            latest_s = bound.latest_makespan_s(instance, start.objective)
            barred = bound.barred(instance, start.objective)
        self.last_s = latest_s - self.ready
        of_markets = [instance.time_limit_s(offer.market) - self.ready for offer in instance.offers]
        limits = np.minimum(np.array(of_markets, dtype=np.int64), self.last_s)
        self.limits_s: IntArray = np.maximum(limits, 0)
        offered = [offer.limit > 0 and offer.index not in without_offers for offer in instance.offers]
        in_time = instance.duration_s.min(axis=2) <= limits
        self.usable: BoolArray = in_time & np.array(offered) & ~barred
        self.roles = [
            credit_role(instance, offer, self.usable[:, offer.index], int(self.limits_s[offer.index]))
            for offer in instance.offers
        ]
        self.modes = self._modes()
        tasks = (instance.group_size[:, None] * self.usable).sum(axis=0).tolist()
        self.vm_counts = [min(offer.limit, count) for offer, count in zip(instance.offers, tasks, strict=True)]
        self._refuse_too_many_places()
        self._refuse_too_many_credit_starts()

    def _modes(self) -> BoolArray:
        """See the attribute."""
        instance, limits = self.instance, self.limits_s
        modes = np.zeros(instance.duration_s.shape, dtype=bool)
        for offer in instance.offers:
            in_time = self.usable[:, offer.index, None] & (instance.duration_s[:, offer.index] <= limits[offer.index])
            role = self.roles[offer.index]
            full = np.full(len(self.usable), role != "never enough")
            if role == "to be planned":
                full = full_speed_possible(instance, offer, int(limits[offer.index]))
            modes[:, offer.index, FULL_SPEED] = in_time[:, FULL_SPEED] & full
            if role in ("never enough", "to be planned"):
                modes[:, offer.index, BASELINE] = in_time[:, BASELINE]
        return modes

    def _refuse_too_many_places(self) -> None:
        """Refuse an instance with too many pairs of task and VM."""
        instance, vm_counts = self.instance, self.vm_counts
        places = int(((self.modes.sum(axis=2) * instance.group_size[:, None]).sum(axis=0) * np.array(vm_counts)).sum())
        if places > MAX_PLACES:
            vms = counted(sum(vm_counts), "VM")
            raise _too_many(instance, f"{places:,} intervals for {counted(instance.n_tasks, 'task')} on {vms}")

    def _refuse_too_many_credit_starts(self) -> None:
        """Refuse burstable VMs whose starts by second would be too many."""
        limits, counts = self.limits_s, self.vm_counts
        starts, names = 0, []
        for offer in self.instance.offers:
            if self.roles[offer.index] == "to be planned" and counts[offer.index]:
                seconds = self.instance.duration_s[:, offer.index]
                each = np.where(self.modes[:, offer.index], limits[offer.index] - np.minimum(seconds, NEVER) + 1, 0)
                starts += counts[offer.index] * int((each.sum(axis=1) * self.instance.group_size).sum())
                names.append(f"{counted(counts[offer.index], 'VM')} of {offer} over {limits[offer.index]} s")
        if starts > MAX_CREDIT_STARTS:
            raise ModelRefusal(
                f"the interval model plans CPU credits second by second, and would need {starts:,} starts "
                f"({', '.join(names)}; {counted(self.instance.n_tasks, 'task')}); its limit is {MAX_CREDIT_STARTS:,}. "
                "A good plan to start from shortens the time; or leave the burstable types out, or give them neither "
                "credits_per_hour nor initial_credits, so that they run at the baseline only"
            )

    def twins(self) -> list[tuple[int, int]]:
        """Pairs of offers, the cheaper one first, that differ in price only."""
        durations = self.instance.duration_s
        return [
            (cheap.index, dear.index)
            for cheap in self.instance.offers
            for dear in self.instance.offers
            if cheap.type_index == dear.type_index
            and (cheap.price_usd_per_hour, cheap.index) < (dear.price_usd_per_hour, dear.index)
            and self.limits_s[cheap.index] == self.limits_s[dear.index]
            and (durations[:, cheap.index] == durations[:, dear.index]).all()
            and (self.usable[:, cheap.index] >= self.usable[:, dear.index]).all()
        ]


class CreditAccount:
    """The credits of a burstable VM, second by second, added to a model as `spotbag.check` counts them (own).

    Parameters
    ----------
    model : CpModel
        Receives variables and constraints.
    index, vm, places : int, Vm, list of Place
        The VM, its index, and what can run there.
    task_starts : list of IntVar
        Start of each task.
    """

    def __init__(
        self, model: cp_model.CpModel, index: int, vm: Vm, places: list[Place], task_starts: list[cp_model.IntVar]
    ) -> None:
        self._model, self._index, self._vm, self._places = model, index, vm, places
        self._rules = solver_credit_rules(vm.offer, vm.limit_s)
        # Starts of each task and mode, tasks running in each mode, balance, and whether it is used up: by second.
        self._starts: dict[tuple[int, int], list[cp_model.IntVar]] = {}
        self._running: dict[int, list[cp_model.IntVar]] = {}
        self._balance: list[cp_model.IntVar] = []
        self._dry: list[cp_model.IntVar] = []
        self._add_starts(task_starts)
        self._add_running()
        self._add_balance()
        self._limit_total()

    def _add_starts(self, task_starts: list[cp_model.IntVar]) -> None:
        """A literal for each second at which a task can start in a mode."""
        for place in self._places:
            checkpoint()
            moments = range(self._vm.limit_s - place.seconds + 1)
            literals = [self._model.new_bool_var(f"start_{place.task}_{self._index}_{place.mode}_{t}") for t in moments]
            self._starts[place.task, place.mode] = literals
            self._model.add(sum(literals) == place.present)
            when = sum(t * literal for t, literal in enumerate(literals))
            self._model.add(task_starts[place.task] == when).only_enforce_if(place.present)

    def _add_running(self) -> None:
        """Tasks that run in each mode at each second: those before, those that start, less those that end."""
        limit_s, vcpus = self._vm.limit_s, self._vm.offer.vcpus
        begun: dict[int, list[list[cp_model.IntVar]]] = {m: [[] for _ in range(limit_s)] for m in (0, 1)}
        ended: dict[int, list[list[cp_model.IntVar]]] = {m: [[] for _ in range(limit_s)] for m in (0, 1)}
        for place in self._places:
            checkpoint()
            for t, literal in enumerate(self._starts[place.task, place.mode]):
                begun[place.mode][t].append(literal)
                if t + place.seconds < limit_s:
                    ended[place.mode][t + place.seconds].append(literal)
        for mode in (FULL_SPEED, BASELINE):
            self._running[mode] = [
                self._model.new_int_var(0, vcpus, f"running_{self._index}_{mode}_{t}") for t in range(limit_s)
            ]
            before: cp_model.IntVar | int = 0
            for t, running in enumerate(self._running[mode]):
                self._model.add(running == before + sum(begun[mode][t]) - sum(ended[mode][t]))
                before = running

    def _add_balance(self) -> None:
        """The balance of each second: earned, less what the running tasks spend; what is over the cap is lost."""
        model, rules, limit_s = self._model, self._rules, self._vm.limit_s
        self._balance = [
            model.new_int_var(0, rules.most if t else rules.initial, f"balance_{self._index}_{t}")
            for t in range(limit_s + 1)
        ]
        for t in range(limit_s):
            full, slow = self._running[FULL_SPEED][t], self._running[BASELINE][t]
            left = self._balance[t] + rules.earned - rules.full * full - rules.baseline * slow
            if self._vm.offer.vcpus * rules.baseline > rules.earned:
                # Tasks at the baseline may spend what is not there; then no task is at full speed.
                dry = model.new_bool_var(f"dry_{self._index}_{t}")
                self._dry.append(dry)
                model.add(full == 0).only_enforce_if(dry)
                model.add(self._balance[t + 1] == 0).only_enforce_if(dry)
                model.add(self._balance[t + 1] <= left).only_enforce_if(~dry)
            else:
                model.add(self._balance[t + 1] <= left)

    def _limit_total(self) -> None:
        """The same over the whole time, for the linear relaxation."""
        rules = self._rules
        at_full_speed = [place for place in self._places if place.mode == FULL_SPEED]
        spent = place_sum(at_full_speed, lambda place: place.seconds)
        self._model.add(rules.full * spent <= rules.initial + rules.earned * self._vm.paid_s)

    def add_hint(self, here: list[tuple[Place, int]]) -> None:
        """Hint at the starts by second, the tasks running and the balance, for places and their starts."""
        begins = {(place.task, place.mode): begin for place, begin in here}
        for key, literals in self._starts.items():
            for t, literal in enumerate(literals):
                self._model.add_hint(literal, begins.get(key) == t)
        rules = self._rules
        balance = rules.initial
        self._model.add_hint(self._balance[0], balance)
        for t in range(self._vm.limit_s):
            running = [0, 0]
            for place, begin in here:
                running[place.mode] += begin <= t < begin + place.seconds
            for mode in (FULL_SPEED, BASELINE):
                self._model.add_hint(self._running[mode][t], running[mode])
            balance += rules.earned - rules.full * running[FULL_SPEED] - rules.baseline * running[BASELINE]
            if self._dry:
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
