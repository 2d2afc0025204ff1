"""What somebody does who knows the day, moves tasks at no cost and is billed for working VMs only, second by second.

Shares nothing with the bound: tasks go at random to VMs that are up. On spot VMs a second of work that counts elsewhere
takes as much longer as checkpoints take; who has no more than an interval left may stay where it is and do without.
Whatever it costs to finish everything by the deadline is no less than a bound on every policy.
"""

from __future__ import annotations

import random
from collections import defaultdict

from spotbag.instances.bags.timeline import Timeline
from spotbag.instances.durations import NEVER
from spotbag.instances.instance import Instance


def walk_cost_usd(problem: Instance, timeline: Timeline, seed: int) -> float | None:
    """Cost of a random walk through the day; None if it does not finish."""
    rng = random.Random(seed)
    preference = [rng.random() for _ in problem.offers]
    groups = problem.task_group.tolist()
    left = [1.0] * len(groups)
    home: dict[int, tuple[int, int]] = {}  # without checkpoints a task stays where it began
    balance: dict[tuple[int, int], float] = {}
    down: set[str] = set()
    cost = 0.0
    for second in range(problem.deadline_s):
        for event in timeline.events:
            if event.time_s == second:
                (down.add if event.kind == "hibernate" else down.discard)(event.vm_type)
        if second < problem.boot_overhead_s:
            continue
        running: dict[tuple[int, int], list[int]] = defaultdict(list)
        waiting = [task for task in range(len(groups)) if left[task] > 1e-12]
        if not waiting:
            return cost
        rng.shuffle(waiting)
        for task in waiting:
            places = [home[task]] if task in home else _places(problem, preference)
            for place in places:
                if _fits(problem, place, [*running[place], task], groups, down, running):
                    running[place].append(task)
                    if problem.checkpoint is None or _is_last_interval(problem, groups[task], place, left[task]):
                        home[task] = place
                    break
        for place in [place for place in balance if not running[place]]:
            del balance[place]
        for place, tasks in running.items():
            if tasks:
                offer = problem.offers[place[0]]
                cost += offer.price_usd_per_hour / 3600
                for task, speed in zip(tasks, _speeds(problem, place, len(tasks), balance), strict=True):
                    group = groups[task]
                    if problem.checkpoint is not None and offer.market == "spot" and task not in home:
                        speed /= 1.0 + problem.dump_s[group] / problem.checkpoint_interval_s[group]
                    left[task] -= speed / int(problem.runtime_s[group, offer.type_index])
    return cost if max(left) <= 1e-12 else None


def _is_last_interval(problem: Instance, group: int, place: tuple[int, int], left: float) -> bool:
    offer = problem.offers[place[0]]
    rest_s = left * int(problem.runtime_s[group, offer.type_index])
    return offer.market == "spot" and rest_s <= problem.checkpoint_interval_s[group]


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
    if offer.market == "spot" and offer.vm_type.name in down:
        return False
    if problem.runtime_s[groups[tasks[-1]], offer.type_index] >= NEVER or len(tasks) > offer.vcpus:
        return False
    used = {other for other, its in running.items() if its and problem.offers[other[0]].market == offer.market}
    cap = problem.limits.of(offer.market)
    if cap is not None and len(used | {place}) > cap:
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
