"""The auditor's bills of VMs: sessions with their boot, minimum and blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from ..core.quantities import SECONDS_PER_HOUR
from ..instances.clouds import cloud_of
from ..instances.instance import Instance
from .facts import exact

Seconds: TypeAlias = Any
"""Whole seconds, or fractions where parts of a second count."""


class Rules(NamedTuple):
    """Rules by which sessions are billed, of a cloud or of a run record; see `Billing`."""

    boot_s: int = 0
    minimum_s: int = 0
    block_s: int = 1
    fixed_usd: Fraction = Fraction(0)

    @classmethod
    def of(cls, billing: Mapping[str, Any]) -> Rules:
        """Read the rules of a document."""
        given = {name: billing[name] for name in ("boot_s", "minimum_s", "block_s") if name in billing}
        return cls(**given, fixed_usd=exact(billing.get("fixed_usd", 0)))


class Session(NamedTuple):
    """A session of a VM; or, of one that has begun before, what comes after all that is paid.

    Attributes
    ----------
    rules : Rules
        How it is billed.
    from_s : int or Fraction
        When it begins, or until when it is paid.
    usd_per_s : Fraction
        The price of the VM.
    begins : bool
        Whether it begins then: its boot, its minimum and the fixed part are still to be paid.
    """

    rules: Rules
    from_s: Seconds
    usd_per_s: Fraction = Fraction(0)
    begins: bool = True

    def begun_by(self, until_s: Seconds) -> bool:
        """True if it begins, by a moment."""
        return self.begins and self.from_s <= until_s

    def billed_s(self, until_s: Seconds) -> Seconds:
        """Seconds on the bill if it lasts until a moment; none if that is before it.

        They are in whole blocks where these are longer than a second; else parts of a second count as such.
        """
        seconds = max(until_s - self.from_s, 0)
        if self.begun_by(until_s):
            seconds = max(self.rules.boot_s + seconds, self.rules.minimum_s)
        block_s = self.rules.block_s
        return seconds if block_s == 1 else -(-seconds // block_s) * block_s  # by the second, parts of one count

    def usd(self, until_s: Seconds) -> Fraction:
        """Bill if it lasts until a moment."""
        fixed_usd = self.rules.fixed_usd if self.begun_by(until_s) else Fraction(0)
        usd: Fraction = fixed_usd + self.usd_per_s * self.billed_s(until_s)
        return usd

    def after(self, until_s: Seconds) -> Session:
        """Return the cost of a session until a moment, beyond the part that is paid."""
        paid_until_s = self.from_s - self.begins * self.rules.boot_s + self.billed_s(until_s)
        return self._replace(from_s=paid_until_s, begins=False)


def rules_of(instance: Instance) -> Rules:
    """Rules by which the VMs of an instance are billed."""
    return Rules.of(asdict(cloud_of(instance.cloud, instance.billing).billing))


def sessions_of(instance: Instance, vms: Sequence[Any]) -> list[Session]:
    """Sessions of the VMs of a plan (`RentedVm`), at the prices of their offers, or of machines that have their own."""
    rules, boot_s = rules_of(instance), instance.boot_overhead_s
    setups_s = {vm_type.name: vm_type.setup_s for vm_type in instance.vm_types}  # in a bill, part of a session
    new = {
        (vm_type.name, market): Session(rules, boot_s, _usd_per_s(offer.price_usd_per_hour))
        for vm_type in instance.vm_types
        for market, offer in vm_type.offers.items()
    }
    unknown = Session(rules, boot_s)
    sessions = [new.get((vm.type, vm.market), unknown) for vm in vms]
    machines = {machine.id: machine for machine in instance.machines}
    for number, machine in [(number, machines[vm.id]) for number, vm in enumerate(vms) if vm.id in machines]:
        own_usd, from_s = machine.price_usd_per_hour, max(machine.ready_s, machine.paid_until_s)
        usd_per_s = sessions[number].usd_per_s if own_usd is None else _usd_per_s(own_usd)
        # A machine that launches, or gets ready later, begins a session then; one that is ready has begun it.
        later = machine.launching or machine.ready_s > 0
        begins = later and machine.ready_s == from_s
        sessions[number] = Session(rules, from_s - begins * setups_s.get(vms[number].type, 0), usd_per_s, begins)
    return sessions


def _usd_per_s(usd_per_hour: float) -> Fraction:
    return exact(usd_per_hour) / SECONDS_PER_HOUR


def bill_usd(sessions: Iterable[tuple[Session, Seconds]]) -> Fraction:
    """Bill of sessions, each until a moment: of seconds at the price of each, and of fixed parts."""
    counts: Counter[tuple[int, int]] = Counter()  # by price: whole numbers are added up much faster than fractions
    for session, until_s in sessions:
        counts[session.usd_per_s.as_integer_ratio()] += session.billed_s(until_s)
        counts[session.rules.fixed_usd.as_integer_ratio()] += session.begun_by(until_s)
    return sum((Fraction(*usd) * count for usd, count in counts.items()), start=Fraction(0))
