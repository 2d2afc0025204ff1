"""Offers that may not be rented just now: a limit of 0."""

from __future__ import annotations

import pytest

from spotbag.instances.instance import Instance
from spotbag.schedules.events import TaskFinished, TaskStarted, VmEnded, VmReady
from spotbag.schedules.state import State
from spotbag.solvers.bags.methods import METHODS
from spotbag.solvers.bags.replan import replan
from spotbag.solvers.bags.solve import solve
from tests.helpers.soaks import some
from tests.helpers.tiny_instances import tiny_instance


def with_limit(bag: Instance, market: str, limit: int) -> Instance:
    """The bag with another limit of all offers of a market."""
    types = []
    for vm_type in bag.vm_types:
        offers = {
            name: offer.model_copy(update={"limit": limit}) if name == market else offer
            for name, offer in vm_type.offers.items()
        }
        types.append(vm_type.model_copy(update={"offers": offers}))
    return bag.replace(vm_types=tuple(types))


BAG = Instance(
    name="quota",
    deadline_s=100,
    d_spot_s=100,
    survive="none",
    objective={"goal": "cheapest"},
    vm_types=[
        {
            "name": "a",
            "vcpus": 1,
            "memory_mb": 100,
            "offers": {
                "spot": {"price_usd_per_hour": 3.6, "limit": 2},
                "on-demand": {"price_usd_per_hour": 7.2, "limit": 2},
            },
        }
    ],
    tasks=[{"id": name, "memory_mb": 1, "runtime_s": {"a": 60}} for name in ("first", "second")],
)


def test_what_may_not_be_rented_is_not_in_a_plan() -> None:
    # 2 x 60 s at $ 0.001 a second on spot VMs; at 0.002 on demand; and nothing where neither may be rented.
    assert solve(BAG).objective == pytest.approx(0.12)
    without_spot = with_limit(BAG, "spot", 0)
    assert solve(without_spot).objective == pytest.approx(0.24)
    nothing = with_limit(without_spot, "on-demand", 0)
    assert {solve(nothing, method).status for method in METHODS} == {"infeasible"}


def test_a_quota_that_fell_to_nothing_leaves_what_is_rented_where_it_is() -> None:
    # Withdrawing the type was refused: run times, and tasks that are done, name it.
    plan = solve(BAG).schedule
    assert plan is not None
    there, *others = plan.vm_ids
    state = State.begin(plan).advance(0, *map(VmReady, plan.vm_ids), TaskStarted("first", there, 0))
    state = state.advance(60, TaskFinished("first"), *map(VmEnded, others), TaskStarted("second", there, 0))
    left = replan(with_limit(with_limit(BAG, "spot", 0), "on-demand", 0).replace(deadline_s=150), state)
    assert left.schedule is not None
    assert left.schedule.vm_ids == plan.vm_ids[:1]


@pytest.mark.parametrize("seed", some(range(6), fast=2))
def test_a_limit_of_nothing_is_as_if_there_were_no_offer(seed: int) -> None:
    bag = tiny_instance(seed, burstable=seed % 2 == 1, memory=seed % 3 == 1)
    if not all("on-demand" in vm_type.offers and "spot" in vm_type.offers for vm_type in bag.vm_types):
        bag = bag.replace(
            vm_types=tuple(
                vm_type.model_copy(
                    update={"offers": dict.fromkeys(("spot", "on-demand"), next(iter(vm_type.offers.values())))}
                )
                for vm_type in bag.vm_types
            )
        )
    none = with_limit(bag, "spot", 0)
    gone = bag.replace(markets=("on-demand",))
    found = [solve(one, goal="cheapest", survive="none", time_limit_s=20) for one in (none, gone)]
    assert found[0].status == found[1].status
    assert found[0].objective == found[1].objective
