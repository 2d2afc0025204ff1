"""The auditor's book of one cloud: its machines, which of them are idle, and what they are paid for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ...core.quantities import SECONDS_PER_HOUR
from .facts import MINUTE_S, NOISE, CloudFacts, StreamFacts

MOST_MACHINES = 10_000


@dataclass(slots=True, eq=False)
class MachineBook:
    """A machine of a cloud, as far as the events so far describe it; ``job`` is the one that it runs."""

    name: str
    cloud: CloudBook
    launched_s: int
    paid_until_s: int
    used: bool = False
    job: str | None = None
    terminated_s: int | None = None
    retained: bool = False  # beyond the end of a paid hour, although it was idle

    @property
    def idle(self) -> bool:
        """True if a job may use the machine."""
        return self.used and self.job is None and self.terminated_s is None

    @property
    def hours(self) -> int:
        """Hours begun until the machine was given back."""
        return _started_hours(self.launched_s, self.paid_until_s if self.terminated_s is None else self.terminated_s)

    @property
    def cost(self) -> Fraction:
        """The bill for them."""
        return self.hours * self.cloud.facts.cost_per_hour


@dataclass(frozen=True, slots=True)
class Offer:
    """Promise of a cloud for a job: its end and its cost."""

    end_s: int
    cost: Fraction


@dataclass(slots=True, eq=False)
class CloudBook:
    """A cloud, as far as the events so far describe it.

    Attributes
    ----------
    facts : CloudFacts
        The cloud.
    idle : dict of str to MachineBook
        Its machines that are idle.
    """

    facts: CloudFacts
    idle: dict[str, MachineBook] = field(default_factory=dict)

    def run_s(self, job: StreamFacts, machines: int) -> int:
        """Run time of a job on some machines, in seconds."""
        return -(-MINUTE_S * job.size // (machines * self.facts.processors))

    def most_paid(self) -> list[int]:
        """Times until which the idle machines are paid, the latest first."""
        return sorted((machine.paid_until_s for machine in self.idle.values()), reverse=True)

    def charge(self, machines: Iterable[MachineBook], until_s: int) -> Fraction:
        """Pay machines until a time; return what that costs beyond what is paid."""
        hours = 0
        for machine in machines:
            more = _started_hours(machine.paid_until_s, until_s)
            machine.paid_until_s += more * SECONDS_PER_HOUR
            hours += more
        return hours * self.facts.cost_per_hour

    # ------------------------------------------------------------------ offers

    def offers(self, job: StreamFacts, now_s: int, machines: int, exactly: bool) -> list[Offer]:
        """Promises of the cloud for a job with a given number of machines (Algorithm 3).

        It offers to end at the deadline, on as few machines as that takes (a minute, if less is left), or on as many as
        a job may have. If that is beyond the budget, it offers as well to end as early as the budget allows, on as many
        machines as it pays for.
        The formulas of the algorithm say that the job takes the whole time, or the whole budget; exactly, it is what
        the job will have.
        """
        paid = self.most_paid()
        time_s = max(job.deadline_s - now_s, MINUTE_S)
        enough = min(-(-MINUTE_S * job.size // (self.facts.processors * time_s)), MOST_MACHINES)
        run_s = self.run_s(job, enough)
        end_s = now_s + (run_s if exactly else max(time_s, run_s))
        in_time = Offer(end_s, self._price(paid, enough, now_s, end_s))
        offers = [in_time] if machines == enough else []
        end_s = now_s + self.run_s(job, machines)
        cost = self._price(paid, machines, now_s, end_s)
        noise = job.budget * NOISE
        if in_time.cost > job.budget - noise and cost <= job.budget + noise and self._most(job, machines, now_s, paid):
            offers.append(Offer(end_s, cost if exactly else job.budget))
        return offers

    def _most(self, job: StreamFacts, machines: int, now_s: int, paid: Sequence[int]) -> bool:
        """True if the budget pays for no larger number of machines, up to the number for a run of one minute."""
        limit = min(-(-job.size // self.facts.processors), MOST_MACHINES)
        price = self.facts.cost_per_hour
        if price:
            limit = min(limit, len(paid) + int(job.budget / price) + 1)
        within = job.budget - job.budget * NOISE
        return machines <= limit and not any(
            self._price(paid, more, now_s, now_s + self.run_s(job, more)) <= within
            for more in range(machines + 1, limit + 1)
        )

    def _price(self, paid: Sequence[int], machines: int, now_s: int, until_s: int) -> Fraction:
        """Cost of machines until a time: idle ones, the longest paid first, from the end of what is paid."""
        hours = sum(_started_hours(paid_s, until_s) for paid_s in paid[:machines])
        hours += max(machines - len(paid), 0) * _started_hours(now_s, until_s)
        return hours * self.facts.cost_per_hour


def _started_hours(since_s: int, until_s: int) -> int:
    return max(-(-(until_s - since_s) // SECONDS_PER_HOUR), 0)
