"""Tiny instances of which a part is under way: machines that exist, with what runs on them; and tight bags."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any, NamedTuple

from spotbag.core.errors import InputError
from spotbag.instances.entries import Goal
from spotbag.instances.instance import Instance
from spotbag.schedules.documents import ScheduleDocument
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.schedule_files import schedule_of_document
from spotbag.schedules.state import State
from tests.helpers.exhaustive import exhaustive_plan, front_in_time
from tests.helpers.second_by_second import duration_s, memory_kb
from tests.helpers.tiny_instances import FAMILIES, tiny_instance

GOALS: tuple[Goal, ...] = ("cheapest", "fastest", "balanced")


def tiny_state(family: str, seed: int) -> Instance:
    """Draw a tiny instance with 1 to 3 machines: idle, launching, closed or busy, paid for some time or not.

    Half of them have prices of their own, some of them none at all.

    Tasks that run are copies of those of the bag. Memory that they hold, and credits of burstable machines, may bind.
    """
    rng, prices = random.Random(f"state {family} {seed}"), random.Random(f"prices {family} {seed}")
    instance = tiny_instance(seed, **FAMILIES[family])
    document = instance.to_document()
    offers = [(vm_type, market) for vm_type in instance.vm_types for market in vm_type.offers]
    runs: dict[str, list[dict[str, Any]]] = {}
    machines = []
    for number in range(rng.choice([1, 1, 2, 3])):
        vm_type, market = rng.choice(offers)
        machine: dict[str, Any] = {"id": f"m{number}", "type": vm_type.name, "market": market, "running": []}
        memory_mb, free = memory_kb(vm_type) / 1024, vm_type.vcpus
        for core in rng.sample(range(vm_type.vcpus), rng.choice([0, 1, 1, min(2, vm_type.vcpus)])):
            group = rng.randrange(len(instance.tasks))
            task = instance.tasks[group]
            baseline = vm_type.burstable is not None and rng.random() < 0.6
            seconds = duration_s(instance, task, vm_type, market, baseline)
            if seconds is None or task.memory_mb > memory_mb or task.cores > free:
                continue
            memory_mb, free = memory_mb - task.memory_mb, free - task.cores
            entry: dict[str, Any] = {"core": core, "start_s": rng.randint(1 - seconds, 0)}
            if vm_type.burstable is not None:
                entry["mode"] = "baseline" if baseline else "burst"
            runs.setdefault(task.id, []).append(entry)
            machine["running"].append(entry)
        if not machine["running"] and rng.random() < 0.4:
            machine["ready_s"] = rng.randint(1, 4)
        if rng.random() < 0.5:
            machine["paid_until_s"] = rng.randint(1, 12)
        if rng.random() < 0.2:
            machine["open"] = False
        if vm_type.burstable is not None and rng.random() < 0.7:
            machine["credits"] = rng.choice([0.05, 0.1, 0.3, 1])
        if prices.random() < 0.5:
            listed = vm_type.offers[market].price_usd_per_hour
            machine["price_usd_per_hour"] = prices.choice([listed, 0.5 * listed, 3 * listed, 0])
        machines.append(machine)
    for task in document["tasks"]:
        entries, count = runs.get(task["id"], []), task.get("count", 1)
        if entries:
            task["count"] = count + len(entries)
            copies = rng.sample(range(1, task["count"] + 1), len(entries))
            for entry, copy in zip(entries, copies, strict=True):
                entry["task"] = f"{task['id']}#{copy}"
    if rng.random() < 0.3:
        document.pop("limits", None)
    document["machines"] = machines
    return Instance.from_document(document, "tiny state")


class TightBag(NamedTuple):
    """A bag that is under way, and has hardly more time than it needs.

    Attributes
    ----------
    instance : Instance
        The bag as it was at the beginning.
    state : State
        What has happened; all moments of it but its own are whole seconds.
    plan : Schedule or None
        The plan that is being carried out, if the state is one of a plan.
    front : list of (Fraction, float)
        Seconds from the state to the end, and cost, of all plans of what is left, searched in exact time.
    """

    instance: Instance
    state: State
    plan: Schedule | None
    front: list[tuple[Fraction, float]]


def tight_bag(seed: int) -> TightBag:
    """Draw a tiny bag, what has happened of it, and a deadline a second around the end of a plan of what is left.

    VMs are paid for a while, until a plan ends, until the deadline or beyond, and may launch, drain or hibernate; some
    states can rent nothing, or have nothing. Moments are whole seconds, halves or quarters. One in five is one of
    tasks that fill what is paid (`paid_bag`).
    """
    if seed % 5 == 4:
        return paid_bag(seed)
    rng, prices = random.Random(f"tight {seed}"), random.Random(f"prices {seed}")
    while True:
        bag = tiny_instance(rng.randrange(10**9), **FAMILIES[rng.choice([*FAMILIES])]).to_document()
        bag["deadline_s"] = 30
        if "d_spot_s" in bag:
            bag["d_spot_s"] = rng.choice([30, 30, rng.randint(10, 30)])
        price = rng.choice([1e-4, 1.0, 1.0, 1.0, 1e3])
        for vm_type in bag["vm_types"]:
            for offer in vm_type["offers"].values():
                offer["price_usd_per_hour"] *= price
        try:
            loose = Instance.from_document(bag, "tight bag")
            under_way = _of_plan(rng, loose) if rng.random() < 0.3 else (_drawn_state(rng, loose), None)
            if under_way is None:
                continue
            state, document = under_way
            for vm in state["vms"]:
                if prices.random() < 0.3:
                    vm["price_usd_per_hour"] = price * prices.choice([0, 0.3, 5])
            found = _tightened(rng, bag, state, document)
        except InputError:  # no such bag, or nothing is left of it
            continue
        if found is not None:
            return found


def paid_bag(seed: int) -> TightBag:
    """Draw 1 to 5 tasks that exactly fill what is paid of VMs, or lack a second of it, until just before the deadline.

    So a plan costs nothing, or hardly anything, at prices up to the highest that there are.
    """
    rng = random.Random(f"paid {seed}")
    cores, n_vms, now_s = rng.choice([1, 1, 2]), rng.choice([1, 1, 2]), rng.choice([0, 0, 7])
    most = max(5 // (cores * n_vms), 1)
    fills_s = [rng.choice([10, 60, rng.randint(2, 4000)]) for _ in range(n_vms)]
    runtimes_s: list[int] = []
    for fill_s in fills_s:
        for _ in range(cores):
            cuts = sorted(rng.sample(range(1, fill_s), min(rng.randint(0, most - 1), fill_s - 1)))
            runtimes_s += [end_s - start_s for start_s, end_s in itertools.pairwise([0, *cuts, fill_s])]
    runtimes_s[0] += rng.choice([0, 0, 0, 1])
    price = rng.choice([1, 1e6, 10 ** rng.uniform(-3, 6)])
    markets = ["on-demand", "spot"][: rng.choice([1, 2])]
    offers = {market: {"price_usd_per_hour": price, "limit": n_vms} for market in markets}
    deadline_s = max(now_s + max(fills_s) + rng.choice([0, 0, 1, 2]), runtimes_s[0])
    bag = {
        "format": "spotbag.instance/1",
        "name": "paid",
        "deadline_s": deadline_s,
        "vm_types": [{"name": "a", "vcpus": cores, "memory_mb": 1000, "offers": offers}],
        "tasks": [{"id": f"t{k}", "memory_mb": 1, "runtime_s": {"a": end_s}} for k, end_s in enumerate(runtimes_s)],
    }
    if len(markets) > 1:
        bag["d_spot_s"] = deadline_s
    if rng.random() < 0.6:
        bag["objective"] = {"goal": "cheapest"}
    vms = [
        {"id": f"v{k}", "type": "a", "market": "on-demand", "paid_until_s": now_s + fill_s}
        for k, fill_s in enumerate(fills_s)
    ]
    instance = Instance.from_document(bag, "paid bag")
    state = State(instance="paid", time_s=now_s, vms=tuple(vms))
    return TightBag(instance, state, None, front_in_time(instance, state))


def _tightened(
    rng: random.Random, bag: dict[str, Any], state: dict[str, Any], plan: ScheduleDocument | None
) -> TightBag | None:
    """Return a bag with a deadline a second around the end of a plan; None if it has no plan at all, as a rule."""
    if plan is None and rng.random() < 0.3:  # nothing can be rented
        markets = [vm["market"] for vm in state["vms"]]
        bag["limits"] = {"max_spot": markets.count("spot"), "max_on_demand": markets.count("on-demand")}
    front = front_in_time(Instance.from_document(bag, "tight bag"), State.from_document(state, "tight bag"))
    ends_s = [Fraction(state["time_s"]) + end_s for end_s, _ in front]
    if not ends_s and rng.random() < 0.9:
        return None
    if ends_s:
        end_s = rng.choice([ends_s[0], *ends_s])
        bag["deadline_s"] = max(math.ceil(end_s) + rng.choice([-1, -1, 0, 0, 0, 1]), 1)
        often = rng.choice([0.4, 1.0])
        for vm in state["vms"]:
            if rng.random() < often:
                vm["paid_until_s"] = bag["deadline_s"] + rng.choice([-1, -1, 0, 0, 0, 1, 30])
    if plan is not None:
        assert plan.makespan_s is not None
        bag["deadline_s"] = max(bag["deadline_s"], plan.makespan_s)
    if "d_spot_s" in bag:
        bag["d_spot_s"] = min(bag["d_spot_s"], bag["deadline_s"])
    goal = rng.choice(GOALS)
    if goal != "balanced":
        bag["objective"] = {"goal": goal}
    instance, left = Instance.from_document(bag, "tight bag"), State.from_document(state, "tight bag")
    left.remaining(instance)  # refused where nothing is left
    followed = None if plan is None else schedule_of_document(plan, instance)
    return TightBag(instance, left, followed, front_in_time(instance, left))


def _moment_s(rng: random.Random, bag: Instance, latest_s: int) -> float:
    """Draw a moment: a whole second, or a part of one; where credits are looked at second by second, a half."""
    parts = [0.5] if any(vm_type.burstable for vm_type in bag.vm_types) else [0.25, 0.5, 0.75]
    return max(rng.randint(0, latest_s) - rng.choice([0, 0, rng.choice(parts)]), 0)


def _of_plan(rng: random.Random, bag: Instance) -> tuple[dict[str, Any], ScheduleDocument] | None:
    """Return the state of a plan that goes as planned, and the plan: the best one, with its tasks where it has them."""
    plan = exhaustive_plan(bag)
    if plan is None:
        return None
    assert plan.makespan_s is not None
    schedule = schedule_of_document(plan, bag)
    state = State.planned(schedule, _moment_s(rng, bag, plan.makespan_s - 1)).to_document()
    return state, plan


def _drawn_state(rng: random.Random, bag: Instance) -> dict[str, Any]:
    """Draw what has happened of a bag."""
    now_s = _moment_s(rng, bag, 12)
    ids = list(bag.task_ids)
    rng.shuffle(ids)
    done = [ids.pop() for _ in range(rng.choice([0, 0, 1]))]
    offers = [(vm_type, market) for vm_type in bag.vm_types for market in vm_type.offers]
    vms: list[dict[str, Any]] = []
    for number in range(rng.choice([0, 1, 1, 1, 2, 3])):
        vm_type, market = rng.choice(offers)
        status = rng.choice(["running"] * 5 + ["launching", "draining", "hibernated"])
        vm: dict[str, Any] = {"id": f"v{number}", "type": vm_type.name, "market": market, "status": status}
        vm["ready_s"] = int(now_s) + rng.randint(1, 4) if status == "launching" else 0
        if rng.random() < 0.4:
            vm["paid_until_s"] = int(now_s) + rng.randint(1, 14)
        if vm_type.burstable is not None and rng.random() < 0.7:
            vm["credits"] = rng.choice([0, 0.01, 0.037, 0.05, 0.1, 0.3])
        if status in ("running", "draining"):
            vm["running"] = _drawn_running(rng, bag, vm, now_s, ids)
        vms.append(vm)
    if vms and rng.random() < 0.2:  # nothing waits
        done += ids
    return {"format": "spotbag.state/1", "instance": bag.name, "time_s": now_s, "done": done, "vms": vms}


def _drawn_running(
    rng: random.Random, bag: Instance, vm: dict[str, Any], now_s: float, waiting: list[str]
) -> list[dict[str, Any]]:
    """Take tasks of those that wait, and have them run on cores of a VM."""
    vm_type = next(vm_type for vm_type in bag.vm_types if vm_type.name == vm["type"])
    entries, memory_mb, free = [], memory_kb(vm_type) / 1024, vm_type.vcpus
    for core in rng.sample(range(vm_type.vcpus), rng.choice([0, 1, 1, min(2, vm_type.vcpus)])):
        if not waiting:
            break
        task = bag.tasks[bag.task_group[bag.task_index[waiting[-1]]]]
        baseline = vm_type.burstable is not None and rng.random() < 0.6
        seconds = duration_s(bag, task, vm_type, vm["market"], baseline)
        if seconds is None or task.memory_mb > memory_mb or task.cores > free:
            continue
        memory_mb, free = memory_mb - task.memory_mb, free - task.cores
        entry = {"task": waiting.pop(), "core": core, "start_s": int(now_s) - rng.randint(0, seconds - 1)}
        if vm_type.burstable is not None:
            entry["mode"] = "baseline" if baseline else "burst"
        entries.append(entry)
    return entries
