"""How policies are given to a replay: by name, as a class or an instance, or as a function that makes one.

The rules are the same for all systems:

- A *name* is one of those that the system knows.
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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from ..core.errors import InputError, Issue
from ..core.workers import Workers, in_this_process


class HasName(Protocol):
    """What all policies have in common."""

    name: str


P = TypeVar("P", bound=HasName)

Given: TypeAlias = str | P | Callable[..., P]
"""A policy as it is given; a class is what can be called to make one, too."""


@dataclass(frozen=True, slots=True)
class PolicyMaker(Generic[P]):
    """Makes a policy of its own for each replay.

    Attributes
    ----------
    name : str
        What users call the policy.
    make : callable
        Makes one, from the number of the run if it takes that.
    seed : str
        How it takes the number: ``keyword``, ``position``, or not at all (empty).
    """

    name: str
    make: Callable[..., P]
    seed: str

    def __call__(self, number: int) -> P:
        """Make the policy of a run."""
        return _made(self.make, self.seed, number)


@dataclass(frozen=True, slots=True)
class PolicyKind(Generic[P]):
    """The policies of a system.

    Attributes
    ----------
    base : type
        What they derive from.
    find : callable
        From a name to what makes the policy of this name; raises `InputError` if there is none.
    fault : callable
        Says what is wrong with a policy beyond its name; empty if nothing is.
    """

    base: type[P]
    find: Callable[[str], Callable[..., P]]
    fault: Callable[[P], str] = lambda policy: ""

    def several(
        self, policies: Sequence[Given[P]], number: int, workers: Workers = 1, *, none: bool = False
    ) -> list[PolicyMaker[P]]:
        """Return what makes each of several policies.

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
        """Return what makes a policy; ``where`` is what messages call its place. See `several`."""
        try:
            return self._maker(policy, number, workers)
        except _NoPolicyError as fault:
            raise InputError("replay", [Issue(where, fault.rule, value=fault.value)]) from fault.__cause__
        except InputError as error:
            raise InputError(
                "replay", [Issue(where, issue.rule, value=issue.value) for issue in error.issues]
            ) from None

    def _maker(self, policy: Given[P], number: int, workers: Workers) -> PolicyMaker[P]:
        """Return what makes a policy, or say what is wrong with it."""
        base = self.base.__name__
        if isinstance(policy, str):
            try:
                make = self.find(policy)
            except InputError as error:
                raise _NoPolicyError("; ".join(issue.rule for issue in error.issues), policy) from None
        elif isinstance(policy, self.base):
            make = _Copies(policy)
        elif isinstance(policy, type) and not issubclass(policy, self.base):
            raise _NoPolicyError(f"{_called(policy)} is no {base}")
        elif callable(policy):
            make = policy
        else:
            what = f"the name of a policy, a {base} (a class or an instance), or a function that makes one"
            raise _NoPolicyError(f"must be {what}, not {policy!r}")
        called = _called(make)
        seed = _seed_of(make)
        made = _made(make, seed, number)
        if not isinstance(made, self.base):
            raise _NoPolicyError(f"what {called} makes must be a {base}, not {made!r}")
        if not isinstance(getattr(made, "name", None), str) or not made.name:
            raise _NoPolicyError(f"{called} must have a name: name = 'mine'")
        fault = self.fault(made)
        if fault:
            raise _NoPolicyError(f"{called} {fault}")
        if not in_this_process(workers) and not isinstance(policy, str):
            _demand_sendable(policy)
        return PolicyMaker(made.name, make, seed)


class _NoPolicyError(Exception):
    """Says why something is not a policy; an issue whose place is not known yet."""

    def __init__(self, rule: str, value: Any = Issue.NOTHING) -> None:
        super().__init__(rule)
        self.rule = rule
        self.value = value


@dataclass(frozen=True, slots=True)
class _Copies(Generic[P]):
    """Makes copies of a policy."""

    policy: P

    def __call__(self) -> P:
        try:
            return copy.deepcopy(self.policy)
        except Exception as error:  # whatever objects raise that cannot be copied
            rule = f"cannot be copied for each replay ({error}): give the class, or a function that makes one"
            raise _NoPolicyError(f"{_called(self)} {rule}") from error


def _called(policy: object) -> str:
    """What messages call a policy, or what makes one."""
    if isinstance(policy, _Copies):
        policy = policy.policy
    name = getattr(policy, "__name__", None)
    if isinstance(name, str):
        return name
    return repr(policy) if callable(policy) else type(policy).__name__


def _seed_of(make: Callable[..., Any]) -> str:
    """How a class or a function takes a seed: ``keyword``, ``position``, or not at all (empty)."""
    called = _called(make)
    missing = sorted(getattr(make, "__abstractmethods__", ())) if isinstance(make, type) else []
    if missing:
        signatures = [f"{name}({', '.join(inspect.signature(getattr(make, name)).parameters)})" for name in missing]
        raise _NoPolicyError(f"{called} has no method {' and '.join(signatures)}")
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
        raise _NoPolicyError(f"{called} {rule}") from None
    return ""


def _takes_seed(make: Callable[..., Any]) -> bool:
    """Whether a class takes a seed, if only by handing all keywords on to a class above it."""
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

    try:
        dumps(policy)
    except Exception as error:  # whatever objects raise that cannot be pickled
        rule = f"cannot be sent to other processes ({error}): leave that out, or replay in this one (workers=1)"
        raise _NoPolicyError(rule) from None
