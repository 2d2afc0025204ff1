"""The story of a replay of a stream: arrivals, queues, suspensions, deadlines of jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...core.errors import SpotbagError
from ...core.wording import counted, counted_list, listed, prefix_and_number, shortened
from ..narrator import Event, TaskNarrator, by_kind, end_of_text, idle_text, missed_text
from ..trace import Trace
from ..vm_history import Run

_DECIMALS = 6
"""Times are whole microseconds, and so are what lies between them."""


@dataclass(slots=True)
class _Job:
    """A job, and how far it has come."""

    id: str
    application: str
    deadline_s: int
    tasks: list[str]
    done: int = 0

    @property
    def left(self) -> int:
        """Number of unfinished tasks."""
        return len(self.tasks) - self.done


class StreamNarrator(TaskNarrator):
    """Describes a replay of a stream, and follows its jobs."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace)
        history = self.history
        self.jobs: dict[str, _Job] = {}
        # The instance has the tasks job by job, in the order in which the run has the jobs.
        names = list(history.instance.task_index)
        place = 0
        for job in trace.run["jobs"]:
            tasks = names[place : place + job["n_tasks"]]
            place += len(tasks)
            self.jobs[job["id"]] = _Job(job["id"], job["application"], job["deadline_s"], tasks)
        self.job_of = {task: job for job in self.jobs.values() for task in job.tasks}
        self.deadlines = sorted(self.jobs.values(), key=lambda job: job.deadline_s)
        self.runs_ended: dict[tuple[str, int], Run] = {(run.task, run.end_s): run for run in history.runs}
        self.busy_until_s: dict[str, int] = {}
        self.returned_s: dict[str, tuple[int, str]] = {}

    def heading(self) -> str:
        """Name the stream, the policy and the seed."""
        return (
            f"{shortened(self.history.instance.name, 60)}, policy {self.trace.run['policy']}, "
            f"seed {self.trace.run['seed']}: {counted(len(self.jobs), 'job')}, {counted(self.n_tasks, 'task')}, "
            f"last deadline {self.deadlines[-1].deadline_s:,} s"
        )

    def pass_deadlines(self, before_s: int) -> None:
        """Add sentences on the unfinished tasks of jobs whose deadlines have passed."""
        while self.deadlines and self.deadlines[0].deadline_s < before_s:
            job = self.deadlines.pop(0)
            if job.left:
                self.say(job.deadline_s, f"the deadline of {job.id}: {counted(job.left, 'task')} still to finish")

    # ------------------------------------------------------------- the moments

    def moment(self, time_s: int, events: Sequence[Event]) -> None:
        """Add sentences on a second: outside events, actions of the policy, ends of tasks."""
        kinds = by_kind(events)
        self._describe_finishes(time_s, kinds.get("finish", []))
        for event in kinds.get("submit", []):
            job = self._job(event)
            what = f"{counted(len(job.tasks), 'task')} of {shortened(job.application, 40)}"
            self.say(time_s, f"{job.id} arrives: {what}, due by {job.deadline_s:,} s")
        # Policies may ask for a call each second: one that changes nothing is not worth a line.
        if "wake" in kinds and kinds.keys() & {"launch", "assign", "return", "suspend", "terminate"}:
            self.say(time_s, "the policy is woken, as it had asked")
        if launches := kinds.get("launch", []):
            names = listed([event["vm"] for event in launches], "VM")
            self.say(time_s, self.launches_text(launches, [event["type"] for event in launches], f" ({names})"))
        for event in kinds.get("suspend", []):
            run = self.runs_ended.get((event["task"], time_s))
            ran = "" if run is None else f" after {round(time_s - run.start_s, _DECIMALS):,} s"
            self.say(time_s, f"{event['vm']} suspends {event['task']}{ran}")
            self.busy_until_s[event["vm"]] = time_s
        self._describe_returns(time_s, kinds.get("return", []))
        self._describe_assignments(time_s, kinds.get("assign", []))
        self._describe_ends(time_s, kinds)

    def _job(self, event: Event) -> _Job:
        job = self.jobs.get(event["job"])
        if job is None:
            raise SpotbagError(
                f"the run of the trace has no job {event['job']!r}, which arrives at {event['t']} s; "
                "'spotbag audit' says more"
            )
        return job

    def _describe_finishes(self, time_s: int, finishes: Sequence[Event]) -> None:
        for event in finishes:
            self.busy_until_s[event["vm"]] = time_s
            job = self.job_of.get(event["task"])
            if job is None:
                continue
            job.done += 1
            if not job.left:
                early = round(job.deadline_s - time_s, _DECIMALS)
                when = f"{early:,} s before its deadline" if early >= 0 else f"{-early:,} s after its deadline"
                self.say(time_s, f"{job.id} is done, {when}")

    def _describe_returns(self, time_s: int, returns: Sequence[Event]) -> None:
        if returns:
            self.returned_s |= {event["task"]: (time_s, event["vm"]) for event in returns}
            sources = Counter(event["vm"] for event in returns)
            parts = [f"{counted(number, 'task')} from {vm}" for vm, number in sources.items()]
            self.say(time_s, f"back to the pool: {listed(parts, 'VM')}")

    def _describe_assignments(self, time_s: int, assignments: Sequence[Event]) -> None:
        if assignments:
            targets = Counter((event["vm"], event.get("position") is not None) for event in assignments)
            parts = [
                f"{counted(number, 'task')} to {'the front of ' * early}{vm}" for (vm, early), number in targets.items()
            ]
            self.say(time_s, f"assigned: {listed(parts, 'VM')}")

    def _describe_ends(self, time_s: int, kinds: Mapping[str, list[Event]]) -> None:
        gone = sorted([event["vm"] for event in kinds.get("terminate", [])], key=prefix_and_number)
        if not gone:
            return
        names = listed(gone, "VM")
        if time_s == self.trace.end["t"]:
            over = "the run ends" if self.trace.end["unfinished"] else "all jobs are done"
            self.say(time_s, f"{over}; {counted(len(gone), 'VM')} terminated: {names}")
            return
        block_ended = {event["vm"] for event in kinds.get("block-end", [])}
        end = end_of_text("block", len(gone)) if block_ended.issuperset(gone) else ""
        idle = idle_text(round(sum(self._idle_s(vm, time_s) for vm in gone), _DECIMALS), len(gone))
        self.say(time_s, f"{names} terminated{end}" + (f" ({idle})" if idle else ""))

    def _idle_s(self, vm: str, time_s: int) -> int:
        """Seconds since a VM that ends ran something, or was ready."""
        ready_s = self.history.vms[vm].ready_s
        return 0 if ready_s is None else time_s - max(self.busy_until_s.get(vm, 0), ready_s)

    # -------------------------------------------------------------- the ending

    def outcome(self) -> list[str]:
        """Sum the stream up; list the tasks that were late by job, and those unfinished by reason."""
        end, missed = self.trace.end, missed_text(self.trace)
        verdict = f"deadlines missed ({missed})" if missed else "all deadlines met"
        counts = [f"{counted(len(self.history.vms), 'VM')} rented"]
        if end["blocks"]:
            blocks = ", ".join(f"{number:,} {vm_type}" for vm_type, number in end["blocks"].items() if number)
            counts.append(f"{counted(sum(end['blocks'].values()), 'block')} billed ({blocks})")
        if end["idle_s"]:
            counts.append(f"{end['idle_s']:,} s idle")
        counts.append(counted(end["suspensions"], "suspension"))
        counts.append(f"{counted(end['returns'], 'return')} to the pool")
        return [
            f"In the end: {self.finished_text()}, for ${end['cost_usd']:.4f}; {verdict}.",
            f"Over the stream: {', '.join(counts)}.",
            *self._late_lines(),
            *self._unfinished_lines(),
        ]

    def _late_lines(self) -> list[str]:
        ends = {run.task: run.end_s for run in self.history.runs if run.ending == "finished"}
        lines = []
        for job in self.jobs.values():
            late = [ends[task] - job.deadline_s for task in job.tasks if ends.get(task, 0) > job.deadline_s]
            if late:
                of = counted(len(job.tasks), "task")
                lines.append(f"Late: {job.id}: {len(late):,} of {of}, by up to {round(max(late), _DECIMALS):,} s.")
        return lines

    def _unfinished_lines(self) -> list[str]:
        by_reason: dict[str, list[str]] = {}
        for task in self.trace.end["unfinished"]:
            job = self.job_of.get(task)
            of = "" if job is None else f" of {job.id}"
            back = self.returned_s.get(task)
            reason = "left in the pool" if back is None else f"back in the pool since {back[0]:,} s, from {back[1]}"
            by_reason.setdefault(f"{of}: {reason}", []).append(task)
        return [f"Unfinished: {counted_list(tasks)}{reason}." for reason, tasks in by_reason.items()]
