"""An instance as a whole document: what is wrong between parts that are valid each on its own, and pools of VM types.

A pool is the VMs of a type in a zone, which have a price of their own on the spot market, and go down together. A VM
type of a document that has ``zones`` stands for a pool in each: a VM type of the name ``type@zone``, with the same run
times, and one limit on demand that all of them share. One with an offer of market ``reserved`` stands for itself and
for the pool ``type@reserved``: VMs at the price of the reservation, as many as it has, never interrupted.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.errors import Issue
from ..core.quantities import EXCESS, KB_PER_MB, LEAST_PRICE, IntArray
from ..core.records import Numbered, duplicates, valid_parts
from .entries import (
    MAX_DURATIONS,
    MAX_TASKS,
    NEVER,
    RESERVED,
    Limits,
    Machine,
    Market,
    Quota,
    Task,
    VmType,
    due_s,
    matches,
    named_cores,
    type_memory_kb,
    wrong_cores,
)


@dataclass(frozen=True, slots=True)
class TooLong(Issue):
    """A task that takes longer than the deadline allows.

    Attributes
    ----------
    shortest_s, late_s : int
        Run time on the fastest VM type that it fits, and by how much the deadline is too early for it.
    """

    shortest_s: int = 0
    late_s: int = 0


def with_deadline_first(issues: Sequence[Issue], deadline_s: int) -> list[Issue]:
    """Put the issues of tasks that take too long together, for a deadline that no file gives; theirs comes first."""
    too_long = [issue for issue in issues if isinstance(issue, TooLong)]
    if not too_long:
        return [*issues]
    worst = max(too_long, key=lambda issue: issue.late_s)
    least_s = deadline_s + worst.late_s
    boot = f", after the boot of its VM ({least_s - worst.shortest_s:,} s)" if least_s > worst.shortest_s else ""
    rule = (
        f"the deadline of {deadline_s:,} s (--deadline) is too early: {worst.item} takes {worst.shortest_s:,} s on the "
        f"fastest VM type that it fits{boot}; the least deadline that could do is {least_s:,} s"
    )
    return [Issue("", rule), *(issue for issue in issues if not isinstance(issue, TooLong))]


def cross_issues_of_parts(document: Mapping[str, Any]) -> Iterator[Issue]:
    """Faults between those parts of a faulty document that are valid on their own."""
    vm_types, all_types_valid = valid_parts(VmType, document.get("vm_types"))
    tasks, _ = valid_parts(Task, document.get("tasks"))
    deadline, d_spot, boot = (_whole_number(document.get(key)) for key in ("deadline_s", "d_spot_s", "boot_overhead_s"))
    yield from type_issues(vm_types)
    if deadline is not None:
        yield from header_issues(deadline, d_spot, boot or 0)
    catalogue = [vm_type for _, vm_type in vm_types] if all_types_valid else None
    too_large = list(size_issues(len(tasks), catalogue or []))
    yield from too_large
    # Each task on each type would take as long to look at as to plan.
    if too_large:
        catalogue = None
    span_s = None if deadline is None or document.get("late") is not None else (boot or 0, deadline)
    yield from task_issues(tasks, catalogue, span_s)


def _whole_number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 10**9 else None


def header_issues(deadline_s: int, d_spot_s: int | None, boot_overhead_s: int) -> Iterator[Issue]:
    """Faults of the times of an instance."""
    if d_spot_s is not None and d_spot_s > deadline_s:
        yield Issue("", f"is after the deadline ({deadline_s} s)", "d_spot_s", d_spot_s)
    if boot_overhead_s >= deadline_s:
        yield Issue("", f"leaves no time before the deadline ({deadline_s} s)", "boot_overhead_s", boot_overhead_s)


def machine_issues(machines: Sequence[Machine], vm_types: Sequence[VmType], tasks: Sequence[Any]) -> Iterator[Issue]:
    """Faults of VMs that exist, with the types and tasks that they name."""
    if not machines:
        return
    yield from duplicates("machines", "id", ((index, machine.id) for index, machine in enumerate(machines)))
    types = {vm_type.name: vm_type for vm_type in vm_types}
    counts = {task.id: task.count or 1 for task in tasks}
    needs = {task.id: task.cores for task in tasks if task.cores}  # of one core, where nothing is said
    placed: dict[str, str] = {}
    for index, machine in enumerate(machines):
        where, vm_type = f"machines[{index}]", types.get(machine.type)
        if vm_type is None:
            yield Issue(where, "is no VM type of the catalogue", "type", machine.type, machine.id)
            continue
        if machine.market not in vm_type.offers:
            yield Issue(where, f"is a market without an offer of {machine.type}", "market", machine.market, machine.id)
        if machine.credits is not None and vm_type.burstable is None:
            yield Issue(where, f"is for burstable VMs; {machine.type} is none", "credits", machine.credits, machine.id)
        if machine.running and machine.ready_s > 0:
            yield Issue(where, "is not ready, and cannot run tasks yet", "ready_s", machine.ready_s, machine.id)
        cores = Counter(core for entry in machine.running for core in named_cores(entry))
        for core, times in cores.items():
            if core >= vm_type.vcpus or times > 1:
                rule = f"{times} tasks run on it" if times > 1 else f"{machine.type} has cores 0 to {vm_type.vcpus - 1}"
                yield Issue(where, rule, "running.core", core, machine.id)
        of_tasks = [needs.get(entry.task, needs.get(entry.task.rpartition("#")[0], 1)) for entry in machine.running]
        for entry, need in zip(machine.running, of_tasks, strict=True):
            if entry.cores and (wrong_cores(entry) or len(entry.cores) != need):
                rule = (
                    f"must be {need} different ones of which core {entry.core} is the first: {entry.task!r} needs them"
                )
                yield Issue(where, rule, "running.cores", str([*entry.cores]), machine.id)
        taken = sum(of_tasks)
        if taken > vm_type.vcpus and not any(times > 1 for times in cores.values()):
            yield Issue(where, f"run on {taken} cores, {machine.type} has {vm_type.vcpus}", "running", item=machine.id)
        for entry in machine.running:
            if not _is_task(entry.task, counts):
                yield Issue(where, "is no task of the bag", "running.task", entry.task, machine.id)
            elif entry.task in placed:
                yield Issue(where, f"runs on {placed[entry.task]} as well", "running.task", entry.task, machine.id)
            placed[entry.task] = machine.id


def _is_task(name: str, counts: Mapping[str, int]) -> bool:
    """True if an id names a task: an entry, or a copy of one by its number, without making all copies."""
    group, _, number = name.rpartition("#")
    count = counts.get(group, 1)
    # "#01" and "#１" are other ids than "#1".
    copy = int(number) if number.isdecimal() and len(number) < 10 else 0
    return counts.get(name) == 1 or (count > 1 and 1 <= copy <= count and str(copy) == number)


def quota_issues(vm_types: Sequence[VmType], quotas: Sequence[Quota]) -> Iterator[Issue]:
    """Faults of limits of several types."""
    names = [vm_type.name for vm_type in vm_types]
    for number, quota in enumerate(quotas):
        if (quota.vcpus is None) == (quota.vms is None):
            yield Issue(f"limits.quotas[{number}]", "needs exactly one of vcpus and vms")
        for pattern in quota.types or ():
            if not any(matches(name, pattern) for name in names):
                rule = f"names no VM type of the catalogue ({', '.join(names[:8])})"
                yield Issue(f"limits.quotas[{number}]", rule, "types", pattern)


def market_issues(vm_types: Sequence[VmType], limits: Limits, markets: Sequence[Market]) -> Iterator[Issue]:
    """Faults of markets and their limits, with what is offered."""
    doubled = [market for market, times in Counter(markets).items() if times > 1]
    if doubled:
        yield Issue("", f"is named twice: {doubled[0]}", "markets")
    offered = {market for vm_type in vm_types for market in vm_type.offers}
    closed = {quota.market for _, quota in limits.of_groups() if quota.types is None and 0 in (quota.vcpus, quota.vms)}
    if not {*markets} & offered - closed:
        yield Issue(
            "",
            f"nothing can be rented: the VM types are offered {' and '.join(sorted(offered))}, "
            f"markets are {', '.join(markets)}, limits are max_spot {_limit(limits.max_spot)} "
            f"and max_on_demand {_limit(limits.max_on_demand)}",
        )


def _limit(limit: int | None) -> str:
    return "none" if limit is None else str(limit)


def type_issues(vm_types: Numbered[VmType]) -> Iterator[Issue]:
    """Faults of VM types, some of which may be missing."""
    yield from duplicates("vm_types", "name", ((index, vm_type.name) for index, vm_type in vm_types))
    for index, vm_type in vm_types:
        if vm_type.zones is not None:
            rule = "are of its spot prices; it has no spot offer"
            yield Issue(f"vm_types[{index}]", rule, "zones", item=vm_type.name)
        if vm_type.zone is not None and vm_type.name == vm_type.instance_type:
            rule = f"is one of a pool, whose name is that of its type and '@{vm_type.zone}'"
            yield Issue(f"vm_types[{index}]", rule, "zone", vm_type.zone, vm_type.name)
        if type_memory_kb(vm_type) < 1:
            rule = f"leaves nothing of the {vm_type.memory_mb:g} MB"
            yield Issue(f"vm_types[{index}]", rule, "reserved_mb", vm_type.reserved_mb, vm_type.name)
        credits = vm_type.burstable
        if credits is not None and credits.initial_credits > credits.credit_cap:
            yield Issue(
                f"vm_types[{index}]",
                f"is above the most the VM can hold ({credits.credit_cap:g})",
                "burstable.initial_credits",
                credits.initial_credits,
                vm_type.name,
            )


def core_issues(
    vm_types: Sequence[VmType],
    cores: IntArray,
    runtime_s: IntArray,
) -> Iterator[Issue]:
    """Types on which tasks of several cores cannot be planned; arrays by group."""
    several = cores > 1
    for index, vm_type in enumerate(vm_types):
        if vm_type.burstable is not None and (runtime_s[several, index] < NEVER).any():
            rule = "is burstable, and credits of tasks of several cores are not known: leave the type out"
            yield Issue(f"vm_types[{index}]", rule, item=vm_type.name)


def size_issues(n_entries: int, vm_types: Sequence[VmType]) -> Iterator[Issue]:
    """Fault of an instance whose tables of durations, one for each entry on each offer, would fill the memory."""
    n_offers = sum(len(vm_type.offers) for vm_type in vm_types)
    if n_entries * n_offers > MAX_DURATIONS:
        rule = (
            f"{'is' if n_entries == 1 else 'are'} {n_entries} entries, on {n_offers} offers of VM types: "
            f"{n_entries * n_offers} durations, more than {MAX_DURATIONS}; let identical tasks be one entry with a "
            "count, or leave VM types out"
        )
        yield Issue("", rule, "tasks")


def task_issues(
    tasks: Sequence[tuple[int, Any]], vm_types: Sequence[VmType] | None, span_s: tuple[int, int] | None
) -> Iterator[Issue]:
    """Issues of tasks; those that need the catalogue only if all of it is valid (``vm_types`` not None).

    ``span_s`` has when VMs are ready, and the deadline; None if the time is not looked at.
    """
    total = sum(task.count or 1 for _, task in tasks)
    if total > MAX_TASKS:
        yield Issue("", f"are {total} tasks in all, more than {MAX_TASKS}", "tasks")
        return
    yield from _id_issues(tasks)
    for index, task in tasks:
        if bool(task.runtime_s) == bool(task.base_runtime_s):
            rule = "needs exactly one of runtime_s and base_runtime_s"
            yield Issue(f"tasks[{index}]", rule, item=task.id)
    if vm_types is not None:
        yield from _placement_issues(tasks, vm_types, span_s)


def _id_issues(tasks: Sequence[tuple[int, Any]]) -> Iterator[Issue]:
    yield from duplicates("tasks", "id", ((index, task.id) for index, task in tasks))
    counted = {task.id: (index, task.count) for index, task in tasks if (task.count or 1) > 1}
    if not counted:
        return
    for index, task in tasks:  # 'a#2' beside 'a' with count 3; a copy of a copy cannot clash
        head, mark, tail = task.id.rpartition("#")
        if mark and head in counted and (task.count or 1) == 1 and tail.isascii() and tail.isdigit() and tail[0] != "0":
            other, count = counted[head]
            if len(tail) < 10 and int(tail) <= count:
                rule = f"is also the id of a copy of tasks[{other}] {head!r} (count {count})"
                yield Issue(f"tasks[{index}]", rule, "id", task.id)


def _run_times(task: Any, pools: Mapping[str, Sequence[str]], speeds: Mapping[str, float]) -> Mapping[str, float]:
    """Run times of a task on the VM types of the catalogue; each type in a zone is one."""
    given: Mapping[str, float] | None = task.runtime_s
    if not given:
        return {name: task.base_runtime_s / speed for name, speed in speeds.items()}
    if speeds.keys() >= given.keys() and pools.keys() == speeds.keys():  # as almost always, and quick
        return given
    return {pool: time for name, time in given.items() for pool in pools.get(name, ())}


def _placement_issues(
    tasks: Sequence[tuple[int, Any]], vm_types: Sequence[VmType], span_s: tuple[int, int] | None
) -> Iterator[Issue]:
    # Tables by type once: there may be many thousands of tasks.
    known = {vm_type.name: vm_type for vm_type in vm_types}
    pools: dict[str, list[str]] = defaultdict(list)
    for name, vm_type in known.items():
        pools[vm_type.instance_type].append(name)
    sizes = {name: type_memory_kb(vm_type) for name, vm_type in known.items()}
    speeds = {name: vm_type.speed for name, vm_type in known.items()}
    largest_kb = max(sizes.values())
    reserved = " without what is reserved" if any(vm_type.reserved_mb for vm_type in vm_types) else ""
    smallest_kb = min(sizes.values())
    fewest, most = (of(vm_type.vcpus for vm_type in vm_types) for of in (min, max))
    architectures = {name: vm_type.architecture for name, vm_type in known.items()}

    def demands(task: Any, need_kb: int) -> Iterator[tuple[Any, Callable[[str], bool], str, str, Any]]:
        """Yield the demands that a task may have: which types fit, and what is wrong if it runs on none of these."""
        rule, wanted = "is that of no VM type that it has a run time for", task.architecture
        yield wanted, lambda name: architectures[name] == wanted, rule, "architecture", wanted
        rule, markets = "has no offer of a VM type that it has a run time for", task.markets or ()
        yield (
            markets,
            lambda name: not known[name].offers.keys().isdisjoint(markets),
            rule,
            "markets",
            " and ".join(markets),
        )
        rule = f"fits no VM type (largest {largest_kb / KB_PER_MB:g}{reserved})"
        yield need_kb > largest_kb, lambda name: False, rule, "memory_mb", task.memory_mb
        rule = "fits none of the VM types that it has a run time for"
        yield need_kb > smallest_kb, lambda name: need_kb <= sizes[name], rule, "memory_mb", task.memory_mb
        rule = f"are more than any of the VM types that it has a run time for and fits has (most {most})"
        yield task.cores, lambda name: task.cores <= known[name].vcpus, rule, "cores", task.cores

    # Each rule leaves fewer types; a task is reported for the first rule that leaves none, and not for later ones.
    for index, task in tasks:
        if bool(task.runtime_s) == bool(task.base_runtime_s):
            continue
        where = f"tasks[{index}]"
        for name in [name for name in task.runtime_s or () if name not in pools]:
            rule = f"names no VM type of the catalogue ({', '.join(list(pools)[:8])})"
            yield Issue(where, rule, f"runtime_s.{name}", item=task.id)
        times = _run_times(task, pools, speeds)
        if not times:
            continue
        # Rounded as all memory is: a need that is stated with an error of arithmetic must not exceed a size by it.
        need_kb = math.ceil(task.memory_mb * KB_PER_MB * (1 - EXCESS))
        if task.architecture or task.markets or need_kb > smallest_kb or (task.cores or 1) > fewest:
            for asked, fits, rule, field, value in demands(task, need_kb):
                times = {name: time for name, time in times.items() if fits(name)} if asked else times
                if not times:
                    yield Issue(where, rule, field, value, task.id)
                    break
        if not times:
            continue
        if span_s is not None:
            yield from _time_issues(where, task, min(times.values()), *span_s)


def _time_issues(where: str, task: Any, shortest: float, begin_s: int, end_s: int) -> Iterator[Issue]:
    """Faults of a task that fits some type: only its time can be too long."""
    needed_s = math.ceil(shortest * (1 - EXCESS))
    longest_s, begin_s = end_s - begin_s, max(begin_s, task.ready_s or 0)
    late = begin_s + needed_s - due_s(task, end_s)
    if needed_s > longest_s > 0:
        late = needed_s - longest_s
        rule = f"is {late} s longer than the deadline allows on every VM type it fits ({longest_s} s from ready)"
        yield TooLong(where, rule, "shortest run time", round(shortest, 3), task.id, needed_s, late)
    elif late > 0 and longest_s > 0:
        own = task.deadline_s or task.deadline_s == 0
        rule = (
            f"is {late} s too {'early' if own else 'late'}: from {begin_s} s on, the task takes {needed_s} s on "
            f"the fastest VM type that it fits{'' if own else f', and the deadline is {end_s} s'}"
        )
        name = "deadline_s" if own else "ready_s"
        yield Issue(where, rule, name, getattr(task, name), task.id)


# ---------------------------------------------------------------------------------------------------------------- pools


def with_pools(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of an instance with the pools of its VM types; those that are wrong stay as they are."""
    given = fields.get("vm_types")
    if not (isinstance(given, list | tuple) and any(map(_has_pools, given))):
        return fields
    types, limits = [*map(_as_mapping, given)], _as_mapping(fields.get("limits", {}))
    types = [part for vm_type in types for part in _reserved_apart(vm_type)]
    quotas_are_right = isinstance(limits, Mapping) and isinstance(limits.get("quotas", ()), list | tuple)
    if not (any(map(_zones_of, types)) and quotas_are_right):
        return {**fields, "vm_types": types}
    pools = [pool for vm_type in types for pool in _pools_of(vm_type)]
    quotas = [
        {"market": "on-demand", "types": [f"{vm_type['name']}@{zone}" for zone in zones], "vms": offer["limit"]}
        for vm_type in types
        if len(zones := _zones_of(vm_type)) > 1
        if isinstance(offer := vm_type["offers"].get("on-demand"), Mapping) and "limit" in offer
    ]
    return {**fields, "vm_types": pools, "limits": {**limits, "quotas": [*limits.get("quotas", ()), *quotas]}}


def _has_pools(vm_type: Any) -> bool:
    return bool(vm_type.zones if isinstance(vm_type, VmType) else _zones_of(vm_type) or _reserved_of(vm_type))


def _as_mapping(part: Any) -> Any:
    return part.model_dump(exclude_unset=True) if isinstance(part, VmType | Limits) else part


def _reserved_of(vm_type: Any) -> Mapping[str, Any]:
    """Offer of reserved capacity of a type; none where anything else is wrong with it."""
    fields = vm_type if isinstance(vm_type, Mapping) else {}
    offers = fields.get("offers")
    reserved = offers.get(RESERVED) if isinstance(offers, Mapping) and isinstance(fields.get("name"), str) else None
    return reserved if isinstance(reserved, Mapping) and "price_usd_per_hour" in reserved else {}


def _reserved_apart(vm_type: Any) -> Iterator[Any]:
    """Yield a type without its offer of reserved capacity, and the pool of that."""
    reserved = _reserved_of(vm_type)
    if not reserved:
        yield vm_type
        return
    others = {market: offer for market, offer in vm_type["offers"].items() if market != RESERVED}
    if others:
        yield vm_type | {"offers": others}
    price = reserved["price_usd_per_hour"]
    # What is paid for already costs nothing; models divide by prices.
    free = type(price) in (int, float) and price == 0
    priced = {**reserved, "price_usd_per_hour": LEAST_PRICE if free else price}
    kept = {key: value for key, value in vm_type.items() if key != "zones"}
    yield kept | {"name": f"{vm_type['name']}@{RESERVED}", "zone": RESERVED, "offers": {"on-demand": priced}}


def _zones_of(vm_type: Any) -> Mapping[str, Any]:
    """Zones of a type, and its spot prices there; none where anything else is wrong with them."""
    fields = vm_type if isinstance(vm_type, Mapping) else {}
    zones, offers = fields.get("zones"), fields.get("offers")
    right = isinstance(zones, Mapping) and isinstance(offers, Mapping) and isinstance(offers.get("spot"), Mapping)
    return zones if right and isinstance(fields.get("name"), str) else {}  # type: ignore[return-value]


def _pools_of(vm_type: Any) -> Iterator[Any]:
    zones = _zones_of(vm_type)
    if not zones:
        yield vm_type
    for zone, price in zones.items():
        fields = {key: value for key, value in vm_type.items() if key != "zones"}
        offers = fields["offers"] | {"spot": fields["offers"]["spot"] | {"price_usd_per_hour": price}}
        yield fields | {"name": f"{vm_type['name']}@{zone}", "zone": zone, "offers": offers}
