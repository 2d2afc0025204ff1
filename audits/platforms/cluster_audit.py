"""The part of the audit of a platform that is about clusters: queues, displaced jobs, processors."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.wording import counted
from .books import Event, PlatformAuditBase, described
from .cloud_book import Offer
from .cluster_book import ClusterBook
from .facts import StreamFacts
from .job_book import JobBook


class ClusterAudit(PlatformAuditBase):
    """Follows the queues of clusters, and who has their processors."""

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
        """Who is displaced waits behind the new one and would be late there; all such are, and have less work."""
        name, listed = job.facts.id, event["displaced"]
        if not self.run["displaces"]:
            if listed:
                message = (
                    f"{described(event)} displaces {counted(len(listed), 'job')}; policy {self.run['policy']} does not"
                )
                self._find("displacement", name, len(listed), "jobs", message)
            return
        late = [] if event.get("last") else cluster.late_behind(job.facts, event["t"])
        for other in late:
            if other.id not in listed:
                message = f"{described(event)} leaves {other.id!r} in the queue, which would be late behind it"
                self._find("displacement", other.id, 1, "jobs", message)
        work = 0
        for place, other_name in enumerate(listed):
            book = self.jobs.get(other_name)
            work += 0 if book is None else book.facts.size
            reason = self._undisplaceable(other_name, job, cluster, late)
            if other_name in listed[:place]:
                reason = "is in the list already"
            if reason:
                message = f"{described(event)} displaces {other_name!r}, which {reason}"
                self._find("displacement", other_name, 1, "jobs", message)
        if work >= job.facts.size:
            message = f"{described(event)} displaces {work} processor-minutes, not less than its own {job.facts.size}"
            self._find("displacement", name, work - job.facts.size + 1, "processor-minutes", message)

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
                if sum(other.size for other in cluster.late_behind(job.facts, event["t"])) >= job.facts.size:
                    continue
            self._find("placing", job.facts.id, 1, "jobs", f"{described(event)}: {resource} offers to run it")
            return

    def _start_on_cluster(self, event: Event, job: JobBook, cluster: ClusterBook) -> None:
        name, resource = job.facts.id, event["resource"]
        if event.get("vms") is not None:
            message = f"{described(event)} is on machines; a cluster has none"
            self._find("machines", name, len(event["vms"]), "machines", message)
        self._let_begin(cluster, event["t"] + 1)
        if job.resource != resource or job.state not in ("waiting", "running"):
            self._find("one-place", name, 1, "jobs", f"{described(event)}: it {job.where}")
            return
        if job.stated_start:
            self._find("one-place", name, 1, "jobs", f"{described(event)}: its start has been recorded before")
        job.stated_start = True
        if job.state == "waiting":
            others = "others have the processors until then, or there are none"
            self._find("processors", name, 1, "jobs", f"{described(event)}: {others}")
        elif job.start_s != event["t"]:
            assert job.start_s is not None
            late = abs(event["t"] - job.start_s)
            self._find("processors", name, late, "s", f"{described(event)}; it has processors from {job.start_s} s on")
