"""Names of policies with other rules than theirs, each after a plus: ``hads+trigger-once``.

All systems read them alike: what stands before the first plus names the policy; each rule changes options of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..core.errors import InputError, Issue
from ..core.wording import near_names


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that the name of a policy may have after a plus.

    Attributes
    ----------
    options : mapping of str to object
        What it changes: arguments with which the policy is made.
    summary : str
        What it does.
    """

    options: Mapping[str, Any]
    summary: str


Rules: TypeAlias = Mapping[str, Rule]
"""The rules of a policy, by what its name has after a plus."""


def split_policy_name(
    name: str, policies: Collection[str], rules_of: Callable[[str], Rules], others: Sequence[str] = ()
) -> tuple[str, tuple[str, ...]]:
    """Divide the name of a policy into that of the policy and its rules.

    Parameters
    ----------
    name : str
        Such as ``hads+trigger-once``.
    policies : collection of str
        Names of policies.
    rules_of : callable
        From the name of a policy to its rules.
    others : sequence of str
        Names that messages offer as well.

    Returns
    -------
    base : str
        One of ``policies``.
    rules : tuple of str
        The rules, in the order in which the policy has them, however they were given.

    Raises
    ------
    InputError
        If there is no such policy, or no such rule; close names are suggested. If a rule is given twice, or two that
        change the same.
    """
    base, *given = name.split("+")
    if base in policies:
        rules = rules_of(base)
        fault = _fault(base, given, rules)
        chosen = tuple(rule for rule in rules if rule in given)
    elif not base and given:
        example = next(policy for policy in policies if rules_of(policy))
        fault = f"is not a policy (rules follow the name of one: {example}{name})"
    else:
        fault = f"is not a policy ({near_names(base, [*policies, *others])})"
    if fault:
        raise InputError("policy", [Issue("", fault, value=name)])
    return base, chosen


def _fault(base: str, given: Sequence[str], rules: Rules) -> str:
    """Name the fault in the rules after the name of a policy; empty if there is none."""
    changed: dict[str, str] = {}
    for place, rule in enumerate(given):
        if not rules:
            return f"changes a rule by {rule!r}; {base} has none that could be changed"
        if rule not in rules:
            return f"changes no rule by {rule!r} ({near_names(rule, rules)})"
        if rule in given[:place]:
            return f"has +{rule} twice"
        for option in rules[rule].options:
            if option in changed:
                return f"has +{changed[option]} and +{rule}, which change the same"
            changed[option] = rule
    return ""


def options_of(rules: Rules, chosen: Sequence[str]) -> dict[str, Any]:
    """Return the options that some of the rules change."""
    return {option: value for rule in chosen for option, value in rules[rule].options.items()}


def named_with_rules(name: str, rules: Rules, changed: Mapping[str, Any]) -> str:
    """Return the name of a policy made with some options that are not its own.

    Those for which there is a rule are called by it, and all others by themselves: ``hads+idle_limit_s=30``.
    """
    left = dict(changed)
    words = [name]
    for word, rule in rules.items():
        if all(option in left and left[option] == value for option, value in rule.options.items()):
            words.append(word)
            for option in rule.options:
                del left[option]
    return "+".join([*words, *(f"{option}={value}" for option, value in left.items())])
