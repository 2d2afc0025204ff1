"""Rows of a replay: the same for plain Python and for compiled loops (see `core.rows`).

Whole numbers stand for what has a few values: VMs, tasks, offers and types by their indices, kinds by the constants
below. `NONE` stands for none of these. Times on a VM are in its *uptime*, which stands still while it is
hibernated, stopped or booting again: the timetable of its cores is exact whatever the day brings.
"""

# ruff: noqa: RUF009 (`_of` makes a field at each call)
from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Literal, TypeAlias, get_args

from ..engines import NONE as NONE  # part of what rows are made of

# Events of the queue, in the order in which they are taken at the same time; see `Replay`.
FINISH, PREEMPTED, START, RECALL, READY, OLD_NOTICED, OLD, INTERRUPT, TRIGGER, CYCLE_END, IDLE_LIMIT, WAKE = range(12)

# Kinds of interruption, and of all other events of a day.
HIBERNATE, STOP, TERMINATE, RESUME, CAPACITY, PRICE = range(6)

# Of a task in the rescue that `on-time` keeps ready, in place of a VM: it has no place there, or goes to a new VM, the
# first or one of those that follow, which are counted downwards.
LEFT_OUT, FIRST_NEW = range(NONE - 1, NONE - 3, -1)

# What a VM was before it got a task.
IDLE, BUSY, NEW = range(3)
MigrationKind: TypeAlias = Literal["idle", "busy", "new"]
MIGRATION_KINDS: tuple[MigrationKind, ...] = get_args(MigrationKind)
"""Names of the kinds of migrations in records (HADS, section 5.3.2)."""

_Noted = namedtuple(
    "_Noted",
    "LAUNCH READY START FINISH HIBERNATE STOP RECLAIM NOTICE RESUME RESTART PRICE CAPACITY MIGRATE STEAL PREEMPT "
    "PREEMPTED TRIGGER TRIGGER_SET CYCLE_END IDLE_LIMIT STEAL_ATTEMPT STRANDED TERMINATE WAKE",
)
NOTED = _Noted(*range(len(_Noted._fields)))
"""Kinds of notes, by the names that traces have for them. Beside VM, core and task, a note has three numbers."""

# Bits of a migration, beside the kind of the VM that takes the task.
RECOVERED, LATE = 4, 8
MODE_SHIFT = LATE.bit_length()
"""Shift of the mode of the task, which is above these bits."""

# Why a compiled loop gives up.
DONE, TOO_MANY_VMS, TOO_MANY_EVENTS, TOO_MANY_ENTRIES, NEEDS_RESCUE, REFUSED = range(6)


class GaveUpError(Exception):
    """Raised by compiled loops: Python sees to what they lack, and goes through the day once more."""


_Refusal = namedtuple("_Refusal", "NO_CREDITS NO_PLACE NO_ROOM NOTHING_LOST NO_TRIGGER ENDED_ALREADY HAS_TASKS")
REFUSAL = _Refusal(*range(len(_Refusal._fields)))
"""Reasons for which a decision is refused."""


def or_none(value: int | None) -> int:
    """Return a number, or what stands for none."""
    return NONE if value is None else value


@dataclass(slots=True, eq=False)
class OfferRow:
    """Offer of VMs: see `RentalOffer`; ``sustained`` is the mode in which its VMs run whatever their credits.

    ``memory_kb`` is `NONE` where it never binds; ``rented`` counts VMs that are not terminated; its limits are some of
    `Rows.members`, one after the other. ``stamp`` says which question the least that tasks ask of it is the answer to;
    its VMs are a heap within `Rows.places`. The fields of a `Bill` are those of its own. Tasks of the plan start
    ``setup_s`` after the boot at the earliest, those that are moved to a new VM ``moved_start_s`` after it.
    """

    type: int = 0
    spot: int = 0
    bursts: int = 0
    vcpus: int = 1
    first_limit: int = 0
    n_limits: int = 0
    sustained: int = 0
    memory_kb: int = NONE
    price_class: int = 0
    rented: int = 0
    stamp: int = 0
    least_duration_s: int = 0
    least_runtime_s: int = 0
    least_kb: int = 0
    first_place: int = 0
    n_places: int = 0
    unit_s: int = 1
    block_s: int = 1
    least_s: int = 0
    free_until_s: int = 0
    lead_s: int = 0
    setup_s: int = 0
    moved_start_s: int = 0
    usd_per_hour: float = 0.0
    now_usd_per_hour: float = 0.0
    baseline: float = 1.0
    first_credits: float = 0.0
    most_credits: float = 0.0
    credits_per_hour: float = 0.0
    usd: float = 0.0
    fixed_usd: float = 0.0


@dataclass(slots=True, eq=False)
class LimitRow:
    """A limit of some offers: the most that their VMs may weigh, what those weigh that are not terminated, and planned.

    ``own`` is the offer if it is of one alone.
    """

    most: int = 0
    used: int = 0
    planned: int = 0
    own: int = NONE


@dataclass(slots=True, eq=False)
class MemberRow:
    """A limit that an offer counts against, and the weight of each of its VMs."""

    limit: int = 0
    weight: int = 1


@dataclass(slots=True, eq=False)
class GroupRow:
    """Group of tasks with equal needs: memory, and seconds of work between checkpoints and of a checkpoint.

    None starts before ``ready_s``; one that ends after ``due_s`` is late, and counts by its weight.
    """

    memory_kb: int = 0
    ready_s: int = 0
    due_s: int = 0
    weight: float = 1.0
    interval_s: float = 0.0
    dump_s: float = 0.0


@dataclass(slots=True, eq=False)
class DurationRow:
    """Times of a group on an offer: durations at both speeds, run time, checkpoints of a whole task."""

    full_s: int = 0
    baseline_s: int = 0
    runtime_s: int = 0
    checkpoints: int = 0


@dataclass(slots=True, eq=False)
class DayRow:
    """An event of the day: see `TimelineEvent`; of a price, which offer."""

    time_s: int = 0
    type: int = 0
    kind: int = 0
    vm: int = NONE
    notice_s: int = 0
    vms: int = NONE
    by: int = NONE
    offer: int = NONE
    age_s: int = NONE
    share: float = NONE
    usd_per_hour: float = 0.0


@dataclass(slots=True, eq=False)
class QueueRow:
    """A core of the plan: its VM's offer, which core it is, its first and last task, and how many tasks it has."""

    offer: int = 0
    core: int = 0
    first: int = NONE
    last: int = NONE
    tasks: int = 0


@dataclass(slots=True, eq=False)
class VmRow:
    """A VM while it lives.

    Attributes
    ----------
    index, offer_index, spot, bursts, vcpus : int
        Which VM it is, what it is rented as.
    most_kb : int
        Its memory; `NONE` where it never binds.
    state : int
        `LAUNCHING`, `RUNNING`, `HIBERNATED`, `STOPPED` or `TERMINATED`.
    ready_s, since_s : int
        When it is ready, also after it was stopped; when it was ready first.
    zero_s : int
        Moment at which the uptime was 0, shifted by the time in which it stood still: ``uptime = now - zero_s``.
    first_start_s : int
        Uptime before which it runs nothing: what is moved to a new VM must arrive.
    gone_s : int
        Of a VM that runs and has notice of its interruption: when that comes. It starts nothing more.
    drains_of_type, interrupted_by, notice_s : int
        Of the last interruption, or the one that it drains for: whether the whole type goes, which kind it is, how long
        the notice was.
    reclaimed : int
        Whether the cloud has terminated it.
    halted_at_s, hibernated_s, stopped_s : int
        When it was interrupted last; seconds in hibernation, and stopped, before the present ones.
    session_from_s, first_session, last_session : int
        Since when it runs and is billed; first and last of its earlier sessions.
    ran_s, billed_s, n_paid, cost_usd : int, int, int, float
        Of its earlier sessions: their length, what is on the bill, how many that are not free, and the cost at the
        first price of the offer.
    n_left : int
        Tasks on it that are not finished.
    disordered : int
        Whether tasks have been taken away, so that those that wait can move up.
    listed_anew_s : int
        When those that wait were listed anew last; `NONE` if others have been put before them since.
    stranded : int
        For policies: whether it has tasks that should have been migrated and found no place.
    epoch, idle_epoch, trigger_epoch : int
        An event in the queue counts only if the epoch that it was made in has not ended.
    trigger_at_s, first_helper, n_helpers : int
        When its tasks are to be migrated, if that is set, and which VMs that counts on.
    kinds : int
        Bits of the kinds of VMs that tasks were migrated to since its last interruption.
    changes : int
        How often what runs and waits on it has changed.
    spanned, free_s, free_core, ends_s : int
        When its first core is free, which core that is, and when all are; whether that is known.
    timed, last_wait_s : int
        Start of the last task that waits, one that has passed if none waits; whether that is known.
    longest_run_s, longest_known : int
        Longest run time of its unfinished tasks.
    restless, held, listed, helping : int
        How often it is in the queue of VMs from which tasks were taken; preempted tasks that the policy has yet to be
        asked about; whether it is in a list of this moment, and in which estimate it is counted on.
    place_s : int
        When a core of it is free, or earlier: its key in a heap.
    seen, matched : int
        For `on-time`: its changes when it was looked at last, and one; whether the work that the rescue has for its
        cores has changed cores.
    before, after, after_of_type, after_bursting : int
        Its neighbours among the VMs of its price that are not terminated; the next spot VM of its type; the next that
        bursts.
    rented_before : int
        How many VMs of its offer there were when it was requested.
    least_of, least_duration_s, least_runtime_s, least_kb : int
        The least that tasks which wait here ask of a VM of another offer, and which that is. Tasks that have started
        since may be among them.
    """

    index: int = 0
    offer_index: int = 0
    spot: int = 0
    bursts: int = 0
    vcpus: int = 0
    most_kb: int = NONE
    state: int = 0
    ready_s: int = 0
    since_s: int = 0
    zero_s: int = 0
    first_start_s: int = 0
    gone_s: int = NONE
    drains_of_type: int = 0
    interrupted_by: int = NONE
    notice_s: int = 0
    reclaimed: int = 0
    halted_at_s: int = 0
    hibernated_s: int = 0
    stopped_s: int = 0
    session_from_s: int = NONE
    first_session: int = NONE
    last_session: int = NONE
    ran_s: int = 0
    billed_s: int = 0
    n_paid: int = 0
    terminated_s: int = 0
    n_left: int = 0
    disordered: int = 0
    listed_anew_s: int = NONE
    stranded: int = 0
    epoch: int = 0
    idle_epoch: int = 0
    trigger_epoch: int = 0
    trigger_at_s: int = NONE
    first_helper: int = 0
    n_helpers: int = 0
    kinds: int = 0
    n_at_full_speed: int = 0
    n_at_baseline: int = 0
    credit_at_s: int = 0
    changes: int = 0
    spanned: int = 0
    free_s: int = 0
    free_core: int = 0
    ends_s: int = 0
    timed: int = 0
    last_wait_s: int = 0
    longest_run_s: int = 0
    longest_known: int = 0
    restless: int = 0
    held: int = 0
    listed: int = 0
    helping: int = 0
    place_s: int = 0
    seen: int = 0
    matched: int = 0
    before: int = NONE
    after: int = NONE
    after_of_type: int = NONE
    after_bursting: int = NONE
    rented_before: int = 0
    least_of: int = NONE
    least_duration_s: int = 0
    least_runtime_s: int = 0
    least_kb: int = 0
    credit_balance: float = 0.0
    cost_usd: float = 0.0


@dataclass(slots=True, eq=False)
class CoreRow:
    """A core of a VM: the task that runs, and the first and the last that wait.

    ``standby_s`` is the work that the rescue of `on-time` has for it, ``standby_core`` the core that is to have it.
    """

    running: int = NONE
    first: int = NONE
    last: int = NONE
    standby_s: int = 0
    standby_core: int = 0


@dataclass(slots=True, eq=False)
class TaskRow:
    """A task: from when to when it runs, or is to run, in which mode, on which core of which VM, and what follows.

    Attributes
    ----------
    running : int
        Whether it runs, or did when its VM was interrupted.
    saved : float
        Of an unfinished task that has gone on from a checkpoint: the fraction of it that is saved.
    dumping_s : int
        Of a preempted task that writes a checkpoint: the uptime at which it was preempted.
    written_s, written : float, int
        Of a run that has outlived an interruption with notice: what it had saved then, in seconds of its work, and the
        checkpoints that it had written.
    ended_on : int
        The VM on which it has finished.
    turn : int
        Its turn in the order in which what waits on its VM was listed there.
    rank, weight, tie : int, float, int
        What tasks are sorted by.
    """

    start_s: int = 0
    end_s: int = 0
    mode: int = 0
    vm: int = NONE
    core: int = 0
    next: int = NONE
    running: int = 0
    group: int = 0
    dumping_s: int = NONE
    written: int = 0
    ended_on: int = NONE
    turn: int = 0
    rank: int = 0
    tie: int = 0
    saved: float = 0.0
    written_s: float = 0.0
    weight: float = 0.0


@dataclass(slots=True, eq=False)
class EventRow:
    """An event of the queue; its rank orders those of the same time."""

    time_s: int = 0
    rank: int = 0
    vm: int = 0
    core: int = 0
    epoch: int = 0


@dataclass(slots=True, eq=False)
class TypeRow:
    """A VM type: how many spot VMs there can be, if that is limited, what becomes of others, and its existing VMs.

    ``present`` counts those that use capacity, ``returning`` those that come back at this moment. Of a type of which a
    VM is interrupted and none is back, `on-time` remembers since when it ``is_out``.
    """

    capacity: int = NONE
    struck_by: int = NONE
    first: int = NONE
    last: int = NONE
    present: int = 0
    returning: int = 0
    is_out: int = 0
    out_since_s: int = 0


@dataclass(slots=True, eq=False)
class PriceRow:
    """VMs of a price that are not terminated: the first and the last that were requested."""

    first: int = NONE
    last: int = NONE


@dataclass(slots=True, eq=False)
class SessionRow:
    """Session of a VM: when it began and ended, whether the cloud ended it, and its next session."""

    start_s: int = 0
    end_s: int = 0
    lost: int = 0
    next: int = NONE


@dataclass(slots=True, eq=False)
class NoteRow:
    """Note on record; see `record`."""

    time_s: int = 0
    what: int = 0
    vm: int = NONE
    core: int = NONE
    task: int = NONE
    first: int = 0
    second: int = 0
    real: float = 0.0


@dataclass(slots=True, eq=False)
class SketchRow:
    """A VM as it would be with the tasks that are assigned to it; nothing is moved. ``vm`` is `NONE` for a new one."""

    vm: int = NONE
    offer: int = 0
    zero_s: int = 0
    longest_s: int = 0
    spare: int = 0
    kb: int = NONE
    first_span: int = NONE


@dataclass(slots=True, eq=False)
class SpanRow:
    """Span in which a task takes memory: from when to when, how much, and the next of the list."""

    start_s: int = 0
    end_s: int = 0
    kb: int = 0
    next: int = NONE


@dataclass(slots=True, eq=False)
class RescueVmRow:
    """A VM of a planned rescue: the offer of a new one, or the existing VM."""

    offer: int = 0
    vm: int = NONE


@dataclass(slots=True, eq=False)
class RescueTaskRow:
    """A task of a planned rescue, and which of its VMs it goes to."""

    task: int = 0
    place: int = 0


@dataclass(slots=True, eq=False)
class StandbyRow:
    """Place of a task in the rescue that `on-time` keeps ready, and what the task asks of on-demand VMs.

    Attributes
    ----------
    listed, place : int
        Whether it is among the open tasks; on which of some new VMs it would be.
    known, saved, order : int, float, int
        Whether what it asks is known, from where it is saved, and less than nothing by its least duration on demand.
    vm, core : int
        The VM: one that is there, or one that is new (`FIRST_NEW`), or `LEFT_OUT`, or `NONE` if it is not in the
        rescue; and which core of it.
    leaving : int
        Whether it writes a checkpoint to leave an on-demand VM.
    """

    listed: int = 0
    known: int = 0
    order: int = 0
    vm: int = NONE
    core: int = 0
    place: int = NONE
    leaving: int = 0
    saved: float = 0.0


@dataclass(slots=True, eq=False)
class StandbyVmRow:
    """A new VM of that rescue: its offer, and the work of its core that has most."""

    offer: int = 0
    longest_s: int = 0


@dataclass(slots=True, eq=False)
class PackedVmRow:
    """A VM as tasks are packed onto it: its offer, when a core of it is free, and the memory that its cores need."""

    offer: int = 0
    free_s: int = 0
    used_kb: int = 0


@dataclass(slots=True, eq=False)
class PackedCoreRow:
    """A core of it: when it is free, the memory of its largest task, and the work that is packed onto it."""

    end_s: int = 0
    kb: int = 0
    work_s: int = 0


def _of(*units: str) -> Any:
    """Return the field of a table with as many places as there are of a unit; of lists, also how long each is."""
    return field(default_factory=list, metadata={"units": units})


@dataclass(slots=True, eq=False)
class Rows:
    """A replay: its tables, what does not change, and its state.

    Tables whose name ends with an s and a count before are of numbers: VMs, tasks, offers, types. Lists are as long as
    can be; how much of each is in use is counted beside it, or by its rule. What a table has places for stands with
    it (see `shapes`); others are given by the plan.

    Attributes
    ----------
    offers, groups, durations, days, queues : list
        What is given: durations for each group and offer.
    regular : list of int
        On-demand offers that are not burstable, by price.
    vms, cores, tasks, types, prices : list
        The state: cores for each VM.
    events, sessions, notes, helpers : list
        What grows; where Python has its own queue of events and notes, these are unused.
    """

    # Tables.
    offers: list[OfferRow] = field(default_factory=list)
    limits: list[LimitRow] = field(default_factory=list)
    members: list[MemberRow] = field(default_factory=list)
    groups: list[GroupRow] = field(default_factory=list)
    durations: list[list[DurationRow]] = field(default_factory=list)
    regular: list[int] = field(default_factory=list)
    days: list[DayRow] = _of("day")
    queues: list[QueueRow] = field(default_factory=list)
    vms: list[VmRow] = _of("room")
    cores: list[list[CoreRow]] = _of("room", "cores")
    tasks: list[TaskRow] = field(default_factory=list)
    types: list[TypeRow] = _of("types")
    prices: list[PriceRow] = _of("prices")
    events: list[EventRow] = _of("events")
    sessions: list[SessionRow] = _of("entries")
    notes: list[NoteRow] = _of("entries")
    helpers: list[int] = _of("entries")
    sketches: list[SketchRow] = _of("sketches")
    sketched: list[list[int]] = _of("sketches", "cores")
    spans: list[SpanRow] = _of("spans")
    rescue_vms: list[RescueVmRow] = _of("rescue")
    rescue_tasks: list[RescueTaskRow] = _of("rescue")
    # The rescue that `on-time` keeps ready, and how it is looked for: on-demand offers, those of new VMs by price, and
    # where the durations on each are; durations and memory of tasks, when they are released, and how long before the
    # deadline of the bag they are due; those that are open and those to be packed; the VMs that may be used, with when
    # their cores are free; what was found.
    standby: list[StandbyRow] = _of("open")
    standby_vms: list[StandbyVmRow] = _of("new")
    standby_work_s: list[int] = _of("new_cores")
    columns: list[int] = field(default_factory=list)
    column_of: list[int] = field(default_factory=list)
    standby_offers: list[int] = field(default_factory=list)
    need_s: list[int] = _of("needs")
    need_least_s: list[int] = _of("open")
    need_kb: list[int] = _of("open")
    need_ready_s: list[int] = _of("open")
    need_after_s: list[int] = _of("open")
    open_tasks: list[int] = _of("open")
    packed: list[int] = _of("open")
    placed: list[int] = _of("open")
    found: list[int] = _of("open")
    found_new: list[int] = _of("new")
    found_longest_s: list[int] = _of("new")
    packed_vms: list[PackedVmRow] = _of("packed")
    packed_cores: list[PackedCoreRow] = _of("packed_cores")
    rescuers: list[int] = _of("rescuers")
    rescuer_offers: list[int] = _of("rescuers")
    rescuer_free_s: list[int] = _of("rescuer_cores")
    rescuer_kb: list[int] = _of("rescuer_cores")
    # Lists of VMs for questions to the policy at the end of this moment (with the epoch in which they were listed: by
    # then, an earlier answer may have ended it); lists that last; and room to work in.
    idle_now: list[int] = _of("vms")
    back_now: list[int] = _of("vms")
    noticed_now: list[int] = _of("vms")
    struck_now: list[int] = _of("vms")
    triggered_now: list[int] = _of("vms")
    trigger_epochs: list[int] = _of("vms")
    unused_now: list[int] = _of("vms")
    unused_epochs: list[int] = _of("vms")
    ended: list[int] = _of("vms")
    restless: list[int] = _of("vms")
    free_vms: list[int] = _of("vms")
    busy_vms: list[int] = _of("vms")
    places: list[int] = _of("vms")
    chosen: list[int] = _of("sketches")
    # Lists of tasks: of this moment, and room to work in.
    finished_now: list[int] = _of("tasks")
    preempted_now: list[int] = _of("tasks")
    preempted_on: list[int] = _of("tasks")
    listed: list[int] = _of("tasks")
    ordered: list[int] = _of("tasks")
    left: list[int] = _of("tasks")
    # Of groups: those of tasks that are migrated together, how many VMs have turned down one, and when.
    groups_now: list[int] = _of("groups")
    idle_asked: list[int] = _of("groups")
    busy_asked: list[int] = _of("groups")
    asked: list[int] = _of("groups")
    # Of the cores of a VM; of offers and types of this moment.
    heads: list[int] = _of("cores")
    priced_now: list[int] = _of("day")
    types_now: list[int] = _of("day")
    # Sizes.
    n_regular: int = 0
    n_limits: int = 0
    n_queues: int = 0
    n_days: int = 0
    n_offers: int = 0
    n_prices: int = 0
    most_listed: int = 0
    n_columns: int = 0
    n_standby_offers: int = 0
    most_cores: int = 0
    rescue_usd_per_s: float = 0.0
    # The instance, the billing, and what is wanted.
    boot_overhead_s: int = 0
    start_overhead_s: int = 0
    cycle_s: int = 0
    deadline_s: int = 0
    takes_checkpoints: int = 0
    has_releases: int = 0
    recording: int = 0
    hibernated_costs: int = 0
    stopped_costs: int = 0
    knows_rates: int = 0
    interrupted_per_s: float = 0.0
    back_per_s: float = 0.0
    # The policy: its options, and the rescue of the survival certificate: whether it is looked for, and there is one.
    spare_all: int = 0
    recompute: int = 0
    all_steal: int = 0
    idle_limit_s: int = NONE
    wants_finished: int = 0
    wants_woken: int = 0
    waits: int = 0
    balances: int = 0
    spreads: int = 0
    relieves: int = 0
    starts_early: int = 0
    ends_idle: int = 0
    rescue_given: int = 0
    rescue_found: int = 0
    rescue_tried: int = 0
    n_rescue_vms: int = 0
    n_rescue_tasks: int = 0
    lost_types: int = 0
    # What `on-time` knows: its rescue, whether that is one of all tasks, when it must begin and what was known first
    # of that; when it has answered what, and is woken; outages.
    covered: int = 0
    standby_latest_s: int = NONE
    standby_followed: int = 0
    rescuers_known: int = 0
    spread_known: int = 0
    first_slack_s: int = NONE
    answered_s: int = NONE
    answered_events: int = NONE
    answered_draining: int = NONE
    wake_s: int = NONE
    outages: int = 0
    returns: int = 0
    out_s: int = 0
    n_open: int = 0
    n_packed: int = 0
    n_rescuers: int = 0
    n_standby_vms: int = 0
    n_found_new: int = 0
    # The clock, the fleet and the queues; the first events of the day are due at ages of VMs.
    now_s: int = 0
    n_aged: int = 0
    next_day: int = 0
    last_call_s: int = 0
    sequence: int = 0
    n_events: int = 0
    n_vms: int = 0
    n_sessions: int = 0
    n_notes: int = 0
    n_helpers: int = 0
    n_triggers: int = 0
    unfinished: int = 0
    last_finish_s: int = 0
    why: int = DONE
    any_stranded: int = 0
    first_bursting: int = NONE
    last_bursting: int = NONE
    first_restless: int = 0
    n_restless: int = 0
    first_ended: int = 0
    n_ended: int = 0
    n_chosen: int = 0
    n_spans: int = 0
    n_places: int = 0
    n_groups_now: int = 0
    stamp: int = 0
    over: int = 0
    # Lengths of the lists of this moment: the policy is asked only when all events of the moment have been handled.
    n_idle: int = 0
    n_back: int = 0
    n_noticed: int = 0
    n_struck: int = 0
    n_triggered: int = 0
    n_cycles: int = 0
    n_unused: int = 0
    n_finished: int = 0
    n_preempted: int = 0
    n_priced: int = 0
    n_types_now: int = 0
    woken: int = 0
    # Counts, as in `DayOutcome`.
    events_handled: int = 0
    late_tasks: int = 0
    late_weight: float = 0.0
    hibernations: int = 0
    resumes: int = 0
    stops: int = 0
    restarts: int = 0
    reclaims: int = 0
    resumes_in_time: int = 0
    on_demand_started: int = 0
    migrated_idle: int = 0
    migrated_busy: int = 0
    migrated_new: int = 0
    hibernations_idle: int = 0
    hibernations_busy: int = 0
    hibernations_new: int = 0
    busy_hibernations: int = 0
    steal_attempts: int = 0
    steals: int = 0
    tasks_stolen: int = 0
    preemptions: int = 0
    checkpoints: int = 0
    recoveries: int = 0
    cpu_time_saved_s: float = 0.0


_UNITS: dict[str, tuple[str, ...]] = {entry.name: entry.metadata.get("units", ()) for entry in fields(Rows)}
GIVEN = tuple(name for name, units in _UNITS.items() if not units)
"""Tables that the plan gives, as arrays in `PlanTables`."""


def shapes(counts: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Return the shape of each table of `Rows` whose units are among those that are counted.

    Units are ``tasks``, ``groups``, ``types``, ``prices`` and ``cores`` of the largest VM; ``vms`` for lists of VMs;
    ``spans`` of tasks where memory may bind; ``room`` for VMs themselves, ``events``, ``entries`` of what else grows,
    and ``sketches`` where they are allocated beforehand. For `on-time`: ``open`` tasks and what each ``needs`` of on-
    demand offers, ``new`` VMs of its rescue and their ``new_cores``; ``rescuers`` and ``rescuer_cores`` of VMs that are
    there and new ones, and ``packed`` ones. Tables of a ``day``, and of the ``rescue`` of the survival certificate, are
    as long as these.
    """
    return {name: tuple(map(counts.__getitem__, of)) for name, of in _counted(frozenset(counts))}


@cache
def _counted(units: frozenset[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Tables whose units are all counted, with these units: of each replay, the same are asked for."""
    return tuple((name, of) for name, of in _UNITS.items() if of and units.issuperset(of))
