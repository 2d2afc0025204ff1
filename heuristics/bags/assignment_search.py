"""Annealing where memory may bind or VMs burst: of the VMs of a linear programme, and of others near them."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...core.limits import checkpoint, current_limit, seconds_left
from ...core.quantities import BoolArray, IntArray
from ...instances.durations import FULL_SPEED
from ...instances.instance import Instance
from ...schedules.queues import Queue
from ...schedules.schedule import Schedule
from .assignments import Assignments, assignments_of, assignments_of_queues
from .core_pattern_starts import MAKESPANS, CorePatternStarts, core_pattern_starts
from .fleets import FractionalFleet, fractional_fleet

if TYPE_CHECKING:
    from .annealing_kernel import Cooling
    from .found import Found

MOST_ASSIGNED_TASKS = 20_000
_SPARE_VMS = 2
"""Empty VMs of each offer beside those of a plan that is there; of a linear programme there are none."""

# Runs of the annealing, in turn: the first temperature in units of the state, and the share of the price of a VM that
# is charged for the mean end of its cores and not for the last.
_RUNS = ((1.0, 0.3), (0.3, 0.0), (1.0, 0.3), (0.3, 0.0))
_COLDEST = 0.005
_RUNS_FROM_PATTERNS = ((1.0, 0.3), (3.0, 0.0), (0.3, 0.3), (10.0, 0.0), (1.0, 0.3))
_COLDEST_FROM_PATTERNS = 0.02
_MANY_TASKS, _COOLER = 400, 0.4
"""More tasks than these are annealed so much cooler: a single one matters less."""

_MOVES_A_TASK, _MOST_MOVES = 8_000, 1_000_000
_MOVES_A_TASK_BY_TIME, _MOST_MOVES_BY_TIME = 20_000, 6_000_000
"""Moves of a run, at most, without a time limit and under one."""

_RUN_S_A_TASK, _SHORTEST_RUN_S, _LONGEST_RUN_S = 0.015, 0.1, 4.0
"""Seconds of a run under a time limit, at most."""

_FEWEST_RUNS, _SHORT = 3, 0.4
_IDLE_RUNS_A_TASK = 2
"""Runs after the last that found a better plan, for each task: of a tiny bag, more would find nothing."""

_MOVES_A_CALL = 20_000
_FIRST_CALL = 2_000
_CALL_S = 0.02
_END_S, _END_S_A_TASK = 0.005, 2e-5
"""What is left of the time limit for the plan itself."""


def search_assignments(instance: Instance, moves: int | None, found: Found, rate: float) -> None:
    """Anneal the tasks of each VM and the order of their starts, again and again while there is time.

    The first run has the VMs of the linear programme `fractional_fleet`; each later one has one VM more, or less, or
    another one than the best run so far, or one more of each offer as long as no plan was found. While a plan of other
    origin is better than theirs, every second run begins from that; with machines, or where that programme has no
    solution, all do. Without a time limit there are four runs. A dollar beyond a budget is charged at the rate, and
    twice as much after a run that found no plan.
    """
    if instance.n_tasks > MOST_ASSIGNED_TASKS or not len(instance.open_tasks):
        return
    rng = np.random.default_rng(found.run.seed)
    starts = core_pattern_starts(instance, found.run.enough(found.objective))
    if starts is not None:
        found.raise_bound(max(found.bound, starts.bound))
        if found.run.answered(found.objective, found.bound):
            return
        _search_from_patterns(instance, starts, moves, rng, found, rate)
        return
    fleet = None if instance.machines else fractional_fleet(instance)
    vms = None if fleet is None else _whole_vms(instance, fleet)
    best_vms, best_value, best_number = vms, np.inf, 0
    for number, until in enumerate(_ends(instance, moves)):
        if number - best_number > _IDLE_RUNS_A_TASK * instance.n_tasks:
            return
        hottest, mean_share = _RUNS[number % len(_RUNS)]
        state = None
        behind = found.best is not None and found.objective < best_value - 1e-12
        if fleet is not None and best_vms is not None and not (behind and number % 2):
            vms = best_vms if number == 0 else _other_vms(instance, fleet, best_vms, rng)
            here = fleet if number == 0 else fractional_fleet(instance, vms)
            state = None if here is None else _state_of_fleet(instance, here, vms)
        if state is None and found.best is None:
            return
        of_plan = state is None
        if state is None:
            assert found.best is not None
            state = assignments_of(found.best, _SPARE_VMS)
        state.plan.random[0] = (found.run.seed * 7919 + number) % 2147483646 + 1
        cooler = _COOLER if len(instance.open_tasks) > _MANY_TASKS else 1.0
        heat = _Heat(hottest * cooler, _COLDEST * cooler, mean_share)
        state.charge(rate)
        value = _run(state, heat, until, _moves(instance, moves, until), found)
        rate = 2 * rate if np.isinf(value) else rate
        if of_plan and fleet is not None and value <= found.objective:
            vms = _vms_of(fleet, found.best)
        if np.isinf(value) and np.isinf(best_value) and fleet is not None and best_vms is not None and not of_plan:
            best_vms = _more_vms(instance, fleet, best_vms)
        elif value < best_value:
            best_vms, best_value, best_number = vms, value, number
        if found.run.answered(found.objective, found.bound):
            return


def _search_from_patterns(
    instance: Instance,
    starts: CorePatternStarts,
    moves: int | None,
    rng: np.random.Generator,
    found: Found,
    rate: float,
) -> None:
    """Anneal from what cores run in a linear programme, and now and then from the best plan so far."""
    last_better = 0
    slow: BoolArray = np.zeros(instance.n_tasks, dtype=bool)
    for number, until in enumerate(_ends(instance, moves, MAKESPANS)):
        if number - last_better > _IDLE_RUNS_A_TASK * instance.n_tasks:
            return
        hottest, mean_share = _RUNS_FROM_PATTERNS[number % len(_RUNS_FROM_PATTERNS)]
        before = found.objective
        again = number > MAKESPANS and number % 4 == 3 and found.best is not None
        which, queues = -1, None
        if not again:
            which, queues = starts.queues(rng)
        if queues is not None:
            state = assignments_of_queues(instance, queues, slow)
        elif found.best is not None:
            state = assignments_of(found.best, 1)
        else:
            starts.keep(which, np.inf)
            continue
        state.plan.random[0] = (found.run.seed * 7919 + number) % 2147483646 + 1
        heat = _Heat(hottest, _COLDEST_FROM_PATTERNS, mean_share)
        state.charge(rate)
        value = _run(state, heat, until, _moves(instance, moves, until), found)
        rate = 2 * rate if np.isinf(value) else rate
        if not again:
            starts.keep(which, value)
        if found.objective < before:
            last_better = number
        if found.run.answered(found.objective, found.bound):
            return


def _ends(instance: Instance, moves: int | None, n_short: int = 0) -> Iterator[float | None]:
    """When each run ends; None for those that end by their moves. The first ones may be short."""
    end_s = _END_S + _END_S_A_TASK * instance.n_tasks
    if moves is not None or seconds_left() is None:
        for _ in range(len(_RUNS) + n_short):
            checkpoint()
            yield None
        return
    current_limit().ended_by_time()  # more time would bring more, and the temperature falls by the clock
    run_s = float(np.clip(_RUN_S_A_TASK * instance.n_tasks, _SHORTEST_RUN_S, _LONGEST_RUN_S))
    run_s = max(min(run_s, (seconds_left() or 0.0) / (_FEWEST_RUNS + _SHORT * n_short)), _SHORTEST_RUN_S)
    for number in itertools.count():
        checkpoint()
        left = seconds_left()
        if left is None or left <= end_s:
            return
        share = _SHORT if number < n_short else 1.0
        yield time.perf_counter() + share * (left - end_s) / max(round((left - end_s) / run_s), 1)


def _moves(instance: Instance, moves: int | None, until: float | None) -> int:
    """Moves of a run, at most."""
    if moves:
        return max(moves // len(_RUNS), 1)
    if until is None:
        return min(_MOVES_A_TASK * instance.n_tasks, _MOST_MOVES)
    return min(_MOVES_A_TASK_BY_TIME * instance.n_tasks, _MOST_MOVES_BY_TIME)


class _Heat(NamedTuple):
    """First and last temperature of a run, in units of the state; share of the price charged for the mean end."""

    hottest: float
    coldest: float
    mean_share: float


def _run(state: Assignments, heat: _Heat, until: float | None, moves: int, found: Found) -> float:
    """Anneal a state once, keep the best plan met if it is better than all others, and return its objective."""
    from .assignment_kernel import anneal_assignments

    hot, cold = state.unit * heat.hottest, state.unit * heat.coldest
    best = state.best(np.inf)
    before = found.iteration
    found.step(before + 1, before + len(_RUNS), found.objective, found.objective)
    try:
        for cooling in _by_moves(hot, cold, moves) if until is None else _by_time(hot, cold, moves, until):
            checkpoint()
            anneal_assignments(
                state.fleet,
                state.objective,
                state.credit_price,
                state.plan,
                state.alike,
                cooling,
                heat.mean_share,
                best,
            )
    finally:
        objective = float(best.value[0]) + state.offset
        if objective < found.objective:
            found.take(state.schedule(best.tasks, best.number, best.slow))
    return objective


def _by_moves(hot: float, cold: float, moves: int) -> Iterator[Cooling]:
    """Parts of a number of moves."""
    from .annealing_kernel import Cooling

    ends = np.linspace(0, moves, -(-moves // _MOVES_A_CALL) + 1).astype(int).tolist()
    for first, last in itertools.pairwise(ends):
        yield Cooling(last - first, *(hot * (cold / hot) ** (end / moves) for end in (first, last)))


def _by_time(hot: float, cold: float, most_moves: int, until: float) -> Iterator[Cooling]:
    """Parts of a number of moves, or of fewer: as many as those before them let expect until a moment."""
    from .annealing_kernel import Cooling

    begin = before = time.perf_counter()
    part, done, share = min(_FIRST_CALL, most_moves), 0, 0.0
    while share < 1.0:
        ahead = max(part / most_moves, _CALL_S / max(until - begin, _CALL_S) if done else 0.0)
        after = min(share + ahead, 1.0)
        yield Cooling(part, *(hot * (cold / hot) ** at for at in (share, after)))
        done += part
        now = time.perf_counter()
        share = min(max(done / most_moves, (now - begin) / max(until - begin, 1e-9)), 1.0)
        call_s = min(_CALL_S, max(until - now, 0.0))
        part = max(min(int(part * min(call_s / max(now - before, 1e-6), 4.0)), _MOVES_A_CALL, most_moves - done), 1)
        before = now


def _whole_vms(instance: Instance, fleet: FractionalFleet) -> IntArray:
    """Round the VMs of each offer up, as far as the limits allow, those with the largest parts first."""
    vms = np.minimum(np.ceil(fleet.vms - 1e-6).astype(np.int64), fleet.limits)
    for k in np.argsort(vms - fleet.vms, kind="stable")[::-1].tolist():
        vms[k] -= vms[k] > fleet.vms[k] and not _within_market_limits(instance, fleet, vms)
    return vms


def _within_market_limits(instance: Instance, fleet: FractionalFleet, vms: IntArray) -> bool:
    return all(
        sum(int(vms[k]) for k, offer in enumerate(fleet.offers) if offer.market == market) <= cap
        for market in instance.markets
        if (cap := instance.market_limit(market)) is not None
    )


def _more_vms(instance: Instance, fleet: FractionalFleet, vms: IntArray) -> IntArray:
    """Return one VM more of each offer, as far as the limits allow, first of those with the largest parts."""
    vms = vms.copy()
    for k in np.argsort(-fleet.vms, kind="stable").tolist():
        vms[k] += 1
        vms[k] -= vms[k] > fleet.limits[k] or not _within_market_limits(instance, fleet, vms)
    return vms


def _vms_of(fleet: FractionalFleet, plan: Schedule | None) -> IntArray:
    """VMs of each offer in a plan."""
    assert plan is not None
    counts = np.bincount(plan.vm_offer, minlength=len(plan.instance.offers))
    return counts[[offer.index for offer in fleet.offers]]


def _other_vms(instance: Instance, fleet: FractionalFleet, vms: IntArray, rng: np.random.Generator) -> IntArray:
    """Return numbers of VMs with one more, one less, or another one, within the limits; or the same ones."""
    for _ in range(20):
        other = vms.copy()
        more, less = rng.integers(len(vms), size=2)
        kind = rng.integers(4)
        if kind == 0:
            return other
        other[more] += kind != 1
        other[less] -= kind != 2
        fits = (other >= 0).all() and (other <= fleet.limits).all() and other.any() and (other != vms).any()
        if fits and _within_market_limits(instance, fleet, other):
            return other
    return vms


def _state_of_fleet(instance: Instance, fleet: FractionalFleet, vms: IntArray | None) -> Assignments | None:
    """Round the tasks of each offer to whole ones, and give them, the longest first, to the VM with the least load."""
    assert vms is not None
    offers = fleet.offers
    queues = [Queue(offer, []) for offer, count in zip(offers, vms.tolist(), strict=True) for _ in range(count)]
    first = np.r_[0, np.cumsum(vms)]
    load = np.zeros((2, len(queues)))  # seconds of all its cores, and of all its memory
    rest = np.where(vms > 0, fleet.tasks, -np.inf)
    seconds = instance.duration_s[:, [offer.index for offer in offers], FULL_SPEED]
    rest[seconds > instance.deadline_s] = -np.inf
    longest = np.where(np.isfinite(rest), seconds, 0).max(axis=1)
    slow: BoolArray = np.zeros(instance.n_tasks, dtype=bool)
    for task in np.argsort(-longest[instance.task_group], kind="stable").tolist():
        group = int(instance.task_group[task])
        k = int(rest[group].argmax())
        if rest[group, k] == -np.inf:
            return None
        rest[group, k] -= 1
        work = seconds[group, k] * np.array([1 / offers[k].vcpus, instance.memory_kb[group] / offers[k].memory_kb])
        mine = load[:, first[k] : first[k + 1]]
        vm = int((mine + work[:, None]).max(axis=0).argmin())
        mine[:, vm] += work
        queues[first[k] + vm].tasks.append(task)
    return assignments_of_queues(instance, queues, slow)
