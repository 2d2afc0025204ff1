"""The pattern model: exact for few classes of identical tasks, without VM, core or task indices.

For offers j with n_j VMs of c_j cores, price p_j a second; patterns p with load l_p and counts a_gp; L_j1 < L_j2 < ...
the distinct loads of offer j; time counted from the moment the VMs are ready. Columns

    w_jp    cores of offer j that run pattern p
    c_js    cores of offer j with a load of at least L_js
    n_js    VMs of offer j that end at L_js or later
    tau_l   1 if the makespan is l or later

    min wc sum_j p_j sum_s (L_js - L_j,s-1) n_js + wt sum_l (l - previous l) tau_l

Cores of at least a load sit on VMs of at least that end, hence ``c_js <= c_j n_js`` for every s: Hall's condition for
nested sets. It also suffices: sort the cores by load and give the k-th to VM ceil(k / c_j) in order of the ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

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

_WORK_UNITS = 10_000
_NAME = "the pattern model"


@dataclass(slots=True)
class _OfferColumns:
    """Columns of one offer: cores by pattern, VMs by load."""

    patterns: OfferPatterns
    levels_s: IntArray
    cores_of_pattern: list[int] = field(default_factory=list)
    cores_from_level: list[int] = field(default_factory=list)
    vms_from_level: list[int] = field(default_factory=list)


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
        self._moments, self._reached = self._add_makespan()
        self._add_all_tasks_run()
        for columns in self._columns:
            self._add_cores_are_counted(columns)
            self._add_cores_sit_on_vms(columns)
            self._add_ends_are_nested(columns)
            self._add_makespan_is_last_end(columns)
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
        columns = _OfferColumns(patterns, np.unique(patterns.load_s))
        for counts in patterns.counts:
            # With so many cores of a pattern, each of its classes is run to the last task: more of them are of no use.
            most = min(vms * offer.vcpus, int((-(-self.classes.size[counts > 0] // counts[counts > 0])).max()))
            columns.cores_of_pattern.append(self.program.add_column(upper=most))
        previous, rents = 0, self.instance.rents
        for level in columns.levels_s.tolist():
            columns.cores_from_level.append(self.program.add_column(upper=vms * offer.vcpus))
            # A VM pays for each level that it reaches: together that is its bill, with what it costs to open it in the
            # first.
            price = self._cost_weight * rents.cost_usd(offer.index, level, previous)
            columns.vms_from_level.append(self.program.add_column(price, upper=vms))
            previous = level
        return columns

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

    def _add_makespan(self) -> tuple[list[int], list[int]]:
        """Columns tau; the first moment of the window is paid in any case."""
        first, last = self.window.earliest_s, self.window.latest_s
        levels = {level for columns in self._columns for level in columns.levels_s.tolist() if first < level <= last}
        moments = sorted(levels)
        self.program.constant = self._time_weight * (first + self.instance.boot_overhead_s)
        reached = []
        for moment, previous in zip(moments, [first, *moments], strict=False):
            reached.append(self.program.add_column(self._time_weight * (moment - previous)))
        for earlier, later in pairwise(reached):
            self.program.add_row([earlier, later], [1, -1], lower=0)
        return moments, reached

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

    def _add_cores_are_counted(self, columns: _OfferColumns) -> None:
        """c_js >= c_j,s+1 + cores whose pattern has load L_js; more of them would cost nothing, and help nobody."""
        level_of = np.searchsorted(columns.levels_s, columns.patterns.load_s)
        by_level: list[list[int]] = [[] for _ in columns.levels_s]
        for position, level in enumerate(level_of.tolist()):
            by_level[level].append(columns.cores_of_pattern[position])
        counted = columns.cores_from_level
        for level, mine in enumerate(by_level):
            after = counted[level + 1 : level + 2]
            members = [counted[level], *after, *mine]
            self.program.add_row(members, [1] + [-1] * (len(members) - 1), lower=0)

    def _add_cores_sit_on_vms(self, columns: _OfferColumns) -> None:
        """c_js <= c_j n_js: Hall's condition."""
        vcpus = columns.patterns.offer.vcpus
        for cores, vms in zip(columns.cores_from_level, columns.vms_from_level, strict=True):
            self.program.add_row([cores, vms], [1, -vcpus], upper=0)

    def _add_ends_are_nested(self, columns: _OfferColumns) -> None:
        """n_js >= n_j,s+1."""
        vms = columns.vms_from_level
        for earlier, later in pairwise(vms):
            self.program.add_row([earlier, later], [1, -1], lower=0)

    def _add_makespan_is_last_end(self, columns: _OfferColumns) -> None:
        """n_js <= n_j tau at L_js."""
        place = dict(zip(self._moments, self._reached, strict=True))
        vms = min(columns.patterns.offer.limit, self.instance.n_tasks)
        for level, column in zip(columns.levels_s.tolist(), columns.vms_from_level, strict=True):
            if level in place:
                self.program.add_row([column, place[level]], [1, -vms], upper=0)

    def _add_relaxed_work(self, relaxed: _RelaxedOffer) -> None:
        """Seconds of the VMs hold the work, and end with the makespan."""
        offer = relaxed.offer
        # Whole numbers, and still a relaxation: work is rounded down, and what cores do in a second up.
        work = least_work_s(self.instance, offer)[self.classes.group]
        members, units = list(relaxed.tasks.values()), [int(work[index] * _WORK_UNITS) for index in relaxed.tasks]
        each_second = int(np.ceil(effective_cores(offer) * _WORK_UNITS))
        self.program.add_row([*members, relaxed.seconds], [*units, -each_second], upper=0)
        # No VM runs longer than the makespan, which is known as far as the moments tell: it is before the next of them.
        vms = min(offer.limit, self.instance.n_tasks)
        before_next = [*(moment - 1 for moment in self._moments), self.window.latest_s]
        steps = np.diff(before_next).tolist()
        self.program.add_row(
            [relaxed.seconds, *self._reached], [1, *(-vms * step for step in steps)], upper=vms * before_next[0]
        )

    def _add_group_limits(self) -> None:
        """Greatest weight of the VMs of several offers together."""
        for group in self.instance.group_limits:
            weights = {
                columns.vms_from_level[0]: int(weight)
                for columns in self._columns
                if (weight := group.weights[columns.patterns.offer.index]) and columns.vms_from_level
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

    def start(self, schedule: Schedule) -> IntArray | None:
        """Return the values of a plan; None if it does not fit the window or uses a relaxed offer."""
        instance = self.instance
        values = np.zeros(self.program.n_columns, dtype=np.int64)
        class_of_task = np.empty(instance.n_tasks, dtype=np.int64)
        for index, mine in enumerate(self.classes.tasks):
            class_of_task[mine] = index
        by_offer = {columns.patterns.offer.index: columns for columns in self._columns}
        found = {
            key: {tuple(row): position for position, row in enumerate(columns.patterns.counts.tolist())}
            for key, columns in by_offer.items()
        }
        cores: dict[tuple[int, int], IntArray] = {}
        places = zip(schedule.task_vm.tolist(), schedule.task_core.tolist(), class_of_task.tolist(), strict=True)
        for vm, core, index in places:
            counts = cores.setdefault((vm, core), np.zeros(len(self.classes), dtype=np.int64))
            counts[index] += 1
        for (vm, _), counts in cores.items():
            offer = int(schedule.vm_offer[vm])
            position = found.get(offer, {}).get(tuple(counts.tolist()))
            if position is None:
                return None
            values[by_offer[offer].cores_of_pattern[position]] += 1
        last = 0
        for columns in self._columns:
            level_of = np.searchsorted(columns.levels_s, columns.patterns.load_s)
            each = np.bincount(
                level_of, weights=values[columns.cores_of_pattern], minlength=len(columns.levels_s)
            ).astype(np.int64)
            counted = each[::-1].cumsum()[::-1]
            values[columns.cores_from_level] = counted
            values[columns.vms_from_level] = -(-counted // columns.patterns.offer.vcpus)
            if counted.any():
                last = max(last, int(columns.levels_s[counted > 0][-1]))
        for moment, column in zip(self._moments, self._reached, strict=True):
            values[column] = int(moment <= last)
        # A plan that ends outside of the window breaks a row: then HiGHS has no start rather than one to be repaired.
        return values if self.program.satisfied_by(values) else None
