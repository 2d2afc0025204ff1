"""Questions to a policy in Python; compiled loops have the rules that answer them in their places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .tables import or_none


def answer_finished(r: Any, vm: Any, task: int) -> None:
    """Ask about a task that has finished."""
    r.policy.finished(r, vm, task)


def answer_price_changed(r: Any, offer: int) -> None:
    """Ask about a new price of an offer."""
    r.policy.price_changed(r, r.instance.offers[offer])


def answer_capacity_changed(r: Any, vm_type: int) -> None:
    """Ask about a type of which there can be more, or fewer, spot VMs than before."""
    r.policy.capacity_changed(r, r.instance.vm_types[vm_type].name)


def answer_resumed(r: Any, vm: Any) -> None:
    """Ask about a VM that has resumed, or boots again."""
    r.policy.resumed(r, vm)
    r.idle_limit_s = or_none(r.policy.idle_limit_s)


def answer_idle(r: Any, vm: Any) -> None:
    """Ask about a VM that runs and has no task left."""
    r.policy.idle(r, vm)
    r.idle_limit_s = or_none(r.policy.idle_limit_s)


def answer_noticed(r: Any, vm: Any) -> None:
    """Ask about a VM that has notice of its interruption."""
    r.policy.noticed(r, vm)


def answer_hibernated(r: Any, vm: Any) -> None:
    """Ask about a VM that is hibernated or stopped."""
    r.policy.hibernated(r, vm)


def answer_lost(r: Any, vm: Any) -> None:
    """Ask about a VM that the cloud has terminated."""
    r.policy.lost(r, vm)


def answer_preempted(r: Any, vm: Any, task: int) -> None:
    """Ask about a preempted task whose checkpoint is written."""
    r.policy.preempted(r, vm, task)


def answer_trigger_reached(r: Any, vm: Any) -> None:
    """Ask about an interrupted VM whose migration trigger time has come."""
    r.policy.trigger_reached(r, vm)


def answer_cycle_ended(r: Any, vm: Any) -> None:
    """Ask about an idle VM at the end of its allocation cycle, or of the time for which it is kept."""
    r.policy.cycle_ended(r, vm)


def answer_woken(r: Any) -> None:
    """Ask at the start, and at times at which the policy has asked to be woken."""
    r.policy.woken(r)


def answer_terminated(r: Any, vm: Any) -> None:
    """Ask about a VM that the policy has terminated."""
    r.policy.terminated(r, vm)


QUESTIONS: dict[str, Callable[..., None]] = {
    name.removeprefix("answer_"): value for name, value in vars().items() if name.startswith("answer_")
}
"""Questions by the methods of `Policy` that answer them."""
