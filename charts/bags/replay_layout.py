"""What the Gantt chart of a replay shows, independent of how it is drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.quantities import IntArray
from ...core.wording import counted, percent, shortened
from ...traces.bags.story import counts_text, deadline_text
from ...traces.trace import Trace
from ...traces.vm_history import History, Move, Run, VmLife, awake, read_history
from ..chart import CATEGORIES, Frame

HIBERNATED_COLOUR = "#F5D3DA"
HIBERNATED_TEXT_COLOUR = "#8E2F49"
KEPT, LOST, UNFINISHED = range(3)
"""What became of a piece of work."""

OUTCOMES = ("work kept", "work lost (after the last checkpoint)", "work of a task that never finishes")
"""What to call the values of `ReplayLayout.outcome`."""

MARKERS = (
    "hibernation",
    "resume",
    "migration trigger",
    "migration",
    "steal",
    "start from a checkpoint",
)
"""Kinds of markers."""

_INSET = 0.009
_UPPER, _LOWER = 0.25, 0.3
"""Distance of signs from the middle of a row."""


@dataclass(frozen=True, slots=True)
class Marker:
    """A sign on the chart.

    Attributes
    ----------
    kind : str
        One of `MARKERS`.
    time_s, row : float
        Where it lies.
    texts : tuple of str
        What it says, a line each.
    """

    kind: str
    time_s: float
    row: float
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arrow:
    """Tasks that move at one moment from one VM to another.

    Attributes
    ----------
    time_s, from_row, to_row : int and float
        When, and between which rows.
    bend_s : float
        How far the arrow bends to the right, so that arrows of one moment lie side by side.
    steal : bool
        Whether it is a steal.
    """

    time_s: int
    from_row: float
    to_row: float
    bend_s: float
    steal: bool


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of time of a VM, over all its rows.

    Attributes
    ----------
    vm : int
        The VM, as an index into ``vm_labels``.
    start_s, end_s : int
        From when to when.
    """

    vm: int
    start_s: int
    end_s: int


@dataclass(frozen=True, slots=True)
class ReplayLayout(Frame):
    """Rows, bars and signs of the Gantt chart of a replay.

    Attributes
    ----------
    row, start_s, duration_s : array of int, shape (n_pieces,)
        Where each piece of a run lies.
    category : array of int, shape (n_pieces,)
        Position in `CATEGORIES`.
    outcome : array of int, shape (n_pieces,)
        `KEPT`, `LOST` or `UNFINISHED`.
    names, texts : list of str, shape (n_pieces,)
        The task, and what there is to say about the piece.
    booting, rented, hibernated : list of Stretch
        What the VMs do; rented are those that are billed as running, with or without tasks.
    terminated : list of Stretch
        Ends of VMs; both moments are the same.
    markers, arrows : list
        Signs.
    """

    row: IntArray
    start_s: IntArray
    duration_s: IntArray
    category: IntArray
    outcome: IntArray
    names: list[str]
    texts: list[str]
    booting: list[Stretch]
    rented: list[Stretch]
    hibernated: list[Stretch]
    terminated: list[Stretch]
    markers: list[Marker]
    arrows: list[Arrow]


def replay_layout(trace: Trace) -> ReplayLayout:
    """Lay out the Gantt chart of a replay: VMs of the plan first, spot before on-demand, then those started later.

    Raises
    ------
    SpotbagError
        If the trace contradicts itself.
    """
    history = read_history(trace)
    order = sorted(history.vms.values(), key=lambda life: (life.launch_s > 0, life.launch_s == 0 and _rank(life)))
    vcpus = {vm_type.name: vm_type.vcpus for vm_type in history.instance.vm_types}
    rows = np.array([vcpus[life.vm_type] for life in order], dtype=np.int64)
    first = np.concatenate([[0], np.cumsum(rows)[:-1]]).astype(np.int64)
    first_row = {life.name: int(row) for life, row in zip(order, first, strict=True)}
    end_s = int(trace.end["t"])
    pieces = [piece for run in history.runs for piece in _pieces(history, run)]
    last = [life.end_s if life.end_s is not None else end_s for life in order]
    makespan = trace.end["makespan_s"]
    return ReplayLayout(
        title=_title(trace, history),
        subtitle=_subtitle(trace, history),
        vm_labels=[life.name for life in order],
        vm_first_row=first,
        vm_rows=rows,
        deadline_s=history.instance.deadline_s,
        d_spot_s=history.instance.d_spot_s if any(life.market == "spot" for life in order) else None,
        makespan_s=max(end_s, makespan or 0, 1),
        row=_column([first_row[run.vm] + run.core for run, *_ in pieces]),
        start_s=_column([start for _, start, _, _ in pieces]),
        duration_s=_column([end - start for _, start, end, _ in pieces]),
        category=_column([_category(history, run) for run, *_ in pieces]),
        outcome=_column([outcome for *_, outcome in pieces]),
        names=[run.task for run, *_ in pieces],
        texts=[_piece_text(run, start, end, outcome, history) for run, start, end, outcome in pieces],
        booting=[
            Stretch(vm, life.launch_s, life.ready_s if life.ready_s is not None else last[vm])
            for vm, life in enumerate(order)
            if life.ready_s != life.launch_s
        ],
        rented=[
            Stretch(vm, *span)
            for vm, life in enumerate(order)
            if life.ready_s is not None
            for span in awake(life, life.ready_s, last[vm])
        ],
        hibernated=[
            Stretch(vm, start, end) for vm, life in enumerate(order) for start, end in life.hibernated if start < end
        ],
        terminated=[Stretch(vm, life.end_s, life.end_s) for vm, life in enumerate(order) if life.end_s is not None],
        markers=_markers(trace, history, first_row),
        arrows=_arrows(history, first_row, vcpus, end_s),
    )


def _rank(life: VmLife) -> bool:
    return life.market != "spot"


def _column(values: list[int]) -> IntArray:
    return np.array(values, dtype=np.int64)


def _title(trace: Trace, history: History) -> str:
    run, end = trace.run, trace.end
    unfinished = len(end["unfinished"])
    ends = f"makespan {end['makespan_s']:,} s" if not unfinished else f"{counted(unfinished, 'task')} unfinished"
    day = f"day {run['day']} ({shortened(run['timeline']['name'], 40)})"
    return f"{shortened(history.instance.name, 60)}, {run['policy']}, {day}: ${end['cost_usd']:.4f}, {ends}"


def _subtitle(trace: Trace, history: History) -> str:
    return f"{counts_text(trace)}; {deadline_text(trace, history)}"


# ----------------------------------------------------------------------- bars


def _category(history: History, run: Run) -> int:
    offer = history.offer_of(run.vm)
    if offer.burstable:
        return list(CATEGORIES).index("burstable, baseline" if run.baseline else "burstable, full speed")
    return list(CATEGORIES).index(offer.market)


def _pieces(history: History, run: Run) -> list[tuple[Run, int, int, int]]:
    """Cut a run where its VM hibernates and where the work begins that does not count: start, end, outcome."""
    if run.ending == "finished":
        return [(run, start, end, KEPT) for start, end in awake(history.vms[run.vm], run.start_s, run.end_s)]
    left = round(history.retained_uptime_s(run))
    outcome = LOST if run.ending == "migrated" else UNFINISHED
    pieces = []
    for start, end in awake(history.vms[run.vm], run.start_s, run.end_s):
        border = min(start + left, end)
        left -= border - start
        pieces += [(run, start, border, KEPT)] if start < border else []
        pieces += [(run, border, end, outcome)] if border < end else []
    return pieces


def _piece_text(run: Run, start: int, end: int, outcome: int, history: History) -> str:
    mode = list(CATEGORIES)[_category(history, run)]
    lines = [f"{start:,} to {end:,} s ({end - start:,} s), {mode}"]
    if (start, end) != (run.start_s, run.end_s):
        lines.append(f"piece of a run from {run.start_s:,} to {run.end_s:,} s")
    if run.saved:
        lines.append(f"went on from a checkpoint at {percent(run.saved)}")
    if outcome != KEPT:
        lines.append(OUTCOMES[outcome])
    elif run.ending == "migrated":
        lines.append(f"saved by checkpoints: {percent(run.saved_after)} of the task")
    return "<br>".join(lines)


# ---------------------------------------------------------------------- signs


def _markers(trace: Trace, history: History, first_row: dict[str, int]) -> list[Marker]:
    markers = []
    vcpus = {vm_type.name: vm_type.vcpus for vm_type in history.instance.vm_types}
    kinds = {"hibernate": "hibernation", "resume": "resume", "trigger": "migration trigger"}
    for event in trace.events:
        kind = kinds.get(event["event"])
        if kind is None:
            continue
        vm = event["vm"]
        first, last = first_row[vm], first_row[vm] + vcpus[history.vms[vm].vm_type] - 1
        # What comes from outside lies at the upper edge, what the policy does at the lower one, names between them.
        row = last + _LOWER if kind == "migration trigger" else first - _UPPER
        markers.append(Marker(kind, event["t"], row, (f"{vm}: {kind} at {event['t']:,} s",)))
    placed: dict[tuple[str, int, float], list[str]] = {}
    for move in history.moves:
        kind = "steal" if move.kind == "steal" else "migration"
        row = _target_row(history, move, first_row) + _LOWER
        placed.setdefault((kind, move.time_s, row), []).append(_move_text(move))
    markers += [Marker(kind, time_s, row, tuple(texts)) for (kind, time_s, row), texts in placed.items()]
    for run in history.runs:
        if run.saved:
            text = f"{run.task} goes on from its checkpoint at {percent(run.saved)} ({run.start_s:,} s)"
            row = first_row[run.vm] + run.core + _LOWER
            # Inside the bar: at its very start the sign of a migration may lie.
            time_s = run.start_s + min(_INSET * trace.end["t"], (run.end_s - run.start_s) / 2)
            markers.append(Marker("start from a checkpoint", time_s, row, (text,)))
    return markers


def _move_text(move: Move) -> str:
    what = "stolen" if move.kind == "steal" else f"migrated to {move.kind} VM"
    notes = [f"saved {percent(move.saved)}"] if move.saved else []
    notes += ["can no longer meet the deadline"] if move.late else []
    return f"{move.task} {what}: {move.source} to {move.target} at {move.time_s:,} s" + "".join(
        f", {note}" for note in notes
    )


def _target_row(history: History, move: Move, first_row: dict[str, int]) -> float:
    """Row on which the task will run; the first of the VM if it never does."""
    core = 0 if move.next_run is None else history.runs[move.next_run].core
    return float(first_row[move.target] + core)


def _centre(history: History, vm: str, first_row: dict[str, int], vcpus: dict[str, int]) -> float:
    return first_row[vm] + (vcpus[history.vms[vm].vm_type] - 1) / 2


def _arrows(history: History, first_row: dict[str, int], vcpus: dict[str, int], end_s: int) -> list[Arrow]:
    """One arrow for all tasks that move at one moment between the same VMs, to the first row they go to."""
    ends: dict[tuple[int, bool, str, str], float] = {}
    for move in history.moves:
        row = _target_row(history, move, first_row) + _LOWER
        key = (move.time_s, move.kind == "steal", move.source, move.target)
        ends[key] = min(ends.get(key, row), row)
    arrows = []
    of_moment: dict[int, int] = {}
    # The longer arrow bends more: arrows of one moment lie side by side and do not cross.
    length = {key: abs(row - _centre(history, key[2], first_row, vcpus)) for key, row in ends.items()}
    for key, to_row in sorted(ends.items(), key=lambda item: (item[0][0], length[item[0]])):
        time_s, steal, source, _ = key
        number = of_moment[time_s] = of_moment.get(time_s, 0) + 1
        bend = end_s * min(0.006 + 0.006 * number, 0.06)
        arrows.append(Arrow(time_s, _centre(history, source, first_row, vcpus), to_row, bend, steal))
    return arrows
