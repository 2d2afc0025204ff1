"""Limits of VMs of several types together, counted from an instance as it is written, by plain loops."""

from __future__ import annotations

from collections.abc import Iterable

from spotbag.instances.instance import Instance

Kind = tuple[str, str]
"""A type of VM, by its name, and a market."""
Sums = tuple[int, ...]


class Quotas:
    """All limits of several types of an instance."""

    def __init__(self, instance: Instance) -> None:
        self._vcpus = {vm_type.name: vm_type.vcpus for vm_type in instance.vm_types}
        limits = instance.limits.model_dump()
        rules = [
            {"market": market, "types": None, "vms": limits[name], "vcpus": None}
            for name, market in (("max_spot", "spot"), ("max_on_demand", "on-demand"))
            if limits[name] is not None
        ]
        self._rules = [*rules, *limits["quotas"]]
        self.most: Sums = tuple(rule["vms"] if rule["vcpus"] is None else rule["vcpus"] for rule in self._rules)

    def of(self, kind: Kind) -> Sums:
        """What a VM counts in each limit."""
        name, market = kind
        return tuple(
            0
            if market != rule["market"] or not (rule["types"] is None or _named(name, rule["types"]))
            else (1 if rule["vcpus"] is None else self._vcpus.get(name, 0))
            for rule in self._rules
        )

    def sums(self, kinds: Iterable[Kind]) -> Sums:
        """What VMs count in each limit together."""
        counts = [self.of(kind) for kind in kinds]
        return tuple(sum(each[number] for each in counts) for number in range(len(self.most)))

    def allow(self, kinds: Iterable[Kind], kind: Kind | None = None) -> bool:
        """Whether VMs keep the limits; of one kind, those that count it."""
        counted = self.of(kind) if kind is not None else (1,) * len(self.most)
        found = zip(self.sums(kinds), self.most, counted, strict=True)
        return all(there <= most or not counts for there, most, counts in found)

    def left_by(self, kinds: Iterable[Kind]) -> Sums:
        """What VMs leave of each limit."""
        return tuple(most - there for most, there in zip(self.most, self.sums(kinds), strict=True))


def _named(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name is as one of some patterns says, in which ``*`` is anything, and ``?`` one character."""
    return any(_matches(name, one) for one in patterns)


def _matches(name: str, pattern: str) -> bool:
    """Whether all of a name is matched, by what the pattern begins with and then by the rest."""
    if not pattern or (pattern[0] != "*" and not name):
        return name == pattern
    if pattern[0] == "*":
        return any(_matches(name[skipped:], pattern[1:]) for skipped in range(len(name) + 1))
    return pattern[0] in ("?", name[0]) and _matches(name[1:], pattern[1:])
