"""The replay of jobs on a hybrid platform: jobs arrive, are placed, displaced, run and are paid for."""

from __future__ import annotations

import heapq
from collections import Counter, deque

from ...instances.platforms.entries import MAX_MACHINES_PER_JOB
from ...instances.platforms.platform import Platform
from ..engines import EventLoop
from .candidate import NOWHERE, Candidate, PlatformJob
from .cloud import CloudScheduler, Machine
from .cluster import ClusterScheduler
from .outcome import PlatformOutcome, platform_outcome
from .state import PlatformPolicy, PlatformState

# Order of events at the same time; a job that arrives with the start of a minute may have its processors.
_FINISH, _HOUR_END, _SUBMIT, _BEGIN = range(4)


class PlatformReplay(PlatformState, EventLoop[PlatformOutcome]):
    """A replay of the jobs of a platform: its state, the policy, and the events that happen.

    Parameters
    ----------
    policy : PlatformPolicy
        Chooses where jobs go, and has the rules of the local schedulers; made afresh for each replay.
    platform, seed, record
        See `PlatformState`.

    Attributes
    ----------
    policy : PlatformPolicy
        What it was made with; what else it knows is in `PlatformState`.
    """

    def __init__(
        self,
        platform: Platform,
        policy: PlatformPolicy,
        *,
        seed: int = 0,
        record: bool = False,
    ) -> None:
        super().__init__(platform, policy.name, policy.rules, policy.displaces, seed, record)
        self.policy = policy
        self._rented: Counter[int] = Counter()
        self._used: list[list[Machine]] = [[] for _ in self.jobs]
        for job in self.jobs:
            self._push(job.arrival_s, _SUBMIT, job.index)

    # --------------------------------------------------------------------- loop

    def step(self) -> bool:
        """Handle the next event; False if all jobs have ended and all machines are given back."""
        if not self._events:
            return False
        time, kind, _, index, _, epoch = heapq.heappop(self._events)
        # The clock moves with events that count: those of an epoch that has passed are passed over.
        if kind == _FINISH:
            self.now_s = time
            self._finish(self.jobs[index])
        elif kind == _SUBMIT:
            self.now_s = time
            self._submit(self.jobs[index])
        elif kind == _BEGIN:
            cluster = self.schedulers[index]
            assert isinstance(cluster, ClusterScheduler)
            if cluster.epoch == epoch:
                self.now_s = time
                self._begin(cluster)
        elif self.machines[index].epoch == epoch:
            self.now_s = time
            self._hour_end(self.machines[index])
        return True

    def outcome(self) -> PlatformOutcome:
        """Return the outcome of an ended replay."""
        return platform_outcome(self)

    def _submit(self, job: PlatformJob) -> None:
        self._happens("submit", job=job.id)
        self._place(job)

    def _begin(self, cluster: ClusterScheduler) -> None:
        """Start the jobs of a queue that have processors in this minute."""
        self.counts["events"] += 1
        for job, end_s in cluster.begin(self.now_s):
            job.start_s = self.now_s
            job.cost += cluster.charge(job)
            self._push(end_s, _FINISH, job.index)
            self._note("start", job=job.id, resource=cluster.id)
        self._plan_start(cluster)

    def _finish(self, job: PlatformJob) -> None:
        job.end_s = self.now_s
        self.finished += 1
        scheduler = self.schedulers[job.resource]
        self._happens("finish", job=job.id, resource=scheduler.id)
        if isinstance(scheduler, CloudScheduler):
            machines = self._used[job.index]
            self._used[job.index] = []
            scheduler.give_back(machines)
            for machine in machines:
                self._push(machine.paid_until_s, _HOUR_END, machine.index, 0, machine.epoch)

    def _hour_end(self, machine: Machine) -> None:
        """Give a machine back that is idle at the end of an hour that is paid (section IV.C)."""
        cloud = self.schedulers[machine.resource]
        assert isinstance(cloud, CloudScheduler)
        cloud.drop(machine)
        machine.epoch += 1
        machine.terminated_s = self.now_s
        self._happens("terminate", vm=machine.name)

    # ---------------------------------------------------------------- decisions

    def _place(self, job: PlatformJob) -> None:
        """Find a resource for a new job, then for those that it pushes out of a queue, and so on.

        A job that is pushed out has less work than the one that does so (Algorithms 1 and 2, lines 21 and 32), so this
        comes to an end.
        """
        waiting = deque([(job, NOWHERE)])
        while waiting:
            job, sender = waiting.popleft()
            candidate = self.policy.choose(self, job, sender)
            self.counts["placements"] += 1
            if candidate is not None:
                fault = self._fault(candidate, job, sender)
                self._demand(not fault, f"what it chooses for {job.id} {fault}")
                self._accept(job, candidate)
                waiting.extend((self.jobs[index], candidate.resource) for index in candidate.displaced)
            elif sender == NOWHERE:
                self._accept(job, self._behind_all(job))
            else:
                self._stay(job, sender)

    def _fault(self, candidate: Candidate, job: PlatformJob, sender: int) -> str:
        """Say why a choice cannot be carried out; empty if it can. Whether a resource has offered it is not asked."""
        if not isinstance(candidate, Candidate):
            return f"must be a Candidate or None, not {candidate!r}"
        index, displaced = candidate.resource, candidate.displaced
        if not isinstance(index, int) or not 0 <= index < len(self.schedulers):
            return f"is on resource {index!r}, and there are 0 to {len(self.schedulers) - 1}"
        resource = self.schedulers[index]
        if index == sender:
            return f"is {resource.id}, which it has been pushed out of (None lets it stay there)"
        if candidate.last:
            return f"is behind all others on {resource.id}, which is for jobs that nobody takes (None)"
        most = MAX_MACHINES_PER_JOB if isinstance(resource, CloudScheduler) else 0
        if not isinstance(candidate.machines, int) or not min(most, 1) <= candidate.machines <= most:
            return f"is on {candidate.machines!r} machines of {resource.id}, which offers {min(most, 1)} to {most}"
        if not displaced:
            return ""
        if not self.displaces:
            return "displaces jobs, although the policy says that it displaces none (displaces = False)"
        if len(set(displaced)) < len(displaced) or not all(self._waits_on(index, other) for other in displaced):
            return f"displaces {displaced!r}: each once, and only jobs that wait on {resource.id}"
        if sum(self.jobs[other].size for other in displaced) >= job.size:
            return f"displaces as much work on {resource.id} as it has, or more"
        return ""

    def _waits_on(self, resource: int, index: int) -> bool:
        """True if there is such a job, and it waits on a resource."""
        if not isinstance(index, int) or not 0 <= index < len(self.jobs):
            return False
        return self.jobs[index].resource == resource and self.jobs[index].start_s < 0

    def _behind_all(self, job: PlatformJob) -> Candidate:
        """Let a new job that no resource offers to run be the last in the queue in which it ends first.

        The paper does not say what becomes of it. Clouds always offer something, so there are clusters only.
        """
        self.counts["unwanted"] += 1
        clusters = [scheduler for scheduler in self.schedulers if isinstance(scheduler, ClusterScheduler)]
        self._demand(bool(clusters), f"it takes no offer for {job.id}, and there is no cluster where it could wait")
        offers = [cluster.offer_behind_all(job, self.now_s) for cluster in clusters]
        return min(offers, key=lambda offer: (offer.end_s, offer.cost, offer.resource))

    def _accept(self, job: PlatformJob, candidate: Candidate) -> None:
        scheduler = self.schedulers[candidate.resource]
        job.resource = candidate.resource
        job.behind_all = candidate.last
        self.counts["good" if candidate.good else "bad"] += 1
        self.counts["displaced"] += len(candidate.displaced)
        for index in candidate.displaced:
            self.jobs[index].resource = NOWHERE
            self.jobs[index].displaced += 1
        self._note(
            "place",
            job=job.id,
            resource=scheduler.id,
            good=candidate.good,
            end_s=candidate.end_s,
            cost=candidate.cost,
            displaced=[self.jobs[index].id for index in candidate.displaced],
            **({"last": True} if candidate.last else {}),
        )
        if isinstance(scheduler, ClusterScheduler):
            scheduler.accept(job, candidate.displaced, self.now_s)
            self._plan_start(scheduler)
        else:
            self._run_in_cloud(job, scheduler, candidate.machines)

    def _stay(self, job: PlatformJob, sender: int) -> None:
        """Let a job that no other resource takes stay where it was, though it may be late (section IV.A).

        One that was behind all others is so again.
        """
        cluster = self.schedulers[sender]
        assert isinstance(cluster, ClusterScheduler)
        job.resource = sender
        self.counts["stays"] += 1
        self._note("stay", job=job.id, resource=cluster.id)
        cluster.join(job, self.now_s)
        self._plan_start(cluster)

    def _plan_start(self, cluster: ClusterScheduler) -> None:
        start_s = cluster.next_start_s()
        if start_s is not None:
            self._push(start_s, _BEGIN, cluster.index, 0, cluster.epoch)

    def _run_in_cloud(self, job: PlatformJob, cloud: CloudScheduler, count: int) -> None:
        machines = cloud.take_idle(count)
        machines += [self._rent(cloud) for _ in range(count - len(machines))]
        end_s = self.now_s + cloud.run_s(job, count)
        for machine in machines:
            machine.epoch += 1
            job.cost += cloud.charge(machine, end_s)
        job.start_s = self.now_s
        self._used[job.index] = machines
        self._push(end_s, _FINISH, job.index)
        self._note("start", job=job.id, resource=cloud.id, vms=[machine.name for machine in machines])

    def _rent(self, cloud: CloudScheduler) -> Machine:
        self._rented[cloud.index] += 1
        name = f"{cloud.id}-{self._rented[cloud.index]}"
        machine = Machine(len(self.machines), name, cloud.index, self.now_s, self.now_s)
        self.machines.append(machine)
        self._note("launch", vm=name, resource=cloud.id)
        return machine
