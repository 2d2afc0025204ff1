"""The story of a replay: what happened, in lines that a person reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from ...core.quantities import SECONDS_PER_HOUR
from ...core.record_lists import grouped_by
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
from ...instances.clouds import Billing, interruption_text
from ..narrator import Event, TaskNarrator, by_kind, end_of_text, idle_text, missed_text
from ..trace import Trace
from ..vm_history import History, Interruption, Move, Run, Span, awake

_INTERRUPTIONS = {
    "hibernate": ("hibernates", "hibernate"),
    "stop": ("is stopped", "are stopped"),
    "reclaim": ("is terminated by the cloud", "are terminated by the cloud"),
}
"""Verbs of interruptions, for a type or a VM and for several VMs, by the kind of the event."""

_RETURNS = {"resume": ("resumes", "resume"), "restart": ("boots again", "boot again")}
"""Verbs of other events of theirs."""

_ENDS = {"hibernate": "hibernate", "stop": "be stopped", "reclaim": "be terminated"}
"""Words for what a notice announces."""

_DOWN = {"hibernate": "hibernated", "stop": "was stopped"}
_DOWN_BEFORE = {"hibernate": "had hibernated", "stop": "had been stopped"}
_DOWN_TO_THE_END = {"hibernate": "hibernates", "stop": "is stopped"}

Verbs: TypeAlias = tuple[str, str]
"""Verb of one, and of several."""

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
        self.single_vms = _single_vms(trace)
        self.last_end_s: dict[str, int] = {}
        for run in history.runs:
            self.last_end_s[run.vm] = max(self.last_end_s.get(run.vm, 0), run.end_s)

    def pass_deadlines(self, before_s: int) -> None:
        """Add the sentence on the tasks unfinished at the deadline, once it has passed."""
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

    def story(self) -> list[str]:
        """Return the story, with the rules of the cloud below its heading."""
        heading, *lines = super().story()
        return [heading, *cloud_lines(self.trace), *lines]

    # ------------------------------------------------------------- the moments

    def moment(self, time_s: int, events: Sequence[Event]) -> None:
        """Add sentences on a second: outside events, actions of the policy, ends of tasks."""
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
        back = {verbs: _names(kinds.get(kind, [])) for kind, verbs in _RETURNS.items()}
        for verbs, vms in back.items():
            self._describe_returns(time_s, [vm for vm in vms if vm in self.down_since], verbs)
        self._describe_notices(time_s, kinds.get("notice", []))
        for kind, verbs in _INTERRUPTIONS.items():
            if kinds.get(kind):
                self._describe_interruptions(time_s, verbs, _names(kinds[kind]), kinds.get("trigger-set", []))
        for verbs, vms in back.items():  # those that come back in the second in which they were interrupted
            self._describe_returns(time_s, [vm for vm in vms if self.down_since.get(vm) == time_s], verbs)
        interrupted = [event for kind in _INTERRUPTIONS for event in kinds.get(kind, [])]
        self._describe_new_triggers(time_s, kinds.get("trigger-set", []), interrupted)
        self._describe_preemptions(time_s, kinds)
        self._describe_migrations(time_s, migrated, kinds.get("trigger", []), kinds.get("stranded", []))
        self._describe_steals(time_s, stolen, kinds)
        self._describe_ends(time_s, kinds)

    def _follow(self, event: Event, moves: list[Move]) -> None:
        """Update the counts of running and waiting tasks; note the load of a VM that hibernates or resumes."""
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
            if kind == "restart":  # what ran there waits
                self.started -= {task for task in self.started if self.vm_of.get(task) == vm}
                self.waiting[vm] += self.running[vm]
                self.running[vm] = 0
            self.loads[vm] = (self.running[vm], self.waiting[vm])
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
            changes = self.history.prices[event["type"], event["market"]]
            before = next(usd for at, usd in reversed(changes) if at < time_s or at == 0)
            offer = f"{event['type']} {event['market']}"
            self.say(time_s, f"{offer} now costs ${event['usd_per_hour']:.4f} an hour (until now ${before:.4f})")
        for event in kinds.get("capacity", []):
            most = f"{counted(event['vms'], 'spot VM')} at most" if event["vms"] else "no spot VMs"
            self.say(time_s, f"the cloud has capacity for {most} of {event['type']} from now on")

    def _describe_notices(self, time_s: int, notices: Sequence[Event]) -> None:
        announced = grouped_by(notices, lambda event: (event["until_s"], self._end_text(event["vm"], event["until_s"])))
        for (until_s, end), group in announced.items():
            verbs = (f"has notice to {end} at {until_s:,} s", f"have notice to {end} at {until_s:,} s")
            self._say_of_vms(time_s, _names(group), verbs)

    def _end_text(self, vm: str, until_s: int) -> str:
        """Phrase for the fate of a VM at the end of its notice."""
        life = self.history.vms[vm]
        found = next((entry.kind for entry in life.interruptions if entry.start_s == until_s), None)
        return _ENDS[found or "reclaim"] if found or life.reclaimed_s == until_s else "be interrupted"

    def _say_of_vms(self, time_s: int, vms: list[str], verbs: Verbs, more: str = "") -> None:
        """Say of whole types, or else of single VMs, what happens to them, and what they have to do."""
        for vm_type, group in self._by_type(vms).items():
            if (vm_type, time_s) not in self.single_vms:
                self.say(time_s, f"{vm_type} {verbs[0]}: {self._vms_text(group)}{more}")
            elif len(group) == 1:
                self.say(time_s, f"{group[0]} {verbs[0]}, {self._load_text(group)}{more}")
            else:
                self.say(time_s, f"{vm_type} VMs {verbs[1]}: {self._vms_text(group)}{more}")

    def _describe_preemptions(self, time_s: int, kinds: Mapping[str, list[Event]]) -> None:
        written = {event["task"]: event.get("saved") for event in kinds.get("preempted", [])}
        at_once = set()
        for event in kinds.get("preempt", []):
            task, says = event["task"], f"{event['vm']}: {event['task']} is preempted"
            if event["until_s"] > time_s:
                self.say(time_s, f"{says}; its checkpoint is written by {event['until_s']:,} s")
            else:
                at_once.add(task)
                self.say(time_s, f"{says}, {_saved_text(written.get(task))}")
        for event in kinds.get("preempted", []):
            if event["task"] not in at_once:
                self.say(time_s, f"{event['vm']}: {event['task']} has stopped, {_saved_text(event.get('saved'))}")

    def _describe_returns(self, time_s: int, vms: list[str], verbs: Verbs) -> None:
        for group in self._by_type(vms).values():
            downs = {time_s - self.down_since[vm] for vm in group}
            readies = {end for vm in group for end in self._ready_again_s(vm, time_s) if end > time_s}
            after = f" after {moments_text(downs)}" if len(downs) == 1 else ""
            after += f", ready at {moments_text(readies)}" if readies else ""
            for vm in group:
                self.trigger_s.pop(vm, None)
            self._say_of_vms(time_s, group, (verbs[0] + after, verbs[1] + after))
            for vm in group:
                del self.down_since[vm]

    def _ready_again_s(self, vm: str, restart_s: int) -> list[int]:
        """Time at which a VM that boots again is ready; empty if it never is."""
        life = self.history.vms[vm]
        return [
            entry.end_s
            for entry in life.interruptions
            if entry.restart_s == restart_s and entry.end_s not in (None, life.end_s)
        ]

    def _describe_interruptions(self, time_s: int, verbs: Verbs, vms: list[str], triggers: Sequence[Event]) -> None:
        set_now = {event["vm"]: event["at_s"] for event in triggers}
        for group in self._by_type(vms).values():
            self.down_since |= dict.fromkeys(group, time_s)
            moments = {vm: set_now[vm] for vm in group if vm in set_now}
            self.trigger_s |= moments
            progress = f"{self.done:,} of {counted(self.n_tasks, 'task')} done"
            trigger = f"; {_trigger_text(moments, len(group))}" if moments else ""
            self._say_of_vms(time_s, group, verbs, f"{trigger}{self._free_text(group, time_s)} ({progress})")

    def _free_text(self, vms: list[str], time_s: int) -> str:
        """Say which VMs, interrupted now, cost nothing because it is their first hour."""
        if not self.trace.run["billing"]["first_hour_free"]:
            return ""
        lives = [self.history.vms[vm] for vm in vms]
        firsts = [(*(entry.start_s for entry in life.interruptions), life.reclaimed_s)[0] for life in lives]
        free = [
            life.name
            for life, first in zip(lives, firsts, strict=True)
            if first == time_s and life.ready_s is not None and time_s - life.ready_s < SECONDS_PER_HOUR
        ]
        if not free:
            return ""
        whose = f"{listed(free, 'VM')} cost" if len(vms) > 1 else "it costs"
        return f"; {whose} nothing, interrupted in the first hour"

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
        """Phrase for the targets of moved tasks, with their peculiarities."""
        kinds: dict[str, str] = {}
        numbers: Counter[str] = Counter()
        for move in moves:
            kinds.setdefault(move.target, move.kind)
            numbers[move.target] += 1
        # Targets that get as many tasks and are of one kind share a phrase: hundreds may be named at once.
        alike = grouped_by(numbers, lambda vm: (numbers[vm], kinds[vm]))
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
        # With a single task, "1 starts again" would count what is already named.
        if len(moves) == 1:
            notes = [note.removeprefix("1 ") for note in notes]
        return where + (f" ({'; '.join(notes)})" if notes else "")

    def _runs_at_baseline(self, move: Move) -> bool:
        return move.next_run is not None and self.history.runs[move.next_run].baseline

    def _describe_steals(self, time_s: int, stolen: list[Move], kinds: Mapping[str, list[Event]]) -> None:
        thieves = grouped_by(stolen, lambda move: move.target)
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
            done = len(group) == 1 and group[0] in _names(kinds.get("finish", []))
            self.say(time_s, f"{listed(group, 'VM')} terminated{end}{idle or ', its tasks done' * done}")

    def _idle_text(self, vms: list[str], time_s: int) -> str:
        """Phrase for the idle time of VMs since their last task, and its cost."""
        seconds, usd = 0, 0.0
        for vm in vms:
            idle, paid = self._idle_spans(vm, time_s)
            seconds += sum(end - start for start, end in idle)
            usd += sum(self.history.cost_usd(vm, *span) for span in paid)
        text = idle_text(seconds, len(vms))
        return f" ({text}, ${usd:.4f})" if text else ""

    def _idle_spans(self, vm: str, time_s: int) -> tuple[list[Span], list[Span]]:
        """Times in which a VM was idle and awake since its last task, and those of them that are paid."""
        life = self.history.vms[vm]
        ready_s = life.ready_s if life.ready_s is not None else time_s
        since = max(self.last_end_s.get(vm, 0), ready_s)
        idle = awake(life, since, time_s)
        if self.trace.run["billing"]["first_hour_free"] and life.interruptions:
            first = life.interruptions[0].start_s
            if first - ready_s < SECONDS_PER_HOUR:
                return idle, awake(life, max(since, first), time_s)
        return idle, idle

    # ------------------------------------------------------------ who is where

    def _by_type(self, vms: list[str]) -> dict[str, list[str]]:
        return grouped_by(vms, lambda vm: self.history.vms[vm].vm_type)

    def _vms_text(self, vms: list[str]) -> str:
        """Say which VMs, and what they have to do."""
        if len(vms) == 1:
            return f"{vms[0]} {self._load_text(vms)}"
        groups = grouped_by(vms, lambda vm: self._load_text([vm]))
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
        more = self.unplaced and any(self._down_to_the_end(vm) for vm in vms)
        loads = [f"{counted(running, 'task')} running"] if running else []
        if waiting:
            loads.append(f"{waiting:,} waiting" if loads else f"{counted(waiting, 'task')} waiting")
        if more:
            loads.append("others that never start")
        return f"with {' and '.join(loads)}" if loads else "idle"

    def _down_to_the_end(self, vm: str) -> Interruption | None:
        last = self.history.vms[vm].interruptions[-1:]
        return last[0] if last and last[0].end_s == self.trace.end["t"] else None

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
        spare_s = self.history.spare_s
        known = {move.task: move for move in self.history.moves if move.late}
        moved = {move.task: move for move in self.history.moves}
        by_reason: dict[str, list[str]] = {}
        late = [run for run in self.history.runs if run.ending == "finished" and spare_s(run) < 0]
        for run in sorted(late, key=spare_s):
            move = known.get(run.task)
            if move is not None and move.time_s <= run.start_s:
                reason = f"no VM could finish in time when {move.source} was emptied at {move.time_s:,} s"
            else:
                reason = self._delay_text(run, moved.get(run.task))
            by_reason.setdefault(reason, []).append(f"{run.task} by {-spare_s(run):,} s")
        return [f"Late: {counted_list(tasks)}: {reason}." for reason, tasks in by_reason.items()]

    def _delay_text(self, run: Run, move: Move | None) -> str:
        """Reason for the delay of a task that was not known to be late."""
        down = self.history.vms[run.vm].interruptions
        during = [entry for entry in down if run.start_s <= entry.start_s and entry.span[1] <= run.end_s]
        if during:
            return f"{run.vm} {_DOWN[during[0].kind]} for {_total_s(during):,} s while it ran"
        if move is not None:
            came = "stolen by" if move.kind == "steal" else "migrated to"
            return f"{came} {run.vm} at {move.time_s:,} s, where it started at {run.start_s:,} s"
        before = [entry for entry in down if entry.span[1] <= run.start_s]
        if before:
            return f"{run.vm} {_DOWN_BEFORE[before[0].kind]} for {_total_s(before):,} s before it started"
        return f"it started on {run.vm} only at {run.start_s:,} s"

    def _unfinished_lines(self) -> list[str]:
        unfinished: Sequence[str] = self.trace.end["unfinished"]
        stranded = {event["vm"]: event["t"] for event in self.trace.events if event["event"] == "stranded"}
        by_reason: dict[str, list[str]] = {}
        for task in unfinished:
            vm = self.vm_of.get(task)
            if vm is None:
                reason = "never started"
                for kind, verb in {"hibernate": "hibernated", "stop": "stopped"}.items():
                    last = {vm: self._down_to_the_end(vm) for vm in self.history.vms}
                    down = [vm for vm, entry in last.items() if entry is not None and entry.kind == kind]
                    reason += f"; {verb} to the end: {listed(down, 'VM')}" if down else ""
            elif (entry := self._down_to_the_end(vm)) is not None:
                reason = f"{vm} {_DOWN_TO_THE_END[entry.kind]} from {entry.start_s:,} s to the end"
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
    """Phrase for the next trigger, and its time."""
    by_moment = grouped_by(moments, moments.__getitem__)
    distinct = sorted(by_moment)
    if len(distinct) == 1:
        whose = "" if len(moments) == n_vms else f" of {listed(list(moments), 'VM')}"
        return f"migration trigger{whose} at {distinct[0]:,} s"
    if len(distinct) <= MOST_NAMED:
        parts = [f"at {at_s:,} s ({listed(by_moment[at_s], 'VM')})" for at_s in distinct]
        return f"migration triggers {', '.join(parts)}"
    return f"migration triggers from {distinct[0]:,} to {distinct[-1]:,} s"


def _total_s(interruptions: Iterable[Interruption]) -> int:
    return sum(end - start for start, end in (entry.span for entry in interruptions))


def _saved_text(saved: float | None) -> str:
    return f"with {percent(saved)} saved" if saved else "with nothing saved"


def _single_vms(trace: Trace) -> set[tuple[str, int]]:
    """Types and moments at which something happens to some of their VMs, and not to them as a whole."""
    single: set[tuple[str, int]] = set()
    whole: set[tuple[str, int]] = set()
    aged: set[str] = set()
    for event in trace.run["timeline"]["events"]:
        some = event.get("vm") is not None or event.get("share") is not None or bool(event.get("vms"))
        found = single if some else whole
        if event.get("age_s") is not None:
            aged.add(event["type"])
            continue
        found |= {(event["type"], event["time_s"] + after_s) for after_s in (0, event.get("notice_s") or 0)}
    # Whenever a VM goes at its age, it goes alone, unless its type goes.
    gone_s = {event["t"] for event in trace.events if event["event"] == "notice" or event["event"] in _INTERRUPTIONS}
    return (single | {(name, time_s) for name in aged for time_s in gone_s}) - whole


def cloud_lines(trace: Trace) -> list[str]:
    """Sentence on the cloud's rules for interruptions and bills; none for the rules of the papers."""
    cloud = trace.run.get("cloud")
    if cloud is None or cloud["name"] == "papers":
        return []
    what = interruption_text(cloud["interruption"], cloud["notice_s"])
    return [f"On {cloud['name']}, spot VMs {what}; VMs are {Billing(**trace.run['billing'])}."]


_COUNTED = (
    ("hibernations", "hibernation", "hibernate"),
    ("resumes", "resume", "hibernate"),
    ("stops", "stop", "stop"),
    ("restarts", "restart", "stop"),
    ("reclaims", "cloud termination", "terminate"),
    ("preemptions", "preemption", ""),
)
"""Figures, what is counted, and the kind of interruptions with which none is worth saying."""


def counts_text(trace: Trace) -> str:
    """Counts of migrations, steals, interruptions and restarts in words."""
    end = trace.end
    kinds = end["migrations"]
    moved = sum(kinds.values())
    words = {"idle": "to VMs idle until then", "busy": "to busy VMs", "new": "starting a new VM"}
    where = ", ".join(f"{kinds[kind]:,} {text}" for kind, text in words.items() if kinds[kind])
    steals, stolen = counted(end["steals"], "steal"), end["tasks_stolen"]
    if end["steals"]:
        steals += f" of {counted(stolen, 'task')}"
    elif stolen:  # steals are attempts that took a task, and policies such as `on-time` move tasks without any
        steals = f"{counted(stolen, 'task')} stolen"
    usual = (trace.run.get("cloud") or {"interruption": "hibernate"})["interruption"]
    return ", ".join(
        [
            *(counted(end.get(kind, 0), word) for kind, word, of in _COUNTED if end.get(kind) or of == usual),
            counted(moved, "migration") + (f" ({where})" if moved else ""),
            steals,
            f"{end['recoveries']:,} {'recovery' if end['recoveries'] == 1 else 'recoveries'}",
            counted(end["checkpoints"], "checkpoint"),
        ]
    )


def deadline_text(trace: Trace, history: History) -> str:
    """Verdict on the deadline, or those of tasks, with the time to spare or the missed tasks."""
    missed, what = missed_text(trace), "deadlines" if history.instance.has_dates else "deadline"
    if missed:
        return f"{what} missed ({missed})"
    spare_s = min(history.spare_s(run) for run in history.runs if run.ending == "finished")
    return f"{what} met ({spare_s:,} s to spare)"
