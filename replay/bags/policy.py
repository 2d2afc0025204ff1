"""What a policy is: answers to events, by decisions that the replay offers."""

from __future__ import annotations

from dataclasses import Field, fields, is_dataclass
from typing import Any, ClassVar

from ..policy_names import Rule, Rules, named_with_rules
from .state import ReplayState
from .vm import Vm

IDLE_60 = Rule({"idle_limit_s": 60}, "idle VMs end after a minute, not at the end of their allocation cycle")
"""The rule of all policies that keep idle VMs."""


class Policy:
    """Base of the policies; what is not overridden does nothing.

    Each replay has a policy of its own, which may keep what it knows in itself (see `spotbag.replay.policies`).
    Decisions are methods of `ReplayState`: ``migrate``, ``steal``, ``start_vm``, ``terminate``, ``set_trigger``.

    Attributes
    ----------
    name : str
        What users call it.
    summary : str
        One line.
    source : str
        Paper and algorithms.
    rules : Rules
        Other rules that its name may have after a plus, if it is used by name: what each changes of the options with
        which the class is made.
    idle_limit_s : int, optional
        Seconds after which an idle VM is asked about, if its allocation cycle does not end before.
    """

    name: str
    summary: str = ""
    source: str = ""
    rules: ClassVar[Rules] = {}
    idle_limit_s: int | None = None

    def name_with_options(self) -> str:
        """Return the name of the class and, of a dataclass, the options that are not its own."""
        options: tuple[Field[Any], ...] = fields(self) if is_dataclass(self) else ()
        changed = {entry.name: getattr(self, entry.name) for entry in options}
        changed = {entry.name: changed[entry.name] for entry in options if changed[entry.name] != entry.default}
        return named_with_rules(type(self).name, self.rules, changed)

    def idle(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a VM that runs and has no task left."""

    def cycle_ended(self, replay: ReplayState, vm: Vm) -> None:
        """Answer an idle VM that has reached the end of its allocation cycle, or has been idle for `idle_limit_s`."""

    def hibernated(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a VM that has hibernated."""

    def trigger_reached(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a hibernated VM whose migration trigger time has come."""

    def resumed(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a VM that has resumed."""

    def finished(self, replay: ReplayState, vm: Vm, task: int) -> None:
        """Answer a task that has finished."""

    def terminated(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a VM that has been terminated."""
