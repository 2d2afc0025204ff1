"""How long tasks run, also those that go on from a checkpoint, and what a hibernated one has saved."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from ...instances.durations import BASELINE, FULL_SPEED, NEVER
from ...instances.instance import Instance

_NOISE_S = 1e-9
_MOST_REST_NEEDS = 50_000
"""Tasks are mostly interrupted after the same few checkpoints, on one day as on the next."""


class Need(NamedTuple):
    """What a task asks of a VM: how long it occupies a core, how long it runs from its beginning, memory."""

    duration_s: int
    runtime_s: int
    memory_kb: int

    def at_least(self, other: Need) -> bool:
        """Whether it asks for as much as another in every respect."""
        return (
            self.duration_s >= other.duration_s
            and self.runtime_s >= other.runtime_s
            and self.memory_kb >= other.memory_kb
        )


class WorkTable:
    """Durations of an instance as plain lists: made once, read in every replay.

    A task has a fraction of its work *saved* by checkpoints, 0 at first. What is left is that much less work wherever
    it goes on: a VM type that is faster for the whole task is as much faster for the rest.
    """

    __slots__ = (
        "_baseline",
        "_checkpoints",
        "_checkpoints_of",
        "_dump_s",
        "_duration_s",
        "_interval_s",
        "_is_spot",
        "_least",
        "_needs",
        "_rest_needs",
        "_runtime_s",
        "_runtimes_s",
        "_type_of",
        "group_of",
        "memory_kb",
        "on_demand_offers",
        "sustained",
    )

    def __init__(self, instance: Instance) -> None:
        self.group_of: list[int] = instance.task_group.tolist()
        """Group of each task."""
        self.memory_kb: list[int] = instance.memory_kb.tolist()
        """Memory need of each group."""
        self._runtime_s: list[list[int]] = instance.runtime_s.tolist()
        self._duration_s: list[list[list[int]]] = instance.duration_s.tolist()
        self._checkpoints = instance.checkpoint is not None
        self._checkpoints_of: list[list[float]] = instance.checkpoint_count.tolist()
        self._interval_s: list[float] = instance.checkpoint_interval_s.tolist()
        self._dump_s: list[float] = instance.dump_s.tolist()
        self._type_of = [offer.type_index for offer in instance.offers]
        self._is_spot = [offer.market == "spot" for offer in instance.offers]
        self._least: dict[tuple[int, int], Need | None] = {}
        self._needs: dict[tuple[int, int], list[Need | None]] = {}
        self._rest_needs: dict[tuple[int, int, int, float], Need] = {}
        self._runtimes_s: list[list[int] | None] = [None] * len(instance.offers)
        regular = (offer for offer in instance.offers if offer.market == "on-demand" and not offer.burstable)
        self.on_demand_offers = sorted(regular, key=lambda offer: (offer.price_usd_per_hour, offer.index))
        """Offers of regular on-demand VMs, cheapest first."""
        self.sustained = [sustained_mode(offer.burstable) for offer in instance.offers]
        """Mode in which VMs of each offer run whatever their credits."""
        bursts = [offer.vm_type.burstable for offer in instance.offers]
        self._baseline = [burst.baseline_fraction if burst is not None else 1.0 for burst in bursts]

    def runtime_s(self, task: int, offer: int) -> int:
        """Run time of the whole task on an offer at full speed without checkpoints; `NEVER` if it cannot run there."""
        return self._runtime_s[self.group_of[task]][self._type_of[offer]]

    def runtimes_s(self, offer: int) -> list[int]:
        """Run times of all tasks on an offer; see `runtime_s`."""
        runtimes_s = self._runtimes_s[offer]
        if runtimes_s is None:
            column = self._type_of[offer]
            of_group = [row[column] for row in self._runtime_s]
            runtimes_s = self._runtimes_s[offer] = [of_group[group] for group in self.group_of]
        return runtimes_s

    def need(self, task: int, offer: int, mode: int, saved: float = 0.0) -> Need | None:
        """What a task asks of a VM of an offer; None if it cannot run there. See `duration_s`."""
        needs = self._needs.get((offer, mode))
        if needs is None:
            needs = self._needs[offer, mode] = self._whole_needs(offer, mode)
        need = needs[self.group_of[task]]
        if saved == 0.0 or need is None:
            return need
        key = offer, mode, self.group_of[task], saved
        rest = self._rest_needs.get(key)
        if rest is None:
            rest = Need(self.duration_s(task, offer, mode, saved), need.runtime_s, need.memory_kb)
            if len(self._rest_needs) >= _MOST_REST_NEEDS:
                self._rest_needs.clear()
            self._rest_needs[key] = rest
        return rest

    def _whole_needs(self, offer: int, mode: int) -> list[Need | None]:
        """Of each group, what a whole task asks."""
        column = self._type_of[offer]
        return [
            None if row[offer][mode] >= NEVER else Need(row[offer][mode], self._runtime_s[group][column], memory_kb)
            for group, (row, memory_kb) in enumerate(zip(self._duration_s, self.memory_kb, strict=True))
        ]

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
        group = self.group_of[task]
        whole_task = self._duration_s[group][offer][mode]
        if saved == 0.0 or whole_task >= NEVER:
            return whole_task
        work = self._runtime_s[group][self._type_of[offer]] * (1.0 - saved)
        seconds = work + self._count(group, offer, work) * self._dump_s[group]
        return math.ceil(seconds / (self._baseline[offer] if mode == BASELINE else 1.0) - _NOISE_S)

    def least(self, offer: int, mode: int) -> Need | None:
        """Return the least of what whole tasks ask of a VM of an offer, in each respect; None if none can run there."""
        if (offer, mode) not in self._least:
            self._least[offer, mode] = least_of(self._whole_needs(offer, mode))
        return self._least[offer, mode]

    def checkpoints(self, task: int, offer: int, saved: float = 0.0) -> int:
        """Checkpoints that a task takes on an offer if it runs to its end."""
        group = self.group_of[task]
        if not (self._checkpoints and self._is_spot[offer]):
            return 0
        if saved == 0.0:
            return int(self._checkpoints_of[group][self._type_of[offer]])
        return self._count(group, offer, self._runtime_s[group][self._type_of[offer]] * (1.0 - saved))

    def saved_until(self, task: int, offer: int, mode: int, saved: float, elapsed_s: int) -> tuple[float, int]:
        """Seconds of work that regular checkpoints save when a task has run for so long; how many they are."""
        count = self.checkpoints(task, offer, saved)
        if count == 0:
            return 0.0, 0
        group = self.group_of[task]
        speed = self._baseline[offer] if mode == BASELINE else 1.0
        done = min(count, math.floor((elapsed_s * speed + _NOISE_S) / (self._interval_s[group] + self._dump_s[group])))
        return done * self._interval_s[group], done

    def last_checkpoint(
        self, task: int, offer: int, mode: int, saved: float, elapsed_s: int, notice_s: int
    ) -> tuple[float, int]:
        """What a task saves that knows when it is interrupted, and writes a checkpoint just before.

        Parameters
        ----------
        task, offer, mode, saved
            As for `duration_s`.
        elapsed_s : int
            How long it has been running when it is interrupted.
        notice_s : int
            For how long it has known that.

        Returns
        -------
        tuple of float and int
            Seconds of its work on the offer, in whole seconds since the last regular checkpoint, and the checkpoints
            written, regular ones included. None of either if the notice does not suffice, or the bag takes none.
        """
        dump_s = self._dump_s[self.group_of[task]]
        speed = self.speed(offer, mode)
        if not self._checkpoints or notice_s * speed + _NOISE_S < dump_s:
            return 0.0, 0
        return self.saved_by_one_more(task, offer, saved, elapsed_s * speed - dump_s)

    def saved_by_one_more(self, task: int, offer: int, saved: float, worked_s: float) -> tuple[float, int]:
        """Seconds of work saved, and checkpoints written, if a task writes one after so much work and checkpoints.

        One that is being written then is the last: it saves what it would have saved.
        """
        group = self.group_of[task]
        interval_s, dump_s = self._interval_s[group], self._dump_s[group]
        regular = self.checkpoints(task, offer, saved)
        count = min(regular, math.floor((worked_s + _NOISE_S) / (interval_s + dump_s))) if regular else 0
        since_s = worked_s - count * (interval_s + dump_s)
        if count < regular and since_s > interval_s + _NOISE_S:
            return (count + 1) * interval_s, count + 1
        whole_s = count * interval_s
        seconds = max(float(math.floor(whole_s + since_s + _NOISE_S)), whole_s)
        return seconds, count + (seconds > whole_s + _NOISE_S)

    def dump_s(self, task: int, offer: int, mode: int) -> int:
        """How long a task writes a checkpoint on an offer, in whole seconds, rounded up."""
        return math.ceil(self._dump_s[self.group_of[task]] / self.speed(offer, mode) - _NOISE_S)

    def speed(self, offer: int, mode: int) -> float:
        """How fast a core of an offer is in a mode, against its full speed."""
        return self._baseline[offer] if mode == BASELINE else 1.0

    @property
    def takes_checkpoints(self) -> bool:
        """Whether the bag has a rule of checkpoints."""
        return self._checkpoints

    def _count(self, group: int, offer: int, work_s: float) -> int:
        """Checkpoints of so much work: one after every interval, none at or after the end (HADS eq. 1 and 2)."""
        if not (self._checkpoints and self._is_spot[offer]):
            return 0
        return max(math.ceil((work_s - _NOISE_S) / self._interval_s[group]) - 1, 0)


def least_of(needs: Iterable[Need | None]) -> Need | None:
    """Return the least of several needs in each respect, those of tasks that cannot run (None) left out."""
    known = [need for need in needs if need is not None]
    return Need(*map(min, zip(*known, strict=True))) if known else None


def sustained_mode(burstable: bool) -> int:
    """Mode in which a VM runs whatever its credits."""
    return BASELINE if burstable else FULL_SPEED
