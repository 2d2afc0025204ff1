"""The auditor's book of one job on a hybrid platform, and the figures of all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

from ...traces.trace import Trace
from ..figures import figure_off
from ..findings import Finding
from .cloud_book import MachineBook
from .facts import NOISE, StreamFacts

State: TypeAlias = Literal["to come", "to be placed", "waiting", "running", "done"]


@dataclass(slots=True, eq=False)
class JobBook:
    """A job, as far as the events so far describe it.

    Attributes
    ----------
    facts : StreamFacts
        The job.
    state : str
        Where it is in its life; on clusters it runs as soon as it has processors, whatever is recorded.
    resource : str, optional
        Where it waits, runs or has run; while it is to be placed, which cluster has displaced it.
    behind_all : bool
        Whether it was placed behind all others there.
    start_s, due_s : int, optional
        When it starts and ends by the rules.
    start_recorded, recorded_end_s : bool and int, optional
        Whether a start is on record; when it ended, by the record.
    charge : Fraction
        What it costs.
    machines : list of MachineBook
        Those of a cloud that it has.
    """

    facts: StreamFacts
    state: State = "to come"
    resource: str | None = None
    behind_all: bool = False
    start_s: int | None = None
    due_s: int | None = None
    stated_start: bool = False
    stated_end_s: int | None = None
    charge: Fraction = Fraction(0)
    machines: list[MachineBook] = field(default_factory=list)

    @property
    def where(self) -> str:
        """Place of the job as a phrase after ``it``."""
        if self.state == "to come":
            return "has not arrived"
        if self.state == "to be placed":
            return "is to be placed"
        verb = {"waiting": "waits at", "running": "runs on", "done": "has ended on"}[self.state]
        return f"{verb} {self.resource}"

    @property
    def delay_s(self) -> int:
        """Seconds from the deadline to the end of the job; 0 if in time."""
        return 0 if self.stated_end_s is None else max(self.stated_end_s - self.facts.deadline_s, 0)

    @property
    def overspend(self) -> Fraction:
        """Excess of the charge over the budget."""
        return over_budget(self.charge, self.facts.budget)


def over_budget(cost: Fraction, budget: Fraction) -> Fraction:
    """Excess of a cost over a budget; 0 if it is arithmetic noise."""
    over = cost - budget
    return over if over > budget * NOISE else Fraction(0)


def alike(one: Fraction, other: Fraction) -> bool:
    """True if two amounts are equal but for arithmetic noise."""
    return abs(one - other) <= NOISE * max(abs(one), abs(other))


def platform_figure_findings(
    jobs: Collection[JobBook],
    machines: Collection[MachineBook],
    trace: Trace,
    last_s: int,
) -> Iterator[Finding]:
    """Compare the figures of an end record with those of the events.

    Parameters
    ----------
    jobs : collection of JobBook
        All jobs of the platform.
    machines : collection of MachineBook
        All that have been launched.
    trace : Trace
        Its end record, and its placements, which are counted whatever is wrong with them.
    last_s : int
        Time of the last event.
    """
    end, placed = trace.end, [event for event in trace.events if event["event"] == "place"]
    ended = [job for job in jobs if job.stated_end_s is not None]
    cost = sum((job.charge for job in jobs), Fraction(0))
    overspend = sum((job.overspend for job in jobs), Fraction(0))
    found: dict[str, tuple[int | Fraction, str]] = {
        # Counts and seconds are whole numbers, and must be equal.
        "t": (last_s, "s"),
        "finished": (len(ended), "jobs"),
        "execution_time_s": (sum((job.stated_end_s or 0) - job.facts.arrival_s for job in ended), "s"),
        "delay_s": (sum(job.delay_s for job in ended), "s"),
        "late_jobs": (sum(job.delay_s > 0 for job in ended), "jobs"),
        "overspent_jobs": (sum(job.overspend > 0 for job in jobs), "jobs"),
        "machines": (len(machines), "machines"),
        "vm_hours": (sum(machine.hours for machine in machines), "h"),
        "good": (sum(event["good"] for event in placed), "placements"),
        "bad": (sum(not event["good"] for event in placed), "placements"),
        "displaced": (sum(len(event["displaced"]) for event in placed), "jobs"),
        "stays": (sum(event["event"] == "stay" for event in trace.events), "jobs"),
        "unwanted": (sum(bool(event.get("last")) for event in placed), "jobs"),
    }
    # Costs are sums of floats in the replay, and are looked at only where they differ by more than noise.
    if abs(end["cost"] - cost) > NOISE * cost:
        found["cost"] = cost, "units of cost"
    # It is what is left of costs when budgets are taken off them.
    if abs(end["overspend"] - overspend) > NOISE * cost:
        found["overspend"] = overspend, "units of cost"
    for name, (value, unit) in found.items():
        yield from figure_off(name, end[name], value, unit)
