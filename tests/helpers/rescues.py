"""Rescues judged second by second, by code of their own; random tiny plans to be rescued."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_args

import numpy as np
import pytest

from spotbag.core.errors import InputError
from spotbag.heuristics.bags import rescue_questions
from spotbag.heuristics.bags.rescue import Rescue, certify, rescue_at, spot_types
from spotbag.instances.entries import Machine, RentalOffer, SurvivalLevel
from spotbag.instances.instance import Instance
from spotbag.schedules.queues import Queue, schedule_of_queues
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.state import State
from tests.helpers.quotas import Kind, Quotas

from .tiny_instances import tiny_instance

_NEVER = 10**12


def random_plan(seed: int, *, setups: bool = False, **fields: object) -> Schedule:
    """Return a plan of 1 to 5 tasks on random VMs, and a deadline that leaves time for a rescue, or nearly.

    Fields of the instance may be given; with ``setups``, VMs of some types are set up after the boot.
    """
    rng = random.Random(f"plan {seed}")
    while True:
        drawn, burstable, memory = rng.randrange(10**9), rng.random() < 0.2, rng.random() < 0.4
        tiny = tiny_instance(drawn, burstable=burstable, memory=memory, setups=setups)
        document = tiny.to_document()
        document |= {"deadline_s": 1000, "d_spot_s": 1000, "migration_overhead_s": rng.choice([0, 0, 1, 4])}
        document["markets"] = ["spot", "on-demand"] if rng.random() < 0.7 else ["spot"]
        for vm_type in document["vm_types"]:
            for market in ("spot", "on-demand"):
                if rng.random() < 0.8:
                    vm_type["offers"][market] = {
                        "price_usd_per_hour": rng.choice([0.4, 1, 2.5]),
                        "limit": rng.choice([1, 2, 4]),
                    }
            if "spot" not in vm_type["offers"] and len(document["vm_types"]) == 1:
                vm_type["offers"]["spot"] = {"price_usd_per_hour": 0.3, "limit": 2}
        try:
            instance = Instance.from_document(document | fields, "random plan")
        except InputError:  # a market without an offer
            continue
        queues = _random_queues(rng, instance)
        if queues is None:
            continue
        schedule = schedule_of_queues(instance, queues)
        if all(offer.market != "spot" for offer in _offers(schedule)):
            continue
        deadline_s = schedule.makespan_s + rng.choice([0, 1, 2, 3, 4, 5, 6, 8, 10, 15])
        return with_deadline(schedule, deadline_s)


def dated_plan(seed: int) -> Schedule:
    """Return a random plan of tasks with dates, which leave a little time before and after they are planned."""
    plan, rng = random_plan(seed, setups=seed % 4 == 0), random.Random(f"dates {seed}")
    document, group = plan.instance.to_document(), plan.instance.task_group
    for number, task in enumerate(document["tasks"]):
        start_s, end_s = plan.task_start_s[group == number], plan.task_end_s[group == number]
        if rng.random() < 0.5:
            task["ready_s"] = rng.randint(0, int(start_s.min()))
        if rng.random() < 0.7:
            task["deadline_s"] = int(end_s.max()) + rng.choice([0, 2, 4, 6, 8, 12, 16])
    places = plan.task_vm, plan.task_core, plan.task_start_s, plan.task_baseline
    return Schedule(Instance.from_document(document, "dated"), plan.vm_offer, *places)


def carried_on(plan: Schedule, state: State, remaining: Instance | None = None) -> Schedule:
    """Return the rest of a plan as a plan for what a state has left."""
    rest = state.remaining(plan.instance) if remaining is None else remaining
    left = [plan.instance.task_index[name] for name in rest.task_ids]
    numbers = {machine.id: number for number, machine in enumerate(rest.machines)}
    used = sorted({int(vm) for vm in plan.task_vm[left]}, key=lambda vm: numbers[plan.vm_ids[vm]])
    start_s = plan.task_start_s[left] - math.floor(state.time_s)
    index = {rest.task_ids[task]: task for task in range(rest.n_tasks)}
    for machine in rest.machines:
        for entry in machine.running:
            start_s[index[entry.task]] = entry.start_s
    return Schedule(
        rest,
        rest.machine_offer[[numbers[plan.vm_ids[vm]] for vm in used]],
        [used.index(vm) for vm in plan.task_vm[left].tolist()],
        plan.task_core[left] * plan.instance.slots.cores // rest.slots.cores,
        start_s,
        plan.task_baseline[left],
        tuple(plan.vm_ids[vm] for vm in used),
    )


def random_rest(seed: int, *, setups: bool = False) -> Schedule:
    """Return the rest of a random plan from some second on, with machines of every kind.

    Some are paid already, or take no more tasks; some are not used by the plan, or have prices of their own; of some
    tasks a part is saved.
    """
    plan = random_plan(seed, setups=setups)
    rng, prices = random.Random(f"rest {seed}"), random.Random(f"prices {seed}")
    plan = replace(plan, vm_ids=tuple(f"vm {number}" for number in range(len(plan.vm_offer))))
    boot_s = plan.instance.boot_overhead_s
    state = State.planned(plan, rng.choice([0, boot_s, *(rng.randrange(plan.makespan_s) for _ in range(6))]))
    waiting = state.waiting_ids(plan.instance)
    saved = {name: rng.choice([0.1, 0.5, 0.8]) for name in waiting if rng.random() < 0.3}
    state = state.replace(saved=saved)
    rest = state.remaining(plan.instance)
    later = {plan.vm_ids[plan.task_vm[plan.instance.task_index[name]]] for name in waiting}
    machines = []
    for machine in rest.machines:
        changes: dict[str, Any] = {"paid_until_s": rng.choice([0, 0, 1, 3, 8, 20])}
        if prices.random() < 0.5:
            changes["price_usd_per_hour"] = prices.choice([0, 0.1, 0.7, 5])
        if machine.id not in later and rng.random() < 0.5:
            changes["open"] = False
        machines.append(machine.model_copy(update=changes))
    if rng.random() < 0.3:
        offer = rng.choice(rest.offers)
        machines.append(Machine(id="idle", type=offer.vm_type.name, market=offer.market))
    return carried_on(plan, state, rest.replace(machines=machines))


def with_deadline(schedule: Schedule, deadline_s: int) -> Schedule:
    instance = schedule.instance.replace(deadline_s=deadline_s, d_spot_s=deadline_s)
    places = schedule.task_vm, schedule.task_core, schedule.task_start_s, schedule.task_baseline
    return Schedule(instance, schedule.vm_offer, *places)


def may_be_rented(instance: Instance, offer: RentalOffer, queues: list[Queue]) -> bool:
    """Return whether limits allow one more VM of an offer beside those of queues."""
    rented = [queue.offer for queue in queues]
    kinds = [(other.vm_type.name, other.market) for other in (*rented, offer)]
    return rented.count(offer) < offer.limit and Quotas(instance).allow(kinds, kinds[-1])


def _random_queues(rng: random.Random, instance: Instance) -> list[Queue] | None:
    usable = [offer for offer in instance.offers if offer.limit]
    queues: list[Queue] = []
    for _ in range(rng.choice([1, 2, 2, 3, 4])):
        offer = rng.choice(usable)
        if may_be_rented(instance, offer, queues):
            queues.append(Queue(offer, []))
    for task in range(instance.n_tasks):
        group = instance.task_group[task]
        able = [queue for queue in queues if instance.sustained_s[group, queue.offer.index] < 900]
        if not able:
            return None
        rng.choice(able).tasks.append(task)
    return queues


def _offers(schedule: Schedule) -> list[RentalOffer]:
    return [schedule.instance.offers[index] for index in schedule.vm_offer.tolist()]


def _listed(instance: Instance, offer: RentalOffer) -> RentalOffer:
    return offer if offer.listed_as is None else instance.offers[offer.listed_as]


def level_sets(schedule: Schedule, level: str) -> list[tuple[str, ...]]:
    """Return the sets of types that go down together: each type, or any types; all of them come last."""
    names = sorted({offer.vm_type.name for offer in _offers(schedule) if offer.market == "spot"})
    most = 1 if level == "one-type" else len(names)
    return [chosen for size in range(1, most + 1) for chosen in itertools.combinations(names, size)]


def left_of_lost(schedule: Schedule, types: tuple[str, ...], at_s: int) -> dict[int, float]:
    """Return the tasks that are lost, and the fraction that is left of each."""
    instance = schedule.instance
    lost = {}
    for task in range(instance.n_tasks):
        offer = _offers(schedule)[schedule.task_vm[task]]
        if offer.market != "spot" or offer.vm_type.name not in types or schedule.task_end_s[task] <= at_s:
            continue
        group = instance.task_group[task]
        elapsed_s = float(at_s - schedule.task_start_s[task])
        if offer.burstable:
            assert offer.vm_type.burstable is not None
            elapsed_s *= offer.vm_type.burstable.baseline_fraction
        written = 0
        while (
            written < instance.checkpoint_count[group, offer.type_index]
            and (written + 1) * (instance.checkpoint_interval_s[group] + instance.dump_s[group]) <= elapsed_s + 1e-9
        ):
            written += 1
        saved = written * instance.checkpoint_interval_s[group] if written else 0.0
        lost[task] = 1.0 - saved / instance.runtime_s[group, offer.type_index]
    return lost


def takeover_s(instance: Instance, offer: RentalOffer) -> int:
    """Return the seconds from a loss until a VM of an offer runs a task that is moved to it."""
    return max(instance.boot_overhead_s + offer.vm_type.setup_s, instance.migration_overhead_s)


def left_s(instance: Instance, task: int, fraction: float, offer: RentalOffer) -> int:
    """Return the seconds that are left of a task on an on-demand VM; very many if it cannot run there."""
    runtime_s = int(instance.offer_runtime_s[instance.task_group[task], offer.index])
    return _NEVER if runtime_s > 10**9 else math.ceil(runtime_s * fraction - 1e-9)


def faults(schedule: Schedule, types: tuple[str, ...], at_s: int, rescue: Rescue) -> Iterator[str]:
    """Say what is wrong with a rescue."""
    instance = schedule.instance
    lost = left_of_lost(schedule, types, at_s)
    if sorted(rescue.task.tolist()) != sorted(lost):
        yield f"moves tasks {rescue.task.tolist()}, lost are {sorted(lost)}"
    plan_vms = dict(zip(schedule.vm_ids, range(len(schedule.vm_ids)), strict=True))
    plan_offers = _offers(schedule)
    alive = [vm for vm in plan_vms.values() if schedule.vm_end_s[vm] > at_s]
    rented = Counter(_listed(instance, plan_offers[vm]) for vm in alive if plan_offers[vm].market == "on-demand")
    rented.update(vm.offer for vm in rescue.vms if vm.new)
    for offer, number in rented.items():
        if number > offer.vm_type.offers["on-demand"].limit and any(vm.new and vm.offer == offer for vm in rescue.vms):
            yield f"{number} VMs of {offer}"
    if any(vm.new for vm in rescue.vms) and not Quotas(instance).allow(
        (offer.vm_type.name, "on-demand") for offer in rented.elements()
    ):
        yield f"{sum(rented.values())} VMs on demand"
    for number, vm in enumerate(rescue.vms):
        mine = [k for k in range(len(rescue.task)) if rescue.task_vm[k] == number]
        if vm.offer.market != "on-demand" or vm.offer.burstable:
            yield f"{vm.id} is {vm.offer}"
        if vm.new and vm.id in plan_vms:
            yield f"{vm.id} is new and in the plan"
        if not vm.new and plan_vms.get(vm.id) not in alive:
            yield f"{vm.id} is not there any more"
        if not vm.new and any(machine.id == vm.id and not machine.open for machine in instance.machines):
            yield f"{vm.id} takes no more tasks"
        last_s = max(int(rescue.task_end_s[k]) for k in mine)
        boot_s = at_s + instance.boot_overhead_s
        ready_s = boot_s + vm.offer.vm_type.setup_s
        if not vm.new:
            boot_s = ready_s = max(int(schedule.vm_end_s[plan_vms[vm.id]]), _paid_until_s(schedule, plan_vms[vm.id]))
        priced = vm.offer if vm.new else plan_offers[plan_vms[vm.id]]
        cost_usd = priced.price_usd_per_hour / 3600 * max(last_s - boot_s, 0)
        if (vm.ready_s, vm.end_s) != (ready_s, max(last_s, ready_s)) or not math.isclose(
            vm.cost_usd, cost_usd, abs_tol=1e-12
        ):
            yield f"{vm.id} is paid from {vm.ready_s} to {vm.end_s}: {vm.cost_usd}"
        placed = [(int(rescue.task_core[k]), int(rescue.task_start_s[k]), int(rescue.task_end_s[k])) for k in mine]
        memory = [(int(rescue.task_start_s[k]), int(rescue.task_end_s[k]), int(rescue.task[k])) for k in mine]
        if not vm.new:
            here = [task for task in range(instance.n_tasks) if schedule.task_vm[task] == plan_vms[vm.id]]
            memory += [(int(schedule.task_start_s[task]), int(schedule.task_end_s[task]), task) for task in here]
            placed += [
                (int(schedule.task_core[task]), int(schedule.task_start_s[task]), int(schedule.task_end_s[task]))
                for task in here
            ]
        for k in mine:
            task, start_s, end_s = int(rescue.task[k]), int(rescue.task_start_s[k]), int(rescue.task_end_s[k])
            if end_s - start_s != left_s(instance, task, lost[task], vm.offer):
                yield f"task {task} takes {end_s - start_s} s"
            if start_s < at_s + takeover_s(instance, vm.offer) or start_s < _ready_s(schedule, vm.id):
                yield f"task {task} starts at {start_s} s"
            if start_s < instance.release_s[instance.task_group[task]]:
                yield f"task {task} starts at {start_s} s"
            if end_s > instance.due_s[instance.task_group[task]]:
                yield f"task {task} ends at {end_s} s"
            if not 0 <= rescue.task_core[k] < vm.offer.vcpus:
                yield f"task {task} is on core {rescue.task_core[k]}"
        for core in range(vm.offer.vcpus):
            times = sorted((start_s, end_s) for place, start_s, end_s in placed if place == core)
            if any(before[1] > after[0] for before, after in itertools.pairwise(times)):
                yield f"core {core} of {vm.id} runs two tasks at once"
        for moment, _, _ in memory:
            used = sum(
                int(instance.memory_kb[instance.task_group[task]])
                for start, end, task in memory
                if start <= moment < end
            )
            if used > vm.offer.memory_kb:
                yield f"{vm.id} has too little memory at {moment} s"


def _ready_s(schedule: Schedule, name: str) -> int:
    return next((machine.ready_s for machine in schedule.instance.machines if machine.id == name), 0)


def _paid_until_s(schedule: Schedule, vm: int) -> int:
    for machine in schedule.instance.machines:
        if machine.id == schedule.vm_ids[vm]:
            begins = (machine.launching or machine.ready_s > 0) and machine.paid_until_s <= machine.ready_s
            setup_s = _offers(schedule)[vm].vm_type.setup_s if begins else 0
            return max(machine.paid_until_s, machine.ready_s) - setup_s
    return schedule.instance.boot_overhead_s


def cost_of_loss_usd(schedule: Schedule, types: tuple[str, ...], at_s: int, rescue_usd: float) -> float:
    """Return what plan and rescue cost together."""
    total = rescue_usd
    for vm, (offer, end_s) in enumerate(zip(_offers(schedule), schedule.vm_end_s.tolist(), strict=True)):
        lost = offer.market == "spot" and offer.vm_type.name in types
        until_s = min(end_s, at_s) if lost else end_s
        total += offer.price_usd_per_hour / 3600 * max(until_s - _paid_until_s(schedule, vm), 0)
    return total


def can_be_rescued(schedule: Schedule, types: tuple[str, ...], at_s: int) -> bool:
    """Try all ways to do what is lost at a second on demand: every order, on every VM."""
    instance = schedule.instance
    lost = left_of_lost(schedule, types, at_s)
    on_demand = [offer for offer in instance.offers if offer.market == "on-demand" and offer.listed_as is None]
    room = {offer: offer.vm_type.offers["on-demand"].limit for offer in on_demand}
    quotas, counted = Quotas(instance), list[Kind]()
    vms: list[tuple[RentalOffer, tuple[int, ...], tuple[tuple[int, int, int], ...]]] = []
    for vm, offer in enumerate(_offers(schedule)):
        if offer.market != "on-demand" or schedule.vm_end_s[vm] <= at_s:
            continue
        counted.append((offer.vm_type.name, "on-demand"))
        room[_listed(instance, offer)] -= 1
        closed = [machine.id for machine in instance.machines if not machine.open]
        if offer.burstable or schedule.vm_ids[vm] in closed:
            continue
        here = [task for task in range(instance.n_tasks) if schedule.task_vm[task] == vm]
        cores = []
        for core in range(offer.vcpus):
            ends = [int(schedule.task_end_s[task]) for task in here if schedule.task_core[task] == core]
            # The kernel waits for all of a VM whose memory may bind.
            if not instance.memory_never_binds[offer.type_index]:
                ends = [int(schedule.vm_end_s[vm])]
            cores.append(max([at_s + takeover_s(instance, offer), _ready_s(schedule, schedule.vm_ids[vm]), *ends]))
        vms.append((offer, tuple(cores), ()))

    def search(
        left: tuple[int, ...],
        vms: list[tuple[RentalOffer, tuple[int, ...], tuple[tuple[int, int, int], ...]]],
        room: dict[RentalOffer, int],
        counted: list[Kind],
    ) -> bool:
        if not left:
            return True
        for task in left:
            rest = tuple(other for other in left if other != task)
            need = int(instance.memory_kb[instance.task_group[task]])
            release_s, due_s = (int(of[instance.task_group[task]]) for of in (instance.release_s, instance.due_s))
            for number, (offer, cores, placed) in enumerate(vms):
                seconds = left_s(instance, task, lost[task], offer)
                start = max(min(cores), release_s)
                while start + seconds <= due_s and any(
                    sum(other[2] for other in placed if other[0] <= moment < other[1]) + need > offer.memory_kb
                    for moment in range(start, start + seconds)
                ):
                    start += 1
                if start + seconds > due_s:
                    continue
                core = max((core for core in range(len(cores)) if cores[core] <= start), key=lambda core: cores[core])
                changed = (*cores[:core], start + seconds, *cores[core + 1 :])
                entry = (offer, changed, (*placed, (start, start + seconds, need)))
                if search(rest, [*vms[:number], entry, *vms[number + 1 :]], room, counted):
                    return True
            for offer in on_demand:
                more = [*counted, (offer.vm_type.name, "on-demand")]
                if room[offer] > 0 and quotas.allow(more, more[-1]) and not offer.burstable:
                    ready_s = at_s + takeover_s(instance, offer)
                    start, seconds = max(ready_s, release_s), left_s(instance, task, lost[task], offer)
                    if start + seconds > due_s:
                        continue
                    changed = (start + seconds, *(ready_s,) * (offer.vcpus - 1))
                    entry = (offer, changed, ((start, start + seconds, need),))
                    if search(rest, [*vms, entry], {**room, offer: room[offer] - 1}, more):
                        return True
            if all(instance.memory_never_binds) and not instance.has_dates:
                return False  # the order does not matter: this task fits nowhere here
        return False

    return search(tuple(lost), vms, room, counted)


def demand_the_same_rescues(schedule: Schedule) -> None:
    """Demand that plain Python and the compiled loop find the same rescues, to the last digit."""
    answers = []
    for seconds in (0.0, math.inf):  # after which plain Python is not asked any more
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rescue_questions, "_COMPILED_IN_S", seconds)
            patch.setattr(rescue_questions, "_is_at_hand", lambda: False)
            copy = replace(schedule)  # of which nothing is known yet
            certificates = [certify(copy, level) for level in get_args(SurvivalLevel)]
            moments = {0, copy.makespan_s // 2, *(found.worst_at_s or 0 for found in certificates)}
            rescues = [rescue_at(copy, spot_types(copy), at_s) for at_s in sorted(moments)]
        answers.append([*map(_as_lists, certificates), *map(_as_lists, rescues)])
    assert answers[0] == answers[1]


def _as_lists(value: Any) -> Any:
    """Return all fields of a record, with lists in place of arrays."""
    if is_dataclass(value):
        return [_as_lists(getattr(value, entry.name)) for entry in fields(value)]
    return value.tolist() if isinstance(value, np.ndarray) else value
