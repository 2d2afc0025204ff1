"""Both back ends of the replay of bags side by side, and all that is in their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

from spotbag.core.compiled_rows import COLUMNS, LENGTH, compiled_rules
from spotbag.core.errors import SpotbagError
from spotbag.core.rows import dtype_of, tables_of
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.bags.timeline import Timeline
from spotbag.instances.clouds import CLOUDS, PAPERS, Cloud
from spotbag.instances.entries import NEVER
from spotbag.instances.instance import Instance
from spotbag.replay.bags import compiled_engine
from spotbag.replay.bags.compiled_engine import _KIND_BITS, CompiledReplays, rows_of_record
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.moments import await_start, request_plan, step
from spotbag.replay.bags.outcome import DayOutcome
from spotbag.replay.bags.plan import ReplayPlan, replay_plan
from spotbag.replay.bags.policies import find_policy
from spotbag.replay.bags.rows import REFUSED, GaveUpError, NoteRow, Rows, StandbyRow, VmRow
from spotbag.replay.bags.state import Policy, ReplayState, RulePolicy
from tests.helpers.random_days import random_cloud, random_cloud_day, random_plan

RULE_POLICIES = (
    *(kind.name for kind in compiled_engine.DRIVERS),
    *(f"{kind.name}+{rule}" for kind in compiled_engine.DRIVERS for rule in kind.rules),
    "hads+spare-time-spot+trigger-once+any-thief+idle-60",
)
"""Policies whose rules are over rows, with each of their other rules, and with several."""


# ------------------------------------------------------------------------------- days


def random_replay_plan(document: dict[str, Any], rng: np.random.Generator) -> ReplayPlan | None:
    """A plan of a bag that a cloud could carry out, of which memory binds of every third; None if there is none."""
    if rng.random() < 1 / 3:
        document = document | {
            "tasks": [task | {"memory_mb": float(rng.choice([300, 700, 1000]))} for task in document["tasks"]]
        }
    try:
        schedule = random_plan(with_d_spot(Instance.from_document(document, "random")), rng)
    except SpotbagError:
        return None
    return None if schedule is None else replay_plan(schedule)


def policies_for(instance: Instance, names: Sequence[str] = RULE_POLICIES) -> list[str]:
    """Those of some policies that may meet an instance; one that decides anything knows dates as well as any."""
    return [name for name in names if not instance.has_dates or name.startswith("anything") or find_policy(name).dates]


def random_meeting(instance: Instance, rng: np.random.Generator) -> tuple[Timeline, Cloud]:
    """A day with everything that may happen on a cloud, one that there is or a random one."""
    known = (PAPERS, *CLOUDS.values())
    number = int(rng.integers(2 * len(known)))
    cloud = known[number] if number < len(known) else random_cloud(rng)
    return random_cloud_day(instance, rng).resolved(cloud), cloud


# ------------------------------------------------------------------------------- rows

_KNOWN = dtype_of(StandbyRow).names.index("known")

Values = dict[str, Any]
"""Of a replay: its single fields by name, and its tables as lists of tuples, and of numbers."""

_COUNTED_BY = {
    **{name: f"n_{name}" for name in ("ended", "places", "groups_now", "types_now", "rescue_vms", "rescue_tasks")},
    **{
        f"{what}_now": f"n_{what}"
        for what in ("idle", "back", "noticed", "struck", "finished", "priced", "triggered", "unused", "preempted")
    },
    "trigger_epochs": "n_triggered",
    "unused_epochs": "n_unused",
    "preempted_on": "n_preempted",
    "days": "next_day",
    "open_tasks": "n_open",
    "standby_vms": "n_standby_vms",
}
"""What counts how much of a table is in use."""

_ROOM = {
    *("heads", "listed", "ordered", "left", "free_vms", "busy_vms", "chosen", "n_chosen", "most_listed"),
    *("packed", "placed", "found", "found_new", "found_longest_s", "packed_vms", "packed_cores"),
    *("rescuers", "rescuer_offers", "rescuer_free_s", "rescuer_kb", "standby_work_s"),
}
"""What a step works in: nothing of it lasts."""

_OF_ON_TIME = {"standby", "need_s", "need_least_s", "need_kb", "need_ready_s", "need_after_s"}
"""Of tasks: what only `on-time` knows, in Python from when it is asked first."""

_OWN = {
    "last_call_s",  # in Python, the replay has it, where no policy sees it
    *("sketches", "sketched", "spans", "n_spans"),  # in Python, timelines of VMs
    *("n_sessions", "n_notes"),  # in Python, the lengths of lists
    *("events", "n_events"),  # in Python, the queue
    "n_days",  # in Python, those that have been
    *("rescue_given", "lost_types"),  # in Python, a rescue is worked out when it is needed
}
"""What the back ends have in ways of their own."""


@cache
def _singles(row: type) -> tuple[tuple[str, ...], tuple[type, ...]]:
    """Return the names of the fields of a row that are no tables, and what they are."""
    dtype = dtype_of(row)
    tables = {table.name + part for table in tables_of(row) for part in ("", LENGTH, COLUMNS)}
    names = tuple(name for name in dtype.names or () if name not in tables)
    return names, tuple(float if dtype[name].kind == "f" else int for name in names)


def values_in_python(r: ReplayState) -> Values:
    """Return all that is in the rows of an interpreted replay.

    Raises
    ------
    AssertionError
        If one of them is of another kind than its field: a real number in place of a whole one, or the other way round.
    """
    values: Values = dict(zip(_singles(Rows)[0], _values_of(Rows, r), strict=True))
    for table in tables_of(Rows):
        rows = getattr(r, table.name)
        if table.name == "notes":
            kinds = _singles(table.row)[1]
            assert all(tuple(map(type, row)) == kinds for row in rows), rows
            values["notes"] = list(rows)
        elif table.nested:
            values[table.name] = [_rows_of(table.row, row) for row in rows]
        else:
            values[table.name] = _rows_of(table.row, rows)
    return values | {"queue": sorted(r.queue)}


def _rows_of(row: type, rows: list[Any]) -> list[Any]:
    if row in (int, float):
        assert all(type(number) is row for number in rows), rows
        return list(rows)
    return [_values_of(row, one) for one in rows]


def _values_of(row: type, one: Any) -> tuple[Any, ...]:
    names, kinds = _singles(row)
    found: tuple[Any, ...] = attrgetter(*names)(one)
    if tuple(map(type, found)) != kinds:
        wrong = [
            (name, value) for name, value, kind in zip(names, found, kinds, strict=True) if type(value) is not kind
        ]
        raise AssertionError((row.__name__, wrong))
    return found


def values_in_arrays(loops: CompiledReplays, context: Any) -> Values:
    """Return all that is in the rows of a compiled replay; of tables that grow in Python, what is in use."""
    values: Values = {name: context[0][name].item() for name in _singles(Rows)[0]}
    for table in tables_of(Rows):
        rows = loops._arrays[table.name]
        if table.name in ("vms", "cores", "events", "sessions", "notes", "helpers"):
            rows = rows[: values["n_vms" if table.name == "cores" else f"n_{table.name}"]]
        values[table.name] = rows.tolist()
    vcpus = dtype_of(VmRow).names.index("vcpus")
    values["cores"] = [of[: vm[vcpus]] for of, vm in zip(values["cores"], values["vms"], strict=True)]
    queue = [
        (time_s, rank >> _KIND_BITS, rank % (1 << _KIND_BITS), vm, core, epoch)
        for time_s, rank, vm, core, epoch in values["events"]
    ]
    return values | {"queue": sorted(queue)}


def in_use(values: Values) -> Values:
    """Return what of a replay means something after a step, in whichever back end it is."""
    used = {name: value for name, value in values.items() if name not in _ROOM | _OWN}
    for table, count in _COUNTED_BY.items():
        used[table] = used[table][: used[count]]
    first = used.pop("first_restless")
    used["restless"] = used["restless"][first : first + used["n_restless"]]
    for asked in ("idle_asked", "busy_asked"):
        used[asked] = [used[asked][group] for group in used["groups_now"]]
    known = [task for task, row in enumerate(used["standby"]) if row[_KNOWN]]
    for name in _OF_ON_TIME - {"need_s"}:
        used[name] = {task: used[name][task] for task in known}
    columns = used["n_columns"]
    used["need_s"] = {task: used["need_s"][task * columns : (task + 1) * columns] for task in known}
    if not used["rescue_found"]:
        for name in ("rescue_vms", "rescue_tasks", "n_rescue_vms", "n_rescue_tasks"):
            del used[name]
    return used


def demand_equal(one: Values, other: Values) -> None:
    """Compare two replays."""
    mine, others = in_use(one), in_use(other)
    if mine != others:
        assert mine.keys() == others.keys()
        differences = []
        for name, value in mine.items():
            if value != others[name]:
                pairs = [(name, value, others[name])]
                if isinstance(value, list) and len(value) == len(others[name]):
                    pairs = [(f"{name}[{k}]", *pair) for k, pair in enumerate(zip(value, others[name], strict=True))]
                differences += [pair for pair in pairs if pair[1] != pair[2]]
        pytest.fail("\n".join(map(str, differences)))


# ------------------------------------------------------------------------------- steps


def advance(context: Any, begun: int) -> bool:
    """Begin a replay, or make one step; False if it is done."""
    r = rows_of_record(context[0])
    if not begun:
        request_plan(r)
        await_start(r)
        return True
    return step(r, r.days[r.next_day].time_s if r.next_day < r.n_days else NEVER, r.last_call_s)


@cache
def stepping(kind: type[Policy]) -> Any:
    """Return the compiled loop of a policy that makes one step: of the parts of that which goes through a day."""
    assert issubclass(kind, RulePolicy)
    given = compiled_engine.in_place_of(kind)
    return compiled_rules(advance, f"advance_{kind.name}", given, compiled_engine._PARTS)


def outcome_step_by_step(loops: CompiledReplays, policy: str, day: Timeline, cloud: Cloud) -> DayOutcome | None:
    """Go through a day in both back ends, with records, and compare all rows after each step.

    Returns
    -------
    DayOutcome or None
        Of both; None if what the policy decides is refused.
    """
    kind = type(find_policy(policy))
    replays: list[Replay] = []

    def take_steps(context: Any) -> None:
        keep_notes(loops, context)
        replay = Replay(loops.plan, find_policy(policy), day, cloud, record=True)
        replays.append(replay)
        begun, going_on = 0, True
        while going_on:
            try:
                going_on = bool(stepping(kind)(context, begun))
            except GaveUpError:
                if context[0]["why"] == REFUSED:
                    with pytest.raises(SpotbagError):
                        replay.step()
                raise
            if begun:
                assert replay.step() == going_on
            demand_equal(values_in_python(replay.state), values_in_arrays(loops, context))
            begun = 1

    with driven_by(kind, take_steps):
        outcome = loops.outcome(find_policy(policy), day, cloud)
    assert outcome is None or outcome == replays[-1].outcome()
    return outcome


def keep_notes(loops: CompiledReplays, context: Any) -> None:
    """Have compiled loops keep a record."""
    context[0]["recording"] = 1
    loops._enter(context, "notes", np.zeros(_MOST_NOTES, dtype=dtype_of(NoteRow)))


_MOST_NOTES = 20_000


@contextmanager
def driven_by(kind: type[Policy], drive: Callable[[Any], None]) -> Iterator[None]:
    """Have days under a policy gone through by something else than its compiled loop."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(compiled_engine.DRIVERS, kind, drive)
        yield
