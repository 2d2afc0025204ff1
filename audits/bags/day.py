"""The auditor's day: what happens to the spot VMs of each type, and to prices, and when.

It follows the timeline of the run record and which VMs are there. What should happen to a VM next is then expected of
it; whether that stands in the trace is for the audit.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from ...core.quantities import SECONDS_PER_HOUR
from ..bill import Rules, Session
from ..facts import exact, round_up
from ..vm_books import LAST_RANK, RANKS, VmBook

RECORD_OF = {"hibernate": "hibernate", "stop": "stop", "terminate": "reclaim"}
"""Event of the trace by kind of interruption."""

RECALLED = LAST_RANK + 1
"""Rank of VMs that are interrupted while there is room for them: they come back after all else of the second."""

Presence: TypeAlias = Literal["launching", "running", "draining", "halted", "gone"]


@dataclass(frozen=True, slots=True)
class Expected:
    """Event due in the trace, of a VM or of a whole type; its rank among those of a second if not that of its kind."""

    time_s: int
    kind: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    rank: int = -1


@dataclass(slots=True, eq=False)
class SpotVm:
    """A spot VM, as the day finds it."""

    name: str
    type: str
    presence: Presence = "launching"
    number: int = 0
    until_s: int = 0
    kind: str = ""
    of_type: bool = False
    expected: deque[Expected] = field(default_factory=deque)

    @property
    def there(self) -> bool:
        """True if the VM counts against the capacity of its type."""
        return self.presence in ("launching", "running", "draining")


class Day:
    """A day, as far as it has gone.

    Parameters
    ----------
    moments : iterable of mapping
        The events of the timeline of the run record, by time.
    prices : mapping
        Price of each type and market at first, in USD per second.

    Attributes
    ----------
    announced : deque of Expected
        Records of prices and capacities that should stand in the trace and have not been met.
    times : set of int
        When something happens.
    """

    def __init__(self, moments: Iterable[Mapping[str, Any]], prices: Mapping[tuple[str, str], Fraction]) -> None:
        self.announced: deque[Expected] = deque()
        self.times: set[int] = set()
        self._vms: dict[str, SpotVm] = {}
        self._of_type: dict[str, list[SpotVm]] = defaultdict(list)
        self._capacity: dict[str, int | None] = {}
        self._taken_by: dict[str, str] = {}
        self._prices = {offer: [(0, usd_per_s)] for offer, usd_per_s in prices.items()}
        self._due: list[tuple[int, int, int, int, Mapping[str, Any] | SpotVm]] = []
        self._sequence = 0
        self._ages: dict[tuple[str, int], Mapping[str, Any]] = {}
        for moment in moments:
            if moment.get("age_s") is not None:
                self._ages[moment["type"], moment["vm"]] = moment
                continue
            self.times.add(moment["time_s"])
            for rank in self._ranks(moment):
                self._await(moment["time_s"], rank, moment)

    # ------------------------------------------------------------- which VMs are there

    def requested(self, name: str, vm_type: str) -> bool:
        """Enter a spot VM; say whether its type has room for it."""
        vm = self._vms[name] = SpotVm(name, vm_type, number=len(self._vms))
        self._of_type[vm_type].append(vm)
        return self._has_room(vm)

    def ready(self, name: str, now_s: int) -> None:
        """Let a VM be ready; it is interrupted at once if there is no capacity for it."""
        vm = self._vms.get(name)
        if vm is None or vm.presence != "launching":
            return
        vm.presence = "running"
        # Taken out, as it is of the first time that the VM is ready: one that boots again is older.
        due = self._ages.pop((vm.type, self._of_type[vm.type].index(vm) + 1), None)
        if due is not None:
            self.times.add(now_s + due["age_s"])
            self._await(now_s + due["age_s"], self._ranks(due)[0], due)
        if not self._has_room(vm):
            self._strike(vm, now_s, 0, self._taken_by.get(vm.type, "hibernate"), False)

    def ended(self, name: str) -> None:
        """Let a VM be terminated by its user."""
        if name in self._vms:
            self._vms[name].presence = "gone"

    def expected_of(self, name: str) -> deque[Expected]:
        """Events due for a VM and not yet met in the trace."""
        vm = self._vms.get(name)
        return deque() if vm is None else vm.expected

    def _has_room(self, vm: SpotVm) -> bool:
        """True if a VM is among the first requested of its type, as many as the capacity allows."""
        capacity = self._capacity.get(vm.type)
        there = [other for other in self._of_type[vm.type] if other.there]
        return capacity is None or vm in there[:capacity]

    # ------------------------------------------------------------------ what happens

    def advance(self, time_s: int, rank: int = LAST_RANK) -> None:
        """Apply all events before a moment, and those of the moment up to a rank."""
        while self._due and self._due[0][:2] <= (time_s, rank):
            at_s, at_rank, _, _, what = heapq.heappop(self._due)
            if isinstance(what, SpotVm):
                if at_rank == RECALLED:
                    self._return(what, at_s)
                elif what.presence == "draining" and what.until_s == at_s:
                    self._interrupt(what, at_s)
            elif what["event"] == "price":
                self._change_price(at_s, what)
            elif at_rank == RANKS["capacity"]:
                self._come_back(at_s, what)
            else:
                self._take_away(at_s, what)

    def _await(self, time_s: int, rank: int, what: Mapping[str, Any] | SpotVm) -> None:
        """Put off what happens; of a rank first what the timeline says, then VM by VM."""
        # Of one rank, the timeline's own events keep its order, and VMs follow in the order of their requests.
        self._sequence += 1
        order = (1, what.number) if isinstance(what, SpotVm) else (0, self._sequence)
        heapq.heappush(self._due, (time_s, rank, *order, what))

    @staticmethod
    def _ranks(moment: Mapping[str, Any]) -> tuple[int, ...]:
        """Rank of a timeline event within its second; a new capacity may bring VMs back, or take them away."""
        kind = moment["event"]
        down = RANKS["notice" if moment.get("notice_s") else "hibernate"]
        if kind == "price":
            return (RANKS["price"],)
        if kind == "resume":
            return (RANKS["capacity"],)
        return (RANKS["capacity"], down) if kind == "capacity" else (down,)

    def _change_price(self, now_s: int, moment: Mapping[str, Any]) -> None:
        offer = moment["type"], moment["market"]
        if offer in self._prices:
            self._prices[offer].append((now_s, exact(moment["usd_per_hour"]) / SECONDS_PER_HOUR))
        fields = {key: moment[key] for key in ("type", "market", "usd_per_hour")}
        self.announced.append(Expected(now_s, "price", fields))

    def _come_back(self, now_s: int, moment: Mapping[str, Any]) -> None:
        """Give back a VM (``vm``, from 1 on), or as many of a type as there can be, in the order of their requests.

        A number of VMs that falls, or the first one for a type, brings no VM back.
        """
        name, number = moment["type"], moment.get("vm")
        vms = self._of_type[name]
        if moment["event"] == "capacity":
            now = self._capacity.get(name)
            if now is None or moment["vms"] < now:
                return
            self.announced.append(Expected(now_s, "capacity", {"type": name, "vms": moment["vms"]}))
        if number is None:
            # None after a resume of the type: there are as many as anybody asks for.
            self._capacity[name] = moment.get("vms")
        for vm in vms if number is None else vms[number - 1 : number]:
            self._return(vm, now_s)

    def _return(self, vm: SpotVm, now_s: int) -> None:
        """Let a VM come back if it waits and there is room for it."""
        if vm.presence == "halted" and self._room(vm.type) > 0:
            # A hibernated VM goes on at once; a stopped one boots again, and is interrupted only once it is ready.
            vm.presence = "running" if vm.kind == "hibernate" else "launching"
            vm.expected.append(Expected(now_s, "resume" if vm.kind == "hibernate" else "restart"))

    def _room(self, vm_type: str) -> float:
        capacity = self._capacity.get(vm_type)
        return math.inf if capacity is None else capacity - sum(vm.there for vm in self._of_type[vm_type])

    def _take_away(self, now_s: int, moment: Mapping[str, Any]) -> None:
        """VMs get notice, or are interrupted."""
        name, kind = moment["type"], moment["event"]
        vms, notice_s = self._of_type[name], moment.get("notice_s") or 0
        of_type = False
        if moment.get("vm") is not None:
            struck = vms[moment["vm"] - 1 : moment["vm"]]
        elif moment.get("share") is not None:
            # Those requested last go, as many as the share comes to.
            running = [vm for vm in vms if vm.presence == "running"]
            struck = running[len(running) - round_up(exact(moment["share"]) * len(running)) :]
        else:
            of_type, capacity = True, 0
            if kind == "capacity":
                kind, capacity = moment.get("by") or "hibernate", moment["vms"]
                if self._capacity.get(name) != capacity:
                    fields = {"type": name, "vms": capacity}
                    self.announced.append(Expected(now_s, "capacity", fields, RANKS["notice"]))
            self._capacity[name], self._taken_by[name] = capacity, kind
            struck = [vm for vm in vms if vm.there][capacity:]
        for vm in struck:
            self._strike(vm, now_s, notice_s, kind, of_type)

    def _strike(self, vm: SpotVm, now_s: int, notice_s: int, kind: str, of_type: bool) -> None:
        """Let a VM that runs drain until it is interrupted, unless that comes earlier anyway."""
        until_s = now_s + notice_s
        if vm.presence != "running" and not (vm.presence == "draining" and until_s < vm.until_s):
            return
        vm.presence, vm.until_s, vm.kind, vm.of_type = "draining", until_s, kind, of_type
        if notice_s:
            vm.expected.append(Expected(now_s, "notice", {"until_s": until_s}))
        self._await(until_s, RANKS["hibernate"], vm)

    def _interrupt(self, vm: SpotVm, now_s: int) -> None:
        """Take a VM away; if its type is back by now, which took it away, it comes back at once."""
        vm.presence = "gone" if vm.kind == "terminate" else "halted"
        vm.expected.append(Expected(now_s, RECORD_OF[vm.kind]))
        if vm.of_type and vm.presence == "halted" and self._room(vm.type) > 0:
            self._await(now_s, RECALLED, vm)

    # ------------------------------------------------------------------ prices

    def price_usd_per_s(self, vm_type: str, market: str) -> Fraction:
        """Price of an offer now."""
        changes = self._prices.get((vm_type, market))
        return Fraction(0) if changes is None else changes[-1][1]

    def cost_usd(self, vm_type: str, market: str, start_s: int, end_s: int) -> Fraction:
        """Cost of a span of time, each second at its price."""
        changes = self._prices.get((vm_type, market), [])
        total = Fraction(0)
        for place, (since_s, usd_per_s) in enumerate(changes):
            until_s = changes[place + 1][0] if place + 1 < len(changes) else end_s
            total += usd_per_s * max(min(until_s, end_s) - max(since_s, start_s), 0)
        return total

    def bill_usd(self, vm: VmBook, billing: Mapping[str, Any]) -> Fraction:
        """Bill of a VM that is terminated, by the rules of the run record: its sessions, and what is kept of it."""
        rules, total = Rules.of(billing), Fraction(0)
        for number, session in enumerate(vm.sessions):
            assert session.end_s is not None
            length_s = session.end_s - session.start_s
            free = billing.get("first_hour_free", False) and vm.market == "spot" and not number
            if free and session.cut and length_s < SECONDS_PER_HOUR:
                continue
            more_s = Session(rules, session.start_s).billed_s(session.end_s) - rules.boot_s - length_s
            total += self.cost_usd(vm.type.name, vm.market, session.start_s, session.end_s)
            total += rules.boot_s * self.cost_usd(vm.type.name, vm.market, session.start_s, session.start_s + 1)
            total += more_s * session.last_usd_per_s + rules.fixed_usd
        kept = vm.hibernated_s * exact(billing.get("hibernated_usd_per_gb_hour", 0))
        kept += vm.stopped_s * exact(billing.get("stopped_usd_per_gb_hour", 0))
        return total + kept * vm.type.memory_gb / SECONDS_PER_HOUR
