"""Facts of an instance document for the auditor.

Numbers are exactly as they are written. Nothing here uses what the engine, or anything that plans, works out from an
instance.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from ..core.quantities import SECONDS_PER_HOUR
from ..instances.instance import Instance

NOISE = Fraction(1, 10**9)
"""An excess below this is arithmetic noise, and no reason to round up."""

WITHOUT_EXCESS = 1 - Fraction(1, 10**12)
"""Given numbers times this are rounded up: by so little they exceed a whole number by noise alone."""
LEAST_DUMP_S = Fraction(1, 10**6)
"""A checkpoint that is written in less takes no time."""
LONGEST_S = 10**9


def exact(value: float) -> Fraction:
    """Decimal number that the file says, not the binary one nearest to it."""
    return Fraction(value) if isinstance(value, int) else Fraction(repr(value))


def round_up(value: Fraction) -> int:
    """Round up, but for noise."""
    return math.ceil(value - NOISE)


def rounded_up(given: Fraction) -> int:
    """Return a given number rounded up to a whole one, but for an excess of 1e-12 of the number."""
    return math.ceil(given * WITHOUT_EXCESS)


def interval_and_dump_s(base_s: float, s_per_mb: float, overhead: float, memory_mb: float) -> tuple[Fraction, Fraction]:
    """Return the work between two checkpoints, and the time to write one, of a task of some memory.

    One checkpoint is written after every dump / overhead seconds of work, every second if a dump takes no time.
    """
    dump = exact(base_s) + exact(s_per_mb) * exact(memory_mb)
    return dump / exact(overhead) if dump >= LEAST_DUMP_S else Fraction(1), dump


@dataclass(frozen=True, slots=True)
class CreditFacts:
    """CPU credits of a burstable VM type, per second of uptime."""

    baseline: Fraction
    earned_per_s: Fraction
    initial: Fraction
    cap: Fraction


@dataclass(frozen=True, slots=True)
class Share:
    """Amounts of the quantities that tasks on a VM share: its memory, and its slots if tasks differ in them."""

    kb: int = 0
    slots: int = 0

    def __add__(self, other: Share) -> Share:
        return Share(self.kb + other.kb, self.slots + other.slots)

    def __sub__(self, other: Share) -> Share:
        return Share(self.kb - other.kb, self.slots - other.slots)

    def within(self, size: Share) -> bool:
        """True if there is enough of both."""
        return self.kb <= size.kb and self.slots <= size.slots

    def beyond(self, size: Share) -> Iterator[tuple[float, float, str]]:
        """Quantities of which too much is needed: the need, the size and the unit of each."""
        if self.slots > size.slots:
            yield self.slots, size.slots, "slots"
        if self.kb > size.kb:
            yield self.kb / 1024, size.kb / 1024, "MB"


@dataclass(frozen=True, slots=True)
class TypeFacts:
    """A VM type, and what tasks share there, ``size``; of tasks of several cores by `Slots`, and ``given`` as it is."""

    name: str
    vcpus: int
    size: Share
    memory_gb: Fraction
    price_usd_per_s: Mapping[str, Fraction]
    limits: Mapping[str, int]
    credits: CreditFacts | None
    speed: Fraction
    architecture: str | None
    run_time_key: str
    setup_s: int = 0
    given: TypeFacts | None = None

    @property
    def whole(self) -> TypeFacts:
        """The type as it is given, whatever slots tasks make of it."""
        return self.given or self


@dataclass(frozen=True, slots=True)
class Work:
    """Work, checkpoints and duration of a run of a task.

    Attributes
    ----------
    seconds : Fraction
        Work that is left, at full speed.
    count : int
        Checkpoints that are taken on the way.
    duration_s : int
        How long it occupies a core.
    speed : Fraction
        1, or the baseline.
    """

    seconds: Fraction
    count: int
    duration_s: int
    speed: Fraction


class Slots(NamedTuple):
    """Slots: cores that always go together, as all tasks need that many, twice that many, and so on.

    If tasks need 2 or 4 cores, a slot is 2 cores: a VM of 9 cores has four. What tasks on a VM share is its memory and,
    if they need different numbers of them, its slots.

    Attributes
    ----------
    cores : int
        Cores of a slot.
    shared : bool
        Whether needs differ.
    """

    cores: int
    shared: bool

    def share(self, cores: int, memory_kb: int) -> Share:
        """Share that some cores and memory are."""
        return Share(memory_kb, cores // self.cores if self.shared else 0)


def slots_of(cores: Collection[int]) -> Slots:
    """Return the slots by the cores of all tasks."""
    together = math.gcd(*cores) or 1
    return Slots(together, any(needed != together for needed in cores))


def without_zone(name: str, zone: str | None) -> str:
    """Return the name of the type of a pool, which has the zone behind it."""
    return name if zone is None else name[: -len(zone) - 1]


class InstanceFacts:
    """An instance document, worked out exactly as far as it is asked for.

    Parameters
    ----------
    document : mapping
        Of the format ``spotbag.instance/1``.

    Raises
    ------
    InputError
        If it is not a valid instance.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        # For its refusals alone: what follows reads the document as it is written.
        Instance.from_document(document, "instance of the trace")
        self.deadline_s: int = int(document["deadline_s"])
        self.boot_s = int(document.get("boot_overhead_s", 0))
        self.migration_s = int(document.get("migration_overhead_s", 0))
        self.cycle_s = int(document.get("allocation_cycle_s", 900))
        self.markets: list[str] = list(document.get("markets", ("spot", "on-demand")))
        self.quotas = tuple(quota_rules(document.get("limits", {})))
        self.types = {entry["name"]: _type_facts(entry) for entry in document["vm_types"]}
        self.vcpus = {name: vm_type.vcpus for name, vm_type in self.types.items()}
        self.tasks = {
            name: entry for entry in document["tasks"] for name in copies(entry["id"], int(entry.get("count", 1)))
        }
        self.has_releases = any(entry.get("ready_s") for entry in document["tasks"])
        self.slots = slots_of({entry.get("cores", 1) for entry in document["tasks"]})
        for vm_type in self.types.values() if self.slots != (1, False) else ():
            slots = max(vm_type.vcpus // self.slots.cores, 1)  # where there is none, no task can run
            size = self.slots.share(vm_type.vcpus, vm_type.size.kb)
            self.types[vm_type.name] = replace(vm_type, vcpus=slots, size=size, given=vm_type)
        self._checkpoint = document.get("checkpoint")
        # By the entry of a task, not by its name: the tasks that an entry stands for share what is worked out.
        self._needs: dict[int, Share] = {}
        self._intervals: dict[int, tuple[Fraction, Fraction]] = {}
        self._runtimes: dict[tuple[int, str], int | None] = {}
        self._fresh: dict[tuple[int, str, bool, bool], Work | None] = {}

    def limits_of(
        self, type_name: str, market: str, living: Mapping[tuple[str, str], int]
    ) -> Iterator[tuple[int, int, str, str]]:
        """Yield what counts against each limit that a VM is under, the limit, its name, and its unit."""
        most = self.types[type_name].limits.get(market)
        if most is not None:
            yield living[type_name, market], most, f"{type_name} {market} VMs", "VMs"
        for quota in self.quotas:
            if quota.counts(type_name, self.vcpus[type_name], market):
                yield quota.total(living, self.vcpus), quota.most, f"{quota.name} {quota.unit}", quota.unit

    def ready_s(self, task: str) -> int:
        """Return the moment before which a task does not start."""
        return int(self.tasks[task].get("ready_s") or 0)

    def due_s(self, task: str) -> int:
        """Return the moment after which a task is late: its own deadline, or that of the bag if it is earlier."""
        own = self.tasks[task].get("deadline_s")
        return self.deadline_s if own is None else min(int(own), self.deadline_s)

    def weight(self, task: str) -> Fraction:
        """Weight of a task among those that are late."""
        return exact(self.tasks[task].get("weight") or 1)

    def need(self, task: str) -> Share:
        """Need of a task of what tasks on a VM share: KB of memory, rounded up, and slots (`Slots`)."""
        entry = self.tasks[task]
        if id(entry) not in self._needs:
            needed_kb = rounded_up(exact(entry["memory_mb"]) * 1024)
            self._needs[id(entry)] = self.slots.share(entry.get("cores", 1), needed_kb)
        return self._needs[id(entry)]

    def given_runtime_s(self, task: str, type_name: str) -> Fraction | None:
        """Seconds of a task on a VM type at full speed, as they are given; None if it cannot run there."""
        entry, vm_type = self.tasks[task], self.types[type_name]
        if entry.get("architecture") not in (None, vm_type.architecture):
            return None
        by_type = entry.get("runtime_s")
        if by_type is not None:
            if vm_type.run_time_key not in by_type:
                return None
            given = exact(by_type[vm_type.run_time_key])
        else:
            given = exact(entry["base_runtime_s"]) / vm_type.speed
        whole = vm_type.whole
        if given > LONGEST_S or exact(entry["memory_mb"]) * 1024 * WITHOUT_EXCESS > whole.size.kb:
            return None
        if entry.get("cores", 1) > whole.vcpus:
            return None
        return given

    def cores(self, task: str) -> int:
        """Number of cores that a task has while it runs."""
        return int(self.tasks[task].get("cores", 1))

    def may_be(self, task: str, market: str) -> bool:
        """True if a task may be on VMs of a market."""
        return market in (self.tasks[task].get("markets") or (market,))

    def runtime_s(self, task: str, type_name: str) -> int | None:
        """Whole seconds of a task on a VM type at full speed; None if it cannot run there."""
        entry = self.tasks[task]
        key = id(entry), type_name
        if key not in self._runtimes:
            given = self.given_runtime_s(task, type_name)
            self._runtimes[key] = None if given is None else rounded_up(given)
        return self._runtimes[key]

    def interval_and_dump_s(self, task: str) -> tuple[Fraction, Fraction] | None:
        """Work between two checkpoints, and time to write one; None without checkpoints."""
        if self._checkpoint is None:
            return None
        entry = self.tasks[task]
        if id(entry) not in self._intervals:
            rules = self._checkpoint
            self._intervals[id(entry)] = interval_and_dump_s(
                rules["dump_base_s"], rules.get("dump_s_per_mb", 0), rules["overhead_fraction"], entry["memory_mb"]
            )
        return self._intervals[id(entry)]

    def work(self, task: str, vm_type: TypeFacts, market: str, mode: str | None, saved: Fraction) -> Work | None:
        """Work out a run of a task of which a fraction is saved; None if it cannot run there."""
        # Hardly two are alike then, and nothing is kept of them.
        if saved:
            return self._work(task, vm_type, market, mode, saved)
        key = id(self.tasks[task]), vm_type.name, market == "spot", mode == "baseline"
        if key not in self._fresh:
            self._fresh[key] = self._work(task, vm_type, market, mode, saved)
        return self._fresh[key]

    def _work(self, task: str, vm_type: TypeFacts, market: str, mode: str | None, saved: Fraction) -> Work | None:
        runtime = self.runtime_s(task, vm_type.name)
        if runtime is None or not self.may_be(task, market):
            return None
        left = runtime * (1 - saved)
        count, dumps = 0, Fraction(0)
        rules = self.interval_and_dump_s(task) if market == "spot" else None
        if rules is not None:
            interval, dump = rules
            count = max(round_up(left / interval) - 1, 0)
            dumps = count * dump
        slow = mode == "baseline" and vm_type.credits is not None
        speed = vm_type.credits.baseline if slow and vm_type.credits is not None else Fraction(1)
        return Work(left, count, round_up((left + dumps) / speed), speed)


def _type_facts(entry: Mapping[str, Any]) -> TypeFacts:
    memory = exact(entry["memory_mb"])
    burstable = entry.get("burstable")
    credits = None
    if burstable is not None:
        per_hour = exact(burstable["credits_per_hour"])
        most = burstable.get("max_credits")
        credits = CreditFacts(
            baseline=exact(burstable["baseline_fraction"]),
            earned_per_s=per_hour / SECONDS_PER_HOUR,
            initial=exact(burstable.get("initial_credits", 0)),
            # Clouds keep what a VM earns in a day, unless its type says otherwise.
            cap=24 * per_hour if most is None else exact(most),
        )
    return TypeFacts(
        name=entry["name"],
        vcpus=int(entry["vcpus"]),
        # Sizes are rounded down and needs up: what fits by these numbers fits.
        size=Share(math.floor(memory * 1024) - rounded_up(exact(entry.get("reserved_mb", 0)) * 1024)),
        memory_gb=memory / 1024,
        price_usd_per_s={
            market: exact(offer["price_usd_per_hour"]) / SECONDS_PER_HOUR for market, offer in entry["offers"].items()
        },
        limits={market: int(offer["limit"]) for market, offer in entry["offers"].items()},
        credits=credits,
        speed=exact(entry.get("speed", 1)),
        architecture=entry.get("architecture"),
        setup_s=int(entry.get("setup_s", 0)),
        run_time_key=without_zone(entry["name"], entry.get("zone")),
    )


def copies(entry: str, count: int) -> list[str]:
    """Return the ids of the identical tasks that an entry stands for."""
    return [entry] if count == 1 else [entry + "#" + str(number + 1) for number in range(count)]


@dataclass(frozen=True, slots=True)
class QuotaRule:
    """A limit of the VMs of one market.

    Attributes
    ----------
    name, market : str
        What it is called, and whose VMs count.
    most : int
        The most, of VMs or of vCPUs.
    of_vcpus : bool
        Whether a VM counts by its vCPUs.
    types : re.Pattern, optional
        Names of the types that count; all if absent.
    """

    name: str
    market: str
    most: int
    of_vcpus: bool = False
    types: re.Pattern[str] | None = None

    def counts(self, type_name: str, vcpus: int, market: str) -> int:
        """Count of a VM of a type in a market."""
        if market != self.market or (self.types is not None and not self.types.fullmatch(type_name)):
            return 0
        return vcpus if self.of_vcpus else 1

    def total(self, numbers: Mapping[tuple[str, str], int], vcpus: Mapping[str, int]) -> int:
        """Count of numbers of VMs by type and market, with the vCPUs of each type."""
        counts = ((n, self.counts(name, vcpus.get(name, 0), market)) for (name, market), n in numbers.items() if n)
        return sum(n * count for n, count in counts)

    @property
    def unit(self) -> str:
        """Unit of the most."""
        return "vCPUs" if self.of_vcpus else "VMs"


def quota_rules(limits: Mapping[str, Any]) -> Iterator[QuotaRule]:
    """Quotas of a document, its limits of markets among them."""
    for key, market in (("max_spot", "spot"), ("max_on_demand", "on-demand")):
        if limits.get(key) is not None:
            yield QuotaRule(market, market, int(limits[key]))
    for number, quota in enumerate(limits.get("quotas") or ()):
        types = None if quota.get("types") is None else re.compile("|".join(map(_expression, quota["types"])))
        of_vcpus = quota.get("vcpus") is not None
        most = int(quota["vcpus" if of_vcpus else "vms"])
        yield QuotaRule(f"quotas[{number}]", quota["market"], most, of_vcpus, types)


def _expression(pattern: str) -> str:
    """Regular expression of a pattern, in which ``*`` is anything, and ``?`` one character."""
    return "".join({"*": ".*", "?": "."}.get(sign) or re.escape(sign) for sign in pattern)
