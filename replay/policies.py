"""Policies as they are given to a replay: by name, as a class or an instance, or as a function that makes one.

The rules are the same for all systems:

- A *name* is one of those that the system knows; one that an installed distribution has added, by an entry point of the
  group ``spotbag.policies``; or ``module:attribute``. What is found there is one of the following. Rules other than
  those of the policy follow its name, each after a plus: ``hads+trigger-once``; each changes options of it.
- A *class* derives from the policy class of the system; each replay makes one of its own.
- A *function*, or whatever else can be called, makes one for each replay: ``partial(Mine, threshold=3)``.
- An *instance* is deep-copied for each replay: all of them start from what it holds when it is given, and it stays as
  it is. So options are given as ``Mine(threshold=3)``.

Classes and functions that have a parameter ``seed`` get the number of the run, as do functions of one parameter of any
name; all others are called without arguments. The number is the seed of the run (streams, platforms) or the number of
the day (bags).
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from ..core.errors import InputError, Issue, text_of
from ..core.plugins import TAKEN, Plugin, Registry, Unusable, blaming, code_of_others
from ..core.wording import near_names
from ..core.workers import Workers, in_this_process


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


PLUGINS = Registry("policy", "spotbag.policies")
"""Policies that others have added, of all systems."""

_OWN = __name__.partition(".")[0]


class HasName(Protocol):
    """Base of all policies."""

    name: str
    summary: str


P = TypeVar("P", bound=HasName)

Given: TypeAlias = str | P | Callable[..., P]
"""A policy as it is given; a class is what can be called to make one, too."""


@dataclass(frozen=True, slots=True)
class PolicyMaker(Generic[P]):
    """Makes a policy of its own for each replay.

    Attributes
    ----------
    name : str
        What users call the policy; where it was given by a name, that name, with its rules in order.
    make : callable
        Makes one, from the number of the run if it takes that.
    seed : str
        How it takes the number: ``keyword``, ``position``, or not at all (empty).
    called : str
        What messages call it if it fails; empty if it is built in.
    """

    name: str
    make: Callable[..., P]
    seed: str
    called: str

    def __call__(self, number: int) -> P:
        """Make the policy of a run; what others have added has the name that it was asked for by."""
        with blaming(self.called):
            policy = _made(self.make, self.seed, number)
            if policy.name != self.name:
                with suppress(AttributeError):  # a name that cannot be set stays as it is
                    policy.name = self.name
        return policy


@dataclass(frozen=True, slots=True)
class PolicyKind(Generic[P]):
    """The policies of a system.

    Attributes
    ----------
    base : type
        What they derive from.
    built_in : collection of str
        Names that cannot be replaced.
    find : callable
        From a name, and other names that its message offers, to what makes the policy of this name that is built in;
        raises `InputError` if there is none.
    fault : callable
        Says what is wrong with a policy beyond its name; empty if nothing is.
    """

    base: type[P]
    built_in: Collection[str]
    find: Callable[[str, Sequence[str]], Callable[..., P]]
    fault: Callable[[P], str] = lambda policy: ""

    def names(self) -> list[str]:
        """Names of the policies; those that others have added for whatever system included."""
        return [*self.built_in, *(name for name in PLUGINS.names() if name not in self.built_in)]

    def full_names(self, names: Iterable[str], others: Sequence[str] = ()) -> list[str]:
        """Return names of policies, each once, with their rules in the order in which the policies have them.

        Parameters
        ----------
        names : iterable of str
            As they are given.
        others : sequence of str
            Names that are left as they are, and that messages offer as well.

        Raises
        ------
        InputError
            With all that are none.
        """
        full: list[str] = []
        issues: list[Issue] = []
        for name in names:
            try:
                full.append(name if name in others else self._maker(name, 0, 1, others).name)
            except Unusable as fault:
                issues.append(Issue("", fault.rule, value=fault.value))
        if issues:
            raise InputError("policy", issues)
        return list(dict.fromkeys(full))

    def several(
        self, policies: Sequence[Given[P]], number: int, workers: Workers = 1, *, none: bool = False
    ) -> list[PolicyMaker[P]]:
        """Return the makers of several policies.

        Parameters
        ----------
        policies : sequence
            As they were given.
        number : int
            Of the first run: each policy is made once for it, to see what it is.
        workers : int or distributed.Client
            Processes to which they are sent, if there are several, or a Dask cluster.
        none : bool
            Whether there may be none.

        Raises
        ------
        InputError
            With all that is wrong, by position.
        """
        if isinstance(policies, str | self.base) or not isinstance(policies, Iterable):
            single = repr(policies) if isinstance(policies, str) else f"{_called(policies)}"
            single += "()" if isinstance(policies, self.base) else ""
            raise InputError("replay", [Issue("", f"must be a list, also of a single policy: [{single}]", "policies")])
        given = list(policies)
        if not given and not none:
            raise InputError("replay", [Issue("", "must have at least one policy", "policies")])
        makers: list[PolicyMaker[P]] = []
        issues: list[Issue] = []
        for place, policy in enumerate(given):
            try:
                makers.append(self.single(policy, number, f"policies[{place}]", workers))
            except InputError as error:
                issues += error.issues
        if issues:
            raise InputError("replay", issues)
        return makers

    def single(self, policy: Given[P], number: int, where: str = "policy", workers: Workers = 1) -> PolicyMaker[P]:
        """Return the maker of a policy; ``where`` is the name of its place in messages. See `several`."""
        try:
            return self._maker(policy, number, workers)
        except Unusable as fault:
            raise InputError("replay", [Issue(where, fault.rule, value=fault.value)]) from fault.__cause__
        except InputError as error:
            raise InputError(
                "replay", [Issue(where, issue.rule, value=issue.value) for issue in error.issues]
            ) from None

    def _maker(self, policy: Given[P], number: int, workers: Workers, others: Sequence[str] = ()) -> PolicyMaker[P]:
        """Return the maker of a policy, or the fault in it."""
        maker = self._named(policy, number, others) if isinstance(policy, str) else self._given(policy, number)
        if maker.called and not in_this_process(workers):
            _demand_sendable(maker.make)
        return maker

    def _named(self, name: str, number: int, others: Sequence[str]) -> PolicyMaker[P]:
        """Return the maker of the policy of a name."""
        try:
            make = self.find(name, others)
        except InputError as error:
            fault = "; ".join(issue.rule for issue in error.issues)
        else:
            return self._given(make, number, built_in=True)
        base = name.partition("+")[0]
        try:
            # A policy of our own whose rule is unknown is nobody else's: the fault found above is told.
            plugin = None if base in self.built_in else PLUGINS.find(base)
            if plugin is not None:
                return self.of_plugin(plugin, name, number)
        except Unusable as reason:
            raise Unusable(reason.rule, name) from reason.__cause__
        added = [] if base in self.built_in else PLUGINS.names()
        raise Unusable(f"{fault}; installed: {', '.join(added)}" if added else fault, name)

    def of_plugin(self, plugin: Plugin, name: str, number: int = 0) -> PolicyMaker[P]:
        """Return the maker of a policy that others have added.

        Parameters
        ----------
        plugin : Plugin
            The policy.
        name : str
            Its name, and rules, each after a plus.
        number : int
            Of the first run.

        Raises
        ------
        Unusable
            If it is none of this system, or has no such rules.
        """
        if plugin.name in self.built_in:
            raise Unusable(TAKEN)
        rules = self.rules_of(plugin)
        try:
            _, chosen = split_policy_name(name, [plugin.name], lambda _: rules)
        except InputError as error:
            raise Unusable(error.issues[0].rule) from None
        options = options_of(rules, chosen)
        policy = partial(plugin.what, **options) if chosen else plugin.what
        maker = self._given(policy, number, called=plugin.called)
        own = maker.name.partition("+")[0]
        if plugin.distribution and own != plugin.name:
            raise Unusable(f"must have the name of its entry point, not {own!r}")
        # Other processes get its name, and load it there: what was loaded here may not be sent.
        make: _OfPlugin[P] = _OfPlugin(plugin, options)
        return replace(maker, name="+".join([plugin.name, *chosen]), make=make, called=plugin.called)

    def rules_of(self, plugin: Plugin) -> Rules:
        """Return the rules that the name of a policy may have that others have added: those of its class, if any."""
        rules: Any = getattr(plugin.what, "rules", None) if isinstance(plugin.what, type) else None
        return rules if isinstance(rules, Mapping) else {}

    def _given(self, policy: Any, number: int, *, built_in: bool = False, called: str = "") -> PolicyMaker[P]:
        """Return the maker of a policy that is given as a class, an instance, or a function."""
        with blaming("" if built_in else called or "the policy that is given"):
            return self._looked_at(policy, number, built_in, called)

    def _looked_at(self, policy: Any, number: int, built_in: bool, called: str) -> PolicyMaker[P]:
        base = self.base.__name__
        if isinstance(policy, self.base):
            make: Callable[..., P] = _Copies(policy)
        elif isinstance(policy, type) and not issubclass(policy, self.base):
            raise Unusable(f"{_called(policy)} is no {base}")
        elif callable(policy):
            make = policy
        else:
            what = f"the name of a policy, a {base} (a class or an instance), or a function that makes one"
            raise Unusable(f"must be {what}, not {text_of(policy, repr)}")
        by = _called(make)
        seed = _seed_of(make)
        with blaming("" if built_in else called or f"the policy {by}"):
            made = _made(make, seed, number)
        if not isinstance(made, self.base):
            raise Unusable(f"what {by} makes must be a {base}, not {text_of(made, repr)}")
        if not isinstance(getattr(made, "name", None), str) or not made.name:
            raise Unusable(f"{by} must have a name: name = 'mine'")
        fault = self.fault(made)
        if fault:
            raise Unusable(f"{by} {fault}")
        # Our own classes may be given as they are; that one of them fails is no fault of who gave it.
        built_in = built_in or type(made).__module__.partition(".")[0] == _OWN
        return PolicyMaker(made.name, make, seed, "" if built_in else called or f"the policy {made.name}")


@dataclass(frozen=True, slots=True)
class _OfPlugin(Generic[P]):
    """Makes policies that others have added; other processes look them up by their name."""

    plugin: Plugin
    options: Mapping[str, Any]

    def __call__(self, *number: int, **seed: int) -> P:
        what = self.plugin.what
        made: P = what(*number, **seed, **self.options) if callable(what) else _Copies(what)()
        return made


@dataclass(frozen=True, slots=True)
class _Copies(Generic[P]):
    """Makes copies of a policy."""

    policy: P

    def __call__(self) -> P:
        way_out = "give the class, or a function that makes one"

        def failure(error: BaseException) -> Unusable:  # whatever objects raise that cannot be copied
            return Unusable(f"{_called(self)} cannot be copied for each replay ({text_of(error)}): {way_out}")

        with code_of_others(failure):
            return copy.deepcopy(self.policy)


def _called(policy: object) -> str:
    """Name of a policy, or of its maker, in messages."""
    if isinstance(policy, _Copies):
        policy = policy.policy
    name = getattr(policy, "__name__", None)
    if isinstance(name, str):
        return name
    return text_of(policy, repr) if callable(policy) else type(policy).__name__


def _seed_of(make: Callable[..., Any]) -> str:
    """Way in which a class or a function takes a seed: ``keyword``, ``position``, or none (empty)."""
    called = _called(make)
    missing = sorted(getattr(make, "__abstractmethods__", ())) if isinstance(make, type) else []
    if missing:
        signatures = [f"{name}({', '.join(inspect.signature(getattr(make, name)).parameters)})" for name in missing]
        raise Unusable(f"{called} has no method {' and '.join(signatures)}")
    try:
        signature = inspect.signature(make)
        parameters = signature.parameters.values()
        if _takes_seed(make) or any(
            entry.name == "seed" and entry.kind is not entry.POSITIONAL_ONLY for entry in parameters
        ):
            signature.bind(seed=0)
            return "keyword"
        positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        required = [entry for entry in parameters if entry.default is entry.empty and entry.kind in positional]
        if len(required) == 1 and not isinstance(make, type):
            signature.bind(0)
            return "position"
        signature.bind()
    except (TypeError, ValueError) as error:
        rule = (
            f"can be called neither with a seed nor without ({error}): give an instance, or a function that makes one"
        )
        raise Unusable(f"{called} {rule}") from None
    return ""


def _takes_seed(make: Callable[..., Any]) -> bool:
    """True if a class takes a seed, if only by handing all keywords on to a class above it."""
    for kind in make.__mro__ if isinstance(make, type) else ():
        if "__init__" in vars(kind):
            parameters = inspect.signature(vars(kind)["__init__"]).parameters
            if "seed" in parameters:
                return True
            if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
                return False
    return False


def _made(make: Callable[..., P], seed: str, number: int) -> P:
    if seed == "keyword":
        return make(seed=number)
    return make(number) if seed == "position" else make()


def _demand_sendable(policy: object) -> None:
    """Refuse a policy, or what makes one, that cannot be sent to other processes."""
    from joblib.externals.loky.backend.reduction import dumps

    way_out = "leave that out, or replay in this one (workers=1)"

    def failure(error: BaseException) -> Unusable:  # whatever objects raise that cannot be pickled
        return Unusable(f"cannot be sent to other processes ({text_of(error)}): {way_out}")

    with code_of_others(failure):
        dumps(policy)
