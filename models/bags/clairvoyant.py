"""The model of the clairvoyant bound: when VMs can work on a day, and what all tasks cost then at least, cut or not.

`rentable_time` says for which seconds before the deadline VMs of each offer can be had, and which of these may be free.
`do_cheapest` is the inner loop of the bound: at given prices of cores and of memory, what all tasks cost at least.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...core.compiled import compiled, compiled_part
from ...core.errors import InputError, Issue
from ...core.quantities import NOISE, OPTIMALITY_TOLERANCE, SECONDS_PER_HOUR, BoolArray, FloatArray, IntArray
from ...instances.bags.timeline import Timeline, TimelineEvent
from ...instances.clouds import PAPERS, Billing
from ...instances.entries import NEVER, Market, limits_of, one_limit_each
from ...instances.instance import Instance

_MOST_CHECKPOINTS = 6
"""A task that writes more on an offer counts them there as a share of its work: ways to cut it would be too many."""

_LESS = 1 - OPTIMALITY_TOLERANCE / 10
"""Ways are looked for that cost less by more than this: sums of equal prices differ by their rounding."""


@dataclass(frozen=True, slots=True)
class RentableColumn:
    """Seconds of an offer at one price.

    Attributes
    ----------
    offer : int
        As an index into ``instance.offers``.
    limit : int
        VMs at the same time, ``instance.markets`` left aside.
    price_usd_per_s : float
        What a VM costs for a second; 0 for those that may be free.
    free_until_s : int
        If not 0, these are the seconds that the bill leaves out if the VM is interrupted so long after it is ready.
    """

    offer: int
    limit: int
    price_usd_per_s: float
    free_until_s: int = 0


@dataclass(frozen=True, slots=True)
class RentableTime:
    """Time for which VMs can work on a day.

    Attributes
    ----------
    up_s : array of float, shape (n_columns,)
        Seconds that a VM of each column can work.
    span_s, up : array of float, shape (n_spans,) and of bool, shape (n_spans, n_columns)
        Lengths of the times in which the same columns are up, and which.
    limits : array of float, shape (n_columns,)
        VMs of each column at the same time.
    """

    up_s: FloatArray
    span_s: FloatArray
    up: BoolArray
    limits: FloatArray


def rentable_columns(instance: Instance, billing: Billing | None = None) -> list[RentableColumn]:
    """Return the offers of both markets, which a policy can rent.

    ``instance.markets`` restricts the plan, not what may rescue it. More VMs than there are tasks are never busy.
    """
    columns = []
    for offer in instance.offers:
        limit = min(instance.limits.most_vms(offer.vm_type, offer.market), instance.n_tasks)
        if limit:
            bill = (billing or PAPERS.billing).bill(offer)
            columns.append(RentableColumn(offer.index, limit, bill.usd))
            if bill.free_until_s:
                columns.append(RentableColumn(offer.index, limit, 0.0, bill.free_until_s))
    return columns


def limited_groups(instance: Instance, columns: list[RentableColumn]) -> list[tuple[FloatArray, float]]:
    """Return the limits of several offers that those of the offers do not imply: weights by column, and the most."""
    # Free seconds are of the same VMs as those that are paid: counted twice, limits would seem to bind that do not.
    vms = np.array([column.limit if not column.free_until_s else 0 for column in columns], dtype=np.int64)
    limits = limits_of(instance.limits, (instance.offers[column.offer] for column in columns))
    return one_limit_each([(weights, most) for weights, most in limits if weights @ vms > most])


def rentable_time(instance: Instance, columns: list[RentableColumn], timeline: Timeline) -> RentableTime:
    """Work out when VMs can work between the first readiness and the deadline.

    A second of a spot VM may be free if VMs of its type are interrupted after it and by the deadline, no later than
    `Bill.free_until_s`: only such an interruption can be the first of a VM that is up in that second, soon enough; of
    no more VMs at a time than are interrupted. The day is one on a cloud: `Timeline.resolved`.
    """
    ready, end = instance.boot_overhead_s, instance.deadline_s
    limits = np.array([float(column.limit) for column in columns])
    if ready >= end:
        nothing = np.zeros(len(columns))
        return RentableTime(nothing, np.zeros(0), np.zeros((0, len(columns)), dtype=bool), limits)
    by_type: dict[str, _TypeDay] = {}
    for event in timeline.events:
        if event.time_s <= end and event.kind != "price":
            by_type.setdefault(event.vm_type, _TypeDay()).add(event)
    moments = {ready, end}
    for day in by_type.values():
        moments.update(day.changes_s)
        moments.update(day.interruptions_s)
    free_s = max((column.free_until_s for column in columns), default=0)
    if free_s:
        # Seconds may be free from so long before an interruption on: a span begins there.
        moments.update(moment - free_s for moment in list(moments))
    cuts = np.array(sorted(moment for moment in moments if ready <= moment <= end), dtype=np.int64)
    starts, lengths = cuts[:-1], np.diff(cuts).astype(float)
    up = np.ones((len(starts), len(columns)), dtype=bool)
    for position, column in enumerate(columns):
        offer = instance.offers[column.offer]
        if offer.market == "on-demand":
            continue
        day = by_type.get(offer.vm_type.name, _NOTHING)
        up[:, position] = day.is_up(starts)
        if not free_s:
            continue
        most_free = day.most_interrupted(column.limit, end)
        if column.free_until_s:
            limits[position] = min(limits[position], most_free)
            up[:, position] &= day.may_be_free(starts, end, free_s)
        # Where all VMs of an offer may be free, none has to be paid for: else it would have twice its VMs then.
        elif most_free >= column.limit:
            up[:, position] &= ~day.may_be_free(starts, end, free_s)
    return RentableTime(lengths @ up, lengths, up, limits)


class _TypeDay:
    """Events of the spot VMs of a type on a day, as far as they say when some VM can work.

    A VM works until its notice is over. That of several VMs some are interrupted, or may be there, is left aside: one
    can work.

    Attributes
    ----------
    ages : bool
        Whether VMs go at ages, so that any moment may be that of an interruption.
    changes_s : list of int
        When the type goes down, and when it is back, in turn.
    interruptions_s : list of int
        When VMs of the type may be interrupted.
    singles : list of tuple
        Those of single VMs, and of shares: when, which VM, which share.
    first_of_type_s : int
        When the first comes that may be of any number of VMs.
    """

    __slots__ = ("ages", "changes_s", "first_of_type_s", "interruptions_s", "singles")

    def __init__(self) -> None:
        self.ages = False
        self.changes_s: list[int] = []
        self.interruptions_s: list[int] = []
        self.singles: list[tuple[int, int | None, float]] = []
        self.first_of_type_s = NEVER

    def add(self, event: TimelineEvent) -> None:
        """Take in the next event."""
        if event.kind == "interrupt" or event.by == "interrupt":
            rule = "says 'interrupt', which depends on the cloud: use timeline.resolved(cloud)"
            raise InputError("timeline", [Issue("", rule)])
        down = event.interrupts or event.vms == 0
        gone_s = event.time_s + (event.notice_s or 0) + (event.age_s or 0)
        self.ages |= event.age_s is not None
        if event.interrupts or event.kind == "capacity":
            self.interruptions_s.append(gone_s)
            if event.of_type:
                self.first_of_type_s = min(self.first_of_type_s, gone_s)
            else:
                self.singles.append((gone_s, event.vm, event.share or 0.0))
        # Downs and ups take turns in the list: an event that says what is so already would put all that follow out of
        # step.
        if not event.of_type or down == bool(len(self.changes_s) % 2):
            return
        if not down and self.changes_s[-1] >= event.time_s:
            self.changes_s.pop()  # back before those that drain are gone
        else:
            self.changes_s.append(gone_s if down else event.time_s)

    def is_up(self, moments: IntArray) -> BoolArray:
        """Mask of the moments in whose second some VM can work."""
        result: BoolArray = np.searchsorted(self.changes_s, moments, side="right") % 2 == 0
        return result

    def most_interrupted(self, limit: int, end_s: int) -> int:
        """Most VMs, of a number at a time, that can be interrupted by the end."""
        if self.first_of_type_s <= end_s:
            return limit
        found = [(vm, share) for gone_s, vm, share in self.singles if gone_s <= end_s]
        vms = len({vm for vm, _ in found if vm is not None})
        return min(vms + sum(math.ceil(share * limit) for vm, share in found if vm is None), limit)

    def may_be_free(self, moments: IntArray, end_s: int, free_s: int) -> BoolArray:
        """Mask of the moments after which VMs may be interrupted, within some seconds, and by the end."""
        if self.ages:
            return np.ones(len(moments), dtype=bool)
        ends = np.array(sorted(moment for moment in self.interruptions_s if moment <= end_s), dtype=np.int64)
        following = np.append(ends, np.iinfo(np.int64).max)[np.searchsorted(ends, moments, side="right")]
        result: BoolArray = following - free_s <= moments
        return result


_NOTHING = _TypeDay()


def prices_of_day(
    instance: Instance, columns: list[RentableColumn], timeline: Timeline
) -> tuple[FloatArray, FloatArray] | None:
    """Lowest and highest price of each column for a second up to the deadline; None if no price changes."""
    changes = [event for event in timeline.events if event.kind == "price" and event.time_s <= instance.deadline_s]
    if not changes:
        return None
    lowest = np.array([column.price_usd_per_s for column in columns])
    highest = lowest.copy()
    place: dict[tuple[str, Market | None], int] = {
        (instance.offers[column.offer].vm_type.name, instance.offers[column.offer].market): position
        for position, column in enumerate(columns)
        if not column.free_until_s
    }
    for event in changes:
        position = place.get((event.vm_type, event.market))
        if position is not None and event.usd_per_hour is not None:
            price = event.usd_per_hour / SECONDS_PER_HOUR
            lowest[position], highest[position] = min(lowest[position], price), max(highest[position], price)
    return lowest, highest


class Checkpoints(NamedTuple):
    """Checkpoints to be written of tasks whose work is to count after they leave a VM.

    Attributes
    ----------
    dump_s, interval_s : array of float, shape (n_groups,)
        Seconds to write a checkpoint, and the most work on a spot VM that one saves; without checkpoints 0 and
        infinite.
    offer : array of int, shape (n_columns,)
        Offers, from 0 on; columns of one follow one another.
    spot : array of bool, shape (n_columns,)
        Whether it is one of spot VMs. On others, one checkpoint saves all.
    """

    dump_s: FloatArray
    interval_s: FloatArray
    offer: IntArray
    spot: BoolArray


class Tasks(NamedTuple):
    """Groups of tasks, and what each column can do of them.

    Attributes
    ----------
    counts : array of float, shape (n_groups,)
        Tasks of each group.
    needs : array of float, shape (2, n_groups)
        Cores of a task of each group, and its memory.
    work_s : array of float, shape (n_groups, n_columns)
        Core seconds of a task on each column, without checkpoints.
    shares : array of float, shape (n_groups, n_columns)
        Most of a task that each column can do, 0 to 1.
    """

    counts: FloatArray
    needs: FloatArray
    work_s: FloatArray
    shares: FloatArray


@compiled
def do_cheapest(
    tasks: Tasks, checkpoints: Checkpoints, counted: bool, up_s: FloatArray, prices: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Do all tasks where it is cheapest, on each column no more than a share of every task.

    Which offer has the last run of a task, and how many checkpoints it writes on each, is found by branch and bound;
    given those, it fills its cheapest columns. The last run needs one less. Where they are open yet, checkpoints are a
    share of the work, which is less than whole ones.

    Parameters
    ----------
    tasks, checkpoints : Tasks, Checkpoints
        What has to be done, and what has to be written of a task that is cut.
    counted : bool
        Whether checkpoints are counted; else they are a share of the work, which is less.
    up_s : array of float, shape (n_columns,)
        Seconds that a task can be on each column, checkpoints included.
    prices : array of float, shape (2, n_columns)
        Price of a core for a second, and of a KB of memory for a second.

    Returns
    -------
    (float, array, array)
        What all tasks cost, infinite if one cannot be done; core seconds, and KB seconds of memory, that each column
        gets.
    """
    n_groups, n_columns = tasks.work_s.shape
    n_offers = checkpoints.offer[n_columns - 1] + 1
    core_s, memory_kb_s, least_s = np.zeros(n_columns), np.zeros(n_columns), np.zeros(n_columns)
    of_columns, order = np.zeros((6, n_columns)), np.arange(2 * n_columns)
    of_offers, numbers = np.zeros((2, n_offers)), np.zeros((6, n_offers), dtype=np.int64)
    value = 0.0
    for g in range(n_groups):
        # Scratch arrays are shared by all tasks: each task looks at its own prices and rooms in them.
        task = _Task(
            dump_s=checkpoints.dump_s[g],
            offer=checkpoints.offer,
            work_s=tasks.work_s[g],
            share=tasks.shares[g],
            up_s=up_s,
            prices=of_columns[:2].reshape(-1),
            slower=of_columns[2],
            order=order,
            most=numbers[0],
            column=numbers[1],
            saved_s=of_offers[0],
            room=of_offers[1],
            left=of_columns[3],
            done=of_columns[4],
            used_s=of_columns[5],
        )
        cores, memory_kb = tasks.needs[0, g], tasks.needs[1, g]
        price = cores * prices[0] + memory_kb * prices[1]
        _look_at(task, checkpoints.interval_s[g], checkpoints.spot, price, counted)
        least = _least(task, price, numbers[2], numbers[3:], least_s)
        value += tasks.counts[g] * least
        core_s += tasks.counts[g] * cores * least_s
        memory_kb_s += tasks.counts[g] * memory_kb * least_s
    return value, core_s, memory_kb_s


_NONE, _SEVERAL = range(-1, -3, -1)
_OPEN = _NONE


class _Task(NamedTuple):
    """A task of a group, and what it takes.

    Attributes
    ----------
    dump_s : float
        Seconds to write a checkpoint.
    offer : array of int, shape (n_columns,)
        The offer of each column.
    work_s, share, up_s : array of float, shape (n_columns,)
        Core seconds of the whole task on each column, most of it that it can do, and seconds that it can be there.
    prices : array of float, shape (2 * n_columns,)
        Of the whole task on each column without checkpoints; then with them as a share of the work.
    slower : array of float, shape (n_columns,)
        How much longer a second of work takes with those.
    order : array of int, shape (2 * n_columns,)
        Of the prices, the cheapest first.
    most, column : array of int, shape (n_offers,)
        Most checkpoints on each offer, 0 where they are always a share of the work; its column, `_NONE` or `_SEVERAL`.
    saved_s, room : array of float, shape (n_offers,)
        Work that one checkpoint saves; what the offer can still do of the task.
    left, done, used_s : array of float, shape (n_columns,)
        What each column can still do, what it does, and core seconds for it.
    """

    dump_s: float
    offer: IntArray
    work_s: FloatArray
    share: FloatArray
    up_s: FloatArray
    prices: FloatArray
    slower: FloatArray
    order: IntArray
    most: IntArray
    column: IntArray
    saved_s: FloatArray
    room: FloatArray
    left: FloatArray
    done: FloatArray
    used_s: FloatArray


@compiled_part
def _look_at(task: _Task, interval_s: float, spot: BoolArray, price: FloatArray, counted: bool) -> None:
    """Work out what a task takes on each column."""
    n_columns = len(spot)
    task.column[:] = _NONE
    task.most[:] = 0
    for k in range(n_columns):
        if task.share[k] > 0.0:
            o = task.offer[k]
            task.column[o] = k if task.column[o] == _NONE else _SEVERAL
    for k in range(n_columns):
        o = task.offer[k]
        saved_s = interval_s if spot[k] else task.work_s[k]
        task.saved_s[o] = saved_s
        task.slower[k] = 1.0
        if task.dump_s > 0.0 and task.share[k] > 0.0:
            task.slower[k] += task.dump_s / saved_s
            number = math.ceil(task.work_s[k] / saved_s)
            # Nothing is gained where they cost nothing.
            if counted and task.column[o] == k and price[k] > 0.0 and number <= _MOST_CHECKPOINTS:
                task.most[o] = number
        task.prices[k] = task.work_s[k] * price[k]
        task.prices[n_columns + k] = task.slower[k] * task.prices[k]
    # By insertion: groups have much the same order.
    for after in range(1, len(task.order)):
        entry, place = task.order[after], after
        while place > 0 and task.prices[task.order[place - 1]] > task.prices[entry]:
            task.order[place] = task.order[place - 1]
            place -= 1
        task.order[place] = entry


@compiled_part
def _least(task: _Task, price: FloatArray, written: IntArray, branch: IntArray, least_s: FloatArray) -> float:
    """Return the least cost of a task, by branch and bound; the core seconds of that way go into ``least_s``."""
    least = math.inf
    counted = task.most.any()
    # A first way for each offer: what is done on each is saved by whole checkpoints.
    for last in range(len(written)):
        if task.column[last] == _NONE:
            continue
        written[:] = _OPEN
        cost = _fill(task, least, last, written, price)
        if cost < least and counted:
            for o in range(len(written)):
                if task.most[o] > 0:
                    written[o] = _whole_number(task, o, last)
            cost = _fill(task, least, last, written, price)
        if cost < least:
            least = cost
            least_s[:] = task.used_s
        if task.dump_s == 0.0:  # the last run is like all others
            break
    # Those ways are only a good start: another number of checkpoints may be cheaper. All of them are searched, for each
    # place of the last run.
    for last in range(len(written) if counted else 0):
        if task.column[last] == _NONE:
            continue
        written[:] = _OPEN
        depth = -1
        while True:
            cost = _fill(task, least * _LESS, last, written, price)
            following = _NONE
            if cost < math.inf:
                following = _undecided(task, written)
                if following == _NONE:
                    least = cost
                    least_s[:] = task.used_s
            if following != _NONE:
                depth += 1
                number = _whole_number(task, following, last)
                branch[:, depth] = following, number, 1
                written[following] = number
                continue
            # The cost is a convex function of the number: where more, or fewer, cost too much, so do all beyond.
            too_dear = True
            while depth >= 0:
                o, number, step = branch[:, depth]
                if step > 0 and (too_dear or written[o] == task.most[o]):
                    step = branch[2, depth] = -1
                    written[o] = number
                    too_dear = False
                if not too_dear and written[o] + step >= 0:
                    written[o] += step
                    break
                written[o] = _OPEN
                depth -= 1
                too_dear = False
            if depth < 0:
                break
    return least


@compiled_part
def _undecided(task: _Task, written: IntArray) -> int:
    """Return an offer in use whose number of checkpoints is open yet; `_NONE` if there is none.

    There, checkpoints are a share of the work: what was filled is a bound, and no way to do the task.
    """
    for o in range(len(written)):
        if task.most[o] > 0 and written[o] == _OPEN and task.done[task.column[o]] > 0.0:
            return o
    return _NONE


@compiled_part
def _whole_number(task: _Task, o: int, last: int) -> int:
    """Return the number of checkpoints that save the work on an offer, but for next to nothing."""
    k = task.column[o]
    done = task.done[k] - NOISE / (2 * len(task.most))
    parts: int = math.ceil(done * task.work_s[k] / task.saved_s[o])
    return max(parts - 1 if o == last else parts, 0)


@compiled_part
def _fill(task: _Task, least: float, last: int, written: IntArray, price: FloatArray) -> float:
    """Fill the cheapest columns, given what is written and where the last run is; where that is open, in any shares.

    Return what it costs, infinite if no less than ``least``.
    """
    n_columns = len(task.left)
    # What each column can take, with the checkpoints that are decided; their writing is paid whatever follows.
    task.done[:] = 0.0
    cost: float = 0.0
    for k in range(n_columns):
        o = task.offer[k]
        task.left[k] = task.share[k]
        task.used_s[k] = 0.0
        saved_s = task.saved_s[o] if o == last else 0.0
        if task.column[o] == k and written[o] == _OPEN:
            if task.dump_s > 0.0:
                on_time_s = (task.up_s[k] + (task.slower[k] - 1.0) * saved_s) / task.slower[k]
                task.left[k] = min(task.left[k], on_time_s / task.work_s[k])
            task.room[o] = saved_s / task.work_s[k]
        elif task.column[o] == k:
            written_s = written[o] * task.dump_s
            saved_s += written[o] * task.saved_s[o]
            task.room[o] = min(saved_s, task.up_s[k] - written_s) / task.work_s[k]
            task.used_s[k] = written_s
            cost += written_s * price[k]
        elif task.column[o] == _SEVERAL:  # the time for checkpoints is left to them: the last part may be on either
            task.room[o] = saved_s / task.work_s[k]
    # The cheapest entries first: a column without checkpoints, or with their share of the work.
    undone = 1.0
    for entry in task.order:
        with_share = entry >= n_columns
        k = entry - n_columns if with_share else entry
        o = task.offer[k]
        if cost + undone * task.prices[entry] >= least:
            return math.inf
        part = min(undone, task.left[k])
        if with_share:
            if written[o] != _OPEN:
                continue
        else:
            part = min(part, task.room[o])
            task.room[o] -= part
        if part <= 0.0:
            continue
        cost += part * task.prices[entry]
        task.left[k] -= part
        task.done[k] += part
        task.used_s[k] += part * task.work_s[k] * (task.slower[k] if with_share else 1.0)
        undone -= part
        if undone <= NOISE:  # sums are rounded, and less work costs no more
            return cost
    return math.inf
