"""Gantt charts of replays of plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from typing import TypeVar

from ...core.wording import counted, percent, shortened
from ...traces.bags.story import counts_text, deadline_text
from ...traces.trace import Trace
from ...traces.vm_history import History, Move, Run, VmLife, awake, read_history
from ..chart import DARK_COLOUR, Bar, Chart, Lane, Link, Look, Mark, Panel, Profile, stretch
from .bag_chart import (
    BASELINE,
    BOOTING,
    BURST,
    LATE,
    ON_DEMAND,
    RENTED,
    SPOT,
    TASKS,
    bag_chart,
    task_look,
    vm_lanes,
)

Amount = TypeVar("Amount", int, float)

MARKET_IN = 0.36
"""Height of a lane of prices or capacities, in inches."""

_LEAST_HEIGHT = 0.45

MAX_ARROWS = 60
"""Moves above which no arrows are drawn, only signs."""

HIBERNATED = Look("hibernated", "#F5D3DA", text="#8E2F49", layer=0.5)
STOPPED = Look("stopped", "#F3E3EA", "#C9A3B4", hatch="xxxx", text="#7A2B52", layer=0.5)
DRAINING = Look("draining (notice of an interruption)", "#FFB000", "#8A4B00", 0.7, "....", layer=2.2, opacity=0.4)
WRITING = Look("writing a checkpoint to be preempted", "#FFF3C4", "#7A5C00", 0.7, "////", layer=1.5)
LOST = Look("work lost (after the last checkpoint)", "#DDDDDD", "#777777", hatch="/////")
UNFINISHED = Look("work of a task that never finishes", "#DDDDDD", "#777777", hatch="xxxxx")
"""Hatching of work that does not count; the colours are those of its VM."""

PRICE = Look("price of an offer", "#CDBFE3", "#8C74B8", 0.6, text="#43286E")
CAPACITY = Look("spot VMs that the cloud has capacity for", "#BFE0DC", "#5B9C94", 0.6, text="#1C4F49")
NO_CAPACITY = Look("no capacity for spot VMs", "#FFFFFF", "#5B9C94", 0.6, "xxxx", text="#1C4F49")

TERMINATED = Look("VM terminated", DARK_COLOUR, line="-", width=2.2, layer=2.5)
RECLAIMED = Look("VM terminated by the cloud", "#B3264A", line="--", width=2.4, layer=2.5)
MIGRATED = Look("migrated from, to", "#333333", line="-", width=0.9, layer=3)
STOLEN = Look("stolen from, to", "#333333", line="--", width=0.9, layer=3)
HIBERNATION = Look("hibernation", "#B3264A", "white", 0.6, sign="v", layer=5)
STOP = Look("stop", "#B3264A", "white", 0.6, sign="<", layer=5)
RECLAIM = Look("termination by the cloud", "#B3264A", "white", 0.6, sign="*", size=80, layer=5)
RESUME = Look("resume", "#1B7F4B", "white", 0.6, sign="^", layer=5)
RESTART = Look("boot after a stop", "#1B7F4B", "white", 0.6, sign=">", layer=5)
PREEMPTION = Look("preemption", "#0E7490", "white", 0.6, sign="P", size=50, layer=5)
TRIGGER = Look("migration trigger", "#111111", "white", 0.6, sign="X", layer=5)
MIGRATION = Look("migration", "#C2410C", "white", 0.6, sign="D", layer=5)
STEAL = Look("steal", "#6D28D9", "white", 0.6, sign="s", layer=5)
RECOVERY = Look("start from a checkpoint", "#FACC15", "#333333", 0.6, sign="o", layer=5)
_SIGNS = (HIBERNATION, STOP, RECLAIM, RESUME, RESTART, TRIGGER, MIGRATION, STEAL, PREEMPTION, RECOVERY)
_SIGN_OF = {
    "hibernate": HIBERNATION,
    "stop": STOP,
    "reclaim": RECLAIM,
    "resume": RESUME,
    "restart": RESTART,
    "trigger": TRIGGER,
}

_PALE = {SPOT: "#BCD5F3", ON_DEMAND: "#F7DFBB", BURST: "#B9DFC9", BASELINE: "#DBCBEB"}
_WASTED = {
    (task, outcome): replace(
        task, label=f"{task.label}: {outcome.label}", colour=pale, edge=task.colour, hatch=outcome.hatch, text=""
    )
    for task, pale in _PALE.items()
    for outcome in (LOST, UNFINISHED)
}
_INSET = 0.009
_UPPER, _LOWER = 0.25, 0.2
"""Distances of signs from the upper and the lower edge of a row."""


def day_chart(trace: Trace) -> Chart:
    """Lay out the Gantt chart of a replay: VMs of the plan first, spot before on-demand, then those started later.

    Parameters
    ----------
    trace : Trace
        Of a plan.

    Raises
    ------
    SpotbagError
        If the trace contradicts itself.
    """
    history = read_history(trace)
    instance, end = history.instance, trace.end
    lives = sorted(history.vms.values(), key=lambda life: (life.launch_s > 0, life.launch_s == 0 and _rank(life)))
    vcpus = {offer.vm_type.name: offer.vcpus for offer in instance.offers}
    cores = {life.name: vcpus[life.vm_type] for life in lives}
    day = _Day(trace, history, {life.name: lane for lane, life in enumerate(lives)}, cores)
    markets = market_lanes(trace, history)
    market_bars = [replace(bar, lane=len(lives) + lane) for lane, (_, bars) in enumerate(markets) for bar in bars]
    bars = [*day.spans(), *day.pieces(), *day.drains(), *day.checkpoints(), *market_bars]
    marks = [*day.ends(), *day.events(), *day.moves(), *day.preemptions(), *day.recoveries()]
    links = list(day.links())
    lanes = vm_lanes(list(cores.items()))
    panel = Panel(
        f"{counts_text(trace)}; {deadline_text(trace, history)}",
        [*lanes, *(Lane(label, 1, MARKET_IN, (len(lives) + lane) % 2 == 0) for lane, (label, _) in enumerate(markets))],
        bars,
        sorted(marks, key=lambda mark: _SIGNS.index(mark.look) if mark.look in _SIGNS else -1),
        links if len(links) <= MAX_ARROWS else [],
    )
    return bag_chart(
        _title(trace, history),
        panel,
        _explained(panel),
        (instance.deadline_s, instance.d_spot_s if any(life.market == "spot" for life in lives) else None),
        (0, max(int(end["t"]), end["makespan_s"] or 0)),
    )


def _rank(life: VmLife) -> bool:
    return life.market != "spot"


def _title(trace: Trace, history: History) -> str:
    run, end = trace.run, trace.end
    unfinished = len(end["unfinished"])
    ends = f"makespan {end['makespan_s']:,} s" if not unfinished else f"{counted(unfinished, 'task')} unfinished"
    day = f"day {run['day']} ({shortened(run['timeline']['name'], 40)})"
    name = (run.get("cloud") or {"name": "papers"})["name"]
    cloud = "" if name == "papers" else f" on {shortened(name, 30)}"
    return f"{shortened(history.instance.name, 60)}{cloud}, {run['policy']}, {day}: ${end['cost_usd']:.4f}, {ends}"


def _explained(panel: Panel) -> list[Look]:
    """Return the looks in use, in the order of the legend, but one for lost work of all kinds of VMs."""
    found = {bar.look for bar in panel.bars} | {mark.look for mark in panel.marks} | {link.look for link in panel.links}
    found |= {outcome for (_, outcome), look in _WASTED.items() if look in found}
    order = (
        *(BOOTING, RENTED, DRAINING, HIBERNATED, STOPPED, *TASKS, LATE, LOST, UNFINISHED, WRITING),
        *(PRICE, CAPACITY, NO_CAPACITY, TERMINATED, RECLAIMED, MIGRATED, STOLEN, *_SIGNS),
    )
    return [look for look in order if look in found]


@dataclass(frozen=True, slots=True)
class _Day:
    """The lives of VMs and tasks on a day, and the lanes and cores of the VMs."""

    trace: Trace
    history: History
    lane: Mapping[str, int]
    cores: Mapping[str, int]

    # --------------------------------------------------------------------- VMs

    def spans(self) -> Iterator[Bar]:
        """Bars of the states of VMs: they boot, wait for tasks, hibernate, are stopped."""
        for life in self.history.vms.values():
            end_s = self.trace.end["t"] if life.end_s is None else life.end_s
            ready_s = end_s if life.ready_s is None else life.ready_s
            if life.ready_s != life.launch_s:
                yield self._span(life, life.launch_s, ready_s, BOOTING)
            if life.ready_s is not None:
                for start, end in awake(life, ready_s, end_s):
                    yield self._span(life, start, end, RENTED)
            for interruption in life.interruptions:
                start, end = interruption.span
                restart = end if interruption.restart_s is None else interruption.restart_s
                if start < restart:
                    yield self._span(life, start, restart, STOPPED if interruption.kind == "stop" else HIBERNATED)
                if restart < end:
                    yield self._span(life, restart, end, BOOTING)

    def _span(self, life: VmLife, start: int, end: int, look: Look) -> Bar:
        return Bar(self.lane[life.name], None, stretch(start, end), look, look.label)

    def drains(self) -> Iterator[Bar]:
        """Bars from notices to interruptions, over the tasks, which go on."""
        for life in self.history.vms.values():
            for start, end in life.drained:
                if start < end:
                    yield self._span(life, start, end, DRAINING)

    def ends(self) -> Iterator[Mark]:
        """Ends of VMs, over all their rows."""
        for life in self.history.vms.values():
            if life.end_s is not None:
                look = TERMINATED if life.reclaimed_s is None else RECLAIMED
                yield Mark(self.lane[life.name], life.end_s, 0.08, self.cores[life.name] - 0.08, look)

    # ------------------------------------------------------------------- tasks

    def pieces(self) -> Iterator[Bar]:
        """Runs, cut where their VM hibernates and where the work begins that does not count."""
        for run in self.history.runs:
            offer = self.history.offer_of(run.vm)
            task = task_look(spot=offer.market == "spot", burstable=offer.burstable, baseline=run.baseline)
            for start, end, outcome in self._cut(run):
                look = task if outcome is None else _WASTED[task, outcome]
                late = run.ending == "finished" and self.history.spare_s(run) < 0
                look = LATE if late and self.history.instance.has_dates else look  # else after the line of the deadline
                hover = tuple(_piece_lines(run, start, end, outcome))
                yield Bar(self.lane[run.vm], run.core, stretch(start, end), look, run.task, hover=hover)

    def _cut(self, run: Run) -> Iterator[tuple[int, int, Look | None]]:
        """Pieces of a run: start, end, and how they are hatched; None if the work counts."""
        awake_spans = awake(self.history.vms[run.vm], run.start_s, run.end_s)
        if run.ending == "finished":
            yield from ((start, end, None) for start, end in awake_spans)
            return
        left = round(self.history.retained_uptime_s(run))
        for start, end in awake_spans:
            border = min(start + left, end)
            left -= border - start
            if start < border:
                yield start, border, None
            if border < end:
                yield border, end, UNFINISHED if run.ending == "unfinished" else LOST

    def checkpoints(self) -> Iterator[Bar]:
        """Final checkpoints that preempted tasks write before they stop."""
        for run in self.history.runs:
            if run.preempted_s is not None:
                for start, end in awake(self.history.vms[run.vm], run.preempted_s, run.end_s):
                    yield Bar(self.lane[run.vm], run.core, stretch(start, end), WRITING, run.task)

    # ------------------------------------------------------------------- signs

    def events(self) -> Iterator[Mark]:
        """Interruptions and returns of VMs, and migration triggers."""
        for event in self.trace.events:
            look = _SIGN_OF.get(event["event"])
            if look is not None:
                vm = event["vm"]
                # What comes from outside lies at the upper edge, what the policy does at the lower one, names between.
                row = self.cores[vm] - _LOWER if look is TRIGGER else _UPPER
                yield Mark(self.lane[vm], event["t"], row, row, look, (f"{vm}: {look.label} at {event['t']:,} s",))

    def moves(self) -> Iterator[Mark]:
        """Migrations and steals, one sign for all tasks that come to a core at one moment."""
        texts: dict[tuple[Look, int, int, float], list[str]] = {}
        for move in self.history.moves:
            look = STEAL if move.kind == "steal" else MIGRATION
            texts.setdefault((look, move.time_s, *self._goal(move)), []).append(_move_text(move))
        for (look, time_s, lane, row), lines in texts.items():
            yield Mark(lane, time_s, row, row, look, tuple(lines))

    def preemptions(self) -> Iterator[Mark]:
        """Marks of tasks that the policy tells to stop."""
        for run in self.history.runs:
            if run.preempted_s is not None:
                saved = f"{percent(run.saved_after)} saved" if run.saved_after else "nothing saved"
                text = f"{run.task} preempted at {run.preempted_s:,} s, {saved}"
                row = run.core + 1 - _LOWER
                yield Mark(self.lane[run.vm], run.preempted_s, row, row, PREEMPTION, (text,))

    def recoveries(self) -> Iterator[Mark]:
        """Starts from checkpoints."""
        for run in self.history.runs:
            if run.saved:
                # Inside the bar: at its very start the sign of a migration may lie.
                time_s = run.start_s + min(_INSET * self.trace.end["t"], (run.end_s - run.start_s) / 2)
                row = run.core + 1 - _LOWER
                text = f"{run.task} goes on from its checkpoint at {percent(run.saved)} ({run.start_s:,} s)"
                yield Mark(self.lane[run.vm], time_s, row, row, RECOVERY, (text,))

    def links(self) -> Iterator[Link]:
        """Arrows of migrations: one for all tasks that move at one moment between the same VMs, to the first row."""
        goals: dict[tuple[int, Look, str, str], tuple[int, float]] = {}
        for move in self.history.moves:
            key = (move.time_s, STOLEN if move.kind == "steal" else MIGRATED, move.source, move.target)
            goals[key] = min(goals.get(key, self._goal(move)), self._goal(move))
        before = dict(zip(self.lane.values(), accumulate(self.cores.values(), initial=0), strict=False))
        arrows = []
        for (time_s, look, source, _), goal in goals.items():
            origin = (self.lane[source], self.cores[source] / 2)
            rows = abs(before[goal[0]] + goal[1] - before[origin[0]] - origin[1])
            arrows.append((time_s, rows, origin, goal, look))
        # The longer arrow bends more: arrows of one moment lie side by side and do not cross.
        number: Counter[int] = Counter()
        for time_s, _, origin, goal, look in sorted(arrows, key=lambda arrow: arrow[:2]):
            number[time_s] += 1
            yield Link(time_s, origin, goal, look, self.trace.end["t"] * min(0.006 + 0.006 * number[time_s], 0.06))

    def _goal(self, move: Move) -> tuple[int, float]:
        """Lane at which a task arrives: the core that it will run on, or the first one of the VM if it never does."""
        core = 0 if move.next_run is None else self.history.runs[move.next_run].core
        return self.lane[move.target], core + 1 - _LOWER


def market_lanes(trace: Trace, history: History) -> list[tuple[str, list[Bar]]]:
    """Lanes of what changes in the market: prices of offers and capacity for types that VMs of the replay are of.

    Returns
    -------
    list of (str, list of Bar)
        Label and bars of each lane; the bars are those of lane 0.
    """
    end_s: int = trace.end["t"]
    used = {(life.vm_type, life.market) for life in history.vms.values()}
    lanes = []
    for (vm_type, market), changes in history.prices.items():
        if len(changes) > 1 and (vm_type, market) in used:
            dearest = max(usd for _, usd in changes) or 1.0
            bars = [
                Bar(0, None, _block(start, end, usd / dearest), PRICE, f"${usd:.4f}", f"{usd:.3g}")
                for start, end, usd in _steps(changes, end_s)
            ]
            lanes.append((f"{vm_type} {market}: $ an hour", bars))
    for vm_type, most in _capacities(trace, history).items():
        if (vm_type, "spot") in used:
            limit = max(vms for _, vms in most)
            bars = []
            for start, end, vms in _steps(most, end_s):
                look, name = (CAPACITY, f"at most {vms:,}") if vms else (NO_CAPACITY, "none")
                bars.append(Bar(0, None, _block(start, end, vms / limit if vms else 1.0), look, name, f"{vms:,}"))
            lanes.append((f"{vm_type}: spot VMs", bars))
    return lanes


def _capacities(trace: Trace, history: History) -> dict[str, list[tuple[int, int]]]:
    """Changes of the capacity for spot VMs, as times and numbers, of the types that have any."""
    limits = {offer.vm_type.name: offer.limit for offer in history.instance.offers if offer.market == "spot"}
    events = trace.run["timeline"]["events"]
    told = {event["type"] for event in events if event["event"] == "capacity"} & limits.keys()
    found = {vm_type: [(0, limits[vm_type])] for vm_type in sorted(told)}
    for event in events:
        if event["type"] in found and event["event"] != "price" and event.get("vm") is event.get("share") is None:
            vms = {"capacity": event.get("vms"), "resume": limits[event["type"]]}.get(event["event"], 0)
            found[event["type"]].append((event["time_s"], min(vms, limits[event["type"]])))
    return found


def _steps(changes: Sequence[tuple[int, Amount]], end_s: int) -> Iterator[tuple[int, int, Amount]]:
    """Start, end and value of what holds for a time before the end."""
    for value, same in groupby(zip(changes, [*changes[1:], (end_s, 0)], strict=True), key=lambda pair: pair[0][1]):
        spans = [(start, min(end, end_s)) for (start, _), (end, _) in same]
        if spans[0][0] < spans[-1][1]:
            yield spans[0][0], spans[-1][1], value


def _block(start_s: int, end_s: int, share: float) -> Profile:
    """Profile of a price or a capacity, which is higher where it is more; the least has room for its number."""
    return (start_s, _LEAST_HEIGHT + (1 - _LEAST_HEIGHT) * share), (end_s, 0.0)


def _piece_lines(run: Run, start: int, end: int, outcome: Look | None) -> Iterator[str]:
    if (start, end) != (run.start_s, run.end_s):
        yield f"piece of a run from {run.start_s:,} to {run.end_s:,} s"
    if run.saved:
        yield f"went on from a checkpoint at {percent(run.saved)}"
    if outcome is None and run.ending == "migrated":
        yield f"saved by checkpoints: {percent(run.saved_after)} of the task"


def _move_text(move: Move) -> str:
    what = "stolen" if move.kind == "steal" else f"migrated to {move.kind} VM"
    notes = [f"saved {percent(move.saved)}"] if move.saved else []
    notes += ["can no longer meet the deadline"] if move.late else []
    text = f"{move.task} {what}: {move.source} to {move.target} at {move.time_s:,} s"
    return ", ".join([text, *notes])
