"""``spotbag policies``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

from ..core.text_tables import Column, Table, words
from .answers import Answer, Part, listing
from .console import print_table
from .options import json_option

if TYPE_CHECKING:
    from ..core.plugins import Plugin
    from ..replay.policies import PolicyKind, Rule

EXAMPLE = "Example:  spotbag policies"


class DescribedPolicy(Part):
    """A policy of ``spotbag replay``, ``stream`` or ``platform``, and what its rules change."""

    command: Literal["replay", "stream", "platform"]
    name: str
    summary: str
    rules: dict[str, str]
    distribution: str

    @classmethod
    def listed(cls, command: Any, name: str, summary: str, rules: Mapping[str, Rule], distribution: str = "") -> Self:
        """Return a policy of a command, with the summaries of its rules."""
        said = {rule: about.summary for rule, about in rules.items()}
        return cls(command=command, name=name, summary=summary, rules=said, distribution=distribution)

    def said(self) -> str:
        """Return the summary of the policy, and the distribution that it comes from."""
        return f"{self.summary} ({self.distribution})".lstrip() if self.distribution else self.summary


class Policies(Answer, kind="policies"):
    """``spotbag policies``."""

    policies: tuple[DescribedPolicy, ...] = listing(
        words("command"), words("policy", "name"), words("what it does", DescribedPolicy.said)
    )

    def print_text(self) -> None:
        """Print the policies, and their rules, each once, with the policies that have it."""
        super().print_text()
        columns = [Column("command"), Column("rule"), Column("what it changes"), Column("of")]
        print_table(Table(columns, list(_rules(self.policies))))


def policies_command(*, as_json: bool = json_option()) -> None:
    """List the policies of 'replay', 'stream' and 'platform', those of installed plug-ins included, and their rules."""
    policies = [*built_in_policies(), *_installed()]
    Policies(policies=tuple(policies)).show(as_json)


def built_in_policies() -> Iterator[DescribedPolicy]:
    """Policies of all systems that no plug-in has added."""
    from ..replay.bags.policies import POLICIES
    from ..replay.platforms.local_scheduler import SUFFIXES
    from ..replay.platforms.policies import PLATFORM_POLICIES
    from ..replay.streams.policies import STREAM_POLICIES

    for policy in POLICIES.values():
        yield DescribedPolicy.listed("replay", policy.name, policy.summary, policy.rules)
    for name, summary in STREAM_POLICIES.items():
        yield DescribedPolicy.listed("stream", name, summary, {})
    yield DescribedPolicy.listed("stream", "TYPE.N", "a fixed fleet of N VMs of one type, such as large.4", {})
    for name, summary in PLATFORM_POLICIES.items():
        yield DescribedPolicy.listed("platform", name, summary, SUFFIXES)


def _installed() -> list[DescribedPolicy]:
    """Return the policies of installed plug-ins; with a warning for each that is left out."""
    from ..core.plugins import Unusable
    from ..replay.bags.policies import KIND as OF_BAGS
    from ..replay.platforms.policies import KIND as OF_PLATFORMS
    from ..replay.policies import PLUGINS
    from ..replay.streams.policies import KIND as OF_STREAMS

    kinds: dict[str, PolicyKind[Any]] = {"replay": OF_BAGS, "stream": OF_STREAMS, "platform": OF_PLATFORMS}

    def accept(plugin: Plugin) -> DescribedPolicy:
        for command, kind in kinds.items():
            what = plugin.what
            try:
                # A plug-in does not say which command it is for: it is tried as a policy of each, made with the seed 0.
                made = kind.of_plugin(plugin, plugin.name)(0)
            except Unusable:
                if isinstance(what, kind.base) or (isinstance(what, type) and issubclass(what, kind.base)):
                    raise
            else:
                return DescribedPolicy.listed(
                    command, plugin.name, made.summary, kind.rules_of(plugin), plugin.distribution
                )
        bases = " or ".join(kind.base.__name__ for kind in kinds.values())
        raise Unusable(f"must be a {bases}: a class, an instance, or a function that makes one")

    return PLUGINS.installed(accept)


def _rules(policies: Sequence[DescribedPolicy]) -> Iterator[tuple[str, str, str, str]]:
    """Rules, each once, with the policies that have them."""
    holders: dict[tuple[str, str, str], list[str]] = {}
    for policy in policies:
        for name, summary in policy.rules.items():
            holders.setdefault((policy.command, f"+{name}", summary), []).append(policy.name)
    for (command, name, summary), names in holders.items():
        # Rules of all policies are said to be those of all, where there is more than one.
        built_in = sum(1 for policy in policies if policy.command == command and not policy.distribution)
        yield command, name, summary, "all" if len(names) == built_in > 1 else ", ".join(names)
