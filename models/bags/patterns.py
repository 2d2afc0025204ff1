"""The pattern model: exact for few classes of identical tasks, without VM, core or task indices.

For offers j with n_j VMs of c_j cores, price p_j a second; patterns p with load l_p and counts a_gp; L_j1 < L_j2 < ...
the distinct loads of offer j; time counted from the moment the VMs are ready. Columns

    w_jp    cores of offer j that run pattern p
    c_js    cores of offer j with a load of at least L_js
    n_js    VMs of offer j that end at L_js or later
    tau_l   1 if the makespan is l or later

    min wc sum_j p_j sum_s (L_js - L_j,s-1) n_js + wt sum_l (l - previous l) tau_l

That cores of at least a load sit on VMs of at least that end suffices for a plan: `vms_by_end`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.errors import ModelRefusal
from ...core.quantities import IntArray
from ...instances.entries import FULL_SPEED, RentalOffer
from ...instances.instance import Instance
from ...schedules.schedule import Schedule
from ...schedules.timing import objective_weights
from ..integer_program import IntegerProgram
from .core_patterns import MOST_PATTERNS, OfferPatterns, enumerate_patterns, require_free_memory, schedule_of_cores
from .makespan_bounds import MakespanWindow
from .task_classes import MOST_CLASSES, TaskClasses, effective_cores, least_work_s, task_classes, usable_offers
from .vms_by_end import VmsByEnd, add_makespan

_WORK_UNITS = 10_000
_NAME = "the pattern model"


@dataclass(slots=True)
class _OfferColumns:
    """Columns of one offer: cores by pattern, VMs by load."""

    patterns: OfferPatterns
    cores_of_pattern: list[int]
    rented: VmsByEnd


@dataclass(slots=True)
class _RelaxedOffer:
    """A burstable offer by what it can do at most: tasks of each class, seconds of all VMs."""

    offer: RentalOffer
    tasks: dict[int, int]
    seconds: int


def require_few_classes(instance: Instance) -> TaskClasses:
    """Return the classes of identical tasks of a bag that the model takes, as far as that shows without a window.

    Raises
    ------
    ModelRefusal
        If memory can bind, or there are too many classes.
    """
    require_free_memory(instance, usable_offers(instance), _NAME)
    classes = task_classes(instance)
    if len(classes) > MOST_CLASSES:
        raise ModelRefusal(
            f"{_NAME} takes up to {MOST_CLASSES} classes of identical tasks, and there are {len(classes)}; "
            f"'columns' takes up to 250, 'search' any number"
        )
    return classes


class PatternModel:
    """The model of an instance.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    window : MakespanWindow
        Makespans to look at, from ready; the model is exact within.
    burstable : {"relaxed", "baseline"}
        Burstable offers as a relaxation, which makes the optimum a bound of the instance as given, and exact if no
        burstable VM is in it; or as VMs that run all tasks in baseline mode.

    Attributes
    ----------
    program : IntegerProgram
        The programme to be solved.

    Raises
    ------
    ModelRefusal
        If memory can bind, or there are too many patterns.
    """

    def __init__(self, instance: Instance, window: MakespanWindow, burstable: str = "relaxed") -> None:
        self.instance = instance
        self.window = window
        self.classes = require_few_classes(instance)
        modelled = [offer for offer in usable_offers(instance) if not (offer.burstable and burstable == "relaxed")]
        patterns = self._patterns(modelled)
        self.program = IntegerProgram()
        self._cost_weight, self._time_weight = objective_weights(instance)
        self._relaxed: list[_RelaxedOffer] = []
        self._columns: list[_OfferColumns] = []
        for offer in usable_offers(instance):
            if offer.index in patterns:
                self._columns.append(self._add_cores_and_vms(patterns[offer.index]))
            else:
                self._relaxed.append(self._add_relaxed_offer(offer))
        self.program.constant = self._time_weight * (window.earliest_s + instance.boot_overhead_s)
        ends_s = [columns.patterns.load_s for columns in self._columns]
        self._steps = add_makespan(
            self.program, self._time_weight, window.earliest_s, np.concatenate([np.zeros(0, np.int64), *ends_s])
        )
        self._add_all_tasks_run()
        for columns in self._columns:
            columns.rented.add_rows(np.array(columns.cores_of_pattern), columns.patterns.load_s, self._steps)
        for relaxed in self._relaxed:
            self._add_relaxed_work(relaxed)
        self._add_group_limits()

    # ---------------------------------------------------------------- columns

    def _patterns(self, offers: list[RentalOffer]) -> dict[int, OfferPatterns]:
        """Patterns of each offer, by its index."""
        result: dict[int, OfferPatterns] = {}
        total = 0
        for offer in offers:
            limit = self.instance.time_limit_s(offer.market) - self.instance.boot_overhead_s
            seconds = self.instance.sustained_s[self.classes.group, offer.index]
            latest_s = self.instance.latest_end_s[self.classes.group, offer.index] - self.instance.boot_overhead_s
            most = np.minimum(latest_s, min(limit, self.window.latest_s))
            mine = enumerate_patterns(seconds, self.classes.size, most, offer, _NAME)
            total += len(mine.load_s)
            if total > MOST_PATTERNS:
                raise ModelRefusal(
                    f"{_NAME} would need more than {MOST_PATTERNS:,} patterns of {len(self.classes)} classes of "
                    f"identical tasks on {len(offers):,} offers; 'columns' makes the useful ones only"
                )
            result[offer.index] = mine
        return result

    def _add_cores_and_vms(self, patterns: OfferPatterns) -> _OfferColumns:
        """Columns w, c and n of an offer."""
        offer = patterns.offer
        vms = min(offer.limit, self.instance.n_tasks)
        cores = []
        for counts in patterns.counts:
            most = min(vms * offer.vcpus, int((-(-self.classes.size[counts > 0] // counts[counts > 0])).max()))
            cores.append(self.program.add_column(upper=most))

        def cost(end_s: int, previous_s: int) -> float:
            return self._cost_weight * float(self.instance.rents.cost_usd(offer.index, end_s, previous_s))

        rented = VmsByEnd(self.program, np.unique(patterns.load_s), vms, offer.vcpus, cost)
        return _OfferColumns(patterns, cores, rented)

    def _add_relaxed_offer(self, offer: RentalOffer) -> _RelaxedOffer:
        """Columns of a burstable offer: tasks of each class, and seconds of all its VMs together."""
        durations = self.instance.duration_s[self.classes.group, offer.index, FULL_SPEED]
        limit = min(self.instance.time_limit_s(offer.market) - self.instance.boot_overhead_s, self.window.latest_s)
        tasks = {
            index: self.program.add_column(upper=int(self.classes.size[index]))
            for index in np.flatnonzero(durations <= limit).tolist()
        }
        vms = min(offer.limit, self.instance.n_tasks)
        price = self._cost_weight * offer.price_usd_per_s
        return _RelaxedOffer(offer, tasks, self.program.add_column(price, upper=vms * limit))

    # ------------------------------------------------------------ constraints

    def _add_all_tasks_run(self) -> None:
        """Each class is run as often as it has tasks; what is run too often is dropped when reading back."""
        for index, size in enumerate(self.classes.size.tolist()):
            members: list[int] = []
            times: list[int] = []
            for columns in self._columns:
                counts = columns.patterns.counts[:, index]
                for position in np.flatnonzero(counts).tolist():
                    members.append(columns.cores_of_pattern[position])
                    times.append(int(counts[position]))
            for relaxed in self._relaxed:
                if index in relaxed.tasks:
                    members.append(relaxed.tasks[index])
                    times.append(1)
            self.program.add_row(members, times, lower=size)

    def _add_relaxed_work(self, relaxed: _RelaxedOffer) -> None:
        """Seconds of the VMs hold the work, and end with the makespan."""
        offer = relaxed.offer
        work = least_work_s(self.instance, offer)[self.classes.group]
        members, units = list(relaxed.tasks.values()), [int(work[index] * _WORK_UNITS) for index in relaxed.tasks]
        each_second = int(np.ceil(effective_cores(offer) * _WORK_UNITS))
        self.program.add_row([*members, relaxed.seconds], [*units, -each_second], upper=0)
        # No VM runs longer than the makespan, which is known as far as the moments tell: it is before the next of them.
        vms = min(offer.limit, self.instance.n_tasks)
        before_next = [*(moment - 1 for moment in self._steps), self.window.latest_s]
        steps = np.diff(before_next).tolist()
        self.program.add_row(
            [relaxed.seconds, *self._steps.values()], [1, *(-vms * step for step in steps)], upper=vms * before_next[0]
        )

    def _add_group_limits(self) -> None:
        """Greatest weight of the VMs of several offers together."""
        for group in self.instance.group_limits:
            weights = {
                columns.rented.vms[0]: int(weight)
                for columns in self._columns
                if (weight := group.weights[columns.patterns.offer.index]) and columns.rented.vms
            }
            if weights:
                self.program.add_row([*weights], [*weights.values()], upper=group.most)

    # -------------------------------------------------------------- read back

    def uses_relaxed_offers(self, values: IntArray) -> bool:
        """True if a solution runs anything on VMs that are there as a relaxation only."""
        return any(values[column] for relaxed in self._relaxed for column in relaxed.tasks.values())

    def schedule(self, values: IntArray) -> Schedule:
        """Make the plan of a solution that uses no relaxed offer."""
        cores = [
            (columns.patterns.offer, columns.patterns.counts[position], int(columns.patterns.load_s[position]))
            for columns in self._columns
            for position, column in enumerate(columns.cores_of_pattern)
            for _ in range(int(values[column]))
        ]
        return schedule_of_cores(self.instance, self.classes, cores)
