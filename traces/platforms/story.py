"""The story of a replay on a hybrid platform: arrivals, placements, displaced jobs, machines of clouds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...core.errors import SpotbagError, show_value
from ...core.wording import counted, listed, shortened
from ...instances.platforms.entries import MalleableJob
from ...instances.platforms.platform import Platform
from ..narrator import Event, Narrator, idle_text
from ..trace import Trace


class PlatformNarrator(Narrator):
    """Describes a replay on a hybrid platform, and follows its jobs and machines.

    Raises
    ------
    SpotbagError
        If the trace names a resource, a job or a machine that does not exist.
    """

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace)
        self.platform = Platform.parse_document(trace.instance, "platform of the trace")
        self.jobs = {job.id: job for job in self.platform.jobs}
        self.resources = {resource.id for resource in self.platform.resources}
        self.displaced_from: dict[str, str] = {}
        self.launched: set[str] = set()
        self.used_by: dict[str, Sequence[str]] = {}
        self.idle_since_s: dict[str, int] = {}
        self.end_s: dict[str, int] = {}
        self.ran_on: dict[str, str] = {}

        self._demand_known()

    def _demand_known(self) -> None:
        """Refuse a trace that names a missing resource, job or machine."""
        launched: set[str] = set()
        for number, event in enumerate(self.trace.events, 1):
            if event["event"] == "launch":
                launched.add(event["vm"])
            known = {"resource": self.resources, "job": self.jobs, "vm": launched}
            unknown = [event[key] for key, names in known.items() if key in event and event[key] not in names]
            unknown += [name for name in event.get("displaced", ()) if name not in self.jobs]
            unknown += [name for name in event.get("vms") or () if name not in launched]
            if unknown:
                raise SpotbagError(
                    f"event {number} of the trace ({event['event']!r} at {event['t']} s): {show_value(unknown[0])} "
                    "is not known; 'spotbag audit' says more"
                )

    def heading(self) -> str:
        """Name the platform, the policy and the seed."""
        run = self.trace.run
        kinds: Counter[str] = Counter(resource.kind for resource in self.platform.resources)
        names = {"dedicated": "dedicated cluster", "allocated": "allocated cluster", "cloud": "cloud"}
        on = ", ".join(counted(kinds[kind], name) for kind, name in names.items() if kinds[kind])
        return (
            f"{shortened(self.platform.name, 60)}, policy {run['policy']}, seed {run['seed']}: "
            f"{counted(len(self.jobs), 'job')} on {on}"
        )

    # ------------------------------------------------------------- the moments

    def moment(self, time_s: int, events: Sequence[Event]) -> None:
        """Add sentences on the events of a second in their order; starts, and machines given back, are put together."""
        starts: dict[str, list[str]] = {}
        gone: list[str] = []
        arriving: str | None = None
        for event in events:
            kind = event["event"]
            if kind == "finish":
                self._describe_finish(time_s, event)
            elif kind == "submit":
                arriving = event["job"]
            elif kind in ("place", "stay"):
                self._describe_place(time_s, event, event["job"] == arriving)
                arriving = None
            elif kind == "launch":
                self.launched.add(event["vm"])
            elif kind == "terminate":
                gone.append(event["vm"])
            elif event.get("vms"):
                self._describe_cloud_start(time_s, event)
            else:
                starts.setdefault(event["resource"], []).append(event["job"])
            # Machines given back one after the other are one line, which stands before what follows in the same second.
            if gone and (kind != "terminate" or event is events[-1]):
                self._describe_gone(time_s, gone)
                gone = []
        for resource, jobs in starts.items():
            self.say(time_s, f"{resource} starts {listed(jobs, 'job')}")

    def _describe_finish(self, time_s: int, event: Event) -> None:
        name, resource = event["job"], event["resource"]
        self.end_s[name], self.ran_on[name] = time_s, resource
        early = self.jobs[name].deadline_s - time_s
        when = f"{early:,} s before its deadline" if early >= 0 else f"{-early:,} s after its deadline"
        self.say(time_s, f"{resource} ends {name}, {when}")
        self.idle_since_s |= dict.fromkeys(self.used_by.pop(name, ()), time_s)

    def _describe_place(self, time_s: int, event: Event, arrives: bool) -> None:
        job, resource = self.jobs[event["job"]], event["resource"]
        sender = self.displaced_from.pop(job.id, None)
        if arrives:
            what = f"{job.id} arrives ({_wants(job)})"
        else:
            what = job.id if sender is None else f"{job.id}, displaced from {sender}"
        if event["event"] == "stay":
            self.say(time_s, f"{what}, stays there: nobody else takes it")
            return
        self.displaced_from |= dict.fromkeys(event["displaced"], resource)
        behind = f"nobody offers to run it; behind all others to {resource}" if event.get("last") else f"to {resource}"
        pushes = f"; it displaces {listed(event['displaced'], 'job')}" if event["displaced"] else ""
        self.say(time_s, f"{what}: {behind}, {_promise(event, job)}{pushes}")

    def _describe_cloud_start(self, time_s: int, event: Event) -> None:
        machines = event["vms"]
        new = sum(name in self.launched for name in machines)
        # A machine is new for the first job that it runs only.
        self.launched.difference_update(machines)
        self.used_by[event["job"]] = machines
        for name in machines:
            self.idle_since_s.pop(name, None)
        rented = "" if not new else ", new" if new == len(machines) else f", {new:,} of them new"
        on = f"{counted(len(machines), 'machine')} ({listed(machines, 'machine')}{rented})"
        self.say(time_s, f"{event['resource']} starts {event['job']} on {on}")

    def _describe_gone(self, time_s: int, gone: Sequence[str]) -> None:
        idle = idle_text(sum(time_s - self.idle_since_s.pop(name, time_s) for name in gone), len(gone))
        machines = listed(gone, "machine")
        self.say(time_s, f"given back with the hour that is paid: {machines}" + (f", {idle}" if idle else ""))

    # -------------------------------------------------------------- the ending

    def outcome(self) -> list[str]:
        """Sum the run up; list the jobs that were late."""
        end = self.trace.end
        last_s = max(self.end_s.values(), default=0)
        late = f"{counted(end['late_jobs'], 'job')} late, by {end['delay_s']:,} s together"
        over = f"{counted(end['overspent_jobs'], 'job')} over budget, by {_amount(end['overspend'])} together"
        missed = [late] * (end["late_jobs"] > 0) + [over] * (end["overspent_jobs"] > 0)
        placed = end["good"] + end["bad"]
        counts = [f"{counted(placed, 'placement')}, {end['good']:,} of them good"]
        if end["displaced"]:
            counts.append(f"{counted(end['displaced'], 'job')} displaced, {end['stays']:,} of which stayed")
        if end["unwanted"]:
            counts.append(f"{counted(end['unwanted'], 'job')} that nobody offered to run")
        if end["machines"]:
            counts.append(f"{counted(end['machines'], 'machine')} rented for {counted(end['vm_hours'], 'hour')}")
        lines = [
            f"In the end: {end['finished']:,} of {counted(len(self.jobs), 'job')} ended by {last_s:,} s, for "
            f"{_amount(end['cost'])} units of cost; {', '.join(missed) or 'all deadlines and budgets kept'}.",
            f"Over the run: {'; '.join(counts)}.",
        ]
        delays = {name: time_s - self.jobs[name].deadline_s for name, time_s in self.end_s.items()}
        worst = sorted((name for name, delay in delays.items() if delay > 0), key=lambda name: -delays[name])
        if worst:
            stated = [f"{name} by {delays[name]:,} s on {self.ran_on[name]}" for name in worst]
            lines.append(f"Late: {listed(stated, 'job')}.")
        return lines


def _wants(job: MalleableJob) -> str:
    return (
        f"{counted(job.size_processor_minutes, 'processor-minute')}, priority {job.priority}, due by "
        f"{job.deadline_s:,} s, budget {_amount(job.budget)}"
    )


def _promise(event: Event, job: MalleableJob) -> str:
    """Phrase for the promised end and cost of a placement."""
    late_s = event["end_s"] - job.deadline_s
    text = f"to end at {event['end_s']:,} s for {_amount(event['cost'])}"
    if event["good"]:
        return text
    missed = [f"{late_s:,} s late"] * (late_s > 0)
    over = _amount(max(event["cost"] - job.budget, 0))
    # By what is shown: an excess that rounds to nothing would be no reason to a reader.
    if over != "0":
        missed.append(f"{over} over its budget")
    return f"{text}, {' and '.join(missed) or 'not good'}"


def _amount(cost: float) -> str:
    """Units of cost: ``480``, ``1,234.5``."""
    text = f"{cost:,.2f}"
    return text.rstrip("0").rstrip(".")
