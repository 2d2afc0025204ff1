"""The audit of a replay on a hybrid platform: events and their order, clusters, clouds, placements, the end."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...core.wording import counted
from ...traces.trace import Trace
from ..facts import exact
from ..findings import AuditReport, Event, Findings
from .books import (
    CloudBook,
    ClusterBook,
    ClusterFacts,
    JobBook,
    MachineBook,
    Offer,
    PlatformFacts,
    StreamFacts,
    alike,
    over_budget,
    platform_figure_findings,
)


@dataclass(frozen=True, slots=True)
class CloudPlacement:
    """A job that is placed in a cloud, where it starts at once."""

    job: JobBook
    cloud: CloudBook
    event: Event


class PlatformAuditBase(Findings):
    """The books of a replay on a hybrid platform, and what is found.

    Parameters
    ----------
    trace : Trace
        The replay; its records are those of the format.
    facts : PlatformFacts
        Those of its platform.
    """

    def __init__(self, trace: Trace, facts: PlatformFacts) -> None:
        super().__init__()
        self.trace = trace
        self.run = trace.run
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

    def _job(self, event: Event) -> JobBook | None:
        job = self.jobs.get(event["job"])
        if job is None:
            self._find("job", event, ": the platform has no such job")
        return job

    def _check_promise(self, event: Event, job: JobBook, offers: list[Offer]) -> None:
        """Judge that the stated end and cost are what the resource offers, and as good as stated."""
        end_s, cost = event["end_s"], exact(event["cost"])
        if not any(offer.end_s == end_s and alike(offer.cost, cost) for offer in offers):
            # Of two offers the nearer one is named, which is most likely the one that was meant.
            offer = min(offers, key=lambda offer: (abs(offer.end_s - end_s), abs(offer.cost - cost)))
            what = f"the rules give {offer.end_s} s and {float(offer.cost):.12g}"
            if offer.end_s != end_s:
                message = f" is to end at {end_s} s for {event['cost']:.12g}; {what}"
                self._find("promise", event, message, abs(offer.end_s - end_s))
            else:
                message = f" is to cost {event['cost']:.12g} and to end at {end_s} s; {what}"
                self._find("promise", event, message, abs(offer.cost - cost), "units of cost")
        late_s, over = max(end_s - job.facts.deadline_s, 0), over_budget(cost, job.facts.budget)
        if event["good"] == bool(late_s or over):
            missed = [f"{late_s} s late"] * (late_s > 0) + [f"{float(over):.12g} over the budget"] * (over > 0)
            said = "good" if event["good"] else "not good"
            message = f" is said to be {said}; it is {' and '.join(missed) or 'in time and in the budget'}"
            self._find("promise", event, message)


class CloudAudit(PlatformAuditBase):
    """Follows the machines of clouds."""

    def __init__(self, trace: Trace, facts: PlatformFacts) -> None:
        super().__init__(trace, facts)
        self._charged = Fraction(0)
        self._launched: list[MachineBook] = []  # for the job that is placed now
        self._hour_ends: list[tuple[int, str]] = []  # of machines that were idle once

    def _place_in_cloud(self, event: Event, job: JobBook, cloud: CloudBook) -> None:
        if event["displaced"]:
            message = f" displaces {counted(len(event['displaced']), 'job')}; nothing waits for a cloud"
            self._find("displacement", event, message, len(event["displaced"]), "jobs")
        job.resource = cloud.facts.id
        self.in_cloud = CloudPlacement(job, cloud, event)

    def _never_started(self) -> None:
        assert self.in_cloud is not None
        job, cloud = self.in_cloud.job.facts, self.in_cloud.cloud.facts
        message = f"{job.id!r}, placed in {cloud.id} at {self.in_cloud.event['t']} s, does not start at once"
        self._find("placing", job.id, message)
        self.in_cloud = None

    def _launch(self, event: Event) -> None:
        name, resource = event["vm"], event["resource"]
        cloud = self.clouds.get(resource)
        if cloud is None:
            self._find("machines", event, f" from {resource}, which is no cloud")
            return
        if name in self.machines:
            self._find("machines", event, ": there is a machine of this name already")
            return
        if self.in_cloud is None or self.in_cloud.cloud is not cloud:
            self._find("machines", event, f": no job is placed in {resource} that it could be for")
        machine = self.machines[name] = MachineBook(name, cloud, event["t"], event["t"])
        self._launched.append(machine)

    def _start_in_cloud(self, event: Event, job: JobBook, cloud: CloudBook) -> None:
        name, now = job.facts.id, event["t"]
        placement, self.in_cloud = self.in_cloud, None
        if placement is None or placement.job is not job or placement.cloud is not cloud:
            # The start of another job leaves the placement as it is: its own may still come.
            self.in_cloud = placement
            self._find("one-place", event, f": it {job.where}, and is not placed there now")
            return
        machines = self._machines_for(event, cloud)
        job.state, job.start_s, job.stated_start = "running", now, True
        if not machines:
            return
        offers = cloud.offers(job.facts, now, len(machines), self.run["rules"]["estimates"] == "exact")
        self._check_machines(event, cloud, machines)
        if offers:
            self._check_promise(placement.event, job, offers)
        else:
            message = f" on {counted(len(machines), 'machine')}, which {cloud.facts.id} does not offer"
            self._find("promise", event, message)
        job.due_s = now + cloud.run_s(job.facts, len(machines))
        job.charge = cloud.charge(machines, job.due_s)
        self._charged += job.charge
        job.machines = machines
        for machine in machines:
            machine.job, machine.used = name, True
            cloud.idle.pop(machine.name, None)

    def _machines_for(self, event: Event, cloud: CloudBook) -> list[MachineBook]:
        """Machines on which a job starts, without those on which it cannot."""
        machines: dict[str, MachineBook] = {}
        for name in event.get("vms") or ():
            machine = self.machines.get(name)
            if machine is None:
                reason = "has not been launched"
            elif machine.cloud is not cloud:
                reason = f"is one of {machine.cloud.facts.id}"
            elif machine.terminated_s is not None:
                reason = f"was given back at {machine.terminated_s} s"
            elif machine.job is not None:
                reason = f"runs {machine.job!r}"
            elif name in machines:
                reason = "is recorded twice"
            else:
                machines[name] = machine
                continue
            self._find("machines", name, f"{self._described(event)} on {name}, which {reason}")
        if not event.get("vms"):
            self._find("machines", event["job"], f"{self._described(event)} on no machine")
        return list(machines.values())

    def _check_machines(self, event: Event, cloud: CloudBook, machines: list[MachineBook]) -> None:
        """A job has the idle machines with the most paid time; others are rented only if there are no more of them."""
        taken = sorted((machine.paid_until_s for machine in machines if machine.idle), reverse=True)
        fresh = [machine for machine in machines if not machine.used]
        best = cloud.most_paid()[: len(machines)]
        if len(taken) < len(best):
            over = len(best) - len(taken)
            of = counted(len(fresh), "new machine")
            self._find("machines", event, f" on {of}, {over} of them in place of idle ones", over, "machines")
        elif taken != best:
            less = sum(best) - sum(taken)
            self._find("machines", event, f" on machines with {less} s less of paid time than idle ones have", less)

    def _check_launched(self) -> None:
        """Machines are launched for the job that starts then."""
        for machine in self._launched:
            if not machine.used:
                message = f"{machine.name} is launched at {machine.launched_s} s, but not used"
                self._find("machines", machine.name, message)
        self._launched.clear()

    def _free_machines(self, job: JobBook) -> None:
        """Let the machines of a job that has ended be idle."""
        for machine in job.machines:
            machine.job = None
            if machine.terminated_s is None:
                machine.cloud.idle[machine.name] = machine
                heapq.heappush(self._hour_ends, (machine.paid_until_s, machine.name))
        job.machines = []

    def _check_hour_ends(self, before_s: int) -> None:
        """Find machines that were idle at the end of an hour before a time, and have not been given back."""
        while self._hour_ends and self._hour_ends[0][0] < before_s:
            end_s, name = heapq.heappop(self._hour_ends)
            machine = self.machines[name]
            # One that has been used since is paid for longer, and stands here with a later end as well.
            if machine.idle and machine.paid_until_s == end_s and not machine.retained:
                machine.retained = True
                message = f"{name} is idle at the end of the hour that is paid ({end_s} s), but not given back"
                self._find("machines", name, message)

    def _terminate(self, event: Event) -> None:
        name, now = event["vm"], event["t"]
        machine = self.machines.get(name)
        if machine is None or machine.terminated_s is not None:
            reason = "has not been launched" if machine is None else f"was given back at {machine.terminated_s} s"
            self._find("machines", event, f": it {reason}")
            return
        if machine.job is not None:
            self._find("machines", event, f": it runs {machine.job!r}")
        elif now != machine.paid_until_s:
            off = abs(now - machine.paid_until_s)
            self._find("machines", event, f"; it is paid until {machine.paid_until_s} s", off)
        machine.terminated_s = now
        machine.cloud.idle.pop(name, None)

    def _check_bills(self) -> None:
        """All machines are given back, and cost what jobs are charged for them."""
        for name, machine in self.machines.items():
            if machine.terminated_s is None:
                self._find("bill", name, f"{name} is never given back")
        bill = sum((machine.cost for machine in self.machines.values()), Fraction(0))
        if bill != self._charged:
            message = (
                f"the machines cost {float(bill):.12g}, the jobs that had them are charged {float(self._charged):.12g}"
            )
            self._find("bill", "", message, abs(bill - self._charged), "units of cost")


class ClusterAudit(PlatformAuditBase):
    """Follows the queues of clusters, and the jobs on their processors."""

    def _let_begin(self, cluster: ClusterBook, until_s: int | None) -> None:
        """Let jobs have the processors of the minutes that start before a time."""
        for begun in cluster.begin(until_s):
            job = self.jobs[begun.job.id]
            job.state, job.start_s, job.due_s = "running", begun.start_s, begun.end_s
            job.charge = cluster.facts.cost_per_processor_minute * job.facts.size

    def _place_in_queue(self, event: Event, job: JobBook, cluster: ClusterBook) -> None:
        now, last = event["t"], bool(event.get("last"))
        self._let_begin(cluster, now)
        self._check_displaced(event, job, cluster)
        end_s = cluster.end_s(job.facts, now, last)
        cost = cluster.facts.cost_per_processor_minute * job.facts.size
        self._check_promise(event, job, [Offer(end_s, cost)])
        for name in event["displaced"]:
            other = self.jobs.get(name)
            if other is not None and other.state == "waiting" and other.resource == cluster.facts.id:
                cluster.leave(other.facts)
                other.state = "to be placed"
                self.unplaced[name] = other
        job.behind_all = last
        self._wait(job, cluster, now)

    def _wait(self, job: JobBook, cluster: ClusterBook, now: int, again: bool = False) -> None:
        cluster.join(job.facts, now, job.behind_all, again)
        job.state, job.resource = "waiting", cluster.facts.id

    def _check_displaced(self, event: Event, job: JobBook, cluster: ClusterBook) -> None:
        """Displaced jobs wait behind the new one and would be late there; all such are, and have less work."""
        listed = event["displaced"]
        if not self.run["displaces"]:
            if listed:
                message = f" displaces {counted(len(listed), 'job')}; policy {self.run['policy']} does not"
                self._find("displacement", event, message, len(listed), "jobs")
            return
        late = [] if event.get("last") else cluster.late_behind(job.facts, event["t"])
        for other in late:
            if other.id not in listed:
                message = f"{self._described(event)} leaves {other.id!r} in the queue, which would be late behind it"
                self._find("displacement", other.id, message)
        work = 0
        for place, other_name in enumerate(listed):
            book = self.jobs.get(other_name)
            work += 0 if book is None else book.facts.size
            reason = self._undisplaceable(other_name, job, cluster, late)
            if other_name in listed[:place]:
                reason = "is in the list already"
            if reason:
                self._find("displacement", event, f" displaces {other_name!r}, which {reason}", where=other_name)
        if work >= job.facts.size:
            message = f" displaces {work} processor-minutes, not less than its own {job.facts.size}"
            self._find("displacement", event, message, work - job.facts.size + 1, "processor-minutes")

    def _undisplaceable(self, name: str, job: JobBook, cluster: ClusterBook, late: Sequence[StreamFacts]) -> str:
        """Reason against a displacement of a job by another; empty if there is none."""
        other = self.jobs.get(name)
        if other is None:
            return "is no job of the platform"
        if other.state != "waiting" or other.resource != cluster.facts.id:
            return other.where
        if not cluster.waits_behind(other.facts, job.facts):
            return "is not behind it"
        return "" if other.facts in late else "would be in time behind it"

    def _check_unwanted(self, event: Event, job: JobBook) -> None:
        """No resource offers to run a job, but for that which has displaced it."""
        for resource in (*self.clouds, *self.clusters):
            cluster = self.clusters.get(resource)
            if resource == job.resource:
                continue
            if cluster is not None and self.run["displaces"]:
                self._let_begin(cluster, event["t"])
                # A cluster offers nothing to a job that would push out as much work as its own.
                if sum(other.size for other in cluster.late_behind(job.facts, event["t"])) >= job.facts.size:
                    continue
            self._find("placing", event, f": {resource} offers to run it")
            return

    def _start_on_cluster(self, event: Event, job: JobBook, cluster: ClusterBook) -> None:
        name, resource = job.facts.id, event["resource"]
        if event.get("vms") is not None:
            message = f"{self._described(event)} is on machines; a cluster has none"
            self._find("machines", name, message, len(event["vms"]), "machines")
        self._let_begin(cluster, event["t"] + 1)
        if job.resource != resource or job.state not in ("waiting", "running"):
            self._find("one-place", event, f": it {job.where}")
            return
        if job.stated_start:
            self._find("one-place", event, ": its start has been recorded before")
        job.stated_start = True
        if job.state == "waiting":
            others = "others have the processors until then, or there are none"
            self._find("processors", event, f": {others}")
        elif job.start_s != event["t"]:
            assert job.start_s is not None
            late = abs(event["t"] - job.start_s)
            self._find("processors", event, f"; it has processors from {job.start_s} s on", late)


_FINISH, _TERMINATE, _DECIDED, _CLUSTER_START = range(4)
_RANK_NAMES = ("a finish", "a terminate", "a submit and what is decided then", "a start on a cluster")


class PlatformAudit(ClusterAudit, CloudAudit):
    """An audit of a replay on a hybrid platform, from its events alone.

    Parameters
    ----------
    trace, facts
        See `PlatformAuditBase`.
    """

    def __init__(self, trace: Trace, facts: PlatformFacts) -> None:
        super().__init__(trace, facts)
        self.now_s = 0
        self.rank = -1
        self._arrived = 0  # of the jobs in the order of arrival
        self._by_arrival = sorted(self.jobs.values(), key=lambda job: job.facts.place)

    def report(self) -> AuditReport:
        """Go through the events, then the end."""
        for event in self.trace.events:
            self._event(event)
        self._decisions_end()
        self._end()
        jobs, machines = self.jobs.values(), self.machines.values()
        self.findings += platform_figure_findings(jobs, machines, self.trace, self.now_s)
        ends = [job.stated_end_s for job in jobs if job.stated_end_s is not None]
        return AuditReport(
            findings=tuple(self.findings),
            cost_usd=float(sum(job.charge for job in jobs)),
            makespan_s=max(ends) if len(ends) == len(jobs) else None,
            notes=tuple(self._notes()),
            vm_cost_usd={machine.name: float(machine.cost) for machine in machines},
        )

    # ------------------------------------------------------------------- order

    def _event(self, event: Event) -> None:
        kind, now = event["event"], event["t"]
        rank = self._rank(event)
        if now < self.now_s:
            message = f"{self._described(event)} stands after what is at {self.now_s} s"
            self._find("order", _place(event), message, self.now_s - now)
        elif now > self.now_s:
            self._decisions_end()
            self.now_s, self.rank = now, -1
        if now == self.now_s:
            if rank < self.rank:
                message = f"{self._described(event)} stands after {_RANK_NAMES[self.rank]} of the same moment"
                self._find("order", _place(event), message)
            self.rank = max(self.rank, rank)
        if rank != _DECIDED or kind == "submit":
            self._decisions_end()
        elif kind not in ("launch", "start"):
            if self.in_cloud is not None:
                self._never_started()
            self._check_launched()
        # Machines that are due now are overdue as soon as anything is decided in this second.
        self._check_hour_ends(self.now_s + (rank > _TERMINATE))
        getattr(self, f"_{kind}")(event)  # such as `_submit`

    def _rank(self, event: Event) -> int:
        kind = event["event"]
        if kind == "finish":
            return _FINISH
        if kind == "terminate":
            return _TERMINATE
        return _CLUSTER_START if kind == "start" and event["resource"] in self.clusters else _DECIDED

    def _decisions_end(self) -> None:
        """Nothing else happens before all jobs are placed that have arrived or have been displaced."""
        if self.in_cloud is not None:
            self._never_started()
        self._check_launched()
        for name, job in self.unplaced.items():
            displaced = "" if job.resource is None else f", displaced from {job.resource},"
            self._find("placing", name, f"{name!r}{displaced} is not placed at {self.now_s} s")
        self.unplaced.clear()

    # ---------------------------------------------------------------- arrivals

    def _submit(self, event: Event) -> None:
        job = self._job(event)
        if job is None:
            return
        if job.state != "to come":
            self._find("job", event, ": it has arrived before")
            return
        # Those that came out of turn are passed over: they were found then.
        while self._by_arrival[self._arrived].state != "to come":
            self._arrived += 1
        first = self._by_arrival[self._arrived]
        if job is not first:
            self._find("job", event, f": {first.facts.id!r} comes before it")
        self._check_time("job", event, event["t"] - job.facts.arrival_s)
        job.state = "to be placed"
        self.unplaced[job.facts.id] = job

    # -------------------------------------------------------------- placements

    def _place(self, event: Event) -> None:
        name, resource = event["job"], event["resource"]
        job = self._job(event)
        if job is None or not self._may_be_placed(event, job):
            return
        if resource == job.resource:
            self._find("placing", event, ": that is where it has been displaced from")
        if event.get("last"):
            self._check_last(event, job)
        del self.unplaced[name]
        if resource in self.clusters:
            self._place_in_queue(event, job, self.clusters[resource])
        elif resource in self.clouds:
            self._place_in_cloud(event, job, self.clouds[resource])
        else:
            self._find("placing", event, ": the platform has no such resource")

    def _may_be_placed(self, event: Event, job: JobBook) -> bool:
        """True if a job is free to be placed; a job that waits in a queue is reported, and taken out of the queue."""
        if job.facts.id in self.unplaced:
            return True
        self._find("one-place", event, f": it {job.where}")
        if job.state == "waiting" and job.resource in self.clusters:
            self.clusters[job.resource].leave(job.facts)
        elif job.state != "to be placed":
            return False
        job.state, job.resource = "to be placed", None
        self.unplaced[job.facts.id] = job
        return True

    def _check_last(self, event: Event, job: JobBook) -> None:
        """Judge a job that goes behind all others in a queue: only a new one that no resource offers to run does."""
        if job.resource is not None:
            self._find("placing", event, ", behind all: it is not new")
        elif event["resource"] not in self.clusters:
            self._find("placing", event, ", behind all: nothing waits there")
        self._check_unwanted(event, job)

    def _stay(self, event: Event) -> None:
        name, resource = event["job"], event["resource"]
        job = self._job(event)
        if job is None or not self._may_be_placed(event, job):
            return
        if job.resource != resource:
            before = "is new" if job.resource is None else f"has been displaced from {job.resource}"
            self._find("placing", event, f": it {before}")
        self._check_unwanted(event, job)
        cluster = self.clusters.get(resource)
        if cluster is not None:
            del self.unplaced[name]
            self._let_begin(cluster, event["t"])
            self._wait(job, cluster, event["t"], again=True)

    # ----------------------------------------------------------- starts and ends

    def _start(self, event: Event) -> None:
        job, resource = self._job(event), event["resource"]
        if job is None:
            return
        if resource in self.clouds:
            self._start_in_cloud(event, job, self.clouds[resource])
        elif resource in self.clusters:
            self._start_on_cluster(event, job, self.clusters[resource])
        else:
            self._find("one-place", event, ": the platform has no such resource")

    def _finish(self, event: Event) -> None:
        job, resource, now = self._job(event), event["resource"], event["t"]
        if job is None:
            return
        if resource in self.clusters:
            self._let_begin(self.clusters[resource], now)
        if job.resource != resource or job.state != "running":
            self._find("one-place", event, f": it {job.where}")
            return
        if job.due_s is not None:
            rule = "processors" if resource in self.clusters else "run-time"
            self._check_time(rule, event, now - job.due_s, f": it is due at {job.due_s} s")
        if not job.stated_start:
            self._find("processors", event, f": its start, at {job.start_s} s, has not been recorded", 1, "events")
        job.state, job.stated_end_s = "done", now
        self._free_machines(job)

    # --------------------------------------------------------------------- end

    def _end(self) -> None:
        """Close the books of jobs and machines."""
        for cluster in self.clusters.values():
            self._let_begin(cluster, None)
        for name, job in self.jobs.items():
            if job.state == "to come":
                self._find("job", name, f"{name!r}, which arrives at {job.facts.arrival_s} s, is never submitted")
            elif job.state == "running":
                due = "" if job.due_s is None else f", though it is due at {job.due_s} s"
                never = "ends" if job.stated_start else "starts nor ends"
                self._find("one-place", name, f"{name!r} is lost: it never {never} on {job.resource}{due}")
            elif job.state == "to be placed":
                self._find("one-place", name, f"{name!r} is lost: it is nowhere")
        self._check_bills()

    def _notes(self) -> list[str]:
        jobs = self.jobs.values()
        late = [job.delay_s for job in jobs if job.delay_s]
        over = [job.overspend for job in jobs if job.overspend]
        of = counted(len(jobs), "job")
        notes = [f"{len(late):,} of {of} late, by up to {max(late):,} s"] if late else []
        if over:
            notes.append(f"{len(over):,} of {of} over budget, by {float(sum(over)):.12g} together")
        left = sum(job.stated_end_s is None for job in jobs)
        return [*notes, f"{counted(left, 'job')} unfinished"] if left else notes


def _place(event: Event) -> str:
    """Id of the job or machine of an event."""
    return str(event["vm"] if "vm" in event else event["job"])
