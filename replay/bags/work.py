"""How long the tasks of an instance run: made once, read in every replay."""

from __future__ import annotations

import math

from ...core.quantities import SECONDS_PER_HOUR
from ...core.rows import rows_of
from ...instances.entries import NEVER
from ...instances.instance import Instance
from .rows import NONE, DurationRow, GroupRow, OfferRow, Rows
from .rules import dump_of, duration_of
from .tables import duration_table, group_table, limit_tables, offer_table, sustained_mode


class WorkTable:
    """Durations of an instance.

    Attributes
    ----------
    offers, groups, durations, limits, members : array
        Rows of these kinds; see `rows`.
    group_of : list of int
        Group of each task.
    on_demand_offers : list of RentalOffer
        Offers of regular on-demand VMs, cheapest first.
    sustained : list of int
        Mode in which VMs of each offer run whatever their credits.
    takes_checkpoints : bool
        Whether the bag has a rule of checkpoints.
    """

    def __init__(self, instance: Instance) -> None:
        self.offers, self.groups = offer_table(instance), group_table(instance)
        self.limits, self.members = limit_tables(instance, self.offers)
        self.durations = duration_table(instance)
        self.group_of: list[int] = instance.task_group.tolist()
        regular = (offer for offer in instance.offers if offer.market == "on-demand" and not offer.burstable)
        self.on_demand_offers = sorted(regular, key=lambda offer: (offer.price_usd_per_hour, offer.index))
        self.sustained = [sustained_mode(offer) for offer in instance.offers]
        self.takes_checkpoints = instance.checkpoint is not None
        self.rows = Rows(
            offers=rows_of(OfferRow, self.offers),
            groups=rows_of(GroupRow, self.groups),
            durations=[rows_of(DurationRow, row) for row in self.durations],
            takes_checkpoints=int(self.takes_checkpoints),
        )
        self._runtimes_s: dict[int, list[int]] = {}

    def runtime_s(self, task: int, offer: int) -> int:
        """Run time of the whole task on an offer at full speed without checkpoints; `NEVER` if it cannot run there."""
        return self.rows.durations[self.group_of[task]][offer].runtime_s

    def runtimes_s(self, offer: int) -> list[int]:
        """Run times of all tasks on an offer; see `runtime_s`."""
        if offer not in self._runtimes_s:
            self._runtimes_s[offer] = [self.rows.durations[group][offer].runtime_s for group in self.group_of]
        return self._runtimes_s[offer]

    def duration_s(self, task: int, offer: int, mode: int, saved: float = 0.0) -> int:
        """How long a task occupies a core of an offer from where it is saved; `NEVER` if it cannot run there.

        Parameters
        ----------
        task, offer : int
            Indices in the instance.
        mode : int
            `FULL_SPEED`, or `BASELINE` on burstable VMs.
        saved : float
            Fraction of the task that is saved.
        """
        return duration_of(self.rows, self.group_of[task], offer, mode, saved)

    def usd_per_s(self, offer: int) -> float:
        """Price of a second of work of the bag on VMs of an offer at the best; infinite if no task can run there.

        Its tasks share their cores, and their memory.
        """
        row, work_s, kb_s = self.rows.offers[offer], 0, 0
        for group, time_s in zip(self.group_of, self.runtimes_s(offer), strict=True):
            if time_s < NEVER:
                work_s += time_s
                kb_s += time_s * self.rows.groups[group].memory_kb
        if not work_s:
            return math.inf
        part = 1 / row.vcpus if row.memory_kb == NONE else max(1 / row.vcpus, kb_s / work_s / row.memory_kb)
        return row.usd_per_hour / SECONDS_PER_HOUR * part

    def usd_of_all(self, offer: int) -> float:
        """Price of the average task on an offer, of those that can run there; infinite if none can."""
        times_s = [time_s for time_s in self.runtimes_s(offer) if time_s < NEVER]
        return self.usd_per_s(offer) * sum(times_s) / len(times_s) if times_s else math.inf

    def can_run(self, task: int, offer: int, mode: int) -> bool:
        """True if a task can run on VMs of an offer."""
        return self.duration_s(task, offer, mode) < NEVER

    def dump_s(self, task: int, offer: int, mode: int) -> int:
        """How long a task writes a checkpoint on an offer, in whole seconds, rounded up."""
        return dump_of(self.rows, self.group_of[task], offer, mode)
