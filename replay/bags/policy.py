"""Policies: answers to events, by decisions that the replay offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, fields, is_dataclass
from typing import Any, ClassVar

from ...instances.entries import RentalOffer
from ...instances.instance import Instance
from ...schedules.timing import require_no_dates
from ..policies import Rule, Rules, named_with_rules
from .interpreted import QUESTIONS
from .state import ReplayState, Vm

IDLE_60 = Rule({"idle_limit_s": 60}, "idle VMs end after a minute, not at the end of their allocation cycle")
"""The rule of all policies that keep idle VMs."""


class Policy:
    """Base of the policies; what is not overridden does nothing.

    Each replay has a policy of its own, which may keep what it knows in itself (see `spotbag.replay.policies`).
    Decisions are methods of `ReplayState`: ``migrate``, ``steal``, ``preempt``, ``start_vm``, ``terminate``,
    ``set_trigger``, ``wake_at``. What the day will bring is nowhere to be found.

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
    asks_for_law : bool
        Whether it wants to know what is known of days like the one that it meets: ``ReplayState.scenario_law``.
    dates : bool
        Whether it may meet tasks with dates of their own; bags with some are refused if not.
    """

    name: str
    summary: str = ""
    source: str = ""
    rules: ClassVar[Rules] = {}
    idle_limit_s: int | None = None
    asks_for_law: ClassVar[bool] = False
    dates: ClassVar[bool] = True

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

    def noticed(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a VM that has notice of its interruption: it drains until ``vm.drains_until_s``."""

    def hibernated(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a VM that is hibernated or stopped: it may come back."""

    def lost(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a VM that the cloud has terminated: what was on it must be migrated, or is never finished."""

    def trigger_reached(self, replay: ReplayState, vm: Vm) -> None:
        """Answer an interrupted VM whose migration trigger time has come."""

    def resumed(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a VM that has resumed, or boots again after it was stopped."""

    def capacity_changed(self, replay: ReplayState, vm_type: str) -> None:
        """Answer a type of which there can be more, or fewer, spot VMs than before."""

    def price_changed(self, replay: ReplayState, offer: RentalOffer) -> None:
        """Answer a new price of an offer."""

    def preempted(self, replay: ReplayState, vm: Vm, task: int) -> None:
        """Answer a preempted task whose checkpoint is written."""

    def woken(self, replay: ReplayState) -> None:
        """Answer the start, and times at which the policy has asked to be woken."""

    def finished(self, replay: ReplayState, vm: Vm, task: int) -> None:
        """Answer a task that has finished."""

    def terminated(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a VM that the policy has terminated."""


class RulePolicy(Policy):
    """A policy whose answers are functions over rows, as the rules of a replay are (see `rules`).

    Python calls them where somebody looks at a day; of many days they are part of a compiled loop, which there is for
    each such policy in `policies.POLICIES`.

    Attributes
    ----------
    answers : mapping of str to function
        Of methods of `Policy`, the functions that answer in their places: they take what the question does, a function
        of `interpreted`. Nothing is done about others.
    """

    answers: ClassVar[Mapping[str, Callable[..., None]]] = {}

    def __post_init__(self) -> None:
        """Have the name of a policy with options, a dataclass, say which are not its own."""
        self.name = self.name_with_options()

    def row_options(self) -> dict[str, int]:
        """Return the options of the policy as its answers read them: the values of fields of `Rows`."""
        return {}

    def capacity_changed(self, replay: ReplayState, vm_type: str) -> None:
        """Answer by the rule."""
        self.answer("capacity_changed", replay, replay.plan.tables.names.types[vm_type])

    def price_changed(self, replay: ReplayState, offer: RentalOffer) -> None:
        """Answer by the rule."""
        self.answer("price_changed", replay, offer.index)

    def answer(self, question: str, replay: ReplayState, *given: Any) -> None:
        """Answer a question by its rule, if there is one."""
        rule = self.answers.get(question)
        if rule is not None:
            # Each time: another policy may hand its questions on to this one, or an option be changed meanwhile.
            for name, value in self.row_options().items():
                setattr(replay, name, value)
            rule(replay, *given)


def _by_rule(question: str) -> Callable[..., None]:
    """Return the method that answers a question by the rule for it."""

    def answer(self: RulePolicy, replay: ReplayState, *given: Any) -> None:
        self.answer(question, replay, *given)

    return answer


for _question in QUESTIONS:
    if _question not in vars(RulePolicy):
        setattr(RulePolicy, _question, _by_rule(_question))


def answers(policy: Policy, question: str) -> bool:
    """True if a policy has an answer to a question, by a method or by a rule."""
    method = getattr(type(policy), question)
    if isinstance(policy, RulePolicy) and method is getattr(RulePolicy, question):
        return question in policy.answers
    return method is not getattr(Policy, question)


def require_dates_known(policy: Policy, instance: Instance) -> None:
    """Refuse a bag whose tasks have dates, if a policy knows none."""
    if not policy.dates:
        require_no_dates(instance, f"the policy {policy.name}", "others do, such as on-time, hads and static")
