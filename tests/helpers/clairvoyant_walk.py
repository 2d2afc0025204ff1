"""What somebody does who knows the day, moves tasks at no cost and is billed for working VMs only, second by second.

Shares nothing with the bound: tasks go at random to VMs that are up. What a task has done counts elsewhere once a
checkpoint is written: on spot VMs after every interval of work that is not the last, and whenever it wants to leave;
on demand when it leaves. Where a spot VM goes down, it waits there or goes on elsewhere from its last checkpoint.
Whatever it costs to finish everything by the deadline is no less than a bound on every policy.
"""

from __future__ import annotations

import random
from collections import defaultdict

from spotbag.instances.bags.timeline import Timeline
from spotbag.instances.entries import NEVER
from spotbag.instances.instance import Instance
from tests.helpers.quotas import Quotas

_DONE = 1e-12


class _Run:
    """A task: what is saved of it; where it runs, the work that is not saved yet, and what it still has to write."""

    def __init__(self) -> None:
        self.saved = 0.0
        self.place: tuple[int, int] | None = None
        self.work_s = 0.0
        self.to_write_s = 0.0
        self.leaves = False


def walk_cost_usd(problem: Instance, timeline: Timeline, seed: int) -> float | None:
    """Cost of a random walk through the day; None if it does not finish."""
    rng = random.Random(seed)
    preference = [rng.random() for _ in problem.offers]
    wish_to_leave, patience = rng.choice([0.0, 0.02, 0.2, 1.0]), rng.choice([0.0, 1.0, 0.7])
    groups = problem.task_group.tolist()
    runs = [_Run() for _ in groups]
    waiting = set(range(len(groups)))
    balance: dict[tuple[int, int], float] = {}
    down: set[str] = set()
    cost = 0.0
    for second in range(problem.deadline_s):
        for event in timeline.events:
            if event.time_s == second:
                (down.add if event.kind == "hibernate" else down.discard)(event.vm_type)
        if second < problem.boot_overhead_s:
            continue
        if not waiting:
            return cost
        running: dict[tuple[int, int], list[int]] = defaultdict(list)
        order = sorted(waiting)
        rng.shuffle(order)
        order.sort(key=lambda task: runs[task].place is None)
        for task in order:
            run = runs[task]
            if run.place is not None and _is_down(problem, run.place, down) and rng.random() >= patience:
                run.place, run.work_s, run.to_write_s, run.leaves = None, 0.0, 0.0, False
            places = _places(problem, preference) if run.place is None else [run.place]
            for place in places:
                if _fits(problem, place, [*running[place], task], groups, down, running):
                    running[place].append(task)
                    run.place = place
                    break
        for place in [place for place in balance if not running[place]]:
            del balance[place]
        for place, tasks in running.items():
            if tasks:
                cost += problem.offers[place[0]].price_usd_per_hour / 3600
                for task, speed in zip(tasks, _speeds(problem, place, len(tasks), balance), strict=True):
                    leaves = problem.checkpoint is not None and rng.random() < wish_to_leave
                    if _work(problem, runs[task], groups[task], speed, leaves):
                        waiting.discard(task)
    return None if waiting else cost


def _work(problem: Instance, run: _Run, group: int, seconds: float, leaves: bool) -> bool:
    """Let a task work, or write, for so many seconds at full speed; return whether it is done."""
    assert run.place is not None
    offer = problem.offers[run.place[0]]
    runtime_s = int(problem.offer_runtime_s[group, offer.index])
    takes = offer.market == "spot" and problem.checkpoint is not None
    interval_s = float(problem.checkpoint_interval_s[group]) if takes else float("inf")
    if leaves and not run.to_write_s and run.work_s:
        run.to_write_s, run.leaves = float(problem.dump_s[group]), True
    while seconds > _DONE:
        if run.to_write_s or run.leaves:
            written_s = min(seconds, run.to_write_s)
            run.to_write_s -= written_s
            seconds -= written_s
            if run.to_write_s > _DONE:
                return False
            run.saved += run.work_s / runtime_s
            run.work_s = run.to_write_s = 0.0
            if run.leaves:
                run.place, run.leaves = None, False
                return False
        rest_s = runtime_s * (1.0 - run.saved) - run.work_s
        worked_s = min(seconds, rest_s, interval_s - run.work_s)
        run.work_s += worked_s
        seconds -= worked_s
        if rest_s - worked_s <= _DONE * runtime_s:
            return True
        if interval_s - run.work_s <= _DONE:
            run.to_write_s = float(problem.dump_s[group])
    return False


def _is_down(problem: Instance, place: tuple[int, int], down: set[str]) -> bool:
    offer = problem.offers[place[0]]
    return offer.market == "spot" and offer.vm_type.name in down


def _places(problem: Instance, preference: list[float]) -> list[tuple[int, int]]:
    """VMs as (offer, number), the offers liked best first."""
    order = sorted(range(len(problem.offers)), key=lambda k: preference[k])
    counts = [offer.vm_type.offers[offer.market].limit for offer in problem.offers]
    return [(k, number) for k in order for number in range(counts[k])]


def _fits(
    problem: Instance,
    place: tuple[int, int],
    tasks: list[int],
    groups: list[int],
    down: set[str],
    running: dict[tuple[int, int], list[int]],
) -> bool:
    offer = problem.offers[place[0]]
    if _is_down(problem, place, down):
        return False
    if problem.offer_runtime_s[groups[tasks[-1]], offer.index] >= NEVER or len(tasks) > offer.vcpus:
        return False
    used = {other for other, its in running.items() if its} | {place}
    kinds = [(problem.offers[number].vm_type.name, problem.offers[number].market) for number, _ in used]
    if not Quotas(problem).allow(kinds, (offer.vm_type.name, offer.market)):
        return False
    return sum(int(problem.memory_kb[groups[task]]) for task in tasks) <= offer.memory_kb


def _speeds(problem: Instance, place: tuple[int, int], n: int, balance: dict[tuple[int, int], float]) -> list[float]:
    """Speed of each running task: as many at full speed as the credits allow."""
    burstable = problem.offers[place[0]].vm_type.burstable
    if burstable is None:
        return [1.0] * n
    slow = burstable.baseline_fraction
    earned = balance.get(place, burstable.initial_credits) + burstable.credits_per_hour / 3600
    for fast in range(n, 0, -1):
        after = earned - (fast + (n - fast) * slow) / 60
        if after >= -1e-6:
            balance[place] = min(after, burstable.credit_cap)
            return [1.0] * fast + [slow] * (n - fast)
    balance[place] = max(earned - n * slow / 60, 0.0)
    return [slow] * n
