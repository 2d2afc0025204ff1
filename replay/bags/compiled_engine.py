"""Replays of many days: the same rules as `Replay` goes by, in compiled loops (see `rules` and `moments`).

First the parts that each take the place of one of `interpreted`, then the loops, and the arrays that they go over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core.compiled import is_ready
from ...core.compiled_rows import compiled_rules, rows_from
from ...core.rows import dtype_of, enter, rows_of, tables_of
from ...instances.bags.timeline import Timeline
from ...instances.clouds import PAPERS, Cloud
from ...instances.entries import NEVER
from ...instances.instance import Instance
from . import interpreted, rows
from .engine import last_call_s, policy_options
from .interpreted import QUESTIONS
from .moments import go_through
from .outcome import BILLED, OF_ROWS, DayOutcome, bills_of, outcome_with
from .plan import ReplayPlan, day_table, law_values, n_aged, new_name, rest_values, table_of
from .policies import POLICIES, Rescue
from .policies.on_time_rescue import latest_rescue, new_vms_from
from .record import Recorded, event_records
from .rows import (
    NEEDS_RESCUE,
    NONE,
    REFUSED,
    TOO_MANY_ENTRIES,
    TOO_MANY_EVENTS,
    TOO_MANY_VMS,
    EventRow,
    GaveUpError,
    Rows,
)
from .rules import comes_before, may_give
from .state import Policy, RulePolicy

if TYPE_CHECKING:
    from ...heuristics.bags.rescue import Rescue as PlannedRescue


# ------------------------------------------------- parts in place of those that Python has

_KIND_BITS = 40


def give_up(r: Rows, why: int) -> None:
    """End the loop; see `GaveUpError`."""
    r.why = why
    raise GaveUpError


def push(r: Rows, time_s: int, kind: int, v: int, core: int, epoch: int) -> None:
    """Queue an event."""
    place = r.n_events
    if place == len(r.events):
        give_up(r, TOO_MANY_EVENTS)
    r.n_events += 1
    r.sequence += 1
    # One number orders events of the same time by kind, then by their turn, as the tuples of Python do.
    rank = (kind << _KIND_BITS) + r.sequence
    while place > 0:
        above = (place - 1) >> 1
        if not _comes_later(r.events[above], time_s, rank):
            break
        _move_event(r, place, above)
        place = above
    event = r.events[place]
    event.time_s, event.rank, event.vm, event.core, event.epoch = time_s, rank, v, core, epoch


def _comes_later(event: EventRow, time_s: int, rank: int) -> bool:
    return event.time_s > time_s or (event.time_s == time_s and event.rank > rank)


def _move_event(r: Rows, place: int, source: int) -> None:
    event, to = r.events[source], r.events[place]
    to.time_s, to.rank, to.vm, to.core, to.epoch = event.time_s, event.rank, event.vm, event.core, event.epoch


def pop(r: Rows) -> tuple[int, int, int, int, int]:
    """Take the next event from the queue: when it is, its kind, VM, core and epoch."""
    event = r.events[0]
    taken = event.time_s, event.rank >> _KIND_BITS, event.vm, event.core, event.epoch
    r.n_events -= 1
    n = r.n_events
    last = r.events[n]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= n:
            break
        if below + 1 < n:
            right = r.events[below + 1]
            if not _comes_later(right, r.events[below].time_s, r.events[below].rank):
                below += 1
        if _comes_later(r.events[below], last.time_s, last.rank):
            break
        _move_event(r, place, below)
        place = below
    # The last event goes into the gap that has sunk to its place.
    if place != n:
        _move_event(r, place, n)
    return taken


def is_next(r: Rows, first: int, last: int) -> bool:
    """True if the next event of the queue is of now or before, and of some kinds."""
    if r.n_events == 0 or r.events[0].time_s > r.now_s:
        return False
    kind = r.events[0].rank >> _KIND_BITS
    return first <= kind <= last


def next_s(r: Rows) -> int:
    """Time of the next event of the queue; `NEVER` without any."""
    return r.events[0].time_s if r.n_events else NEVER


def note(r: Rows, what: int, v: int, core: int, task: int, first: int, second: int, real: float) -> None:
    """Keep something on record, if there is one."""
    if not r.recording:
        return
    if r.n_notes == len(r.notes):
        give_up(r, TOO_MANY_ENTRIES)
    row = r.notes[r.n_notes]
    r.n_notes += 1
    row.time_s, row.what, row.vm, row.core, row.task = r.now_s, what, v, core, task
    row.first, row.second, row.real = first, second, real


def add_vm(r: Rows, offer: int) -> int:
    """Make room for one more VM; return which it is."""
    if r.n_vms == len(r.vms):
        give_up(r, TOO_MANY_VMS)
    return r.n_vms


def add_session(r: Rows, start_s: int, end_s: int, lost: int) -> int:
    """Add a session; return which it is."""
    if r.n_sessions == len(r.sessions):
        give_up(r, TOO_MANY_ENTRIES)
    row = r.sessions[r.n_sessions]
    row.start_s, row.end_s, row.lost, row.next = start_s, end_s, lost, NONE
    r.n_sessions += 1
    return r.n_sessions - 1


def add_noticed(r: Rows, v: int) -> None:
    """List a VM that has notice now, or earlier notice than another event of this moment has given it."""
    if r.n_noticed == len(r.noticed_now):
        give_up(r, TOO_MANY_VMS)
    r.noticed_now[r.n_noticed] = v
    r.n_noticed += 1


def add_helper(r: Rows, v: int) -> None:
    """Add a VM that a migration trigger counts on."""
    if r.n_helpers == len(r.helpers):
        give_up(r, TOO_MANY_ENTRIES)
    r.helpers[r.n_helpers] = v
    r.n_helpers += 1


def add_sketch(r: Rows) -> int:
    """Make room for one more sketch; return which it is."""
    if r.n_chosen == len(r.sketches):
        give_up(r, TOO_MANY_VMS)
    r.n_chosen += 1
    return r.n_chosen - 1


def refuse(r: Rows, reason: int, v: int, task: int) -> None:
    """Give up: Python says what is wrong."""
    give_up(r, REFUSED)


def plan_rescue(r: Rows) -> None:
    """Find the rescue of the survival certificate for the loss of all VMs that give tasks.

    The first time, if types go down as a whole; Python works it out, and the replay begins anew.
    """
    planned, types = r.rescue_tried == 0, 0
    r.rescue_tried, r.rescue_found = 1, 0
    for v in range(r.n_vms):
        if r.vms[v].n_left and may_give(r.vms[v]):
            types |= 1 << r.offers[r.vms[v].offer_index].type
    # The certificate knows types that go down as a whole: where some of their VMs go on, it has nothing to say.
    for v in range(r.n_vms):
        vm = r.vms[v]
        if vm.spot and vm.n_left and not may_give(vm) and types & (1 << r.offers[vm.offer_index].type):
            planned = False
    if planned and not r.rescue_given:
        r.lost_types = types
        give_up(r, NEEDS_RESCUE)
    # The day begins anew with the rescue that Python has found, and comes here again, in the same state.
    elif planned:
        r.rescue_found = int(r.rescue_given == 2)


def sort_tasks(r: Rows, tasks: list[int], n: int) -> None:
    """Sort the first tasks of a list by rank, weight and tie."""
    # By Shell's gaps: without recursion, and without room of its own.
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap:
        for k in range(gap, n):
            task, place = tasks[k], k
            while place >= gap and comes_before(r, task, tasks[place - gap]):
                tasks[place] = tasks[place - gap]
                place -= gap
            tasks[place] = task
        gap //= 3


def make_room_for_standby(r: Rows) -> None:
    """Make room for what `on-time` knows of tasks and VMs: there is some."""


IN_PLACE_OF = {interpreted.pack: latest_rescue, interpreted.pack_new_vms: new_vms_from} | {
    getattr(interpreted, part.__name__): part
    for part in (
        *(push, pop, is_next, next_s, note, add_vm, add_session, add_noticed, add_helper, add_sketch),
        *(refuse, plan_rescue, sort_tasks, make_room_for_standby),
    )
}
"""Parts of `interpreted`, and what compiled loops have in their places."""


# ------------------------------------------------------------------------ loops

_MORE_VMS = 32
_MOST_TYPES = 62
_COMPILES_S = 10.0
"""Time (s) that the loop of a policy takes to compile, about: 6 to 15 for a first one, less for those that follow."""

TOO_MANY = (TOO_MANY_VMS, TOO_MANY_EVENTS, TOO_MANY_ENTRIES)

rows_of_record = rows_from(Rows)


def drive(context: Any) -> None:
    """Go through a day."""
    go_through(rows_of_record(context[0]))


def _nothing(r: Rows, *asked_about: Any) -> None:
    """Answer a question by doing nothing."""


_PARTS: dict[Any, Any] = {}


def in_place_of(kind: type[RulePolicy]) -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return the functions that the compiled loop of a policy has in place of those that Python calls."""
    return IN_PLACE_OF | {asked: kind.answers.get(question, _nothing) for question, asked in QUESTIONS.items()}


def _driver(kind: type[RulePolicy]) -> Any:
    """Return the compiled loop of a policy: what policies share is compiled once."""
    return compiled_rules(drive, f"drive_{kind.name}", in_place_of(kind), _PARTS)


DRIVERS: dict[type[Policy], Any] = {kind: _driver(kind) for kind in POLICIES.values() if issubclass(kind, RulePolicy)}
"""Loops of the policies whose answers are rules."""


class CompiledReplays:
    """The days of a plan.

    Not under policies whose decisions are not rules over rows.

    Parameters
    ----------
    plan : ReplayPlan
        The plan.
    """

    def __init__(self, plan: ReplayPlan) -> None:
        self.plan = plan
        self._names = [vm.name for vm in plan.vms]
        self._last: tuple[Timeline | None, Cloud]
        self._rescues: dict[tuple[int, int], _Rescue] = {}
        n_vms, n_tasks = len(plan.vms), plan.instance.n_tasks
        room = (n_vms + _MORE_VMS, 4 * n_tasks + 16 * n_vms + 256, 16 * n_vms + 256)
        self._allocate(dict(zip(TOO_MANY, room, strict=True)))

    def outcome(self, policy: Policy, day: Timeline, cloud: Cloud, law: object = None) -> DayOutcome | None:
        """Replay a day.

        Parameters
        ----------
        policy : Policy
            What answers to events.
        day : Timeline
            The day. What it leaves open is as on the cloud.
        cloud : Cloud
            What interruptions are, and how VMs are billed.
        law : optional
            What is known of days like this one, for policies that ask for it.

        Returns
        -------
        DayOutcome or None
            As `Replay` has it; None if that has to do it, or to tell what is wrong.
        """
        return self._replayed(policy, day, cloud, law, 0)

    def recorded(
        self, policy: Policy, day: Timeline, cloud: Cloud, law: object = None
    ) -> tuple[DayOutcome, Recorded] | None:
        """Replay a day, and keep a record of all that happens; see `outcome`."""
        plan = self.plan
        entries = max(self._room[TOO_MANY_ENTRIES], 8 * plan.instance.n_tasks)
        self._allocate(self._room | {TOO_MANY_ENTRIES: entries})
        outcome = self._replayed(policy, day, cloud, law, 1)
        if outcome is None:
            return None
        row, names = self._context[0], [bill.name for bill in outcome.bills]
        offers = self._arrays["vms"]["offer_index"][: len(names)].tolist()
        notes = self._arrays["notes"][: row["n_notes"]].tolist()
        left = np.flatnonzero(self._arrays["tasks"]["vm"] != NONE).tolist()
        return outcome, Recorded(
            policy_name=policy.name,
            plan=plan,
            now_s=int(row["now_s"]),
            records=event_records(plan.instance, names, offers, notes),
            unfinished=[plan.instance.task_ids[task] for task in left],
        )

    def _replayed(self, policy: Policy, day: Timeline, cloud: Cloud, law: object, recording: int) -> DayOutcome | None:
        limit_s = policy.idle_limit_s
        if limit_s is not None and not (isinstance(limit_s, int) and 0 <= limit_s < NEVER):
            return None
        if not has_loop(type(policy), self.plan.instance):
            return None
        options: dict[str, float] = {"recording": recording, **policy_options(policy)}
        if type(policy).asks_for_law:
            options |= law_values(law, self.plan.instance.deadline_s)
        rescue = _NO_RESCUE
        while True:
            if self._last[0] is not day or self._last[1] is not cloud:  # mostly, several policies meet a day
                self._begin(day, cloud)
            context = self._start(options, rescue)
            try:
                DRIVERS[type(policy)](context)
            except GaveUpError:
                why = int(context[0]["why"])
            else:
                return self._outcome(policy, context, cloud)
            if why == NEEDS_RESCUE:
                rescue = self._rescue(int(context[0]["lost_types"]), int(context[0]["now_s"]))
            elif why == REFUSED:
                return None
            else:
                self._allocate(self._room | {why: 2 * self._room[why]})

    def _allocate(self, room: dict[int, int]) -> None:
        """Make the arrays of a replay, which serve for all days; ``room`` is how many there may be of what."""
        self._room, tables = room, self.plan.tables
        most_vms, most_events, most_entries = (room[why] for why in TOO_MANY)
        listed, packed = 2 * most_vms + 2, most_vms + tables.most_new
        counts = tables.counts | tables.counts_of_rescues | {"room": most_vms, "vms": listed, "sketches": listed}
        counts |= {"events": most_events, "entries": most_entries}
        counts |= {"packed": packed, "packed_cores": packed * counts["cores"]}
        counts |= {"rescuers": packed, "rescuer_cores": packed * counts["cores"]}
        self._arrays: dict[str, Any] = {}
        self._context = np.zeros(1, dtype=dtype_of(Rows))
        places = rows.shapes(counts)
        for name, row, _ in tables_of(Rows):
            given = np.array(tables.given[name], dtype=dtype_of(row)) if name in rows.GIVEN else None
            self._enter(self._context, name, np.zeros(places.get(name, 0), dtype_of(row)) if given is None else given)
        alike = {entry.name: entry.default for entry in fields(Rows) if entry.default is not MISSING}
        for name, value in (alike | tables.settings | {"most_listed": listed}).items():
            self._context[name] = value
        self._first = self._context.copy()
        # As plain numbers, which are copied as fast as memory is.
        first = {name: tables.given[name] for name in ("tasks", "limits")}
        for name, usual in (("types", rows.TypeRow()), ("prices", rows.PriceRow()), ("standby", rows.StandbyRow())):
            first[name] = table_of(usual, len(self._arrays[name]))
        self._at_first = {name: (_numbers(self._arrays[name]), _numbers(table)) for name, table in first.items()}
        self._at_first |= {name: (_numbers(self._arrays[name]), 0) for name in ("vms", "asked")}
        self._at_first["context"] = _numbers(self._context), _numbers(self._first)
        self._last = None, PAPERS

    def _enter(self, context: Any, name: str, array: Any) -> None:
        """Tell the loops where an array is."""
        self._arrays[name] = array
        enter(context[0], name, array)

    def _begin(self, day: Timeline, cloud: Cloud) -> None:
        """Have replays start on a day."""
        self._last, resolved, tables = (day, cloud), day.resolved(cloud), self.plan.tables
        table = day_table(tables.names, resolved)
        self._enter(self._first, "days", table)
        self._enter(self._first, "priced_now", np.zeros(len(table), np.int64))
        self._enter(self._first, "types_now", np.zeros(len(table) + len(self.plan.instance.vm_types), np.int64))
        self._first["n_aged"] = self._first["next_day"] = n_aged(table)
        self._first["n_days"], self._first["last_call_s"] = len(table), last_call_s(resolved, self.plan.instance)
        for name, value in rest_values(cloud.billing).items():
            self._first[name] = value
        self._at_first["offers"] = _numbers(self._arrays["offers"]), _numbers(tables.offers_billed(cloud.billing)[0])

    def _start(self, options: dict[str, float], rescue: _Rescue) -> Any:
        """Set the arrays to the start of a day; return the record that holds all."""
        for numbers, at_first in self._at_first.values():
            numbers[:] = at_first
        context, row = self._context, self._context[0]
        if rescue.given:
            self._enter(context, "rescue_vms", rescue.vms)
            self._enter(context, "rescue_tasks", rescue.tasks)
            row["n_rescue_vms"], row["n_rescue_tasks"] = len(rescue.vms), len(rescue.tasks)
            row["rescue_given"] = rescue.given
        for name, value in options.items():
            row[name] = value
        return context

    def _rescue(self, types: int, now_s: int) -> _Rescue:
        """Return the rescue of what is lost at a moment at which some types (the bits of a number) go down."""
        from ...heuristics.bags.rescue import rescue_at  # here, so that other policies do not load it

        if (types, now_s) not in self._rescues:
            lost = [vm_type.name for k, vm_type in enumerate(self.plan.instance.vm_types) if types >> k & 1]
            planned = rescue_at(self.plan.schedule, lost, now_s)
            self._rescues[types, now_s] = _FAILED if planned is None else self._rescue_arrays(planned)
        return self._rescues[types, now_s]

    def _rescue_arrays(self, planned: PlannedRescue) -> _Rescue:
        vms = [(vm.offer.index, NONE if vm.new else self._names.index(vm.id)) for vm in planned.vms]
        tasks = np.zeros(len(planned.task), dtype=dtype_of(rows.RescueTaskRow))
        tasks["task"], tasks["place"] = planned.task, planned.task_vm
        return _Rescue(np.array(vms, dtype=dtype_of(rows.RescueVmRow)), tasks, 2)

    # --------------------------------------------------------------------- outcome

    def _outcome(self, policy: Policy, context: Any, cloud: Cloud) -> DayOutcome:
        values = SimpleNamespace(**dict(zip(_COUNTS.names, context.view(_COUNTS)[0].item(), strict=True)))
        offers, names = self.plan.instance.offers, self._names
        vms = self._arrays["vms"][: values.n_vms]
        if values.n_vms > len(names):
            names, taken = names.copy(), set(names)
            for index, rented in vms[["offer_index", "rented_before"]][len(names) :].tolist():
                names.append(new_name(offers[index], rented, taken))
                taken.add(names[-1])
        days = self._arrays["days"][: values.next_day]
        changes = rows_of(rows.DayRow, days[days["kind"] == rows.PRICE])
        sessions = rows_of(rows.SessionRow, self._arrays["sessions"][: values.n_sessions]) if changes else []
        bills = bills_of(names, offers, vms.view(_BILLED).tolist(), cloud.billing, changes, sessions)
        return outcome_with(policy.name, values, bills)


_BILLED: Any = dtype_of(rows.VmRow)[list(BILLED)]
_COUNTS: Any = dtype_of(Rows)[[*OF_ROWS, "n_vms", "n_sessions", "next_day"]]


class _Rescue(NamedTuple):
    """A rescue as the compiled policy has it; 2 if there is one, 1 if there is none, 0 if that is not known yet."""

    vms: Any = np.zeros(0, dtype=dtype_of(rows.RescueVmRow))
    tasks: Any = np.zeros(0, dtype=dtype_of(rows.RescueTaskRow))
    given: int = 0


_NO_RESCUE = _Rescue()
_FAILED = _Rescue(given=1)


def is_worth_while(kinds: Sequence[type[Policy]], in_python_s: Callable[[], float]) -> bool:
    """True if all days under some policies that have loops are done earlier in these, though they may be to compile.

    Parameters
    ----------
    kinds : sequence of type
        The policies.
    in_python_s : callable
        Tells how long the days take in Python (s); asked only if a loop is to be compiled.
    """
    to_compile = sum(not is_ready(DRIVERS[kind]) for kind in kinds)
    return bool(kinds) and (not to_compile or in_python_s() >= to_compile * _COMPILES_S)


def has_loop(kind: type[Policy], instance: Instance) -> bool:
    """True if days of an instance under a policy can be replayed in a compiled loop."""
    if kind not in DRIVERS or len(instance.vm_types) > _MOST_TYPES:
        return False
    return not (kind is Rescue and instance.survive == "each")  # one rescue a day is known there


def _numbers(records: Any) -> Any:
    """Return the memory of an array of records as whole numbers."""
    return records.view(np.int64)
