"""Plug-ins that end in every way but the right one: in a module that other processes can import."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import spotbag
from spotbag.plugins import Instance, Method, Outcome, Run
from spotbag.replay.streams.policies.known import Known


class UnspeakableError(Exception):
    """Says nothing of itself."""

    def __str__(self) -> str:
        raise SystemExit(0)

    __repr__ = __str__


class OfItsOwn(BaseException):
    """No Exception."""


def _raise(error: BaseException) -> Any:
    print("debugging")
    raise error


ENDS: dict[str, Callable[[], Any]] = {
    "exits": lambda: _raise(SystemExit(0)),
    "of_its_own": lambda: _raise(OfItsOwn("mine")),
    "unspeakable": lambda: _raise(UnspeakableError()),
    "long": lambda: _raise(ValueError("x" * 5_000_000)),
    "long_and_ours": lambda: _raise(spotbag.SpotbagError("x" * 5_000_000)),
}


class _Bag(spotbag.Policy):
    """Ends when a task ends."""

    name, summary = "mine", ""
    end = "exits"

    def finished(self, replay: Any, vm: Any, task: int) -> None:
        ENDS[self.end]()


class _Stream(Known):
    """Ends when the stream begins."""

    name = "mine"
    end = "exits"

    def begin(self, replay: Any) -> None:
        ENDS[self.end]()


class _Platform(spotbag.PlatformPolicy):
    """Ends at the first job."""

    name = "mine"
    end = "exits"

    def choose(self, replay: Any, job: Any, sender: int) -> Any:
        ENDS[self.end]()


class _Unborn(spotbag.Policy):
    """Ends when it is made."""

    name = "mine"
    end = "exits"

    def __init__(self) -> None:
        ENDS[self.end]()


@dataclass(frozen=True)
class _OptionsOf(Method):
    """Ends when its options are made."""

    name, summary = "mine", ""
    end = "exits"
    number: int = 1

    def __post_init__(self) -> None:
        ENDS[self.end]()

    def plan(self, instance: Instance, run: Run) -> Outcome:
        return Outcome(None)


def _method(end: str) -> Callable[[Instance, Run], Outcome]:
    def plan(instance: Instance, run: Run) -> Outcome:
        """Make no plan."""
        outcome: Outcome = ENDS[end]()
        return outcome

    return plan


KINDS = {"bag": _Bag, "stream": _Stream, "platform": _Platform, "unborn": _Unborn, "options": _OptionsOf}
for _end in ENDS:
    globals()[f"method_{_end}"] = _method(_end)
    for _kind, _base in KINDS.items():
        globals()[f"{_kind}_{_end}"] = type(f"{_kind}_{_end}", (_base,), {"end": _end, "__module__": __name__})


def chatty(instance: Instance, run: Run) -> Outcome:
    """Print, and find no plan for a very long reason."""
    print("debugging")
    return Outcome(None, explanation="x" * 5_000_000, warnings=("y" * 5_000_000,))
