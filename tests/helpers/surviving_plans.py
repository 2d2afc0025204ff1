"""The best plan of a tiny bag that survives, and what is wrong with an answer that is held against it.

All ways to share the tasks among VMs, all orders on each VM, and both modes of burstable VMs are looked at: each task
begins as soon as a core and the memory are there. What survives is said by the certificate and by the checker's judge,
which share no code; a plan that either accepts is one.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import permutations, product
from typing import Any, NamedTuple

import numpy as np

from spotbag.audits.bags.plan import check
from spotbag.bounds.bags.divisible_bound import divisible_bound
from spotbag.core.errors import InputError, ModelRefusal
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.heuristics.bags.first_plans import lanes_plan
from spotbag.heuristics.bags.rescue import certify, survives
from spotbag.instances.entries import BASELINE, FULL_SPEED, NEVER, SurvivalLevel
from spotbag.instances.instance import Instance
from spotbag.schedules.rescuable import RescuableInstance, rescuable
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.timing import objective_weights
from spotbag.solvers.bags.result import Result
from spotbag.solvers.bags.solve import solve
from tests.helpers.quotas import Quotas
from tests.helpers.tiny_instances import FAMILIES, tiny_instance

_MOST_PLANS = 20_000


class _VmPlan(NamedTuple):
    """What a VM of an offer runs: task, core, start and whether at the baseline; and when it ends."""

    offer: int
    runs: tuple[tuple[int, int, int, bool], ...]
    end_s: int


class Survivors(NamedTuple):
    """The best plan that survives, and the best of those that the certificate accepts; None if there is none."""

    best: Schedule | None
    certified: Schedule | None


def surviving_bag(seed: int, family: str, setups: bool = False, dates: bool = False) -> Instance:
    """Draw a bag of 1 to 4 tasks with hardly more time than it takes to lose a VM and do all again.

    Parameters
    ----------
    seed : int
        Same seed, same bag.
    family : str
        One of tiny instances, with more time; or ``minutes``: tasks of minutes with both markets.
    setups, dates : bool
        Whether VMs of some types are set up after the boot, and whether tasks have dates.
    """
    bag = _surviving_bag(seed, family, setups)
    rng = random.Random(f"dates {family} {seed}")
    while dates:
        document = bag.to_document()
        for task in document["tasks"]:
            task["ready_s"] = rng.choice([0, 0, rng.randint(0, bag.deadline_s // 4)])
            task["deadline_s"] = rng.choice([bag.deadline_s, rng.randint(bag.deadline_s // 2, bag.deadline_s)])
        with suppress(InputError):  # a task that ends nowhere in time: draw again
            return Instance.from_document(document, "dated")
    return bag


def _surviving_bag(seed: int, family: str, setups: bool) -> Instance:
    rng = random.Random(f"surviving {family} {seed}")
    goal = {"goal": rng.choice(["cheapest", "cheapest", "balanced", "fastest"])}
    while family == "minutes":
        with suppress(InputError):  # a task that ends nowhere in time: draw again
            document = _minutes(rng) | {"objective": goal}
            for vm_type in document["vm_types"] if setups else ():
                vm_type["setup_s"] = rng.choice([0, 20, 60])
            return Instance.from_document(document, "tiny")
    while True:
        document = tiny_instance(rng.randrange(10**9), setups=setups, **FAMILIES[family]).to_document()
        offers = [offer for vm_type in document["vm_types"] for offer in vm_type["offers"]]
        tasks = sum(task.get("count", 1) for task in document["tasks"])
        both = {*offers} == {"spot", "on-demand"} and "markets" not in document
        if both and 1 < tasks <= (4 if len(offers) < 4 else 3):
            break
    document.pop("d_spot_s")
    times = {"deadline_s": int(document["deadline_s"] * rng.choice([1, 1.3, 2]))}
    times["migration_overhead_s"] = rng.choice([0, 0, 2, 5])
    return Instance.from_document(document | times | {"objective": goal}, "tiny")


def _minutes(rng: random.Random) -> dict[str, Any]:
    """Two to four tasks on one or two types with unrelated run times."""
    n_tasks = rng.choice([2, 3, 3, 4])
    vm_types = [
        {
            "name": name,
            "vcpus": rng.choice([1, 1, 2]),
            "memory_mb": 8192,
            "offers": {
                "spot": {"price_usd_per_hour": price * rng.uniform(0.2, 0.6), "limit": rng.randint(1, 2)},
                "on-demand": {"price_usd_per_hour": price, "limit": rng.randint(1, 2)},
            },
        }
        for name, price in [("a", 0.1), ("b", 0.13)][: 1 if n_tasks == 4 else 2]
    ]
    tasks = []
    for number in range(n_tasks):
        base_s = rng.randint(30, 300)
        runtime_s = {kind["name"]: max(1, int(base_s * rng.choice([1, rng.uniform(0.6, 1.3)]))) for kind in vm_types}
        tasks.append({"id": f"t{number}", "memory_mb": 100, "runtime_s": runtime_s})
    if rng.random() < 0.3:
        for task in tasks[1:]:
            task["runtime_s"] = tasks[0]["runtime_s"]
    document: dict[str, Any] = {
        "format": "spotbag.instance/1",
        "name": "tiny",
        "deadline_s": rng.randint(250, 900),
        "boot_overhead_s": rng.choice([0, 0, 30]),
        "migration_overhead_s": rng.choice([0, 20]),
        "vm_types": vm_types,
        "tasks": tasks,
    }
    if rng.random() < 0.3:
        document["limits"] = {"max_on_demand": rng.randint(1, 2)}
    if rng.random() < 0.3:
        document["checkpoint"] = {"overhead_fraction": 0.1, "dump_base_s": 5, "dump_s_per_mb": 0.0}
    return document


EXACT = ("interval", "columns", "patterns", "class-programme")


def wrong_survival_answers(
    instance: Instance, level: SurvivalLevel, methods: Sequence[str] = ("auto",)
) -> Iterator[str]:
    """What is wrong with what is said of the plans of a bag that survive: by methods, the bound, and the first plan.

    Of `auto` alone, a plan is demanded where there is one.
    """
    fixed = with_d_spot(instance)
    plans = None if fixed.d_spot_s is None else survivors(fixed, level)
    if plans is None:
        return
    question = RescuableInstance.of(fixed, "type" if level == "one-type" else "market")
    least = np.inf if plans.best is None else plans.best.objective
    bound = divisible_bound(question).objective
    if bound > least * (1 + 1e-9):
        yield f"the divisible bound of plans that survive is {bound}, a plan has {least}"
    if plans.best is not None and rescuable(Schedule(question, *_columns(plans.best))) is None:
        yield "a plan that survives has a task that ends too late"
    first = lanes_plan(question)
    if first is not None and not check(fixed, Schedule(fixed, *_columns(first))).feasible:
        yield "the first plan cannot be carried out"
    for method in methods:
        with suppress(ModelRefusal):
            yield from _wrong_result(solve(instance, method, survive=level), plans, level)


def _wrong_result(result: Result, plans: Survivors, level: SurvivalLevel) -> Iterator[str]:
    """What is wrong with a result."""
    least = np.inf if plans.best is None else plans.best.objective
    if result.bound is not None and result.bound > least * (1 + 1e-9):
        yield f"{result.status} with a bound of {result.bound}, a plan has {least}"
    if result.status == "infeasible" and plans.best is not None:
        yield "infeasible, and a plan survives"
    if result.status == "no-plan" and plans.certified is not None and result.method == "auto":
        yield f"no plan, and one with {plans.certified.objective} survives"
    if result.schedule is None:
        return
    report = check(result.instance, result.schedule, survive=level)
    if not report.feasible or report.survival is None or report.survival.verdict != "survives":
        yield "the plan does not survive"
    if result.status == "optimal" and result.schedule.objective > least * (1 + 1e-9):
        yield f"optimal with {result.schedule.objective}, a plan has {least}"


def survivors(instance: Instance, level: SurvivalLevel) -> Survivors | None:
    """Look at all plans, the best ones first, until one survives; None if there are too many.

    Parameters
    ----------
    instance : Instance
        With D_spot set, and without machines.
    level : {"one-type", "blackout", "each"}
        What is to be survived.
    """
    plans = _all_plans(instance)
    if plans is None:
        return None
    cost_weight, time_weight = objective_weights(instance)
    price = instance.offer_price_usd_per_s

    def value(plan: Sequence[_VmPlan]) -> float:
        cost = sum(price[vm.offer] * (vm.end_s - instance.boot_overhead_s) for vm in plan)
        return float(cost_weight * cost + time_weight * max(vm.end_s for vm in plan))

    best: Schedule | None = None
    for plan in sorted(plans, key=value):
        schedule = _schedule(instance, plan)
        told = survives(schedule, level)
        certified = certify(schedule, level, cost=False).survives
        assert told == certified == survives(schedule, level)
        if certified or best is None:
            report = check(instance, schedule, survive=level)
            survival = report.survival
            if report.feasible and (certified or (survival is not None and survival.verdict == "survives")):
                best = best or schedule
                if certified:
                    return Survivors(best, schedule)
    return Survivors(best, None)


def _all_plans(instance: Instance) -> list[tuple[_VmPlan, ...]] | None:
    """All plans in which each VM starts its tasks in some order as early as possible; None if they are too many."""
    found: dict[frozenset[Any], tuple[_VmPlan, ...]] = {}
    numbers = tuple(range(len(instance.task_group)))
    for lists in _sets_of_lists(numbers):
        for offers in product(instance.offers, repeat=len(lists)):
            used = Counter(offer.index for offer in offers)
            if any(count > instance.offers[index].limit for index, count in used.items()):
                continue
            if not Quotas(instance).allow((offer.vm_type.name, offer.market) for offer in offers):
                continue
            ways = [list(_vm_plans(instance, offer.index, tasks)) for offer, tasks in zip(offers, lists, strict=True)]
            for vms in product(*ways):
                found[frozenset(Counter((vm.offer, tuple(sorted(vm.runs))) for vm in vms).items())] = vms
                if len(found) > _MOST_PLANS:
                    return None
    return list(found.values())


def _sets_of_lists(numbers: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """All ways to part tasks into lists; the lists come by their least task."""
    if not numbers:
        yield ()
        return
    first, *others = numbers
    for choice in product((True, False), repeat=len(others)):
        with_first = [first, *(task for task, chosen in zip(others, choice, strict=True) if chosen)]
        rest = tuple(task for task, chosen in zip(others, choice, strict=True) if not chosen)
        for order in permutations(with_first):
            for more in _sets_of_lists(rest):
                yield (order, *more)


def _vm_plans(instance: Instance, offer: int, tasks: Sequence[int]) -> Iterator[_VmPlan]:
    """What a VM of an offer can do, if each task of a list begins as early as possible; none if it ends too late."""
    rented = instance.offers[offer]
    for modes in product((FULL_SPEED, BASELINE) if rented.burstable else (FULL_SPEED,), repeat=len(tasks)):
        placed: list[tuple[int, int, int, int, int]] = []
        for task, mode in zip(tasks, modes, strict=True):
            group = instance.task_group[task]
            seconds, need = int(instance.duration_s[group, offer, mode]), int(instance.memory_kb[group])
            if seconds >= NEVER or need > rented.memory_kb:
                break
            ready_s = max(instance.boot_overhead_s + rented.vm_type.setup_s, int(instance.release_s[group]))
            core, start = _earliest(placed, rented.vcpus, rented.memory_kb - need, seconds, ready_s)
            placed.append((task, core, start, start + seconds, need))
            if start + seconds > instance.due_s[group]:
                break
        else:
            end_s = max(end for _, _, _, end, _ in placed)
            if end_s <= instance.time_limit_s(rented.market):
                runs = (
                    (task, core, start, mode == BASELINE)
                    for (task, core, start, _, _), mode in zip(placed, modes, strict=True)
                )
                yield _VmPlan(offer, tuple(runs), end_s)


def _earliest(
    placed: Sequence[tuple[int, int, int, int, int]], vcpus: int, free_kb: int, seconds: int, ready_s: int
) -> tuple[int, int]:
    """First core, and earliest start, at which a task has a core and so much memory beside those that are there."""
    for start in sorted({ready_s, *(end for _, _, _, end, _ in placed if end > ready_s)}):
        beside = [entry for entry in placed if entry[2] < start + seconds and entry[3] > start]
        moments = {start, *(entry[2] for entry in beside if entry[2] >= start)}
        most_kb = max(sum(entry[4] for entry in beside if entry[2] <= at < entry[3]) for at in moments)
        cores = {*range(vcpus)} - {entry[1] for entry in beside}
        if cores and most_kb <= free_kb:
            return min(cores), start
    raise AssertionError("at the end of all tasks there is room")


def _schedule(instance: Instance, vms: Sequence[_VmPlan]) -> Schedule:
    """Return a plan as the package has it."""
    vm, core, start, baseline = np.zeros((4, len(instance.task_group)), dtype=np.int64)
    for number, (_, runs, _) in enumerate(vms):
        for task, *place in runs:
            vm[task] = number
            core[task], start[task], baseline[task] = place
    return Schedule(instance, np.array([one.offer for one in vms]), vm, core, start, baseline.astype(bool))


def _columns(plan: Schedule) -> tuple[Any, ...]:
    return plan.vm_offer, plan.task_vm, plan.task_core, plan.task_start_s, plan.task_baseline
