"""The true optimum of a tiny instance over all plans that start tasks at whole seconds, waiting included.

Shares nothing with the package but the reading of instances. With CPU credits it can pay to wait, so the least end of
a burstable VM is searched second by second; without them a task that can start earlier may as well, and it is enough
to start tasks when the VM is ready or another task ends. Machines that exist are VMs on which some tasks run already.

What a state leaves of a bag is searched in exact time: a unit is such a part of a second that all its moments are
whole numbers of it, and tasks start whenever a core is free. New VMs are asked for from when the times of its plans
count on.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import NamedTuple, TypeAlias

from spotbag.instances.entries import BillingRules, Burstable, Machine, Market, RunningTask, Task
from spotbag.instances.instance import Instance
from spotbag.schedules.documents import PlacedTask, RentedVm, ScheduleDocument
from spotbag.schedules.state import State
from spotbag.schedules.vm_state import VmState
from tests.helpers.quotas import Quotas, Sums
from tests.helpers.second_by_second import duration_s, memory_kb
from tests.helpers.tiny_instances import FAMILIES, tiny_instance

Counts: TypeAlias = tuple[int, ...]
"""How many tasks of each group."""

Started: TypeAlias = "tuple[int, bool, int, int, Started] | None"
"""What was started on a VM, latest first: group, whether at the baseline, start, end, and what came before."""

Running: TypeAlias = tuple[tuple[int, int, int, int], ...]
"""Tasks that run, sorted: seconds left, 1 if at full speed on credits (2 if they did before), memory in KB, cores."""


class Way(NamedTuple):
    """One way to run a task of a group on a VM of an offer."""

    group: int
    baseline: bool
    spends_as_full: bool
    seconds: int
    need_kb: int
    release_s: int = 0
    due_s: int = 10**9
    cores: int = 1

    def in_parts(self, parts: int, passed: int) -> Way:
        """Return the same way with its times in parts of a second, its dates from a moment on."""
        dates = self.release_s * parts - passed, self.due_s * parts - passed
        return self._replace(seconds=self.seconds * parts, release_s=dates[0], due_s=dates[1])

    def starts_at(self, now: int, limit_s: int) -> bool:
        """Whether it may start at a moment on a VM that ends by a limit."""
        return self.release_s <= now and now + self.seconds <= min(limit_s, self.due_s)


class VmPlan(NamedTuple):
    """Least end of a VM that runs given tasks, and how it is done."""

    end_s: int
    started: Started


@dataclass(frozen=True, slots=True)
class Credits:
    """CPU credits in whole units, so that no balance is rounded."""

    earned: int  # by the VM in a second
    full: int  # spent by a task in a second
    baseline: int
    initial: int
    cap: int


@dataclass(frozen=True, slots=True)
class TinyOffer:
    """An offer, worked out from the instance as it is written."""

    type_name: str
    market: Market
    price_usd_per_s: float
    vms: int
    vcpus: int
    memory_kb: int
    ready_s: int
    limit_s: int
    ways: tuple[Way, ...]
    credits: Credits | None
    machine: Machine | None = None
    """The machine that it is, if it exists already."""
    busy: tuple[tuple[RunningTask, int, Way], ...] = ()
    """What runs there, until when, and how."""
    least_s: int = 0
    block_s: int = 1
    boot_s: int = 0
    fixed_usd: float = 0.0
    """How its sessions are billed."""

    @property
    def running(self) -> Running:
        """What runs there when it is ready."""
        return tuple(
            sorted((end, 2 * way.spends_as_full, way.need_kb, way.cores) for _, end, way in self.busy if end > 0)
        )

    @property
    def paid_from_s(self) -> int:
        """From when it costs anything."""
        return self.ready_s if self.machine is None else max(self.ready_s, self.machine.paid_until_s)

    def cost_usd(self, end_s: int) -> float:
        """What it costs until an end; of a machine that is ready, what is not paid yet, in whole blocks."""
        begins = self.machine is None or (self.machine.ready_s > 0 and self.paid_from_s <= self.ready_s)
        if begins:
            blocks = math.ceil(Fraction(max(self.boot_s + end_s - self.ready_s, self.least_s), self.block_s))
            return self.fixed_usd + self.price_usd_per_s * blocks * self.block_s
        return self.price_usd_per_s * math.ceil(Fraction(max(end_s - self.paid_from_s, 0), self.block_s)) * self.block_s


class Problem(NamedTuple):
    """What is to be run, and where: machines, VMs that may be rented, limits less the machines there."""

    bag: Counts
    machines: list[TinyOffer]
    offers: list[TinyOffer]
    quotas: Quotas
    left: Sums
    deadline_s: int


class Choice(NamedTuple):
    """Cost and end of some VMs, and what each of them runs."""

    cost_usd: float
    end_s: int
    vms: tuple[tuple[TinyOffer, VmPlan], ...]


def exhaustive_objective(instance: Instance) -> float | None:
    """Optimum over all plans; None if there is none."""
    best = _best_choice(instance)
    return None if best is None else _objective(instance, best)


def exhaustive_front(instance: Instance) -> list[tuple[int, float]]:
    """Makespan and cost of all plans that no other one beats in both, fastest first: epsilon by epsilon."""
    return _front(_all_choices(_problem(instance)))


def front_in_time(instance: Instance, state: State) -> list[tuple[Fraction, float]]:
    """Seconds from the moment of a state to the last end, and cost, of all plans of what it leaves, in exact time.

    Parameters
    ----------
    instance : Instance
        The bag as it was at the beginning.
    state : State
        Its moments are fractions of a second with small denominators.
    """
    problem, parts = _problem_in_time(instance, state)
    return [(Fraction(end, parts), cost) for end, cost in _front(_all_choices(problem))]


def _front(choices: list[Choice]) -> list[tuple[int, float]]:
    front: list[tuple[int, float]] = []
    for epsilon in sorted({choice.end_s for choice in choices}):
        cost, end = min((choice.cost_usd, choice.end_s) for choice in choices if choice.end_s <= epsilon)
        if not front or cost < front[-1][1] * (1 - 1e-7) - 1e-15:
            front.append((end, cost))
    return front


def exhaustive_plan(instance: Instance) -> ScheduleDocument | None:
    """Plan of the optimum, with what it claims to come to; None if there is none."""
    best = _best_choice(instance)
    if best is None:
        return None
    runs = {entry.task for machine in instance.machines for entry in machine.running}
    ids = [[name for name in _ids(task.id, task.count) if name not in runs] for task in instance.tasks]
    vms, placed = [], []
    exist = {machine.id for machine in instance.machines}
    new = (name for name in map("vm{}".format, itertools.count()) if name not in exist)
    for offer, plan in best.vms:
        name = next(new) if offer.machine is None else offer.machine.id
        vms.append(RentedVm(id=name, type=offer.type_name, market=offer.market))
        cores = [0] * offer.vcpus  # until when each is busy
        firsts = {entry.core for entry, _, _ in offer.busy}
        for entry, end, way in offer.busy:
            free = [core for core, until in enumerate(cores) if not until and core not in firsts]
            slot = entry.core // instance.slots.cores
            mine = [entry.core, *sorted(free, key=lambda core: core // instance.slots.cores != slot)][: way.cores]
            for core in mine:
                cores[core] = end
            mode = None if offer.credits is None else "baseline" if way.baseline else "burst"
            placed.append(
                PlacedTask(
                    id=entry.task,
                    vm=name,
                    core=entry.core,
                    start_s=entry.start_s,
                    end_s=end,
                    mode=mode,
                )
            )
        for group, baseline, start, end in _in_order(plan.started):
            need = instance.tasks[group].cores
            begins = range(0, len(cores) - instance.slots.cores + 1, instance.slots.cores)
            slots = [[*range(begin, begin + instance.slots.cores)] for begin in begins]
            mine = [core for slot in slots if all(cores[core] <= start for core in slot) for core in slot][:need]
            for core in mine:
                cores[core] = end
            mode = None if offer.credits is None else "baseline" if baseline else "burst"
            placed.append(PlacedTask(id=ids[group].pop(), vm=name, core=mine[0], start_s=start, end_s=end, mode=mode))
    return ScheduleDocument(
        instance=instance.name,
        cost_usd=best.cost_usd,
        makespan_s=best.end_s,
        objective=_objective(instance, best),
        vms=tuple(vms),
        tasks=tuple(placed),
    )


@cache
def tiny_optimum(family: str, seed: int) -> ScheduleDocument | None:
    """Best plan of a tiny instance, worked out once for all tests."""
    return exhaustive_plan(tiny_instance(seed, **FAMILIES[family]))


def _ids(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}#{copy}" for copy in range(1, count + 1)]


def _in_order(started: Started) -> list[tuple[int, bool, int, int]]:
    entries = []
    while started is not None:
        group, baseline, start, end, started = started
        entries.append((group, baseline, start, end))
    return sorted(entries, key=lambda entry: entry[2])


# ------------------------------------------------------------------------ objective


def _objective(instance: Instance, choice: Choice) -> float:
    weight = instance.cost_weight
    if instance.goal != "balanced":
        return weight * choice.cost_usd + (1 - weight) * choice.end_s
    cost_scale = instance.objective.cost_scale_usd
    if cost_scale is None:
        cost_scale = _ideal_cost_usd(instance)
    makespan_scale = instance.objective.makespan_scale_s
    if makespan_scale is None:
        makespan_scale = instance.deadline_s
    return weight * choice.cost_usd / cost_scale + (1 - weight) * choice.end_s / makespan_scale


def _ideal_cost_usd(instance: Instance) -> float:
    """Each task on its cheapest on-demand core, without checkpoints; spot only where no on-demand VM can run it."""
    total = 0.0
    for task in instance.tasks:
        prices: dict[str, list[float]] = {"on-demand": [], "spot": []}
        for vm_type in instance.vm_types:
            anywhere = task.model_copy(update={"markets": None})
            seconds = duration_s(instance, anywhere, vm_type, "on-demand", False)
            if seconds is not None:
                for market, offer in vm_type.offers.items():
                    if task.markets is not None and market not in task.markets:
                        continue
                    prices[market].append(offer.price_usd_per_hour / 3600 / vm_type.vcpus * seconds * task.cores)
        total += task.count * min(prices["on-demand"] or prices["spot"])
    return total


# --------------------------------------------------------------------- choice of VMs


def _best_choice(instance: Instance) -> Choice | None:
    choices = _all_choices(_problem(instance))
    return min(choices, key=lambda choice: _objective(instance, choice), default=None)


def _open_bag(instance: Instance) -> Counts:
    """Tasks of each group that do not run already."""
    runs = {entry.task for machine in instance.machines for entry in machine.running}
    return tuple(sum(name not in runs for name in _ids(task.id, task.count)) for task in instance.tasks)


def _problem(instance: Instance) -> Problem:
    """What an instance asks for."""
    quotas = Quotas(instance)
    left = quotas.left_by((machine.type, machine.market) for machine in instance.machines)
    machines, offers = tiny_machines(instance), tiny_offers(instance)
    return Problem(_open_bag(instance), machines, offers, quotas, left, instance.deadline_s)


def _all_choices(problem: Problem) -> list[Choice]:
    """All ways to run the whole bag that no other one beats in both cost and end.

    VM by VM: each runs some of the tasks that are left, or is not rented. What counts of the VMs so far is which
    tasks they run, and what they count in each limit of several types.
    """
    bag = problem.bag
    nothing = tuple(0 for _ in bag), tuple(0 for _ in problem.left)
    states: dict[tuple[Counts, Sums], list[Choice]] = {nothing: [Choice(0.0, 0, ())]}
    for offer in problem.machines:
        states = _with_machine(states, offer, bag, problem.deadline_s)
    for offer in problem.offers:
        plans = least_ends(offer, bag)
        counts = problem.quotas.of((offer.type_name, offer.market))
        for _ in range(min(offer.vms, sum(bag))):
            wider = {state: list(choices) for state, choices in states.items()}
            for (done, others), choices in states.items():
                used = tuple(map(int.__add__, others, counts))
                if any(there > most and more for there, most, more in zip(used, problem.left, counts, strict=True)):
                    continue
                for tasks, plan in plans.items():
                    both = tuple(map(int.__add__, done, tasks))
                    if any(map(int.__gt__, both, bag)):
                        continue
                    cost = offer.cost_usd(plan.end_s)
                    known = wider.setdefault((both, used), [])
                    for choice in choices:
                        _add_unless_beaten(known, choice, cost, offer, plan)
            states = wider
    return [choice for (done, _), choices in states.items() if done == bag for choice in choices]


def _with_machine(
    states: dict[tuple[Counts, Sums], list[Choice]], offer: TinyOffer, bag: Counts, deadline_s: int
) -> dict[tuple[Counts, Sums], list[Choice]]:
    """States after a machine, which runs some of the tasks that are left beside those that run there."""
    if any(end > way.due_s for _, end, way in offer.busy):
        return {}
    wider: dict[tuple[Counts, Sums], list[Choice]] = {}
    if not offer.busy:  # it need not be used
        wider = {state: list(choices) for state, choices in states.items()}
    for (done, used), choices in states.items():
        for tasks, plan in least_ends(offer, bag).items():
            both = tuple(map(int.__add__, done, tasks))
            if any(map(int.__gt__, both, bag)) or plan.end_s > deadline_s:
                continue
            cost = offer.cost_usd(plan.end_s) if plan.end_s > offer.ready_s or offer.busy else 0.0
            known = wider.setdefault((both, used), [])
            for choice in choices:
                _add_unless_beaten(known, choice, cost, offer, plan)
    return wider


def _add_unless_beaten(known: list[Choice], choice: Choice, cost_usd: float, offer: TinyOffer, plan: VmPlan) -> None:
    cost, end = choice.cost_usd + cost_usd, max(choice.end_s, plan.end_s)
    if not any(other.cost_usd <= cost and other.end_s <= end for other in known):
        known[:] = [other for other in known if other.cost_usd < cost or other.end_s < end]
        known.append(Choice(cost, end, (*choice.vms, (offer, plan))))


# ---------------------------------------------------------------------------- offers


def tiny_offers(instance: Instance) -> list[TinyOffer]:
    """Offers that may be used, and how each task runs there."""
    rented = [
        (vm_type.name, market, offer.limit)
        for vm_type in instance.vm_types
        for market, offer in vm_type.offers.items()
        if market in instance.markets
    ]
    exist = [(machine.type, machine.market) for machine in instance.machines]
    return [
        _offer(instance, name, market, max(limit - exist.count((name, market)), 0)) for name, market, limit in rented
    ]


def tiny_machines(instance: Instance) -> list[TinyOffer]:
    """Machines that exist, each like an offer of one VM."""
    return [_machine(instance, machine) for machine in instance.machines]


def _machine(instance: Instance, machine: Machine) -> TinyOffer:
    """Return a machine as an offer of one VM."""
    offer = _offer(instance, machine.type, machine.market, 1)
    vm_type = next(vm_type for vm_type in instance.vm_types if vm_type.name == machine.type)
    busy = []
    for entry in machine.running:
        group = next(index for index, task in enumerate(instance.tasks) if entry.task in _ids(task.id, task.count))
        slow = entry.mode == "baseline"
        seconds = duration_s(instance, instance.tasks[group], vm_type, machine.market, slow)
        assert seconds is not None
        need = math.ceil(instance.tasks[group].memory_mb * 1024)
        dates = (*_dates(instance.tasks[group]), instance.tasks[group].cores)
        way = Way(group, slow, vm_type.burstable is not None and not slow, seconds, need, *dates)
        busy.append((entry, entry.start_s + seconds, way))
    credits = None if vm_type.burstable is None else _credits(vm_type.burstable, machine.credits)
    ways = offer.ways if machine.open else ()
    if machine.price_usd_per_hour is not None:
        offer = replace(offer, price_usd_per_s=machine.price_usd_per_hour / 3600)
    return replace(offer, ready_s=machine.ready_s, ways=ways, credits=credits, machine=machine, busy=tuple(busy))


def _problem_in_time(instance: Instance, state: State) -> tuple[Problem, int]:
    """What a state leaves of a bag, in parts of a second, and how many parts a second has."""
    moments = [state.time_s]
    for vm in state.vms:
        moments += [vm.ready_s, 0.0 if vm.paid_until_s is None else vm.paid_until_s]
        moments += [entry.start_s for entry in vm.running]
    parts = math.lcm(*(Fraction(moment).denominator for moment in moments))
    gone_by = {*state.done, *(entry.task for vm in state.vms for entry in vm.running)}
    bag = tuple(sum(name not in gone_by for name in _ids(task.id, task.count)) for task in instance.tasks)
    exist = Counter((vm.type, vm.market) for vm in state.vms)
    quotas = Quotas(instance)
    passed = int(state.time_s * parts)
    offers = [
        _in_parts(
            _offer(instance, vm_type.name, market, max(offer.limit - exist[vm_type.name, market], 0)), parts, passed
        )
        for vm_type in instance.vm_types
        for market, offer in vm_type.offers.items()
        if market in instance.markets
    ]
    machines = [_machine_in_parts(instance, vm, parts, passed) for vm in state.vms]
    left = quotas.left_by((vm.type, vm.market) for vm in state.vms)
    return Problem(bag, machines, offers, quotas, left, instance.deadline_s * parts - passed), parts


def _in_parts(offer: TinyOffer, parts: int, passed: int) -> TinyOffer:
    """Return an offer with its times in parts of a second, its limit from a moment on; rented when plans may begin."""
    credits = offer.credits
    if credits is not None:
        credits = replace(credits, initial=credits.initial * parts, cap=credits.cap * parts)
    return replace(
        offer,
        price_usd_per_s=offer.price_usd_per_s / parts,
        ready_s=offer.ready_s * parts + -passed % parts,
        limit_s=offer.limit_s * parts - passed,
        ways=tuple(way.in_parts(parts, passed) for way in offer.ways),
        credits=credits,
    )


def _machine_in_parts(instance: Instance, vm: VmState, parts: int, passed: int) -> TinyOffer:
    """Return a VM of a state as a machine, with its times in parts of a second from a moment on."""
    running = tuple(RunningTask(task=run.task, core=run.core, start_s=0, mode=run.mode) for run in vm.running)
    machine = Machine(
        id=vm.id,
        type=vm.type,
        market=vm.market,
        ready_s=0 if running else max(int(vm.ready_s * parts) - passed, 0),
        paid_until_s=max(int((vm.paid_until_s or 0) * parts) - passed, 0),
        open=vm.status in ("launching", "running"),
        running=running,
        credits=vm.credits,
        price_usd_per_hour=vm.price_usd_per_hour,
    )
    offer = _machine(instance, machine)
    in_parts = _in_parts(offer, parts, passed)
    busy = tuple(
        (entry, int(run.start_s * parts) + end * parts - passed, way.in_parts(parts, passed))
        for run, (entry, end, way) in zip(vm.running, offer.busy, strict=True)
    )
    return replace(in_parts, ready_s=machine.ready_s, busy=busy)


def _offer(instance: Instance, type_name: str, market: Market, vms: int) -> TinyOffer:
    """VMs of an offer, and how each task runs there."""
    vm_type = next(vm_type for vm_type in instance.vm_types if vm_type.name == type_name)
    limit = instance.deadline_s
    if market == "spot":
        if instance.d_spot_s is None:
            raise ValueError("d_spot_s is needed where spot VMs are offered")
        limit = min(limit, instance.d_spot_s)
    ways = []
    for group, task in enumerate(instance.tasks):
        need = math.ceil(task.memory_mb * 1024)
        full = duration_s(instance, task, vm_type, market, False)
        if full is None:
            continue
        dates = (*_dates(task), task.cores)
        if vm_type.burstable is None:
            ways.append(Way(group, False, False, full, need, *dates))
            continue
        slow = duration_s(instance, task, vm_type, market, True)
        assert slow is not None
        ways.append(Way(group, True, False, slow, need, *dates))
        if full < slow:  # else the baseline takes as long, spends no more, and needs no credits
            ways.append(Way(group, False, True, full, need, *dates))
    billing = instance.billing or BillingRules()  # of the cloud of the papers
    return TinyOffer(
        type_name=vm_type.name,
        market=market,
        price_usd_per_s=vm_type.offers[market].price_usd_per_hour / 3600,
        vms=vms,
        vcpus=vm_type.vcpus,
        memory_kb=memory_kb(vm_type),
        ready_s=instance.boot_overhead_s + vm_type.setup_s,
        limit_s=limit,
        ways=tuple(ways),
        credits=None if vm_type.burstable is None else _credits(vm_type.burstable),
        least_s=billing.minimum_s or 0,
        block_s=billing.block_s or 1,
        boot_s=(billing.boot_s or 0) + vm_type.setup_s,
        fixed_usd=billing.fixed_usd or 0.0,
    )


def _dates(task: Task) -> tuple[int, int]:
    """Release and deadline of a task of its own."""
    return task.ready_s or 0, 10**9 if task.deadline_s is None else task.deadline_s


def _credits(rules: Burstable, given: float | None = None) -> Credits:
    """Credits of a burstable type, in the largest unit of which all its figures are multiples."""
    per_hour = Fraction(repr(rules.credits_per_hour))  # the decimal number that was written
    balance = None if given is None else Fraction(given).limit_denominator(10**7)  # what seconds of it add up to
    amounts = [
        per_hour / 3600,
        Fraction(1, 60),
        Fraction(repr(rules.baseline_fraction)) / 60,
        Fraction(repr(rules.initial_credits)) if balance is None else balance,
        24 * per_hour if rules.max_credits is None else Fraction(repr(rules.max_credits)),
    ]
    parts = math.lcm(*(amount.denominator for amount in amounts))
    earned, full, baseline, initial, cap = (int(amount * parts) for amount in amounts)
    return Credits(earned, full, baseline, min(initial, cap), cap)


# --------------------------------------------------------------------- least ends of a VM


def least_ends(offer: TinyOffer, bag: Counts) -> dict[Counts, VmPlan]:
    """Least end of a VM for every part of the bag that it can run by the offer's limit."""
    dated = any(way.release_s > 0 or way.due_s < 10**8 for way in offer.ways)
    return ends_by_seconds(offer, bag) if dated or offer.credits is not None else ends_by_events(offer, bag)


def ends_by_events(offer: TinyOffer, bag: Counts) -> dict[Counts, VmPlan]:
    """Without credits: tasks start when the VM is ready or a task ends; whoever is somewhere first, wins."""
    ends: dict[Counts, VmPlan] = {}
    nothing = tuple(0 for _ in bag)
    heap: list[tuple[int, int, Counts, Running, Started]] = [(offer.ready_s, 0, nothing, offer.running, None)]
    seen: set[tuple[Counts, Running]] = set()
    serial = 0  # so that equal times are not told apart by their histories
    while heap:
        now, _, counts, running, started = heapq.heappop(heap)
        if (counts, running) in seen:
            continue
        seen.add((counts, running))
        if not running and (any(counts) or offer.busy):
            ends[counts] = VmPlan(now, started)
        for way in _ways_to_start(offer, bag, counts, running, now):
            serial += 1
            heapq.heappush(heap, (now, serial, *_start(way, counts, running, started, now)))
        if running:
            passed = running[0][0]
            left = tuple((seconds - passed, *rest) for seconds, *rest in running if seconds > passed)
            serial += 1
            heapq.heappush(heap, (now + passed, serial, counts, left, started))
    return ends


def ends_by_seconds(offer: TinyOffer, bag: Counts) -> dict[Counts, VmPlan]:
    """With or without credits: at every second, any tasks may start. Of two equal states, more credits are better."""
    credits = offer.credits or Credits(0, 0, 0, 0, 0)
    runs_here = {way.group for way in offer.ways if way.starts_at(max(offer.ready_s, way.release_s), offer.limit_s)}
    everything = tuple(count if group in runs_here else 0 for group, count in enumerate(bag))
    ends: dict[Counts, VmPlan] = {}
    nothing = tuple(0 for _ in bag)
    states: dict[tuple[Counts, Running], tuple[int, Started]] = {(nothing, offer.running): (credits.initial, None)}
    last_s = max([offer.limit_s, *(end for _, end, _ in offer.busy)])
    for now in range(offer.ready_s, last_s + 1):
        for (counts, running), (_, started) in states.items():
            if not running and (any(counts) or offer.busy):
                ends.setdefault(counts, VmPlan(now, started))
        if everything in ends or now == last_s:
            break  # any part of the bag ends no later than all of it
        states = _a_second_later(credits, _with_starts(offer, bag, states, now))
        # All that is left of these runs at the baseline: they will end, and nothing need end later than they do.
        certain = [
            running[-1][0]
            for counts, running in states
            if counts == everything and running and not any(full for _, full, *_ in running)
        ]
        if certain:
            latest = min(certain)
            states = {
                (counts, running): value
                for (counts, running), value in states.items()
                if not running or running[-1][0] <= latest
            }
    return ends


def _with_starts(
    offer: TinyOffer, bag: Counts, states: dict[tuple[Counts, Running], tuple[int, Started]], now: int
) -> dict[tuple[Counts, Running], tuple[int, Started]]:
    """States that can be had by starting any tasks now, or none."""
    result = dict(states)
    latest = states
    while latest:
        one_more: dict[tuple[Counts, Running], tuple[int, Started]] = {}
        for (counts, running), (balance, started) in latest.items():
            for way in _ways_to_start(offer, bag, counts, running, now):
                new_counts, new_running, new_started = _start(way, counts, running, started, now)
                key = (new_counts, new_running)
                if key not in result or result[key][0] < balance:
                    result[key] = one_more[key] = (balance, new_started)
        latest = one_more
    return result


def _a_second_later(
    credits: Credits, states: dict[tuple[Counts, Running], tuple[int, Started]]
) -> dict[tuple[Counts, Running], tuple[int, Started]]:
    later: dict[tuple[Counts, Running], tuple[int, Started]] = {}
    for (counts, running), (balance, started) in states.items():
        at_full = sum(full > 0 for _, full, *_ in running)
        spent = at_full * credits.full + (len(running) - at_full) * credits.baseline
        left = min(balance + credits.earned - spent, credits.cap)
        if left < 0:
            if any(full == 1 for _, full, *_ in running):
                continue  # full speed without credits
            left = 0  # the baseline needs none, and when tasks that ran before end is said
        key = (counts, tuple((seconds - 1, *rest) for seconds, *rest in running if seconds > 1))
        if key not in later or later[key][0] < left:
            later[key] = (left, started)
    return later


def _ways_to_start(offer: TinyOffer, bag: Counts, counts: Counts, running: Running, now: int) -> list[Way]:
    """Ways to start one more task now: a core, the memory and the time it takes are there."""
    free = offer.vcpus - sum(cores for *_, cores in running)
    free_kb = offer.memory_kb - sum(need for _, _, need, _ in running)
    return [
        way
        for way in offer.ways
        if counts[way.group] < bag[way.group] and way.need_kb <= free_kb and way.cores <= free
        if way.starts_at(now, offer.limit_s)
    ]


def _start(
    way: Way, counts: Counts, running: Running, started: Started, now: int
) -> tuple[Counts, Running, tuple[int, bool, int, int, Started]]:
    more = (*counts[: way.group], counts[way.group] + 1, *counts[way.group + 1 :])
    entry = (way.seconds, way.spends_as_full, way.need_kb, way.cores)
    return more, tuple(sorted((*running, entry))), (way.group, way.baseline, now, now + way.seconds, started)
