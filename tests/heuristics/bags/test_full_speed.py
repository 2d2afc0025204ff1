"""Plans at full speed on burstable VMs, and who falls back on them."""

from __future__ import annotations

import pytest

from spotbag.audits.bags.plan import check
from spotbag.core.errors import ModelRefusal
from spotbag.core.limits import LimitReached, within
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.heuristics.bags.listed_plans import full_speed_plan
from spotbag.instances.instance import Instance
from spotbag.solvers.bags.methods import METHODS
from spotbag.solvers.bags.solve import solve
from tests.helpers.soaks import soak
from tests.helpers.tiny_core_instances import hand_instance
from tests.helpers.tiny_instances import FAMILIES, tiny_instance
from tests.helpers.tiny_states import tiny_state


def burstable_instance(runtimes: list[int], deadline_s: int, **credits: float) -> Instance:
    document = hand_instance(runtimes, vcpus=1, deadline_s=deadline_s, d_spot_s=deadline_s).to_document()
    (vm_type,) = document["vm_types"]
    vm_type["burstable"] = {"baseline_fraction": 0.1, **credits}
    return Instance.from_document(document, "burstable")


def test_a_task_waits_for_the_credits_that_it_spends() -> None:
    """60 s at full speed spend a credit; half of one is earned meanwhile."""
    instance = burstable_instance([60], 200, credits_per_hour=30, initial_credits=0.25)
    plan = full_speed_plan(instance)
    assert plan is not None
    # 1 credit less 0.5 that are earned meanwhile less 0.25 at first: 30 s of waiting, and a second for the tolerance.
    assert plan.task_start_s.tolist() == [31]
    assert check(instance, plan).feasible
    assert full_speed_plan(instance.replace(deadline_s=80, d_spot_s=80)) is None
    # A VM that holds no more than a quarter of a credit never has enough, and 600 s at the baseline are too long.
    assert full_speed_plan(burstable_instance([60], 200, credits_per_hour=30, max_credits=0.25)) is None


@pytest.mark.parametrize(("credits", "start_s"), [(0.25, 91), (9.0, 49)])
def test_a_machine_takes_tasks_after_those_that_run_there_with_the_credits_they_leave(
    credits: float, start_s: int
) -> None:
    """A VM took no task while it was busy; and credits above the cap of 0.6 were not lost."""
    document = burstable_instance([60, 30], 200, credits_per_hour=30, max_credits=0.6).to_document()
    running = [{"task": "t1", "core": 0, "start_s": 0, "mode": "burst"}]
    document["machines"] = [{"id": "m", "type": "a", "market": "spot", "credits": credits, "running": running}]
    instance = Instance.from_document(document, "busy")
    plan = full_speed_plan(instance)
    assert plan is not None
    # 30 s at full speed leave 0.25 less, and then 1 less 0.5 is needed: of 0.25 nothing is left, 60 s earn 0.5; of 0.6
    # 0.35 are left, and 18 s earn 0.15; a second is for the tolerance.
    assert plan.task_start_s.tolist() == [start_s, 0]
    assert check(instance, plan).feasible


@pytest.mark.parametrize("seed", [26, 412, 555, *range(20)])
def test_plans_from_states_keep_the_rules(seed: int) -> None:
    instance = tiny_state("burstable", seed)
    plan = full_speed_plan(with_d_spot(instance))
    assert plan is None or check(plan.instance, plan).feasible or instance.running_end_s.max() > instance.deadline_s


def test_search_plans_bags_that_fit_burstable_vms_at_full_speed_only() -> None:
    instance = burstable_instance([60], 200, credits_per_hour=30, initial_credits=0.25)
    for method in ("greedy", "lpt"):
        assert solve(instance, method).schedule is None
    assert solve(instance, "search").status in ("feasible", "optimal")


def test_large_bags_at_full_speed_keep_to_the_time() -> None:
    instance = burstable_instance([60] * 500, 200, credits_per_hour=30, initial_credits=0.25)
    with within(0.0), pytest.raises(LimitReached):
        full_speed_plan(instance)


def whoever_has_no_plan(seed: int, family: str) -> list[tuple[str, float | None]]:
    """Methods, and their time limits, without a plan of an instance for which a simple heuristic has one."""
    instance = with_d_spot(tiny_instance(seed, **FAMILIES[family]))
    last = full_speed_plan(instance)
    assert last is None or check(instance, last).feasible
    if not any(solve(instance, method).schedule for method in ("greedy", "lpt")):
        return []
    runs: list[tuple[str, float | None]] = [("auto", 0.05), ("search", None), ("search", 1e-6)]
    runs += [(method, 1e-6) for method in METHODS if method not in ("greedy", "lpt", "search")]
    without = []
    for method, limit_s in runs:
        try:
            if solve(instance, method, time_limit_s=limit_s).schedule is None:
                without.append((method, limit_s))
        except ModelRefusal:
            assert METHODS[method].exact
    return without


@pytest.mark.parametrize("family", FAMILIES)
def test_where_a_simple_heuristic_has_a_plan_every_method_has_one(family: str) -> None:
    assert [whoever_has_no_plan(seed, family) for seed in range(1)] == [[]]


@soak(sample=2, whole=4_000)
def test_where_a_simple_heuristic_has_a_plan_every_method_has_one_soak(how_many: int) -> None:
    for seed in range(1, how_many):
        for family in FAMILIES:
            assert not whoever_has_no_plan(seed, family), (seed, family)
