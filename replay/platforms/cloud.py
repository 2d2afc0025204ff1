"""Local scheduler of a cloud: Algorithm 3 (CCA) of Caron & de Assuncao."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...core.bill import billed_s, blocks_of, cost_usd
from ...instances.platforms.entries import MAX_MACHINES_PER_JOB, SLOT_S, VM_HOUR_S, Cloud
from ..engines import NONE
from .candidate import Candidate, PlatformJob, is_good, over_budget
from .local_scheduler import LocalScheduler, PlatformRules


@dataclass(slots=True, eq=False)
class Machine:
    """A machine of a cloud.

    Attributes
    ----------
    index, name : int and str
        Which machine it is; the index is that in `PlatformState.machines`.
    resource : int
        The cloud.
    launched_s, paid_until_s : int
        When it was rented; the end of the last hour that is paid.
    terminated_s : int
        When it was given back; `NONE` before.
    epoch : int
        How often it has been used: the end of an hour counts only if it has not been used since.
    """

    index: int
    name: str
    resource: int
    launched_s: int
    paid_until_s: int
    terminated_s: int = NONE
    epoch: int = 0

    @property
    def hours(self) -> int:
        """Number of hours that are paid."""
        return (self.paid_until_s - self.launched_s) // VM_HOUR_S


class CloudScheduler(LocalScheduler):
    """Rented machines, kept to the end of the hour that is paid, for other jobs.

    Parameters
    ----------
    index : int
        Index of the resource.
    cloud : Cloud
        The resource.
    rules : PlatformRules
        What its candidates say of ends and costs.
    """

    def __init__(self, index: int, cloud: Cloud, rules: PlatformRules) -> None:
        self.index = index
        self.id = cloud.id
        self.bill = cloud.bill
        self._processors = cloud.processors_per_vm
        self._exact = rules.estimates == "exact"
        self._idle: list[Machine] = []  # by what is left of the paid time, most first

    # ------------------------------------------------------------------ offers

    def candidates(self, job: PlatformJob, now_s: int) -> Sequence[Candidate]:
        """Offer to end a job at its deadline; if that exceeds the budget, also to end as early as the budget allows.

        The price of line 4 subtracts time from money. What is meant is that of the hours that are not paid already
        (see `price`). Where less than a minute is left to the deadline, or none, the job runs for a minute, as on
        clusters: more machines than for that are not rented for it.

        By line 20 the second candidate is not good. Here it is if it keeps deadline and budget after all: fewer
        machines may cost less where each is paid for a whole hour.
        """
        first = self.offer_without_displacement(job, now_s)
        if not over_budget(first.cost, job.budget):
            return (first,)
        machines = self.machines_within(job, now_s)
        if machines == 0:
            return (first,)
        end_s = now_s + self.run_s(job, machines)
        cost = self.price(machines, end_s, now_s) if self._exact else job.budget  # line 18
        return first, Candidate(self.index, is_good(end_s, cost, job), end_s, cost, (), machines)

    def offer_without_displacement(self, job: PlatformJob, now_s: int) -> Candidate:
        """Offer to end a job at its deadline: nothing waits for a cloud, and nothing is displaced."""
        time_s = max(job.deadline_s - now_s, SLOT_S)
        machines = self.machines_for(job, time_s)  # line 3
        run_s = self.run_s(job, machines)
        end_s = now_s + (run_s if self._exact else max(time_s, run_s))
        cost = self.price(machines, end_s, now_s)
        return Candidate(self.index, is_good(end_s, cost, job), end_s, cost, (), machines)

    def machines_for(self, job: PlatformJob, time_s: int) -> int:
        """Fewest machines that do a job in a given time; no more than a job may have."""
        return min(-(-job.size * SLOT_S // (self._processors * time_s)), MAX_MACHINES_PER_JOB)

    def run_s(self, job: PlatformJob, machines: int) -> int:
        """Seconds of a job on a number of machines."""
        return -(-job.size * SLOT_S // (self._processors * machines))

    def price(self, machines: int, until_s: int, now_s: int) -> float:
        """Cost of a number of machines until a time: all hours that begin and are not paid (line 4)."""
        idle = self._idle[:machines]
        hours = (machines - len(idle)) * blocks_of(until_s - now_s, VM_HOUR_S)
        for machine in idle:
            hours += blocks_of(until_s - machine.paid_until_s, VM_HOUR_S)
        return cost_usd(self.bill, hours * VM_HOUR_S, machines - len(idle))

    def machines_within(self, job: PlatformJob, now_s: int) -> int:
        """Most machines for which a budget pays until they have done a job (``get_time``, line 17); 0 if for none."""
        most = self.machines_for(job, SLOT_S)
        if self.bill.usd > 0:
            # One more, in case the quotient falls short of a whole number by noise.
            most = min(most, len(self._idle) + int(job.budget / self.bill.usd) + 1)
        for machines in range(most, 0, -1):
            if not over_budget(self.price(machines, now_s + self.run_s(job, machines), now_s), job.budget):
                return machines
        return 0

    # ---------------------------------------------------------------- machines

    def take_idle(self, machines: int) -> list[Machine]:
        """Take up to a number of idle machines, those with the most paid time first."""
        taken, self._idle = self._idle[:machines], self._idle[machines:]
        return taken

    def charge(self, machine: Machine, until_s: int) -> float:
        """Pay a machine until a time; return what that costs beyond what is paid already."""
        seconds = billed_s(self.bill, until_s - machine.paid_until_s)
        new = machine.paid_until_s == machine.launched_s
        machine.paid_until_s += seconds
        return cost_usd(self.bill, seconds, new)

    def give_back(self, machines: Sequence[Machine]) -> None:
        """Let machines be idle."""
        self._idle = sorted([*self._idle, *machines], key=lambda machine: (-machine.paid_until_s, machine.index))

    def drop(self, machine: Machine) -> None:
        """Let an idle machine go."""
        self._idle.remove(machine)
