"""The story of a replay: what happened, in lines that a person reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ...core.quantities import SECONDS_PER_HOUR
from ...core.wording import (
    MOST_NAMED,
    counted,
    counted_list,
    listed,
    moments_text,
    percent,
    prefix_and_number,
    shortened,
)
from ..narrator import Event, TaskNarrator, by_kind, end_of_text, idle_text, missed_text
from ..trace import Trace
from ..vm_history import History, Move, Run, awake

_INTERRUPTIONS = {"hibernate": "hibernates", "stop": "is stopped", "reclaim": "is terminated"}
"""What interruptions do to the VMs of a type, by the kind of the event."""

_RETURNS = {"resume": "resumes", "restart": "boots again"}
"""What else happens to them."""

_WITH_LOADS = frozenset({*_INTERRUPTIONS, "resume", "restart", "notice"})


class BagNarrator(TaskNarrator):
    """Describes the replay of a plan of a bag, and follows which task is where."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace)
        history = self.history
        self.running: Counter[str] = Counter()
        self.waiting: Counter[str] = Counter(history.first_vm.values())
        self.started: set[str] = set()
        self.restarted: set[str] = set()  # tasks that ran until the migration of this moment
        self.loads: dict[str, tuple[int, int]] = {}  # of VMs that hibernate or resume at this moment
        self.vm_of = dict(history.first_vm)
        self.done = 0
        self.unplaced = self.n_tasks - len(history.first_vm)
        self.down_since: dict[str, int] = {}
        self.trigger_s: dict[str, int] = {}
        self.moves = iter(history.moves)
        self.deadline_passed = False
        self.last_end_s: dict[str, int] = {}
        for run in history.runs:
            self.last_end_s[run.vm] = max(self.last_end_s.get(run.vm, 0), run.end_s)

    def pass_deadlines(self, before_s: int) -> None:
        """Say how many tasks the deadline finds unfinished."""
        deadline_s, left = self.history.instance.deadline_s, self.n_tasks - self.done
        if self.deadline_passed or before_s <= deadline_s:
            return
        self.deadline_passed = True
        if left:
            self.say(deadline_s, f"the deadline: {counted(left, 'task')} still to finish")

    def heading(self) -> str:
        """Name the instance, the policy, the day and the limits."""
        instance, run = self.history.instance, self.trace.run
        day = run["timeline"]["name"] + ("" if run["hibernation"] else ", nothing hibernates")
        limits = f"deadline {instance.deadline_s:,} s"
        if instance.d_spot_s is not None:
            limits = f"D_spot {instance.d_spot_s:,} s, {limits}"
        return (
            f"{shortened(instance.name, 60)}, policy {run['policy']}, day {run['day']} ({shortened(day, 60)}): "
            f"{counted(instance.n_tasks, 'task')}, {limits}"
        )

    # ------------------------------------------------------------- the moments

    def moment(self, time_s: int, events: Sequence[Event]) -> None:
        """Describe what comes from outside, what the policy makes of it, and what ends."""
        kinds = by_kind(events)
        moves: list[Move] = []
        self.loads, self.restarted = {}, set()
        for event in events:
            self._follow(event, moves)
        migrated = [move for move in moves if move.kind != "steal"]
        stolen = [move for move in moves if move.kind == "steal"]
        targets = {move.target for move in migrated if move.kind == "new"}  # the migration names them
        launches = [event for event in kinds.get("launch", []) if event["vm"] not in targets]
        if launches:
            self.say(time_s, self.launches_text(launches, [f"{event['type']} {event['market']}" for event in launches]))
        self._describe_market(time_s, kinds)
        back = {verb: _names(kinds.get(kind, [])) for kind, verb in _RETURNS.items()}
        for verb, vms in back.items():
            self._describe_resumes(time_s, [vm for vm in vms if vm in self.down_since], verb)
        self._describe_notices(time_s, kinds.get("notice", []))
        for kind, verb in _INTERRUPTIONS.items():
            if kinds.get(kind):
                self._describe_interruptions(time_s, verb, _names(kinds[kind]), kinds.get("trigger-set", []))
        for verb, vms in back.items():  # those that come back in the second in which they were interrupted
            self._describe_resumes(time_s, [vm for vm in vms if self.down_since.get(vm) == time_s], verb)
        interrupted = [event for kind in _INTERRUPTIONS for event in kinds.get(kind, [])]
        self._describe_new_triggers(time_s, kinds.get("trigger-set", []), interrupted)
        self._describe_preemptions(time_s, kinds.get("preempt", []))
        self._describe_migrations(time_s, migrated, kinds.get("trigger", []), kinds.get("stranded", []))
        self._describe_steals(time_s, stolen, kinds)
        self._describe_ends(time_s, kinds)

    def _follow(self, event: Event, moves: list[Move]) -> None:
        """Count what runs and waits where; note the load of a VM when it hibernates or resumes."""
        kind = event["event"]
        if kind == "finish":
            self.running[event["vm"]] -= 1
            self.started.discard(event["task"])
            self.done += 1
        elif kind == "start":
            self.running[event["vm"]] += 1
            self.waiting[event["vm"]] -= 1
            self.started.add(event["task"])
        elif kind == "preempted":
            self.running[event["vm"]] -= 1
            self.waiting[event["vm"]] += 1
            self.started.discard(event["task"])
        elif kind in _WITH_LOADS:
            vm = event["vm"]
            self.loads[vm] = (self.running[vm], self.waiting[vm])
            if kind == "restart":  # what ran there waits
                self.started -= {task for task in self.started if self.vm_of.get(task) == vm}
                self.waiting[vm] += self.running[vm]
                self.running[vm] = 0
        elif kind in ("migrate", "steal"):
            move = next(self.moves)
            moves.append(move)
            if move.task in self.started:
                self.running[move.source] -= 1
                self.started.discard(move.task)
                self.restarted.add(move.task)
            else:
                self.waiting[move.source] -= 1
            self.waiting[move.target] += 1
            self.vm_of[move.task] = move.target

    def _describe_market(self, time_s: int, kinds: Mapping[str, list[Event]]) -> None:
        for event in kinds.get("price", []):
            self.say(time_s, f"{event['type']} {event['market']} costs ${event['usd_per_hour']:g} an hour")
        for event in kinds.get("capacity", []):
            n = event["vms"]
            self.say(
                time_s, f"{event['type']}: at most {counted(n, 'spot VM')}" if n else f"{event['type']}: no spot VMs"
            )

    def _describe_notices(self, time_s: int, notices: Sequence[Event]) -> None:
        until: dict[int, list[str]] = {}
        for event in notices:
            until.setdefault(event["until_s"], []).append(event["vm"])
        for until_s, vms in until.items():
            for vm_type, group in self._by_type(vms).items():
                self.say(time_s, f"{vm_type} will be interrupted at {until_s:,} s: {self._vms_text(group)}")

    def _describe_preemptions(self, time_s: int, preemptions: Sequence[Event]) -> None:
        for vm, number in Counter(_names(preemptions)).items():
            self.say(time_s, f"{vm}: {counted(number, 'task')} preempted")

    def _describe_resumes(self, time_s: int, vms: list[str], verb: str) -> None:
        for vm_type, group in self._by_type(vms).items():
            downs = {time_s - self.down_since[vm] for vm in group}
            for vm in group:
                self.trigger_s.pop(vm, None)
            after = f" after {moments_text(downs)}" if len(downs) == 1 else ""
            self.say(time_s, f"{vm_type} {verb}{after}: {self._vms_text(group)}")
            for vm in group:
                del self.down_since[vm]

    def _describe_interruptions(self, time_s: int, verb: str, vms: list[str], triggers: Sequence[Event]) -> None:
        set_now = {event["vm"]: event["at_s"] for event in triggers}
        for vm_type, group in self._by_type(vms).items():
            self.down_since |= dict.fromkeys(group, time_s)
            moments = {vm: set_now[vm] for vm in group if vm in set_now}
            self.trigger_s |= moments
            progress = f"{self.done:,} of {counted(self.n_tasks, 'task')} done"
            trigger = f"; {_trigger_text(moments, len(group))}" if moments else ""
            self.say(time_s, f"{vm_type} {verb}: {self._vms_text(group)}{trigger} ({progress})")

    def _describe_new_triggers(self, time_s: int, triggers: Sequence[Event], hibernations: Sequence[Event]) -> None:
        """Describe the trigger times that are set again, for VMs that are interrupted already."""
        now = set(_names(hibernations))
        changes: dict[tuple[int | None, int], list[str]] = {}
        for event in triggers:
            vm, before = event["vm"], self.trigger_s.get(event["vm"])
            if vm in now or before == event["at_s"]:
                continue
            self.trigger_s[vm] = event["at_s"]
            changes.setdefault((before, event["at_s"]), []).append(vm)
        for (before, at_s), vms in changes.items():
            earlier = "" if before is None else f" (was {before:,} s)"
            self.say(time_s, f"{listed(vms, 'VM')}: migration trigger now at {at_s:,} s{earlier}")

    def _describe_migrations(
        self, time_s: int, migrated: list[Move], triggers: Sequence[Event], stranded: Sequence[Event]
    ) -> None:
        stay = {event["vm"]: event["tasks"] for event in stranded}
        reached = set(_names(triggers))
        sources = dict.fromkeys([*_names(triggers), *(move.source for move in migrated), *stay])
        by_source: dict[str, list[Move]] = {vm: [] for vm in sources}
        for move in migrated:
            by_source[move.source].append(move)
        for vm, moves in by_source.items():
            says = []
            if moves:
                says.append(f"{counted(len(moves), 'task')} migrated{self._targets_text(moves)}")
            if stay.get(vm):
                stays = "stays" if stay[vm] == 1 else "stay"
                says.append(f"no place for {counted(stay[vm], 'task')}, which {stays} on it")
            if not says:
                says.append("no task to move")
            start = f"{vm}: migration trigger reached; " if vm in reached else f"{vm}: "
            self.say(time_s, start + "; ".join(says))

    def _targets_text(self, moves: list[Move]) -> str:
        """Say where tasks go, and what is special about some."""
        kinds: dict[str, str] = {}
        numbers: Counter[str] = Counter()
        for move in moves:
            kinds.setdefault(move.target, move.kind)
            numbers[move.target] += 1
        alike: dict[tuple[int, str], list[str]] = {}
        for vm, number in numbers.items():
            alike.setdefault((number, kinds[vm]), []).append(vm)
        targets = [
            f"{number}{' each' if len(vms) > 1 else ''} to {kind} {listed(vms, 'VM')}"
            for (number, kind), vms in alike.items()
        ]
        one = len(numbers) == 1
        where = f" to {kinds[moves[0].target]} {moves[0].target}" if one else f": {', '.join(targets)}"
        notes = []
        retained = [move.saved for move in moves if move.saved]
        if retained:
            goes = "goes on from its checkpoint" if len(retained) == 1 else "go on from their checkpoints"
            span = percent(min(retained))
            if len({percent(saved) for saved in retained}) > 1:
                span = f"{span.removesuffix(' %')} to {percent(max(retained))}"
            notes.append(f"{len(retained)} {goes} at {span}")
        restarted = sum(move.task in self.restarted and not move.saved for move in moves)
        if restarted:
            notes.append(f"{restarted} {'starts' if restarted == 1 else 'start'} again from nothing")
        baseline = sum(self._runs_at_baseline(move) for move in moves)
        if baseline:
            notes.append(f"{baseline} in baseline mode")
        late = sum(move.late for move in moves)
        if late:
            notes.append(f"{late} can no longer meet the deadline")
        if len(moves) == 1:
            notes = [note.removeprefix("1 ") for note in notes]
        return where + (f" ({'; '.join(notes)})" if notes else "")

    def _runs_at_baseline(self, move: Move) -> bool:
        return move.next_run is not None and self.history.runs[move.next_run].baseline

    def _describe_steals(self, time_s: int, stolen: list[Move], kinds: Mapping[str, list[Event]]) -> None:
        thieves: dict[str, list[Move]] = {}
        for move in stolen:
            thieves.setdefault(move.target, []).append(move)
        cycle_ended = set(_names(kinds.get("cycle-end", [])))
        for vm, moves in thieves.items():
            victims = Counter(move.source for move in moves)
            sources = listed([_from_text(victim, number, len(victims)) for victim, number in victims.items()], "VM")
            baseline = sum(self._runs_at_baseline(move) for move in moves)
            mode = " (in baseline mode)" if baseline == len(moves) else ""
            when = "idle at the end of its cycle" if vm in cycle_ended else "idle"
            self.say(time_s, f"{vm} {when}: steals {counted(len(moves), 'task')} from {sources}{mode}")
        gone = set(_names(kinds.get("terminate", [])))
        vain = [event["vm"] for event in kinds.get("steal-attempt", []) if not event["stolen"]]
        vain = [vm for vm in dict.fromkeys(vain) if vm not in gone and vm not in thieves]
        if vain:
            finds = "finds" if len(vain) == 1 else "find"
            self.say(time_s, f"{listed(vain, 'VM')} idle: {finds} nothing to steal")

    def _describe_ends(self, time_s: int, kinds: Mapping[str, list[Event]]) -> None:
        gone = sorted(_names(kinds.get("terminate", [])), key=prefix_and_number)
        if not gone:
            return
        if time_s == self.trace.end["t"]:
            self.say(time_s, f"the bag ends; {counted(len(gone), 'VM')} terminated: {listed(gone, 'VM')}")
            return
        cycle_ended = set(_names(kinds.get("cycle-end", [])))
        for at_cycle in (True, False):
            group = [vm for vm in gone if (vm in cycle_ended) == at_cycle]
            if not group:
                continue
            end = end_of_text("cycle", len(group)) if at_cycle else ""
            idle = self._idle_text(group, time_s)
            self.say(time_s, f"{listed(group, 'VM')} terminated{end}{idle or ', its tasks done' * (len(group) == 1)}")

    def _idle_text(self, vms: list[str], time_s: int) -> str:
        """Say how long VMs were idle since their last task, and what that cost."""
        seconds, usd = 0, 0.0
        for vm in vms:
            idle, paid = self._idle_s(vm, time_s)
            seconds += idle
            usd += paid * self.history.offer_of(vm).price_usd_per_s
        text = idle_text(seconds, len(vms))
        return f" ({text}, ${usd:.4f})" if text else ""

    def _idle_s(self, vm: str, time_s: int) -> tuple[int, int]:
        """Seconds that a VM was idle and awake since its last task, and how many of these are paid."""
        life = self.history.vms[vm]
        ready_s = life.ready_s if life.ready_s is not None else time_s
        since = max(self.last_end_s.get(vm, 0), ready_s)
        idle = sum(end - start for start, end in awake(life, since, time_s))
        if self.trace.run["billing"]["first_hour_free"] and life.hibernated:
            first = life.hibernated[0][0]
            if first - ready_s < SECONDS_PER_HOUR:
                return idle, sum(end - start for start, end in awake(life, max(since, first), time_s))
        return idle, idle

    # ------------------------------------------------------------ who is where

    def _by_type(self, vms: list[str]) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {}
        for vm in vms:
            groups.setdefault(self.history.vms[vm].vm_type, []).append(vm)
        return groups

    def _vms_text(self, vms: list[str]) -> str:
        """Say which VMs, and what they have to do."""
        if len(vms) == 1:
            return f"{vms[0]} {self._load_text(vms)}"
        groups: dict[str, list[str]] = {}
        for vm in vms:
            groups.setdefault(self._load_text([vm]), []).append(vm)
        if len(groups) == 1:
            load = next(iter(groups))
            return f"{counted(len(vms), 'VM')} ({listed(vms, 'VM')}), {'all' if load == 'idle' else 'each'} {load}"
        if len(groups) > MOST_NAMED:
            return f"{counted(len(vms), 'VM')}, together {self._load_text(vms)}"
        parts = [
            f"{listed(group, 'VM')} {'each ' if len(group) > 1 and load != 'idle' else ''}{load}"
            for load, group in groups.items()
        ]
        return f"{counted(len(vms), 'VM')} ({'; '.join(parts)})"

    def _load_text(self, vms: list[str]) -> str:
        running = sum(self.loads[vm][0] for vm in vms)
        waiting = sum(self.loads[vm][1] for vm in vms)
        # Tasks that never start nor move stand in no event: they may wait on any VM that hibernates to the end.
        more = self.unplaced and any(self._hibernates_to_the_end(vm) for vm in vms)
        loads = [f"{counted(running, 'task')} running"] if running else []
        if waiting:
            loads.append(f"{waiting:,} waiting" if loads else f"{counted(waiting, 'task')} waiting")
        if more:
            loads.append("others that never start")
        return f"with {' and '.join(loads)}" if loads else "idle"

    def _hibernates_to_the_end(self, vm: str) -> bool:
        life = self.history.vms[vm]
        return bool(life.hibernated) and life.hibernated[-1][1] == self.trace.end["t"]

    # -------------------------------------------------------------- the ending

    def outcome(self) -> list[str]:
        """Sum the day up; list the tasks that were late or never finished, by reason."""
        trace, end = self.trace, self.trace.end
        verdict = deadline_text(trace, self.history)
        lines = [f"In the end: {self.finished_text()}, for ${end['cost_usd']:.4f}; {verdict}."]
        more = f", {counted(end['on_demand_started'], 'VM')} started during the day" if end["on_demand_started"] else ""
        saved = f"; checkpoints saved {end['cpu_time_saved_s']:,.0f} s of work" if end["recoveries"] else ""
        lines.append(f"Over the day: {counts_text(trace)}{more}{saved}.")
        return lines + self._late_lines() + self._unfinished_lines()

    def _late_lines(self) -> list[str]:
        deadline_s = self.history.instance.deadline_s
        known = {move.task: move for move in self.history.moves if move.late}
        moved = {move.task: move for move in self.history.moves}
        by_reason: dict[str, list[str]] = {}
        late = [run for run in self.history.runs if run.ending == "finished" and run.end_s > deadline_s]
        for run in sorted(late, key=lambda run: -run.end_s):
            move = known.get(run.task)
            if move is not None and move.time_s <= run.start_s:
                reason = f"no VM could finish in time when {move.source} was emptied at {move.time_s:,} s"
            else:
                reason = self._delay_text(run, moved.get(run.task))
            by_reason.setdefault(reason, []).append(f"{run.task} by {run.end_s - deadline_s:,} s")
        return [f"Late: {counted_list(tasks)}: {reason}." for reason, tasks in by_reason.items()]

    def _delay_text(self, run: Run, move: Move | None) -> str:
        """Say what held up a task that was not known to be late."""
        down = self.history.vms[run.vm].hibernated
        during = sum(up - since for since, up in down if run.start_s <= since and up <= run.end_s)
        if during:
            return f"{run.vm} hibernated for {during:,} s while it ran"
        if move is not None:
            came = "stolen by" if move.kind == "steal" else "migrated to"
            return f"{came} {run.vm} at {move.time_s:,} s, where it started at {run.start_s:,} s"
        before = sum(up - since for since, up in down if up <= run.start_s)
        if before:
            return f"{run.vm} had hibernated for {before:,} s before it started"
        return f"it started on {run.vm} only at {run.start_s:,} s"

    def _unfinished_lines(self) -> list[str]:
        unfinished: Sequence[str] = self.trace.end["unfinished"]
        stranded = {event["vm"]: event["t"] for event in self.trace.events if event["event"] == "stranded"}
        by_reason: dict[str, list[str]] = {}
        for task in unfinished:
            vm = self.vm_of.get(task)
            if vm is None:
                down = [vm for vm in self.history.vms if self._hibernates_to_the_end(vm)]
                where = f"; hibernated to the end: {listed(down, 'VM')}" if down else ""
                reason = f"never started{where}"
            elif self._hibernates_to_the_end(vm):
                reason = f"{vm} hibernates from {self.history.vms[vm].hibernated[-1][0]:,} s to the end"
                if vm in stranded:
                    reason += f", and at {stranded[vm]:,} s there was no place elsewhere"
            elif self.history.vms[vm].reclaimed_s is not None:
                reason = f"{vm} was terminated by the cloud at {self.history.vms[vm].reclaimed_s:,} s"
            else:
                reason = f"left on {vm}"
            by_reason.setdefault(reason, []).append(task)
        return [f"Unfinished: {counted_list(tasks)}: {reason}." for reason, tasks in by_reason.items()]


def _names(events: Iterable[Event]) -> list[str]:
    return [event["vm"] for event in events]


def _from_text(vm: str, number: int, victims: int) -> str:
    return vm if victims == 1 else f"{vm} ({number})"


def _trigger_text(moments: Mapping[str, int], n_vms: int) -> str:
    """Say when which trigger is due."""
    by_moment: dict[int, list[str]] = {}
    for vm, at_s in moments.items():
        by_moment.setdefault(at_s, []).append(vm)
    distinct = sorted(by_moment)
    if len(distinct) == 1:
        whose = "" if len(moments) == n_vms else f" of {listed(list(moments), 'VM')}"
        return f"migration trigger{whose} at {distinct[0]:,} s"
    if len(distinct) <= MOST_NAMED:
        parts = [f"at {at_s:,} s ({listed(by_moment[at_s], 'VM')})" for at_s in distinct]
        return f"migration triggers {', '.join(parts)}"
    return f"migration triggers from {distinct[0]:,} to {distinct[-1]:,} s"


_COUNTED = {"stops": "stop", "restarts": "restart", "reclaims": "cloud termination", "preemptions": "preemption"}


def counts_text(trace: Trace) -> str:
    """Say how often what happened."""
    end = trace.end
    kinds = end["migrations"]
    moved = sum(kinds.values())
    words = {"idle": "to VMs idle until then", "busy": "to busy VMs", "new": "starting a new VM"}
    where = ", ".join(f"{kinds[kind]:,} {text}" for kind, text in words.items() if kinds[kind])
    steals = counted(end["steals"], "steal") + (f" of {counted(end['tasks_stolen'], 'task')}" if end["steals"] else "")
    return ", ".join(
        [
            counted(end["hibernations"], "hibernation"),
            counted(end["resumes"], "resume"),
            *(counted(end[kind], word) for kind, word in _COUNTED.items() if end.get(kind)),
            counted(moved, "migration") + (f" ({where})" if moved else ""),
            steals,
            f"{end['recoveries']:,} {'recovery' if end['recoveries'] == 1 else 'recoveries'}",
            counted(end["checkpoints"], "checkpoint"),
        ]
    )


def deadline_text(trace: Trace, history: History) -> str:
    """Say whether the deadline was met, and by how much."""
    missed = missed_text(trace)
    if missed:
        return f"deadline missed ({missed})"
    return f"deadline met ({history.instance.deadline_s - trace.end['makespan_s']:,} s to spare)"
