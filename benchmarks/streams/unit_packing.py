"""Packing a bag onto hosts that are paid by started units, by a time and within a budget."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence

import numpy as np

from spotbag.core.quantities import IntArray

from .unit_bounds import UnitsProblem

Packing = list[list[int]]
"""Tasks of each host, as positions in the run times of the problem."""

_REPAIRS_A_HOST = 12
"""Moves and swaps before an overfull packing is given up."""

_PARTNERS = 32
"""Hosts with the most room that an overfull one may give a task to."""

_FILLED_UNITS = 4
"""Sizes of a host that filling chooses among: the largest ones."""

_MOST_FILLING = 10**11
"""Tasks squared times seconds beyond which filling takes too long; a machine word does 64 of them at once."""


def paid_units_of(problem: UnitsProblem, packing: Packing) -> int:
    """Billed units of a packing."""
    return sum(problem.units_of(_busy_s(problem, host)) for host in packing)


def wall_s_of(problem: UnitsProblem, packing: Packing) -> int:
    """Time at which the last task of a packing ends."""
    return problem.boot_s + max(_busy_s(problem, host) for host in packing)


def _busy_s(problem: UnitsProblem, host: Sequence[int]) -> int:
    return sum(problem.run_times_s[task] for task in host)


def packed_by(problem: UnitsProblem, wall_s: int, out_of_time: Callable[[], bool]) -> Packing | None:
    """Look for a plan within the budget that ends by a time; None if none was found, which proves nothing."""
    for attempt, units in enumerate(_mixes(problem, wall_s)):
        packing = _levelled(problem, [problem.room_s(one, wall_s) for one in units], out_of_time)
        if packing is None and attempt == 0:
            packing = _filled(problem, wall_s, out_of_time)
        if packing is not None or out_of_time():
            return packing
    return None


def _mixes(problem: UnitsProblem, wall_s: int) -> list[list[int]]:
    """Units of the hosts: with the most room, as few and as many hosts as have room for all tasks."""
    capacity = problem.capacity_s(wall_s)
    enough = np.flatnonzero(capacity >= sum(problem.run_times_s))
    if not len(enough):
        return []
    largest = problem.units_until(wall_s)
    numbers = dict.fromkeys(int(one) + 1 for one in (capacity.argmax(), enough[0], enough[-1]))
    return [_spread(problem.budget_units, hosts, largest) for hosts in numbers]


def _spread(budget_units: int, hosts: int, largest: int) -> list[int]:
    """Units of each host, as even as possible, none more than it can use."""
    each, more = divmod(min(budget_units, hosts * largest), hosts)
    return [each + 1] * more + [each] * (hosts - more)


def _levelled(problem: UnitsProblem, rooms_s: Sequence[int], out_of_time: Callable[[], bool]) -> Packing | None:
    """Longest tasks first, each where most room is left; then moves and swaps until nothing exceeds its room."""
    times = problem.run_times_s
    left = np.array(rooms_s, dtype=np.int64)
    packing: Packing = [[] for _ in rooms_s]
    for task, time in enumerate(times):
        host = int(left.argmax())
        packing[host].append(task)
        left[host] -= time
    for _ in range(_REPAIRS_A_HOST * len(rooms_s)):
        worst = int(left.argmin())
        if left[worst] >= 0:
            return [host for host in packing if host]
        if out_of_time() or not _relieve(times, packing, left, worst):
            return None
    return None


def _relieve(times: Sequence[int], packing: Packing, left: IntArray, worst: int) -> bool:
    """Move a task of an overfull host, or swap it for a shorter one, so that what exceeds the rooms becomes least."""
    mine = np.array([times[task] for task in packing[worst]], dtype=np.int64)
    best: tuple[float, int, int, int] | None = None
    for host in np.argsort(-left, kind="stable")[:_PARTNERS].tolist():
        if left[host] <= left[worst]:  # the overfull one itself, or one as full
            continue
        theirs = np.array([0] + [times[task] for task in packing[host]], dtype=np.int64)
        shift = mine[:, None] - theirs[None, :]
        after_mine, after_theirs = left[worst] + shift, left[host] - shift
        excess = np.maximum(-after_mine, 0) + np.maximum(-after_theirs, 0)
        before = max(-left[worst], 0) + max(-left[host], 0)
        # Where nothing is gained, level the two: squares decide between changes of the same excess.
        spread = after_mine.astype(float) ** 2 + after_theirs.astype(float) ** 2
        spread_before = float(left[worst]) ** 2 + float(left[host]) ** 2
        gain = (before - excess) + (spread_before - spread) / (1.0 + spread_before + spread)
        gain[(excess > before) | ((excess == before) & (spread >= spread_before))] = -np.inf
        at = int(gain.argmax())
        value = float(gain.flat[at])
        if value > -np.inf and (best is None or value > best[0]):
            best = (value, host, at // len(theirs), at % len(theirs))
            if excess.flat[at] == 0 and before > 0:
                break
    if best is None:
        return False
    _, host, given, taken = best
    task = packing[worst].pop(given)
    left[worst] += times[task]
    left[host] -= times[task]
    if taken:
        other = packing[host].pop(taken - 1)
        packing[worst].append(other)
        left[worst] -= times[other]
        left[host] += times[other]
    packing[host].append(task)
    return True


def _filled(problem: UnitsProblem, wall_s: int, out_of_time: Callable[[], bool]) -> Packing | None:
    """Host by host: the longest task left, and those that fill its room best; of several rooms, the least per unit."""
    largest = problem.largest_units(wall_s)
    options = [problem.room_s(units, wall_s) for units in range(max(largest - _FILLED_UNITS, 0) + 1, largest + 1)]
    if len(problem.run_times_s) ** 2 * max(options, default=0) > _MOST_FILLING:
        return None
    waiting = list(range(len(problem.run_times_s)))
    packing: Packing = []
    paid = 0
    while waiting:
        if out_of_time():
            return None
        first, rest = waiting[0], waiting[1:]
        time = problem.run_times_s[first]
        best: tuple[float, int, list[int]] | None = None
        for room in options:
            if room < time:
                continue
            host = [first, *_fullest([(problem.run_times_s[task], task) for task in rest], room - time)]
            busy = _busy_s(problem, host)
            value = problem.units_of(busy) / busy
            if best is None or value < best[0]:
                best = (value, problem.units_of(busy), host)
        if best is None:
            return None
        paid += best[1]
        if paid > problem.budget_units:
            return None
        packing.append(best[2])
        taken = set(best[2])
        waiting = [task for task in waiting if task not in taken]
    return packing


def _fullest(tasks: Sequence[tuple[int, int]], room_s: int) -> list[int]:
    """Tasks (run time, number), longest first, whose run times come closest to a room without exceeding it."""
    start = bisect.bisect_left(tasks, -room_s, key=lambda entry: -entry[0])
    fitting = tasks[start:]
    # Seconds that can be filled are bits of a whole number: with one more task, they are shifted by its run time.
    within = (1 << (room_s + 1)) - 1
    reached = [1]  # bit s of entry i: seconds s can be filled with the first i tasks
    for time, _ in fitting:
        reached.append((reached[-1] | reached[-1] << time) & within)
        if reached[-1] >> room_s:
            break
    filled = reached[-1].bit_length() - 1
    found = []
    for index in range(len(reached) - 1, 0, -1):
        if not reached[index - 1] >> filled & 1:
            time, task = fitting[index - 1]
            found.append(task)
            filled -= time
    return found
