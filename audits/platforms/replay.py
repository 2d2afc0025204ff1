"""The audit of a replay on a hybrid platform: the order of events, arrivals, placements, the end."""

from __future__ import annotations

from collections.abc import Callable

from ...core.wording import counted
from ...traces.trace import Trace
from ..facts import AuditReport
from .books import Event, described, place_of
from .cloud_audit import CloudAudit
from .cluster_audit import ClusterAudit
from .facts import PlatformFacts
from .job_book import JobBook, PlacementCounts, platform_figure_findings

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
        self.counts = PlacementCounts()
        self.now_s = 0
        self.rank = -1
        self._arrived = 0  # of the jobs in the order of arrival
        self._by_arrival = sorted(self.jobs.values(), key=lambda job: job.facts.place)
        self._handlers: dict[str, Callable[[Event], None]] = {
            "submit": self._submit,
            "place": self._place,
            "stay": self._stay,
            "launch": self._launch,
            "start": self._start,
            "finish": self._finish,
            "terminate": self._terminate,
        }

    def report(self) -> AuditReport:
        """Go through the events, then the end."""
        for event in self.trace.events:
            self._event(event)
        self._decisions_end()
        self._end()
        jobs, machines = self.jobs.values(), self.machines.values()
        self.findings += platform_figure_findings(jobs, machines, self.counts, self.trace.end, self.now_s)
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
            early = self.now_s - now
            self._find(
                "order", place_of(event), early, "s", f"{described(event)} stands after what is at {self.now_s} s"
            )
        elif now > self.now_s:
            self._decisions_end()
            self.now_s, self.rank = now, -1
        if now == self.now_s:
            if rank < self.rank:
                message = f"{described(event)} stands after {_RANK_NAMES[self.rank]} of the same moment"
                self._find("order", place_of(event), 1, "events", message)
            self.rank = max(self.rank, rank)
        if rank != _DECIDED or kind == "submit":
            self._decisions_end()
        elif kind not in ("launch", "start"):
            if self.in_cloud is not None:
                self._never_started()
            self._check_launched()
        self._check_hour_ends(self.now_s + (rank > _TERMINATE))
        self._handlers[kind](event)

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
            self._find("placing", name, 1, "jobs", f"{name!r}{displaced} is not placed at {self.now_s} s")
        self.unplaced.clear()

    # ---------------------------------------------------------------- arrivals

    def _submit(self, event: Event) -> None:
        name, now = event["job"], event["t"]
        job = self._job(event)
        if job is None:
            return
        if job.state != "to come":
            self._find("job", name, 1, "jobs", f"{described(event)}: it has arrived before")
            return
        while self._by_arrival[self._arrived].state != "to come":
            self._arrived += 1
        first = self._by_arrival[self._arrived]
        if job is not first:
            self._find("job", name, 1, "jobs", f"{described(event)}: {first.facts.id!r} comes before it")
        off = now - job.facts.arrival_s
        if off:
            when = "late" if off > 0 else "early"
            self._find("job", name, abs(off), "s", f"{described(event)}, {abs(off)} s too {when}")
        job.state = "to be placed"
        self.unplaced[name] = job

    # -------------------------------------------------------------- placements

    def _place(self, event: Event) -> None:
        name, resource = event["job"], event["resource"]
        counts = self.counts
        counts.good += event["good"]
        counts.bad += not event["good"]
        counts.displaced += len(event["displaced"])
        counts.unwanted += bool(event.get("last"))
        job = self._job(event)
        if job is None or not self._may_be_placed(event, job):
            return
        if resource == job.resource:
            self._find("placing", name, 1, "jobs", f"{described(event)}: that is where it has been displaced from")
        if event.get("last"):
            self._check_last(event, job)
        del self.unplaced[name]
        if resource in self.clusters:
            self._place_in_queue(event, job, self.clusters[resource])
        elif resource in self.clouds:
            self._place_in_cloud(event, job, self.clouds[resource])
        else:
            self._find("placing", name, 1, "jobs", f"{described(event)}: the platform has no such resource")

    def _may_be_placed(self, event: Event, job: JobBook) -> bool:
        """True if a job is free to be placed; a job that waits in a queue is reported, and taken out of the queue."""
        if job.facts.id in self.unplaced:
            return True
        self._find("one-place", job.facts.id, 1, "jobs", f"{described(event)}: it {job.where}")
        if job.state == "waiting" and job.resource in self.clusters:
            self.clusters[job.resource].leave(job.facts)
        elif job.state != "to be placed":
            return False
        job.state, job.resource = "to be placed", None
        self.unplaced[job.facts.id] = job
        return True

    def _check_last(self, event: Event, job: JobBook) -> None:
        """Only a new job that nobody offers to run goes behind all others in a queue."""
        name = job.facts.id
        if job.resource is not None:
            self._find("placing", name, 1, "jobs", f"{described(event)}, behind all: it is not new")
        elif event["resource"] not in self.clusters:
            self._find("placing", name, 1, "jobs", f"{described(event)}, behind all: nothing waits there")
        self._check_unwanted(event, job)

    def _stay(self, event: Event) -> None:
        name, resource = event["job"], event["resource"]
        self.counts.stays += 1
        job = self._job(event)
        if job is None or not self._may_be_placed(event, job):
            return
        if job.resource != resource:
            before = "is new" if job.resource is None else f"has been displaced from {job.resource}"
            self._find("placing", name, 1, "jobs", f"{described(event)}: it {before}")
        self._check_unwanted(event, job)
        cluster = self.clusters.get(resource)
        if cluster is not None:
            del self.unplaced[name]
            self._let_begin(cluster, event["t"])
            self._wait(job, cluster, event["t"], again=True)

    # ----------------------------------------------------------- starts and ends

    def _start(self, event: Event) -> None:
        name, resource = event["job"], event["resource"]
        job = self._job(event)
        if job is None:
            return
        if resource in self.clouds:
            self._start_in_cloud(event, job, self.clouds[resource])
        elif resource in self.clusters:
            self._start_on_cluster(event, job, self.clusters[resource])
        else:
            self._find("one-place", name, 1, "jobs", f"{described(event)}: the platform has no such resource")

    def _finish(self, event: Event) -> None:
        name, resource, now = event["job"], event["resource"], event["t"]
        job = self._job(event)
        if job is None:
            return
        if resource in self.clusters:
            self._let_begin(self.clusters[resource], now)
        if job.resource != resource or job.state != "running":
            self._find("one-place", name, 1, "jobs", f"{described(event)}: it {job.where}")
            return
        if job.due_s is not None and now != job.due_s:
            off = now - job.due_s
            when = f"{abs(off)} s too {'late' if off > 0 else 'early'}"
            rule = "processors" if resource in self.clusters else "run-time"
            self._find(rule, name, abs(off), "s", f"{described(event)}, {when}: it is due at {job.due_s} s")
        if not job.stated_start:
            message = f"{described(event)}: its start, at {job.start_s} s, has not been recorded"
            self._find("processors", name, 1, "events", message)
        job.state, job.stated_end_s = "done", now
        self._free_machines(job)

    # --------------------------------------------------------------------- end

    def _end(self) -> None:
        """Close the books of jobs and machines."""
        for cluster in self.clusters.values():
            self._let_begin(cluster, None)
        for name, job in self.jobs.items():
            if job.state == "to come":
                message = f"{name!r}, which arrives at {job.facts.arrival_s} s, is never submitted"
                self._find("job", name, 1, "jobs", message)
            elif job.state == "running":
                due = "" if job.due_s is None else f", though it is due at {job.due_s} s"
                never = "ends" if job.stated_start else "starts nor ends"
                self._find("one-place", name, 1, "jobs", f"{name!r} is lost: it never {never} on {job.resource}{due}")
            elif job.state == "to be placed":
                self._find("one-place", name, 1, "jobs", f"{name!r} is lost: it is nowhere")
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
