"""Inner loops of the search for fleets by their slack: what one VM can run, one more VM, and the last offer.

Counts of tasks by class are packed into one integer, a field of bits for each class with one bit to spare: they are
added by one addition, and one mask tells whether a field has become larger than the bag.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.compiled import compiled, compiled_part
from ...core.quantities import FloatArray, IntArray

FULL, HALTED, REFUTED = range(-1, -4, -1)
"""Codes that a loop returns in place of a number: its table is full; it was halted, or takes too long; no fleet is
within the slack."""

VM_BITS = 7
"""Bits of a number of VMs that is packed with tasks."""
_MIX = 0x9E3779B97F4A7C15 - (1 << 64)


class Fields(NamedTuple):
    """Fields of packed counts.

    Attributes
    ----------
    shift, mask : array of int, shape (n_classes,)
        First bit of each field, and its largest value.
    bias, guard : int
        A sum of counts fits the bag if ``(sum + bias) & guard`` is 0; counts are no more than others if
        ``((others | guard) - counts) & guard`` is ``guard``.
    """

    shift: IntArray
    mask: IntArray
    bias: int
    guard: int


class Cores(NamedTuple):
    """Patterns of a core of an offer, by load; the first one is idle.

    Attributes
    ----------
    load_s, packed : array of int, shape (n_patterns,)
        Seconds, and tasks.
    worth : array of float, shape (n_patterns,)
        Prices of the tasks.
    """

    load_s: IntArray
    packed: IntArray
    worth: FloatArray


class Columns(NamedTuple):
    """VMs of an offer, each set of tasks once.

    Attributes
    ----------
    packed, end_s : array of int, shape (most,)
        Tasks, and seconds.
    slack : array of float, shape (most,)
        Slack.
    cores : array of int, shape (most, n_cores)
        What each core runs.
    place : array of int, shape (a power of 2,)
        Hash table of the sets: their row, or -1.
    """

    packed: IntArray
    end_s: IntArray
    slack: FloatArray
    cores: IntArray
    place: IntArray


class Reached(NamedTuple):
    """Hash table of the sets of tasks that some VMs run.

    Attributes
    ----------
    packed : array of int, shape (a power of 2,)
        Tasks; -1 where there is nothing.
    value : array of float
        Least slack, all VMs of the offer that are not rented included.
    layer, before, column : array of int
        Layer in which it was reached, from which tasks, and by which VM.
    """

    packed: IntArray
    value: FloatArray
    layer: IntArray
    before: IntArray
    column: IntArray


class Sets(NamedTuple):
    """Sets of tasks.

    Attributes
    ----------
    packed : array of int, shape (n_sets,)
        Tasks.
    value : array of float, shape (n_sets,)
        What they cost above their prices.
    lost, beyond : array of float, shape (n_sets,)
        What they, or those that are left, cost above their prices at least on this offer and those to come, and on
        those to come alone.
    """

    packed: IntArray
    value: FloatArray
    lost: FloatArray
    beyond: FloatArray


class Step(NamedTuple):
    """Limits of one more VM.

    Attributes
    ----------
    allowed : float
        Most slack.
    later : float
        Slack of the VMs of the offers to come if they are not rented.
    refund : float
        The same of those VMs of this offer that may still be rented; it is part of the slack so far.
    spared : float
        What those VMs can spare tasks that are left of what they lose beyond, at most.
    layer : int
        Number of the layer.
    """

    allowed: float
    later: float
    refund: float
    spared: float
    layer: int


class LastOffer(NamedTuple):
    """Facts of the last offer.

    Attributes
    ----------
    seconds : array of int, shape (n_classes,)
        Duration of a task of each class; negative where it cannot run.
    prices : array of float, shape (n_classes,)
        Prices of the tasks.
    price, unrented : float
        Price of a second of a VM, and of a VM that is not rented.
    cores, most_s : int
        Of a VM: cores, and latest end.
    first : array of int, shape (n_classes + 1,)
        Columns whose first class is a given one: from here to the next.
    """

    seconds: IntArray
    prices: FloatArray
    price: float
    unrented: float
    cores: int
    most_s: int
    first: IntArray


class Rest(NamedTuple):
    """Question to the last offer: whether tasks run on its VMs within a slack.

    Attributes
    ----------
    tasks : int
        The tasks, packed.
    vms : int
        Most VMs.
    allowed : float
        Most slack, that of VMs which are not rented included.
    """

    tasks: int
    vms: int
    allowed: float


@compiled_part
def _slot(table: IntArray, packed: int) -> int:
    """Place of a key in a hash table of keys: its own, or the empty one where it belongs."""
    mask = len(table) - 1
    mixed = packed * _MIX
    place = (mixed ^ (mixed >> 29)) & mask
    while table[place] != -1 and table[place] != packed:
        place = (place + 1) & mask
    return place


@compiled_part
def _column_slot(columns: Columns, packed: int) -> int:
    """Place of a set of tasks in the hash table of columns."""
    mask = len(columns.place) - 1
    mixed = packed * _MIX
    place = (mixed ^ (mixed >> 29)) & mask
    while columns.place[place] != -1 and columns.packed[columns.place[place]] != packed:
        place = (place + 1) & mask
    return place


@compiled
def list_columns(
    cores: Cores, price: float, unrented: float, allowed: float, fields: Fields, columns: Columns, halt: IntArray
) -> int:
    """List all sets of tasks that a VM can run with at most some slack; return their number, FULL or HALTED.

    Parameters
    ----------
    cores : Cores
        What a core can run.
    price, unrented : float
        Price of a second of a VM, and of a VM that is not rented.
    allowed : float
        Most slack.
    fields : Fields
        How counts are packed.
    columns : Columns
        Receives them, with the least slack of each set.
    halt : array of int
        Ends the loop.
    """
    n_patterns = len(cores.load_s)
    n_cores = columns.cores.shape[1]
    rate = price / n_cores
    each = unrented / n_cores
    near = np.zeros(n_patterns, np.int64)
    waste = np.zeros(n_patterns)
    chosen = np.zeros(n_cores, np.int64)
    left = np.zeros(n_cores + 1)
    sums = np.zeros(n_cores + 1, np.int64)
    found = 0
    # The core with the largest load decides the end of the VM: each pattern in turn is that of such a core.
    for top in range(1, n_patterns):
        end = cores.load_s[top]
        of_top = rate * end + each - cores.worth[top]
        if of_top > allowed:
            continue
        n_near = 0  # what the other cores can run, by what it wastes
        for index in range(top, -1, -1):
            if rate * (end - cores.load_s[index]) > allowed - of_top:
                break
            more = rate * end + each - cores.worth[index]
            if more <= allowed - of_top:
                place = n_near
                while place > 0 and waste[place - 1] > more:
                    near[place], waste[place] = near[place - 1], waste[place - 1]
                    place -= 1
                near[place], waste[place] = index, more
                n_near += 1
                halt[1] -= n_near - place
        if halt[0] != 0 or halt[1] < 0:
            return HALTED
        # All multisets of patterns of the other cores, depth first, each core no earlier in the list than the last.
        depth = 0
        left[0] = allowed - of_top  # the slack that the other cores may have together
        sums[0] = cores.packed[top]
        chosen[0] = 0
        while depth >= 0:
            halt[1] -= 1
            if halt[0] != 0 or halt[1] < 0:
                return HALTED
            if depth == n_cores - 1:  # all cores have something to do
                packed = sums[depth]
                slack = allowed - left[depth]
                place = _column_slot(columns, packed)
                row = columns.place[place]
                if row < 0:
                    if found == len(columns.packed):
                        return FULL
                    row = found
                    columns.place[place] = row
                    columns.packed[row] = packed
                    columns.slack[row] = np.inf
                    found += 1
                if slack < columns.slack[row]:
                    columns.slack[row] = slack
                    columns.end_s[row] = end
                    columns.cores[row, 0] = top
                    for core in range(depth):
                        columns.cores[row, core + 1] = near[chosen[core]]
                depth -= 1
                if depth >= 0:
                    chosen[depth] += 1
                continue
            position = chosen[depth]
            others = n_cores - 1 - depth
            # Patterns further on waste more, on this core and on all that follow it.
            if position >= n_near or waste[position] * others > left[depth]:
                depth -= 1
                if depth >= 0:
                    chosen[depth] += 1
                continue
            total = sums[depth] + cores.packed[near[position]]
            if ((total + fields.bias) & fields.guard) != 0:
                chosen[depth] += 1
                continue
            left[depth + 1] = left[depth] - waste[position]
            sums[depth + 1] = total
            chosen[depth + 1] = position
            depth += 1
    return found


@compiled
def reach_nothing(reached: Reached) -> None:
    """Put the empty set into an empty table."""
    place = _slot(reached.packed, 0)
    reached.packed[place] = 0
    reached.value[place] = 0.0


@compiled
def index_columns(columns: Columns) -> None:
    """Fill the hash table of columns whose other arrays are as they are to stay."""
    for row in range(len(columns.packed)):
        columns.place[_column_slot(columns, columns.packed[row])] = row


@compiled
def add_vm(reached: Reached, count: int, frontier: Sets, vms: Sets, step: Step, fields: Fields, halt: IntArray) -> int:
    """Add each VM to each set of tasks of a frontier; return how many sets there are, FULL or HALTED.

    Parameters
    ----------
    reached : Reached
        The sets, with the least slack so far; improved.
    count : int
        How many of them there are.
    frontier, vms : Sets
        What runs so far, with what the tasks that are left lose on the offers to come; and what one VM runs, by slack
        ascending, with what these tasks would lose there.
    step : Step
        Limits.
    fields, halt
        See `list_columns`.
    """
    most = len(reached.packed) // 2  # a fuller table would have long runs of places that are taken
    for source in range(len(frontier.packed)):
        for column in range(len(vms.packed)):
            value = frontier.value[source] + vms.value[column]
            # Sets of a VM come by their slack: with this one too large, so are all that follow.
            if value - step.refund > step.allowed:
                break
            halt[1] -= 1
            if halt[0] != 0 or halt[1] < 0:
                return HALTED
            # What tasks that are left lose at least on the offers to come, by two prices: the greater one holds.
            to_come = max(
                frontier.lost[source] - vms.lost[column] + step.refund,
                frontier.beyond[source] - vms.beyond[column] - step.spared,
            )
            to_come += step.later
            if to_come > 0 and value - step.refund + to_come > step.allowed:
                continue
            total = frontier.packed[source] + vms.packed[column]
            if ((total + fields.bias) & fields.guard) != 0:
                continue
            place = _slot(reached.packed, total)
            if reached.packed[place] < 0:
                if count == most:
                    return FULL
                count += 1
                reached.packed[place] = total
                reached.value[place] = np.inf
            # Of all ways to the same set, the one with the least slack stays, with the step that led there.
            if value < reached.value[place]:
                reached.value[place] = value
                reached.layer[place] = step.layer
                reached.before[place] = frontier.packed[source]
                reached.column[place] = column
    return count


@compiled
def copy_reached(old: Reached, rows: IntArray, new: Reached) -> None:
    """Copy rows of a table into another one."""
    for row in rows:
        place = _slot(new.packed, old.packed[row])
        new.packed[place] = old.packed[row]
        new.value[place] = old.value[row]
        new.layer[place] = old.layer[row]
        new.before[place] = old.before[row]
        new.column[place] = old.column[row]


@compiled
def values_of(reached: Reached, sets: IntArray) -> FloatArray:
    """Least slack of sets of tasks that were reached."""
    result = np.zeros(len(sets))
    for index in range(len(sets)):
        result[index] = reached.value[_slot(reached.packed, sets[index])]
    return result


@compiled_part
def least_slack_of_rest(rest: int, vms: int, last: LastOffer, fields: Fields) -> float:
    """Least slack of tasks on VMs of the last offer, by their work; infinite if they do not fit."""
    work = 0
    worth = 0.0
    for index in range(len(last.seconds)):
        count = (rest >> fields.shift[index]) & fields.mask[index]
        if count > 0:
            if last.seconds[index] < 0:
                return np.inf
            work += count * last.seconds[index]
            worth += count * last.prices[index]
    seconds = -(-work // last.cores)  # of VMs whose cores never wait for each other
    if seconds > vms * last.most_s:
        return np.inf
    return max(last.price * seconds + vms * last.unrented - worth, 0.0)


@compiled
def least_slacks_of_rest(rests: IntArray, vms: IntArray, last: LastOffer, fields: Fields) -> FloatArray:
    """Least slack of each of some sets of tasks on as many VMs of the last offer; see `least_slack_of_rest`."""
    result = np.zeros(len(rests))
    for index in range(len(rests)):
        result[index] = least_slack_of_rest(rests[index], vms[index], last, fields)
    return result


@compiled
def run_rest(
    rest: Rest, last: LastOffer, columns: Columns, refuted: Reached, known: IntArray, fields: Fields, picked: IntArray,
    halt: IntArray,
) -> int:  # fmt: skip
    """Run tasks on VMs of the last offer with at most some slack; return how many VMs, FULL, HALTED or REFUTED.

    Parameters
    ----------
    rest : Rest
        The tasks, and what they may take.
    last, columns : LastOffer and Columns
        The offer and its columns; the columns of a first class by their slack, ascending.
    refuted : Reached
        Tasks and numbers of VMs that were asked for before, with a slack within which these VMs cannot run them.
    known : array of int, shape (1,)
        How many that are.
    fields, halt
        See `list_columns`.
    picked : array of int, shape (vms,)
        Receives the columns.
    """
    vms, allowed = rest.vms, rest.allowed
    most = len(refuted.packed) // 2
    left = np.zeros(vms + 1, np.int64)
    spent = np.zeros(vms + 1)
    until = np.zeros(vms + 1, np.int64)
    left[0] = rest.tasks
    if rest.tasks == 0:
        return 0 if vms * last.unrented <= allowed else REFUTED
    depth = 0
    entered = True
    while depth >= 0:
        halt[1] -= 1
        if halt[0] != 0 or halt[1] < 0:
            return HALTED
        others = vms - depth
        if entered:
            entered = False
            # The first class that is left has to be on one of the VMs to come: the next one takes it.
            index = 0
            while (left[depth] >> fields.shift[index]) & fields.mask[index] == 0:
                index += 1
            picked[depth] = last.first[index] - 1
            until[depth] = last.first[index + 1]
            place = _slot(refuted.packed, (left[depth] << VM_BITS) + others)
            # The same tasks with as many VMs were refuted before, with at least as much slack.
            if refuted.packed[place] >= 0 and refuted.value[place] >= allowed - spent[depth]:
                depth -= 1
                continue
            if others == 1:  # one VM must run them all
                row = columns.place[_column_slot(columns, left[depth])]
                if row >= 0 and spent[depth] + columns.slack[row] <= allowed:
                    picked[depth] = row
                    return depth + 1
                depth -= 1
                continue
        picked[depth] += 1
        row = picked[depth]
        if row >= until[depth] or spent[depth] + columns.slack[row] > allowed:
            # All columns were tried: that they do not do is noted, with the slack that they had.
            place = _slot(refuted.packed, (left[depth] << VM_BITS) + others)
            if refuted.packed[place] < 0:
                if known[0] == most:
                    return FULL
                known[0] += 1
                refuted.packed[place] = (left[depth] << VM_BITS) + others
                refuted.value[place] = -np.inf
            refuted.value[place] = max(refuted.value[place], allowed - spent[depth])
            depth -= 1
            continue
        # A guard bit that is borrowed from says that the column has more of a class than is left.
        difference = (left[depth] | fields.guard) - columns.packed[row]
        if (difference & fields.guard) != fields.guard:
            continue
        after = left[depth] - columns.packed[row]
        total = spent[depth] + columns.slack[row]
        if after == 0:
            if total + (others - 1) * last.unrented <= allowed:
                return depth + 1
            continue
        if total + least_slack_of_rest(after, others - 1, last, fields) > allowed:
            continue
        depth += 1
        left[depth] = after
        spent[depth] = total
        entered = True
    return REFUTED
