"""Policies whose answers are rules over rows: asked all that methods are, and to be compiled by being registered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, ClassVar

import pytest

from spotbag.core.bill import Bill
from spotbag.instances.bags.timeline import Timeline, TimelineEvent
from spotbag.instances.clouds import PAPERS, Billing
from spotbag.instances.entries import RentalOffer
from spotbag.replay.bags import runs
from spotbag.replay.bags.compiled_engine import DRIVERS, CompiledReplays
from spotbag.replay.bags.engine import Replay, policy_options
from spotbag.replay.bags.interpreted import QUESTIONS, push
from spotbag.replay.bags.plan import checked, replay_plan
from spotbag.replay.bags.policies import POLICIES, Hads, find_policy
from spotbag.replay.bags.rows import WAKE, Rows
from spotbag.replay.bags.rules import preempt
from spotbag.replay.bags.runs import replay_day, without_loops
from spotbag.replay.bags.state import Policy, RulePolicy
from tests.helpers.tiny_days import bag, plan, vm_type

CHECKPOINTS = {"overhead_fraction": 0.1, "dump_base_s": 5, "dump_s_per_mb": 0}
SCHEDULE = plan(
    bag({"t": {"a": 100}, "u": {"a": 40}}, [vm_type("a")], checkpoint=CHECKPOINTS, deadline_s=2000, d_spot_s=2000),
    ["a spot"],
    {"t": (0, 0, 0), "u": (0, 0, 105)},
)


def test_rules_are_asked_about_all_that_methods_are() -> None:
    """By numbers: of the offer, the type, the VM and the task.

    t writes a checkpoint from 60 to 65 s, and waits behind u, which runs until 105 s.
    """
    asked: list[tuple[Any, ...]] = []

    def keeping(question: str) -> Callable[..., None]:
        def answer(r: Any, *about: Any) -> None:
            asked.append((question, r.now_s, *(getattr(of, "index", of) for of in about)))
            if question == "woken" and r.now_s == 0:
                push(r, 60, WAKE, 0, 0, 0)
            elif question == "woken":
                preempt(r, 0, r.vms[0], 1)

        return answer

    class Asked(RulePolicy):
        name = "asked"
        answers: ClassVar[Any] = {question: keeping(question) for question in QUESTIONS}

    spot = next(offer.index for offer in SCHEDULE.instance.offers if offer.market == "spot")
    events = (
        TimelineEvent(10, "a", "price", market="spot", usd_per_hour=1.0),
        TimelineEvent(20, "a", "capacity", vms=3),
    )
    replay_day(SCHEDULE, Asked, Timeline(events, "by hand"))
    assert asked == [
        ("woken", 0),
        ("price_changed", 10, spot),
        ("capacity_changed", 20, 0),
        ("woken", 60),
        ("preempted", 65, 0, 0),
        ("finished", 105, 0, 1),
    ]


@pytest.mark.parametrize("question", ["woken", "finished"])
def test_what_no_rule_answers_is_not_asked(question: str) -> None:
    class Overridden(Hads):
        pass

    assert policy_options(Hads())[f"wants_{question}"] == 0
    setattr(Overridden, question, getattr(Policy, question))
    assert policy_options(Overridden())[f"wants_{question}"] == 0
    setattr(Overridden, question, lambda *_: None)
    assert policy_options(Overridden())[f"wants_{question}"] == 1


def test_policies_of_rules_are_compiled_without_being_named_once_more() -> None:
    assert set(DRIVERS) == {policy for policy in POLICIES.values() if issubclass(policy, RulePolicy)}
    for policy in DRIVERS:
        missing = set(policy_options(policy())) - {entry.name for entry in fields(Rows)}
        assert not missing, f"options of {policy.name} that are no fields of Rows (rows.py): {missing}"


def test_policies_without_a_compiled_loop_are_named_where_many_days_are_asked_for() -> None:
    """10,000 replays of two tasks are many: for so many, loops are loaded."""
    assert runs._LOADS_FOR == 20_000
    policies = ["hads", "on-time", "uniform-progress", OfOnesOwn, "greedy-spot", "hads+idle-60"]
    assert without_loops(checked(SCHEDULE), policies, 10_000) == ["uniform-progress", "own", "greedy-spot"]
    assert without_loops(checked(SCHEDULE), policies, 9_999) == []


class OfOnesOwn(Policy):
    name = "own"


class WithFixedPart(Billing):
    def bill(self, offer: RentalOffer) -> Bill:
        return super().bill(offer)._replace(fixed_usd=0.5)


def test_a_fixed_part_is_billed_also_where_prices_change() -> None:
    """105 s of t and 40 of u, until 100 s and from 200 s on: $0.5 for each of the two sessions.

    At $0.001 a second, or from 50 s on at $0.002: 145 times 0.001, or 50 times 0.001 and 95 times 0.002.
    """
    cloud, ready = replace(PAPERS, billing=WithFixedPart()), replay_plan(SCHEDULE)
    pause = TimelineEvent(100, "a", "hibernate"), TimelineEvent(200, "a", "resume")
    dearer = TimelineEvent(50, "a", "price", market="spot", usd_per_hour=7.2)
    for events, usd in ((pause, 0.145), ((dearer, *pause), 0.05 + 0.19)):
        outcome = Replay(ready, find_policy("static"), Timeline(events), cloud).run()
        assert outcome.cost_usd == pytest.approx(usd + 1.0)
        assert CompiledReplays(ready).outcome(find_policy("static"), Timeline(events), cloud) == outcome
