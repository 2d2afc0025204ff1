"""Base of the books in the audit of a hybrid platform: findings and promises."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from ...traces.trace import Trace
from ..facts import RULES, Finding, exact
from .cloud_book import CloudBook, MachineBook, Offer
from .cluster_book import ClusterBook
from .facts import ClusterFacts, PlatformFacts
from .job_book import JobBook, alike, over_budget

Event: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CloudPlacement:
    """A job that is placed in a cloud, where it starts at once."""

    job: JobBook
    cloud: CloudBook
    event: Event


class PlatformAuditBase:
    """The books of a replay on a hybrid platform, and what is found.

    Parameters
    ----------
    trace : Trace
        The replay; its records are those of the format.
    facts : PlatformFacts
        Those of its platform.
    """

    def __init__(self, trace: Trace, facts: PlatformFacts) -> None:
        self.trace = trace
        self.run = trace.run
        self.findings: list[Finding] = []
        self.jobs = {name: JobBook(job) for name, job in facts.jobs.items()}
        self.clusters: dict[str, ClusterBook] = {}
        self.clouds: dict[str, CloudBook] = {}
        for name, resource in facts.resources.items():
            if isinstance(resource, ClusterFacts):
                self.clusters[name] = ClusterBook(resource, self.run["rules"])
            else:
                self.clouds[name] = CloudBook(resource)
        self.machines: dict[str, MachineBook] = {}
        self.unplaced: dict[str, JobBook] = {}  # at this moment, from the last arrival on
        self.in_cloud: CloudPlacement | None = None  # placed, not started

    def _find(self, rule: str, where: str, amount: float | Fraction, unit: str, message: str) -> None:
        assert rule in RULES
        self.findings.append(Finding(rule, where, float(amount), unit, message))

    def _job(self, event: Event) -> JobBook | None:
        job = self.jobs.get(event["job"])
        if job is None:
            self._find("job", event["job"], 1, "jobs", f"{described(event)}: the platform has no such job")
        return job

    def _check_promise(self, event: Event, job: JobBook, offers: list[Offer]) -> None:
        """Judge that the stated end and cost are what the resource offers, and as good as stated."""
        name, end_s = job.facts.id, event["end_s"]
        cost = exact(event["cost"])
        if not any(offer.end_s == end_s and alike(offer.cost, cost) for offer in offers):
            offer = min(offers, key=lambda offer: (abs(offer.end_s - end_s), abs(offer.cost - cost)))
            what = f"the rules give {offer.end_s} s and {float(offer.cost):.12g}"
            if offer.end_s != end_s:
                message = f"{described(event)} is to end at {end_s} s for {event['cost']:.12g}; {what}"
                self._find("promise", name, abs(offer.end_s - end_s), "s", message)
            else:
                message = f"{described(event)} is to cost {event['cost']:.12g} and to end at {end_s} s; {what}"
                self._find("promise", name, abs(offer.cost - cost), "units of cost", message)
        late_s, over = max(end_s - job.facts.deadline_s, 0), over_budget(cost, job.facts.budget)
        if event["good"] == bool(late_s or over):
            missed = [f"{late_s} s late"] * (late_s > 0) + [f"{float(over):.12g} over the budget"] * (over > 0)
            said = "good" if event["good"] else "not good"
            message = (
                f"{described(event)} is said to be {said}; it is {' and '.join(missed) or 'in time and in the budget'}"
            )
            self._find("promise", name, 1, "jobs", message)


def place_of(event: Event) -> str:
    """Id of the job or machine of an event."""
    place: str = event["vm"] if "vm" in event else event["job"]
    return place


def described(event: Event) -> str:
    """Name an event in messages."""
    kind, moment = event["event"], f"{event['t']} s"
    if "vm" in event:
        return f"{kind} of {event['vm']} at {moment}"
    at = f" on {event['resource']}" if "resource" in event else ""
    return f"{kind} of {event['job']!r}{at} at {moment}"
