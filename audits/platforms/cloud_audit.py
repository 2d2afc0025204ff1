"""The part of the audit of a platform that is about clouds: machines, paid hours, charges."""

from __future__ import annotations

import heapq
from fractions import Fraction

from ...core.wording import counted
from ...traces.trace import Trace
from .books import CloudPlacement, Event, PlatformAuditBase, described
from .cloud_book import CloudBook, MachineBook
from .facts import PlatformFacts
from .job_book import JobBook


class CloudAudit(PlatformAuditBase):
    """Follows the machines of clouds."""

    def __init__(self, trace: Trace, facts: PlatformFacts) -> None:
        super().__init__(trace, facts)
        self._charged = Fraction(0)
        self._launched: list[MachineBook] = []  # for the job that is placed now
        self._hour_ends: list[tuple[int, str]] = []  # of machines that were idle once

    def _place_in_cloud(self, event: Event, job: JobBook, cloud: CloudBook) -> None:
        if event["displaced"]:
            message = (
                f"{described(event)} displaces {counted(len(event['displaced']), 'job')}; nothing waits for a cloud"
            )
            self._find("displacement", job.facts.id, len(event["displaced"]), "jobs", message)
        job.resource = cloud.facts.id
        self.in_cloud = CloudPlacement(job, cloud, event)

    def _never_started(self) -> None:
        assert self.in_cloud is not None
        job, cloud = self.in_cloud.job.facts, self.in_cloud.cloud.facts
        message = f"{job.id!r}, placed in {cloud.id} at {self.in_cloud.event['t']} s, does not start at once"
        self._find("placing", job.id, 1, "jobs", message)
        self.in_cloud = None

    def _launch(self, event: Event) -> None:
        name, resource = event["vm"], event["resource"]
        cloud = self.clouds.get(resource)
        if cloud is None:
            self._find("machines", name, 1, "machines", f"{described(event)} from {resource}, which is no cloud")
            return
        if name in self.machines:
            self._find("machines", name, 1, "machines", f"{described(event)}: there is a machine of this name already")
            return
        if self.in_cloud is None or self.in_cloud.cloud is not cloud:
            message = f"{described(event)}: no job is placed in {resource} that it could be for"
            self._find("machines", name, 1, "machines", message)
        machine = self.machines[name] = MachineBook(name, cloud, event["t"], event["t"])
        self._launched.append(machine)

    def _start_in_cloud(self, event: Event, job: JobBook, cloud: CloudBook) -> None:
        name, now = job.facts.id, event["t"]
        placement, self.in_cloud = self.in_cloud, None
        if placement is None or placement.job is not job or placement.cloud is not cloud:
            self.in_cloud = placement
            self._find("one-place", name, 1, "jobs", f"{described(event)}: it {job.where}, and is not placed there now")
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
            message = (
                f"{described(event)} on {counted(len(machines), 'machine')}, which {cloud.facts.id} does not offer"
            )
            self._find("promise", name, 1, "jobs", message)
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
            self._find("machines", name, 1, "machines", f"{described(event)} on {name}, which {reason}")
        if not event.get("vms"):
            self._find("machines", event["job"], 1, "machines", f"{described(event)} on no machine")
        return list(machines.values())

    def _check_machines(self, event: Event, cloud: CloudBook, machines: list[MachineBook]) -> None:
        """A job has the idle machines with the most paid time; others are rented only if there are no more of them."""
        taken = sorted((machine.paid_until_s for machine in machines if machine.idle), reverse=True)
        fresh = [machine for machine in machines if not machine.used]
        best = cloud.most_paid()[: len(machines)]
        if len(taken) < len(best):
            over = len(best) - len(taken)
            message = (
                f"{described(event)} on {counted(len(fresh), 'new machine')}, {over} of them in place of idle ones"
            )
            self._find("machines", event["job"], over, "machines", message)
        elif taken != best:
            less = sum(best) - sum(taken)
            message = f"{described(event)} on machines with {less} s less of paid time than idle ones have"
            self._find("machines", event["job"], less, "s", message)

    def _check_launched(self) -> None:
        """Machines are launched for the job that starts then."""
        for machine in self._launched:
            if not machine.used:
                message = f"{machine.name} is launched at {machine.launched_s} s, but not used"
                self._find("machines", machine.name, 1, "machines", message)
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
            if machine.idle and machine.paid_until_s == end_s and not machine.retained:
                machine.retained = True
                message = f"{name} is idle at the end of the hour that is paid ({end_s} s), but not given back"
                self._find("machines", name, 1, "machines", message)

    def _terminate(self, event: Event) -> None:
        name, now = event["vm"], event["t"]
        machine = self.machines.get(name)
        if machine is None or machine.terminated_s is not None:
            reason = "has not been launched" if machine is None else f"was given back at {machine.terminated_s} s"
            self._find("machines", name, 1, "machines", f"{described(event)}: it {reason}")
            return
        if machine.job is not None:
            self._find("machines", name, 1, "machines", f"{described(event)}: it runs {machine.job!r}")
        elif now != machine.paid_until_s:
            off = abs(now - machine.paid_until_s)
            self._find("machines", name, off, "s", f"{described(event)}; it is paid until {machine.paid_until_s} s")
        machine.terminated_s = now
        machine.cloud.idle.pop(name, None)

    def _check_bills(self) -> None:
        """All machines are given back, and cost what jobs are charged for them."""
        for name, machine in self.machines.items():
            if machine.terminated_s is None:
                self._find("bill", name, 1, "machines", f"{name} is never given back")
        bill = sum((machine.cost for machine in self.machines.values()), Fraction(0))
        if bill != self._charged:
            message = (
                f"the machines cost {float(bill):.12g}, the jobs that had them are charged {float(self._charged):.12g}"
            )
            self._find("bill", "", abs(bill - self._charged), "units of cost", message)
