"""The iterated local search of Burst-HADS and its burstable allocation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spotbag.audits.bags.plan import check
from spotbag.core.errors import ModelRefusal, SpotbagError
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.heuristics.bags.iterated_local_search import (
    IlsOptions,
    LocalSearch,
    burst_allocation,
    iterated_local_search,
)
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.schedules.method import Run, TracePoint
from spotbag.schedules.queues import Queue, queue_times, queues_of_schedule, schedule_of_queues
from spotbag.solvers.bags.solve import solve


def burst_instance(**fields: Any) -> Instance:
    """Tasks of 10, 20, 30 s on one-core spot VMs; burstable VMs at half speed; on-demand VMs. D_spot 40, D 100."""

    def offer(price: float, limit: int) -> dict[str, Any]:
        return {"price_usd_per_hour": price, "limit": limit}

    base: dict[str, Any] = {
        "name": "burst",
        "deadline_s": 100,
        "d_spot_s": 40,
        "vm_types": [
            {"name": "s", "vcpus": 1, "memory_mb": 100, "gflops": 1, "offers": {"spot": offer(1, 3)}},
            {
                "name": "b",
                "vcpus": 2,
                "memory_mb": 100,
                "offers": {"on-demand": offer(1, 2)},
                "burstable": {"baseline_fraction": 0.5, "credits_per_hour": 60},
            },
            {"name": "o", "vcpus": 1, "memory_mb": 100, "offers": {"on-demand": offer(5, 2)}},
        ],
        "tasks": [{"id": f"t{e}", "memory_mb": 1, "runtime_s": {"s": e, "b": e, "o": e}} for e in (10, 20, 30)],
    }
    return Instance(**(base | fields))


def queues(instance: Instance, *plan: tuple[int, list[int]]) -> list[Queue]:
    return [Queue(instance.offers[offer], list(tasks)) for offer, tasks in plan]


def test_an_idle_burstable_vm_takes_the_task_that_ends_last() -> None:
    instance = burst_instance()
    # 30 ends at 30 on its own VM, 20 at 30 after 10: the first of the two that end last goes, at half speed.
    plan = burst_allocation(instance, queues(instance, (0, [2]), (0, [0, 1])), burst_rate=0.2)
    assert plan is not None
    assert [(queue.offer.vm_type.name, queue.tasks) for queue in plan] == [("s", []), ("s", [0, 1]), ("b", [2])]
    schedule = schedule_of_queues(instance, plan)
    assert check(instance, schedule).feasible
    assert schedule.task_end_s.tolist() == [10, 30, 60]


def test_late_tasks_go_to_burstable_vms_one_each_and_further_ones_on_demand() -> None:
    instance = burst_instance()
    # 30 + 20 + 10 on one VM: 20 ends at 50 and 10 at 60, after D_spot = 40. One burstable VM takes the latest.
    plan = burst_allocation(instance, queues(instance, (0, [2, 1, 0])), burst_rate=0.2)
    assert plan is not None
    assert [(queue.offer.vm_type.name, queue.tasks) for queue in plan] == [("s", [2]), ("o", [1]), ("b", [0])]


def test_burstable_vms_are_a_fraction_of_the_vms_used_rounded_up() -> None:
    instance = burst_instance()
    for rate, number in ((0.0, 0), (0.2, 1), (0.5, 2), (1.0, 2)):  # at most 2 by the limit
        plan = burst_allocation(instance, queues(instance, (0, [0]), (0, [1]), (0, [2])), burst_rate=rate)
        assert plan is not None
        assert sum(queue.offer.burstable for queue in plan) == number


def test_without_a_place_for_late_tasks_there_is_no_plan() -> None:
    instance = burst_instance(markets=["spot"])
    assert burst_allocation(instance, queues(instance, (0, [2, 1, 0])), burst_rate=1.0) is None


def test_a_task_that_would_miss_the_deadline_at_the_baseline_stays() -> None:
    instance = burst_instance(deadline_s=50)
    plan = burst_allocation(instance, queues(instance, (0, [2]), (0, [0]), (0, [1])), burst_rate=0.2)
    assert plan is not None
    assert plan[-1].tasks == []  # 30 s at half speed end at 60


@pytest.mark.slow
def test_a_bag_that_does_not_fit_on_spot_vms_says_so() -> None:
    with_on_demand = solve(library_instance("burst-hads/ED200"), "ils")
    assert with_on_demand.warnings == ("the bag does not fit on spot VMs alone; on-demand VMs are used as well",)
    assert with_on_demand.schedule is not None
    spot_only = solve(library_instance("burst-hads/ED200").replace(markets=["spot"]), "ils")
    assert spot_only.status == "infeasible"
    assert "the bag does not fit on spot VMs alone" in spot_only.message


def test_every_spot_vm_can_be_opened() -> None:
    # With cost weight 0 the makespan alone counts: all 15 spot VMs are of use.
    instance = library_instance("burst-hads/J100").replace(objective={"cost_weight": 0.0}, markets=["spot"])
    schedule = solve(instance, "ils").schedule
    assert schedule is not None
    assert schedule.vm_counts() == {"c3.large spot": 5, "c4.large spot": 5, "c3.xlarge spot": 5}


def test_without_spot_vms_the_search_is_over_regular_on_demand_vms() -> None:
    # It never rented more VMs than its initial plan: this makespan was that of the greedy.
    instance = library_instance("burst-hads/J100").replace(objective={"cost_weight": 0.0}, markets=["on-demand"])
    schedule = solve(instance, "ils", options={"burst_rate": 0.0}).schedule
    assert schedule is not None
    assert schedule.vm_counts() == {"c3.large on-demand": 5, "c4.large on-demand": 5, "c3.xlarge on-demand": 5}
    few = solve(instance.replace(limits={"max_on_demand": 7}), "ils", options={"burst_rate": 0.0}).schedule
    assert few is not None
    assert sum(few.vm_counts().values()) == 7


def test_moves_are_evaluated_as_if_everything_were_scheduled_anew() -> None:
    for name in ("burst-hads/J60", "memory/m20"):
        instance = with_d_spot(library_instance(name)).replace(markets=["spot"])
        initial = solve(instance, "greedy").schedule
        assert initial is not None
        search = LocalSearch(instance, initial, IlsOptions(max_attempt=7), Run(seed=3))
        for _ in range(4):
            search.select_random_vm()
            search.local_search()
            # local_search lays the best plan out anew; its fitness must be the one that was kept up move by move.
            assert search.current == pytest.approx(search._fitness(), rel=1e-12)
            for vm, queue_end in enumerate(search.vm_end.tolist()):
                tasks = search.vm_tasks[vm, : search.vm_count[vm]].tolist()
                assert tasks == sorted(tasks)
                times = queue_times(instance, Queue(search.offers[vm], tasks))
                assert queue_end == max((end for _, _, end in times), default=0)


def test_all_attempts_of_a_search_move_tasks_to_one_vm_if_that_is_asked_for() -> None:
    """Line 5 of Algorithm 3 stands before the loop of attempts."""
    instance = library_instance("burst-hads/J60")
    instance = with_d_spot(instance)
    initial = solve(instance.replace(markets=["spot"]), "greedy").schedule
    assert initial is not None
    for vm_dest, most in (("search", 1), ("attempt", 99)):
        options = IlsOptions(vm_dest=vm_dest, max_attempt=30)  # type: ignore[arg-type]
        search = LocalSearch(instance, initial, options, Run(seed=1))
        before = search.task_vm.copy()
        search.local_search()
        reached = set(search.task_vm[search.task_vm != before].tolist())
        assert len(reached) <= most
    plans = [solve(instance, "ils", seed=1, options={"vm_dest": name}).objective for name in ("attempt", "search")]
    assert plans[0] != plans[1]


def test_relaxing_never_goes_beyond_the_deadline_and_is_traced() -> None:
    instance = with_d_spot(library_instance("burst-hads/J60"))
    points: list[TracePoint] = []
    run = Run(seed=1, on_progress=lambda point, _: points.append(point))
    iterated_local_search(instance, IlsOptions(max_failed=1, max_iteration=60), run)
    relaxed = [point.d_spot_s for point in points]
    assert relaxed == sorted(relaxed)  # type: ignore[type-var]
    assert instance.d_spot_s is not None
    assert relaxed[0] is not None
    assert instance.d_spot_s <= relaxed[0]
    assert relaxed[-1] == instance.deadline_s
    best = [point.best for point in points]
    assert best == sorted(best, reverse=True)


def test_d_spot_is_relaxed_once_more_iterations_than_max_failed_have_found_nothing_better() -> None:
    """One task and one VM: no plan is better than the first, and as good is not better.

    Iterations 0 to 3 are 3 after the best one at most. Then D_spot is 40 + 0.25 * 40 = 50 s, 50 + int(12.5) = 62 s.
    """
    offer = {"spot": {"price_usd_per_hour": 1, "limit": 1}}
    instance = burst_instance(
        vm_types=[{"name": "s", "vcpus": 1, "memory_mb": 100, "gflops": 1, "offers": offer}],
        tasks=[{"id": "t", "memory_mb": 1, "runtime_s": {"s": 10}}],
    )
    points: list[TracePoint] = []
    run = Run(on_progress=lambda point, _: points.append(point))
    iterated_local_search(instance, IlsOptions(max_failed=3, max_iteration=6), run)
    assert [point.d_spot_s for point in points] == [40, 40, 40, 40, 50, 62]


@pytest.mark.parametrize(("d_spot_s", "apart"), [(40, True), (59, True), (60, False)])
def test_the_best_plan_under_the_true_d_spot_is_retained_beside_the_best_relaxed_one(
    d_spot_s: int, apart: bool
) -> None:
    """Two tasks of 30 s; a VM of type s costs 1 $/h, one of type t 2 $/h.

    Both on s end at 60 s, for 60 / 3600 $, which D_spot allows once it is relaxed by half. If D_spot itself is less
    than 60 s, they are in time only apart, for (30 + 2 * 30) / 3600 $.
    """
    types = [
        {
            "name": name,
            "vcpus": 1,
            "memory_mb": 100,
            "gflops": 1,
            "offers": {"spot": {"price_usd_per_hour": price, "limit": 1}},
        }
        for name, price in (("s", 1), ("t", 2))
    ]
    instance = burst_instance(
        vm_types=types,
        tasks=[{"id": "x", "memory_mb": 1, "runtime_s": {"s": 30, "t": 30}, "count": 2}],
        d_spot_s=d_spot_s,
        objective={"cost_weight": 1.0, "cost_scale_usd": 1.0},
    )
    initial = solve(instance.replace(d_spot_s=40), "lpt").schedule
    assert initial is not None
    search = LocalSearch(instance, initial, IlsOptions(relax_rate=0.5), Run())
    assert search.true_best == pytest.approx(90 / 3600)
    search.relax_d_spot()
    search.local_search()
    assert search.current == pytest.approx(60 / 3600)
    assert search.task_vm[0] == search.task_vm[1]
    assert search.true_best == pytest.approx((90 if apart else 60) / 3600)
    assert (search.true_task_vm[0] != search.true_task_vm[1]) == apart


def test_without_relaxing_the_plan_keeps_d_spot_at_every_burst_rate() -> None:
    instance = with_d_spot(library_instance("burst-hads/J80"))
    for rate in (0.0, 0.2, 1.0):
        outcome = iterated_local_search(instance, IlsOptions(burst_rate=rate, max_iteration=30), Run(seed=2))
        assert outcome.schedule is not None
        assert check(instance, outcome.schedule).feasible
        burstable = sum(instance.offers[index].burstable for index in outcome.schedule.vm_offer)
        assert (burstable == 0) == (rate == 0.0)


def test_same_seed_same_plan_and_the_papers_scales_are_an_option() -> None:
    instance = with_d_spot(library_instance("hads/J80"))
    options = IlsOptions(max_iteration=40)
    plans = [iterated_local_search(instance, options, Run(seed=seed)).schedule for seed in (5, 5, 6)]
    assert all(plan is not None for plan in plans)
    starts = [plan.task_start_s.tolist() for plan in plans if plan is not None]
    assert starts[0] == starts[1] != starts[2]
    paper = iterated_local_search(instance, IlsOptions(max_iteration=40, scales="paper"), Run(seed=5))
    assert paper.schedule is not None
    initial = solve(instance.replace(markets=["spot"]), "greedy").schedule
    assert initial is not None
    search = LocalSearch(instance, initial, IlsOptions(scales="paper"), Run())
    # Equation 8 with the scales of decision B2: the initial plan has cost 1.
    ends = initial.vm_end_s - instance.boot_overhead_s
    assert search.vm_price[: len(ends)] @ ends == pytest.approx(0.5)


def test_a_time_limit_ends_it_at_once_with_the_initial_plan() -> None:
    result = solve(library_instance("burst-hads/J60"), "ils", time_limit_s=1e-9)
    assert result.schedule is not None
    assert len(result.trace) == 0


def test_queues_of_a_plan_give_the_plan_again() -> None:
    schedule = solve(library_instance("memory/m30"), "greedy").schedule
    assert schedule is not None
    again = schedule_of_queues(schedule.instance, queues_of_schedule(schedule))
    assert again.cost_usd == pytest.approx(schedule.cost_usd)
    assert again.makespan_s == schedule.makespan_s
    assert np.array_equal(again.task_vm, schedule.task_vm)


def test_a_tight_initial_plan_is_retained_where_the_order_of_ids_ends_too_late() -> None:
    offers = {"spot": {"price_usd_per_hour": 1, "limit": 1}}
    instance = Instance(
        name="tight",
        deadline_s=77,
        d_spot_s=77,
        vm_types=[{"name": "a", "vcpus": 2, "memory_mb": 1000, "gflops": 1, "offers": offers}],
        tasks=[
            {"id": f"t{k}", "memory_mb": memory, "runtime_s": {"a": seconds}}
            for k, (memory, seconds) in enumerate([(100, 39), (500, 30), (100, 14), (300, 47)])
        ],
    )
    greedy = solve(instance, "greedy")
    assert greedy.schedule is not None
    found = solve(instance, "ils")
    assert found.objective is not None
    assert greedy.objective is not None
    assert found.objective <= greedy.objective


def test_burstable_vms_of_the_allocation_are_on_demand() -> None:
    instance = burst_instance()
    types = [vm_type.model_copy() for vm_type in instance.vm_types]
    spot = {"spot": types[0].offers["spot"]}
    only_spot = instance.replace(vm_types=[types[0], types[1].model_copy(update={"offers": spot}), types[2]])
    plan = burst_allocation(only_spot, queues(only_spot, (0, [2]), (0, [0, 1])), burst_rate=1.0)
    assert plan is not None
    assert not any(queue.offer.burstable for queue in plan)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(SpotbagError, match="must be from 0"):
        solve(library_instance("tiny/boot"), "ils", seed=-1)


def test_a_bag_that_would_fill_the_memory_is_refused() -> None:
    """A place for each of 20,000 tasks on each of thousands of VMs is 16 GB at most: no VM is looked at before that."""
    bag = generate_instance(
        20_000, classes=3, limit=2_000, max_on_demand=None, seed=1, d_spot_fraction=0.8, goal="balanced"
    )
    with pytest.raises(ModelRefusal, match=r"20,000 tasks on [0-9,]+ VMs are [0-9,]+ places, more than 60,000,000"):
        solve(bag, "ils")
