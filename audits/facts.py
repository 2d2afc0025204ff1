"""Facts of an instance document for the auditor: numbers exactly as they are written.

Nothing here uses what the engine, or anything that plans, works out from an instance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

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
class TypeFacts:
    """A VM type."""

    name: str
    vcpus: int
    memory_kb: int
    memory_gb: Fraction
    price_usd_per_s: Mapping[str, Fraction]
    limits: Mapping[str, int]
    credits: CreditFacts | None
    speed: Fraction
    architecture: str | None


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
        Instance.from_document(document, "instance of the trace")
        self.deadline_s: int = int(document["deadline_s"])
        self.boot_s = int(document.get("boot_overhead_s", 0))
        self.migration_s = int(document.get("migration_overhead_s", 0))
        self.cycle_s = int(document.get("allocation_cycle_s", 900))
        self.markets: list[str] = list(document.get("markets", ("spot", "on-demand")))
        limits = document.get("limits", {})
        self.market_limits = {"spot": limits.get("max_spot"), "on-demand": limits.get("max_on_demand")}
        self.types = {entry["name"]: _type_facts(entry) for entry in document["vm_types"]}
        self.tasks = {
            name: entry for entry in document["tasks"] for name in copies(entry["id"], int(entry.get("count", 1)))
        }
        self._checkpoint = document.get("checkpoint")
        self._memory_kb: dict[int, int] = {}
        self._intervals: dict[int, tuple[Fraction, Fraction]] = {}
        self._runtimes: dict[tuple[int, str], int | None] = {}
        self._fresh: dict[tuple[int, str, bool, bool], Work | None] = {}

    def memory_kb(self, task: str) -> int:
        """Memory need of a task in KB, rounded up."""
        entry = self.tasks[task]
        if id(entry) not in self._memory_kb:
            self._memory_kb[id(entry)] = rounded_up(exact(entry["memory_mb"]) * 1024)
        return self._memory_kb[id(entry)]

    def given_runtime_s(self, task: str, type_name: str) -> Fraction | None:
        """Seconds of a task on a VM type at full speed, as they are given; None if it cannot run there."""
        entry, vm_type = self.tasks[task], self.types[type_name]
        if entry.get("architecture") not in (None, vm_type.architecture):
            return None
        by_type = entry.get("runtime_s")
        if by_type is not None:
            if type_name not in by_type:
                return None
            given = exact(by_type[type_name])
        else:
            given = exact(entry["base_runtime_s"]) / vm_type.speed
        if given > LONGEST_S or self.memory_kb(task) > vm_type.memory_kb:
            return None
        return given

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
        if saved:
            return self._work(task, vm_type, market, mode, saved)
        key = id(self.tasks[task]), vm_type.name, market == "spot", mode == "baseline"
        if key not in self._fresh:
            self._fresh[key] = self._work(task, vm_type, market, mode, saved)
        return self._fresh[key]

    def _work(self, task: str, vm_type: TypeFacts, market: str, mode: str | None, saved: Fraction) -> Work | None:
        runtime = self.runtime_s(task, vm_type.name)
        if runtime is None:
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
            cap=24 * per_hour if most is None else exact(most),
        )
    return TypeFacts(
        name=entry["name"],
        vcpus=int(entry["vcpus"]),
        memory_kb=math.floor(memory * 1024),
        memory_gb=memory / 1024,
        price_usd_per_s={
            market: exact(offer["price_usd_per_hour"]) / SECONDS_PER_HOUR for market, offer in entry["offers"].items()
        },
        limits={market: int(offer["limit"]) for market, offer in entry["offers"].items()},
        credits=credits,
        speed=exact(entry.get("speed", 1)),
        architecture=entry.get("architecture"),
    )


def copies(entry: str, count: int) -> list[str]:
    """Return the ids of the identical tasks that an entry stands for."""
    return [entry] if count == 1 else [entry + "#" + str(number + 1) for number in range(count)]
