"""The inner loop of the clairvoyant bound: every task is done in the cheapest way, cut or not."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...core.compiled import compiled, compiled_part
from ...core.quantities import NOISE, OPTIMALITY_TOLERANCE, BoolArray, FloatArray, IntArray

_MOST_CHECKPOINTS = 6
"""A task that writes more on an offer counts them there as a share of its work: ways to cut it would be too many."""

_LESS = 1 - OPTIMALITY_TOLERANCE / 10
"""Ways are looked for that cost less by more than this: sums of equal prices differ by their rounding."""


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
